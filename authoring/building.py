"""Make the student notebook of a set, and the module of its checks, from its solution notebook.

A solution notebook is written whole and run. What the student must write stands between `### BEGIN SOLUTION`
and `### END SOLUTION` (nbgrader's markers); `definition` says what else is in it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
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
    check_class,
    read_set,
    tags,
)

__all__ = [
    "BEGIN",
    "END",
    "SETS",
    "MarkerError",
    "build",
    "instructor_version",
    "set_module",
    "student_version",
    "without_solution",
]

SETS = Path(__file__).resolve().parents[1] / "host_to_device" / "exercises" / "sets"
NOT_FOR_STUDENTS = {CHECK, WRONG, SOLUTION_ONLY}
# Tags that fold a solution away on its page; a student's own cell stays open.
FOLDING_TAGS = {"hide-input", "hide-cell"}
STARTED = ("# Write your code here", 'raise NotImplementedError("not written yet")')
# In whatever spelling, and whichever of nbgrader's: none of these may reach a student.
MARKER = re.compile(r"(?:BEGIN|END)[ _-]*(?:SOLUTION|HIDDEN[ _-]*TESTS?)|HIDDEN[ _-]*TESTS?", re.I)
WIDTH = 110


def without_solution(source: str, where: str) -> str:
    """Return a cell's source with each marked region replaced by a line that says that it is missing."""
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
    """Return the notebook without outputs, and without the cells that are not for students."""
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
        If it is not written as `definition` says, holds nothing to exercise, or a marker would be left.
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
    """Return the notebook from which nbgrader generates an assignment: the solutions are in it, with their markers.

    Checks, wrong answers and explanations are not, because nbgrader would hand them to the students.

    Parameters
    ----------
    solution, source_name
        As for `student_version`.

    Raises
    ------
    MarkerError
        As there.
    """
    student_version(solution, source_name)
    return _for_others(solution)


# -- the module of a set's checks


def set_module(solution: NotebookNode, source_name: str) -> str:
    """Return the source of `setNN.py`: the classes of a set's check cells, as the library ships them.

    Parameters
    ----------
    solution, source_name
        As for `student_version`.

    Raises
    ------
    MarkerError
        As there, or if two check cells give one name to two things.
    """
    parts = read_set(solution, source_name)
    classes, imports, names = [], [], {}
    for part in parts:
        where = f"{source_name}, cell {part.check.id}"
        node, theirs = check_class(part.check.source, where)
        imports += theirs
        bound = {node.name: f"class of {part.number}"}
        for each in theirs:
            module = each.module if isinstance(each, ast.ImportFrom) else ""
            if isinstance(each, ast.ImportFrom) and (each.level or module == "__future__"):
                raise MarkerError(f"{where}: import modules by their whole names")
            bound |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in each.names}
        for name, what in bound.items():
            if names.setdefault(name, what) != what:
                raise MarkerError(f"{where}: {name} is something else in another check of this set")
        lines = part.check.source.split("\n")
        classes.append("\n".join(lines[_first_line(node, lines) : node.end_lineno]))
    head = [
        f'"""Checks of {source_name}: made by `make exercises`, edit them there."""',
        _imports(imports),
        f'TITLE = "{_title(solution)}"',
    ]
    return "\n\n".join(head) + "\n\n\n" + "\n\n\n".join(classes) + "\n"


def _first_line(node: ast.ClassDef, lines: list[str]) -> int:
    """Return the index of a class's first line, with the comments right above it."""
    first = node.lineno - 1
    while first and lines[first - 1].startswith("#"):
        first -= 1
    return first


def _title(solution: NotebookNode) -> str:
    """Return the set's title: what follows the colon of the notebook's."""
    title = solution.cells[0].source.split("\n")[0].partition(":")[2].strip().replace('"', "'")
    return f"{title[:1].upper()}{title[1:]}"


def _imports(nodes: Iterable[ast.stmt]) -> str:
    """Return import statements, each name once, in the order that the linter wants."""
    plain: set[str] = set()
    names: dict[str, set[str]] = {}
    for node in nodes:
        written = {f"{alias.name} as {alias.asname}" if alias.asname else alias.name for alias in node.names}
        if isinstance(node, ast.Import):
            plain |= written
        else:
            names.setdefault(node.module, set()).update(written)
    sections: dict[int, list[str]] = {}
    for name in sorted(plain, key=str.lower):
        sections.setdefault(_section(name), []).append(f"import {name}")
    for module in sorted(names, key=str.lower):
        each = sorted(names[module], key=_order)
        line = f"from {module} import {', '.join(each)}"
        if len(line) > WIDTH:
            line = "\n".join([f"from {module} import (", *(f"    {name}," for name in each), ")"])
        sections.setdefault(_section(module), []).append(line)
    return "\n\n".join("\n".join(sections[number]) for number in sorted(sections))


def _section(module: str) -> int:
    top = module.split()[0].split(".")[0]
    return 0 if top in sys.stdlib_module_names else 2 if top == "host_to_device" else 1


def _order(name: str) -> tuple[int, str]:
    """Constants come before classes, and these before functions."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2), name


# -- all sets


def build(solutions: Path, exercises: Path, sets: Path | None = None) -> list[Path]:
    """Write the student notebook of every set, and the module of its checks; return the paths.

    What was made before from a notebook that is no longer there is removed.

    Parameters
    ----------
    solutions
        Folder of the solution notebooks.
    exercises
        Folder for the student notebooks.
    sets
        Folder for the modules of checks; None writes none.

    Raises
    ------
    FileNotFoundError
        If there is no solution notebook.
    MarkerError
        If one of them is not written as it must be; nothing is written then.
    """
    sources = sorted(solutions.glob("*.ipynb"))
    if not sources:
        raise FileNotFoundError(f"{solutions}: no solution notebooks here")
    made: dict[Path, str] = {}
    for source in sources:
        name, notebook = f"solutions/{source.name}", notebooks.read(source)
        made[exercises / source.name] = notebooks.as_text(student_version(notebook, name))
        if sets is not None:
            path = sets / f"set{source.name[:2]}.py"
            if path in made:
                raise MarkerError(f"{name}: another set has the number {source.name[:2]}, too")
            made[path] = set_module(notebook, name)
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for old in _of_old(exercises, sets):
        if old not in made:
            old.unlink()
    return list(made)


def _of_old(exercises: Path, sets: Path | None) -> list[Path]:
    """Return the files that a build has made, now or before."""
    found = [
        path
        for path in sorted(exercises.glob("*.ipynb"))
        if notebooks.read(path).metadata.get("host_to_device", {}).get("made_from")
    ]
    return found + (sorted(sets.glob("set[0-9][0-9].py")) if sets is not None else [])


def parts(path: Path) -> list[Part]:
    """Return the exercises of the solution notebook at `path`."""
    return read_set(notebooks.read(path), f"solutions/{path.name}")
