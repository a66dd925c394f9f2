"""Functions that compute: sums and statistics, differences, rounding, histograms.

Those that only call NumPy's function or the array's method are rows of `forwarding`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.base import Base, on_device, operand
from host_to_device.standins.cupy.converting import array
from host_to_device.standins.cupy.forwarding import made
from host_to_device.standins.cupy.results import axes_of, one_axis, quiet, reduced
from host_to_device.standins.cupy.ufuncs import ALL

# Sums and limits


def _cumulative(
    method: str, start: int, x: Any, axis: int | None, dtype: Any, out: Any, include_initial: bool
) -> Any:
    """Return cumulative sums or products, with the neutral element in front if `include_initial` is True."""
    if not isinstance(x, Base):
        raise TypeError("`x` should be of type cupy.ndarray")
    if axis is None:
        if x.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    if not include_initial:
        return getattr(x, method)(axis, dtype, out)
    host = getattr(x._array, method)(axis, dtype)
    first = np.full_like(np.take(host, [0], axis), start)
    return reduced(np.concatenate([first, host], axis), out)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    """Return the sums of the elements up to each one; with `include_initial` after a zero."""
    return _cumulative("cumsum", 0, x, axis, dtype, out, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    """Return the products of the elements up to each one; with `include_initial` after a one."""
    return _cumulative("cumprod", 1, x, axis, dtype, out, include_initial)


def clip(a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:
    """Return the elements, limited to an interval."""
    return a.clip(a_min, a_max, out)


def _rounded(a: Any, decimals: int, out: Any) -> Any:
    return array(a, copy=None).round(decimals, out)


around, round, round_ = (
    made(
        name,
        "a, decimals=0, out=None",
        "the elements rounded, halves to the even neighbour",
        _rounded,
        module=__name__,
    )
    for name in ("around", "round", "round_")
)


# Statistics

_QUANTILES = (
    "a, q, axis=None, out=None, overwrite_input=False, method='linear', keepdims=False, *, interpolation=None"
)
_GIVEN = "a, q, axis, out, overwrite_input, interpolation or method, keepdims"


def _sorted_in_place(a: Any, axis: Any, whole: bool = True) -> None:
    """Sort an array that a statistic may overwrite, as CuPy sorts it: along one axis, or as one row in C order.

    An array of which CuPy first makes a copy, since its elements are not in that order, stays as it is.

    Parameters
    ----------
    a, axis
        The array, and the axis of the statistic.
    whole
        Whether CuPy sorts it whole, which it does along the last axis only, or partitions it.

    Raises
    ------
    NotImplementedError
        If CuPy would have to sort along another axis than the last.
    """
    if axis is None:
        if a._array.flags.c_contiguous:
            a._array.reshape(-1).sort()
    elif not isinstance(axis, tuple | list) or len(axis) == 1:
        axis = one_axis(axis[0] if isinstance(axis, tuple | list) else axis, a.ndim)
        if whole and not (axis == a.ndim - 1 and a._array.flags.c_contiguous):
            raise NotImplementedError("Sorting non-contiguous array is not supported.")
        a._array.sort(axis)


def _quantiles(function: Callable) -> Callable:
    """Return a function that writes what `numpy.percentile` or `numpy.quantile` computes into `out`.

    CuPy sorts, so that NaN counts as the largest number, and NumPy's result would be NaN.
    """

    def call(a: Any, q: Any, axis: Any, out: Any, overwrite: bool, method: str, keepdims: bool) -> Any:
        points = operand(q) if isinstance(q, Base) else q
        host = np.asarray(operand(a))
        host = host.astype(np.uint8) if host.dtype.kind == "b" else host
        result = quiet(function, host, points, axis, method=method, keepdims=keepdims)
        if host.dtype.kind == "f" and np.isnan(host).any() and method == "linear":
            parts = np.asarray(points, float) / (100 if function is np.percentile else 1)
            result = _between_sorted(host, parts, axis, result)
        if overwrite:
            _sorted_in_place(a, axis)
        return reduced(result, out, function.__name__)

    return call


def _between_sorted(host: np.ndarray, parts: np.ndarray, axis: Any, like: Any) -> np.ndarray:
    """Return quantiles as CuPy interpolates them between sorted elements, NaN last (order.py), in the shape of `like`."""
    axes = axes_of(axis, host.ndim)
    kept = [each for each in range(host.ndim) if each not in axes]
    rows = host.transpose(*kept, *axes).reshape(*(host.shape[each] for each in kept), -1)
    rows = np.sort(rows, -1)
    found = []
    for part in parts.ravel():
        place = part * (rows.shape[-1] - 1.0)
        below = int(place)
        above, weight = min(below + 1, rows.shape[-1] - 1), place - below
        low, high = rows[..., below], rows[..., above]
        with np.errstate(all="ignore"):
            gap = high - low
            found.append(low + gap * weight if weight < 0.5 else high - gap * (1 - weight))
    return np.stack(found).astype(np.asarray(like).dtype).reshape(np.shape(like))


percentile = made(
    "percentile",
    _QUANTILES,
    "the percentiles `q`, from 0 to 100",
    _quantiles(np.percentile),
    _GIVEN,
    __name__,
)
quantile = made(
    "quantile", _QUANTILES, "the quantiles `q`, from 0 to 1", _quantiles(np.quantile), _GIVEN, __name__
)


def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """Return the median along axes."""
    host = operand(a)
    given = range(host.ndim) if axis is None else tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    if not all(-host.ndim <= each < host.ndim for each in given) or (axis is not None and not host.ndim):
        raise np.exceptions.AxisError("Axis overrun")
    if 0 in [host.shape[each] for each in given]:
        raise ValueError("kth(=-1) out of bounds 0")  # the middle of nothing
    result = quiet(np.median, host, axis=axis, keepdims=keepdims)
    if overwrite_input:
        _sorted_in_place(a, axis, whole=False)
    return reduced(result, out)


@on_device
def corrcoef(
    a: Any, y: Any = None, rowvar: bool = True, bias: Any = None, ddof: Any = None, *, dtype: Any = None
) -> Any:
    """Return the matrix of correlation coefficients."""
    return np.corrcoef(a, y, rowvar, dtype=dtype)


def histogram(x: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> Any:
    """Return how many elements lie in each bin, and the edges of the bins."""
    if not isinstance(x, Base):
        raise ValueError("x must be a cupy.ndarray")
    if weights is not None and not isinstance(weights, Base):
        raise ValueError("weights must be a cupy.ndarray")
    if np.ndim(bins) == 0 and range is None and x.size:
        for _ in ("min", "max"):
            events.read_back(x.dtype.itemsize)
    elif isinstance(bins, Base):
        events.read_back(1)
    elif isinstance(bins, np.ndarray) and bins.ndim:
        bins = array(bins)
    return _counted(x, bins, range, density, weights)


@on_device
def _counted(x: Any, bins: Any, range: Any, density: bool, weights: Any) -> Any:
    """Return NumPy's histogram."""
    return np.histogram(x, bins, range, bool(density), weights)


