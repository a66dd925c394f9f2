"""Lesson 5: what its chapter says in numbers is what its notebook counts.

What the notebook stores is held against a fresh run by nbval, so a count that changes fails there first.
"""

import re
from pathlib import Path

from host_to_device import notebooks

ROOT = Path(__file__).resolve().parent.parent
CHAPTER = (ROOT / "chapters" / "05-cooperation.md").read_text(encoding="utf-8")
CELLS = {cell.id: cell for cell in notebooks.read(ROOT / "notebooks" / "05-cooperation.ipynb").cells}


def stored(cell: str) -> str:
    """Return what a cell of the notebook has printed."""
    return "".join("".join(output.get("text", "")) for output in CELLS[cell].outputs)


def rows(table: str) -> list[list[str]]:
    """Return the rows of a table of the chapter, its head left out."""
    body = CHAPTER.split(f":name: {table}\n")[1].split(":::")[0]
    return [
        re.findall(r"^(?:\* -|  -) (.*)$", row, re.M) for row in re.split(r"^(?=\* - )", body, flags=re.M)[2:]
    ]


def test_the_six_sums_cost_what_the_chapter_says():
    counted = re.findall(r"(\w+): (\d+) atomics, (\d+) requests, queue (\d+)", stored("sums-counted"))
    said = [
        (row[0].strip("`"), row[2].replace(",", ""), row[3], row[4].replace("none", "0"))
        for row in rows("tab-sums")
    ]
    assert len(counted) == 6 and said == counted


def test_the_tiles_have_the_room_that_the_chapter_says():
    counted = re.findall(r"tile +(\d+): occupancy (\d+%)", stored("occupancy"))
    said = [(row[0].split(" × ")[0], row[4]) for row in rows("tab-tiles")]
    assert len(counted) == 5 and said == counted


def test_each_element_is_read_as_often_as_the_chapter_says():
    counted = re.findall(r"(plain|tiled)_traced \[(\d)\]", stored("trace-run"))
    said = {row[0].strip("`"): row[3] for row in rows("tab-reads")}
    assert counted == [
        (kind, said[kernel])
        for kind, kernel in (("plain", "matmul"), ("tiled", "matmul_tiled"))
        for _ in "ab"
    ]


def test_there_are_eight_broken_kernels_and_the_check_finds_seven():
    reports = [name for name in CELLS if re.fullmatch(r"bug-\w+-report", name)]
    assert len(reports) == len(rows("tab-bugs")) == 8
    silent = [
        name
        for name in reports
        for output in CELLS[name].outputs
        if "nothing wrong found" in "".join(output.get("data", {}).get("text/plain", ""))
    ]
    assert silent == ["bug-five-report"]
