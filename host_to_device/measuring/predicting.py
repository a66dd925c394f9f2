"""`h2d.predict(...)`: predict the time of counted work on a machine whose limits are known.

The host issues copies and launches while the device works, so the longer of the two times counts, and waits come on top:

    seconds = max(host, device) + waits

    host    (copies + launches) × launch latency
    device  the longer of operations ÷ rate of a matrix product and bytes that kernels move ÷ copy bandwidth
            + 2 × bytes from device to device ÷ copy bandwidth
            + bytes over the link ÷ its bandwidth, if the host does not wait for every copy
    waits   waits × wait latency
            + bytes over the link ÷ its bandwidth, if the host waits for every copy

While the host waits for a copy it issues nothing, so the bytes of such a copy overlap with nothing: one copy with a wait
takes launch latency + wait latency + bytes ÷ bandwidth. Issuing a copy costs the host as much as a launch, so both count
with the launch latency. The copy bandwidth counts bytes read and bytes written, so a copy within the device moves its
bytes twice.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from host_to_device.counting.numbers import NOT_KNOWN, NotKnown
from host_to_device.measuring import ledger, prices
from host_to_device.rendering import units

if TYPE_CHECKING:
    from host_to_device.counting import Count

# The directions of copies: the key of `bytes`, and the attribute of a count.
DIRECTIONS = {
    "host to device": "host_to_device",
    "device to host": "device_to_host",
    "device to device": "device_to_device",
}
NOTHING = (
    "there is nothing to predict: give h2d.count()'s result, or "
    "copies=…, bytes=…, waits=…, launches=…, flops=…, traffic=…"
)
# Where a term counts. The two terms of the kernels overlap, so only the longer one counts.
HOST, DEVICE, KERNELS, WAITS = "host", "device", "kernels", "waits"


@dataclass(frozen=True)
class Part:
    """One term of a prediction.

    Attributes
    ----------
    name
        The counted work: "copies", "host to device", "waits", …
    count
        Its amount: calls, bytes or floating-point operations.
    cost
        Seconds for each of them.
    limit
        The name of the limit that gives the cost.
    text
        The term with numbers and units.
    place
        Where it counts: "host", "device", "kernels" (on the device; the longer of their terms counts) or "waits".
    """

    name: str
    count: float
    cost: float
    limit: str
    text: str
    place: str = HOST

    @property
    def seconds(self) -> float:
        """The seconds of the term by itself."""
        return self.count * self.cost


@dataclass(frozen=True)
class Prediction:
    """The time of counted work on a machine, by its limits: predicted, not measured.

    Attributes
    ----------
    machine
        The machine's name.
    stamp
        The record's stamp: machine, date, versions; or "as documented".
    parts
        The terms that are not zero.
    doubts
        The reasons to doubt limits that it uses: another measurement of the same record exceeds them.
    unknown
        The names of what the count could not count. Unless it is empty, the times are not known: they print so.
    """

    machine: str
    stamp: str
    parts: tuple[Part, ...]
    doubts: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def host(self) -> float:
        """The seconds for which the host issues copies and launches."""
        return self._sum(part.seconds for part in self._at(HOST))

    @property
    def device(self) -> float:
        """The seconds for which the device works: its kernels, and the copies that the host does not wait for."""
        kernels = max((part.seconds for part in self._at(KERNELS)), default=0.0)
        return self._sum((kernels, *(part.seconds for part in self._at(DEVICE))))

    @property
    def waits(self) -> float:
        """The seconds for which the host waits, with the bytes that cross the link meanwhile."""
        return self._sum(part.seconds for part in self._at(WAITS))

    @property
    def seconds(self) -> float:
        """The predicted time: the longer of `host` and `device`, and `waits`."""
        return NOT_KNOWN if self.unknown else max(self.host, self.device) + self.waits

    @property
    def formula(self) -> str:
        """The calculation with its numbers and units, as a reader would redo it by hand."""
        if self.unknown:
            return f"not known, because the count does not know: {', '.join(self.unknown)}"
        host, device, kernels, waits = (
            [part.text for part in self._at(place)] for place in (HOST, DEVICE, KERNELS, WAITS)
        )
        work = [" + ".join([*device, _longest(kernels)] if kernels else device)] if device else kernels
        terms = [_longest([" + ".join(host), *work]), *waits]
        return f"{' + '.join(filter(None, terms)) or 'nothing'} = {units.seconds(self.seconds)}"

    def _sum(self, seconds: Iterable[float]) -> float:
        return NOT_KNOWN if self.unknown else math.fsum(seconds)

    def _at(self, place: str) -> list[Part]:
        return [part for part in self.parts if part.place == place]

    def __str__(self) -> str:
        lines = [f"predicted, not measured, from the limits of {self.stamp}:", f"  {self.formula}"]
        return "\n".join([*lines, *(f"  doubtful: {doubt}" for doubt in self.doubts)])

    __repr__ = __str__


def _longest(texts: Iterable[str]) -> str:
    """Return the terms of which the longer counts, as a formula has them."""
    given = [text for text in texts if text]
    return f"max({', '.join(given)})" if len(given) > 1 else "".join(given)


def predict(
    counts: Count | None = None,
    *,
    copies: float = 0,
    bytes: float | Mapping[str, float] = 0,
    waits: float = 0,
    launches: float = 0,
    flops: float = 0,
    traffic: float = 0,
    dtype: Any = "float32",
    pinned: bool = False,
    machine: Any = None,
) -> Prediction:
    """Predict the time of counted work on a machine, from its measured or documented limits.

    The host issues copies and launches while the device works, and waits come on top: the time is
    max(host, device) + waits. Nothing is run.

    - host: each copy and each launch costs the launch latency.
    - device: its kernels take the longer of `flops` at the rate of a matrix product and `traffic` at the copy
      bandwidth; the bytes of copies come on top.
    - waits: each costs the wait latency. If the host waits for every copy, the bytes cross the link during the waits,
      and overlap with nothing.

    Kernels that do not reach the limits take longer, and so does a host that needs more time for a launch, for example
    in PyTorch. Trust the ratios more than the microseconds.

    Parameters
    ----------
    counts
        The result of `h2d.count()`; its operations count as launches. The numbers below are added to it.
    copies
        The number of copies, in any direction.
    bytes
        The bytes that are copied from the host to the device; or a mapping from directions ("host to device",
        "device to host", "device to device") to bytes.
    waits
        How often the host waits for the device.
    launches
        The number of kernel launches.
    flops
        The number of floating-point operations of the kernels.
    traffic
        The bytes that the kernels read and write in the device's memory. For y = a * x + y with n float32 numbers
        that is 12 n: x and y are read, and y is written.
    dtype
        The type of the operations: "float64", "float32", "tf32", "float16", "bfloat16".
    pinned
        Whether the host's memory is pinned; NumPy's arrays are not.
    machine
        The name of a recorded machine, or a record; or the name of a GPU of which the library knows the documents,
        such as "V100".

    Returns
    -------
    Prediction
        Its `seconds`, its `host`, `device` and `waits` (all in seconds), its `parts` and its `formula`.

    Raises
    ------
    LookupError
        If no machine is named, if the machine is not known, or if a limit that is needed is not known of it.
    ValueError
        If there is nothing to predict, or if a number is negative or not finite. A number that a count could not count
        is no error: then the times of the prediction are not known.
    TypeError
        If `counts` is not a count, or `machine` neither a name nor a record.

    Notes
    -----
    The prices of the documented V100, which this book uses: 3.8 µs to issue a launch or a copy and 5.8 µs for a wait,
    together the 9.6 µs that NVIDIA measured for a short kernel with a wait after it ("Getting Started with CUDA
    Graphs"); 12 GB/s from pinned memory over PCI Express 3.0 x16, and 898 GB/s in its memory ("CUDA C++ Best Practices
    Guide"); 15.7 TFLOP/s in float32 (Volta whitepaper). Other documented GPUs have the bandwidth and the rates of their
    data sheets, the V100's prices of launches and waits, and no link.

    Examples
    --------
    A product of two 1000 × 1000 matrices that come from the host, with its result back:

    >>> n = 1000
    >>> moved = {"host to device": 8 * n**2, "device to host": 4 * n**2}
    >>> work = dict(launches=1, flops=2 * n**3, traffic=12 * n**2)
    >>> predicted = h2d.predict(copies=3, waits=3, bytes=moved, pinned=True, machine="V100", **work)
    >>> print(f"{predicted.seconds * 1e3:.2f} ms, the host issues for {predicted.host * 1e6:.1f} µs")
    1.14 ms, the host issues for 15.2 µs
    >>> print(h2d.predict(launches=5, traffic=2e6, machine="V100"))
    predicted, not measured, from the limits of a Tesla V100 as documented:
      max(5 launches × 3.80 µs, 2.00 MB in device memory ÷ 898 GB/s) = 19.0 µs
    """
    amounts = dict.fromkeys(("copies", *DIRECTIONS, "waits", "launches", "flops", "traffic"), 0.0)
    given = {"copies": copies, "waits": waits, "launches": launches, "flops": flops, "traffic": traffic}
    given |= _directions(bytes)
    for name, value in given.items():
        if isinstance(value, NotKnown):
            continue
        if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 <= float(value) < math.inf:
            raise ValueError(f"{name} is {value!r}: give a number from 0")
        amounts[name] += float(value)
    counted = {} if counts is None else _counted(counts)
    both = counted, given
    unknown = [name for name in counted | given if any(isinstance(each.get(name), NotKnown) for each in both)]
    if counts is None and not unknown and not any(amounts.values()):
        raise ValueError(NOTHING)
    record = _record(machine)
    stamp = getattr(record, "stamp", record.machine_name)
    if unknown:
        return Prediction(record.machine_name, stamp, (), unknown=tuple(unknown))
    for name, value in counted.items():
        amounts[name] += value
    # Copies that may cross the link.
    crossing = amounts["copies"] - (0 if counts is None else counts.device_to_device.count)
    kind = "pinned" if pinned else "pageable"
    # What crosses while the host waits for it overlaps with nothing.
    link = WAITS if amounts["waits"] >= max(1, crossing) else DEVICE
    parts = [
        _each("copies", amounts["copies"], "launch latency", record),
        _each("launches", amounts["launches"], "launch latency", record),
        _moved("host to device", amounts["host to device"], f"host to device, {kind}", record, link),
        _moved("device to host", amounts["device to host"], f"device to host, {kind}", record, link),
        _moved("device to device", amounts["device to device"], "copy bandwidth", record, DEVICE, times=2),
        _computed(amounts["flops"], f"matmul {_name_of(dtype)}", record),
        _moved("in device memory", amounts["traffic"], "copy bandwidth", record, KERNELS),
        _each("waits", amounts["waits"], "wait latency", record, WAITS),
    ]
    used = tuple(part for part in parts if part is not None)
    above = getattr(record, "exceeded", {})
    doubts = [
        f"“{name}” is no limit: {above[name].text}."
        for name in dict.fromkeys(part.limit for part in used)
        if name in above
    ]
    return Prediction(record.machine_name, stamp, used, tuple(doubts))


def records() -> list[ledger.Record]:
    """Return the records of the measured machines, GPUs first.

    Each has `machine_name`, `stamp` and `limits`, and can be given to `h2d.predict` as `machine`.

    Examples
    --------
    >>> for record in h2d.records():
    ...     print("limits:", len(record.limits), "of", record.machine_name)
    limits: ...
    """
    return ledger.records()


# The terms. None stands for a term of zero, which needs no limit.


def _each(name: str, count: float, limit: str, record: Any, place: str = HOST) -> Part | None:
    if not count:
        return None
    cost = _limit(record, limit)
    one = {"copies": "copy", "launches": "launch", "waits": "wait"}[name]
    text = f"{count:,g} {one if count == 1 else name} × {units.seconds(cost)}"
    return Part(name, count, cost, limit, text, place)


def _moved(name: str, nbytes: float, limit: str, record: Any, place: str, times: int = 1) -> Part | None:
    if not nbytes:
        return None
    bandwidth = _limit(record, limit)
    twice = f"{times} × " if times > 1 else ""
    text = f"{twice}{units.rate(nbytes, 'B')} {name} ÷ {units.rate(bandwidth, 'B/s')}"
    return Part(name, nbytes, times / bandwidth, limit, text, place)


def _computed(flops: float, limit: str, record: Any) -> Part | None:
    if not flops:
        return None
    rate = _limit(record, limit)
    text = f"{units.rate(flops, 'FLOP')} ÷ {units.rate(rate, 'FLOP/s')} ({limit})"
    return Part("flops", flops, 1 / rate, limit, text, KERNELS)


# The arguments


def _directions(bytes: Any) -> dict[str, Any]:
    """Return bytes by direction."""
    if not isinstance(bytes, Mapping):
        return {"host to device": bytes}
    for name in bytes:
        if name not in DIRECTIONS:
            raise ValueError(f"bytes has {name!r}, which is not a direction: give {', '.join(DIRECTIONS)}")
    return dict(bytes)


def _counted(counts: Any) -> dict[str, float]:
    """Return the numbers of a count, by the names of the terms."""
    try:
        by_direction = {name: getattr(counts, attribute) for name, attribute in DIRECTIONS.items()}
        found = {name: each.bytes for name, each in by_direction.items()}
        copies = [each.count for each in by_direction.values()]
        found |= {
            "copies": sum(copies),
            "waits": counts.waits,
            "launches": counts.operations,
        }
    except AttributeError:
        what = type(counts).__name__
        raise TypeError(
            f"counts is {what}: give what h2d.count() has counted, or copies=…, bytes=…"
        ) from None
    if not getattr(counts, "where", "somewhere"):
        raise ValueError("the count is empty: use it first, with h2d.count() as c: …")
    return found


def _name_of(dtype: Any) -> str:
    """Return the name of a dtype of any library."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", getattr(dtype, "__name__", str(dtype)))
    return name.removeprefix("torch.")


