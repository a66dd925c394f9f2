"""`h2d.time` and its clocks. The verdicts on what it measured have their own file.

GPUs are played by modules that write down who was called when: what is tested is the order of the calls, which is
what makes a time right or wrong.
"""

import asyncio
import functools
import itertools
import math
import sys
import time as clock_of_host
from types import SimpleNamespace

import numpy as np
import pytest

from host_to_device.counting import Copies
from host_to_device.counting.numbers import NOT_KNOWN
from host_to_device.measuring import clocks, known_limits, timing
from host_to_device.measuring.clocks import ClockError, DeviceEvents, HostClock
from host_to_device.measuring.timing import AT_LEAST, REPEAT, time
from host_to_device.measuring.timings import Timing
from host_to_device.rendering import units
from host_to_device.standins import events
from host_to_device.standins import numba_cuda as cuda
from host_to_device.starting import context, machine
from tests import on_a_gpu


@pytest.fixture(autouse=True)
def a_machine_without_a_past(monkeypatch):
    """Neither this machine's record nor what other tests have started decides."""
    monkeypatch.setattr(known_limits, "peak", lambda what, where: None)
    monkeypatch.setattr(machine, "chosen", None)
    monkeypatch.setenv("H2D_MACHINE", "stand-in")
    for name in ("torch", "cupy", "numba.cuda"):
        monkeypatch.delitem(sys.modules, name, raising=False)


class Calls:
    """A function that remembers its arguments."""

    __name__ = "calls"

    def __init__(self, seconds=0.0):
        self.seconds, self.arguments = seconds, []

    def __call__(self, *arguments):
        self.arguments.append(arguments)
        if self.seconds:
            clock_of_host.sleep(self.seconds)


class Ticking:
    """A clock that says that one call more took some seconds each time; the last for ever."""

    name, resolution = "a clock", 1e-9

    def __init__(self, *seconds):
        self.seconds = [*seconds]

    def measure(self, work):
        work()
        return self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0]


class ByTheCall:
    """A clock for `Calls`: so many seconds each, and some for the clock itself; some readings are disturbed."""

    name, resolution = "a clock", 1e-9

    def __init__(self, f, each, own=0.0, disturbed=()):
        self.f, self.each, self.own, self.disturbed = f, each, own, [*disturbed]

    def measure(self, work):
        before = len(self.f.arguments)
        work()
        more = self.disturbed.pop(0) if self.disturbed else 0.0
        return (len(self.f.arguments) - before) * self.each + self.own + more


# What comes out


def test_a_measurement():
    x = np.random.default_rng(1).random(100_000)
    t = time(lambda: x + 1, name="add one", bytes=1_600_000)
    assert len(t.samples) == t.wanted == REPEAT
    assert 0 < t.quartiles[0] <= t.median <= t.quartiles[1]
    assert t.where == "CPU" and t.clock == "host clock"
    assert t.bandwidth == 1_600_000 / t.median and t.flop_rate is None
    assert t.counts.operations == 0 and t.first > 0
    line = str(t).splitlines()[0]
    assert line.startswith("add one: ") and " on the CPU (median of 20" in line and "B/s" in line
    assert repr(t) == str(t)


def test_a_longer_function_takes_longer():
    short, long = (time(lambda n=n: clock_of_host.sleep(n), repeat=5) for n in (0.001, 0.01))
    assert 0.001 <= short.median < long.median
    assert long.median >= 0.01


def line(**more):
    return str(Timing("f", more.pop("samples", (0.0010, 0.0011, 0.0012)), **more))


def test_the_line():
    assert line() == "f: 1.10 ms on the CPU (median of 3, middle half 1.05 to 1.15 ms; host clock)"
    assert line(samples=(0.001,)) == "f: 1.00 ms on the CPU (median of 1; host clock)"
    assert line(calls=1200).startswith("f: 1.10 ms on the CPU (median of 3 × 1,200 calls, middle half")
    assert "(median of 3, as 20 would have taken too long, middle half" in line(wanted=20)
    assert "too long" not in line(wanted=3)
    assert line(bytes=1.1e6, flops=2.2e9).endswith("; host clock), 1.00 GB/s, 2.00 TFLOP/s")
    assert line(first=0.5).endswith(", first call 500 ms")
    assert line(first=0.0012) == line(), "a first call like the others is not worth a word"
    assert line(where="GPU", clock="device events").startswith("f: 1.10 ms on the GPU (median of 3, ")
    assert "1.10 ms on the stand-in, whose times are not a GPU's (" in line(where="stand-in")


