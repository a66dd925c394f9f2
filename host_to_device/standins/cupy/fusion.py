"""`cupy.fuse` without a GPU: a function's element-wise operations become one kernel.

The tracer calls the function once with variables in place of its arguments and records each operation as CUDA C++. As
in CuPy, a fused function cannot branch on values, read shapes or index. Where CuPy could fuse and this tracer cannot
(several reductions, shapes that differ), the function runs step by step: slower, with the same result.
"""

from __future__ import annotations

import contextlib
import functools
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from host_to_device.standins.cupy import launching, operations
from host_to_device.standins.cupy.base import Base
from host_to_device.standins.cupy.cuda.compiler import CompileException
from host_to_device.standins.cupy.elementwise import ElementwiseKernel
from host_to_device.standins.cupy.generated import type_name
from host_to_device.standins.cupy.parameters import broadcast_shape
from host_to_device.standins.cupy.reduction import ReductionKernel
from host_to_device.standins.cupy.tracing import NUMBERS, CannotFuse, Reduction, Trace, _VariableProxy

# Functions of CuPy that a fused function may call, besides universal functions.
NOT_UFUNCS = (
    "nansum",
    "nanprod",
    "where",
    "clip",
    "copy",
    "get_array_module",
    "sum",
    "prod",
    "max",
    "min",
    "amax",
    "amin",
    "any",
    "all",
)
# Those that this tracer does not fuse, although CuPy does: the function then runs step by step.
STEP_BY_STEP = ("around", "round", "round_", "real", "imag", "angle", "nan_to_num", "real_if_close")
one_at_a_time = threading.RLock()


@contextlib.contextmanager
def traced_names(trace: Trace) -> Iterator[None]:
    """Let CuPy's functions record themselves in the trace while their arguments are its variables."""
    package = Base._package
    space, before = vars(package), {}

    def stand_in(name: str, original: Callable) -> Callable:
        def call(*operands: Any, **options: Any) -> Any:
            if not any(isinstance(each, _VariableProxy) for each in (*operands, *options.values())):
                return original(*operands, **options)
            if name in STEP_BY_STEP:
                raise CannotFuse(name)
            if name == "get_array_module":
                return package
            if name == "copy":
                return operands[0].copy()
            if name in ("where", "clip"):
                return trace.call(name, *operands, **options)
            # A fused nansum counts NaN like any number, as CuPy's does: it takes over only how values are combined.
            return operands[0]._reduce(name.removeprefix("nan"), *operands[1:], **options)

        return call

    with one_at_a_time:
        for name in (*NOT_UFUNCS, *STEP_BY_STEP):
            if name in space:
                before[name] = space[name]
                space[name] = stand_in(name, before[name])
        try:
            yield
        finally:
            space.update(before)


def _as_new(result: Any) -> Any:
    """Return a function's result with a copy in the place of a view: a fused kernel returns new arrays."""
    if isinstance(result, tuple):
        return tuple(map(_as_new, result))
    return result.copy() if isinstance(result, Base) and result.base is not None else result


class Fusion:
    """A function that `cupy.fuse` has wrapped.

    Attributes
    ----------
    func
        The function.
    name
        The kernel's name.
    """

    def __init__(self, func: Callable, name: str | None = None) -> None:
        self.func, self.name = func, name or func.__name__
        self._memo: dict[tuple, Any] = {}

    def __repr__(self) -> str:
        return f"<Fusion '{self.name}'>"

    def clear_cache(self) -> None:
        """Remove all kernels from the cache."""
        self._memo = {}

    def __call__(self, *args: Any) -> Any:
        """Run the function: as one kernel if an argument is a CuPy array, as ordinary Python otherwise.

        Raises
        ------
        TypeError
            If an argument is neither an array nor a number, or the function needs a value during tracing.
        CompileException
            If the kernel's name is not an identifier in C++, such as that of a lambda.
        """
        if any(isinstance(each, _VariableProxy) for each in args):
            return self.func(*args)
        if not any(launching.is_array(each) for each in args):
            return self.func(*args)
        if not all(
            each is None or launching.is_array(each) or isinstance(each, NUMBERS | np.ndarray)
            for each in args
        ):
            kinds = ", ".join(repr(type(each)) for each in args)
            raise TypeError(f"Invalid argument type for '{self.name}': ({kinds})")
        for each in args:
            if isinstance(each, np.ndarray):
                raise TypeError(f"Unsupported type {type(each)}")
        key = tuple(
            (each.dtype, each.ndim) if launching.is_array(each) else getattr(each, "dtype", type(each))
            for each in args
        )
        if key not in self._memo:
            self._memo[key] = self.fused(args)
        kernel = self._memo[key]
        given = [each for each in args if each is not None]
        if kernel is None or not kernel.fits(given):
            return _as_new(self.func(*args))
        return kernel.kernel(*given, **kernel.options)

    def fused(self, args: tuple) -> Fused | None:
        """Return the kernel for arguments of these types, or None if the function has to run step by step."""
        trace = Trace()
        try:
            with traced_names(trace):
                returned = self.func(*(trace.parameter(each) for each in args))
                self.check_name()
                return made(trace, returned, self.name)
        except CannotFuse:
            return None

    def check_name(self) -> None:
        """Raise CompileException for a name that is not an identifier in C++, in which CuPy writes it (CuPy issue 3517)."""
        if re.fullmatch(r"[a-zA-Z_]\w*", self.name, re.ASCII) is None:
            message = (
                f"error: expected an identifier, and the kernel's name is {self.name}. Define the function with def, or "
                "give it a name: cupy.fuse(kernel_name=…)"
            )
            raise CompileException(message, f'extern "C" __global__ void {self.name}', self.name, ())


