"""The part of CUDA's driver API that kernels need: the error of a refused launch."""

from __future__ import annotations

from typing import Any

from host_to_device.standins.cupy.names import raise_missing


class CUDADriverError(RuntimeError):
    """Raised for a failed call of CUDA's driver; the message is CUDA's name of the error and its meaning."""


def get_build_version() -> int:
    """Return 0: the stand-in is built against no CUDA."""
    return 0


def __getattr__(name: str) -> Any:
    raise_missing("cuda.driver", name)
