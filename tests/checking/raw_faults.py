"""Kernels in CUDA C++ as learners write them, by what the check once got wrong: warps, local memory, bounds, limits, waits.

As in `raw_kernels`, a wrong kernel marks its lines with `/*1*/`, and a kernel without a kind is right. The rules are
those of the CUDA programming guide: all lanes of a mask call the same function at the same place ("Warp Vote
Functions"), an element behind an array does not exist, also where another member or row of the same object lies there
(C++ standard, [expr.add]), local variables begin with any value, a kernel's static shared memory ends at 48 KiB.
"""

from __future__ import annotations

from tests.checking.raw_kernels import _case

WARPS = [
    _case(
        "both branches shuffle with the full mask",
        """
    int t = threadIdx.x % 32;
    float v = x[threadIdx.x];
    if (t < 16) {
        v += __shfl_xor_sync(0xffffffffu, v, 1); /*1*/
    } else {
        v -= __shfl_xor_sync(0xffffffffu, v, 1); /*1*/
    }
    out[threadIdx.x] = v;
""",
        grid=(1,),
        kind="warp synchronisation",
    ),
    _case(
        "both branches vote with the full mask",
        """
    int t = threadIdx.x % 32;
    unsigned votes;
    if (t % 2) {
        votes = __ballot_sync(0xffffffffu, x[t] > 3); /*1*/
    } else {
        votes = __ballot_sync(0xffffffffu, x[t] > 5); /*1*/
    }
    count[threadIdx.x] = __popc(votes);
""",
        grid=(1,),
        kind="warp synchronisation",
    ),
    _case(
        "a vote in the loop, another behind it",
        """
    int t = threadIdx.x, rounds = t < 8 ? 1 : 3, found = 0;
    for (int i = 0; i < rounds; i++)
        found += __any_sync(0xffffffffu, x[t] > i); /*1*/
    found += __any_sync(0xffffffffu, x[t] > 4); /*1*/
    count[t] = found;
""",
        grid=(1,),
        block=(32,),
        kind="warp synchronisation",
    ),
    _case(
        "some lanes leave the loop early and wait elsewhere",
        """
    int t = threadIdx.x;
    float v = x[t];
    for (int step = 0; step < t % 4; step++) {
        v += __shfl_down_sync(0xffffffffu, v, 1); /*1*/
    }
    __syncwarp(); /*1*/
    out[t] = v;
""",
        grid=(1,),
        block=(32,),
        kind="warp synchronisation",
    ),
    _case(
        "the value of a lane that has left",
        """
    int t = threadIdx.x;
    float v = x[t];
    if (t < 16) v += __shfl_down_sync(0xffffffffu, v, 16); /*1*/
    out[t] = v;
""",
        grid=(1,),
        block=(32,),
        kind="warp synchronisation",
    ),
    _case(
        "the value of a lane outside the mask",
        """
    int t = threadIdx.x;
    float v = x[t];
    if (t < 16) v = __shfl_sync(0x0000ffffu, v, 20); /*1*/
    out[t] = v;
""",
        grid=(1,),
        block=(32,),
        kind="warp synchronisation",
    ),
    _case(
        "a mask that lacks lanes that call",
        """
    int t = threadIdx.x;
    float v = __shfl_xor_sync(0x0000ffffu, x[t], 1); /*1*/
    out[t] = v;
""",
        grid=(1,),
        block=(32,),
        kind="warp synchronisation",
    ),
    _case(
        "a guard that keeps lanes from the vote",
        """
    int t = threadIdx.x, all = 0;
    if (t < 40) all = __all_sync(0xffffffffu, x[t] >= 0); /*1*/
    __syncwarp(); /*1*/
    count[t] = all;
""",
        grid=(1,),
        kind="warp synchronisation",
    ),
    _case(
        "a sum that takes one step too many",
        """
    int t = threadIdx.x;
    if (t >= 20) return;
    float v = x[t];
    for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffu, v, step); /*1*/
    if (t == 0) out[0] = v;
""",
        grid=(1,),
        block=(32,),
        kind="warp synchronisation",
    ),
]

