"""NumPy's functions within a kernel: which of them numba-cuda 0.30 takes, and reductions of arrays for the interpreter.

`compiled_arrays` has the same reductions for compiled kernels. Their types are numba-cuda's: the sum of int32 is an int64,
the mean of float32 a float64. They go through the elements one by one, in C order, as Numba's do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

# Functions of elements. numba-cuda refuses the others, such as np.exp and np.sqrt: a kernel takes those of `math`.
UFUNCS = frozenset(
    [
        "arccos",
        "arccosh",
        "arcsin",
        "arcsinh",
        "arctan",
        "arctan2",
        "arctanh",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "conjugate",
        "cos",
        "cosh",
        "deg2rad",
        "degrees",
        "divide",
        "equal",
        "fmax",
        "fmin",
        "greater",
        "greater_equal",
        "hypot",
        "invert",
        "isnan",
        "left_shift",
        "less",
        "less_equal",
        "log",
        "log10",
        "log2",
        "logical_and",
        "logical_not",
        "logical_or",
        "logical_xor",
        "maximum",
        "minimum",
        "not_equal",
        "rad2deg",
        "radians",
        "right_shift",
        "sin",
        "sinh",
        "tan",
        "tanh",
    ]
)
# Reductions of whole arrays, as functions of NumPy and as methods.
METHODS = frozenset(["all", "any", "argmax", "argmin", "mean", "prod", "std", "sum", "var"])
FUNCTIONS = METHODS | frozenset(
    ["count_nonzero", "nanmean", "nanprod", "nanstd", "nansum", "nanvar", "average"]
)
# Those for which numba-cuda needs memory on the GPU that it manages itself (NUMBA_CUDA_ENABLE_NRT=1).
WITH_RUNTIME = frozenset(["max", "min", "amax", "amin", "nanmax", "nanmin"])
NEEDS_RUNTIME = "numba-cuda takes it only with NUMBA_CUDA_ENABLE_NRT=1 in the environment: write a loop"

SMALLER, LARGER = -1, 1
SAME = {"amax": "max", "amin": "min", "average": "mean"}


def has_runtime() -> bool:
    """Return whether Numba's settings turn its runtime for CUDA on."""
    try:
        from numba.core import config
    except ImportError:
        import os

        return os.environ.get("NUMBA_CUDA_ENABLE_NRT", "0") not in ("", "0")
    import os

    given = os.environ.get("NUMBA_CUDA_ENABLE_NRT", "0") not in ("", "0")
    return bool(getattr(config, "CUDA_ENABLE_NRT", given))


def result_code(name: str, code: str) -> str:
    """Return the type of a reduction's result for an array of elements of type `code`."""
    name = SAME.get(name, name)
    if name in ("all", "any"):
        return "b1"
    if name in ("argmax", "argmin", "count_nonzero"):
        return "i8"
    if name in ("mean", "std", "var", "nanmean", "nanstd", "nanvar"):
        return "f8"
    if name in ("max", "min", "nanmax", "nanmin") or code[0] == "f":
        return code
    return "u8" if code[0] == "u" and name in ("sum", "prod") else "i8"


def elements(array: Any) -> Iterator[Any]:
    """Yield the elements of an array in C order, each read by its index, so that a check sees it."""
    if len(array.shape) == 1:
        for index in range(array.shape[0]):
            yield array[index]
    else:
        for position in np.ndindex(*array.shape):
            yield array[position]


def _is_nan(value: Any) -> bool:
    return value != value


def _of_type(array: Any, name: str) -> type[np.generic]:
    return np.dtype(result_code(name, array.dtype.str[1:])).type


def _empty(array: Any, words: str) -> None:
    if 0 in array.shape:
        raise ValueError(words)


def array_sum(array: Any) -> Any:
    kind = _of_type(array, "sum")
    if issubclass(kind, np.integer):
        return (
            int(sum(map(int, elements(array)))) % 2**64
            if kind is np.uint64
            else _int64(sum(map(int, elements(array))))
        )
    total = kind(0)
    for value in elements(array):
        total = total + value
    return total


def _int64(value: int) -> int:
    return ((value + (1 << 63)) & (1 << 64) - 1) - (1 << 63)


def array_prod(array: Any) -> Any:
    kind = _of_type(array, "prod")
    if issubclass(kind, np.integer):
        product = 1
        for value in elements(array):
            product = product * int(value) & (1 << 64) - 1
        return product if kind is np.uint64 else _int64(product)
    product = kind(1)
    for value in elements(array):
        product = product * value
    return product


