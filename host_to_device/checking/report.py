"""The report of a check: one line if nothing is wrong, otherwise one entry for each distinct cause."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from typing import Any

from host_to_device.checking.player import Player

# The kinds of findings, and what to do about each.
ADVICE = {
    "out of bounds": "Guard the access with the array's size, or launch fewer threads.",
    "race": "Put a barrier between the two accesses, use an atomic, or let one thread own the element.",
    "uninitialised read": "Store a value before the first read: shared and local memory begin with arbitrary values.",
    "unwritten output": "Launch enough threads, and compare the index with the size of the array that the kernel writes.",
    "barrier divergence": "Move the barrier out of branches and before any return, so that every thread of the block reaches it.",
    "warp synchronisation": "Put cuda.syncwarp() between the two, or give a mask that names exactly the lanes that take part.",
    "launch limit": "Use smaller blocks and more of them.",
    "order dependence": "Make the result independent of the order of the threads and blocks.",
    "no progress": "Do not let a thread wait in a loop for another thread: use a barrier, or end the kernel there.",
    "failed": "Fix the line that raises the exception, then check again.",
}

# Besides races, `Report.play` shows these.
PLAYED = ("out of bounds", "barrier divergence")

WHOLE = "To cover all of it, check a smaller launch, or raise seconds= or accesses=."


@dataclass(frozen=True)
class Finding:
    """One error, once per distinct cause.

    Attributes
    ----------
    kind
        One of the keys of `ADVICE`.
    text
        The finding in a sentence.
    file, lines
        The learner's file and lines, the line at fault first.
    block, thread
        Where the check saw it first, as indices in the grid and in the block.
    count
        How often it occurred in one launch.
    threads
        How many threads did it in one launch; 0 where the check does not count them.
    aside
        Words that follow the count in brackets, such as the thread where the check saw it first.
    array, index, space
        The element, and its memory: "global", "shared", "local" or "constant".
    pair
        The two accesses of a race: "write/write", "read/write" or "atomic/plain".
    advice
        What usually helps.
    """

    kind: str
    text: str
    file: str
    lines: tuple[int, ...]
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    count: int = 1
    array: str = ""
    index: tuple[int, ...] = ()
    space: str = ""
    pair: str = ""
    advice: str = ""
    threads: int = field(default=0, compare=False)
    aside: str = ""

    def __post_init__(self) -> None:
        if not self.advice:
            object.__setattr__(self, "advice", ADVICE[self.kind])

    @property
    def is_played(self) -> bool:
        """Whether `Report.play` shows findings of this kind."""
        return bool(self.pair) or self.kind in PLAYED

    def source(self) -> list[str]:
        """Return the lines at fault as they stand in the file, with their numbers."""
        found = [(line, linecache.getline(self.file, line).rstrip()) for line in self.lines]
        indent = min((len(text) - len(text.lstrip()) for _, text in found if text), default=0)
        return [f"{line:>6} | {text[indent:]}" for line, text in found]

    def place(self) -> str:
        """Return how often it occurred, and the words of `aside`, in brackets."""
        parts = []
        if self.count > 1:
            times = f"{self.count:,} times"
            by = f"{times}, by {_count(self.threads, 'thread')}" if self.threads else times
            parts.append(f"{self.count:,} threads do" if self.threads == self.count else by)
        parts += [self.aside] if self.aside else []
        return f" ({'; '.join(parts)})" if parts else ""


@dataclass(frozen=True)
class Report:
    """The result of a check: how much it covered, and what it found.

    `bool(report)` is true if the check saw something and found no error in it. `findings` are errors. `notes`, if the
    check was asked for them, are figures about performance. `remarks` are facts that are neither.
    """

    kernel: str
    findings: tuple[Finding, ...]
    threads: int
    accesses: int | None  # None where they are not counted
    schedules: int
    seconds: float
    partial: tuple[str, ...] = ()  # which part was checked, where it was not everything
    remarks: tuple[str, ...] = ()
    notes: tuple[Any, ...] = ()
    # Plays the finding of a number, counted from 0; None where none can be played, or the kernel is in CUDA C++.
    replay: Callable[[int], Player] | None = field(default=None, compare=False, repr=False)

    def __bool__(self) -> bool:
        return not self.findings and not self.saw_nothing

    @property
    def saw_nothing(self) -> bool:
        """Whether the check ended before it saw anything: then finding nothing means nothing."""
        return not self.findings and (self.schedules == 0 or bool(self.partial and self.accesses == 0))

    def play(self, number: int | None = None) -> Player:
        """Show a finding step by step: one or two threads, the kernel's lines, and what each access does.

        Races, accesses out of bounds and barriers that not all threads reach are shown. The finding is reduced to the
        fewest steps that still show it (`checking.shrinking`), within 500,000 accesses.

        Parameters
        ----------
        number
            The finding's number in the report; by default the first race, or else the first that can be shown.

        Returns
        -------
        Player
            A notebook shows it with buttons. `print` gives its steps as text, `data` what the page's script draws.

        Raises
        ------
        ValueError
            If the report has no finding of this number.
        """
        if number is not None and number not in range(1, len(self.findings) + 1):
            there = _count(len(self.findings), "finding")
            raise ValueError(f"number is {number!r}: the report of {self.kernel} has {there}")
        played = [k for k, finding in enumerate(self.findings, 1) if finding.is_played]
        played.sort(key=lambda k: not self.findings[k - 1].pair)
        number = number or next(iter(played), 1)
        if not self.findings:
            return Player(f"The check of {self.kernel} found no error: there is nothing to play.")
        if number not in played:
            return Player(
                f"Finding {number} of {self.kernel} ({self.findings[number - 1].kind}) has no steps, so there is nothing to "
                "play: races, accesses out of bounds and barriers that not all threads reach are played."
            )
        if self.replay is None:
            return Player(f"{self.kernel} is in CUDA C++: only findings of kernels in Python can be played.")
        return self.replay(number - 1)

    def summary(self) -> str:
        """Return the first line: how many errors, and how much was checked."""
        counts = [_count(self.threads, "thread")]
        counts += [] if self.accesses is None else [_count(self.accesses, "access", "accesses")]
        seen = ", ".join([*counts, _count(self.schedules, "schedule"), f"{self.seconds:.2f} s"])
        clean = "nothing was checked" if self.saw_nothing else "no errors found"
        verdict = _count(len(self.findings), "error") if self.findings else clean
        return f"check of {self.kernel}: {verdict} ({seen})"

    def besides(self) -> list[str]:
        """Return the lines about the check itself: which part it covered, and remarks."""
        covered = [f"The check covered a part only: {each}." for each in self.partial]
        return [*covered, *([WHOLE] if covered else []), *self.remarks]

    def __str__(self) -> str:
        lines = [self.summary(), *self.besides()]
        for number, finding in enumerate(self.findings, 1):
            lines += ["", f"{number}. {finding.kind}: {finding.text}{finding.place()}"]
            lines += [f"   {line}" for line in finding.source()]
            lines.append(f"   {finding.advice}")
        if self.notes:
            lines += ["", "Notes on performance (not errors):"]
            lines += [f"  {each}" for each in self.notes_by_line()]
        return "\n".join(lines)

    __repr__ = __str__

    def notes_by_line(self) -> list[str]:
        return [f"line {each.line}: {each.text}" if each.line else each.text for each in self.notes]

    def _repr_html_(self) -> str:
        parts = [f"<p>{escape(each)}</p>" for each in (self.summary(), *self.besides())]
        items = "".join(
            f"<li><p><strong>{escape(finding.kind)}</strong>: {escape(finding.text)}{escape(finding.place())}</p>"
            f'<pre tabindex="0" style="overflow-x: auto">{escape(textwrap.dedent(chr(10).join(finding.source())))}</pre><p>{escape(finding.advice)}</p></li>'
            for finding in self.findings
        )
        parts += [f"<ol>{items}</ol>"] if items else []
        if self.notes:
            parts.append("<p>Notes on performance (not errors):</p>")
            parts.append(f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in self.notes_by_line())}</ul>")
        bar = "border-left: 3px solid #8888; padding-left: 0.8em"
        return f'<div class="h2d-report" role="group" aria-label="Report of the check" style="{bar}">{"".join(parts)}</div>'


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
