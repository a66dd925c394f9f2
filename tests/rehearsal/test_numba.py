"""The real numba-cuda on the rehearsal: what kernels compute, and what the driver answers.

Each program runs in a process of its own, because an error may end the context until the process ends.
"""

import signal

import pytest

from tests.rehearsal.marking import GUARDS, WATCHDOG, marked

BEGIN = """
import ctypes, math
import numpy as np
from numba import cuda, float32, float64, int32

def raises(text, call, *arguments):
    try:
        call(*arguments)
    except Exception as problem:
        assert text in str(problem), problem
    else:
        raise AssertionError(f"no {text}")
"""

ADD = """
@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]
"""


def test_a_kernel_adds(rehearsed):
    rehearsed(
        BEGIN
        + ADD
        + """
a, b = np.arange(100_003, dtype=np.float32), np.random.rand(100_003).astype(np.float32)
c = np.zeros_like(a)
add[(a.size + 255) // 256, 256](a, b, c)
assert (c == a + b).all()
"""
    )


@pytest.mark.rehearsal(why="it is the rehearsal's name")
def test_numba_says_its_name(rehearsed):
    printed = rehearsed(
        BEGIN + "print(cuda.get_current_device().name, cuda.get_current_device().compute_capability)"
    )
    assert printed.startswith("rehearsal, not a GPU (T4") and "major=7, minor=5" in printed


