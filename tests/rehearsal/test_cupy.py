"""The real CuPy on the rehearsal, alone and beside the real numba-cuda: one memory, one context.

CuPy is built the first time, which takes some minutes, so all of these run in `make test-all` only.
"""

import pytest

from tests.rehearsal.marking import GUARDS, marked

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

BEGIN = """
import numpy as np
import cupy as cp

def same(got, want, **tolerance):
    assert isinstance(got, cp.ndarray), type(got)
    np.testing.assert_allclose(got.get(), want, **tolerance)
    assert got.dtype == want.dtype, (got.dtype, want.dtype)
"""
PROGRAMS = {
    "arithmetic": """
same(cp.arange(10) * 2 + 1, np.arange(10) * 2 + 1)
x = np.linspace(-3, 3, 1000)
for name in ("sin", "exp", "tanh", "cbrt", "sqrt", "arctan", "log1p"):
    with np.errstate(all="ignore"):
        single = x.astype(np.float32)
        same(getattr(cp, name)(cp.asarray(x)), getattr(np, name)(x), rtol=1e-12)
        same(getattr(cp, name)(cp.asarray(single)), getattr(np, name)(single), rtol=1e-5, atol=1e-6)
h = x.astype(np.float16)
same(cp.asarray(h) * cp.asarray(h) + 1, h * h + np.float16(1))
z = x + 1j * x[::-1]
same(cp.asarray(z) * cp.exp(cp.asarray(z)), z * np.exp(z), rtol=1e-12)
""",
    "kernels by element, and reductions": """
k = cp.ElementwiseKernel("float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "squared_difference")
x, y = np.arange(10, dtype=np.float32).reshape(2, 5), np.arange(5, dtype=np.float32)
same(k(cp.asarray(x), cp.asarray(y)), (x - y) ** 2)
k = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
x = np.random.default_rng(0).random(20_000)
same(k(cp.asarray(x)), np.array(np.linalg.norm(x)))
same(cp.asarray(x).sum(), np.array(x.sum()))
same(cp.asarray(x.reshape(20, 1000)).max(axis=1), x.reshape(20, 1000).max(axis=1))
same(cp.asarray(x).cumsum(), x.cumsum())
""",
    "CUDA C++": '''
k = cp.RawKernel(r"""
extern "C" __global__ void reverse(const float* x, float* y, int n) {
    extern __shared__ float tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0;
    __syncthreads();
    if (i < n) y[i] = tile[blockDim.x - 1 - threadIdx.x];
}""", "reverse")
x = np.arange(1024, dtype=np.float32)
y = cp.zeros(1024, np.float32)
k((4,), (256,), (cp.asarray(x), y, 1024), shared_mem=1024)
same(y, x.reshape(4, 256)[:, ::-1].ravel())
k = cp.RawKernel(r"""
extern "C" __global__ void warp_sum(const int* x, int* y) {
    int v = x[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    if (!threadIdx.x) atomicAdd(y, v);
}""", "warp_sum")
y = cp.zeros(1, np.int32)
k((8,), (32,), (cp.arange(256, dtype=np.int32), y))
assert int(y[0]) == 255 * 256 // 2
''',
    "templates and constant memory": '''
m = cp.RawModule(code=r"""
__constant__ double factor[2];
template <typename T> __global__ void scale(T* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= (T)factor[i % 2];
}""", options=("-std=c++17",), name_expressions=("scale<float>", "scale<long long>"))
f = cp.ndarray(2, np.float64, memptr=m.get_global("factor"))
f[...] = cp.asarray([2.0, 3.0])
for name, t in (("scale<float>", np.float32), ("scale<long long>", np.int64)):
    x = cp.arange(100, dtype=t)
    m.get_function(name)((1,), (128,), (x, 100))
    same(x, np.arange(100, dtype=t) * np.array([2, 3] * 50, dtype=t))
''',
    "rarer instructions": '''
k = cp.RawKernel(r"""
#include <cuda_fp16.h>
extern "C" __global__ void f(const int* x, unsigned* y, const half* h, half* o, const float* g) {
    __shared__ int s[1];
    int t = threadIdx.x, v = x[t];
    if (t < 5) y[t] = __activemask();
    y[32 + t] = __match_any_sync(0xffffffffu, v);
    switch (v) { case 0: y[64 + t] = 7; break; case 1: atomicAdd(&y[64 + t], 11); break; case 2: atomicMax(&y[64 + t], 3); break;
                 case 3: y[64 + t] = t; break; case 4: atomicExch(&y[64 + t], 100 - t); break; case 5: atomicXor(&y[64 + t], 0); break; }
    const void* p = g[t] < 100 ? (const void*)s : (const void*)x;
    y[96 + t] = __isShared(p) * 2 + __isGlobal(p);
    __nanosleep(10);
    o[t] = __hfma(h[t], h[t], __hmul(h[t], h[31 - t]));
    half2 two = __hadd2(__halves2half2(h[t], h[31 - t]), __halves2half2(h[31 - t], h[t]));
    o[32 + t] = __low2half(two); o[64 + t] = __hlt(h[t], h[31 - t]) ? __hneg(h[t]) : __high2half(two);
    y[128 + t] = (unsigned char)__float2uint_rn(g[t]) + isinf(g[t]) + __popc(t) + __clz(v) + __brev(t) % 7 + __ffs(v);
}""", "f")
x, h = np.arange(32, dtype=np.int32) * 7 % 6, np.linspace(-2, 2, 32).astype(np.float16)
y, o = cp.zeros(160, np.uint32), cp.zeros(96, np.float16)
g = np.linspace(0, 200, 32).astype(np.float32)
k((1,), (32,), (cp.asarray(x), y, cp.asarray(h), o, cp.asarray(g)))
assert (y[:5].get() == 31).all()
same(y[32:64], np.array([sum(1 << i for i in range(32) if x[i] == v) for v in x], np.uint32))
same(y[64:96], np.array([{0: 7, 1: 11, 2: 3, 3: t, 4: 100 - t}.get(int(v), 0) for t, v in enumerate(x)], np.uint32))
same(y[96:128], np.where(g < 100, 2, 1).astype(np.uint32))
d, r = h.astype(np.float64), h[::-1].astype(np.float64)
same(o[:32], (d * d + (d * r).astype(np.float16).astype(np.float64)).astype(np.float16))
same(o[32:64], h + h[::-1])
same(o[64:], np.where(h < h[::-1], -h, h + h[::-1]))
bits = [32 - int(v).bit_length() + bin(t).count("1") + int(f"{t:032b}"[::-1], 2) % 7 + (int(v) & -int(v)).bit_length() for t, v in enumerate(x)]
same(y[128:], np.array([int(np.rint(g[t])) % 256 + bits[t] for t in range(32)], np.uint32))
''',
    "selecting and sorting": """
x = np.random.default_rng(1).integers(-50, 50, (40, 30))
c = cp.asarray(x)
same(cp.where(c > 0, c, -c), np.abs(x))
same(c[3:30:2, ::-1], x[3:30:2, ::-1])
same(c[c % 7 == 0], x[x % 7 == 0])
same(c[cp.asarray([3, 1, 2]), cp.asarray([0, 5, 7])], x[[3, 1, 2], [0, 5, 7]])
x = np.random.default_rng(2).normal(size=(20, 33))
x[3, 4] = np.nan
for t in (np.float64, np.float32, np.float16, np.int32, np.uint8):
    with np.errstate(all="ignore"):
        y = x.astype(t)
    same(cp.sort(cp.asarray(y)), np.sort(y))
    same(cp.argsort(cp.asarray(y), axis=0), np.argsort(y, axis=0, kind="stable"))
same(cp.unique(cp.asarray([3, 1, 3, 2])), np.array([1, 2, 3]))
""",
    "linear algebra": """
r = np.random.default_rng(3)
for t in (np.float32, np.float64, np.complex64, np.complex128, np.float16):
    a, b = r.random((17, 23)).astype(t), r.random((23, 9)).astype(t)
    same(cp.asarray(a) @ cp.asarray(b), a @ b, rtol=1e-2 if t == np.float16 else 1e-5)
a, b = r.random((4, 6, 5)), r.random((4, 5, 3))
same(cp.asarray(a) @ cp.asarray(b), a @ b)
same(cp.dot(cp.asarray(a[0]), cp.asarray(b[0, :, 0])), a[0] @ b[0, :, 0])
s = r.random((8, 8))
f = cp.asfortranarray(cp.asarray(s))
same(f, s)
assert f.flags.f_contiguous
same(cp.linalg.solve(cp.asarray(s), cp.asarray(s[0])), np.linalg.solve(s, s[0]), rtol=1e-8)
""",
    "random numbers": """
x = cp.random.random(10_000)
assert 0.48 < float(x.mean()) < 0.52 and len(np.unique(x.get())) == 10_000
y = cp.random.default_rng(1).standard_normal(10_000)
assert abs(float(y.mean())) < 0.05 and 0.95 < float(y.std()) < 1.05
z = cp.random.default_rng(1).integers(0, 10, 1000).get()
assert set(z) == set(range(10))
""",
    "streams and events": """
start, stop = cp.cuda.Event(), cp.cuda.Event()
with cp.cuda.Stream(non_blocking=True) as s:
    start.record()
    x = cp.arange(1000).sum()
    stop.record()
    called = []
    s.launch_host_func(called.append, "here")
s.synchronize()
assert int(x) == 499_500 and called == ["here"] and s.done and cp.cuda.get_elapsed_time(start, stop) >= 0
cp.cuda.Device().synchronize()
""",
    "memory": """
pool = cp.get_default_memory_pool()
pool.free_all_blocks()
before = pool.used_bytes()
x = cp.zeros(1000)
assert pool.used_bytes() - before == 8192
del x
assert pool.used_bytes() == before
pool.free_all_blocks()
pinned = np.frombuffer(cp.cuda.alloc_pinned_memory(800), np.float64, 100)
pinned[:] = 7
d = cp.empty(100)
d.set(pinned)
same(d, np.full(100, 7.0))
for bytes_, limit in ((1 << 40, 0), (2 << 20, 1 << 20)):
    pool.set_limit(size=limit)
    try:
        cp.empty(bytes_, np.int8)
        raise AssertionError("it fits?")
    except cp.cuda.memory.OutOfMemoryError as problem:
        assert not limit or "1,048,576" in str(problem), problem
""",
    "its name": """
name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
assert name.startswith("rehearsal, not a GPU (T4"), name
assert cp.cuda.Device().compute_capability == "75"
""",
}


