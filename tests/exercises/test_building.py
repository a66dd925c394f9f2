"""Student notebooks: made from the solutions, the same every time, and refused where a solution is not right."""

import json
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from authoring import notebooks
from authoring.__main__ import main as command
from authoring.building import (
    MarkerError,
    build,
    instructor_version,
    student_version,
    without_solution,
)
from authoring.solutions import BEGIN, END, read_set

NAME = "solutions/07-things.ipynb"

CHECK = '''\
import math

from host_to_device.exercises import Exercise, judge_function, run_function


# What is asked for.
class {name}(Exercise):
    """{title}."""

    number, points, minutes = "{number}", {points}, {minutes}
    needs = ("function f{digit}(x)",)
    hints = ("one", "two", "three")

    def cases(self, seed):
        return [{{"x": 1.0 + seed}}]

    def run(self, student, given):
        return run_function(student.f{digit}, given["x"])

    def judge(self, case, got):
        judge_function(got, math.sqrt(case["x"]))
'''


def cell(make, name, source, tags=(), **graded):
    if source is None:
        return None
    made = make(source, id=name)
    if tags:
        made.metadata["tags"] = list(tags)
    if graded:
        made.metadata["nbgrader"] = {"grade_id": name, "schema_version": 3, **graded}
    return made


def exercise(k, points=2, minutes=5, name=None, **changed):
    """Return the cells of an exercise; `changed` replaces the source of some, None leaves one out."""
    number, title = f"07.{k}", f"Thing {k}"
    sources = {
        "task": f"## {number} {title} ({minutes} minutes)\n\nWrite f{k}.",
        "given": f"import math\n\nlimit{k} = 3",
        "solution": f"def f{k}(x):\n    {BEGIN}\n    secret{k} = math.sqrt(x)\n    return secret{k}\n    {END}",
        "check": CHECK.format(
            name=name or f"Thing{k}", number=number, title=title, points=points, minutes=minutes, digit=k
        ),
        "answer": f'h2d.answer("{number}")',
        "wrong": f"**The square.**\n\n```python\ndef f{k}(x):\n    return x * x\n```\n\n> Not the square,\n> the root.",
        "why": "Because.",
        **changed,
    }
    made = [
        cell(new_markdown_cell, f"task-{k}", sources["task"]),
        cell(new_code_cell, f"given-{k}", sources["given"]),
        cell(new_code_cell, f"solution-{k}", sources["solution"], ["hide-input"], solution=True, grade=False),
        cell(new_code_cell, f"check-{k}", sources["check"], ["check", "hide-input"]),
        cell(
            new_code_cell,
            f"answer-{k}",
            sources["answer"],
            ["nbval-check-output"],
            solution=False,
            grade=True,
            points=points,
            locked=True,
        ),
        cell(new_markdown_cell, f"wrong-{k}", sources["wrong"], ["wrong"]),
        cell(new_markdown_cell, f"why-{k}", sources["why"], ["solution-only"]),
    ]
    return [each for each in made if each is not None]


def a_set(*cells):
    head = [
        cell(new_markdown_cell, "title", "# Solutions 7: things of one set"),
        cell(new_markdown_cell, "try-first", "Try them first.", ["solution-only"]),
        cell(new_code_cell, "start", "import host_to_device as h2d\n\nh2d.start()"),
    ]
    notebook = new_notebook(cells=[*head, *(cells or (*exercise(1), *exercise(2)))])
    for number, each in enumerate(notebook.cells):
        if each.cell_type == "code":
            each.execution_count = number
            each.outputs = [nbformat.v4.new_output("stream", text="seen\n")]
    return notebook


def changed(k=1, **sources):
    """Return a set in which some cells of one exercise hold something else."""
    return a_set(*(each for n in (1, 2) for each in exercise(n, **(sources if n == k else {}))))


# -- what is made


def test_the_student_gets_tasks_given_code_skeletons_and_answers():
    made = student_version(a_set(), NAME)
    ids = [each.id for each in made.cells]
    each_time = ("task", "given", "solution", "answer")
    assert ids == ["title", "start", *(f"{kind}-{k}" for k in (1, 2) for kind in each_time)]
    by_id = {each.id: each for each in made.cells}
    assert by_id["solution-1"].source == (
        'def f1(x):\n    # Write your code here\n    raise NotImplementedError("not written yet")'
    )
    assert "tags" not in by_id["solution-1"].metadata, "a student's own cell is not folded away"
    assert by_id["answer-1"].metadata["tags"] == ["nbval-check-output"]
    assert by_id["answer-1"].metadata["nbgrader"]["points"] == 2
    assert by_id["title"].source == (
        "# Exercises 7: things of one set\n\n"
        "<!-- Made from solutions/07-things.ipynb by `make exercises`: edit it there. -->"
    )
    assert made.metadata["host_to_device"] == {"made_from": NAME}
    assert not [each for each in made.cells if each.get("outputs") or each.get("execution_count")]
    text = notebooks.as_text(made)
    for secret in ("secret1", "SOLUTION", "Exercise)", "judge", "square", "Because", "seen"):
        assert secret not in text, secret


