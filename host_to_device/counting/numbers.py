"""The plain numbers of a count."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from host_to_device.standins.events import NAMES


@dataclass
class Numbers:
    """Copies with their bytes, waits, allocations and operations; None for what cannot be told.

    The names of the first nine are `events.NAMES`. `missing` says in a line each what is not counted, and why.
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

    def __add__(self, other: Numbers) -> Numbers:
        """Return the sum of what was counted in two stretches of time, one after the other."""
        missing = tuple(dict.fromkeys((*self.missing, *other.missing)))
        total = Numbers(by_name=self.by_name + other.by_name, missing=missing)
        for name in (*NAMES, "launches"):
            both = getattr(self, name), getattr(other, name)
            setattr(total, name, None if None in both else sum(both))
        return total
