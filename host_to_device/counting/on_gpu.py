"""Count on a GPU: with CUPTI, through PyTorch's profiler, and beside it in Numba's calls and in CuPy's memory pool.

CUPTI shows what calls of CUDA's runtime do, whichever library makes them. It needs a PyTorch that is built for CUDA.
`numba_calls` counts Numba's calls of the driver, and needs nothing: CUPTI's trace has neither Numba's allocations nor
whether Numba waited for a copy. CuPy's allocations come from a hook of its memory pool. What can be counted where:

=========================  ================  =====================================================================
                           with CUPTI        without
=========================  ================  =====================================================================
Numba                      everything        everything
CuPy                       everything        allocations: CuPy's compiled code calls CUDA, so no function in Python
                                             can be put before its copies, waits and launches
PyTorch                    everything        it has no GPU then, and its stand-in device counts for itself
=========================  ================  =====================================================================

A sum is known only if all its parts are: as soon as CuPy is loaded, only the allocations are known without CUPTI. The
lines that waited are never known: a trace has no Python lines unless it records every call, which slows the program down.

`python -m tests.commands.torch.on_gpu` holds the part for CUPTI against a GPU. The other tests give `read` events in the
format of Kineto, the profiler's library (pytorch/kineto, libkineto/src/CuptiActivity.cpp).
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from host_to_device.counting.numba_calls import NumbaCalls
from host_to_device.counting.numbers import Numbers
from host_to_device.standins.events import NAMES
from host_to_device.starting import machine
from host_to_device.support.installed import SetUpError

NO_LINES = (
    "CUPTI does not know your lines. To see which lines wait, count on a stand-in (H2D_MACHINE=stand-in)."
)
OF_NUMBA = "Numba was imported inside the block, so its allocations are not counted."
NO_RECORDS = (
    "Copies, waits and operations are not known: the profiler recorded nothing, not even its own last call. CUPTI may be "
    "in use by another program, or the driver may not allow profiling."
)
TORCH_DEVICE = "host_to_device.standins.torch_device"

DIRECTIONS = {"HtoD": "h2d", "DtoH": "d2h", "DtoD": "d2d", "PtoP": "d2d"}  # PtoP: from one device to another
RUNTIME = ("cuda_runtime", "cuda_driver")
SYNCHRONIZES = {
    *("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize"),
    *("cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"),
}
# The same calls as CUPTI's own activity shows them, the driver's too; "Stream Wait Event" does not stop the host. A query
# that finds its event done is shown as "Event Sync", too, and stops nothing.
SYNCHRONIZATION = {"Stream Sync", "Context Sync", "Event Sync", "Device Sync"}
QUERIES = {"cudaEventQuery", "cudaStreamQuery", "cuEventQuery", "cuStreamQuery"}
BLOCKING_COPIES = {"cudaMemcpy", "cudaMemcpy2D", "cudaMemcpy3D"}
LAUNCHES = ("cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaGraphLaunch", "cuLaunchKernel")


def read(trace: Iterable[dict[str, Any]], own: int = 0, *, waits_of_driver: bool = True) -> Numbers:
    """Return the numbers of a profiler's trace; allocations are not among them.

    Parameters
    ----------
    trace
        Events as Kineto writes them under "traceEvents", in Chrome's trace format.
    own
        The number of calls of cudaDeviceSynchronize at the end that are the profiler's own. A trace without them is no
        record of anything: the numbers are None.
    waits_of_driver
        Whether waits in calls of the driver count, which are Numba's: False if they are counted elsewhere. A trace does
        not say whether Numba waited for a copy; it is taken to have.
    """
    events = sorted((each for each in trace if each.get("ph") == "X"), key=lambda each: float(each["ts"]))
    calls = [each for each in events if each.get("cat") in RUNTIME]
    finals = last_waits(calls, own)
    if len(finals) < own:
        return Numbers.of(dict.fromkeys(NAMES))
    not_waits = no_waits(calls, finals)
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
            if direction != "d2d" and mark not in of_runtime and waits_of_driver:
                waits.add(mark)
        elif kind in ("kernel", "gpu_memset"):
            numbers.by_name[name] += 1
        elif is_wait(each):
            if each not in finals and mark not in not_waits and (mark in of_runtime or waits_of_driver):
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


def last_waits(calls: Iterable[dict[str, Any]], own: int) -> list[dict[str, Any]]:
    """Return the last `own` calls of cudaDeviceSynchronize, the profiler's, or as many as there are."""
    found = [each for each in calls if each["name"] == "cudaDeviceSynchronize"]
    return found[max(0, len(found) - own) :]


def no_waits(calls: Iterable[dict[str, Any]], finals: Iterable[dict[str, Any]]) -> set[Any]:
    """Return the correlations of calls that are no waits of the program: the profiler's own last calls, and queries."""
    return {_correlation(each) for each in (*finals, *(each for each in calls if each["name"] in QUERIES))}


def is_wait(event: dict[str, Any]) -> bool:
    """Return whether an event of a trace is a wait of the host, as a call or as CUPTI's own activity shows it."""
    kind, name = event.get("cat"), event["name"]
    return (kind in RUNTIME and name in SYNCHRONIZES) or (kind == "cuda_sync" and name in SYNCHRONIZATION)


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


def gpu_name() -> str | None:
    """Return the GPU's name as PyTorch, CuPy or Numba know it, or None where stand-ins run."""
    if not is_chosen():
        return None
    torch, found = torch_with_gpu(), None
    if torch is not None:
        found = torch.cuda.get_device_name()
    elif "cupy" in sys.modules:
        found = sys.modules["cupy"].cuda.runtime.getDeviceProperties(0)["name"]
    elif uses_numba():
        found = sys.modules["numba.cuda"].get_current_device().name
    return f"GPU {found.decode() if isinstance(found, bytes) else found or ''}".strip()


