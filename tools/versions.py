"""Test the library with other versions than the pinned ones: `python tools/versions.py lowest`, or newest, or successor.

`lowest` takes the oldest release of each dependency that pyproject.toml allows, `newest` the newest one that pip finds.
`successor` takes the newest ones and numba-cuda-mlir, which works with a NumPy that numba-cuda does not compile with.
They are installed into a temporary environment, with what the tests themselves need and without PyTorch, compilers for
GPUs and the book. Python 3.11 is the oldest that is supported, and the lowest releases are made for it.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The rooms of the library whose tests need neither the book nor what the course installs on top.
FOLDERS = ("standins", "checking", "counting", "measuring", "rendering", "exploring", "starting", "exercises")
# These read what the book or the course brings: docutils, nbgrader, PyTorch.
NOT_HERE = (
    "exercises/test_nbgrader.py",
    "exercises/test_sets.py",
    "exercises/test_mutants.py",
    "exploring/test_explorer.py",
    "exploring/test_placement.py",
)
# These compare signatures with those of the pinned releases.
OF_PINNED = (
    "standins/cupy/test_parity.py::test_names_and_signatures_are_those_of_cupy",
    "standins/numba_cuda/test_api.py::test_parameters_are_numbas",
)
SUCCESSOR = "tests/standins/numba_cuda/test_successor.py"  # the stand-in and the real library
TOOLS = ("pytest", "pytest-xdist", "pytest-timeout", "hypothesis", "jsonschema")  # as pinned for the tests
BEYOND_NUMBA_CUDA = "2.5"  # the NumPy with which numba-cuda 0.30 compiles no kernel; it asks for Python 3.12
MORE_TOOLS = ("ipykernel", "nbclient", "nbformat")  # whichever fit


def requirements(which: str) -> list[str]:
    """Return what to install for "lowest", "newest" or "successor", as pip takes it.

    Raises
    ------
    ValueError
        If a dependency names no lowest version, or if it is asked for something else than these three.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = project["project"]["dependencies"]
    pinned = [each for each in project["dependency-groups"]["test"] if each.split("==")[0] in TOOLS]
    if which not in ("lowest", "newest", "successor"):
        raise ValueError(f"which versions: {which!r} is neither lowest nor newest nor successor")
    for each in needed:
        if not re.fullmatch(r"[a-z-]+>=[0-9.]+", each):
            raise ValueError(f"{each} does not name the lowest version alone, as name>=version")
    if which == "lowest":
        needed = [each.replace(">=", "==") for each in needed]
    if which == "successor":
        needed = [*needed, f"numpy>={BEYOND_NUMBA_CUDA}", "numba-cuda-mlir[cu13]"]
    return [*needed, *pinned, *MORE_TOOLS]


def main(which: str) -> int:
    """Install the versions and run the tests; return pytest's exit status."""
    with tempfile.TemporaryDirectory(prefix="host-to-device-versions-") as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requirements(which)], check=True)
        subprocess.run([python, "-m", "pip", "list"], check=True)
        environment = os.environ | {"PYTHONPATH": str(ROOT), "H2D_MACHINE": "stand-in"}
        command = [python, "-m", "pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
        if which == "successor":
            command += ["-rs", SUCCESSOR]
        else:
            command += ["-m", "not slow", *(f"tests/{each}" for each in FOLDERS)]
            command += [f"--ignore=tests/{each}" for each in NOT_HERE]
            command += [f"--deselect=tests/{each}" for each in OF_PINNED]
        return subprocess.run(command, cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except (TypeError, ValueError) as problem:
        sys.exit(f"tools/versions.py: {problem}\ngive one word: lowest, newest or successor")
