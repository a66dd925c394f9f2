"""CuPy's pool of device memory: a freed block stays in the pool, and a later allocation uses it again.

The pool counts as CuPy's does: it rounds sizes up to 512 bytes, keeps freed blocks, cuts larger free blocks, and
`free_all_blocks` returns those that are whole. It only counts: every allocation has separate memory, so that the
stand-in can detect a kernel that accesses memory past the end.
"""

from __future__ import annotations

import bisect
import collections
import os
import threading
import warnings
from collections.abc import Callable

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.cuda.blocks import (
    BaseMemory,
    Memory,
    MemoryPointer,
    OutOfMemoryError,
    take,
    total_memory,
)
from host_to_device.standins.cupy.cuda.stream import Stream, current_pointer

UNIT = 512  # bytes; CuPy's pool allocates multiples of this


class Chunk:
    """A block in the pool's accounts: its size, its stream, and the neighbouring parts of the block it was cut from."""

    __slots__ = ("free", "next", "previous", "size", "stream")

    def __init__(self, size: int, stream: int) -> None:
        self.size, self.stream, self.free = size, stream, False
        self.previous: Chunk | None = None
        self.next: Chunk | None = None


class PooledMemory(BaseMemory):
    """Memory that returns to its pool when the last reference to it is gone."""

    __slots__ = ("_chunk", "_pool", "_returned")
    _chunk: Chunk | None
    _pool: int | None  # the pool's number in reports; None where its end is not to be reported
    _returned: collections.deque[Chunk | None]

    def free(self) -> None:
        """Return the memory to its pool now; a second call does nothing."""
        chunk, self._chunk, self.ptr = self._chunk, None, 0
        # The pool settles this later: Python may call __del__ in the middle of one of the pool's methods.
        self._returned.append(chunk)
        if events.memory is not None and self._pool is not None and chunk is not None:
            events.memory("free", id(self), chunk.size, self._pool, 0)

    __del__ = free


