"""A compiler's listing, cut down to its instructions, each with the line of the source that it is from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from host_to_device.inspecting import listing
from host_to_device.inspecting.compiling import Compiled
from host_to_device.inspecting.instructions import Instruction

MOST = 60  # lines of a listing that are stored whole
AROUND = 1  # lines shown before and after a key instruction of a longer one


@dataclass(frozen=True)
class Line:
    """An instruction or a label, and the line of the source that it is from; or, as `text`, how many are left out."""

    text: str
    source: int | None = None
    number: int | None = None  # its place among the listing's lines, None for what is left out


def lines(instructions: Sequence[Instruction], made: Compiled) -> list[Line]:
    """Return the lines of a listing: the instructions, and the labels that one of them names."""
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
    """Return a listing, or of a long one its beginning, its end and what is around its key instructions."""
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
