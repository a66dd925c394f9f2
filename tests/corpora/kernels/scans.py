"""Prefix sums: Hillis and Steele, Blelloch, by warps, over several blocks."""

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, whole

BLOCK = 64
TWICE = 2 * BLOCK
WARPS = BLOCK // 32


@cuda.jit
def scan_hillis_steele(x, out):
    """inclusive scan of one block, with two buffers that swap roles"""
    buffers = cuda.shared.array((2, BLOCK), float32)
    tid = cuda.threadIdx.x
    source = 0
    buffers[source, tid] = x[tid] if tid < x.size else 0
    cuda.syncthreads()
    offset = 1
    while offset < BLOCK:
        target = 1 - source
        if tid >= offset:
            buffers[target, tid] = buffers[source, tid] + buffers[source, tid - offset]
        else:
            buffers[target, tid] = buffers[source, tid]
        cuda.syncthreads()
        source = target
        offset *= 2
    if tid < x.size:
        out[tid] = buffers[source, tid]


@cuda.jit
def scan_one_buffer(x, out):
    """inclusive scan of one block in one buffer: read, barrier, write, barrier"""
    buffer = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    buffer[tid] = x[tid] if tid < x.size else 0
    cuda.syncthreads()
    offset = 1
    while offset < cuda.blockDim.x:
        before = 0
        if tid >= offset:
            before = buffer[tid - offset]
        cuda.syncthreads()
        buffer[tid] += before
        cuda.syncthreads()
        offset <<= 1
    if tid < x.size:
        out[tid] = buffer[tid]


@cuda.jit
def scan_blelloch(x, out):
    """exclusive scan of twice as many elements as threads: up the tree, then down"""
    tree = cuda.shared.array(TWICE, int32)
    tid = cuda.threadIdx.x
    n = x.shape[0]
    tree[2 * tid] = x[2 * tid] if 2 * tid < n else 0
    tree[2 * tid + 1] = x[2 * tid + 1] if 2 * tid + 1 < n else 0

    offset = 1
    active = BLOCK
    while active > 0:
        cuda.syncthreads()
        if tid < active:
            left = offset * (2 * tid + 1) - 1
            right = offset * (2 * tid + 2) - 1
            tree[right] += tree[left]
        offset *= 2
        active //= 2

    if tid == 0:
        tree[TWICE - 1] = 0

    active = 1
    while active <= BLOCK:
        offset //= 2
        cuda.syncthreads()
        if tid < active:
            left = offset * (2 * tid + 1) - 1
            right = offset * (2 * tid + 2) - 1
            carried = tree[left]
            tree[left] = tree[right]
            tree[right] += carried
        active *= 2
    cuda.syncthreads()

    if 2 * tid < n:
        out[2 * tid] = tree[2 * tid]
    if 2 * tid + 1 < n:
        out[2 * tid + 1] = tree[2 * tid + 1]


@cuda.jit
def scan_blocks(x, out, sums):
    """inclusive scan of each block, and each block's sum"""
    buffer = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    buffer[tid] = x[i] if i < x.size else 0
    cuda.syncthreads()
    offset = 1
    while offset < BLOCK:
        before = buffer[tid - offset] if tid >= offset else 0
        cuda.syncthreads()
        buffer[tid] += before
        cuda.syncthreads()
        offset *= 2
    if i < x.size:
        out[i] = buffer[tid]
    if tid == BLOCK - 1:
        sums[cuda.blockIdx.x] = buffer[tid]


@cuda.jit
def add_sums_before(out, sums):
    """add to each block the scanned sums of the blocks before it"""
    i = cuda.grid(1)
    if cuda.blockIdx.x > 0 and i < out.size:
        out[i] += sums[cuda.blockIdx.x - 1]


