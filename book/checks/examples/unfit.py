"""Make an image darker; some pixels would become negative."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

image = np.arange(128, dtype=np.uint8)
out = np.zeros_like(image)


# %% darker
@cuda.jit
def darker(image, out):
    i = cuda.grid(1)
    out[i] = image[i] - 5.0


h2d.check(darker)[4, 32](image, out)
