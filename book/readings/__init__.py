"""`{reading} saxpy`: a part of a kernel's PTX as it was compiled, with a sentence for each line.

The readings are in the JSON files of this folder: for each its kernel (the cells of a notebook), the types that it was
compiled for, the compiler, and pairs of an instruction and what it does. `tests/lessons/test_readings.py` compiles the kernels
again where the compiler is installed, and fails when an instruction is not there any more.
"""

import json
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HERE = Path(__file__).parent


def read_all() -> dict[str, dict]:
    """Return every reading by its name, with what its file says of all of them."""
    found = {}
    for path in sorted(HERE.glob("*.json")):
        stored = json.loads(path.read_text(encoding="utf-8"))
        common = {key: value for key, value in stored.items() if key != "readings"}
        for name, reading in stored["readings"].items():
            found[name] = {**common, **reading, "path": path}
    return found


def stamp(reading: dict) -> str:
    """Return what says where a reading comes from."""
    return f"Compiled for {reading['architecture']} by {reading['compiler']} on {reading['date']}, not run."


class Reading(SphinxDirective):
    """The table of one reading; its body is the caption, below which the stamp stands."""

    required_arguments = 1
    has_content = True
    option_spec = {"name": directives.unchanged}  # noqa: RUF012  docutils reads it as a class attribute

    def run(self) -> list[nodes.Node]:
        readings = read_all()
        if self.arguments[0] not in readings:
            raise self.error(f"reading: there is no {self.arguments[0]!r}, only {', '.join(readings)}")
        reading = readings[self.arguments[0]]
        self.env.note_dependency(str(reading["path"]))
        lines = [f":::{{list-table}} {' '.join(self.content)}", ":header-rows: 1", ":widths: 46 54"]
        lines += [":class: h2d-reading"]
        lines += [f":name: {self.options['name']}"] if "name" in self.options else []
        lines += ["", "* - PTX", "  - what it does"]
        for instruction, says in reading["lines"]:
            lines += [f"* - `{instruction}`", f"  - {says}"]
        container = nodes.Element()
        source, line = self.get_source_info()
        self.state.nested_parse(
            StringList([*lines, ":::", "", f"*{stamp(reading)}*"], source=source), line, container
        )
        return container.children


def setup(app: Sphinx) -> None:
    app.add_directive("reading", Reading)
