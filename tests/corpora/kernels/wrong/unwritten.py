"""Outputs of which a part is never written: what was in the memory before stays."""

from functools import partial

import numpy as np
from numba import cuda, int32

from tests.corpora.kernels.case import Launch
from tests.corpora.kernels.values import blank, blocks, whole
from tests.corpora.kernels.wrong.case import GLOBAL, UNWRITTEN_OUTPUT, wrong

BLOCK = 32
TILE = 8


@cuda.jit
def double(x, out):
    """out = 2x"""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 2 * x[i]  # !finding


@cuda.jit
def double_all_but_the_last(x, out):
    """out = 2x"""
    i = cuda.grid(1)
    if i < x.size - 1:  # !finding
        out[i] = 2 * x[i]  # !finding


@cuda.jit
def negate_all_but_the_first(x, out):
    """out = -x"""
    i = cuda.grid(1)
    if i > 0 and i < x.size:  # !finding
        out[i] = -x[i]  # !finding


@cuda.jit
def every_other(x, out):
    """out = x²; each thread takes two elements that follow each other"""
    i = 2 * cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * x[i]  # !finding


@cuda.jit
def stride_of_twice_the_grid(x, out):
    """out = x + 1"""
    step = 2 * cuda.blockDim.x * cuda.gridDim.x  # !finding
    for i in range(cuda.grid(1), x.size, step):  # !finding
        out[i] = x[i] + 1  # !finding


@cuda.jit
def rectify(x, out):
    """out = x where it is positive, else 0"""
    i = cuda.grid(1)
    if i >= x.size or x[i] <= 0:  # !finding
        return  # !finding
    out[i] = x[i]  # !finding


@cuda.jit
def smooth(x, out):
    """the mean of the two neighbours; at both ends the element itself"""
    i = cuda.grid(1)
    if 0 < i < x.size - 1:  # !finding
        out[i] = 0.5 * (x[i - 1] + x[i + 1])  # !finding


@cuda.jit
def invert_of_a_square(image, out):
    """out = 255 - image"""
    x, y = cuda.grid(2)
    height = image.shape[0]
    if x < height and y < height:  # !finding
        out[y, x] = 255 - image[y, x]  # !finding


@cuda.jit
def invert(image, out):
    """out = 255 - image"""
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        out[y, x] = 255 - image[y, x]  # !finding


@cuda.jit
def sums_by_first_thread(x, partial):
    """each block's sum, by an atomic in shared memory"""
    total = cuda.shared.array(1, int32)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        total[0] = 0
    cuda.syncthreads()
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])
    cuda.syncthreads()
    if i == 0:  # !finding
        partial[cuda.blockIdx.x] = total[0]  # !finding


@cuda.jit
def parts_rounded_down(x, out):
    """out = 3x; each thread takes a part of the array"""
    threads = cuda.gridsize(1)
    part = x.size // threads  # !finding
    first = cuda.grid(1) * part
    for i in range(first, first + part):  # !finding
        out[i] = 3 * x[i]  # !finding


@cuda.jit
def mark_the_large(x, large, threshold):
    """1 where an element is larger than the threshold, else 0"""
    i = cuda.grid(1)
    if i < x.size and x[i] > threshold:  # !finding
        large[i] = 1  # !finding


@cuda.jit
def roots_until_negative(x, out):
    """twice each element that is not negative, else 0; a grid-stride loop"""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):  # !finding
        if x[i] < 0:
            out[i] = 0
            break  # !finding
        out[i] = 2 * x[i]  # !finding


@cuda.jit
def first_row_of_each_block(matrix, out):
    """twice a matrix: a block a row, a thread a column"""
    row = cuda.blockIdx.x
    col = cuda.threadIdx.x
    if col < matrix.shape[1]:
        out[row, col] = 2 * matrix[row, col]  # !finding


N = 150
HEIGHT, WIDTH = 19, 29
unwritten_output = partial(wrong, finding=UNWRITTEN_OUTPUT, space=GLOBAL, outputs=("out",))


def one_to_one(rng):
    return {"x": whole(rng, N), "out": blank(N)}


def pictures(rng):
    return {"image": whole(rng, (HEIGHT, WIDTH), 0, 256, np.int32), "out": blank((HEIGHT, WIDTH), np.int32)}


def expected_inverse(given):
    return {"out": (255 - given["image"]).astype(np.int32)}


