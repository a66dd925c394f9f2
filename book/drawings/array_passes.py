"""The arrays of one distance that cross the memory bus: as array code, with one element-wise kernel, as one kernel."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from host_to_device.rendering.palette import COLOURS

# For each way its operations, and for each of these what it reads and what it writes, of the size of x.
WAYS = (
    (
        "array code",
        (("subtract", "xy", "d"), ("multiply", "d", "p"), ("divide", "p", "q"), ("sum", "q", "")),
    ),
    ("ElementwiseKernel and a sum", (("term", "xy", "t"), ("sum", "t", ""))),
    ("one kernel", (("all of it", "xy", ""),)),
)
READ, WRITTEN = (COLOURS["blue-soft"], COLOURS["blue"]), (COLOURS["orange-soft"], COLOURS["orange"])
WIDTH, GAP, BETWEEN, ROW = 0.9, 0.1, 0.35, 2.35


def draw() -> Figure:
    fig, ax = plt.subplots(figsize=(5.6, 3.5))
    for row, (way, operations) in enumerate(WAYS):
        place, top = 0.0, -row * ROW
        many = sum(len(reads) + len(writes) for _, reads, writes in operations)
        ax.text(0, top + 1.12, f"{way}: {many} arrays", va="bottom", color=COLOURS["ink"], fontweight="bold")
        for name, reads, writes in operations:
            first = place
            for array, (fill, edge) in [(a, READ) for a in reads] + [(a, WRITTEN) for a in writes]:
                ax.add_patch(
                    plt.Rectangle(
                        (place, top + 0.1), WIDTH, 0.85, facecolor=fill, edgecolor=edge, linewidth=1.2
                    )
                )
                ax.text(
                    place + WIDTH / 2,
                    top + 0.52,
                    array,
                    ha="center",
                    va="center",
                    color=COLOURS["ink"],
                    style="italic",
                )
                place += WIDTH + GAP
            middle = (first + place - GAP) / 2
            ax.text(middle, top - 0.05, name, ha="center", va="top", color=COLOURS["quiet"])
            place += BETWEEN
    right, low = 9.6, -2 * ROW
    for line, (text, (fill, edge)) in enumerate((("read", READ), ("written", WRITTEN))):
        y = low + 0.55 - 0.75 * line
        ax.add_patch(plt.Rectangle((right - 2.9, y), 0.5, 0.5, facecolor=fill, edgecolor=edge, linewidth=1.2))
        ax.text(right - 2.2, y + 0.25, text, va="center", color=COLOURS["ink"])
    ax.set(xlim=(-0.1, right), ylim=(low - 0.7, 1.8))
    ax.axis("off")
    return fig
