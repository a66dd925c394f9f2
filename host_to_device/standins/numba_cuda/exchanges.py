"""Which arguments barriers and warp operations take, by the signatures of Numba's functions for CUDA."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

VOTES = ("all_sync", "any_sync", "eq_sync", "ballot_sync")
MATCHES = ("match_any_sync", "match_all_sync")


def unfit(name: str, part: str, dtype: np.dtype | None) -> str | None:
    """Return the words of the refusal of an argument, or None if the operation takes it.

    Parameters
    ----------
    name
        The operation, such as "ballot_sync".
    part
        "value", "mask" or "lane".
    dtype
        The argument's dtype; None if it is not a number.
    """
    kind, size = (dtype.kind, dtype.itemsize) if dtype is not None else ("", 0)
    got = dtype or "no number"
    wide = kind in "iu" and size in (4, 8)
    if part == "lane":
        good, takes = wide, "the lane as an integer of 32 or 64 bits"
    elif part == "mask" and name.startswith("shfl"):
        good, takes = wide, "a mask of 32 or 64 bits"
    elif part == "mask" and name in VOTES:
        return (
            None if kind and kind in "iu" else f"cuda.{name}(): Mask type must be an integer, but got {got}"
        )
    elif part == "mask" or name in MATCHES:
        good, takes = kind in "iufb", "numbers"
    elif name in VOTES:
        return (
            None
            if kind and kind in "iub"
            else f"cuda.{name}(): Predicate must be an integer or boolean, but got {got}"
        )
    elif name.startswith("shfl"):
        good, takes = kind in "if" and size in (4, 8), "int32, int64, float32 or float64"
    elif name.startswith("syncthreads"):
        good, takes = kind in "iu", "an integer (int(condition) of a bool)"
    else:
        return None
    return None if good and kind else f"cuda.{name}() takes {takes}, but got {got}"


@cache
def _refusal(name: str, part: str, kind: type) -> str | None:
    """Return the words of the refusal of an interpreted kernel's value, by its type."""
    python = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64)}
    dtype = python.get(kind)
    if dtype is None and issubclass(kind, np.generic) and kind is not np.void:
        dtype = np.dtype(kind)
    return unfit(name, part, dtype)


def asked(name: str, line: int, *values: Any) -> tuple:
    """Return what an interpreted thread yields where it waits.

    Raises
    ------
    TypeError
        If the operation does not take one of the values; Numba's TypingError where Numba is installed.
    """
    parts = ("mask", "value", "lane") if not name.startswith("syncthreads") else ("", "value")
    for part, value in zip(parts, values, strict=False):
        if part and (words := _refusal(name, part, type(value))):
            from host_to_device.standins.numba_cuda.errors import refusal

            raise refusal(words)
    return name, line, *values
