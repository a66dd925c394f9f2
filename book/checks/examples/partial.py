"""A launch that makes more accesses than the check may look at."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.ones(1_000_000, np.float32)


# %% part
@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


h2d.check(double, accesses=20_000)[7813, 128](x)
