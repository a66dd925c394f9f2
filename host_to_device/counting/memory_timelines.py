"""`h2d.memory_timeline()`: what was allocated on the device while a block ran, by which lines, and where the peak was.

`memory_recording` records, `memory_history` finds the peak and what was alive, and `memory_pictures` draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from host_to_device.counting import memory_pictures, on_gpu
from host_to_device.counting.lines import code_of, place_of
from host_to_device.counting.memory_history import (
    BEFORE,
    Held,
    History,
    MemoryEvent,
    Refusal,
    State,
    short,
)
from host_to_device.counting.memory_recording import OnGpu, OnStandIns
from host_to_device.rendering import units
from host_to_device.rendering.palette import DARK
from host_to_device.rendering.table import Table

MOST = 12  # rows of a table


class MemoryTimeline:
    """The memory of a device while a block ran; `with h2d.memory_timeline() as t:` makes one.

    `print` shows the peak and what was alive then, a notebook shows a picture. Both are ready when the block has ended,
    also by an error. A timeline that is entered again starts empty.

    Attributes
    ----------
    where
        "stand-in", or the GPU's name; empty before it has recorded.
    before
        Bytes that were allocated when the block began.
    peak, peak_reserved
        The most bytes that were allocated at once, those from before the block included; the most bytes that the libraries
        took from the device at once, free blocks in their pools included.
    at_peak
        What was allocated at the peak, by line, the largest first: a tuple of `Held`.
    end, at_end
        Bytes that the block allocated and that are alive at its end; the same by line.
    allocated
        What each line allocated in the whole block, the most bytes first, freed or not.
    refusals
        Allocations that were refused because memory had run out, at most 20: a tuple of `Refusal`.
    left_out
        How many earlier changes are not among the events; the peak and the sums include them.
    limit
        Bytes that the device has for the library that allocated; None if it is not known or has no limit.
    missing
        Lines on what could not be recorded, and why.
    """

    def __init__(self, device: Any = 0) -> None:
        self.device = _index(device)
        self._begin("")

    def _begin(self, where: str) -> None:
        self.where = where
        self._history = History(State())
        self.before = self.peak = self.peak_reserved = self.end = self.left_out = 0
        self.at_peak: tuple[Held, ...] = ()
        self.at_end: tuple[Held, ...] = ()
        self.allocated: tuple[Held, ...] = ()
        self.refusals: tuple[Refusal, ...] = ()
        self._events: tuple[MemoryEvent, ...] | None = ()
        self.limit: int | None = None
        self.missing: tuple[str, ...] = ()

    def __enter__(self) -> MemoryTimeline:
        if _open:
            raise RuntimeError(
                'A memory timeline is already recording. End its "with" block before you start another.'
            )
        name = on_gpu.gpu_name()
        if name and on_gpu.torch_stand_in() is not None and on_gpu.torch_with_gpu() is None:
            name = None  # PyTorch has no CUDA, so its memory is its stand-in's
        self._begin(name or "stand-in")
        self._recorder: OnGpu | OnStandIns = (OnGpu if name else OnStandIns)(self.device)
        _open.append(self)
        try:
            self._recorder.__enter__()
        except BaseException:
            _open.remove(self)
            self._recorder.__exit__()
            raise
        self.before = self._recorder.history.start.allocated
        return self

    def __exit__(self, *problem: object) -> None:
        _open.remove(self)
        self._recorder.__exit__(*problem)
        history = self._history = self._recorder.history
        end = history.finish()
        self.peak, self.peak_reserved, self.at_peak = history.peak, history.peak_reserved, history.at_peak
        self.at_end = tuple(each for each in end.by_line() if each.place != BEFORE)
        self.end = sum(each.nbytes for each in self.at_end)
        self.allocated, self.refusals = history.by_line(), tuple(history.refusals)
        self._events, self.left_out = None, history.left_out
        self.limit = self._recorder.limit()
        self.missing = tuple(self._recorder.missing)
        on_gpu.say_once(self.missing)

    @property
    def events(self) -> tuple[MemoryEvent, ...]:
        """The changes in their order, the last 50,000 of them."""
        if self._events is None:
            self._events = self._history.events()
        return self._events

    @property
    def is_on_gpu(self) -> bool:
        """Whether the memory is a GPU's."""
        return self.where not in ("", "stand-in")

    def summary(self) -> str:
        """Return what was refused, the peak with its line, the limit, and what is alive at the end, in sentences."""
        return " ".join(self._sentences())

    def _sentences(self) -> list[str]:
        if not self.where:
            return ["Nothing recorded yet."]
        if not self._history.changes and not self.left_out:
            return [
                f"The block allocated no device memory; {units.amount(self.before)} was allocated before it."
            ]
        said = []
        for refusal in self.refusals[-1:]:
            said.append(
                f"Refused: {units.amount(refusal.nbytes)} at {_line(refusal.place, refusal.code)}; "
                f"{units.amount(refusal.allocated)} was allocated and {units.amount(refusal.reserved)} reserved."
            )
            if len(self.refusals) > 1:
                said.append(f"It is the last of {len(self.refusals)} refused allocations.")
        event = self._history.peak_change
        reached = (
            "when the block began"
            if event is None
            else f"at {_line(place_of(event.file, event.line), code_of(event.file, event.line))}"
        )
        said.append(f"Peak: {units.amount(self.peak)} {reached}.")
        limit = "" if self.limit is None else f", limit {units.amount(self.limit)}"
        said.append(f"Reserved: at most {units.amount(self.peak_reserved)}{limit}.")
        said.append(f"Alive at the end: {units.amount(self.end)} that the block allocated.")
        return said

    def table(self, most: int = MOST) -> Table:
        """Return what was alive at the peak, or when the last allocation was refused, as a table.

        Parameters
        ----------
        most
            The largest number of rows.
        """
        return _table(self._shown_title(), self._shown(), most)

    def _shown(self) -> tuple[Held, ...]:
        return self.refusals[-1].alive if self.refusals else self.at_peak

    def _shown_title(self) -> str:
        return "Alive when the allocation was refused:" if self.refusals else "Alive at the peak:"

    def __str__(self) -> str:
        if not self.where:
            return self.summary()
        parts = [f"Recorded on: {self.where}, device {self.device}.", *self._sentences()]
        if self.left_out:
            parts.append(f"The first {self.left_out:,} changes are only in the sums and the peak.")
        if self._shown():
            parts.append(str(self.table()))
        if self.at_end and not self.refusals:
            parts.append(str(_table("Alive at the end:", self.at_end)))
        return "\n".join([*parts, *self.missing])

    __repr__ = __str__

    def alt(self) -> str:
        """Return the picture in words."""
        if not self.events:
            return f"A diagram without memory. {self.summary()}"
        rows = [f"{units.amount(each.nbytes)}, {_line(each.place, each.code)}" for each in self._shown()[:6]]
        return (
            f"Allocated bytes over {len(self.events):,} changes of device memory, stacked by the line that allocated. "
            f"{self.summary()} {self._shown_title()} {'; '.join(rows)}."
        )

    def svg(self) -> str:
        """Return the picture: allocated bytes over the changes in their order, stacked by line."""
        return memory_pictures.drawn(self._history, self._shown(), self.limit, self.alt())

    def html(self) -> str:
        """Return the picture with its summary and its tables."""
        if not self.where:
            return f'{DARK}<div class="h2d-timeline"><p>{escape(self.summary())}</p></div>'
        head = f"Recorded on: {self.where}, device {self.device}; the order of the changes, no times."
        if self.left_out:
            head += f" The picture begins after the first {self.left_out:,} changes."
        parts = [f"<p>{escape(head)}<br/>{'<br/>'.join(map(escape, self._sentences()))}</p>"]
        if self.events:
            title = self._shown_title().rstrip(":")
            parts += [self.svg(), memory_pictures.legend(self._history, self._shown(), self.limit, title)]
            parts.append(
                f"<details><summary>All lines</summary>{_table(self._shown_title(), self._shown(), 100)._repr_html_()}"
                f"{_table('Alive at the end:', self.at_end, 100)._repr_html_()}"
                f"{_table('Allocated in the whole block, freed or not:', self.allocated, 100)._repr_html_()}</details>"
            )
        parts += [f"<p>{escape(each)}</p>" for each in self.missing]
        return f'{DARK}<div class="h2d-timeline">{"".join(parts)}</div>'

    def _repr_html_(self) -> str:
        return self.html()


