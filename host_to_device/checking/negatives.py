"""Negative numbers that stand in the source as an index: they count from the end, and are meant.

A computed index that becomes negative counts from the end as well, in Numba, but is rarely meant: the check reports it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from host_to_device.standins.numba_cuda.rewriting import PREFIX, SHARED, THREAD

FROM_END = f"{PREFIX}from_end_"


class FromEnd(int):
    """A negative index that stands in the source as a number."""


def is_plain(owner: ast.expr) -> bool:
    """Return whether a subscript reads a tuple, and not one of the learner's arrays."""
    if isinstance(owner, ast.Name):
        return owner.id in (THREAD, SHARED)
    return isinstance(owner, ast.Tuple) or (
        isinstance(owner, ast.Attribute) and owner.attr in ("shape", "strides")
    )


def number(node: ast.expr) -> int | None:
    """Return the negative whole number that stands there, otherwise None."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1
    value = node.value if isinstance(node, ast.Constant) and type(node.value) is int else 0
    return sign * value if sign * value < 0 else None


class Indices(ast.NodeTransformer):
    """Replaces each negative number that is an index: `replace(array, axis, number)` returns what stands there then.

    Indices of arrays and those of atomics count, the ends of slices do not.
    """

    def __init__(self, replace: Callable[[ast.expr, int, int], ast.expr]) -> None:
        self.replace = replace

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not is_plain(node.value):
            node.slice = self.of(node.value, node.slice)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if (
            name.startswith(f"{PREFIX}atomic_")
            and not name.endswith("compare_and_swap")
            and len(node.args) > 2
        ):
            node.args[1] = self.of(node.args[0], node.args[1])
        return node

    def of(self, array: ast.expr, index: ast.expr) -> ast.expr:
        """Return an index whose negative numbers are replaced."""
        if isinstance(index, ast.Tuple):
            index.elts = [self.one(array, axis, each) for axis, each in enumerate(index.elts)]
            return index
        return self.one(array, 0, index)

    def one(self, array: ast.expr, axis: int, index: ast.expr) -> ast.expr:
        found = number(index)
        if found is None:
            return index
        return ast.fix_missing_locations(ast.copy_location(self.replace(array, axis, found), index))


def numbers(tree: ast.AST) -> Iterator[int]:
    """Yield the negative numbers in rewritten code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and (found := number(node)) is not None:
            yield found


def named(tree: ast.AST) -> ast.AST:
    """Return rewritten code in which each negative index is a name, whose value is a `FromEnd`."""
    return Indices(lambda array, axis, found: ast.Name(f"{FROM_END}{-found}", ast.Load())).visit(tree)
