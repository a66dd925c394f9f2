"""Device functions, closures, and kernels that a function makes."""

import math

import numba
import numpy as np
from numba import cuda, float32, float64

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real, whole

BLOCK = 32
OFFSET = 7


@cuda.jit(device=True)
def square(x):
    return x * x


@cuda.jit(device=True, inline="always")
def norm(x, y):
    """a device function that calls another"""
    return math.sqrt(square(x) + square(y))


@cuda.jit
def norms(points, out):
    """the length of each vector, by nested device functions"""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = norm(points[i, 0], points[i, 1])


@cuda.jit("float64(float64, float64)", device=True)
def harmonic_mean(a, b):
    return 2.0 * a * b / (a + b)


@cuda.jit("void(float64[:], float64[:], float64[:])")
def harmonic_means(a, b, out):
    """signatures on both the device function and the kernel"""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = harmonic_mean(a[i], b[i])


@cuda.jit(device=True)
def sum_and_difference(a, b):
    """two results as a tuple"""
    return a + b, a - b


@cuda.jit
def butterflies(x, out):
    """pairs of neighbours become sum and difference"""
    i = cuda.grid(1)
    if 2 * i + 1 < x.size:
        total, difference = sum_and_difference(x[2 * i], x[2 * i + 1])
        out[2 * i] = total
        out[2 * i + 1] = difference


@cuda.jit(device=True)
def position():
    """where the thread stands in a matrix: row and column"""
    col, row = cuda.grid(2)
    return row, col


@cuda.jit(device=True)
def inside(place, shape):
    return place[0] < shape[0] and place[1] < shape[1]


@cuda.jit
def negate(matrix, out):
    """indices as a tuple, handed to and from device functions"""
    place = position()
    if inside(place, matrix.shape):
        out[place] = -matrix[place]


@cuda.jit(device=True)
def block_sum(value, scratch):
    """the sum over the block, for every thread; contains barriers"""
    tid = cuda.threadIdx.x
    scratch[tid] = value
    cuda.syncthreads()
    s = cuda.blockDim.x // 2
    while s > 0:
        if tid < s:
            scratch[tid] += scratch[tid + s]
        cuda.syncthreads()
        s //= 2
    total = scratch[0]
    cuda.syncthreads()
    return total


@cuda.jit
def center_blocks(x, out):
    """each block minus its mean, over its standard deviation: two sums by one device function"""
    scratch = cuda.shared.array(BLOCK, float64)
    i = cuda.grid(1)
    mean = block_sum(x[i], scratch) / BLOCK
    variance = block_sum((x[i] - mean) ** 2, scratch) / BLOCK
    out[i] = (x[i] - mean) / math.sqrt(variance)


@cuda.jit(device=True)
def load_tile(tile, x, start):
    """fill a tile together, zeros beyond the end, and wait"""
    tid = cuda.threadIdx.x
    i = start + tid
    tile[tid] = x[i] if i < x.size else 0
    cuda.syncthreads()


@cuda.jit(device=True)
def sum_tile(tile):
    """a device function with a barrier that calls none"""
    total = 0
    for k in range(BLOCK):
        total += tile[k]
    cuda.syncthreads()
    return total


@cuda.jit
def sums_so_far(x, out):
    """block b writes the sum of the first b + 1 tiles: barriers in device functions in a loop"""
    tile = cuda.shared.array(BLOCK, numba.int32)
    total = 0
    for b in range(cuda.blockIdx.x + 1):
        load_tile(tile, x, b * BLOCK)
        total += sum_tile(tile)
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = total


@cuda.jit(device=True)
def swap(array, i, j):
    """a device function without a result"""
    array[i], array[j] = array[j], array[i]


@cuda.jit(device=True)
def reverse_part(array, start, end):
    while start < end:
        swap(array, start, end)
        start += 1
        end -= 1


@cuda.jit
def reverse_parts(x, length):
    """each thread turns a part of its own around"""
    i = cuda.grid(1)
    start = i * length
    if start < x.size:
        reverse_part(x, start, min(start + length, x.size) - 1)


@cuda.jit(device=True)
def sign(x):
    """several returns"""
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0


@cuda.jit(device=True)
def clamp(x, low, high=5):
    """an argument with a default"""
    return max(low, min(x, high))


@cuda.jit
def signs_and_clamps(x, signs, clamped):
    """device functions with several returns, defaults and keyword arguments"""
    i = cuda.grid(1)
    if i < x.size:
        signs[i] = sign(x[i])
        clamped[i] = clamp(x[i], -3) + clamp(x[i], low=-1, high=2)


@cuda.jit
def inner_functions(x, out):
    """a function and a lambda inside of the kernel"""

    def triple(value):
        return 3 * value

    shift = lambda value: value - 1  # noqa: E731
    i = cuda.grid(1)
    if i < x.size:
        out[i] = triple(shift(x[i]))


