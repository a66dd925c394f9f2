"""Device arrays of the stand-in: NumPy arrays that behave as Numba's device arrays do.

A NumPy array that no other code can reach stands for device memory. Copies from and to the host are real copies, so a
change on one side never changes the other. Operations that Numba refuses are refused here as well, in Numba's words
where it has any. Copies, waits and allocations are reported to `standins.events`, as Numba would make them on a GPU.
"""

from __future__ import annotations

import ctypes
import math
import operator
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.numba_cuda.devices import CudaAPIError
from host_to_device.standins.numba_cuda.layouts import (
    check_compatible,
    check_contiguous,
    check_order,
    check_writable,
    core,
    extent,
    fill_in_size,
    is_contiguous,
    layout,
    new_array,
    refuse_objects,
    store,
)
from host_to_device.standins.numba_cuda.streams import Stream, check_stream, default_stream, external_stream

# Marks an array interface as the stand-in's: the address is one of the host's memory.
MARK = "host_to_device"

OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY

STREAM_OF_HOST = (
    "NumPy only supports stream=None.: a launch in a stream takes no host array in numba-cuda 0.30; copy it first, with "
    "cuda.to_device(array, stream)"
)
IMPLICIT_COPY = "Host array used in CUDA kernel will incur copy overhead to/from device."


def report_copy(direction: str, nbytes: int, stream: Stream | int) -> None:
    """Report a copy, and that the host waits for it if there is no stream.

    Without a stream Numba calls cuMemcpyHtoD and cuMemcpyDtoH, for which the host waits; with one it calls their
    forms for streams. The host never waits for a copy on the device (NVIDIA, "CUDA Driver API", "API synchronization
    behavior").
    """
    if events.listening and nbytes:
        events.copied(direction, nbytes)
        if not stream and direction != "d2d":
            events.waited("copy to the host" if direction == "d2h" else "copy to the device")


class DeviceNDArrayBase:
    """Base class of device arrays and device records.

    Parameters
    ----------
    array
        NumPy array that stands for the device memory. It is not copied.
    stream
        Stream that its operations use by default, or 0.
    """

    __cuda_memory__ = True
    __cuda_ndarray__ = True

    def __init__(self, array: np.ndarray, stream: Stream | int = 0) -> None:
        self._array, self.stream = array, stream

    shape = property(lambda self: self._array.shape, doc="Size along each axis: a tuple of int.")
    strides = property(
        lambda self: self._array.strides, doc="Bytes from one element to the next along each axis."
    )
    dtype = property(lambda self: self._array.dtype, doc="NumPy's dtype of the elements.")
    ndim = property(lambda self: self._array.ndim, doc="Number of axes.")
    size = property(lambda self: self._array.size, doc="Number of elements.")
    nbytes = property(lambda self: self._array.nbytes, doc="Bytes of the elements.")

    @property
    def alloc_size(self) -> int:
        """Bytes from the first element to the end of the last, gaps of a strided view included."""
        return extent(self.shape, self.strides, self.dtype.itemsize)

    @property
    def flags(self) -> dict[str, bool]:
        """Whether the elements lie in C order or in Fortran order without gaps; False for a broadcast array."""
        broadcast = 0 in self.strides
        return {
            "C_CONTIGUOUS": self._array.flags.c_contiguous and not broadcast,
            "F_CONTIGUOUS": self._array.flags.f_contiguous and not broadcast,
        }

    @property
    def device_ctypes_pointer(self) -> Any:
        """Address of the first element as a `ctypes.c_void_p`."""
        return self._array.ctypes.data_as(ctypes.c_void_p)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return interface(self._array, self.stream)

    def __repr__(self) -> str:
        return f"<stand-in {type(self).__name__} shape={self.shape} dtype={self.dtype}>"

    def __copy__(self) -> DeviceNDArrayBase:
        return type(self)(self._array, self.stream)

    def __reduce_ex__(self, protocol: int) -> Any:
        raise TypeError(f"cannot pickle a {type(self).__name__}: pickle its copy_to_host() instead")

    def bind(self, stream: Stream | int = 0) -> DeviceNDArrayBase:
        """Return the same memory with another default stream."""
        check_stream(stream)
        return type(self)(self._array, stream)

    def _stream(self, stream: Stream | int) -> Stream | int:
        check_stream(stream)
        return stream or self.stream

    def copy_to_device(self, ary: Any, stream: Stream | int = 0) -> None:
        """Copy all elements of `ary`, on the host or on the device, into this array.

        Parameters
        ----------
        ary
            NumPy or device array with the same dtype and the same shape, apart from axes of size one. An empty
            array changes nothing, whatever its shape.
        stream
            Stream that the copy goes into, or 0.

        Raises
        ------
        ValueError
            If the shapes differ, or if this array (or `ary`, on the device) has gaps between its elements.
        TypeError
            If the dtypes differ.
        AttributeError
            If `ary` is not an array.
        """
        stream = self._stream(stream)
        if not hasattr(ary, "size"):
            raise AttributeError(
                f"'{type(ary).__name__}' object has no attribute 'size': give a NumPy or device array"
            )
        if ary.size == 0:
            return
        check_contiguous(self._array)
        target = core(self._array)
        on_device = is_device_memory(ary)
        if on_device:
            check_contiguous(ary._array)
            source = core(ary._array)
        else:
            order = "C" if target.flags.c_contiguous else "F"
            source = np.asarray(core(np.asanyarray(ary)), order=order)
        check_compatible(target, source)
        report_copy("d2d" if on_device else "h2d", self.alloc_size, stream)
        np.copyto(target.squeeze(), source.squeeze())

    def copy_to_host(self, ary: np.ndarray | None = None, stream: Stream | int = 0) -> np.ndarray:
        """Copy all elements to the host and return them there.

        Parameters
        ----------
        ary
            Array to fill, with the same dtype, shape and strides, apart from axes of size one. None creates one.
        stream
            Stream that the copy goes into, or 0.

        Raises
        ------
        NotImplementedError
            If this is a view that runs backwards.
        ValueError
            If the shapes or strides differ, or `ary` is read-only.
        TypeError
            If the dtypes differ, or `ary` is not on the host.
        """
        stream = self._stream(stream)
        if any(stride < 0 for stride in self.strides):
            raise NotImplementedError(f"D->H copy not implemented for negative strides: {self.strides}")
        if ary is None:
            strides = self.strides if self.size else None
            ary = new_array(self.shape, strides, self.dtype)
        else:
            check_compatible(self._array, ary)
            check_writable(ary)
        report_copy("d2h", self.alloc_size, stream)
        np.copyto(ary.squeeze(), self._array.squeeze())
        return ary


