"""Time of one copy over PCI Express 3.0 against its size: latency + size / bandwidth.

Predicted, not measured, with the prices of `h2d.predict`: a copy that the host issues, a wait, and the bytes at the rate
that a copy from pinned memory reaches. 16 GB/s is the link's peak (NVIDIA, "CUDA C++ Best Practices Guide", sections on
data transfer and pinned memory); it is drawn, and is no price.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from host_to_device.measuring import prices
from host_to_device.rendering.palette import COLOURS

LATENCY, PINNED, PEAK = prices.LAUNCH + prices.WAIT, prices.LINK, 16e9


def draw() -> Figure:
    size = np.logspace(2, 9, 200)
    fig, ax = plt.subplots(figsize=(7.2, 3.8))
    ax.loglog(size, LATENCY + size / PINNED, color=COLOURS["blue"])
    ax.loglog(size, size / PEAK, color=COLOURS["quiet"], linestyle=(0, (4, 3)), linewidth=1.4)
    knee = LATENCY * PINNED
    ax.plot(knee, 2 * LATENCY, "o", color=COLOURS["orange"])
    ax.annotate(
        f"{knee / 1e3:.0f} kB: latency and bytes\ntake the same time",
        (knee, 2 * LATENCY),
        (-8, 22),
        textcoords="offset points",
        ha="right",
        color=COLOURS["orange"],
    )
    ax.text(110, LATENCY * 0.62, f"latency {LATENCY * 1e6:.1f} µs", color=COLOURS["blue"], va="top")
    ax.text(3e8, 0.1, f"{PINNED / 1e9:.0f} GB/s", color=COLOURS["blue"], ha="right", va="top")
    ax.text(
        9e8, 1.6e-3, f"{PEAK / 1e9:.0f} GB/s,\nthe link's peak", color=COLOURS["quiet"], ha="right", va="top"
    )
    ax.set(xlabel="size of the copy", ylabel="time", xlim=(100, 1e9), ylim=(1e-6, 0.2))
    ax.set_xticks([1e2, 1e4, 1e6, 1e8], ["100 B", "10 kB", "1 MB", "100 MB"])
    ax.set_yticks(
        [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1], ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms"]
    )
    ax.minorticks_off()
    return fig
