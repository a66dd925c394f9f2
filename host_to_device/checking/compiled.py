"""Run a kernel under watch, compiled: for launches that the interpreter would take too long over."""

from __future__ import annotations

import hashlib
import math
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import typeof, types
from numba.core.errors import NumbaError

from host_to_device.checking import instrumenting, memory, watched
from host_to_device.checking.memory import Access, Fault, Memory, Moment, OutOfBudget, Tracked
from host_to_device.standins.numba_cuda import compiling
from host_to_device.standins.numba_cuda.errors import Disagreement, KernelStopped
from host_to_device.standins.numba_cuda.interpreting import shared_arrays
from host_to_device.standins.numba_cuda.launching import Launch
from host_to_device.standins.numba_cuda.rewriting import PREFIX, SHARED, STOP, Program

MOST_FAULTS = 256
MOST_CELLS = 1 << 28  # 96 bytes each, of which the system gives out what is touched
FIRST_BLOCKS = 4  # so many tell how long the rest will take
KINDS = {
    watched.OUT_OF_BOUNDS: "out of bounds",
    watched.RACE: "race",
    watched.UNINITIALISED: "uninitialised read",
}


class _Module(compiling.Module):
    """The module of a watched kernel: the shared arrays are followed by what the watch keeps."""

    def __init__(self, program: Program, shared: list) -> None:
        super().__init__(program, shared)
        digest = hashlib.sha256()
        for each in (instrumenting, watched):
            digest.update(Path(each.__file__).read_bytes())
        names = ("load", "store", "begin", "pass_barrier", *watched.ATOMICS)
        self.head += "\n".join(
            [
                f"from host_to_device.checking import watched as {PREFIX}watch",
                *(f"{PREFIX}{name} = {PREFIX}watch.{name}" for name in names),
                f"# {digest.hexdigest()}\n\n",
            ]
        )
        self.state = f"{SHARED}[{len(shared)}]"
        self.begin = f"        {PREFIX}begin({STOP}, {self.state})"
        self.at_barrier = f"{PREFIX}pass_barrier({PREFIX}alive, {STOP})"

    def shared_types(self) -> types.Tuple:
        numbers, bytes_ = types.Array(types.int64, 2, "C"), types.Array(types.uint8, 1, "C")
        state = types.Tuple([numbers, numbers, numbers, bytes_])
        return types.Tuple([*(compiling.shared_type(each) for each in self.shared), state])


class Unwatchable(Exception):
    """The kernel cannot be watched compiled."""


class CompiledWatch:
    """A watched kernel, compiled for arguments of the types of these; `Launched` is one launch of it."""

    def __init__(self, program: Program, launch: Launch, values: tuple) -> None:
        if any(isinstance(value, tuple) for value in values):
            raise Unwatchable("a tuple among its arguments")
        try:
            told, self.sites = instrumenting.instrumented(program)
            self.module = _Module(told, launch.arrays)
            self.launcher, _ = compiling.load(self.module, tuple(map(typeof, _copied(values))))
        except (instrumenting.CannotWatch, compiling.NotCompilable, NumbaError) as problem:
            raise Unwatchable(str(problem).splitlines()[0]) from None


# Kernel → types of its arguments → what was compiled for them.
_KEPT: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def compiled_watch(program: Program, launch: Launch, values: tuple) -> CompiledWatch:
    """Return a kernel compiled to be watched, for arguments of the types of these.

    Raises
    ------
    Unwatchable
        If it does what only the interpreter watches.
    """
    kept = _KEPT.setdefault(program.kernel.original, {})
    key = tuple(map(typeof, _copied(values))), tuple(each.dtype for each in launch.arrays)
    if key not in kept:
        try:
            kept[key] = CompiledWatch(program, launch, values)
        except Unwatchable as problem:
            kept[key] = problem
    if isinstance(kept[key], Unwatchable):
        raise kept[key]
    return kept[key]


def _copied(values: tuple) -> list:
    return [np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value for value in values]


