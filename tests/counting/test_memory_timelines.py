"""`h2d.memory_timeline()`: what was allocated, by which line, the peak and refused allocations, and the picture of it."""

import gc
import random
import re
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

import host_to_device as h2d
from host_to_device.counting import memory_recording
from host_to_device.counting.memory_history import BEFORE, Change, History, State
from host_to_device.counting.memory_recording import BackwardPasses, OnGpu, from_history
from host_to_device.standins import events

KIB, MIB = 2**10, 2**20


def line_of(words):
    """Return the number of the only line of this file that begins with these words."""
    with open(__file__, encoding="utf-8") as file:
        found = [number for number, line in enumerate(file, 1) if line.strip().startswith(words)]
    assert len(found) == 1, words
    return found[0]


# --- The history -----------------------------------------------------------------------------------------------


def allocation(key, nbytes, line=1, pool="p", held=None):
    return Change("allocation", pool, key, nbytes, held, "CuPy", "a.py", line)


def free(key, pool="p"):
    return Change("free", pool, key, 0, None, "CuPy")


def test_the_peak_is_the_first_of_the_highest_moments_with_what_was_alive():
    history = History(State())
    history.add([allocation(1, 30, 1), allocation(2, 50, 2), free(1), allocation(3, 30, 3), free(2), free(3)])
    end = history.finish()
    assert history.peak == 80 and history.peak_number == 1 and history.peak_change.line == 2
    assert [(each.nbytes, each.line) for each in history.at_peak] == [(50, 2), (30, 1)]
    assert end.allocated == 0 and end.by_line() == ()
    assert [(each.nbytes, each.blocks, each.line) for each in history.by_line()] == [
        (50, 1, 2),
        (30, 1, 1),
        (30, 1, 3),
    ]


def test_older_memory_counts_in_the_peak_and_may_be_freed():
    history = History(State({"p": 100}, {"p": 200}))
    freed = Change("free", "p", "older", 60, None, "CuPy")
    history.add([allocation(1, 30), freed, allocation(2, 10)])
    end = history.finish()
    assert history.peak == 130 and history.peak_reserved == 200
    assert [(each.nbytes, each.place) for each in history.at_peak] == [(100, BEFORE), (30, "a.py, line 1")]
    assert end.allocated == 80 and [event.nbytes for event in history.events()] == [30, -60, 10]


def test_a_free_of_what_nobody_has_seen_frees_nothing():
    history = History(State())
    history.add([Change("free", "p", 7, 60, None, "CuPy"), allocation(1, 5)])
    assert history.finish().allocated == history.peak == 5


def test_without_changes_the_peak_is_what_there_was():
    history = History(State({"p": 100}))
    history.finish()
    assert history.peak == 100 and history.peak_change is None and history.at_peak[0].place == BEFORE


def test_pools_hold_more_than_is_allocated_and_give_it_back():
    history = History(State())
    history.add([allocation(1, 10, held=512), allocation(2, 20, pool=None), free(1)])
    history.add([Change("released", "p", None, 0, 0, "CuPy")])
    history.finish()
    assert [(event.allocated, event.reserved) for event in history.events()] == [
        (10, 512),
        (30, 532),
        (20, 532),
        (20, 20),
    ]


@pytest.mark.parametrize("seed", range(5))
def test_what_is_folded_changes_neither_peak_nor_sums(seed):
    chosen, alive, changes = random.Random(seed), [], []
    for key in range(600):
        if alive and chosen.random() < 0.48:
            changes.append(free(alive.pop(chosen.randrange(len(alive)))))
        else:
            changes.append(allocation(key, chosen.randrange(1, 100), line=chosen.randrange(1, 9)))
            alive.append(key)
        if chosen.random() < 0.02:
            changes.append(Change("refused", None, None, 1000, None, "CuPy", "a.py", 5))
    whole, folded = History(State({"p": 7})), History(State({"p": 7}), kept=50)
    whole.add(changes)
    for start in range(0, len(changes), 30):
        folded.add(changes[start : start + 30])
    assert whole.finish().by_line() == folded.finish().by_line()
    for name in ("peak", "at_peak", "peak_number", "peak_change", "refusals"):
        assert getattr(whole, name) == getattr(folded, name), name
    assert whole.by_line() == folded.by_line()
    assert len(folded.changes) == 50 and folded.left_out == len(changes) - 50
    assert whole.events()[-50:] == folded.events()


