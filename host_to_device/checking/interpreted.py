"""Run a kernel interpreted under watch: arrays record every access, and every barrier and shuffle is checked."""

from __future__ import annotations

import ast
import math
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from host_to_device.checking import negatives
from host_to_device.checking.accesses import (
    NONSENSE,
    Fault,
    Memory,
    Moment,
    OutOfBudget,
    Tracked,
    fill_with,
    of_group,
    of_shared,
)
from host_to_device.checking.notes import Notes
from host_to_device.checking.places import has_atomics
from host_to_device.checking.repeats import Recorder
from host_to_device.standins.numba_cuda import helpers, saturating
from host_to_device.standins.numba_cuda.flow import makes_local
from host_to_device.standins.numba_cuda.interpreting import (
    Interpreter,
    Lower,
    as_seen,
    interpreted,
    lane_helpers,
)
from host_to_device.standins.numba_cuda.rewriting import (
    BLOCK_SYNCS,
    GRID_SYNC,
    PREFIX,
    WARP_SIZE,
    Program,
    syncs,
)


@dataclass
class BarrierFault:
    """Threads of a block that do not reach a barrier together, or lanes that a warp operation lacks."""

    kind: str  # "barrier divergence" or "warp synchronisation"
    file: str
    line: int
    block: int
    thread: int
    text: str
    # Whether it is an error only if the result depends on it: a value of a lane that does not take part.
    if_used: bool = False


def _atomics() -> dict[str, Callable]:
    """Return the atomic helpers for a check: each records one access, an atomic one."""
    plain = {
        each.__name__: helpers.of_array_type(each)
        for each in helpers.KERNEL_HELPERS
        if each.__name__.startswith("atomic_")
    }

    def recorded(name: str) -> Callable:
        def on_one_element(cell: Any, *values: Any) -> None:
            plain[name](cell, *(values if name == "atomic_compare_and_swap" else (0, *values)))

        if name == "atomic_compare_and_swap":
            return lambda array, *values: array.atomic(0, on_one_element, values)
        return lambda array, index, *values: array.atomic(index, on_one_element, values)

    return {name: recorded(name) for name in plain}


class _Marking(Lower):
    """Also marks the negative indices that stand in the source."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self.generic_visit(negatives.named(node))


class Switching(_Marking):
    """Also lets the other threads take their turns after every atomic, as the threads of a GPU run at once."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        lowered: Any = super().visit_Call(node)
        if not (isinstance(node.func, ast.Name) and node.func.id.startswith(f"{PREFIX}atomic_")):
            return lowered
        pair = ast.Tuple([lowered, ast.Yield(None)], ast.Load())
        return ast.copy_location(ast.Subscript(pair, ast.Constant(0), ast.Load()), node)


def switching(program: Program) -> Program:
    """Return the program in which every function that calls an atomic, directly or not, is a generator."""
    functions = {name: replace(each) for name, each in program.functions.items()}
    kernel = replace(program.kernel)
    changed = True
    while changed:
        changed = False
        for each in (*functions.values(), kernel):
            if each.waits:
                continue
            called = {node.id for node in ast.walk(each.tree) if isinstance(node, ast.Name)}
            below = any(function.waits for name, function in functions.items() if name in called)
            if below or has_atomics(each.tree) or next(syncs(each.tree), None):
                each.waits = changed = True
    return replace(program, kernel=kernel, functions=functions)


