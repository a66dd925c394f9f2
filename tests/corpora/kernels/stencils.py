"""Each element from its neighbours, with halos."""

import numpy as np
from numba import cuda, float32, int32

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real, whole

RADIUS = 3
BLOCK = 32
BLOCK_AND_HALO = BLOCK + 2 * RADIUS
TILE = 8
TILE_AND_HALO = TILE + 2


@cuda.jit
def differences(x, out):
    """out[i] = x[i + 1] - x[i]"""
    i = cuda.grid(1)
    if i < x.size - 1:
        out[i] = x[i + 1] - x[i]


@cuda.jit
def window_sum(x, out):
    """sum of the neighbours up to RADIUS away, through shared memory with a halo"""
    tile = cuda.shared.array(BLOCK_AND_HALO, int32)
    i = cuda.grid(1)
    n = x.size
    local = cuda.threadIdx.x + RADIUS
    tile[local] = x[i] if i < n else 0
    if cuda.threadIdx.x < RADIUS:
        left = i - RADIUS
        right = i + BLOCK
        tile[local - RADIUS] = x[left] if left >= 0 else 0
        tile[local + BLOCK] = x[right] if right < n else 0
    cuda.syncthreads()
    if i < n:
        total = 0
        for offset in range(-RADIUS, RADIUS + 1):
            total += tile[local + offset]
        out[i] = total


@cuda.jit
def convolve(signal, taps, out):
    """convolution in one dimension; outside lie zeros"""
    i = cuda.grid(1)
    n = signal.size
    if i < n:
        half = taps.size // 2
        total = float32(0)
        for k in range(taps.size):
            j = i + half - k
            if j >= 0 and j < n:
                total += taps[k] * signal[j]
        out[i] = total


@cuda.jit
def jacobi(old, new):
    """one step: each inner point becomes the mean of its four neighbours"""
    row, col = cuda.grid(2)
    rows, cols = old.shape
    if 0 < row < rows - 1 and 0 < col < cols - 1:
        new[row, col] = 0.25 * (old[row - 1, col] + old[row + 1, col] + old[row, col - 1] + old[row, col + 1])


