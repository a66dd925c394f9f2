"""The same three steps twice: with `.item()` after each, and kept on the device. An order, not times.

Drawn by the rule of one stream, as `h2d.timeline()` draws it: a launch takes the host one unit, its execution two.
"""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from host_to_device.counting.timelines import Event, schedule
from host_to_device.rendering.palette import COLOURS

LOOKED_AT = [
    Event(*each)
    for each in (("operation", "product"), ("operation", "norm"), ("copy", "4 bytes"), ("wait", ""))
]
KEPT = [Event("operation", "product"), Event("operation", "norm")]
LANES = {"host": 2, "device": 1, "copies": 0}
FILL = {
    "operation": (COLOURS["blue-soft"], COLOURS["blue"]),
    "copy": (COLOURS["orange-soft"], COLOURS["orange"]),
    "wait": (COLOURS["idle"], COLOURS["quiet"]),
}


def draw() -> Figure:
    fig, both = plt.subplots(2, 1, figsize=(7.2, 4.4), sharex=True)
    orders = (
        (".item() after each step: the host waits three times", LOOKED_AT * 3),
        (
            "kept on the device: one wait at the end",
            [*KEPT * 3, Event("copy", "12 bytes"), Event("wait", "")],
        ),
    )
    for ax, (title, order) in zip(both, orders, strict=True):
        for bar in schedule(order):
            fill, edge = FILL[bar.kind]
            place, width = LANES[bar.lane], bar.end - bar.begin
            ax.barh(place, width, left=bar.begin, height=0.72, color=fill, edgecolor=edge, linewidth=1.2)
            if bar.kind == "wait":
                ax.text(bar.begin + width / 2, place, "waits", ha="center", va="center", color=COLOURS["ink"])
        ax.set_yticks(list(LANES.values()), list(LANES))
        ax.set(title=title, xticks=[], xlim=(0, 27))
        ax.grid(False)
        ax.tick_params(length=0)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
    both[1].set_xlabel("order of operations, not time")
    return fig
