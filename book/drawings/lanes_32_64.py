"""The sum by shuffles whose first offset is 16, in warps of 32 and of 64: whose numbers are where, step by step."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from host_to_device.rendering.palette import COLOURS

OFFSETS = (16, 8, 4, 2, 1)
BLUE, ORANGE, GREEN, INK, QUIET, LINE = map(COLOURS.get, ("blue", "orange", "green", "ink", "quiet", "line"))


def collected(first: int) -> list[list[int]]:
    """Return, step by step, the lanes whose numbers the lane `first` has."""
    has, steps = [first], [[first]]
    for offset in OFFSETS:
        # What lane `first` has so far, the lane above it by the offset has of its own lanes.
        has = sorted({*has, *(lane + offset for lane in has)})
        steps.append(has)
    return steps


def draw() -> Figure:
    fig, both = plt.subplots(2, 1, figsize=(5.0, 5.6))
    titles = ("warps of 32: lanes 0 of both warps add", "a wavefront of 64: lane 0 adds, lane 32 does not")
    for ax, title, (left, right) in zip(both, titles, ((BLUE, GREEN), (BLUE, ORANGE)), strict=True):
        for first, colour in ((0, left), (32, right)):
            for step, lanes in enumerate(collected(first)):
                heard = colour != ORANGE
                ax.scatter(
                    lanes,
                    [-step] * len(lanes),
                    s=9,
                    marker="o" if heard else "x",
                    color=colour,
                    linewidths=1.1,
                    clip_on=False,
                )
        for step in range(len(OFFSETS) + 1):
            ax.axhline(-step, color=LINE, linewidth=0.6, zorder=0)
        ax.set_yticks(
            [-step for step in range(len(OFFSETS) + 1)], ["start", *(f"+ {offset}" for offset in OFFSETS)]
        )
        ax.set_xticks([0, 16, 32, 48, 63])
        ax.set(title=title, xlim=(-1, 64), ylim=(-6.4, 0.6))
        ax.grid(False)
        ax.tick_params(length=0)
        for side in ax.spines.values():
            side.set_visible(False)
    both[0].axvline(31.5, color=QUIET, linewidth=1, linestyle="--")
    said = (
        (both[0], 15.5, "in the sum", BLUE),
        (both[0], 47.5, "in the sum", GREEN),
        (both[1], 15.5, "in the sum", BLUE),
        (both[1], 47.5, "added up in lane 32, and lost", ORANGE),
    )
    for ax, place, words, colour in said:
        ax.text(place, -5.9, words, ha="center", va="center", color=colour)
    both[1].set_xlabel("thread whose number it is")
    fig.get_layout_engine().set(h_pad=0.12)
    return fig
