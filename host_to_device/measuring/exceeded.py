"""Find limits that another measurement on the same machine exceeds: such a number is no limit.

A record keeps every number as it was measured. Whatever reads it asks here which of its limits contradict the rest:

- two cores at twice a core's speed is the most that there can be: "cores scaling" above the number of cores is wrong;
- one core alone cannot be faster than all cores together;
- no experiment can be faster than the limit of its machine. Only experiments that measure a rate are compared, and only
  samples without a doubt: data that fits in a cache may well be faster than memory.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from host_to_device.rendering import units

MARGIN = 1.03  # medians that differ by less do not contradict each other
USUAL = {"B/s": ("copy bandwidth",), "FLOP/s": ("matmul float32",)}  # limits of an experiment that names none


@dataclass(frozen=True)
class Exceeded:
    """A limit that is none: what exceeds it, in the limit's unit and in words.

    Attributes
    ----------
    limit
        The limit's name.
    by
        The larger number, or the largest that is possible where the limit itself is too large.
    text
        The reason, as a sentence without its full stop.
    """

    limit: str
    by: float
    text: str


def exceeded(
    limits: Mapping[str, Mapping[str, Any]],
    *,
    cores: int | None = None,
    kind: str = "cpu",
    experiments: Iterable[Mapping[str, Any]] = (),
) -> dict[str, Exceeded]:
    """Return the limits that something else contradicts, by name.

    Parameters
    ----------
    limits
        The limits of a machine, as a record has them.
    cores
        The cores of its CPU; None where that is not known.
    kind
        "gpu" or "cpu": whose limits have the plain names.
    experiments
        Experiments on the same machine, in the form of a record.
    """
    found = [*_scaling(limits, cores), *_one_core(limits), *_experiments(limits, kind, experiments)]
    worst: dict[str, Exceeded] = {}
    for each in found:
        known = worst.get(each.limit)
        if known is None or each.by > known.by:
            worst[each.limit] = each
    return worst


def _scaling(limits: Mapping[str, Mapping[str, Any]], cores: int | None) -> Iterable[Exceeded]:
    for name in ("cores scaling", "cores scaling, copy"):
        if cores and name in limits and limits[name]["value"] > MARGIN * cores:
            many = f"{cores} core{'s' * (cores != 1)}"
            yield Exceeded(
                name,
                cores,
                f"{many} cannot be more than {cores} times as fast as one: both were not measured alike",
            )


def _one_core(limits: Mapping[str, Mapping[str, Any]]) -> Iterable[Exceeded]:
    for name, limit in limits.items():
        whole = name.replace(", one core", "")
        if whole != name and whole in limits and limit["value"] > MARGIN * limits[whole]["value"]:
            reached = units.shown(limit["value"], limit["unit"])
            yield Exceeded(whole, limit["value"], f"one core alone reached {reached}")


def _experiments(
    limits: Mapping[str, Mapping[str, Any]], kind: str, experiments: Iterable[Mapping[str, Any]]
) -> Iterable[Exceeded]:
    for about in experiments:
        unit = (about.get("y") or {}).get("unit")
        for sample in about.get("samples") or ():
            if sample.get("doubts") or not sample.get("values"):
                continue
            value = statistics.median(sample["values"])
            of_cpu = kind == "gpu" and (sample.get("where") or about.get("where")) == "CPU"
            name = _compared(limits, unit, about.get("limits") or (), ", CPU" if of_cpu else "")
            if name is not None and value > MARGIN * limits[name]["value"]:
                at = sample.get("x")
                at = f"{at:,g}" if isinstance(at, int | float) else at
                what = ", ".join(filter(None, (sample.get("series"), at)))
                title = about.get("title") or about.get("name") or "an experiment"
                reached = units.shown(value, limits[name]["unit"])
                yield Exceeded(name, value, f"“{title}” reached {reached}{f' ({what})' * bool(what)}")


def _compared(
    limits: Mapping[str, Mapping[str, Any]], unit: str | None, named: Iterable[str], of_cpu: str
) -> str | None:
    """Return the limit that a rate must not exceed; None if there is none.

    A rate of operations may be of any type, so it is compared with the fastest product that was measured.
    """
    if unit == "FLOP/s":
        names = [name for name in limits if re.fullmatch(rf"matmul \w+{of_cpu}", name)]
    elif unit == "B/s":
        names = [f"{name}{of_cpu}" for name in [*named] or USUAL[unit]]
    else:
        return None
    known = [name for name in names if name in limits and limits[name]["unit"] == unit]
    return max(known, key=lambda name: limits[name]["value"], default=None)
