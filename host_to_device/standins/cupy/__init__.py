"""A stand-in for CuPy: its array module over NumPy, its kernels on the CPU, its names, errors and refusals.

A lesson's `import cupy as cp` loads this package where there is no GPU. An array is not a NumPy array, and NumPy
refuses to convert it: `cp.asnumpy(x)` or `x.get()` copies it to the host. Where CuPy has a name that the stand-in
lacks, the error says so in one line.
"""

from __future__ import annotations

import functools
import importlib
import sys
from types import ModuleType
from typing import Any

import numpy as np

from host_to_device.standins.cupy import (
    calculation,
    converting,
    creation,
    cuda,
    files,
    functional,
    manipulation,
    polynomials,
    products,
    searching,
)
from host_to_device.standins.cupy.arrays import ndarray as ndarray
from host_to_device.standins.cupy.base import Base as _Base
from host_to_device.standins.cupy.cuda import memory as _memory
from host_to_device.standins.cupy.cuda import pinned_memory as _pinned_memory
from host_to_device.standins.cupy.exchange import from_dlpack as from_dlpack
from host_to_device.standins.cupy.exchange import fromDlpack as fromDlpack
from host_to_device.standins.cupy.forwarding import ALL as _FORWARDED
from host_to_device.standins.cupy.indexing import flatiter as flatiter
from host_to_device.standins.cupy.names import STAND_IN_VERSION as _STAND_IN_VERSION
from host_to_device.standins.cupy.names import raise_missing as _raise_missing
from host_to_device.standins.cupy.refusals import RULES as _RULES
from host_to_device.standins.cupy.refusals import checked as _checked
from host_to_device.standins.cupy.ufuncs import ALL as _UFUNCS
from host_to_device.standins.cupy.ufuncs import ufunc as ufunc

__version__ = _STAND_IN_VERSION

# NumPy's names that CuPy offers unchanged.
_OF_NUMPY = """
bool_ broadcast_shapes byte cdouble complex128 complex64 complexfloating csingle double dtype e euler_gamma finfo
float16 float32 float64 floating generic get_printoptions half iinfo index_exp inexact inf int16 int32 int64 int8 int_
intc integer intp issubdtype iterable longlong mintypecode nan ndindex newaxis number pi printoptions promote_types s_
set_printoptions short signedinteger single typename ubyte uint uint16 uint32 uint64 uint8 uintc uintp ulonglong
unsignedinteger ushort
"""
for _name in _OF_NUMPY.split():
    globals()[_name] = getattr(np, _name)
for _name in ("bool", "long", "ulong", "isdtype"):  # of NumPy 2
    if _name in vars(np):
        globals()[_name] = getattr(np, _name)
bool = np.bool_
float_, complex_, cfloat, singlecomplex = np.float64, np.complex128, np.complex128, np.complex64
Inf = Infinity = PINF = infty = np.inf
NAN = NaN = np.nan
NINF, PZERO, NZERO = -np.inf, 0.0, -0.0
exceptions = np.exceptions
AxisError, ComplexWarning, RankWarning, TooHardError, VisibleDeprecationWarning, ModuleDeprecationWarning = (
    getattr(np.exceptions, _name, getattr(np, _name, None))
    for _name in (
        "AxisError",
        "ComplexWarning",
        "RankWarning",
        "TooHardError",
        "VisibleDeprecationWarning",
        "ModuleDeprecationWarning",
    )
)

for _part in (converting, creation, manipulation, calculation, searching, products, files, functional):
    for _name, _value in vars(_part).items():
        # The module's own functions, under all their names, and instances of its own classes.
        if not _name.startswith("_") and _part.__name__ in (
            getattr(_value, "__module__", None),
            type(_value).__module__,
        ):
            globals()[_name] = _value
globals().update(_UFUNCS)
globals().update(_FORWARDED)
vectorize = functional.vectorize
for _name in ("poly", "poly1d", "polyadd", "polymul", "polysub", "polyval", "roots"):
    globals()[_name] = getattr(polynomials, _name)
for _name in _RULES:
    globals()[_name] = _checked(_name, globals()[_name])

# Loaded when a program first uses them, so that `import cupy` costs no more than importing NumPy does: the kernels
# bring the compiler of CUDA C++. By name, the module of this package that has it.
_KERNELS = ("ElementwiseKernel", "ReductionKernel", "RawKernel", "RawModule")
_MODULES = ("random", "fft", "lib", "linalg", "testing", "_core")
_LATER = {**dict.fromkeys(_KERNELS, "kernels"), "fuse": "fusion", **{name: name for name in _MODULES}}


def is_available() -> bool:
    """Return True: kernels can run, on the CPU."""
    return True


def get_array_module(*args: Any) -> ModuleType:
    """Return this module if one of the arguments is an array of the device, otherwise NumPy."""
    return sys.modules[__name__] if _any_of_device(args) else np


def _any_of_device(values: tuple) -> bool:
    return next((True for value in values if isinstance(value, _Base)), False)


def get_default_memory_pool() -> cuda.MemoryPool:
    """Return the pool of device memory that arrays use, unless `cuda.set_allocator` has replaced it."""
    return _memory.default_pool


def get_default_pinned_memory_pool() -> cuda.PinnedMemoryPool:
    """Return the pool of pinned memory."""
    return _pinned_memory.default_pool


def show_config(*, _full: bool = False) -> None:
    """Print the versions and the device of the stand-in."""
    cupyx = importlib.import_module(f"{__name__}.cupyx")  # only when it is used
    sys.stdout.write(str(cupyx.get_runtime_info(full=_full)))
    sys.stdout.flush()


def memoize(for_each_device: bool = False) -> Any:
    """Return a decorator that caches a function's results; its arguments must be hashable."""

    def decorate(function: Any) -> Any:
        kept = functools.lru_cache(maxsize=None)(function)
        _memoized.append(kept)
        return functools.wraps(function)(lambda *args, **kwargs: kept(*args, **kwargs))

    return decorate


_memoized: list[Any] = []


def clear_memo() -> None:
    """Clear the caches of all memoized functions."""
    for function in _memoized:
        function.cache_clear()


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        _raise_missing("", name)
    module = importlib.import_module(f"{__name__}.{_LATER[name]}")
    return module if name in _MODULES else getattr(module, name)


def __dir__() -> list[str]:
    own = {name for name, value in globals().items() if not isinstance(value, ModuleType)}
    return sorted(own - {"annotations", "Any", "ModuleType"} | {*_LATER, "cuda", "exceptions"} - {"_core"})


_Base._package = sys.modules[__name__]
