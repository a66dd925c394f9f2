"""The command that records a training step: its functions on small made results, and its limits. No GPU is needed."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import contrastive_step
from benchmarks.contrastive_step import own_times, readings, record, run_of, step_of, text_of

ROOT = Path(__file__).resolve().parents[2]
MAIN, BACKWARD = 1, 2  # threads


def event(cat, name, ts, dur, tid=MAIN, **args):
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "tid": tid, "args": args}


def step(at, dur, mark):
    """Return the events of a step: a product by two launches, its backward pass on another thread, a copy and a wait."""
    return [
        event("user_annotation", "step", at, dur),
        event("cpu_op", "aten::matmul", at + 10, 40, **{"External id": mark}),
        event("cpu_op", "aten::mm", at + 12, 35, **{"External id": mark + 1}),
        event("cuda_driver", "cuLaunchKernel", at + 20, 5, correlation=mark, **{"External id": mark + 1}),
        event("cuda_runtime", "cudaLaunchKernel", at + 30, 7, correlation=mark + 1, **{"External id": mark + 1}),
        event("cpu_op", "aten::mul", at + 55, 20, BACKWARD, **{"External id": mark + 2}),
        event("cuda_runtime", "cudaLaunchKernel", at + 60, 6, BACKWARD, correlation=mark + 2, **{"External id": mark + 2}),
        event("cuda_runtime", "cudaMemcpyAsync", at + 80, 4, correlation=mark + 3),
        event("cuda_runtime", "cudaStreamSynchronize", at + 85, 9, correlation=mark + 4),
        event("kernel", "product", at + 26, 3, 7, correlation=mark, **{"External id": mark + 1}),
        event("kernel", "sum", at + 38, 2, 7, correlation=mark + 1, **{"External id": mark + 1}),
        event("kernel", "scale", at + 67, 4, 7, correlation=mark + 2, **{"External id": mark + 2}),
        event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", at + 88, 1, 7, correlation=mark + 3, bytes=4),
    ]  # fmt: skip


TRACE = [*step(1000, 300, 10), *step(2000, 100, 20), event("overhead", "Activity Buffer Request", 1005, 50),
         {"ph": "i", "name": "Record Window End", "ts": 3000}]  # fmt: skip


def test_the_readings_are_medians_of_the_second_half():
    lines = ["90 %, 50 %, 300.00 W, 1000 MHz, 7 MiB", "8 %, 0 %, 100.00 W, 1980 MHz, 7 MiB"]
    lines += ["9 %, 1 %, 120.50 W, 1980 MHz, 7 MiB", "10 %, 2 %, 121.50 W, 1980 MHz, 7 MiB"]
    assert readings(lines) == {"gpu_util": 9.5, "memory_util": 1.5, "power": 121.0, "clock": 1980.0}


def test_what_nvidia_smi_does_not_report_is_none():
    assert readings(["5 %, [N/A], [N/A], 900 MHz"] * 2) == {
        "gpu_util": 5,
        "memory_util": None,
        "power": None,
        "clock": 900,
    }
    with pytest.raises(ValueError, match="nvidia-smi gave 1 readings: measure for longer"):
        readings(["5 %, 1 %, 90 W, 900 MHz"])


def test_a_run_has_the_seconds_of_one_step_and_the_busy_cores():
    run = run_of("eager", 64, 4, 2.0, 1.5, ["9 %, 0 %, 120 W, 1980 MHz"] * 3)
    assert (run["seconds"], run["cores"], run["gpu_util"], run["samples"]) == (0.5, 0.75, 9, 64)


def test_the_shortest_step_is_kept_with_its_calls_and_kernels():
    found = step_of(256, TRACE)
    assert (found["samples"], found["seconds"]) == (256, pytest.approx(100e-6))
    assert [(each["name"], each["ts"], each["args"].get("operation")) for each in found["events"]] == [
        ("cuLaunchKernel", 20, "aten::mm"),
        ("product", 26, "aten::mm"),
        ("cudaLaunchKernel", 30, "aten::mm"),
        ("sum", 38, "aten::mm"),
        ("cudaLaunchKernel", 60, "aten::mul"),
        ("scale", 67, "aten::mul"),
        ("cudaMemcpyAsync", 80, None),
        ("cudaStreamSynchronize", 85, None),
        ("Memcpy DtoH (Device -> Pinned)", 88, None),
    ]
    assert found["events"][-1]["args"] == {"correlation": 23, "bytes": 4}


def test_host_times_are_without_the_calls_inside_and_device_times_with_their_operation():
    sums = {each["name"]: each for each in step_of(256, TRACE)["sums"]}
    # The backward pass runs on another thread, so the step's own time holds it.
    expected = {
        "step": (1, 100 - 40 - 4 - 9, 0),
        "aten::matmul": (1, 40 - 35, 0),
        "aten::mm": (1, 35 - 5 - 7, 3 + 2),
        "aten::mul": (1, 20 - 6, 4),
        "cudaLaunchKernel": (2, 7 + 6, 0),
        "cuLaunchKernel": (1, 5, 0),
        "cudaMemcpyAsync": (1, 4, 0),
        "cudaStreamSynchronize": (1, 9, 0),
    }
    assert sums.keys() == expected.keys()
    for name, (calls, host, device) in expected.items():
        row = sums[name]
        assert (row["calls"], row["host"] * 1e6, row["device"] * 1e6) == pytest.approx((calls, host, device))


def test_calls_that_follow_each_other_do_not_lie_inside_each_other():
    calls = [event("cpu_op", "outer", 0, 10), event("cpu_op", "a", 0, 4), event("cpu_op", "b", 4, 6)]
    assert {call["name"]: own for call, own in own_times(calls)} == {"outer": 0, "a": 4, "b": 6}


@pytest.mark.parametrize(
    "trace, says",
    [
        ([each for each in TRACE if each.get("name") != "step"], 'the trace has no range "step"'),
        ([each for each in TRACE if each.get("tid") != 7], "nothing ran on the device in the step"),
    ],
)
def test_a_trace_without_a_step_or_without_a_device_is_refused(trace, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        step_of(256, trace)


def test_the_text_of_the_file_has_a_line_for_each_row_and_reads_back():
    about = {
        "machine": {"name": "a", "gpus": [{"name": "a"}]},
        "versions": {},
        "date": "2026-01-02",
        "commit": None,
        "clean": None,
    }
    run = run_of("eager", 64, 3, 1.0, 1.0, ["9 %, 0 %, 120 W, 1980 MHz"] * 3)
    data = record(about, [run], [step_of(256, TRACE)], {"one": "x = 1"})
    text = text_of(data)
    back = json.loads(text)
    assert back["cells"] == data["cells"] and back["runs"][0]["seconds"] == 0.333333
    assert [each["name"] for each in back["traces"][0]["sums"]] == [
        each["name"] for each in data["traces"][0]["sums"]
    ]
    assert sum('"ph"' in line for line in text.splitlines()) == len(data["traces"][0]["events"])
    assert text_of(back) == text


def test_the_notebook_has_the_cells(tmp_path):
    cells = contrastive_step.cells_of()
    assert "def training_step(" in cells["step-make"] and "def captured(" in cells["cures-graph"]
    with pytest.raises(RuntimeError, match=r"11-small-batches\.ipynb has no cell imports, device"):
        contrastive_step.cells_of(tmp_path)


def test_without_a_gpu_it_is_one_line_and_no_file(tmp_path):
    """Another process, in which no GPU is visible."""
    for to, says in (tmp_path, "run this on a machine that has one"), (tmp_path / "no", "make it first"):
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.contrastive_step", "--to", str(to)],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": ""},
        )
        assert done.returncode == 2 and not done.stdout
        [line] = done.stderr.splitlines()
        assert line.startswith("contrastive_step: ") and line.endswith(says)
    assert list(tmp_path.iterdir()) == []


def test_a_machine_without_nvidia_smi_is_told_so(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA T4")
    monkeypatch.setenv("PATH", "/nowhere")
    assert re.fullmatch(
        r"nvidia-smi does not answer \(.+\): install it with the driver", contrastive_step.lacking()
    )
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: f"{contrastive_step.REHEARSAL}: sm_80")
    assert contrastive_step.lacking().startswith("this GPU is a rehearsal")
