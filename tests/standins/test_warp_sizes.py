"""Kernels in warps of 64 lanes, in Python and in CUDA C++: what they give, and what is refused."""

import numpy as np
import pytest

import host_to_device as h2d
from host_to_device.exercises.student_runs import Out, run_kernel
from host_to_device.standins import cuda_cpp

pytest.importorskip("numba")
h2d.start()
import cupy as cp  # noqa: E402  the stand-in's
from numba import cuda  # noqa: E402

X = np.arange(256, dtype=np.float32)


SUM = r"""
extern "C" __global__ void block_sum(const float* x, float* out) {
    float value = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int offset = FIRST; offset > 0; offset /= 2)
        value += __shfl_down_sync(MASK, value, offset);
    if (threadIdx.x % warpSize == 0) atomicAdd(out, value);
}"""


def in_cpp(mask, first):
    return cp.RawKernel(SUM.replace("MASK", mask).replace("FIRST", first), "block_sum")


@cuda.jit
def sum_32(x, out):
    value = x[cuda.grid(1)]
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(-1, value, offset)
    if cuda.threadIdx.x % cuda.warpsize == 0:
        cuda.atomic.add(out, 0, value)


@cuda.jit
def sum_of_any_warp(x, out):
    value = x[cuda.grid(1)]
    offset = cuda.warpsize // 2
    while offset:
        value += cuda.shfl_down_sync(-1, value, offset)
        offset //= 2
    if cuda.threadIdx.x % cuda.warpsize == 0:
        cuda.atomic.add(out, 0, value)


@cuda.jit
def about_lanes(out, votes):
    t = cuda.threadIdx.x
    out[t] = cuda.laneid + 100 * cuda.warpsize
    votes[t] = cuda.ballot_sync(-1, t % 2 == 1)
    out[64 + t] = cuda.shfl_sync(-1, t, 63) + 1000 * cuda.shfl_xor_sync(-1, t, 32)
    out[128 + t] = cuda.shfl_up_sync(-1, t, 40)


def total(kernel, warp_size, x=X):
    on_device = isinstance(kernel, cp.RawKernel)
    x, out = (cp.array(x), cp.zeros(1, cp.float32)) if on_device else (x, np.zeros(1, np.float32))
    h2d.with_warp_size(kernel, warp_size)[1, len(x)](x, out)
    return float(out[0])


def of_lower_halves(x):
    return float(x.reshape(-1, 64)[:, :32].sum())


def test_a_sum_that_begins_at_16_loses_half_of_every_warp_of_64():
    for kernel in (sum_32, in_cpp("~0ull", "16")):
        assert total(kernel, 32) == X.sum()
        assert total(kernel, 64) == of_lower_halves(X) != X.sum()


def test_a_sum_that_asks_for_the_size_is_right_in_both():
    for kernel in (sum_of_any_warp, in_cpp("~0ull", "warpSize / 2")):
        assert total(kernel, 32) == total(kernel, 64) == X.sum()
        assert h2d.check(kernel, warp_size=64)[1, 256](
            *(map(cp.array, (X, X[:1])) if isinstance(kernel, cp.RawKernel) else (X, X[:1].copy()))
        )


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_lanes_votes_and_shuffles_of_64_in_python(seed):
    out, votes, t = np.zeros(192, np.int64), np.zeros(64, np.uint64), np.arange(64)
    with h2d.stand_in(seed=seed):
        h2d.with_warp_size(about_lanes, 64)[1, 64](out, votes)
    assert np.array_equal(out[:64], t + 6400)
    assert (votes == 0xAAAA_AAAA_AAAA_AAAA).all()
    assert np.array_equal(out[64:128], 63 + 1000 * (t ^ 32))
    assert np.array_equal(out[128:], np.where(t >= 40, t - 40, t))


