"""Loops that never end: alone, or because nobody can do what they wait for.

All waiting is by atomics, so that there is no race beside it.
"""

from functools import partial

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Launch
from tests.corpora.kernels.values import blank, whole
from tests.corpora.kernels.wrong.case import GLOBAL, NO_PROGRESS, wrong

BLOCK = 32


@cuda.jit
def stride_forgotten(x, sums):
    """each thread adds up every so many elements"""
    start = cuda.grid(1)
    i = start
    total = float32(0)
    while i < x.size:  # !finding
        total += x[i]  # !finding
    sums[start] = total


@cuda.jit
def halved_to_zero(x, partial):
    """each block's sum"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    shared[tid] = x[cuda.grid(1)]
    cuda.syncthreads()
    s = BLOCK // 2
    while s >= 0:  # !finding
        if tid < s:  # !finding
            shared[tid] += shared[tid + s]
        cuda.syncthreads()  # !finding
        s //= 2  # !finding
    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def doubled_from_zero(x, out):
    """inclusive scan of one block"""
    buffer = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    buffer[tid] = x[tid]
    cuda.syncthreads()
    offset = 0
    while offset < BLOCK:  # !finding
        before = 0  # !finding
        if tid >= offset and offset > 0:  # !finding
            before = buffer[tid - offset]
        cuda.syncthreads()  # !finding
        buffer[tid] += before  # !finding
        cuda.syncthreads()  # !finding
        offset *= 2  # !finding
    out[tid] = buffer[tid]


@cuda.jit
def search_that_stays(table, wanted, places):
    """the first place in an ascending table whose element is not smaller"""
    i = cuda.grid(1)
    if i < wanted.size:
        low = 0
        high = table.size
        while low < high:  # !finding
            middle = (low + high) // 2  # !finding
            if table[middle] < wanted[i]:  # !finding
                low = middle  # !finding
            else:
                high = middle  # !finding
        places[i] = low


@cuda.jit
def collatz_stuck(numbers, steps):
    """how many steps it takes to come to 1"""
    i = cuda.grid(1)
    if i < numbers.size:
        n = numbers[i]
        count = 0
        while n != 1:  # !finding
            n = n // 2 if n % 2 == 0 else 3 * n - 1  # !finding
            count += 1  # !finding
        steps[i] = count


@cuda.jit
def wait_before_the_barrier(x, flag, out):
    """thread 0 waits for a sign that the last thread gives after the barrier"""
    tid = cuda.threadIdx.x
    if tid == 0:
        while cuda.atomic.add(flag, 0, 0) == 0:  # !finding
            pass
    cuda.syncthreads()
    if tid == BLOCK - 1:
        cuda.atomic.exch(flag, 0, 1)
    out[tid] = 2 * x[tid]


@cuda.jit
def wait_for_the_next_block(x, flags, carried, out):
    """the sum of all blocks after each: the sums are handed on from the last block to the first"""
    b = cuda.blockIdx.x
    if b < cuda.gridDim.x - 1:
        while cuda.atomic.add(flags, b + 1, 0) == 0:  # !finding
            pass
    cuda.threadfence()
    if b < cuda.gridDim.x - 1:
        out[b] = carried[b + 1]
    else:
        out[b] = 0
    carried[b] = out[b] + x[b]
    cuda.threadfence()
    cuda.atomic.exch(flags, b, 1)


@cuda.jit
def grid_barrier_of_threads(x, arrived, out):
    """each block waits until all have come: its first thread arrives for it"""
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(arrived, 0, 1)
        while cuda.atomic.add(arrived, 0, 0) < cuda.gridsize(1):  # !finding
            pass
    cuda.syncthreads()
    out[i] = 2 * x[i]


@cuda.jit
def lock_held_over_a_barrier(x, lock, total):
    """every thread adds its element under a lock"""
    i = cuda.grid(1)
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:  # !finding
        pass
    cuda.threadfence()
    total[0] += x[i]
    cuda.threadfence()
    cuda.syncthreads()
    cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def lock_held_over_a_syncwarp(x, lock, total):
    """the same"""
    i = cuda.grid(1)
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:  # !finding
        pass
    cuda.threadfence()
    total[0] += x[i]
    cuda.threadfence()
    cuda.syncwarp()
    cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def lock_never_released(x, lock, total):
    """the first thread of each block adds its element under a lock"""
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:  # !finding
            pass
        cuda.threadfence()
        total[0] += x[cuda.grid(1)]
        cuda.threadfence()


@cuda.jit
def lock_taken_twice(x, lock, total, largest):
    """add each block's first element to a total, and keep the largest; one lock for both"""
    if cuda.threadIdx.x == 0:
        value = x[cuda.grid(1)]
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        total[0] += value
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:  # !finding
            pass
        largest[0] = max(largest[0], value)
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def product_with_stale_value(x, result):
    """an atomic product, built from compare-and-swap"""
    i = cuda.grid(1)
    if i < x.size:
        expected = cuda.atomic.add(result, 0, 0)
        while cuda.atomic.cas(result, 0, expected, expected * x[i]) != expected:  # !finding
            pass


