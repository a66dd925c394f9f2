"""The variables that `cupy.fuse` passes to a function to record its operations."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from host_to_device.standins.cupy import launching, operations
from host_to_device.standins.cupy.elementwise import ElementwiseKernel
from host_to_device.standins.cupy.generated import type_name

NUMBERS = int | float | complex | bool | np.generic
NO_SCALAR = "Cannot convert to Python scalar in cupy.fuse"


class CannotFuse(Exception):
    """Raised for an operation that CuPy can fuse and the tracer cannot; the function then runs step by step."""


class _VariableProxy:
    """A variable that stands for an array or a number while a function is traced."""

    def __init__(
        self, trace: Trace, index: int, dtype: np.dtype, ndim: int, sources: frozenset[int], weak: Any = None
    ) -> None:
        self._trace, self._index, self._sources, self._weak = trace, index, sources, weak
        self.dtype, self.ndim = dtype, ndim
        self._reduced = trace.reduction is not None

    @property
    def shape(self) -> None:
        """Not supported, as in CuPy: a fused kernel works for any shape."""
        raise NotImplementedError("`shape` is not supported, currently.")

    def _refuse(self) -> Any:
        raise TypeError(NO_SCALAR)

    __bool__ = __int__ = __float__ = __complex__ = __index__ = _refuse
    __hash__ = object.__hash__

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        return self._trace.call(ufunc.__name__, *operands)

    def __cupy_override_elementwise_kernel__(self, ufunc: Any, *operands: Any, **options: Any) -> Any:
        if isinstance(ufunc, ElementwiseKernel):
            raise NotImplementedError("Fusion for elementwise-kernel is not implemented yet")
        if options.keys() - {"out"}:
            raise TypeError(f"Wrong arguments {options}")
        return self._trace.call(ufunc.name.removeprefix("cupy_"), *operands, **options)

    def __neg__(self) -> Any:
        return self._trace.call("negative", self)

    def __pos__(self) -> Any:
        return self._trace.call("positive", self)

    def __invert__(self) -> Any:
        return self._trace.call("invert", self)

    def copy(self) -> Any:
        """Return a new variable with the same value."""
        return self._trace.emit("{0}", [self], [self.dtype], self.dtype)

    def astype(
        self, dtype: Any, order: Any = None, casting: Any = None, subok: Any = None, copy: bool = True
    ) -> Any:
        """Return the value converted to a dtype."""
        for name, value in (("order", order), ("casting", casting), ("subok", subok)):
            if value is not None:
                raise TypeError(f"{name} is not supported yet")
        dtype = np.dtype(dtype)
        if not copy and self.dtype == dtype:
            return self
        return self._trace.emit("{0}", [self], [self.dtype], dtype)

    def _reduce(
        self, name: str, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        return self._trace.reduce(name, self, axis=axis, dtype=dtype, out=out, keepdims=keepdims)

    sum = functools.partialmethod(_reduce, "sum")
    prod = functools.partialmethod(_reduce, "prod")
    max = functools.partialmethod(_reduce, "max")
    min = functools.partialmethod(_reduce, "min")
    any = functools.partialmethod(_reduce, "any")
    all = functools.partialmethod(_reduce, "all")


class _ScalarProxy(_VariableProxy):
    """A number."""

    def __repr__(self) -> str:
        return f"_ScalarProxy(v{self._index}, dtype={self.dtype})"


class _ArrayProxy(_VariableProxy):
    """An array."""

    def __repr__(self) -> str:
        return f"_ArrayProxy([...], dtype='{self.dtype.char}', ndim={self.ndim})"

    def __getitem__(self, index: Any) -> Any:
        if index is Ellipsis or (isinstance(index, slice) and index == slice(None)):
            return self
        raise CannotFuse("indexing")

    def __setitem__(self, index: Any, value: Any) -> None:
        if not (index is Ellipsis or (isinstance(index, slice) and index == slice(None))):
            raise ValueError("The fusion supports `[...]` or `[:]`.")
        self._trace.emit("{0}", [value], [self.dtype], self.dtype, self)


def _operators() -> None:
    """Define Python's operators for the variables."""
    for special, name in {
        "add": "add",
        "sub": "subtract",
        "mul": "multiply",
        "truediv": "true_divide",
        "floordiv": "floor_divide",
        "mod": "remainder",
        "pow": "power",
        "lshift": "left_shift",
        "rshift": "right_shift",
        "and": "bitwise_and",
        "or": "bitwise_or",
        "xor": "bitwise_xor",
    }.items():
        setattr(_VariableProxy, f"__{special}__", lambda a, b, name=name: a._trace.call(name, a, b))
        setattr(_VariableProxy, f"__r{special}__", lambda a, b, name=name: a._trace.call(name, b, a))
        setattr(_ArrayProxy, f"__i{special}__", lambda a, b, name=name: a._trace.call(name, a, b, out=a))
    for special, name in {
        "lt": "less",
        "le": "less_equal",
        "eq": "equal",
        "ne": "not_equal",
        "gt": "greater",
        "ge": "greater_equal",
    }.items():
        setattr(_VariableProxy, f"__{special}__", lambda a, b, name=name: a._trace.call(name, a, b))


_operators()


@dataclass
class Reduction:
    """The reduction of a traced function."""

    name: str
    operand: _VariableProxy
    result: int
    dtype: np.dtype
    options: dict[str, Any]


