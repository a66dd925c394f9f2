"""Compiles and launches CuPy's kernels with the stand-in for CUDA C++, and turns its errors into CuPy's.

Errors of the compiler and of a launch get CuPy's classes and messages. Errors that only the stand-in can detect (a
fault with its line, a launch that took too long) stay as they are.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from host_to_device.standins import cuda_cpp, events
from host_to_device.standins.cuda_cpp import arena
from host_to_device.standins.cupy import parameters
from host_to_device.standins.cupy.base import Base, adopt, from_interface, reach
from host_to_device.standins.cupy.cuda.compiler import CompileException
from host_to_device.standins.cupy.cuda.driver import CUDADriverError
from host_to_device.standins.cupy.cuda.memory import MemoryPointer, UnownedMemory, new_array
from host_to_device.standins.cupy.cuda.runtime import getDeviceProperties

DATA = "_data_"  # prefix of an array's name, in generated source, for the pointer to its memory


def is_array(value: Any) -> bool:
    return isinstance(value, Base)


def empty(shape: tuple[int, ...], dtype: np.dtype) -> Any:
    return adopt(new_array(shape, dtype))


def argument(value: Any) -> Any:
    """Return an element-wise kernel's argument: a device array, or a number as it was given.

    Raises
    ------
    TypeError
        "Unsupported type ...", for NumPy arrays and all other types.
    """
    if is_array(value):
        return value
    if hasattr(value, "__cuda_array_interface__"):
        return from_interface(value)
    parameters.scalar(value)
    return value


@lru_cache(maxsize=1024)
def layout(numbers: tuple[int, ...]) -> np.ndarray:
    """Copy shapes and strides into memory that kernels can read."""
    memory = arena.allocate(8 * len(numbers)).view(np.int64)[: len(numbers)]
    memory[:] = numbers
    return memory


def driver_error(name: str, text: str) -> Exception:
    """Return CuPy's CUDADriverError: 'CUDA_ERROR_INVALID_VALUE: invalid argument'."""
    return CUDADriverError(f"{name}: {text}")


@lru_cache(maxsize=256)
def compiled(
    source: str,
    options: tuple[str, ...] = (),
    name_expressions: tuple[str, ...] = (),
    backend: str = "nvrtc",
    text: str | None = None,
) -> Any:
    """Return the compiled module of a source; the same one for the same source, as CuPy does.

    Parameters
    ----------
    source, options, name_expressions, backend
        As in CuPy's classes.
    text
        The text to compile, if it differs from the source.

    Raises
    ------
    CompileException
        If the source does not compile.
    """
    try:
        return cuda_cpp.compile(text or source, name_expressions=name_expressions, options=options)
    except cuda_cpp.CompileError as problem:
        raise CompileException(problem.log or str(problem), source, "", options, backend) from None


def generated(before: str, source: str, name: str, options: tuple[str, ...]) -> Any:
    """Return the compiled function of a generated source; line numbers leave out the text `before` it."""
    try:
        module = compiled(f"{before}\n#line 1\n{source}", options)
    except CompileException as problem:
        raise CompileException(problem.get_message(), source, name, options) from None
    return module.function(name)


def launch(
    function: Any,
    grid: Sequence[int],
    block: Sequence[int],
    passed: Iterable[Any],
    shared_mem: int = 0,
    *,
    seed: int | None = None,
    seconds: float | None = None,
    cooperative: bool = False,
) -> None:
    """Run a kernel to completion.

    Raises
    ------
    CUDADriverError
        If the grid, the block or shared memory exceeds the device's limits: CuPy's message, and the reason.
    """
    sizes = [(*(int(each) for each in size), 1, 1)[:3] for size in (grid, block)]
    limit = {} if seconds is None else {"seconds": seconds}
    moved: list[tuple[np.ndarray, np.ndarray]] = []
    resident = [moved_in(each, moved) if isinstance(each, np.ndarray) else each for each in passed]
    events.operated(function.name)
    try:
        function(*sizes, resident, shared_mem=shared_mem, seed=seed, cooperative=cooperative, **limit)
    except cuda_cpp.TogetherError as problem:
        raise driver_error(
            "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", f"too many blocks in cooperative launch: {problem}"
        ) from None
    except cuda_cpp.LaunchError as problem:
        raise driver_error("CUDA_ERROR_INVALID_VALUE", f"invalid argument: {problem}") from None
    for foreign, ours in moved:
        foreign[...] = ours


def launch_generated(
    function: Any, size: int, block_size: int, passed: Iterable[Any], operation: range
) -> None:
    """Run a generated kernel over `size` elements, one thread per element.

    Parameters
    ----------
    function, passed
        The kernel and its arguments.
    size, block_size
        Threads in total, and per block.
    operation
        The lines of the generated source that the learner wrote: a fault there names the learner's line.

    Raises
    ------
    CUDADriverError
        If the block is too large.
    KernelFault
        If the kernel accesses memory out of bounds, or makes another fault.
    """
    try:
        launch(function, (-(-size // block_size),), (min(block_size, size),), passed)
    except cuda_cpp.KernelFault as problem:
        # `_layout`, the array of shapes and strides, is not the learner's.
        line, text = problem.line, re.sub(r" or _layout\[-?\d+\]", "", str(problem)).replace(DATA, "")
        if line in operation:
            learners = operation.index(line) + 1
            text = text.replace(f", line {line}:", f", line {learners} of the operation:")
            line = learners
        else:
            text = text.replace(f", line {line}:", f", line {line} of the generated source:")
        raise type(problem)(text, problem.kind, line, problem.block, problem.thread) from None


def moved_in(array: np.ndarray, moved: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return an array that kernels can reach: the array itself, or a copy of another library's array.

    For a copy, appends the original memory and the copy to `moved`: the launch copies it back.
    """
    if not array.size or arena.owns(array):
        return array
    before, nbytes = reach(array.shape, array.strides, array.itemsize)
    low = array.__array_interface__["data"][0] - before
    whole = np.frombuffer((ctypes.c_char * nbytes).from_address(low), np.uint8)
    ours = arena.allocate(nbytes)
    ours[:] = whole
    moved.append((whole, ours))
    return np.ndarray(array.shape, array.dtype, ours, before, array.strides)


def memory_pointer(memory: np.ndarray, owner: Any) -> MemoryPointer:
    """Return CuPy's pointer to memory that a module holds."""
    return MemoryPointer(
        UnownedMemory(memory.__array_interface__["data"][0], memory.nbytes, (owner, memory), 0), 0
    )


def most_shared_memory() -> int:
    """Return the bytes of shared memory that a block may have if its kernel opts in."""
    return getDeviceProperties(0)["sharedMemPerBlockOptin"]
