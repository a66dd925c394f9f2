"""Add up the elements of one warp, half and half."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.ones(32, np.float32)
total = np.zeros(1, np.float32)


# %% wrong: warp synchronisation
@cuda.jit
def warp_sum_in_step(x, total):
    tile = cuda.shared.array(32, np.float32)
    lane = cuda.threadIdx.x
    tile[lane] = x[lane]
    cuda.syncwarp()
    for half in (16, 8, 4, 2, 1):
        if lane < half:
            tile[lane] += tile[lane + half]
    if lane == 0:
        total[0] = tile[0]


h2d.check(warp_sum_in_step)[1, 32](x, total)


# %% repaired
@cuda.jit
def warp_sum(x, total):
    tile = cuda.shared.array(32, np.float32)
    lane = cuda.threadIdx.x
    tile[lane] = x[lane]
    cuda.syncwarp()
    for half in (16, 8, 4, 2, 1):
        if lane < half:
            tile[lane] += tile[lane + half]
        cuda.syncwarp()
    if lane == 0:
        total[0] = tile[0]


h2d.check(warp_sum)[1, 32](x, total)
