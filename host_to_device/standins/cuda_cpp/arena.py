"""Device memory that the Python process shares with the processes that run kernels.

The memory is an anonymous file that every process maps at the same address, so that a pointer is valid in all of
them, even a pointer stored in device memory. The file grows by chunks. A table beside it has one number for every 256
bytes: how many of them, from the first, belong to an array. Kernels check their accesses against this table: the
first byte behind an array is out of bounds, and so is an array that has been freed.

Where processes cannot share memory like this (Windows, a browser), arrays are plain NumPy memory. Everything works
there except kernels, which are refused.
"""

from __future__ import annotations

import bisect
import collections
import ctypes
import mmap
import os
import sys
import tempfile
import threading
import weakref

import numpy as np

GRANULE = 256  # alignment of an array in bytes, and the bytes that one number of the table describes
CHUNK = 32 << 20  # the arena grows by a multiple of this
KEEP = 256 << 20  # free bytes that stay in memory; memory freed beyond that goes back to the system
PAGE = 4096

# Addresses at which the arena and its table may start: far from the mappings that systems place themselves. The last
# pair is for systems with addresses of 39 bits. There are several because a forked process still has its parent's.
PLACES = (
    *((0x2000_0000_0000 + number * 2**41, 0x3000_0000_0000 + number * 2**41) for number in range(8)),
    (0x20_0000_0000, 0x38_0000_0000),
)

MADV_REMOVE = 9  # Linux: give the pages of a shared mapping back


class _Block:
    """Owner of an array's memory: when Python deletes it, the memory is freed."""

    __slots__ = ("__array_interface__", "__weakref__")

    def __init__(self, address: int, nbytes: int) -> None:
        self.__array_interface__ = {
            "data": (address, False),
            "shape": (nbytes,),
            "typestr": "|u1",
            "version": 3,
        }


