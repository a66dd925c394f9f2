"""Add up the elements of each block; the last block is not full."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.ones(100, np.float32)
sums = np.zeros(4, np.float32)


# %% wrong: uninitialised read
@cuda.jit
def block_sums_of_anything(x, sums):
    tile = cuda.shared.array(32, np.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if i < x.size:
        tile[t] = x[i]
    cuda.syncthreads()
    if t == 0:
        for k in range(32):
            sums[cuda.blockIdx.x] += tile[k]


h2d.check(block_sums_of_anything)[4, 32](x, sums)


# %% repaired
@cuda.jit
def block_sums(x, sums):
    tile = cuda.shared.array(32, np.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    if t == 0:
        for k in range(32):
            sums[cuda.blockIdx.x] += tile[k]


h2d.check(block_sums)[4, 32](x, sums)
