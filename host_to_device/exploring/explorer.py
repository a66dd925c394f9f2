"""Explorers: pictures of the model that the reader can move.

Each one is drawn by Python as SVG. With a kernel, sliders redraw it; in a static page the picture of its
first state stands in its place, so it is worth looking at without moving anything.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection
from html import escape
from typing import Any

# Fill of a block's cells. The book's style sheet sets the variables for light and dark pages; elsewhere the
# colours behind the commas hold.
BLOCK_FILLS = (
    "var(--h2d-blue-soft, #dcebf7)",
    "var(--h2d-orange-soft, #fbe5d6)",
    "var(--h2d-green-soft, #dcf2ea)",
)
IDLE_FILL = "var(--h2d-idle, #ece9e4)"
INK = "var(--h2d-ink, #1a1a1a)"
QUIET = "var(--h2d-quiet, #6b6b6b)"
WARNING = "var(--h2d-orange-text, #b84a00)"

CELL, GAP, LABEL = 34, 4, 84  # lengths in the SVG's own units
LARGEST = {"n": 96, "blocks": 8, "threads_per_block": 16}


class GridPicture:
    """Which element each thread of a one-dimensional grid takes, as a picture.

    Parameters
    ----------
    n
        Number of elements, 1 to 96.
    blocks, threads_per_block
        Size of the grid, 1 to 8, and of each block, 1 to 16.

    Raises
    ------
    ValueError
        If a size is not a whole number within these limits.
    """

    def __init__(self, n: int, blocks: int, threads_per_block: int) -> None:
        for name, value in (("n", n), ("blocks", blocks), ("threads_per_block", threads_per_block)):
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST[name]:
                raise ValueError(
                    f"{name} is {value!r}: the picture takes a whole number from 1 to {LARGEST[name]}"
                )
        self.n, self.blocks, self.threads_per_block = n, blocks, threads_per_block

    @property
    def threads(self) -> int:
        return self.blocks * self.threads_per_block

    @property
    def idle(self) -> int:
        """Number of threads that have no element."""
        return max(0, self.threads - self.n)

    @property
    def missed(self) -> int:
        """Number of elements that no thread takes."""
        return max(0, self.n - self.threads)

    def summary(self) -> str:
        """Return what the picture shows, in a sentence."""
        text = (
            f"{self.blocks} × {self.threads_per_block} = {self.threads} threads "
            f"for {self.n} element{'s' if self.n > 1 else ''}: "
        )
        if self.missed:
            return text + f"{self.missed} left out, elements {self.threads} to {self.n - 1}."
        if self.idle:
            return text + f"{self.idle} idle, stopped by the guard."
        return text + "one each."

    def alt(self) -> str:
        rows = []
        for block in range(self.blocks):
            first, last = block * self.threads_per_block, (block + 1) * self.threads_per_block - 1
            if first >= self.n:
                rows.append(f"block {block} takes none")
            else:
                rows.append(f"block {block} takes elements {first} to {min(last, self.n - 1)}")
        return f"{self.summary()} {'; '.join(rows)}."

    def svg(self) -> str:
        """Return the picture: a row a block, a cell a thread, in it the element that the thread takes."""
        width = LABEL + self.threads_per_block * (CELL + GAP)
        height = (self.blocks + 1) * (CELL + GAP)
        parts = [
            _text(LABEL + thread * (CELL + GAP) + CELL / 2, CELL * 0.7, str(thread), QUIET, 12)
            for thread in range(self.threads_per_block)
        ]
        parts.append(_text(0, CELL * 0.7, "threadIdx.x", QUIET, 12, "start"))
        for block in range(self.blocks):
            y = (block + 1) * (CELL + GAP)
            parts.append(_text(0, y + CELL * 0.65, f"block {block}", QUIET, 13, "start"))
            for thread in range(self.threads_per_block):
                x = LABEL + thread * (CELL + GAP)
                element = block * self.threads_per_block + thread
                taken = element < self.n
                fill = BLOCK_FILLS[block % len(BLOCK_FILLS)] if taken else IDLE_FILL
                edge = "none" if taken else QUIET
                parts.append(
                    f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" rx="5" fill="{fill}" '
                    f'stroke="{edge}" stroke-dasharray="3 3"/>'
                )
                parts.append(
                    _text(
                        x + CELL / 2,
                        y + CELL * 0.65,
                        str(element) if taken else "–",
                        INK if taken else QUIET,
                        14,
                    )
                )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{escape(self.alt())}" style="width: {width}px; max-width: 100%; height: auto; '
            f'font-family: inherit">{"".join(parts)}</svg>'
        )

    def html(self) -> str:
        """Return the picture with its sentence below it."""
        colour = f' style="color: {WARNING}"' if self.missed else ""
        return f'<div class="h2d-explorer">{self.svg()}<p{colour}>{escape(self.summary())}</p></div>'

    def _repr_html_(self) -> str:
        return self.html()


def _text(x: float, y: float, text: str, fill: str, size: int, anchor: str = "middle") -> str:
    return f'<text x="{x}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'


class Explorer:
    """Sliders and a picture where a kernel runs; the picture alone in a static page."""

    def __init__(self, picture: GridPicture) -> None:
        self.picture = picture

    def widget(self) -> Any:
        """Return the sliders and the picture as one ipywidgets box."""
        import ipywidgets

        names = {"n": "elements", "blocks": "blocks", "threads_per_block": "threads a block"}
        sliders = {
            name: ipywidgets.IntSlider(
                value=getattr(self.picture, name),
                min=1,
                max=LARGEST[name],
                description=label,
                style={"description_width": "8em"},
                layout={"width": "min(100%, 28em)"},
            )
            for name, label in names.items()
        }
        return self.linked(sliders, GridPicture)

    def linked(self, controls: dict[str, Any], picture: Callable[..., Any]) -> Any:
        """Return the controls and the picture as one box; each move of a control draws the picture anew.

        `picture` makes one of the controls' values, which it gets by the controls' names.
        """
        import ipywidgets

        view = ipywidgets.HTML(self.picture.html())

        def redraw(_change: object) -> None:
            self.picture = picture(**{name: control.value for name, control in controls.items()})
            view.value = self.picture.html()

        for control in controls.values():
            control.observe(redraw, names="value")
        return ipywidgets.VBox([*controls.values(), view])

    def on_scales(
        self,
        scales: dict[str, tuple[str, float, float, str]],
        whole: Collection[str],
        picture: Callable[..., Any],
        width: str,
    ) -> Any:
        """Return logarithmic sliders and the picture as one box.

        `scales` has label, low, high and unit of each; those in `whole` are whole numbers; `width` is the labels'.
        """
        import ipywidgets

        sliders = {
            name: ipywidgets.FloatLogSlider(
                value=getattr(self.picture, name),
                base=10,
                min=math.log10(low),
                max=math.log10(high),
                step=0.05,
                description=f"{label} ({unit})" if unit else label,
                readout_format=",.0f" if name in whole else ".3g",
                style={"description_width": width},
                layout={"width": "min(100%, 32em)"},
            )
            for name, (label, low, high, unit) in scales.items()
        }

        def of_values(**asked: float) -> Any:
            values = {}
            for name, value in asked.items():
                _, low, high, _ = scales[name]
                value = min(max(value, low), high)  # a power of ten may land a hair beyond the end
                values[name] = round(value) if name in whole else value
            return picture(**values)

        return self.linked(sliders, of_values)

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        # Spelled out, because ipywidgets 7 (Colab's) has no method that returns it.
        view = {"version_major": 2, "version_minor": 0, "model_id": self.widget().model_id}
        bundle: dict[str, Any] = {
            "application/vnd.jupyter.widget-view+json": view,
            "text/plain": self.picture.summary(),
        }
        # Colab would show the still picture beside the widget; other front ends choose the widget.
        if "google.colab" not in sys.modules:
            bundle["text/html"] = self.picture.html()
        return bundle


def explore_grid(n: int = 20, blocks: int = 3, threads_per_block: int = 8) -> Explorer:
    """Show which element each thread of a one-dimensional grid takes; sliders move the three sizes.

    Parameters
    ----------
    n
        Number of elements, 1 to 96.
    blocks, threads_per_block
        Size of the grid, 1 to 8, and of each block, 1 to 16.

    Raises
    ------
    ValueError
        If a size is not a whole number within these limits.
    """
    return Explorer(GridPicture(n, blocks, threads_per_block))
