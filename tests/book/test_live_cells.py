"""Running cells in a page's worker, without a browser: what a cell needs, what is run again, and what a page cannot run."""

import json
import subprocess
import sys
import zipfile
from io import BytesIO

import pytest

from book.live import cells, library, pages
from book.live.in_worker import running
from tests.site.reading import ROOT


def page(*sources):
    return [{"id": f"c{place}", "source": source} for place, source in enumerate(sources)]


@pytest.fixture
def session(monkeypatch):
    """A session with names of its own, and the list of what it emits."""
    said = []
    for name in ("IPython", "IPython.display"):
        monkeypatch.setitem(sys.modules, name, None)
    made = running.Session(lambda *piece: said.append(piece))
    made.said = said
    return made


def ran(session):
    found = [cell for kind, cell, _ in session.said if kind == "running"]
    session.said.clear()
    return found


def printed(session, kind="out"):
    return "".join(text for each, _, text in session.said if each == kind)


def test_a_cell_brings_the_earlier_cells_that_it_needs_and_no_others(session):
    book = page("import math", "x = 1", "y = 2", "print(x + math.floor(0.5))")
    assert session.run(book, "c3")
    assert printed(session) == "1\n"
    assert ran(session) == ["c0", "c1", "c3"]
    assert session.run(book, "c3") and ran(session) == ["c3"]


def test_what_may_have_changed_an_object_runs_as_well(session):
    book = page("x = []", "x.append(1)", "def f(): pass", "f()", "print(x)")
    assert session.run(book, "c4")
    assert printed(session) == "[1]\n"
    assert ran(session) == ["c0", "c1", "c4"]


def test_a_loop_reads_nothing_that_its_own_lines_bind_first(session):
    names = running.names_of("for k in range(3):\n    total = 0\n    total += k\n    print(total, x)")
    assert names.reads == {"range", "print", "x"} and names.binds == {"k", "total"}


def test_an_edited_cell_runs_again_before_what_needs_it(session):
    book = page("def f():\n    return 1", "y = f()", "print(y)")
    session.run(book, "c2")
    ran(session)
    book[0] = {"id": "c0", "source": "def f():\n    return 2"}
    assert session.run(book, "c2")
    assert printed(session) == "2\n"
    assert ran(session) == ["c0", "c1", "c2"]


def test_an_error_shows_the_readers_line_and_ends_the_run(session):
    assert not session.run(page("x = 1\ny = x / 0", "print(y)"), "c1")
    assert printed(session, "error") == "line 2\n    y = x / 0\nZeroDivisionError: division by zero"
    assert ran(session) == ["c0"]


def test_a_cell_goes_on_with_what_a_failed_cell_has_made_now(session):
    book = page("x = [1]\nx[5]", "print(x)")
    assert session.run(book, "c1") and printed(session) == "[1]\n"


def test_a_cell_does_not_go_on_with_what_an_older_text_has_made(session):
    book = page("def f():\n    return 1", "print(f())")
    assert session.run(book, "c1")
    book[0] = {"id": "c0", "source": "1 / 0\ndef f():\n    return 2"}
    assert not session.run(book, "c1")
    assert printed(session) == "1\n"


def test_a_wrong_line_is_shown_with_its_place(session):
    assert not session.run(page("x = (1"), "c0")
    assert printed(session, "error").startswith("line 1\n    x = (1\n")


def test_the_librarys_own_errors_are_one_line(session):
    from host_to_device.support.installed import SetUpError

    session.names["Problem"] = SetUpError
    assert not session.run(page("raise Problem('do this')"), "c0")
    assert printed(session, "error") == "host_to_device: do this"


def test_the_last_expression_is_shown_as_html_where_it_has_some(session):
    session.names["Html"] = running.Html
    assert session.run(page("Html('<b>a</b>')", "7", "7;"), "c0")
    assert printed(session, "html") == "<b>a</b>"
    session.run(page("Html('<b>a</b>')", "7", "7;"), "c1")
    assert printed(session) == "7\n"
    session.run(page("Html('<b>a</b>')", "7", "7;"), "c2")
    assert printed(session) == "7\n"


def test_too_much_output_is_cut_once(session):
    session.run(page(f"print('a' * {running.LONGEST + 5})\nprint('b')"), "c0")
    assert printed(session).count("(The rest") == 1 and "b" not in printed(session).split("(The")[0]


def test_ipythons_own_lines_are_left_out(session):
    assert session.run(page("try:\n    x = 1\nexcept NameError:\n    %pip install a"), "c0")


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import torch\ntorch.zeros(3)", "PyTorch"),
        ("from torch import nn", "PyTorch"),
        ("import matplotlib.pyplot as plt\nplt.plot()", "Matplotlib"),
        ("from numba import njit\n@njit\ndef f(): pass", "Numba's compiler"),
        ("import cupy as cp\nk = cp.RawKernel('', 'k')", "a compiler for CUDA C++"),
        ("import cupy as cp\n@cp.fuse\ndef f(x): return x", "a compiler for CUDA C++"),
        ("h2d.show(kernel)", "compilers"),
        ("h2d.time(kernel)", "a clock"),
    ],
)
def test_a_page_says_what_it_cannot_run(source, what):
    [why] = cells.why_not([source])
    assert why.startswith(f"This cell needs {what}") and "\n" not in why


@pytest.mark.parametrize("number", ["03.7", "04.a"])
def test_an_exercise_whose_check_needs_a_compiler_says_so(number):
    found = [
        each["why"]
        for lesson in cells.LESSONS
        for each in cells.live_cells(ROOT / "exercises" / f"{lesson}.ipynb")
        if each["source"] == f'h2d.answer("{number}")'
    ]
    assert found == [
        f"The check of this exercise needs {cells.UNCHECKED[number]}, which this page does not have."
    ]


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\nfrom numba import cuda, njit",
        "import numpy as np\nimport torch",
        "import cupy as cp\nisinstance(1, cp.RawKernel)",
    ],
)
def test_naming_something_needs_no_compiler(source):
    assert cells.why_not([source]) == [""]


