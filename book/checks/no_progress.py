"""Each thread adds up every 32nd element."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.ones(100, np.float32)
sums = np.zeros(32, np.float32)


# %% wrong: no progress
@cuda.jit
def strided_sums_for_ever(x, sums):
    t = i = cuda.threadIdx.x
    while i < x.size:
        sums[t] += x[i]


h2d.check(strided_sums_for_ever, seconds=1)[1, 32](x, sums)


# %% repaired
@cuda.jit
def strided_sums(x, sums):
    t = i = cuda.threadIdx.x
    while i < x.size:
        sums[t] += x[i]
        i += 32


h2d.check(strided_sums, seconds=1)[1, 32](x, sums)
