"""Ten students of set 02, from the notebooks that they were given to their marks and pages, with private checks."""

import csv
import json
import re
import shutil
import zipfile

import pytest

from authoring import building, notebooks
from benchmarks.grading import as_saved, solved
from host_to_device.__main__ import main
from host_to_device.exercises import catalogue
from host_to_device.grading import marking, sandbox
from tests.exercises.test_sets import ROOT
from tests.grading import attacks

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


def written(*numbers, by_colab=False, **others):
    """Return the notebook that students get, with the solutions of some exercises and other code in other answers."""
    changed = {cell: source for number in numbers for cell, source in solved(PARTS[number]).items()}
    for number, code in others.items():
        changed |= dict.fromkeys(solved(PARTS[number.replace("_", ".")]), code)
    notebook = notebooks.read(GIVEN)
    for cell in notebook.cells:
        cell.source = changed.get(cell.id, cell.source)
    return as_saved(notebook, by_colab)


def hand_in(folder):
    """Write what the ten students hand in, each in the way of a learning platform or of none."""
    folder.mkdir()
    right = written(*NUMBERS)
    attack = next(each for each in attacks.CHEATS if each.name == "h2d.answer replaced")
    files = {
        "honest": right,
        "half": written("02.a"),
        "colab": written(*NUMBERS, by_colab=True),
        "hostile": attacks.notebook(attack.code()),
        "other": next((ROOT / "exercises").glob("03-*.ipynb")).read_bytes(),
        "empty": b"",
        "table": written("02.a", "02.b", **{"02_1": TABLE}),
    }
    for name, content in files.items():
        (folder / f"{name}.ipynb").write_bytes(content)
    with zipfile.ZipFile(folder / "canvas.zip", "w") as archive:
        archive.writestr(f"lopezana_4711_1_{GIVEN.name}", right)
        archive.writestr(f"libo_4712_2_{GIVEN.name}", GIVEN.read_bytes())
        archive.writestr(f"libo_LATE_4712_3_{GIVEN.stem}-1.ipynb", written("02.a"))
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
    hand_in(tmp_path / "submissions")
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
    hidden = "777"
    page = (out / "feedback" / "table.html").read_text(encoding="utf-8")
    assert "02.1" in page and "OtherSizes" not in page and hidden in page
    journal = [json.loads(line)["student"] for line in (out / "journal.jsonl").read_text().splitlines()]
    assert sorted(journal) == sorted(set(EXPECTED) - {"empty"}), "each was marked once"
    shutil.copy(out / "grades.csv", tmp_path / "first.csv")
    assert main([*words, "--private-checks", str(tmp_path / "private")]) == 0
    assert (tmp_path / "first.csv").read_bytes() == (out / "grades.csv").read_bytes()
    assert len((out / "journal.jsonl").read_text().splitlines()) == len(journal)
