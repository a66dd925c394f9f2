"""Every set of exercises: in step with its source, solved by its solution, and by none of its wrong answers.

`make test` judges the solution and a wrong answer of each exercise here, except of five long sets, and interprets their
kernels: the answer machinery, the checks and their hints are the same, and nothing is compiled. What the cells of a solution print is
compared with what is stored. `make test-all` judges all answers here, interpreted and compiled, in turns of `WEEKS`
weeks, and runs the solutions as notebooks in kernels of their own; with every commit, one of them runs so (`conftest.py` of the project says which).
"""

import contextlib
import gc
import io
import linecache
import os
import re
import shutil
import subprocess
import sys
import tarfile
import textwrap
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from authoring import notebooks
from authoring.building import BEGIN, END, STARTED, student_version
from authoring.solutions import SOLUTION_ONLY, Part, WrongAnswer, nbgrader, read_set, tags
from host_to_device.exercises import answering, catalogue, definition
from host_to_device.starting import machine
from tests.sanitized import without_what_differs

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = sorted((ROOT / "solutions").glob("*.ipynb"))
STUB = set(STARTED)
WEEKS = 6
ABOUT_THE_POOL = "07.12"  # its verdicts depend on what CuPy's pool holds, and other solutions leave arrays
LONG = ("03", "04", "05", "12", "13")  # to run these sets takes longest: `make test-all` judges their answers


@cache
def parts(path: Path) -> list[Part]:
    """Return the exercises of a solution notebook in their order."""
    return read_set(notebooks.read(path), f"solutions/{path.name}")


def each_set(runs: bool = False):
    """Parametrize by every set; a test that runs the solutions leaves the long ones to `make test-all`."""
    marked = [
        pytest.param(path, marks=[pytest.mark.slow] * (runs and path.name[:2] in LONG)) for path in SOLUTIONS
    ]
    return pytest.mark.parametrize("path", marked, ids=lambda path: path.stem)


def each_wrong():
    """Parametrize by every wrong answer; `make test` judges the first of each exercise, `make test-all` all."""
    return pytest.mark.parametrize(
        ("path", "part", "wrong"),
        [
            pytest.param(
                path,
                part,
                wrong,
                id=f"{part.number} {wrong.title}",
                marks=[pytest.mark.slow] * (wrong is not part.wrong[0] or path.name[:2] in LONG),
            )
            for path in SOLUTIONS
            for part in parts(path)
            for wrong in part.wrong
        ],
    )


# -- form


def test_there_are_sets():
    assert SOLUTIONS


@each_set()
def test_a_set_opens_with_puzzles_and_rises_through_the_core_to_what_is_optional(path):
    puzzles = [part for part in parts(path) if part.is_puzzle]
    core = [part for part in parts(path) if not part.is_puzzle and not part.optional]
    more = [part for part in parts(path) if part.optional]
    assert parts(path) == [*puzzles, *core, *more]
    assert len(core) + len(more) >= 4
    for those in (core, more):
        assert [part.minutes for part in those] == sorted(part.minutes for part in those)
    if puzzles:  # a set that has been worked through
        assert len(puzzles) >= (6 if path.name.startswith("02") else 3)
        assert all(part.minutes <= 2 and not part.optional for part in puzzles)
        assert 40 <= sum(part.minutes for part in (*puzzles, *core)) <= 80, "the core takes about an hour"
        assert all(part.literals.get("see") for part in parts(path)), "what to see in the model answer now"


@each_set()
def test_every_exercise_says_why_it_works(path):
    for part in parts(path):
        assert [cell for cell in part.cells if SOLUTION_ONLY in tags(cell)], part.number


@each_set()
def test_what_a_cell_says_of_an_exercise_is_what_its_class_says(path):
    """One is read for the book and the student's notebook, the other for an answer."""
    for part in parts(path):
        cls = catalogue.find(part.number)
        assert cls.title() == part.title
        assert {name: getattr(cls, name) for name in part.literals if name != "title"} == {
            name: value for name, value in part.literals.items() if name != "title"
        }