def test_a_mask_of_32_bits_is_refused_in_cpp_at_64_lanes_only():
    assert total(in_cpp("0xffffffff", "16"), 32) == X.sum()
    for mask in ("0xffffffff", "-1", "~0u"):
        with pytest.raises(cuda_cpp.CompileError, match="line 5: a mask of 32 bits for warps of 64 lanes"):
            total(in_cpp(mask, "16"), 64)


def test_a_mask_of_64_bits_with_32_ones_is_found():
    with pytest.raises(cuda_cpp.KernelFault, match="lane 32 is not in the mask 0xffffffff"):
        total(in_cpp("0xffffffffull", "16"), 64)
    report = h2d.check(in_cpp("0xffffffffull", "16"), warp_size=64)[1, 256](cp.array(X), cp.zeros(1))
    assert [each.kind for each in report.findings] == ["warp synchronisation"]


def test_exercises_run_kernels_in_warps_of_64():
    arguments = [X, Out(1)]

    def sum_without_atomics(warp_size, kernel):
        got = run_kernel(kernel, arguments, 1, 64, warp_size=warp_size)
        assert not got["findings"]
        return {float(whole[0][16]) for whole in got["whole"]}

    @cuda.jit
    def first_lane(x, out):
        value = x[cuda.threadIdx.x]
        offset = cuda.warpsize // 2
        while offset:
            value += cuda.shfl_down_sync(-1, value, offset)
            offset //= 2
        if cuda.threadIdx.x == 0:
            out[0] = value

    assert sum_without_atomics(32, first_lane) == {float(X[:32].sum())}
    assert sum_without_atomics(64, first_lane) == {float(X[:64].sum())}


def twice(x):
    return 2 * x


class OnAGpu:
    """An array as Numba has it on a real GPU: it gives and takes copies."""

    def __init__(self, array):
        self.array = array
        self.dtype, self.strides = array.dtype, array.strides

    def copy_to_host(self):
        return self.array.copy()

    def copy_to_device(self, array):
        self.array[...] = array


def test_arrays_of_a_real_gpu_get_the_result():
    x, out = OnAGpu(X.copy()), OnAGpu(np.zeros(1, np.float32))
    h2d.with_warp_size(sum_of_any_warp, 64)[1, 256](x, out)
    assert out.array[0] == X.sum()


def test_arrays_of_the_stand_in_are_launched_on_where_they_are():
    x, out = cp.array(X), cp.zeros(1, cp.float32)
    with h2d.count() as counts:
        h2d.with_warp_size(sum_of_any_warp, 64)[1, 256](x, out)
    assert not counts.device_to_host.count and float(out[0]) == X.sum()


def test_what_is_wrong_is_said():
    for size in (0, 16, 128, "64", True):
        with pytest.raises(ValueError, match=r"warp_size is .*: a warp has 32 lanes, or 64"):
            h2d.with_warp_size(sum_32, size)
    with pytest.raises(TypeError, match=r"host function: with_warp_size takes a kernel made by @cuda\.jit$"):
        h2d.with_warp_size(total, 64)
    with pytest.raises(
        TypeError, match=r"got a string: make a kernel of it with cp\.RawKernel\(source, name\)"
    ):
        h2d.with_warp_size("__global__ void f() {}", 64)
    with pytest.raises(TypeError, match=r"twice\(\) is a device function: give with_warp_size a kernel"):
        h2d.with_warp_size(cuda.jit(twice, device=True), 64)
    with pytest.raises(TypeError, match=r"^with_warp_size takes a kernel made by @cuda\.jit, and got 7"):
        h2d.with_warp_size(7, 64)
    with pytest.raises(TypeError, match=r"launch configuration is missing: with_warp_size\(sum_32, 64\)"):
        h2d.with_warp_size(sum_32, 64)(X)
    with pytest.raises(ValueError, match="at least the griddim and blockdim"):
        h2d.with_warp_size(sum_32, 64)[1]
    with pytest.raises(TypeError, match="takes 2 arguments"):
        h2d.with_warp_size(sum_32, 64)[1, 64](X)
