"""NumPy's functions on the numbers of a kernel, and reductions of arrays within a kernel."""

import numpy as np
from numba import cuda

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real, whole

BLOCK = 32


@cuda.jit
def waves(x, out):
    """np.sin and np.cos of single elements"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = np.sin(x[i]) ** 2 + np.cos(x[i]) ** 2 + np.sin(x[i])


@cuda.jit
def logarithms(x, out):
    """np.log, np.log2, np.log10 in float64"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = np.log(x[i]) + np.log2(x[i]) * np.log10(x[i])


@cuda.jit
def clamp(x, low, high, out):
    """np.minimum and np.maximum, with a NaN that stays"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = np.minimum(np.maximum(x[i], low), high)


@cuda.jit
def angles(y, x, out):
    """np.arctan2, np.hypot, np.radians, np.degrees"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = np.degrees(np.arctan2(y[i], x[i])) + np.radians(np.hypot(y[i], x[i]))


@cuda.jit
def of_integers(x, out):
    """np.sin of an int32 is a float64"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = np.sin(x[i])


@cuda.jit
def flags(x, out):
    """np.isnan, comparisons and the logical functions"""
    i = cuda.grid(1)
    if i < x.size:
        bad = np.logical_or(np.isnan(x[i]), np.greater(abs(x[i]), 1e30))
        out[i] = 1 if bad else 0


@cuda.jit
def bits(x, y, out):
    """np.bitwise_and, np.bitwise_xor, np.left_shift of integers"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = np.bitwise_xor(np.bitwise_and(x[i], y[i]), np.left_shift(y[i], 2))


@cuda.jit
def statistics_of_rows(x, out):
    """a thread reduces a row with array methods"""
    i = cuda.grid(1)
    if i < x.shape[0]:
        row = x[i]
        out[i, 0] = row.sum()
        out[i, 1] = row.mean()
        out[i, 2] = row.prod()


@cuda.jit
def functions_of_rows(x, out):
    """a thread reduces a row with NumPy's functions"""
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i, 0] = np.sum(x[i])
        out[i, 1] = np.mean(x[i])
        out[i, 2] = np.prod(x[i])


@cuda.jit
def spread_of_rows(x, out):
    """np.var, np.std, np.prod of rows of small whole numbers"""
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i, 0] = np.var(x[i])
        out[i, 1] = np.std(x[i])
        out[i, 2] = np.prod(x[i, :3])


@cuda.jit
def places(x, out):
    """np.argmin and np.argmax: the first of equals"""
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i, 0] = np.argmin(x[i])
        out[i, 1] = x[i].argmax()


@cuda.jit
def without_nans(x, out):
    """np.nansum, np.nanmean, np.nanprod of rows"""
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i, 0] = np.nansum(x[i])
        out[i, 1] = np.nanmean(x[i])
        out[i, 2] = np.nanprod(x[i])


@cuda.jit
def extremes(x, out):
    """the least and the largest, with and without NaNs: Numba needs its runtime for them (NUMBA_CUDA_ENABLE_NRT=1)"""
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i, 0] = x[i].min()
        out[i, 1] = np.max(x[i])
        out[i, 2] = np.nanmin(x[i])
        out[i, 3] = np.nanmax(x[i])


@cuda.jit
def counts(x, out):
    """np.count_nonzero, np.any, np.all"""
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i, 0] = np.count_nonzero(x[i])
        out[i, 1] = 1 if np.any(x[i]) else 0
        out[i, 2] = 1 if np.all(x[i]) else 0


@cuda.jit
def of_a_matrix(x, out):
    """a sum over both axes of a part of a matrix"""
    if cuda.grid(1) == 0:
        out[0] = x[1:, :4].sum()
        out[1] = x.mean()


