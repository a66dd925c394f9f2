"""Kernels for the translator to WGSL, written before it: right ones with inputs, and ones that it has to refuse.

The stand-in says what a right kernel computes. `ulp` is how far a float32 may lie from that, in units in the last place of
the largest value; it is 0 unless the kernel uses what WGSL computes less exactly (`WHY` names the clause).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda, float32, int32

BLOCK, BINS = 64, 16

# WGSL, section 15.7.4: `x / y` 2.5 ULP, `exp` 3 + 2 |x| ULP, `sqrt` as 1 / inverseSqrt (2 ULP, and the division), `log` 3 ULP,
# and a sum may be reordered and fused. Sums of many terms get a bound for the order of the terms.
DIVIDED, FUSED, ROOT, EXPONENT, LOGARITHM, ORDERED = 3, 2, 6, 24, 8, 64


@dataclass(frozen=True)
class Case:
    kernel: Any
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    inputs: Callable[[np.random.Generator], dict[str, Any]]
    ulp: float = 0


def whole(rng, *shape):
    return rng.integers(-9, 10, shape).astype(np.int32)


def real(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def blank(*shape):
    return np.full(shape, 77, np.float32)


@cuda.jit
def saxpy(alpha, x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] += alpha * x[i]


@cuda.jit
def reverse(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[x.size - 1 - i]


@cuda.jit
def from_the_end(x, out):
    """negative indices count from the end: one that stands there, and one that is computed"""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[-1] + x[i - 3]


@cuda.jit
def stride_loop(alpha, x, y):
    first, step = cuda.grid(1), cuda.gridsize(1)
    for i in range(first, y.size, step):
        y[i] += alpha * x[i]


@cuda.jit
def downwards(x, out):
    i = cuda.grid(1)
    if i < out.size:
        total = 0
        for k in range(x.size - 1, -1, -2):
            total += x[k] * (i + 1)
        out[i] = total


@cuda.jit
def add_bias(x, bias, out):
    col, row = cuda.grid(2)
    rows, cols = out.shape
    if row < rows and col < cols:
        out[row, col] = x[row, col] + bias[col]


@cuda.jit
def whole_arithmetic(x, y, out):
    """Python's quotients round down, also of negative numbers; sums wrap at 32 bits when they are stored"""
    i = cuda.grid(1)
    if i < x.size:
        out[i, 0] = x[i] // 4 if x[i] < 0 else x[i] // 3
        out[i, 1] = x[i] % 5
        out[i, 2] = x[i] // -3
        out[i, 3] = x[i] * y[i] + 2000000000 + 2000000000
        out[i, 4] = (x[i] & 12) | (y[i] ^ 3)
        out[i, 5] = x[i] << 3
        out[i, 6] = ~x[i] >> 1
        out[i, 7] = min(x[i], y[i], 2) - max(abs(x[i] % 9), 3)


@cuda.jit
def wrapped_count(labels, counts):
    i = cuda.grid(1)
    if i == 0:
        for k in range(labels.size):
            counts[labels[k]] += 1


@cuda.jit
def branches(x, out):
    i = cuda.grid(1)
    if i < x.size:
        if not (x[i] > 0 or i % 3 == 1):
            out[i] = -x[i]
        elif 0.25 < x[i] <= 1:
            out[i] = x[i] * 2
        else:
            out[i] = max(x[i], float32(-1)) if i > 5 and x[i] != 0 else min(x[i], 0)


@cuda.jit
def while_loops(left, step, counts):
    i = cuda.grid(1)
    if i < counts.size:
        c = left + float32(i) * step
        x, y, n = float32(0), float32(0), 0
        while n < 255 and x * x + y * y <= float32(4):
            x, y = x * x - y * y + c, (x + x) * y
            n += 1
        counts[i] = n


@cuda.jit
def leaves_early(x, out):
    i = cuda.grid(1)
    if i >= x.size:
        return
    found = -1
    for k in range(x.size):
        if x[k] < 0:
            continue
        if x[k] == i % 5:
            found = k
            break
    out[i] = found


