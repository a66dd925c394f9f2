"""Compare the results of two orders of one launch, and say in words where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from host_to_device.checking.options import CheckOptions
from host_to_device.standins.orders import orders


def orders_of(schedule: int, threads: int, blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the orders of threads and of blocks: ascending, descending, then shuffled by seeds from 1.

    `h2d.stand_in(seed=…)` launches in the shuffled orders.
    """
    if schedule == 1:
        order, block_order = orders(threads, blocks)
        return order[::-1], block_order[::-1]
    return orders(threads, blocks, schedule - 1 if schedule else None)


@dataclass(frozen=True)
class Difference:
    """The first element in which two results of an array differ."""

    array: str
    where: tuple[int, ...]
    first: Any
    other: Any

    def text(self, how: str) -> str:
        """Return the sentence about it; `how` says how blocks and threads ran the other time."""
        element = element_of(self.array, self.where)
        return (
            f"{element} is {self.first} when blocks and threads run in ascending order, and {self.other} when they "
            f"{how}"
        )


@dataclass(frozen=True)
class Rounding:
    """How far rounding takes two results of an array apart, as a part of its largest value."""

    array: str
    size: float


def compared(
    first: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray], options: CheckOptions
) -> Iterator[Difference | Rounding]:
    """Compare the arrays of two results, as far as the options do not leave them out.

    Parameters
    ----------
    first, other
        The arrays by name.
    options
        `not_compared` names arrays to leave out, `any_order` arrays to compare sorted.
    """
    for name, array in other.items():
        before = first[name]
        if name in options.not_compared:
            continue
        if name in options.any_order:
            before, array = np.sort(before, axis=None), np.sort(array, axis=None)
        differ, rounded = differences(before, array)
        if differ.any():
            where = tuple(int(each) for each in np.argwhere(differ)[0])
            yield Difference(name, where, before[where], array[where])
        elif rounded:
            yield Rounding(name, rounded)


def differs_by(array: str) -> str:
    """Return how a remark about an array's rounding begins."""
    return f"{array} differs by"


def unfit_texts(unfit: dict[tuple[str, int, str], tuple[float, int]]) -> list[str]:
    """Return a remark for each line that converts a float to an integer type that cannot hold it.

    Parameters
    ----------
    unfit
        By file, line and integer type: the float, and what an NVIDIA GPU makes of it.
    """
    found = []
    for (_, line, name), (value, stored) in sorted(unfit.items()):
        dtype = np.dtype(name)
        with np.errstate(all="ignore"):
            on_cpu = int(np.float64(value).astype(np.int32 if dtype.itemsize < 4 else np.int64).astype(dtype))
        cpu = f", most CPUs {on_cpu:,}" if np.isfinite(value) and on_cpu != stored else ""
        found.append(
            f"Line {line}: {value:,} does not fit {name}: undefined in C; NVIDIA GPUs store {stored:,}{cpu}."
        )
    return found


def rounding_text(array: str, size: float, atomically: bool) -> str:
    """Return the remark that an array's sums round otherwise in another order."""
    order = "atomically, in no fixed order" if atomically else "in another order"
    return (
        f"{differs_by(array)} {size:.1g} of its largest value from schedule to schedule: the threads add floats {order}, and "
        "each addition rounds."
    )


def element_of(array: str, where: tuple[int, ...]) -> str:
    """Return an element as a learner writes it, such as "x[1, 2]"; the array's name where it has no axes."""
    return f"{array}[{', '.join(map(str, where))}]" if where else array


def unwritten_text(array: str, size: int, missing: int, first: tuple[int, ...]) -> str:
    """Say that the launch does not write `missing` of the `size` elements of an array."""
    return (
        f"the launch leaves {missing:,} of {size:,} elements of {array} unwritten; the first is "
        f"{element_of(array, first)}"
    )


def differences(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, float]:
    """Return where two results differ by more than rounding, and how far rounding takes them apart.

    Floats may differ by as much as a sum of a few thousand terms loses: 2e-5 of the largest value in float32, 4e-14
    in float64. The second number is a part of the largest value, too.
    """
    if first.dtype.kind not in "fc":
        return first != second, 0.0
    eps = np.finfo(first.dtype).eps
    with np.errstate(invalid="ignore", over="ignore"):
        scale = float(np.abs(first[np.isfinite(first)]).max(initial=0))
        apart = np.abs(first - second)
        same = (first == second) | (np.isnan(first) & np.isnan(second))
        differ = ~same & ~(apart <= 200 * eps * scale)
        rounded = float(np.where(same | differ, 0, apart).max(initial=0)) / scale if scale else 0.0
    return differ, rounded
