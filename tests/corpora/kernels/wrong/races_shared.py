"""Races in shared memory: barriers that are missing, too few, too early, or of the warp only."""

from functools import partial

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Launch
from tests.corpora.kernels.values import blank, blocks, real, whole
from tests.corpora.kernels.wrong.case import (
    ATOMIC_PLAIN,
    RACE,
    READ_WRITE,
    SHARED,
    UNINITIALISED_READ,
    WARP_SYNCHRONISATION,
    WRITE_WRITE,
    wrong,
)

BLOCK = 64
BINS = 16
TILE = 8


@cuda.jit
def reverse_without_barrier(x, out):
    """turn each block around"""
    buffer = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    buffer[tid] = x[i]  # !finding
    out[i] = buffer[BLOCK - 1 - tid]  # !finding


@cuda.jit
def rotate_with_barrier_too_early(x, out):
    """each element of a block takes the place before it, the first the last"""
    buffer = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    cuda.syncthreads()
    buffer[tid] = x[i]  # !finding
    out[i] = buffer[(tid + 1) % BLOCK]  # !finding


@cuda.jit
def dot_without_barrier(a, b, out):
    """dot product"""
    cache = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < a.size:
        cache[tid] = a[i] * b[i]  # !finding
    else:
        cache[tid] = 0
    if tid == 0:
        total = float32(0)
        for k in range(BLOCK):
            total += cache[k]  # !finding
        cuda.atomic.add(out, 0, total)


@cuda.jit
def sum_with_one_barrier(x, partial):
    """each block's sum"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[tid] = x[i] if i < x.size else 0
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if tid < s:
            shared[tid] += shared[tid + s]  # !finding
        s //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def sum_without_barrier_before_loop(x, partial):
    """each block's sum"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[tid] = x[i] if i < x.size else 0  # !finding
    s = BLOCK // 2
    while s > 0:
        if tid < s:
            shared[tid] += shared[tid + s]  # !finding
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def interleaved_sum_by_all(x, partial):
    """each block's sum; every thread adds what is a step away"""
    shared = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[tid] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = 1
    while step < BLOCK:
        if tid + step < BLOCK:
            shared[tid] += shared[tid + step]  # !finding
        cuda.syncthreads()
        step *= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def matmul_without_second_barrier(a, b, c):
    """c = a·b through tiles; sides are multiples of TILE"""
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = float32(0)
    for t in range(a.shape[1] // TILE):
        tile_a[ty, tx] = a[row, t * TILE + tx]  # !finding
        tile_b[ty, tx] = b[t * TILE + ty, col]  # !finding
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]  # !finding
    c[row, col] = total


@cuda.jit
def matmul_without_first_barrier(a, b, c):
    """the same"""
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = float32(0)
    for t in range(a.shape[1] // TILE):
        tile_a[ty, tx] = a[row, t * TILE + tx]  # !finding
        tile_b[ty, tx] = b[t * TILE + ty, col]  # !finding
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]  # !finding
        cuda.syncthreads()
    c[row, col] = total


@cuda.jit
def transpose_without_barrier(a, out):
    """out = aᵀ through a tile; sides are multiples of TILE"""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x, y = cuda.grid(2)
    tile[ty, tx] = a[y, x]  # !finding
    out[cuda.blockIdx.x * TILE + ty, cuda.blockIdx.y * TILE + tx] = tile[tx, ty]  # !finding


