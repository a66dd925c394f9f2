"""What `h2d.count()` counts for CuPy: each case with the place in CuPy's sources that says so.

Files are those of `cupy/_core` in CuPy 13 and 14 unless another folder is named. Operations are the least that a
GPU is asked for.
"""

import numpy as np
import pytest

import host_to_device.standins.cupy as cp
from host_to_device.counting import Copies, count
from host_to_device.standins import numba_cuda

# Code; copies to the device, to the host and on the device, waits, allocations, operations; and where it is from.
# Each sees `h`, 5 float64 on the host, `a` and `b`, 3 × 4 float64 on the device, and `s`, a stream.
CASES = [
    # Copies to the device
    ("cp.asarray(h)", (1, 0, 0, 0, 1, 0), "core.pyx, _array_default: through pinned memory, asynchronous"),
    ("cp.array(h, blocking=True)", (1, 0, 0, 1, 1, 0), "core.pyx, _array_default"),
    ("cp.array([1, 2, 3])", (1, 0, 0, 0, 1, 0), "core.pyx, _array_default"),
    ("cp.array(3.5)", (0, 0, 0, 0, 1, 1), "core.pyx, _array_default: a.fill"),
    ("cp.asarray(np.zeros(0))", (0, 0, 0, 0, 0, 0), "cuda/memory.pyx: nothing is copied where size is 0"),
    ("cp.asarray(a)", (0, 0, 0, 0, 0, 0), "core.pyx, _astype: the array itself"),
    ("cp.array(a)", (0, 0, 0, 0, 1, 1), "core.pyx, _astype: elementwise_copy"),
    ("b.set(np.ones((3, 4)))", (1, 0, 0, 0, 0, 0), "core.pyx, set"),
    ("a[[0, 1]]", (1, 0, 0, 0, 2, 1), "_routines_indexing.pyx, _prepare_slice_list: the list is copied"),
    # Copies to the host
    ("a.get()", (0, 1, 0, 1, 0, 0), "core.pyx, get"),
    ("cp.asnumpy(a)", (0, 1, 0, 1, 0, 0), "cupy/__init__.py, asnumpy: get"),
    ("a.get(blocking=False)", (0, 1, 0, 0, 0, 0), "core.pyx, get"),
    ("cp.asnumpy(a, blocking=False)", (0, 1, 0, 0, 0, 0), "core.pyx, get"),
    ("a.get(out=np.empty((3, 4)))", (0, 1, 0, 1, 0, 0), "core.pyx, get"),
    ("a.T.get()", (0, 1, 0, 1, 1, 1), "core.pyx, get: in C order first"),
    ("a.T.get(order='F')", (0, 1, 0, 1, 0, 0), "core.pyx, get"),
    ("a.T.get(order='A')", (0, 1, 0, 1, 0, 0), "core.pyx, get"),
    ("a.get(order='F')", (0, 1, 0, 1, 1, 1), "core.pyx, get"),
    ("a[:, 1:3].get()", (0, 1, 0, 1, 1, 1), "core.pyx, get: gaps are left out first"),
    ("cp.empty(0).get()", (0, 0, 0, 0, 0, 0), "core.pyx, get"),
    ("float(a[0, 0])", (0, 1, 0, 1, 0, 0), "core.pyx, __float__: get"),
    ("int(a[0, 0])", (0, 1, 0, 1, 0, 0), "core.pyx, __int__: get"),
    ("bool(a[0, 0])", (0, 1, 0, 1, 0, 0), "core.pyx, __bool__: get"),
    ("a[0, 0].item()", (0, 1, 0, 1, 0, 0), "core.pyx, item: get"),
    ("a.tolist()", (0, 1, 0, 1, 0, 0), "core.pyx, tolist: get"),
    ("str(a)", (0, 1, 0, 1, 0, 0), "core.pyx, __str__: get"),
    ("repr(a)", (0, 1, 0, 1, 0, 0), "core.pyx, __repr__: get"),
    ("f'{a[0, 0]:.1f}'", (0, 1, 0, 1, 0, 0), "core.pyx, __format__: get"),
    # Operations
    ("a + b", (0, 0, 0, 0, 1, 1), "_kernel.pyx, ufunc"),
    ("2 * a", (0, 0, 0, 0, 1, 1), "_kernel.pyx, ufunc"),
    ("cp.exp(a, out=b)", (0, 0, 0, 0, 0, 1), "_kernel.pyx, ufunc"),
    ("cp.divmod(a, 2)", (0, 0, 0, 0, 2, 1), "core.pyx, divmod: one kernel, two results"),
    ("cp.where(a, a, b)", (0, 0, 0, 0, 2, 2), "cupy/_sorting/search.py, where: the mask is converted"),
    ("a.copy()", (0, 0, 0, 0, 1, 1), "core.pyx, copy: astype, a kernel"),
    ("a.astype('f4')", (0, 0, 0, 0, 1, 1), "core.pyx, _astype"),
    ("a.astype('f8', copy=False)", (0, 0, 0, 0, 0, 0), "core.pyx, _astype"),
    ("a.T.ravel()", (0, 0, 0, 0, 1, 1), "core.pyx, ravel"),
    ("cp.pad(a, 2, constant_values=1)", (0, 0, 0, 0, 1, 5), "_padding/pad.py: a copy and four edges"),
    (
        "cp.pad(a, ((0, 1), (2, 3)), 'edge')",
        (0, 0, 0, 0, 1, 4),
        "_padding/pad.py: an edge of width 0 is none",
    ),
    ("cp.pad(a, 2)", (0, 0, 0, 0, 1, 2), "_padding/pad.py: all zeros, and a copy"),
    ("cp.pad(a, 2, 'empty')", (0, 0, 0, 0, 1, 1), "_padding/pad.py: a copy"),
    ("cp.empty((2, 3))", (0, 0, 0, 0, 1, 0), "core.pyx, ndarray: memory.alloc"),
    ("cp.empty(0)", (0, 0, 0, 0, 0, 0), "cuda/memory.pyx"),
    ("cp.zeros(5)", (0, 0, 0, 0, 1, 1), "cupy/_creation/basic.py, zeros: a memset"),
    ("cp.full(5, 2)", (0, 0, 0, 0, 1, 1), "core.pyx, fill"),
    ("b.fill(0)", (0, 0, 0, 0, 0, 1), "core.pyx, fill: a memset"),
    ("cp.zeros(0) + 1", (0, 0, 0, 0, 0, 0), "_kernel.pyx, ufunc: no elements, no launch"),
    ("a.sum()", (0, 0, 0, 0, 1, 1), "_reduction.pyx"),
    ("a.sum(axis=0)", (0, 0, 0, 0, 1, 1), "_reduction.pyx"),
    ("cp.concatenate([a, b])", (0, 0, 0, 0, 1, 1), "_routines_manipulation.pyx, concatenate"),
    ("cp.array([a, b])", (0, 0, 0, 0, 1, 1), "core.pyx, _array_from_nested_cupy_sequence"),
    ("a @ b.T", (0, 0, 0, 0, 1, 1), "_routines_linalg.pyx, matmul"),
    ("a.sort()", (0, 0, 0, 0, 0, 1), "_routines_sorting.pyx"),
    ("cp.random.rand(5)", (0, 0, 0, 0, 1, 1), "cupy/random/_generator.py"),
    ("a[cp.arange(2)]", (0, 0, 0, 0, 2, 2), "_routines_indexing.pyx, _take"),
    # Views
    ("a.T", (0, 0, 0, 0, 0, 0), "a view"),
    ("a[1:, ::2]", (0, 0, 0, 0, 0, 0), "a view"),
    ("a[1, 2]", (0, 0, 0, 0, 0, 0), "a view without axes"),
    ("a.reshape(-1)", (0, 0, 0, 0, 0, 0), "a view"),
    ("a.ravel()", (0, 0, 0, 0, 0, 0), "a view"),
    ("cp.broadcast_to(a, (2, 3, 4))", (0, 0, 0, 0, 0, 0), "a view"),
    ("cp.split(a, 3)", (0, 0, 0, 0, 0, 0), "views"),
    ("a.shape, a.dtype, len(a), a.nbytes", (0, 0, 0, 0, 0, 0), "known on the host"),
    # Assignments
    ("b.__setitem__(..., a)", (0, 0, 1, 0, 0, 0), "_routines_indexing.pyx, _scatter_op: memory is copied"),
    ("b.__setitem__(..., a[:1])", (0, 0, 0, 0, 0, 1), "_routines_indexing.pyx, _scatter_op"),
    ("b.__setitem__(..., a.astype('f4'))", (0, 0, 0, 0, 1, 2), "_routines_indexing.pyx, _scatter_op"),
    ("b.__setitem__(..., b)", (0, 0, 0, 0, 0, 0), "_routines_indexing.pyx, _scatter_op: the same array"),
    ("b.__setitem__(0, 5)", (0, 0, 0, 0, 0, 1), "_routines_indexing.pyx, _scatter_op: fill"),
    ("exec('b[1:] += 1', {'b': b})", (0, 0, 0, 0, 0, 1), "a ufunc into a view, then the same array"),
    ("cp.copyto(b, a)", (0, 0, 0, 0, 0, 1), "cupy/_manipulation/basic.py, copyto: at least one"),
    # Waiting
    ("cp.cuda.Device().synchronize()", (0, 0, 0, 1, 0, 0), "cuda/device.pyx"),
    ("cp.cuda.runtime.deviceSynchronize()", (0, 0, 0, 1, 0, 0), "cuda/api/runtime"),
    ("cp.cuda.get_current_stream().synchronize()", (0, 0, 0, 1, 0, 0), "cuda/stream.pyx"),
    ("s.synchronize()", (0, 0, 0, 1, 0, 0), "cuda/stream.pyx"),
    ("s.record().synchronize()", (0, 0, 0, 1, 0, 0), "cuda/stream.pyx"),
    ("s.wait_event(s.record())", (0, 0, 0, 0, 0, 0), "cuda/stream.pyx: the stream waits, not the host"),
    ("s.done, s.record().done", (0, 0, 0, 0, 0, 0), "cuda/stream.pyx"),
    # Sizes that depend on data
    ("cp.put(b, cp.arange(2), a, 'raise')", (0, 1, 0, 1, 1, 2), "_routines_indexing.pyx, _ndarray_put"),
    ("cp.histogram(a, bins=4, range=(0, 12))", (0, 0, 0, 0, 2, 2), "cupy/_statistics/histogram.py"),
    ("cp.histogram(a)", (0, 2, 0, 2, 2, 2), "cupy/_statistics/histogram.py, _get_outer_edges"),
    ("cp.bincount(cp.arange(5))", (0, 2, 0, 2, 2, 2), "cupy/_statistics/histogram.py, bincount"),
    ("cp.trim_zeros(cp.arange(5))", (0, 2, 0, 2, 1, 3), "cupy/_manipulation/add_remove.py, trim_zeros"),
]
EVERY_MASK = [
    "a[m]",
    "b.__setitem__(m, 0)",
    "b.__setitem__(m, a[0, :1])",
    "a.nonzero()",
    "cp.nonzero(a)",
    "cp.where(m)",
    "cp.argwhere(a)",
    "cp.flatnonzero(a)",
    "cp.extract(m, a)",
    "a.compress(m[1], axis=1)",
    "cp.unique(a)",
    "cp.delete(a, 1)",
]


