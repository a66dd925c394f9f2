"""The launch limits that a check holds a launch to; `hardware.launch_limits` has the numbers and their source."""

from __future__ import annotations

import math
from dataclasses import dataclass

from host_to_device.hardware.launch_limits import (
    MAX_BLOCK,
    MAX_GRID,
    MAX_SHARED,
    MAX_SHARED_OPT_IN,
    MAX_THREADS,
)
from host_to_device.standins.numba_cuda.rewriting import SharedArray

# Of shared memory a block gets MAX_SHARED, and Numba has no way to ask for more (numba-cuda, issue 94).


@dataclass(frozen=True)
class Broken:
    """A limit that a launch breaks."""

    text: str
    advice: str
    line: int | None = None  # of the kernel, where that is at fault
    space: str = ""


def capability(value: object) -> str:
    """Return a compute capability as "9.0", given as that, as a float or as the pair that Numba gives.

    Raises
    ------
    ValueError
        If no limits are known for it.
    """
    text = ".".join(map(str, value)) if isinstance(value, tuple) else str(value)
    if text not in MAX_SHARED_OPT_IN:
        raise ValueError(
            f"no limits are known for compute capability {text}: give one of {', '.join(MAX_SHARED_OPT_IN)}"
        )
    return text


def _bytes(array: SharedArray) -> int:
    return math.prod(array.shape) * array.dtype.itemsize


def broken(
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    arrays: list[SharedArray],
    dynamic: int,
    capability: str,
) -> list[Broken]:
    """Return the limits that a launch breaks on a GPU of this compute capability; none if it can be made."""
    found = []
    for size, limits, name in ((grid, MAX_GRID, "grid"), (block, MAX_BLOCK, "block")):
        for part, limit, axis in zip(size, limits, "xyz", strict=True):
            if part < 1:
                advice = "Round up when you divide: (n + threads - 1) // threads."
                found.append(Broken(f"{name}Dim.{axis} is {part:,}, and it has to be 1 at the least", advice))
            elif part > limit:
                advice = (
                    "Use smaller blocks and more of them."
                    if name == "block"
                    else "Let each thread do several elements, with a grid-stride loop."
                )
                found.append(
                    Broken(f"{name}Dim.{axis} is {part:,}, and it may be {limit:,} at the most", advice)
                )
    threads = math.prod(block)
    if threads > MAX_THREADS:
        found.append(
            Broken(
                f"a block of {threads:,} threads, and it may have {MAX_THREADS:,} at the most",
                "Use smaller blocks and more of them.",
            )
        )
    static = sum(_bytes(each) for each in arrays if each.shape)
    if static + dynamic > MAX_SHARED:
        largest = max((each for each in arrays if each.shape), key=_bytes, default=None)
        found.append(
            Broken(
                f"{static + dynamic:,} bytes of shared memory a block, and a launch gets {MAX_SHARED:,} "
                f"(compute capability {capability} has {MAX_SHARED_OPT_IN[capability]:,} for kernels that ask for more, "
                "which Numba's cannot)",
                "Use a smaller tile, or a smaller dtype.",
                largest.line if largest else None,
                "shared",
            )
        )
    return found
