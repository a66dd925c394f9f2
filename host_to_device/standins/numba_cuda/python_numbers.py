"""What `inferring` writes into an interpreted kernel: Numba's arithmetic for Python's integers and NumPy's floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from host_to_device.standins.numba_cuda.numbas_types import INTEGERS

ONES = (1 << 64) - 1


def wrapping(code: str) -> Callable[[int], int]:
    """Return the function that takes the upper bits off an integer; `code` is its type."""
    bits = 8 * int(code[1])
    half = 1 << bits - 1 if code[0] == "i" else 0
    mask = (1 << bits) - 1
    return lambda value: ((value + half) & mask) - half


def overflowed(value: int) -> int:
    """Return the int64 that is left of a sum, a difference or a product that is too large for it.

    It wraps on a GPU, too, but not always: Numba tells its compiler that such a thing does not happen, so code around it
    may be left out.
    """
    return ((value + (1 << 63)) & ONES) - (1 << 63)


def as_f4(value: Any) -> np.float32:
    """Return a number as a float32, an integer in one step: not through a float64, which would round twice."""
    if type(value) is int and not -(1 << 53) < value < 1 << 53:
        return (np.int64(value) if value < 1 << 63 else np.uint64(value)).astype(np.float32)
    return np.float32(value)


def shifted_left(value: int, by: int) -> int:
    """Return what PTX's `shl` gives: a shift by 64 bits or more leaves nothing."""
    return value << by if 0 <= by < 64 else 0


def shifted_right(value: int, by: int) -> int:
    """Return what PTX's `shr` gives: a shift by 64 bits or more leaves the sign."""
    return value >> by if 0 <= by < 64 else -(value < 0)


def power(base: Any, exponent: int) -> Any:
    """Return a float to the power of an integer, multiplied in the order in which Numba multiplies."""
    kind, left = type(base), abs(exponent)
    result = kind(1)
    while left:
        if left & 1:
            result = result * base
        left >>= 1
        if left:
            base = base * base
    return kind(1) / result if exponent < 0 else result


def power_of_integers(base: int, exponent: int) -> int:
    """Return an integer to the power of an integer, modulo 2**64; below 1 it is 0."""
    if exponent >= 0:
        return pow(base, exponent, 1 << 64)
    if base == 0:
        raise ZeroDivisionError("0 to a negative power")
    return base ** (-exponent & 1) if base in (1, -1) else 0


def bits_popc(value: int, width: int) -> int:
    """Return how many of the lowest `width` bits are set."""
    return (value & (1 << width) - 1).bit_count()


def bits_clz(value: int, width: int) -> int:
    """Return the number of zeros before the first set bit of `width`."""
    return width - (value & (1 << width) - 1).bit_length()


def bits_brev(value: int, width: int) -> int:
    """Return the lowest `width` bits in reverse order."""
    return int(f"{value & (1 << width) - 1:0{width}b}"[::-1], 2)


def bits_ffs(value: int, width: int) -> int:
    """Return the position of the lowest set bit, counted from 1; 0 if there is none."""
    value &= (1 << width) - 1
    return (value & -value).bit_length()


def max_of_floats(*values: Any) -> Any:
    """Return the largest number; a NaN counts only if there is nothing else, as in PTX."""
    best = values[0]
    for value in values[1:]:
        best = best if best > value or value != value else value
    return best


def min_of_floats(*values: Any) -> Any:
    best = values[0]
    for value in values[1:]:
        best = best if best < value or value != value else value
    return best


def round_to(value: Any, digits: int) -> Any:
    """Return a float rounded to digits as numba-cuda does: a float32 is multiplied in float64, so it is seldom half-way."""
    kind, x = type(value), float(value)
    if x != x or x in (float("inf"), float("-inf")):
        return value
    more = 10.0 ** (digits - 22) if digits > 22 else 1.0
    factor = 10.0 ** min(abs(digits), 22)
    y = np.float64(x) * factor * more if digits >= 0 else np.float64(x) / 10.0 ** (-digits)
    if np.isinf(y):
        return value
    z = np.rint(y)
    return kind(z / more / factor if digits >= 0 else z * 10.0 ** (-digits))


def remainder(x: Any, y: Any) -> Any:
    """Return `x % y` of floats, without an error of rounding.

    A GPU computes `x - floor(x / y) * y`, and rounds the product or not, as its compiler likes. With the product rounded,
    `1.0 % 0.1` is 0.
    """
    return x % y


def floored(x: Any, y: Any) -> Any:
    """Return `x // y` of floats, which Numba computes with `remainder`."""
    return x // y


HELPERS: dict[str, Callable] = {
    "as_f4": as_f4,
    "as_f8": np.float64,
    **{f"wrap_{code}": wrapping(code) for code in INTEGERS},
    **{
        each.__name__: each
        for each in (
            overflowed,
            remainder,
            floored,
            shifted_left,
            shifted_right,
            power,
            power_of_integers,
            bits_popc,
            bits_clz,
            bits_brev,
            bits_ffs,
            round_to,
            max_of_floats,
            min_of_floats,
        )
    },
}
