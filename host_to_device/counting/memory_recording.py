"""Records the changes of device memory: on the stand-ins from their reports, on a GPU from the libraries' own records.

======== ================================================== =========================================================
library  stand-in                                           GPU
======== ================================================== =========================================================
PyTorch  the device's allocator, a model of CUDA's,         torch.cuda.memory._record_memory_history and _snapshot,
         records every block; the line is looked up in      documented under "Understanding CUDA Memory Usage" [MEM].
         the thread that allocates                          Names with "_" may change: what is missing becomes one line
CuPy     the pool reports each block, and its end           cupy.cuda.MemoryHook, of the thread that records
Numba    each array reports its memory, and its end         functions before the memory manager and cuMemFree
======== ================================================== =========================================================

Sizes are those of the allocators. PyTorch's history has the bytes before they are rounded, and its allocator rounds them up to
512 [ALLOC]; a block of which the allocator did not split off the rest may be up to 1 MiB larger. A backward pass runs in
threads of PyTorch without lines of Python: its blocks get the line that called it.

The part for PyTorch on a GPU ran in lesson 10's notebook on an H100. The tests give it snapshots in PyTorch's format
(torch/csrc/cuda/memory_snapshot.cpp). The parts for CuPy and Numba run on the rehearsal.

[MEM] docs.pytorch.org, "Understanding CUDA Memory Usage".
[ALLOC] pytorch/pytorch, c10/cuda/CUDACachingAllocator.cpp, `round_size`, `should_split`, `record_trace`.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable
from contextlib import ExitStack
from typing import Any

from host_to_device.counting import counts, on_gpu
from host_to_device.counting.memory_history import Change, History, State
from host_to_device.counting.numba_calls import NumbaCalls
from host_to_device.counting.timelines import reporting_library
from host_to_device.standins import events

UNIT = 512  # bytes; PyTorch's and CuPy's pools allocate multiples of this
PYTORCH = "PyTorch"
MOST_OF_PYTORCH = 1_000_000  # entries of PyTorch's own history on a GPU

Place = tuple[str, int]


class BackwardPasses:
    """Notes, for a `with` block, which line of the reader's called the backward pass that is running.

    PyTorch runs it in threads of its own, and the caller waits in `torch.autograd.graph._engine_run_backward`. If a
    PyTorch has no such function, nothing is noted.
    """

    def __init__(self) -> None:
        self.spans: list[tuple[float, float, Place]] = []  # begin and end in seconds of the wall clock
        self._running: list[Place] = []
        self._restore: list[tuple[Any, Any]] = []

    def __enter__(self) -> BackwardPasses:
        graph = sys.modules.get("torch.autograd.graph")
        original = getattr(graph, "_engine_run_backward", None)
        if original is not None:

            def noted(*arguments: Any, **keywords: Any) -> Any:
                place, begin = events.readers_place(), time.time()
                self._running.append(place)
                try:
                    return original(*arguments, **keywords)
                finally:
                    self._running.remove(place)
                    self.spans.append((begin, time.time(), place))

            for module in (graph, sys.modules.get("torch.autograd")):
                if getattr(module, "_engine_run_backward", None) is original:
                    module._engine_run_backward = noted  # type: ignore[union-attr]
                    self._restore.append((module, original))
        return self

    def __exit__(self, *_: object) -> None:
        for module, original in self._restore:
            module._engine_run_backward = original
        self._restore.clear()

    def now(self) -> Place:
        """Return the line whose backward pass is running; "" and 0 if none is."""
        return self._running[-1] if self._running else ("", 0)

    def at(self, moment: float) -> Place:
        """Return the line whose backward pass was running at a moment of the wall clock."""
        return next((place for begin, end, place in self.spans if begin <= moment <= end), ("", 0))


class Recorder:
    """What both kinds of recorders have: a history, and lines that say what it lacks."""

    def __init__(self, device: int) -> None:
        self.device = device
        self.history = History(State())
        self.missing: list[str] = []
        self.libraries: set[str] = set()
        self._stack = ExitStack()

    def __exit__(self, *_: object) -> None:
        self._stack.close()


# --- On the stand-ins ------------------------------------------------------------------------------------------


class OnStandIns(Recorder):
    """Records the reports of the stand-ins, for a `with` block."""

    def __enter__(self) -> OnStandIns:
        before: dict[Hashable, int] = {}
        held: dict[Hashable, int] = {}
        pool = self._pool_of_cupy()
        if pool is not None and self.device == 0:
            before[pool._number], held[pool._number] = pool.used_bytes(), pool.total_bytes()
        # Reports arrive in any thread, also from finalisers in the middle of anything: they are only appended.
        self._arrived: deque[Change] = deque()
        self._of_torch: deque[Any] = deque()  # changes of PyTorch's device whose lines may be on their way
        self._places: dict[int, Place] = {}
        self._taking, self._settling = threading.Lock(), threading.Lock()
        self._torch: Any = None
        counts.follow_torch()
        torch = on_gpu.torch_stand_in()
        if torch is not None:
            self.device = torch.module.index_of(self.device)
            stats = torch.module.memory_stats(self.device)
            before[PYTORCH] = stats["allocated_bytes.all.current"]
            held[PYTORCH] = stats["reserved_bytes.all.current"]
        self.history = History(State(before, held))
        self._held = held.get(PYTORCH, 0)
        events.listen()
        self._stack.callback(events.stop_listening)
        events.memory = self._note
        self._stack.callback(self._forget)
        if torch is not None:
            self._begin_torch(torch)
        return self

    def __exit__(self, *problem: object) -> None:
        self._take_in(last=True)
        super().__exit__(*problem)
        self._settle()
        if self._torch is not None:
            self.missing += self._other_devices()

    def _begin_torch(self, torch: Any) -> None:
        self._torch = torch
        self._elsewhere = self._allocations_elsewhere()
        self._backward = self._stack.enter_context(BackwardPasses())
        torch.record_memory(self._heard, self.device)
        self._stack.callback(torch.record_memory, None, self.device)

    def _allocations_elsewhere(self) -> dict[int, int]:
        module = self._torch.module
        others = [each for each in range(module.device_count()) if each != self.device]
        return {each: module.memory_stats(each)["allocation.all.allocated"] for each in others}

    def _other_devices(self) -> list[str]:
        now = self._allocations_elsewhere()
        return [
            f"Device {each} allocated memory, too: h2d.memory_timeline(device={each}) records it."
            for each in now
            if now[each] > self._elsewhere[each]
        ]

    @staticmethod
    def _forget() -> None:
        events.memory = None

    @staticmethod
    def _pool_of_cupy() -> Any:
        memory: Any = sys.modules.get("host_to_device.standins.cupy.cuda.memory")
        return getattr(memory, "default_pool", None)

    # Reports

    def _heard(self, number: int) -> None:
        """Note the line of a change of PyTorch's device; called in the thread that caused it."""
        place = events.readers_place()
        self._places[number] = place if place[0] else self._backward.now()
        if len(self._places) >= BATCH:
            self._take_in()
            self._settle()

    def _note(self, kind: str, key: Hashable, nbytes: int, pool: Hashable, held: int) -> None:
        """Note a report of the stand-ins for Numba and CuPy."""
        if kind == "loaded":
            torch = on_gpu.torch_stand_in()
            if torch is not None and self._torch is None:
                self._begin_torch(torch)
            return
        if self.device != 0:
            return
        self._take_in()
        library, place = "CuPy", ("", 0)
        if kind != "free":
            library, place = reporting_library(), events.readers_place()
        known = held if kind in ("allocation", "released") and pool is not None else None
        self._arrived.append(Change(kind, pool, key, nbytes, known, library, *place))
        if kind == "allocation" and len(self._arrived) >= BATCH:
            self._settle()

    def _take_in(self, last: bool = False) -> None:
        """Take out what PyTorch's device has recorded, up to the first change whose line is on its way."""
        # Not blocking: a finaliser may come here while this thread is here already.
        if self._torch is None or not self._taking.acquire(blocking=False):
            return
        try:
            self._of_torch.extend(self._torch.memory_changes(self.device))
            while self._of_torch:
                number, what, address, size, held = self._of_torch[0]
                file, line = "", 0
                if what != FREED:
                    found = self._places.pop(number, None)
                    if found is None and not last:
                        return
                    file, line = found or (file, line)
                self._of_torch.popleft()
                if what == RELEASED and held == self._held:
                    continue  # nothing was cached
                self._held = held
                self._arrived.append(Change(KINDS[what], PYTORCH, address, size, held, PYTORCH, file, line))
        finally:
            self._taking.release()

    def _settle(self) -> None:
        """Move what has arrived into the history, in one thread at a time."""
        if not self._settling.acquire(blocking=False):
            return
        try:
            moved = [self._arrived.popleft() for _ in range(len(self._arrived))]
            self.libraries.update(each.library for each in moved)
            self.history.add(moved)
        finally:
            self._settling.release()

    def limit(self) -> int | None:
        """Return the bytes that the device has for the library in use; None if there is no limit or there are several."""
        if self._torch is not None and self.libraries <= {PYTORCH}:
            module = self._torch.module
            total = module.mem_get_info(self.device)[1]
            return int(total * module.get_per_process_memory_fraction(self.device))
        pool = self._pool_of_cupy()
        return (pool.get_limit() or None) if pool is not None and self.libraries == {"CuPy"} else None