def names():
    return {
        **{"cp": cp, "np": np, "h": np.ones(5), "s": cp.cuda.Stream()},
        **{"a": cp.arange(12.0).reshape(3, 4), "b": cp.ones((3, 4)), "m": cp.arange(12).reshape(3, 4) > 3},
    }


def counted(code):
    space = names()
    with count() as c:
        eval(code, space)
    return c


@pytest.mark.parametrize(("code", "wanted", "reference"), CASES, ids=[case[0] for case in CASES])
def test_as_in_cupys_sources(code, wanted, reference):
    c = counted(code)
    copies = tuple(each.count for each in (c.host_to_device, c.device_to_host, c.device_to_device))
    assert (*copies, c.waits, c.allocations, c.operations) == wanted, reference


# _routines_indexing.pyx, `_prepare_mask_indexing_single` and `_ndarray_argwhere`: int(scan[-1]), a number of 32 bits.
@pytest.mark.parametrize("code", EVERY_MASK)
def test_the_host_waits_for_a_size(code):
    c = counted(code)
    assert (c.waits, c.device_to_host) == (1, Copies(1, 4)) and c.operations >= 2
    assert c.waits_by_line[0].reasons == ("a size or a check",)


@pytest.mark.parametrize(
    ("code", "h2d", "d2h", "d2d"),
    [("cp.asarray(h)", 40, 0, 0), ("a.get()", 0, 96, 0), ("b.__setitem__(..., a)", 0, 0, 96)],
)
def test_bytes(code, h2d, d2h, d2d):
    c = counted(code)
    assert (c.host_to_device.bytes, c.device_to_host.bytes, c.device_to_device.bytes) == (h2d, d2h, d2d)


