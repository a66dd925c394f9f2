"""The numbers of a count, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from host_to_device.standins.events import NAMES


@dataclass
class Numbers:
    """Copies with their bytes, waits, allocations and operations; None for a number that is not known.

    The names of the first nine are `events.NAMES`. `missing` has one line for each thing that is not counted, and why.
    """

    h2d: int | None = 0
    h2d_bytes: int | None = 0
    d2h: int | None = 0
    d2h_bytes: int | None = 0
    d2d: int | None = 0
    d2d_bytes: int | None = 0
    waits: int | None = 0
    allocations: int | None = 0
    operations: int | None = 0
    launches: int | None = None
    by_name: Counter[str] = field(default_factory=Counter)
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, sums: Mapping[str, int | None], by_name: Counter[str] | None = None) -> Numbers:
        """Return the numbers with these names, `events.NAMES` or some of them."""
        numbers = cls(by_name=Counter() if by_name is None else by_name)
        for name, number in sums.items():
            setattr(numbers, name, number)
        return numbers

    def __add__(self, other: Numbers) -> Numbers:
        """Return the sum of the numbers of two stretches of time."""
        missing = tuple(dict.fromkeys((*self.missing, *other.missing)))
        total = Numbers(by_name=self.by_name + other.by_name, missing=missing)
        for name in (*NAMES, "launches"):
            both = getattr(self, name), getattr(other, name)
            setattr(total, name, None if None in both else sum(both))
        return total