class Watch(Interpreter):
    """Runs the blocks of one launch and reports the faults.

    Parameters
    ----------
    program, grid, block, order, seconds
        As for `Interpreter`.
    shared
        The shared arrays of a block.
    report
        Called with every `Fault` and `BarrierFault`.
    warp_size
        32 or 64 lanes.
    fill
        What memory holds before anything is stored in it: one of `memory.FILLS`.
    accesses
        How many accesses may be made.
    switch
        Whether another thread takes its turn after every atomic.
    notes
        Gets every access: for notes on performance, or for what each block does.
    """

    def __init__(
        self,
        program: Program,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: tuple[np.ndarray, ...],
        report: Callable[[Fault | BarrierFault], None],
        order: Iterable[int] | None = None,
        seconds: float = math.inf,
        warp_size: int = WARP_SIZE,
        fill: int = NONSENSE,
        accesses: float = math.inf,
        switch: bool = False,
        notes: Notes | Recorder | None = None,
    ) -> None:
        self.moment = Moment(warp_size=warp_size, most=accesses, notes=notes)
        self.report, self.fill = report, fill
        self.current = (0, 0)
        own: dict[str, Any] = {**_atomics(), "fence": self.fence, "local": self.local}
        own["fence_block"] = lambda: self.fence(device=False)
        own |= lane_helpers(warp_size)
        lower, program = self.form(program, switch)
        program = replace(
            program, constants={key: self.constant(key, value) for key, value in program.constants.items()}
        )
        for each in (*program.functions.values(), program.kernel):
            for number in negatives.numbers(each.tree):
                own[f"{negatives.FROM_END}{-number}".removeprefix(PREFIX)] = negatives.FromEnd(number)
        super().__init__(
            program, grid, block, (), order, seconds, interpreted(program, own, lower), warp_size
        )
        self.ran = self.skipped = 0
        # By file, line and integer type: the first float that does not fit the type, and what a GPU makes of it.
        self.unfit: dict[tuple[str, int, str], tuple[float, int]] = {}
        self.sources = {each.filename for each in (*program.functions.values(), program.kernel)}
        self.sampled = False
        self.ended: float | None = None  # when the last thread ended
        # A wait knows only its line; device functions may be in other files.
        self.files = {
            ast.literal_eval(call.args[1]): each.filename
            for each in (*program.functions.values(), program.kernel)
            for call in syncs(each.tree)
        }
        self.local_names = {
            node.lineno: node.targets[0].id
            for each in (*program.functions.values(), program.kernel)
            for node in ast.walk(each.tree)
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and makes_local(node.value)
        }
        tracked = of_shared(shared, program.shared, self.moment, report)
        self.memories = list(dict.fromkeys(each.memory for each in tracked))
        self.shared = tuple(tracked)
        self.states: dict[int, tuple] = {}  # of blocks that run at once: their barriers and warp operations

    @property
    def at(self) -> tuple[int, int]:
        return self.current

    @at.setter
    def at(self, value: tuple[int, int]) -> None:
        self.current = value
        self.moment.block, self.moment.thread = value
        self.moment.turn.clear()

    def form(self, program: Program, switch: bool) -> tuple[type[Lower], Program]:
        """Return what turns waits into yields, and the program in the form that it needs."""
        return (Switching, switching(program)) if switch else (_Marking, program)

    def fence(self, device: bool = True) -> None:
        """Take in a fence of the running thread, for the device or for its block alone."""
        self.moment.fence(device)

    def local(self, shape: tuple[int, ...], dtype: np.dtype) -> Tracked:
        array = np.zeros(shape, dtype)
        name = self.local_names.get(sys._getframe(1).f_lineno, "a local array")
        memory = Memory(array, name, "local", self.moment, self.report)
        memory.forget(self.fill)
        return Tracked(memory, array, memory.name)

    def constant(self, key: str, value: Any) -> Any:
        """Return an object of the module as the checked kernel sees it: arrays are watched."""
        if not isinstance(value, np.ndarray):
            return value
        value = np.ascontiguousarray(value)
        name = key.removeprefix(PREFIX).partition("_")[2]  # the learner's
        return Tracked(Memory(value, name, "constant", self.moment, self.report), value, name)

    def watch(self, named: dict[str, np.ndarray]) -> dict[str, Tracked]:
        """Return arguments that lie in one allocation as the checked kernel sees them."""
        memory = of_group(named, self.moment, self.report)
        self.memories.append(memory)
        return {tracked.name: tracked for tracked in memory.arrays}

    def run(self, blocks: Iterable[int], arguments: tuple, share: float = math.inf) -> None:
        """Run these blocks, or a sample of them if all would take longer than `share` seconds.

        Raises
        ------
        OutOfBudget
            If the blocks make more accesses than they may.
        KernelStopped
            If the time is over.
        """
        with saturating.heard(self.hear_unfit):
            self.run_blocks(blocks, arguments, share)

    def hear_unfit(self, value: float, dtype: np.dtype, found: int) -> None:
        """Note a float that an integer type cannot hold, with the line that converts it."""
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename not in self.sources:
            frame = frame.f_back
        if frame is not None:
            place = frame.f_code.co_filename, frame.f_lineno
            self.unfit.setdefault((*place, dtype.name), (value, found))

    def run_blocks(self, blocks: Iterable[int], arguments: tuple, share: float) -> None:
        began = time.monotonic()
        left = list(blocks)
        if self.program.waits_for_grid:  # its blocks run at once: no sample would do
            super().run(left, arguments)
            self.ran += len(left)
            return
        while left:
            block = left.pop(0)
            self.moment.epoch = 0
            self.moment.warps.clear()
            for memory in self.memories:
                if memory.space == "shared":
                    memory.forget(self.fill)
            super().run([block], arguments)
            self.ran += 1
            if self.moment.notes is not None:
                self.moment.notes.end_of_block(block)
            if self.moment.accesses > self.moment.most:
                raise OutOfBudget
            if self.sampled and time.monotonic() - began > share and self.ran > 2:
                self.skipped += len(left)
                return
            if not self.sampled and left and (self.ran >= 4 or time.monotonic() - began > share / 4):
                part = (time.monotonic() - began) / self.ran
                part = max(part, share * self.moment.accesses / self.ran / self.moment.most)
                if part * (self.ran + len(left)) > share:
                    left = self.sample(left, int((share - part * self.ran) / part))

    def sample(self, left: list[int], number: int) -> list[int]:
        """Return some of the blocks that are left, from all over the grid, and always the last."""
        chosen = sorted({int(k) for k in np.linspace(0, len(left) - 1, max(2, number))} | {len(left) - 1})
        self.sampled = True
        self.skipped += len(left) - len(chosen)
        return [left[k] for k in chosen]

    @property
    def counted(self) -> int:
        """How many accesses there were."""
        return self.moment.accesses

    @property
    def repeated(self) -> bool:
        """Whether a store found the value that the same thread of another block has stored there at the same line."""
        return self.moment.repeated

    def coverage(self, tracked: Tracked) -> tuple[int, tuple[int, ...]]:
        """Return how many elements of an array have been written, and the index of the first that has not."""
        return tracked.coverage()

    def got_on(self, in_while: bool) -> bool:
        """Return whether the launch was making progress when its time was up.

        Either threads have ended in the last quarter of the time, or no loop runs that could run for ever.
        """
        lately = time.monotonic() - self.seconds / 4
        return not in_while or (self.ended is not None and self.ended > lately)

    def last_place(self) -> tuple[str, int]:
        """Return the file and line of the last access, for a kernel that did not end."""
        return self.moment.last or (self.program.kernel.filename, self.program.kernel.tree.lineno)

    # -- progress

    def thread_ended(self) -> None:
        self.ended = time.monotonic()

    # -- barriers of the grid

    def shared_of(self, block: int) -> tuple:
        copies = tuple(np.array(each.raw) for each in self.shared)
        fresh = of_shared(copies, self.program.shared, self.moment, self.report)
        own = [
            old if each.captured is not None else new
            for old, new, each in zip(self.shared, fresh, self.program.shared, strict=True)
        ]
        for memory in dict.fromkeys(each.memory for each in own if each not in self.shared):
            memory.forget(self.fill)
            self.memories.append(memory)
        return tuple(own)

    def enter(self, block: int) -> None:
        self.moment.block = block
        self.moment.epoch, self.moment.warps = self.states.pop(block, (0, {}))
        self.moment.turn.clear()

    def leave(self, block: int) -> None:
        self.states[block] = self.moment.epoch, self.moment.warps
        self.moment.warps = {}

    def release_grid(self, arrived: dict[int, dict[int, Any]], blocks: int) -> None:
        """Report threads that do not reach the barrier; whatever came before it comes before what follows."""
        block, waiting = next(iter(arrived.items()))
        thread, (_, line) = next(iter(waiting.items()))
        self.moment.block = block
        here = sum(map(len, arrived.values()))
        gone = blocks * self.threads - here
        other = next(
            (asked[1] for each in arrived.values() for asked in each.values() if asked[1] != line), None
        )
        if gone:
            text = (
                f"{_threads(here)} at the barrier of the grid, but {gone:,} of the grid "
                f"{'has' if gone == 1 else 'have'} left the kernel without reaching it"
            )
            self.barrier_fault("barrier divergence", line, thread, text)
        elif other is not None:
            text = (
                f"some threads wait at the barrier of the grid in line {line}, others at that in line {other}"
            )
            self.barrier_fault("barrier divergence", line, thread, text)
        self.moment.turn.clear()
        for memory in self.memories:
            memory.cells.clear()
            memory.told.clear()

    # -- barriers and warp operations

    def release_block(self, waiting: dict[int, Any], answers: dict[int, Any]) -> None:
        lines: dict[int, list[int]] = {}
        for thread, asked in waiting.items():
            lines.setdefault(asked if type(asked) is int else asked[1], []).append(thread)
        gone = self.threads - len(waiting)
        if waiting and self.for_grid:
            line, threads = next(iter(lines.items()))
            text = (
                f"{_threads(len(waiting))} at the barrier of line {line}, but {len(self.for_grid):,} of the same block "
                f"at the barrier of the grid"
            )
            self.barrier_fault("barrier divergence", line, threads[0], text)
        elif waiting and gone:
            line, threads = next(iter(lines.items()))
            text = (
                f"{_threads(len(waiting))} at the barrier, but {gone:,} of the same block "
                f"{'has' if gone == 1 else 'have'} left the kernel without reaching it"
            )
            self.barrier_fault("barrier divergence", line, threads[0], text)
        elif len(lines) > 1:
            (line, threads), (other, others) = list(lines.items())[:2]
            text = (
                f"{_threads(len(threads))} at the barrier of line {line}, but {_threads(len(others))} of the same "
                f"block at line {other}"
            )
            self.barrier_fault("barrier divergence", line, threads[0], text)
        if self.moment.notes is not None:
            self.moment.notes.barrier(self.moment.block)
        self.moment.pass_barrier(self.moment.block, list(waiting))
        super().release_block(waiting, answers)

    def barrier_fault(self, kind: str, line: int, thread: int, text: str, if_used: bool = False) -> None:
        file = self.files.get(line, self.program.kernel.filename)
        self.report(BarrierFault(kind, file, line, self.moment.block, thread, text, if_used))

    def release_warps(self, waiting: dict[int, Any], answers: dict[int, Any]) -> bool:
        """Release the lanes that take part in a warp operation together; return whether there were any.

        Lanes take part together if they call the same operation at the same line with the same mask. Groups that lack
        no lane go first: the missing lanes of the others may still arrive.
        """
        groups: dict[tuple[int, str, Any, int], list[int]] = {}
        full = (1 << self.warp_size) - 1
        for thread, asked in waiting.items():
            if type(asked) is not int and asked[0] not in (*BLOCK_SYNCS, GRID_SYNC):
                mask = int(asked[2]) & full if len(asked) > 2 else full
                # In warps of 64 lanes a mask may be a signed number: -1 names all lanes, as ~0 does.
                where = self.whereabouts(thread) if asked[0] == "activemask" else asked[1]
                groups.setdefault((thread // self.warp_size, asked[0], where, mask), []).append(thread)
        groups = self.converged(groups)
        complete = {key: threads for key, threads in groups.items() if not self.missing(key, threads)}
        for key, threads in (complete or groups).items():
            self.judge_warp(key, threads)
            self.exchange(key, threads, waiting, answers)
            if key[1] == "syncwarp":  # shuffles and votes order no memory
                self.moment.pass_warp(key[0], threads)
        return bool(groups)

    def missing(self, key: tuple[int, str, int, int], threads: list[int]) -> list[int]:
        """Return the lanes that a mask names and that neither take part nor have left the kernel."""
        warp, name, _, mask = key
        if name == "activemask":
            return []
        first = warp * self.warp_size
        there = {thread - first for thread in threads}
        return [
            lane
            for lane in range(self.warp_size)
            if mask >> lane & 1 and first + lane in self.running and lane not in there
        ]

    def judge_warp(self, key: tuple[int, str, int, int], threads: list[int]) -> None:
        """Report lanes that a mask names and that do not take part, and lanes that take part unnamed."""
        warp, name, line, mask = key
        for thread in threads:
            lane = thread - warp * self.warp_size
            if not mask >> lane & 1:
                text = f"cuda.{name}: lane {lane} takes part, but its mask {mask:#x} does not name this lane"
                self.barrier_fault("warp synchronisation", line, thread, text)
                return
        missing = self.missing(key, threads)
        if missing:
            text = f"cuda.{name}: the mask {mask:#x} names lane {missing[0]}, which does not take part"
            if len(missing) > 1:
                text = (
                    f"cuda.{name}: the mask {mask:#x} names {len(missing)} lanes that do not take part; the first is "
                    f"lane {missing[0]}"
                )
            self.barrier_fault("warp synchronisation", line, threads[0], text)

    def exchange(
        self, key: tuple[int, str, int, int], threads: list[int], waiting: dict, answers: dict
    ) -> None:
        """Give every lane the result of the operation."""
        warp, name, line, mask = key
        first = warp * self.warp_size
        asked_of = {thread: waiting.pop(thread) for thread in threads}
        if name == "syncwarp":
            return
        brought = {thread - first: asked[3] for thread, asked in asked_of.items()}
        came = sum(1 << lane for lane in brought)
        for thread, asked in asked_of.items():
            lane = thread - first
            values = _Brought(brought, first, asked[3], self.fill)
            answers[thread] = self.takers[name](
                values,
                first,
                lane,
                first + self.warp_size,
                asked[2] if name.startswith("shfl") else mask & came,
                *asked[3:],
            )
            if values.lacking is not None:
                text = f"cuda.{name}: lane {lane} takes the value of lane {values.lacking}, which does not take part"
                self.barrier_fault("warp synchronisation", line, thread, text, if_used=True)


def _threads(number: int) -> str:
    return f"{number:,} thread{' waits' if number == 1 else 's wait'}"


class _Brought:
    """The values of a warp's lanes, by thread. Missing lanes read as garbage."""

    def __init__(self, values: dict[int, Any], first: int, own: Any, fill: int) -> None:
        self.values, self.first, self.own, self.fill = values, first, own, fill
        self.lacking: int | None = None  # the missing lane that was read last

    def __getitem__(self, thread: Any) -> Any:
        lane = int(thread) - self.first
        if lane in self.values:
            return self.values[lane]
        self.lacking = lane
        anything = np.zeros(1, np.asarray(self.own).dtype)
        fill_with(anything, self.fill)
        return as_seen(anything[0])
