"""Shapes, strides and dtypes of arrays, with Numba's refusals of arrays that it cannot copy or allocate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

NOT_CONTIGUOUS = (
    "Array contains non-contiguous buffer and cannot be transferred as a single memory region. "
    "Please ensure contiguous buffer with numpy .ascontiguousarray()"
)


def has_unaligned_field(dtype: Any) -> bool:
    """Return whether a dtype has a field, in a record within it too, that lies at no multiple of its alignment."""
    if not isinstance(dtype, np.dtype) or not dtype.names:
        return False
    fields = [(dtype.fields[name][0].base, dtype.fields[name][1]) for name in dtype.names]
    return any(
        has_unaligned_field(kind) if kind.names else offset % kind.alignment != 0 for kind, offset in fields
    )


def extent(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Return the bytes between the lowest and the highest address of an array, 0 if it is empty."""
    if 0 in shape:
        return 0
    return itemsize + sum((size - 1) * abs(stride) for size, stride in zip(shape, strides, strict=True))


def new_array(shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: np.dtype) -> np.ndarray:
    """Return an array with undefined contents and exactly these strides; None stands for those of an empty array."""
    buffer = np.empty(0 if strides is None else extent(shape, strides, dtype.itemsize), np.byte)
    return np.ndarray(shape, dtype, buffer, strides=strides)


def layout(
    shape: Any, strides: Any, dtype: Any, order: str
) -> tuple[tuple[int, ...], tuple[int, ...], np.dtype]:
    """Return the complete shape, strides and dtype for the arguments that a learner wrote.

    Raises
    ------
    TypeError
        If the shape is neither int nor tuple of ints, or the dtype is not NumPy's or holds Python objects.
    ValueError
        If a size is negative, the strides do not match the shape, or the order is neither `C` nor `F`.
    """
    dtype = refuse_objects(np.dtype(dtype))
    if isinstance(shape, int):
        shape = (shape,)
    if not isinstance(shape, tuple | list):
        raise TypeError(
            f"object of type '{type(shape).__name__}' has no len(): the shape is an int or a tuple of ints"
        )
    if not all(isinstance(size, int | np.integer) for size in shape):
        raise TypeError(f"all elements of shape must be ints, not {shape!r}")
    shape = tuple(int(size) for size in shape)
    if any(size < 0 for size in shape):
        raise ValueError(f"negative dimensions are not allowed: {shape}")
    if isinstance(strides, int):
        strides = (strides,)
    if not strides:
        if order not in ("C", "F"):
            raise ValueError("must be either C/F order")
        strides = contiguous_strides(shape, dtype.itemsize, range(len(shape))[:: -1 if order == "C" else 1])
    if len(strides) != len(shape):
        raise ValueError("strides not match ndim")
    return shape, tuple(strides), dtype


def contiguous_strides(shape: tuple[int, ...], itemsize: int, axes: Any) -> tuple[int, ...]:
    """Return strides without gaps, the first of `axes` running fastest."""
    strides, step = [0] * len(shape), itemsize
    for axis in axes:
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def layout_like(ary: Any) -> dict[str, Any]:
    """Return shape, dtype and strides of a new array with the axes in the same order, and without gaps."""
    if ary.flags["C_CONTIGUOUS"]:
        axes = range(ary.ndim)[::-1]
    elif ary.flags["F_CONTIGUOUS"]:
        axes = range(ary.ndim)
    else:
        axes = sorted(range(ary.ndim), key=lambda axis: ary.strides[axis])
    strides = contiguous_strides(ary.shape, ary.dtype.itemsize, axes)
    return {"shape": ary.shape, "dtype": ary.dtype, "strides": strides}


# Checks


def as_dtype(dtype: Any) -> np.dtype:
    """Return NumPy's dtype for a type of NumPy, Python or Numba, or for a string.

    Raises
    ------
    TypeError
        If `dtype` is none of these.
    """
    try:
        return np.dtype(dtype)
    except TypeError as error:
        refusal = error
    try:
        from numba.core.errors import NumbaError
        from numba.np import numpy_support
    except ImportError:
        raise refusal from None
    try:
        return numpy_support.as_dtype(dtype)
    except (NumbaError, AttributeError):
        raise refusal from None


def refuse_objects(dtype: np.dtype) -> np.dtype:
    if dtype.hasobject:
        raise TypeError(
            "device memory holds numbers, not Python objects (dtype object): "
            "convert first, for example with np.asarray(x, dtype=np.float32)"
        )
    return dtype


def core(array: np.ndarray) -> np.ndarray:
    """Return a view of a broadcast array without its repeated axes."""
    if not array.size:
        return array
    return array[(*(0 if stride == 0 else slice(None) for stride in array.strides), ...)]


def is_contiguous(array: np.ndarray) -> bool:
    """Return whether an array is in C order without gaps; its repeated axes do not count."""
    return core(array).flags.c_contiguous


def check_contiguous(array: np.ndarray) -> None:
    flags = core(array).flags
    if not flags.c_contiguous and not flags.f_contiguous:
        raise ValueError(NOT_CONTIGUOUS)


def check_compatible(first: np.ndarray, second: Any) -> None:
    """Refuse a copy between arrays of different dtype, shape or strides; axes of size one do not count."""
    if not hasattr(second, "squeeze"):
        raise AttributeError(f"'{type(second).__name__}' object has no attribute 'squeeze': give an array")
    one, other = first.squeeze(), second.squeeze()
    if first.dtype != second.dtype:
        raise TypeError(f"incompatible dtype: {first.dtype} vs. {second.dtype}")
    if one.shape != other.shape:
        raise ValueError(f"incompatible shape: {first.shape} vs. {second.shape}")
    if first.size and one.strides != other.strides:
        raise ValueError(f"incompatible strides: {first.strides} vs. {second.strides}")


def check_writable(ary: Any) -> None:
    """Refuse an object that is not a host array, and a read-only array."""
    if not isinstance(ary, np.ndarray):
        raise TypeError(f"a bytes-like object is required, not '{type(ary).__name__}': give a NumPy array")
    if not ary.flags.writeable:
        raise ValueError("buffer source array is read-only")


def check_order(order: str) -> None:
    if order not in ("C", "F", "A"):
        raise ValueError("order not C|F|A")


def fill_in_size(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return a shape for `size` elements, with -1 replaced by the size that is left for that axis."""
    unknown = [axis for axis, length in enumerate(shape) if length < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    known = math.prod(length for length in shape if length >= 0)
    if unknown:
        if known == 0 or size % known:
            raise ValueError("cannot infer valid shape for unknown dimension")
        shape = tuple(size // known if length < 0 else length for length in shape)
    elif known != size:
        raise ValueError("reshape changes the size of the array")
    return shape


def store(target: np.ndarray, source: np.ndarray) -> None:
    """Write `source`, broadcast, into `target`, with the conversions of a kernel's assignment.

    Raises
    ------
    TypeError
        If a kernel cannot convert the values: text, records, or complex numbers to real ones.
    """
    numbers = "biufc"
    if source.dtype != target.dtype and (
        source.dtype.kind not in numbers
        or target.dtype.kind not in numbers
        or (source.dtype.kind == "c" and target.dtype.kind != "c")
    ):
        raise TypeError(f"cannot store {source.dtype} in a device array of {target.dtype}")
    with np.errstate(all="ignore"):
        np.copyto(target, source, casting="unsafe")
