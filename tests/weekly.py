"""What `make test-all` runs in turns: a part of a long list each week, so that every entry has its turn within some weeks.

The parts are drawn with seeds, and the week, such as 2026-W48, says which of them runs. `H2D_WEEK=2026-W48` repeats a
week, and `H2D_WEEK=all` runs everything.
"""

import os
import random
import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import TypeVar

import pytest

VARIABLE = "H2D_WEEK"
ALL = "all"
T = TypeVar("T")


def this_week() -> str:
    """Return the week whose parts run: the variable's, or that of today, as `2026-W48`."""
    return os.environ.get(VARIABLE) or "{}-W{:02}".format(*date.today().isocalendar())


def number_of(week: str) -> int:
    """Return a number that is one more each week.

    Raises
    ------
    ValueError
        If it is neither a week of ISO 8601 nor `all`.
    """
    found = re.fullmatch(r"(\d{4})-W(\d\d)", week)
    try:
        monday = date.fromisocalendar(int(found[1]), int(found[2]), 1) if found else None
    except ValueError:
        monday = None
    if monday is None:
        raise ValueError(f"{VARIABLE}={week}: give a week, such as 2026-W48, or {ALL}")
    return (monday - date(1970, 1, 5)) // timedelta(weeks=1)


def check() -> None:
    """Raise ValueError if the variable names no week."""
    if this_week() != ALL:
        number_of(this_week())


def turns(count: int, parts: int, seed: str) -> Iterator[int]:
    """Yield for each of `count` entries the part that it belongs to.

    Of `parts` entries that follow each other each belongs to another part: a part has something of every set.
    """
    for first in range(0, count, parts):
        block = list(range(parts))
        random.Random(f"{seed} {first}").shuffle(block)
        yield from block[: count - first]


def in_turn(entries: Sequence[T], parts: int, seed: str) -> list[T]:
    """Return the entries whose turn it is this week, one in `parts`.

    Parameters
    ----------
    entries
        All of them, in an order that stays.
    parts
        The number of parts: each entry runs once in this number of weeks.
    seed
        A name of the list, so that two lists do not go together.
    """
    week = this_week()
    if week == ALL:
        return list(entries)
    part = number_of(week) % parts
    return [
        entry for entry, turn in zip(entries, turns(len(entries), parts, seed), strict=True) if turn == part
    ]


def left_out(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return, of the slow tests with the marker `one_in(parts)`, those that have their turn in another week."""
    lists: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("one_in") and item.get_closest_marker("slow"):
            lists.setdefault(item.nodeid.partition("[")[0], []).append(item)
    found: set[pytest.Item] = set()
    for function, those in lists.items():
        (parts,) = those[0].get_closest_marker("one_in").args
        found |= set(those).difference(in_turn(those, parts, function))
    return found