NEAR_WARPS = [
    _case(
        "each branch names its own lanes",
        """
    int t = threadIdx.x % 32;
    float v = x[threadIdx.x];
    if (t < 16) v += __shfl_xor_sync(0x0000ffffu, v, 1);
    else v -= __shfl_xor_sync(0xffff0000u, v, 1);
    out[threadIdx.x] = v;
""",
        grid=(1,),
    ),
    _case(
        "one shuffle in a function that two lines call",
        """
    float v = sum(x[threadIdx.x]);
    if (blockIdx.x == 0) v += sum(2 * v);
    out[blockIdx.x * 64 + threadIdx.x] = v;
""",
        before="""
__device__ float sum(float v) {
    for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}
""",
    ),
    _case(
        "the value of a missing lane, not used",
        """
    int t = threadIdx.x;
    float v = x[t], w = 0;
    if (t < 24) w = __shfl_down_sync(0x00ffffffu, v, 8);
    out[t] = t < 16 ? w : v;
""",
        grid=(1,),
        block=(32,),
    ),
    _case(
        "a down shuffle past the last lane keeps the lane's own value",
        """
    int t = threadIdx.x;
    out[t] = __shfl_down_sync(0xffffffffu, x[t], 1);
""",
        grid=(1,),
    ),
    _case(
        "a mask from a vote",
        """
    int t = threadIdx.x, i = t + 32 * (t % 3 != 0);
    unsigned part = __ballot_sync(0xffffffffu, i < 32);
    if (i < 32) count[t] = __popc(__match_any_sync(part, t / 6));
""",
        grid=(1,),
        block=(32,),
    ),
    _case(
        "a loop that the whole warp leaves together",
        """
    int t = threadIdx.x, left = t % 5;
    while (__any_sync(0xffffffffu, left > 0)) left -= left > 0;
    count[t] = left;
""",
        grid=(1,),
        block=(32,),
    ),
    _case(
        "the active lanes name themselves",
        """
    int t = threadIdx.x;
    if (x[t] > 4) {
        unsigned active = __activemask();
        int leader = __ffs(active) - 1;
        int first = 0;
        if (t % 32 == leader) first = atomicAdd(&count[0], __popc(active));
        first = __shfl_sync(active, first, leader);
        out[first + __popc(active & ((1u << t % 32) - 1))] = 1;
    }
""",
        grid=(1,),
        block=(32,),
    ),
    _case(
        "an unrolled sum of a warp",
        """
    float v = x[threadIdx.x];
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) v += __shfl_down_sync(0xffffffffu, v, step);
    if (threadIdx.x % 32 == 0) out[blockIdx.x * 2 + threadIdx.x / 32] = v;
""",
    ),
    _case(
        "a shuffle in both parts of a template",
        """
    out[threadIdx.x] = other<true>(x[threadIdx.x]) + other<false>(x[threadIdx.x]);
""",
        before="""
template <bool up> __device__ float other(float v) {
    if constexpr (up) return __shfl_up_sync(0xffffffffu, v, 1);
    else return __shfl_down_sync(0xffffffffu, v, 1);
}
""",
        grid=(1,),
    ),
]

COMPILING = [
    _case(
        "half precision",
        """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half h = __float2half(x[i]);
    out[i] = __half2float(__hmul(h, h));
""",
        before="#include <cuda_fp16.h>\n",
    ),
    _case(
        "an explicit specialization of a device function",
        """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = twice<float>(x[i]);
    if (i < 64) count[i] = twice<int>(i);
""",
        before="""
template <class T> __device__ T twice(T v) { return v + v; }
template <> __device__ int twice<int>(int v) { return v << 1; }
""",
    ),
    _case(
        "an explicit specialization with shared memory",
        """
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = turn<float>(x[threadIdx.x]);
""",
        before="""
template <class T> __device__ T turn(T v) { return v; }
template <> __device__ float turn<float>(float v) {
    __shared__ float s[64];
    s[threadIdx.x] = v;
    __syncthreads();
    return s[63 - threadIdx.x];
}
""",
    ),
    _case(
        "a specialized struct of constants",
        """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i] + Zero<float>::value();
""",
        before="""
template <class T> struct Zero;
template <> struct Zero<float> { static __device__ float value() { return 0.5f; } };
""",
    ),
    _case(
        "an explicit instantiation",
        """
    out[blockIdx.x * 64 + threadIdx.x] = half_of(x[threadIdx.x]);
""",
        before="""
template <class T> __device__ T half_of(T v) { return v / 2; }
template __device__ float half_of<float>(float);
""",
    ),
    _case(
        "not a number by name",
        """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i] > 2 ? nanf("") : (float)nan("") * 0 + x[i];
""",
    ),
]

LOCAL = [
    _case(
        "a sum that begins with anything",
        """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum;
    for (int k = 0; k < 4; k++) sum += x[(i + k) % n]; /*1*/
    out[i] = sum;
""",
        kind="uninitialised read",
        space="local",
    ),
    _case(
        "a local array that is filled up to its last element",
        """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float window[5]; /*1*/
    for (int k = 0; k < 4; k++) window[k] = x[(i + k) % n];
    float most = 0;
    for (int k = 0; k < 5; k++) most = window[(k + i) % 5] > most ? window[(k + i) % 5] : most; /*1*/
    out[i] = most;
""",
        kind="uninitialised read",
        space="local",
    ),
    _case(
        "counts in local memory that the kernel does not set to zero",
        """
    int bins[4]; /*1*/
    for (int k = 0; k < 16; k++) bins[(int)x[threadIdx.x + k] % 4]++; /*1*/
    count[threadIdx.x] = bins[threadIdx.x % 4];
""",
        grid=(1,),
        kind="uninitialised read",
        space="local",
    ),
    _case(
        "a value that only one branch sets",
        """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v; /*1*/
    if (x[i] > 3) v = x[i]; /*1*/
    out[i] = v; /*1*/
""",
        kind="uninitialised read",
        space="local",
    ),
]

