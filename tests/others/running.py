"""Runs a file of a library's own tests in a process of its own, and returns the result of each test.

The process writes a line when a test begins and one when it ends. A test that ends the process, or takes too long, is
known by its first line; the rest of the file then runs in a new process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from host_to_device.support import child_processes

ROOT = Path(__file__).parent.parent.parent
TEST_SECONDS = 400.0  # one test: the longest compiles for 50 s, and for more on a busy machine
FILE_SECONDS = 1500.0  # all processes of a file together: far more than it takes on a busy machine
MOST_PROCESSES = 12  # of one file
MOST_COSTLY = 20  # tests of a file that compile a kernel each
START = Path(__file__).parent / "start"
PATH: list[str] = []  # where the processes look for a suite's names, besides this checkout


@dataclass(frozen=True)
class Suite:
    """Tests of a library: `folder` holds them, and `package` is the module that this folder is.

    `names` is the module of `tests.others` whose `put_in_place` makes the stand-in answer for the library. Of the
    variants of a parametrised test, `most` run, which a hash of their names chooses, and of a file's tests in the same
    way `most_of_file`; 0 means all. For files that begin with a word of `costly`, which compile a kernel for each dtype,
    there are fewer, and of a loop over dtypes three run.
    """

    name: str
    folder: Path
    package: str
    names: str
    most: int = 0
    most_of_file: int = 0
    costly: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What became of a test: `passed`, `failed` or `skipped`, and the first line of the reason."""

    test: str
    outcome: str
    why: str = ""


def outcomes(suite: Suite, file: str, left_out: Sequence[str] = ()) -> list[Outcome]:
    """Run a file of a suite, such as `cudapy/test_array.py`, and return the outcome of each test that it has.

    Parameters
    ----------
    suite
        The tests.
    file
        The file's path in the suite's folder.
    left_out
        Patterns of tests that are not run.
    """
    found: dict[str, Outcome] = {}
    end = time.monotonic() + FILE_SECONDS
    with tempfile.TemporaryDirectory(prefix="others-") as folder:
        lines, done = Path(folder) / "lines", Path(folder) / "done"
        for _ in range(MOST_PROCESSES):
            lines.write_text("")
            done.write_text("\n".join([*left_out, *(f"={test}" for test in found)]))
            said = _process(suite, file, lines, done, end - time.monotonic(), folder)
            running = _read(lines, found)
            if running is None:
                if said and not found:
                    found[file] = Outcome(file, "failed", said)
                break
            why = said or f"the test takes longer than {TEST_SECONDS:.0f} s"  # the process has ended itself
            found[running] = Outcome(running, "failed", why)
            if time.monotonic() > end:
                break
    return list(found.values())


def _process(suite: Suite, file: str, lines: Path, done: Path, seconds: float, folder: str) -> str:
    """Run what is left of a file; return why the process ended if not by itself, otherwise nothing."""
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "tests.others.child", "--noconftest"),
        *("-c", os.devnull, f"--rootdir={suite.folder}", f"--confcutdir={suite.folder}"),
        *(part for name in ("cacheprovider", "xdist", "timeout", "faulthandler", "nbval", "hypothesispytest", "anyio")
          for part in ("-p", f"no:{name}")),
        "--tb=line",
        str(suite.folder / file),
    ]  # fmt: skip
    costly = file.startswith(suite.costly) if suite.costly else False
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(START), *PATH]),
        "OMP_NUM_THREADS": "1",
        "H2D_MACHINE": "stand-in",
        "PYTHONWARNINGS": "ignore",
        "TMPDIR": folder,
        **suite.environment,
        "OTHERS_NAMES": suite.names,
        "OTHERS_FOLDER": str(suite.folder),
        "OTHERS_PACKAGE": suite.package,
        "OTHERS_MOST": str(suite.most),
        "OTHERS_MOST_OF_FILE": str(MOST_COSTLY if costly else suite.most_of_file),
        "OTHERS_DTYPES": "3" if costly else "0",
        "OTHERS_LINES": str(lines),
        "OTHERS_DONE": str(done),
        "OTHERS_SECONDS": str(TEST_SECONDS),
    }
    with open(lines.with_name("printed"), "w+") as printed:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,  # it ends with this process: `child` waits for that
            stdout=printed,
            stderr=printed,
            start_new_session=True,
        )
        try:
            status = process.wait(max(seconds, 1))
        except subprocess.TimeoutExpired:
            return f"the file takes longer than {FILE_SECONDS:.0f} s"
        finally:
            child_processes.end(process)
        printed.seek(0)
        text = printed.read()
    if status in (0, 1, 5):  # 5: no test of the file is to run
        return ""
    last = text.strip().splitlines()[-1:] or [""]
    return f"exit status {status}: {last[0][:200]}"


def _read(lines: Path, found: dict[str, Outcome]) -> str | None:
    """Add the outcomes in a file of lines to those found; return the test that has begun and not ended."""
    running = None
    for line in lines.read_text().splitlines():
        row = json.loads(line)
        if "begins" in row:
            running = row["begins"]
            continue
        running = None
        found[row["test"]] = Outcome(row["test"], row["outcome"], row["why"])
    return running
