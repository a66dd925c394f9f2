"""What a class has handed in is found, whatever it is packed in, and nothing that lies outside is read."""

import io
import os
import stat
import zipfile

import pytest

from host_to_device.grading import cells, submissions
from tests.grading import attacks

GOOD = attacks.notebook([attacks.START, attacks.HONEST, attacks.ASK[0]])
MORE = attacks.notebook([attacks.START, attacks.HONEST, *attacks.ASK])
OTHER = attacks.notebook([attacks.START, 'h2d.answer("03.a")'])
NUMBERS = ["02.a", "02.1"]


def zipped(files: dict[str, bytes], path=None) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    if path is not None:
        path.write_bytes(stream.getvalue())
    return stream.getvalue()


def test_files_of_a_folder_are_students(tmp_path):
    for name in ("ana.ipynb", "Bo Li.ipynb", "notes.txt", ".hidden.ipynb", "ana-checkpoint.ipynb"):
        (tmp_path / name).write_bytes(GOOD)
    found = submissions.found(tmp_path)
    assert [each.student for each in found] == ["Bo Li", "ana"]
    assert all(each.content == GOOD for each in found)


def test_folders_are_students_as_nbgrader_lays_them_out(tmp_path):
    (tmp_path / "ana" / "02-host-and-device").mkdir(parents=True)
    (tmp_path / "ana" / "02-host-and-device" / "02-host-and-device.ipynb").write_bytes(GOOD)
    [each] = submissions.found(tmp_path)
    assert (each.student, each.file) == ("ana", "ana/02-host-and-device/02-host-and-device.ipynb")


def test_a_zip_of_canvas_names_students_numbers_and_what_is_late(tmp_path):
    zipped(
        {
            "lopezana_4711_12345_02-host-and-device.ipynb": GOOD,
            "libo_LATE_4712_12346_02-host-and-device-1.ipynb": GOOD,
        },
        tmp_path / "submissions.zip",
    )
    found = submissions.found(tmp_path / "submissions.zip")
    assert [(each.student, each.identifier, each.late) for each in found] == [
        ("lopezana", "4711", False),
        ("libo", "4712", True),
    ]


def test_a_zip_of_moodle_names_students_by_its_folders(tmp_path):
    zipped(
        {
            "Ana López_99_assignsubmission_file_/02.ipynb": GOOD,
            "Bo Li_98_assignsubmission_file/02 (1).ipynb": GOOD,
            "Cy_97_assignsubmission_file_02.ipynb": GOOD,
        },
        tmp_path / "all.zip",
    )
    found = submissions.found(tmp_path)
    assert [(each.student, each.identifier) for each in found] == [
        ("Ana López", "99"),
        ("Bo Li", "98"),
        ("Cy", "97"),
    ]


def test_a_students_own_zip_is_named_by_its_file(tmp_path):
    zipped({"work/02.ipynb": GOOD, "__MACOSX/work/._02.ipynb": b"x"}, tmp_path / "ana.zip")
    [each] = submissions.found(tmp_path)
    assert (each.student, each.content) == ("ana", GOOD)


def test_of_several_notebooks_the_one_with_most_answers_counts_then_the_last(tmp_path):
    for name, content in {"a1": GOOD, "a2": MORE, "a3": OTHER}.items():
        (tmp_path / "ana").mkdir(exist_ok=True)
        (tmp_path / "ana" / f"{name}.ipynb").write_bytes(content)
    [best], others = submissions.chosen(submissions.found(tmp_path), NUMBERS)
    assert best.file == "ana/a2.ipynb" and {each.file for each in others} == {"ana/a1.ipynb", "ana/a3.ipynb"}
    zipped({"ana_1_2_02.ipynb": GOOD, "ana_1_3_02-1.ipynb": GOOD}, tmp_path / "canvas.zip")
    [best], _ = submissions.chosen(submissions.found(tmp_path / "canvas.zip"), NUMBERS)
    assert best.file.endswith("02-1.ipynb")


def test_names_in_a_zip_lead_nowhere(tmp_path):
    zipped(
        {"../../etc/evil.ipynb": GOOD, "/srv/evil2.ipynb": GOOD, "..\\..\\evil3.ipynb": GOOD},
        tmp_path / "a.zip",
    )
    found = submissions.found(tmp_path)
    assert {each.student for each in found} <= {"etc", "srv", "evil3", "evil", "evil2"} and len(found) == 3
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.zip"], "nothing was unpacked"


def test_links_are_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.ipynb").write_bytes(GOOD)
    inside = tmp_path / "inside"
    inside.mkdir()
    os.symlink(outside / "secret.ipynb", inside / "ana.ipynb")
    os.symlink(outside, inside / "bo")
    member = zipfile.ZipInfo("cy.ipynb")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(inside / "z.zip", "w") as archive:
        archive.writestr(member, "/etc/passwd")
        archive.writestr("dan.ipynb", GOOD)
    found = submissions.found(inside)
    assert {each.student: each.problem for each in found} == {
        "ana": "it is a link, which is not followed",
        "bo": "it is a link, which is not followed",
        "cy": "it is a link, which is not followed",
        "dan": "",
    }


def test_a_zip_bomb_is_not_unpacked(tmp_path):
    bomb = zipped({"ana.ipynb": b"0" * (cells.LARGEST + 2), "bo.ipynb": GOOD}, tmp_path / "all.zip")
    assert len(bomb) < 10**6
    ana, bo = submissions.found(tmp_path)
    assert "larger than 32 MB" in ana.problem and not ana.content
    assert bo.content == GOOD and not bo.problem


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", zipped({"a.ipynb": GOOD})[:-30]])
def test_a_broken_zip_is_its_students_problem(tmp_path, content):
    (tmp_path / "ana.zip").write_bytes(content)
    (tmp_path / "bo.ipynb").write_bytes(GOOD)
    ana, bo = submissions.found(tmp_path)
    assert ana.problem.startswith("the zip cannot be read") and not bo.problem


def test_where_nothing_is_one_line_says_what_was_expected(tmp_path):
    with pytest.raises(submissions.NothingThere, match="name the folder or the zip"):
        submissions.found(tmp_path / "nowhere")
    with pytest.raises(submissions.NothingThere, match="has no notebook"):
        submissions.found(tmp_path)


# -- cells


@pytest.mark.parametrize(
    ("name", "says"),
    {
        "empty": "the file is empty",
        "no JSON": "does not hold JSON",
        "cut off": "does not hold JSON",
        "a number": "no list of cells",
        "a list": "no list of cells",
        "no cells": "no list of cells",
        "nested without end": "does not hold JSON",
        "binary": "does not hold JSON",
        "huge": "the limit is 32 MB",
    }.items(),
)
def test_what_is_no_notebook_gets_one_line(name, says):
    with pytest.raises(cells.Unreadable, match=says) as problem:
        cells.read(attacks.files()[name])
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("name", ["not UTF-8", "UTF-16", "format 3", "a wrong kernel", "sources as lists"])
def test_a_strange_notebook_is_read(name):
    book = cells.read(attacks.files()[name])
    assert {"02.a", "02.1"} == book.answered and len(book.cells) == 5
    assert bool(book.remarks) == (name in ("not UTF-8", "UTF-16", "format 3"))


def test_cells_that_are_none_are_left_out():
    assert cells.read(attacks.files()["cells that are none"]).cells == ("",)
