"""`cupyx.jit.rawkernel` of the stand-in (CuPy's guide, "JIT kernel definition", and cupyx/jit/_interface.py)."""

import numpy as np
import pytest

import host_to_device.standins.cupy as cp
from host_to_device.standins.cupy import jit
from host_to_device.standins.cupy.cuda.driver import CUDADriverError

FLOAT = np.float32


@jit.rawkernel()
def elementwise_copy(x, y, size):
    """Copy with a grid-stride loop, the guide's example."""
    first = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
    step = jit.gridDim.x * jit.blockDim.x
    for i in range(first, size, step):
        y[i] = x[i]


@jit.rawkernel()
def block_sum(x, total):
    part = jit.shared_memory(FLOAT, 64)
    thread = jit.threadIdx.x
    part[thread] = x[jit.grid(1)]
    jit.syncthreads()
    if thread == 0:
        found = part[0]
        for other in range(1, 64):
            found += part[other]
        jit.atomic_add(total, 0, found)


@jit.rawkernel()
def dynamic(x):
    part = jit.shared_memory(size=None, dtype=FLOAT)
    part[jit.threadIdx.x] = x[jit.threadIdx.x]
    jit.syncthreads()
    x[jit.threadIdx.x] = part[jit.blockDim.x - 1 - jit.threadIdx.x]


@jit.rawkernel(device=True)
def twice(value):
    return 2 * value


@jit.rawkernel()
def lanes(x):
    i = jit.grid(1)
    x[i] = twice(jit.laneid())


@jit.rawkernel()
def faulty(x):
    part = jit.shared_memory(FLOAT, 4)
    part[9] = x[0]


@pytest.mark.parametrize("size", [1000, np.uint32(1000)])
def test_both_ways_to_launch(size):
    x = cp.arange(1000, dtype=np.float32)
    for launch in (
        lambda y: elementwise_copy((4,), (64,), (x, y, size)),
        lambda y: elementwise_copy[4, 64](x, y, size),
        lambda y: elementwise_copy[(4, 1), (64,)](x, y, size),
    ):
        y = cp.zeros(1000, dtype=np.float32)
        launch(y)
        assert (y.get() == x.get()).all()


def test_shared_memory_and_atomics():
    total = cp.zeros(1, dtype=np.float32)
    block_sum((10,), (64,), (cp.ones(640, dtype=np.float32), total))
    assert total.get() == 640


def test_dynamic_shared_memory():
    x = cp.arange(8, dtype=np.float32)
    dynamic((1,), (8,), (x,), shared_mem=32)
    assert x.get().tolist() == list(range(8))[::-1]


def test_device_functions_and_lanes():
    x = cp.zeros(64, dtype=np.int64)
    lanes[2, 32](x)
    assert x.get().tolist() == [2 * lane for lane in range(32)] * 2


def test_closures():
    factor = 3

    @jit.rawkernel()
    def scale(x):
        part = jit.shared_memory(FLOAT, 8)
        part[jit.threadIdx.x] = factor * x[jit.threadIdx.x]
        x[jit.threadIdx.x] = part[jit.threadIdx.x]

    x = cp.ones(8, dtype=np.float32)
    scale[1, 8](x)
    assert x.get().tolist() == [3] * 8


def test_views_are_written_to():
    x, y = cp.arange(10, dtype=np.float32), cp.zeros((10, 2), dtype=np.float32)
    elementwise_copy[1, 10](x, y[:, 1], 10)
    assert y.get()[:, 1].tolist() == x.get().tolist()


