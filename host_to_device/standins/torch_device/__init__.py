"""Two devices inside PyTorch whose memory is this machine's: `standin:0` and `standin:1`.

PyTorch lets other projects add one type of device ("PrivateUse1"). This one is compiled from `source/` against the
installed PyTorch. It moves, refuses and counts tensors and runs out of memory as CUDA does; PyTorch's kernels for the
CPU do the arithmetic. `torch.cuda` stays as it is. `differences.py` lists what remains different from CUDA.
"""

from __future__ import annotations

import atexit
import collections
import ctypes
import threading
from collections.abc import Callable

from host_to_device.standins import events
from host_to_device.standins.torch_device import building, module, operators
from host_to_device.standins.torch_device.native import COUNTERS, NAME, Native, capacity
from host_to_device.support.installed import SetUpError, is_installed

__all__ = [
    "NAME",
    "capacity",
    "counters",
    "load",
    "loaded",
    "memory_changes",
    "on_wait",
    "record_memory",
    "set_memory_limit",
]

_lock = threading.Lock()
_native: Native | None = None
# Functions that C++ calls: the current one, and earlier ones that another thread may still be running.
_listeners: collections.deque = collections.deque(maxlen=16)


def load() -> Native:
    """Start the device, once. The first start on a machine takes some seconds to build it.

    Raises
    ------
    SetUpError
        If PyTorch or a C++ compiler is missing, or another project's device has PyTorch's only place.
    """
    global _native
    with _lock:
        first = _native is None
        if first:
            _native = _load()
    if first:
        atexit.register(_native.settle)
        events.follow("PyTorch", counters, on_wait)
    return _native


def _load() -> Native:
    if not is_installed("torch"):
        raise SetUpError("h2d.device() needs PyTorch: pip install torch")
    import torch

    taken = torch._C._get_privateuse1_backend_name()
    if taken != "privateuseone":
        raise SetUpError(
            f"PyTorch takes one device from other projects, and {taken!r} is already loaded: restart the kernel"
        )
    try:
        native = Native(str(building.built(torch)))
    except (OSError, AttributeError) as problem:
        raise SetUpError(f"PyTorch's stand-in device cannot be loaded: {problem}") from None
    problem = native.start(operators.all_of(torch).encode(), capacity())
    if problem:
        raise SetUpError(f"PyTorch refuses the stand-in device: {problem.decode(errors='replace')}")
    module.register(torch, native)
    return native


def loaded() -> bool:
    """Return whether the device has been started."""
    return _native is not None


def counters() -> dict[str, int]:
    """Return counts since the device was started; they only grow.

    Returns
    -------
    dict
        `h2d`, `d2h`, `d2d`: copies from host to device, device to host, device to device; with `_bytes`: their bytes.
        `waits`: how often the host waited for a device. `allocations` of device memory. `operations` of a device,
        without views and copies.
    """
    numbers = (ctypes.c_int64 * len(COUNTERS))()
    load().counters(numbers)
    return dict(zip(COUNTERS, numbers, strict=True))


def on_wait(callback: Callable[[str], object] | None) -> None:
    """Call a function each time the host waits for a device, in the thread that waits.

    Parameters
    ----------
    callback
        Called with the reason for the wait, in a word or two. Its exceptions are printed and dropped. None ends the
        calls.
    """
    native = load()
    if callback is None:
        native.on_wait(None)
        return
    listener = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(lambda reason: callback(reason.decode()) and None)
    _listeners.append(listener)
    native.on_wait(ctypes.cast(listener, ctypes.c_void_p))


BATCH = 4096  # changes that one call of the compiled device takes out


def record_memory(callback: Callable[[int], None] | None, device: int = 0) -> None:
    """Record the changes of a device's memory, until this is called with None.

    Parameters
    ----------
    callback
        Called in the thread that allocates, is refused, or empties the cache, with the change's number: the stack holds the
        line that caused it. Frees are recorded without a call, because Python may be handling an exception meanwhile. Its
        exceptions are printed and dropped.
    device
        Number of the device.
    """
    native = load()
    if callback is None:
        native.record_memory(device, None)
        return
    listener = ctypes.CFUNCTYPE(None, ctypes.c_int64)(callback)
    _listeners.append(listener)
    native.record_memory(device, ctypes.cast(listener, ctypes.c_void_p))


def memory_changes(device: int = 0) -> list[tuple[int, int, int, int, int]]:
    """Return the changes of a device's memory since the last call, while `record_memory` records them.

    Returns
    -------
    list of tuple
        Of each change five numbers. Its place in the order of all changes. What it was: 0 a block was allocated, 1 a block
        was freed, 2 an allocation was refused, 3 cached memory went back to the device. The address of the block, which no other
        block has at the same time. Bytes of the block, or of the refused allocation, rounded up as on CUDA. Bytes that the device's pool
        holds afterwards.
    """
    native = load()
    changes: list[tuple[int, int, int, int, int]] = []
    numbers = (ctypes.c_int64 * (5 * BATCH))()
    while count := native.memory_changes(device, numbers, BATCH):
        flat = iter(numbers[: 5 * count])
        changes += zip(flat, flat, flat, flat, flat, strict=True)
    return changes


def set_memory_limit(nbytes: int | None, device: int = 0) -> None:
    """Limit the memory of a device; an allocation beyond the limit raises `torch.OutOfMemoryError`.

    Parameters
    ----------
    nbytes
        The limit in bytes, cached memory included; None restores the limit of the start.
    device
        Number of the device.

    Raises
    ------
    ValueError
        If the number of bytes is negative.
    """
    if nbytes is not None and nbytes < 0:
        raise ValueError(f"the memory of a device cannot be {nbytes} bytes")
    native = load()
    native.set_capacity(module.index_of(device), capacity() if nbytes is None else int(nbytes))
