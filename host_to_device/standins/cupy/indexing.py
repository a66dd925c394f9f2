"""Reading and writing parts of an array, with CuPy's differences from NumPy.

An integer out of bounds raises an error; in an array of indices it wraps around (CuPy, "Differences between CuPy and
NumPy"). If an array of indices names an element twice, the stored value is undefined: here it is the last one, on a GPU
any of them.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.base import (
    Base,
    adopt,
    cast,
    from_interface,
    shapes_differ,
    upload,
    view_of,
)
from host_to_device.standins.cupy.converting import array as to_device
from host_to_device.standins.cupy.results import one_axis

VALID = (
    "only integers, slices (`:`), ellipsis (`...`),numpy.newaxis (`None`) and integer or boolean arrays are valid "
    "indices"
)


def prepare(array: np.ndarray, key: Any) -> tuple[tuple, bool]:
    """Return an index in the form that NumPy takes, and whether it is advanced indexing, which copies.

    Raises
    ------
    IndexError
        If an index is out of bounds or has the wrong type, or there are too many indices.
    """
    items = key if isinstance(key, tuple) else (key,)
    if all(type(item) in (int, slice) or item is None or item is Ellipsis for item in items):
        return tuple(whole(item) if type(item) is slice else item for item in items), False
    found = [index_of(item) for item in items]
    if not any(isinstance(item, np.ndarray) for item in found):
        return tuple(found), False
    used = sum(axes_of(item) for item in found)
    if used > array.ndim:
        raise IndexError(
            f"too many indices for array: array is {array.ndim}-dimensional, but {used} were indexed"
        )
    axis = 0
    for place, item in enumerate(found):
        if item is Ellipsis:
            axis += array.ndim - used
        elif isinstance(item, np.ndarray) and item.dtype == bool:
            for each, length in enumerate(item.shape, start=axis):
                if length != array.shape[each]:
                    raise IndexError(
                        f"boolean index did not match indexed array along dimension {each}; dimension is "
                        f"{array.shape[each]} but corresponding boolean dimension is {length}"
                    )
        elif isinstance(item, np.ndarray):
            length = array.shape[axis]
            if item.size and length:
                found[place] = item.astype(np.int64) % length
            elif item.size:
                raise IndexError("cannot do a non-empty take from an empty axes.")
        axis += axes_of(item)
    return tuple(found), True


def index_of(item: Any) -> Any:
    """Return one index: an int, a slice, None, the ellipsis, or a NumPy array of integers or booleans."""
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, slice):
        return whole(item)
    if isinstance(item, Base):
        array = item._array
    elif isinstance(item, bool | np.bool_ | list | tuple | np.ndarray):
        if isinstance(item, list | tuple):
            item = type(item)(to_device(each, copy=None) if is_foreign(each) else each for each in item)
        try:
            array = to_device(item)._array
        except ValueError:
            if isinstance(item, np.ndarray) and item.dtype.kind not in "biu":
                raise IndexError(
                    f"arrays used as indices must be of integer or boolean type (actual: {item.dtype.type})"
                ) from None
            np.asarray(item)  # lists of different lengths: NumPy's ValueError, as in CuPy
            raise IndexError(VALID) from None
        if isinstance(item, list | tuple) and array.size == 0:
            array = array.astype(np.int32)
    elif np.isscalar(item):
        return int(item)
    elif is_foreign(item):
        array = to_device(item, copy=None)._array
    else:
        try:
            return operator.index(item)
        except TypeError:
            raise IndexError(VALID) from None
    if array.dtype.kind not in "iub":
        raise IndexError(
            f"arrays used as indices must be of integer or boolean type. (actual: {array.dtype.type})"
        )
    return array


def is_foreign(item: Any) -> bool:
    """Return whether an object is an array of another library, or stands for one, on the device."""
    return not isinstance(item, Base | np.ndarray | np.generic) and (
        hasattr(item, "__cuda_array_interface__") or hasattr(item, "__cupy_get_ndarray__")
    )


def whole(item: slice) -> slice:
    """Return a slice with ints for its bounds, so that arrays without axes can be bounds.

    CuPy reads a bound by its `__index__`, or by `int()` if it has none, as its own arrays do (cupy/_core/internal.pyx,
    `complete_slice`).

    Raises
    ------
    TypeError
        If a bound is not a number.
    ValueError
        If the step is 0.
    """
    if {type(item.start), type(item.stop), type(item.step)} <= {int, type(None)} and item.step != 0:
        return item
    bounds = []
    for name in ("start", "stop", "step"):
        bound = getattr(item, name)
        try:
            if bound is not None:
                bound = bound.__index__() if hasattr(bound, "__index__") else int(bound)
        except TypeError:
            raise TypeError(f"slice.{name} must be int or None or have __index__ method: {item}") from None
        bounds.append(bound)
    if bounds[2] == 0:
        raise ValueError("Slice step must be nonzero.")
    return slice(*bounds)


def axes_of(item: Any) -> int:
    """Return how many axes an index takes up."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == bool else 1


