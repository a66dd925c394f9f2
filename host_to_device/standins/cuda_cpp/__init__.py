"""CUDA C++ without a GPU: the machine's own C++ compiler compiles kernels, and its CPU runs them.

    module = compile(source)
    vector_add = module.function("vector_add")
    vector_add((blocks, 1, 1), (256, 1, 1), (a, b, total, np.int32(n)))

Kernels run in separate processes, over memory from `arena.allocate`: a kernel that crashes, never ends or takes all
memory does no harm to the Python process.
"""

from __future__ import annotations

from host_to_device.standins.cuda_cpp.errors import (
    ArgumentError,
    CompileError,
    KernelFault,
    KernelStopped,
    LaunchError,
    TogetherError,
    TooLarge,
)
from host_to_device.standins.cuda_cpp.modules import Function, Module, compile
from host_to_device.standins.cuda_cpp.nvrtc import compiles_for_gpu
from host_to_device.standins.cuda_cpp.parameters import Parameter

__all__ = [
    "ArgumentError",
    "CompileError",
    "Function",
    "KernelFault",
    "KernelStopped",
    "LaunchError",
    "Module",
    "Parameter",
    "TogetherError",
    "TooLarge",
    "compile",
    "compiles_for_gpu",
]
