"""A warp reads a row of a matrix, and a column of it: which sectors of 32 bytes that touches.

Counted by the function that counts in the notes of `h2d.check`. Of the matrix's 64 columns all are drawn, as
eight sectors a row.
"""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from host_to_device.checking.notes import SECTOR, sectors
from host_to_device.rendering.palette import COLOURS

ROWS, COLUMNS, SIZE, LANES = 32, 64, 4, 32


def draw() -> Figure:
    fig, both = plt.subplots(1, 2, figsize=(5.6, 3.8))
    readings = (
        ("x along a row", [lane * SIZE for lane in range(LANES)]),
        ("x down a column", [lane * COLUMNS * SIZE for lane in range(LANES)]),
    )
    across = COLUMNS * SIZE // SECTOR
    for ax, (title, addresses) in zip(both, readings, strict=True):
        touched = {address // SECTOR for address in addresses}
        for sector in range(ROWS * across):
            row, place = divmod(sector, across)
            hit = sector in touched
            ax.add_patch(
                plt.Rectangle(
                    (place, row),
                    0.9,
                    0.8,
                    facecolor=COLOURS["orange-soft"] if hit else COLOURS["idle"],
                    edgecolor=COLOURS["orange"] if hit else "none",
                    linewidth=0.8,
                )
            )
        for address in addresses:
            row, place = divmod(address // SECTOR, across)
            left = address % SECTOR / SECTOR * 0.9
            ax.add_patch(
                plt.Rectangle((place + left, row + 0.15), 0.9 * SIZE / SECTOR, 0.5, color=COLOURS["blue"])
            )
        many = sectors(addresses, SIZE)[0]
        ax.set(xlim=(-0.1, across), ylim=(ROWS, -0.3), xticks=[], yticks=[], title=title)
        ax.set_xlabel(f"{many} sectors for {LANES * SIZE} bytes")
        ax.grid(False)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
    both[0].set_ylabel("32 rows of 64 float32")
    return fig
