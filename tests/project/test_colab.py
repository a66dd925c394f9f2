"""A replica of Colab: its published versions as `tools/colab.json` lists them, and every notebook in it."""

import json
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from rehearsal import build, versions
from tools import colab_packages

ROOT = Path(__file__).resolve().parents[2]
STORED = colab_packages.stored()
WANTED = colab_packages.dependencies((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Where a cell's output differs in the replica: it needs a compiler that is not there (NVRTC, ziglang) or Dask's scheduler,
# which Colab does not ship. The cell says what to install, or the check has one line less, or g++ words an error.
SAYS = (
    *("is not installed here:", "pip install dask distributed"),
    *("NVRTC also compiles the source for a GPU", "CompileException: kernel.cu: In function"),
)


@pytest.mark.parametrize("runtime", colab_packages.RUNTIMES)
def test_our_bounds_hold_for_the_stored_list(runtime):
    assert colab_packages.unmet(WANTED, STORED[runtime]) == []
    assert len(STORED[runtime]) > 400 and "google-colab" not in STORED[runtime]


def test_the_stored_list_has_its_day_and_what_the_notebooks_stand_on():
    assert date(2026, 8, 1) <= date.fromisoformat(STORED["on"]) <= date.today()
    assert re.fullmatch(r"3\.\d+", STORED["python"])
    missing = {*colab_packages.BESIDE} - {*STORED["without a GPU"]}
    assert missing <= {"distributed"}  # see SAYS
    assert STORED["without a GPU"]["ipywidgets"].startswith("7.")
    assert {"cupy-cuda12x", "numba-cuda"} <= {*STORED["with a GPU"]} - {*STORED["without a GPU"]}


def test_fetched_lists_become_the_stored_form():
    fetched = {
        "pip-freeze.txt": "numpy==2.1.3\ntorch @ https://x.y/torch-2.11.0%2Bcpu-cp313-cp313-linux_x86_64.whl\n",
        "pip-freeze.gpu.txt": "numpy==2.1.3\ntorch==2.11.0+cu128\nnumba-cuda==0.22.2\n",
        "os-info.txt": "# made by a script\nPython 3.13.15\n",
    }
    assert json.loads(colab_packages.store(fetched, "2026-11-27")) == {
        "on": "2026-11-27",
        "python": "3.13",
        "without a GPU": {"numpy": "2.1.3", "torch": "2.11.0+cpu"},
        "other with a GPU": {"numba-cuda": "0.22.2", "torch": "2.11.0+cu128"},
    }


def test_the_replica_takes_the_courses_pytorch_and_leaves_what_belongs_to_colabs(monkeypatch, tmp_path):
    called = []
    monkeypatch.setattr(colab_packages, "run", lambda *words: called.append([*map(str, words)]))
    (tmp_path / "made").mkdir()
    colab_packages.make(tmp_path / "made", "python3", STORED["without a GPU"], WANTED, "2.13.0+cpu")
    constraints = (tmp_path / "made" / "constraints.txt").read_text().splitlines()
    assert called[0][:4] == ["python3", "-m", "venv", "--clear"]
    assert "torch==2.13.0+cpu" in called[1] and "ipywidgets" in called[1]
    assert f"numpy=={STORED['without a GPU']['numpy']}" in constraints
    assert not [line for line in constraints if line.startswith(("torch==", "triton=="))]


# --- The replica ------------------------------------------------------------------------------------------------


def replicas_python():
    """The Python of Colab if it is here and PyTorch can join it, else the running one; and a sentence that says which."""
    torch, wanted = versions.torch_for_cpu(), STORED["python"]
    try:
        python = versions.base_python(wanted)
    except build.BuildError as problem:
        return sys.executable, torch, f"the running Python, because {problem}"
    if torch and sys.version_info[:2] != tuple(map(int, wanted.split("."))):
        command = [python, "-m", "pip", "install", "-q", "--dry-run", "--no-deps", "--ignore-installed"]
        done = subprocess.run([*command, f"torch=={torch}"], capture_output=True, text=True)
        if done.returncode:
            return sys.executable, torch, f"the running Python, because PyTorch {torch} is not for {wanted}"
    return python, torch, f"Python {wanted}, as on Colab"


@pytest.fixture(scope="module")
def replica(tmp_path_factory):
    """Make the replica, with the course installed from an archive as the notebooks' first cell does."""
    folder = tmp_path_factory.mktemp("colab")
    python, torch, said = replicas_python()
    print(f"Colab's list of {STORED['on']}; {said}; PyTorch: {torch or 'none here'}")
    there = (
        STORED["without a GPU"]
        if torch
        else {name: version for name, version in STORED["without a GPU"].items() if name != "torch"}
    )
    made = colab_packages.make(folder / "environment", python, there, WANTED, torch)
    differences = colab_packages.install_course(made, colab_packages.archive(folder / "course.zip"))
    eight = folder / "ipywidgets8"
    colab_packages.run(
        *(made, "-m", "pip", *colab_packages.QUIET, "install", "--no-deps", "--target", eight),
        *("ipywidgets==8.1.9", "comm", "jupyterlab-widgets", "widgetsnbextension==4.0.15"),
    )
    return made, differences, {"7": "", "8": str(eight)}, bool(torch)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_installing_the_course_changes_no_package_of_colab(replica):
    _, differences, _, _ = replica
    assert differences == []


def part(said, cell):
    """Return what pytest printed of a cell that failed."""
    return said.partition(f" {cell} ")[2].partition("\n____")[0]


def without_torch(notebook):
    return "import torch" not in notebook.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("widgets", ["7", "8"])
def test_every_notebook_runs_in_the_replica(replica, widgets, tmp_path):
    python, _, places, has_torch = replica
    environment = colab_packages.environment() | {"PYTHONPATH": places[widgets]}
    ask = [python, "-c", "import ipywidgets; print(ipywidgets.__version__)"]
    version = subprocess.run(ask, capture_output=True, text=True, env=environment, check=True).stdout
    assert version.startswith(f"{widgets}.")
    notebooks = [
        path for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if has_torch or without_torch(path)
    ]
    assert len(notebooks) >= (13 if has_torch else 5)
    failed, passed, said = colab_packages.run_notebooks(python, notebooks, tmp_path, places[widgets])
    print(f"ipywidgets {version.strip()}: {passed} cells agree, {len(failed)} do not")
    assert passed > 100, said[-6000:]
    assert not [cell for cell in failed if not any(words in part(said, cell) for words in SAYS)], said[-6000:]
    assert len(failed) < 25
