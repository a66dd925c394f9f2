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
    "(c)": "c list",
    "(d)": "d slots",
    "(e)": "e in place",
    "(f)": "f batched",
    "(g)": "g one pass",
}


NORM_TABLES = "tab-norm", "tab-norm-times"


def row_of(begins):
    """Return a way's rows of the norms tables: its three counts, its four times in milliseconds, and its ratio."""
    rows = (next(row for row in table(name) if row[0].startswith(begins)) for name in NORM_TABLES)
    counts, predicted = ([each.strip().replace(",", "") for each in row[1:]] for row in rows)
    *times, ratio = predicted
    return counts, [float(each) for each in times], ratio


@pytest.mark.parametrize("begins", ONE_WAY)
def test_the_norms_table_is_what_the_notebook_counts(begins):
    operations, copies, waits, milliseconds, ratio = stored("norm-count")[ONE_WAY[begins]]
    counts, (*_, shown), shown_ratio = row_of(begins)
    assert counts == [operations, copies, waits]
    digits = 3 if float(milliseconds) >= 1 else 2
    assert float(f"{shown:.{digits}g}") == float(f"{float(milliseconds):.{digits}g}")
    digits = 1 if float(ratio) > 10 else 2
    assert shown_ratio == f"{float(ratio):.{digits}f}"


def prices():
    """Return the prices that the chapter names.

    Seconds of a launch and of a wait; bytes a second over the link and in the device's memory; operations a second.
    """
    found = re.search(
        r"Since ([\d.]+) µs is .*? the host's time for a launch\.\nA wait adds [\d.]+ − \1 = ([\d.]+) µs",
        CHAPTER,
    )
    link = re.search(r"bytes ÷ (\d+) GB/s", CHAPTER)
    limits = re.search(r"peak rate, ([\d.]+) TFLOP/s.*?peak bandwidth, (\d+) GB/s", CHAPTER, re.S)
    launch, wait = (float(each) * 1e-6 for each in found.groups())
    return launch, wait, float(link[1]) * 1e9, float(limits[2]) * 1e9, float(limits[1]) * 1e12


@pytest.mark.parametrize("begins", ONE_WAY)
def test_the_norms_predictions_follow_from_the_chapters_prices(begins):
    def times(begins):
        name = ONE_WAY[begins]
        operations, copies, waits = (float(each) for each in stored("norm-count")[name][:3])
        launch, wait, _, memory, rate = prices()
        products, arrays = (1, 4) if name.startswith("g") else (2, 5)
        arithmetic = products * 2 * 100**3 * 1_000 / rate
        traffic = arrays * 1_000 * 100 * 100 * 4 / memory
        host, device = (operations + copies) * launch, max(arithmetic, traffic)
        return host, device, waits * wait, max(host, device) + waits * wait

    _, shown, shown_ratio = row_of(begins)
    for each, seconds in zip(shown, times(begins), strict=True):
        milliseconds = seconds * 1e3
        assert each == (float(f"{milliseconds:.3g}") if milliseconds >= 1 else round(milliseconds, 3))
    ratio = times(begins)[-1] / times("(0)")[-1]
    assert shown_ratio == (f"{ratio:.1f}" if ratio > 10 else f"{ratio:.2f}")


def test_every_row_of_the_tables_is_held():
    for name in NORM_TABLES:
        assert len(table(name)) == len(ONE_WAY) == len(stored("norm-count"))
        assert all(any(row[0].startswith(begins) for begins in ONE_WAY) for row in table(name))


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
    rows = re.findall(r"(\d+): +(\d+) whole, +(\d+) losses", printed("hidden-print"))
    waits = {int(amount): (int(whole), int(losses)) for amount, whole, losses in rows}
    assert stored("hidden-count")["print(t)"][2] == str(waits[6][0])
    assert [round(each / 100) for each in waits[100]] == [3, 2]
    assert "about three waits for each whole number printed, and about two for each loss" in CHAPTER
    assert max(waits[5_000]) < min(waits[12]) < min(waits[100])


