"""Check a kernel in CUDA C++ (CuPy's `RawKernel`): faults, races and results that depend on the order.

The launch runs on copies. The first run, in ascending order, shows faults with their lines. The runs after it, in
orders shuffled by seeds, are watched: every access to global and shared memory is compared with earlier ones by the
rule in `checking.accesses`. Two accesses that nothing orders are a race. A read of shared memory before anything is
stored there is an error if it affects the result.
"""

from __future__ import annotations

import linecache
import math
import re
import sys
import time
from typing import Any

import numpy as np

from host_to_device.checking.accesses import MIXED, NONSENSE, OTHER_NONSENSE, ZEROS
from host_to_device.checking.options import CheckOptions
from host_to_device.checking.outcomes import Difference, compared, unwritten_text
from host_to_device.checking.racing import Party, advice_for, kind_of_race, pair_of, race_text
from host_to_device.checking.report import Finding, Report
from host_to_device.standins.kernels import expressions_of, name_of
from host_to_device.standins.numba_cuda.launching import dimensions
from host_to_device.standins.positions import thread_of
from host_to_device.starting import machine

OF_A_WARP = "Put __syncwarp() between the two, or give a mask that names exactly the lanes that take part."
KINDS = {
    "out of bounds": "out of bounds",
    "barrier divergence": "barrier divergence",
    "warp divergence": "warp synchronisation",
    "stopped": "no progress",
}
ONE_SCHEDULE = "With schedules=1 the check reports faults only. For races and unwritten outputs, give schedules=2 or more."
NO_NOTES = "notes=True changes nothing here: the check has notes on performance for kernels in Python only."
PARTLY = "the accesses that fit into its record"
ARCHITECTURE = "sm_75"  # a T4's: the oldest that NVRTC 13 compiles for
OTHER_FILLS = (ZEROS, OTHER_NONSENSE, MIXED)


def architecture_here() -> str:
    """Return the architecture of the GPU that CuPy uses, such as "sm_90"; without a GPU, the oldest of NVRTC 13."""
    cupy = sys.modules.get("cupy") if machine.chosen == "gpu" else None
    try:
        return f"sm_{cupy.cuda.Device().compute_capability}" if cupy is not None else ARCHITECTURE
    except Exception:  # the GPU's context was lost
        return ARCHITECTURE


