"""The public face of the library."""

import ast
import inspect
import pickle
import subprocess
import sys

import pytest

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


def printed(code):
    """Return what a new process prints for some code."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_is_light_and_changes_nothing():
    """The import of the library brings no other package, and no module of the library but this one."""
    code = (
        "import os, sys; before, there = dict(os.environ), set(sys.modules); import host_to_device; "
        "assert before == dict(os.environ); "
        "new = {m for m in set(sys.modules) - there if m.partition('.')[0] not in sys.stdlib_module_names}; "
        "print(sorted(new))"
    )
    assert printed(code) == "['host_to_device']"


def test_public_names_bring_neither_numba_nor_a_notebook_package():
    """All names imported: no numba (the stand-in could not be chosen any more), no plotting, no notebooks."""
    heavy = (
        "numba",
        "torch",
        "cupy",
        "matplotlib",
        "ipywidgets",
        "IPython",
        "nbformat",
        "nbclient",
        "filelock",
    )
    code = (
        "import os, sys; before = dict(os.environ); from host_to_device import *; "
        "assert before == dict(os.environ); assert callable(check) and callable(explore_grid); "
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    assert printed(code) == "[]"


def test_type_checkers_see_the_public_names():
    tree = ast.parse(inspect.getsource(h2d))
    imports = [each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom) and each.level == 0]
    seen = {
        name.asname: each.module
        for each in imports
        for name in each.names
        if each.module.startswith("host_to_device")
    }
    assert seen == h2d._MODULE_OF


def test_public_names_are_listed_before_they_are_imported():
    assert set(h2d.__all__) <= set(dir(h2d))
    assert printed("import host_to_device as h2d; print(set(h2d.__all__) <= set(dir(h2d)))") == "True"
    with pytest.raises(AttributeError, match="module 'host_to_device' has no attribute 'chekc'"):
        h2d.chekc  # noqa: B018


@pytest.mark.parametrize("name", h2d.__all__)
def test_public_names_report_themselves_as_the_librarys(name):
    thing = getattr(h2d, name)
    assert (thing.__module__, thing.__qualname__) == ("host_to_device", name)
    assert pickle.loads(pickle.dumps(thing)) is thing
    assert inspect.getmodule(thing) is h2d
    assert inspect.isclass(thing) or f"def {name}(" in inspect.getsource(thing)


def test_an_uncaught_error_has_its_public_name():
    code = "import host_to_device.support.installed as i; print(i.SetUpError.__module__)"
    assert printed(code) == "host_to_device"


def test_what_a_notebook_replaces_after_its_first_cell_is_known():
    code = (
        "import host_to_device as h2d; h2d.start(); import numpy; numpy.sum = len; "
        "from host_to_device.exercises import safety; print((numpy, 'sum') in safety.replaced())"
    )
    assert printed(code).splitlines()[-1] == "True"


def test_version_is_the_distributions():
    from importlib.metadata import version

    assert h2d.__version__ == version("host-to-device")


def test_figure_style_is_found_by_its_name():
    import matplotlib.pyplot as plt

    with plt.style.context("host_to_device.figures"):
        assert plt.rcParams["axes.spines.top"] is False
