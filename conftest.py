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
from host_to_device.machine import SetUpError
from host_to_device.standins.torch_device import building

try:
    import torch

    building.built(torch)
except (ImportError, SetUpError) as problem:  # the tests that need it say so themselves
    print(f"PyTorch's stand-in device is not there: {problem}")
"""

# What takes longest begins first, so that both workers are done at about the same time.
LONGEST = (
    "tests/site/test_accessibility.py",
    "tests/exercises/test_sets.py",
    "tests/site/test_browser.py",
    "tests/exercises/test_mutants.py",
    "tests/standins/test_types.py",
    "tests/standins/test_bad_input.py",
    "tests/exercises/test_answering.py",
    "tests/exercises/test_nbgrader.py",
    "notebooks/",
    "solutions/",
    "tests/site/",
)


def pytest_collection_modifyitems(items):
    """Move the longest files to the front; within a file the order stays."""

    def place(item) -> int:
        return next((at for at, start in enumerate(LONGEST) if item.nodeid.startswith(start)), len(LONGEST))

    items.sort(key=place)
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(4 * 3600))  # all mutants of a set take most of an hour
