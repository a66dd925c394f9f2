"""The sum of all blocks' sums, made by the block that comes last."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.arange(8, dtype=np.float32)
sums = np.zeros(4, np.float32)
tickets = np.zeros(1, np.int32)
total = np.zeros(1, np.float32)


# %% no-fence: race
@cuda.jit
def total_without_fence(x, sums, tickets, total):
    b, last = cuda.blockIdx.x, cuda.gridDim.x - 1
    sums[b] = x[2 * b] + x[2 * b + 1]
    if cuda.atomic.add(tickets, 0, 1) == last:
        for k in range(sums.size):
            total[0] += sums[k]


h2d.check(total_without_fence)[4, 1](x, sums, tickets, total)


# %% no-atomic: race
@cuda.jit
def total_without_ticket(x, sums, total):
    b, last = cuda.blockIdx.x, cuda.gridDim.x - 1
    sums[b] = x[2 * b] + x[2 * b + 1]
    cuda.threadfence()
    if b == last:
        for k in range(sums.size):
            total[0] += sums[k]


h2d.check(total_without_ticket)[4, 1](x, sums, total)


# %% both
@cuda.jit
def total_by_last_block(x, sums, tickets, total):
    b, last = cuda.blockIdx.x, cuda.gridDim.x - 1
    sums[b] = x[2 * b] + x[2 * b + 1]
    cuda.threadfence()
    if cuda.atomic.add(tickets, 0, 1) == last:
        for k in range(sums.size):
            total[0] += sums[k]


h2d.check(total_by_last_block)[4, 1](x, sums, tickets, total)