class MemoryPool:
    """A pool of device memory: a freed block stays in the pool, and a later allocation uses it again.

    Parameters
    ----------
    allocator
        Function of a size in bytes that returns a `MemoryPointer`, for memory that the pool does not have yet;
        None for the device's own memory.
    """

    def __init__(self, allocator: Callable[[int], MemoryPointer] | None = None) -> None:
        self._allocator = allocator
        self._lock = threading.Lock()
        self._returned: collections.deque[Chunk | None] = collections.deque()
        self._free: dict[
            int, tuple[list[int], dict[int, list[Chunk]]]
        ] = {}  # by stream: sizes, and chunks by size
        self._used = self._total = 0
        self._limit = limit_of_environment()

    def malloc(self, size: int) -> MemoryPointer:
        """Return memory, from a free block of the pool if there is one.

        Parameters
        ----------
        size
            Bytes; they are rounded up to a multiple of 512.

        Raises
        ------
        OutOfMemoryError
            If the allocation would exceed the pool's limit, or this machine has no memory left.
        """
        return MemoryPointer(self._take(size), 0)

    def _take(self, size: int) -> BaseMemory:
        if not size:
            return Memory(0)
        memory = PooledMemory.__new__(PooledMemory)
        memory._returned, memory._chunk, memory._pool = self._returned, None, None
        rounded = -(-size // UNIT) * UNIT
        stream = current_pointer()
        with self._lock:
            chunk = self._again(rounded, stream) if self._returned else None
            chunk = chunk or self._reuse(rounded, stream)
            fresh = chunk is None
            if fresh:
                if self._limit and self._total + rounded > self._limit:
                    events.refused(rounded)
                    raise OutOfMemoryError(rounded, self._total, self._limit)
                chunk = Chunk(rounded, stream)
            try:
                memory._hold(take(size) if self._allocator is None else self._ask(size), size)
            except MemoryError:
                if not fresh:
                    self._put(chunk)
                events.refused(rounded)
                raise OutOfMemoryError(rounded, self._total, self._limit) from None
            self._total += rounded if fresh else 0
            self._used += rounded
        memory._chunk = chunk
        if self._allocator is None:  # otherwise the pool's own allocator reports it
            if events.listening:
                events.allocated_from(self._number, id(memory), rounded, self._total)
            # What is not heard now, within `unheard`, is not heard when it ends.
            memory._pool = self._number if events.listening or events.memory is None else None
        return memory

    @property
    def _number(self) -> int:
        """The pool's number in reports, which no other pool has."""
        return id(self._returned)

    def _ask(self, size: int) -> np.ndarray:
        return self._allocator(size).mem.view((size,), np.dtype(np.uint8), None, 0)

    def _again(self, size: int, stream: int) -> Chunk | None:
        """Return the chunk freed last if it is uncut and has this size, so that the lists need not change."""
        chunk = self._returned.pop()
        whole = chunk is not None and chunk.previous is None and chunk.next is None
        if whole and chunk.size == size and chunk.stream == stream:
            self._used -= size
            return chunk
        self._returned.append(chunk)
        self._settle()
        return None

    def _reuse(self, size: int, stream: int) -> Chunk | None:
        """Return the smallest free chunk that is large enough, cut to size."""
        if stream not in self._free:
            return None
        sizes, chunks = self._free[stream]
        place = bisect.bisect_left(sizes, size)
        if place == len(sizes):
            return None
        chunk = chunks[sizes[place]][-1]
        self._remove(chunk)
        if chunk.size > size:
            rest = Chunk(chunk.size - size, stream)
            chunk.size = size
            rest.previous, rest.next = chunk, chunk.next
            if rest.next is not None:
                rest.next.previous = rest
            chunk.next = rest
            self._put(rest)
        return chunk

    def _put(self, chunk: Chunk) -> None:
        sizes, chunks = self._free.setdefault(chunk.stream, ([], {}))
        if chunk.size not in chunks:
            bisect.insort(sizes, chunk.size)
        chunks.setdefault(chunk.size, []).append(chunk)
        chunk.free = True

    def _remove(self, chunk: Chunk) -> None:
        sizes, chunks = self._free[chunk.stream]
        same = chunks[chunk.size]
        same.remove(chunk)
        if not same:
            del chunks[chunk.size]
            sizes.remove(chunk.size)
        chunk.free = False

    def _settle(self) -> None:
        """Add the freed chunks to the lists, joined with free neighbours. The caller holds the lock."""
        while self._returned:
            chunk = self._returned.popleft()
            if chunk is None:
                continue
            self._used -= chunk.size
            for left, right in ((chunk, chunk.next), (chunk.previous, chunk)):
                other = right if left is chunk else left
                if other is None or not other.free:
                    continue
                self._remove(other)
                left.size += right.size
                left.next = right.next
                if left.next is not None:
                    left.next.previous = left
                chunk = left
            self._put(chunk)

    def free_all_blocks(self, stream: Stream | None = None) -> None:
        """Return the free blocks of one stream, or of all, to the device; blocks that are cut stay."""
        with self._lock:
            self._settle()
            for pointer in [stream.ptr] if stream is not None else list(self._free):
                for chunks in list(self._free.get(pointer, ([], {}))[1].values()):
                    for chunk in list(chunks):
                        if chunk.previous is None and chunk.next is None:
                            self._remove(chunk)
                            self._total -= chunk.size
        events.released(self._number, self._total)

    def free_all_free(self) -> None:
        """Run `free_all_blocks`, and warn that this name is deprecated."""
        warnings.warn(
            "free_all_free is deprecated. Use free_all_blocks instead.", DeprecationWarning, stacklevel=2
        )
        self.free_all_blocks()

    def n_free_blocks(self) -> int:
        """Return the number of free blocks."""
        with self._lock:
            self._settle()
            return sum(len(chunks) for _, by_size in self._free.values() for chunks in by_size.values())

    def used_bytes(self) -> int:
        """Return the bytes of the blocks in use, rounded up by the pool."""
        with self._lock:
            self._settle()
            return self._used

    def free_bytes(self) -> int:
        """Return the bytes of the pool's free blocks."""
        return self.total_bytes() - self.used_bytes()

    def total_bytes(self) -> int:
        """Return the bytes that the pool holds, used or not."""
        with self._lock:
            self._settle()
            return self._total

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Set how many bytes the pool may hold; without arguments, or 0, there is no limit.

        Parameters
        ----------
        size
            Bytes.
        fraction
            Part of the device's memory, from 0 to 1, in place of `size`.

        Raises
        ------
        ValueError
            If both are given, or one is out of range.
        """
        if size is not None and fraction is not None:
            raise ValueError("size and fraction cannot be specified at one time")
        if fraction is not None:
            if not 0 <= fraction <= 1:
                raise ValueError(f"memory limit fraction out of range: {fraction}")
            size = int(fraction * total_memory())
        size = size or 0
        if size < 0:
            raise ValueError(f"memory limit size out of range: {size}")
        self._limit = int(size)

    def get_limit(self) -> int:
        """Return the limit in bytes, 0 if there is none."""
        return self._limit


def limit_of_environment() -> int:
    """Return the limit in CUPY_GPU_MEMORY_LIMIT, a number or a percentage, in bytes; 0 if it is not set."""
    text = os.environ.get("CUPY_GPU_MEMORY_LIMIT")
    if not text:
        return 0
    return int(float(text[:-1]) / 100 * total_memory()) if text.endswith("%") else int(text)
