"""Reductions of arrays for compiled kernels, with numba-cuda's types; `array_functions` has them for the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.core.errors import TypingError
from numba.extending import overload, overload_method, register_jitable
from numba.np import numpy_support

from host_to_device.standins.numba_cuda.array_functions import REDUCTIONS, result_code

OPTIONS = {"error_model": "numpy", "boundscheck": True, "nogil": True}


def _result(name: str, array: types.Array) -> Callable:
    """Return the type of a reduction's result, as a function that converts to it."""
    code = numpy_support.as_dtype(array.dtype).str[1:]
    if isinstance(array.dtype, types.Complex):
        return array.dtype
    return numpy_support.from_dtype(np.dtype(result_code(name, code)))


@register_jitable
def _nan(value):
    return value != value


def _sum(array: Any, name: str) -> Callable:
    kind = _result(name, array)

    def run(a):
        total = kind(0)
        for v in np.nditer(a):
            total = kind(total + kind(v.item()))
        return total

    return run


def _prod(array: Any, name: str) -> Callable:
    kind = _result(name, array)

    def run(a):
        product = kind(1)
        for v in np.nditer(a):
            product = kind(product * kind(v.item()))
        return product

    return run


def _mean(array: Any, name: str) -> Callable:
    kind = array.dtype if isinstance(array.dtype, types.Float) else types.float64

    def run(a):
        total = kind(0)
        for v in np.nditer(a):
            total += kind(v.item())
        return types.float64(total) / types.float64(a.size)

    return run


def _var(array: Any, name: str) -> Callable:
    mean = register_jitable(_mean(array, name))

    def run(a):
        middle, total = mean(a), 0.0
        for v in np.nditer(a):
            rest = types.float64(v.item()) - middle
            total += rest * rest
        return total / types.float64(a.size)

    return run


def _std(array: Any, name: str) -> Callable:
    var = register_jitable(_var(array, name))
    return lambda a: var(a) ** 0.5


def _all(array: Any, name: str) -> Callable:
    def run(a):
        for v in np.nditer(a):  # noqa: SIM110
            if not v.item():
                return False
        return True

    return run


def _any(array: Any, name: str) -> Callable:
    def run(a):
        for v in np.nditer(a):  # noqa: SIM110
            if v.item():
                return True
        return False

    return run


def _place(array: Any, name: str) -> Callable:
    larger = name == "argmax"
    words = f"attempt to get {name} of an empty sequence"

    def run(a):
        if a.size == 0:
            raise ValueError(words)
        found, number, best = 0, 0, array_first(a)
        for v in np.nditer(a):
            value = v.item()
            if _nan(value):
                return number
            if (larger and value > best) or (not larger and value < best):
                found, best = number, value
            number += 1  # noqa: SIM113
        return found

    return run


@register_jitable
def array_first(a):
    for v in np.nditer(a):
        return v.item()
    raise ValueError("an empty array")


def _count_nonzero(array: Any, name: str) -> Callable:
    def run(a):
        count = 0
        for v in np.nditer(a):
            if v.item() != 0:
                count += 1
        return count

    return run


def _nansum(array: Any, name: str) -> Callable:
    kind, product = _result(name, array), name == "nanprod"

    def run(a):
        total = kind(1) if product else kind(0)
        for v in np.nditer(a):
            value = v.item()
            if not _nan(value):
                total = kind(total * kind(value)) if product else kind(total + kind(value))
        return total

    return run


def _nanmean(array: Any, name: str) -> Callable:
    def run(a):
        total, count = 0.0, 0
        for v in np.nditer(a):
            value = v.item()
            if not _nan(value):
                total += types.float64(value)
                count += 1
        return total / types.float64(count)

    return run


def _nanvar(array: Any, name: str) -> Callable:
    mean = register_jitable(_nanmean(array, name))

    def run(a):
        middle, total, count = mean(a), 0.0, 0
        for v in np.nditer(a):
            value = v.item()
            if not _nan(value):
                rest = types.float64(value) - middle
                total += rest * rest
                count += 1
        return total / types.float64(count)

    return run


def _nanstd(array: Any, name: str) -> Callable:
    var = register_jitable(_nanvar(array, name))
    return lambda a: var(a) ** 0.5


def _extreme(array: Any, name: str) -> Callable:
    larger, skips = name.endswith("max"), name.startswith("nan")
    words = (
        f"zero-size array to reduction operation {'maximum' if larger else 'minimum'} which has no identity"
    )

    def run(a):
        if a.size == 0:
            raise ValueError(words)
        best = array_first(a)
        for v in np.nditer(a):
            value = v.item()
            if _nan(value) and not skips:
                return value
            if _nan(best) or (larger and value > best) or (not larger and value < best):
                best = value
        return best

    return run


MAKERS = {
    **dict.fromkeys(("argmax", "argmin"), _place),
    **dict.fromkeys(("nansum", "nanprod"), _nansum),
    **dict.fromkeys(("max", "min", "nanmax", "nanmin"), _extreme),
}


def _reduction(name: str) -> Callable:
    """Return a reduction that compiled kernels call by this name."""
    make = MAKERS.get(name) or globals()[f"_{name}"]

    def stub(a):
        raise NotImplementedError

    def choose(a):
        if not isinstance(a, types.Array):
            raise TypingError(f"{name}() takes an array, but got {types.unliteral(a)}")
        return make(a, name)

    overload(stub, jit_options=OPTIONS)(choose)
    return stub


FUNCTIONS = {name: _reduction(name.removeprefix("array_")) for name in REDUCTIONS}
globals().update(FUNCTIONS)


@overload_method(types.Integer, "bit_count")
def _bit_count(x):
    """Return how many bits of an integer are set, in the integer's own type and width."""
    kind, mask = types.unliteral(x), types.uint64((1 << types.unliteral(x).bitwidth) - 1)

    def run(x):
        rest, count = types.uint64(x) & mask, 0
        while rest:
            rest &= rest - types.uint64(1)
            count += 1
        return kind(count)

    return run
