"""Check one launch: run it in several orders under watch, interpreted or compiled, and report what that shows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from host_to_device.checking.accesses import FILLS, NONSENSE, Fault, OutOfBudget, TrackedRecord
from host_to_device.checking.causes import Causes, essence
from host_to_device.checking.interpreted import Watch
from host_to_device.checking.notes import Note, Notes, line_events
from host_to_device.checking.options import CheckOptions
from host_to_device.checking.outcomes import (
    Difference,
    compared,
    differs_by,
    orders_of,
    rounding_text,
    unfit_texts,
    unwritten_text,
)
from host_to_device.checking.places import Place, Source
from host_to_device.checking.playing import MOST_BYTES, Replay
from host_to_device.checking.racing import larger_block
from host_to_device.checking.repeats import Done, Recorder, repeated_stores
from host_to_device.checking.report import Finding, Report
from host_to_device.checking.shrinking import Checked
from host_to_device.standins.copies import overlapping_copies
from host_to_device.standins.numba_cuda import inferring
from host_to_device.standins.numba_cuda.dispatching import CUDADispatcher
from host_to_device.standins.numba_cuda.errors import Disagreement, KernelStopped
from host_to_device.standins.numba_cuda.interpreting import as_seen, same_tuple, shared_arrays
from host_to_device.standins.numba_cuda.launching import HAS_NUMBA, Launch, time_limit
from host_to_device.standins.numba_cuda.rewriting import WARP_SIZE, Program

if TYPE_CHECKING:
    from host_to_device.checking.compiled import CompiledWatch, Launched

# The interpreter makes about this many accesses in the time that a compiler needs for a kernel.
TRIAL = 300_000
COMPILING = 5  # seconds that have to be left for a compiler
AFTER_TRIAL = 1.0  # seconds that a schedule gets at least, after a trial and a compilation
TAKING_TURNS = 2  # seconds for blocks whose threads take turns after each atomic, where the rest is compiled
# Notes on performance count at most this many blocks and accesses.
NOTED_BLOCKS, NOTED_ACCESSES = 8, 500_000


@dataclass
class Result:
    """What one schedule has left behind."""

    schedule: int
    arrays: dict[str, np.ndarray]
    turns: bool = False  # whether threads took turns after each atomic
    compiled: bool = False
    # Of each output: how many elements were written, and the index of the first that was not.
    coverage: dict[str, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    skipped: int = 0  # blocks
    failure: Finding | None = None


class Run:
    """One check of one launch.

    Parameters
    ----------
    kernel, program
        The kernel, and its rewritten form for the warp size of the check.
    options
        What `h2d.check` was asked for.
    launch, values
        The launch, and its arguments as the kernel gets them.
    began
        When the check began, by `time.monotonic`.
    remarks
        What the report says besides its findings; a run adds its own.
    """

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
        self.typed = inferring.typed(program, values, launch.arrays)  # as the interpreter runs it
        self.blocks, self.threads = math.prod(launch.grid), math.prod(launch.block)
        self.source = Source(program)
        self.causes = Causes(launch, options.warp_size)
        self.compiled: CompiledWatch | None = None
        self.compiling = 0.0  # seconds
        self.accesses = self.done = 0
        self.repeated = False  # whether blocks have stored what other blocks have stored before
        self.partial: list[str] = []
        self.unfit: dict[tuple[str, int, str], tuple[float, int]] = {}  # as a `Watch` has it
        self.remarks = remarks

    def report(self) -> Report:
        """Run all schedules and return the report."""
        results = self.schedules()
        self.confirm(results)
        failures = [result.failure for result in results if result.failure is not None]
        whole = [result for result in results if not result.skipped and result.failure is None]
        if self.threads <= self.options.warp_size and self.causes.within_warp():
            self.causes.of_block = self.lacks_a_barrier()
        findings = [*self.causes.findings(), *failures, *self.unwritten(whole)]
        if not findings:
            findings = self.order_dependence(whole)
        if self.repeated and not findings:
            self.remarks += self.repeats()
        self.remarks += unfit_texts(self.unfit)
        notes = self.notes() if self.options.notes else ()
        replay = self.replay(findings) if any(finding.is_played for finding in findings) else None
        return Report(
            self.kernel.__name__,
            tuple(findings),
            self.threads * self.blocks,
            self.accesses,
            self.done,
            time.monotonic() - self.began,
            tuple(dict.fromkeys(self.partial)),
            tuple(self.remarks),
            notes,
            replay,
        )

    def replay(self, findings: list[Finding]) -> Replay:
        """Return what plays the findings: it keeps copies of the arguments, which the learner may change."""
        arrays = {name: array for group in self.groups() for name, array in group.items()}
        checked = None
        if sum(array.nbytes for array in arrays.values()) <= MOST_BYTES:
            self.values = tuple(_with_arrays(value, name, arrays) for name, value in self.named_values())
            checked = Checked(self.typed, self.launch, self.options.warp_size, self.arguments)
        return Replay(checked, self.source, self.causes.faults(), findings)

    # -- the schedules

    def schedules(self) -> list[Result]:
        """Run the launch in all orders, until one fails or the time or the accesses are used up."""
        wanted = self.options.schedules
        if self.options.interpreted is False:
            self.compiled = self.compile()
        results: list[Result] = []
        for schedule in range(wanted):
            left = self.left()
            if left <= 0 or self.accesses >= self.options.accesses:
                limit = f"{self.options.seconds:g} s" if left <= 0 else f"{self.options.accesses:,} accesses"
                self.partial.append(f"{self.done} of {wanted} schedules within {limit}")
                break
            results.append(self.one(schedule, left))
            if results[-1].failure is not None:
                break
            self.done += 1
        return results

    def left(self) -> float:
        """Return the seconds that are left; compiling, which happens once for a kernel, does not count."""
        return self.options.seconds + self.compiling - (time.monotonic() - self.began)

    def one(self, schedule: int, left: float) -> Result:
        """Run the launch in one order, with the engine that suits it.

        If the options leave the choice open, the interpreter tries first: it finishes most launches that a learner
        checks before a compiler would. If the launch turns out to be large, the kernel is compiled.
        """
        self.causes.schedule = schedule
        if schedule == 0 and self.options.interpreted is None:
            try:
                return self.interpret(schedule, left, trial=True)
            except OutOfBudget:
                self.causes.forget(schedule)
            if self.left() > COMPILING:
                self.compiled = self.compile()
            left = max(AFTER_TRIAL, self.left())
        # Compiled threads cannot take turns after atomics: in those orders some blocks are interpreted.
        if self.compiled is not None and not self.takes_turns(schedule):
            try:
                return self.run_compiled(self.compiled, schedule, self.share(schedule, left), left)
            except Disagreement:  # the interpreter has more to say about barriers
                self.causes.forget(schedule)
                self.compiled = None
        return self.interpret(schedule, left)

    def share(self, schedule: int, left: float) -> float:
        """Return the seconds for one schedule, if the remaining ones share the time that is left."""
        return left / (self.options.schedules - schedule)

    def takes_turns(self, schedule: int) -> bool:
        """Return whether another thread takes its turn after every atomic: in the shuffled orders."""
        return schedule > 1 and self.source.has_atomics

    def compile(self) -> CompiledWatch | None:
        """Return the kernel compiled to be watched, or None where only the interpreter can run it."""
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

    def interpret(self, schedule: int, left: float, trial: bool = False) -> Result:
        """Run the launch interpreted; where it gets stuck, run it again with threads that take turns.

        Threads run one after another, and one may wait for a later one, which on a GPU would run at the same time.

        Raises
        ------
        OutOfBudget
            If this is a trial, and the launch turns out to be large.
        """
        turns = self.takes_turns(schedule)
        share = self.share(schedule, left)
        if self.compiled is not None:
            share = min(share, TAKING_TURNS)
        seconds = left / 2 if self.source.has_atomics else left  # the other half is for the second run
        result = self.run_interpreted(schedule, turns, share, seconds, trial=trial)
        stuck = result.failure is not None and result.failure.kind == "no progress"
        if stuck and self.source.has_atomics and not turns:
            self.causes.forget(schedule)
            return self.run_interpreted(schedule, True, share, left / 2)
        return result

    # -- the two engines

    def run_interpreted(
        self,
        schedule: int,
        turns: bool,
        share: float,
        seconds: float,
        fill: int = NONSENSE,
        note: Callable | None = None,
        trial: bool = False,
    ) -> Result:
        """Run the launch interpreted.

        Parameters
        ----------
        schedule
            Which order.
        turns
            Whether another thread takes its turn after every atomic.
        share
            Seconds after which a sample of the blocks will do.
        seconds
            Seconds after which the launch is stopped.
        fill
            What memory holds before anything is stored there: one of `memory.FILLS`.
        note
            Called with each fault; `Causes.note` by default.
        trial
            Whether to give up a launch that turns out to be large.

        Raises
        ------
        OutOfBudget
            If this is a trial, and the launch turns out to be large.
        """
        order, block_order = orders_of(schedule, self.threads, self.blocks)
        most = self.options.accesses - self.accesses
        watch = Watch(
            self.typed,
            self.launch.grid,
            self.launch.block,
            shared_arrays(self.launch.arrays, self.launch.shared),
            note or self.causes.note,
            order.tolist(),
            seconds,
            self.options.warp_size,
            fill,
            min(most, TRIAL) if trial else most,
            turns,
        )
        arrays, arguments = self.arguments(watch)
        result = Result(schedule, arrays, turns)
        try:
            with time_limit(seconds):
                watch.run(block_order.tolist(), arguments, math.inf if trial else share)
        except KernelStopped as stopped:
            places = self.places(stopped, watch)
            if watch.got_on(any(map(self.source.loop_of, places))):
                self.cut_off(schedule)
                watch.skipped += 1
            else:
                result.failure = self.stuck(watch.at, watch.moment.last_space, places[-1])
        except OutOfBudget:
            if trial and most > TRIAL:
                self.unfit |= watch.unfit
                raise
            self.out_of_budget()
            watch.skipped += 1
        except Exception as problem:
            result.failure = self.failed(problem, watch)
        return self.ended(result, watch)

    def run_compiled(
        self,
        compiled: CompiledWatch,
        schedule: int,
        share: float,
        seconds: float,
        fill: int = NONSENSE,
        note: Callable | None = None,
    ) -> Result:
        """Run the launch compiled; the parameters are those of `run_interpreted`.

        Raises
        ------
        Disagreement
            If the threads of a block do not wait together.
        """
        from host_to_device.checking.compiled import Launched

        order, block_order = orders_of(schedule, self.threads, self.blocks)
        groups = self.groups()
        arrays = {name: array for group in groups for name, array in group.items()}
        values = tuple(arrays.get(name, value) for name, value in self.named_values())
        launched = Launched(compiled, self.launch, groups, values, order, block_order, fill)
        result = Result(schedule, arrays, compiled=True)
        try:
            launched.run(note or self.causes.note, seconds, share, self.options.accesses - self.accesses)
        except KernelStopped:
            last = launched.last_place()
            # Compiled code tells no more than its last access: the loop may be another one.
            place = last if self.source.loop_of(last) else self.source.first_while()
            if place is not None:
                result.failure = self.stuck(launched.at, "", place)
            else:
                self.cut_off(schedule)
                launched.skipped += 1
        except OutOfBudget:
            place = launched.last_place()
            if launched.turn() > launched.counted / 4 and self.source.loop_of(place):
                result.failure = self.stuck(launched.at, "", place)
            else:
                self.out_of_budget()
                launched.skipped += 1
        return self.ended(result, launched)

    def ended(self, result: Result, engine: Watch | Launched) -> Result:
        """Take in what an engine counted, and return its result with the coverage of the outputs."""
        self.accesses += engine.counted
        self.repeated = self.repeated or engine.repeated
        for key, found in engine.unfit.items():
            self.unfit.setdefault(key, found)
        result.skipped = engine.skipped
        if engine.sampled:
            self.partial.append(
                f"{engine.ran:,} of {self.blocks:,} blocks, the first, the last and some between"
            )
        for memory in engine.memories:
            for tracked in memory.arrays:
                if memory.space == "global" and tracked.name in self.options.outputs:
                    result.coverage[tracked.name] = engine.coverage(tracked)
        return result

    def cut_off(self, schedule: int) -> None:
        self.partial.append(
            f"schedule {schedule + 1} of {self.options.schedules} was cut off after {self.options.seconds:g} s"
        )

    def out_of_budget(self) -> None:
        self.partial.append(f"the first {self.options.accesses:,} accesses")

    def places(self, stopped: BaseException, watch: Watch) -> list[Place]:
        """Return where the thread whose turn it is stands, in the kernel first and then in what it calls."""
        waiting = watch.running.get(watch.at[1])
        return [*self.source.frames_of(stopped), *self.source.waiting_at(waiting)] or [watch.last_place()]

    def stuck(self, at: tuple[int, int], space: str, place: Place) -> Finding:
        block, thread = self.launch.position(*at)
        file, line = place
        loop = self.source.loop_of(place)
        lines = (line,) if loop is None or loop == line else (line, loop)
        text = (
            f"{self.launch.place(*at)} did not end within {self.options.seconds:g} s, and no other thread ended lately: "
            "it is in a loop that never ends, or it waits for a change that no thread makes"
        )
        return Finding("no progress", text, file, lines, block, thread, space=space)

    def failed(self, problem: Exception, watch: Watch) -> Finding:
        kernel = self.source.kernel
        frames = self.source.frames_of(problem)
        file, line = frames[-1] if frames else (kernel.filename, kernel.tree.lineno)
        block, thread = self.launch.position(*watch.at)
        text = f"{self.launch.place(*watch.at)} raises {type(problem).__name__}: {problem}"
        return Finding("failed", text, file, (line,), block, thread)

    # -- arguments

    def named_values(self) -> list[tuple[str, Any]]:
        return list(zip(self.program.kernel.parameters, self.values, strict=True))

    def groups(self) -> list[dict[str, np.ndarray]]:
        """Return fresh copies of the arrays, also of those within tuples, those together that share memory."""
        return overlapping_copies(
            {
                name: array
                for parameter, value in self.named_values()
                for name, array in _arrays_in(value, parameter)
            }
        )

    def arguments(self, watch: Watch) -> tuple[dict[str, np.ndarray], tuple]:
        """Return fresh copies of the arrays, and the arguments as the watched kernel gets them."""
        tracked: dict[str, Any] = {}
        arrays: dict[str, np.ndarray] = {}
        for group in self.groups():
            arrays |= group
            tracked |= watch.watch(group)
        arguments = tuple(_as_watched(value, name, tracked) for name, value in self.named_values())
        return arrays, arguments

    # -- what follows from the results

    def confirm(self, results: list[Result]) -> None:
        """Drop uninitialised reads, and values of missing lanes, that do not affect the result.

        The launch runs again in the same order with other bytes in the memory that no thread has written. Where all
        such runs leave the same arrays behind and report the same, nothing depended on those bytes.
        """
        doubtful = self.causes.if_used()
        if not doubtful or any(result.failure for result in results):
            return
        first = min(each.schedule for each in doubtful)
        before = results[first]
        left = max(1.0, self.left())
        of_first_fill = None
        for fill in FILLS:
            faults: list[tuple] = []

            def note(fault: Any, *_: Any, faults: list[tuple] = faults) -> None:
                faults.append(essence(fault))

            if before.compiled and self.compiled is not None:
                try:
                    again = self.run_compiled(self.compiled, first, left, left, fill, note)
                except Disagreement:  # with these bytes some threads leave before a barrier
                    return
            else:
                again = self.run_interpreted(first, before.turns, left, left, fill, note)
            found = [array.tobytes() for array in again.arrays.values()], faults
            if again.failure or of_first_fill not in (None, found):
                return
            of_first_fill = found
        self.causes.drop_if_used()

    def unwritten(self, results: list[Result]) -> list[Finding]:
        """Return a finding for each output that has elements which the launch did not write."""
        found = []
        for name in self.options.outputs if results else ():
            size = results[0].arrays[name].size
            written, first = results[0].coverage[name]
            if written < size:
                text = unwritten_text(name, size, size - written, first)
                found.append(self.of_an_array("unwritten output", text, name, first))
        return found

    def order_dependence(self, results: list[Result]) -> list[Finding]:
        """Compare the results of the schedules; sums of floats may differ by their rounding."""
        for result in results[1:]:
            found = []
            for each in compared(results[0].arrays, result.arrays, self.options):
                if isinstance(each, Difference):
                    text = _dependence(each, result)
                    found.append(self.of_an_array("order dependence", text, each.array, each.where))
                else:
                    self.remark_rounding(each.array, each.size)
            if found:
                return found
        return []

    def remark_rounding(self, array: str, size: float) -> None:
        """Remark once for each array that its sums round otherwise in another order."""
        if not any(each.startswith(differs_by(array)) for each in self.remarks):
            self.remarks.append(rounding_text(array, size, self.source.has_atomics))

    def of_an_array(self, kind: str, text: str, array: str, index: tuple[int, ...]) -> Finding:
        """Return a finding about an array in global memory, at the kernel's lines that store in it."""
        lines = self.source.stores_in(array)
        return Finding(
            kind, text, self.source.kernel.filename, lines, array=array, index=index, space="global"
        )

    # -- what one more run shows

    def lacks_a_barrier(self) -> bool:
        """Return whether lanes of the only warp race because a barrier of the block is missing.

        A block of one warp hides that. So one block of two warps runs: if threads of both race, or leave their shared
        arrays and the kernel calls nothing that is for warps, the barrier is one of the block.
        """
        faults: list[Any] = []
        larger = larger_block(self.launch.block, self.options.warp_size)
        shared = shared_arrays(self.launch.arrays, 2 * self.launch.shared)
        watch = Watch(
            self.typed,
            self.launch.grid,
            larger,
            shared,
            faults.append,
            seconds=2.0,
            warp_size=self.options.warp_size,
            accesses=NOTED_ACCESSES,
        )
        _, arguments = self.arguments(watch)
        with suppress(Exception, KernelStopped), time_limit(2.0):
            watch.run([0], arguments)
        size = self.options.warp_size
        in_shared = [each for each in faults if isinstance(each, Fault) and each.space == "shared"]
        for each in in_shared:
            if each.other is not None and each.access.thread // size != each.other.thread // size:
                return True
        return any(each.kind == "out of bounds" for each in in_shared) and not self.source.is_for_warps

    def repeats(self) -> list[str]:
        """Return a remark for stores that blocks repeat because the index lacks `blockIdx`."""
        grid = self.launch.grid
        chosen = sorted({0} | {math.prod(grid[:axis]) for axis in range(3) if grid[axis] > 1})
        recorder = Recorder()
        watch = Watch(
            self.typed,
            grid,
            self.launch.block,
            shared_arrays(self.launch.arrays, self.launch.shared),
            lambda fault: None,
            seconds=max(1.0, self.left()),
            warp_size=self.options.warp_size,
            accesses=NOTED_ACCESSES,
            notes=recorder,
        )
        _, arguments = self.arguments(watch)
        try:
            with time_limit(max(1.0, self.left())):
                watch.run(chosen, arguments)
        except (Exception, KernelStopped):  # without all of its accesses nothing can be said
            return []
        indices = {each.name: each for memory in watch.memories for each in memory.arrays}
        done = [
            Done(
                self.launch.position(block, 0)[0],
                kind,
                place,
                array,
                indices[array].index_of(min(at for _, at in touched) // indices[array].memory.unit),
                len({at for _, at in touched}) > 1,
                frozenset(touched),
            )
            for (block, kind, place, array), touched in recorder.done.items()
        ]
        return repeated_stores(done, grid)

    # -- notes on performance

    def notes(self) -> tuple[Note, ...]:
        """Run some blocks once more in ascending order, and count what costs time on a GPU."""
        launch, left = self.launch, max(1.0, self.left())
        chosen = np.unique(np.linspace(0, self.blocks - 1, min(self.blocks, NOTED_BLOCKS)).astype(int))
        notes = Notes(warp=self.options.warp_size, threads=self.threads)
        watch = Watch(
            self.typed,
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
            with time_limit(left), line_events(notes, self.source.files, lambda: watch.at):
                watch.run(chosen.tolist(), arguments)
        except (KernelStopped, OutOfBudget):
            self.remarks.append(
                f"The notes count {watch.ran + 1:,} of {self.blocks:,} blocks, the last of them in part."
            )
        except Exception:  # the kernel fails: a finding says so
            return ()
        else:
            if len(chosen) < self.blocks:
                self.remarks.append(f"The notes count {len(chosen):,} of {self.blocks:,} blocks.")
        return notes.result()


def _dependence(difference: Difference, result: Result) -> str:
    """Say how an element differs between the first schedule and another one, and how to repeat that."""
    seed = result.schedule - 1
    how = f"are shuffled by seed {seed}" if seed else "run in descending order"
    if result.turns:
        how += " and take turns after each atomic"
    repeat = f" (h2d.stand_in(seed={seed}) launches in this order)" if seed and not result.turns else ""
    return difference.text(how) + repeat


def _arrays_in(value: Any, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays of an argument by name: the argument itself as `x`, those of a tuple as `x[0]`, `x[1]`."""
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, tuple):
        for k, each in enumerate(value):
            yield from _arrays_in(each, f"{name}[{k}]")


def _with_arrays(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return an argument with these arrays in place of its own, those of a tuple, too."""
    if isinstance(value, tuple):
        return same_tuple(value, [_with_arrays(each, f"{name}[{k}]", arrays) for k, each in enumerate(value)])
    return arrays.get(name, value)


def _as_watched(value: Any, name: str, tracked: dict[str, Any]) -> Any:
    """Return an argument as the watched kernel gets it, the arrays of a tuple, too."""
    if isinstance(value, tuple):
        return same_tuple(value, [_as_watched(each, f"{name}[{k}]", tracked) for k, each in enumerate(value)])
    found = tracked.get(name)
    if found is None:
        return as_seen(value)
    # An array of records without axes is one record.
    is_record = value.dtype.names and not value.ndim
    return TrackedRecord(found, found.base, found.raw[()]) if is_record else found
