"""Lesson 1: sentences that quote an output of the notebook quote the one that is stored."""

import re
from pathlib import Path

from authoring import notebooks

ROOT = Path(__file__).resolve().parents[2]
STEPS = 1_000


def test_latency_and_throughput_are_those_of_the_table_above_them():
    chapter = (ROOT / "chapters" / "01-architecture.md").read_text(encoding="utf-8")
    [table] = [
        cell
        for cell in notebooks.read(ROOT / "notebooks" / "01-architecture.ipynb").cells
        if cell.id == "chain-table"
    ]
    printed = "".join(output["text"] for output in table.outputs)
    rows = re.findall(r"([\d,]+) at once: +([\d.]+) µs", printed)
    times = {int(count.replace(",", "")): float(time) for count, time in rows}
    latency = times[1] * 1_000 / STEPS  # nanoseconds for a step
    each = times[max(times)] * 1_000 / STEPS / max(times)
    assert f"one chain: {latency:.1f} ns for a step" in chapter
    assert f"one step every {each:.3f} ns" in chapter
    [[needed, first, second]] = re.findall(
        r"about (\d+) independent trajectories \(([\d.]+) / ([\d.]+)\)", chapter
    )
    assert (first, second) == (f"{latency:.1f}", f"{each:.3f}")
    assert abs(latency / each - int(needed)) < 0.1 * latency / each
