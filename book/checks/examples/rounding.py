"""Add floats in whatever order."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.random.default_rng(0).random(128).astype(np.float32)
total = np.zeros(1, np.float32)


# %% sum
@cuda.jit
def add_up(x, total):
    cuda.atomic.add(total, 0, x[cuda.grid(1)])


h2d.check(add_up)[4, 32](x, total)
