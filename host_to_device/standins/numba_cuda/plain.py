"""Which kernels are plain: written in the part of Python that the interpreter and the compiler surely take alike.

That is arithmetic, comparisons, conditions, loops over `range`, array elements, and the functions of `cuda`, `math` and
NumPy's types. A kernel with anything else may be one that Numba refuses, which only the compiler knows.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import math
import textwrap
import types
from collections.abc import Callable
from typing import Any

import numpy as np

DTYPES = {np.dtype(each) for each in ("bool", "int32", "int64", "float32", "float64")}
CALLED = {"range", "min", "max", "abs", "int", "float"}  # of Python's own
OF_ARRAYS = {"size", "shape"}
OF_NUMPY = {"float32", "float64", "int32", "int64"}
NODES = (
    *(ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Expr, ast.Pass, ast.Return),
    *(ast.Assign, ast.AugAssign, ast.If, ast.For, ast.While, ast.Break, ast.Continue, ast.IfExp),
    *(ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple, ast.Constant, ast.Call),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.expr_context),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)
REFUSED = (ast.MatMult, ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.Slice)


MISSING = object()
STAND_IN = __name__.rpartition(".")[0]


def has_plain_type(value: Any) -> bool:
    """Tell whether an argument of a launch is an array or a number of one of the usual types."""
    if isinstance(value, np.ndarray):
        return value.dtype in DTYPES and value.flags.aligned and value.flags.writeable
    return type(value) in (bool, int, float) or (
        isinstance(value, np.generic) and np.dtype(type(value)) in DTYPES
    )


def is_plain(function: Callable) -> bool:
    """Tell whether a kernel is plain, from its source and the values of the names that it takes from outside."""
    if not isinstance(function, types.FunctionType):
        return False
    tree = _tree(function.__code__)
    if tree is None:
        return False
    parameters = {each.arg for each in tree.args.args}
    stored = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and not _is_read(each)}
    known = vars(builtins) | function.__globals__
    outside = {
        each.id: known.get(each.id, MISSING)
        for statement in tree.body
        for each in ast.walk(statement)
        if isinstance(each, ast.Name) and each.id not in parameters | stored
    }
    modules = {name: each for name, each in outside.items() if isinstance(each, types.ModuleType)}
    called = {
        each.func.id
        for each in ast.walk(tree)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
    }
    for name, value in outside.items():
        usual = name in CALLED and value is getattr(builtins, name, MISSING)
        if not (usual or name in modules or type(value) in (bool, int, float)):
            return False
    if not called <= CALLED & set(outside):
        return False
    return all(
        _is_plain_attribute(each, modules) for each in ast.walk(tree) if isinstance(each, ast.Attribute)
    )


def _is_plain_attribute(node: ast.Attribute, modules: dict[str, types.ModuleType]) -> bool:
    if not _is_read(node):
        return False
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id in modules:
        module = modules[root.id]
        if module is np:
            return isinstance(node.value, ast.Name) and node.attr in OF_NUMPY
        return module is math or module.__name__ in ("numba.cuda", STAND_IN, f"{STAND_IN}_mlir.cuda")
    return isinstance(node.value, ast.Name) and node.attr in OF_ARRAYS


def _is_read(node: Any) -> bool:
    return isinstance(node.ctx, ast.Load)


@functools.lru_cache(maxsize=512)
def _tree(code: types.CodeType) -> ast.FunctionDef | None:
    """Return the tree of a plain function's source, or None."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    [function] = tree.body if len(tree.body) == 1 else [None]
    if not isinstance(function, ast.FunctionDef) or function.args.defaults or function.args.kw_defaults:
        return None
    indexes = {id(each.slice) for each in ast.walk(function) if isinstance(each, ast.Subscript)}
    shapes = {id(each) for call in ast.walk(function) if isinstance(call, ast.Call) for each in call.args}
    for each in [node for statement in function.body for node in ast.walk(statement)]:
        if not isinstance(each, NODES) or isinstance(each, REFUSED):
            return None
        if isinstance(each, ast.Tuple) and _is_read(each) and id(each) not in indexes | shapes:
            return None
        if isinstance(each, ast.Constant) and type(each.value) not in (bool, int, float, str):
            return None
        is_text = isinstance(each, ast.Constant) and isinstance(each.value, str)
        if is_text and not any(isinstance(item, ast.Expr) and item.value is each for item in function.body):
            return None  # a text that is no docstring
        if isinstance(each, ast.Call) and each.keywords:
            return None
    return function
