"""For an exercise's `run`: launch a student's kernel under the check, call and count a function, compare two speeds."""

from __future__ import annotations

import contextlib
import math
import re
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from host_to_device.checking import check
from host_to_device.counting import Count, on_gpu
from host_to_device.exercises import safety
from host_to_device.exercises.values import plain
from host_to_device.standins import events
from host_to_device.standins.numba_cuda.settings import stand_in
from host_to_device.standins.warp_sizes import with_warp_size
from host_to_device.starting.devices import device
from host_to_device.support.installed import SetUpError

GUARD = 16  # elements before and behind every output that no thread may write
# The check's words for a kernel that raises NotImplementedError.
UNWRITTEN = re.compile(r"thread [\d(), ]+ of block [\d(), ]+ raises NotImplementedError\b")
# An element was never written if it holds the first fill after the first launch and the second fill after the second.
FILLS = (0x55, 0x2A)
MOST_SECONDS = 4.0  # for the check of one launch

_clock = time.perf_counter


class NotWritten(Exception):
    """The kernel still raises the skeleton's `NotImplementedError`."""


@dataclass(frozen=True)
class Out:
    """An output: an array of which the kernel has to write every element."""

    shape: int | Sequence[int]
    dtype: Any = np.float32


@dataclass(frozen=True)
class InOut:
    """An array that the kernel may read and write, such as a histogram that begins at zero."""

    array: np.ndarray


def filled(shape: int | Sequence[int], dtype: Any, fill: int) -> np.ndarray:
    """Return an array whose bytes are all `fill`; a boolean array is filled with the lowest bit of `fill`."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.full(shape, bool(fill & 1))
    size = int(shape) if isinstance(shape, int | np.integer) else math.prod(shape)
    return np.frombuffer(bytes([fill]) * (size * dtype.itemsize), dtype).reshape(shape).copy()


def guarded(argument: Out | InOut, fill: int) -> np.ndarray:
    """Return an output as a one-dimensional array, with guard elements before and behind it."""
    if isinstance(argument, Out):
        return filled(math.prod(shape_of(argument)) + 2 * GUARD, argument.dtype, fill)
    flat = filled(argument.array.size + 2 * GUARD, argument.array.dtype, fill)
    flat[GUARD : GUARD + argument.array.size] = argument.array.ravel()
    return flat


def shape_of(argument: Out | InOut) -> tuple[int, ...]:
    """Return the shape of an output."""
    shape = argument.array.shape if isinstance(argument, InOut) else argument.shape
    return (int(shape),) if isinstance(shape, int | np.integer) else tuple(int(side) for side in shape)


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    """Let the stand-in stop a launch just before the exercise's time is up: it can name the line, a signal cannot."""
    with stand_in(seconds=max(0.1, 0.9 * safety.seconds_left())):
        yield


def findings_of(report: Any) -> list[dict[str, Any]]:
    """Return the findings of a report of `h2d.check` as plain values: kind, text, advice, lines, array."""
    return [
        {
            "kind": each.kind,
            "text": each.text + each.place(),
            "advice": each.advice,
            "lines": each.source(),
            "array": each.array,
        }
        for each in report.findings
    ]


def parameters_of(kernel: Any, count: int) -> list[str]:
    """Return the names of a kernel's parameters; for CUDA C++ "argument 1", "argument 2" and so on."""
    code = getattr(getattr(kernel, "py_func", None), "__code__", None)
    if code is not None:
        return list(code.co_varnames[: code.co_argcount])
    return [f"argument {number + 1}" for number in range(count)]


