"""What is known of the variables at one place of a kernel, and what is left of it where two ways meet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from book.webgpu.intervals import MOST, Interval
from book.webgpu.terms import (
    Variable,
)

Environment = dict[str, Any]  # Variables and Memories, by Python's names


def join(one: Environment | None, other: Environment | None) -> Environment | None:
    """Return what is known where two ways meet: a variable that only one of them has is unknown."""
    if one is None or other is None:
        return dict(other) if one is None and other is not None else one
    found: Environment = {}
    for name in one.keys() & other.keys():
        a, b = one[name], other[name]
        if isinstance(a, Variable) and isinstance(b, Variable):
            found[name] = a.join(b)
        elif a is b:
            found[name] = a
    return found


def joined(environments: Iterable[Environment | None]) -> Environment | None:
    found: Environment | None = None
    for each in environments:
        found = join(found, each)
    return found


def with_bounds(environment: Environment, bounds: Mapping[str, Interval]) -> Environment:
    """Return an environment in which some integers have intervals that are known in another way."""
    return environment | {
        name: replace(environment[name], range=range_)
        for name, range_ in bounds.items()
        if name in environment
    }


def grows(before: Any, after: Any) -> bool:
    if not isinstance(before, Variable) or not isinstance(after, Variable):
        return False
    wider = after.range.low < before.range.low or after.range.high > before.range.high
    return wider or (before.uniform and not after.uniform)


def widened(before: Any, after: Variable) -> Variable:
    if not isinstance(before, Variable):
        return after
    low = -MOST if after.range.low < before.range.low else after.range.low
    high = MOST if after.range.high > before.range.high else after.range.high
    return replace(after, range=Interval(low, high))
