"""Tests run on the stand-in unless the environment says otherwise (`H2D_MACHINE=gpu make test`)."""

import os

os.environ.setdefault("H2D_MACHINE", "stand-in")
os.environ.setdefault("H2D_PROGRESS", "off")  # what the tests solve is nobody's progress


def pytest_sessionstart(session):
    """Build PyTorch's stand-in device first, so that no notebook's output has the line that says so."""
    if os.environ["H2D_MACHINE"] == "stand-in" and not hasattr(session.config, "workerinput"):
        from host_to_device.machine import SetUpError
        from host_to_device.standins.torch_device import building

        try:
            import torch

            building.built(torch)
        except (ImportError, SetUpError) as problem:  # the tests that need it say so themselves
            print(f"PyTorch's stand-in device is not there: {problem}")
