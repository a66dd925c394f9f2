"""Runs programs with a module in the place of `cp`, and tells outcomes apart."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

# What a statement may raise that says how the process fares, and nothing about CuPy's rules.
OUT_OF_ORDER = ("CUDARuntimeError", "CUDADriverError", "CUBLASError", "CUSOLVERError", "NVRTCError")
NOT_IN_STAND_IN = "is not in host_to_device's stand-in"
# Of the largest element: how far apart two floats of a dtype may be. Functions and sums round differently on a GPU.
TOLERANCES = {"float16": 4e-3, "float32": 2e-5, "float64": 1e-11, "complex64": 2e-5, "complex128": 1e-11}
VARIABLE = re.compile(r"[a-z]\d*")

Outcome = dict[str, Any]  # {"errors": {statement's place: [class, message]}, "values": {name: description}}

# The kinds of differences, the worst first.
SILENT = "silently different"
PASSES = "passes here, CuPy refuses"
REFUSED = "refused here, CuPy computes"
OTHER_CLASS = "refused with another class"
BY_NAME = "refused by name"
KINDS = (SILENT, PASSES, REFUSED, OTHER_CLASS, BY_NAME)


def outcome(statements: Sequence[str], cp: ModuleType) -> Outcome:
    """Run a program and return its outcome, in types that JSON has; a statement that raises does not end it."""
    names: dict[str, Any] = {"cp": cp, "np": np}
    errors = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place, statement in enumerate(statements):
            try:
                exec(statement, names)
            except Exception as problem:
                words = str(problem)
                missing = NOT_IN_STAND_IN in words
                errors[str(place)] = [
                    "NotInStandIn" if missing else type(problem).__name__,
                    " ".join(re.sub(r"/\S*/", "", words).split())[:160],  # without the compiler's folder
                ]
        values = {
            name: described(value, cp)
            for name, value in names.items()
            if VARIABLE.fullmatch(name) and not callable(value)
        }
    return {"errors": errors, "values": values}


def described(value: Any, cp: ModuleType) -> Any:
    """Return a value's type and content as lists, texts and numbers."""
    if isinstance(value, cp.ndarray):
        array = value.get()
        shape = list(array.shape)
        strides = [
            0 if size <= 1 or not array.size else step
            for size, step in zip(shape, value.strides, strict=True)
        ]
        return ["device", array.dtype.name, shape, strides, elements(array)]
    if isinstance(value, np.ndarray):
        return ["host", value.dtype.name, list(value.shape), None, elements(value)]
    if isinstance(value, np.generic):
        return ["number", value.dtype.name, [], None, elements(np.asarray(value))]
    if isinstance(value, tuple | list):
        return [type(value).__name__, [described(each, cp) for each in value]]
    if isinstance(value, bool | int | str) or value is None:
        return [type(value).__name__, value]
    if isinstance(value, float):
        return ["number", "float", [], None, [value]]
    if isinstance(value, complex):
        return ["number", "complex", [], None, [[value.real, value.imag]]]
    return [type(value).__name__, str(value)]


def elements(array: np.ndarray) -> list[Any]:
    flat = array.ravel()
    if array.dtype.kind == "c":
        return [[each.real, each.imag] for each in flat.tolist()]
    return flat.tolist()


def difference(statements: Sequence[str], right: Outcome, got: Outcome) -> tuple[str, str] | None:
    """Return the kind of the first difference from the right outcome, and a line about it; None if there is none."""
    for place, statement in enumerate(statements):
        wanted, found = right["errors"].get(str(place)), got["errors"].get(str(place))
        if wanted is None and found is None:
            continue
        where = f"{' '.join(statement.split())}:"
        if found and found[0] == "NotInStandIn":
            return BY_NAME, f"{where} {found[1]}"
        if wanted is None:
            return REFUSED, f"{where} {': '.join(found)}"
        if found is None:
            return PASSES, f"{where} CuPy says {': '.join(wanted)}"
        if found[0] != wanted[0]:
            return OTHER_CLASS, f"{where} {': '.join(found)} | CuPy says {': '.join(wanted)}"
    for name, wanted in right["values"].items():
        words = unlike(got["values"].get(name), wanted)
        if words:
            return SILENT, f"{name}: {words}"
    return None


def unlike(got: Any, right: Any) -> str | None:
    """Describe how one described value differs from the right one; None if it does not."""
    if got == right:
        return None
    if got is None or got[0] != right[0] or len(got) != len(right):
        return f"a {got and got[0]}, not a {right[0]}"
    if len(right) == 2:
        if isinstance(right[1], list):
            if len(got[1]) != len(right[1]):
                return f"{len(got[1])} values, not {len(right[1])}"
            found = (unlike(one, other) for one, other in zip(got[1], right[1], strict=True))
            return next((words for words in found if words), None)
        return f"{got[1]!r}, not {right[1]!r}"
    for place, what in ((1, "dtype"), (2, "shape"), (3, "strides")):
        if got[place] != right[place]:
            return f"{what} {got[place]}, not {right[place]}"
    if not right[1].startswith(("float", "complex")):
        return f"{got[4]}, not {right[4]}"
    mine, wanted = np.asarray(got[4]), np.asarray(right[4])
    close = (mine == wanted) | (np.isnan(mine) & np.isnan(wanted))
    with np.errstate(invalid="ignore"):
        scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=1e-30)
        close |= np.abs(mine - wanted) <= TOLERANCES.get(right[1], 0.0) * scale
    return None if close.all() else f"{got[4]}, not {right[4]}"
