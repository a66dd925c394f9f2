"""An instruction of a listing, with its line of the source; the modules of `languages` read listings into these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

# The learner's files by their names in the listing: text, and the number of its first line.
Sources = Mapping[str, tuple[str, int]]


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes
    ----------
    op
        The operation: 'ld.global.f32', 'LDG.E', 'global_load_dword'.
    operands
        The operands, as one string.
    guard
        The predicate that decides whether it executes ('@%p1', '@!P0'), or nothing.
    place
        The file and the line of the source that it was compiled from; None where the compiler does not say.
    labels
        The labels before it.
    target
        The label that it may branch to; None if it is no branch.
    note
        A remark of the disassembler: 'SpillRefill' marks an access to local memory as a register spill.
    """

    op: str
    operands: str = ""
    guard: str = ""
    place: tuple[str, int] | None = None
    labels: tuple[str, ...] = ()
    target: str | None = None
    note: str = ""

    @property
    def text(self) -> str:
        """The instruction on one line."""
        return " ".join(each for each in (self.guard, self.op, self.operands) if each)


class Reader:
    """Collects the instructions of a listing, each with the labels and the place that stand before it."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.found: list[Instruction] = []
        self.labels: list[str] = []
        self.place: tuple[str, int] | None = None

    def at(self, places: Iterable[tuple[str, int]]) -> None:
        """Set the place of the next instructions: the first of these in a file of the learner, not in a header."""
        for path, line in places:
            name = PurePosixPath(path.replace("\\", "/")).name
            if name in self.sources and line > 0:
                self.place = (name, line)
                return
        self.place = None

    def add(self, op: str, operands: str, guard: str = "", target: str | None = None, note: str = "") -> None:
        """Add an instruction at the current place, with the labels since the one before it."""
        self.found.append(Instruction(op, operands, guard, self.place, tuple(self.labels), target, note))
        self.labels = []
