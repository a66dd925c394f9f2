"""Sums and other reductions, in all the styles that a course shows."""

import numpy as np
from numba import cuda, float32, float64, int32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real, whole

BLOCK = 64
WARPS = BLOCK // 32
FULL = 0xFFFFFFFF


@cuda.jit
def sum_atomic(x, total):
    """every thread adds its element to one total"""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])


@cuda.jit
def sum_interleaved(x, partial):
    """each block's sum; threads whose number is a multiple of 2, 4, 8, … work"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[tid] = x[i] if i < x.size else 0
    cuda.syncthreads()

    step = 1
    while step < cuda.blockDim.x:
        if tid % (2 * step) == 0:
            shared[tid] += shared[tid + step]
        cuda.syncthreads()
        step *= 2

    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def sum_interleaved_without_divergence(x, partial):
    """each block's sum; the first threads work, with strided elements"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        shared[tid] = x[i]
    else:
        shared[tid] = 0
    cuda.syncthreads()

    s = 1
    while s < cuda.blockDim.x:
        index = 2 * s * tid
        if index < cuda.blockDim.x:
            shared[index] += shared[index + s]
        cuda.syncthreads()
        s <<= 1

    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def sum_sequential(x, partial):
    """each block's sum; the first half adds the second, then the first quarter, …"""
    shared = cuda.shared.array(BLOCK, dtype=float32)
    tid = cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.x + tid

    shared[tid] = 0.0
    if i < x.shape[0]:
        shared[tid] = x[i]
    cuda.syncthreads()

    s = cuda.blockDim.x // 2
    while s > 0:
        if tid < s:
            shared[tid] += shared[tid + s]
        cuda.syncthreads()
        s >>= 1

    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def sum_first_add_during_load(x, partial):
    """each block's sum of twice as many elements: the first addition is part of the load"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.blockIdx.x * (2 * BLOCK) + tid
    value = float32(0)
    if i < x.size:
        value = x[i]
    if i + BLOCK < x.size:
        value += x[i + BLOCK]
    shared[tid] = value
    cuda.syncthreads()
    half = BLOCK // 2
    while half:
        if tid < half:
            shared[tid] = shared[tid] + shared[tid + half]
        cuda.syncthreads()
        half //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def sum_grid_stride(x, total):
    """a fixed number of threads: each adds up many elements, each block adds its sum to the total"""
    shared = cuda.shared.array(BLOCK, float64)
    tid = cuda.threadIdx.x
    mine = 0.0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        mine += x[i]
    shared[tid] = mine
    cuda.syncthreads()

    s = BLOCK // 2
    while s > 0:
        if tid < s:
            shared[tid] += shared[tid + s]
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        cuda.atomic.add(total, 0, shared[0])


@cuda.jit
def sum_unrolled_last_warp(x, partial):
    """each block's sum; the last 32 elements need no barrier of the block, only of the warp"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[tid] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()
    if tid < 32:
        shared[tid] += shared[tid + 32]
        cuda.syncwarp()
        offset = 16
        while offset > 0:
            if tid < offset:
                shared[tid] += shared[tid + offset]
            cuda.syncwarp()
            offset //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def sum_warp_shuffle(x, total):
    """sum through registers: each warp with shuffles, then one atomic a warp"""
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, offset)
    if cuda.laneid == 0:
        cuda.atomic.add(total, 0, value)


@cuda.jit
def sum_block_shuffle(x, partial):
    """each block's sum: shuffles in each warp, shared memory between warps, shuffles again"""
    sums = cuda.shared.array(WARPS, float32)
    tid = cuda.threadIdx.x
    lane = tid % 32
    warp = tid // 32
    i = cuda.grid(1)

    value = float32(0)
    if i < x.size:
        value = x[i]
    offset = 16
    while offset > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
        offset >>= 1
    if lane == 0:
        sums[warp] = value
    cuda.syncthreads()

    if warp == 0:
        value = sums[lane] if lane < WARPS else float32(0)
        offset = 16
        while offset > 0:
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
            offset >>= 1
        if lane == 0:
            partial[cuda.blockIdx.x] = value


