"""Lesson 9: the counts and predictions that its chapter has in tables are those that its notebook stores."""

import re
from pathlib import Path

import pytest

from host_to_device import notebooks

ROOT = Path(__file__).resolve().parent.parent
CHAPTER = (ROOT / "chapters" / "09-copy-cost.md").read_text(encoding="utf-8")
NOTEBOOK = notebooks.read(ROOT / "notebooks" / "09-copy-cost.ipynb")


def stored(cell):
    """Return what a cell has printed, by its first words: the numbers behind them."""
    found = next(each for each in NOTEBOOK.cells if each.id == cell)
    text = "".join(output.get("text", "") for output in found.outputs)
    rows = (re.fullmatch(r"(.*?\S) {2,}([\d,. ]+(?:ms)?[\d. ]*)", line) for line in text.splitlines())
    return {row[1]: row[2].replace("ms", "").replace(",", "").split() for row in rows if row}


def table(name):
    """Return the rows of one of the chapter's tables, as lists of texts."""
    inside = re.search(rf":name: {name}\n\n(.*?)^:::", CHAPTER, re.S | re.M)[1]
    return [re.split(r"\n  - ", row.strip()) for row in inside.split("* - ")[2:]]


ONE_WAY = {
    "(0)": "0 nothing kept",
    "(a)": "a printed",
    "(b)": "b item each",
    "(c) `log[i]": "c kept",
    "(c) written": "c in place",
    "(d)": "d batched",
    "(e)": "e one pass",
}


@pytest.mark.parametrize("begins", ONE_WAY)
def test_the_norms_table_is_what_the_notebook_counts(begins):
    row = next(row for row in table("tab-norm") if row[0].startswith(begins))
    operations, copies, _, waits, milliseconds, ratio = stored("norm-count")[ONE_WAY[begins]]
    assert [each.replace(",", "") for each in row[1:4]] == [operations, copies, waits]
    digits = 3 if float(milliseconds) >= 1 else 2
    assert float(row[4].removesuffix(" ms")) == float(f"{float(milliseconds):.{digits}g}")
    digits = 1 if float(ratio) > 10 else 2
    assert row[5] == f"{float(ratio):.{digits}f}"


def test_the_table_of_hidden_waits_is_what_the_notebook_counts():
    counted = stored("hidden-count")
    seen = set()
    for row in table("tab-hidden"):
        for line, (copies, _, waits, operations) in counted.items():
            if f"`{line}`" in row[0] or (line.startswith("double") and "Numba" in row[0]):
                seen.add(line)
                assert [each.strip() for each in row[1:]] == [copies, waits, operations], line
    assert len(seen) >= 9


def test_the_chapter_says_what_jacobis_count_says():
    text = "".join(
        output.get("text", "")
        for cell in NOTEBOOK.cells
        if cell.id in ("check-count", "check-best")
        for output in cell.outputs
    )
    times = {int(k): float(ms) for k, ms in re.findall(r"k = +(\d+):.*predicted +([\d.]+) ms", text)}
    assert min(times, key=times.get) == 30 and times[30] < times[1] / 2
    assert abs(int(re.search(r"k = (\d+) by the formula", text)[1]) - 30) <= 3
