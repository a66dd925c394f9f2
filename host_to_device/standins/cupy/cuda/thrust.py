"""CuPy's `cupy.cuda.thrust`: its names, for programs that ask whether Thrust is there; `cupy.sort` sorts without it."""

from __future__ import annotations

from typing import Any

from host_to_device.standins.cupy.names import public, raise_missing

available = True


def get_build_version() -> int:
    """Return the version of Thrust whose names CuPy 14.2 has: 3.1.2."""
    return 300102


def __getattr__(name: str) -> Any:
    raise_missing("cuda.thrust", name)


def __dir__() -> list[str]:
    return public(globals(), "available")
