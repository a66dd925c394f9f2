"""Finds the part of a listing that matters: the loop that does the work or, without one, the code from guard to store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from host_to_device.inspecting.instructions import Instruction
from host_to_device.inspecting.remarks import Remark

# How much an instruction of a kind counts towards its loop being the one that matters.
WEIGHTS = {
    **{"tensor": 8, "load": 2, "store": 2, "shared": 2, "atomic": 2, "fma": 2, "copy": 2},
    **{"arithmetic": 1, "double": 2, "shuffle": 2, "barrier": 1, "spill": 1},
}
RETRIED = re.compile(r"\.cas\.|CAS|cmpswap|cmpst")  # a loop that emulates an atomic which the GPU lacks
MEMORY = ("load", "store", "shared", "atomic", "copy", "spill")
MOST = 32  # the most lines of a part that are shown in full


@dataclass(frozen=True)
class Part:
    """A part of a listing: instructions `start` to `stop` (exclusive), and its name."""

    start: int
    stop: int
    name: str


def loops(instructions: Sequence[Instruction]) -> list[tuple[int, int]]:
    """Return the loops: first and last instruction of each, found by backward branches."""
    at = {label: place for place, each in enumerate(instructions) for label in each.labels}
    return sorted(
        {
            (at[each.target], place)
            for place, each in enumerate(instructions)
            if each.target in at and at[each.target] <= place
        }
    )


def choose(instructions: Sequence[Instruction], remarks: Sequence[Remark]) -> Part:
    """Return the part of a listing that matters."""
    found = loops(instructions)
    innermost = [
        loop
        for loop in found
        if not any(other != loop and loop[0] <= other[0] and other[1] <= loop[1] for other in found)
    ]

    def weight(loop: tuple[int, int]) -> int:
        if any(RETRIED.search(each.op) for each in instructions[loop[0] : loop[1] + 1]):
            return 0  # it retries an atomic: no loop of the source
        return sum(WEIGHTS.get(remark.kind, 0) for remark in remarks[loop[0] : loop[1] + 1])

    # A loop that only waits does no work: to count, a loop needs arithmetic and an access, or two accesses.
    working = [loop for loop in innermost if weight(loop) > 2]
    if working:
        start, stop = max(working, key=weight)
        return Part(start, stop + 1, "the loop that matters" if len(found) > 1 else "the loop")
    return _straight(instructions, remarks)


def _straight(instructions: Sequence[Instruction], remarks: Sequence[Remark]) -> Part:
    """Return the part from the guard to the last store or, without a guard, from the first access to the last."""
    last = max((place for place, each in enumerate(remarks) if each.kind in MEMORY), default=None)
    if last is None:
        return Part(0, len(instructions), "everything")
    first = next(place for place, each in enumerate(remarks) if each.kind in MEMORY)
    guard = next((place for place, each in enumerate(remarks[:first]) if each.kind == "guard"), None)
    if guard is None:
        return Part(first, last + 1, "from the first access to memory to the last")
    # The comparison that sets the guard's predicate stands a few instructions before it.
    start = next((place for place in range(guard, -1, -1) if remarks[place].kind == "compare"), guard)
    end = "store" if remarks[last].kind == "store" else "access to memory"
    return Part(start, last + 1, f"from the guard to the last {end}")


def fold(
    instructions: Sequence[Instruction], remarks: Sequence[Remark], part: Part
) -> list[int | tuple[int, ...]]:
    """Return the instructions of a part that are shown: a place each, or a tuple of places for a folded run.

    A part of at most `MOST` instructions is shown in full. In a longer one, runs of index arithmetic and the like are
    folded first, then instructions that repeat ones already shown.
    """
    places = list(range(part.start, part.stop))
    if len(places) <= MOST:
        return [*places]
    targets = {each.target for each in instructions}
    starts = {place for place in places if targets.intersection(instructions[place].labels)}
    shown: list[int | tuple[int, ...]] = []
    for often in (1000, 6, 4, 3, 2, 1):
        shown = _runs(_left_out(instructions, remarks, places, often), places, starts)
        if len(shown) <= MOST:
            break
    return shown


def _left_out(
    instructions: Sequence[Instruction], remarks: Sequence[Remark], places: Sequence[int], often: int
) -> set[int]:
    """Return the places to fold: instructions that do no work, and work already shown `often` times."""
    seen: Counter[tuple[str, str]] = Counter()
    found = set()
    for place in places:
        kind, each = remarks[place].kind, instructions[place]
        if kind in ("barrier", "guard") or (kind == "branch" and each.target is not None):
            continue
        seen[kind, root(each.op)] += 1
        if kind not in WEIGHTS or seen[kind, root(each.op)] > often:
            found.add(place)
    return found


def _runs(left_out: set[int], places: Sequence[int], starts: set[int]) -> list[int | tuple[int, ...]]:
    """Return the places that are shown and the folded runs; a run of one instruction is shown."""
    shown: list[int | tuple[int, ...]] = []
    for place in places:
        if place not in left_out:
            shown.append(place)
        elif shown and isinstance(shown[-1], tuple) and place not in starts:
            shown[-1] = (*shown[-1], place)
        else:
            shown.append((place,))
    return [each[0] if isinstance(each, tuple) and len(each) == 1 else each for each in shown]


def root(op: str) -> str:
    """Return an operation's name without modifiers: 'ld.global', 'LDG', 'global_load'."""
    if op[:1].isupper():
        return op.partition(".")[0]
    if "." in op:
        parts = op.split(".")
        return (
            ".".join(parts[:2]) if parts[0] in ("ld", "st", "atom", "red", "cp", "mma", "wmma") else parts[0]
        )
    for ending in ("_e32", "_e64", "_sdwa", "_dpp"):
        op = op.removesuffix(ending)
    return op
