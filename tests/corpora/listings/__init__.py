"""Kernels that a learner would show. Behind a line stands what a person looks for in its listing:

    //! ptx load ld.global.f32, store st.global.f32; sass load LDG.E

for each language the kind of an instruction, and how it begins. In Python it stands on a line of its own, before. The first lines say which part of the kernel matters
('// part:'), and where they are needed the entry, NVRTC's options, and whether an AMD GPU is out of question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Wanted:
    """An instruction that has to be shown: its kind and how it begins, below which line."""

    line: int
    kind: str
    begins: str


def wanted(text: str, what: str, first: int = 1, arch: str = "") -> list[Wanted]:
    """Return what a person looks for in one listing of a source, whose first line has this number.

    RDNA 3 has other names for the same instructions.
    """
    found = []
    for number, line in enumerate(text.splitlines(), first):
        for part in line.partition("! ")[2].split(";") if re.search(r"(//|#)! ", line) else ():
            name, _, rest = part.strip().partition(" ")
            at = number + 1 if line.strip().startswith("#! ") else number
            if name == what:
                found += [Wanted(at, *each.split(" ", 1)) for each in rest.split(", ")]
    if arch.startswith("gfx11"):
        found = [Wanted(each.line, each.kind, _rdna(each.begins)) for each in found if each.kind != "compare"]
    return found


def _rdna(begins: str) -> str:
    for old, new in (
        ("dwordx4", "b128"),
        ("dwordx2", "b64"),
        ("dword", "b32"),
        ("ds_read", "ds_load"),
        ("ds_write2st64", "ds_store_2addr_stride64"),
        ("ds_write", "ds_store"),
        ("ubyte", "u8"),
        ("v_fma", "v_"),
        ("s_and_saveexec", "v_cmpx"),
    ):
        begins = begins.replace(old, new)
    return begins


def told(text: str, name: str) -> str | None:
    """Return what one of the first lines says: '// part: the loop'."""
    match = re.search(rf"^// {name}: (.*)$", text, re.M)
    return match.group(1) if match else None


SOURCES = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted(FOLDER.glob("*.cu")) + sorted(FOLDER.glob("*.hip"))
}
