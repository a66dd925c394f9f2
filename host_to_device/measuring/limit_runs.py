"""Measure this machine's limits: bandwidths, latencies and the rates of matrix products.

Every record begins with them. Each limit is measured with `h2d.time` or one of its clocks, by a simple program, and
the record says in a sentence how. The part for a GPU uses PyTorch, or CuPy where PyTorch is not installed.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import sys
import time as clock_of_host
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from host_to_device.measuring import machines
from host_to_device.measuring.clocks import DeviceEvents, HostClock
from host_to_device.measuring.exceeded import exceeded
from host_to_device.measuring.known_limits import KNOWN, cache_size
from host_to_device.measuring.timing import time
from host_to_device.rendering import units
from host_to_device.starting import machine
from host_to_device.support.installed import is_installed

SECONDS = 2.0  # of measuring, for each limit
ROUNDS = 5, 50  # at least and at most, where rates are taken in turns
LAUNCHES = 200  # in a row: a GPU queues far more of them before it makes the host wait
CACHE_TIMES = 4  # an array of this many times the cache does not fit into it


def measure_limits(progress: Callable[[str], Any] = print) -> dict[str, dict[str, Any]]:
    """Measure this machine's limits and return them as a record has them: value (the median), unit, samples, how.

    Parameters
    ----------
    progress
        Called with one line for each limit.
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
    for each in exceeded(found, cores=machines.usable_cores(), kind="cpu" if gpu is None else "gpu").values():
        progress(f"{each.limit}: doubtful: {each.text}. Let the machine rest, and measure again")
    return {name: found[name] for name in KNOWN if name in found}


def _limit(unit: str, samples: Iterable[float], how: str, **more: Any) -> dict[str, Any]:
    samples = list(samples)
    return {"value": statistics.median(samples), "unit": unit, "samples": samples, "how": how, **more}


def _rates(amount: float, work: Callable[[], Any], clock: Any = None) -> list[float]:
    """Return bytes or operations per second, for each sample of `h2d.time`."""
    return [amount / sample for sample in time(work, seconds=SECONDS, clock=clock).samples]


# --- The CPU ---------------------------------------------------------------------------------------------------


def _of_cpu() -> Iterable[tuple[str, dict[str, Any]]]:
    cores = machines.usable_cores()
    how = (
        f"np.copyto between two float64 arrays of {units.amount(_copied())} each, bytes read and written counted, "
        "in {} thread{}"
    )
    with ThreadPoolExecutor(cores) as threads:
        copies = _in_turns(_copies(threads, _steps(cores)))
        yield "copy bandwidth, one core", _limit("B/s", copies[1], how.format(1, ""))
        yield "copy bandwidth", _limit("B/s", copies[cores], how.format(cores, "s" * (cores != 1)))
        computed = _in_turns(_computations(threads, _steps(cores)))
    how = "{}: the rate of as many threads as there are cores, divided by that of one in the same round"
    yield "cores scaling", _scaling(computed, how.format("np.sin of float64 within each core's own cache"))
    yield "cores scaling, copy", _scaling(copies, how.format("the copies of the copy bandwidth"))
    for dtype in ("float64", "float32"):
        yield f"matmul {dtype}", _matmul_on_cpu(dtype)


def _steps(cores: int) -> list[int]:
    """Return the numbers of threads to try: powers of two, and all cores."""
    return sorted({1 << power for power in range(cores.bit_length()) if 1 << power <= cores} | {cores})


