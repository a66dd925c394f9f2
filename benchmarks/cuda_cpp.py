"""How fast kernels in CUDA C++ are compiled and run without a GPU: against NumPy, and against what we aim for."""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.simt import aligned, duration, machine, ratio, spread
from host_to_device.standins import cuda_cpp
from host_to_device.standins.cuda_cpp import arena, building, compiler, worker

SOURCE = r"""
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float x[16][16], y[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        x[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
        y[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += x[threadIdx.y][k] * y[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
extern "C" __global__ void block_sums(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 0;
    for (int offset = 16; offset; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(out, v);
}
extern "C" __global__ void histogram(const unsigned char* x, int* bins, int n) {
    __shared__ int own[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], own[i]);
}
"""
GOALS = {  # seconds
    "compiled": 0.5,
    "cached": 0.01,
    "launch": 1e-3,
    "vector add 1,000,000": 0.1,
    "tiled matmul 256×256": 0.1,
}


@dataclass
class Problem:
    """A launch, what it has to give, and NumPy's way to it."""

    label: str
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[Any, ...]
    numpy: Callable[[], np.ndarray]
    right: Callable[[np.ndarray], bool]

    def times(self, module: cuda_cpp.Module, runs: int) -> list[float]:
        """Return the seconds of each launch after one to warm up.

        Raises
        ------
        RuntimeError
            If the result is wrong: then its time means nothing.
        """
        kernel, out, seconds = module.function(self.kernel), self.arguments[-2], []
        for _ in range(runs + 1):
            out[...] = 0
            began = time.perf_counter()
            kernel(self.grid, self.block, self.arguments)
            seconds.append(time.perf_counter() - began)
        if not self.right(self.numpy()):
            raise RuntimeError(f"{self.label}: the result is wrong")
        return seconds[1:]


def on_device(array: np.ndarray) -> np.ndarray:
    memory = arena.allocate(array.nbytes).view(array.dtype).reshape(array.shape)
    memory[...] = array
    return memory


