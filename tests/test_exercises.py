"""Exercises: made from their solutions, stopped where the student starts, and not to be fooled."""

import linecache
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from host_to_device import exercises, machine, notebooks
from host_to_device.exercises.building import BEGIN, END, MarkerError, without_solution

ROOT = Path(__file__).resolve().parent.parent
SETS = sorted((ROOT / "solutions").glob("*.ipynb"))


def each_set():
    return pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)


def test_there_are_sets():
    assert SETS


@each_set()
def test_exercises_are_in_step_with_solutions(path):
    made = exercises.student_version(notebooks.read(path), f"solutions/{path.name}")
    written = (ROOT / "exercises" / path.name).read_text(encoding="utf-8")
    assert written == notebooks.as_text(made), "out of step: run `make exercises`"


@each_set()
def test_no_marker_and_no_solution_leaks(path):
    written = (ROOT / "exercises" / path.name).read_text(encoding="utf-8")
    assert BEGIN not in written and END not in written
    given, solved = set(), set()
    for cell in notebooks.read(path).cells:
        inside = False
        for line in cell.source.splitlines():
            inside = line.strip() == BEGIN or (inside and line.strip() != END)
            (solved if inside else given).add(line.strip())
    student = {
        line.strip()
        for cell in notebooks.read(ROOT / "exercises" / path.name).cells
        for line in cell.source.split("\n")
    }
    assert solved - given
    assert not (solved - given) & student


def is_check(cell: nbformat.NotebookNode) -> bool:
    return cell.metadata.get("nbgrader", {}).get("grade", False)


def run(path: Path, replaced: dict[str, str] | None = None, check: str | None = None) -> dict[str, str]:
    """Run a set's code cells, some replaced, with all checks or one; return what each cell raised."""
    names, raised = {"__name__": "__main__"}, {}
    for cell in notebooks.read(path).cells:
        if cell.cell_type != "code" or (check and is_check(cell) and cell.id != check):
            continue
        source = TransformerManager().transform_cell((replaced or {}).get(cell.id, cell.source))
        file = f"<{cell.id}>"
        linecache.cache[file] = (
            len(source),
            None,
            source.splitlines(True),
            file,
        )  # as IPython does for its cells
        try:
            exec(compile(source, file, "exec"), names)
        except Exception as error:
            raised[cell.id] = f"{type(error).__name__}: {error}"
    return raised


@each_set()
def test_solution_passes_and_every_check_of_the_skeleton_stops_where_the_student_starts(path):
    checks = [cell.id for cell in notebooks.read(path).cells if is_check(cell)]
    assert len(checks) >= 3
    assert run(path) == {}
    stopped = run(ROOT / "exercises" / path.name)
    assert list(stopped) == checks
    assert all("not written yet" in error for error in stopped.values()), stopped


