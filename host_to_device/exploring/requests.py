"""The request explorer: the time of several operations and of one kernel, on two cards.

Each array has rows of 64 float32 numbers. Each operation is one request and runs at the memory's bandwidth, one after
the other. Seconds:

    requests × launch + arrays × rows × 256 bytes ÷ bandwidth

One kernel is one request, and moves the two arrays that have to be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from host_to_device.exploring.explorer import Explorer, Number, Picture
from host_to_device.rendering import svg, units
from host_to_device.rendering.palette import BLUE, ORANGE, QUIET

ROW = 64 * 4  # bytes
NEEDED = 2  # arrays that one kernel reads
ASKING, MOVING = BLUE, ORANGE
WIDTH, BAR, BETWEEN, NUMBER = 420, 18, 40, 70  # lengths in the SVG's own units


@dataclass(frozen=True)
class RequestPicture(Picture):
    """The time of launches and of memory on two cards, as a picture; see `explore_requests` for the parameters."""

    rows: int = 1_024
    requests: int = 5
    arrays: int = 8
    launch: float = 3.8
    first: float = 448
    second: float = 1_792

    controls: ClassVar = {
        "rows": Number("rows", 100, 10_000_000, log=True),
        "requests": Number("requests", 1, 100, log=True),
        "arrays": Number("arrays moved", 2, 200, log=True),
        "launch": Number("a request", 0.1, 100, "µs", whole=False, log=True),
        "first": Number("first card", 50, 10_000, "GB/s", whole=False, log=True),
        "second": Number("second card", 50, 10_000, "GB/s", whole=False, log=True),
    }

    def ways(self) -> list[tuple[str, float, float]]:
        """Return the four bars: a name, the seconds of the launches, the seconds of moving bytes."""
        found = []
        for card, bandwidth in (("first card", self.first), ("second card", self.second)):
            for requests, arrays in ((self.requests, self.arrays), (1, NEEDED)):
                name = f"{card}, {requests} request{'s' * (requests != 1)}, {arrays} arrays"
                moving = arrays * self.rows * ROW / (bandwidth * 1e9)
                found.append((name, requests * self.launch * 1e-6, moving))
        return found

    @property
    def by_card(self) -> float:
        """How many times as fast the second card is, with all requests."""
        several, _, others, _ = (asking + moving for _, asking, moving in self.ways())
        return several / others

    @property
    def by_kernel(self) -> float:
        """How many times as fast one kernel is, on the first card."""
        several, one, _, _ = (asking + moving for _, asking, moving in self.ways())
        return several / one

    def summary(self) -> str:
        """Return what the picture shows, in two sentences."""
        asking = self.ways()[0][1] / sum(self.ways()[0][1:])
        return (
            f"{self.rows:,} rows, {self.requests} requests that move {self.arrays} arrays: {asking:.0%} of the "
            f"first card's time is asking. The second card is {self.by_card:.1f} times as fast, with "
            f"{self.second / self.first:.1f} times the bandwidth; one kernel is {self.by_kernel:.1f} times as fast."
        )

    def alt(self) -> str:
        """Return what the picture shows, for readers who do not see it."""
        bars = "; ".join(
            f"{name}: {units.seconds(asking)} asking and {units.seconds(moving)} moving"
            for name, asking, moving in self.ways()
        )
        return f"Four bars of time, computed and not measured. {bars}. {self.summary()}"

    def svg(self) -> str:
        """Return the picture: for each card and way a bar of the launches' time and the time of moving bytes."""
        ways, parts = self.ways(), []
        longest = max(asking + moving for _, asking, moving in ways)
        for place, (name, asking, moving) in enumerate(ways):
            x, y = 0.0, place * BETWEEN
            parts.append(svg.text(0, y + 12, name))
            for seconds, colour in ((asking, ASKING), (moving, MOVING)):
                width = (WIDTH - NUMBER) * seconds / longest
                parts.append(svg.box(x, y + 17, width, BAR, colour))
                x += width
            parts.append(svg.text(x + 6, y + 17 + BAR * 0.75, units.seconds(asking + moving)))
        bottom = len(ways) * BETWEEN + 6
        for x, name, colour in ((0, "asking", ASKING), (90, "moving bytes", MOVING)):
            parts.append(svg.box(x, bottom, 10, 10, colour))
            parts.append(svg.text(x + 15, bottom + 10, name, QUIET))
        return svg.picture(parts, self.alt(), (0, 0, WIDTH, bottom + 18), WIDTH * 1.35)


def explore_requests(
    rows: int = 1_024,
    requests: int = 5,
    arrays: int = 8,
    *,
    launch: float = 3.8,
    first: float = 448,
    second: float = 1_792,
) -> Explorer[RequestPicture]:
    """Show how long several operations and one kernel take on two cards, by requests and bytes; sliders move every number.

    The times are computed, not measured. The defaults are documented: the launch in NVIDIA's "Getting Started with
    CUDA Graphs", the bandwidths in the data sheets of the RTX 3060 Ti and the RTX PRO 6000.

    Parameters
    ----------
    rows
        Rows of 64 float32 numbers in each array, 100 to 10,000,000.
    requests
        Operations of the array code, 1 to 100.
    arrays
        Arrays that these operations read and write, 2 to 200. One kernel reads 2.
    launch
        Cost of a request, in microseconds, 0.1 to 100.
    first, second
        Bandwidth of the two cards' memories, in GB/s, 50 to 10,000.

    Raises
    ------
    ValueError
        If a number is not within these limits.

    Examples
    --------
    >>> explorer = h2d.explore_requests(rows=1024, requests=5)  # the last line of a notebook's cell shows it
    >>> print(explorer.picture.summary())
    1,024 rows, 5 requests that move 8 arrays...
    """
    return Explorer(RequestPicture(rows, requests, arrays, launch, first, second))
