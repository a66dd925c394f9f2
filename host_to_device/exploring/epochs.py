"""The epoch explorer: a model of an epoch's time over the batch size, held against four reported numbers.

An epoch of N samples in batches of b takes T(b) = (N ÷ b) × fixed + N × linear + N × b × pairs. The fixed cost is the
batch's (launches, waits), the linear cost the sample's, and a loss over all pairs of a batch costs each sample b pairs.
Last batches that are not full are ignored.

N was not reported, and the model does not need it. With the three parts of an epoch at batch 1,024,

    T(b) = fixed × 1024 ÷ b + linear + pairs × b ÷ 1024

An explanation says which parts may differ from zero and which of them both cards share. It survives if costs of zero or
more bring all four times within 0.05 s of a reported number, or into the reported range. These conditions are linear,
so the explorer finds the smallest possible miss, and the range of a further prediction, at the corners of the costs
that they allow.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from host_to_device.exploring.explorer import Choice, Explorer, Number, Picture
from host_to_device.rendering import svg
from host_to_device.rendering.palette import BLUE, BLUE_SOFT, GREEN, INK, LINE, ORANGE, QUIET, WARNING
from host_to_device.rendering.table import Table

CARDS = ("RTX 3060 Ti", "RTX PRO 6000")
BATCHES = (1024, 10_240)
# Seconds of an epoch, as a reader reported them: for each card, the lowest and the highest at each batch size.
REPORTED = (((0.8, 0.9), (2.2, 2.2)), ((0.8, 0.9), (1.55, 1.55)))
NEAR = 0.05  # seconds: how far a time may lie from a single reported number; half of the reported range
TINY = 1e-9  # seconds: what rounding may add
RATES = 7  # the PRO 6000's float32 rate over the 3060 Ti's, as the report has it
PARTS = ("fixed", "linear", "pairs")


@dataclass(frozen=True)
class Explanation:
    """Which costs an explanation allows.

    Attributes
    ----------
    title
        The explanation in a few words.
    parts
        The parts that may differ from zero.
    shared
        The parts that are the same on both cards.
    faster
        How many times as fast pairs are on the second card; 0 where each card has its own cost.
    """

    title: str
    parts: tuple[str, ...]
    shared: tuple[str, ...] = ()
    faster: float = 0

    def costs(self) -> tuple[Any, ...]:
        """Return for each group of cards a matrix: its product with the free costs is the groups' costs, card by card."""
        if not self.shared and not self.faster:
            free = np.eye(3)[:, [PARTS.index(part) for part in self.parts]]
            return ((0, free), (1, free))
        columns: dict[tuple[str, int], list[float]] = {}
        for card, (at, part) in itertools.product((0, 1), enumerate(PARTS)):
            if part in self.parts:
                both = part in self.shared or (self.faster and part == "pairs")
                weight = 1 / self.faster if self.faster and part == "pairs" and card else 1.0
                columns.setdefault((part, 0 if both else card), [0.0] * 6)[3 * card + at] = weight
        return ((None, np.array(list(columns.values())).T),)


EXPLANATIONS = {
    "fixed": Explanation("only a fixed cost a batch", ("fixed",)),
    "fixed, linear": Explanation("fixed + linear", ("fixed", "linear")),
    "loading": Explanation("CPU-bound: the same fixed + linear", ("fixed", "linear"), ("fixed", "linear")),
    "fixed, pairs": Explanation("fixed + pairs", ("fixed", "pairs")),
    "linear, pairs": Explanation("linear + pairs", ("linear", "pairs")),
    "fixed, linear, pairs": Explanation("fixed + linear + pairs", PARTS),
    "shared": Explanation("the same fixed + linear, own pairs", PARTS, ("fixed", "linear")),
    "rate": Explanation(f"all three, pairs {RATES} times as fast", PARTS, faster=RATES),
}


@dataclass(frozen=True)
class Fit:
    """What an explanation can do with the four numbers.

    Attributes
    ----------
    misses
        Seconds by which it misses a number at least, on one of the cards; 0 if it can fit all four.
    corners
        For each card, the corners of the costs that miss by no more: a row of fixed, linear, pairs in seconds.
    """

    misses: float
    corners: tuple[Any, Any]

    def range(self, card: int, batch: float) -> tuple[float, float]:
        """Return the lowest and the highest time that the explanation predicts, in seconds."""
        times = (self.corners[card] @ weights(batch)).round(6)
        return float(times.min()), float(times.max())


