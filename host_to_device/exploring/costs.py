"""The explorer of what copying costs: host and device over the size of the work, and where their lines cross.

The model is that of `h2d.predict`, for arrays of `size` float32 numbers that are copied to the device, go through `k`
launches there and are copied back, `batch` arrays at a time. Seconds for one array:

    host    k × size × operations ÷ host rate
    device  (k × launch + 2 × latency) ÷ batch + 8 × size ÷ bandwidth + k × size × operations ÷ device rate

One thing after the other: nothing overlaps, and both rates are at their limits whatever the size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from html import escape
from typing import Any

from host_to_device.exploring.explorer import INK, QUIET, WARNING, Explorer
from host_to_device.rendering import units

BYTES = 8  # of an element: float32 there and float32 back
LINE, HOST, DEVICE = "var(--h2d-line, #d9d9d9)", "var(--h2d-blue, #0072b2)", "var(--h2d-orange, #d55e00)"
PARTS = {
    "launches": "var(--h2d-blue, #0072b2)",
    "latency": "var(--h2d-purple, #aa4499)",
    "moving bytes": "var(--h2d-orange, #d55e00)",
    "arithmetic": "var(--h2d-green, #009e73)",
}

# What each slider moves: label, smallest and largest value, unit.
SLIDERS = {
    "size": ("elements", 100, 100_000_000, ""),
    "batch": ("arrays at a time", 1, 10_000, ""),
    "k": ("launches a round trip", 1, 1_000, ""),
    "operations": ("operations an element", 1, 10_000, ""),
    "launch": ("launch cost", 0.1, 100, "µs"),
    "latency": ("link latency", 0.1, 1_000, "µs"),
    "bandwidth": ("link bandwidth", 1, 1_000, "GB/s"),
    "device_rate": ("device rate", 100, 100_000, "GFLOP/s"),
    "host_rate": ("host rate", 1, 10_000, "GFLOP/s"),
}
WHOLE = ("size", "batch", "k")

LEFT, RIGHT, TOP, BOTTOM, WIDTH, HEIGHT = 52, 62, 14, 40, 460, 270  # of the chart, in the SVG's own units
SIZES, SECONDS = (1e2, 1e8), (1e-7, 1e1)


@dataclass(frozen=True)
class CostPicture:
    """Time on host and device over the size of an array, as a picture; see `explore_cost` for the parameters."""

    size: int = 10_000
    batch: int = 1
    k: int = 1
    operations: float = 200
    launch: float = 3.8
    latency: float = 9.6
    bandwidth: float = 16
    device_rate: float = 15_700
    host_rate: float = 100

    def __post_init__(self) -> None:
        for field in fields(self):
            value, (_, low, high, unit) = getattr(self, field.name), SLIDERS[field.name]
            whole = field.name in WHOLE
            fits = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
            if not fits or not low <= value <= high:
                kind = "a whole number" if whole else "a number"
                raise ValueError(
                    f"{field.name} is {value!r}: the picture takes {kind} from {low:,} to {high:,} {unit}".rstrip()
                )

    def host(self, size: float) -> float:
        """Return the seconds that the host takes for one array of so many elements."""
        return size * self._host_each

    def parts(self, size: float) -> dict[str, float]:
        """Return the seconds that the device takes for one array of so many elements, by what takes them."""
        return {
            "launches": self.k * self.launch * 1e-6 / self.batch,
            "latency": 2 * self.latency * 1e-6 / self.batch,
            "moving bytes": BYTES * size / (self.bandwidth * 1e9),
            "arithmetic": self.k * size * self.operations / (self.device_rate * 1e9),
        }

    def device(self, size: float) -> float:
        """Return the seconds that the device takes for one array of so many elements."""
        return math.fsum(self.parts(size).values())

    @property
    def _host_each(self) -> float:
        return self.k * self.operations / (self.host_rate * 1e9)

    @property
    def crossover(self) -> float | None:
        """The number of elements from which on the device is faster; None if it never is."""
        fixed, each = self.device(0), self.device(1) - self.device(0)
        return fixed / (self._host_each - each) if self._host_each > each else None

    def summary(self) -> str:
        """Return what the picture shows, in a few sentences."""
        host, device = self.host(self.size), self.device(self.size)
        parts = ", ".join(f"{name} {units.seconds(value)}" for name, value in self.parts(self.size).items())
        text = (
            f"{self.size:,} elements: host {units.seconds(host)}, device {units.seconds(device)} ({parts}). "
        )
        if self.crossover is None:
            each = self.device(1) - self.device(0)
            return text + (
                f"The lines never cross: an element costs the device {units.seconds(each)}, most of it on the way, "
                f"and the host {units.seconds(self._host_each)}."
            )
        return text + f"The lines cross at {units.digits(self.crossover)} elements."

    def alt(self) -> str:
        """Return what the picture shows, for those who do not see it."""
        return f"Time for one array against its number of elements, both axes logarithmic. The host's line rises in proportion; the device's is flat at first and rises later. {self.summary()}"

    def svg(self) -> str:
        """Return the picture: both lines, where they cross, and what the device's time is made of at this size."""
        parts = [*self._axes()]
        for name, seconds, colour in (("host", self.host, HOST), ("device", self.device, DEVICE)):
            places = [10 ** (2 + step / 8) for step in range(49)]
            points = [(self._x(place), self._y(seconds(place))) for place in places]
            inside = [(x, y) for x, y in points if TOP <= y <= HEIGHT - BOTTOM]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in inside)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            if inside:
                x, y = inside[-1]
                parts.append(_text(x + 5, y + 4 + (9 if name == "device" else -5), name, colour, "start"))
        x = self._x(self.size)
        parts.append(
            f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="{QUIET}" stroke-dasharray="2 3"/>'
        )
        for seconds, colour in ((self.host, HOST), (self.device, DEVICE)):
            y = self._y(seconds(self.size))
            if TOP <= y <= HEIGHT - BOTTOM:
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>')
        if self.crossover is not None and SIZES[0] <= self.crossover <= SIZES[1]:
            cx, cy = self._x(self.crossover), self._y(self.host(self.crossover))
            if TOP <= cy <= HEIGHT - BOTTOM:
                parts.append(
                    f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="8" fill="none" stroke="{INK}" stroke-width="1.5"/>'
                )
                parts.append(
                    _text(
                        cx + 12,
                        cy + 16,
                        f"{units.short(float(f'{self.crossover:.2g}'))} elements",
                        INK,
                        "start",
                    )
                )
        parts += self._bar()
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT + 58}" role="img" '
            f'aria-label="{escape(self.alt())}" class="h2d-drawing" '
            f'style="width: {WIDTH * 1.35:.0f}px; max-width: 100%; height: auto; font-family: inherit">{"".join(parts)}</svg>'
        )

    def _x(self, size: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * _share(size, *SIZES)

    def _y(self, seconds: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * _share(max(seconds, 1e-12), *SECONDS)

    def _axes(self) -> list[str]:
        parts = []
        for power in range(2, 9, 2):
            x = self._x(10.0**power)
            parts.append(
                f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" stroke="{LINE}"/>'
            )
            parts.append(_text(x, HEIGHT - BOTTOM + 16, units.short(10.0**power), INK, "middle"))
        for power in range(-6, 1, 2):
            y = self._y(10.0**power)
            parts.append(
                f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="{LINE}"/>'
            )
            label = {-6: "1 µs", -4: "100 µs", -2: "10 ms", 0: "1 s"}[power]
            parts.append(_text(LEFT - 6, y + 4, label, INK, "end"))
        parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "elements of the array", QUIET, "middle"))
        return parts

    def _bar(self) -> list[str]:
        """Return the device's time at this size as a bar of its parts, with their names below."""
        found, top, x = self.parts(self.size), HEIGHT + 6, 0.0
        total, parts = math.fsum(found.values()), []
        for name, value in found.items():
            width = WIDTH * value / total
            parts.append(
                f'<rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="16" fill="{PARTS[name]}"/>'
            )
            x += width
        for place, (name, value) in enumerate(found.items()):
            left = place * WIDTH / len(found)
            parts.append(f'<rect x="{left:.1f}" y="{top + 25}" width="9" height="9" fill="{PARTS[name]}"/>')
            parts.append(_text(left + 13, top + 34, name, INK, "start"))
            parts.append(_text(left + 13, top + 48, f"{value / total:.0%}", QUIET, "start"))
        return parts

    def table(self) -> str:
        """Return both lines as a table, folded: a row for each power of ten of elements, and one for this size."""
        head = ("elements", "host", *PARTS, "device")
        rows = []
        for size in sorted({self.size, *(10**power for power in range(2, 9))}):
            seconds = (self.host(size), *self.parts(size).values(), self.device(size))
            cells = "".join(f"<td>{escape(units.seconds(each))}</td>" for each in seconds)
            rows.append(f'<tr><th scope="row">{size:,}</th>{cells}</tr>')
        names = "".join(f'<th scope="col">{name}</th>' for name in head)
        return (
            "<details><summary>These numbers as a table</summary>"
            '<div role="region" aria-label="Table: time on host and device" tabindex="0" style="overflow-x: auto">'
            '<table class="table"><caption>Time for one array; the device\'s is the sum of its four parts</caption>'
            f"<thead><tr>{names}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></details>"
        )

    def html(self) -> str:
        """Return the picture with its sentences and its numbers below it."""
        colour = f' style="color: {WARNING}"' if self.crossover is None else ""
        return f'<div class="h2d-explorer">{self.svg()}<p{colour}>{escape(self.summary())}</p>{self.table()}</div>'

    def _repr_html_(self) -> str:
        return self.html()


