"""One check of one launch: the orders in which it is run, and what they bring to light."""

from __future__ import annotations

import ast
import math
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from host_to_device.checking.differences import dependence, differences, orders_of
from host_to_device.checking.interpreted import BarrierFault, Watch, has_atomics
from host_to_device.checking.memory import FILLS, NONSENSE, Fault, OutOfBudget
from host_to_device.checking.notes import Note, Notes, line_events
from host_to_device.checking.options import CheckOptions
from host_to_device.checking.racing import Party, advice_for, kind_of_race, pair_of, race_text
from host_to_device.checking.report import Finding, Report
from host_to_device.standins.numba_cuda.errors import Disagreement, KernelStopped
from host_to_device.standins.numba_cuda.interpreting import as_seen, shared_arrays
from host_to_device.standins.numba_cuda.launching import HAS_NUMBA, CUDADispatcher, Launch, time_limit
from host_to_device.standins.numba_cuda.rewriting import WARP_SIZE, Program

if TYPE_CHECKING:
    from host_to_device.checking.compiled import CompiledWatch

# So many accesses the interpreter makes in the time that a compiler needs for a kernel.
TRIAL = 300_000
COMPILING = 5  # seconds that have to be left for that
TAKING_TURNS = 2  # seconds for blocks whose threads take turns after each atomic, where the rest is compiled
# Notes on performance come from so many blocks and accesses at the most.
NOTED_BLOCKS, NOTED_ACCESSES = 8, 500_000


@dataclass
class Seen:
    """One cause: what was reported first, how often, and whether other warps and blocks came into it."""

    fault: Fault | BarrierFault
    schedule: int
    count: int = 0
    beyond_warp: bool = False


@dataclass
class Result:
    """What one schedule has left behind."""

    schedule: int
    arrays: dict[str, np.ndarray]
    switch: bool  # whether threads took turns after each atomic
    launched: Any = None  # the compiled launch, if it was one
    written: dict[str, int] = field(default_factory=dict)  # elements of each array that were written
    first_unwritten: dict[str, tuple[int, ...]] = field(default_factory=dict)
    skipped: int = 0  # blocks
    failure: Finding | None = None


