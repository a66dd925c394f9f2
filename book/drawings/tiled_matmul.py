"""A product of 8 × 8 matrices through tiles of 4 × 4, step by step, as block 1 and its thread 6 see it.

What is marked follows from the kernel's own indices: in step s thread (tx, ty) of the block at (bx, by) fetches
a[4 by + ty, 4 s + tx] and b[4 s + ty, 4 bx + tx], and uses row ty of the tile of a and column tx of the tile of b.
"""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from host_to_device.rendering.palette import COLOURS

SIDE, TILE = 8, 4
BX, BY, TX, TY = 1, 0, 2, 1


def _matrix(ax: Axes, tile: tuple[int, int], fill: str) -> None:
    """Draw a matrix with one tile of it filled; `tile` is its first row and column."""
    for row in range(SIDE):
        for col in range(SIDE):
            inside = 0 <= row - tile[0] < TILE and 0 <= col - tile[1] < TILE
            ax.add_patch(
                plt.Rectangle((col, row), 0.9, 0.9, color=fill if inside else COLOURS["idle"], linewidth=0)
            )
    ax.set(xlim=(-0.3, SIDE + 0.2), ylim=(SIDE + 0.2, -0.3), aspect="equal", xticks=[], yticks=[])
    ax.axis("off")


def _fetched(ax: Axes, row: int, col: int) -> None:
    ax.add_patch(plt.Rectangle((col, row), 0.9, 0.9, color=COLOURS["blue"], linewidth=0))


def _used(ax: Axes, row: int, col: int, high: int, wide: int) -> None:
    corner = (col - 0.1, row - 0.1)
    size = (wide - 0.1 + 0.2, high - 0.1 + 0.2)
    ax.add_patch(plt.Rectangle(corner, *size, fill=False, edgecolor=COLOURS["orange"], linewidth=2))


def draw() -> Figure:
    fig, axes = plt.subplots(2, 3, figsize=(5.6, 4.3))
    for step, (a, b, c) in enumerate(axes):
        _matrix(a, (BY * TILE, step * TILE), COLOURS["blue-soft"])
        _fetched(a, BY * TILE + TY, step * TILE + TX)
        _used(a, BY * TILE + TY, step * TILE, 1, TILE)
        _matrix(b, (step * TILE, BX * TILE), COLOURS["blue-soft"])
        _fetched(b, step * TILE + TY, BX * TILE + TX)
        _used(b, step * TILE, BX * TILE + TX, TILE, 1)
        _matrix(c, (BY * TILE, BX * TILE), COLOURS["green-soft"])
        _used(c, BY * TILE + TY, BX * TILE + TX, 1, 1)
        for ax, name in ((a, "a"), (b, "b"), (c, "c")):
            ax.set_title(f"step {step}: {name}" if ax is a else name, color=COLOURS["ink"], fontsize=11)
    return fig
