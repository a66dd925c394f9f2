"""Play a finding of a checked launch: run it again, shrink it, and say in words what each step does."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np

from host_to_device.checking.accesses import ATOMIC, READ, WRITE
from host_to_device.checking.causes import outside
from host_to_device.checking.outcomes import element_of
from host_to_device.checking.places import Source
from host_to_device.checking.player import Line, Player, Step
from host_to_device.checking.report import Finding
from host_to_device.checking.shrinking import Checked, Shrunk, shrink
from host_to_device.checking.stepping import Event

MOST_BYTES = 1 << 28  # of arguments that a report keeps, so that its findings can be played
PASSES = {
    "barrier": "cuda.syncthreads()",
    "warp barrier": "cuda.syncwarp()",
    "grid barrier": "the barrier of the grid",
    "fence": "cuda.threadfence()",
    "block fence": "cuda.threadfence_block()",
}


class Replay:
    """The findings of a check that can be played.

    Parameters
    ----------
    checked
        The launch, with copies of the arguments as they were; None where they are too large to keep.
    source
        The kernel's source.
    faults, findings
        What the check found, in the order of the report: the fault that came first, and the finding made of it.
    """

    def __init__(
        self, checked: Checked | None, source: Source, faults: list, findings: list[Finding]
    ) -> None:
        self.checked, self.source, self.faults, self.findings = checked, source, faults, findings

    def __call__(self, number: int) -> Player:
        """Play the finding of this number, counted from 0."""
        name = self.source.kernel.name
        if self.checked is None:
            return Player(
                f"The arrays of {name} have more than {MOST_BYTES >> 20} MiB, of which the report keeps no copy: check a "
                "smaller launch."
            )
        try:
            shrunk = shrink(self.checked, self.faults[number])
        except Exception as problem:  # in code that the stepper cannot run one access at a time
            shrunk = Shrunk(why=f"Running it one access at a time raised {type(problem).__name__}.")
        if not shrunk.steps:
            return Player(
                f"Finding {number + 1} of {name} cannot be played. {shrunk.why} Check a smaller launch.",
                shrunk,
            )
        finding = self.findings[number]
        words = (
            _OfARace if finding.pair else _OfABarrier if finding.kind == "barrier divergence" else _Outside
        )
        return words(self.checked, self.source, shrunk, finding).player()


class _Words:
    """Says what the threads of a shrunk finding do."""

    def __init__(self, checked: Checked, source: Source, shrunk: Shrunk, finding: Finding) -> None:
        self.source, self.shrunk, self.finding = source, shrunk, finding
        blocks = {block for block, _ in shrunk.threads}
        names = [checked.launch.place(*each) for each in shrunk.threads]
        self.block = names[0].partition(" of ")[2] if len(blocks) == 1 else ""
        self.names = [each.partition(" of ")[0] if self.block else each for each in names]

    def player(self) -> Player:
        steps = [self.step(number, each) for number, each in enumerate(self.shrunk.steps)]
        return Player(
            "", self.shrunk, self.title(), self.lines(), tuple(self.names), tuple(steps), self.ending()
        )

    def title(self) -> str:
        where = f" of {self.block}" if self.block else ""
        return f"{self.source.kernel.name}: {_listed(self.names)}{where}, step by step"

    def ending(self) -> tuple[str, ...]:
        found = [self.meaning()]
        if self.shrunk.others:
            found.append("Other threads of the launch ran as well; they are not shown.")
        if self.shrunk.ended:
            found.append("The search ended early: a race with fewer steps may exist.")
        return tuple(found)

    def meaning(self) -> str:
        """Return what the steps show together."""
        raise NotImplementedError

    def mark(self, event: Event) -> str:
        """Return the word that marks a step of the finding."""
        raise NotImplementedError

    def state(self, number: int) -> str:
        """Return what to know after a step; the same line of the player shows it for each of them."""
        raise NotImplementedError

    def remark(self, number: int, event: Event) -> str:
        """Return what a step means for a step of the other thread; mostly nothing."""
        return ""

    def lines(self) -> tuple[Line, ...]:
        """Return the lines of the kernel and of the device functions in which a step stands."""
        files: dict[str, list[tuple[int, int]]] = {}
        for function in self.source.functions:
            begin, end = function.tree.lineno, function.tree.end_lineno or function.tree.lineno
            at = [each.place[1] for each in self.shrunk.steps if each.place[0] == function.filename]
            if function is self.source.kernel or any(begin <= line <= end for line in at):
                spans = files.setdefault(function.filename, [])
                if (begin, end) not in spans:
                    spans.append((begin, end))
        found = []
        for file, spans in files.items():
            for begin, end in sorted(spans):
                texts = [linecache.getline(file, line).rstrip() for line in range(begin, end + 1)]
                shown = textwrap.dedent("\n".join(texts)).split("\n")
                found += [Line(begin + k, text) for k, text in enumerate(shown)]
        return tuple(found)

    def step(self, number: int, event: Event) -> Step:
        lanes = tuple(self.shrunk.threads.index(each) for each in event.by)
        who = _listed([self.names[lane] for lane in lanes])
        element = element_of(event.array, event.index) if event.is_access else ""
        what = self.what(event, element, len(lanes) > 1)
        return Step(
            lanes, event.kind, event.place[1], element, f"{who[:1].upper()}{who[1:]} {what}", self.short(event, element),
            self.remark(number, event), self.mark(event) if number in self.shrunk.racing else "", self.state(number),
        )  # fmt: skip

    def what(self, event: Event, element: str, several: bool) -> str:
        """Return what the threads of a step do, after their names."""
        if event.outside is not None:
            return f"{outside(event.outside)}."
        if not event.is_access:
            return f"pass{'' if several else 'es'} {PASSES[event.kind]}."
        before, after = _value(event.before), _value(event.after)
        if event.kind == READ:
            return (
                f"reads {element}: {before}."
                if before
                else f"reads {element}, where no thread has stored a value: {after}."
            )
        held = f"it held {before}" if before else "no thread had stored a value there"
        if event.kind == WRITE:
            return f"stores {after} in {element}; {held}."
        return f"updates {element} atomically, to {after}; {held}."

    def short(self, event: Event, element: str) -> str:
        """Return what a step does, for its place in a lane."""
        before, after = _value(event.before), _value(event.after)
        if event.outside is not None:
            return f"{element} {'→' if event.kind == READ else '←'} ?"
        if not event.is_access:
            return PASSES[event.kind]
        return f"{element} → {before or '?'}" if event.kind == READ else f"{element} ← {after}"


class _OfARace(_Words):
    """Says which thread overwrites what."""

    def meaning(self) -> str:
        first, second = (number + 1 for number in self.shrunk.racing)
        return f"Nothing orders step {first} and step {second}: in another run, step {second} may come first."

    def mark(self, event: Event) -> str:
        return "race"

    def state(self, number: int) -> str:
        """Return what the element of the race holds after a step, and which thread stored that."""
        race = self.shrunk.steps[self.shrunk.racing[0]]
        own = [each for each in self.shrunk.steps if each.is_access and each.element == race.element]
        element = element_of(race.array, race.index)
        done = [each for each in self.shrunk.steps[: number + 1] if each in own and each.kind != READ]
        if done:
            by = self.names[self.shrunk.threads.index(done[-1].by[0])]
            return f"{element} holds {_value(done[-1].after)}, stored by {by}."
        before = _value(own[0].before)
        return (
            f"{element} holds {before}." if before else f"{element} holds no value that a thread has stored."
        )

    def remark(self, number: int, event: Event) -> str:
        if not event.is_access or number < min(self.shrunk.racing):
            return ""
        own = event.by[0]
        for k, before in reversed(list(enumerate(self.shrunk.steps[:number]))):
            if not before.is_access or before.element != event.element:
                continue
            if before.by[0] == own:
                return ""
            other = self.names[self.shrunk.threads.index(before.by[0])]
            if event.kind == READ:
                return f"{other} stored it in step {k + 1}.".capitalize() if before.kind != READ else ""
            if before.kind == READ:
                return f"{other} has already read it, in step {k + 1}.".capitalize()
            lost = self.has_read(number, own, k)
            over = f"This overwrites what {other} stored in step {k + 1}"
            if event.kind == ATOMIC:
                return f"This comes on top of what {other} stored in step {k + 1}."
            return f"{over}: that update is lost." if lost else f"{over}."
        return ""

    def has_read(self, number: int, own: tuple[int, int], before: int) -> bool:
        """Return whether a thread read an element before another one stored in it, and stores only now."""
        element = self.shrunk.steps[number].element
        return any(
            each.kind == READ and each.element == element and each.by[0] == own
            for each in self.shrunk.steps[:before]
        )


class _Outside(_Words):
    """Says which elements an array has."""

    def meaning(self) -> str:
        return self.finding.advice

    def mark(self, event: Event) -> str:
        return "outside"

    def state(self, number: int) -> str:
        event = self.shrunk.steps[self.shrunk.racing[0]]
        assert event.outside is not None
        shape = event.outside.shape
        if 0 in shape:
            return f"{event.array} has no elements."
        last = element_of(event.array, tuple(size - 1 for size in shape))
        return f"{event.array} ends with {last}."


class _OfABarrier(_Words):
    """Says which thread waits at a barrier, and where the other one is."""

    @property
    def barrier(self) -> str:
        return f"the barrier of line {self.finding.lines[0]}"

    def meaning(self) -> str:
        return (
            f"All threads have to reach {self.barrier}. CUDA does not define what happens otherwise: the kernel may hang. "
            f"{self.finding.advice}"
        )

    def mark(self, event: Event) -> str:
        return "missing" if self.elsewhere(event) else "waits"

    def elsewhere(self, event: Event) -> bool:
        """Return whether a stop is not the one at the barrier of the finding."""
        return event.kind == "leave" or event.place[1] != self.finding.lines[0]

    def what(self, event: Event, element: str, several: bool) -> str:
        if event.kind == "wait":
            return f"waits at the barrier of line {event.place[1]}."
        if event.kind == "leave":
            return f"leaves the kernel without reaching {self.barrier}."
        return super().what(event, element, several)

    def short(self, event: Event, element: str) -> str:
        if event.kind == "wait":
            return f"barrier of line {event.place[1]}"
        return "leaves the kernel" if event.kind == "leave" else super().short(event, element)

    def state(self, number: int) -> str:
        if number == len(self.shrunk.steps) - 1:
            return f"{self.finding.text[:1].upper()}{self.finding.text[1:]}."
        stops = [self.shrunk.steps[k] for k in self.shrunk.racing if k <= number]
        waits = [each for each in stops if not self.elsewhere(each)]
        if not waits:
            return f"Neither of the two threads has reached {self.barrier}."
        name = self.names[self.shrunk.threads.index(waits[0].by[0])]
        return f"{name} waits at {self.barrier}.".capitalize()


def _value(value: Any) -> str:
    """Return a value as a step shows it; an empty string for None."""
    if value is None:
        return ""
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    return str(value)


def _listed(words: Iterable[str]) -> str:
    return " and ".join(words)