def test_doubts_stand_below_the_line():
    t = time(Calls(), repeat=1)
    first, *below = str(t).splitlines()
    assert "doubtful" not in first
    assert below == [f"  doubtful: {doubt}" for doubt in t.doubts] != []


def test_spread_and_rates_where_no_time_passed():
    t = Timing("f", (0.0, 0.0), bytes=8, flops=8)
    assert (t.median, t.spread, t.bandwidth, t.flop_rate) == (0, 0, math.inf, math.inf)
    assert "0 s on the CPU" in str(t) and "inf B/s" in str(t)
    assert Timing("f", (0.0, 0.0, 1.0)).spread == math.inf


def test_spread():
    t = Timing("f", (1.0, 2.0, 3.0, 4.0, 5.0))
    assert (t.median, t.quartiles, t.spread) == (3.0, (2.0, 4.0), 2 / 3)
    assert Timing("f", (2.0,)).quartiles == (2.0, 2.0)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"samples": ()}, "there are no samples: measure once at least"),
        ({"samples": (1.0, -1e-9)}, "a sample is -1e-09 s, which is not a valid time"),
        ({"samples": (math.nan,)}, "a sample is nan s, which is not a valid time"),
        ({"samples": (math.inf,)}, "a sample is inf s, which is not a valid time"),
        ({"samples": (1.0,), "where": "here"}, "where is 'here': give one of GPU, CPU, stand-in"),
    ],
)
def test_samples_that_are_none(given, message):
    with pytest.raises(ValueError, match=message):
        Timing("f", **given)


@pytest.mark.parametrize(
    "function, name",
    [
        (lambda: None, "the call"),
        (np.ones, "ones"),
        (functools.partial(np.ones, 3), "ones"),
        (functools.partial(lambda a: None, 3), "the call"),
        (Calls(), "calls"),
    ],
)
def test_its_name(function, name):
    inputs = [(3,)] if function is np.ones else [()]
    assert time(function, inputs=inputs, repeat=3).name == name
    assert time(function, inputs=inputs, repeat=3, name="mine").name == "mine"


# How often it is called


def test_warm_up_count_trials_and_samples():
    f = Calls(0.001)
    t = time(f, repeat=5)
    assert (len(t.samples), t.calls) == (5, 1)
    assert len(f.arguments) == 1 + 1 + 5, (
        "the first, the counted, and the samples, of which the trials are some"
    )
    f = Calls(0.001)
    assert len(time(f, repeat=4, warmup=3).samples) == 4
    assert len(f.arguments) == 3 + 1 + 4


def test_without_a_warm_up_the_first_call_is_a_sample():
    f = Calls(0.001)
    t = time(f, repeat=5, warmup=0)
    assert (len(t.samples), t.calls, t.first) == (5, 1, None)
    assert len(f.arguments) == 5 + 2, "one call more to compare with, and one to count"


def test_sets_of_inputs_take_turns():
    f = Calls(0.001)
    time(f, inputs=[(1, 2), (3, 4), (5, 6)], repeat=6)
    assert f.arguments[:3] == [(1, 2), (3, 4), (5, 6)], "each warms up"
    assert f.arguments[4:] == [(1, 2), (3, 4), (5, 6)] * 2


def test_a_single_argument_needs_no_tuple():
    f = Calls(0.001)
    x = np.ones(3)
    time(f, inputs=[x], repeat=3)
    assert all(arguments[0] is x for arguments in f.arguments)
    time(f, inputs=(each for each in ([1], [2])), repeat=3)
    assert f.arguments[-1] in (([1],), ([2],))


