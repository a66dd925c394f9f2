"""How an experiment is shown: a picture that follows light and dark, and behind it a table with every number.

Each machine has its own panel with the same axes, or its own line where there is one series only. A point is the
median of its samples, a band their middle half, a dashed line a limit that was measured on the same machine. What a
stand-in took is shown apart, under that name: next to a GPU's time it would look like one.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from host_to_device.measuring.timing import quartiles
from host_to_device.rendering import units

STAND_IN = "stand-in"

# For front ends whose dark theme is not the book's: JupyterLab, VS Code, Colab. In a light one the colours behind
# the commas of `var(…, …)` hold, and in the book those of its style sheet.
DARK = """<style>
body[data-jp-theme-light="false"] .h2d-figure, body.vscode-dark .h2d-figure, html[theme="dark"] .h2d-figure {
  --h2d-ink: #e6e8eb; --h2d-quiet: #a4acb6; --h2d-line: #414a55; --h2d-paper: #15191e; --h2d-blue: #56b4e9;
  --h2d-orange: #f2955a; --h2d-orange-text: #f2955a;
  --h2d-green: #3fc79d; --h2d-purple: #d793cd; color: #e6e8eb; }
</style>"""


@dataclass(frozen=True)
class Point:
    """What was measured for one series at one x, as numbers in the experiment's unit."""

    series: str
    x: float | str | None
    values: tuple[float, ...]
    doubts: tuple[str, ...] = ()  # kinds of doubt, as `doubts.ADVICE` has them

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def middle(self) -> tuple[float, float]:
        """Where the middle half of the samples lies."""
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
    """

    machine: str
    where: str
    stamp: str
    points: tuple[Point, ...]
    limits: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    now: bool = False

    @property
    def stand_in(self) -> bool:
        return self.where == STAND_IN

    @property
    def name(self) -> str:
        """What the run is called in a picture."""
        if self.stand_in:
            return f"stand-in on {self.machine}"
        return f"this machine: {self.machine}" if self.now else self.machine

    @property
    def series(self) -> list[str]:
        return list(dict.fromkeys(point.series for point in self.points))


def shown_at(x: float | str | None, unit: str) -> str:
    """Return a place on the x axis, without digits that say nothing: "1 MiB", not "1.00 MiB"."""
    if x is None or isinstance(x, str):
        return x or ""
    if x == 0:
        return "0"
    text = f"{x:,g}" if unit in ("", "1") else units.shown(x, unit)
    if not carries_unit(unit):
        text = f"{x:,.10g} {unit}".strip()
    return re.sub(r"(\.\d*?)0+(?=\D|$)", lambda found: found[1].rstrip("."), text)


def unbroken(text: str) -> str:
    """Return text for HTML in which no line ends between a number and its unit."""
    return re.sub(r"(?<=\d) (?=[^\W\d]|×)(?!to )", "\u00a0", escape(text))


def _whole_dates(html: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d", r'<span style="white-space: nowrap">\g<0></span>', html)


def quoted(names: Sequence[str]) -> str:
    """Return names as a sentence has them: “a”, “b” and “c”."""
    marked = [f"“{name}”" for name in names]
    return " and ".join(filter(None, (", ".join(marked[:-1]), marked[-1])))


def carries_unit(unit: str) -> bool:
    """Whether the numbers on an axis are written with their unit, so that its label need not name it."""
    return unit in ("s", "B") or unit.endswith("/s")


class ExperimentFigure:
    """An experiment as a notebook and the book show it: HTML with pictures and table, or plain text."""

    def __init__(
        self, name: str, title: str, x: Mapping[str, str] | None, y: Mapping[str, str], runs: Sequence[Run]
    ) -> None:
        self.name, self.title, self.x, self.y, self.runs = name, title, x, y, tuple(runs)

    @property
    def x_unit(self) -> str:
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
        points.sort(key=lambda point: point.x)
        first, last = points[0], points[-1]
        return (
            f"{named}{units.shown(first.median, self.y['unit'])} at {shown_at(first.x, self.x_unit)}, "
            f"{units.shown(last.median, self.y['unit'])} at {shown_at(last.x, self.x_unit)}"
        )

    def _at(self, point: Point) -> str:
        return f"{shown_at(point.x, self.x_unit)}: " if point.x is not None else ""

    def caption(self, *, titled: bool = True) -> str:
        """Return what stands below the picture: what is drawn, and where and when it was measured."""
        parts = [f"{self.title}."] if titled else []
        most = max(len(point.values) for run in self.runs for point in run.points)
        if most > 1:
            parts.append("Points are medians of the samples, bands their middle half.")
        if limits := list(dict.fromkeys(name for run in self.runs for name in run.limits)):
            parts.append(f"Dashed: the limit {quoted(limits)}, measured on the same machine.")
        parts.append("; ".join(run.stamp for run in self.runs) + ".")
        if any(point.doubts for run in self.runs for point in run.points):
            parts.append("Some of it is doubtful: the table says what and why.")
        if any(run.stand_in for run in self.runs):
            parts.append("The time of a stand-in says nothing about a GPU.")
        return " ".join(parts)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table: machine, series, x, median, middle half, number of samples, doubts."""
        unit = self.y["unit"]
        found = []
        for run in self.runs:
            for point in run.points:
                low, high = (units.shown(value, unit) for value in point.middle)
                found.append(
                    (
                        run.name,
                        point.series,
                        shown_at(point.x, self.x_unit),
                        units.shown(point.median, unit),
                        f"{low} to {high}",
                        str(len(point.values)),
                        ", ".join(point.doubts),
                    )
                )
        return found

    def columns(self) -> tuple[str, ...]:
        label = self.x["label"] if self.x else ""
        return (
            "machine",
            "series",
            label,
            f"{self.y['label']}, median",
            "middle half",
            "samples",
            "doubtful",
        )

    def text(self) -> str:
        """Return title and table as plain text."""
        columns, rows = _without_empty(self.columns(), self.rows())
        widths = [max(len(row[at]) for row in (columns, *rows)) for at in range(len(columns))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (columns, *rows)
        ]
        return "\n".join([self.caption(), *lines])

    def table(self) -> str:
        """Return the table as HTML, with a caption and with cells that say what they head."""
        columns, rows = _without_empty(self.columns(), self.rows())
        head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
        body = "".join(
            f'<tr><th scope="row" style="font-weight: inherit">{escape(row[0])}</th>'
            + "".join(f"<td>{unbroken(cell)}</td>" for cell in row[1:])
            + "</tr>"
            for row in rows
        )
        return (
            f'<table class="table" style="text-align: left"><caption>{escape(self.title)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def html(self, *, in_book: bool = False) -> str:
        """Return pictures, caption and table; in the book without what its style sheet and its headings say."""
        from host_to_device.measuring import plotting

        return (
            f'{"" if in_book else DARK}<figure class="h2d-figure" style="margin: 1rem 0; padding: 0">'
            '<div style="display: flex; flex-wrap: wrap; gap: 1rem">'
            + "".join(plotting.panels(self))
            + '</div><figcaption style="margin: 0.5rem 0; max-width: 68ch; text-align: left">'
            f'<span class="caption-text">{_whole_dates(escape(self.caption(titled=not in_book)))}</span></figcaption>'
            f"<details><summary>These numbers as a table</summary>"
            f'<div role="region" aria-label="Table: {escape(self.title)}" tabindex="0" '
            f'style="overflow-x: auto">{self.table()}</div></details></figure>'
        )

    def _repr_html_(self) -> str:
        return self.html()

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": self.text()}

    def __repr__(self) -> str:
        return self.text()


def _without_empty(
    columns: tuple[str, ...], rows: list[tuple[str, ...]]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Leave out columns in which no row says anything."""
    kept = [at for at in range(len(columns)) if any(row[at] for row in rows)]
    return tuple(columns[at] for at in kept), [tuple(row[at] for at in kept) for row in rows]


def draw(
    experiment: Any, records: Iterable[Any] = (), *, this_machine: str | None = None
) -> ExperimentFigure:
    """Return an experiment's figure: this machine beside the recorded ones.

    Parameters
    ----------
    experiment
        The name of an experiment, for the recorded runs alone; or an experiment, or a mapping as a record has it and
        its `name`, for a run of this moment beside them.
    records
        Records of the ledger. Those without this experiment are passed over.
    this_machine
        The name of the machine that the experiment ran on now.

    Raises
    ------
    LookupError
        If no record has an experiment of this name.
    ValueError
        If there is no sample, or one that is not a finite number.
    """
    records = list(records)
    name = experiment if isinstance(experiment, str) else _part(experiment, "name")
    recorded = [record for record in records if name in record.experiments]
    runs = []
    if isinstance(experiment, str):
        if not recorded:
            known = sorted({each for record in records for each in record.experiments})
            raise LookupError(
                f"no record has an experiment {name!r}; recorded are: {', '.join(known) or 'none'}"
            )
        about = recorded[0].experiments[name]
    else:
        about = experiment
        machine = this_machine or "this machine"
        own = [record for record in records if record.data["machine"]["name"] == this_machine]
        mine = next((record for record in own if record.private), next(iter(own), None))
        runs += _runs(name, about, machine, f"{machine}, measured now", mine, now=True)
    x, y = _axis(_part(about, "x")), _axis(_part(about, "y"))
    for record in recorded:
        one = record.experiments[name]
        if (_axis(_part(one, "x")), _axis(_part(one, "y"))) == (x, y):  # else it was another experiment then
            runs += _runs(name, one, record.machine_name, record.stamp_of(name), record)
    return ExperimentFigure(name, _part(about, "title") or name, x, y, runs)


def _part(thing: Any, name: str, otherwise: Any = None) -> Any:
    """Return one part of an experiment, which may be an object or a mapping."""
    if isinstance(thing, Mapping):
        return thing.get(name, otherwise)
    return getattr(thing, name, otherwise)


def _axis(about: Any) -> dict[str, str] | None:
    if about is None:
        return None
    if isinstance(about, Mapping):
        return {"label": about["label"], "unit": about["unit"]}
    label, unit = about
    return {"label": label, "unit": unit}


def _runs(name: str, about: Any, machine: str, stamp: str, record: Any, now: bool = False) -> list[Run]:
    """Return an experiment of one machine with the limits that it is drawn beside; a stand-in's part by itself."""
    where = _part(about, "where") or "CPU"
    places: dict[bool, list[Point]] = {False: [], True: []}
    for sample in _part(about, "samples") or ():
        values = tuple(map(float, _part(sample, "values") or ()))
        if not all(map(math.isfinite, values)):
            raise ValueError(
                f"experiment {name!r} on {machine} has a sample that is no finite number: measure it again"
            )
        if values:
            series, doubts = _part(sample, "series") or "", tuple(_part(sample, "doubts") or ())
            point = Point(series, _part(sample, "x"), values, doubts)
            places[(_part(sample, "where") or where) == STAND_IN].append(point)
    if not any(places.values()):
        raise ValueError(f"experiment {name!r} has no samples on {machine}: add some with e.add(…)")
    limits = {
        each: (record.limits[each]["value"], record.limits[each]["unit"])
        for each in (_part(about, "limits") or _usual_limits(about))
        if record is not None and each in record.limits
    }
    found = []
    if places[False]:
        real = where if where != STAND_IN else "CPU"
        found.append(Run(machine, real, stamp, tuple(places[False]), limits, now))
    if places[True]:
        found.append(Run(machine, STAND_IN, f"{machine}, a stand-in", tuple(places[True]), {}, now))
    return found


def _usual_limits(about: Any) -> tuple[str, ...]:
    """Return the limits that an experiment is drawn beside if it names none: those of a rate are plain."""
    unit = (_axis(_part(about, "y")) or {}).get("unit")
    return {"B/s": ("copy bandwidth",), "FLOP/s": ("matmul float32",)}.get(unit, ())
