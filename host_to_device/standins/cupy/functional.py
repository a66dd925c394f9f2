"""Functions that apply a Python function to the elements or along the axes of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from host_to_device.standins.cupy import vectorized
from host_to_device.standins.cupy.base import adopt, operand, shapes_differ, upload
from host_to_device.standins.cupy.converting import array
from host_to_device.standins.cupy.results import quiet


class vectorize:
    """A function of numbers as a function of arrays, element by element (CuPy's `cupy.vectorize`).

    CuPy makes a kernel of the Python function. Here Python runs it for each element, with CuPy's types and refusals: a
    literal has a type of its own, so a float32 times 2 is a float64.

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
        self._functions: dict[tuple[np.dtype, ...], tuple[Callable, Any]] = {}
        self.excluded, self.cache, self.signature = excluded, cache, signature
        self.otypes = None if otypes is None else "".join(np.dtype(each).char for each in otypes)
        for name, given in (("excluded", excluded), ("signature", signature)):
            if given is not None:
                raise NotImplementedError(f"cupy.vectorize does not support `{name}` option currently.")

    def __call__(self, *args: Any) -> Any:
        """Apply the function to arrays of the device and numbers, which are broadcast.

        Raises
        ------
        TypeError, ValueError, NotImplementedError, NameError
            If CuPy can make no kernel of the function: it returns no number, or numbers of two types, or uses what
            kernels do not have.
        """
        if self.otypes is not None:
            raise NotImplementedError
        hosts = [np.asarray(operand(each)) for each in args]
        try:
            places = np.broadcast(*hosts)
        except ValueError:
            raise shapes_differ(*(host.shape for host in hosts)) from None
        dtypes = tuple(host.dtype for host in hosts)
        if dtypes not in self._functions:
            self._functions[dtypes] = vectorized.typed(self.pyfunc, dtypes)
        function, result = self._functions[dtypes]
        kinds = result if isinstance(result, tuple) else (result,)
        if not all(isinstance(kind, np.dtype) for kind in kinds):
            raise TypeError(f"Invalid return type: {result}")
        rows = quiet(lambda: [function(*element) for element in places])
        columns = list(zip(*rows, strict=True)) if isinstance(result, tuple) else [rows]
        made = tuple(
            adopt(upload(np.array(columns[k] if rows else [], kind).reshape(places.shape), "vectorize"))
            for k, kind in enumerate(kinds)
        )
        return made if isinstance(result, tuple) else made[0]


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