def test_every_function_counts_once_for_each_array_that_it_makes():
    c = counted("cp.meshgrid(cp.arange(3), cp.arange(2))")
    assert c.operations_by_name == {"arange": 2, "meshgrid": 2}
    assert counted("cp.einsum('ij,ij->i', a, b)").operations_by_name == {"summed": 1}


def test_kernels_are_counted_by_name():
    double = cp.ElementwiseKernel("T x", "T y", "y = 2 * x", "double_it")
    total = cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    raw = cp.RawKernel(
        'extern "C" __global__ void negate(float* x, int n) '
        "{ int i = blockDim.x * blockIdx.x + threadIdx.x; if (i < n) x[i] = -x[i]; }",
        "negate",
    )
    x = cp.arange(100, dtype=np.float32)
    double(x), total(x), raw((1,), (128,), (x, 100))  # compiling counts for nothing
    with count() as c:
        double(x)
        double(x, x)
        total(x)
        raw((1,), (128,), (x, 100))
    assert c.operations_by_name == {"double_it": 2, "total": 1, "negate": 1}
    assert (c.waits, c.allocations, c.host_to_device.count) == (0, 2, 0)


def test_fusing_makes_one_of_several():
    def squared_difference(x, y):
        return (x - y) * (x - y)

    x, y = cp.ones(10), cp.arange(10.0)
    fused = cp.fuse(squared_difference)
    fused(x, y)
    with count() as c:
        squared_difference(x, y)
    assert (c.operations, c.allocations) == (3, 3)
    with count() as c:
        fused(x, y)
    assert (c.operations, c.allocations) == (1, 1)


