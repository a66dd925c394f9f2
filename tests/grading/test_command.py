"""`host-to-device grade`, from a folder of notebooks to tables and pages; stopped in the middle, and gone on with."""

import csv
import dataclasses
import json
import shutil

import pytest

from host_to_device.__main__ import main
from host_to_device.exercises.verdicts import Verdict
from host_to_device.grading import batch, command, marking, sandbox
from host_to_device.support import child_processes
from tests.grading import attacks

GOOD = attacks.notebook([attacks.START, attacks.HONEST, attacks.SAXPY, *attacks.ASK])


@pytest.fixture
def handed_in(tmp_path):
    folder = tmp_path / "submissions"
    folder.mkdir()
    (folder / "Ana.ipynb").write_bytes(GOOD)
    (folder / "Bo.ipynb").write_bytes(GOOD + b" ")
    (folder / "Cy.ipynb").write_bytes(b"this is no notebook")
    (folder / "Dan.ipynb").write_bytes(attacks.notebook([attacks.START, 'h2d.answer("03.a")']))
    return folder


@pytest.fixture
def marks(monkeypatch):
    """The sandbox replaced by verdicts: every exercise of a notebook that has `saxpy` is right."""
    seen = []

    def mark(cells, numbers, seed, *_):
        seen.append((tuple(cells), seed))
        right = any("def saxpy" in each for each in cells)
        said = "is right" if right else "is not right yet: <b>no</b>\nHint: Write it."
        return marking.Marked(
            {each: Verdict(each, right, 2.0 * right, 2.0, f"{each} {said}") for each in numbers},
            {1: marking.Ran("", "ValueError: <i>odd</i>")},
        )

    monkeypatch.setattr(marking, "mark", mark)
    monkeypatch.setattr(sandbox, "bubblewrap", lambda limits: sandbox.unsafe())
    return seen


def graded(handed_in, out, *more):
    return main(["grade", "2", str(handed_in), "--out", str(out), "--only", "02.a", "02.1", *more])


def test_a_class_gets_its_tables_and_pages(handed_in, tmp_path, marks, capsys):
    out = tmp_path / "grades"
    assert graded(handed_in, out) == 0
    rows = list(csv.DictReader((out / "grades.csv").open()))
    assert [(row["student"], row["total"]) for row in rows] == [
        ("Ana", "4"),
        ("Bo", "4"),
        ("Cy", "0"),
        ("Dan", "0"),
    ]
    assert "no notebook" in rows[2]["remarks"] and "it answers 03" in rows[3]["remarks"]
    pages = {path.name: path.read_text() for path in (out / "feedback").iterdir()}
    assert set(pages) == {"Ana.html", "Bo.html", "Cy.html", "Dan.html"}
    assert "02.a is right" in pages["Ana.html"] and "def saxpy" in pages["Ana.html"]
    assert (
        "&lt;b&gt;no" in pages["Dan.html"]
        and "<b>no" not in pages["Dan.html"]
        and "<i>odd" not in pages["Dan.html"]
    )
    report = (out / "class.html").read_text()
    assert "Write it." in report and "<svg" in report and "<script" not in report
    assert (out / "log.txt").read_text().startswith("Cy: the file is no notebook")
    assert "4 notebooks graded" in capsys.readouterr().out


def test_a_second_run_marks_only_what_is_new_and_keeps_what_people_have_added(handed_in, tmp_path, marks):
    out = tmp_path / "grades"
    graded(handed_in, out)
    first = (out / "grades.csv").read_bytes()
    assert len(marks) == 3
    graded(handed_in, out)
    assert len(marks) == 3 and (out / "grades.csv").read_bytes() == first
    with (out / "manual.csv").open("a") as file:
        file.write("Ana,02.1,0.5,see me\n")
    (handed_in / "Eve.ipynb").write_bytes(GOOD + b"  ")
    graded(handed_in, out)
    assert len(marks) == 4 and len({seed for _, seed in marks}) == 1
    rows = {row["student"]: row for row in csv.DictReader((out / "grades.csv").open())}
    assert rows["Ana"]["total"] == "2.5" and rows["Eve"]["total"] == "4"
    assert "see me" in (out / "feedback" / "Ana.html").read_text()


def test_a_run_that_was_stopped_goes_on(handed_in, tmp_path, marks, monkeypatch, capsys):
    out, mark = tmp_path / "grades", marking.mark

    def stops(*given):
        if len(marks) == 1:
            raise KeyboardInterrupt
        return mark(*given)

    monkeypatch.setattr(marking, "mark", stops)
    assert graded(handed_in, out, "--jobs", "1") == 130
    assert "goes on where it was" in capsys.readouterr().err
    assert len((out / batch.JOURNAL).read_text().splitlines()) == 1
    with (out / batch.JOURNAL).open("a") as file:
        file.write('{"key": "cut o')
    monkeypatch.setattr(marking, "mark", mark)
    assert graded(handed_in, out, "--jobs", "1") == 0
    assert len(marks) == 3, "each notebook was marked once"
    keys = [
        json.loads(line)["key"]
        for line in (out / batch.JOURNAL).read_text().splitlines()
        if line.endswith("}")
    ]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["grade", "77", "{here}", "--out", "{out}"], "there is no set 77; sets: 01, 02"),
        (
            ["grade", "02", "{here}", "--out", "{out}", "--only", "03.1"],
            "there is no exercise 03.1 in set 02",
        ),
        (["grade", "02", "{here}/nowhere", "--out", "{out}"], "does not exist: name the folder"),
        (["grade", "02", "{here}", "--out", "{out}", "--jobs", "0"], "take numbers above 0"),
    ],
)
def test_bad_words_get_one_line(handed_in, tmp_path, marks, capsys, words, says):
    words = [each.format(here=handed_in, out=tmp_path / "grades") for each in words]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1


def test_two_graders_do_not_write_into_one_folder(handed_in, tmp_path, marks, capsys):
    out = tmp_path / "grades"
    out.mkdir()
    with batch.filelock.FileLock(out / batch.LOCK):
        assert graded(handed_in, out) == 2
    assert "is in use" in capsys.readouterr().err


def test_every_student_gets_a_file_of_their_own():
    assert command.file_names(["Ana", "ana", "a/../b", "", "=x"]) == ["Ana", "ana-2", "a-b", "student", "x"]


def test_a_system_without_a_fork_server_is_named_once_on_the_terminal_and_in_the_log(
    handed_in, tmp_path, marks, monkeypatch, capsys
):
    mark = marking.mark

    def starts(cells, numbers, seed, box, limits, *rest):
        child_processes.end(box.start("this", limits, tmp_path))
        return mark(cells, numbers, seed)

    monkeypatch.setattr(marking, "mark", starts)
    blocked = dataclasses.replace(sandbox.unsafe(), serving=(shutil.which("false"),))
    monkeypatch.setattr(sandbox, "bubblewrap", lambda limits: blocked)
    out = tmp_path / "grades"
    assert graded(handed_in, out, "--jobs", "1") == 0
    says = "each notebook now starts Python anew, which takes longer: no process can be forked in the sandbox here"
    said = [line for line in capsys.readouterr().err.splitlines() if says in line]
    logged = [line for line in (out / "log.txt").read_text().splitlines() if says in line]
    assert len(said) == len(logged) == 1 and said[0] == f"grade: {logged[0]}"
