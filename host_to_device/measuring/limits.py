"""What this machine can do at best: the limits that other numbers are measured against.

They stand at the beginning of every record. Each is measured by `h2d.time` or its clocks, in the plainest way that
there is, and says in a sentence how. The part for a GPU uses PyTorch, or CuPy where there is no PyTorch.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import re
import statistics
import sys
import time as clock_of_host
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from host_to_device.measuring import machines
from host_to_device.rendering import units
from host_to_device.starting import machine

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")

# Every limit that a record may have, with its unit. On a machine with a GPU the plain names are the GPU's.
KNOWN = {
    "copy bandwidth": "B/s",
    "copy bandwidth, one core": "B/s",
    "matmul float64": "FLOP/s",
    "matmul float32": "FLOP/s",
    "matmul tf32": "FLOP/s",
    "matmul float16": "FLOP/s",
    "matmul bfloat16": "FLOP/s",
    "cores scaling": "×",
    "cores scaling, copy": "×",
    "host to device, pinned": "B/s",
    "host to device, pageable": "B/s",
    "device to host, pinned": "B/s",
    "device to host, pageable": "B/s",
    "launch latency": "s",
    "wait latency": "s",
    "copy bandwidth, CPU": "B/s",
    "copy bandwidth, one core, CPU": "B/s",
    "matmul float64, CPU": "FLOP/s",
    "matmul float32, CPU": "FLOP/s",
}

SECONDS = 2.0  # for one limit, roughly
LAUNCHES = 200  # in a row: far fewer than a GPU takes before it makes the host wait
CACHE_TIMES = 4  # so many times the cache is out of reach for it


@functools.cache
def cache_size(where: str) -> int | None:
    """Return the bytes of the last cache before memory, on the "CPU" or the "GPU"; None where it is not known."""
    if where == "GPU":
        return _l2_of_the_gpu()
    sizes = []
    for path in CACHES.glob("index*/size"):
        match = re.fullmatch(r"(\d+)([KMG]?)", path.read_text().strip())
        if match:
            sizes.append(int(match[1]) * {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}[match[2]])
    return max(sizes, default=None)


def _l2_of_the_gpu() -> int | None:
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_available():
        return torch.cuda.get_device_properties(0).L2_cache_size
    if (cupy := sys.modules.get("cupy")) is not None:
        return cupy.cuda.Device().attributes["L2CacheSize"]
    return None


# --- What has been measured ------------------------------------------------------------------------------------


def peak(what: str, where: str) -> float | None:
    """Return a limit of this machine, in bytes or operations a second; None where it has not been measured.

    Parameters
    ----------
    what
        The name of a limit, or "matmul" for the fastest of all types.
    where
        "GPU" or "CPU".
    """
    if where not in ("GPU", "CPU"):
        return None
    record = _own_record(machine.chosen)
    if record is None:
        return None
    of_cpu = ", CPU" if where == "CPU" and record.kind == "gpu" else ""
    if (where == "GPU") != (record.kind == "gpu") and not of_cpu:
        return None
    values = [
        limit["value"]
        for name, limit in record.limits.items()
        if name == what + of_cpu or (what == "matmul" and re.fullmatch(rf"matmul \w+{of_cpu}", name))
    ]
    return max(values, default=None)


@functools.cache
def _own_record(chosen: str | None) -> Any:
    """Return this machine's record, or None; `chosen` is what runs here, and may change."""
    from host_to_device.measuring import ledger

    return ledger.own_record()


# --- Measuring -------------------------------------------------------------------------------------------------


def measure_limits(progress: Callable[[str], Any] = print) -> dict[str, dict[str, Any]]:
    """Measure this machine's limits and return them as a record has them: value (the median), unit, samples, how.

    Parameters
    ----------
    progress
        Called with a line for each limit.
    """
    if hasattr(os, "getloadavg") and (load := os.getloadavg()[0]) > 0.3 * machines.usable_cores():
        progress(
            f"other programs are busy here (load {load:.1f}): end them first, or the limits come out too low"
        )
    gpu = _gpu()
    found: dict[str, dict[str, Any]] = {}
    began = clock_of_host.monotonic()
    of_cpu = ((f"{name}, CPU", limit) for name, limit in _of_cpu() if f"{name}, CPU" in KNOWN)
    for name, limit in itertools.chain(_of_gpu(gpu), of_cpu) if gpu is not None else _of_cpu():
        found[name] = limit
        now = clock_of_host.monotonic()
        progress(f"{name}: {units.shown(limit['value'], limit['unit'])} ({now - began:.1f} s)")
        began = now
    return {name: found[name] for name in KNOWN if name in found}


