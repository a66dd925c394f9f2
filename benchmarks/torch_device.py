"""How fast PyTorch's stand-in device is: against plain PyTorch on the CPU, and what each step of its making gains."""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.simt import aligned, machine, spread
from host_to_device.standins import torch_device
from host_to_device.standins.torch_device import building
from host_to_device.support.installed import is_installed

BYTES = 64_000_000
GOALS = {"step": 5.0, "copy": 2.0}  # times as slow as the CPU
MODELS = {  # widths of the layers, and rows in a batch
    "MLP 64-128-10, batch 32": ((64, 128, 10), 32),
    "MLP 784-512-256-10, batch 128": ((784, 512, 256, 10), 128),
}
OPTIMIZERS = ("SGD", "Adam")
# Each without what comes after it.
STEPS = (
    (
        "PyTorch's own fall-back, which copies",
        ("-DH2D_PLAIN_FALLBACK", "-DH2D_COMPOSED", "-DH2D_ALL_THREADS"),
    ),
    ("kernels on the same bytes", ("-DH2D_COMPOSED", "-DH2D_ALL_THREADS")),
    ("and one kernel where CUDA has one", ("-DH2D_ALL_THREADS",)),
    ("and small kernels in one thread", ()),
)


def training(device: Any, widths: tuple[int, ...], batch: int, optimizer: str) -> Callable[[], Any]:
    """Return one training step of a multi-layer perceptron."""
    import torch

    torch.manual_seed(0)
    layers = [torch.nn.Linear(before, after) for before, after in itertools.pairwise(widths)]
    model = torch.nn.Sequential(*(each for layer in layers for each in (layer, torch.nn.ReLU())))[:-1]
    x, target = torch.randn(batch, widths[0]).to(device), torch.randint(widths[-1], (batch,)).to(device)
    rule = getattr(torch.optim, optimizer)(model.to(device).parameters(), lr=1e-3)

    def step() -> Any:
        rule.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), target)
        loss.backward()
        rule.step()
        return loss

    return step


def timed(*functions: Callable[[], Any], runs: int) -> list[list[float]]:
    """Return the seconds of each call, the functions in turn, so that a busy machine is as busy for all."""
    seconds: list[list[float]] = [[] for _ in functions]
    for run in range(runs + 5):
        for function, into in zip(functions, seconds, strict=True):
            began = time.perf_counter()
            function()
            if run >= 5:
                into.append(time.perf_counter() - began)
    return seconds


def row(label: str, cpu: list[float], device: list[float], goal: float) -> tuple[str, ...]:
    slower = statistics.median(device) / statistics.median(cpu)
    return (label, spread(cpu), spread(device), f"{slower:.2f}×", f"≤ {goal:g}×")


HEAD = ("", "CPU", "stand-in", "slower", "goal")


def steps_of(device: str, runs: int, *extra: str) -> dict[str, tuple[list[float], float]]:
    """Return seconds and first loss of training steps, by model, measured in a process of their own.

    In one process, the CPU's threads and those of the device's backward passes would get in each other's way.
    """
    command = [sys.executable, "-m", __name__, device, str(10 * runs), *extra]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["a measurement stopped"])[-1])
    return json.loads(done.stdout.splitlines()[-1])


def training_table(runs: int) -> Iterator[str]:
    yield "One training step: forward, backward, optimizer"
    lines = [HEAD]
    cpu, device = steps_of("cpu", runs), steps_of(torch_device.NAME, runs)
    for label, (seconds, loss) in cpu.items():
        if abs(loss - device[label][1]) > 1e-5 * abs(loss):
            raise RuntimeError(f"{label}: the stand-in's loss is wrong")
        lines.append(row(label, seconds, device[label][0], GOALS["step"]))
    yield from aligned(lines)


def copy_table(runs: int) -> Iterator[str]:
    import torch

    x = torch.ones(BYTES // 4)
    y, d_x, d_y = torch.empty_like(x), x.to(torch_device.NAME), x.to(torch_device.NAME)
    other = x.to(f"{torch_device.NAME}:1")
    into = {
        "host to device": lambda: d_x.copy_(x),
        "device to host": lambda: y.copy_(d_x),
        "within a device": lambda: d_y.copy_(d_x),
        "device to device": lambda: other.copy_(d_x),
    }
    new = {"x.to(device), new memory": lambda: x.to(torch_device.NAME), "x.cpu(), new memory": d_x.cpu}
    yield f"Copies of {BYTES / 1e6:g} MB; the CPU's is y.copy_(x), or x.clone() where memory is new"
    lines = [HEAD]
    for plain, copies in ((lambda: y.copy_(x), into), (x.clone, new)):
        for label, copy in copies.items():
            lines.append(row(label, *timed(plain, copy, runs=runs), GOALS["copy"]))
    yield from aligned(lines)


def steps_table(runs: int) -> Iterator[str]:
    yield "What each step gains: one training step with SGD"
    lines = [("", *MODELS)]
    for label, extra in STEPS:
        found = steps_of(torch_device.NAME, runs, *extra)
        lines.append((label, *(spread(found[f"{model}, SGD"][0]) for model in MODELS)))
    yield from aligned(lines)


TABLES = [training_table, copy_table, steps_table]


def report(quick: bool = False) -> Iterator[str]:
    """Yield the lines of the report, each table as soon as it is measured.

    Raises
    ------
    RuntimeError
        If there is no PyTorch or no compiler, or if a result is wrong: then its time means nothing.
    """
    runs = 5 if quick else 30
    if not is_installed("torch"):
        raise RuntimeError("there is no PyTorch here: pip install torch")
    torch_device.load()
    import torch

    yield machine()
    yield f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads"
    yield f"Median of {runs} runs, {10 * runs} of steps; ± is half the distance between the quartiles"
    for table in TABLES:
        yield ""
        yield from table(runs)


def main(arguments: list[str]) -> None:
    """Print seconds and first loss of training steps as JSON; more arguments are options to build the device with."""
    device, runs, *extra = arguments
    building.OPTIONS = (*building.OPTIONS, *extra)
    if device == torch_device.NAME:
        torch_device.load()
    found = {}
    for label, model in MODELS.items():
        for optimizer in OPTIMIZERS:
            step = training(device, *model, optimizer)
            loss = step().item()
            found[f"{label}, {optimizer}"] = (timed(step, runs=int(runs))[0], loss)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])
