"""The numbers of a count, as plain data, and the number that is not known."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from host_to_device.standins.events import NAMES


class NotKnown(float):
    """A number that could not be counted; what is computed from it is not known either.

    A lesson adds, formats and compares counts. With this number it goes on where nothing can be counted: the number
    prints as "not known", in a column as "?". It is neither smaller nor larger than any number, equals none, and is
    false.
    """

    __slots__ = ()

    def __new__(cls) -> NotKnown:
        return super().__new__(cls, math.nan)

    def __repr__(self) -> str:
        return "not known"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        width = re.search(r"[1-9][0-9]*", spec.partition(".")[0])
        return "?".rjust(int(width[0])) if width else str(self)

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> tuple[type, tuple]:
        return NotKnown, ()

    def _and(self, *_: Any) -> NotKnown:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _and
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _and
    __neg__ = __pos__ = __abs__ = __round__ = _and  # type: ignore[assignment]


NOT_KNOWN = NotKnown()


def known(number: int | None) -> int | NotKnown:
    """Return a number of a count as its reader gets it: `NOT_KNOWN` in place of None."""
    return NOT_KNOWN if number is None else number


@dataclass
class Numbers:
    """Copies with their bytes, waits, allocations and operations; None for a number that is not known.

    The names of the first nine are `events.NAMES`. `missing` has one line for each thing that is not counted, and why.
    `places` has what was seen to work: "GPU", "stand-in". Where not everything is counted, it may lack the GPU.
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
    places: tuple[str, ...] = ()

    @property
    def worked(self) -> bool:
        """Whether a device has copied or computed."""
        return any((self.operations, self.h2d, self.d2h, self.d2d))

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
        places = tuple(dict.fromkeys((*self.places, *other.places)))
        total = Numbers(by_name=self.by_name + other.by_name, missing=missing, places=places)
        for name in (*NAMES, "launches"):
            both = getattr(self, name), getattr(other, name)
            setattr(total, name, None if None in both else sum(both))
        return total
