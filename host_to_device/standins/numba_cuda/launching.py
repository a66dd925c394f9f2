"""`cuda.jit` and what it returns: kernels that are launched over a grid, and device functions."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import math
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from host_to_device.standins.numba_cuda import memory, random, rewriting
from host_to_device.standins.numba_cuda.devices import CudaAPIError
from host_to_device.standins.numba_cuda.errors import Disagreement, KernelStopped
from host_to_device.standins.numba_cuda.interpreting import (
    Interpreter,
    as_seen,
    fault_line,
    interpreted,
    shared_arrays,
)
from host_to_device.standins.numba_cuda.streams import check_stream

HAS_NUMBA = importlib.util.find_spec("numba") is not None

INVALID_VALUE = 1  # CUDA_ERROR_INVALID_VALUE
LAUNCH_FAILED = "Call to cuLaunchKernel results in CUDA_ERROR_INVALID_VALUE"
# Limits of compute capability 7.5 (CUDA C++ Programming Guide, technical specifications per compute capability).
MAX_THREADS = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_SHARED = 48 * 1024

# Options of cuda.jit that change nothing about results, or nothing that can be seen here.
ACCEPTED = {
    *("inline", "link", "debug", "opt", "lineinfo", "cache", "fastmath", "max_registers", "fma", "forceinline"),
    *("extensions", "bind", "launch_bounds", "min_blocks_per_sm", "lto", "abi", "abi_info", "nopython", "shared_memory_carveout"),
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """How launches run: compiled if Numba is there, in order, for a minute at the most."""

    interpreted: bool = not HAS_NUMBA
    seed: int | None = None
    seconds: float = 60.0


settings = Settings()


@dataclass(frozen=True)
class Compiled:
    """A compiled launch function, and whether it may find that the threads of a block disagree."""

    function: Callable
    agree: bool


@contextlib.contextmanager
def stand_in(
    *, interpreted: bool | None = None, seed: int | None = None, seconds: float | None = None
) -> Iterator[Settings]:
    """Change how launches run on the stand-in, within a `with` block.

    Parameters
    ----------
    interpreted
        True runs kernels as plain Python instead of compiling them: slower, and with NumPy's type rules.
    seed
        Shuffles the order of blocks and threads. A kernel whose result depends on the seed is wrong.
    seconds
        Time after which a launch is stopped.

    Raises
    ------
    ValueError
        If `seconds` is not positive, or if kernels are to be compiled and Numba is not there.
    """
    global settings
    changes = {"seed": seed}
    if interpreted is not None:
        if not interpreted and not HAS_NUMBA:
            raise ValueError("kernels cannot be compiled without Numba: leave out interpreted=False")
        changes["interpreted"] = interpreted
    if seconds is not None:
        if not seconds > 0:
            raise ValueError(f"seconds is {seconds!r}: give a positive number")
        changes["seconds"] = seconds
    before = settings
    settings = replace(settings, **changes)
    try:
        yield settings
    finally:
        settings = before


def is_device_function(value: Any) -> bool:
    """Tell whether a kernel can call this object as a device function."""
    return isinstance(value, CUDADispatcher) or any(value is each for each in random.DEVICE_FUNCTIONS)


class CUDADispatcher:
    """A function decorated with `cuda.jit`: a kernel to be launched, or a device function for kernels to call."""

    def __init__(self, py_func: Callable, device: bool, signatures: list, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func, self.device, self.options = py_func, device, options
        self.given_signatures = signatures
        if signatures and not device:
            from host_to_device.standins.numba_cuda.signatures import check_void

            check_void(py_func.__name__, signatures)
        self.launchers: dict[Any, Compiled | None] = {}
        self._program: rewriting.Program | None = None
        self._interpreted: Callable | None = None

    def __repr__(self) -> str:
        kind = "device function" if self.device else "kernel"
        return f"<stand-in {kind} {self.py_func.__name__}>"

    @property
    def program(self) -> rewriting.Program:
        """The rewritten kernel; made when it is first needed, so that names may be defined after it."""
        if self._program is None:
            self._program = rewriting.program(self.py_func, is_device_function)
        return self._program

    @property
    def interpreted(self) -> Callable:
        if self._interpreted is None:
            self._interpreted = interpreted(self.program)
        return self._interpreted

    @property
    def signatures(self) -> list:
        return list(self.launchers)

    def __call__(self, *arguments: Any, **_: Any) -> Any:
        if self.device:
            raise TypeError(f"{self.__name__}() is a device function: only kernels can call it")
        raise ValueError(
            "Kernel launch configuration was not specified. Use the syntax:\n\n"
            f"{self.__name__}[blockspergrid, threadsperblock](arg0, arg1, ..., argn)"
        )

    def __getitem__(self, configuration: Any) -> Launch:
        if self.device:
            raise TypeError(f"{self.__name__}() is a device function and cannot be launched")
        if not isinstance(configuration, tuple) or len(configuration) not in (2, 3, 4):
            raise ValueError("must specify at least the griddim and blockdim")
        return Launch(self, *configuration)

    def configure(self, griddim: Any, blockdim: Any, stream: Any = 0, sharedmem: int = 0) -> Launch:
        return Launch(self, griddim, blockdim, stream, sharedmem)

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Callable:
        """Return a launch over at least `ntasks` threads, with a block size chosen for you."""
        if ntasks < 0:
            raise ValueError(f"Can't create ForAll with negative task count: {ntasks}")
        threads = tpb or min(256, max(1, ntasks))
        if ntasks == 0:
            return lambda *arguments: None
        return Launch(self, -(-ntasks // threads), threads, stream, sharedmem)

    def specialize(self, *arguments: Any) -> CUDADispatcher:
        return self

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"the stand-in's kernels have no {name}: it belongs to code compiled for a GPU"
            if name.startswith(("inspect", "get_", "max_cooperative"))
            else f"'CUDADispatcher' object has no attribute {name!r}"
        )


def dimensions(value: Any, name: str, limits: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return a grid's or a block's size as three numbers, or say what is wrong with it.

    The first two errors are Numba's (`normalize_kernel_dimensions`), the last CUDA's.
    """
    if isinstance(value, list | np.ndarray | dict | set):
        raise TypeError(f"{name} must be an integer or a tuple of integers, got {value!r}")
    parts = value if isinstance(value, tuple) else (value,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(f"{name} must be a sequence of 1, 2 or 3 integers, got {value!r}")
    for part in parts:
        if isinstance(part, bool) or not isinstance(part, int | np.integer):
            raise TypeError(f"{name} must be a sequence of integers, got {value!r}")
    size = tuple(int(part) for part in parts) + (1,) * (3 - len(parts))
    for part, limit, axis in zip(size, limits, "xyz", strict=True):
        if not 1 <= part <= limit:
            raise CudaAPIError(
                INVALID_VALUE, f"{LAUNCH_FAILED}: {name} {axis} is {part}, it may be 1 to {limit:,}"
            )
    return size


class Launch:
    """A kernel with its launch configuration; calling it is the launch."""

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
        if stream is not None:
            check_stream(stream)
        if not isinstance(shared, int | np.integer) or not 0 <= shared <= MAX_SHARED:
            raise CudaAPIError(
                INVALID_VALUE,
                f"{LAUNCH_FAILED}: {shared!r} bytes of dynamic shared memory; 0 to {MAX_SHARED:,} are there",
            )
        self.stream, self.shared = stream or 0, int(shared)

    def __call__(self, *arguments: Any) -> None:
        kernel, program = self.kernel, self.kernel.program
        wanted = len(program.kernel.parameters)
        if len(arguments) != wanted:
            raise TypeError(
                f"{kernel.__name__}() takes {wanted} argument{'s' * (wanted != 1)} "
                f"({', '.join(program.kernel.parameters)}), {len(arguments)} were given"
            )
        afterwards: list[Callable[[], None]] = []
        values = tuple(
            self.argument(name, value, afterwards)
            for name, value in zip(program.kernel.parameters, arguments, strict=True)
        )
        values = self.converted(values)
        self.arrays = rewriting.of_types(
            program.shared, program.kernel.parameters, [getattr(value, "dtype", None) for value in values]
        )
        static = sum(math.prod(each.shape) * each.dtype.itemsize for each in self.arrays if each.shape)
        if static + self.shared > MAX_SHARED:
            raise CudaAPIError(
                INVALID_VALUE,
                f"{LAUNCH_FAILED}: {static + self.shared:,} bytes of shared memory a block; {MAX_SHARED:,} are there",
            )
        self.run(values)
        for copy_back in afterwards:
            copy_back()

    def converted(self, values: tuple) -> tuple:
        """Return the arguments as the kernel's own signature wants them, if it has one."""
        if not self.kernel.given_signatures:
            return values
        from host_to_device.standins.numba_cuda.signatures import convert

        return convert(self.kernel.__name__, self.kernel.given_signatures, values)

    def argument(self, name: str, value: Any, afterwards: list[Callable[[], None]]) -> Any:
        """Return what the kernel gets for one argument; host arrays are copied there, and back afterwards."""
        if isinstance(value, memory.ArgHint):
            device = value.to_device(afterwards, self.stream)
            return device._array
        if memory.is_device_memory(value):
            return value._array
        if isinstance(value, np.ndarray):
            memory.refuse_objects(value.dtype)
            device, fresh = memory.auto_device(value, self.stream)
            if fresh:
                afterwards.append(lambda: device.copy_to_host(value, self.stream))
            return device._array
        if isinstance(value, bool | int | float | complex | np.generic):
            if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
                raise OverflowError(
                    f"{self.kernel.__name__}(): argument {name} is {value}, too large for 64 bits"
                )
            return value
        if memory.is_cuda_array(value):
            return memory.as_cuda_array(value)._array
        if isinstance(value, tuple):
            return tuple(self.argument(name, each, afterwards) for each in value)
        raise TypeError(
            f"{self.kernel.__name__}(): argument {name} is a {type(value).__name__}; "
            "a kernel takes arrays, numbers and tuples of them"
        )

    # -- running

    def run(self, values: tuple) -> None:
        now = settings
        threads, blocks = math.prod(self.block), math.prod(self.grid)
        order, block_order = _orders(threads, blocks, now.seed)
        launcher = None if now.interpreted else self.launcher(values)
        if launcher is None:
            self.interpret(values, order, block_order, now.seconds)
        else:
            before = [
                value.copy() if isinstance(value, np.ndarray) else None for value in values if launcher.agree
            ]
            try:
                self.run_compiled(launcher.function, values, order, block_order, now.seconds)
            except Disagreement:
                for value, old in zip(values, before, strict=True):
                    if old is not None:
                        value[...] = old
                warnings.warn(
                    f"{self.kernel.__name__}(): some threads of a block wait at a barrier that others pass by; "
                    "on a GPU the result is undefined",
                    stacklevel=3,
                )
                self.interpret(values, order, block_order, now.seconds)

    def launcher(self, values: tuple) -> Compiled | None:
        """Return the compiled launch function for these arguments, or None if the interpreter has to do."""
        from numba import typeof
        from numba.core import errors

        from host_to_device.standins.numba_cuda import compiling

        kernel = self.kernel
        types = tuple(typeof(value) for value in values)
        if types in kernel.launchers:
            return kernel.launchers[types]
        module = compiling.Module(kernel.program, self.arrays)
        try:
            launcher, agree = compiling.load(module, types)
            shared = compiling.types.Tuple([compiling.shared_type(each) for each in self.arrays])
            sizes = compiling.types.UniTuple(compiling.types.int64, 3)
            numbers = compiling.types.Array(compiling.types.int64, 1, "C")
            whole = compiling.types.int64
            launcher.compile((whole, whole, sizes, sizes, numbers, numbers, shared, numbers, *types))
        except compiling.NotCompilable as reason:
            warnings.warn(
                f"{kernel.__name__}() runs interpreted, which is slow, because {reason}", stacklevel=4
            )
            kernel.launchers[types] = None
        except errors.NumbaError as problem:
            raise compiling.explain(problem, kernel.program) from None
        else:
            kernel.launchers[types] = Compiled(launcher, agree)
        return kernel.launchers[types]

    def run_compiled(
        self, launcher: Callable, values: tuple, order: np.ndarray, blocks: np.ndarray, seconds: float
    ) -> None:
        """Run the compiled launch in a thread of its own, so that a time limit and Ctrl-C reach it."""
        shared = shared_arrays(self.arrays, self.shared)
        stop = np.zeros(3, np.int64)  # whether to stop; the block and the thread whose turn it is
        raised: list[BaseException] = []

        def work() -> None:
            try:
                launcher(0, len(blocks), self.grid, self.block, order, blocks, shared, stop, *values)
            except BaseException as problem:
                raised.append(problem)

        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        try:
            worker.join(seconds)
            if worker.is_alive():
                stop[0] = 1
                worker.join()
        except KeyboardInterrupt:
            stop[0] = 1
            worker.join()
            raise
        if not raised:
            return
        if isinstance(raised[0], Disagreement):
            raise raised[0]
        if isinstance(raised[0], KernelStopped):
            raise KernelStopped(
                f"{self.kernel.__name__}() was stopped after {seconds:g} s, in {self.place(int(stop[1]), int(stop[2]))}: "
                "a loop that never ends, or h2d.stand_in(seconds=…) for more time"
            ) from None
        raise self.fault(raised[0], values, int(stop[1]), int(stop[2])) from None

    def fault(self, problem: BaseException, values: tuple, block: int, thread: int) -> BaseException:
        """Return an error that says where a kernel failed.

        Compiled code does not know the learner's line: the interpreter finds it, by running that thread (or
        that block, where threads wait) again on copies of the arguments.
        """
        place = self.place(block, thread)
        copies = tuple(as_seen(value.copy() if isinstance(value, np.ndarray) else value) for value in values)
        program = self.kernel.program
        again = self.interpreter(None, 10)
        if not program.waits:
            again.order = [thread]
        try:
            again.run([block], copies)
        except Exception as found:
            if type(found) is type(problem):
                line = fault_line(found, program)
                return type(problem)(f"{self.kernel.__name__}(){line}: {found}, in {self.place(*again.at)}")
        return type(problem)(f"{self.kernel.__name__}(): {problem}, in {place}")

    def place(self, block: int, thread: int) -> str:
        (gx, gy, _), (bx, by, _) = self.grid, self.block
        return (
            f"block ({block % gx}, {block // gx % gy}, {block // (gx * gy)}), "
            f"thread ({thread % bx}, {thread // bx % by}, {thread // (bx * by)})"
        )

    def interpreter(self, order: np.ndarray | None, seconds: float) -> Interpreter:
        shared = shared_arrays(self.arrays, self.shared)
        kernel = self.kernel
        return Interpreter(kernel.program, self.grid, self.block, shared, order, seconds, kernel.interpreted)

    def interpret(self, values: tuple, order: np.ndarray, blocks: np.ndarray, seconds: float) -> None:
        runner = self.interpreter(order, seconds)
        values = tuple(as_seen(value) for value in values)
        try:
            with _limit(seconds):
                runner.run(blocks, values)
        except KernelStopped:
            raise KernelStopped(
                f"{self.kernel.__name__}() was stopped after {seconds:g} s, in {self.place(*runner.at)}: "
                "a loop that never ends, or h2d.stand_in(seconds=…) for more time"
            ) from None
        except Exception as problem:
            line = fault_line(problem, self.kernel.program)
            kind = type(problem)
            try:
                named = kind(f"{self.kernel.__name__}(){line}: {problem}, in {self.place(*runner.at)}")
            except Exception:
                raise problem from None
            raise named from None


@contextlib.contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Stop plain Python code after so many seconds, even in a loop that never waits (where there are threads)."""
    import ctypes
    import sys

    if sys.platform == "emscripten" or math.isinf(seconds):
        yield
        return
    target, done = threading.get_ident(), threading.Event()

    def watch() -> None:
        if not done.wait(seconds):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(target), ctypes.py_object(KernelStopped)
            )

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()


@functools.lru_cache(maxsize=32)
def _orders(threads: int, blocks: int, seed: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of threads within a block, and of blocks: counting up, or shuffled by the seed."""
    if seed is None:
        return np.arange(threads), np.arange(blocks)
    generator = np.random.default_rng(seed)
    return generator.permutation(threads), generator.permutation(blocks)


def jit(func_or_sig: Any = None, device: bool = False, **options: Any) -> Any:
    """Make a kernel, or with `device=True` a function for kernels to call.

    Parameters
    ----------
    func_or_sig
        The function; or a signature such as `"void(float32[:], int32)"`, or a list of them, in which case what
        is returned takes the function.
    device
        Whether kernels call it, instead of the host launching it.
    options
        Numba's other options. Those for the GPU's compiler (`fastmath`, `max_registers`, …) are accepted and
        change nothing.

    Raises
    ------
    NotImplementedError
        If `boundscheck=True`, which Numba refuses for CUDA, too.
    TypeError
        If it is given something that is not a function, or an option that Numba does not have.
    """
    if options.get("boundscheck"):
        raise NotImplementedError("bounds checking is not supported for CUDA")
    if options.get("link"):
        raise NotImplementedError("the stand-in cannot link PTX or CUDA C++ into a kernel")
    unknown = set(options) - ACCEPTED - {"boundscheck"}
    if unknown:
        raise TypeError(f"cuda.jit() has no option {sorted(unknown)[0]!r}")
    if func_or_sig is None:
        return lambda function: jit(function, device=device, **options)
    if isinstance(func_or_sig, CUDADispatcher):
        raise TypeError("A jit decorator was called on an already jitted function")
    if callable(func_or_sig) and hasattr(func_or_sig, "__code__"):
        return CUDADispatcher(func_or_sig, device, [], options)
    if isinstance(func_or_sig, list | str | tuple) or type(func_or_sig).__module__.startswith("numba"):
        signatures = func_or_sig if isinstance(func_or_sig, list) else [func_or_sig]
        return lambda function: CUDADispatcher(function, device, signatures, options)
    raise TypeError(f"cuda.jit decorates a function, and was given a {type(func_or_sig).__name__}")


def reduce(functor: Callable) -> Reduce:
    """Make a reduction of a function of two arguments: `total = cuda.reduce(lambda a, b: a + b)`."""
    return Reduce(functor)


class Reduce:
    """A reduction over a one-dimensional array."""

    def __init__(self, functor: Callable) -> None:
        self.functor = functor

    def __call__(
        self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0
    ) -> Any:
        """Return the reduction of `arr`, a one-dimensional device or host array, from left to right.

        Raises
        ------
        TypeError
            If the array has more than one dimension.
        """
        if arr.ndim != 1:
            raise TypeError("only support 1D array")
        values = arr._array if memory.is_device_memory(arr) else arr
        total = values.dtype.type(init)
        with np.errstate(all="ignore"):
            for value in values[:size]:
                total = values.dtype.type(self.functor(total, value))
        if res is not None:
            res[0] = total
            return None
        return total
