"""Accesses outside of an array: too high, negative, and in every kind of memory."""

from functools import partial

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Launch
from tests.corpora.kernels.values import blank, blocks, real, whole
from tests.corpora.kernels.wrong.case import GLOBAL, LOCAL, OUT_OF_BOUNDS, SHARED, wrong

BLOCK = 32
BLOCK_AND_ONE = BLOCK + 1
TILE = 8


@cuda.jit
def add_without_guard(a, b, out):
    """out = a + b"""
    i = cuda.grid(1)
    out[i] = a[i] + b[i]  # !finding


@cuda.jit
def double_up_to_and_with_n(x, out):
    """out = 2x"""
    i = cuda.grid(1)
    if i <= x.size:
        out[i] = 2 * x[i]  # !finding


@cuda.jit
def guard_by_thread(x, out):
    """out = x + 1"""
    i = cuda.grid(1)
    if cuda.threadIdx.x < x.size:
        out[i] = x[i] + 1  # !finding


@cuda.jit
def guard_after_read(x, out):
    """out = x²"""
    i = cuda.grid(1)
    value = x[i]  # !finding
    if i < x.size:
        out[i] = value * value


@cuda.jit
def guard_second(x, count):
    """how many are positive"""
    i = cuda.grid(1)
    if x[i] > 0 and i < x.size:  # !finding
        cuda.atomic.add(count, 0, 1)


@cuda.jit
def mean_with_next(x, out):
    """each element and the next; the last stays"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = (x[i] + x[i + 1]) / 2  # !finding


@cuda.jit
def difference_to_previous(x, out):
    """out[i] = x[i] - x[i - 1], and x[0] at the beginning"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] - x[i - 1]  # !finding


@cuda.jit
def before_each_row(image, out):
    """each pixel and the one on its left, in the row"""
    col, row = cuda.grid(2)
    if row < image.shape[0] and col < image.shape[1]:
        out[row, col] = image[row, col] + image[row, col - 1]  # !finding


@cuda.jit
def by_a_negative_step(x, out, step):
    """the element one step further; the step is an argument"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i + step] if i + step < x.size else 0  # !finding


@cuda.jit
def last_by_a_variable(x, out):
    """the smallest of the last elements, in a loop that goes too far"""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[0]
        for k in range(1, -2, -1):
            out[i] = min(out[i], x[k])  # !finding


@cuda.jit
def shift_right(x, out, by):
    """move everything up by some places; zeros come in"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i - by]  # !finding


@cuda.jit
def jacobi_without_lower_edge(old, new):
    """the mean of the four neighbours, of the inner points"""
    row, col = cuda.grid(2)
    rows, cols = old.shape
    if row < rows - 1 and 0 < col < cols - 1:
        above = old[row - 1, col]  # !finding
        new[row, col] = 0.25 * (above + old[row + 1, col] + old[row, col - 1] + old[row, col + 1])


@cuda.jit
def brighten_swapped(image, out):
    """out = image + 10"""
    x, y = cuda.grid(2)
    height, width = image.shape
    if x < width and y < height:
        out[y, x] = image[x, y] + 10  # !finding


@cuda.jit
def double_of_a_square(a, out):
    """out = 2a"""
    row, col = cuda.grid(2)
    rows = a.shape[0]
    if row < rows and col < rows:
        out[row, col] = 2 * a[row, col]  # !finding


@cuda.jit
def invert_with_half_a_guard(image, out):
    """out = 255 - image"""
    x, y = cuda.grid(2)
    if x < image.shape[1]:
        out[y, x] = 255 - image[y, x]  # !finding


@cuda.jit
def copy_flat(image, out, height, width):
    """copy an image that is stored row by row"""
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y * width + x] = image[y * height + x]  # !finding


@cuda.jit
def four_a_thread(x, out):
    """each thread doubles four elements that follow each other"""
    first = 4 * cuda.grid(1)
    if first < x.size:
        for k in range(4):
            out[first + k] = 2 * x[first + k]  # !finding


