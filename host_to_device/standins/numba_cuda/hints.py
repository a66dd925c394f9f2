"""`cuda.In`, `cuda.Out` and `cuda.InOut`: which copies a host array makes that is given to a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from host_to_device.standins.numba_cuda.memory import auto_device
from host_to_device.standins.numba_cuda.streams import Stream


class ArgHint:
    """How a host array given to a kernel is copied.

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
        """Return the value in device memory; what is to be done after the kernel is appended to `retr`."""
        device, is_new = auto_device(self.value, stream=stream, copy=self.copied_there)
        if is_new and self.copied_back:
            retr.append(lambda: device.copy_to_host(self.value, stream=stream))
        return device


class In(ArgHint):
    """Copied to the device before the kernel, and not back."""

    copied_back = False


class Out(ArgHint):
    """Copied back after the kernel, and not to the device: the kernel finds undefined contents."""

    copied_there = False


class InOut(ArgHint):
    """Copied to the device before the kernel and back after it, as an array without a hint is."""
