"""The examples of the check's pages, written again in CUDA C++: one twin for each cell of `book/checks/examples`.

The pages say that the check judges both languages by the same rule, so a twin has to give the findings of its cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Twin:
    """A cell in CUDA C++: the kernel's name in `source`, its launch, and its arguments on the host."""

    example: str
    cell: str
    source: str
    kernel: str
    grid: Any
    block: Any
    arguments: Callable[[], tuple]
    options: dict[str, Any] = field(default_factory=dict)


UNFIT = r"""
extern "C" __global__ void darker(const unsigned char* image, unsigned char* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = image[i] - 5.0;
}
"""
ANY_ORDER = r"""
extern "C" __global__ void keep_positive(const float* x, float* kept, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) kept[atomicAdd(count, 1)] = x[i];
}
"""
BARRIERS = r"""
extern "C" __global__ void steps_after_return(const float* x, float* out, int n) {
    __shared__ float tile[32];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i >= n) return;
    tile[t] = x[i];
    __syncthreads();
    if (t > 0) out[i] = tile[t] - tile[t - 1];
}
extern "C" __global__ void steps(const float* x, float* out, int n) {
    __shared__ float tile[32];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i < n) tile[t] = x[i];
    __syncthreads();
    if (i < n && t > 0) out[i] = tile[t] - tile[t - 1];
}
"""
CLEAN = r"""
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
FAILED = r"""
extern "C" __global__ void logs_or_error(const double* weights, double* logs, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        assert(weights[i] > 0);
        logs[i] = log(weights[i]);
    }
}
extern "C" __global__ void logs_or_nan(const double* weights, double* logs, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) logs[i] = weights[i] > 0 ? log(weights[i]) : nan("");
}
"""
LAST_BLOCK = r"""
extern "C" __global__ void total_without_fence(const float* x, float* sums, int* tickets, float* total) {
    int b = blockIdx.x, last = gridDim.x - 1;
    sums[b] = x[2 * b] + x[2 * b + 1];
    if (atomicAdd(tickets, 1) == last)
        for (int k = 0; k < gridDim.x; k++) total[0] += sums[k];
}
extern "C" __global__ void total_without_ticket(const float* x, float* sums, int* tickets, float* total) {
    int b = blockIdx.x, last = gridDim.x - 1;
    sums[b] = x[2 * b] + x[2 * b + 1];
    __threadfence();
    if (b == last)
        for (int k = 0; k < gridDim.x; k++) total[0] += sums[k];
}
extern "C" __global__ void total_by_last_block(const float* x, float* sums, int* tickets, float* total) {
    int b = blockIdx.x, last = gridDim.x - 1;
    sums[b] = x[2 * b] + x[2 * b + 1];
    __threadfence();
    if (atomicAdd(tickets, 1) == last)
        for (int k = 0; k < gridDim.x; k++) total[0] += sums[k];
}
"""
LAUNCH_LIMIT = r"""
extern "C" __global__ void brighten(float* image, int height, int width) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < height && col < width) image[row * width + col] += 1;
}
"""
LIMITS = r"""
extern "C" __global__ void reverse_after_shuffle(const float* x, float* out) {
    __shared__ float tile[32];
    int lane = threadIdx.x;
    tile[lane] = x[lane];
    __shfl_sync(0xffffffffu, lane, 0);
    out[lane] = tile[31 - lane];
}
extern "C" __global__ void swap_in_both_branches(const float* x, float* out) {
    int lane = threadIdx.x;
    if (lane < 16) {
        out[lane] = __shfl_xor_sync(0xffffffffu, x[lane], 16);
    } else {
        out[lane] = __shfl_xor_sync(0xffffffffu, x[lane], 16);
    }
}
extern "C" __global__ void flag_for_all(float* out, int* one) {
    one[0] = 1;
    out[blockIdx.x * blockDim.x + threadIdx.x] = one[0];
}
extern "C" __global__ void wrong_if_negative(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i] >= 0 ? x[i] : x[i + n];
}
extern "C" __global__ void last_word(const int* zeros, int* one) {
    one[0] = zeros[blockIdx.x * blockDim.x + threadIdx.x];
}
extern "C" __global__ void total_with_block_fence(const float* x, float* sums, int* tickets, float* total) {
    int b = blockIdx.x, last = gridDim.x - 1;
    sums[b] = x[b];
    __threadfence_block();
    if (atomicAdd(tickets, 1) == last)
        for (int k = 0; k < gridDim.x; k++) total[0] += sums[k];
}
"""
NO_PROGRESS = r"""
extern "C" __global__ void centre_after_waiting(float* x, float* total, int* arrived, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(total, x[i]);
    __threadfence();
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < n) {
    }
    x[i] -= total[0] / n;
}
extern "C" __global__ void add_up(const float* x, float* total, int* arrived, int n) {
    atomicAdd(total, x[blockIdx.x * blockDim.x + threadIdx.x]);
}
extern "C" __global__ void centre(float* x, float* total, int* arrived, int n) {
    x[blockIdx.x * blockDim.x + threadIdx.x] -= total[0] / n;
}
"""
ORDER = r"""
extern "C" __global__ void last_spike_to_come(const int* loss, int* last, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && loss[i] > 5) atomicExch(last, i);
}
extern "C" __global__ void last_spike(const int* loss, int* last, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && loss[i] > 5) atomicMax(last, i);
}
"""
OUT_OF_BOUNDS = r"""
extern "C" __global__ void steps_beyond_the_end(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i + 1] - x[i];
}
extern "C" __global__ void steps(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) out[i] = x[i + 1] - x[i];
}
"""
PARTIAL = r"""
extern "C" __global__ void twice(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2;
}
"""
RACE_ATOMIC = r"""
extern "C" __global__ void share_of_unfinished_sum(const float* x, float* out) {
    __shared__ float total;
    int t = threadIdx.x;
    if (t == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, x[t]);
    out[t] = x[t] / total;
}
extern "C" __global__ void share_of_sum(const float* x, float* out) {
    __shared__ float total;
    int t = threadIdx.x;
    if (t == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, x[t]);
    __syncthreads();
    out[t] = x[t] / total;
}
"""
RACE_GLOBAL = r"""
extern "C" __global__ void histogram_by_adding(const int* x, int* counts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) counts[x[i]] += 1;
}
extern "C" __global__ void histogram(const int* x, int* counts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[x[i]], 1);
}
"""
RACE_SHARED = r"""
extern "C" __global__ void block_sums_in_a_hurry(const float* x, float* sums) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    tile[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int half = 64; half > 0; half /= 2)
        if (t < half) tile[t] += tile[t + half];
    if (t == 0) sums[blockIdx.x] = tile[0];
}
extern "C" __global__ void block_sums(const float* x, float* sums) {
    __shared__ float tile[128];
    int t = threadIdx.x;
    tile[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (t < half) tile[t] += tile[t + half];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = tile[0];
}
"""
RACE_WRITES = r"""
extern "C" __global__ void all_small_last_word(const float* gradients, bool* small, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) small[0] = fabsf(gradients[i]) < 0.5f;
}
extern "C" __global__ void all_small(const float* gradients, bool* small, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && fabsf(gradients[i]) >= 0.5f) small[0] = false;
}
"""
TRANSPOSE = r"""
extern "C" __global__ void columns(const float* x, float* out) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    out[row * 64 + col] = x[col * 64 + row];
}
extern "C" __global__ void tile(const float* x, float* out) {
    __shared__ float part[32][32];
    int tx = threadIdx.x, ty = threadIdx.y, left = 32 * blockIdx.x, top = 32 * blockIdx.y;
    part[ty][tx] = x[(top + ty) * 64 + left + tx];
    __syncthreads();
    out[(left + ty) * 64 + top + tx] = part[tx][ty];
}
extern "C" __global__ void padded(const float* x, float* out) {
    __shared__ float part[32][33];
    int tx = threadIdx.x, ty = threadIdx.y, left = 32 * blockIdx.x, top = 32 * blockIdx.y;
    part[ty][tx] = x[(top + ty) * 64 + left + tx];
    __syncthreads();
    out[(left + ty) * 64 + top + tx] = part[tx][ty];
}
"""
UNINITIALISED = r"""
extern "C" __global__ void block_sums_of_anything(const float* x, float* sums, int n) {
    __shared__ float tile[32];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (i < n) tile[t] = x[i];
    __syncthreads();
    if (t == 0)
        for (int k = 0; k < 32; k++) sums[blockIdx.x] += tile[k];
}
extern "C" __global__ void block_sums(const float* x, float* sums, int n) {
    __shared__ float tile[32];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t] = i < n ? x[i] : 0;
    __syncthreads();
    if (t == 0)
        for (int k = 0; k < 32; k++) sums[blockIdx.x] += tile[k];
}
"""
UNUSED = r"""
extern "C" __global__ void steps_to_the_right(const float* x, float* out) {
    __shared__ float tile[33];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    float step = tile[t + 1] - tile[t];
    if (t < 31) out[t] = step;
}
extern "C" __global__ void steps_beyond_the_end(const float* x, float* out) {
    __shared__ float tile[33];
    int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    out[t] = tile[t + 1] - tile[t];
}
"""
UNWRITTEN = r"""
extern "C" __global__ void twice(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * x[i];
}
"""
WARP_SHARED = r"""
extern "C" __global__ void warp_sum_in_step(const float* x, float* total) {
    __shared__ float tile[32];
    int lane = threadIdx.x;
    tile[lane] = x[lane];
    __syncwarp();
    for (int half = 16; half > 0; half /= 2)
        if (lane < half) tile[lane] += tile[lane + half];
    if (lane == 0) total[0] = tile[0];
}
extern "C" __global__ void warp_sum(const float* x, float* total) {
    __shared__ float tile[32];
    int lane = threadIdx.x;
    tile[lane] = x[lane];
    __syncwarp();
    for (int half = 16; half > 0; half /= 2) {
        if (lane < half) tile[lane] += tile[lane + half];
        __syncwarp();
    }
    if (lane == 0) total[0] = tile[0];
}
"""
WARP_SHUFFLE = r"""
extern "C" __global__ void fold_half(const float* x, float* out) {
    int lane = threadIdx.x;
    float value = x[lane];
    if (lane < 16) value += __shfl_down_sync(0xffffffffu, value, 16);
    out[lane] = value;
}
extern "C" __global__ void fold(const float* x, float* out) {
    int lane = threadIdx.x;
    float value = x[lane];
    float upper = __shfl_down_sync(0xffffffffu, value, 16);
    if (lane < 16) value += upper;
    out[lane] = value;
}
"""


def ramp(size: int, kind: type = np.float32) -> np.ndarray:
    return np.arange(size, dtype=kind)


def blank(*shape: int, kind: type = np.float32) -> np.ndarray:
    return np.zeros(shape, kind)


def blocks_of_two() -> tuple:
    return ramp(8), blank(4), blank(1, kind=np.int32), blank(1)


def hundred() -> tuple:
    return ramp(100), blank(100), np.int32(100)


def one_warp() -> tuple:
    return ramp(32), blank(32)


def spikes() -> tuple:
    return np.where(np.arange(128) % 20 == 7, 9, 1).astype(np.int32), blank(1, kind=np.int32), np.int32(128)


def fours() -> tuple:
    return (np.arange(128) % 4).astype(np.int32), blank(4, kind=np.int32), np.int32(128)


def gradients() -> tuple:
    return np.linspace(0, 1, 128, dtype=np.float32), np.array([True]), np.int32(128)


def square() -> tuple:
    return ramp(64 * 64).reshape(64, 64), blank(64, 64)


def waiting() -> tuple:
    return ramp(128), blank(1), blank(1, kind=np.int32), np.int32(128)


def image() -> tuple:
    return blank(60, 60), np.int32(60), np.int32(60)


def weights() -> tuple:
    return np.linspace(-0.1, 1, 100), np.zeros(100), np.int32(100)


def positives() -> tuple:
    x = np.random.default_rng(0).normal(size=128).astype(np.float32)
    return x, blank(128), blank(1, kind=np.int32), np.int32(128)


def sums_of(size: int, number: int) -> Callable[[], tuple]:
    return lambda: (np.ones(size, np.float32), blank(number))


TWINS = [
    Twin("any_order", "keep", ANY_ORDER, "keep_positive", 4, 32, positives, {"any_order": "kept"}),
    Twin("barrier_divergence", "wrong", BARRIERS, "steps_after_return", 4, 32, hundred),
    Twin("barrier_divergence", "repaired", BARRIERS, "steps", 4, 32, hundred),
    Twin("clean", "add", CLEAN, "add", 8, 128, lambda: (ramp(1000), ramp(1000), blank(1000), np.int32(1000))),
    Twin("failed", "wrong", FAILED, "logs_or_error", 1, 128, weights),
    Twin("failed", "repaired", FAILED, "logs_or_nan", 1, 128, weights),
    Twin("last_block", "no-fence", LAST_BLOCK, "total_without_fence", 4, 1, blocks_of_two),
    Twin("last_block", "no-atomic", LAST_BLOCK, "total_without_ticket", 4, 1, blocks_of_two),
    Twin("last_block", "both", LAST_BLOCK, "total_by_last_block", 4, 1, blocks_of_two),
    Twin("launch_limit", "wrong", LAUNCH_LIMIT, "brighten", 1, (60, 60), image),
    Twin("launch_limit", "repaired", LAUNCH_LIMIT, "brighten", (4, 4), (16, 16), image),
    Twin("limits", "shuffle-as-barrier", LIMITS, "reverse_after_shuffle", 1, 32, one_warp),
    Twin("limits", "shuffle-in-both-branches", LIMITS, "swap_in_both_branches", 1, 32, one_warp),
    Twin("limits", "same-value", LIMITS, "flag_for_all", 2, 16, lambda: (blank(32), blank(1, kind=np.int32))),
    Twin("limits", "untaken-branch", LIMITS, "wrong_if_negative", 1, 32, lambda: (*one_warp(), np.int32(32))),
    Twin(
        "limits",
        "equal-inputs",
        LIMITS,
        "last_word",
        1,
        32,
        lambda: (blank(32, kind=np.int32), blank(1, kind=np.int32)),
    ),
    Twin("limits", "block-fence", LIMITS, "total_with_block_fence", 4, 1, blocks_of_two),
    Twin("no_progress", "wrong", NO_PROGRESS, "centre_after_waiting", 4, 32, waiting, {"seconds": 1}),
    Twin("no_progress", "repaired", NO_PROGRESS, "add_up", 4, 32, waiting),
    Twin("no_progress", "afterwards", NO_PROGRESS, "centre", 4, 32, waiting),
    Twin("order_dependence", "wrong", ORDER, "last_spike_to_come", 4, 32, spikes),
    Twin("order_dependence", "repaired", ORDER, "last_spike", 4, 32, spikes),
    Twin("out_of_bounds", "wrong", OUT_OF_BOUNDS, "steps_beyond_the_end", 4, 32, hundred),
    Twin("out_of_bounds", "repaired", OUT_OF_BOUNDS, "steps", 4, 32, hundred),
    Twin(
        "partial",
        "part",
        PARTIAL,
        "twice",
        7813,
        128,
        lambda: (np.ones(1_000_000, np.float32), np.int32(10**6)),
    ),
    Twin(
        "race_atomic", "wrong", RACE_ATOMIC, "share_of_unfinished_sum", 1, 64, lambda: (ramp(64), blank(64))
    ),
    Twin("race_atomic", "repaired", RACE_ATOMIC, "share_of_sum", 1, 64, lambda: (ramp(64) + 1, blank(64))),
    Twin("race_global", "wrong", RACE_GLOBAL, "histogram_by_adding", 4, 32, fours),
    Twin("race_global", "repaired", RACE_GLOBAL, "histogram", 4, 32, fours),
    Twin("race_shared", "wrong", RACE_SHARED, "block_sums_in_a_hurry", 2, 128, sums_of(256, 2)),
    Twin("race_shared", "repaired", RACE_SHARED, "block_sums", 2, 128, sums_of(256, 2)),
    Twin("race_writes", "wrong", RACE_WRITES, "all_small_last_word", 4, 32, gradients),
    Twin("race_writes", "repaired", RACE_WRITES, "all_small", 4, 32, gradients),
    Twin(
        "rounding",
        "sum",
        NO_PROGRESS,
        "add_up",
        4,
        32,
        lambda: (np.random.default_rng(0).random(128).astype(np.float32), *waiting()[1:]),
    ),
    Twin(
        "unfit",
        "darker",
        UNFIT,
        "darker",
        4,
        32,
        lambda: (np.arange(128, dtype=np.uint8), np.zeros(128, np.uint8)),
    ),
    Twin("transpose", "columns", TRANSPOSE, "columns", (2, 2), (32, 32), square),
    Twin("transpose", "tile", TRANSPOSE, "tile", (2, 2), (32, 32), square),
    Twin("transpose", "padded", TRANSPOSE, "padded", (2, 2), (32, 32), square),
    Twin(
        "uninitialised",
        "wrong",
        UNINITIALISED,
        "block_sums_of_anything",
        4,
        32,
        lambda: (np.ones(100, np.float32), blank(4), np.int32(100)),
    ),
    Twin(
        "uninitialised",
        "repaired",
        UNINITIALISED,
        "block_sums",
        4,
        32,
        lambda: (np.ones(100, np.float32), blank(4), np.int32(100)),
    ),
    Twin("unused", "unused", UNUSED, "steps_to_the_right", 1, 32, one_warp),
    Twin("unused", "used", UNUSED, "steps_beyond_the_end", 1, 32, one_warp),
    Twin("unwritten_output", "wrong", UNWRITTEN, "twice", 3, 32, hundred, {"outputs": "out"}),
    Twin("unwritten_output", "repaired", UNWRITTEN, "twice", 4, 32, hundred, {"outputs": "out"}),
    Twin("warp_shared", "wrong", WARP_SHARED, "warp_sum_in_step", 1, 32, lambda: (ramp(32), blank(1))),
    Twin("warp_shared", "repaired", WARP_SHARED, "warp_sum", 1, 32, lambda: (ramp(32), blank(1))),
    Twin("warp_shuffle", "wrong", WARP_SHUFFLE, "fold_half", 1, 32, one_warp),
    Twin("warp_shuffle", "repaired", WARP_SHUFFLE, "fold", 1, 32, one_warp),
]
