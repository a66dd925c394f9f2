"""Kernels for panels that no lesson has: each isolates one property of a GPU."""

import numpy as np

from host_to_device.standins import numba_cuda as cuda

float32 = np.float32


@cuda.jit
def read_strided(stride, x, out):
    """Copy every element of x once; neighbouring threads read elements that are `stride` apart."""
    i = cuda.grid(1)
    if i < out.size:
        k = i * stride
        out[i] = x[k % x.size + k // x.size]


@cuda.jit
def multiply_add(rounds, x):
    """Do eight float32 operations a round, in four chains that do not wait for each other."""
    i = cuda.grid(1)
    if i < x.size:
        a, b, c, d = x[i], x[i] + float32(1), x[i] + float32(2), x[i] + float32(3)
        for _ in range(rounds):
            a = a * float32(0.5) + float32(1)
            b = b * float32(0.5) + float32(1)
            c = c * float32(0.5) + float32(1)
            d = d * float32(0.5) + float32(1)
        x[i] = a + b + c + d


@cuda.jit
def sum_missing_barrier(x, total):
    """`sum_halves` of lesson 5 without the barrier in its loop."""
    tile = cuda.shared.array(128, float32)
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    tile[tid] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()
    half = 64
    while half > 0:
        if tid < half:
            tile[tid] += tile[tid + half]
        half //= 2
    if tid == 0:
        cuda.atomic.add(total, 0, tile[0])