class CostExplorer(Explorer):
    """Sliders and the picture where a kernel runs; the picture alone in a static page."""

    picture: CostPicture

    def widget(self) -> Any:
        """Return the sliders and the picture as one ipywidgets box."""
        return self.on_scales(SLIDERS, WHOLE, CostPicture, width="11em")


def explore_cost(
    size: int = 10_000,
    batch: int = 1,
    k: int = 1,
    operations: float = 200,
    *,
    launch: float = 3.8,
    latency: float = 9.6,
    bandwidth: float = 16,
    device_rate: float = 15_700,
    host_rate: float = 100,
) -> CostExplorer:
    """Show what host and device take for arrays that are copied there and back; sliders move every number.

    The defaults of the device are documented for a Tesla V100 on PCI Express 3.0: NVIDIA's "Getting Started with CUDA
    Graphs" (launches, waits), "CUDA C++ Best Practices Guide" (link) and Volta whitepaper (rate). The host's rate is
    an assumption, of a few cores. Everything that it shows is computed, nothing is measured.

    Parameters
    ----------
    size
        Elements of an array, float32, 100 to 100,000,000. The default is a matrix of 100 × 100.
    batch
        Arrays that are copied and launched together, 1 to 10,000.
    k
        Launches that work on an array between the copy there and the copy back, 1 to 1,000.
    operations
        Floating-point operations on an element by a launch, 1 to 10,000. The default is that of a matrix product.
    launch
        What a launch costs, in microseconds, 0.1 to 100.
    latency
        What a copy costs, however small, with the wait for it, in microseconds, 0.1 to 1,000.
    bandwidth
        Of the link, in GB/s, 1 to 1,000.
    device_rate, host_rate
        In GFLOP/s, 100 to 100,000 and 1 to 10,000.

    Raises
    ------
    ValueError
        If a number is not within these limits.
    """
    return CostExplorer(
        CostPicture(size, batch, k, operations, launch, latency, bandwidth, device_rate, host_rate)
    )


def _share(value: float, low: float, high: float) -> float:
    return math.log(value / low) / math.log(high / low)


def _text(x: float, y: float, text: str, fill: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="12" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'
