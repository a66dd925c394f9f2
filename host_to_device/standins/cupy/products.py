"""Products of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.base import (
    NUMBERS,
    Base,
    adopt,
    made_on_device,
    not_an_array,
    on_device,
    unsupported,
    upload,
)
from host_to_device.standins.cupy.results import quiet
from host_to_device.standins.cupy.ufuncs import ALL


def matmul(
    *args: Any,
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    casting: str = "same_kind",
    dtype: Any = None,
    signature: Any = None,
    order: str = "K",
    out: Any = None,
) -> Any:
    """Return the matrix product of two arrays; axes before the last two are broadcast.

    Raises
    ------
    ValueError
        If the shapes do not fit, or one is a number.
    TypeError
        For NumPy arrays: "Unsupported type <class 'numpy.ndarray'>".
    """
    if len(args) == 3:
        *args, out = args
    if len(args) != 2:
        raise TypeError("Wrong number of arguments for matmul")
    for name, each in zip("ab", args, strict=True):
        if not isinstance(each, Base):
            raise not_an_array(name, each) if type(each) in NUMBERS else unsupported(each)
    a, b = (each._array for each in args)
    result = quiet(np.matmul, a, b, dtype=dtype, axes=axes) if axes else quiet(np.matmul, a, b, dtype=dtype)
    return _into(result, out, casting)


def _without(name: str, value: Any) -> AttributeError:
    """Return Python's error for a value without an attribute."""
    return AttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")


def _into(result: Any, out: Any, casting: str = "same_kind") -> Any:
    if out is None:
        return adopt(upload(result, "product"))
    if out.shape != np.shape(result):
        raise ValueError("Out shape is mismatched")
    np.copyto(out._array, result, casting=casting)
    events.operated("product")
    return out


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Return the dot product: of vectors the sum of products, of matrices their product.

    Raises
    ------
    TypeError
        If one of them is not a device array.
    ValueError
        If the shapes do not fit.
    """
    if not isinstance(a, Base):
        raise not_an_array("a", a) if isinstance(a, np.ndarray | np.generic) else _without("dot", a)
    if not isinstance(b, Base):
        raise not_an_array("b", b)
    if out is not None:
        if np.result_type(a.dtype, b.dtype) != out.dtype:
            raise ValueError("Not supported dtype combination.")
        if not out._array.flags.c_contiguous:
            raise ValueError("Output array must be C-contiguous")
    try:
        result = quiet(np.dot, a._array, b._array)
    except ValueError:
        raise ValueError("Axis dimension mismatch") from None
    if out is not None and out.size == np.size(result):  # in another shape as well, as in CuPy
        _into(result, out.reshape(np.shape(result)))
        return out
    return _into(result, out)


@on_device
def vdot(a: Any, b: Any) -> Any:
    """Return the dot product of the flattened arrays, the first conjugated."""
    if a.size != b.size:
        raise ValueError("Axis dimension mismatch")
    return np.vdot(a, b)


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Return the product of every pair of elements."""
    return ALL["multiply"](a.ravel()[:, None], b.ravel()[None, :], out=out)


def einsum(*operands: Any, **kwargs: Any) -> Any:
    """Return sums of products by Einstein's convention; `out`, `dtype` and `optimize` as in NumPy."""
    out = kwargs.pop("out", None)
    if operands and not isinstance(operands[0], str):  # arrays and lists of axes in turn
        operands = tuple(
            each.tolist() if place % 2 and isinstance(each, np.ndarray) else each
            for place, each in enumerate(operands)
        )
    result = _summed(*operands, **kwargs)
    return result if out is None else _into(result._array, out)


@made_on_device
def _summed(*operands: Any, **kwargs: Any) -> Any:
    """Return NumPy's `einsum`."""
    return np.einsum(*operands, **kwargs)
