"""The launch explorer: the time of several operations and of one kernel, on two cards.

Each array has rows of 64 float32 numbers. Each operation is one launch and runs at the memory's bandwidth. The host
issues launches while the device works, so the longer of the two times counts, as in `h2d.predict`. Seconds:

    max(launches × price of a launch, arrays × rows × 256 bytes ÷ bandwidth)

One kernel is one launch, and moves the two arrays that have to be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from host_to_device.exploring.explorer import Explorer, Number, Picture
from host_to_device.measuring import prices
from host_to_device.rendering import svg, units
from host_to_device.rendering.palette import BLUE, ORANGE, QUIET

ROW = 64 * 4  # bytes
CARDS = "RTX 3060 Ti", "RTX PRO 6000"
FIRST, SECOND = (prices.documented(card).limits["copy bandwidth"]["value"] / 1e9 for card in CARDS)  # GB/s
LAUNCH = round(prices.LAUNCH * 1e6, 3)  # µs
NEEDED = 2  # arrays that one kernel reads
ISSUING, MOVING = BLUE, ORANGE
WIDTH, BAR, BETWEEN, NUMBER = 420, 9, 40, 70  # lengths in the SVG's own units


@dataclass(frozen=True)
class RequestPicture(Picture):
    """The time of launches and of memory on two cards, as a picture; see `explore_requests` for the parameters."""

    rows: int = 1_024
    requests: int = 5
    arrays: int = 8
    launch: float = LAUNCH
    first: float = FIRST
    second: float = SECOND

    controls: ClassVar = {
        "rows": Number("rows", 100, 10_000_000, log=True),
        "requests": Number("launches", 1, 100, log=True),
        "arrays": Number("arrays moved", 2, 200, log=True),
        "launch": Number("a launch", 0.1, 100, "µs", whole=False, log=True),
        "first": Number("first card", 50, 10_000, "GB/s", whole=False, log=True),
        "second": Number("second card", 50, 10_000, "GB/s", whole=False, log=True),
    }

    def ways(self) -> list[tuple[str, float, float]]:
        """Return the four ways: a name, the seconds of the launches, the seconds of moving bytes."""
        found = []
        for card, bandwidth in (("first card", self.first), ("second card", self.second)):
            for launches, arrays in ((self.requests, self.arrays), (1, NEEDED)):
                name = f"{card}, {launches} launch{'es' * (launches != 1)}, {arrays} arrays"
                moving = arrays * self.rows * ROW / (bandwidth * 1e9)
                found.append((name, launches * self.launch * 1e-6, moving))
        return found

    @property
    def by_card(self) -> float:
        """How many times as fast the second card is, with all launches."""
        several, _, others, _ = (max(issuing, moving) for _, issuing, moving in self.ways())
        return several / others

    @property
    def by_kernel(self) -> float:
        """How many times as fast one kernel is, on the first card."""
        several, one, _, _ = (max(issuing, moving) for _, issuing, moving in self.ways())
        return several / one

    def summary(self) -> str:
        """Return what the picture shows, in three sentences."""
        _, issuing, moving = self.ways()[0]
        return (
            f"{self.rows:,} rows, {self.requests} launches, {self.arrays} arrays moved: on the first card the "
            f"{'launches' if issuing > moving else 'bytes'} take longer. "
            f"The second card, with {self.second / self.first:.1f} times the bandwidth, is {self.by_card:.1f} times "
            f"as fast. One kernel is {self.by_kernel:.1f} times as fast."
        )

    def alt(self) -> str:
        """Return what the picture shows, for readers who do not see it."""
        bars = "; ".join(
            f"{name}: {units.seconds(issuing)} for launches, {units.seconds(moving)} for bytes"
            for name, issuing, moving in self.ways()
        )
        return f"Four pairs of bars, computed and not measured. {bars}. {self.summary()}"

    def svg(self) -> str:
        """Return the picture: for each card and way a bar of the launches' time above a bar of the bytes' time."""
        ways, parts = self.ways(), []
        longest = max(max(issuing, moving) for _, issuing, moving in ways)
        for place, (name, issuing, moving) in enumerate(ways):
            y = place * BETWEEN
            parts.append(svg.text(0, y + 12, name))
            for line, (seconds, colour) in enumerate(((issuing, ISSUING), (moving, MOVING))):
                width = (WIDTH - NUMBER) * seconds / longest
                parts.append(svg.box(0, y + 17 + line * BAR, width, BAR, colour))
            end, counts = (WIDTH - NUMBER) * max(issuing, moving) / longest, max(issuing, moving)
            parts.append(svg.text(end + 6, y + 17 + BAR * 1.5, units.seconds(counts)))
        bottom = len(ways) * BETWEEN + 6
        for x, name, colour in ((0, "launches", ISSUING), (90, "bytes; the longer bar counts", MOVING)):
            parts.append(svg.box(x, bottom, 10, 10, colour))
            parts.append(svg.text(x + 15, bottom + 10, name, QUIET))
        return svg.picture(parts, self.alt(), (0, 0, WIDTH, bottom + 18), WIDTH * 1.35)


def explore_requests(
    rows: int = 1_024,
    requests: int = 5,
    arrays: int = 8,
    *,
    launch: float = LAUNCH,
    first: float = FIRST,
    second: float = SECOND,
) -> Explorer[RequestPicture]:
    """Show how long several operations and one kernel take on two cards, by launches and bytes; sliders move every number.

    The times are computed, not measured. The defaults are documented: the launch in NVIDIA's "Getting Started with
    CUDA Graphs", the bandwidths in the data sheets of the RTX 3060 Ti and the RTX PRO 6000.

    Parameters
    ----------
    rows
        Rows of 64 float32 numbers in each array, 100 to 10,000,000.
    requests
        Operations of the array code, each a launch, 1 to 100.
    arrays
        Arrays that these operations read and write, 2 to 200. One kernel reads 2.
    launch
        Price of a launch, in microseconds, 0.1 to 100.
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
    1,024 rows, 5 launches, 8 arrays moved: on the first card the launches take longer...
    """
    return Explorer(RequestPicture(rows, requests, arrays, launch, first, second))
