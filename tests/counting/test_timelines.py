"""`h2d.timeline()`: the order of what was asked, the drawing's rule, and a trace in the profiler's format."""

import itertools
import json
import re
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import host_to_device as h2d
from host_to_device.counting import on_gpu, timelines
from host_to_device.counting.timelines import Event, from_trace, schedule
from host_to_device.standins import events


def kinds(timeline):
    return [(event.kind, event.name, event.nbytes) for event in timeline.events]


def one_of_each():
    events.copied("h2d", 100)
    events.waited("copy to the device")
    events.operated("add")
    events.copied("d2h", 4)
    events.waited("copy to the host")


ONE_OF_EACH = [
    ("copy", "host to device", 100),
    ("wait", "copy to the device", 0),
    ("operation", "add", 0),
    ("copy", "device to host", 4),
    ("wait", "copy to the host", 0),
]


# --- Recording -------------------------------------------------------------------------------------------------


def test_events_stand_in_their_order_and_name_the_readers_line():
    with h2d.timeline() as t:
        one_of_each()
    assert kinds(t) == ONE_OF_EACH and t.where == "stand-in" and not t.is_on_gpu
    assert {event.file for event in t.events} == {__file__}
    assert t.events[2].code == 'events.operated("add")' and t.events[2].place.startswith(
        "test_timelines.py, line "
    )


def test_outside_the_block_nothing_is_recorded_or_kept():
    one_of_each()
    with h2d.timeline() as t:
        pass
    one_of_each()
    assert not t.events and events.in_order is None and not events.listening
    assert t.summary() == "The device got no work."


def test_an_error_in_the_block_goes_on_and_recording_ends():
    with pytest.raises(ZeroDivisionError), h2d.timeline() as t:
        one_of_each()
        1 / 0  # noqa: B018
    assert kinds(t) == ONE_OF_EACH and events.in_order is None and not events.listening


def test_entered_again_it_begins_again():
    t = h2d.timeline()
    for _ in range(2):
        with t:
            one_of_each()
    assert kinds(t) == ONE_OF_EACH


def test_one_within_another_is_refused_and_the_outer_one_stays_whole():
    with h2d.timeline() as outer:
        with pytest.raises(RuntimeError, match="already"), h2d.timeline():
            pass
        one_of_each()
    assert kinds(outer) == ONE_OF_EACH


def test_a_count_beside_it_counts_the_same():
    with h2d.count() as c, h2d.timeline() as t:
        one_of_each()
    assert (c.operations, c.waits) == (len(t.of("operation")), len(t.of("wait"))) == (1, 2)
    with h2d.count() as after:
        one_of_each()
    assert after == c


def test_copies_of_nothing_are_left_out_as_a_count_leaves_them_out():
    with h2d.timeline() as t:
        events.copied("h2d", 0)
    assert not t.events


def test_other_threads_are_recorded_too():
    with h2d.timeline() as t:
        thread = threading.Thread(target=one_of_each)
        thread.start()
        thread.join()
    assert kinds(t) == ONE_OF_EACH


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind is 'kernel': give one of"):
        h2d.timeline().of("kernel")


# --- The libraries ---------------------------------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch):
    monkeypatch.setenv("H2D_MACHINE", "stand-in")
    h2d.start()
    yield
    h2d.stop()


def test_numba_and_cupy_are_told_apart(started):
    import cupy as cp
    from numba import cuda

    with h2d.timeline() as t:
        d_x = cuda.to_device(np.ones(8, dtype=np.float32))
        total = float(cp.asarray([1.0, 2.0]).sum())
        d_x.copy_to_host()
    assert total == 3
    assert [event.library for event in t.of("copy")] == ["Numba", "CuPy", "CuPy", "Numba"]
    assert [(event.name, event.library) for event in t.of("operation")] == [("sum", "CuPy")]


@pytest.fixture
def device(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("H2D_MACHINE", "stand-in")
    try:
        return h2d.device()
    except h2d.SetUpError as problem:
        pytest.skip(str(problem))


def training_step(device):
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x):
        optimizer.zero_grad()
        loss = model(x.to(device)).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def test_a_training_step_has_as_many_events_as_a_count_and_the_same_result(device):
    import torch

    x = torch.ones(4, 6)
    with h2d.count() as c:
        loss = training_step(device)(x)
    with h2d.timeline() as t:
        watched = training_step(device)(x)
    assert watched == loss
    copies = (c.host_to_device, c.device_to_host, c.device_to_device)
    assert len(t.of("operation")) == c.operations and len(t.of("wait")) == c.waits
    assert len(t.of("copy")) == sum(each.count for each in copies)
    assert sum(event.nbytes for event in t.of("copy")) == sum(each.bytes for each in copies)
    assert {event.library for event in t.events} == {"PyTorch"}


