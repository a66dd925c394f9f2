"""Two devices inside PyTorch whose memory is this machine's: `standin:0` and `standin:1`.

PyTorch keeps a place for devices that it does not know ("PrivateUse1"); this one is compiled from `source/` against
the PyTorch that is installed, and registered there. Tensors are moved, refused, counted and run out of memory as on
CUDA; the arithmetic is that of PyTorch's kernels for the CPU. `torch.cuda` stays as it is. What remains different
from CUDA is in `differences.py`.
"""

from __future__ import annotations

import atexit
import collections
import ctypes
import os
import threading
from collections.abc import Callable

from host_to_device.standins import events
from host_to_device.support.installed import SetUpError, is_installed

NAME = "standin"
COUNTERS = ("h2d", "h2d_bytes", "d2h", "d2h_bytes", "d2d", "d2d_bytes", "waits", "allocations", "operations")
LARGEST = 4 << 30  # bytes that each device has, or a quarter of this machine's memory where that is less

_lock = threading.Lock()
_native: Native | None = None
# Functions that C++ calls, the last of them and some before: another thread may still be in one.
_listeners: collections.deque = collections.deque(maxlen=16)


class Native(ctypes.CDLL):
    """The compiled device."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        integers, device = ctypes.POINTER(ctypes.c_int64), ctypes.c_int
        for name, result, *arguments in (
            ("start", ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int64),
            ("counters", None, integers),
            ("on_wait", None, ctypes.c_void_p),
            ("settle", None),
            ("wait", None, ctypes.c_char_p),
            ("set_capacity", None, device, ctypes.c_int64),
            ("set_fraction", None, device, ctypes.c_double),
            ("memory_info", None, device, integers),
            ("empty_cache", None, device),
            ("reset_peaks", None, device),
            ("reset_accumulated", None, device),
            ("memory_stats", ctypes.c_int, device, integers),
            ("memory_snapshot", ctypes.c_char_p, device),
            ("device", ctypes.c_int),
            ("set_device", None, device),
            ("devices", ctypes.c_int),
            ("in_bad_fork", ctypes.c_int),
            ("seed", None, device, ctypes.c_uint64),
            ("initial_seed", ctypes.c_uint64, device),
            ("random_state", ctypes.c_int64, device, ctypes.c_void_p, ctypes.c_int),
        ):
            function = getattr(self, f"h2d_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)


def capacity() -> int:
    """Return how many bytes each device has: 4 GiB, or a quarter of this machine's memory where that is less."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return LARGEST
    return min(LARGEST, memory // 4)


def load() -> Native:
    """Start the device, which takes some seconds where it has to be built; doing it again changes nothing.

    Raises
    ------
    SetUpError
        If there is no PyTorch or no C++ compiler, or if PyTorch's place is taken by somebody else's device.
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

    from host_to_device.standins.torch_device import building, module, operators

    taken = torch._C._get_privateuse1_backend_name()
    if taken != "privateuseone":
        raise SetUpError(
            f"PyTorch has room for one device of others, and {taken!r} has taken it: restart the kernel"
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
    """Return what happened since the device was started, all of them counts that only grow.

    Returns
    -------
    dict
        `h2d`, `d2h`, `d2d`: copies from host to device, device to host, device to device; the same with `_bytes`:
        their bytes; `waits`: how often the host waited for a device; `allocations`: of device memory; `operations`:
        what a device was told to do, without views and copies.
    """
    numbers = (ctypes.c_int64 * len(COUNTERS))()
    load().counters(numbers)
    return dict(zip(COUNTERS, numbers, strict=True))


def on_wait(callback: Callable[[str], object] | None) -> None:
    """Call a function each time the host waits for a device, in the thread that waits; None ends it.

    Parameters
    ----------
    callback
        Called with what the host waits for, in a word or two; exceptions that it raises are printed and dropped.
    """
    native = load()
    if callback is None:
        native.on_wait(None)
        return
    listener = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(lambda reason: callback(reason.decode()) and None)
    _listeners.append(listener)
    native.on_wait(ctypes.cast(listener, ctypes.c_void_p))


def set_memory_limit(nbytes: int | None, device: int = 0) -> None:
    """Let a device have so much memory; beyond it allocations raise `torch.OutOfMemoryError`.

    Parameters
    ----------
    nbytes
        Bytes, what is cached included; None for as many as it had at the start.
    device
        Number of the device.

    Raises
    ------
    ValueError
        If the number of bytes is negative.
    """
    if nbytes is not None and nbytes < 0:
        raise ValueError(f"a device cannot have {nbytes} bytes of memory")
    native = load()
    from host_to_device.standins.torch_device import module

    native.set_capacity(module.index_of(device), capacity() if nbytes is None else int(nbytes))