NEAR_LOCAL = [
    _case(
        "local memory that is filled before it is read",
        """
    float mine[8];
    for (int k = 0; k < 8; k++) mine[k] = k;
    out[blockIdx.x * 64 + threadIdx.x] = mine[threadIdx.x % 8];
""",
    ),
    _case(
        "local memory that is read and not used",
        """
    float mine[8];
    for (int k = 0; k < 4; k++) mine[k] = x[k];
    float spare = mine[4 + threadIdx.x % 4];
    out[blockIdx.x * 64 + threadIdx.x] = threadIdx.x < 64 ? mine[threadIdx.x % 4] : spare;
""",
    ),
    _case(
        "an order that matters, and nothing else",
        """
    float mine[4] = {0, 1, 2, 3};
    atomicExch(&out[0], mine[threadIdx.x % 4] + blockIdx.x);
""",
        not_compared=("out",),
    ),
]

INSIDE = [
    _case(
        "one element behind a local array",
        """
    float mine[8];
    for (int k = 0; k <= 8; k++) mine[k] = x[k]; /*1*/
    out[blockIdx.x * 64 + threadIdx.x] = mine[threadIdx.x % 8];
""",
        kind="out of bounds",
        space="local",
    ),
    _case(
        "a local array that is read far behind its end",
        """
    int mine[4] = {1, 2, 3, 4};
    count[threadIdx.x] = mine[threadIdx.x % 16]; /*1*/
""",
        grid=(1,),
        kind="out of bounds",
        space="local",
    ),
    _case(
        "the member behind an array in a struct",
        """
    Particle p;
    p.charge = 7;
    for (int k = 0; k <= 3; k++) p.place[k] = x[k]; /*1*/
    out[blockIdx.x * 64 + threadIdx.x] = p.charge + p.place[0];
""",
        before="struct Particle { float place[3]; float charge; };\n",
        kind="out of bounds",
    ),
    _case(
        "the next row of a tile",
        """
    __shared__ float tile[8][8];
    int c = threadIdx.x, r = threadIdx.y;
    tile[r][c] = x[r * 8 + c];
    __syncthreads();
    out[r * 8 + c] = r < 7 ? tile[r][c + 1] : 0; /*1*/
""",
        grid=(1,),
        block=(8, 8),
        kind="out of bounds",
    ),
    _case(
        "the row before in a local table",
        """
    float table[4][4];
    for (int k = 0; k < 16; k++) table[k / 4][k % 4] = k;
    int t = threadIdx.x % 3;
    out[threadIdx.x] = table[1 + t][t - 1]; /*1*/
""",
        grid=(1,),
        kind="out of bounds",
        space="local",
    ),
    _case(
        "one element behind a table of constants",
        """
    out[threadIdx.x] = weights[threadIdx.x % 5]; /*1*/
""",
        before="__constant__ float weights[4] = {1, 2, 3, 4};\n",
        grid=(1,),
        kind="out of bounds",
    ),
]

NEAR_INSIDE = [
    _case(
        "a pointer behind the end that is only compared",
        """
    float mine[8];
    for (float* p = mine; p != &mine[8]; p++) *p = x[threadIdx.x];
    out[blockIdx.x * 64 + threadIdx.x] = mine[7];
""",
    ),
    _case(
        "a tile through a flat pointer",
        """
    __shared__ float tile[8][8];
    float* flat = &tile[0][0];
    flat[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = flat[63 - threadIdx.x];
""",
    ),
    _case(
        "a tile of dynamic shared memory",
        """
    extern __shared__ float tile[];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x];
""",
        shared=256,
    ),
    _case(
        "an array at the end of a struct, as long as the memory behind it",
        """
    Row* row = (Row*)out;
    row->data[threadIdx.x] = x[threadIdx.x];
""",
        before="struct Row { float first; float data[1]; };\n",
        grid=(1,),
    ),
    _case(
        "the last element of every row",
        """
    __shared__ float tile[8][9];
    int c = threadIdx.x, r = threadIdx.y;
    tile[r][c] = x[r * 8 + c];
    if (c == 0) tile[r][8] = 1;
    __syncthreads();
    out[r * 8 + c] = tile[c][r] + tile[r][c + 1];
""",
        grid=(1,),
        block=(8, 8),
    ),
]

