"""`h2d.timeline()`: record what the host asks of the device, in order, and draw it as three lanes.

On a stand-in an operation is done when its call returns, so events have an order but no times. The picture places them
by the rule of a stream [CUDA]: each call takes the host one unit; the device begins an operation when it has been
called and all earlier ones are done; a wait holds the host until the device is idle. The widths are drawn, not
measured, and the picture says so.

On a GPU the events come from PyTorch's profiler, and the picture has their times. `from_trace` reads the trace. The
tests give it events in Kineto's format (see `on_gpu`). Without the profiler Numba's calls are recorded in their order
(`numba_calls`), CuPy's are not, and one line says so.

[CUDA] NVIDIA, "CUDA Programming Guide", section "Asynchronous Execution".
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from html import escape
from pathlib import Path
from types import FrameType
from typing import Any

from host_to_device import standins
from host_to_device.counting import counts, on_gpu
from host_to_device.counting.lines import code_of, place_of
from host_to_device.counting.numba_calls import CROSSING, NumbaCalls
from host_to_device.rendering import svg, units
from host_to_device.rendering.palette import BLUE, BLUE_SOFT, DARK, IDLE, LINE, ORANGE, ORANGE_SOFT, QUIET
from host_to_device.rendering.table import Table
from host_to_device.standins import events
from host_to_device.standins.mangling import short

KINDS = ("operation", "copy", "wait")
DIRECTIONS = {"h2d": "host to device", "d2h": "device to host", "d2d": "on the device"}
DIRECTION_OF = {"HtoD": "host to device", "DtoH": "device to host", "DtoD": "on the device"}
# The reasons of waits that are part of a copy, by the copy's direction in words.
CROSSING_OF = {DIRECTIONS[direction]: reason for direction, reason in CROSSING.items()}
STREAM_WAITS = ("cuStreamSynchronize", "Stream Sync")
# The stand-ins' packages, with the names of the libraries that they stand in for.
LIBRARIES = {f"{standins.__name__}.numba_cuda": "Numba", f"{standins.__name__}.cupy": "CuPy"}

ASKING, WORKING, RETURNING = 1, 2, 1  # units of the drawing: a call, its execution, the end of a wait
MOST = 40  # events that a picture has room for
BETWEEN_KERNELS = (
    5e-6  # seconds: a kernel that waits for another begins so soon after it, and no device is idle
)
TIMES = ("host", "device")  # heads of two columns: when the host called or waited, and when the device worked

Span = tuple[float, float]


@dataclass(frozen=True)
class Event:
    """One call that the host made of the device, or one wait for it.

    Attributes
    ----------
    kind
        "operation", "copy" or "wait".
    name
        The operation's whole name, the copy's direction in words, or the reason of the wait.
    nbytes
        Bytes of a copy, 0 for the other kinds.
    library
        "Numba", "CuPy", "PyTorch", or "" where it is not known.
    file, line
        The reader's line that caused it; "" and 0 where no line did, and on a GPU.
    asked, ran
        When the host called or waited, and when the device worked: beginning and end in seconds since the first event
        of the timeline. Both are None on stand-ins; `ran` is None for a wait.
    """

    kind: str
    name: str
    nbytes: int = 0
    library: str = ""
    file: str = ""
    line: int = 0
    asked: Span | None = None
    ran: Span | None = None

    @property
    def text(self) -> str:
        """The event in a few words; of an operation's name only what `mangling.short` keeps."""
        if self.kind == "copy":
            return f"{self.name}, {units.amount(self.nbytes)}"
        return short(self.name) if self.kind == "operation" else self.name

    @property
    def place(self) -> str:
        """The reader's line that caused it."""
        return place_of(self.file, self.line) if self.file else ""

    @property
    def code(self) -> str:
        """The code of that line."""
        return code_of(self.file, self.line)


@dataclass(frozen=True)
class Bar:
    """One bar of the picture: its lane, its event's kind, its ends, and the event's number."""

    lane: str
    kind: str
    begin: float
    end: float
    number: int


