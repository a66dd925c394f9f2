"""Count how often each value occurs."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.arange(128) % 4
counts = np.zeros(4, np.int32)


# %% wrong: race
@cuda.jit
def histogram_by_adding(x, counts):
    i = cuda.grid(1)
    if i < x.size:
        counts[x[i]] += 1


h2d.check(histogram_by_adding)[4, 32](x, counts)


# %% repaired
@cuda.jit
def histogram(x, counts):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(counts, x[i], 1)


h2d.check(histogram)[4, 32](x, counts)
