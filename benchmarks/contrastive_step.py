"""One training step of notebook 11, eager and as a CUDA graph: how busy the GPU and the host are, and which calls it makes.

`python -m benchmarks.contrastive_step [--to measurements/traces]` needs an NVIDIA GPU, and nothing else may use it. It
runs the notebook's own cells, and writes one file, in the form of `measurements/traces/schema.json`:

- `runs`: two seconds of steps for each batch size and way, with what nvidia-smi reported meanwhile;
- `traces`: one eager step for each of two batch sizes, call by call, as PyTorch's profiler recorded it.

`run_of`, `step_of` and `record` turn raw results into the file. The book shows it with the directives of
`book/recorded.py`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from host_to_device.counting.on_gpu import RUNTIME
from host_to_device.measuring import ledger, machines
from host_to_device.starting.machine import REHEARSAL

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = "notebooks/11-small-batches.ipynb"
CELLS = ("imports", "device", "losses-ntxent", "step-model", "step-make", "cures-graph")
BATCHES = (64, 1_024, 10_240)
TRACED = (256, 1_024)
SECONDS = 2.0
# What nvidia-smi is asked, and the names in the file: per cent, per cent, watts, MHz.
ASKED = {
    "utilization.gpu": "gpu_util",
    "utilization.memory": "memory_util",
    "power.draw": "power",
    "clocks.sm": "clock",
}
HOW = (
    "Two seconds of steps for each row, loss.item() after each step, while nvidia-smi was read again and again; "
    "cores: CPU seconds of the process for each second; GPU-Util, memory-util, power and clock: medians of the second "
    "half of the readings. Traces: three steps under torch.profiler after ten steps without it, loss.item() after each; "
    "the shortest of the three is kept. Recording makes a step longer, so the times of steps are those of the rows."
)

HOST = (
    "cpu_op",
    "user_annotation",
    *RUNTIME,
)  # the categories of a trace's events that are times of the host
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


# --- From raw results to the file ------------------------------------------------------------------------------


def readings(lines: Sequence[str]) -> dict[str, float | None]:
    """Return the medians of the second half of nvidia-smi's readings: GPU-Util reports the time before it was read.

    Parameters
    ----------
    lines
        One line of `--format=csv,noheader` for each reading, such as "9 %, 0 %, 122.33 W, 1980 MHz". More columns than
        `ASKED` has are left out.

    Returns
    -------
    dict
        A number for each name of `ASKED`; None where a reading has no number, such as "[N/A]".

    Raises
    ------
    ValueError
        If there are fewer than two readings.
    """
    if len(lines) < 2:
        raise ValueError(f"nvidia-smi gave {len(lines)} readings: measure for longer")
    columns = list(zip(*(line.split(",") for line in lines[len(lines) // 2 :]), strict=True))
    found: dict[str, float | None] = {}
    for name, column in zip(ASKED.values(), columns, strict=False):
        numbers = [re.match(r"\s*(\d+(?:\.\d+)?)", each) for each in column]
        found[name] = statistics.median(float(each[1]) for each in numbers if each) if all(numbers) else None
    return found


def run_of(
    way: str, samples: int, steps: int, seconds: float, cpu: float, lines: Sequence[str]
) -> dict[str, Any]:
    """Return one of the file's `runs`.

    Parameters
    ----------
    way, samples
        "eager" or "graph", and the batch size.
    steps, seconds, cpu
        How many steps, and the seconds and the CPU seconds of all of them.
    lines
        What nvidia-smi reported meanwhile.
    """
    measured = {
        "way": way,
        "samples": samples,
        "steps": steps,
        "seconds": seconds / steps,
        "cores": cpu / seconds,
    }
    return measured | readings(lines)


def step_of(samples: int, trace: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one of the file's `traces`: the shortest step of a profiler's trace.

    Parameters
    ----------
    samples
        The batch size.
    trace
        Events as Kineto writes them under "traceEvents", in Chrome's trace format; each step is a range named "step".

    Raises
    ------
    ValueError
        If no range is named "step", or nothing ran on the device in it.
    """
    events = [each for each in trace if each.get("ph") == "X"]
    steps = [each for each in events if each.get("cat") == "user_annotation" and each["name"] == "step"]
    if not steps:
        raise ValueError('the trace has no range "step": record with record_function("step")')
    step = min(steps, key=lambda each: each["dur"])
    begin, end = step["ts"], step["ts"] + step["dur"]
    host = [each for each in events if each.get("cat") in HOST and begin <= each["ts"] <= end]
    calls = [each for each in host if each["cat"] in RUNTIME]
    marks = {each["args"].get("correlation") for each in calls}
    device = [
        each for each in events if each.get("cat") in DEVICE and each["args"].get("correlation") in marks
    ]
    if not device:
        raise ValueError("nothing ran on the device in the step: the profiler has to record CUDA, too")
    operations = {each["args"].get("External id"): each["name"] for each in host if each["cat"] == "cpu_op"}
    return {
        "way": "eager",
        "samples": samples,
        "seconds": step["dur"] * 1e-6,
        "events": [
            _kept(each, begin, operations) for each in sorted(calls + device, key=lambda each: each["ts"])
        ],
        "sums": sums(host, device, operations),
    }


