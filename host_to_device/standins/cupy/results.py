"""Turns what NumPy has computed into results on the device: into `out`, without warnings, with CuPy's errors."""

from __future__ import annotations

import operator
import sys
import warnings
from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.base import Base, adopt_like, cast, unsupported, upload

COMPLEX_TO_REAL = "Casting complex values to real discards the imaginary part"


def reduced(result: Any, out: Any = None, name: str = "", like: tuple = ()) -> Any:
    """Copy NumPy's result to the device, into a new array or into `out`, and return the array.

    A new array is of the class of the first of `like` that has one of its own.

    Raises
    ------
    ValueError
        If `out` has another shape.
    """
    if events.listening and not name:
        name = sys._getframe(1).f_code.co_name
    if out is None:
        return adopt_like(upload(result, name), *like)
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
    cast(np.asarray(result), out._array)
    events.operated(name)
    return out


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes that a reduction goes over, as numbers from 0 up (CuPy's _reduction.pyx, `_get_axis`).

    Raises
    ------
    TypeError
        If an axis is no integer.
    numpy.exceptions.AxisError
        If there is no such axis; an array without axes has none.
    ValueError
        If an axis is named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    axes = tuple(one_axis(each, ndim) for each in axes)
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(axes))


def one_axis(axis: Any, ndim: int) -> int:
    """Return an axis as a number from 0 up; raise AxisError if there is none, TypeError if it is no integer."""
    place = operator.index(axis)
    if not -ndim <= place < ndim:
        raise np.exceptions.AxisError(place, ndim)
    return place % ndim


def whole_number(value: Any) -> int:
    """Return a number as CuPy's compiled functions take one: also a float, or an array with one element."""
    if isinstance(value, str | tuple | list) or value is None:
        raise TypeError("an integer is required")
    return int(value)


def converted(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Return floats as integers of a dtype, where one is asked for: a reduction converts its elements first."""
    if dtype is None or array.dtype.kind not in "fc" or np.dtype(dtype).kind not in "iu":
        return array
    target = np.empty(array.shape, dtype)
    cast(array, target)
    return target


def summed(function: Any, array: np.ndarray, dtype: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a sum, product or mean, of float16 computed in float32 and rounded once (_routines_math.pyx, `e->e`)."""
    if array.dtype != np.float16 or dtype not in (None, np.float16):
        return quiet(function, converted(array, dtype), *args, dtype=dtype, **kwargs)
    return np.asarray(quiet(function, array, *args, dtype=np.float32, **kwargs)).astype(np.float16)


def refuse_empty(array: np.ndarray, axis: Any, name: str) -> None:
    """Raise CuPy's error for the reduction of an empty array by an operation without an identity."""
    axes = axes_of(axis, array.ndim)
    if array.size:
        return
    if any(array.shape[each] == 0 for each in axes):
        raise ValueError(f"zero-size array to reduction operation cupy_{name} which has no identity")


def quiet(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function of NumPy and suppress its warnings: a GPU gives none."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(*args, **kwargs)
