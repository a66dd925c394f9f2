"""Control flow around barriers: cut into regions, it gives what the interpreter gives."""

import warnings

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()

from numba import cuda, float32, int32  # noqa: E402

X = (np.random.default_rng(0).random(128) * 9).astype(np.float32)


@cuda.jit
def parameters_overwritten(x, out):
    n = x.size
    shared = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    x = x[cuda.blockIdx.x * 32 :]
    n = n // 8
    shared[t] = x[t]
    cuda.syncthreads()
    while n > 0:
        if t < n:
            shared[t] += shared[t + n]
        cuda.syncthreads()
        n //= 2
    out[cuda.grid(1)] = shared[0]


@cuda.jit
def scalars_overwritten(x, out):
    scale(x, out, 16, 2.0)


@cuda.jit(device=True)
def scale(x, out, n, factor):
    shared = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    factor = factor + t
    shared[t] = x[cuda.grid(1)] * factor
    cuda.syncthreads()
    while n > 0:
        if t < n:
            shared[t] += shared[t + n]
        cuda.syncthreads()
        n //= 2
    out[cuda.grid(1)] = shared[0] + n + factor


@cuda.jit
def asked_in_the_loops_test(x, out):
    v = x[cuda.grid(1)]
    rounds = 0
    while cuda.syncthreads_or(int(v > 1)):
        if v > 1:
            v = v / 2
        rounds += 1
    out[cuda.grid(1)] = rounds + v


@cuda.jit
def left_by_break(x, out):
    flag = cuda.shared.array(1, int32)
    count = 0
    while True:
        if cuda.threadIdx.x == 0:
            flag[0] = count >= 5
        cuda.syncthreads()
        if flag[0]:
            break
        count += 1
        cuda.syncthreads()
    out[cuda.grid(1)] = count


@cuda.jit
def left_by_return(x, out):
    flag = cuda.shared.array(1, int32)
    count = 0
    while True:
        if cuda.threadIdx.x == 0:
            flag[0] = count >= 5
        cuda.syncthreads()
        if flag[0]:
            out[cuda.grid(1)] = count
            return
        count += 1
        cuda.syncthreads()


@cuda.jit
def rounds_from_memory(x, out):
    total = cuda.shared.array(1, int32)
    rounds = int(x[0]) + 2
    for r in range(rounds):
        if cuda.threadIdx.x == r:
            total[0] = r * r
        cuda.syncthreads()
        out[cuda.grid(1)] += total[0]
        cuda.syncthreads()


@cuda.jit
def some_threads_return_first(x, out):
    i = cuda.grid(1)
    if cuda.blockIdx.x == 3:
        return
    shared = cuda.shared.array(32, float32)
    shared[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    out[i] = shared[31 - cuda.threadIdx.x]


@cuda.jit
def shuffles_in_one_warp(x, out):
    t = cuda.threadIdx.x
    value = x[cuda.grid(1)]
    if t // 32 == 0:
        offset = 16
        while offset > 0:
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
            offset //= 2
        for offset in (1, 2):
            value += cuda.shfl_xor_sync(0xFFFFFFFF, value, offset)
        out[cuda.grid(1)] = value + offset
    else:
        out[cuda.grid(1)] = cuda.ballot_sync(0xFFFFFFFF, int(value > 4))


@cuda.jit
def local_array_across_a_barrier(x, out):
    mine = cuda.local.array(3, float32)
    shared = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    for k in range(3):
        mine[k] = x[cuda.grid(1)] * k
    shared[t] = mine[1]
    cuda.syncthreads()
    mine[0] = shared[(t + 1) % 32]
    cuda.syncthreads()
    out[cuda.grid(1)] = mine[0] + mine[1] + mine[2]


@cuda.jit
def asked_by_each_warp(x, out):
    v = x[cuda.grid(1)]
    rounds = 0
    while cuda.any_sync(0xFFFFFFFF, v > 1):
        if v > 1:
            v = v / 2
        rounds += 1
    out[cuda.grid(1)] = rounds


KERNELS = [
    (parameters_overwritten, 4, 32),
    (scalars_overwritten, 4, 32),
    (asked_in_the_loops_test, 4, 32),
    (left_by_break, 4, 32),
    (left_by_return, 4, 32),
    (rounds_from_memory, 4, 32),
    (some_threads_return_first, 4, 32),
    (shuffles_in_one_warp, 2, 64),
    (local_array_across_a_barrier, 4, 32),
]


def run(kernel, grid, block, **how):
    out = cuda.to_device(np.zeros(128))
    with cuda.stand_in(seconds=20, **how):
        kernel[grid, block](cuda.to_device(X), out)
    return out.copy_to_host()


@pytest.mark.parametrize(("kernel", "grid", "block"), KERNELS, ids=lambda part: getattr(part, "__name__", ""))
def test_cut_kernel_gives_what_the_interpreter_gives(kernel, grid, block):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no falling back
        compiled = run(kernel, grid, block)
    assert compiled.any()
    np.testing.assert_allclose(compiled, run(kernel, grid, block, interpreted=True), rtol=1e-6)
    np.testing.assert_allclose(run(kernel, grid, block, seed=3), compiled, rtol=1e-6)


def test_what_cannot_be_cut_runs_interpreted_and_says_why():
    with pytest.warns(UserWarning, match="asked_by_each_warp.* runs interpreted.* because"):
        compiled = run(asked_by_each_warp, 2, 64)
    np.testing.assert_array_equal(compiled, run(asked_by_each_warp, 2, 64, interpreted=True))