# --- The stand-ins ---------------------------------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch):
    monkeypatch.setenv("H2D_MACHINE", "stand-in")
    h2d.start()
    gc.collect()
    yield
    h2d.stop()


@pytest.fixture
def cupy(started):
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    yield cupy
    cupy.get_default_memory_pool().set_limit(0)


@pytest.fixture
def torch(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("H2D_MACHINE", "stand-in")
    try:
        h2d.device()
    except h2d.SetUpError as problem:
        pytest.skip(str(problem))
    gc.collect()
    torch.standin.empty_cache()
    if "host_to_device.standins.cupy" in sys.modules:  # other tests' blocks
        sys.modules["host_to_device.standins.cupy"].get_default_memory_pool().free_all_blocks()
    yield torch
    torch.standin.set_per_process_memory_fraction(1.0)


def limited(torch, nbytes, device=0):
    """Let PyTorch's device have this many bytes more than it has reserved."""
    total = torch.standin.mem_get_info(device)[1]
    fraction = (torch.standin.memory_reserved(device) + nbytes) / total
    torch.standin.set_per_process_memory_fraction(fraction, device)


def sizes(timeline):
    return [(event.kind, event.nbytes, event.library) for event in timeline.events]


def test_cupy_blocks_with_their_lines(cupy):
    before = cupy.get_default_memory_pool().used_bytes()
    with h2d.memory_timeline() as t:
        x = cupy.zeros(1000)
        y = x * 2
        del x
    assert sizes(t) == [("allocation", 8192, "CuPy"), ("allocation", 8192, "CuPy"), ("free", -8192, "CuPy")]
    assert [event.code for event in t.events] == ["x = cupy.zeros(1000)", "y = x * 2", "x = cupy.zeros(1000)"]
    assert (t.peak, t.end, t.before) == (before + 16384, y.nbytes + 192, before)
    assert {held.code for held in t.at_peak if held.place != BEFORE} == {"x = cupy.zeros(1000)", "y = x * 2"}
    assert [held.code for held in t.at_end] == ["y = x * 2"]
    assert t.where == "stand-in" and not t.is_on_gpu and t.missing == () and t.limit is None


def test_cupy_keeps_freed_blocks_until_the_pool_is_emptied(cupy):
    pool = cupy.get_default_memory_pool()
    with h2d.memory_timeline() as t:
        x = cupy.zeros(1000)
        del x
        pool.free_all_blocks()
    assert [event.kind for event in t.events] == ["allocation", "free", "released"]
    end = t.events[2].reserved  # PyTorch's device may hold something, too
    assert [event.reserved - end for event in t.events] == [8192, 8192, 0]
    assert t.peak_reserved == end + 8192 and t.events[2].code == "pool.free_all_blocks()"


def test_memory_of_cupy_from_before_the_block_may_end_in_it(cupy):
    x = cupy.zeros(1000)
    with h2d.memory_timeline() as t:
        del x
    assert t.before == t.peak >= 8192 and [event.nbytes for event in t.events] == [-8192] and t.end == 0


def test_cupy_out_of_memory_names_the_line_and_what_was_alive(cupy):
    pool = cupy.get_default_memory_pool()
    pool.set_limit(pool.total_bytes() + MIB)
    with pytest.raises(cupy.cuda.memory.OutOfMemoryError), h2d.memory_timeline() as t:
        kept = [cupy.zeros(64 * KIB, dtype=np.uint8) for _ in range(8)]
        kept.append(cupy.zeros(2 * MIB, dtype=np.uint8))
    (refusal,) = t.refusals
    assert (refusal.nbytes, refusal.library) == (2 * MIB, "CuPy")
    assert refusal.code == "kept.append(cupy.zeros(2 * MIB, dtype=np.uint8))"
    assert [(held.nbytes, held.blocks) for held in refusal.alive if held.place != BEFORE] == [(512 * KIB, 8)]
    assert refusal.allocated == t.before + 512 * KIB and t.limit == pool.get_limit()


def test_memory_of_cupy_outside_of_its_pool(cupy):
    with h2d.memory_timeline() as t:
        pointer = cupy.cuda.memory.Memory(1000)
        del pointer
    assert sizes(t) == [("allocation", 1000, "CuPy"), ("free", -1000, "CuPy")]
    assert [event.reserved - t.events[0].reserved for event in t.events] == [0, -1000]


@pytest.mark.filterwarnings("ignore:Host array used in CUDA kernel")
def test_numba_arrays_and_the_copies_of_a_launch(started):
    from numba import cuda

    @cuda.jit
    def add(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = x[i] + 1

    out = np.zeros(100)
    with h2d.memory_timeline() as t:
        d_x = cuda.to_device(np.ones(100))
        view = d_x[10:20]
        del d_x
        add[1, 128](view, out)
        del view
    assert sizes(t) == [("allocation", 800, "Numba")] * 2 + [("free", -800, "Numba")] * 2
    assert [event.code for event in t.events][:2] == [
        "d_x = cuda.to_device(np.ones(100))",
        "add[1, 128](view, out)",
    ]
    assert t.events[-1].code == t.events[0].code  # a view keeps the whole array
    assert t.peak - t.before == 1600 and t.end == 0


def test_numba_out_of_memory(started):
    from numba import cuda

    with pytest.raises(Exception, match="CUDA_ERROR_OUT_OF_MEMORY"), h2d.memory_timeline() as t:
        cuda.device_array(10**16, np.uint8)
    assert [(refusal.nbytes, refusal.library) for refusal in t.refusals] == [(10**16, "Numba")]
    assert t.refusals[0].code == "cuda.device_array(10**16, np.uint8)"


def test_what_a_check_allocates_is_not_the_readers(cupy):
    with h2d.memory_timeline() as t:
        with events.unheard():
            x = cupy.zeros(1000)
            del x
        y = cupy.zeros(10)
    assert sizes(t) == [("allocation", 512, "CuPy")] and y.size == 10


def training(torch, steps, rows=512):
    torch.manual_seed(0)
    layers = torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 128)
    model = torch.nn.Sequential(*layers).to(h2d.device())
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(rows, 128, device=h2d.device())
    for _ in range(steps):
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def test_a_training_step_has_the_peak_that_pytorch_has(torch):
    torch.standin.reset_peak_memory_stats()
    with h2d.memory_timeline() as t:
        training(torch, 2)
    assert (
        t.peak == torch.standin.max_memory_allocated()
        and t.before + t.end == torch.standin.memory_allocated()
    )
    assert t.peak_reserved == torch.standin.memory_reserved()
    assert t.peak == sum(held.nbytes for held in t.at_peak)
    assert sum(event.nbytes for event in t.events if event.kind in ("allocation", "free")) == t.end
    assert t.limit == torch.standin.mem_get_info()[1]


def test_a_backward_pass_has_the_line_that_called_it(torch):
    with h2d.memory_timeline() as t:
        training(torch, 1)
    codes = {held.code for held in t.allocated}
    assert {"loss.backward()", "loss = model(x).square().mean()", "optimizer.step()"} <= codes
    assert all(event.line for event in t.events if event.kind == "allocation")
    parameters = next(held for held in t.allocated if held.code == "loss.backward()")
    assert parameters.nbytes >= 4 * 2 * 128 * 256  # the gradients at least
    assert sys.modules["torch.autograd.graph"]._engine_run_backward.__name__ == "_engine_run_backward"


def test_pytorch_out_of_memory_is_on_the_timeline(torch):
    limited(torch, 64 * MIB)
    kept = []
    with pytest.raises(torch.OutOfMemoryError), h2d.memory_timeline() as t:
        while True:
            kept.append(torch.ones(4 * MIB, device=h2d.device()))
    (refusal,) = t.refusals
    assert refusal.nbytes == 16 * MIB and refusal.code.startswith("kept.append(")
    (line,) = [held for held in refusal.alive if held.place != BEFORE]
    assert (line.nbytes, line.blocks) == (16 * MIB * len(kept), len(kept))
    assert t.events[-1].kind == "refused" and t.events[-1].allocated == refusal.allocated == t.peak
    assert refusal.allocated + refusal.nbytes > t.limit >= refusal.reserved
    text = str(t)
    assert "Refused: 16.0 MiB at test_memory_timelines.py, line " in text
    assert "Alive when the allocation was refused:" in text and "Alive at the end:\n" not in text


def test_a_request_that_is_caught_is_marked_too(torch):
    limited(torch, 64 * MIB)
    with h2d.memory_timeline() as t:
        for size in (100, 200):
            with pytest.raises(torch.OutOfMemoryError):
                torch.empty(size * MIB, dtype=torch.uint8, device=h2d.device())
    assert [refusal.nbytes for refusal in t.refusals] == [100 * MIB, 200 * MIB]
    assert "It is the last of 2 refused allocations." in str(t)


def test_tensors_from_before_the_block(torch):
    x = torch.zeros(MIB, device=h2d.device())
    before = torch.standin.memory_allocated()
    with h2d.memory_timeline() as t:
        del x
    assert t.before == t.peak == before and [event.nbytes for event in t.events] == [-4 * MIB]
    assert "Peak:" in str(t) and "when the block began" in str(t)


def test_an_emptied_cache_is_an_event_and_an_empty_cache_is_none(torch):
    with h2d.memory_timeline() as t:
        x = torch.zeros(16 * MIB, device=h2d.device())
        del x
        torch.standin.empty_cache()
        torch.standin.empty_cache()
    assert [event.kind for event in t.events] == ["allocation", "free", "released"]
    assert t.events[1].reserved - t.events[2].reserved == 64 * MIB
    assert t.events[2].code == "torch.standin.empty_cache()"


def test_the_second_device(torch, capsys):
    with h2d.memory_timeline(1) as t:
        x = torch.zeros(1000, device=h2d.device(1))
        y = torch.zeros(1000, device=h2d.device())
    assert [event.nbytes for event in t.events] == [4096] and x.numel() == y.numel()
    assert t.missing == ("Device 0 allocated memory, too: h2d.memory_timeline(device=0) records it.",)
    with pytest.raises(RuntimeError, match="invalid device ordinal"), h2d.memory_timeline(2):
        pass
    with h2d.memory_timeline(torch.device("standin", 1)) as t:  # the one before has ended
        torch.zeros(10, device=h2d.device(1))
    assert [event.nbytes for event in t.events] == [512, -512]


def test_libraries_together(torch, cupy):
    with h2d.memory_timeline() as t:
        x = torch.zeros(1000, device=h2d.device())
        y = cupy.zeros(1000)
        z = torch.zeros(1000, device=h2d.device())
    assert [event.library for event in t.events] == ["PyTorch", "CuPy", "PyTorch"]
    assert t.peak - t.before == 2 * 4096 + 8192 and t.limit is None  # each library has a limit of its own
    assert "library" in str(t.table()) and x.numel() + z.numel() == 2 * y.size


def test_a_device_that_is_made_in_the_block(started, tmp_path):
    pytest.importorskip("torch")
    program = tmp_path / "program.py"
    program.write_text(
        "import host_to_device as h2d, torch\n"
        "with h2d.memory_timeline() as t:\n"
        "    x = torch.zeros(1000, device=h2d.device())\n"
        "print([(event.nbytes, event.place) for event in t.events])\n"
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=120)
    assert done.stdout.endswith("[(4096, 'program.py, line 3')]\n") or "SetUpError" in done.stderr, done


def test_other_threads(torch):
    def work():
        for _ in range(200):
            torch.zeros(100, device=h2d.device()) + 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    with h2d.memory_timeline() as t:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    made = [event for event in t.events if event.kind == "allocation"]
    assert len(made) == 1600 and t.end == 0
    assert {event.line for event in made} == {line_of("torch.zeros(100, device=h2d.device()) + 1")}


def test_what_is_freed_in_a_cycle_is_freed(torch):
    with h2d.memory_timeline() as t:
        ring = [torch.zeros(1000, device=h2d.device())]
        ring.append(ring)
        del ring
        gc.collect()
    assert [event.nbytes for event in t.events] == [4096, -4096]


def test_an_error_that_passes_through_is_the_same_one(torch):
    # Blocks are freed while the error unwinds the stack: no Python runs then.
    def fail():
        x = torch.zeros(1000, device=h2d.device()) + 1
        raise KeyError(x.numel())

    with pytest.raises(KeyError, match="1000"), h2d.memory_timeline() as t:
        for _ in range(50):
            try:
                fail()
            except KeyError as problem:
                assert problem.args == (1000,)
        fail()
    assert len([event for event in t.events if event.kind == "allocation"]) == 102


# --- The block -------------------------------------------------------------------------------------------------


def test_outside_the_block_nothing_is_recorded(cupy):
    t = h2d.memory_timeline()
    assert str(t) == "Nothing recorded yet." and "Nothing recorded yet." in t.html()
    cupy.zeros(10)
    with t:
        pass
    cupy.zeros(10)
    assert t.events == () and events.memory is None and not events.listening
    assert "The block allocated no device memory" in str(t)


def test_entered_again_it_begins_again(cupy):
    t = h2d.memory_timeline()
    for _ in range(2):
        with t:
            x = cupy.zeros(10)
            del x
    assert len(t.events) == 2


def test_one_within_another_is_refused_and_the_outer_one_stays_whole(cupy):
    with h2d.memory_timeline() as t:
        with pytest.raises(RuntimeError, match="already recording"), h2d.memory_timeline():
            pass
        cupy.zeros(10)
    assert len(t.events) == 2


@pytest.mark.parametrize("device", [-1, "cuda", 1.5, True, None])
def test_what_is_no_device_is_refused_in_one_line(device):
    with pytest.raises(ValueError, match="give its number") as refused:
        h2d.memory_timeline(device)
    assert "\n" not in str(refused.value)


def test_a_count_and_a_timeline_beside_it(cupy):
    with h2d.count() as c, h2d.timeline() as order, h2d.memory_timeline() as t:
        x = cupy.zeros(10) + 1
    assert c.allocations == 2 and len(order.of("operation")) == 2
    assert len([event for event in t.events if event.kind == "allocation"]) == 2 and x.size == 10


@pytest.mark.slow
def test_a_training_loop_takes_at_most_twice_its_time(torch):
    def seconds(recorded):
        began = time.process_time()
        if recorded:
            with h2d.memory_timeline() as t:
                training(torch, 250, rows=64)
            assert len(t.events) > 10_000
        else:
            training(torch, 250, rows=64)
        return time.process_time() - began

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        seconds(recorded=True)
        plain = min(seconds(recorded=False) for _ in range(3))
        assert min(seconds(recorded=True) for _ in range(3)) <= 2 * plain
    finally:
        torch.set_num_threads(threads)


# --- A GPU, without one ----------------------------------------------------------------------------------------


def frame(filename, line):
    return {"filename": filename, "line": line, "name": "f"}


def entry(action, size, time_us=0, frames=(), **more):
    return {"action": action, "size": size, "stream": 0, "time_us": time_us, "frames": list(frames), **more}


# As torch/csrc/cuda/memory_snapshot.cpp writes it; PyTorch lists the innermost frame first.
LIBRARY = frame(np.__file__, 10)
TRACE = [
    entry("segment_alloc", 2 * MIB, 1, [LIBRARY], addr=1 << 40),
    entry("alloc", 1000, 2, [LIBRARY, frame(__file__, 5), frame(__file__, 9)], addr=1 << 40),
    entry("alloc", 4000, 3, [], addr=(1 << 40) + 1024),
    entry("free_requested", 1000, 4, addr=1 << 40),
    entry("free_completed", 1000, 5, addr=1 << 40),
    entry("oom", 3 * MIB, 6, [frame(__file__, 7)], device_free=MIB),
    entry("segment_free", 2 * MIB, 7, addr=1 << 40),
    entry("snapshot", 0, 8, addr=0),
]


def test_the_history_of_pytorch_becomes_changes():
    changes = [change for _, change in from_history(TRACE, held=MIB)]
    assert [(each.kind, each.nbytes, each.held - MIB, each.line) for each in changes] == [
        ("released", 0, 2 * MIB, 0),
        ("allocation", 1024, 2 * MIB, 5),
        ("allocation", 4096, 2 * MIB, 0),
        ("free", 1024, 2 * MIB, 0),
        ("refused", 3 * MIB, 2 * MIB, 7),
        ("released", 0, 0, 0),
    ]
    assert {change.file for change in changes if change.line} == {__file__}


def test_a_block_without_a_line_gets_the_backward_pass_of_its_time():
    passes = BackwardPasses()
    passes.spans = [(1e-6, 2.5e-6, ("early.py", 1)), (2.9e-6, 3.1e-6, ("train.py", 12))]
    changes = [change for _, change in from_history(TRACE, backward=passes.at)]
    assert [(each.file, each.line) for each in changes if each.kind == "allocation"][1] == ("train.py", 12)


class FakeTorch:
    """PyTorch with a GPU, as far as the recording uses it."""

    __version__ = "2.13.0"

    def __init__(self, **changes):
        self.calls = []
        self._C = SimpleNamespace(_cuda_isHistoryEnabled=lambda: False)
        self.cuda = SimpleNamespace(
            memory=SimpleNamespace(
                _record_memory_history=lambda **given: self.calls.append(given),
                _snapshot=lambda: {"device_traces": [TRACE, []], "segments": []},
                memory_allocated=lambda device: 10 * MIB,
                memory_reserved=lambda device: 20 * MIB,
            ),
            mem_get_info=lambda device: (MIB, 64 * MIB),
            get_per_process_memory_fraction=lambda device: 0.5,
            get_device_name=lambda: "NVIDIA T4",
        )
        vars(self.cuda.memory).update(changes)


@pytest.fixture
def on_gpu(monkeypatch):
    def chosen(torch):
        monkeypatch.setattr(memory_recording.on_gpu, "torch_with_gpu", lambda: torch)
        monkeypatch.setattr(memory_recording.on_gpu, "is_chosen", lambda: True)
        monkeypatch.setattr(memory_recording.on_gpu, "uses_numba", lambda: False)
        monkeypatch.setattr(memory_recording.on_gpu, "_said", set())
        monkeypatch.delitem(sys.modules, "cupy", raising=False)
        return torch

    return chosen


def test_pytorch_on_a_gpu(on_gpu):
    torch = on_gpu(FakeTorch())
    with h2d.memory_timeline() as t:
        pass
    assert (
        torch.calls[0]["enabled"] == "all" and torch.calls[-1] == {"enabled": None} and len(torch.calls) == 2
    )
    assert (t.where, t.before, t.peak, t.end) == ("GPU NVIDIA T4", 10 * MIB, 10 * MIB + 5120, 4096)
    assert (t.peak_reserved, t.limit) == (22 * MIB, 32 * MIB)
    assert [(refusal.nbytes, refusal.line) for refusal in t.refusals] == [(3 * MIB, 7)]
    assert t.is_on_gpu and t.missing == ()


def test_the_history_ends_although_the_block_fails(on_gpu):
    torch = on_gpu(FakeTorch())
    with pytest.raises(ZeroDivisionError), h2d.memory_timeline():
        1 / 0  # noqa: B018
    assert torch.calls[-1] == {"enabled": None}


@pytest.mark.parametrize("name", ["_record_memory_history", "_snapshot"])
def test_a_pytorch_without_the_private_functions_is_named_in_one_line(on_gpu, name, capsys):
    torch = FakeTorch()
    delattr(torch.cuda.memory, name)
    on_gpu(torch)
    with h2d.memory_timeline() as t:
        pass
    (line,) = t.missing
    assert (
        line.startswith("PyTorch 2.13.0 does not record its memory here")
        and name in line
        and "\n" not in line
    )
    assert (
        capsys.readouterr().out.strip() == line and line in str(t) and line in t.html().replace("&#x27;", "'")
    )


def test_another_format_is_named_in_one_line(on_gpu):
    on_gpu(FakeTorch(_snapshot=lambda: {"device_traces": [[{"kind": "alloc"}]]}))
    with h2d.memory_timeline() as t:
        pass
    assert len(t.missing) == 1 and t.missing[0].endswith("'action'") and not t.events


def test_a_recording_of_the_readers_own_is_left_alone(on_gpu):
    torch = on_gpu(FakeTorch())
    torch._C._cuda_isHistoryEnabled = lambda: True
    with h2d.memory_timeline() as t:
        pass
    assert torch.calls == [] and "_record_memory_history(enabled=None)" in t.missing[0]


def test_a_library_that_is_imported_in_the_block_is_named(on_gpu, monkeypatch):
    on_gpu(FakeTorch())
    with h2d.memory_timeline() as t:
        monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace())
    assert t.missing == (
        "CuPy was imported inside the block, so its memory is not recorded: import it before the block.",
    )


