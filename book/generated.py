"""`{generated-programs} typed programs`: what became of generated programs, by kind and mode.

The figures stand in `generated_programs.json`, which `python -m tests.commands.kernels.typed_programs --figures` and
`cooperative_kernels --figures` write.
"""

import datetime
import json
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FILE = Path(__file__).parent / "generated_programs.json"
ALWAYS = ("kind", "mode", "programs", "silently different", "missed", "false alarm")  # also where all are 0


def table_of(data: dict[str, Any]) -> list[list[str]]:
    """Return the rows of a table, the head first; a column without any number is left out."""
    columns, rows = data["columns"], data["rows"]
    shown = [k for k, name in enumerate(columns) if name in ALWAYS or any(row[k] for row in rows)]
    return [[f"{row[k]:,}" if isinstance(row[k], int) else row[k] for k in shown] for row in (columns, *rows)]


def stamp(data: dict[str, Any]) -> str:
    day = datetime.date.fromisoformat(data["date"])
    versions = f", {data['versions']}" if data["versions"] else ""
    return f"Counted on {day.day} {day:%B %Y}{versions}."


class GeneratedPrograms(SphinxDirective):
    """The table of one generator; the directive's body is the caption."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"name": directives.unchanged}  # noqa: RUF012 - the directive interface wants a plain attribute

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        self.env.note_dependency(str(FILE))
        kept = json.loads(FILE.read_text(encoding="utf-8"))
        if self.arguments[0] not in kept:
            raise self.error(f"{self.name}: there is no {self.arguments[0]!r}, only {', '.join(kept)}")
        data = kept[self.arguments[0]]
        lines = [f":::{{list-table}} {' '.join(self.content)}", ":header-rows: 1"]
        lines += [f":name: {self.options['name']}"] if "name" in self.options else []
        for row in table_of(data):
            lines += ["", *(f"{'* -' if not place else '  -'} {cell}" for place, cell in enumerate(row))]
        holder = nodes.Element()
        source, line = self.get_source_info()
        self.state.nested_parse(StringList([*lines, ":::"], source=source), line, holder)
        below = nodes.paragraph("", stamp(data), classes=["h2d-stamp"])
        self.set_source_info(below)
        return [*holder.children, below]


def setup(app: Sphinx) -> None:
    app.add_directive("generated-programs", GeneratedPrograms)
