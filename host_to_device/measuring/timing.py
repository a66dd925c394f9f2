"""`h2d.time(fn)`: measure how long a call takes, and say what makes the number doubtful."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import math
import numbers
import os
import time as clock_of_host
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from host_to_device.counting import Count
from host_to_device.counting.numbers import NOT_KNOWN
from host_to_device.counting.on_gpu import is_chosen
from host_to_device.measuring.clocks import Clock, DeviceEvents, HostClock, checked, cost_of, drivers, wait
from host_to_device.measuring.doubts import Arrays, doubts_about
from host_to_device.measuring.timings import Timing, quartiles
from host_to_device.standins.kernels import is_raw, launched_kernel, name_of
from host_to_device.starting import context

REPEAT = 20  # samples, if the time allows
AT_LEAST = 3  # samples, even where the time is used up: fewer have no spread
LONG_ENOUGH = 200  # a sample takes at least this many times the clock's resolution
SHORTEST = 2e-4  # seconds of a sample: the rest of the machine disturbs a shorter one too much
MOST_CALLS = 10_000  # in one sample
TRIALS, TRIAL_SECONDS = (
    3,
    0.1,
)  # single calls to see how long one takes, and the seconds after which no more are made


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
    """Measure how long a call of `fn` takes.

    The first call, which may compile, is measured apart. Then come several samples, each with a wait for the device.
    On a GPU the clock is a pair of events, which the device itself records; elsewhere it is the host's clock. `fn` is
    called more often than there are samples: to warm up, to count what one call asks of a device, and to find out how
    many calls make a sample.

    Parameters
    ----------
    fn
        The function to measure. An exception that it raises passes through.
    name
        The name in the result; the function's own name if nothing is given.
    inputs
        Sets of arguments for `fn`, each a tuple or a single argument. They take turns. Give several sets that are
        together larger than the cache, so that no call finds its data in the cache.
    setup
        A function to call once before everything else; it is not measured.
    repeat
        The number of samples. If nothing is given, 20, or fewer (at least 3) if 20 would take longer than `seconds`.
    calls
        The number of calls in a sample. If nothing is given, as many as the clock needs; without a warm-up or without
        a wait, one.
    warmup
        The number of calls with each set of inputs before the first sample. With 0 the first sample includes the
        compilation: a mistake that a lesson shows.
    seconds
        The time that the samples may take together, roughly. The environment variable `H2D_SECONDS` shortens every
        series, for a run of a notebook that only has to show that its cells work.
    bytes, flops
        Bytes that one call moves, and floating-point operations that it performs: the result then has a rate.
    synchronize
        False stops the clock as soon as the calls have returned. On a GPU that is a mistake, which a lesson shows.
    waiting
        The function that waits until the work is done, for several devices or devices that this library does not know.
    clock
        Another clock to read.

    Returns
    -------
    Timing
        The samples, in seconds per call, and the reasons to doubt them.

    Raises
    ------
    TypeError
        If `fn` or `waiting` cannot be called, if a call of `fn` only prepares a coroutine or a generator, or if
        `inputs` is not a list.
    ValueError
        If there are no inputs, or if a number is out of range.
    ClockError
        If the clock goes backwards, or gives no number.

    Examples
    --------
    >>> x = np.ones((256, 256))
    >>> timing = h2d.time(lambda: x @ x, flops=2 * 256**3, repeat=5)
    >>> print(timing)
    the call: ... on the CPU (median of 5...; host clock), ...FLOP/s...
    >>> timing.median > 0
    True
    """
    _check_function(fn)
    if not callable(waiting):
        raise TypeError(f"waiting is {waiting!r}: give a function that returns when the device is done")
    sets = _checked_sets(inputs)
    whole: dict[str, tuple[Any, int]] = {"repeat": (repeat, 1), "calls": (calls, 1), "warmup": (warmup, 0)}
    for what, (given, least) in whole.items():
        left_out = given is None and what != "warmup"
        if not left_out and not (_is_number(given, numbers.Integral) and given >= least):
            raise ValueError(f"{what} is {given!r}: give a whole number from {least}")
    positive: dict[str, Any] = {"seconds": seconds, "bytes": bytes, "flops": flops}
    for what, given in positive.items():
        left_out = given is None and what != "seconds"
        if not left_out and not (_is_number(given) and 0 < given < math.inf):
            raise ValueError(f"{what} is {given!r}: give a finite number above 0")

    seconds = min(seconds, _longest())

    if context.is_lost(wait):  # the CPU's work can be measured all the same
        context.tell_once()
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
    place = place_of(once, arrays)
    if clock is None:
        # A learner's own wait may be for devices of which the events know nothing.
        by_events = synchronize and warmup and waiting is wait and place == "GPU" and drivers()
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
        if warmup and synchronize:  # otherwise nothing says how long a call takes
            samples = _trials(clock, call)
            calls = _enough_calls(min(samples), resolution)
            if calls > 1:  # again: reading the clock was a good part of the trials
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
        place = place_of(once, arrays)

    timing = Timing(
        name or _name_of(fn),
        tuple(samples),
        calls=calls,
        first=first,
        where=place,
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
    """Measures how long a device goes on working after a clock has stopped.

    A call that leaves work behind does so each time. On a GPU that other programs use, too, some waits are long because
    another program's work is in the way, even if nothing was left behind. So nearly all waits after a sample have to be
    longer than waits for the idle device that follow them.

    Parameters
    ----------
    waiting
        The function that waits until the device is done.
    """

    def __init__(self, waiting: Callable[[], Any]) -> None:
        self._waiting, self._clock = waiting, HostClock(None)
        self._seen: list[float] = []
        self._idle: list[float] = []
        waiting()

    def look(self) -> None:
        """Wait, and note how long the wait took; then how long one more wait takes, for which no work is left."""
        self._seen.append(self._clock.measure(self._waiting))
        self._idle.append(self._clock.measure(self._waiting))

    @property
    def seconds(self) -> float:
        """The lower quartile of the waits, less twice the upper quartile of the waits for the idle device."""
        if not self._seen:
            return 0.0
        return max(0.0, quartiles(self._seen)[0] - 2 * quartiles(self._idle)[1])


def counted(work: Callable[[], Any]) -> Count | None:
    """Call `work()` and return what it asked of a device; None where that cannot be counted.

    On a GPU it cannot be counted while another profiler runs. The measurement then goes on without counts.
    """
    counts = Count(speaks=False)
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


def place_of(counts: Count | None, arrays: Arrays | None = None) -> str:
    """Return what did the counted work: "GPU", "stand-in" or "CPU".

    Parameters
    ----------
    counts
        What one call asked of a device; None where that could not be counted.
    arrays
        The arrays that it worked on. Without CUPTI not everything is counted: then a GPU is taken to have worked if one
        of the arrays is on it, or memory was allocated there.
    """
    if counts is not None:
        if counts.places:
            return "GPU" if "GPU" in counts.places else "stand-in"
        copies = (counts.host_to_device, counts.device_to_host, counts.device_to_device)
        if NOT_KNOWN not in (counts.operations, *(each.count for each in copies)):
            return "CPU"
        if arrays is None or not arrays.on_device:
            return "CPU"
    return "GPU" if is_chosen() and drivers() else "CPU"


def _trials(clock: Clock, call: Callable[[], Any]) -> list[float]:
    """Return the seconds of several single calls, so that one disturbed call does not decide."""
    took: list[float] = []
    while len(took) < TRIALS and sum(took) < TRIAL_SECONDS:
        took.append(checked(clock.measure(call)))
    return took


def _enough_calls(alone: float, resolution: float) -> int:
    """Return how many calls make a sample, if one call takes `alone` seconds."""
    wanted = max(LONG_ENOUGH * resolution, SHORTEST)
    return min(MOST_CALLS, math.ceil(wanted / max(alone, wanted / MOST_CALLS)))


def _several(call: Callable[[], Any], calls: int) -> None:
    for _ in itertools.repeat(None, calls):
        call()


def _taking_turns(turns: Sequence[Callable[[], Any]]) -> Callable[[], Any]:
    """Return a function that calls the next of these each time."""
    cycle = itertools.cycle(turns)
    return lambda: next(cycle)()


def _longest() -> float:
    """Return the seconds that the environment gives each series.

    Raises
    ------
    ValueError
        If `H2D_SECONDS` is no number above 0.
    """
    given = os.environ.get("H2D_SECONDS", "") or "inf"
    try:
        found = float(given)
    except ValueError:
        found = math.nan
    if not found > 0:
        raise ValueError(f"H2D_SECONDS is {given!r}: give a number of seconds above 0, or unset it")
    return found


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
    kernel = called if is_raw(called) else launched_kernel(called)
    if kernel is not None:
        return name_of(kernel)
    return getattr(called, "__name__", type(called).__name__).replace("<lambda>", "the call")
