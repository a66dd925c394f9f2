"""`cuda.jit`, which makes kernels and device functions, and the launch of a kernel over a grid."""

from __future__ import annotations

import contextlib
import ctypes
import enum
import functools
import linecache
import math
import pickle
import re
import reprlib
import sys
import threading
import time
import types
import uuid
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from host_to_device.hardware import gpus
from host_to_device.hardware.launch_limits import MAX_BLOCK, MAX_GRID, MAX_SHARED, MAX_THREADS
from host_to_device.standins import events
from host_to_device.standins.numba_cuda import (
    hints,
    inferring,
    layouts,
    memory,
    parallel,
    plain,
    random,
    reading,
    rewriting,
)
from host_to_device.standins.numba_cuda.devices import CudaAPIError, get_current_device
from host_to_device.standins.numba_cuda.errors import Disagreement, KernelStopped
from host_to_device.standins.numba_cuda.interpreting import (
    Interpreter,
    as_seen,
    fault_line,
    interpreted,
    lane_helpers,
    same_tuple,
    shared_arrays,
)
from host_to_device.standins.numba_cuda.names import DeviceName
from host_to_device.standins.numba_cuda.numbas_types import Array, of_dtype
from host_to_device.standins.numba_cuda.settings import HAS_NUMBA, settings_now
from host_to_device.standins.numba_cuda.streams import check_stream
from host_to_device.standins.orders import orders
from host_to_device.standins.positions import thread_of

INVALID_VALUE = 1  # CUDA_ERROR_INVALID_VALUE
COOPERATIVE_TOO_LARGE = 720  # CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
SMALL_LAUNCH = 4_096  # threads of a launch that is worth a try without compiling
SMALL_SECONDS = 0.3  # of the processor: about what compiling a kernel takes
WAITING = 4  # times as long a small launch may take on a busy machine
T4 = gpus.find("T4")  # the device's limits are a T4's
LAUNCH_FAILED = "Call to cuLaunchKernel results in CUDA_ERROR_INVALID_VALUE"

# Further options of cuda.jit, which do not change results.
ACCEPTED = {
    *("fastmath", "max_registers", "fma", "forceinline", "nopython", "extensions", "boundscheck"),
    *("launch_bounds", "min_blocks_per_sm", "lto", "abi", "abi_info", "shared_memory_carveout"),
}


@dataclass(frozen=True)
class Compiled:
    """A compiled launch function, and whether it can raise `Disagreement`."""

    function: Callable
    agree: bool


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


def static_shared(arrays: list[rewriting.SharedArray]) -> int:
    """Return the bytes of a block's shared arrays whose size the kernel states."""
    return sum(
        math.prod(each.shape) * np.dtype(each.dtype).itemsize
        for each in arrays
        if each.shape and each.captured is None and not isinstance(each.dtype, str)
    )