def _copied() -> int:
    """Return the bytes of each array of a copy: more than the cache holds, and a sixteenth of memory at most."""
    wanted = max(64 * 2**20, CACHE_TIMES * (cache_size("CPU") or 0))
    return min(wanted, max(2**20, (machines.memory() or 2**40) // 16))


def _in_turns(works: dict[int, tuple[float, Callable[[], Any]]], clock: Any = None) -> dict[int, list[float]]:
    """Return the rates of several works, by the same keys, a sample of each in every round.

    A machine that changes its clock rate, or that other programs share, is fast in one second and slow in the next. Rates
    that are to be divided by each other are therefore taken in turns, and forwards and backwards in turns.

    Parameters
    ----------
    works
        For each key the amount of work, in bytes or operations, and the function that does it.
    clock
        The host's clock; tests give another.
    """
    clock = clock or HostClock(None)
    for _, work in works.values():
        work()  # the first touches memory that the system has not given out yet
    rates: dict[int, list[float]] = {key: [] for key in works}
    until = clock_of_host.monotonic() + SECONDS * len(works)
    for at in range(ROUNDS[1]):
        for key in reversed(works) if at % 2 else works:
            amount, work = works[key]
            rates[key].append(amount / clock.measure(work))
        if at + 1 >= ROUNDS[0] and clock_of_host.monotonic() > until:
            break
    return rates


def _copies(threads: ThreadPoolExecutor, steps: Iterable[int]) -> dict[int, tuple[float, Callable[[], Any]]]:
    """Return the bytes, read and written, and the work of a copy that is split among each number of threads."""
    count = _copied() // 8
    source, target = np.random.default_rng(1).random(count), np.ones(count)

    def copy(many: int) -> Callable[[], Any]:
        parts = list(zip(np.array_split(target, many), np.array_split(source, many), strict=True))
        return lambda: list(
            threads.map(lambda part: np.copyto(*part), parts)
        )  # NumPy releases the GIL meanwhile

    return {many: (2 * source.nbytes, copy(many)) for many in steps}


def _computations(
    threads: ThreadPoolExecutor, steps: Iterable[int]
) -> dict[int, tuple[float, Callable[[], Any]]]:
    """Return the elements and the work of np.sin in each number of threads, every one on 128 KiB of its own."""
    rounds, size = 200, 8192

    def compute(many: int) -> Callable[[], Any]:
        inputs = [np.random.default_rng(each).random(size) for each in range(many)]
        outputs = [np.empty_like(each) for each in inputs]

        def one(mine: int) -> None:
            for _ in range(rounds):
                np.sin(inputs[mine], out=outputs[mine])

        return lambda: list(threads.map(one, range(many)))

    return {many: (rounds * size * many, compute(many)) for many in steps}


def _scaling(rates: dict[int, list[float]], how: str) -> dict[str, Any]:
    """Return the limit for rates by number of threads, each divided by one thread's of the same round."""
    times = {
        many: [rate / one for rate, one in zip(samples, rates[1], strict=True)]
        for many, samples in rates.items()
    }
    points = [{"x": many, "values": values} for many, values in times.items()]
    return _limit("×", times[max(times)], how, points=points)


def _matmul_on_cpu(dtype: str, size: int = 2048) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    a, b = (rng.standard_normal((size, size)).astype(dtype) for _ in range(2))
    c = np.empty_like(a)
    rates = _rates(2 * size**3, lambda: np.matmul(a, b, out=c))
    return _limit(
        "FLOP/s", rates, f"np.matmul of {size} × {size} matrices of {dtype}, 2n³ operations, on all cores"
    )


# --- The GPU ---------------------------------------------------------------------------------------------------
# The tests run its pieces with PyTorch on the CPU.


def _gpu() -> Any:
    """Return the library that drives the GPU, or None where there is no GPU or `H2D_MACHINE` rules it out."""
    if os.environ.get("H2D_MACHINE") == "stand-in" or "host_to_device.standins.cupy" in sys.modules:
        return None
    if is_installed("torch"):
        import torch

        if torch.cuda.is_available():
            return OfTorch()
    if is_installed("cupy"):
        import cupy

        if cupy.cuda.is_available():
            return OfCupy()
    return None


class OfTorch:
    """Copies, launches and matrix products of a GPU by PyTorch.

    Parameters
    ----------
    device
        PyTorch's name of the device; tests name another.
    can_pin
        Whether host memory can be pinned.
    """

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
        """Return whether the GPU has units for a type: tf32 and bfloat16 need compute capability 8.0."""
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
    """Copies, launches and matrix products of a GPU by CuPy."""

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
    """Yield the limits of a GPU; tests give another clock and smaller sizes."""
    events = events or DeviceEvents()
    # First, because h2d.time asks CUPTI what a call does, and CUPTI may slow down every later launch.
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
    """Measure, as a process of its own that frees all memory at its end: lines to stderr, the limits to stdout as JSON."""
    if _gpu() is not None:
        machine.chosen = "gpu"  # so that h2d.time counts on the GPU and reads its events
    limits = measure_limits(lambda line: print(line, file=sys.stderr, flush=True))
    json.dump(limits, sys.stdout, allow_nan=False)
