"""Device memory and pointers into it: every allocation has separate memory of exactly the requested size."""

from __future__ import annotations

import ctypes
import operator
from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cuda_cpp import arena
from host_to_device.standins.cupy.cuda.device import Device
from host_to_device.standins.cupy.cuda.stream import Stream
from host_to_device.standins.numba_cuda.devices import memory_of_this_machine


class OutOfMemoryError(MemoryError):
    """Raised if no memory is left, or the pool has reached its limit.

    Parameters
    ----------
    size, total, limit
        Requested bytes, bytes that the pool already holds (-1 outside a pool), and its limit (0 for none).
    """

    def __init__(self, size: int, total: int, limit: int = 0) -> None:
        self._numbers = size, total, limit
        text = f"Out of memory allocating {size:,} bytes"
        if limit:
            text += f" (allocated so far: {total:,} bytes, limit set to: {limit:,} bytes)."
        elif total != -1:
            text += f" (allocated so far: {total:,} bytes)."
        super().__init__(text)

    def __reduce__(self) -> Any:
        return type(self), self._numbers


def total_memory() -> int:
    """Return the bytes of this machine's memory, or a very large number if they are unknown."""
    try:
        return memory_of_this_machine().total
    except NotImplementedError:
        return 1 << 62


_total = 0


def take(size: int) -> np.ndarray:
    """Return `size` bytes that stand for device memory, as a NumPy array of uint8.

    Raises
    ------
    MemoryError
        If this machine has less memory.
    """
    global _total
    _total = _total or total_memory()
    if size > _total:
        raise MemoryError
    return arena.allocate(size)


class BaseMemory:
    """Memory on the device: `ptr` is its address, `size` its length in bytes.

    The instance is the base of every array in it, and therefore lives as long as they do.
    """

    __slots__ = ("__array_interface__", "__weakref__", "_bytes", "ptr", "size")
    device_id = 0

    def _hold(self, memory: np.ndarray | None, size: int) -> None:
        self._bytes, self.size, self.ptr = memory, size, 0
        if memory is not None:
            self.ptr = memory.__array_interface__["data"][0]

    def __int__(self) -> int:
        return self.ptr

    @property
    def device(self) -> Device:
        """The device that holds the memory."""
        return Device(self.device_id)

    def view(
        self, shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None, offset: int
    ) -> Any:
        """Return a NumPy array over this memory, which keeps it alive."""
        if not self.ptr:
            return np.empty(shape, dtype)
        return np.ndarray(
            shape, dtype, np.asarray(self._describe((self.size,), "|u1", None)), offset, strides
        )

    def _describe(self, shape: tuple[int, ...], typestr: str, strides: tuple[int, ...] | None) -> BaseMemory:
        """Describe this memory to NumPy as an array of this form."""
        self.__array_interface__ = {
            "data": (self.ptr, False),
            "shape": shape,
            "strides": strides,
            "typestr": typestr,
            "version": 3,
        }
        return self


class Memory(BaseMemory):
    """Memory outside every pool.

    Parameters
    ----------
    size
        Bytes.

    Raises
    ------
    OutOfMemoryError
        If this machine has less memory.
    """

    __slots__ = ()

    def __init__(self, size: int) -> None:
        size = operator.index(size)
        try:
            self._hold(take(size) if size else None, size)
        except MemoryError:
            events.refused(size)
            raise OutOfMemoryError(size, -1) from None
        events.allocated(size, self)


class ManagedMemory(Memory):
    """Memory that host and device share; here it is ordinary memory."""

    __slots__ = ()

    def prefetch(self, stream: Stream) -> None:
        """Do nothing: host and device share one memory here."""

    def advise(self, advise: int, dev: Device) -> None:
        """Do nothing."""


class UnownedMemory(BaseMemory):
    """Memory that another library allocated.

    Parameters
    ----------
    ptr, size
        Its address and its length in bytes.
    owner
        Object that keeps it alive.
    device_id
        Number of its device.
    """

    __slots__ = ("_owner",)

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        if device_id < 0 and not ptr:
            raise RuntimeError("UnownedMemory requires explicit device ID for a null pointer.")
        self.ptr, self.size, self._owner, self._bytes = ptr, size, owner, None


class MemoryPointer:
    """A place in device memory.

    Parameters
    ----------
    mem
        The memory.
    offset
        Bytes from its start.
    """

    __slots__ = ("mem", "ptr")

    def __init__(self, mem: BaseMemory, offset: int) -> None:
        self.mem, self.ptr = mem, mem.ptr + offset

    device_id = property(lambda self: self.mem.device_id, doc="Number of the device.")
    device = property(lambda self: self.mem.device, doc="The device.")

    def __int__(self) -> int:
        return self.ptr

    def __repr__(self) -> str:
        return f"<{type(self).__name__} 0x{self.ptr:x} device={self.device_id} mem={self.mem!r}>"

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)

    __radd__ = __add__

    def __sub__(self, offset: int) -> MemoryPointer:
        return self + -offset

    def copy_from_device(self, src: MemoryPointer, size: int) -> None:
        """Copy `size` bytes from another place on the device."""
        move(self.ptr, src.ptr, size, "d2d")

    def copy_from_host(self, mem: Any, size: int) -> None:
        """Copy `size` bytes from a host address, an int or a `ctypes.c_void_p`."""
        self.copy_from_host_async(mem, size)
        if size:
            events.waited("copy to the device")

    def copy_to_host(self, mem: Any, size: int) -> None:
        """Copy `size` bytes to a host address, an int or a `ctypes.c_void_p`."""
        self.copy_to_host_async(mem, size)
        if size:
            events.waited("copy to the host")

    def copy_from(self, mem: Any, size: int) -> None:
        """Copy `size` bytes from a place on the device or from a host address."""
        (self.copy_from_device if isinstance(mem, MemoryPointer) else self.copy_from_host)(mem, size)

    def memset(self, value: int, size: int) -> None:
        """Set `size` bytes to a value from 0 to 255."""
        if size:
            ctypes.memset(self.ptr, value, size)
            events.operated("memset")

    def copy_from_device_async(self, src: MemoryPointer, size: int, stream: Any = None) -> None:
        """Run `copy_from_device`; the copy is complete when the call returns."""
        self.copy_from_device(src, size)

    def copy_from_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Run `copy_from_host`, which does not count as a wait here."""
        move(self.ptr, mem, size, "h2d")

    def copy_to_host_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Run `copy_to_host`, which does not count as a wait here."""
        move(mem, self.ptr, size, "d2h")

    def copy_from_async(self, mem: Any, size: int, stream: Any = None) -> None:
        """Run `copy_from`, which does not count as a wait here."""
        (self.copy_from_device if isinstance(mem, MemoryPointer) else self.copy_from_host_async)(mem, size)

    def memset_async(self, value: int, size: int, stream: Any = None) -> None:
        """Run `memset`; the memory is set when the call returns."""
        self.memset(value, size)


def move(target: Any, source: Any, size: int, direction: str) -> None:
    """Copy bytes between addresses, and report the copy."""
    if size:
        ctypes.memmove(getattr(target, "value", target), getattr(source, "value", source), size)
        events.copied(direction, size)


def memory_of(array: np.ndarray) -> BaseMemory | None:
    """Return the device memory that holds a NumPy array; None if host memory holds it."""
    base: Any = array
    while base is not None and not isinstance(base, BaseMemory):
        base = getattr(base, "base", None)  # the base of NumPy's strided views is not an array
    return base
