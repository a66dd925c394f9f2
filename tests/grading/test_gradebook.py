"""The tables of marks: what a person has added stays, and no cell is executed by a spreadsheet."""

import csv
import io

import pytest

from host_to_device.grading import gradebook

NUMBERS = {"02.a": 1.0, "02.1": 2.0}
ROWS = [
    gradebook.Row("Ana", "4711", False, "ana.ipynb", {"02.a": 1.0, "02.1": 1.5}, {"02.1": "half"}, ("odd",)),
    gradebook.Row("=cmd|'/c calc'!A1", "", True, "x.ipynb", {"02.a": 0.0, "02.1": 0.0}),
]


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def test_the_table_has_every_exercise_and_the_total():
    head, ana, other = read(gradebook.grades(ROWS, NUMBERS))
    assert head == ["student", "identifier", "late", "02.a", "02.1", "total", "of", "remarks", "file"]
    assert ana == ["Ana", "4711", "", "1", "1.5", "2.5", "3", "odd", "ana.ipynb"]
    assert other[0].startswith("'=") and other[2] == "late"


def test_canvas_and_moodle_get_their_forms():
    head, possible, ana, _ = read(gradebook.canvas(ROWS, NUMBERS, "Set 02"))
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Set 02"]
    assert possible[0].strip() == "Points Possible" and possible[-1] == "3"
    assert ana == ["Ana", "4711", "", "", "", "2.5"]
    head, ana, _ = read(gradebook.moodle(ROWS, NUMBERS))
    assert head == ["Identifier", "Full name", "Grade", "Maximum Grade", "Feedback comments"]
    assert ana == ["Participant 4711", "Ana", "2.5", "3", "02.1: half"]


def test_an_empty_table_for_people_is_made_once(tmp_path):
    path = tmp_path / "manual.csv"
    assert gradebook.manual(path, NUMBERS) == {}
    path.write_text(path.read_text() + "Ana,02.1,1.5,half\nAna,,,well done\nBo,02.a,,see me\n")
    assert gradebook.manual(path, NUMBERS) == {
        "Ana": {"02.1": (1.5, "half"), "": (None, "well done")},
        "Bo": {"02.a": (None, "see me")},
    }


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("Ana,03.1,1,x", r"line 2: there is no exercise 03\.1"),
        ("Ana,02.1,two,x", "line 2: 'two' is no number"),
        ("Ana,,2,x", "line 2: points need the number"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, says):
    path = tmp_path / "manual.csv"
    path.write_text(f"student,exercise,points,comment\n{line}\n")
    with pytest.raises(gradebook.BadTable, match=says):
        gradebook.manual(path, NUMBERS)
    path.write_text("who,what\n")
    with pytest.raises(gradebook.BadTable, match="the first line has to be"):
        gradebook.manual(path, NUMBERS)
