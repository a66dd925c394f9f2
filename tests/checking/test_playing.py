"""`report.play()`: what it says and shows, and when there is nothing to play."""

import json
import re

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


def test_without_a_race_there_is_one_line():
    report = check(double)[1, 8](np.zeros(8))
    assert "\n" not in str(report.play()) and "nothing to play" in str(report.play())
    with pytest.raises(ValueError, match="0 findings"):
        report.play(1)