def test_faults_name_the_learners_line():
    with pytest.raises(IndexError, match=r"faulty\(\), test_kernels_jit.py, line \d+: index 9") as caught:
        faulty[1, 1](cp.ones(1, dtype=np.float32))
    line = int(str(caught.value).split("line ")[1].split(":")[0])
    with open(__file__) as file:
        assert "part[9]" in file.readlines()[line - 1]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: lanes((1,), (1,), ([1],)), TypeError, "<class 'list'> is not supported for RawKernel"),
        (lambda x: lanes((1,), (1,), (np.zeros(3),)), TypeError, "<class 'numpy.ndarray'> is not supported for RawKernel"),
        (lambda x: lanes((1,), (1,), ("text",)), TypeError, "<class 'str'> is not supported for RawKernel"),
        (lambda x: lanes((1,), (2048,), (x,)), CUDADriverError, "CUDA_ERROR_INVALID_VALUE: invalid argument"),
        (lambda x: jit.shared_memory(FLOAT, 8), RuntimeError, "Cannot call this function from Python layer."),
        (lambda x: jit.cg, AttributeError, "cupyx.jit.cg is not in host_to_device's stand-in"),
        (lambda x: jit.no_such_name, AttributeError, "module 'cupyx.jit' has no attribute 'no_such_name'"),
        (lambda x: lanes.cached_code, NotImplementedError, "the stand-in makes no CUDA C++"),
    ],
)  # fmt: skip
def test_refused(call, error, words):
    with pytest.raises(error) as caught:
        call(cp.zeros(64, dtype=np.int64))
    assert str(caught.value).startswith(words)


@jit.rawkernel()
def shuffles_in_groups(x, out, width):
    i = jit.threadIdx.x
    out[0, i] = jit.shfl_sync(0xFFFFFFFF, x[i], 1, width=width)
    out[1, i] = jit.shfl_up_sync(0xFFFFFFFF, x[i], 1, width=width)
    out[2, i] = jit.shfl_down_sync(0xFFFFFFFF, x[i], 1, width=width)
    out[3, i] = jit.shfl_xor_sync(0xFFFFFFFF, x[i], 5, width=width)


@pytest.mark.parametrize("width", [4, 32])
def test_shuffles_within_groups_of_lanes(width):
    """CUDA C++ Programming Guide, "Warp Shuffle Functions": each group of `width` lanes is a warp of its own."""
    lanes, x = np.arange(32), np.arange(100, 132, dtype=np.int32)
    out = cp.zeros((4, 32), np.int32)
    shuffles_in_groups[1, 32](cp.asarray(x), out, width)
    group, place = lanes // width * width, lanes % width
    other = lanes ^ 5
    wanted = [
        x[group + 1],
        x[np.where(place >= 1, lanes - 1, lanes)],
        x[np.where(place + 1 < width, lanes + 1, lanes)],
        x[np.where(other < group + width, other, lanes)],
    ]
    assert out.tolist() == [each.tolist() for each in wanted]


def scaled_by(factor):
    @jit.rawkernel(device=True)
    def scaled(value):
        return factor * value

    return scaled


def added_up(step):
    @jit.rawkernel(device=True)
    def add(x):
        if step < 32:
            if jit.threadIdx.x % (2 * step) == 0:
                x[jit.threadIdx.x] += x[jit.threadIdx.x + step]
            jit.syncthreads()
            added_up(step * 2)(x)

    return add


@jit.rawkernel()
def with_made_functions(x, total):
    i = jit.threadIdx.x
    total[i] = scaled_by(2)(x[i]) + scaled_by(3)(x[i])
    jit.syncthreads()
    added_up(1)(total)


def test_device_functions_made_at_compile_time():
    x, total = cp.arange(32, dtype=np.int32), cp.zeros(32, np.int32)
    with_made_functions[1, 32](x, total)
    assert total[0] == 5 * 31 * 16


@pytest.mark.parametrize("unroll", [None, True, 3])
def test_a_branch_that_constants_decide(unroll):
    @jit.rawkernel()
    def add(x):
        if unroll == None:  # noqa: E711 - a kernel cannot write `is`
            x[jit.threadIdx.x] = 1
        else:
            for _ in jit.range(6, unroll=unroll):
                x[jit.threadIdx.x] += 1
            x[jit.threadIdx.x] += scaled_by(2)(x[jit.threadIdx.x])

    x = cp.zeros(4)
    add[1, 4](x)
    assert x.tolist() == [1 if unroll is None else 18] * 4


@jit.rawkernel(device=True)
def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


@jit.rawkernel(device=True)
def endless(n):
    return endless(n) + 1


@jit.rawkernel()
def calls_factorial(x):
    x[0] = factorial(x[0])


@jit.rawkernel()
def calls_endless(x):
    x[0] = endless(x[0])


@pytest.mark.parametrize("kernel", [calls_factorial, calls_endless])
def test_no_function_calls_itself(kernel):
    with pytest.raises(ValueError, match=r"^Recursive function is not supported"):
        kernel[1, 1](cp.zeros(1, int))
