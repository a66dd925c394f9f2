"""Shrinks a program to the smallest one that still shows a finding.

A program is Python text, and a step removes one statement, unfolds one branch or loop, or puts a part of an expression or a
number in the place of the whole. The steps know nothing of the generator; `shows` says whether a program still shows it.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator

NUMBERS = (0, 1, 2)


def size(source: str) -> int:
    """Return the number of parts of a program, which shrinking reduces; its longer numbers count more."""
    tree = ast.parse(source)
    long = sum(len(repr(node.value)) for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return 10 * sum(1 for _ in ast.walk(tree)) + long


def smaller(source: str) -> Iterator[str]:
    """Yield programs that are one step smaller."""
    tree = ast.parse(source)
    for number, node in enumerate(ast.walk(tree)):
        for change in (*statements(node), *expressions(node)):
            changed = copy.deepcopy(tree)
            same = next(each for k, each in enumerate(ast.walk(changed)) if k == number)
            change(same)
            yield ast.unparse(ast.fix_missing_locations(changed)) + "\n"


def statements(node: ast.AST) -> Iterator[Callable[[ast.AST], None]]:
    """Yield changes of the lists of statements that a node has."""
    for name in ("body", "orelse"):
        body = getattr(node, name, None)
        if not isinstance(body, list):
            continue
        for place, statement in enumerate(body):
            if len(body) > 1 or name == "orelse":
                yield lambda same, name=name, place=place: getattr(same, name).pop(place)
            if isinstance(statement, ast.If | ast.For | ast.While):
                for part in ("body", "orelse"):
                    if getattr(statement, part):
                        yield lambda same, name=name, place=place, part=part: unfold(
                            getattr(same, name), place, part
                        )
            if isinstance(statement, ast.AugAssign):
                yield lambda same, name=name, place=place: plain(getattr(same, name), place)


def unfold(body: list[ast.stmt], place: int, part: str) -> None:
    body[place : place + 1] = getattr(body[place], part)


def plain(body: list[ast.stmt], place: int) -> None:
    """Replace `a += b` by `a = b`."""
    old = body[place]
    assert isinstance(old, ast.AugAssign)
    body[place] = ast.Assign([old.target], old.value)


def expressions(node: ast.AST) -> Iterator[Callable[[ast.AST], None]]:
    """Yield changes of the expressions that a node has as its direct parts."""
    if isinstance(node, ast.FunctionDef | ast.Attribute):
        return
    for name, value in ast.iter_fields(node):
        places = (
            [None] if isinstance(value, ast.expr) else range(len(value)) if isinstance(value, list) else []
        )
        for place in places:
            part = value if place is None else value[place]
            if not isinstance(part, ast.expr) or isinstance(getattr(part, "ctx", None), ast.Store):
                continue
            if name in ("func", "decorator_list") or (isinstance(node, ast.Subscript) and name == "value"):
                continue
            for new in replacements(part):
                yield lambda same, name=name, place=place, new=new: put(same, name, place, new)


def put(node: ast.AST, name: str, place: int | None, new: ast.expr) -> None:
    if place is None:
        setattr(node, name, copy.deepcopy(new))
    else:
        getattr(node, name)[place] = copy.deepcopy(new)


def replacements(part: ast.expr) -> Iterator[ast.expr]:
    """Yield what can stand in the place of an expression: its operands and arguments, or a small number."""
    if isinstance(part, ast.Attribute):
        return
    for child in ast.iter_child_nodes(part):
        if isinstance(child, ast.expr) and child is not getattr(part, "func", None):
            yield child
    if not isinstance(part, ast.Constant) or part.value not in NUMBERS:
        yield from (ast.Constant(number) for number in NUMBERS)


def smaller_cpp(source: str) -> Iterator[str]:
    """Yield programs in CUDA C++ that are one step smaller: without some lines, or with less between two brackets."""
    lines = source.splitlines()
    for first in range(len(lines)):
        for last in range(first + 1, len(lines) + 1):
            gone = "\n".join(lines[first:last])
            if gone.count("{") == gone.count("}") and "__global__" not in gone:
                yield "\n".join([*lines[:first], *lines[last:]]) + "\n"
    for first, last in brackets(source):
        inside = source[first + 1 : last]
        parts = [
            inside,
            *NUMBERS,
            *(part for cut in brackets(inside) for part in [inside[cut[0] : cut[1] + 1]]),
        ]
        yield from (f"{source[:first]}({part}){source[last + 1 :]}" for part in parts)
        if not re.search(r"[\w>]\s*$", source[:first]):  # no call and no cast
            yield source[:first] + inside + source[last + 1 :]


def brackets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of round brackets that belong together."""
    opened: list[int] = []
    for place, letter in enumerate(text):
        if letter == "(":
            opened.append(place)
        elif letter == ")" and opened:
            yield opened.pop(), place


def shrink(
    source: str,
    shows: Callable[[list[str]], list[bool]],
    rounds: int = 200,
    smaller: Callable[[str], Iterator[str]] = smaller,
    size: Callable[[str], int] = size,
) -> str:
    """Return the smallest program that single steps reach and that still shows the finding.

    Parameters
    ----------
    shows
        Gets programs and returns for each whether it shows the finding; a program may be nonsense.
    rounds
        How many steps at most.
    smaller, size
        The steps, and what they make less: those of Python, unless others are given.
    """
    for _ in range(rounds):
        tried = {each for each in smaller(source) if size(each) < size(source)}
        for some in in_parts(sorted(tried, key=size)):
            good = [each for each, still in zip(some, shows(some), strict=True) if still]
            if good:
                source = good[0]
                break
        else:
            return source
    return source


def in_parts(programs: list[str], many: int = 24) -> Iterator[list[str]]:
    return (programs[first : first + many] for first in range(0, len(programs), many))
