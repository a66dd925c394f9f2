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


# A subclass of a ctypes buffer: NumPy reads it, and it can have the attributes of CuPy's pointer.
def PinnedMemoryPointer(mem: PinnedMemory, offset: int) -> Any:
    """Return a buffer over pinned memory from an offset on, with `ptr`, `mem` and `size()`.

    Parameters
    ----------
    mem
        The memory.
    offset
        Bytes from its start.
    """
    length = mem.size - offset
    kind = type("PinnedMemoryPointer", (ctypes.c_byte * length,), {"size": lambda self: length})
    pointer = kind.from_buffer(mem._buffer, offset) if length else kind()
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
