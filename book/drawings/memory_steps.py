"""Allocated bytes over four training steps, twice: a log of numbers, and a log that keeps graphs. A shape, not a count.

A step makes an activation for each layer, frees them in the backward pass, and computes an error for the log, as the
notebook's program does and `h2d.memory_timeline()` draws it.
"""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from host_to_device.rendering.palette import COLOURS

STEPS, MODEL, LIMIT = 4, 2, 14
TRAINING = [1, 1, 1, 1, -1, -1, -1, -1]  # units allocated and freed, in order
LOGGING = [1, 1, 1]


def allocated(freed: int) -> list[int]:
    """Return the units allocated after each change, up to the limit; the log frees `freed` units of each step."""
    seen = [MODEL]
    for change in [*TRAINING, *LOGGING, -freed] * STEPS:
        if seen[-1] + change > LIMIT:
            break
        seen.append(seen[-1] + change)
    return seen


def draw() -> Figure:
    fig, both = plt.subplots(2, 1, figsize=(7.2, 4.4), sharex=True)
    panels = (("the log keeps numbers", sum(LOGGING), "blue"), ("the log keeps graphs", 0, "orange"))
    changes = len(TRAINING) + len(LOGGING) + 1
    for ax, (title, freed, colour) in zip(both, panels, strict=True):
        seen = allocated(freed)
        ax.fill_between(range(len(seen)), seen, step="post", color=COLOURS[f"{colour}-soft"])
        ax.step(range(len(seen)), seen, where="post", color=COLOURS[colour], linewidth=2)
        ax.axhline(LIMIT, color=COLOURS["quiet"], linestyle="--", linewidth=1.5)
        ax.text(0, LIMIT - 0.5, "limit", va="top", color=COLOURS["ink"])
        if not freed:
            ax.plot(len(seen) - 1, LIMIT, "x", color=COLOURS["orange"], markersize=12, markeredgewidth=3)
            ax.text(len(seen), LIMIT - 0.5, "refused", va="top", color=COLOURS["ink"])
        ax.set(
            title=title, yticks=[], ylim=(0, LIMIT + 1.5), xlim=(-0.6, changes * STEPS + 0.6), ylabel="bytes"
        )
        ax.set_xticks([changes * (step + 0.5) for step in range(STEPS)])
        ax.set_xticklabels([f"step {step + 1}" for step in range(STEPS)])
        ax.tick_params(length=0)
        ax.grid(False)
    return fig
