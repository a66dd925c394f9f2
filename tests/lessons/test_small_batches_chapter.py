"""Chapter 11: its tables agree with the notebook's outputs, and the sums of its prose are right."""

import math
import re
from pathlib import Path

import nbformat
import numpy as np
import pytest

from book import cells, recorded
from host_to_device.exploring import epochs
from host_to_device.hardware import gpus
from host_to_device.measuring import prices

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = (ROOT / "chapters" / "11-small-batches.md").read_text(encoding="utf-8")
NOTEBOOK = {
    cell.id: cell for cell in nbformat.read(ROOT / "notebooks" / "11-small-batches.ipynb", as_version=4).cells
}
NUMBER = r"[\d,]*\d(?:\.\d+)?"

STEPS = recorded.read("nvidia-h100-80gb-hbm3-contrastive-step")


def run(way, samples):
    """Return what was recorded on the H100 for a way and a batch size."""
    [found] = [each for each in STEPS["runs"] if (each["way"], each["samples"]) == (way, samples)]
    return found


def percent(share):
    return f"{share:.0%}".replace("%", " %")


def rows(name):
    """Return the numbers of a table, row by row, without its head."""
    table = CHAPTER.partition(f":name: {name}\n")[2].partition("\n:::\n")[0]
    found = [re.findall(rf"(?<![\w.]){NUMBER}", row) for row in re.split(r"\n\* -", table)[2:]]
    return [[float(each.replace(",", "")) for each in row] for row in found]


def output(cell):
    """Return the numbers that a cell printed, line by line."""
    lines = cells.printed(NOTEBOOK[cell]).splitlines()
    found = [re.findall(rf"(?<![\w.]){NUMBER}", line) for line in lines]
    return [[float(each.replace(",", "")) for each in line] for line in found]


def test_the_table_of_a_step_is_what_the_notebook_predicts():
    assert rows("tab-step") == output("step-predict")[2:]


def test_the_table_of_twice_as_fast_is_what_the_notebook_predicts():
    assert len(rows("tab-twice")) == 3
    assert all(row in output("decide") for row in rows("tab-twice"))


def test_the_operations_of_a_step_are_what_the_notebook_counts():
    assert [line[-1] for line in output("step-count")] == [39, 39]
    assert CHAPTER.count("39 operations") == 4 and CHAPTER.count("two of 39") == 1
    assert "39 operations, 3 copies, 2 waits" in cells.printed(NOTEBOOK["step-timeline"])


def test_the_sizes_of_the_similarities():
    for batch, words in (1024, "16.8 MB"), (10_240, "1.68 GB"):
        size = (2 * batch) ** 2 * 4
        assert f"{size / 1e6:.3g} MB" == words or f"{size / 1e9:.3g} GB" == words
        assert words in CHAPTER
    for batch, words in (1024, "7.6 for $b$ = 1,024"), (10_240, "9.9 for $b$ = 10,240"):
        assert words.startswith(f"{math.log(2 * batch - 1):.1f} ") and words in CHAPTER


@pytest.mark.parametrize(
    "card, large, most, pairs", [("RTX 3060 Ti", 2.2, 0.64, "1.5"), ("RTX PRO 6000", 1.55, 0.70, "0.78")]
)
def test_the_exact_fits(card, large, most, pairs):
    """B and C follow from A, and are not negative up to the largest A."""
    small = 0.85
    matrix = np.array([[1, 1], [1, 10]])
    for a in (0, most):
        b, c = np.linalg.solve(matrix, [small - a, large - a / 10])
        assert b == pytest.approx((0.70 if large == 2.2 else 0.772) - 1.1 * a, abs=2e-3)
        assert c == pytest.approx((0.15 if large == 2.2 else 0.078) + 0.1 * a, abs=2e-3)
    assert b == pytest.approx(0, abs=0.01)
    least = 10 * np.linalg.solve(matrix, [small, large])[1]
    assert f"{least:.2g}" == pairs and f"{pairs} of {large:g} s on the {card}" in CHAPTER


def test_the_third_batch_size():
    """The spread of the predictions over all exact fits, for the first card."""
    spread = {}
    for batch in (256, 20_480):
        x = batch / 1024
        times = [a / x + 0.70 - 1.1 * a + (0.15 + 0.1 * a) * x for a in (0, 0.70 / 1.1)]
        spread[batch] = max(times) / min(times)
    assert f"for 256 differ by a factor of {spread[256]:.1f}" in CHAPTER
    assert f"those for 20,480 by {spread[20_480] - 1:.0%}".replace("%", " %") in CHAPTER


