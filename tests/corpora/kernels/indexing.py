"""Which thread takes which element: two and three dimensions, strides, views, maps."""

import numpy as np
from numba import cuda

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real, whole


@cuda.jit
def matrix_add(a, b, out):
    """out = a + b, in two dimensions"""
    row, col = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = a[row, col] + b[row, col]


@cuda.jit
def add_row_and_column(column, row, out):
    """out[y, x] = column[y] + row[x]; x runs along the columns, as neighbouring threads should"""
    x, y = cuda.grid(2)
    height, width = out.shape
    if x < width and y < height:
        out[y, x] = column[y] + row[x]


@cuda.jit
def volume_scale(volume, factor):
    """volume = factor volume, in three dimensions"""
    x, y, z = cuda.grid(3)
    if x < volume.shape[2] and y < volume.shape[1] and z < volume.shape[0]:
        volume[z, y, x] = factor * volume[z, y, x]


@cuda.jit
def where_am_i(out):
    """out[i] = block and thread of element i"""
    i = cuda.blockDim.x * cuda.blockIdx.x + cuda.threadIdx.x
    if i < out.size:
        out[i] = 1000 * cuda.blockIdx.x + cuda.threadIdx.x


@cuda.jit
def coordinates(out):
    """out[y, x] = all six coordinates and all sizes of a two-dimensional launch"""
    x = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    y = cuda.threadIdx.y + cuda.blockIdx.y * cuda.blockDim.y
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x, 0] = cuda.threadIdx.x
        out[y, x, 1] = cuda.threadIdx.y
        out[y, x, 2] = cuda.blockIdx.x
        out[y, x, 3] = cuda.blockIdx.y
        out[y, x, 4] = cuda.blockDim.x * 100 + cuda.blockDim.y
        out[y, x, 5] = cuda.gridDim.x * 100 + cuda.gridDim.y


@cuda.jit
def grid_stride_double(x, out):
    """out = 2 x, each thread takes every so many elements"""
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, x.size, stride):
        out[i] = 2 * x[i]


@cuda.jit
def grid_stride_while(x, out):
    """out = x + 1, with a while loop"""
    i = cuda.grid(1)
    while i < x.size:
        out[i] = x[i] + 1
        i += cuda.blockDim.x * cuda.gridDim.x


@cuda.jit
def grid_stride_2d(a, out):
    """out = 1 - a, with strides in both dimensions"""
    start_x, start_y = cuda.grid(2)
    stride_x, stride_y = cuda.gridsize(2)
    for y in range(start_y, a.shape[0], stride_y):
        for x in range(start_x, a.shape[1], stride_x):
            out[y, x] = 1 - a[y, x]


@cuda.jit
def every_third(x, out):
    """out = every third element of x"""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[3 * i]


@cuda.jit
def reverse(x, out):
    """out = x backwards"""
    i = cuda.grid(1)
    n = x.shape[0]
    if i < n:
        out[n - 1 - i] = x[i]


@cuda.jit
def roll(x, shift, out):
    """out = x, turned to the right by shift"""
    i = cuda.grid(1)
    if i < x.size:
        out[(i + shift) % x.size] = x[i]


@cuda.jit
def gather(x, index, out):
    """out[i] = x[index[i]]"""
    i = cuda.grid(1)
    if i < index.size:
        out[i] = x[index[i]]


@cuda.jit
def scatter(x, index, out):
    """out[index[i]] = x[i], for a permutation"""
    i = cuda.grid(1)
    if i < index.size:
        out[index[i]] = x[i]


@cuda.jit
def flat_to_matrix(flat, out):
    """fill a matrix from a flat array, one thread an element"""
    i = cuda.grid(1)
    height, width = out.shape
    if i < height * width:
        row = i // width
        col = i % width
        out[row, col] = flat[i]


@cuda.jit
def upper_triangle(a, out):
    """out = a above its diagonal, 1 on it, 0 below"""
    i, j = cuda.grid(2)
    rows, cols = a.shape
    if i >= rows or j >= cols:
        return
    if i == j:
        out[i, j] = 1
    elif i < j:
        out[i, j] = a[i, j]
    else:
        out[i, j] = 0