def _record(machine: Any) -> Any:
    if machine is None:
        known = (
            ", ".join(each.machine_name for each in ledger.records())
            or "none yet, and `make measure` writes one"
        )
        raise LookupError(
            f"no machine is named: give machine=…, one of: {known}; or a documented one, 'V100'"
        )
    if isinstance(machine, str):
        return _named(machine)
    if not hasattr(machine, "limits") or not hasattr(machine, "machine_name"):
        raise TypeError(
            f"machine is {type(machine).__name__}: give the name of a recorded machine, or a record"
        )
    return machine


def _named(name: str) -> Any:
    """Return the record of a machine, or else a GPU by its documents."""
    try:
        return ledger.record(name)
    except LookupError as missing:
        try:
            return prices.documented(name)
        except ValueError:
            raise LookupError(f"{missing}; and no documented GPU has this name") from None


def _limit(record: Any, name: str) -> float:
    """Return a limit of a machine."""
    limit = record.limits.get(name)
    if limit is None:
        known = ", ".join(record.limits) or "none"
        if name.endswith(", pageable") and name.replace("pageable", "pinned") in record.limits:
            known += ". For pinned memory give pinned=True"
        raise LookupError(f"the record of {record.machine_name} has no limit {name!r}; it has: {known}")
    value = limit["value"]
    if not (isinstance(value, numbers.Real) and 0 < float(value) < math.inf):
        raise LookupError(
            f"the record of {record.machine_name} has {value!r} for {name!r}, which is not a limit: measure it again"
        )
    return float(value)