@cuda.jit
def wait_for_more_than_there_are(x, count, out):
    """the first thread of a block waits until all others have stored"""
    tid = cuda.threadIdx.x
    if tid > 0:
        out[tid] = 2 * x[tid]
        cuda.threadfence_block()
        cuda.atomic.add(count, 0, 1)
    else:
        while cuda.atomic.add(count, 0, 0) < cuda.blockDim.x:  # !finding
            pass
        out[0] = 2 * x[0]


no_progress = partial(wrong, finding=NO_PROGRESS)


def one(value, dtype=np.int32):
    return np.array([value], dtype)


def locked(rng):
    return {"x": whole(rng, BLOCK, dtype=np.int32), "lock": one(0), "total": one(0)}


def locked_blocks(rng):
    return {
        "x": whole(rng, 4 * BLOCK, dtype=np.int32),
        "lock": one(0),
        "total": one(0),
        "largest": one(-99),
    }


def expected_total(given):
    return {"total": given["x"].sum(keepdims=True, dtype=np.int32)}


def expected_first(given):
    return {"total": given["x"][::BLOCK].sum(keepdims=True, dtype=np.int32)}


def expected_steps(given):
    steps = []
    for n in given["numbers"].tolist():
        steps.append(0)
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps[-1] += 1
    return {"steps": np.array(steps, np.int32)}


