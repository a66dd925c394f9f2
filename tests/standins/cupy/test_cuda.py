"""CuPy's cupy.cuda on the stand-in: memory and its pool, streams, the device, and other libraries.

References: cupy/cuda/memory.pyx, stream.pyx, device.pyx and runtime.pyx of CuPy 14.2; docs.cupy.dev, "Memory
Management" and "Interoperability".
"""

import gc
import re

import numpy as np
import pytest

import host_to_device.standins.cupy as cp
import host_to_device.standins.cupy.cupyx as cupyx
from host_to_device.standins import events, numba_cuda
from host_to_device.standins.cupy.cupyx import profiler


@pytest.fixture
def pool():
    """A separate pool for the arrays of one test."""
    fresh = cp.cuda.MemoryPool()
    before = cp.cuda.get_allocator()
    cp.cuda.set_allocator(fresh.malloc)
    yield fresh
    cp.cuda.set_allocator(before)


@pytest.fixture
def seen(monkeypatch):
    """Every copy and allocation of a test, as (kind, bytes)."""
    happened = []
    monkeypatch.setattr(events, "listening", True)
    monkeypatch.setattr(events, "copied", lambda direction, nbytes: happened.append((direction, nbytes)))
    monkeypatch.setattr(
        events, "allocated", lambda nbytes, owner=None: happened.append(("allocation", nbytes))
    )
    monkeypatch.setattr(
        events, "allocated_from", lambda pool, key, nbytes, held: happened.append(("allocation", nbytes))
    )
    return happened


# "Memory Management": blocks are multiples of 512 bytes, and stay with the pool.
def test_the_pool_counts_as_cupys_does(pool):
    a = cp.zeros(100, dtype="f4")
    assert (pool.used_bytes(), pool.total_bytes(), pool.n_free_blocks()) == (512, 512, 0)
    b = a[10:]
    del a
    assert pool.used_bytes() == 512  # the view keeps it
    del b
    assert (pool.used_bytes(), pool.total_bytes(), pool.free_bytes(), pool.n_free_blocks()) == (
        0,
        512,
        512,
        1,
    )
    c = cp.empty(64)
    assert (pool.used_bytes(), pool.total_bytes(), pool.n_free_blocks()) == (512, 512, 0)
    pool.free_all_blocks()
    assert pool.total_bytes() == 512
    del c
    pool.free_all_blocks()
    assert (pool.total_bytes(), pool.n_free_blocks()) == (0, 0)


def test_large_free_blocks_are_cut_and_joined_again(pool):
    a = cp.empty(4096, dtype="u1")
    del a
    b, c = cp.empty(1024, dtype="u1"), cp.empty(512, dtype="u1")
    assert (pool.used_bytes(), pool.total_bytes(), pool.n_free_blocks()) == (1536, 4096, 1)
    del b
    pool.free_all_blocks()
    assert pool.total_bytes() == 4096  # it was cut, so it stays until it is whole
    del c
    assert pool.n_free_blocks() == 1
    pool.free_all_blocks()
    assert pool.total_bytes() == 0


def test_streams_have_free_blocks_of_their_own(pool):
    with cp.cuda.Stream():
        a = cp.empty(64)
        del a
    b = cp.empty(64)
    assert (pool.used_bytes(), pool.total_bytes(), b.size) == (512, 1024, 64)


def test_the_limit_is_kept_and_the_error_is_cupys(pool):
    pool.set_limit(size=1024**2)
    assert pool.get_limit() == 1024**2
    a = cp.zeros(1000)
    text = (
        r"^Out of memory allocating 8,000,000 bytes \(allocated so far: 8,192 bytes, limit set to: "
        r"1,048,576 bytes\)\.$"
    )
    with pytest.raises(cp.cuda.memory.OutOfMemoryError, match=text):
        cp.zeros(1_000_000)
    assert issubclass(cp.cuda.memory.OutOfMemoryError, MemoryError) and a.sum() == 0
    pool.set_limit()
    assert pool.get_limit() == 0 and cp.zeros(1_000_000).size == 1_000_000
    pool.set_limit(fraction=0.5)
    assert pool.get_limit() > 0
    with pytest.raises(ValueError, match=r"^memory limit fraction out of range: 2$"):
        pool.set_limit(fraction=2)
    with pytest.raises(ValueError, match=r"^size and fraction cannot be specified at one time$"):
        pool.set_limit(size=1, fraction=0.5)


def test_more_than_the_machine_has():
    with pytest.raises(
        MemoryError, match=r"^Out of memory allocating 1,125,899,906,842,624 bytes \(allocated so far"
    ):
        cp.empty(1 << 50, dtype="u1")


