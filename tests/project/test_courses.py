"""The public course and the private folder: what each has, that nothing of a solution is public, and that both work."""

import copy
import datetime
import os
import re
import shutil
import subprocess
import sys
import textwrap

import nbformat
import pytest
import yaml

from authoring import notebooks
from authoring.building import build
from authoring.solutions import BEGIN, END, read_set
from book import exercises
from host_to_device.exercises import catalogue
from tests import needing_solutions
from tests.site.reading import files_of
from tools import courses

ROOT = courses.ROOT
pytestmark = pytest.mark.skipif(
    needing_solutions.is_public(), reason="a public course makes no public course"
)


@pytest.fixture(scope="module")
def public(tmp_path_factory):
    folder = tmp_path_factory.mktemp("public") / "course"
    assert courses.public(ROOT, folder, datetime.date(2026, 1, 1)) == []
    return folder


def run_file(path, program, library):
    """Return what a program prints that imports the library from a folder."""
    path.write_text(program, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(library), "H2D_MACHINE": "stand-in", "H2D_PROGRESS": "off"}
    done = subprocess.run(
        [sys.executable, path], env=environment, cwd=path.parent, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join(done.stdout.split())


def bodies():
    """Return what stands between the solution marks, as one line each, of every solution of two lines or more."""
    found = {}
    for path in sorted((ROOT / "solutions").glob("*.ipynb")):
        for part in read_set(notebooks.read(path), f"solutions/{path.name}"):
            for cell in part.solutions:
                for body in re.findall(rf"{BEGIN}\n(.*?)\n *{END}", cell.source, re.S):
                    if len(body.splitlines()) > 3:
                        found[" ".join(body.split())] = f"{part.number}"
    return found


def test_no_file_of_the_public_course_has_a_solution(public):
    """A whole solution of four lines or more stands in no file; chapters may show shorter code of the same words."""
    leaked = []
    solutions = bodies()
    assert len(solutions) > 100
    for path in public.rglob("*"):
        if path.suffix in (".py", ".md", ".ipynb", ".toml", ".json", ".txt") and path.is_file():
            written = " ".join(
                path.read_text(encoding="utf-8").replace("\\n", " ").replace('\\"', '"').split()
            )
            leaked += [
                f"{number} in {path.relative_to(public)}"
                for body, number in solutions.items()
                if body in written
            ]
    assert not leaked


def test_menu_chapters_and_readme_name_no_solutions(public):
    listed = files_of(yaml.safe_load((public / "_toc.yml").read_text(encoding="utf-8")))
    assert [name for name in listed if name.startswith("exercises/")]
    assert not [name for name in listed if name.startswith("solutions/") or name == "chapters/tested"]
    for path in [public / "README.md", public / "index.md", *(public / "chapters").glob("*.md")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\]\([^)]*solutions/|[(/]tested\.md\)", text), path.name
    assert "· [exercises](" in (public / "README.md").read_text(encoding="utf-8")


def test_every_test_that_is_left_out_was_there():
    for name in (*needing_solutions.FILES, *(test.partition("::")[0] for test in needing_solutions.TESTS)):
        assert (ROOT / name).is_file(), name


def test_the_public_library_judges_an_answer_with_the_checks_that_it_carries(public):
    program = textwrap.dedent(
        """
        import host_to_device as h2d
        h2d.start()
        from host_to_device.exercises import catalogue
        from numba import cuda
        assert catalogue.__file__.startswith(HERE), catalogue.__file__
        @cuda.jit
        def twice(x, out):
            i = cuda.grid(1)
            out[i] = 2 * x[i]
        h2d.answer("02.a")
        """
    ).replace("HERE", repr(str(public)))
    assert "02.a is right: 1 of 1 point" in run_file(public.parent / "student.py", program, public)


def test_the_public_pages_of_exercises_have_their_hints(public):
    name = "02-host-and-device.ipynb"
    path, parts = exercises.parts_of(public, name)
    assert path.parent == public / courses.SETS
    _, ours = exercises.parts_of(ROOT, name)
    told = [
        [
            (each.number, each.title, each.minutes, each.optional, each.points, exercises.hints(each))
            for each in those
        ]
        for those in (parts, ours)
    ]
    assert told[0] == told[1]


def test_a_released_solution_is_public_from_its_day_on(tmp_path):
    root = tmp_path / "clone"
    for name in courses.project_files(ROOT):
        if not name.startswith(("tests/corpora", "rehearsal", "measurements")):
            courses.copy([name], ROOT, root)
    subprocess.run(["git", "init", "-q", root], check=True)
    (root / courses.RELEASE).write_text('"02" = 2027-02-12\n"03" = 2027-02-13\n', encoding="utf-8")
    folder = tmp_path / "public"
    assert courses.public(root, folder, datetime.date(2027, 2, 11)) == []
    assert courses.public(root, folder, datetime.date(2027, 2, 12)) == ["solutions/02-host-and-device.ipynb"]
    assert [path.name for path in (folder / "solutions").glob("*.ipynb")] == ["02-host-and-device.ipynb"]
    assert (
        "(../solutions/02-host-and-device.ipynb)" in (folder / "chapters/02-host-and-device.md").read_text()
    )
    assert "solutions" not in (folder / "chapters/03-kernels-numba.md").read_text()
    (root / courses.RELEASE).write_text('"02" = "tomorrow"\n', encoding="utf-8")
    with pytest.raises(courses.Refused, match="write a set and a date"):
        courses.public(root, folder)


def test_a_folder_of_somebody_is_not_replaced(tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("mine")
    assert courses.main(["public", "--out", str(tmp_path)]) == 1
    assert "has files that this command did not write" in capsys.readouterr().err
    assert courses.main(["public", "--out", str(ROOT)]) == 1
    assert "holds this course" in capsys.readouterr().err


def test_the_private_folder_has_the_solutions_and_the_template_works(tmp_path):
    made = courses.teacher(ROOT, tmp_path / "teacher")
    assert {path.name for path in (ROOT / "solutions").glob("*.ipynb")} <= {
        name.split("/")[-1] for name in made
    }
    assert all((tmp_path / "teacher" / name).is_file() for name in made)
    template = tmp_path / "solutions" / "90-exam.ipynb"
    template.parent.mkdir()
    template.write_bytes((tmp_path / "teacher" / "private-checks" / "90-exam.ipynb").read_bytes())
    [written] = build(template.parent, tmp_path / "exercises")
    assert BEGIN not in written.read_text(encoding="utf-8") and courses.is_private("exercises/90-exam.ipynb")

    [part] = read_set(notebooks.read(template), "solutions/90-exam.ipynb")
    # Answers in one file, because the stand-in reads a kernel's source: the solution, then each wrong answer.
    answers = [part.solutions[0].source, *(wrong.code for wrong in part.wrong)]
    program = [
        "from pathlib import Path",
        "from host_to_device.exercises import catalogue",
        f"catalogue.FOLDERS = (Path({str(template.parent)!r}),)",
        "import host_to_device as h2d",
        "h2d.start()",
        "from numba import cuda",
        *(line for each in answers for line in (each, 'h2d.answer("90.1")')),
    ]
    said = run_file(tmp_path / "student.py", "\n".join(program), ROOT)
    assert said.count("90.1 is right: 2 of 2 points") == 1
    assert part.wrong and all(" ".join(wrong.says.split()) in said for wrong in part.wrong)


# -- what students get of a set


@pytest.fixture
def course(tmp_path):
    """A course of two sets, without the rest."""
    for folder in ("exercises", "solutions"):
        (tmp_path / folder).mkdir()
        for path in (ROOT / folder).glob("0[23]-*.ipynb"):
            shutil.copy(path, tmp_path / folder)
    shutil.copy(ROOT / "_config.yml", tmp_path)
    return tmp_path


def test_a_set_is_handed_out_with_its_link_and_without_solutions(course, tmp_path, capsys):
    out = tmp_path / "out"
    assert courses.main(["hand-out", "3", "--out", str(out)], course) == 0
    notebook, page = sorted(out.iterdir())
    assert capsys.readouterr().out.split() == [str(notebook), str(page)]
    assert notebook.read_bytes() == (course / "exercises" / notebook.name).read_bytes()
    assert BEGIN not in notebook.read_text()
    text = page.read_text()
    assert f"/blob/main/exercises/{notebook.name}\n" in text and text.startswith("# Exercises 3: ")
    rows = re.findall(r"^\| (03\.\w+) .* \| (\d+) \| (\d+) \|$", text, re.M)
    those = catalogue.in_set("03")
    assert rows == [(cls.number, str(cls.minutes), str(cls.points)) for cls in those]
    assert f"| all | {sum(cls.minutes for cls in those)} |" in text


def test_some_exercises_of_a_set_are_handed_out_alone(course, tmp_path):
    out = tmp_path / "out"
    assert courses.main(["hand-out", "02", "--out", str(out), "--only", "02.1", "02.b"], course) == 0
    notebook, page = sorted(out.iterdir())
    cells = notebooks.read(notebook).cells
    asked = [cell.source for cell in cells if cell.source.startswith("h2d.answer(")]
    assert asked == ['h2d.answer("02.b")', 'h2d.answer("02.1")'], "in the order of the set"
    assert "02.2" not in page.read_text() and "Open the notebook in Colab" not in page.read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["77"], "there is no set 77; sets: 02, 03"),
        (["02", "--only", "02.77"], "there is no exercise 02.77; the set has 02.a"),
    ],
)
def test_a_set_or_an_exercise_that_is_not_there_gets_one_line(course, tmp_path, capsys, words, says):
    assert courses.main(["hand-out", *words, "--out", str(tmp_path / "out")], course) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"hand-out: {says}") and said.count("\n") == 1