def run_kernel(
    kernel: Any,
    arguments: Sequence[Any],
    grid: int | Sequence[int],
    block: int | Sequence[int],
    *,
    schedules: int = 3,
    any_order: Sequence[int] = (),
    not_compared: Sequence[int] = (),
    partly: Sequence[int] = (),
    shared: int = 0,
    warp_size: int = 32,
    interpreted: bool = False,
) -> dict[str, Any]:
    """Launch a kernel under `h2d.check` in several orders of its threads; if nothing is found, launch it twice as it is.

    The two launches differ in what must make no difference: the contents of the outputs before the launch, and on the
    stand-in the order of the threads. A kernel runs on a GPU only after the check has found nothing.

    Parameters
    ----------
    kernel
        The student's kernel: made by `cuda.jit`, or CuPy's `RawKernel`.
    arguments
        The kernel's arguments: numbers, NumPy arrays (inputs, which are copied first), `Out` and `InOut`.
    grid, block
        The launch configuration: numbers, or up to three numbers along x, y and z.
    schedules
        The number of thread orders that the check tries.
    any_order, not_compared
        Positions in `arguments` of the arrays that `h2d.check` gets under these names.
    partly
        Positions of the outputs of which not every element has to be written.
    shared
        Bytes of dynamic shared memory.
    warp_size
        Lanes of a warp: 32, or 64. With 64 the stand-in runs the kernel on every machine (`h2d.with_warp_size`).
    interpreted
        Whether the stand-in launches the kernel without compiling it. This is for small
        launches of kernels with many loops and barriers, which take longer to compile than to run. It changes nothing
        on a GPU.

    Returns
    -------
    dict
        "findings" of the check, "names" and "shapes" of the outputs, and "input_names". If there are no findings, also
        "whole", the outputs with their guards after each launch, and "inputs", the other arrays afterwards.
    """
    grid, block = (tuple(each) if isinstance(each, list | tuple) else each for each in (grid, block))
    outputs = [place for place, each in enumerate(arguments) if isinstance(each, Out | InOut)]
    names = parameters_of(kernel, len(arguments))
    got: dict[str, Any] = {
        "names": [names[place] if place < len(names) else f"argument {place + 1}" for place in outputs],
        "shapes": [list(shape_of(arguments[place])) for place in outputs],
        "findings": [],
    }
    got["input_names"] = [
        names[place] if place < len(names) else f"argument {place + 1}"
        for place, each in enumerate(arguments)
        if isinstance(each, np.ndarray)
    ]
    configuration = (grid, block, 0, shared) if shared else (grid, block)
    named = hasattr(kernel, "py_func") and len(names) == len(arguments)
    options: dict[str, Any] = {}
    if named:
        whole = [
            place for place in outputs if isinstance(arguments[place], Out) and place not in tuple(partly)
        ]
        options = {
            "outputs": [names[place] for place in whole],
            "any_order": [names[place] for place in any_order],
            "not_compared": [names[place] for place in not_compared],
        }
    on_host = [_for_check(each) for each in arguments]
    checked = check(kernel, schedules=schedules, seconds=_for_a_check(), warp_size=warp_size, **options)
    if not hasattr(kernel, "py_func"):
        on_host = _on_device_of_cupy(on_host)
    report = checked[configuration](*on_host)
    if any(each.kind == "failed" and UNWRITTEN.match(each.text) for each in report.findings):
        raise NotWritten
    got["findings"] = findings_of(report)
    if got["findings"]:
        return got
    got["whole"], got["inputs"] = [], []
    with _in_time():
        for number, fill in enumerate(FILLS):
            with stand_in(seed=number or None, interpreted=interpreted or None):
                wholes, inputs = _launch(kernel, arguments, outputs, configuration, fill, warp_size)
            got["whole"].append(wholes)
            got["inputs"] = inputs
    return got


