"""Functions that sort, search, compare and pick: order, conditions, sets, indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.base import (
    Base,
    adopt,
    adopt_like,
    cast,
    check_fits,
    on_device,
    operand,
    reach,
    shapes_differ,
    upload,
)
from host_to_device.standins.cupy.converting import array
from host_to_device.standins.cupy.indexing import index_of
from host_to_device.standins.cupy.results import axes_of, reduced

# Sorting


def sort(a: Any, axis: int | None = -1, kind: str | None = None) -> Any:
    """Return the array sorted, equal elements in their order."""
    result = a.flatten() if axis is None else a.copy()
    result.sort(-1 if axis is None else axis, kind)
    return result


def msort(a: Any) -> Any:
    """Return the array sorted along its first axis."""
    return sort(a, 0)


def partition(a: Any, kth: Any, axis: int | None = -1) -> Any:
    """Return the array sorted as far as the elements at `kth` are where sorting puts them."""
    result = a.flatten() if axis is None else a.copy()
    result.partition(kth, -1 if axis is None else axis)
    return result


@on_device
def lexsort(keys: Any) -> Any:
    """Return the indices that sort by the rows of a matrix; the last row decides first."""
    if keys.ndim == 0:
        raise IndexError("list index out of range")
    if keys.ndim > 2:
        raise NotImplementedError("Keys with the rank of three or more is not supported in lexsort")
    if keys.ndim == 1:
        return np.asarray(0)
    return np.lexsort(keys) if len(keys) else np.arange(keys.shape[1])


# Searching


def nanargmax(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the index of the largest element along an axis that is not NaN."""
    return reduced(np.asarray(np.nanargmax(operand(a), axis, keepdims=keepdims), dtype), out)


