"""The prices of the book: what a launch, a copy and a wait cost, and what a documented GPU can do at best.

`h2d.predict` and the explorers take their numbers from here, and the book has no other copy of them. Nothing here was
measured by this project; each number has its source in `references.bib`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from host_to_device.hardware import gpus

# NVIDIA launched a kernel of 2.9 µs on a V100, again and again, from C++: 3.8 µs for each without waits, 9.6 µs with a
# wait after each (gray2019graphs). So a launch that the host issues costs 3.8 µs, and a wait 5.8 µs on top. Issuing a
# copy costs the host as much as a launch; that is an assumption.
LAUNCH = 3.8e-6  # seconds, of a launch or of a copy that the host issues
WAIT = 5.8e-6  # seconds, of a wait of the host

# Pinned memory over PCI Express 3.0 x16 (cuda-best-practices). The link's peak, 16 GB/s, is no price: no copy reaches it.
LINK = 12e9  # bytes per second, in either direction

V100_MEMORY = 898e9  # bytes per second, at the peak (cuda-best-practices)

# A field of the table of GPUs for each rate that a record has.
RATES = {
    "matmul float64": "fp64",
    "matmul float32": "fp32",
    "matmul tf32": "tf32_matrix",
    "matmul float16": "fp16_matrix",
}


@dataclass(frozen=True)
class Documented:
    """A GPU by its documents, in the form of a record: `machine_name`, `stamp` and `limits`."""

    machine_name: str
    stamp: str
    limits: dict[str, dict[str, Any]]


def documented(name: str) -> Documented:
    """Return a GPU with its documented limits.

    Launches and waits have the prices of the V100, which is the GPU that NVIDIA timed. Only the V100 has a link: those
    of the other cards depend on the computer.

    Parameters
    ----------
    name
        The name of a GPU in `host_to_device.hardware.gpus`.

    Raises
    ------
    ValueError
        If the table has no GPU of this name.

    Examples
    --------
    >>> documented("RTX 3060 Ti").limits["copy bandwidth"]["value"]
    448000000000.0
    """
    gpu = gpus.find(name)
    is_v100 = gpu is gpus.find("V100")
    limits = {
        "launch latency": _limit(LAUNCH, "s", "gray2019graphs"),
        "wait latency": _limit(WAIT, "s", "gray2019graphs"),
    }
    if is_v100:
        for direction in ("host to device", "device to host"):
            limits[f"{direction}, pinned"] = _limit(LINK, "B/s", "cuda-best-practices")
        limits["copy bandwidth"] = _limit(V100_MEMORY, "B/s", "cuda-best-practices")
    elif gpu.memory_bandwidth:
        limits["copy bandwidth"] = _limit(gpu.memory_bandwidth, "B/s", gpu.source("memory_bandwidth"))
    for limit, field in RATES.items():
        if (rate := getattr(gpu, field)) is not None:
            limits[limit] = _limit(rate, "FLOP/s", gpu.source(field))
    if is_v100:
        return Documented("Tesla V100", "a Tesla V100 as documented", limits)
    return Documented(gpu.name, f"{gpu.name} as documented, with a V100's launches and waits", limits)


def _limit(value: float, unit: str, source: str | None) -> dict[str, Any]:
    return {"value": value, "unit": unit, "how": f"documented: {source}"}