class Arena:
    """One anonymous file, its mappings and its free memory.

    Attributes
    ----------
    fd
        The file, for the processes that map it as well.
    base, table
        Addresses of the memory and of the table of valid bytes.
    size
        Bytes of memory so far.
    segments
        The mappings, oldest first: (address, offset in the file, bytes).
    """

    def __init__(self) -> None:
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.mmap.restype = ctypes.c_void_p
        self.libc.mmap.argtypes = (
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_int,
            ctypes.c_int64,
        )
        self.libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        self.libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        self.fd = anonymous_file()
        self.lock = threading.Lock()
        self.freed: collections.deque[tuple[int, int]] = collections.deque()  # not yet seen by `settle`
        self.exact: dict[int, list[int]] = {}  # free offsets by size
        self.idle = 0  # free bytes within `used`
        self.size = self.file_size = 0
        self.used = GRANULE  # no memory is allocated from this offset on; before the first array lies a gap
        self.segments: list[tuple[int, int, int]] = []
        self.valid = np.zeros(0, np.uint16)
        for self.base, self.table in PLACES:
            try:
                self.grow(CHUNK)
                break
            except OSError:
                self.segments.clear()
                self.size = 0
        else:
            os.close(self.fd)
            raise OSError("no free addresses for memory that kernels share")

    def map(self, address: int, nbytes: int) -> None:
        offset = self.file_size
        os.ftruncate(self.fd, offset + nbytes)
        self.file_size = offset + nbytes
        got = self.libc.mmap(
            address, nbytes, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, self.fd, offset
        )
        if got != address:
            if got is not None and got != ctypes.c_void_p(-1).value:
                self.libc.munmap(got, nbytes)
            raise OSError(ctypes.get_errno(), "cannot map memory that kernels share")
        self.segments.append((address, offset, nbytes))

    def grow(self, nbytes: int) -> None:
        """Add at least `nbytes` to the memory."""
        nbytes = -(-nbytes // CHUNK) * CHUNK
        self.map(self.base + self.size, nbytes)
        self.map(self.table + self.size // GRANULE * 2, nbytes // GRANULE * 2)
        self.size += nbytes
        self.valid = np.asarray(_Block(self.table, self.size // GRANULE * 2)).view(np.uint16)

    def mark(self, offset: int, nbytes: int) -> None:
        """Mark `nbytes` from an offset on as valid."""
        first = offset // GRANULE
        whole, rest = divmod(nbytes, GRANULE)
        self.valid[first : first + whole] = GRANULE
        if rest:
            self.valid[first + whole] = rest

    def settle(self) -> None:
        """Make memory available again that was freed since the last call. The lock must be held."""
        while self.freed:
            offset, size = self.freed.popleft()
            self.valid[offset // GRANULE : (offset + size) // GRANULE] = 0
            self.exact.setdefault(size, []).append(offset)
            self.idle += size
            if self.idle > KEEP and size > 1 << 20 and sys.platform == "linux":
                start = -(-(self.base + offset) // PAGE) * PAGE
                end = (self.base + offset + size) // PAGE * PAGE
                self.libc.madvise(start, end - start, MADV_REMOVE)

    def take(self, size: int) -> int:
        """Allocate `size` bytes and return their offset. The lock must be held."""
        if self.exact.get(size):
            self.idle -= size
            return self.exact[size].pop()
        if self.idle >= size and (offset := self.carve(size)) is not None:
            self.idle -= size
            return offset
        if self.used + size > self.size:
            self.grow(self.used + size - self.size)
        self.used += size
        return self.used - size

    def carve(self, size: int) -> int | None:
        """Join neighbouring free pieces and allocate from the smallest that is large enough; None if none is."""
        pieces = sorted((offset, length) for length, offsets in self.exact.items() for offset in offsets)
        joined: list[list[int]] = []
        for offset, length in pieces:
            if joined and joined[-1][0] + joined[-1][1] == offset:
                joined[-1][1] += length
            else:
                joined.append([offset, length])
        if joined and sum(joined[-1]) == self.used:
            offset, length = joined.pop()
            self.used -= length
            self.idle -= length
        fitting = [piece for piece in joined if piece[1] >= size]
        found = None
        if fitting:
            best = min(fitting, key=lambda piece: piece[1])
            found = best[0]
            best[0] += size
            best[1] -= size
        self.exact = {}
        for offset, length in joined:
            if length:
                self.exact.setdefault(length, []).append(offset)
        return found

    def allocate(self, nbytes: int) -> np.ndarray:
        """Return new memory; see `allocate` below."""
        size = (
            max(-(-nbytes // GRANULE), 1) * GRANULE + GRANULE
        )  # the last granule is a gap to the next array
        with self.lock:
            self.settle()
            try:
                offset = self.take(size)
            except OSError:
                raise MemoryError(
                    f"the machine has no memory left for an array of {nbytes:,} bytes"
                ) from None
            self.mark(offset, nbytes)
        block = _Block(self.base + offset, nbytes)
        weakref.finalize(block, self.freed.append, (offset, size)).atexit = False
        return np.asarray(block)

    def owns(self, address: int) -> bool:
        """Return whether an address lies in the arena."""
        return self.base <= address < self.base + self.size


class PrivateArena:
    """The arena of a system without shared memory: NumPy's own memory, known by its addresses."""

    fd = -1
    segments: tuple = ()

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a finalizer may run while it is held
        self.starts: list[int] = []
        self.ends: dict[int, int] = {}

    def settle(self) -> None:
        """Do nothing: freed memory is available at once."""

    def allocate(self, nbytes: int) -> np.ndarray:
        """Return new memory; see `allocate` below."""
        memory = np.zeros(nbytes + GRANULE, np.uint8)
        start = memory.ctypes.data
        with self.lock:
            bisect.insort(self.starts, start)
            self.ends[start] = start + len(memory)
        weakref.finalize(memory, self.forget, start).atexit = False
        gap = -start % GRANULE
        return memory[gap : gap + nbytes]

    def forget(self, start: int) -> None:
        """Forget the memory that starts at this address."""
        with self.lock:
            self.starts.remove(start)
            del self.ends[start]

    def owns(self, address: int) -> bool:
        """Return whether an address lies in allocated memory."""
        with self.lock:
            index = bisect.bisect_right(self.starts, address) - 1
            return index >= 0 and address < self.ends[self.starts[index]]


def anonymous_file() -> int:
    """Return the descriptor of a file without a name, which exists until its last descriptor is closed."""
    if hasattr(os, "memfd_create"):
        try:
            return os.memfd_create("host-to-device")
        except OSError:
            pass
    with tempfile.TemporaryFile(prefix="host-to-device-") as file:
        return os.dup(file.fileno())


_arena: Arena | PrivateArena | None = None
_creating = threading.Lock()
_earlier: list[Arena | PrivateArena] = []  # the arenas of the processes that this one was forked from


def arena() -> Arena | PrivateArena:
    """Return this process's arena; the first call creates it."""
    global _arena
    if _arena is None:
        with _creating:
            if _arena is None:
                try:
                    _arena = (
                        Arena() if hasattr(os, "fork") and sys.platform != "emscripten" else PrivateArena()
                    )
                except (OSError, AttributeError):
                    _arena = PrivateArena()
    return _arena


def allocate(nbytes: int) -> np.ndarray:
    """Return device memory.

    Parameters
    ----------
    nbytes
        The size in bytes. The content is undefined.

    Returns
    -------
    numpy.ndarray
        One-dimensional, uint8, of `nbytes` bytes, aligned to 256 bytes. The memory is freed with the array and the
        last view of it.

    Raises
    ------
    ValueError
        If `nbytes` is negative.
    MemoryError
        If the system has no more memory.
    """
    if nbytes < 0:
        raise ValueError(f"cannot allocate {nbytes} bytes")
    return arena().allocate(int(nbytes))


def owns(array: np.ndarray) -> bool:
    """Return whether an array's first element lies in memory from `allocate`."""
    return owns_address(array.__array_interface__["data"][0])


def owns_address(address: int) -> bool:
    """Return whether an address lies in the arena of this process, or in one of its parent's."""
    return any(each.owns(address) for each in (arena(), *_earlier))


def _forget() -> None:
    """After a fork, let the child allocate in a new arena; its parent's device memory stays shared."""
    global _arena, _creating
    if _arena is not None:
        _earlier.append(_arena)
        _arena = None
    _creating = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
