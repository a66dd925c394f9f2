"""Turn each block's elements around; the last block is not full."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.arange(100, dtype=np.float32)
out = np.zeros_like(x)


# %% wrong: barrier divergence
@cuda.jit
def neighbours_after_return(x, out):
    tile = cuda.shared.array(33, np.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if i >= x.size:
        return
    tile[t] = x[i]
    cuda.syncthreads()
    out[i] = tile[t] - tile[t - 1] if t > 0 else 0


h2d.check(neighbours_after_return)[4, 32](x, out)


# %% repaired
@cuda.jit
def neighbours(x, out):
    tile = cuda.shared.array(33, np.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if i < x.size:
        tile[t] = x[i]
    cuda.syncthreads()
    if i < x.size:
        out[i] = tile[t] - tile[t - 1] if t > 0 else 0


h2d.check(neighbours)[4, 32](x, out)
