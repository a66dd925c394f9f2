"""Pinned host memory: here it is ordinary memory, and copies of it are no faster."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable
from typing import Any

from host_to_device.standins.cupy.cuda.pool import UNIT


class PinnedMemory:
    """Host memory that a GPU could read without the CPU's help; here it is an ordinary buffer.

    Parameters
    ----------
    size
        Bytes.
    flags
        Ignored here.
    """

    def __init__(self, size: int, flags: int = 0) -> None:
        self.size = size
        self._buffer = (ctypes.c_byte * size)()
        self.ptr = ctypes.addressof(self._buffer) if size else 0

    def __int__(self) -> int:
        return self.ptr


class PinnedMemoryPointer:
    """A pointer to pinned memory, which NumPy reads as a buffer: an instance is a `ctypes` array of bytes, too.

    Parameters
    ----------
    mem
        The memory.
    offset
        Bytes from its start.
    """

    mem: PinnedMemory
    ptr: int

    def __new__(cls, mem: PinnedMemory, offset: int) -> Any:
        length = mem.size - offset
        members = {"size": lambda self: length, "__init__": lambda self, *_: None}
        kind = type("PinnedMemoryPointer", (ctypes.c_byte * length, PinnedMemoryPointer), members)
        pointer = kind.from_buffer(mem._buffer, offset) if length else ctypes.Array.__new__(kind)
        pointer.mem, pointer.ptr = mem, mem.ptr + offset
        return pointer


def _malloc(size: int) -> Any:
    """Return pinned memory outside every pool."""
    return PinnedMemoryPointer(PinnedMemory(size), 0)


class PinnedMemoryPool:
    """A pool of pinned memory. It keeps no blocks: freed memory goes back to the machine.

    Parameters
    ----------
    allocator
        Ignored here.
    """

    def __init__(self, allocator: Callable[[int], Any] = _malloc) -> None:
        self._allocator = allocator

    def malloc(self, size: int) -> Any:
        """Return pinned memory of at least `size` bytes."""
        size = operator.index(size)
        rounded = max(UNIT, 1 << (size - 1).bit_length()) if size else 0
        return PinnedMemoryPointer(PinnedMemory(rounded), 0)

    def free_all_blocks(self) -> None:
        """Do nothing: there are no free blocks."""

    def n_free_blocks(self) -> int:
        """Return 0."""
        return 0


default_pool = PinnedMemoryPool()
_allocator: Callable[[int], Any] = default_pool.malloc


def alloc_pinned_memory(size: int) -> Any:
    """Return pinned memory of at least `size` bytes, as a buffer that NumPy reads, with its address in `ptr`."""
    return _allocator(size)


def set_pinned_memory_allocator(allocator: Callable[[int], Any] | None = None) -> None:
    """Set the allocator of pinned memory, a function of a size in bytes; None allocates outside every pool."""
    global _allocator
    _allocator = allocator or _malloc
