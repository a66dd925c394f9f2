"""Read the exercises of a solution notebook, and refuse a notebook that is not written as `definition` says."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nbformat import NotebookNode

from host_to_device.exercises.definition import Need

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
# Tags of the cells that a student must not see.
CHECK, WRONG, SOLUTION_ONLY = "check", "wrong", "solution-only"
HEADING = re.compile(r"## (\d\d\.(?:\d+|[a-z])) (.+?) \((\d+) minutes?(, optional)?\)\s*(?:\n|$)")
WRONG_ANSWER = re.compile(
    r"\*\*(?P<title>[^\n]+?)\*\*[^\n]*\n(?P<words>.*?)```python\n(?P<code>.*?)\n```\n(?P<after>.*)", re.S
)
LITERALS = ("number", "points", "minutes", "needs", "hints", "raised", "see", "optional", "seconds")


class MarkerError(ValueError):
    """A solution notebook is not marked as the build needs it; the message says where."""


@dataclass(frozen=True)
class WrongAnswer:
    """A misconception: its title, the whole wrong code, the hint that the check gives, and the id of its cell."""

    title: str
    code: str
    says: str
    cell: str


@dataclass
class Part:
    """One exercise of a set: its cells, and the literals of its check cell.

    `cells` has all cells in order; the other fields have the cells of one kind.
    """

    number: str
    title: str
    minutes: int
    task: NotebookNode
    optional: bool = False
    cells: list[NotebookNode] = field(default_factory=list)
    solutions: list[NotebookNode] = field(default_factory=list)
    check: NotebookNode | None = None
    answer: NotebookNode | None = None
    wrong: list[WrongAnswer] = field(default_factory=list)
    literals: dict[str, Any] = field(default_factory=dict)

    @property
    def is_puzzle(self) -> bool:
        """Whether it is one of the small exercises that open a set."""
        return not self.number[3:].isdigit()

    @property
    def points(self) -> float:
        """The points of the exercise."""
        return self.literals["points"]

    def replaced(self, code: str) -> dict[str, str]:
        """Return new sources for the solution cells, by their ids, so that `code` answers the exercise.

        Of the cells that define a name which `code` defines, the first gets the whole code and the others become empty.

        Raises
        ------
        MarkerError
            If `code` defines nothing that a solution cell defines.
        """
        theirs = defined(code)
        ids = [cell.id for cell in self.solutions if defined(cell.source) & theirs]
        if not ids:
            raise MarkerError(f"{self.number}: the code defines nothing that a solution defines")
        return {ids[0]: code, **dict.fromkeys(ids[1:], "")}


def tags(cell: Mapping[str, Any]) -> list[str]:
    """Return a cell's tags."""
    return cell["metadata"].get("tags", [])


