"""Ratios and comparisons that chapters state about an H100 follow from its record, to the digits that they print.

The numbers themselves come from the record by `{measured}`; what is computed from them is typed, and held here.
"""

import json
import re
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECORD = json.loads((ROOT / "measurements" / "nvidia-h100-80gb-hbm3.json").read_text(encoding="utf-8"))
COPY = RECORD["limits"]["copy bandwidth"]["value"]


def median(experiment: str, *place: str | float) -> float:
    """Return the median of the one sample of an experiment that is at this place: series, x, or both."""
    [found] = [
        sample["values"]
        for sample in RECORD["experiments"][experiment]["samples"]
        if [each for each in (sample.get("series"), sample["x"]) if each not in ("", None)] == list(place)
    ]
    return statistics.median(found)


def added(way: str) -> float:
    return median("add-by-size", way, 100_000_000)


def product(way: str) -> float:
    return median("matmul-by-size", way, 4_096)


def vec_add(way: str) -> float:
    return median("vec-add", way, 10_000_000)


def kernel(name: str) -> float:
    return median("first-kernels", name)


def cooperating(name: str) -> float:
    return median("cooperation", name)


# A chapter, what it says with one group for each number, and what the record has for each group.
SAID = [
    ("01", r"takes (\d+) times as long as 16 cores", [added("GPU with copies") / added("all cores")]),
    ("01", r"the H100 is (\d+) times as fast as the cores", [added("all cores") / added("GPU resident")]),
    ("01", r"copies take (\d+) % of the H100's time", [100 * (1 - product("GPU resident") / product("GPU with copies"))]),
    ("03", r"`copy_columns` takes ([\d.]+) times as long", [kernel("copy by rows") / kernel("copy by columns")]),
    (
        "04",
        r"array code reaches (\d+) % of that, and a warp for each row (\d+) %",
        [100 * median("distance-levels", "array code") / COPY, 100 * median("distance-by-warp", "a warp for each row") / COPY],
    ),
    ("05", r"the gain is (\d+) %", [100 * (cooperating("transpose 33") / cooperating("transpose 32") - 1)]),
    ("05", r"\((2[\d.]+) GB/s / 4 bytes\)", [cooperating("sum_atomic") / 1e9]),
    ("05", r"\((2\d+) GB/s / 512 bytes\)", [cooperating("sum_tree") / 1e9]),
    ("05", r"reach (\d+) and (\d+) %", [100 * cooperating(name) / COPY for name in ("sum_many", "sum_shuffle")]),
    ("07", r"pooling takes (\d+) % of the copy's time", [100 * median("pooling", "pooling") / median("pooling", "copy")]),
]  # fmt: skip


def chapter(number: str) -> str:
    [path] = (ROOT / "chapters").glob(f"{number}-*.md")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("number", "pattern", "measured"), SAID, ids=[f"{n}: {p}" for n, p, _ in SAID])
def test_a_number_computed_from_the_record_is_the_one_in_the_chapter(number, pattern, measured):
    [found] = re.findall(pattern, chapter(number))
    printed = [found] if isinstance(found, str) else list(found)
    assert printed == [
        f"{value:.{len(text.partition('.')[2])}f}" for text, value in zip(printed, measured, strict=True)
    ]


def test_chapter_1_a_gpu_takes_equally_long_for_one_trajectory_and_for_many():
    assert "for one trajectory, launch included, and" in chapter("01")
    assert median("chains-gpu", 65_536) == pytest.approx(median("chains-gpu", 1), rel=0.05)
    assert median("chains-gpu", 1_048_576) > 5 * median("chains-gpu", 1)


def test_chapter_2_the_kernel_is_fast_and_the_copies_are_not():
    assert "over 200 times as fast as NumPy, but with its copies it takes twice as long" in chapter("02")
    assert vec_add("NumPy") / vec_add("kernel alone") > 200
    assert vec_add("with copies") / vec_add("NumPy") == pytest.approx(2, rel=0.05)
    small = {way: median("vec-add", way, 1_000) for way in ("NumPy", "kernel alone", "with copies")}
    assert min(small, key=small.get) == "NumPy"


def test_chapter_4_one_kernel_is_no_faster_than_three_and_a_thread_a_row_is_slowest():
    assert "and are no faster on the H100" in chapter("04")
    ways = {
        each["x"]: statistics.median(each["values"])
        for each in RECORD["experiments"]["distance-levels"]["samples"]
    }
    assert max(ways["fuse"], ways["ReductionKernel"]) < ways["ElementwiseKernel"]
    assert min(ways, key=ways.get) == "RawKernel by thread"  # fmt: skip


def test_chapter_5_atomics_limit_the_three_trees():
    text = chapter("05")
    trees = [cooperating(name) for name in ("sum_tree", "sum_neighbours", "sum_halves")]
    assert "the three trees are equally fast" in text and max(trees) / min(trees) < 1.05
    said = [int(each) * 1e6 for each in re.findall(r"about (\d+) million", text)]
    assert said == pytest.approx([cooperating("sum_atomic") / 4, cooperating("sum_tree") / 512], rel=0.01)


def test_chapter_5_a_larger_tile_gains_little_and_the_library_much():
    assert "T = 32 gains hardly anything over T = 16, and `cp.matmul` is over 6 times as fast" in chapter(
        "05"
    )
    rates = {name: median("tiles", name) for name in ("tile 16", "tile 32", "library")}
    assert rates["tile 32"] / rates["tile 16"] < 1.05 and rates["library"] / rates["tile 32"] > 6


def test_chapter_7_which_convolution_is_fastest():
    text = chapter("07")
    assert "the direct way is the fastest of our four for the first shape, and the FFT for the others" in text
    assert "Except for the first shape, PyTorch is faster than all four." in text
    times: dict[str, dict[str, float]] = {}
    for sample in RECORD["experiments"]["four-convolutions"]["samples"]:
        times.setdefault(sample["x"], {})[sample["series"]] = statistics.median(sample["values"])
    shapes = re.findall(
        r"^\* - (\d+ to \d+ by \d+×\d+)$", text.split("tab-four-h100")[1].split(":::")[0], re.M
    )
    ours = [min(times[shape].keys() - {"PyTorch"}, key=times[shape].get) for shape in shapes]
    assert ours == ["direct", "FFT", "FFT", "FFT"]
    assert [min(times[shape], key=times[shape].get) for shape in shapes] == ["direct"] + ["PyTorch"] * 3


def test_the_front_page_quotes_the_page_of_the_rule():
    rule = (ROOT / "chapters" / "check-rule.md").read_text(encoding="utf-8")
    assert "30 of the 33 kernels that leave an array ended on the H100 without any error" in rule
    assert "30 of 33 such kernels" in (ROOT / "index.md").read_text(encoding="utf-8")


def test_chapter_11_the_cpu_would_allow_more_jobs_than_the_gpu_runs():
    cpu = 16 * median("jobs-at-once", 1) / median("jobs-cores", 1)
    assert f"The CPU would allow {round(cpu, -2):,.0f}:" in chapter("11")
    assert max(median("jobs-at-once", 8), median("jobs-at-once", 16)) < cpu / 2