def test_short_functions_are_called_several_times_a_sample():
    t = time(lambda: None)
    assert t.calls > 100
    assert t.calls * t.median > 0.1 * timing.SHORTEST
    assert time(lambda: clock_of_host.sleep(0.001), repeat=3).calls == 1


def test_calls_as_they_are_given():
    f = Calls()
    t = time(f, repeat=4, calls=7)
    assert (t.calls, len(t.samples), len(f.arguments)) == (7, 4, 1 + 1 + 4 * 7)
    assert time(f, repeat=4, calls=7, clock=Ticking(14.0)).samples == (2.0,) * 4


def calls_for(each, resolution=1e-9, **more):
    f = Calls()
    clock = ByTheCall(f, each, **more)
    clock.resolution = resolution
    return time(f, clock=clock, repeat=3).calls


def test_as_many_calls_as_the_clock_needs():
    assert calls_for(0.001) == 1
    assert calls_for(0.001, resolution=0.01) == pytest.approx(2000, abs=1)
    assert calls_for(1e-6) == pytest.approx(timing.SHORTEST / 1e-6, abs=1)
    assert calls_for(0.0) == timing.MOST_CALLS


def test_neither_a_disturbed_trial_nor_the_clocks_own_time_decides():
    assert calls_for(1e-6, disturbed=[0.01]) == pytest.approx(200, abs=1)
    assert calls_for(1e-6, own=1e-5) == pytest.approx(200 / 1.5, abs=20)


def test_what_takes_long_has_fewer_samples_and_says_so():
    f = Calls(0.02)
    t = time(f, seconds=0.01)
    assert len(t.samples) == AT_LEAST
    assert "as 20 would have taken too long" in str(t)
    assert len(time(f, seconds=0.01, calls=1).samples) == AT_LEAST
    assert len(time(f, seconds=0.01, repeat=5).samples) == 5, "a number that was asked for is kept"


def test_a_long_preparation_costs_no_samples():
    def first_call_compiles(seen=[]):  # noqa: B006
        if not seen:
            clock_of_host.sleep(0.2)
        seen.append(1)

    t = time(first_call_compiles, seconds=0.1, setup=lambda: clock_of_host.sleep(0.1))
    assert len(t.samples) == REPEAT
    assert t.first >= 0.2 > 10 * t.median


# Where it worked


def test_on_the_stand_in():
    @cuda.jit
    def twice(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] *= 2

    d_x = cuda.to_device(np.ones(100))
    t = time(lambda: twice[1, 128](d_x), repeat=3)
    assert (t.where, t.clock, t.counts.operations) == ("stand-in", "host clock", 1)
    assert not events.listening
    assert time(d_x.copy_to_host, repeat=3).where == "stand-in"
    assert time(lambda: None, setup=d_x.copy_to_host, repeat=3).where == "CPU"


def test_counting_is_over_before_the_samples():
    listening = []
    time(lambda: listening.append(events.listening), repeat=5, calls=1)
    assert listening == [False, True, *[False] * 5]
    listening.clear()
    time(lambda: listening.append(events.listening), repeat=5, calls=1, warmup=0)
    assert listening == [*[False] * 6, True]


# What goes wrong


def failing(at, error):
    """Return a function whose call of this number raises."""
    numbers = itertools.count()

    def f():
        clock_of_host.sleep(1e-3)
        if next(numbers) == at:
            raise error

    return f


@pytest.mark.parametrize("error", [ZeroDivisionError("by me"), KeyboardInterrupt()], ids=type)
@pytest.mark.parametrize("at", range(6))
def test_what_the_function_raises_passes_through(at, error):
    with pytest.raises(type(error)) as caught:
        time(failing(at, error), repeat=5)
    assert caught.value is error
    assert not events.listening
    with pytest.raises(type(error)):
        time(lambda: None, setup=failing(0, error))
    assert not events.listening
    assert time(lambda: None, repeat=3).counts.operations == 0


def prepares():
    yield 1


async def awaited():
    pass