def test_memory_pointers():
    a = cp.arange(4, dtype="i4")
    b = cp.ndarray((2,), "i4", memptr=a.data + 8)
    assert b.tolist() == [2, 3]
    b[0] = 7
    assert a.tolist() == [0, 1, 7, 3]
    host = np.zeros(4, "i4")
    a.data.copy_to_host(host.ctypes.data, 16)
    assert host.tolist() == a.tolist()
    a.data.memset(0, 16)
    assert not a.any()
    with cp.cuda.using_allocator():
        assert cp.zeros(3).sum() == 0


def test_memory_lives_as_long_as_an_array_of_any_kind():
    view = cp.arange(1000)[500:][::2]
    numba_array = numba_cuda.as_cuda_array(cp.full(1000, 5))
    gc.collect()
    others = [cp.zeros(1000, dtype="i8") for _ in range(20)]
    assert view[0] == 500 and numba_array.copy_to_host()[999] == 5 and len(others) == 20


def test_copies_and_blocks_are_reported(seen):
    a = cp.asarray(np.zeros(1000))
    assert seen == [("allocation", 8192), ("h2d", 8000)]
    b = a + 1
    b.get()
    float(b[0])
    assert seen[2:] == [("allocation", 8192), ("d2h", 8000), ("d2h", 8)]
    del a
    cp.empty(1000).set(np.ones(1000))
    assert seen[5:] == [("allocation", 8192), ("h2d", 8000)]  # asked of the pool, which has it already


def test_memory_is_shared_with_the_stand_in_for_numba():
    a = cp.arange(12, dtype="f4").reshape(3, 4)
    for part in (a, a.T, a[:, 1:3], a[::-1]):
        there = numba_cuda.as_cuda_array(part)
        back = cp.asarray(there)
        assert back.shape == part.shape and back.data.ptr == part.data.ptr and back.strides == part.strides
    numba_cuda.as_cuda_array(a)[0, 0] = 9
    assert a[0, 0] == 9
    d = numba_cuda.to_device(np.arange(4.0))
    c = cp.asarray(d)
    c[:] = 1
    assert d.copy_to_host().tolist() == [1] * 4
    assert (c + d).tolist() == [2] * 4  # anything with the interface is an operand


def test_kernels_of_the_numba_stand_in_take_cupys_arrays():
    @numba_cuda.jit
    def double(x):
        i = numba_cuda.grid(1)
        if i < x.size:
            x[i] *= 2

    a = cp.arange(5, dtype="f4")
    double[1, 8](a)
    assert a.tolist() == [0, 2, 4, 6, 8]


def test_memory_of_a_real_gpu_is_refused_in_one_line():
    class OnGpu:
        @property
        def __cuda_array_interface__(self):
            return {"shape": (1,), "typestr": "<f4", "data": (4096, False), "version": 3}

    with pytest.raises(TypeError, match=r"^this array is not in the stand-in's memory[^\n]*$"):
        cp.asarray(OnGpu())


class OnHost:
    """An array of managed memory, as DLPack gives it to the host."""

    def __init__(self, array, **options):
        self.tensor = array.__dlpack__(dl_device=(1, 0), **options)

    def __dlpack__(self, **_):
        return self.tensor

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize(
    "version, name", [(None, "dltensor"), ((0, 8), "dltensor"), ((1, 0), "dltensor_versioned")]
)
def test_dlpack_of_two_versions(version, name):
    a = cp.arange(3)
    tensor = a.__dlpack__(max_version=version)
    assert f'"{name}"' in repr(tensor)
    b = cp.fromDlpack(tensor)
    assert f'"used_{name}"' in repr(tensor)
    b[0] = 7
    assert a.tolist() == b.tolist() == [7, 1, 2]


def test_dlpack_of_managed_memory_shares_it_with_the_host():
    pool = cp.cuda.MemoryPool(cp.cuda.malloc_managed)
    for allocator in (pool.malloc, cp.cuda.malloc_managed):
        with cp.cuda.using_allocator(allocator):
            a = cp.arange(3)
        for options, shares in (({}, True), ({"copy": False}, True), ({"copy": True}, False)):
            assert (np.from_dlpack(OnHost(a, **options)).ctypes.data == a.data.ptr) == shares
    b = cp.arange(3)
    assert np.from_dlpack(OnHost(b)).ctypes.data != b.data.ptr
    with pytest.raises(ValueError, match="cannot be exported to CPU without copy"):
        OnHost(b, copy=False)


def test_memory_of_a_pool_can_be_freed_before_its_end():
    pool = cp.cuda.MemoryPool()
    memory = pool.malloc(100).mem
    assert (pool.used_bytes(), pool.n_free_blocks()) == (512, 0)
    memory.free()
    memory.free()
    assert (pool.used_bytes(), pool.n_free_blocks(), memory.ptr) == (0, 1, 0)
    del memory
    assert pool.n_free_blocks() == 1
    empty = pool.malloc(0).mem
    assert type(empty) is cp.cuda.Memory and empty.size == 0


