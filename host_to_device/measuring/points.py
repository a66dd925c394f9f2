"""What an experiment has measured, as data: points, the runs that they belong to, and the words that describe them."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from host_to_device.measuring.timings import quartiles
from host_to_device.rendering import units

STAND_IN = "stand-in"


@dataclass(frozen=True)
class Point:
    """What was measured for one series at one x, as numbers in the experiment's unit."""

    series: str
    x: float | str | None
    values: tuple[float, ...]
    doubts: tuple[str, ...] = ()  # kinds of doubt, as `timings.ADVICE` has them

    @property
    def number(self) -> float:
        """The place on an axis of numbers.

        Raises
        ------
        TypeError
            If x is a word, or if there is no x.
        """
        if self.x is None or isinstance(self.x, str):
            raise TypeError(f"a point at {self.x!r} has no place on an axis of numbers")
        return float(self.x)

    @property
    def median(self) -> float:
        """The median of the samples."""
        return statistics.median(self.values)

    @property
    def middle(self) -> tuple[float, float]:
        """The first and the third quartile of the samples."""
        return quartiles(self.values)


@dataclass(frozen=True)
class Run:
    """One experiment on one machine.

    Attributes
    ----------
    machine
        The machine's name.
    where
        "GPU", "CPU" or "stand-in".
    stamp
        Machine, date, versions and commit in a line; for a run of this moment, "measured now".
    points
        What was measured.
    limits
        Limits to draw: name to (value, unit).
    now
        Whether this is the run of this moment, and not a record.
    exceeded
        Those of `limits` that another measurement exceeds, with the reason: they are no limits.
    short
        What a picture writes instead of a long name of the machine; empty for the name itself.
    """

    machine: str
    where: str
    stamp: str
    points: tuple[Point, ...]
    limits: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    now: bool = False
    exceeded: Mapping[str, str] = field(default_factory=dict)
    short: str = ""

    @property
    def stand_in(self) -> bool:
        """Whether a stand-in did the work."""
        return self.where == STAND_IN

    @property
    def name(self) -> str:
        """What the table calls the run."""
        return self._named(self.machine)

    @property
    def label(self) -> str:
        """What a picture calls the run: its name, shortened if it would not fit beside a line or a row."""
        return self._named(self.short or self.machine)

    def _named(self, machine: str) -> str:
        if self.stand_in:
            return f"stand-in on {machine}"
        return f"this machine: {machine}" if self.now else machine

    def limit_label(self, name: str) -> str:
        """Return what a picture writes beside the line of a limit."""
        return f"exceeded, no limit: {name}" if name in self.exceeded else f"limit: {name}"

    @property
    def series(self) -> list[str]:
        """The names of the series, each once."""
        return list(dict.fromkeys(point.series for point in self.points))


class Results:
    """The runs of one experiment.

    Parameters
    ----------
    name, title
        The experiment's name in the ledger, and the title of its figure.
    x, y
        Label and unit of the variable, None where there is no variable; label and unit of the measured quantity.
    runs
        The runs, in the order in which they are shown.
    """

    def __init__(
        self, name: str, title: str, x: Mapping[str, str] | None, y: Mapping[str, str], runs: Sequence[Run]
    ) -> None:
        self.name, self.title, self.x, self.y, self.runs = name, title, x, y, tuple(runs)

    @property
    def x_unit(self) -> str:
        """The unit of x, empty where there is no x."""
        return self.x["unit"] if self.x else ""

    def alt(self, runs: Sequence[Run] | None = None) -> str:
        """Return in words what the picture of these runs shows."""
        said = []
        for run in self.runs if runs is None else runs:
            lines = [self._line_in_words(run, series) for series in run.series]
            said.append(f"{run.name}: {'; '.join(lines)}.")
        return f"{self.title}. {' '.join(said)}"

    def _line_in_words(self, run: Run, series: str) -> str:
        points = [point for point in run.points if point.series == series]
        named = f"{series} " if series else ""
        if len(points) == 1 or isinstance(points[0].x, str):
            where = [f"{self._at(point)}{units.shown(point.median, self.y['unit'])}" for point in points]
            return named + ", ".join(where)
        points.sort(key=lambda point: point.number)
        first, last = points[0], points[-1]
        return (
            f"{named}{units.shown(first.median, self.y['unit'])} at {shown_at(first.x, self.x_unit)}, "
            f"{units.shown(last.median, self.y['unit'])} at {shown_at(last.x, self.x_unit)}"
        )

    def _at(self, point: Point) -> str:
        return f"{shown_at(point.x, self.x_unit)}: " if point.x is not None else ""


def shown_at(x: float | str | None, unit: str) -> str:
    """Return a place on the x axis without trailing zeros: "1 MiB", not "1.00 MiB"."""
    if x is None or isinstance(x, str):
        return x or ""
    if x == 0:
        return "0"
    text = f"{x:,g}" if unit in ("", "1") else units.shown(x, unit)
    if not carries_unit(unit):
        text = f"{x:,.10g} {unit}".strip()
    return re.sub(r"(\.\d*?)0+(?=\D|$)", lambda found: found[1].rstrip("."), text)


def carries_unit(unit: str) -> bool:
    """Return whether the numbers on an axis are written with their unit, so that its label need not name it."""
    return unit in ("s", "B") or unit.endswith("/s")


def unbroken(text: str) -> str:
    """Return text for HTML in which no line ends between a number and its unit."""
    return re.sub(r"(?<=\d) (?=[^\W\d]|×)(?!to )", "\u00a0", escape(text))


def quoted(names: Sequence[str]) -> str:
    """Return names as a sentence has them: “a”, “b” and “c”."""
    marked = [f"“{name}”" for name in names]
    return " and ".join(filter(None, (", ".join(marked[:-1]), marked[-1])))
