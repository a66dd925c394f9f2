"""The picture of a memory timeline: allocated bytes over the changes in their order, stacked by the line that allocated.

The changes have an order and no times, so each takes the same width; where there are more changes than columns, a column
shows the fullest moment of its changes. The five lines with the most bytes at the moment of interest, which is the peak or
the last refused allocation, have a colour and a number each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from html import escape
from typing import NamedTuple

from host_to_device.counting.lines import place_of
from host_to_device.counting.memory_history import BEFORE, Held, History, Site, short
from host_to_device.rendering import svg, units
from host_to_device.rendering.palette import (
    BLUE,
    BLUE_SOFT,
    GREEN,
    GREEN_SOFT,
    IDLE,
    INK,
    LINE,
    ORANGE,
    ORANGE_SOFT,
    PURPLE,
    QUIET,
    WARNING,
    variable,
)

COLUMNS = 160
LEFT, WIDE, HIGH = 56, 330, 170  # of the SVG's own units: room for the axis, and the plot
TOP, BOTTOM = 36, 20  # two rows of words above the plot, one below
LIMIT_SHOWN = 2.5  # a limit that is this many times as high as everything else is not drawn

PAPER = variable("paper")
# Fill, edge and words of the bands, from the line with the most bytes down; older memory and all other lines are grey.
BANDS = (
    (BLUE_SOFT, BLUE, INK),
    (ORANGE_SOFT, ORANGE, INK),
    (GREEN_SOFT, GREEN, INK),
    (PURPLE, PURPLE, PAPER),
    (BLUE, BLUE, PAPER),
)
OLDER = (IDLE, QUIET, INK)
OTHER = (LINE, QUIET, INK)


class Column(NamedTuple):
    """One column of the picture: bytes by band, from below: older, then the numbered lines, then all others."""

    bands: tuple[int, ...]
    reserved: int


def _sites(shown: Sequence[Held]) -> list[Site]:
    """Return the lines that have a colour, those with the most bytes first."""
    lines = [each for each in shown if each.place != BEFORE]
    return [(each.file, each.line, each.library) for each in lines[: len(BANDS)]]


def _columns(history: History, sites: list[Site]) -> tuple[list[Column], int]:
    """Return the columns, and how many moments one of them stands for."""
    bands = {site: number for number, site in enumerate(sites, 1)}
    last = len(sites) + 1
    state = history.start.copy()
    heights = [0] * (last + 1)
    alive: dict[tuple[Hashable, Hashable], tuple[int, int]] = {}
    for key, (nbytes, site) in state.alive.items():
        alive[key] = nbytes, bands.get(site, last)
        heights[alive[key][1]] += nbytes
    heights[0] = sum(state.before.values())
    moments = len(history.changes) + 1
    each = -(-moments // COLUMNS)
    columns: list[Column] = []
    fullest, reserved, total = tuple(heights), state.reserved, state.allocated
    for number, change in enumerate(history.changes, 1):
        shown, _ = state.apply(change)
        key = change.pool, change.key
        if change.kind == "allocation":
            band = bands.get((change.file, change.line, change.library), last)
            alive[key] = change.nbytes, band
            heights[band] += change.nbytes
        elif change.kind == "free":
            nbytes, band = alive.pop(key, (-shown, 0))
            heights[band] -= nbytes
        if number % each == 0:
            columns.append(Column(fullest, reserved))
            fullest, reserved, total = tuple(heights), state.reserved, state.allocated
        if state.allocated > total:
            fullest, total = tuple(heights), state.allocated
        reserved = max(reserved, state.reserved)
    columns.append(Column(fullest, reserved))
    return columns, each


def drawn(history: History, shown: Sequence[Held], limit: int | None, alt: str) -> str:
    """Return the picture of a memory timeline as SVG.

    Parameters
    ----------
    history
        The changes of memory.
    shown
        What was alive at the moment of interest, by line, the largest first.
    limit
        Bytes that the device has; None if that is not known.
    alt
        The picture in words.
    """
    sites = _sites(shown)
    columns, each = _columns(history, sites)
    refused = [one for one in history.refusals if one.number >= history.left_out][-1:]
    limit = _limit(history, limit)
    top = _top(history, limit)
    step = WIDE / len(columns)

    def y(nbytes: float) -> float:
        return TOP + HIGH * (1 - min(1.0, nbytes / top))

    def x(number: int) -> float:
        """Return the left end of the column of a moment: the one before the first change is 0."""
        return LEFT + number // each * step

    parts = _axis(top, y, len(history.changes), history.left_out)
    styles = [OLDER, *BANDS[: len(sites)], OTHER]
    ends: list[list[float]] = []
    for band in range(len(styles)):
        ends.append([y(sum(one.bands[: band + 1])) for one in columns])
    floor = y(0)
    for band in reversed(range(len(styles))):
        if any(one.bands[band] for one in columns):
            fill, edge, _ = styles[band]
            path = _steps(ends[band], step) + f"V{_n(floor)}H{LEFT}Z"
            parts.append(svg.element("path", d=path, fill=fill, stroke=edge, stroke_width=0.75))
    for band in range(1, len(styles) - 1):
        below, above = ends[band - 1], ends[band]
        words = _number_in(below, above, step, str(band), styles[band][2])
        parts += [words] if words else []
    if history.peak_reserved > history.peak:
        path = _steps([y(one.reserved) for one in columns], step)
        parts.append(svg.element("path", d=path, fill="none", stroke=INK, stroke_width=1, opacity=0.75))
    right = LEFT + WIDE
    if limit is not None:
        parts.append(
            svg.line(LEFT, y(limit), right, y(limit), INK, stroke_dasharray="6 4", stroke_width=1.25)
        )
        parts.append(svg.text(LEFT + 3, y(limit) - 3, f"limit {units.amount(limit)}", INK))
    number = history.peak_number + 1 - history.left_out
    if history.peak_number < 0:
        number = 0
    if number >= 0 and (history.peak_number >= 0 or not history.left_out):
        event = history.peak_change
        where = "at the beginning" if event is None else _place(event.file, event.line)
        at = x(number) + step / 2
        parts += _mark(at, y(history.peak), 2, f"peak {units.amount(history.peak)}, {where}", INK)
        parts.append(svg.circle(at, y(history.peak), 3, INK, stroke=PAPER, stroke_width=1))
    for one in refused:
        at = x(one.number + 1 - history.left_out)
        wide = max(step, 7.0)
        at = min(at, right - wide)
        high = y(one.allocated) - y(one.allocated + one.nbytes)
        parts.append(
            svg.box(
                at,
                y(one.allocated + one.nbytes),
                wide,
                high,
                "none",
                stroke=WARNING,
                stroke_width=1.5,
                stroke_dasharray="3 2",
            )
        )
        words = f"refused {units.amount(one.nbytes)}, {_place(one.file, one.line)}"
        parts += _mark(at + wide / 2, y(one.allocated + one.nbytes), 1, words, WARNING)
    wide = LEFT + WIDE + 4
    return svg.picture(parts, alt, (0, 0, wide, TOP + HIGH + BOTTOM), wide * 1.3)


def _highest(history: History) -> int:
    return max(history.peak, history.peak_reserved, 1)


def _wanted(history: History) -> int:
    """Return the bytes that the last refused allocation needed, or the bytes at the peak."""
    return max([_highest(history), *(one.allocated + one.nbytes for one in history.refusals[-1:])])


def _limit(history: History, limit: int | None) -> int | None:
    """Return the limit if the picture shows it."""
    return limit if limit and limit <= LIMIT_SHOWN * _wanted(history) else None


def _top(history: History, limit: int | None) -> float:
    """Return the bytes at the upper end of the plot. An allocation far above the limit would make all else flat."""
    most = max(_highest(history), limit or 0)
    return max(min(_wanted(history), LIMIT_SHOWN * most), most) / 0.88


def _axis(top: float, y: Callable[[float], float], changes: int, left_out: int) -> list[str]:
    """Return the vertical axis with its amounts, and the words below the horizontal one."""
    parts = []
    tick = 2 ** math.ceil(math.log2(top / 5)) if top > 5 else 1
    for number in range(int(top // tick) + 1):
        value = number * tick
        parts.append(svg.line(LEFT, y(value), LEFT + WIDE, y(value), LINE, stroke_width=0.75))
        parts.append(svg.text(LEFT - 4, y(value) + 4, _tick(value), QUIET, "end"))
    base = TOP + HIGH + 14
    parts.append(svg.text(LEFT, base, f"{left_out + 1:,}", QUIET))
    parts.append(svg.text(LEFT + WIDE / 2, base, "changes of memory, in order", QUIET, "middle"))
    parts.append(svg.text(LEFT + WIDE, base, f"{left_out + changes:,}", QUIET, "end"))
    return parts


def _tick(nbytes: int) -> str:
    size, unit = next((each for each in units.BYTES if nbytes >= each[0]), (1, "B"))
    return f"{nbytes / size:g} {unit}" if nbytes else "0"


def _steps(heights: list[float], step: float) -> str:
    """Return an SVG path along the tops of columns, one straight line for columns of one height."""
    path = f"M{LEFT} {_n(heights[0])}"
    for number, height in enumerate(heights[1:], 1):
        if _n(height) != _n(heights[number - 1]):
            path += f"H{_n(LEFT + number * step)}V{_n(height)}"
    return path + f"H{_n(LEFT + len(heights) * step)}"


def _n(value: float) -> str:
    return f"{round(value, 1):g}"


def _number_in(below: list[float], above: list[float], step: float, words: str, fill: str) -> str:
    """Return a band's number in the middle of its longest stretch that has room for it; "" if none has."""
    best, begin = (0, 0), 0
    for number in range(len(below) + 1):
        if number == len(below) or below[number] - above[number] < 13:
            if number - begin > best[1] - best[0]:
                best = begin, number
            begin = number + 1
    if (best[1] - best[0]) * step < 10:
        return ""
    middle = (best[0] + best[1] - 1) // 2
    at = LEFT + (best[0] + best[1]) / 2 * step
    return svg.text(at, (below[middle] + above[middle]) / 2 + 4, words, fill, "middle")


