"""`h2d.predict(...)`: predict the time of counted work on a machine whose limits were measured.

The model is simple: every part runs at the machine's own limit, one after the other.

    seconds = (copies + launches) × launch latency + waits × wait latency
              + bytes from host to device ÷ that bandwidth + bytes from device to host ÷ that bandwidth
              + 2 × bytes from device to device ÷ copy bandwidth + operations ÷ rate of a matrix product

Starting a copy costs the host about as much as launching a kernel, so both count with the launch latency. The copy
bandwidth counts bytes read and bytes written, so a copy on the device moves its bytes twice. A real program takes
longer where it does not reach the limits, or less time where the device works while the host goes on.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from host_to_device.measuring import ledger
from host_to_device.rendering import units

if TYPE_CHECKING:
    from host_to_device.counting import Count

# The directions of copies: the key of `bytes`, and the attribute of a count.
DIRECTIONS = {
    "host to device": "host_to_device",
    "device to host": "device_to_host",
    "device to device": "device_to_device",
}
NOTHING = "there is nothing to predict: give h2d.count()'s result, or copies=…, bytes=…, waits=…, launches=…, flops=…"


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
    """

    name: str
    count: float
    cost: float
    limit: str
    text: str

    @property
    def seconds(self) -> float:
        """The seconds that the term adds to the sum."""
        return self.count * self.cost


@dataclass(frozen=True)
class Prediction:
    """The time of counted work on a recorded machine, by its limits: predicted, not measured.

    Attributes
    ----------
    machine
        The machine's name.
    stamp
        The record's stamp: machine, date, versions.
    parts
        The terms of the sum that are not zero.
    """

    machine: str
    stamp: str
    parts: tuple[Part, ...]

    @property
    def seconds(self) -> float:
        """The sum of the parts, in seconds."""
        return math.fsum(part.seconds for part in self.parts)

    @property
    def formula(self) -> str:
        """The sum with its numbers and units, as a reader would work it out by hand."""
        terms = " + ".join(part.text for part in self.parts) or "nothing"
        return f"{terms} = {units.seconds(self.seconds)}"

    def __str__(self) -> str:
        return f"predicted, not measured, from the limits of {self.stamp}:\n  {self.formula}"

    __repr__ = __str__


def predict(
    counts: Count | None = None,
    *,
    copies: float = 0,
    bytes: float | Mapping[str, float] = 0,
    waits: float = 0,
    launches: float = 0,
    flops: float = 0,
    dtype: Any = "float32",
    pinned: bool = False,
    machine: Any = None,
) -> Prediction:
    """Predict the time of counted work on a recorded machine, from the limits that were measured there.

    Every part runs at the machine's limit, one after the other. Nothing is run.

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
        The number of floating-point operations, at the rate of a product of large matrices.
    dtype
        The type of these operations: "float64", "float32", "tf32", "float16", "bfloat16".
    pinned
        Whether the host's memory is pinned; NumPy's arrays are not.
    machine
        The name of a recorded machine, or a record.

    Returns
    -------
    Prediction
        Its `seconds`, its `parts` and its `formula`.

    Raises
    ------
    LookupError
        If no machine is named, if the machine has no record, or if its record lacks a limit that is needed.
    ValueError
        If there is nothing to predict, if a number is negative or not finite, or if a count is not known.
    TypeError
        If `counts` is not a count, or `machine` neither a name nor a record.

    Examples
    --------
    >>> machine = h2d.records()[0]
    >>> predicted = h2d.predict(flops=2 * 4096**3, machine=machine)
    >>> print(predicted)
    predicted, not measured, from the limits of ...:
      137 GFLOP ÷ ...FLOP/s (matmul float32) = ...
    """
    amounts = dict.fromkeys(("copies", *DIRECTIONS, "waits", "launches", "flops"), 0.0)
    given = {"copies": copies, "waits": waits, "launches": launches, "flops": flops, **_directions(bytes)}
    for name, value in given.items():
        if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 <= float(value) < math.inf:
            raise ValueError(f"{name} is {value!r}: give a number from 0")
        amounts[name] += float(value)
    if counts is None and not any(amounts.values()):
        raise ValueError(NOTHING)
    if counts is not None:
        for name, value in _counted(counts).items():
            amounts[name] += value
    record = _record(machine)
    kind = "pinned" if pinned else "pageable"
    parts = [
        _each("copies", amounts["copies"], "launch latency", record),
        _moved("host to device", amounts["host to device"], f"host to device, {kind}", record),
        _moved("device to host", amounts["device to host"], f"device to host, {kind}", record),
        _moved("device to device", amounts["device to device"], "copy bandwidth", record, times=2),
        _each("launches", amounts["launches"], "launch latency", record),
        _each("waits", amounts["waits"], "wait latency", record),
        _computed(amounts["flops"], f"matmul {_name_of(dtype)}", record),
    ]
    stamp = getattr(record, "stamp", record.machine_name)
    return Prediction(record.machine_name, stamp, tuple(part for part in parts if part is not None))


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


