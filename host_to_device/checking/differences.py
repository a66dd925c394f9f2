"""The orders in which a check runs a launch, and what two of them make of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from host_to_device.standins.orders import orders


def orders_of(schedule: int, threads: int, blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the orders of threads and of blocks: counting up, backwards, then shuffled by seeds from 1.

    `h2d.stand_in(seed=…)` launches in the shuffled orders.
    """
    if schedule == 1:
        order, block_order = orders(threads, blocks)
        return order[::-1], block_order[::-1]
    return orders(threads, blocks, schedule - 1 if schedule else None)


def dependence(name: str, where: tuple[int, ...], first: Any, other: Any, schedule: int, turns: bool) -> str:
    """Say how an element differs between the first schedule and another one, and how to repeat that."""
    how = "run backwards" if schedule == 1 else f"are shuffled by seed {schedule - 1}"
    if turns:
        how += " and take turns after each atomic"
    element = f"{name}[{', '.join(map(str, where))}]" if where else name
    text = f"{element} is {first} when blocks and threads run as they count, and {other} when they {how}"
    if schedule > 1 and not turns:
        text += f" (h2d.stand_in(seed={schedule - 1}) launches in this order)"
    return text


def differences(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, float]:
    """Return where two results differ by more than rounding, and how far rounding takes them apart.

    Floats may differ by what a sum of a few thousand terms loses: 2e-5 of the largest value in float32, 1e-13 in
    float64.
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