class RawRun:
    """One check of one launch of a kernel in CUDA C++."""

    def __init__(
        self, given: Any, options: CheckOptions, configuration: tuple, arguments: tuple, began: float
    ) -> None:
        from host_to_device.standins import cuda_cpp
        from host_to_device.standins.cupy.raw import RawKernel

        self.options, self.began, self.faults = options, began, cuda_cpp
        name = name_of(given)
        self.kernel = RawKernel(given.code, name, tuple(given.options or ()))
        module = cuda_cpp.compile(
            given.code,
            name_expressions=expressions_of(given),
            options=tuple(given.options or ()),
            warp_size=options.warp_size,
        )
        self.function = module.function(name)
        self.variables = self.variables_of(given)
        grid, block, *rest = configuration
        self.grid, self.block = dimensions(grid, "griddim", None), dimensions(block, "blockdim", None)
        self.shared = int(rest[1]) if len(rest) > 1 else 0
        self.arguments = arguments
        options.refuse_unknown_names(name, [self.name_of(number) for number, _ in self.arrays()])
        self.file = f"<{name}.cu>"
        lines = given.code.splitlines(keepends=True)
        linecache.cache[self.file] = len(given.code), None, lines, self.file
        self.conflicts: dict[tuple, Any] = {}  # races and early reads, by kind, array and lines
        self.beyond_warp = False

    def arrays(self) -> list[tuple[int, Any]]:
        """Return the arrays among the arguments, each with its place."""
        return [
            (number, value)
            for number, value in enumerate(self.arguments)
            if hasattr(value, "get") and hasattr(value, "__cuda_array_interface__")
        ]

    def name_of(self, number: int) -> str:
        """Return what the source calls a parameter."""
        names = self.function.parameter_names
        return (names[number] if number < len(names) else "") or f"argument {number + 1}"

    def variables_of(self, given: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the module's variables, each with the bytes that it has in the learner's module before a launch."""
        module = self.function.module
        theirs = given._compiled() if isinstance(given, type(self.kernel)) else None
        found = []
        for name in module.variable_names:
            memory = module.get_global(name)
            found.append((memory, (theirs.get_global(name) if theirs else memory).copy()))
        return found

    def report(self) -> Report:
        """Run all schedules and return the report."""
        findings: list[Finding] = []
        first: dict[str, np.ndarray] = {}
        unwritten: list[Finding] = []
        done, partial = 0, []
        for schedule in range(self.options.schedules):
            left = self.left()
            if left <= 0:
                partial.append(
                    f"{done} of {self.options.schedules} schedules within {self.options.seconds:g} s"
                )
                break
            try:
                arrays, watched = self.one(schedule, left)
            except self.faults.LaunchError as problem:
                findings.append(self.finding("launch limit", str(problem), 0))
                break
            except self.faults.KernelFault as fault:
                if fault.watched is not None:
                    self.see(fault.watched, schedule, None)
                findings.append(self.of_fault(fault))
                break
            done += 1
            if schedule == 0:
                first = arrays
                continue
            self.see(watched, schedule, arrays)
            if schedule == 1:
                unwritten = self.unwritten(watched, arrays)
            if not watched.whole:
                partial.append(PARTLY)
            if not self.conflicts and not findings:
                findings = self.order_dependence(first, arrays, schedule)
        causes = self.causes()
        findings = [each for each in findings if each.kind != "order dependence" or not causes]
        findings = [*map(self.of_conflict, causes), *findings, *unwritten]
        refused, remarks = self.for_a_gpu()
        findings += refused
        remarks += [ONE_SCHEDULE] if self.options.schedules == 1 else []
        remarks += [NO_NOTES] if self.options.notes else []
        return Report(
            self.kernel.name,
            tuple(findings),
            math.prod(self.grid) * math.prod(self.block),
            None,
            done,
            time.monotonic() - self.began,
            tuple(dict.fromkeys(partial)),
            tuple(remarks),
        )

    def for_a_gpu(self) -> tuple[list[Finding], list[str]]:
        """Ask NVRTC, if it is installed, whether the source compiles for a GPU; another compiler is used for the CPU."""
        from host_to_device.standins.cuda_cpp import nvrtc

        if not nvrtc.is_installed():
            return [], []
        architecture = architecture_here()
        try:
            self.faults.compiles_for_gpu(self.kernel.code, architecture, self.kernel.options)
        except self.faults.CompileError as problem:
            place = re.search(r"\((\d+)\): error: (.*)", str(problem))
            words = place[2] if place else str(problem)
            text = (
                f"NVRTC, the compiler that CuPy uses on a GPU, refuses the source for {architecture}: {words}"
            )
            advice = "Write it in standard CUDA C++; this machine's compiler accepts more than NVRTC does."
            return [self.finding("failed", text, int(place[1]) if place else 0, advice=advice)], []
        return [], [f"NVRTC also compiles the source for a GPU ({architecture})."]

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.options.seconds - (time.monotonic() - self.began)

    def one(self, schedule: int, seconds: float, fill: int = NONSENSE) -> tuple[dict[str, np.ndarray], Any]:
        """Run the launch on copies; return the arrays as they are afterwards, by name, and the record of accesses."""
        from host_to_device.standins.cupy.copying import copies

        values, arrays = list(self.arguments), {}
        for number, copy in copies(dict(self.arrays())).items():
            values[number] = arrays[self.name_of(number)] = copy
        passed = self.kernel._passed(self.function, values)
        for memory, initial in self.variables:
            memory[:] = initial
        launch = self.grid, self.block, passed
        outputs = [arrays[name]._array for name in self.options.outputs]
        if schedule == 0:
            watched = None
            self.function(*launch, shared_mem=self.shared, seconds=seconds)
        else:
            watched = self.function.watched(
                *launch, shared_mem=self.shared, seed=schedule, seconds=seconds, fill=fill, outputs=outputs
            )
        return {name: array.get() for name, array in arrays.items()}, watched

    # -- from the record to findings

    def see(self, watched: Any, schedule: int, arrays: dict[str, np.ndarray] | None) -> None:
        """Keep the conflicts of a schedule, one for each array and pair of lines."""
        doubtful = [each for each in watched.conflicts if each.before is None]
        if doubtful and arrays is not None and not self.shows(arrays, schedule):
            doubtful = []
        for each in watched.conflicts:
            if each.before is None and each not in doubtful:
                continue
            places = [each.access.line] if each.before is None else [each.access.line, each.before.line]
            self.conflicts.setdefault((each.before is None, each.array, frozenset(places)), each)
            if each.before is not None and each.space == "shared":
                self.beyond_warp = self.beyond_warp or each.beyond_warp

    def shows(self, arrays: dict[str, np.ndarray], schedule: int) -> bool:
        """Return whether the result changes when shared memory begins with other bytes."""
        for fill in OTHER_FILLS:
            left = self.left()
            if left <= 0:
                return True
            try:
                others, _ = self.one(schedule, left, fill)
            except self.faults.KernelFault:
                return True
            if any(array.tobytes() != others[name].tobytes() for name, array in arrays.items()):
                return True
        return False

    def causes(self) -> list[Any]:
        """Return the conflicts, without reads that come too early because of a race at the same line."""
        racing = {
            (each.array, line)
            for each in self.conflicts.values()
            if each.before is not None
            for line in (each.access.line, each.before.line)
        }
        return [
            each
            for each in self.conflicts.values()
            if each.before is not None or (each.array, each.access.line) not in racing
        ]

    def unwritten(self, watched: Any, arrays: dict[str, np.ndarray]) -> list[Finding]:
        """Return a finding for each output that has elements which the launch did not write."""
        found = []
        whole = [name for name in self.options.outputs if arrays[name].size]
        for name, (missing, first) in zip(whole, watched.unwritten, strict=True):
            size = arrays[name].size
            if missing and watched.whole:
                where = tuple(map(int, np.unravel_index(first, arrays[name].shape)))
                text = unwritten_text(name, size, missing, where)
                found.append(
                    self.finding("unwritten output", text, 0, array=name, index=where, space="global")
                )
        return found

    def of_conflict(self, seen: Any) -> Finding:
        """Return the finding for a race, or for a read before anything is stored."""
        dynamic = seen.array == "dynamic shared memory"
        element = f"element {seen.index} of {seen.array}" if dynamic else f"{seen.array}[{seen.index}]"
        about = {"array": seen.array, "index": (seen.index,), "space": seen.space, "count": seen.count}
        about |= {"block": seen.access.block, "thread": seen.access.thread}
        if seen.before is None:
            thread = thread_of(seen.access.block, seen.access.thread, self.grid, self.block)
            text = (
                f"{thread} reads {element} in {seen.space} memory before any thread has stored a value there"
            )
            return self.finding("uninitialised read", text, seen.access.line, **about)
        access, other = Party(*seen.access), Party(*seen.before)
        pair = pair_of(access, other)
        kind = kind_of_race(seen.space, pair, self.beyond_warp)
        advice = advice_for(pair, access.block == other.block) if kind == "race" else ""
        text = race_text(element, seen.space, access, other, self.grid, self.block)
        more = (other.line,) if other.line != access.line else ()
        return self.finding(kind, text, access.line, *more, pair=pair, advice=advice, **about)

    def finding(self, kind: str, text: str, line: int, *more: int, **about: Any) -> Finding:
        if kind == "warp synchronisation":
            about["advice"] = OF_A_WARP  # the report's own advice is for Python
        return Finding(kind, text, self.file, (line or self.first_line(), *more), **about)

    def first_line(self) -> int:
        """Return the line on which the kernel begins."""
        plain = re.escape(self.kernel.name.partition("<")[0])
        found = re.search(rf"\b{plain}\s*\(", self.kernel.code)
        return self.kernel.code.count("\n", 0, found.start()) + 1 if found else 1

    def of_fault(self, fault: Any) -> Finding:
        """Return the finding for a fault that stopped the launch."""
        kind = KINDS.get(fault.kind, "failed")
        words = str(fault).partition(": ")[2] or str(fault)
        words = words.removeprefix(f"{fault.kind}: ")
        return self.finding(kind, words, fault.line, block=fault.block, thread=fault.thread)

    def order_dependence(
        self, first: dict[str, np.ndarray], arrays: dict[str, np.ndarray], schedule: int
    ) -> list[Finding]:
        """Return a finding for each array that differs between the first schedule and another one."""
        how = f"are shuffled by seed {schedule}"
        return [
            self.finding(
                "order dependence", each.text(how), 0, array=each.array, index=each.where, space="global"
            )
            for each in compared(first, arrays, self.options)
            if isinstance(each, Difference)
        ]
