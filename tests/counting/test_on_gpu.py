"""Counting on a GPU, without one: traces in the format that PyTorch's profiler writes, and the profiler's place.

The events are written after pytorch/kineto's `libkineto/src/CuptiActivity.cpp` and `output_json.cpp`: a name, a
category, a time in µs, and CUPTI's numbers under "args". `RECORDED` was recorded on a GPU.
"""

import json
import math
import pickle
import sys
from collections import Counter
from types import ModuleType, SimpleNamespace

import pytest

from host_to_device.counting import Copies, count, on_gpu
from host_to_device.counting.numbers import NOT_KNOWN, Numbers
from host_to_device.counting.on_gpu import read
from host_to_device.counting.timelines import from_trace, timeline
from host_to_device.standins import events


def event(category, name, time, **arguments):
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 1,
        "tid": 2,
        "ts": time,
        "dur": 1,
        "args": arguments,
    }


def call(name, time, correlation):
    return event("cuda_runtime", name, time, cbid=1, correlation=correlation)


def copy(name, time, correlation, nbytes):
    return event("gpu_memcpy", f"Memcpy {name}", time, stream=7, correlation=correlation, bytes=nbytes)


def kernel(name, time, correlation):
    return event("kernel", name, time, stream=7, correlation=correlation, grid=[1, 1, 1], block=[128, 1, 1])


def sync(name, time, correlation):
    return event("cuda_sync", name, time, stream=7, correlation=correlation, cuda_sync_kind=name)


# x = torch.ones(1000).to("cuda"); y = (x * 2).sum(); y.item()
TRACE = [
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python"}},
    call("cudaMemcpyAsync", 10, 1),
    copy("HtoD (Pageable -> Device)", 12, 1, 4000),
    call("cudaStreamSynchronize", 14, 2),
    sync("Stream Sync", 14.5, 2),
    call("cudaLaunchKernel", 20, 3),
    kernel("vectorized_elementwise_kernel", 22, 3),
    call("cudaMemsetAsync", 24, 4),
    event("gpu_memset", "Memset (Device)", 25, stream=7, correlation=4, bytes=4),
    call("cudaLaunchKernel", 26, 5),
    kernel("reduce_kernel", 28, 5),
    call("cudaMemcpyAsync", 30, 6),
    copy("DtoH (Device -> Pageable)", 32, 6, 4),
    call("cudaStreamSynchronize", 34, 7),
    {"ph": "s", "id": 3, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 2, "ts": 20},
    event("overhead", "Activity Buffer Request", 1),
    call("cudaDeviceSynchronize", 90, 8),
    sync("Context Sync", 90.5, 8),
]


def test_a_trace_is_added_up():
    numbers = read(TRACE, own=1)
    assert (numbers.h2d, numbers.h2d_bytes, numbers.d2h, numbers.d2h_bytes) == (1, 4000, 1, 4)
    assert (numbers.d2d, numbers.waits, numbers.operations, numbers.launches) == (0, 2, 3, 2)
    assert numbers.by_name == {
        "vectorized_elementwise_kernel": 1,
        "Memset (Device)": 1,
        "reduce_kernel": 1,
    }


# cupy.asarray(numpy.ones(100)) on an NVIDIA H100, with CuPy 14.2.0 and PyTorch 2.11.0: CuPy asks whether the copy has
# ended, and CUPTI shows the answer as a synchronization. No call stops the host.
RECORDED = [
    call("cudaHostAlloc", 4849644070661.803, 1226),
    call("cudaMemcpyAsync", 4849644070745.526, 1228),
    call("cudaEventRecord", 4849644070795.996, 1230),
    call("cudaEventQuery", 4849644070808.123, 1231),
    sync("Event Sync", 4849644070808.719, 1231),
    call("cudaDeviceSynchronize", 4849644070906.5, 1234),
    sync("Context Sync", 4849644070909.497, 1234),
    copy("HtoD (Pinned -> Device)", 4849644070926.699, 1228, 800),
]