def weights(batch: float) -> Any:
    """Return the factors of the three parts of an epoch at another batch size."""
    scale = batch / BATCHES[0]
    return np.array([1 / scale, 1, scale])


def time(costs: Sequence[float], batch: float) -> float:
    """Return the seconds of an epoch from its three parts at batch 1,024, in seconds."""
    return float(np.dot(costs, weights(batch)))


def allowed(card: int, at: int) -> tuple[float, float]:
    """Return between which times a reported number counts as fitted."""
    low, high = REPORTED[card][at]
    return (low - NEAR, high + NEAR) if low == high else (low, high)


@functools.cache
def fit(name: str) -> Fit:
    """Return what an explanation of `EXPLANATIONS` can do with the four numbers."""
    found: list[Any] = [None, None]
    misses = 0.0
    for card, matrix in EXPLANATIONS[name].costs():
        cards = (0, 1) if card is None else (card,)
        rows, highest = [], []
        for place, each in enumerate(cards):
            block = matrix[3 * place : 3 * place + 3]
            for at, batch in enumerate(BATCHES):
                low, high = allowed(each, at)
                rows += [weights(batch) @ block, -weights(batch) @ block]
                highest += [high, -low]
        count = matrix.shape[1]
        inside, bounds = np.array(rows), np.array(highest)
        # One more unknown: by how much a time may leave what is allowed. Its smallest value is at a corner.
        loose = np.block([[inside, -np.ones((len(rows), 1))], [-np.eye(count + 1)]])
        least = _corners(loose, np.append(bounds, np.zeros(count + 1)))[:, -1].min()
        misses = max(misses, float(least))
        tight = np.vstack([inside, -np.eye(count)])
        corners = _corners(tight, np.append(bounds + max(least, 0), np.zeros(count)))
        for place, each in enumerate(cards):
            found[each] = corners @ matrix[3 * place : 3 * place + 3].T
    return Fit(misses if misses > TINY else 0.0, (found[0], found[1]))


def _corners(matrix: Any, bounds: Any) -> Any:
    """Return the corners of all x with matrix @ x <= bounds, a row each."""
    count = matrix.shape[1]
    picks = np.array(list(itertools.combinations(range(len(matrix)), count)))
    chosen = matrix[picks]
    solvable = np.abs(np.linalg.det(chosen)) > 1e-9
    points = np.linalg.solve(chosen[solvable], bounds[picks[solvable]][..., None])[..., 0]
    return points[(points @ matrix.T <= bounds + TINY).all(1)]


def best(name: str) -> dict[str, Any]:
    """Return the sliders of the middle of an explanation's costs, rounded to milliseconds."""
    middle = [np.unique(corners.round(9), axis=0).mean(0) for corners in fit(name).corners]
    found: dict[str, Any] = {"explanation": name}
    for ending, costs in zip(("", "_pro"), middle, strict=True):
        found |= {f"{part}{ending}": round(1000 * cost) for part, cost in zip(PARTS, costs, strict=True)}
    return found


# Lengths in the SVG's own units: the chart's margins and size, a row of the list below it.
LEFT, RIGHT, TOP, BOTTOM, WIDTH, HEIGHT, ROW = 34, 92, 22, 38, 460, 290, 19
SIZES, SECONDS = (128, 65_536), (0.0, 4.0)
COLOURS, WORDS = (BLUE, ORANGE), (BLUE, WARNING)  # of a card's marks and of its words


def _slider(card: str, part: str, high: int) -> Number:
    return Number(f"{card}, {part}", 0, high, "ms")


