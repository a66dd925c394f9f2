"""Bytes that cross the bus for repeated launches of `vec_add`, with host arrays and with device arrays.

Counted from the rule, not measured: Numba copies every host array to the device and back at each launch
(https://nvidia.github.io/numba-cuda/user/memory.html); explicit copies are two inputs once and one result once.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from host_to_device.rendering.palette import COLOURS

ARRAY_BYTES = 10_000_000 * 4  # ten million float32


def draw() -> Figure:
    launches = np.array([1, 10, 100, 1_000])
    implicit = launches * (3 + 3) * ARRAY_BYTES
    explicit = np.full(launches.shape, (2 + 1) * ARRAY_BYTES)
    fig, ax = plt.subplots(figsize=(7.2, 3.6))
    ax.loglog(launches, implicit / 1e9, "o-", color=COLOURS["orange"])
    ax.loglog(launches, explicit / 1e9, "o-", color=COLOURS["blue"])
    ax.text(
        2_300,
        7,
        "NumPy arrays as arguments:\nthree there and three back, each time",
        color=COLOURS["orange"],
        va="top",
        ha="right",
    )
    ax.text(10, 0.155, "device arrays: two there, one back, once", color=COLOURS["blue"], va="bottom")
    ax.set(xlabel="launches", ylabel="gigabytes over the bus", xlim=(0.8, 2_500), ylim=(0.05, 500))
    ax.set_xticks(launches, [f"{count:,}" for count in launches])
    ax.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    ax.minorticks_off()
    return fig
