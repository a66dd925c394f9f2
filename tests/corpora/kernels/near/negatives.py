"""Near misses of negative indices: a number that stands in the source counts from the end, as in NumPy."""

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, whole

BLOCK = 32
N = 100
ROWS, COLS = 24, 7
LAST = -1


@cuda.jit
def less_the_last(x, out):
    """each element less the last one"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] - x[-1]


@cuda.jit
def last_of_each_row(x, out):
    """the last element of each row, and the one before it"""
    i = cuda.grid(1)
    if i < x.shape[0]:
        out[i, 0] = x[i, -1]
        out[i, -1] = x[i, -2]


@cuda.jit
def surface_of_profiles(profile, out):
    """the uppermost of the last three levels"""
    i = cuda.grid(1)
    if i < profile.shape[0]:
        out[i] = max(profile[i, -1], max(profile[i, -2], profile[i, -3]))


@cuda.jit
def row_then_last(x, out):
    """the last element of a row that is taken first"""
    i = cuda.grid(1)
    if i < x.shape[0]:
        row = x[i]
        out[i] = row[-1] - row[0]


@cuda.jit
def last_row(x, out):
    """the last row"""
    i = cuda.grid(1)
    row = x[-1]
    if i < row.size:
        out[i] = row[i]


@cuda.jit
def inner_part(x, out):
    """without the ends: the slice's ends count from the end"""
    i = cuda.grid(1)
    inner = x[1:-1]
    if i < inner.size:
        out[i] = inner[i]


@cuda.jit
def last_three(x, out):
    """the sum of the last three, for everyone"""
    i = cuda.grid(1)
    end = x[-3:]
    if i < out.size:
        out[i] = end[0] + end[1] + end[-1]


@cuda.jit
def last_of_tile(x, out):
    """the last element of the block's part"""
    tile = cuda.shared.array(BLOCK, float32)
    i = cuda.grid(1)
    tile[cuda.threadIdx.x] = x[i] if i < x.size else 0
    cuda.syncthreads()
    if i < out.size:
        out[i] = tile[-1] + tile[0]


@cuda.jit
def last_of_window(x, out):
    """a window in local memory, filled up to the last place"""
    window = cuda.local.array(4, float32)
    i = cuda.grid(1)
    if i + 4 <= x.size:
        for k in range(4):
            window[k] = x[i + k]
        out[i] = window[-1] - window[-4]


@cuda.jit
def count_the_rest(x, counts):
    """values up to 4 by number, all others in the last place"""
    i = cuda.grid(1)
    if i < x.size:
        if x[i] < 5:
            cuda.atomic.add(counts, x[i], 1)
        else:
            cuda.atomic.add(counts, -1, 1)


@cuda.jit
def by_a_named_constant(x, out):
    """the last element by a constant of the module"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + x[LAST]


@cuda.jit
def add_to_the_last(x, totals):
    """one thread adds to the last place, in place"""
    if cuda.grid(1) == 0:
        for k in range(x.size):
            totals[-1] += x[k]


@cuda.jit
def wrap_by_hand(x, out):
    """the previous element, from the end for the first: the index is made positive"""
    i = cuda.grid(1)
    if i < x.size:
        k = i - 1
        if k < 0:
            k += x.size
        out[i] = x[k]


@cuda.jit
def shape_from_the_end(x, out):
    """the length of the last axis"""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x.shape[-1] + int32(i)


def vector(rng):
    return {"x": whole(rng, N), "out": blank(N)}


def table(*out):
    return lambda rng: {"x": whole(rng, (ROWS, COLS)), "out": blank(*out)}


def launch(kernel, names=("x", "out"), n=N):
    return [Launch(kernel, blocks(n, BLOCK), BLOCK, names)]


def near(name, inputs, launches, expected):
    return Case(f"near: {name}", inputs, launches, expected, kinds=("near", "bounds"))


def tiles(x):
    return np.pad(x, (0, -x.size % BLOCK)).reshape(-1, BLOCK)


CASES = [
    near("last element", vector, launch(less_the_last), lambda given: {"out": given["x"] - given["x"][-1]}),
    near(
        "last element of each row",
        table((ROWS, 2)),
        launch(last_of_each_row, n=ROWS),
        lambda given: {"out": given["x"][:, [-1, -2]]},
    ),
    near(
        "last three levels",
        lambda rng: {"profile": whole(rng, (ROWS, COLS)), "out": blank(ROWS)},
        launch(surface_of_profiles, ("profile", "out"), ROWS),
        lambda given: {"out": given["profile"][:, -3:].max(axis=1)},
    ),
    near(
        "last of a row that is an array",
        table(ROWS),
        launch(row_then_last, n=ROWS),
        lambda given: {"out": given["x"][:, -1] - given["x"][:, 0]},
    ),
    near("last row", table(COLS), launch(last_row, n=COLS), lambda given: {"out": given["x"][-1]}),
    near(
        "slice without its ends",
        lambda rng: {"x": whole(rng, N), "out": blank(N - 2)},
        launch(inner_part),
        lambda given: {"out": given["x"][1:-1]},
    ),
    near(
        "slice of the last three",
        vector,
        launch(last_three),
        lambda given: {"out": np.full(N, given["x"][-3:].sum(), np.float32)},
    ),
    near(
        "last of a shared array",
        vector,
        launch(last_of_tile),
        lambda given: {"out": np.repeat(tiles(given["x"])[:, -1] + tiles(given["x"])[:, 0], BLOCK)[:N]},
    ),
    near(
        "last of a local array",
        vector,
        launch(last_of_window),
        lambda given: {"out": np.append(given["x"][3:] - given["x"][:-3], blank(3))},
    ),
    near(
        "atomic on the last element",
        lambda rng: {"x": whole(rng, N, 0, 9, np.int32), "counts": np.zeros(6, np.int32)},
        launch(count_the_rest, ("x", "counts")),
        lambda given: {"counts": np.bincount(np.minimum(given["x"], 5), minlength=6).astype(np.int32)},
    ),
    near(
        "last element by a named constant",
        vector,
        launch(by_a_named_constant),
        lambda given: {"out": given["x"] + given["x"][-1]},
    ),
    near(
        "addition to the last element",
        lambda rng: {"x": whole(rng, N), "totals": np.zeros(3, np.float32)},
        launch(add_to_the_last, ("x", "totals")),
        lambda given: {"totals": np.array([0, 0, given["x"].sum()], np.float32)},
    ),
    near("wrapped by hand", vector, launch(wrap_by_hand), lambda given: {"out": np.roll(given["x"], 1)}),
    near(
        "shape from the end",
        lambda rng: {"x": whole(rng, (ROWS, COLS)), "out": np.zeros(ROWS, np.int32)},
        launch(shape_from_the_end, n=ROWS),
        lambda given: {"out": COLS + np.arange(ROWS, dtype=np.int32)},
    ),
]
