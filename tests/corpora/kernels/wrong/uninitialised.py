"""Shared and local memory that is read before anybody has written it."""

from functools import partial

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Launch
from tests.corpora.kernels.values import blank, blocks, real, whole
from tests.corpora.kernels.wrong.case import LOCAL, SHARED, UNINITIALISED_READ, wrong

BLOCK = 64
BINS = 50
TILE = 8
TILE_AND_HALO = TILE + 2


@cuda.jit
def sum_of_a_ragged_block(x, partial):
    """each block's sum"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        shared[tid] = x[i]
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if tid < s:
            shared[tid] += shared[tid + s]  # !finding
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def sum_of_a_small_block(x, partial):
    """each block's sum, by a tree over BLOCK elements"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[tid] = x[i]
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if tid < s:
            shared[tid] += shared[tid + s]  # !finding
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def histogram_never_zeroed(values, counts):
    """bins of the block's own, then one atomic a bin"""
    private = cuda.shared.array(BINS, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(private, values[i], 1)  # !finding
    cuda.syncthreads()
    if tid < BINS:
        cuda.atomic.add(counts, tid, private[tid])  # !finding


@cuda.jit
def histogram_half_zeroed(values, counts):
    """the same, in blocks of 32 threads"""
    private = cuda.shared.array(BINS, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    private[tid] = 0
    cuda.syncthreads()
    if i < values.size:
        cuda.atomic.add(private, values[i], 1)  # !finding
    cuda.syncthreads()
    for b in range(tid, BINS, cuda.blockDim.x):
        cuda.atomic.add(counts, b, private[b])  # !finding


@cuda.jit
def sums_by_digit_never_zeroed(matrix, sums):
    """each thread adds up the even and the odd columns of its row"""
    parts = cuda.local.array(2, float32)
    row = cuda.grid(1)
    if row < matrix.shape[0]:
        for col in range(matrix.shape[1]):
            parts[col % 2] += matrix[row, col]  # !finding
        sums[row, 0] = parts[0]
        sums[row, 1] = parts[1]


@cuda.jit
def two_largest(matrix, out):
    """the two largest of each row, kept in a local array"""
    best = cuda.local.array(2, float32)
    row = cuda.grid(1)
    if row < matrix.shape[0]:
        for col in range(matrix.shape[1]):
            value = matrix[row, col]
            if value > best[0]:  # !finding
                best[1] = best[0]  # !finding
                best[0] = value
            elif value > best[1]:  # !finding
                best[1] = value
        out[row, 0] = best[0]  # !finding
        out[row, 1] = best[1]  # !finding


@cuda.jit
def sum_of_all_digits(numbers, out):
    """take a number apart into a local array, and add up its digits"""
    digits = cuda.local.array(8, dtype=int32)
    i = cuda.grid(1)
    if i < numbers.size:
        count = 0
        rest = numbers[i]
        while rest > 0:
            digits[count] = rest % 10
            rest //= 10
            count += 1
        total = 0
        for k in range(8):
            total += digits[k]  # !finding
        out[i] = total


@cuda.jit
def window_without_halo(x, out):
    """each element and its two neighbours, through shared memory"""
    tile = cuda.shared.array(66, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[tid + 1] = x[i] if i < x.size else 0
    cuda.syncthreads()
    if i < x.size:
        out[i] = tile[tid] + tile[tid + 1] + tile[tid + 2]  # !finding


@cuda.jit
def box_without_corners(image, out):
    """sum of the 3×3 neighbours; the threads at the rim load the halo; sides are multiples of TILE"""
    tile = cuda.shared.array((TILE_AND_HALO, TILE_AND_HALO), int32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x + 1
    ty = cuda.threadIdx.y + 1
    height, width = image.shape
    tile[ty, tx] = image[y, x]
    if tx == 1:
        tile[ty, 0] = image[y, x - 1] if x > 0 else 0
    if tx == TILE:
        tile[ty, TILE + 1] = image[y, x + 1] if x < width - 1 else 0
    if ty == 1:
        tile[0, tx] = image[y - 1, x] if y > 0 else 0
    if ty == TILE:
        tile[TILE + 1, tx] = image[y + 1, x] if y < height - 1 else 0
    cuda.syncthreads()
    total = 0
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            total += tile[ty + dy, tx + dx]  # !finding
    out[y, x] = total


@cuda.jit
def matmul_with_ragged_tiles(a, b, c):
    """c = a·b through tiles"""
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = float32(0)
    if row < a.shape[0] and tx < a.shape[1]:
        tile_a[ty, tx] = a[row, tx]
    if ty < b.shape[0] and col < b.shape[1]:
        tile_b[ty, tx] = b[ty, col]
    cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]  # !finding
        c[row, col] = total


@cuda.jit
def flag_set_by_the_last_only(x, partial, ticket, total):
    """the block that finishes last adds up what the others left"""
    is_last = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    if tid == 0:
        partial[cuda.blockIdx.x] = x[cuda.grid(1)]
        cuda.threadfence()
        taken = cuda.atomic.add(ticket, 0, 1)
        cuda.threadfence()
        if taken == cuda.gridDim.x - 1:
            is_last[0] = 1
    cuda.syncthreads()
    if is_last[0] == 1:  # !finding
        for block in range(tid, cuda.gridDim.x, cuda.blockDim.x):
            cuda.atomic.add(total, 0, partial[block])


@cuda.jit
def two_dynamic_arrays(x, y, out):
    """two arrays carved from the dynamic shared memory"""
    shared = cuda.shared.array(0, dtype=int32)
    n = cuda.blockDim.x
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[tid] = x[i]
    cuda.syncthreads()
    out[i] = shared[n - 1 - tid] - shared[n + tid]  # !finding


@cuda.jit
def sum_over_32_warps(x, partial):
    """each block's sum: shuffles in each of its warps, then in the first"""
    sums = cuda.shared.array(32, float32)
    tid = cuda.threadIdx.x
    value = x[cuda.grid(1)]
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
    if tid % 32 == 0:
        sums[tid // 32] = value
    cuda.syncthreads()
    if tid < 32:
        value = sums[tid]  # !finding
        for offset in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
        if tid == 0:
            partial[cuda.blockIdx.x] = value


@cuda.jit
def subtract_first_of_all(x, out):
    """subtract from each element the first of all"""
    first = cuda.shared.array(1, float32)
    i = cuda.grid(1)
    if i == 0:
        first[0] = x[0]
    cuda.syncthreads()
    if i < x.size:
        out[i] = x[i] - first[0]  # !finding


@cuda.jit
def best_of_rows(matrix, out):
    """one block a row: the largest of the row, by an atomic in shared memory"""
    best = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    row = cuda.blockIdx.x
    for col in range(tid, matrix.shape[1], cuda.blockDim.x):
        cuda.atomic.max(best, 0, matrix[row, col])  # !finding
    cuda.syncthreads()
    if tid == 0:
        out[row] = best[0]  # !finding


N = 230
uninitialised_read = partial(wrong, finding=UNINITIALISED_READ)


def on_vector(kernel, names):
    return [Launch(kernel, blocks(N, BLOCK), BLOCK, names)]


def values(rng):
    return {"values": whole(rng, N, 0, BINS, np.int32), "counts": np.zeros(BINS, np.int32)}


def expected_counts(given):
    return {"counts": np.bincount(given["values"], minlength=BINS).astype(np.int32)}


def expected_box(given):
    padded = np.pad(given["image"], 1)
    return {"out": sum(padded[i : i + 16, j : j + 24] for i in range(3) for j in range(3))}


CASES = [
    uninitialised_read(
        "last block of a reduction not filled up",
        "Cells of shared memory that nobody fills are zero.",
        inputs=lambda rng: {"x": whole(rng, N), "partial": blank(4)},
        launches=on_vector(sum_of_a_ragged_block, ("x", "partial")),
        expected=lambda given: {
            "partial": np.add.reduceat(given["x"], range(0, N, BLOCK), dtype=given["x"].dtype)
        },
        space=SHARED,
    ),
    uninitialised_read(
        "tree wider than the block",
        "A shared array of 64 can be summed by any block.",
        inputs=lambda rng: {"x": whole(rng, 144), "partial": blank(3)},
        launches=[Launch(sum_of_a_small_block, 3, 48, ("x", "partial"))],
        expected=lambda given: {"partial": given["x"].reshape(3, 48).sum(axis=1)},
        space=SHARED,
    ),
    uninitialised_read(
        "private bins never zeroed",
        "A new shared array holds zeros.",
        inputs=values,
        launches=on_vector(histogram_never_zeroed, ("values", "counts")),
        expected=expected_counts,
        space=SHARED,
    ),
    uninitialised_read(
        "more private bins than threads",
        "One store a thread zeroes the whole array.",
        inputs=values,
        launches=[Launch(histogram_half_zeroed, 8, 32, ("values", "counts"))],
        expected=expected_counts,
        space=SHARED,
    ),
    uninitialised_read(
        "local sums never zeroed",
        "A new local array holds zeros.",
        inputs=lambda rng: {"matrix": whole(rng, (40, 9)), "sums": blank((40, 2))},
        launches=[Launch(sums_by_digit_never_zeroed, 2, 32, ("matrix", "sums"))],
        expected=lambda given: {
            "sums": np.stack(
                [given["matrix"][:, ::2].sum(axis=1), given["matrix"][:, 1::2].sum(axis=1)], axis=1
            )
        },
        space=LOCAL,
    ),
    uninitialised_read(
        "two largest with nothing to start from",
        "Anything is larger than an empty cell.",
        inputs=lambda rng: {"matrix": real(rng, (40, 9)), "out": blank((40, 2))},
        launches=[Launch(two_largest, 2, 32, ("matrix", "out"))],
        expected=lambda given: {"out": np.sort(given["matrix"], axis=1)[:, :-3:-1]},
        space=LOCAL,
    ),
    uninitialised_read(
        "digits that are not there",
        "Leading zeros are in the array by themselves.",
        inputs=lambda rng: {"numbers": whole(rng, 100, 0, 10**6, np.int32), "out": blank(100, np.int32)},
        launches=[Launch(sum_of_all_digits, 2, BLOCK, ("numbers", "out"))],
        expected=lambda given: {
            "out": np.array([sum(map(int, str(number))) for number in given["numbers"]], np.int32)
        },
        space=LOCAL,
    ),
    uninitialised_read(
        "halo never loaded",
        "Around a tile lie the neighbouring tiles.",
        inputs=lambda rng: {"x": whole(rng, N, dtype=np.int32), "out": blank(N, np.int32)},
        launches=on_vector(window_without_halo, ("x", "out")),
        expected=lambda given: {
            "out": np.convolve(given["x"], np.ones(3, np.int32), "same").astype(np.int32)
        },
        space=SHARED,
    ),
    uninitialised_read(
        "corners of a halo never loaded",
        "A halo has four sides.",
        inputs=lambda rng: {"image": whole(rng, (16, 24), dtype=np.int32), "out": blank((16, 24), np.int32)},
        launches=[Launch(box_without_corners, (3, 2), (TILE, TILE), ("image", "out"))],
        expected=expected_box,
        space=SHARED,
    ),
    uninitialised_read(
        "ragged tiles of a product",
        "What lies outside of a matrix counts as zero in its tile.",
        inputs=lambda rng: {"a": whole(rng, (10, 6)), "b": whole(rng, (6, 11)), "c": blank((10, 11))},
        launches=[Launch(matmul_with_ragged_tiles, (2, 2), (TILE, TILE), ("a", "b", "c"))],
        expected=lambda given: {"c": given["a"] @ given["b"]},
        space=SHARED,
    ),
    uninitialised_read(
        "flag set by the last block only",
        "A flag that was not set is zero.",
        inputs=lambda rng: {
            "x": whole(rng, 256, dtype=np.int32),
            "partial": blank(4, np.int32),
            "ticket": np.zeros(1, np.int32),
            "total": np.zeros(1, np.int32),
        },
        launches=[Launch(flag_set_by_the_last_only, 4, BLOCK, ("x", "partial", "ticket", "total"))],
        expected=lambda given: {"total": given["x"][::BLOCK].sum(keepdims=True, dtype=np.int32)},
        space=SHARED,
        often_right=True,
    ),
    uninitialised_read(
        "second of two dynamic arrays never filled",
        "Loading the first array loads the second, too.",
        inputs=lambda rng: {
            "x": whole(rng, 256, dtype=np.int32),
            "y": whole(rng, 256, dtype=np.int32),
            "out": blank(256, np.int32),
        },
        launches=[Launch(two_dynamic_arrays, 4, BLOCK, ("x", "y", "out"), shared=2 * BLOCK * 4)],
        expected=lambda given: {"out": given["x"].reshape(4, BLOCK)[:, ::-1].reshape(-1) - given["y"]},
        space=SHARED,
    ),
    uninitialised_read(
        "sums of warps that are not there",
        "A block always has 32 warps.",
        inputs=lambda rng: {"x": whole(rng, 256), "partial": blank(4)},
        launches=[Launch(sum_over_32_warps, 4, BLOCK, ("x", "partial"))],
        expected=lambda given: {"partial": given["x"].reshape(4, BLOCK).sum(axis=1)},
        space=SHARED,
    ),
    uninitialised_read(
        "shared value set in the first block only",
        "Shared memory is shared by all blocks.",
        inputs=lambda rng: {"x": whole(rng, N), "out": blank(N)},
        launches=on_vector(subtract_first_of_all, ("x", "out")),
        expected=lambda given: {"out": given["x"] - given["x"][0]},
        space=SHARED,
    ),
    uninitialised_read(
        "atomic maximum with nothing to start from",
        "The first atomic on a cell sets it.",
        inputs=lambda rng: {"matrix": whole(rng, (3, 70), -999, -1, np.int32), "out": blank(3, np.int32)},
        launches=[Launch(best_of_rows, 3, 32, ("matrix", "out"))],
        expected=lambda given: {"out": given["matrix"].max(axis=1)},
        space=SHARED,
    ),
]