@cuda.jit
def histogram_without_barrier_after_zeros(values, counts):
    """bins of the block's own, then one atomic a bin"""
    private = cuda.shared.array(BINS, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if tid < BINS:
        private[tid] = 0  # !finding
    if i < values.size:
        cuda.atomic.add(private, values[i], 1)  # !finding
    cuda.syncthreads()
    if tid < BINS:
        cuda.atomic.add(counts, tid, private[tid])


@cuda.jit
def histogram_without_barrier_at_end(values, counts):
    """the same"""
    private = cuda.shared.array(BINS, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if tid < BINS:
        private[tid] = 0
    cuda.syncthreads()
    if i < values.size:
        cuda.atomic.add(private, values[i], 1)  # !finding
    if tid < BINS:
        cuda.atomic.add(counts, tid, private[tid])  # !finding


@cuda.jit
def histogram_plain_in_shared(values, counts):
    """the same"""
    private = cuda.shared.array(BINS, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if tid < BINS:
        private[tid] = 0
    cuda.syncthreads()
    if i < values.size:
        private[values[i]] += 1  # !finding
    cuda.syncthreads()
    if tid < BINS:
        cuda.atomic.add(counts, tid, private[tid])


@cuda.jit
def scan_in_place(x, out):
    """inclusive scan of one block"""
    buffer = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    buffer[tid] = x[tid]
    cuda.syncthreads()
    offset = 1
    while offset < BLOCK:
        if tid >= offset:
            buffer[tid] += buffer[tid - offset]  # !finding
        cuda.syncthreads()
        offset *= 2
    out[tid] = buffer[tid]


@cuda.jit
def scan_without_barrier_after_write(x, out):
    """inclusive scan of one block: read, barrier, write"""
    buffer = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    buffer[tid] = x[tid]
    cuda.syncthreads()
    offset = 1
    while offset < BLOCK:
        before = 0
        if tid >= offset:
            before = buffer[tid - offset]  # !finding
        cuda.syncthreads()
        buffer[tid] += before  # !finding
        offset *= 2
    out[tid] = buffer[tid]


@cuda.jit
def scan_two_buffers_without_barrier(x, out):
    """inclusive scan of one block, with two buffers that swap roles"""
    buffers = cuda.shared.array((2, BLOCK), float32)
    tid = cuda.threadIdx.x
    source = 0
    buffers[source, tid] = x[tid]
    cuda.syncthreads()
    offset = 1
    while offset < BLOCK:
        target = 1 - source
        if tid >= offset:
            buffers[target, tid] = buffers[source, tid] + buffers[source, tid - offset]  # !finding
        else:
            buffers[target, tid] = buffers[source, tid]  # !finding
        source = target
        offset *= 2
    cuda.syncthreads()
    out[tid] = buffers[source, tid]


@cuda.jit
def smooth_in_place(x, out):
    """twice the mean with the next element, in one buffer; the last stays"""
    buffer = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    buffer[tid] = x[tid]
    for _ in range(2):
        cuda.syncthreads()
        if tid < BLOCK - 1:
            buffer[tid] = 0.5 * (buffer[tid] + buffer[tid + 1])  # !finding
    out[tid] = buffer[tid]


@cuda.jit
def transpose_tile_in_place(a, out):
    """out = aᵀ of one tile: all threads swap in shared memory"""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    tile[ty, tx] = a[ty, tx]
    cuda.syncthreads()
    tile[ty, tx] = tile[tx, ty]  # !finding
    cuda.syncthreads()
    out[ty, tx] = tile[ty, tx]


@cuda.jit
def flag_reset_beside_set(x, found):
    """whether each block has a negative element"""
    flag = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if tid == 0:
        flag[0] = 0  # !finding
    if i < x.size and x[i] < 0:
        flag[0] = 1  # !finding
    cuda.syncthreads()
    if tid == 0:
        found[cuda.blockIdx.x] = flag[0]


@cuda.jit
def subtract_first_without_barrier(x, out):
    """subtract from each element the first of its block"""
    first = cuda.shared.array(1, float32)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        first[0] = x[i]  # !finding
    if i < x.size:
        out[i] = x[i] - first[0]  # !finding


@cuda.jit
def shares_without_last_barrier(x, out):
    """each element's distance from the largest of its block"""
    best = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    best[tid] = x[i]
    s = BLOCK // 2
    while s > 0:
        cuda.syncthreads()
        if tid < s:
            best[tid] = max(best[tid], best[tid + s])  # !finding
        s //= 2
    out[i] = best[0] - x[i]  # !finding


@cuda.jit
def range_with_one_buffer(x, out):
    """the largest less the smallest element of each block: the buffer serves twice"""
    buffer = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    buffer[tid] = x[i]
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if tid < s:
            buffer[tid] = max(buffer[tid], buffer[tid + s])
        cuda.syncthreads()
        s //= 2
    largest = buffer[0]  # !finding

    buffer[tid] = x[i]  # !finding
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if tid < s:
            buffer[tid] = min(buffer[tid], buffer[tid + s])
        cuda.syncthreads()
        s //= 2
    if tid == 1:
        out[cuda.blockIdx.x] = largest - buffer[0]


@cuda.jit
def warp_sums_without_barrier(x, partial):
    """each block's sum: shuffles in each warp, shared memory between the two warps"""
    sums = cuda.shared.array(2, float32)
    tid = cuda.threadIdx.x
    value = x[cuda.grid(1)]
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
    if tid % 32 == 0:
        sums[tid // 32] = value  # !finding
    if tid == 0:
        partial[cuda.blockIdx.x] = sums[0] + sums[1]  # !finding


@cuda.jit
def reverse_with_syncwarp(x, out):
    """turn each block around"""
    buffer = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    buffer[tid] = x[i]  # !finding
    cuda.syncwarp()
    out[i] = buffer[BLOCK - 1 - tid]  # !finding


@cuda.jit
def reverse_with_fence(x, out):
    """turn each block around"""
    buffer = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    buffer[tid] = x[i]  # !finding
    cuda.threadfence_block()
    out[i] = buffer[BLOCK - 1 - tid]  # !finding


@cuda.jit
def sort_without_barrier_in_loop(x):
    """odd-even sort of one block in shared memory"""
    values = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    values[tid] = x[tid]
    cuda.syncthreads()
    for step in range(BLOCK):
        if tid % 2 == step % 2 and tid + 1 < BLOCK:
            low, high = values[tid], values[tid + 1]  # !finding
            if low > high:
                values[tid] = high  # !finding
                values[tid + 1] = low  # !finding
    cuda.syncthreads()
    x[tid] = values[tid]


@cuda.jit
def sort_by_both_partners(x):
    """bitonic sort of one block: each thread compares and swaps with its partner"""
    values = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    values[tid] = x[tid]
    cuda.syncthreads()
    k = 2
    while k <= BLOCK:
        j = k // 2
        while j > 0:
            other = tid ^ j
            first = min(tid, other)
            second = max(tid, other)
            if (values[first] > values[second]) == ((first & k) == 0):  # !finding
                values[first], values[second] = values[second], values[first]  # !finding
            cuda.syncthreads()
            j //= 2
        k *= 2
    x[tid] = values[tid]


@cuda.jit
def two_threads_one_cell(x, out):
    """the larger of each pair of elements"""
    best = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    best[tid // 2] = x[i]  # !finding
    cuda.syncthreads()
    if tid % 2 == 0:
        out[i // 2] = max(best[tid // 2], x[i + 1])


@cuda.jit
def count_plain_in_shared(x, counts):
    """how many elements of each block are positive"""
    count = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if tid == 0:
        count[0] = 0
    cuda.syncthreads()
    if i < x.size and x[i] > 0:
        count[0] += 1  # !finding
    cuda.syncthreads()
    if tid == 0:
        counts[cuda.blockIdx.x] = count[0]


@cuda.jit
def total_read_while_added(x, out):
    """each element's part of the sum of its block"""
    total = cuda.shared.array(1, int32)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        total[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(total, 0, x[i])  # !finding
    out[i] = x[i] / total[0]  # !finding


@cuda.jit
def running_maximum_of_rows(matrix, out):
    """the largest of each row; one block takes all rows, one after the other"""
    best = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    for row in range(matrix.shape[0]):
        if tid == 0:
            best[0] = -1000  # !finding
        cuda.syncthreads()
        cuda.atomic.max(best, 0, matrix[row, tid])
        cuda.syncthreads()
        if tid == BLOCK - 1:
            out[row] = best[0]  # !finding


@cuda.jit
def window_without_barrier(x, out):
    """each element and its two neighbours, through shared memory with a halo"""
    tile = cuda.shared.array(66, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    n = x.size
    tile[tid + 1] = x[i] if i < n else 0  # !finding
    if tid == 0:
        tile[0] = x[i - 1] if i > 0 else 0
        tile[BLOCK + 1] = x[i + BLOCK] if i + BLOCK < n else 0
    if i < n:
        out[i] = tile[tid] + tile[tid + 1] + tile[tid + 2]  # !finding


N = 256


def by_block(x):
    return x.reshape(-1, BLOCK)


def one_to_one(n=N, dtype=np.float32):
    return lambda rng: {"x": whole(rng, n, dtype=dtype), "out": blank(n, dtype)}


def on_vector(kernel, names=("x", "out"), n=N):
    return [Launch(kernel, blocks(n, BLOCK), BLOCK, names)]


def sums(n=230, dtype=np.float32):
    return lambda rng: {"x": whole(rng, n, dtype=dtype), "partial": blank(blocks(n, BLOCK), dtype)}


def expected_sums(given):
    return {"partial": np.add.reduceat(given["x"], range(0, given["x"].size, BLOCK), dtype=given["x"].dtype)}


def bins(rng):
    return {"values": whole(rng, 230, 0, BINS, np.int32), "counts": np.zeros(BINS, np.int32)}


def expected_counts(given):
    return {"counts": np.bincount(given["values"], minlength=BINS).astype(np.int32)}


def matrices(rng):
    return {"a": whole(rng, (16, 24)), "b": whole(rng, (24, 8)), "c": blank((16, 8))}


def expected_smooth(given):
    x = given["x"]
    for _ in range(2):
        x = np.append((x[:-1] + x[1:]) / 2, x[-1:])
    return {"out": x.astype(np.float32)}


def expected_reverse(given):
    return {"out": by_block(given["x"])[:, ::-1].reshape(-1)}


def expected_scan(given):
    return {"out": np.cumsum(given["x"], dtype=given["x"].dtype)}


def expected_window(given):
    return {"out": np.convolve(given["x"], np.ones(3, np.int32), "same").astype(np.int32)}


race = partial(wrong, finding=RACE, space=SHARED)
EARLY = (UNINITIALISED_READ,)  # a reader that comes before the writer

CASES = [
    race(
        "reverse without a barrier",
        "What a thread has stored in shared memory, the others see at once.",
        inputs=one_to_one(),
        launches=on_vector(reverse_without_barrier),
        expected=expected_reverse,
        pair=READ_WRITE,
        also=EARLY,
    ),
    race(
        "barrier before the store",
        "A kernel with shared memory needs a barrier, anywhere.",
        inputs=one_to_one(dtype=np.int32),
        launches=on_vector(rotate_with_barrier_too_early),
        expected=lambda given: {"out": np.roll(by_block(given["x"]), -1, axis=1).reshape(-1)},
        pair=READ_WRITE,
        also=EARLY,
        often_right=True,
    ),
    race(
        "dot product without a barrier",
        "Thread 0 comes last, so all products are there.",
        inputs=lambda rng: {"a": whole(rng, 230), "b": whole(rng, 230), "out": np.zeros(1, np.float32)},
        launches=on_vector(dot_without_barrier, ("a", "b", "out"), 230),
        expected=lambda given: {"out": (given["a"] * given["b"]).sum(keepdims=True)},
        pair=READ_WRITE,
        also=EARLY,
    ),
    race(
        "reduction with one barrier before its loop",
        "One barrier after the load is enough for the whole reduction.",
        inputs=sums(),
        launches=on_vector(sum_with_one_barrier, ("x", "partial"), 230),
        expected=expected_sums,
        # Of 64 threads only the first warp adds: whatever races here races within it.
        finding=WARP_SYNCHRONISATION,
        pair=READ_WRITE,
        often_right=True,
    ),
    race(
        "reduction without a barrier after the load",
        "The barrier in the loop also covers the load.",
        inputs=sums(),
        launches=on_vector(sum_without_barrier_before_loop, ("x", "partial"), 230),
        expected=expected_sums,
        pair=READ_WRITE,
        also=EARLY,
        often_right=True,
    ),
    race(
        "reduction in which all threads add",
        "It does no harm if threads whose sums nobody needs add, too.",
        inputs=sums(dtype=np.int32),
        launches=on_vector(interleaved_sum_by_all, ("x", "partial"), 230),
        expected=expected_sums,
        pair=READ_WRITE,
        often_right=True,
    ),
    race(
        "tiled product without its second barrier",
        "A barrier is needed after writing a tile, not after reading it.",
        inputs=matrices,
        launches=[Launch(matmul_without_second_barrier, (1, 2), (TILE, TILE), ("a", "b", "c"))],
        expected=lambda given: {"c": given["a"] @ given["b"]},
        pair=READ_WRITE,
        often_right=True,
    ),
    race(
        "tiled product without its first barrier",
        "One barrier each time round the loop is enough.",
        inputs=matrices,
        launches=[Launch(matmul_without_first_barrier, (1, 2), (TILE, TILE), ("a", "b", "c"))],
        expected=lambda given: {"c": given["a"] @ given["b"]},
        pair=READ_WRITE,
        also=EARLY,
    ),
    race(
        "tiled transpose without a barrier",
        "Each thread has its own cell of the tile, so nobody has to wait.",
        inputs=lambda rng: {"a": real(rng, (16, 24)), "out": blank((24, 16))},
        launches=[Launch(transpose_without_barrier, (3, 2), (TILE, TILE), ("a", "out"))],
        expected=lambda given: {"out": given["a"].T},
        pair=READ_WRITE,
        also=EARLY,
    ),
    race(
        "private bins counted while they are zeroed",
        "Atomics make a barrier superfluous.",
        inputs=bins,
        launches=on_vector(histogram_without_barrier_after_zeros, ("values", "counts"), 230),
        expected=expected_counts,
        pair=ATOMIC_PLAIN,
        also=EARLY,
        often_right=True,
    ),
    race(
        "private bins read while they are counted",
        "A thread that has counted its value can hand on its bin.",
        inputs=bins,
        launches=on_vector(histogram_without_barrier_at_end, ("values", "counts"), 230),
        expected=expected_counts,
        pair=ATOMIC_PLAIN,
    ),
    race(
        "plain count in private bins",
        "Only global memory needs atomics.",
        inputs=bins,
        launches=on_vector(histogram_plain_in_shared, ("values", "counts"), 230),
        expected=expected_counts,
        pair=READ_WRITE,
    ),
    race(
        "scan in place",
        "All threads of a block read before any of them writes.",
        inputs=one_to_one(BLOCK, np.int32),
        launches=on_vector(scan_in_place, n=BLOCK),
        expected=expected_scan,
        pair=READ_WRITE,
    ),
    race(
        "scan without a barrier after the write",
        "One barrier separates both the reads from the writes and the writes from the next reads.",
        inputs=one_to_one(BLOCK, np.int32),
        launches=on_vector(scan_without_barrier_after_write, n=BLOCK),
        expected=expected_scan,
        pair=READ_WRITE,
        often_right=True,
    ),
    race(
        "two buffers without a barrier between steps",
        "With two buffers no barrier is needed.",
        inputs=one_to_one(BLOCK),
        launches=on_vector(scan_two_buffers_without_barrier, n=BLOCK),
        expected=expected_scan,
        pair=READ_WRITE,
        also=EARLY,
        often_right=True,
    ),
    race(
        "smoothing in place within a block",
        "A barrier before each step makes the step safe.",
        inputs=one_to_one(BLOCK),
        launches=on_vector(smooth_in_place, n=BLOCK),
        expected=expected_smooth,
        pair=READ_WRITE,
        often_right=True,
    ),
    race(
        "transpose of a tile in place",
        "All threads of a block copy in the same instant.",
        inputs=lambda rng: {"a": real(rng, (TILE, TILE)), "out": blank((TILE, TILE))},
        launches=[Launch(transpose_tile_in_place, 1, (TILE, TILE), ("a", "out"))],
        expected=lambda given: {"out": given["a"].T},
        pair=READ_WRITE,
    ),
    race(
        "shared flag reset while it is set",
        "Thread 0 comes first, so its zero cannot overwrite anything.",
        inputs=lambda rng: {"x": whole(rng, 230), "found": blank(4, np.int32)},
        launches=on_vector(flag_reset_beside_set, ("x", "found"), 230),
        expected=lambda given: {
            "found": (np.minimum.reduceat(given["x"], range(0, 230, BLOCK)) < 0) * np.int32(1)
        },
        pair=WRITE_WRITE,
        often_right=True,
    ),
    race(
        "broadcast without a barrier",
        "What thread 0 does stands first in the source, so it happens first.",
        inputs=one_to_one(230),
        launches=on_vector(subtract_first_without_barrier, n=230),
        expected=lambda given: {"out": given["x"] - np.repeat(given["x"][::BLOCK], BLOCK)[:230]},
        pair=READ_WRITE,
        also=EARLY,
        often_right=True,
    ),
    race(
        "result of a reduction without a last barrier",
        "After the last step of a reduction there is nothing to wait for.",
        inputs=one_to_one(),
        launches=on_vector(shares_without_last_barrier),
        expected=lambda given: {
            "out": (by_block(given["x"]).max(axis=1, keepdims=True) - by_block(given["x"])).reshape(-1)
        },
        pair=READ_WRITE,
    ),
    race(
        "buffer used again too soon",
        "A result that has been computed has been read by all.",
        inputs=lambda rng: {"x": whole(rng, N), "out": blank(N // BLOCK)},
        launches=on_vector(range_with_one_buffer),
        expected=lambda given: {"out": np.ptp(by_block(given["x"]), axis=1)},
        pair=READ_WRITE,
        often_right=True,
    ),
    race(
        "sums of warps without a barrier",
        "Shuffles synchronise the block.",
        inputs=sums(N),
        launches=on_vector(warp_sums_without_barrier, ("x", "partial")),
        expected=expected_sums,
        pair=READ_WRITE,
        also=EARLY,
        often_right=True,
    ),
    race(
        "barrier of the warp for one of the block",
        "syncwarp is a cheaper syncthreads.",
        inputs=one_to_one(),
        launches=on_vector(reverse_with_syncwarp),
        expected=expected_reverse,
        pair=READ_WRITE,
        also=EARLY,
    ),
    race(
        "fence for a barrier",
        "A fence makes the other threads wait.",
        inputs=one_to_one(dtype=np.int32),
        launches=on_vector(reverse_with_fence),
        expected=expected_reverse,
        pair=READ_WRITE,
        also=EARLY,
    ),
    race(
        "odd-even sort without a barrier between steps",
        "Pairs do not overlap, so no step has to wait for another.",
        inputs=lambda rng: {"x": whole(rng, BLOCK, -99, 99, np.int32)},
        launches=[Launch(sort_without_barrier_in_loop, 1, BLOCK, ("x",))],
        expected=lambda given: {"x": np.sort(given["x"])},
        pair=READ_WRITE,
    ),
    race(
        "both partners swap",
        "If both threads of a pair do the same swap, it is done once.",
        inputs=lambda rng: {"x": whole(rng, BLOCK, -99, 99, np.int32)},
        launches=[Launch(sort_by_both_partners, 1, BLOCK, ("x",))],
        expected=lambda given: {"x": np.sort(given["x"])},
        pair=READ_WRITE,
    ),
    race(
        "two threads store in one cell",
        "The first of two values stays.",
        inputs=lambda rng: {"x": whole(rng, N, dtype=np.int32), "out": blank(N // 2, np.int32)},
        launches=on_vector(two_threads_one_cell),
        expected=lambda given: {"out": given["x"].reshape(-1, 2).max(axis=1)},
        pair=WRITE_WRITE,
    ),
    race(
        "plain counter in shared memory",
        "One addition is one step.",
        inputs=lambda rng: {"x": whole(rng, 230), "counts": blank(4, np.int32)},
        launches=on_vector(count_plain_in_shared, ("x", "counts"), 230),
        expected=lambda given: {
            "counts": np.add.reduceat(given["x"] > 0, range(0, 230, BLOCK), dtype=np.int32)
        },
        pair=READ_WRITE,
    ),
    race(
        "total read while it grows",
        "After my atomic addition the sum is complete.",
        inputs=lambda rng: {"x": whole(rng, N, 1, 9, np.int32), "out": blank(N)},
        launches=on_vector(total_read_while_added),
        expected=lambda given: {
            "out": (by_block(given["x"]) / by_block(given["x"]).sum(axis=1, keepdims=True))
            .reshape(-1)
            .astype(np.float32)
        },
        pair=ATOMIC_PLAIN,
    ),
    race(
        "next row begins before the last is read",
        "Only the thread that reads a result has to wait.",
        inputs=lambda rng: {"matrix": whole(rng, (5, BLOCK), -99, 99, np.int32), "out": blank(5, np.int32)},
        launches=[Launch(running_maximum_of_rows, 1, BLOCK, ("matrix", "out"))],
        expected=lambda given: {"out": given["matrix"].max(axis=1)},
        pair=READ_WRITE,
        often_right=True,
    ),
    race(
        "halo without a barrier",
        "Neighbouring threads run together, so their cells are there.",
        inputs=one_to_one(230, np.int32),
        launches=on_vector(window_without_barrier, n=230),
        expected=expected_window,
        pair=READ_WRITE,
        also=EARLY,
        often_right=True,
    ),
]
