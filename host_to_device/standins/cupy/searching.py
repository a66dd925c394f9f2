"""Functions that sort, search, compare and pick: order, conditions, sets, indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.base import Base, adopt, made_on_device, on_device, operand, upload
from host_to_device.standins.cupy.indexing import index_of, scanned
from host_to_device.standins.cupy.results import reduced

# Sorting


def sort(a: Any, axis: int | None = -1, kind: str | None = None) -> Any:
    """Return the array sorted, equal elements in their order."""
    result = a.flatten() if axis is None else a.copy()
    result.sort(-1 if axis is None else axis, kind)
    return result


def msort(a: Any) -> Any:
    """Return the array sorted along its first axis."""
    return sort(a, 0)


def argsort(a: Any, axis: int | None = -1, kind: str | None = None) -> Any:
    """Return the indices that sort the array."""
    return a.argsort(axis, kind)


def partition(a: Any, kth: Any, axis: int | None = -1) -> Any:
    """Return the array sorted as far as the elements at `kth` are where sorting puts them."""
    result = a.flatten() if axis is None else a.copy()
    result.partition(kth, -1 if axis is None else axis)
    return result


def argpartition(a: Any, kth: Any, axis: int | None = -1) -> Any:
    """Return the indices that partition the array."""
    return a.argpartition(kth, axis)


@on_device
def sort_complex(a: Any) -> Any:
    """Return the elements as complex numbers, sorted by real, then by imaginary part."""
    return np.sort_complex(a)


@on_device
def lexsort(keys: Any) -> Any:
    """Return the indices that sort by several keys, the last being the first."""
    return np.lexsort(keys)


# Searching


def argmax(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the index of the largest element along an axis."""
    return a.argmax(axis, out, dtype, keepdims)


