"""Peak rate of one processor over the years at one precision, and what the old table compares it with.

float32 by multiply and add, one chip, dense, no Tensor Cores: `host_to_device.hardware.gpus` for the later ones, and for the
earlier ones a Pentium III of 1 GHz with four operations a cycle (Keshava and Pentkovski 1999), a GeForce 8800 GTX, 128
units × 2 × 1.35 GHz (Lindholm et al. 2008), and a Tesla C2050 (NVIDIA's data sheet). The crosses are the rows of the
old table for 2010 and 2020.
"""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from host_to_device.hardware import gpus
from host_to_device.rendering.palette import COLOURS

EARLY = {"Pentium III, 1 GHz": (2000.2, 4e9), "8800 GTX": (2006.9, 345.6e9), "C2050": (2010.5, 1.03e12)}
LATER = ("V100", "A100", "H100", "RTX 4090", "RTX PRO 6000")
BLUE, ORANGE = COLOURS["blue"], COLOURS["orange"]
LABELS = {  # where a label does not stand to the right and below
    "8800 GTX": ((-7, 5), "right"),
    "C2050": ((7, -12), "left"),
    "H100": ((-7, 3), "right"),
    "RTX PRO 6000": ((4, 9), "center"),
}


def points() -> dict[str, tuple[float, float]]:
    """Return year and operations a second of every chip in the figure."""
    found = dict(EARLY)
    for name in LATER:
        gpu = gpus.find(name)
        year, month, _ = map(int, gpu.released.split("-"))
        found[name] = (year + (month - 1) / 12, gpu.fp32)
    return found


def draw() -> Figure:
    fig, ax = plt.subplots(figsize=(6.0, 4.4))
    for name, (year, rate) in points().items():
        ax.semilogy(year, rate, "o", color=BLUE)
        offset, side = LABELS.get(name, ((7, -12), "left"))
        ax.annotate(name, (year, rate), offset, textcoords="offset points", ha=side, color=BLUE)
    ax.semilogy([2000, 2010, 2020], [1e9, 1e12, 1e15], "x--", color=ORANGE, linewidth=1.2)
    ax.annotate(
        "the old table,\n×1000 a decade",
        (2016.5, 9e13),
        (-10, 0),
        textcoords="offset points",
        ha="right",
        color=ORANGE,
    )
    ax.annotate(
        "16 V100s, Tensor\nCores, float16", (2020, 1e15), (8, -8), textcoords="offset points", color=ORANGE
    )
    ax.set(xlabel="year", ylabel="operations a second", xlim=(1999, 2028.5), ylim=(5e8, 4e15))
    ax.set_yticks(
        [1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15], ["1 G", "10 G", "100 G", "1 T", "10 T", "100 T", "1 P"]
    )
    ax.minorticks_off()
    ax.tick_params(labelsize=11)  # to be read on a phone without scrolling
    return fig
