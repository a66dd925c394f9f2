"""Functions that compute: sums and statistics, differences, rounding, histograms.

Those that are methods of arrays call the method, as CuPy's do.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.base import Base, on_device, operand
from host_to_device.standins.cupy.results import quiet, reduced
from host_to_device.standins.cupy.ufuncs import ALL

# Methods as functions


def sum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the sum along axes."""
    return a.sum(axis, dtype, out, keepdims)


def prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the product along axes."""
    return a.prod(axis, dtype, out, keepdims)


def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the mean along axes."""
    return a.mean(axis, dtype, out, keepdims)


def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False
) -> Any:
    """Return the variance along axes."""
    return a.var(axis, dtype, out, ddof, keepdims)


def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False
) -> Any:
    """Return the standard deviation along axes."""
    return a.std(axis, dtype, out, ddof, keepdims)


def max(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the largest element along axes; NaN where there is one."""
    return a.max(axis, out, keepdims)


def min(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the smallest element along axes; NaN where there is one."""
    return a.min(axis, out, keepdims)


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the largest element less the smallest."""
    return a.ptp(axis, out, keepdims)


def all(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return whether all elements along axes are not zero."""
    return a.all(axis, out, keepdims)


def any(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return whether an element along axes is not zero."""
    return a.any(axis, out, keepdims)


amax, amin, alltrue, sometrue, product = max, min, all, any, prod


def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Return the sums of the elements up to each one."""
    return a.cumsum(axis, dtype, out)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Return the products of the elements up to each one."""
    return a.cumprod(axis, dtype, out)


cumproduct = cumprod


def _cumulative(
    method: str, start: int, x: Any, axis: int | None, dtype: Any, out: Any, include_initial: bool
) -> Any:
    """Return cumulative sums or products, with the neutral element in front if asked for."""
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
    """Return the sums of the elements up to each one; with a zero in front if asked for."""
    return _cumulative("cumsum", 0, x, axis, dtype, out, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    """Return the products of the elements up to each one; with a one in front if asked for."""
    return _cumulative("cumprod", 1, x, axis, dtype, out, include_initial)


def clip(a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:
    """Return the elements, limited to an interval."""
    return a.clip(a_min, a_max, out)


def around(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Return the elements rounded, halves to the even neighbour."""
    return a.round(decimals, out)


def round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Return the elements rounded, halves to the even neighbour."""
    return a.round(decimals, out)


def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    """Return the elements rounded, halves to the even neighbour."""
    return a.round(decimals, out)


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    """Return the sum of a diagonal."""
    return a.trace(offset, axis1, axis2, dtype, out)


# Without NaN


def _without_nan(name: str, a: Any, axis: Any, out: Any, *args: Any, **kwargs: Any) -> Any:
    """Return what NumPy's function of that name gives, or `out` filled with it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return reduced(quiet(getattr(np, name), operand(a), axis, *args, **kwargs), out)


def nansum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the sum along axes, NaN counted as 0."""
    return _without_nan("nansum", a, axis, out, dtype, keepdims=keepdims)


def nanprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the product along axes, NaN counted as 1."""
    return _without_nan("nanprod", a, axis, out, dtype, keepdims=keepdims)


def nanmean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the mean along axes of what is not NaN."""
    return _without_nan("nanmean", a, axis, out, dtype, keepdims=keepdims)


def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False
) -> Any:
    """Return the variance along axes of what is not NaN."""
    return _without_nan("nanvar", a, axis, out, dtype, ddof=ddof, keepdims=keepdims)


def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False
) -> Any:
    """Return the standard deviation along axes of what is not NaN."""
    return _without_nan("nanstd", a, axis, out, dtype, ddof=ddof, keepdims=keepdims)


def nanmax(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the largest element along axes that is not NaN."""
    return _without_nan("nanmax", a, axis, out, keepdims=keepdims)


def nanmin(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the smallest element along axes that is not NaN."""
    return _without_nan("nanmin", a, axis, out, keepdims=keepdims)


def nanmedian(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """Return the median along axes of what is not NaN."""
    return _without_nan("nanmedian", a, axis, out, keepdims=keepdims)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Return the sums of the elements up to each one, NaN counted as 0."""
    return _without_nan("nancumsum", a, axis, out, dtype)


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Return the products of the elements up to each one, NaN counted as 1."""
    return _without_nan("nancumprod", a, axis, out, dtype)


# Statistics


@on_device
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """Return the mean, weighted."""
    return np.average(a, axis, weights, returned, keepdims=keepdims)


def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """Return the median along axes."""
    return reduced(quiet(np.median, operand(a), axis, keepdims=keepdims), out)


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    interpolation: str | None = None,
) -> Any:
    """Return the percentiles `q`, from 0 to 100."""
    points = operand(q) if isinstance(q, Base) else q
    return reduced(
        np.percentile(operand(a), points, axis, method=interpolation or method, keepdims=keepdims), out
    )


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    interpolation: str | None = None,
) -> Any:
    """Return the quantiles `q`, from 0 to 1."""
    points = operand(q) if isinstance(q, Base) else q
    return reduced(
        np.quantile(operand(a), points, axis, method=interpolation or method, keepdims=keepdims), out
    )


@on_device
def cov(
    a: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """Return the covariance matrix."""
    return np.cov(a, y, rowvar, bias, ddof, fweights, aweights, dtype=dtype)


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


@on_device
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> Any:
    """Return how many points lie in each cell, and the list of edges."""
    return np.histogramdd(sample, bins, range, bool(density), weights)


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


@on_device
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Return the number of the bin in which each element lies."""
    return np.digitize(x, bins, right)


# Differences and integrals


@on_device
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return the differences of neighbours."""
    given = {"prepend": prepend, "append": append}
    return np.diff(a, n, axis, **{name: value for name, value in given.items() if value is not None})


@on_device
def ediff1d(arr: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Return the differences of neighbours of the flattened array."""
    return np.ediff1d(arr, to_end, to_begin)


@on_device
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Return the gradient by central differences."""
    return np.gradient(f, *varargs, axis=axis, edge_order=edge_order)


@on_device
def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """Return the integral by the trapezoidal rule."""
    rule = getattr(np, "trapezoid", None) or np.trapz
    return rule(y, x, dx, axis)


trapz = trapezoid


@on_device
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Return values between given points, by linear interpolation."""
    return np.interp(x, xp, fp, left, right, period)


@on_device
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: float = 6.283185307179586) -> Any:
    """Return angles without jumps of a whole period."""
    return np.unwrap(p, discont, axis, period=period)


# Element by element


@on_device
def angle(z: Any, deg: bool = False) -> Any:
    """Return the angle of complex numbers."""
    return np.angle(z, deg)


def real(val: Any) -> Any:
    """Return the real parts."""
    return val.real if isinstance(val, Base) else np.real(val)


def imag(val: Any) -> Any:
    """Return the imaginary parts."""
    return val.imag if isinstance(val, Base) else np.imag(val)


@on_device
def real_if_close(a: Any, tol: float = 100) -> Any:
    """Return the real parts if all imaginary parts are close to zero."""
    return np.real_if_close(a, tol)


@on_device
def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Return the array with NaN and infinity replaced."""
    return np.nan_to_num(x, copy, nan, posinf, neginf)


def isneginf(x: Any, out: Any = None) -> Any:
    """Return where elements are negative infinity."""
    return ALL["logical_and"](ALL["isinf"](x), ALL["signbit"](x), out=out)


def isposinf(x: Any, out: Any = None) -> Any:
    """Return where elements are positive infinity."""
    return ALL["logical_and"](ALL["isinf"](x), ~ALL["signbit"](x), out=out)
