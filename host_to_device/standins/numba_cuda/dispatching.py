"""`cuda.jit`, which makes kernels and device functions, and the overloads that a kernel has."""

from __future__ import annotations

import functools
import linecache
import math
import pickle
import reprlib
import sys
import types
import uuid
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from host_to_device.hardware.launch_limits import MAX_BLOCK, MAX_THREADS
from host_to_device.standins.numba_cuda import (
    inferring,
    layouts,
    random,
    reading,
    rewriting,
)
from host_to_device.standins.numba_cuda.devices import get_current_device
from host_to_device.standins.numba_cuda.interpreting import (
    interpreted,
    lane_helpers,
)
from host_to_device.standins.numba_cuda.launching import (
    Compiled,
    Launch,
    dimensions,
    most_blocks_at_once,
    static_shared,
)
from host_to_device.standins.numba_cuda.numbas_types import Array, of_dtype
from host_to_device.standins.numba_cuda.settings import HAS_NUMBA

# Further options of cuda.jit, which do not change results.
ACCEPTED = {
    *("fastmath", "max_registers", "fma", "forceinline", "nopython", "extensions", "boundscheck"),
    *("launch_bounds", "min_blocks_per_sm", "lto", "abi", "abi_info", "shared_memory_carveout"),
}


def check_launch_bounds(bounds: Any) -> tuple[int, ...]:
    """Return the numbers of `launch_bounds`.

    Raises
    ------
    TypeError, ValueError
        If it is neither a positive integer nor a tuple of at most three.
    """
    if bounds is None:
        return ()
    numbers = tuple(bounds) if isinstance(bounds, tuple | list) else (bounds,)
    if len(numbers) > 3:
        raise ValueError(
            f"Got {len(numbers)} launch bounds: {bounds}. A maximum of three are supported: "
            "(max_threads_per_block, min_blocks_per_sm, max_blocks_per_cluster)"
        )
    for number in numbers:
        if type(number) is not int:
            raise TypeError(f"launch_bounds={bounds!r}: give integers, such as launch_bounds=(256, 2)")
    if numbers and numbers[0] == 0:
        raise ValueError(f"launch_bounds={bounds!r} allows no thread in a block")
    return numbers


def check_carveout(value: Any) -> None:
    """Refuse a share of shared memory that Numba refuses.

    Raises
    ------
    ValueError
        If it is neither a percentage, nor -1, nor one of Numba's words.
    """
    if value is None or (isinstance(value, str) and value.lower() in ("default", "maxl1", "maxshared")):
        return
    if isinstance(value, str) or not isinstance(value, int):
        raise ValueError(
            f"Invalid carveout value: {value!r}: give a percentage, 'default', 'maxl1' or 'maxshared'"
        )
    if not -1 <= value <= 100:
        raise ValueError(f"shared_memory_carveout must be between -1 and 100, got {value}")


def warn_of_debugging(debug: bool, opt: bool, lineinfo: bool) -> None:
    """Give Numba's warnings for options that do not go together, if Numba is installed."""
    if not debug or not HAS_NUMBA:
        return
    from numba.core.errors import NumbaInvalidConfigWarning

    if opt:
        warnings.warn(
            NumbaInvalidConfigWarning(
                "debug=True with opt=True is not supported by CUDA. This may result in a crash - set debug=False or "
                "opt=False."
            ),
            stacklevel=3,
        )
    if lineinfo:
        warnings.warn(
            NumbaInvalidConfigWarning(
                "debug and lineinfo are mutually exclusive. Use debug to get full debug info (this disables some "
                "optimizations), or lineinfo for line info only with code generation unaffected."
            ),
            stacklevel=3,
        )


def of_configuration(name: str, plain: bool) -> bool:
    """Return an option that Numba's configuration sets, such as `NUMBA_CUDA_DEBUGINFO=1`; `plain` without Numba."""
    if not HAS_NUMBA:
        return plain
    from numba.core import config

    return bool(getattr(config, name, plain))


def is_device_function(value: Any) -> bool:
    """Return whether an object is a device function, of the stand-in or of Numba, which kernels can call."""
    if type(value).__module__.startswith("numba.cuda") and hasattr(value, "py_func"):
        return True
    return isinstance(value, CUDADispatcher) or any(value is each for each in random.DEVICE_FUNCTIONS)


