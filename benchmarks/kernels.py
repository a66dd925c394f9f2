"""Kernels of a first GPU course, as benchmarks: ordinary Numba CUDA code, run unchanged by whatever `cuda` is there.

Import this after choosing: after `host_to_device.standins.redirect()` the kernels run on the stand-in, in a
process with `NUMBA_ENABLE_CUDASIM=1` on Numba's own simulator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda, float32

THREADS = 256
TILE = 16
BINS = 64


@dataclass
class Problem:
    """A launch that is ready to go, and what tells whether it gave what it should after so many launches."""

    kernel: Any
    grid: int | tuple[int, int]
    block: int | tuple[int, int]
    arguments: tuple[Any, ...]
    judge: Callable[[int], bool]
    launches: int = 0

    def launch(self) -> None:
        self.launches += 1
        self.kernel[self.grid, self.block](*self.arguments)

    def is_right(self) -> bool:
        return self.judge(self.launches)


@cuda.jit
def add(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@cuda.jit
def matmul(a, b, out):
    """Multiply by tiles, with guards for ragged edges, after Numba's documentation."""
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    column, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for step in range((a.shape[1] + TILE - 1) // TILE):
        tile_a[ty, tx] = 0
        tile_b[ty, tx] = 0
        if row < a.shape[0] and step * TILE + tx < a.shape[1]:
            tile_a[ty, tx] = a[row, step * TILE + tx]
        if column < b.shape[1] and step * TILE + ty < b.shape[0]:
            tile_b[ty, tx] = b[step * TILE + ty, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = total


@cuda.jit
def block_sums(x, sums):
    part = cuda.shared.array(THREADS, float32)
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    part[tid] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if tid < step:
            part[tid] += part[tid + step]
        cuda.syncthreads()
        step //= 2
    if tid == 0:
        sums[cuda.blockIdx.x] = part[0]


@cuda.jit
def count_values(values, bins):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(bins, values[i], 1)


@cuda.jit
def five_points(x, out):
    j, i = cuda.grid(2)
    rows, columns = x.shape
    if 0 < i < rows - 1 and 0 < j < columns - 1:
        out[i, j] = float32(0.25) * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


def blocks(count: int, size: int) -> int:
    return -(-count // size)


def vector_add(size: int) -> Problem:
    a, b = (np.random.default_rng(seed).random(size, np.float32) for seed in (1, 2))
    on_device = tuple(cuda.to_device(each) for each in (a, b, np.zeros_like(a)))
    return Problem(
        add,
        blocks(size, THREADS),
        THREADS,
        on_device,
        lambda _: np.array_equal(on_device[2].copy_to_host(), a + b),
    )


def tiled_matmul(size: int) -> Problem:
    a, b = (np.random.default_rng(seed).random((size, size), np.float32) for seed in (1, 2))
    on_device = tuple(cuda.to_device(each) for each in (a, b, np.zeros_like(a)))
    return Problem(
        matmul,
        (blocks(size, TILE), blocks(size, TILE)),
        (TILE, TILE),
        on_device,
        lambda _: np.allclose(on_device[2].copy_to_host(), a @ b, rtol=1e-4),
    )


def block_reduction(size: int) -> Problem:
    x = np.random.default_rng(1).random(size, np.float32)
    count = blocks(size, THREADS)
    on_device, sums = cuda.to_device(x), cuda.to_device(np.zeros(count, np.float32))
    return Problem(
        block_sums,
        count,
        THREADS,
        (on_device, sums),
        lambda _: np.isclose(sums.copy_to_host().sum(), x.sum(), rtol=1e-4),
    )


def histogram(size: int) -> Problem:
    values = np.random.default_rng(1).integers(0, BINS, size, dtype=np.int32)
    on_device, bins = cuda.to_device(values), cuda.to_device(np.zeros(BINS, np.int32))
    right = np.bincount(values, minlength=BINS)
    return Problem(
        count_values,
        blocks(size, THREADS),
        THREADS,
        (on_device, bins),
        # Every launch counts on top of the ones before.
        lambda launches: np.array_equal(bins.copy_to_host(), launches * right),
    )


def stencil(size: int) -> Problem:
    x = np.random.default_rng(1).random((size, size), np.float32)
    on_device, out = cuda.to_device(x), cuda.to_device(np.zeros_like(x))
    right = np.zeros_like(x)
    right[1:-1, 1:-1] = (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 4
    return Problem(
        five_points,
        (blocks(size, TILE), blocks(size, TILE)),
        (TILE, TILE),
        (on_device, out),
        lambda _: np.allclose(out.copy_to_host(), right),
    )


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "vector add": vector_add,
    "tiled matmul": tiled_matmul,
    "block reduction": block_reduction,
    "histogram": histogram,
    "stencil": stencil,
}
