"""Keeping some elements: by atomics, by scans, by ballots; queues and tables of claimed slots."""

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real, whole

BLOCK = 64
FULL = 0xFFFFFFFF


@cuda.jit
def keep_positive(x, kept, count):
    """each positive element takes the next free place, whoever comes first"""
    i = cuda.grid(1)
    if i < x.size and x[i] > 0:
        place = cuda.atomic.add(count, 0, 1)
        kept[place] = x[i]


@cuda.jit
def keep_positive_by_block(x, kept, count):
    """the same with a counter in shared memory: one atomic in global memory a block"""
    local_count = cuda.shared.array(1, int32)
    first = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    if tid == 0:
        local_count[0] = 0
    cuda.syncthreads()

    i = cuda.grid(1)
    keep = i < x.size and x[i] > 0
    place = 0
    if keep:
        place = cuda.atomic.add(local_count, 0, 1)
    cuda.syncthreads()
    if tid == 0:
        first[0] = cuda.atomic.add(count, 0, local_count[0])
    cuda.syncthreads()
    if keep:
        kept[first[0] + place] = x[i]


@cuda.jit
def keep_and_sort_block(x, out):
    """the positive elements of a block, ascending: collected by atomics, then sorted by rank"""
    found = cuda.shared.array(BLOCK, float32)
    count = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if tid == 0:
        count[0] = 0
    cuda.syncthreads()
    if i < x.size and x[i] > 0:
        found[cuda.atomic.add(count, 0, 1)] = x[i]
    cuda.syncthreads()
    n = count[0]
    if tid < n:
        rank = 0
        for other in range(n):
            if found[other] < found[tid]:
                rank += 1
        out[cuda.blockIdx.x, rank] = found[tid]


@cuda.jit
def keep_in_order(x, kept, count):
    """keep the even numbers of one block in their order: flags, a scan, a scatter"""
    before = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    flag = 1 if tid < x.size and x[tid] % 2 == 0 else 0
    before[tid] = flag
    cuda.syncthreads()
    offset = 1
    while offset < BLOCK:
        more = before[tid - offset] if tid >= offset else 0
        cuda.syncthreads()
        before[tid] += more
        cuda.syncthreads()
        offset *= 2
    if flag:
        kept[before[tid] - 1] = x[tid]
    if tid == BLOCK - 1:
        count[0] = before[tid]


@cuda.jit
def count_kept(x, limit, counts):
    """how many elements of each block lie below a limit"""
    i = cuda.grid(1)
    count = cuda.syncthreads_count(1 if i < x.size and x[i] < limit else 0)
    if cuda.threadIdx.x == 0:
        counts[cuda.blockIdx.x] = count


@cuda.jit
def first_places(counts, places):
    """exclusive scan by a single thread: short, and good enough for a few blocks"""
    if cuda.grid(1) == 0:
        place = 0
        for b in range(counts.size):
            places[b] = place
            place += counts[b]


@cuda.jit
def scatter_kept(x, limit, places, kept):
    """put what lies below a limit in place, in order over all blocks"""
    flags = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    flags[tid] = 1 if i < x.size and x[i] < limit else 0
    cuda.syncthreads()
    if flags[tid] == 1:
        place = places[cuda.blockIdx.x]
        for t in range(tid):
            place += flags[t]
        kept[place] = x[i]