@cuda.jit
def sum_last_block(x, partial, ticket, total):
    """one launch: the block that finishes last adds up what the others left"""
    shared = cuda.shared.array(BLOCK, int32)
    is_last = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)

    shared[tid] = x[i] if i < x.size else 0
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if tid < s:
            shared[tid] += shared[tid + s]
        cuda.syncthreads()
        s //= 2

    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]
        cuda.threadfence()
        taken = cuda.atomic.add(ticket, 0, 1)
        cuda.threadfence()
        is_last[0] = taken == cuda.gridDim.x - 1
    cuda.syncthreads()

    if is_last[0] == 1:
        mine = 0
        for block in range(tid, cuda.gridDim.x, BLOCK):
            mine += partial[block]
        shared[tid] = mine
        cuda.syncthreads()
        s = BLOCK // 2
        while s > 0:
            if tid < s:
                shared[tid] += shared[tid + s]
            cuda.syncthreads()
            s //= 2
        if tid == 0:
            total[0] = shared[0]
            ticket[0] = 0


@cuda.jit
def maximum(x, partial):
    """each block's largest element"""
    best = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    best[tid] = x[min(i, x.size - 1)]
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if tid < s:
            best[tid] = max(best[tid], best[tid + s])
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = best[0]


@cuda.jit
def minimum_and_place(x, values, places):
    """each block's smallest element and where it is; of equals the first"""
    smallest = cuda.shared.array(BLOCK, float32)
    where = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    last = x.size - 1
    smallest[tid] = x[i] if i <= last else x[last]
    where[tid] = i if i <= last else last
    cuda.syncthreads()

    s = cuda.blockDim.x // 2
    while s > 0:
        if tid < s:
            other = smallest[tid + s]
            if other < smallest[tid] or (other == smallest[tid] and where[tid + s] < where[tid]):
                smallest[tid] = other
                where[tid] = where[tid + s]
        cuda.syncthreads()
        s //= 2

    if tid == 0:
        values[cuda.blockIdx.x] = smallest[0]
        places[cuda.blockIdx.x] = where[0]


