"""Every atomic operation, in uses whose result does not depend on who comes first."""

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, real, whole

BLOCK = 32


@cuda.jit
def count_down(x, left):
    """subtract what each thread takes"""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.sub(left, 0, x[i])


@cuda.jit
def extremes(x, largest, smallest):
    """the largest and the smallest of all"""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(largest, 0, x[i])
        cuda.atomic.min(smallest, 0, x[i])


@cuda.jit
def extremes_of_rows(matrix, largest, smallest):
    """the same for each row, through shared memory"""
    best = cuda.shared.array(1, int32)
    worst = cuda.shared.array(1, int32)
    row = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        best[0] = matrix[row, 0]
        worst[0] = matrix[row, 0]
    cuda.syncthreads()
    for col in range(cuda.threadIdx.x, matrix.shape[1], cuda.blockDim.x):
        cuda.atomic.max(best, 0, matrix[row, col])
        cuda.atomic.min(worst, 0, matrix[row, col])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        largest[row] = best[0]
        smallest[row] = worst[0]


@cuda.jit
def extremes_without_nan(x, largest, smallest):
    """the same for numbers of which some are missing"""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.nanmax(largest, 0, x[i])
        cuda.atomic.nanmin(smallest, 0, x[i])


@cuda.jit
def logic_of_all(x, every, some, odd):
    """and, or and exclusive or of all numbers, bit by bit"""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.and_(every, 0, x[i])
        cuda.atomic.or_(some, 0, x[i])
        cuda.atomic.xor(odd, 0, x[i])


