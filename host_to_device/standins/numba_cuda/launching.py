"""The launch of a kernel over a grid: its limits, its arguments, and the run, compiled or interpreted."""

from __future__ import annotations

import contextlib
import ctypes
import enum
import math
import re
import sys
import threading
import time
import types
import warnings
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
    rewriting,
)
from host_to_device.standins.numba_cuda.devices import CudaAPIError
from host_to_device.standins.numba_cuda.errors import Disagreement, KernelStopped
from host_to_device.standins.numba_cuda.interpreting import (
    Interpreter,
    as_seen,
    fault_line,
    same_tuple,
    shared_arrays,
)
from host_to_device.standins.numba_cuda.names import DeviceName
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


@dataclass(frozen=True)
class Compiled:
    """A compiled launch function, and whether it can raise `Disagreement`."""

    function: Callable
    agree: bool


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
    """A kernel, a `dispatching.CUDADispatcher`, with its launch configuration; a call of this object is the launch."""

    def __init__(self, kernel: Any, grid: Any, block: Any, stream: Any = 0, shared: int = 0) -> None:
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
        if hasattr(value, "py_func") or isinstance(value, DeviceName | types.FunctionType):
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
    """Stop plain Python code after `seconds`, even in a loop that never waits."""
    if math.isinf(seconds):
        yield
        return
    if sys.platform == "emscripten":
        with loop_limit(seconds):
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


@contextlib.contextmanager
def loop_limit(seconds: float) -> Iterator[None]:
    """Do what `time_limit` does where there are no threads, in a browser: each turn of a loop looks at the clock.

    It needs `sys.monitoring`, which Python has since 3.12.
    """
    watching: Any = sys.monitoring  # type: ignore[attr-defined]
    ends, tool, jumps = time.monotonic() + seconds, 4, watching.events.JUMP

    def turn(code: types.CodeType, place: int, target: int) -> Any:
        if target > place:
            return watching.DISABLE  # no loop
        if time.monotonic() > ends:
            watching.set_events(tool, 0)  # once
            raise KernelStopped
        return None

    outer = watching.get_tool(tool) is not None
    if not outer:
        watching.use_tool_id(tool, "host_to_device")
    before = watching.register_callback(tool, jumps, turn)
    watching.set_events(tool, jumps)
    try:
        yield
    finally:
        watching.set_events(tool, jumps if outer else 0)
        watching.register_callback(tool, jumps, before)
        if not outer:
            watching.free_tool_id(tool)
