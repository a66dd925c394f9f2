"""The table of versions: what is read from a wheel's metadata, what is kept where nothing could be read, and its page."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from book.tables import wheels
from tools import wheel_matrix

TORCH = [
    "filelock",
    'cuda-toolkit[cublas,cudart]==13.0.3; platform_system == "Linux"',
    'nvidia-cudnn-cu13==9.20.0.48; platform_system == "Linux"',
    'nvidia-cudnn-cu12==1.0; platform_system == "Windows"',
    'triton==3.7.1; platform_system == "Linux" and python_version < "3.15"',
]
JAX = [
    'nvidia-cudnn-cu12<10.0,>=9.8; extra == "with-cuda"',
    "nvidia-cuda-runtime-cu12>=12.1.105; extra == 'with-cuda'",
]


def test_exact_versions_are_read():
    assert wheel_matrix.row_of(TORCH) == {
        "cuda": "13.0.3", "cudnn": "9.20.0.48", "cudnn_for": "13", "triton": "3.7.1"
    }  # fmt: skip


def test_a_range_is_shown_as_a_range_and_only_with_its_extra():
    row = wheel_matrix.row_of(JAX, "with-cuda")
    assert (row["cudnn"], row["cuda"]) == (">=9.8, <10.0", ">=12.1.105")
    assert set(wheel_matrix.row_of(JAX).values()) == {None}


def test_what_asks_for_nothing_and_what_cannot_be_read_leave_no_version():
    assert set(wheel_matrix.row_of([]).values()) == {None}
    assert set(wheel_matrix.row_of(["nvidia-cudnn-cu12 (=9.1", "numpy"]).values()) == {None}


def test_the_toolkit_speaks_before_the_runtime():
    lines = ["nvidia-cuda-runtime-cu12==12.1.1", "cuda-toolkit==13.0.3"]
    assert wheel_matrix.row_of(lines)["cuda"] == wheel_matrix.row_of(lines[::-1])["cuda"] == "13.0.3"


def test_rows_that_cannot_be_had_keep_their_day(capsys):
    old = {"torch==2.5.1": {"cudnn": "9.1.0.70", "read": "2026-01-01"}}

    def read(wheel):
        if wheel != "torch==2.13.0":
            raise LookupError("ERROR: nothing at https://example.com/simple/torch")
        return TORCH

    rows, failed = wheel_matrix.renewed(
        old, ["torch==2.5.1", "torch==2.13.0", "torch==9"], read, "2026-02-02"
    )
    assert rows["torch==2.5.1"] == old["torch==2.5.1"]
    assert rows["torch==2.13.0"]["read"] == "2026-02-02" and rows["torch==2.13.0"]["cudnn"] == "9.20.0.48"
    assert failed == ["torch==2.5.1", "torch==9"] and "torch==9" not in rows
    printed = capsys.readouterr().out
    assert "1 of 3" in printed and "kept as of 2026-01-01" in printed and "left out" in printed
    assert "example.com" not in printed


def test_a_query_has_a_limit(monkeypatch, tmp_path):
    def hangs(command, timeout, **options):
        assert timeout == wheel_matrix.SECONDS
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", hangs)
    with pytest.raises(LookupError, match=rf"no answer within {wheel_matrix.SECONDS} s"):
        wheel_matrix.ask(Path("python"), "torch==2.13.0", tmp_path)


def test_another_python_is_tried_where_a_wheel_has_none_for_the_first(monkeypatch, tmp_path):
    asked = []

    def pip(command, **options):
        asked.append(command)
        python = command[command.index("--python-version") + 1]
        if python == wheel_matrix.PYTHONS[0]:
            problem = "ERROR: No matching distribution found for torch===1.0"
            return subprocess.CompletedProcess(command, 1, "", problem)
        report = {"install": [{"metadata": {"requires_dist": TORCH}}]}
        Path(command[command.index("--report") + 1]).write_text(json.dumps(report), encoding="utf-8")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", pip)
    assert wheel_matrix.ask(Path("python"), "torch==1.0", tmp_path) == TORCH
    assert len(asked) == 2
    assert all(command[-1] == "torch===1.0" and "--dry-run" in command for command in asked)


def test_an_unknown_row_is_refused_in_one_line(capsys):
    assert wheel_matrix.main(["mxnet"]) == 2
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_the_stored_rows_are_those_that_are_asked_for():
    rows = wheel_matrix.load()
    assert len(rows) >= 20
    assert list(rows) == [wheel for wheel in wheel_matrix.WHEELS if wheel in rows]
    for wheel, row in rows.items():
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row["read"]), wheel
        if wheel.startswith("torch=="):
            assert re.fullmatch(r"\d+\.\d+\.\d+\.\d+", row["cudnn"]), f"{wheel} pins its cuDNN"
            assert row["cuda"].startswith(f"{row['cudnn_for']}."), f"{wheel}: cuDNN for another CUDA"


def test_the_table_has_a_cell_for_each_column():
    for wheel, row in wheel_matrix.load().items():
        assert len(wheels.cells(wheel, row)) == len(wheels.HEAD)
    row = dict.fromkeys(("cuda", "cudnn", "cudnn_for", "triton")) | {"read": "2026-01-01"}
    name, *wants, day = wheels.cells("cupy-cuda12x[ctk]==13.6.0", row)
    assert (name, set(wants)) == ("cupy-cuda12x 13.6.0", {wheels.NOTHING})
    assert day.replace("\N{NON-BREAKING HYPHEN}", "-") == "2026-01-01"
    assert "`>=9.1, <10.0`" in wheels.cells("jax==1", row | {"cudnn": ">=9.1, <10.0"})
    with pytest.raises(ValueError, match="is no wheel with its version"):
        wheels.cells("torch", row)
