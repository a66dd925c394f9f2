"""RawKernel and RawModule with headers: cooperative groups, CUB, cuda::std, complex numbers of CUDA's C interface."""

import numpy as np

from tests.corpora.cupy.case import Raises, device, documentation, program, source

RAW = documentation("user_guide/kernel", "Raw kernels")
GROUPS = source("cupy/_core/raw.pyx", "RawKernel.enable_cooperative_groups")
CCCL = "cupy/_core/include/cupy/_cccl"

TILES = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void tiles(const int* x, int* out) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int v = x[block.thread_rank()];
    for (int away = tile.size() / 2; away > 0; away /= 2) v += tile.shfl_down(v, away);
    if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = v + 1000 * tile.meta_group_size();
    block.sync();
    out[8 + block.thread_rank()] = out[tile.meta_group_rank()];
}
"""


@program(device([4028, 4092, 4156, 4220], "int32"), RAW, "raw kernels", "groups")
def tiles_of_a_block_add_by_shuffles(cp):
    out = cp.zeros(40, cp.int32)
    cp.RawKernel(TILES, "tiles")((1,), (32,), (cp.arange(32, dtype=cp.int32), out))
    return out[:4]


@program(device([4028] * 8 + [4092] * 8 + [4156] * 8 + [4220] * 8, "int32"), RAW, "raw kernels", "groups")
def a_block_waits_as_a_group(cp):
    out = cp.zeros(40, cp.int32)
    cp.RawKernel(TILES, "tiles")((1,), (32,), (cp.arange(32, dtype=cp.int32), out))
    return out[8:]


REDUCED = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void reduced(const int* x, int* out) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int v = x[threadIdx.x];
    out[threadIdx.x] = cg::reduce(tile, v, cg::plus<int>()) + 1000 * cg::reduce(tile, v, cg::greater<int>());
    out[32 + threadIdx.x] = cg::inclusive_scan(tile, 1) + 100 * cg::exclusive_scan(tile, 2);
}
"""


@program(
    (device([15120] * 16 + [31376] * 16, "int32"), device([1, 202, 403, 604], "int32")),
    RAW,
    "raw kernels",
    "groups",
)
def a_tile_reduces_and_scans(cp):
    out = cp.zeros(64, cp.int32)
    cp.RawKernel(REDUCED, "reduced")((1,), (32,), (cp.arange(32, dtype=cp.int32), out))
    return out[:32], out[48:52]


VOTES = r"""
#include <cooperative_groups.h>
using namespace cooperative_groups;
extern "C" __global__ void votes(unsigned* out) {
    auto tile = tiled_partition<4>(this_thread_block());
    unsigned t = threadIdx.x;
    out[t] = tile.ballot(t % 3 == 0) + 100 * tile.any(t == 5) + 1000 * tile.all(t > 3);
    out[32 + t] = tile.match_any(t / 2) + 100 * tile.shfl_xor(t, 1) + 10000 * tile.shfl_up(t, 1);
    if (t % 2) {
        coalesced_group odd = coalesced_threads();
        out[64 + t] = odd.num_threads() + 100 * odd.thread_rank() + 10000 * odd.shfl(t, 1);
    }
    thread_group part = tiled_partition(this_thread_block(), 8);
    part.sync();
    out[96 + t] = part.size() + 100 * part.thread_rank();
}
"""


@program(
    (
        device([9, 9, 9, 9, 1104, 1104, 1104, 1104], "uint32"),
        device([103, 3, 10312, 20212], "uint32"),
        device([0, 30016, 0, 30116], "uint32"),
        device([8, 108, 208, 308], "uint32"),
    ),
    RAW,
    "raw kernels",
    "groups",
)
def groups_vote_and_know_their_ranks(cp):
    out = cp.zeros(128, cp.uint32)
    cp.RawKernel(VOTES, "votes")((1,), (32,), (out,))
    return out[:8], out[32:36], out[64:68], out[96:100]


