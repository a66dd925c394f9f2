"""`{differences} cuda_cpp`: the table of differences between a stand-in and the library that it replaces.

The rows are `DIFFERENCES` of a module of `host_to_device.standins`, so that the page always says what the code says. A
cell beyond the head is a reason; it stands below the row's last cell.
"""

from importlib import import_module

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

# Stand-in → the module of its table, the table's head, and the widths of its columns in percent.
TABLES = {
    "cuda_cpp": ("cuda_cpp.compiler", ("What", "NVRTC", "Here"), "46 27 27"),
    "torch_device": ("torch_device.differences", ("What", "On CUDA", "Here"), "26 34 40"),
}


class Differences(SphinxDirective):
    """The table of one stand-in; the directive's body, if any, is the caption."""

    required_arguments = 1
    has_content = True
    option_spec = {"name": directives.unchanged}  # noqa: RUF012  docutils reads it as a class attribute

    def run(self) -> list[nodes.Node]:
        if self.arguments[0] not in TABLES:
            raise self.error(f"differences: there is no {self.arguments[0]!r}, only {', '.join(TABLES)}")
        module, head, widths = TABLES[self.arguments[0]]
        rows = import_module(f"host_to_device.standins.{module}").DIFFERENCES
        self.env.note_dependency(import_module(f"host_to_device.standins.{module}").__file__)
        lines = [f":::{{list-table}} {' '.join(self.content)}", ":header-rows: 1", f":widths: {widths}"]
        lines += [f":name: {self.options['name']}"] if "name" in self.options else []
        for row in (head, *rows):
            cells, reason = row[: len(head)], row[len(head) :]
            lines += ["", *(f"{'* -' if not at else '  -'} {cell}" for at, cell in enumerate(cells))]
            lines += [part for each in reason for part in ("", f"    *{each}*")]
        container = nodes.Element()
        source, line = self.get_source_info()
        self.state.nested_parse(StringList([*lines, ":::"], source=source), line, container)
        return container.children


def setup(app: Sphinx) -> None:
    app.add_directive("differences", Differences)
