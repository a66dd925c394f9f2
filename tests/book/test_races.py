"""The player in pages: below which reports it stands, and that a live cell can show one."""

import subprocess
import sys
import zipfile
from io import BytesIO

import pytest

from book import races
from book.live import library


@pytest.mark.parametrize(
    ("kind", "played"),
    [
        ("race", True),
        ("out of bounds", True),
        ("barrier divergence", True),
        ("uninitialised read", False),
        ("unwritten output", False),
    ],
)
def test_a_player_stands_below_reports_that_can_be_played(kind, played):
    text = f"check of add: 1 error (8 threads)\n\n1. {kind}: thread 1 of block 0 …"
    assert bool(races.REPORTED.search(text)) == played
    assert bool(races.IN_HTML.search(f"<li><p><strong>{kind}</strong>: thread 1</p></li>")) == played


# What a page's worker runs, with the files that it has.
IN_WORKER = """
import host_to_device as h2d
h2d.start()
from numba import cuda
import numpy as np
@cuda.jit
def kernel(a, out):
    i = cuda.grid(1)
    out[i] = a[i]
played = h2d.check(kernel)[1, 8](np.zeros(5), np.zeros(5)).play()
print(len(played.steps), '<div class="h2d-player"' in played._repr_html_())
"""


def test_a_live_cell_has_what_a_player_needs(tmp_path):
    with zipfile.ZipFile(BytesIO(library.packed(library.files([])))) as archive:
        archive.extractall(tmp_path)
    (tmp_path / "program.py").write_text(IN_WORKER)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert done.stdout.splitlines()[-1] == "2 True", done.stderr[-2000:]