@pytest.mark.parametrize(
    "given, message",
    [
        ((3,), "h2d.time measures a function, and was given int: write lambda: …"),
        ((None,), "h2d.time measures a function, and was given NoneType: write lambda: …"),
        ((prepares,), "a call of prepares only prepares a generator: write lambda: list"),
        ((awaited,), "a call of awaited only prepares a coroutine: write lambda: asyncio.run"),
        ((functools.partial(awaited),), "a call of awaited only prepares a coroutine"),
    ],
)
def test_what_is_no_function(given, message):
    with pytest.raises(TypeError, match=message) as caught:
        time(*given)
    assert "\n" not in str(caught.value)


def test_a_coroutine_that_is_run():
    assert time(lambda: asyncio.run(awaited()), repeat=3).median > 0


@pytest.mark.parametrize(
    "given, error, message",
    [
        ({"waiting": 3}, TypeError, "waiting is 3: give a function that returns when the device is done"),
        ({"inputs": []}, ValueError, "inputs is empty: give one set of arguments at least"),
        ({"inputs": 3}, TypeError, "inputs is int: give a list of sets"),
        ({"inputs": np.ones(3)}, TypeError, "inputs is ndarray: give a list of sets"),
        ({"inputs": "abc"}, TypeError, "inputs is str: give a list of sets"),
        ({"repeat": 0}, ValueError, "repeat is 0: give a whole number from 1"),
        ({"repeat": True}, ValueError, "repeat is True"),
        ({"repeat": 2.5}, ValueError, "repeat is 2.5: give a whole number from 1"),
        ({"calls": 0}, ValueError, "calls is 0: give a whole number from 1"),
        ({"warmup": -1}, ValueError, "warmup is -1: give a whole number from 0"),
        ({"warmup": None}, ValueError, "warmup is None: give a whole number from 0"),
        ({"seconds": None}, ValueError, "seconds is None"),
        ({"seconds": 0}, ValueError, "seconds is 0: give a finite number above 0"),
        ({"seconds": math.nan}, ValueError, "seconds is nan"),
        ({"seconds": "3"}, ValueError, "seconds is '3'"),
        ({"bytes": -8}, ValueError, "bytes is -8"),
        ({"bytes": math.inf}, ValueError, "bytes is inf"),
        ({"flops": 0}, ValueError, "flops is 0"),
        ({"flops": math.nan}, ValueError, "flops is nan"),
    ],
)
def test_arguments_out_of_range(given, error, message):
    f = Calls()
    with pytest.raises(error, match=message) as caught:
        time(f, **given)
    assert "\n" not in str(caught.value)
    assert not f.arguments, "nothing has run"


def test_numbers_of_numpys_will_do():
    t = time(Calls(), repeat=np.int64(3), warmup=np.int32(1), bytes=np.float32(8), flops=np.int64(8))
    assert len(t.samples) == 3 and t.bandwidth > 0


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_a_clock_that_gives_no_time(wrong):
    for seconds in ((wrong,), (1.0, 1.0, 1.0, wrong)):
        with pytest.raises(ClockError, match=r"the clock (went backwards|gave)") as caught:
            time(Calls(), clock=Ticking(*seconds))
        assert "\n" not in str(caught.value)
    assert not events.listening


# The host's clock


def test_the_host_clock_waits_before_each_reading():
    order = []

    def ticks():
        order.append("tick")
        return float(len(order))

    clock = HostClock(lambda: order.append("wait"), ticks)
    assert clock.measure(lambda: order.append("work")) == 3.0
    assert order == ["wait", "tick", "work", "wait", "tick"]
    order.clear()
    clock = HostClock(None, ticks)
    assert clock.measure(lambda: order.append("work")) == 2.0
    assert order == ["tick", "work", "tick"]
    assert "without waiting" in clock.name


def test_a_host_clock_that_goes_backwards():
    clock = HostClock(None, iter([2.0, 1.5]).__next__)
    with pytest.raises(
        ClockError, match=r"the clock went backwards while it measured, by 0.5 s: measure again"
    ):
        clock.measure(lambda: None)


def test_a_wait_of_ones_own_is_used():
    waits = []
    time(Calls(), waiting=lambda: waits.append(1), repeat=3)
    assert waits


# GPUs, played by modules that write down who was called