class Run:
    """One check of one launch."""

    def __init__(
        self,
        kernel: CUDADispatcher,
        program: Program,
        options: CheckOptions,
        launch: Launch,
        values: tuple,
        began: float,
        remarks: list[str],
    ) -> None:
        self.kernel, self.program, self.options = kernel, program, options
        self.launch, self.values, self.began = launch, values, began
        self.seen: dict[tuple, Seen] = {}
        self.schedule = 0
        self.compiling = 0.0  # seconds
        self.accesses = self.done = 0
        self.partial: list[str] = []
        self.remarks = remarks
        functions = (self.program.kernel, *self.program.functions.values())
        self.files = {each.filename for each in functions}
        self.has_atomics = any(has_atomics(each.tree) for each in functions)

    # -- what was reported

    def note(self, fault: Fault | BarrierFault, times: int = 1, beyond_warp: bool = False) -> None:
        if isinstance(fault, BarrierFault):
            key = fault.kind, fault.file, fault.line, fault.text.split(":")[0] * fault.kind.startswith("warp")
        elif fault.other is not None:
            key = fault.kind, fault.array, frozenset((fault.access.place, fault.other.place))
        else:
            key = fault.kind, fault.array, fault.access.place
        seen = self.seen.get(key)
        if seen is None:
            seen = self.seen[key] = Seen(fault, self.schedule)
        if self.schedule == seen.schedule:  # how often it happens in one launch
            seen.count += times
        seen.beyond_warp = seen.beyond_warp or beyond_warp
        if isinstance(fault, Fault) and fault.other is not None and not seen.beyond_warp:
            seen.beyond_warp = not self.same_warp(fault)

    def causes(self) -> list[list[Seen]]:
        """Return what was seen, together what one line does outside of several arrays: it lacks one guard."""
        causes: dict[Any, list[Seen]] = {}
        for key, seen in self.seen.items():
            outside = seen.fault.kind == "out of bounds"
            causes.setdefault(seen.fault.access.place if outside else key, []).append(seen)
        return list(causes.values())

    def same_warp(self, fault: Fault) -> bool:
        size = self.options.warp_size
        one, other = fault.access, fault.other
        return one.block == other.block and one.thread // size == other.thread // size

    def finding(self, together: list[Seen]) -> Finding:
        seen, *others = together
        fault = seen.fault
        if isinstance(fault, BarrierFault):
            place = self.launch.position(fault.block, fault.thread)
            advice = "Let the lane take part, or take the value of a lane that does." if fault.if_used else ""
            return Finding(
                fault.kind, fault.text, fault.file, (fault.line,), *place, seen.count, advice=advice
            )
        access = fault.access
        element = _element(fault)
        lines = [access.place[1]]
        kind, pair = fault.kind, ""
        block, thread = self.launch.position(access.block, access.thread)
        if kind == "race":
            kind, pair, text = self.race(fault, element, seen)
            lines += [fault.other.place[1]] if fault.other.place[1] != lines[0] else []
        elif kind == "out of bounds":
            text = f"{access.kind} of {element}, "
            if all(-size <= k < size for k, size in zip(fault.index, fault.shape, strict=False)):
                text += "which lies before the array; Numba counts a negative index from the end, CUDA C++ does not"
            else:
                text += f"which does not exist: {self.extent(fault)}"
            if others:
                text += f"; nor do{'es' * (len(others) == 1)} {_listed([_element(each.fault) for each in others])}"
        else:
            text = f"{element} in {fault.space} memory is read before anything is stored there"
        return Finding(
            kind,
            text,
            access.place[0],
            tuple(lines),
            block,
            thread,
            seen.count,
            fault.array,
            fault.index,
            fault.space,
            pair,
            advice_for(pair, fault.access.block == fault.other.block) if kind == "race" else "",
        )

    def race(self, fault: Fault, element: str, seen: Seen) -> tuple[str, str, str]:
        """Return the kind, the pair and the text of two accesses that nothing orders."""
        access, other = (
            Party(each.kind, each.place[1], *self.launch.position(each.block, each.thread))
            for each in (fault.access, fault.other)
        )
        pair = pair_of(access, other)
        text = race_text(element, fault.space, access, other)
        # Lanes of one warp that no syncwarp keeps in step, unless it makes no difference who of them is first.
        races = [one for one in self.seen.values() if isinstance(one.fault, Fault) and one.fault.other]
        beyond = any(one.beyond_warp for one in races if one.fault.space == "shared")
        return kind_of_race(fault.space, pair, beyond), pair, text

    @staticmethod
    def extent(fault: Fault) -> str:
        if len(fault.shape) == 1:
            size = fault.shape[0]
            return f"{fault.array} has {size:,} element{'s' * (size != 1)}"
        return f"the shape of {fault.array} is {fault.shape}"

    # -- the schedules

    def report(self) -> Report:
        results: list[Result] = []
        self.compiled = self.compile() if self.options.interpreted is False else None
        for schedule in range(self.options.schedules):
            left = self.left()
            if left <= 0 or self.accesses >= self.options.accesses:
                limit = f"{self.options.seconds:g} s" if left <= 0 else f"{self.options.accesses:,} accesses"
                self.partial.append(f"{self.done} of {self.options.schedules} schedules within {limit}")
                break
            result = self.one(schedule, left)
            results.append(result)
            if result.failure is not None:
                break
            self.done += 1
        self.confirm(results)
        findings = [self.finding(together) for together in self.causes()]
        findings += [result.failure for result in results if result.failure is not None]
        whole = [result for result in results if not result.skipped and result.failure is None]
        findings += self.unwritten(whole)
        if not findings:
            findings += self.order_dependence(whole)
        notes = self.notes() if self.options.notes else ()
        return Report(
            self.kernel.__name__,
            tuple(findings),
            math.prod(self.launch.block) * math.prod(self.launch.grid),
            self.accesses,
            self.done,
            time.monotonic() - self.began,
            tuple(dict.fromkeys(self.partial)),
            tuple(self.remarks),
            notes,
        )

    def notes(self) -> tuple[Note, ...]:
        """Run some blocks once more, as the threads count, and count what costs time on a GPU."""
        launch, left = self.launch, max(1.0, self.left())
        blocks = math.prod(launch.grid)
        chosen = np.unique(np.linspace(0, blocks - 1, min(blocks, NOTED_BLOCKS)).astype(int))
        notes = Notes(warp=self.options.warp_size, threads=math.prod(launch.block))
        watch = Watch(
            self.program,
            launch.grid,
            launch.block,
            shared_arrays(launch.arrays, launch.shared),
            lambda fault: None,
            seconds=left,
            warp_size=self.options.warp_size,
            accesses=NOTED_ACCESSES,
            notes=notes,
        )
        _, arguments = self.arguments(watch)
        try:
            with time_limit(left), line_events(notes, self.files, lambda: watch.at):
                watch.run(chosen.tolist(), arguments)
        except (KernelStopped, OutOfBudget):
            self.remarks.append(
                f"The notes count {watch.ran + 1:,} of {blocks:,} blocks, and not all of the last."
            )
        except Exception:  # the kernel fails: a finding says so
            return ()
        else:
            if len(chosen) < blocks:
                self.remarks.append(f"The notes count {len(chosen):,} of {blocks:,} blocks.")
        return notes.result()

    def left(self) -> float:
        """Return the seconds that are left; compiling, which happens once for a kernel, does not count."""
        return self.options.seconds + self.compiling - (time.monotonic() - self.began)

    def compile(self) -> CompiledWatch | None:
        """Return the kernel as compiled code that is watched, or None where only the interpreter can do it."""
        if self.options.interpreted or not HAS_NUMBA or self.options.warp_size != WARP_SIZE:
            return None
        from host_to_device.checking.compiled import Unwatchable, compiled_watch

        began = time.monotonic()
        try:
            return compiled_watch(self.program, self.launch, self.values)
        except Unwatchable:
            return None
        finally:
            self.compiling += time.monotonic() - began

    def one(self, schedule: int, left: float) -> Result:
        """Run the launch in one order within a share of the time that is left."""
        self.schedule = schedule
        share = left / (self.options.schedules - schedule)
        switch = schedule > 1 and self.has_atomics
        if schedule == 0 and self.compiled is None and self.options.interpreted is None:
            # Most launches that a learner checks are small: the interpreter is done before a compiler would be.
            trial = self.attempt(schedule, switch, share, left / (1 + self.has_atomics), trial=True)
            if trial is not None:
                return self.again_if_stuck(trial, share, left)
            self.forget(schedule)
            left = max(0.5, self.left())
            if left > COMPILING:
                self.compiled = self.compile()
                left = max(1.0, self.left())
            share = left / (self.options.schedules - schedule)
        if self.compiled is not None and switch:
            # Compiled threads do not take turns, so some blocks are interpreted.
            share = min(share, TAKING_TURNS)
        elif self.compiled is not None:
            try:
                return self.attempt_compiled(schedule, share, left)
            except Disagreement:  # the interpreter has more to say about barriers
                self.forget(schedule)
                self.compiled = None
        result = self.attempt(schedule, switch, share, left if not self.has_atomics else left / 2)
        return self.again_if_stuck(result, share, left)

    def again_if_stuck(self, result: Result, share: float, left: float) -> Result:
        """Run again with threads that take turns: one after another they may wait where they would not at once."""
        if isinstance(result.failure, _Stuck) and self.has_atomics and not result.switch:
            self.forget(result.schedule)
            return self.attempt(result.schedule, True, share, left / 2)
        return result

    def forget(self, schedule: int) -> None:
        """Drop what a run has found that is to be made again."""
        for key in [key for key, seen in self.seen.items() if seen.schedule == schedule]:
            del self.seen[key]

    def attempt(
        self,
        schedule: int,
        switch: bool,
        share: float,
        seconds: float,
        fill: int = NONSENSE,
        note: Callable | None = None,
        trial: bool = False,
    ) -> Result | None:
        """Run the launch interpreted; as a trial, return None if it turns out to be large."""
        order, block_order = self.orders(schedule)
        launch = self.launch
        most = self.options.accesses - self.accesses
        watch = Watch(
            self.program,
            launch.grid,
            launch.block,
            shared_arrays(launch.arrays, launch.shared),
            note or self.note,
            order.tolist(),
            seconds,
            self.options.warp_size,
            fill,
            min(most, TRIAL) if trial else most,
            switch,
        )
        arrays, arguments = self.arguments(watch)
        result = Result(schedule, arrays, switch)
        try:
            with time_limit(seconds):
                watch.run(block_order.tolist(), arguments, math.inf if trial else share)
        except KernelStopped as stopped:
            places = self.places(stopped, watch)
            if watch.got_on(any(map(self.loop_of, places))):
                self.cut_off(schedule)
                watch.skipped += 1
            else:
                result.failure = self.stuck(watch.at, watch.moment.last_space, seconds, places[-1])
        except OutOfBudget:
            if trial and most > TRIAL:
                return None
            self.out_of_budget()
            watch.skipped += 1
        except Exception as problem:
            result.failure = self.failed(problem, watch)
        self.accesses += watch.moment.accesses
        self.note_sample(watch, result)
        for memory in watch.memories:
            if memory.space == "global":
                for tracked in memory.arrays:
                    result.written[tracked.name], result.first_unwritten[tracked.name] = tracked.coverage()
        return result

    def attempt_compiled(
        self, schedule: int, share: float, seconds: float, fill: int = NONSENSE, note: Callable | None = None
    ) -> Result:
        """Run the launch compiled."""
        from host_to_device.checking.compiled import Launched

        order, block_order = self.orders(schedule)
        groups = self.groups()
        arrays = {name: array for group in groups for name, array in group.items()}
        named = zip(self.program.kernel.parameters, self.values, strict=True)
        values = tuple(arrays.get(name, value) for name, value in named)
        launched = Launched(self.compiled, self.launch, groups, values, order, block_order, fill)
        result = Result(schedule, arrays, False, launched=launched)
        try:
            launched.run(note or self.note, seconds, share, self.options.accesses - self.accesses)
        except KernelStopped:
            place = launched.last_place()
            if self.loop_of(place) is None:
                place = self.first_while()
            if place is not None:
                result.failure = self.stuck(launched.at, "", seconds, place)
            else:
                self.cut_off(schedule)
                launched.skipped += 1
        except OutOfBudget:
            place = launched.last_place()
            if launched.turn() > launched.counted / 4 and self.loop_of(place):
                result.failure = self.stuck(launched.at, "", seconds, place)
            else:
                self.out_of_budget()
                launched.skipped += 1
        self.accesses += launched.counted
        self.note_sample(launched, result)
        for memory in launched.memories:
            if memory.space == "global":
                for tracked in memory.arrays:
                    if tracked.name in self.options.outputs:
                        covered = launched.coverage(tracked)
                        result.written[tracked.name], result.first_unwritten[tracked.name] = covered
        return result

    def cut_off(self, schedule: int) -> None:
        self.partial.append(
            f"schedule {schedule + 1} of {self.options.schedules} was cut off when the {self.options.seconds:g} s were over"
        )

    def out_of_budget(self) -> None:
        self.partial.append(f"the first {self.options.accesses:,} accesses")

    def note_sample(self, watch: Any, result: Result) -> None:
        result.skipped = watch.skipped
        if watch.sampled:
            blocks = math.prod(self.launch.grid)
            self.partial.append(f"{watch.ran:,} of {blocks:,} blocks, the first, the last and some between")

    def orders(self, schedule: int) -> tuple[np.ndarray, np.ndarray]:
        return orders_of(schedule, math.prod(self.launch.block), math.prod(self.launch.grid))

    def arguments(self, watch: Watch) -> tuple[dict[str, np.ndarray], tuple]:
        """Return fresh copies of the arrays, and the arguments as the watched kernel gets them.

        What overlaps on the device (an array given twice, two parts of one) overlaps in the copies.
        """
        tracked: dict[str, Any] = {}
        arrays: dict[str, np.ndarray] = {}
        for group in self.groups():
            arrays |= group
            tracked |= watch.watch(group)
        arguments = tuple(
            tracked[name] if name in tracked else _within_tuples(value, watch, name)
            for name, value in zip(self.program.kernel.parameters, self.values, strict=True)
        )
        return arrays, arguments

    def groups(self) -> list[dict[str, np.ndarray]]:
        """Return fresh copies of the arrays, those together that overlap."""
        named = dict(zip(self.program.kernel.parameters, self.values, strict=True))
        arrays = {name: value for name, value in named.items() if isinstance(value, np.ndarray)}
        return [_copies({name: named[name] for name in group}) for group in _overlapping(arrays)]

    # -- what follows from the results

    def confirm(self, results: list[Result]) -> None:
        """Drop what is wrong only if it is used (a value that nobody stored), where no result shows it.

        The launch runs again in the same order, with other bytes in the memory that nobody has written.
        """
        doubtful = {key: seen for key, seen in self.seen.items() if seen.fault.if_used}
        if not doubtful or any(result.failure for result in results):
            return
        first = min(seen.schedule for seen in doubtful.values())
        result = results[first]
        left = max(1.0, self.left())
        first_run = None
        for fill in FILLS:
            faults: list[Fault | BarrierFault] = []
            if result.launched is None:
                run = self.attempt(first, result.switch, left, left, fill, faults.append)
            else:
                run = self.attempt_compiled(first, left, left, fill, _append_to(faults))
            left_behind = [array.tobytes() for array in run.arrays.values()]
            essence = left_behind, [_essence(each) for each in faults]
            if run.failure or first_run not in (None, essence):
                return
            first_run = essence
        for key in doubtful:
            del self.seen[key]

    def unwritten(self, results: list[Result]) -> list[Finding]:
        found = []
        for name in self.options.outputs if results else ():
            array, written = results[0].arrays[name], results[0].written[name]
            missing = array.size - written
            if missing:
                first = results[0].first_unwritten[name]
                index = ", ".join(map(str, first))
                text = f"{missing:,} of {array.size:,} elements of {name} are never written, {name}[{index}] first"
                found.append(
                    self.of_the_kernel("unwritten output", text, array=name, index=first, space="global")
                )
        return found

    def of_the_kernel(self, kind: str, text: str, **about: Any) -> Finding:
        """Return a finding that belongs to the kernel as a whole."""
        kernel = self.program.kernel
        return Finding(kind, text, kernel.filename, self.lines_of(about["array"]), **about)

    def lines_of(self, array: str) -> tuple[int, ...]:
        """Return the kernel's lines that store in an array; those with atomics, or its first line, if none does."""
        stores, atomics = [], []
        for node in ast.walk(self.program.kernel.tree):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and _owner(node) == array:
                stores.append(node.lineno)
            elif isinstance(node, ast.Call) and has_atomics(node.func):
                atomics.append(node.lineno)
                if node.args and _owner(node.args[0]) == array:
                    stores.append(node.lineno)
        return tuple(sorted({*(stores or atomics or [self.program.kernel.tree.lineno])}))

    def order_dependence(self, results: list[Result]) -> list[Finding]:
        """Compare what the schedules made; sums of floats may differ by their rounding."""
        found: list[Finding] = []
        for result in results[1:]:
            for name, array in result.arrays.items():
                first = results[0].arrays[name]
                if name in self.options.not_compared:
                    continue
                if name in self.options.any_order:
                    first, array = np.sort(first, axis=None), np.sort(array, axis=None)
                differ, rounded = differences(first, array)
                if differ.any():
                    where = tuple(int(each) for each in np.argwhere(differ)[0])
                    found.append(self.depends(name, where, first[where], array[where], result))
                elif rounded:
                    self.rounding(name, rounded)
            if found:
                break
        return found

    def depends(self, name: str, where: tuple[int, ...], first: Any, other: Any, result: Result) -> Finding:
        text = dependence(name, where, first, other, result.schedule, result.switch)
        return self.of_the_kernel("order dependence", text, array=name, index=where, space="global")

    def rounding(self, name: str, rounded: float) -> None:
        added = (
            "floats are added atomically, in whatever order"
            if self.has_atomics
            else "floats are added in another order"
        )
        self.remarks.append(
            f"{name} differs by {rounded:.1g} of its largest value from order to order: {added}, and each sum rounds."
        )
        self.remarks[:] = [
            each
            for number, each in enumerate(self.remarks)
            if not any(other.startswith(f"{name} differs by") for other in self.remarks[:number])
        ]

    def places(self, stopped: BaseException, watch: Watch) -> list[tuple[str, int]]:
        """Return where the thread whose turn it is stands, in the kernel first and then in what it calls."""
        frames = [(each.filename, each.lineno) for each in traceback.extract_tb(stopped.__traceback__)]
        waiting = watch.running.get(watch.at[1])
        while waiting is not None and getattr(waiting, "gi_frame", None) is not None:
            frames.append((waiting.gi_frame.f_code.co_filename, waiting.gi_frame.f_lineno))
            waiting = waiting.gi_yieldfrom
        return [each for each in frames if each[0] in self.files] or [watch.last_place()]

    def loop_of(self, place: tuple[str, int]) -> int | None:
        """Return the line of the while loop that a place belongs to: no other loop goes on for ever."""
        found = [
            node.lineno
            for each in (self.program.kernel, *self.program.functions.values())
            if each.filename == place[0]
            for node in ast.walk(each.tree)
            if isinstance(node, ast.While) and node.lineno <= place[1] <= node.end_lineno
        ]
        return max(found, default=None)

    def first_while(self) -> tuple[str, int] | None:
        """Return the first while loop of the program, of which compiled code does not tell: file and line."""
        for each in (self.program.kernel, *self.program.functions.values()):
            for node in ast.walk(each.tree):
                if isinstance(node, ast.While):
                    return each.filename, node.lineno
        return None

    def stuck(self, at: tuple[int, int], space: str, seconds: float, place: tuple[str, int]) -> Finding:
        block, thread = self.launch.position(*at)
        file, line = place
        loop = self.loop_of(place)
        lines = (line,) if loop in (None, line) else (line, loop)
        text = (
            f"the thread did not come to an end within {self.options.seconds:g} s, and nothing else did: a loop without end, "
            "or a wait for something that never comes"
        )
        return _Stuck("no progress", text, file, lines, block, thread, space=space)

    def failed(self, problem: Exception, watch: Watch) -> Finding:
        kernel = self.program.kernel
        frames = [
            frame for frame in traceback.extract_tb(problem.__traceback__) if frame.filename in self.files
        ]
        file, line = (
            (frames[-1].filename, frames[-1].lineno) if frames else (kernel.filename, kernel.tree.lineno)
        )
        block, thread = self.launch.position(*watch.at)
        text = f"{type(problem).__name__}: {problem}"
        return Finding("failed", text, file, (line,), block, thread)