def schedule(order: Sequence[Event]) -> list[Bar]:
    """Place events without times by the rule of one stream; the unit is the time of one call on the host.

    Parameters
    ----------
    order
        The events in the order of their calls.

    Returns
    -------
    list of Bar
        An operation or a copy has a bar on the lane "host" and one on "device" or "copies"; a wait has one on "host".
    """
    bars, now, free = [], 0.0, 0.0
    for number, event in enumerate(order, 1):
        if event.kind == "wait":
            end = max(now, free) + RETURNING
            bars.append(Bar("host", "wait", now, end, number))
            now = end
            continue
        bars.append(Bar("host", event.kind, now, now + ASKING, number))
        now += ASKING
        begin = max(now, free)
        free = begin + WORKING
        bars.append(Bar("device" if event.kind == "operation" else "copies", event.kind, begin, free, number))
    return bars


def measured(order: Sequence[Event]) -> list[Bar]:
    """Return the bars of events that have times."""
    bars = []
    for number, event in enumerate(order, 1):
        if event.asked is not None:
            bars.append(Bar("host", event.kind, *event.asked, number))
        if event.ran is not None:
            bars.append(
                Bar("device" if event.kind == "operation" else "copies", event.kind, *event.ran, number)
            )
    return bars


def from_trace(trace: Iterable[dict[str, Any]], own: int = 0) -> tuple[Event, ...]:
    """Return the events of a profiler's trace in the order of the host's calls, with their times.

    Parameters
    ----------
    trace
        Events as Kineto writes them under "traceEvents", in Chrome's trace format; times in microseconds.
    own
        The number of calls of cudaDeviceSynchronize at the end that are the profiler's own.
    """
    found = sorted((each for each in trace if each.get("ph") == "X"), key=lambda each: float(each["ts"]))
    calls = [each for each in found if each.get("cat") in on_gpu.RUNTIME]
    of_runtime = {on_gpu._correlation(each) for each in calls if each["cat"] == "cuda_runtime"}
    not_waits = on_gpu.no_waits(calls, on_gpu.last_waits(calls, own))
    # CUPTI may show one call twice, as the runtime's and as the driver's inside it: the first is the outer one.
    asked: dict[Any, Span] = {}
    called: dict[Any, str] = {}
    for each in calls:
        asked.setdefault(on_gpu._correlation(each), _span(each))
        called.setdefault(on_gpu._correlation(each), each["name"])
    made: list[Event] = []
    seen: set[Any] = set()
    for each in found:
        kind, name, mark = each.get("cat"), each["name"], on_gpu._correlation(each)
        if kind in ("kernel", "gpu_memset"):
            made.append(Event("operation", name, asked=asked.get(mark), ran=_span(each)))
        elif kind == "gpu_memcpy":
            parts = name.split(" ")
            direction = DIRECTION_OF.get(parts[1] if len(parts) > 1 else "", "to another device")
            nbytes = int(each.get("args", {}).get("bytes", 0))
            made.append(Event("copy", direction, nbytes, asked=asked.get(mark), ran=_span(each)))
            # A call of the driver, which is Numba's: the trace has the copy, and not the call that waited for it.
            if mark not in of_runtime and direction in CROSSING_OF:
                made.append(Event("wait", CROSSING_OF[direction], asked=_span(each)))
        elif on_gpu.is_wait(each) and mark not in not_waits and mark not in seen:
            seen.add(mark)
            made.append(Event("wait", called.get(mark, name), asked=asked.get(mark, _span(each))))
    made.sort(key=lambda event: (event.asked or event.ran or (0.0, 0.0))[0])
    made = [
        each
        for before, each in zip((None, *made), made, strict=False)
        if not (before is not None and before.name == CROSSING["d2h"] and each.name in STREAM_WAITS)
    ]
    zero = min((span[0] for event in made for span in (event.asked, event.ran) if span), default=0.0)
    return tuple(
        Event(each.kind, each.name, each.nbytes, asked=_since(zero, each.asked), ran=_since(zero, each.ran))
        for each in made
    )


def _span(event: dict[str, Any]) -> Span:
    begin = float(event["ts"]) * 1e-6
    return begin, begin + float(event.get("dur", 0)) * 1e-6


def _since(zero: float, span: Span | None) -> Span | None:
    return None if span is None else (span[0] - zero, span[1] - zero)


