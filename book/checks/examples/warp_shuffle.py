"""Add the upper half of a warp to the lower."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.arange(32, dtype=np.float32)
out = np.zeros_like(x)


# %% wrong: warp synchronisation
@cuda.jit
def fold_half(x, out):
    lane = cuda.threadIdx.x
    value = x[lane]
    if lane < 16:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, 16)
    out[lane] = value


h2d.check(fold_half)[1, 32](x, out)


# %% repaired
@cuda.jit
def fold(x, out):
    lane = cuda.threadIdx.x
    value = x[lane]
    upper = cuda.shfl_down_sync(0xFFFFFFFF, value, 16)
    if lane < 16:
        value += upper
    out[lane] = value


h2d.check(fold)[1, 32](x, out)