def argmin(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the index of the smallest element along an axis."""
    return a.argmin(axis, out, dtype, keepdims)


def nanargmax(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the index of the largest element along an axis that is not NaN."""
    return reduced(np.asarray(np.nanargmax(operand(a), axis, keepdims=keepdims), dtype), out)


def nanargmin(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the index of the smallest element along an axis that is not NaN."""
    return reduced(np.asarray(np.nanargmin(operand(a), axis, keepdims=keepdims), dtype), out)


def nonzero(a: Any) -> tuple:
    """Return the indices of elements that are not zero, an array for each axis."""
    return a.nonzero()


@on_device
def argwhere(a: Any) -> Any:
    """Return the indices of elements that are not zero, a row for each."""
    scanned(a.size)
    return np.argwhere(a)


@on_device
def flatnonzero(a: Any) -> Any:
    """Return the indices of elements that are not zero in the flattened array."""
    scanned(a.size)
    return np.flatnonzero(a)


@on_device
def count_nonzero(a: Any, axis: Any = None) -> Any:
    """Return the number of elements that are not zero, as an array."""
    return np.asarray(np.count_nonzero(a, axis))


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Return where values belong in a sorted array."""
    if not isinstance(a, Base):
        raise NotImplementedError("Only int or ndarray are supported for a")
    if not isinstance(v, Base | int | float | complex):
        raise NotImplementedError("Only python scalars or ndarrays are supported for v")
    return a.searchsorted(v, side, sorter)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Return elements of `x` where a condition holds, of `y` elsewhere; without them, the indices where it holds."""
    if (x is None) != (y is None):
        raise ValueError("Must provide both 'x' and 'y' or neither.")
    if x is None:
        return condition.nonzero()
    mask = condition.astype("?", copy=False)
    return adopt(upload(np.where(mask._array, operand(x), operand(y)), "where"))


@on_device
def extract(condition: Any, a: Any) -> Any:
    """Return the elements for which a condition holds."""
    scanned(np.size(condition))
    return np.extract(condition, a)


# Comparing


@on_device
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Return where elements are equal within a tolerance."""
    return np.asarray(np.isclose(a, b, rtol, atol, equal_nan))


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Return whether all elements are equal within a tolerance, as an array."""
    return isclose(a, b, rtol, atol, equal_nan).all()


@on_device
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Return whether shapes and elements are equal, as an array."""
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


@made_on_device
def iscomplex(x: Any) -> Any:
    """Return where elements have an imaginary part."""
    return np.iscomplex(x)


@made_on_device
def isreal(x: Any) -> Any:
    """Return where elements have no imaginary part."""
    return np.isreal(x)


def isfortran(a: Any) -> bool:
    """Return whether the elements lie in Fortran order, and not in C order."""
    return a.flags.fnc


# Sets


@on_device
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Return where elements are among others."""
    return np.asarray(np.isin(element, test_elements, assume_unique, invert))


@on_device
def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Return where elements of a vector are among others."""
    return np.isin(ar1.ravel(), ar2, assume_unique, invert)


@on_device
def intersect1d(arr1: Any, arr2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Return the elements that are in both arrays, sorted."""
    scanned(arr1.size + arr2.size)
    return np.intersect1d(arr1, arr2, assume_unique, return_indices)


@on_device
def union1d(arr1: Any, arr2: Any) -> Any:
    """Return the elements that are in one of the arrays, sorted."""
    scanned(arr1.size + arr2.size)
    return np.union1d(arr1, arr2)


@on_device
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """Return the elements of the first array that are not in the second."""
    scanned(ar1.size)
    return np.setdiff1d(ar1, ar2, assume_unique)


@on_device
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """Return the elements that are in one of the arrays only."""
    scanned(ar1.size + ar2.size)
    return np.setxor1d(ar1, ar2, assume_unique)


# Picking and placing


def take(a: Any, indices: Any, axis: int | None = None, out: Any = None) -> Any:
    """Return elements at indices along an axis; indices out of bounds wrap around."""
    return a.take(indices, axis, out)


def put(a: Any, ind: Any, v: Any, mode: str = "wrap") -> None:
    """Write values at indices of the flattened array."""
    a.put(ind, v, mode)


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Return elements of `choices`, chosen by the numbers in an array."""
    return a.choose(choices, out, mode)


def compress(condition: Any, a: Any, axis: int | None = None, out: Any = None) -> Any:
    """Return the slices along an axis for which a condition holds."""
    return a.compress(condition, axis, out)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return a view of a diagonal."""
    return a.diagonal(offset, axis1, axis2)


@on_device
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Return elements of the first choice whose condition holds."""
    return np.select(condlist, choicelist, default)


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
    """Write values, one after the other, where a mask holds."""
    np.place(arr._array, operand(mask), operand(vals) if isinstance(vals, Base) else np.asarray(vals))
    events.operated("place")


def putmask(a: Any, mask: Any, values: Any) -> None:
    """Write values where a mask holds, each at its own place."""
    np.putmask(a._array, operand(mask), operand(values))
    events.operated("putmask")


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write a value along the diagonal."""
    np.fill_diagonal(a._array, operand(val), wrap)
    events.operated("fill_diagonal")


@on_device
def piecewise(x: Any, condlist: Any, funclist: Any) -> Any:
    """Return one of several values for each element, the last whose condition holds."""
    if any(callable(each) for each in funclist):
        raise NotImplementedError("Callable functions are not supported currently")
    return np.piecewise(x, condlist, funclist)


def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a function's results for the vectors along an axis; it gets them as arrays of the device."""

    def call(vector: np.ndarray) -> Any:
        result = func1d(adopt(upload(vector, "copy")), *args, **kwargs)
        return result._array if isinstance(result, Base) else result

    return adopt(upload(np.apply_along_axis(call, axis, arr._array)))


# Indices


@on_device
def ix_(*args: Any) -> Any:
    """Return the index of a grid from vectors."""
    return np.ix_(*args)


@on_device
def unravel_index(indices: Any, dims: Any, order: str = "C") -> Any:
    """Return the indices along the axes for indices of the flattened array."""
    return np.unravel_index(indices, dims, order)


@made_on_device
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "wrap", order: str = "C") -> Any:
    """Return the indices of the flattened array for indices along the axes."""
    return np.ravel_multi_index(multi_index, dims, mode, order)


@made_on_device
def diag_indices(n: int, ndim: int = 2) -> Any:
    """Return the indices of a square's diagonal."""
    return np.diag_indices(n, ndim)


@on_device
def diag_indices_from(arr: Any) -> Any:
    """Return the indices of an array's diagonal."""
    return np.diag_indices_from(arr)


@made_on_device
def tril_indices(n: int, k: int = 0, m: int | None = None) -> Any:
    """Return the indices of a matrix's lower triangle."""
    return np.tril_indices(n, k, m)


@made_on_device
def triu_indices(n: int, k: int = 0, m: int | None = None) -> Any:
    """Return the indices of a matrix's upper triangle."""
    return np.triu_indices(n, k, m)


@on_device
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    """Return the indices of the lower triangle of an array."""
    return np.tril_indices_from(arr, k)


@on_device
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    """Return the indices of the upper triangle of an array."""
    return np.triu_indices_from(arr, k)


# Memory


def may_share_memory(a: Any, b: Any, max_work: int | None = None) -> bool:
    """Return whether the bounds of two arrays' memory overlap."""
    return np.may_share_memory(a._array, b._array)


def shares_memory(a: Any, b: Any, max_work: int | None = None) -> bool:
    """Return whether two arrays share an element's memory."""
    return np.shares_memory(a._array, b._array)


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
    """Return the type of floats that all arrays fit into."""
    return np.common_type(*(np.empty(0, dtype) for dtype in _without_arrays(arrays)))