def test_asking_whether_work_has_ended_is_no_wait():
    numbers = read(RECORDED, own=1)
    assert (numbers.h2d, numbers.h2d_bytes, numbers.waits) == (1, 800, 0)
    assert [each.kind for each in from_trace(RECORDED, own=1)] == ["copy"]


def test_the_learners_own_synchronization_counts_and_the_profilers_does_not():
    assert read(TRACE).waits == 3
    mine = [call("cudaDeviceSynchronize", 50, 20), sync("Context Sync", 50.5, 20)]
    assert read([*TRACE, *mine], own=1).waits == 3
    assert read([*TRACE[::-1], *mine], own=1).waits == 3  # events come in any order


def test_a_trace_without_the_profilers_own_call_is_no_record_and_not_a_count_of_nothing():
    assert read([], own=1) == Numbers.of(dict.fromkeys(events.NAMES))
    assert read([kernel("add", 1, 1)], own=1).operations is None
    assert read([]) == Numbers(launches=0)


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("HtoD (Pinned -> Device)", "h2d"),
        ("DtoH (Device -> Pinned)", "d2h"),
        ("DtoD (Device -> Device)", "d2d"),
        ("PtoP (Device -> Device)", "d2d"),
    ],
)
def test_directions(name, direction):
    numbers = read([call("cudaMemcpyAsync", 1, 1), copy(name, 2, 1, 64)])
    assert (getattr(numbers, direction), getattr(numbers, f"{direction}_bytes"), numbers.waits) == (1, 64, 0)


def test_copies_within_the_host_are_none():
    numbers = read([copy("HtoH (Pageable -> Pinned)", 2, 1, 64)])
    assert numbers == Numbers(launches=0)


def test_a_blocking_copy_is_a_wait_but_on_the_device():
    trace = [call("cudaMemcpy", 1, 1), copy("DtoH (Device -> Pageable)", 2, 1, 64)]
    assert read(trace).waits == 1
    trace = [call("cudaMemcpy", 1, 1), copy("DtoD (Device -> Device)", 2, 1, 64)]
    assert read(trace).waits == 0


def test_what_numba_does_is_the_drivers():
    trace = [
        copy("HtoD (Pageable -> Device)", 1, 1, 64),
        event("cuda_driver", "cuLaunchKernel", 2, cbid=307, correlation=2),
        kernel("add", 3, 2),
        copy("DtoH (Device -> Pageable)", 4, 3, 64),
        sync("Context Sync", 5, 4),
        sync("Stream Wait Event", 6, 5),
    ]
    numbers = read(trace)
    assert (numbers.h2d, numbers.d2h, numbers.waits) == (1, 1, 3)
    assert (numbers.launches, numbers.operations) == (1, 1)


def test_one_launch_that_both_interfaces_show_is_one():
    trace = [
        call("cudaLaunchKernelExC", 1, 1),
        event("cuda_driver", "cuLaunchKernelEx", 2, cbid=652, correlation=1),
        kernel("gemm", 3, 1),
        call("cudaGraphLaunch", 4, 2),
        kernel("first", 5, 2),
        kernel("second", 6, 2),
    ]
    numbers = read(trace)
    assert (numbers.launches, numbers.operations) == (2, 3)


def test_events_without_correlation_are_told_apart():
    trace = [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "ts": time} for time in (1, 2)
    ]
    assert read(trace).waits == 2


# The profiler's place


class FakeSession:
    """A stretch in which `happened` operations are done, as many waits, and an allocation."""

    happened = 0

    def __init__(self):
        self.before = FakeSession.happened

    def end(self):
        done = FakeSession.happened - self.before
        return Numbers(
            operations=done,
            waits=done,
            launches=done,
            allocations=1,
            by_name=Counter(add=done),
            missing=("Something is missing.",),
        )


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(on_gpu, "Session", FakeSession)
    monkeypatch.setattr(on_gpu, "name", lambda: "GPU NVIDIA H200, by CUPTI")
    monkeypatch.setattr(FakeSession, "happened", 0)
    yield
    assert not on_gpu._active and on_gpu._session is None


