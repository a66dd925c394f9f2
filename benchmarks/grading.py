"""How long a class takes to grade: `python -m benchmarks.grading [--students 100] [--nbgrader]`.

The submissions are made from set 02 as students hand it in: most answers are the solution's, some are the wrong answers
in `solutions/` and `solutions/answers/`, some exercises are untouched, a third of the notebooks ends half done, and half of
them were saved by Colab. With `--nbgrader` the same code is graded with nbgrader, too, in the same run.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat

from authoring import answers, building, notebooks
from authoring.solutions import BEGIN, END, Part

ROOT = Path(__file__).resolve().parents[1]
SET = "02"
SOLVED, WRONG = 0.65, 0.22  # of the exercises that a student has come to; the rest are untouched


def alternatives(path: Path) -> dict[str, list[str]]:
    """Return the code of the wrong answers to each exercise of a set."""
    file = ROOT / "solutions" / "answers" / f"{SET}.md"
    tried = {each.number: each.answers for each in answers.read(file.read_text(encoding="utf-8"), file.name)}
    return {
        part.number: [each.code for each in part.wrong]
        + [each.code for each in tried.get(part.number, ()) if each.code and not each.right]
        for part in building.parts(path)
    }


def handed_in(path: Path, students: int) -> Iterator[dict[str, str]]:
    """Yield for each student the sources of the cells that are not as in the skeleton, by the cells' ids."""
    chance, parts, wrong = random.Random(2), building.parts(path), alternatives(path)
    for _ in range(students):
        come_to = len(parts) if chance.random() < 2 / 3 else chance.randint(2, len(parts) - 2)
        changed: dict[str, str] = {}
        for part in parts[:come_to]:
            drawn = chance.random()
            if drawn < SOLVED:
                changed |= solved(part)
            elif drawn < SOLVED + WRONG:
                changed |= part.replaced(chance.choice(wrong[part.number]))
        yield changed


def solved(part: Part) -> dict[str, str]:
    """Return the sources of an exercise's solution cells."""
    return {
        cell.id: "\n".join(line for line in cell.source.split("\n") if line.strip() not in (BEGIN, END))
        for cell in part.solutions
    }


def as_saved(notebook: Any, by_colab: bool) -> bytes:
    """Return a notebook as Jupyter saves it, or as Colab does, which drops the metadata of its cells."""
    if by_colab:
        for cell in notebook.cells:
            cell.metadata = {}
        notebook.metadata = {"colab": {"provenance": []}, "kernelspec": {"name": "python3"}}
    return nbformat.writes(notebook).encode()


def timed(what: str, students: int, work: Callable[[], Any]) -> float:
    """Do something, print what it took, and return the seconds."""
    began = time.monotonic()
    work()
    seconds = time.monotonic() - began
    print(f"{what}: {seconds:.1f} s, {seconds / students:.2f} s a submission", flush=True)
    return seconds


def main() -> None:
    """Make the class, grade it, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grading", description=__doc__)
    parser.add_argument("--students", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--nbgrader", action="store_true", help="grade the same code with nbgrader as well")
    chosen = parser.parse_args()
    if chosen.students < 1 or chosen.jobs < 1:
        parser.error("--students and --jobs take whole numbers from 1")
    [path] = (ROOT / "exercises").glob(f"{SET}-*.ipynb")
    source = ROOT / "solutions" / path.name
    changes = list(handed_in(source, chosen.students))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "submissions").mkdir()
        for number, changed in enumerate(changes):
            notebook = notebooks.read(path)
            for cell in notebook.cells:
                cell.source = changed.get(cell.id, cell.source)
            content = as_saved(notebook, by_colab=number % 2 == 0)
            (place / "submissions" / f"student{number:03}.ipynb").write_bytes(content)
        print(f"{chosen.students} submissions of set {SET}, {chosen.jobs} at once")
        ours = timed("host-to-device grade", chosen.students, lambda: grade(place, chosen.jobs))
        if chosen.nbgrader:
            theirs = timed("nbgrader autograde", chosen.students, autograding(place, source, changes))
            print(f"nbgrader takes {theirs / ours:.1f} times as long")


def grade(place: Path, jobs: int) -> None:
    """Grade the submissions of a folder with the command."""
    from host_to_device.__main__ import main as command

    words = ["grade", SET, str(place / "submissions"), "--out", str(place / "grades"), "--jobs", str(jobs)]
    if status := command(words):
        sys.exit(status)


def autograding(place: Path, source: Path, changes: list[dict[str, str]]) -> Callable[[], Any]:
    """Hand the same code in to a course of nbgrader's; return the call that grades it."""
    from tests.exercises.test_nbgrader import Course  # a course as an instructor sets it up

    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ["PYTHONPATH"] = str(ROOT)
    os.environ.update(H2D_MACHINE="stand-in", H2D_PROGRESS="off")
    course = Course(place / "course", source)
    for number, changed in enumerate(changes):
        course.submit(f"student{number:03}", changed)
    return course.autograde


if __name__ == "__main__":
    main()
