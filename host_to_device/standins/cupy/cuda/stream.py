"""CuPy's streams and events. There is never anything to wait for: each operation has finished when its call returns.

Times between events are those of this machine's CPU. They say nothing about a GPU.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.cuda.runtime import CUDARuntimeError
from host_to_device.standins.cupy.names import NotInStandIn, missing

# CUDA runtime API, "Data types used by CUDA Runtime": cudaStreamLegacy, cudaStreamPerThread.
NULL, LEGACY, PER_THREAD = 0, 1, 2

_handles = itertools.count(1 << 20, 16)
_thread = threading.local()


def current_pointer() -> int:
    """Return the handle of this thread's current stream."""
    stream = getattr(_thread, "stream", None)
    return 0 if stream is None else stream.ptr


def get_current_stream(device_id: int = -1) -> BaseStream:
    """Return this thread's current stream."""
    return getattr(_thread, "stream", None) or Stream.null


class Event:
    """A point in a stream's work, with the time at which this machine's CPU reached it.

    Parameters
    ----------
    block
        Ignored here.
    disable_timing
        True for an event that keeps no time.
    interprocess
        True for an event that processes share; it must keep no time.

    Raises
    ------
    ValueError
        If an event for several processes is to keep the time.
    """

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        if interprocess and not disable_timing:
            raise ValueError("Timing must be disabled for interprocess events")
        self.ptr, self._timing = next(_handles), not disable_timing
        self._nanoseconds: int | None = None

    done = property(lambda self: True, doc="True: all work before the event is done.")

    def record(self, stream: BaseStream | None = None) -> None:
        """Store the current time: all earlier work of the stream has finished."""
        self._nanoseconds = time.perf_counter_ns()

    def synchronize(self) -> None:
        """Return at once: the event has happened."""
        events.waited("synchronize")


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Return the milliseconds that passed on this machine's CPU between two events.

    It is the stand-in's own running time, and says nothing about a GPU.

    Parameters
    ----------
    start_event, end_event
        Two recorded events that keep the time.

    Returns
    -------
    float
        Milliseconds, with the precision of a float32, as CUDA gives them.

    Raises
    ------
    CUDARuntimeError
        cudaErrorInvalidResourceHandle, if an event was not recorded or keeps no time.
    """
    for event in (start_event, end_event):
        if event._nanoseconds is None or not event._timing:
            raise CUDARuntimeError(400)
    return float(np.float32((end_event._nanoseconds - start_event._nanoseconds) / 1e6))


class BaseStream:
    """A queue of work that is always empty, because each operation has finished when its call returns."""

    ptr: int
    device_id: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BaseStream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.ptr} (device {self.device_id})>"

    def __enter__(self) -> BaseStream:
        stack = _thread.__dict__.setdefault("stack", [])
        stack.append(self)
        _thread.stream = self
        return self

    def __exit__(self, *_: object) -> None:
        # As in CuPy, a stream that `use` has set before the block is forgotten (stream.pyx, `pop_stream`).
        _thread.stack.pop()
        _thread.stream = _thread.stack[-1] if _thread.stack else None

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.ptr

    def use(self) -> BaseStream:
        """Make this the current stream of this thread, and return it."""
        _thread.stream = self
        return self

    done = property(lambda self: True, doc="True: the stream is always empty.")
    is_non_blocking = property(
        lambda self: getattr(self, "_non_blocking", False), doc="Whether it runs beside the null stream."
    )
    priority = property(
        lambda self: getattr(self, "_priority", 0), doc="Its priority, which changes nothing here."
    )

    def synchronize(self) -> None:
        """Return at once: each operation has finished when its call returns."""
        events.waited("synchronize")

    def add_callback(self, callback: Callable[[BaseStream, int, Any], None], arg: Any) -> None:
        """Call `callback(stream, 0, arg)` now: all earlier work has finished."""
        callback(self, 0, arg)

    def launch_host_func(self, callback: Callable[[Any], None], arg: Any) -> None:
        """Call `callback(arg)` now: all earlier work has finished."""
        callback(arg)

    def record(self, event: Event | None = None) -> Event:
        """Record an event, or a new one, and return it."""
        event = event if event is not None else Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Return at once: the event has happened."""

    def begin_capture(self, mode: int | None = None) -> None:
        """Raise an error: the stand-in cannot record work into a graph.

        Raises
        ------
        NotInStandIn
            Always.
        """
        raise NotInStandIn(missing("cuda.Stream.begin_capture"))

    def end_capture(self) -> Any:
        """Raise the same error as `begin_capture`."""
        raise NotInStandIn(missing("cuda.Stream.end_capture"))

    def is_capturing(self) -> bool:
        """Return False."""
        return False


class Stream(BaseStream):
    """A stream.

    Parameters
    ----------
    null, ptds
        True for the null stream or the per-thread default stream in place of a new one.
    non_blocking
        True for a stream that runs beside the null stream.
    priority
        Ignored here.
    """

    null: Stream
    ptds: Stream
    _foreign_stream_ref: Any  # the other library's stream, which lives as long as this one

    def __init__(
        self,
        null: bool = False,
        non_blocking: bool = False,
        ptds: bool = False,
        priority: int | None = None,
    ) -> None:
        self.ptr = NULL if null else PER_THREAD if ptds else next(_handles)
        self._non_blocking, self._priority = non_blocking, priority or 0
        self.device_id = 0 if self.ptr > PER_THREAD else -1

    @staticmethod
    def from_external(obj: Any) -> BaseStream:
        """Return a stream with the handle of another library's stream, which has `__cuda_stream__`.

        Raises
        ------
        TypeError
            If the object has no such method, or the method returns no version 0 with an address.
        """
        try:
            version, address = obj.__cuda_stream__()
        except AttributeError:
            raise TypeError(
                f"Object of type {type(obj).__name__} does not implement the CUDA stream protocol "
                "(__cuda_stream__ method)"
            ) from None
        except (TypeError, ValueError):
            raise TypeError("__cuda_stream__() must return a 2-tuple of (version, stream_ptr)") from None
        if not isinstance(version, int) or not isinstance(address, int):
            raise TypeError(
                f"__cuda_stream__() must return (int, int), got ({type(version).__name__}, {type(address).__name__})"
            )
        if version:
            raise TypeError(
                f"__cuda_stream__() returned unsupported version {version}, only version 0 is supported"
            )
        stream = Stream.__new__(Stream)
        stream.ptr, stream.device_id, stream._foreign_stream_ref = address, -1, obj
        return stream


class ExternalStream(BaseStream):
    """A stream with the handle of another library's.

    Parameters
    ----------
    ptr
        The handle.
    device_id
        Number of its device.
    """

    def __init__(self, ptr: int, device_id: int = -1) -> None:
        self.ptr, self.device_id = ptr, device_id


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)
