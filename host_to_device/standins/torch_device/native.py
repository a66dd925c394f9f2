"""The compiled device: the C++ functions that Python calls, and the device's name and size."""

from __future__ import annotations

import ctypes
import os

NAME = "standin"
COUNTERS = ("h2d", "h2d_bytes", "d2h", "d2h_bytes", "d2d", "d2d_bytes", "waits", "allocations", "operations")
LARGEST = 4 << 30  # bytes of each device, or a quarter of this machine's memory where that is less


class Native(ctypes.CDLL):
    """The compiled device, with the types of its functions."""

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
            ("fraction", ctypes.c_double, device),
            ("record_memory", None, device, ctypes.c_void_p),
            ("memory_changes", ctypes.c_int, device, integers, ctypes.c_int),
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
    """Return the bytes of each device: 4 GiB, or a quarter of this machine's memory where that is less."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return LARGEST
    return min(LARGEST, memory // 4)