@cuda.jit
def add_offset(x, out):
    """a module constant"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + OFFSET


def make_power(exponent):
    """Make a kernel that closes over a number."""

    @cuda.jit
    def power(x, out):
        """out = x to a fixed power"""
        i = cuda.grid(1)
        if i < x.size:
            result = 1
            for _ in range(exponent):
                result *= x[i]
            out[i] = result

    return power


def make_map(function):
    """Make a kernel that closes over a device function."""
    on_device = cuda.jit(device=True)(function)

    @cuda.jit
    def apply(x, out):
        """out = function(x)"""
        i = cuda.grid(1)
        if i < x.size:
            out[i] = on_device(x[i])

    return apply


def make_sum(block, dtype):
    """Make a kernel whose shared array has the size and type that it closes over."""

    @cuda.jit
    def block_sums(x, sums):
        """each block's sum"""
        shared = cuda.shared.array(block, dtype)
        tid = cuda.threadIdx.x
        i = cuda.grid(1)
        shared[tid] = x[i] if i < x.size else 0
        cuda.syncthreads()
        s = block // 2
        while s > 0:
            if tid < s:
                shared[tid] += shared[tid + s]
            cuda.syncthreads()
            s //= 2
        if tid == 0:
            sums[cuda.blockIdx.x] = shared[0]

    return block_sums


def shift_puzzle(cuda):
    """Make a kernel with `cuda` handed in, as GPU Puzzles do."""

    def call(out, a) -> None:
        """out = a + 10, with more threads than elements"""
        local_i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        if local_i < a.shape[0]:
            out[local_i] = a[local_i] + 10

    return call


POOL = 8


def pool_puzzle(cuda):
    """Make a kernel of sums over three places, through shared memory, as GPU Puzzles do."""

    def call(out, a, size) -> None:
        """out[i] = a[i - 2] + a[i - 1] + a[i]"""
        shared = cuda.shared.array(POOL, numba.float32)
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        local_i = cuda.threadIdx.x
        if i < size:
            shared[local_i] = a[i]
            cuda.syncthreads()
            total = shared[local_i]
            if local_i > 0:
                total += shared[local_i - 1]
            if local_i > 1:
                total += shared[local_i - 2]
            out[i] = total

    return call


def dot_puzzle(cuda, block):
    """Make a kernel of a dot product that closes over `cuda` and the size of a block."""

    def call(out, a, b):
        """out[0] = a · b, in one block"""
        shared = cuda.shared.array(block, float32)
        tid = cuda.threadIdx.x
        shared[tid] = a[tid] * b[tid] if tid < a.size else 0
        cuda.syncthreads()
        if tid == 0:
            total = float32(0)
            for k in range(block):
                total += shared[k]
            out[0] = total

    return call


cube = make_power(3)
fourth_power = make_power(4)
sums_of_16 = make_sum(16, float32)
sums_of_64 = make_sum(64, float64)
shifted_square = make_map(lambda x: (x + 1) * (x + 1))
shift_map = cuda.jit(shift_puzzle(cuda))
pool = cuda.jit(pool_puzzle(cuda))
dot_of_block = cuda.jit(dot_puzzle(cuda, 16))

N = 96


def expected_centered(given):
    rows = given["x"].reshape(-1, BLOCK)
    return {"out": ((rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)).reshape(-1)}


def sums_of(x, size):
    padded = np.zeros(blocks(x.size, size) * size, x.dtype)
    padded[: x.size] = x
    return padded.reshape(-1, size).sum(axis=1)


