"""Rooflines of five GPUs from documented peaks: memory bandwidth and float32 rate of `host_to_device.hardware.gpus`.

Computed, not measured. The marks below are kernels of the book by their operations a byte, as the notebook counts them.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from host_to_device.hardware import gpus
from host_to_device.rendering.palette import COLOURS

NAMES = {
    "T4": COLOURS["quiet"],
    "A100 80 GB": COLOURS["green"],
    "H100 SXM": COLOURS["blue"],
    "RTX 4090": COLOURS["orange"],
    "MI300X": COLOURS["purple"],
}
APART = {"RTX 4090": 1.18, "H100 SXM": 0.85}  # so that the labels do not overlap
KERNELS = {"SAXPY": 1 / 6, "polynomial\nin one loop": 4, "matrix product\nof 1024": 1024 / 6}


def draw() -> Figure:
    fig, ax = plt.subplots(figsize=(6.0, 4.2))
    intensity = np.logspace(-1.3, 3, 300)
    for name, colour in NAMES.items():
        gpu = gpus.find(name)
        ax.loglog(
            intensity,
            np.minimum(gpu.memory_bandwidth * intensity, gpu.fp32) / 1e12,
            color=colour,
            linewidth=1.6,
        )
        label = name.removesuffix(" 80 GB").removesuffix(" SXM")
        ax.text(1_150, gpu.fp32 / 1e12 * APART.get(name, 1), label, color=colour, va="center")
    for name, place in KERNELS.items():
        ax.axvline(place, color=COLOURS["quiet"], linestyle=(0, (2, 3)), linewidth=1)
        ax.text(place * 1.12, 0.022, name, color=COLOURS["ink"], va="bottom")
    ax.set(xlabel="operations a byte", ylabel="float32, TFLOP/s", xlim=(0.05, 1_000), ylim=(0.016, 250))
    ax.set_xticks([0.1, 1, 10, 100, 1_000], ["0.1", "1", "10", "100", "1000"])
    ax.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    ax.minorticks_off()
    ax.tick_params(labelsize=11)  # to be read on a phone without scrolling
    return fig
