"""`cupy.array`: makes an array on the device from data on the host, or from arrays on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cupy.base import Base, adopt, check_dtype, from_interface, order_of
from host_to_device.standins.cupy.cuda.memory import new_array

AVOID = "Unable to avoid copy while creating an array as requested."


def array(
    obj: Any,
    dtype: Any = None,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    *,
    blocking: bool = False,
) -> Any:
    """Return an array on the device.

    Parameters
    ----------
    obj
        Array of the device or of the host, number, or nested lists of numbers or of arrays.
    dtype
        Dtype of the result; None for that of `obj`.
    copy
        True to copy in any case, None to copy only if necessary, False to raise an error if a copy is necessary.
    order
        `C`, `F`, `A` or `K`.
    ndmin
        Minimum number of axes.
    blocking
        Whether the host waits for the copy; it counts as a wait, and changes nothing else here.

    Raises
    ------
    ValueError
        If device memory cannot hold the dtype, or `copy` is False and a copy is necessary.
    """
    if subok:
        raise NotImplementedError
    order = "K" if order is None else order_of(order)
    if not isinstance(obj, Base) and hasattr(obj, "__cuda_array_interface__"):
        obj = from_interface(obj)
    elif not isinstance(obj, Base) and hasattr(obj, "__cupy_get_ndarray__"):
        obj = obj.__cupy_get_ndarray__()
    if isinstance(obj, Base):
        result = obj.astype(obj.dtype if dtype is None else dtype, order=order, copy=bool(copy))
        if copy is False and result is not obj:
            raise ValueError(AVOID)
    else:
        if copy is False:
            raise ValueError(AVOID)
        result = _of_arrays(obj, dtype, order)
        if result is None:
            result = _of_host(obj, dtype, order, blocking)
    if result.ndim < ndmin:
        result = result.reshape((1,) * (ndmin - result.ndim) + result.shape)
    return result


def _of_arrays(obj: Any, dtype: Any, order: str) -> Any:
    """Stack nested lists of device arrays of one shape; return None for any other object."""
    if not isinstance(obj, list | tuple):
        return None
    leaves: list[Any] = []

    def memory(item: Any) -> Any:
        if isinstance(item, list | tuple):
            return [memory(each) for each in item]
        leaves.append(item)
        return item._array if isinstance(item, Base) else None

    nested = memory(obj)
    if not leaves or not all(isinstance(leaf, Base) and leaf.shape == leaves[0].shape for leaf in leaves):
        return None
    stacked = np.array(nested)
    target = new_array(stacked.shape, check_dtype(dtype or stacked.dtype), "F" if order == "F" else "C")
    target[...] = stacked
    events.operated("concatenate")
    return adopt(target)


def _of_host(obj: Any, dtype: Any, order: str, blocking: bool) -> Any:
    """Copy an object on the host to the device."""
    if order in "KA":
        order = (
            "F"
            if isinstance(obj, np.ndarray) and obj.flags.f_contiguous and not obj.flags.c_contiguous
            else "C"
        )
    host = np.asarray(obj, dtype=dtype)
    if not host.dtype.isnative and host.dtype.names is None:  # a GPU has one order of bytes
        host = host.astype(host.dtype.newbyteorder("="))
    target = new_array(host.shape, check_dtype(host.dtype), order)
    if host.ndim:
        # CuPy copies through pinned memory, so the host does not wait (CuPy's core.pyx, `_array_default`).
        events.copied("h2d", host.nbytes)
    else:
        events.operated("fill")
    if blocking:
        events.waited("copy to the device")
    target[...] = host
    return adopt(target)