@dataclass(frozen=True)
class EpochPicture(Picture):
    """An epoch's time over the batch size on two cards, as a picture; see `explore_epoch` for the parameters."""

    explanation: str = "fixed, linear, pairs"
    third: int = 4096
    fixed: int = 300
    linear: int = 370
    pairs: int = 180
    fixed_pro: int = 300
    linear_pro: int = 440
    pairs_pro: int = 108

    controls: ClassVar = {
        "explanation": Choice("explanation", {name: each.title for name, each in EXPLANATIONS.items()}),
        "third": Number("third batch size", *SIZES, log=True),
        "fixed": _slider("3060 Ti", "fixed", 3000),
        "linear": _slider("3060 Ti", "linear", 3000),
        "pairs": _slider("3060 Ti", "pairs", 600),
        "fixed_pro": _slider("PRO 6000", "fixed", 3000),
        "linear_pro": _slider("PRO 6000", "linear", 3000),
        "pairs_pro": _slider("PRO 6000", "pairs", 600),
    }
    key: ClassVar = (
        "The bars at 1,024 and the edged dots at 10,240 are the four numbers of a reader's report. The lines are the "
        "model with the chosen costs; the pale boxes show what the explanation allows at the third batch size. "
        "Computed, not measured."
    )
    folded: ClassVar = "The costs, the four numbers and all explanations as a table"

    def costs(self, card: int) -> tuple[float, float, float]:
        """Return the three parts of a card's epoch at batch 1,024, in seconds, as the explanation takes the sliders."""
        chosen = EXPLANATIONS[self.explanation]
        found = []
        for part in PARTS:
            own = part if not card or part in chosen.shared else f"{part}_pro"
            value = getattr(self, own) / 1000 if part in chosen.parts else 0.0
            if part == "pairs" and card and chosen.faster:
                value = self.pairs / 1000 / chosen.faster
            found.append(value)
        return found[0], found[1], found[2]

    def seconds(self, card: int, batch: float) -> float:
        """Return the time of an epoch on a card with the chosen costs, in seconds."""
        return time(self.costs(card), batch)

    def misses(self, card: int, at: int) -> float:
        """Return by how many seconds the chosen costs miss a reported number; negative if the model is too fast."""
        low, high = allowed(card, at)
        seconds = self.seconds(card, BATCHES[at])
        if low - TINY <= seconds <= high + TINY:
            return 0.0
        return seconds - (high if seconds > high else low)

    @property
    def warns(self) -> bool:
        """Whether the chosen costs miss a reported number."""
        return any(self.misses(card, at) for card in (0, 1) for at in (0, 1))

    def summary(self) -> str:
        """Return what the picture shows, in a few sentences."""
        chosen, found = EXPLANATIONS[self.explanation], fit(self.explanation)
        missed = [
            f"{CARDS[card]} at batch {BATCHES[at]:,}: {self.seconds(card, BATCHES[at]):.2f} s instead of {_reported(card, at)}"
            for card in (0, 1)
            for at in (0, 1)
            if self.misses(card, at)
        ]
        said = f"Explanation: {chosen.title}. " + (
            f"With these costs the model misses {len(missed)} of 4 numbers. {'; '.join(missed)}. "
            if missed
            else "With these costs the model fits all 4 numbers. "
        )
        if found.misses:
            said += (
                f"No costs fit all four: this explanation misses a number by {found.misses:.3f} s or more. "
            )
        ranges = " and ".join(
            f"{_range(found.range(card, self.third))} on the {CARDS[card]}" for card in (0, 1)
        )
        which = "Its nearest costs predict" if found.misses else "All costs that fit predict"
        survivors = sum(not fit(name).misses for name in EXPLANATIONS)
        return (
            f"{said}{which} {ranges} at batch {self.third:,}. "
            f"{survivors} of {len(EXPLANATIONS)} explanations can fit all four numbers."
        )

    def alt(self) -> str:
        """Return what the picture shows, for readers who do not see it."""
        listed = "; ".join(
            f"{each.title}: {f'misses by {fit(name).misses:.3f} s or more' if fit(name).misses else 'can fit'}"
            for name, each in EXPLANATIONS.items()
        )
        points = "; ".join(
            f"{CARDS[card]} at batch {BATCHES[at]:,}: {_reported(card, at)} reported, {self.seconds(card, BATCHES[at]):.2f} s by the model"
            for card in (0, 1)
            for at in (0, 1)
        )
        return (
            "Seconds of an epoch against the batch size, which is on a logarithmic axis, with a line for each card. "
            f"{points}. Below, the list of explanations. {listed}. {self.summary()}"
        )

    def svg(self) -> str:
        """Return the picture: the model's lines and the reported numbers, and below them all explanations."""
        parts = [*self._axes(), *self._third(), *self._lines(), *self._points()]
        listed, height = self._list(HEIGHT + 18)
        return svg.picture([*parts, *listed], self.alt(), (0, 0, WIDTH, height), WIDTH * 1.35)

    def _axes(self) -> list[str]:
        parts = []
        for second in range(5):
            y = _y(second)
            parts.append(svg.line(LEFT, y, WIDTH - RIGHT, y, LINE))
            parts.append(svg.text(LEFT - 6, y + 4, f"{second} s", anchor="end"))
        for batch in (128, *BATCHES, 65_536):
            parts.append(svg.line(_x(batch), TOP, _x(batch), HEIGHT - BOTTOM, LINE))
            parts.append(svg.text(_x(batch), HEIGHT - BOTTOM + 16, f"{batch:,}", anchor="middle"))
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(svg.text(middle, HEIGHT - 6, "batch size", QUIET, "middle"))
        return parts

    def _third(self) -> list[str]:
        """Return the line of the third batch size, and what the explanation allows each card there."""
        x = _x(self.third)
        parts = [
            svg.line(x, TOP, x, HEIGHT - BOTTOM, QUIET, stroke_dasharray="2 3"),
            svg.text(
                min(max(x, 70), WIDTH - 70), TOP - 8, f"third batch size: {self.third:,}", QUIET, "middle"
            ),
        ]
        for card, side in ((0, -5), (1, 5)):
            low, high = (
                min(max(each, SECONDS[0]), SECONDS[1])
                for each in fit(self.explanation).range(card, self.third)
            )
            look: dict[str, Any] = {"fill_opacity": 0.3, "stroke": COLOURS[card]}
            if high > low or SECONDS[0] < low < SECONDS[1]:
                parts.append(
                    svg.box(x + side - 4, _y(high) - 1, 8, _y(low) - _y(high) + 2, COLOURS[card], **look)
                )
        return parts

    def _lines(self) -> list[str]:
        parts, labels, free = [], [], 0.0
        for card in (0, 1):
            sizes = [SIZES[0] * 2 ** (step / 16) for step in range(145)]
            points = [
                (_x(size), _y(self.seconds(card, size)))
                for size in sizes
                if self.seconds(card, size) <= SECONDS[1]
            ]
            dashes = {"stroke_dasharray": "7 4"} if card else {}
            parts.append(svg.curve(points, COLOURS[card], stroke_width=2, **dashes))
            if points:
                labels.append((points[-1][1], points[-1][0], card))
            if self.seconds(card, self.third) <= SECONDS[1]:
                parts.append(svg.circle(_x(self.third), _y(self.seconds(card, self.third)), 4, COLOURS[card]))
        labels.sort()
        lowest = HEIGHT - BOTTOM - 14 * len(labels)  # the last label stays above the axis
        for place, (y, x, card) in enumerate(labels):
            y = max(min(y + 4, lowest + 14 * place + 8), free)
            free = y + 14
            parts.append(svg.text(x + 6, y, CARDS[card], WORDS[card]))
        return parts

    def _points(self) -> list[str]:
        """Return the reported numbers as dots, or as bars where a range was reported."""
        parts = []
        for card, (at, batch) in itertools.product((0, 1), enumerate(BATCHES)):
            (low, high), x = REPORTED[card][at], _x(batch)
            if low < high:  # the same range on both cards, side by side
                x += 5 if card else -5
                parts.append(svg.line(x, _y(low), x, _y(high), COLOURS[card], stroke_width=6))
            else:
                parts.append(svg.circle(x, _y(low), 4.5, COLOURS[card], stroke=INK))
        return parts

    def _list(self, top: float) -> tuple[list[str], float]:
        """Return the list of explanations, and the height of the picture."""
        ends = (WIDTH - 112, WIDTH - 4)
        parts = [svg.text(4, top, "Can it fit all four?", QUIET)]
        parts.append(svg.text(ends[0] - 76, top, f"at {self.third:,}:", QUIET, "end"))
        parts += [svg.text(ends[card], top, CARDS[card], WORDS[card], "end") for card in (0, 1)]
        y = top
        for name, each in EXPLANATIONS.items():
            y += ROW
            found = fit(name)
            look: dict[str, Any] = {"font_weight": 700} if name == self.explanation else {}
            if look:
                parts.append(svg.box(0, y - 14, WIDTH, ROW, BLUE_SOFT, rx=3))
            mark, colour = ("✗", WARNING) if found.misses else ("✓", GREEN)
            parts.append(svg.text(4, y, mark, colour, font_weight=700))
            parts.append(svg.text(20, y, each.title, **look))
            if found.misses:
                words = f"misses by {found.misses:.3f} s or more"
                parts.append(svg.text(ends[1], y, words, WARNING, "end", **look))
                continue
            for card in (0, 1):
                words = _range(found.range(card, self.third))
                parts.append(svg.text(ends[card], y, words, WORDS[card], "end", **look))
        return parts, y + 8

    def table(self) -> Table:
        """Return the chosen costs with the numbers that they give, and below them each explanation."""
        head = (
            "what",
            *(f"{card}, {batch:,}" for card in ("3060 Ti", "PRO 6000") for batch in (*BATCHES, self.third)),
        )
        rows = []
        for at, part in enumerate(PARTS):
            shares = [
                f"{self.costs(card)[at] * weights(batch)[at]:.3f} s"
                for card in (0, 1)
                for batch in (*BATCHES, self.third)
            ]
            rows.append((f"chosen costs: {part}", *shares))
        rows.append(
            (
                "chosen costs: epoch",
                *(
                    f"{self.seconds(card, batch):.3f} s"
                    for card in (0, 1)
                    for batch in (*BATCHES, self.third)
                ),
            )
        )
        reported = [
            words for card in (0, 1) for words in (_reported(card, 0), _reported(card, 1), "not reported")
        ]
        rows.append(("reported", *reported))
        misses = [
            words
            for card in (0, 1)
            for words in (
                *(f"{self.misses(card, at):+.3f} s" if self.misses(card, at) else "fits" for at in (0, 1)),
                "–",
            )
        ]
        rows.append(("residual: chosen less allowed", *misses))
        for name, each in EXPLANATIONS.items():
            found = fit(name)
            said = f"misses by {found.misses:.3f} s or more" if found.misses else "can fit"
            ranges = [_range(found.range(card, batch)) for card in (0, 1) for batch in (*BATCHES, self.third)]
            rows.append((f"{each.title}: {said}", *ranges))
        caption = (
            "Seconds of an epoch by card and batch size: the chosen costs, the report, and what each explanation "
            "allows at its nearest costs"
        )
        return Table(caption, head, tuple(rows), tuple(range(1, len(head))))