@dataclass
class Fused:
    """The kernel of a fused function, and the conditions on its arguments."""

    kernel: Any
    options: dict[str, Any]
    arrays: list[int]  # places of the arguments that are arrays
    outputs: list[frozenset[int]]  # the arrays that each output's shape comes from
    changed: list[int]  # places of the arguments that are written to
    empty: bool = True  # whether empty arrays are allowed; a maximum or a minimum has none

    def fits(self, arguments: list[Any]) -> bool:
        """Return whether the kernel fits: all outputs have the shape of the whole loop."""
        shape = broadcast_shape([arguments[place] for place in self.arrays])
        return (
            (self.empty or 0 not in shape)
            and all(
                np.broadcast_shapes(*(arguments[place].shape for place in each)) == shape
                for each in self.outputs
            )
            and all(arguments[place].shape == shape for place in self.changed)
        )


def made(trace: Trace, returned: Any, name: str) -> Fused:
    """Return the kernel for a trace.

    Raises
    ------
    TypeError
        If the function returns a value that a kernel cannot return.
    CannotFuse
        If one kernel of this stand-in cannot do it.
    """
    results = list(returned) if isinstance(returned, tuple) else [] if returned is None else [returned]
    for each in results:
        if not isinstance(each, _VariableProxy):
            if isinstance(each, NUMBERS):
                raise CannotFuse("a constant result")
            raise TypeError(f"Fusion function can't return {type(returned)}")
    changed = [place for place, each in enumerate(trace.parameters) if each._index in trace.changed]
    inputs = ", ".join(
        f"{'_non_const ' if place in changed else ''}{each.dtype} v{each._index}"
        for place, each in enumerate(trace.parameters)
    )
    outputs = ", ".join(f"{each.dtype} out{place}" for place, each in enumerate(results))
    assign = " ".join(f"out{place} = v{each._index};" for place, each in enumerate(results))
    arrays = [place for place, each in enumerate(trace.parameters) if each.ndim >= 0]
    if trace.reduction is None:
        kernel = ElementwiseKernel(
            inputs,
            outputs,
            "\n    ".join([*trace.before, assign]),
            name,
            preamble=operations.PREAMBLE,
            return_tuple=isinstance(returned, tuple),
            no_return=returned is None,
        )
        return Fused(kernel, {}, arrays, [each._sources for each in results], changed)
    reduction = trace.reduction
    if len(results) != 1 or isinstance(returned, tuple) or changed or not results[0]._reduced:
        raise CannotFuse("a reduction with further results")
    return Fused(
        reduction_kernel(trace, reduction, results[0], inputs, name),
        {name: value for name, value in reduction.options.items() if value is not None},
        arrays,
        [reduction.operand._sources],
        [],
        reduction.name in ("sum", "prod", "any", "all"),
    )


def reduction_kernel(
    trace: Trace, reduction: Reduction, result: _VariableProxy, inputs: str, name: str
) -> ReductionKernel:
    """Return the kernel for a traced reduction, with the statements before and after it."""
    declared = ", ".join(f"{type_name(each.dtype)} v{each._index}" for each in trace.parameters)
    given = ", ".join(f"v{each._index}" for each in trace.parameters)
    kept = type_name(reduction.dtype)
    identity, combine = operations.reduction(reduction.name, reduction.dtype)
    before = "\n  ".join(trace.before)
    after = "\n  ".join(trace.after)
    preamble = f"""{operations.PREAMBLE}
__device__ {kept} fused_before({declared}) {{
  {before}
  return static_cast<{kept}>(v{reduction.operand._index});
}}
__device__ {type_name(result.dtype)} fused_after({kept} v{reduction.result}) {{
  {after}
  return v{result._index};
}}
"""
    return ReductionKernel(
        inputs,
        f"{result.dtype} out0",
        f"fused_before({given})",
        combine,
        "out0 = fused_after(a)",
        identity,
        name,
        reduce_type=kept,
        preamble=preamble,
    )


def fuse(*args: Any, **kwargs: Any) -> Any:
    """Fuse a function's element-wise operations, and a reduction of their result, into one kernel.

    Used as `@cupy.fuse`, `@cupy.fuse()` or `@cupy.fuse(kernel_name='squared_diff')`.

    Parameters
    ----------
    kernel_name
        The kernel's name; by default the function's.

    Notes
    -----
    CuPy's documentation, "Kernel fusion".
    """

    def wrapper(function: Callable, kernel_name: str | None = None) -> Fusion:
        return functools.update_wrapper(Fusion(function, kernel_name), function)

    if len(args) == 1 and not kwargs and callable(args[0]):
        return wrapper(args[0])
    return lambda function: wrapper(function, *args, **kwargs)
