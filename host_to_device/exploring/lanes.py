"""The explorer of a sum by shuffles: whose numbers arrive, for a width of the warp and a first offset of the loop.

A block of 64 threads adds its numbers: in steps that halve the offset each thread adds what the lane so far above it
has, by the rule of `__shfl_down_sync` (a lane that is not there gives the asker its own number), and the first lane of
each warp adds what it has to the result.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from host_to_device.exploring.explorer import INK, QUIET, WARNING, Explorer, _text

THREADS = 64
WIDTHS = (32, 64)
FIRSTS = (1, 2, 4, 8, 16, 32)

A_ROW = 16  # threads in a row of the picture, so that a phone shows them in their size
LABEL, CELL, GAP, BETWEEN = 30, 20, 2, 14  # lengths in the SVG's own units
ONCE, NEVER, OFTEN = (
    "var(--h2d-blue-soft, #dcebf7)",
    "var(--h2d-orange-soft, #fbe5d6)",
    "var(--h2d-idle, #ece9e4)",
)
EDGES = ("var(--h2d-blue, #0072b2)", "var(--h2d-orange, #d55e00)", "var(--h2d-purple, #aa4499)")


def heard(warp_size: int, first: int) -> list[int]:
    """Return how often each of 64 threads' numbers is in the sum.

    Parameters
    ----------
    warp_size
        Lanes in a warp, 32 or 64.
    first
        The first offset; it is halved until it is 0.
    """
    has = np.eye(THREADS, dtype=int)  # row t: how often thread t has each number
    thread = np.arange(THREADS)
    offset = first
    while offset:
        other = thread + offset
        same = (other < THREADS) & (other // warp_size == thread // warp_size)
        has = has + has[np.where(same, other, thread)]
        offset //= 2
    return has[::warp_size].sum(axis=0).tolist()


class LanesPicture:
    """Whose numbers are in a sum by shuffles, as a picture; see `explore_lanes` for the parameters."""

    def __init__(self, warp_size: int = 64, first: int = 16) -> None:
        for name, value, known in (("warp_size", warp_size, WIDTHS), ("first", first, FIRSTS)):
            if isinstance(value, bool) or value not in known:
                raise ValueError(
                    f"{name} is {value!r}: the picture takes one of {', '.join(map(str, known))}"
                )
        self.warp_size, self.first = int(warp_size), int(first)
        self.heard = heard(self.warp_size, self.first)

    @property
    def right(self) -> bool:
        """Whether each number is in the sum once."""
        return set(self.heard) == {1}

    def summary(self) -> str:
        """Return what the picture shows, in a sentence."""
        about = f"Warps of {self.warp_size} lanes, first offset {self.first}: "
        if self.right:
            return f"{about}each of {THREADS} numbers is in the sum, once."
        parts = [
            f"{many} of {THREADS} {words}"
            for many, words in (
                (self.heard.count(1), "numbers are in the sum once"),
                (self.heard.count(0), "are missing"),
                (sum(each > 1 for each in self.heard), "are in it more than once"),
            )
            if many
        ]
        return f"{about}{', '.join(parts)}."

    def alt(self) -> str:
        """Return what the picture shows, for those who do not see it."""
        runs: list[list[int]] = []
        for thread, times in enumerate(self.heard):
            if runs and runs[-1][2] == times:
                runs[-1][1] = thread
            else:
                runs.append([thread, thread, times])
        said = "; ".join(
            f"{f'threads {low} to {high}' if high > low else f'thread {low}'} {times} times"
            for low, high, times in runs[:8]
        )
        more = " and so on" if len(runs) > 8 else ""
        return (
            f"{THREADS} threads, each with how often its number is in the sum: {said}{more}. {self.summary()}"
        )

    def svg(self) -> str:
        """Return the picture: a box for each thread with how often it is heard, a frame around each warp."""
        rows = THREADS // A_ROW
        width = LABEL + A_ROW * (CELL + GAP) + 4
        parts, y = [], 0.0
        for row in range(rows):
            start = row * A_ROW % self.warp_size == 0
            if start:
                y += BETWEEN if row else 0
                high = self.warp_size // A_ROW * (CELL + GAP) + 20
                parts.append(
                    f'<rect x="1" y="{y:g}" width="{width - 2}" height="{high}" rx="6" fill="none" stroke="{QUIET}"/>'
                )
                name = f"warp {row * A_ROW // self.warp_size}"
                parts.append(_text(6, y + 13, name, QUIET, 12, "start"))
                y += 18
            parts.append(_text(LABEL - 4, y + CELL * 0.7, str(row * A_ROW), QUIET, 12, "end"))
            for place in range(A_ROW):
                times = self.heard[row * A_ROW + place]
                kind = 0 if times == 1 else 1 if times == 0 else 2
                x = LABEL + place * (CELL + GAP)
                adds = (row * A_ROW + place) % self.warp_size == 0
                parts.append(
                    f'<rect x="{x}" y="{y:g}" width="{CELL}" height="{CELL}" rx="3" '
                    f'fill="{(ONCE, NEVER, OFTEN)[kind]}" stroke="{EDGES[kind]}" '
                    f'stroke-width="{3 if adds else 1}"/>'
                )
                parts.append(_text(x + CELL / 2, y + CELL * 0.72, str(times), INK, 12))
            y += CELL + GAP
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -1 {width} {y + 6:g}" role="img" '
            f'aria-label="{escape(self.alt())}" class="h2d-drawing" style="width: {width}px; '
            f'max-width: 100%; height: auto; font-family: inherit">{"".join(parts)}</svg>'
        )

    def html(self) -> str:
        """Return the picture with its sentence below it."""
        colour = INK if self.right else WARNING
        return (
            f'<div class="h2d-explorer">{self.svg()}'
            f'<p style="color: {colour}">{escape(self.summary())}</p></div>'
        )

    def _repr_html_(self) -> str:
        return self.html()


class LanesExplorer(Explorer):
    """Two menus and the picture where a kernel runs; the picture alone in a static page."""

    picture: LanesPicture

    def widget(self) -> Any:
        """Return the menus and the picture as one ipywidgets box."""
        import ipywidgets

        look = {"style": {"description_width": "7em"}, "layout": {"width": "min(100%, 28em)"}}
        moved = {
            name: ipywidgets.Dropdown(
                options=list(known), value=getattr(self.picture, name), description=label, **look
            )
            for name, label, known in (
                ("warp_size", "lanes in a warp", WIDTHS),
                ("first", "first offset", FIRSTS),
            )
        }
        return self.linked(moved, LanesPicture)


def explore_lanes(warp_size: int = 64, first: int = 16) -> LanesExplorer:
    """Show whose numbers arrive in a sum by shuffles over 64 threads, for a warp's width and the loop's first offset.

    Each box is a thread, in it how often its number is in the sum; a thick edge marks the threads that add what they
    have to the result, the first of each warp. The offset is halved from step to step, down to 1.

    Parameters
    ----------
    warp_size
        Lanes in a warp, 32 or 64.
    first
        The offset of the first step: 1, 2, 4, 8, 16 or 32.

    Raises
    ------
    ValueError
        If it is given anything else.
    """
    return LanesExplorer(LanesPicture(warp_size, first))
