"""Find the last spike of a loss."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

loss = np.where(np.arange(128) % 20 == 7, 9, 1)
last = np.zeros(1, np.int32)


# %% wrong: order dependence
@cuda.jit
def last_spike_to_come(loss, last):
    i = cuda.grid(1)
    if i < loss.size and loss[i] > 5:
        cuda.atomic.exch(last, 0, i)


h2d.check(last_spike_to_come)[4, 32](loss, last)


# %% repaired
@cuda.jit
def last_spike(loss, last):
    i = cuda.grid(1)
    if i < loss.size and loss[i] > 5:
        cuda.atomic.max(last, 0, i)


h2d.check(last_spike)[4, 32](loss, last)