@cuda.jit
def sum_of_shared(x, out):
    """a reduction of a shared array by one thread"""
    part = cuda.shared.array(BLOCK, np.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    part[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = part.sum()


@cuda.jit
def sums_of_small_integers(x, out):
    """the sum of int32 is an int64 and does not wrap at 32 bits"""
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i] = x[i].sum()


def one(kernel, *arguments, shape):
    return [Launch(kernel, blocks(shape, BLOCK), BLOCK, arguments)]


def with_nans(rng):
    x = whole(rng, (20, 7), dtype=np.float64)
    x[rng.random(x.shape) < 0.2] = np.nan
    x[:, 3] = 2.5
    return x


CASES = [
    Case(
        "np.sin and np.cos of elements",
        lambda rng: {"x": real(rng, 77), "out": blank(77)},
        one(waves, "x", "out", shape=77),
        lambda g: {"out": np.sin(g["x"]) ** 2 + np.cos(g["x"]) ** 2 + np.sin(g["x"])},
        ("numpy",),
        rtol=1e-6,
        simulator=False,
    ),
    Case(
        "np.log, np.log2, np.log10 of elements",
        lambda rng: {"x": rng.random(77) + 1, "out": blank(77, np.float64)},
        one(logarithms, "x", "out", shape=77),
        lambda g: {"out": np.log(g["x"]) + np.log2(g["x"]) * np.log10(g["x"])},
        ("numpy",),
        rtol=1e-12,
        simulator=False,
    ),
    Case(
        "np.minimum and np.maximum of elements",
        lambda rng: {
            "x": np.append(real(rng, 76), np.float32(np.nan)),
            "low": np.float32(-0.5),
            "high": np.float32(0.75),
            "out": blank(77),
        },
        one(clamp, "x", "low", "high", "out", shape=77),
        lambda g: {"out": np.minimum(np.maximum(g["x"], g["low"]), g["high"])},
        ("numpy",),
        simulator=False,
    ),
    Case(
        "np.arctan2, np.hypot, np.degrees, np.radians",
        lambda rng: {
            "y": real(rng, 77, np.float64),
            "x": real(rng, 77, np.float64),
            "out": blank(77, np.float64),
        },
        one(angles, "y", "x", "out", shape=77),
        lambda g: {"out": np.degrees(np.arctan2(g["y"], g["x"])) + np.radians(np.hypot(g["y"], g["x"]))},
        ("numpy",),
        rtol=1e-12,
        simulator=False,
    ),
    Case(
        "np.sin of an int32",
        lambda rng: {"x": rng.integers(0, 1000, 77).astype(np.int32), "out": blank(77, np.float64)},
        one(of_integers, "x", "out", shape=77),
        lambda g: {"out": np.sin(g["x"].astype(np.float64))},
        ("numpy",),
        rtol=1e-14,
        simulator=False,
    ),
    Case(
        "np.isnan, np.greater, np.logical_or",
        lambda rng: {
            "x": np.array([1, np.nan, np.inf, 0, -np.inf], np.float32),
            "out": blank(5, np.int32),
        },
        one(flags, "x", "out", shape=5),
        lambda g: {"out": np.array([0, 1, 1, 0, 1], np.int32)},
        ("numpy",),
        simulator=False,
    ),
    Case(
        "np.bitwise_and, np.bitwise_xor, np.left_shift",
        lambda rng: {
            "x": rng.integers(0, 2**30, 77).astype(np.int32),
            "y": rng.integers(0, 2**28, 77).astype(np.int32),
            "out": blank(77, np.int64),
        },
        one(bits, "x", "y", "out", shape=77),
        lambda g: {"out": ((g["x"] & g["y"]) ^ (g["y"].astype(np.int64) << 2)).astype(np.int64)},
        ("numpy",),
        simulator=False,
    ),
    *(
        Case(
            f"{kernel.py_func.__doc__}: {np.dtype(dtype)}",
            lambda rng, dtype=dtype: {
                "x": whole(rng, (20, 8), dtype=dtype),
                "out": blank((20, 3), np.float64),
            },
            one(kernel, "x", "out", shape=20),
            lambda g: {
                "out": np.stack([g["x"].sum(1), g["x"].mean(1), g["x"].prod(1)], 1).astype(np.float64)
            },
            ("reduction",),
            simulator=False,
        )
        for kernel in (statistics_of_rows, functions_of_rows)
        for dtype in (np.float32, np.int32)
    ),
    Case(
        "np.var, np.std, np.prod of rows",
        lambda rng: {"x": whole(rng, (20, 8), dtype=np.float64), "out": blank((20, 3), np.float64)},
        one(spread_of_rows, "x", "out", shape=20),
        lambda g: {"out": np.stack([g["x"].var(1), g["x"].std(1), g["x"][:, :3].prod(1)], 1)},
        ("reduction",),
        rtol=1e-12,
        simulator=False,
    ),
    Case(
        "np.argmin and argmax of rows",
        lambda rng: {"x": whole(rng, (20, 9), low=-3, high=3), "out": blank((20, 2), np.int64)},
        one(places, "x", "out", shape=20),
        lambda g: {"out": np.stack([g["x"].argmin(1), g["x"].argmax(1)], 1)},
        ("reduction",),
        simulator=False,
    ),
    Case(
        "reductions that leave NaNs out",
        lambda rng: {"x": with_nans(rng), "out": blank((20, 3), np.float64)},
        one(without_nans, "x", "out", shape=20),
        lambda g: {"out": np.stack([f(g["x"], axis=1) for f in (np.nansum, np.nanmean, np.nanprod)], 1)},
        ("reduction",),
        rtol=1e-12,
        simulator=False,
    ),
    Case(
        "np.count_nonzero, np.any, np.all",
        lambda rng: {
            "x": np.array([[0, 0, 0], [1, 0, 2], [3, 4, 5]], np.int32),
            "out": blank((3, 3), np.int32),
        },
        one(counts, "x", "out", shape=3),
        lambda g: {"out": np.array([[0, 0, 0], [2, 1, 0], [3, 1, 1]], np.int32)},
        ("reduction",),
        simulator=False,
    ),
    Case(
        "the sum of a part of a matrix",
        lambda rng: {"x": whole(rng, (5, 7)), "out": blank(2)},
        one(of_a_matrix, "x", "out", shape=1),
        lambda g: {"out": np.array([g["x"][1:, :4].sum(), g["x"].mean(dtype=np.float64)], np.float32)},
        ("reduction",),
        simulator=False,
    ),
    Case(
        "the sum of a shared array",
        lambda rng: {"x": whole(rng, 77), "out": blank(3)},
        one(sum_of_shared, "x", "out", shape=77),
        lambda g: {"out": np.array([g["x"][k : k + BLOCK].sum() for k in range(0, 77, BLOCK)], np.float32)},
        ("reduction", "barrier"),
        simulator=False,
    ),
    Case(
        "sums of int32 have 64 bits",
        lambda rng: {"x": np.full((3, 4), 2**30, np.int32), "out": blank(3, np.int64)},
        one(sums_of_small_integers, "x", "out", shape=3),
        lambda g: {"out": np.full(3, 2**32)},
        ("reduction",),
        simulator=False,
    ),
]

# Cases for NUMBA_CUDA_ENABLE_NRT=1: without it numba-cuda refuses them.
WITH_RUNTIME = [
    Case(
        "the least and the largest of rows",
        lambda rng: {"x": with_nans(rng), "out": blank((20, 4), np.float64)},
        one(extremes, "x", "out", shape=20),
        lambda g: {"out": np.stack([f(g["x"], axis=1) for f in (np.min, np.max, np.nanmin, np.nanmax)], 1)},
        ("reduction",),
        simulator=False,
    ),
    Case(
        "the least and the largest of rows of int32",
        lambda rng: {"x": whole(rng, (20, 9), dtype=np.int32), "out": blank((20, 4), np.int64)},
        one(extremes, "x", "out", shape=20),
        lambda g: {
            "out": np.stack([f(g["x"], axis=1) for f in (np.min, np.max, np.min, np.max)], 1).astype(np.int64)
        },
        ("reduction",),
        simulator=False,
    ),
]
