"""What does harm to a naive grader does none to the sandbox: one batch of all of it, and an honest notebook at its end."""

import csv
import functools
import os
import socket
import threading
from pathlib import Path

import pytest

from host_to_device.__main__ import main
from host_to_device.grading import marking, sandbox
from host_to_device.grading.watching import descendants
from tests.grading import attacks
from tests.grading.naive import PORT
from tests.grading.test_naive import EVERY, FILES, HARMS

HONEST = attacks.notebook([attacks.START, attacks.HONEST, attacks.SAXPY, *attacks.ASK])
RIGHT = ("not UTF-8", "UTF-16", "format 3", "sources as lists")  # odd files with right answers
LEFT = [Path("/tmp/big"), Path("/tmp/0"), Path("/dev/shm/0")]  # what the attacks would write here
SERVED = 8888  # the port of "a server on this machine"


def outside(folder):
    """Return what is outside the sandbox and must stay: files with their sizes and times, processes, open ports."""
    library = Path(sandbox.PACKAGE)
    files = [each for each in (*folder.rglob("*"), *library.rglob("*.py"), library, folder) if each.exists()]
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if " 0A " in line]
    return {
        "files": {str(each): (each.stat().st_size, each.stat().st_mtime_ns) for each in files},
        "left": [str(each) for each in LEFT if each.exists()],
        "processes": sorted(descendants(os.getpid())),
        "served": any(each.endswith(f":{SERVED:04X}") for each in listening),
        "home": os.path.isdir(os.path.expanduser("~")),
    }


@pytest.mark.slow
def test_a_batch_of_all_harms_goes_on_and_changes_nothing_outside(tmp_path, monkeypatch):
    try:
        sandbox.bubblewrap(sandbox.Limits())
    except sandbox.NoSandbox as problem:
        pytest.skip(str(problem))
    submissions, others, out = tmp_path / "submissions", tmp_path / "others", tmp_path / "grades"
    submissions.mkdir()
    others.mkdir()
    (others / "marks.csv").write_text("Ana,2\n")
    names = [*HARMS, *FILES]
    assert len(names) == 55
    for place, name in enumerate(names):
        (submissions / f"{place:02}.ipynb").write_bytes(EVERY[name])
    (submissions / "99.ipynb").write_bytes(HONEST)
    monkeypatch.setattr(marking, "Patience", functools.partial(marking.Patience, cell=12.0))
    reached = []
    with socket.create_server(("127.0.0.1", PORT)) as server:  # which "a network connection" looks for
        threading.Thread(target=lambda: reached.append(server.accept()), daemon=True).start()
        before = outside(others)
        words = ["grade", "02", str(submissions), "--out", str(out), "--only", "02.a", "02.1"]
        assert main([*words, "--jobs", "2", "--seed", "7"]) == 0
        assert outside(others) == before
    assert not reached
    rows = {row["student"]: row for row in csv.DictReader((out / "grades.csv").open())}
    assert len(rows) == 56 and (rows["99"]["02.a"], rows["99"]["02.1"]) == ("1", "2")
    honest = {each.name: each.honest for each in attacks.HARMS}
    unlike = {}
    for place, name in enumerate(names):
        row, right = rows[f"{place:02}"], name.removeprefix("a file: ") in RIGHT
        got = float(row["02.a"]), float(row["02.1"])
        if got[1] != 2.0 * right or (got[0] != 1.0 and (right or honest.get(name))):
            unlike[name] = (*got, row["remarks"])
    assert not unlike
