"""Kernels in CUDA C++ with known faults, and right ones that look much like them.

Each kernel is `extern "C" __global__ void k(…)`. A wrong one marks its lines with `/*1*/` (either of the two accesses
may be named first) and says what kind of fault it has and in which memory. What the right ones rely on is in CUDA's
documentation: barriers (CUDA C++ Programming Guide, "Synchronization Functions"), memory fences with a ticket
("Memory Fence Functions", whose example is the sum of the last block), `__syncwarp` ("Warp Synchronization"), and
that of several stores of one value to one address one is done ("SIMT Architecture").
"""

from __future__ import annotations

from dataclasses import dataclass

N = 256


@dataclass(frozen=True)
class Case:
    """A kernel and its launch; `x` and `out` are float32 arrays of 256 elements, `count` int32 of 64, `n` is 256."""

    name: str
    source: str
    grid: tuple = (2,)
    block: tuple = (64,)
    shared: int = 0
    kind: str = ""
    array: str = ""
    space: str = ""
    not_compared: tuple = ()

    @property
    def lines(self) -> set[int]:
        return {at for at, line in enumerate(self.source.splitlines(), 1) if "/*1*/" in line}


HEAD = 'extern "C" __global__ void k(const float* x, float* out, int* count, int n) {\n'


def _case(name: str, body: str, *, before: str = "", **about) -> Case:
    return Case(name, before + HEAD + body.strip("\n") + "\n}\n", **about)