OF_THE_REHEARSAL = {
    "its name": "it is the rehearsal's name",
    "an access outside": GUARDS,
    "a distribution that is not here": "a GPU has it",
}


@pytest.mark.parametrize("code", marked(PROGRAMS, OF_THE_REHEARSAL))
def test_a_program_of_cupy(cupy_rehearsed, code):
    cupy_rehearsed(BEGIN + code, 300)


RAISED = """
def raised(call, *arguments):
    try:
        call(*arguments)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    raise AssertionError("nothing was raised")
"""
FAULTS = {
    "an access outside": (
        """
cp.cuda.set_allocator(None)
x, y = cp.zeros(8, "f4"), cp.zeros(9, "f4")
k = cp.RawKernel('extern "C" __global__ void f(float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }', "f")
k((1,), (9,), (x, y))
""",
        "cudaErrorIllegalAddress",
    ),
    "a host pointer": (
        """
h = np.zeros(8, "f4")
k = cp.RawKernel('extern "C" __global__ void f(float* x) { x[threadIdx.x] = 1; }', "f")
k((1,), (8,), (h.ctypes.data,))
""",
        "cudaErrorIllegalAddress",
    ),
    "a trap": (
        """
k = cp.RawKernel('extern "C" __global__ void f() { __trap(); }', "f")
k((1,), (1,), ())
""",
        "cudaErrorLaunchFailure",
    ),
    "a distribution that is not here": ("cp.random.default_rng(1).poisson(3, 10)", "cudaErrorNotSupported"),
}


