"""Forks: each answers or says how it ended, none is left behind, and a group of `torch.distributed` sends real messages."""

import os
import signal
import time

import numpy as np
import pytest

from host_to_device.exercises import forks
from host_to_device.exercises.definition import Wrong
from host_to_device.support.installed import SetUpError


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def fail():
    return 1 // 0


def write_nothing():
    raise NotImplementedError


def test_each_fork_says_how_it_ended_and_none_is_left(monkeypatch):
    began, started, fork = time.monotonic(), [], os.fork
    monkeypatch.setattr(os, "fork", lambda: started.append(fork()) or started[-1])
    answered, killed, failed, late = forks.run_forks(
        [lambda: np.arange(2), die, fail, lambda: time.sleep(60)], globals(), 5.0
    )
    assert time.monotonic() - began < 30
    assert answered.result.tolist() == [0, 1] and answered.signal is None
    assert killed.signal == signal.SIGKILL and killed.result is None
    assert late.signal == 0
    with pytest.raises(Wrong, match="ZeroDivisionError") as raised:
        failed.raise_failed()
    assert "return 1 // 0" in raised.value.lines[0]
    assert len(started) == 4
    for child in started:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


def test_what_is_not_written_is_told_apart_and_a_fork_changes_nothing_here():
    numbers = []
    [other, unwritten] = forks.run_forks([lambda: numbers.append(1), write_nothing], globals(), 10.0)
    assert other.result is None and numbers == []
    with pytest.raises(forks.NotWritten):
        unwritten.raise_failed()


def test_a_group_adds_over_its_ranks_and_a_rank_that_waits_in_vain_is_named():
    torch = pytest.importorskip("torch")
    dist = pytest.importorskip("torch.distributed")

    def add(rank):
        mine = torch.full((2,), rank + 1.0)
        dist.all_reduce(mine)
        return mine.numpy()

    ended = forks.run_processes(4, add, globals())
    assert [each.result.tolist() for each in ended] == [[10, 10]] * 4
    ended = forks.run_processes(2, lambda rank: rank == 0 or add(rank), globals())
    assert [each.is_lost for each in ended] == [False, True]


def test_a_system_without_forks_gets_one_line(monkeypatch):
    monkeypatch.delattr(os, "fork")
    with pytest.raises(SetUpError, match="run it in WSL or on Colab") as raised:
        forks.run_forks([die], {}, 1.0)
    assert "\n" not in str(raised.value)
