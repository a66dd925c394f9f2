"""Ten students of set 02, from the hand-out to their marks and pages, with private checks, and what is left for next year."""

import csv
import html
import json
import re
import shutil
import zipfile

import pytest

from authoring import building, notebooks
from benchmarks.grading import as_saved, solved
from book import address
from host_to_device.__main__ import main
from host_to_device.exercises import catalogue
from host_to_device.grading import marking, sandbox
from tests.exercises.test_sets import ROOT
from tests.grading import attacks
from tools import courses

[GIVEN] = (ROOT / "exercises").glob("02-*.ipynb")
PARTS = {part.number: part for part in building.parts(ROOT / "solutions" / GIVEN.name)}
NUMBERS = ["02.a", "02.b", "02.1"]
PAGE = (ROOT / "chapters" / "teaching.md").read_text(encoding="utf-8")
# The marks of 02.a, 02.b and 02.1, with the private check of the page for instructors.
EXPECTED = {
    "honest": (1, 1, 2),
    "half": (1, 0, 0),
    "colab": (1, 1, 2),
    "hostile": (1, 0, 0),
    "other": (0, 0, 0),
    "lopezana": (1, 1, 2),  # Canvas
    "libo": (1, 0, 0),  # Canvas, late, handed in twice: the notebook with more answers counts
    "Cy Young": (1, 1, 2),  # Moodle
    "empty": (0, 0, 0),
    "table": (1, 1, 0),  # right for the shipped cases only
}
# Right for sizes that the shipped cases have, and not for the private one.
TABLE = """
@cuda.jit
def saxpy(alpha, x, y, out):
    i = cuda.grid(1)
    if i < out.size and out.size != 777:
        out[i] = alpha * x[i] + y[i]
"""


def written(given, *numbers, by_colab=False, **others):
    """Return a notebook that students got, with the solutions of some exercises and other code in other answers."""
    changed = {cell: source for number in numbers for cell, source in solved(PARTS[number]).items()}
    for number, code in others.items():
        changed |= dict.fromkeys(solved(PARTS[number.replace("_", ".")]), code)
    notebook = notebooks.read(given)
    for cell in notebook.cells:
        cell.source = changed.get(cell.id, cell.source)
    return as_saved(notebook, by_colab)


def hand_in(folder, given):
    """Write what the ten students hand in, each in the way of a learning platform or of none.

    Parameters
    ----------
    folder
        The folder to write.
    given
        The notebook that was handed out.
    """
    folder.mkdir()
    right = written(given, *NUMBERS)
    attack = next(each for each in attacks.CHEATS if each.name == "h2d.answer replaced")
    files = {
        "honest": right,
        "half": written(given, "02.a"),
        "colab": written(given, *NUMBERS, by_colab=True),
        "hostile": attacks.notebook(attack.code()),
        "other": next((ROOT / "exercises").glob("03-*.ipynb")).read_bytes(),
        "empty": b"",
        "table": written(given, "02.a", "02.b", **{"02_1": TABLE}),
    }
    for name, content in files.items():
        (folder / f"{name}.ipynb").write_bytes(content)
    with zipfile.ZipFile(folder / "canvas.zip", "w") as archive:
        archive.writestr(f"lopezana_4711_1_{GIVEN.name}", right)
        archive.writestr(f"libo_4712_2_{GIVEN.name}", given.read_bytes())
        archive.writestr(f"libo_LATE_4712_3_{GIVEN.stem}-1.ipynb", written(given, "02.a"))
    with zipfile.ZipFile(folder / "moodle.zip", "w") as archive:
        archive.writestr(f"Cy Young_97_assignsubmission_file_/{GIVEN.name}", right)


@pytest.fixture
def forgotten():
    yield
    catalogue.private.clear()
    marking._asked.cache_clear()


@pytest.mark.slow
def test_ten_students_get_their_marks_and_pages(tmp_path, forgotten):
    try:
        sandbox.bubblewrap(sandbox.Limits())
    except sandbox.NoSandbox as problem:
        pytest.skip(str(problem))
    assert courses.main(["hand-out", "02", "--out", str(tmp_path / "hand-outs")]) == 0
    given, page = tmp_path / "hand-outs" / GIVEN.name, tmp_path / "hand-outs" / f"{GIVEN.stem}.md"
    assert given.read_bytes() == GIVEN.read_bytes()
    link = address.read(ROOT).colab(f"exercises/{GIVEN.name}")
    assert f"Open the notebook in Colab: {link}\n" in page.read_text() and "| 02.1 " in page.read_text()
    hand_in(tmp_path / "submissions", given)
    (tmp_path / "private").mkdir()
    [check] = re.findall(r"```python\n(from host_to_device\.exercises\.catalogue.*?)```", PAGE, re.S)
    (tmp_path / "private" / "more.py").write_text(check)
    out = tmp_path / "grades"
    words = ["grade", "02", str(tmp_path / "submissions"), "--out", str(out), "--only", *NUMBERS]
    assert main([*words, "--private-checks", str(tmp_path / "private")]) == 0
    rows = {row["student"]: row for row in csv.DictReader((out / "grades.csv").open())}
    got = {student: tuple(float(row[number]) for number in NUMBERS) for student, row in rows.items()}
    assert got == EXPECTED
    assert rows["libo"]["late"] == "late" and rows["libo"]["identifier"] == "4712"
    assert "it answers 03" in rows["other"]["remarks"] and "empty" in rows["empty"]["remarks"]
    assert {path.stem for path in (out / "feedback").iterdir()} == {
        student.replace(" ", "-") for student in EXPECTED
    }
    page = (out / "feedback" / "table.html").read_text(encoding="utf-8")
    for_me = (out / "hidden.html").read_text(encoding="utf-8")
    assert "02.1 is not right yet: it fails a check whose inputs are not shown." in page
    assert "777" not in page.replace(html.escape(TABLE.strip()), "") and "OtherSizes" not in page
    assert "777" in for_me and "<h2>table, 02.1</h2>" in for_me and "honest" not in for_me
    journal = [json.loads(line)["student"] for line in (out / "journal.jsonl").read_text().splitlines()]
    assert sorted(journal) == sorted(set(EXPECTED) - {"empty"}), "each was marked once"
    shutil.copy(out / "grades.csv", tmp_path / "first.csv")
    assert main([*words, "--private-checks", str(tmp_path / "private")]) == 0
    assert (tmp_path / "first.csv").read_bytes() == (out / "grades.csv").read_bytes()
    assert len((out / "journal.jsonl").read_text().splitlines()) == len(journal)
    unchanged = courses.unchanged(ROOT, tmp_path / "hand-outs")
    assert unchanged == {"02": [*PARTS]}, "last year's answers earn their points"