class Timeline:
    """The events of a device while a block ran; `with h2d.timeline() as t:` makes one.

    `print` shows a list, a notebook shows a picture. Both are ready when the block has ended. A timeline that is
    entered again starts empty.

    Attributes
    ----------
    events
        The events in the order of their calls.
    where
        "stand-in", "GPU NVIDIA …, by CUPTI", or "GPU, without CUPTI"; empty before it has recorded.
    missing
        One line on what could not be recorded, why, and what to install; empty if everything was recorded.
    """

    def __init__(self, keep: str | os.PathLike | None = None) -> None:
        self.events: tuple[Event, ...] = ()
        self.where = self.missing = ""
        self._keep, self._stack = keep, ExitStack()

    def __enter__(self) -> Timeline:
        if events.in_order is not None or _open:
            raise RuntimeError(
                'A timeline is already recording. End its "with" block before you start another.'
            )
        on_gpu.check_ready()
        self.events, self.where, self.missing = (), on_gpu.name() or "stand-in", ""
        torch = on_gpu.torch_with_gpu() if self.is_on_gpu else None
        if self.is_on_gpu and on_gpu.torch_stand_in() is not None and torch is None:
            self.where = "stand-in"  # PyTorch has no CUDA, so its work is its stand-in's
        _open.append(self)
        self._stack.callback(_open.remove, self)
        try:
            self._recorder: _Recorder | _OfNumba | _Profile
            if torch is not None:
                self._recorder = _Profile(torch, self._keep)
            else:
                self._recorder = _OfNumba() if self.is_on_gpu else _Recorder()
            self._stack.enter_context(self._recorder)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self.events = tuple(self._recorder.events)
        self.missing = self._recorder.missing
        if self.missing:
            on_gpu.say_once([self.missing])

    @property
    def is_on_gpu(self) -> bool:
        """Whether the events come from a GPU."""
        return self.where not in ("", "stand-in")

    @property
    def has_times(self) -> bool:
        """Whether the events have times: on a GPU, by the profiler."""
        return any(event.asked or event.ran for event in self.events)

    def __len__(self) -> int:
        return len(self.events)

    def of(self, kind: str) -> tuple[Event, ...]:
        """Return the events of one kind: "operation", "copy" or "wait".

        Raises
        ------
        ValueError
            If there is no such kind.
        """
        if kind not in KINDS:
            raise ValueError(f"kind is {kind!r}: give one of {', '.join(KINDS)}")
        return tuple(event for event in self.events if event.kind == kind)

    def summary(self) -> str:
        """Return in a sentence or two how many events of each kind there were."""
        if not self.events:
            return f"Nothing was recorded. {self.missing}" if self.missing else "The device got no work."
        operations, copies, waits = (len(self.of(kind)) for kind in KINDS)
        parts = [
            _many(operations, "operation"),
            _many(copies, "copy", "copies"),
            f"{_many(waits, 'wait')} of the host",
        ]
        text = f"{parts[0]}, {parts[1]}, {parts[2]}."
        idle = self.idle
        if idle:
            text += f" Between them the device is idle {'once' if idle == 1 else f'{idle:,} times'}."
        return f"{text} {self.missing}".rstrip()

    @property
    def idle(self) -> int:
        """How often the device is idle between two events, in the picture's order or in time."""
        bars = sorted((bar for bar in self.bars() if bar.lane != "host"), key=lambda bar: bar.begin)
        least = BETWEEN_KERNELS if self.has_times else 1e-12
        gaps = 0
        end: float | None = None
        for bar in bars:
            gaps += end is not None and bar.begin > end + least
            end = bar.end if end is None else max(end, bar.end)
        return gaps

    def bars(self) -> list[Bar]:
        """Return the bars of the picture, in seconds if the events have times, else in units of one call."""
        return measured(self.events) if self.has_times else schedule(self.events)

    def table(self, most: int = MOST) -> Table:
        """Return the events as a table.

        Parameters
        ----------
        most
            The largest number of rows.
        """
        caused = any(event.code or event.library for event in self.events[:most])
        rows = tuple(
            (
                *(str(number), event.kind, event.text, *_times(event, self.has_times)),
                *([event.code or event.library] if caused else []),
            )
            for number, event in enumerate(self.events[:most], 1)
        )
        rest = len(self.events) - len(rows)
        remarks = (f"and {rest:,} more",) if rest > 0 else ()
        order = "with times" if self.has_times else "order, no times"
        caption = (
            f"Recorded on: {self.where}; {order}. {self.summary()}" if self.where else "Nothing recorded yet"
        )
        head = _head(self.has_times, caused)
        return Table(caption, head, rows, (0,), remarks, code=len(head) - 1 if caused else None)

    def __str__(self) -> str:
        return str(self.table())

    __repr__ = __str__

    def alt(self) -> str:
        """Return the picture in words."""
        if not self.events:
            return f"A timeline with three empty lanes. {self.summary()}"
        words = []
        for number, event in enumerate(self.events[:12], 1):
            words.append(f"{number} {event.kind}, {event.text}")
        more = f"; and {len(self.events) - 12} more" if len(self.events) > 12 else ""
        return f"Three lanes, host, device and copies. {self.summary()} In order: {'; '.join(words)}{more}."

    def svg(self, most: int = MOST) -> str:
        """Return the picture: the lanes of host, device and copies, broken into rows like a text.

        Parameters
        ----------
        most
            The largest number of events to draw.
        """
        shown = self.events[:most]
        bars = measured(shown) if self.has_times else schedule(shown)
        return _drawn(bars, self.alt(), units.seconds if self.has_times else None)

    def html(self, most: int = MOST) -> str:
        """Return the picture with its caption and the list of its events.

        Parameters
        ----------
        most
            The largest number of events to show.
        """
        order = (
            "times by the profiler" if self.has_times else "order, no times: widths are drawn, not measured"
        )
        caption = f"Recorded on: {self.where}; {order}." if self.where else "Nothing recorded yet."
        left_out = f" The picture shows the first {most} of {len(self):,}." if len(self) > most else ""
        return (
            f'{DARK}<div class="h2d-timeline"><p>{escape(caption)} {escape(self.summary())}{left_out}</p>'
            f"{self.svg(most)}{_listing(self.events[:most], self.has_times)}</div>"
        )

    def _repr_html_(self) -> str:
        return self.html()