def test_making_is_repeatable_and_leaves_the_source_as_it_is():
    source = a_set()
    before = nbformat.writes(source)
    first = notebooks.as_text(student_version(source, NAME))
    assert nbformat.writes(source) == before
    assert notebooks.as_text(student_version(a_set(), NAME)) == first
    assert json.loads(first)["nbformat_minor"] == 5


def test_the_skeleton_only_removes_lines():
    for part in read_set(a_set(), NAME):
        for solution in part.solutions:
            left = iter(solution.source.split("\n"))
            for line in without_solution(solution.source, "").split("\n"):
                assert line.strip() in (
                    "# Write your code here",
                    'raise NotImplementedError("not written yet")',
                ) or any(line == each for each in left)


def test_skeleton_keeps_the_indent_and_what_follows():
    source = f"def f(x):\n    {BEGIN}\n    return x\n    {END}\n\nf(1)"
    assert without_solution(source, "") == (
        'def f(x):\n    # Write your code here\n    raise NotImplementedError("not written yet")\n\nf(1)'
    )
    two = f"{BEGIN}\na = 1\n{END}\nb = 2\n{BEGIN}\nc = 3\n{END}"
    assert without_solution(two, "").count("not written yet") == 2 and "b = 2" in without_solution(two, "")


def test_an_instructor_gets_the_solutions_and_none_of_the_rest():
    made = instructor_version(a_set(), NAME)
    assert [each.id for each in made.cells] == [each.id for each in student_version(a_set(), NAME).cells]
    text = notebooks.as_text(made)
    assert text.count(BEGIN) == text.count(END) == 2 and "secret1" in text
    for secret in ("judge", "x * x", "Because", "seen"):
        assert secret not in text


def test_what_stands_in_an_exercise_can_be_read():
    first, second = read_set(a_set(), NAME)
    assert (first.number, first.title, first.minutes, first.points) == ("07.1", "Thing 1", 5, 2)
    [wrong] = second.wrong
    assert wrong.title == "The square" and wrong.says == "Not the square, the root."
    assert wrong.code == "def f2(x):\n    return x * x" and wrong.cell == "wrong-2"
    assert second.replaced(wrong.code) == {"solution-2": wrong.code}
    with pytest.raises(MarkerError, match="defines nothing that a solution defines"):
        second.replaced("x = 1")


def test_a_build_writes_the_notebook_and_clears_what_has_no_source_any_more(tmp_path):
    solutions, made = tmp_path / "solutions", tmp_path / "exercises"
    solutions.mkdir()
    notebooks.write(a_set(), solutions / "07-things.ipynb")
    assert build(solutions, made) == [made / "07-things.ipynb"]
    mine = made / "mine.ipynb"
    notebooks.write(new_notebook(), mine)
    (solutions / "07-things.ipynb").rename(solutions / "07-others.ipynb")
    build(solutions, made)
    assert sorted(each.name for each in made.iterdir()) == ["07-others.ipynb", "mine.ipynb"]
    assert "solutions/07-others.ipynb" in (made / "07-others.ipynb").read_text(encoding="utf-8")


def test_nothing_is_written_if_one_set_is_not_right(tmp_path):
    solutions = tmp_path / "solutions"
    solutions.mkdir()
    notebooks.write(a_set(), solutions / "07-things.ipynb")
    notebooks.write(a_set(), solutions / "08-things.ipynb")
    with pytest.raises(
        MarkerError, match=r"solutions/08-things.ipynb: exercise 07.1 stands where 08.1 is due"
    ):
        build(solutions, tmp_path / "exercises")
    assert not (tmp_path / "exercises").exists()
    (solutions / "08-things.ipynb").rename(solutions / "07-more.ipynb")
    with pytest.raises(MarkerError, match=r"solutions/07-things.ipynb: another set has the number 07, too"):
        build(solutions, tmp_path / "exercises")
    assert not (tmp_path / "exercises").exists()


# -- what is refused