def test_dlpack():
    a = cp.arange(4.0)
    for b in (cp.from_dlpack(a), cp.fromDlpack(a.toDlpack())):
        b[0] += 1
    assert a[0] == 2 and a.__dlpack_device__() == (2, 0)
    tensor = a.toDlpack()
    cp.fromDlpack(tensor)
    with pytest.raises(ValueError, match=r"multiple times"):
        cp.fromDlpack(tensor)
    with pytest.raises(TypeError, match=r"^CPU arrays cannot be directly imported to CuPy."):
        cp.from_dlpack(np.zeros(3))
    with pytest.raises((RuntimeError, BufferError, TypeError)):  # NumPy refuses a GPU's memory
        np.from_dlpack(a)


def test_the_device_says_what_it_is():
    device = cp.cuda.Device()
    assert repr(device) == "<CUDA Device 0>" and device == cp.cuda.Device(0) == cp.arange(3).device
    assert device.compute_capability == "75" and device.attributes["MaxThreadsPerBlock"] == 1024
    properties = cp.cuda.runtime.getDeviceProperties(0)
    assert b"stand-in" in properties["name"] and properties["warpSize"] == 32
    assert "clockRate" not in properties
    free, total = device.mem_info
    assert 0 < free <= total
    with cp.cuda.Device(0) as inside:
        inside.synchronize()
    with pytest.raises(
        cp.cuda.runtime.CUDARuntimeError, match=r"^cudaErrorInvalidDevice: invalid device ordinal$"
    ) as e:
        cp.cuda.Device(1).use()
    assert e.value.status == 101
    assert cp.cuda.runtime.getDeviceCount() == 1 and cp.cuda.is_available() and cp.is_available()
    # CUDA runtime API: without a driver, its version is 0.
    assert cp.cuda.runtime.driverGetVersion() == cp.cuda.runtime.runtimeGetVersion() == 0


def test_streams_and_events():
    assert repr(cp.cuda.Stream.null) == "<Stream 0 (device -1)>" and cp.cuda.Stream.ptds.ptr == 2
    with cp.cuda.Stream(non_blocking=True) as stream:
        assert cp.cuda.get_current_stream() is stream and stream.is_non_blocking and stream.done
    assert cp.cuda.get_current_stream() == cp.cuda.Stream.null == cp.cuda.Stream(null=True)
    start, end = cp.cuda.Event(), cp.cuda.Event()
    start.record()
    stream.record(end)
    stream.wait_event(end)
    end.synchronize()
    assert 0 <= cp.cuda.get_elapsed_time(start, end) < 1000
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match=r"^cudaErrorInvalidResourceHandle: "):
        cp.cuda.get_elapsed_time(start, cp.cuda.Event())
    with pytest.raises(ValueError, match=r"^Timing must be disabled for interprocess events$"):
        cp.cuda.Event(interprocess=True)
    heard = []
    stream.launch_host_func(heard.append, 1)
    stream.add_callback(lambda *arguments: heard.append(arguments), 2)
    assert heard == [1, (stream, 0, 2)]


def test_pinned_memory():
    host = cupyx.zeros_pinned((3, 4), dtype="f4")
    assert type(host) is np.ndarray and host.shape == (3, 4) and not host.any()
    assert cupyx.empty_like_pinned(cp.ones((2, 2), "i4")).dtype == np.int32
    buffer = cp.cuda.alloc_pinned_memory(800)
    array = np.frombuffer(buffer, np.float64, 100)
    array[:] = 3
    assert cp.asarray(array).sum() == 300 and buffer.ptr == array.ctypes.data
    cp.get_default_pinned_memory_pool().free_all_blocks()


# cupyx/profiler/_time.py
def test_benchmark_prints_cupys_line():
    def add():
        return cp.arange(10) + 1

    timings = profiler.benchmark(add, n_repeat=5, n_warmup=1)
    number = r" *\d+\.\d{3}"
    line = rf"add                 :    CPU: {number} us   \+/- {number} \(min: {number} / max: {number}\) us +GPU-0: .*"
    assert timings.cpu_times.shape == (5,) and timings.gpu_times.shape == (1, 5)
    assert re.fullmatch(line, str(timings)) and str(timings) == repr(timings)
    with pytest.raises(ValueError, match=r"^`args` should be of tuple type.$"):
        profiler.benchmark(add, [])
    with profiler.time_range("step"), profiler.profile():
        cp.cuda.nvtx.RangePush("x")
        cp.cuda.nvtx.RangePop()


def test_show_config_says_what_runs(capsys):
    cp.show_config()
    shown = capsys.readouterr().out
    assert "stand-in" in shown and "times are not a GPU's" in shown
