"""What has to be measured in a process of its own; prints JSON.

`python -m benchmarks.child simulator RUNS NAME SIZE [NAME SIZE]…` times Numba's simulator;
`… child first NAME SIZE` times the first launch of a kernel on the stand-in; `… child first-check RUNS NAME SIZE`
its first check, without and with compiled code on disk; `… child check-memory NAME SIZE` measures its memory.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import warnings

TILED = 16  # the smallest matrix that fills a tile


def simulator(runs: int, rows: list[tuple[str, int]]) -> list[list[float]]:
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    warnings.simplefilter("ignore")
    from benchmarks.simt import timed

    return [timed(name, size, runs, warm_up=0) for name, size in rows]


def first(name: str, size: int) -> list[float]:
    """Return the seconds for importing Numba and the stand-in, and for the first launch."""
    began = time.perf_counter()
    from host_to_device.standins import imports

    imports.redirect()
    from benchmarks.kernels import PROBLEMS

    imported = time.perf_counter() - began
    problem = PROBLEMS[name](size)
    began = time.perf_counter()
    problem.launch()
    return [imported, time.perf_counter() - began]


def first_checks(runs: int, name: str, size: int) -> list[list[float]]:
    """Return the seconds of first checks, each in a process of its own: nothing cached, and then from disk."""
    import subprocess
    import tempfile

    cold, cached = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            for into in (cold, cached):
                command = [sys.executable, "-m", __spec__.name, "one-check", name, str(size)]
                done = subprocess.run(
                    command,
                    env={**os.environ, "XDG_CACHE_HOME": folder},
                    stdout=subprocess.PIPE,
                    check=True,
                    text=True,
                )
                into.append(json.loads(done.stdout))
    return [cold, cached]


def one_check(name: str, size: int) -> float:
    from host_to_device.standins import imports

    imports.redirect()
    from benchmarks.kernels import PROBLEMS
    from host_to_device.checking import check

    problem = PROBLEMS[name](size)
    began = time.perf_counter()
    check(problem.kernel)[problem.grid, problem.block](*problem.arguments)
    return time.perf_counter() - began


def check_memory(name: str, size: int) -> list[int]:
    """Return accesses, addresses, and the bytes that a check holds at most, interpreted and compiled.

    Python's and NumPy's own counting (`tracemalloc`) for the interpreter; for compiled code what the process has
    grown by, as the system hands out the record's pages when they are touched.
    """
    import tracemalloc

    from host_to_device.standins import imports

    imports.redirect()
    from benchmarks.kernels import PROBLEMS
    from host_to_device.checking import check

    def run(interpreted: bool, problem):
        asked = check(problem.kernel, schedules=1, seconds=600, accesses=10**9, interpreted=interpreted)
        return asked[problem.grid, problem.block](*problem.arguments)

    run(False, PROBLEMS[name](TILED if "matmul" in name else 256))  # compiled, and everything imported
    problem = PROBLEMS[name](size)
    with Peak() as peak:
        report = run(False, problem)
    tracemalloc.start()
    run(True, problem)
    interpreted = tracemalloc.get_traced_memory()[1]
    addresses = sum(each.size for each in problem.arguments)
    return [report.accesses, addresses, interpreted, peak.grown]


class Peak:
    """Watches how far the memory of this process grows beyond what it is now: `grown`, in bytes (on Linux)."""

    def __enter__(self) -> Peak:
        self.before, self.grown, self.over = self.resident(), 0, threading.Event()
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.watcher.start()
        return self

    def watch(self) -> None:
        while not self.over.wait(0.0005):
            self.grown = max(self.grown, self.resident() - self.before)

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.watcher.join()

    @staticmethod
    def resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as numbers:
            return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(arguments: list[str]) -> None:
    if arguments[0] == "first-check":
        found = first_checks(int(arguments[1]), arguments[2], int(arguments[3]))
    elif arguments[0] == "one-check":
        found = one_check(arguments[1], int(arguments[2]))
    elif arguments[0] == "check-memory":
        found = check_memory(arguments[1], int(arguments[2]))
    elif arguments[0] == "first":
        found = first(arguments[1], int(arguments[2]))
    else:
        names, sizes = arguments[2::2], map(int, arguments[3::2])
        found = simulator(int(arguments[1]), list(zip(names, sizes, strict=True)))
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
