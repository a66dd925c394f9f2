"""Show an experiment: pictures that follow light and dark themes, a caption, and a table with every number.

Each machine has its own panel with the same axes; machines with one series each share a panel. A point is the median
of its samples, a band their middle half, a dashed line a limit that was measured on the same machine. A stand-in's
times have a panel of their own, which names the stand-in: beside a GPU's times they would look like them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from host_to_device.measuring import machines, plotting
from host_to_device.measuring.exceeded import USUAL, Exceeded, exceeded
from host_to_device.measuring.points import STAND_IN, Point, Results, Run, quoted, shown_at, unbroken
from host_to_device.rendering import units
from host_to_device.rendering.palette import DARK


def _whole_dates(html: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d", r'<span style="white-space: nowrap">\g<0></span>', html)


class ExperimentFigure(Results):
    """An experiment as a notebook and the book show it: HTML with pictures and a table, or plain text."""

    def caption(self, *, titled: bool = True) -> str:
        """Return the caption: what is drawn, and where and when it was measured."""
        parts = [f"{self.title}."] if titled else []
        most = max(len(point.values) for run in self.runs for point in run.points)
        if most > 1:
            parts.append("Points are medians of the samples, bands their middle half.")
        if limits := list(dict.fromkeys(name for run in self.runs for name in run.limits)):
            parts.append(f"Dashed: the limit {quoted(limits)}, measured on the same machine.")
        for run in self.runs:
            for name, why in run.exceeded.items():
                parts.append(f"On {run.machine} {quoted([name])} is no limit: {why}.")
        said = (run.stamp if run.now or run.stand_in else f"recorded on {run.stamp}" for run in self.runs)
        stamps = list(dict.fromkeys(said))
        parts.append(
            f"{stamps[0][:1].upper()}{stamps[0][1:]}" + "".join(f"; {each}" for each in stamps[1:]) + "."
        )
        if any(point.doubts for run in self.runs for point in run.points):
            parts.append("Some of it is doubtful: the table says what and why.")
        if any(run.stand_in for run in self.runs):
            parts.append("The time of a stand-in says nothing about a GPU.")
        return " ".join(parts)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table: machine, series, x, median, middle half, number of samples, doubts."""
        unit = self.y["unit"]
        found: list[tuple[str, ...]] = []
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
        """Return the heads of the table's columns."""
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
        """Return the table as HTML, with a caption and with heads of rows and columns."""
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
        """Return pictures, caption and table; in the book without the colours of its style sheet and without the title."""
        return (
            f'{"" if in_book else DARK}<figure class="h2d-figure" style="margin: 1rem 0; padding: 0">'
            '<div style="display: grid; grid-template-columns: repeat(auto-fit, minmax(min(19rem, 100%), 1fr)); '
            'gap: 1rem">'
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
    """Return the table without the columns that are empty in every row."""
    kept = [at for at in range(len(columns)) if any(row[at] for row in rows)]
    return tuple(columns[at] for at in kept), [tuple(row[at] for at in kept) for row in rows]


def draw(
    experiment: Any, records: Iterable[Any] = (), *, this_machine: str | None = None
) -> ExperimentFigure:
    """Return an experiment's figure: this machine beside the recorded ones.

    Parameters
    ----------
    experiment
        The name of an experiment, to draw only the recorded runs. An experiment, or a mapping in the form of a record
        with its `name`, to draw this run beside the recorded ones.
    records
        Records of the ledger. Records without this experiment are passed over.
    this_machine
        The name of the machine on which the experiment ran now.

    Raises
    ------
    LookupError
        If no record has an experiment of this name.
    ValueError
        If there is no sample, or if a sample is not a finite number.
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
    if y is None:
        raise ValueError(f"experiment {name!r} does not say what it measures: give y=(label, unit)")
    for record in recorded:
        one = record.experiments[name]
        if (_axis(_part(one, "x")), _axis(_part(one, "y"))) == (
            x,
            y,
        ):  # other axes: at that time it was another experiment
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
    """Return the run of one machine with the limits to draw beside it.

    What a stand-in did is a run of its own, and so is what the CPU of a machine did that has its name from its GPU.
    """
    where = _part(about, "where") or "CPU"
    places: dict[str, list[Point]] = {"GPU": [], "CPU": [], STAND_IN: []}
    for sample in _part(about, "samples") or ():
        values = tuple(map(float, _part(sample, "values") or ()))
        if not all(map(math.isfinite, values)):
            raise ValueError(
                f"experiment {name!r} on {machine} has a sample that is not a finite number: measure it again"
            )
        if values:
            series, doubts = _part(sample, "series") or "", tuple(_part(sample, "doubts") or ())
            point = Point(series, _part(sample, "x"), values, doubts)
            places[_part(sample, "where") or where].append(point)
    if not any(places.values()):
        raise ValueError(f"experiment {name!r} has no samples on {machine}: add some with e.add(…)")
    limits = {
        each: (record.limits[each]["value"], record.limits[each]["unit"])
        for each in (_part(about, "limits") or _usual_limits(about))
        if record is not None and each in record.limits
    }
    found = []
    cpu = _cpu_beside_a_gpu(record, now)
    if cpu is not None and places["CPU"]:  # a stamp begins with the machine's name, which is the GPU's
        named = f"{machine} and {cpu}" if places["GPU"] else f"{cpu} beside {machine}"
        stamp = named + stamp.removeprefix(machine)
    for place in ("GPU", "CPU"):
        if not places[place]:
            continue
        if place == "CPU" and cpu is not None:
            named, short = f"{cpu} beside {machine}", f"CPU beside {machine}"
            found.append(Run(named, place, stamp, tuple(places[place]), {}, now, short=short))
            continue
        wrong = _exceeded(about, places[place], place, record)
        above = {name: wrong[name].text for name in limits if name in wrong}
        found.append(Run(machine, place, stamp, tuple(places[place]), limits, now, above))
    if places[STAND_IN]:
        found.append(Run(machine, STAND_IN, f"{machine}, a stand-in", tuple(places[STAND_IN]), {}, now))
    return found


def _cpu_beside_a_gpu(record: Any, now: bool) -> str | None:
    """Return the name of the CPU of a machine that is called by its GPU's name; None for other machines."""
    if record is not None:
        return record.machine.get("cpu") or "the CPU" if record.kind == "gpu" else None
    cpu, _, gpus = machines.hardware() if now else ("", 0, [])
    return cpu if gpus else None


def _exceeded(about: Any, points: list[Point], where: str, record: Any) -> dict[str, Exceeded]:
    """Return the limits of a record that its own measurements or these points exceed."""
    if record is None:
        return {}
    samples = [
        {"series": point.series, "x": point.x, "values": point.values, "doubts": point.doubts}
        for point in points
    ]
    this = {
        "title": _part(about, "title") or _part(about, "name"),
        "y": _axis(_part(about, "y")),
        "limits": _part(about, "limits"),
        "where": where,
        "samples": samples,
    }
    by_these = exceeded(record.limits, kind=record.kind, experiments=[this])
    return record.exceeded | {
        name: each
        for name, each in by_these.items()
        if name not in record.exceeded or each.by > record.exceeded[name].by
    }


def _usual_limits(about: Any) -> tuple[str, ...]:
    """Return the limits to draw beside an experiment that names none: those in the unit of its rate."""
    return USUAL.get((_axis(_part(about, "y")) or {}).get("unit", ""), ())