def nbgrader(cell: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a cell's nbgrader metadata."""
    return cell["metadata"].get("nbgrader", {})


def defined(source: str) -> set[str]:
    """Return the names that code binds at its top level."""
    names: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            names |= {
                each.id
                for each in ast.walk(node)
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            }
    return names


def read_set(notebook: NotebookNode, source_name: str) -> list[Part]:
    """Return the exercises of a solution notebook.

    Parameters
    ----------
    notebook
        The solution notebook.
    source_name
        Its path in the repository, "solutions/02-host-and-device.ipynb": its number is the set's.

    Raises
    ------
    MarkerError
        At the first mistake in the notebook.
    """
    parts: list[Part] = []
    part: Part | None = None
    for cell in notebook.cells:
        where = f"{source_name}, cell {cell.id}"
        heading = HEADING.match(cell.source) if cell.cell_type == "markdown" and not tags(cell) else None
        if heading:
            part = Part(heading[1], heading[2].strip(), int(heading[3]), cell, bool(heading[4]))
            parts.append(part)
        elif cell.cell_type == "markdown" and not tags(cell) and cell.source.startswith("## "):
            if re.match(r"## \d+\.\w+", cell.source):
                raise MarkerError(f'{where}: write the title of a task like "## 02.1 The title (5 minutes)"')
            part = None
        if part is None:
            _refuse_outside(cell, where)
            continue
        part.cells.append(cell)
        _take(part, cell, where)
    if not parts:
        raise MarkerError(
            f"{source_name}: no cell begins with the title of a task, so there is nothing to exercise"
        )
    _check_numbers(parts, source_name)
    grade_ids: set[str] = set()
    for cell in notebook.cells:
        grade_id = nbgrader(cell).get("grade_id")
        if grade_id in grade_ids:
            raise MarkerError(f"{source_name}, cell {cell.id}: the grade_id {grade_id!r} is there twice")
        if grade_id is not None:
            grade_ids.add(grade_id)
    for part in parts:
        _check_part(part, f"{source_name}, {part.number}")
    _check_names(parts, source_name)
    return parts


def _refuse_outside(cell: NotebookNode, where: str) -> None:
    kinds = [tag for tag in tags(cell) if tag in (CHECK, WRONG)]
    if kinds or nbgrader(cell):
        raise MarkerError(f"{where}: it belongs to no exercise; a task's title has to come before it")


def _take(part: Part, cell: NotebookNode, where: str) -> None:
    marks, graded = tags(cell), nbgrader(cell)
    if CHECK in marks:
        if cell.cell_type != "code":
            raise MarkerError(f"{where}: a check is a code cell")
        if part.check is not None:
            raise MarkerError(f"{where}: exercise {part.number} has a check already")
        if part.answer is not None:
            raise MarkerError(f"{where}: the check of {part.number} has to come before its answer")
        part.check = cell
        part.literals = read_check(cell.source, where)
    elif WRONG in marks:
        part.wrong.append(read_wrong(cell, where))
    elif graded.get("grade") and not graded.get("solution"):
        if part.answer is not None:
            raise MarkerError(f"{where}: exercise {part.number} has an answer already")
        part.answer = cell
    elif graded.get("solution") and cell.cell_type == "code":
        if part.answer is not None:
            raise MarkerError(f"{where}: the solution of {part.number} has to come before its answer")
        if BEGIN not in cell.source:
            raise MarkerError(f"{where}: nbgrader knows it as a solution, and it holds no {BEGIN}")
        part.solutions.append(cell)
    elif cell.cell_type == "code" and BEGIN in cell.source:
        raise MarkerError(f"{where}: it holds {BEGIN}, and its metadata do not say nbgrader.solution: true")


def _check_numbers(parts: list[Part], source_name: str) -> None:
    number = re.search(r"(?:^|/)(\d\d)-[^/]*$", source_name)
    if number is None:
        raise MarkerError(f"{source_name}: a set is called NN-name.ipynb")
    seen: set[str] = set()
    puzzles = sum(part.is_puzzle for part in parts)
    due = [*string.ascii_lowercase[:puzzles], *range(1, len(parts) - puzzles + 1)]
    for part, place in zip(parts, due, strict=True):
        if part.number in seen:
            raise MarkerError(f"{source_name}: there are two exercises {part.number}")
        seen.add(part.number)
        if part.number != f"{number[1]}.{place}":
            raise MarkerError(
                f"{source_name}: exercise {part.number} stands where {number[1]}.{place} is due"
            )


def _check_part(part: Part, where: str) -> None:
    if not part.solutions:
        raise MarkerError(f"{where}: no cell holds {BEGIN}, so there is nothing to exercise")
    if part.check is None:
        raise MarkerError(f"{where}: no cell is tagged {CHECK!r}")
    if part.answer is None:
        raise MarkerError(f"{where}: no cell has nbgrader.grade: true and asks for the answer")
    if part.answer.source != f'h2d.answer("{part.number}")':
        raise MarkerError(f'{where}: the answer cell holds h2d.answer("{part.number}") and nothing else')
    told = part.literals
    for name, there in (
        ("number", part.number),
        ("minutes", part.minutes),
        ("optional", part.optional),
    ):
        if told.get(name, False) != there:
            raise MarkerError(
                f"{where}: {name} is {told[name]!r} in the check and {there!r} in the task's title"
            )
    points = nbgrader(part.answer).get("points")
    if told["points"] != points:
        raise MarkerError(
            f"{where}: points are {told['points']!r} in the check and {points!r} in nbgrader's metadata"
        )
    if told["title"] != part.title:
        raise MarkerError(
            f"{where}: the check's docstring says {told['title']!r}, and the task's title is {part.title!r}"
        )
    given = set().union(*(defined(cell.source) for cell in part.cells if _is_plain_code(cell)))
    for need in told["needs"]:
        if Need.read(need).name not in given:
            raise MarkerError(
                f"{where}: {Need.read(need).name} is needed, and no cell of the exercise defines it"
            )


def _check_names(parts: list[Part], source_name: str) -> None:
    """Refuse checks that give one name to two things: the library puts all checks of a set into one module."""
    names: dict[str, str] = {}
    for part in parts:
        assert part.check is not None  # `_check_part` has seen it
        where = f"{source_name}, cell {part.check.id}"
        node, imports = check_class(part.check.source, where)
        bound = {node.name: f"class of {part.number}"}
        for each in imports:
            module = f"{each.module}." if isinstance(each, ast.ImportFrom) else ""
            if isinstance(each, ast.ImportFrom) and (each.level or each.module == "__future__"):
                raise MarkerError(f"{where}: import modules by their whole names")
            bound |= {alias.asname or alias.name: f"{module}{alias.name}" for alias in each.names}
        for name, what in bound.items():
            if names.setdefault(name, what) != what:
                raise MarkerError(f"{where}: {name} is something else in another check of this set")


def _is_plain_code(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and CHECK not in tags(cell) and not nbgrader(cell).get("grade")


def check_class(source: str, where: str) -> tuple[ast.ClassDef, list[ast.Import | ast.ImportFrom]]:
    """Return the class of a check cell, and its imports.

    Raises
    ------
    MarkerError
        If the cell does not parse, or holds anything else.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as problem:
        raise MarkerError(
            f"{where}: the check does not parse (line {problem.lineno}: {problem.msg})"
        ) from None
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    if len(classes) != 1:
        raise MarkerError(f"{where}: a check defines one class, and this one {len(classes) or 'none'}")
    if len(classes) + len(imports) != len(tree.body):
        raise MarkerError(
            f"{where}: a check holds imports and its class; what else it needs, the class may hold"
        )
    if [ast.unparse(base) for base in classes[0].bases] != ["Exercise"] or classes[0].decorator_list:
        raise MarkerError(f"{where}: write class {classes[0].name}(Exercise)")
    return classes[0], imports


def read_check(source: str, where: str) -> dict[str, Any]:
    """Return the literals of a check cell's class without running the cell; "title" is the docstring's first line.

    Raises
    ------
    MarkerError
        If one of them is missing, or is not a literal.
    """
    cls, _ = check_class(source, where)
    told: dict[str, Any] = {"title": (ast.get_docstring(cls) or "").split("\n")[0].rstrip(".")}
    for node in cls.body:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        names = [each.id for each in targets if isinstance(each, ast.Name)]
        if not set(names) & set(LITERALS):
            continue
        try:
            value = ast.literal_eval(node.value)
        except ValueError:
            raise MarkerError(f"{where}: write {', '.join(names)} as literals") from None
        told.update(zip(names, value if isinstance(target, ast.Tuple) else [value], strict=True))
    for name in ("title", "number", "points", "minutes", "needs", "hints"):
        if not told.get(name):
            raise MarkerError(f"{where}: the class has no {'docstring' if name == 'title' else name}")
    for name in ("needs", "hints"):
        if not isinstance(told[name], tuple) or not all(isinstance(e, str) and e.strip() for e in told[name]):
            raise MarkerError(f"{where}: {name} is a tuple of texts")
    most = 3 if told["number"][3:].isdigit() else len(told["hints"])  # a puzzle has as many as it needs
    if len(told["hints"]) != most or len(set(told["hints"])) != most:
        raise MarkerError(f"{where}: three hints are asked for, of rising strength")
    for need in told["needs"]:
        try:
            Need.read(need)
        except ValueError as problem:
            raise MarkerError(f"{where}: {problem}") from None
    methods = {node.name for node in cls.body if isinstance(node, ast.FunctionDef)}
    for name in ("cases", "run", "judge"):
        if name not in methods:
            raise MarkerError(f"{where}: the class has no method {name}")
    return told


def read_wrong(cell: NotebookNode, where: str) -> WrongAnswer:
    """Return the misconception that a cell tagged `wrong` describes.

    Raises
    ------
    MarkerError
        If the title, the code or the quotation of the hint is missing, or the code does not parse.
    """
    found = WRONG_ANSWER.match(cell.source) if cell.cell_type == "markdown" else None
    if found is None:
        raise MarkerError(f"{where}: a wrong answer is a title in bold, then ```python with the code")
    quoted = [line.removeprefix(">").strip() for line in found["after"].split("\n") if line.startswith(">")]
    if not any(quoted):
        raise MarkerError(f"{where}: quote below the code, after >, the hint that the check gives")
    try:
        ast.parse(found["code"])
    except SyntaxError as problem:
        raise MarkerError(f"{where}: the wrong code does not parse (line {problem.lineno})") from None
    return WrongAnswer(found["title"].strip(" ."), found["code"], " ".join(quoted).strip(), cell.id)