def nanargmin(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the index of the smallest element along an axis that is not NaN."""
    return reduced(np.asarray(np.nanargmin(operand(a), axis, keepdims=keepdims), dtype), out)


@on_device
def count_nonzero(a: Any, axis: Any = None) -> Any:
    """Return the number of elements that are not zero, as an array."""
    return np.asarray(np.count_nonzero(a, axes_of(axis, a.ndim)))


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Return where values belong in a sorted array."""
    if not isinstance(a, Base):
        raise NotImplementedError("Only int or ndarray are supported for a")
    if not isinstance(v, Base | int | float | complex):
        raise NotImplementedError("Only python scalars or ndarrays are supported for v")
    return a.searchsorted(v, side, sorter)


def nonzero(a: Any) -> tuple:
    """Return the indices of elements that are not zero, an array for each axis."""
    if not isinstance(a, Base):
        raise TypeError(f"'a' must be a cupy.ndarray object, not {type(a)}.")
    return a.nonzero()


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Return elements of `x` where a condition is True, of `y` elsewhere; without them, the indices where it holds.

    Raises
    ------
    TypeError
        If one of the three is a NumPy array: "Unsupported type <class 'numpy.ndarray'>".
    """
    if (x is None) != (y is None):
        raise ValueError("Must provide both 'x' and 'y' or neither.")
    if x is None:
        return nonzero(condition)
    hosts = [operand(each) for each in (condition.astype("?", copy=False), x, y)]
    for number, other in (hosts[1:], hosts[:0:-1]):
        if isinstance(other, np.ndarray | np.generic):
            check_fits(number, other.dtype)
    try:
        return adopt_like(upload(np.where(*hosts), "where"), condition, x, y)
    except ValueError:
        raise shapes_differ(*map(np.shape, hosts)) from None


# Comparing


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Return whether all elements are equal within a tolerance, as an array."""
    one, other = (array(each, copy=None) if isinstance(each, np.ndarray) else each for each in (a, b))
    return isclose(one, other, rtol, atol, equal_nan).all()


@on_device
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Return whether shapes and elements are equal, as an array."""
    a2.shape  # noqa: B018  CuPy reads it: an AttributeError for numbers and lists
    return np.asarray(np.array_equal(a1, a2, equal_nan))


@on_device
def array_equiv(a1: Any, a2: Any) -> Any:
    """Return whether elements are equal once broadcast, as an array."""
    return np.asarray(np.array_equiv(a1, a2))


def isscalar(element: Any) -> bool:
    """Return whether something is a number, not an array."""
    return np.isscalar(element)


def iscomplexobj(x: Any) -> bool:
    """Return whether the dtype is complex."""
    return x.dtype.kind == "c" if isinstance(x, Base) else np.iscomplexobj(x)


def isrealobj(x: Any) -> bool:
    """Return whether the dtype is not complex."""
    return not iscomplexobj(x)


def isfortran(a: Any) -> bool:
    """Return whether the elements lie in Fortran order, and not in C order."""
    return a.flags.fnc


# Sets


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Return where elements of a vector are among others."""
    return isin(ar1.ravel(), ar2, assume_unique, invert)


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Return where elements are among others."""
    return _isin(element, test_elements.ravel(), assume_unique, invert)


@on_device
def _isin(element: Any, test_elements: Any, assume_unique: bool, invert: bool) -> Any:
    """Return what `numpy.isin` returns."""
    return np.isin(element, test_elements, assume_unique, invert)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Return elements of the first choice whose condition holds, and a number elsewhere.

    Raises
    ------
    ValueError
        If there are no conditions, not as many choices, or a condition is not of booleans.
    TypeError
        If `default` is no number.
    """
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    if not np.isscalar(default):
        raise TypeError("default only accepts scalar values")
    for place, condition in enumerate(condlist):
        if condition.dtype.type is not np.bool_:
            raise ValueError(f"invalid entry {place} in condlist: should be boolean ndarray")
    return _select(condlist, choicelist, default)


@on_device
def _select(condlist: Any, choicelist: Any, default: Any) -> Any:
    """Return what `numpy.select` returns."""
    return np.select(condlist, choicelist, default)


# Picking and placing


def _triangle(function: Any, n: Any, k: Any, m: Any) -> tuple:
    """Return the indices of a triangle; raise CuPy's TypeError if a length is an array."""
    for each in (n, m):
        if isinstance(each, Base | np.ndarray):
            raise TypeError(f"the length of a side is a number, not {type(each).__name__}")
    return tuple(adopt(upload(each, function.__name__)) for each in function(n, k, m))


def tril_indices(n: Any, k: Any = 0, m: Any = None) -> tuple:
    """Return the indices of a matrix's lower triangle."""
    return _triangle(np.tril_indices, n, k, m)


def triu_indices(n: Any, k: Any = 0, m: Any = None) -> tuple:
    """Return the indices of a matrix's upper triangle."""
    return _triangle(np.triu_indices, n, k, m)


def _sides(arr: Any) -> tuple[int, int]:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return arr.shape


def tril_indices_from(arr: Any, k: Any = 0) -> tuple:
    """Return the indices of the lower triangle of an array."""
    rows, columns = _sides(arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: Any = 0) -> tuple:
    """Return the indices of the upper triangle of an array."""
    rows, columns = _sides(arr)
    return triu_indices(rows, k, columns)


def put(a: Any, ind: Any, v: Any, mode: str = "wrap") -> None:
    """Write values at indices of the flattened array."""
    a.put(ind, v, mode)


@on_device
def take_along_axis(a: Any, indices: Any, axis: int | None) -> Any:
    """Return elements at indices along an axis, a list of indices for each vector; they wrap around."""
    length = a.size if axis is None else a.shape[axis]
    return np.take_along_axis(a, indices % length if length else indices, axis)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """Write values at indices along an axis, a list of indices for each vector."""
    np.put_along_axis(arr._array, index_of(indices), operand(values), axis)
    events.operated("put_along_axis")


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write values, one after the other, where a mask is True."""
    values = operand(vals) if isinstance(vals, Base) else np.asarray(vals)
    given = np.empty(values.shape, arr.dtype)
    cast(values, given)
    np.place(arr._array, operand(mask), given)
    events.operated("place")


def putmask(a: Any, mask: Any, values: Any) -> None:
    """Write values where a mask is True, each at its own place."""
    if not isinstance(values, Base):
        a[mask] = values
        return
    if not np.can_cast(values.dtype, a.dtype):
        raise TypeError(
            f"Cannot cast array data from {values.dtype} to {a.dtype} according to the rule 'safe'"
        )
    np.putmask(a._array, operand(mask), values._array)
    events.operated("putmask")


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write a value along the diagonal."""
    np.fill_diagonal(a._array, operand(val), wrap)
    events.operated("fill_diagonal")


def piecewise(x: Any, condlist: Any, funclist: Any) -> Any:
    """Return one of several values for each element, by the last condition that is True.

    Raises
    ------
    NotImplementedError
        If a function is given in place of a number.
    """
    if isinstance(x, np.generic):
        x = array(x)
    return _piecewise(x, condlist, funclist)


@on_device
def _piecewise(x: Any, condlist: Any, funclist: Any) -> Any:
    """Return what `numpy.piecewise` returns for numbers."""
    if any(callable(each) for each in funclist):
        raise NotImplementedError("Callable functions are not supported currently")
    return np.piecewise(x, condlist, funclist)


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Return where elements are equal within a tolerance; arrays of the host and numbers are copied to the device."""
    return _close(array(a, copy=None), array(b, copy=None), rtol, atol, equal_nan)


@on_device
def _close(a: Any, b: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    """Return what `numpy.isclose` returns."""
    return np.isclose(a, b, rtol, atol, equal_nan)


def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a function to the vectors along an axis; the function gets them as arrays on the device."""

    def call(vector: np.ndarray) -> Any:
        result = func1d(adopt(upload(vector, "copy")), *args, **kwargs)
        result = array(result) if isinstance(result, tuple | list) else result
        return result._array if isinstance(result, Base) else result

    result = np.apply_along_axis(call, axis, arr._array)
    # CuPy stores the results' axes last, and returns them turned to the axis's place.
    axis, more = axis % arr.ndim, result.ndim - arr.ndim + 1
    here, last = range(axis, axis + more), range(-more, 0)
    return adopt(np.moveaxis(upload(np.ascontiguousarray(np.moveaxis(result, here, last))), last, here))


# Memory


def may_share_memory(a: Any, b: Any, max_work: int | None = None) -> bool:
    """Return whether the bounds of two arrays' memory overlap."""
    return np.may_share_memory(a._array, b._array)


def shares_memory(a: Any, b: Any, max_work: int | None = None) -> bool:
    """Return whether two arrays share an element's memory."""
    return np.shares_memory(a._array, b._array)


def byte_bounds(a: Any) -> tuple[int, int]:
    """Return the first address of an array's memory and the one behind its last."""
    before, nbytes = reach(a.shape, a.strides, a.itemsize)
    return a.data.ptr - before, a.data.ptr - before + nbytes


# Dtypes


def _without_arrays(args: tuple) -> list[Any]:
    """Return arguments with the dtypes of arrays in their place."""
    return [value.dtype if isinstance(value, Base) else value for value in args]


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """Return the dtype that an operation on these would give."""
    return np.result_type(*_without_arrays(arrays_and_dtypes))


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Return whether a dtype may be converted into another."""
    return np.can_cast(*_without_arrays((from_, to)), casting)


def min_scalar_type(a: Any) -> np.dtype:
    """Return the smallest dtype that holds a number; of an array, its dtype."""
    return a.dtype if isinstance(a, Base) else np.min_scalar_type(a)


def common_type(*arrays: Any) -> Any:
    """Return the floating-point type that can hold the elements of all arrays."""
    return np.common_type(*(np.empty(0, dtype) for dtype in _without_arrays(arrays)))