def memory_timeline(device: Any = 0) -> MemoryTimeline:
    """Record the allocations and frees of device memory while a block runs, with the line that made each.

    It answers two questions: what was alive when memory was fullest, and which line asked for too much. An error inside the
    block, such as out of memory, leaves the timeline usable: `refusals` has the bytes that were refused, the line, and
    what was alive then.

    PyTorch and CuPy round sizes up and keep freed blocks for later allocations. *Allocated* bytes belong to arrays and
    tensors; *reserved* bytes are what the libraries took from the device, kept blocks included. Numba keeps none. The
    memory that CUDA itself and libraries such as cuBLAS take outside of the pools is in neither.

    On the stand-in, sizes, pools and limits are those of the stand-ins. On a GPU, PyTorch's history gives the blocks
    (`torch.cuda.memory._record_memory_history`), without what its allocator leaves unsplit, at most 1 MiB for a block;
    CuPy's blocks are those of this thread. Numba's arrays from before the block are not known.

    The last 50,000 changes are kept one by one; the peak and the sums include earlier ones.

    Parameters
    ----------
    device
        Number of the device, from 0, or a `torch.device`.

    Returns
    -------
    MemoryTimeline
        The memory, for a `with` block.

    Raises
    ------
    ValueError
        If `device` is not the number of a device.
    RuntimeError
        When the block is entered: if another memory timeline is recording, or there is no device of that number.

    Examples
    --------
    >>> import cupy
    >>> with h2d.memory_timeline() as t:
    ...     x = cupy.zeros(1_000_000, dtype=cupy.float32)
    ...     y = (x + 1) * 2
    >>> t.peak - t.before, t.end
    (12000768, 8000512)
    >>> [event.nbytes for event in t.events]
    [4000256, 4000256, 4000256, -4000256]
    >>> print(t)  # in a notebook, t alone draws the picture
    Recorded on: stand-in, device 0.
    Peak: ... MiB at ...
    """
    return MemoryTimeline(device)


