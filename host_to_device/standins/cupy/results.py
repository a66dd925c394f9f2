"""Turns what NumPy has computed into results on the device: into `out`, without warnings, with CuPy's errors."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.base import Base, adopt, unsupported, upload


def reduced(result: Any, out: Any = None, name: str = "") -> Any:
    """Copy NumPy's result to the device, into a new array or into `out`, and return the array.

    Raises
    ------
    ValueError
        If `out` has another shape.
    """
    if events.listening and not name:
        name = sys._getframe(1).f_code.co_name
    if out is None:
        return adopt(upload(result, name))
    if not isinstance(out, Base):
        raise (
            unsupported(out)
            if isinstance(out, np.ndarray)
            else TypeError("Output arguments must be cupy.ndarray")
        )
    if out._array.shape != np.shape(result):
        raise ValueError(
            f"Output array is the wrong shape: expected {np.shape(result)}, but got {out._array.shape}"
        )
    np.copyto(out._array, result, casting="unsafe")
    events.operated(name)
    return out


def refuse_empty(array: np.ndarray, axis: Any, name: str) -> None:
    """Raise CuPy's error for the reduction of an empty array by an operation without an identity."""
    if array.size:
        return
    axes = range(array.ndim) if axis is None else np.atleast_1d(axis)
    if any(array.shape[each] == 0 for each in axes):
        raise ValueError(f"zero-size array to reduction operation cupy_{name} which has no identity")


def quiet(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function of NumPy and suppress its warnings: a GPU gives none."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(*args, **kwargs)
