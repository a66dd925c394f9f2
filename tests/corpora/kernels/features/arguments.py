"""What a kernel can be given, and what it can see of its module: named tuples, enums, functions, device arrays."""

import cmath
from collections import namedtuple
from enum import Enum, IntEnum

import numpy as np
from numba import cuda, float32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real, whole

BLOCK = 32
Point = namedtuple("Point", ("x", "y"))
Box = namedtuple("Box", ("low", "high", "scale"))


class Mode(IntEnum):
    ADD = 1
    MULTIPLY = 2


class Colour(Enum):
    RED = 1
    BLUE = 2


@cuda.jit
def move(points, by, out):
    """a named tuple of two numbers, by its names"""
    i = cuda.grid(1)
    if i < points.shape[0]:
        out[i, 0] = points[i, 0] + by.x
        out[i, 1] = points[i, 1] - by.y


@cuda.jit
def scaled(x, box, out):
    """a named tuple with numbers of two types, also by index"""
    i = cuda.grid(1)
    if i < x.size:
        inside = box.low <= x[i] < box[1]
        out[i] = x[i] * box.scale if inside else box.low


@cuda.jit(device=True)
def middle(one, other):
    """returns a named tuple"""
    return Point((one.x + other.x) / 2, (one.y + other.y) / 2)


@cuda.jit
def middles(points, corner, out):
    """named tuples made in a kernel, handed to a device function and back"""
    i = cuda.grid(1)
    if i < points.shape[0]:
        found = middle(Point(points[i, 0], points[i, 1]), corner)
        out[i, 0] = found.x
        out[i, 1] = found.y


@cuda.jit
def by_mode(x, mode, out):
    """an IntEnum as an argument, compared with members of the module's class"""
    i = cuda.grid(1)
    if i < x.size:
        if mode == Mode.ADD:
            out[i] = x[i] + 10
        elif mode == Mode.MULTIPLY:
            out[i] = x[i] * 10
        else:
            out[i] = mode


@cuda.jit
def by_colour(x, colour, out):
    """an Enum as an argument"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] if colour == Colour.BLUE else -x[i]


@cuda.jit(device=True)
def doubled(v):
    return 2 * v


@cuda.jit(device=True)
def squared(v):
    return v * v


@cuda.jit(device=True)
def twice(function, v):
    """calls the function that it is given, twice"""
    return function(function(v))


@cuda.jit
def chained(x, out):
    """device functions as arguments of a device function"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = twice(doubled, x[i]) - twice(squared, x[i])


@cuda.jit(device=True)
def into_bins(update, bins, value):
    update(bins, value % bins.size, 1)


@cuda.jit
def counted(values, bins):
    """cuda.atomic.add as an argument of a device function"""
    i = cuda.grid(1)
    if i < values.size:
        into_bins(cuda.atomic.add, bins, values[i] + 1)


@cuda.jit(device=True)
def weighted(a, b, c):
    return a + 10 * b + 100 * c


@cuda.jit
def unpacked(x, weights, out):
    """a tuple unpacked into the arguments of a device function"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = weighted(x[i], *weights)


@cuda.jit(device=True)
def total(*values):
    """takes any number of values"""
    result = values[0]
    for value in values[1:]:
        result += value
    return result


@cuda.jit
def totals(x, out):
    """a device function with a starred parameter"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = total(x[i], x[i]) + total(x[i], 1, 2)


@cuda.jit(device=True)
def result_of(function, *values):
    return function(*values)


@cuda.jit
def given_inside(x, out):
    """a function within the kernel, with a constant of the kernel and a default, given to a device function"""
    step = 10

    def raised(value, by=3):
        return value + by * step

    i = cuda.grid(1)
    if i < x.size:
        out[i] = result_of(raised, x[i]) - result_of(raised, x[i], 2)


@cuda.jit
def by_angle(z, out):
    """a tuple unpacked into the arguments of a function of Python's"""
    i = cuda.grid(1)
    if i < z.size:
        out[i] = complex(*cmath.polar(z[i]))


@cuda.jit(device=True)
def place_of(index, size):
    return index.y * size.x + index.x


@cuda.jit
def by_whole_indices(out):
    """`cuda.threadIdx` and the others as one value each: under another name, and given to a device function"""
    block = cuda.blockIdx
    out[block.x, place_of(cuda.threadIdx, cuda.blockDim)] = block.x + 10 * cuda.threadIdx.y