@cuda.jit
def scan_warps(x, out):
    """inclusive scan of one block: shuffles in each warp, the warps' sums in shared memory"""
    sums = cuda.shared.array(WARPS, int32)
    tid = cuda.threadIdx.x
    lane = tid & 31
    warp = tid >> 5
    value = x[tid] if tid < x.size else 0
    offset = 1
    while offset < 32:
        before = cuda.shfl_up_sync(0xFFFFFFFF, value, offset)
        if lane >= offset:
            value += before
        offset *= 2
    if lane == 31:
        sums[warp] = value
    cuda.syncthreads()
    for w in range(warp):
        value += sums[w]
    if tid < x.size:
        out[tid] = value


@cuda.jit
def running_maximum(matrix, out):
    """one block a row: out[row, i] = the largest of the row up to i"""
    best = cuda.shared.array(32, float32)
    tid = cuda.threadIdx.x
    row = cuda.blockIdx.x
    inside = tid < matrix.shape[1]
    best[tid] = matrix[row, tid] if inside else float32(-np.inf)
    cuda.syncthreads()
    offset = 1
    while offset < 32:
        other = best[tid]
        if tid >= offset:
            other = max(other, best[tid - offset])
        cuda.syncthreads()
        best[tid] = other
        cuda.syncthreads()
        offset *= 2
    if inside:
        out[row, tid] = best[tid]


N = 61
MANY = 300


CASES = [
    Case(
        name="scan by Hillis and Steele",
        inputs=lambda rng: {"x": whole(rng, N), "out": blank(N)},
        launches=[Launch(scan_hillis_steele, 1, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": np.cumsum(given["x"])},
        kinds=("scan", "shared", "barrier"),
    ),
    Case(
        name="scan in one buffer",
        inputs=lambda rng: {"x": whole(rng, N, dtype=np.int32), "out": blank(N, np.int32)},
        launches=[Launch(scan_one_buffer, 1, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": np.cumsum(given["x"], dtype=np.int32)},
        kinds=("scan", "shared", "barrier"),
    ),
    Case(
        name="scan by Blelloch",
        inputs=lambda rng: {"x": whole(rng, 117, dtype=np.int32), "out": blank(117, np.int32)},
        launches=[Launch(scan_blelloch, 1, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": (np.cumsum(given["x"]) - given["x"]).astype(np.int32)},
        kinds=("scan", "shared", "barrier"),
    ),
    Case(
        name="scan over several blocks",
        inputs=lambda rng: {
            "x": whole(rng, MANY, dtype=np.int32),
            "out": blank(MANY, np.int32),
            "sums": blank(blocks(MANY, BLOCK), np.int32),
            "scanned": blank(blocks(MANY, BLOCK), np.int32),
            "total": blank(1, np.int32),
        },
        launches=[
            Launch(scan_blocks, blocks(MANY, BLOCK), BLOCK, ("x", "out", "sums")),
            Launch(scan_blocks, 1, BLOCK, ("sums", "scanned", "total")),
            Launch(add_sums_before, blocks(MANY, BLOCK), BLOCK, ("out", "scanned")),
        ],
        expected=lambda given: {
            "out": np.cumsum(given["x"], dtype=np.int32),
            "total": given["x"].sum(keepdims=True, dtype=np.int32),
        },
        kinds=("scan", "shared", "barrier", "several launches"),
    ),
    Case(
        name="scan by warps",
        inputs=lambda rng: {"x": whole(rng, N, dtype=np.int32), "out": blank(N, np.int32)},
        launches=[Launch(scan_warps, 1, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": np.cumsum(given["x"], dtype=np.int32)},
        kinds=("scan", "shuffle", "shared", "barrier"),
        simulator=False,
    ),
    Case(
        name="running maximum of rows",
        inputs=lambda rng: {"matrix": whole(rng, (4, 27), -100, 100), "out": blank((4, 27))},
        launches=[Launch(running_maximum, 4, 32, ("matrix", "out"))],
        expected=lambda given: {"out": np.maximum.accumulate(given["matrix"], axis=1)},
        kinds=("scan", "shared", "barrier"),
    ),
]