@cuda.jit
def sum_of_two_blocks(x, partial):
    """each block adds up twice as many elements as it has threads"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.blockIdx.x * 2 * BLOCK + tid
    shared[tid] = 0
    if i < x.size:
        shared[tid] = x[i] + x[i + BLOCK]  # !finding
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if tid < s:
            shared[tid] += shared[tid + s]
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def window_with_half_a_halo(x, out):
    """each element and its two neighbours, through shared memory"""
    tile = cuda.shared.array(BLOCK_AND_ONE, int32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    n = x.size
    tile[tid + 1] = x[i] if i < n else 0
    if tid == 0:
        tile[0] = x[i - 1] if i > 0 else 0
        tile[BLOCK + 1] = x[i + BLOCK] if i + BLOCK < n else 0  # !finding
    cuda.syncthreads()
    if i < n:
        out[i] = tile[tid] + tile[tid + 1] + tile[tid + 2]  # !finding


@cuda.jit
def sum_from_the_whole_block(x, partial):
    """each block's sum"""
    shared = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[tid] = x[i] if i < x.size else 0
    cuda.syncthreads()
    s = BLOCK
    while s > 0:
        if tid < s:
            shared[tid] += shared[tid + s]  # !finding
        cuda.syncthreads()
        s //= 2
    if tid == 0:
        partial[cuda.blockIdx.x] = shared[0]


