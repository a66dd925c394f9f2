"""Take the mean away from every element."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.arange(128, dtype=np.float32)
total = np.zeros(1, np.float32)
arrived = np.zeros(1, np.int32)


# %% wrong: no progress
@cuda.jit
def centre_after_waiting(x, total, arrived):
    i = cuda.grid(1)
    cuda.atomic.add(total, 0, x[i])
    cuda.threadfence()
    cuda.atomic.add(arrived, 0, 1)
    while cuda.atomic.add(arrived, 0, 0) < x.size:
        pass
    x[i] -= total[0] / x.size


h2d.check(centre_after_waiting, seconds=1)[4, 32](x, total, arrived)


# %% repaired
@cuda.jit
def add_up(x, total):
    cuda.atomic.add(total, 0, x[cuda.grid(1)])


h2d.check(add_up)[4, 32](x, total)


# %% afterwards
@cuda.jit
def centre(x, total):
    x[cuda.grid(1)] -= total[0] / x.size


h2d.check(centre)[4, 32](x, total)
