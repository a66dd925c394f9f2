"""Record the last accesses to every address, and report races, early reads and accesses out of bounds.

Two accesses of one address by different threads, at least one of them a write, are a race unless something
orders them. In one launch only these things order accesses:

- a barrier of the block (`syncthreads`) orders what its threads did before it and what they do after it;
- a barrier of the warp (`syncwarp`) does the same for the threads that take part in it; shuffles and votes exchange
  values and order no memory;
- a `threadfence` followed by an atomic, and then another thread's atomic on the same address, order what the first
  thread (and, by barriers, its block) did before the fence and what the other thread does afterwards; within a block
  `threadfence_block` is enough;
- two atomics on one address never race.

Storing the value that an address already holds is no race: CUDA promises that one of several stores of one value to
one address is performed (CUDA C++ Programming Guide, SIMT architecture).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from host_to_device.checking.negatives import FromEnd
from host_to_device.standins.numba_cuda.interpreting import as_seen
from host_to_device.standins.numba_cuda.rewriting import SharedArray

READ, WRITE, ATOMIC = "read", "write", "atomic"


class Access(NamedTuple):
    """One access: the block and thread that made it, its time in barriers and fences, its kind and its line."""

    block: int
    thread: int
    epoch: int  # barriers that the block has passed
    warp_epoch: int  # warp operations that the thread has taken part in
    fences: int  # device-wide fences that the thread has made
    block_fences: int  # fences for its block, device-wide ones included
    kind: str
    place: tuple[str, int]  # file and line


# Block → how many of its barriers, and of each of its threads' fences, came before.
Known = dict[int, tuple[int, dict[int, tuple[int, int]]]]


@dataclass
class Fault:
    """An access that is out of bounds, in a race or too early."""

    kind: str  # "out of bounds", "race" or "uninitialised read"
    array: str
    index: tuple[int, ...]
    access: Access
    other: Access | None = None
    space: str = "global"
    shape: tuple[int, ...] = ()
    # Whether it is an error only if the result depends on it: a value that no thread has stored.
    if_used: bool = False


# What memory may hold before anything is stored there: nonsense of two kinds, zeros, ones, bytes that differ from
# one another, and what the previous block has left.
NONSENSE, OTHER_NONSENSE, ZEROS, ONES, MIXED, LEFT_OVER = 0xFF, 0x7B, 0x00, 0x100, 0x200, 0x300
FILLS = (NONSENSE, OTHER_NONSENSE, ZEROS, ONES, MIXED, LEFT_OVER)


def fill_with(array: np.ndarray, fill: int) -> None:
    """Fill an array with one of `FILLS`: bytes of 0xFF are -1 or NaN, bytes of 0x7B a large number."""
    if fill == LEFT_OVER:
        return
    if fill == ONES and array.dtype.names is None:
        array[...] = 1
    elif fill == MIXED:
        some = np.random.default_rng(0).integers(0, 256, array.nbytes, np.uint8)
        array.reshape(-1).view(np.uint8)[:] = some
    else:
        array.reshape(-1).view(np.uint8)[:] = fill & 0xFF


class OutOfBudget(Exception):
    """The launch makes more accesses than the check may watch."""


@dataclass
class Moment:
    """The running thread, and which accesses of other threads are known to have come before it."""

    block: int = 0
    thread: int = 0
    epoch: int = 0
    warp_size: int = 32
    # Warp → how many warp operations of each lane (column) each lane (row) knows to have come before.
    warps: dict[int, np.ndarray] = field(default_factory=dict)
    # Thread → how many fences it has made: for the device, and for its block (device-wide ones included).
    fences: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    # What a thread has learnt by atomics: block → (barriers, {thread: fences}) that happened before.
    known: dict[tuple[int, int], Known] = field(default_factory=dict)
    accesses: int = 0
    most: float = math.inf  # how many accesses there may be
    # The accesses of the running thread by kind and place: all accesses of one line share a record.
    turn: dict[tuple, Access] = field(default_factory=dict)
    # Whether a store found the value that the same thread of another block has stored there at the same line.
    repeated: bool = False
    last: tuple[str, int] | None = None  # where the last access was, and in which memory
    last_space: str = ""
    notes: Any = None  # gets every access, if notes are asked for

    def access(self, kind: str, place: tuple[str, int]) -> Access:
        found = self.turn.get((kind, place))
        if found is None:
            found = self.turn[kind, place] = self.fresh_access(kind, place)
        return found

    def fresh_access(self, kind: str, place: tuple[str, int]) -> Access:
        thread, self.last = self.thread, place
        if self.accesses > self.most:
            raise OutOfBudget
        return Access(
            self.block,
            thread,
            self.epoch,
            self.warp_epoch(thread, thread),
            *self.fences.get((self.block, thread), (0, 0)),
            kind,
            place,
        )

    def warp_epoch(self, thread: int, of: int) -> int:
        """Return how many warp operations of a lane came before what another lane of its warp does now."""
        clocks = self.warps.get(thread // self.warp_size)
        return 0 if clocks is None else int(clocks[thread % self.warp_size, of % self.warp_size])

    def pass_warp(self, warp: int, threads: list[int]) -> None:
        """Give these threads of a warp what any of them knew before the operation."""
        self.turn.clear()
        clocks = self.warps.get(warp)
        if clocks is None:
            clocks = self.warps[warp] = np.zeros((self.warp_size, self.warp_size), np.int64)
        lanes = np.array([thread % self.warp_size for thread in threads])
        together = clocks[lanes].max(axis=0)
        together[lanes] = clocks[lanes, lanes] + 1
        clocks[lanes] = together

    def ordered(self, before: Access) -> bool:
        """Return whether an earlier access happened before what the running thread does now."""
        if before.block == self.block:
            if before.thread == self.thread or before.epoch < self.epoch:
                return True
            same_warp = before.thread // self.warp_size == self.thread // self.warp_size
            if same_warp and before.warp_epoch < self.warp_epoch(self.thread, before.thread):
                return True
        known = self.known.get((self.block, self.thread))
        if not known or before.block not in known:
            return False
        epoch, threads = known[before.block]
        if before.epoch < epoch:
            return True
        device, block = threads.get(before.thread, (0, 0))
        return before.fences < device or (before.block == self.block and before.block_fences < block)

    def fence(self, device: bool = True) -> None:
        self.turn.clear()
        key = self.block, self.thread
        for_device, for_block = self.fences.get(key, (0, 0))
        self.fences[key] = for_device + device, for_block + 1

    def published(self) -> Known:
        """Return what an atomic of the running thread tells later atomics on the same address."""
        told = dict(self.known.get((self.block, self.thread), {}))
        fences = self.fences.get((self.block, self.thread))
        if fences:
            # A fence for the block tells other blocks nothing about barriers.
            told[self.block] = _merged(
                told.get(self.block), (self.epoch if fences[0] else 0, {self.thread: fences})
            )
        return told

    def learn(self, told: Known) -> None:
        mine = self.known.setdefault((self.block, self.thread), {})
        for block, what in told.items():
            mine[block] = _merged(mine.get(block), what)

    def pass_barrier(self, block: int, threads: list[int]) -> None:
        """Give the threads of a block, after a barrier, what any of them knew before it."""
        self.epoch += 1
        self.turn.clear()
        if not self.known and not self.fences:
            return
        together: Known = {}
        for thread in threads:
            for other, what in self.known.get((block, thread), {}).items():
                together[other] = _merged(together.get(other), what)
            if (block, thread) in self.fences:
                fenced = 0, {thread: self.fences[block, thread]}
                together[block] = _merged(together.get(block), fenced)
        if together:
            for thread in threads:
                self.known[block, thread] = dict(together)


def _merged(one: tuple[int, dict] | None, other: tuple[int, dict]) -> tuple[int, dict]:
    """Combine two pieces of knowledge about a block."""
    if one is None:
        return other
    threads = dict(one[1])
    for thread, fences in other[1].items():
        threads[thread] = tuple(map(max, fences, threads.get(thread, (0, 0))))
    return max(one[0], other[0]), threads


def unit_of(dtype: np.dtype) -> int:
    """Return the bytes that the accesses to an array have in common: its element, or a byte where it has fields."""
    return 1 if dtype.names else max(1, dtype.itemsize)


class Memory:
    """The record of the accesses to one allocation.

    Parameters
    ----------
    array
        The NumPy array that holds its bytes, contiguous.
    name
        The learner's name for it.
    space
        "global", "shared", "local" or "constant".
    moment
        The state of the launch.
    report
        Called with every fault.
    unit
        Bytes that one record stands for: the smallest element that lies there, or field, which may be one byte.
    """

    def __init__(
        self,
        array: np.ndarray,
        name: str,
        space: str,
        moment: Moment,
        report: Callable[[Fault], None],
        unit: int = 0,
    ) -> None:
        self.array, self.name, self.space = array, name, space
        self.moment, self.report = moment, report
        self.unit = unit or unit_of(array.dtype)
        self.start = array.__array_interface__["data"][0]
        # Address → last write, last read, last read by another thread, last read by another block, last atomic.
        self.cells: dict[int, list[Access | None]] = {}
        self.told: dict[int, dict] = {}  # what the atomics on an address have published
        self.written: set[int] = set()
        self.fresh = space in ("shared", "local")  # it begins unwritten
        self.arrays: list[Tracked] = []  # the arrays that lie in it

    def forget(self, fill: int) -> None:
        """Begin a new block: its shared memory is untouched and holds what `fill_with` puts there."""
        self.cells.clear()
        self.told.clear()
        self.written.clear()
        fill_with(self.array, fill)

    def touch(self, address: int, kind: str, place: tuple[str, int], same: bool, of: Tracked) -> None:
        """Record one access and report its faults; `same` says that a store changes nothing."""
        moment = self.moment
        now = moment.turn.get((kind, place)) or moment.access(kind, place)
        cell = self.cells.get(address)
        if cell is None:
            cell = self.cells[address] = [None, None, None, None, None]
        if self.fresh and kind != WRITE and address not in self.written:
            of.fault("uninitialised read", address, now, if_used=True)
            self.written.add(address)
        write, read, other_thread, other_block, atomic = cell
        if kind == READ:
            if read is now:
                return
            if write is not None or atomic is not None:
                self.conflict(address, of, now, write, atomic)
            if read is not None:
                if read.thread != now.thread:
                    cell[2] = read
                if read.block != now.block:
                    cell[3] = read
            cell[1] = now
            return
        if kind == ATOMIC:
            self.conflict(address, of, now, write, read, other_thread, other_block)
            cell[4] = now
        else:
            if not same:
                self.conflict(address, of, now, write, read, other_thread, other_block, atomic)
            elif write is not None and write.block != now.block and write.thread == now.thread:
                moment.repeated = moment.repeated or write.place == place
            cell[0] = now
        self.written.add(address)

    def exchange(self, address: int) -> None:
        """Let the running thread's atomic learn what earlier atomics on an address published, and publish its own."""
        told = self.told.setdefault(address, {})
        self.moment.learn(told)
        for block, what in self.moment.published().items():
            told[block] = _merged(told.get(block), what)

    def conflict(self, address: int, of: Tracked, now: Access, *before: Access | None) -> None:
        for access in before:
            if access is not None and not self.moment.ordered(access):
                of.fault("race", address, now, access)
                return


