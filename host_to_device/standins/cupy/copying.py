"""Copy CuPy's arrays, a real GPU's or the stand-in's, for a kernel in CUDA C++ that runs on the stand-in."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, TypeVar

import numpy as np

from host_to_device.standins.copies import ALIGNMENT, Located, overlapping_copies
from host_to_device.standins.cupy.base import adopt, reach
from host_to_device.standins.cupy.cuda.memory import new_array

Key = TypeVar("Key", bound=Hashable)


def copies(arrays: Mapping[Key, Any]) -> dict[Key, Any]:
    """Return copies of CuPy arrays in the stand-in's memory; arrays that share memory share it in the copies.

    A kernel in CUDA C++ gets the address of an array's first element and knows nothing of its strides. So the bytes
    between the elements of a strided array are copied, too.
    """
    groups = overlapping_copies({name: _span(each) for name, each in arrays.items()}, _new_bytes)
    spans = {name: span for group in groups for name, span in group.items()}
    found = {}
    for name, each in arrays.items():
        before, _ = reach(each.shape, each.strides, each.dtype.itemsize)
        found[name] = adopt(np.ndarray(each.shape, each.dtype, spans[name], before, each.strides))
    return found


def copy_back(copy: Any, original: Any) -> None:
    """Copy an array's elements, and the bytes between them, from a copy to the original."""
    if original.size:
        _bytes_of(original).set(_bytes_of(copy).get())


def _new_bytes(nbytes: int) -> np.ndarray:
    return new_array((nbytes,), np.dtype(np.uint8))


def _span(array: Any) -> Located:
    """Return the bytes of an array, from its lowest element to its highest."""
    if not array.size:
        return Located(np.empty(0, np.uint8), 0, (1,), 0)
    whole = _bytes_of(array)
    address = whole.data.ptr
    return Located(whole.get(), address, (1,), address - address % ALIGNMENT)


def _bytes_of(array: Any) -> Any:
    """Return a view of an array as bytes, those between its elements included."""
    before, nbytes = reach(array.shape, array.strides, array.dtype.itemsize)
    return type(array)((nbytes,), np.uint8, memptr=array.data - before)