LETTER = 6.6  # of the SVG's own units: the width of a letter, with some room


def _mark(at: float, height: float, row: int, words: str, colour: str) -> list[str]:
    """Return words above the plot, in the first or second row, with a thin line down to a point."""
    base = 14 * row - 2
    left = at + 8 + LETTER * len(words) < LEFT + WIDE  # whether there is room to its right
    return [
        svg.line(at, base - 8, at, height, colour, stroke_width=0.75),
        svg.text(at + (4 if left else -4), base, words, colour, "start" if left else "end"),
    ]


def _place(file: str, line: int) -> str:
    words = place_of(file, line)
    return words if len(words) <= 30 else f"…{words[-29:]}"


def legend(history: History, shown: Sequence[Held], limit: int | None, title: str) -> str:
    """Return the picture's colours as a table: number, line and code, bytes at the moment of interest, blocks.

    `title` says which moment that is; the other arguments are those of `drawn`.
    """
    sites = _sites(shown)
    rows = []
    for number, site in enumerate(sites, 1):
        held = next(
            each for each in shown if (each.file, each.line, each.library) == site and each.place != BEFORE
        )
        rows.append(_row(BANDS[number - 1], str(number), held.place, held))
    rest = [
        each
        for each in shown
        if each.place != BEFORE and (each.file, each.line, each.library) not in set(sites)
    ]
    if rest:
        total = Held(
            sum(each.nbytes for each in rest), sum(each.blocks for each in rest), "", "", 0, "other lines", ""
        )
        rows.append(_row(OTHER, "", f"{len(rest):,} other lines", total))
    older = next((each for each in shown if each.place == BEFORE), None)
    if older is not None:
        rows.append(_row(OLDER, "", BEFORE, older))
    left, right = 'style="text-align: left"', 'style="text-align: right"'
    head = (
        f'<tr><th scope="col" {left}>line</th><th scope="col" {right}>bytes</th>'
        f'<th scope="col" {right}>blocks</th></tr>'
    )
    lines = []
    if history.peak_reserved > history.peak:
        lines.append("The thin line is what the pools hold (reserved).")
    if _limit(history, limit):
        lines.append("The dashed line is the limit.")
    note = f"<p>{escape(' '.join(lines))}</p>" if lines else ""
    return (
        f'<div class="h2d-count"><table><caption>{escape(title)}</caption><thead>{head}</thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>{note}"
    )


def _row(style: tuple[str, str, str], number: str, words: str, held: Held) -> str:
    fill, edge, ink = style
    swatch = (
        f'<svg viewBox="0 0 16 16" aria-hidden="true" style="width: 1.1em; height: 1.1em; vertical-align: -0.2em">'
        f"{svg.box(0.5, 0.5, 15, 15, fill, stroke=edge)}"
        f"{svg.text(8, 12, number, ink, 'middle', 11) if number else ''}</svg>"
    )
    spoken = f"{number}: " if number else ""
    blocks = f"{held.blocks:,}" if held.blocks else ""
    code = (
        f'<br/><code style="font-weight: normal; overflow-wrap: anywhere">{escape(short(held.code))}</code>'
        if held.code
        else ""
    )
    top = "vertical-align: top; text-align"
    return (  # the code stands below the line's name, so that a phone shows all columns
        f'<tr><th scope="row" style="{top}: left; white-space: normal">{swatch} {escape(spoken + words)}{code}</th>'
        f'<td style="{top}: right; white-space: nowrap">{escape(units.amount(held.nbytes))}</td>'
        f'<td style="{top}: right">{blocks}</td></tr>'
    )
