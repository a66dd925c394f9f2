"""Lesson 11: what the functions of its notebook compute, held against formulas and against what a reader may break."""

import contextlib
import io
import json
import math
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from authoring import notebooks
from host_to_device.measuring import ledger

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = notebooks.read(ROOT / "notebooks" / "11-small-batches.ipynb")
CELLS = {cell.id: cell for cell in NOTEBOOK.cells}


def names(*cells, **given):
    """Return the names that some cells define, run with what they need."""
    found = {"torch": torch, "np": np, "math": math, "contextlib": contextlib, "on_gpu": False, **given}
    found["cross_entropy"] = torch.nn.functional.cross_entropy
    found |= {"TorchDispatchMode": TorchDispatchMode, "FlopCounterMode": FlopCounterMode}
    for cell in cells:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(CELLS[cell].source, cell, "exec"), found)
    return found


def printed(cell):
    return "".join(each.get("text", "") for each in CELLS[cell].outputs)


def random(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape))


# --- The losses ---


def test_triplet_is_its_formula():
    triplet = names("losses-triplet")["triplet"]
    a, p, n = random(3, 7, 5)
    expected = [
        max(0, float(((x - y) ** 2).sum() - ((x - z) ** 2).sum()) + 0.2)
        for x, y, z in zip(a, p, n, strict=True)
    ]
    assert any(expected) and not all(expected)
    assert triplet(a, p, n).item() == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("temperature", [0.1, 0.5, 2.0])
def test_nt_xent_is_its_formula(temperature):
    nt_xent = names("losses-ntxent")["nt_xent"]
    z = random(10, 4)
    unit = z.numpy() / np.linalg.norm(z.numpy(), axis=1, keepdims=True)
    likeness = np.exp(unit @ unit.T / temperature)
    expected = [
        -math.log(likeness[i, (i + 5) % 10] / (likeness[i].sum() - likeness[i, i])) for i in range(10)
    ]
    assert nt_xent(z, temperature).item() == pytest.approx(np.mean(expected))


def test_the_slow_loss_has_the_same_values_and_gradient():
    found = names("losses-ntxent", "mask-host")
    gradients = []
    for loss in "nt_xent", "nt_xent_slow":
        z = random(8, 3).requires_grad_()
        found[loss](z).backward()
        gradients.append(z.grad)
    assert torch.equal(*gradients)


def test_each_step_changes_the_weights_and_ends_without_gradients():
    found = names("losses-ntxent", "step-model", "step-make")
    step = found["training_step"](8, "cpu")
    losses = [step().item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]
    wrapped = []
    found["training_step"](8, "cpu", wrap=lambda loss_of: wrapped.append(1) or loss_of)()
    assert wrapped == [1]


# --- Counting ---


def test_traffic_counts_each_tensor_once_and_no_view():
    traffic = names("step-traffic")["Traffic"]
    x = torch.ones(100, 100)
    for work, nbytes in (
        (lambda: x + x, 2 * x.nbytes),
        (lambda: x.T, 0),
        (lambda: x.T @ x, 2 * x.nbytes + x.nbytes),
        (lambda: x.add_(1), x.nbytes),
    ):
        with traffic() as counted:
            work()
        assert counted.nbytes == nbytes


def test_the_work_of_a_step_is_that_of_the_same_step_with_numbers():
    found = names("losses-ntxent", "step-model", "step-make", "step-traffic", "step-work")
    meta = found["work_of"](16)
    make = found["training_step"]
    found["training_step"] = lambda batch, place: make(batch, "cpu")
    assert found["work_of"](16) == meta
    products = 2 * 32 * (3 * 128 * 64 + 2 * 256 * 128) + 3 * 2 * 32 * 32 * 64
    assert meta[1] == products


def test_the_number_of_operations_does_not_depend_on_the_batch():
    rows = [line.split(" ", 1)[1] for line in printed("step-count").splitlines()]
    assert len(rows) == 2 and len(set(rows)) == 1
    forward, backward, _ = json.loads(rows[0].split(" together")[0])
    assert backward > forward


def test_a_step_takes_the_batch_that_it_is_given():
    found = names("losses-ntxent", "step-model", "step-make")
    step, other = found["training_step"](8, "cpu"), found["training_step"](8, "cpu")
    views = random(16, 256, seed=1).float()
    expected = found["nt_xent"](found["encoder"]("cpu")(views)).item()
    assert step(views).item() == pytest.approx(expected)
    assert other().item() != pytest.approx(expected, rel=1e-3)


def test_the_loader_makes_two_views_of_each_sample():
    found = names("split-load")
    [views, *_] = found["loader"](4)
    assert views.shape == (8, 256)
    near = (views[:4] - views[4:]).norm(dim=1)
    far = (views[:4] - views[4:].roll(1, 0)).norm(dim=1)
    assert near.max() < far.min() / 2


def test_the_phases_are_those_of_each_step():
    def training_step(batch, place):
        return lambda x: time.sleep(0.02) or x

    found = names("split-load", "split-phases", place="cpu", training_step=training_step)
    rows = found["phases"](2)
    assert rows.shape == (17, 4)
    assert rows[:, 2].min() >= 0.02 > np.median(rows, axis=0)[[0, 1, 3]].max()


def test_both_distances_are_the_same():
    found = names("cures-distances")
    z = random(9, 5)
    expected = ((z.numpy()[:, None] - z.numpy()) ** 2).sum(-1)
    assert np.allclose(found["by_rows"](z), expected) and np.allclose(found["by_product"](z), expected)


# --- The epoch ---


