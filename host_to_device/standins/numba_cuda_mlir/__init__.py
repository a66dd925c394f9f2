"""A stand-in for `numba_cuda_mlir`, the successor of numba-cuda: the stand-in for `numba.cuda` under the new names.

`cuda` has what differs in version 0.6.0; everything else is the stand-in for `numba.cuda` itself. Its types are Numba's. A
name that it lacks is refused in one line.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.6.0"  # the release whose names, options and refusals it has
MODULES = ("cuda", "types", "numba_cuda")


def missing(name: str) -> str:
    """Return the message for a name that the stand-in lacks; `name` is what follows `numba_cuda_mlir.`."""
    return (
        f"numba_cuda_mlir.{name} is not in host_to_device's stand-in for numba_cuda_mlir: it belongs to code compiled for "
        "a GPU, or numba_cuda_mlir has no such name"
    )


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in MODULES:
        return importlib.import_module(f"numba_cuda_mlir.{name}")
    raise AttributeError(missing(name))