def _element(fault: Fault) -> str:
    return f"{fault.array}[{', '.join(map(str, fault.index))}]"


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _append_to(faults: list) -> Callable:
    return lambda fault, *_: faults.append(fault)


def _owner(node: ast.AST) -> str:
    """Return the name of the array that an expression takes a part of."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


class _Stuck(Finding):
    """The finding that a thread does not end."""


def _essence(fault: Fault | BarrierFault) -> tuple:
    if isinstance(fault, BarrierFault):
        return fault.kind, fault.line, fault.block, fault.thread
    return fault.kind, fault.array, fault.index, fault.access.place


def _overlapping(arrays: dict[str, np.ndarray]) -> list[list[str]]:
    """Return the names of arrays in groups that share memory, most of them alone."""
    bounds = {name: _bounds(array) for name, array in arrays.items()}
    groups: list[tuple[list[str], int, int]] = []
    for name in sorted(arrays, key=lambda name: bounds[name]):
        low, high = bounds[name]
        if groups and low < groups[-1][2]:
            names, start, end = groups[-1]
            groups[-1] = [*names, name], start, max(end, high)
        else:
            groups.append(([name], low, high))
    order = list(arrays)
    return [sorted(names, key=order.index) for names, _, _ in groups]


def _bounds(array: np.ndarray) -> tuple[int, int]:
    """Return the addresses of the first byte of an array and of the one after its last."""
    start = array.__array_interface__["data"][0]
    if array.size == 0:
        return start, start
    reach = [(size - 1) * step for size, step in zip(array.shape, array.strides, strict=True)]
    low = start + sum(each for each in reach if each < 0)
    return low, start + sum(each for each in reach if each > 0) + array.itemsize


def _copies(named: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return copies of arrays that overlap among each other, overlapping in the same way."""
    if len(named) == 1:
        return {name: array.copy() for name, array in named.items()}
    low = min(_bounds(array)[0] for array in named.values())
    high = max(_bounds(array)[1] for array in named.values())
    memory = np.zeros(high - low, np.uint8)
    copies = {}
    for name, array in named.items():
        offset = array.__array_interface__["data"][0] - low
        copies[name] = np.ndarray(array.shape, array.dtype, memory, offset, array.strides)
        copies[name][...] = array
    return copies


def _within_tuples(value: Any, watch: Watch, name: str) -> Any:
    """Return a number, or a tuple whose arrays are watched, too."""
    if isinstance(value, tuple):
        return tuple(_within_tuples(each, watch, f"{name}[{k}]") for k, each in enumerate(value))
    if isinstance(value, np.ndarray):
        return watch.watch({name: value.copy()})[name]
    return as_seen(value)
