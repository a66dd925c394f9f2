"""Make the student notebook of a set from its solution notebook.

An author writes the solution notebook in full and runs it. The lines that the student has to write stand between
`### BEGIN SOLUTION` and `### END SOLUTION` (nbgrader's markers); `host_to_device.exercises.definition` describes the
other cells.
"""

from __future__ import annotations

import re
from pathlib import Path

from nbformat import NotebookNode

from authoring import notebooks
from authoring.solutions import (
    BEGIN,
    CHECK,
    END,
    SOLUTION_ONLY,
    WRONG,
    MarkerError,
    Part,
    read_set,
    tags,
)

__all__ = [
    "BEGIN",
    "END",
    "MarkerError",
    "build",
    "instructor_version",
    "student_version",
    "without_solution",
]

NOT_FOR_STUDENTS = {CHECK, WRONG, SOLUTION_ONLY}
# Tags that fold a solution away on its page. A student's own cell stays open.
FOLDING_TAGS = {"hide-input", "hide-cell"}
STARTED = ("# Write your code here", 'raise NotImplementedError("not written yet")')
# nbgrader's markers in any spelling: none of them may reach a student.
MARKER = re.compile(r"(?:BEGIN|END)[ _-]*(?:SOLUTION|HIDDEN[ _-]*TESTS?)|HIDDEN[ _-]*TESTS?", re.I)


def without_solution(source: str, where: str) -> str:
    """Return a cell's source with each solution replaced by a line that raises NotImplementedError."""
    lines, kept, inside = source.split("\n"), [], False
    for line in lines:
        if line.strip() == BEGIN:
            if inside:
                raise MarkerError(f"{where}: {BEGIN} stands inside another solution")
            inside = True
            indent = line[: len(line) - len(line.lstrip())]
            kept += [f"{indent}{each}" for each in STARTED]
        elif line.strip() == END:
            if not inside:
                raise MarkerError(f"{where}: {END} without {BEGIN}")
            inside = False
        elif not inside:
            kept.append(line)
    if inside:
        raise MarkerError(f"{where}: {BEGIN} without {END}")
    return "\n".join(kept)


def _for_others(solution: NotebookNode) -> NotebookNode:
    """Return the notebook without its outputs, and without the cells that students must not see."""
    notebook = notebooks.canonical(solution)
    notebook.cells = [cell for cell in notebook.cells if not NOT_FOR_STUDENTS & set(tags(cell))]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            left = [tag for tag in cell.metadata.pop("tags", []) if tag not in FOLDING_TAGS]
            if left:
                cell.metadata["tags"] = left
    notebook.cells[0].source = re.sub(r"^# Solutions", "# Exercises", notebook.cells[0].source)
    return notebook


def student_version(solution: NotebookNode, source_name: str) -> NotebookNode:
    """Return the student notebook: no solutions, no checks, no explanations, no outputs.

    Parameters
    ----------
    solution
        The solution notebook.
    source_name
        Its path in the repository, "solutions/02-host-and-device.ipynb".

    Raises
    ------
    MarkerError
        If the notebook is not written as `definition` says, has no exercise, or would show a marker to the student.
    """
    read_set(solution, source_name)
    student = _for_others(solution)
    for cell in student.cells:
        where = f"{source_name}, cell {cell.id}"
        if cell.cell_type == "code":
            cell.source = without_solution(cell.source, where)
        leak = MARKER.search(cell.source)
        if leak:
            raise MarkerError(f"{where}: {leak[0]!r} would reach the student")
    student.cells[0].source += f"\n\n<!-- Made from {source_name} by `make exercises`: edit it there. -->"
    student.metadata["host_to_device"] = {"made_from": source_name}
    return student


def instructor_version(solution: NotebookNode, source_name: str) -> NotebookNode:
    """Return the notebook from which nbgrader generates an assignment: it has the solutions, with their markers.

    It has no checks, wrong answers or explanations, because nbgrader would hand them to the students.

    Parameters
    ----------
    solution, source_name
        As for `student_version`.

    Raises
    ------
    MarkerError
        As `student_version`.
    """
    student_version(solution, source_name)
    return _for_others(solution)


# -- all sets


def build(solutions: Path, exercises: Path) -> list[Path]:
    """Write the student notebook of every set; return the paths.

    A student notebook that an earlier build made from a solution notebook that is gone is removed.

    Parameters
    ----------
    solutions
        Folder of the solution notebooks.
    exercises
        Folder for the student notebooks.

    Raises
    ------
    FileNotFoundError
        If there is no solution notebook.
    MarkerError
        If one of them is not written as `definition` says, or if two have one number; nothing is written then.
    """
    sources = sorted(solutions.glob("*.ipynb"))
    if not sources:
        raise FileNotFoundError(f"{solutions}: no solution notebooks here")
    made: dict[Path, str] = {}
    numbers: set[str] = set()
    for source in sources:
        name = f"solutions/{source.name}"
        made[exercises / source.name] = notebooks.as_text(student_version(notebooks.read(source), name))
        if source.name[:2] in numbers:
            raise MarkerError(f"{name}: another set has the number {source.name[:2]}, too")
        numbers.add(source.name[:2])
    exercises.mkdir(parents=True, exist_ok=True)
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    for path in sorted(exercises.glob("*.ipynb")):
        if path not in made and notebooks.read(path).metadata.get("host_to_device", {}).get("made_from"):
            path.unlink()
    return list(made)


def parts(path: Path) -> list[Part]:
    """Return the exercises of the solution notebook at `path`."""
    return read_set(notebooks.read(path), f"solutions/{path.name}")
