"""The CUDA C++ that stands before the source of every element-wise and reduction kernel.

CuPy puts headers of its own before the source that it generates; this is the part of them that a kernel can see:
`CArray` (an array with its shape and strides), `CIndexer` (the loop's index) and `CUPY_FOR`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from host_to_device.standins.cuda_cpp.compiler import INCLUDE

# Names of CuPy's headers (cupy/_core/include/cupy/carray.cuh): CUPY_FOR, CArray, CIndexer and their methods.
ARRAYS = r"""
#define CUPY_FOR(i, n)                                                                     \
  for (ptrdiff_t i = static_cast<ptrdiff_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < (n); \
       i += static_cast<ptrdiff_t>(blockDim.x) * gridDim.x)

template <typename T, int dimensions, bool contiguous = false>
class CArray {
 public:
  static const int ndim = dimensions;
  static const bool c_contiguous = contiguous;
  __device__ CArray(T* data, const ptrdiff_t* layout)
      : data_(data), size_(layout[0]), shape_(layout + 1), strides_(layout + 1 + dimensions) {}
  __device__ ptrdiff_t size() const { return size_; }
  __device__ const ptrdiff_t* shape() const { return shape_; }
  __device__ const ptrdiff_t* strides() const { return strides_; }
  template <typename Int>
  __device__ T& operator[](const Int (&index)[dimensions ? dimensions : 1]) const {
    ptrdiff_t away = 0;
    for (int axis = 0; axis < dimensions; ++axis) away += static_cast<ptrdiff_t>(index[axis]) * strides_[axis];
    return at(away);
  }
  __device__ T& operator[](ptrdiff_t i) const {
    if (contiguous) return data_[i];
    ptrdiff_t away = 0;
    for (int axis = dimensions - 1; axis > 0; --axis) {
      away += i % shape_[axis] * strides_[axis];
      i /= shape_[axis];
    }
    if (dimensions > 0) away += i * strides_[0];
    return at(away);
  }

 private:
  T* data_;
  ptrdiff_t size_;
  const ptrdiff_t* shape_;
  const ptrdiff_t* strides_;
  __device__ T& at(ptrdiff_t away) const {
    return *reinterpret_cast<T*>(const_cast<char*>(reinterpret_cast<const char*>(data_)) + away);
  }
};

template <int dimensions>
class CIndexer {
 public:
  static const int ndim = dimensions;
  __device__ explicit CIndexer(const ptrdiff_t* layout) : size_(layout[0]), shape_(layout + 1), index_() {}
  __device__ ptrdiff_t size() const { return size_; }
  __device__ const ptrdiff_t* shape() const { return shape_; }
  __device__ void set(ptrdiff_t i) {
    for (int axis = dimensions - 1; axis > 0; --axis) {
      index_[axis] = i % shape_[axis];
      i /= shape_[axis];
    }
    index_[0] = i;
  }
  typedef ptrdiff_t index_type[dimensions ? dimensions : 1];
  __device__ const index_type& get() const { return index_; }

 private:
  ptrdiff_t size_;
  const ptrdiff_t* shape_;
  index_type index_;
};
"""

# The C++ type for each dtype (cupy/_core/_scalar.pyx).
TYPE_NAMES = {
    np.dtype(dtype): name
    for dtype, name in {
        "float64": "double",
        "float32": "float",
        "float16": "float16",
        "complex128": "thrust::complex<double>",
        "complex64": "thrust::complex<float>",
        "int64": "long long",
        "int32": "int",
        "int16": "short",
        "int8": "signed char",
        "uint64": "unsigned long long",
        "uint32": "unsigned int",
        "uint16": "unsigned short",
        "uint8": "unsigned char",
        "bool": "bool",
    }.items()
}

COMPLEX = INCLUDE / "cupy/complex.cuh"
HALF = "#include <cuda_fp16.h>\ntypedef half float16;\n"


def type_name(dtype: np.dtype) -> str:
    """Return the C++ name of a dtype: 'float' for float32.

    Raises
    ------
    TypeError
        If CUDA C++ has no such type; the message is CuPy's.
    """
    try:
        return TYPE_NAMES[np.dtype(dtype)]
    except KeyError:
        raise TypeError(f"Unable to find C++ type for dtype {dtype}") from None


def translated(source: str) -> str:
    """Return a source in which CUDA's C interface for complex numbers means CuPy's complex numbers; lines stay.

    It is CuPy's option `translate_cucomplex`: the header becomes `cupy/cuComplex_bridge.h`.
    """
    return re.sub(
        r"^([ \t]*#[ \t]*include[ \t]*)[<\"]cuComplex\.h[>\"]",
        r"\1<cupy/cuComplex_bridge.h>",
        source,
        flags=re.MULTILINE,
    )


def prelude(dtypes: Iterable[np.dtype], source: str = "") -> str:
    """Return the source that stands before a generated kernel: the arrays, and the number types that it uses."""
    kinds = {np.dtype(dtype) for dtype in dtypes}
    text = ""
    if any(dtype.kind == "c" for dtype in kinds) or "complex<" in source:
        text += COMPLEX.read_text()  # the text itself, because NVRTC may get to see it, too
    if np.dtype(np.float16) in kinds or "float16" in source:
        text += HALF
    return text + ARRAYS