@cuda.jit
def dot(a, b, out):
    """dot product: a product a thread, a sum a block, an atomic for all"""
    cache = cuda.shared.array(shape=BLOCK, dtype=float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < a.size:
        cache[tid] = a[i] * b[i]
    else:
        cache[tid] = 0.0
    cuda.syncthreads()
    if tid == 0:
        total = float32(0.0)
        for k in range(BLOCK):
            total += cache[k]
        cuda.atomic.add(out, 0, total)


@cuda.jit
def mean_and_variance(matrix, mean, variance):
    """one block a row; two sums side by side in one array of shared memory"""
    sums = cuda.shared.array((2, BLOCK), float64)
    row = cuda.blockIdx.x
    tid = cuda.threadIdx.x
    n = matrix.shape[1]
    total = 0.0
    squares = 0.0
    for j in range(tid, n, BLOCK):
        value = matrix[row, j]
        total += value
        squares += value * value
    sums[0, tid] = total
    sums[1, tid] = squares
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if tid < s:
            sums[0, tid] += sums[0, tid + s]
            sums[1, tid] += sums[1, tid + s]
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        mean[row] = sums[0, 0] / n
        variance[row] = sums[1, 0] / n - (sums[0, 0] / n) ** 2


@cuda.jit
def row_sums(matrix, sums):
    """one block of two dimensions: each line of threads adds up one row"""
    partial = cuda.shared.array((4, 16), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    row = cuda.blockIdx.y * cuda.blockDim.y + ty
    partial[ty, tx] = 0
    if row < matrix.shape[0]:
        for col in range(tx, matrix.shape[1], cuda.blockDim.x):
            partial[ty, tx] += matrix[row, col]
    cuda.syncthreads()
    for s in (8, 4, 2, 1):
        if tx < s:
            partial[ty, tx] += partial[ty, tx + s]
        cuda.syncthreads()
    if tx == 0 and row < matrix.shape[0]:
        sums[row] = partial[ty, 0]


@cuda.jit
def count_positive(x, counts):
    """how many elements of each block are positive: the barrier counts"""
    i = cuda.grid(1)
    positive = 0
    if i < x.size and x[i] > 0:
        positive = 1
    count = cuda.syncthreads_count(positive)
    if cuda.threadIdx.x == 0:
        counts[cuda.blockIdx.x] = count


@cuda.jit
def blocks_in_order(x, in_order):
    """whether the elements of each block ascend: the barrier asks all"""
    i = cuda.grid(1)
    fine = 1
    if i + 1 < x.size and cuda.threadIdx.x + 1 < cuda.blockDim.x and x[i] > x[i + 1]:
        fine = 0
    every = cuda.syncthreads_and(fine)
    if cuda.threadIdx.x == 0:
        in_order[cuda.blockIdx.x] = every != 0


@cuda.jit
def blocks_with(x, wanted, found):
    """whether a value occurs in each block: the barrier asks any"""
    i = cuda.grid(1)
    hit = int32(i < x.size and x[i] == wanted)
    if cuda.syncthreads_or(hit):
        if cuda.threadIdx.x == 0:
            found[cuda.blockIdx.x] = 1
    elif cuda.threadIdx.x == 0:
        found[cuda.blockIdx.x] = 0


N = 300
GRID = blocks(N, BLOCK)


def by_block(x, size=BLOCK, fill=0):
    """Lay x out with one block a row, filled up at the end."""
    padded = np.full(blocks(x.size, size) * size, fill, x.dtype)
    padded[: x.size] = x
    return padded.reshape(-1, size)


def parts(x):
    return [x[start : start + BLOCK] for start in range(0, x.size, BLOCK)]


def block_sums(kernel, name, kinds, simulator=True):
    return Case(
        name=name,
        inputs=lambda rng: {"x": whole(rng, N), "partial": blank(GRID)},
        launches=[Launch(kernel, GRID, BLOCK, ("x", "partial"))],
        expected=lambda given: {"partial": by_block(given["x"]).sum(axis=1)},
        kinds=kinds,
        simulator=simulator,
    )


def expected_minima(given):
    rows = by_block(given["x"], fill=given["x"][-1])
    places = np.minimum(rows.argmin(axis=1) + BLOCK * np.arange(GRID), N - 1)
    return {"values": rows.min(axis=1), "places": places.astype(np.int32)}


def partly_sorted(rng):
    x = np.sort(real(rng, N))
    x[[70, 200]] = x[[200, 70]]
    return {"x": x, "in_order": np.ones(GRID, np.bool_)}


CASES = [
    Case(
        name="sum by atomics",
        inputs=lambda rng: {"x": whole(rng, N), "total": np.zeros(1, np.float32)},
        launches=[Launch(sum_atomic, GRID, BLOCK, ("x", "total"))],
        expected=lambda given: {"total": given["x"].sum(keepdims=True)},
        kinds=("reduction", "atomic"),
    ),
    Case(
        name="sum of real numbers by atomics",
        inputs=lambda rng: {"x": np.abs(real(rng, N)), "total": np.zeros(1, np.float32)},
        launches=[Launch(sum_atomic, GRID, BLOCK, ("x", "total"))],
        expected=lambda given: {"total": given["x"].sum(dtype=float, keepdims=True).astype(np.float32)},
        rtol=1e-5,
        kinds=("reduction", "atomic", "any order"),
    ),
    block_sums(sum_interleaved, "sum interleaved", ("reduction", "shared", "barrier")),
    block_sums(
        sum_interleaved_without_divergence,
        "sum interleaved without divergence",
        ("reduction", "shared", "barrier"),
    ),
    block_sums(sum_sequential, "sum sequential", ("reduction", "shared", "barrier")),
    Case(
        name="sum in two passes",
        inputs=lambda rng: {"x": whole(rng, N), "partial": blank(GRID), "total": blank(1)},
        launches=[
            Launch(sum_sequential, GRID, BLOCK, ("x", "partial")),
            Launch(sum_sequential, 1, BLOCK, ("partial", "total")),
        ],
        expected=lambda given: {"total": given["x"].sum(keepdims=True)},
        kinds=("reduction", "shared", "barrier", "several launches"),
    ),
    Case(
        name="sum with first add during load",
        inputs=lambda rng: {"x": whole(rng, N), "partial": blank(3)},
        launches=[Launch(sum_first_add_during_load, 3, BLOCK, ("x", "partial"))],
        expected=lambda given: {"partial": by_block(given["x"], 2 * BLOCK).sum(axis=1)},
        kinds=("reduction", "shared", "barrier"),
    ),
    Case(
        name="sum with a grid-stride loop",
        inputs=lambda rng: {"x": whole(rng, 1000, dtype=np.float64), "total": np.zeros(1)},
        launches=[Launch(sum_grid_stride, 2, BLOCK, ("x", "total"))],
        expected=lambda given: {"total": given["x"].sum(keepdims=True)},
        kinds=("reduction", "shared", "barrier", "atomic", "grid-stride", "float64"),
    ),
    block_sums(
        sum_unrolled_last_warp,
        "sum with the last warp unrolled",
        ("reduction", "shared", "barrier", "syncwarp"),
        simulator=False,
    ),
    Case(
        name="sum by warp shuffles",
        inputs=lambda rng: {"x": whole(rng, N), "total": np.zeros(1, np.float32)},
        launches=[Launch(sum_warp_shuffle, GRID, BLOCK, ("x", "total"))],
        expected=lambda given: {"total": given["x"].sum(keepdims=True)},
        kinds=("reduction", "shuffle", "atomic"),
        simulator=False,
    ),
    block_sums(
        sum_block_shuffle,
        "sum by shuffles in a block",
        ("reduction", "shuffle", "shared", "barrier"),
        simulator=False,
    ),
    Case(
        name="sum by the last block",
        inputs=lambda rng: {
            "x": whole(rng, N, dtype=np.int32),
            "partial": blank(GRID, np.int32),
            "ticket": np.zeros(1, np.int32),
            "total": blank(1, np.int32),
        },
        launches=[Launch(sum_last_block, GRID, BLOCK, ("x", "partial", "ticket", "total"))],
        expected=lambda given: {
            "total": given["x"].sum(keepdims=True, dtype=np.int32),
            "ticket": np.zeros(1, np.int32),
        },
        kinds=("reduction", "shared", "barrier", "atomic", "fence"),
    ),
    Case(
        name="largest of each block",
        inputs=lambda rng: {"x": real(rng, N), "partial": blank(GRID)},
        launches=[Launch(maximum, GRID, BLOCK, ("x", "partial"))],
        expected=lambda given: {"partial": by_block(given["x"], fill=given["x"][-1]).max(axis=1)},
        kinds=("reduction", "shared", "barrier"),
    ),
    Case(
        name="smallest of each block and its place",
        inputs=lambda rng: {
            "x": whole(rng, N),
            "values": blank(GRID),
            "places": blank(GRID, np.int32),
        },
        launches=[Launch(minimum_and_place, GRID, BLOCK, ("x", "values", "places"))],
        expected=expected_minima,
        kinds=("reduction", "shared", "barrier"),
    ),
    Case(
        name="dot product",
        inputs=lambda rng: {"a": whole(rng, N), "b": whole(rng, N), "out": np.zeros(1, np.float32)},
        launches=[Launch(dot, GRID, BLOCK, ("a", "b", "out"))],
        expected=lambda given: {"out": np.array([given["a"] @ given["b"]])},
        kinds=("reduction", "shared", "barrier", "atomic"),
    ),
    Case(
        name="mean and variance of rows",
        inputs=lambda rng: {
            "matrix": real(rng, (3, 150)),
            "mean": blank(3, np.float64),
            "variance": blank(3, np.float64),
        },
        launches=[Launch(mean_and_variance, 3, BLOCK, ("matrix", "mean", "variance"))],
        expected=lambda given: {
            "mean": given["matrix"].mean(axis=1, dtype=float),
            "variance": given["matrix"].var(axis=1, dtype=float),
        },
        rtol=1e-5,
        kinds=("reduction", "shared", "barrier", "float64"),
    ),
    Case(
        name="row sums by lines of threads",
        inputs=lambda rng: {"matrix": whole(rng, (10, 37)), "sums": blank(10)},
        launches=[Launch(row_sums, (1, 3), (16, 4), ("matrix", "sums"))],
        expected=lambda given: {"sums": given["matrix"].sum(axis=1)},
        kinds=("reduction", "2d", "shared", "barrier"),
    ),
    Case(
        name="count of positive elements",
        inputs=lambda rng: {"x": real(rng, N), "counts": blank(GRID, np.int32)},
        launches=[Launch(count_positive, GRID, BLOCK, ("x", "counts"))],
        expected=lambda given: {"counts": (by_block(given["x"]) > 0).sum(axis=1, dtype=np.int32)},
        kinds=("reduction", "barrier", "barrier that counts"),
    ),
    Case(
        name="blocks in order",
        inputs=partly_sorted,
        launches=[Launch(blocks_in_order, GRID, BLOCK, ("x", "in_order"))],
        expected=lambda given: {
            "in_order": np.array([bool((np.diff(part) >= 0).all()) for part in parts(given["x"])])
        },
        kinds=("reduction", "barrier", "barrier that counts", "bool"),
    ),
    Case(
        name="blocks with a value",
        inputs=lambda rng: {
            "x": whole(rng, N, 0, 150, np.int32),
            "wanted": 43,
            "found": blank(GRID, np.int32),
        },
        launches=[Launch(blocks_with, GRID, BLOCK, ("x", "wanted", "found"))],
        expected=lambda given: {
            "found": (by_block(given["x"], fill=-1) == given["wanted"]).any(axis=1).astype(np.int32)
        },
        kinds=("reduction", "barrier", "barrier that counts"),
    ),
]
