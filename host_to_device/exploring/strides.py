"""The stride explorer: which sectors of global memory the 32 lanes of a warp touch.

Lane k reads element `offset + k × stride` of an array. `checking.notes.sectors` counts the sectors, here as in the
notes of `h2d.check`, by NVIDIA's rule for compute capability 6.0 and higher.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from host_to_device.checking.notes import SECTOR, sectors
from host_to_device.exploring.explorer import Choice, Explorer, Number, Picture
from host_to_device.rendering import svg
from host_to_device.rendering.palette import BLUE, IDLE, ORANGE, ORANGE_SOFT, QUIET

LANES = 32
# Bytes of an element, by the names that Numba and NumPy give the dtypes.
DTYPES = {"uint8": 1, "float16": 2, "float32": 4, "float64": 8}

LINE = 128  # bytes: four sectors, drawn side by side
A_ROW = 8  # sectors in a row of the picture, so that a phone shows them unscaled
LABEL, SIDE, HIGH, GAP, BETWEEN = 48, 32, 17, 3, 8  # lengths in the SVG's own units


@dataclass(frozen=True)
class StridePicture(Picture):
    """The sectors that one memory request of a warp touches, as a picture; see `explore_strides` for the parameters."""

    stride: int = 1
    offset: int = 0
    dtype: str = "float32"

    controls: ClassVar = {
        "stride": Number("stride", 0, 40),
        "offset": Number("offset", 0, 32),
        "dtype": Choice("dtype", tuple(DTYPES)),
    }

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return DTYPES[self.dtype]

    @property
    def addresses(self) -> list[int]:
        """The byte at which each lane's element begins, lane 0 first."""
        return [(self.offset + lane * self.stride) * self.size for lane in range(LANES)]

    @property
    def sectors(self) -> int:
        """How many sectors the memory request touches."""
        return sectors(self.addresses, self.size)[0]

    @property
    def ideal(self) -> int:
        """The smallest number of sectors that could hold the bytes that the lanes read."""
        return sectors(self.addresses, self.size)[1]

    @property
    def asked(self) -> int:
        """Bytes that the lanes read; a byte that several lanes read counts once."""
        return len(set(self.addresses)) * self.size

    @property
    def used(self) -> dict[int, list[tuple[int, int]]]:
        """For each touched sector the parts of it that the lanes read, as first byte and length."""
        found: dict[int, list[tuple[int, int]]] = {}
        for address in sorted(set(self.addresses)):
            found.setdefault(address // SECTOR, []).append((address % SECTOR, self.size))
        return found

    @property
    def warns(self) -> bool:
        """Whether the memory request touches more sectors than it would need."""
        return self.sectors > self.ideal

    def summary(self) -> str:
        """Return what the picture shows, in a sentence."""
        many, fetched = self.sectors, self.sectors * SECTOR
        text = (
            f"{LANES} lanes, stride {self.stride}, offset {self.offset}, {self.dtype}: "
            f"{many} sector{'s' * (many != 1)}, {fetched:,} bytes fetched for {self.asked:,} bytes that the lanes use "
            f"({self.asked / fetched:.0%})"
        )
        if many == self.ideal:
            return f"{text}; this is the minimum."
        return f"{text}; {self.ideal} sector{'s' * (self.ideal != 1)} would be enough."

    def alt(self) -> str:
        """Return what the picture shows, for readers who do not see it."""
        parts = Counter(sum(length for _, length in pieces) for pieces in self.used.values())
        used = ", ".join(
            f"{number} sector{'s' * (number != 1)} with {many} of {SECTOR} bytes in use"
            for many, number in sorted(parts.items(), reverse=True)
        )
        return f"Global memory from byte 0, as boxes of {SECTOR} bytes. Touched: {used}. {self.summary()}"

    def svg(self) -> str:
        """Return the picture: a box for each sector, two lines of 128 bytes in a row."""
        rows = (max(self.addresses) + self.size - 1) // SECTOR // A_ROW + 1
        lines = A_ROW * SECTOR // LINE
        parts = [svg.text(0, 11, "byte", QUIET)]
        for line in range(lines):
            parts.append(svg.text(_x(line * LINE // SECTOR), 11, f"+{line * LINE}", QUIET))
        for row in range(rows):
            y = 18 + row * (HIGH + GAP + 3)
            parts.append(svg.text(0, y + HIGH * 0.72, f"{row * A_ROW * SECTOR:,}", QUIET))
            for place in range(A_ROW):
                x, pieces = _x(place), self.used.get(row * A_ROW + place)
                if pieces is None:
                    parts.append(svg.box(x, y, SIDE, HIGH, IDLE))
                    continue
                parts.append(svg.box(x, y, SIDE, HIGH, ORANGE_SOFT, stroke=ORANGE))
                for first, length in _merged(pieces):
                    scale = SIDE / SECTOR
                    parts.append(svg.box(x + first * scale, y + 4, length * scale, HIGH - 8, BLUE))
        width = LABEL + A_ROW * (SIDE + GAP) + (lines - 1) * BETWEEN
        return svg.picture(parts, self.alt(), (-1, 0, width + 2, 18 + rows * (HIGH + GAP + 3)))


def _x(place: int) -> int:
    """Return where a sector's box begins in its row."""
    return LABEL + place * (SIDE + GAP) + place * SECTOR // LINE * BETWEEN


def _merged(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the parts of a sector with neighbours put together."""
    found: list[tuple[int, int]] = []
    for first, length in pieces:
        if found and sum(found[-1]) == first:
            found[-1] = (found[-1][0], found[-1][1] + length)
        else:
            found.append((first, length))
    return found


def explore_strides(stride: int = 1, offset: int = 0, dtype: str = "float32") -> Explorer[StridePicture]:
    """Show which sectors of 32 bytes a warp touches when lane k reads element `offset + k * stride`.

    The array begins at byte 0, like an allocation that begins at a multiple of 256 bytes. The sectors are counted as
    in the notes of `h2d.check`, by the rule of NVIDIA's "CUDA C++ Best Practices Guide", section "Coalesced Access to
    Global Memory".

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
        If a number is not whole or not within these limits, or if the dtype is another one.

    Examples
    --------
    >>> explorer = h2d.explore_strides(stride=2)  # the last line of a notebook's cell shows it
    >>> print(explorer.picture.summary())
    32 lanes, stride 2, offset 0, float32: 8 sectors, 256 bytes fetched for 128 bytes that the lanes use (50%)...
    """
    return Explorer(StridePicture(stride, offset, dtype))
