"""Matrix products, from the naive one to tiles in shared memory."""

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, whole

TILE = 8
PADDED = TILE + 1


@cuda.jit
def matmul_naive(a, b, c):
    """c = a b, one thread an element of c"""
    row, col = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, col]
        c[row, col] = total


@cuda.jit
def matmul_square_tiles(a, b, c):
    """c = a b through tiles, for sizes that are multiples of the tile"""
    tile_a = cuda.shared.array(shape=(TILE, TILE), dtype=float32)
    tile_b = cuda.shared.array(shape=(TILE, TILE), dtype=float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y

    total = float32(0.0)
    for t in range(a.shape[1] // TILE):
        tile_a[ty, tx] = a[y, tx + t * TILE]
        tile_b[ty, tx] = b[ty + t * TILE, x]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    c[y, x] = total


@cuda.jit
def matmul_tiles(a, b, c):
    """c = a b through tiles, for any sizes: what lies outside counts as 0"""
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    col = cuda.blockIdx.x * TILE + tx
    row = cuda.blockIdx.y * TILE + ty
    rows, inner = a.shape
    cols = b.shape[1]

    total = float32(0)
    for t in range((inner + TILE - 1) // TILE):
        tile_a[ty, tx] = 0
        tile_b[ty, tx] = 0
        if row < rows and t * TILE + tx < inner:
            tile_a[ty, tx] = a[row, t * TILE + tx]
        if col < cols and t * TILE + ty < inner:
            tile_b[ty, tx] = b[t * TILE + ty, col]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < rows and col < cols:
        c[row, col] = total


ROWS_A_THREAD = 4


@cuda.jit
def matmul_column_of_results(a, b, c):
    """c = a b; each thread computes four results of one column, kept in a local array"""
    tile_b = cuda.shared.array((TILE, TILE), int32)
    totals = cuda.local.array(ROWS_A_THREAD, int32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    col = cuda.blockIdx.x * TILE + tx
    first_row = (cuda.blockIdx.y * TILE + ty) * ROWS_A_THREAD
    for r in range(ROWS_A_THREAD):
        totals[r] = 0

    for start in range(0, a.shape[1], TILE):
        tile_b[ty, tx] = b[start + ty, col] if start + ty < b.shape[0] and col < b.shape[1] else 0
        cuda.syncthreads()
        for k in range(min(TILE, a.shape[1] - start)):
            for r in range(ROWS_A_THREAD):
                if first_row + r < a.shape[0]:
                    totals[r] += a[first_row + r, start + k] * tile_b[k, tx]
        cuda.syncthreads()

    if col < c.shape[1]:
        for r in range(ROWS_A_THREAD):
            if first_row + r < c.shape[0]:
                c[first_row + r, col] = totals[r]


@cuda.jit
def matvec(a, x, y):
    """y = a x, one thread a row"""
    row = cuda.grid(1)
    if row < y.size:
        total = float32(0.0)
        for k in range(x.size):
            total += a[row, k] * x[k]
        y[row] = total


@cuda.jit
def matvec_block_a_row(a, x, y):
    """y = a x, one block a row: partial sums meet in shared memory"""
    partial = cuda.shared.array(32, dtype=np.float32)
    tx = cuda.threadIdx.x
    row = cuda.blockIdx.x

    total = np.float32(0)
    for k in range(tx, x.size, cuda.blockDim.x):
        total += a[row, k] * x[k]
    partial[tx] = total
    cuda.syncthreads()

    half = cuda.blockDim.x // 2
    while half > 0:
        if tx < half:
            partial[tx] += partial[tx + half]
        cuda.syncthreads()
        half //= 2
    if tx == 0:
        y[row] = partial[0]


@cuda.jit
def matmul_batched(a, b, c):
    """c[i] = a[i] b[i], a three-dimensional launch"""
    col, row, i = cuda.grid(3)
    if i < c.shape[0] and row < c.shape[1] and col < c.shape[2]:
        total = 0
        for k in range(a.shape[2]):
            total += a[i, row, k] * b[i, k, col]
        c[i, row, col] = total


@cuda.jit
def gram(a, out):
    """out = aᵀ a, filled from its upper half"""
    i, j = cuda.grid(2)
    n = a.shape[1]
    if i < n and i <= j < n:
        total = 0.0
        for k in range(a.shape[0]):
            total += a[k, i] * a[k, j]
        out[i, j] = total
        if i != j:
            out[j, i] = total


@cuda.jit
def gemm(alpha, a, b, beta, c):
    """c = alpha a b + beta c"""
    row, col = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, col]
        c[row, col] = alpha * total + beta * c[row, col]


@cuda.jit
def matmul_tiles_padded(a, b, c):
    """c = a b with the tile of b stored transposed, padded against bank conflicts"""
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, PADDED), float32)
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    steps = (a.shape[1] + TILE - 1) // TILE
    for step in range(steps):
        k = step * TILE
        inside_a = row < a.shape[0] and k + tx < a.shape[1]
        inside_b = k + ty < b.shape[0] and col < b.shape[1]
        tile_a[ty, tx] = a[row, k + tx] if inside_a else float32(0)
        tile_b[tx, ty] = b[k + ty, col] if inside_b else float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[tx, i]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


ROWS, INNER, COLS = 19, 21, 13


def product(given):
    return {"c": given["a"] @ given["b"]}


def ragged(rng, dtype=np.float32):
    return {
        "a": whole(rng, (ROWS, INNER), dtype=dtype),
        "b": whole(rng, (INNER, COLS), dtype=dtype),
        "c": blank((ROWS, COLS), dtype),
    }


CASES = [
    Case(
        name="matmul naive",
        inputs=ragged,
        launches=[Launch(matmul_naive, (blocks(ROWS, 8), blocks(COLS, 8)), (8, 8), ("a", "b", "c"))],
        expected=product,
        kinds=("2d", "loop"),
    ),
    Case(
        name="matmul naive in float64",
        inputs=lambda rng: ragged(rng, np.float64),
        launches=[Launch(matmul_naive, (blocks(ROWS, 4), blocks(COLS, 16)), (4, 16), ("a", "b", "c"))],
        expected=product,
        kinds=("2d", "loop", "float64"),
    ),
    Case(
        name="matmul square tiles",
        inputs=lambda rng: {"a": whole(rng, (16, 24)), "b": whole(rng, (24, 16)), "c": blank((16, 16))},
        launches=[Launch(matmul_square_tiles, (2, 2), (TILE, TILE), ("a", "b", "c"))],
        expected=product,
        kinds=("2d", "shared", "barrier"),
    ),
    Case(
        name="matmul ragged tiles",
        inputs=ragged,
        launches=[
            Launch(matmul_tiles, (blocks(COLS, TILE), blocks(ROWS, TILE)), (TILE, TILE), ("a", "b", "c"))
        ],
        expected=product,
        kinds=("2d", "shared", "barrier"),
    ),
    Case(
        name="matmul padded tiles",
        inputs=ragged,
        launches=[
            Launch(
                matmul_tiles_padded, (blocks(COLS, TILE), blocks(ROWS, TILE)), (TILE, TILE), ("a", "b", "c")
            )
        ],
        expected=product,
        kinds=("2d", "shared", "barrier"),
    ),
    Case(
        name="matmul with four results a thread",
        inputs=lambda rng: {
            "a": whole(rng, (37, INNER), dtype=np.int32),
            "b": whole(rng, (INNER, COLS), dtype=np.int32),
            "c": blank((37, COLS), np.int32),
        },
        launches=[Launch(matmul_column_of_results, (2, 2), (TILE, TILE), ("a", "b", "c"))],
        expected=product,
        kinds=("2d", "shared", "barrier", "local"),
    ),
    Case(
        name="matrix times vector",
        inputs=lambda rng: {"a": whole(rng, (75, INNER)), "x": whole(rng, INNER), "y": blank(75)},
        launches=[Launch(matvec, 3, 32, ("a", "x", "y"))],
        expected=lambda given: {"y": given["a"] @ given["x"]},
        kinds=("loop",),
    ),
    Case(
        name="matrix times vector, one block a row",
        inputs=lambda rng: {"a": whole(rng, (5, 75)), "x": whole(rng, 75), "y": blank(5)},
        launches=[Launch(matvec_block_a_row, 5, 32, ("a", "x", "y"))],
        expected=lambda given: {"y": given["a"] @ given["x"]},
        kinds=("shared", "barrier"),
    ),
    Case(
        name="matmul of a batch",
        inputs=lambda rng: {
            "a": whole(rng, (3, 7, 6), dtype=np.int64),
            "b": whole(rng, (3, 6, 9), dtype=np.int64),
            "c": blank((3, 7, 9), np.int64),
        },
        launches=[Launch(matmul_batched, (3, 2, 2), (4, 4, 2), ("a", "b", "c"))],
        expected=product,
        kinds=("3d", "loop", "int64"),
    ),
    Case(
        name="gram matrix",
        inputs=lambda rng: {"a": whole(rng, (INNER, COLS)), "out": blank((COLS, COLS))},
        launches=[Launch(gram, (2, 2), (8, 8), ("a", "out"))],
        expected=lambda given: {"out": given["a"].T @ given["a"]},
        kinds=("2d", "loop"),
    ),
    Case(
        name="gemm with alpha and beta",
        inputs=lambda rng: {
            "alpha": np.float32(2),
            "beta": np.float32(-3),
            **ragged(rng),
            "c": whole(rng, (ROWS, COLS)),
        },
        launches=[Launch(gemm, (3, 2), (8, 8), ("alpha", "a", "b", "beta", "c"))],
        expected=lambda given: {"c": 2 * (given["a"] @ given["b"]) - 3 * given["c"]},
        kinds=("2d", "loop"),
    ),
]
