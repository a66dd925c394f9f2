"""Count on a GPU: with CUPTI, through PyTorch's profiler, and with the libraries' memory statistics.

This part has never run on a GPU. The tests give `read` events in the format of Kineto, the profiler's library
(pytorch/kineto, libkineto/src/CuptiActivity.cpp). It cannot find out:

* without PyTorch: anything but CuPy's allocations;
* Numba's allocations: they go straight to CUDA's driver, of which Kineto shows only launches and synchronization;
* whether Numba waited for a copy: Kineto does not say. A copy between host and device that no call of CUDA's runtime
  made comes from the driver, and counts as a wait, as Numba's copies do unless they are given a stream;
* the lines that waited: a trace has no Python lines unless it records every call, which slows the program down.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from host_to_device.counting.numbers import Numbers
from host_to_device.standins.events import NAMES
from host_to_device.starting import machine

NO_LINES = (
    "CUPTI does not know your lines. To see which lines wait, count on a stand-in (H2D_MACHINE=stand-in)."
)
NO_TORCH = "Copies, waits and operations are not known: they need PyTorch, which reads CUPTI. Install it: pip install torch"
OF_NUMBA = "Numba's allocations are not counted: CUPTI's trace does not have them."

DIRECTIONS = {"HtoD": "h2d", "DtoH": "d2h", "DtoD": "d2d", "PtoP": "d2d"}  # PtoP: from one device to another
RUNTIME = ("cuda_runtime", "cuda_driver")
SYNCHRONIZES = {
    *("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize"),
    *("cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"),
}
# The same calls as CUPTI's own activity shows them, the driver's too; "Stream Wait Event" does not stop the host.
SYNCHRONIZATION = {"Stream Sync", "Context Sync", "Event Sync", "Device Sync"}
BLOCKING_COPIES = {"cudaMemcpy", "cudaMemcpy2D", "cudaMemcpy3D"}
LAUNCHES = ("cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaGraphLaunch", "cuLaunchKernel")


def read(trace: Iterable[dict[str, Any]], own: int = 0) -> Numbers:
    """Return the numbers of a profiler's trace; allocations are not among them.

    Parameters
    ----------
    trace
        Events as Kineto writes them under "traceEvents", in Chrome's trace format.
    own
        The number of calls of cudaDeviceSynchronize at the end that are the profiler's own.
    """
    events = sorted((each for each in trace if each.get("ph") == "X"), key=lambda each: float(each["ts"]))
    calls = [each for each in events if each.get("cat") in RUNTIME]
    finals = [each for each in calls if each["name"] == "cudaDeviceSynchronize"]
    finals = finals[max(0, len(finals) - own) :]
    ours = {_correlation(each) for each in finals}
    of_runtime = {_correlation(each) for each in calls if each["cat"] == "cuda_runtime"}
    numbers = Numbers(launches=0)
    waits: set[Any] = set()  # by correlation: CUPTI shows one call two or three times
    launches: set[Any] = set()
    directions: dict[Any, str] = {}
    for place, each in enumerate(events):
        kind, name = each.get("cat"), each["name"]
        mark = _correlation(each)
        if mark is None:
            mark = "no correlation", place
        if kind == "gpu_memcpy":
            parts = name.split(" ")
            direction = DIRECTIONS.get(parts[1] if len(parts) > 1 else "")
            if direction is None:
                continue
            setattr(numbers, direction, getattr(numbers, direction) + 1)
            size = f"{direction}_bytes"
            setattr(numbers, size, getattr(numbers, size) + int(each.get("args", {}).get("bytes", 0)))
            directions[mark] = direction
            if direction != "d2d" and mark not in of_runtime:
                waits.add(mark)
        elif kind in ("kernel", "gpu_memset"):
            numbers.by_name[name] += 1
        elif (kind in RUNTIME and name in SYNCHRONIZES) or (kind == "cuda_sync" and name in SYNCHRONIZATION):
            if each not in finals and mark not in ours:
                waits.add(mark)
        elif kind in RUNTIME and name.startswith(LAUNCHES):
            launches.add(mark)
    for each in calls:
        # A blocking copy within the device does not stop the host.
        if each["name"] in BLOCKING_COPIES and directions.get(_correlation(each)) in ("h2d", "d2h"):
            waits.add(_correlation(each))
    numbers.operations = numbers.by_name.total()
    numbers.waits, numbers.launches = len(waits), len(launches)
    return numbers


def _correlation(event: dict[str, Any]) -> Any:
    return event.get("args", {}).get("correlation")


def is_chosen() -> bool:
    """Return whether the count is of a GPU: `start()` has found one, or PyTorch has one and `start()` has not run."""
    if machine.chosen is not None or os.environ.get("H2D_MACHINE") == "stand-in":
        return machine.chosen == "gpu"
    torch = sys.modules.get("torch")
    return torch is not None and torch.cuda.is_available()


def torch_with_gpu() -> Any:
    """Return the module `torch`, imported if necessary; None if it is not installed or has no GPU."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def name() -> str | None:
    """Return "GPU NVIDIA …, by CUPTI", or None where stand-ins run."""
    if not is_chosen():
        return None
    torch = torch_with_gpu()
    return "GPU, without CUPTI" if torch is None else f"GPU {torch.cuda.get_device_name()}, by CUPTI"


