"""PTX, SASS and GCN read into instructions, each with the line of the source that it was made of.

PTX: NVIDIA, "PTX ISA". SASS: NVIDIA, "CUDA Binary Utilities". GCN: LLVM, "User Guide for AMDGPU Backend".
"""

from __future__ import annotations

import re
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


def ptx(text: str, entry: str, sources: Sources) -> list[Instruction]:
    """Return the instructions of one kernel of a PTX module."""
    files = {number: path for number, path in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', text, re.M)}
    body = _ptx_body(text, entry)
    reader = Reader(sources)
    # An instruction ends with a semicolon, however many lines it takes; labels and directives with their line.
    pending = ""
    for raw in body.splitlines():
        line = re.sub(r"//.*", "", raw).strip()
        if not pending:
            if match := re.match(r"\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*?inlined_at\s+(\d+)\s+(\d+))?", line):
                first, row, outer, outer_row = match.groups()
                places = [(files.get(first, ""), int(row))]
                places += [(files.get(outer, ""), int(outer_row))] if outer else []
                reader.at(places)
                continue
            if match := re.match(r"(\$?[\w$]+):\s*(.*)$", line):
                reader.labels.append(match.group(1))
                line = match.group(2)
            line = line.strip("{} ") if re.fullmatch(r"[{}\s]*", line) else line
            if line.startswith("{") and not line.endswith(";"):
                line = line[1:].strip()
            if not line or (line.startswith(".") and not line.startswith(".reg .pred p;")):
                continue
        pending = f"{pending} {line}".strip()
        if not pending.endswith(";"):
            continue
        for each in pending.split(";"):
            _ptx_instruction(
                reader, re.sub(r"\s+", " ", each.strip(" \t{}" if each.strip() == "}" else " \t"))
            )
        pending = ""
    return reader.found


def _ptx_body(text: str, entry: str) -> str:
    start = re.search(rf"\.entry\s+{re.escape(entry)}\s*\(", text) or re.search(
        rf"\.entry\s+{re.escape(entry)}\b", text
    )
    if start is None:
        return ""
    opened = text.find("\n{", start.end())
    closed = text.find("\n}", opened)
    return text[opened + 2 : closed]


def _ptx_instruction(reader: Reader, text: str) -> None:
    text = text.strip()
    if text.startswith("{") and not text.endswith("}"):
        text = text[1:].strip()
    match = re.match(r"(@!?%?\w+\s+)?([a-z][\w.:]*)\s*(.*)$", text)
    if match is None or text.startswith("."):
        return
    guard, op, operands = (match.group(1) or "").strip(), match.group(2), match.group(3)
    target = None
    if op.startswith(("bra", "brx")):
        target = operands.split(",")[0].strip()
    reader.add(op, operands, guard, target)


def sass(text: str, entry: str, sources: Sources) -> list[Instruction]:
    """Return the instructions of one kernel as nvdisasm writes them."""
    section = re.search(rf"^\.text\.{re.escape(entry)}:\n(.*?)(?=^//-{{5,}}|\Z)", text, re.M | re.S)
    reader = Reader(sources)
    places: list[tuple[str, int]] = []
    for line in (section.group(1) if section else "").splitlines():
        if match := re.match(
            r'\s*//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?', line
        ):
            file, row, outer, outer_row = match.groups()
            places += [(file, int(row))] + ([(outer, int(outer_row))] if outer else [])
            continue
        if match := re.match(r"(\.L_\w+|\$[\w$.]+):", line):
            reader.labels.append(match.group(1))
            continue
        match = re.match(
            r"\s*/\*[0-9a-f]+\*/\s+(?:\{\s*)?(@!?\w+\s+)?([A-Z][\w.]*)\s*(.*?)\s*;?\s*\}?\s*$", line
        )
        if match is None:
            continue
        if places:
            reader.at(places)
            places = []
        guard, op, operands = (match.group(1) or "").strip(), match.group(2), match.group(3).rstrip(" ;")
        branch = re.search(r"`\((\.L_\w+)\)", operands)
        said = re.search(r'\s*\(\*"(\w+)"\*\)', operands)
        operands = operands.replace(said.group(0), "") if said else operands
        reader.add(
            op,
            re.sub(r"`\((.*?)\)", r"\1", operands),
            guard,
            branch.group(1) if branch else None,
            said.group(1) if said else "",
        )
    while reader.found and reader.found[-1].op == "NOP":  # fills the last lines of the instruction cache
        reader.found.pop()
    if len(reader.found) > 1 and (last := reader.found[-1]).op == "BRA" and last.target in last.labels:
        reader.found.pop()  # what stands behind the end, should anything ever get there
    return reader.found


def gcn(text: str, entry: str, sources: Sources) -> list[Instruction]:
    """Return the instructions of one kernel as clang writes them for AMD's GPUs."""
    section = re.search(rf"^{re.escape(entry)}:.*?\n(.*?)^\s*\.section", text, re.M | re.S)
    reader = Reader(sources)
    for line in (section.group(1) if section else "").splitlines():
        if re.match(r"\s*\.loc\s", line):
            # The comment names the place and, in brackets, where it was inlined, from the innermost outwards.
            reader.at((path, int(row)) for path, row in re.findall(r"([^\s\[\]@;]+):(\d+):\d+", line))
            continue
        if match := re.match(r"(\.L\w+):", line):
            if match.group(1).startswith(".LBB"):
                reader.labels.append(match.group(1))
            continue
        match = re.match(r"\s+([a-z]\w+)\s*(.*?)\s*(?:;.*)?$", line)
        if match is None:
            continue
        op, operands = match.groups()
        target = operands if op.startswith(("s_cbranch", "s_branch")) else None
        reader.add(op, operands, "", target)
    return reader.found


READERS = {"ptx": ptx, "sass": sass, "gcn": gcn}
