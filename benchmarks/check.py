"""What the check costs: against Numba's own simulator, which checks nothing, and in memory."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.simt import QUICK, RATIOS, Row, Runs, aligned, in_child, machine, ratio, simulator, spread
from host_to_device.standins import imports

# Launches of one kernel that touch as many addresses in ever more steps, and ever more addresses.
STEPS = [("tiled matmul", 32), ("tiled matmul", 64), ("tiled matmul", 128)]
ADDRESSES = [("vector add", 10_000), ("vector add", 50_000), ("vector add", 250_000)]
FIRST = [("vector add", 10_000), ("tiled matmul", 64), ("tiled matmul", 128)]
SECONDS, ACCESSES = 600, 10**9


def checked(row: Row, runs: int, interpreted: bool) -> list[float]:
    """Return the seconds of each check of one schedule, compiled ones after two to warm up.

    Raises
    ------
    RuntimeError
        If the check finds something, or looks at a part only: then its time means nothing.
    """
    from benchmarks.kernels import PROBLEMS
    from host_to_device.checking import check

    problem = PROBLEMS[row.name](row.size)
    asked = check(problem.kernel, schedules=1, seconds=SECONDS, accesses=ACCESSES, interpreted=interpreted)[
        problem.grid, problem.block
    ]
    seconds = []
    warm_up = 0 if interpreted else 2
    for _ in range(warm_up + runs):
        began = time.perf_counter()
        report = asked(*problem.arguments)
        seconds.append(time.perf_counter() - began)
        if report.findings or report.partial:
            raise RuntimeError(f"{row.label}: {str(report).splitlines()[0]}")
    return seconds[warm_up:]


def speed_table(runs: Runs) -> Iterator[str]:
    yield "One schedule with everything on, against Numba's simulator: time, and how many times as fast"
    lines = [("", "simulator", "interpreted", "compiled", "interpreted", "compiled")]
    for row, slow in zip(RATIOS, simulator(RATIOS, runs.simulator), strict=True):
        interpreted = checked(row, min(runs.interpreted, 3), interpreted=True)
        compiled = checked(row, runs.compiled, interpreted=False)
        label = row.label + (" *" if row.simulated else "")
        lines.append(
            (
                label,
                *map(spread, (slow, interpreted, compiled)),
                ratio(slow, interpreted),
                ratio(slow, compiled),
            )
        )
    yield from aligned(lines)
    for row in RATIOS:
        if row.simulated:
            yield f"* simulator extrapolated from {row.simulated:,}, as it starts one thread an element"


def first_table(runs: Runs) -> Iterator[str]:
    yield "First check of a kernel in a new process, three schedules, as h2d.check chooses"
    lines = [("", "nothing cached", "cached on disk")]
    for name, size in FIRST:
        cold, cached = in_child("first-check", runs.first, name, size)
        lines.append((Row(name, size).label, spread(cold), spread(cached)))
    yield from aligned(lines)


def memory_table(_: Runs) -> Iterator[str]:
    yield "Memory that a check takes at its peak, besides the arrays: with more steps, and with more addresses"
    lines = [("", "accesses", "addresses", "interpreted", "compiled")]
    for name, size in (*STEPS, *ADDRESSES):
        accesses, addresses, interpreted, compiled = in_child("check-memory", name, size)
        lines.append(
            (
                Row(name, size).label,
                f"{accesses:,}",
                f"{addresses:,}",
                *map(mebibytes, (interpreted, compiled)),
            )
        )
    yield from aligned(lines)


def mebibytes(size: float) -> str:
    return f"{size / 2**20:.1f} MiB"


def report(quick: bool = False) -> Iterator[str]:
    """Yield the lines of the report, each table as soon as it is measured."""
    runs = QUICK if quick else Runs(interpreted=3, compiled=10)
    imports.redirect()
    yield machine()
    yield f"Median of {runs.simulator} runs (simulator), {min(runs.interpreted, 3)} (interpreted), {runs.compiled} (compiled)"
    for table in (speed_table, first_table, memory_table):
        yield ""
        yield from table(runs)
