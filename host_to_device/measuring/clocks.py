"""What a measurement reads: the events of a device where there is one, else the clock of the host.

Work on a GPU goes on after the call that asked for it has returned, so a host's clock says something about it only
after a wait. An event is written down by the device itself, between the work before and the work after it (NVIDIA,
"CUDA C++ Programming Guide", section on events).
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

from host_to_device.starting import machine


class ClockError(RuntimeError):
    """The time that was measured cannot be: the message says what to do. Notebooks show the line alone."""

    def _render_traceback_(self) -> list[str]:
        return [f"host_to_device: {self}"]


class Clock(Protocol):
    """Something that measures a stretch of time.

    Attributes
    ----------
    name
        What it is, for the line that a timing prints.
    resolution
        Seconds below which it says nothing.
    """

    name: str
    resolution: float

    def measure(self, work: Callable[[], Any]) -> float:
        """Return the seconds that `work()` took, with all that it asked of a device."""


def checked(seconds: float) -> float:
    """Return the seconds that a clock gave.

    Raises
    ------
    ClockError
        If they are negative, or no number.
    """
    if seconds < 0:
        raise ClockError(f"the clock went backwards while it measured, by {-seconds:.3g} s: measure again")
    if not math.isfinite(seconds):
        raise ClockError(
            f"the clock gave {seconds} s, which is no time: measure again, or with another clock"
        )
    return seconds


def loaded(name: str) -> Any:
    """Return a module that the program has imported, or None."""
    return sys.modules.get(name)


def drivers() -> dict[str, Any]:
    """Return what drives a GPU in this program: `torch.cuda`, `cupy.cuda` and `numba.cuda`, as far as they are used.

    They are the modules themselves, PyTorch's first. Stand-ins are none of them, nor is a library that was imported
    on a machine without a GPU. PyTorch that has not used the GPU yet has nothing to wait for, and is left asleep.
    """
    found: dict[str, Any] = {}
    if (torch := loaded("torch")) is not None and torch.cuda.is_initialized():
        found["torch"] = torch.cuda
    if machine.chosen == "stand-in":
        return found
    if (cupy := loaded("cupy")) is not None and cupy.cuda.is_available():
        found["cupy"] = cupy.cuda
    if (cuda := loaded("numba.cuda")) is not None and cuda.is_available():
        found["numba"] = cuda
    return found


def wait() -> None:
    """Wait until everything that was asked of a GPU is done, whichever library asked for it.

    That is the device which each library has chosen; for several at once, give `h2d.time` a `waiting` of your own.
    Stand-ins have nothing to wait for: they have done their work when a call returns.
    """
    found = drivers()
    for library, cuda in found.items():
        if library == "cupy":
            cuda.Device().synchronize()
        else:
            cuda.synchronize()
    if not found and (torch := loaded("torch")) is not None and torch.backends.mps.is_available():
        torch.mps.synchronize()


class HostClock:
    """The clock of the host, read after a wait for the device; without it (`waiting=None`) it reads too early.

    Parameters
    ----------
    waiting
        Waits until the device is done, before the first reading and before the second.
    ticks
        Returns the seconds since some moment.
    """

    name = "host clock"
    resolution = 1e-7

    def __init__(
        self, waiting: Callable[[], Any] | None = wait, ticks: Callable[[], float] = time.perf_counter
    ) -> None:
        self.waiting, self.ticks = waiting, ticks
        if waiting is None:
            self.name = "host clock without waiting for the device"

    def measure(self, work: Callable[[], Any]) -> float:
        """Return the seconds that `work()` took.

        Raises
        ------
        ClockError
            If the clock went backwards.
        """
        if self.waiting is None:
            begin = self.ticks()
            work()
            return checked(self.ticks() - begin)
        self.waiting()
        begin = self.ticks()
        work()
        self.waiting()
        return checked(self.ticks() - begin)


class DeviceEvents:
    """Two events in the current stream of the GPU, by whichever library the program uses.

    The libraries share the default stream, so the events of one time the work of all. Work in another stream is
    among it as long as that stream waits for the default stream, as Numba's and CuPy's streams do unless they were
    made not to, and PyTorch's do not: `h2d.time` sees whether the device went on after the second event.
    """

    name = "device events"
    resolution = 5e-7  # NVIDIA, "CUDA Runtime API", cudaEventElapsedTime

    def measure(self, work: Callable[[], Any]) -> float:
        """Return the seconds between the events before and after `work()`.

        Raises
        ------
        ClockError
            If no library drives a GPU here, or if the second event came first.
        """
        found = drivers()
        if not found:
            raise ClockError(
                "no library that drives a GPU is in use here, so there are no events to time with"
            )
        library, cuda = next(iter(found.items()))
        begin, end = _event(library, cuda), _event(library, cuda)
        wait()
        begin.record()
        work()
        end.record()
        end.synchronize()
        return checked(_milliseconds(library, cuda, begin, end) / 1000)


def _event(library: str, cuda: Any) -> Any:
    """Return a new event that keeps the time."""
    if library == "torch":
        return cuda.Event(enable_timing=True)
    return cuda.Event() if library == "cupy" else cuda.event()


def _milliseconds(library: str, cuda: Any, begin: Any, end: Any) -> float:
    """Return the milliseconds between two events that have happened."""
    if library == "torch":
        return begin.elapsed_time(end)
    return cuda.get_elapsed_time(begin, end) if library == "cupy" else cuda.event_elapsed_time(begin, end)


def cost_of(clock: Clock, times: int = 5) -> float:
    """Return the seconds that a clock measures where there is nothing to measure."""
    return statistics.median(clock.measure(_nothing) for _ in range(times))


def _nothing() -> None:
    pass
