"""Finds the smallest program that still shows a difference."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType

from tests.corpora.cupy.expressions.asking import Real
from tests.corpora.cupy.expressions.running import difference, outcome


def smallest(statements: list[str], kind: str, real: Real, cp: ModuleType, tries: int = 150) -> list[str]:
    """Return the smallest program found that differs in this kind: fewer statements first, then shorter lists.

    Parameters
    ----------
    statements
        The program.
    kind
        One of `running.KINDS`.
    real, cp
        The two that differ.
    tries
        How many smaller programs to ask for at most.
    """
    left = tries

    def differs(candidate: list[str]) -> bool:
        right = real.ask(candidate)
        if right is None or any(error[0] == "NameError" for error in right["errors"].values()):
            return False
        found = difference(candidate, right, outcome(candidate, cp))
        return found is not None and found[0] == kind

    progress = True
    while progress and left > 0:
        progress = False
        for candidate in smaller(statements):
            left -= 1
            if differs(candidate):
                statements, progress = candidate, True
                break
            if left <= 0:
                break
    return statements


def smaller(statements: list[str]) -> Iterator[list[str]]:
    """Yield programs that are smaller by a step: without the end, without one statement, with shorter lists of numbers."""
    if len(statements) > 1:
        yield statements[:-1]
    for place in reversed(range(len(statements) - 1)):
        yield statements[:place] + statements[place + 1 :]
    for place, statement in enumerate(statements):
        for found in re.finditer(r"\[([^\[\]]*,[^\[\]]*)\]", statement):
            items = [item.strip() for item in found[1].split(",")]
            for half in (items[: len(items) // 2], items[len(items) // 2 :], items[1:], items[:-1]):
                if half and len(half) < len(items):
                    text = f"{statement[: found.start()]}[{', '.join(half)}]{statement[found.end() :]}"
                    yield [*statements[:place], text, *statements[place + 1 :]]