def select(array: np.ndarray, items: tuple) -> np.ndarray:
    """Return the view that a basic index names; without axes for a single element."""
    try:
        return array[items] if Ellipsis in items else array[(*items, ...)]
    except IndexError as problem:
        text = str(problem)
        raise IndexError(text[0].upper() + text[1:] if text.startswith("index ") else text) from None


def getitem(a: Any, key: Any) -> Any:
    """Return `a[key]`: a view for integers and slices, a copy for arrays of indices and masks."""
    if a._array.dtype.names and (
        type(key) is str or (type(key) is list and key and all(type(name) is str for name in key))
    ):
        return view_of(a._array[key], a)
    items, advanced = prepare(a._array, key)
    if not advanced:
        return view_of(select(a._array, items), a)
    if any(isinstance(item, np.ndarray) and item.dtype == bool for item in items):
        scanned(a._array.size)
    return adopt(upload(a._array[items], "take"))


def setitem(a: Any, key: Any, value: Any) -> None:
    """Run `a[key] = value`.

    Raises
    ------
    ValueError
        If the shapes do not fit, or the value for a slice is a NumPy array or a list: copy it to the device first.
    """
    if type(key) is str and a._array.dtype.names:
        setitem(view_of(a._array[key], a), ..., value)
        return
    items, advanced = prepare(a._array, key)
    if not advanced:
        target = select(a._array, items)
        if isinstance(value, Base):
            report_store(target, value._array)
            store(target, value._array)
        else:
            fill(target, value)
            if target.size:
                events.operated("fill")
        return
    source = given(a, value)
    target = a._array[items]
    try:
        converted = np.empty(target.shape, a._array.dtype)
        store(converted, source)
    except ValueError:
        raise shapes_differ(source.shape, target.shape) from None
    if any(isinstance(item, np.ndarray) and item.dtype == bool for item in items):
        scanned(a._array.size)
    a._array[items] = converted
    if target.size:
        events.operated("scatter")


def given(a: Any, value: Any) -> np.ndarray:
    """Return a value to assign through an array of indices; NumPy arrays and lists are copied to the device."""
    if isinstance(value, Base):
        return value._array
    return to_device(value, dtype=a._array.dtype)._array


def scanned(size: int) -> None:
    """Report how CuPy counts the elements that a mask selects: a scan, whose last number the host reads."""
    if events.listening and size:
        events.operated("scan")
        events.read_back(4 if size < 2**31 else 8)


def report_store(target: np.ndarray, source: np.ndarray) -> None:
    """Report how CuPy runs `target[...] = source`: not at all, as a copy of memory, or as a kernel.

    CuPy's _routines_indexing.pyx, `_scatter_op`: an array assigned to itself is left alone, as after `a[1:] += 1`;
    memory is copied if both arrays have the same layout.
    """
    if not events.listening or not target.size:
        return
    if target.shape == source.shape and target.strides == source.strides:
        if target.__array_interface__["data"] == source.__array_interface__["data"]:
            return
        if target.flags.c_contiguous and target.dtype == source.dtype:
            events.copied("d2d", source.nbytes)
            return
    events.operated("copy")


def store(target: np.ndarray, source: np.ndarray) -> None:
    """Write an array, broadcast and converted, into another."""
    shape = source.shape
    while len(shape) > target.ndim and shape[0] == 1:
        shape = shape[1:]
    try:
        source = np.broadcast_to(source.reshape(shape), target.shape)
    except ValueError:
        raise shapes_differ(source.shape, target.shape) from None
    if np.may_share_memory(source, target):
        source = source.copy()
    cast(source, target)


def fill(target: np.ndarray, value: Any) -> None:
    """Set all elements to one number.

    The host converts a number to the dtype, as NumPy does, and the device an array (core.pyx, `fill`).

    Raises
    ------
    ValueError
        If the value is an array with axes, or a list, or a text that is no number.
    TypeError, OverflowError
        If the value is not a number, or does not fit the dtype.
    """
    if isinstance(value, Base):
        if value._array.ndim:
            raise ValueError("non-scalar cupy.ndarray cannot be used for fill")
        cast(np.broadcast_to(value._array, target.shape), target)
        return
    if not isinstance(value, np.ndarray | np.generic) and hasattr(value, "__cupy_get_ndarray__"):
        store(target, value.__cupy_get_ndarray__()._array)
        return
    if not isinstance(value, np.ndarray | np.generic) and hasattr(value, "__cuda_array_interface__"):
        store(target, from_interface(value)._array)
        return
    with np.errstate(all="ignore"):
        number = np.asarray(value, target.dtype)
    if number.shape != ():
        raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
    target[...] = number


