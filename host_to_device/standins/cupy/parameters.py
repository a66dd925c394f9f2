"""Reads the parameter lists of CuPy's kernels, and finds the types that their type letters stand for.

The rules and the errors are those of CuPy 14's `cupy/_core/_kernel.pyx` and `_scalar.pyx`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from host_to_device.standins.cupy.generated import type_name


@dataclass(frozen=True)
class Parameter:
    """One parameter of an element-wise or reduction kernel: `raw T x`."""

    name: str
    dtype: np.dtype | None  # None: a type letter
    ctype: str  # the letter, or the C++ type
    raw: bool
    is_const: bool


@lru_cache(maxsize=512)
def parse(text: str, is_const: bool) -> tuple[Parameter, ...]:
    """Return the parameters of a list such as 'T x, raw float32 y'.

    Raises
    ------
    Exception
        'Syntax error: ...' or 'Unknown keyword "..."': CuPy raises the bare class here.
    TypeError
        If NumPy has no such dtype.
    """
    return tuple(parsed(each, is_const) for each in text.strip().split(",")) if text else ()


def parsed(text: str, is_const: bool) -> Parameter:
    words = text.split()
    if len(words) < 2:
        raise Exception(f"Syntax error: {text}")
    *keywords, kind, name = words
    dtype = None if len(kind) == 1 else np.dtype(kind)
    raw = False
    for word in keywords:
        if word == "raw":
            raw = True
        elif word == "_non_const":
            is_const = False
        else:
            raise Exception(f'Unknown keyword "{word}"')
    return Parameter(name, dtype, kind if dtype is None else type_name(dtype), raw, is_const)


def check_kernel_name(name: str) -> None:
    if re.match("^[a-zA-Z_][a-zA-Z_0-9]*$", name) is None:
        raise ValueError(f'Invalid kernel name: "{name}"')


@dataclass(frozen=True)
class Types:
    """The types of the parameters, and those of the type letters, in one call."""

    inputs: tuple[np.dtype, ...]
    outputs: tuple[np.dtype, ...]
    letters: tuple[tuple[str, np.dtype], ...]

    def typedefs(self) -> str:
        return "".join(f"typedef {type_name(dtype)} {letter};\n" for letter, dtype in self.letters)


def resolve(
    in_params: Sequence[Parameter],
    out_params: Sequence[Parameter],
    in_dtypes: Sequence[np.dtype | None],
    out_dtypes: Sequence[np.dtype | None],
) -> Types:
    """Find the types that letters stand for: from given outputs first, then from inputs; numbers (None) decide nothing.

    Raises
    ------
    TypeError
        If two arguments disagree, or one has another dtype than its parameter names.
    KeyError
        If no argument decides what a letter stands for: the letter, as in CuPy.
    """
    known: dict[str, np.dtype] = {}
    given = [*zip(out_params, out_dtypes, strict=True)] if out_dtypes else []
    if any(dtype is None for _, dtype in given):
        raise TypeError("Output arguments must be cupy.ndarray")
    for parameter, dtype in [*given, *zip(in_params, in_dtypes, strict=True)]:
        if dtype is None:
            continue
        if parameter.dtype is not None:
            if dtype != parameter.dtype:
                raise TypeError(f"Type is mismatched. {parameter.name} {dtype} {parameter.dtype}")
        elif known.setdefault(parameter.ctype, dtype) != dtype:
            raise TypeError(
                f"Type is mismatched. {parameter.name} {dtype} {known[parameter.ctype]} {parameter.ctype}"
            )

    def of(parameter: Parameter) -> np.dtype:
        return known[parameter.ctype] if parameter.dtype is None else parameter.dtype

    return Types(
        tuple(of(each) for each in in_params),
        tuple(of(each) for each in out_params),
        tuple(sorted(known.items(), key=lambda item: item[0])),
    )


def scalar(value: Any) -> np.generic:
    """Return a number as a kernel gets it by value: int becomes int64 (uint64 from 2**63), float becomes float64.

    Raises
    ------
    TypeError
        "Unsupported type ...", for all other types, NumPy arrays included.
    """
    kind = type(value)
    if kind is bool:
        return np.bool_(value)
    if kind is int:
        return np.uint64(value) if value >= 2**63 else np.int64(value)
    if kind is float:
        return np.float64(value)
    if kind is complex:
        return np.complex128(value)
    if isinstance(value, np.generic):
        return value
    raise TypeError(f"Unsupported type {kind}")


def stored(value: Any, dtype: np.dtype) -> np.generic:
    """Return a number as an element of this dtype, as an assignment to an array would leave it.

    Raises
    ------
    OverflowError
        If a Python integer does not fit.
    TypeError
        If a complex number is to become a real one.
    """
    place = np.empty((), dtype)
    place[()] = value
    return place[()]


def broadcast_shape(arrays: Sequence[Any]) -> tuple[int, ...]:
    """Return the broadcast shape of arrays; None stands for an argument that takes no part.

    Raises
    ------
    ValueError
        If the shapes do not fit: CuPy's message, with every operand's shape.
    """
    try:
        return np.broadcast_shapes(*(each.shape for each in arrays if each is not None))
    except ValueError:
        shapes = " ".join("()" if each is None else str(each.shape) for each in arrays)
        raise ValueError(f"operands could not be broadcast together with shapes {shapes}") from None
