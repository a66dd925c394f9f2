"""`cupy.poly1d`, NumPy's older class of polynomials, on the device; and the functions that take such polynomials."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from host_to_device.standins.cupy.base import Base, on_device
from host_to_device.standins.cupy.converting import array
from host_to_device.standins.cupy.forwarding import ALL as FORWARDED
from host_to_device.standins.cupy.manipulation import atleast_1d, pad, trim_zeros

_HERMITIAN = "Only complex Hermitian and real symmetric 2d arrays are supported currently"


class poly1d:
    """A polynomial of one variable; its coefficients are an array of the device, the highest power first.

    Parameters
    ----------
    c_or_r
        The coefficients, or another polynomial.
    r
        Whether `c_or_r` has the roots instead.
    variable
        Name of the variable in texts; "x" unless given.

    Raises
    ------
    ValueError
        If there are several axes.
    """

    __hash__ = None

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
        if isinstance(c_or_r, np.poly1d | poly1d):
            self._coeffs, self._variable = array(c_or_r.coeffs, copy=None), variable or c_or_r.variable
            return
        self._coeffs = atleast_1d(poly(c_or_r) if r else array(c_or_r, copy=None))
        if self._coeffs.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        self._variable = "x" if variable is None else variable

    @property
    def coeffs(self) -> Any:
        """The coefficients without zeros in front, the highest power first."""
        if self._coeffs.size == 0 or not self._coeffs._array[0]:
            kept = trim_zeros(self._coeffs, "f")
            self._coeffs = kept if kept.size else array([0.0], self._coeffs.dtype)
        return self._coeffs

    @coeffs.setter
    def coeffs(self, value: Any) -> None:
        if value is not self._coeffs:
            raise AttributeError("Cannot set attribute")

    c = coef = coefficients = property(lambda self: self.coeffs)
    variable = property(lambda self: self._variable, doc="Name of the variable.")
    order = property(lambda self: self.coeffs.size - 1, doc="The highest power.")
    o = property(lambda self: self.order)
    roots = property(lambda self: roots(self._coeffs), doc="The roots, as far as CuPy finds them.")
    r = property(lambda self: self.roots)

    def __cupy_get_ndarray__(self) -> Any:
        return self.coeffs

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __repr__(self) -> str:
        return repr(self.get())

    def __str__(self) -> str:
        return str(self.get())

    def __len__(self) -> int:
        return self.order

    def __iter__(self) -> Iterator:
        return iter(self.coeffs)

    def __call__(self, val: Any) -> Any:
        return polyval(self.coeffs, val)

    def __neg__(self) -> poly1d:
        return poly1d(-self.coeffs)

    def __pos__(self) -> poly1d:
        return self

    def __add__(self, other: Any) -> Any:
        return polyadd(self, other)

    def __radd__(self, other: Any) -> Any:
        return polyadd(_no_scalar_of_numpy(other, "addition"), self)

    def __sub__(self, other: Any) -> Any:
        return polysub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return polysub(_no_scalar_of_numpy(other, "subtraction"), self)

    def __mul__(self, other: Any) -> Any:
        return poly1d(self.coeffs * other) if np.isscalar(other) else polymul(self, other)

    def __rmul__(self, other: Any) -> Any:
        if isinstance(other, np.generic):
            raise TypeError("Numpy scalar and poly1d multiplication is not supported currently.")
        return polymul(self._coeffs.dtype.type(other) if np.isscalar(other) else other, self)

    def __truediv__(self, other: Any) -> poly1d:
        if not np.isscalar(other):
            raise NotImplementedError
        return poly1d(self.coeffs / other)

    def __pow__(self, val: Any, modulo: Any = None) -> poly1d:
        if not np.isscalar(val) or int(val) != val or val < 0:
            raise ValueError("Power to non-negative integers only.")
        if not isinstance(val, numbers.Integral):
            raise TypeError("float object cannot be interpreted as an integer")
        dtype = self.coeffs.dtype
        if dtype.kind == "c":
            dtype = np.complex128
        elif dtype.kind == "f" or dtype == np.uint64:
            dtype = np.float64
        else:
            dtype = np.promote_types(dtype, int)
        if not val:
            return poly1d(array([1]))
        result, base = array([1], dtype), self.coeffs.astype(dtype, copy=False)
        for _ in range(int(val)):
            result = polymul(result, base)
        return poly1d(result)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, poly1d):
            raise NotImplementedError
        if self.coeffs.shape != other.coeffs.shape:
            return False
        return (self.coeffs == other.coeffs).all().get()[()]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __getitem__(self, val: int) -> Any:
        return self._coeffs[-val - 1] if 0 <= val < self._coeffs.size else 0

    def __setitem__(self, key: int, val: Any) -> None:
        if key < 0:
            raise ValueError("Negative powers are not supported.")
        if key >= self._coeffs.size:
            self._coeffs = pad(self._coeffs, (key - (self._coeffs.size - 1), 0))
        self._coeffs[-key - 1] = val

    def integ(self, m: int = 1, k: Any = 0) -> NoReturn:
        """Refuse, as CuPy does."""
        raise NotImplementedError

    def deriv(self, m: int = 1) -> NoReturn:
        """Refuse, as CuPy does."""
        raise NotImplementedError

    def get(self, stream: Any = None) -> np.poly1d:
        """Copy to the host, as NumPy's class."""
        return np.poly1d(self.coeffs.get(stream), variable=self.variable)

    def set(self, polyin: np.poly1d, stream: Any = None) -> None:
        """Copy the coefficients of a polynomial of NumPy, of the same order, into this one."""
        if not isinstance(polyin, np.poly1d):
            raise TypeError("Only numpy.poly1d can be set to cupy.poly1d")
        self._variable = polyin.variable
        self.coeffs.set(polyin.coeffs, stream)


