"""The limits that are known of this machine: the size of its last cache, and the peaks in its record."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path

from host_to_device.measuring import ledger
from host_to_device.starting import machine

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")

# Every limit that a record may have, with its unit. On a machine with a GPU the plain names are the GPU's.
KNOWN = {
    "copy bandwidth": "B/s",
    "copy bandwidth, one core": "B/s",
    "matmul float64": "FLOP/s",
    "matmul float32": "FLOP/s",
    "matmul tf32": "FLOP/s",
    "matmul float16": "FLOP/s",
    "matmul bfloat16": "FLOP/s",
    "cores scaling": "×",
    "cores scaling, copy": "×",
    "host to device, pinned": "B/s",
    "host to device, pageable": "B/s",
    "device to host, pinned": "B/s",
    "device to host, pageable": "B/s",
    "launch latency": "s",
    "wait latency": "s",
    "copy bandwidth, CPU": "B/s",
    "copy bandwidth, one core, CPU": "B/s",
    "matmul float64, CPU": "FLOP/s",
    "matmul float32, CPU": "FLOP/s",
}


@functools.cache
def cache_size(where: str) -> int | None:
    """Return the bytes of the last cache before memory, of the "CPU" or the "GPU"; None where it is not known."""
    if where == "GPU":
        return _l2_of_the_gpu()
    sizes = []
    for path in CACHES.glob("index*/size"):
        match = re.fullmatch(r"(\d+)([KMG]?)", path.read_text().strip())
        if match:
            sizes.append(int(match[1]) * {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}[match[2]])
    return max(sizes, default=None)


def _l2_of_the_gpu() -> int | None:
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_available():
        return torch.cuda.get_device_properties(0).L2_cache_size
    if (cupy := sys.modules.get("cupy")) is not None:
        return cupy.cuda.Device().attributes["L2CacheSize"]
    return None


def peak(what: str, where: str) -> float | None:
    """Return a limit of this machine, in bytes or operations per second; None where it has not been measured.

    If another measurement of the record exceeds the limit, that measurement counts.

    Parameters
    ----------
    what
        The name of a limit, or "matmul" for the fastest of all types.
    where
        "GPU" or "CPU".
    """
    if where not in ("GPU", "CPU"):
        return None
    record = _own_record(machine.chosen)
    if record is None:
        return None
    of_cpu = ", CPU" if where == "CPU" and record.kind == "gpu" else ""
    if (where == "GPU") != (record.kind == "gpu") and not of_cpu:
        return None
    values = [
        max(limit["value"], record.exceeded[name].by if name in record.exceeded else 0.0)
        for name, limit in record.limits.items()
        if name == what + of_cpu or (what == "matmul" and re.fullmatch(rf"matmul \w+{of_cpu}", name))
    ]
    return max(values, default=None)


@functools.cache
def _own_record(chosen: str | None) -> ledger.Record | None:
    """Return this machine's record, or None; `chosen` says what runs here, which may change within a session."""
    return ledger.own_record()
