"""Functions that apply a Python function to the elements or along the axes of arrays."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

import numpy as np

from host_to_device.standins.cupy.base import Base, adopt, operand, shapes_differ, upload
from host_to_device.standins.cupy.converting import array
from host_to_device.standins.cupy.results import quiet


class vectorize:
    """A function of numbers as a function of arrays, element by element (CuPy's `cupy.vectorize`).

    CuPy makes a kernel of the Python function. Here Python itself runs it for each element, with NumPy's numbers. As in
    the kernel, a literal has a type of its own: a float32 times 2 is a float64.

    Parameters
    ----------
    pyfunc
        The function of one or more numbers.
    otypes
        Not supported: CuPy raises a NotImplementedError at the call.
    doc
        The docstring; that of `pyfunc` unless given.
    excluded, signature
        Not supported, as in CuPy.
    cache
        Ignored, as in CuPy.
    """

    def __init__(
        self,
        pyfunc: Callable,
        otypes: Any = None,
        doc: str | None = None,
        excluded: Any = None,
        cache: bool = False,
        signature: Any = None,
    ) -> None:
        self.pyfunc, self.__doc__ = pyfunc, doc or pyfunc.__doc__
        self._function: Callable | None = None
        self.excluded, self.cache, self.signature = excluded, cache, signature
        self.otypes = None if otypes is None else "".join(np.dtype(each).char for each in otypes)
        for name, given in (("excluded", excluded), ("signature", signature)):
            if given is not None:
                raise NotImplementedError(f"cupy.vectorize does not support `{name}` option currently.")

    def __call__(self, *args: Any) -> Any:
        """Apply the function to arrays of the device and numbers, which are broadcast.

        Raises
        ------
        TypeError
            If the function returns no number, or numbers of different types for different elements.
        """
        if self.otypes is not None:
            raise NotImplementedError
        hosts = [np.asarray(operand(each)) for each in args]
        try:
            places = np.broadcast(*hosts)
        except ValueError:
            raise shapes_differ(*(host.shape for host in hosts)) from None
        function = self._function = self._function or _with_types(self.pyfunc)
        elements = list(places) or [tuple(host.dtype.type(1) for host in hosts)]
        rows = quiet(lambda: [self._result(each) for each in elements])
        promotes = _returns_once(self.pyfunc)
        outputs = [_joined(column, places, promotes) for column in zip(*rows, strict=True)]
        several = isinstance(quiet(function, *elements[0]), tuple)
        made = tuple(adopt(upload(each, "vectorize")) for each in outputs)
        return made if several else made[0]

    def _result(self, element: tuple) -> tuple:
        value = self._function(*element)
        return tuple(map(_number, value if isinstance(value, tuple) else (value,)))


_BUILTINS = {
    "min": lambda *numbers: functools.reduce(np.minimum, numbers),
    "max": lambda *numbers: functools.reduce(np.maximum, numbers),
}


def _typed(value: Any) -> Any:
    """Return a Python number as one of NumPy, whose type counts in every operation; anything else stays."""
    kind = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}.get(type(value))
    return value if kind is None else kind(value)


def _with_types(function: Callable) -> Callable:
    """Return a function whose literals, global and outer numbers have NumPy's types."""
    if not isinstance(function, FunctionType):
        return function
    code = function.__code__
    names = {
        name: _typed(function.__globals__[name]) for name in code.co_names if name in function.__globals__
    }
    # The smaller and the larger of two types have the type of both.
    names |= {name: value for name, value in _BUILTINS.items() if name in code.co_names and name not in names}
    cells = tuple(CellType(_typed(cell.cell_contents)) for cell in function.__closure__ or ())
    code = code.replace(co_consts=tuple(map(_typed, code.co_consts)))
    return FunctionType(
        code, {**function.__globals__, **names}, function.__name__, function.__defaults__, cells
    )


def _number(value: Any) -> Any:
    """Return a function's result as a number of NumPy."""
    value = value._array[()] if isinstance(value, Base) else value
    if not isinstance(value, bool | int | float | complex | np.generic):
        raise TypeError(f"Invalid return type: {type(value).__name__}")
    return np.asarray(value)[()]


def _returns_once(function: Callable) -> bool:
    """Return whether a function has one `return`: then `x if c else y` has the type of both, as in a kernel."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return False
    return sum(isinstance(node, ast.Return) for node in ast.walk(tree)) == 1


def _joined(column: tuple, places: np.broadcast, promotes: bool) -> np.ndarray:
    """Return the results for all elements as an array of one type."""
    first = np.result_type(*{each.dtype for each in column}) if promotes else column[0].dtype
    column = tuple(each.astype(first) for each in column) if promotes else column
    other = next((each.dtype for each in column if each.dtype != first), first)
    if other != first:
        raise TypeError(f"Failed to infer the return type: {first} or {other}")
    return np.array(column[: places.size], first).reshape(places.shape)


def apply_over_axes(func: Callable, a: Any, axes: Any) -> Any:
    """Apply a function of an array and an axis over several axes, one after the other; each stays, of size one.

    Raises
    ------
    ValueError
        If a result has neither the axes of the array nor one less.
    """
    value = array(a, copy=None)
    for axis in axes if isinstance(axes, tuple | list) else (axes,):
        axis = axis + value.ndim if axis < 0 else axis
        result = func(value, axis)
        if result.ndim != value.ndim:
            result = adopt(np.expand_dims(result._array, axis))
        if result.ndim != value.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        value = result
    return value


vectorize.__module__ = "cupy"