PARTS = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void parts(int* out) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int t = threadIdx.x;
    auto same = cg::labeled_partition(warp, t % 3);
    out[t] = same.size() + 100 * same.thread_rank();
    auto half = cg::binary_partition(warp, t < 10);
    out[32 + t] = half.size() + 100 * half.thread_rank();
}
"""


@program(
    (device([11, 11, 10, 111, 111, 110], "int32"), device([910, 22, 122], "int32")),
    RAW,
    "raw kernels",
    "groups",
)
def a_warp_is_parted_by_labels(cp):
    out = cp.zeros(64, cp.int32)
    cp.RawKernel(PARTS, "parts")((1,), (32,), (out,))
    return out[:6], out[41:44]


GRID = r"""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void mean_free(float* x, float* sums, int n) {
    cg::grid_group grid = cg::this_grid();
    if (grid.thread_rank() == 0) sums[0] = 0;
    grid.sync();
    for (unsigned i = grid.thread_rank(); i < n; i += grid.size()) atomicAdd(sums, x[i]);
    grid.sync();
    float mean = sums[0] / n;
    for (unsigned i = grid.thread_rank(); i < n; i += grid.size()) x[i] -= mean;
}
"""


@program(device([-4.5, -3.5, -2.5, -1.5], "float32"), GROUPS, "raw kernels", "groups", "cooperative")
def the_grid_waits_in_a_cooperative_launch(cp):
    x = cp.arange(10, dtype=cp.float32)
    kernel = cp.RawKernel(GRID, "mean_free", enable_cooperative_groups=True)
    kernel((3,), (2,), (x, cp.zeros(1, cp.float32), np.int32(10)))
    return x[:4]


@program(
    Raises(
        "CUDADriverError", "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: too many blocks in cooperative launch"
    ),
    GROUPS,
    "raw kernels",
    "groups",
    "cooperative",
)
def a_cooperative_launch_of_too_many_blocks(cp):
    x = cp.arange(10, dtype=cp.float32)
    module = cp.RawModule(code=GRID, enable_cooperative_groups=True)
    module.get_function("mean_free")((100000,), (256,), (x, cp.zeros(1, cp.float32), np.int32(10)))


BLOCKS = r"""
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
extern "C" __global__ void blocks(const int* x, int* sums, int* scanned) {
    typedef cub::BlockReduce<int, 64> Reduce;
    typedef cub::BlockScan<int, 64> Scan;
    __shared__ union { Reduce::TempStorage reduce; Scan::TempStorage scan; } storage;
    int i = blockIdx.x * 64 + threadIdx.x, v = x[i], all;
    int sum = Reduce(storage.reduce).Sum(v);
    __syncthreads();
    int most = Reduce(storage.reduce).Reduce(v, cuda::maximum<>());
    __syncthreads();
    Scan(storage.scan).ExclusiveSum(v, scanned[i], all);
    if (threadIdx.x == 0) sums[3 * blockIdx.x] = sum, sums[3 * blockIdx.x + 1] = most, sums[3 * blockIdx.x + 2] = all;
}
"""


@program(
    (
        device([2016, 63, 2016, 6112, 127, 6112], "int32"),
        device([0, 0, 1, 3, 6], "int32"),
        device([5985], "int32"),
    ),
    source(f"{CCCL}/cub/cub/block/block_reduce.cuh", "BlockReduce"),
    "raw kernels",
    "CUB",
)
def blocks_reduce_and_scan_with_cub(cp):
    sums, scanned = cp.zeros(6, cp.int32), cp.zeros(128, cp.int32)
    kernel = cp.RawKernel(BLOCKS, "blocks")
    kernel((2,), (64,), (cp.arange(128, dtype=cp.int32), sums, scanned))
    return sums, scanned[:5], scanned[127:]


WARPS = r"""
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
extern "C" __global__ void warps(const float* x, float* out) {
    typedef cub::WarpReduce<float> Reduce;
    typedef cub::WarpScan<float> Scan;
    __shared__ Reduce::TempStorage reduce[2];
    __shared__ Scan::TempStorage scan[2];
    int warp = threadIdx.x / 32;
    float sum = Reduce(reduce[warp]).Sum(x[threadIdx.x]), upto;
    Scan(scan[warp]).InclusiveSum(x[threadIdx.x], upto);
    if (threadIdx.x % 32 == 0) out[warp] = sum;
    if (threadIdx.x % 32 == 31) out[2 + warp] = upto;
}
"""


@program(
    device([496, 1520, 496, 1520], "float32"),
    source(f"{CCCL}/cub/cub/warp/warp_reduce.cuh", "WarpReduce"),
    "raw kernels",
    "CUB",
)
def warps_reduce_and_scan_with_cub(cp):
    out = cp.zeros(4, cp.float32)
    cp.RawKernel(WARPS, "warps")((1,), (64,), (cp.arange(64, dtype=cp.float32), out))
    return out


LOADED = r"""
#include <cub/block/block_load.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
template <int THREADS, int ITEMS>
__global__ void loaded(const int* x, int* out, int n) {
    typedef cub::BlockLoad<int, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE> Load;
    typedef cub::BlockStore<int, THREADS, ITEMS, cub::BLOCK_STORE_TRANSPOSE> Store;
    typedef cub::BlockScan<int, THREADS> Scan;
    __shared__ union { typename Load::TempStorage load; typename Store::TempStorage store; typename Scan::TempStorage scan; } storage;
    int items[ITEMS];
    Load(storage.load).Load(x, items, n, 0);
    __syncthreads();
    Scan(storage.scan).InclusiveSum(items, items);
    __syncthreads();
    Store(storage.store).Store(out, items, n);
}
"""


@program(
    device([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0], "int32"),
    source(f"{CCCL}/cub/cub/block/block_load.cuh", "BlockLoad"),
    "raw modules",
    "CUB",
)
def a_block_loads_scans_and_stores_with_cub(cp):
    out = cp.zeros(12, cp.int32)
    module = cp.RawModule(code=LOADED, name_expressions=["loaded<32, 4>"])
    module.get_function("loaded<32, 4>")((1,), (32,), (cp.ones(10, cp.int32), out, np.int32(10)))
    return out


STANDARD = r"""
#include <cuda/std/limits>
#include <cuda/std/cmath>
#include <cuda/std/type_traits>
#include <cuda/std/cstdint>
#include <cuda/std/utility>
#include <cuda/std/array>
template <typename T> __global__ void standard(double* out) {
    out[0] = (double)cuda::std::numeric_limits<T>::max();
    out[1] = (double)cuda::std::numeric_limits<T>::lowest();
    out[2] = cuda::std::is_same_v<T, float> + 10 * cuda::std::is_integral<T>::value + 100 * cuda::std::is_signed_v<T>;
    out[3] = cuda::std::sqrt(2.25) + cuda::std::abs(-1.0);
    cuda::std::conditional_t<(sizeof(T) > 4), double, float> third = 1.0 / 3.0;
    out[4] = third == 1.0 / 3.0;
    cuda::std::array<int, 3> three = {1, 2, 3};
    int sum = 0;
    for (int each : three) sum += each;
    cuda::std::pair<int, float> both = cuda::std::make_pair(sum, 0.5f);
    out[5] = both.first + both.second + sizeof(cuda::std::uint8_t);
}
"""


@program(
    (
        device([2147483647, -2147483648, 110, 2.5, 0, 7.5], "float64"),
        device([np.finfo(np.float32).max, -np.finfo(np.float32).max, 101, 2.5, 0, 7.5], "float64"),
    ),
    source(f"{CCCL}/libcudacxx/cuda/std/limits", "numeric_limits"),
    "raw modules",
    "cuda::std",
)
def facts_about_types_from_cuda_std(cp):
    module = cp.RawModule(code=STANDARD, name_expressions=["standard<int>", "standard<float>"])
    results = cp.zeros(6), cp.zeros(6)
    for name, out in zip(module.name_expressions, results, strict=True):
        module.get_function(name)((1,), (1,), (out,))
    return results


ATOMICS = r"""
#include <cuda/atomic>
extern "C" __global__ void atomics(int* total, float* most) {
    cuda::atomic_ref<int, cuda::thread_scope_device> sum(*total);
    sum.fetch_add(threadIdx.x, cuda::memory_order_relaxed);
    cuda::atomic_ref<float, cuda::thread_scope_device> largest(*most);
    float old = largest.load(cuda::memory_order_relaxed);
    while (old < threadIdx.x && !largest.compare_exchange_weak(old, threadIdx.x)) {}
}
"""


@program(
    (device([2016], "int32"), device([63], "float32")),
    source(f"{CCCL}/libcudacxx/cuda/atomic", "atomic_ref"),
    "raw kernels",
    "cuda::std",
)
def an_element_becomes_atomic_by_a_reference(cp):
    total, most = cp.zeros(1, cp.int32), cp.zeros(1, cp.float32)
    cp.RawKernel(ATOMICS, "atomics")((1,), (64,), (total, most))
    return total, most


C_COMPLEX = r"""
#include <cuComplex.h>
extern "C" __global__ void products(const cuFloatComplex* a, const cuDoubleComplex* b, cuFloatComplex* c, cuDoubleComplex* d) {
    int i = threadIdx.x;
    c[i] = cuCaddf(cuCmulf(a[i], a[i]), make_cuFloatComplex(0.5f, cuCabsf(a[i])));
    d[i] = cuCdiv(cuConj(b[i]), make_cuDoubleComplex(2, cuCreal(b[i]) - cuCreal(b[i])));
}
"""


@program(
    (device([-6.5 + 29j], "complex64"), device([1.5 - 2j], "complex128")),
    source("cupy/_core/include/cupy/cuComplex_bridge.h", "cuCmulf"),
    "raw kernels",
    "complex",
)
def complex_numbers_of_cudas_c_interface(cp):
    a, b = cp.array([3 + 4j], cp.complex64), cp.array([3 + 4j], cp.complex128)
    c, d = cp.zeros(1, cp.complex64), cp.zeros(1, cp.complex128)
    cp.RawKernel(C_COMPLEX, "products")((1,), (1,), (a, b, c, d))
    return c, d


@program(
    (device([-6.5 + 29j], "complex64"), device([1.5 - 2j], "complex128")),
    source("cupy/_core/core.pyx", "_translate_cucomplex_to_thrust"),
    "raw kernels",
    "complex",
)
def complex_numbers_of_cudas_c_interface_are_translated(cp):
    a, b = cp.array([3 + 4j], cp.complex64), cp.array([3 + 4j], cp.complex128)
    c, d = cp.zeros(1, cp.complex64), cp.zeros(1, cp.complex128)
    cp.RawKernel(C_COMPLEX, "products", translate_cucomplex=True)((1,), (1,), (a, b, c, d))
    return c, d


VALUE_TYPE = r"""
#include <cupy/complex.cuh>
template <typename C> __global__ void size(const C* z, typename C::value_type* out) {
    typename C::value_type scale = 2;
    out[threadIdx.x] = abs(z[threadIdx.x]) * scale;
}
"""


@program(
    (device([10], "float32"), device([10], "float64")),
    source("cupy/_core/include/cupy/complex/complex.h", "complex::value_type"),
    "raw modules",
    "complex",
)
def a_complex_type_names_the_type_of_its_parts(cp):
    names = "size<complex<float>>", "size<thrust::complex<double>>"
    module = cp.RawModule(code=VALUE_TYPE, name_expressions=names)
    results = []
    for name, dtype in zip(names, ("F", "D"), strict=True):
        z = cp.array([3 + 4j], dtype)
        out = cp.zeros(1, z.real.dtype)
        module.get_function(name)((1,), (1,), (z, out))
        results.append(out)
    return tuple(results)
