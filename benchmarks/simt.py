"""How fast the stand-in for `numba.cuda` runs kernels: against Numba's own simulator, and in seconds."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata

from host_to_device.standins import imports


@dataclass(frozen=True)
class Row:
    """One problem at one size.

    `simulated` is the size at which the simulator runs it, where the size itself would take it minutes; its time
    is then multiplied by `size / simulated`, which is fair to a simulator that starts one thread an element.
    """

    name: str
    size: int
    simulated: int | None = None

    @property
    def label(self) -> str:
        flat = self.name not in ("tiled matmul", "stencil")
        return f"{self.name} {self.size:,}" if flat else f"{self.name} {self.size}×{self.size}"


@dataclass(frozen=True)
class Runs:
    """How often to run what: the simulator, the interpreter, compiled kernels, first calls."""

    simulator: int = 3
    interpreted: int = 5
    compiled: int = 30
    first: int = 3


QUICK = Runs(simulator=1, interpreted=2, compiled=5, first=1)

RATIOS = [
    Row("vector add", 10_000),
    Row("vector add", 1_000_000, simulated=10_000),
    Row("tiled matmul", 64),
    Row("block reduction", 8_192),
    Row("histogram", 10_000),
    Row("stencil", 128),
]
FIRST = [row for row in RATIOS if row.simulated is None]
ABSOLUTE = [Row("vector add", 1_000_000), Row("tiled matmul", 1024)]


def timed(name: str, size: int, runs: int, warm_up: int = 2) -> list[float]:
    """Return the seconds of each run of a problem, with whatever `cuda` is there.

    Raises
    ------
    RuntimeError
        If the result is wrong: then its time means nothing.
    """
    from numba import cuda

    from benchmarks.kernels import PROBLEMS

    problem = PROBLEMS[name](size)
    seconds = []
    for _ in range(warm_up + runs):
        began = time.perf_counter()
        problem.launch()
        cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    if not problem.is_right():
        raise RuntimeError(f"{name} of size {size}: the result is wrong")
    return seconds[warm_up:]


def stand_in(row: Row, runs: int, interpreted: bool = False) -> list[float]:
    """Return the seconds of each run on the stand-in, compiled kernels being warm."""
    from numba import cuda

    with cuda.stand_in(interpreted=interpreted, seconds=600):
        return timed(row.name, row.size, runs, warm_up=0 if interpreted else 2)


def in_child(*arguments: object, **environment: str) -> list:
    """Run `bench.child` in a process of its own and return what it measured."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.child", *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["the child process failed"])[-1])
    return json.loads(done.stdout)


def simulator(rows: list[Row], runs: int) -> list[list[float]]:
    """Return the seconds of each run of each row on Numba's simulator, extrapolated where the row says so."""
    wanted = list(dict.fromkeys((row.name, row.simulated or row.size) for row in rows))
    found = dict(
        zip(wanted, in_child("simulator", runs, *(part for each in wanted for part in each)), strict=True)
    )
    return [
        [
            seconds * row.size / (row.simulated or row.size)
            for seconds in found[row.name, row.simulated or row.size]
        ]
        for row in rows
    ]


def first_calls(row: Row, runs: int) -> tuple[list[float], list[float]]:
    """Return the seconds of the first launch in a new process: with an empty cache folder, and with a filled one."""
    cold, cached = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            for into in (cold, cached):
                into.append(in_child("first", row.name, row.size, XDG_CACHE_HOME=folder)[1])
    return cold, cached


# ---- the report


def duration(seconds: float) -> str:
    """Return a time in three digits and the unit that suits it."""
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        value = seconds * factor
        if value >= 1 or unit == "µs":
            return f"{value:.{max(0, 2 - max(0, len(str(int(value))) - 1))}f} {unit}"
    raise AssertionError


def spread(seconds: list[float]) -> str:
    """Return the median, and half the distance between the quartiles in percent of it."""
    middle = statistics.median(seconds)
    if len(seconds) == 1:
        return f"{duration(middle)}     "
    low, _, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return f"{duration(middle)} ±{(high - low) / 2 / middle:>3.0%}"


def ratio(slow: list[float], fast: list[float]) -> str:
    return f"{statistics.median(slow) / statistics.median(fast):,.0f}×"


def aligned(lines: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the lines of a table: the first column to the left, the others to the right."""
    lines = list(lines)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *others in lines:
        cells = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        yield "  ".join([f"{first:<{widths[0]}}", *cells]).rstrip()


def machine() -> str:
    """Return what was measured on: processor, system, versions, and how busy it was."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as found:
            model = next(line.split(":", 1)[1].strip() for line in found if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    versions = ", ".join(
        f"{title} {metadata.version(name)}" for title, name in (("NumPy", "numpy"), ("Numba", "numba"))
    )
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}{load}\n"
        f"Python {platform.python_version()}, {versions}"
    )


def ratio_table(runs: Runs) -> Iterator[str]:
    lines = [("", "simulator", "interpreted", "compiled", "interpreted", "compiled")]
    for row, slow in zip(RATIOS, simulator(RATIOS, runs.simulator), strict=True):
        plain, fast = stand_in(row, runs.interpreted, interpreted=True), stand_in(row, runs.compiled)
        label = row.label + (" *" if row.simulated else "")
        lines.append((label, *map(spread, (slow, plain, fast)), ratio(slow, plain), ratio(slow, fast)))
    yield "Against Numba's simulator: time, and how many times as fast (kernels compiled before)"
    yield from aligned(lines)
    for row in RATIOS:
        if row.simulated:
            yield (
                f"* simulator extrapolated from {row.simulated:,}: measured time × "
                f"{row.size / row.simulated:g}, as it starts one thread an element"
            )


def first_table(runs: Runs) -> Iterator[str]:
    lines = [("", "nothing cached", "cached on disk")]
    lines += [(row.label, *map(spread, first_calls(row, runs.first))) for row in FIRST]
    yield "First launch in a new process, compiling included"
    yield from aligned(lines)


def absolute_table(runs: Runs) -> Iterator[str]:
    yield "Problems of course size, compiled before"
    yield from aligned([(row.label, spread(stand_in(row, runs.compiled))) for row in ABSOLUTE])


TABLES: list[Callable[[Runs], Iterator[str]]] = [ratio_table, first_table, absolute_table]


def report(quick: bool = False) -> Iterator[str]:
    """Yield the lines of the report, each table as soon as it is measured."""
    runs = QUICK if quick else Runs()
    imports.redirect()
    yield machine()
    yield (
        f"Median of {runs.simulator} runs (simulator), {runs.interpreted} (interpreted), {runs.compiled} (compiled), "
        f"{runs.first} (first launch); ± is half the distance between the quartiles"
    )
    for table in TABLES:
        yield ""
        yield from table(runs)
