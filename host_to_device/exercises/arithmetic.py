"""In which types a device function computes, by Numba's own inference: a float64 that nobody asked for shows here.

The result of a kernel does not show it, because a store into a float32 array rounds, and a clock shows it on some
GPUs only. Types do: Numba finds them in the same way for a CPU as for a GPU.
"""

from __future__ import annotations

import linecache
import types as python_types
from collections.abc import Sequence
from typing import Any

WIDE = "float64", "complex64", "complex128"


def wide_operations(function: Any, arguments: Sequence[str]) -> dict[str, Any]:
    """Return what of a device function is computed in more than 32 bits of floating point.

    Parameters
    ----------
    function
        The student's: made by `cuda.jit(device=True)`. Those that it calls are looked at as well.
    arguments
        The types of its arguments, in Numba's words: "float32", "int64".

    Returns
    -------
    dict
        "result", the type of what it returns; "operations", in the order of their lines, each with "line" as it is
        printed, "type", and "operands", the types of what it works on, "constant float64" where that is a number in the
        source. A conversion to float32 counts for nothing, nor does what is made of numbers in the source alone,
        which the compiler does once and for all. Both are None for code that Numba has no types
        for on a CPU.
    """
    import numba

    made: dict[int, Any] = {}
    compiled = _for_cpu(function, made)
    try:
        compiled.compile(tuple(getattr(numba.types, each) for each in arguments))
    except numba.core.errors.NumbaError:
        return {"result": None, "operations": None}
    found = [
        operation
        for each in made.values()
        for overload in each.overloads.values()
        for operation in _wide(overload.type_annotation)
    ]
    found.sort(key=lambda each: each.pop("at"))
    [overload] = compiled.overloads.values()
    return {"result": str(overload.signature.return_type), "operations": found}


def _for_cpu(function: Any, made: dict[int, Any]) -> Any:
    """Return a function as `numba.njit` makes it, and with it those device functions that it calls by their names."""
    import numba

    python = function.py_func
    if id(python) not in made:
        names = dict(python.__globals__)
        copy = python_types.FunctionType(
            python.__code__, names, python.__name__, python.__defaults__, python.__closure__
        )
        made[id(python)] = numba.njit(copy)
        for name in python.__code__.co_names:
            value = names.get(name)
            if "cuda" in type(value).__module__ and hasattr(value, "py_func"):
                names[name] = _for_cpu(value, made)
    return made[id(python)]


def _operands(node: Any) -> list[Any] | None:
    """Return what an operation works on, or None if it is none."""
    operation = getattr(node, "op", "")
    if operation in ("binop", "inplace_binop"):
        return [node.lhs, node.rhs]
    if operation == "unary":
        return [node.value]
    return list(node.args) if operation == "call" else None


def _wide(annotation: Any) -> list[dict[str, Any]]:
    from numba.core import ir, types

    constants = {
        statement.target.name
        for block in annotation.blocks.values()
        for statement in block.body
        if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Const | ir.Global)
    }

    # What is made of constants alone is computed once and for all, by the compiler.
    folded = set()
    for block in annotation.blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.Assign) and getattr(statement.value, "op", "") in ("binop", "call"):
                operands = _operands(statement.value)
                if operands and all(each.name in constants for each in operands):
                    constants.add(statement.target.name)
                    folded.add(id(statement.value))

    def kind(variable: Any) -> str:
        given = types.unliteral(annotation.typemap[variable.name])
        return f"constant {given}" if variable.name in constants and str(given) in WIDE else str(given)

    found = []
    for node, signature in annotation.calltypes.items():
        if signature is None or str(signature.return_type) not in WIDE:
            continue
        operands = _operands(node)
        if operands is None or id(node) in folded:
            continue
        line = linecache.getline(node.loc.filename, node.loc.line).strip()
        found.append(
            {
                "at": (node.loc.line, node.loc.col or 0),
                "line": f"{node.loc.line:>6} | {line}",
                "type": str(signature.return_type),
                "operands": [kind(each) for each in operands],
            }
        )
    return found
