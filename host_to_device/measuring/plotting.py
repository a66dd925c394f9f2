"""Draw the panels of an experiment as SVG text that stands inside a page and takes its colours from the page.

The same numbers give the same text: it has no dates and no random ids, and its letters stay text.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from host_to_device.measuring.points import Point, Results, Run, carries_unit, shown_at
from host_to_device.rendering import palette, units
from host_to_device.rendering.svg import in_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE = "host_to_device.figures"  # the package's style sheet, by the name that Matplotlib gives it

COLOURS = tuple(palette.COLOURS[name] for name in ("blue", "orange", "green", "purple", "ink"))
MARKERS = "osD^v"
INK, QUIET = palette.COLOURS["ink"], palette.COLOURS["quiet"]

# Inches of a panel: two stand side by side on a desktop, one below the other on a phone.
WIDTH, HEIGHT = 4.6, 3.3
LETTERS = 10.5  # points
SPANS = 20  # an axis is logarithmic from this ratio of largest to smallest on
MOST_LINES = 6  # machines that share a panel


@dataclass(frozen=True)
class Scale:
    """One axis: its ends, whether it is logarithmic, and where it has ticks."""

    low: float
    high: float
    log: bool
    ticks: tuple[float, ...]

    def fraction(self, value: float) -> float:
        """Return where a value lies on the axis: 0 at its low end, 1 at its high end."""
        low, high, value = (math.log(each) if self.log else each for each in (self.low, self.high, value))
        return (value - low) / (high - low)


def scale(values: Sequence[float], unit: str = "", *, from_zero: bool = False) -> Scale:
    """Return an axis for these numbers: logarithmic where they are positive and far apart."""
    low, high = min(values), max(values)
    if low > 0 and high / low >= SPANS:
        room = (high / low) ** 0.04
        low, high = low / room, high * room
        return Scale(low, high, True, tuple(log_ticks(low, high, 2 if unit == "B" else 10)))
    if from_zero and low >= 0:
        low = 0.0
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    low, high = (low if from_zero and low == 0 else low - room), high + room
    return Scale(low, high, False, tuple(_linear_ticks(low, high, unit)))


def log_ticks(low: float, high: float, base: int, most: int = 6) -> list[float]:
    """Return round numbers between two positive ones: powers of the base; if few fit, also 2 and 5 times them."""
    if base == 10 and math.log10(high / low) < 2:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        found = [part * 10.0**power for power in range(first, last + 1) for part in (1, 2, 5)]
        return [tick for tick in found if low <= tick <= high]
    first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
    # Powers of two in steps of five or ten: KiB and MiB fall on round ones.
    steps = (1, 2, 5, 10, 20) if base == 2 else (1, 2, 3, 6, 9)
    step = next((each for each in steps if (last - first) // each < most), steps[-1])
    return [float(base) ** power for power in range(first, last + 1) if power % step == 0]


def _linear_ticks(low: float, high: float, unit: str, about: int = 4) -> list[float]:
    """Return round numbers between two; amounts of memory are round in powers of two."""
    rough = (high - low) / about
    if unit == "B" and rough >= 1:
        step = 2.0 ** math.ceil(math.log2(rough))
    else:
        power = 10.0 ** math.floor(math.log10(rough))
        step = next((part * power for part in (1, 2, 5) if part * power >= rough), 10 * power)
    first = math.ceil(low / step - 1e-9)
    return [tick * step for tick in range(first, math.floor(high / step + 1e-9) + 1)]


def panels(figure: Results) -> list[str]:
    """Return the panels of a figure as HTML elements, in the order of its runs; a stand-in's come last."""
    real = [run for run in figure.runs if not run.stand_in]
    together = len({series for run in real for series in run.series}) == 1 and 1 < len(real) <= MOST_LINES
    groups = [real] if together else [[run] for run in real]
    picture = _picture(figure, real)
    found = [_panel(figure, group, number, picture) for number, group in enumerate(groups)]
    alone = len(groups) == 1
    html = [_framed(svg, wide=alone) for svg in found]
    for number, run in enumerate((run for run in figure.runs if run.stand_in), len(groups)):
        svg = _panel(figure, [run], number, _picture(figure, [run]))  # axes of its own: not to be compared
        html.append(
            f'<div style="grid-column: 1 / -1">{_framed(svg, wide=True)}</div>'
            if real
            else _framed(svg, True)
        )
    return html


def _framed(svg: str, wide: bool) -> str:
    return f'<div style="min-width: 0; max-width: {32 if wide else 26}rem">{svg}</div>'


