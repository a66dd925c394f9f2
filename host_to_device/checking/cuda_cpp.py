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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from host_to_device.checking.accesses import MIXED, NONSENSE, OTHER_NONSENSE, ZEROS
from host_to_device.checking.options import CheckOptions
from host_to_device.checking.outcomes import (
    Difference,
    compared,
    differs_by,
    element_of,
    rounding_text,
    unfit_texts,
    unwritten_text,
)
from host_to_device.checking.racing import (
    Party,
    advice_for,
    kind_of_race,
    larger_block,
    pair_of,
    race_text,
)
from host_to_device.checking.repeats import Done, repeated_stores
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
OF_A_BLOCK = "Put __syncthreads() between the two: in a block of several warps, threads of other warps race here as well."
OF_THE_GRID = "Put this_grid().sync() between the two, let one thread own the element, or use an atomic."
OR_TOO_EARLY = (
    "Or store a value in each local variable before its first read: this compiler cannot tell the two apart."
)
# Faults that another may have caused: a store beyond a local array destroys whatever lies there.
UNCLEAR = ("crash", "stack overflow", "fault")
WARP_FUNCTION = re.compile(
    r"\b__(?!syncthreads)\w+_sync\b|\b__syncwarp\b|\b__activemask\b|\blaneid\b|\btiled_partition\b|\bcoalesced_threads\b"
)
ONE_SCHEDULE = "With schedules=1 the check reports faults only. For races and unwritten outputs, give schedules=2 or more."
NO_NOTES = "notes=True changes nothing here: the check has notes on performance for kernels in Python only."
OF_RESULTS = ("order dependence", "uninitialised read")  # findings that a race, too, can explain
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
        from host_to_device.standins.cupy.generated import translated
        from host_to_device.standins.cupy.raw import RawKernel

        self.options, self.began, self.faults = options, began, cuda_cpp
        name = name_of(given)
        self.kernel = RawKernel(
            given.code,
            name,
            tuple(given.options or ()),
            enable_cooperative_groups=bool(getattr(given, "enable_cooperative_groups", False)),
        )
        self.file = f"<{name}.cu>"
        lines = given.code.splitlines(keepends=True)
        linecache.cache[self.file] = len(given.code), None, lines, self.file
        self.conflicts: dict[tuple, Any] = {}  # races and early reads, by kind, array and lines
        self.lacking: dict[int, Any] = {}  # what warp operations lack, by line
        self.beyond_warp = self.repeated = False
        self.of_block: bool | None = None  # whether a barrier of the block is missing
        self.remarks: list[str] = []
        self.unfit: dict[tuple[str, int, str], tuple[float, int]] = {}  # as `races.Watched` has it
        self.compiling = 0.0  # seconds
        self.too_large: Any = None
        grid, block, *rest = configuration
        self.grid, self.block = dimensions(grid, "griddim", None), dimensions(block, "blockdim", None)
        self.shared = int(rest[1]) if len(rest) > 1 else 0
        self.arguments = arguments
        try:
            with self.uncounted():
                translate = getattr(given, "translate_cucomplex", False)
                module = cuda_cpp.compile(
                    translated(given.code) if translate else given.code,
                    name_expressions=expressions_of(given),
                    options=tuple(given.options or ()),
                    warp_size=options.warp_size,
                )
                self.function = module.function(name)
                self.variables = self.variables_of(given)
        except cuda_cpp.TooLarge as problem:
            self.too_large = problem
            return
        options.refuse_unknown_names(name, [self.name_of(number) for number, _ in self.arrays()])

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Do not count the seconds of this part, a compilation, as seconds of the check."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.compiling += time.monotonic() - began

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
        if self.too_large is not None:
            found = self.finding("launch limit", str(self.too_large), self.too_large.line, space="shared")
            return Report(self.kernel.name, (found,), 0, None, 0, time.monotonic() - self.began)
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
                findings.append(self.beyond_limit(str(problem)))
                break
            except self.faults.KernelFault as fault:
                if fault.watched is not None:
                    self.see(fault.watched, schedule, None)
                if fault.kind == "stopped" and fault.got_on:
                    after = f"{self.options.seconds:g} s"
                    partial.append(
                        f"schedule {schedule + 1} of {self.options.schedules} was cut off after {after}"
                    )
                else:
                    findings.append(self.of_fault(self.clearer(fault, schedule)))
                break
            done += 1
            self.see(watched, schedule, arrays)
            if schedule == 0:
                first = arrays
                continue
            if schedule == 1:
                unwritten = self.unwritten(watched, arrays)
            if not watched.whole:
                partial.append(PARTLY)
            if not self.conflicts and not findings:
                findings = self.differences(first, arrays, schedule)
        causes = self.causes()
        findings = [each for each in findings if each.kind not in OF_RESULTS or not (causes or self.lacking)]
        findings = [
            *map(self.of_conflict, causes),
            *map(self.of_lacking, self.lacking.values()),
            *findings,
            *unwritten,
        ]
        if self.repeated and not findings:
            self.remarks += self.repeats()
        remarks = [*self.remarks, *unfit_texts(self.unfit)]
        if not any(each.kind == "launch limit" for each in findings):
            refused, of_gpu = self.for_a_gpu()
            findings, remarks = findings + refused, remarks + of_gpu
        remarks += [ONE_SCHEDULE] if done == 1 and not findings else []
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
            if missing := re.search(r"(?:could not|cannot) open source file \"(.*?)\"", str(problem)):
                remark = f"NVRTC did not find {missing[1]}, so the check does not say whether it compiles the source for a GPU."
                return [], [remark]
            place = re.search(r"\((\d+)\): error: (.*)", str(problem))
            words = place[2] if place else str(problem)
            text = (
                f"NVRTC, the compiler that CuPy uses on a GPU, refuses the source for {architecture}: {words}"
            )
            advice = "Write it in standard CUDA C++; this machine's compiler accepts more than NVRTC does."
            return [self.finding("failed", text, int(place[1]) if place else 0, advice=advice)], []
        return [], [f"NVRTC also compiles the source for a GPU ({architecture})."]

    def left(self) -> float:
        """Return the seconds that are left; compiling does not count."""
        return self.options.seconds + self.compiling - (time.monotonic() - self.began)

    def one(
        self, schedule: int, seconds: float, fill: int = NONSENSE, locals_begin: str = "", **more: Any
    ) -> tuple[dict[str, np.ndarray], Any]:
        """Run the launch on copies; return the arrays as they are afterwards, by name, and the record of accesses."""
        locals_begin = locals_begin or self.locals_begin(schedule)
        with self.uncounted():
            self.function.module.file(locals_begin if schedule else "")
        values, arrays = self.copies()
        passed = self.kernel._passed(self.function, values)
        launch = self.grid, self.block, passed
        together = self.kernel.enable_cooperative_groups
        outputs = [arrays[name]._array for name in self.options.outputs]
        if schedule == 0:
            watched = self.function(
                *launch, shared_mem=self.shared, seconds=seconds, strict=True, cooperative=together
            )
        else:
            watched = self.function.watched(
                *launch,
                shared_mem=self.shared,
                cooperative=together,
                seed=schedule,
                seconds=seconds,
                fill=fill,
                outputs=outputs,
                locals_begin=locals_begin,
                **more,
            )
        return {name: array.get() for name, array in arrays.items()}, watched

    def copies(self) -> tuple[list, dict[str, Any]]:
        """Return fresh copies of the arguments, and the arrays among them by name; variables get their values again."""
        from host_to_device.standins.cupy.copying import copies

        values, arrays = list(self.arguments), {}
        for number, copy in copies(dict(self.arrays())).items():
            values[number] = arrays[self.name_of(number)] = copy
        for memory, initial in self.variables:
            memory[:] = initial
        return values, arrays

    # -- from the record to findings

    def see(self, watched: Any, schedule: int, arrays: dict[str, np.ndarray] | None) -> None:
        """Keep the conflicts of a schedule, one for each array and pair of lines, and what its warps lack."""
        self.repeated = self.repeated or watched.repeated
        self.unfit = {**watched.unfit, **self.unfit}
        doubtful = [each for each in watched.conflicts if each.before is None]
        values = [each for each in watched.lacking if each.of_value and schedule]
        for each in watched.lacking:
            if not each.of_value:
                self.lacking.setdefault(each.line, each)
        if (doubtful or values) and arrays is not None and not self.shows(arrays, schedule):
            doubtful = values = []
        for each in values:
            self.lacking.setdefault(each.line, each)
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
        advice = advice_for(pair, access.block == other.block) if kind == "race" else self.advice_for_warp()
        if access.block != other.block and self.kernel.enable_cooperative_groups:
            advice = OF_THE_GRID
        text = race_text(element, seen.space, access, other, self.grid, self.block)
        more = (other.line,) if other.line != access.line else ()
        return self.finding(kind, text, access.line, *more, pair=pair, advice=advice, **about)

    def finding(self, kind: str, text: str, line: int, *more: int, **about: Any) -> Finding:
        if kind == "warp synchronisation" and not about.get("advice"):
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
        about = {"block": fault.block, "thread": fault.thread, "space": fault.space, "array": fault.array}
        about |= {"index": () if fault.index is None else (fault.index,)}
        if fault.column:
            about["array"], about["space"] = (
                array_at(linecache.getline(self.file, fault.line), fault.column),
                "local",
            )
            root = re.split(r"\W", about["array"])[0]
            if root in {name for name, _, _ in self.function.module.shared}:
                about["space"] = "shared"
            elif root in self.function.parameter_names or root in self.function.module.variable_names:
                about["space"] = "global"
            words = words.replace("of an array that has", f"of {about['array'] or 'an array'}, which has")
            about["advice"] = "Keep the index below the length of the array, or of its row."
        return self.finding(kind, words, fault.line, **about)

    def clearer(self, fault: Any, schedule: int) -> Any:
        """Return the index out of bounds that has caused a fault of the first run, if the next run shows one.

        The first run does not compare indices with the lengths of local arrays.
        """
        if schedule or fault.kind not in UNCLEAR:
            return fault
        try:
            self.one(1, max(1.0, min(5.0, self.left())))
        except self.faults.KernelFault as other:
            return other if other.kind == "out of bounds" else fault
        return fault

    def beyond_limit(self, words: str) -> Finding:
        """Return the finding for a launch that exceeds a limit, at the largest shared array if it is one of memory."""
        if "shared memory" not in words:
            return self.finding("launch limit", words, 0)
        arrays = self.function.module.shared
        if arrays:
            line = max(arrays, key=lambda each: each[2])[1]
        else:
            found = re.search(r"extern\s+(?:\w+\s+)*?__shared__|__shared__\s+extern", self.kernel.code)
            line = self.kernel.code.count("\n", 0, found.start()) + 1 if found else 0
        advice = "Use a smaller tile, or a smaller type."
        return self.finding("launch limit", words, line, space="shared", advice=advice)

    # -- warps

    def of_lacking(self, seen: Any) -> Finding:
        """Return the finding for a warp operation that lacks lanes."""
        thread = thread_of(seen.block, seen.thread, self.grid, self.block)
        names = set(re.findall(r"__\w+_sync\b|__syncwarp\b", linecache.getline(self.file, seen.line)))
        name = f"{names.pop()}: " if len(names) == 1 else ""
        advice = ""
        if seen.of_value:
            text = f"{name}lane {seen.lane} takes the value of lane {seen.other}, which does not take part"
            advice = "Let the lane take part, or take the value of a lane that does."
        elif seen.line_of_other:
            text = (
                f"lane {seen.lane} waits here for lane {seen.other} of its mask {seen.mask:#x}, which waits at line "
                f"{seen.line_of_other} instead"
            )
        else:
            text = f"{name}the mask {seen.mask:#x} names lane {seen.other}, which does not take part"
        about = {"block": seen.block, "thread": seen.thread, "count": seen.count, "advice": advice}
        return self.finding("warp synchronisation", f"{text}, in {thread}", seen.line, **about)

    def own_code(self) -> str:
        """Return the source without the other kernels that it defines."""
        from host_to_device.standins.cuda_cpp import sources

        lines = self.kernel.code.split("\n")
        for each in sources.declarations(self.kernel.code).kernels:
            if each.name != self.kernel.name.partition("<")[0]:
                lines[each.first - 1 : each.last] = [""] * (each.last - each.first + 1)
        return sources.mask("\n".join(lines))

    def advice_for_warp(self) -> str:
        """Return advice for lanes of one warp that race in shared memory: a barrier of the block, or an empty string.

        A block of one warp hides that a barrier of the block is missing. So the launch runs once more with a block of
        two warps: if threads of both race, or leave their shared arrays and the source calls nothing that is for warps,
        the barrier is one of the block.
        """
        if math.prod(self.block) > self.options.warp_size:
            return ""
        if self.of_block is None:
            larger = larger_block(self.block, self.options.warp_size)
            passed = self.kernel._passed(self.function, self.copies()[0])
            conflicts: tuple[Any, ...] = ()
            leaves = False
            try:
                seen = self.function.watched(
                    self.grid, larger, passed, shared_mem=2 * self.shared, seconds=5.0
                )
                conflicts = seen.conflicts
            except self.faults.KernelFault as fault:
                conflicts = fault.watched.conflicts if fault.watched else ()
                leaves = fault.kind == "out of bounds"
            except (self.faults.LaunchError, self.faults.ArgumentError):
                leaves = True
            across = any(each.before and each.space == "shared" and each.beyond_warp for each in conflicts)
            self.of_block = across or (leaves and not WARP_FUNCTION.search(self.own_code()))
        return OF_A_BLOCK if self.of_block else ""

    # -- stores that blocks repeat

    def repeats(self) -> list[str]:
        """Return a remark for stores that blocks repeat because the index lacks `blockIdx`."""
        if self.left() <= 0:
            return []
        try:
            _, watched = self.one(1, self.left(), patterns=True)
        except self.faults.KernelFault:
            return []
        done = [
            Done(
                each.block,
                each.kind,
                (self.file, each.line),
                each.array,
                each.index,
                each.several,
                (each.hash, each.count),
            )
            for each in watched.patterns
        ]
        return repeated_stores(done, self.grid)

    def differences(
        self, first: dict[str, np.ndarray], arrays: dict[str, np.ndarray], schedule: int
    ) -> list[Finding]:
        """Return findings for results that differ: from local memory that was read too early, or from the order."""
        from host_to_device.standins.cuda_cpp import compiler

        found = self.order_dependence(first, arrays, schedule)
        if not found or compiler.find().fills_locals:
            return (self.read_too_early(first, arrays, schedule) if found else []) or found
        return [replace(each, advice=f"{each.advice} {OR_TOO_EARLY}") for each in found]

    @staticmethod
    def locals_begin(schedule: int) -> str:
        """Return what local variables begin with in a schedule after the first.

        clang computes NaN from a float without a value, and its pattern is NaN: so every second schedule begins with
        zeros there.
        """
        from host_to_device.standins.cuda_cpp import compiler

        return "zero" if compiler.find().is_clang and schedule % 2 == 0 else "pattern"

    def first_difference(self, one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> Difference | None:
        """Return the first element in which two results differ by more than rounding, None if there is none."""
        return next(
            (each for each in compared(one, other, self.options) if isinstance(each, Difference)), None
        )

    def read_too_early(
        self, first: dict[str, np.ndarray], arrays: dict[str, np.ndarray], schedule: int
    ) -> list[Finding]:
        """Return a finding if the result depends on what local variables begin with.

        The launch runs again in the same order, with other contents in the local variables. The compiler's warnings say
        which variables may be the cause; without one, all that are declared without a value.
        """
        seconds = self.left()
        if seconds <= 0:
            return []
        try:
            other = "pattern" if self.locals_begin(schedule) == "zero" else "zero"
            others, _ = self.one(schedule, seconds, locals_begin=other)
        except self.faults.KernelFault:
            return []
        each = self.first_difference(arrays, others)
        if each is None:
            # The first run had other contents there as well: the order alone decides only if it makes a difference
            # between runs with the same contents.
            try:
                steady, _ = self.one(schedule, max(1.0, self.left()), ascending=True)
            except self.faults.KernelFault:
                return []
            if self.first_difference(steady, arrays) is not None:
                return []
            each = self.first_difference(first, steady)
        if each is None:
            return []
        with self.uncounted():
            unset = self.function.module.unset_variables() or declared_without_value(self.kernel.code)
        names = ", ".join(dict.fromkeys(name for _, name in unset))
        which = (
            f"the local variable{'s' * (',' in names)} {names} may be read"
            if names
            else "a local variable is read"
        )
        text = (
            f"{which} before a value is stored there: {element_of(each.array, each.where)} changes with what local memory "
            "holds at first"
        )
        lines = tuple(dict.fromkeys(line for line, _ in unset))
        return [self.finding("uninitialised read", text, *(lines or (0,)), space="local")]

    def order_dependence(
        self, first: dict[str, np.ndarray], arrays: dict[str, np.ndarray], schedule: int
    ) -> list[Finding]:
        """Return a finding for each array that differs between the first schedule and another one."""
        how = f"are shuffled by seed {schedule}"
        found = []
        for each in compared(first, arrays, self.options):
            if isinstance(each, Difference):
                about = {"array": each.array, "index": each.where, "space": "global"}
                found.append(self.finding("order dependence", each.text(how), 0, **about))
            elif not any(remark.startswith(differs_by(each.array)) for remark in self.remarks):
                atomically = "atomicAdd" in self.kernel.code
                self.remarks.append(rounding_text(each.array, each.size, atomically))
        return found


def array_at(line: str, column: int) -> str:
    """Return the array whose index stands at a column of a source line: g++ names its bracket, clang its beginning."""
    if column > len(line) or line[column - 1] != "]":
        found = re.match(r"[\w.]+(->[\w.]+)*", line[column - 1 :])
        return found[0] if found else ""
    at = _opening(line, column - 1)  # the bracket before the index
    start = at
    while start > 0 and (line[start - 1].isalnum() or line[start - 1] in "_.]>-"):
        if line[start - 1] == ">" and line[start - 2 : start] != "->":
            break
        if line[start - 1] == "-" and line[start - 1 : start + 1] != "->":
            break
        start = _opening(line, start - 1) if line[start - 1] == "]" else start - 1
    return line[start:at]


def _opening(line: str, at: int) -> int:
    """Return where the bracket opens that closes there; 0 if it opens in an earlier line."""
    depth = 0
    for start in range(at, -1, -1):
        depth += (line[start] == "]") - (line[start] == "[")
        if depth == 0:
            return start
    return 0


def declared_without_value(source: str) -> list[tuple[int, str]]:
    """Return the local variables of numbers that a source declares without a value: line and name of each."""
    found = []
    kinds = r"(?:unsigned|signed|short|long|int|char|float|double|bool|half|__half|size_t|[a-z]+[234])"
    for number, line in enumerate(source.splitlines(), 1):
        words = re.match(rf"\s+(?:{kinds}\s+)+(?P<rest>\w[^=(){{}}]*);", line)
        if words and "__shared__" not in line and "extern" not in line:
            found += [
                (number, name) for name in re.findall(r"(\w+)\s*(?:\[[^]]*\]\s*)*(?:,|$)", words["rest"])
            ]
    return found
