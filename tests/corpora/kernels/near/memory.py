"""Near misses of bounds, of uninitialised memory and of races: who may touch what without waiting."""

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real, whole

BLOCK = 64
TILE = 8
TILE_PADDED = TILE + 1
ALL_SHARED_MEMORY = 48 * 256


@cuda.jit
def index_beyond_the_array(x, out, by):
    """shift down: the index leaves the array, the access does not"""
    i = cuda.grid(1)
    j = i + by
    if i < x.size:
        out[i] = x[j] if j < x.size else 0


@cuda.jit
def neighbours_clamped(x, out):
    """sum of both neighbours; beyond the ends stands the last element"""
    i = cuda.grid(1)
    left = max(i - 1, 0)
    right = min(i + 1, x.size - 1)
    if i < x.size:
        out[i] = x[left] + x[right]


@cuda.jit
def neighbours_on_a_ring(x, out):
    """the previous element, on a ring: Python's modulo is never negative"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[(i - 1) % x.size]


@cuda.jit
def backwards_view(x, out):
    """copy from a view with a negative stride"""
    backwards = x[::-1]
    i = cuda.grid(1)
    if i < backwards.size:
        out[i] = backwards[i]


@cuda.jit
def count_down(x, out):
    """each thread goes through its elements from the last to the first"""
    for i in range(x.size - 1 - cuda.grid(1), -1, -cuda.gridsize(1)):
        out[i] = 2 * x[i]


@cuda.jit
def window_clamped(x, out):
    """each element and its two neighbours, through shared memory; halo indices are clamped"""
    tile = cuda.shared.array(66, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    last = x.size - 1
    tile[tid + 1] = x[min(i, last)]
    if tid == 0:
        tile[0] = x[max(i - 1, 0)]
    if tid == BLOCK - 1:
        tile[BLOCK + 1] = x[min(i + 1, last)]
    cuda.syncthreads()
    if i <= last:
        out[i] = tile[tid] + tile[tid + 1] + tile[tid + 2]


@cuda.jit
def many_more_threads_than_elements(x, out):
    """whole blocks have nothing to do"""
    i = cuda.grid(1)
    if i >= x.size:
        return
    out[i] = x[i] + 1


@cuda.jit
def transpose_padded(a, out):
    """out = aᵀ through a tile whose last column nobody touches; at the edge cells stay empty, too"""
    tile = cuda.shared.array((TILE, TILE_PADDED), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        tile[ty, tx] = a[y, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * TILE + tx
    y = cuda.blockIdx.x * TILE + ty
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = tile[tx, ty]


@cuda.jit
def read_but_not_used(x, partial):
    """each block's sum: cells of a ragged block are read before the guard, and what they hold is dropped"""
    shared = cuda.shared.array(BLOCK, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        shared[tid] = x[i]
    cuda.syncthreads()
    if tid == 0:
        total = 0
        for k in range(BLOCK):
            value = shared[k]
            if i + k < x.size:
                total += value
        partial[cuda.blockIdx.x] = total


@cuda.jit
def digits_that_are_there(numbers, out):
    """only the filled part of a local array is read"""
    digits = cuda.local.array(10, dtype=int32)
    i = cuda.grid(1)
    if i < numbers.size:
        count = 0
        rest = numbers[i]
        while rest > 0:
            digits[count] = rest % 10
            rest //= 10
            count += 1
        largest = 0
        for k in range(count):
            largest = max(largest, digits[k])
        out[i] = largest


@cuda.jit
def slices_of_dynamic(x, y, out):
    """three slices of one buffer that touch and do not overlap; no barrier between filling them"""
    shared = cuda.shared.array(0, dtype=int32)
    n = cuda.blockDim.x
    first = shared[:n]
    second = shared[n : 2 * n]
    third = shared[2 * n :]
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    first[tid] = x[i]
    second[n - 1 - tid] = y[i]
    third[tid] = 1
    cuda.syncthreads()
    out[i] = first[n - 1 - tid] + second[tid] * third[0]


@cuda.jit
def own_cell(x, out):
    """each thread reads the cell of shared memory that it has written itself: no barrier"""
    cache = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        cache[tid] = x[i]
        cache[tid] *= 2
        out[i] = cache[tid] + 1


@cuda.jit
def one_thread_alone(x, out):
    """only the first thread uses the shared array: no barrier"""
    cache = cuda.shared.array(4, int32)
    if cuda.threadIdx.x == 0:
        for k in range(4):
            cache[k] = x[4 * cuda.blockIdx.x + k]
        out[cuda.blockIdx.x] = cache[0] - cache[1] + cache[2] - cache[3]


@cuda.jit
def update_in_place(x):
    """each thread reads and writes its own element"""
    i = cuda.grid(1)
    if i < x.size:
        x[i] = 0.5 * x[i] + 1
        x[i] *= 2


@cuda.jit
def axpy(a, x, y):
    """y += a·x; launched with one array for both"""
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


@cuda.jit
def bytes_of_neighbouring_blocks(x, out):
    """blocks of 5 threads store single bytes side by side"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] ^ 255


@cuda.jit
def even_from_odd(x):
    """even elements read their odd neighbours and write themselves; odd ones are only read"""
    i = 2 * cuda.grid(1)
    if i + 1 < x.size:
        x[i] += x[i + 1]


@cuda.jit
def swap_pairs_across(x):
    """the first half of the threads swaps both ends: each pair has one thread"""
    i = cuda.grid(1)
    j = x.size - 1 - i
    if i < j:
        x[i], x[j] = x[j], x[i]


@cuda.jit
def row_sums(a, sums):
    """one thread a row; the next launch reads what this one has written"""
    row = cuda.grid(1)
    if row < a.shape[0]:
        total = 0
        for col in range(a.shape[1]):
            total += a[row, col]
        sums[row] = total


@cuda.jit
def any_negative(x, found):
    """whether any element is negative: all that find one store the same 1"""
    i = cuda.grid(1)
    if i < x.size and x[i] < 0:
        found[0] = 1


@cuda.jit
def any_negative_in_block(x, found):
    """the same through a flag in shared memory"""
    flag = cuda.shared.array(1, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    if tid == 0:
        flag[0] = 0
    cuda.syncthreads()
    if i < x.size and x[i] < 0:
        flag[0] = 1
    cuda.syncthreads()
    if tid == 0:
        found[cuda.blockIdx.x] = flag[0]


@cuda.jit
def frontier(source, target, reached, following):
    """a step of breadth-first search: several edges mark one node, each with the same 1"""
    e = cuda.grid(1)
    if e < source.size and reached[source[e]] == 1 and reached[target[e]] == 0:
        following[target[e]] = 1


@cuda.jit
def all_zero_the_bins(values, counts):
    """every thread zeroes the first bin, and some the others, before a barrier; one block"""
    bins = cuda.shared.array(4, int32)
    tid = cuda.threadIdx.x
    bins[tid % 4] = 0
    cuda.syncthreads()
    cuda.atomic.add(bins, values[tid], 1)
    cuda.syncthreads()
    if tid < 4:
        counts[tid] = bins[tid]


@cuda.jit
def all_of_shared_memory(x, out):
    """one block uses all 48 KiB and 1024 threads, 64 of them in z"""
    buffer = cuda.shared.array(ALL_SHARED_MEMORY, float32)
    tid = (cuda.threadIdx.z * cuda.blockDim.y + cuda.threadIdx.y) * cuda.blockDim.x + cuda.threadIdx.x
    for k in range(tid, ALL_SHARED_MEMORY, 1024):
        buffer[k] = x[k % x.size]
    cuda.syncthreads()
    if tid < out.size:
        out[tid] = buffer[ALL_SHARED_MEMORY - 1 - tid]


N = 230


def one_to_one(n=N, dtype=np.float32):
    return lambda rng: {"x": whole(rng, n, dtype=dtype), "out": blank(n, dtype)}


def on_vector(kernel, names=("x", "out"), n=N):
    return [Launch(kernel, blocks(n, BLOCK), BLOCK, names)]


def first_of_blocks(x, reduce):
    return reduce.reduceat(x, range(0, x.size, BLOCK), dtype=x.dtype)


def graph(rng):
    return {
        "source": whole(rng, 90, 0, 20, np.int32),
        "target": whole(rng, 90, 0, 20, np.int32),
        "reached": (np.arange(20) < 6).astype(np.int32),
        "following": np.zeros(20, np.int32),
    }


def expected_frontier(given):
    reached, following = given["reached"], given["following"].copy()
    following[given["target"][reached[given["source"]] == 1]] = 1
    return {"following": following * (reached == 0)}


def expected_pairs(given):
    x = given["x"].copy()
    x[::2] += x[1::2]
    return {"x": x}


CASES = [
    Case(
        name="near: index beyond the array, not accessed",
        inputs=lambda rng: {"x": whole(rng, N), "out": blank(N), "by": 40},
        launches=on_vector(index_beyond_the_array, ("x", "out", "by")),
        expected=lambda given: {"out": np.append(given["x"][40:], np.zeros(40, np.float32))},
        kinds=("near", "bounds"),
    ),
    Case(
        name="near: neighbours clamped",
        inputs=one_to_one(),
        launches=on_vector(neighbours_clamped),
        expected=lambda given: {
            "out": np.pad(given["x"], 1, "edge")[:-2] + np.pad(given["x"], 1, "edge")[2:]
        },
        kinds=("near", "bounds"),
    ),
    Case(
        name="near: neighbours on a ring",
        inputs=one_to_one(),
        launches=on_vector(neighbours_on_a_ring),
        expected=lambda given: {"out": np.roll(given["x"], 1)},
        kinds=("near", "bounds"),
    ),
    Case(
        name="near: view with a negative stride",
        inputs=one_to_one(),
        launches=on_vector(backwards_view),
        expected=lambda given: {"out": given["x"][::-1]},
        kinds=("near", "bounds"),
    ),
    Case(
        name="near: loop downwards",
        inputs=one_to_one(),
        launches=[Launch(count_down, 2, 32, ("x", "out"))],
        expected=lambda given: {"out": 2 * given["x"]},
        kinds=("near", "bounds", "loop"),
    ),
    Case(
        name="near: halo loaded with clamped indices",
        inputs=one_to_one(dtype=np.int32),
        launches=on_vector(window_clamped),
        expected=lambda given: {
            "out": np.convolve(np.pad(given["x"], 1, "edge"), np.ones(3, np.int32), "valid").astype(np.int32)
        },
        kinds=("near", "bounds", "shared", "barrier"),
    ),
    Case(
        name="near: blocks with nothing to do",
        inputs=lambda rng: {"x": whole(rng, 10), "out": blank(10)},
        launches=[Launch(many_more_threads_than_elements, 5, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": given["x"] + 1},
        kinds=("near", "bounds", "early return"),
    ),
    Case(
        name="near: padding and edge of a tile never filled",
        inputs=lambda rng: {"a": real(rng, (19, 29)), "out": blank((29, 19))},
        launches=[Launch(transpose_padded, (4, 3), (TILE, TILE), ("a", "out"))],
        expected=lambda given: {"out": given["a"].T},
        kinds=("near", "uninitialised", "shared", "barrier"),
    ),
    # The read is there in the source, and no result depends on it: `initcheck` looks at global memory only, and
    # the guide forbids nothing. A tool that reports the read itself, and not the use of its value, sees it.
    Case(
        name="near: uninitialised value read and dropped",
        inputs=lambda rng: {"x": whole(rng, N, dtype=np.int32), "partial": blank(4, np.int32)},
        launches=on_vector(read_but_not_used, ("x", "partial")),
        expected=lambda given: {"partial": first_of_blocks(given["x"], np.add)},
        kinds=("near", "benign", "uninitialised", "shared", "barrier"),
    ),
    Case(
        name="near: local array filled in part, and read there",
        inputs=lambda rng: {"numbers": whole(rng, N, 0, 10**6, np.int32), "out": blank(N, np.int32)},
        launches=on_vector(digits_that_are_there, ("numbers", "out")),
        expected=lambda given: {
            "out": np.array([max(map(int, str(number))) for number in given["numbers"]], np.int32)
        },
        kinds=("near", "uninitialised", "local"),
    ),
    Case(
        name="near: disjoint slices of one dynamic buffer",
        inputs=lambda rng: {
            "x": whole(rng, 128, dtype=np.int32),
            "y": whole(rng, 128, dtype=np.int32),
            "out": blank(128, np.int32),
        },
        launches=[Launch(slices_of_dynamic, 4, 32, ("x", "y", "out"), shared=3 * 32 * 4)],
        expected=lambda given: {"out": (given["x"] + given["y"]).reshape(4, 32)[:, ::-1].reshape(-1)},
        kinds=("near", "dynamic shared", "barrier"),
    ),
    Case(
        name="near: own cell of shared memory",
        inputs=one_to_one(),
        launches=on_vector(own_cell),
        expected=lambda given: {"out": 2 * given["x"] + 1},
        kinds=("near", "race", "shared"),
    ),
    Case(
        name="near: shared array of one thread",
        inputs=lambda rng: {"x": whole(rng, 20, dtype=np.int32), "out": blank(5, np.int32)},
        launches=[Launch(one_thread_alone, 5, 32, ("x", "out"))],
        expected=lambda given: {"out": given["x"].reshape(5, 4) @ np.array([1, -1, 1, -1], np.int32)},
        kinds=("near", "race", "shared"),
    ),
    Case(
        name="near: update in place",
        inputs=lambda rng: {"x": whole(rng, N)},
        launches=on_vector(update_in_place, ("x",)),
        expected=lambda given: {"x": given["x"] + 2},
        kinds=("near", "race"),
    ),
    Case(
        name="near: one array for two arguments",
        inputs=lambda rng: {"a": np.float32(3), "x": whole(rng, N)},
        launches=on_vector(axpy, ("a", "x", "x")),
        expected=lambda given: {"x": 4 * given["x"]},
        kinds=("near", "race"),
    ),
    Case(
        name="near: neighbouring bytes of different blocks",
        inputs=lambda rng: {"x": rng.integers(0, 256, 101).astype(np.uint8), "out": blank(101, np.uint8)},
        launches=[Launch(bytes_of_neighbouring_blocks, 21, 5, ("x", "out"))],
        expected=lambda given: {"out": 255 - given["x"]},
        kinds=("near", "race", "uint8"),
    ),
    Case(
        name="near: even elements from odd ones in place",
        inputs=lambda rng: {"x": whole(rng, N)},
        launches=on_vector(even_from_odd, ("x",)),
        expected=expected_pairs,
        kinds=("near", "race"),
    ),
    Case(
        name="near: reverse in place by half of the threads",
        inputs=lambda rng: {"x": real(rng, N)},
        launches=on_vector(swap_pairs_across, ("x",)),
        expected=lambda given: {"x": given["x"][::-1]},
        kinds=("near", "race"),
    ),
    Case(
        name="near: one launch reads what the other wrote",
        inputs=lambda rng: {
            "a": whole(rng, (8, 8), dtype=np.int32),
            "sums": np.zeros(64, np.int32),
        },
        launches=[
            Launch(row_sums, 2, 4, ("a", "sums")),
            Launch(even_from_odd, 1, 32, ("sums",)),
            Launch(even_from_odd, 1, 32, ("sums",)),
        ],
        expected=lambda given: {
            "sums": np.append(
                [
                    row[0] + 2 * row[1] if first else row[1]
                    for row in given["a"].sum(axis=1, dtype=np.int32).reshape(4, 2)
                    for first in (True, False)
                ],
                np.zeros(56, np.int32),
            ).astype(np.int32)
        },
        kinds=("near", "race", "several launches"),
    ),
    # Benign by the guide's words on non-atomic writes of a warp to one location: "which thread performs the final
    # write is undefined", but one of them does; where all of them store the same value, the result is defined.
    # `racecheck` reports a write-after-write hazard of shared memory as no more than informational where the
    # values are the same.
    Case(
        name="near: same value to one element",
        inputs=lambda rng: {"x": whole(rng, N), "found": np.zeros(1, np.int32)},
        launches=on_vector(any_negative, ("x", "found")),
        expected=lambda given: {"found": np.ones(1, np.int32)},
        kinds=("near", "benign", "race"),
    ),
    Case(
        name="near: same value to one shared flag",
        inputs=lambda rng: {"x": np.abs(whole(rng, N)) - (np.arange(N) > 140), "found": blank(4, np.int32)},
        launches=on_vector(any_negative_in_block, ("x", "found")),
        expected=lambda given: {
            "found": (np.minimum.reduceat(given["x"], range(0, N, BLOCK)) < 0).astype(np.int32)
        },
        kinds=("near", "benign", "race", "shared", "barrier"),
    ),
    Case(
        name="near: frontier of a breadth-first search",
        inputs=graph,
        launches=[Launch(frontier, 3, 32, ("source", "target", "reached", "following"))],
        expected=expected_frontier,
        kinds=("near", "benign", "race"),
    ),
    Case(
        name="near: all threads zero four cells",
        inputs=lambda rng: {"values": whole(rng, BLOCK, 0, 4, np.int32), "counts": blank(4, np.int32)},
        launches=[Launch(all_zero_the_bins, 1, BLOCK, ("values", "counts"))],
        expected=lambda given: {"counts": np.bincount(given["values"], minlength=4).astype(np.int32)},
        kinds=("near", "benign", "race", "shared", "barrier", "atomic"),
    ),
    Case(
        name="near: block at all its limits",
        inputs=lambda rng: {"x": whole(rng, 1000), "out": blank(700)},
        launches=[Launch(all_of_shared_memory, 1, (4, 4, 64), ("x", "out"))],
        expected=lambda given: {"out": given["x"][(48 * 256 - 1 - np.arange(700)) % 1000]},
        kinds=("near", "limit", "shared", "barrier"),
    ),
]
