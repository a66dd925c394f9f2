"""`cuda.In`, `cuda.Out` and `cuda.InOut`: hints that say which copies a launch makes of a host array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from host_to_device.standins.numba_cuda.memory import auto_device
from host_to_device.standins.numba_cuda.streams import Stream


class ArgHint:
    """Says how a launch copies a host array.

    Parameters
    ----------
    value
        The array.
    """

    copied_there = True
    copied_back = True

    def __init__(self, value: Any) -> None:
        self.value = value

    def to_device(self, retr: list[Callable[[], Any]], stream: Stream | int = 0) -> Any:
        """Return the value in device memory, and append the copy to make after the kernel to `retr`."""
        device, is_new = auto_device(self.value, stream=stream, copy=self.copied_there)
        if is_new and self.copied_back:
            retr.append(lambda: device.copy_to_host(self.value, stream=stream))
        return device


class In(ArgHint):
    """The array is copied to the device before the kernel, and not back."""

    copied_back = False


class Out(ArgHint):
    """The array is copied back after the kernel, and not to the device: the kernel finds undefined contents."""

    copied_there = False


class InOut(ArgHint):
    """The array is copied to the device before the kernel and back after it, like an array without a hint."""
