"""What attacks do without the grader's sandbox, in a plain runner: whether they score or do harm.

The runner (`bare`) is itself inside a bubblewrap, which protects this machine, and in which there are a file and a
solution of somebody else's for the attack to find. `without_sandbox.json` records what each attack did
there. Those with "nothing" prove nothing yet, and attacks that are not in the record have not been tried.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from host_to_device.grading import sandbox
from tests.exercises.test_sets import ROOT
from tests.grading import attacks

SECONDS = 25  # of a runner; an honest notebook takes some three
RECORD = json.loads(Path(__file__).with_name("without_sandbox.json").read_text(encoding="utf-8"))
TRIED = [each for each in attacks.ALL if each.name in RECORD]


def effect(attack, folder):
    """Run an attack in a plain runner; return "scores", what harm it does, or "nothing"."""
    others = folder / "others"
    (others / "solutions").mkdir(parents=True)
    (others / "marks.csv").write_text("Ana,2\n")
    shutil.copy(next((ROOT / "solutions").glob("02-*.ipynb")), others / "solutions" / "02-x.ipynb")
    (folder / "cells.json").write_text(json.dumps(attack.code()))
    result = folder / "work" / "result.json"
    result.parent.mkdir()
    libraries = [word for each in ("/usr", "/etc/alternatives") for word in ("--ro-bind", each, each)]
    python = [each for each in {sys.base_prefix, sys.prefix} if not each.startswith("/usr/")]
    words = [
        *("bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--proc", "/proc"),
        *("--dev", "/dev", "--size", str(2**28), "--tmpfs", "/tmp", *libraries),
        *(word for name in sandbox.LINKS if Path("/", name).is_symlink() for word in sandbox._link(name)),
        *(word for each in python for word in ("--ro-bind", each, each)),
        *("--ro-bind", str(ROOT), "/course", "--bind", str(others), "/home/others"),
        *("--bind", str(result.parent), "/result", "--ro-bind", str(folder / "cells.json"), "/cells.json"),
        *(
            "--setenv",
            "PYTHONPATH",
            "/course",
            "--setenv",
            "OMP_NUM_THREADS",
            "1",
            "--setenv",
            "HOME",
            "/tmp",
        ),
        *("--setenv", "H2D_MACHINE", "stand-in", "--setenv", "H2D_PROGRESS", "off", "--chdir", "/tmp", "--"),
        *(sys.executable, "-P", "-s", "/course/tests/grading/bare.py", "/cells.json", "/result/result.json"),
    ]
    limits = sandbox.Limits(memory=4 * 2**30, cpu=SECONDS, processes=64)
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=limits.set,
        start_new_session=True,
    )
    try:
        status = process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return "harms: the runner hangs"
    if not (others / "marks.csv").exists():
        return "harms: others' marks are gone"
    if not result.exists():
        return f"harms: the runner ends without marks (exit {status})"
    found = json.loads(result.read_text())
    if found["said"].get("02.1"):
        return "scores"
    if not found["said"].get("02.a"):
        return "harms: the honest answer earns nothing"
    if found["processes"]:
        return "harms: processes go on"
    if found["files"] > 1_000:
        return "harms: files without number"
    return "nothing"


@pytest.mark.slow
@pytest.mark.parametrize("attack", TRIED, ids=lambda each: each.name)
def test_an_attack_does_without_the_sandbox_what_is_recorded(attack, tmp_path):
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    was = RECORD[attack.name]
    assert effect(attack, tmp_path).split(" (")[0] == was.split(" (")[0]


def test_the_record_names_attacks_that_there_are():
    assert RECORD and len(TRIED) == len(RECORD)