class Session:
    """One stretch of profiling, from its making to `end`."""

    def __init__(self) -> None:
        self._torch, self._stack = torch_with_gpu(), ExitStack()
        self._of_cupy = 0
        if "cupy" in sys.modules:
            self._stack.enter_context(self._hook())
        self._before = self._of_torch()
        if self._torch is not None:
            profiler = self._torch.profiler
            self._profile = profiler.profile(
                activities=[profiler.ProfilerActivity.CUDA],
                # Without this the trace lacks the driver's synchronization, and Numba calls the driver.
                experimental_config=self._torch._C._profiler._ExperimentalConfig(
                    enable_cuda_sync_events=True
                ),
            )
            self._stack.enter_context(self._profile)

    def _of_torch(self) -> int:
        """Return the number of blocks that PyTorch has allocated on all devices since it started."""
        cuda = None if self._torch is None else self._torch.cuda
        if cuda is None or not cuda.is_initialized():
            return 0
        statistics = (cuda.memory_stats(device) for device in range(cuda.device_count()))
        return sum(each.get("allocation.all.allocated", 0) for each in statistics)

    def _hook(self) -> Any:
        """Return a hook that counts the blocks that this thread allocates from CuPy's pool."""
        from cupy.cuda import memory_hook

        session = self

        class Allocations(memory_hook.MemoryHook):
            name = "host_to_device.count"

            def malloc_preprocess(self, **_: Any) -> None:
                session._of_cupy += 1

        return Allocations()

    def end(self) -> Numbers:
        """End the stretch and return what it counted."""
        self._stack.close()
        missing = []
        if self._torch is None:
            numbers = Numbers.of(dict.fromkeys(NAMES))
            missing.append(NO_TORCH)
        else:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "trace.json"
                self._profile.export_chrome_trace(str(path))
                # torch.autograd.profiler synchronizes once before it stops.
                numbers = read(json.loads(path.read_text())["traceEvents"], own=1)
        numbers.allocations = self._of_torch() - self._before + self._of_cupy
        if "numba.cuda" in sys.modules:
            missing.append(OF_NUMBA)
        numbers.missing = tuple(missing)
        return numbers


class Profiled:
    """The numbers of one count so far."""

    def __init__(self) -> None:
        self.numbers: Numbers | None = None


# A process has one profiler. Where counts overlap, it stops and starts again at the beginning and end of each, and every
# count adds up the stretches within it.
_active: list[Profiled] = []
_session: Session | None = None
_lock = threading.RLock()


def _cut() -> None:
    """End the current stretch, and add it to every count."""
    global _session
    if _session is not None:
        ended, _session = _session, None
        numbers = ended.end()
        for each in _active:
            each.numbers = numbers if each.numbers is None else each.numbers + numbers


def begin() -> Profiled:
    """Begin a count."""
    global _session
    with _lock:
        _cut()
        _session = Session()
        _active.append(Profiled())
        return _active[-1]


def end(profiled: Profiled) -> Numbers:
    """End a count that `begin` began, and return it."""
    global _session
    with _lock:
        _cut()
        _active[:] = [each for each in _active if each is not profiled]
        if _active:
            _session = Session()
        return profiled.numbers or Numbers()
