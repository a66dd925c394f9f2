"""Name blocks and threads in messages as a learner counts them: "thread 5 of block 0"."""

from __future__ import annotations

Position = tuple[int, int, int]


def named(index: Position, sizes: Position) -> str:
    """Return an index along x, y and z as a number, or as a tuple where more than one axis is in use.

    >>> named((5, 0, 0), (8, 1, 1)), named((5, 0, 0), (8, 4, 1))
    ('5', '(5, 0)')
    """
    axes = max((axis for axis, size in enumerate(sizes, 1) if size > 1), default=1)
    return str(index[0]) if axes == 1 else f"({', '.join(map(str, index[:axes]))})"


def thread_of(block: Position, thread: Position, grid: Position, block_size: Position) -> str:
    """Return the name of a thread of a launch.

    Parameters
    ----------
    block, thread
        Index of the block in the grid, and of the thread in the block.
    grid, block_size
        Sizes of the launch.
    """
    return f"thread {named(thread, block_size)} of block {named(block, grid)}"