def name() -> str | None:
    """Return "GPU NVIDIA …, by CUPTI", or None where stand-ins run."""
    if not is_chosen():
        return None
    torch = torch_with_gpu()
    return "GPU, without CUPTI" if torch is None else f"GPU {torch.cuda.get_device_name()}, by CUPTI"


def without_cupti(lacks: str = "CuPy's copies, waits and operations are not known") -> str:
    """Return one line: what is not to be had, why PyTorch does not read CUPTI here, and what to install."""
    torch = sys.modules.get("torch")
    if torch is None:
        why = "is not installed"
    elif torch.version.cuda is None:
        why = f"{torch.__version__} is built without CUDA"
    else:
        why = f"{torch.__version__}, built for CUDA {torch.version.cuda}, finds no GPU"
    return (
        f"{lacks}: CUPTI has them, PyTorch reads CUPTI, and PyTorch {why}. Install PyTorch for CUDA with the command that "
        "the selector on pytorch.org gives, and restart the kernel."
    )


_said: set[str] = set()


def say_once(missing: Iterable[str]) -> None:
    """Print each line that this process has not printed yet: a notebook may show the numbers only, and not their table."""
    for line in missing:
        if line not in _said:
            _said.add(line)
            print(line)


def profile(torch: Any) -> Any:
    """Return PyTorch's profiler of a GPU, for a `with` block."""
    options = inspect.signature(torch.profiler.profile).parameters
    return torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CUDA],
        # Without this the trace lacks the driver's synchronization, and Numba calls the driver.
        experimental_config=torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True),
        # Without this PyTorch 2.11 warns that it clears events between cycles, and here is one cycle.
        **({"acc_events": True} if "acc_events" in options else {}),
    )


def uses_numba() -> bool:
    """Return whether the real Numba has been imported, with the driver's functions that it calls."""
    return "numba.cuda.cudadrv.driver" in sys.modules and "numba.cuda.dispatcher" in sys.modules


def torch_stand_in() -> Any:
    """Return the module of PyTorch's stand-in device; None if no device has been made."""
    device: Any = sys.modules.get(TORCH_DEVICE)
    loaded = getattr(device, "loaded", None)  # not there yet while another thread imports the module
    return device if loaded is not None and loaded() else None


def _of_stand_in() -> dict[str, int]:
    """Return the sums of PyTorch's stand-in device by `NAMES`; empty where there is none."""
    device = torch_stand_in()
    return {} if device is None else device.counters()


class NotReady(BaseException):  # not an Exception: a learner's `except Exception` must not catch it
    """The first count of a process would begin inside a time limit; `get_ready` begins one outside of it."""


_ready = _limited = False


@contextmanager
def in_time_limit() -> Iterator[None]:
    """Let a first count on a GPU raise `NotReady`: PyTorch's import and CUPTI's start take seconds, once a process."""
    global _limited
    before, _limited = _limited, True
    try:
        yield
    finally:
        _limited = before


def check_ready() -> None:
    """Raise `NotReady` if this count is the process's first on a GPU, and a time limit runs."""
    if _limited and not _ready and is_chosen():
        raise NotReady


def get_ready() -> None:
    """Begin and end a count, so that the next one begins at once."""
    global _ready
    with suppress(SetUpError):
        end(begin())
    _ready = True


class Session:
    """One stretch of profiling, from its making to `end`."""

    def __init__(self) -> None:
        self._torch = torch_with_gpu()
        self._of_cupy = 0
        self._numba: NumbaCalls | None = None
        with ExitStack() as stack:  # an exception undoes what has begun
            if "cupy" in sys.modules:
                stack.enter_context(self._hook())
            if uses_numba():
                self._numba = stack.enter_context(NumbaCalls())
            self._before = self._of_torch()
            self._stand_in = Counter(_of_stand_in())
            if self._torch is not None:
                self._profile = profile(self._torch)
                stack.enter_context(self._profile)
            self._stack = stack.pop_all()

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
        calls = Numbers(launches=0) if self._numba is None else self._numba.numbers
        imported_inside = self._numba is None and uses_numba()
        allocations = (calls.allocations or 0) + self._of_torch() - self._before + self._of_cupy
        if self._torch is not None:
            numbers = self._traced(calls)
        elif "cupy" in sys.modules or imported_inside:
            numbers = Numbers.of(dict.fromkeys(NAMES))
            numbers.missing = (without_cupti(),)
        else:
            numbers = calls
        numbers.allocations = allocations
        if imported_inside:
            numbers.missing = (*numbers.missing, OF_NUMBA)
        if allocations or calls.worked or numbers.worked:
            numbers.places = ("GPU",)
        return numbers + self._of_stand_in()

    def _of_stand_in(self) -> Numbers:
        """Return what PyTorch's stand-in device has counted: beside a GPU it is in use if PyTorch has no CUDA."""
        sums = Counter(_of_stand_in()) - self._stand_in
        by_name = Counter(PyTorch=sums["operations"])
        numbers = Numbers.of({name: sums[name] for name in NAMES}, by_name=by_name)
        numbers.launches, numbers.places = 0, ("stand-in",) if numbers.worked else ()
        return numbers

    def _traced(self, calls: Numbers) -> Numbers:
        """Return the profiler's numbers, with the waits of Numba's calls where these were counted."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            self._profile.export_chrome_trace(str(path))
            trace = json.loads(path.read_text())["traceEvents"]
        # torch.autograd.profiler synchronizes once before it stops.
        numbers = read(trace, own=1, waits_of_driver=self._numba is None)
        if numbers.waits is None:
            numbers.missing = (NO_RECORDS,)
        else:
            numbers.waits += calls.waits or 0
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