def test_the_ridge_points():
    card = gpus.find("RTX 3060 Ti")
    # Two operations in each cycle for each of the 128 CUDA cores of an SM.
    peak = 2 * 128 * card.multiprocessors * card.boost_clock
    large = gpus.find("RTX PRO 6000")
    ridges = peak / card.memory_bandwidth, large.fp32 / large.memory_bandwidth
    assert "ridge points <ar-roofline>` of {:.0f} and {:.0f}.".format(*ridges) in CHAPTER


def test_the_shares_of_the_time_that_gained():
    def share(total):
        return (1 - 1 / total) / (1 - 1 / 5)

    assert f"= {share(1.3):.2f} ." in CHAPTER
    assert f"at least {1 - share(1.3):.0%} of the time gained nothing".replace("%", " %") in CHAPTER
    assert f"{2.2 / 1.55:.2f}" == f"{rows('tab-four-times')[1][-1]:.2f}"


def test_the_number_of_steps():
    shortest = rows("tab-step")[-1][3] / 1e3
    steps = 2.2 / shortest
    samples = round(steps * 10_240, -5)
    said = f"at most {steps:.0f} steps of {shortest * 1e3:.0f} ms, some {samples:,.0f} samples"
    assert said in CHAPTER
    small = 10 * steps
    assert f"these are {small:.0f} steps" in CHAPTER
    seconds = small * 39 * prices.LAUNCH
    recorded = run("eager", 1024)["seconds"]
    said = f"{small * recorded:.1f} s at the {recorded * 1e3:.1f} ms a step of {{numref}}`tab-util`"
    assert f"take {seconds:.2f} s at the price of C++, and {said}" in CHAPTER


def test_the_time_in_which_kernels_ran():
    table = rows("tab-a10-a5000")
    assert table[0][-1] == pytest.approx(0.15 * 1)
    assert table[1][-2:] == pytest.approx([0.07 * 1.8, 0.07 * 2], abs=5e-3)
    assert f"the other {0.85 * 1:.2f} and {0.93 * 1.8:.1f} to {0.93 * 2:.1f} s" in CHAPTER


def test_the_jobs_that_fill_a_machine():
    assert f"the GPU is full with {math.floor(1 / 0.07)} jobs" in CHAPTER
    assert (
        f"the CPU is full with {math.floor(1 / 0.33)} jobs and the GPU with {math.floor(1 / 0.15)}" in CHAPTER
    )


def test_the_comparison_of_two_data_sheets():
    """The ratios of the table, and the A10's figures in the table of GPUs."""
    block = CHAPTER.partition("* -\n  - A10\n  - RTX A5000\n")[2].partition("\n:::\n")[0]
    numbers = [
        [float(each) for each in re.findall(r"^  - ([\d.]+)$", row, re.M)]
        for row in block.split("\n* - ")[1:]
    ]
    assert len(numbers) == 6
    assert all(ten / five == pytest.approx(ratio, abs=6e-3) for ten, five, ratio in numbers)
    a10 = gpus.find("A10")
    stated = [row[0] for row in numbers]
    assert stated[:3] == [a10.multiprocessors, a10.fp32 / 1e12, a10.fp16_matrix / 1e12]
    assert stated[4:] == [a10.memory_bandwidth / 1e9, a10.power]


def test_the_recorded_steps():
    """The sentences about the table of the H100."""
    small, graph, middle, large = run("eager", 64), run("graph", 64), run("eager", 1024), run("eager", 10_240)
    longer = percent(middle["seconds"] / small["seconds"] - 1)
    assert (
        f"GPU-Util is {small['gpu_util']:.0f} %, and a batch 16 times as large takes {longer} longer"
        in CHAPTER
    )
    gain = small["seconds"] / graph["seconds"]
    assert f"the same step is {gain:.0f} times as fast, at {graph['gpu_util']:.0f} %" in CHAPTER
    gain = percent(large["seconds"] / run("graph", 10_240)["seconds"] - 1)
    assert large["gpu_util"] > 95 and f"the device is the limit, and a graph gains {gain}." in CHAPTER
    powers = [f"{each['gpu_util']:.0f} % at {each['power']:.0f} W" for each in (graph, large)]
    assert f"GPU-Util is {' and '.join(powers)}:" in CHAPTER
    assert all(round(each["cores"], 1) == 1 for each in STEPS["runs"])
    falls = f"from {middle['seconds'] * 1e3:.2f} to {run('graph', 1024)['seconds'] * 1e3:.3f} ms"
    assert f"a step of 1,024 samples falls {falls}" in CHAPTER
    assert f"beside {STEPS['machine']['cores']} cores" in CHAPTER


