"""The explorer of convolutions: what four ways of computing one layer cost in operations and in workspace.

The layer takes one image of `size` × `size` pixels, without padding, in steps of one, in float32. The counts are those
of chapter 7: a Fourier transform of N real numbers as 2.5 N log₂ N operations, and Winograd's F(2 × 2, 3 × 3) with the
32, 28 and 24 additions that Lavin and Gray (2016) count for each tile of data, kernel and result.
"""

from __future__ import annotations

import math
from html import escape
from typing import Any, NamedTuple

from host_to_device.exploring.explorer import INK, QUIET, Explorer

CHANNELS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
KERNELS = (1, 3, 5, 7, 11, 15, 21, 31, 41, 63)
SIZES = (16, 32, 64, 96, 128, 192, 256, 512)
CHOICES = {"channels": CHANNELS, "out_channels": CHANNELS, "kernel": KERNELS, "size": SIZES}
WAYS = ("direct", "im2col", "FFT", "Winograd")

LABEL, BAR, HIGH, ROW = 84, 270, 15, 25  # lengths in the SVG's own units
BLUE, ORANGE = "var(--h2d-blue, #0072b2)", "var(--h2d-orange, #d55e00)"
LOWEST = {"operations": 1e3, "workspace": 1e2}  # where the bars begin, on a logarithmic axis
HIGHEST = {"operations": 1e17, "workspace": 1e15}  # more than there is, as the numbers stand behind the bars


class Cost(NamedTuple):
    """What a way needs: operations, multiplications and additions together, and bytes beside input and result."""

    operations: float
    workspace: float