COMPUTING = {
    "every thread runs once": """
@cuda.jit
def ids(out):
    b, t = cuda.blockIdx, cuda.threadIdx
    out[b.z, b.y, b.x, t.z, t.y, t.x] += 1

out = np.zeros((2, 3, 4, 2, 4, 8), np.int32)
ids[(4, 3, 2), (8, 4, 2)](out)
assert (out == 1).all()
""",
    "a sum in shared memory": """
@cuda.jit
def total(x, out):
    s = cuda.shared.array(256, float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    step = 128
    while step > 0:
        if t < step:
            s[t] += s[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]

x = np.arange(10_000, dtype=np.float64)
out = np.zeros(40)
total[40, 256](x, out)
assert out.sum() == x.sum() and out[0] == x[:256].sum()
""",
    "dynamic shared memory": """
@cuda.jit
def reverse(x):
    s = cuda.shared.array(0, int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    x[t] = s[cuda.blockDim.x - 1 - t]

x = np.arange(300, dtype=np.int32)
reverse[1, 300, 0, 1200](x)
assert (x == np.arange(300)[::-1]).all()
""",
    "atomics": """
@cuda.jit
def histogram(x, h, top, first):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(h, x[i], 1)
        cuda.atomic.max(top, 0, float(x[i]))
        cuda.atomic.cas(first, 0, -1, i)

x = np.random.randint(0, 16, 5000)
h, top, first = np.zeros(16, np.int32), np.full(1, -1.0), np.full(1, -1)
histogram[20, 256](x, h, top, first)
assert (h == np.bincount(x, minlength=16)).all() and top[0] == x.max() and first[0] >= 0
""",
    "mathematics": """
@cuda.jit(device=True)
def f(x):
    return math.sin(x) ** 2 + math.exp(-x) + math.sqrt(x) + math.pow(x, 0.3) + math.log1p(x) + math.erf(x)

@cuda.jit
def apply(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = f(x[i])

for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 1e-5)):
    x = np.linspace(0.01, 9, 1000).astype(dtype)
    y = np.zeros_like(x)
    apply[4, 256](x, y)
    right = np.sin(x) ** 2 + np.exp(-x) + np.sqrt(x) + x**0.3 + np.log1p(x) + [math.erf(v) for v in x]
    assert np.allclose(y, right, rtol=tolerance)
""",
    "whole numbers": """
@cuda.jit
def work(a, b, out):
    i = cuda.grid(1)
    out[0, i] = a[i] // b[i]
    out[1, i] = a[i] % b[i]
    out[2, i] = cuda.popc(a[i]) + cuda.clz(a[i])
    out[3, i] = a[i] >> 3
    out[4, i] = (a[i] << 5) ^ b[i]

a = np.arange(-500, 500, dtype=np.int64) * 7919
b = np.where(np.arange(1000) % 2, 13, -7)
out = np.zeros((5, 1000), np.int64)
work[10, 100](a, b, out)
unsigned = a.astype(np.uint64)
bits = np.array([bin(v).count("1") + 64 - int(v).bit_length() for v in unsigned])
assert (out[0] == a // b).all() and (out[1] == a % b).all() and (out[2] == bits).all()
assert (out[3] == a >> 3).all() and (out[4] == (a << 5) ^ b).all()
""",
    "local arrays": """
@cuda.jit
def medians(x, y):
    w, i = cuda.local.array(5, float32), cuda.grid(1)
    if 2 <= i < x.size - 2:
        for k in range(5):
            w[k] = x[i + k - 2]
        for p in range(4):
            for q in range(4 - p):
                if w[q] > w[q + 1]:
                    w[q], w[q + 1] = w[q + 1], w[q]
        y[i] = w[2]

x = np.random.rand(500).astype(np.float32)
y = np.zeros_like(x)
medians[2, 256](x, y)
assert (y[2:-2] == np.median(np.lib.stride_tricks.sliding_window_view(x, 5), axis=1)).all()
""",
    "constant memory, and a print": """
TABLE = np.array([3, 1, 4, 1, 5, 9], np.int32)

@cuda.jit
def look_up(out):
    c = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    out[i] = c[i]
    if i == 5:
        print("thread", i, "has", c[i], 0.5)

out = np.zeros(6, np.int32)
look_up[1, 6](out)
cuda.synchronize()
assert (out == TABLE).all()
""",
    "shuffles and votes": """
@cuda.jit
def sums(x, out, votes):
    v = x[cuda.grid(1)]
    for d in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, d)
    b = cuda.ballot_sync(0xFFFFFFFF, cuda.laneid % 3 == 0)
    if cuda.laneid == 0:
        out[cuda.grid(1) // 32] = v
        votes[0] = b

x = np.arange(128, dtype=np.int32)
out, votes = np.zeros(4, np.int32), np.zeros(1, np.uint32)
sums[2, 64](x, out, votes)
assert (out == x.reshape(4, 32).sum(1)).all() and votes[0] == sum(1 << i for i in range(0, 32, 3))
""",
    "match and the active lanes": """
@cuda.jit
def peers(x, equal, active):
    i = cuda.grid(1)
    equal[i] = cuda.match_any_sync(0xFFFFFFFF, x[i])
    if i % 32 < 5:
        active[i] = cuda.activemask()
    else:
        active[i] = 7

x = np.arange(64, dtype=np.int32) % 3
equal, active = np.zeros(64, np.uint32), np.zeros(64, np.uint32)
peers[1, 64](x, equal, active)
for i in range(64):
    warp = x[i // 32 * 32 : i // 32 * 32 + 32]
    assert equal[i] == sum(1 << k for k in range(32) if warp[k] == x[i])
assert list(active[:6]) == [31] * 5 + [7]
""",
    "half precision": """
@cuda.jit
def halves(x, y, out):
    i = cuda.grid(1)
    out[i] = x[i] * y[i] + x[i]

x, y = np.random.rand(2, 64).astype(np.float16)
out = np.zeros(64, np.float16)
halves[1, 64](x, y, out)
assert np.allclose(out, x * y + x, rtol=2e-3)
""",
    "reduce, vectorize, random numbers": """
from numba import vectorize
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float64

@cuda.reduce
def total(a, b):
    return a + b

@vectorize(["float64(float64, float64)"], target="cuda")
def hypot(a, b):
    return math.sqrt(a * a + b * b)

@cuda.jit
def draw(states, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = xoroshiro128p_uniform_float64(states, i)

assert total(np.arange(1000.0)) == 499_500.0
assert np.allclose(hypot(np.arange(100.0), np.ones(100)), np.hypot(np.arange(100.0), 1))
out = np.zeros(1000)
draw.forall(1000)(create_xoroshiro128p_states(1024, seed=1), out)
assert 0.4 < out.mean() < 0.6 and len(set(out)) == 1000
""",
    "a device function in CUDA C++": """
twice = cuda.declare_device("twice", "int32(int32)", link=cuda.CUSource(
    'extern "C" __device__ int twice(int* r, int v) { *r = 2 * v; return 0; }'))

@cuda.jit
def double(x):
    x[cuda.grid(1)] = twice(x[cuda.grid(1)])

x = np.arange(32, dtype=np.int32)
double[1, 32](x)
assert (x == 2 * np.arange(32)).all()
""",
    "blocks wait for blocks that came before and after them": """
@cuda.jit
def meet(arrived, out):
    cuda.atomic.add(arrived, 0, 1)
    while cuda.atomic.add(arrived, 0, 0) < cuda.gridDim.x:
        pass
    out[cuda.blockIdx.x] = arrived[0]

arrived, out = np.zeros(1, np.int32), np.zeros(30, np.int32)
meet[30, 1](arrived, out)
assert (out == 30).all()
""",
    "an exception in debug mode": """
@cuda.jit(debug=True, opt=False)
def bad(x, n):
    x[cuda.grid(1)] = 1 // n

raises("division by zero", bad[1, 1], np.zeros(4, np.int32), 0)
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("code", COMPUTING.values(), ids=COMPUTING)
def test_it_computes(rehearsed, code):
    rehearsed(BEGIN + code, 120)


OF_THE_REHEARSAL = {
    "device memory is not host memory": "a GPU's memory comes in larger parts, and others use it",
    "fresh memory holds no zeros": "the rehearsal fills fresh memory; a GPU's may hold zeros",
    "memory runs out": "half of a GPU's free memory twice is a question of its parts",
    "launches that a T4 refuses": "another GPU has other limits",
    "an access outside": GUARDS,
    "a read before the start": GUARDS,
    "shared memory that is not there": GUARDS,
    "an endless loop": WATCHDOG,
    "threads that wait for each other": WATCHDOG,
}


DRIVING = {
    "device memory is not host memory": """
@cuda.jit
def double(x):
    x[cuda.grid(1)] *= 2

host = np.arange(512, dtype=np.int64)
d = cuda.to_device(host)
double[2, 256](d)
assert (host == np.arange(512)).all()
assert (d.copy_to_host() == 2 * host).all() and (d[10:20].copy_to_host() == 2 * host[10:20]).all()
e = cuda.device_array_like(host)
e.copy_to_device(d)
assert (e.copy_to_host() == 2 * host).all()
late = cuda.current_context().memory_manager.deallocations  # numba frees late, many at once
late.clear()
free = cuda.current_context().get_memory_info().free
del d, e
late.clear()
assert cuda.current_context().get_memory_info().free == free + 2 * host.nbytes
""",
    "fresh memory holds no zeros": """
assert cuda.device_array(100, np.uint8).copy_to_host().any()
""",
    "a result that nobody waited for is not there": """
@cuda.jit
def fill(x):
    x[cuda.grid(1)] = 7

pinned = cuda.pinned_array(64, np.int64)
pinned[:] = 0
stream = cuda.stream()
d = cuda.to_device(pinned, stream=stream)
fill[1, 64, stream](d)
d.copy_to_host(pinned, stream=stream)
assert (pinned == 0).all()
stream.synchronize()
assert (pinned == 7).all()
""",
    "what a copy takes from ordinary memory, it takes at once": """
host = np.arange(64)
stream = cuda.stream()
d = cuda.to_device(host, stream=stream)
host[:] = 0
stream.synchronize()
assert (d.copy_to_host() == np.arange(64)).all()
""",
    "streams and events": """
@cuda.jit
def work(x, n):
    i = cuda.grid(1)
    for k in range(n):
        x[i] = x[i] * 0.5 + k

s, a, b = cuda.stream(), cuda.event(), cuda.event()
x = cuda.pinned_array(1024)
x[:] = 1
d = cuda.to_device(x, stream=s)
a.record(s)
work[4, 256, s](d, 200)
b.record(s)
assert not b.query()
y = d.copy_to_host(stream=s)
s.synchronize()
assert b.query() and a.elapsed_time(b) > 0 and (y == y[0]).all() and abs(y[0] - 396) < 1e-9
other = cuda.stream()
b.wait(other)
with other.auto_synchronize():
    pass
for default in (cuda.default_stream(), cuda.legacy_default_stream(), cuda.per_thread_default_stream()):
    work[4, 256, default](d, 1)
    default.synchronize()
""",
    "mapped and managed memory": """
@cuda.jit
def inc(x):
    x[cuda.grid(1)] += 1

m, g = cuda.mapped_array(64, np.int32), cuda.managed_array(64, np.int32)
m[:] = g[:] = 5
inc[1, 64](m)
inc[1, 64](g)
cuda.synchronize()
assert (np.asarray(m) == 6).all() and (np.asarray(g) == 6).all()
""",
    "a launch in a stream takes no host array": """
@cuda.jit
def first(x):
    if cuda.grid(1) < x.size:
        x[0] = x[0]

h = np.zeros(4)
for stream in (cuda.stream(), cuda.legacy_default_stream()):
    for value in (h, cuda.In(h), cuda.Out(h)):
        raises("NumPy only supports stream=None.", first[1, 4, stream], value)
    first[1, 4, stream](cuda.to_device(h))
    first[1, 4, stream](h.astype("M8[s]"))
    raises("NumPy only supports stream=None.", cuda.reduce(lambda a, b: a + b), h, None, None, 0, stream)
first[1, 4, cuda.default_stream()](h)
""",
    "memory runs out": """
cuda.current_context().memory_manager.deallocations.clear()
free = cuda.current_context().get_memory_info().free
keep = cuda.device_array(free // 2, np.uint8)
raises("CUDA_ERROR_OUT_OF_MEMORY", cuda.device_array, free // 2 + 4096, np.uint8)
del keep
assert cuda.to_device(np.arange(3)).copy_to_host().sum() == 3
""",
    "launches that a T4 refuses": """
@cuda.jit
def nothing(x):
    pass

d = cuda.to_device(np.zeros(1))
for grid, block, shared in ((1, 1025, 0), (1, (1, 1, 65), 0), ((1, 70_000), 1, 0), (1, 32, 49_153)):
    raises("CUDA_ERROR_INVALID_VALUE", nothing[grid, block, 0, shared], d)
nothing[1, 32, 0, 49_152](d)
cuda.synchronize()
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("code", marked(DRIVING, OF_THE_REHEARSAL))
def test_the_driver_answers(rehearsed, code):
    rehearsed(BEGIN + code, 120)


ENDED = """
uses = (cuda.synchronize, cuda.synchronize, d.copy_to_host, lambda: cuda.to_device(np.zeros(4)), lambda: kernel[1, 1](d))
for use in uses:
    raises("{error}", use)
"""
FAULTS = {
    "an access outside": (
        "ILLEGAL_ADDRESS",
        "x[cuda.grid(1) + 1] = 7",
        "illegal write of 8 byte(s)",
        "thread (63, 0, 0)",
    ),
    "a read before the start": (
        "ILLEGAL_ADDRESS",
        "x[0] = x[cuda.grid(1) - 1000]",
        "illegal read of 8 byte(s)",
        "",
    ),
    "an endless loop": ("LAUNCH_TIMEOUT", "while x[0] == 0: cuda.threadfence()", "", ""),
    "threads that wait for each other": (
        "LAUNCH_TIMEOUT",
        "if cuda.threadIdx.x == 0:\n        x[0] = cuda.shfl_sync(3, 1, 0)\n    else:\n        cuda.syncthreads()",
        "every thread waits",
        "",
    ),
    "shared memory that is not there": (
        "ILLEGAL_ADDRESS",
        "s = cuda.shared.array(16, float64)\n    s[cuda.threadIdx.x] = 1\n    cuda.syncthreads()\n    x[0] = s[0]",
        "illegal write",
        "thread (16, 0, 0)",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", marked(FAULTS, OF_THE_REHEARSAL))
def test_a_fault_ends_the_context(process_of, fault):
    error, body, what, who = fault
    code = f"{BEGIN}\n@cuda.jit\ndef kernel(x):\n    {body}\n\nd = cuda.to_device(np.zeros(64))\nkernel[1, 64](d)\n"
    done = process_of(code + ENDED.format(error=error), 120, REHEARSAL_BRANCHES="1000000")
    assert done.returncode == 0, done.stderr[-3000:]
    assert what in done.stderr and who in done.stderr, done.stderr


@pytest.mark.slow
def test_host_code_cannot_follow_a_device_pointer(process_of):
    code = BEGIN + "ctypes.string_at(cuda.to_device(np.arange(4)).device_ctypes_pointer.value, 8)"
    assert process_of(code).returncode == -signal.SIGSEGV


@pytest.mark.slow
def test_a_fork_cannot_go_on(rehearsed):
    code = """
import os
cuda.to_device(np.zeros(4))
child = os.fork()
if not child:
    try:
        raises("CUDA initialized before forking", cuda.to_device, np.zeros(4))
    except BaseException as problem:
        print(problem, flush=True)
        os._exit(1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    rehearsed(BEGIN + code)
