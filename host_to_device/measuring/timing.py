"""`h2d.time(fn)`: how long something takes, with what belongs to such a number."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import math
import numbers
import statistics
import time as clock_of_host
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from host_to_device.counting import Count, count
from host_to_device.counting.on_gpu import is_chosen
from host_to_device.measuring.clocks import Clock, DeviceEvents, HostClock, checked, cost_of, drivers, wait
from host_to_device.measuring.doubts import Arrays, Doubt, doubts_about
from host_to_device.rendering import units

REPEAT = 20  # samples, if the time allows
AT_LEAST = 3  # samples, also where the time is used up: fewer have no spread
LONG_ENOUGH = 200  # times the clock's resolution that one sample takes, if need be by several calls
SHORTEST = 2e-4  # seconds of a sample: a shorter one is at the mercy of whatever else the machine does
MOST_CALLS = 10_000  # in one sample
TRIALS, TRIAL_SECONDS = 3, 0.1  # to see how long one call takes: so many, unless they take so long together

PLACES = {
    "GPU": "on the GPU",
    "CPU": "on the CPU",
    "stand-in": "on the stand-in, whose times are not a GPU's",
}


@dataclass(frozen=True)
class Timing:
    """A measurement: `print` shows it in a line, with whatever makes it doubtful below.

    Attributes
    ----------
    name
        What was measured.
    samples
        Seconds a call, one for each repetition.
    calls
        Calls in each of them.
    first
        Seconds of the first call, which is not among the samples, or None where nothing came before them.
    where
        "GPU", "stand-in" or "CPU": what did the work.
    clock
        What was read.
    bytes, flops
        Bytes moved and floating-point operations of one call, where they were given.
    wanted
        How many samples there were to be; fewer are there where they took too long. None: as many as there are.
    counts
        What one call asked of a device: copies, waits, operations; None where that is not known.
    doubts
        What is wrong with the measurement.

    Raises
    ------
    ValueError
        If there are no samples, if one is negative or no number, or if `where` is none of the three.
    """

    name: str
    samples: tuple[float, ...]
    calls: int = 1
    first: float | None = None
    where: str = "CPU"
    clock: str = HostClock.name
    bytes: float | None = None
    flops: float | None = None
    wanted: int | None = None
    counts: Count | None = field(default=None, compare=False, repr=False)
    doubts: tuple[Doubt, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples", tuple(float(each) for each in self.samples))
        if not self.samples:
            raise ValueError("there are no samples: measure once at least")
        for each in self.samples:
            if not (math.isfinite(each) and each >= 0):
                raise ValueError(f"a sample is {each} s, which is no time: leave it out, or measure again")
        if self.where not in PLACES:
            raise ValueError(f"where is {self.where!r}: give one of {', '.join(PLACES)}")

    @property
    def median(self) -> float:
        """The median of the samples, in seconds."""
        return statistics.median(self.samples)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Where the middle half of the samples lies, in seconds."""
        return quartiles(self.samples)

    @property
    def spread(self) -> float:
        """How wide the middle half of the samples is, as a share of the median."""
        low, high = self.quartiles
        return _share(high - low, self.median)

    @property
    def bandwidth(self) -> float | None:
        """Bytes a second, where `bytes` was given."""
        return None if self.bytes is None else _share(self.bytes, self.median)

    @property
    def flop_rate(self) -> float | None:
        """Floating-point operations a second, where `flops` was given."""
        return None if self.flops is None else _share(self.flops, self.median)

    def __str__(self) -> str:
        many = len(self.samples)
        how = [f"median of {many}" + f" × {self.calls:,} calls" * (self.calls > 1)]
        if self.wanted is not None and self.wanted > many:
            how.append(f"as {self.wanted} would have taken too long")
        if many > 1:
            how.append(f"middle half {units.span(*self.quartiles)}")
        parts = [
            f"{self.name}: {units.seconds(self.median)} {PLACES[self.where]} ({', '.join(how)}; {self.clock})"
        ]
        if self.bandwidth is not None:
            parts.append(units.rate(self.bandwidth, "B/s"))
        if self.flop_rate is not None:
            parts.append(units.rate(self.flop_rate, "FLOP/s"))
        if self.first is not None and self.first > 2 * self.median:
            parts.append(f"first call {units.seconds(self.first)}")
        return "\n".join([", ".join(parts), *(f"  doubtful: {doubt}" for doubt in self.doubts)])

    __repr__ = __str__


def _share(amount: float, of: float) -> float:
    if of:
        return amount / of
    return math.inf if amount else 0.0


def quartiles(samples: Sequence[float]) -> tuple[float, float]:
    """Return the first and the third quartile; of a single sample, that sample twice."""
    if len(samples) == 1:
        return samples[0], samples[0]
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return low, high


