"""CUDA C++ without a GPU: kernels compiled by the machine's own compiler, and run on its processor.

    module = compile(source)
    vector_add = module.function("vector_add")
    vector_add((blocks, 1, 1), (256, 1, 1), (a, b, total, np.int32(n)))

A kernel runs in a process of its own over memory from `arena.allocate`, so that one that crashes, never ends or
takes all memory leaves Python alone.
"""

from __future__ import annotations

from host_to_device.standins.cuda_cpp.errors import (
    ArgumentError,
    CompileError,
    KernelFault,
    KernelStopped,
    LaunchError,
)
from host_to_device.standins.cuda_cpp.modules import Function, Module, Parameter, compile
from host_to_device.standins.cuda_cpp.nvrtc import compiles_for_gpu

__all__ = [
    "ArgumentError",
    "CompileError",
    "Function",
    "KernelFault",
    "KernelStopped",
    "LaunchError",
    "Module",
    "Parameter",
    "compile",
    "compiles_for_gpu",
]
