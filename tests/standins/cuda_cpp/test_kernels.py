"""Kernels of every kind give what NumPy gives, with every order of threads and both sizes of a warp."""

import numpy as np
import pytest

from host_to_device.standins import cuda_cpp

COMMON = r"""
#include <cuda_fp16.h>
#include "math_constants.h"
__constant__ float factors[4] = {1, 2, 3, 4};
__device__ int counter = 5;
__device__ float shared_by_all[3] = {1, 2, 3};
#define DOUBLE(x) (2 * (x))

template <class T> __device__ T warp_sum(T v) {
    for (int offset = warpSize / 2; offset; offset /= 2) v += __shfl_down_sync(~0ull, v, offset);
    return v;
}

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

template <typename T, int TILE> __global__ void matmul(const T* a, const T* b, T* c, int n) {
    __shared__ T x[TILE][TILE], y[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    T sum = 0;
    for (int t = 0; t < n; t += TILE) {
        x[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
        y[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += x[threadIdx.y][k] * y[k][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void reduce(const float* x, float* out, int n) {
    extern __shared__ float part[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = warp_sum(i < n ? x[i] : 0.0f);
    if (threadIdx.x % warpSize == 0) part[threadIdx.x / warpSize] = v;
    __syncthreads();
    if (threadIdx.x < warpSize) {
        v = warp_sum(threadIdx.x < blockDim.x / warpSize ? part[threadIdx.x] : 0.0f);
        if (threadIdx.x == 0) atomicAdd(out, v * factors[1]);
    }
}

extern "C" __global__ void histogram(const unsigned char* x, int* bins, int n) {
    __shared__ int own[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], own[i]);
}

extern "C" __global__ void reverse(const float4* x, float4* y) {
    float4 v = __ldg(x + threadIdx.x);
    y[threadIdx.x] = make_float4(v.w, v.z, v.y, DOUBLE(v.x));
}

extern "C" __global__ void by_value(int* out, float4 four, half h, char small, double big, bool yes) {
    out[0] = four.z; out[1] = (int)(float)h; out[2] = small; out[3] = big; out[4] = yes;
}

extern "C" __global__ void state(int* out) {
    out[threadIdx.x] = atomicAdd(&counter, 1);
    shared_by_all[0] = factors[3];
}

extern "C" __global__ void votes(unsigned* out) {
    unsigned t = threadIdx.x, all = ~0u;
    int same;
    out[t] = __ballot_sync(all, t % 3 == 0);
    out[32 + t] = __any_sync(all, t == 5) + 2 * __all_sync(all, t < 31);
    out[64 + t] = __syncthreads_count(t < 7) + 100 * __syncthreads_and(1) + 1000 * __syncthreads_or(t == 3);
    out[96 + t] = __match_any_sync(all, t / 4);
    out[128 + t] = __match_all_sync(all, 3.0, &same) + same;
    if (t < 8) out[160 + t] = __activemask();
    __syncwarp();
    out[192 + t] = __shfl_xor_sync(all, t, 1) + 100 * __shfl_up_sync(all, t, 2) + 10000 * __shfl_sync(all, t, 3, 8);
    if (t < 16) out[224 + t] = __shfl_down_sync(0xffff, t, 4, 16);
    out[256 + t] = __reduce_add_sync(all, t);
}

extern "C" __global__ void bits(int* out, float* real) {
    int i = 0;
    out[i++] = __popc(0xff00ff); out[i++] = __popcll(~0ull); out[i++] = __clz(1); out[i++] = __clz(0);
    out[i++] = __ffs(8); out[i++] = __ffs(0); out[i++] = __brev(1) == 0x80000000; out[i++] = __brevll(2) == 1ull << 62;
    out[i++] = __byte_perm(0x33221100, 0x77665544, 0x7520); out[i++] = __float_as_int(1.0f);
    out[i++] = __float2int_rn(2.5f); out[i++] = __float2int_rz(-2.7f); out[i++] = __float2int_rd(3e9f);
    out[i++] = __mulhi(1 << 30, 8); out[i++] = min(3, -4) + max(2u, 7u); out[i++] = __funnelshift_l(0x80000000, 1, 1);
    i = 0;
    real[i++] = rsqrtf(4); real[i++] = fmaf(2, 3, 4); real[i++] = __fdividef(1, 4); real[i++] = __expf(0);
    real[i++] = erfinvf(0.5f); real[i++] = sinpif(0.5f); real[i++] = max(1.0f, __int_as_float(0x7fc00000));
    real[i++] = pow(2.0f, 3); real[i++] = fabs(-2.0f); real[i++] = hypotf(3, 4); real[i++] = CUDART_PI_F;
    real[i++] = isnan(nextafterf(1, 2)) + isinf(CUDART_INF_F);
}

extern "C" __global__ void atomics(int* a, unsigned* b, unsigned long long* c, double* d, float* e) {
    int t = threadIdx.x;
    atomicMax(&a[0], t); atomicMin(&a[1], -t); atomicSub(&a[2], 1); atomicOr(&a[3], 1 << t % 8);
    atomicAnd(&a[4], ~(1 << t % 8)); atomicXor(&a[5], 1 << t % 8); atomicExch(&a[6], 9);
    atomicInc(&b[0], 9); atomicDec(&b[1], 9); atomicCAS(&b[2], 0u, 5u);
    atomicAdd(&c[0], 1ull << 33); atomicAdd(&d[0], 0.5); atomicAdd(&e[0], 0.25f);
}

extern "C" __global__ void locked(int* lock, int* sum) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    *sum = *sum + 1;
    __threadfence();
    atomicExch(lock, 0);
}

extern "C" __global__ void wait_for_each_other(volatile int* flags) {
    flags[threadIdx.x] = 1;
    while (!flags[blockDim.x - 1 - threadIdx.x]) {}
}

extern "C" __global__ void says() { printf("thread %d of %d: %.1f %s %%\n", threadIdx.x, blockDim.x, 0.5, "yes"); }

extern "C" __global__ void halves(const half* x, half* y, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] * x[i] + __float2half(0.1f);
}

extern "C" __global__ void as_half(const float* x, half* y, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = __float2half(x[i]);
}

extern "C" __global__ void heap(int* out) {
    int* mine = (int*)malloc(100 * sizeof(int));
    mine[99] = threadIdx.x;
    int* more = new int[10];
    more[0] = mine[99];
    out[threadIdx.x] = more[0];
    free(mine);
    delete[] more;
}

extern "C" __global__ void racy(int* x) { x[0] = x[0] + 1; }

namespace space { __global__ void inside(int* out) { out[0] = 7; } }
__global__ void overloads_operators(int* out) { int2 a{1, 2}; out[0] = a.x + a.y; }
"""