# The dtypes for which CuPy has atomic operations.
ATOMIC = {
    "add": ["int32", "int64", "float16", "float32", "float64", "uint32", "uint64"],
    "maximum": ["int32", "int64", "float32", "float64", "uint32", "uint64"],
    "minimum": ["int32", "int64", "float32", "float64", "uint32", "uint64"],
}
SCATTER = {"add": np.add, "max": np.maximum, "min": np.minimum}


def scatter_named(a: Any, key: Any, value: Any, name: str) -> None:
    """Run `scatter_add`, `scatter_max` or `scatter_min`, and warn, as CuPy does, that `ufunc.at` replaces them."""
    function = SCATTER[name]
    point = "." if name == "add" else ""
    warnings.warn(
        f"`ndarray.scatter_{name}` is deprecated{point} Please use `cupy.{function.__name__}.at` instead.",
        DeprecationWarning,
        stacklevel=4,
    )
    scatter(a, key, value, function)


def scatter(a: Any, key: Any, value: Any, function: np.ufunc) -> None:
    """Apply a function of two to the elements at some indices, once for each time an index occurs.

    Raises
    ------
    TypeError
        If arrays of indices are used with a dtype that CuPy has no atomic operation for.
    """
    source = given(a, value)
    items, advanced = prepare(a._array, key)
    masked = any(isinstance(item, np.ndarray) and item.dtype == bool for item in items)
    dtypes = ATOMIC.get(function.__name__)
    if advanced and not masked and dtypes and a._array.dtype.name not in dtypes:
        raise TypeError(f"cupy.{function.__name__}.at only supports {', '.join(dtypes)} as data type")
    with np.errstate(all="ignore"):
        if advanced:
            function.at(a._array, items, source.astype(a._array.dtype))
        else:
            target = select(a._array, items)
            function(target, source, out=target, casting="same_kind")
    if masked:
        scanned(a._array.size)
    events.operated(f"{function.__name__}.at")


def take(a: Any, indices: Any, axis: int | None, out: Any) -> Any:
    """Return elements at indices along an axis; those out of bounds wrap around."""
    array = a._array
    index = index_of(indices if not np.isscalar(indices) else int(indices))
    flat = array.reshape(-1) if axis is None or not array.ndim else array  # no axes count as one, as in CuPy
    where = 0 if axis is None else one_axis(axis, max(array.ndim, 1))
    length = flat.shape[where]
    if np.size(index) and not length:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    result = np.take(flat, np.asarray(index, np.int64) % length if length else index, where)
    if out is None:
        return adopt(upload(result, "take"))
    if out._array.dtype != array.dtype:
        raise TypeError("Output dtype mismatch")
    if out._array.shape != result.shape:
        raise ValueError("Output shape mismatch")
    out._array[...] = result
    events.operated("take")
    return out


def put(a: Any, indices: Any, values: Any, mode: str) -> None:
    """Write values at indices of the flattened array.

    Raises
    ------
    ValueError
        If the mode is not one of "raise", "wrap" and "clip".
    IndexError
        For an index out of bounds, with the mode "raise".
    """
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError("clipmode not understood")
    try:
        source = given(a, values)
        converted = np.empty(source.shape, a._array.dtype)
        cast(source, converted)
        np.put(a._array, index_of(indices), converted, mode)
        events.operated("put")
        if mode == "raise":
            events.read_back(1)
    except IndexError:
        raise IndexError("invalid entry in indices array") from None


class flatiter:
    """All elements of an array in C order, one after the other (CuPy's `cupy.flatiter`)."""

    def __init__(self, a: Any) -> None:
        self.base, self._index = a, 0

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._index >= len(self):
            raise StopIteration
        self._index += 1
        return self[self._index - 1]

    def copy(self) -> Any:
        """Return the elements as an array with one axis."""
        return self.base.flatten()

    def _place(self, index: Any) -> tuple[int, ...]:
        """Return the indices along the axes of one element.

        Raises
        ------
        IndexError
            If the index is not a number: CuPy takes only numbers and slices.
        """
        if isinstance(index, bool) or not np.isscalar(index):
            raise IndexError("unsupported iterator index")
        rest, size, place = int(index), self.base.size, []
        for length in self.base.shape:
            size //= length
            along, rest = divmod(rest, size)
            place.append(along)
        return tuple(place)

    def __getitem__(self, index: Any) -> Any:
        if index is Ellipsis:
            return self.copy()
        if isinstance(index, slice):
            return self.base.ravel()[index].copy()
        return self.base[self._place(index)].copy()

    def __setitem__(self, index: Any, value: Any) -> None:
        if index is Ellipsis:
            index = slice(None)
        if isinstance(index, slice):
            self.base._array.flat[whole(index)] = given(self.base, value)
            events.operated("flatiter")
        else:
            self.base[self._place(index)] = value
