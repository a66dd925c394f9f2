"""Which versions fit together: look-ups in `versions.toml` and `wheel_versions.json`.

Where the tables end, the answer is None: newer versions are "not known yet".
"""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
NUMBERS = re.compile(r"\d{1,9}")


@cache
def tables() -> dict[str, Any]:
    """Return the tables of NVIDIA and PyTorch."""
    return tomllib.loads((FOLDER / "versions.toml").read_text(encoding="utf-8"))


@cache
def wheels() -> dict[str, dict[str, str | None]]:
    """Return what each wheel asks for: CUDA, cuDNN and Triton, with the day on which it was read."""
    return json.loads((FOLDER / "wheel_versions.json").read_text(encoding="utf-8"))


def numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version for comparing: (12, 4) for "12.4.0", zeros at the end left out."""
    found = re.match(r"\d{1,9}(?:\.\d{1,9}){0,5}", version)
    parts = [int(each) for each in NUMBERS.findall(found[0])] if found else []
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def _rows(name: str) -> dict[str, str]:
    return {key: value for key, value in tables()[name].items() if key not in ("read", "source")}


def lowest_driver(cuda_major: str) -> str | None:
    """Return the lowest Linux driver that runs a major version of CUDA, or None if it is not known yet."""
    return _rows("lowest_driver").get(cuda_major)


def cuda_of_driver(driver: str) -> str | None:
    """Return the newest CUDA that a driver supports, by its branch; None for a branch beyond the table."""
    branch = numbers(driver)[:1]
    known = sorted(
        (numbers(first)[:1], numbers(cuda), cuda) for cuda, first in _rows("driver_of_cuda").items()
    )
    if not branch or branch > known[-1][0] or branch < known[0][0]:
        return None
    return [cuda for first, _, cuda in known if first <= branch][-1]


def newest_known_driver() -> str:
    """Return the newest driver of the table."""
    return max(_rows("driver_of_cuda").values(), key=numbers)


def drivers_by_cuda() -> dict[str, str]:
    """Return for each release of CUDA of the table, oldest first, the first Linux driver that came with it."""
    return dict(sorted(_rows("driver_of_cuda").items(), key=lambda row: numbers(row[0])))


def known_cuda() -> tuple[str, str]:
    """Return the oldest and the newest release of CUDA whose driver the table has."""
    releases = list(drivers_by_cuda())
    return releases[0], releases[-1]


def capability_of(name: str) -> str | None:
    """Return the compute capability of a GPU by its name, or None."""
    for pattern, capability in tables()["capability"]["rows"]:
        if re.search(pattern, name):
            return capability
    return None


def drivers_of(capability: str) -> tuple[str, str | None] | None:
    """Return the CUDA of the first driver and of the last one (None: there is none yet) that know a GPU; None if the table lacks it."""
    for row in tables()["gpu_drivers"]["rows"]:
        if capability in row["capabilities"]:
            return row["first"], row.get("last")
    return None


def drives(driver_cuda: str, capability: str) -> bool | None:
    """Return whether a driver that supports CUDA up to a release knows a GPU at all, or None if the table lacks the GPU."""
    drivers = drivers_of(capability)
    if drivers is None:
        return None
    first, last = drivers
    return numbers(first) <= numbers(driver_cuda) <= numbers(last or driver_cuda)


def cards_of(torch: str, cuda: str) -> tuple[str, str] | None:
    """Return the oldest and the newest compute capability that a build of PyTorch has code for, or None."""
    if numbers(torch) > numbers(newest_known_torch())[:2]:
        return None
    fitting = [
        row
        for row in tables()["torch_cards"][0]["rows"]
        if row["cuda"] == cuda and numbers(row["from"]) <= numbers(torch)
    ]
    return (fitting[-1]["oldest"], fitting[-1]["newest"]) if fitting else None


def newest_known_torch() -> str:
    """Return the newest PyTorch whose wheel the table has."""
    return max((wheel.partition("==")[2] for wheel in wheels() if wheel.startswith("torch==")), key=numbers)


def torch_index(driver_cuda: str, capability: str = "") -> str | None:
    """Return the index of PyTorch's wheels for a driver that supports this CUDA, and for this GPU; None if none fits."""
    for row in tables()["torch_indices"]["rows"]:
        fits = not capability or numbers(row["oldest"]) <= numbers(capability) <= numbers(row["newest"])
        if fits and numbers(row["cuda"]) <= numbers(driver_cuda):
            return row["name"]
    return None


def builds_for(cuda_major: int) -> dict[str, str]:
    """Return what to install with a driver whose newest CUDA has this major version, as facts by name."""
    return next(row["facts"] for row in tables()["builds"]["rows"] if row["major"] <= cuda_major)


def torch_of(library: str, version: str) -> str | None:
    """Return the release of PyTorch, as "2.5", to which a release of torchvision or torchaudio belongs, or None."""
    rows = _rows("torchvision")
    minor = ".".join(NUMBERS.findall(version)[:2])
    if library == "torchvision":
        return rows.get(minor)
    return minor if minor in rows.values() and not minor.startswith("1.") else None


def numpy_of(numba: str) -> str | None:
    """Return the newest NumPy that a release of Numba accepts, or None."""
    rows = _rows("numba_numpy")
    minor = ".".join(NUMBERS.findall(numba)[:2])
    patch = ".".join(NUMBERS.findall(numba)[:3])
    return rows.get(patch) or rows.get(minor)
