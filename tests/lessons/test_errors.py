"""Lesson 10: what the functions of its notebook compute, on inputs of which the answer is known.

What the notebook stores is held against a fresh run by nbval, so an output that changes fails there first.
"""

import gc
import math
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

import host_to_device as h2d
from authoring import notebooks

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]
CELLS = {cell.id: cell for cell in notebooks.read(ROOT / "notebooks" / "10-errors.ipynb").cells}
MESSAGES = "oom-words", "oom-read", "oom-old", "oom-verdict"
TRAINING = "oom-data", "oom-model", "oom-bytes", "oom-step"


@pytest.fixture(autouse=True)
def on_stand_in(monkeypatch):
    monkeypatch.setenv("H2D_MACHINE", "stand-in")
    h2d.start()
    yield
    h2d.stop()


def run(*ids, **names):
    """Run cells of the notebook with these names and a small network, and return all names that they leave."""
    made = {"h2d": h2d, **names}
    for each in ids:
        source = CELLS[each].source
        if each == "oom-data":
            assert "1024, 128, 12" in source
            source = source.replace("1024, 128, 12", "64, 32, 3")
        exec(compile(source, each, "exec"), made)
    return SimpleNamespace(**made)


@cache
def messages():
    return run(*MESSAGES, re=__import__("re"), math=math, MIB=2**20)


def device_cells():
    try:
        return run("imports", "device", "limit", "floats")
    except h2d.SetUpError as problem:
        pytest.skip(str(problem))


def training(*ids):
    return run(*TRAINING, *ids, **vars(device_cells()))


# --- Messages --------------------------------------------------------------------------------------------------


def test_each_wording_is_read_whole():
    lesson, gib, mib = messages(), 2**30, 2**20
    read = {year: lesson.read(text) for year, text in lesson.OLD.items()}
    assert read["2018"] == {
        "tried": 16 * gib,
        "capacity": 11.93 * gib,
        "free": 7.33 * gib,
        "allocated": 4 * gib,
        "unallocated": 179 * 2**10,
    }
    assert read["2020"]["unallocated"] == pytest.approx((530.00 - 505.96) * mib)
    assert read["2020"]["free"] == 12.50 * mib
    # This process's memory and the other process's are no number that the parser reads.
    assert read["2023"] == {
        "tried": 138 * mib,
        "capacity": 15.90 * gib,
        "free": 8.44 * mib,
        "allocated": 14.12 * gib,
        "unallocated": 410.41 * mib,
    }


def test_the_message_of_this_machine_is_read_whole():
    gc.collect()  # what tests before this one have left on the device
    lesson = device_cells()
    if lesson.on_cpu:
        pytest.skip("PyTorch's stand-in device needs a C++ compiler")
    made = run("oom-message", **vars(lesson))
    made.limit_to()
    found = messages().read(made.message)
    mib = 2**20
    assert {name: found[name] for name in ("tried", "allocated", "unallocated", "allowed")} == {
        "tried": 60 * mib,
        "allocated": 60 * mib,
        "unallocated": 0,
        "allowed": 100 * mib,
    }
    assert 0 < found["free"] < found["capacity"]


@pytest.mark.parametrize(
    "numbers, verdict",
    [
        ({}, "no numbers"),
        ({"tried": 11, "capacity": 10, "free": 10, "allocated": 0, "unallocated": 0}, "larger than the GPU"),
        ({"tried": 3, "capacity": 10, "free": 1, "allocated": 6, "unallocated": 3}, "fragments"),
        ({"tried": 1, "capacity": 20, "free": 0, "allocated": 19, "unallocated": 1}, "fragments and tensors"),
        ({"tried": 3, "capacity": 10, "free": 2, "allocated": 6, "unallocated": 2}, "tensors"),
        ({"tried": 3, "capacity": 10, "free": 1, "allocated": 3, "unallocated": 1}, "other processes"),
        # Enough is free, so that the others' memory is not the cause.
        ({"tried": 3, "capacity": 10, "free": 3, "allocated": 2, "unallocated": 1}, "tensors"),
        (
            {"tried": 4, "capacity": 10, "free": 5, "allocated": 4, "unallocated": 1, "allowed": 7},
            "the limit",
        ),
        ({"tried": 3, "capacity": 10, "free": 5, "allocated": 4, "unallocated": 0, "allowed": 7}, "tensors"),
        # Within the limit, only the blocks are too small.
        (
            {"tried": 3, "capacity": 10, "free": 3, "allocated": 3, "unallocated": 4, "allowed": 7},
            "fragments",
        ),
    ],
)
def test_the_verdict_follows_from_the_numbers(numbers, verdict):
    assert messages().verdict(numbers) == verdict


