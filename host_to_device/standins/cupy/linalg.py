"""CuPy's `cupy.linalg`: NumPy's LAPACK on the device's memory, with CuPy's refusals.

As in CuPy, a singular matrix raises an error only inside `cupyx.errstate(linalg="raise")`; otherwise the result is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from host_to_device.standins.cupy.base import Base, adopt, upload
from host_to_device.standins.cupy.converting import array
from host_to_device.standins.cupy.forwarding import ALL as _FORWARDED
from host_to_device.standins.cupy.names import public, raise_missing
from host_to_device.standins.cupy.products import matmul as matmul
from host_to_device.standins.cupy.results import quiet

# What `cupyx.errstate` sets.
_settings: dict[str, Any] = {"divide": None, "over": None, "under": None, "invalid": None, "linalg": "ignore"}


def _check(*arrays: Any, stacked: bool = True, square: bool = False) -> None:
    """Raise CuPy's error for an argument that is not a device array, has fewer than two axes, or is not square."""
    for a in arrays:
        if not isinstance(a, Base):
            raise LinAlgError("cupy.linalg only supports cupy.ndarray")
        if a.dtype == np.float16:
            raise TypeError("float16 is unsupported in linalg")
        if stacked and a.ndim < 2:
            raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
        if square and a.shape[-1] != a.shape[-2]:
            raise LinAlgError("Last 2 dimensions of the array must be square")


def _place(result: Any) -> Any:
    """Copy NumPy's results to the device; several become a plain tuple."""
    return tuple(map(_place, result)) if isinstance(result, tuple | list) else adopt(upload(result, "linalg"))


def _solved(function: Callable, *args: Any, like: Any = None, **kwargs: Any) -> Any:
    """Return a function's result; if it fails and errors are ignored, NaN in the shape of `like`."""
    try:
        return _place(quiet(function, *args, **kwargs))
    except LinAlgError:
        if _settings["linalg"] != "ignore" or like is None:
            routine = {"cholesky": "potrf", "solve": "gesv", "inv": "gesv"}.get(
                function.__name__, function.__name__
            )
            raise LinAlgError(
                f"Error reported by {routine} in cuSOLVER. devInfo = 1. Please refer to the cuSOLVER documentation."
            ) from None
        dtype = np.result_type(like.dtype, np.float32 if like.dtype.kind in "fc" else np.float64)
        return _place(np.full(like.shape, np.nan, dtype))


def solve(a: Any, b: Any) -> Any:
    """Return the solution of a system of linear equations."""
    _check(a, square=True)
    _check(b, stacked=False)
    if b.ndim == 0:
        raise ValueError("b must have at least one dimension")
    if b.ndim == 1 and a.shape[-1] != b.size:
        raise ValueError("a must have (..., M, M) shape and b must have (M,) for one-dimensional b")
    if b.ndim > 1 and a.shape[:-1] != b.shape[:-1]:
        raise ValueError("a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b")
    if not b.size and a.size and _settings["linalg"] != "ignore":
        _solved(np.linalg.inv, a._array)  # cuSOLVER factorises the matrix in any case
    return _solved(np.linalg.solve, a._array, b._array, like=b._array)


def inv(a: Any) -> Any:
    """Return the inverse."""
    _check(a, square=True)
    return _solved(np.linalg.inv, a._array, like=a._array)


def pinv(a: Any, rcond: Any = 1e-15) -> Any:
    """Return the Moore-Penrose inverse."""
    _check(a)
    limit = rcond._array if isinstance(rcond, Base) else rcond
    return _solved(np.linalg.pinv, a._array, limit)


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Return the least-squares solution, residuals, rank and singular values."""
    _check(a)
    _check(b, stacked=False)
    if a.ndim != 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be two-dimensional")
    if a.shape[0] != b.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    return _solved(np.linalg.lstsq, a._array, b._array, rcond)


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """Return the solution of a tensor equation."""
    _check(a, b, stacked=False)
    return _solved(np.linalg.tensorsolve, a._array, b._array, axes)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """Return the inverse of a tensor."""
    _check(a, stacked=False)
    return _solved(np.linalg.tensorinv, a._array, ind)


def cholesky(a: Any) -> Any:
    """Return the lower triangular factor of a positive definite matrix."""
    _check(a, square=True)
    return _solved(np.linalg.cholesky, a._array, like=a._array)


def qr(a: Any, mode: str = "reduced") -> Any:
    """Return the factors of an orthogonal and a triangular matrix."""
    _check(a)
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    return _solved(np.linalg.qr, a._array, mode)


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Return the singular value decomposition."""
    _check(a)
    return _solved(np.linalg.svd, a._array, full_matrices, compute_uv)


def eigh(a: Any, UPLO: str = "L") -> Any:
    """Return the eigenvalues and eigenvectors of a symmetric matrix."""
    _check(a, square=True)
    if UPLO not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return _solved(np.linalg.eigh, a._array, UPLO)


def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Return the eigenvalues of a symmetric matrix."""
    _check(a, square=True)
    return _solved(np.linalg.eigvalsh, a._array, UPLO)


def _eigen(function: Callable, a: Any) -> Any:
    """Return what `eig` or `eigvals` finds: complex, but real for real matrices without elements (CuPy's `_geev`)."""
    _check(a, square=True)
    dtype = a.dtype if a.dtype.kind in "fc" else np.dtype(np.float64)
    results = quiet(function, a._array.astype(dtype))
    made = dtype if a.size == 0 else np.result_type(dtype, np.complex64)
    if isinstance(results, tuple):
        return _place(tuple(np.asarray(each).astype(made) for each in results))
    return _place(results.astype(made))


def eig(a: Any) -> Any:
    """Return the eigenvalues and eigenvectors, complex."""
    return _eigen(np.linalg.eig, a)


def eigvals(a: Any) -> Any:
    """Return the eigenvalues, complex."""
    return _eigen(np.linalg.eigvals, a)


def det(a: Any) -> Any:
    """Return the determinant."""
    _check(a, square=True)
    return _solved(np.linalg.det, a._array)


def slogdet(a: Any) -> Any:
    """Return the sign and the logarithm of the absolute value of the determinant."""
    _check(a, square=True)
    return _solved(np.linalg.slogdet, a._array)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return a norm of vectors or matrices."""
    if not isinstance(x, Base):
        _check(x)
    return _solved(np.linalg.norm, x._array, ord, axis, keepdims)


def cond(x: Any, p: Any = None) -> Any:
    """Return the condition number."""
    x = array(x, copy=None)
    if x.size == 0:
        raise LinAlgError("cond is not defined on empty arrays")
    _check(x)
    return _solved(np.linalg.cond, x._array, p)


def matrix_rank(M: Any, tol: Any = None) -> Any:
    """Return the rank."""
    _check(M, stacked=False)
    return _solved(np.linalg.matrix_rank, M._array, tol)


def matrix_power(M: Any, n: int) -> Any:
    """Return the matrix to an integer power."""
    _check(M, square=True)
    if not isinstance(n, int):
        raise TypeError("exponent must be an integer")
    return _solved(np.linalg.matrix_power, M._array, n)


def matrix_transpose(a: Any) -> Any:
    """Return a view with the last two axes swapped."""
    if a.ndim < 2:
        raise ValueError("Matrix dimension is less than 2")
    return a.swapaxes(-1, -2)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return the cross product of vectors of three."""
    return _FORWARDED["cross"](x1, x2, axis=axis)


def __getattr__(name: str) -> Any:
    raise_missing("linalg", name)


def __dir__() -> list[str]:
    return public(globals(), "LinAlgError", "matmul")