TABLE = cuda.to_device(np.array([5.0, 3.0, 8.0, 1.0], np.float32))
COUNTS = cuda.to_device(np.zeros(4, np.int32))


@cuda.jit
def looked_up(index, out):
    """a device array of the module, read"""
    i = cuda.grid(1)
    if i < index.size:
        out[i] = TABLE[index[i]] * TABLE.size


@cuda.jit(device=True)
def from_table(k):
    return TABLE[k]


@cuda.jit
def looked_up_by_function(index, out):
    """a device array of the module, read by a device function"""
    i = cuda.grid(1)
    if i < index.size:
        out[i] = from_table(index[i]) + 1


@cuda.jit
def count_into_module(index):
    """a device array of the module, written"""
    i = cuda.grid(1)
    if i < index.size:
        cuda.atomic.add(COUNTS, index[i], 1)


@cuda.jit
def read_counts(out):
    """empties the module's counts, so that the case can run again"""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = COUNTS[i]
        COUNTS[i] = 0


def made_for(factors):
    """a kernel that holds a device array in its closure"""

    @cuda.jit
    def multiply(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = x[i] * factors[i % factors.size]

    return multiply


multiply_by_three = made_for(cuda.to_device(np.array([2.0, 3.0, 4.0], np.float32)))


@cuda.jit(device=True)
def smoothed(x, i, width):
    """a local array whose size is a literal of the caller"""
    window = cuda.local.array(width, float32)
    for k in range(width):
        window[k] = x[min(i + k, x.size - 1)]
    result = float32(0)
    for k in range(width):
        result += window[k]
    return result


@cuda.jit
def smooth(x, out):
    """the same device function with two literal sizes"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = smoothed(x, i, 3) - smoothed(x, i, 2)


@cuda.jit(device=True)
def reversed_by(x, size):
    """a shared array whose size is a literal of the caller"""
    tile = cuda.shared.array(size, float32)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    return tile[cuda.blockDim.x - 1 - t]


@cuda.jit
def reverse_blocks(x, out):
    """a shared array made in a device function of a literal size"""
    out[cuda.grid(1)] = reversed_by(x, BLOCK)


def one(kernel, *arguments, size):
    return [Launch(kernel, blocks(size, BLOCK), BLOCK, arguments)]


CASES = [
    Case(
        "a named tuple as an argument",
        lambda rng: {
            "points": real(rng, (50, 2), np.float64),
            "by": Point(2, 0.5),
            "out": blank((50, 2), np.float64),
        },
        one(move, "points", "by", "out", size=50),
        lambda g: {"out": g["points"] + [2, -0.5]},
        ("argument",),
        simulator=False,
    ),
    Case(
        "a named tuple of two types",
        lambda rng: {"x": whole(rng, 50), "box": Box(-3, 4, 0.5), "out": blank(50)},
        one(scaled, "x", "box", "out", size=50),
        lambda g: {"out": np.where((g["x"] >= -3) & (g["x"] < 4), g["x"] * 0.5, -3).astype(np.float32)},
        ("argument",),
        simulator=False,
    ),
    Case(
        "named tuples in a kernel",
        lambda rng: {
            "points": real(rng, (50, 2), np.float64),
            "corner": Point(1, -1),
            "out": blank((50, 2), np.float64),
        },
        one(middles, "points", "corner", "out", size=50),
        lambda g: {"out": (g["points"] + [1, -1]) / 2},
        ("argument",),
        simulator=False,
    ),
    *(
        Case(
            f"an IntEnum as an argument: {mode.name}",
            lambda rng, mode=mode: {
                "x": whole(rng, 50, dtype=np.int32),
                "mode": mode,
                "out": blank(50, np.int32),
            },
            one(by_mode, "x", "mode", "out", size=50),
            lambda g: {"out": g["x"] + 10 if g["mode"] is Mode.ADD else g["x"] * 10},
            ("argument",),
            simulator=False,
        )
        for mode in Mode
    ),
    *(
        Case(
            f"an Enum as an argument: {colour.name}",
            lambda rng, colour=colour: {"x": whole(rng, 50), "colour": colour, "out": blank(50)},
            one(by_colour, "x", "colour", "out", size=50),
            lambda g: {"out": g["x"] if g["colour"] is Colour.BLUE else -g["x"]},
            ("argument",),
            simulator=False,
        )
        for colour in Colour
    ),
    Case(
        "device functions as arguments of a device function",
        lambda rng: {"x": whole(rng, 50), "out": blank(50)},
        one(chained, "x", "out", size=50),
        lambda g: {"out": 4 * g["x"] - g["x"] ** 4},
        ("argument",),
        simulator=False,
    ),
    Case(
        "cuda.atomic.add as an argument of a device function",
        lambda rng: {"values": rng.integers(0, 1000, 200).astype(np.int32), "bins": np.zeros(7, np.int32)},
        one(counted, "values", "bins", size=200),
        lambda g: {"bins": np.bincount((g["values"] + 1) % 7, minlength=7).astype(np.int32)},
        ("argument", "atomic"),
        simulator=False,
    ),
    Case(
        "a tuple unpacked into arguments",
        lambda rng: {"x": whole(rng, 50), "weights": (3, 2), "out": blank(50)},
        one(unpacked, "x", "weights", "out", size=50),
        lambda g: {"out": g["x"] + 230},
        ("argument",),
        simulator=False,
    ),
    Case(
        "a function within the kernel, given to a device function",
        lambda rng: {"x": whole(rng, 50), "out": blank(50)},
        one(given_inside, "x", "out", size=50),
        lambda g: {"out": np.full_like(g["x"], 10)},
        ("argument",),
        simulator=False,
    ),
    Case(
        "a tuple unpacked into a function of Python's",
        lambda rng: {
            "z": real(rng, 50, np.float64) + 1j * real(rng, 50, np.float64),
            "out": blank(50, np.complex128),
        },
        one(by_angle, "z", "out", size=50),
        lambda g: {"out": np.abs(g["z"]) + 1j * np.angle(g["z"])},
        ("argument",),
        simulator=False,
        rtol=1e-14,
    ),
    Case(
        "a thread's index as a whole",
        lambda rng: {"out": np.zeros((3, 8), np.int64)},
        [Launch(by_whole_indices, 3, (4, 2), ("out",))],
        lambda g: {"out": np.arange(3)[:, None] + 10 * (np.arange(8) // 4)},
        ("argument",),
        simulator=False,
    ),
    Case(
        "a device function of any number of values",
        lambda rng: {"x": whole(rng, 50), "out": blank(50)},
        one(totals, "x", "out", size=50),
        lambda g: {"out": 3 * g["x"] + 3},
        ("argument",),
        simulator=False,
    ),
    Case(
        "a device array of the module, read",
        lambda rng: {"index": rng.integers(0, 4, 50).astype(np.int32), "out": blank(50)},
        one(looked_up, "index", "out", size=50),
        lambda g: {"out": np.array([20, 12, 32, 4], np.float32)[g["index"]]},
        ("captured",),
        simulator=False,
    ),
    Case(
        "a device array of the module, read by a device function",
        lambda rng: {"index": rng.integers(0, 4, 50).astype(np.int32), "out": blank(50)},
        one(looked_up_by_function, "index", "out", size=50),
        lambda g: {"out": np.array([6, 4, 9, 2], np.float32)[g["index"]]},
        ("captured",),
        simulator=False,
    ),
    Case(
        "a device array of the module, written",
        lambda rng: {"index": rng.integers(0, 4, 50).astype(np.int32), "out": blank(4, np.int32)},
        [Launch(count_into_module, 2, BLOCK, ("index",)), Launch(read_counts, 1, 4, ("out",))],
        lambda g: {"out": np.bincount(g["index"], minlength=4).astype(np.int32)},
        ("captured", "atomic"),
        simulator=False,
    ),
    Case(
        "a device array of the closure",
        lambda rng: {"x": whole(rng, 50), "out": blank(50)},
        one(multiply_by_three, "x", "out", size=50),
        lambda g: {"out": g["x"] * np.array([2, 3, 4], np.float32)[np.arange(50) % 3]},
        ("captured",),
        simulator=False,
    ),
    Case(
        "a local array of the caller's literal size",
        lambda rng: {"x": whole(rng, 50), "out": blank(50)},
        one(smooth, "x", "out", size=50),
        lambda g: {"out": g["x"][np.minimum(np.arange(50) + 2, 49)]},
        ("literal",),
        simulator=False,
    ),
    Case(
        "a shared array of the caller's literal size",
        lambda rng: {"x": whole(rng, 64), "out": blank(64)},
        [Launch(reverse_blocks, 2, BLOCK, ("x", "out"))],
        lambda g: {"out": g["x"].reshape(2, BLOCK)[:, ::-1].ravel()},
        ("literal", "barrier"),
        simulator=False,
    ),
]
