"""Recognise a kernel, for functions that run kernels on the CPU."""

from __future__ import annotations

from typing import Any

from host_to_device.standins.mangling import expression
from host_to_device.standins.numba_cuda.dispatching import CUDADispatcher
from host_to_device.standins.numba_cuda.launching import Launch
from host_to_device.standins.numba_cuda_mlir.cuda import MLIRDispatcher


def is_raw(kernel: Any) -> bool:
    """Return whether an object is a `RawKernel`, CuPy's or the stand-in's."""
    kind = type(kernel)
    return kind.__name__ == "RawKernel" and kind.__module__.startswith(
        ("cupy", "host_to_device.standins.cupy")
    )


def name_of(kernel: Any) -> str:
    """Return a kernel's name: that of its Python function, or of the kernel in CUDA C++, such as `add<float>`."""
    return expression(kernel.name) if is_raw(kernel) else kernel.__name__


def expressions_of(kernel: Any) -> tuple[str, ...]:
    """Return the name expressions that make the compiler compile a `RawKernel`: its own if it is a template's."""
    name = name_of(kernel)
    return () if name == kernel.name else (name,)


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
    module = type(kernel).__module__
    is_of_numba = module.startswith(("numba.cuda", "numba_cuda_mlir")) and hasattr(kernel, "py_func")
    if is_of_numba or isinstance(kernel, CUDADispatcher):
        if getattr(kernel, "device", False) or kernel.targetoptions.get("device"):
            raise TypeError(f"{name}() is a device function: give {caller} a kernel that calls it")
        if not is_of_numba:
            return kernel
        made = MLIRDispatcher if module.startswith("numba_cuda_mlir") else CUDADispatcher
        return made(kernel.py_func, False, _signatures(kernel))
    if type(kernel).__module__.removeprefix("host_to_device.standins.").split(".")[0] == "cupy":
        raise TypeError(f"{caller} cannot launch {type(kernel).__name__}: give it a RawKernel")
    launched = launched_kernel(kernel)
    if launched is not None:
        raise TypeError(
            f"{caller} takes the kernel by itself: {caller}({name_of(launched)}{more})[grid, block](…)"
        )
    if callable(kernel):
        raise TypeError(f"{name}() is a host function: {caller} takes a kernel made by @cuda.jit")
    raise TypeError(f"{caller} takes a kernel made by @cuda.jit, and got {kernel!r}")


def launched_kernel(value: Any) -> Any:
    """Return the kernel of a kernel with its launch configuration, `kernel[grid, block]`; None for anything else."""
    if isinstance(value, Launch):
        return value.kernel
    is_of_numba = type(value).__name__ == "_LaunchConfiguration" and hasattr(value, "dispatcher")
    return value.dispatcher if is_of_numba else None


def _signatures(kernel: Any) -> list[tuple]:
    """Return the signatures that one of Numba's kernels was declared with; nothing if its launches decide its types.

    Numba compiles a kernel with signatures at once, and for no other types afterwards.
    """
    if getattr(kernel, "_can_compile", True):
        return []
    return [tuple(map(_as_numbas, kinds)) for kinds in kernel.overloads]


def _as_numbas(kind: Any) -> Any:
    """Return Numba's own type for one of `numba_cuda_mlir`'s; any other as it is."""
    if not type(kind).__module__.startswith("numba_cuda_mlir"):
        return kind
    from numba.core import sigutils, types

    text = str(kind)
    if hasattr(kind, "layout"):
        return types.Array(_as_numbas(kind.dtype), kind.ndim, kind.layout)
    return sigutils.normalize_signature(f"({text},)")[0][0]