def test_pytorchs_operations_have_their_names_and_item_copies_before_it_waits(device):
    import torch

    x = torch.ones(3, 3, device=device)
    with h2d.timeline() as t:
        (x @ x).sum().item()
    assert kinds(t) == [
        ("operation", "mm", 0),
        ("operation", "sum", 0),
        ("copy", "device to host", 4),
        ("wait", "item", 0),
    ]


def test_what_pytorch_does_unwatched_to_print_is_recorded_without_names(device, capsys):
    import torch

    x = torch.arange(6.0, device=device)
    with h2d.count() as c:
        print(x)
    with h2d.timeline() as t:
        y = x * 2
        print(x)
        y.sum().item()
    operations = [event.name for event in t.of("operation")]
    assert operations == ["mul", *["unnamed"] * c.operations, "sum"]
    assert len(t.of("copy")) == len(t.of("wait")) == c.waits + 1
    order = [event.kind for event in t.events]
    assert order[-3:] == ["operation", "copy", "wait"] and t.idle > c.waits / 2
    assert {event.code for event in t.events if event.name == "unnamed"} == {"print(x)"}


def test_pytorch_is_watched_only_while_it_records(device):
    import torch
    from torch.utils._python_dispatch import _get_current_dispatch_mode

    with h2d.timeline():
        assert _get_current_dispatch_mode() is not None
    assert _get_current_dispatch_mode() is None
    assert torch.ones(2, device=device).sum().item() == 2


# --- The drawing's rule ----------------------------------------------------------------------------------------


def lanes(bars):
    return [(bar.lane, bar.begin, bar.end, bar.number) for bar in bars]


def test_the_host_runs_ahead_until_it_waits():
    order = [Event("operation", "a"), Event("operation", "b"), Event("operation", "c"), Event("wait", "w")]
    assert lanes(schedule(order)) == [
        *(("host", 0, 1, 1), ("device", 1, 3, 1)),
        *(("host", 1, 2, 2), ("device", 3, 5, 2)),
        *(("host", 2, 3, 3), ("device", 5, 7, 3)),
        ("host", 3, 8, 4),
    ]


def test_a_wait_after_each_leaves_the_device_idle_in_between():
    each = [Event("operation", "a"), Event("wait", "w")]
    t = h2d.timeline()
    t.where, t.events = "stand-in", tuple(each * 3)
    assert t.idle == 2
    t.events = tuple([each[0]] * 3 + each[1:])
    assert t.idle == 0


def test_what_is_asked_of_one_stream_never_overlaps():
    rng = np.random.default_rng(3)
    for _ in range(50):
        order = [Event(str(kind), "x") for kind in rng.choice(timelines.KINDS, size=30)]
        bars = schedule(order)
        for group in (("host",), ("device", "copies")):
            on = sorted((bar.begin, bar.end) for bar in bars if bar.lane in group)
            assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(on))
        asked = {bar.number: bar.end for bar in bars if bar.lane == "host"}
        assert all(bar.begin >= asked[bar.number] for bar in bars if bar.lane != "host")


# --- The picture -----------------------------------------------------------------------------------------------


def test_the_picture_says_that_it_has_no_times_and_what_it_shows():
    with h2d.timeline() as t:
        one_of_each()
    html = t.html()
    assert "order, no times: widths are drawn, not measured" in html
    assert 'role="img"' in html and re.search(r'aria-label="[^"]{40,}"', html)
    assert "1 copy, host to device, 100 bytes" in t.alt() and "device is idle" in t.alt()
    assert html.count("<rect") == 3 * 2 + 2
    assert "waits" in str(t) or "wait" in str(t)


def test_a_long_timeline_is_cut_and_says_so():
    with h2d.timeline() as t:
        for _ in range(30):
            one_of_each()
    assert "The picture shows the first 40 of 150." in t.html()
    assert str(t).endswith("and 110 more")


# --- A trace ---------------------------------------------------------------------------------------------------


def event(category, name, begin, took, **arguments):
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 1,
        "tid": 2,
        "ts": begin,
        "dur": took,
        "args": arguments,
    }


