"""Count on a GPU what Numba asks of CUDA's driver, without a profiler.

Numba calls the driver through Python functions that one object keeps, `numba.cuda.cudadrv.driver.driver`. `NumbaCalls`
puts functions of its own before them while a count runs. Two things do not pass through that object in numba-cuda 0.30:
the launch of a kernel, and the allocation for a host array that is given to a kernel. For these it takes the functions of
Numba that lead there. Read in the sources of numba-cuda 0.22.2 (Colab's) and 0.30.4; one rule serves both.

In 0.30 a launch waits for the default stream after each host array that it has copied back. The copy has waited already,
so this wait finds nothing to wait for, and is no second wait.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from host_to_device.counting.numbers import Numbers

COPIES = {"cuMemcpyHtoD": "h2d", "cuMemcpyDtoH": "d2h", "cuMemcpyDtoD": "d2d"}
# The reasons of waits that are part of a copy.
CROSSING = {"h2d": "copy to the device", "d2h": "copy to the host"}
WAITS = ("cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize")
ALLOCATIONS = ("cuMemAlloc", "cuMemAllocManaged")
MEMSETS = ("cuMemsetD8", "cuMemsetD8Async")


class NumbaCalls:
    """The numbers of a block, for a `with` statement; Numba has to be loaded when the block begins.

    Parameters
    ----------
    hear
        Called with the kind, the name and the bytes of each operation, copy and wait, in their order, as `events.in_order`
        is: ("copy", "h2d", 4000), ("operation", "add", 0), ("wait", "copy to the host", 0).

    Attributes
    ----------
    numbers
        Copies, waits, allocations, operations and launches so far.
    """

    def __init__(self, hear: Callable[[str, str, int], None] = lambda kind, name, nbytes: None) -> None:
        self.numbers = Numbers(launches=0)
        self._hear = hear
        self._lock, self._stack = threading.Lock(), ExitStack()
        self._thread = (
            threading.local()
        )  # whether it is in a launch, and has just waited for a copy to the host

    def __enter__(self) -> NumbaCalls:
        driver = sys.modules["numba.cuda.cudadrv.driver"].driver
        for name, direction in COPIES.items():
            self._stand_before(driver, name, self._copied(direction, waits=direction != "d2d"))
            self._stand_before(driver, f"{name}Async", self._copied(direction, waits=False))
        for name in WAITS:
            self._stand_before(driver, name, self._waited(name))
        for name in ALLOCATIONS:
            self._stand_before(driver, name, lambda arguments: self._add(allocations=1))
        for name in MEMSETS:
            self._stand_before(driver, name, lambda arguments: self._operated("memset"))
        self._stand_before_launches()
        arrays = sys.modules["numba.cuda.cudadrv.devicearray"]
        if hasattr(arrays, "_to_strided_memory_view"):  # 0.30
            self._stand_before_arguments(arrays)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _stand_before(self, driver: Any, name: str, note: Callable[[tuple], None]) -> None:
        """Call `note` with the arguments of each call of a driver's function that succeeds."""
        kept = driver.__dict__.get(name)

        def counted(*arguments: Any) -> Any:
            call = kept
            if call is None:
                # Numba looks a function up at its first call, and keeps it where this one stands. Not any earlier: the
                # first look-up initialises CUDA, and a process that has done so cannot fork.
                call = type(driver).__getattr__(driver, name)
                setattr(driver, name, counted)
            result = call(*arguments)
            note(arguments)
            return result

        setattr(driver, name, counted)
        self._stack.callback(self._restore, driver, name, kept)

    @staticmethod
    def _restore(driver: Any, name: str, kept: Any) -> None:
        if kept is None:
            driver.__dict__.pop(name, None)
        else:
            setattr(driver, name, kept)

    def _stand_before_launches(self) -> None:
        kernel = sys.modules["numba.cuda.dispatcher"]._Kernel
        launch, thread = kernel.launch, self._thread

        def counted(this: Any, *arguments: Any, **keywords: Any) -> Any:
            thread.launches = getattr(thread, "launches", 0) + 1
            try:
                result = launch(this, *arguments, **keywords)
            finally:
                thread.launches -= 1
            # A kernel from Numba's cache on disk has no function any more.
            function = getattr(this, "py_func", None)
            self._operated(this.entry_name if function is None else function.__name__)
            self._add(launches=1)
            return result

        kernel.launch = counted
        self._stack.callback(setattr, kernel, "launch", launch)

    def _stand_before_arguments(self, arrays: Any) -> None:
        view = arrays._to_strided_memory_view

        def counted(given: Any, *arguments: Any, **keywords: Any) -> Any:
            result = view(given, *arguments, **keywords)
            if result[1] and getattr(given, "nbytes", 1):
                self._add(allocations=1)
            return result

        arrays._to_strided_memory_view = counted
        self._stack.callback(setattr, arrays, "_to_strided_memory_view", view)

    def _copied(self, direction: str, waits: bool) -> Callable[[tuple], None]:
        def note(arguments: tuple) -> None:
            nbytes = int(arguments[2])
            if nbytes:
                self._add(**{direction: 1, f"{direction}_bytes": nbytes}, waits=int(waits))
                self._thread.back = waits and direction == "d2h"
                self._hear("copy", direction, nbytes)
                if waits:
                    self._hear("wait", CROSSING[direction], 0)

        return note

    def _waited(self, name: str) -> Callable[[tuple], None]:
        def note(arguments: tuple) -> None:
            after_copy = getattr(self._thread, "back", False) and getattr(self._thread, "launches", 0)
            if not (name == "cuStreamSynchronize" and after_copy):
                self._add(waits=1)
                self._hear("wait", name, 0)

        return note

    def _operated(self, name: str) -> None:
        with self._lock:
            self.numbers.by_name[name] += 1
        self._add(operations=1)
        self._hear("operation", name, 0)

    def _add(self, **numbers: int) -> None:
        self._thread.back = False
        with self._lock:
            for name, number in numbers.items():
                setattr(self.numbers, name, getattr(self.numbers, name) + number)
