"""Near misses of atomics, fences and waiting: what orders plain accesses, and what needs no order."""

import numpy as np
from numba import cuda, int32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real, whole

BLOCK = 64
ELEMENTS = 1024


@cuda.jit
def one_hot_bin(values, counts):
    """all threads add to a few bins"""
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(counts, values[i], 1)


@cuda.jit
def float_sum(x, total):
    """a float sum by atomics: its last digits change with the order, and that is not a mistake"""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])


@cuda.jit
def float_sum_by_block(x, total):
    """the same through shared memory"""
    mine = cuda.shared.array(1, np.float32)
    tid = cuda.threadIdx.x
    if tid == 0:
        mine[0] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(mine, 0, x[i])
    cuda.syncthreads()
    if tid == 0:
        cuda.atomic.add(total, 0, mine[0])


@cuda.jit
def flags_by_atomics(values, seen):
    """which values occur: atomics that store the same, however often"""
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.exch(seen, values[i], 1)
        cuda.atomic.max(seen, values[i], 1)
        cuda.atomic.or_(seen, values[i], 1)


@cuda.jit
def last_thread_adds_up(x, kept, ticket, total):
    """the thread with the last ticket adds what all others have stored, its own block's threads included"""
    i = cuda.grid(1)
    kept[i] = 2 * x[i]
    cuda.threadfence()
    if cuda.atomic.add(ticket, 0, 1) == cuda.gridsize(1) - 1:
        for j in range(x.size):
            total[0] += kept[j]


@cuda.jit
def last_thread_of_a_block(x, sums):
    """the same within each block, where a fence for the block is enough"""
    kept = cuda.shared.array(32, int32)
    ticket = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        ticket[0] = 0
    cuda.syncthreads()
    kept[t] = x[cuda.grid(1)]
    cuda.threadfence_block()
    if cuda.atomic.add(ticket, 0, 1) == cuda.blockDim.x - 1:
        total = 0
        for j in range(32):
            total += kept[j]
        sums[cuda.blockIdx.x] = total


@cuda.jit
def tickets_in_any_order(x, kept, count):
    """keep the negative elements, in any order"""
    i = cuda.grid(1)
    if i < x.size and x[i] < 0:
        kept[cuda.atomic.add(count, 0, 1)] = x[i]


@cuda.jit
def smallest_with_place(x, best):
    """the smallest element and its first place, packed into one number: the order does not matter"""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.min(best, 0, x[i] * ELEMENTS + i)


@cuda.jit
def product_by_swap(x, result):
    """compare-and-swap that goes on with what it found"""
    i = cuda.grid(1)
    if i < x.size:
        expected = cuda.atomic.add(result, 0, 0)
        found = cuda.atomic.cas(result, 0, expected, expected * x[i])
        while found != expected:
            expected = found
            found = cuda.atomic.cas(result, 0, expected, expected * x[i])


@cuda.jit
def lists_in_any_order(buckets, heads, following):
    """push each element on its bucket's list"""
    i = cuda.grid(1)
    if i < buckets.size:
        following[i] = cuda.atomic.exch(heads, buckets[i], i)


@cuda.jit
def lengths_of_lists(heads, following, lengths):
    """how long the lists are does not depend on their order"""
    b = cuda.grid(1)
    if b < heads.size:
        count = 0
        i = heads[b]
        while i != -1:
            count += 1
            i = following[i]
        lengths[b] = count


@cuda.jit
def last_block(x, partial, ticket, total):
    """the block that draws the last ticket reads what the others left behind their fences"""
    last = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if tid == 0:
        partial[cuda.blockIdx.x] = x[i] - x[i + 1]
        cuda.threadfence()
        taken = cuda.atomic.add(ticket, 0, 1)
        cuda.threadfence()
        last[0] = taken == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0] == 1:
        for block in range(tid, cuda.gridDim.x, cuda.blockDim.x):
            cuda.atomic.add(total, 0, partial[block])


@cuda.jit
def last_block_after_all_threads(x, squares, ticket, total):
    """every thread leaves something: fence by all, barrier, ticket, fence, barrier"""
    last = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    squares[i] = x[i] * x[i]
    cuda.threadfence()
    cuda.syncthreads()
    if tid == 0:
        last[0] = cuda.atomic.add(ticket, 0, 1) == cuda.gridDim.x - 1
        cuda.threadfence()
    cuda.syncthreads()
    if last[0] == 1 and tid == 0:
        for k in range(squares.size):
            total[0] += squares[k]


@cuda.jit
def lock_with_fences(x, lock, total, largest):
    """one thread a block takes a lock around plain accesses, with fences inside"""
    if cuda.threadIdx.x == 0:
        value = x[cuda.grid(1)]
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        total[0] += value
        largest[0] = max(largest[0], value)
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


