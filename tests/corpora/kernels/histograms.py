"""Counting into bins."""

import numpy as np
from numba import cuda, int32, uint32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, real, whole

BINS = 32


@cuda.jit
def histogram_global(values, counts):
    """one atomic in global memory a value"""
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(counts, values[i], 1)


@cuda.jit
def histogram_shared(values, counts):
    """bins of the block's own in shared memory, then one atomic a bin and block"""
    private = cuda.shared.array(BINS, int32)
    tid = cuda.threadIdx.x
    for b in range(tid, BINS, cuda.blockDim.x):
        private[b] = 0
    cuda.syncthreads()

    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, values.size, stride):
        cuda.atomic.add(private, values[i], 1)
    cuda.syncthreads()

    for b in range(tid, BINS, cuda.blockDim.x):
        cuda.atomic.add(counts, b, private[b])


@cuda.jit
def histogram_dynamic(values, counts):
    """as many private bins as asked for at launch, in dynamic shared memory"""
    private = cuda.shared.array(0, dtype=uint32)
    tid = cuda.threadIdx.x
    bins = counts.size
    b = tid
    while b < bins:
        private[b] = 0
        b += cuda.blockDim.x
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(private, values[i] % bins, 1)
    cuda.syncthreads()
    b = tid
    while b < bins:
        if private[b] > 0:
            cuda.atomic.add(counts, b, private[b])
        b += cuda.blockDim.x


@cuda.jit
def histogram_of_reals(values, low, high, counts):
    """equal bins between low and high; what lies outside is not counted"""
    i = cuda.grid(1)
    bins = counts.shape[0]
    if i < values.shape[0]:
        position = (values[i] - low) / (high - low)
        if 0.0 <= position < 1.0:
            cuda.atomic.add(counts, int(position * bins), 1)


@cuda.jit
def joint_histogram(a, b, counts):
    """pairs of values, counted in a matrix"""
    i = cuda.grid(1)
    if i < a.size:
        cuda.atomic.add(counts, (a[i], b[i]), 1)


@cuda.jit
def weighted_histogram(values, weights, sums):
    """sums of float weights by bin"""
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(sums, values[i], weights[i])


@cuda.jit
def histogram_without_atomics(values, counts):
    """each thread owns one bin and reads all values"""
    b = cuda.grid(1)
    if b >= counts.size:
        return
    count = 0
    for i in range(values.size):
        if values[i] == b:
            count += 1
    counts[b] = count


N = 300


def bins(rng, dtype=np.int32):
    return np.minimum(rng.geometric(0.1, N), BINS - 1).astype(dtype)


def count(values, size=BINS, dtype=np.int32):
    return np.bincount(values, minlength=size).astype(dtype)


def expected_of_reals(given):
    values = given["values"].astype(float)
    return {"counts": np.histogram(values[values < 2], bins=16, range=(-2, 2))[0].astype(np.int32)}


def expected_joint(given):
    counts = np.zeros((5, 7), np.int32)
    np.add.at(counts, (given["a"], given["b"]), 1)
    return {"counts": counts}


CASES = [
    Case(
        name="histogram in global memory",
        inputs=lambda rng: {"values": bins(rng), "counts": np.zeros(BINS, np.int32)},
        launches=[Launch(histogram_global, 5, 64, ("values", "counts"))],
        expected=lambda given: {"counts": count(given["values"])},
        kinds=("histogram", "atomic"),
    ),
    Case(
        name="histogram of bytes",
        inputs=lambda rng: {
            "values": rng.integers(0, 256, N).astype(np.uint8),
            "counts": np.zeros(256, np.int64),
        },
        launches=[Launch(histogram_global, 5, 64, ("values", "counts"))],
        expected=lambda given: {"counts": count(given["values"], 256, np.int64)},
        kinds=("histogram", "atomic", "uint8", "int64"),
    ),
    Case(
        name="histogram in shared memory",
        inputs=lambda rng: {"values": bins(rng), "counts": np.zeros(BINS, np.int32)},
        launches=[Launch(histogram_shared, 3, 48, ("values", "counts"))],
        expected=lambda given: {"counts": count(given["values"])},
        kinds=("histogram", "atomic", "shared", "barrier", "grid-stride"),
    ),
    Case(
        name="histogram in dynamic shared memory",
        inputs=lambda rng: {"values": bins(rng), "counts": np.zeros(21, np.uint32)},
        launches=[Launch(histogram_dynamic, 10, 32, ("values", "counts"), shared=21 * 4)],
        expected=lambda given: {"counts": count(given["values"] % 21, 21, np.uint32)},
        kinds=("histogram", "atomic", "dynamic shared", "barrier"),
    ),
    Case(
        name="histogram of real numbers",
        inputs=lambda rng: {
            "values": real(rng, N),
            "low": np.float32(-2),
            "high": np.float32(2),
            "counts": np.zeros(16, np.int32),
        },
        launches=[Launch(histogram_of_reals, 5, 64, ("values", "low", "high", "counts"))],
        expected=expected_of_reals,
        kinds=("histogram", "atomic"),
    ),
    Case(
        name="joint histogram",
        inputs=lambda rng: {
            "a": whole(rng, N, 0, 5, np.int32),
            "b": whole(rng, N, 0, 7, np.int32),
            "counts": np.zeros((5, 7), np.int32),
        },
        launches=[Launch(joint_histogram, 5, 64, ("a", "b", "counts"))],
        expected=expected_joint,
        kinds=("histogram", "atomic", "2d"),
    ),
    Case(
        name="weighted histogram",
        inputs=lambda rng: {
            "values": bins(rng),
            "weights": whole(rng, N),
            "sums": np.zeros(BINS, np.float32),
        },
        launches=[Launch(weighted_histogram, 5, 64, ("values", "weights", "sums"))],
        expected=lambda given: {
            "sums": np.bincount(given["values"], given["weights"], BINS).astype(np.float32)
        },
        kinds=("histogram", "atomic"),
    ),
    Case(
        name="histogram without atomics",
        inputs=lambda rng: {"values": bins(rng), "counts": blank(BINS, np.int32)},
        launches=[Launch(histogram_without_atomics, 2, 24, ("values", "counts"))],
        expected=lambda given: {"counts": count(given["values"])},
        kinds=("histogram", "loop", "early return"),
    ),
]