BATCH = 4096  # reports that wait before they go into the history
KINDS = ("allocation", "free", "refused", "released")  # by their numbers in `torch_device.memory_changes`
FREED, RELEASED = 1, 3


# --- On a GPU --------------------------------------------------------------------------------------------------


class OnGpu(Recorder):
    """Records what PyTorch, CuPy and Numba say of a GPU's memory, for a `with` block."""

    def __enter__(self) -> OnGpu:
        self._timed: list[tuple[float, Change]] = []  # of CuPy and Numba, with the wall clock's seconds
        before: dict[Hashable, int] = {}
        held: dict[Hashable, int] = {}
        self._torch = on_gpu.torch_with_gpu()
        self._has_cupy, self._has_numba = "cupy" in sys.modules, on_gpu.uses_numba()
        if self._torch is not None:
            self._backward = self._stack.enter_context(BackwardPasses())
            self._begin_torch(before, held)
        if self._has_cupy:
            import cupy

            pool = cupy.get_default_memory_pool()
            with cupy.cuda.Device(self.device):
                before["CuPy"], held["CuPy"] = pool.used_bytes(), pool.total_bytes()
            self._stack.enter_context(_hook(self._note, self.device))
        if self._has_numba:
            self._stack.enter_context(NumbaMemory(self._note, self.device))
        self.history = History(State(before, held))
        self._held = held.get(PYTORCH, 0)
        return self

    def __exit__(self, *problem: object) -> None:
        self._stack.close()
        changes: list[tuple[float, Change]] = []
        if self._torch is not None:
            changes = self._end_torch()
        merged = sorted([*changes, *self._timed], key=lambda each: each[0]) if self._timed else changes
        self.libraries = {change.library for _, change in merged}
        self.history.add(change for _, change in merged)
        for name, had, has in (
            ("CuPy", self._has_cupy, "cupy" in sys.modules),
            ("Numba", self._has_numba, on_gpu.uses_numba()),
        ):
            if has and not had:
                self.missing.append(
                    f"{name} was imported inside the block, so its memory is not recorded: import it before the block."
                )

    def _note(
        self, kind: str, pool: Hashable, key: Hashable, nbytes: int, held: int | None, library: str
    ) -> None:
        place = events.readers_place() if kind != "free" else ("", 0)
        self._timed.append((time.time(), Change(kind, pool, key, nbytes, held, library, *place)))

    # PyTorch's own history

    def _begin_torch(self, before: dict[Hashable, int], held: dict[Hashable, int]) -> None:
        memory, device = self._torch.cuda.memory, self.device
        try:
            if getattr(self._torch._C, "_cuda_isHistoryEnabled", lambda: False)():
                raise RuntimeError(
                    "its history is being recorded already; end that with "
                    "torch.cuda.memory._record_memory_history(enabled=None)"
                )
            memory._record_memory_history(
                enabled="all", context="alloc", stacks="python", max_entries=MOST_OF_PYTORCH
            )
        except (AttributeError, TypeError, RuntimeError) as problem:
            self._cannot(problem)
            return
        before[PYTORCH], held[PYTORCH] = memory.memory_allocated(device), memory.memory_reserved(device)

    def _cannot(self, problem: Exception) -> None:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        self.missing.append(
            f"PyTorch {self._torch.__version__} does not record its memory here, so its blocks are missing: {reason}"
        )
        self._torch = None

    def _end_torch(self) -> list[tuple[float, Change]]:
        memory = self._torch.cuda.memory
        try:
            try:
                snapshot = memory._snapshot()
            finally:
                memory._record_memory_history(enabled=None)
            trace = snapshot["device_traces"][self.device]
            return from_history(trace, self._held, self._backward.at)
        except (AttributeError, TypeError, KeyError, IndexError, RuntimeError) as problem:
            self._cannot(problem)
            return []

    def limit(self) -> int | None:
        """Return the bytes of the GPU, or the part of them that PyTorch may have if it is alone; None if unknown."""
        if self._torch is not None:
            cuda = self._torch.cuda
            total = cuda.mem_get_info(self.device)[1]
            fraction = getattr(cuda, "get_per_process_memory_fraction", lambda device: 1.0)(self.device)
            return int(total * fraction) if self.libraries <= {PYTORCH} else total
        if self._has_cupy:
            import cupy

            with cupy.cuda.Device(self.device):
                return cupy.cuda.runtime.memGetInfo()[1]
        if self._has_numba:
            from numba import cuda as numba_cuda

            return numba_cuda.current_context(self.device).get_memory_info().total
        return None


