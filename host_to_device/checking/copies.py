"""Copy the arrays of a launch so that those which share memory share it in the copies, too."""

from __future__ import annotations

import numpy as np


def overlapping_copies(arrays: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Return copies of arrays in groups that share memory, most arrays alone in theirs.

    An array given twice, or two parts of one array, overlap in the copies as they do in the originals.
    """
    return [_copies({name: arrays[name] for name in group}) for group in _overlapping(arrays)]


def _overlapping(arrays: dict[str, np.ndarray]) -> list[list[str]]:
    """Return the names of arrays in groups that share memory."""
    bounds = {name: _bounds(array) for name, array in arrays.items()}
    groups: list[tuple[list[str], int, int]] = []
    for name in sorted(arrays, key=lambda name: bounds[name]):
        low, high = bounds[name]
        if groups and low < groups[-1][2]:
            names, start, end = groups[-1]
            groups[-1] = [*names, name], start, max(end, high)
        else:
            groups.append(([name], low, high))
    order = list(arrays)
    return sorted(
        (sorted(names, key=order.index) for names, _, _ in groups), key=lambda names: order.index(names[0])
    )


def _bounds(array: np.ndarray) -> tuple[int, int]:
    """Return the address of an array's first byte, and that after its last."""
    start = array.__array_interface__["data"][0]
    if array.size == 0:
        return start, start
    reach = [(size - 1) * step for size, step in zip(array.shape, array.strides, strict=True)]
    low = start + sum(each for each in reach if each < 0)
    return low, start + sum(each for each in reach if each > 0) + array.itemsize


def _copies(named: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return copies of arrays of one group, which overlap in the same way."""
    if len(named) == 1:
        return {name: array.copy() for name, array in named.items()}
    low = min(_bounds(array)[0] for array in named.values())
    high = max(_bounds(array)[1] for array in named.values())
    memory = np.zeros(high - low, np.uint8)
    copies = {}
    for name, array in named.items():
        offset = array.__array_interface__["data"][0] - low
        copies[name] = np.ndarray(array.shape, array.dtype, memory, offset, array.strides)
        copies[name][...] = array
    return copies
