"""Functions that make arrays on the device: empty, filled with a number, as a sequence, or from data on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.arrays import ndarray, new_like
from host_to_device.standins.cupy.base import (
    Base,
    adopt,
    adopt_like,
    cast,
    check_dtype,
    made_on_device,
    not_an_array,
    on_device,
    unsupported,
    upload,
)
from host_to_device.standins.cupy.converting import array


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None, blocking: bool = False
) -> Any:
    """Return an array on the device: `a` itself if it is one of that dtype and order, otherwise a copy."""
    return array(a, dtype, copy, order, blocking=blocking)


def asanyarray(
    a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None, blocking: bool = False
) -> Any:
    """Return what `asarray` returns."""
    return array(a, dtype, copy, order, blocking=blocking)


def ascontiguousarray(a: Any, dtype: Any = None) -> ndarray:
    """Return an array in C order without gaps, with at least one axis."""
    return array(a, dtype, None, "C", ndmin=1)


def asfortranarray(a: Any, dtype: Any = None) -> ndarray:
    """Return an array in Fortran order without gaps, with at least one axis."""
    if not isinstance(a, Base):
        raise not_an_array("a", a)
    return array(a, dtype, None, "F", ndmin=1)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> ndarray:
    """Return what `asarray` returns; raise a ValueError if an element is NaN or infinite."""
    a = asarray(a, dtype, order)
    if a.dtype.kind in "fc":
        events.operated("isfinite")
        events.operated("all")
        events.read_back(1)
    if a.dtype.kind in "fc" and not np.isfinite(a._array).all():
        raise ValueError("array must not contain Infs or NaNs")
    return a


def asfarray(a: Any, dtype: Any = np.float64) -> ndarray:
    """Return an array of floats."""
    return asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def asnumpy(
    a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True
) -> np.ndarray:
    """Return an array on the host: a copy of a device array, or `numpy.asarray` of any other object.

    Parameters
    ----------
    a
        Device array, or anything that `numpy.asarray` accepts.
    stream
        Ignored here.
    blocking
        Whether the host waits for the copy; it counts as a wait, and changes nothing else here.
    order
        `C`, `F` or `A`.
    out
        NumPy array to copy into.
    """
    if not isinstance(a, Base) and hasattr(a, "__cuda_array_interface__"):
        a = array(a, copy=None)
    if isinstance(a, Base):
        return a.get(stream, order, out, blocking)
    host = np.asarray(a, order=order)
    if out is None:
        return host
    out[...] = host
    return out


def astype(x: ndarray, dtype: Any, /, *, copy: bool = True) -> ndarray:
    """Return the array converted to a dtype."""
    return x.astype(dtype, copy=copy)


def copy(a: Any, order: str = "K") -> ndarray:
    """Return a copy on the device."""
    return a.copy(order=order)


def empty(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    """Return a new array with undefined contents."""
    return ndarray(shape, dtype, order=order)


def _copied_to(target: ndarray, value: Any) -> ndarray:
    """Set all elements to one number as `cupy.copyto` does: the device converts a float (basic.py, `full`)."""
    if isinstance(value, float | complex | np.inexact) and target.dtype.kind in "iuf":
        cast(np.broadcast_to(np.asarray(value), target.shape), target._array)
        if target.size:
            events.operated("fill")
    else:
        target.fill(value)
    return target


def _filled(shape: Any, value: Any, dtype: Any, order: str = "C") -> ndarray:
    result = ndarray(shape, dtype, order=order)
    result.fill(value)
    return result


def zeros(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    """Return a new array of zeros."""
    return _filled(shape, 0, dtype, order)


def ones(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    """Return a new array of ones."""
    return _filled(shape, 1, dtype, order)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> ndarray:
    """Return a new array whose elements are all one number."""
    if dtype is None:
        dtype = fill_value.dtype if isinstance(fill_value, Base) else np.asarray(fill_value).dtype
    return _copied_to(ndarray(shape, dtype, order=order), fill_value)


def empty_like(
    prototype: Any, dtype: Any = None, order: str = "K", subok: None = None, shape: Any = None
) -> Any:
    """Return a new array with the shape and dtype of another, and undefined contents."""
    if subok is not None:
        raise TypeError("subok is not supported yet")
    if not isinstance(prototype, Base):
        raise unsupported(prototype)
    dtype = check_dtype(prototype.dtype if dtype is None else dtype)
    if shape is None:
        return adopt(new_like(prototype._array, dtype, order.upper()))
    return adopt(_shaped_like(prototype._array, shape, dtype, order.upper()))


def _shaped_like(array: np.ndarray, shape: Any, dtype: np.dtype, order: str) -> np.ndarray:
    """Return new memory of another shape, its axes in the order of an array's as far as both have as many."""
    made = ndarray(shape, dtype)._array
    if order == "K" and made.ndim == array.ndim:
        axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
        return ndarray([made.shape[axis] for axis in axes], dtype)._array.transpose(np.argsort(axes))
    in_f = order == "F" or (order == "A" and array.flags.fnc)
    return ndarray(shape, dtype, order="F")._array if in_f else made


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: None = None, shape: Any = None
) -> Any:
    """Return a new array like another whose elements are all one number."""
    return _copied_to(empty_like(a, dtype, order, subok, shape), fill_value)


