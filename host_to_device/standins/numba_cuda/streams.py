"""Streams and events of the stand-in, with Numba's names and rules.

The stand-in does all work during the call that requests it. So every stream is always empty, every event has always
happened, and `synchronize` returns at once. Times between events are those of this machine's CPU.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.numba_cuda.devices import CONTEXT, CudaAPIError

if TYPE_CHECKING:
    import asyncio

# CUDA driver API, "Data types used by CUDA driver": CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, cudaError_enum.
DEFAULT, LEGACY, PER_THREAD = 0, 1, 2
SUCCESS, INVALID_HANDLE = 0, 400
NAMES = {DEFAULT: "Default", LEGACY: "Legacy default", PER_THREAD: "Per-thread default"}

_handles = itertools.count(PER_THREAD + 1)


class Stream:
    """A queue of work that is always empty, because every call finishes its work before it returns.

    Parameters
    ----------
    handle
        The number that identifies the stream: 0, 1 and 2 are the default streams, as in CUDA.
    external
        Whether it belongs to another library (`external_stream`).
    """

    def __init__(self, handle: int, external: bool = False) -> None:
        self.handle, self.external, self.context = handle, external, CONTEXT

    def __int__(self) -> int:
        return self.handle

    def __repr__(self) -> str:
        if self.handle in NAMES:
            return f"<{NAMES[self.handle]} CUDA stream on {self.context}>"
        return f"<{'External ' if self.external else ''}CUDA stream {self.handle} on {self.context}>"

    def synchronize(self) -> None:
        """Return at once: nothing is waiting in this stream."""
        events.waited("synchronize")

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Use the stream in a `with` block and synchronize it at the end."""
        yield self
        self.synchronize()

    def add_callback(self, callback: Callable[[Stream, int, Any], None], arg: Any = None) -> None:
        """Call `callback(stream, 0, arg)` now, because all earlier work is done.

        On a GPU the driver calls it later, from another thread. An exception in the callback becomes a warning, as
        on a GPU.
        """
        try:
            callback(self, SUCCESS, arg)
        except Exception as error:
            warnings.warn(f"Exception in stream callback: {error}", stacklevel=2)

    def async_done(self) -> asyncio.Future[Stream]:
        """Return an awaitable whose result is this stream; it is done already.

        Raises
        ------
        RuntimeError
            If no event loop runs (Python's own error).
        """
        import asyncio

        future = asyncio.get_running_loop().create_future()
        future.set_result(self)
        return future


def check_stream(stream: Stream | int) -> None:
    """Refuse an object that is neither a stream nor 0, which means the default stream.

    Raises
    ------
    TypeError
        If it is something else.
    """
    if stream and not isinstance(stream, Stream):
        raise TypeError(f"stream is {stream!r}: give a stream made by cuda.stream(), or 0")


def stream() -> Stream:
    """Return a new stream."""
    return Stream(next(_handles))


def default_stream() -> Stream:
    """Return the default stream."""
    return Stream(DEFAULT)


def legacy_default_stream() -> Stream:
    """Return the legacy default stream."""
    return Stream(LEGACY)


def per_thread_default_stream() -> Stream:
    """Return the per-thread default stream."""
    return Stream(PER_THREAD)


def external_stream(ptr: int) -> Stream:
    """Return a stream with the handle of another library's stream.

    Raises
    ------
    TypeError
        If `ptr` is not an int.
    """
    if not isinstance(ptr, int):
        raise TypeError("ptr for external stream must be an int")
    return Stream(ptr, external=True)


class Event:
    """A point in a stream's work, with the time at which this machine's CPU reached it.

    Parameters
    ----------
    timing
        Whether it keeps the time, which `event_elapsed_time` needs.
    """

    def __init__(self, timing: bool = True) -> None:
        self.timing, self.context = timing, CONTEXT
        self._nanoseconds: int | None = None

    def record(self, stream: Stream | int = 0) -> None:
        """Record the present time: the stream has reached the event."""
        check_stream(stream)
        self._nanoseconds = time.perf_counter_ns()

    def query(self) -> bool:
        """Return True: all work before the event is done. As in CUDA, so is an event that was never recorded."""
        return True

    def synchronize(self) -> None:
        """Return at once: the event has happened."""
        events.waited("synchronize")

    def wait(self, stream: Stream | int = 0) -> None:
        """Let the stream wait for the event, which has happened."""
        check_stream(stream)

    def elapsed_time(self, evtend: Event) -> float:
        """Return the milliseconds from this event to `evtend`; see `event_elapsed_time`."""
        return event_elapsed_time(self, evtend)


def event(timing: bool = True) -> Event:
    """Return a new event, not yet recorded.

    Parameters
    ----------
    timing
        Whether it keeps the time, which `event_elapsed_time` needs.
    """
    return Event(timing)


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Return the milliseconds between two events on this machine's CPU.

    This is the running time of the stand-in, compilation included. It says nothing about a GPU.

    Parameters
    ----------
    evtstart, evtend
        Two recorded events, made with `timing=True`.

    Returns
    -------
    float
        Milliseconds with the precision of a float32, as in CUDA; negative if `evtend` was recorded first.

    Raises
    ------
    CudaAPIError
        With code 400, CUDA_ERROR_INVALID_HANDLE, if an event was not recorded or keeps no time.
    """
    for which in (evtstart, evtend):
        if which._nanoseconds is None or not which.timing:
            cure = "make it with timing=True" if not which.timing else "record() it first"
            raise CudaAPIError(
                INVALID_HANDLE, f"Call to cuEventElapsedTime results in CUDA_ERROR_INVALID_HANDLE: {cure}"
            )
    return float(np.float32((evtend._nanoseconds - evtstart._nanoseconds) / 1e6))


def synchronize() -> None:
    """Return at once: the stand-in does all work during the call that requests it."""
    CONTEXT.synchronize()
