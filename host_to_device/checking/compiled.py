"""Run a kernel compiled under watch, for launches that take the interpreter too long."""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import typeof, types
from numba.core.errors import NumbaError

from host_to_device.checking import accesses as recorded
from host_to_device.checking import instrumenting, watched
from host_to_device.checking.accesses import Access, Fault, Moment, OutOfBudget, Tracked, of_shared
from host_to_device.standins.numba_cuda import compiling
from host_to_device.standins.numba_cuda.errors import Disagreement, KernelStopped
from host_to_device.standins.numba_cuda.interpreting import shared_arrays
from host_to_device.standins.numba_cuda.launching import Launch
from host_to_device.standins.numba_cuda.rewriting import PREFIX, SHARED, STOP, Program

MOST_FAULTS = 256
MOST_CELLS = 1 << 28  # 96 bytes each; the system provides only the pages that are touched
FIRST_BLOCKS = 4  # they show how long the rest will take
KINDS = {
    watched.OUT_OF_BOUNDS: "out of bounds",
    watched.RACE: "race",
    watched.UNINITIALISED: "uninitialised read",
}


class _Module(compiling.Module):
    """The module of a watched kernel: the record of accesses follows the shared arrays."""

    def __init__(self, program: Program, shared: list) -> None:
        super().__init__(program, shared)
        digest = hashlib.sha256()
        for each in (instrumenting, watched):
            digest.update(Path(str(each.__file__)).read_bytes())
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
    """A watched kernel, compiled for the types of the given arguments; `Launched` is one launch of it."""

    def __init__(self, program: Program, launch: Launch, values: tuple) -> None:
        if any(isinstance(value, tuple) for value in values):
            raise Unwatchable("a tuple among its arguments")
        try:
            told, self.sites = instrumenting.instrumented(program)
            self.module = _Module(told, launch.arrays)
            self.launcher, _ = compiling.load(self.module, _kinds(values))
        except (instrumenting.CannotWatch, compiling.NotCompilable, NumbaError) as problem:
            raise Unwatchable(str(problem).splitlines()[0]) from None


# Kernel and types of its arguments → what was compiled for them, the most recently used last. Each holds its kernel, so
# the kernel's end cannot be what removes it: a process that checks thousands of kernels would keep them all.
MOST_KEPT = 64
_KEPT: OrderedDict[tuple, CompiledWatch | Unwatchable] = OrderedDict()


def compiled_watch(program: Program, launch: Launch, values: tuple) -> CompiledWatch:
    """Return a kernel compiled to be watched, for the types of the given arguments.

    Raises
    ------
    Unwatchable
        If it does something that only the interpreter watches.
    """
    arrays = tuple(each.dtype for each in launch.arrays)
    key = program.kernel.original, _kinds(values), arrays
    found = _KEPT.get(key)
    if found is None:
        try:
            found = CompiledWatch(program, launch, values)
        except Unwatchable as problem:
            found = Unwatchable(str(problem))  # without the traceback, which holds the launch's arrays
        _KEPT[key] = found
    else:
        _KEPT.move_to_end(key)
    while len(_KEPT) > MOST_KEPT:
        _, oldest = _KEPT.popitem(last=False)
        if isinstance(oldest, CompiledWatch):
            compiling.forget(oldest.launcher)
    if isinstance(found, Unwatchable):
        raise Unwatchable(str(found))
    return found


def _kinds(values: tuple) -> tuple:
    """Return Numba's types of the arguments; those of arrays are their copies', which can be written."""
    kinds = map(typeof, values)
    return tuple(kind.copy(readonly=False) if isinstance(kind, types.Array) else kind for kind in kinds)


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
        arrays = shared_arrays(launch.arrays, launch.shared)
        shared = of_shared(arrays, launch.arrays, self.moment, self.ignore)
        self.memories = list(dict.fromkeys(each.memory for each in shared))
        rows, fills, cells = [], [np.zeros(1, np.uint8)], 0
        for whole in self.memories:
            filled = whole.array.copy()
            recorded.fill_with(filled, fill)
            at = -1 if fill == recorded.LEFT_OVER else sum(map(len, fills))
            rows.append([whole.start, whole.start + filled.nbytes, cells, whole.unit, 1, at])
            fills.append(filled.reshape(-1).view(np.uint8))
            cells += filled.nbytes // whole.unit
        for group in groups:
            whole = recorded.of_group(group, self.moment, self.ignore)
            rows.append([whole.start, whole.start + whole.array.nbytes, cells, whole.unit, 0, 0])
            cells += whole.array.nbytes // whole.unit
            self.memories.append(whole)
        if cells > MOST_CELLS:
            raise Unwatchable("too much memory")
        self.ranges = np.array(rows, np.int64).reshape(-1, 6)
        self.cells = np.zeros((max(1, cells), watched.CELL), np.int64)
        self.faults = np.zeros((MOST_FAULTS, watched.FAULT), np.int64)
        self.shared = (*arrays, (self.ranges, self.cells, self.faults, np.concatenate(fills)))
        self.stop = np.zeros(watched.NUMBERS, np.int64)
        self.stop[watched.GENERATION] = 1
        self.ran = self.skipped = 0
        self.unfit: dict[tuple[str, int, str], tuple[float, int]] = {}  # as a `Watch` has it
        self.sampled = False

    @staticmethod
    def ignore(_: Any) -> None:
        """Ignore a fault that a `Memory` reports: here compiled code reports them."""

    @property
    def at(self) -> tuple[int, int]:
        return int(self.stop[watched.BLOCK]), int(self.stop[watched.TURN])

    def run(self, report: Callable, seconds: float, share: float, accesses: float) -> Launched:
        """Run the blocks, or a sample of them, and report their faults.

        `report` is called with each fault, how often it occurred, and whether threads of several warps took part.

        Raises
        ------
        Disagreement
            If the threads of a block do not reach a barrier together.
        KernelStopped, OutOfBudget
            If the time is over, or the launch makes more accesses than it may.
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
        """Run some of the blocks in a separate thread, so that the time limit and Ctrl-C can stop them."""
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

    # -- the faults that compiled code noted, as the interpreter would report them

    def tell(self, report: Callable) -> None:
        for row in self.faults[: self.stop[watched.FAULTS]]:
            if row[watched.KIND] == watched.UNFIT:
                self.note_unfit(row)
                continue
            report(self.fault(row), int(row[watched.COUNT]), bool(row[watched.BEYOND]))

    def note_unfit(self, row: np.ndarray) -> None:
        """Note a float that an integer type cannot hold."""
        value, code, found = row[watched.INDEX : watched.INDEX + 3]
        signed, bits = divmod(int(code), 1000)
        dtype = np.dtype(f"{'int' if signed else 'uint'}{bits}")
        key = (*self.watch.sites[int(row[watched.SITE])][1], dtype.name)
        self.unfit[key] = float(value.view(np.float64)), int(np.int64(found).astype(dtype))

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

    @property
    def repeated(self) -> bool:
        """Whether a store found the value that the same thread of another block has stored there at the same line."""
        return bool(self.stop[watched.REPEATED])

    def turn(self) -> int:
        """Return how many accesses the running thread has made."""
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
