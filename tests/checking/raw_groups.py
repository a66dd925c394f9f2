"""Kernels in CUDA C++ with cooperative groups, CUB and `cuda::atomic_ref`: wrong ones, and right ones that look alike.

As in `raw_kernels`, a wrong kernel marks its lines with `/*1*/`. What the right ones rely on: a group's `sync()` orders its
threads (CUDA C++ Programming Guide, "Cooperative Groups"), the grid's orders all blocks of a cooperative launch, and a
block waits before it uses the temporary storage of CUB again (CUB documentation, "BlockReduce").
"""

from __future__ import annotations

from dataclasses import replace

from tests.checking.raw_kernels import Case, _case

BEFORE = """#include <cooperative_groups.h>
#include <cub/block/block_reduce.cuh>
#include <cuda/atomic>
namespace cg = cooperative_groups;
"""


def _of_groups(name: str, body: str, **about) -> Case:
    return _case(name, body, before=BEFORE, **about)


WRONG = [
    _of_groups(
        "blocks read each other's sums behind the block's barrier",
        """
    cg::thread_block block = cg::this_thread_block();
    if (block.thread_rank() == 0) out[blockIdx.x] = blockIdx.x; /*1*/
    block.sync();
    if (block.thread_rank() == 0) out[64 + blockIdx.x] = out[(blockIdx.x + 1) % gridDim.x]; /*1*/
""",
        kind="race",
        array="out",
        space="global",
    ),
    _of_groups(
        "a group's barrier in a branch",
        """
    cg::thread_block block = cg::this_thread_block();
    if (threadIdx.x < 40) block.sync(); /*1*/
    out[threadIdx.x] = x[threadIdx.x];
""",
        kind="barrier divergence",
    ),
    _of_groups(
        "the grid's barrier for some blocks only",
        """
    if (blockIdx.x == 0) cg::this_grid().sync(); /*1*/
    out[blockIdx.x * 64 + threadIdx.x] = x[threadIdx.x];
""",
        kind="barrier divergence",
    ),
    _of_groups(
        "a tile waits behind the read",
        """
    __shared__ float s[32];
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    s[threadIdx.x] = x[threadIdx.x]; /*1*/
    out[threadIdx.x] = s[31 - threadIdx.x]; /*1*/
    tile.sync();
""",
        grid=(1,),
        block=(32,),
        kind="warp synchronisation",
        array="s",
        space="shared",
    ),
    _of_groups(
        "CUB's storage used again without a barrier",
        """
    typedef cub::BlockReduce<float, 64> Reduce;
    __shared__ Reduce::TempStorage storage;
    float sum = Reduce(storage).Sum(x[threadIdx.x]); /*1*/
    float twice = Reduce(storage).Sum(2 * x[threadIdx.x]); /*1*/
    if (threadIdx.x == 0) out[blockIdx.x] = sum + twice;
""",
        kind="race",
        array="storage",
        space="shared",
    ),
    _of_groups(
        "an atomic reference and a plain store",
        """
    cuda::atomic_ref<int, cuda::thread_scope_device> total(count[0]);
    total++; /*1*/
    if (threadIdx.x == 40) count[0] = 3; /*1*/
""",
        grid=(1,),
        kind="race",
        array="count",
        space="global",
    ),
]

RIGHT = [
    _of_groups(
        "blocks read each other's sums behind the grid's barrier",
        """
    cg::grid_group grid = cg::this_grid();
    __shared__ float s[64];
    s[threadIdx.x] = blockIdx.x;
    if (threadIdx.x == 0) out[blockIdx.x] = blockIdx.x;
    grid.sync();
    if (threadIdx.x == 0) out[64 + blockIdx.x] = out[(blockIdx.x + 1) % gridDim.x];
    grid.sync();
    out[128 + blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x];
""",
        grid=(2,),
    ),
    _of_groups(
        "a tile waits before the read",
        """
    __shared__ float s[32];
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    s[threadIdx.x] = x[threadIdx.x];
    tile.sync();
    out[threadIdx.x] = s[31 - threadIdx.x];
""",
        grid=(1,),
        block=(32,),
    ),
    _of_groups(
        "CUB's storage used again behind a barrier",
        """
    typedef cub::BlockReduce<float, 64> Reduce;
    __shared__ Reduce::TempStorage storage;
    float sum = Reduce(storage).Sum(x[threadIdx.x]);
    __syncthreads();
    float twice = Reduce(storage).Sum(2 * x[threadIdx.x], 40);
    if (threadIdx.x == 0) out[blockIdx.x] = sum + twice;
""",
    ),
    _of_groups(
        "a flag is released and acquired by atomic references",
        """
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(count[0]);
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        out[0] = 5;
        flag.store(1, cuda::memory_order_release);
    }
    if (threadIdx.x == 32 && blockIdx.x == 0) {
        while (flag.load(cuda::memory_order_acquire) == 0) {}
        out[1] = out[0];
    }
""",
    ),
    _of_groups(
        "lanes of a branch gather as a coalesced group",
        """
    if (threadIdx.x % 3 == 0) {
        cg::coalesced_group together = cg::coalesced_threads();
        int first = 0;
        if (together.thread_rank() == 0) first = atomicAdd(count, (int)together.size());
        first = together.shfl(first, 0);
        out[first + together.thread_rank()] = 1;
    }
""",
        not_compared=("out", "count"),
    ),
]
COOPERATIVE = {each.name for each in (*WRONG, *RIGHT) if "this_grid" in each.source}
COOPERATIVE.add("blocks read each other's sums behind the block's barrier")


def without_grid() -> Case:
    """Return a kernel that waits for the grid, for a launch that is not cooperative."""
    return replace(RIGHT[0], name="the grid's barrier without a cooperative launch")