def from_history(
    trace: Iterable[dict[str, Any]],
    held: int = 0,
    backward: Callable[[float], Place] = lambda moment: ("", 0),
) -> list[tuple[float, Change]]:
    """Return the changes of one device in PyTorch's history, with their times in seconds.

    Parameters
    ----------
    trace
        One of the "device_traces" of `torch.cuda.memory._snapshot()`.
    held
        Bytes that PyTorch's allocator held when the history began.
    backward
        Returns the reader's line whose backward pass was running at a moment.
    """
    changes = []
    for entry in trace:
        action, size = entry["action"], entry["size"]
        moment = entry.get("time_us", 0) * 1e-6
        if action in HELD:
            held += HELD[action] * size
            kind, key, nbytes = "released", None, 0
        elif action in ACTIONS:
            kind, key = ACTIONS[action], entry.get("addr")
            nbytes = max(UNIT, -(-size // UNIT) * UNIT)
        else:
            continue
        place: Place = ("", 0)
        if kind in ("allocation", "refused"):
            place = _readers_frame(entry.get("frames") or ())
            place = place if place[0] else backward(moment)
        changes.append((moment, Change(kind, PYTORCH, key, nbytes, held, PYTORCH, *place)))
    return changes


# What an entry of PyTorch's history is to a timeline; a segment is what the allocator holds. A block counts as freed when
# the program gives it back ("free_requested"), as in memory_allocated().
ACTIONS = {"alloc": "allocation", "free_requested": "free", "oom": "refused"}
HELD = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}


def _readers_frame(frames: Iterable[dict[str, Any]]) -> Place:
    """Return the innermost frame that is the reader's code; PyTorch lists the innermost first."""
    for frame in frames:
        if events.is_readers(frame["filename"]):
            return frame["filename"], frame["line"]
    return "", 0


def _hook(note: Callable, device: int) -> Any:
    """Return a hook of CuPy's memory pool that notes this thread's blocks."""
    import cupy
    from cupy.cuda import memory_hook

    pool = cupy.get_default_memory_pool()

    class Memory(memory_hook.MemoryHook):
        name = "host_to_device.memory_timeline"

        def malloc_postprocess(
            self, *, device_id: int, mem_size: int, mem_ptr: int, pmem_id: int, **_: Any
        ) -> None:
            if device_id == device and mem_size:
                kind = "allocation" if mem_ptr else "refused"
                note(kind, "CuPy", pmem_id, mem_size, pool.total_bytes(), "CuPy")

        def free_postprocess(self, *, device_id: int, mem_size: int, pmem_id: int, **_: Any) -> None:
            if device_id == device:
                note("free", "CuPy", pmem_id, mem_size, None, "CuPy")

    return Memory()


class NumbaMemory(NumbaCalls):
    """Notes the memory that Numba allocates on a GPU and frees, for a `with` statement; Numba has to be loaded.

    Numba frees memory some time after its array has ended, several blocks at once: the block is alive until then. The
    copy of a host array that is given to a kernel is alive until the launch has ended.
    """

    def __init__(self, note: Callable, device: int) -> None:
        super().__init__()
        self._note, self._device = note, device
        self._alive: set[int] = set()

    def __enter__(self) -> NumbaMemory:
        module = sys.modules["numba.cuda.cudadrv.driver"]
        for name in ("memalloc", "memallocmanaged"):
            self._stand_before_manager(module.NumbaCUDAMemoryManager, name)
        self._stand_before(module.driver, "cuMemFree", lambda arguments: self._freed(arguments[0]))
        arrays = sys.modules["numba.cuda.cudadrv.devicearray"]
        if hasattr(arrays, "_to_strided_memory_view"):  # 0.30
            self._stand_before_launch()
            self._stand_before_copies(arrays)
        return self

    def _here(self) -> bool:
        from numba import cuda

        return cuda.get_current_device().id == self._device

    def _stand_before_manager(self, manager: Any, name: str) -> None:
        call = getattr(manager, name)

        def noted(this: Any, size: int, *arguments: Any, **keywords: Any) -> Any:
            try:
                memory = call(this, size, *arguments, **keywords)
            except Exception:
                if self._here():
                    self._note("refused", None, None, size, None, "Numba")
                raise
            if self._here():
                address = _address(memory.device_pointer)
                self._alive.add(address)
                self._note("allocation", None, address, size, None, "Numba")
            return memory

        inherited = name not in vars(manager)
        setattr(manager, name, noted)
        self._stack.callback(delattr, manager, name) if inherited else self._stack.callback(
            setattr, manager, name, call
        )

    def _freed(self, pointer: Any) -> None:
        address = _address(pointer)
        if address in self._alive:  # it is not older than the recording
            self._alive.remove(address)
            self._note("free", None, address, 0, None, "Numba")

    def _stand_before_launch(self) -> None:
        kernel = sys.modules["numba.cuda.dispatcher"]._Kernel
        launch, thread = kernel.launch, self._thread

        def noted(this: Any, *arguments: Any, **keywords: Any) -> Any:
            outer, thread.copies = getattr(thread, "copies", None), []
            try:
                return launch(this, *arguments, **keywords)
            finally:
                for key in thread.copies:
                    self._note("free", None, key, 0, None, "Numba")
                thread.copies = outer

        kernel.launch = noted
        self._stack.callback(setattr, kernel, "launch", launch)

    def _stand_before_copies(self, arrays: Any) -> None:
        view = arrays._to_strided_memory_view

        def noted(given: Any, *arguments: Any, **keywords: Any) -> Any:
            result = view(given, *arguments, **keywords)
            nbytes = getattr(given, "nbytes", 0)
            copies = getattr(self._thread, "copies", None)
            if result[1] and nbytes and copies is not None and self._here():
                copies.append(("copy", next(events._keys)))
                self._note("allocation", None, copies[-1], nbytes, None, "Numba")
            return result

        arrays._to_strided_memory_view = noted
        self._stack.callback(setattr, arrays, "_to_strided_memory_view", view)


def _address(pointer: Any) -> int:
    """Return a device pointer as a number, whichever binding of CUDA it comes from."""
    return int(getattr(pointer, "value", pointer))
