"""Lesson 5: what its chapter says in numbers is what its notebook counts.

What the notebook stores is held against a fresh run by nbval, so a count that changes fails there first.
"""

import re
from pathlib import Path

import pytest

import host_to_device as h2d
from authoring import notebooks
from host_to_device.inspecting.errors import MissingTool

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = (ROOT / "chapters" / "05-cooperation.md").read_text(encoding="utf-8")
CELLS = {cell.id: cell for cell in notebooks.read(ROOT / "notebooks" / "05-cooperation.ipynb").cells}


def stored(cell: str) -> str:
    """Return what a cell of the notebook has printed."""
    return "".join("".join(output.get("text", "")) for output in CELLS[cell].outputs)


def columns(cell: str) -> list[list[str]]:
    """Return the rows of the table in a cell of the notebook, its head left out."""
    lines = [line for line in CELLS[cell].source.splitlines() if line.startswith("|")]
    return [[entry.strip(" `") for entry in line.strip("|").split("|")] for line in lines[2:]]


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


def test_the_tiles_have_the_room_that_the_notebook_says():
    printed = stored("occupancy") + stored("many-occupancy")
    counted = re.findall(r"tile +(\d+): occupancy (\d+%)", printed)
    said = [(row[0].split(" × ")[0], row[4]) for row in columns("many-occupancy-seen")]
    assert len(counted) == 6 and said == counted


def compiled(cells: tuple[str, ...], kernel: str, folder: Path, architecture: str) -> str:
    """Return the machine code of one of the notebook's kernels of matrices."""
    head = "from numba import float32\n\nfrom host_to_device.standins import cupy as cp, numba_cuda as cuda\n\n\n"
    path = folder / "cells.py"  # a kernel's source is read from its file
    path.write_text(head + "\n\n\n".join(CELLS[cell].source for cell in cells), encoding="utf-8")
    space = {"__file__": str(path), "__name__": "cells"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    types = None if "cpp" in kernel else ", ".join(["float32[:,::1]"] * 3)
    return str(h2d.show(eval(kernel, space), "sass", architecture, types=types, whole=True))


@pytest.mark.parametrize(
    ("row", "cells", "kernel"),
    [
        (0, ("at", "tiled"), "tiled_by(32)"),
        (1, ("many",), "many_by(4)"),
        (2, ("many-cpp", "many-cpp-of"), "many_cpp(8)"),
    ],
    ids=["tiled", "many", "many_cpp"],
)
def test_an_inner_loop_has_the_requests_that_the_notebook_says(row, cells, kernel, tmp_path):
    """No kernel has multiply-adds or reads of shared memory anywhere else, so the whole of it can be counted."""
    adds, requests = (int(cell) for cell in columns("many-about")[row][1:3])
    for architecture in "sm_80", "sm_90":
        try:
            code = compiled(cells, kernel, tmp_path, architecture)
        except MissingTool as missing:
            pytest.skip(str(missing))
        instructions = re.findall(r"^ +(?:@!?U?P\d+ )?([A-Z]\w*)", code, re.M)
        assert (instructions.count("FFMA"), instructions.count("LDS")) == (adds, requests)


def test_what_the_requests_leave_of_the_arithmetic_is_what_the_notebook_says():
    """A request of a warp takes a cycle, in which an SM makes the multiply-adds of two warps or of four."""
    assert len(columns("many-about")) == 3
    for row in columns("many-about"):
        adds, requests = int(row[1]), int(row[2])
        shares = [min(1, adds / warps / requests) for warps in (2, 4)]
        assert [f"{share:.0%}" for share in shares] == row[3:5]


def test_each_element_is_loaded_as_often_as_the_chapter_says():
    counted = re.findall(r"(\w+) [ab] (\d+)", stored("reads-run"))
    said = {row[0].split("`")[1]: row[3] for row in rows("tab-reads")}
    assert counted == [(kernel, said[kernel]) for kernel in ("matmul", "matmul_tiled") for _ in "ab"]


def test_loads_requests_and_sectors_are_what_the_chapter_says():
    plain, tiled = stored("counts-run").split("matmul_tiled")
    counted = [
        [
            sum(column)
            for column in zip(
                *(map(int, row) for row in re.findall(r"[ab] (\d+) (\d+) (\d+)", part)), strict=True
            )
        ]
        for part in (plain, tiled)
    ]
    table = [[int(cell.replace(",", "")) for cell in row[1:]] for row in rows("tab-counts")]
    assert [row[:2] for row in table[:3]] == [list(pair) for pair in zip(*counted, strict=True)]
    assert table[3][:2] == [2 * 32 * 32 * 4 // 32] * 2
    assert [row[2] for row in table] == [row[0] / row[1] for row in table]


def test_there_are_eight_broken_kernels_and_the_check_finds_seven():
    reports = [name for name in CELLS if re.fullmatch(r"bug-\w+-report", name)]
    assert len(reports) == len(rows("tab-bugs")) == 8
    silent = [
        name
        for name in reports
        for output in CELLS[name].outputs
        if "no errors found" in "".join(output.get("data", {}).get("text/plain", ""))
    ]
    assert silent == ["bug-five-report"]