def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: None = None, shape: Any = None) -> Any:
    """Return a new array of zeros like another."""
    return full_like(a, 0, dtype, order, subok, shape)


def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: None = None, shape: Any = None) -> Any:
    """Return a new array of ones like another."""
    return full_like(a, 1, dtype, order, subok, shape)


@made_on_device
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """Return evenly spaced numbers from `start`, below `stop`."""
    if stop is None:
        start, stop = 0, start
    if any(isinstance(each, complex | np.complexfloating) for each in (start, stop, step)):
        raise TypeError("ufunc 'ceil' not supported for the input types: cupy.arange has no complex numbers")
    return np.arange(start, stop, 1 if step is None else step, dtype)


@made_on_device
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Return `num` evenly spaced numbers from `start` to `stop`; with `retstep` also the step."""
    if num < 0:
        raise ValueError("linspace with num<0 is not supported")
    if np.isscalar(start) and np.isscalar(stop):
        values, step = _between_numbers(start, stop, num, num - 1 if endpoint else num, endpoint)
    else:
        values, step = np.linspace(start, stop, num, endpoint, True, None, axis)
    if dtype is not None and np.dtype(dtype) != values.dtype:
        floats, values = values, np.empty(values.shape, dtype)
        cast(np.floor(floats) if values.dtype.kind in "iu" else floats, values)
    return (values, float(step) if np.ndim(step) == 0 else step) if retstep else values


def _between_numbers(start: Any, stop: Any, num: int, parts: int, endpoint: bool) -> tuple[np.ndarray, float]:
    """Return what CuPy computes between two numbers (ranges.py, `_linspace_scalar`), and the step."""
    values = np.empty(num, np.result_type(start, stop, float(num)))
    if parts <= 0:
        values[:] = start
        return values, float("nan")
    distance, places = float(stop - start), np.arange(num)
    step = distance / parts
    values[:] = start + (places * step if step else places * distance / parts)
    if endpoint:
        values[-1] = stop
    return values, step


def meshgrid(*xi: Any, **kwargs: Any) -> Any:
    """Return the coordinates of a grid from those along its axes."""
    unknown = kwargs.keys() - {"indexing", "copy", "sparse"}
    if unknown:
        raise TypeError(f"meshgrid() got an unexpected keyword argument '{min(unknown)}'")
    if kwargs.get("indexing", "xy") not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    for each in xi:
        if each.ndim != 1:
            raise ValueError("input has to be 1d")
        if not isinstance(each, Base):
            raise ValueError("input has to be cupy.ndarray")
    return _meshgrid(*xi, **kwargs) if len(xi) > 1 else tuple(xi)


@on_device
def _meshgrid(*xi: Any, **kwargs: Any) -> Any:
    """Return what `numpy.meshgrid` returns."""
    return tuple(np.meshgrid(*xi, **kwargs))


def diag(v: Any, k: int = 0) -> Any:
    """Return a matrix with a vector on a diagonal, or a matrix's diagonal, copied; lists are copied to the device."""
    if isinstance(v, Base):
        return _diag(v, k)
    if np.ndim(v) not in (1, 2):
        raise ValueError("Input must be 1- or 2-d.")
    # Of a matrix on the host CuPy copies only the diagonal.
    return array(np.asarray(v).diagonal(k)) if np.ndim(v) == 2 else _diag(array(v), k)


@on_device
def _diag(v: Any, k: int) -> Any:
    """Return what `numpy.diag` returns."""
    if v.ndim not in (1, 2):
        raise ValueError("Input must be 1- or 2-d.")
    return np.diag(v, k).copy()


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Return the powers of a vector's elements, as the columns of a matrix; lists are copied to the device."""
    return _vander(array(x, copy=None), N, increasing)


@on_device
def _vander(x: Any, N: int | None, increasing: bool) -> Any:
    """Return what `numpy.vander` returns."""
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    return np.vander(x, N, increasing)


def tril(m: Any, k: int = 0) -> Any:
    """Return the array with zeros above a diagonal."""
    m = array(m, copy=None)
    return adopt_like(upload(np.tril(m._array, k), "tril"), m)


def triu(m: Any, k: int = 0) -> Any:
    """Return the array with zeros below a diagonal."""
    m = array(m, copy=None)
    return adopt_like(upload(np.triu(m._array, k), "triu"), m)


def ix_(*args: Any) -> tuple:
    """Return the index of a grid from vectors; lists are copied to the device."""
    found = []
    for place, vector in enumerate(map(asarray, args)):
        if vector.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if vector.size == 0:
            vector = vector.astype(np.intp)
        if vector.dtype == bool:
            (vector,) = vector.nonzero()
        found.append(vector.reshape((1,) * place + (vector.size,) + (1,) * (len(args) - place - 1)))
    return tuple(found)