CASES = [
    Case(
        name="nested device functions",
        inputs=lambda rng: {"points": real(rng, (70, 2)), "out": blank(70)},
        launches=[Launch(norms, 3, BLOCK, ("points", "out"))],
        expected=lambda given: {"out": np.hypot(*given["points"].T)},
        rtol=1e-6,
        kinds=("device function", "math"),
    ),
    Case(
        name="device function with a signature",
        inputs=lambda rng: {
            "a": rng.uniform(1, 2, 70),
            "b": rng.uniform(1, 2, 70),
            "out": blank(70, np.float64),
        },
        launches=[Launch(harmonic_means, 3, BLOCK, ("a", "b", "out"))],
        expected=lambda given: {"out": 2 * given["a"] * given["b"] / (given["a"] + given["b"])},
        kinds=("device function", "signature", "float64"),
    ),
    Case(
        name="device function with two results",
        inputs=lambda rng: {"x": whole(rng, 70), "out": blank(70)},
        launches=[Launch(butterflies, 2, BLOCK, ("x", "out"))],
        expected=lambda given: {
            "out": np.column_stack(
                [given["x"][::2] + given["x"][1::2], given["x"][::2] - given["x"][1::2]]
            ).reshape(-1)
        },
        kinds=("device function", "tuple"),
    ),
    Case(
        name="tuples to and from device functions",
        inputs=lambda rng: {"matrix": real(rng, (11, 17)), "out": blank((11, 17))},
        launches=[Launch(negate, (3, 2), (8, 8), ("matrix", "out"))],
        expected=lambda given: {"out": -given["matrix"]},
        kinds=("device function", "tuple", "2d"),
    ),
    Case(
        name="device function with barriers",
        inputs=lambda rng: {"x": real(rng, N, np.float64), "out": blank(N, np.float64)},
        launches=[Launch(center_blocks, 3, BLOCK, ("x", "out"))],
        expected=expected_centered,
        rtol=1e-12,
        kinds=("device function", "barrier", "shared", "float64"),
    ),
    Case(
        name="device functions with barriers in a loop",
        inputs=lambda rng: {"x": whole(rng, 109, dtype=np.int32), "out": blank(4, np.int32)},
        launches=[Launch(sums_so_far, 4, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": np.cumsum(sums_of(given["x"], BLOCK), dtype=np.int32)},
        kinds=("device function", "barrier", "shared", "loop"),
    ),
    Case(
        name="device functions that change an array",
        inputs=lambda rng: {"x": real(rng, 70), "length": 4},
        launches=[Launch(reverse_parts, 1, BLOCK, ("x", "length"))],
        expected=lambda given: {
            "x": np.concatenate([given["x"][s : s + 4][::-1] for s in range(0, 70, 4)]),
        },
        kinds=("device function", "while", "tuple"),
    ),
    Case(
        name="several returns and defaults",
        inputs=lambda rng: {
            "x": whole(rng, 70, dtype=np.int32),
            "signs": blank(70, np.int8),
            "clamped": blank(70, np.int32),
        },
        launches=[Launch(signs_and_clamps, 3, BLOCK, ("x", "signs", "clamped"))],
        expected=lambda given: {
            "signs": np.sign(given["x"]).astype(np.int8),
            "clamped": np.clip(given["x"], -3, 5) + np.clip(given["x"], -1, 2),
        },
        kinds=("device function", "early return", "int8"),
        simulator=False,  # it knows no keyword arguments
    ),
    Case(
        name="functions inside of a kernel",
        inputs=lambda rng: {"x": whole(rng, 70, dtype=np.int32), "out": blank(70, np.int32)},
        launches=[Launch(inner_functions, 3, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": 3 * (given["x"] - 1)},
        kinds=("closure",),
    ),
    Case(
        name="closure over a module constant",
        inputs=lambda rng: {"x": whole(rng, 70, dtype=np.int32), "out": blank(70, np.int32)},
        launches=[Launch(add_offset, 3, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": given["x"] + OFFSET},
        kinds=("closure",),
    ),
    Case(
        name="two kernels of one factory",
        inputs=lambda rng: {"x": whole(rng, 70), "cubes": blank(70), "fourths": blank(70)},
        launches=[
            Launch(cube, 3, BLOCK, ("x", "cubes")),
            Launch(fourth_power, 3, BLOCK, ("x", "fourths")),
        ],
        expected=lambda given: {"cubes": given["x"] ** 3, "fourths": given["x"] ** 4},
        kinds=("closure", "several launches"),
    ),
    Case(
        name="closure over a device function",
        inputs=lambda rng: {"x": whole(rng, 70), "out": blank(70)},
        launches=[Launch(shifted_square, 3, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": (given["x"] + 1) ** 2},
        kinds=("closure", "device function"),
    ),
    Case(
        name="closure over the size of a block",
        inputs=lambda rng: {"x": whole(rng, 150), "of_16": blank(10), "of_64": blank(3, np.float64)},
        launches=[
            Launch(sums_of_16, 10, 16, ("x", "of_16")),
            Launch(sums_of_64, 3, 64, ("x", "of_64")),
        ],
        expected=lambda given: {
            "of_16": sums_of(given["x"], 16),
            "of_64": sums_of(given["x"], 64).astype(np.float64),
        },
        kinds=("closure", "shared", "barrier", "several launches"),
    ),
    Case(
        name="puzzle: map with a guard",
        inputs=lambda rng: {"out": np.zeros(4, np.float32), "a": whole(rng, 4)},
        launches=[Launch(shift_map, (2, 1), (8, 1), ("out", "a"))],
        expected=lambda given: {"out": given["a"] + 10},
        kinds=("closure", "closure over cuda"),
        simulator=False,
    ),
    Case(
        name="puzzle: pooling",
        inputs=lambda rng: {"out": np.zeros(8, np.float32), "a": whole(rng, 8), "size": 8},
        launches=[Launch(pool, (1, 1), (POOL, 1), ("out", "a", "size"))],
        expected=lambda given: {
            "out": np.convolve(given["a"], np.ones(3, np.float32))[:8],
        },
        kinds=("closure", "closure over cuda", "shared", "barrier"),
        simulator=False,
    ),
    Case(
        name="puzzle: dot product",
        inputs=lambda rng: {"out": np.zeros(1, np.float32), "a": whole(rng, 11), "b": whole(rng, 11)},
        launches=[Launch(dot_of_block, 1, 16, ("out", "a", "b"))],
        expected=lambda given: {"out": np.array([given["a"] @ given["b"]])},
        kinds=("closure", "closure over cuda", "shared", "barrier"),
        simulator=False,
    ),
]