@cuda.jit
def swaps(x, out):
    i = cuda.grid(1)
    if i < x.size:
        a, b = x[i], i
        a, b = b, a
        out[i] = a * 3 - b


@cuda.jit
def functions(x, out):
    i = cuda.grid(1)
    if i < x.size:
        v = abs(x[i]) + float32(0.5)
        out[i, 0] = math.sqrt(v)
        out[i, 1] = math.exp(x[i])
        out[i, 2] = math.log(v)
        out[i, 3] = float32(1) / v


@cuda.jit(device=True)
def sigmoid(v):
    return float32(1) / (float32(1) + math.exp(-v))


@cuda.jit(device=True)
def at(m, row, col):
    if row < m.shape[0] and col < m.shape[1]:
        return m[row, col]
    return float32(0)


@cuda.jit
def swish(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * sigmoid(x[i])


@cuda.jit
def reverse_shared(x, out):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = tile[63 - t]


@cuda.jit
def transpose_tile(a, out):
    tile = cuda.shared.array((8, 9), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * 8, cuda.blockIdx.y * 8
    for k in range(ty, 8, cuda.blockDim.y):
        if y + k < a.shape[0] and x + tx < a.shape[1]:
            tile[k, tx] = a[y + k, x + tx]
    cuda.syncthreads()
    for k in range(ty, 8, cuda.blockDim.y):
        if x + k < out.shape[0] and y + tx < out.shape[1]:
            out[x + k, y + tx] = tile[tx, k]


@cuda.jit
def matmul_tiled(a, b, c):
    tile_a = cuda.shared.array((8, 8), float32)
    tile_b = cuda.shared.array((8, 8), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = float32(0)
    for s in range(0, a.shape[1], 8):
        tile_a[ty, tx] = at(a, row, s + tx)
        tile_b[ty, tx] = at(b, s + ty, col)
        cuda.syncthreads()
        for k in range(8):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


@cuda.jit
def sum_halves(x, total):
    tile = cuda.shared.array(BLOCK, float32)
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    tile[tid] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()
    half = BLOCK // 2
    while half > 0:
        if tid < half:
            tile[tid] += tile[tid + half]
        cuda.syncthreads()
        half //= 2
    if tid == 0:
        cuda.atomic.add(total, 0, tile[0])


@cuda.jit
def scan_blocks(x, out, sums):
    tile = cuda.shared.array(BLOCK, int32)
    tid, i = cuda.threadIdx.x, cuda.grid(1)
    tile[tid] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = 1
    while step < BLOCK:
        before = tile[tid - step] if tid >= step else 0
        cuda.syncthreads()
        tile[tid] += before
        cuda.syncthreads()
        step *= 2
    if i < x.size:
        out[i] = tile[tid]
    if tid == BLOCK - 1:
        sums[cuda.blockIdx.x] = tile[tid]


@cuda.jit
def histogram(x, counts):
    private = cuda.shared.array(BINS, int32)
    for b in range(cuda.threadIdx.x, BINS, BLOCK):
        private[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(private, x[i], 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, BINS, BLOCK):
        cuda.atomic.add(counts, b, private[b])


@cuda.jit
def extremes(x, most, least, order):
    """atomics whose old values are used, and of two dimensions"""
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(most, (0, i % 2), x[i])
        cuda.atomic.min(least, 0, float32(x[i]))
        place = cuda.atomic.add(order, x.size, 1)
        order[place] = 1


@cuda.jit
def through_global_memory(x, out):
    """a barrier orders global memory within a block, too"""
    t, i = cuda.threadIdx.x, cuda.grid(1)
    out[i] = x[i] * 2
    cuda.syncthreads()
    other = out[cuda.blockIdx.x * BLOCK + (t + 1) % BLOCK]
    cuda.syncthreads()
    out[i] = other


@cuda.jit
def own_array(x, out):
    window = cuda.local.array(4, int32)
    i = cuda.grid(1)
    if i < out.size:
        for k in range(4):
            window[k] = x[i + k]
        for k in (2, 0):
            if window[k] > window[k + 1]:
                window[k], window[k + 1] = window[k + 1], window[k]
        out[i] = window[0] * 1000 + window[1] * 100 + window[2] * 10 + window[3]


@cuda.jit
def words_of_wgsl(let, fn, out):
    """names that WGSL reserves, and a counter that is used behind its loop"""
    target, private = cuda.grid(1), 0
    if target < out.size:
        loop = 5
        for loop in range(let.size):
            private += fn[loop]
        out[target] = private + loop + target


CASES = [
    Case(saxpy, 4, 64, lambda r: {"alpha": np.float32(2.5), "x": real(r, 200), "y": real(r, 200)}, FUSED),
    Case(reverse, 4, 64, lambda r: {"x": real(r, 200), "out": blank(200)}),
    Case(from_the_end, 4, 64, lambda r: {"x": whole(r, 200), "out": whole(r, 200)}),
    Case(
        stride_loop, 2, 32, lambda r: {"alpha": np.float32(0.1), "x": real(r, 200), "y": real(r, 200)}, FUSED
    ),
    Case(downwards, 1, 64, lambda r: {"x": whole(r, 31), "out": whole(r, 40)}),
    Case(
        add_bias, (3, 4), (16, 8), lambda r: {"x": real(r, 30, 40), "bias": real(r, 40), "out": blank(30, 40)}
    ),
    Case(
        whole_arithmetic, 2, 64, lambda r: {"x": whole(r, 100), "y": whole(r, 100), "out": whole(r, 100, 8)}
    ),
    Case(
        wrapped_count,
        1,
        1,
        lambda r: {"labels": abs(whole(r, 90)) % 5, "counts": np.full(5, 2**31 - 3, np.int32)},
    ),
    Case(branches, 2, 64, lambda r: {"x": real(r, 100), "out": blank(100)}),
    Case(
        while_loops,
        2,
        64,
        lambda r: {"left": np.float32(-2), "step": np.float32(2**-5), "counts": whole(r, 100)},
    ),
    Case(leaves_early, 2, 64, lambda r: {"x": whole(r, 100), "out": whole(r, 100)}),
    Case(swaps, 2, 64, lambda r: {"x": whole(r, 100), "out": whole(r, 100)}),
    Case(functions, 2, 64, lambda r: {"x": real(r, 100), "out": blank(100, 4)}, EXPONENT),
    Case(swish, 2, 64, lambda r: {"x": real(r, 100), "out": blank(100)}, EXPONENT),
    Case(reverse_shared, 1, 64, lambda r: {"x": whole(r, 64), "out": whole(r, 64)}),
    Case(transpose_tile, (3, 2), (8, 4), lambda r: {"a": real(r, 13, 20), "out": blank(20, 13)}),
    Case(
        matmul_tiled,
        (3, 2),
        (8, 8),
        lambda r: {"a": real(r, 13, 20), "b": real(r, 20, 17), "c": blank(13, 17)},
        ORDERED,
    ),
    Case(sum_halves, 16, BLOCK, lambda r: {"x": real(r, 1000), "total": np.zeros(1, np.float32)}, ORDERED),
    Case(scan_blocks, 4, BLOCK, lambda r: {"x": whole(r, 250), "out": whole(r, 250), "sums": whole(r, 4)}),
    Case(histogram, 4, BLOCK, lambda r: {"x": abs(whole(r, 500)), "counts": np.zeros(BINS, np.int32)}),
    Case(
        extremes,
        2,
        64,
        lambda r: {
            "x": whole(r, 100),
            "most": np.full((1, 2), -99, np.int32),
            "least": np.full(1, 99, np.float32),
            "order": np.zeros(101, np.int32),
        },
    ),
    Case(through_global_memory, 3, BLOCK, lambda r: {"x": real(r, 192), "out": blank(192)}),
    Case(own_array, 2, 64, lambda r: {"x": whole(r, 103), "out": whole(r, 100)}),
    Case(words_of_wgsl, 1, 64, lambda r: {"let": whole(r, 9), "fn": whole(r, 9), "out": whole(r, 40)}),
]


# --- What has to be refused, each with words of the message and the text of its line -----------------------------------


@cuda.jit
def float64_constant(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * 0.1


@cuda.jit
def float64_total(x, out):
    total = 0
    for k in range(x.size):
        total += x[k]
    out[0] = total


@cuda.jit
def float64_quotient(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = i / 2


@cuda.jit
def float64_count(x, out):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i] / x.size + x[i]
        out[i] = v


@cuda.jit
def int64_value(x, out):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i] * x[i]
        out[i] = v // 3


@cuda.jit
def int64_index(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[x[i] * 1000]


@cuda.jit
def barrier_behind_guard(x, out):
    tile = cuda.shared.array(64, float32)
    i = cuda.grid(1)
    if i < x.size:
        tile[cuda.threadIdx.x] = x[i]
        cuda.syncthreads()
        out[i] = tile[0]


@cuda.jit
def barrier_behind_return(x, out):
    tile = cuda.shared.array(64, float32)
    i = cuda.grid(1)
    if i >= x.size:
        return
    tile[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    out[i] = tile[0]


@cuda.jit
def barrier_in_uneven_loop(x, out):
    t = cuda.threadIdx.x
    for k in range(t, 64, 32):
        out[k] = x[k]
        cuda.syncthreads()


@cuda.jit
def barrier_behind_break(x, out):
    t = cuda.threadIdx.x
    for k in range(4):
        if x[t] < 0:
            break
        cuda.syncthreads()
        out[t] = k


@cuda.jit
def shuffled(x, out):
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_down_sync(0xFFFFFFFF, x[t], 4)


@cuda.jit
def printing(x, out):
    i = cuda.grid(1)
    print(i)


@cuda.jit
def infinite(x, out):
    best = float32(math.inf)
    out[0] = best


@cuda.jit
def sliced(x, out):
    i = cuda.grid(1)
    out[i] = x[i:][0]


@cuda.jit
def zero_divisor(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 7 // x[i]


@cuda.jit
def two_types(x, out):
    i = cuda.grid(1)
    v = float32(1)
    if i > 3:
        v = i > 5
    out[i] = v


F, N = np.float32, np.int32
# The kernel, the dtype of its arrays `x` and `out` (100 elements, 2 blocks of 64), words of the message, the line's text.
REFUSED = [
    (float64_constant, F, "float64", "out[i] = x[i] * 0.1"),
    (float64_total, F, "float64 in Numba", "total += x[k]"),
    (float64_quotient, F, "quotient of integers is a float64", "out[i] = i / 2"),
    (float64_count, F, "float64", "v = x[i] / x.size + x[i]"),
    (int64_value, N, "is an int64", "out[i] = v // 3"),
    (int64_index, N, "is an int64", "out[i] = x[x[i] * 1000]"),
    (barrier_behind_guard, F, "`i < x.size` in line", "cuda.syncthreads()"),
    (barrier_behind_return, F, "`i >= x.size` in line", "cuda.syncthreads()"),
    (barrier_in_uneven_loop, F, "`range(t, 64, 32)` in line", "cuda.syncthreads()"),
    (barrier_behind_break, F, "`x[t] < 0` in line", "cuda.syncthreads()"),
    (
        shuffled,
        F,
        "WGSL has nothing that cuda.shfl_down_sync",
        "out[t] = cuda.shfl_down_sync(0xFFFFFFFF, x[t], 4)",
    ),
    (printing, F, "print", "print(i)"),
    (infinite, F, "no infinity", "best = float32(math.inf)"),
    (sliced, F, "no array that the translator knows", "out[i] = x[i:][0]"),
    (zero_divisor, N, "may be zero", "out[i] = 7 // x[i]"),
    (two_types, F, "another type in line", "v = i > 5"),
    (saxpy, np.float64, "float64", "def saxpy(alpha, x, y):"),
]
