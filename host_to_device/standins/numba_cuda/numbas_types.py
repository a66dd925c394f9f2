"""Numba's types of numbers, and its rules for them, for a machine without Numba.

A type is NumPy's code: `i4` is int32, `u1` uint8, `f8` float64, `b1` bool. Numba computes with integers in 64 bits: a sum is
a uint64 if both operands are unsigned, else an int64. A float32 stays one beside a bool and beside integers that it can hold
exactly; beside wider ones it becomes a float64. A test compares these rules with Numba's own, operand by operand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
CODES = ("b1", *INTEGERS, "f4", "f8")
# How many bits a number's magnitude may have.
WIDTH = {"b1": 1, **{code: 8 * int(code[1]) - (code[0] == "i") for code in INTEGERS}, "f4": 0, "f8": 0}
BESIDE_FLOAT32 = ("b1", "i1", "i2", "u1", "f4")  # an operand that leaves a float32 one


@dataclass(frozen=True)
class Number:
    """A number of a type; `bits` bounds an integer's magnitude: its absolute value is at most 2**bits."""

    code: str
    bits: int = -1

    def __post_init__(self) -> None:
        if self.bits < 0:
            object.__setattr__(self, "bits", WIDTH[self.code])

    @property
    def whole(self) -> bool:
        """Whether it is an integer or a bool."""
        return self.code[0] in "iub"

    @property
    def unsigned(self) -> bool:
        return self.code[0] == "u"


@dataclass(frozen=True)
class Array:
    """An array; `raw` means that its elements come as NumPy's scalars and not as Python's numbers."""

    element: Any  # a Number, a Record or None
    ndim: int
    raw: bool = False


@dataclass(frozen=True)
class Record:
    """A record, or a structured dtype's field that is one."""

    dtype: np.dtype


@dataclass(frozen=True)
class Several:
    """A tuple; `names` are the fields of a named one."""

    each: tuple
    names: tuple = ()


def of_dtype(dtype: np.dtype) -> Number | Record | None:
    """Return the type of an array's elements; None for those that the rules do not cover, such as complex numbers."""
    if dtype.names:
        return Record(dtype)
    code = dtype.str[1:]
    return Number(code) if code in CODES and dtype.isnative else None


def of_value(value: Any) -> Any:
    """Return the type of a kernel's argument or constant."""
    if isinstance(value, bool | np.bool_):
        return Number("b1")
    if isinstance(value, np.generic) and not isinstance(value, np.void):
        return of_dtype(value.dtype)
    if isinstance(value, int):
        return of_integer(value)
    if isinstance(value, float):
        return Number("f8")
    if isinstance(value, np.ndarray):
        element = of_dtype(value.dtype)
        if isinstance(element, Record) and not value.ndim:
            return element
        return Array(element, value.ndim)
    if isinstance(value, np.void) and value.dtype.names:
        return Record(value.dtype)
    if isinstance(value, tuple):
        return Several(tuple(map(of_value, value)), getattr(value, "_fields", ()))
    return None


def of_integer(value: int) -> Number | None:
    """Return the type of one of Python's integers: int64, or uint64 if it is too large."""
    if -(2**63) <= value < 2**64:
        return Number("i8" if value < 2**63 else "u8", min(value.bit_length(), 64 if value >= 2**63 else 63))
    return None


def sum_of(one: Number, other: Number) -> str:
    """Return the type of `one + other`, and of the other operations of arithmetic."""
    if one.whole and other.whole:
        return "u8" if one.unsigned and other.unsigned else "i8"
    return "f4" if one.code in BESIDE_FLOAT32 and other.code in BESIDE_FLOAT32 else "f8"


def unified(one: str, other: str) -> str:
    """Return the type of a variable that has either type, of `a if c else b`, of `min` and of `max`: NumPy's promotion."""
    return np.promote_types(one, other).str[1:]


def compared(one: Number, other: Number) -> str:
    """Return the type in which two numbers are compared."""
    if one.whole and other.whole:
        return unified(one.code, other.code)
    return sum_of(one, other)


def counted(bounds: list[Number]) -> str:
    """Return the type of the numbers of a range."""
    codes = ["u8" if each.unsigned else "i8" if each.code == "i8" else "i4" for each in bounds]
    return codes[0] if len(set(codes)) == 1 else "i8"


def joined(one: Any, other: Any) -> Any:
    """Return the type of a variable that has either type: None if the rules do not say."""
    if one == other:
        return one
    if isinstance(one, Number) and isinstance(other, Number):
        code = unified(one.code, other.code)
        return Number(code, min(max(one.bits, other.bits), WIDTH[code]))
    if isinstance(one, Several) and isinstance(other, Several) and len(one.each) == len(other.each):
        names = one.names if one.names == other.names else ()
        return Several(tuple(map(joined, one.each, other.each)), names)
    return None


def full(kind: Any) -> Any:
    """Return the type without what is known of its numbers' magnitudes."""
    if isinstance(kind, Number):
        return Number(kind.code)
    return Several(tuple(map(full, kind.each)), kind.names) if isinstance(kind, Several) else kind


def rounded_up(kind: Any) -> Any:
    """Return the type with one of three magnitudes, so that few versions of a function are made."""
    if isinstance(kind, Number) and kind.whole:
        return Number(
            kind.code, min(WIDTH[kind.code], 31 if kind.bits <= 31 else 44 if kind.bits <= 44 else 64)
        )
    return Several(tuple(map(rounded_up, kind.each)), kind.names) if isinstance(kind, Several) else kind
