"""A listing cut down to its instructions, each with its line of the source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from host_to_device.inspecting import listing
from host_to_device.inspecting.compiling import Compiled
from host_to_device.inspecting.instructions import Instruction

MOST = 60  # the most lines of a listing that is stored whole
AROUND = 1  # lines shown before and after a key instruction of a longer one


@dataclass(frozen=True)
class Line:
    """An instruction or a label with its line of the source; or, as `text`, how many lines are left out."""

    text: str
    source: int | None = None
    number: int | None = None  # its place among the listing's lines; None for left-out lines


def lines(instructions: Sequence[Instruction], made: Compiled) -> list[Line]:
    """Return the lines of a listing: the instructions, and the labels that an instruction names."""
    found: list[tuple[str, int | None]] = []
    targets = {each.target for each in instructions}
    for each in instructions:
        source = each.place[1] if each.place else None
        found += [(f"{label.lstrip('$')}:", source) for label in each.labels if label in targets]
        text = re.sub(r"\(\*.*?\*\)", "", listing.plain(each, made))  # without a remark of the disassembler
        text = re.sub(r"`?\(?(\.L_x_\d+)\)?", r"\1", text.replace(".reuse", ""))
        found.append((re.sub(r"\s+", " ", text).strip(), source))
    return [Line(text, source, number) for number, (text, source) in enumerate(found, 1)]


def excerpt(found: list[Line], key: str) -> list[Line]:
    """Return a listing; of a long one, only the beginning, the end and the lines around key instructions."""
    if len(found) <= MOST:
        return found
    by_word: dict[str, list[int]] = {}
    for place, line in enumerate(found):
        if re.search(key, line.text):
            by_word.setdefault(line.text.split()[0], []).append(place)
    shown = {*range(8), *range(len(found) - 4, len(found))}
    for places in by_word.values():
        for place in (*places[:2], *places[-2:]):
            shown |= set(range(place - AROUND, place + AROUND + 1))
    result: list[Line] = []
    gap = 0
    for place, line in enumerate(found):
        if place in shown:
            if gap:
                result.append(Line(f"{gap} more"))
            gap = 0
            result.append(line)
        else:
            gap += 1
    return result