def test_the_chapter_says_what_jacobis_count_says():
    text = printed("check-count") + printed("check-best")
    times = {int(k): float(ms) for k, ms in re.findall(r"k = +(\d+):.*, ([\d.]+) ms", text)}
    assert min(times, key=times.get) == 30 and times[30] < times[1] / 2
    assert abs(int(re.search(r"k = (\d+) by the formula", text)[1]) - 30) <= 3


def test_the_chapter_says_what_the_loops_counts_say():
    counted = printed("loss-each-count")
    assert "count=200, bytes=800" in counted and "200 waits" in counted
    assert "How many copies and waits do 200 steps cause?" in CHAPTER
    assert "That is a copy and a wait in each step." in CHAPTER
    assert re.search(r" 200  losses\.append\(loss\.item\(\)\)", printed("loss-waits"))
    assert "names the line that waits, `losses.append(loss.item())`" in CHAPTER
    assert re.search(r"  1  return torch\.stack\(losses\)\.tolist\(\)", printed("loss-list-count"))
    ways = stored("loss-ways")
    each, listed, slots = ([int(n) for n in ways[way]] for way in ("item_each", "stacked", "in_slots"))
    assert each[1:] == [200, 200] and listed == [each[0] + 1, 1, 1] and slots == [each[0], 201, 1]
    assert re.search(r"  4  print\(f", printed("bar-run")) and "in the notebook waits four times" in CHAPTER


def test_the_chapter_says_when_the_host_is_the_limit():
    launch = prices()[0]
    launches = int(re.search(r"(\d+) operations", printed("step-timeline"))[1])
    assert f"needs {launches} launches a step, which take {launches * launch * 1e6:.0f} µs" in CHAPTER
    host, *device = (float(each) for each in re.findall(r"([\d.]+) µs", printed("step-limit")))
    assert device[0] < device[1] < host < device[2]


def test_the_chapter_says_what_the_formula_of_one_copy_says():
    launch, wait, link, _, _ = prices()
    assert pytest.approx(launch + wait) == copy_transfer.LATENCY and link == copy_transfer.PINNED
    assert f"`latency × bandwidth` = {copy_transfer.LATENCY * link / 1e3:.0f} kB" in CHAPTER
    for size, *terms in table("tab-one-copy"):
        number, unit = size.split()
        nbytes = float(number) * {"kB": 1e3, "MB": 1e6}[unit]
        seconds = copy_transfer.LATENCY, nbytes / link, copy_transfer.LATENCY + nbytes / link
        shown = [float(term.removesuffix(" µs")) for term in terms]
        assert shown == pytest.approx([each * 1e6 for each in seconds], rel=6e-3, abs=0.06)
    many, one = 1_000 * (launch + wait) + 4e6 / link, launch + wait + 4e6 / link
    assert f"take {many * 1e3:.1f} ms; one copy of 4 MB takes {one * 1e6:.0f} µs" in CHAPTER
    assert f"The bytes cost {4e6 / link * 1e6:.0f} µs both times" in CHAPTER
    assert f"= {many * 1e3:.2f} ms" in printed("small-predict")
    assert f"= {one * 1e6:.0f} µs" in printed("small-predict")


def test_the_chapter_says_when_two_devices_take_half_the_time():
    counted = printed("two-count")
    assert "wait_between 2 of 4" in counted and "queue_both   4 of 4" in counted
    rows = re.findall(r"^ *(\d+) +([\d.]+) +([\d.]+)$", printed("two-price"), re.M)
    gains = {int(side): (float(apart), float(meeting)) for side, apart, meeting in rows}
    assert gains[100][0] < 1 < 1.95 < gains[4_096][0] <= 2
    assert all(meeting < apart for apart, meeting in gains.values())


def test_the_chapter_says_where_the_explorers_lines_cross():
    first = CostPicture(bandwidth=12).crossover
    assert round(first, -3) == 17_000 and "cross at some seventeen thousand elements" in CHAPTER
    assert CostPicture(bandwidth=12, batch=100).crossover == pytest.approx(first / 100)
    assert CostPicture(bandwidth=12, operations=1).crossover is None
    assert CostPicture(bandwidth=12, k=10).crossover < first / 2
    assert CostPicture(bandwidth=12, device_rate=100_000).crossover > 0.9 * first
