"""The explorer of requests and bytes: several operations against one kernel, on two cards.

Both are for rows of 64 float32 numbers, each operation at the memory's bandwidth, one request after the other. Seconds:

    requests × launch + arrays × rows × 256 bytes ÷ bandwidth

One kernel is one request, which moves the two arrays that have to be read.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from html import escape
from typing import Any

from host_to_device.exploring.explorer import INK, QUIET, Explorer
from host_to_device.rendering import units

ROW = 64 * 4  # bytes
NEEDED = 2  # arrays that one kernel reads
ASKING, MOVING = "var(--h2d-blue, #0072b2)", "var(--h2d-orange, #d55e00)"

# What each slider moves: label, smallest and largest value, unit.
SLIDERS = {
    "rows": ("rows", 100, 10_000_000, ""),
    "requests": ("requests", 1, 100, ""),
    "arrays": ("arrays moved", 2, 200, ""),
    "launch": ("a request", 0.1, 100, "µs"),
    "first": ("first card", 50, 10_000, "GB/s"),
    "second": ("second card", 50, 10_000, "GB/s"),
}
WHOLE = ("rows", "requests", "arrays")
WIDTH, BAR, BETWEEN, NUMBER = 420, 18, 40, 70  # lengths in the SVG's own units


@dataclass(frozen=True)
class RequestPicture:
    """What asking and moving take on two cards, as a picture; see `explore_requests` for the parameters."""

    rows: int = 1_024
    requests: int = 5
    arrays: int = 8
    launch: float = 3.8
    first: float = 448
    second: float = 1_792

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

    def ways(self) -> list[tuple[str, float, float]]:
        """Return the four bars: a name, the seconds of asking, the seconds of moving."""
        found = []
        for card, bandwidth in (("first card", self.first), ("second card", self.second)):
            for requests, arrays in ((self.requests, self.arrays), (1, NEEDED)):
                name = f"{card}, {requests} request{'s' * (requests != 1)}, {arrays} arrays"
                moving = arrays * self.rows * ROW / (bandwidth * 1e9)
                found.append((name, requests * self.launch * 1e-6, moving))
        return found

    @property
    def by_card(self) -> float:
        """By what factor the second card is faster, with all requests."""
        several, _, others, _ = (asking + moving for _, asking, moving in self.ways())
        return several / others

    @property
    def by_kernel(self) -> float:
        """By what factor one kernel is faster, on the first card."""
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
        """Return what the picture shows, for those who do not see it."""
        bars = "; ".join(
            f"{name}: {units.seconds(asking)} asking and {units.seconds(moving)} moving"
            for name, asking, moving in self.ways()
        )
        return f"Four bars of time, computed and not measured. {bars}. {self.summary()}"

    def svg(self) -> str:
        """Return the picture: a bar for each card and way, of what asking takes and what moving takes."""
        ways, parts = self.ways(), []
        longest = max(asking + moving for _, asking, moving in ways)
        for place, (name, asking, moving) in enumerate(ways):
            y = place * BETWEEN
            parts.append(_text(0, y + 12, name, INK))
            x = 0.0
            for seconds, colour in ((asking, ASKING), (moving, MOVING)):
                width = (WIDTH - NUMBER) * seconds / longest
                parts.append(
                    f'<rect x="{x:.1f}" y="{y + 17}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>'
                )
                x += width
            parts.append(_text(x + 6, y + 17 + BAR * 0.75, units.seconds(asking + moving), INK))
        bottom = len(ways) * BETWEEN + 6
        for place, (name, colour) in enumerate((("asking", ASKING), ("moving bytes", MOVING))):
            parts.append(
                f'<rect x="{place * 90}" y="{bottom}" width="10" height="10" fill="{colour}"/>'
                + _text(place * 90 + 15, bottom + 10, name, QUIET)
            )
        height = bottom + 18
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            f'aria-label="{escape(self.alt())}" class="h2d-drawing" style="width: {WIDTH * 1.35:.0f}px; '
            f'max-width: 100%; height: auto; font-family: inherit">{"".join(parts)}</svg>'
        )

    def html(self) -> str:
        """Return the picture with its sentences below it."""
        return f'<div class="h2d-explorer">{self.svg()}<p>{escape(self.summary())}</p></div>'

    def _repr_html_(self) -> str:
        return self.html()


class RequestExplorer(Explorer):
    """Sliders and the picture where a kernel runs; the picture alone in a static page."""

    picture: RequestPicture

    def widget(self) -> Any:
        """Return the sliders and the picture as one ipywidgets box."""
        return self.on_scales(SLIDERS, WHOLE, RequestPicture, width="9em")


def explore_requests(
    rows: int = 1_024,
    requests: int = 5,
    arrays: int = 8,
    *,
    launch: float = 3.8,
    first: float = 448,
    second: float = 1_792,
) -> RequestExplorer:
    """Show what several operations and one kernel take on two cards, by requests and bytes; sliders move every number.

    Computed, not measured. The defaults are documented: a launch by NVIDIA's "Getting Started with CUDA Graphs", the
    bandwidths by the data sheets of the RTX 3060 Ti and the RTX PRO 6000.

    Parameters
    ----------
    rows
        Rows of 64 float32 numbers in each array, 100 to 10,000,000.
    requests
        Operations of the array code, 1 to 100.
    arrays
        Arrays that these read and write, 2 to 200. One kernel reads 2.
    launch
        What a request costs, in microseconds, 0.1 to 100.
    first, second
        Bandwidth of the two cards' memories, in GB/s, 50 to 10,000.

    Raises
    ------
    ValueError
        If a number is not within these limits.
    """
    return RequestExplorer(RequestPicture(rows, requests, arrays, launch, first, second))


def _text(x: float, y: float, text: str, fill: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="12" fill="{fill}">{escape(text)}</text>'