def _kept(event: Mapping[str, Any], begin: float, operations: Mapping[Any, str]) -> dict[str, Any]:
    """Return what `h2d.timeline` reads of an event, and the PyTorch operation that it belongs to."""
    given = event["args"]
    kept = {"correlation": given.get("correlation")}
    kept |= {"bytes": given["bytes"]} if "bytes" in given else {}
    if operation := operations.get(given.get("External id")):
        kept["operation"] = operation
    times = {"ts": round(event["ts"] - begin, 3), "dur": event["dur"]}
    return {"ph": "X", "cat": event["cat"], "name": event["name"], **times, "args": kept}


def sums(
    host: Sequence[Mapping[str, Any]], device: Sequence[Mapping[str, Any]], operations: Mapping[Any, str]
) -> list[dict[str, Any]]:
    """Return calls, host time and device time by name, as the profiler's columns "# of Calls", "Self CPU", "Self CUDA".

    The host time of a call is without the calls inside it; the device time is that of the kernels and copies that the
    call itself launched. Both in seconds, the longest host time first.
    """
    rows: dict[str, dict[str, Any]] = defaultdict(lambda: {"calls": 0, "host": 0.0, "device": 0.0})
    for call, own in own_times(host):
        rows[call["name"]]["calls"] += 1
        rows[call["name"]]["host"] += own * 1e-6
    for each in device:
        # What Python launched itself, outside of any operation, has no row of its own.
        if name := operations.get(each["args"].get("External id")):
            rows[name]["device"] += each["dur"] * 1e-6
    return [{"name": name, **row} for name, row in sorted(rows.items(), key=lambda each: -each[1]["host"])]


def own_times(calls: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], float]]:
    """Yield each call with its time in µs, less that of the calls inside it on the same thread."""
    threads: dict[Any, list[Mapping[str, Any]]] = defaultdict(list)
    for each in calls:
        threads[each.get("tid")].append(each)
    for of_thread in threads.values():
        opened: list[
            list[Any]
        ] = []  # [call, time of the calls inside it], from the outermost to the innermost
        for each in sorted(of_thread, key=lambda each: (each["ts"], -each["dur"])):
            while opened and opened[-1][0]["ts"] + opened[-1][0]["dur"] <= each["ts"]:
                call, inside = opened.pop()
                yield call, call["dur"] - inside
            if opened:
                opened[-1][1] += each["dur"]
            opened.append([each, 0.0])
        for call, inside in reversed(opened):
            yield call, call["dur"] - inside


def record(
    about: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    traces: Sequence[Mapping[str, Any]],
    cells: Mapping[str, str],
    how: str = HOW,
) -> dict[str, Any]:
    """Return the content of the file.

    Parameters
    ----------
    about
        The machine, its versions, and date, commit and clean of the checkout, as a record of `measurements/` has them.
    runs, traces
        What `run_of` and `step_of` returned.
    cells
        The sources of the notebook's cells that ran, by id.
    how
        How it was measured.
    """
    return {
        "schema": 1,
        **{part: about[part] for part in ("machine", "versions", "date", "commit", "clean")},
        "notebook": NOTEBOOK,
        "cells": {name: ledger.digest(source) for name, source in cells.items()},
        "how": how,
        "runs": list(runs),
        "traces": list(traces),
    }


