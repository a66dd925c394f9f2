"""A column of a tile and the banks it lies in, with and without one unused word at the end of each row.

Drawn with 8 banks and a tile of 8 × 8 in place of 32 and 32 × 32: word k lies in bank k mod 8.
"""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from host_to_device.rendering.palette import COLOURS

BANKS, COLUMN = 8, 2


def draw() -> Figure:
    fig, both = plt.subplots(1, 2, figsize=(5.6, 3.1), gridspec_kw={"width_ratios": [8, 9]})
    for ax, width in zip(both, (BANKS, BANKS + 1), strict=True):
        for row in range(BANKS):
            for col in range(width):
                mine, spare = col == COLUMN, col >= BANKS
                fill, edge = (
                    (COLOURS["orange-soft"], COLOURS["orange"])
                    if width == BANKS
                    else (COLOURS["blue-soft"], COLOURS["blue"])
                )
                ax.add_patch(
                    plt.Rectangle(
                        (col, row),
                        0.88,
                        0.88,
                        facecolor=fill if mine else "none" if spare else COLOURS["idle"],
                        edgecolor=edge if mine else COLOURS["quiet"] if spare else "none",
                        linestyle=":" if spare else "-",
                        linewidth=1,
                    )
                )
                ax.text(
                    col + 0.44,
                    row + 0.46,
                    str((row * width + col) % BANKS),
                    ha="center",
                    va="center",
                    fontsize=10,
                    color=COLOURS["ink"] if mine else COLOURS["quiet"],
                )
        turns = len({(row * width + COLUMN) % BANKS for row in range(BANKS)})
        title = f"rows of {width}"
        ax.set_title(title, color=COLOURS["ink"], fontsize=11)
        ax.text(
            width / 2,
            BANKS + 0.75,
            f"the column: {BANKS // turns} turn{'s' * (turns == 1)}",
            ha="center",
            va="center",
            fontsize=11,
            color=COLOURS["ink"],
        )
        ax.set(xlim=(-0.2, width + 0.1), ylim=(BANKS + 1.2, -0.2), aspect="equal")
        ax.axis("off")
    return fig
