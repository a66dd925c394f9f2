"""Launches that no device of today accepts: they fail before the first access.

Where the launch alone is at fault, no line of the kernel is marked.
"""

from functools import partial

import numpy as np
from numba import cuda, float32, int8

from tests.corpora.kernels.case import Launch
from tests.corpora.kernels.values import blank, whole
from tests.corpora.kernels.wrong.case import LAUNCH_LIMIT, SHARED, wrong

SIDE = 128
HALF_A_BLOCK_OF_MEMORY = 40 * 1024


@cuda.jit
def double(x, out):
    """out = 2x"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 2 * x[i]


@cuda.jit
def double_matrix(a, out):
    """out = 2a"""
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        out[y, x] = 2 * a[y, x]


@cuda.jit
def double_volume(a, out):
    """out = 2a, with x as the last index"""
    x, y, z = cuda.grid(3)
    if z < a.shape[0] and y < a.shape[1] and x < a.shape[2]:
        out[z, y, x] = 2 * a[z, y, x]


@cuda.jit
def double_rows(a, out):
    """out = 2a, a block a row"""
    row = cuda.blockIdx.y
    col = cuda.threadIdx.x
    if col < a.shape[1]:
        out[row, col] = 2 * a[row, col]


@cuda.jit
def double_layers(a, out):
    """out = 2a, a block a layer"""
    layer = cuda.blockIdx.z
    col = cuda.threadIdx.x
    if col < a.shape[1]:
        out[layer, col] = 2 * a[layer, col]


@cuda.jit
def transpose_through_large_tile(a, out):
    """out = aᵀ through one tile for the whole matrix"""
    tile = cuda.shared.array((SIDE, SIDE), float32)  # !finding
    tx = cuda.threadIdx.x
    for row in range(cuda.threadIdx.y, SIDE, cuda.blockDim.y):
        for col in range(tx, SIDE, cuda.blockDim.x):
            tile[row, col] = a[row, col]
    cuda.syncthreads()
    for row in range(cuda.threadIdx.y, SIDE, cuda.blockDim.y):
        for col in range(tx, SIDE, cuda.blockDim.x):
            out[row, col] = tile[col, row]


@cuda.jit
def reverse_dynamic(x, out):
    """turn x around, in dynamic shared memory"""
    buffer = cuda.shared.array(0, float32)
    for i in range(cuda.threadIdx.x, x.size, cuda.blockDim.x):
        buffer[i] = x[i]
    cuda.syncthreads()
    for i in range(cuda.threadIdx.x, x.size, cuda.blockDim.x):
        out[i] = buffer[x.size - 1 - i]


@cuda.jit
def reverse_with_table(x, out):
    """turn x around in dynamic shared memory, and add a table that is in static shared memory"""
    table = cuda.shared.array(HALF_A_BLOCK_OF_MEMORY, int8)
    buffer = cuda.shared.array(0, float32)
    tid = cuda.threadIdx.x
    for i in range(tid, x.size, cuda.blockDim.x):
        buffer[i] = x[i]
        table[i] = i % 5
    cuda.syncthreads()
    for i in range(tid, x.size, cuda.blockDim.x):
        out[i] = buffer[x.size - 1 - i] + table[x.size - 1 - i]


launch_limit = partial(wrong, finding=LAUNCH_LIMIT)


def one_to_one(shape):
    return lambda rng: {"x": whole(rng, shape), "out": blank(shape)}


def matrices(shape, dtype=np.float32):
    return lambda rng: {"a": whole(rng, shape, dtype=dtype), "out": blank(shape, dtype)}


def doubled(given):
    return {"out": 2 * (given["x"] if "x" in given else given["a"])}


CASES = [
    launch_limit(
        "block of 1500 threads",
        "A block may have as many threads as there are elements.",
        inputs=one_to_one(1500),
        launches=[Launch(double, 1, 1500, ("x", "out"))],
        expected=doubled,
    ),
    launch_limit(
        "block of 64 by 32 threads",
        "A block may have 1024 threads in each direction.",
        inputs=matrices((40, 70)),
        launches=[Launch(double_matrix, (2, 2), (64, 32), ("a", "out"))],
        expected=doubled,
    ),
    launch_limit(
        "block of 128 threads in z",
        "The three directions of a block have the same limit.",
        inputs=matrices((128, 3, 2)),
        launches=[Launch(double_volume, (1, 3, 1), (2, 1, 128), ("a", "out"))],
        expected=doubled,
    ),
    launch_limit(
        "grid of 70 000 blocks in y",
        "The three directions of a grid have the same limit.",
        inputs=matrices((70_000, 2), np.int8),
        launches=[Launch(double_rows, (1, 70_000), 2, ("a", "out"))],
        expected=doubled,
    ),
    launch_limit(
        "grid of 65 536 blocks in z",
        "A grid may have 65 536 blocks in z.",
        inputs=matrices((65_536, 2), np.int8),
        launches=[Launch(double_layers, (1, 1, 65_536), 2, ("a", "out"))],
        expected=doubled,
    ),
    launch_limit(
        "tile of 64 KiB",
        "Shared memory is as large as the card's memory.",
        inputs=lambda rng: {"a": whole(rng, (SIDE, SIDE)), "out": blank((SIDE, SIDE))},
        launches=[Launch(transpose_through_large_tile, 1, (32, 8), ("a", "out"))],
        expected=lambda given: {"out": given["a"].T},
        space=SHARED,
    ),
    launch_limit(
        "dynamic shared memory of 300 KiB",
        "Dynamic shared memory has no limit but the card's memory.",
        inputs=one_to_one(300 * 256),
        launches=[Launch(reverse_dynamic, 1, 256, ("x", "out"), shared=300 * 1024)],
        expected=lambda given: {"out": given["x"][::-1]},
        space=SHARED,
    ),
    launch_limit(
        "static and dynamic shared memory together",
        "Static and dynamic shared memory have a limit each.",
        inputs=one_to_one(5000),
        launches=[Launch(reverse_with_table, 1, 256, ("x", "out"), shared=20_000)],
        expected=lambda given: {
            "out": given["x"][::-1] + (np.arange(4999, -1, -1) % 5).astype(np.float32),
        },
        space=SHARED,
    ),
    launch_limit(
        "grid of no blocks",
        "n // 256 blocks are enough for any n.",
        inputs=one_to_one(100),
        launches=[Launch(double, 100 // 256, 256, ("x", "out"))],
        expected=doubled,
    ),
    launch_limit(
        "block of no threads",
        "A launch without threads does nothing.",
        inputs=one_to_one(10),
        launches=[Launch(double, 1, 10 // 32, ("x", "out"))],
        expected=doubled,
    ),
]
