"""The clocks of a measurement: the events of a device where there is one, otherwise the host's clock.

A call that launches work on a GPU returns before the work is done, so the host's clock has to be read after a wait.
The device itself records an event, between the work before it and the work after it (NVIDIA, "CUDA C++ Programming
Guide", section on events).
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

from host_to_device.starting import context, machine
from host_to_device.support.messages import OneLine


class ClockError(OneLine, RuntimeError):
    """A clock gave an impossible time: the message says what to do."""


class Clock(Protocol):
    """Something that measures a stretch of time.

    Attributes
    ----------
    name
        Its name in the line that a timing prints.
    resolution
        The shortest time that it can tell from none, in seconds.
    """

    name: str
    resolution: float

    def measure(self, work: Callable[[], Any]) -> float:
        """Return the seconds that `work()` took, including the work that it asked of a device."""


def checked(seconds: float) -> float:
    """Return the seconds that a clock gave.

    Raises
    ------
    ClockError
        If they are negative or not a finite number.
    """
    if seconds < 0:
        raise ClockError(f"the clock went backwards while it measured, by {-seconds:.3g} s: measure again")
    if not math.isfinite(seconds):
        raise ClockError(
            f"the clock gave {seconds} s, which is not a valid time: measure again, or with another clock"
        )
    return seconds


def loaded(name: str) -> Any:
    """Return a module that the program has imported, or None."""
    return sys.modules.get(name)


def drivers() -> dict[str, Any]:
    """Return the modules that drive a GPU in this program: `torch.cuda`, `cupy.cuda`, `numba.cuda`, PyTorch's first.

    Stand-ins are not among them, nor are libraries on a machine without a GPU. PyTorch is left out until it has used
    the GPU: before that it has nothing to wait for, and asking it would initialise CUDA. After a fault that ended the
    GPU's context (`starting.context`) no library drives it.
    """
    found: dict[str, Any] = {}
    if context.lost:
        return found
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
    """Wait until the GPU has done the work of every library in use.

    It waits for the device that each library has chosen; for several devices, give `h2d.time` a `waiting` of your own.
    On a stand-in there is nothing to wait for: its work is done when a call returns.
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
    """The host's clock, read after a wait for the device; with `waiting=None` it is read too early.

    Parameters
    ----------
    waiting
        The function that waits until the device is done, before each of the two readings.
    ticks
        The function that returns the seconds since a fixed moment.
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
    """Two events in the current stream of the GPU, made by a library that the program uses.

    The libraries share the default stream, so the events of one library time the work of all. Work in another stream
    is included if that stream waits for the default stream: the streams of Numba and CuPy do unless they were made
    non-blocking, PyTorch's do not. `h2d.time` finds out whether the device went on after the second event.
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
                "no library that uses a GPU is loaded, so there are no device events to time with"
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
    """Return a new event that records the time."""
    if library == "torch":
        return cuda.Event(enable_timing=True)
    return cuda.Event() if library == "cupy" else cuda.event()


def _milliseconds(library: str, cuda: Any, begin: Any, end: Any) -> float:
    """Return the milliseconds between two recorded events."""
    if library == "torch":
        return begin.elapsed_time(end)
    return cuda.get_elapsed_time(begin, end) if library == "cupy" else cuda.event_elapsed_time(begin, end)


def cost_of(clock: Clock, times: int = 5) -> float:
    """Return the seconds that a clock measures for a call that does nothing."""
    return statistics.median(clock.measure(_nothing) for _ in range(times))


def _nothing() -> None:
    pass
