"""Add 1 to every element of an image."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

image = np.zeros((60, 60), np.float32)


# %% wrong: launch limit
@cuda.jit
def brighten(image):
    col, row = cuda.grid(2)
    if row < image.shape[0] and col < image.shape[1]:
        image[row, col] += 1


h2d.check(brighten)[1, (60, 60)](image)

# %% repaired
h2d.check(brighten)[(4, 4), (16, 16)](image)
