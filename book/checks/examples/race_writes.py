"""Find out whether all gradients are small."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

gradients = np.linspace(0, 1, 128, dtype=np.float32)
small = np.array([True])


# %% wrong: race
@cuda.jit
def all_small_last_word(gradients, small):
    i = cuda.grid(1)
    if i < gradients.size:
        small[0] = abs(gradients[i]) < 0.5


h2d.check(all_small_last_word)[4, 32](gradients, small)


# %% repaired
@cuda.jit
def all_small(gradients, small):
    i = cuda.grid(1)
    if i < gradients.size and abs(gradients[i]) >= 0.5:
        small[0] = False


h2d.check(all_small)[4, 32](gradients, small)
