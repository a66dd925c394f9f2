"""`cuda.reduce`: a reduction made of a function of two arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.numba_cuda import layouts, memory


def reduce(functor: Callable) -> Reduce:
    """Return the reduction of a function of two arguments: `total = cuda.reduce(lambda a, b: a + b)`."""
    return Reduce(functor)


class Reduce:
    """A reduction over a one-dimensional array."""

    def __init__(self, functor: Callable) -> None:
        self.functor = functor

    def __call__(
        self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0
    ) -> Any:
        """Return the reduction of `arr`, a one-dimensional device or host array, from left to right.

        Raises
        ------
        TypeError
            If the array has more than one dimension.
        RuntimeError
            If it is a host array and a stream is given, which a launch refuses.
        """
        if arr.ndim != 1:
            raise TypeError("only support 1D array")
        if arr.size:
            memory.refuse_on_host(arr, stream)
        values = arr._array if memory.is_device_memory(arr) else arr
        total = values.dtype.type(init)
        with np.errstate(all="ignore"):
            for value in values[:size]:
                total = values.dtype.type(self.functor(total, value))
        if values[:size].size:
            self.report(arr if size is None else arr[:size], res, stream)
        if res is not None:
            if memory.is_device_memory(res):
                layouts.store(res._array[:1], np.asarray(total))
            else:
                res[0] = total
            return None
        return total

    def report(self, arr: Any, res: Any, stream: Any) -> None:
        """Report the operations, copies and allocations of Numba's reduction (numba/cuda/kernels/reduction.py).

        One kernel reduces the whole blocks of 128 elements, with at most 64 blocks in the grid, a second kernel the
        remaining elements, and a third their results. The first two each copy a host array to the device and back.
        """
        if not events.listening:
            return
        full, partial = divmod(arr.size, 128)
        results = min(full, 64) + (partial > 0)
        on_host, itemsize = not memory.is_device_memory(arr), arr.dtype.itemsize
        events.allocated(results * itemsize)
        for elements in (full * 128, partial):
            if elements and on_host:
                events.allocated(elements * itemsize)
                memory.report_copy("h2d", elements * itemsize, stream)
            if elements:
                events.operated("reduce")
            if elements and on_host:
                memory.report_copy("d2h", elements * itemsize, stream)
        if results > 1:
            events.operated("reduce")
        memory.report_copy("d2h" if res is None else "d2d", itemsize, 0 if res is None else stream)
