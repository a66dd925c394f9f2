"""The verdicts on measurements: each on a wrong run as a learner makes it, and on the same run put right.

A verdict must fire on the first and be silent on the second. The runs are real; where a test asks only for
arithmetic, its samples are given.
"""

import functools
import itertools
import time as clock_of_host
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from host_to_device.measuring import doubts, known_limits
from host_to_device.measuring.doubts import doubts_about
from host_to_device.measuring.timing import LeftBehind, time
from host_to_device.measuring.timings import ADVICE, Doubt, Timing
from host_to_device.standins import numba_cuda as cuda
from host_to_device.starting import machine

MIB = 2**20


def kinds(timing):
    return {doubt.kind for doubt in timing.doubts}


def text(timing, kind):
    return next(str(doubt) for doubt in timing.doubts if doubt.kind == kind)


@pytest.fixture(autouse=True)
def a_machine_without_a_past(monkeypatch):
    """Neither this machine's record nor its GPU, if it has one, decides, nor what other tests have started."""
    monkeypatch.setattr(known_limits, "peak", lambda what, where: None)
    monkeypatch.setattr(machine, "chosen", None)
    monkeypatch.setenv("H2D_MACHINE", "stand-in")


@pytest.fixture
def x():
    return np.random.default_rng(1).random(1000)


