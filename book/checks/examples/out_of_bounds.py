"""Each element's step to the next one."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.arange(100, dtype=np.float32) ** 2
out = np.zeros_like(x)


# %% wrong: out of bounds
@cuda.jit
def steps_beyond_the_end(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i + 1] - x[i]


h2d.check(steps_beyond_the_end)[4, 32](x, out)


# %% repaired
@cuda.jit
def steps(x, out):
    i = cuda.grid(1)
    if i + 1 < x.size:
        out[i] = x[i + 1] - x[i]


h2d.check(steps)[4, 32](x, out)
