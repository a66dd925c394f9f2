"""`{check-report}`: kernels of `book/checks/examples`, run under `h2d.check` while the book is built, and what it says.

A page that quotes a report cannot drift from the check that way. A file of `book/checks/examples` is a short script in cells:

    # %% wrong: race          a kernel and its check, which has to find a race and nothing else
    # %% repaired             any other name: a kernel and its check, which has to find nothing

What stands before the first cell is run and not shown. The last expression of a cell is its report. The cells take
`cuda` from the stand-in by its own name: the book is built without Numba, with and without a GPU.
"""

import ast
import linecache
import re
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import host_to_device
from book import live, races
from book.checks import marks
from host_to_device.checking import Report
from host_to_device.checking.report import ADVICE

HERE = Path(__file__).parent / "examples"
LIBRARY = Path(host_to_device.__file__).parent


class CheckPageError(Exception):
    """A file of `book/checks/examples` does not show what it says: the message is one line that names both."""


@dataclass(frozen=True)
class Cell:
    """One cell: its text, the line of the file that it begins at, and the report that it gave."""

    name: str
    finding: str  # the kind of finding that it has to give; empty if none
    first_line: int
    text: str
    report: Report


def cells_of(path: Path) -> dict[str, Cell]:
    """Run a file of checks and return its cells by name.

    Raises
    ------
    CheckPageError
        If a cell's report is not what its mark says.
    """
    return _run(path, path.stat().st_mtime_ns)


@cache
def _run(path: Path, _: int) -> dict[str, Cell]:
    text = path.read_text(encoding="utf-8")
    linecache.checkcache(str(path))  # reports and the check itself read the file's lines through it
    _, marked = marks.split(text)
    if not marked:
        raise CheckPageError(f"{path.name}: there is no cell; a line `# %% name` begins one")
    statements = _parsed(text, path)
    names: dict = {"__name__": f"book.checks.examples.{path.stem}", "__file__": str(path)}

    def execute(part: ast.Module | ast.Expression, where: str) -> Any:
        try:
            code = compile(part, str(path), "exec" if isinstance(part, ast.Module) else "eval")
            return eval(code, names)
        except Exception as problem:
            said = str(problem).partition("\n")[0]
            raise CheckPageError(f"{where}: {type(problem).__name__}: {said}") from problem

    before = [each for each in statements if _first_line(each) < marked[0].first_line]
    execute(ast.Module(before, []), path.name)
    cells: dict[str, Cell] = {}
    for each_cell in marked:
        lines = range(each_cell.first_line, each_cell.last_line + 1)
        part = [each for each in statements if _first_line(each) in lines]
        name, finding = each_cell.name, each_cell.finding
        where = f"{path.name}, cell {name!r}"
        if not part or not isinstance(part[-1], ast.Expr):
            raise CheckPageError(f"{where}: its last line has to be the check")
        if name in cells:
            raise CheckPageError(f"{where}: there are two cells of this name")
        execute(ast.Module(part[:-1], []), where)
        report = execute(ast.Expression(part[-1].value), where)
        if not isinstance(report, Report):
            raise CheckPageError(f"{where}: its last line gives {type(report).__name__}, and no report")
        found = judged(report, finding, where)
        cells[name] = Cell(name, finding, each_cell.first_line, each_cell.text, found)
    return cells


def _parsed(text: str, path: Path) -> list[ast.stmt]:
    try:
        return ast.parse(text, str(path)).body
    except SyntaxError as problem:
        raise CheckPageError(f"{path.name}, line {problem.lineno}: {problem.msg}") from None


def _first_line(statement: ast.stmt) -> int:
    """Return the line that a statement begins at, with its decorators."""
    return min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])


def judged(report: Report, finding: str, where: str) -> Report:
    """Return the report if its findings are of this kind and of no other, or if there are to be none and are none."""
    found = sorted({each.kind for each in report.findings})
    if finding and finding not in ADVICE:
        raise CheckPageError(f"{where}: {finding!r} is no kind of finding; there are {', '.join(ADVICE)}")
    if found != ([finding] if finding else []):
        wanted, got = finding or "nothing", ", ".join(found) or "nothing"
        raise CheckPageError(f"{where}: the check has to find {wanted}, and it finds {got}")
    return report


class CheckReport(SphinxDirective):
    """`{check-report} race-shared wrong`: cells of `book/checks/examples/race_shared.py` with their reports; all by default."""

    required_arguments = 1
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        name, wanted = self.arguments[0], " ".join(self.arguments[1:]).split()
        path = HERE / f"{name.replace('-', '_')}.py"
        if not path.exists():
            raise self.error(f"check-report: there is no {path.name} in book/checks/examples")
        self.env.note_dependency(str(path))
        for part in ("checking", "standins"):
            for source in sorted((LIBRARY / part).rglob("*.py")):
                self.env.note_dependency(str(source))
        try:
            cells = cells_of(path)
        except CheckPageError as problem:
            raise self.error(f"check-report: {problem}") from None
        missing = [each for each in wanted if each not in cells]
        if missing:
            raise self.error(f"check-report: {path.name} has no cell {missing[0]!r}")
        return [self.shown(path, cells[each]) for each in wanted or cells]

    def shown(self, path: Path, cell: Cell) -> nodes.Node:
        """Return a cell as a notebook's looks: its code, with the file's line numbers, what it printed, and the player."""
        code = nodes.literal_block("", cell.text, language="python", linenos=True)
        code["highlight_args"] = {"linenostart": cell.first_line}
        printed = nodes.raw("", printed_html(str(cell.report)), format="html")
        blocks = [printed]
        if any(finding.is_played for finding in cell.report.findings):
            blocks.append(nodes.raw("", races.player(cell.report, f"cell {cell.name!r}"), format="html"))
        for block in (code, *blocks):
            self.set_source_info(block)
        return nodes.container(
            "",
            nodes.container("", code, classes=["cell_input"]),
            *live.bar(self.env.app, f"checks/{path.stem}", [f"{path.stem}-{cell.name}"], cell.first_line),
            nodes.container("", *blocks, classes=["cell_output"]),
            classes=["cell", "check-report"],
        )


def printed_html(text: str) -> str:
    """Return a report as the page has it: sentences wrap below where they begin, lines of code do not wrap."""
    lines = []
    for line in text.split("\n"):
        if re.match(r" +\d+ \| ", line):
            lines.append(f'<span class="source">{escape(line)}</span>')
            continue
        said = line.lstrip()
        indent = len(line) - len(said)
        hanging = 3 if re.match(r"\d+\. ", said) else indent if said.startswith("line ") else 0
        style = (
            f' style="padding-left: {indent + hanging}ch; text-indent: {-hanging}ch"'
            if indent + hanging
            else ""
        )
        lines.append(f'<span class="said"{style}>{escape(said) or " "}</span>')
    block = f'<div class="highlight"><pre>{"".join(lines)}</pre></div>'
    return f'<div class="output text_plain highlight-none notranslate">{block}</div>'


def setup(app: Sphinx) -> None:
    app.add_directive("check-report", CheckReport)