def array_mean(array: Any) -> np.float64:
    total = array.dtype.type(0) if array.dtype.kind == "f" else np.float64(0)
    for value in elements(array):
        total = total + value
    return np.float64(total) / np.float64(array.size)


def array_var(array: Any) -> np.float64:
    mean, total = array_mean(array), np.float64(0)
    for value in elements(array):
        total = total + (value - mean) * (value - mean)
    return total / np.float64(array.size)


def array_std(array: Any) -> np.float64:
    return array_var(array) ** 0.5


def array_all(array: Any) -> bool:
    return all(map(bool, elements(array)))


def array_any(array: Any) -> bool:
    return any(map(bool, elements(array)))


def _first(array: Any, sign: int, words: str) -> int:
    """Return the number of the least or the largest element; of a NaN, if there is one."""
    _empty(array, words)
    found, best = 0, None
    for number, value in enumerate(elements(array)):
        if _is_nan(value):
            return number
        if best is None or (value > best if sign == LARGER else value < best):
            found, best = number, value
    return found


def array_argmax(array: Any) -> int:
    return _first(array, LARGER, "attempt to get argmax of an empty sequence")


def array_argmin(array: Any) -> int:
    return _first(array, SMALLER, "attempt to get argmin of an empty sequence")


def array_count_nonzero(array: Any) -> int:
    return sum(1 for value in elements(array) if value != 0)


def array_nansum(array: Any) -> Any:
    return _without_nans(array, "nansum", 0, lambda one, other: one + other)


def array_nanprod(array: Any) -> Any:
    return _without_nans(array, "nanprod", 1, lambda one, other: one * other)


def _without_nans(array: Any, name: str, start: int, joined: Any) -> Any:
    kind = _of_type(array, name)
    whole = issubclass(kind, np.integer)
    total = start if whole else kind(start)
    for value in elements(array):
        if not _is_nan(value):
            total = _int64(joined(total, int(value))) if whole else joined(total, value)
    return total


def array_nanmean(array: Any) -> np.float64:
    total, count = np.float64(0), 0
    for value in elements(array):
        if not _is_nan(value):
            total, count = total + value, count + 1
    return total / np.float64(count)


def array_nanvar(array: Any) -> np.float64:
    mean, total, count = array_nanmean(array), np.float64(0), 0
    for value in elements(array):
        if not _is_nan(value):
            total, count = total + (value - mean) * (value - mean), count + 1
    return total / np.float64(count)


def array_nanstd(array: Any) -> np.float64:
    return array_nanvar(array) ** 0.5


def _extreme(array: Any, sign: int, skips: bool, words: str) -> Any:
    """Return the least or the largest element. A NaN is the result if there is one, or is left out if `skips`."""
    _empty(array, words)
    best = None
    for value in elements(array):
        if _is_nan(value) and not skips:
            return value
        if best is None or _is_nan(best) or (value > best if sign == LARGER else value < best):
            best = value
    return best


def array_max(array: Any) -> Any:
    return _extreme(
        array, LARGER, False, "zero-size array to reduction operation maximum which has no identity"
    )


def array_min(array: Any) -> Any:
    return _extreme(
        array, SMALLER, False, "zero-size array to reduction operation minimum which has no identity"
    )


def array_nanmax(array: Any) -> Any:
    return _extreme(array, LARGER, True, "nanmax(): empty array")


def array_nanmin(array: Any) -> Any:
    return _extreme(array, SMALLER, True, "nanmin(): empty array")


REDUCTIONS = {
    f"array_{name}": globals()[f"array_{name}"] for name in sorted((FUNCTIONS | WITH_RUNTIME) - set(SAME))
}


def loop_of(ufunc: np.ufunc, codes: list[str]) -> tuple[list[str], str] | None:
    """Return the types in which Numba computes a function of elements: of its arguments, and of its result.

    It takes the first of NumPy's loops to which the arguments can be cast; beside a float, every integer can be cast to
    one. It has no loops for float16 and long double.
    """
    mixed = any(code[0] in "iu" for code in codes) and any(code[0] == "f" for code in codes)
    for types in ufunc.types:
        given, _, result = types.partition("->")
        if set(types) & set("egFDGOmM") or len(given) != len(codes):
            continue
        wanted = [np.dtype(each).str[1:] for each in given]
        if all(
            (mixed and one[0] in "iu" and other[0] == "f") or np.can_cast(one, other)
            for one, other in zip(codes, wanted, strict=True)
        ):
            return wanted, np.dtype(result).str[1:]
    return None