@pytest.mark.parametrize("fault", marked(FAULTS, OF_THE_REHEARSAL))
def test_a_fault_ends_the_context(cupy_rehearsed, fault):
    code, error = fault
    printed = cupy_rehearsed(
        BEGIN + RAISED + code + "\nfor _ in range(2): print(raised(cp.cuda.Device().synchronize))"
    )
    assert printed.count(error) == 2, printed


@pytest.mark.rehearsal(why="a GPU's machine has NVIDIA's libraries")
def test_what_is_not_here_is_refused_by_name(cupy_environment, run_program):
    done = run_program(cupy_environment, BEGIN + "cp.fft.fft(cp.arange(8.0))", 120)
    assert done.returncode == 1 and "there is no cufft" in done.stderr and "Error" in done.stderr


BOTH = """
from numba import cuda

n = 1000

@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]

raw = cp.RawKernel('extern "C" __global__ void inc(float* a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] += 1; }', "inc")
x, y, z = cp.arange(n, dtype="f"), cp.ones(n, "f"), cp.empty(n, "f")
add[4, 256](x, y, z)  # Numba's kernel on CuPy's arrays
same(z, np.arange(1, n + 1, dtype="f"))
d = cuda.to_device(np.zeros(n, "f"))
view = cp.asarray(d)  # CuPy on Numba's memory
raw((4,), (256,), (view, np.int32(n)))
assert (d.copy_to_host() == 1).all() and view.data.ptr == d.__cuda_array_interface__["data"][0]
s = cp.cuda.Stream()
add[4, 256, cuda.external_stream(s.ptr)](x, y, z)  # CuPy's stream, in Numba's hands
s.synchronize()
before = cuda.current_context().get_memory_info().free
big = cp.zeros(1 << 20, "f")
assert before - cuda.current_context().get_memory_info().free >= 4 << 20
assert before - cp.cuda.runtime.memGetInfo()[0] >= 4 << 20
raw((1,), (1,), (np.uint64(4096), np.int32(1)))
print(raised(cp.cuda.Device().synchronize))
print(raised(cuda.synchronize))
"""


NUMBA_FIRST = """
import numpy as np
from numba import cuda
d = cuda.to_device(np.arange(8.0))
import cupy as cp
print(float(cp.asarray(d).sum()))
"""


def test_numba_may_be_first(cupy_rehearsed):
    assert cupy_rehearsed(NUMBA_FIRST) == "28.0\n"


def test_both_libraries_share_one_memory_and_one_context(cupy_rehearsed):
    first, second = cupy_rehearsed(BEGIN + RAISED + BOTH).splitlines()
    assert "cudaErrorIllegalAddress: an illegal memory access was encountered" in first
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in second