CASES = [
    unwritten_output(
        "blocks rounded down",
        "n // BLOCK blocks are enough for n elements.",
        inputs=one_to_one,
        launches=[Launch(double, N // BLOCK, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": 2 * given["x"]},
    ),
    unwritten_output(
        "as many threads as there is room for in one block",
        "What one block cannot take, the next launch of it does by itself.",
        inputs=lambda rng: {"x": whole(rng, 1500), "out": blank(1500)},
        launches=[Launch(double, 1, 1024, ("x", "out"))],
        expected=lambda given: {"out": 2 * given["x"]},
    ),
    unwritten_output(
        "guard that leaves the last element out",
        "The last index that is safe is n - 2.",
        inputs=one_to_one,
        launches=[Launch(double_all_but_the_last, blocks(N, BLOCK), BLOCK, ("x", "out"))],
        expected=lambda given: {"out": 2 * given["x"]},
    ),
    unwritten_output(
        "guard that leaves the first element out",
        "Elements are counted from 1.",
        inputs=one_to_one,
        launches=[Launch(negate_all_but_the_first, blocks(N, BLOCK), BLOCK, ("x", "out"))],
        expected=lambda given: {"out": -given["x"]},
    ),
    unwritten_output(
        "second of two elements a thread forgotten",
        "With half as many threads each takes two elements by itself.",
        inputs=one_to_one,
        launches=[Launch(every_other, 3, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": given["x"] ** 2},
    ),
    unwritten_output(
        "stride of twice the grid",
        "The stride of a grid-stride loop may be larger than the grid.",
        inputs=one_to_one,
        launches=[Launch(stride_of_twice_the_grid, 2, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": given["x"] + 1},
    ),
    unwritten_output(
        "early return where a zero was due",
        "An output array starts with zeros.",
        inputs=one_to_one,
        launches=[Launch(rectify, blocks(N, BLOCK), BLOCK, ("x", "out"))],
        expected=lambda given: {"out": np.maximum(given["x"], 0)},
    ),
    unwritten_output(
        "ends of a stencil never written",
        "What a stencil leaves out keeps its value in the output.",
        inputs=one_to_one,
        launches=[Launch(smooth, blocks(N, BLOCK), BLOCK, ("x", "out"))],
        expected=lambda given: {
            "out": np.concatenate(
                [given["x"][:1], (given["x"][:-2] + given["x"][2:]) / 2, given["x"][-1:]]
            ).astype(np.float32)
        },
    ),
    unwritten_output(
        "height as the limit of both directions",
        "An image is as wide as it is high.",
        inputs=pictures,
        launches=[Launch(invert_of_a_square, (4, 3), (TILE, TILE), ("image", "out"))],
        expected=expected_inverse,
    ),
    unwritten_output(
        "grid with its sides swapped",
        "A grid is given as rows and columns, like a shape.",
        inputs=pictures,
        launches=[Launch(invert, (3, 4), (TILE, TILE), ("image", "out"))],
        expected=expected_inverse,
    ),
    unwritten_output(
        "thread 0 of the grid for thread 0 of a block",
        "Every block has a thread whose number in the grid is 0.",
        inputs=lambda rng: {"x": whole(rng, N, dtype=np.int32), "partial": blank(5, np.int32)},
        launches=[Launch(sums_by_first_thread, 5, BLOCK, ("x", "partial"))],
        expected=lambda given: {
            "partial": np.add.reduceat(given["x"], range(0, N, BLOCK), dtype=given["x"].dtype)
        },
        outputs=("partial",),
    ),
    unwritten_output(
        "parts of an array rounded down",
        "An array can be cut into as many equal parts as there are threads.",
        inputs=one_to_one,
        launches=[Launch(parts_rounded_down, 2, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": 3 * given["x"]},
    ),
    unwritten_output(
        "marks set but never cleared",
        "Where a condition does not hold, nothing has to be stored.",
        inputs=lambda rng: {"x": whole(rng, N), "large": blank(N, np.int32), "threshold": np.float32(4)},
        launches=[Launch(mark_the_large, blocks(N, BLOCK), BLOCK, ("x", "large", "threshold"))],
        expected=lambda given: {"large": (given["x"] > 4).astype(np.int32)},
        outputs=("large",),
    ),
    unwritten_output(
        "break where the loop should go on",
        "break ends the work on one element.",
        inputs=one_to_one,
        launches=[Launch(roots_until_negative, 1, BLOCK, ("x", "out"))],
        expected=lambda given: {"out": np.maximum(2 * given["x"], 0)},
    ),
    unwritten_output(
        "columns for rows at launch",
        "The first number of a launch is the number of threads a block.",
        inputs=lambda rng: {"matrix": whole(rng, (20, 12)), "out": blank((20, 12))},
        launches=[Launch(first_row_of_each_block, 12, 20, ("matrix", "out"))],
        expected=lambda given: {"out": 2 * given["matrix"]},
    ),
]