class Played:
    """A GPU's library: what was called, in order, and a clock that goes on by a millisecond each time."""

    def __init__(self, order, library):
        self.order, self.library, self.now = order, library, 0.0

    def note(self, what):
        self.order.append(f"{self.library} {what}")

    def event(self, *_, **options):
        return PlayedEvent(self, options)

    def elapsed(self, begin, end):
        return end.at - begin.at


class PlayedEvent:
    def __init__(self, gpu, options):
        self.gpu, self.options = gpu, options

    def record(self):
        self.gpu.now += 1.0
        self.at = self.gpu.now
        self.gpu.note("record")

    def synchronize(self):
        self.gpu.note("event synchronize")

    def elapsed_time(self, end):
        assert self.options == {"enable_timing": True}, "PyTorch's events keep no time otherwise"
        return self.gpu.elapsed(self, end)


def played_torch(order, initialized=True, mps=False):
    gpu = Played(order, "torch")
    used = SimpleNamespace(
        is_initialized=lambda: initialized,
        is_available=lambda: True,
        synchronize=lambda: gpu.note("synchronize"),
        Event=gpu.event,
    )
    return SimpleNamespace(
        cuda=used,
        backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps)),
        mps=SimpleNamespace(synchronize=lambda: gpu.note("mps synchronize")),
    )


def played_cupy(order, available=True):
    gpu = Played(order, "cupy")
    used = SimpleNamespace(
        is_available=lambda: available,
        Device=lambda: SimpleNamespace(synchronize=lambda: gpu.note("synchronize")),
        Event=gpu.event,
        get_elapsed_time=gpu.elapsed,
    )
    return SimpleNamespace(cuda=used)


def played_numba(order, available=True):
    gpu = Played(order, "numba")
    return SimpleNamespace(
        is_available=lambda: available,
        synchronize=lambda: gpu.note("synchronize"),
        event=gpu.event,
        event_elapsed_time=gpu.elapsed,
    )


PLAYED = {"torch": played_torch, "cupy": played_cupy, "numba.cuda": played_numba}


@pytest.fixture
def play(monkeypatch):
    """Return a function that puts libraries in place, and the list of what is called."""
    order = []

    def put(*names, **options):
        monkeypatch.setattr(machine, "chosen", "gpu")
        for name in names:
            monkeypatch.setitem(sys.modules, name, PLAYED[name](order, **options))
        return order

    return put


def test_every_library_is_waited_for(play):
    order = play("numba.cuda", "cupy", "torch")
    clocks.wait()
    assert order == ["torch synchronize", "cupy synchronize", "numba synchronize"]


def test_libraries_without_a_gpu_are_left_alone(play, monkeypatch):
    order = play("torch", initialized=False)
    play("cupy", "numba.cuda", available=False)
    clocks.wait()
    assert order == [] and clocks.drivers() == {}
    play("cupy", "numba.cuda")
    monkeypatch.setattr(machine, "chosen", "stand-in")
    clocks.wait()
    assert order == [], "stand-ins have done their work, and a wait would be counted"


def test_apples_gpu_is_waited_for(play):
    order = play("torch", initialized=False, mps=True)
    clocks.wait()
    assert order == ["torch mps synchronize"]


@pytest.mark.parametrize("name", PLAYED)
def test_events_stand_around_the_work(play, name):
    order, library = play(name), name.partition(".")[0]
    assert DeviceEvents().measure(lambda: order.append("work")) == pytest.approx(1e-3)
    expected = ["synchronize", "record", "work", "record", "event synchronize"]
    assert order == [each if each == "work" else f"{library} {each}" for each in expected]


def test_one_librarys_events_time_all(play):
    """The libraries share the default stream; before the first event all of them are waited for."""
    order = play("torch", "cupy", "numba.cuda")
    DeviceEvents().measure(lambda: order.append("work"))
    assert order == [
        *("torch synchronize", "cupy synchronize", "numba synchronize"),
        *("torch record", "work", "torch record", "torch event synchronize"),
    ]


def test_no_events_without_a_gpu():
    with pytest.raises(ClockError, match="no library that uses a GPU is loaded"):
        DeviceEvents().measure(lambda: None)


