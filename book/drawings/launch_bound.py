"""Six kernels of a step in three ways: launch-bound, device-bound, and captured as a graph. Schematic, in units of a launch."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from host_to_device.rendering.palette import COLOURS

KERNELS = 6
HOST, DEVICE = 1, 0
FILL = {HOST: (COLOURS["orange-soft"], COLOURS["orange"]), DEVICE: (COLOURS["blue-soft"], COLOURS["blue"])}


def step(kernel: float, launches: int) -> list[tuple[int, float, float]]:
    """Return the bars of a step as (lane, begin, width), with launches of one unit and kernels of equal length.

    A kernel begins when its launch and the kernel before it have ended. With one launch, it launches all kernels.
    """
    bars = [(HOST, float(at), 1.0) for at in range(launches)]
    free = 0.0
    for number in range(KERNELS):
        begin = max(free, 1.0 + min(number, launches - 1))
        bars.append((DEVICE, begin, kernel))
        free = begin + kernel
    return bars


def draw() -> Figure:
    fig, panels = plt.subplots(3, 1, figsize=(7.2, 4.8), sharex=True)
    ways = (
        ("small batch, launch-bound: the device waits for launches", step(0.35, KERNELS)),
        ("large batch: the device works without a gap", step(1.6, KERNELS)),
        ("small batch, captured as a graph: one launch", step(0.35, 1)),
    )
    for ax, (title, bars) in zip(panels, ways, strict=True):
        _lanes(ax, title, bars)
    panels[-1].set_xlabel("time (schematic)")
    return fig


def _lanes(ax: Axes, title: str, bars: list[tuple[int, float, float]]) -> None:
    for lane, begin, width in bars:
        fill, edge = FILL[lane]
        ax.barh(lane, width, left=begin, height=0.72, color=fill, edgecolor=edge, linewidth=1.2)
    end = max(begin + width for _, begin, width in bars)
    ax.axvline(end, color=COLOURS["quiet"], linestyle=":", linewidth=1.2)
    ax.text(end + 0.12, 0.5, "end of the step", va="center", color=COLOURS["ink"])
    ax.set_yticks([HOST, DEVICE], ["host", "device"])
    ax.set(title=title, xticks=[], xlim=(0, 13.5), ylim=(-0.6, 1.6))
    ax.grid(False)
    ax.tick_params(length=0)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
