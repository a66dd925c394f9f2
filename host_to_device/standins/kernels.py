"""Recognise a kernel and bring its arguments to the stand-ins, for functions that run kernels on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from host_to_device.standins.numba_cuda.launching import CUDADispatcher, Launch
from host_to_device.standins.numba_cuda.memory import is_cuda_array, is_stand_in_memory


def is_raw(kernel: Any) -> bool:
    """Return whether an object is a `RawKernel`, CuPy's or the stand-in's."""
    kind = type(kernel)
    return kind.__name__ == "RawKernel" and kind.__module__.startswith(
        ("cupy", "host_to_device.standins.cupy")
    )


def name_of(kernel: Any) -> str:
    """Return a kernel's name: that of its Python function, or of the kernel in CUDA C++."""
    return getattr(kernel, "__name__", None) or kernel.name


def stand_in_of(kernel: Any, caller: str, more: str = "") -> Any:
    """Return a kernel in the form that the stand-ins launch.

    Parameters
    ----------
    kernel
        A kernel made by `cuda.jit`, the stand-in's or Numba's own, or a `RawKernel`, which is returned as it is.
    caller
        Name of the function that got the kernel, for its errors.
    more
        What follows the kernel in a call of that function, such as ", 64".

    Raises
    ------
    TypeError
        If it is no kernel that can be launched.
    """
    if is_raw(kernel):
        return kernel
    name = getattr(kernel, "__name__", type(kernel).__name__)
    is_of_numba = type(kernel).__module__.startswith("numba.cuda") and hasattr(kernel, "py_func")
    if is_of_numba or isinstance(kernel, CUDADispatcher):
        if getattr(kernel, "device", False) or kernel.targetoptions.get("device"):
            raise TypeError(f"{name}() is a device function: give {caller} a kernel that calls it")
        return CUDADispatcher(kernel.py_func, False, []) if is_of_numba else kernel
    if type(kernel).__module__.removeprefix("host_to_device.standins.").split(".")[0] == "cupy":
        raise TypeError(f"{caller} cannot launch {type(kernel).__name__}: give it a RawKernel")
    if isinstance(kernel, Launch):
        raise TypeError(
            f"{caller} takes the kernel by itself: {caller}({kernel.kernel.__name__}{more})[grid, block](…)"
        )
    if callable(kernel):
        raise TypeError(f"{name}() is a host function: {caller} takes a kernel made by @cuda.jit")
    raise TypeError(f"{caller} takes a kernel made by @cuda.jit, and got {kernel!r}")


def on_host(value: Any) -> Any:
    """Return an argument as the stand-ins take it: an array on a real GPU is copied to the host.

    Everything else is returned as it is, the stand-ins' own arrays too.
    """
    if type(value).__module__.startswith("host_to_device") or isinstance(value, np.ndarray):
        return value
    if is_stand_in_memory(value):  # the stand-in's CuPy arrays, whose class calls itself cupy.ndarray
        return value
    if hasattr(value, "copy_to_host"):
        return value.copy_to_host()
    if is_cuda_array(value):
        return value.get() if hasattr(value, "get") else value.detach().cpu().numpy()
    return value
