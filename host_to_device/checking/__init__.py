"""The check: what a GPU hides, in the learner's own lines.

`check(kernel)[grid, block](…)` runs a kernel under watch, on copies of its arguments, and reports what is wrong
with it even where the result is right. The rule for races stands in `memory`.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Sequence
from typing import Any

import numpy as np

from host_to_device.checking.memory import Fault
from host_to_device.checking.report import Finding, Report
from host_to_device.checking.running import BarrierFault, Watch
from host_to_device.standins.numba_cuda.devices import CudaAPIError
from host_to_device.standins.numba_cuda.errors import KernelStopped
from host_to_device.standins.numba_cuda.interpreting import as_seen, shared_arrays
from host_to_device.standins.numba_cuda.launching import CUDADispatcher, Launch, time_limit

__all__ = ["Check", "CheckError", "Finding", "Report", "check"]


class CheckError(AssertionError):
    """Raised by a strict check that has found something; the message is the report."""


def check(
    kernel: Any,
    *,
    outputs: Sequence[str] = (),
    schedules: int = 3,
    seconds: float = 30.0,
    any_order: Sequence[str] = (),
    strict: bool = False,
) -> Check:
    """Check a kernel: `check(kernel)[grid, block](…)` returns a report and changes no argument.

    Parameters
    ----------
    kernel
        A kernel made by `cuda.jit`.
    outputs
        Names of parameters whose every element the launch has to write.
    schedules
        Number of orders of blocks and threads to try: as they count, backwards, and shuffled by 1, 2, …
    seconds
        Time for all of it; a longer check ends with a partial report.
    any_order
        Names of parameters whose elements may come in any order (a list filled through an atomic counter).
    strict
        Whether to raise `CheckError` instead of returning a report that has findings.

    Raises
    ------
    TypeError
        If it is not given a kernel.
    """
    if isinstance(kernel, CUDADispatcher) and not kernel.device:
        return Check(kernel, tuple(outputs), schedules, seconds, tuple(any_order), strict)
    if isinstance(kernel, CUDADispatcher):
        raise TypeError(f"{kernel.__name__}() is a device function: check a kernel that calls it")
    if hasattr(kernel, "py_func"):  # compiled for a real GPU: its source is checked here
        return Check(
            CUDADispatcher(kernel.py_func, False, [], {}),
            tuple(outputs),
            schedules,
            seconds,
            tuple(any_order),
            strict,
        )
    name = getattr(kernel, "__name__", type(kernel).__name__)
    raise TypeError(f"{name} is not a kernel: check what @cuda.jit makes")


class Check:
    """A kernel to be checked; give it a launch configuration and arguments as for a launch."""

    def __init__(
        self,
        kernel: CUDADispatcher,
        outputs: tuple[str, ...],
        schedules: int,
        seconds: float,
        any_order: tuple[str, ...],
        strict: bool,
    ) -> None:
        self.kernel, self.outputs, self.schedules = kernel, outputs, schedules
        self.seconds, self.any_order, self.strict = seconds, any_order, strict

    def __getitem__(self, configuration: Any) -> Any:
        def run(*arguments: Any) -> Report:
            report = self.run(configuration, arguments)
            if self.strict and not report:
                raise CheckError(str(report))
            return report

        return run

    def run(self, configuration: Any, arguments: tuple) -> Report:
        began = time.monotonic()
        try:
            launch = self.kernel[configuration]
            values = prepared(launch, arguments)
        except CudaAPIError as problem:
            text = str(problem).split("CUDA_ERROR_INVALID_VALUE: ")[-1]
            definition = self.kernel.py_func.__code__
            finding = Finding("launch limit", text, definition.co_filename, (definition.co_firstlineno,))
            return Report(self.kernel.__name__, (finding,), 0, 0, 0, time.monotonic() - began)
        return Run(self, launch, values, began).report()


def prepared(launch: Launch, arguments: tuple) -> tuple:
    """Return copies of the arguments, as NumPy arrays and numbers, after the checks of a launch."""
    values = launch.prepare(arguments, {}, [])
    return tuple(value.copy() if isinstance(value, np.ndarray) else value for value in values)


class Run:
    """One check of one launch: the schedules, and what they bring to light."""

    def __init__(self, check: Check, launch: Launch, values: tuple, began: float) -> None:
        self.check, self.launch, self.values, self.began = check, launch, values, began
        self.kernel = check.kernel
        self.program = check.kernel.program
        self.found: dict[tuple, list] = {}  # what makes a cause distinct → first seen, how often
        self.accesses = 0
        self.done = 0
        self.partial = ""

    # -- what was reported

    def note(self, fault: Fault | BarrierFault) -> None:
        if isinstance(fault, BarrierFault):
            key = fault.kind, fault.line, fault.text.split(":")[0] if fault.kind.startswith("warp") else ""
        else:
            key = (fault.kind, fault.array, fault.access.place, fault.other.place if fault.other else None)
        entry = self.found.setdefault(key, [fault, 0])
        entry[1] += 1

    def finding(self, fault: Fault | BarrierFault, count: int) -> Finding:
        if isinstance(fault, BarrierFault):
            place = self.launch.position(fault.block, fault.thread)
            return Finding(fault.kind, fault.text, self.program.kernel.filename, (fault.line,), *place, count)
        access, other = fault.access, fault.other
        block, thread = self.launch.position(access.block, access.thread)
        element = f"{fault.array}[{', '.join(map(str, fault.index))}]"
        lines = [access.place[1]]
        kind = fault.kind
        if kind == "race":
            first, second = self.launch.position(other.block, other.thread), (block, thread)
            same_warp = other.block == access.block and other.thread // 32 == access.thread // 32
            kind = "warp synchronisation" if same_warp and fault.space == "shared" else kind
            text = (
                f"{element} in {fault.space} memory: {access.kind} here by block {second[0]}, thread {second[1]}, "
                f"{other.kind} at line {other.place[1]} by block {first[0]}, thread {first[1]}, and nothing orders them"
            )
            lines += [other.place[1]] if other.place[1] != lines[0] else []
        elif kind == "out of bounds":
            shape = self.shapes().get(fault.array)
            text = f"{element} does not exist{f': the shape is {shape}' if shape else ''}"
        else:
            text = f"{element} in {fault.space} memory is read before anything is stored there"
        return Finding(kind, text, access.place[0], tuple(lines), block, thread, count)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every array that the kernel is given, by its parameter's name."""
        named = zip(self.program.kernel.parameters, self.values, strict=True)
        return {name: value.shape for name, value in named if isinstance(value, np.ndarray)}

    # -- the schedules

    def report(self) -> Report:
        results, failure = [], None
        for schedule in range(max(1, self.check.schedules)):
            left = self.check.seconds - (time.monotonic() - self.began)
            if left <= 0:
                self.partial = (
                    f"{self.done} of {self.check.schedules} schedules within {self.check.seconds:g} s"
                )
                break
            try:
                results.append(self.one(schedule, left))
                self.done += 1
            except KernelStopped:
                failure = self.stuck()
                break
            except Exception as problem:
                failure = self.failed(problem)
                break
        findings = [self.finding(fault, count) for fault, count in self.found.values()]
        if failure:
            findings.append(failure)
        findings += self.unwritten(results)
        if not findings:
            findings += self.order_dependence(results)
        threads = math.prod(self.launch.block) * math.prod(self.launch.grid)
        return Report(
            self.kernel.__name__,
            tuple(findings),
            threads,
            self.accesses,
            self.done,
            time.monotonic() - self.began,
            self.partial,
        )

    def one(self, schedule: int, seconds: float) -> dict[str, Any]:
        """Run the launch in one order; return the arrays as they are afterwards, and what was written."""
        threads, blocks = math.prod(self.launch.block), math.prod(self.launch.grid)
        order, block_order = np.arange(threads), np.arange(blocks)
        if schedule == 1:
            order, block_order = order[::-1], block_order[::-1]
        elif schedule > 1:
            generator = np.random.default_rng(schedule - 1)
            order, block_order = generator.permutation(order), generator.permutation(block_order)
        launch = self.launch
        shared = shared_arrays(launch.arrays, launch.shared)
        self.watch = watch = Watch(
            self.program, launch.grid, launch.block, shared, self.note, order.tolist(), seconds
        )
        arrays, arguments, known = {}, [], {}
        for name, value in zip(self.program.kernel.parameters, self.values, strict=True):
            if isinstance(value, np.ndarray):
                # One array given twice is one array: what is known of it is known under both names.
                if id(value) not in known:
                    copy = value.copy()
                    known[id(value)] = copy, watch.watch(name, copy)
                arrays[name] = known[id(value)][0]
                arguments.append(known[id(value)][1])
            else:
                arguments.append(as_seen(value))
        try:
            with time_limit(seconds):
                watch.run(block_order.tolist(), tuple(arguments))
        finally:
            self.accesses += watch.moment.accesses
        written = {each.name: each.written for each in watch.memories if each.space == "global"}
        return {"arrays": arrays, "written": written}

    def unwritten(self, results: list[dict]) -> list[Finding]:
        found = []
        for name in self.check.outputs if results else ():
            array, written = results[0]["arrays"][name], results[0]["written"].get(name, set())
            missing = array.size - len(written)
            if missing:
                first = next(address for address in range(array.size) if address not in written)
                index = ", ".join(str(int(each)) for each in np.unravel_index(first, array.shape))
                code = self.kernel.py_func.__code__
                text = f"{missing:,} of {array.size:,} elements of {name} are never written, {name}[{index}] first"
                found.append(Finding("unwritten output", text, code.co_filename, (code.co_firstlineno,)))
        return found

    def order_dependence(self, results: list[dict]) -> list[Finding]:
        """Compare what the schedules made; sums of floats may differ by their rounding."""
        found = []
        for number, result in enumerate(results[1:], 1):
            for name, array in result["arrays"].items():
                first = results[0]["arrays"][name]
                if name in self.check.any_order:
                    first, array = np.sort(first, axis=None), np.sort(array, axis=None)
                differ = ~_close(first, array)
                if differ.any():
                    where = np.argwhere(differ)[0]
                    index = ", ".join(str(int(each)) for each in where)
                    code = self.kernel.py_func.__code__
                    how = "backwards" if number == 1 else f"shuffled by seed {number - 1}"
                    text = (
                        f"{name}[{index}] is {first[tuple(where)]} when the threads run as they count, and "
                        f"{array[tuple(where)]} when they run {how}"
                    )
                    found.append(Finding("order dependence", text, code.co_filename, (code.co_firstlineno,)))
            if found:
                return found
        return found

    def stuck(self) -> Finding:
        block, thread = self.launch.position(*self.watch.at)
        line = self.watch.last_line()
        text = f"the thread did not come to an end within {self.check.seconds:g} s"
        return Finding("no progress", text, self.program.kernel.filename, (line,), block, thread)

    def failed(self, problem: Exception) -> Finding:
        frames = traceback.extract_tb(problem.__traceback__)
        files = {each.filename for each in (self.program.kernel, *self.program.functions.values())}
        mine = [frame for frame in frames if frame.filename in files]
        code = self.kernel.py_func.__code__
        line = mine[-1].lineno if mine else code.co_firstlineno
        block, thread = self.launch.position(*self.watch.at)
        text = f"{type(problem).__name__}: {problem}"
        return Finding(
            "failed", text, mine[-1].filename if mine else code.co_filename, (line,), block, thread
        )


def _close(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if first.dtype.kind in "fc":
        tolerance = 1e-4 if first.dtype.itemsize <= 4 else 1e-9
        scale = np.abs(first[np.isfinite(first)]).max(initial=0)
        with np.errstate(invalid="ignore"):
            near = np.abs(first - second) <= tolerance * scale
        return near | (first == second) | (np.isnan(first) & np.isnan(second))
    return first == second
