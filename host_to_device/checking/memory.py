"""What a check remembers of every address: who wrote and read it last, and whether that was in order.

Two accesses of one address by different threads, at least one of them a write, are a race unless something
orders them. In one launch there are these orders, and no others:

- a barrier of the block (`syncthreads`) orders what its threads did before it and what they do after it;
- a barrier of the warp (`syncwarp`, shuffles, votes) does the same for the threads that take part in it;
- a `threadfence` followed by an atomic, and another thread's atomic on the same address after that, order what
  the first thread (and, by barriers, its block) did before the fence and what the other does afterwards;
- two atomics on one address never race.

Storing the value that is there already is tolerated: CUDA promises that one of several stores of one value to
one address is done (CUDA C++ Programming Guide, SIMT architecture).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

READ, WRITE, ATOMIC = "read", "write", "atomic"


class Access(NamedTuple):
    """One access: by whom, when in the order of barriers and fences, and at which line."""

    block: int
    thread: int
    epoch: int  # barriers that the block has passed
    warp_epoch: int  # barriers that the warp has passed, counted through
    fences: int  # fences that the thread has made
    kind: str
    place: tuple[str, int]  # file and line


@dataclass
class Fault:
    """Something wrong that an access did."""

    kind: str  # "out of bounds", "race" or "uninitialised read"
    array: str
    index: tuple[int, ...]
    access: Access
    other: Access | None = None
    space: str = "global"


@dataclass
class Moment:
    """Whose turn it is, and what that thread knows of the others."""

    block: int = 0
    thread: int = 0
    epoch: int = 0
    warp_epochs: dict[int, int] = field(default_factory=dict)
    fences: dict[tuple[int, int], int] = field(default_factory=dict)
    # What a thread learnt by an atomic: block → (barriers, {thread: fences}) that happened before.
    known: dict[tuple[int, int], dict[int, tuple[int, dict[int, int]]]] = field(default_factory=dict)
    accesses: int = 0
    # The accesses of the thread whose turn it is, by kind and place: one record serves all of the same line.
    turn: dict[tuple, Access] = field(default_factory=dict)

    def access(self, kind: str, place: tuple[str, int]) -> Access:
        found = self.turn.get((kind, place))
        if found is None:
            found = self.turn[kind, place] = self.fresh_access(kind, place)
        return found

    def fresh_access(self, kind: str, place: tuple[str, int]) -> Access:
        thread = self.thread
        return Access(
            self.block,
            thread,
            self.epoch,
            self.warp_epochs.get(thread // 32, 0),
            self.fences.get((self.block, thread), 0),
            kind,
            place,
        )

    def ordered(self, before: Access) -> bool:
        """Tell whether an earlier access happened before whatever the present thread does now."""
        if before.block == self.block:
            if before.thread == self.thread or before.epoch < self.epoch:
                return True
            same_warp = before.thread // 32 == self.thread // 32
            if same_warp and before.warp_epoch < self.warp_epochs.get(self.thread // 32, 0):
                return True
        known = self.known.get((self.block, self.thread))
        if not known or before.block not in known:
            return False
        epoch, threads = known[before.block]
        return before.epoch < epoch or before.fences < threads.get(before.thread, 0)

    def fence(self) -> None:
        self.turn.clear()
        key = self.block, self.thread
        self.fences[key] = self.fences.get(key, 0) + 1

    def published(self) -> dict[int, tuple[int, dict[int, int]]]:
        """Return what an atomic of the present thread tells those who come after it at the same address."""
        fences = self.fences.get((self.block, self.thread), 0)
        told = dict(self.known.get((self.block, self.thread), {}))
        if fences:
            told[self.block] = self.epoch, {self.thread: fences}
        return told

    def learn(self, told: dict[int, tuple[int, dict[int, int]]]) -> None:
        mine = self.known.setdefault((self.block, self.thread), {})
        for block, (epoch, threads) in told.items():
            old_epoch, old_threads = mine.get(block, (0, {}))
            merged = dict(old_threads)
            for thread, fences in threads.items():
                merged[thread] = max(fences, merged.get(thread, 0))
            mine[block] = max(epoch, old_epoch), merged

    def pass_barrier(self, block: int, threads: list[int]) -> None:
        """Let the threads of a block know after a barrier what any of them knew before it."""
        self.epoch += 1
        self.turn.clear()
        together: dict[int, tuple[int, dict[int, int]]] = {}
        for thread in threads:
            self.block, self.thread, before = block, thread, self.thread
            for other, told in self.known.get((block, thread), {}).items():
                old_epoch, old = together.get(other, (0, {}))
                merged = {key: max(told[1].get(key, 0), old.get(key, 0)) for key in {*told[1], *old}}
                together[other] = max(told[0], old_epoch), merged
            self.thread = before
        if together:
            for thread in threads:
                self.known[block, thread] = dict(together)


class Memory:
    """The record of one array: its values, and who touched what.

    Parameters
    ----------
    array
        The NumPy array that holds the values.
    name
        What the learner calls it.
    space
        "global", "shared" or "local".
    moment
        The state of the launch.
    report
        Called with every fault.
    """

    def __init__(
        self, array: np.ndarray, name: str, space: str, moment: Moment, report: Callable[[Fault], None]
    ) -> None:
        self.array, self.name, self.space = array, name, space
        self.moment, self.report = moment, report
        # Address → last write, last read, last read by another thread, last read by another block, last atomic.
        self.cells: dict[int, list[Access | None]] = {}
        self.told: dict[int, dict] = {}  # what atomics at an address have published
        self.written: set[int] = set()
        self.fresh = space != "global"  # nothing in it has been written yet

    def forget(self) -> None:
        """Begin with a new block, whose shared memory nobody has touched."""
        self.cells.clear()
        self.told.clear()
        self.written.clear()

    def fault(self, kind: str, index: tuple[int, ...], access: Access, other: Access | None = None) -> None:
        self.report(Fault(kind, self.name, index, access, other, self.space))

    def touch(
        self, address: int, index: tuple[int, ...], kind: str, place: tuple[str, int], same: bool
    ) -> None:
        """Record one access and report what it does wrong. `same`: a store changes nothing."""
        moment = self.moment
        moment.accesses += 1
        now = moment.turn.get((kind, place)) or moment.access(kind, place)
        cell = self.cells.get(address)
        if cell is None:
            cell = self.cells[address] = [None, None, None, None, None]
        if self.fresh and kind != WRITE and address not in self.written:
            self.fault("uninitialised read", index, now)
            self.written.add(address)
        write, read, other_thread, other_block, atomic = cell
        if kind == READ:
            if read is now:
                return
            if write is not None or atomic is not None:
                self.conflict(index, now, write, atomic)
            if read is not None:
                if read.thread != now.thread:
                    cell[2] = read
                if read.block != now.block:
                    cell[3] = read
            cell[1] = now
            return
        if kind == ATOMIC:
            self.conflict(index, now, write, read, other_thread, other_block)
            cell[4] = now
        else:
            if not same:
                self.conflict(index, now, write, read, other_thread, other_block, atomic)
            cell[0] = now
        self.written.add(address)

    def conflict(self, index: tuple[int, ...], now: Access, *before: Access | None) -> None:
        for access in before:
            if access is not None and not self.moment.ordered(access):
                self.fault("race", index, now, access)
                return


class Tracked:
    """An array as a checked kernel sees it: every access is recorded."""

    __slots__ = ("addresses", "memory", "seen", "shape", "steps")

    def __init__(
        self, memory: Memory, seen: Any, addresses: np.ndarray, steps: tuple[int, ...] | None = None
    ) -> None:
        self.memory, self.seen, self.addresses = memory, seen, addresses
        self.shape, self.steps = addresses.shape, steps

    @classmethod
    def whole(cls, memory: Memory, seen: Any) -> Tracked:
        shape = memory.array.shape
        steps = tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))
        return cls(memory, seen, np.arange(memory.array.size).reshape(shape), steps)

    def locate(self, index: Any, kind: str, depth: int = 2) -> tuple[int, tuple[int, ...]] | None:
        """Return the address of an element, or None if it is not there; the kernel is `depth` frames up."""
        where = index if type(index) is tuple else (index,)
        for position, size in zip(where, self.shape, strict=False):
            if not 0 <= position < size:
                frame = sys._getframe(depth)
                place = frame.f_code.co_filename, frame.f_lineno
                self.memory.moment.accesses += 1
                self.memory.fault(
                    "out of bounds",
                    tuple(int(each) for each in where),
                    self.memory.moment.access(kind, place),
                )
                return None
        if self.steps is None:
            return int(self.addresses[index]), where
        address = 0
        for position, step in zip(where, self.steps, strict=True):
            address += position * step
        return address, where

    def is_part(self, index: Any) -> bool:
        """Tell whether an index takes a part of the array instead of an element."""
        if type(index) is tuple:
            return len(index) < len(self.shape) or any(type(each) is slice for each in index)
        return len(self.shape) > 1 or type(index) is slice

    def __getitem__(self, index: Any) -> Any:
        if self.is_part(index):
            return Tracked(self.memory, self.seen[index], self.addresses[index])
        found = self.locate(index, READ)
        if found is None:
            return self.memory.array.dtype.type(0)
        frame = sys._getframe(1)
        self.memory.touch(found[0], found[1], READ, (frame.f_code.co_filename, frame.f_lineno), False)
        return self.seen[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.is_part(index):
            part = Tracked(self.memory, self.seen[index], self.addresses[index])
            for position in np.ndindex(part.addresses.shape):
                part[position] = value[position] if isinstance(value, Tracked) else value
            return
        found = self.locate(index, WRITE)
        if found is None:
            return
        before = (
            self.memory.array.flat[found[0]] if self.memory.array.flags.c_contiguous else self.seen[index]
        )
        self.seen[index] = value
        after = self.memory.array.flat[found[0]] if self.memory.array.flags.c_contiguous else self.seen[index]
        frame = sys._getframe(1)
        place = frame.f_code.co_filename, frame.f_lineno
        self.memory.touch(found[0], found[1], WRITE, place, bool(before == after))

    def atomic(self, index: Any, change: Callable[[Any], Any]) -> Any:
        """Replace an element by `change(element)` in one step; return what was there before."""
        found = self.locate(index, ATOMIC, 3)
        if found is None:
            return self.memory.array.dtype.type(0)
        memory, address = self.memory, found[0]
        frame = sys._getframe(2)
        memory.touch(address, found[1], ATOMIC, (frame.f_code.co_filename, frame.f_lineno), False)
        told = memory.told.setdefault(address, {})
        memory.moment.learn(told)
        told.update(memory.moment.published())
        old = self.seen[index]
        self.seen[index] = change(old)
        return old

    def __len__(self) -> int:
        return len(self.addresses)

    def __iter__(self) -> Iterator[Any]:
        for k in range(len(self.addresses)):
            if self.addresses.ndim > 1:
                yield self[k]
                continue
            frame = sys._getframe(1)
            place = frame.f_code.co_filename, frame.f_lineno
            self.memory.touch(int(self.addresses[k]), (k,), READ, place, False)
            yield self.seen[k]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.seen, name)