def test_each_fit_gives_the_reported_times():
    found = names("epoch-model", "epoch-rest")
    for card, (small, large) in found["REPORTED"].items():
        most = found["largest"](card)
        for a in np.linspace(0, most, 5):
            b, c = found["rest"](card, a)
            assert b >= 0 and c >= 0
            assert found["epoch"](1_024, a, b, c) == pytest.approx(small)
            assert found["epoch"](10_240, a, b, c) == pytest.approx(large)
        assert found["rest"](card, most)[0] == pytest.approx(0)


def test_no_cost_is_negative_and_the_misfit_is_least():
    residuals = names("epoch-squares")["residuals"]
    times = 0.85, 2.2
    grid = np.linspace(0, 1, 401)
    for costs, columns in {"A": [(1, 0.1)], "AB": [(1, 0.1), (1, 1)], "BC": [(1, 1), (1, 10)]}.items():
        found = np.sum(residuals(costs, times) ** 2)
        tried = np.stack(np.meshgrid(*[3 * grid] * len(columns)), axis=-1).reshape(-1, len(columns))
        best = ((np.array(times) - tried @ np.array(columns)) ** 2).sum(axis=1).min()
        assert found <= best + 1e-3
    assert residuals("AB", times) == pytest.approx(residuals("B", times))  # its A would be negative


def test_the_gain_of_the_pairs_is_that_of_a_search():
    possible = names("epoch-possible")["possible"]
    found = names("epoch-model", "epoch-rest")
    for small, large in ((0.8, 2.15), (0.9, 2.25), (0.85, 1.55)):
        found["REPORTED"]["x"] = small, large
        costs = [found["rest"]("x", a)[1] for a in np.linspace(0, found["largest"]("x"), 50)]
        assert possible(small, large) == pytest.approx((min(costs), max(costs)))


def test_the_chapters_share_is_amdahls():
    share = names("amdahl-share")["share"]
    for p, part in ((0.29, 5), (0.5, 2), (1.0, 7)):
        assert share(1 / (1 - p + p / part), part) == pytest.approx(p)


# --- Jobs ---


def worker(program):
    return subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


ANSWERS = "import sys\nfor line in sys.stdin: print(10, 0.5, flush=True)"


def test_the_answers_of_jobs_are_added_and_a_dead_job_is_one_line(capsys):
    together = names("jobs-tell", "jobs-together")["together"]
    alive, dead = [worker(ANSWERS), worker(ANSWERS)], worker("")
    try:
        assert together(alive) == [20, 1.0]
        dead.wait(20)
        assert together([*alive, dead]) is None
        assert capsys.readouterr().out == "1 of 3 workers have died\n"
    finally:
        for each in [*alive, dead]:
            each.kill()
            each.communicate()


@pytest.fixture
def real_worker():
    program = names("jobs-step", "jobs-loop")
    text = program["STEP"].replace("Timer(60", "Timer(20") + program["LOOP"]
    one = subprocess.Popen(
        [sys.executable, "-c", text, "cpu", "8", "0.05"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield one
    one.kill()
    one.communicate()


@pytest.mark.slow
def test_a_worker_answers_with_its_rate_and_its_cores(real_worker):
    assert real_worker.stdout.readline() == "ready\n"
    real_worker.stdin.write("go\n")
    real_worker.stdin.flush()
    rate, busy = map(float, real_worker.stdout.readline().split())
    assert rate > 1 and 0 < busy < 2


@pytest.mark.slow
def test_a_worker_that_is_told_nothing_ends_by_itself(real_worker):
    assert real_worker.stdout.readline() == "ready\n"
    assert real_worker.wait(60) == 1


@pytest.mark.parametrize(
    "cores, line", [(1, "only 1 core: more jobs share it, and their sum cannot grow\n"), (2, "")]
)
def test_too_few_cores_are_one_line(cores, line, capsys):
    size = staticmethod(lambda stand_in, gpu: stand_in)
    space = {
        "config": type("config", (), {"NUMBA_NUM_THREADS": cores}),
        "h2d": type("h2d", (), {"size": size}),
    }
    exec(compile(CELLS["jobs-cores"].source, "jobs-cores", "exec"), space)
    assert space["jobs"] == ([1, 2] if cores == 1 else [1, 2, 4])
    assert capsys.readouterr().out == line


# --- Cures and lies ---


def test_what_a_machine_lacks_is_one_line(capsys):
    def fails(batch, place):
        raise RuntimeError("no such thing here\nand much more")

    found = names("contrastive-first", ways={"graph": fails}, place="cpu")
    assert found["attempt"]("graph", 64, lambda step: step) is None
    assert capsys.readouterr().out == "graph, batch 64: RuntimeError: no such thing here\n"


def test_the_score_underflows_and_the_mended_one_does_not():
    small = {
        "h2d": type("h2d", (), {"time": staticmethod(lambda *_, **__: took)}),
        "work": None,
        "small": None,
    }
    took = type("Timing", (), {"samples": (1e-5,) * 20})
    lie, mended = names("lie-6", **small)["score"], names("mend-6", took=took)["mended_6"]
    assert lie(took.samples) == 0
    assert mended((1e-5, 1e-3)) == pytest.approx(1e-4)


def test_the_lies_stay_lies():
    assert printed("lie-1") == "plain: possible\nso: impossible\n"
    assert printed("lie-4") == "True\nimpossible\n"
    for cell in "mend-1", "mend-4":
        assert printed(cell) == "possible\n"
    assert printed("lie-3") == "no wait: True\n" and printed("lie-5") == "cache: True\n"
    assert printed("mend-2") == printed("mend-5") == "False\n"


def test_the_notebook_makes_the_chapters_experiments():
    made = [name for name, _ in ledger.experiments_in(ROOT / "notebooks" / "11-small-batches.ipynb")]
    assert {"contrastive-step", "margin-launches", "jobs-at-once"} < set(made)
