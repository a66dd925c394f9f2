"""CuPy's `cupyx.profiler`: repeated timing, and profiler ranges, which do nothing here.

All times are those of this machine's CPU. They say nothing about a GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy import cuda
from host_to_device.standins.cupy.names import public, raise_missing


class _Timings:
    """The times of repeated calls: `cpu_times` and `gpu_times` in seconds; the text gives means in µs.

    Both come from this machine's CPU clock, because the stand-in's events read that clock.
    """

    def __init__(self, name: str, ts: np.ndarray, devices: tuple[int, ...]) -> None:
        self.name, self._ts, self._devices = name, ts, devices

    @property
    def cpu_times(self) -> np.ndarray:
        """Seconds until each call returned, shape `(n_repeat,)`."""
        return self._ts[0]

    @property
    def gpu_times(self) -> np.ndarray:
        """Seconds between an event before and one after each call, shape `(1, n_repeat)`."""
        return self._ts[1:]

    def to_str(self, show_gpu: bool = False) -> str:
        """Return name and mean times, with standard deviation, minimum and maximum for several calls."""
        rows = [_line("CPU", self._ts[0])]
        if show_gpu:
            rows += [
                _line(f"GPU-{device}", times)
                for device, times in zip(self._devices, self._ts[1:], strict=True)
            ]
        return f"{self.name:<20s}:{' '.join(rows)}"

    def __str__(self) -> str:
        return self.to_str(show_gpu=True)

    __repr__ = __str__


def _line(what: str, seconds: np.ndarray) -> str:
    """Return the mean of times in µs; of several also the standard deviation, minimum and maximum."""
    us = seconds * 1e6
    text = f"    {what}: {us.mean():9.03f} us"
    if us.size > 1:
        text += f"   +/- {us.std():6.03f} (min: {us.min():9.03f} / max: {us.max():9.03f}) us"
    return text


def benchmark(
    func: Callable,
    args: tuple = (),
    kwargs: dict[str, Any] = {},  # noqa: B006 - CuPy's signature
    n_repeat: int = 10000,
    *,
    name: str | None = None,
    n_warmup: int = 10,
    max_duration: float = math.inf,
    devices: tuple[int, ...] | None = None,
) -> _Timings:
    """Call a function repeatedly and return its times, which are this machine's CPU's.

    Parameters
    ----------
    func, args, kwargs
        The function and its arguments.
    n_repeat
        Number of timed calls.
    name
        Name in the text; by default the function's.
    n_warmup
        Number of untimed calls before.
    max_duration
        Seconds after which timing ends.
    devices
        Numbers of devices; the stand-in has one: `(0,)`.

    Raises
    ------
    ValueError
        If an argument has the wrong type.
    """
    name = func.__name__ if name is None else name
    devices = (0,) if devices is None else devices
    checks = (
        (callable(func), "`func` should be a callable object."),
        (isinstance(args, tuple), "`args` should be of tuple type."),
        (isinstance(kwargs, dict), "`kwargs` should be of dict type."),
        (isinstance(n_repeat, int), "`n_repeat` should be an integer."),
        (isinstance(name, str), "`name` should be a string."),
        (isinstance(n_warmup, int), "`n_warmup` should be an integer."),
        (np.isreal(max_duration), "`max_duration` should be given in seconds"),
        (isinstance(devices, tuple), "`devices` should be of tuple type"),
    )
    for is_right, text in checks:
        if not is_right:
            raise ValueError(text)
    for _ in range(n_warmup):
        func(*args, **kwargs)
    for _ in devices:
        events.waited("benchmark")
    times: list[tuple[float, ...]] = []
    duration = 0.0
    for _ in range(n_repeat):
        pairs = [(cuda.Event(), cuda.Event()) for _ in devices]
        for start, _ in pairs:
            start.record()
        before = time.perf_counter()
        func(*args, **kwargs)
        after = time.perf_counter()
        for _, stop in pairs:
            stop.record()
        for _ in devices:
            events.waited("benchmark")
        times.append((after - before, *(cuda.get_elapsed_time(*pair) / 1e3 for pair in pairs)))
        duration += time.perf_counter() - before
        if duration > max_duration:
            break
    return _Timings(name, np.array(times).T, devices)


class time_range:
    """A range that a profiler would show; here it does nothing. Use it in a `with` statement or as a decorator.

    Parameters
    ----------
    message, color_id, argb_color, sync
        Ignored here.
    """

    def __init__(
        self,
        message: str | None = None,
        color_id: int | None = None,
        argb_color: int | None = None,
        sync: bool = False,
    ) -> None:
        self.message = message

    def __enter__(self) -> time_range:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __call__(self, func: Callable) -> Callable:
        return func


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Do nothing for the length of a `with` block: NVIDIA's profilers cannot observe the stand-in."""
    yield


def load_ipython_extension(ipython: Any) -> None:
    """Give a notebook CuPy's magic `%gpu_timeit`, by `%load_ext cupyx.profiler`: it times a line or a cell."""

    def gpu_timeit(line: str, cell: str | None = None) -> None:
        parser = argparse.ArgumentParser(prog="%gpu_timeit", add_help=False, exit_on_error=False)
        parser.add_argument("-n", "--n-repeat", type=int, default=10000)
        parser.add_argument("-w", "--n-warmup", type=int, default=10)
        parser.add_argument("--max-duration", type=float, default=math.inf)
        parser.add_argument("code", nargs=argparse.REMAINDER)
        given = parser.parse_args(line.split(" "))
        names = ipython.user_ns
        if cell is None:
            code = compile(" ".join(given.code).strip(), "<gpu_timeit>", "eval")
            run = lambda: eval(code, names)  # noqa: E731 - `benchmark` shows its name, as CuPy does
        else:
            code = compile(textwrap.dedent(cell), "<gpu_timeit>", "exec")
            run = lambda: exec(code, names)  # noqa: E731
        run.__name__ = "run"
        print(
            benchmark(run, n_repeat=given.n_repeat, n_warmup=given.n_warmup, max_duration=given.max_duration)
        )

    ipython.register_magic_function(gpu_timeit, "line_cell", "gpu_timeit")


def __getattr__(name: str) -> Any:
    raise_missing("cupyx.profiler", name)


def __dir__() -> list[str]:
    return public(globals())
