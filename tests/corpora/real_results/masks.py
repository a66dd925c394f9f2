"""`cuda.activemask()`: within a branch it names the lanes that are in it."""

import numpy as np
from numba import cuda

from tests.corpora.real_results import program


def seen(kernel, threads=40, columns=1, grid=1):
    out = np.zeros((grid * threads, columns), np.uint32)
    kernel[grid, threads](out)
    return out


@program
def all_lanes_of_a_warp():
    @cuda.jit
    def kernel(out):
        out[cuda.grid(1), 0] = cuda.activemask()

    return seen(kernel, 32)


@program
def a_block_that_ends_within_a_warp():
    @cuda.jit
    def kernel(out):
        out[cuda.grid(1), 0] = cuda.activemask()

    return seen(kernel, 40)


@program
def odd_lanes():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        if i % 2:
            out[i, 0] = cuda.activemask()

    return seen(kernel)


@program
def both_sides_of_a_branch():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        if i < 5:  # noqa: SIM108  two branches: which lanes each names is the question
            mask = cuda.activemask()
        else:
            mask = cuda.activemask()
        out[i, 0] = mask

    return seen(kernel)


@program
def three_ways():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        if i % 3 == 0:  # noqa: SIM114
            out[i, 0] = cuda.activemask()
        elif i % 3 == 1:
            out[i, 0] = cuda.activemask()
        else:
            out[i, 0] = cuda.activemask()

    return seen(kernel)


@program
def a_branch_within_a_branch():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        if i < 16:
            if i % 2 == 0:
                out[i, 0] = cuda.activemask()
            out[i, 1] = cuda.activemask()

    return seen(kernel, columns=2)


@program
def before_in_and_after_a_branch():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        out[i, 0] = cuda.activemask()
        if i < 7:
            out[i, 1] = cuda.activemask()
        cuda.syncwarp()
        out[i, 2] = cuda.activemask()

    return seen(kernel, columns=3)


@program
def lanes_that_have_left():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        if i >= 20:
            return
        out[i, 0] = cuda.activemask()

    return seen(kernel)


@program
def the_guard_of_the_last_block():
    @cuda.jit
    def kernel(out, n):
        i = cuda.grid(1)
        if i < n:
            out[i, 0] = cuda.activemask()

    out = np.zeros((100, 1), np.uint32)
    kernel[2, 64](out, 90)
    return out


@program
def a_loop_of_different_lengths():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        k = 0
        while k < i % 4:
            out[i, k] = cuda.activemask()
            k += 1

    return seen(kernel, columns=4)


@program
def a_loop_of_equal_length():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        for k in range(3):
            if i % (k + 2) == 0:
                out[i, k] = cuda.activemask()

    return seen(kernel, columns=3)


@program
def a_mask_that_a_vote_takes():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        if i % 2 == 0:
            mask = cuda.activemask()
            out[i, 0] = cuda.ballot_sync(mask, i % 4 == 0)

    return seen(kernel, 32)


@program
def one_atomic_for_the_lanes_of_a_branch():
    @cuda.jit
    def kernel(x, count):
        i = cuda.grid(1)
        if x[i] > 0:
            mask = cuda.activemask()
            leader = cuda.ffs(mask) - 1
            if cuda.laneid == leader:
                cuda.atomic.add(count, 0, cuda.popc(mask))
                cuda.atomic.add(count, 1, 1)

    x = np.where(np.arange(128) % 5 == 0, 1, -1).astype(np.int32)
    count = np.zeros(2, np.int32)
    kernel[2, 64](x, count)
    return count


@program
def within_a_device_function():
    @cuda.jit(device=True)
    def together():
        return cuda.activemask()

    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        if i % 4 == 3:
            mask = together()
            out[i, 0] = mask

    return seen(kernel)


@program
def within_an_expression():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        if i > 10:
            out[i, 0] = cuda.popc(cuda.activemask()) * 2 + 1

    return seen(kernel)


@program
def behind_a_barrier_in_a_branch():
    @cuda.jit
    def kernel(out):
        shared = cuda.shared.array(64, np.int32)
        i = cuda.threadIdx.x
        shared[i] = i
        cuda.syncthreads()
        if shared[63 - i] % 3 == 0:
            out[i, 0] = cuda.activemask()

    return seen(kernel, 64)


@program
def in_the_condition_of_a_branch():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        if i < 12:
            if cuda.activemask() == 0xFFF:
                out[i, 0] = 1
            else:
                out[i, 0] = 2

    return seen(kernel)


@program
def the_second_half_of_an_and():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        if i < 12 and cuda.activemask() == 0xFFF:
            out[i, 0] = 1
        else:
            out[i, 0] = 2

    return seen(kernel)


@program
def its_type():
    @cuda.jit
    def kernel(out):
        out[0] = ~cuda.activemask()
        out[1] = cuda.activemask() + 1

    out = np.zeros(2, np.int64)
    kernel[1, 32](out)
    return out


@program
def rows_of_a_block():
    @cuda.jit
    def kernel(out):
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        if y % 2 == 1 and x < 3:
            out[x + 8 * y, 0] = cuda.activemask()

    out = np.zeros((64, 1), np.uint32)
    kernel[1, (8, 8)](out)
    return out
