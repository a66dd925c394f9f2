"""The check of kernels in CUDA C++: what their runs show, by line."""

import linecache

import pytest

from host_to_device.standins import imports

imports.redirect()

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402

import host_to_device as h2d  # noqa: E402

SOURCE = r"""
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void total(const float* x, float* out, int n) {
    __shared__ float part[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0;
    for (int s = 32; s > 0; s /= 2) {
        __syncthreads();
        if (t < s) part[t] += part[t + s];
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void total_in_a_hurry(const float* x, float* out, int n) {
    __shared__ float part[64];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0;
    for (int s = 32; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void shift(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i + 1];
}

extern "C" __global__ void some_wait(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 40) {
        __syncthreads();
        out[i] = x[i];
    }
}

extern "C" __global__ void forever(const float* x, float* out, int n) {
    while (x[0] >= 0) out[0] += 1;
}

extern "C" __global__ void last_one(const float* x, float* out, int n) {
    atomicExch(&out[0], x[blockIdx.x * blockDim.x + threadIdx.x]);
}
"""
N = 128


def checked(name, configuration=(2, 64), **options):
    x, out = cp.arange(N, dtype=cp.float32), cp.zeros(N, cp.float32)
    arguments = (x, x, out, np.int32(N)) if name == "add" else (x, out, np.int32(N))
    report = h2d.check(cp.RawKernel(SOURCE, name), **options)[configuration](*arguments)
    assert not out.get().any(), "a check works on copies"
    return report


@pytest.mark.parametrize("name", ["add", "total"])
def test_a_right_kernel_is_not_accused(name):
    report = checked(name, schedules=8)
    assert report, str(report)
    assert report.threads == 128 and report.schedules == 8
    assert "single accesses are not watched" in str(report)


@pytest.mark.parametrize(
    ("name", "kind", "line"),
    [
        ("shift", "out of bounds", "out[i] = x[i + 1];"),
        ("some_wait", "barrier divergence", "__syncthreads();"),
        ("total_in_a_hurry", "order dependence", "total_in_a_hurry"),
        ("last_one", "order dependence", "last_one"),
        ("forever", "no progress", "while"),
    ],
)
def test_a_wrong_kernel_is_found(name, kind, line):
    report = checked(name, seconds=1 if name == "forever" else 30)
    assert [finding.kind for finding in report.findings] == [kind], str(report)
    found = report.findings[0]
    assert line in linecache.getline(found.file, found.lines[0])


def test_what_may_depend_on_the_order_is_not_compared():
    assert checked("last_one", not_compared="out")


def test_limits_and_strictness():
    assert [finding.kind for finding in checked("add", (1, 2000)).findings] == ["launch limit"]
    with pytest.raises(h2d.checking.CheckError, match="out of bounds"):
        checked("shift", strict=True)
