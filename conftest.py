"""Tests run on the stand-in unless the environment says otherwise (`H2D_MACHINE=gpu make test`)."""

import gc
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests import needing_solutions, weekly

os.environ.setdefault("H2D_MACHINE", "stand-in")
os.environ.setdefault("H2D_PROGRESS", "off")  # what the tests solve is nobody's progress
# The workers have all cores: PyTorch's threads would wait for each other's cores, and small tensors take ten times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# The workers have this process's week, also when another one begins meanwhile.
os.environ.setdefault(weekly.VARIABLE, weekly.this_week())
# The tests start Python hundreds of times: bytecode is kept, or each process would compile the library anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_sessionstart(session):
    """Begin to build PyTorch's stand-in device, so that no notebook's output has the line that says so.

    The tests are collected meanwhile; who needs the device before it is there waits for it.
    """
    if os.environ["H2D_MACHINE"] == "stand-in" and not hasattr(session.config, "workerinput"):
        session.building = subprocess.Popen([sys.executable, "-c", BUILD], cwd=session.config.rootpath)


def pytest_sessionfinish(session):
    """Leave no compiler behind."""
    if hasattr(session, "building"):
        session.building.wait()


BUILD = """
from host_to_device.support.installed import SetUpError
from host_to_device.standins.torch_device import building

try:
    import torch

    building.built(torch)
except (ImportError, SetUpError) as problem:  # the tests that need it say so themselves
    print(f"PyTorch's stand-in device is not there: {problem}")
"""

# The longest files begin first, so that all workers end at about the same time. Files that open a browser come last:
# from the first page on, Playwright's event loop runs in their worker, and no other event loop can run there.
FIRST = (
    "tests/standins/torch_device/test_parity.py",  # memory is counted to the byte, before anything else has used it
    "tests/counting/test_memory_timelines.py",  # the same
    "tests/lessons/test_errors.py",  # the same
    "tests/standins/torch_device/",
    "tests/site/test_pages.py",  # builds the site, which no file that comes later has to wait for
    "tests/site/test_exercise_pages.py",
    "tests/exercises/test_sets.py",
    "tests/exercises/test_answers.py",
    "tests/checking/test_corpora.py",
    "tests/exercises/test_mutants.py",
    "tests/exercises/test_answering.py",
    "tests/standins/numba_cuda/",
    "tests/checking/",
    "tests/exercises/",
    "notebooks/",
    "solutions/",
)
LAST = ("tests/site/test_browser.py", "tests/site/test_controls.py", "tests/site/")
# Files that one worker runs, one after the other: what the first has made in its process serves the second as well.
TOGETHER = {
    "tests/exercises/test_answers.py": "tests/exercises/test_sets.py",  # each solution is run and judged once
    "tests/site/test_exercise_pages.py": "tests/site/test_pages.py",  # each page is parsed once
    "tests/book/test_checks.py": "tests/checking/test_twins.py",  # each example of the check runs once
    "tests/inspecting/test_showing.py": "tests/inspecting/test_listings.py",  # they show the same kernels
}
# The solution that runs as a notebook with every commit, in a kernel and compiled. The others do in `make test-all`, and
# `tests/exercises/test_sets.py` runs all of them in its own process.
WITH_A_KERNEL = "solutions/02-host-and-device.ipynb"
# Notebooks that take longest, most of them to measure; the tests of their lessons run with every commit.
LONG_NOTEBOOKS = tuple(f"notebooks/{number}-" for number in ("01", "05", "07", "09", "10", "11", "12"))


def pytest_configure(config):
    """Know the marker of tests that have their turns, and refuse a week that is none."""
    config.addinivalue_line("markers", "one_in(parts): of the slow ones a part each week, in turns")
    try:
        weekly.check()
    except ValueError as problem:
        raise pytest.UsageError(str(problem)) from None


@pytest.hookimpl(optionalhook=True)  # the rehearsal runs files without xdist
def pytest_xdist_auto_num_workers():
    """Return how many workers `make test` starts: one more than cores, because a worker waits for browsers and kernels."""
    return 1 + (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)


@pytest.hookimpl(tryfirst=True)  # before nbval starts the kernel
def pytest_runtest_setup(item):
    """Let a notebook's own measurements be short: the test compares no time."""
    if item.path.suffix == ".ipynb":
        os.environ["H2D_SECONDS"] = "0.02"
    else:
        os.environ.pop("H2D_SECONDS", None)