def _picture(figure: Results, runs: Sequence[Run]) -> _Picture:
    places = {point.x for run in runs for point in run.points}
    lines = len(places) > 1 and not any(x is None or isinstance(x, str) for x in places)
    return _Picture(figure, runs, lines)


class _Picture:
    """What the panels of one figure share: kind, axes, and the colour of each series."""

    def __init__(self, figure: Results, runs: Sequence[Run], lines: bool) -> None:
        self.figure, self.lines = figure, lines
        self.series = list(dict.fromkeys(series for run in runs for series in run.series))
        if not runs:
            return
        values = [value for run in runs for point in run.points for value in (point.median, *point.middle)]
        places = [point.number for run in runs for point in run.points] if lines else []
        if lines:
            self.x = scale(places, figure.x_unit)
        for run in runs:
            for limit in run.limits.values():
                at = limit_at(figure, limit, max(places) if places else None)
                if at is not None and math.isfinite(at):
                    values.append(at)
        self.y = scale(values, figure.y["unit"], from_zero=not lines)


def limit_at(figure: Results, limit: tuple[float, str], x: float | None) -> float | None:
    """Return the value of a limit at x, in the unit of y: a level, or work divided by a rate; None if neither fits."""
    value, unit = limit
    if unit == figure.y["unit"]:
        return value
    if x is not None and figure.y["unit"] == "s" and unit == f"{figure.x_unit}/s" and value > 0:
        return x / value
    return None


def _panel(figure: Results, runs: Sequence[Run], number: int, picture: _Picture) -> str:
    """Return one panel as SVG: several machines with one series each, or one machine with all of its series."""
    named = f"h2d-{re.sub(r'[^a-z0-9]+', '-', figure.name.lower())}-{number}"
    together = len(runs) > 1
    lines: list[tuple[str, int, list[Point]]] = []
    for at, run in enumerate(runs):
        for series in run.series:
            points = [point for point in run.points if point.series == series]
            label = run.label if together else series
            lines.append((label, at if together else picture.series.index(series), points))
    limits = [
        (run.limit_label(name), limit, at)
        for at, run in enumerate(runs)
        for name, limit in run.limits.items()
    ]
    with _plain_figure(named) as make:
        if picture.lines:
            drawn, axes = make(WIDTH, HEIGHT)
            _draw_lines(axes, picture, lines, limits, together)
        else:
            rows = _rows(figure, lines, together)
            drawn, axes = make(WIDTH, 1.3 + sum(row.height for row in rows))
            _draw_rows(axes, picture, rows, limits, together)
        _part_tick_labels(drawn, axes)
        if not together:
            title = runs[0].label + (" (not a GPU's time)" if runs[0].stand_in else "")
            above = 18 if limits and not picture.lines else 6  # room for the limit's name
            room = 44 if picture.lines else 32  # letters from the axes' left end to the panel's right one
            axes.set_title("\n".join(textwrap.wrap(title, room)), fontsize=LETTERS + 1, pad=above)
        out = io.StringIO()
        drawn.savefig(out, format="svg")
    return in_page(
        cleaned(out.getvalue()), named, figure.alt(runs), "display: block; width: 100%; height: auto"
    )


@contextmanager
def _plain_figure(salt: str) -> Iterator[Any]:
    """Give a function that makes a figure and its axes in the project's style, without a window or a backend."""
    import matplotlib.style
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "text.parse_math": False,  # a name may hold a dollar sign
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "font.size": LETTERS,
        "axes.labelsize": LETTERS,
        "xtick.labelsize": LETTERS,
        "ytick.labelsize": LETTERS,
    }
    with matplotlib.style.context([STYLE, settings]):

        def make(width: float, height: float) -> tuple[Figure, Axes]:
            figure = Figure(figsize=(width, height))
            FigureCanvasSVG(figure)
            return figure, figure.add_subplot()

        yield make


def _part_tick_labels(drawn: Figure, axes: Axes) -> None:
    """Hide tick labels of the horizontal axis that would touch others; powers of ten stay, and every grid line."""
    drawn.draw_without_rendering()
    ticks = list(zip(axes.get_xticks(), axes.get_xticklabels(), strict=True))
    ticks.sort(key=lambda tick: tick[0] <= 0 or not math.log10(tick[0]).is_integer())
    kept: list[tuple[float, float]] = []
    for _, label in ticks:
        box = label.get_window_extent()
        if any(box.x0 < right + LETTERS / 2 and left < box.x1 + LETTERS / 2 for left, right in kept):
            label.set_visible(False)
        else:
            kept.append((box.x0, box.x1))


