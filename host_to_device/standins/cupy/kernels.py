"""CuPy's user-defined kernels, under the names of the package `cupy`."""

from __future__ import annotations

from host_to_device.standins.cupy.cuda.compiler import CompileException
from host_to_device.standins.cupy.elementwise import ElementwiseKernel
from host_to_device.standins.cupy.raw import RawKernel, RawModule
from host_to_device.standins.cupy.reduction import ReductionKernel

__all__ = ["CompileException", "ElementwiseKernel", "RawKernel", "RawModule", "ReductionKernel"]
