"""The reader's lines: how they are named, and at which of them the host waited."""

from __future__ import annotations

import linecache
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from host_to_device.standins.events import Place


@dataclass(frozen=True)
class Line:
    """One of the reader's lines at which the host waited.

    Attributes
    ----------
    count
        The number of waits.
    file, line
        The file as Python names it, and the line's number from 1; "" and 0 for waits that no line of the reader's
        caused, as in a thread of PyTorch's own.
    text
        The code of the line.
    reasons
        The reasons of the waits in a few words each, the most frequent first.
    """

    count: int
    file: str
    line: int
    text: str
    reasons: tuple[str, ...]

    @property
    def place(self) -> str:
        """The file's name or "a cell", and the line's number."""
        return place_of(self.file, self.line)


def is_cell(file: str) -> bool:
    """Return whether a file name is that of a notebook's cell, as IPython or ipykernel names it."""
    return file.startswith("<ipython-input") or "ipykernel_" in file


def place_of(file: str, line: int) -> str:
    """Return a line in words: "a cell, line 3", "train.py, line 12"."""
    if not file:
        return "not in your code"
    return f"{'a cell' if is_cell(file) else Path(file).name}, line {line}"


def code_of(file: str, line: int) -> str:
    """Return the code of a line, "" where there is none."""
    return linecache.getline(file, line).strip() if file else ""


def by_line(places: Counter[Place]) -> tuple[Line, ...]:
    """Return the lines of these places, those with the most waits first."""
    reasons: dict[tuple[str, int], Counter[str]] = {}
    for (file, line, reason), count in places.items():
        reasons.setdefault((file, line), Counter())[reason] += count
    lines = [
        Line(
            each.total(),
            file,
            line,
            code_of(file, line),
            tuple(reason for reason, _ in each.most_common()),
        )
        for (file, line), each in reasons.items()
    ]
    return tuple(sorted(lines, key=lambda each: (-each.count, each.file, each.line)))
