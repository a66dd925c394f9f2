"""The allocator of device memory: the default pool, or the function given to `set_allocator`."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import operator
import threading
from collections.abc import Callable, Iterator

import numpy as np

from host_to_device.standins.cupy.cuda.blocks import (
    BaseMemory,
    ManagedMemory,
    Memory,
    MemoryPointer,
    OutOfMemoryError,
    UnownedMemory,
    memory_of,
)
from host_to_device.standins.cupy.cuda.pool import MemoryPool, PooledMemory

__all__ = [
    "BaseMemory",
    "ManagedMemory",
    "Memory",
    "MemoryPointer",
    "MemoryPool",
    "OutOfMemoryError",
    "PooledMemory",
    "UnownedMemory",
    "alloc",
    "get_allocator",
    "malloc",
    "malloc_managed",
    "memory_of",
    "new_array",
    "set_allocator",
    "using_allocator",
]

default_pool = MemoryPool()
_allocator: Callable[[int], MemoryPointer] = default_pool.malloc
_of_thread = threading.local()


def malloc(size: int) -> MemoryPointer:
    """Return memory outside every pool."""
    return MemoryPointer(Memory(size), 0)


def malloc_managed(size: int) -> MemoryPointer:
    """Return memory that host and device share, outside every pool."""
    return MemoryPointer(ManagedMemory(size), 0)


def get_allocator() -> Callable[[int], MemoryPointer]:
    """Return the allocator: a function of a size in bytes that returns a `MemoryPointer`."""
    return getattr(_of_thread, "allocator", None) or _allocator


def set_allocator(allocator: Callable[[int], MemoryPointer] | None = None) -> None:
    """Set the allocator, a function of a size in bytes; None allocates outside every pool.

    Raises
    ------
    ValueError
        Inside `using_allocator`.
    """
    global _allocator
    if getattr(_of_thread, "allocator", None) is not None:
        raise ValueError("Can't change the global allocator inside `using_allocator` context manager")
    _allocator = allocator or malloc


@contextlib.contextmanager
def using_allocator(allocator: Callable[[int], MemoryPointer] | None = None) -> Iterator[None]:
    """Set the allocator of this thread for the length of a `with` block."""
    before = getattr(_of_thread, "allocator", None)
    _of_thread.allocator = allocator or malloc
    try:
        yield
    finally:
        _of_thread.allocator = before


def alloc(size: int) -> MemoryPointer:
    """Return memory from the allocator in use."""
    return get_allocator()(operator.index(size))


def new_array(
    shape: tuple[int, ...], dtype: np.dtype, order: str = "C", nbytes: int | None = None
) -> np.ndarray:
    """Return a NumPy array in new device memory, its contents undefined.

    Parameters
    ----------
    shape, dtype, order
        As of `numpy.empty`; the order is `C` or `F`.
    nbytes
        Bytes of its elements, if the caller knows them.
    """
    if nbytes is None:
        nbytes = dtype.itemsize
        for length in shape:
            nbytes *= length
    if nbytes == 0:
        return np.empty(shape, dtype, order)
    allocator = getattr(_of_thread, "allocator", None) or _allocator
    memory = default_pool._take(nbytes) if allocator == default_pool.malloc else allocator(nbytes).mem
    if memory._bytes is None:  # a learner's own allocator returned memory that is not the stand-in's
        return np.frombuffer((ctypes.c_byte * nbytes).from_address(memory.ptr), dtype).reshape(
            shape, order=order
        )
    strides = None
    if order == "F" and len(shape) > 1:
        strides = tuple(itertools.accumulate(shape[:-1], operator.mul, initial=dtype.itemsize))
    if dtype.names is not None:
        return memory.view(shape, dtype, strides, 0)
    return np.asarray(memory._describe(shape, dtype.str, strides))