def work(times):
    FakeSession.happened += times


@pytest.mark.usefixtures("gpu")
def test_on_a_gpu_the_numbers_come_at_the_end():
    with count() as c:
        work(2)
        events.operated("add")  # a stand-in's, which is not asked here
        assert c.operations == 0
    assert (c.operations, c.waits, c.launches) == (2, 2, 2)
    assert c.where == "GPU NVIDIA H200, by CUPTI" and c.operations_by_name == {"add": 2}
    lines = str(c).splitlines()
    assert lines[0] == "Counted on: GPU NVIDIA H200, by CUPTI"
    assert lines[-2].split() == ["launches", "2"] and lines[-1] == "Something is missing."
    assert c.waits_by_line == () and str(c.show_waits()) == on_gpu.NO_LINES


@pytest.mark.usefixtures("gpu")
def test_blocks_within_blocks_add_up_their_stretches():
    with count() as outer:
        work(1)
        with count() as inner:
            work(10)
        work(100)
        with pytest.raises(ZeroDivisionError), count() as failed:
            work(1000)
            _ = 1 / 0
    assert (outer.operations, inner.operations, failed.operations) == (1111, 10, 1000)
    assert outer.operations_by_name == {"add": 1111}


@pytest.mark.usefixtures("gpu")
def test_blocks_that_overlap_on_a_gpu():
    first, second = count(), count()
    first.__enter__()
    work(1)
    second.__enter__()
    work(10)
    first.__exit__(None, None, None)
    work(100)
    second.__exit__(None, None, None)
    assert (first.operations, second.operations) == (11, 110)


def test_a_profiler_that_does_not_start_leaves_the_count_as_it_was(monkeypatch):
    def refuse():
        raise RuntimeError("the profiler is in use")

    monkeypatch.setattr(on_gpu, "name", lambda: "GPU, by CUPTI")
    monkeypatch.setattr(on_gpu, "Session", refuse)
    c = count()
    with pytest.raises(RuntimeError, match="in use"), c:
        pass
    monkeypatch.setattr(on_gpu, "name", lambda: None)
    with c:
        events.operated("add")
    assert c.operations == 1 and c.where == "stand-in"


# A session, with a PyTorch that only has the names used


class FakeProfile:
    def __init__(self, activities, experimental_config):
        assert activities == ["CUDA"] and experimental_config == {"enable_cuda_sync_events": True}
        self.entered = self.left = False

    def __enter__(self):
        self.entered = True

    def __exit__(self, *_):
        self.left = True

    def export_chrome_trace(self, path):
        assert self.entered and self.left
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": TRACE}, file)