def time(
    fn: Callable[..., Any],
    *,
    name: str = "",
    inputs: Iterable[Any] = ((),),
    setup: Callable[[], Any] | None = None,
    repeat: int | None = None,
    calls: int | None = None,
    warmup: int = 1,
    seconds: float = 3.0,
    bytes: float | None = None,
    flops: float | None = None,
    synchronize: bool = True,
    waiting: Callable[[], Any] = wait,
    clock: Clock | None = None,
) -> Timing:
    """Measure how long `fn` takes: after a first call, which may compile, several times, and with waits for the device.

    On a GPU two events are read, which the device itself writes down; elsewhere the host's clock, after a wait. The
    function is called more often than there are samples: to warm up, once to see what it asks of a device, and once
    to see how many calls make a sample.

    Parameters
    ----------
    fn
        What is measured. What it raises passes through.
    name
        What it is called in the result; the function's own name if nothing is given.
    inputs
        Tuples of arguments for `fn`, or single arguments, which take turns: several sets that are larger than the
        cache together find nothing there.
    setup
        Called once before everything, and not measured.
    repeat
        How many samples to take; 20 if nothing is given, fewer if they would take longer than `seconds`, but 3.
    calls
        How many calls make a sample; as many as the clock needs if nothing is given, one without a warm-up or a wait.
    warmup
        How many calls, with each set of inputs, come before the first sample and are not among the samples. 0 leaves
        the compilation inside, which is wrong: to be seen once.
    seconds
        How long the samples may take together, roughly.
    bytes, flops
        Bytes that one call moves and floating-point operations that it makes: the result then has a rate.
    synchronize
        False stops the clock as soon as the calls have returned, which is wrong on a GPU: to be seen once.
    waiting
        What waits until the work is done; for devices that this library does not know, or several.
    clock
        What to read instead.

    Returns
    -------
    Timing
        Samples in seconds a call, and what is doubtful about them.

    Raises
    ------
    TypeError
        If `fn` or `waiting` cannot be called, or `fn` would only be prepared by a call, or if `inputs` is no list.
    ValueError
        If there are no inputs, or a number is out of range.
    ClockError
        If the clock goes backwards, or gives no number.
    """
    _check_function(fn)
    if not callable(waiting):
        raise TypeError(f"waiting is {waiting!r}: give a function that returns when the device is done")
    sets = _checked_sets(inputs)
    for given, least, what in ((repeat, 1, "repeat"), (calls, 1, "calls"), (warmup, 0, "warmup")):
        left_out = given is None and what != "warmup"
        if not left_out and not (_is_number(given, numbers.Integral) and given >= least):
            raise ValueError(f"{what} is {given!r}: give a whole number from {least}")
    for given, what in ((seconds, "seconds"), (bytes, "bytes"), (flops, "flops")):
        left_out = given is None and what != "seconds"
        if not left_out and not (_is_number(given) and 0 < given < math.inf):
            raise ValueError(f"{what} is {given!r}: give a finite number above 0")

    prepared = counted(setup) if setup is not None else None
    arrays = Arrays(fn, sets)  # before the work changes them
    turns = [functools.partial(fn, *each) if each else fn for each in sets]
    call = turns[0] if len(turns) == 1 else _taking_turns(turns)

    first = once = None
    if warmup:
        first = HostClock(waiting).measure(turns[0])
        for each in [*turns[1:], *turns * (warmup - 1)]:
            each()
        once = counted(turns[0])
    if clock is None:
        by_events = synchronize and warmup and place_of(once) == "GPU" and drivers()
        clock = DeviceEvents() if by_events else HostClock(waiting if synchronize else None)
        resolution = max(clock.resolution, cost_of(clock))
    else:
        resolution = clock.resolution

    waits_itself = isinstance(clock, HostClock) and clock.waiting is not None
    left_behind = None if waits_itself else LeftBehind(waiting)
    began = clock_of_host.monotonic()
    samples: list[float] = []
    if calls is None:
        calls = 1
        if warmup and synchronize:  # else it is not known how long a call takes
            samples = _trials(clock, call)
            calls = _enough_calls(min(samples), resolution)
            if calls > 1:  # again, as reading the clock was a good part of those
                again = checked(clock.measure(functools.partial(_several, call, calls))) / calls
                calls = _enough_calls(min(again, *samples), resolution)
                samples = []
            samples = samples[:repeat]
    work = call if calls == 1 else functools.partial(_several, call, calls)
    while len(samples) < (repeat or REPEAT):
        if repeat is None and len(samples) >= AT_LEAST and clock_of_host.monotonic() - began > seconds:
            break
        samples.append(checked(clock.measure(work)) / calls)
        if left_behind is not None:
            left_behind.look()
    later = None
    if not warmup:
        later = checked(clock.measure(turns[0]))
        once = counted(turns[0])

    timing = Timing(
        name or _name_of(fn),
        tuple(samples),
        calls=calls,
        first=first,
        where=place_of(once),
        clock=clock.name,
        bytes=bytes,
        flops=flops,
        wanted=repeat or REPEAT,
        counts=once,
    )
    found = doubts_about(
        timing,
        arrays,
        prepared=prepared,
        left_behind=left_behind.seconds / calls if left_behind is not None else 0.0,
        later=later,
        synchronized=synchronize,
    )
    return replace(timing, doubts=tuple(found))