class DeviceNDArray(DeviceNDArrayBase):
    """An array in device memory. An index returns a host scalar or a view; only kernels can do arithmetic on it."""

    @property
    def _numba_type_(self) -> Any:
        from numba import from_dtype, types

        flags = self.flags
        layout = "C" if flags["C_CONTIGUOUS"] else "F" if flags["F_CONTIGUOUS"] else "A"
        return types.Array(from_dtype(self.dtype), self.ndim, layout)

    def is_c_contiguous(self) -> bool:
        """Return whether the elements lie in C order without gaps."""
        return self.flags["C_CONTIGUOUS"]

    def is_f_contiguous(self) -> bool:
        """Return whether the elements lie in Fortran order without gaps."""
        return self.flags["F_CONTIGUOUS"]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Copy to the host. NumPy's functions call this, as they do for Numba's arrays.

        Raises
        ------
        ValueError
            If `copy` is False.
        """
        if copy is False:
            raise ValueError("`copy=False` is not supported. A copy is always created.")
        return self.copy_to_host().__array__(*([dtype] if dtype else []))

    def __len__(self) -> int:
        if not self.shape:
            raise IndexError("tuple index out of range: an array without axes has no length")
        return self.shape[0]

    # Reading and writing elements

    def _select(self, item: Any) -> tuple[np.ndarray, bool]:
        """Return the selected part as a view, and whether it is one element."""
        items = item if isinstance(item, tuple) else (item,)
        if len(items) > self.ndim:
            raise IndexError(f"{len(items) - self.ndim} extra indices given")
        if any(stride < 0 for stride in self.strides):
            raise IndexError("Numba cannot index a view that runs backwards: index the array it is a view of")
        numbers = 0
        for axis, (index, size) in enumerate(zip(items, self.shape, strict=False)):
            if isinstance(index, slice):
                continue
            try:
                number = operator.index(index)
            except TypeError:
                kind = type(index).__name__
                raise TypeError(
                    f"a device array takes integers and slices as indices, not {kind}: copy_to_host() first"
                ) from None
            if not -size <= number < size:
                raise IndexError(f"index {number} is out of bounds for axis {axis} with size {size}")
            numbers += 1
        # The ellipsis makes NumPy give a view also of a single element. True counts as 1, as for Numba.
        index = tuple(i if isinstance(i, slice) else operator.index(i) for i in items)
        return self._array[(*index, ...)], numbers == self.ndim

    def getitem(self, item: Any, stream: Stream | int = 0) -> Any:
        """Return `self[item]`, copied in a stream.

        Parameters
        ----------
        item
            Integers and slices.
        stream
            Stream that the copy goes into, or 0.

        Returns
        -------
        scalar or DeviceNDArray or DeviceRecord
            With an integer for every axis, a copy of the element on the host; for a structured array, the record,
            which stays on the device. Otherwise a view that shares this array's memory.

        Raises
        ------
        IndexError
            If there are too many indices, an index is out of bounds, or the array is a view that runs backwards.
        TypeError
            If an index is neither an integer nor a slice.
        """
        stream = self._stream(stream)
        view, is_element = self._select(item)
        if not is_element:
            return DeviceNDArray(view, stream)
        if self.dtype.names is not None:
            return DeviceRecord(view, stream)
        report_copy("d2h", self.dtype.itemsize, stream)
        return view[()]

    def __getitem__(self, item: Any) -> Any:
        return self.getitem(item)

    def setitem(self, key: Any, value: Any, stream: Stream | int = 0) -> None:
        """Do what `self[key] = value` does, with the copy in a stream.

        Parameters
        ----------
        key
            Integers and slices.
        value
            Scalar, host array (copied to the device first) or device array. It is broadcast to the selected part
            and converted to this array's dtype.
        stream
            Stream that the copy goes into, or 0.

        Raises
        ------
        ValueError
            If the shapes do not fit, or a host array has gaps between its elements.
        IndexError, TypeError
            As `getitem`; TypeError also if the value cannot be converted.
        """
        stream = self._stream(stream)
        target, _ = self._select(key)
        # Without a stream Numba assigns in the default stream and waits for it at the end.
        source, _ = auto_device(value, stream=stream or default_stream(), user_explicit=True)
        if source.ndim > target.ndim:
            raise ValueError(f"Can't assign {source.ndim}-D array to {target.ndim}-D self")
        source = source.reshape(*(1,) * (target.ndim - source.ndim), *source.shape)
        for axis, (wanted, given) in enumerate(zip(target.shape, source.shape, strict=True)):
            if given not in (1, wanted):
                raise ValueError(
                    f"Can't copy sequence with size {given} to array axis {axis} with dimension {wanted}"
                )
        store(target, source._array)
        if target.size:
            events.operated("assignment")
        if not stream:
            events.waited("assignment")

    def __setitem__(self, key: Any, value: Any) -> None:
        self.setitem(key, value)

    # Other views of the same memory

    def reshape(self, *newshape: Any, order: str = "C", **kws: Any) -> DeviceNDArray:
        """Return a view of the same memory with another shape.

        Parameters
        ----------
        newshape
            The sizes, or one tuple of them; one may be -1.
        order
            `C`, `F` or `A`: the order of the new axes in memory. The order of the old axes does not matter, so
            `order="F"` of an array in C order differs from NumPy's result.

        Raises
        ------
        ValueError
            If the number of elements would change.
        NotImplementedError
            If this array has gaps between its elements.
        """
        if kws:
            raise TypeError(f"unknown keyword arguments {kws.keys()}")
        if len(newshape) == 1 and isinstance(newshape[0], tuple | list):
            newshape = newshape[0]
        newshape = tuple(operator.index(size) for size in newshape)
        if newshape == self.shape:
            return DeviceNDArray(self._array)
        check_order(order)
        newshape = fill_in_size(newshape, self.size)
        flags = self.flags
        if not any(flags.values()):
            raise NotImplementedError("reshape would require copy")
        if order == "A":
            order = "C" if not flags["F_CONTIGUOUS"] else "F"
        return DeviceNDArray(self._memory().reshape(newshape, order=order))

    def ravel(self, order: str = "C", stream: Stream | int = 0) -> DeviceNDArray:
        """Return a view with one axis, which runs in the order of memory.

        Raises
        ------
        NotImplementedError
            If the elements do not lie in that order, or have gaps between them.
        """
        stream = self._stream(stream)
        check_order(order)
        flags = self.flags
        if (order in "CA" and flags["C_CONTIGUOUS"]) or (order in "FA" and flags["F_CONTIGUOUS"]):
            return DeviceNDArray(self._memory(), stream)
        raise NotImplementedError("ravel on non-contiguous array")

    def _memory(self) -> np.ndarray:
        """Return all elements of a contiguous array in the order of memory, as a view with one axis."""
        return (self._array if self._array.flags.c_contiguous else self._array.T).reshape(-1)

    def squeeze(self, axis: int | tuple[int, ...] | None = None, stream: Stream | int = 0) -> DeviceNDArray:
        """Return a view without the axes of size one, or without the named axes, counted from 0.

        Raises
        ------
        ValueError
            If a named axis has another size than one.
        IndexError
            If the array has no such axis.
        """
        stream = self._stream(stream)
        if axis is None:
            return DeviceNDArray(self._array.squeeze(), stream)
        axes = axis if isinstance(axis, tuple) else (axis,)
        if any(self.shape[which] != 1 for which in axes):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
        return DeviceNDArray(
            self._array[tuple(0 if i in axes else slice(None) for i in range(self.ndim))], stream
        )

    def view(self, dtype: Any) -> DeviceNDArray:
        """Return the same bytes read as another dtype.

        Raises
        ------
        ValueError
            If the new element has another size, and the array is not in C order or the bytes of its last axis are
            not a multiple of that size.
        """
        dtype = refuse_objects(np.dtype(dtype))
        if dtype.itemsize != self.dtype.itemsize:
            if not self.is_c_contiguous():
                raise ValueError("To change to a dtype of a different size, the array must be C-contiguous")
            if self.ndim == 0:
                raise IndexError(
                    "list index out of range: an array without axes keeps the size of its element"
                )
            if self.shape[-1] * self.dtype.itemsize % dtype.itemsize:
                raise ValueError(
                    "When changing to a larger dtype, its size must be a divisor of the total size in bytes "
                    "of the last axis of the array."
                )
        return DeviceNDArray(self._array.view(dtype), self.stream)

    @property
    def T(self) -> DeviceNDArray:
        """The transpose of a two-dimensional array, in new memory."""
        return self.transpose()

    def transpose(self, axes: Any = None) -> DeviceNDArray:
        """Return the transpose of a two-dimensional array, in new memory: Numba runs a kernel for it.

        Parameters
        ----------
        axes
            None or `(1, 0)`. For `(0, 1)` the result is the array itself.

        Raises
        ------
        NotImplementedError
            If the array does not have two axes.
        ValueError
            If the axes are not 0 and 1.
        """
        if axes and tuple(axes) == tuple(range(self.ndim)):
            return self
        if self.ndim != 2:
            raise NotImplementedError("transposing a non-2D DeviceNDArray isn't supported")
        if axes is not None and set(axes) != {0, 1}:
            raise ValueError(f"invalid axes list {axes!r}")
        result = new_device_memory(*layout(self.shape[::-1], None, self.dtype, "C"))
        np.copyto(result, self._array.T)
        events.operated("transpose")
        return DeviceNDArray(result, self.stream)

    def split(self, section: int, stream: Stream | int = 0) -> Iterator[DeviceNDArray]:
        """Yield views of `section` elements each; the last view may be shorter.

        Raises
        ------
        ValueError
            If the array does not have one axis without gaps.
        """
        stream = self._stream(stream)
        if self.ndim != 1:
            raise ValueError("only support 1d array")
        if self.strides[0] != self.dtype.itemsize:
            raise ValueError("only support unit stride")
        for part in range(math.ceil(self.size / section)):
            yield DeviceNDArray(self._array[part * section : (part + 1) * section], stream)


class DeviceRecord(DeviceNDArrayBase):
    """One record of a structured array, in device memory: `record["field"]` reads and writes its fields."""

    @property
    def _numba_type_(self) -> Any:
        from numba import from_dtype

        return from_dtype(self.dtype)

    def getitem(self, item: str, stream: Stream | int = 0) -> Any:
        """Return a field: a scalar as a copy on the host, an array or a record as a view.

        Raises
        ------
        KeyError
            If the record has no such field.
        """
        stream = self._stream(stream)
        kind, _ = self.dtype.fields[item]
        field = self._array[item]
        if kind.shape:
            return DeviceNDArray(field, stream)
        if kind.names is not None:
            return DeviceRecord(field, stream)
        report_copy("d2h", kind.itemsize, stream)
        return field[()]

    def __getitem__(self, item: str) -> Any:
        return self.getitem(item)

    def setitem(self, key: str, value: Any, stream: Stream | int = 0) -> None:
        """Write a scalar field; the value is converted to its dtype.

        Raises
        ------
        KeyError
            If the record has no such field.
        """
        stream = self._stream(stream)
        kind, _ = self.dtype.fields[key]
        source, _ = auto_device(kind.type(value), stream=stream or default_stream(), user_explicit=True)
        report_copy("d2d", source.dtype.itemsize, stream)
        store(self._array[key], source._array)
        if not stream:
            events.waited("assignment")

    def __setitem__(self, key: str, value: Any) -> None:
        self.setitem(key, value)


# Allocation and transfer


def new_device_memory(shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array that stands for device memory, and report its allocation.

    Raises
    ------
    CudaAPIError
        With code 2, CUDA_ERROR_OUT_OF_MEMORY, if this machine does not have enough memory.
    """
    try:
        array = new_array(shape, strides, dtype)
    except MemoryError:
        events.refused(extent(shape, strides, dtype.itemsize))
        raise CudaAPIError(
            OUT_OF_MEMORY, "Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY: this machine's own memory"
        ) from None
    # All views of the array share its base, the buffer.
    events.allocated(extent(shape, strides, dtype.itemsize), array.base)
    return array