# --- Bytes -----------------------------------------------------------------------------------------------------


def test_bytes_are_those_beyond_what_there_was():
    lesson = training()
    if lesson.on_cpu:
        pytest.skip("PyTorch's stand-in device needs a C++ compiler")
    mib = 2**20

    def two_then_one():
        gone = lesson.floats(2)
        del gone
        both = lesson.floats(4), lesson.floats(8)
        return both[0]

    older = lesson.floats(16)
    assert lesson.bytes_of(two_then_one) == (12 * mib, 4 * mib)
    assert lesson.bytes_of(lambda: None) == (0, 0) and older.numel() == 4 * mib


def test_the_limit_counts_from_what_is_held_and_ends():
    lesson = device_cells()
    if lesson.on_cpu:
        pytest.skip("PyTorch's stand-in device needs a C++ compiler")
    held = lesson.floats(30)
    lesson.limit_to(40)
    try:
        with pytest.raises(torch.OutOfMemoryError):
            lesson.floats(42)
        assert lesson.floats(38).numel() and held.numel()
    finally:
        lesson.limit_to()
    assert lesson.floats(42).numel()


def test_two_halves_of_any_batch_that_splits_evenly_give_its_gradients():
    lesson = training("oom-cures-steps", "oom-segments", "oom-gradients")
    whole = lesson.gradients(lesson.step)
    for cure in lesson.halves, lesson.in_segments:
        for a, b in zip(whole, lesson.gradients(cure), strict=True):
            assert torch.allclose(a, b, rtol=1e-3, atol=1e-7), cure.__name__
    half = lesson.gradients(lambda model, sgd: lesson.step(model, sgd, lesson.x[::2]))
    assert not all(torch.allclose(a, b, rtol=1e-3, atol=1e-7) for a, b in zip(whole, half, strict=True))


def test_the_graph_of_one_step_is_its_activations():
    lesson = training("oom-logs", "oom-logged")
    if lesson.on_cpu:
        pytest.skip("PyTorch's stand-in device needs a C++ compiler")
    kept = {}
    for name, keep in lesson.LOGS.items():
        one, two = (lesson.bytes_of(lesson.logged, keep, steps)[1] for steps in (1, 2))
        kept[name] = two - one
    tensor = 4 * lesson.ROWS * lesson.WIDTH
    assert kept["graph"] == (lesson.DEPTH + 1) * tensor + 512
    assert kept["item"] == 0
    assert all(kept[name] == 512 for name in ("loss", "detach", "no_grad"))


# --- Without an error ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 7, 16])
def test_the_hook_finds_the_first_nan_wherever_it_begins(count):
    lesson = run("imports", "nan-hook")
    looked = math.ceil(math.log2(count)) if count > 1 else 0

    class Root(torch.nn.Module):
        def forward(self, x):
            return x.sqrt()

    for place in range(count):
        parts = [torch.nn.Identity() for _ in range(count)]
        parts[place] = Root()
        model = torch.nn.Sequential(*parts)
        calls = []
        parts[0].register_forward_pre_hook(lambda *_: calls.append(1))  # noqa: B023
        found, module = lesson.first_nan(model, torch.tensor([-1.0]))
        assert found == place and module is parts[place]
        assert len(calls) <= looked
        assert not any(part._forward_hooks for part in parts)


def test_wrong_labels_are_those_without_a_class():
    lesson = run("imports", "assert-cure")
    assert lesson.wrong_labels(torch.tensor([0, 2, 3, -1, 1]), 3) == [2, 3]
    assert lesson.wrong_labels(torch.tensor([], dtype=torch.long), 3) == []


def test_without_a_compiler_the_device_is_the_cpu_and_bytes_are_zero(capsys, monkeypatch):
    def missing():
        raise h2d.SetUpError("no C++ compiler")

    monkeypatch.setattr(h2d, "device", missing)
    lesson = device_cells()
    lesson.limit_to(100)
    assert lesson.on_cpu and lesson.device.type == "cpu"
    assert capsys.readouterr().out.splitlines() == [
        "no C++ compiler",
        "No limit: the CPU has none in PyTorch.",
    ]
    made = run(*TRAINING, "oom-message", "empty-held", **vars(lesson))
    assert made.message == "" and made.held() == (0, 0)
    assert made.bytes_of(made.step, *made.make()) == (0, 0)
    assert messages().verdict(messages().read(made.message)) == "no numbers"
