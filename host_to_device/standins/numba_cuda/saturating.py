"""Conversions of floats to integers that cannot hold them, as a GPU makes them: they saturate.

PTX's `cvt` gives the nearest integer of the target type (PTX ISA, "cvt", with its table for NaN). NVVM converts to 8 and
16 bits by way of 16 bits and keeps the lower ones, so that 70000.0 becomes 65535 in 16 bits and 255 in 8. In C such a
conversion is undefined, and a CPU's instruction gives something else.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

_unfit: list[Callable[[float, np.dtype, int], None]] = []  # is called with each value that does not fit


@contextlib.contextmanager
def heard(listener: Callable[[float, np.dtype, int], None]) -> Iterator[None]:
    """Call `listener` with each value that does not fit, its target dtype, and the result of the conversion."""
    _unfit.append(listener)
    try:
        yield
    finally:
        _unfit.remove(listener)


def as_integer(value: Any, dtype: np.dtype) -> int:
    """Return a number as an integer of a type: a float saturates, an integer loses its upper bits."""
    if isinstance(value, float | np.floating):
        return saturated(value, dtype)
    bits = 8 * dtype.itemsize
    half = 1 << bits - 1 if dtype.kind == "i" else 0
    return ((int(value) + half) & ((1 << bits) - 1)) - half


def saturated(value: float, dtype: np.dtype, narrow: int = 16) -> int:
    """Return the integer that a GPU makes of a float.

    Parameters
    ----------
    value
        A float of Python or NumPy.
    dtype
        The integer type.
    narrow
        How many bits a conversion to fewer bits goes through: 16 for Numba (NVVM), 32 for CUDA C++ (NVRTC).
    """
    bits = 8 * dtype.itemsize
    signed = dtype.kind == "i"
    if math.isfinite(value):
        whole = int(value)
        if -(1 << bits - 1) * signed <= whole < 1 << bits - signed:  # by far the most frequent case
            return whole
    through = max(bits, narrow)
    lowest, highest = (-(1 << through - 1), (1 << through - 1) - 1) if signed else (0, (1 << through) - 1)
    if value != value:
        double = not isinstance(value, np.float32 | np.float16)
        found = (1 << through - 1) if double or through == 64 else 0
    else:
        exact = float(value)  # NumPy would compare a float32 with the limit rounded to a float32
        found = highest if exact > highest else lowest if exact < lowest else int(exact)
    half = 1 << bits - 1 if signed else 0
    found = ((found + half) & ((1 << bits) - 1)) - half
    for listener in _unfit:
        listener(float(value), dtype, found)
    return found
