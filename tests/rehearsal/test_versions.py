"""Colab's versions on the rehearsal: their environment is made from pins of its own, outside the learner's."""

import sys
from types import SimpleNamespace

import pytest

from rehearsal import build, run, versions
from tools import colab_packages

PINS = {
    name: version.split()[0]
    for name, version in colab_packages.packages(versions.COLAB.pins.read_text(encoding="utf-8")).items()
}


def test_colabs_pins_are_versions_that_the_library_allows():
    wanted = colab_packages.dependencies((run.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert colab_packages.unmet(wanted, PINS) == []
    assert (PINS["numpy"], PINS["numba"], PINS["numba-cuda"]) == ("2.1.3", "0.61.2", "0.22.2")


@pytest.mark.parametrize("there", [True, False], ids=["pyenv's, not chosen", "none"])
def test_an_older_python_takes_the_place_of_one_that_is_not_there(monkeypatch, capsys, tmp_path, there):
    shim = tmp_path / "python3.13"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setattr(versions.shutil, "which", lambda name: str(shim) if there else None)
    monkeypatch.setattr(versions.sys, "version_info", (3, 12, 1))
    assert versions.base_python("3.13") == sys.executable
    assert "there is no Python 3.13 here" in capsys.readouterr().err
    monkeypatch.setattr(versions.sys, "version_info", (3, 14, 0))
    with pytest.raises(build.BuildError, match=r"need Python 3\.13: install it"):
        versions.base_python("3.13")


def test_a_python_that_is_there_is_taken(monkeypatch):
    monkeypatch.setattr(versions.shutil, "which", lambda name: sys.executable)
    assert versions.base_python("3.13") == sys.executable


def test_what_pip_says_is_said(monkeypatch, tmp_path):
    """The pins cannot be installed: nothing is left that a later run would take for the environment."""
    monkeypatch.setenv("REHEARSAL_CACHE", str(tmp_path))
    monkeypatch.setattr(versions, "base_python", lambda wanted: sys.executable)
    failed = SimpleNamespace(
        returncode=1, stdout="", stderr="No matching distribution found for numba==0.61.2"
    )
    monkeypatch.setattr(versions.subprocess, "run", lambda *arguments, **more: failed)
    colab = versions.Versions("elsewhere", "14.0.1", 12, "cuda_*", "3.13", versions.COLAB.pins)
    with pytest.raises(build.BuildError, match="No matching distribution found for numba"):
        colab.interpreter()
    assert not [path for path in tmp_path.iterdir() if not path.name.endswith((".new", ".lock"))]


def test_an_unknown_name_is_refused():
    done = run.subprocess.run(
        [sys.executable, "-m", "rehearsal", "--versions", "tomorrow", "program.py"],
        cwd=run.ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2 and "invalid choice: 'tomorrow'" in done.stderr
