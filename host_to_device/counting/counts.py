"""`h2d.count()` and its result, a `Count`."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from host_to_device.counting import on_gpu
from host_to_device.counting.lines import Line, by_line
from host_to_device.counting.numbers import NotKnown, Numbers, known
from host_to_device.rendering.table import Table
from host_to_device.standins import events


@dataclass(frozen=True)
class Copies:
    """Copies in one direction: their number and their total bytes, both `NOT_KNOWN` where they are not known."""

    count: int | NotKnown
    bytes: int | NotKnown


class Count:
    """The numbers of a block; `with h2d.count() as c:` makes one. They grow while the block runs, and stay after it.

    On a GPU the numbers are known when the block has ended. A number that cannot be counted there prints as "not
    known", and so does what is computed from it; the first count without such a number prints one line that says why
    and what to install. A count that is entered again starts at zero; entered inside its own block, it goes on. It
    counts all threads of the process. Two counts are equal if their numbers are equal; `where` and the lines do not
    matter.
    """

    def __init__(self, *, speaks: bool = True) -> None:
        self._lock, self._depth, self._speaks = threading.RLock(), 0, speaks
        self._numbers = Numbers()
        self._lines: tuple[Line, ...] = ()
        self._before: events.Snapshot | None = None
        self._profiled: on_gpu.Profiled | None = None
        self._where = ""

    def __enter__(self) -> Count:
        with self._lock:
            if not self._depth:
                on_gpu.check_ready()
            self._depth += 1
            if self._depth > 1:
                return self
            self._numbers, self._lines = Numbers(), ()
            self._where = on_gpu.name() or "stand-in"
            if self.is_on_gpu:
                try:
                    self._profiled = on_gpu.begin()
                except BaseException:
                    self._depth = 0
                    raise
            else:
                follow_torch()
                events.listen()
                self._before = events.Snapshot()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth:
                return
            if self._profiled is not None:
                profiled, self._profiled = self._profiled, None
                self._numbers = on_gpu.end(profiled)
                if self._speaks:
                    on_gpu.say_once(self._numbers.missing)
            elif self._before is not None:
                self._numbers, self._lines = self._so_far()
                self._before = None
                events.stop_listening()

    def _so_far(self) -> tuple[Numbers, tuple[Line, ...]]:
        with self._lock:
            if self._before is None:
                return self._numbers, self._lines
            follow_torch()
            happened = events.Snapshot() - self._before
            sums = {name: happened.sums[name] for name in events.NAMES}
            numbers = Numbers.of(sums, by_name=happened.operations)
            numbers.places = ("stand-in",) if numbers.worked else ()
            # A device that was loaded within the block reports the places of its waits only from then on.
            unseen = sums["waits"] - happened.places.total()
            if unseen > 0:
                happened.places["", 0, "loading a device"] += unseen
            return numbers, by_line(happened.places)

    @property
    def is_on_gpu(self) -> bool:
        """Whether the numbers come from a GPU, through CUPTI, and not from a stand-in."""
        return self._where not in ("", "stand-in")

    @property
    def where(self) -> str:
        """The place of the count: "stand-in", or "GPU NVIDIA …, by CUPTI"; empty before the block."""
        return self._where

    @property
    def host_to_device(self) -> Copies:
        """Copies from the host to the device."""
        return self._copies("h2d")

    @property
    def device_to_host(self) -> Copies:
        """Copies from the device to the host."""
        return self._copies("d2h")

    @property
    def copies_to_device(self) -> int | NotKnown:
        """Number of copies from the host to the device."""
        return self.host_to_device.count

    @property
    def copies_to_host(self) -> int | NotKnown:
        """Number of copies from the device to the host."""
        return self.device_to_host.count

    @property
    def device_to_device(self) -> Copies:
        """Copies from the device to itself or to another."""
        return self._copies("d2d")

    def _copies(self, direction: str) -> Copies:
        numbers = self._so_far()[0]
        return Copies(known(getattr(numbers, direction)), known(getattr(numbers, f"{direction}_bytes")))

    @property
    def waits(self) -> int | NotKnown:
        """How often the host waited for the device."""
        return known(self._so_far()[0].waits)

    @property
    def allocations(self) -> int | NotKnown:
        """Allocations of device memory, from the library's memory pool where it has one."""
        return known(self._so_far()[0].allocations)

    @property
    def operations(self) -> int | NotKnown:
        """Operations of the device: kernels and memsets on a GPU; on a stand-in, steps that would be at least one each."""
        return known(self._so_far()[0].operations)

    @property
    def operations_by_name(self) -> dict[str, int]:
        """The operations by name, the most frequent first; PyTorch's stand-in has one name for all."""
        return dict(self._so_far()[0].by_name.most_common())

    @property
    def launches(self) -> int | None:
        """Launches of kernels and graphs on a GPU; None on a stand-in, and where they are not known."""
        return self._so_far()[0].launches

    @property
    def places(self) -> tuple[str, ...]:
        """What was seen to work, "GPU" or "stand-in"; without CUPTI the GPU may be missing although it worked."""
        return self._so_far()[0].places

    @property
    def waits_by_line(self) -> tuple[Line, ...]:
        """Your lines at which the host waited, the most frequent first; empty on a GPU."""
        return self._so_far()[1]

    def as_dict(self) -> dict[str, int | None]:
        """Return the numbers by name: copies and bytes in each direction, waits, allocations, operations.

        A number that is not known is None.
        """
        numbers = self._so_far()[0]
        return {
            "host_to_device": numbers.h2d,
            "host_to_device_bytes": numbers.h2d_bytes,
            "device_to_host": numbers.d2h,
            "device_to_host_bytes": numbers.d2h_bytes,
            "device_to_device": numbers.d2d,
            "device_to_device_bytes": numbers.d2d_bytes,
            "waits": numbers.waits,
            "allocations": numbers.allocations,
            "operations": numbers.operations,
        }

    def __eq__(self, other: object) -> bool:
        return self.as_dict() == other.as_dict() if isinstance(other, Count) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # equal counts may go on to differ

    def table(self) -> Table:
        """Return the numbers as a table, which prints as text and shows in a notebook."""
        numbers = self._so_far()[0]
        rows = [
            ("copies, host to device", written(numbers.h2d), nbytes(numbers.h2d_bytes)),
            ("copies, device to host", written(numbers.d2h), nbytes(numbers.d2h_bytes)),
            ("copies, device to device", written(numbers.d2d), nbytes(numbers.d2d_bytes)),
            ("waits of the host", written(numbers.waits), ""),
            ("allocations", written(numbers.allocations), ""),
            ("device operations", written(numbers.operations), ""),
        ]
        if numbers.launches is not None:
            rows.append(("launches", written(numbers.launches), ""))
        caption = f"Counted on: {self._where}" if self._where else "Nothing counted yet"
        return Table(caption, ("", "number", "bytes"), tuple(rows), (1, 2), numbers.missing)

    def show_waits(self, most: int = 5) -> Table:
        """Return a table of the lines at which the host waited most, which prints as text and shows in a notebook.

        Parameters
        ----------
        most
            The largest number of lines.
        """
        lines = self.waits_by_line
        if self.is_on_gpu:
            return Table(on_gpu.NO_LINES, (), ())
        if not lines:
            return Table("The host did not wait.", (), ())
        rows = tuple(
            (each.place, written(each.count), each.text, ", ".join(each.reasons)) for each in lines[:most]
        )
        rest = sum(each.count for each in lines[most:])
        remarks = (f"and {rest:,} at {len(lines) - most:,} more lines",) if rest else ()
        caption = f"Where the host waited, counted on: {self._where}"
        return Table(caption, ("line", "waits", "code", "for"), rows, (1,), remarks, code=2)

    def __str__(self) -> str:
        return str(self.table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def written(number: int | None) -> str:
    """Return a number for a table."""
    return "not known" if number is None else f"{number:,}"


def nbytes(number: int | None) -> str:
    """Return bytes for a table, nothing for 0 and for None."""
    return f"{number:,}" if number else ""


def follow_torch() -> None:
    """Add the counters of PyTorch's stand-in device, if it is loaded."""
    device = on_gpu.torch_stand_in()
    if device is not None:
        events.follow("PyTorch", device.counters, device.on_wait)


def count() -> Count:
    """Count the copies, waits, allocations and operations of a device, for Numba, CuPy and PyTorch alike.

    On the stand-ins it counts the work that they do for you, and leaves out the extra work of a machine without a GPU.
    On a GPU the numbers come from CUPTI, through PyTorch's profiler, which needs a PyTorch that is built for CUDA.
    Without one, everything is counted for Numba, and only the allocations for CuPy: the other numbers are then "not
    known", and one line says so. The docstring of `host_to_device.counting` says what each call counts as.

    Returns
    -------
    Count
        The numbers, for a `with` block.

    Examples
    --------
    >>> from numba import cuda
    >>> x = np.zeros(1000)
    >>> with h2d.count() as c:
    ...     d_x = cuda.to_device(x)
    >>> c.host_to_device.count, c.host_to_device.bytes, c.waits
    (1, 8000, 1)
    >>> print(c)
    Counted on: stand-in
                              number  bytes
    copies, host to device         1  8,000
    copies, device to host         0
    copies, device to device       0
    waits of the host              1
    allocations                    1
    device operations              0
    """
    return Count()
