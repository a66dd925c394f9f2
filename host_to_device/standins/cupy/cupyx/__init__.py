"""CuPy's `cupyx`: the functions beyond NumPy that the course uses."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from host_to_device.standins.cupy import linalg as _linalg
from host_to_device.standins.cupy.base import Base as _Base
from host_to_device.standins.cupy.cuda.pinned_memory import alloc_pinned_memory
from host_to_device.standins.cupy.cupyx import profiler as profiler
from host_to_device.standins.cupy.names import STAND_IN_VERSION as _STAND_IN_VERSION
from host_to_device.standins.cupy.names import VERSION as _VERSION
from host_to_device.standins.cupy.names import public, raise_missing
from host_to_device.standins.cupy.ufuncs import ufunc
from host_to_device.standins.numba_cuda.devices import NAME as _NAME


def scatter_add(a: Any, slices: Any, value: Any) -> None:
    """Add values to the elements at some indices, once for each occurrence of an index.

    Parameters
    ----------
    a
        Array of int32, float16, float32, float64, uint32 or uint64.
    slices
        Indices, as in brackets; those in an array wrap around.
    value
        Number or array.

    Raises
    ------
    TypeError
        If the array has another dtype.
    """
    a.scatter_add(slices, value)


def scatter_max(a: Any, slices: Any, value: Any) -> None:
    """Store the larger of element and value at some indices; see `scatter_add`."""
    a.scatter_max(slices, value)


def scatter_min(a: Any, slices: Any, value: Any) -> None:
    """Store the smaller of element and value at some indices; see `scatter_add`."""
    a.scatter_min(slices, value)


def _one_over_root(x: Any) -> Any:
    return 1 / np.sqrt(x)


rsqrt = ufunc("cupy_rsqrt", _one_over_root, 1)


# Pinned memory


def empty_pinned(shape: Any, dtype: Any = float, order: str = "C") -> np.ndarray:
    """Return a new host array with undefined contents; here its memory is ordinary, and copies are no faster."""
    shape = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    dtype = np.dtype(dtype)
    memory = alloc_pinned_memory(int(np.prod(shape, dtype=object)) * dtype.itemsize)
    if 0 in shape:
        return np.ndarray(shape, dtype, memory, strides=np.empty(shape, dtype, order).strides)
    return np.ndarray(shape, dtype, memory, order=order)


def zeros_pinned(shape: Any, dtype: Any = float, order: str = "C") -> np.ndarray:
    """Return `empty_pinned`, filled with zeros."""
    array = empty_pinned(shape, dtype, order)
    array[...] = 0
    return array


def empty_like_pinned(
    a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None
) -> Any:
    """Return `empty_pinned` with the shape and dtype of an array, on the host or on the device."""
    if subok is not None:
        raise TypeError("subok is not supported yet")
    like = a._array if isinstance(a, _Base) else a
    layout = np.empty_like(like, dtype, order, shape=shape)  # NumPy's rules for the order K
    memory = alloc_pinned_memory(layout.nbytes)
    return np.ndarray(layout.shape, layout.dtype, memory, strides=layout.strides)


def zeros_like_pinned(
    a: Any, dtype: Any = None, order: str = "K", subok: Any = None, shape: Any = None
) -> Any:
    """Return `empty_like_pinned`, filled with zeros."""
    array = empty_like_pinned(a, dtype, order, subok, shape)
    array[...] = 0
    return array


# Settings


def geterr() -> dict[str, Any]:
    """Return the settings of `seterr`."""
    return dict(_linalg._settings)


def seterr(
    *, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None, linalg: Any = None
) -> dict[str, Any]:
    """Set the treatment of errors, and return the previous settings.

    Parameters
    ----------
    divide, over, under, invalid
        None; CuPy supports no other value.
    linalg
        "ignore" or "raise": whether a singular matrix raises an error.

    Raises
    ------
    NotImplementedError
        For other values.
    """
    before = geterr()
    if any(value is not None for value in (divide, over, under, invalid)):
        raise NotImplementedError()
    if linalg not in (None, "ignore", "raise"):
        raise NotImplementedError()
    if linalg is not None:
        _linalg._settings["linalg"] = linalg
    return before


@contextlib.contextmanager
def errstate(
    *, divide: Any = None, over: Any = None, under: Any = None, invalid: Any = None, linalg: Any = None
) -> Iterator[None]:
    """Run `seterr` for the length of a `with` block."""
    before = seterr(divide=divide, over=over, under=under, invalid=invalid, linalg=linalg)
    try:
        yield
    finally:
        _linalg._settings.update(before)


class DeviceSynchronized(RuntimeError):
    """Raised by CuPy if code that must not synchronize waits for the device."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or "Device was synchronized. ")


# Versions and device


class _RuntimeInfo:
    """The result of `get_runtime_info`: its text is a table."""

    def __init__(self) -> None:
        self.cupy_version, self.numpy_version = _STAND_IN_VERSION, np.__version__
        self.device = f"{_NAME}: results are real, times are not a GPU's"

    def __str__(self) -> str:
        rows = {
            "CuPy Version": f"{self.cupy_version} (a stand-in with the names of CuPy {_VERSION})",
            "NumPy Version": self.numpy_version,
            "CUDA Driver Version": "none",
            "CUDA Runtime Version": "none",
            "Device 0 Name": self.device,
        }
        width = max(map(len, rows))
        return "".join(f"{name:<{width}} : {value}\n" for name, value in rows.items())

    __repr__ = __str__


def get_runtime_info(*, full: bool = True) -> _RuntimeInfo:
    """Return the versions and the device of the stand-in; its text is a table."""
    return _RuntimeInfo()


def __getattr__(name: str) -> Any:
    if name == "jit":  # only when it is used: it loads the stand-in for Numba
        return importlib.import_module("host_to_device.standins.cupy.jit")
    if name == "time":
        return importlib.import_module("host_to_device.standins.cupy.cupyx.time")
    raise_missing("cupyx", name)


def __dir__() -> list[str]:
    return public(globals(), "profiler", "jit", "rsqrt", "time")
