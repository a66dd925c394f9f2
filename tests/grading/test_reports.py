"""What a class's wrong answers show, and which answers are alike; private checks; the same class on a Dask cluster."""

import os
import re
import signal
import time
from pathlib import Path

import pytest

from host_to_device.exercises import answering, catalogue, judging
from host_to_device.exercises.verdicts import Verdict
from host_to_device.grading import (
    batch,
    duplicates,
    feedback,
    gradebook,
    marking,
    misconceptions,
    private,
    runs,
    scheduled,
    shapes,
)
from host_to_device.grading.submissions import Submission

KNOWN = [
    (cls.number, each)
    for cls in catalogue.in_set("02")
    for each in misconceptions.known(cls.number)
    if each.title and each.code
]
LONG = """
def smooth(x, steps):
    total = 0
    for step in range(steps):
        left = x[step] * 3 + 1
        right = x[step + 1] * 5 - 2
        if left > right:
            total += left // 7
        else:
            total -= right % 11
    return total
"""


# -- misconceptions


def test_the_misconceptions_of_the_course_are_found():
    assert len(KNOWN) > 60 and len({number for number, _ in KNOWN}) == 13


@pytest.mark.parametrize(("number", "wrong"), KNOWN, ids=lambda each: getattr(each, "title", each))
def test_a_wrong_answer_is_known_by_its_code_after_renaming(number, wrong):
    import ast

    class Renames(ast.NodeTransformer):
        def visit_Name(self, node):
            return ast.copy_location(ast.Name("j" if node.id == "i" else node.id, node.ctx), node)

    code = ast.unparse(Renames().visit(ast.parse(wrong.code)))
    same = {
        each.title
        for each in misconceptions.known(number)
        if [*map(shapes.shape, shapes.functions(each.code).values())]
        == [*map(shapes.shape, shapes.functions(wrong.code).values())]
    }
    if shapes.functions(wrong.code):
        assert misconceptions.title_of(number, "", code) in same


def test_a_wrong_answer_is_known_by_its_verdict_whatever_the_numbers():
    said = (
        "02.a is not right yet: 8 threads, 8 elements: out[3] is 81, but 18 is right (7 of 8 elements differ)\n"
        "Hint: You squared the element: double it."
    )
    assert misconceptions.title_of("02.a", said, "") == "The square"
    assert misconceptions.title_of("02.a", said.replace("squared", "tripled"), "") == ""
    assert misconceptions.title_of("02.a", said.replace("out[3] is", "out[3] holds"), "") == ""


def test_the_line_at_fault_counts_by_what_it_does():
    store = "x is wrong\n   4 | out[0] = 2 * x[i]\nHint: h"
    assert misconceptions.signature(store) == misconceptions.signature(store.replace("2 * x[i]", "y + 1"))
    assert misconceptions.signature(store) != misconceptions.signature(store.replace("out[0] =", "if"))


def test_without_the_solutions_the_report_falls_back_to_hints(tmp_path):
    number, wrong = KNOWN[0]
    assert misconceptions.title_of(number, "", wrong.code) == wrong.title
    assert misconceptions.title_of(number, "", wrong.code, tmp_path) == ""


# -- near-duplicates


def renamed(code):
    for old, new in (("total", "acc"), ("left", "a"), ("right", "b"), ("step", "k"), ("ks", "steps")):
        code = code.replace(old, new)
    return code


def test_answers_that_are_equal_after_renaming_are_listed_side_by_side():
    class_of = {f"s{each}": {"02.6": f"def smooth(x, steps):\n    return x[{each}:]\n"} for each in range(12)}
    class_of |= {"Ana": {"02.6": LONG}, "Bo": {"02.6": renamed(LONG)}}
    [pair] = duplicates.pairs(class_of, ["02.6"])
    assert pair.students == ("Ana", "Bo") and pair.alike == 1 and "acc" in pair.excerpts[1]
    page = feedback.of_duplicates("Set 02", [pair])
    assert "No mark depends" in page and page.count("<pre") == 2 and "acc" in page


def test_a_changed_constant_is_near_and_other_code_is_not_listed():
    near = LONG.replace("% 11", "% 12")
    far = LONG.replace("left", "x[0] + left").replace("total", "total + 0 * 1", 1)
    listed = duplicates.pairs({"Ana": {"02.6": LONG}, "Bo": {"02.6": near}}, ["02.6"])
    assert all(each.alike < 1 for each in listed)
    assert (
        duplicates.pairs(
            {
                "Ana": {"02.6": LONG},
                "Bo": {"02.6": far.replace("for step", "if steps:\n        pass\n    for step")},
            },
            ["02.6"],
        )
        == []
    )


def test_short_untouched_known_and_common_answers_are_left_out():
    short = "def smooth(x, steps):\n    return x\n"
    untouched = LONG.replace(
        "    total = 0", '    raise NotImplementedError("not written yet")\n    total = 0'
    )
    solution = next(each.code for each in misconceptions.known("02.6") if not each.title)
    for code in (short, untouched, solution):
        assert duplicates.pairs({"Ana": {"02.6": code}, "Bo": {"02.6": code}}, ["02.6"]) == []
    everyone = {f"s{each}": {"02.6": LONG} for each in range(10)}
    assert duplicates.pairs(everyone, ["02.6"]) == []
    assert duplicates.pairs({"Ana": {"02.6": LONG}, "Bo": {"02.6": LONG}}, ["02.6"], {"02.6": LONG}) == []


