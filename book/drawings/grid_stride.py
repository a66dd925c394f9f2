"""Which thread takes which element: one each, or a loop that jumps over the whole grid."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from host_to_device.rendering.palette import COLOURS

ELEMENTS, THREADS, BLOCK = 20, 8, 4
FILL = (COLOURS["blue-soft"], COLOURS["orange-soft"])
EDGE = (COLOURS["blue"], COLOURS["orange"])


def draw() -> Figure:
    fig, ax = plt.subplots(figsize=(5.3, 2.9))
    rounds = -(-ELEMENTS // THREADS)
    for element in range(ELEMENTS):
        round_, thread = divmod(element, THREADS)
        block = thread // BLOCK
        ax.add_patch(
            plt.Rectangle((thread, -round_ * 1.25), 0.92, 0.9, facecolor=FILL[block], edgecolor=EDGE[block])
        )
        ax.text(
            thread + 0.46, -round_ * 1.25 + 0.45, str(element), ha="center", va="center", color=COLOURS["ink"]
        )
    for thread in range(THREADS):
        ax.text(thread + 0.46, 1.25, str(thread), ha="center", va="center", color=COLOURS["quiet"])
    ax.text(-0.25, 1.25, "thread", ha="right", va="center", color=COLOURS["quiet"])
    for block in range(THREADS // BLOCK):
        ax.text(
            (block + 0.5) * BLOCK - 0.04, 1.85, f"block {block}", ha="center", va="center", color=EDGE[block]
        )
    for round_ in range(rounds):
        ax.text(
            -0.25, -round_ * 1.25 + 0.45, f"round {round_}", ha="right", va="center", color=COLOURS["ink"]
        )
    ax.annotate("", (8.3, -0.8), (8.3, 0.45), arrowprops={"arrowstyle": "->", "color": COLOURS["quiet"]})
    ax.text(8.5, -0.18, "+ 8", va="center", color=COLOURS["ink"])
    ax.text(4.2, -2.05, "no element 20: done", va="center", color=COLOURS["quiet"])
    ax.set(xlim=(-2.0, 9.4), ylim=(-2.7, 2.2), aspect="equal")
    ax.axis("off")
    return fig