@each_set()
def test_every_exercise_names_three_misconceptions_and_shares_none(path):
    wrong = [each for part in parts(path) for each in part.wrong]
    assert all(len(part.wrong) >= (1 if part.is_puzzle else 3) for part in parts(path))
    for what in ("title", "code", "says"):
        said = [getattr(each, what) for each in wrong]
        assert all(said) and len(said) == len(set(said)), f"two wrong answers have the same {what}"


# -- in step


@each_set()
def test_exercises_are_in_step_with_solutions(path):
    made = student_version(notebooks.read(path), f"solutions/{path.name}")
    written = (ROOT / "exercises" / path.name).read_text(encoding="utf-8")
    assert written == notebooks.as_text(made), "out of step: run `make exercises`"


def test_nothing_is_left_of_a_set_that_is_gone():
    assert [path.name for path in sorted((ROOT / "exercises").glob("*.ipynb"))] == [
        path.name for path in SOLUTIONS
    ]
    assert catalogue.set_numbers() == [path.name[:2] for path in SOLUTIONS]


@each_set()
def test_no_marker_and_no_solution_leaks(path):
    written = (ROOT / "exercises" / path.name).read_text(encoding="utf-8")
    assert BEGIN not in written and END not in written
    given, solved = set(), set()
    for cell in notebooks.read(path).cells:
        hidden = bool({"check", "wrong", "solution-only"} & set(tags(cell)))
        inside = False
        for line in cell.source.splitlines():
            inside = line.strip() == BEGIN or (inside and line.strip() != END)
            (solved if inside or hidden else given).add(line.strip())
    student = {
        line.strip()
        for cell in notebooks.read(ROOT / "exercises" / path.name).cells
        for line in cell.source.split("\n")
    }
    assert solved - given
    assert not (solved - given - STUB) & student


@each_set()
def test_a_skeleton_only_removes_lines(path):
    solution = {cell.id: cell for cell in notebooks.read(path).cells}
    for cell in notebooks.read(ROOT / "exercises" / path.name).cells:
        if cell.cell_type == "code":
            lines = iter(solution[cell.id].source.split("\n"))
            kept = [line for line in cell.source.split("\n") if line.strip() not in STUB]
            assert all(line in lines for line in kept), f"cell {cell.id} has lines of its own"


# -- right and wrong


def run_cells(path: Path) -> tuple[dict, dict[str, str], dict[str, str]]:
    """Run a notebook's code cells as a kernel that has just started; return its names, what cells printed and raised."""
    definition.in_notebook.clear()
    names, printed, raised = {"__name__": "__main__"}, {}, {}
    for cell in notebooks.read(path).cells:
        if cell.cell_type == "code":
            file = f"<{path.parent.name} {path.name[:2]} {cell.id}>"  # sets share names of cells
            printed[cell.id], raised[cell.id] = run_source(cell.source, names, file)
    return names, printed, {name: error for name, error in raised.items() if error}


def run_source(source: str, names: dict, file: str) -> tuple[str, str]:
    """Run a cell as IPython does: its lines can be looked up, and the last expression is shown."""
    source = TransformerManager().transform_cell(source)
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    out, error = io.StringIO(), ""
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            exec(compile(source, file, "exec"), names)
        except Exception as problem:
            error = f"{type(problem).__name__}: {problem}"
    return out.getvalue(), error


