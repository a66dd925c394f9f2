"""The player of a finding: its steps as text, as data for the script that draws them, and as a notebook's output."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from host_to_device.rendering.palette import dark, themed

SCRIPT = Path(__file__).with_name("player.js")


@dataclass(frozen=True)
class Line:
    """One line of the learner's kernel."""

    number: int
    text: str


@dataclass(frozen=True)
class Step:
    """One step of a finding.

    Attributes
    ----------
    lanes
        The threads that do it, by their numbers in the player.
    kind
        "read", "write", "atomic", "barrier", "warp barrier", "grid barrier", "fence", "block fence", "wait" or "leave".
    line
        The line of the kernel.
    element
        Such as "tile[63]"; empty where the step is no access.
    text
        What the threads do, in a sentence.
    short
        The same in a few signs, for the thread's lane.
    remark
        What it means for a step of another thread; mostly empty.
    mark
        A word that marks the steps of the finding: "race", "outside", "waits" or "missing"; empty for the others.
    state
        What to know after it: what the element of a race holds and which thread stored that, how large the array is, or
        which threads wait.
    """

    lanes: tuple[int, ...]
    kind: str
    line: int
    element: str
    text: str
    short: str
    remark: str = ""
    mark: str = ""
    state: str = ""


@dataclass(frozen=True)
class Player:
    """A finding that can be played step by step, or one line that says why there is none.

    Attributes
    ----------
    why
        Why there is nothing to play; empty where there is something.
    shrunk
        The finding as the shrinker left it.
    title, lines, threads, steps, ending
        What is shown: a title, the kernel's lines, the names of the threads, their steps, and what follows from them.
    """

    why: str
    shrunk: Any = None  # a `shrinking.Shrunk`
    title: str = ""
    lines: tuple[Line, ...] = ()
    threads: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    ending: tuple[str, ...] = ()

    @property
    def data(self) -> dict[str, Any]:
        """What `player.js` draws, as values that JSON can hold."""
        parts = ("title", "lines", "threads", "steps", "ending", "why")
        whole = {part: getattr(self, part) for part in parts}
        return {
            name: [asdict(each) if isinstance(each, Line | Step) else each for each in value]
            if isinstance(value, tuple)
            else value
            for name, value in whole.items()
        }

    def html(self, script: bool = True) -> str:
        """Return what a page shows: the steps as an ordered list, and the data from which `player.js` draws them.

        Parameters
        ----------
        script
            Whether the script comes with it, as a notebook needs it. A page of the book loads it by itself.
        """
        if self.why:
            return f"<p>{escape(self.why)}</p>"
        steps = "".join(f"<li>Line {each.line}: {escape(_said(each))}</li>" for each in self.steps)
        ending = "".join(f"<p>{escape(each)}</p>" for each in self.ending)
        data = json.dumps(self.data, ensure_ascii=False, separators=(",", ":"))
        for sign, instead in (("&", "&amp;"), ("<", "&lt;"), ("'", "&#39;")):
            data = data.replace(sign, instead)
        return (
            f"{dark('player')}<style>{themed(_part('css'))}</style>"
            f"<div class=\"h2d-player\" data-race='{data}'>"
            f'<p class="h2d-player-title">{escape(self.title)}</p><ol>{steps}</ol>{ending}</div>'
            + (f"<script>{_part('js')}</script>" if script else "")
        )

    def _repr_html_(self) -> str:
        return self.html()

    def __str__(self) -> str:
        if self.why:
            return self.why
        steps = [f"{number:>3}. line {each.line}: {_said(each)}" for number, each in enumerate(self.steps, 1)]
        return "\n".join([self.title, *steps, *self.ending])

    __repr__ = __str__


@cache
def _part(kind: str) -> str:
    return SCRIPT.with_suffix(f".{kind}").read_text(encoding="utf-8")


def _said(step: Step) -> str:
    return f"{step.text} {step.remark}".strip()