@on_device
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: Any = None
) -> Any:
    """Return how many points lie in each cell, and the edges along both axes."""
    return np.histogram2d(x, y, bins, range, density, weights)


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> Any:
    """Return how many points lie in each cell, and the list of edges.

    Raises
    ------
    ValueError
        If the edges along an axis are a list, or have several axes.
    """
    for place, each in enumerate(bins if isinstance(bins, tuple | list) else ()):
        axes = each.ndim if isinstance(each, Base) else np.ndim(each)
        if axes > 1:
            raise ValueError(f"`bins[{place}]` must be a scalar or 1d array")
        if axes and not isinstance(each, Base):
            raise ValueError("array-like bins not supported")
    return _counted_in_cells(sample, bins, range, weights, density)


@on_device
def _counted_in_cells(sample: Any, bins: Any, range: Any, weights: Any, density: bool) -> Any:
    """Return NumPy's histogram of points."""
    return np.histogramdd(sample, bins, range, bool(density), weights)


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """Return the mean, weighted; arrays of the host and lists are copied to the device first."""
    weights = None if weights is None else array(weights, copy=None)
    return _averaged(array(a, copy=None), axis, weights, returned, keepdims)


@on_device
def _averaged(a: Any, axis: Any, weights: Any, returned: bool, keepdims: bool) -> Any:
    """Return what `numpy.average` returns."""
    return np.average(a, axis, weights, returned, keepdims=keepdims)


@on_device
def bincount(x: Any, weights: Any = None, minlength: int | None = None) -> Any:
    """Return how often each number occurs."""
    if x.ndim > 1:
        raise ValueError("object too deep for desired array")
    if x.ndim < 1:
        raise ValueError("object of too small depth for desired array")
    if x.dtype.kind not in "iub":
        raise TypeError("x must be int array")
    if x.size:
        events.read_back(1)
        events.read_back(x.dtype.itemsize)
    if x.size and x.min() < 0:
        raise ValueError("The first argument of bincount must be non-negative")
    return np.bincount(x, weights, minlength or 0)


# Differences and integrals


@on_device
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return the differences of neighbours."""
    one_axis(axis, a.ndim)
    given = {"prepend": prepend, "append": append}
    return np.diff(a, n, axis, **{name: value for name, value in given.items() if value is not None})


@on_device
def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """Return the integral by the trapezoidal rule."""
    rule = getattr(np, "trapezoid", None) or np.trapz
    return rule(y, x, dx, axis)


trapz = trapezoid


# Element by element


def real(val: Any) -> Any:
    """Return the real parts."""
    return array(val, copy=None).real


def imag(val: Any) -> Any:
    """Return the imaginary parts."""
    return array(val, copy=None).imag


def isneginf(x: Any, out: Any = None) -> Any:
    """Return where elements are negative infinity."""
    return ALL["logical_and"](ALL["isinf"](x), ALL["signbit"](x), out=out)


def isposinf(x: Any, out: Any = None) -> Any:
    """Return where elements are positive infinity."""
    return ALL["logical_and"](ALL["isinf"](x), ~ALL["signbit"](x), out=out)