@pytest.fixture(scope="module", autouse=True)
def stand_in(tmp_path_factory):
    """Answers run on the stand-in and are noted in a file of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("H2D_PROGRESS", str(tmp_path_factory.mktemp("progress") / "progress.json"))
        patch.delenv("H2D_STRICT", raising=False)
        patch.delenv("NBGRADER_EXECUTION", raising=False)
        patch.setattr(answering, "PATIENCE", 60)  # what a verdict shows must not depend on the machine
        machine.start()
        yield


class Run(NamedTuple):
    """A run of a solution notebook: its names and exercises, and what each cell printed and raised."""

    names: dict
    exercises: dict[str, type]
    printed: dict[str, str]
    raised: dict[str, str]


@cache
def solved(path: Path, way: str) -> Run:
    """Run a solution notebook, with its answers judged: once, and for all wrong answers too."""
    names, printed, raised = run_cells(path)
    return Run(names, dict(definition.in_notebook), printed, raised)


def all_points(part: Part) -> str:
    """Return the first line that is printed for a right answer."""
    most = nbgrader(part.answer)["points"]
    return f"{part.number} is right: {most} of {most} point{'s' * (most != 1)}"


@each_set()
def test_what_nbval_compares_a_run_of_the_solution_with_is_all_points(path):
    for part in parts(path):
        assert "nbval-check-output" in tags(part.answer)
        assert part.answer.outputs[0]["text"].splitlines()[0] == all_points(part)


@each_set(runs=True)
def test_the_solution_is_right_and_has_all_points(path, way):
    run = solved(path, way)
    assert run.raised == {}
    for part in parts(path):
        # Below it may stand what pytest has replaced; a kernel of its own, further down, prints this line alone.
        assert run.printed[part.answer.id].splitlines()[0] == all_points(part)


@each_set(runs=True)
def test_what_the_cells_of_a_solution_print_is_stored(path, way):
    answers = {part.answer.id for part in parts(path)}
    compared = 0
    for cell in notebooks.read(path).cells:
        if cell.cell_type == "code" and cell.id not in answers and "nbval-ignore-output" not in tags(cell):
            stored = "".join(each.text for each in cell.outputs if each.get("name") == "stdout")
            printed = solved(path, way).printed[cell.id]
            assert without_what_differs(printed) == without_what_differs(stored), cell.id
            compared += bool(stored)
    assert compared


@pytest.mark.parametrize(
    "path",
    # Sets whose answers are numbers, kernels, and functions of PyTorch.
    [
        pytest.param(path, marks=[] if path.name[:2] in ("01", "05", "08") else pytest.mark.slow)
        for path in SOLUTIONS
    ],
    ids=lambda path: path.stem,
)
def test_the_skeleton_runs_and_has_no_points(path, monkeypatch):
    names, printed, raised = run_cells(ROOT / "exercises" / path.name)
    assert raised == {}, "a student who runs all cells meets an error"
    for part in parts(path):
        assert printed[part.answer.id].startswith(f"{part.number} is not written yet")
        run_source(f"verdict = {part.answer.source}", names, "<answer>")
        assert names["verdict"].points == 0
    monkeypatch.setenv("H2D_STRICT", "1")
    for part in parts(path):
        assert "not written yet" in run_source(part.answer.source, names, "<answer>")[1]


@pytest.mark.slow
@each_set()
def test_in_strict_mode_the_skeleton_ends_where_the_student_begins(path, monkeypatch):
    monkeypatch.setenv("H2D_STRICT", "1")
    _, _, raised = run_cells(ROOT / "exercises" / path.name)
    assert list(raised) == [part.answer.id for part in parts(path)]
    assert all("not written yet" in error for error in raised.values())


def test_a_right_answer_is_right_on_a_machine_with_one_device(way, monkeypatch):
    """With one GPU the second device is the CPU, and copies are counted by where the arrays were."""
    torch = pytest.importorskip("torch")
    judged = 0
    for path in SOLUTIONS:
        for part in parts(path):
            if "torch_places" in part.check.source:
                judged += 1
                run = solved(path, way)
                definition.in_notebook.clear()
                definition.in_notebook.update(run.exercises)
                with monkeypatch.context() as patch:
                    patch.setattr(torch.accelerator, "device_count", lambda: 1)
                    printed, error = run_source(part.answer.source, dict(run.names), "<answer>")
                assert not error and printed.splitlines()[0] == all_points(part)
    assert judged > 4


def said_to(path: Path, part: Part, code: str, way: str) -> str:
    """Return what the check says to an answer in the place of the solution."""
    if part.number == ABOUT_THE_POOL:
        solved.cache_clear()
        gc.collect()
    run = solved(path, way)
    names = dict(run.names)
    definition.in_notebook.clear()
    definition.in_notebook.update(run.exercises)
    printed, error = run_source(code, names, f"<wrong {part.number}>")
    assert not error, f"a wrong answer has to be one that runs: {error}"
    printed, error = run_source(part.answer.source, names, "<answer>")
    assert not error
    return " ".join(printed.split())


@pytest.mark.one_in(WEEKS)
@each_wrong()
def test_a_wrong_answer_is_told_what_the_book_quotes_and_nothing_of_another(
    path: Path, part: Part, wrong: WrongAnswer, way: str
):
    said = said_to(path, part, wrong.code, way)
    assert f"{part.number} is right" not in said
    assert wrong.says in said
    assert [each.title for each in part.wrong if each is not wrong and each.says in said] == []


def test_the_example_of_contributing_works():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```python\n(from host_to_device\.exercises import .*?)\n```", text, re.S)
    kernel = (
        "@cuda.jit\ndef doubled(x, out):\n    i = cuda.grid(1)\n    if i < out.size:\n        out[i] = {}"
    )
    names = {"__name__": "__main__"}
    set_up = "import host_to_device as h2d\nh2d.start()\nfrom numba import cuda"
    assert run_source(set_up, names, "<set-up>")[1] == run_source(example, names, "<check>")[1] == ""
    for body, said in (("2 * x[i]", "02.5 is right: 2 of 2 points"), ("x[i] * x[i]", "not its square")):
        run_source(kernel.format(body), names, "<kernel>")
        assert said in run_source('h2d.answer("02.5")', names, "<answer>")[0]
    run_source(kernel.format("2 * x[i]").replace("if i < out.size", "if True"), names, "<kernel>")
    assert "Which of the threads has no element?" in run_source('h2d.answer("02.5")', names, "<answer>")[0]


# -- alone


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder with the library as its wheel brings it, and nothing of the repository."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"  # a build leaves its own folders where it works
    for name in ("host_to_device", "solutions", "measurements"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in [*ROOT.glob("LICENSE*"), *ROOT.glob("setup.*"), ROOT / "README.md", ROOT / "pyproject.toml"]:
        shutil.copyfile(path, source / path.name)
    # As pip builds them, in one process.
    build = f"from setuptools import build_meta as b; b.build_wheel({BUILT!r}); b.build_sdist({BUILT!r})"
    subprocess.run([sys.executable, "-c", build], check=True, cwd=source, capture_output=True, timeout=300)
    wheel = next((source / BUILT).glob("*.whl"))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    target = [*pip, "--no-deps", "--no-index", "--no-compile", "--target", folder / "site", wheel]
    subprocess.run(target, check=True, cwd=folder, capture_output=True, timeout=300)
    return folder / "site"


BUILT = "built"  # the folder for what is built, in that of the sources


def test_the_wheel_has_the_title_and_the_checks_of_every_set_and_no_solution(installed):
    shipped = installed / "host_to_device" / "exercises" / "sets"
    assert sorted(each.name for each in shipped.iterdir()) == [path.name for path in SOLUTIONS]
    for path in SOLUTIONS:
        written, solution = notebooks.read(shipped / path.name), notebooks.read(path)
        nbformat.validate(written)
        kept = [solution.cells[0], *(part.check for part in parts(path))]
        assert [(each.id, each.source) for each in written.cells] == [(each.id, each.source) for each in kept]
        assert not any(each.get("outputs") or each.get("execution_count") for each in written.cells)


def test_a_source_distribution_has_the_files_that_the_wheel_is_built_from(installed):
    with tarfile.open(next((installed.parent / "source" / BUILT).glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {
        path.relative_to(ROOT).as_posix() for path in [*SOLUTIONS, *(ROOT / "measurements").glob("*.json")]
    }
    assert needed | {"setup.py", "pyproject.toml", "README.md", "LICENSE"} <= names


def test_the_wheel_has_the_library_and_nothing_that_only_authors_need(installed):
    found = {path.relative_to(installed).parts[0] for path in installed.rglob("*") if path.is_file()}
    assert {name for name in found if not name.endswith(".dist-info")} == {"bin", "host_to_device"}
    assert [path.name for path in (installed / "bin").iterdir()] == ["host-to-device"]  # the command
    modules = list(installed.rglob("*.py"))
    assert len(modules) > 100
    imported = [
        path.name
        for path in modules
        if re.search(
            r"^(?:from|import) nbformat\b|^\s*(?:from|import) (?:authoring|benchmarks|book|tests)\b",
            path.read_text("utf-8"),
            re.M,
        )
    ]
    assert imported == []


RUN_NOTEBOOK = textwrap.dedent(
    """
    import sys, nbformat
    from nbclient import NotebookClient
    notebook = nbformat.read(sys.argv[1], as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    nbformat.write(notebook, sys.argv[1])
    """
)


def run_alone(notebook: nbformat.NotebookNode, folder: Path, installed: Path) -> list[str]:
    """Run a notebook in an empty folder with the installed library; return what its cells printed."""
    path = folder / "alone.ipynb"
    nbformat.write(notebook, path)
    environment = {
        name: value for name, value in os.environ.items() if name not in ("H2D_STRICT", "NBGRADER_EXECUTION")
    }
    environment |= {"PYTHONPATH": str(installed), "H2D_MACHINE": "stand-in"}
    environment["H2D_PROGRESS"] = str(folder / "progress.json")
    command = [sys.executable, "-c", RUN_NOTEBOOK, path]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-2000:]
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    return ["".join(each.get("text", "") for each in cell.outputs) for cell in cells]


def filled_in(path: Path) -> nbformat.NotebookNode:
    """Return an exercise notebook in which a student has written the solutions."""
    solution = {cell.id: cell.source for cell in notebooks.read(path).cells}
    notebook = notebooks.read(ROOT / "exercises" / path.name)
    for cell in notebook.cells:
        if nbgrader(cell).get("solution"):
            cell.source = solution[cell.id]
    where = nbformat.v4.new_code_cell("print(h2d.__file__)")
    notebook.cells.append(where)
    return notebook


def as_colab_leaves_it(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a notebook as Colab saves it: cells have lost their tags, nbgrader's marks and their names."""
    notebook = nbformat.from_dict(notebook)
    notebook.metadata = {
        "colab": {"provenance": []},
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
    }
    notebook.nbformat_minor = 0
    for place, cell in enumerate(notebook.cells):
        cell.pop("id", None)
        cell.metadata = {"id": f"cell{place}"}
    return notebook


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "path",  # one set with every commit, since each takes as long as a learner who knows all the answers
    [pytest.param(path, marks=() if path.stem.startswith("02") else pytest.mark.slow) for path in SOLUTIONS],
    ids=lambda path: path.stem,
)
@pytest.mark.parametrize("saved_by", [pytest.param("Jupyter", marks=pytest.mark.slow), "Colab"])
def test_a_notebook_alone_with_the_wheel_checks_answers(path, saved_by, installed, tmp_path):
    notebook = filled_in(path)
    printed = run_alone(
        as_colab_leaves_it(notebook) if saved_by == "Colab" else notebook, tmp_path, installed
    )
    assert Path(printed[-1].strip()).is_relative_to(installed), "it was not the wheel that ran"
    for part in parts(path):
        right = f"{all_points(part)}\nTried: "
        assert any(each.startswith(right) for each in printed)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["alone.ipynb", "progress.json"]
