"""The layers between a program and its GPU, and which file belongs to which layer: the one table of file names.

The layers are in the order of the calls: each calls the layers below it. The names are those of NVIDIA's side; `AMD`
has what ROCm calls the same layers.
"""

from __future__ import annotations

import re

PROGRAM, FRAMEWORK, MATH = "your program", "framework", "CPU math libraries"
LIBRARIES, RUNTIME, USER, KERNEL = "CUDA libraries", "CUDA runtime", "user-mode driver", "kernel-mode driver"
LAYERS = (PROGRAM, FRAMEWORK, MATH, LIBRARIES, RUNTIME, USER, KERNEL)
AMD = {LIBRARIES: "ROCm libraries", RUNTIME: "HIP runtime"}

# What a path contains, by layer and product; the first row that matches counts. A file that matches no row belongs to
# no layer: Python's own modules, the C library and the like.
_ROWS = (
    (PROGRAM, "Python", r"/python[\d.]*$|/libpython[\d.]+\w*\.so"),
    (FRAMEWORK, "PyTorch", r"/lib(torch|c10|caffe2)\w*\.so|/torch/_C\."),
    (FRAMEWORK, "CuPy", r"/cupy(_backends)?/"),
    (FRAMEWORK, "numba-cuda", r"/numba_cuda/"),
    (FRAMEWORK, "Numba", r"/numba/"),
    (FRAMEWORK, "llvmlite", r"/libllvmlite"),
    (FRAMEWORK, "cuda-core", r"/cuda/core/"),
    (FRAMEWORK, "cuda-bindings", r"/cuda/bindings/"),
    (FRAMEWORK, "Triton", r"/triton/_C/"),
    (FRAMEWORK, "JAX", r"/(jaxlib|jax_plugins)/"),
    (FRAMEWORK, "TensorFlow", r"/libtensorflow|/tensorflow/"),
    (MATH, "MKL", r"/libmkl_"),
    (MATH, "OpenBLAS", r"/lib\w*openblas"),
    (MATH, "oneDNN", r"/lib(dnnl|mkldnn)\b"),
    (LIBRARIES, "cuDNN", r"/libcudnn"),
    (LIBRARIES, "cuBLAS", r"/lib(cublas|nvblas)"),
    (LIBRARIES, "cuFFT", r"/libcufft"),
    (LIBRARIES, "cuRAND", r"/libcurand"),
    (LIBRARIES, "cuSPARSELt", r"/libcusparseLt"),
    (LIBRARIES, "cuSPARSE", r"/libcusparse"),
    (LIBRARIES, "cuSOLVER", r"/libcusolver"),
    (LIBRARIES, "cuTENSOR", r"/libcutensor"),
    (LIBRARIES, "NCCL", r"/libnccl"),
    (LIBRARIES, "NVSHMEM", r"/libnvshmem"),
    (LIBRARIES, "NVRTC", r"/libnvrtc"),
    (LIBRARIES, "nvJitLink", r"/libnvJitLink"),
    (LIBRARIES, "NVVM", r"/libnvvm\b"),
    (LIBRARIES, "CUPTI", r"/libcupti"),
    (LIBRARIES, "NVTX", r"/libnvToolsExt"),
    (LIBRARIES, "cuFile", r"/libcufile"),
    (LIBRARIES, "MIOpen", r"/libMIOpen"),
    (LIBRARIES, "rocBLAS", r"/lib(roc|hip)blas"),
    (LIBRARIES, "rocFFT", r"/lib(roc|hip)fft"),
    (LIBRARIES, "rocRAND", r"/lib(roc|hip)rand"),
    (LIBRARIES, "rocSPARSE", r"/lib(roc|hip)sparse"),
    (LIBRARIES, "rocSOLVER", r"/lib(roc|hip)solver"),
    (LIBRARIES, "RCCL", r"/librccl"),
    (LIBRARIES, "hipRTC", r"/libhiprtc"),
    (RUNTIME, "CUDA runtime", r"/libcudart\b"),
    (RUNTIME, "HIP runtime", r"/libamdhip64\b"),
    (USER, "CUDA driver", r"/libcuda\.so"),
    (USER, "PTX compiler", r"/libnvidia-(ptxjitcompiler|nvvm)"),
    (USER, "NVML", r"/libnvidia-ml\.so"),
    (USER, "ROCr", r"/libhsa-runtime64\b"),
)
ROWS = tuple((layer, product, re.compile(pattern)) for layer, product, pattern in _ROWS)
ORDER = [product for _, product, _ in ROWS]

# Modules into which a build may link NVIDIA's runtime, and a text that only the runtime has.
MAY_HOLD_THE_RUNTIME = re.compile(r"/cupy_backends/cuda/api/runtime\.|/cuda/bindings/_bindings/cyruntime\.")
TEXT_OF_THE_RUNTIME = b"CUDA driver version is insufficient for CUDA runtime version"

# Device files that a process maps while it uses the GPU.
OPENED = re.compile(r"/dev/(nvidia\d+|dxg|kfd)$")


def row_of(path: str) -> tuple[str, str] | None:
    """Return the layer and the product of a file, or None if it belongs to no layer."""
    return next(((layer, product) for layer, product, pattern in ROWS if pattern.search(path)), None)