@cuda.jit
def flip_image(image):
    """mirror an image in place: each thread swaps one pair of pixels"""
    x, y = cuda.grid(2)
    height, width = image.shape
    if y < height and x < width // 2:
        left = image[y, x]
        right = image[y, width - 1 - x]
        image[y, x] = right
        image[y, width - 1 - x] = left


@cuda.jit
def to_gray(rgb, gray):
    """brightness of a coloured image, in whole numbers"""
    x, y = cuda.grid(2)
    if y < gray.shape[0] and x < gray.shape[1]:
        r = rgb[y, x, 0]
        g = rgb[y, x, 1]
        b = rgb[y, x, 2]
        gray[y, x] = (77 * r + 150 * g + 29 * b) // 256


@cuda.jit
def row_sums(matrix, sums):
    """one thread adds up one row, through a view of it"""
    i = cuda.grid(1)
    if i < matrix.shape[0]:
        row = matrix[i]
        total = 0.0
        for value in row:
            total += value
        sums[i] = total


@cuda.jit
def column_maxima(matrix, maxima):
    """one thread finds the largest element of one column"""
    j = cuda.grid(1)
    if j < matrix.shape[1]:
        best = matrix[0, j]
        for i in range(1, matrix.shape[0]):
            if matrix[i, j] > best:
                best = matrix[i, j]
        maxima[j] = best


@cuda.jit
def copy_block_slices(x, out):
    """each block copies its part of x through a slice"""
    start = cuda.blockIdx.x * cuda.blockDim.x
    part = x[start : start + cuda.blockDim.x]
    target = out[start : start + cuda.blockDim.x]
    tx = cuda.threadIdx.x
    if tx < part.size:
        target[tx] = part[tx]


@cuda.jit
def interleave(a, b, out):
    """out = a[0], b[0], a[1], b[1], …"""
    i = cuda.grid(1)
    if i < a.size:
        out[2 * i] = a[i]
        out[2 * i + 1] = b[i]


@cuda.jit
def outer_product(a, b, out):
    """out[i, j] = a[i] b[j]"""
    i, j = cuda.grid(2)
    if i < a.size and j < b.size:
        out[i, j] = a[i] * b[j]


@cuda.jit
def batched_rows(batch, weights, out):
    """out[b, row] = weights · batch[b, row]; blocks of the z axis are samples of the batch"""
    row = cuda.grid(1)
    sample = cuda.blockIdx.z
    if row < batch.shape[1]:
        total = 0
        for k in range(weights.shape[0]):
            total += weights[k] * batch[sample, row, k]
        out[sample, row] = total


N = 300
HEIGHT, WIDTH = 19, 29


def where(given):
    return [Launch(where_am_i, blocks(given["out"].size, 24), 24, ("out",))]


