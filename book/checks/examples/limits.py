"""What the page on the rule says of the check's limits, one cell each; no page shows them."""

import numpy as np

import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.arange(32, dtype=np.float32)
out = np.zeros_like(x)
one = np.zeros(1, np.int32)


# %% shuffle-as-barrier: warp synchronisation
# A shuffle orders no memory.
@cuda.jit
def reverse_after_shuffle(x, out):
    tile = cuda.shared.array(32, np.float32)
    lane = cuda.threadIdx.x
    tile[lane] = x[lane]
    cuda.shfl_sync(0xFFFFFFFF, lane, 0)
    out[lane] = tile[31 - lane]


h2d.check(reverse_after_shuffle)[1, 32](x, out)


# %% shuffle-in-both-branches: warp synchronisation
# An older edition of the guide allows it since Volta, a newer one asks for the same place in the program.
@cuda.jit
def swap_in_both_branches(x, out):
    lane = cuda.threadIdx.x
    if lane < 16:
        out[lane] = cuda.shfl_xor_sync(0xFFFFFFFF, x[lane], 16)
    else:
        out[lane] = cuda.shfl_xor_sync(0xFFFFFFFF, x[lane], 16)


h2d.check(swap_in_both_branches)[1, 32](x, out)


# %% same-value
# Several threads store one value, and each reads it: tolerated.
@cuda.jit
def flag_for_all(out, one):
    one[0] = 1
    out[cuda.grid(1)] = one[0]


h2d.check(flag_for_all)[2, 16](out, one)


# %% untaken-branch
# These inputs never take the branch, and a check sees what is run.
@cuda.jit
def wrong_if_negative(x, out):
    i = cuda.grid(1)
    out[i] = x[i] if x[i] >= 0 else x[i + x.size]


h2d.check(wrong_if_negative)[1, 32](x, out)


# %% equal-inputs
# All threads store what is there already: a race that only other inputs show.
@cuda.jit
def last_word(zeros, one):
    one[0] = zeros[cuda.grid(1)]


h2d.check(last_word)[1, 32](np.zeros(32, np.int32), one)


# %% block-fence: race
# A fence for the block tells other blocks nothing.
@cuda.jit
def total_with_block_fence(x, sums, tickets, total):
    b, last = cuda.blockIdx.x, cuda.gridDim.x - 1
    sums[b] = x[b]
    cuda.threadfence_block()
    if cuda.atomic.add(tickets, 0, 1) == last:
        for k in range(sums.size):
            total[0] += sums[k]


h2d.check(total_with_block_fence)[4, 1](x, np.zeros(4, np.float32), one, out)
