"""Shrink a finding to one or two threads and the fewest steps that still show it.

The check finds a race somewhere in a launch of many threads. The shrinker runs the blocks of the two threads again
(`stepping`), in this order:

1. It looks for pairs of accesses that are this race: first of the threads that the report names, then those that come
   earliest in their threads.
2. It brings both threads to just before their accesses; the others run only where a barrier needs them.
3. It lets the two make their accesses, first in the order in which the damage shows, and lets a thread that has read
   go on to its next store.
4. It keeps the steps that matter: the two accesses, what else their lines read, the earlier accesses to the element,
   and every barrier, fence and atomic of the two threads between them.
5. The rule (`accesses`) judges the steps that are kept, once more and by themselves. What is no race then is dropped.

An access out of bounds is shown beside the last access of its line that was inside. A barrier that not all threads reach
is shown by two neighbours: a thread that waits at it, and a thread that does not.

The same launch gives the same steps. What bounds the search is a number of turns, and not the time, which would differ from
machine to machine. If the turns are used up, the result says so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from host_to_device.checking.accesses import ATOMIC, READ, WRITE, Access, Fault, Memory, Moment
from host_to_device.checking.causes import key_of
from host_to_device.checking.interpreted import BarrierFault, Watch
from host_to_device.checking.stepping import Event, OutOfTurns, Stepper, Thread
from host_to_device.standins.numba_cuda import saturating
from host_to_device.standins.numba_cuda.errors import KernelStopped
from host_to_device.standins.numba_cuda.launching import Launch, time_limit
from host_to_device.standins.numba_cuda.rewriting import Program

MOST_TURNS = 500_000  # of the whole search: some seconds
SECONDS = 120  # after which a loop without any access is stopped
MOST_STEPS = 12
MOST_PAIRS = 8  # that are tried
FEW_STEPS = 6  # a result with so few ends the search
MOST_FAULTS, MOST_EVENTS = 400, 200_000  # of a run that looks for pairs
GO_ON = 6  # turns that a thread has after its read to store what it has computed
READY, LATE, LAST = range(3)  # when the second of two threads does what comes before its access
OPERANDS = 3  # reads of a line that are shown besides


@dataclass(frozen=True)
class Checked:
    """A checked launch that can run again.

    Attributes
    ----------
    program
        The kernel, typed for the launch's arguments.
    launch
        The launch.
    warp_size
        32 or 64 lanes.
    arguments
        Given a `Watch`, returns fresh copies of the arrays by name, and the arguments as the watched kernel gets them.
    """

    program: Program
    launch: Launch
    warp_size: int
    arguments: Callable[[Watch], tuple[dict[str, np.ndarray], tuple]]


@dataclass(frozen=True)
class Shrunk:
    """The fewest threads and steps that show a finding.

    Attributes
    ----------
    threads
        The threads shown, by the numbers of the block and of the thread in it.
    steps
        What they do, in this order.
    racing
        Which two of the steps are the finding: two accesses in a race, or a wait and what keeps another thread from
        it; equal where a single access is at fault.
    warp_size
        32 or 64 lanes.
    others
        Whether threads that are not shown ran as well, up to a barrier.
    ended
        Whether the turns were used up before the search was over: there may be fewer steps.
    why
        Why there are no steps; empty where there are some.
    """

    threads: tuple[Thread, ...] = ()
    steps: tuple[Event, ...] = ()
    racing: tuple[int, int] = (0, 0)
    warp_size: int = 32
    others: bool = False
    ended: bool = False
    why: str = ""


@dataclass(frozen=True)
class _Pair:
    """Two accesses in a race: their events, and the turns in which their threads make them."""

    first: Event
    second: Event

    @property
    def cost(self) -> tuple:
        turns = self.first.turn, self.second.turn
        return sum(turns), max(turns), self.first.by, self.second.by

    @property
    def threads(self) -> set[Thread]:
        return {*self.first.by, *self.second.by}


def shrink(checked: Checked, fault: Fault | BarrierFault, turns: int = MOST_TURNS) -> Shrunk:
    """Return the fewest threads and steps that show a finding.

    Parameters
    ----------
    checked
        The launch.
    fault
        What it reported: a race, an access out of bounds, or a barrier that not all threads reach.
    turns
        How many turns of threads the search may take.
    """
    if isinstance(fault, BarrierFault):
        return _BarrierSearch(checked, fault, [fault.block], turns).result()
    if fault.other is None:
        return _OutsideSearch(checked, fault, [fault.access.block], turns).result()
    return _RaceSearch(checked, fault, turns).result()


class _Search:
    """The search for the steps of one finding.

    Parameters
    ----------
    checked, fault, turns
        As for `shrink`.
    blocks
        The blocks of the threads that the report names.
    """

    def __init__(
        self, checked: Checked, fault: Fault | BarrierFault, blocks: Iterable[int], turns: int
    ) -> None:
        self.checked, self.key = checked, key_of(fault)
        self.turns = turns
        self.steppers: list[Stepper] = []
        self.events: list[Event] = []  # of the run that found the accesses
        self.blocks = sorted(set(blocks))
        if checked.program.waits_for_grid:
            self.blocks = list(range(math.prod(checked.launch.grid)))

    def result(self) -> Shrunk:
        """Return what the search finds, or why it finds nothing."""
        raise NotImplementedError

    def stepper(self) -> tuple[Stepper, tuple]:
        left = self.turns - sum(sum(each.turns.values()) for each in self.steppers)
        stepper = Stepper(self.checked.program, self.checked.launch, self.checked.warp_size, left)
        self.steppers.append(stepper)
        _, arguments = self.checked.arguments(stepper)
        return stepper, arguments

    def run(self, stepper: Stepper, arguments: tuple, blocks: list[int], quantum: int, faults: int) -> None:
        """Run blocks until the finding has come `faults` times; `quantum` is 1 where threads change after every access."""
        together = self.checked.program.waits_for_grid

        def enough() -> bool:
            return len(stepper.events) >= MOST_EVENTS or len(self.of_key(stepper)) >= faults

        for some in [blocks] if together else [[block] for block in blocks]:
            stepper.begin(some, arguments)
            going = True
            while going and not enough():
                going = False
                for block in some:
                    for thread in stepper.order:
                        at = block, thread
                        going |= stepper.run_on(at, quantum=1) if quantum else stepper.run_on(at)
                    if not any(stepper.can_run((block, thread)) for thread in stepper.order):
                        going |= stepper.release(block)
                        if enough():
                            return
                going |= not going and together and stepper.release_whole_grid()

    def of_key(self, stepper: Stepper) -> list[tuple[Fault | BarrierFault, int, int | None]]:
        return [each for each in stepper.faults if key_of(each[0]) == self.key]

    def of_line(self, events: list[Event], own: list[int], number: int) -> set[int]:
        """Return the reads of the statement of an access: those of its thread at its line, directly before it."""
        event = events[number]
        found: set[int] = set()
        sites = {event.site}
        for k in reversed([k for k in own if k < number and events[k].by == event.by]):
            read = events[k].kind == READ and events[k].place == event.place
            if not read or events[k].site in sites or len(found) == OPERANDS:
                break
            found.add(k)
            sites.add(events[k].site)
        return found


class _OneRun(_Search):
    """The search for a finding of which one run shows everything."""

    def result(self) -> Shrunk:
        try:
            with saturating.heard(lambda *_: None), np.errstate(all="ignore"), time_limit(SECONDS):
                for quantum in (0, 1):
                    stepper, arguments = self.stepper()
                    self.run(stepper, arguments, self.blocks, quantum, 1)
                    for fault, now, _ in self.of_key(stepper)[:1]:
                        return self.shown(stepper, fault, now)
        except (OutOfTurns, KernelStopped):
            return Shrunk(why=f"It was not reached within {self.turns:,} accesses.")
        return Shrunk(why="Running the block again does not show it.")

    def shown(self, stepper: Stepper, fault: Fault | BarrierFault, now: int) -> Shrunk:
        """Return the steps of a fault, reported when the event `now` was the last."""
        raise NotImplementedError


class _OutsideSearch(_OneRun):
    """The search for an access out of bounds: it, and the last access of its line that was inside."""

    def shown(self, stepper: Stepper, fault: Fault | BarrierFault, now: int) -> Shrunk:
        events = stepper.events
        event = events[now]

        def like(k: int) -> bool:
            each = events[k]
            same = (each.kind, each.place, each.array) == (event.kind, event.place, event.array)
            return same and each.outside is None

        inside = [k for k in range(now) if like(k)]
        inside = [k for k in inside if events[k].by == event.by][-1:] or inside[-1:]
        wanted = {now, *inside}
        wanted |= {k for each in (now, *inside) for k in self.of_line(events, list(range(now)), each)}
        numbers = sorted(wanted)
        threads = tuple(sorted({events[k].by[0] for k in numbers}))
        place = numbers.index(now)
        steps = tuple(events[k] for k in numbers)
        return Shrunk(
            threads, steps, (place, place), self.checked.warp_size, self.has_others(stepper, threads)
        )

    def has_others(self, stepper: Stepper, threads: tuple[Thread, ...]) -> bool:
        """Return whether other threads have passed a barrier with these."""
        return any(not each.is_access and len(each.by) > len(threads) for each in stepper.events)


class _BarrierSearch(_OneRun):
    """The search for a barrier that not all threads reach: a thread that waits, and its neighbour that does not."""

    def of_key(self, stepper: Stepper) -> list[tuple[Fault | BarrierFault, int, int | None]]:
        # Where threads wait at two barriers, the order of the threads decides which of the two the report names.
        here = (self.key[2] in stepper.arrived.values()) and stepper.faults[-1:]
        return [each for each in here or () if each[0].kind == self.key[0]]

    def shown(self, stepper: Stepper, fault: Fault | BarrierFault, now: int) -> Shrunk:
        everyone = [(block, thread) for block in stepper.blocks for thread in stepper.order]
        here = [stepper.arrived.get(at) == self.key[2] for at in everyone]
        k = next((k for k in range(len(here) - 1) if here[k] != here[k + 1]), None)
        if k is None:
            return Shrunk(why="All threads wait at one line.")
        threads = everyone[k], everyone[k + 1]
        steps: list[Event] = []
        stops = []
        for at in threads:
            # Its last access since the last barrier: often what decides where the thread goes.
            own = [each for each in stepper.events[:now] if each.is_access and each.by == (at,)]
            steps += [each for each in own[-1:] if each.epoch == stepper.events[now].epoch]
            stops.append(len(steps))
            steps.append(self.stop(stepper, at))
        return Shrunk(
            threads, tuple(steps), (stops[0], stops[1]), self.checked.warp_size, len(everyone) > len(threads)
        )

    def stop(self, stepper: Stepper, at: Thread) -> Event:
        """Return where a thread waits, or where it has left the kernel."""
        kernel = self.checked.program.kernel
        turn = stepper.turns.get(at, 0)
        line = stepper.arrived.get(at)
        if line is not None:
            return Event("wait", (at,), turn, (stepper.files.get(line, kernel.filename), line))
        end = stepper.returned.get(at, kernel.tree.end_lineno or kernel.tree.lineno)
        return Event("leave", (at,), turn, (kernel.filename, end))


class _RaceSearch(_Search):
    """The search for the steps of a race."""

    def __init__(self, checked: Checked, fault: Fault, turns: int) -> None:
        assert fault.other is not None
        accesses = fault.access, fault.other
        super().__init__(checked, fault, [each.block for each in accesses], turns)
        self.found_in: list[int] = []  # the blocks of the run that found the pairs
        self.threads = {(each.block, each.thread) for each in accesses}  # that the report names

    def result(self) -> Shrunk:
        best: list[Shrunk] = []
        try:
            with saturating.heard(lambda *_: None), np.errstate(all="ignore"), time_limit(SECONDS):
                for pair in self.pairs()[:MOST_PAIRS]:
                    best += itertools.islice(self.played(pair), 1)
                    if best and min(map(_worse, best)) <= (False, FEW_STEPS):
                        break
            ended = False
        except (OutOfTurns, KernelStopped):
            ended = True
        if best:
            return replace(min(best, key=_worse), ended=ended)
        within = f" within {self.turns:,} accesses" if ended else ""
        return Shrunk(why=f"No order of two threads that shows it was found{within}.")

    # -- the pairs

    def pairs(self) -> list[_Pair]:
        """Return pairs of accesses that are this race, the earliest in their threads first."""
        count = math.prod(self.checked.launch.grid)
        everything = range(count) if count <= 16 else []
        for blocks in (self.blocks, everything):
            for quantum, backwards in ((0, False), (1, False), (0, True)):
                found = self.looked_for(list(blocks), quantum, backwards) if blocks else []
                if found:
                    self.found_in = list(blocks)
                    return found
        return []

    def looked_for(self, blocks: list[int], quantum: int, backwards: bool) -> list[_Pair]:
        """Run blocks and return the pairs that race; `quantum` is 1 where threads change after every access."""
        stepper, arguments = self.stepper()
        if backwards:
            blocks, stepper.order = blocks[::-1], stepper.order[::-1]
        self.run(stepper, arguments, blocks, quantum, MOST_FAULTS)
        found: dict[tuple[bool, Any], _Pair] = {}
        for _, now, before in self.of_key(stepper):
            if before is None:
                continue
            pair = _Pair(stepper.events[before], stepper.events[now])
            found.setdefault((pair.threads != self.threads, pair.cost), pair)
        self.events = stepper.events
        return [found[cost] for cost in sorted(found)]

    # -- one pair

    def played(self, pair: _Pair) -> Iterator[Shrunk]:
        """Yield what comes of a pair, in the order that shows the damage and then in the other one."""
        one, other = self.order(pair)
        for when in (READY, LATE, LAST):
            for first, second in ((one, other), (other, one)):
                with suppress(_Lost):
                    yield self.in_order(first, second, when)

    def order(self, pair: _Pair) -> tuple[Event, Event]:
        """Return the access that shall come first, and the other.

        Two threads that both read and store one element lose a store if both read first. Otherwise the damage shows
        if the access that its thread makes later comes first: threads that run in step do it the other way round.
        """
        one, other = pair.first, pair.second
        if READ in (one.kind, other.kind) and all(self.updates(each) for each in (one, other)):
            return (one, other) if one.kind == READ else (other, one)
        return (one, other) if one.turn > other.turn else (other, one)

    def updates(self, event: Event) -> bool:
        """Return whether the thread of an access both reads and stores its element between the same barriers."""
        kinds = {
            each.kind
            for each in self.events
            if each.is_access
            and each.by == event.by
            and each.element == event.element
            and each.epoch == event.epoch
        }
        return {READ, WRITE} <= kinds

    def in_order(self, first: Event, second: Event, when: int) -> Shrunk:
        """Bring two threads to just before their accesses, and let them make these in this order.

        What the second thread does before its access may depend on the first one's access: then it has to do it after
        that (`LATE`), or when all other threads have ended (`LAST`).
        """
        stepper, arguments = self.stepper()
        one, other = first.by[0], second.by[0]
        stepper.begin(self.found_in, arguments)
        begun = min(each.turn for each in self.events if each.by == second.by and each.epoch == second.epoch)
        held = {one: first.turn, other: second.turn if when == READY else begun}
        others = self.approach(stepper, held)
        racing = []
        for event in (first, second):
            at = event.by[0]
            if event is second and when == LAST:
                others |= self.finish_others(stepper, at)
            others |= self.approach(stepper, {at: event.turn})
            begin = len(stepper.events)
            stepper.turn(at)
            made = [
                k
                for k in range(begin, len(stepper.events))
                if _alike(stepper.events[k], event) and stepper.events[k].index == event.index
            ]
            if not made:
                raise _Lost
            racing.append(made[0])
        if not any({now, before} == set(racing) for _, now, before in self.of_key(stepper)):
            raise _Lost
        last = racing[1]
        for event in (first, second):
            if event.kind == READ:
                last = max(last, self.store_of(stepper, event.by[0]))
        threads = (one, other) if one < other else (other, one)
        return self.kept(stepper, threads, (racing[0], racing[1]), last, others)

    def approach(self, stepper: Stepper, held: dict[Thread, int]) -> bool:
        """Run threads to just before a turn; return whether other threads had to run.

        The others run where nothing else can: first those of the same block, then all that there are.
        """
        others = False

        def there(at: Thread) -> bool:
            return stepper.turns.get(at, 0) + 1 == held[at]

        def ready(at: Thread) -> bool:
            return there(at) and stepper.can_run(at)

        def run_rest(block: int) -> bool:
            nonlocal others
            rest = [(block, thread) for thread in stepper.order if (block, thread) not in held]
            ran = any([stepper.run_on(at) for at in rest])
            others |= ran
            of_block = [at for at in held if at[0] == block]
            if not any(stepper.can_run(at) for at in rest) and not any(
                stepper.can_run(at) and not there(at) for at in of_block
            ):
                ran |= stepper.release(block, any(map(ready, of_block)))
            return ran

        while True:
            moved = any([stepper.run_on(at, before=held[at]) for at in held])
            if all(map(ready, held)):
                return others
            if any(not there(at) and at[1] not in stepper.blocks[at[0]].running for at in held):
                raise _Lost  # it has left the kernel before
            late = {at[0] for at in held if not ready(at)}
            moved = any([run_rest(block) for block in sorted(late)]) or moved
            if not moved:
                moved = any([run_rest(block) for block in stepper.blocks if block not in late])
            if not moved and not stepper.release_whole_grid():
                raise _Lost

    def finish_others(self, stepper: Stepper, kept: Thread) -> bool:
        """Let all threads but one run to their ends, as far as they do not wait for it; return whether any ran."""
        ran = False
        moved = True
        while moved:
            moved = False
            for block in stepper.blocks:
                for thread in stepper.order:
                    if (block, thread) != kept:
                        moved |= stepper.run_on((block, thread))
                moved |= block != kept[0] and stepper.release(block)
            ran |= moved
        return ran

    def store_of(self, stepper: Stepper, thread: Thread) -> int:
        """Let a thread that has read go on to its next store; return that event's number, or 0."""
        for _ in range(GO_ON):
            begin = len(stepper.events)
            if not stepper.can_run(thread):
                return 0
            stepper.turn(thread)
            stored = [
                k for k in range(begin, len(stepper.events)) if stepper.events[k].kind in (WRITE, ATOMIC)
            ]
            if stored:
                return stored[0]
        return 0

    # -- the steps

    def kept(
        self,
        stepper: Stepper,
        threads: tuple[Thread, Thread],
        racing: tuple[int, int],
        last: int,
        others: bool,
    ) -> Shrunk:
        """Return the steps that matter, as few as the rule still finds a race in."""
        events = stepper.events[: last + 1]
        own = [k for k, each in enumerate(events) if any(at in threads for at in each.by)]
        for wanted in self.choices(events, own, racing, last):
            begin = min(wanted)
            numbers = [
                k
                for k in own
                if k in wanted or (k > begin and (not events[k].is_access or events[k].kind == ATOMIC))
                if events[k].outside is None or k in wanted
            ]
            if len(numbers) > MOST_STEPS:
                continue
            steps = tuple(
                replace(events[k], by=tuple(at for at in threads if at in events[k].by)) for k in numbers
            )
            pair = numbers.index(racing[0]), numbers.index(racing[1])
            warp_size = self.checked.warp_size
            if is_race(steps, pair, warp_size):
                return Shrunk(threads, steps, pair, warp_size, others)
        raise _Lost

    def choices(
        self, events: list[Event], own: list[int], racing: tuple[int, int], last: int
    ) -> Iterator[set[int]]:
        """Yield sets of steps to keep, the one that explains most first."""
        bare = {*racing}
        after = {last} if last > max(racing) else set()
        line = set().union(*(self.of_line(events, own, k) for k in (*racing, *after)))
        epochs = {events[k].by[0][0]: events[k].epoch for k in racing}
        same = [
            k
            for k in own
            if k < min(racing) and events[k].is_access and events[k].element == events[racing[0]].element
        ]
        near = {k for k in same if events[k].epoch == epochs[events[k].by[0][0]]}
        stored = [k for k in same if k not in near and events[k].kind != READ]
        before = set(stored[-1:])
        yield bare | after | line | near | before
        yield bare | after | line | near
        yield bare | after | line
        yield bare | after
        yield bare


