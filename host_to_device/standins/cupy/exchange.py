"""Sharing memory with other libraries: the CUDA array interface, DLPack, and NumPy's functions on CuPy's arrays."""

from __future__ import annotations

import ctypes
import warnings
from typing import Any

import numpy as np

from host_to_device.standins.cupy.base import NUMBERS, Base, adopt, view_of
from host_to_device.standins.cupy.cuda.memory import ManagedMemory, PooledMemory, memory_of
from host_to_device.standins.numba_cuda.memory import MARK

# DLPack's DLDeviceType: https://dmlc.github.io/dlpack/latest/c_api.html
CPU, CUDA = 1, 2
# Of DLTensor.device.device_type, by the name of the capsule: version 1 has a version, a context, a function and flags first.
DEVICE_TYPE_OFFSET = {b"dltensor": 8, b"dltensor_versioned": 8 + 3 * 8 + 8}


def interface(array: Any, stream: int) -> dict[str, Any]:
    """Return the description of an array's memory that other libraries read, version 3.

    It carries the stand-ins' mark: the address is valid on the host only.
    """
    memory = array._array
    return {
        "shape": memory.shape,
        "typestr": memory.dtype.str,
        "descr": memory.dtype.descr,
        "stream": stream or 1,  # the protocol forbids 0; 1 is the default stream
        "version": 3,
        "strides": None if memory.flags.c_contiguous else memory.strides,
        "data": (memory.__array_interface__["data"][0] if memory.size else 0, False),
        "stand-in": MARK,
    }


_api = ctypes.pythonapi
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


def device_of(tensor: Any) -> ctypes.c_int32:
    """Return the field of a DLPack capsule that holds the type of its device."""
    name = b"dltensor_versioned" if '"dltensor_versioned"' in repr(tensor) else b"dltensor"
    address = _api.PyCapsule_GetPointer(tensor, name)
    return ctypes.c_int32.from_address(address + DEVICE_TYPE_OFFSET[name])


def capsule(
    array: Any,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
) -> Any:
    """Return a DLPack capsule of an array, of version 1 if `max_version` allows that.

    The capsule names a CUDA device, so that libraries refuse it as they refuse a GPU's memory. If `dl_device` is the
    host, the capsule holds a copy on the host, or the array's own memory if that is managed.

    Raises
    ------
    ValueError
        If `dl_device` is the host and `copy` is False, or the stream is a number that DLPack does not have.
    BufferError
        If `dl_device` is another device, or `copy` is True for a copy on the device.
    """
    versions = {"max_version": tuple(max_version)} if max_version is not None and max_version[0] >= 1 else {}
    if dl_device is not None and tuple(dl_device) == (CPU, 0):
        if not copy and is_managed(array._array):
            return array._array.__dlpack__(**versions)
        if copy is False:
            raise ValueError("GPU memory cannot be exported to CPU without copy.")
        return array.get().__dlpack__(**versions)
    if copy:
        raise BufferError("copy=True only supported for copy to CPU.")
    if dl_device is not None and tuple(dl_device) != (CUDA, 0):
        raise BufferError("unsupported device requested.")
    if stream is not None and stream < -1:
        raise ValueError(
            "On CUDA, the valid stream for the DLPack protocol is -1, 1, 2, or any larger value, "
            f"but {stream} was provided"
        )
    if stream == 0:
        warnings.warn(
            "Stream 0 is passed from a library that you are converting to; CuPy assumes 0 as a legacy default stream. "
            "Please report this problem to the library as this violates the DLPack protocol.",
            stacklevel=3,
        )
    tensor = array._array.__dlpack__(**versions)
    device_of(tensor).value = CUDA
    return tensor


def is_managed(array: np.ndarray) -> bool:
    """Return whether host and device share an array's memory, of a pool or outside of one."""
    memory = memory_of(array)
    if isinstance(memory, PooledMemory):
        memory = memory_of(memory._bytes)
    return isinstance(memory, ManagedMemory)


class Tensor:
    """A DLPack capsule with the methods that `numpy.from_dlpack` calls."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __dlpack__(self, **_: Any) -> Any:
        return self._tensor

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU, 0


def fromDlpack(dltensor: Any) -> Any:
    """Return an array over the memory of a DLPack capsule, which cannot be used again.

    Raises
    ------
    ValueError
        If the capsule was used before.
    TypeError
        If its memory is the host's.
    """
    try:
        field = device_of(dltensor)
    except ValueError:
        raise ValueError("A DLPack tensor object cannot be consumed multiple times") from None
    if field.value != CUDA:
        raise TypeError(
            "CPU arrays cannot be directly imported to CuPy. Use `cupy.array(numpy.from_dlpack(input))` instead."
        )
    field.value = CPU
    array = np.from_dlpack(Tensor(dltensor))
    if not array.flags.writeable:
        shared = ctypes.c_byte * max(array.nbytes, 1)
        holder = shared.from_address(array.ctypes.data)
        holder.owner = array
        array = np.ndarray(array.shape, array.dtype, holder, strides=array.strides)
    return adopt(array)


def from_dlpack(array: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """Return an array that shares the memory of another library's device array.

    Parameters
    ----------
    array
        Object with `__dlpack__` and `__dlpack_device__`.
    device
        None; CuPy supports no other.
    copy
        True for a copy, which CuPy's own arrays refuse.

    Raises
    ------
    TypeError
        If the memory is the host's, as with NumPy's arrays.
    NotImplementedError, BufferError
        If a device is given, or a copy asked for of one of CuPy's arrays.
    """
    if not hasattr(array, "__dlpack_device__"):
        return fromDlpack(array)  # a capsule
    if device is not None:
        raise NotImplementedError("from_dlpack() does not support device yet.")
    if isinstance(array, Base) and copy:
        raise BufferError("copy=True only supported for copy to CPU.")
    if array.__dlpack_device__()[0] != CUDA:
        raise TypeError(
            "CPU arrays cannot be directly imported to CuPy. Use `cupy.array(numpy.from_dlpack(input))` instead."
        )
    result = (
        view_of(array._array.view(), array) if isinstance(array, Base) else fromDlpack(array.__dlpack__())
    )
    return result.copy() if copy else result


def numpy_ufunc(function: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """Call CuPy's function when one of NumPy's universal functions gets an array of the device.

    Raises
    ------
    TypeError
        If a NumPy array is among the arguments: "Unsupported type <class 'numpy.ndarray'>".
    """
    arguments = inputs
    if "out" in kwargs:
        out = kwargs["out"]
        if len(out) != 1:
            raise ValueError("The 'out' parameter must have exactly one array value")
        arguments, kwargs = (*inputs, *out), {**kwargs, "out": out[0]}
    ours = getattr(Base._package, function.__name__, None)
    if method != "__call__":
        ours = getattr(ours, method, None)
    if ours is None:
        return NotImplemented
    for value in arguments:
        known = (
            type(value) in NUMBERS
            or isinstance(value, np.ndarray)
            or hasattr(value, "__cuda_array_interface__")
            or hasattr(value, "__cupy_get_ndarray__")
        )
        if not known:
            return NotImplemented
    if function.__name__ in ("greater", "greater_equal", "less", "less_equal", "equal", "not_equal"):
        inputs = tuple(x.item() if isinstance(x, np.ndarray) and x.ndim == 0 else x for x in inputs)
    return ours(*inputs, **kwargs)
