"""Add up the elements of each block, half and half."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.ones(256, np.float32)
sums = np.zeros(2, np.float32)


# %% wrong: race
@cuda.jit
def block_sums_in_a_hurry(x, sums):
    tile = cuda.shared.array(128, np.float32)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    for half in (64, 32, 16, 8, 4, 2, 1):
        if t < half:
            tile[t] += tile[t + half]
    if t == 0:
        sums[cuda.blockIdx.x] = tile[0]


h2d.check(block_sums_in_a_hurry)[2, 128](x, sums)


# %% repaired
@cuda.jit
def block_sums(x, sums):
    tile = cuda.shared.array(128, np.float32)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    for half in (64, 32, 16, 8, 4, 2, 1):
        if t < half:
            tile[t] += tile[t + half]
        cuda.syncthreads()
    if t == 0:
        sums[cuda.blockIdx.x] = tile[0]


h2d.check(block_sums)[2, 128](x, sums)
