"""Tests run on the stand-in unless the environment says otherwise (`H2D_MACHINE=gpu make test`)."""

import os
import subprocess
import sys

import pytest

os.environ.setdefault("H2D_MACHINE", "stand-in")
os.environ.setdefault("H2D_PROGRESS", "off")  # what the tests solve is nobody's progress


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

# What takes longest begins first, so that both workers are done at about the same time. Files that open a browser come
# last: from the first page on, Playwright's event loop runs in their worker, and nothing else can have one there.
FIRST = (
    "tests/standins/torch_device/test_parity.py",  # memory is counted to the byte, before anything else has used it
    "tests/standins/torch_device/",
    "tests/exercises/test_sets.py",
    "tests/exercises/test_mutants.py",
    "tests/standins/numba_cuda/test_types.py",
    "tests/standins/numba_cuda/test_bad_input.py",
    "tests/exercises/test_answering.py",
    "tests/exercises/test_nbgrader.py",
    "notebooks/",
    "solutions/",
)
LAST = ("tests/site/test_accessibility.py", "tests/site/test_browser.py", "tests/site/")


def pytest_collection_modifyitems(items):
    """Move files to the front and to the end; within a file the order stays."""

    def place(item) -> int:
        for at, start in enumerate(FIRST):
            if item.nodeid.startswith(start):
                return at
        return len(FIRST) + next((at for at, start in enumerate(LAST, 1) if item.nodeid.startswith(start)), 0)

    items.sort(key=place)
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(4 * 3600))  # all mutants of a set take most of an hour