def to_device(
    obj: Any, stream: Stream | int = 0, copy: bool = True, to: DeviceNDArrayBase | None = None
) -> DeviceNDArrayBase:
    """Copy a host array to the device.

    Parameters
    ----------
    obj
        NumPy array without gaps, a number, or nested lists of numbers of one shape. A device array is returned as
        it is.
    stream
        Stream that the copy goes into, or 0.
    copy
        False to allocate only.
    to
        Device array to copy into, instead of a new one.

    Returns
    -------
    DeviceNDArray
        `to`, or a new array with the shape, strides and dtype of `obj`; a `DeviceRecord` for a record.

    Raises
    ------
    ValueError
        If the array has gaps between its elements, or does not fit into `to`.
    TypeError
        If the array holds Python objects, or has another dtype than `to`.
    """
    if to is None:
        return auto_device(obj, stream=stream, copy=copy, user_explicit=True)[0]
    if copy:
        to.copy_to_device(obj, stream=stream)
    return to


def auto_device(
    obj: Any, stream: Stream | int = 0, copy: bool = True, user_explicit: bool = False
) -> tuple[Any, bool]:
    """Return `obj` in device memory, and whether it is new there.

    Parameters
    ----------
    obj
        As for `to_device`.
    stream
        Stream that the copy goes into, or 0.
    copy
        False to allocate only.
    user_explicit
        Whether the learner's code requests the copy. If not, the copy of a host array gives Numba's performance
        warning.
    """
    check_stream(stream)
    if is_device_memory(obj):
        return obj, False
    if is_cuda_array(obj):
        return as_cuda_array(obj), False
    if isinstance(obj, np.void):
        host, kind = np.asarray(obj), DeviceRecord
    else:
        host, kind = host_array(obj), DeviceNDArray
        check_contiguous(host)
    device = kind(new_device_memory(host.shape, host.strides, host.dtype), stream)
    if copy:
        if not user_explicit and isinstance(obj, np.ndarray):
            warn_of_implicit_copy()
        device.copy_to_device(host, stream=stream)
    return device, True


