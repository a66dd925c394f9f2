"""The area of two chips, as a diagram: what a latency machine and a throughput machine spend it on. Not to scale."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from host_to_device.rendering.palette import COLOURS

INK, PAPER = COLOURS["ink"], COLOURS["paper"]
CONTROL, UNITS, CACHE, EDGE = COLOURS["orange-soft"], COLOURS["blue"], COLOURS["green-soft"], COLOURS["quiet"]


def draw() -> Figure:
    fig, axes = plt.subplots(1, 2, figsize=(6.0, 3.7))
    for ax, title in zip(axes, ("CPU: a latency machine", "GPU: a throughput machine"), strict=True):
        ax.set(xlim=(-0.1, 10.1), ylim=(-0.1, 12.1), xticks=[], yticks=[])
        ax.set_aspect("equal")
        ax.set_title(title, fontsize=12)
        ax.grid(False)
        for side in ax.spines.values():
            side.set_visible(False)
        box(ax, 0, 0, 10, 12, PAPER)
    cpu, gpu = axes
    for column in (0, 1):
        for row in (0, 1):
            x, y = 0.4 + 4.7 * column, 7.9 - 3.4 * row
            box(cpu, x, y, 2.3, 3.6 - 0.5, CONTROL)
            for unit in range(4):
                box(cpu, x + 2.5, y + 0.8 * unit, 1.9, 0.6, UNITS)
    cpu.text(1.55, 9.45, "control", ha="center", va="center", color=INK)
    box(cpu, 0.4, 0.5, 9.2, 3.6, CACHE)
    cpu.text(5, 2.3, "cache", ha="center", va="center", color=INK)
    for row in range(7):
        y = 10.6 - 1.33 * row
        box(gpu, 0.4, y, 0.9, 1.05, CONTROL)
        for unit in range(16):
            box(gpu, 1.5 + 0.505 * unit, y, 0.42, 1.05, UNITS)
    box(gpu, 0.4, 0.5, 9.2, 1.8, CACHE)
    gpu.text(5, 1.4, "cache", ha="center", va="center", color=INK)
    return fig


def box(ax: plt.Axes, x: float, y: float, width: float, height: float, fill: str) -> None:
    ax.add_patch(Rectangle((x, y), width, height, facecolor=fill, edgecolor=EDGE, linewidth=0.8))
