"""Turn the elements of each warp around."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.arange(32, dtype=np.float32)
out = np.zeros_like(x)


# %% wrong: warp synchronisation
@cuda.jit
def reverse_in_step(x, out):
    tile = cuda.shared.array(32, np.float32)
    lane = cuda.threadIdx.x
    tile[lane] = x[lane]
    out[lane] = tile[31 - lane]


h2d.check(reverse_in_step)[1, 32](x, out)


# %% repaired
@cuda.jit
def reverse(x, out):
    tile = cuda.shared.array(32, np.float32)
    lane = cuda.threadIdx.x
    tile[lane] = x[lane]
    cuda.syncwarp()
    out[lane] = tile[31 - lane]


h2d.check(reverse)[1, 32](x, out)
