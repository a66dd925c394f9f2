"""Functions that rearrange arrays: shape, axes, joining, splitting, repeating."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, NamedTuple

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.base import (
    Base,
    adopt,
    cast,
    on_device,
    operand,
    unsupported,
    upload,
    view_of,
    wrap,
)
from host_to_device.standins.cupy.converting import array
from host_to_device.standins.cupy.forwarding import ALL as FORWARDED
from host_to_device.standins.cupy.indexing import scanned
from host_to_device.standins.cupy.results import COMPLEX_TO_REAL, converted

FEW_TO_PAD = 4e6  # elements of a matrix: CuPy fills a smaller one with zeros as a whole, not edge by edge


def reshape(a: Any, newshape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    """Return the elements in another shape; see `ndarray.reshape`."""
    return a.reshape(newshape, order=order, copy=copy)


def transpose(a: Any, axes: Any = None) -> Any:
    """Return a view with the axes in another order."""
    return a.transpose(axes)


permute_dims = transpose


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Return a view with two axes swapped."""
    return a.swapaxes(axis1, axis2)


def shape(a: Any) -> tuple[int, ...]:
    """Return the size along each axis."""
    return a.shape if isinstance(a, Base) else np.shape(a)


def ndim(a: Any) -> int:
    """Return the number of axes."""
    return a.ndim if isinstance(a, Base) else np.ndim(a)


def size(a: Any, axis: int | None = None) -> int:
    """Return the number of elements, or those along an axis."""
    if not isinstance(a, Base):
        raise TypeError(
            f"Argument 'a' has incorrect type (expected cupy._core.core._ndarray_base, got {type(a).__name__})"
        )
    return a.size if axis is None else a.shape[axis]


@on_device
def matrix_transpose(x: Any, /) -> Any:
    """Return a view with the last two axes swapped."""
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return x.swapaxes(-1, -2)


@on_device
def broadcast_to(array: Any, shape: Any) -> Any:
    """Return a view in a larger shape with elements repeated; writing to it changes the shared elements."""
    try:
        return _writeable(np.broadcast_to(array, shape))
    except ValueError:
        raise ValueError(
            f"operands could not be broadcast together with shape {array.shape} and requested shape {shape}"
        ) from None


@on_device
def broadcast_arrays(*args: Any) -> Any:
    """Return views of arrays in their broadcast shape."""
    return tuple(_writeable(each) for each in np.broadcast_arrays(*args))


def _writeable(view: np.ndarray) -> np.ndarray:
    """Return the view without NumPy's protection of repeated elements, which CuPy does not have."""
    return np.lib.stride_tricks.as_strided(view, view.shape, view.strides)


class broadcast:
    """The broadcast shape of arrays, and views of them in it (CuPy's `cupy.broadcast`).

    Parameters
    ----------
    arrays
        Arrays of the device, or numbers.
    """

    def __init__(self, *arrays: Any) -> None:
        operands = [operand(each) for each in arrays]
        self.shape = np.broadcast_shapes(*(np.shape(each) for each in operands))
        self.nd = len(self.shape)
        self.size = int(np.prod(self.shape))
        self.values = tuple(
            view_of(_writeable(np.broadcast_to(each._array, self.shape)), each)
            if isinstance(each, Base)
            else each
            for each in arrays
        )


def _atleast(function: Any, arrays: tuple) -> Any:
    results = []
    for each in arrays:
        if not isinstance(each, Base):
            each = adopt(upload(each, "fill"))
        results.append(wrap(function(each._array), {id(each._array): each}))
    return results[0] if len(results) == 1 else results


def atleast_1d(*arys: Any) -> Any:
    """Return views with at least one axis."""
    return _atleast(np.atleast_1d, arys)


def atleast_2d(*arys: Any) -> Any:
    """Return views with at least two axes."""
    return _atleast(np.atleast_2d, arys)


def atleast_3d(*arys: Any) -> Any:
    """Return views with at least three axes."""
    return _atleast(np.atleast_3d, arys)


# Joining


def _check_joined(tup: Any) -> None:
    """Raise CuPy's error unless all are device arrays with the same number of axes."""
    if not tup:
        raise ValueError("Cannot concatenate from empty tuple")
    for each in tup:
        if not isinstance(each, Base):
            raise unsupported(each)
    if len({each.ndim for each in tup}) > 1:
        raise ValueError("All arrays to concatenate must have the same ndim")