def _x(batch: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * float(np.log(batch / SIZES[0]) / np.log(SIZES[1] / SIZES[0]))


def _y(seconds: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (seconds - SECONDS[0]) / (SECONDS[1] - SECONDS[0])


def _reported(card: int, at: int) -> str:
    low, high = REPORTED[card][at]
    return f"{low:g} to {high:g} s" if low < high else f"{low:g} s"


def _range(ends: tuple[float, float]) -> str:
    low, high = (f"{each:.2f}" for each in ends)
    return f"{low} s" if low == high else f"{low} to {high} s"


def explore_epoch(
    explanation: str = "fixed, linear, pairs",
    third: int = 4096,
    fixed: int = 300,
    linear: int = 370,
    pairs: int = 180,
    fixed_pro: int = 300,
    linear_pro: int = 440,
    pairs_pro: int = 108,
) -> Explorer[EpochPicture]:
    """Show which explanations of an epoch's time can fit four reported numbers; sliders move every cost.

    An RTX 3060 Ti and an RTX PRO 6000 took 0.8 to 0.9 s for an epoch at batch 1,024, and 2.2 s and 1.55 s at batch
    10,240: a reader's report, not measured for this book. The model is T(b) = fixed × 1024 ÷ b + linear + pairs × b ÷
    1024. A number counts as fitted within the reported range, or within 0.05 s of a number without a range.

    Parameters
    ----------
    explanation
        "fixed": only a fixed cost a batch. "fixed, linear": also a cost a sample. "loading": both, the same on both
        cards, because the same CPU loads. "fixed, pairs" and "linear, pairs": one of these costs and a cost a pair.
        "fixed, linear, pairs": all three. "shared": all three, the first two the same on both cards. "rate": all three,
        but pairs are seven times as fast on the RTX PRO 6000. A cost that the explanation leaves out is 0, and the RTX
        PRO 6000 takes a shared cost from the other card's slider.
    third
        A third batch size, 128 to 65,536, for which the explorer predicts.
    fixed, linear, pairs
        What the RTX 3060 Ti spends in an epoch at batch 1,024 on each batch, on each sample and on each pair, in
        milliseconds, 0 to 3,000, and for pairs to 600.
    fixed_pro, linear_pro, pairs_pro
        The same for the RTX PRO 6000.

    Raises
    ------
    ValueError
        If the explanation is not one of these, or a number is not a whole number within these limits.

    Examples
    --------
    >>> explorer = h2d.explore_epoch("fixed, linear")  # the last line of a notebook's cell shows it
    >>> print(explorer.picture.summary())
    Explanation: fixed + linear. With these costs the model misses 4 of 4 numbers...
    """
    return Explorer(EpochPicture(explanation, third, fixed, linear, pairs, fixed_pro, linear_pro, pairs_pro))