def vector_add(n: int) -> Problem:
    a, b = (on_device(each) for each in np.random.default_rng(0).random((2, n), dtype=np.float32))
    out = on_device(np.zeros(n, np.float32))
    grid = ((n + 255) // 256, 1, 1)
    label = f"vector add {n:,}"
    return Problem(
        label,
        "vector_add",
        grid,
        (256, 1, 1),
        (a, b, out, np.int32(n)),
        lambda: a + b,
        lambda c: np.array_equal(out, c),
    )


def matmul(n: int) -> Problem:
    a, b = (on_device(each) for each in np.random.default_rng(0).random((2, n, n), dtype=np.float32))
    out = on_device(np.zeros((n, n), np.float32))
    arguments = (a, b, out, np.int32(n))
    label = f"tiled matmul {n}×{n}"
    return Problem(
        label,
        "matmul",
        (n // 16, n // 16, 1),
        (16, 16, 1),
        arguments,
        lambda: a @ b,
        lambda c: np.allclose(out, c, 1e-4),
    )


def block_sums(n: int) -> Problem:
    x, out = (
        on_device(np.random.default_rng(0).random(n, dtype=np.float32)),
        on_device(np.zeros(1, np.float32)),
    )
    grid = ((n + 255) // 256, 1, 1)
    label = f"warp shuffles {n:,}"
    return Problem(
        label,
        "block_sums",
        grid,
        (256, 1, 1),
        (x, out, np.int32(n)),
        x.sum,
        lambda c: np.allclose(out, c, 1e-3),
    )


def histogram(n: int) -> Problem:
    x = on_device(np.random.default_rng(0).integers(0, 256, n, dtype=np.uint8))
    out = on_device(np.zeros(256, np.int32))
    arguments = (x, out, np.int32(n))
    return Problem(
        f"histogram {n:,}",
        "histogram",
        (64, 1, 1),
        (256, 1, 1),
        arguments,
        lambda: np.bincount(x, minlength=256),
        lambda c: np.array_equal(out, c),
    )


def problems() -> list[Problem]:
    return [vector_add(1_000_000), matmul(256), block_sums(1_000_000), histogram(1_000_000)]


def against(goal: str, seconds: list[float]) -> tuple[str, str]:
    """Return the goal, and the measured share of it."""
    if goal not in GOALS:
        return "", ""
    return duration(GOALS[goal]), f"{statistics.median(seconds) / GOALS[goal]:.0%}"


@contextlib.contextmanager
def other(**settings: Any) -> Iterator[None]:
    """Compile with other settings of the compiler, into an empty folder."""
    before = {name: getattr(compiler, name) for name in settings}
    home = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory(prefix="host-to-device-bench-") as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        for name, value in settings.items():
            setattr(compiler, name, value)
        compiler._own_sources.cache_clear()
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(compiler, name, value)
            compiler._own_sources.cache_clear()
            compiler._caches.pop(Path(folder, "host-to-device", "cuda"), None)
            if home is None:
                del os.environ["XDG_CACHE_HOME"]
            else:
                os.environ["XDG_CACHE_HOME"] = home


def compiling_table(runs: int) -> Iterator[str]:
    yield f"Compiling four kernels with {compiler.find().name}, and launching one of 32 threads"
    first, fresh, cached, launch = [], [], [], []
    for _ in range(max(2, runs // 4)):
        with other():
            worker.stop()
            first.append(clock(lambda: cuda_cpp.compile(SOURCE)))
            fresh.append(clock(lambda: cuda_cpp.compile(SOURCE + "// another\n")))
            building._made.clear()
            cached.append(clock(lambda: cuda_cpp.compile(SOURCE)))
    module = cuda_cpp.compile(SOURCE)
    small = vector_add(32)
    launch = small.times(module, runs * 10)
    lines = [("", "time", "goal", "of it")]
    for label, seconds, goal in (
        ("nothing there yet: runtime and process, too", first, "compiled"),
        ("a new source", fresh, "compiled"),
        ("cached on disk", cached, "cached"),
        ("launch", launch, "launch"),
    ):
        lines.append((label, spread(seconds), *against(goal, seconds)))
    yield from aligned(lines)


def clock(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def running_table(runs: int) -> Iterator[str]:
    yield f"Running kernels on {worker.cores()} cores, with every access checked, against one call of NumPy"
    module = cuda_cpp.compile(SOURCE)
    lines = [("", "NumPy", "kernel", "slower", "goal", "of it")]
    for problem in problems():
        plain = [clock(problem.numpy) for _ in range(runs)]
        seconds = problem.times(module, runs)
        lines.append(
            (
                problem.label,
                spread(plain),
                spread(seconds),
                ratio(seconds, plain),
                *against(problem.label, seconds),
            )
        )
    yield from aligned(lines)


# Settings of the compiler, and how many cores.
STEPS: list[tuple[str, dict[str, Any], int | None]] = [
    ("as it is", {}, None),
    ("one core", {}, 1),
    (
        "one core, ucontext's switch between threads",
        {"RUNTIME": (*compiler.RUNTIME, "-DH2D_UCONTEXT")},
        1,
    ),
    ("one core, no access checked", {"CHECKED": "-fno-sanitize=all"}, 1),
    ("one core, compiled with -O1", {"COMMON": ("-O1", *compiler.COMMON[1:])}, 1),
]


def steps_table(runs: int) -> Iterator[str]:
    yield "What each step gains: the same kernels without it"
    lines = [("", *(problem.label for problem in problems()))]
    cores = worker.cores
    for label, settings, count in STEPS:
        with other(**settings):
            if count:
                worker.cores = lambda: 1
            try:
                module = cuda_cpp.compile(SOURCE)
                lines.append((label, *(spread(problem.times(module, runs)) for problem in problems())))
            finally:
                worker.cores = cores
    yield from aligned(lines)


TABLES = [compiling_table, running_table, steps_table]


def report(quick: bool = False) -> Iterator[str]:
    """Yield the lines of the report, each table as soon as it is measured."""
    runs = 4 if quick else 20
    yield machine()
    yield f"Median of {runs} runs; ± is half the distance between the quartiles"
    for table in TABLES:
        yield ""
        yield from table(runs)
