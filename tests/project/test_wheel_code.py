"""The stored GPU code of wheels: what is read from a wheel, and what is kept where nothing could be read."""

import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from host_to_device.diagnosing.machine_code import Code
from tests.diagnosing import fatbins
from tools import wheel_code

VERSION = "__version__ = '2.6.0+cu124'\ncuda: Optional[str] = '12.4'\nhip: Optional[str] = None\n"


def wheel(folder, name, **members):
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members.items():
            archive.writestr(member.replace("__", "/").replace("_py", ".py").replace("_so", ".so"), content)
    return path


def test_pytorchs_wheel_says_its_cuda(tmp_path):
    members = {"torch__version_py": VERSION, "torch__lib__x_so": fatbins.code(["8.0", "9.0"])}
    path = wheel(tmp_path, "torch-2.6.0-cp311.whl", **members)
    assert wheel_code.row_of("torch==2.6.0", path) == {
        "name": "torch", "version": "2.6.0", "cuda": "12.4", "file": path.name,
        "sass": ["8.0", "9.0"], "ptx": [], "few": [],
    }  # fmt: skip


def test_otherwise_the_version_of_the_ptx_tells_it(tmp_path):
    path = wheel(tmp_path, "cupy.whl", a_so=fatbins.code(["8.0"], ["9.0"], version=(8, 8)))
    assert wheel_code.row_of("cupy-cuda12x==13.6.0", path)["cuda"] == "12.9"


@pytest.mark.parametrize(
    ("ptx", "cuda"),
    [("7.0", "11.0"), ("7.8", "11.8"), ("8.0", "12.0"), ("8.5", "12.5"), ("8.6", "12.7"), ("8.7", "12.8"),
     ("8.8", "12.9"), ("9.0", "13.0"), ("9.4", "13.4")],
)  # fmt: skip
def test_ptx_belongs_to_a_release_of_cuda(ptx, cuda):
    """From NVIDIA's table of PTX versions."""
    assert wheel_code.CUDA_OF_PTX[ptx] == cuda


def test_a_package_without_code_has_its_extra(tmp_path):
    path = wheel(tmp_path, "numba.whl", a_so=b"")
    assert wheel_code.cuda_of("numba-cuda[cu13]==0.30.4", path, Code("x")) == "13.0"
    with pytest.raises(LookupError, match="nothing tells for which CUDA"):
        wheel_code.cuda_of("numpy==2.0", path, Code("x"))


def test_a_wheel_is_removed_after_it_was_read(monkeypatch):
    folders = []

    def fetch(name, folder):
        folders.append(folder)
        return wheel(folder, "torch-2.6.0.whl", torch__version_py=VERSION)

    monkeypatch.setattr(wheel_code, "fetch", fetch)
    assert wheel_code.read("torch==2.6.0")["cuda"] == "12.4"
    monkeypatch.setattr(wheel_code, "fetch", lambda name, folder: Path(folder, "bad.whl"))
    with pytest.raises(LookupError):
        wheel_code.read("torch==2.6.0")
    assert folders and not folders[0].exists()


def test_pip_has_a_limit_and_takes_no_local_build(monkeypatch, tmp_path):
    def hangs(command, timeout, **options):
        assert timeout == wheel_code.SECONDS and command[-1] == "numba-cuda===0.30.4"
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", hangs)
    with pytest.raises(LookupError, match=r"not fetched within \d+ s"):
        wheel_code.fetch("numba-cuda[cu12]==0.30.4", tmp_path)


def test_rows_that_cannot_be_had_keep_their_day(capsys):
    old = {"torch==2.6.0": {"cuda": "12.4", "sass": ["9.0"], "read": "2026-01-01"}}

    def read(name):
        if name != "torch==2.9.1":
            raise LookupError("ERROR: nothing at https://example.com/simple/torch")
        return {"cuda": "12.8", "sass": []}

    rows, failed = wheel_code.renewed(old, ["torch==2.6.0", "torch==2.9.1", "torch==9"], read, "2026-02-02")
    assert rows["torch==2.6.0"] == old["torch==2.6.0"] and rows["torch==2.9.1"]["read"] == "2026-02-02"
    assert failed == ["torch==2.6.0", "torch==9"] and "torch==9" not in rows
    printed = capsys.readouterr().out
    assert "1 of 3" in printed and "kept as of 2026-01-01" in printed and "left out" in printed
    assert "example.com" not in printed and "no GPU code" in printed


def test_an_unknown_row_is_refused_in_one_line(capsys):
    assert wheel_code.main(["mxnet"]) == 2
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_stored_rows_are_those_that_are_asked_for_one_a_line(monkeypatch, tmp_path):
    rows = wheel_code.load()
    assert list(rows) == [each for each in wheel_code.WHEELS if each in rows] and len(rows) >= 15
    monkeypatch.setattr(wheel_code, "STORED", tmp_path / "rows.json")
    wheel_code.store(rows)
    assert wheel_code.load() == rows
    assert len((tmp_path / "rows.json").read_text(encoding="utf-8").splitlines()) == len(rows) + 2
    assert json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))[0]["name"] == "torch"
