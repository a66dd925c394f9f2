"""Blocks that repeat one another's stores because `blockIdx` was forgotten get a note; stores that are meant do not."""

import pytest

from host_to_device.standins import imports

imports.redirect()

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402
from numba import cuda, float32  # noqa: E402

import host_to_device as h2d  # noqa: E402

X = np.random.default_rng(3).random(128).astype(np.float32)
IMAGE = np.arange(32 * 32, dtype=np.float32).reshape(32, 32)


@cuda.jit
def scale_by_thread(x, out):
    i = cuda.threadIdx.x
    if i < x.size:
        out[i] = 2 * x[i]  # !finding


@cuda.jit
def stride_of_the_block(x, out):
    for i in range(cuda.threadIdx.x, x.size, cuda.blockDim.x):
        out[i] = 2 * x[i]  # !finding


@cuda.jit
def rows_by_thread(image, out):
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.threadIdx.y
    if row < image.shape[0] and col < image.shape[1]:
        out[row, col] = image[row, col] + 1  # !finding


@cuda.jit
def reverse_one_tile(x, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = tile[31 - t]  # !finding


@cuda.jit
def total_of_everything(x, out):
    if cuda.threadIdx.x == 0:
        total = float32(0)
        for value in x:
            total += value
        out[0] = total  # !finding


@cuda.jit
def plain(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 2 * x[i]


@cuda.jit
def flag_of_the_grid(x, out):
    i = cuda.grid(1)
    if i < x.size and x[i] >= 0:
        out[0] = 1


@cuda.jit
def multiples(x, out):
    i = cuda.grid(1) + 2
    for k in range(2 * i, out.size, i):
        out[k] = 1


@cuda.jit
def neighbours_marked(x, out):
    i = cuda.grid(1)
    for k in range(max(i - 1, 0), min(i + 2, out.size)):
        out[k] = 1


@cuda.jit
def work_from_a_counter(x, out, next_one):
    while True:
        i = cuda.atomic.add(next_one, 0, 1)
        if i >= x.size:
            break
        out[i] = 2 * x[i]


@cuda.jit
def sums_of_blocks(x, out):
    cuda.atomic.add(out, cuda.threadIdx.x, x[cuda.grid(1)])


@cuda.jit
def one_block_only(x, out):
    i = cuda.threadIdx.x
    if i < x.size:
        out[i] = 2 * x[i]


def zeros(shape=128):
    return np.zeros(shape, np.float32)


FORGOTTEN = [
    (scale_by_thread, 4, 32, lambda: (X, zeros()), "out"),
    (stride_of_the_block, 4, 32, lambda: (X, zeros()), "out"),
    (rows_by_thread, (4, 4), (8, 8), lambda: (IMAGE, zeros((32, 32))), "out"),
    (reverse_one_tile, 4, 32, lambda: (X, zeros()), "out"),
    (total_of_everything, 4, 32, lambda: (X, zeros(1)), "out"),
]
MEANT = [
    (plain, 4, 32, lambda: (X, zeros())),
    (flag_of_the_grid, 4, 32, lambda: (X, zeros(1))),
    (multiples, 4, 32, lambda: (X, zeros(500))),
    (neighbours_marked, 4, 32, lambda: (X, zeros())),
    (work_from_a_counter, 4, 32, lambda: (X, zeros(), np.zeros(1, np.int32))),
    (sums_of_blocks, 4, 32, lambda: (np.ones_like(X), zeros(32))),
    (one_block_only, 1, 128, lambda: (X, zeros())),
]
SOURCE = r"""
extern "C" __global__ void scale_by_thread(const float* x, float* out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = 2 * x[i]; /*1*/
}
extern "C" __global__ void stride_of_the_block(const float* x, float* out, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 2 * x[i]; /*1*/
}
extern "C" __global__ void rows_by_thread(const float* image, float* out) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = threadIdx.y;
    if (row < 32 && col < 32) out[row * 32 + col] = image[row * 32 + col] + 1; /*1*/
}
extern "C" __global__ void reverse_one_tile(const float* x, float* out, int n) {
    __shared__ float tile[32];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    out[t] = tile[31 - t]; /*1*/
}
extern "C" __global__ void total_of_everything(const float* x, float* out, int n) {
    if (threadIdx.x == 0) {
        float total = 0;
        for (int i = 0; i < n; i++) total += x[i];
        out[0] = total; /*1*/
    }
}
extern "C" __global__ void plain(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * x[i];
}
extern "C" __global__ void flag_of_the_grid(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] >= 0) out[0] = 1;
}
extern "C" __global__ void multiples(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 2;
    for (int k = 2 * i; k < n; k += i) out[k] = 1;
}
extern "C" __global__ void work_from_a_counter(const float* x, float* out, int* next_one, int n) {
    for (int i; (i = atomicAdd(next_one, 1)) < n;) out[i] = 2 * x[i];
}
"""
RAW_FORGOTTEN = [
    ("scale_by_thread", 4, 32, lambda: (X, zeros(), np.int32(128))),
    ("stride_of_the_block", 4, 32, lambda: (X, zeros(), np.int32(128))),
    ("rows_by_thread", (4, 4), (8, 8), lambda: (IMAGE, zeros((32, 32)))),
    ("reverse_one_tile", 4, 32, lambda: (X, zeros(), np.int32(128))),
    ("total_of_everything", 4, 32, lambda: (X, zeros(1), np.int32(128))),
]
RAW_MEANT = [
    ("plain", 4, 32, lambda: (X, zeros(), np.int32(128))),
    ("flag_of_the_grid", 4, 32, lambda: (X, zeros(1), np.int32(128))),
    ("multiples", 4, 32, lambda: (X, zeros(500), np.int32(500))),
    ("work_from_a_counter", 4, 32, lambda: (X, zeros(), np.zeros(1, np.int32), np.int32(128))),
    ("scale_by_thread", 1, 128, lambda: (X, zeros(), np.int32(128))),
]


def noted(report):
    return [each for each in report.remarks if "blockIdx" in each]


def line_of(text, name):
    """Return the number of the marked line of a function within a source."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines, 1) if f" {name}(" in line)
    return next(
        number for number in range(first, len(lines) + 1) if lines[number - 1].endswith(("/*1*/", "!finding"))
    )


def on_device(arguments):
    return [cp.asarray(each) if isinstance(each, np.ndarray) else each for each in arguments]


def raw(name, grid, block, arguments, **options):
    sizes = [each if isinstance(each, tuple) else (each,) for each in (grid, block)]
    return h2d.check(cp.RawKernel(SOURCE, name), **options)[sizes[0], sizes[1]](*on_device(arguments()))


@pytest.mark.parametrize("interpreted", [True, False])
@pytest.mark.parametrize(
    ("kernel", "grid", "block", "arguments", "array"),
    FORGOTTEN,
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_blocks_that_repeat_one_another_get_a_note(kernel, grid, block, arguments, array, interpreted):
    report = h2d.check(kernel, interpreted=interpreted)[grid, block](*arguments())
    assert report, str(report)
    (note,) = noted(report)
    with open(__file__, encoding="utf-8") as file:
        assert f"line {line_of(file.read(), kernel.__name__)}" in note and f" {array}[" in note, note


@pytest.mark.parametrize("interpreted", [True, False])
@pytest.mark.parametrize(
    ("kernel", "grid", "block", "arguments"), MEANT, ids=lambda each: getattr(each, "__name__", "")
)
def test_stores_that_are_meant_get_no_note(kernel, grid, block, arguments, interpreted):
    report = h2d.check(kernel, interpreted=interpreted, any_order="out")[grid, block](*arguments())
    assert report and not noted(report), str(report)


@pytest.mark.parametrize(("name", "grid", "block", "arguments"), RAW_FORGOTTEN)
def test_blocks_in_cuda_cpp_that_repeat_one_another_get_a_note(name, grid, block, arguments):
    report = raw(name, grid, block, arguments)
    assert report, str(report)
    (note,) = noted(report)
    assert f"line {line_of(SOURCE, name)}" in note and " out[" in note, note


@pytest.mark.parametrize(("name", "grid", "block", "arguments"), RAW_MEANT)
def test_stores_in_cuda_cpp_that_are_meant_get_no_note(name, grid, block, arguments):
    report = raw(name, grid, block, arguments)
    assert report and not noted(report), str(report)


# -- a barrier that a block of one warp lacks


@cuda.jit
def reverse_without_barrier(x, out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    out[t] = tile[cuda.blockDim.x - 1 - t]


@cuda.jit
def tree_without_barrier(x, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    half = 16
    while half > 0:
        if t < half:
            tile[t] += tile[t + half]
        half //= 2
    if t == 0:
        out[0] = tile[0]


@cuda.jit
def tree_of_one_warp(x, out):
    tile = cuda.shared.array(64, float32)
    lane = cuda.laneid
    if cuda.threadIdx.x < 32:
        tile[lane] = x[lane]
        cuda.syncwarp()
        for half in (16, 8, 4, 2, 1):
            if lane < half:
                tile[lane] += tile[lane + half]
        if lane == 0:
            out[0] = tile[0]


@cuda.jit
def last_warp_unrolled(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    if t < 16:
        tile[t] += tile[t + 16]
        tile[t] += tile[t + 8]
    if t == 0:
        out[0] = tile[0]


BLOCK_BARRIER = [(reverse_without_barrier, 32), (reverse_without_barrier, 8), (tree_without_barrier, 32)]
WARP_BARRIER = [(tree_of_one_warp, 32), (last_warp_unrolled, 32)]
ONE_WARP = r"""
extern "C" __global__ void reverse_without_barrier(const float* x, float* out) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    tile[t] = x[t];
    out[t] = tile[blockDim.x - 1 - t];
}
extern "C" __global__ void tree_without_barrier(const float* x, float* out) {
    __shared__ float tile[32];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    for (int half = 16; half > 0; half /= 2)
        if (t < half) tile[t] += tile[t + half];
    if (t == 0) out[0] = tile[0];
}
extern "C" __global__ void tree_of_one_warp(const float* x, float* out) {
    __shared__ float tile[64];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        tile[lane] = x[lane];
        __syncwarp();
        for (int half = 16; half > 0; half /= 2)
            if (lane < half) tile[lane] += tile[lane + half];
        if (lane == 0) out[0] = tile[0];
    }
}
extern "C" __global__ void last_warp_unrolled(const float* x, float* out) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    if (t < 16) {
        tile[t] += tile[t + 16];
        tile[t] += tile[t + 8];
    }
    if (t == 0) out[0] = tile[0];
}
"""


def advice_of(report):
    found = [each for each in report.findings if each.pair]
    assert found, str(report)
    return " ".join(each.advice for each in found)


@pytest.mark.parametrize(("kernel", "block"), BLOCK_BARRIER)
def test_a_block_of_one_warp_that_lacks_a_barrier_is_told_syncthreads(kernel, block):
    advice = advice_of(h2d.check(kernel)[1, block](X, zeros()))
    assert "cuda.syncthreads()" in advice and "syncwarp" not in advice


@pytest.mark.parametrize(("kernel", "block"), WARP_BARRIER)
def test_code_for_one_warp_is_told_syncwarp(kernel, block):
    assert "cuda.syncwarp()" in advice_of(h2d.check(kernel)[1, block](X, zeros()))


@pytest.mark.parametrize(
    ("name", "block", "advice"),
    [
        ("reverse_without_barrier", 32, "__syncthreads()"),
        ("reverse_without_barrier", 8, "__syncthreads()"),
        ("tree_without_barrier", 32, "__syncthreads()"),
        ("tree_of_one_warp", 32, "__syncwarp()"),
        ("last_warp_unrolled", 32, "__syncwarp()"),
    ],
)
def test_the_advice_is_the_same_in_cuda_cpp(name, block, advice):
    report = h2d.check(cp.RawKernel(ONE_WARP, name))[(1,), (block,)](*on_device((X, zeros())))
    assert advice in advice_of(report), str(report)
