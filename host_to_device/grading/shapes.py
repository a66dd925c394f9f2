"""The shape of code: its syntax tree without the names that its author chose, to compare answers."""

from __future__ import annotations

import ast
import re

SHORTEST = 40  # nodes of a function's tree: shorter answers look alike by themselves


def functions(source: str) -> dict[str, ast.FunctionDef]:
    """Return the functions of a source's top level by their names, the last of each name; none if it does not parse."""
    try:
        body = ast.parse(re.sub(r"(?m)^\s*[%!].*$", "", source)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {each.name: each for each in body if isinstance(each, ast.FunctionDef)}


def shape(function: ast.FunctionDef) -> tuple[str, ...]:
    """Return a function's statements as texts in which parameters and variables are numbered in their order.

    Constants, operators and the names from outside the function are kept. Docstrings and annotations are left out.
    """
    own = {
        *(each.arg for each in ast.walk(function) if isinstance(each, ast.arg)),
        *(
            each.id
            for each in ast.walk(function)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        ),
        function.name,
    }
    numbers: dict[str, int] = {name: place for place, name in enumerate(_in_order(function, own))}
    return tuple(
        f"{depth} {_text(each, numbers)}"
        for depth, each in _statements(function.body, 0)
        if not _is_text(each)
    )


def size(function: ast.FunctionDef) -> int:
    """Return how many nodes a function's tree has."""
    return sum(1 for _ in ast.walk(function))


def _in_order(function: ast.FunctionDef, own: set[str]) -> list[str]:
    names = [each.arg for each in function.args.args]
    stored = [
        (each.lineno, each.col_offset, each.id)
        for each in ast.walk(function)
        if isinstance(each, ast.Name) and each.id in own
    ]
    return list(dict.fromkeys([function.name, *names, *(name for _, _, name in sorted(stored))]))


def _statements(body: list[ast.stmt], depth: int) -> list[tuple[int, ast.stmt]]:
    found = []
    for each in body:
        found.append((depth, each))
        for name in ("body", "orelse", "finalbody"):
            found += _statements(getattr(each, name, None) or [], depth + 1 + (name != "body"))
    return found


def _text(statement: ast.stmt, numbers: dict[str, int]) -> str:
    """Return a statement's own text, without the statements inside it."""
    parts: list[str] = [type(statement).__name__]

    def visit(node: ast.AST) -> None:
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_comment", "decorator_list", "ctx", "kind"):
                continue
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.stmt):
                    continue
                if isinstance(each, ast.AST):
                    parts.append(f"({type(each).__name__}")
                    visit(each)
                    parts.append(")")
                elif isinstance(each, str) and name in ("id", "arg", "name") and each in numbers:
                    parts.append(f"name{numbers[each]}")
                elif each is not None:
                    parts.append(repr(each))

    visit(statement)
    return " ".join(parts)


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
