"""`{notebook-cell}`: a code cell of a notebook shown in a chapter, so that code stands in one place only."""

from pathlib import Path

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class NotebookCell(SphinxDirective):
    """`{notebook-cell} ../notebooks/02-host-and-device.ipynb launch`: the cells with these ids, in one block."""

    required_arguments = 1
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        if len(self.arguments) < 2:
            raise self.error("notebook-cell: name the notebook and then the ids of the cells to show")
        name, wanted = self.arguments[0], self.arguments[1].split()
        path = Path(self.env.doc2path(self.env.docname)).parent / name
        if not path.exists():
            raise self.error(f"notebook-cell: there is no notebook {name}")
        self.env.note_dependency(str(path))
        sources = {
            cell.id: cell.source
            for cell in nbformat.read(path, as_version=4).cells
            if cell.cell_type == "code"
        }
        missing = [cell for cell in wanted if cell not in sources]
        if missing:
            raise self.error(f"notebook-cell: {name} has no code cell {missing[0]!r}")
        block = nodes.literal_block("", "\n\n\n".join(sources[cell] for cell in wanted), language="python")
        self.set_source_info(block)
        return [block]


def setup(app: Sphinx) -> None:
    app.add_directive("notebook-cell", NotebookCell)
