"""The runner of other people's tests, and the lists of what is expected to fail."""

import contextlib
import signal
import subprocess
import sys
import time

import psutil
import pytest

from tests.others import running, suites
from tests.others.expected import CLASSES, Entry, Expected, matches
from tests.others.running import Outcome, Suite

TESTS = """
import os, time, unittest
import pytest

def test_right(): pass
def test_wrong(): assert 1 + 1 == 3, "a sum"
def test_hangs(): time.sleep(60)
def test_ends_the_process(): os._exit(7)
def test_skipped(): pytest.skip("no such thing")
@pytest.mark.parametrize("n", range(10))
def test_many(n): pass
@pytest.mark.xfail
def test_wrong_as_they_know(): assert 0

class TestCase(unittest.TestCase):
    def test_parts(self):
        with self.subTest("second"):
            self.fail("in a part")
"""
NAMES = "def put_in_place(folder): pass"


@pytest.fixture
def suite(tmp_path, monkeypatch):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_all.py").write_text(TESTS)
    (tmp_path / "tests" / "test_broken.py").write_text("import a_package_that_is_not_there")
    (tmp_path / "given.py").write_text(
        f"import sys; sys.path.insert(0, {str(tmp_path / 'tests')!r})\n{NAMES}"
    )
    monkeypatch.setattr(running, "TEST_SECONDS", 2)
    monkeypatch.setattr(running, "PATH", [str(tmp_path)])
    return Suite("given", tmp_path / "tests", "", "given", most=3)


def test_each_test_has_an_outcome_however_it_ends(suite):
    found = {each.test.partition("::")[2]: each for each in running.outcomes(suite, "test_all.py")}
    many = [name for name in found if name.startswith("test_many")]
    assert len(many) == 3, "three variants of a test run"
    assert {name: each.outcome for name, each in found.items() if name not in many} == {
        "test_right": "passed",
        "test_wrong": "failed",
        "test_hangs": "failed",
        "test_ends_the_process": "failed",
        "test_skipped": "skipped",
        "test_wrong_as_they_know": "passed",
        "TestCase::test_parts": "failed",
    }
    assert "a sum" in found["test_wrong"].why
    assert found["test_hangs"].why == "the test takes longer than 2 s"
    assert found["test_ends_the_process"].why.startswith("exit status 7")
    assert "in a part" in found["TestCase::test_parts"].why


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["terminated", "killed"])
def test_the_process_of_a_file_ends_with_the_runner(suite, number, tmp_path):
    written = tmp_path / "process"
    (suite.folder / "test_waits.py").write_text(
        f"import os, subprocess, sys, time\nfrom pathlib import Path\n\ndef test_waits():\n"
        f"    inner = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"    Path({str(written)!r}).write_text(f'{{os.getpid()}} {{inner.pid}} ')\n    time.sleep(60)\n"
    )
    runner = subprocess.Popen(
        [
            *(sys.executable, "-c"),
            f"from tests.others import running\nrunning.PATH = [{str(tmp_path)!r}]\n"
            f"running.outcomes(running.{suite!r}, 'test_waits.py')".replace("PosixPath", "running.Path"),
        ],
        cwd=running.ROOT,
    )
    until(lambda: written.exists() and written.read_text().endswith(" "))
    processes = [int(each) for each in written.read_text().split()]
    assert len(processes) == 2 and not any(map(has_ended, processes))
    runner.send_signal(number)
    runner.wait()
    until(lambda: all(map(has_ended, processes)))


def until(condition):
    """Wait until a condition holds, a minute at most."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def has_ended(process):
    """Return whether a process is no longer there, or waits for its parent to ask how it ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(process).status() == psutil.STATUS_ZOMBIE
    return True


def test_a_file_that_cannot_be_imported_has_failed(suite):
    (only,) = running.outcomes(suite, "test_broken.py")
    assert (only.test, only.outcome) == (
        "test_broken.py",
        "failed",
    ) and "a_package_that_is_not_there" in only.why


def test_what_is_not_as_expected_is_named():
    expected = Expected((Entry(("a.py::T::test_*", "a.py::gone", "b.py"), "internal", "why"),))
    outcomes = [Outcome("a.py::T::test_one", "failed"), Outcome("a.py::T::test_two", "passed")]
    outcomes += [Outcome("a.py::other", "failed", "new"), Outcome("a.py::fine", "passed")]
    assert expected.problems("a.py", outcomes) == [
        "passes, and 'a.py::T::test_*' says that it fails: a.py::T::test_two",
        "fails: a.py::other: new",
        "no test of a.py fails that 'a.py::gone' names",
    ]
    assert expected.leaves_out("b.py") and not expected.leaves_out("a.py")


def test_brackets_in_a_pattern_stand_for_themselves():
    assert matches("a.py::test[1-*]", "a.py::test[1-x]") and not matches("a.py::test[1-*]", "a.py::test1")


@pytest.mark.parametrize("path", sorted(suites.EXPECTED.glob("*.toml")), ids=lambda path: path.stem)
def test_every_entry_has_a_class_and_one_line(path):
    for entry in Expected.read(path).entries:
        assert entry.kind in CLASSES and entry.tests and entry.reason and "\n" not in entry.reason, entry
