"""CuPy's `cupy.lib.stride_tricks`: views of an array's memory in another shape, with other strides."""

from __future__ import annotations

from typing import Any

import numpy as np

from host_to_device.standins.cupy.base import Base, view_of
from host_to_device.standins.cupy.converting import array


def as_strided(x: Any, shape: Any = None, strides: Any = None) -> Any:
    """Return a view with other strides; nothing keeps it within the array's memory.

    Parameters
    ----------
    x
        Array of the device.
    shape
        Size along each axis; None for that of `x`.
    strides
        Bytes from one element to the next along each axis; None for those of `x`.
    """
    shape = x.shape if shape is None else tuple(shape)
    strides = x.strides if strides is None else tuple(strides)
    return view_of(np.lib.stride_tricks.as_strided(x._array, shape, strides), x)


def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """Return a view whose last axes are windows that slide over the array.

    Parameters
    ----------
    x
        Array of the device; lists are copied to it.
    window_shape
        Size of a window, along each axis that it slides over.
    axis
        The axes that it slides over; None for all.

    Raises
    ------
    NotImplementedError
        If `writeable` is True, as in CuPy.
    ValueError
        If there is not one size for each axis, or a window is larger than the array.
    """
    if writeable:
        raise NotImplementedError("Writeable views are not supported.")
    x = x if isinstance(x, Base) else array(x)
    windows = np.lib.stride_tricks.sliding_window_view(x._array, window_shape, axis)
    return as_strided(x, windows.shape, windows.strides)
