"""The types in which a kernel or device function computes, by Numba's type inference: an unintended float64 shows here.

The result of a kernel does not show a float64 computation, because a store into a float32 array rounds. A clock shows
it on some GPUs only. The types show it everywhere: Numba infers them for a CPU in the same way as for a GPU.
"""

from __future__ import annotations

import linecache
import re
import types as python_types
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

WIDE = "float64", "complex64", "complex128"


def wide_operations(function: Any, arguments: Sequence[str]) -> dict[str, Any]:
    """Return the operations of a kernel or device function that compute in more than 32 bits of floating point.

    Parameters
    ----------
    function
        The student's kernel or device function, made by `cuda.jit`. The device functions that it calls are examined as
        well. Of `numba.cuda`, the positions of a thread, barriers, shared and local arrays and atomics are known.
    arguments
        The types of its arguments, in Numba's words: "float32", "int64", "float32[:, :]".

    Returns
    -------
    dict
        "result" is the type of the returned value. "operations" has a dict for each operation, in the order of the
        lines: "line" as it is printed, "type", and "operands", the types of the operands, with "constant float64" for
        a number in the source. Conversions to float32 are left out, and so are operations on constants alone, which
        the compiler computes once. "result" and "operations" are None if Numba cannot infer types for a CPU.
    """
    import numba

    made: dict[int, Any] = {}
    compiled = _for_cpu(function, made)
    try:
        compiled.compile(tuple(_type(each) for each in arguments))
    except (numba.core.errors.NumbaError, AttributeError):  # the latter for names that `_cuda` lacks
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


def _type(words: str) -> Any:
    import numba

    name, _, axes = words.partition("[")
    kind = getattr(numba.types, name)
    return numba.types.Array(kind, axes.count(":"), "C") if axes else kind


class _Dim3(NamedTuple):
    x: np.int32
    y: np.int32
    z: np.int32


@cache
def _cuda() -> python_types.ModuleType:
    """Return a module that has the types of `numba.cuda` for a CPU; what its functions compute has no meaning."""
    from numba import njit
    from numba.extending import overload

    def grid(axes: Any) -> Any: ...

    def array(shape: Any, dtype: Any) -> Any: ...

    @overload(grid, strict=False, prefer_literal=True)
    def typed_grid(axes: Any) -> Any:
        count = getattr(axes, "literal_value", 1)
        if count == 1:
            return lambda axes: np.int64(0)
        result = (0,) * count
        return lambda axes: result

    @overload(array, strict=False)
    def typed_array(shape: Any, dtype: Any) -> Any:
        return lambda shape, dtype: np.empty(shape, dtype)

    @njit
    def nothing() -> None: ...

    @njit
    def an_atomic(array: Any, index: Any, value: Any) -> Any:
        old = array[index]
        array[index] = value
        return old

    module, memory, atomic = (python_types.ModuleType(name) for name in ("cuda", "memory", "atomic"))
    place = _Dim3(np.int32(0), np.int32(0), np.int32(0))
    for name in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
        setattr(module, name, place)
    for name in ("syncthreads", "syncwarp", "threadfence", "threadfence_block"):
        setattr(module, name, nothing)
    for name in ("add", "sub", "max", "min", "exch"):
        setattr(atomic, name, an_atomic)
    vars(memory)["array"] = array
    vars(module).update(grid=grid, gridsize=grid, shared=memory, local=memory, atomic=atomic)
    return module


def _for_cpu(function: Any, made: dict[int, Any]) -> Any:
    """Return a function compiled by `numba.njit`, together with the device functions that it calls by name."""
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
            if isinstance(value, python_types.ModuleType) and re.search(
                r"\bnumba(\.cuda|_cuda|_cuda_mlir\.cuda)$", value.__name__
            ):
                names[name] = _cuda()
            if "cuda" in type(value).__module__ and hasattr(value, "py_func"):
                names[name] = _for_cpu(value, made)
    return made[id(python)]


def _operands(node: Any) -> list[Any] | None:
    """Return an operation's operands, or None if the node is not an operation."""
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

    # The compiler computes operations on constants once: they cost nothing at run time.
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