def timeline(keep: str | os.PathLike | None = None) -> Timeline:
    """Record the operations, copies and waits of a device in order, while a block runs.

    Recording slows down every PyTorch operation, so record a few steps only. On a GPU it uses PyTorch's profiler, so
    no `h2d.count()` can run at the same time. Without a PyTorch that is built for CUDA it records Numba's work in its
    order, without times, and one line says what is missing.

    Parameters
    ----------
    keep
        On a GPU, a file in which to keep the profiler's trace; chrome://tracing and Perfetto show it.

    Returns
    -------
    Timeline
        The events, for a `with` block.

    Raises
    ------
    RuntimeError
        When the block is entered: if another timeline is being recorded.

    Examples
    --------
    >>> import cupy
    >>> with h2d.timeline() as t:
    ...     x = cupy.asarray(np.ones(1000))
    ...     total = float((x * 2).sum())
    >>> [event.kind for event in t.events]
    ['copy', 'operation', 'operation', 'copy', 'wait']
    >>> print(t)  # in a notebook, t alone draws the picture
    Recorded on: stand-in; order, no times. 2 operations, 2 copies, 1 wait of the host...
    """
    return Timeline(keep)


_open: list[Timeline] = []


# --- On the stand-ins ------------------------------------------------------------------------------------------