class Launched:
    """One launch of a watched kernel."""

    def __init__(
        self,
        watch: CompiledWatch,
        launch: Launch,
        groups: list[dict[str, np.ndarray]],
        values: tuple,
        order: np.ndarray,
        blocks: np.ndarray,
        fill: int,
    ) -> None:
        self.watch, self.launch, self.values = watch, launch, values
        self.order, self.blocks = order, blocks
        self.moment = Moment()
        self.memories: list[Memory] = []
        shared = shared_arrays(self.launch.arrays, self.launch.shared)
        dynamic = [
            array for array, made in zip(shared, self.launch.arrays, strict=True) if made.shape is None
        ]
        rows, fills, cells = [], [], 0
        lying = [
            (array, made.name or "a shared array")
            for array, made in zip(shared, self.launch.arrays, strict=True)
        ]
        seen_dynamic = False
        for (array, name), made in zip(lying, self.launch.arrays, strict=True):
            if made.shape is None and seen_dynamic:
                continue
            unit = (
                min(each.dtype.itemsize for each in dynamic) if made.shape is None else array.dtype.itemsize
            )
            seen_dynamic = seen_dynamic or made.shape is None
            whole = Memory(array, name, "shared", self.moment, self.ignore, unit)
            whole.arrays = [Tracked(whole, array, name)]
            filled = array.copy()
            memory.fill_with(filled, fill)
            at = -1 if fill == memory.LEFT_OVER else sum(map(len, fills))
            rows.append([whole.start, whole.start + array.nbytes, cells, unit, 1, at])
            fills.append(filled.reshape(-1).view(np.uint8))
            cells += array.nbytes // unit
            self.memories.append(whole)
        for group in groups:
            whole = memory.of_group(group, self.moment, self.ignore)
            start, size = whole.start, whole.array.nbytes
            rows.append([start, start + size, cells, whole.unit, 0, 0])
            cells += size // whole.unit
            self.memories.append(whole)
        if cells > MOST_CELLS:
            raise Unwatchable("too much memory")
        self.ranges = np.array(rows, np.int64).reshape(-1, 6)
        self.cells = np.zeros((max(1, cells), watched.CELL), np.int64)
        self.faults = np.zeros((MOST_FAULTS, watched.FAULT), np.int64)
        fill_bytes = np.concatenate(fills) if fills else np.zeros(1, np.uint8)
        self.shared = (*shared, (self.ranges, self.cells, self.faults, fill_bytes))
        self.stop = np.zeros(watched.NUMBERS, np.int64)
        self.stop[watched.GENERATION] = 1
        self.ran = self.skipped = 0
        self.sampled = False

    @staticmethod
    def ignore(_: Any) -> None:
        """Take what a `Memory` reports: here nothing, as compiled code reports."""

    @property
    def at(self) -> tuple[int, int]:
        return int(self.stop[watched.BLOCK]), int(self.stop[watched.TURN])

    def run(self, report: Callable, seconds: float, share: float, accesses: float) -> Launched:
        """Run the blocks, or a sample of them, and report what they do wrong.

        `report` is called with each fault, how often it occurred, and whether threads of several warps were in it.

        Raises
        ------
        Disagreement
            If threads of a block do not wait together.
        KernelStopped, OutOfBudget
            If the time is over, or more accesses are made than may be.
        """
        self.stop[watched.MOST] = int(min(accesses, 2**62))
        began = time.monotonic()
        ends = began + seconds
        count = len(self.blocks)
        try:
            first = min(FIRST_BLOCKS, count)
            self.some(np.arange(first), ends)
            rest = np.arange(first, count)
            part = max((time.monotonic() - began) / first, share * self.counted / first / accesses)
            if len(rest) and part * count > share:
                number = max(2, int((share - part * first) / part))
                if number < len(rest):
                    rest = np.unique(np.linspace(0, len(rest) - 1, number).astype(np.int64)) + first
                    self.sampled, self.skipped = True, count - first - len(rest)
            self.some(rest, ends)
        finally:
            self.tell(report)
        return self

    @property
    def counted(self) -> int:
        return int(self.stop[watched.ACCESSES])

    def some(self, positions: np.ndarray, ends: float) -> None:
        """Run some of the blocks in a thread of its own, so that the time limit and Ctrl-C reach it."""
        blocks = np.ascontiguousarray(self.blocks[positions])
        raised: list[BaseException] = []
        launch = self.launch

        def work() -> None:
            try:
                self.watch.launcher(
                    0,
                    len(blocks),
                    launch.grid,
                    launch.block,
                    self.order,
                    blocks,
                    self.shared,
                    self.stop,
                    *self.values,
                )
            except BaseException as problem:
                raised.append(problem)

        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        try:
            while worker.is_alive() and (left := ends - time.monotonic()) > 0:
                worker.join(min(left, 0.1))
        finally:
            self.stop[0] = worker.is_alive()
            worker.join()
        self.ran += len(blocks)
        if raised:
            if isinstance(raised[0], KernelStopped) and self.counted > self.stop[watched.MOST]:
                raise OutOfBudget
            raise raised[0]

    # -- what compiled code has noted, as the interpreter would have reported it

    def tell(self, report: Callable) -> None:
        for row in self.faults[: self.stop[watched.FAULTS]]:
            report(self.fault(row), int(row[watched.COUNT]), bool(row[watched.BEYOND]))

    def fault(self, row: np.ndarray) -> Fault:
        kind, place = KINDS[int(row[watched.KIND])], int(row[watched.PLACE])
        access = self.access(
            int(row[watched.FAULT_BLOCK]), int(row[watched.FAULT_TURN]), int(row[watched.SITE])
        )
        packed = int(row[watched.OTHER])
        other = self.access((packed >> 32) - 1, packed >> 16 & 0xFFFF, packed & 0xFFFF) if packed else None
        number = int(row[watched.RANGE])
        if number < 0:
            return Fault(kind, "an array", (place,), access, other)
        whole = self.memories[number]
        array = whole.arrays[0]
        if kind == "out of bounds":
            index = tuple(map(int, row[watched.INDEX : watched.INDEX + row[watched.DIMENSIONS]]))
            return Fault(kind, array.name, index, access, None, whole.space, array.shape)
        uninitialised = kind == "uninitialised read"
        index = array.index_of(place)
        return Fault(kind, array.name, index, access, other, whole.space, array.shape, if_used=uninitialised)

    def access(self, block: int, thread: int, site: int) -> Access:
        kind, place = self.watch.sites[site]
        return Access(block, thread, 0, 0, 0, 0, kind, place)

    def turn(self) -> int:
        """Return how many accesses the thread whose turn it is has made since it began."""
        return self.counted - int(self.stop[watched.TURN_BEGAN])

    def last_place(self) -> tuple[str, int]:
        return self.watch.sites[int(self.stop[watched.LAST])][1]

    def coverage(self, tracked: Tracked) -> tuple[int, tuple[int, ...]]:
        """Return how many elements of a global array have been written, and the index of the first that has not."""
        number = next(k for k, whole in enumerate(self.memories) if tracked.memory is whole)
        first = int(self.ranges[number, watched.FIRST_CELL])
        places = np.full(tracked.shape, tracked.base, np.int64)
        for axis, step in enumerate(tracked.steps):
            shape = [1] * len(tracked.shape)
            shape[axis] = -1
            places = places + (np.arange(tracked.shape[axis]) * step).reshape(shape)
        written = self.cells[first + places.reshape(-1), watched.WRITTEN] != 0
        missing = np.flatnonzero(~written)
        index = np.unravel_index(missing[0], tracked.shape) if len(missing) else ()
        return int(math.prod(tracked.shape) - len(missing)), tuple(map(int, index))


__all__ = ["CompiledWatch", "Disagreement", "Launched", "Unwatchable"]