WRONG = [
    _case(
        "reverse without a barrier",
        """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t]; /*1*/
    out[blockIdx.x * 64 + t] = s[63 - t]; /*1*/
""",
        kind="race",
        array="s",
        space="shared",
    ),
    _case(
        "tree with the barrier behind the sum",
        """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t]; /*1*/
    for (int step = 32; step > 0; step /= 2) {
        if (t < step) s[t] += s[t + step]; /*1*/
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
""",
        kind="race",
        array="s",
        space="shared",
    ),
    _case(
        "tiles without the second barrier",
        """
    __shared__ float s[64];
    int t = threadIdx.x;
    float sum = 0;
    for (int tile = 0; tile < 4; tile++) {
        s[t] = x[tile * 64 + t]; /*1*/
        __syncthreads();
        for (int i = 0; i < 64; i++) sum += s[i] * (t + 1); /*1*/
    }
    out[blockIdx.x * 64 + t] = sum;
""",
        kind="race",
        array="s",
        space="shared",
    ),
    _case(
        "histogram in shared memory without atomics",
        """
    __shared__ int bins[8];
    int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncthreads();
    bins[t % 8] += 1; /*1*/
    __syncthreads();
    if (t < 8) atomicAdd(&count[t], bins[t]);
""",
        kind="race",
        array="bins",
        space="shared",
    ),
    _case(
        "histogram in global memory without atomics",
        """
    count[threadIdx.x % 8] += 1; /*1*/
""",
        kind="race",
        array="count",
        space="global",
    ),
    _case(
        "sum into one place",
        """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[0] += x[i]; /*1*/
""",
        kind="race",
        array="out",
        space="global",
    ),
    _case(
        "stencil in place",
        """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) out[i] = (out[i - 1] + out[i + 1] + i) / 2; /*1*/
""",
        kind="race",
        array="out",
        space="global",
    ),
    _case(
        "blocks that overlap by one",
        """
    int i = blockIdx.x * (blockDim.x - 1) + threadIdx.x;
    out[i] = x[i] + blockIdx.x; /*1*/
""",
        kind="race",
        array="out",
        space="global",
    ),
    _case(
        "dynamic shared memory, shifted by one",
        """
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = x[t]; /*1*/
    if (t + 1 < blockDim.x) out[blockIdx.x * 64 + t] = s[t + 1]; /*1*/
""",
        shared=256,
        kind="race",
        array="dynamic shared memory",
        space="shared",
    ),
    _case(
        "a neighbour in the warp without __syncwarp",
        """
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t]; /*1*/
    out[t] = s[(t + 1) % 32]; /*1*/
""",
        grid=(1,),
        block=(32,),
        kind="warp synchronisation",
        array="s",
        space="shared",
    ),
    _case(
        "a shuffle taken for a barrier",
        """
    __shared__ float s[32];
    int t = threadIdx.x;
    s[t] = x[t]; /*1*/
    float v = __shfl_down_sync(0xffffffffu, x[t], 1);
    out[t] = v + s[(t + 1) % 32]; /*1*/
""",
        grid=(1,),
        block=(32,),
        kind="warp synchronisation",
        array="s",
        space="shared",
    ),
    _case(
        "__syncwarp across warps",
        """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t]; /*1*/
    __syncwarp();
    out[t] = s[63 - t]; /*1*/
""",
        grid=(1,),
        kind="race",
        array="s",
        space="shared",
    ),
    _case(
        "the last block without a fence",
        """
    __shared__ bool last;
    int t = threadIdx.x;
    if (t == 0) {
        out[blockIdx.x] = x[blockIdx.x]; /*1*/
        last = atomicAdd(&count[0], 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; b++) sum += out[b]; /*1*/
        out[100] = sum;
    }
""",
        grid=(4,),
        kind="race",
        array="out",
        space="global",
    ),
    _case(
        "the last block with a fence for the block only",
        """
    __shared__ bool last;
    int t = threadIdx.x;
    if (t == 0) {
        out[blockIdx.x] = x[blockIdx.x]; /*1*/
        __threadfence_block();
        last = atomicAdd(&count[0], 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; b++) sum += out[b]; /*1*/
        out[100] = sum;
    }
""",
        grid=(4,),
        kind="race",
        array="out",
        space="global",
    ),
    _case(
        "an atomic met by a plain read",
        """
    int t = threadIdx.x;
    atomicAdd(&count[0], 1); /*1*/
    if (t == 63) out[blockIdx.x] = count[0]; /*1*/
""",
        kind="race",
        array="count",
        space="global",
        not_compared=("out",),
    ),
    _case(
        "an atomic met by a plain store",
        """
    __shared__ int c;
    if (threadIdx.x == 0) c = 0; /*1*/
    atomicAdd(&c, 1); /*1*/
    __syncthreads();
    if (threadIdx.x == 0) count[blockIdx.x] = c;
""",
        kind="race",
        array="c",
        space="shared",
    ),
    _case(
        "a device variable that all blocks add to",
        """
    if (threadIdx.x == 0) total = total + x[blockIdx.x]; /*1*/
    out[blockIdx.x * 64 + threadIdx.x] = 0;
""",
        before="__device__ float total;\n",
        kind="race",
        array="total",
        space="global",
    ),
    _case(
        "a race in a device function",
        """
    __shared__ float s[64];
    put(s, x);
    out[blockIdx.x * 64 + threadIdx.x] = take(s);
""",
        before="""
__device__ void put(float* s, const float* x) {
    s[threadIdx.x] = x[threadIdx.x]; /*1*/
}
__device__ float take(const float* s) {
    return s[63 - threadIdx.x]; /*1*/
}
""",
        kind="race",
        array="s",
        space="shared",
    ),
    _case(
        "a vector of four over four threads' elements",
        """
    int t = threadIdx.x;
    out[t] = x[t]; /*1*/
    float4 v = reinterpret_cast<float4*>(out)[t / 4]; /*1*/
    count[t] = (int)(v.x + v.w);
""",
        grid=(1,),
        kind="race",
        array="out",
        space="global",
    ),
    _case(
        "bytes through a pointer met by words",
        """
    int t = threadIdx.x;
    if (t < 32) count[t] = t + 1; /*1*/
    else if (t < 40) out[t] = reinterpret_cast<unsigned char*>(count)[t]; /*1*/
""",
        grid=(1,),
        kind="race",
        array="count",
        space="global",
    ),
    _case(
        "a matrix in shared memory, transposed too early",
        """
    __shared__ float tile[8][9];
    int c = threadIdx.x, r = threadIdx.y;
    tile[r][c] = x[r * 8 + c]; /*1*/
    out[r * 8 + c] = tile[c][r]; /*1*/
""",
        grid=(1,),
        block=(8, 8),
        kind="race",
        array="tile",
        space="shared",
    ),
    _case(
        "a scan whose barrier comes once",
        """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2)
        if (t >= d) s[t] += s[t - d]; /*1*/
    __syncthreads();
    out[blockIdx.x * 64 + t] = s[t];
""",
        kind="race",
        array="s",
        space="shared",
    ),
    _case(
        "a flag without an atomic",
        """
    __shared__ int found;
    int t = threadIdx.x;
    if (t == 0) found = -1;
    __syncthreads();
    if (x[t] > 10) found = t; /*1*/
    __syncthreads();
    if (t == 0) count[blockIdx.x] = found;
""",
        kind="race",
        array="found",
        space="shared",
    ),
    _case(
        "shared memory that nobody has written",
        """
    __shared__ float s[64];
    int t = threadIdx.x;
    if (t < 32) s[t] = x[t];
    __syncthreads();
    out[blockIdx.x * 64 + t] = s[t] + x[t]; /*1*/
""",
        kind="uninitialised read",
        array="s",
        space="shared",
    ),
    _case(
        "a counter in shared memory that nobody has set",
        """
    __shared__ int c;
    atomicAdd(&c, 1); /*1*/
    __syncthreads();
    if (threadIdx.x == 0) count[blockIdx.x] = c;
""",
        kind="uninitialised read",
        array="c",
        space="shared",
    ),
    _case(
        "dynamic shared memory that nobody has written",
        """
    extern __shared__ int d[];
    count[threadIdx.x] = d[threadIdx.x]; /*1*/
""",
        grid=(1,),
        shared=256,
        kind="uninitialised read",
        array="dynamic shared memory",
        space="shared",
    ),
    _case(
        "the maximum by comparing and storing",
        """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[i] > out[0]) out[0] = x[i]; /*1*/
""",
        kind="race",
        array="out",
        space="global",
    ),
    _case(
        "a lock that is given back by a plain store",
        """
    if (threadIdx.x == 0) {
        while (atomicCAS(&count[0], 0, 1) != 0) {} /*1*/
        __threadfence();
        out[0] += x[blockIdx.x]; /*1*/
        __threadfence();
        count[0] = 0; /*1*/
    }
""",
        grid=(4,),
        kind="race",
        array="count+out",  # what is given back by a plain store protects nothing
        space="global",
    ),
    _case(
        "a lock without fences",
        """
    if (threadIdx.x == 0) {
        while (atomicCAS(&count[0], 0, 1) != 0) {}
        out[0] += x[blockIdx.x]; /*1*/
        atomicExch(&count[0], 0);
    }
""",
        grid=(4,),
        kind="race",
        array="out",
        space="global",
    ),
    _case(
        "a fence taken for a barrier",
        """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t]; /*1*/
    __threadfence_block();
    out[blockIdx.x * 64 + t] = s[63 - t]; /*1*/
""",
        kind="race",
        array="s",
        space="shared",
    ),
]

