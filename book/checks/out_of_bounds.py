"""Each element less the one before it."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.arange(100, dtype=np.float32)
out = np.zeros_like(x)


# %% wrong: out of bounds
@cuda.jit
def steps_from_minus_one(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] - x[i - 1]


h2d.check(steps_from_minus_one)[1, 128](x, out)


# %% repaired
@cuda.jit
def steps(x, out):
    i = cuda.grid(1)
    if 0 < i < out.size:
        out[i] = x[i] - x[i - 1]


h2d.check(steps)[1, 128](x, out)
