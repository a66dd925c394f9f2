"""One, four and eleven warps on one scheduler over time: `host_to_device.exploring.latency`, drawn.

Simulated, not measured: every warp issues 41 instructions, the last of them a load, and waits 400 cycles for it.
"""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from host_to_device.exploring.latency import WARMUP, simulate
from host_to_device.rendering.palette import COLOURS

BLUE, IDLE, QUIET = COLOURS["blue"], COLOURS["idle"], COLOURS["quiet"]
WARPS, WINDOW = (1, 4, 11), 1_000


def draw() -> Figure:
    fig, axes = plt.subplots(
        len(WARPS), 1, figsize=(6.0, 4.8), sharex=True, height_ratios=[warps + 2.2 for warps in WARPS]
    )
    for ax, warps in zip(axes, WARPS, strict=True):
        counted = simulate(warps, work=40, requests=1, latency=400, gap=1)
        low = counted.turns[0][WARMUP][0]
        for row, turns in enumerate(counted.turns):
            shown = [each for each in turns if low - 500 <= each[0] < low + WINDOW]
            ax.broken_barh([(b - low, r - b) for b, _, r in shown], (row, 0.8), color=IDLE)
            ax.broken_barh([(b - low, e - b) for b, e, _ in shown], (row, 0.8), color=BLUE)
            ax.broken_barh([(b - low, e - b) for b, e, _ in shown], (warps + 0.4, 0.8), color=BLUE)
        ax.axhline(warps + 0.1, color=QUIET, linewidth=0.8)
        ax.set(xlim=(0, WINDOW), ylim=(warps + 1.3, -0.2), yticks=[])
        ax.set_title(
            f"{warps} warp{'s' * (warps > 1)}: the scheduler issues in {counted.busy:.0%} of the cycles",
            fontsize=11,
        )
        ax.grid(False)
        for side in ax.spines.values():
            side.set_visible(False)
        ax.tick_params(length=0, labelsize=11)
    axes[-1].set_xlabel("cycles; the row below each line is the scheduler")
    return fig
