"""Lesson 13: what its chapter says of the converter, the compilers and the sums is what its notebook has stored.

What the notebook stores is held against a fresh run by nbval, so an answer that changes fails there first.
"""

import re
from pathlib import Path

import pytest

from authoring import notebooks
from book.drawings import lanes_32_64
from host_to_device.exploring.lanes import heard

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = (ROOT / "chapters" / "13-hip-rocm.md").read_text(encoding="utf-8")
NOTEBOOK = notebooks.read(ROOT / "notebooks" / "13-hip-rocm.ipynb")


def printed(cell):
    """Return what a cell has printed, and its result as text."""
    found = next(each for each in NOTEBOOK.cells if each.id == cell)
    texts = (each.get("text") or each.get("data", {}).get("text/plain", "") for each in found.outputs)
    return "".join(texts)  # a cell that prints in several goes has several streams


def table(name):
    """Return the rows of one of the chapter's tables, as lists of texts."""
    inside = re.search(rf":name: {name}\n\n(.*?)^:::", CHAPTER, re.S | re.M)[1]
    return [[each.strip() for each in re.split(r"\n  - ", row)] for row in inside.split("* - ")[2:]]


def test_the_converter_left_and_changed_what_the_table_says():
    stored = dict(
        reversed(line.split(" | ", 1)) for line in printed("probes-run").splitlines() if " | " in line
    )
    rows = table("tab-probes") + table("tab-probes-rest")
    assert len(rows) == 9
    for line, became in rows:
        kind, _, _ = became.partition(",")
        begins = (
            line.strip("`").partition("(")[0] if kind == "left" else line.strip("`").replace("cuda", "hip")
        )
        found = [how.strip() for text, how in stored.items() if begins in text]
        assert found == [{"left": "as it was", "changed": "changed"}[kind]], line


def test_ten_lines_of_the_sum_are_changed_and_none_of_them_is_in_the_kernel():
    text = printed("hip")
    assert "10 of 31 lines changed" in text
    assert "Hipify changes those ten lines and nothing in the kernel." in CHAPTER
    kernel = next(each for each in NOTEBOOK.cells if each.id == "sum").source
    first = int(re.search(r"^ *(\d+) \|.*\n +\| \^ was", text, re.M)[1])
    assert first > len(kernel.splitlines())


def resources(cell, arch):
    """Return what a cell has printed of a kernel for one architecture: numbers by name."""
    line = next(each for each in printed(cell).splitlines() if each.startswith(arch))
    return {name: int(number) for name, number in re.findall(r"(\w+) (\d+)(?:,|$)", line)}


@pytest.mark.parametrize("row", table("tab-five"), ids=lambda row: row[0])
def test_the_table_of_compilers_is_what_they_said(row):
    arch = row[0].split()[0]
    of_sum, of_tile = resources("five-run", arch), resources("shared-run", arch)
    assert int(row[1]) == of_sum.get("wavefront", 32)
    scalar = of_sum.get("sgprs")
    vector = of_sum.get("registers", of_sum.get("vgprs"))
    assert (row[2], row[3]) == (str(vector), str(scalar or "not reported"))
    tile = of_tile.get("shared_bytes", of_tile.get("lds_bytes"))
    assert row[4] == f"{tile:,} bytes"
    units = next(line for line in printed("matrix-run").splitlines() if line.startswith(arch))
    # Behind the instruction stand the shape's three numbers, which its name contains.
    [[instruction, *shape]] = re.findall(r"^`(\S+)` \((\d+) × (\d+) × (\d+)\)$", row[5])
    assert instruction == units.split()[1]
    assert "x".join(shape) in instruction or "".join(shape) in instruction


def test_a_device_named_hip_is_accepted_and_holds_no_tensor():
    assert printed("torch-hip").splitlines()[0] == "hip"
    assert "Could not run 'aten::empty" in printed("torch-hip") and 'accepts `torch.device("hip")`' in CHAPTER


def test_the_repaired_kernel_is_the_one_that_ran():
    [shown] = re.findall(r"```cpp\n(.*?)```", CHAPTER, re.S)
    assert shown.strip() == printed("portable").strip()


def test_the_shuffles_are_as_many_as_the_notebook_has_counted():
    counted = {line.split(maxsplit=1)[0]: line.split()[1:] for line in printed("price-run").splitlines()}
    for place, arch in enumerate(("sm_90", "gfx942", "gfx1100")):
        assert [row[1 + place].split(",")[0] for row in table("tab-unrolled")] == counted[arch]


def test_the_sums_are_those_of_the_notebook():
    assert printed("at-32") == "(32896.0, 32896.0)" and "has to be 32,896" in CHAPTER
    assert printed("ones").split() == ["32", "lanes:", "128.0", "64", "lanes:", "64.0"]
    assert printed("mistake-run") == "(32896.0, 14400.0)" and "the kernel returns 14,400." in CHAPTER
    # the sum of 1 to 256 without the upper halves of four wavefronts
    assert sum(number for number in range(1, 257) if (number - 1) % 64 < 32) == 14_400


def test_the_check_finds_what_the_chapter_says_and_no_more():
    assert "1 error" in printed("wide-run") and "not in the mask 0xffffffff" in printed("wide-run")
    assert "no errors found" in printed("mistake")
    assert printed("repair").count("right, ") == 2 and printed("repair").count("no errors found") == 2
    assert "uninitialised read" in printed("python-check") and "32896.0" in printed("python-run")


def test_the_drawing_shows_whose_numbers_are_in_the_sum():
    steps = {first: lanes_32_64.collected(first) for first in (0, 32)}
    assert [len(lanes) for lanes in steps[0]] == [1, 2, 4, 8, 16, 32]
    assert steps[0][-1] == [lane for lane, times in enumerate(heard(64, 16)) if times]
    assert sorted(steps[0][-1] + steps[32][-1]) == [lane for lane, times in enumerate(heard(32, 16)) if times]
