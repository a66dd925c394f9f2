"""CuPy's functions that only call NumPy's function, or the array's method, of the same name: tables of them.

A row has the parameters, with CuPy's names and defaults, and what the function returns. A function that checks,
converts or refuses anything itself stands in the module of its subject: creation, calculation, manipulation and so on.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.base import made_on_device, on_device, operand
from host_to_device.standins.cupy.converting import array
from host_to_device.standins.cupy.indexing import scanned
from host_to_device.standins.cupy.results import quiet, reduced, summed

_SUMS = "a, axis=None, dtype=None, out=None, keepdims=False"
_EXTREMES = "a, axis=None, out=None, keepdims=False"
_VARIANCES = "a, axis=None, dtype=None, out=None, ddof=0, keepdims=False"
_RUNNING = "a, axis=None, dtype=None, out=None"
_MEDIANS = "a, axis=None, out=None, overwrite_input=False, keepdims=False"

# They call the method of their argument `a`.
_METHODS = {
    "all": (_EXTREMES, "whether all elements along axes are not zero"),
    "any": (_EXTREMES, "whether an element along axes is not zero"),
    "argmax": (_SUMS, "the index of the largest element along an axis"),
    "argmin": (_SUMS, "the index of the smallest element along an axis"),
    "argpartition": ("a, kth, axis=-1", "the indices that partition the array"),
    "argsort": ("a, axis=-1, kind=None", "the indices that sort the array"),
    "choose": (
        "a, choices, out=None, mode='raise'",
        "elements of `choices`, chosen by the numbers in an array",
    ),
    "compress": ("condition, a, axis=None, out=None", "the slices along an axis for which a condition holds"),
    "cumprod": (_RUNNING, "the products of the elements up to each one"),
    "cumsum": (_RUNNING, "the sums of the elements up to each one"),
    "diagonal": ("a, offset=0, axis1=0, axis2=1", "a view of a diagonal"),
    "max": (_EXTREMES, "the largest element along axes; NaN where there is one"),
    "mean": (_SUMS, "the mean along axes"),
    "min": (_EXTREMES, "the smallest element along axes; NaN where there is one"),
    "prod": (_SUMS, "the product along axes"),
    "ptp": (_EXTREMES, "the largest element less the smallest"),
    "ravel": ("a, order='C'", "the elements along one axis; see `ndarray.ravel`"),
    "repeat": ("a, repeats, axis=None", "the elements, each repeated"),
    "squeeze": ("a, axis=None", "a view without axes of size one"),
    "std": (_VARIANCES, "the standard deviation along axes"),
    "sum": (_SUMS, "the sum along axes"),
    "take": (
        "a, indices, axis=None, out=None",
        "elements at indices along an axis; indices out of bounds wrap around",
    ),
    "trace": ("a, offset=0, axis1=0, axis2=1, dtype=None, out=None", "the sum of a diagonal"),
    "var": (_VARIANCES, "the variance along axes"),
}

# NumPy's, whose result is written into `out` if it is given.
_INTO = {
    "nancumprod": (_RUNNING, "the products of the elements up to each one, NaN counted as 1"),
    "nancumsum": (_RUNNING, "the sums of the elements up to each one, NaN counted as 0"),
    "nanmax": (_EXTREMES, "the largest element along axes that is not NaN"),
    "nanmean": (_SUMS, "the mean along axes of what is not NaN"),
    "nanmedian": (_MEDIANS, "the median along axes of what is not NaN"),
    "nanmin": (_EXTREMES, "the smallest element along axes that is not NaN"),
    "nanprod": (_SUMS, "the product along axes, NaN counted as 1"),
    "nanstd": (_VARIANCES, "the standard deviation along axes of what is not NaN"),
    "nansum": (_SUMS, "the sum along axes, NaN counted as 0"),
    "nanvar": (_VARIANCES, "the variance along axes of what is not NaN"),
}

# NumPy's, of at least one array of the device.
_OF_ARRAYS = {
    # Shape
    "expand_dims": ("a, axis", "a view with more axes, of size one"),
    "flip": ("a, axis=None", "a view with axes reversed"),
    "moveaxis": ("a, source, destination", "a view with axes moved to other places"),
    "rollaxis": ("a, axis, start=0", "a view with an axis moved before another"),
    "rot90": ("a, k=1, axes=(0, 1)", "the array turned by a right angle, `k` times"),
    # Joining, splitting, repeating
    "array_split": ("ary, indices_or_sections, axis=0", "views of parts, which may differ in length"),
    "roll": (
        "a, shift, axis=None",
        "the elements shifted along an axis; those past the end come back at the start",
    ),
    "tile": ("A, reps", "the array repeated along its axes"),
    # Matrices
    "diagflat": ("v, k=0", "a matrix with the elements on a diagonal"),
    # Products
    "cross": ("a, b, axisa=-1, axisb=-1, axisc=-1, axis=None", "the cross product of vectors of three"),
    "inner": ("a, b", "the sums of products along the last axes"),
    "kron": ("a, b", "the Kronecker product"),
    "tensordot": ("a, b, axes=2", "the sums of products along several axes"),
    # Statistics
    "cov": (
        "a, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None",
        "the covariance matrix",
    ),
    "digitize": ("x, bins, right=False", "the number of the bin in which each element lies"),
    # Differences and integrals
    "ediff1d": ("arr, to_end=None, to_begin=None", "the differences of neighbours of the flattened array"),
    "gradient": ("f, *varargs, axis=None, edge_order=1", "the gradient by central differences"),
    "interp": (
        "x, xp, fp, left=None, right=None, period=None",
        "values between given points, by linear interpolation",
    ),
    "unwrap": (
        "p, discont=None, axis=-1, *, period=6.283185307179586",
        "angles without jumps of a whole period",
    ),
    # Element by element
    "angle": ("z, deg=False", "the angle of complex numbers"),
    "nan_to_num": (
        "x, copy=True, nan=0.0, posinf=None, neginf=None",
        "the array with NaN and infinity replaced",
    ),
    "real_if_close": ("a, tol=100", "the real parts if all imaginary parts are close to zero"),
    # Sorting, searching, comparing
    "argwhere": ("a", "the indices of elements that are not zero, a row for each"),
    "extract": ("condition, a", "the elements for which a condition holds"),
    "flatnonzero": ("a", "the indices of elements that are not zero in the flattened array"),
    "sort_complex": ("a", "the elements as complex numbers, sorted by real, then by imaginary part"),
    # Sets
    "intersect1d": (
        "arr1, arr2, assume_unique=False, return_indices=False",
        "the elements that are in both arrays, sorted",
    ),
    "setdiff1d": (
        "ar1, ar2, assume_unique=False",
        "the elements of the first array that are not in the second",
    ),
    "setxor1d": ("ar1, ar2, assume_unique=False", "the elements that are in only one of the arrays"),
    "union1d": ("arr1, arr2", "the elements that are in one of the arrays, sorted"),
    "unique": (
        "ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True",
        "the different elements, sorted; with their indices and counts on request",
    ),
    # Indices
    "diag_indices_from": ("arr", "the indices of an array's diagonal"),
    "unravel_index": (
        "indices, dims, order='C'",
        "the indices along the axes for indices of the flattened array",
    ),
    # Signals and polynomials
    "convolve": ("a, v, mode='full'", "the convolution of two vectors"),
    "correlate": ("a, v, mode='valid'", "the cross-correlation of two vectors"),
    "polyadd": ("a1, a2", "the sum of two polynomials"),
    "polyfit": (
        "x, y, deg, rcond=None, full=False, w=None, cov=False",
        "the polynomial that fits points best",
    ),
    "polymul": ("a1, a2", "the product of two polynomials"),
    "polysub": ("a1, a2", "the difference of two polynomials"),
    "polyval": ("p, x", "a polynomial's values, the highest power first"),
    "roots": ("p", "a polynomial's roots"),
}

# NumPy's, which make an array out of numbers, or take arrays of the device as well.
_OF_NUMBERS = {
    "bartlett": ("M", "the Bartlett window of `M` points"),
    "blackman": ("M", "the Blackman window of `M` points"),
    "diag_indices": ("n, ndim=2", "the indices of a square's diagonal"),
    "eye": ("N, M=None, k=0, dtype=float, order='C'", "ones on a diagonal and zeros elsewhere"),
    "hamming": ("M", "the Hamming window of `M` points"),
    "hanning": ("M", "the Hann window of `M` points"),
    "identity": ("n, dtype=float", "the square matrix with ones on the diagonal"),
    "indices": ("dimensions, dtype=int", "the indices of every element of a grid"),
    "iscomplex": ("x", "where elements have an imaginary part"),
    "isreal": ("x", "where elements have no imaginary part"),
    "kaiser": ("M, beta", "the Kaiser window of `M` points"),
    "logspace": (
        "start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0",
        "`base` to the power of evenly spaced numbers",
    ),
    "ravel_multi_index": (
        "multi_index, dims, mode='wrap', order='C'",
        "the indices of the flattened array for indices along the axes",
    ),
    "tri": ("N, M=None, k=0, dtype=float", "ones on and below a diagonal"),
}

# NumPy's, which read a file, a buffer or text on the host; the result is copied to the device.
_ON_HOST = ("frombuffer", "fromfile", "fromfunction", "fromiter", "fromstring", "genfromtxt", "loadtxt")

# Of how many of its arguments CuPy scans the elements, because the length of the result depends on them.
_SCANNED = {
    **dict.fromkeys(("argwhere", "extract", "flatnonzero", "setdiff1d", "unique"), 1),
    **dict.fromkeys(("intersect1d", "setxor1d", "union1d"), 2),
}


_PARAMETER = re.compile(
    r"(?:^|, )(\*{0,2}[A-Za-z]\w*|\*)"
)  # the name of one, with its stars; or a star alone


def signature(parameters: str) -> inspect.Signature:
    """Return the signature that a list of parameters describes, such as `a, axis=None`."""
    return inspect.signature(_written("", parameters, "", "None"))


def _written(
    name: str, parameters: str, text: str, result: str, module: str = __package__, **names: Any
) -> Callable:
    """Return a function with these parameters, whose result is an expression over them and over `names`.

    The function is compiled from source, as collections.namedtuple does it, so that Python itself checks and binds the
    arguments.
    """
    function = eval(f"lambda {parameters}: {result}", {"np": np, **names})
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = f"Return {text}."
    return function


def _handed_on(parameters: str) -> str:
    """Return the arguments that hand all parameters on: by position, and by name those after a star."""
    given, by_name = [], False
    for each in _PARAMETER.findall(parameters):
        if each != "*":
            given.append(f"{each}={each}" if by_name and not each.startswith("*") else each)
        by_name = by_name or each.startswith("*")
    return ", ".join(given)


def made(
    name: str,
    parameters: str,
    text: str,
    function: Callable,
    passed: str | None = None,
    module: str = __package__,
) -> Callable:
    """Return a function with these parameters that calls another one.

    Parameters
    ----------
    name, parameters
        The function's name, and its parameters as Python writes them.
    text
        What it returns, for the docstring.
    function
        The function to call.
    passed
        The arguments of the call; if None, all parameters.
    module
        Name of the module that has the function; the package itself unless given.
    """
    passed = _handed_on(parameters) if passed is None else passed
    return _written(name, parameters, text, f"function({passed})", module, function=function)


def _method(name: str, parameters: str, text: str) -> Callable:
    """Return the function that calls the method of this name of its parameter `a`."""
    given = ", ".join(f"{each}={each}" for each in _PARAMETER.findall(parameters) if each != "a")
    return _written(name, parameters, text, f"a.{name}({given})")


def _into(name: str, parameters: str, text: str) -> Callable:
    """Return the function that writes what NumPy computes into its parameter `out`."""
    others = set(_PARAMETER.findall(parameters)) - {"a", "out", "overwrite_input"}
    given = ", ".join(f"{each}={each}" for each in sorted(others))
    call = (
        f"summed(function, operand(a), {given})"
        if name in _SUMMED
        else f"quiet(function, operand(a), {given})"
    )
    result = f"reduced({call}, out, {name!r})"
    if name in ("nanmax", "nanmin"):
        result = f"warned({result})"
    return _written(
        name,
        parameters,
        text,
        result,
        function=getattr(np, name),
        operand=operand,
        quiet=quiet,
        reduced=reduced,
        summed=_of_half,
        warned=_all_nan,
    )


_SUMMED = ("nansum", "nanprod", "nanmean")


def _of_half(function: Callable, array: Any, dtype: Any, **kwargs: Any) -> Any:
    return summed(function, np.asarray(array), dtype, **kwargs)


def _all_nan(result: Any) -> Any:
    """Warn where nothing but NaN was reduced; CuPy reads on the host whether there is such a place (order.py)."""
    if result.dtype.kind in "fc":
        events.operated("isnan")
        events.operated("any")
        events.read_back(1)
        if np.isnan(result._array).any():
            warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=3)
    return result


def _scanning(function: Callable, count: int) -> Callable:
    """Let a function report the scan of its first arguments."""

    def call(*args: Any, **kwargs: Any) -> Any:
        scanned(sum(map(np.size, args[:count])))
        return function(*args, **kwargs)

    return call


def _of_numpy(name: str) -> Callable:
    """Return NumPy's function, which reports a scan if CuPy makes one."""
    function = getattr(np, name)
    return _scanning(function, _SCANNED[name]) if name in _SCANNED else function


def _from_host(name: str) -> Callable:
    """Return the function that copies to the device what NumPy reads on the host."""
    function = getattr(np, name)
    text = f"a copy on the device of what `numpy.{name}` returns"
    return made(name, "*args, **kwargs", text, lambda *args, **kwargs: array(function(*args, **kwargs)))


ALL: dict[str, Callable] = {
    **{name: _method(name, *row) for name, row in _METHODS.items()},
    **{name: _into(name, *row) for name, row in _INTO.items()},
    **{name: on_device(made(name, *row, _of_numpy(name))) for name, row in _OF_ARRAYS.items()},
    **{name: made_on_device(made(name, *row, _of_numpy(name))) for name, row in _OF_NUMBERS.items()},
    **{name: _from_host(name) for name in _ON_HOST},
}
for _alias, _name in {
    "amax": "max",
    "amin": "min",
    "alltrue": "all",
    "sometrue": "any",
    "product": "prod",
}.items():
    ALL[_alias] = ALL[_name]
ALL["cumproduct"] = ALL["cumprod"]
