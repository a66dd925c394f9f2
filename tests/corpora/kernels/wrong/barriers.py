"""Barriers that not all threads of a block reach, or not at the same line."""

from functools import partial

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Launch
from tests.corpora.kernels.values import blank, blocks, whole
from tests.corpora.kernels.wrong.case import BARRIER_DIVERGENCE, wrong

BLOCK = 64
HALF = BLOCK // 2


@cuda.jit
def sum_with_barrier_in_the_if(x, partial):
    """each block's sum"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[tid] = x[i] if i < x.size else 0
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if tid < s:
            shared[tid] += shared[tid + s]
            cuda.syncthreads()  # !finding
        s //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def reverse_after_return(x, out):
    """turn each block around; the last is ragged"""
    buffer = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if i >= x.size:
        return  # !finding
    buffer[tid] = x[i]
    cuda.syncthreads()  # !finding
    here = min(BLOCK, x.size - cuda.blockIdx.x * BLOCK)
    out[i] = buffer[here - 1 - tid]


@cuda.jit
def reverse_in_the_guard(x, out):
    """the same"""
    buffer = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        buffer[tid] = x[i]
        cuda.syncthreads()  # !finding
        here = min(BLOCK, x.size - cuda.blockIdx.x * BLOCK)
        out[i] = buffer[here - 1 - tid]


@cuda.jit
def barrier_each_round(x, total):
    """sum of an array by one block: each thread adds up its elements"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    shared[tid] = 0
    for i in range(tid, x.size, BLOCK):
        shared[tid] += x[i]
        cuda.syncthreads()  # !finding
    cuda.syncthreads()  # !finding
    if tid == 0:
        mine = float32(0)
        for k in range(BLOCK):
            mine += shared[k]
        total[0] = mine


@cuda.jit
def barrier_in_both_branches(x, out):
    """even threads send to odd ones, and the other way round"""
    buffer = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if tid % 2 == 0:
        buffer[tid + 1] = x[i]
        cuda.syncthreads()  # !finding
    else:
        buffer[tid - 1] = -x[i]
        cuda.syncthreads()  # !finding
    out[i] = buffer[tid]


@cuda.jit
def search_with_break(matrix, wanted, found):
    """whether one row after the other holds a value, until it is found; a block, a thread a column"""
    hit = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    if tid == 0:
        hit[0] = 0
    cuda.syncthreads()
    for row in range(matrix.shape[0]):
        if matrix[row, tid] == wanted:
            cuda.atomic.add(hit, 0, 1)
            break  # !finding
        cuda.syncthreads()  # !finding
    cuda.syncthreads()  # !finding
    if tid == 0:
        found[0] = hit[0]


@cuda.jit
def rows_with_continue(matrix, sums):
    """each row's sum of positive elements; one block, one row after the other"""
    total = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    for row in range(matrix.shape[0]):
        if tid == 0:
            total[0] = 0
        cuda.syncthreads()  # !finding
        if matrix[row, tid] <= 0 and tid > 0:
            continue  # !finding
        if matrix[row, tid] > 0:
            cuda.atomic.add(total, 0, matrix[row, tid])
        cuda.syncthreads()  # !finding
        if tid == 0:
            sums[row] = total[0]


@cuda.jit(device=True)
def sum_of_block(shared, tid):
    s = HALF
    while s > 0:
        cuda.syncthreads()  # !finding
        if tid < s:
            shared[tid] += shared[tid + s]
        s //= 2
    cuda.syncthreads()  # !finding
    return shared[0]