CLASS = CHECK.format(name="Thing1", number="07.1", title="Thing 1", points=2, minutes=5, digit=1)
SOLUTION = f"def f1(x):\n    {BEGIN}\n    return 1\n    {END}"
REFUSED = {
    "no BEGIN": (dict(solution=f"def f1(x):\n    return 1\n    {END}"), "and it holds no ### BEGIN"),
    "no END": (dict(solution=f"def f1(x):\n    {BEGIN}\n    return 1"), "without ### END"),
    "END first": (dict(solution=f"{END}\ndef f1(x):\n    {BEGIN}\n    return 1\n    {END}"), "without ### BEGIN"),
    "BEGIN twice": (dict(solution=f"{BEGIN}\n{BEGIN}\ndef f1(x): pass\n{END}"), "inside another"),
    "no solution": (dict(solution=None), "there is nothing to exercise"),
    "marker in a task": (dict(task=f"## 07.1 Thing 1 (5 minutes)\n\nSee {BEGIN}."), "would reach the student"),
    "marker in given code": (dict(given="# BEGIN SOLUTION"), "'BEGIN SOLUTION' would reach the student"),
    "marker spelt otherwise": (dict(solution=SOLUTION + "\n###end solution"), "'end solution' would reach"),
    "nbgrader's hidden tests": (dict(given="### BEGIN HIDDEN TESTS\n### END HIDDEN TESTS"), "would reach"),
    "no check": (dict(check=None), "no cell is tagged 'check'"),
    "check that does not parse": (dict(check="class Thing1(Exercise:"), "the check does not parse (line 1"),
    "two classes": (dict(check=CLASS + "\n\nclass Other:\n    pass\n"), "defines one class, and this one 2"),
    "no class": (dict(check="import math"), "defines one class, and this one none"),
    "code beside the class": (dict(check=CLASS + "\nprint(1)\n"), "holds imports and its class"),
    "no Exercise": (dict(check=CLASS.replace("(Exercise)", "(object)")), "write class Thing1(Exercise)"),
    "no docstring": (dict(check=CLASS.replace('    """Thing 1."""\n', "")), "no docstring"),
    "no hints": (dict(check=CLASS.replace("hints =", "advice =")), "has no hints"),
    "two hints": (dict(check=CLASS.replace(', "three"', "")), "three hints are asked for"),
    "hints that repeat": (dict(check=CLASS.replace('"three"', '"two"')), "three hints are asked for"),
    "computed points": (dict(check=CLASS.replace("2, 5", "int(2), 5")), "as literals"),
    "no judge": (dict(check=CLASS.replace("def judge", "def judged")), "no method judge"),
    "no run": (dict(check=CLASS.replace("def run", "def ran")), "no method run"),
    "no cases": (dict(check=CLASS.replace("def cases", "def case")), "no method cases"),
    "an odd need": (dict(check=CLASS.replace("function f1(x)", "a function f1")), "is not a need"),
    "need that nobody defines": (dict(check=CLASS.replace("f1(x)", "g1(x)")), "g1 is needed, and no cell"),
    "other number": (dict(check=CLASS.replace("07.1", "07.2")), "number is '07.2' in the check and '07.1'"),
    "other minutes": (dict(check=CLASS.replace("2, 5", "2, 6")), "minutes is 6 in the check and 5"),
    "other points": (dict(check=CLASS.replace("2, 5", "3, 5")), "points are 3 in the check and 2"),
    "other title": (dict(check=CLASS.replace("Thing 1.", "Something.")), "says 'Something', and the task's title"),
    "no answer": (dict(answer=None), "asks for the answer"),
    "another answer": (dict(answer='h2d.answer("07.2")'), 'holds h2d.answer("07.1") and nothing else'),
    "more than an answer": (dict(answer='print(h2d.answer("07.1"))'), "and nothing else"),
    "no minutes": (dict(task="## 07.1 Thing 1"), "write the title of a task like"),
    "no title": (dict(task="Write f1."), "belongs to no exercise"),
    "wrong without code": (dict(wrong="**The square.** It is not."), "a wrong answer is a title in bold"),
    "wrong without a title": (dict(wrong="```python\ndef f1(x): pass\n```\n\n> no"), "a title in bold"),
    "wrong without a hint": (dict(wrong="**A.**\n\n```python\ndef f1(x): pass\n```\n\nno"), "quote below the code"),
    "wrong that does not parse": (dict(wrong="**A.**\n\n```python\ndef f1(x:\n```\n\n> no"), "does not parse"),
    "relative import": (dict(check=CLASS.replace("import math", "from . import math")), "by their whole names"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_right_is_refused_with_its_place(name):
    sources, said = REFUSED[name]
    notebook = changed(1, **sources)
    with pytest.raises(MarkerError) as problem:
        student_version(notebook, NAME)
    text = str(problem.value)
    assert said in text and "\n" not in text
    assert text.startswith(NAME) and ("cell " in text or "07.1" in text)


def test_two_exercises_of_one_number_are_refused():
    second = exercise(1)
    for each in second:
        each.id = f"{each.id}-again"
        if "nbgrader" in each.metadata:
            each.metadata["nbgrader"]["grade_id"] = each.id
    with pytest.raises(MarkerError, match=r"there are two exercises 07.1"):
        student_version(a_set(*exercise(1), *second), NAME)


def test_two_cells_of_one_grade_id_are_refused():
    notebook = a_set()
    notebook.cells[-3].metadata["nbgrader"]["grade_id"] = "answer-1"
    with pytest.raises(MarkerError, match="the grade_id 'answer-1' is there twice"):
        student_version(notebook, NAME)


def test_exercises_in_another_order_are_refused():
    with pytest.raises(MarkerError, match=r"exercise 07.2 stands where 07.1 is due"):
        student_version(a_set(*exercise(2), *exercise(1)), NAME)


def test_two_classes_of_one_name_in_a_set_are_refused():
    with pytest.raises(MarkerError, match="Thing is something else in another check"):
        read_set(a_set(*exercise(1, name="Thing"), *exercise(2, name="Thing")), NAME)


def test_a_check_after_the_answer_and_a_second_one_are_refused():
    cells = exercise(1)
    cells[3], cells[4] = cells[4], cells[3]
    with pytest.raises(MarkerError, match="has to come before its answer"):
        student_version(a_set(*cells), NAME)
    cells = exercise(1)
    cells.insert(4, cell(new_code_cell, "check-again", CLASS, ["check"]))
    with pytest.raises(MarkerError, match="has a check already"):
        student_version(a_set(*cells), NAME)


def test_markers_in_a_cell_that_nbgrader_takes_for_no_solution_are_refused():
    with pytest.raises(MarkerError, match=r"do not say nbgrader\.solution: true"):
        student_version(changed(1, given=f"{BEGIN}\nx = 1\n{END}"), NAME)


def test_an_empty_set_an_empty_folder_and_an_odd_name_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no solution notebooks"):
        build(tmp_path, tmp_path)
    empty = new_notebook(cells=[new_code_cell("x = 1")])
    with pytest.raises(MarkerError, match="nothing to exercise"):
        student_version(empty, NAME)
    with pytest.raises(MarkerError, match="a set is called NN-name"):
        student_version(a_set(), "solutions/things.ipynb")


def test_the_command_names_what_is_wrong_and_what_it_wrote(tmp_path, capsys):
    def run(*arguments):
        return command([str(argument) for argument in arguments]), capsys.readouterr()

    status, said = run(tmp_path, tmp_path)
    assert status == 1 and said.err.strip() == f"{tmp_path}: no solution notebooks here"
    status, said = run(tmp_path)
    assert status == 2 and "usage" in said.err
    assert run(tmp_path, tmp_path, tmp_path)[0] == 2
    solutions = tmp_path / "solutions"
    solutions.mkdir()
    notebooks.write(changed(1, check=None), solutions / "07-things.ipynb")
    status, said = run(solutions, tmp_path / "made")
    assert status == 1 and said.err.strip() == "solutions/07-things.ipynb, 07.1: no cell is tagged 'check'"
    notebooks.write(a_set(), solutions / "07-things.ipynb")
    whole = [sys.executable, "-m", "authoring", solutions, tmp_path / "made"]
    done = subprocess.run(whole, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.split() == [str(tmp_path / "made" / "07-things.ipynb")]


@pytest.mark.slow
def test_the_library_answers_without_what_only_building_needs():
    code = (
        "import sys\n"
        "for name in ('nbformat', 'nbclient', 'nbconvert', 'nbgrader', 'authoring'): sys.modules[name] = None\n"
        "import host_to_device as h2d, host_to_device.exercises as exercises\n"
        "exercises.answer('99.1'); [getattr(exercises, name) for name in exercises.__all__]\n"
        "[getattr(h2d, name) for name in h2d.__all__]; print(exercises.progress().caption)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    unknown, caption = done.stdout.splitlines()
    assert unknown.startswith("There is no exercise 99.1") and caption.startswith("Exercises solved: 0 of ")
