"""Turn each block's elements around."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.arange(128, dtype=np.float32)
out = np.zeros_like(x)


# %% wrong: race
@cuda.jit
def reverse_without_barrier(x, out):
    tile = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    out[cuda.grid(1)] = tile[63 - t]


h2d.check(reverse_without_barrier)[2, 64](x, out)


# %% repaired
@cuda.jit
def reverse(x, out):
    tile = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[63 - t]


h2d.check(reverse)[2, 64](x, out)