@cuda.jit
def sieve_bits(numbers, words):
    """a set as bits: each number sets its own"""
    i = cuda.grid(1)
    if i < numbers.size:
        n = numbers[i]
        cuda.atomic.or_(words, n // 32, 1 << (n % 32))


@cuda.jit
def push_on_lists(buckets, heads, following):
    """each element becomes the head of its bucket's list; the old head follows it"""
    i = cuda.grid(1)
    if i < buckets.size:
        following[i] = cuda.atomic.exch(heads, buckets[i], i)


@cuda.jit
def sum_of_lists(heads, following, values, sums, lengths):
    """walk along each list"""
    b = cuda.grid(1)
    if b < heads.size:
        total = 0
        count = 0
        i = heads[b]
        while i != -1:
            total += values[i]
            count += 1
            i = following[i]
        sums[b] = total
        lengths[b] = count


@cuda.jit
def round_robin(counter, last, taken):
    """tickets from 0 to last, over and over; how often each was drawn"""
    ticket = cuda.atomic.inc(counter, 0, last)
    cuda.atomic.add(taken, ticket, 1)


@cuda.jit
def count_backwards(counter, first, taken):
    """the same downwards"""
    ticket = cuda.atomic.dec(counter, 0, first)
    cuda.atomic.add(taken, ticket, 1)


@cuda.jit
def product(x, result):
    """an atomic product, built from compare-and-swap"""
    i = cuda.grid(1)
    if i < x.size:
        expected = cuda.atomic.cas(result, 0, 0, 0)
        while True:
            found = cuda.atomic.cas(result, 0, expected, expected * x[i])
            if found == expected:
                break
            expected = found


@cuda.jit
def elect(leader, wins, candidates):
    """the first thread that finds the place empty leads; there is exactly one"""
    i = cuda.grid(1)
    if i < candidates:
        before = cuda.atomic.compare_and_swap(leader, -1, 0)
        if before == -1:
            cuda.atomic.add(wins, 0, 1)


@cuda.jit
def tickets(out, counter):
    """each thread draws a ticket and signs it; every ticket is drawn once"""
    i = cuda.grid(1)
    if i < out.size:
        ticket = cuda.atomic.add(counter, 0, 1)
        out[ticket] = i


@cuda.jit
def row_histograms(matrix, counts):
    """a histogram for each row, through a view of its row of counts"""
    col, row = cuda.grid(2)
    if row < matrix.shape[0] and col < matrix.shape[1]:
        cuda.atomic.add(counts[row], matrix[row, col], 1)


@cuda.jit
def many_types(i32, u32, i64, u64, f32, f64):
    """addition for all types that have it"""
    i = cuda.grid(1)
    if i < 50:
        cuda.atomic.add(i32, 0, i)
        cuda.atomic.add(u32, 0, i)
        cuda.atomic.add(i64, 0, i)
        cuda.atomic.add(u64, 0, i)
        cuda.atomic.add(f32, 0, i)
        cuda.atomic.add(f64, 0, i + 0.5)


@cuda.jit
def shared_float_sums(x, sums):
    """float atomics in shared memory, in an array of two dimensions"""
    grid = cuda.shared.array((2, 3), float32)
    tid = cuda.threadIdx.x
    if tid < 6:
        grid[tid // 3, tid % 3] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(grid, (i % 2, i % 3), x[i])
    cuda.syncthreads()
    if tid < 6:
        sums[cuda.blockIdx.x, tid // 3, tid % 3] = grid[tid // 3, tid % 3]


N = 100


def number(value, dtype):
    return np.array([value], dtype)


def with_gaps(rng):
    x = real(rng, N, np.float64)
    x[rng.random(N) < 0.3] = np.nan
    return {"x": x, "largest": number(-np.inf, float), "smallest": number(np.inf, float)}


def expected_bits(given):
    words = np.zeros(4, np.uint32)
    for n in given["numbers"]:
        words[n // 32] |= np.uint32(1 << int(n % 32))
    return {"words": words}


def expected_lists(given):
    return {
        "sums": np.bincount(given["buckets"], given["values"], 7).astype(np.int32),
        "lengths": np.bincount(given["buckets"], minlength=7).astype(np.int32),
    }


def expected_rows(given):
    counts = [np.bincount(row, minlength=6) for row in given["matrix"]]
    return {"counts": np.array(counts, np.int32)}


def expected_shared_floats(given):
    sums = np.zeros((4, 2, 3), np.float32)
    for i, value in enumerate(given["x"]):
        sums[i // BLOCK, i % 2, i % 3] += value
    return {"sums": sums}


CASES = [
    Case(
        name="atomic subtraction",
        inputs=lambda rng: {"x": whole(rng, N, dtype=np.int32), "left": number(1000, np.int32)},
        launches=[Launch(count_down, 4, BLOCK, ("x", "left"))],
        expected=lambda given: {"left": number(1000 - given["x"].sum(), np.int32)},
        kinds=("atomic",),
    ),
    Case(
        name="atomic extremes of float32",
        inputs=lambda rng: {
            "x": real(rng, N),
            "largest": number(-np.inf, np.float32),
            "smallest": number(np.inf, np.float32),
        },
        launches=[Launch(extremes, 4, BLOCK, ("x", "largest", "smallest"))],
        expected=lambda given: {
            "largest": given["x"].max(keepdims=True),
            "smallest": given["x"].min(keepdims=True),
        },
        kinds=("atomic",),
    ),
    Case(
        name="atomic extremes of uint64",
        inputs=lambda rng: {
            "x": rng.integers(0, 2**64, N, dtype=np.uint64),
            "largest": number(0, np.uint64),
            "smallest": number(2**64 - 1, np.uint64),
        },
        launches=[Launch(extremes, 4, BLOCK, ("x", "largest", "smallest"))],
        expected=lambda given: {
            "largest": given["x"].max(keepdims=True),
            "smallest": given["x"].min(keepdims=True),
        },
        kinds=("atomic", "uint64"),
    ),
    Case(
        name="atomic extremes of rows",
        inputs=lambda rng: {
            "matrix": whole(rng, (3, 70), -999, 999, np.int32),
            "largest": blank(3, np.int32),
            "smallest": blank(3, np.int32),
        },
        launches=[Launch(extremes_of_rows, 3, BLOCK, ("matrix", "largest", "smallest"))],
        expected=lambda given: {
            "largest": given["matrix"].max(axis=1),
            "smallest": given["matrix"].min(axis=1),
        },
        kinds=("atomic", "shared", "barrier"),
    ),
    Case(
        name="atomic extremes without NaN",
        inputs=with_gaps,
        launches=[Launch(extremes_without_nan, 4, BLOCK, ("x", "largest", "smallest"))],
        expected=lambda given: {
            "largest": number(np.nanmax(given["x"]), float),
            "smallest": number(np.nanmin(given["x"]), float),
        },
        kinds=("atomic", "float64"),
    ),
    Case(
        name="atomic and, or, exclusive or",
        inputs=lambda rng: {
            "x": (rng.integers(0, 2**20, N) | 0x1010).astype(np.int32),
            "every": number(-1, np.int32),
            "some": number(0, np.int32),
            "odd": number(0, np.int32),
        },
        launches=[Launch(logic_of_all, 4, BLOCK, ("x", "every", "some", "odd"))],
        expected=lambda given: {
            "every": number(np.bitwise_and.reduce(given["x"]), np.int32),
            "some": number(np.bitwise_or.reduce(given["x"]), np.int32),
            "odd": number(np.bitwise_xor.reduce(given["x"]), np.int32),
        },
        kinds=("atomic", "bits"),
    ),
    Case(
        name="set as bits",
        inputs=lambda rng: {"numbers": whole(rng, N, 0, 128, np.int32), "words": np.zeros(4, np.uint32)},
        launches=[Launch(sieve_bits, 4, BLOCK, ("numbers", "words"))],
        expected=expected_bits,
        kinds=("atomic", "bits"),
    ),
    Case(
        name="linked lists by exchange",
        inputs=lambda rng: {
            "buckets": whole(rng, N, 0, 7, np.int32),
            "heads": np.full(7, -1, np.int32),
            "following": blank(N, np.int32),
            "values": whole(rng, N, dtype=np.int32),
            "sums": blank(7, np.int32),
            "lengths": blank(7, np.int32),
        },
        launches=[
            Launch(push_on_lists, 4, BLOCK, ("buckets", "heads", "following")),
            Launch(sum_of_lists, 1, BLOCK, ("heads", "following", "values", "sums", "lengths")),
        ],
        expected=expected_lists,
        kinds=("atomic", "while", "any order", "several launches"),
    ),
    Case(
        name="tickets that wrap",
        inputs=lambda rng: {
            "counter": np.zeros(1, np.uint32),
            "last": np.uint32(6),
            "taken": np.zeros(7, np.int32),
        },
        launches=[Launch(round_robin, 3, BLOCK, ("counter", "last", "taken"))],
        expected=lambda given: {
            "counter": number(96 % 7, np.uint32),
            "taken": np.bincount(np.arange(96) % 7).astype(np.int32),
        },
        kinds=("atomic",),
    ),
    Case(
        name="tickets that wrap downwards",
        inputs=lambda rng: {
            "counter": np.full(1, 4, np.uint32),
            "first": np.uint32(4),
            "taken": np.zeros(5, np.int32),
        },
        launches=[Launch(count_backwards, 3, BLOCK, ("counter", "first", "taken"))],
        expected=lambda given: {
            "counter": number(4 - 96 % 5, np.uint32),
            "taken": np.bincount(4 - np.arange(96) % 5).astype(np.int32),
        },
        kinds=("atomic",),
    ),
    Case(
        name="atomic product by compare-and-swap",
        inputs=lambda rng: {"x": whole(rng, 40, 1, 3, np.int64), "result": np.ones(1, np.int64)},
        launches=[Launch(product, 2, BLOCK, ("x", "result"))],
        expected=lambda given: {"result": given["x"].prod(keepdims=True)},
        kinds=("atomic", "compare and swap", "while", "int64"),
    ),
    Case(
        name="election by compare-and-swap",
        inputs=lambda rng: {
            "leader": np.full(1, -1, np.int32),
            "wins": np.zeros(1, np.int32),
            "candidates": 75,
        },
        launches=[Launch(elect, 3, BLOCK, ("leader", "wins", "candidates"))],
        expected=lambda given: {"leader": np.zeros(1, np.int32), "wins": np.ones(1, np.int32)},
        kinds=("atomic", "compare and swap"),
    ),
    Case(
        name="tickets",
        inputs=lambda rng: {"out": blank(75, np.int32), "counter": np.zeros(1, np.int32)},
        launches=[Launch(tickets, 3, BLOCK, ("out", "counter"))],
        expected=lambda given: {"out": np.arange(75, dtype=np.int32), "counter": number(75, np.int32)},
        unordered=("out",),
        kinds=("atomic", "any order"),
    ),
    Case(
        name="histograms of rows through views",
        inputs=lambda rng: {
            "matrix": whole(rng, (5, 29), 0, 6, np.int32),
            "counts": np.zeros((5, 6), np.int32),
        },
        launches=[Launch(row_histograms, (4, 2), (8, 4), ("matrix", "counts"))],
        expected=expected_rows,
        kinds=("atomic", "histogram", "2d", "view"),
    ),
    Case(
        name="atomic addition for many types",
        inputs=lambda rng: {
            "i32": np.ones(1, np.int32),
            "u32": np.ones(1, np.uint32),
            "i64": np.ones(1, np.int64),
            "u64": np.ones(1, np.uint64),
            "f32": np.ones(1, np.float32),
            "f64": np.ones(1, np.float64),
        },
        launches=[Launch(many_types, 2, BLOCK, ("i32", "u32", "i64", "u64", "f32", "f64"))],
        expected=lambda given: {
            **{
                name: given[name] + given[name].dtype.type(1225)
                for name in ("i32", "u32", "i64", "u64", "f32")
            },
            "f64": given["f64"] + 1250,
        },
        kinds=("atomic", "int64", "uint64", "float64"),
    ),
    Case(
        name="float atomics in shared memory",
        inputs=lambda rng: {"x": whole(rng, N), "sums": blank((4, 2, 3))},
        launches=[Launch(shared_float_sums, 4, BLOCK, ("x", "sums"))],
        expected=expected_shared_floats,
        kinds=("atomic", "shared", "barrier"),
    ),
]
