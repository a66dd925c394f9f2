"""How long `h2d.show` takes: the first time, when compilers run, and again from what is kept on disk."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.simt import aligned, duration, machine, spread
from host_to_device.inspecting import cache
from host_to_device.inspecting.showing import show
from host_to_device.standins import imports

GOALS = {"first": 3.0, "again": 0.05}  # seconds
SOURCE = r"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = a * x[i] + y[i];
}
"""
ARGUMENTS = (np.zeros(8, np.float32),) * 3


def numba(what: str) -> object:
    """Show a Numba kernel of the stand-in's."""
    from benchmarks.kernels import add

    return show(add, what, args=ARGUMENTS)


LOOKS: tuple[tuple[str, Callable[[], object]], ...] = (
    ("CUDA C++, PTX", lambda: show(SOURCE, "ptx")),
    ("CUDA C++, SASS", lambda: show(SOURCE, "sass")),
    ("CUDA C++, GCN", lambda: show(SOURCE, "gcn")),
    ("Numba, PTX", lambda: numba("ptx")),
    ("Numba, SASS", lambda: numba("sass")),
)


def taken(look: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that one look takes, and those of the processor in it and in the compilers."""
    before, start = os.times(), time.perf_counter()
    str(look())
    seconds, after = time.perf_counter() - start, os.times()
    return seconds, sum(after[:4]) - sum(before[:4])


def report(quick: bool = False) -> Iterator[str]:
    """Yield the lines of the report.

    Raises
    ------
    RuntimeError
        If a compiler is not installed: the message is the command that installs it.
    """
    imports.redirect()
    runs = 2 if quick else 8
    yield machine()
    yield f"Median of {runs} runs; ± is half the distance between the quartiles. Processor: seconds of it that"
    yield "the first look takes, which other work on the machine does not lengthen."
    yield ""
    lines = [("", "first", "processor", "goal", "again", "goal")]
    for label, look in LOOKS:
        first, processor, again = [], [], []
        for _ in range(runs):
            home = os.environ.get("XDG_CACHE_HOME")
            with tempfile.TemporaryDirectory(prefix="host-to-device-bench-") as folder:
                os.environ["XDG_CACHE_HOME"] = folder
                try:
                    cache._recent.clear()
                    seconds, used = taken(look)
                    first.append(seconds)
                    processor.append(used)
                    cache._recent.clear()  # as after a restart
                    again.append(taken(look)[0])
                finally:
                    cache._caches.clear()
                    if home is None:
                        del os.environ["XDG_CACHE_HOME"]
                    else:
                        os.environ["XDG_CACHE_HOME"] = home
        goals = duration(GOALS["first"]), duration(GOALS["again"])
        lines.append(
            (label, spread(first), duration(statistics.median(processor)), goals[0], spread(again), goals[1])
        )
    yield from aligned(lines)
