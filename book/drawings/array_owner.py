"""Who keeps a block of device memory alive: an array, a view of it by another library, and an address without owner."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from host_to_device.rendering.palette import COLOURS

BOXES = {
    # name: left, low, width, text, fill, edge, style of its line
    "block": (0.0, 0.0, 6.0, "4,096 bytes in CuPy's pool", COLOURS["green-soft"], COLOURS["green"], "-"),
    "owner": (0.0, 2.0, 2.7, "CuPy array", COLOURS["blue-soft"], COLOURS["blue"], "-"),
    "view": (0.0, 4.0, 2.7, "Numba array", COLOURS["orange-soft"], COLOURS["orange"], "-"),
    "stale": (3.3, 2.0, 2.7, "CuPy array", COLOURS["paper"], COLOURS["quiet"], "--"),
}
HEIGHT = 0.95


def draw() -> Figure:
    fig, ax = plt.subplots(figsize=(5.4, 3.6))
    for left, low, width, text, fill, edge, style in BOXES.values():
        ax.add_patch(
            plt.Rectangle(
                (left, low), width, HEIGHT, facecolor=fill, edgecolor=edge, linewidth=1.4, linestyle=style
            )
        )
        ax.text(left + width / 2, low + HEIGHT / 2, text, ha="center", va="center", color=COLOURS["ink"])
    for x, low, high, colour, style, text in (
        (0.6, 0.97, 1.98, COLOURS["blue"], "-", "holds"),
        (0.6, 2.97, 3.98, COLOURS["orange"], "-", "holds"),
        (3.9, 0.97, 1.98, COLOURS["quiet"], "--", "knows the address"),
    ):
        arrow = {"arrowstyle": "->", "color": colour, "linestyle": style, "linewidth": 1.4}
        ax.annotate("", (x, low), (x, high), arrowprops=arrow)
        ax.text(x + 0.15, (low + high) / 2, text, va="center", fontsize="small", color=COLOURS["quiet"])
    for name, (x, y) in {"owner": (-0.25, 2.48), "view": (-0.25, 4.48)}.items():
        ax.text(x, y, name, ha="right", va="center", family="monospace", color=COLOURS["ink"])
    ax.text(6.25, 2.48, "stale", ha="left", va="center", family="monospace", color=COLOURS["ink"])
    ax.plot([-1.35, -0.18], [2.44, 2.44], color=COLOURS["orange"], linewidth=1.6)  # del owner: the name goes
    ax.set(xlim=(-1.7, 7.6), ylim=(-0.2, 5.1), aspect="equal")
    ax.axis("off")
    return fig
