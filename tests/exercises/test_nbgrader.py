"""The sets under nbgrader, as an instructor would use them: a course in a temporary folder, released and graded.

`make test` grades one set: the solution, what must get nothing, and the first wrong answers of all its exercises in one
submission. `make test-all` adds the second ones, the third ones and so on, and the solution and the skeleton as they
are; then it grades a set after the other, in turns, with the wrong answers of every second exercise in a submission.
"""

import copy
import os
import re
import sys
from pathlib import Path

import nbformat
import pytest
from traitlets.config import Config

from authoring import building, notebooks
from authoring.solutions import BEGIN, END, nbgrader

ROOT = Path(__file__).resolve().parents[2]
SETS = sorted((ROOT / "solutions").glob("*.ipynb"))
WEEKS = 4  # in which nbgrader grades every set once with all its wrong answers
FIRST = next(path for path in SETS if path.stem.startswith("02"))

pytestmark = pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")


def answer_ids(path):
    """Return the grade ids of the answer cells, by exercise."""
    return {part.number: nbgrader(part.answer)["grade_id"] for part in building.parts(path)}


class Course:
    """A course of nbgrader with one assignment, the set."""

    def __init__(self, root, path):
        self.root, self.path, self.name = root, path, path.stem
        self.source = building.instructor_version(notebooks.read(path), f"solutions/{path.name}")
        self.config = Config()
        self.config.CourseDirectory.root = str(root)
        self.config.CourseDirectory.assignment_id = self.name
        self.config.CourseDirectory.db_url = f"sqlite:///{root}/gradebook.db"
        self.config.ClearSolutions.code_stub = {"python": "\n".join(building.STARTED)}
        self._write(self.source, root / "source" / self.name)
        self._convert("GenerateAssignment")
        self.release = notebooks.read(root / "release" / self.name / path.name)
        self.students = {}

    def _write(self, notebook, folder):
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / self.path.name)

    def _convert(self, converter, **where):
        from nbgrader import converters  # takes a second: only the worker that runs these tests imports it
        from nbgrader.coursedir import CourseDirectory

        course = CourseDirectory(config=self.config, **where)
        getattr(converters, converter)(coursedir=course, config=self.config).start()

    def solved(self):
        """Return what a student hands in who has solved all: the solution cells' sources by cell."""
        return {
            cell.id: "\n".join(line for line in cell.source.split("\n") if line.strip() not in (BEGIN, END))
            for cell in self.source.cells
            if nbgrader(cell).get("solution")
        }

    def submit(self, student, handed_in):
        """Hand in the released notebook with these sources in the place of its cells' own."""
        notebook = copy.deepcopy(self.release)
        for cell in notebook.cells:
            cell.source = handed_in.get(cell.id, cell.source)
        self._write(notebook, self.root / "submitted" / student / self.name)

    def autograde(self):
        """Grade all submissions in one run; return the scores by student and grade id."""
        from nbgrader.api import Gradebook

        self._convert("Autograde", student_id="*")
        with Gradebook(self.config.CourseDirectory.db_url) as gradebook:
            return {
                submission.student.id: {
                    grade.name: (grade.auto_score, grade.max_score)
                    for notebook in submission.notebooks
                    for grade in notebook.grades
                }
                for submission in gradebook.assignment_submissions(self.name)
            }

    def errors(self, student, grade_id):
        """Return the name and the text of each error under a graded cell."""
        graded = notebooks.read(self.root / "autograded" / student / self.name / self.path.name)
        (cell,) = (cell for cell in graded.cells if nbgrader(cell).get("grade_id") == grade_id)
        return [(each.ename, each.evalue) for each in cell.outputs if each.output_type == "error"]

    def all_errors(self, student):
        return {grade_id: self.errors(student, grade_id) for grade_id in answer_ids(self.path).values()}


@pytest.fixture(autouse=True, scope="module")
def environment(tmp_path_factory):
    """Nothing of the user's: neither settings nor progress. nbgrader calls `alembic` by its name."""
    folder = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
        patch.setenv("H2D_MACHINE", "stand-in")
        patch.setenv("H2D_PROGRESS", str(folder / "progress.json"))
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
            patch.setenv(name, str(folder / name.lower()))
        yield


def each_set(*sets):
    return pytest.mark.parametrize("path", sets or SETS, ids=lambda path: path.stem)


def nothing(scores):
    return {grade_id: (0, points) for grade_id, (_, points) in scores.items()}


def everything(scores):
    return {grade_id: (points, points) for grade_id, (_, points) in scores.items()}