def refuse_on_host(value: Any, stream: Stream | int) -> None:
    """Refuse a host array as a launch's argument if the launch has a stream that is not the default one.

    numba-cuda 0.30 asks NumPy for the array by DLPack, for use in the stream, and NumPy knows no streams. DLPack has no
    type for records, times and texts, so these take another way.

    Raises
    ------
    RuntimeError
        If it is a host array that the launch cannot take.
    """
    if not stream or not int(stream) or is_device_memory(value) or is_cuda_array(value):
        return
    if np.asanyarray(value).dtype.kind not in "VMmSU":
        raise RuntimeError(STREAM_OF_HOST)


def host_array(obj: Any) -> np.ndarray:
    """Return `obj` as a NumPy array; a NumPy array is not copied.

    Raises
    ------
    TypeError
        If `obj` is text, or only an array of Python objects could hold it.
    ValueError
        If it consists of nested lists of different lengths.
    """
    if isinstance(obj, str | bytes):
        raise TypeError(f"device memory holds numbers, not text: {obj!r}")
    array = np.asanyarray(obj)
    refuse_objects(array.dtype)
    return array


def warn_of_implicit_copy() -> None:
    """Give Numba's warning for a host array passed to a kernel, unless Numba's settings silence it."""
    try:
        from numba.core import config
        from numba.core.errors import NumbaPerformanceWarning as Kind
    except ImportError:
        Kind = PerformanceWarning
    else:
        if config.DISABLE_PERFORMANCE_WARNINGS or not getattr(config, "CUDA_WARN_ON_IMPLICIT_COPY", True):
            return
    warnings.warn(IMPLICIT_COPY, Kind, stacklevel=level_of_caller())