def test_events_in_the_wrong_order(play, monkeypatch):
    play("cupy")
    monkeypatch.setattr(sys.modules["cupy"].cuda, "get_elapsed_time", lambda begin, end: -1.0)
    with pytest.raises(ClockError, match="went backwards"):
        DeviceEvents().measure(lambda: None)


def test_the_cpus_work_is_timed_after_a_fault_has_ended_the_gpus_context(play, monkeypatch, capsys):
    """CuPy 14.2.0 raises this error for every call after an access to memory that does not exist."""
    monkeypatch.setattr(context, "lost", "")
    monkeypatch.setattr(context, "_told", False)
    play("cupy")

    def refuse():
        raise RuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")

    def fails_on_the_gpu():
        refuse()

    monkeypatch.setattr(sys.modules["cupy"].cuda, "Device", lambda: SimpleNamespace(synchronize=refuse))
    for _ in range(2):
        assert time(lambda: None, repeat=1).where == "CPU"
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and "CUDA_ERROR_ILLEGAL_ADDRESS" in said and "Restart the notebook" in said
    with pytest.raises(RuntimeError, match="cudaErrorIllegalAddress"):
        time(fails_on_the_gpu, repeat=1)


def test_a_fault_of_what_is_timed_passes_through(play, monkeypatch):
    monkeypatch.setattr(context, "lost", "")
    play("cupy")
    faults = []

    def wait():
        if faults:
            raise RuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")

    monkeypatch.setattr(sys.modules["cupy"].cuda, "Device", lambda: SimpleNamespace(synchronize=wait))
    with pytest.raises(RuntimeError, match="cudaErrorIllegalAddress"):
        time(lambda: faults.append(1), repeat=1)


def test_a_launch_configuration_has_the_name_of_its_kernel():
    def nothing():
        pass

    assert time(on_a_gpu.CUDADispatcher(nothing)[1, 64], repeat=1).name == "nothing"
    assert time(cuda.jit(nothing)[1, 64], repeat=1).name == "nothing"


class PlayedCount:
    """What `h2d.count()` gives on a GPU: entered for one call, and slow enough to spoil a time."""

    is_on_gpu = True

    def __init__(self, order, operations=1):
        self.order, self.operations, self.waits = order, operations, 0
        copied = NOT_KNOWN if operations is NOT_KNOWN else 0
        self.places = ("GPU",) if operations else ()
        self.host_to_device = self.device_to_host = self.device_to_device = Copies(copied, copied)

    def __enter__(self):
        self.order.append("count")

    def __exit__(self, *_):
        self.order.append("counted")


@pytest.fixture
def counting(play, monkeypatch):
    """Return a function that lets a played GPU count so many operations in what is measured."""

    def put(operations):
        order = play("torch")
        monkeypatch.setattr(timing, "Count", lambda *, speaks: PlayedCount(order, operations))
        monkeypatch.setattr(timing, "is_chosen", lambda: True)
        return order

    return put


def test_on_a_gpu_events_are_read_and_cupti_is_asked_once(counting):
    order = counting(1)
    t = time(lambda: order.append("work"), repeat=4, calls=2)
    assert (t.where, t.clock) == ("GPU", "device events")
    assert t.samples == pytest.approx((0.5e-3,) * 4)
    assert order.count("count") == order.count("counted") == 1
    assert order[:5] == ["torch synchronize", "torch synchronize", "work", "torch synchronize", "count"]
    sample = ["torch synchronize", "torch record", "work", "work", "torch record", "torch event synchronize"]
    rest = order[order.index("counted") + 1 :]
    assert sum(rest[i : i + len(sample)] == sample for i in range(len(rest))) == 4
    assert "on the GPU (median of 4 × 2 calls" in str(t)


def test_what_asks_nothing_of_a_gpu_is_timed_by_the_host(counting):
    counting(0)
    t = time(Calls(), repeat=4)
    assert (t.where, t.clock) == ("CPU", "host clock")