def test_an_exercise_that_uses_another_one_is_not_handed_out_without_it():
    def cell(kind, source):
        return nbformat.from_dict({"cell_type": kind, "source": source, "metadata": {}, "id": "a"})

    whole = nbformat.from_dict({"cells": [
        cell("code", "import numpy as np\nSIZE = 8"),
        cell("markdown", "## 02.a First (1 minute)"), cell("code", "def first(x):\n    return x"),
        cell("markdown", "## 02.b Second (1 minute)"), cell("code", "def second(y):\n    x = first(y)\n    return x + SIZE"),
        cell("markdown", "## 02.1 Third (5 minutes)"), cell("code", "x = np.ones(SIZE)\n%pip list\nthird = x"),
    ]})  # fmt: skip
    with pytest.raises(courses.Refused, match=r"02\.b uses first, which 02\.a defines: hand out 02\.a, too"):
        courses.chosen(whole, ["02.b"], whole)
    assert len(courses.chosen(copy.deepcopy(whole), ["02.a", "02.b"], whole).cells) == 5
    assert len(courses.chosen(copy.deepcopy(whole), ["02.1"], whole).cells) == 3


def test_next_year_names_what_has_not_changed_and_moves_the_dates(course, tmp_path, capsys):
    out = tmp_path / "out"
    courses.main(["hand-out", "02", "--out", str(out)], course)
    path = next((course / "exercises").glob("02-*.ipynb"))
    path.write_text(path.read_text().replace("## 02.1 ", "## 02.1 Another: "))
    (course / courses.RELEASE).write_text(
        '# "02" = 2026-01-01\n"02" = 2027-02-12  # a Friday\n"03" = 2027-03-01\n'
    )
    capsys.readouterr()
    assert courses.main(["next-year", str(out)], course) == 0
    said = capsys.readouterr().out
    assert "set 02: as last year, so last year's answers earn their points: 02.a, 02.b" in said
    assert "02.1" not in said and "2 dates moved by 52 weeks" in said
    moved = (course / courses.RELEASE).read_text()
    assert moved == '# "02" = 2026-01-01\n"02" = 2028-02-11  # a Friday\n"03" = 2028-02-28\n'
    assert courses.main(["next-year", str(tmp_path / "nowhere")], course) == 1
    assert "has no notebook of a set" in capsys.readouterr().err
    assert moved == (course / courses.RELEASE).read_text()


def test_exercises_that_are_older_than_their_solutions_are_not_handed_out(course, tmp_path, capsys):
    path = next((course / "exercises").glob("02-*.ipynb"))
    path.write_text(path.read_text().replace("## 02.1 ", "## 02.1 Another: "))
    assert courses.main(["hand-out", "02", "--out", str(tmp_path / "out")], course) == 1
    assert "is older than its solutions: run `make exercises`" in capsys.readouterr().err
