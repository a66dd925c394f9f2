"""The result of `h2d.show`: a listing as text and HTML, cut to the part that matters or whole."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from host_to_device.inspecting import pages, remarks, selecting
from host_to_device.inspecting.compiling import Compiled
from host_to_device.inspecting.instructions import Instruction, Sources
from host_to_device.inspecting.languages import gcn, ptx, sass
from host_to_device.inspecting.remarks import KINDS, Remark
from host_to_device.inspecting.rows import Row

WIDTH = 100  # the most columns of the text
CODE = 52  # columns for an instruction that has a remark beside it

# Kinds of instructions that say little about the line that they were compiled from.
LOOSE = ("argument", "wait", "other")

READERS = {"ptx": ptx.read, "sass": sass.read, "gcn": gcn.read}
NAMES = {"ptx": "PTX", "sass": "SASS", "gcn": "GCN", "cuda": "CUDA C++", "hip": "HIP"}


@dataclass(frozen=True)
class Listing:
    """The compiled code of a kernel. `print` it, or let a notebook show it.

    Attributes
    ----------
    kernel, what, arch
        The kernel's name, 'ptx', 'sass', 'gcn', 'cuda' or 'hip', and the architecture ('' for sources).
    rows
        The lines that are shown.
    part
        The name of the part that is shown.
    stamp
        The architecture and the compilers, and that nothing was run.
    text
        The whole listing, as the compiler wrote it.
    instructions, remarks
        All instructions of the kernel, and the remark on each.
    resources
        The kernel's resources, as in `Compiled`; empty where `h2d.show` did not need them.
    """

    kernel: str
    what: str
    arch: str
    rows: tuple[Row, ...]
    part: str
    stamp: str
    text: str
    instructions: tuple[Instruction, ...] = ()
    remarks: tuple[Remark, ...] = ()
    resources: dict[str, int] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The kernel, the language, and the part that is shown."""
        made = f"{NAMES[self.what]} for {self.arch}" if self.arch else NAMES[self.what]
        return f"{self.kernel}, {made}: {self.part}"

    def count(self) -> dict[str, int]:
        """Return the number of the kernel's instructions of each kind; `remarks.KINDS` names the kinds."""
        found = Counter(remark.kind for remark in self.remarks)
        return {kind: found[kind] for kind in KINDS if found[kind]}

    def __str__(self) -> str:
        lines = [*textwrap.wrap(self.title, WIDTH), ""]
        for row in self.rows:
            lines += _lines(row)
        return "\n".join([*lines, "", *textwrap.wrap(self.stamp, WIDTH)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return pages.listing(self.title, self.rows, self.stamp)


def _lines(row: Row) -> list[str]:
    """Return a row as lines of text: one, or several where the remark is long."""
    if row.sort == "source":
        return [clipped(f"line {row.number} | {row.text}", WIDTH)]
    if row.sort == "label":
        return [f"{row.text}:"]
    if row.sort == "fold":
        return [clipped(f"    … {row.text}", WIDTH)]
    if row.sort == "code":
        line = clipped(f"{row.number:>4} | {row.text}", WIDTH)
        return [line, *(f"     | ^ {each}" for each in textwrap.wrap(row.remark, WIDTH - 9))]
    if not row.remark:
        return [clipped(f"    {row.text}", WIDTH)]
    # A long remark takes columns from the code, as long as the operation stays readable.
    code = clipped(f"    {row.text}", max(CODE, WIDTH - len(row.remark)) - 2)
    first, *rest = textwrap.wrap(row.remark, WIDTH - max(CODE, len(code) + 2))
    return [f"{code:<{CODE - 2}}  {first}", *(" " * CODE + each for each in rest)]


def clipped(text: str, width: int) -> str:
    """Return a text that is at most `width` columns wide; … replaces what is cut off."""
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def read(compiled: Compiled, what: str, sources: Sources) -> tuple[list[Instruction], list[Remark]]:
    """Return a kernel's instructions in one of its listings, and a remark for each."""
    text = getattr(compiled, what)
    instructions = READERS[what](text, compiled.entry, sources)
    return instructions, remarks.of(what, instructions, compiled.resources, compiled.parameters)


def make(
    compiled: Compiled, what: str, sources: Sources, *, whole: bool = False, lines: bool = True
) -> Listing:
    """Return the listing of a compiled kernel.

    Parameters
    ----------
    compiled
        The compiled kernel.
    what
        'ptx', 'sass' or 'gcn'.
    sources
        The learner's files, by their names in the listing.
    whole
        True shows every instruction.
    lines
        False leaves out the lines of the source.
    """
    instructions, said = read(compiled, what, sources)
    if whole:
        part = selecting.Part(0, len(instructions), "everything")
        shown: list[int | tuple[int, ...]] = list(range(len(instructions)))
    else:
        part = selecting.choose(instructions, said)
        shown = selecting.fold(instructions, said, part)
    number = part.stop - part.start
    if number == len(instructions):
        of_all = f"{part.name}, {number} instructions"
    else:
        of_all = f"{part.name}, {number} of {len(instructions)} instructions (whole=True shows all)"
    return Listing(
        compiled.name,
        what,
        str(compiled.architecture),
        tuple(_rows(instructions, said, shown, sources, compiled, lines, whole)),
        of_all,
        compiled.stamp,
        getattr(compiled, what),
        tuple(instructions),
        tuple(said),
        dict(compiled.resources),
    )


def _rows(
    instructions: Sequence[Instruction],
    said: Sequence[Remark],
    shown: Sequence[int | tuple[int, ...]],
    sources: Sources,
    compiled: Compiled,
    lines: bool,
    exact: bool,
) -> list[Row]:
    rows: list[Row] = []
    before: tuple[str, int] | None = None
    targets = {each.target for each in instructions}
    places = _headings(instructions, said, shown, exact)
    for each in shown:
        instruction = instructions[each if isinstance(each, int) else each[0]]
        rows += [Row("label", label.lstrip("$")) for label in instruction.labels if label in targets]
        if isinstance(each, tuple):
            ops = Counter(selecting.root(instructions[at].op) for at in each)
            parts = ", ".join(f"{number} × {name}" for name, number in ops.most_common())
            rows.append(Row("fold", f"{len(each)} more: {parts}"))
            continue
        place = places.get(each)
        if lines and place is not None and place != before:
            rows.append(Row("source", source_line(place, sources), number=place[1]))
            before = place
        rows.append(Row("instruction", plain(instruction, compiled), said[each].text, said[each].kind))
    return rows


def _headings(
    instructions: Sequence[Instruction],
    said: Sequence[Remark],
    shown: Sequence[int | tuple[int, ...]],
    exact: bool,
) -> dict[int, tuple[str, int] | None]:
    """Return the line of the source that each shown instruction stands under.

    Compilers mix the lines. An instruction that fetches an argument stands under the line of the next instructions. A few
    index instructions of another line, between instructions of one line, stand under that one. With `exact`, each
    instruction stands under its own line.
    """
    runs: list[list[int]] = []
    for each in shown:
        if isinstance(each, tuple) or instructions[each].place is None:
            continue
        if runs and instructions[runs[-1][-1]].place == instructions[each].place:
            runs[-1].append(each)
        else:
            runs.append([each])
    found: dict[int, tuple[str, int] | None] = {}
    before: tuple[str, int] | None = None
    for number, run in enumerate(runs):
        place = instructions[run[0]].place
        after = instructions[runs[number + 1][0]].place if number + 1 < len(runs) else None
        if not exact and after is not None:
            kinds = {said[each].kind for each in run}
            loose = all(said[each].kind in LOOSE or instructions[each].op.startswith("cvta") for each in run)
            if loose or (before == after and not kinds & {*selecting.WEIGHTS, "guard", "compare", "branch"}):
                place = before if before == after else after
        found.update(dict.fromkeys(run, place))
        before = place
    return found


def source_line(place: tuple[str, int], sources: Sources) -> str:
    """Return a line of the learner's source without its indentation."""
    text, first = sources[place[0]]
    rows = text.splitlines()
    return rows[place[1] - first].strip() if 0 <= place[1] - first < len(rows) else ""


def plain(instruction: Instruction, compiled: Compiled) -> str:
    """Return an instruction with the learner's name for the kernel in place of the mangled one."""
    short = compiled.name.rpartition("::")[2].partition("<")[0]
    text = instruction.text.replace(compiled.entry, short) if compiled.entry != short else instruction.text
    return " ".join(text.replace("$", "").split())