LIMITS = [
    _case(
        "60 KB of static shared memory",
        """
    __shared__ float s[15000]; /*1*/
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
""",
        grid=(1,),
        kind="launch limit",
        space="shared",
    ),
    _case(
        "300 KB of static shared memory",
        """
    __shared__ double s[200][200]; /*1*/
    s[0][threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[0][63 - threadIdx.x];
""",
        grid=(1,),
        kind="launch limit",
        space="shared",
    ),
    _case(
        "two arrays that are too large together",
        """
    __shared__ float a[8000], b[8000]; /*1*/
    a[threadIdx.x] = b[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = a[63 - threadIdx.x] + b[threadIdx.x];
""",
        grid=(1,),
        kind="launch limit",
        space="shared",
    ),
    _case(
        "more dynamic shared memory than a block gets",
        """
    extern __shared__ float s[]; /*1*/
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
""",
        grid=(1,),
        shared=100_000,
        kind="launch limit",
        space="shared",
    ),
]

NEAR_LIMITS = [
    _case(
        "exactly 48 KiB of static shared memory",
        """
    __shared__ float s[12288];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
""",
        grid=(1,),
    ),
]

WAITS = [
    _case(
        "a lock that is never given back",
        """
    if (threadIdx.x == 0) {
        while (atomicCAS(&count[0], 0, 1) != 0) { /*1*/
        }
        __threadfence();
        out[0] += x[blockIdx.x];
    }
""",
        grid=(4,),
        kind="no progress",
    ),
    _case(
        "a lock by exchange, never given back",
        """
    if (threadIdx.x == 0) {
        int taken = 1;
        while (taken) {
            taken = atomicExch(&count[0], 1); /*1*/
        }
        __threadfence();
        out[0] += x[blockIdx.x];
    }
""",
        grid=(4,),
        kind="no progress",
    ),
    _case(
        "a lock in a device function",
        """
    if (threadIdx.x == 0) {
        lock(&count[0]);
        out[0] += x[blockIdx.x];
    }
""",
        before="""
__device__ void lock(int* mutex) {
    while (atomicCAS(mutex, 0, 1)) /*1*/
        ;
    __threadfence();
}
""",
        grid=(4,),
        kind="no progress",
    ),
    _case(
        "a flag that no thread raises",
        """
    volatile int* flag = count;
    while (flag[0] == 0) { /*1*/
    }
    out[threadIdx.x] = x[threadIdx.x];
""",
        grid=(1,),
        kind="no progress",
    ),
    _case(
        "a loop that does not count",
        """
    int i = 0;
    while (i < n) { /*1*/
        if (x[i] > 1e9f) i++; /*1*/
    }
    out[threadIdx.x] = i;
""",
        grid=(1,),
        kind="no progress",
    ),
    _case(
        "a barrier of the grid without room for it",
        """
    if (threadIdx.x == 0) {
        atomicAdd(&count[0], 1);
        while (atomicAdd(&count[0], 0) < gridDim.x) { /*1*/
        }
    }
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = x[threadIdx.x];
""",
        grid=(4,),
        kind="no progress",
    ),
    _case(
        "all threads of a block want one lock",
        """
    while (atomicCAS(&count[0], 0, 1) != 0) { /*1*/
    }
    __threadfence();
    out[0] += x[threadIdx.x];
    __syncthreads(); /*1*/
    if (threadIdx.x == 0) atomicExch(&count[0], 0);
""",
        grid=(1,),
        kind="no progress",
    ),
]

NEAR_WAITS = [
    _case(
        "a series that one thread adds up in global memory",
        """
    volatile int* sum = count;
    if (blockIdx.x * blockDim.x + threadIdx.x == 0)
        for (int i = 0; i < 4000000; i++) sum[0] = sum[0] + (i & 3);
""",
    ),
    _case(
        "much work of one thread",
        """
    if (blockIdx.x * blockDim.x + threadIdx.x == 0) {
        float sum = 0;
        for (int round = 0; round < 2000; round++)
            for (int i = 0; i < n; i++) sum += x[i] * round;
        out[0] = sum;
    }
""",
    ),
]

INDICES = [
    _case(
        "a negative number as an index",
        """
    out[threadIdx.x] = x[-1]; /*1*/
""",
        grid=(1,),
        kind="out of bounds",
        space="global",
    ),
    _case(
        "the element before the first",
        """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i] - x[i - 1]; /*1*/
""",
        kind="out of bounds",
        space="global",
    ),
    _case(
        "the last element of a shared array, as in Python",
        """
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[-1]; /*1*/
""",
        grid=(1,),
        kind="out of bounds",
        space="shared",
    ),
]

WRONG = [*WARPS, *LOCAL, *INSIDE, *LIMITS, *WAITS, *INDICES]
RIGHT = [*NEAR_WARPS, *COMPILING, *NEAR_LOCAL, *NEAR_INSIDE, *NEAR_LIMITS, *NEAR_WAITS]