def run_notes(
    kernel: Any, arguments: Sequence[Any], grid: int | Sequence[int], block: int | Sequence[int]
) -> dict[str, Any]:
    """Launch a kernel once under `h2d.check` and return its counts of memory accesses, the same on every machine.

    Parameters
    ----------
    kernel, arguments, grid, block
        As for `run_kernel`; `cuda.jit` has made the kernel.

    Returns
    -------
    dict
        "accesses" is the number of reads and writes. "sectors" has a dict for each kind of access to an argument in
        global memory: "place" among the arguments, "name", "access" ("read", "write" or "atomic"), "requests" (the
        number of memory requests), and "sectors" (the number of sectors, summed over the requests). "banks" has a dict
        for each kind of access to a shared array: "name", "access", "requests", and "ways" (the bank-conflict degrees,
        summed over the requests; 1 each is no conflict). In a large grid, sectors and banks are those of a few blocks.
    """
    grid, block = (tuple(each) if isinstance(each, list | tuple) else each for each in (grid, block))
    names = parameters_of(kernel, len(arguments))
    checked = check(kernel, schedules=1, notes=True, seconds=_for_a_check())
    report = checked[grid, block](*(_for_check(each) for each in arguments))
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for note in report.notes:
        if note.kind == "sectors a request" and note.array in names:
            total = found.setdefault(
                (note.array, note.access),
                {
                    "place": names.index(note.array),
                    "name": note.array,
                    "access": note.access,
                    "requests": 0,
                    "sectors": 0.0,
                },
            )
            total["requests"] += note.requests
            total["sectors"] += note.number * note.requests
    banks: dict[tuple[str, str], dict[str, Any]] = {}
    for note in report.notes:
        if note.kind == "bank conflicts":
            new = {"name": note.array, "access": note.access, "requests": 0, "ways": 0.0}
            total = banks.setdefault((note.array, note.access), new)
            total["requests"] += note.requests
            total["ways"] += note.number * note.requests
    return {"accesses": report.accesses, "sectors": list(found.values()), "banks": list(banks.values())}


def _for_a_check() -> float:
    """Return the seconds for a check: of a small launch it takes far less, and of one without progress all of them."""
    return min(MOST_SECONDS, max(0.5, 0.6 * safety.seconds_left()))


def _for_check(argument: Any) -> Any:
    if isinstance(argument, Out | InOut):
        flat = guarded(argument, FILLS[0])
        shape = shape_of(argument)
        return flat[GUARD : GUARD + math.prod(shape)].reshape(shape).copy()
    return argument.copy() if isinstance(argument, np.ndarray) else argument


def _on_device_of_cupy(arguments: list) -> list:
    import cupy

    return [cupy.array(each) if isinstance(each, np.ndarray) else each for each in arguments]