def pytest_report_header(config):
    """Say which week's parts run of what runs in turns, where failures are written, and what a public course cannot run."""
    if not hasattr(config, "workerinput"):
        failures.append(config.rootpath / "_build" / "failures" / f"{os.getpid()}.txt")
    left_out = ""
    if needing_solutions.is_public():
        named = ", ".join((*needing_solutions.FILES, *needing_solutions.TESTS))
        left_out = f"this course has no solutions, so these tests are left out: {named}\n"
    return (
        left_out
        + f"week {weekly.this_week()} of what runs in turns ({weekly.VARIABLE} repeats a week; {weekly.ALL}: everything)"
        + f"\nfailures, as they happen: {failures[0] if failures else 'elsewhere'}"
    )


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out the slow tests
def pytest_collection_modifyitems(config, items):
    """Move files to the front and to the end; within a file the order stays. Mark what only `make test-all` runs."""

    @cache
    def place(file: str) -> int:
        for at, start in enumerate(FIRST):
            if file.startswith(start):
                return at
        return len(FIRST) + next((at for at, start in enumerate(LAST, 1) if file.startswith(start)), 0)

    items.sort(key=lambda item: place(item.nodeid.partition("::")[0]))
    for item in items:
        solution = item.nodeid.startswith("solutions/") and not item.nodeid.startswith(WITH_A_KERNEL)
        if solution or item.nodeid.startswith(LONG_NOTEBOOKS):
            item.add_marker("slow")
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(3600))
    if needing_solutions.is_public():
        unable = [item for item in items if needing_solutions.needs_solutions(item.nodeid)]
        items[:] = [item for item in items if item not in unable]
        config.hook.pytest_deselected(items=unable)
    if not any("::" in each for each in config.args):  # a test that is named runs
        left_out = weekly.left_out(items)
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=[*left_out])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Schedule files that belong together as one."""
    from tests.scheduling import (
        FilesTogether,
    )  # the rehearsal's environments have pytest, and no pytest-xdist

    return FilesTogether(config, log, TOGETHER) if config.getoption("dist") == "loadfile" else None


def pytest_collection_finish():
    """Let the garbage collector leave alone what lasts until the end: 15,000 tests, and the modules they import.

    Looking through all of it takes half a second, each time that a test, PyTorch or the collector itself collects.
    """
    gc.collect()
    gc.freeze()


# -- how long the tests have taken

SLOWEST = 10  # files that are named at the end of a run
seconds: Counter[tuple[str, bool]] = (
    Counter()
)  # of each file, and whether `make test-all` alone runs the test
failures: list[Path] = []  # the file for what fails: a run of an hour need not end before it is read


def pytest_runtest_logreport(report):
    """Add up what each file takes, in the process that prints the result. Write down a failure as it happens."""
    seconds[report.nodeid.partition("::")[0], "slow" in report.keywords] += report.duration
    if report.failed and failures:
        failures[0].parent.mkdir(parents=True, exist_ok=True)
        with failures[0].open("a", encoding="utf-8") as file:
            file.write(f"{report.nodeid} ({report.when})\n{report.longreprtext}\n\n")


def kind_of(file: str) -> str:
    """Return the kind of proof that a file is: the folder of its tests, or of the notebooks that are run."""
    folder = file.rpartition("/")[0]
    return folder if folder in ("notebooks", "solutions") else "/".join(folder.split("/")[:3])


def pytest_terminal_summary(terminalreporter):
    """Name the slowest files, and after `make test-all` the seconds of each kind of proof."""
    files, kinds = Counter(), {}
    for (file, slow), taken in seconds.items():
        files[file] += taken
        kinds.setdefault(kind_of(file), [0, 0])[slow] += taken
    terminalreporter.section(f"slowest files, of {sum(files.values()):.0f} s in all workers together")
    for file, taken in files.most_common(SLOWEST):
        terminalreporter.write_line(f"{taken:8.1f} s  {file}")
    if any(slow for _, slow in seconds):
        terminalreporter.section(
            f"seconds of each kind of proof: with every commit, in make test-all alone (week {weekly.this_week()})"
        )
        for kind, (often, rarely) in sorted(kinds.items(), key=lambda each: -sum(each[1])):
            terminalreporter.write_line(f"{often:8.0f} s {rarely:8.0f} s  {kind}")
