"""Lesson 12: what the functions of its notebook compute, and that no process of its parts is left behind."""

import ast
import contextlib
import io
import linecache
import os
import re
import signal
import threading
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
        for name in ("OMP_NUM_THREADS", "TORCH_CPP_LOG_LEVEL"):
            patch.setenv(name, "1")  # so that it is as before at the end
        patch.setenv("GLOO_SOCKET_IFNAME", "lo")
        found = run({"device": torch.device("cpu")}, "imports", *RANKS)
        yield found
        found["forkserver"]._forkserver._stop()
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    ours = [child for child in left if not is_resource_tracker(child)]
    _, alive = psutil.wait_procs(ours, timeout=5)
    assert not [child.cmdline() for child in alive]


def is_resource_tracker(process) -> bool:
    """Tell whether this is Python's own process that lives as long as the tests' process does."""
    with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return "resource_tracker" in " ".join(process.cmdline())
    return False


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


FAILURES = {  # what a rank does, and the line about it
    "raise RuntimeError('[/a/b.cc:7] It broke.\\nMore of it.')": "It broke.",
    "raise ValueError('No such batch.')": "No such batch.",
    "raise KeyError": "KeyError",
    "os._exit(3)": "ended with exit code 3",
    "os.kill(os.getpid(), 9)": "ended with exit code -9",
}


def test_ranks_that_fail_are_one_line_each(names, capsys):
    """Rank 0 has ended before the others fail, each in its own way."""
    ways = "".join(f"    if rank == {rank}:\n        {body}\n" for rank, body in enumerate(FAILURES, 1))
    wait = "    if rank:\n        time.sleep(0.5)\n"
    define(names, f"def fails(rank, p):\n{wait}{ways}    return [rank]\n")
    assert names["on_ranks"](len(FAILURES) + 1, names["fails"]) == [[0], *FAILURES.values()]
    assert names["rank_0"](2, names["fails"]) == []
    assert capsys.readouterr().out == "rank 1: It broke.\n"


def test_a_rank_that_hangs_is_ended_at_the_limit(names):
    define(names, "def hangs(rank, p):\n    time.sleep(60)\n")
    start = time.monotonic()
    assert names["on_ranks"](2, names["hangs"], seconds=1) == ["ended with exit code 1"] * 2
    assert time.monotonic() - start < 20


def test_no_process_is_one_line(names, capsys):
    define(names, "def nothing(rank, p):\n    pass\n")
    for p in 0, -1:
        assert names["on_ranks"](p, names["nothing"]) == names["rank_0"](p, names["nothing"]) == []
        assert capsys.readouterr().out == f"{p} processes: start 1 or more\n" * 2