def text_of(data: Any, depth: int = 0) -> str:
    """Return the text of the file: numbers to six digits, each row of a table on a line of its own."""
    pad = "\n" + " " * (depth + 1)
    if isinstance(data, list) and data and isinstance(data[0], dict):
        inside = ",".join(pad + text_of(each, depth + 1) for each in data)
        return f"[{inside}\n{' ' * depth}]"
    if isinstance(data, dict) and (not depth or any(isinstance(each, list) for each in data.values())):
        inside = ",".join(f"{pad}{json.dumps(key)}: {text_of(each, depth + 1)}" for key, each in data.items())
        return f"{{{inside}\n{' ' * depth}}}" + ("" if depth else "\n")
    return json.dumps(_rounded(data), ensure_ascii=False, allow_nan=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return float(f"{value:.6g}") if isinstance(value, float) else value


# --- Measuring -------------------------------------------------------------------------------------------------


def cells_of(root: Path = ROOT) -> dict[str, str]:
    """Return the sources of the notebook's cells that make the step, by id.

    Raises
    ------
    RuntimeError
        If the notebook has no such cell.
    """
    there = dict(ledger.code_cells(root / NOTEBOOK))
    if missing := [name for name in CELLS if name not in there]:
        raise RuntimeError(f"{NOTEBOOK} has no cell {', '.join(missing)}: name its cells in CELLS")
    return {name: there[name] for name in CELLS}


def ways_of(cells: Mapping[str, str]) -> dict[str, Callable[[int], Callable[[], Any]]]:
    """Run the cells, and return a function for each way that makes a step of a batch size."""
    import host_to_device as h2d

    h2d.start()
    names: dict[str, Any] = {"__name__": "__main__", "h2d": h2d}
    for name, source in cells.items():
        exec(compile(source, name, "exec"), names)
    step, captured, place = names["training_step"], names["captured"], names["place"]
    return {
        "eager": lambda batch: step(batch, place),
        "graph": lambda batch: captured(step(batch, place)),
    }


def smi() -> str:
    """Return one reading of nvidia-smi, of the first GPU."""
    asked = ["nvidia-smi", f"--query-gpu={','.join(ASKED)}", "--format=csv,noheader", "--id=0"]
    return subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


def timed(way: str, batch: int, make: Callable[[int], Callable[[], Any]]) -> dict[str, Any]:
    """Make steps for two seconds, and return the run."""
    import torch

    step = make(batch)
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    lines: list[str] = []
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            lines.append(smi())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        steps, began, used = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() - began < SECONDS:
            step().item()
            steps += 1
        took, used = time.perf_counter() - began, time.process_time() - used
    finally:
        over.set()
        reader.join()
    return run_of(way, batch, steps, took, used, lines)


def traced(batch: int, make: Callable[[int], Callable[[], Any]]) -> dict[str, Any]:
    """Record three steps with the profiler, and return the trace of the shortest."""
    import torch
    from torch import profiler

    step = make(batch)
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    kinds = [profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA]
    with profiler.profile(activities=kinds) as profile:
        for _ in range(3):
            with profiler.record_function("step"):
                step().item()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        return step_of(batch, json.loads(path.read_text(encoding="utf-8"))["traceEvents"])


def lacking() -> str | None:
    """Return in one line what this machine lacks, or None."""
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed: install the requirements of the course for a GPU"
    if not torch.cuda.is_available():
        return "PyTorch finds no NVIDIA GPU: run this on a machine that has one"
    if torch.cuda.get_device_name().startswith(REHEARSAL):
        return "this GPU is a rehearsal, whose times are not a GPU's: run this on a machine that has a GPU"
    try:
        smi()
    except (OSError, subprocess.SubprocessError) as problem:
        return f"nvidia-smi does not answer ({str(problem).splitlines()[0]}): install it with the driver"
    return None


def measure() -> dict[str, Any]:
    """Measure on this machine, and return the content of the file; a batch that does not fit is left out with a line."""
    import torch

    commit, clean = machines.commit_of(ROOT)
    about = {
        "machine": machines.describe(),
        "versions": machines.versions(),
        "commit": commit,
        "clean": clean,
    }
    about["date"] = datetime.datetime.now(datetime.UTC).date().isoformat()
    cells = cells_of()
    ways = ways_of(cells)
    traces = [traced(batch, ways["eager"]) for batch in TRACED]
    runs = []
    for batch in BATCHES:
        for way, make in ways.items():
            torch.cuda.empty_cache()
            try:
                runs.append(timed(way, batch, make))
            except torch.cuda.OutOfMemoryError:
                print(f"{batch:,} samples, {way}: left out, too large for this GPU's memory", file=sys.stderr)
    return record(about, runs, traces, cells)


def main(arguments: list[str] | None = None) -> int:
    """Measure, write the file, and give the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.contrastive_step", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument(
        "--to", type=Path, default=ROOT / "measurements" / "traces", help="the folder of the file"
    )
    to = parser.parse_args(arguments).to
    if problem := (None if to.is_dir() else f"there is no folder {to}: make it first") or lacking():
        print(f"contrastive_step: {problem}", file=sys.stderr)
        return 2
    data = measure()
    path = to / f"{machines.slug(data['machine']['name'])}-contrastive-step.json"
    ledger.write_whole(path, text_of(data))
    print(f"{path.name}: {len(data['runs'])} runs, {len(data['traces'])} traces")
    return 0


if __name__ == "__main__":
    sys.exit(main())