def _each(name: str, count: float, limit: str, record: Any) -> Part | None:
    if not count:
        return None
    cost = _limit(record, limit)
    one = {"copies": "copy", "launches": "launch", "waits": "wait"}[name]
    return Part(name, count, cost, limit, f"{count:,g} {one if count == 1 else name} × {units.seconds(cost)}")


def _moved(name: str, nbytes: float, limit: str, record: Any, times: int = 1) -> Part | None:
    if not nbytes:
        return None
    bandwidth = _limit(record, limit)
    twice = f"{times} × " if times > 1 else ""
    text = f"{twice}{units.rate(nbytes, 'B')} {name} ÷ {units.rate(bandwidth, 'B/s')}"
    return Part(name, nbytes, times / bandwidth, limit, text)


def _computed(flops: float, limit: str, record: Any) -> Part | None:
    if not flops:
        return None
    rate = _limit(record, limit)
    text = f"{units.rate(flops, 'FLOP')} ÷ {units.rate(rate, 'FLOP/s')} ({limit})"
    return Part("flops", flops, 1 / rate, limit, text)


# The arguments


def _directions(bytes: Any) -> dict[str, Any]:
    """Return bytes by direction."""
    if not isinstance(bytes, Mapping):
        return {"host to device": bytes}
    for name in bytes:
        if name not in DIRECTIONS:
            raise ValueError(f"bytes has {name!r}, which is no direction: give {', '.join(DIRECTIONS)}")
    return dict(bytes)


def _counted(counts: Any) -> dict[str, float]:
    """Return the numbers of a count, by the names of the terms."""
    try:
        by_direction = {name: getattr(counts, attribute) for name, attribute in DIRECTIONS.items()}
        found = {name: each.bytes for name, each in by_direction.items()}
        copies = [each.count for each in by_direction.values()]
        found |= {
            "copies": None if None in copies else sum(copies),
            "waits": counts.waits,
            "launches": counts.operations,
        }
    except AttributeError:
        what = type(counts).__name__
        raise TypeError(
            f"counts is {what}: give what h2d.count() has counted, or copies=…, bytes=…"
        ) from None
    unknown = [name for name, value in found.items() if value is None]
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: not known in this count, so give numbers instead of it")
    if not getattr(counts, "where", "somewhere"):
        raise ValueError("nothing was counted yet: use it first, with h2d.count() as c: …")
    return found


def _name_of(dtype: Any) -> str:
    """Return the name of a dtype of any library."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", getattr(dtype, "__name__", str(dtype)))
    return name.removeprefix("torch.")


def _record(machine: Any) -> Any:
    if machine is None:
        known = (
            ", ".join(each.machine_name for each in ledger.records()) or "none yet, `make measure` makes one"
        )
        raise LookupError(f"no machine is named: give machine=…, one of: {known}")
    if isinstance(machine, str):
        return ledger.record(machine)
    if not hasattr(machine, "limits") or not hasattr(machine, "machine_name"):
        raise TypeError(
            f"machine is {type(machine).__name__}: give the name of a recorded machine, or a record"
        )
    return machine


def _limit(record: Any, name: str) -> float:
    """Return a limit of a machine."""
    limit = record.limits.get(name)
    if limit is None:
        known = ", ".join(record.limits) or "none"
        raise LookupError(f"the record of {record.machine_name} has no limit {name!r}; it has: {known}")
    value = limit["value"]
    if not (isinstance(value, numbers.Real) and 0 < float(value) < math.inf):
        raise LookupError(
            f"the record of {record.machine_name} has {value!r} for {name!r}, which is no limit: measure it again"
        )
    return float(value)
