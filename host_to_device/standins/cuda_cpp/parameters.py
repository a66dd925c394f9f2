"""The parameters of a kernel, and the arrays that one launch passes for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Parameter(NamedTuple):
    """A parameter of a kernel: its C++ type, whether it is a pointer, and its size in bytes."""

    type: str
    pointer: bool
    size: int


class Passed(NamedTuple):
    """An array that a launch passes, under the name that the source gives its parameter."""

    name: str
    array: np.ndarray

    @property
    def start(self) -> int:
        """Address of the first element."""
        return self.array.__array_interface__["data"][0]

    @property
    def end(self) -> int:
        """Address of the first byte behind the array."""
        return self.start + self.array.nbytes

    def item_size(self, size: int) -> int:
        """Return the bytes of an element: those of the access, `size`, where the array is one of bytes."""
        return self.array.itemsize if self.array.itemsize > 1 else size

    def index(self, address: int, size: int) -> int:
        """Return the element that an access of `size` bytes begins in; it is negative before the array."""
        return (address - self.start) // self.item_size(size)