@pytest.fixture(scope="module")
def course_folder(tmp_path_factory):
    """The folder of a course whose assignments are released one after the other, with one gradebook for all."""
    return tmp_path_factory.mktemp("course")


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.slow] * (path != FIRST)) for path in SETS],
    ids=lambda path: path.stem,
)
def test_what_nbgrader_releases_are_the_exercises(path, course_folder):
    """Cell for cell: the sources, and what nbgrader knows of them."""

    def cells(notebook):
        known = ("grade", "solution", "locked", "points", "grade_id")
        return [
            (
                cell.id,
                cell.cell_type,
                cell.source.partition("\n\n<!-- Made from")[0],
                {name: nbgrader(cell)[name] for name in known if name in nbgrader(cell)},
                cell.get("outputs", []),
            )
            for cell in notebook.cells
        ]

    assert cells(Course(course_folder, path).release) == cells(notebooks.read(ROOT / "exercises" / path.name))


@pytest.mark.slow  # nbgrader takes some five seconds for each notebook
@each_set(FIRST)
def test_nbgrader_gives_the_solution_everything_and_the_skeleton_and_wrong_answers_nothing(path, tmp_path):
    course, parts, ids = Course(tmp_path, path), building.parts(path), answer_ids(path)
    rounds = {f"wrong-{number}": number for number in range(max(len(part.wrong) for part in parts))}
    assert len(rounds) >= 3
    # Other answer cells, which nbgrader puts back, and the solution with something on stderr.
    tampered = {part.answer.id: "pass" for part in parts}
    course.submit("talkative", {name: talkative(source) for name, source in course.solved().items()})
    course.submit("tampered", tampered)
    course.submit("solution", course.solved())
    course.submit("skeleton", {})
    right, nought = {"talkative", "solution"}, {"skeleton", "tampered"}
    for student, number in rounds.items():
        handed_in = course.solved()
        for part in parts:
            for wrong in part.wrong[number : number + 1]:
                handed_in |= part.replaced(wrong.code)
        course.submit(student, handed_in)
    scores = course.autograde()
    assert set(scores) == {*right, *nought, *rounds}
    for student in right:
        assert scores[student] == everything(scores[student]), course.all_errors(student)
    for student in nought:
        assert scores[student] == nothing(scores[student])
    for student, number in rounds.items():
        for part in parts:
            for wrong in part.wrong[number : number + 1]:
                score, points = scores[student][ids[part.number]]
                assert score == 0 < points == part.points, f"{part.number}, {wrong.title}: {score}"
                rejected_in_its_own_words(course, student, part, wrong)


@pytest.mark.slow
@pytest.mark.one_in(WEEKS)
@each_set()
def test_nbgrader_gives_every_wrong_answer_less_than_everything(path, tmp_path):
    """A submission has a wrong answer in every second exercise, and the others keep their points."""
    course, ids = Course(tmp_path, path), answer_ids(path)
    course.submit("solution", course.solved())
    course.submit("skeleton", {})
    parts = building.parts(path)
    submissions = {}
    for number in range(max(len(part.wrong) for part in parts)):
        for half in range(2):
            wrong = [(part, part.wrong[number]) for part in parts[half::2] if number < len(part.wrong)]
            if wrong:
                submissions[f"wrong-{number}-{half}"] = wrong
    assert sum(map(len, submissions.values())) == sum(len(part.wrong) for part in parts) >= 3 * len(ids)
    for student, wrong in submissions.items():
        handed_in = course.solved()
        for part, each in wrong:
            handed_in |= part.replaced(each.code)
        course.submit(student, handed_in)
    scores = course.autograde()
    full = everything(scores["solution"])
    assert scores["solution"] == full, course.all_errors("solution")
    assert scores["skeleton"] == nothing(full)
    for student, wrong in submissions.items():
        concerned = [ids[part.number] for part, _ in wrong]
        expected = full | {each: (0, full[each][1]) for each in concerned}
        assert scores[student] == expected, [f"{part.number}, {each.title}" for part, each in wrong]
        for part, each in wrong:
            rejected_in_its_own_words(course, student, part, each)


def talkative(source):
    """Let a function of the host write to stderr, which costs all points if it shows under a graded cell."""
    note = 'def \\1:\n    import sys; print("to myself", file=sys.stderr)\n'
    return re.sub(r"\Adef (.*):\n", note, source)


def rejected_in_its_own_words(course, student, part, wrong):
    """The graded cell has failed because `answer` says so, and says what the book quotes."""
    ((name, text),) = course.errors(student, nbgrader(part.answer)["grade_id"])
    assert name == "AnswerError", f"{part.number}, {wrong.title}: {name}: {text}"
    assert wrong.says in " ".join(text.split()), f"{part.number}, {wrong.title}: {text}"
