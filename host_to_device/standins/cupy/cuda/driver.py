"""CUDA's driver, as far as kernels need it: the error of a launch that it refuses."""

from __future__ import annotations

from typing import Any

from host_to_device.standins.cupy.names import raise_missing


class CUDADriverError(RuntimeError):
    """A call of CUDA's driver that failed; the text is CUDA's name of the error and what it means."""


def get_build_version() -> int:
    """Return 0: the stand-in is built against no CUDA."""
    return 0


def __getattr__(name: str) -> Any:
    raise_missing("cuda.driver", name)
