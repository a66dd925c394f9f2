"""Transposes: naive, through a tile, padded, with several rows a thread, in place."""

from numba import cuda, float32, float64

from tests.corpora.kernels.case import Case, Launch
from tests.corpora.kernels.values import blank, blocks, real

TILE = 16
TILE_PADDED = TILE + 1
BLOCK_ROWS = 4


@cuda.jit
def transpose_naive(a, out):
    """out = aᵀ, straight through global memory"""
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        out[x, y] = a[y, x]


@cuda.jit
def transpose_tiled(a, out):
    """out = aᵀ through a tile, so that reads and writes both run along rows"""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    x = cuda.blockIdx.x * TILE + tx
    y = cuda.blockIdx.y * TILE + ty
    if y < a.shape[0] and x < a.shape[1]:
        tile[ty, tx] = a[y, x]
    cuda.syncthreads()
    x = cuda.blockIdx.y * TILE + tx
    y = cuda.blockIdx.x * TILE + ty
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = tile[tx, ty]


@cuda.jit
def transpose_padded(a, out):
    """out = aᵀ through a tile with one column more, which ends the bank conflicts"""
    tile = cuda.shared.array(shape=(TILE, TILE_PADDED), dtype=float64)
    x = cuda.blockIdx.x * TILE + cuda.threadIdx.x
    y = cuda.blockIdx.y * TILE + cuda.threadIdx.y
    for j in range(0, TILE, BLOCK_ROWS):
        if y + j < a.shape[0] and x < a.shape[1]:
            tile[cuda.threadIdx.y + j, cuda.threadIdx.x] = a[y + j, x]

    cuda.syncthreads()

    x = cuda.blockIdx.y * TILE + cuda.threadIdx.x
    y = cuda.blockIdx.x * TILE + cuda.threadIdx.y
    for j in range(0, TILE, BLOCK_ROWS):
        if y + j < out.shape[0] and x < out.shape[1]:
            out[y + j, x] = tile[cuda.threadIdx.x, cuda.threadIdx.y + j]


@cuda.jit
def transpose_computed(a, out):
    """out = aᵀ through a tile whose shape is arithmetic with numbers, which Python does before Numba sees it"""
    tile = cuda.shared.array((16, 16 + 1), float32)
    flat = cuda.shared.array(2 * (9 - 1) * 16, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    if y < a.shape[0] and x < a.shape[1]:
        tile[ty, tx] = a[y, x]
        flat[16 * tx + ty] = a[y, x]
    cuda.syncthreads()
    x, y = cuda.blockIdx.y * TILE + tx, cuda.blockIdx.x * TILE + ty
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = (tile[tx, ty] + flat[16 * ty + tx]) / float32(2)


@cuda.jit
def transpose_in_place(a):
    """a = aᵀ: the threads above the diagonal swap"""
    i, j = cuda.grid(2)
    if i < j < a.shape[0]:
        upper = a[i, j]
        a[i, j] = a[j, i]
        a[j, i] = upper


@cuda.jit
def rotate_right(image, out):
    """turn an image by 90 degrees, clockwise"""
    x, y = cuda.grid(2)
    height, width = image.shape
    if x < width and y < height:
        out[x, height - 1 - y] = image[y, x]


ROWS, COLS = 37, 22
GRID = (blocks(COLS, TILE), blocks(ROWS, TILE))

CASES = [
    Case(
        name="transpose naive",
        inputs=lambda rng: {"a": real(rng, (ROWS, COLS)), "out": blank((COLS, ROWS))},
        launches=[Launch(transpose_naive, GRID, (TILE, TILE), ("a", "out"))],
        expected=lambda given: {"out": given["a"].T},
        kinds=("2d",),
    ),
    Case(
        name="transpose tiled",
        inputs=lambda rng: {"a": real(rng, (ROWS, COLS)), "out": blank((COLS, ROWS))},
        launches=[Launch(transpose_tiled, GRID, (TILE, TILE), ("a", "out"))],
        expected=lambda given: {"out": given["a"].T},
        kinds=("2d", "shared", "barrier"),
    ),
    Case(
        name="transpose padded",
        inputs=lambda rng: {"a": real(rng, (ROWS, COLS), float), "out": blank((COLS, ROWS), float)},
        launches=[Launch(transpose_padded, GRID, (TILE, BLOCK_ROWS), ("a", "out"))],
        expected=lambda given: {"out": given["a"].T},
        kinds=("2d", "shared", "barrier", "float64"),
    ),
    Case(
        name="transpose with a tile of a computed shape",
        inputs=lambda rng: {"a": real(rng, (ROWS, COLS)), "out": blank((COLS, ROWS))},
        launches=[Launch(transpose_computed, GRID, (TILE, TILE), ("a", "out"))],
        expected=lambda given: {"out": given["a"].T},
        kinds=("2d", "shared", "barrier"),
    ),
    Case(
        name="transpose in place",
        inputs=lambda rng: {"a": real(rng, (21, 21))},
        launches=[Launch(transpose_in_place, (3, 3), (8, 8), ("a",))],
        expected=lambda given: {"a": given["a"].T},
        kinds=("2d",),
    ),
    Case(
        name="rotate an image",
        inputs=lambda rng: {"image": real(rng, (ROWS, COLS)), "out": blank((COLS, ROWS))},
        launches=[Launch(rotate_right, GRID, (TILE, TILE), ("image", "out"))],
        expected=lambda given: {"out": given["image"].T[:, ::-1]},
        kinds=("2d",),
    ),
]