CASES = [
    no_progress(
        "loop that never moves on",
        "A while loop over the elements goes on to the next by itself.",
        inputs=lambda rng: {"x": whole(rng, 100), "sums": blank(BLOCK)},
        launches=[Launch(stride_forgotten, 1, BLOCK, ("x", "sums"))],
        expected=lambda given: {"sums": np.pad(given["x"], (0, 28)).reshape(4, BLOCK).sum(axis=0)},
    ),
    no_progress(
        "halving that stays at zero",
        "Halving a number makes it negative in the end.",
        inputs=lambda rng: {"x": whole(rng, 2 * BLOCK), "partial": blank(2)},
        launches=[Launch(halved_to_zero, 2, BLOCK, ("x", "partial"))],
        expected=lambda given: {"partial": given["x"].reshape(2, BLOCK).sum(axis=1)},
    ),
    no_progress(
        "doubling that stays at zero",
        "Every index starts at 0.",
        inputs=lambda rng: {"x": whole(rng, BLOCK, dtype=np.int32), "out": blank(BLOCK, np.int32)},
        launches=[Launch(doubled_from_zero, 1, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": np.cumsum(given["x"], dtype=np.int32)},
    ),
    no_progress(
        "binary search that stays where it is",
        "The middle that was too small may stay the lower end.",
        inputs=lambda rng: {
            "table": np.arange(0, 60, 3, dtype=np.int32),
            "wanted": whole(rng, 40, 0, 60, np.int32),
            "places": blank(40, np.int32),
        },
        launches=[Launch(search_that_stays, 2, BLOCK, ("table", "wanted", "places"))],
        expected=lambda given: {"places": np.searchsorted(given["table"], given["wanted"]).astype(np.int32)},
    ),
    no_progress(
        "wrong sign in a recurrence",
        "Any recurrence of this kind comes down to 1.",
        inputs=lambda rng: {"numbers": np.arange(1, 41, dtype=np.int32), "steps": blank(40, np.int32)},
        launches=[Launch(collatz_stuck, 2, BLOCK, ("numbers", "steps"))],
        expected=expected_steps,
    ),
    no_progress(
        "waiting for what comes after the barrier",
        "While one thread waits the others run on, past the barrier.",
        inputs=lambda rng: {
            "x": whole(rng, BLOCK, dtype=np.int32),
            "flag": one(0),
            "out": blank(BLOCK, np.int32),
        },
        launches=[Launch(wait_before_the_barrier, 1, BLOCK, ("x", "flag", "out"))],
        expected=lambda given: {"out": 2 * given["x"]},
        space=GLOBAL,
    ),
    no_progress(
        "waiting for a later block",
        "All blocks of a grid run at the same time.",
        inputs=lambda rng: {
            "x": whole(rng, 8, dtype=np.int32),
            "flags": np.zeros(8, np.int32),
            "carried": blank(8, np.int32),
            "out": blank(8, np.int32),
        },
        launches=[Launch(wait_for_the_next_block, 8, 1, ("x", "flags", "carried", "out"))],
        expected=lambda given: {"out": (given["x"].sum() - np.cumsum(given["x"])).astype(np.int32)},
        space=GLOBAL,
        often_right=True,
    ),
    no_progress(
        "waiting for threads where blocks arrive",
        "All threads of the grid arrive at a barrier of the grid.",
        inputs=lambda rng: {
            "x": whole(rng, 4 * BLOCK, dtype=np.int32),
            "arrived": one(0),
            "out": blank(4 * BLOCK, np.int32),
        },
        launches=[Launch(grid_barrier_of_threads, 4, BLOCK, ("x", "arrived", "out"))],
        expected=lambda given: {"out": 2 * given["x"]},
        space=GLOBAL,
    ),
    no_progress(
        "lock held over a barrier",
        "A barrier before the release makes the critical section safe.",
        inputs=locked,
        launches=[Launch(lock_held_over_a_barrier, 1, BLOCK, ("x", "lock", "total"))],
        expected=expected_total,
        space=GLOBAL,
    ),
    no_progress(
        "lock held over a barrier of the warp",
        "The threads of a warp can share the release of a lock.",
        inputs=locked,
        launches=[Launch(lock_held_over_a_syncwarp, 1, BLOCK, ("x", "lock", "total"))],
        expected=expected_total,
        space=GLOBAL,
    ),
    no_progress(
        "lock that is never released",
        "A lock is released when its thread ends.",
        inputs=locked_blocks,
        launches=[Launch(lock_never_released, 4, BLOCK, ("x", "lock", "total"))],
        expected=expected_first,
        space=GLOBAL,
    ),
    no_progress(
        "lock taken twice",
        "Who has a lock can take it again.",
        inputs=locked_blocks,
        launches=[Launch(lock_taken_twice, 4, BLOCK, ("x", "lock", "total", "largest"))],
        expected=lambda given: expected_first(given) | {"largest": given["x"][::BLOCK].max(keepdims=True)},
        space=GLOBAL,
    ),
    no_progress(
        "compare-and-swap with a stale value",
        "A swap that has failed succeeds if it is tried again.",
        inputs=lambda rng: {"x": np.tile([1, 1, 2, 1], 10).astype(np.int32), "result": one(3)},
        launches=[Launch(product_with_stale_value, 2, BLOCK, ("x", "result"))],
        expected=lambda given: {"result": one(3 * 2**10)},
        space=GLOBAL,
    ),
    no_progress(
        "waiting for one thread more than there are",
        "The thread that waits has also arrived.",
        inputs=lambda rng: {
            "x": whole(rng, BLOCK, dtype=np.int32),
            "count": one(0),
            "out": blank(BLOCK, np.int32),
        },
        launches=[Launch(wait_for_more_than_there_are, 1, BLOCK, ("x", "count", "out"))],
        expected=lambda given: {"out": 2 * given["x"]},
        space=GLOBAL,
    ),
]
