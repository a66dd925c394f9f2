"""Lesson 9: the counts and predictions of its chapter are those that its notebook stores, and follow from its prices.

What the notebook stores is held against a fresh run by nbval, so a count that changes fails there first.
"""

import re
from pathlib import Path

import pytest

from authoring import notebooks
from book.drawings import copy_transfer
from host_to_device.exploring.costs import CostPicture

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = (ROOT / "chapters" / "09-copy-cost.md").read_text(encoding="utf-8")
NOTEBOOK = notebooks.read(ROOT / "notebooks" / "09-copy-cost.ipynb")


def printed(cell):
    """Return what a cell has printed, and its result as text."""
    found = next(each for each in NOTEBOOK.cells if each.id == cell)
    texts = (each.get("text") or each.get("data", {}).get("text/plain", "") for each in found.outputs)
    return "\n".join(texts)


def stored(cell):
    """Return what a cell has printed, by its first words: the numbers behind them."""
    rows = (
        re.fullmatch(r"(.*?\S) {2,}([\d,. ]+(?:ms)?[\d. ]*)", line) for line in printed(cell).splitlines()
    )
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


def prices():
    """Return the prices that the chapter names: seconds of a request and of a wait, bytes and operations a second."""
    text = CHAPTER.partition("(cc-prices)=")[2]
    found = re.search(r"request costs ([\d.]+) µs and a wait ([\d.]+) µs on top", text)
    link, rate = re.search(r"(\d+) GB/s", text), re.search(r"([\d.]+) TFLOP/s", text)
    return float(found[1]) * 1e-6, float(found[2]) * 1e-6, float(link[1]) * 1e9, float(rate[1]) * 1e12


@pytest.mark.parametrize("begins", ONE_WAY)
def test_the_norms_predictions_follow_from_the_prices_beside_the_table(begins):
    def seconds(begins):
        name = ONE_WAY[begins]
        operations, copies, nbytes, waits = (float(each) for each in stored("norm-count")[name][:4])
        products = 1 if name.startswith("e") else 2
        asking, waiting, bandwidth, rate = prices()
        each = products * 2 * 100**3 * 1_000
        return (operations + copies) * asking + waits * waiting + nbytes / bandwidth + each / rate

    row = next(row for row in table("tab-norm") if row[0].startswith(begins))
    shown = float(row[4].removesuffix(" ms"))
    assert shown == float(f"{seconds(begins) * 1e3:.{3 if shown >= 1 else 2}g}")
    ratio = seconds(begins) / seconds("(0)")
    assert row[5].strip() == (f"{ratio:.1f}" if ratio > 10 else f"{ratio:.2f}")


def test_every_row_of_the_tables_is_held():
    assert len(table("tab-norm")) == len(ONE_WAY) == len(stored("norm-count"))
    assert all(any(row[0].startswith(begins) for begins in ONE_WAY) for row in table("tab-norm"))


def test_the_table_of_hidden_waits_is_what_the_notebook_counts():
    counted = stored("hidden-count")
    seen = set()
    for row in table("tab-hidden"):
        before = len(seen)
        for line, (copies, _, waits, operations) in counted.items():
            if f"`{line}`" in row[0] or (line.startswith("double") and "Numba" in row[0]):
                seen.add(line)
                assert [each.strip() for each in row[1:]] == [copies, waits, operations], line
        assert len(seen) > before, f"the notebook does not count {row[0]}"


def test_the_chapter_says_how_the_waits_of_print_grow():
    six, twelve, hundred, five_thousand = (int(each) for each in re.findall(r"\d+", printed("hidden-print")))
    assert stored("hidden-count")["print(t)"][2] == str(six)
    assert f"So {six} is no constant: for twelve numbers it is {twelve}," in CHAPTER
    assert five_thousand <= six < twelve < hundred


def test_the_chapter_says_what_jacobis_count_says():
    text = printed("check-count") + printed("check-best")
    times = {int(k): float(ms) for k, ms in re.findall(r"k = +(\d+):.*, ([\d.]+) ms", text)}
    assert min(times, key=times.get) == 30 and times[30] < times[1] / 2
    assert abs(int(re.search(r"k = (\d+) by the formula", text)[1]) - 30) <= 3


def test_the_chapter_says_what_the_loops_counts_say():
    counted = printed("loss-each-count")
    copies, nbytes = re.search(r"device to host +(\d+) +(\d+)", counted).groups()
    assert (copies, nbytes) == ("200", "800")
    assert "two hundred copies from the device to the host, 800 bytes in all" in CHAPTER
    assert re.search(r" 200  losses\.append\(loss\.item\(\)\)", counted)
    assert "`losses.append(loss.item())`, 200 waits" in CHAPTER
    assert re.search(r"  1  return log\.tolist\(\)", printed("loss-kept-count"))
    assert re.search(r'  4  loss = f"', printed("bar-run")) and "at every fiftieth wait four times" in CHAPTER


def test_the_chapter_says_what_the_formula_of_one_copy_says():
    asking, waiting, link, _ = prices()
    assert pytest.approx(asking + waiting) == copy_transfer.LATENCY and link == copy_transfer.LINK
    assert f"At {copy_transfer.LATENCY * copy_transfer.PINNED / 1e3:.0f} kilobytes" in CHAPTER
    assert f"cost the same {4e6 / link * 1e6:.0f} µs" in CHAPTER
    assert f"a thousand requests add {1_000 * asking * 1e3:.1f} ms" in CHAPTER
    assert "= 4.05 ms" in printed("small-predict") and "= 254 µs" in printed("small-predict")


def test_the_chapter_says_where_the_explorers_lines_cross():
    first = CostPicture().crossover
    assert round(first, -3) == 15_000 and "cross at some fifteen thousand elements" in CHAPTER
    assert CostPicture(batch=100).crossover == pytest.approx(first / 100)
    assert CostPicture(k=10).crossover < first / 2
    assert CostPicture(device_rate=100_000).crossover > 0.9 * first
    assert CostPicture(operations=1).crossover is None
