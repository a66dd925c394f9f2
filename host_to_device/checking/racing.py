"""What is said of two accesses that nothing orders: the same for kernels in Python and in CUDA C++."""

from __future__ import annotations

from typing import NamedTuple


class Party(NamedTuple):
    """One of the two: "read", "write" or "atomic", at which line, by whom."""

    kind: str
    line: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]


def pair_of(access: Party, other: Party) -> str:
    """Return what met: "write/write", "read/write" or "atomic/plain"."""
    kinds = {access.kind, other.kind}
    return "atomic/plain" if "atomic" in kinds else "write/write" if kinds == {"write"} else "read/write"


def kind_of_race(space: str, pair: str, beyond_warp: bool) -> str:
    """Return the kind of finding: lanes of one warp lack a `syncwarp`, unless it does not matter who is first."""
    return (
        "warp synchronisation" if space == "shared" and not beyond_warp and pair == "read/write" else "race"
    )


def race_text(element: str, space: str, access: Party, other: Party) -> str:
    """Return the sentence that says who met whom."""
    same_block = access.block == other.block
    named = {"read": "a read", "write": "a write", "atomic": "an atomic"}

    def by(party: Party) -> str:
        return f"by {'' if same_block else f'block {party.block}, '}thread {party.thread}"

    return (
        f"{element} in {space} memory: {named[access.kind]} {by(access)} and {named[other.kind]} {by(other)}"
        f"{f' at line {other.line}' if other.line != access.line else ''}, and nothing orders them"
    )


def advice_for(pair: str, same_block: bool) -> str:
    """Return what helps where the general advice would not; nothing where it does."""
    if not same_block:
        return (
            "No barrier reaches from block to block: let one thread own the element, use an atomic, "
            "or end the kernel between the two."
        )
    return "Let one thread own the element, or use an atomic." if pair == "write/write" else ""
