"""Signatures of device functions, and what they do in an interpreted kernel: arguments and results get their types."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

from host_to_device.standins.numba_cuda.errors import refusal
from host_to_device.standins.numba_cuda.layouts import as_dtype
from host_to_device.standins.numba_cuda.saturating import as_integer

DECLARED: dict[
    str, list[Any]
] = {}  # the text by which a program names them → the signatures, as they were given


def of(callee: Any) -> str:
    """Return the text that names the signatures of a device function, the stand-in's or Numba's; "" if it has none."""
    given = getattr(callee, "given_signatures", None)
    if (
        given is None and getattr(callee, "_can_compile", True) is False
    ):  # Numba's own, compiled for its signatures
        given = [each.signature for each in callee.overloads.values()]
    if not given:
        return ""
    text = "; ".join(map(str, given))
    DECLARED[text] = list(given)
    return text


@cache
def _read(declared: str) -> list[tuple[list[Any], Any]]:
    """Return the dtypes of arguments and result of each signature; None for what is no number, "void" for no result."""
    try:
        from host_to_device.standins.numba_cuda.signatures import read
    except ImportError:  # without Numba, texts only
        return [_parsed(str(each)) for each in DECLARED[declared]]
    found = []
    for each in read(DECLARED[declared]):
        result = each.return_type
        found.append(
            ([_dtype(kind) for kind in each.args], _dtype(result) if str(result) != "none" else "void")
        )
    return found


def _dtype(kind: Any) -> Any:
    """Return the dtype of a type of Numba, an array's with its number of axes; None for any other type."""
    try:
        if hasattr(kind, "ndim"):
            return as_dtype(kind.dtype), kind.ndim
        return None if kind is None else as_dtype(kind)
    except Exception:
        return None


def _parsed(text: str) -> tuple[list[Any], Any]:
    """Return the dtypes in the text of a signature, such as "float32(int32, float32[:])"."""
    result, _, arguments = text.rpartition(")")[0].partition("(")
    names = {"boolean": "bool", "double": "float64", "float": "float32", "f4": "float32", "f8": "float64"}

    def dtype(name: str) -> Any:
        name = name.strip()
        try:
            return np.dtype(names.get(name, name)) if re.fullmatch(r"\w+", name) else None
        except TypeError:
            return None

    parts = re.split(r",(?![^\[(]*[\])])", arguments) if arguments.strip() else []
    return [dtype(each) for each in parts], "void" if result.strip() in ("void", "none") else dtype(
        result or "?"
    )


def declared_kind(declared: str, number: int | None) -> Any:
    """Return the dtype of an argument, or of the result if there is no number; None if it depends on the call.

    An array's is its dtype with the number of its axes.
    """
    cases = _read(declared)
    if len(cases) > 1:
        return None
    [(arguments, result)] = cases
    found = result if number is None else arguments[number]
    return None if isinstance(found, str) else found


def has_result(declared: str) -> bool:
    """Return whether the result of a device function has to be converted."""
    return any(result is not None and not isinstance(result, str) for _, result in _read(declared))


def _chosen(declared: str, given: tuple) -> tuple[list[Any], Any]:
    cases = _read(declared)
    if len(cases) == 1:
        return cases[0]
    try:
        from numba import typeof
        from numba.core.registry import cpu_target

        from host_to_device.standins.numba_cuda.signatures import choose, read

        kinds = tuple(typeof(getattr(each, "array", each)) for each in given)
        best = choose(cpu_target.typing_context, DECLARED[declared], kinds)
        return cases[next(k for k, each in enumerate(read(DECLARED[declared])) if each.args == best.args)]
    except ImportError:
        raise refusal(
            f"without Numba, the stand-in cannot choose between the signatures {declared}"
        ) from None


def _converted(value: Any, dtype: Any, declared: str) -> Any:
    if dtype is None:
        return value
    if isinstance(dtype, tuple):
        if (getattr(value, "dtype", None), getattr(value, "ndim", None)) != dtype:
            raise refusal(f"another kind of argument is given where the signature {declared} says an array")
        return value
    if not isinstance(value, bool | int | float | complex | np.generic):
        kind = "an array" if hasattr(value, "shape") else "no number"
        raise refusal(f"{kind} is given where the signature {declared} says {dtype}")
    if isinstance(value, complex | np.complexfloating) and dtype.kind != "c":
        raise refusal(f"a complex number is given where the signature {declared} says {dtype}")
    return as_integer(value, dtype) if dtype.kind in "iu" else dtype.type(value)


def as_declared(given: tuple, declared: str, number: int) -> Any:
    """Return one of a device function's arguments in the type that its signature gives it."""
    return _converted(given[number], _chosen(declared, given)[0][number], declared)


def result_as_declared(value: Any, given: tuple, declared: str) -> Any:
    """Return a device function's result in the type that its signature gives it."""
    result = _chosen(declared, given)[1]
    return value if isinstance(result, str) else _converted(value, result, declared)
