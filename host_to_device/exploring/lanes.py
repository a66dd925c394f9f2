"""The lanes explorer: whose numbers arrive in a sum by shuffles, for a warp size and a first offset of the loop.

A block of 64 threads adds its numbers. In each step a thread adds the number of the lane that is `offset` above it,
by the rule of `__shfl_down_sync`: where there is no such lane, the thread gets its own number. The offset is halved
from step to step. At the end the first lane of each warp adds its number to the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from host_to_device.exploring.explorer import Choice, Explorer, Picture
from host_to_device.rendering import svg
from host_to_device.rendering.palette import (
    BLUE,
    BLUE_SOFT,
    IDLE,
    ORANGE,
    ORANGE_SOFT,
    PURPLE,
    QUIET,
)

THREADS = 64

A_ROW = 16  # threads in a row of the picture, so that a phone shows them unscaled
LABEL, CELL, GAP, BETWEEN = 30, 20, 2, 14  # lengths in the SVG's own units
NEVER, ONCE, OFTEN = (ORANGE_SOFT, ORANGE), (BLUE_SOFT, BLUE), (IDLE, PURPLE)  # fill and edge


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


@dataclass(frozen=True)
class LanesPicture(Picture):
    """How often each number is in a sum by shuffles, as a picture; see `explore_lanes` for the parameters."""

    warp_size: int = 64
    first: int = 16

    controls: ClassVar = {
        "warp_size": Choice("lanes in a warp", (32, 64)),
        "first": Choice("first offset", (1, 2, 4, 8, 16, 32)),
    }

    @cached_property
    def heard(self) -> list[int]:
        """How often each thread's number is in the sum."""
        return heard(self.warp_size, self.first)

    @property
    def right(self) -> bool:
        """Whether each number is in the sum once."""
        return set(self.heard) == {1}

    @property
    def warns(self) -> bool:
        """Whether the sum is wrong."""
        return not self.right

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
        """Return what the picture shows, for readers who do not see it."""
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
        """Return the picture: in each thread's box how often its number is in the sum, a frame around each warp."""
        width = LABEL + A_ROW * (CELL + GAP) + 4
        parts, y = [], 0.0
        for row in range(0, THREADS, A_ROW):
            if row % self.warp_size == 0:
                y += BETWEEN if row else 0
                high = self.warp_size // A_ROW * (CELL + GAP) + 20
                parts.append(svg.box(1, y, width - 2, high, "none", rx=6, stroke=QUIET))
                parts.append(svg.text(6, y + 13, f"warp {row // self.warp_size}", QUIET))
                y += 18
            parts.append(svg.text(LABEL - 4, y + CELL * 0.7, str(row), QUIET, "end"))
            for place in range(A_ROW):
                thread, x = row + place, LABEL + place * (CELL + GAP)
                times = self.heard[thread]
                fill, edge = (NEVER, ONCE, OFTEN)[min(times, 2)]
                thick = 1 if thread % self.warp_size else 3
                parts.append(svg.box(x, y, CELL, CELL, fill, rx=3, stroke=edge, stroke_width=thick))
                parts.append(svg.text(x + CELL / 2, y + CELL * 0.72, str(times), anchor="middle"))
            y += CELL + GAP
        return svg.picture(parts, self.alt(), (0, -1, width, y + 6))


def explore_lanes(warp_size: int = 64, first: int = 16) -> Explorer[LanesPicture]:
    """Show whose numbers arrive in a sum by shuffles over 64 threads, for a warp size and the loop's first offset.

    Each box is a thread; the number in it says how often the thread's number is in the sum. A thick edge marks the
    threads that add their number to the result, the first of each warp. The offset is halved from step to step, down
    to 1.

    Parameters
    ----------
    warp_size
        Lanes in a warp, 32 or 64.
    first
        The offset of the first step: 1, 2, 4, 8, 16 or 32.

    Raises
    ------
    ValueError
        If either is any other value.

    Examples
    --------
    >>> explorer = h2d.explore_lanes(warp_size=64, first=16)  # the last line of a notebook's cell shows it
    >>> print(explorer.picture.summary())
    Warps of 64 lanes, first offset 16: 32 of 64 numbers are in the sum once, 32 of 64 are missing.
    """
    return Explorer(LanesPicture(warp_size, first))
