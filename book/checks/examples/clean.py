"""Add two arrays."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda


# %% add
@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


a = np.arange(1000, dtype=np.float32)
b = np.ones_like(a)
c = np.zeros_like(a)
h2d.check(add)[8, 128](a, b, c)