@cuda.jit
def wait_for_earlier_tickets(x, ticket, flags, carried, out):
    """the sum before each block: blocks are numbered as they start, so that who is waited for is running"""
    number = cuda.atomic.add(ticket, 0, 1)
    before = 0
    if number > 0:
        while cuda.atomic.add(flags, number - 1, 0) == 0:
            pass
        cuda.threadfence()
        before = carried[number - 1]
    out[number] = before
    carried[number] = before + x[number]
    cuda.threadfence()
    cuda.atomic.exch(flags, number, 1)


@cuda.jit
def wait_for_oneself(x, flags, out):
    """a loop on a flag that the same thread sets"""
    i = cuda.grid(1)
    tries = 0
    while flags[i] == 0:
        tries += 1
        if tries == x[i]:
            flags[i] = 1
    out[i] = tries


@cuda.jit
def total_after_barrier(x, out):
    """an atomic sum of a block, read by all after a barrier"""
    total = cuda.shared.array(1, int32)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        total[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(total, 0, x[i])
    cuda.syncthreads()
    out[i] = total[0] - x[i]


@cuda.jit
def counter_read_by_atomic(x, count, done):
    """whoever counts the last element says so: the number comes from the atomic itself"""
    i = cuda.grid(1)
    if i < x.size:
        before = cuda.atomic.add(count, 0, 1)
        if before == x.size - 1:
            done[0] = before + 1


N = 230


def one(value, dtype=np.int32):
    return np.array([value], dtype)


def on_vector(kernel, names, n=N):
    return [Launch(kernel, blocks(n, BLOCK), BLOCK, names)]


def with_tickets(parts):
    return lambda rng: {
        "x": whole(rng, 256, dtype=np.int32),
        "parts": blank(parts, np.int32),
        "ticket": one(0),
        "total": one(0),
    }


def chain(rng):
    return {
        "x": whole(rng, 8, dtype=np.int32),
        "ticket": one(0),
        "flags": np.zeros(8, np.int32),
        "carried": blank(8, np.int32),
        "out": blank(8, np.int32),
    }


def float_sums(name, kernel, *kinds):
    return Case(
        name=name,
        inputs=lambda rng: {"x": real(rng, N), "total": one(0, np.float32)},
        launches=on_vector(kernel, ("x", "total")),
        expected=lambda given: {"total": given["x"].sum(keepdims=True, dtype=np.float64).astype(np.float32)},
        rtol=1e-4,
        kinds=("near", "order", "atomic", *kinds),
    )


CASES = [
    Case(
        name="near: all atomics on one bin",
        inputs=lambda rng: {"values": whole(rng, N, 0, 2, np.int32), "counts": np.zeros(2, np.int32)},
        launches=on_vector(one_hot_bin, ("values", "counts")),
        expected=lambda given: {"counts": np.bincount(given["values"], minlength=2).astype(np.int32)},
        kinds=("near", "race", "atomic"),
    ),
    float_sums("near: float sum by atomics", float_sum),
    float_sums("near: float sum by atomics of blocks", float_sum_by_block, "shared", "barrier"),
    Case(
        name="near: flags by atomics",
        inputs=lambda rng: {"values": whole(rng, 40, 0, 30, np.int32), "seen": np.zeros(30, np.int32)},
        launches=on_vector(flags_by_atomics, ("values", "seen"), 40),
        expected=lambda given: {"seen": np.isin(np.arange(30), given["values"]).astype(np.int32)},
        kinds=("near", "order", "atomic"),
    ),
    Case(
        name="near: tickets in any order",
        inputs=lambda rng: {"x": whole(rng, N, dtype=np.int32), "kept": blank(N, np.int32), "count": one(0)},
        launches=on_vector(tickets_in_any_order, ("x", "kept", "count")),
        expected=lambda given: {
            "kept": np.append(given["x"][given["x"] < 0], given["kept"][: (given["x"] >= 0).sum()]),
            "count": one((given["x"] < 0).sum()),
        },
        unordered=("kept",),
        kinds=("near", "order", "atomic", "any order"),
    ),
    Case(
        name="near: value and place in one atomic",
        inputs=lambda rng: {"x": whole(rng, N, 0, 20, np.int32), "best": one(2**31 - 1)},
        launches=on_vector(smallest_with_place, ("x", "best")),
        expected=lambda given: {"best": one(given["x"].min() * ELEMENTS + given["x"].argmin())},
        kinds=("near", "order", "atomic"),
    ),
    Case(
        name="near: compare-and-swap that goes on with what it found",
        inputs=lambda rng: {"x": np.tile([1, -1, 2, 1, 1], 8).astype(np.int32), "result": one(3)},
        launches=on_vector(product_by_swap, ("x", "result"), 40),
        expected=lambda given: {"result": one(3 * 2**8)},
        kinds=("near", "progress", "atomic", "loop"),
    ),
    Case(
        name="near: lists in any order",
        inputs=lambda rng: {
            "buckets": whole(rng, N, 0, 7, np.int32),
            "heads": np.full(7, -1, np.int32),
            "following": blank(N, np.int32),
            "lengths": blank(7, np.int32),
        },
        launches=[
            *on_vector(lists_in_any_order, ("buckets", "heads", "following")),
            Launch(lengths_of_lists, 1, 32, ("heads", "following", "lengths")),
        ],
        expected=lambda given: {"lengths": np.bincount(given["buckets"], minlength=7).astype(np.int32)},
        kinds=("near", "order", "atomic", "any order", "several launches"),
    ),
    Case(
        name="near: last block with fences and a ticket",
        inputs=with_tickets(4),
        launches=on_vector(last_block, ("x", "parts", "ticket", "total"), 256),
        expected=lambda given: {
            "total": (given["x"][::BLOCK] - given["x"][1::BLOCK]).sum(keepdims=True, dtype=np.int32)
        },
        kinds=("near", "race", "atomic", "fence", "shared", "barrier"),
    ),
    Case(
        name="near: last block after all its threads",
        inputs=with_tickets(256),
        launches=on_vector(last_block_after_all_threads, ("x", "parts", "ticket", "total"), 256),
        expected=lambda given: {"total": (given["x"] ** 2).sum(keepdims=True, dtype=np.int32)},
        kinds=("near", "race", "atomic", "fence", "shared", "barrier"),
    ),
    Case(
        name="near: lock with fences",
        inputs=lambda rng: {
            "x": whole(rng, 256, dtype=np.int32),
            "lock": one(0),
            "total": one(0),
            "largest": one(-99),
        },
        launches=on_vector(lock_with_fences, ("x", "lock", "total", "largest"), 256),
        expected=lambda given: {
            "total": given["x"][::BLOCK].sum(keepdims=True, dtype=np.int32),
            "largest": given["x"][::BLOCK].max(keepdims=True),
        },
        kinds=("near", "race", "progress", "atomic", "fence"),
    ),
    Case(
        name="near: waiting for earlier tickets",
        inputs=chain,
        launches=[Launch(wait_for_earlier_tickets, 8, 1, ("x", "ticket", "flags", "carried", "out"))],
        expected=lambda given: {"out": (np.cumsum(given["x"]) - given["x"]).astype(np.int32)},
        kinds=("near", "progress", "order", "atomic", "fence"),
    ),
    Case(
        name="near: waiting for oneself",
        inputs=lambda rng: {
            "x": whole(rng, 128, 1, 20, np.int32),
            "flags": np.zeros(128, np.int32),
            "out": blank(128, np.int32),
        },
        launches=on_vector(wait_for_oneself, ("x", "flags", "out"), 128),
        expected=lambda given: {"out": given["x"]},
        kinds=("near", "progress", "loop"),
    ),
    Case(
        name="near: total read after a barrier",
        inputs=lambda rng: {"x": whole(rng, 256, dtype=np.int32), "out": blank(256, np.int32)},
        launches=on_vector(total_after_barrier, ("x", "out"), 256),
        expected=lambda given: {
            "out": (np.repeat(np.add.reduceat(given["x"], range(0, 256, BLOCK)), BLOCK) - given["x"]).astype(
                np.int32
            )
        },
        kinds=("near", "race", "atomic", "shared", "barrier"),
    ),
    Case(
        name="near: last of all by the atomic's own number",
        inputs=lambda rng: {"x": whole(rng, N), "count": one(0), "done": one(0)},
        launches=on_vector(counter_read_by_atomic, ("x", "count", "done")),
        expected=lambda given: {"done": one(N)},
        kinds=("near", "race", "order", "atomic"),
    ),
    Case(
        name="near: last thread of all adds up",
        inputs=lambda rng: {
            "x": whole(rng, 128, dtype=np.int32),
            "kept": blank(128, np.int32),
            "ticket": np.zeros(1, np.int32),
            "total": np.zeros(1, np.int32),
        },
        launches=[Launch(last_thread_adds_up, 4, 32, ("x", "kept", "ticket", "total"))],
        expected=lambda given: {"total": 2 * given["x"].sum(keepdims=True, dtype=np.int32)},
        kinds=("near", "race", "atomic", "fence"),
    ),
    Case(
        name="near: last thread of a block adds up",
        inputs=lambda rng: {"x": whole(rng, 128, dtype=np.int32), "sums": blank(4, np.int32)},
        launches=[Launch(last_thread_of_a_block, 4, 32, ("x", "sums"))],
        expected=lambda given: {"sums": given["x"].reshape(4, 32).sum(axis=1, dtype=np.int32)},
        kinds=("near", "race", "atomic", "fence", "shared", "barrier"),
    ),
]
