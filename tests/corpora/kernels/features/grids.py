"""Barriers of the whole grid: `cuda.cg.this_grid().sync()`."""

import numpy as np
from numba import cuda, float32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, whole

BLOCK = 32
BLOCKS = 3


@cuda.jit
def rows_in_order(m):
    """each row from the one before, read backwards: one barrier of the grid a row"""
    column = cuda.grid(1)
    grid = cuda.cg.this_grid()
    rows, columns = m.shape
    for row in range(1, rows):
        m[row, column] = m[row - 1, columns - column - 1] + 1
        grid.sync()


@cuda.jit
def mean_and_rest(x, sums, out):
    """a sum of blocks, then a value that every block needs"""
    partial = cuda.shared.array(BLOCK, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    partial[t] = x[i]
    cuda.syncthreads()
    step = BLOCK // 2
    while step > 0:
        if t < step:
            partial[t] += partial[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = partial[0]
    cuda.cg.this_grid().sync()
    total = float32(0)
    for k in range(cuda.gridDim.x):
        total += sums[k]
    out[i] = x[i] - total


@cuda.jit
def keeps_shared_memory(x, out):
    """a block's shared memory is still its own behind a barrier of the grid"""
    kept = cuda.shared.array(BLOCK, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    kept[t] = x[i]
    g = cuda.cg.this_grid()
    g.sync()
    out[cuda.gridDim.x * cuda.blockDim.x - 1 - i] = kept[t]
    g.sync()
    out[i] += kept[t]


@cuda.jit
def relax(a, b, steps):
    """a stencil in many steps within one launch"""
    i = cuda.grid(1)
    g = cuda.cg.this_grid()
    for _step in range(steps):
        if 0 < i < a.size - 1:
            b[i] = a[i - 1] + a[i + 1]
        g.sync()
        if 0 < i < a.size - 1:
            a[i] = b[i] - a[i]
        g.sync()


@cuda.jit
def two_dimensions(x, y, out):
    """a barrier of a grid with two dimensions"""
    i, j = cuda.grid(2)
    y[i, j] = 2 * x[i, j]
    cuda.cg.this_grid().sync()
    out[j, i] = y[i, j] + y[x.shape[0] - 1 - i, x.shape[1] - 1 - j]


def relaxed(a, steps):
    a = a.copy()
    for _ in range(steps):
        b = a[:-2] + a[2:]
        a[1:-1] = b - a[1:-1]
    return a


SIZE = BLOCK * BLOCKS

CASES = [
    Case(
        "rows, each from the one before",
        lambda rng: {"m": np.zeros((10, SIZE), np.int32)},
        [Launch(rows_in_order, BLOCKS, BLOCK, ("m",))],
        lambda g: {"m": np.tile(np.arange(10, dtype=np.int32), (SIZE, 1)).T},
        ("grid",),
        simulator=False,
    ),
    Case(
        "a sum of all blocks in the same launch",
        lambda rng: {"x": whole(rng, SIZE), "sums": blank(BLOCKS), "out": blank(SIZE)},
        [Launch(mean_and_rest, BLOCKS, BLOCK, ("x", "sums", "out"))],
        lambda g: {"out": g["x"] - g["x"].sum()},
        ("grid", "barrier"),
        simulator=False,
    ),
    Case(
        "shared memory behind a barrier of the grid",
        lambda rng: {"x": whole(rng, SIZE), "out": blank(SIZE)},
        [Launch(keeps_shared_memory, BLOCKS, BLOCK, ("x", "out"))],
        lambda g: {"out": g["x"] + g["x"][::-1]},
        ("grid",),
        simulator=False,
    ),
    Case(
        "a stencil in many steps of one launch",
        lambda rng: {"a": whole(rng, SIZE, -2, 3), "b": blank(SIZE), "steps": 5},
        [Launch(relax, BLOCKS, BLOCK, ("a", "b", "steps"))],
        lambda g: {"a": relaxed(g["a"], 5)},
        ("grid",),
        simulator=False,
    ),
    Case(
        "a barrier of a grid with two dimensions",
        lambda rng: {"x": whole(rng, (16, 8)), "y": blank((16, 8)), "out": blank((8, 16))},
        [Launch(two_dimensions, (2, 2), (8, 4), ("x", "y", "out"))],
        lambda g: {"out": (2 * g["x"] + 2 * g["x"][::-1, ::-1]).T},
        ("grid",),
        simulator=False,
    ),
]
