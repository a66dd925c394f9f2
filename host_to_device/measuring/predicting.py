"""`h2d.predict(...)`: what counted work would take on a machine whose limits were measured.

The model is the plainest that there is: everything at the machine's own limit, one thing after the other.

    seconds = (copies + launches) × launch latency + waits × wait latency
              + bytes from host to device ÷ that bandwidth + bytes from device to host ÷ that bandwidth
              + 2 × bytes from device to device ÷ copy bandwidth + operations ÷ rate of a matrix product

To ask for a copy costs the host about what it costs to ask for a kernel, so both are taken at the launch latency. The
copy bandwidth counts bytes that are read and bytes that are written, so a copy on the device moves its bytes twice.
Real programs take longer, because few reach the limits, or less, because the device works while the host goes on.
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

# The directions of copies, as a count names them, and as `bytes` does.
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
        What is counted: "copies", "host to device", "waits", …
    count
        How many: calls, bytes or floating-point operations.
    cost
        Seconds for one of them.
    limit
        The name of the limit that the cost comes from.
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
        """What the term adds to the sum."""
        return self.count * self.cost


@dataclass(frozen=True)
class Prediction:
    """What counted work would take on a recorded machine, by its limits: predicted, not measured.

    Attributes
    ----------
    machine
        The machine's name.
    stamp
        The record's stamp: machine, date, versions.
    parts
        The terms of the sum, without those that are nothing.
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
        """The sum with its numbers and units, to be redone by hand."""
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
    """Return what counted work would cost on a recorded machine, by the limits that were measured there.

    Everything is taken at the machine's limit, one thing after the other. Nothing is run.

    >>> with h2d.count() as c:
    ...     train_one_epoch()
    >>> print(h2d.predict(c, machine="NVIDIA H200"))

    Parameters
    ----------
    counts
        What `h2d.count()` has counted; its operations are taken as launches. The numbers below come on top of it.
    copies
        Copies that are asked for, in whatever direction.
    bytes
        Bytes that they move from the host to the device; or a mapping from directions, "host to device",
        "device to host" and "device to device", to bytes.
    waits
        How often the host waits for the device.
    launches
        Kernels that are launched.
    flops
        Floating-point operations, at the rate of a product of large matrices.
    dtype
        What these operations are on: "float64", "float32", "tf32", "float16", "bfloat16".
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
        If there is no record of that machine, or if the record lacks a limit that is needed.
    ValueError
        If there is nothing to predict, a number is negative or none, or a count is not known.
    TypeError
        If `counts` or `machine` is something else.
    """
    amounts = dict.fromkeys(("copies", *DIRECTIONS, "waits", "launches", "flops"), 0.0)
    given = {"copies": copies, "waits": waits, "launches": launches, "flops": flops, **_directions(bytes)}
    for name, value in given.items():
        if not isinstance(value, numbers.Real) or isinstance(value, bool) or not 0 <= value < math.inf:
            raise ValueError(f"{name} is {value!r}: give a number from 0")
        amounts[name] += value
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
    """Return the recorded machines, GPUs first, to be named in `predict`: each has `machine_name`, `stamp` and `limits`.

    >>> for machine in h2d.records():
    ...     print(machine.machine_name, list(machine.limits))
    """
    return ledger.records()


# The terms; None for one that is nothing, for which no limit is needed


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


# What was given


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
    """Return the name of a dtype of whatever library."""
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
    if not (isinstance(value, numbers.Real) and 0 < value < math.inf):
        raise LookupError(
            f"the record of {record.machine_name} has {value!r} for {name!r}, which is no limit: measure it again"
        )
    return float(value)