def most_blocks_at_once(threads: int, shared: int) -> int:
    """Return how many blocks of this size, with these bytes of shared memory, a T4 can hold at once."""
    sm = T4.architecture
    warps = -(-threads // sm.warp_size)
    active = min(sm.blocks_per_multiprocessor, sm.threads_per_multiprocessor // (warps * sm.warp_size))
    if shared:
        active = min(active, sm.shared_per_multiprocessor // (-(-shared // sm.shared_unit) * sm.shared_unit))
    return active * T4.multiprocessors


def dimensions(value: Any, name: str, limits: tuple[int, int, int] | None) -> tuple[int, int, int]:
    """Return the size of a grid or a block as three numbers.

    Parameters
    ----------
    value
        An integer, or a tuple of 1 to 3 integers.
    name
        "griddim" or "blockdim", for messages.
    limits
        The largest size along x, y and z; None for no limit.

    Raises
    ------
    ValueError, TypeError
        If `value` is neither, in the words of Numba's `normalize_kernel_dimensions`.
    CudaAPIError
        If a size is beyond its limit, in CUDA's words.
    """
    if value is None:
        raise ValueError(f"Kernel launch configuration was not specified: {name} is None")
    if isinstance(value, list | np.ndarray | dict | set):
        raise TypeError(f"{name} must be an integer or a tuple of integers, got {value!r}")
    parts = value if isinstance(value, tuple) else (value,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(f"{name} must be a sequence of 1, 2 or 3 integers, got {list(parts)!r}")
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, int | np.integer):
            raise TypeError(f"{name} must be a sequence of integers, got {list(parts)!r}")
    size = tuple(int(part) for part in parts) + (1,) * (3 - len(parts))
    for part, limit, axis in zip(size, limits or (), "xyz", strict=limits is not None):
        if not 1 <= part <= limit:
            raise CudaAPIError(
                INVALID_VALUE, f"{LAUNCH_FAILED}: {name} {axis} is {part:,}, it may be 1 to {limit:,}"
            )
    return size


class Launch:
    """A kernel with its launch configuration; a call of this object is the launch."""

    def __init__(
        self, kernel: CUDADispatcher, grid: Any, block: Any, stream: Any = 0, shared: int = 0
    ) -> None:
        self.kernel = kernel
        self.grid = dimensions(grid, "griddim", MAX_GRID)
        self.block = dimensions(block, "blockdim", MAX_BLOCK)
        threads = math.prod(self.block)
        if threads > MAX_THREADS:
            raise CudaAPIError(
                INVALID_VALUE, f"{LAUNCH_FAILED}: a block of {threads:,} threads; it may have {MAX_THREADS:,}"
            )
        if kernel.launch_bounds and 0 < kernel.launch_bounds[0] < threads:
            raise CudaAPIError(
                INVALID_VALUE,
                f"{LAUNCH_FAILED}: a block of {threads:,} threads; launch_bounds allows {kernel.launch_bounds[0]:,}",
            )
        if stream is not None:
            check_stream(stream)
        if not isinstance(shared, int | np.integer):
            raise TypeError(f"dynamic shared memory is a whole number of bytes, got {shared!r}")
        if not 0 <= shared <= MAX_SHARED:
            raise CudaAPIError(
                INVALID_VALUE,
                f"{LAUNCH_FAILED}: {shared:,} bytes of dynamic shared memory; 0 to {MAX_SHARED:,} are there",
            )
        self.stream, self.shared = stream or 0, int(shared)

    @property
    def griddim(self) -> tuple[int, int, int]:
        """Numba's name for `grid`."""
        return self.grid

    @property
    def blockdim(self) -> tuple[int, int, int]:
        """Numba's name for `block`."""
        return self.block

    def __repr__(self) -> str:
        return f"<stand-in kernel {self.kernel.__name__}: grid {self.grid}, block {self.block}>"

    def __call__(self, *arguments: Any, **by_name: Any) -> None:
        afterwards: list[tuple[str, Callable[[], None]]] = []
        self.run(self.prepare(arguments, by_name, afterwards))
        for name, copy_back in afterwards:
            try:
                copy_back()
            except ValueError as problem:
                raise ValueError(f"{self.said_of(name)} cannot be copied back: {problem}") from None

    def prepare(self, arguments: tuple, by_name: dict[str, Any], afterwards: list) -> tuple:
        """Check the launch and return the kernel's arguments.

        The copies to make after the launch are appended to `afterwards`, each with its parameter's name.
        """
        kernel, program = self.kernel, self.kernel.program
        if by_name:
            raise TypeError(
                f"{kernel.__name__}() was given {next(iter(by_name))}=: a launch takes no keyword arguments"
            )
        wanted, given = len(program.kernel.parameters), len(arguments)
        if given != wanted:
            raise TypeError(
                f"{kernel.__name__}() takes {wanted} argument{'s' * (wanted != 1)} "
                f"({', '.join(program.kernel.parameters)}), {given} {'was' if given == 1 else 'were'} given"
            )
        values = tuple(
            self.take(name, value, afterwards)
            for name, value in zip(program.kernel.parameters, arguments, strict=True)
        )
        values = self.converted(values)
        self.arrays = rewriting.of_types(
            program.shared, program.kernel.parameters, [getattr(value, "dtype", None) for value in values]
        )
        if program.cooperative:
            self.check_cooperative()
        if (
            program.successor
        ):  # refuses what numba_cuda_mlir computes otherwise, also where Numba compiles the kernel
            inferring.typed(program, values, self.arrays)
        static = static_shared(self.arrays)
        if static + self.shared > MAX_SHARED:
            raise CudaAPIError(
                INVALID_VALUE,
                f"{LAUNCH_FAILED}: {static + self.shared:,} bytes of shared memory a block; {MAX_SHARED:,} are there",
            )
        return values

    def check_cooperative(self) -> None:
        """Refuse a grid whose blocks cannot be on the device at once: they would wait for each other for ever."""
        threads, blocks = math.prod(self.block), math.prod(self.grid)
        most = most_blocks_at_once(threads, static_shared(self.arrays) + self.shared)
        if blocks > most:
            raise CudaAPIError(
                COOPERATIVE_TOO_LARGE,
                "Call to cuLaunchKernelEx results in CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: "
                f"{blocks:,} blocks of {threads:,} threads wait for each other; {most:,} of them run at once here",
            )

    def converted(self, values: tuple) -> tuple:
        """Return the arguments, converted to the kernel's signature if it has one."""
        if not self.kernel.given_signatures:
            return values
        from host_to_device.standins.numba_cuda.signatures import convert

        return convert(self.kernel.__name__, self.kernel.given_signatures, values)

    def said_of(self, name: str) -> str:
        return f"{self.kernel.__name__}(): argument {name}"

    def take(self, name: str, value: Any, afterwards: list) -> Any:
        """Return the kernel's value for one argument.

        Raises
        ------
        TypeError, ValueError, OverflowError
            If no kernel can take the argument; the message is one line that names it.
        """
        copies: list[Callable[[], None]] = []
        try:
            return self.argument(value, copies)
        except (TypeError, ValueError, OverflowError) as problem:
            raise type(problem)(f"{self.said_of(name)}: {problem}") from None
        finally:
            afterwards += [(name, each) for each in copies]

    def argument(self, value: Any, afterwards: list[Callable[[], None]]) -> Any:
        """Return the device memory or the number for one value.

        A host array is copied to the device; the copy back is appended to `afterwards`.
        """
        if isinstance(value, hints.ArgHint):
            memory.refuse_on_host(value.value, self.stream)
            return value.to_device(afterwards, self.stream)._array
        if memory.is_device_memory(value):
            _check_dtype(value.dtype)
            return value._array
        if isinstance(value, np.ndarray):
            if isinstance(value, np.ma.MaskedArray):
                raise TypeError("Unsupported array type: numpy.ma.MaskedArray")
            layouts.refuse_objects(value.dtype)
            _check_dtype(value.dtype)
            memory.refuse_on_host(value, self.stream)
            host = np.asarray(value)
            device, fresh = memory.auto_device(host, self.stream)
            if fresh:
                afterwards.append(lambda: device.copy_to_host(host, self.stream))
            return device._array
        if isinstance(value, np.void) and value.dtype.names:
            record, _ = memory.auto_device(value, self.stream)
            afterwards.append(lambda: _copy_back(record.copy_to_host(stream=self.stream), value))
            return record._array
        if isinstance(value, bool | int | float | complex | np.generic):
            if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
                raise OverflowError(f"{value} is too large for 64 bits")
            if isinstance(value, np.generic):
                _check_dtype(value.dtype)
            return value
        if memory.is_cuda_array(value):
            return memory.as_cuda_array(value)._array
        if isinstance(value, enum.Enum):
            return value
        if isinstance(value, tuple):
            return same_tuple(value, [self.argument(each, afterwards) for each in value])
        advice = ": make it an array with np.array" if isinstance(value, list | range) else ""
        if is_device_function(value) or isinstance(value, DeviceName | types.FunctionType):
            advice = ": a kernel calls a function by its name, and can give it to a device function"
        if type(value).__module__ == "torch" and type(value).__name__ == "Tensor":
            advice = ": give x.numpy(), or move it to the GPU first"
        kind = "None" if value is None else f"of type {type(value).__name__}"
        raise TypeError(f"it is {kind}, and a kernel takes arrays, numbers and tuples of them{advice}")

    # -- running

    def refuse_unaligned_fields(self, values: tuple) -> None:
        """Refuse a kernel that uses a record's field that is not aligned; without Numba, nothing is refused."""
        if HAS_NUMBA:
            from numba import typeof

            dtypes = [getattr(each, "dtype", None) for each in _flat(values)]
            kinds = tuple(typeof(_as_compiled(each)) for each in values)
            self.kernel.refuse_unaligned_fields(dtypes, self.arrays, kinds)

    def note_types(self, values: tuple) -> None:
        """Take note of the types of a launch that is interpreted, for `kernel.overloads`."""
        if HAS_NUMBA:
            from numba import typeof

            self.kernel.seen[tuple(typeof(_as_compiled(value)) for value in values)] = None

    def run(self, values: tuple) -> None:
        now = settings_now()
        threads, blocks = math.prod(self.block), math.prod(self.grid)
        order, block_order = orders(threads, blocks, now.seed)
        # Compiled kernels always have warps of 32 lanes.
        plainly = now.interpreted or self.kernel.warp_size != rewriting.WARP_SIZE
        if plainly:
            self.refuse_unaligned_fields(values)
            self.note_types(values)
        compiled = tuple(map(_as_compiled, values))
        if now.small_first and not plainly and self.interpret_small(values, order, block_order):
            events.operated(self.kernel.__name__)
            return
        launcher = None if plainly else self.launcher(compiled)
        events.operated(self.kernel.__name__)
        if launcher is None:
            self.interpret(values, order, block_order, now.seconds)
        else:
            before = [
                value.copy() if isinstance(value, np.ndarray) else None for value in values if launcher.agree
            ]
            try:
                self.run_compiled(launcher.function, compiled, order, block_order, now.seconds)
            except Disagreement:
                for value, old in zip(values, before, strict=True):
                    if old is not None:
                        value[...] = old
                if not self.kernel.warned:
                    self.kernel.warned = True
                    warnings.warn(
                        f"{self.kernel.__name__}() runs interpreted, which is slow, because some threads of a block "
                        "wait at a barrier that others pass by; on a GPU the result is undefined",
                        stacklevel=3,
                    )
                self.interpret(values, order, block_order, now.seconds)

    def interpret_small(self, values: tuple, order: np.ndarray, blocks: np.ndarray) -> bool:
        """Run a small launch of a plain kernel interpreted, and tell whether it ended well.

        If it did not, the arrays are as they were before, and a compiled launch says what is wrong. All launches of a
        kernel together may take as long as a compiler would need.
        """
        kernel = self.kernel
        left = SMALL_SECONDS - kernel.interpreting
        if order.size * blocks.size > SMALL_LAUNCH or left <= 0:
            return False
        if kernel.given_signatures or not plain.is_plain(kernel.py_func):
            return False
        if not all(plain.has_plain_type(value) for value in values):
            return False
        before = [value.copy() if isinstance(value, np.ndarray) else None for value in values]
        # Not the time on the clock: a launch that waits for its turn on a busy machine is still a small one.
        began = time.thread_time()
        try:
            self.interpret(values, order, blocks, WAITING * left)
            self.note_types(values)
            return True
        except Exception:
            for value, old in zip(values, before, strict=True):
                if old is not None:
                    value[...] = old
            kernel.interpreting = SMALL_SECONDS
            return False
        finally:
            kernel.interpreting += time.thread_time() - began

    def launcher(self, values: tuple) -> Compiled | None:
        """Return the compiled launch function for these arguments, or None if only the interpreter can run it."""
        from numba import typeof

        kernel = self.kernel
        kinds = tuple(typeof(value) for value in values)
        if kinds not in kernel.launchers:
            if kernel.program.calls_itself:
                inferring.typed(kernel.program, values, self.arrays)  # it refuses types that change
            kernel.launchers[kinds] = kernel.compile_for(kinds, self.arrays)
        return kernel.launchers[kinds]

    def run_compiled(
        self, launcher: Callable, values: tuple, order: np.ndarray, blocks: np.ndarray, seconds: float
    ) -> None:
        """Run the compiled launch in other threads, so that a time limit and Ctrl-C can stop it."""
        run = parallel.Run(self, launcher, values, order, blocks)
        run.within(seconds)
        if run.failed is None:
            return
        problem, block, thread = run.failed.problem, run.failed.block, run.failed.thread
        if isinstance(problem, Disagreement):
            raise problem
        if isinstance(problem, KernelStopped):
            raise KernelStopped(
                f"{self.kernel.__name__}() was stopped after {seconds:g} s, in {self.place(block, thread)}: "
                "a loop never ends, or the launch needs more time, which h2d.stand_in(seconds=…) gives"
            ) from None
        raise self.fault(problem, values, block, thread) from None

    def fault(self, problem: BaseException, values: tuple, block: int, thread: int) -> BaseException:
        """Return an error that names the line, block and thread at which a kernel failed.

        Compiled code does not know the learner's line. The interpreter finds it: it runs that thread again (or that
        block, if threads wait) on copies of the arguments, without its output, which has been printed already.
        """
        copies = tuple(
            as_seen(np.array(value) if isinstance(value, np.ndarray | np.void) else value) for value in values
        )
        program = self.kernel.program
        seconds = 2  # enough for one thread or block
        again = self.interpreter(values, None, seconds)
        if not program.waits:
            again.order = [thread]
        try:
            with time_limit(seconds), contextlib.redirect_stdout(None):
                again.run([block], copies)
        except Exception as found:
            if type(found) is type(problem):
                return self.named(found, fault_line(found, program), self.place(*again.at))
        return self.named(problem, "", self.place(block, thread))

    def named(self, problem: BaseException, line: str, place: str) -> BaseException:
        """Return an exception of the kernel's type, or of its nearest base that takes a text, with the place."""
        reason = re.sub(rf"{rewriting.PREFIX}(f\d+_)?", "", str(problem))
        words = f"{self.kernel.__name__}(){line}: {reason}".rstrip(": ")
        text = f"{words}, in {place}"
        for kind in type(problem).__mro__:
            with contextlib.suppress(Exception):
                named = kind.__new__(kind, text)  # the type's own __init__ may need more than a text
                if text in str(named):
                    return named
        return problem

    def position(self, block: int, thread: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """Return a block's index in the grid and a thread's index in its block, from their numbers."""
        (gx, gy, _), (bx, by, _) = self.grid, self.block
        return (
            (block % gx, block // gx % gy, block // (gx * gy)),
            (thread % bx, thread // bx % by, thread // (bx * by)),
        )

    def place(self, block: int, thread: int) -> str:
        """Return the name of a thread, such as "thread 5 of block 0", from the numbers of the two."""
        return thread_of(*self.position(block, thread), self.grid, self.block)

    def interpreter(self, values: tuple, order: np.ndarray | None, seconds: float) -> Interpreter:
        shared = shared_arrays(self.arrays, self.shared)
        kernel = self.kernel
        program, function = kernel.interpreted(values, self.arrays)
        return Interpreter(
            program,
            self.grid,
            self.block,
            shared,
            order,
            seconds,
            function,
            kernel.warp_size,
        )

    def interpret(self, values: tuple, order: np.ndarray, blocks: np.ndarray, seconds: float) -> None:
        runner = self.interpreter(values, order, seconds)
        values = tuple(as_seen(value) for value in values)
        try:
            with time_limit(seconds):
                runner.run(blocks, values)
        except KernelStopped:
            raise KernelStopped(
                f"{self.kernel.__name__}() was stopped after {seconds:g} s, in {self.place(*runner.at)}: "
                "a loop never ends, or the launch needs more time, which h2d.stand_in(seconds=…) gives"
            ) from None
        except Exception as problem:
            line = fault_line(problem, self.kernel.program)
            raise self.named(problem, line, self.place(*runner.at)) from None


def _flat(values: tuple) -> Iterator[Any]:
    """Yield values, and those inside tuples."""
    for value in values:
        yield from _flat(value) if isinstance(value, tuple) else (value,)


def _as_compiled(value: Any) -> Any:
    """Return an argument as compiled code takes it: a record, which lies in an array without axes, as a scalar in place."""
    return value[()] if isinstance(value, np.ndarray) and value.dtype.names and not value.ndim else value


def _copy_back(array: np.ndarray, record: np.void) -> None:
    """Store the fields of an array without axes in a record on the host."""
    for name in record.dtype.names or ():
        record[name] = array[name]


def _check_dtype(dtype: np.dtype) -> None:
    """Refuse dtypes that kernels cannot calculate with."""
    if not dtype.isnative or dtype.char in "gG":
        raise TypeError(f"Unsupported array dtype: {dtype.str if not dtype.isnative else dtype}")


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop plain Python code after `seconds`, even in a loop that never waits, on systems that have threads."""
    if sys.platform == "emscripten" or math.isinf(seconds):
        yield
        return
    target, done = ctypes.c_ulong(threading.get_ident()), threading.Event()
    throw = ctypes.pythonapi.PyThreadState_SetAsyncExc
    thrown = arrived = False

    def watch() -> None:
        nonlocal thrown
        if not done.wait(seconds):
            thrown = True
            throw(target, ctypes.py_object(KernelStopped))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except KernelStopped:
        arrived = True
        raise
    finally:
        done.set()
        watcher.join()
        if thrown and not arrived:
            # The exception was set too late to be raised, so clear it. Without this condition, clearing an exception
            # that is not there would make Python look for it for ever: slower from then on, and in an endless loop
            # under a debugger.
            throw(target, None)


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