# -- private checks

MORE = '''
from host_to_device.exercises.catalogue import find


class LongSaxpy(find("02.1")):
    """Saxpy, longer."""

    number, points, minutes = "02.1", 7, 5

    def cases(self, seed):
        return [{**case, "size": 777} for case in super().cases(seed)][:1]
'''


@pytest.fixture
def forgotten():
    yield
    catalogue.private.clear()
    marking._asked.cache_clear()


@pytest.fixture
def hidden(tmp_path, forgotten):
    """Exercise 02.1 has a private check."""
    (tmp_path / "more.py").write_text(MORE)
    private.use(private.read(tmp_path))


@pytest.mark.parametrize(
    "more",
    [
        "777 threads of 7 blocks: out[3] is 0.25, but 7.5 is right",
        "777 elements: your code raised ValueError: [0.25 7.5]\n   777 | planted 0.25",
        "777 elements: 7.5\nHint: words of the run: 0.25 7.5 777",
    ],
)
def test_a_student_reads_no_input_of_a_hidden_check(hidden, more):
    said = Verdict("02.1", False, 0, 7, f"02.1 is not right yet: {more}")
    assert private.told(said) == "02.1 is not right yet: it fails a check whose inputs are not shown."
    assert "777" in feedback.of_hidden("Set 02", [result(said)])
    log = ["02.1: it ended the process (exit 77)", "cell 3: stopped"]
    row = gradebook.Row("Ana", "", False, "a.ipynb", {"02.1": 0.0}, remarks=log)
    page = feedback.of_student("Set 02", row, result(said), {"02.1": 7.0})
    assert not re.search("777|exit 77|0.25|7.5|planted", page) and "cell 3: stopped" in page
    report = feedback.of_class("Set 02", [row], [result(said)], {"02.1": 7.0})
    assert not re.search("777|0.25", report)


def test_a_hint_of_the_check_itself_and_a_known_mistake_reach_the_student(hidden):
    said = Verdict("02.1", False, 0, 7, f"02.1 is not right yet: 777\nHint: {judging.USUAL['values']}")
    told = private.told(said, "The square")
    assert told.splitlines()[1:] == ["A known mistake: The square.", f"Hint: {judging.USUAL['values']}"]


def test_other_verdicts_are_told_whole(hidden):
    for number, right, text in (
        ("02.1", True, "02.1 is right: 7 of 7 points"),
        ("02.1", False, "02.1 is not written yet"),
        ("02.2", False, "02.2 is not right yet: 777 elements\nHint: h"),
    ):
        assert private.told(Verdict(number, right, 0, 7, text)) == text
    assert private.is_hidden("90.1") and feedback.of_hidden("Set 02", []) == ""


def result(said):
    """Return what became of a submission with one verdict."""
    return batch.Result(Submission("Ana", "a.ipynb"), marking.Marked({said.number: said}))


def test_a_private_check_replaces_the_cases_of_a_shipped_one(tmp_path, forgotten):
    (tmp_path / "more.py").write_text(MORE)
    shipped = runs.stripped(catalogue.find("02.1"))
    sources = private.read(tmp_path)
    private.use(sources)
    assert catalogue.find("02.1").points == 7
    assert [cls.number for cls in catalogue.in_set("02")].count("02.1") == 1
    assert len(answering.given_of("02.1", 5)) == 1
    assert runs.stripped(catalogue.find("02.1")) == shipped, "only the run goes into the sandbox"
    assert private.key(sources) != private.key({}) == ""
    private.use({})
    assert catalogue.find("02.1").points != 7


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("1 / 0", "more.py does not run: ZeroDivisionError"),
        ("x = 1", "more.py has no exercise"),
        (MORE.replace('"02.1", 7', '"two", 7'), "is not the number of an exercise"),
    ],
)
def test_bad_private_checks_get_one_line(tmp_path, forgotten, source, says):
    (tmp_path / "more.py").write_text(source)
    with pytest.raises(private.BadChecks, match=says) as problem:
        private.use(private.read(tmp_path))
    assert "\n" not in str(problem.value)


def test_a_folder_without_checks_is_named(tmp_path):
    with pytest.raises(private.BadChecks, match="has no Python file"):
        private.read(tmp_path)


# -- a cluster


class Slow(scheduled.Task):
    """Marks nothing: takes a while, and notes that it has begun."""

    def mark(self, cells):
        Path(cells[0]).write_text(str(os.getpid()))
        time.sleep(0.2)
        return marking.Marked(log=[cells[1]])


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_no_grade(tmp_path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        scheduled.Cluster(cluster.scheduler_address) as ours,
    ):
        notebooks = [(str(tmp_path / str(place)), f"notebook {place}") for place in range(20)]
        found, killed = [], 0
        for place, marked in ours.run(Slow((), 1), notebooks):
            found.append((place, marked.log[0]))
            if not killed:
                killed = int((tmp_path / str(place)).read_text())
                os.kill(killed, signal.SIGKILL)
        assert killed and sorted(found) == [(each, f"notebook {each}") for each in range(20)]


def test_no_cluster_and_no_dask_get_one_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(scheduled.NoCluster, match=r"pip install 'host-to-device\[teach\]'$"):
        scheduled.Cluster("tcp://127.0.0.1:1")