class _Recorder:
    """Records the reports of the stand-ins in order."""

    missing = ""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._within: list[Event] | None = None  # the waits of PyTorch's device within an operation
        self._counters: Callable[[], dict[str, int]] = dict  # of PyTorch's device
        self._known: dict[str, int] = {}  # its counts so far
        self._stack = ExitStack()

    def __enter__(self) -> _Recorder:
        counts.follow_torch()
        events.listen()
        self._stack.callback(events.stop_listening)
        events.in_order = self._note
        self._stack.callback(self._forget)
        device = on_gpu.torch_stand_in()
        if device is not None:
            self._counters, self._known = device.counters, device.counters()
            self._stack.enter_context(_watching_torch(self))
        return self

    def __exit__(self, *_: object) -> None:
        self._catch_up("unnamed")
        self._stack.close()

    def _forget(self) -> None:
        events.in_order = None

    def _note(self, kind: str, what: str, nbytes: int) -> None:
        name = DIRECTIONS.get(what, what) if kind == "copy" else what
        if kind == "wait" and self._within is None:
            self._catch_up("unnamed")
        event = Event(kind, name, nbytes, reporting_library() or "PyTorch", *events.readers_place())
        (self.events if self._within is None else self._within).append(event)

    def around(self, operation: str, call: Any) -> Any:
        """Call an operation of PyTorch, and note what its device counted meanwhile: operations, then copies, then waits."""
        self._catch_up("unnamed")
        self._within = []
        try:
            return call()
        finally:
            waits, self._within = self._within, None
            place = self._catch_up(operation)
            self.events += [Event(each.kind, each.name, 0, "PyTorch", *place) for each in waits]

    def _catch_up(self, operation: str) -> tuple[str, int]:
        """Note what PyTorch's device has counted since the last time, and return the reader's place.

        The device counts every operation. PyTorch does not report every operation to a dispatch mode: when it prints
        a tensor, it switches such modes off.
        """
        before, self._known = self._known, self._counters()
        place = events.readers_place()
        added = {name: after - before[name] for name, after in self._known.items()}
        if any(added.values()):
            self.events += [Event("operation", operation, 0, "PyTorch", *place)] * added["operations"]
            for direction, name in DIRECTIONS.items():
                for number in range(added[direction]):
                    share = added[f"{direction}_bytes"] // added[direction]
                    rest = added[f"{direction}_bytes"] - share * added[direction] if number == 0 else 0
                    self.events.append(Event("copy", name, share + rest, "PyTorch", *place))
        return place


def reporting_library() -> str:
    """Return "Numba" or "CuPy", whose stand-in reports to the caller's caller: the innermost one on the stack, or ""."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        module = frame.f_globals.get("__name__") or ""
        for package, library in LIBRARIES.items():
            if f"{module}.".startswith(f"{package}."):
                return library
        frame = frame.f_back
    return ""


def _watching_torch(recorder: _Recorder) -> Any:
    """Return a dispatch mode of PyTorch: it gets the name of each operation, while the device counts its work."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watching(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
            name = function.name().removeprefix("aten::").partition(".")[0]
            return recorder.around(name, lambda: function(*args, **(kwargs or {})))

    return Watching()


# --- On a GPU --------------------------------------------------------------------------------------------------


class _OfNumba:
    """Records what Numba asks of a GPU's driver, in order; CuPy's calls cannot be recorded so."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.missing = ""
        self._stack = ExitStack()

    def __enter__(self) -> _OfNumba:
        if on_gpu.uses_numba():
            self._stack.enter_context(NumbaCalls(self._note))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        lacks = "The timeline has no times" + (", and nothing of CuPy" if "cupy" in sys.modules else "")
        self.missing = on_gpu.without_cupti(lacks)

    def _note(self, kind: str, what: str, nbytes: int) -> None:
        self.events.append(Event(kind, DIRECTIONS.get(what, what), nbytes, "Numba", *events.readers_place()))


class _Profile:
    """A stretch of PyTorch's profiler, whose trace becomes events."""

    missing = ""

    def __init__(self, torch: Any, keep: str | os.PathLike | None) -> None:
        self.events: tuple[Event, ...] = ()
        self._keep = keep
        self._profile = on_gpu.profile(torch)

    def __enter__(self) -> _Profile:
        self._profile.__enter__()
        return self

    def __exit__(self, *problem: object) -> None:
        self._profile.__exit__(*problem)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            self._profile.export_chrome_trace(str(path))
            if self._keep is not None:
                shutil.copyfile(path, self._keep)
            self.events = from_trace(json.loads(path.read_text())["traceEvents"], own=1)


# --- The picture -----------------------------------------------------------------------------------------------

LANES = ("host", "device", "copies")
UNIT, LABEL, PER_ROW = 14, 50, 24  # of the SVG's own units; how many of the picture's units stand in a row
HEIGHT, GAP, BETWEEN = 22, 6, 20
FILL = {"operation": BLUE_SOFT, "copy": ORANGE_SOFT, "wait": IDLE}
EDGE = {"operation": BLUE, "copy": ORANGE, "wait": QUIET}