@cuda.jit
def add_one(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += 1


# Too fast


COPIED = 32 * MIB  # bytes of the array; twice as many are moved


def test_a_rate_above_the_peak(monkeypatch):
    """The bytes of a copy, counted ten times too high."""
    source, target = np.random.default_rng(1).random(COPIED // 8), np.empty(COPIED // 8)

    def copy():
        np.copyto(target, source)

    def fastest():
        return 2 * COPIED / min(time(copy, repeat=5).samples)

    before = fastest()
    # Measured again when it is asked for: the machine may have been busier before.
    monkeypatch.setattr(
        known_limits, "peak", lambda what, where: max(before, fastest()) if what == "copy bandwidth" else None
    )
    wrong = time(copy, repeat=5, bytes=20 * COPIED)
    assert "too fast" in kinds(wrong)
    assert "times what this machine reaches" in text(wrong, "too fast")
    assert "too fast" not in kinds(time(copy, repeat=5, bytes=2 * COPIED))


def test_more_operations_than_the_fastest_matrix_product(monkeypatch):
    """n³ operations more than there are: the learner counted bytes, or a loop too many."""
    a = np.random.default_rng(1).random((256, 256))
    flops = 2 * 256**3

    durations = []

    def product():
        began = clock_of_host.perf_counter()
        a @ a
        durations.append(clock_of_host.perf_counter() - began)

    def fastest(what, where):  # of all that were timed: a busy machine may slow down some of them
        return flops / min(durations) if what == "matmul" else None

    monkeypatch.setattr(known_limits, "peak", fastest)
    assert "too fast" in kinds(time(product, repeat=5, flops=256 * flops))
    assert "too fast" not in kinds(time(product, repeat=5, flops=flops // 2))


def test_a_stand_ins_rate_is_held_against_no_peak(monkeypatch):
    monkeypatch.setattr(known_limits, "peak", lambda what, where: 1.0)
    assert kinds_of(samples=(1.0,) * 5, bytes=1000, where="stand-in") == set()
    assert kinds_of(samples=(1.0,) * 5, bytes=1000, where="CPU") == {"too fast"}


def test_a_clock_that_saw_no_time_pass(monkeypatch):
    monkeypatch.setattr(known_limits, "peak", lambda what, where: 1.0)
    found = doubts_about(Timing("x", (0.0,) * 5, bytes=1))
    assert [each.kind for each in found] == ["too fast", "too few"]
    assert all("inf" not in each.text for each in found)


# Compile inside


def fresh():
    """Return a function that Numba has not compiled."""

    @numba.njit
    def total(a):
        result = 0.0
        for i in range(a.size):
            result += a[i]
        return result

    return total


@pytest.mark.parametrize("repeat", [1, 2, 10])
def test_the_first_call_compiles(x, repeat):
    wrong = time(fresh(), inputs=[(x,)], warmup=0, repeat=repeat)
    assert "compile inside" in kinds(wrong)
    assert wrong.first is None
    assert "the first call took" in text(wrong, "compile inside")
    right = time(fresh(), inputs=[(x,)], repeat=repeat)
    assert "compile inside" not in kinds(right)
    assert right.first > 10 * right.median  # it is there, but apart


def test_each_set_of_inputs_compiles():
    """One warm-up would leave the compilation for the second dtype among the samples."""
    sets = [(np.ones(1000, dtype),) for dtype in (np.float64, np.float32, np.int64)]
    right = time(fresh(), inputs=sets, repeat=6)
    assert max(right.samples) < 0.2 * right.first


def test_a_first_call_by_hand_is_a_first_call_too(x):
    function = fresh()
    function(x)
    assert "compile inside" not in kinds(time(function, inputs=[(x,)], warmup=0, repeat=10))


# No wait


@pytest.fixture
def device():
    """A device that works on its own: its `ask` returns at once, its `finish` waits."""
    with ThreadPoolExecutor(1) as pool:

        class Device:
            def __init__(self):
                self.asked = []

            def ask(self):
                self.asked.append(pool.submit(clock_of_host.sleep, 0.005))

            def finish(self):
                wait(self.asked)
                self.asked.clear()

        yield Device()


def test_the_device_goes_on_when_the_clock_has_stopped(device):
    wrong = time(device.ask, waiting=device.finish, synchronize=False, repeat=5)
    assert "no wait" in kinds(wrong)
    assert "the device worked for" in text(wrong, "no wait")
    right = time(device.ask, waiting=device.finish, repeat=5)
    assert "no wait" not in kinds(right)
    assert wrong.median < 0.5 * right.median
    assert right.median >= 0.005


def test_a_wait_inside_what_is_measured_will_do(device):
    def ask_and_wait():
        device.ask()
        device.finish()

    assert "no wait" not in kinds(time(ask_and_wait, waiting=device.finish, synchronize=False, repeat=5))


@pytest.mark.parametrize(
    ("waits", "idle", "fires"),
    [
        ([5e-3] * 20, [5e-6] * 20, True),
        ([5e-3] * 17 + [5e-6] * 3, [5e-6] * 17 + [5e-3] * 3, True),
        ([5e-6] * 8 + [2e-3] * 12, [5e-6] * 20, False),  # most waits are long, but not nearly all
        ([2e-3] * 20, [5e-6] * 12 + [2e-3] * 8, False),  # an idle device is as slow
        ([3e-3], [5e-6], True),
        ([5e-6] * 3, [5e-6] * 3, False),
    ],
)
def test_another_programs_work_is_not_what_a_call_left_behind(waits, idle, fires):
    """On a GPU that other programs use, too, many waits are long although no work is left."""
    left = LeftBehind(lambda: None)
    times = iter([each for pair in zip(waits, idle, strict=True) for each in pair])
    left._clock = SimpleNamespace(measure=lambda waiting: next(times))
    for _ in waits:
        left.look()
    found = doubts_about(Timing("x", (252e-6,) * 5, where="GPU"), left_behind=left.seconds)
    assert ("no wait" in {each.kind for each in found}) == fires


def test_work_that_the_clock_did_not_see(device):
    """The events of one stream say nothing of another: the device goes on, although the clock has waited."""

    class EventsOfAnotherStream:
        name, resolution = "events", 1e-6

        def measure(self, work):
            begin = clock_of_host.perf_counter()
            work()
            return clock_of_host.perf_counter() - begin

    timing = time(device.ask, waiting=device.finish, clock=EventsOfAnotherStream(), calls=1, repeat=5)
    assert "no wait" in kinds(timing)


def test_a_kernel_that_nobody_waits_for_on_the_stand_in(x):
    d_x = cuda.to_device(x)

    def launch():
        add_one[4, 256](d_x)

    wrong = time(launch, synchronize=False, repeat=5)
    assert "no wait" in kinds(wrong)
    assert "1 operation on the device, and the host did not wait" in text(wrong, "no wait")
    assert "no wait" not in kinds(time(launch, repeat=5))


def test_on_the_stand_in_a_wait_before_the_work_is_none_after_it(x):
    def copy_and_launch():
        add_one[4, 256](cuda.to_device(x))

    def launch_and_wait():
        copy_and_launch()
        cuda.synchronize()

    def launch_and_read():
        d_x = cuda.to_device(x)
        add_one[4, 256](d_x)
        d_x.copy_to_host()

    assert "no wait" in kinds(time(copy_and_launch, synchronize=False, repeat=5))
    assert "no wait" not in kinds(time(launch_and_wait, synchronize=False, repeat=5))
    assert "no wait" not in kinds(time(launch_and_read, synchronize=False, repeat=5))


def test_a_function_without_a_device_needs_no_wait(x):
    assert "no wait" not in kinds(time(lambda: x + 1, synchronize=False, repeat=5))


# Copies left out


@pytest.fixture
def on_device(x):
    """`setup` copies to the device; the two others work on it there."""

    class Steps:
        def setup(self):
            self.d_x = cuda.to_device(x)

        def launch(self):
            add_one[4, 256](self.d_x)

        def launch_and_read(self):
            self.launch()
            return self.d_x.copy_to_host()

        def all_of_it(self):
            self.setup()
            return self.launch_and_read()

    return Steps()


def test_the_copies_are_made_before_the_clock_starts(on_device):
    wrong = time(on_device.launch, setup=on_device.setup, repeat=5)
    assert "copies left out" in kinds(wrong)
    assert "7.81 KiB went to the device before the clock started" in text(wrong, "copies left out")
    assert "copies left out" in kinds(time(on_device.launch_and_read, setup=on_device.setup, repeat=5))
    assert "copies left out" not in kinds(time(on_device.all_of_it, setup=on_device.setup, repeat=5))
    assert "copies left out" not in kinds(time(on_device.all_of_it, repeat=5))


def test_a_preparation_that_copies_nothing(x):
    assert "copies left out" not in kinds(time(lambda: x + 1, setup=lambda: np.sort(x), repeat=5))


# Fits in cache


def sets(count, nbytes=MIB):
    generator = np.random.default_rng(1)
    return [(generator.random(nbytes // 8),) for _ in range(count)]


def total(a):
    return a.sum()


@pytest.fixture
def cache():
    size = known_limits.cache_size("CPU")
    if size is None or size > 512 * MIB:
        pytest.skip("the size of this machine's cache is not known, or too large for a test")
    return size


def test_inputs_smaller_than_the_cache(cache):
    wrong = time(total, inputs=sets(1), bytes=MIB, repeat=5)
    assert "fits in cache" in kinds(wrong)
    assert "the inputs, 1.00 MiB, fit in the cache" in text(wrong, "fits in cache")
    right = time(total, inputs=sets(cache // MIB + 1), bytes=MIB, repeat=5)
    assert "fits in cache" not in kinds(right)


def test_the_same_set_many_times_is_one_set(cache):
    (one,) = sets(1)
    assert "fits in cache" in kinds(time(total, inputs=[one] * (cache // MIB + 1), bytes=MIB, repeat=5))
    views = [(one[0][:],) for _ in range(cache // MIB + 1)]
    assert "fits in cache" in kinds(time(total, inputs=views, bytes=MIB, repeat=5))


def test_a_cache_misleads_only_where_a_rate_of_the_memory_is_claimed(monkeypatch, x):
    monkeypatch.setattr(known_limits, "cache_size", lambda where: 1 * MIB)
    assert "fits in cache" not in kinds(time(total, inputs=[(x,)], repeat=5)), "a time"
    assert "fits in cache" not in kinds(time(total, inputs=[(x,)], flops=1000, repeat=5)), "operations"
    assert "fits in cache" in kinds(time(total, inputs=[(x,)], bytes=8000, repeat=5))


def test_arrays_that_the_function_brings_along(monkeypatch, x):
    """Most functions that are measured are lambdas over arrays of the notebook: with a rate, they are looked at."""
    monkeypatch.setattr(known_limits, "cache_size", lambda where: 1 * MIB)
    large = np.random.default_rng(1).random(MIB)
    assert "fits in cache" in kinds(time(lambda: x + 1, bytes=16_000, repeat=5))
    assert "fits in cache" in kinds(time(functools.partial(np.add, x, 1), bytes=16_000, repeat=5))
    assert "fits in cache" not in kinds(time(lambda: x + 1, repeat=5)), "nothing is said about a rate"
    assert "fits in cache" not in kinds(time(lambda: large + 1, bytes=16 * MIB, repeat=5))


def test_where_the_cache_is_not_known_nothing_is_said(monkeypatch):
    monkeypatch.setattr(known_limits, "cache_size", lambda where: None)
    assert "fits in cache" not in kinds(time(total, inputs=sets(1), bytes=MIB, repeat=5))


def test_a_stand_ins_device_has_no_cache(x):
    d_x = cuda.to_device(x)
    timing = time(lambda a: add_one[4, 256](a), inputs=[(d_x,)], bytes=16_000, repeat=5)
    assert "fits in cache" not in kinds(timing)


# Too few


def noisy():
    """Return a function that takes 0.4 to 1.6 ms, and no two calls the same."""
    lengths = itertools.cycle((1.0, 0.4, 1.6, 0.7, 1.3))

    def spin():
        end = clock_of_host.perf_counter() + 1e-3 * next(lengths)
        while clock_of_host.perf_counter() < end:
            pass

    return spin


def test_too_few_samples_for_the_spread():
    wrong = time(noisy(), repeat=5, calls=1)
    assert "too few" in kinds(wrong)
    assert "the 5 samples differ" in text(wrong, "too few")
    # The advice is to repeat it more often; how often is enough depends on how busy the machine is.
    assert any(
        "too few" not in kinds(time(noisy(), repeat=repeat, calls=1)) for repeat in (600, 1200, 2400, 4800)
    )


@pytest.mark.parametrize("repeat", [1, 2])
def test_one_or_two_samples_show_no_spread(repeat):
    assert "nothing about the spread" in text(time(noisy(), repeat=repeat), "too few")


# Zeros


def test_zeros_as_data():
    """A product of zeros; then of numbers, and with an output that is still zero."""
    zeros, numbers = np.zeros((64, 64)), np.random.default_rng(1).random((64, 64))
    out = np.zeros((64, 64))
    assert "zeros" in kinds(time(np.matmul, inputs=[(zeros, zeros)], repeat=5))
    assert "zeros" not in kinds(time(np.matmul, inputs=[(numbers, numbers)], repeat=5))
    assert "zeros" in kinds(time(lambda: np.matmul(zeros, zeros), repeat=5))
    assert "zeros" not in kinds(time(lambda: np.matmul(numbers, numbers, out=out), repeat=5))


def test_zeros_are_looked_for_before_the_work_and_after_it(x):
    """An output that was zero before is no input; one that is no longer zero does not hide zeros that were read."""
    out = np.zeros(1000)
    assert "zeros" not in kinds(time(lambda: out.fill(1.0), repeat=5))
    for zeros, fires in ((np.zeros(1000), True), (x, False)):
        out = np.zeros(1000)
        assert ("zeros" in kinds(time(np.add, inputs=[(zeros, 1.0, out)], repeat=5))) == fires


def test_zeros_on_the_device(x):
    @cuda.jit
    def increase(a, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = a[i] + 1

    zeros, numbers = cuda.to_device(np.zeros(1000)), cuda.to_device(x)
    for given, fires in ((zeros, True), (numbers, False)):
        out = cuda.to_device(np.zeros(1000))
        assert (
            "zeros" in kinds(time(lambda a, o: increase[4, 256](a, o), inputs=[(given, out)], repeat=5))
        ) == fires


def test_zeros_in_front_are_not_all_zeros():
    padded = np.zeros(2 * doubts.LOOKED_AT)
    padded[-1] = 1
    assert "zeros" not in kinds(time(total, inputs=[(padded,)], repeat=5))


@pytest.mark.parametrize(
    "array", [np.zeros(0), np.array(["", ""]), np.zeros(3, [("a", "f4")]), np.array(None)], ids=str
)
def test_arrays_that_are_no_numbers_say_nothing(array):
    assert "zeros" not in kinds(time(lambda a: None, inputs=[(array,)], repeat=5))


def test_an_array_that_cannot_be_looked_at_says_nothing():
    class Broken:
        shape, nbytes = (10,), 80

        def __getitem__(self, item):
            raise RuntimeError("this memory is gone")

    assert kinds(time(lambda a: None, inputs=[(Broken(),)], repeat=5)) <= {"too few"}


# All of them


def kinds_of(samples, **more):
    """Return the kinds of verdicts on given samples."""
    return {each.kind for each in doubts_about(Timing("x", samples, first=1.0, **more))}


def test_a_right_measurement_is_not_doubted(monkeypatch):
    monkeypatch.setattr(known_limits, "peak", lambda what, where: 100.0)
    assert kinds_of(samples=(1.0, 1.01, 0.99, 1.0, 1.02), bytes=100, flops=100) == set()


@pytest.mark.parametrize("kind", ADVICE)
def test_each_kind_says_what_to_do(kind):
    doubt = Doubt(kind, "something was seen")
    assert str(doubt) == f"something was seen. {ADVICE[kind]}"
    assert "\n" not in str(doubt)


def test_every_kind_is_tested_here():
    source = Path(__file__).read_text()
    for kind in ADVICE:
        assert f'"{kind}" in kinds(' in source or f'"{kind}" in kinds(wrong)' in source, kind
        assert f'"{kind}" not in kinds(' in source, kind