@pytest.fixture
def torch(monkeypatch):
    statistics = iter([100, 40, 103, 44])  # of both devices, before and after
    fake = ModuleType("torch")
    fake.cuda = SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: True,
        device_count=lambda: 2,
        memory_stats=lambda device: {"allocation.all.allocated": next(statistics)},
        get_device_name=lambda: "NVIDIA H200",
    )
    fake.profiler = SimpleNamespace(profile=FakeProfile, ProfilerActivity=SimpleNamespace(CUDA="CUDA"))
    fake._C = SimpleNamespace(_profiler=SimpleNamespace(_ExperimentalConfig=dict))
    monkeypatch.setitem(sys.modules, "torch", fake)
    for name in ("cupy", "numba.cuda"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(on_gpu.machine, "chosen", "gpu")
    return fake


@pytest.mark.usefixtures("torch")
def test_a_session_reads_trace_and_statistics():
    with count() as c:
        pass
    assert c.where == "GPU NVIDIA H200, by CUPTI"
    assert (c.host_to_device, c.device_to_host) == (Copies(1, 4000), Copies(1, 4))
    assert (c.waits, c.operations, c.launches, c.allocations) == (2, 3, 2, 7)


@pytest.mark.usefixtures("torch")
def test_a_copy_within_the_device_is_work_of_the_device(monkeypatch):
    within = [call("cudaMemcpyAsync", 10, 1), copy("DtoD (Device -> Device)", 12, 1, 4000), *TRACE[-2:]]
    monkeypatch.setattr(on_gpu.Session, "_of_torch", lambda _: 0)  # nothing was allocated
    monkeypatch.setattr(sys.modules[__name__], "TRACE", within)
    with count() as c:
        pass
    assert c.places == ("GPU",)


@pytest.mark.usefixtures("torch")
def test_numba_imported_inside_the_block_is_said_to_be_missing(monkeypatch, capsys):
    monkeypatch.setattr(on_gpu, "_said", set())
    for name in ("numba.cuda.cudadrv.driver", "numba.cuda.dispatcher"):
        monkeypatch.delitem(sys.modules, name, raising=False)  # another test may have imported the real ones
    with count() as c:
        monkeypatch.setitem(sys.modules, "numba.cuda.cudadrv.driver", ModuleType("driver"))
        monkeypatch.setitem(sys.modules, "numba.cuda.dispatcher", ModuleType("dispatcher"))
    assert str(c).splitlines()[-1] == on_gpu.OF_NUMBA
    assert capsys.readouterr().out == on_gpu.OF_NUMBA + "\n"


@pytest.mark.usefixtures("torch")
def test_a_profiler_that_recorded_nothing_does_not_count_nothing(monkeypatch, capsys):
    monkeypatch.setattr(on_gpu, "_said", set())
    monkeypatch.setattr(sys.modules[__name__], "TRACE", [])
    with count() as c:
        pass
    assert c.operations is NOT_KNOWN and c.waits is NOT_KNOWN and c.as_dict()["waits"] is None
    assert c.allocations == 7
    on_gpu.say_once([on_gpu.NO_RECORDS])
    assert capsys.readouterr().out == on_gpu.NO_RECORDS + "\n", "once, not with every count"


class MemoryHook:
    """As `cupy.cuda.memory_hook.MemoryHook`: a `with` block within which its methods are called."""

    active = None

    def __enter__(self):
        MemoryHook.active = self
        return self

    def __exit__(self, *_):
        MemoryHook.active = None


@pytest.fixture
def cupy(monkeypatch):
    module, cuda = ModuleType("cupy"), ModuleType("cupy.cuda")
    module.cuda, cuda.memory_hook = cuda, SimpleNamespace(MemoryHook=MemoryHook)
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)


@pytest.mark.usefixtures("cupy")
def test_a_start_that_is_interrupted_leaves_no_hook_behind(monkeypatch, torch):
    torch.cuda.memory_stats = lambda device: {}

    def interrupted(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FakeProfile, "__enter__", interrupted)
        with pytest.raises(KeyboardInterrupt), count():
            pass
    assert MemoryHook.active is None and on_gpu._session is None
    with count() as c:
        pass
    assert c.operations == 3


def test_a_first_count_in_a_time_limit_has_to_begin_outside_of_it(monkeypatch, torch):
    torch.cuda.memory_stats = lambda device: {}
    monkeypatch.setattr(on_gpu, "_ready", False)
    monkeypatch.setattr(on_gpu, "is_chosen", lambda: True)
    with on_gpu.in_time_limit():
        for begin in (count(), timeline()):
            with pytest.raises(on_gpu.NotReady), begin:
                pass
    on_gpu.get_ready()
    with on_gpu.in_time_limit(), count() as c:
        pass
    assert c.operations == 3


@pytest.mark.usefixtures("torch", "cupy")
def test_cupys_allocations_are_added():
    with count() as c:
        for _ in range(5):
            MemoryHook.active.malloc_preprocess(device_id=0, size=8, mem_size=512)
    assert c.allocations == 12 and MemoryHook.active is None


