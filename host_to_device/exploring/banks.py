"""The explorer of banks: which of the 32 banks of shared memory the lanes of a warp meet at.

Lane k asks for word `offset + k × stride` of an array in shared memory, four bytes each. Words are in banks, and turns
are counted, as in the notes of `h2d.check` (`checking.notes.conflict_ways`), by NVIDIA's rule: successive words lie in
successive banks, and a bank serves one word at a time, to as many lanes as want it.
"""

from __future__ import annotations

from html import escape
from typing import Any

from host_to_device.checking.notes import BANKS, WORD, conflict_ways
from host_to_device.exploring.explorer import INK, QUIET, WARNING, Explorer

LANES = 32
LARGEST = {"stride": 40, "offset": 32}

A_ROW = 16  # banks in a row of the picture, so that a phone shows them in their size
WIDE, HIGH, GAP, LABEL = 20, 10, 2, 18  # lengths in the SVG's own units
SERVED, WAITING, FLOOR = (
    "var(--h2d-blue, #0072b2)",
    "var(--h2d-orange, #d55e00)",
    "var(--h2d-idle, #ece9e4)",
)


class BankPicture:
    """The banks that one request of a warp needs, as a picture; see `explore_banks` for the parameters."""

    def __init__(self, stride: int = 1, offset: int = 0) -> None:
        for name, value in (("stride", stride), ("offset", offset)):
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST[name]:
                raise ValueError(
                    f"{name} is {value!r}: the picture takes a whole number from 0 to {LARGEST[name]}"
                )
        self.stride, self.offset = stride, offset

    @property
    def words(self) -> list[int]:
        """The word that each lane asks for, lane 0 first."""
        return [self.offset + lane * self.stride for lane in range(LANES)]

    @property
    def queues(self) -> list[int]:
        """How many different words each bank has to serve, bank 0 first."""
        found = [0] * BANKS
        for word in set(self.words):
            found[word % BANKS] += 1
        return found

    @property
    def ways(self) -> int:
        """In how many turns the request is served; 1 is no conflict."""
        return conflict_ways([word * WORD for word in self.words], WORD)

    def summary(self) -> str:
        """Return what the picture shows, in a sentence or two."""
        banks = sum(queue > 0 for queue in self.queues)
        text = (
            f"{LANES} lanes, stride {self.stride}, offset {self.offset}: {len(set(self.words))} "
            f"word{'s' * (len(set(self.words)) != 1)} in {banks} bank{'s' * (banks != 1)}, "
        )
        if self.ways == 1:
            return text + "served in one turn."
        return text + f"served in {self.ways} turns: a {self.ways}-way bank conflict."

    def alt(self) -> str:
        """Return what the picture shows, for those who do not see it."""
        wanted = [(bank, queue) for bank, queue in enumerate(self.queues) if queue]
        parts = ", ".join(f"{queue} at bank {bank}" for bank, queue in wanted)
        if all(queue == 1 for _, queue in wanted) and len(wanted) == BANKS:
            parts = "1 at each bank"
        return f"The {BANKS} banks of shared memory, and above each the words it has to serve: {parts}. {self.summary()}"

    def svg(self) -> str:
        """Return the picture: the banks in two rows, above each a box for every word that it has to serve."""
        queues, parts, y = self.queues, [], 0
        for first in range(0, BANKS, A_ROW):
            row = queues[first : first + A_ROW]
            floor = y + max([1, *row]) * (HIGH + GAP)
            for place, queue in enumerate(row):
                x = place * (WIDE + GAP)
                for turn in range(queue):
                    top, fill = floor - (turn + 1) * (HIGH + GAP), WAITING if turn else SERVED
                    parts.append(f'<rect x="{x}" y="{top}" width="{WIDE}" height="{HIGH}" fill="{fill}"/>')
                parts.append(f'<rect x="{x}" y="{floor}" width="{WIDE}" height="3" fill="{FLOOR}"/>')
                parts.append(
                    f'<text x="{x + WIDE / 2:g}" y="{floor + LABEL - 2}" font-size="12" text-anchor="middle" '
                    f'fill="{QUIET}">{first + place}</text>'
                )
            y = floor + LABEL + 6
        width = A_ROW * (WIDE + GAP)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 0 {width + 2} {y}" role="img" '
            f'aria-label="{escape(self.alt())}" class="h2d-drawing" style="width: {width + 2}px; '
            f'max-width: 100%; height: auto; font-family: inherit">{"".join(parts)}</svg>'
        )

    def html(self) -> str:
        """Return the picture with its sentence below it."""
        colour = WARNING if self.ways > 1 else INK
        return (
            f'<div class="h2d-explorer">{self.svg()}'
            f'<p style="color: {colour}">{escape(self.summary())}</p></div>'
        )

    def _repr_html_(self) -> str:
        return self.html()


class BankExplorer(Explorer):
    """Sliders and the picture where a kernel runs; the picture alone in a static page."""

    picture: BankPicture

    def widget(self) -> Any:
        """Return the sliders and the picture as one ipywidgets box."""
        import ipywidgets

        look = {"style": {"description_width": "5em"}, "layout": {"width": "min(100%, 28em)"}}
        moved = {
            name: ipywidgets.IntSlider(
                value=getattr(self.picture, name), min=0, max=LARGEST[name], description=name, **look
            )
            for name in ("stride", "offset")
        }
        return self.linked(moved, BankPicture)


def explore_banks(stride: int = 1, offset: int = 0) -> BankExplorer:
    """Show at which banks of shared memory a warp meets when lane k asks for word `offset + k * stride`.

    A word has four bytes, and word 0 lies in bank 0. Turns are counted as in the notes of `h2d.check`, by the rule of
    NVIDIA's "CUDA C++ Programming Guide", section "Shared Memory" of compute capability 5.x.

    Parameters
    ----------
    stride
        Words from one lane's word to the next lane's, 0 to 40; 0 is the same word for all.
    offset
        Words from the beginning of the array to lane 0's, 0 to 32.

    Raises
    ------
    ValueError
        If a number is not whole or not within these limits.
    """
    return BankExplorer(BankPicture(stride, offset))