def mask_indices(n: int, mask_func: Any, k: Any = 0) -> tuple:
    """Return the indices at which `mask_func`, such as `cupy.triu`, leaves the elements of a square of ones.

    Parameters
    ----------
    n
        Rows and columns of the square.
    mask_func
        A function of an array and `k`.
    k
        Its second argument.
    """
    return mask_func(ones((n, n), np.int8), k).nonzero()


_FLAGS = {
    **dict.fromkeys(("C", "C_CONTIGUOUS", "CONTIGUOUS"), "C"),
    **dict.fromkeys(("F", "F_CONTIGUOUS", "FORTRAN"), "F"),
    **dict.fromkeys(("O", "OWNDATA"), "O"),
}


def require(a: Any, dtype: Any = None, requirements: Any = None) -> ndarray:
    """Return an array of the device that meets requirements, copied only if necessary.

    Parameters
    ----------
    a
        Array, number, or nested lists of numbers.
    dtype
        Dtype of the result; None for that of `a`.
    requirements
        Letters or names: `C_CONTIGUOUS`, `F_CONTIGUOUS`, `OWNDATA`.

    Raises
    ------
    ValueError
        If a requirement is unknown, or both orders are asked for.
    """
    try:
        dtype = None if dtype is None else np.dtype(dtype)
    except TypeError:
        raise ValueError(f'Incorrect dtype "{dtype}" provided') from None
    if not requirements:
        return asanyarray(a, dtype)
    unknown = [each for each in requirements if each.upper() not in _FLAGS]
    if unknown:
        raise ValueError(f'Incorrect flag "{unknown[0]}" in requirements')
    wanted = {_FLAGS[each.upper()] for each in requirements}
    if wanted >= {"C", "F"}:
        raise ValueError('Cannot specify both "C" and "F" order')
    order = "F" if "F" in wanted else "C" if "C" in wanted else "A"
    if order != "A" and not isinstance(a, Base):
        # CuPy hands the flag's whole name on, which is no order of NumPy's (kind.py, `require`).
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got '{order}_CONTIGUOUS')")
    return array(a, dtype, True if "O" in wanted else None, order)


class _Grid:
    """`cupy.mgrid` or `cupy.ogrid`: NumPy's, on the device."""

    def __init__(self, grid: Any) -> None:
        self._grid = grid

    def __len__(self) -> int:
        return 0

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, slice):
            len(key)  # CuPy's TypeError for a number
        slices = key if isinstance(key, tuple) else (key,)
        if any(isinstance(each, Base) for item in slices for each in (item.start, item.stop, item.step)):
            return _between_arrays(key, self._grid is np.ogrid)
        key = tuple(map(_plain, key)) if isinstance(key, tuple) else key
        result = self._grid[key]
        # CuPy returns a list of open grids (ranges.py, `nd_grid`).
        return list(map(asarray, result)) if isinstance(result, tuple | list) else asarray(result)


def _between_arrays(key: Any, sparse: bool) -> Any:
    """Return the grid of slices between arrays, as CuPy computes it (ranges.py, `nd_grid`)."""

    def places(item: slice) -> tuple[int, Any, Any, Any]:
        start, step = 0 if item.start is None else item.start, 1 if item.step is None else item.step
        if isinstance(step, complex):
            count = int(abs(step))
            return count, float, start, (item.stop - start) / float(count - 1) if count != 1 else count
        return int(np.ceil((item.stop - start) / (step * 1.0))), int, start, step

    if isinstance(key, slice):
        count, _, start, step = places(key)
        return arange(0, count, 1, float) * step + start
    found = [places(item) for item in key]
    kind = float if any(each[1] is float for each in found) else int
    if sparse:
        axes = range(len(found))
        keys = [tuple(slice(None) if axis == place else None for axis in axes) for place in axes]
        grids = [arange(count, dtype=kind) * step + start for count, _, start, step in found]
        return [grid[each] for grid, each in zip(grids, keys, strict=True)]
    grid = asarray(np.indices([count for count, *_ in found], kind))
    for place, (_, _, start, step) in enumerate(found):
        grid[place] = grid[place] * step + start
    return grid


def _plain(item: slice) -> slice:
    """Return a slice with Python's floats in place of NumPy's, so that the grid is one of float64."""
    return slice(
        *(
            float(each) if isinstance(each, np.floating) else each
            for each in (item.start, item.stop, item.step)
        )
    )


class _Joined:
    """`cupy.r_` or `cupy.c_`: NumPy's, on the device."""

    def __init__(self, join: Any) -> None:
        self._join = join

    def __getitem__(self, key: Any) -> Any:
        for place, each in enumerate(key if isinstance(key, tuple) else (key,)):
            if isinstance(each, str) and place:
                raise ValueError("special directives must be the first entry.")
            if isinstance(each, str | slice):
                raise NotImplementedError
        return _joined(self._join, key)


@made_on_device
def _joined(join: Any, key: Any) -> Any:
    """Return what NumPy's object returns for slices, numbers and arrays in brackets."""
    return join[key]


mgrid, ogrid = _Grid(np.mgrid), _Grid(np.ogrid)
r_, c_ = _Joined(np.r_), _Joined(np.c_)