def _label(axis: Mapping[str, str] | None) -> str:
    if axis is None:
        return ""
    unit = axis["unit"]
    return axis["label"] if carries_unit(unit) or unit in ("", "1") else f"{axis['label']} ({unit})"


def _set_axis(axes: Axes, which: str, axis: Scale, unit: str) -> None:
    getattr(axes, f"set_{which}scale")("log" if axis.log else "linear")
    getattr(axes, f"set_{which}lim")(axis.low, axis.high)
    written = [shown_at(tick, unit if carries_unit(unit) else "") for tick in axis.ticks]
    if not carries_unit(unit) and max(axis.ticks, default=0) >= 1e6:
        written = [units.short(tick) for tick in axis.ticks]  # with all their digits the labels would touch
    getattr(axes, f"set_{which}ticks")(axis.ticks, written)
    axes.minorticks_off()


def _draw_lines(axes: Axes, picture: _Picture, lines: list, limits: list, together: bool) -> None:
    """Draw y over x, with the name of each line at its end."""
    figure, x, y = picture.figure, picture.x, picture.y
    _set_axis(axes, "x", x, figure.x_unit)
    _set_axis(axes, "y", y, figure.y["unit"])
    axes.set(xlabel=_label(figure.x), ylabel=_label(figure.y))
    ends: list[tuple[str, float, float, str]] = []
    for label, colour, points in lines:
        points = sorted(points, key=lambda point: point.number)
        where, medians = [point.number for point in points], [point.median for point in points]
        paint = COLOURS[colour % len(COLOURS)]
        low, high = zip(*(point.middle for point in points), strict=True)
        axes.fill_between(where, low, high, color=paint, alpha=0.22, linewidth=0)
        axes.plot(where, medians, marker=MARKERS[colour % len(MARKERS)], markersize=4.5, color=paint)
        if label:
            ends.append((label, where[-1], medians[-1], paint))
    for name, limit, machine in limits:
        places = [x.low, x.high] if not x.log else _between(x.low, x.high)
        levels = [level for place in places if (level := limit_at(figure, limit, place)) is not None]
        if not levels:
            continue
        paint = COLOURS[machine % len(COLOURS)] if together else QUIET
        axes.plot(places, levels, linestyle=(0, (4, 3)), linewidth=1.3, color=paint)
        if not together:  # with several machines the caption names them, each in its colour
            ends.append((name, x.high, levels[-1], paint))
    _name_ends(axes, picture, ends)


def _between(low: float, high: float, count: int = 40) -> list[float]:
    return [low * (high / low) ** (step / (count - 1)) for step in range(count)]


def _name_ends(axes: Axes, picture: _Picture, ends: list[tuple[str, float, float, str]]) -> None:
    """Write the names at the right edge, pushed apart where they would cover each other."""
    wrapped = [textwrap.wrap(label, 18) for label, *_ in ends]
    line = LETTERS * 1.25 / (HEIGHT * 72 * 0.72)  # of the height of the axes
    order = sorted(range(len(ends)), key=lambda at: picture.y.fraction(ends[at][2]))
    heights = [line * len(wrapped[at]) for at in order]
    wanted = [picture.y.fraction(ends[at][2]) for at in order]
    for at, place in zip(order, apart(wanted, heights, line * 0.3), strict=True):
        _, x, y, paint = ends[at]
        axes.annotate(
            "\n".join(wrapped[at]),
            (x, y),
            (1.04, place),
            textcoords="axes fraction",
            va="center",
            color=QUIET if paint == QUIET else INK,
            arrowprops={
                "arrowstyle": "-",
                "color": paint,
                "linewidth": 0.9,
                "shrinkA": 1,
                "shrinkB": 3,
                "relpos": (0, 0.5),
            },
            annotation_clip=False,
        )


def apart(wanted: Sequence[float], heights: Sequence[float], gap: float) -> list[float]:
    """Return rising places from 0 to 1 near the wanted ones, with room for each height and a gap."""
    groups: list[
        tuple[list[int], float]
    ] = []  # the members of a group, and the middle of the room that they take
    for at, place in enumerate(wanted):
        members, middle = [at], place
        while True:
            size = sum(heights[each] for each in members) + gap * (len(members) - 1)
            middle = max(min(middle, 1 - size / 2), size / 2)  # within the axes if there is room
            if not groups:
                break
            others, their_middle = groups[-1]
            their_size = sum(heights[each] for each in others) + gap * (len(others) - 1)
            if their_middle + their_size / 2 + gap <= middle - size / 2:
                break
            groups.pop()
            middle = (middle * len(members) + their_middle * len(others)) / (len(members) + len(others))
            members = others + members
        groups.append((members, middle))
    places = [0.0] * len(wanted)
    for members, middle in groups:
        size = sum(heights[each] for each in members) + gap * (len(members) - 1)
        edge = middle - size / 2
        for each in members:
            places[each] = edge + heights[each] / 2
            edge += heights[each] + gap
    return places