def _limit(unit: str, samples: Iterable[float], how: str, **more: Any) -> dict[str, Any]:
    samples = list(samples)
    return {"value": statistics.median(samples), "unit": unit, "samples": samples, "how": how, **more}


def _rates(amount: float, work: Callable[[], Any], clock: Any = None) -> list[float]:
    """Return bytes or operations a second, for each sample of `h2d.time`."""
    from host_to_device.measuring.timing import time

    return [amount / sample for sample in time(work, seconds=SECONDS, clock=clock).samples]


# --- The CPU ---------------------------------------------------------------------------------------------------


def _of_cpu() -> Iterable[tuple[str, dict[str, Any]]]:
    cores = machines.usable_cores()
    how = (
        f"np.copyto between two float64 arrays of {units.amount(_copied())} each, bytes read and written counted, "
        "in {} thread{}"
    )
    with ThreadPoolExecutor(cores) as threads:
        copies = {1: _copying(threads, 1)}
        yield "copy bandwidth, one core", _limit("B/s", copies[1], how.format(1, ""))
        copies |= {many: _copying(threads, many) for many in _steps(cores)[1:]}
        yield "copy bandwidth", _limit("B/s", copies[cores], how.format(cores, "s" * (cores != 1)))
        computed = {many: _computing(threads, many) for many in _steps(cores)}
    how = "{}: the rate of as many threads as there are cores, divided by that of one"
    yield "cores scaling", _scaling(computed, how.format("np.sin of float64 within each core's own cache"))
    yield "cores scaling, copy", _scaling(copies, how.format("the copies of the copy bandwidth"))
    for dtype in ("float64", "float32"):
        yield f"matmul {dtype}", _matmul_on_cpu(dtype)


def _steps(cores: int) -> list[int]:
    """Return numbers of threads to try: powers of two, and all cores."""
    return sorted({1 << power for power in range(cores.bit_length()) if 1 << power <= cores} | {cores})