class _Lost(Exception):
    """In this order the two accesses are not made, or are no race."""


def _alike(event: Event, other: Event) -> bool:
    return (event.kind, event.place, event.by) == (other.kind, other.place, other.by)


def _worse(shrunk: Shrunk) -> tuple[bool, int]:
    """Return what makes one result worse than another: stores that change nothing, then many steps."""
    return any(shrunk.steps[number].same for number in shrunk.racing), len(shrunk.steps)


class _Judge:
    """Stands for an array while the rule judges steps: it takes the faults."""

    def __init__(self) -> None:
        self.races: set[frozenset[int]] = set()

    def fault(
        self, kind: str, address: int, access: Access, other: Access | None = None, if_used: bool = False
    ) -> None:
        if kind == "race" and other is not None:
            self.races.add(frozenset((access.place[1], other.place[1])))


def is_race(steps: tuple[Event, ...], racing: tuple[int, int], warp_size: int) -> bool:
    """Return whether the rule finds a race between two of these steps, and knows of no others."""
    moment, judge = Moment(warp_size=warp_size), _Judge()
    memories: dict[int, Memory] = {}
    states: dict[int, tuple] = {}
    for number, step in enumerate(steps):
        block, thread = step.by[0]
        moment.block, moment.thread = block, thread
        moment.epoch, moment.warps = states.get(block, (0, {}))
        moment.turn.clear()
        if step.kind == "barrier":
            moment.pass_barrier(block, [each for _, each in step.by])
        elif step.kind == "warp barrier":
            moment.pass_warp(thread // warp_size, [each for _, each in step.by])
        elif step.kind == "grid barrier":
            for memory in memories.values():
                memory.cells.clear()
        elif not step.is_access:
            moment.fence(step.kind == "fence")
        else:
            if step.memory not in memories:
                memories[step.memory] = Memory(np.zeros(1), step.array, "global", moment, lambda fault: None)
            memory = memories[step.memory]
            # The number of the step stands for its place: so a fault names two steps.
            memory.touch(step.address, step.kind, ("", number), step.same, judge)  # type: ignore[arg-type]
            if step.kind == ATOMIC:
                memory.exchange(step.address)
        states[block] = moment.epoch, moment.warps
    return frozenset(racing) in judge.races
