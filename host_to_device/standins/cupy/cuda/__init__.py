"""CuPy's `cupy.cuda` without CUDA: one device, streams that are always empty, and memory that is counted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from host_to_device.standins.cupy.cuda import (
    compiler,
    cub,
    device,
    driver,
    memory,
    nvtx,
    pinned_memory,
    profiler,
    runtime,
    stream,
    thrust,
)
from host_to_device.standins.cupy.cuda.device import Device, get_device_id
from host_to_device.standins.cupy.cuda.memory import (
    BaseMemory,
    ManagedMemory,
    Memory,
    MemoryPointer,
    MemoryPool,
    UnownedMemory,
    alloc,
    get_allocator,
    malloc_managed,
    set_allocator,
    using_allocator,
)
from host_to_device.standins.cupy.cuda.pinned_memory import (
    PinnedMemory,
    PinnedMemoryPointer,
    PinnedMemoryPool,
    alloc_pinned_memory,
    set_pinned_memory_allocator,
)
from host_to_device.standins.cupy.cuda.stream import (
    Event,
    ExternalStream,
    Stream,
    get_current_stream,
    get_elapsed_time,
)
from host_to_device.standins.cupy.names import public, raise_missing

__all__ = [
    "BaseMemory",
    "Device",
    "Event",
    "ExternalStream",
    "ManagedMemory",
    "Memory",
    "MemoryPointer",
    "MemoryPool",
    "PinnedMemory",
    "PinnedMemoryPointer",
    "PinnedMemoryPool",
    "Stream",
    "UnownedMemory",
    "alloc",
    "alloc_pinned_memory",
    "compiler",
    "cub",
    "device",
    "driver",
    "get_allocator",
    "get_current_stream",
    "get_device_id",
    "get_elapsed_time",
    "malloc_managed",
    "memory",
    "nvtx",
    "pinned_memory",
    "profiler",
    "runtime",
    "set_allocator",
    "set_pinned_memory_allocator",
    "stream",
    "thrust",
    "using_allocator",
]


def is_available() -> bool:
    """Return True: kernels can run, on the CPU."""
    return True


def get_local_runtime_version() -> int:
    """Return 0: there is no CUDA runtime here."""
    return 0


def get_cuda_path() -> None:
    """Return None: the stand-in uses no CUDA toolkit."""


def get_nvcc_path() -> None:
    """Return None: the stand-in uses no CUDA toolkit."""


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Do nothing for the length of a `with` block: NVIDIA's profilers cannot observe the stand-in."""
    yield


def __getattr__(name: str) -> Any:
    raise_missing("cuda", name)


def __dir__() -> list[str]:
    return public(globals(), *__all__)