def cost(way: str, channels: int, out_channels: int, kernel: int, size: int, images: int = 1) -> Cost | None:
    """Return what a way needs for a layer, or None where it cannot compute it.

    Parameters
    ----------
    way
        One of `WAYS`.
    channels, out_channels, kernel, size, images
        Channels in and out, the kernel's and the images' side in pixels, and how many images.
    """
    n, c, k, r, h = images, channels, out_channels, kernel, size
    p = h - r + 1
    if p < 1:
        return None
    direct = 2.0 * n * k * c * p * p * r * r
    if way == "direct":
        return Cost(direct, 0)
    if way == "im2col":
        return Cost(direct, 4.0 * n * c * r * r * p * p)
    if way == "FFT":
        planes, half = n * c + k * c + n * k, h * (h // 2 + 1)
        transforms = 2.5 * h * h * math.log2(h * h) * planes
        return Cost(transforms + 8.0 * n * k * c * half, 8.0 * planes * half)
    if r != 3 or p % 2:
        return None
    tiles = n * (p // 2) ** 2
    sums = 32 * tiles * c + 28 * k * c + 24 * tiles * k
    return Cost(sums + 32.0 * tiles * k * c, 64.0 * (tiles * c + k * c + tiles * k))


class ConvolutionPicture:
    """The four ways' operations and workspaces as bars; see `explore_convolution` for the parameters."""

    def __init__(self, channels: int = 64, out_channels: int = 64, kernel: int = 3, size: int = 64) -> None:
        self.given = {"channels": channels, "out_channels": out_channels, "kernel": kernel, "size": size}
        for name, value in self.given.items():
            if isinstance(value, bool) or value not in CHOICES[name]:
                raise ValueError(
                    f"{name} is {value!r}: the picture takes one of {', '.join(map(str, CHOICES[name]))}"
                )

    @property
    def costs(self) -> dict[str, Cost]:
        """The cost of each way that can compute the layer."""
        found = {way: cost(way, **self.given) for way in WAYS}
        return {way: each for way, each in found.items() if each is not None}

    def summary(self) -> str:
        """Return what the picture shows, in a sentence or two."""
        c, k, r, h = self.given.values()
        head = f"{c} to {k} channels, kernels of {r} × {r}, one image of {h} × {h}: "
        costs = self.costs
        if not costs:
            return head + "the kernel is larger than the image."
        fewest = min(costs, key=lambda way: costs[way].operations)
        most = max(costs, key=lambda way: costs[way].workspace)
        share = costs["direct"].operations / costs[fewest].operations
        if fewest == "direct":
            text = "nothing has fewer operations than the direct way"
        else:
            text = f"{fewest} has the fewest operations, {share:.3g} times fewer than the direct way"
        return f"{head}{text}; {most} needs the largest workspace, {_bytes(costs[most].workspace)}."

    def alt(self) -> str:
        """Return what the picture shows, for those who do not see it."""
        rows = [
            f"{way}: {_number(each.operations)} operations, workspace {_bytes(each.workspace)}"
            for way, each in self.costs.items()
        ]
        missing = [f"{way} does not apply" for way in WAYS if way not in self.costs]
        return f"Bars on a logarithmic axis. {'; '.join(rows + missing)}. {self.summary()}"

    def svg(self) -> str:
        """Return the picture: four bars of operations, and below them four of workspace."""
        parts, y = [], 0
        for what, colour, say in (("operations", BLUE, _number), ("workspace", ORANGE, _bytes)):
            parts.append(_text(0, y + 13, what, INK, bold=True))
            y += ROW - 4
            for way in WAYS:
                parts.append(_text(0, y + 12, way, QUIET))
                if way in self.costs:
                    value = getattr(self.costs[way], what)
                    long = self._length(what, value)
                    parts.append(
                        f'<rect x="{LABEL}" y="{y}" width="{long:.1f}" height="{HIGH}" fill="{colour}"/>'
                    )
                    parts.append(_text(LABEL + long + 6, y + 12, say(value), INK))
                else:
                    parts.append(_text(LABEL, y + 12, "does not apply", QUIET))
                y += ROW - 4
            y += 10
        width = LABEL + BAR + 4
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" role="img" '
            f'aria-label="{escape(self.alt())}" class="h2d-drawing" style="width: {width}px; '
            f'max-width: 100%; height: auto; font-family: inherit">{"".join(parts)}</svg>'
        )

    @staticmethod
    def _length(what: str, value: float) -> float:
        """Return how long a bar is; the axis leaves room for its number."""
        low, high = math.log10(LOWEST[what]), math.log10(HIGHEST[what])
        return 0 if value < LOWEST[what] else (math.log10(value) - low) / (high - low) * BAR

    def html(self) -> str:
        """Return the picture with its sentence below it."""
        return f'<div class="h2d-explorer">{self.svg()}<p>{escape(self.summary())}</p></div>'

    def _repr_html_(self) -> str:
        return self.html()


class ConvolutionExplorer(Explorer):
    """Sliders and the picture where a kernel runs; the picture alone in a static page."""

    picture: ConvolutionPicture

    def widget(self) -> Any:
        """Return the sliders and the picture as one ipywidgets box."""
        import ipywidgets

        look = {"style": {"description_width": "7em"}, "layout": {"width": "min(100%, 28em)"}}
        moved = {
            name: ipywidgets.SelectionSlider(
                options=CHOICES[name], value=value, description=name.replace("_", " "), **look
            )
            for name, value in self.picture.given.items()
        }
        return self.linked(moved, ConvolutionPicture)


def explore_convolution(
    channels: int = 64, out_channels: int = 64, kernel: int = 3, size: int = 64
) -> ConvolutionExplorer:
    """Show what four ways of computing a convolution of one float32 image cost: direct, im2col, FFT and Winograd.

    Operations are multiplications and additions together, the workspace is in bytes; both are counted, not measured.

    Parameters
    ----------
    channels, out_channels
        Channels of the image and of the result, powers of two from 1 to 512.
    kernel
        The kernels' side in pixels, an odd number from 1 to 63; the explorer has ten of them.
    size
        The image's side in pixels, from 16 to 512; the explorer has eight of them.

    Raises
    ------
    ValueError
        If a number is none of those that the explorer has.
    """
    return ConvolutionExplorer(ConvolutionPicture(channels, out_channels, kernel, size))


def _number(value: float) -> str:
    for power, name in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= power:
            return f"{value / power:.3g}{name}"
    return f"{value:.0f}"


def _bytes(value: float) -> str:
    return "none" if not value else f"{_number(value)}B" if value >= 1e3 else f"{value:.0f} B"


def _text(x: float, y: float, text: str, fill: str, bold: bool = False) -> str:
    weight = ' font-weight="700"' if bold else ""
    return f'<text x="{x:g}" y="{y:g}" font-size="12" fill="{fill}"{weight}>{escape(text)}</text>'