@cuda.jit
def five_points_shared(a, out):
    """a 5-point stencil through a tile with a halo; the threads at the rim load it"""
    tile = cuda.shared.array((TILE_AND_HALO, TILE_AND_HALO), float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x + 1
    ty = cuda.threadIdx.y + 1
    height, width = a.shape
    inside = x < width and y < height
    if inside:
        tile[ty, tx] = a[y, x]
        if tx == 1:
            tile[ty, 0] = a[y, x - 1] if x > 0 else 0
        if tx == TILE or x == width - 1:
            tile[ty, tx + 1] = a[y, x + 1] if x < width - 1 else 0
        if ty == 1:
            tile[0, tx] = a[y - 1, x] if y > 0 else 0
        if ty == TILE or y == height - 1:
            tile[ty + 1, tx] = a[y + 1, x] if y < height - 1 else 0
    cuda.syncthreads()
    if inside:
        neighbours = tile[ty, tx - 1] + tile[ty, tx + 1] + tile[ty - 1, tx] + tile[ty + 1, tx]
        out[y, x] = neighbours - 4 * tile[ty, tx]


@cuda.jit
def game_of_life(board, following):
    """one generation; outside of the board all is dead"""
    row, col = cuda.grid(2)
    rows, cols = board.shape
    if row >= rows or col >= cols:
        return
    alive = 0
    for r in range(max(row - 1, 0), min(row + 2, rows)):
        for c in range(max(col - 1, 0), min(col + 2, cols)):
            if r != row or c != col:
                alive += board[r, c]
    if board[row, col]:
        following[row, col] = 1 if alive == 2 or alive == 3 else 0
    else:
        following[row, col] = 1 if alive == 3 else 0


@cuda.jit
def game_of_life_on_a_torus(board, following):
    """one generation; the board's edges meet"""
    x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    y = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    height, width = board.shape
    if x < width and y < height:
        alive = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if dx == 0 and dy == 0:
                    continue
                alive += board[(y + dy + height) % height, (x + dx + width) % width]
        following[y, x] = alive == 3 or (alive == 2 and board[y, x] == 1)


@cuda.jit
def convolve_2d(image, mask, out):
    """convolution with a small mask; the nearest pixel stands for what lies outside"""
    col, row = cuda.grid(2)
    height, width = image.shape
    if row < height and col < width:
        half_y = mask.shape[0] // 2
        half_x = mask.shape[1] // 2
        total = 0.0
        for i in range(mask.shape[0]):
            for j in range(mask.shape[1]):
                y = min(max(row + i - half_y, 0), height - 1)
                x = min(max(col + j - half_x, 0), width - 1)
                total += mask[i, j] * image[y, x]
        out[row, col] = total


@cuda.jit
def convolve_2d_shared(image, mask, out):
    """convolution with a 3×3 mask; the block loads tile and halo with a loop over both"""
    tile = cuda.shared.array((TILE_AND_HALO, TILE_AND_HALO), dtype=np.int32)
    height, width = image.shape
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    first_x = cuda.blockIdx.x * TILE - 1
    first_y = cuda.blockIdx.y * TILE - 1
    for i in range(ty, TILE_AND_HALO, TILE):
        for j in range(tx, TILE_AND_HALO, TILE):
            y = first_y + i
            x = first_x + j
            if 0 <= y < height and 0 <= x < width:
                tile[i, j] = image[y, x]
            else:
                tile[i, j] = 0
    cuda.syncthreads()

    x, y = cuda.grid(2)
    if y < height and x < width:
        total = 0
        for i in range(3):
            for j in range(3):
                total += mask[i, j] * tile[ty + i, tx + j]
        out[y, x] = total


@cuda.jit
def box_blur(image, blurred):
    """mean of the 3×3 neighbours that there are, in whole numbers"""
    x, y = cuda.grid(2)
    height, width = image.shape
    if x < width and y < height:
        total = 0
        count = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if 0 <= y + dy < height and 0 <= x + dx < width:
                    total += image[y + dy, x + dx]
                    count += 1
        blurred[y, x] = total // count


@cuda.jit
def sobel(image, edges):
    """strength of edges in the inner part of an image"""
    x, y = cuda.grid(2)
    if 1 <= x < image.shape[1] - 1 and 1 <= y < image.shape[0] - 1:
        gx = (
            image[y - 1, x + 1]
            + 2 * image[y, x + 1]
            + image[y + 1, x + 1]
            - image[y - 1, x - 1]
            - 2 * image[y, x - 1]
            - image[y + 1, x - 1]
        )
        gy = (
            image[y + 1, x - 1]
            + 2 * image[y + 1, x]
            + image[y + 1, x + 1]
            - image[y - 1, x - 1]
            - 2 * image[y - 1, x]
            - image[y - 1, x + 1]
        )
        edges[y, x] = min(abs(gx) + abs(gy), 255)


@cuda.jit
def median_of_three(x, out):
    """each inner element becomes the median of itself and its neighbours"""
    i = cuda.grid(1)
    n = x.size
    if i == 0 or i == n - 1:
        out[i] = x[i]
    elif i < n:
        a, b, c = x[i - 1], x[i], x[i + 1]
        if a > b:
            a, b = b, a
        if b > c:
            b, c = c, b
        if a > b:
            a, b = b, a
        out[i] = b


@cuda.jit
def max_pool(image, pooled):
    """the largest of each 2×2 square; a rest is left out"""
    x, y = cuda.grid(2)
    if y < pooled.shape[0] and x < pooled.shape[1]:
        best = image[2 * y, 2 * x]
        for i in range(2):
            for j in range(2):
                best = max(best, image[2 * y + i, 2 * x + j])
        pooled[y, x] = best


@cuda.jit
def laplacian_3d(a, out):
    """7-point stencil in the inner part of a volume"""
    k, j, i = cuda.grid(3)
    nz, ny, nx = a.shape
    if 0 < i < nz - 1 and 0 < j < ny - 1 and 0 < k < nx - 1:
        out[i, j, k] = (
            a[i - 1, j, k]
            + a[i + 1, j, k]
            + a[i, j - 1, k]
            + a[i, j + 1, k]
            + a[i, j, k - 1]
            + a[i, j, k + 1]
            - 6.0 * a[i, j, k]
        )


@cuda.jit
def rule_90(cells, following):
    """a cellular automaton of one dimension: a cell becomes the exclusive or of its neighbours"""
    i = cuda.grid(1)
    n = cells.size
    if i < n:
        left = cells[i - 1] if i > 0 else cells[n - 1]
        right = cells[(i + 1) % n]
        following[i] = left ^ right


N = 150
HEIGHT, WIDTH = 19, 29


def grid_for(block_x, block_y):
    return blocks(WIDTH, block_x), blocks(HEIGHT, block_y)


def neighbours(a, mode, **options):
    """Give the nine arrays of neighbours of a matrix, itself in the middle, row by row."""
    padded = np.pad(a, 1, mode, **options)
    height, width = a.shape
    return [padded[i : i + height, j : j + width] for i in range(3) for j in range(3)]


def image(rng, dtype=np.int32):
    return rng.integers(0, 256, (HEIGHT, WIDTH)).astype(dtype)


def after_jacobi(a, steps):
    for _ in range(steps):
        new = a.copy()
        new[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) / 4
        a = new
    return a


def plates(rng):
    a = real(rng, (HEIGHT, WIDTH), np.float64)
    return {"a": a, "b": a.copy()}


def board(rng):
    cells = (rng.random((HEIGHT, WIDTH)) < 0.4).astype(np.int32)
    return {"board": cells, "other": blank(cells.shape, np.int32)}


def lives(cells, mode):
    around = neighbours(cells, mode)
    alive = sum(around) - cells
    return ((alive == 3) | ((alive == 2) & (cells == 1))).astype(np.int32)


def expected_sobel(given):
    nw, n, ne, w, _, e, sw, s, se = neighbours(given["image"], "constant")
    strength = abs(ne + 2 * e + se - nw - 2 * w - sw) + abs(sw + 2 * s + se - nw - 2 * n - ne)
    inner = np.zeros(strength.shape, bool)
    inner[1:-1, 1:-1] = True
    return {"edges": np.where(inner, np.minimum(strength, 255), 0).astype(np.uint8)}


def expected_laplacian(given):
    a = given["a"]
    out = np.zeros_like(a)
    out[1:-1, 1:-1, 1:-1] = (
        a[:-2, 1:-1, 1:-1]
        + a[2:, 1:-1, 1:-1]
        + a[1:-1, :-2, 1:-1]
        + a[1:-1, 2:, 1:-1]
        + a[1:-1, 1:-1, :-2]
        + a[1:-1, 1:-1, 2:]
        - 6 * a[1:-1, 1:-1, 1:-1]
    )
    return {"out": out}


def expected_median(given):
    x = given["x"]
    inner = np.median(np.stack([x[:-2], x[1:-1], x[2:]]), axis=0)
    return {"out": np.concatenate([x[:1], inner, x[-1:]])}


def masked(given, mode):
    parts = zip(given["mask"].ravel(), neighbours(given["image"], mode), strict=True)
    return sum(weight * part for weight, part in parts)


CASES = [
    Case(
        name="differences",
        inputs=lambda rng: {"x": whole(rng, N), "out": blank(N - 1)},
        launches=[Launch(differences, 3, 64, ("x", "out"))],
        expected=lambda given: {"out": np.diff(given["x"])},
        kinds=("stencil",),
    ),
    Case(
        name="window sum with a halo",
        inputs=lambda rng: {"x": whole(rng, N, dtype=np.int32), "out": blank(N, np.int32)},
        launches=[Launch(window_sum, blocks(N, BLOCK), BLOCK, ("x", "out"))],
        expected=lambda given: {
            "out": np.convolve(given["x"], np.ones(7, np.int32), "same").astype(np.int32)
        },
        kinds=("stencil", "shared", "barrier"),
    ),
    Case(
        name="convolution",
        inputs=lambda rng: {"signal": whole(rng, N), "taps": whole(rng, 5), "out": blank(N)},
        launches=[Launch(convolve, 3, 64, ("signal", "taps", "out"))],
        expected=lambda given: {"out": np.convolve(given["signal"], given["taps"], "same")},
        kinds=("stencil", "loop"),
    ),
    Case(
        name="four steps of Jacobi",
        inputs=plates,
        launches=[Launch(jacobi, (3, 2), (8, 16), names) for names in 2 * [("a", "b"), ("b", "a")]],
        expected=lambda given: {"a": after_jacobi(given["a"], 4), "b": after_jacobi(given["a"], 3)},
        rtol=1e-14,
        kinds=("stencil", "2d", "float64", "several launches"),
    ),
    Case(
        name="five points through shared memory",
        inputs=lambda rng: {"a": whole(rng, (HEIGHT, WIDTH)), "out": blank((HEIGHT, WIDTH))},
        launches=[Launch(five_points_shared, grid_for(TILE, TILE), (TILE, TILE), ("a", "out"))],
        expected=lambda given: {
            "out": sum(neighbours(given["a"], "constant")[1::2]) - 4 * given["a"],
        },
        kinds=("stencil", "2d", "shared", "barrier"),
    ),
    Case(
        name="game of life",
        inputs=board,
        launches=[
            Launch(game_of_life, (3, 2), (8, 16), ("board", "other")),
            Launch(game_of_life, (3, 2), (8, 16), ("other", "board")),
        ],
        expected=lambda given: {"board": lives(lives(given["board"], "constant"), "constant")},
        kinds=("stencil", "2d", "several launches"),
    ),
    Case(
        name="game of life on a torus",
        inputs=board,
        launches=[Launch(game_of_life_on_a_torus, grid_for(16, 8), (16, 8), ("board", "other"))],
        expected=lambda given: {"other": lives(given["board"], "wrap")},
        kinds=("stencil", "2d"),
    ),
    Case(
        name="convolution in two dimensions",
        inputs=lambda rng: {
            "image": image(rng, np.float32),
            "mask": whole(rng, (3, 3)),
            "out": blank((HEIGHT, WIDTH)),
        },
        launches=[Launch(convolve_2d, grid_for(16, 4), (16, 4), ("image", "mask", "out"))],
        expected=lambda given: {"out": masked(given, "edge")},
        kinds=("stencil", "2d", "loop"),
    ),
    Case(
        name="convolution through shared memory",
        inputs=lambda rng: {
            "image": image(rng),
            "mask": whole(rng, (3, 3), dtype=np.int32),
            "out": blank((HEIGHT, WIDTH), np.int32),
        },
        launches=[Launch(convolve_2d_shared, grid_for(TILE, TILE), (TILE, TILE), ("image", "mask", "out"))],
        expected=lambda given: {"out": masked(given, "constant")},
        kinds=("stencil", "2d", "shared", "barrier"),
    ),
    Case(
        name="box blur",
        inputs=lambda rng: {"image": image(rng, np.uint8), "blurred": blank((HEIGHT, WIDTH), np.uint8)},
        launches=[Launch(box_blur, grid_for(8, 8), (8, 8), ("image", "blurred"))],
        expected=lambda given: {
            "blurred": (
                sum(neighbours(given["image"].astype(int), "constant"))
                // sum(neighbours(np.ones((HEIGHT, WIDTH), int), "constant"))
            ).astype(np.uint8)
        },
        kinds=("stencil", "2d", "uint8", "wider than NumPy"),
        simulator=False,  # it adds bytes to bytes
    ),
    Case(
        name="edges by Sobel",
        inputs=lambda rng: {"image": image(rng), "edges": np.zeros((HEIGHT, WIDTH), np.uint8)},
        launches=[Launch(sobel, grid_for(8, 8), (8, 8), ("image", "edges"))],
        expected=expected_sobel,
        kinds=("stencil", "2d", "uint8"),
    ),
    Case(
        name="median of three",
        inputs=lambda rng: {"x": real(rng, N), "out": blank(N)},
        launches=[Launch(median_of_three, 3, 64, ("x", "out"))],
        expected=expected_median,
        kinds=("stencil", "tuple"),
    ),
    Case(
        name="max pooling",
        inputs=lambda rng: {"image": real(rng, (HEIGHT, WIDTH)), "pooled": blank((HEIGHT // 2, WIDTH // 2))},
        launches=[Launch(max_pool, (2, 2), (8, 8), ("image", "pooled"))],
        expected=lambda given: {
            "pooled": given["image"][:18, :28].reshape(9, 2, 14, 2).max(axis=(1, 3)),
        },
        kinds=("stencil", "2d"),
    ),
    Case(
        name="Laplacian of a volume",
        inputs=lambda rng: {"a": whole(rng, (6, 7, 11)), "out": np.zeros((6, 7, 11), np.float32)},
        launches=[Launch(laplacian_3d, (3, 2, 3), (4, 4, 2), ("a", "out"))],
        expected=expected_laplacian,
        kinds=("stencil", "3d"),
    ),
    Case(
        name="rule 90",
        inputs=lambda rng: {"cells": rng.integers(0, 2, 101).astype(np.uint8), "other": blank(101, np.uint8)},
        launches=[
            Launch(rule_90, 4, 32, ("cells", "other")),
            Launch(rule_90, 4, 32, ("other", "cells")),
        ],
        expected=lambda given: {"cells": np.roll(given["cells"], 2) ^ np.roll(given["cells"], -2)},
        kinds=("stencil", "uint8", "several launches"),
    ),
]