# y = x @ x, and y.sum().item(): after libkineto's output_json.cpp and CuptiActivity.cpp; times in µs. The host asks
# for two kernels within 12 µs, and waits from 26 to 61 for a copy that follows them.
TRACE = [
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python"}},
    event("cuda_runtime", "cudaLaunchKernel", 100, 5, correlation=1),
    event("cuda_driver", "cuLaunchKernel", 101, 3, correlation=1),
    event("cuda_runtime", "cudaLaunchKernel", 107, 5, correlation=2),
    event("kernel", "gemm", 109, 40, correlation=1, stream=7),
    event("cuda_runtime", "cudaMemcpyAsync", 114, 6, correlation=3),
    event("cuda_runtime", "cudaStreamSynchronize", 126, 35, correlation=4),
    event("kernel", "reduce", 149, 6, correlation=2, stream=7),
    event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 157, 2, correlation=3, stream=7, bytes=4),
    event("cuda_sync", "Stream Sync", 126, 35, correlation=4),
    {"ph": "s", "id": 1, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 2, "ts": 100},
    event("cuda_runtime", "cudaDeviceSynchronize", 400, 2, correlation=9),
]


def test_a_trace_becomes_events_with_their_times():
    found = from_trace(TRACE, own=1)
    assert [(each.kind, each.name) for each in found] == [
        ("operation", "gemm"),
        ("operation", "reduce"),
        ("copy", "device to host"),
        ("wait", "cudaStreamSynchronize"),
    ]
    assert found[0].asked == pytest.approx((0, 5e-6)) and found[0].ran == pytest.approx((9e-6, 49e-6))
    assert found[2].nbytes == 4 and found[2].ran == pytest.approx((57e-6, 59e-6))
    assert found[3].asked == pytest.approx((26e-6, 61e-6)) and found[3].ran is None


def test_the_profilers_own_wait_is_left_out_and_the_readers_stays():
    assert len(from_trace(TRACE, own=0)) == len(from_trace(TRACE, own=1)) + 1
    assert from_trace([]) == ()


# kernel[grid, block](x) with a host array, and cuda.synchronize(), by numba-cuda 0.30: it calls the driver, of which the
# trace has launches and, where it was asked for, synchronization. The wait for the default stream, which follows the copy
# to the host, has nothing to wait for.
OF_NUMBA = [
    event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 10, 4, correlation=1, bytes=64),
    event("cuda_driver", "cuLaunchKernel", 20, 5, correlation=2),
    event("kernel", "add", 24, 3, correlation=2),
    event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 30, 4, correlation=3, bytes=64),
    event("cuda_sync", "Stream Sync", 40, 1, correlation=4),
    event("cuda_sync", "Context Sync", 50, 1, correlation=5),
    event("cuda_sync", "Stream Sync", 60, 1, correlation=6),
    event("cuda_sync", "Stream Wait Event", 70, 1, correlation=7),
    event("cuda_runtime", "cudaDeviceSynchronize", 400, 2, correlation=9),
    event("cuda_sync", "Context Sync", 400, 2, correlation=9),
]


def test_numbas_waits_are_in_the_timeline():
    found = from_trace(OF_NUMBA, own=1)
    assert [(each.kind, each.name) for each in found] == [
        ("copy", "host to device"),
        ("wait", "copy to the device"),
        ("operation", "add"),
        ("copy", "device to host"),
        ("wait", "copy to the host"),
        ("wait", "Context Sync"),
        ("wait", "Stream Sync"),
    ]


def test_the_profiler_is_asked_for_the_drivers_synchronization(monkeypatch, tmp_path):
    class Profile:
        def __init__(self, activities, experimental_config):
            assert activities == ["CUDA"] and experimental_config == {"enable_cuda_sync_events": True}

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def export_chrome_trace(self, path):
            Path(path).write_text(json.dumps({"traceEvents": OF_NUMBA}), encoding="utf-8")

    torch = SimpleNamespace(
        profiler=SimpleNamespace(profile=Profile, ProfilerActivity=SimpleNamespace(CUDA="CUDA")),
        _C=SimpleNamespace(_profiler=SimpleNamespace(_ExperimentalConfig=dict)),
    )
    monkeypatch.setattr(on_gpu, "torch_with_gpu", lambda: torch)
    monkeypatch.setattr(on_gpu, "name", lambda: "GPU of the test, by CUPTI")
    with h2d.timeline(tmp_path / "trace.json") as t:
        pass
    assert len(t.of("wait")) == 4 and (tmp_path / "trace.json").exists()


