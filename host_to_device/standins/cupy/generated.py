"""The CUDA C++ that stands before the source of every element-wise and reduction kernel.

CuPy puts headers of its own before the source that it generates; this is the part of them that a kernel can see:
`CArray` (an array with its shape and strides), `CIndexer` (the loop's index) and `CUPY_FOR`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

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

# The part of thrust::complex that kernels use, without directives: with_complex writes it on one line.
COMPLEX = r"""
namespace thrust {
template <typename T> struct complex {
  T re, im;
  __device__ complex(T re = T(), T im = T()) : re(re), im(im) {}
  template <typename U> __device__ complex(const complex<U>& z) : re(T(z.re)), im(T(z.im)) {}
  __device__ T real() const { return re; }
  __device__ T imag() const { return im; }
  __device__ void real(T x) { re = x; }
  __device__ void imag(T x) { im = x; }
  __device__ complex operator-() const { return complex(-re, -im); }
  __device__ complex operator+() const { return *this; }
  __device__ friend complex operator+(complex a, complex b) { return complex(a.re + b.re, a.im + b.im); }
  __device__ friend complex operator-(complex a, complex b) { return complex(a.re - b.re, a.im - b.im); }
  __device__ friend complex operator*(complex a, complex b) {
    return complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
  }
  __device__ friend complex operator/(complex a, complex b) {
    T size = (b.re < 0 ? -b.re : b.re) + (b.im < 0 ? -b.im : b.im);
    T ar = a.re / size, ai = a.im / size, br = b.re / size, bi = b.im / size, square = br * br + bi * bi;
    return complex((ar * br + ai * bi) / square, (ai * br - ar * bi) / square);
  }
  __device__ friend bool operator==(complex a, complex b) { return a.re == b.re && a.im == b.im; }
  __device__ friend bool operator!=(complex a, complex b) { return !(a == b); }
  __device__ friend bool operator<(complex a, complex b) { return a.re != b.re ? a.re < b.re : a.im < b.im; }
  __device__ friend bool operator>(complex a, complex b) { return b < a; }
  __device__ friend bool operator<=(complex a, complex b) { return a == b || a < b; }
  __device__ friend bool operator>=(complex a, complex b) { return a == b || b < a; }
  __device__ complex& operator+=(complex b) { return *this = *this + b; }
  __device__ complex& operator-=(complex b) { return *this = *this - b; }
  __device__ complex& operator*=(complex b) { return *this = *this * b; }
  __device__ complex& operator/=(complex b) { return *this = *this / b; }
};
template <typename T> __device__ T real(complex<T> z) { return z.re; }
template <typename T> __device__ T imag(complex<T> z) { return z.im; }
template <typename T> __device__ complex<T> conj(complex<T> z) { return complex<T>(z.re, -z.im); }
template <typename T> __device__ T norm(complex<T> z) { return z.re * z.re + z.im * z.im; }
template <typename T> __device__ T abs(complex<T> z) { return ::hypot(z.re, z.im); }
template <typename T> __device__ T arg(complex<T> z) { return ::atan2(z.im, z.re); }
template <typename T> __device__ complex<T> polar(T r, T phi = T()) {
  return complex<T>(r * ::cos(phi), r * ::sin(phi));
}
template <typename T> __device__ complex<T> exp(complex<T> z) { return polar(T(::exp(z.re)), z.im); }
template <typename T> __device__ complex<T> log(complex<T> z) { return complex<T>(::log(abs(z)), arg(z)); }
template <typename T> __device__ complex<T> pow(complex<T> z, complex<T> w) {
  return z == complex<T>() ? complex<T>(w == complex<T>() ? T(1) : T()) : exp(w * log(z));
}
template <typename T> __device__ complex<T> sqrt(complex<T> z) {
  T size = abs(z), x = ::sqrt((size + z.re) / 2), y = ::sqrt((size - z.re) / 2);
  return complex<T>(x, z.im < 0 ? -y : y);
}
template <typename T> __device__ complex<T> sin(complex<T> z) {
  return complex<T>(::sin(z.re) * ::cosh(z.im), ::cos(z.re) * ::sinh(z.im));
}
template <typename T> __device__ complex<T> cos(complex<T> z) {
  return complex<T>(::cos(z.re) * ::cosh(z.im), -::sin(z.re) * ::sinh(z.im));
}
}
using thrust::complex; using thrust::real; using thrust::imag; using thrust::conj; using thrust::norm;
using thrust::abs; using thrust::arg; using thrust::polar; using thrust::exp; using thrust::log; using thrust::pow;
using thrust::sqrt; using thrust::sin; using thrust::cos;
"""
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


def with_complex(source: str) -> str:
    """Replace CuPy's header of complex numbers in a learner's source by their definition; line numbers stay."""
    return re.sub(
        r"^[ \t]*#[ \t]*include[ \t]*<cupy/complex\.cuh>",
        " ".join(COMPLEX.split("\n")).replace("\\", r"\\"),
        source,
        count=1,
        flags=re.MULTILINE,
    )


def prelude(dtypes: Iterable[np.dtype], source: str = "") -> str:
    """Return the source that stands before a generated kernel: the arrays, and the number types that it uses."""
    kinds = {np.dtype(dtype) for dtype in dtypes}
    text = ""
    if any(dtype.kind == "c" for dtype in kinds) or "complex<" in source:
        text += COMPLEX
    if np.dtype(np.float16) in kinds or "float16" in source:
        text += HALF
    return text + ARRAYS