@pytest.mark.usefixtures("cupy")
def test_without_pytorch_one_line_says_what_is_not_known(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(on_gpu.machine, "chosen", "gpu")
    monkeypatch.setattr(on_gpu, "_said", set())
    with count() as c:
        MemoryHook.active.malloc_preprocess(device_id=0, size=8, mem_size=512)
        with count() as inner:
            pass
    assert c.where == inner.where == "GPU, without CUPTI"
    assert (c.allocations, inner.allocations) == (1, 0)
    assert c.waits is NOT_KNOWN and c.host_to_device == Copies(NOT_KNOWN, NOT_KNOWN)
    assert c.as_dict()["waits"] is None and c.places == ("GPU",) and inner.places == ()
    lines = str(c).splitlines()
    assert lines[2].split() == ["copies,", "host", "to", "device", "not", "known"]
    assert lines[-1] == on_gpu.without_cupti()
    assert "and PyTorch is not installed. Install PyTorch for CUDA" in lines[-1]
    assert capsys.readouterr().out == lines[-1] + "\n"


def pytorch(version, cuda):
    return SimpleNamespace(
        __version__=version,
        version=SimpleNamespace(cuda=cuda),
        cuda=SimpleNamespace(is_available=lambda: False),
    )


@pytest.mark.usefixtures("cupy")
def test_the_line_tells_a_pytorch_for_the_cpu_from_one_that_finds_no_gpu(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", pytorch("2.13.0+cpu", None))
    assert "and PyTorch 2.13.0+cpu is built without CUDA. Install" in on_gpu.without_cupti()
    monkeypatch.setitem(sys.modules, "torch", pytorch("2.13.0", "13.0"))
    assert "and PyTorch 2.13.0, built for CUDA 13.0, finds no GPU. Install" in on_gpu.without_cupti()


def test_without_cupti_pytorchs_stand_in_and_numba_are_counted_as_long_as_cupy_is_not_used(monkeypatch):
    sums = Counter(dict.fromkeys(events.NAMES, 0))
    monkeypatch.setitem(sys.modules, "torch", pytorch("2.13.0+cpu", None))
    monkeypatch.setattr(on_gpu, "torch_stand_in", lambda: SimpleNamespace(counters=lambda: dict(sums)))
    for name in ("cupy", "numba.cuda.cudadrv.driver"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(on_gpu.machine, "chosen", "gpu")
    with count() as c:
        sums.update(operations=3, waits=1, d2h=1, d2h_bytes=4)
    assert (c.operations, c.waits, c.device_to_host, c.allocations) == (3, 1, Copies(1, 4), 0)
    assert c.places == ("stand-in",) and c.operations_by_name == {"PyTorch": 3}


def test_a_lesson_goes_on_with_a_number_that_is_not_known():
    waits = NOT_KNOWN
    copies = NOT_KNOWN + 3
    copies += 2 * waits
    assert (
        copies is NOT_KNOWN and waits / 7 is NOT_KNOWN and 1 - waits is NOT_KNOWN and sum([waits, 1]) is waits
    )
    assert str(waits) == f"{waits}" == "not known" and waits is not None and not waits
    assert (f"{waits:6}", f"{waits:10,}", f"{waits!s:>10}") == ("     ?", "         ?", " not known")
    assert waits != 0 and not waits < 1 and not waits > 1 and min(3, 4, key=lambda _: waits) == 3
    assert math.isnan(math.sqrt(2 * waits)) and pickle.loads(pickle.dumps(waits)) + 1 is not None


def test_a_gpu_that_pytorch_has_is_used_without_start(monkeypatch):
    monkeypatch.setattr(on_gpu.machine, "chosen", None)
    monkeypatch.delenv("H2D_MACHINE", raising=False)
    monkeypatch.setitem(
        sys.modules, "torch", SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: True))
    )
    assert on_gpu.is_chosen()
    monkeypatch.setenv("H2D_MACHINE", "stand-in")
    assert not on_gpu.is_chosen()
