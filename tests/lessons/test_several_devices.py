"""Lesson 12: what the functions of its notebook compute, and that no process of its parts is left behind."""

import contextlib
import io
import linecache
import re
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

from authoring import notebooks
from host_to_device.measuring import ledger

ROOT = Path(__file__).resolve().parents[2]
PATH = ROOT / "notebooks" / "12-several-devices.ipynb"
CELLS = {cell.id: cell for cell in notebooks.read(PATH).cells}


def printed(cell):
    return "".join(each.get("text", "") for each in CELLS[cell].outputs)


def run(found, *cells):
    """Run some cells among the names `found`; their functions have a source that `inspect` finds."""
    for cell in cells:
        source, name = CELLS[cell].source, f"<cell {cell}>"
        linecache.cache[name] = len(source), None, source.splitlines(True), name
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, name, "exec"), found)
    return found


RANKS = "ranks-threads", "ranks-server", "ranks-program", "ranks-store", "ranks-start", "ranks", "ranks-zero"
MODEL = "by-hand-model", "by-hand-data"


@pytest.fixture(scope="module")
def names():
    """The names of the notebook, with its server; at the end no process is left."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OMP_NUM_THREADS", "TORCH_CPP_LOG_LEVEL", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"):
            patch.setenv(name, "1")  # so that it is as before at the end
        patch.setenv("GLOO_SOCKET_IFNAME", "lo")
        found = run({"device": torch.device("cpu")}, "imports", *RANKS)
        yield found
        found["forkserver"]._forkserver._stop()
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    _, alive = psutil.wait_procs(left, timeout=5)
    assert not [child.cmdline() for child in alive if "resource_tracker" not in " ".join(child.cmdline())]


@pytest.fixture
def no_rank_left(names):
    yield
    server = psutil.Process(names["forkserver"]._forkserver._forkserver_pid)
    _, alive = psutil.wait_procs(server.children(recursive=True), timeout=5)
    assert not alive


def define(names, source):
    """Define functions in the notebook, as a reader would."""
    name = f"<reader {hash(source)}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    exec(compile(source, name, "exec"), names)


pytestmark = pytest.mark.usefixtures("no_rank_left")


# --- Ranks ---


def test_each_rank_returns_its_result(names):
    define(names, "def told(rank, p, a, b):\n    return rank, p, a + b, torch.get_num_threads()\n")
    assert names["on_ranks"](3, names["told"], given=(2, 3)) == [(k, 3, 5, 1) for k in range(3)]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("raise RuntimeError('[/a/b.cc:7] It broke.\\nMore of it.')", "It broke."),
        ("os._exit(3)", "ended with exit code 3"),
        ("os.kill(os.getpid(), 9)", "ended with exit code -9"),
    ],
)
def test_a_rank_that_fails_is_one_line(names, capsys, body, line):
    define(
        names,
        f"def fails(rank, p):\n    if rank == 1:\n        time.sleep(0.5)  # rank 0 has ended\n        {body}\n    return [rank]\n",
    )
    assert names["on_ranks"](2, names["fails"]) == [[0], line]
    assert names["rank_0"](2, names["fails"]) == []
    assert capsys.readouterr().out == f"rank 1: {line}\n"


def test_a_rank_that_hangs_is_ended_at_the_limit(names):
    define(names, "def hangs(rank, p):\n    time.sleep(60)\n")
    start = time.monotonic()
    assert names["on_ranks"](2, names["hangs"], seconds=1) == ["ended with exit code 1"] * 2
    assert time.monotonic() - start < 20


# --- What is sent ---


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_half_a_ring_sums_and_sends_its_share(names, p):
    run(names, "ring-half")
    n = 24  # each p divides it
    for right, sent in names["on_ranks"](p, names["half"], given=(n,)):
        assert right and len(sent) == p - 1
        assert sum(sent) == 4 * n * (p - 1) // p


def test_data_parallel_training_is_that_of_one_process(names):
    run(names, *MODEL, "ddp-hook", "ddp-train")
    parts = [names[name] for name in ("make", "data", "counted", "train")]
    (alone, _), *_ = names["on_ranks"](1, *parts)
    nbytes = sum(4 * w.numel() for w in names["make"]().parameters())
    results = names["on_ranks"](2, *parts)
    for weights, sent in results:
        assert weights == pytest.approx(alone, abs=1e-5)
        assert [sum(step) for step in sent] == [nbytes] * 8
    start = torch.cat([w.flatten() for w in names["make"]().parameters()]).tolist()
    assert max(abs(a - b) for a, b in zip(start, alone, strict=True)) > 1e-3  # it has learned something


def test_the_mean_of_equal_parts_is_the_whole_gradient_and_of_unequal_parts_is_not(names):
    names["places"] = [torch.device("cpu")] * 2
    run(names, *MODEL, "by-hand-gradients", "by-hand-average", "by-hand-whole", "by-hand-split")
    run(names, "by-hand-difference")
    off = {
        cut: names["difference"](names["average"](names["by_hand"](cut)), names["whole"]) for cut in (32, 48)
    }
    assert off[32] < 1e-6 < 1e-4 < off[48]


def test_the_bucket_with_the_first_layer_is_sent_last(names):
    run(names, *MODEL, "ddp-hook", "overlap-order")
    parts = [names[name] for name in ("make", "data", "counted", "order")]
    for events in names["on_ranks"](2, *parts, given=(0.1,)):
        gradients = [event for event in events if event != "bucket"]
        assert events[-1] == "bucket" and events.count("bucket") == 3
        assert sorted(gradients) == sorted(name for name, _ in names["make"]().named_parameters())
        assert {gradients[0][:3], gradients[-1][:2]} == {"10.", "0."}


def test_shards_have_the_bytes_of_the_formula(names):
    run(names, *MODEL, "shard-held", "shard-model", "shard-run")
    parts = [names[name] for name in ("make", "data", "held", "cut", "sharded")]
    n = sum(w.numel() for w in names["make"]().parameters())
    for way, expected in {"DDP": [4, 4, 8], "ZeRO": [4, 4, 4], "FSDP": [2, 2, 4]}.items():
        held = np.array([each[0] for each in names["on_ranks"](2, *parts, given=(way,))])
        assert (
            held.sum(axis=0) == 2 * n * np.array(expected)
        ).all()  # of both ranks: ZeRO's parts may differ


# --- The cost model ---


def test_fit_finds_latency_and_bandwidth(names):
    fit = run(names, "ring-fit")["fit"]
    sizes = [2**k for k in range(10, 24, 2)]
    assert fit(sizes, [3e-4 + n / 1e9 for n in sizes]) == pytest.approx([3e-4, 1e-9])


def test_products_and_all_reduces_are_timed(names):
    run(names, "two-trial", "two-alone", "two-work", "ring-often", "ring-times")
    took = names["on_ranks"](2, names["trial"], names["alone"], names["product_times"], given=((8, 64),))[0]
    assert took.keys() == {"barrier", (1, 8), (1, 64), (2, 8), (2, 64)}
    assert all(0 < seconds < 5 for seconds in took.values())
    parts = [names[name] for name in ("trial", "reduce_often", "reduce_times")]
    rows = names["on_ranks"](2, *parts, given=((2**10, 2**20),))[0]
    assert [len(row) for row in rows] == [3, 3] and min(map(min, rows)) >= 0


def test_the_bytes_of_the_link_grow_with_what_is_sent(names):
    run(names, "ring-link", "ring-four")
    before = names["link_bytes"]()
    if not before:
        pytest.skip("this system does not count the loopback link's bytes")
    names["on_ranks"](2, names["reduce_four"], given=(2**20,))
    assert names["link_bytes"]() - before >= 2 * 4 * 4 * 2**20


# --- Faults ---


def test_the_rank_that_waits_reports_the_missing_call(names):
    run(names, "skip-watch", "skip-uneven", "monitored-barrier")
    waited, other = names["on_ranks"](2, names["watched"], names["uneven"], wait=1)
    assert waited[0] == 3 and waited[1].startswith("Timed out waiting")
    assert other == (2, "no error")
    assert "Rank 1 failed to pass monitoredBarrier" in names["on_ranks"](2, names["monitored"])[0]


def test_the_step_by_hand_is_pytorchs_sgd_with_momentum(names):
    run(names, *MODEL, "dead-speeds", "dead-step")
    model, other = names["make"](), names["make"]()
    speed = names["speeds"](model)
    sgd = torch.optim.SGD(other.parameters(), 0.1, 0.9)
    x, y = names["data"]()
    for step in range(5):
        names["step_of"](model, speed, step, 0, 1)
        rows = torch.arange(64 * step, 64 * step + 64) % 256
        sgd.zero_grad()
        torch.nn.functional.cross_entropy(other(x[rows]), y[rows]).backward()
        sgd.step()
    for own, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.allclose(own, theirs, atol=1e-6)


def test_the_restart_repeats_only_the_steps_since_the_checkpoint():
    steps, same = printed("restart").splitlines()
    assert [int(step) for step in steps.split()] == [*range(8), *range(6, 12)]
    assert same == "the same: True"
    said = printed("dead-worker")
    assert re.search(r"rank 0: .*Connection", said) and "exitcode: -9" in said
    assert "exit code of torchrun: 0" in said


@pytest.mark.slow
def test_torchrun_is_stopped_at_its_limit_with_its_ranks(names, tmp_path):
    torchrun = run(names, "ddp-torchrun")["torchrun"]
    script = tmp_path / "endless.py"
    script.write_text("import time\ntime.sleep(600)\n")
    code, said = torchrun(2, script, seconds=15)
    assert code != 0 and said.endswith("stopped after 15 s")
    left = [each for each in psutil.process_iter(["cmdline"]) if str(script) in (each.info["cmdline"] or [])]
    _, alive = psutil.wait_procs(left, timeout=10)
    assert not alive


# --- Sharing, the worksheet, jobs ---


@pytest.mark.parametrize(("gap", "kernel"), [(5, 4), (1, 4), (4, 1)])
def test_the_schedule_is_its_model(names, gap, kernel):
    simulate = run(names, "share-simulate")["simulate"]
    for jobs in range(1, 6):
        step = jobs / simulate(jobs, gap, kernel)
        assert step == pytest.approx(max(gap + kernel, jobs * kernel), rel=0.01)
    assert 4 / simulate(4, gap, kernel, slots=4) == pytest.approx(gap + kernel, rel=0.01)


def test_kept_counts_activations_and_no_weights(names):
    kept = run(names, "worksheet-kept")["kept"]
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    nbytes, out = kept(model, torch.ones(32, 8))
    assert nbytes == 4 * 32 * (8 + 16) and out.shape == (32, 4)  # the inputs of both layers


def test_the_bytes_of_the_links_are_those_of_the_chapter(names):
    crosses = run(names, "links-rates", "links-what")["CROSSES"]
    assert crosses["within layers"] == 124 * 1.5 * 16_384
    assert crosses["gradients"] == 150e9 and crosses["between layers"] == 32_768


@pytest.mark.slow
def test_a_killed_worker_loses_no_job(names, tmp_path):
    run(names, "jobs-one", "jobs-sweep")
    log = tmp_path / "log"
    found = names["sweep"](range(6), log, kill_after=3)
    assert found == [names["one_job"](k) for k in range(6)]
    assert len(log.read_text().splitlines()) > 6


# --- What is stored ---


def test_what_is_shown_agrees_with_its_prediction():
    size = int(re.search(r"bytes=(\d+)", printed("by-hand"))[1])
    assert f"predicted: {size:,} bytes" in printed("by-hand")
    for line in printed("ddp-agree").splitlines()[2:]:
        assert line.split() == [line.split()[0], "True", str(size), "3"]
    shares = [float(share) for share in re.findall(r"share: (.*)", printed("ring"))]
    assert shares == [1 / 2, 3 / 4]
    for line in printed("ring-counted").splitlines():
        counted, formula = re.findall(r"\d\.\d", line)
        assert counted == formula
    assert "ran again: True" in printed("jobs-dask") and "right: True" in printed("jobs-dask")


def test_times_say_that_they_are_a_cpus():
    for cell in "two-times", "ring-residuals":
        assert printed(cell).startswith("CPU times in ms\n")
    assert printed("dead-worker").endswith(" s on the CPU\n")


def test_the_notebook_makes_the_chapters_experiments():
    assert {name for name, _ in ledger.experiments_in(PATH)} == {"two-products", "all-reduce"}