class Tracked:
    """An array as a checked kernel sees it: every access is recorded.

    `raw` is the NumPy array with the values and `seen` the same as the interpreter shows it; `base` and `steps`
    say where its elements lie in its memory, in the memory's units.
    """

    __slots__ = ("base", "memory", "name", "raw", "seen", "shape", "span", "steps", "whole")

    def __init__(self, memory: Memory, raw: np.ndarray, name: str, whole: Tracked | None = None) -> None:
        self.memory, self.raw, self.name = memory, raw, name
        self.seen = as_seen(raw)
        self.shape = raw.shape
        self.base = (raw.__array_interface__["data"][0] - memory.start) // memory.unit
        self.steps = tuple(step // memory.unit for step in raw.strides)
        self.span = max(1, raw.dtype.itemsize // memory.unit)
        self.whole = whole or self  # the array of which this is a part

    def fault(
        self, kind: str, address: int, access: Access, other: Access | None = None, if_used: bool = False
    ) -> None:
        whole = self.whole
        index = whole.index_of(address)
        self.memory.report(
            Fault(kind, self.name, index, access, other, self.memory.space, whole.shape, if_used)
        )

    def index_of(self, address: int) -> tuple[int, ...]:
        """Return the index of the element that lies at an address."""
        rest, index = address - self.base, [0] * len(self.steps)
        for axis in sorted(range(len(self.steps)), key=lambda axis: -abs(self.steps[axis])):
            step, size = self.steps[axis], self.shape[axis]
            if step and size > 1:
                # A negative step counts from the far end: the last element has the lowest address.
                index[axis] = rest // step if step > 0 else -(rest // -step)
                rest -= index[axis] * step
        return tuple(index)

    def address_of(self, position: tuple[int, ...]) -> int:
        """Return the address of an element that the array has."""
        return self.base + sum(k * step for k, step in zip(position, self.steps, strict=True))

    def coverage(self) -> tuple[int, tuple[int, ...]]:
        """Return how many elements have been written, and the index of the first that has not."""
        written, first = 0, ()
        for position in np.ndindex(self.shape):
            if self.address_of(position) in self.memory.written:
                written += 1
            elif not first:
                first = position
        return written, first

    def locate(self, index: Any, kind: str, depth: int = 2) -> int | None:
        """Return the address of an element, or None if it does not exist; the kernel is `depth` frames up."""
        if type(index) is not tuple:
            if 0 <= index < self.shape[0]:
                return self.base + int(index) * self.steps[0]
            index = (index,)
        address = self.base
        for position, size, step in zip(index, self.shape, self.steps, strict=True):
            if not 0 <= position < size:
                if type(position) is not FromEnd or position < -size:
                    self.outside(index, kind, depth + 1)
                    return None
                address += size * step
            address += int(position) * step
        return address

    def outside(self, index: tuple, kind: str, depth: int) -> None:
        frame = sys._getframe(depth)
        place = frame.f_code.co_filename, frame.f_lineno
        moment = self.memory.moment
        moment.accesses += 1
        where = tuple(int(each) for each in index)
        self.memory.report(
            Fault(
                "out of bounds",
                self.name,
                where,
                moment.access(kind, place),
                None,
                self.memory.space,
                self.shape,
            )
        )

    def is_part(self, index: Any) -> bool:
        """Return whether an index selects a part of the array instead of an element."""
        if type(index) is tuple:
            return len(index) < len(self.shape) or any(type(each) is slice for each in index)
        return len(self.shape) != 1 or type(index) is slice

    def part(self, index: Any, depth: int) -> Tracked | None:
        """Return a part of the array, or None where an index is outside."""
        positions = index if type(index) is tuple else (index,)
        for position, size in zip(positions, self.shape, strict=False):
            from_end = type(position) is FromEnd and position >= -size
            if type(position) is not slice and not from_end and not 0 <= position < size:
                self.outside(
                    tuple(-1 if type(each) is slice else each for each in positions), READ, depth + 1
                )
                return None
        return Tracked(self.memory, self.raw[index], self.name, self.whole)

    def touch(self, address: int, kind: str, frame: Any, same: bool = False) -> None:
        memory = self.memory
        memory.moment.accesses += 1
        memory.moment.last_space = memory.space
        place = frame.f_code.co_filename, frame.f_lineno
        for each in range(address, address + self.span):
            memory.touch(each, kind, place, same, self)
        if memory.moment.notes is not None:
            memory.moment.notes.access(
                place,
                kind,
                memory.space,
                self.name,
                address * memory.unit,
                self.raw.dtype.itemsize,
                memory.moment.block,
                memory.moment.thread,
            )

    def field(self, name: str) -> Tracked:
        """Return an array's field, one of each record."""
        return Tracked(self.memory, self.raw[name], self.name, self.whole)

    def __getitem__(self, index: Any) -> Any:
        if type(index) is str:
            return self.field(index)
        if self.is_part(index):
            part = self.part(index, 2)
            return Tracked(self.memory, self.raw[:1] * 0, self.name) if part is None else part
        address = self.locate(index, READ)
        if address is None:
            return (
                as_seen(self.raw.dtype.type(0))
                if self.raw.dtype.names is None
                else np.zeros(1, self.raw.dtype)[0]
            )
        if self.raw.dtype.names:
            return TrackedRecord(self, address, self.raw[index])
        self.touch(address, READ, sys._getframe(1))
        return self.seen[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.is_part(index):
            part = self.part(index, 2)
            if part is not None:
                part.assign(value, sys._getframe(1))
            return
        address = self.locate(index, WRITE)
        if address is None:
            return
        if isinstance(value, TrackedRecord):
            value = value._whole(sys._getframe(1))
        before = self.raw[index].tobytes()
        self.seen[index] = value
        same = before == self.raw[index].tobytes()
        self.touch(address, WRITE, sys._getframe(1), same)

    def assign(self, value: Any, frame: Any) -> None:
        """Store a value, or the elements of another array, in every element."""
        for position in np.ndindex(self.shape):
            one = value
            if isinstance(value, Tracked):
                of_value = position[-len(value.shape) :]
                address = value.locate(of_value, READ)
                if address is None:
                    continue
                value.touch(address, READ, frame)
                one = value.seen[of_value]
            before = self.raw[position].tobytes()
            self.seen[position] = one
            same = before == self.raw[position].tobytes()
            self.touch(self.address_of(position), WRITE, frame, same)

    def atomic(self, index: Any, change: Callable, values: tuple) -> Any:
        """Change an element by `change(array, *values)`, which gets an array of that one element; return the old value."""
        address = self.locate(index, ATOMIC, 3)
        if address is None:
            return as_seen(self.raw.dtype.type(0))
        memory = self.memory
        self.touch(address, ATOMIC, sys._getframe(2))
        memory.exchange(address)
        old = self.seen[index]
        cell = self.raw[index].reshape(1).copy()
        change(as_seen(cell), *values)
        self.raw[index] = cell[0]
        return old

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        for k in range(self.shape[0]):
            if len(self.shape) > 1:
                yield self[k]
                continue
            self.touch(self.base + k * self.steps[0], READ, sys._getframe(1))
            yield self.seen[k]

    def __getattr__(self, name: str) -> Any:
        return self.field(name) if name in (self.raw.dtype.names or ()) else getattr(self.seen, name)


def of_group(named: dict[str, np.ndarray], moment: Moment, report: Callable[[Fault], None]) -> Memory:
    """Return the record of the allocation that arguments share; an argument that shares none has its own."""
    whole = next(iter(named.values()))
    if len(named) == 1 and whole.base is None:
        memory = Memory(whole, next(iter(named)), "global", moment, report)
    else:
        while whole.base is not None:
            whole = whole.base
        start = whole.__array_interface__["data"][0]
        steps = [step for each in named.values() for step in (each.dtype.itemsize, *each.strides)]
        offsets = [each.__array_interface__["data"][0] - start for each in named.values()]
        plain = all(each.dtype.names is None for each in named.values())
        unit = max(1, math.gcd(*steps, *offsets)) if plain else 1
        memory = Memory(whole, " and ".join(named), "global", moment, report, unit)
    memory.arrays = [Tracked(memory, array, name) for name, array in named.items()]
    return memory


def of_shared(
    arrays: tuple[np.ndarray, ...],
    made: list[SharedArray],
    moment: Moment,
    report: Callable[[Fault], None],
) -> list[Tracked]:
    """Return the shared arrays of a block as a checked kernel sees them, in the order in which they are made.

    All dynamic ones lie over the same bytes: they have one record, in the unit of their smallest elements.
    """
    units = [unit_of(each.dtype) for each, of in zip(arrays, made, strict=True) if of.shape is None]
    dynamic: Memory | None = None
    found = []
    for array, of in zip(arrays, made, strict=True):
        name = of.name or "a shared array"
        if of.captured is not None:  # a device array of the module: a check works on a copy
            array = np.array(array, order="C")
            memory = Memory(array, name, "global", moment, report)
        elif of.shape is not None:
            memory = Memory(array, name, "shared", moment, report)
        else:
            memory = dynamic = dynamic or Memory(array, name, "shared", moment, report, min(units))
        found.append(Tracked(memory, array, name))
        memory.arrays.append(found[-1])
    return found


class TrackedRecord:
    """An element with named fields, or such a field of one: each field is recorded by itself."""

    __slots__ = ("_address", "_array", "_record")

    def __init__(self, array: Tracked, address: int, record: np.void) -> None:
        object.__setattr__(self, "_array", array)
        object.__setattr__(self, "_address", address)
        object.__setattr__(self, "_record", record)

    def _touch(self, name: str, kind: str, frame: Any, same: bool = False) -> None:
        array = self._array
        dtype, offset = self._record.dtype.fields[name][:2]
        array.memory.moment.accesses += 1
        place = frame.f_code.co_filename, frame.f_lineno
        for byte in range(offset, offset + dtype.itemsize):
            array.memory.touch(self._address + byte, kind, place, same, array)

    def _read(self, name: str, frame: Any) -> Any:
        value = self._record[name]
        if isinstance(value, np.void):
            return TrackedRecord(self._array, self._address + self._record.dtype.fields[name][1], value)
        self._touch(name, READ, frame)
        return as_seen(value)

    def _write(self, name: str, value: Any, frame: Any) -> None:
        before = self._record[name].tobytes()
        self._record[name] = value._whole(frame) if isinstance(value, TrackedRecord) else value
        self._touch(name, WRITE, frame, before == self._record[name].tobytes())

    def _whole(self, frame: Any) -> np.void:
        """Return the values of all fields, each of which is read."""
        for name in self._record.dtype.names or ():
            self._touch(name, READ, frame)
        return self._record.copy()

    def __getattr__(self, name: str) -> Any:
        return self._read(name, sys._getframe(1))

    def __setattr__(self, name: str, value: Any) -> None:
        self._write(name, value, sys._getframe(1))

    def __getitem__(self, name: str) -> Any:
        return self._read(name, sys._getframe(1))

    def __setitem__(self, name: str, value: Any) -> None:
        self._write(name, value, sys._getframe(1))