@dataclass
class Trace:
    """The operations that a function applied to its variables."""

    variables: int = 0
    parameters: list[_VariableProxy] = field(default_factory=list)
    changed: set[int] = field(default_factory=set)  # variables that a statement has reassigned
    before: list[str] = field(default_factory=list)  # statements before the reduction, or all
    after: list[str] = field(default_factory=list)
    reduction: Reduction | None = None

    def new(self, dtype: np.dtype, ndim: int, sources: frozenset[int], weak: Any = None) -> _VariableProxy:
        kind = _ArrayProxy if ndim >= 0 else _ScalarProxy
        self.variables += 1
        return kind(self, self.variables - 1, dtype, ndim, sources, weak)

    def parameter(self, argument: Any) -> Any:
        """Return the variable for one of the function's arguments; None stays None."""
        if argument is None:
            return None
        place = len(self.parameters)
        if launching.is_array(argument):
            made = self.new(argument.dtype, argument.ndim, frozenset([place]))
        else:
            weak = type(argument) if type(argument) in (int, float, complex) else None
            dtype = argument.dtype if isinstance(argument, np.generic) else np.dtype(type(argument))
            made = self.new(dtype, -1, frozenset(), weak)
        self.parameters.append(made)
        return made

    def call(self, name: str, *operands: Any, out: Any = None) -> Any:
        """Record the call of an element-wise function."""
        if name == "where":
            _, first, second = operands
            dtype = operations.types_of("maximum", [kind_of(each) for each in (first, second)])[1]
            return self.emit("({0} ? {1} : {2})", list(operands), [np.dtype(bool), dtype, dtype], dtype, out)
        if name == "clip":
            value, low, high = operands
            bounded = value if low is None else self.call("maximum", value, low)
            return bounded if high is None else self.call("minimum", bounded, high, out=out)
        if name not in operations.EXPRESSIONS and name != "invert":
            raise CannotFuse(name)
        wanted = getattr(np, name).nin
        if len(operands) == wanted + 1 and out is None:
            *operands, out = operands
        if len(operands) != wanted:
            raise ValueError("invalid number of arguments")
        dtypes, result = operations.types_of(name, [kind_of(each) for each in operands])
        if dtypes[0].kind == "c" and name not in operations.OF_COMPLEX:
            raise CannotFuse(f"{name} of complex numbers")
        return self.emit(operations.expression(name, dtypes), list(operands), dtypes, result, out)

    def emit(
        self,
        expression: str,
        operands: list[Any],
        dtypes: list[np.dtype],
        dtype: np.dtype,
        out: _VariableProxy | None = None,
    ) -> _VariableProxy:
        """Record one statement; return the variable that holds its result."""
        variables = [each for each in operands if isinstance(each, _VariableProxy)]
        if any(each._reduced != (self.reduction is not None) for each in variables):
            raise CannotFuse("values from before and after a reduction")
        text = expression.format(*(_operand(each, to) for each, to in zip(operands, dtypes, strict=True)))
        statements = self.before if self.reduction is None else self.after
        if out is None:
            sources = frozenset().union(*(each._sources for each in variables))
            ndim = max((each.ndim for each in variables), default=-1)
            out = self.new(dtype, ndim, sources)
            statements.append(f"{type_name(dtype)} v{out._index} = static_cast<{type_name(dtype)}>({text});")
            return out
        if not isinstance(out, _ArrayProxy):
            raise TypeError("return arrays must be of ArrayType")
        if out.ndim < max((each.ndim for each in variables), default=-1):
            raise ValueError("non-broadcastable output operand")
        if not np.can_cast(dtype, out.dtype, "same_kind"):
            raise TypeError(
                f"Cannot cast output operand from {dtype!r} to {out.dtype!r} with casting rule 'same_kind'"
            )
        self.changed.add(out._index)
        statements.append(f"v{out._index} = static_cast<{type_name(out.dtype)}>({text});")
        return out

    def reduce(self, name: str, operand: Any, **options: Any) -> _VariableProxy:
        """Record a reduction; a function may have only one."""
        name = {"amax": "max", "amin": "min"}.get(name, name)
        dtype, out = options.pop("dtype", None), options.pop("out", None)
        if self.reduction is not None or out is not None or operand.ndim < 0:
            raise CannotFuse("several reductions")
        if dtype is not None:
            operand = operand.astype(dtype)
        elif name in ("sum", "prod"):
            dtype = np.zeros(1, operand.dtype).sum().dtype
        else:
            dtype = np.dtype(bool) if name in ("any", "all") else operand.dtype
        axis = options.get("axis")
        gone = operand.ndim if axis is None else len(axis) if isinstance(axis, tuple | list) else 1
        if gone > operand.ndim:
            raise np.exceptions.AxisError(axis, operand.ndim)
        ndim = operand.ndim if options.get("keepdims") else operand.ndim - gone
        self.reduction = Reduction(name, operand, self.variables, np.dtype(dtype), options)
        return self.new(np.dtype(dtype), ndim, operand._sources)


def _operand(operand: Any, dtype: np.dtype) -> str:
    """Return an operand of a dtype as C++ text: a float16 as a float, in which CuPy computes, rounded to a float16."""
    name = type_name(dtype)
    if not isinstance(operand, _VariableProxy):
        return operations.literal(operand, dtype)
    if dtype == np.float16:
        return f"static_cast<float>(static_cast<{name}>(static_cast<float>(v{operand._index})))"
    return f"static_cast<{name}>(v{operand._index})"


def kind_of(operand: Any) -> Any:
    """Return an operand's dtype, or the Python type of a number, which takes the type of the other operands."""
    if isinstance(operand, _VariableProxy):
        return operand._weak or operand.dtype
    if isinstance(operand, np.generic):
        return operand.dtype
    if type(operand) is bool:
        return np.dtype(bool)
    if isinstance(operand, int | float | complex):
        return type(operand)
    raise TypeError(f"Unsupported type {type(operand)}")
