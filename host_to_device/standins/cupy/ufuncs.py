"""CuPy's universal functions: NumPy's on device memory, with CuPy's rules and errors.

The dtypes of arguments and results follow NumPy's rules, which are CuPy's, too.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.base import (
    NUMBERS,
    Base,
    adopt,
    adopt_like,
    cast,
    check_fits,
    operand,
    shapes_differ,
    unsupported,
    wrap,
)
from host_to_device.standins.cupy.converting import array
from host_to_device.standins.cupy.cuda.memory import new_array
from host_to_device.standins.cupy.indexing import scatter
from host_to_device.standins.cupy.results import COMPLEX_TO_REAL, converted

_WEAK = {int: int, float: float, complex: complex}  # Python's numbers take the dtype of the array beside them


def _signature(*inputs: str) -> inspect.Signature:
    kinds = inspect.Parameter
    return inspect.Signature(
        [
            *(kinds(name, kinds.POSITIONAL_ONLY) for name in inputs),
            kinds("out", kinds.POSITIONAL_OR_KEYWORD, default=None),
            kinds("casting", kinds.KEYWORD_ONLY, default="same_kind"),
            kinds("dtype", kinds.KEYWORD_ONLY, default=None),
        ]
    )


_SIGNATURES = {1: _signature("x"), 2: _signature("x1", "x2")}


class WrongType(TypeError):
    """Raised by a function that CuPy does not have for a dtype."""


class ufunc:
    """A function of each element (CuPy's `cupy.ufunc`).

    Parameters
    ----------
    name
        Its name in CuPy, for example `cupy_add`.
    function
        NumPy's universal function, or one of its functions of one array.
    nin, nout
        Number of inputs and outputs.
    """

    def __init__(self, name: str, function: Any, nin: int, nout: int = 1) -> None:
        self.name = self.__name__ = name
        self.nin, self.nout, self.nargs = nin, nout, nin + nout
        self._numpy = function
        if nout == 1:
            self.__signature__ = _SIGNATURES[nin]
        self._is_numpys = isinstance(function, np.ufunc)
        self._results: dict[tuple, tuple[np.dtype, ...]] = {}
        self.__doc__ = f"NumPy's `{function.__name__}`, element by element, on the device."

    def __repr__(self) -> str:
        return f"<ufunc '{self.name}'>"

    @property
    def types(self) -> list[str]:
        """The dtypes of arguments and results in NumPy's characters, such as `ff->f`."""
        return (
            []
            if not self._is_numpys
            else [kind for kind in self._numpy.types if not set(kind) & set("gGOmMSUV")]
        )

    def _dtypes(self, key: tuple) -> tuple[np.dtype, ...]:
        """Return the dtypes of the outputs for inputs of these dtypes, or Python's types of numbers."""
        found = self._results.get(key)
        if found is None:
            if not self._is_numpys:
                ones = [np.ones((), kind) for kind in key]
                try:
                    found = (np.asarray(self._numpy(*ones)).dtype,)
                except WrongType as problem:
                    raise self._refusal(key, problem) from None
            else:
                try:
                    found = self._numpy.resolve_dtypes((*key, *(None,) * self.nout))[self.nin :]
                except TypeError as problem:
                    raise self._refusal(key, problem) from None
                if self._numpy in _NOT_COMPLEX and any(np.dtype(kind).kind == "c" for kind in key):
                    raise self._refusal(key, TypeError())
            self._results[key] = found
        return found

    def _refusal(self, key: tuple, problem: TypeError) -> TypeError:
        if "boolean" in str(problem):
            text = str(problem).replace("numpy boolean", "cupy boolean")
            # CuPy still says what NumPy once said.
            return TypeError(
                text.replace("is not supported, use the bitwise", "is deprecated, use the bitwise")
            )
        return TypeError(f"Wrong type ({tuple(np.dtype(kind) for kind in key)}) of arguments for {self.name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Apply the function.

        Parameters
        ----------
        args
            Arrays on the device and numbers; after them the output arrays, if any.
        out
            Array, or tuple of arrays, to write to.
        dtype
            Dtype of the result.
        casting
            Which conversions to the dtype of `out` are allowed; "same_kind" by default.

        Returns
        -------
        ndarray or tuple of ndarray
            Of the broadcast shape; without axes if all arguments are numbers.

        Raises
        ------
        TypeError
            For NumPy arrays, lists and other objects: "Unsupported type ...".
        ValueError
            If the shapes do not fit.
        """
        if kwargs or len(args) != self.nin:
            return self._call_with(args, kwargs)
        hosts, key, template = [], [], None
        for value in args:
            if isinstance(value, Base):
                array = value._array
                if type(value) is not Base._final:
                    template = template or [value]
                hosts.append(array)
                key.append(array.dtype)
            elif type(value) in NUMBERS:
                if type(value) is int and not -(1 << 63) <= value < 1 << 63:
                    return self._call_with(args, kwargs)
                hosts.append(value)
                key.append(_WEAK.get(type(value)) or np.dtype(type(value)))
            else:
                return self._call_with(args, kwargs)
        try:
            dtypes = self._dtypes(tuple(key))
        except TypeError:
            _shape_of(hosts)  # CuPy looks at the shapes first
            raise
        outs = self._new_outputs(hosts, dtypes)
        self._compute(hosts, outs)
        if template:
            made = tuple(adopt_like(out, *template) for out in outs)
            return made[0] if self.nout == 1 else made
        return adopt(outs[0]) if self.nout == 1 else tuple(adopt(out) for out in outs)

    def _new_outputs(self, hosts: list[Any], dtypes: tuple[np.dtype, ...]) -> list[np.ndarray]:
        shape = _shape_of(hosts)
        return [new_array(shape, dtype) for dtype in dtypes]

    def _compute(self, hosts: list[Any], outs: list[np.ndarray], casting: str = "same_kind") -> None:
        if events.listening and outs[0].size:
            events.operated(self.name.removeprefix("cupy_"))
        with np.errstate(all="ignore"):
            if self._is_numpys:
                if self._numpy in _NOT_COMPLEX:
                    # Of CuPy's logical operations only this one is no comparison, which takes every integer.
                    for number, other in (hosts, hosts[::-1]) if self._numpy is np.logical_xor else ():
                        if type(number) is int and -(1 << 63) <= number < 1 << 63:
                            check_fits(number, np.asarray(other).dtype)
                    hosts = [bool(host) if type(host) is int else host for host in hosts]
                if self._numpy in _FLOORED and outs[0].dtype.kind == "f":
                    _floor_divide(self._numpy, *hosts, outs)
                    return
                if self._numpy is np.true_divide and outs[0].dtype.kind == "c":
                    _divide_complex(*hosts, outs[0])
                    return
                if self._numpy is np.ldexp:  # the exponent is an int in C
                    hosts = [hosts[0], np.asarray(hosts[1]).astype(np.int32)]
                if self._numpy is np.reciprocal and outs[0].dtype.kind in "iu":  # that of 0 is 0
                    outs[0][...] = np.where(np.abs(hosts[0]) == 1, hosts[0], 0)
                    return
                try:
                    self._numpy(*hosts, out=tuple(outs), casting=casting)
                except ValueError:
                    if self._numpy is not np.power:
                        raise
                    _power_of_integers(*hosts, outs[0])
            else:
                outs[0][...] = self._numpy(*hosts)

    def _call_with(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        for value in args:
            if hasattr(value, "__cupy_override_elementwise_kernel__"):
                return value.__cupy_override_elementwise_kernel__(self, *args, **kwargs)
        out, dtype = kwargs.pop("out", None), kwargs.pop("dtype", None)
        casting, where = kwargs.pop("casting", "same_kind"), kwargs.pop("_where", None)
        if kwargs:
            raise TypeError(f"Wrong arguments {kwargs}")
        if not self.nin <= len(args) <= self.nargs:
            raise TypeError(
                f"Wrong number of arguments for {self.name!r}. It must be either {self.nin} or {self.nargs} "
                f"(with outputs), but given {len(args)}."
            )
        inputs, given = args[: self.nin], args[self.nin :]
        if out is not None:
            if given:
                raise ValueError("Cannot specify 'out' as both a positional and keyword argument")
            if isinstance(out, tuple):
                if len(out) != self.nout:
                    raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
                given = out
            elif self.nout != 1:
                raise ValueError("'out' must be a tuple of arrays")
            else:
                given = (out,)
        hosts = [operand(value) for value in inputs]
        if all(type(host) is int or np.asarray(host).dtype == bool for host in hosts):
            # Beside booleans a large integer is a uint64; NumPy takes an int64.
            hosts = [np.uint64(host) if type(host) is int and host >= 1 << 63 else host for host in hosts]
        for each in given:
            if each is not None and not isinstance(each, Base):
                if isinstance(each, np.ndarray):
                    raise unsupported(each)
                raise TypeError("Output arguments type must be cupy.ndarray")
        given = (*given, *(None,) * (self.nout - len(given)))
        key = tuple(_WEAK.get(type(host)) or np.asarray(host).dtype for host in hosts)
        if dtype is not None:
            dtype = np.dtype(dtype)
            if not _fits(self, dtype):
                raise TypeError(f"Wrong type ({dtype}) of arguments for {self.name}")
            hosts = [converted(np.asarray(host), dtype).astype(dtype) for host in hosts]
            key = tuple(np.asarray(host).dtype for host in hosts)
            dtypes = tuple(dtype for _ in range(self.nout))
        else:
            try:
                dtypes = self._dtypes(key)
            except TypeError:
                _shape_of([*hosts, *(each._array for each in given if each is not None)])
                raise
        # An input that overlaps an output is copied first by NumPy, as by CuPy.
        outs = list(given)
        for index, each in enumerate(given):
            if each is None:
                outs[index] = adopt_like(self._new_outputs(hosts, dtypes)[index], *inputs)
                continue
            if _shape_of([*hosts, each._array]) != each._array.shape:
                raise ValueError("Out shape is mismatched")
            if not np.can_cast(dtypes[index], each._array.dtype, casting):
                raise TypeError(
                    f"Cannot cast output operand from {dtypes[index]!r} to {each._array.dtype!r} "
                    f"according to the rule '{casting}'"
                )
            if casting == "unsafe" and dtypes[index].kind == "c" and each._array.dtype.kind not in "cb":
                warnings.warn(COMPLEX_TO_REAL, np.exceptions.ComplexWarning, stacklevel=3)
        # NumPy would convert as the CPU does.
        own = [
            np.empty(each._array.shape, dtype)
            if dtype.kind in "fc" and each._array.dtype.kind in "iu"
            else each._array
            for each, dtype in zip(outs, dtypes, strict=True)
        ]
        self._compute_into(hosts, own, casting, where)
        for computed, each in zip(own, outs, strict=True):
            if computed is not each._array:
                cast(computed, each._array)
        return outs[0] if self.nout == 1 else tuple(outs)

    def _compute_into(self, hosts: list[Any], outs: list[np.ndarray], casting: str, where: Any) -> None:
        if where is None:
            self._compute(hosts, outs, casting)
            return
        mask = operand(where)
        events.operated(self.name.removeprefix("cupy_"))
        with np.errstate(all="ignore"):
            self._numpy(*hosts, out=tuple(outs), casting=casting, where=mask)

    def outer(self, A: Any, B: Any, **kwargs: Any) -> Any:
        """Apply the function to every pair of an element of `A` and one of `B`."""
        A, B = array(A, copy=None), array(B, copy=None)
        shapes = A.shape + (1,) * B.ndim, (1,) * A.ndim + B.shape
        return self(A.reshape(shapes[0]), B.reshape(shapes[1]), **kwargs)

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        """Apply the function in place to the elements at some indices, once for each occurrence of an index.

        Raises
        ------
        NotImplementedError
            For all but add, subtract, maximum, minimum and the three bitwise ones, as in CuPy.
        """
        if self.name.removeprefix("cupy_") not in _AT:
            raise NotImplementedError(f"`{self.name}.at` is not supported yet")
        scatter(a, indices, b, self._numpy)

    def reduce(
        self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        """Return `array.sum` or `array.prod`; CuPy has no other `reduce`."""
        method = self._method({"cupy_add": "sum", "cupy_multiply": "prod"}, "reduce", array)
        return method(axis, dtype, out, keepdims)

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Return `array.cumsum` or `array.cumprod`; CuPy has no other `accumulate`."""
        return self._method({"cupy_add": "cumsum", "cupy_multiply": "cumprod"}, "accumulate", array)(
            axis, dtype, out
        )

    def reduceat(self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Return the sums of slices that start at the indices; CuPy has it for `add` only."""
        if self.name != "cupy_add":
            raise NotImplementedError(f"`{self.name}.reduceat` is not supported yet")
        places = operand(indices) if isinstance(indices, Base) else indices
        return wrap(np.add.reduceat(operand(array), places, axis, dtype))

    def _method(self, names: dict[str, str], what: str, array: Any) -> Any:
        if self.name not in names:
            raise NotImplementedError(f"`{self.name}.{what}` is not supported yet")
        return getattr(array, names[self.name])


# NumPy has these for complex numbers, CuPy does not.
_NOT_COMPLEX = (np.logical_and, np.logical_or, np.logical_xor, np.logical_not)
_AT = ("add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor")


def _fits(function: ufunc, dtype: np.dtype) -> bool:
    """Return whether inputs of a dtype give results of it, so that computing in it is what `dtype` asks for."""
    try:
        return function._dtypes((dtype,) * function.nin)[0] == dtype
    except TypeError:
        return False


def _shape_of(hosts: list[Any]) -> tuple[int, ...]:
    shape: tuple[int, ...] = ()
    for host in hosts:
        if isinstance(host, np.ndarray) and host.shape != shape and host.ndim:
            if shape == ():
                shape = host.shape
                continue
            try:
                shape = np.broadcast_shapes(shape, host.shape)
            except ValueError:
                raise shapes_differ(*(each.shape for each in hosts if isinstance(each, np.ndarray))) from None
    return shape


_FLOORED = (np.floor_divide, np.remainder, np.divmod)


def _floor_divide(function: np.ufunc, dividend: Any, divisor: Any, outs: list[np.ndarray]) -> None:
    """Compute floor quotients and remainders of floats as CuPy does: floor(a / b) with a rounded quotient, a - q * b.

    NumPy's quotient is exact: 1.0 // 0.1 is 10 here and 9 there (carray.cuh, `_floor_divide`).
    """
    dtype = np.promote_types(outs[0].dtype, np.float32)
    a, b = np.asarray(dividend, outs[0].dtype).astype(dtype), np.asarray(divisor, outs[0].dtype).astype(dtype)
    quotient = np.floor(a / b)
    if function is not np.remainder:
        outs[0][...] = quotient
    if function is not np.floor_divide:
        outs[-1][...] = a - quotient * b


def _divide_complex(dividend: Any, divisor: Any, out: np.ndarray) -> None:
    """Divide complex numbers as CuPy does (complex/arithmetic.h): the result of a division by zero is NaN throughout."""
    a, b = np.asarray(dividend, out.dtype), np.asarray(divisor, out.dtype)
    scale = 1 / np.asarray(np.abs(b.real) + np.abs(b.imag))
    a_real, a_imag, b_real, b_imag = a.real * scale, a.imag * scale, b.real * scale, b.imag * scale
    scale = 1 / (b_real * b_real + b_imag * b_imag)
    real, imag = a_real * b_real + a_imag * b_imag, a_imag * b_real - a_real * b_imag
    out.real, out.imag = real * scale, imag * scale


def _power_of_integers(base: Any, exponent: Any, out: np.ndarray) -> None:
    """Compute integer powers. A negative exponent gives ±1 for the bases 1 and -1, and 0 otherwise (CuPy's rule)."""
    base, exponent = np.broadcast_arrays(np.asarray(base), np.asarray(exponent))
    negative = exponent < 0
    result = np.power(base, np.where(negative, 0, exponent))
    units = np.where(base == 1, 1, np.where(base == -1, np.where(exponent % 2 == 0, 1, -1), 0))
    out[...] = np.where(negative, units, result)


def _sign(x: Any) -> Any:
    return np.sign(np.asarray(x).astype(np.int8) if np.asarray(x).dtype == bool else x)


def _fix(x: Any) -> Any:
    x = np.asarray(x)
    if x.dtype.kind == "c":
        raise WrongType
    return np.fix(x) if x.dtype.kind == "f" else x


def _sinc(x: Any) -> Any:
    """Return sin(πx) / (πx), exactly 0 at integers: CuPy calls `sinpi`."""
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return np.sinc(x)
    near = np.abs(x) > 1e-9
    with np.errstate(all="ignore"):
        sine = np.where(np.isfinite(x) & (x == np.rint(x)), 0, np.sin(np.pi * np.remainder(x, 2)))
        return np.where(near, sine / np.where(near, np.pi * x, 1), 1)


def _of_floats(function: Any, name: str = "") -> Any:
    """Let a function return the dtype of its argument; an integer argument gives the float dtype of `numpy.exp`."""

    def call(x: Any) -> Any:
        x = np.asarray(x)
        dtype = np.exp.resolve_dtypes((x.dtype, None))[1]
        return function(x.astype(dtype)).astype(dtype)

    call.__name__ = name or function.__name__
    return call


# NumPy's names, which are CuPy's as well; after a colon, further names of the same function.
_NAMES = """
absolute:abs add arccos:acos arccosh:acosh arcsin:asin arcsinh:asinh arctan:atan arctan2:atan2 arctanh:atanh
bitwise_and bitwise_or bitwise_xor cbrt ceil conjugate:conj copysign cos cosh deg2rad:radians divmod equal exp exp2
expm1 fabs float_power floor floor_divide fmax fmin fmod frexp gcd greater greater_equal heaviside hypot
invert:bitwise_invert:bitwise_not isfinite isinf isnan lcm ldexp left_shift:bitwise_left_shift less less_equal log
log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor maximum minimum modf multiply
negative nextafter not_equal positive power:pow rad2deg:degrees reciprocal remainder:mod
right_shift:bitwise_right_shift rint signbit sin sinh sqrt square subtract tan tanh true_divide:divide trunc
"""

ALL: dict[str, ufunc] = {}
for _group in _NAMES.split():
    _name, *_others = _group.split(":")
    _function = getattr(np, _name)
    ALL[_name] = ufunc(f"cupy_{_name}", _function, _function.nin, _function.nout)
    ALL.update({_other: ALL[_name] for _other in _others})
if hasattr(np, "bitwise_count"):
    ALL["bitwise_count"] = ufunc("cupy_bitwise_count", np.bitwise_count, 1)
for _name, _function in {
    "fix": _fix,
    "i0": _of_floats(np.i0),
    "sign": _sign,
    "sinc": _of_floats(_sinc, "sinc"),
}.items():
    ALL[_name] = ufunc(f"cupy_{_name}", _function, 1)
globals().update(ALL)