def test_a_recorder_that_cannot_begin_leaves_nothing_open(on_gpu, monkeypatch):
    torch = on_gpu(FakeTorch(memory_allocated=lambda device: 1 / 0))
    with pytest.raises(ZeroDivisionError), h2d.memory_timeline():
        pass
    assert OnGpu(0).device == 0
    torch.cuda.memory.memory_allocated = lambda device: 0
    with h2d.memory_timeline() as t:  # not "already recording"
        pass
    assert len(t.events) == 6


# --- What is shown ---------------------------------------------------------------------------------------------


@pytest.fixture
def shown(torch):
    limited(torch, 64 * MIB)
    kept = []
    with pytest.raises(torch.OutOfMemoryError), h2d.memory_timeline() as t:
        while True:
            x = torch.ones(MIB, device=h2d.device())
            kept.append(x * 2)
    return t


def test_the_picture_marks_peak_limit_and_the_refused_request(shown):
    picture = ElementTree.fromstring(shown.svg())
    words = [each.text for each in picture.iter() if each.tag.endswith("text")]
    assert any(re.match(r"refused 4\.00 MiB, .*memory_timelines\.py, line \d+", word) for word in words)
    assert any(word.startswith("peak ") for word in words) and any(
        word.startswith("limit ") for word in words
    )
    assert {"1", f"{len(shown.events):,}"} <= set(words)
    dashed = [each for each in picture.iter() if each.get("stroke-dasharray")]
    assert len(dashed) == 2  # the limit, the request
    left, top, wide, high = map(float, picture.get("viewBox").split())
    for each in picture.iter():
        for name, low, most in (("x", left, left + wide), ("y", top, top + high)):
            if each.get(name):
                assert low <= float(each.get(name)) <= most


