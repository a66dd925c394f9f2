"""Divide a row by its sum, as a softmax does."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.arange(1, 65, dtype=np.float32)
out = np.zeros_like(x)


# %% wrong: race
@cuda.jit
def share_of_unfinished_sum(x, out):
    total = cuda.shared.array(1, np.float32)
    t = cuda.threadIdx.x
    if t == 0:
        total[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(total, 0, x[t])
    out[t] = x[t] / total[0]


h2d.check(share_of_unfinished_sum)[1, 64](x, out)


# %% repaired
@cuda.jit
def share_of_sum(x, out):
    total = cuda.shared.array(1, np.float32)
    t = cuda.threadIdx.x
    if t == 0:
        total[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(total, 0, x[t])
    cuda.syncthreads()
    out[t] = x[t] / total[0]


h2d.check(share_of_sum)[1, 64](x, out)