@pytest.fixture
def interruptible():
    """Interrupts raise, also where the tests were started in the background of a script, which ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_the_ranks(names, interruptible):
    """As in a notebook: the signal goes to the kernel and to all of its processes."""
    define(names, "def hangs(rank, p):\n    time.sleep(60)\n")
    server = psutil.Process(names["forkserver"]._forkserver._forkserver_pid)

    def interrupt():
        while len(ranks := server.children()) < 2:
            time.sleep(0.05)
        time.sleep(0.5)
        for rank in ranks:
            rank.send_signal(signal.SIGINT)
        assert all(rank.is_running() and rank.status() != psutil.STATUS_ZOMBIE for rank in ranks)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        names["on_ranks"](2, names["hangs"], seconds=20)
    assert time.monotonic() - start < 15


# --- What is sent ---


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_half_a_ring_sums_and_sends_its_share(names, p):
    run(names, "ring-half")
    n = 24  # each p divides it
    for right, sent in names["on_ranks"](p, names["half"], given=(n,)):
        assert right and len(sent) == p - 1
        assert sum(sent) == 4 * n * (p - 1) // p
    assert all(right for right, _ in names["on_ranks"](p, names["half"], given=(5,)))  # uneven chunks


def test_data_parallel_training_is_that_of_one_process(names):
    run(names, *MODEL, "ddp-hook", "ddp-train")
    parts = [names[name] for name in ("make", "data", "keep_bucket", "train")]
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
    parts = [names[name] for name in ("make", "data", "keep_bucket", "order")]
    for events in names["on_ranks"](2, *parts, given=(0.1,)):
        gradients = [event for event in events if event != "bucket"]
        assert events[-1] == "bucket" and events.count("bucket") == 3
        assert sorted(gradients) == sorted(name for name, _ in names["make"]().named_parameters())
        assert {gradients[0][:3], gradients[-1][:2]} == {"10.", "0."}


def test_shards_have_the_bytes_of_the_formula_and_send_them(names):
    run(names, *MODEL, "ddp-hook", "shard-held", "shard-model", "shard-run")
    needs = "make", "data", "keep_bucket", "held", "shard", "collectives", "sharded"
    parts = [names[name] for name in needs]
    n = sum(w.numel() for w in names["make"]().parameters())
    once = {"allreduce": (1, 4 * n)}
    expected = {
        "DDP": ([4, 8, 8], once),
        "view": ([4, 4, 8], once),
        "ZeRO": ([4, 4, 4], {**once, "broadcast": (12, 4 * n)}),
        "FSDP": ([2, 2, 4], {"allgather_base": (12, 8 * n), "reduce_scatter_base": (6, 4 * n)}),
    }
    for way, (held, calls) in expected.items():
        found = names["on_ranks"](2, *parts, given=(way,))
        # of both ranks: ZeRO's parts may differ
        assert (np.array([each[0] for each in found]).sum(axis=0) == 2 * n * np.array(held)).all()
        for _, sent in found:
            assert {call: (len(nbytes), sum(nbytes)) for call, nbytes in sent.items()} == calls


# --- The cost model ---


def test_fit_finds_latency_and_bandwidth(names):
    fit = run(names, "ring-fit")["fit"]
    sizes = [2**k for k in range(10, 24, 2)]
    assert fit(sizes, [3e-4 + n / 1e9 for n in sizes]) == pytest.approx([3e-4, 1e-9])


def test_products_and_all_reduces_are_timed(names):
    run(names, "two-trial", "two-alone", "two-work", "ring-often", "ring-times")
    parts = [names[name] for name in ("trial", "alone", "cpu_time", "product_times")]
    took = names["on_ranks"](2, *parts, given=((8, 64),))[0]
    assert took.keys() == {"barrier", 8, 64} and 0 < took["barrier"] < 5
    assert all(0 < seconds < 5 for n in (8, 64) for seconds in took[n])
    parts = [names[name] for name in ("trial", "reduce_often", "reduce_times")]
    rows = names["on_ranks"](2, *parts, given=((2**10, 2**20),))[0]
    assert [len(row) for row in rows] == [3, 3] and min(map(min, rows)) > 0  # `fit` divides by them


def test_the_bytes_of_the_link_grow_with_what_is_sent(names):
    run(names, "ring-link", "ring-four")
    before = names["link_bytes"]()
    if not before:
        pytest.skip("this system does not count the loopback link's bytes")
    names["on_ranks"](2, names["reduce_four"], given=(2**20,))
    assert names["link_bytes"]() - before >= 2 * 4 * 4 * 2**20


# --- Faults ---


def test_the_rank_that_waits_reports_the_missing_call(names):
    run(names, "skip-uneven", "monitored-barrier")
    waited, other = names["on_ranks"](2, names["uneven"], wait=1)
    assert waited[0] == 3 and waited[1].startswith("Timed out waiting")
    assert other == (2, "no error")
    assert "Rank 1 failed to pass monitoredBarrier" in names["on_ranks"](2, names["monitored"])[0]


def test_the_step_by_hand_is_pytorchs_sgd_with_momentum(names):
    run(names, *MODEL, "dead-step")
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
    assert re.search(r"rank 0: .*Connection", said) and "(exitcode: -9) local_rank: 1\n" in said
    assert "exit code of torchrun: 0" in said


@pytest.fixture
def torchrun(names, tmp_path):
    run(names, *MODEL, "ddp-hook", "ddp-train", "ddp-script", "ddp-write", "ddp-agent", "ddp-torchrun")
    names["folder"] = tmp_path
    return names["torchrun"]


@pytest.mark.parametrize("p", [1, 4])
def test_torchrun_runs_a_script_with_p_ranks(names, torchrun, tmp_path, p):
    script = names["write"](
        "a.py", "open(f\"{sys.argv[1]}{os.environ['RANK']}\", 'w').write(os.environ['WORLD_SIZE'])"
    )
    assert torchrun(p, script, tmp_path / "rank") == (0, "")
    assert [(tmp_path / f"rank{k}").read_text() for k in range(p)] == [str(p)] * p


def test_torchrun_without_a_process_is_one_line(torchrun):
    assert torchrun(0, "a.py") == (1, "0 processes: start 1 or more")


def test_torchrun_is_stopped_at_its_limit_with_its_ranks(torchrun, tmp_path):
    script = tmp_path / "endless.py"
    script.write_text("import time\nprint('begun', flush=True)\ntime.sleep(600)\n")
    code, said = torchrun(2, script, seconds=4)
    assert code != 0 and said.count("begun") == 2 and said.endswith("stopped after 4 s")


def test_bad_input_is_one_line_each(names):
    run(names, "bad-store")
    assert re.fullmatch(
        r"Timed out after \d seconds waiting for clients\. 1/2 clients joined\.", names["store_of"](2)
    )
    taken = names["store_of"](1, names["store"].port)
    assert taken.endswith("address already in use") and "port: …" in taken and "\n" not in taken
    assert names["on_ranks"](1, names["killed"]) == ["ended with exit code -9"]
    [line] = names["on_ranks"](1, names["no_compiler"])
    assert "needs g++ or clang++" in line and "\n" not in line


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


def test_the_worksheet_names_the_limit(names):
    run(names, "imports", "worksheet-mine", "worksheet-fits", "worksheet-times")
    n, acts = 1e9, 2e9
    fewest, limit = names["fewest"], names["limit"]
    assert fewest("A10", 16e9) == 1 and fewest("A10", 56e9) == 4 and fewest("A10", 1e12) is None
    moved = 6e9 + (28e9 + 2 * acts) / 2
    for tokens, seconds, what in (
        (8192, 6e9 * 8192 / 2 / (0.4 * 312e12), "compute"),
        (64, moved / 1.555e12, "memory"),
    ):
        hours = pytest.approx(seconds * names["all_tokens"] / tokens / 3600)
        assert limit("A100", 2, n, tokens, acts) == (hours, what)
    assert limit("A10", 2, n, 64, acts) == (
        pytest.approx(3e9 / 32e9 * names["all_tokens"] / 64 / 3600),
        "link",
    )
    rows = [line.split() for line in printed("worksheet").splitlines()[1:]]
    assert [row[4] for row in rows] == ["compute"] * 3 + ["link", "memory", "memory"]


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
    rings = [line.split() for line in printed("ring").splitlines()[1:]]
    assert rings == [["2", "True", "1", "524288", "524288"], ["4", "True", "3", "786432", "786432"]]
    assert printed("ddp-run") == "2 ranks: exit code 0\n4 ranks: exit code 0\n"
    waits = [line.split() for line in printed("slow").splitlines()[2:]]
    assert abs(float(waits[0][2]) - 0.3) < 0.1 > float(waits[1][2]) and float(waits[1][1]) >= 0.3
    for line in printed("ring-counted").splitlines():
        counted, formula = re.findall(r"\d\.\d", line)
        assert counted == formula
    assert "ran again: True" in printed("jobs-dask") and "right: True" in printed("jobs-dask")


def test_times_say_that_they_are_a_cpus():
    for cell in "two-times", "ring-residuals", "slow":
        assert printed(cell).startswith("CPU times in ")
    assert printed("dead-worker").endswith(" s on the CPU\n")


def test_the_notebook_makes_the_chapters_experiments():
    assert {name for name, _ in ledger.experiments_in(PATH)} == {"two-products", "all-reduce"}


@pytest.mark.slow
def test_cells_can_run_again_in_any_order():
    """No cell gives the name of another cell's function to something else."""
    functions, bound = {}, []
    for name, cell in CELLS.items():
        if cell.cell_type == "code" and name != "start":
            tree = ast.parse(cell.source)
            functions |= {node.name: name for node in tree.body if isinstance(node, ast.FunctionDef)}
            inner = {n for f in tree.body if isinstance(f, ast.FunctionDef) for n in ast.walk(f)}
            stored = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            bound += [(n.id, name) for n in stored if n not in inner]
    assert not [(name, cell) for name, cell in bound if name in functions]
    assert len(functions) > 30
