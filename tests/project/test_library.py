"""The public face of the library."""

import ast
import doctest
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import host_to_device as h2d

ROOT = Path(__file__).resolve().parents[2]


def test_public_names_are_documented_with_arguments_and_errors():
    for name in h2d.__all__:
        thing = getattr(h2d, name)
        doc = inspect.getdoc(thing)
        assert doc and doc[0].isupper(), name
        if inspect.isfunction(thing) and inspect.signature(thing).parameters:
            assert "Parameters" in doc, name
            assert "Raises" in doc, name


@pytest.fixture
def started(monkeypatch):
    monkeypatch.setenv("H2D_MACHINE", "stand-in")
    h2d.start()
    yield
    h2d.stop()


@pytest.mark.parametrize("name", h2d.__all__)
def test_the_example_of_a_public_name_runs(name, started):
    """In a notebook after its first cell, which imports NumPy and the library and calls `h2d.start()`."""
    doc = inspect.getdoc(getattr(h2d, name))
    heading, examples = "Examples\n--------\n", doctest.DocTestParser().get_examples(doc)
    assert doc.count(heading) == 1 and any(f"h2d.{name}" in each.source for each in examples), "no example"
    assert len(examples) == len(doctest.DocTestParser().get_examples(doc.partition(heading)[2])), (
        "elsewhere, too"
    )
    test = doctest.DocTest(examples, {"np": np, "h2d": h2d}, name, None, 0, doc)
    said = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.DocTestRunner(optionflags=flags).run(test, out=said.append)
    assert result.failed == 0, "".join(said)


def test_the_books_reference_has_every_public_name_once():
    page = (ROOT / "chapters" / "api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\.\. auto(?:function|exception):: (\w+)$", page, re.M)) == h2d.__all__


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


def test_version_is_the_distributions():
    from importlib.metadata import version

    assert h2d.__version__ == version("host-to-device")


def test_figure_style_is_found_by_its_name():
    import matplotlib.pyplot as plt

    with plt.style.context("host_to_device.figures"):
        assert plt.rcParams["axes.spines.top"] is False
