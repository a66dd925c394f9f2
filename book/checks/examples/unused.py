"""Read a neighbour that no thread has stored, and use it or not."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.arange(32, dtype=np.float32)
out = np.zeros_like(x)


# %% unused
@cuda.jit
def steps_to_the_right(x, out):
    tile = cuda.shared.array(33, np.float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    step = tile[t + 1] - tile[t]
    if t < 31:
        out[t] = step


h2d.check(steps_to_the_right)[1, 32](x, out)


# %% used: uninitialised read
@cuda.jit
def steps_beyond_the_end(x, out):
    tile = cuda.shared.array(33, np.float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = tile[t + 1] - tile[t]


h2d.check(steps_beyond_the_end)[1, 32](x, out)