class CUDADispatcher:
    """A function decorated with `cuda.jit`: a kernel, or a device function that kernels call."""

    successor = False  # whether it belongs to numba_cuda_mlir

    def __init__(
        self,
        py_func: Callable,
        device: bool,
        signatures: list,
        options: dict[str, Any] | None = None,
        warp_size: int = rewriting.WARP_SIZE,
    ) -> None:
        functools.update_wrapper(self, py_func)
        self.warp_size = warp_size
        self.py_func, self.device = py_func, device
        self.targetoptions = options or {}  # Numba's name; the options change nothing here
        self.launch_bounds = check_launch_bounds(self.targetoptions.get("launch_bounds"))
        self.given_signatures = signatures
        if signatures and HAS_NUMBA:
            from host_to_device.standins.numba_cuda.signatures import check

            check(py_func, signatures, device)
        self.launchers: dict[Any, Compiled | None] = {}
        self.specialized = (
            len(signatures) == 1 and not device
        )  # what one signature makes is for its types alone
        self.specializations: dict[tuple, CUDADispatcher] = {}
        self.seen: dict[tuple, None] = {}  # types of arguments that no compiled function is for
        self.warned = False  # whether the user was warned that its threads disagree at a barrier
        self.number = ""  # by which one that is pickled is known
        self.interpreting = 0.0  # seconds that small launches have taken interpreted
        self._program: rewriting.Program | None = None
        self._interpreted: dict[tuple, tuple[rewriting.Program, Callable]] = {}

    def __repr__(self) -> str:
        kind = "device function" if self.device else "kernel"
        return f"<stand-in {kind} {self.py_func.__name__}>"

    def __reduce__(self) -> str | tuple:
        """Pickle by name, as Python does with functions; by value what a function or a notebook holds, as Numba does."""
        found: Any = sys.modules.get(self.__module__)
        for part in self.__qualname__.split("."):
            found = getattr(found, part, None)
        if not HAS_NUMBA or (found is self and self.__module__ != "__main__"):
            return self.__qualname__
        from numba import cloudpickle

        self.number = self.number or uuid.uuid4().hex
        pickled[self.number] = self
        code = self.py_func.__code__
        values = self.device, self.given_signatures, self.targetoptions, self.warp_size
        source = code.co_filename, linecache.getlines(code.co_filename)
        return unpickled, (self.number, cloudpickle.dumps(self.py_func), source, values, type(self))

    def __deepcopy__(self, _: Any) -> CUDADispatcher:
        """Return the kernel itself, as Python does with functions."""
        return self

    def __copy__(self) -> CUDADispatcher:
        """Return the kernel itself, as Python does with functions."""
        return self

    @property
    def program(self) -> rewriting.Program:
        """The rewritten kernel, made on first use, so that its names may be defined after the kernel."""
        if self._program is None:
            self._program = self.program_for(self.warp_size)
            self._program.debug = bool(self.targetoptions.get("debug"))
        return self._program

    def program_for(self, warp_size: int) -> rewriting.Program:
        """Return the kernel rewritten for warps of this size."""
        return rewriting.program(self.py_func, is_device_function, warp_size, self.successor)

    def interpreted(self, values: tuple, shared: list) -> tuple[rewriting.Program, Callable]:
        """Return the program with Numba's types for these arguments, and as a Python function."""
        kinds = inferring.kinds_of(values)
        if kinds not in self._interpreted:
            program = inferring.typed(self.program, values, shared)
            self._interpreted[kinds] = program, interpreted(program, lane_helpers(self.warp_size))
        return self._interpreted[kinds]

    def check_signatures(self) -> None:
        """Refuse now what Numba refuses when it compiles the kernel for its signatures.

        Raises
        ------
        TypeError
            If the kernel uses something that kernels cannot use; Numba's TypingError where Numba is installed.
        """
        program = self.program
        for kinds in self.declared_types():
            dtypes = [declared_dtype(each) for each in kinds]
            arrays = rewriting.of_types(program.shared, program.kernel.parameters, dtypes)
            self.refuse_unaligned_fields(dtypes, arrays, kinds)
            inferring.check(program, [of_declared(*each) for each in zip(kinds, dtypes, strict=True)], arrays)

    def refuse_unaligned_fields(self, dtypes: list, arrays: list, kinds: tuple) -> None:
        """Refuse a kernel that uses a record's field that is not aligned, before it runs interpreted.

        Only Numba's compiler knows which fields a kernel uses, so it compiles the kernel.

        Parameters
        ----------
        dtypes
            The dtypes of the arguments.
        arrays
            The kernel's shared arrays.
        kinds
            Numba's types of the arguments.

        Raises
        ------
        numba.core.errors.TypingError
            With the words of Numba's compiler for CUDA, in one line that names the learner's line.
        """
        used = [*arrays, *self.program.constants.values()]
        every = [
            *dtypes,
            *(each if isinstance(each, np.dtype) else getattr(each, "dtype", None) for each in used),
        ]
        if not any(map(layouts.has_unaligned_field, every)):
            return
        from numba.core import errors

        twin = type(self)(self.py_func, False, [])  # compiled warps have 32 lanes
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it runs interpreted, as it does
                twin.compile_for(kinds, arrays)
        except errors.TypingError as problem:
            if "is not aligned" in str(problem):
                raise

    def compile_for(self, kinds: tuple, arrays: list) -> Compiled | None:
        """Return the compiled launch function for Numba's types of the arguments; None if only the interpreter can run it."""
        from numba.core import errors

        from host_to_device.standins.numba_cuda import compiling, explaining

        module = compiling.Module(self.program, arrays)
        try:
            return Compiled(*compiling.load(module, kinds))
        except compiling.NotCompilable as reason:
            warnings.warn(
                f"{self.__name__}() runs interpreted, which is slow, because {reason}", stacklevel=5
            )
            return None
        except errors.NumbaError as problem:
            raise explaining.explain(problem, module) from None

    @property
    def overloads(self) -> dict[tuple, Overload]:
        """The kernel for each signature, and for the types of each launch; without Numba there are no types."""
        found = dict.fromkeys((*self.declared_types(), *self.launchers, *self.seen))
        return {kinds: Overload(self, kinds) for kinds in found}

    def declared_types(self) -> list[tuple]:
        """Return the types of the arguments in each signature with which the kernel was made."""
        if not self.given_signatures or not HAS_NUMBA:
            return []
        from host_to_device.standins.numba_cuda.signatures import read

        return [each.args for each in read(self.given_signatures)]

    @property
    def signatures(self) -> list:
        """The types of the arguments of each overload."""
        return list(self.overloads)

    @property
    def nopython_signatures(self) -> list:
        """The signature of each overload."""
        return [each.signature for each in self.overloads.values()]

    def compile(self, sig: Any) -> Overload:
        """Return the kernel for a signature."""
        from host_to_device.standins.numba_cuda.signatures import check, read

        check(self.py_func, [sig], self.device)
        [found] = read([sig])
        self.seen[found.args] = None
        return Overload(self, found.args)

    def __call__(self, *arguments: Any, **_: Any) -> Any:
        if self.device:
            raise TypeError(f"{self.__name__}() is a device function: only kernels can call it")
        raise ValueError(
            "Kernel launch configuration was not specified. Use the syntax: "
            f"{self.__name__}[blockspergrid, threadsperblock](arg0, arg1, ..., argn)"
        )

    def __getitem__(self, configuration: Any) -> Launch:
        if self.device:
            raise RuntimeError(
                f"Cannot compile a device function as a kernel: {self.__name__}() is for kernels to call"
            )
        if not isinstance(configuration, tuple) or len(configuration) not in (2, 3, 4):
            raise ValueError("must specify at least the griddim and blockdim")
        return Launch(self, *configuration)

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> Launch:
        return Launch(self, griddim, blockdim, stream, sharedmem)

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Callable:
        """Return a launch over at least `ntasks` threads, with a block size that the stand-in chooses."""
        if not isinstance(ntasks, int | np.integer):
            raise TypeError(f"forall() takes the number of tasks as an integer, got {ntasks!r}")
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        threads = tpb or min(256, max(1, ntasks))
        one_block = Launch(self, 1, threads, stream, sharedmem)
        if ntasks == 0:
            return lambda *arguments: None
        return Launch(self, -(-ntasks // one_block.block[0]), threads, stream, sharedmem)

    def specialize(self, *arguments: Any) -> CUDADispatcher:
        """Return a kernel for the types of these arguments alone.

        Raises
        ------
        RuntimeError
            If it is one already.
        """
        if self.specialized:
            raise RuntimeError("Dispatcher already specialized")
        if not HAS_NUMBA:
            return self
        from numba import typeof

        kinds = tuple(typeof(getattr(each, "_array", each)) for each in arguments)
        key = get_current_device().compute_capability, kinds
        if key not in self.specializations:
            made = type(self)(self.py_func, self.device, [], self.targetoptions, self.warp_size)
            made.seen[kinds], made.specialized = None, True
            self.specializations[key] = made
        return self.specializations[key]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"the stand-in's kernels have no {name}: it belongs to code compiled for a GPU"
            if name.startswith(("inspect", "get_", "max_cooperative"))
            else f"'CUDADispatcher' object has no attribute {name!r}"
        )


pickled: weakref.WeakValueDictionary[str, CUDADispatcher] = weakref.WeakValueDictionary()


def unpickled(
    number: str,
    function: bytes,
    source: tuple[str, list[str]],
    values: tuple[bool, list, dict, int],
    kind: type[CUDADispatcher] = CUDADispatcher,
) -> CUDADispatcher:
    """Return the kernel or device function that was pickled by value: the same one in the same process."""
    if number not in pickled:
        name, lines = source
        if not linecache.getlines(name):
            linecache.cache[name] = sum(map(len, lines)), None, lines, name
        made = kind(pickle.loads(function), *values)
        made.number = number
        pickled[number] = made
        return made
    return pickled[number]


class Overload:
    """A kernel for one signature: what of it a program can ask on the stand-in."""

    max_threads_per_block = MAX_THREADS

    def __init__(self, kernel: CUDADispatcher, argument_types: tuple) -> None:
        self.kernel, self.argument_types = kernel, argument_types
        self.entry_name = kernel.__name__

    @property
    def signature(self) -> Any:
        """The signature, with `void` as its result."""
        from numba.core import types, typing

        return typing.signature(types.void, *self.argument_types)

    @property
    def cooperative(self) -> bool:
        """Whether the kernel asks for the group of the whole grid."""
        return self.kernel.program.cooperative

    @property
    def shared_mem_per_block(self) -> int:
        """The bytes of a block's static shared memory."""
        return static_shared(self.kernel.program.shared)

    def max_cooperative_grid_blocks(self, blockdim: Any, dynsmemsize: int = 0) -> int:
        """Return how many blocks can be on the device at once, which is the largest grid that can wait together.

        It is a T4's number if registers do not limit it, which only a GPU's compiler knows.
        """
        threads = math.prod(dimensions(blockdim, "blockdim", MAX_BLOCK))
        return most_blocks_at_once(threads, self.shared_mem_per_block + dynsmemsize)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the stand-in's kernels have no {name}: it belongs to code compiled for a GPU")


def declared_dtype(kind: Any) -> np.dtype | None:
    """Return the dtype of a signature's number, or of its array's elements; None of any other argument."""
    try:
        return layouts.as_dtype(getattr(kind, "dtype", kind))
    except (TypeError, NotImplementedError):
        return None


def of_declared(kind: Any, dtype: np.dtype | None) -> Any:
    """Return the type of a signature's argument, as `inferring` knows it; None if it has none."""
    if dtype is None or not hasattr(kind, "ndim"):
        return None if dtype is None else of_dtype(dtype)
    return Array(of_dtype(dtype), kind.ndim)


def jit(
    func_or_sig: Any = None,
    device: bool = False,
    inline: bool = False,
    link: list | None = None,
    debug: bool | None = None,
    opt: bool | None = None,
    lineinfo: bool = False,
    cache: bool = False,
    **kws: Any,
) -> Any:
    """Make a kernel, or with `device=True` a function that kernels call.

    Parameters
    ----------
    func_or_sig
        The function. Or a signature such as `"void(float32[:], int32)"`, or a list of signatures; then the result is
        a decorator for the function.
    device
        Whether it is a device function, which kernels call.
    inline, debug, opt, lineinfo, cache, kws
        Numba's options for the GPU's compiler (also `fastmath`, `max_registers`, …). They change nothing here.
    link
        Files to link with the kernel; the stand-in can link none.

    Raises
    ------
    NotImplementedError
        For `boundscheck=True`, which Numba also refuses for CUDA, and for `link` and `extensions`.
    TypeError
        If `func_or_sig` is neither a function nor a signature, or for an option that Numba does not have.
    """
    if kws.get("boundscheck"):
        raise NotImplementedError("bounds checking is not supported for CUDA")
    if link:
        raise NotImplementedError("the stand-in cannot link PTX or CUDA C++ into a kernel")
    if kws.get("extensions"):
        raise NotImplementedError("the stand-in has no extensions of kernels' arguments")
    debug = of_configuration("CUDA_DEBUGINFO_DEFAULT", False) if debug is None else debug
    opt = of_configuration("OPT", True) if opt is None else opt
    check_carveout(kws.get("shared_memory_carveout"))
    warn_of_debugging(debug, opt, lineinfo)
    if unknown := sorted(set(kws) - ACCEPTED):
        raise TypeError(f"cuda.jit() has no option {unknown[0]!r}")
    if isinstance(func_or_sig, list | str | tuple) or type(func_or_sig).__name__ == "Signature":
        signatures = func_or_sig if isinstance(func_or_sig, list) else [func_or_sig]
    else:
        signatures = []

    def decorate(function: Any) -> CUDADispatcher:
        if hasattr(function, "py_func"):
            raise TypeError(
                f"A jit decorator was called on an already jitted function: {function.py_func.__name__}()"
            )
        if not isinstance(function, types.FunctionType):
            kind = type(function).__name__
            raise TypeError(
                f"cuda.jit decorates a function, and {reprlib.repr(function)} ({kind}) is not one"
            )
        reading.keep_source(function)
        given = {"inline": inline, "debug": debug, "opt": opt, "lineinfo": lineinfo, **kws}
        made = CUDADispatcher(function, device, signatures, given)
        if signatures and not device and HAS_NUMBA:
            made.check_signatures()
        return made

    return decorate if func_or_sig is None or signatures else decorate(func_or_sig)
