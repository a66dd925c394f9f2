"""Make the student notebook of a set from its solution notebook.

A solution notebook is written whole and run. What the student must write stands between `### BEGIN SOLUTION`
and `### END SOLUTION` (nbgrader's markers); cells tagged `solution-only` are explanations for afterwards.
"""

from __future__ import annotations

import re
from pathlib import Path

from nbformat import NotebookNode

from host_to_device import notebooks

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
SOLUTION_ONLY = "solution-only"
# Tags that fold a solution away on its page; a student's own cell stays open.
FOLDING_TAGS = {"hide-input", "hide-cell"}


class MarkerError(ValueError):
    """A solution notebook is not marked as the build needs it; the message says where."""


def without_solution(source: str, where: str) -> str:
    """Return a cell's source with each marked region replaced by a line that says that it is missing."""
    lines, kept, inside = source.split("\n"), [], False
    for line in lines:
        if line.strip() == BEGIN:
            if inside:
                raise MarkerError(f"{where}: {BEGIN} stands inside another solution")
            inside = True
            indent = line[: len(line) - len(line.lstrip())]
            kept += [
                f"{indent}# Write your code here",
                f'{indent}raise NotImplementedError("not written yet")',
            ]
        elif line.strip() == END:
            if not inside:
                raise MarkerError(f"{where}: {END} without {BEGIN}")
            inside = False
        elif not inside:
            kept.append(line)
    if inside:
        raise MarkerError(f"{where}: {BEGIN} without {END}")
    return "\n".join(kept)


def student_version(solution: NotebookNode, source_name: str) -> NotebookNode:
    """Return the student notebook: no solutions, no explanations, no outputs.

    Parameters
    ----------
    solution
        The solution notebook.
    source_name
        Its path in the repository, for the note that says where the exercises come from.

    Raises
    ------
    MarkerError
        If a marker has no partner, or the notebook holds no solution at all.
    """
    student = notebooks.canonical(solution)
    student.cells = [cell for cell in student.cells if SOLUTION_ONLY not in cell.metadata.get("tags", [])]
    found = 0
    for cell in student.cells:
        if cell.cell_type != "code":
            continue
        cell.outputs, cell.execution_count = [], None
        if BEGIN in cell.source:
            found += 1
        cell.source = without_solution(cell.source, f"{source_name}, cell {cell.id}")
        tags = [tag for tag in cell.metadata.pop("tags", []) if tag not in FOLDING_TAGS]
        if tags:
            cell.metadata["tags"] = tags
    if not found:
        raise MarkerError(f"{source_name}: no cell holds {BEGIN}, so there is nothing to exercise")
    title = student.cells[0]
    title.source = re.sub(r"^# Solutions", "# Exercises", title.source)
    title.source += f"\n\n<!-- Made from {source_name} by `make exercises`: edit it there. -->"
    student.metadata["host_to_device"] = {"made_from": source_name}
    return student


def build(solutions: Path, exercises: Path) -> list[Path]:
    """Write the student notebook of every set in `solutions` into `exercises`; return the paths.

    Raises
    ------
    FileNotFoundError
        If there is no solution notebook.
    MarkerError
        If one of them is not marked as it must be; nothing is written then.
    """
    sources = sorted(solutions.glob("*.ipynb"))
    if not sources:
        raise FileNotFoundError(f"{solutions}: no solution notebooks here")
    made = {
        exercises / source.name: student_version(notebooks.read(source), f"solutions/{source.name}")
        for source in sources
    }
    for path, notebook in made.items():
        notebooks.write(notebook, path)
    return list(made)