def _drawn(bars: Sequence[Bar], alt: str, clock: Any) -> str:
    """Return bars as SVG, in rows. `clock` writes the time at the end of each row; None where there are no times."""
    last = max((bar.end for bar in bars), default=1.0)
    row = last / 3 if clock else PER_ROW  # times of a GPU fill three rows
    rows = max(1, -int(-last // row)) if not clock else (3 if bars else 1)
    scale = PER_ROW * UNIT / row if row else 1.0
    tall = len(LANES) * (HEIGHT + GAP) + BETWEEN
    parts = []
    for each in range(rows):
        top = each * tall
        for lane, name in enumerate(LANES):
            y = top + lane * (HEIGHT + GAP)
            parts.append(svg.text(0, y + HEIGHT * 0.7, name, QUIET))
            middle, right = y + HEIGHT / 2, LABEL + PER_ROW * UNIT
            parts.append(svg.line(LABEL, middle, right, middle, LINE))
        if clock:
            parts.append(
                svg.text(LABEL + PER_ROW * UNIT, top + tall - 8, clock((each + 1) * row), QUIET, "end")
            )
    for bar in bars:
        for each in range(rows):
            begin, end = max(bar.begin, each * row), min(bar.end, (each + 1) * row)
            if end <= begin and not (bar.end == bar.begin and each * row <= bar.begin < (each + 1) * row):
                continue
            x, width = LABEL + (begin - each * row) * scale, max(1.5, (end - begin) * scale)
            y = each * tall + LANES.index(bar.lane) * (HEIGHT + GAP)
            edge = {"stroke": EDGE[bar.kind], "stroke_dasharray": "3 2" if bar.kind == "wait" else "none"}
            parts.append(svg.box(x, y, width, HEIGHT, FILL[bar.kind], rx=2, **edge))
            word = "waits" if bar.kind == "wait" and width >= 40 else str(bar.number)
            size = 12 if width >= 4 + 7 * len(word) else 9.5  # the narrowest box has room for two digits
            if width >= 2 + 5.5 * len(word):
                parts.append(svg.text(x + width / 2, y + HEIGHT * 0.7, word, anchor="middle", size=size))
    wide, high = LABEL + PER_ROW * UNIT + 2, rows * tall
    return svg.picture(parts, alt, (-1, -1, wide + 2, high), wide * 1.5)


def _times(event: Event, known: bool) -> tuple[str, ...]:
    """Return an event's times for a table, under the heads `TIMES`; nothing where it has no times."""
    spans = (event.asked, event.ran) if known else ()
    return tuple(f"{units.seconds(span[0])} to {units.seconds(span[1])}" if span else "" for span in spans)


def _head(timed: bool, caused: bool) -> tuple[str, ...]:
    """Return the heads of a table's columns; on a GPU no event has a line that caused it."""
    return ("", "kind", "what", *(TIMES if timed else ()), *(["caused by"] if caused else []))


def _listing(shown: Sequence[Event], timed: bool) -> str:
    """Return a folded table of the picture's numbers: each with its event, and with its times where there are any.

    Where an operation has a longer name, a cell shows it when the pointer rests on it.
    """
    if not shown:
        return ""
    left = 'style="text-align: left"'
    caused = any(event.code for event in shown)
    rows = ""
    for number, event in enumerate(shown, 1):
        whole = (
            f' title="{escape(event.name)}"' if event.kind == "operation" and event.text != event.name else ""
        )
        cells = [f"<td {left}>{event.kind}</td>", f"<td {left}{whole}>{escape(event.text)}</td>"]
        cells += [f"<td {left}>{escape(cell)}</td>" for cell in _times(event, timed)]
        cells += [f"<td {left}><code>{escape(event.code)}</code></td>"] if caused else []
        rows += f'<tr><th scope="row" style="text-align: right">{number}</th>{"".join(cells)}</tr>'
    head = "".join(f'<th scope="col" {left}>{name}</th>' for name in _head(timed, caused))
    return f"<details><summary>What the numbers stand for</summary><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></details>"


def _many(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or one + 's'}"
