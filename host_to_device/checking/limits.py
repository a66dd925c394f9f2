"""Find the limits that a launch breaks; `hardware.launch_limits` has the numbers and their source."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from host_to_device.hardware.launch_limits import (
    MAX_BLOCK,
    MAX_GRID,
    MAX_SHARED,
    MAX_SHARED_OPT_IN,
    MAX_THREADS,
)
from host_to_device.standins.numba_cuda.rewriting import SharedArray

# A block gets MAX_SHARED bytes of shared memory; Numba cannot request more (numba-cuda, issue 94).


@dataclass(frozen=True)
class Broken:
    """A limit that a launch breaks, and what to do about it."""

    text: str
    advice: str
    line: int | None = None  # the line of the kernel at fault, if one is
    space: str = ""


def capability(value: object) -> str:
    """Return a compute capability as text, such as "9.0", given as text, as a float or as the pair that Numba gives.

    Raises
    ------
    ValueError
        If no limits are known for it.
    """
    text = ".".join(map(str, value)) if isinstance(value, tuple) else str(value)
    if text not in MAX_SHARED_OPT_IN:
        raise ValueError(
            f"the check has no limits for compute capability {text}: give one of {', '.join(MAX_SHARED_OPT_IN)}"
        )
    return text


def _bytes(array: SharedArray) -> int:
    """Return the bytes of a shared array; 0 for a dynamic one, whose size the launch gives."""
    if not array.shape or array.captured is not None:
        return 0
    return math.prod(array.shape) * np.dtype(array.dtype).itemsize


def broken(
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    arrays: list[SharedArray],
    dynamic: int,
    capability: str,
) -> list[Broken]:
    """Return the limits that a launch breaks on a GPU of this compute capability, an empty list if none.

    Parameters
    ----------
    grid, block
        Sizes of the grid and of a block.
    arrays
        The shared arrays of a block.
    dynamic
        Bytes of dynamic shared memory.
    capability
        As `capability()` returns it.
    """
    found = []
    for size, limits, name in ((grid, MAX_GRID, "grid"), (block, MAX_BLOCK, "block")):
        for part, limit, axis in zip(size, limits, "xyz", strict=True):
            if part < 1:
                advice = "Round up when you divide: (n + threads - 1) // threads."
                found.append(Broken(f"{name}Dim.{axis} is {part:,}; it must be at least 1", advice))
            elif part > limit:
                advice = (
                    "Use smaller blocks and more of them."
                    if name == "block"
                    else "Let each thread do several elements, with a grid-stride loop."
                )
                found.append(Broken(f"{name}Dim.{axis} is {part:,}; at most {limit:,} is allowed", advice))
    threads = math.prod(block)
    if threads > MAX_THREADS:
        found.append(
            Broken(
                f"a block has {threads:,} threads; at most {MAX_THREADS:,} are allowed",
                "Use smaller blocks and more of them.",
            )
        )
    static = sum(map(_bytes, arrays))
    if static + dynamic > MAX_SHARED:
        largest = max(
            (each for each in arrays if each.shape and each.captured is None), key=_bytes, default=None
        )
        found.append(
            Broken(
                f"a block has {static + dynamic:,} bytes of shared memory; at most {MAX_SHARED:,} are allowed (compute "
                f"capability {capability} has {MAX_SHARED_OPT_IN[capability]:,} for kernels that opt in, and Numba's "
                "kernels cannot)",
                "Use a smaller tile, or a smaller dtype.",
                largest.line if largest else None,
                "shared",
            )
        )
    return found
