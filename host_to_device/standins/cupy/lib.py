"""CuPy's `cupy.lib`: views with other strides, in `cupy.lib.stride_tricks`."""

from __future__ import annotations

from host_to_device.standins.cupy import stride_tricks as stride_tricks
from host_to_device.standins.cupy.names import public, raise_missing


def __getattr__(name: str) -> None:
    raise_missing("lib", name)


def __dir__() -> list[str]:
    return public(globals(), "stride_tricks")
