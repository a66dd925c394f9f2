"""A plugin of pytest, for the process in which `running` runs a file of a library's own tests."""

from __future__ import annotations

import faulthandler
import fnmatch
import hashlib
import importlib
import json
import os
import re
import signal
import threading
from pathlib import Path

import pytest

FOLDER = Path(os.environ["OTHERS_FOLDER"])
SECONDS = float(os.environ["OTHERS_SECONDS"])
MOST = int(os.environ["OTHERS_MOST"])
MOST_OF_FILE = int(os.environ["OTHERS_MOST_OF_FILE"])
SEED = "1"  # another seed chooses other variants of the tests with parameters


def end_with_runner(pipe):
    """End this process, and all that it has started, when the process that runs it is no longer there."""
    os.read(pipe, 1)
    os.killpg(0, signal.SIGKILL)


threading.Thread(target=end_with_runner, args=(os.dup(0),), daemon=True).start()  # pytest changes stdin later


def pytest_configure(config):
    """Make the stand-in answer for the library before any of its tests is imported."""
    for marker in ("slow", "multi_gpu", "thread_unsafe", "parallel_threads"):
        config.addinivalue_line("markers", marker)
    os.environ["OTHERS_NESTED"] = "1"  # for processes that a test starts (see `start/sitecustomize.py`)
    importlib.import_module(os.environ["OTHERS_NAMES"]).put_in_place(FOLDER)


class Module(pytest.Module):
    """A file of tests, imported under the name that it has in its library."""

    def _getobj(self):
        path = self.path.relative_to(FOLDER).with_suffix("")
        name = ".".join([os.environ["OTHERS_PACKAGE"], *path.parts]).strip(".")
        try:
            return importlib.import_module(name)
        except pytest.skip.Exception as skipped:
            if not skipped.allow_module_level:
                raise self.CollectError("pytest.skip outside of a test") from skipped
            raise


@pytest.hookimpl(tryfirst=True)
def pytest_collect_directory(path, parent):
    """Let a package be a folder: pytest would import it under a name of its own."""
    return pytest.Dir.from_parent(parent, path=path)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path, parent):
    """Let pytest make our module of a file."""
    return Module.from_parent(parent, path=module_path)


def pytest_collection_modifyitems(items):
    """Leave out what has run, what is not to run, and all but a few variants of a test with parameters."""
    lines = Path(os.environ["OTHERS_DONE"]).read_text().splitlines()
    done = {line[1:] for line in lines if line.startswith("=")}
    patterns = [re.compile(fnmatch.translate(escaped(line))) for line in lines if not line.startswith("=")]
    to_run = [
        item
        for item in items
        if not item.get_closest_marker("slow") and not any(pattern.match(item.nodeid) for pattern in patterns)
    ]
    variants = {}
    for item in to_run:
        variants.setdefault(item.nodeid.partition("[")[0], []).append(item.nodeid)
    chosen = {
        name for group in variants.values() for name in (sorted(group, key=rank)[:MOST] if MOST else group)
    }
    if MOST_OF_FILE:
        chosen = set(sorted(chosen, key=rank)[:MOST_OF_FILE])
    items[:] = [item for item in to_run if item.nodeid in chosen and item.nodeid not in done]


def escaped(pattern):
    """Return a pattern in which `[` stands for itself, as in a test's name, and only `*` and `?` are special."""
    return pattern.replace("[", "[[]")


def rank(name):
    """Return the place of a variant among the others of its test."""
    return hashlib.sha256(f"{SEED} {name}".encode()).digest()


def write(**row):
    """Write a line, and have it in the file before anything can end this process."""
    with open(os.environ["OTHERS_LINES"], "a") as lines:
        lines.write(json.dumps(row) + "\n")


reports = {}
nowhere = open(os.devnull, "w")  # noqa: SIM115 — for the stack of a test that hangs


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Limit the test's time, and write its two lines."""
    reports.clear()
    write(begins=item.nodeid)
    faulthandler.dump_traceback_later(SECONDS, exit=True, file=nowhere)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
        outcome = next((each for each in ("failed", "skipped", "passed") if each in reports), "failed")
        write(test=item.nodeid, outcome=outcome, why=reports.get(outcome, ""))


def pytest_runtest_logreport(report):
    """Keep what a phase of a test says, of its subtests too."""
    if report.outcome == "passed" and report.when != "call":
        return
    outcome = "passed" if hasattr(report, "wasxfail") else report.outcome  # the library expects this failure
    if outcome == "skipped" and "passed" in reports:
        return
    reports.setdefault(outcome, reason(report))


def pytest_collectreport(report):
    """Write down a file that cannot be imported."""
    if report.outcome != "passed":
        write(test=report.nodeid, outcome=report.outcome, why=reason(report))


def reason(report):
    """Return one line that says why a test failed or was skipped."""
    if report.outcome == "passed":
        return ""
    if report.outcome == "skipped":
        return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)[:300]
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        raised = re.findall(r"^[\w.]*(?:Error|Exception|Warning|NotInStandIn)\b.*", crash.message, re.M)
        if (
            "Traceback" in crash.message and raised[1:]
        ):  # CuPy's helpers: what CuPy raised, and what NumPy did
            return f"{raised[0][:80]} {' | '.join(raised[1:3])}"[:400]
        return " ".join(crash.message.split())[:400]
    lines = [line for line in str(report.longrepr).splitlines() if line.strip()]
    named = [
        line.strip() for line in lines if re.match(r"(E\s+)?[\w.]*(Error|Exception|Skipped)\b", line.strip())
    ]
    return (named or lines or ["?"])[-1][:400]
