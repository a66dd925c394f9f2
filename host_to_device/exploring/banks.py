"""The bank explorer: which of the 32 banks of shared memory the lanes of a warp hit.

Lane k reads word `offset + k × stride` of an array in shared memory; a word has four bytes. By NVIDIA's rule,
successive words lie in successive banks, and in one turn a bank serves one word, to every lane that wants it.
`checking.notes.conflict_ways` counts the turns, here as in the notes of `h2d.check`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from host_to_device.checking.notes import BANKS, WORD, conflict_ways
from host_to_device.exploring.explorer import Explorer, Number, Picture
from host_to_device.rendering import svg
from host_to_device.rendering.palette import BLUE, IDLE, ORANGE, QUIET

LANES = 32

A_ROW = 16  # banks in a row of the picture, so that a phone shows them unscaled
WIDE, HIGH, GAP, LABEL = 20, 10, 2, 18  # lengths in the SVG's own units


@dataclass(frozen=True)
class BankPicture(Picture):
    """The banks that one memory request of a warp needs, as a picture; see `explore_banks` for the parameters."""

    stride: int = 1
    offset: int = 0

    controls: ClassVar = {"stride": Number("stride", 0, 40), "offset": Number("offset", 0, 32)}

    @property
    def words(self) -> list[int]:
        """The word that each lane reads, lane 0 first."""
        return [self.offset + lane * self.stride for lane in range(LANES)]

    @property
    def queues(self) -> list[int]:
        """How many different words each bank serves, bank 0 first."""
        found = [0] * BANKS
        for word in set(self.words):
            found[word % BANKS] += 1
        return found

    @property
    def ways(self) -> int:
        """The bank-conflict degree of the memory request: the turns that it takes (1 = none)."""
        return conflict_ways([word * WORD for word in self.words], WORD)

    @property
    def warns(self) -> bool:
        """Whether there is a bank conflict."""
        return self.ways > 1

    def summary(self) -> str:
        """Return what the picture shows, in a sentence."""
        banks = sum(queue > 0 for queue in self.queues)
        text = (
            f"{LANES} lanes, stride {self.stride}, offset {self.offset}: {len(set(self.words))} "
            f"word{'s' * (len(set(self.words)) != 1)} in {banks} bank{'s' * (banks != 1)}, "
        )
        if self.ways == 1:
            return text + "served in one turn."
        return text + f"served in {self.ways} turns: a {self.ways}-way bank conflict."

    def alt(self) -> str:
        """Return what the picture shows, for readers who do not see it."""
        wanted = [(bank, queue) for bank, queue in enumerate(self.queues) if queue]
        parts = ", ".join(f"{queue} at bank {bank}" for bank, queue in wanted)
        if all(queue == 1 for _, queue in wanted) and len(wanted) == BANKS:
            parts = "1 at each bank"
        return f"The {BANKS} banks of shared memory, and above each the words that the lanes need from it: {parts}. {self.summary()}"

    def svg(self) -> str:
        """Return the picture: the banks in two rows, and above each bank a box for every word that it serves."""
        parts, y = [], 0
        for first in range(0, BANKS, A_ROW):
            row = self.queues[first : first + A_ROW]
            floor = y + max([1, *row]) * (HIGH + GAP)
            for place, queue in enumerate(row):
                x = place * (WIDE + GAP)
                for turn in range(queue):
                    top = floor - (turn + 1) * (HIGH + GAP)
                    parts.append(svg.box(x, top, WIDE, HIGH, ORANGE if turn else BLUE))
                parts.append(svg.box(x, floor, WIDE, 3, IDLE))
                parts.append(svg.text(x + WIDE / 2, floor + LABEL - 2, str(first + place), QUIET, "middle"))
            y = floor + LABEL + 6
        return svg.picture(parts, self.alt(), (-1, 0, A_ROW * (WIDE + GAP) + 2, y))


def explore_banks(stride: int = 1, offset: int = 0) -> Explorer[BankPicture]:
    """Show which banks of shared memory a warp hits when lane k reads word `offset + k * stride`.

    A word has four bytes, and word 0 lies in bank 0. The turns are those in the notes of `h2d.check`, by the rule of
    NVIDIA's "CUDA C++ Programming Guide", section "Shared Memory" of compute capability 5.x.

    Parameters
    ----------
    stride
        Words from one lane's word to the next lane's, 0 to 40; with 0 all lanes read the same word.
    offset
        Words from the beginning of the array to lane 0's, 0 to 32.

    Raises
    ------
    ValueError
        If a number is not whole or not within these limits.

    Examples
    --------
    >>> explorer = h2d.explore_banks(stride=2)  # the last line of a notebook's cell shows it
    >>> print(explorer.picture.summary())
    32 lanes, stride 2, offset 0: 32 words in 16 banks, served in 2 turns: a 2-way bank conflict.
    """
    return Explorer(BankPicture(stride, offset))
