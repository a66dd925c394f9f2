"""A measurement as data: its samples, how they were taken, and the reasons to doubt them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from host_to_device.measuring.clocks import HostClock
from host_to_device.rendering import units

if TYPE_CHECKING:
    from host_to_device.counting import Count

PLACES = {
    "GPU": "on the GPU",
    "CPU": "on the CPU",
    "stand-in": "on the stand-in, whose times are not a GPU's",
}

# What to do about each kind of doubt.
ADVICE = {
    "too fast": "Check the bytes or operations that you gave, and whether the clock waited for the device.",
    "compile inside": "Call the function once before: h2d.time(…, warmup=1) does.",
    "no wait": "Wait for the device before the clock stops: synchronize=True does.",
    "copies left out": "Measure the copy too, or say beside the number that the data was on the device already.",
    "fits in cache": "Give several sets of inputs that together are larger than the cache: inputs=[…].",
    "too few": "Repeat it more often: repeat=…, or calls=… in each sample.",
    "zeros": "Fill the inputs with numbers like those of the real work.",
}


@dataclass(frozen=True)
class Doubt:
    """One reason to doubt a measurement: its kind, a key of `ADVICE`, and the evidence in words."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.text}. {ADVICE[self.kind]}"


def quartiles(samples: Sequence[float]) -> tuple[float, float]:
    """Return the first and the third quartile; for a single sample, that sample twice."""
    if len(samples) == 1:
        return samples[0], samples[0]
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return low, high


@dataclass(frozen=True)
class Timing:
    """A measurement: `print` shows it in one line, with one line for each doubt below.

    Attributes
    ----------
    name
        What was measured.
    samples
        Seconds per call, one number for each repetition.
    calls
        Calls in each sample.
    first
        Seconds of the first call, which is not among the samples, or None where there was no warm-up.
    where
        "GPU", "stand-in" or "CPU": what did the work.
    clock
        The clock that was read.
    bytes, flops
        Bytes moved and floating-point operations of one call, where they were given.
    wanted
        How many samples were asked for; there are fewer where they took too long. None: as many as there are.
    counts
        What one call asked of a device: copies, waits, operations; None where that is not known.
    doubts
        The reasons to doubt the measurement.

    Raises
    ------
    ValueError
        If there are no samples, if a sample is negative or not finite, or if `where` is not one of the three places.
    """

    name: str
    samples: tuple[float, ...]
    calls: int = 1
    first: float | None = None
    where: str = "CPU"
    clock: str = HostClock.name
    bytes: float | None = None
    flops: float | None = None
    wanted: int | None = None
    counts: Count | None = field(default=None, compare=False, repr=False)
    doubts: tuple[Doubt, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples", tuple(float(each) for each in self.samples))
        if not self.samples:
            raise ValueError("there are no samples: measure once at least")
        for each in self.samples:
            if not (math.isfinite(each) and each >= 0):
                raise ValueError(
                    f"a sample is {each} s, which is not a valid time: leave it out, or measure again"
                )
        if self.where not in PLACES:
            raise ValueError(f"where is {self.where!r}: give one of {', '.join(PLACES)}")

    @property
    def median(self) -> float:
        """The median of the samples, in seconds."""
        return statistics.median(self.samples)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and the third quartile of the samples, in seconds."""
        return quartiles(self.samples)

    @property
    def spread(self) -> float:
        """The distance between the quartiles, as a share of the median."""
        low, high = self.quartiles
        return _share(high - low, self.median)

    @property
    def bandwidth(self) -> float | None:
        """Bytes per second, where `bytes` was given."""
        return None if self.bytes is None else _share(self.bytes, self.median)

    @property
    def flop_rate(self) -> float | None:
        """Floating-point operations per second, where `flops` was given."""
        return None if self.flops is None else _share(self.flops, self.median)

    def __str__(self) -> str:
        many = len(self.samples)
        how = [f"median of {many}" + f" × {self.calls:,} calls" * (self.calls > 1)]
        if self.wanted is not None and self.wanted > many:
            how.append(f"as {self.wanted} would have taken too long")
        if many > 1:
            how.append(f"middle half {units.span(*self.quartiles)}")
        parts = [
            f"{self.name}: {units.seconds(self.median)} {PLACES[self.where]} ({', '.join(how)}; {self.clock})"
        ]
        if self.bandwidth is not None:
            parts.append(units.rate(self.bandwidth, "B/s"))
        if self.flop_rate is not None:
            parts.append(units.rate(self.flop_rate, "FLOP/s"))
        if self.first is not None and self.first > 2 * self.median:
            parts.append(f"first call {units.seconds(self.first)}")
        return "\n".join([", ".join(parts), *(f"  doubtful: {doubt}" for doubt in self.doubts)])

    __repr__ = __str__


def _share(amount: float, of: float) -> float:
    if of:
        return amount / of
    return math.inf if amount else 0.0