def test_the_time_that_pytorch_needs_for_an_operation():
    took = run("eager", 64)["seconds"]
    assert f"{took * 1e3:.1f} ms for these 39 operations, {took / 39 * 1e6:.0f} µs for each." in CHAPTER
    large = rows("tab-step")[2]
    devices = f"need only {large[3]} and {large[4]:.2f} ms"
    assert f"both cards would take {took * 1e3:.1f} ms for 1,024 samples" in CHAPTER and devices in CHAPTER
    assert run("eager", 1024)["seconds"] > large[3] / 1e3


def test_the_estimate_by_gpu_util():
    of_table, middle = run("eager", 1024), recorded.trace(STEPS, 1024)
    estimate = of_table["gpu_util"] / 100 * of_table["seconds"] * 1e3
    added = sum(each["device"] for each in middle["sums"]) * 1e3
    said = f"{estimate:.2f} ms at 1,024 samples, where the profiler's kernels and copies add up to {added:.2f} ms"
    assert said in CHAPTER


def test_the_recorded_rows_of_the_profiler():
    step = recorded.trace(STEPS, 256)
    launches = [each for each in step["sums"] if re.fullmatch(r"cu(da)?Launch\w+", each["name"])]
    counts = [each["calls"] for each in launches]
    device = sum(each["device"] for each in step["sums"])
    assert (
        f"the step takes {step['seconds'] * 1e3:.2f} ms" in CHAPTER
        and f"works for {device * 1e3:.2f} ms" in CHAPTER
    )
    assert f"For {percent(1 - device / step['seconds'])}:" in CHAPTER
    assert f"{' + '.join(map(str, counts))} = {sum(counts)} launches" in CHAPTER
    each, call = (
        part / sum(counts) * 1e6 for part in (step["seconds"], sum(row["host"] for row in launches))
    )
    assert f"the step takes {each:.0f} µs, of which CUDA's call is {call:.0f} µs" in CHAPTER
    [wait] = [row for row in step["sums"] if row["name"] == "cudaStreamSynchronize"]
    assert f"`cudaStreamSynchronize` takes {wait['host'] * 1e6:.0f} µs" in CHAPTER


def test_the_kernels_of_the_recorded_step_are_the_counted_operations_and_five_more():
    events = recorded.timeline(STEPS, 256).of("operation")
    kernels = [each["name"] for each in recorded.trace(STEPS, 256)["events"] if each["cat"] == "kernel"]
    assert len(events) == len(kernels) == 44
    second = [name for name in kernels if "splitKreduce" in name]
    filled = [each for each in events if each.text == "fill_"]
    # One fill makes the gradient of the loss, which the stand-in counts as `ones_like`.
    assert (len(second), len(filled) - 1) == (4, 1) and 44 - len(second) - 1 == 39


def test_the_table_of_cures_is_what_the_notebook_counts_and_the_h100_recorded():
    table, printed = rows("tab-cures-counted"), output("cures-table")[2:]
    assert len(table) == 9 and len(printed) == 7
    for row, line in zip([*table[:4], *table[5:7], table[4]], printed, strict=True):
        known = 5 if row[0] == 1024 else 4  # the name of one row has a number
        assert row[:known] == line[:known]
    margin = output("cures-count")[2:5]
    assert [row[0] for row in table[7:]] == [3, 1]
    assert [row[-2:] for row in table[7:]] == [line[-2:] for line in margin[:2]]
    seconds = run("eager", 64)["seconds"], run("eager", 1024)["seconds"] / 16, run("graph", 64)["seconds"]
    assert [row[-1] for row in (table[1], table[3], table[4])] == [round(1e6 * each) for each in seconds]


def test_the_first_layers_product():
    """A step multiplies two views of each sample, 256 features, by 128 columns of weights, in float32."""
    views, features, columns = 2 * 1024, 256, 128
    flops = 2 * views * features * columns
    nbytes = 4 * (views * features + features * columns + views * columns)
    assert f"the first layer has {flops / nbytes:.0f} at 1,024 samples" in CHAPTER


def test_the_explanations_that_survive():
    misses = {name: epochs.fit(name).misses for name in epochs.EXPLANATIONS}
    survive = [name for name, miss in misses.items() if miss < 1e-6]
    assert len(misses) == 8 and len(survive) == 4 and "Four survive" in CHAPTER
    assert all("pairs" in epochs.EXPLANATIONS[name].parts for name in survive)
    assert misses["rate"] > 0.1
    assert f"miss the times at 10,240 by {misses['rate'] + epochs.NEAR:.1f} s" in CHAPTER