@dataclass(frozen=True)
class _Row:
    """One number of a panel without lines: its name at the left, in lines that fit, and its point."""

    name: tuple[str, ...]
    colour: int  # of its series, or of its machine where machines share the panel
    point: Point

    @property
    def height(self) -> float:
        """Inches that the row takes: more than the usual where its name has more than two lines."""
        return max(0.42, 0.2 * len(self.name) + 0.04)


def _rows(figure: Results, lines: Sequence[tuple[str, int, list[Point]]], together: bool) -> list[_Row]:
    """Return the rows of a panel: of one machine those of one x together, of several those of one machine."""
    found = [(label, colour, point) for label, colour, points in lines for point in points]
    if not together:
        places = list(dict.fromkeys(point.x for _, _, point in found))
        found.sort(key=lambda row: places.index(row[2].x))
    return [
        _Row(
            tuple(textwrap.wrap(", ".join(filter(None, (shown_at(point.x, figure.x_unit), label))), 20)),
            colour,
            point,
        )
        for label, colour, point in found
    ]


def _draw_rows(axes: Axes, picture: _Picture, rows: Sequence[_Row], limits: list, together: bool) -> None:
    """Draw a row for each number: its name at the left, the number beside its point."""
    figure, values = picture.figure, picture.y
    unit = figure.y["unit"]
    _set_axis(axes, "x", values, unit)
    middles, edge = [], 0.0  # in inches from the upper end
    for row in rows:
        middles.append(edge + row.height / 2)
        edge += row.height
    for at, row in zip(middles, rows, strict=True):
        point, paint = row.point, COLOURS[row.colour % len(COLOURS)]
        axes.plot(point.middle, (at, at), color=paint, alpha=0.35, linewidth=7, solid_capstyle="butt")
        axes.plot(point.median, at, marker=MARKERS[row.colour % len(MARKERS)], color=paint, markersize=6)
        # left of the band where the right has no room, unless the number would cover the row's name
        right = values.fraction(point.median) > 0.6 and values.fraction(point.middle[0]) > 0.3
        axes.annotate(
            units.shown(point.median, unit),
            (point.middle[0] if right else point.middle[1], at),
            (-9 if right else 9, 0),
            textcoords="offset points",
            ha="right" if right else "left",
            va="center",
        )
    axes.set_yticks(middles, ["\n".join(row.name) for row in rows])
    axes.set_ylim(edge + 0.05, -0.05)
    axes.grid(False, axis="y")
    axes.set_xlabel(_label(figure.y))
    for name, limit, machine in limits:
        value = limit_at(figure, limit, None)
        if value is None:
            continue
        if together:  # a stroke in the machine's row; the caption names it
            own = [
                (middle - row.height / 2, middle + row.height / 2)
                for middle, row in zip(middles, rows, strict=True)
                if row.colour == machine
            ]
            ends = (own[0][0], own[-1][1])
            axes.plot((value, value), ends, linestyle=(0, (4, 3)), linewidth=1.3, color=QUIET)
            continue
        axes.axvline(value, linestyle=(0, (4, 3)), linewidth=1.3, color=QUIET)
        right = values.fraction(value) > 0.5
        axes.annotate(
            name,
            (value, -0.05),
            (-3 if right else 3, 1),
            textcoords="offset points",
            ha="right" if right else "left",
            va="bottom",
            color=QUIET,
        )


def cleaned(text: str) -> str:
    """Return Matplotlib's SVG without what a page does not need: its head, ids that nothing names, fonts of its own."""
    text = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.S)
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', text))
    text = re.sub(r' id="([^"]+)"', lambda found: found[0] if found[1] in used else "", text)
    text = re.sub(r"(font: [^;\"]*?px) [^;\"]+", r"\1 system-ui, sans-serif", text)
    text = re.sub(r"font-family: [^;\"]+", "font-family: system-ui, sans-serif", text)
    spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    text = re.sub(r'<svg [^>]*?(viewBox="[^"]+")[^>]*>', rf"<svg {spaces} \1>", text, count=1)
    return re.sub(r"\n\s*", " ", text.strip())
