"""Put a race into words: two accesses that nothing orders, in a kernel in Python or in CUDA C++."""

from __future__ import annotations

from typing import NamedTuple

from host_to_device.standins.positions import Position, thread_of


class Party(NamedTuple):
    """One of the two accesses: its kind ("read", "write" or "atomic"), its line, and the block and thread that made it."""

    kind: str
    line: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]


def pair_of(access: Party, other: Party) -> str:
    """Return the kinds of the two accesses: "write/write", "read/write" or "atomic/plain"."""
    kinds = {access.kind, other.kind}
    return "atomic/plain" if "atomic" in kinds else "write/write" if kinds == {"write"} else "read/write"


def kind_of_race(space: str, pair: str, beyond_warp: bool) -> str:
    """Return the kind of finding.

    A read and a write in shared memory by lanes of one warp lack a `syncwarp`; `beyond_warp` says that threads of
    other warps race in shared memory as well.
    """
    return (
        "warp synchronisation" if space == "shared" and not beyond_warp and pair == "read/write" else "race"
    )


def larger_block(block: Position, warp_size: int) -> Position:
    """Return a block of this form that has at least two warps: its last axis with several threads is longer."""
    axis = max((k for k in range(3) if block[k] > 1), default=0)
    rest = block[0] * block[1] * block[2] // block[axis]
    x, y, z = block
    long = max(2 * block[axis], -(-2 * warp_size // rest))
    return (long, y, z) if axis == 0 else (x, long, z) if axis == 1 else (x, y, long)


def does(kind: str, element: str) -> str:
    """Return what a thread does with an element: "reads x[5]", "writes x[5]" or "updates x[5] atomically"."""
    return f"updates {element} atomically" if kind == "atomic" else f"{kind}s {element}"


def race_text(
    element: str, space: str, access: Party, other: Party, grid: Position, block_size: Position
) -> str:
    """Return the sentence that names the two threads, the element and the two accesses."""
    same_block = access.block == other.block
    one, second = (thread_of(each.block, each.thread, grid, block_size) for each in (access, other))
    return (
        f"{one} {does(access.kind, element)} in {space} memory, and "
        f"{second.partition(' of block')[0] if same_block else second} {does(other.kind, 'it')}"
        f"{f' at line {other.line}' if other.line != access.line else ''}, in no defined order"
    )


def advice_for(pair: str, same_block: bool) -> str:
    """Return advice for this race where the general advice does not help, otherwise an empty string."""
    if not same_block:
        return (
            "A barrier does not order blocks: let one thread own the element, use an atomic, "
            "or end the kernel between the two."
        )
    return "Let one thread own the element, or use an atomic." if pair == "write/write" else ""
