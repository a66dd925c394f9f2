"""The cost explorer: the time on host and device over the size of the work, and where their lines cross.

The model and its defaults are those of `h2d.predict`, for arrays of `size` float32 numbers that are copied to the
device, go through `k` launches there and are copied back, `batch` arrays at a time; the host waits for both copies, and
each launch reads and writes the array once. Seconds for one array:

    host    k × size × operations ÷ host rate
    device  max((k + 2) × launch ÷ batch, kernels) + 2 × wait ÷ batch + 8 × size ÷ bandwidth
    kernels k × size × max(operations ÷ device rate, 8 ÷ memory bandwidth)

Both rates and both bandwidths are at their limits for every size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from host_to_device.exploring.explorer import Explorer, Number, Picture
from host_to_device.measuring import prices
from host_to_device.rendering import svg, units
from host_to_device.rendering.palette import BLUE, GREEN, INK, LINE, ORANGE, PURPLE, QUIET
from host_to_device.rendering.table import Table

BYTES = 8  # of an element: float32 there and float32 back, over the link; read and written, in the device's memory
V100 = {name: limit["value"] for name, limit in prices.documented("V100").limits.items()}
LAUNCH, WAIT = (round(V100[name] * 1e6, 3) for name in ("launch latency", "wait latency"))  # µs
LINK, MEMORY = (V100[name] / 1e9 for name in ("host to device, pinned", "copy bandwidth"))  # GB/s
RATE = V100["matmul float32"] / 1e9  # GFLOP/s
HOST, DEVICE = BLUE, ORANGE
PARTS = {"issuing": BLUE, "kernels after it": GREEN, "waits": PURPLE, "moving bytes": ORANGE}

LEFT, RIGHT, TOP, BOTTOM, WIDTH, HEIGHT = 52, 62, 14, 40, 460, 270  # of the chart, in the SVG's own units
SIZES, SECONDS = (1e2, 1e8), (1e-7, 1e1)


@dataclass(frozen=True)
class CostPicture(Picture):
    """Time on host and device over the size of an array, as a picture; see `explore_cost` for the parameters."""

    size: int = 10_000
    batch: int = 1
    k: int = 1
    operations: float = 200
    launch: float = LAUNCH
    wait: float = WAIT
    bandwidth: float = LINK
    memory: float = MEMORY
    device_rate: float = RATE
    host_rate: float = 100

    controls: ClassVar = {
        "size": Number("elements", 100, 100_000_000, log=True),
        "batch": Number("arrays at a time", 1, 10_000, log=True),
        "k": Number("launches a round trip", 1, 1_000, log=True),
        "operations": Number("operations an element", 1, 10_000, whole=False, log=True),
        "launch": Number("launch cost", 0.1, 100, "µs", whole=False, log=True),
        "wait": Number("wait cost", 0.1, 1_000, "µs", whole=False, log=True),
        "bandwidth": Number("link bandwidth", 1, 1_000, "GB/s", whole=False, log=True),
        "memory": Number("device's memory", 10, 10_000, "GB/s", whole=False, log=True),
        "device_rate": Number("device rate", 100, 100_000, "GFLOP/s", whole=False, log=True),
        "host_rate": Number("host rate", 1, 10_000, "GFLOP/s", whole=False, log=True),
    }

    def host(self, size: float) -> float:
        """Return the seconds that the host takes for one array of `size` elements."""
        return size * self._host_each

    def parts(self, size: float) -> dict[str, float]:
        """Return the four parts of the seconds that the device takes for one array of `size` elements.

        Kernels run while the host issues; "kernels after it" is the time for which they outlast the issuing.
        """
        issuing = self._issuing
        return {
            "issuing": issuing,
            "kernels after it": max(0.0, size * self._kernels_each - issuing),
            "waits": self._waits,
            "moving bytes": size * self._moving_each,
        }

    def device(self, size: float) -> float:
        """Return the seconds that the device takes for one array of `size` elements."""
        return math.fsum(self.parts(size).values())

    @property
    def _issuing(self) -> float:
        return (self.k + 2) * self.launch * 1e-6 / self.batch

    @property
    def _waits(self) -> float:
        return 2 * self.wait * 1e-6 / self.batch

    @property
    def _host_each(self) -> float:
        return self.k * self.operations / (self.host_rate * 1e9)

    @property
    def _kernels_each(self) -> float:
        return self.k * max(self.operations / self.device_rate, BYTES / self.memory) / 1e9

    @property
    def _moving_each(self) -> float:
        return BYTES / (self.bandwidth * 1e9)

    @property
    def crossover(self) -> float | None:
        """The number of elements above which the device is faster; None if it never is."""
        gain = self._host_each - self._moving_each  # for an element, beside issuing
        if gain <= self._kernels_each:
            return None
        return max((self._issuing + self._waits) / gain, self._waits / (gain - self._kernels_each))

    @property
    def warns(self) -> bool:
        """Whether the device is never faster."""
        return self.crossover is None

    def summary(self) -> str:
        """Return what the picture shows, in a few sentences."""
        host, device = self.host(self.size), self.device(self.size)
        parts = ", ".join(f"{name} {units.seconds(value)}" for name, value in self.parts(self.size).items())
        text = (
            f"{self.size:,} elements: host {units.seconds(host)}, device {units.seconds(device)} ({parts}). "
        )
        if self.crossover is None:
            moving, kernels = self._moving_each, self._kernels_each
            each, most = moving + kernels, "on the way" if moving > kernels else "in its kernels"
            return text + (
                f"The lines never cross: an element costs the device {units.seconds(each)}, most of it {most}, "
                f"and the host {units.seconds(self._host_each)}."
            )
        return text + f"The lines cross at {units.digits(self.crossover)} elements."

    def alt(self) -> str:
        """Return what the picture shows, for readers who do not see it."""
        return f"Time for one array against its number of elements, both axes logarithmic. The host's line rises in proportion; the device's is flat at first and rises later. {self.summary()}"

    def svg(self) -> str:
        """Return the picture: both lines, where they cross, and the parts of the device's time at this size."""
        parts = [*self._axes()]
        for name, seconds, colour, side in (
            ("host", self.host, HOST, -5),
            ("device", self.device, DEVICE, 9),
        ):
            sizes = [10 ** (2 + step / 8) for step in range(49)]
            points = [
                (self._x(size), self._y(seconds(size))) for size in sizes if self._is_inside(seconds(size))
            ]
            parts.append(svg.curve(points, colour, stroke_width=2))
            if points:
                x, y = points[-1]
                parts.append(svg.text(x + 5, y + 4 + side, name, colour))
        x = self._x(self.size)
        parts.append(svg.line(x, TOP, x, HEIGHT - BOTTOM, QUIET, stroke_dasharray="2 3"))
        for now, colour in ((self.host(self.size), HOST), (self.device(self.size), DEVICE)):
            if self._is_inside(now):
                parts.append(svg.circle(x, self._y(now), 4, colour))
        cross = self.crossover
        if cross is not None and SIZES[0] <= cross <= SIZES[1] and self._is_inside(self.host(cross)):
            x, y = self._x(cross), self._y(self.host(cross))
            parts.append(svg.circle(x, y, 8, "none", stroke=INK, stroke_width=1.5))
            parts.append(svg.text(x + 12, y + 16, f"{units.short(float(f'{cross:.2g}'))} elements"))
        parts += self._bar()
        return svg.picture(parts, self.alt(), (0, 0, WIDTH, HEIGHT + 58), WIDTH * 1.35)

    @staticmethod
    def _is_inside(seconds: float) -> bool:
        """Whether the chart shows a time."""
        return SECONDS[0] <= seconds <= SECONDS[1]

    def _x(self, size: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * _share(size, *SIZES)

    def _y(self, seconds: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * _share(seconds, *SECONDS)

    def _axes(self) -> list[str]:
        parts = []
        for power in range(2, 9, 2):
            x = self._x(10.0**power)
            parts.append(svg.line(x, TOP, x, HEIGHT - BOTTOM, LINE))
            parts.append(svg.text(x, HEIGHT - BOTTOM + 16, units.short(10.0**power), anchor="middle"))
        for power, label in ((-6, "1 µs"), (-4, "100 µs"), (-2, "10 ms"), (0, "1 s")):
            y = self._y(10.0**power)
            parts.append(svg.line(LEFT, y, WIDTH - RIGHT, y, LINE))
            parts.append(svg.text(LEFT - 6, y + 4, label, anchor="end"))
        parts.append(
            svg.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "elements of the array", QUIET, "middle")
        )
        return parts

    def _bar(self) -> list[str]:
        """Return the device's time at this size as a bar of its parts, with their names below."""
        found, top, x = self.parts(self.size), HEIGHT + 6, 0.0
        total, parts = math.fsum(found.values()), []
        for name, value in found.items():
            width = WIDTH * value / total
            parts.append(svg.box(x, top, width, 16, PARTS[name]))
            x += width
        for place, (name, value) in enumerate(found.items()):
            left = place * WIDTH / len(found)
            parts.append(svg.box(left, top + 25, 9, 9, PARTS[name]))
            parts.append(svg.text(left + 13, top + 34, name))
            parts.append(svg.text(left + 13, top + 48, f"{value / total:.0%}", QUIET))
        return parts

    def table(self) -> Table:
        """Return both lines as a table: a row for each power of ten of elements, and one for this size."""
        head = ("elements", "host", *PARTS, "device")
        rows = []
        for size in sorted({self.size, *(10**power for power in range(2, 9))}):
            seconds = (self.host(size), *self.parts(size).values(), self.device(size))
            rows.append((f"{size:,}", *map(units.seconds, seconds)))
        caption = "Time for one array on host and device; the device's is the sum of its four parts"
        return Table(caption, head, tuple(rows), tuple(range(len(head))))


def _share(value: float, low: float, high: float) -> float:
    return math.log(value / low) / math.log(high / low)


def explore_cost(
    size: int = 10_000,
    batch: int = 1,
    k: int = 1,
    operations: float = 200,
    *,
    launch: float = LAUNCH,
    wait: float = WAIT,
    bandwidth: float = LINK,
    memory: float = MEMORY,
    device_rate: float = RATE,
    host_rate: float = 100,
) -> Explorer[CostPicture]:
    """Show how long host and device take for arrays that are copied there and back; sliders move every number.

    The defaults of the device are the prices of the documented V100; `h2d.predict` has them with their sources. The
    host's rate is an assumption, of a few cores. The times are predicted, not measured.

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
        Cost of issuing a launch or a copy, in microseconds, 0.1 to 100.
    wait
        Cost of a wait of the host, in microseconds, 0.1 to 1,000. The host waits for each of the two copies.
    bandwidth
        Bandwidth of the link, in GB/s, 1 to 1,000.
    memory
        Bandwidth of the device's memory, in GB/s, 10 to 10,000. Each launch reads and writes the array once.
    device_rate, host_rate
        Operations per second, in GFLOP/s, 100 to 100,000 and 1 to 10,000.

    Raises
    ------
    ValueError
        If a number is not within these limits.

    Examples
    --------
    >>> explorer = h2d.explore_cost(size=1000)  # the last line of a notebook's cell shows it
    >>> print(explorer.picture.summary())
    1,000 elements: host 2.00 µs, device 23.7 µs...
    """
    return Explorer(
        CostPicture(size, batch, k, operations, launch, wait, bandwidth, memory, device_rate, host_rate)
    )
