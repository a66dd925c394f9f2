"""The grid explorer: which element each thread of a one-dimensional grid takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from host_to_device.exploring.explorer import Explorer, Number, Picture
from host_to_device.rendering import svg
from host_to_device.rendering.palette import BLUE_SOFT, GREEN_SOFT, IDLE, INK, ORANGE_SOFT, QUIET

BLOCK_FILLS = (BLUE_SOFT, ORANGE_SOFT, GREEN_SOFT)  # neighbouring blocks differ
CELL, GAP, LABEL = 34, 4, 84  # lengths in the SVG's own units


@dataclass(frozen=True)
class GridPicture(Picture):
    """The elements that the threads of a grid take, as a picture; see `explore_grid` for the parameters."""

    n: int
    blocks: int
    threads_per_block: int

    controls: ClassVar = {
        "n": Number("elements", 1, 96),
        "blocks": Number("blocks", 1, 8),
        "threads_per_block": Number("threads a block", 1, 16),
    }

    @property
    def threads(self) -> int:
        """Number of threads in the grid."""
        return self.blocks * self.threads_per_block

    @property
    def idle(self) -> int:
        """Number of threads that have no element."""
        return max(0, self.threads - self.n)

    @property
    def missed(self) -> int:
        """Number of elements that no thread takes."""
        return max(0, self.n - self.threads)

    @property
    def warns(self) -> bool:
        """Whether elements are left out."""
        return self.missed > 0

    def summary(self) -> str:
        """Return what the picture shows, in a sentence."""
        text = (
            f"{self.blocks} × {self.threads_per_block} = {self.threads} threads "
            f"for {self.n} element{'s' if self.n > 1 else ''}: "
        )
        if self.missed:
            return text + f"{self.missed} without a thread, elements {self.threads} to {self.n - 1}."
        if self.idle:
            return text + f"{self.idle} idle, stopped by the guard."
        return text + "one each."

    def alt(self) -> str:
        """Return what the picture shows, for readers who do not see it."""
        rows = []
        for block in range(self.blocks):
            first, last = block * self.threads_per_block, (block + 1) * self.threads_per_block - 1
            if first >= self.n:
                rows.append(f"block {block} has no elements")
            else:
                rows.append(f"block {block} has elements {first} to {min(last, self.n - 1)}")
        return f"{self.summary()} {'; '.join(rows)}."

    def svg(self) -> str:
        """Return the picture: a row for each block, a cell for each thread, and in it the thread's element."""
        step = CELL + GAP
        parts = [svg.text(0, CELL * 0.7, "threadIdx.x", QUIET)]
        for thread in range(self.threads_per_block):
            parts.append(svg.text(LABEL + thread * step + CELL / 2, CELL * 0.7, str(thread), QUIET, "middle"))
        for block in range(self.blocks):
            y = (block + 1) * step
            parts.append(svg.text(0, y + CELL * 0.65, f"block {block}", QUIET, size=13))
            for thread in range(self.threads_per_block):
                x = LABEL + thread * step
                element = block * self.threads_per_block + thread
                if element < self.n:
                    fill, edge, word, colour = BLOCK_FILLS[block % 3], "none", str(element), INK
                else:
                    fill, edge, word, colour = IDLE, QUIET, "–", QUIET
                parts.append(svg.box(x, y, CELL, CELL, fill, rx=5, stroke=edge, stroke_dasharray="3 3"))
                parts.append(svg.text(x + CELL / 2, y + CELL * 0.65, word, colour, "middle", 14))
        view = (0, 0, LABEL + self.threads_per_block * step, (self.blocks + 1) * step)
        return svg.picture(parts, self.alt(), view)


def explore_grid(n: int = 20, blocks: int = 3, threads_per_block: int = 8) -> Explorer[GridPicture]:
    """Show which element each thread of a one-dimensional grid takes; sliders move the three sizes.

    Parameters
    ----------
    n
        Number of elements, 1 to 96.
    blocks, threads_per_block
        Size of the grid, 1 to 8, and of each block, 1 to 16.

    Raises
    ------
    ValueError
        If a size is not a whole number within these limits.

    Examples
    --------
    >>> explorer = h2d.explore_grid(
    ...     n=20, blocks=3, threads_per_block=8
    ... )  # a notebook shows it with its sliders
    >>> print(explorer.picture.summary())
    3 × 8 = 24 threads for 20 elements: 4 idle, stopped by the guard.
    """
    return Explorer(GridPicture(n, blocks, threads_per_block))
