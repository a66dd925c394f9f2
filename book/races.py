"""The player of a finding, below every report that can be played, in a notebook's page and in a chapter that quotes one.

When the book is built, the cell that gave the report runs again, with the statements before it that it needs and no
others, on the stand-in. So the player shows the lines of the notebook's own kernel.
"""

import ast
import builtins
import linecache
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

import host_to_device
from book import scripts
from host_to_device.checking import Report
from host_to_device.checking.player import SCRIPT
from host_to_device.checking.report import PLAYED
from host_to_device.standins import numba_cuda

BUILT_WITH = {"host_to_device", "math", "numba", "numpy"}  # what a cell that runs again may import


class NotInTheBuild(Exception):
    """A cell needs a library that the book is built without."""


KINDS = ("race", *PLAYED)
REPORTED = re.compile(rf"^\d+\. (?:{'|'.join(KINDS)}): ", re.MULTILINE)  # in a report as text
IN_HTML = re.compile(rf"<strong>(?:{'|'.join(KINDS)})</strong>")


def player(report: Report, where: str) -> str:
    """Return the HTML of a report's player.

    Raises
    ------
    ExtensionError
        If there is nothing to play.
    """
    found = report.play()
    if found.why:
        raise ExtensionError(f"{where}: {found.why}")
    return found.html(script=False)


def player_of(path: Path, cell: str) -> str:
    """Return the HTML of the player for the report that a notebook's cell gives.

    It is empty where the cell needs a library that the book is built without, such as CuPy.

    Raises
    ------
    ExtensionError
        If the cell gives no report that can be played.
    """
    return _player_of(path, cell, path.stat().st_mtime_ns)


def parsed_cells(path: Path, about: str = "") -> Iterator[tuple[str, str, list[ast.stmt]]]:
    """Yield the id of each code cell that Python can read, the file name of its lines, and its statements.

    The lines can be looked up in `linecache`. `about` stands at the end of the file names.
    """
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        file = f"<{path.stem} {cell.id}{about}>"
        try:
            body = ast.parse(cell.source, file).body
        except SyntaxError:  # a cell with a command of IPython's
            continue
        linecache.cache[file] = len(cell.source), None, cell.source.splitlines(keepends=True), file
        yield cell.id, file, body


@cache
def _player_of(path: Path, cell: str, _: int) -> str:
    where = f"{path.name}, cell {cell!r}"
    statements: list[tuple[str, ast.stmt]] = []
    for at, name, body in parsed_cells(path):
        statements += [(name, statement) for statement in body]
        if at == cell:
            break
    try:
        report = _result(statements, where)
    except NotInTheBuild:
        return ""
    if not isinstance(report, Report):
        raise ExtensionError(f"{where}: its last line gives no report")
    return player(report, where)


def _result(statements: list[tuple[str, ast.stmt]], where: str) -> Any:
    """Return the value of the last statement, an expression, after the statements that it needs."""
    name, last = statements[-1]
    if not isinstance(last, ast.Expr):
        raise ExtensionError(f"{where}: its last line has to be the check")
    names: dict[str, Any] = {"__name__": "book.races", "h2d": host_to_device, "cuda": numba_cuda}
    for file, statement in _needed(statements[:-1], _used(last), {*names, *dir(builtins)}):
        if isinstance(statement, ast.ImportFrom) and statement.module == "numba":
            # The book is built without Numba, whose types have NumPy's names.
            names |= {each.name: getattr(np, each.name) for each in statement.names if each.name != "cuda"}
            continue
        if _imported(statement) - BUILT_WITH:
            raise NotInTheBuild
        exec(compile(ast.Module([statement], []), file, "exec"), names)
    return eval(compile(ast.Expression(last.value), name, "eval"), names)


def _needed(
    statements: list[tuple[str, ast.stmt]], wanted: set[str], given: set[str]
) -> list[tuple[str, ast.stmt]]:
    """Return the statements that bind these names and the names that they use themselves, or change such an array."""
    found: list[tuple[str, ast.stmt]] = []
    used: set[str] = set()
    while True:
        before, needs, found = used, wanted, []
        for file, statement in reversed(statements):
            bound = _bound(statement)
            if bound & (needs - given) or _changed(statement) & before:
                found.append((file, statement))
                needs = (needs - bound) | _used(statement)
        used = set().union(wanted, *(_used(statement) for _, statement in found))
        if used == before:
            return found[::-1]


def _changed(statement: ast.stmt) -> set[str]:
    """Return the arrays whose elements get new values."""
    if not isinstance(statement, ast.Assign | ast.AugAssign):
        return set()
    stored = (each for each in ast.walk(statement) if isinstance(each, ast.Subscript))
    return {
        each.value.id
        for each in stored
        if isinstance(each.ctx, ast.Store) and isinstance(each.value, ast.Name)
    }


def _bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(each.asname or each.name).partition(".")[0] for each in statement.names}
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return set()  # a loop or a branch: no check of ours needs what it leaves behind
    return {
        each.id
        for each in ast.walk(statement)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }


def _imported(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.ImportFrom):
        return {(statement.module or "").partition(".")[0]}
    return (
        {each.name.partition(".")[0] for each in statement.names}
        if isinstance(statement, ast.Import)
        else set()
    )


def _used(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def add_to_notebook(app: Sphinx, doctree: nodes.document) -> None:
    """Put the player below each report that can be played in a notebook's page."""
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb":
        return
    cells = None
    for raw in list(doctree.findall(nodes.raw)):
        text = raw.astext()
        if 'class="h2d-report"' not in text or not IN_HTML.search(text):
            continue
        cells = cells or nbformat.read(path, as_version=4).cells
        box: Any = raw
        while box is not None and "cell_index" not in box:
            box = box.parent
        if box is not None:
            html = player_of(path, cells[box["cell_index"]].id)
            raw.parent.append(nodes.raw("", html, format="html"))


def setup(app: Sphinx) -> None:
    # A live cell may show a player, too.
    scripts.load_where(app, ("h2d-player", "h2d-live"), SCRIPT)
    app.connect("doctree-read", add_to_notebook)