def level_of_caller() -> int:
    """Return the `stacklevel` at which a warning from the calling function names the learner's line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    return level


class PerformanceWarning(Warning):
    """The class of the warning where Numba, with its own class for it, is not installed."""


# The interface by which libraries share device memory


def interface(array: np.ndarray, stream: Stream | int) -> dict[str, Any]:
    """Return the description of device memory that other libraries read, version 3.

    It has the mark of this stand-in, because no library for a real GPU can use the address.
    """
    return {
        "shape": array.shape,
        "strides": None if is_contiguous(array) else array.strides,
        "data": (array.ctypes.data if array.size else 0, False),
        "typestr": array.dtype.str,
        "stream": int(stream) if stream else None,
        "version": 3,
        "stand-in": MARK,
    }


def is_cuda_array(obj: Any) -> bool:
    """Return whether an object describes itself as device memory."""
    return hasattr(obj, "__cuda_array_interface__")


def is_stand_in_memory(obj: Any) -> bool:
    """Return whether an object describes itself as device memory that a stand-in has made."""
    return is_cuda_array(obj) and obj.__cuda_array_interface__.get("stand-in") == MARK


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceNDArray:
    """Return a device array that shares the memory of another library's array.

    Raises
    ------
    TypeError
        If the object does not describe itself as device memory, or the memory is on a real GPU.
    """
    if not is_cuda_array(obj):
        raise TypeError("*obj* doesn't implement the cuda array interface.")
    return from_cuda_array_interface(obj.__cuda_array_interface__, owner=obj, sync=sync)


def from_cuda_array_interface(desc: dict[str, Any], owner: Any = None, sync: bool = True) -> DeviceNDArray:
    """Return a device array that shares the described memory.

    Parameters
    ----------
    desc
        The value of `__cuda_array_interface__`.
    owner
        Object to keep alive as long as the memory is in use.
    sync
        Whether the host waits for the described stream. Here such a wait is only recorded.

    Raises
    ------
    TypeError
        If the memory is not this stand-in's.
    NotImplementedError
        If the array is masked.
    """
    if desc.get("mask") is not None:
        raise NotImplementedError("Masked arrays are not supported")
    if desc.get("stand-in") != MARK:
        raise TypeError(
            "this array is not in the stand-in's memory: copy it to the host, then cuda.to_device it"
        )
    shape, strides, dtype = layout(desc["shape"], desc.get("strides"), desc["typestr"], "C")
    nbytes = extent(shape, strides, dtype.itemsize)
    stream = 0 if desc.get("stream") is None else external_stream(desc["stream"])
    if sync and stream:
        events.waited("another library's stream")
    if not nbytes:
        return DeviceNDArray(np.empty(shape, dtype), stream)
    backwards = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True) if stride < 0)
    memory = (ctypes.c_byte * nbytes).from_address(desc["data"][0] + backwards)
    memory.owner = owner
    return DeviceNDArray(np.ndarray(shape, dtype, memory, offset=-backwards, strides=strides), stream)


def is_device_memory(obj: Any) -> bool:
    """Return whether an object is device memory of Numba's kind; the stand-in's has an `_array`."""
    return bool(getattr(obj, "__cuda_memory__", False))
