"""The convolution explorer: what four ways of computing one layer cost in operations and in workspace.

The layer takes one image of `size` × `size` pixels, without padding, in steps of one, in float32. The counts are those
of chapter 7: a Fourier transform of N real numbers as 2.5 N log₂ N operations, and Winograd's F(2 × 2, 3 × 3) with the
32, 28 and 24 additions that Lavin and Gray (2016) count for each tile of data, kernel and result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from host_to_device.exploring.explorer import Choice, Explorer, Picture
from host_to_device.rendering import svg
from host_to_device.rendering.palette import BLUE, ORANGE, QUIET

CHANNELS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
WAYS = ("direct", "im2col", "FFT", "Winograd")

LABEL, BAR, HIGH, ROW = 84, 270, 15, 25  # lengths in the SVG's own units
LOWEST = {"operations": 1e3, "workspace": 1e2}  # where the bars begin, on a logarithmic axis
HIGHEST = {"operations": 1e17, "workspace": 1e15}  # above the largest values: numbers stand behind the bars


class Cost(NamedTuple):
    """What a way needs: multiplications and additions together, and bytes of memory beside input and result."""

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


@dataclass(frozen=True)
class ConvolutionPicture(Picture):
    """The four ways' operations and workspaces as bars; see `explore_convolution` for the parameters."""

    channels: int = 64
    out_channels: int = 64
    kernel: int = 3
    size: int = 64

    controls: ClassVar = {
        "channels": Choice("channels", CHANNELS, ordered=True),
        "out_channels": Choice("out channels", CHANNELS, ordered=True),
        "kernel": Choice("kernel", (1, 3, 5, 7, 11, 15, 21, 31, 41, 63), ordered=True),
        "size": Choice("size", (16, 32, 64, 96, 128, 192, 256, 512), ordered=True),
    }

    @property
    def costs(self) -> dict[str, Cost]:
        """The cost of each way that can compute the layer."""
        layer = (self.channels, self.out_channels, self.kernel, self.size)
        found = {way: cost(way, *layer) for way in WAYS}
        return {way: each for way, each in found.items() if each is not None}

    def summary(self) -> str:
        """Return what the picture shows, in a sentence or two."""
        c, k, r, h = self.channels, self.out_channels, self.kernel, self.size
        head = f"{c} to {k} channels, kernels of {r} × {r}, one image of {h} × {h}: "
        costs = self.costs
        if not costs:
            return head + "the kernel is larger than the image."
        fewest = min(costs, key=lambda way: costs[way].operations)
        most = max(costs, key=lambda way: costs[way].workspace)
        share = costs["direct"].operations / costs[fewest].operations
        if fewest == "direct":
            text = "no way has fewer operations than the direct way"
        else:
            text = f"{fewest} has the fewest operations, {share:.3g} times fewer than the direct way"
        return f"{head}{text}; {most} needs the largest workspace, {_bytes(costs[most].workspace)}."

    def alt(self) -> str:
        """Return what the picture shows, for readers who do not see it."""
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
            parts.append(svg.text(0, y + 13, what, font_weight=700))
            y += ROW - 4
            for way in WAYS:
                parts.append(svg.text(0, y + 12, way, QUIET))
                if way in self.costs:
                    value = getattr(self.costs[way], what)
                    long = _length(what, value)
                    parts.append(svg.box(LABEL, y, long, HIGH, colour))
                    parts.append(svg.text(LABEL + long + 6, y + 12, say(value)))
                else:
                    parts.append(svg.text(LABEL, y + 12, "does not apply", QUIET))
                y += ROW - 4
            y += 10
        return svg.picture(parts, self.alt(), (0, 0, LABEL + BAR + 4, y))


def _length(what: str, value: float) -> float:
    """Return how long a bar is; the axis leaves room for its number."""
    low, high = math.log10(LOWEST[what]), math.log10(HIGHEST[what])
    return 0 if value < LOWEST[what] else (math.log10(value) - low) / (high - low) * BAR


def _number(value: float) -> str:
    for power, name in ((1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= power:
            return f"{value / power:.3g}{name}"
    return f"{value:.0f}"


def _bytes(value: float) -> str:
    return "none" if not value else f"{_number(value)}B" if value >= 1e3 else f"{value:.0f} B"


def explore_convolution(
    channels: int = 64, out_channels: int = 64, kernel: int = 3, size: int = 64
) -> Explorer[ConvolutionPicture]:
    """Show what four ways of computing a convolution of one float32 image cost: direct, im2col, FFT and Winograd.

    Operations are multiplications and additions together, the workspace is in bytes; both are counted, not measured.

    Parameters
    ----------
    channels, out_channels
        Channels of the image and of the result, powers of two from 1 to 512.
    kernel
        The kernels' side in pixels, one of 1, 3, 5, 7, 11, 15, 21, 31, 41 and 63.
    size
        The image's side in pixels, one of 16, 32, 64, 96, 128, 192, 256 and 512.

    Raises
    ------
    ValueError
        If the explorer does not have one of the numbers.

    Examples
    --------
    >>> explorer = h2d.explore_convolution(kernel=3)  # the last line of a notebook's cell shows it
    >>> print(explorer.picture.summary())
    64 to 64 channels, kernels of 3 × 3, one image of 64 × 64: Winograd has the fewest operations...
    """
    return Explorer(ConvolutionPicture(channels, out_channels, kernel, size))