def _no_scalar_of_numpy(value: Any, what: str) -> Any:
    if isinstance(value, np.generic):
        raise TypeError(f"Numpy scalar and poly1d {what} is not supported")
    return value


def _coefficients(x: Any) -> Any:
    """Return what the functions below compute with (_routines_poly.py, `_wraps_polyroutine`)."""
    if isinstance(x, poly1d):
        return x._coeffs
    if np.isscalar(x):
        return atleast_1d(array(x))
    if not isinstance(x, Base):
        raise TypeError("Unsupported type")
    if x.ndim > 1:
        raise ValueError("Multidimensional inputs are not supported")
    return atleast_1d(x)


def _of_polynomials(name: str, function: Callable) -> Callable:
    """Let a function of two arrays take polynomials and numbers; the result is a polynomial if one of them is."""

    @functools.wraps(FORWARDED[name])
    def call(a1: Any, a2: Any) -> Any:
        result = function(_coefficients(a1), _coefficients(a2))
        return poly1d(result) if isinstance(a1, poly1d) or isinstance(a2, poly1d) else result

    return call


polyadd, polysub, polymul = (
    _of_polynomials(name, FORWARDED[name]) for name in ("polyadd", "polysub", "polymul")
)


@functools.wraps(FORWARDED["polyval"])
def polyval(p: Any, x: Any) -> Any:
    """Return a polynomial's values, the highest power first; for a polynomial `x`, the polynomial put together."""
    if isinstance(p, poly1d):
        p = p.coeffs
    if not isinstance(p, Base) or p.ndim == 0:
        raise TypeError("p must be 1d ndarray or poly1d object")
    if p.ndim > 1:
        raise ValueError("p must be 1d array")
    if isinstance(x, poly1d):
        dtype = np.result_type(x.coeffs.dtype, 1)
        result, product = poly1d(array([0], dtype)), poly1d(array([1], dtype))
        for place in range(p.size - 1, -1, -1):
            result, product = result + product * p[place : place + 1], product * x
        return result
    return FORWARDED["polyval"](p, array(x, copy=None))


def poly(seq_of_zeros: Any) -> Any:
    """Return the coefficients of the polynomial with some roots, or of a symmetric matrix's eigenvalues."""
    x = seq_of_zeros
    if x.ndim == 2 and x.shape[0] == x.shape[1] and x.shape[0]:
        if not np.array_equal(x._array, x._array.conj().T):
            raise NotImplementedError(_HERMITIAN)
    elif x.ndim != 1:
        raise ValueError("Input must be 1d or non-empty square 2d array.")
    return _poly(x) if x.size else 1.0


@on_device
def _poly(x: Any) -> Any:
    """Return what `numpy.poly` returns, in a dtype of floats."""
    if x.ndim == 2:
        x = np.linalg.eigvalsh(x)
    return np.poly(x).astype(np.mintypecode(x.dtype.char))


@functools.wraps(FORWARDED["roots"])
def roots(p: Any) -> Any:
    """Return a polynomial's roots, as far as CuPy finds them: of two coefficients, or of a symmetric companion matrix."""
    p = p.coeffs if isinstance(p, poly1d) else p
    if p.dtype.kind == "b":
        raise NotImplementedError("boolean inputs are not supported")
    if p.ndim == 0:
        raise TypeError("0-dimensional input is not allowed")
    (series,) = np.polynomial.polyutils.as_series([p._array[::-1]]) if p.size > 1 else (p._array,)
    if len(series) > 2:
        companion = np.polynomial.polynomial.polycompanion(series)
        if not np.array_equal(companion, companion.conj().T):
            raise NotImplementedError(_HERMITIAN)
    return FORWARDED["roots"](p)


poly1d.__module__ = "cupy"
