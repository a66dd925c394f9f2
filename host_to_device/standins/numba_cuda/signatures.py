"""Kernels with a signature: converts arguments to its types, or refuses them, as Numba does."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import typeof, types
from numba.core import sigutils, typing
from numba.core.errors import TypingError
from numba.core.registry import cpu_target
from numba.np import numpy_support


def check(function: Callable, signatures: list, device: bool) -> None:
    """Refuse a signature that Numba cannot read or that does not fit the function.

    Raises
    ------
    TypeError
        For such a signature, in Numba's words where it has any.
    """
    name, parameters = function.__name__, len(inspect.signature(function).parameters)
    for signature in signatures:
        try:
            given, result = sigutils.normalize_signature(signature)
        except Exception as problem:
            raise TypeError(f"{name}(): the signature {signature!r} cannot be read: {problem}") from None
        if not device and result not in (None, types.void):
            raise TypeError(
                f"{name}(): CUDA kernel must have void return type, and the signature says {result}"
            )
        if len(given) != parameters:
            raise TypeError(
                f"{name}() takes {parameters} arguments, and its signature has {len(given)}: {signature}"
            )


def read(signatures: list) -> list[typing.Signature]:
    """Return signatures as Numba reads them; without a result where none is given."""
    found = []
    for each in signatures:
        arguments, result = sigutils.normalize_signature(each)
        found.append(typing.signature(result, *arguments))
    return found


def choose(context: typing.Context, signatures: list, found: tuple[types.Type, ...]) -> typing.Signature:
    """Return the signature of a device function for these types of arguments.

    Raises
    ------
    TypingError
        If no signature takes them.
    """
    cases = read(signatures)
    best = cases[0]
    if len(cases) > 1:
        best = context.resolve_overload("a device function", cases, found, {})
    elif any(context.can_convert(one, other) is None for one, other in zip(found, best.args, strict=False)):
        best = None
    if best is None or len(best.args) != len(found):
        kinds, declared = ", ".join(map(str, found)), "; ".join(map(str, signatures))
        raise TypingError(f"a device function with the signature {declared} does not take ({kinds})")
    return best


def convert(name: str, signatures: list, values: tuple) -> tuple:
    """Return the arguments in the types of the best-fitting signature.

    Raises
    ------
    TypeError
        If no signature fits.
    """
    wanted = [sigutils.normalize_signature(signature)[0] for signature in signatures]
    if len(wanted) > 1:
        kinds = tuple(typeof(value) for value in values)
        cases = [typing.signature(types.void, *each) for each in wanted]
        best = cpu_target.typing_context.resolve_overload(name, cases, kinds, {}, allow_ambiguous=False)
        if best is None:
            raise TypeError(
                f"No matching definition for argument type(s) of {name}(): {', '.join(map(str, kinds))}"
            )
        wanted = [best.args]
    try:
        return tuple(_as(kind, value) for kind, value in zip(wanted[0], values, strict=True))
    except TypeError as problem:
        raise TypeError(f"No matching definition for argument type(s) of {name}(): {problem}") from None


def _as(kind: types.Type, value: Any) -> Any:
    found = typeof(value)
    mismatch = TypeError(f"{found} is given where the signature says {kind}")
    if isinstance(kind, types.Array):
        if not isinstance(found, types.Array) or found.ndim != kind.ndim:
            raise mismatch
        if kind.layout != "A" and found.layout != kind.layout:
            raise mismatch
        if found.dtype == kind.dtype:
            return value
        pair = found.dtype, kind.dtype
        if (
            all(isinstance(each, types.Integer) for each in pair)
            and len({each.bitwidth for each in pair}) == 1
        ):
            return value.view(numpy_support.as_dtype(kind.dtype))  # the kernel reads the bits, as on a GPU
        raise mismatch
    if isinstance(kind, types.Number | types.Boolean):
        dtype = numpy_support.as_dtype(kind)
        try:
            if isinstance(kind, types.Integer):  # a number that does not fit wraps, as in C
                return np.array(operator.index(value) % 2**kind.bitwidth, np.uint64).astype(dtype)[()]
            return dtype.type(value if isinstance(kind, types.Complex) else _real(kind, value))
        except (TypeError, ValueError):
            raise mismatch from None
    return value


def _real(kind: types.Type, value: Any) -> Any:
    return bool(int(value)) if isinstance(kind, types.Boolean) else float(value)
