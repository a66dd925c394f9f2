"""A transpose: column by column, over a tile, over a padded tile."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
out = np.zeros_like(x)


# %% columns
@cuda.jit
def transpose_columns(x, out):
    col, row = cuda.grid(2)
    out[row, col] = x[col, row]


h2d.check(transpose_columns, notes=True)[(2, 2), (32, 32)](x, out)


# %% tile
@cuda.jit
def transpose_tile(x, out):
    tile = cuda.shared.array((32, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = 32 * cuda.blockIdx.x, 32 * cuda.blockIdx.y
    tile[ty, tx] = x[top + ty, left + tx]
    cuda.syncthreads()
    out[left + ty, top + tx] = tile[tx, ty]


h2d.check(transpose_tile, notes=True)[(2, 2), (32, 32)](x, out)


# %% padded
@cuda.jit
def transpose_padded(x, out):
    tile = cuda.shared.array((32, 33), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = 32 * cuda.blockIdx.x, 32 * cuda.blockIdx.y
    tile[ty, tx] = x[top + ty, left + tx]
    cuda.syncthreads()
    out[left + ty, top + tx] = tile[tx, ty]


h2d.check(transpose_padded, notes=True)[(2, 2), (32, 32)](x, out)
