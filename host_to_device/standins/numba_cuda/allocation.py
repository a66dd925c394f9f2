"""Allocates arrays with undefined contents: in device memory, and in host memory that the device can use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from host_to_device.standins.numba_cuda.layouts import check_writable, layout, layout_like, new_array
from host_to_device.standins.numba_cuda.memory import (
    DeviceNDArray,
    interface,
    new_device_memory,
)
from host_to_device.standins.numba_cuda.streams import Stream, check_stream


class _HostAndDevice(np.ndarray):
    """Memory that host and device share, as a NumPy array: it needs no copy, and its arithmetic runs on the host.

    Only the whole array is device memory. Its slices and the results of its arithmetic are host arrays, as in Numba.
    """

    __cuda_memory__ = True
    __cuda_ndarray__ = True
    stream: Stream | int = 0
    _allocated = False

    @property
    def _array(self) -> np.ndarray:
        if not self._allocated:
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute 'gpu_data': only the whole array is device memory"
            )
        return self.view(np.ndarray)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return interface(self._array, self.stream)


class MappedNDArray(_HostAndDevice):
    """Host memory that the device can use as well, made by `mapped_array`."""


class ManagedNDArray(_HostAndDevice):
    """Memory that the driver moves between host and device, made by `managed_array`."""


def device_array(
    shape: int | tuple[int, ...],
    dtype: Any = np.float64,
    strides: int | tuple[int, ...] | None = None,
    order: str = "C",
    stream: Stream | int = 0,
) -> DeviceNDArray:
    """Return a new device array with undefined contents.

    Parameters
    ----------
    shape
        Size along each axis; an int for one axis.
    dtype
        A dtype, or an object that `numpy.dtype` accepts. Numba's own types are refused, as Numba refuses them.
    strides
        Bytes from one element to the next along each axis; None for an array without gaps.
    order
        `C` or `F`, where no strides are given.
    stream
        Default stream of the array, or 0.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described; the message names it.
    CudaAPIError
        If the machine does not have enough memory.
    """
    check_stream(stream)
    return DeviceNDArray(new_device_memory(*layout(shape, strides, dtype, order)), stream)


def device_array_like(ary: Any, stream: Stream | int = 0) -> DeviceNDArray:
    """Return a new device array with the shape, dtype and order of axes of a NumPy or device array."""
    return device_array(**layout_like(ary), stream=stream)


def from_array_like(ary: Any, stream: Stream | int = 0, gpu_data: Any = None) -> DeviceNDArray:
    """Return what `device_array_like` returns: the name of it in `numba.cuda.cudadrv.devicearray`.

    Raises
    ------
    NotImplementedError
        If memory of the driver's is given as `gpu_data`.
    """
    if gpu_data is not None:
        raise NotImplementedError("the stand-in has no gpu_data: give cuda.as_cuda_array() the array instead")
    return device_array_like(ary, stream)


def pinned_array(
    shape: int | tuple[int, ...], dtype: Any = np.float64, strides: Any = None, order: str = "C"
) -> np.ndarray:
    """Return a new host array with undefined contents. Here it is an ordinary array, and no faster to copy.

    Parameters and errors are those of `device_array`.
    """
    return new_array(*layout(shape, strides, dtype, order))


def pinned_array_like(ary: Any) -> np.ndarray:
    """Return `pinned_array` with the shape, dtype and order of axes of an array."""
    return pinned_array(**layout_like(ary))


def mapped_array(
    shape: int | tuple[int, ...],
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Stream | int = 0,
    portable: bool = False,
    wc: bool = False,
) -> MappedNDArray:
    """Return a new array that host and device share, with undefined contents.

    Parameters and errors are those of `device_array`; `portable` and `wc` change nothing here.
    """
    check_stream(stream)
    return _share(new_array(*layout(shape, strides, dtype, order)), MappedNDArray, stream)


def mapped_array_like(
    ary: Any, stream: Stream | int = 0, portable: bool = False, wc: bool = False
) -> MappedNDArray:
    """Return `mapped_array` with the shape, dtype and order of axes of an array."""
    return mapped_array(**layout_like(ary), stream=stream, portable=portable, wc=wc)


def managed_array(
    shape: int | tuple[int, ...],
    dtype: Any = np.float64,
    strides: Any = None,
    order: str = "C",
    stream: Stream | int = 0,
    attach_global: bool = True,
) -> ManagedNDArray:
    """Return a new array that host and device share, with undefined contents.

    Parameters and errors are those of `device_array`; `attach_global` changes nothing here.
    """
    check_stream(stream)
    return _share(new_device_memory(*layout(shape, strides, dtype, order)), ManagedNDArray, stream)


def _share(array: np.ndarray, kind: type, stream: Stream | int) -> Any:
    shared = array.view(kind)
    shared._allocated, shared.stream = True, stream
    return shared


@contextmanager
def pinned(*arylist: np.ndarray) -> Iterator[None]:
    """Pin host arrays for the length of a `with` block. Here this only checks the arrays.

    Raises
    ------
    TypeError
        If an argument is not a host array.
    ValueError
        If an array is read-only.
    """
    for ary in arylist:
        check_writable(ary)
    yield


@contextmanager
def mapped(*arylist: np.ndarray, stream: Stream | int = 0) -> Iterator[Any]:
    """Provide device arrays that share the memory of host arrays, for the length of a `with` block.

    For one array the block gets one device array, for several a list. The errors are those of `pinned`.
    """
    check_stream(stream)
    for ary in arylist:
        check_writable(ary)
    arrays = [DeviceNDArray(np.asarray(ary), stream) for ary in arylist]
    yield arrays[0] if len(arrays) == 1 else arrays


@contextmanager
def defer_cleanup() -> Iterator[None]:
    """Do nothing for the length of a `with` block: Python frees memory as usual."""
    yield