def _launch(
    kernel: Any,
    arguments: Sequence[Any],
    outputs: list[int],
    configuration: tuple,
    fill: int,
    warp_size: int = 32,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Launch once on the device; return the outputs with their guards, and the other arrays."""
    raw = not hasattr(kernel, "py_func")
    if raw:
        import cupy

        to_device, to_host = cupy.array, cupy.asnumpy
    else:
        from numba import cuda

        to_device, to_host = cuda.to_device, lambda array: array.copy_to_host()
    flats = {place: to_device(guarded(arguments[place], fill)) for place in outputs}
    others = {
        place: to_device(each.copy()) for place, each in enumerate(arguments) if isinstance(each, np.ndarray)
    }
    given: list[Any] = []
    for place, each in enumerate(arguments):
        if place in flats:
            shape = shape_of(each)
            part = flats[place][GUARD : GUARD + math.prod(shape)]
            given.append(part.reshape(*shape) if len(shape) != 1 else part)
        else:
            given.append(others.get(place, each))
    if warp_size != 32:
        with_warp_size(kernel, warp_size)[configuration](*given)
    elif raw:
        grid, block, *rest = configuration
        as_tuples = (each if isinstance(each, tuple) else (each,) for each in (grid, block))
        kernel(*as_tuples, tuple(given), shared_mem=rest[1] if rest else 0)
    else:
        kernel[configuration](*given)
        cuda.synchronize()
    return [to_host(flats[place]) for place in outputs], [to_host(each) for each in others.values()]


def run_function(
    function: Callable, *arguments: Any, counted: bool = False, **keywords: Any
) -> dict[str, Any]:
    """Call a student's function with copies of the arguments; return its result and what it did to the arguments.

    Parameters
    ----------
    function
        The student's function.
    arguments, keywords
        Its arguments; NumPy arrays are copied first.
    counted
        Whether to count copies, waits and operations (`h2d.count`).

    Returns
    -------
    dict
        "result"; "type", the name of its class, since tuples become lists; "inputs", the arrays among the arguments
        after the call, and "input_names"; "shared", the name of the array whose memory the result shares, or None;
        "counts", as `Count.as_dict` returns them, and "operations", the counts by operation. "operations" is None if it
        is unknown, and "counts" if nothing could be counted.
    """
    copies = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    names = list(code.co_varnames[: code.co_argcount]) if code is not None else []
    arrays = [
        (names[place] if place < len(names) else f"argument {place + 1}", each)
        for place, each in enumerate(copies)
        if isinstance(each, np.ndarray)
    ]
    counts, operations = None, None
    with contextlib.ExitStack() as around:
        around.enter_context(_in_time())
        counter = None
        if counted:
            with contextlib.suppress(SetUpError):  # no profiler for this GPU: the values alone are judged
                counter = around.enter_context(Count(speaks=False))
        result = function(*copies, **keywords)
    if counter is not None:
        counts = counter.as_dict()
        if counts["operations"] is not None:  # else it is not known that nothing ran
            operations = counter.operations_by_name
    shared = None
    if isinstance(result, np.ndarray):
        shared = next((name for name, each in arrays if np.may_share_memory(result, each)), None)
    return {
        "result": plain(result),
        "type": type(result).__name__,
        "inputs": [plain(each) for _, each in arrays],
        "input_names": [name for name, _ in arrays],
        "shared": shared,
        "counts": counts,
        "operations": operations,
    }


def run_counted(action: Callable[[], Any]) -> tuple[Any, dict[str, int | None] | None]:
    """Call a function without arguments; return its result as it is, and what `h2d.count` counted, by name.

    The counts are those of `Count.as_dict`, or None if this machine has no profiler for its GPU.
    """
    counter = None
    with contextlib.ExitStack() as around:
        with contextlib.suppress(SetUpError):
            counter = around.enter_context(Count(speaks=False))
        result = action()
    return result, None if counter is None else counter.as_dict()


def run_memory(action: Callable[[], Any], place: Any = None) -> tuple[Any, dict[str, int]]:
    """Call a function without arguments; return its result as it is, and what PyTorch's tensors took on a device.

    Call the function once before, on small inputs: a GPU's libraries keep the workspace that they take the first time.

    Parameters
    ----------
    action
        The function.
    place
        The device, on which PyTorch counts its memory; by default `h2d.device()`.

    Returns
    -------
    result, dict
        "peak" is the most bytes that tensors held at once, and "end" the bytes that they hold while the result is kept,
        both beyond the bytes before the call. "emptied" is the number of segments that went back to the device, as with
        `empty_cache()`.
    """
    import torch

    place = device() if place is None else place
    memory = torch.get_device_module(place)
    memory.reset_peak_memory_stats(place)
    before, freed = memory.memory_allocated(place), memory.memory_stats(place).get("segment.all.freed", 0)
    result = action()
    return result, {
        "peak": memory.max_memory_allocated(place) - before,
        "end": memory.memory_allocated(place) - before,
        "emptied": memory.memory_stats(place).get("segment.all.freed", 0) - freed,
    }


def torch_places() -> dict[str, Any]:
    """Return PyTorch's devices "cpu", "first" and "second"; where there is only one device, the CPU is the second."""
    import torch

    several = torch.accelerator.device_count() > 1
    cpu = torch.device("cpu")
    return {"cpu": cpu, "first": device(), "second": device(1) if several else cpu}


class _Between:
    """A kernel's proxy that records launches and passes them on, unless it is told to run nothing."""

    def __init__(self, name: str, kernel: Any, seen: list[dict[str, Any]], runs: bool) -> None:
        self._name, self._kernel, self._seen, self._runs = name, kernel, seen, runs

    def __getitem__(self, configuration: Any) -> Callable:
        launch = self._kernel[configuration]
        sides = configuration if isinstance(configuration, tuple) else (configuration,)

        def launched(*arguments: Any, **keywords: Any) -> Any:
            self._note(sides[0], sides[1], arguments)
            return launch(*arguments, **keywords) if self._runs else None

        return launched

    def __call__(self, grid: Any, block: Any, args: Any, **keywords: Any) -> Any:
        """Launch a `RawKernel` of CuPy; the parameters have CuPy's names."""
        args = list(args)
        self._note(grid, block, args)
        return self._kernel(grid, block, args, **keywords) if self._runs else None

    def _note(self, grid: Any, block: Any, arguments: Sequence[Any]) -> None:
        self._seen.append(
            {
                "kernel": self._name,
                "arguments": [str(getattr(each, "dtype", type(each).__name__)) for each in arguments],
                "numbers": [np.asarray(each).item() for each in arguments if _is_number(each)],
                "blocks": math.prod(_sides(grid)),
                "threads": math.prod(_sides(block)),
                "waits": None if on_gpu.is_chosen() else events.Snapshot().sums["waits"],
            }
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


def _is_number(argument: Any) -> bool:
    of_numpy = isinstance(argument, np.number | np.ndarray) and argument.size == 1
    return of_numpy or isinstance(argument, int | float)


def _sides(given: Any) -> tuple[int, ...]:
    return tuple(int(side) for side in given) if isinstance(given, tuple | list) else (int(given),)


@contextlib.contextmanager
def seen_launches(function: Callable, *names: str, runs: bool = True) -> Iterator[list[dict[str, Any]]]:
    """Within the block, record how a student's function launches the kernels with these names.

    Parameters
    ----------
    function
        The student's function, defined in a notebook. Nothing is recorded for an object that is no function.
    names
        Names of kernels in that notebook, Numba's or a `RawKernel`.
    runs
        Whether the launches run. If not, only code that does not need their results still gives right ones.

    Yields
    ------
    list of dict
        A dict for each launch, in order: "kernel" is the kernel's name. "arguments" has the dtype of each array or
        NumPy number, and the name of the type of any other argument. "numbers" has the arguments that are numbers of
        Python or NumPy. "blocks" is the number of blocks in the grid, and
        "threads" the number of threads in a block. "waits" is a running number of the host's waits, of which the
        difference between two launches counts; None on a GPU.
    """
    namespace = getattr(function, "__globals__", {})
    seen: list[dict[str, Any]] = []
    kernels = {name: namespace[name] for name in names if name in namespace}
    namespace.update({name: _Between(name, kernel, seen, runs) for name, kernel in kernels.items()})
    events.listen()
    try:
        yield seen
    finally:
        events.stop_listening()
        namespace.update(kernels)


def run_ratio(
    student: Callable[[], Any],
    reference: Callable[[], Any],
    *,
    rounds: int = 5,
    synchronize: Callable[[], Any] | None = None,
) -> dict[str, Any]:
    """Time the student's function and a reference alternately on the same device, and return the ratio of the times.

    Parameters
    ----------
    student, reference
        Functions without arguments. Each runs once before the first round, to be compiled.
    rounds
        How often each is timed.
    synchronize
        Function that waits for the device; by default `numba.cuda.synchronize`.

    Returns
    -------
    dict
        "ratio": the median, over the rounds, of the student's time divided by the reference's; "rounds".
    """
    if synchronize is None:
        from numba import cuda

        synchronize = cuda.synchronize

    def seconds(function: Callable[[], Any]) -> float:
        synchronize()
        began = _clock()
        function()
        synchronize()
        return _clock() - began

    with _in_time():
        seconds(student), seconds(reference)
        ratios = [seconds(student) / max(1e-9, seconds(reference)) for _ in range(rounds)]
    return {"ratio": float(statistics.median(ratios)), "rounds": rounds}