SEEDS = (None, 1, 2)


@pytest.fixture(scope="module")
def module():
    return cuda_cpp.compile(
        COMMON, name_expressions=["matmul<float, 16>", "matmul<double,8>", "warp_size_of<3>"][:2]
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_vector_add(module, device, seed):
    n = 100_003 if seed is None else 1003
    a, b = np.random.default_rng(0).random((2, n), dtype=np.float32)
    c = device(np.zeros(n, np.float32))
    module.function("vector_add")(
        ((n + 255) // 256, 1, 1), (256, 1, 1), (device(a), device(b), c, np.int32(n)), seed=seed
    )
    assert np.array_equal(c, a + b)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "tile", "kind"), [("matmul<float, 16>", 16, "f4"), ("matmul<double,8>", 8, "f8")]
)
def test_tiled_matmul(module, device, seed, name, tile, kind):
    n = 64
    a, b = np.random.default_rng(1).random((2, n, n)).astype(kind)
    c = device(np.zeros((n, n), kind))
    kernel = module.function(name)
    kernel((n // tile, n // tile, 1), (tile, tile, 1), (device(a), device(b), c, np.int32(n)), seed=seed)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    assert kernel.shared_size_bytes == 2 * tile * tile * np.dtype(kind).itemsize


@pytest.mark.parametrize("warp_size", [32, 64])
@pytest.mark.parametrize("seed", SEEDS)
def test_reduction_with_shuffles_dynamic_shared_memory_and_constants(device, warp_size, seed):
    module = (
        cuda_cpp.compile(COMMON, warp_size=warp_size)
        if warp_size == 32
        else cuda_cpp.compile(
            COMMON.replace(
                "unsigned t = threadIdx.x, all = ~0u;",
                "unsigned t = threadIdx.x; unsigned long long all = ~0ull;",
            ).replace("0xffff,", "0xffffull,"),
            warp_size=64,
        )
    )
    n = 10_000
    x = np.random.default_rng(2).random(n, dtype=np.float32)
    out = device(np.zeros(1, np.float32))
    module.function("reduce")(
        ((n + 255) // 256, 1, 1), (256, 1, 1), (device(x), out, np.int32(n)), shared_mem=32, seed=seed
    )
    np.testing.assert_allclose(out[0], 2 * x.sum(), rtol=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_histogram_with_atomics(module, device, seed):
    x = np.random.default_rng(3).integers(0, 256, 20_000, dtype=np.uint8)
    bins = device(np.zeros(256, np.int32))
    module.function("histogram")((32, 1, 1), (128, 1, 1), (device(x), bins, np.int32(len(x))), seed=seed)
    assert np.array_equal(bins, np.bincount(x, minlength=256))


def test_vector_types(module, device):
    x = np.arange(64, dtype=np.float32)
    y = device(np.zeros(64, np.float32))
    module.function("reverse")((1, 1, 1), (16, 1, 1), (device(x), y))
    wanted = x.reshape(-1, 4)[:, ::-1].copy()
    wanted[:, 3] *= 2
    assert np.array_equal(y.reshape(-1, 4), wanted)


def test_arguments_by_value_arrive_as_their_bytes(module, device):
    out = device(np.zeros(5, np.int32))
    four = np.array([1, 2, 3, 4], np.float32).view("V16")[0]
    kernel = module.function("by_value")
    kernel((1, 1, 1), (1, 1, 1), (out, four, np.float16(7), np.int8(-3), np.float64(9), np.bool_(True)))
    assert out.tolist() == [3, 7, -3, 9, 1]
    assert [parameter.size for parameter in kernel.parameters] == [8, 16, 2, 1, 8, 1]
    assert [parameter.pointer for parameter in kernel.parameters] == [True, *[False] * 5]
    assert kernel.parameters[4].type == "double"


def test_variables_on_the_device_keep_their_values_between_launches(device):
    module = cuda_cpp.compile(COMMON)
    out = device(np.zeros(4, np.int32))
    for _ in range(2):
        module.function("state")((1, 1, 1), (4, 1, 1), (out,))
    assert sorted(out) == [9, 10, 11, 12]
    assert module.get_global("counter").view(np.int32)[0] == 13
    assert module.get_global("shared_by_all").view(np.float32).tolist() == [4, 2, 3]
    module.get_global("factors").view(np.float32)[3] = 40
    module.function("state")((1, 1, 1), (1, 1, 1), (out,))
    assert module.get_global("shared_by_all").view(np.float32)[0] == 40
    assert cuda_cpp.compile(COMMON).get_global("counter").view(np.int32)[0] == 5  # each module has its own


def test_votes_matches_and_shuffles(module, device):
    out = device(np.zeros(288, np.uint32))
    module.function("votes")((1, 1, 1), (32, 1, 1), (out,))
    t = np.arange(32)
    assert (out[:32] == 0x49249249).all()
    assert (out[32:64] == 1).all()
    assert (out[64:96] == 7 + 100 + 1000).all()
    assert np.array_equal(out[96:128], 0xF << (t // 4 * 4))
    assert (out[128:160] == 0).all()  # all bits, and one
    assert (out[160:168] == 0xFF).all()
    assert np.array_equal(out[192:224], (t ^ 1) + 100 * np.where(t < 2, t, t - 2) + 10000 * (t // 8 * 8 + 3))
    assert np.array_equal(out[224:240], np.where(t[:16] < 12, t[:16] + 4, t[:16]))
    assert (out[256:] == t.sum()).all()


def test_a_warp_of_64(device):
    module = cuda_cpp.compile(
        'extern "C" __global__ void f(unsigned long long* out) {\n'
        "  out[threadIdx.x] = __ballot(threadIdx.x % 2);\n"
        "  out[64 + threadIdx.x] = __shfl_down(threadIdx.x, 32) + 1000 * warpSize; }",
        warp_size=64,
    )
    out = device(np.zeros(128, np.uint64))
    module.function("f")((1, 1, 1), (64, 1, 1), (out,))
    assert (out[:64] == 0xAAAA_AAAA_AAAA_AAAA).all()
    t = np.arange(64)
    assert np.array_equal(out[64:], np.where(t < 32, t + 32, t) + 64000)


def test_intrinsics(module, device):
    out, real = device(np.zeros(32, np.int32)), device(np.zeros(32, np.float32))
    module.function("bits")((1, 1, 1), (1, 1, 1), (out, real))
    wanted = [16, 64, 31, 32, 4, 0, 1, 1, 0x77_55_22_00, 0x3F800000, 2, -2, 2**31 - 1, 2, 3, 3]
    assert out[:16].tolist() == wanted
    np.testing.assert_allclose(real[:12], [0.5, 10, 0.25, 1, 0.4769363, 1, 1, 8, 2, 5, np.pi, 1], rtol=1e-6)


@pytest.mark.parametrize("blocks", [1, 64])
def test_atomics(module, device, blocks):
    a, b = device([0, 0, 0, 0, 255, 0, 0], np.int32), device([0, 0, 0], np.uint32)
    c, d, e = device([0], np.uint64), device([0], np.float64), device([0], np.float32)
    module.function("atomics")((blocks, 1, 1), (64, 1, 1), (a, b, c, d, e))
    threads = 64 * blocks
    assert a.tolist() == [63, -63, -threads, 255, 0, 0, 9]
    assert b.tolist() == [threads % 10, -threads % 10, 5]
    assert (c[0], d[0], e[0]) == (threads << 33, threads / 2, threads / 4)


@pytest.mark.parametrize("seed", SEEDS)
def test_threads_that_wait_for_each_other_come_to_an_end(module, device, seed):
    lock, total = device([0], np.int32), device([0], np.int32)
    module.function("locked")((2, 1, 1), (64, 1, 1), (lock, total), seed=seed)
    assert total[0] == 128
    module.function("wait_for_each_other")((1, 1, 1), (8, 1, 1), (device(np.zeros(8, np.int32)),), seed=seed)


def test_a_seed_shows_lost_updates_and_repeats_itself(module, device):
    def run(seed):
        total = device([0], np.int32)
        module.function("racy")((2, 1, 1), (64, 1, 1), (total,), seed=seed)
        return int(total[0])

    assert run(None) == 128
    assert run(1) < 128
    assert run(1) == run(1)
    assert len({run(seed) for seed in range(5)}) > 1


def test_printf_is_shown(module, capsys):
    module.function("says")((1, 1, 1), (2, 1, 1), ())
    assert capsys.readouterr().out == "thread 0 of 2: 0.5 yes %\nthread 1 of 2: 0.5 yes %\n"


def test_half_precision(module, device):
    x = np.linspace(-3, 3, 1000).astype(np.float16)
    y = device(np.zeros(1000, np.float16))
    module.function("halves")((1, 1, 1), (32, 1, 1), (device(x), y, np.int32(1000)))
    # ptxas may make one operation, with one rounding, of product and sum (it does for an H100): CUDA leaves that open.
    fused = (x.astype(np.float64) ** 2 + np.float16(0.1)).astype(np.float16)
    assert ((y == x * x + np.float16(0.1)) | (y == fused)).all()


def test_rounding_to_half_precision(module, device):
    rng = np.random.default_rng(4)
    x = rng.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
    x[:8] = [0, -0.0, np.inf, -np.inf, 65519.9, 65520, 6e-8, 2.9e-8]
    x[8:4000] = (rng.random(3992) * 2.0 ** rng.integers(-28, 17, 3992)).astype(np.float32)
    y = device(np.zeros(len(x), np.float16))
    module.function("as_half")((1, 1, 1), (256, 1, 1), (device(x), y, np.int32(len(x))))
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = x.astype(np.float16)
    assert np.array_equal(y[~np.isnan(x)].view(np.uint16), wanted[~np.isnan(x)].view(np.uint16))
    assert np.isnan(y[np.isnan(x)]).all()


def test_memory_from_malloc_and_new(module, device):
    out = device(np.zeros(64, np.int32))
    module.function("heap")((1, 1, 1), (64, 1, 1), (out,))
    assert out.tolist() == list(range(64))


def test_kernels_in_namespaces_and_without_c_linkage(module, device):
    out = device([0], np.int32)
    module.function("space::inside")((1, 1, 1), (1, 1, 1), (out,))
    assert out[0] == 7
    assert module.function("vector_add").c_linkage and not module.function("overloads_operators").c_linkage


def test_grids_of_three_dimensions(device):
    module = cuda_cpp.compile(
        'extern "C" __global__ void f(int* out) { int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);\n'
        "  int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);\n"
        "  out[b * blockDim.x * blockDim.y * blockDim.z + t] += b * 1000 + t; }"
    )
    for seed in SEEDS:
        out = device(np.zeros((24, 30), np.int32))
        module.function("f")((2, 3, 4), (5, 3, 2), (out,), seed=seed)
        assert np.array_equal(out, np.arange(24)[:, None] * 1000 + np.arange(30))


def test_many_blocks_are_shared_out_and_all_run_once(device):
    module = cuda_cpp.compile(
        'extern "C" __global__ void f(int* out) { atomicAdd(&out[blockIdx.x % 7], 1); }'
    )
    out = device(np.zeros(7, np.int32))
    module.function("f")((10_007, 1, 1), (32, 1, 1), (out,))
    assert out.sum() == 10_007 * 32


def test_a_pointer_in_device_memory_is_good_in_a_kernel(device):
    module = cuda_cpp.compile(
        'extern "C" __global__ void f(int** rows, int* out) { out[threadIdx.x] = rows[threadIdx.x][0]; }'
    )
    rows = [device([number * 11], np.int32) for number in range(4)]
    table = device([row.ctypes.data for row in rows], np.uint64)
    out = device(np.zeros(4, np.int32))
    module.function("f")((1, 1, 1), (4, 1, 1), (table, out))
    assert out.tolist() == [0, 11, 22, 33]