WRONG = {
    "saxpy": (
        "saxpy-check",
        {
            "no guard": ("i = cuda.grid(1)\n    out[i] = alpha * x[i] + y[i]", "out of bounds"),
            "threadIdx alone": (
                "i = cuda.threadIdx.x\n    if i < out.size:\n        out[i] = alpha * x[i] + y[i]",
                "never written",
            ),
            "alpha forgotten": (
                "i = cuda.grid(1)\n    if i < out.size:\n        out[i] = x[i] + y[i]",
                "differ from 2 * x + y",
            ),
            "element 0 skipped": (
                "i = cuda.grid(1)\n    if 0 < i < out.size:\n        out[i] = alpha * x[i] + y[i]",
                "never written",
            ),
        },
    ),
    "trip": (
        "trip-check",
        {
            "rounded down": (
                "d_c = cuda.to_device(np.zeros_like(a))\n"
                "    vec_add[max(1, a.size // 128), 128](cuda.to_device(a), cuda.to_device(b), d_c)\n"
                "    return d_c.copy_to_host()",
                "elements are wrong",
            ),
            "not copied back": (
                "d_c = cuda.device_array_like(a)\n"
                "    vec_add[math.ceil(a.size / 128), 128](cuda.to_device(a), cuda.to_device(b), d_c)\n"
                "    return d_c",
                "copy it back to the host",
            ),
            "into the input": (
                "vec_add[math.ceil(a.size / 128), 128](a, b, a)\n    return a.copy()",
                "elements are wrong",
            ),
            "inputs changed afterwards": (
                "c = a + b\n    a[:] = c\n    return c - b + b if False else a + b - b",
                "wrong",
            ),
        },
    ),
    "smooth": (
        "smooth-count",
        {
            "copied in every step": (
                "for _ in range(steps):\n"
                "        d_old, d_new = cuda.to_device(x), cuda.device_array_like(x)\n"
                "        smooth_once[math.ceil(x.size / 128), 128](d_old, d_new)\n"
                "        x = d_new.copy_to_host()\n"
                "    return x",
                "2 are needed",
            ),
            "host arrays": (
                "old, new = x.copy(), np.empty_like(x)\n"
                "    for _ in range(steps):\n"
                "        smooth_once[math.ceil(x.size / 128), 128](old, new)\n"
                "        old, new = new, old\n"
                "    return old",
                "2 are needed",
            ),
        },
    ),
    "smooth-once": (
        "smooth-check",
        {
            "ends forgotten": (
                "i = cuda.grid(1)\n"
                "    if 0 < i < old.size - 1:\n"
                "        new[i] = (old[i - 1] + old[i] + old[i + 1]) / 3",
                "elements differ",
            ),
            "divided by two": (
                "i = cuda.grid(1)\n"
                "    if 0 < i < old.size - 1:\n"
                "        new[i] = (old[i - 1] + old[i + 1]) / 2\n"
                "    elif i < old.size:\n"
                "        new[i] = old[i]",
                "elements differ",
            ),
            "in place": (
                "i = cuda.grid(1)\n"
                "    if 0 < i < old.size - 1:\n"
                "        old[i] = (old[i - 1] + old[i] + old[i + 1]) / 3\n"
                "    if i < old.size:\n"
                "        new[i] = old[i]",
                "elements differ",
            ),
        },
    ),
}


@pytest.fixture(scope="module", autouse=True)
def stand_in():
    machine.start()


@pytest.mark.parametrize(
    ("cell", "name"),
    [(cell, name) for cell, (_, wrong) in WRONG.items() for name in wrong],
    ids=lambda part: part,
)
def test_wrong_answers_of_lesson_2_are_rejected_with_their_reason(cell, name):
    path = ROOT / "solutions" / "02-host-and-device.ipynb"
    check, answers = WRONG[cell]
    body, reason = answers[name]
    source = next(c.source for c in notebooks.read(path).cells if c.id == cell)
    head, rest = source.split(f"    {BEGIN}")
    wrong = f"{head}    {body}{rest.split(END)[1]}"
    said = run(path, {cell: wrong}, check).get(check, "nothing: the answer was accepted")
    assert reason in said, f"{name}: {said}"


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (f"{BEGIN}\nx = 1", "without ### END"),
        (f"x = 1\n{END}", "without ### BEGIN"),
        (f"{BEGIN}\n{BEGIN}\n{END}", "inside another"),
    ],
)
def test_markers_without_partner_are_named(source, problem):
    with pytest.raises(MarkerError, match=problem):
        without_solution(source, "solutions/x.ipynb, cell y")


def test_a_set_without_solutions_and_an_empty_folder_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no solution notebooks"):
        exercises.build(tmp_path, tmp_path)
    empty = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1")])
    with pytest.raises(MarkerError, match="nothing to exercise"):
        exercises.student_version(empty, "solutions/empty.ipynb")


def test_skeleton_only_removes_lines_and_keeps_the_indent():
    source = f"def f(x):\n    {BEGIN}\n    return x\n    {END}\n\nf(1)"
    assert without_solution(source, "") == (
        'def f(x):\n    # Write your code here\n    raise NotImplementedError("not written yet")\n\nf(1)'
    )


def test_command_names_what_is_wrong(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "host_to_device.exercises", tmp_path, tmp_path], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.strip() == f"{tmp_path}: no solution notebooks here"