_open: list[MemoryTimeline] = []


def _index(device: Any) -> int:
    index = getattr(device, "index", device)
    if index is None and hasattr(device, "type"):  # torch.device("cuda")
        return 0
    if isinstance(index, bool) or not isinstance(index, int) or index < 0:
        raise ValueError(f"h2d.memory_timeline records one device: give its number (0, 1, …), not {device!r}")
    return index


def _line(place: str, code: str) -> str:
    """Return a place with its code: "a cell, line 3: y = x * 2"."""
    return f"{place}: {short(code)}" if code else place


def _table(caption: str, held: Sequence[Held], most: int = MOST) -> Table:
    if not held:
        return Table(f"{caption} nothing", (), ())
    several = len({each.library for each in held if each.library}) > 1
    rows = [
        (
            each.place,
            units.amount(each.nbytes),
            f"{each.blocks:,}" if each.blocks else "",
            *([each.library] if several else []),
            short(each.code),
        )
        for each in held[:most]
    ]
    rest = held[most:]
    remarks = (
        (f"and {units.amount(sum(each.nbytes for each in rest))} from {len(rest):,} more lines",)
        if rest
        else ()
    )
    header = ("line", "bytes", "blocks", *(["library"] if several else []), "code")
    return Table(caption, header, tuple(rows), (1, 2), remarks, code=len(header) - 1)
