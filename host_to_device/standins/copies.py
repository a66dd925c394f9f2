"""Copy arrays so that those which share memory share it in the copies, too."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple, TypeVar

import numpy as np

Key = TypeVar("Key", bound=Hashable)

ALIGNMENT = 256  # bytes: CUDA's allocations begin at multiples of this


class Located(NamedTuple):
    """The values of an array, and where its elements lie.

    Attributes
    ----------
    values
        NumPy array with the elements; its own layout in memory does not matter.
    address, strides
        Address of the array's first element, and bytes from one element to the next along each axis.
    start
        Address from which its allocation is aligned: the copy keeps the distance to it, modulo `ALIGNMENT`.
    """

    values: np.ndarray
    address: int
    strides: tuple[int, ...]
    start: int

    @classmethod
    def of(cls, array: np.ndarray) -> Located:
        """Locate a NumPy array in the host's memory."""
        whole = array
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        return cls(array, _address(array), array.strides, _address(whole))

    def bounds(self) -> tuple[int, int]:
        """Return the address of the array's first byte, and that after its last."""
        if self.values.size == 0:
            return self.address, self.address
        reach = [
            (size - 1) * step for size, step in zip(self.values.shape, self.strides, strict=True) if size > 1
        ]
        low = self.address + sum(each for each in reach if each < 0)
        return low, self.address + sum(each for each in reach if each > 0) + self.values.itemsize

    def is_plain(self) -> bool:
        """Return whether a copy in C order has the array's layout, and lies in the same sectors of memory."""
        shape, itemsize = self.values.shape, self.values.itemsize
        wanted = itemsize
        for size, step in zip(reversed(shape), reversed(self.strides), strict=True):
            if size > 1 and step != wanted:
                return False
            wanted *= size
        return (self.address - self.start) % ALIGNMENT == 0


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _zeros(nbytes: int) -> np.ndarray:
    return np.zeros(nbytes, np.uint8)


def overlapping_copies(
    arrays: Mapping[Key, np.ndarray | Located], allocate: Callable[[int], np.ndarray] = _zeros
) -> list[dict[Key, np.ndarray]]:
    """Return copies of arrays in groups that share memory, most arrays alone in theirs.

    An array given twice, or two parts of one array, overlap in the copies as they do in the originals. Copies have the
    strides of the originals, too.

    Parameters
    ----------
    arrays
        The arrays by name, in the host's memory or elsewhere (`Located`).
    allocate
        Returns memory (uint8) of the size that it is given in bytes, for arrays whose copy is not a plain one.
    """
    located = {name: each if isinstance(each, Located) else Located.of(each) for name, each in arrays.items()}
    return [_copies({name: located[name] for name in group}, allocate) for group in _overlapping(located)]


def _overlapping(located: Mapping[Key, Located]) -> list[list[Key]]:
    """Return the names of arrays in groups that share memory."""
    bounds = {name: each.bounds() for name, each in located.items()}
    groups: list[tuple[list[Key], int, int]] = []
    for name in sorted(located, key=lambda name: bounds[name]):
        low, high = bounds[name]
        if groups and low < groups[-1][2]:
            names, start, end = groups[-1]
            groups[-1] = [*names, name], start, max(end, high)
        else:
            groups.append(([name], low, high))
    order = list(located)
    return sorted(
        (sorted(names, key=order.index) for names, _, _ in groups), key=lambda names: order.index(names[0])
    )


def _copies(named: dict[Key, Located], allocate: Callable[[int], np.ndarray]) -> dict[Key, np.ndarray]:
    """Return copies of arrays of one group, which overlap in the same way."""
    if len(named) == 1:
        ((name, only),) = named.items()
        if allocate is _zeros and (only.values.size == 0 or only.is_plain()):
            return {name: only.values.copy()}
    lowest = min(named.values(), key=Located.bounds)
    low, high = lowest.bounds()[0], max(each.bounds()[1] for each in named.values())
    low -= (low - lowest.start) % ALIGNMENT
    memory = allocate(high - low)
    copies = {}
    for name, each in named.items():
        copies[name] = np.ndarray(
            each.values.shape, each.values.dtype, memory, each.address - low, each.strides
        )
        copies[name][...] = each.values
    return copies
