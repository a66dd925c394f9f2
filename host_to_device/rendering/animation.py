"""`h2d.animate`: shows boards of cells one after the other, as a moving picture of SVG and CSS.

The picture needs no script, so it moves in a static page as well as in a notebook. A checkbox above it stops it. Where
the reader's system asks for less motion, the picture stands still from the start, and the checkbox lets it move.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from host_to_device.rendering import svg
from host_to_device.rendering.palette import BLUE, DARK, IDLE

MOST_FRAMES, MOST_CELLS, MOST_ALIVE = 240, 40_000, 200_000
WIDTH = 520  # of the picture at most, in pixels


class Animation:
    """Boards of cells as a moving picture; see `animate` for the parameters."""

    def __init__(self, boards: Iterable[Any], alt: str, seconds: float = 0.15) -> None:
        self.boards = [np.asarray(board) != 0 for board in boards]
        if not self.boards:
            raise ValueError("boards is empty: give one two-dimensional array for each picture")
        shapes = {board.shape for board in self.boards}
        if len(shapes) > 1 or self.boards[0].ndim != 2:
            raise ValueError(
                f"boards have the shapes {sorted(shapes)}: give two-dimensional arrays of one shape"
            )
        alive = sum(int(board.sum()) for board in self.boards)
        for many, most, what in (
            (len(self.boards), MOST_FRAMES, "boards"),
            (self.boards[0].size, MOST_CELLS, "cells a board"),
            (alive, MOST_ALIVE, "cells to draw in all boards"),
        ):
            if many > most:
                raise ValueError(f"{many:,} {what} make a page too heavy: give at most {most:,}")
        if not isinstance(alt, str) or len(alt) < 40:
            raise ValueError("alt is too short: say what the picture shows, for readers that do not see it")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0.05 <= seconds <= 5:
            raise ValueError(f"seconds is {seconds!r}: give 0.05 to 5 seconds a board")
        self.alt, self.seconds = alt, float(seconds)

    def __repr__(self) -> str:
        rows, cols = self.boards[0].shape
        return (
            f"{len(self.boards)} boards of {rows} × {cols} cells, {self.boards[-1].sum():,} alive in the last"
        )

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> str:
        """Return the moving picture with the checkbox that stops it."""
        rows, cols = self.boards[0].shape
        many, whole = len(self.boards), len(self.boards) * self.seconds
        paths = [_path(board) for board in self.boards]
        # A page may have several animations, so each has names of its own. They are the same in every run.
        name = "h2d-a" + hashlib.sha256("".join(paths).encode()).hexdigest()[:10]
        frames = "".join(
            f'<path class="f" style="animation-delay: {number * self.seconds - whole:.2f}s" d="{path}"/>'
            for number, path in enumerate(paths)
        )
        width = min(WIDTH, 12 * cols)
        parts = (svg.box(0, 0, cols, rows, IDLE), f'<g fill="{BLUE}">{frames}</g>')
        moving = svg.picture(parts, self.alt, (0, 0, cols, rows), width, kind="h2d-boards")
        if many == 1:
            return f'{DARK}<div class="h2d-animation {name}">{moving}</div>'
        style = (
            f"<style>.{name} .f {{ visibility: hidden; animation: {name} {whole:.2f}s step-end infinite; }} "
            f"@keyframes {name} {{ 0% {{ visibility: visible; }} {100 / many:.4f}% {{ visibility: hidden; }} }} "
            f".{name} input:checked ~ svg .f {{ animation-play-state: paused; }} "
            f".{name} label {{ margin: 0 0 0 0.4em; }} .{name} svg {{ display: block; margin-top: 0.4em; }} "
            f".{name} .move {{ display: none; }} "
            f"@media (prefers-reduced-motion: reduce) {{ .{name} .f {{ animation-play-state: paused; }} "
            f".{name} input:checked ~ svg .f {{ animation-play-state: running; }} "
            f".{name} .hold {{ display: none; }} .{name} .move {{ display: inline; }} }}</style>"
        )
        box = (
            f'<input type="checkbox" id="{name}"/><label for="{name}">'
            '<span class="hold">hold the picture</span><span class="move">let it move</span></label>'
        )
        return f'{DARK}<div class="h2d-animation {name}">{style}{box}{moving}</div>'


def animate(boards: Iterable[Any], *, alt: str, seconds: float = 0.15) -> Animation:
    """Show boards of cells one after the other, again and again; a checkbox above the picture stops it.

    CSS alone moves the picture. It stands still at first where the reader's system asks for less motion.

    Parameters
    ----------
    boards
        Two-dimensional arrays of one shape, at most 240, each of at most 40,000 cells; every cell that is not 0 is drawn.
    alt
        What the picture shows, for readers who do not see it; at least 40 characters.
    seconds
        How long each board is shown, 0.05 to 5.

    Raises
    ------
    ValueError
        If there are no boards or too many, if they differ in shape or do not have two dimensions, or if `alt` or
        `seconds` is outside its limits.

    Examples
    --------
    >>> boards = [np.eye(5, k=step) for step in range(5)]
    >>> alt = "A diagonal line of cells that moves to the right, one column per step."
    >>> h2d.animate(boards, alt=alt)  # a notebook shows the moving picture
    5 boards of 5 × 5 cells, 1 alive in the last
    """
    return Animation(boards, alt, seconds)


def _path(board: np.ndarray) -> str:
    """Return the cells of a board as an SVG path: a rectangle for each run of cells in a row."""
    parts = []
    for row, cells in enumerate(board):
        edges = np.flatnonzero(np.diff(np.concatenate(([0], cells.astype(np.int8), [0]))))
        for first, end in zip(edges[::2], edges[1::2], strict=True):
            parts.append(f"M{first} {row}h{end - first}v1h-{end - first}z")
    return "".join(parts)