@cuda.jit
def sum_in_a_branch(x, partial):
    """each block's sum, by a device function"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[tid] = x[i] if i < x.size else 0
    cuda.syncthreads()
    if tid < HALF:
        total = sum_of_block(shared, tid)  # !finding
        if tid == 0:
            partial[cuda.blockIdx.x] = total


@cuda.jit
def count_in_the_guard(x, counts):
    """how many elements of each block are positive: the barrier counts"""
    i = cuda.grid(1)
    if i < x.size:
        positive = 1 if x[i] > 0 else 0
        count = cuda.syncthreads_count(positive)  # !finding
        if cuda.threadIdx.x == 0:
            counts[cuda.blockIdx.x] = count


@cuda.jit
def one_warp_waits(x, out):
    """the first warp loads for both, then each takes from what was loaded"""
    buffer = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if tid < 32:
        buffer[tid] = x[i]
        buffer[tid + 32] = x[i + 32]
        cuda.syncthreads()  # !finding
        out[i] = buffer[BLOCK - 1 - tid]
        out[i + 32] = buffer[31 - tid]


@cuda.jit
def refine_until_small(x, out):
    """halve each element until it is below 1, all threads in step"""
    rounds = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if tid == 0:
        rounds[0] = 0
    cuda.syncthreads()
    value = x[i]
    while value >= 1:  # !finding
        value = value / 2
        cuda.atomic.add(rounds, 0, 1)
        cuda.syncthreads()  # !finding
    out[i] = value


@cuda.jit
def leader_goes_on(x, partial):
    """each block's sum: all but the first thread leave after an atomic"""
    total = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    if tid == 0:
        total[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(total, 0, x[cuda.grid(1)])
    if tid != 0:
        return  # !finding
    cuda.syncthreads()  # !finding
    partial[cuda.blockIdx.x] = total[0]


@cuda.jit
def loop_of_different_length(x, out):
    """each thread adds up the elements of its block up to its own, all in step"""
    buffer = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    buffer[tid] = x[i]
    cuda.syncthreads()
    total = 0
    for k in range(tid + 1):  # !finding
        total += buffer[k]
        cuda.syncthreads()  # !finding
    out[i] = total


@cuda.jit
def barrier_for_the_idle(x, partial):
    """each block's sum: thread 0 adds up, the others wait at a barrier"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    shared[tid] = x[cuda.grid(1)]
    cuda.syncthreads()
    if tid == 0:
        total = float32(0)
        for k in range(BLOCK):
            total += shared[k]
        partial[cuda.blockIdx.x] = total
    else:
        cuda.syncthreads()  # !finding


N = 230
barrier_divergence = partial(wrong, finding=BARRIER_DIVERGENCE)


def on_vector(kernel, names, n=N):
    return [Launch(kernel, blocks(n, BLOCK), BLOCK, names)]


def one_to_one(n=N, dtype=np.float32):
    return lambda rng: {"x": whole(rng, n, dtype=dtype), "out": blank(n, dtype)}


def sums(n=N, dtype=np.float32):
    return lambda rng: {"x": whole(rng, n, dtype=dtype), "partial": blank(blocks(n, BLOCK), dtype)}


def expected_sums(given):
    return {"partial": np.add.reduceat(given["x"], range(0, given["x"].size, BLOCK), dtype=given["x"].dtype)}


def expected_reverse(given):
    x = given["x"]
    return {"out": np.concatenate([x[first : first + BLOCK][::-1] for first in range(0, x.size, BLOCK)])}


def expected_exchange(given):
    pairs = given["x"].reshape(-1, 2)
    return {"out": np.stack([-pairs[:, 1], pairs[:, 0]], axis=1).reshape(-1)}


def with_one_hit(rng):
    matrix = whole(rng, (6, BLOCK), dtype=np.int32)
    matrix[3, 41] = 50
    return {"matrix": matrix, "wanted": 50, "found": blank(1, np.int32)}


CASES = [
    barrier_divergence(
        "barrier inside the if of a reduction",
        "Only the threads that add have to wait.",
        inputs=sums(),
        launches=on_vector(sum_with_barrier_in_the_if, ("x", "partial")),
        expected=expected_sums,
        often_right=True,
        also=("race",),
    ),
    barrier_divergence(
        "return before a barrier",
        "Threads that have nothing to do may leave at any time.",
        inputs=one_to_one(),
        launches=on_vector(reverse_after_return, ("x", "out")),
        expected=expected_reverse,
        often_right=True,
    ),
    barrier_divergence(
        "barrier inside the guard",
        "A guard belongs around the whole kernel.",
        inputs=one_to_one(),
        launches=on_vector(reverse_in_the_guard, ("x", "out")),
        expected=expected_reverse,
        often_right=True,
    ),
    barrier_divergence(
        "barrier in a loop over a thread's elements",
        "All threads go round a strided loop equally often.",
        inputs=lambda rng: {"x": whole(rng, N), "total": blank(1)},
        launches=[Launch(barrier_each_round, 1, BLOCK, ("x", "total"))],
        expected=lambda given: {"total": given["x"].sum(keepdims=True)},
        often_right=True,
    ),
    barrier_divergence(
        "a barrier in each of two branches",
        "It does not matter at which barrier a thread waits, if each waits at one.",
        inputs=one_to_one(256, np.int32),
        launches=on_vector(barrier_in_both_branches, ("x", "out"), 256),
        expected=expected_exchange,
        often_right=True,
    ),
    barrier_divergence(
        "break out of a loop with a barrier",
        "A thread that has found what it looks for may stop.",
        inputs=with_one_hit,
        launches=[Launch(search_with_break, 1, BLOCK, ("matrix", "wanted", "found"))],
        expected=lambda given: {"found": np.ones(1, np.int32)},
        often_right=True,
    ),
    barrier_divergence(
        "continue before a barrier",
        "A thread that has nothing to add may go on to the next row.",
        inputs=lambda rng: {"matrix": whole(rng, (5, BLOCK), dtype=np.int32), "sums": blank(5, np.int32)},
        launches=[Launch(rows_with_continue, 1, BLOCK, ("matrix", "sums"))],
        expected=lambda given: {"sums": np.maximum(given["matrix"], 0).sum(axis=1, dtype=np.int32)},
        also=("race",),
    ),
    barrier_divergence(
        "device function with a barrier called in a branch",
        "A function is called by those that need its result.",
        inputs=sums(),
        launches=on_vector(sum_in_a_branch, ("x", "partial")),
        expected=expected_sums,
        helpers=(sum_of_block,),
        often_right=True,
    ),
    barrier_divergence(
        "counting barrier inside the guard",
        "Threads without an element have no vote.",
        inputs=lambda rng: {"x": whole(rng, N), "counts": blank(4, np.int32)},
        launches=on_vector(count_in_the_guard, ("x", "counts")),
        expected=lambda given: {
            "counts": np.add.reduceat(given["x"] > 0, range(0, N, BLOCK), dtype=np.int32)
        },
        often_right=True,
    ),
    barrier_divergence(
        "barrier for one warp of two",
        "A barrier waits for the threads that come to it.",
        inputs=one_to_one(256),
        launches=on_vector(one_warp_waits, ("x", "out"), 256),
        expected=expected_reverse,
        often_right=True,
    ),
    barrier_divergence(
        "barrier in a loop that ends by the data",
        "The loop ends for all threads at once.",
        inputs=lambda rng: {"x": whole(rng, 128, 0, 200), "out": blank(128)},
        launches=on_vector(refine_until_small, ("x", "out"), 128),
        expected=lambda given: {
            "out": np.where(
                given["x"] < 1, given["x"], given["x"] / 2.0 ** (np.floor(np.log2(given["x"].clip(1))) + 1)
            ).astype(np.float32)
        },
        often_right=True,
    ),
    barrier_divergence(
        "all but one leave before the barrier",
        "A barrier waits for the threads that are still there.",
        inputs=sums(256, np.int32),
        launches=on_vector(leader_goes_on, ("x", "partial"), 256),
        expected=expected_sums,
        often_right=True,
    ),
    barrier_divergence(
        "barrier in a loop as long as the thread's number",
        "Barriers pair up by themselves.",
        inputs=one_to_one(128, np.int32),
        launches=on_vector(loop_of_different_length, ("x", "out"), 128),
        expected=lambda given: {
            "out": np.cumsum(given["x"].reshape(-1, BLOCK), axis=1, dtype=np.int32).reshape(-1)
        },
        often_right=True,
    ),
    barrier_divergence(
        "barrier for the idle threads",
        "A barrier is a place where the others wait for the one that works.",
        inputs=sums(256),
        launches=on_vector(barrier_for_the_idle, ("x", "partial"), 256),
        expected=expected_sums,
        often_right=True,
    ),
]
