"""The methods of arrays that change shape and compute: NumPy's on device memory, with CuPy's signatures."""

from __future__ import annotations

from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy import indexing
from host_to_device.standins.cupy.base import (
    Base,
    adopt,
    check_fits,
    not_an_array,
    operand,
    order_of,
    unsupported,
    upload,
    view_of,
)
from host_to_device.standins.cupy.products import dot
from host_to_device.standins.cupy.results import (
    axes_of,
    converted,
    one_axis,
    quiet,
    reduced,
    refuse_empty,
    summed,
    whole_number,
)
from host_to_device.standins.cupy.ufuncs import ALL


class Calculation:
    """Methods of `ndarray`; results are arrays on the device, also those with a single element."""

    __slots__ = ()
    _array: np.ndarray

    # Shape

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """Return the elements in another shape, as a view if possible.

        Raises
        ------
        ValueError
            If the number of elements would change, or `copy` is False and a copy is necessary, or a text.
        """
        if isinstance(copy, str):
            raise ValueError("strings are not allowed for 'copy' keyword. Use True/False/None instead.")
        if len(shape) == 1 and np.iterable(shape[0]):
            shape = tuple(shape[0])
        array = self._array
        order = order_of(order, "CFA")
        try:
            result = array.reshape(shape, order=order)
        except ValueError as problem:
            # CuPy writes shapes as Python does, NumPy without blanks.
            text, into, size = str(problem).partition("into shape ")
            raise ValueError(f"{text}{into}{size.replace(',', ', ').replace(', )', ',)')}") from None
        shares = not array.size or np.may_share_memory(result, array)
        if shares and not copy:
            return view_of(result, self)
        if copy is not None and not copy:
            raise ValueError("Unable to avoid creating a copy while reshaping.")
        # The copy is in the order that was asked for: CuPy reshapes the transposed array in C order.
        in_f = order == "F" or (order == "A" and array.flags.fnc)
        return adopt(upload(result.T, "copy").T if in_f else upload(result, "copy"))

    def transpose(self, *axes: Any) -> Any:
        """Return a view with the axes in another order; without arguments, reversed."""
        if len(axes) == 1 and (axes[0] is None or np.iterable(axes[0])):
            axes = axes[0]
        return view_of(self._array.transpose(axes or None), self)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """Return a view with two axes swapped."""
        if not all(-self._array.ndim <= each < self._array.ndim for each in (axis1, axis2)):
            raise ValueError("Axis out of range")
        return view_of(self._array.swapaxes(axis1, axis2), self)

    def flatten(self, order: str = "C") -> Any:
        """Return a copy with one axis."""
        return adopt(upload(self._array.flatten(order_of(order)), "copy"))

    def ravel(self, order: str = "C") -> Any:
        """Return the elements along one axis, as a view if possible."""
        result = self._array.ravel(order_of(order))
        if np.may_share_memory(result, self._array):
            return view_of(result, self)
        return adopt(upload(result, "copy"))

    def squeeze(self, axis: Any = None) -> Any:
        """Return a view without axes of size one."""
        return view_of(self._array.squeeze(axis), self)

    def reduced_view(self, dtype: Any = None) -> Any:
        """Return a view with as few axes as the memory allows."""
        if self._array.ndim > 1 and self._array.flags.c_contiguous:
            return view_of(self._array.reshape(-1), self)
        return self

    # Elements

    def take(self, indices: Any, axis: int | None = None, out: Any = None) -> Any:
        """Return elements at indices along an axis; indices out of bounds wrap around."""
        return indexing.take(self, indices, axis, out)

    def put(self, indices: Any, values: Any, mode: str = "wrap") -> None:
        """Write values at indices of the flattened array."""
        indexing.put(self, indices, values, mode)

    def repeat(self, repeats: Any, axis: int | None = None) -> Any:
        """Return the elements, each repeated."""
        if isinstance(repeats, np.ndarray):
            raise TypeError("'repeats' does not accept numpy.ndarray; convert with cupy.array() first")
        if not isinstance(repeats, Base) and not np.iterable(repeats) and not hasattr(repeats, "__index__"):
            raise ValueError(f"'repeats' should be int or sequence: {repeats}")
        if axis is not None:
            one_axis(axis, self._array.ndim)
        times = repeats._array if isinstance(repeats, Base) else repeats
        length = self._array.size if axis is None else self._array.shape[axis]
        if np.ndim(times) and np.size(times) not in (1, length):
            raise ValueError(
                f"'repeats' and 'axis' of 'a' should be same length: {length} != {np.size(times)}"
            )
        return reduced(np.repeat(self._array, times, axis))

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """Return elements of `choices`, chosen by the numbers in this array."""
        lists = choices._array if isinstance(choices, Base) else [each._array for each in choices]
        try:
            chosen = np.choose(self._array, list(lists), mode=mode)
        except ValueError as problem:
            raise ValueError(str(problem)) from None
        if mode == "raise":
            events.read_back(1)
            events.read_back(1)
        return reduced(chosen, out)

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> Any:
        """Return the slices along an axis for which a one-dimensional condition holds."""
        mask = condition._array if isinstance(condition, Base) else np.asarray(condition, int)
        if mask.ndim != 1:
            raise ValueError("condition must be a 1-d array")
        indexing.scanned(mask.size)
        return reduced(np.compress(mask, self._array, axis), out)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """Return a view of a diagonal."""
        ndim = self._array.ndim
        if not all(-ndim <= each < ndim for each in (axis1, axis2)):
            raise np.exceptions.AxisError(
                f"axis1(={axis1}) and axis2(={axis2}) must be within range (ndim={ndim})"
            )
        result = self._array.diagonal(offset, axis1, axis2)
        result.flags.writeable = True
        return view_of(result, self)

    def nonzero(self) -> tuple:
        """Return the indices of elements that are not zero, an array for each axis."""
        if self._array.ndim == 0:
            raise ValueError(
                "Calling nonzero on 0d arrays is not allowed. Use cp.atleast_1d(scalar).nonzero() instead."
            )
        indexing.scanned(self._array.size)
        rows = adopt(upload(np.argwhere(self._array), "nonzero"))  # CuPy's results are its columns
        return tuple(view_of(rows._array[:, axis], rows) for axis in range(self._array.ndim))

    def sort(self, axis: int = -1, kind: str | None = None) -> None:
        """Sort in place; equal elements keep their order."""
        check_kind(kind)
        axis = whole_number(axis)
        if self._array.ndim == 0:
            raise np.exceptions.AxisError("Sorting arrays with the rank of zero is not supported")
        if not self._array.flags.c_contiguous:
            raise NotImplementedError("Sorting non-contiguous array is not supported.")
        self._array.sort(axis, kind="stable")
        events.operated("sort")

    def argsort(self, axis: int | None = -1, kind: str | None = None) -> Any:
        """Return the indices that sort the array."""
        check_kind(kind)
        axis = None if axis is None else whole_number(axis)
        if axis is None or self._array.ndim < 2:
            return reduced(self._array.argsort(axis, kind="stable"))
        one_axis(axis, self._array.ndim)
        # CuPy sorts along the last axis of a copy, and turns the result back.
        last = np.moveaxis(self._array, axis, -1).argsort(-1, kind="stable")
        return adopt(np.moveaxis(upload(last, "argsort"), -1, axis))

    def partition(self, kth: Any, axis: int = -1) -> None:
        """Sort in place as far as the elements at `kth` are where sorting puts them."""
        self._array.partition(kth, axis)
        events.operated("partition")

    def argpartition(self, kth: Any, axis: int | None = -1) -> Any:
        """Return the indices that partition the array."""
        return reduced(self._array.argpartition(kth, axis))

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        """Return where values belong in this sorted array."""
        order = None if sorter is None else sorter._array
        side = "right" if side == "right" else "left"  # CuPy looks at nothing else
        return reduced(self._array.searchsorted(operand(v), side, order))

    # Reductions

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Return the sum along axes."""
        axes = axes_of(axis, self._array.ndim)
        return reduced(summed(np.add.reduce, self._array, dtype, axis=axes, keepdims=bool(keepdims)), out)

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool | None = None) -> Any:
        """Return the product along axes."""
        axes = axes_of(axis, self._array.ndim)
        return reduced(
            summed(np.multiply.reduce, self._array, dtype, axis=axes, keepdims=bool(keepdims)), out
        )

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Return the largest element along axes; NaN where there is one."""
        refuse_empty(self._array, axis, "max")
        return reduced(quiet(self._array.max, axes_of(axis, self._array.ndim), keepdims=keepdims), out)

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Return the smallest element along axes; NaN where there is one."""
        refuse_empty(self._array, axis, "min")
        return reduced(quiet(self._array.min, axes_of(axis, self._array.ndim), keepdims=keepdims), out)

    def argmax(self, axis: Any = None, out: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """Return the index of the largest element along an axis."""
        refuse_empty(self._array, axis, "argmax")
        return reduced(np.asarray(_place_of(np.argmax, self._array, axis, keepdims), dtype), out)

    def argmin(self, axis: Any = None, out: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        """Return the index of the smallest element along an axis."""
        refuse_empty(self._array, axis, "argmin")
        return reduced(np.asarray(_place_of(np.argmin, self._array, axis, keepdims), dtype), out)

    def ptp(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Return the largest element less the smallest."""
        refuse_empty(self._array, axis, "max")
        return reduced(np.ptp(self._array, axes_of(axis, self._array.ndim), keepdims=keepdims), out)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Return the mean along axes."""
        array, axes = converted(self._array, dtype), axes_of(axis, self._array.ndim)
        return reduced(quiet(array.mean, axes, dtype, keepdims=keepdims), out)

    def var(
        self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False
    ) -> Any:
        """Return the variance along axes."""
        return reduced(_varied(np.ndarray.var, self._array, axis, dtype, ddof, keepdims), out)

    def std(
        self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False
    ) -> Any:
        """Return the standard deviation along axes."""
        return reduced(_varied(np.ndarray.std, self._array, axis, dtype, ddof, keepdims), out)

    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Return whether all elements along axes are not zero."""
        return reduced(self._array.all(axes_of(axis, self._array.ndim), keepdims=keepdims), out)

    def any(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Return whether an element along axes is not zero."""
        return reduced(self._array.any(axes_of(axis, self._array.ndim), keepdims=keepdims), out)

    def cumsum(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the sums of the elements up to each one."""
        return _scanned(np.cumsum, self._array, axis, dtype, out)

    def cumprod(self, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the products of the elements up to each one."""
        return _scanned(np.cumprod, self._array, axis, dtype, out)

    def trace(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
    ) -> Any:
        """Return the sum of a diagonal."""
        return self.diagonal(offset, axis1, axis2).sum(-1, dtype, out, False)

    # Element by element

    def clip(self, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """Return the elements, limited to an interval."""
        dtype = self._array.dtype
        limits = [None if limit is None else operand(limit) for limit in (min, max)]
        for limit in limits:
            if limit is None and dtype.kind not in "iuf":
                raise unsupported(limit)
            check_fits(limit, dtype)
        return reduced(
            self._array.copy() if min is None and max is None else np.clip(self._array, *limits),
            out,
            "clip",
            (self, min, max),
        )

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        """Return the elements rounded, halves to the even neighbour."""
        return reduced(quiet(self._array.round, decimals), out, "round", (self,))

    def conj(self) -> Any:
        """Return the complex conjugate; of real numbers, the array itself."""
        return ALL["conjugate"](self) if self._array.dtype.kind == "c" else self

    conjugate = conj

    def dot(self, b: Any, out: Any = None) -> Any:
        """Return the dot product; see `cupy.dot`."""
        for each in (b, out):
            if not isinstance(each, Base) and each is not out:
                raise not_an_array("b", b)
        return dot(self, b, out)


def _place_of(function: Any, array: np.ndarray, axis: Any, keepdims: bool) -> Any:
    """Return the indices that `numpy.argmax` or `numpy.argmin` finds; CuPy also takes several axes, as one long one."""
    if axis is None:
        return function(array, keepdims=keepdims)
    axes = axes_of(axis, array.ndim)
    if len(axes) == 1:
        return function(array, axes[0], keepdims=keepdims)
    kept = [each for each in range(array.ndim) if each not in axes]
    shape = [array.shape[each] for each in kept]
    places = function(array.transpose(*kept, *axes).reshape(*shape, -1), -1)
    return np.expand_dims(places, axes) if keepdims else places


def _scanned(function: Any, array: np.ndarray, axis: Any, dtype: Any, out: Any) -> Any:
    """Return running sums or products; with `out`, CuPy copies the array there first, and then adds (`scan_core`)."""
    axis = None if axis is None else one_axis(axis, array.ndim)
    if not isinstance(out, Base):
        result = quiet(function, converted(array, dtype), axis, dtype)
        if out is None and axis is not None and result.size:
            # CuPy moves the axis to the end and makes rows of it, of a copy if need be (`_proc_as_batch`).
            moved = np.moveaxis(np.ascontiguousarray(result), axis, -1)
            if not np.may_share_memory(moved.reshape(-1, moved.shape[-1]), moved):
                return adopt(np.moveaxis(upload(moved, function.__name__), -1, axis))
        return reduced(result, out, function.__name__)
    target = out._array
    indexing.store(target, array)
    target[...] = quiet(function, target, axis, target.dtype).reshape(target.shape)
    events.operated(function.__name__)
    return out


def _varied(function: Any, array: np.ndarray, axis: Any, dtype: Any, ddof: int, keepdims: bool) -> Any:
    """Return what NumPy's `var` or `std` computes, with CuPy's IndexError for an axis that is not there."""
    if isinstance(axis, bool):
        axis = int(axis)
    # CuPy reads the length of each axis before it checks the axes.
    lengths = array.shape if axis is None else [array.shape[each] for each in np.ravel(axis).tolist()]
    result = quiet(function, array, axis, dtype, ddof=ddof, keepdims=keepdims)
    # It multiplies by the reciprocal of the count, and NaN stands for that of nothing.
    return result if np.prod(lengths) > ddof else np.full_like(result, np.nan)


def check_kind(kind: str | None) -> None:
    if kind not in (None, "stable"):
        raise ValueError("kind can only be None or 'stable'")
