"""CuPy's `cupy.cuda.cub`: its names, for programs that ask whether CUB is there. CuPy's functions use it unasked."""

from __future__ import annotations

import enum
from typing import Any

from host_to_device.standins.cupy.names import public, raise_missing

available = True


class cupy_cub_op(enum.IntFlag):
    """The operations of CuPy's wrapper of CUB."""

    CUPY_CUB_SUM = 0
    CUPY_CUB_MIN = 1
    CUPY_CUB_MAX = 2
    CUPY_CUB_ARGMIN = 3
    CUPY_CUB_ARGMAX = 4
    CUPY_CUB_CUMSUM = 5
    CUPY_CUB_CUMPROD = 6
    CUPY_CUB_PROD = 7


globals().update({name: operation for name, operation in cupy_cub_op.__members__.items()})


def get_build_version() -> int:
    """Return the version of CUB whose names CuPy 14.2 has: 3.1.2."""
    return 300102


def __getattr__(name: str) -> Any:
    raise_missing("cuda.cub", name)


def __dir__() -> list[str]:
    return public(globals(), "available", *cupy_cub_op.__members__)
