"""A test that crashes its worker: it fails once, the others run, and the run ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CRASHES = """
import os, pytest

@pytest.mark.parametrize("k", range(4))
def test(k):
    if k == 1:
        os._exit(3)
"""
PASSES = "def test(): pass\n"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("first", ["crashes", "passes"])
def test_a_crash_fails_one_test_and_the_run_ends(tmp_path, first):
    files = {"test_crashes.py": CRASHES, "test_passes.py": PASSES, "test_too.py": PASSES}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    names = sorted(files, key=lambda name: first not in name)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-n", "2", "--dist", "loadfile"]
    done = subprocess.run(
        [*command, "--no-loadscope-reorder", *names],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert "1 failed, 5 passed" in done.stdout, done.stdout + done.stderr
    assert "test_crashes.py::test[1]" in done.stdout
