"""The explorer of a request: which sectors of global memory the 32 lanes of a warp touch.

Lane k asks for element `offset + k × stride` of an array. Sectors are counted by `checking.notes.sectors`, the
function that counts them in the notes of `h2d.check`, by NVIDIA's rule for compute capability 6.0 and higher.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import Any

from host_to_device.checking.notes import SECTOR, sectors
from host_to_device.exploring.explorer import INK, QUIET, WARNING, Explorer

LANES = 32
# Bytes of an element, by the names that Numba and NumPy give the dtypes.
DTYPES = {"uint8": 1, "float16": 2, "float32": 4, "float64": 8}
SMALLEST = {"stride": 0, "offset": 0}
LARGEST = {"stride": 40, "offset": 32}

LINE = 128  # bytes: four sectors, drawn side by side
A_ROW = 8  # sectors in a row of the picture, so that a phone shows them in their size
LABEL, SIDE, HIGH, GAP, BETWEEN = 48, 32, 17, 3, 8  # lengths in the SVG's own units
USED, FETCHED, UNTOUCHED = (
    "var(--h2d-blue, #0072b2)",
    "var(--h2d-orange-soft, #fbe5d6)",
    "var(--h2d-idle, #ece9e4)",
)
EDGE = "var(--h2d-orange, #d55e00)"


class StridePicture:
    """The sectors that one request of a warp touches, as a picture; see `explore_strides` for the parameters."""

    def __init__(self, stride: int = 1, offset: int = 0, dtype: str = "float32") -> None:
        for name, value in (("stride", stride), ("offset", offset)):
            low, high = SMALLEST[name], LARGEST[name]
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise ValueError(
                    f"{name} is {value!r}: the picture takes a whole number from {low} to {high}"
                )
        if not isinstance(dtype, str) or dtype not in DTYPES:
            raise ValueError(f"dtype is {dtype!r}: the picture takes one of {', '.join(DTYPES)}")
        self.stride, self.offset, self.dtype = stride, offset, dtype
        self.size = DTYPES[dtype]

    @property
    def addresses(self) -> list[int]:
        """The byte at which each lane's element begins, lane 0 first."""
        return [(self.offset + lane * self.stride) * self.size for lane in range(LANES)]

    @property
    def sectors(self) -> int:
        """How many sectors the request touches."""
        return sectors(self.addresses, self.size)[0]

    @property
    def ideal(self) -> int:
        """How few sectors could hold the bytes that are asked for."""
        return sectors(self.addresses, self.size)[1]

    @property
    def asked(self) -> int:
        """Bytes that the lanes ask for; what several lanes want counts once."""
        return len(set(self.addresses)) * self.size

    @property
    def used(self) -> dict[int, list[tuple[int, int]]]:
        """For each touched sector the parts of it that are asked for, as first byte and length."""
        found: dict[int, list[tuple[int, int]]] = {}
        for address in sorted(set(self.addresses)):
            found.setdefault(address // SECTOR, []).append((address % SECTOR, self.size))
        return found

    def summary(self) -> str:
        """Return what the picture shows, in a sentence or two."""
        many, fetched = self.sectors, self.sectors * SECTOR
        text = (
            f"{LANES} lanes, stride {self.stride}, offset {self.offset}, {self.dtype}: "
            f"{many} sector{'s' * (many != 1)}, {fetched:,} bytes fetched for {self.asked:,} asked for "
            f"({self.asked / fetched:.0%})"
        )
        if many == self.ideal:
            return f"{text}; fewer will not do."
        return f"{text}; {self.ideal} sector{'s' * (self.ideal != 1)} would do."

    def alt(self) -> str:
        """Return what the picture shows, for those who do not see it."""
        parts = Counter(sum(length for _, length in pieces) for pieces in self.used.values())
        used = ", ".join(
            f"{number} sector{'s' * (number != 1)} with {many} of {SECTOR} bytes in use"
            for many, number in sorted(parts.items(), reverse=True)
        )
        return f"Global memory from byte 0, as boxes of {SECTOR} bytes. Touched: {used}. {self.summary()}"

    def svg(self) -> str:
        """Return the picture: memory as boxes of one sector, half of a row a line of 128 bytes."""
        last = (max(self.addresses) + self.size - 1) // SECTOR
        rows = last // A_ROW + 1
        lines = A_ROW * SECTOR // LINE
        width = LABEL + A_ROW * (SIDE + GAP) + (lines - 1) * BETWEEN
        height = 18 + rows * (HIGH + GAP + 3)
        parts = [_text(0, 11, "byte", QUIET)]
        for line in range(lines):
            parts.append(_text(self._x(line * LINE // SECTOR), 11, f"+{line * LINE}", QUIET))
        used = self.used
        for row in range(rows):
            y = 18 + row * (HIGH + GAP + 3)
            parts.append(_text(0, y + HIGH * 0.72, f"{row * A_ROW * SECTOR:,}", QUIET))
            for place in range(A_ROW):
                pieces = used.get(row * A_ROW + place, [])
                x, fill = self._x(place), FETCHED if pieces else UNTOUCHED
                edge = f' stroke="{EDGE}"' if pieces else ""
                parts.append(f'<rect x="{x}" y="{y}" width="{SIDE}" height="{HIGH}" fill="{fill}"{edge}/>')
                for first, length in _merged(pieces):
                    parts.append(
                        f'<rect x="{x + first * SIDE / SECTOR:g}" y="{y + 4}" '
                        f'width="{length * SIDE / SECTOR:g}" height="{HIGH - 8}" fill="{USED}"/>'
                    )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 0 {width + 2} {height}" role="img" '
            f'aria-label="{escape(self.alt())}" class="h2d-drawing" style="width: {width + 2}px; '
            f'max-width: 100%; height: auto; font-family: inherit">{"".join(parts)}</svg>'
        )

    @staticmethod
    def _x(place: int) -> int:
        return LABEL + place * (SIDE + GAP) + place * SECTOR // LINE * BETWEEN

    def html(self) -> str:
        """Return the picture with its sentence below it."""
        colour = WARNING if self.sectors > self.ideal else INK
        return (
            f'<div class="h2d-explorer">{self.svg()}'
            f'<p style="color: {colour}">{escape(self.summary())}</p></div>'
        )

    def _repr_html_(self) -> str:
        return self.html()


class StrideExplorer(Explorer):
    """Sliders and the picture where a kernel runs; the picture alone in a static page."""

    picture: StridePicture

    def widget(self) -> Any:
        """Return the sliders, the choice of dtype and the picture as one ipywidgets box."""
        import ipywidgets

        look = {"style": {"description_width": "5em"}, "layout": {"width": "min(100%, 28em)"}}
        moved = {
            name: ipywidgets.IntSlider(
                value=getattr(self.picture, name),
                min=SMALLEST[name],
                max=LARGEST[name],
                description=name,
                **look,
            )
            for name in ("stride", "offset")
        }
        moved["dtype"] = ipywidgets.Dropdown(
            options=list(DTYPES), value=self.picture.dtype, description="dtype", **look
        )
        return self.linked(moved, StridePicture)


def explore_strides(stride: int = 1, offset: int = 0, dtype: str = "float32") -> StrideExplorer:
    """Show which sectors of 32 bytes a warp touches when lane k asks for element `offset + k * stride`.

    The array begins at byte 0, as an allocation does that begins at a multiple of 256 bytes. The sectors are counted
    as in the notes of `h2d.check`, by the rule of NVIDIA's "CUDA C++ Best Practices Guide", section "Coalesced Access
    to Global Memory".

    Parameters
    ----------
    stride
        Elements from one lane's element to the next lane's, 0 to 40.
    offset
        Elements from the beginning of the array to lane 0's, 0 to 32.
    dtype
        "uint8", "float16", "float32" or "float64": 1, 2, 4 or 8 bytes an element.

    Raises
    ------
    ValueError
        If a number is not whole or not within these limits, or if it knows no such dtype.
    """
    return StrideExplorer(StridePicture(stride, offset, dtype))


def _merged(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the parts of a sector with neighbours put together."""
    found: list[tuple[int, int]] = []
    for first, length in pieces:
        if found and sum(found[-1]) == first:
            found[-1] = (found[-1][0], found[-1][1] + length)
        else:
            found.append((first, length))
    return found


def _text(x: float, y: float, text: str, fill: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" font-size="12" fill="{fill}">{escape(text)}</text>'
