"""Numba kernels as a learner writes them, on the stand-in; the lines say what a person looks for in a listing."""

import math

import numpy as np
from numba import float32

from host_to_device.standins import numba_cuda as cuda
from host_to_device.standins.numba_cuda import grid

TILE = 16
WEIGHTS = np.array([0.25, 0.5, 0.25], dtype=np.float32)


@cuda.jit
def vector_add(a, b, out):
    i = cuda.grid(1)
    #! ptx compare setp.ge.s64, guard bra; sass guard EXIT
    if i < out.size:
        #! ptx load ld.global.f32, arithmetic add.f32, store st.global.f32; sass load LDG.E, arithmetic FADD, store STG.E
        out[i] = a[i] + b[i]


@cuda.jit
def saxpy(a, x, y):
    start = grid(1)
    for i in range(start, x.size, cuda.gridsize(1)):
        #! ptx load ld.global.f32, fma fma.rn.f32, store st.global.f32; sass load LDG.E, fma FFMA, store STG.E
        y[i] = a * x[i] + y[i]


@cuda.jit
def matmul(a, b, c):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    total = float32(0)
    for t in range(a.shape[1] // TILE):
        #! ptx load ld.global.f32, shared st.shared.f32; sass load LDG.E, shared STS
        tile_a[ty, tx] = a[y, t * TILE + tx]
        tile_b[ty, tx] = b[t * TILE + ty, x]
        #! ptx barrier bar.sync; sass barrier BAR.SYNC
        cuda.syncthreads()
        for k in range(TILE):
            #! ptx shared ld.shared.f32, fma fma.rn.f32; sass shared LDS, fma FFMA
            total += tile_a[ty, k] * tile_b[k, tx]
        #! ptx barrier bar.sync; sass barrier BAR.SYNC
        cuda.syncthreads()
    c[y, x] = total


@cuda.jit
def double_by_accident(x):
    i = cuda.grid(1)
    if i < x.size:
        #! ptx double cvt.f64.f32, double mul.f64, double cvt.rn.f32.f64; sass double F2F.F64.F32, double DMUL
        x[i] = x[i] * 0.1


@cuda.jit(device=True)
def smooth(x, i):
    #! ptx load ld.global.f32, fma fma.rn.ftz.f32; sass load LDG.E, fma FFMA.FTZ
    return x[i - 1] * WEIGHTS[0] + x[i] * WEIGHTS[1] + x[i + 1] * WEIGHTS[2]


@cuda.jit(fastmath=True)
def blurred(x, out):
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        #! ptx arithmetic sqrt.approx, store st.global.f32; sass arithmetic MUFU.SQRT, store STG.E
        out[i] = math.sqrt(smooth(x, i))


@cuda.jit
def histogram(values, counts):
    i = cuda.grid(1)
    if i < values.size:
        #! ptx load ld.global.u8, atomic atom; sass load LDG.E.U8
        cuda.atomic.add(counts, values[i], 1)


@cuda.jit("void(float32[::1])")
def warp_sum(x):
    i = cuda.grid(1)
    #! ptx load ld.global.f32
    value = x[i]
    #! ptx shuffle shfl.sync.down; sass shuffle SHFL.DOWN
    value += cuda.shfl_down_sync(0xFFFFFFFF, value, 16)
    #! ptx store st.global.f32
    x[i] = value


F, M = np.zeros(64, np.float32), np.zeros((64, 64), np.float32)
# The kernel, arguments as for a launch (None: its own signature), and the part of it that matters.
KERNELS = (
    (vector_add, (F, F, F), "from the guard to the last store"),
    (saxpy, (np.float32(2), F, F), "the loop"),
    (matmul, (M, M, M), "the loop"),
    (double_by_accident, (F,), "from the guard to the last store"),
    (blurred, (F, F), "from the guard to the last store"),
    (histogram, (np.zeros(64, np.uint8), np.zeros(256, np.int32)), "from the guard to the last"),
    (warp_sum, None, "from the first access to memory to the last"),
)