def test_the_picture_says_in_words_what_it_shows(shown):
    alt = shown.alt()
    assert shown.svg().count('role="img"') == 1 and "stacked by the line that allocated" in alt
    assert "Refused: 4.00 MiB" in alt and "kept.append(x * 2)" in alt


def test_the_tables_can_be_read_without_the_picture(shown):
    html = shown.html()
    assert html.count("<table>") == 4 and "<caption>Alive when the allocation was refused</caption>" in html
    assert 'scope="row"' in html and html.count("<svg ") - 1 == html.count('aria-hidden="true"')
    assert "1: test_memory_timelines.py, line " in html and "<code" in html
    assert re.search(r"<summary>All lines</summary>", html)


def test_a_limit_far_above_is_said_and_not_drawn(torch):
    with h2d.memory_timeline() as t:
        torch.zeros(1000, device=h2d.device())
    assert "limit " in t.summary() and "limit " not in t.svg().partition(">")[2]


@pytest.mark.parametrize("count", [1, 2, 159, 160, 161, 5000])
def test_pictures_of_any_length_stay_small_and_show_the_highest_moment(count):
    t = h2d.memory_timeline()
    t._begin("stand-in")
    t._history = History(State())
    t._history.add([allocation(key, 1000 + key % 7, line=1 + key % 9, held=MIB) for key in range(count // 2)])
    t._history.add([free(key) for key in range(count // 4)])
    t._history.add([allocation("last", 10**9, line=20)] if count % 2 else [allocation("last", 1)])
    t._history.finish()
    t.peak, t.peak_reserved, t.at_peak = t._history.peak, t._history.peak_reserved, t._history.at_peak
    t._events = None
    picture = t.svg()
    ElementTree.fromstring(picture)
    assert len(picture) < 30_000
    circle = re.search(r'<circle cx="([\d.]+)" cy="([\d.]+)"', picture)
    assert circle is not None and 56 <= float(circle[1]) <= 386
    if count % 2 and count > 2:  # the last allocation is the peak
        assert float(circle[1]) > 380 * (1 - 3 / min(count, 160))


def test_an_older_part_that_is_left_out_is_said(monkeypatch, cupy):
    monkeypatch.setattr(History.__init__, "__defaults__", (40,))
    with h2d.memory_timeline() as t:
        kept = cupy.zeros(10**6)
        for _ in range(200):
            x = cupy.zeros(1000)
            del x
    assert len(t.events) == 40 and t.left_out == 401 - 40
    assert "The first 361 changes are only in the sums and the peak." in str(t)
    assert "The picture begins after the first 361 changes." in t.html()
    assert t.at_peak[0].code == "kept = cupy.zeros(10**6)" or t.at_peak[0].place == BEFORE
    assert (
        next(held for held in t.allocated if "range" not in held.code and held.blocks == 200).nbytes
        == 200 * 8192
    )
    assert kept.size == 10**6


def test_code_and_names_of_files_are_escaped():
    t = h2d.memory_timeline()
    t._begin("<stand-in>")
    t._history.add([Change("allocation", None, 1, 1000, None, "CuPy", "<b>&.py", 3)])
    t._history.finish()
    t.at_peak, t._events = t._history.at_peak, None
    assert "<b>" not in t.html() and "<stand-in>" not in t.html() and "&lt;b&gt;&amp;.py" in t.html()