def _copied() -> int:
    """Return the bytes of each array of a copy: out of reach for the cache, and a sixteenth of memory at most."""
    wanted = max(64 * 2**20, CACHE_TIMES * (cache_size("CPU") or 0))
    return min(wanted, max(2**20, (machines.memory() or 2**40) // 16))


def _copying(threads: ThreadPoolExecutor, many: int) -> list[float]:
    """Return bytes a second, read and written, of a copy that is split among so many threads."""
    count = _copied() // 8
    source, target = np.random.default_rng(1).random(count), np.ones(count)
    parts = list(zip(np.array_split(target, many), np.array_split(source, many), strict=True))

    def copy() -> None:
        list(threads.map(lambda part: np.copyto(*part), parts))  # NumPy lets other threads run meanwhile

    return _rates(2 * source.nbytes, copy)


def _computing(threads: ThreadPoolExecutor, many: int) -> list[float]:
    """Return elements a second of np.sin in so many threads, each on 128 KiB of its own."""
    rounds, inputs = 50, [np.random.default_rng(each).random(8192) for each in range(many)]
    outputs = [np.empty_like(each) for each in inputs]

    def compute(mine: int) -> None:
        for _ in range(rounds):
            np.sin(inputs[mine], out=outputs[mine])

    return _rates(rounds * sum(each.size for each in inputs), lambda: list(threads.map(compute, range(many))))


def _scaling(rates: dict[int, list[float]], how: str) -> dict[str, Any]:
    one = statistics.median(rates[1])
    points = [{"x": many, "values": [rate / one for rate in samples]} for many, samples in rates.items()]
    return _limit("×", points[-1]["values"], how, points=points)


def _matmul_on_cpu(dtype: str, size: int = 2048) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((size, size)).astype(dtype) for _ in range(2))
    c = np.empty_like(a)
    rates = _rates(2 * size**3, lambda: np.matmul(a, b, out=c))
    return _limit(
        "FLOP/s", rates, f"np.matmul of {size} × {size} matrices of {dtype}, 2n³ operations, on all cores"
    )


# --- The GPU ---------------------------------------------------------------------------------------------------
# Not run where it was written: there was no GPU. What its pieces do without one is tested.


def _gpu() -> Any:
    """Return the library that drives the GPU, None where there is none or it is not to be used."""
    if os.environ.get("H2D_MACHINE") == "stand-in" or "host_to_device.standins.cupy" in sys.modules:
        return None
    if machine.is_installed("torch"):
        import torch

        if torch.cuda.is_available():
            return OfTorch()
    if machine.is_installed("cupy"):
        import cupy

        if cupy.cuda.is_available():
            return OfCupy()
    return None


class OfTorch:
    """What the limits of a GPU are measured with, in PyTorch; another device and no pinned memory are for tests."""

    name = "PyTorch"
    dtypes = ("float64", "float32", "tf32", "float16", "bfloat16")

    def __init__(self, device: str = "cuda", can_pin: bool = True) -> None:
        import torch

        self.torch, self.device, self.can_pin = torch, device, can_pin
        self.one = torch.ones(1, device=device)

    def wait(self) -> None:
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def memory(self) -> int:
        return self.torch.cuda.get_device_properties(0).total_memory if self.device == "cuda" else 2**30

    def has(self, dtype: str) -> bool:
        """Return whether the GPU has units for a type: tf32 and bfloat16 came with compute capability 8.0."""
        new = dtype in ("tf32", "bfloat16")
        return not new or (self.device == "cuda" and self.torch.cuda.get_device_capability()[0] >= 8)

    def on_device(self, shape: tuple[int, ...], dtype: str = "float32") -> Any:
        kind = getattr(self.torch, "float32" if dtype == "tf32" else dtype)
        return self.torch.randn(shape, device=self.device, dtype=self.torch.float32).to(kind)

    def on_host(self, nbytes: int, pinned: bool) -> Any:
        return self.torch.ones(nbytes // 4, pin_memory=pinned and self.can_pin)

    def copy(self, target: Any, source: Any) -> None:
        target.copy_(source, non_blocking=True)

    def launch(self) -> None:
        self.one.add_(1)

    launched = "an addition to one element by PyTorch"

    def matmul(self, a: Any, b: Any, c: Any) -> None:
        self.torch.mm(a, b, out=c)

    def precision(self, dtype: str) -> None:
        self.torch.set_float32_matmul_precision("high" if dtype == "tf32" else "highest")

    def give_back(self) -> None:
        if self.device == "cuda":
            self.torch.cuda.empty_cache()


class OfCupy:
    """The same in CuPy."""

    name = "CuPy"
    dtypes = ("float64", "float32", "float16")

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy
        self.empty = cupy.RawKernel('extern "C" __global__ void empty() {}', "empty")

    def wait(self) -> None:
        self.cupy.cuda.Device().synchronize()

    def memory(self) -> int:
        return self.cupy.cuda.runtime.memGetInfo()[1]

    def has(self, dtype: str) -> bool:
        return True

    def on_device(self, shape: tuple[int, ...], dtype: str = "float32") -> Any:
        return self.cupy.random.standard_normal(shape, dtype="float32").astype(dtype)

    def on_host(self, nbytes: int, pinned: bool) -> Any:
        if not pinned:
            return np.ones(nbytes // 4, dtype=np.float32)
        return np.frombuffer(self.cupy.cuda.alloc_pinned_memory(nbytes), np.float32, nbytes // 4)

    def copy(self, target: Any, source: Any) -> None:
        if isinstance(target, np.ndarray):
            source.get(out=target)
        elif isinstance(source, np.ndarray):
            target.set(source)
        else:
            self.cupy.copyto(target, source)

    def launch(self) -> None:
        self.empty((1,), (1,), ())

    launched = "an empty RawKernel by CuPy"

    def matmul(self, a: Any, b: Any, c: Any) -> None:
        self.cupy.matmul(a, b, out=c)

    def precision(self, dtype: str) -> None:
        pass

    def give_back(self) -> None:
        self.cupy.get_default_memory_pool().free_all_blocks()


def _of_gpu(
    gpu: Any, events: Any = None, largest: int = 2**30, size: int = 8192
) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield the limits of a GPU; clock and sizes can be others in tests."""
    from host_to_device.measuring.clocks import DeviceEvents, HostClock

    events = events or DeviceEvents()
    # First, before h2d.time asks CUPTI what a call does: that may stay, and cost a launch something.
    yield from _latencies(gpu, HostClock(None))

    nbytes = min(largest, gpu.memory() // 8)
    yield "copy bandwidth", _copy_on_gpu(gpu, nbytes, events)
    nbytes = min(largest // 4, nbytes)
    for name in ("host to device", "device to host"):
        for kind in ("pinned", "pageable"):
            yield f"{name}, {kind}", _transfer(gpu, nbytes, name, kind, HostClock(gpu.wait))
    for dtype in gpu.dtypes:
        if gpu.has(dtype):
            gpu.give_back()
            yield (
                f"matmul {dtype}",
                _matmul_on_gpu(gpu, dtype, size // 2 if dtype == "float64" else size, events),
            )
    gpu.give_back()


def _copy_on_gpu(gpu: Any, nbytes: int, events: Any) -> dict[str, Any]:
    source, target = (gpu.on_device((nbytes // 4,)) for _ in range(2))
    rates = _rates(2 * nbytes, lambda: gpu.copy(target, source), events)
    how = f"a copy of {units.amount(nbytes)} on the device by {gpu.name}, bytes read and written counted, device events"
    return _limit("B/s", rates, how)


def _transfer(gpu: Any, nbytes: int, direction: str, kind: str, clock: Any) -> dict[str, Any]:
    host, device = gpu.on_host(nbytes, kind == "pinned"), gpu.on_device((nbytes // 4,))
    target, source = (device, host) if direction == "host to device" else (host, device)
    rates = _rates(nbytes, lambda: gpu.copy(target, source), clock)
    how = (
        f"a copy of {units.amount(nbytes)} by {gpu.name}, {kind} memory of the host, host clock after a wait"
    )
    return _limit("B/s", rates, how)


def _latencies(gpu: Any, clock: Any) -> Iterable[tuple[str, dict[str, Any]]]:
    def launches() -> None:
        for _ in range(LAUNCHES):
            gpu.launch()

    def launch_and_wait() -> None:
        gpu.launch()
        gpu.wait()

    launches()
    gpu.wait()
    many, waits = [], []
    for _ in range(20):
        many.append(clock.measure(launches) / LAUNCHES)
        gpu.wait()
    yield (
        "launch latency",
        _limit(
            "s",
            many,
            f"host clock for {LAUNCHES} launches in a row of {gpu.launched}, without a wait, for each of them",
        ),
    )
    for _ in range(100):
        waits.append(max(0.0, clock.measure(launch_and_wait) - statistics.median(many)))
    yield (
        "wait latency",
        _limit(
            "s", waits, f"host clock for {gpu.launched} and a wait for the device, less the launch latency"
        ),
    )


def _matmul_on_gpu(gpu: Any, dtype: str, size: int, events: Any) -> dict[str, Any]:
    a, b, c = (gpu.on_device((size, size), dtype) for _ in range(3))
    gpu.precision(dtype)
    try:
        rates = _rates(2 * size**3, lambda: gpu.matmul(a, b, c), events)
    finally:
        gpu.precision("float32")
    how = f"a product of {size} × {size} matrices of {dtype} by {gpu.name}, 2n³ operations, device events"
    return _limit("FLOP/s", rates, how)


def main() -> None:
    """Measure in a process of its own, which gives all memory back: lines to stderr, the limits to stdout as JSON."""
    if _gpu() is not None:
        machine.chosen = "gpu"  # h2d.time counts on it, and reads its events
    limits = measure_limits(lambda line: print(line, file=sys.stderr, flush=True))
    json.dump(limits, sys.stdout, allow_nan=False)
