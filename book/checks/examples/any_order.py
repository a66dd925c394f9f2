"""Keep the positive elements."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.random.default_rng(0).normal(size=128).astype(np.float32)
kept = np.zeros_like(x)
count = np.zeros(1, np.int32)


# %% keep
@cuda.jit
def keep_positive(x, kept, count):
    i = cuda.grid(1)
    if i < x.size and x[i] > 0:
        kept[cuda.atomic.add(count, 0, 1)] = x[i]


h2d.check(keep_positive, any_order="kept")[4, 32](x, kept, count)
