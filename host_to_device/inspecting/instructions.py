"""PTX, SASS and GCN read into instructions, each with the line of the source that it was made of.

PTX: NVIDIA, "PTX ISA". SASS: NVIDIA, "CUDA Binary Utilities". GCN: LLVM, "User Guide for AMDGPU Backend".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

# The texts of the learner's files by their names in the listing, each with the number of its first line.
Sources = Mapping[str, tuple[str, int]]


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes
    ----------
    op
        What it does: 'ld.global.f32', 'LDG.E', 'global_load_dword'.
    operands
        What it does it with.
    guard
        The predicate that it is executed under ('@%p1', '@!P0'), or nothing.
    place
        The file and the line of the source that it was made of; None where the compiler does not say.
    labels
        The labels before it.
    target
        The label that it may go on at, None if it is no branch.
    note
        What the disassembler says besides: 'SpillRefill' of accesses to local memory that are spills.
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
    """Collects instructions, with the labels and the place that were named before them."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.found: list[Instruction] = []
        self.labels: list[str] = []
        self.place: tuple[str, int] | None = None

    def at(self, places: Iterable[tuple[str, int]]) -> None:
        """Go to the first of these places that is the learner's: the others are headers it was inlined from."""
        for path, line in places:
            name = PurePosixPath(path.replace("\\", "/")).name
            if name in self.sources and line > 0:
                self.place = (name, line)
                return
        self.place = None

    def add(self, op: str, operands: str, guard: str = "", target: str | None = None, note: str = "") -> None:
        self.found.append(Instruction(op, operands, guard, self.place, tuple(self.labels), target, note))
        self.labels = []
