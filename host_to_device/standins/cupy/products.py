"""Products of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.base import Base, adopt, made_on_device, on_device, unsupported, upload
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
    for each in args:
        if not isinstance(each, Base):
            if np.isscalar(each):
                raise ValueError("matmul: Input operand does not have enough dimensions")
            raise unsupported(each)
    a, b = (each._array for each in args)
    result = quiet(np.matmul, a, b, dtype=dtype, axes=axes) if axes else quiet(np.matmul, a, b, dtype=dtype)
    return _into(result, out, casting)


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
    for name, each in (("a", a), ("b", b)):
        if not isinstance(each, Base):
            kind = type(each)
            raise TypeError(
                f"Argument '{name}' has incorrect type (expected cupy._core.core._ndarray_base, "
                f"got {kind.__module__}.{kind.__name__})"
            )
    try:
        result = quiet(np.dot, a._array, b._array)
    except ValueError:
        raise ValueError("Axis dimension mismatch") from None
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
    result = _summed(*operands, **kwargs)
    return result if out is None else _into(result._array, out)


@made_on_device
def _summed(*operands: Any, **kwargs: Any) -> Any:
    """Return NumPy's `einsum`."""
    return np.einsum(*operands, **kwargs)
