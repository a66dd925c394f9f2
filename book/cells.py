"""`{notebook-cell}`: a code cell of a notebook shown in a chapter, so that code and outputs stand in one place only."""

from pathlib import Path

import nbformat
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book import live, races


class NotebookCell(SphinxDirective):
    """`{notebook-cell} ../notebooks/02-host-and-device.ipynb launch`: the cells with these ids, in one block.

    With the option `:outputs:` the text that the last of these cells printed or returned follows, as the notebook stores it.
    Where that text is a report of a race, its player follows.
    """

    required_arguments = 1
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = {"outputs": directives.flag}  # noqa: RUF012 - the directive interface wants a plain attribute

    def run(self) -> list[nodes.Node]:
        if len(self.arguments) < 2:
            raise self.error("notebook-cell: name the notebook and then the ids of the cells to show")
        name, wanted = self.arguments[0], self.arguments[1].split()
        path = Path(self.env.doc2path(self.env.docname)).parent / name
        if not path.exists():
            raise self.error(f"notebook-cell: there is no notebook {name}")
        self.env.note_dependency(str(path))
        cells = {
            cell.id: cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"
        }
        missing = [cell for cell in wanted if cell not in cells]
        if missing:
            raise self.error(f"notebook-cell: {name} has no code cell {missing[0]!r}")
        code = "\n\n\n".join(cells[cell].source for cell in wanted)
        notebook = f"{path.parent.name}/{path.stem}"
        blocks = [
            nodes.literal_block("", code, language="python"),
            *live.bar(self.env.app, notebook, wanted),
        ]
        if "outputs" in self.options:
            text = printed(cells[wanted[-1]])
            if not text:
                raise self.error(
                    f"notebook-cell: {name} stores no text that {wanted[-1]!r} printed or returned"
                )
            blocks.append(nodes.literal_block("", text, language="none", classes=["h2d-output"]))
            if races.REPORTED.search(text):
                blocks.append(nodes.raw("", races.player_of(path, wanted[-1]), format="html"))
        for block in blocks:
            self.set_source_info(block)
        return blocks


def printed(cell: nbformat.NotebookNode) -> str:
    """Return the text that a cell printed or returned, as the notebook stores it."""
    texts = [
        output.text if output.output_type == "stream" else output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
    ]
    return "\n".join(text.rstrip() for text in texts if text.strip())


def setup(app: Sphinx) -> None:
    app.add_directive("notebook-cell", NotebookCell)