@cuda.jit
def reverse_blocks(x, out):
    """turn each block around"""
    buffer = cuda.shared.array(BLOCK, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    buffer[tid] = x[i]  # !finding
    cuda.syncthreads()
    out[i] = buffer[cuda.blockDim.x - 1 - tid]  # !finding


@cuda.jit
def transpose_through_wide_tile(a, out):
    """out = aᵀ through a tile that is wider than high"""
    tile = cuda.shared.array((TILE, 16), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x, y = cuda.grid(2)
    tile[tx, ty] = a[y, x]  # !finding
    cuda.syncthreads()
    out[x, y] = tile[tx, ty]  # !finding


@cuda.jit
def reverse_dynamic(x, out):
    """turn each block around, in as much shared memory as the launch gives"""
    buffer = cuda.shared.array(0, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    buffer[tid] = x[i]  # !finding
    cuda.syncthreads()
    out[i] = buffer[cuda.blockDim.x - 1 - tid]  # !finding


@cuda.jit
def histogram_with_highest_value(values, low, high, counts):
    """equal bins from low to high; the last bin includes high"""
    i = cuda.grid(1)
    bins = counts.size
    if i < values.size:
        b = int((values[i] - low) / (high - low) * bins)
        cuda.atomic.add(counts, b, 1)  # !finding


@cuda.jit
def histogram_with_missing(labels, counts):
    """count the labels; -1 means that there is none"""
    i = cuda.grid(1)
    if i < labels.size:
        cuda.atomic.add(counts, labels[i], 1)  # !finding


@cuda.jit
def private_histogram(values, counts):
    """bins of the block's own; values above the last bin are not counted"""
    private = cuda.shared.array(16, int32)
    tid = cuda.threadIdx.x
    if tid < 16:
        private[tid] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(private, values[i], 1)  # !finding
    cuda.syncthreads()
    if tid < 16:
        cuda.atomic.add(counts, tid, private[tid])


@cuda.jit
def sum_of_digits(numbers, out):
    """take a number apart into a local array, and add up its digits"""
    digits = cuda.local.array(5, dtype=int32)
    i = cuda.grid(1)
    if i < numbers.size:
        count = 0
        rest = numbers[i]
        while rest > 0:
            digits[count] = rest % 10  # !finding
            rest //= 10
            count += 1
        total = 0
        for k in range(count):
            total += digits[k]  # !finding
        out[i] = total


@cuda.jit
def gather_from_one(x, places, out):
    """out[i] = x[places[i]]; the places were counted from 1"""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[places[i]]  # !finding


@cuda.jit
def matmul_along_rows(a, b, c):
    """c = a·b"""
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = float32(0)
        for k in range(a.shape[0]):
            total += a[row, k] * b[k, col]  # !finding
        c[row, col] = total


@cuda.jit
def matmul_ragged(a, b, c):
    """c = a·b through tiles, of square matrices"""
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    col, row = cuda.grid(2)
    n = c.shape[0]
    total = float32(0)
    for t in range((n + TILE - 1) // TILE):
        tile_a[ty, tx] = a[row, t * TILE + tx]  # !finding
        tile_b[ty, tx] = b[t * TILE + ty, col]  # !finding
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < n and col < n:
        c[row, col] = total


@cuda.jit
def reverse_from_n(x, out):
    """out is x backwards"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[x.size - i]  # !finding


@cuda.jit
def max_pool_with_rest(image, pooled):
    """the largest of each 2×2 square; at the edge of what is there of it"""
    x, y = cuda.grid(2)
    if y < pooled.shape[0] and x < pooled.shape[1]:
        best = image[2 * y, 2 * x]
        for i in range(2):
            for j in range(2):
                best = max(best, image[2 * y + i, 2 * x + j])  # !finding
        pooled[y, x] = best


@cuda.jit
def convolve_without_edges(signal, taps, out):
    """convolution in one dimension; outside lie zeros"""
    i = cuda.grid(1)
    if i < signal.size:
        total = float32(0)
        for k in range(taps.size):
            total += taps[k] * signal[i + taps.size // 2 - k]  # !finding
        out[i] = total


N = 100
HEIGHT, WIDTH = 19, 29
out_of_bounds = partial(wrong, finding=OUT_OF_BOUNDS)


def one_array(dtype=np.float32):
    return lambda rng: {"x": whole(rng, N, dtype=dtype), "out": blank(N, dtype)}


def on_vector(kernel, names=("x", "out")):
    return [Launch(kernel, blocks(N, BLOCK), BLOCK, names)]


def pictures(shape=(HEIGHT, WIDTH), out=None, dtype=np.int32):
    return lambda rng: {
        "image": rng.integers(0, 200, shape).astype(dtype),
        "out": blank(shape if out is None else out, dtype),
    }


def on_image(kernel, height, width, names=("image", "out")):
    return [Launch(kernel, (blocks(width, TILE), blocks(height, TILE)), (TILE, TILE), names)]


def sums_by(x, size):
    return np.add.reduceat(x, range(0, x.size, size))


def expected_jacobi(given):
    old, new = given["old"], given["new"].copy()
    new[1:-1, 1:-1] = (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]) / 4
    return {"new": new}


def expected_pool(given):
    padded = np.pad(given["image"], 1, "edge")[1:, 1:]
    return {"pooled": padded[:20, :30].reshape(10, 2, 15, 2).max(axis=(1, 3))}


def reals_with_highest(rng):
    values = np.append(rng.uniform(0, 1, N - 3), [1, 0, 1]).astype(np.float32)
    return {"values": values, "low": np.float32(0), "high": np.float32(1), "counts": np.zeros(8, np.int32)}


def matrices(shape_a, shape_b):
    return lambda rng: {
        "a": whole(rng, shape_a),
        "b": whole(rng, shape_b),
        "c": blank((shape_a[0], shape_b[1])),
    }


CASES = [
    out_of_bounds(
        "sum of vectors without a guard",
        "There are exactly as many threads as elements.",
        inputs=lambda rng: {"a": whole(rng, N), "b": whole(rng, N), "out": blank(N)},
        launches=on_vector(add_without_guard, ("a", "b", "out")),
        expected=lambda given: {"out": given["a"] + given["b"]},
        space=GLOBAL,
        often_right=True,
    ),
    out_of_bounds(
        "guard that lets n through",
        "The last index is n.",
        inputs=one_array(),
        launches=on_vector(double_up_to_and_with_n),
        expected=lambda given: {"out": 2 * given["x"]},
        space=GLOBAL,
        often_right=True,
    ),
    out_of_bounds(
        "guard on the thread's number in its block",
        "threadIdx.x is the number of the element.",
        inputs=one_array(),
        launches=on_vector(guard_by_thread),
        expected=lambda given: {"out": given["x"] + 1},
        space=GLOBAL,
        often_right=True,
    ),
    out_of_bounds(
        "guard after the read",
        "Only writing outside of an array does harm.",
        inputs=one_array(),
        launches=on_vector(guard_after_read),
        expected=lambda given: {"out": given["x"] ** 2},
        space=GLOBAL,
        often_right=True,
    ),
    out_of_bounds(
        "guard on the right of the and",
        "The order of the two conditions does not matter.",
        inputs=lambda rng: {"x": whole(rng, N), "count": np.zeros(1, np.int32)},
        launches=on_vector(guard_second, ("x", "count")),
        expected=lambda given: {"count": np.array([(given["x"] > 0).sum()], np.int32)},
        space=GLOBAL,
        often_right=True,
    ),
    out_of_bounds(
        "last element has no next",
        "A guard for i is a guard for i + 1.",
        inputs=one_array(),
        launches=on_vector(mean_with_next),
        expected=lambda given: {
            "out": np.append((given["x"][:-1] + given["x"][1:]) / 2, given["out"][-1:]).astype(np.float32)
        },
        space=GLOBAL,
    ),
    out_of_bounds(
        "first element has no previous",
        "Before the first element lies a zero.",
        inputs=one_array(),
        launches=on_vector(difference_to_previous),
        expected=lambda given: {"out": np.diff(given["x"], prepend=np.float32(0))},
        space=GLOBAL,
    ),
    out_of_bounds(
        "shift reads before the array",
        "What comes in from outside of an array is zero.",
        inputs=lambda rng: {"x": whole(rng, N), "out": blank(N), "by": 5},
        launches=on_vector(shift_right, ("x", "out", "by")),
        expected=lambda given: {"out": np.append(np.zeros(5, np.float32), given["x"][:-5])},
        space=GLOBAL,
    ),
    out_of_bounds(
        "stencil without its lower edge",
        "A guard is against too large an index only.",
        inputs=lambda rng: {
            "old": whole(rng, (HEIGHT, WIDTH), dtype=np.float64),
            "new": blank((HEIGHT, WIDTH), np.float64),
        },
        launches=[Launch(jacobi_without_lower_edge, (3, 4), (8, 8), ("old", "new"))],
        expected=expected_jacobi,
        space=GLOBAL,
    ),
    out_of_bounds(
        "x and y swapped",
        "The first index of an image is x.",
        inputs=pictures(),
        launches=on_image(brighten_swapped, HEIGHT, WIDTH),
        expected=lambda given: {"out": given["image"] + np.int32(10)},
        space=GLOBAL,
    ),
    out_of_bounds(
        "one side for both directions",
        "A matrix is square.",
        inputs=lambda rng: {"a": whole(rng, (WIDTH, HEIGHT)), "out": blank((WIDTH, HEIGHT))},
        launches=[Launch(double_of_a_square, (4, 4), (8, 8), ("a", "out"))],
        expected=lambda given: {"out": 2 * given["a"]},
        space=GLOBAL,
        often_right=True,
    ),
    out_of_bounds(
        "guard in one direction of two",
        "The grid is ragged in x only.",
        inputs=pictures(),
        launches=on_image(invert_with_half_a_guard, HEIGHT, WIDTH),
        expected=lambda given: {"out": (255 - given["image"]).astype(np.int32)},
        space=GLOBAL,
        often_right=True,
    ),
    out_of_bounds(
        "height for width in a flat image",
        "A row is as long as the image is high.",
        inputs=lambda rng: {
            "image": whole(rng, HEIGHT * WIDTH, dtype=np.int32),
            "out": blank(HEIGHT * WIDTH, np.int32),
            "height": WIDTH,
            "width": HEIGHT,
        },
        launches=on_image(copy_flat, WIDTH, HEIGHT, ("image", "out", "height", "width")),
        expected=lambda given: {"out": given["image"]},
        space=GLOBAL,
    ),
    out_of_bounds(
        "four elements a thread, one guard",
        "If the first of a thread's elements is inside, all are.",
        inputs=lambda rng: {"x": whole(rng, 98), "out": blank(98)},
        launches=[Launch(four_a_thread, 1, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": 2 * given["x"]},
        space=GLOBAL,
        often_right=True,
    ),
    out_of_bounds(
        "second element of a reduction's load",
        "The guard for the first element holds for the second, a block away.",
        inputs=lambda rng: {"x": whole(rng, N), "partial": blank(2)},
        launches=[Launch(sum_of_two_blocks, 2, BLOCK, ("x", "partial"))],
        expected=lambda given: {"partial": sums_by(given["x"], 2 * BLOCK)},
        space=GLOBAL,
        often_right=True,
    ),
    out_of_bounds(
        "halo on one side only",
        "A window of three needs one cell more than the block has threads.",
        inputs=one_array(np.int32),
        launches=on_vector(window_with_half_a_halo),
        expected=lambda given: {
            "out": np.convolve(given["x"], np.ones(3, np.int32), "same").astype(np.int32)
        },
        space=SHARED,
        often_right=True,
    ),
    out_of_bounds(
        "reduction starts with the whole block",
        "The first step of the tree has as many adders as threads.",
        inputs=lambda rng: {"x": whole(rng, N), "partial": blank(4)},
        launches=on_vector(sum_from_the_whole_block, ("x", "partial")),
        expected=lambda given: {"partial": sums_by(given["x"], BLOCK)},
        space=SHARED,
    ),
    out_of_bounds(
        "block larger than its shared array",
        "The size of a block can be changed at launch without a change to the kernel.",
        inputs=lambda rng: {"x": whole(rng, 128), "out": blank(128)},
        launches=[Launch(reverse_blocks, 2, 2 * BLOCK, ("x", "out"))],
        expected=lambda given: {"out": given["x"].reshape(-1, 64)[:, ::-1].reshape(-1)},
        space=SHARED,
        often_right=True,
    ),
    out_of_bounds(
        "tile with its sides swapped",
        "A tile of 8 rows and 16 columns is indexed with x first.",
        inputs=lambda rng: {"a": whole(rng, (16, 32)), "out": blank((32, 16))},
        launches=[Launch(transpose_through_wide_tile, (2, 2), (16, TILE), ("a", "out"))],
        expected=lambda given: {"out": given["a"].T},
        space=SHARED,
    ),
    out_of_bounds(
        "dynamic shared memory counted in elements",
        "The launch asks for shared memory in elements.",
        inputs=lambda rng: {"x": whole(rng, 128), "out": blank(128)},
        launches=[Launch(reverse_dynamic, 4, BLOCK, ("x", "out"), shared=BLOCK)],
        expected=lambda given: {"out": given["x"].reshape(-1, BLOCK)[:, ::-1].reshape(-1)},
        space=SHARED,
        often_right=True,
    ),
    out_of_bounds(
        "highest value of a histogram",
        "A value scaled to between 0 and 1 always falls into a bin.",
        inputs=reals_with_highest,
        launches=on_vector(histogram_with_highest_value, ("values", "low", "high", "counts")),
        expected=lambda given: {
            "counts": np.bincount(np.minimum((given["values"] * 8).astype(int), 7), minlength=8).astype(
                np.int32
            )
        },
        space=GLOBAL,
    ),
    out_of_bounds(
        "label -1 counted",
        "Counting a label that is not there counts nothing.",
        inputs=lambda rng: {"labels": whole(rng, N, -1, 6, np.int32), "counts": np.zeros(6, np.int32)},
        launches=on_vector(histogram_with_missing, ("labels", "counts")),
        expected=lambda given: {
            "counts": np.bincount(given["labels"][given["labels"] >= 0], minlength=6).astype(np.int32)
        },
        space=GLOBAL,
    ),
    out_of_bounds(
        "values above the last private bin",
        "The data know how many bins there are.",
        inputs=lambda rng: {"values": whole(rng, N, 0, 20, np.int32), "counts": np.zeros(16, np.int32)},
        launches=on_vector(private_histogram, ("values", "counts")),
        expected=lambda given: {
            "counts": np.bincount(given["values"], minlength=20)[:16].astype(np.int32),
        },
        space=SHARED,
        often_right=True,
    ),
    out_of_bounds(
        "local array too short",
        "No number has more than five digits.",
        inputs=lambda rng: {"numbers": whole(rng, N, 0, 10**7, np.int32), "out": blank(N, np.int32)},
        launches=on_vector(sum_of_digits, ("numbers", "out")),
        expected=lambda given: {
            "out": np.array([sum(map(int, str(number))) for number in given["numbers"]], np.int32)
        },
        space=LOCAL,
        often_right=True,
    ),
    out_of_bounds(
        "left neighbour of the first column",
        "At the edge of an image the neighbour is the pixel itself.",
        inputs=lambda rng: {"image": whole(rng, (9, 11)), "out": blank((9, 11))},
        launches=[Launch(before_each_row, (2, 2), (TILE, TILE), ("image", "out"))],
        expected=lambda given: {"out": given["image"] + np.pad(given["image"], ((0, 0), (1, 0)))[:, :-1]},
        space=GLOBAL,
        often_right=True,
    ),
    out_of_bounds(
        "step backwards without a guard",
        "A guard at the upper end guards both ends.",
        inputs=lambda rng: {"x": whole(rng, N), "out": blank(N), "step": -2},
        launches=on_vector(by_a_negative_step, ("x", "out", "step")),
        expected=lambda given: {"out": np.append(np.zeros(2, np.float32), given["x"][:-2])},
        space=GLOBAL,
        often_right=True,
    ),
    out_of_bounds(
        "loop downwards past zero",
        "The end of a range is the last value.",
        inputs=lambda rng: {"x": whole(rng, N), "out": blank(N)},
        launches=on_vector(last_by_a_variable),
        expected=lambda given: {"out": np.full(N, given["x"][:2].min(), np.float32)},
        space=GLOBAL,
        often_right=True,
    ),
    out_of_bounds(
        "places counted from one",
        "Indices from another language can be used as they are.",
        inputs=lambda rng: {
            "x": whole(rng, N),
            "places": (1 + rng.permutation(N)).astype(np.int32),
            "out": blank(N),
        },
        launches=on_vector(gather_from_one, ("x", "places", "out")),
        expected=lambda given: {"out": given["x"][given["places"] - 1]},
        space=GLOBAL,
    ),
    out_of_bounds(
        "matrix product over the wrong side",
        "The loop of a matrix product runs over the rows of the first matrix.",
        inputs=matrices((20, 12), (12, 9)),
        launches=[Launch(matmul_along_rows, (2, 3), (TILE, TILE), ("a", "b", "c"))],
        expected=lambda given: {"c": given["a"] @ given["b"]},
        space=GLOBAL,
    ),
    out_of_bounds(
        "tiles over the edge of a matrix",
        "A guard where the result is stored is enough.",
        inputs=matrices((20, 20), (20, 20)),
        launches=[Launch(matmul_ragged, (3, 3), (TILE, TILE), ("a", "b", "c"))],
        expected=lambda given: {"c": given["a"] @ given["b"]},
        space=GLOBAL,
    ),
    out_of_bounds(
        "backwards from n",
        "The mirror of i is n - i.",
        inputs=one_array(),
        launches=on_vector(reverse_from_n),
        expected=lambda given: {"out": given["x"][::-1]},
        space=GLOBAL,
    ),
    out_of_bounds(
        "pooling an odd image",
        "Every square of an image is whole.",
        inputs=lambda rng: {"image": real(rng, (HEIGHT, WIDTH)), "pooled": blank((10, 15))},
        launches=[Launch(max_pool_with_rest, (2, 2), (TILE, TILE), ("image", "pooled"))],
        expected=expected_pool,
        space=GLOBAL,
    ),
    out_of_bounds(
        "convolution over both ends",
        "Outside of the signal the GPU reads zeros.",
        inputs=lambda rng: {"signal": whole(rng, N), "taps": whole(rng, 5, 1), "out": blank(N)},
        launches=on_vector(convolve_without_edges, ("signal", "taps", "out")),
        expected=lambda given: {"out": np.convolve(given["signal"], given["taps"], "same")},
        space=GLOBAL,
    ),
]
