"""Double every element."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.ones(100, np.float32)
out = np.zeros_like(x)


# %% wrong: unwritten output
@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


h2d.check(double, outputs="out")[x.size // 32, 32](x, out)

# %% repaired
h2d.check(double, outputs="out")[(x.size + 31) // 32, 32](x, out)
