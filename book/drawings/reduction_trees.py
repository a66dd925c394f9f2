"""Eight elements added up in three trees: which place is added to, and by which thread."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from host_to_device.rendering.palette import COLOURS

N = 8


def _rounds(kind: str) -> list[list[tuple[int, int, int]]]:
    """Return for each round the (thread, place, other place) of every addition, as the kernels compute them."""
    rounds = []
    step = N // 2 if kind == "halves" else 1
    while 0 < step < N:
        if kind == "every other":
            rounds.append([(tid, tid, tid + step) for tid in range(N) if tid % (2 * step) == 0])
        elif kind == "neighbours":
            places = [(tid, 2 * step * tid) for tid in range(N)]
            rounds.append([(tid, place, place + step) for tid, place in places if place < N])
        else:
            rounds.append([(tid, tid, tid + step) for tid in range(step)])
        step = step // 2 if kind == "halves" else step * 2
    return rounds


def draw() -> Figure:
    kinds = (
        (
            "every other",
            "sum_tree: pairs, by the thread at the place",
            COLOURS["orange"],
            COLOURS["orange-soft"],
        ),
        ("neighbours", "sum_neighbours: pairs, by the first threads", COLOURS["purple"], COLOURS["idle"]),
        ("halves", "sum_halves: halves, by the first threads", COLOURS["blue"], COLOURS["blue-soft"]),
    )
    fig, axes = plt.subplots(3, 1, figsize=(4.6, 6.4))
    for ax, (kind, title, edge, fill) in zip(axes, kinds, strict=True):
        rounds = _rounds(kind)
        for level in range(len(rounds) + 1):
            by_place = {place: tid for tid, place, _ in rounds[level - 1]} if level else {}
            for place in range(N):
                y = -level * 1.5
                busy = place in by_place
                ax.add_patch(
                    plt.Rectangle(
                        (place, y),
                        0.86,
                        0.8,
                        facecolor=fill if busy else "none",
                        edgecolor=edge if busy else COLOURS["line"],
                        linewidth=1.2,
                    )
                )
                text = str(by_place[place]) if busy else ("" if level else f"{place}")
                colour = COLOURS["ink"] if busy else COLOURS["quiet"]
                ax.text(place + 0.43, y + 0.38, text, ha="center", va="center", color=colour, fontsize=10)
            for _, place, other in rounds[level - 1] if level else []:
                for source in (place, other):
                    start, end = (
                        (source + 0.43, -(level - 1) * 1.5 - 0.04),
                        (place + 0.43, -level * 1.5 + 0.84),
                    )
                    ax.plot(*zip(start, end, strict=True), color=edge, linewidth=1)
            ax.text(
                -0.3,
                -level * 1.5 + 0.38,
                f"round {level}" if level else "place",
                ha="right",
                va="center",
                color=COLOURS["quiet"],
                fontsize=10,
            )
        ax.set_title(title, color=COLOURS["ink"], fontsize=11, loc="left")
        ax.set(xlim=(-2.1, N), ylim=(-len(rounds) * 1.5 - 0.2, 1.0))
        ax.axis("off")
    return fig