def test_what_uses_the_result_of_such_a_cell_cannot_run_either():
    why = cells.why_not(["import torch\nx = torch.ones(1)", "y = x", "print(y)", "z = 2"])
    assert all("PyTorch" in each for each in why[:3]) and why[3] == ""


def test_a_library_that_the_page_lacks_may_be_imported_and_using_it_is_one_line(session):
    book = page(
        "import math, torch, matplotlib.pyplot as plt", "print(math.pi > 3)", "torch.zeros(3)", "plt.plot()"
    )
    assert session.run(book, "c1") and printed(session) == "True\n"
    assert not session.run(book, "c2") and not session.run(book, "c3")
    last = [line for line in printed(session, "error").splitlines() if line.startswith("ImportError")]
    assert [line.split(":")[1] for line in last] == [
        f" this page does not have {name}" for name in ("PyTorch", "Matplotlib")
    ]


def test_a_check_changes_nothing_that_a_later_cell_needs(session):
    book = page("x = [1]", "def h2d(): pass", "h2d.check(k)[1, 2](x)", "x.append(2)", "print(x)")
    assert running.needed(book, 4) == [0, 3]


def test_an_answer_brings_the_cells_with_the_names_that_its_check_needs(session):
    book = page("def twice(): return 2", "def other(): pass", "print(twice())")
    book[2] = {"id": "c2", "source": "print('twice' in globals())", "uses": ["twice"]}
    assert session.run(book, "c2") and printed(session) == "True\n"
    assert ran(session) == ["c0", "c2"]
    assert cells.names_needed("02-host-and-device")["02.2"] == ["vec_add", "add_on_device"]


def test_two_notebooks_on_a_page_share_no_names(monkeypatch):
    said = []
    for name in ("IPython", "IPython.display"):
        monkeypatch.setitem(sys.modules, name, None)
    first, second = (running.Session(lambda *piece: said.append(piece)) for _ in range(2))
    before = sys.modules["__main__"]
    assert first.run(page("x = 1"), "c0") and not second.run(page("print(x)"), "c0")
    assert first.run(page("x = 1", "import __main__\n__main__.x"), "c1")
    assert ("out", "c1", "1\n") in said and sys.modules["__main__"] is before


def test_an_example_of_the_check_keeps_the_numbers_of_its_lines(session):
    first, wrong, *_ = cells.check_cells(pages.EXAMPLES / "race_global.py")
    assert "h2d.start()\nfrom numba import cuda" in first["source"] and "standins" not in first["source"]
    lines = (pages.EXAMPLES / "race_global.py").read_text().splitlines()
    assert lines[wrong["line"] - 1] == wrong["source"].splitlines()[0] == "@cuda.jit"
    assert not session.run([{"id": "a", "source": "x = 1\n1 / 0", "line": 11}], "a")
    assert printed(session, "error").startswith("line 12\n    1 / 0\n")


@pytest.mark.parametrize(("folder", "lesson"), [(f, each) for f in pages.FOLDERS for each in cells.LESSONS])
def test_many_cells_of_each_lesson_run(folder, lesson):
    found = cells.live_cells(ROOT / folder / f"{lesson}.ipynb")
    live = sum("why" not in each for each in found)
    # Lesson 1 compares compiled code with PyTorch, and more than half of lesson 4 is CUDA C++.
    least = {"notebooks/01": 0.1, "notebooks/04": 0.4, "exercises/04": 0.6}.get(f"{folder}/{lesson[:2]}", 0.7)
    assert live > least * len(found)


def test_the_zip_is_the_same_each_time_and_has_checks_and_no_solutions():
    whole = library.packed(library.files(["02-host-and-device"]))
    assert whole == library.packed(library.files(["02-host-and-device"]))
    with zipfile.ZipFile(BytesIO(whole)) as archive:
        names = archive.namelist()
        checks = json.loads(archive.read("host_to_device/exercises/sets/02-host-and-device.ipynb"))
    assert {"numba.py", "live_running.py", "host_to_device/__init__.py"} <= set(names)
    assert not any(name.startswith("host_to_device/grading") for name in names)
    assert "BEGIN SOLUTION" not in json.dumps(checks) and len(checks["cells"]) > 5


# What a page's worker does, in a Python that finds the worker's `numba` in the place of the real one.
IN_WORKER = """
import host_to_device as h2d
h2d.start()
from numba import cuda, float32, njit
import numpy as np
@cuda.jit
def kernel(a, out):
    i = cuda.grid(1)
    out[i] = a[i]
report = h2d.check(kernel)[1, 8](np.zeros(5), np.zeros(5))
print(report.findings[0].kind, float32 is np.float32)
try:
    njit(len)
except NotImplementedError as problem:
    print(problem)
try:
    from numba import typed
except ImportError as problem:
    print(problem)
"""


def test_the_workers_numba_offers_cuda_and_refuses_the_compiler(tmp_path):
    with zipfile.ZipFile(BytesIO(library.packed(library.files([])))) as archive:
        archive.extractall(tmp_path)
    (tmp_path / "program.py").write_text(IN_WORKER)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=200
    )
    assert not done.stderr
    banner, found, njit, typed = done.stdout.splitlines()
    assert "as plain Python because Numba is not installed" in banner
    assert found == "out of bounds True"
    assert njit.startswith("numba.njit needs Numba's compiler") and typed.startswith("numba.typed needs")