RIGHT = [
    _case(
        "reverse with a barrier",
        """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    out[blockIdx.x * 64 + t] = s[63 - t];
""",
    ),
    _case(
        "tree",
        """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    for (int step = 32; step > 0; step /= 2) {
        if (t < step) s[t] += s[t + step];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
""",
    ),
    _case(
        "tree whose last warp is kept in step",
        """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    if (t < 32) {
        float v = s[t] + s[t + 32];
        __syncwarp();
        s[t] = v;
        __syncwarp();
        for (int step = 16; step > 0; step /= 2) {
            v += t < step ? s[t + step] : 0;
            __syncwarp();
            s[t] = v;
            __syncwarp();
        }
        if (t == 0) out[blockIdx.x] = v;
    }
""",
    ),
    _case(
        "tree by shuffles",
        """
    float v = x[blockIdx.x * 64 + threadIdx.x];
    for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffu, v, step);
    __shared__ float part[2];
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = part[0] + part[1];
""",
    ),
    _case(
        "tiles with both barriers",
        """
    __shared__ float s[64];
    int t = threadIdx.x;
    float sum = 0;
    for (int tile = 0; tile < 4; tile++) {
        s[t] = x[tile * 64 + t];
        __syncthreads();
        for (int i = 0; i < 64; i++) sum += s[i] * (t + 1);
        __syncthreads();
    }
    out[blockIdx.x * 64 + t] = sum;
""",
    ),
    _case(
        "two tiles by turns",
        """
    __shared__ float s[2][64];
    int t = threadIdx.x;
    float sum = 0;
    s[0][t] = x[t];
    __syncthreads();
    for (int tile = 0; tile < 4; tile++) {
        if (tile < 3) s[(tile + 1) % 2][t] = x[(tile + 1) * 64 + t];
        for (int i = 0; i < 64; i++) sum += s[tile % 2][i];
        __syncthreads();
    }
    out[blockIdx.x * 64 + t] = sum;
""",
    ),
    _case(
        "histogram with private bins",
        """
    __shared__ int bins[8];
    int t = threadIdx.x;
    if (t < 8) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[t % 8], 1);
    __syncthreads();
    if (t < 8) atomicAdd(&count[t], bins[t]);
""",
    ),
    _case("sum by atomics", "    atomicAdd(&count[0], (int)x[blockIdx.x * 64 + threadIdx.x]);"),
    _case(
        "the last block, fenced by the thread that takes the ticket",
        """
    __shared__ bool last;
    int t = threadIdx.x;
    if (t == 0) {
        out[blockIdx.x] = x[blockIdx.x];
        __threadfence();
        last = atomicAdd(&count[0], 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        float sum = 0;
        for (int b = 0; b < gridDim.x; b++) sum += out[b];
        out[100] = sum;
    }
""",
        grid=(4,),
    ),
    _case(
        "the last block, all threads fenced before the barrier",
        """
    __shared__ bool last;
    int t = threadIdx.x;
    out[blockIdx.x * 16 + t] = x[blockIdx.x * 16 + t];
    __threadfence();
    __syncthreads();
    if (t == 0) last = atomicAdd(&count[0], 1) == gridDim.x - 1;
    __syncthreads();
    if (last) {
        __threadfence();
        float sum = 0;
        for (int b = 0; b < gridDim.x; b++) sum += out[b * 16 + t];
        out[100 + t] = sum;
    }
""",
        grid=(4,),
        block=(16,),
    ),
    _case(
        "the last block, one fence after the barrier",
        """
    __shared__ bool last;
    int t = threadIdx.x;
    out[blockIdx.x * 16 + t] = x[blockIdx.x * 16 + t];
    __syncthreads();
    if (t == 0) {
        __threadfence();
        last = atomicAdd(&count[0], 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; b++) sum += out[b * 16 + t];
        out[100 + t] = sum;
    }
""",
        grid=(4,),
        block=(16,),
    ),
    _case(
        "a lock with fences",
        """
    if (threadIdx.x == 0) {
        while (atomicCAS(&count[0], 0, 1) != 0) {}
        __threadfence();
        out[0] += (int)x[blockIdx.x];
        __threadfence();
        atomicExch(&count[0], 0);
    }
""",
        grid=(4,),
    ),
    _case(
        "all store the same flag",
        """
    __shared__ int any;
    int t = threadIdx.x;
    any = 0;
    __syncthreads();
    if (x[t] > 3) any = 1;
    __syncthreads();
    if (t == 0) count[blockIdx.x] = any;
""",
    ),
    _case(
        "neighbouring bytes",
        """
    __shared__ unsigned char s[64];
    int t = threadIdx.x;
    s[t] = (unsigned char)t;
    __syncthreads();
    count[t] = s[63 - t];
""",
        grid=(1,),
    ),
    _case(
        "neighbouring halves of a word in global memory",
        """
    reinterpret_cast<short*>(count)[threadIdx.x] = (short)threadIdx.x;
""",
        grid=(1,),
    ),
    _case(
        "vectors of four, one a thread",
        """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        float4 v = reinterpret_cast<const float4*>(x)[i];
        v.x += v.w;
        reinterpret_cast<float4*>(out)[i] = v;
    }
""",
    ),
    _case(
        "local arrays",
        """
    float mine[8];
    for (int i = 0; i < 8; i++) mine[i] = x[(threadIdx.x + i) % n];
    float sum = 0;
    for (int i = 0; i < 8; i++) sum += mine[(i * 3 + threadIdx.x) % 8];
    out[blockIdx.x * 64 + threadIdx.x] = sum;
""",
    ),
    _case(
        "a broadcast within a warp",
        """
    __shared__ float s[2];
    int t = threadIdx.x, w = t / 32;
    if (t % 32 == 0) s[w] = x[w];
    __syncwarp();
    out[blockIdx.x * 64 + t] = s[w];
""",
    ),
    _case(
        "shared memory that a warp uses again",
        """
    __shared__ float s[64];
    int t = threadIdx.x;
    for (int i = 0; i < 3; i++) {
        s[t] = x[t + i];
        __syncwarp();
        float v = s[t ^ 1];
        __syncwarp();
        out[blockIdx.x * 64 + t] += v;
    }
""",
    ),
    _case(
        "garbage that is read and dropped",
        """
    __shared__ float s[65];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    float next = s[t + 1];
    out[blockIdx.x * 64 + t] = t < 63 ? next : s[t];
""",
    ),
    _case(
        "a barrier that counts",
        """
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    int many = __syncthreads_count(x[t] > 2);
    out[blockIdx.x * 64 + t] = s[63 - t] + many;
""",
    ),
    _case(
        "a stencil with a halo",
        """
    __shared__ float s[66];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t + 1] = x[i];
    if (t == 0) s[0] = i > 0 ? x[i - 1] : 0;
    if (t == 63) s[65] = i + 1 < n ? x[i + 1] : 0;
    __syncthreads();
    out[i] = s[t] + s[t + 1] + s[t + 2];
""",
    ),
    _case(
        "a padded transpose",
        """
    __shared__ float tile[8][9];
    int c = threadIdx.x, r = threadIdx.y;
    tile[r][c] = x[r * 8 + c];
    __syncthreads();
    out[r * 8 + c] = tile[c][r];
""",
        grid=(1,),
        block=(8, 8),
    ),
    _case(
        "a grid-stride loop",
        """
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = 2 * x[i];
""",
    ),
    _case(
        "dynamic shared memory in two parts",
        """
    extern __shared__ float s[];
    float* a = s;
    int* b = (int*)(s + 64);
    int t = threadIdx.x;
    a[t] = x[t];
    b[t] = t;
    __syncthreads();
    out[blockIdx.x * 64 + t] = a[63 - t] + b[63 - t];
""",
        shared=512,
    ),
    _case(
        "threads that have left before the last barriers of a warp",
        """
    int t = threadIdx.x;
    __shared__ float s[32];
    if (t >= 32) return;
    s[t] = x[t];
    __syncwarp();
    out[blockIdx.x * 64 + t] = s[31 - t];
""",
    ),
    _case(
        "a compare-and-swap loop",
        """
    int* address = (int*)&out[0];
    int old = *(volatile int*)&count[63], assumed;
    old = atomicAdd((int*)address, 0);
    do {
        assumed = old;
        old = atomicCAS(address, assumed, __float_as_int(__int_as_float(assumed) + 1.0f));
    } while (assumed != old);
""",
    ),
    _case(
        "two kernels' worth of phases by blocks that stay apart",
        """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = x[i];
    __syncthreads();
    if (threadIdx.x > 0) out[i + 128] = out[i] + out[i - 1];
""",
    ),
]
