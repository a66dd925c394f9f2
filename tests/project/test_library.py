"""The public face of the library."""

import inspect
import subprocess
import sys

import host_to_device as h2d


def test_public_names_are_documented_with_arguments_and_errors():
    for name in h2d.__all__:
        thing = getattr(h2d, name)
        doc = inspect.getdoc(thing)
        assert doc and doc[0].isupper(), name
        if inspect.isfunction(thing) and inspect.signature(thing).parameters:
            assert "Parameters" in doc, name
            assert "Raises" in doc, name


def test_no_public_function_shares_its_name_with_a_module():
    for name in h2d.__all__:
        assert not inspect.ismodule(getattr(h2d, name)), name


def test_importing_is_light_and_changes_nothing():
    """Importing neither imports numba (the stand-in could not be chosen any more) nor a plotting library."""
    code = (
        "import os, sys; before = dict(os.environ); import host_to_device; "
        "assert before == dict(os.environ); "
        "print([m for m in ('numba', 'torch', 'cupy', 'matplotlib', 'ipywidgets') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_version_is_the_distributions():
    from importlib.metadata import version

    assert h2d.__version__ == version("host-to-device")


def test_figure_style_is_found_by_its_name():
    import matplotlib.pyplot as plt

    with plt.style.context("host_to_device.figures"):
        assert plt.rcParams["axes.spines.top"] is False