class OnGpu:
    """An array in the GPU's memory, as far as `h2d.time` looks at it."""

    shape, nbytes, device = (4,), 16, SimpleNamespace(type="cuda")


def test_where_the_counts_are_not_known_an_array_on_the_gpu_says_that_it_works(counting, monkeypatch):
    counting(NOT_KNOWN)
    monkeypatch.setattr(known_limits, "cache_size", lambda where: None)
    t = time(lambda array: None, inputs=[OnGpu()], repeat=4, calls=1)
    assert (t.where, t.clock) == ("GPU", "device events")
    t = time(Calls(), repeat=4, calls=1)
    assert (t.where, t.clock) == ("CPU", "host clock"), "nothing says that a GPU worked"


def test_a_wait_of_the_callers_own_is_used_on_a_gpu(counting):
    order = counting(1)
    t = time(
        lambda: order.append("work"), repeat=4, calls=1, waiting=lambda: order.append("the caller's wait")
    )
    assert (t.where, t.clock) == ("GPU", "host clock")
    rest = order[order.index("counted") + 1 :]
    assert rest[-3:] == ["the caller's wait", "work", "the caller's wait"]


def test_without_synchronizing_the_host_clock_is_read_too_early(counting):
    order = counting(1)
    t = time(lambda: order.append("work"), repeat=4, synchronize=False)
    assert (t.where, t.clock, t.calls) == ("GPU", "host clock without waiting for the device", 1)
    assert not any("record" in each for each in order)
    rest = order[order.index("counted") + 1 :]
    assert rest[-12:] == ["work", "torch synchronize", "torch synchronize"] * 4, (
        "what is left behind is waited for outside of the sample, and then the idle device"
    )


def test_where_counting_fails_the_measurement_goes_on(counting, monkeypatch):
    order = counting(1)

    class Busy(PlayedCount):
        def __enter__(self):
            raise RuntimeError("the profiler is in use")

    monkeypatch.setattr(timing, "Count", lambda *, speaks: Busy(order))
    t = time(lambda: order.append("work"), repeat=4, calls=1)
    assert (t.counts, t.where, len(t.samples)) == (None, "GPU", 4)

    class Lost(PlayedCount):
        def __exit__(self, *_):
            raise RuntimeError("the trace cannot be written")

    monkeypatch.setattr(timing, "Count", lambda *, speaks: Lost(order))
    assert time(lambda: order.append("work"), repeat=4, calls=1).counts is None
    with pytest.raises(ZeroDivisionError):
        time(failing(1, ZeroDivisionError()), repeat=4)


# Numbers with units


@pytest.mark.parametrize(
    "value, written",
    [
        (0, "0 s"),
        (1.234, "1.23 s"),
        (0.00123, "1.23 ms"),
        (999.4e-6, "999 µs"),
        (999.6e-6, "1.00 ms"),
        (9.996e-6, "10.0 µs"),
        (99.96e-6, "100 µs"),
        (2.5e-11, "0.0250 ns"),
        (1234.5, "1,234 s"),
        (-0.002, "-2.00 ms"),
        (math.inf, "inf s"),
        (math.nan, "nan s"),
    ],
)
def test_seconds(value, written):
    assert units.seconds(value) == written


def test_spans_rates_and_amounts():
    assert units.span(0.0349, 0.0361) == "34.9 to 36.1 ms"
    assert units.span(0.9e-3, 1.1e-3) == "0.900 to 1.10 ms"
    assert units.span(0, 0) == "0 to 0 s"
    assert units.rate(4.8e12, "B/s") == "4.80 TB/s"
    assert units.rate(999.6e6, "B/s") == "1.00 GB/s"
    assert units.rate(2.5e15, "FLOP/s") == "2,500 TFLOP/s"
    assert units.rate(0.5, "B/s") == "0.500 B/s"
    assert units.rate(math.inf, "B/s") == "inf B/s"
    assert units.amount(2**20) == "1.00 MiB"
    assert units.amount(2**20 - 1) == "1.00 MiB"
    assert units.amount(0) == "0 bytes"
    assert units.amount(1) == "1 byte"
    assert units.amount(1000) == "1000 bytes"
