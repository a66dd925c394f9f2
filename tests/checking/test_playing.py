"""`report.play()`: what it says and shows, and when there is nothing to play."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from host_to_device.checking import check
from host_to_device.standins import numba_cuda as cuda


@cuda.jit
def add_up(x, total):
    total[0] += x[cuda.grid(1)]


@cuda.jit
def double(x):
    x[cuda.grid(1)] *= 2


def test_a_lost_update_is_played_by_two_threads_and_again_alike():
    x, total = np.arange(1.0, 9.0), np.zeros(1)
    report = check(add_up)[1, 8](x, total)
    x[:] = 0  # the report keeps the arguments as they were
    played = report.play()
    assert str(played) == str(report.play())
    assert "that update is lost" in str(played) and len(played.threads) == 2
    html = played.html()
    assert html.count("<li>") == len(played.steps) and "<script>" in html
    assert "<script>" not in played.html(script=False) and 'class="h2d-player"' in html
    assert json.loads(json.dumps(played.data))["steps"][0]["lanes"] == [played.steps[0].lanes[0]]
    assert not re.search(r'\bid="', html)  # two players on a page do not clash


@cuda.jit
def gather(table, tokens, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = table[tokens[i]]


@cuda.jit
def leave_early(x):
    i = cuda.grid(1)
    if x[i] < 0:
        return
    cuda.syncthreads()
    x[i] = i


@cuda.jit
def two_barriers(x):
    if cuda.threadIdx.x % 2:
        cuda.syncthreads()
    else:
        cuda.syncthreads()
    x[cuda.grid(1)] = 1


@cuda.jit
def read_first(out):
    tile = cuda.shared.array(8, np.float64)
    out[cuda.grid(1)] = tile[cuda.threadIdx.x]


def line_of(kernel, text: str) -> int:
    """Return the first line of this file, after the kernel's name, that has a text."""
    lines = Path(__file__).read_text(encoding="utf-8").split("\n")
    begin = lines.index(next(line for line in lines if line.startswith(f"def {kernel.__name__}(")))
    return next(k for k, line in enumerate(lines, 1) if k > begin and text in line)


def test_an_access_out_of_bounds_is_played_beside_the_last_one_inside():
    tokens = np.array([1, 2, 3, 0, 4, 9, 1, 1])
    played = check(gather)[2, 4](np.arange(5.0), tokens, np.zeros(8)).play()
    assert [(step.lanes, step.element) for step in played.steps] == [
        ((0,), "tokens[4]"), ((0,), "table[4]"), ((1,), "tokens[5]"), ((1,), "table[9]")
    ]  # fmt: skip
    assert played.steps[3].text == "Thread 1 reads table[9], but table has 5 elements."
    assert [step.mark for step in played.steps] == ["", "", "", "outside"]
    assert played.steps[0].state == "table ends with table[4]." and "if i < table.size" in played.ending[0]


def test_an_array_without_elements_has_no_last_one():
    played = check(gather)[1, 4](np.zeros(0), np.zeros(4, np.int64), np.zeros(4)).play()
    assert played.steps[-1].state == "table has no elements." and len(played.threads) == 1


def test_a_thread_that_returns_before_a_barrier_is_played_beside_one_that_waits():
    played = check(leave_early)[1, 8](np.array([1.0, 1, -1, 1, 1, 1, 1, 1])).play()
    assert played.threads == ("thread 1", "thread 2")
    assert [(step.kind, step.mark) for step in played.steps] == [
        ("read", ""), ("wait", "waits"), ("read", ""), ("leave", "missing")
    ]  # fmt: skip
    assert played.steps[1].line == line_of(leave_early, "syncthreads")
    assert played.steps[3].line == line_of(leave_early, "return")
    assert played.steps[3].state.startswith("7 threads wait at the barrier, but 1 of the same block has left")


def test_threads_at_two_barriers_are_played_for_either_finding():
    report = check(two_barriers)[1, 8](np.zeros(8))
    for number, finding in enumerate(report.findings, 1):
        played = report.play(number)
        assert [step.kind for step in played.steps] == ["wait", "wait"]
        marked = {step.mark: step.line for step in played.steps}
        assert marked["waits"] == finding.lines[0] != marked["missing"]


def test_what_has_no_steps_is_said_in_one_line():
    report = check(double)[1, 8](np.zeros(8))
    assert str(report.play()) == "The check of double found no error: there is nothing to play."
    with pytest.raises(ValueError, match="0 findings"):
        report.play(1)
    unwritten = str(check(read_first)[1, 8](np.zeros(8)).play())
    assert "\n" not in unwritten and "(uninitialised read) has no steps" in unwritten
