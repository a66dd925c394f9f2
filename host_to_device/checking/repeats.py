"""Find stores that blocks repeat: the same threads store the same values in the same elements, whatever the block.

That is no race, because equal values leave the same result in every order. But it is what happens where an index was
meant to count over the whole grid and lacks `blockIdx`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from host_to_device.checking.outcomes import element_of

Block = tuple[int, int, int]


class Done(NamedTuple):
    """What one block does at one line in global memory.

    Attributes
    ----------
    block
        The block.
    kind
        "read", "write" or "atomic".
    place
        File and line.
    array, index
        The array, and one of its elements.
    several
        Whether it reaches several elements.
    what
        A value that is equal for two blocks if the same threads do the same with the same elements.
    """

    block: Block
    kind: str
    place: tuple[str, int]
    array: str
    index: Any
    several: bool
    what: Any


class Recorder:
    """Takes down the accesses to global memory of an interpreted launch, as the notes on performance do."""

    def __init__(self) -> None:
        # Block, kind, place and array → which threads reached which addresses.
        self.done: dict[tuple, set[tuple[int, int]]] = {}

    def access(
        self, place: tuple, kind: str, space: str, name: str, address: int, size: int, block: int, thread: int
    ) -> None:
        """Take down one access."""
        if space == "global":
            self.done.setdefault((block, kind, place, name), set()).add((thread, address))

    def barrier(self, block: int) -> None:
        """Ignore a barrier."""

    def end_of_block(self, block: int) -> None:
        """Ignore the end of a block."""


def repeated_stores(done: Iterable[Done], grid: Block) -> list[str]:
    """Return a remark for each line at which blocks along an axis of the grid repeat one another's stores.

    Parameters
    ----------
    done
        What blocks do, of all blocks or of some: along each axis at least two.
    grid
        The blocks of the launch.
    """
    at: dict[tuple, dict[Block, Done]] = {}
    for each in done:
        at.setdefault((each.kind, each.place, each.array), {})[each.block] = each
    blocks = {block for by_block in at.values() for block in by_block}
    remarks = []
    for (kind, place, array), by_block in at.items():
        if kind != "write":
            continue
        axes = [axis for axis in range(3) if grid[axis] > 1 and _same(by_block, blocks, axis)]
        one = next(iter(by_block.values()))
        if not one.several:  # a flag, unless blocks do nothing else, either
            axes = [axis for axis in axes if all(_same(other, blocks, axis) for other in at.values())]
        if axes:
            missing = " and ".join(f"blockIdx.{'xyz'[axis]}" for axis in axes)
            index = one.index if isinstance(one.index, tuple) else (one.index,)
            remarks.append(
                f"All blocks along {' and '.join('xyz'[axis] for axis in axes)} store the same values in the same elements, "
                f"such as {element_of(array, index)} at line {place[1]}. That is no race, but perhaps the index lacks {missing}."
            )
    return remarks


def _same(by_block: dict[Block, Done], blocks: set[Block], axis: int) -> bool:
    """Return whether blocks that differ along this axis alone do the same, and there are such blocks."""
    groups: dict[tuple, list[Block]] = {}
    for block in blocks:
        groups.setdefault(tuple(number for k, number in enumerate(block) if k != axis), []).append(block)
    compared = [group for group in groups.values() if len(group) > 1]
    whats = [[by_block[block].what if block in by_block else None for block in group] for group in compared]
    return bool(compared) and all(len(set(what)) == 1 for what in whats) and any(what[0] for what in whats)
