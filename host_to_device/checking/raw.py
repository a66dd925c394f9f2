"""The check of a kernel in CUDA C++ (CuPy's `RawKernel`): faults with their line, and results that depend on the order.

Such a kernel is compiled code, whose single accesses nobody watches. What its runs show is reported: indices outside
of arrays and shared memory, barriers that not all threads reach, launches that never end, and results that differ
between the orders in which blocks and threads run; a race shows as such a result, or not at all.
"""

from __future__ import annotations

import linecache
import math
import re
import time
from typing import Any

import numpy as np

from host_to_device.checking.comparing import differences
from host_to_device.checking.report import Finding, Report
from host_to_device.standins.numba_cuda.launching import dimensions

KINDS = {
    "out of bounds": "out of bounds",
    "barrier divergence": "barrier divergence",
    "warp divergence": "warp synchronisation",
    "stopped": "no progress",
}
REMARK = "CUDA C++ is checked by its results and faults: single accesses are not watched, and a race may go unseen."


def is_raw(kernel: Any) -> bool:
    """Tell whether an object is a `RawKernel`, CuPy's or the stand-in's."""
    kind = type(kernel)
    return kind.__name__ == "RawKernel" and kind.__module__.startswith(
        ("cupy", "host_to_device.standins.cupy")
    )


class RawRun:
    """One check of one launch of a kernel in CUDA C++."""

    def __init__(self, check: Any, configuration: tuple, arguments: tuple, began: float) -> None:
        from host_to_device.standins import cuda_cpp
        from host_to_device.standins.cupy.raw import RawKernel

        self.check, self.began, self.faults = check, began, cuda_cpp
        given = check.kernel
        self.kernel = RawKernel(given.code, given.name, tuple(given.options or ()))
        module = cuda_cpp.compile(
            given.code,
            name_expressions=getattr(given, "name_expressions", None) or (),
            options=tuple(given.options or ()),
            warp_size=check.warp_size,
        )
        self.function = module.function(given.name)
        grid, block, *rest = configuration
        self.grid, self.block = dimensions(grid, "griddim", None), dimensions(block, "blockdim", None)
        self.shared = int(rest[1]) if len(rest) > 1 else 0
        self.arguments = arguments
        self.file = f"<{given.name}.cu>"
        lines = given.code.splitlines(keepends=True)
        linecache.cache[self.file] = len(given.code), None, lines, self.file

    def report(self) -> Report:
        findings: list[Finding] = []
        first: dict[str, np.ndarray] = {}
        done, partial = 0, []
        for schedule in range(self.check.schedules):
            left = self.check.seconds - (time.monotonic() - self.began)
            if left <= 0:
                partial.append(f"{done} of {self.check.schedules} schedules within {self.check.seconds:g} s")
                break
            try:
                arrays = self.one(schedule, left)
            except self.faults.LaunchError as problem:
                findings.append(self.finding("launch limit", str(problem), 0))
                break
            except self.faults.KernelFault as fault:
                findings.append(self.of_fault(fault))
                break
            done += 1
            if schedule == 0:
                first = arrays
                continue
            findings = self.dependence(first, arrays, schedule)
            if findings:
                break
        threads = math.prod(self.grid) * math.prod(self.block)
        seconds = time.monotonic() - self.began
        return Report(
            self.kernel.name, tuple(findings), threads, None, done, seconds, tuple(partial), (REMARK,)
        )

    def one(self, schedule: int, seconds: float) -> dict[str, np.ndarray]:
        """Run the launch on copies; return the arrays as they are afterwards, by their parameters' names."""
        from host_to_device.standins import cupy

        names = self.function.parameter_names
        values, arrays = [], {}
        for number, value in enumerate(self.arguments):
            if hasattr(value, "get") and hasattr(value, "__cuda_array_interface__"):
                value = cupy.array(value.get())
                name = names[number] if number < len(names) else ""
                arrays[name or f"argument {number + 1}"] = value
            values.append(value)
        passed = self.kernel._passed(self.function, values)
        seed = None if schedule == 0 else schedule
        self.function(self.grid, self.block, passed, shared_mem=self.shared, seed=seed, seconds=seconds)
        return {name: array.get() for name, array in arrays.items()}

    def finding(self, kind: str, text: str, line: int, **about: Any) -> Finding:
        return Finding(kind, text, self.file, (line or self.first_line(),), **about)

    def first_line(self) -> int:
        """Return the line on which the kernel begins."""
        plain = re.escape(self.kernel.name.partition("<")[0])
        found = re.search(rf"\b{plain}\s*\(", self.kernel.code)
        return self.kernel.code.count("\n", 0, found.start()) + 1 if found else 1

    def of_fault(self, fault: Any) -> Finding:
        kind = KINDS.get(fault.kind, "failed")
        words = str(fault).partition(": ")[2].rpartition("; block")[0] or str(fault)
        words = words.removeprefix(f"{fault.kind}: ")
        return self.finding(kind, words, fault.line, block=fault.block, thread=fault.thread)

    def dependence(
        self, first: dict[str, np.ndarray], arrays: dict[str, np.ndarray], schedule: int
    ) -> list[Finding]:
        found = []
        for name, array in arrays.items():
            one = first[name]
            if name in self.check.not_compared:
                continue
            if name in self.check.any_order:
                one, array = np.sort(one, axis=None), np.sort(array, axis=None)
            differ, _ = differences(one, array)
            if differ.any():
                where = tuple(int(each) for each in np.argwhere(differ)[0])
                text = (
                    f"{name}[{', '.join(map(str, where))}] is {one[where]} when blocks and threads run as they "
                    f"count, and {array[where]} when they are shuffled by seed {schedule}"
                )
                found.append(
                    self.finding("order dependence", text, 0, array=name, index=where, space="global")
                )
        return found
