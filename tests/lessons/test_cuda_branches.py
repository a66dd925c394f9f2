"""The lessons' lines that run only where PyTorch has CUDA, run on PyTorch's stand-in device, streams being played.

FakeTensor does not do here: without CUDA, PyTorch refuses also a fake copy to "cuda".
"""

from functools import partial
from pathlib import Path

import pytest

import host_to_device as h2d
from authoring import notebooks

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def device():
    return h2d.device()


def run(lesson, cell, **names):
    """Run the cell of a notebook as on a GPU, with these names, and return all names that it leaves."""
    cells = notebooks.read(ROOT / "notebooks" / f"{lesson}.ipynb").cells
    [source] = [each.source for each in cells if each.id == cell]
    exec(source.replace('device.type == "cuda"', "True"), names)
    return names


def test_ways_on_gpu(device):
    made = run("01-architecture", "ways-gpu", device=device, partial=partial)
    ways = made["ways_on_gpu"](torch.add, torch.ones(8), torch.ones(8))
    results = {name: way() for name, (_, way) in ways.items()}
    assert results["GPU resident"].device.type == device.type != "cpu"
    assert results["GPU with copies"].device.type == "cpu"
    assert all((result.cpu() == 2).all() for result in results.values())


def test_copies_over_the_bus(device):
    over_bus = run("09-copy-cost", "copy-bus", torch=torch, device=device)["over_bus"]
    for back in (False, True):
        assert over_bus(2**12, back=back, pinned=False)().device.type == ("cpu" if back else device.type)


def test_two_queues(device, monkeypatch):
    entered, waited = [], []

    class Queue:
        def __enter__(self):
            entered.append(self)

        def __exit__(self, *_):
            pass

    played = {"Stream": Queue, "stream": lambda queue: queue, "synchronize": lambda: waited.append(1)}
    for name, value in played.items():
        monkeypatch.setattr(torch.cuda, name, value)
    made = run("09-copy-cost", "clock-device", torch=torch, device=device)
    made["big"] = torch.ones(8, 8, device=device)
    assert made["ask"]().device.type == device.type
    made["wait"]()
    made = run("09-copy-cost", "together-gpu", **made)
    made["run"](made["queues"])
    assert entered == made["queues"] and len(waited) == 2
