"""Intervals of integers: what a translated kernel's indices can be, so that 32 bits provably hold them."""

from __future__ import annotations

from dataclasses import dataclass

MOST = 2**63  # wider than any integer of a kernel


@dataclass(frozen=True)
class Interval:
    """All integers from `low` to `high`, both included."""

    low: int
    high: int

    @property
    def fits(self) -> bool:
        """Whether an int32 holds every one of them."""
        return self.low >= -(2**31) and self.high < 2**31

    @property
    def single(self) -> int | None:
        """The only number in it; None if there are several."""
        return self.low if self.low == self.high else None

    def within(self, low: int, high: int) -> bool:
        """Return whether all lie between two numbers, both included."""
        return low <= self.low and self.high <= high

    def join(self, other: Interval) -> Interval:
        """Return the smallest interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def meet(self, low: int, high: int) -> Interval:
        """Return the part between two numbers; the interval itself where nothing would be left (dead code)."""
        low, high = max(low, self.low), min(high, self.high)
        return Interval(low, high) if low <= high else self

    def __add__(self, other: Interval) -> Interval:
        return _cut(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return _cut(self.low - other.high, self.high - other.low)

    def __neg__(self) -> Interval:
        return _cut(-self.high, -self.low)

    def __mul__(self, other: Interval) -> Interval:
        return _of(a * b for a in (self.low, self.high) for b in (other.low, other.high))

    def over(self, other: Interval) -> Interval:
        """Return the interval of `a // b`; every integer where b may be zero."""
        if other.low <= 0 <= other.high:
            return EVERY
        return _of(a // b for a in (self.low, self.high) for b in (other.low, other.high))

    def modulo(self, other: Interval) -> Interval:
        """Return the interval of Python's `a % b`; every integer where b may be zero."""
        if other.low > 0:
            return self if self.within(0, other.low - 1) else Interval(0, other.high - 1)
        return EVERY if other.high >= 0 else Interval(other.low + 1, 0)

    def size(self) -> Interval:
        """Return the interval of the absolute values."""
        if self.low >= 0:
            return self
        return -self if self.high <= 0 else _cut(0, max(-self.low, self.high))

    def least(self, other: Interval) -> Interval:
        """Return the interval of `min(a, b)`."""
        return Interval(min(self.low, other.low), min(self.high, other.high))

    def most(self, other: Interval) -> Interval:
        """Return the interval of `max(a, b)`."""
        return Interval(max(self.low, other.low), max(self.high, other.high))


def _cut(low: int, high: int) -> Interval:
    return Interval(max(low, -MOST), min(high, MOST))


def _of(numbers) -> Interval:  # type: ignore[no-untyped-def]
    numbers = list(numbers)
    return _cut(min(numbers), max(numbers))


EVERY = Interval(-MOST, MOST)
INT32 = Interval(-(2**31), 2**31 - 1)