def _check_axes(tup: Any) -> None:
    if any(each.ndim == 0 for each in tup):
        raise TypeError("zero-dimensional arrays cannot be concatenated")


def concatenate(
    tup: Any, axis: int | None = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """Join arrays along an axis.

    Raises
    ------
    TypeError
        If one of them is not a device array.
    """
    tup = list(tup)
    if axis is None:
        tup = [each.ravel() if isinstance(each, Base) else each for each in tup]
    _check_joined(tup)
    _check_axes(tup)
    arrays = [each._array for each in tup]
    wanted = dtype if out is None else out.dtype
    if wanted is not None and casting == "unsafe":
        if np.dtype(wanted).kind in "iu" and any(each.dtype.kind == "c" for each in arrays):
            warnings.warn(COMPLEX_TO_REAL, np.exceptions.ComplexWarning, stacklevel=2)
        arrays = [converted(each, wanted) for each in arrays]
    if out is None:
        return adopt(upload(np.concatenate(arrays, axis, dtype=dtype, casting=casting), "concatenate"))
    np.concatenate(arrays, axis, out._array, casting=casting)
    events.operated("concatenate")
    return out


concat = concatenate


def stack(tup: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Join arrays of one shape along a new axis."""
    tup = list(tup)
    _check_joined(tup)
    result = np.stack([each._array for each in tup], axis, dtype=dtype, casting=casting)
    if out is None:
        return adopt(upload(result, "stack"))
    if not np.can_cast(result.dtype, out.dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {result.dtype!r} to {out.dtype!r} according to the rule '{casting}'"
        )
    if out.shape != result.shape:
        raise ValueError("Output array is the wrong shape")
    cast(result, out._array)
    events.operated("stack")
    return out


def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Join arrays as rows."""
    return concatenate([atleast_2d(each) for each in tup], 0, dtype=dtype, casting=casting)


def row_stack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Return what `vstack` returns, with CuPy's warning that `vstack` is the name to use."""
    warnings.warn(
        "`row_stack` alias is deprecated. Use `cp.vstack` directly.", DeprecationWarning, stacklevel=2
    )
    return vstack(tup, dtype=dtype, casting=casting)


def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Join arrays side by side."""
    arrays = [atleast_1d(each) for each in tup]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def dstack(tup: Any) -> Any:
    """Join arrays along the third axis."""
    return concatenate([atleast_3d(each) for each in tup], 2)


def column_stack(tup: Any) -> Any:
    """Join vectors as columns."""
    if not all(isinstance(each, Base) for each in tup):
        raise TypeError("Only cupy arrays can be column stacked")
    return adopt(upload(np.column_stack([each._array for each in tup]), "column_stack"))


# Splitting


@on_device
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Return views of parts of one length, or between indices."""
    if np.isscalar(indices_or_sections) and ary.shape[axis] % indices_or_sections:
        raise ValueError(
            f"indices_or_sections must divide the size along the axes.\nactual size along the axis: "
            f"{ary.shape[axis]}, given indices_or_sections: {indices_or_sections}"
        )
    return np.split(ary, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Return views of parts side by side."""
    if ary.ndim == 0:
        raise ValueError("Cannot hsplit a zero-dimensional array")
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Return views of parts above each other."""
    if ary.ndim < 2:
        raise ValueError("Cannot vsplit an array with less than 2 dimensions")
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Return views of parts along the third axis."""
    if ary.ndim < 3:
        raise ValueError("Cannot dsplit an array with less than 3 dimensions")
    return split(ary, indices_or_sections, 2)


# Repeating and reordering


@on_device
def fliplr(a: Any) -> Any:
    """Return a view with the second axis reversed."""
    if a.ndim < 2:
        raise ValueError("Input must be >= 2-d")
    return np.fliplr(a)


@on_device
def flipud(a: Any) -> Any:
    """Return a view with the first axis reversed."""
    if a.ndim < 1:
        raise ValueError("Input must be >= 1-d")
    return np.flipud(a)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Return the array with values at its end; lists and numbers are copied to the device."""
    arr, values = array(arr, copy=None), array(values, copy=None)
    if axis is None:
        return concatenate((arr.ravel(), values.ravel()))
    return concatenate((arr, values), axis)


def delete(arr: Any, indices: Any, axis: int | None = None) -> Any:
    """Return the array without the slices at some indices: a number, a slice, a list or an array."""
    if not isinstance(arr, Base):
        raise ValueError("delete(): arr must be a cupy.ndarray")
    if not isinstance(indices, slice | int | np.integer) or isinstance(indices, bool):
        indices = array(indices, copy=None)
    scanned(arr.size if axis is None else arr.shape[axis])
    return _delete(arr, indices, axis)


@on_device
def _delete(arr: Any, indices: Any, axis: int | None) -> Any:
    """Return what `numpy.delete` returns."""
    return np.delete(arr, indices, axis)


def resize(a: Any, new_shape: Any) -> Any:
    """Return the elements in another shape, repeated as needed; lists and numbers are copied to the device."""
    return _resize(array(a, copy=None), new_shape)


@on_device
def _resize(a: Any, new_shape: Any) -> Any:
    """Return what `numpy.resize` returns; of nothing, zeros."""
    return np.resize(a, new_shape) if a.size else np.zeros(new_shape, a.dtype)


@on_device
def trim_zeros(filt: Any, trim: str = "fb") -> Any:
    """Return a vector without zeros at its ends."""
    for _ in {"f", "b"} & set(trim.lower()):
        events.operated("first_nonzero")
        events.read_back(8)
    return np.trim_zeros(filt, trim)


def _check_bitorder(bitorder: Any) -> None:
    if bitorder not in ("big", "little"):
        raise ValueError("bitorder must be either 'big' or 'little'")


@on_device
def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Return booleans packed into bytes."""
    _check_bitorder(bitorder)
    return np.packbits(a, axis, bitorder)


@on_device
def unpackbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Return the bits of bytes."""
    _check_bitorder(bitorder)
    return np.unpackbits(a, axis, bitorder=bitorder)


@on_device
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """Return the array with a border."""
    result = np.pad(array, pad_width, mode, **kwargs)
    if events.listening and array.size and mode in ("constant", "edge"):
        # _padding/pad.py: beside the copy, an operation for each edge; one alone for a border of zeros. The other modes
        # take at least the copy.
        value = kwargs.get("constant_values", 0)
        zeros = mode == "constant" and isinstance(value, numbers.Number) and value == 0
        edges = np.count_nonzero(np.broadcast_to(pad_width, (array.ndim, 2)))
        for _ in range(1 if zeros and (array.ndim == 1 or array.size < FEW_TO_PAD) else edges):
            events.operated("fill" if mode == "constant" else "copy")
    return result


_unique = FORWARDED["unique"]


class _UniqueAllResult(NamedTuple):
    """What `unique_all` returns."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class _UniqueCountsResult(NamedTuple):
    """What `unique_counts` returns."""

    values: Any
    counts: Any


class _UniqueInverseResult(NamedTuple):
    """What `unique_inverse` returns."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any) -> _UniqueAllResult:
    """Return the unique elements, their first places, where each element is among them, and their counts."""
    values, places, inverse, counts = _unique(x, True, True, True, equal_nan=False)
    return _UniqueAllResult(values, places, inverse.reshape(x.shape), counts)


def unique_counts(x: Any) -> _UniqueCountsResult:
    """Return the unique elements and how often each occurs."""
    return _UniqueCountsResult(*_unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any) -> _UniqueInverseResult:
    """Return the unique elements, and where each element is among them."""
    values, inverse = _unique(x, return_inverse=True, equal_nan=False)
    return _UniqueInverseResult(values, inverse.reshape(x.shape))


def unique_values(x: Any) -> Any:
    """Return the unique elements."""
    return _unique(x, equal_nan=False)


def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = None) -> None:
    """Copy elements of one device array, or a number, into another; only where a mask is True, if one is given.

    Raises
    ------
    TypeError
        If the conversion is not allowed, or one is a NumPy array.
    """
    if isinstance(src, np.ndarray) and not hasattr(src, "__cuda_array_interface__"):
        if src.size != 1:
            raise ValueError("non-scalar numpy.ndarray cannot be used for copyto")
        src = src.squeeze()[()]
    source = operand(src)
    if type(source) in (bool, int, float, complex):
        np.copyto(np.empty((), dst.dtype), source, casting=casting)  # raises what NumPy raises
    elif not np.can_cast(source.dtype, dst.dtype, casting):
        raise TypeError(f"Cannot cast {np.asarray(source).dtype} to {dst.dtype} in {casting} casting mode")
    given = np.empty(np.shape(source), dst.dtype)
    cast(np.asarray(source), given)
    np.copyto(dst._array, given, where=True if where is None else operand(where))
    events.operated("copyto")
