"""Answers of two students that are equal or nearly equal after renaming, for a person to look at.

Many students find the same short answer. So functions that are short, untouched, known to the course as an answer, or
shared by much of the class are left out. What is listed is a hint and changes no mark.
"""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from host_to_device.grading import misconceptions, shapes

ALIKE = 0.9  # part of the statements that two functions share, in their order
COMMON = 0.2  # part of the class that shares an answer from which it says nothing
MOST = 200  # pairs on the page


@dataclass(frozen=True)
class Pair:
    """Two students' functions; `alike` is 1.0 where they are equal after renaming."""

    number: str
    students: tuple[str, str]
    excerpts: tuple[str, str]
    alike: float


def pairs(
    answers: Mapping[str, Mapping[str, str]],
    numbers: Iterable[str],
    skeletons: Mapping[str, str] | None = None,
) -> list[Pair]:
    """Return the pairs of students with nearly equal functions, the most alike first.

    Parameters
    ----------
    answers
        The code of each exercise, by student and number.
    numbers
        The exercises to compare.
    skeletons
        The code that the students were given, by exercise.
    """
    found: list[Pair] = []
    for number in numbers:
        left_out = {
            shapes.shape(node)
            for source in (
                *(each.code for each in misconceptions.known(number)),
                (skeletons or {}).get(number, ""),
            )
            for node in shapes.functions(source).values()
        }
        groups: dict[tuple[str, ...], list[tuple[str, ast.FunctionDef]]] = defaultdict(list)
        for student, codes in answers.items():
            for node in shapes.functions(codes.get(number, "")).values():
                shape = shapes.shape(node)
                if shape not in left_out and shapes.size(node) >= shapes.SHORTEST and not _unwritten(node):
                    groups[shape].append((student, node))
        found += _of_exercise(number, groups, len(answers))
    return sorted(found, key=lambda each: (-each.alike, each.number, each.students))[:MOST]


def _of_exercise(
    number: str, groups: Mapping[tuple[str, ...], Sequence[tuple[str, ast.FunctionDef]]], students: int
) -> list[Pair]:
    kept = {shape: those for shape, those in groups.items() if len(those) <= max(3, COMMON * students)}
    found = [_pair(number, *two, 1.0) for those in kept.values() for two in itertools.combinations(those, 2)]
    for (one, first), (other, second) in itertools.combinations(kept.items(), 2):
        if abs(len(one) - len(other)) > (1 - ALIKE) * max(len(one), len(other)) * 2:
            continue
        alike = SequenceMatcher(None, one, other, autojunk=False).ratio()
        if alike >= ALIKE:
            found += [_pair(number, *two, alike) for two in itertools.product(first, second)]
    return [each for each in found if each.students[0] != each.students[1]]


def _pair(
    number: str, one: tuple[str, ast.FunctionDef], other: tuple[str, ast.FunctionDef], alike: float
) -> Pair:
    return Pair(number, (one[0], other[0]), (ast.unparse(one[1]), ast.unparse(other[1])), alike)


def _unwritten(node: ast.FunctionDef) -> bool:
    return any(isinstance(each, ast.Raise) and "NotImplementedError" in ast.dump(each) for each in node.body)
