"""What `h2d.count()` costs: the same loops with and without it, in turn, on the stand-ins."""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.simt import aligned, machine, spread
from host_to_device import counting
from host_to_device.standins import events, imports
from host_to_device.support.installed import SetUpError

GOAL = 0.20  # of the time without counting
NO_DEVICE = "PyTorch training: not measured, there is no stand-in device inside PyTorch here"


@dataclass(frozen=True)
class Loop:
    """A loop of a learner's: what it does, and how often it goes round in one run."""

    name: str
    make: Callable[[], Callable[[], None]]  # returns one round, ready to run
    rounds: int


def launches() -> Callable[[], None]:
    """Return a launch of 10,000 threads with its result copied back."""
    from benchmarks.kernels import vector_add

    problem = vector_add(10_000)
    out = problem.arguments[-1]

    def one() -> None:
        problem.launch()
        out.copy_to_host()

    return one


def host_arrays() -> Callable[[], None]:
    """Return a launch that is given NumPy arrays: three copies there, three back."""
    import warnings

    from benchmarks.kernels import THREADS, add, blocks

    warnings.filterwarnings("ignore", message="Host array used in CUDA kernel")
    a, out = np.ones(10_000, np.float32), np.zeros(10_000, np.float32)
    return lambda: add[blocks(a.size, THREADS), THREADS](a, a, out)


def array_code(size: int) -> Callable[[], Callable[[], None]]:
    """Return a loop over CuPy arrays: five operations, and the result looked at."""

    def make() -> Callable[[], None]:
        import cupy as cp

        x, y = cp.linspace(0, 1, size), cp.ones(size)

        def one() -> None:
            z = 2 * x + y
            z -= z.mean()
            float(cp.sqrt(z * z).sum())

        return one

    return make


def training() -> Callable[[], None]:
    """Return a training step of an MLP on the device inside PyTorch, its loss looked at."""
    import torch

    from host_to_device.standins import torch_device

    torch_device.load()
    device = torch.device("standin")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).to(
        device
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(256, 64), torch.randint(0, 10, (256,))

    def one() -> None:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        loss.item()

    return one


LOOPS = [
    Loop("Numba: launch, copy back", launches, 50),
    Loop("Numba: launch with host arrays", host_arrays, 50),
    Loop("CuPy: array code, 100 elements", array_code(100), 100),
    Loop("CuPy: array code, 10,000 elements", array_code(10_000), 100),
    Loop("CuPy: array code, 1,000,000 elements", array_code(1_000_000), 5),
]
OF_TORCH = Loop("PyTorch: training step of an MLP", training, 20)


def timed(one: Callable[[], None], rounds: int) -> float:
    began = time.perf_counter()
    for _ in range(rounds):
        one()
    return (time.perf_counter() - began) / rounds


def measure(loop: Loop, runs: int) -> tuple[list[float], list[float]]:
    """Return the seconds of one round, without counting and with it, run in turn; two runs of each to warm up."""
    one = loop.make()
    plain, counted = [], []
    for _ in range(runs + 2):
        plain.append(timed(one, loop.rounds))
        with counting.count():
            counted.append(timed(one, loop.rounds))
    return plain[2:], counted[2:]


def loops_table(runs: int) -> Iterator[str]:
    yield f"One round without counting and with it, and what counting adds (at most {GOAL:.0%} is the goal)"
    loops = [*LOOPS, OF_TORCH] if has_torch_device() else LOOPS
    lines = [("", "without", "with", "more")]
    for loop in loops:
        plain, counted = measure(loop, runs)
        # The runs come in pairs, so that what else the machine does falls on both.
        more = statistics.median(b / a for a, b in zip(plain, counted, strict=True)) - 1
        lines.append((loop.name, spread(plain), spread(counted), f"{more:+.1%}"))
    yield from aligned(lines)
    if OF_TORCH not in loops:
        yield NO_DEVICE


def has_torch_device() -> bool:
    """Tell whether there is a device inside PyTorch to be measured; it needs a C++ compiler."""
    if importlib.util.find_spec("torch") is None:
        return False
    try:
        from host_to_device.standins.torch_device import load

        load()
    except (ImportError, SetUpError):
        return False
    return True


def silence_table(runs: int) -> Iterator[str]:
    yield "One report while nobody listens"
    seconds = [timed(lambda: events.operated("add"), 100_000) for _ in range(runs)]
    yield from aligned(
        [("events.operated, and the loop around it", f"{statistics.median(seconds) * 1e9:.0f} ns")]
    )


def report(quick: bool = False) -> Iterator[str]:
    """Yield the lines of the report, each table as soon as it is measured."""
    runs = 5 if quick else 30
    imports.redirect()
    yield machine()
    yield f"Median of {runs} runs; ± is half the distance between the quartiles"
    for table in (loops_table, silence_table):
        yield ""
        yield from table(runs)
