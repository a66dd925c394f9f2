"""The operators of arrays: they compute with arrays and numbers, and refuse NumPy arrays and lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from host_to_device.standins.cupy.base import NUMBERS, Base
from host_to_device.standins.cupy.products import matmul
from host_to_device.standins.cupy.ufuncs import ALL, ufunc


def leaves_it_to(array: Any, other: Any) -> bool:
    """Return whether Python should try the other operand's own operator (NumPy's NEP 13)."""
    try:
        return other.__array_ufunc__ is None
    except AttributeError:
        return getattr(array, "__array_priority__", 0) < getattr(other, "__array_priority__", 0)


def _is_no_number(other: Any, name: str) -> bool:
    """Return whether something is None or compares by identity, so that no element equals it (core.pyx, `__richcmp__`)."""
    if other is None:
        return True
    kind = type(other)
    return kind.__eq__ is object.__eq__ and (name == "equal" or kind.__ne__ is object.__ne__)


def binary(name: str) -> tuple[Callable, Callable]:
    """Return the operator of a universal function, and the reflected one."""
    function: ufunc = ALL[name]
    of_numpy: Callable = getattr(np, name)
    compares = {"equal": "zeros", "not_equal": "ones"}.get(name, "")

    def forward(self: Any, other: Any) -> Any:
        if type(other) in NUMBERS or isinstance(other, Base):
            return function(self, other)
        if compares and not leaves_it_to(self, other) and _is_no_number(other, name):
            return getattr(Base._package, compares)(self.shape, np.bool_)
        if leaves_it_to(self, other):
            return NotImplemented
        return of_numpy(self, other)

    def reflected(self: Any, other: Any) -> Any:
        if type(other) in NUMBERS:
            return function(other, self)
        if leaves_it_to(self, other):
            return NotImplemented
        return of_numpy(other, self)

    return forward, reflected


def in_place(name: str) -> Callable:
    """Return the in-place operator of a universal function."""
    function: ufunc = ALL[name]

    def change(self: Any, other: Any) -> Any:
        return function(self, other, self)

    return change


def unary(name: str) -> Callable:
    """Return the operator of a universal function of one array."""
    function: ufunc = ALL[name]

    def compute(self: Any) -> Any:
        return function(self)

    return compute


class Operators:
    """The operators of arrays; each calls the universal function of its name."""

    __slots__ = ()
    __array_priority__ = 100

    __add__, __radd__ = binary("add")
    __sub__, __rsub__ = binary("subtract")
    __mul__, __rmul__ = binary("multiply")
    __truediv__, __rtruediv__ = binary("true_divide")
    __floordiv__, __rfloordiv__ = binary("floor_divide")
    __mod__, __rmod__ = binary("remainder")
    __divmod__, __rdivmod__ = binary("divmod")
    __pow__, __rpow__ = binary("power")
    __lshift__, __rlshift__ = binary("left_shift")
    __rshift__, __rrshift__ = binary("right_shift")
    __and__, __rand__ = binary("bitwise_and")
    __or__, __ror__ = binary("bitwise_or")
    __xor__, __rxor__ = binary("bitwise_xor")
    __lt__, _ = binary("less")
    __le__, _ = binary("less_equal")
    __gt__, _ = binary("greater")
    __ge__, _ = binary("greater_equal")
    __eq__, _ = binary("equal")
    __ne__, _ = binary("not_equal")
    del _
    __hash__ = None

    __iadd__ = in_place("add")
    __isub__ = in_place("subtract")
    __imul__ = in_place("multiply")
    __itruediv__ = in_place("true_divide")
    __ifloordiv__ = in_place("floor_divide")
    __imod__ = in_place("remainder")
    __ipow__ = in_place("power")
    __ilshift__ = in_place("left_shift")
    __irshift__ = in_place("right_shift")
    __iand__ = in_place("bitwise_and")
    __ior__ = in_place("bitwise_or")
    __ixor__ = in_place("bitwise_xor")

    __neg__ = unary("negative")
    __abs__ = unary("absolute")
    __invert__ = unary("invert")

    def __pos__(self) -> Any:
        return ALL["positive"](self)

    def __matmul__(self, other: Any) -> Any:
        if not isinstance(other, Base) and leaves_it_to(self, other):
            return NotImplemented
        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        if leaves_it_to(self, other):
            return NotImplemented
        return matmul(other, self)

    def __imatmul__(self, other: Any) -> Any:
        return matmul(self, other, out=self)
