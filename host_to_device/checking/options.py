"""The options of a check: what `h2d.check` was asked for, each value looked at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class CheckOptions:
    """The options of a check; `h2d.check` describes them."""

    outputs: tuple[str, ...]
    any_order: tuple[str, ...]
    not_compared: tuple[str, ...]
    schedules: int
    seconds: float
    accesses: float
    warp_size: int
    capability: str
    notes: bool
    strict: bool
    interpreted: bool | None

    def refuse_unknown_names(self, kernel: str, arrays: Sequence[str]) -> None:
        """Refuse options that name an array which the launch does not have.

        Raises
        ------
        ValueError
            With the names of the arrays that the launch has.
        """
        for option in ("outputs", "any_order", "not_compared"):
            for name in getattr(self, option):
                if name not in arrays:
                    there = ", ".join(arrays) or "no arrays"
                    raise ValueError(f"{option}: {kernel}() has no array called {name!r}; it has {there}")


def names(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of arrays, given as one string or as several."""
    return (given,) if isinstance(given, str) else tuple(given)


def whole(name: str, value: Any) -> int:
    """Return an option's value, a whole number from 1.

    Raises
    ------
    ValueError
        If it is anything else.
    """
    if not (isinstance(value, int | np.integer) and value >= 1):
        raise ValueError(f"{name} is {value!r}: give a whole number from 1")
    return int(value)


def positive(name: str, value: Any) -> float:
    """Return an option's value, a positive number.

    Raises
    ------
    ValueError
        If it is anything else.
    """
    if isinstance(value, bool) or not (isinstance(value, int | float | np.number) and value > 0):
        raise ValueError(f"{name} is {value!r}: give a positive number")
    return value.item() if isinstance(value, np.number) else value