def test_without_cupti_nothing_of_cupy_is_recorded_and_one_line_says_why(monkeypatch, capsys):
    torch = SimpleNamespace(__version__="2.13.0+cpu", version=SimpleNamespace(cuda=None))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(on_gpu, "torch_stand_in", lambda: None)
    monkeypatch.setattr(on_gpu, "torch_with_gpu", lambda: None)
    monkeypatch.setattr(on_gpu, "name", lambda: "GPU, without CUPTI")
    monkeypatch.setattr(on_gpu, "uses_numba", lambda: False)
    monkeypatch.setattr(on_gpu, "_said", set())
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    for _ in range(2):
        with h2d.timeline() as t:
            pass
    assert t.where == "GPU, without CUPTI" and not t.events and "no work" not in t.html() + str(t)
    line = t.missing
    assert line.startswith("The timeline has no times, and nothing of CuPy: ")
    assert "PyTorch 2.13.0+cpu is built without CUDA. Install PyTorch for CUDA" in line
    assert capsys.readouterr().out == f"{line}\n" and line in str(t) and line in t.html()


def test_beside_a_gpu_a_pytorch_without_cuda_is_recorded_on_its_stand_in(monkeypatch):
    device = SimpleNamespace(counters=lambda: dict.fromkeys(events.NAMES, 0), on_wait=lambda _: None)
    monkeypatch.setattr(on_gpu, "torch_stand_in", lambda: device)
    monkeypatch.setattr(on_gpu, "torch_with_gpu", lambda: None)
    monkeypatch.setattr(on_gpu, "name", lambda: "GPU, without CUPTI")
    monkeypatch.setattr(events, "_followed", {})
    with h2d.timeline() as t:
        events.operated("add")
    assert t.where == "stand-in" and [each.name for each in t.events] == ["add"]


def test_the_order_of_the_trace_does_not_matter():
    assert from_trace(TRACE[::-1], own=1) == from_trace(TRACE, own=1)


def test_a_gpus_timeline_is_drawn_in_its_times():
    t = h2d.timeline()
    t.where, t.events = "GPU of the test, by CUPTI", from_trace(TRACE, own=1)
    assert t.is_on_gpu and t.idle == 0  # from 155 to 157: kernels never touch
    t.events = from_trace([{**each, "ts": each.get("ts", 0) * 10} for each in TRACE], own=1)
    assert t.idle == 2  # as long as before, and ten times as far apart
    t.events = from_trace(TRACE, own=1)
    html = t.html()
    assert "times by the profiler" in html and "not measured" not in html
    assert ">61.0 µs</text>" in html
    assert '<th scope="col" style="text-align: left">device</th>' in html
    assert ">9.00 µs to 49.0 µs</td>" in html and ">26.0 µs to 61.0 µs</td>" in html  # gemm, and the wait
    assert "9.00 µs to 49.0 µs" in str(t)


def test_on_a_gpu_the_lists_have_short_names_and_no_empty_column():
    name = "void at::native::fill<4, std::array<char*, 1ul> >(int, std::array<char*, 1ul>)"
    t = h2d.timeline()
    t.where = "GPU of the test, by CUPTI"
    t.events = from_trace([{**each, "name": name} if each.get("name") == "gemm" else each for each in TRACE])
    assert t.events[0].name == name and t.events[0].text == "fill"
    assert t.table().header == ("", "kind", "what", "host", "device")
    assert "at::native" not in str(t) and "at::native" not in t.alt()
    html = t.html()
    assert "caused by" not in html and html.count('<th scope="col"') == 5
    assert html.count("at::native") == 1 and ">fill</td>" in html
    assert (
        'title="void at::native::fill&lt;4, std::array&lt;char*, 1ul&gt; &gt;(int, std::array&lt;char*, 1ul&gt;)"'
        in html
    )


def test_the_device_is_idle_once_or_several_times():
    with h2d.timeline() as t:
        one_of_each()
    assert t.idle == 1 and t.summary().endswith("Between them the device is idle once.")
    with h2d.timeline() as t:
        one_of_each()
        one_of_each()
    assert t.idle == 3 and t.summary().endswith("Between them the device is idle 3 times.")


def test_without_times_no_table_has_a_column_for_them():
    with h2d.timeline() as t:
        one_of_each()
    assert t.table().header == ("", "kind", "what", "caused by")
    assert t.html().count('<th scope="col"') == 4


def test_recording_does_not_load_pytorch():
    import subprocess

    code = (
        "import sys, host_to_device as h2d\n"
        "with h2d.timeline() as t: pass\n"
        "print([m for m in ('torch', 'numba', 'cupy', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