def expected_coordinates(given):
    height, width, _ = given["out"].shape
    y, x = np.mgrid[:height, :width]
    sizes = np.full_like(x, 804), np.full_like(x, 405)
    return {"out": np.stack([x % 8, y % 4, x // 8, y // 4, *sizes], axis=-1).astype(np.int32)}


CASES = [
    Case(
        name="matrix add",
        inputs=lambda rng: {
            "a": real(rng, (HEIGHT, WIDTH)),
            "b": real(rng, (HEIGHT, WIDTH)),
            "out": blank((HEIGHT, WIDTH)),
        },
        launches=[Launch(matrix_add, (blocks(HEIGHT, 8), blocks(WIDTH, 16)), (8, 16), ("a", "b", "out"))],
        expected=lambda given: {"out": given["a"] + given["b"]},
        kinds=("2d",),
    ),
    Case(
        name="row plus column",
        inputs=lambda rng: {
            "column": whole(rng, HEIGHT),
            "row": whole(rng, WIDTH),
            "out": blank((HEIGHT, WIDTH)),
        },
        launches=[
            Launch(
                add_row_and_column, (blocks(WIDTH, 16), blocks(HEIGHT, 4)), (16, 4), ("column", "row", "out")
            )
        ],
        expected=lambda given: {"out": given["column"][:, None] + given["row"]},
        kinds=("2d",),
    ),
    Case(
        name="volume in three dimensions",
        inputs=lambda rng: {"volume": real(rng, (5, 7, 11)), "factor": np.float32(1.5)},
        launches=[Launch(volume_scale, (3, 2, 3), (4, 4, 2), ("volume", "factor"))],
        expected=lambda given: {"volume": given["factor"] * given["volume"]},
        kinds=("3d",),
    ),
    Case(
        name="where am I",
        inputs=lambda rng: {"out": blank(100, np.int32)},
        launches=where,
        expected=lambda given: {
            "out": (1000 * (np.arange(100) // 24) + np.arange(100) % 24).astype(np.int32)
        },
        kinds=("indices",),
    ),
    Case(
        name="coordinates and sizes",
        inputs=lambda rng: {"out": blank((HEIGHT, WIDTH, 6), np.int32)},
        launches=[Launch(coordinates, (4, 5), (8, 4), ("out",))],
        expected=expected_coordinates,
        kinds=("2d", "indices"),
    ),
    Case(
        name="grid-stride loop",
        inputs=lambda rng: {"x": real(rng, N), "out": blank(N)},
        launches=[Launch(grid_stride_double, 3, 32, ("x", "out"))],
        expected=lambda given: {"out": 2 * given["x"]},
        kinds=("grid-stride",),
    ),
    Case(
        name="grid-stride while loop",
        inputs=lambda rng: {"x": whole(rng, N), "out": blank(N)},
        launches=[Launch(grid_stride_while, 2, 48, ("x", "out"))],
        expected=lambda given: {"out": given["x"] + 1},
        kinds=("grid-stride",),
    ),
    Case(
        name="grid-stride loop in two dimensions",
        inputs=lambda rng: {"a": whole(rng, (HEIGHT, WIDTH)), "out": blank((HEIGHT, WIDTH))},
        launches=[Launch(grid_stride_2d, (2, 1), (8, 4), ("a", "out"))],
        expected=lambda given: {"out": 1 - given["a"]},
        kinds=("grid-stride", "2d"),
    ),
    Case(
        name="every third element",
        inputs=lambda rng: {"x": real(rng, N), "out": blank(N // 3)},
        launches=[Launch(every_third, 2, 64, ("x", "out"))],
        expected=lambda given: {"out": given["x"][::3]},
        kinds=("strided",),
    ),
    Case(
        name="reverse",
        inputs=lambda rng: {"x": real(rng, N), "out": blank(N)},
        launches=[Launch(reverse, blocks(N, 64), 64, ("x", "out"))],
        expected=lambda given: {"out": given["x"][::-1]},
        kinds=("indices",),
    ),
    Case(
        name="roll",
        inputs=lambda rng: {"x": real(rng, N), "shift": 17, "out": blank(N)},
        launches=[Launch(roll, blocks(N, 64), 64, ("x", "shift", "out"))],
        expected=lambda given: {"out": np.roll(given["x"], 17)},
        kinds=("indices",),
    ),
    Case(
        name="gather",
        inputs=lambda rng: {
            "x": real(rng, N),
            "index": rng.integers(0, N, 150).astype(np.int32),
            "out": blank(150),
        },
        launches=[Launch(gather, 3, 64, ("x", "index", "out"))],
        expected=lambda given: {"out": given["x"][given["index"]]},
        kinds=("indices",),
    ),
    Case(
        name="scatter by a permutation",
        inputs=lambda rng: {"x": real(rng, N), "index": rng.permutation(N), "out": blank(N)},
        launches=[Launch(scatter, blocks(N, 64), 64, ("x", "index", "out"))],
        expected=lambda given: {"out": given["x"][np.argsort(given["index"])]},
        kinds=("indices",),
    ),
    Case(
        name="flat index to row and column",
        inputs=lambda rng: {"flat": real(rng, HEIGHT * WIDTH), "out": blank((HEIGHT, WIDTH))},
        launches=[Launch(flat_to_matrix, blocks(HEIGHT * WIDTH, 64), 64, ("flat", "out"))],
        expected=lambda given: {"out": given["flat"].reshape(HEIGHT, WIDTH)},
        kinds=("2d", "indices"),
    ),
    Case(
        name="upper triangle",
        inputs=lambda rng: {"a": real(rng, (HEIGHT, WIDTH)), "out": blank((HEIGHT, WIDTH))},
        launches=[Launch(upper_triangle, (3, 4), (8, 8), ("a", "out"))],
        expected=lambda given: {"out": np.triu(given["a"], 1) + np.eye(HEIGHT, WIDTH, dtype=np.float32)},
        kinds=("2d", "early return"),
    ),
    Case(
        name="flip an image in place",
        inputs=lambda rng: {"image": rng.integers(0, 256, (HEIGHT, WIDTH)).astype(np.uint8)},
        launches=[Launch(flip_image, (2, 5), (8, 4), ("image",))],
        expected=lambda given: {"image": given["image"][:, ::-1]},
        kinds=("2d", "uint8"),
    ),
    Case(
        name="gray image",
        inputs=lambda rng: {
            "rgb": rng.integers(0, 256, (HEIGHT, WIDTH, 3)).astype(np.int32),
            "gray": blank((HEIGHT, WIDTH), np.uint8),
        },
        launches=[Launch(to_gray, (4, 3), (8, 8), ("rgb", "gray"))],
        expected=lambda given: {"gray": (given["rgb"] @ np.array([77, 150, 29]) // 256).astype(np.uint8)},
        kinds=("2d", "uint8"),
    ),
    Case(
        name="row sums through views",
        inputs=lambda rng: {"matrix": whole(rng, (70, 9)), "sums": blank(70, np.float64)},
        launches=[Launch(row_sums, 3, 32, ("matrix", "sums"))],
        expected=lambda given: {"sums": given["matrix"].sum(axis=1, dtype=np.float64)},
        kinds=("view", "loop"),
    ),
    Case(
        name="column maxima",
        inputs=lambda rng: {"matrix": real(rng, (9, 70)), "maxima": blank(70)},
        launches=[Launch(column_maxima, 3, 32, ("matrix", "maxima"))],
        expected=lambda given: {"maxima": given["matrix"].max(axis=0)},
        kinds=("loop",),
    ),
    Case(
        name="slices of a block",
        inputs=lambda rng: {"x": real(rng, N), "out": blank(N)},
        launches=[Launch(copy_block_slices, blocks(N, 64), 64, ("x", "out"))],
        expected=lambda given: {"out": given["x"]},
        kinds=("view",),
    ),
    Case(
        name="interleave",
        inputs=lambda rng: {"a": real(rng, 100), "b": real(rng, 100), "out": blank(200)},
        launches=[Launch(interleave, 2, 64, ("a", "b", "out"))],
        expected=lambda given: {"out": np.column_stack([given["a"], given["b"]]).ravel()},
        kinds=("strided",),
    ),
    Case(
        name="outer product",
        inputs=lambda rng: {"a": real(rng, 13), "b": real(rng, 21), "out": blank((13, 21))},
        launches=[Launch(outer_product, (2, 3), (8, 8), ("a", "b", "out"))],
        expected=lambda given: {"out": np.outer(given["a"], given["b"])},
        kinds=("2d",),
    ),
    Case(
        name="a batch along z",
        inputs=lambda rng: {
            "batch": whole(rng, (3, 41, 6), dtype=np.int32),
            "weights": whole(rng, 6, dtype=np.int32),
            "out": blank((3, 41), np.int32),
        },
        launches=[Launch(batched_rows, (2, 1, 3), (32, 1, 1), ("batch", "weights", "out"))],
        expected=lambda given: {"out": given["batch"] @ given["weights"]},
        kinds=("3d", "loop"),
    ),
]
