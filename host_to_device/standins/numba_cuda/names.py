"""The names of `numba.cuda` that only kernels can use, such as `threadIdx`, `grid` and `shared.array`.

On the host these objects refuse to be called. `rewriting` recognises the objects in a kernel, whatever the learner's
code calls them, and replaces them by code that the stand-in can run.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any


class DeviceName:
    """One name of `numba.cuda` that only a kernel can use."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<cuda.{self.name}: for use in a kernel>"

    def __call__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(
            f"cuda.{self.name}() cannot be called from host code: use it inside a kernel"
        )


class Namespace(DeviceName):
    """A name with names below it, such as `threadIdx` with `x`, `y` and `z`."""

    def __init__(self, name: str, *members: str) -> None:
        super().__init__(name)
        self.members = members
        for member in members:
            setattr(self, member, DeviceName(f"{name}.{member}"))

    def __getattr__(self, member: str) -> None:
        raise AttributeError(f"cuda.{vars(self).get('name')} has no {member!r}")


threadIdx, blockIdx, blockDim, gridDim = (
    Namespace(name, "x", "y", "z") for name in ("threadIdx", "blockIdx", "blockDim", "gridDim")
)
shared, local = Namespace("shared", "array"), Namespace("local", "array")
const = Namespace("const", "array_like")
atomic = Namespace(
    "atomic",
    *("add", "sub", "and_", "or_", "xor", "inc", "dec", "exch"),
    *("max", "min", "nanmax", "nanmin", "compare_and_swap", "cas"),
)

# Cooperative groups: the grid, which `cuda.cg.this_grid()` returns, and its barrier.
cg = Namespace("cg", "this_grid")
grid_group = Namespace("grid_group", "sync")

CACHE_HINTS = ("ldca", "ldcg", "ldcs", "ldlu", "ldcv"), ("stcg", "stcs", "stwb", "stwt")
(ldca, ldcg, ldcs, ldlu, ldcv), (stcg, stcs, stwb, stwt) = (
    tuple(DeviceName(name) for name in group) for group in CACHE_HINTS
)

SIMPLE = (
    ("grid", "gridsize", "warpsize", "laneid"),
    ("syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or", "syncwarp"),
    ("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync"),
    ("all_sync", "any_sync", "eq_sync", "ballot_sync", "match_any_sync", "match_all_sync"),
    ("activemask", "lanemask_lt", "threadfence", "threadfence_block", "threadfence_system", "nanosleep"),
    ("popc", "brev", "clz", "ffs", "selp", "fma", "cbrt"),
)
(
    (grid, gridsize, warpsize, laneid),
    (syncthreads, syncthreads_count, syncthreads_and, syncthreads_or, syncwarp),
    (shfl_sync, shfl_up_sync, shfl_down_sync, shfl_xor_sync),
    (all_sync, any_sync, eq_sync, ballot_sync, match_any_sync, match_all_sync),
    (activemask, lanemask_lt, threadfence, threadfence_block, threadfence_system, nanosleep),
    (popc, brev, clz, ffs, selp, fma, cbrt),
) = (tuple(DeviceName(name) for name in group) for group in SIMPLE)


SUCCESSOR = "numba_cuda_mlir.cuda"


def of_numba(value: Any) -> Any:
    """Return the stand-in's counterpart of an object of the real `numba.cuda` or its successor; others as they are.

    With it the stand-in can read a kernel that was compiled for a real GPU, to check the kernel.
    """
    for library in ("numba.cuda", SUCCESSOR):
        real = sys.modules.get(library)
        if real is not None and real.__name__ == library:  # not the stand-in
            value = _counterpart(value, real)
    return value


def _counterpart(value: Any, numbas: types.ModuleType) -> Any:
    ours = importlib.import_module(__package__)
    if value is numbas:
        return ours
    if numbas.__name__ == SUCCESSOR and (found := _of_successor(value, ours)) is not None:
        return found
    if isinstance(value, types.ModuleType) or not type(value).__module__.startswith(("numba", "builtins")):
        return value
    if value is None or isinstance(value, int):  # the successor's laneid and warpsize
        return value
    for group in (
        *SIMPLE,
        *CACHE_HINTS,
        ("threadIdx", "blockIdx", "blockDim", "gridDim", "shared", "local", "const", "atomic", "cg"),
    ):
        for name in group:
            if getattr(numbas, name, None) is value:
                return globals()[name]
    random = sys.modules.get(f"{numbas.__name__}.random")
    name = getattr(value, "__name__", "")
    if random is not None and name.startswith("xoroshiro") and getattr(random, name, None) is value:
        return getattr(importlib.import_module(f"{__package__}.random"), name)
    return value


def _of_successor(value: Any, ours: types.ModuleType) -> Any:
    """Return the counterpart of a module or of a type of `numba_cuda_mlir`, or None: its types are not Numba's objects."""
    if isinstance(value, types.ModuleType):
        if value.__name__ == "numba_cuda_mlir.types":
            return importlib.import_module("numba.core.types")
        owner, _, name = value.__name__.rpartition(".")
        return getattr(ours, name, None) if owner == SUCCESSOR else None
    if type(value).__module__.startswith("numba_cuda_mlir.numba_cuda.types"):
        return getattr(importlib.import_module("numba.core.types"), str(value), None)
    return None
