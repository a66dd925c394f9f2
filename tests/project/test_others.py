"""The command that runs notebooks of others: what it says of whole, failing, hanging and damaged ones."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")

from benchmarks import others  # noqa: E402

KERNEL = """from numba import cuda
@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2"""
LAUNCH = """import numpy as np
x = cuda.to_device(np.arange(4.0))
double[1, 4](x)
assert x.copy_to_host().tolist() == [0, 2, 4, 6]"""


def notebook(*cells, language="python"):
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    made.metadata["kernelspec"] = {"name": language, "display_name": language, "language": language}
    return nbformat.writes(made)


@pytest.fixture
def folder(tmp_path):
    """A folder of small notebooks: what each is called says what becomes of it."""
    path = tmp_path / "course"
    (path / "part").mkdir(parents=True)
    written = {
        "a whole.ipynb": notebook(
            "%matplotlib inline", KERNEL, LAUNCH, "# a comment", "open('new.txt', 'w').write('x')"
        ),
        "b failing.ipynb": notebook(
            "import a_package_that_is_not_there", "1 + 1", "raise ValueError('two\\nlines')"
        ),
        "d damaged.ipynb": '{"cells": [',
        "e other.ipynb": notebook("println(1)", language="julia"),
        "f ending.ipynb": notebook("import os; os._exit(3)"),
        "part/g fetching.ipynb": notebook("import urllib.request as r", "r.urlopen('http://example.com')"),
        "h large.ipynb": notebook("x = bytearray(8 * 2**30)"),
    }
    for name, text in written.items():
        (path / name).write_text(text)
    return path


@pytest.mark.slow
def test_each_notebook_has_a_line_and_the_folder_stays_as_it_is(folder):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    head, *lines, last = others.report(folder)
    assert head.split() == ["notebook", "cells", "ran", "whole", "first", "error"]
    width = len("part/g fetching.ipynb")
    assert [(line[:width].strip(), *line[width:].split(maxsplit=3)) for line in lines] == [
        ("a whole.ipynb", "5", "5", "yes"),
        (
            "b failing.ipynb",
            "3",
            "1",
            "no",
            "cell 1: ModuleNotFoundError: No module named 'a_package_that_is_not_there'",
        ),
        ("d damaged.ipynb", "0", "0", "no", lines[2][width:].split(maxsplit=3)[-1]),
        ("e other.ipynb", "0", "0", "no", "is written in julia, not in Python"),
        ("f ending.ipynb", "1", "0", "no", "cell 1: ended its process (exit status 3)"),
        ("h large.ipynb", "1", "0", "no", "cell 1: MemoryError:"),
        ("part/g fetching.ipynb", "2", "1", "no", lines[6][width:].split(maxsplit=3)[-1]),
    ]
    assert "cannot be read as a notebook" in lines[2] and "nothing is fetched here" in lines[6]
    assert last == "1 of 7 notebooks ran whole, 7 of 12 cells ran"
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_notebook_that_hangs_is_ended(tmp_path):
    (tmp_path / "hanging.ipynb").write_text(notebook("1 + 1", "while True: pass", "2 + 2"))
    outcome = others.run(tmp_path, Path("hanging.ipynb"), seconds=3)
    assert (outcome.cells, outcome.ran, outcome.whole) == (3, 1, False)
    assert outcome.problem == "cell 2: not done after 3 s"


@pytest.mark.parametrize(
    ("name", "words"),
    [("nowhere", "is not a folder"), ("a file", "is a file, not a folder"), ("empty", "has no notebooks")],
)
def test_a_folder_without_notebooks_is_one_line(tmp_path, name, words):
    (tmp_path / "a file").write_text(json.dumps({}))
    (tmp_path / "empty").mkdir()
    command = [sys.executable, "-m", "benchmarks.others", str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and not done.stdout
    (line,) = done.stderr.splitlines()
    assert words in line and str(tmp_path / name) in line