def test_a_kernel_on_numbas_arrays():
    d = numba_cuda.to_device(np.arange(4.0))
    with count() as c:
        cp.asarray(d)
    assert c.as_dict() == dict.fromkeys(c.as_dict(), 0)  # it names no stream
    with count() as c:
        cp.asarray(d.bind(numba_cuda.stream()))
    assert c.waits == 1


def test_blocks_come_from_the_pool():
    with count() as c:
        for _ in range(3):
            cp.empty(100)
    assert c.allocations == 3
    before = cp.cuda.get_allocator()
    try:
        cp.cuda.set_allocator(cp.cuda.MemoryPool(cp.cuda.malloc_managed).malloc)
        with count() as c:
            cp.empty(100)
        assert c.allocations == 1
        cp.cuda.set_allocator(None)
        with count() as c:
            cp.empty(100)
        assert c.allocations == 1
    finally:
        cp.cuda.set_allocator(before)


# cuda/memory.pyx: copy_from_host and copy_to_host are cudaMemcpy, which waits; their _async forms do not.
def test_copies_by_pointer():
    a, b, h = cp.zeros(4), cp.zeros(4), np.ones(4)
    with count() as c:
        a.data.copy_from_host(h.ctypes.data, h.nbytes)
        a.data.copy_to_host(h.ctypes.data, h.nbytes)
        a.data.copy_from_device(b.data, a.nbytes)
    assert (c.host_to_device, c.device_to_host, c.device_to_device) == (Copies(1, 32),) * 3 and c.waits == 2
    with count() as c:
        a.data.copy_from_host_async(h.ctypes.data, h.nbytes)
        a.data.copy_to_host_async(h.ctypes.data, h.nbytes)
        a.data.copy_from_async(b.data, a.nbytes)
        a.data.copy_from_async(h.ctypes.data, h.nbytes)
        a.data.memset_async(0, a.nbytes)
        cp.cuda.runtime.memcpyAsync(
            a.data.ptr, h.ctypes.data, 8, cp.cuda.runtime.memcpyHostToDevice, cp.cuda.Stream.null.ptr
        )
    assert (c.host_to_device.count, c.device_to_host.count, c.device_to_device.count) == (3, 1, 1)
    assert (c.waits, c.operations_by_name) == (0, {"memset": 1})
    with count() as c:
        runtime = cp.cuda.runtime
        runtime.memcpy(a.data.ptr, h.ctypes.data, 8, runtime.memcpyHostToDevice)
        runtime.memcpy(b.data.ptr, a.data.ptr, 8, runtime.memcpyDeviceToDevice)
        runtime.memset(b.data.ptr, 0, 8)
    assert (c.waits, c.operations, c.device_to_device) == (1, 1, Copies(1, 8))


# cupyx/profiler/_time.py: the device is waited for before the first call and after each.
def test_benchmarking_waits_after_each_call():
    from host_to_device.standins.cupy.cupyx.profiler import benchmark

    with count() as c:
        benchmark(lambda: None, n_repeat=5, n_warmup=2)
    assert c.waits == 6


def test_the_readers_line_is_found_below_cupys_own():
    a = cp.ones(10)
    with count() as c:
        for _ in range(4):
            total = float(a.sum())
    (line,) = c.waits_by_line
    assert (line.count, line.text, total) == (4, "total = float(a.sum())", 10)