@cuda.jit
def keep_by_ballot(x, kept, counts):
    """each warp keeps its positive elements: a ballot gives everyone's place"""
    i = cuda.grid(1)
    lane = cuda.laneid
    keep = i < x.size and x[i] > 0
    votes = cuda.ballot_sync(FULL, keep)
    if keep:
        before = cuda.popc(votes & ((1 << lane) - 1))
        kept[i // 32, before] = x[i]
    if lane == 0:
        counts[i // 32] = cuda.popc(votes)


@cuda.jit
def partition(x, pivot, out, low, high):
    """smaller elements from the front, the others from the back"""
    i = cuda.grid(1)
    if i < x.size:
        if x[i] < pivot:
            out[cuda.atomic.add(low, 0, 1)] = x[i]
        else:
            out[cuda.atomic.sub(high, 0, 1) - 1] = x[i]


@cuda.jit
def unique_sorted(x, heads):
    """mark the first of each run of equal elements"""
    i = cuda.grid(1)
    if i < x.size:
        heads[i] = 1 if i == 0 or x[i] != x[i - 1] else 0


@cuda.jit
def run_lengths(x, heads, places, lengths):
    """the length of each run, written by its first element's thread"""
    i = cuda.grid(1)
    if i < x.size and heads[i]:
        end = i + 1
        while end < x.size and x[end] == x[i]:
            end += 1
        lengths[places[i] - 1] = end - i


@cuda.jit
def scan_by_one_thread(x, out):
    """inclusive scan by a single thread"""
    total = 0
    for i in range(x.size):
        total += x[i]
        out[i] = total


@cuda.jit
def work_queue(jobs, next_job, results):
    """threads take the next job until none is left: long jobs hold nobody up"""
    job = cuda.atomic.add(next_job, 0, 1)
    while job < jobs.size:
        n = jobs[job]
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        results[job] = steps
        job = cuda.atomic.add(next_job, 0, 1)


SLOTS = 128
EMPTY = -1


@cuda.jit
def count_distinct(keys, table, count):
    """insert keys into a hash table with compare-and-swap; who fills a slot counts"""
    i = cuda.grid(1)
    if i < keys.size:
        key = keys[i]
        slot = (key * 37) % SLOTS
        while True:
            found = cuda.atomic.cas(table, slot, EMPTY, key)
            if found == EMPTY:
                cuda.atomic.add(count, 0, 1)
                break
            if found == key:
                break
            slot = (slot + 1) % SLOTS


N = 300
GRID = blocks(N, BLOCK)


def expected_sorted_blocks(given):
    out = blank((GRID, BLOCK))
    for b in range(GRID):
        part = given["x"][b * BLOCK : (b + 1) * BLOCK]
        part = np.sort(part[part > 0])
        out[b, : part.size] = part
    return {"out": out}


def expected_ballots(given):
    x = np.append(given["x"], np.zeros(-N % 32, np.float32)).reshape(-1, 32)
    kept = blank(x.shape)
    for row, values in zip(kept, x, strict=True):
        positive = values[values > 0]
        row[: positive.size] = positive
    return {"kept": kept, "counts": (x > 0).sum(axis=1).astype(np.int32)}


def filled(values, size, dtype=np.float32):
    out = blank(size, dtype)
    out[: values.size] = values
    return out


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def expected_runs(given):
    _, lengths = np.unique(given["x"], return_counts=True)
    return {"lengths": filled(lengths, 40, np.int32)}


def positive_counts(given):
    return np.array([(given["x"] > 0).sum()], np.int32)


def filled_table(keys):
    distinct = np.unique(keys)
    return np.append(distinct, np.full(SLOTS - distinct.size, EMPTY)).astype(np.int32)


CASES = [
    Case(
        name="compaction by atomics",
        inputs=lambda rng: {"x": real(rng, N), "kept": blank(N), "count": np.zeros(1, np.int32)},
        launches=[Launch(keep_positive, GRID, BLOCK, ("x", "kept", "count"))],
        expected=lambda given: {
            "kept": filled(given["x"][given["x"] > 0], N),
            "count": positive_counts(given),
        },
        unordered=("kept",),
        kinds=("compaction", "atomic", "any order"),
    ),
    Case(
        name="compaction by atomics of a block",
        inputs=lambda rng: {"x": real(rng, N), "kept": blank(N), "count": np.zeros(1, np.int32)},
        launches=[Launch(keep_positive_by_block, GRID, BLOCK, ("x", "kept", "count"))],
        expected=lambda given: {
            "kept": filled(given["x"][given["x"] > 0], N),
            "count": positive_counts(given),
        },
        unordered=("kept",),
        kinds=("compaction", "atomic", "shared", "barrier", "any order"),
    ),
    Case(
        name="compaction and sorting of a block",
        inputs=lambda rng: {"x": real(rng, N), "out": blank((GRID, BLOCK))},
        launches=[Launch(keep_and_sort_block, GRID, BLOCK, ("x", "out"))],
        expected=expected_sorted_blocks,
        kinds=("compaction", "sorting", "atomic", "shared", "barrier"),
    ),
    Case(
        name="compaction by a scan",
        inputs=lambda rng: {
            "x": whole(rng, 61, dtype=np.int32),
            "kept": blank(61, np.int32),
            "count": blank(1, np.int32),
        },
        launches=[Launch(keep_in_order, 1, BLOCK, ("x", "kept", "count"))],
        expected=lambda given: {
            "kept": filled(given["x"][given["x"] % 2 == 0], 61, np.int32),
            "count": np.array([(given["x"] % 2 == 0).sum()], np.int32),
        },
        kinds=("compaction", "scan", "shared", "barrier"),
    ),
    Case(
        name="compaction over several blocks",
        inputs=lambda rng: {
            "x": real(rng, N),
            "limit": np.float32(0.3),
            "counts": blank(GRID, np.int32),
            "places": blank(GRID, np.int32),
            "kept": blank(N),
        },
        launches=[
            Launch(count_kept, GRID, BLOCK, ("x", "limit", "counts")),
            Launch(first_places, 1, 1, ("counts", "places")),
            Launch(scatter_kept, GRID, BLOCK, ("x", "limit", "places", "kept")),
        ],
        expected=lambda given: {"kept": filled(given["x"][given["x"] < given["limit"]], N)},
        kinds=("compaction", "shared", "barrier", "barrier that counts", "several launches"),
    ),
    Case(
        name="compaction by ballots",
        inputs=lambda rng: {
            "x": real(rng, N),
            "kept": blank((blocks(N, 32), 32)),
            "counts": blank(blocks(N, 32), np.int32),
        },
        launches=[Launch(keep_by_ballot, blocks(N, 32), 32, ("x", "kept", "counts"))],
        expected=expected_ballots,
        kinds=("compaction", "vote", "bits"),
        simulator=False,
    ),
    Case(
        name="partition",
        inputs=lambda rng: {
            "x": real(rng, N),
            "pivot": np.float32(0.4),
            "out": blank(N),
            "low": np.zeros(1, np.int32),
            "high": np.array([N], np.int32),
        },
        launches=[Launch(partition, GRID, BLOCK, ("x", "pivot", "out", "low", "high"))],
        expected=lambda given: {
            "out": given["x"],
            "low": np.array([(given["x"] < given["pivot"]).sum()], np.int32),
            "high": np.array([(given["x"] < given["pivot"]).sum()], np.int32),
        },
        unordered=("out",),
        kinds=("compaction", "atomic", "any order"),
    ),
    Case(
        name="run lengths",
        inputs=lambda rng: {
            "x": np.sort(whole(rng, 150, -15, 15, np.int32)),
            "heads": blank(150, np.int32),
            "places": blank(150, np.int32),
            "lengths": blank(40, np.int32),
        },
        launches=[
            Launch(unique_sorted, 3, 64, ("x", "heads")),
            Launch(scan_by_one_thread, 1, 1, ("heads", "places")),
            Launch(run_lengths, 3, 64, ("x", "heads", "places", "lengths")),
        ],
        expected=expected_runs,
        kinds=("compaction", "while", "several launches"),
    ),
    Case(
        name="work queue",
        inputs=lambda rng: {
            "jobs": whole(rng, 90, 1, 400, np.int64),
            "next_job": np.zeros(1, np.int32),
            "results": blank(90, np.int32),
        },
        launches=[Launch(work_queue, 2, 16, ("jobs", "next_job", "results"))],
        expected=lambda given: {
            "results": np.array([collatz(int(n)) for n in given["jobs"]], np.int32),
            "next_job": np.array([90 + 2 * 16], np.int32),
        },
        kinds=("atomic", "while", "queue"),
    ),
    Case(
        name="distinct values by a hash table",
        inputs=lambda rng: {
            "keys": whole(rng, N, 0, 100, np.int32),
            "table": np.full(SLOTS, EMPTY, np.int32),
            "count": np.zeros(1, np.int32),
        },
        launches=[Launch(count_distinct, GRID, BLOCK, ("keys", "table", "count"))],
        expected=lambda given: {
            "count": np.array([np.unique(given["keys"]).size], np.int32),
            "table": filled_table(given["keys"]),
        },
        unordered=("table",),
        kinds=("atomic", "compare and swap", "any order", "while"),
    ),
]