class LeftBehind:
    """How long a device goes on after a clock has stopped.

    Parameters
    ----------
    waiting
        Waits until the device is done.
    """

    def __init__(self, waiting: Callable[[], Any]) -> None:
        self._waiting, self._clock, self._seen = waiting, HostClock(None), []
        waiting()
        self._idle = statistics.median(self._clock.measure(waiting) for _ in range(5))

    def look(self) -> None:
        """Wait, and note how long it took."""
        self._seen.append(self._clock.measure(self._waiting))

    @property
    def seconds(self) -> float:
        """The median of what was noted, less what a wait for nothing takes."""
        return max(0.0, statistics.median(self._seen) - 2 * self._idle) if self._seen else 0.0


def counted(work: Callable[[], Any]) -> Count | None:
    """Call `work()` and return what it asked of a device; None where that cannot be counted.

    On a GPU that is so while another profiler is at work: a measurement is still one without counts.
    """
    counts = count()
    try:
        counts.__enter__()
    except Exception:
        work()
        return None
    try:
        work()
    except BaseException:
        with contextlib.suppress(Exception):
            counts.__exit__()
        raise
    try:
        counts.__exit__()
    except Exception:
        return None
    return counts


def place_of(counts: Count | None) -> str:
    """Return what did the work of which these are the counts: "GPU", "stand-in" or "CPU".

    Where they are not known, it is the GPU if there is one and a library uses it.
    """
    asked: tuple[int | None, ...] = (None,)
    on_gpu = is_chosen() if counts is None else counts.is_on_gpu
    if counts is not None:
        copies = (counts.host_to_device, counts.device_to_host, counts.device_to_device)
        asked = (counts.operations, *(each.count for each in copies))
    if any(asked) or (on_gpu and None in asked and drivers()):
        return "GPU" if on_gpu else "stand-in"
    return "CPU"


def _trials(clock: Clock, call: Callable[[], Any]) -> list[float]:
    """Return how long single calls took: several, so that one that was disturbed does not count."""
    took: list[float] = []
    while len(took) < TRIALS and sum(took) < TRIAL_SECONDS:
        took.append(checked(clock.measure(call)))
    return took


def _enough_calls(alone: float, resolution: float) -> int:
    """Return how many calls make a sample, if one takes so many seconds."""
    wanted = max(LONG_ENOUGH * resolution, SHORTEST)
    return min(MOST_CALLS, math.ceil(wanted / max(alone, wanted / MOST_CALLS)))


def _several(call: Callable[[], Any], calls: int) -> None:
    for _ in itertools.repeat(None, calls):
        call()


def _taking_turns(turns: Sequence[Callable[[], Any]]) -> Callable[[], Any]:
    """Return a function that calls these, one each time."""
    cycle = itertools.cycle(turns)
    return lambda: next(cycle)()


def _check_function(fn: Any) -> None:
    if not callable(fn):
        raise TypeError(f"h2d.time measures a function, and was given {type(fn).__name__}: write lambda: …")
    called = fn.func if isinstance(fn, functools.partial) else fn
    if inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called):
        raise TypeError(f"a call of {_name_of(fn)} only prepares a coroutine: write lambda: asyncio.run(…)")
    if inspect.isgeneratorfunction(called):
        raise TypeError(f"a call of {_name_of(fn)} only prepares a generator: write lambda: list(…)")


def _checked_sets(inputs: Any) -> list[tuple]:
    """Return the sets of arguments as tuples."""
    if hasattr(inputs, "shape") or isinstance(inputs, str | dict) or not isinstance(inputs, Iterable):
        raise TypeError(
            f"inputs is {type(inputs).__name__}: give a list of sets of arguments, inputs=[(x, y), …]"
        )
    sets = [each if isinstance(each, tuple) else (each,) for each in inputs]
    if not sets:
        raise ValueError("inputs is empty: give one set of arguments at least, inputs=[(x, y)]")
    return sets


def _is_number(given: Any, kind: type = numbers.Real) -> bool:
    return isinstance(given, kind) and not isinstance(given, bool)


def _name_of(fn: Any) -> str:
    called = fn.func if isinstance(fn, functools.partial) else fn
    return getattr(called, "__name__", type(called).__name__).replace("<lambda>", "the call")
