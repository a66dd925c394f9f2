"""A ring all-reduce of four workers: from how many workers each chunk is summed, after each round."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from host_to_device.rendering.palette import COLOURS

P = 4


def states() -> list[tuple[list[list[int]], set[tuple[int, int]]]]:
    """Return for the start and each round how many gradients each worker's chunks hold, and which chunks arrived.

    The counts are `counts[worker][chunk]`; what arrived is a set of (worker, chunk). Every worker sends to the next.
    """
    counts = [[1] * P for _ in range(P)]
    found = [([row[:] for row in counts], set[tuple[int, int]]())]
    for ring_round in range(2 * (P - 1)):
        gathering = ring_round >= P - 1
        arrived = set()
        before = [row[:] for row in counts]
        for worker in range(P):
            chunk = (worker - ring_round) % P
            to = (worker + 1) % P
            counts[to][chunk] = before[worker][chunk] + (0 if gathering else before[to][chunk])
            arrived.add((to, chunk))
        found.append(([row[:] for row in counts], arrived))
    return found


def draw() -> Figure:
    fig, ax = plt.subplots(figsize=(5.2, 4.4))
    wide = P + 0.9  # a worker's chunks and the space to the next
    for level, (counts, arrived) in enumerate(states()):
        y = -level * 1.35 - (0.5 if level else 0) - (0.5 if level >= P else 0)
        for worker in range(P):
            for chunk in range(P):
                count = counts[worker][chunk]
                full = count == P
                edge = COLOURS["blue"] if full else COLOURS["orange"] if count > 1 else COLOURS["line"]
                fill = COLOURS["blue-soft"] if full else COLOURS["orange-soft"] if count > 1 else "none"
                new = (worker, chunk) in arrived
                x = worker * wide + chunk
                ax.add_patch(
                    plt.Rectangle(
                        (x, y), 0.9, 0.9, facecolor=fill, edgecolor=edge, linewidth=2 if new else 0.8
                    )
                )
                ax.text(
                    x + 0.45,
                    y + 0.43,
                    str(count),
                    ha="center",
                    va="center",
                    color=COLOURS["ink"] if count > 1 else COLOURS["quiet"],
                    fontweight="bold" if new else "normal",
                    fontsize=10,
                )
        ax.text(
            -0.4,
            y + 0.43,
            f"round {level}" if level else "start",
            ha="right",
            va="center",
            color=COLOURS["quiet"],
            fontsize=10,
        )
    for worker in range(P):
        middle = worker * wide + P / 2 - 0.05
        ax.text(middle, 1.5, f"worker {worker}", ha="center", color=COLOURS["ink"], fontsize=10)
        if worker < P - 1:
            ax.annotate(
                "",
                xy=(middle + wide - 1.55, 1.68),
                xytext=(middle + 1.55, 1.68),
                arrowprops={"arrowstyle": "->", "color": COLOURS["quiet"]},
            )
    first, last = P / 2 - 0.05, (P - 1) * wide + P / 2 - 0.05
    ax.plot([last, last, first, first], [2.2, 2.8, 2.8, 2.5], color=COLOURS["quiet"], linewidth=1)
    ax.annotate(
        "", xy=(first, 2.1), xytext=(first, 2.8), arrowprops={"arrowstyle": "->", "color": COLOURS["quiet"]}
    )
    for title, level in (("reduce-scatter: add what arrives", 1), ("all-gather: keep what arrives", P)):
        y = -level * 1.35 - (0.5 if level else 0) - (0.5 if level >= P else 0)
        ax.text(0, y + 1.08, title, color=COLOURS["ink"], fontsize=10)
    ax.set(xlim=(-2.6, P * wide - 0.6), ylim=(-2 * (P - 1) * 1.35 - 1.2, 3.0))
    ax.axis("off")
    return fig
