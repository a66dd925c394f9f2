"""Notebook files in the one form that the repository keeps, so that a change of a cell is a small diff."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbformat import NotebookNode

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
WIDGET = "application/vnd.jupyter.widget-view+json"
# The cell metadata that the project uses; editors add more.
CELL_METADATA = {"tags", "mystnb", "nbgrader", "host_to_device"}


def read(path: Path) -> NotebookNode:
    """Return the notebook at `path`, in the current format."""
    return nbformat.read(path, as_version=4)


def canonical(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook without the traces of its last run: timings, widget models, editor marks, cut prints."""
    notebook = nbformat.from_dict(notebook)
    ours = notebook.metadata.get("host_to_device")
    notebook.metadata = nbformat.from_dict({**METADATA, **({"host_to_device": ours} if ours else {})})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    count = 0
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k in CELL_METADATA})
        if cell.cell_type != "code":
            continue
        if cell.execution_count is None:
            cell.outputs = []
            continue
        count += 1
        cell.execution_count = count
        cell.outputs = joined(cell.outputs)
        for output in cell.outputs:
            output.pop("transient", None)
            if output.output_type == "execute_result":
                output.execution_count = count
            if "data" in output:
                output.data.pop(WIDGET, None)
                output.metadata = nbformat.from_dict({})
    return notebook


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Return a cell's outputs with stream outputs of the same name that follow each other as one.

    A kernel sends what a cell prints in pieces, and where it cuts them differs from run to run.
    """
    found: list[NotebookNode] = []
    for output in outputs:
        last = found[-1] if found else None
        if (
            last is not None
            and last.output_type == output.output_type == "stream"
            and last.name == output.name
        ):
            found[-1] = nbformat.from_dict({**last, "text": last.text + output.text})
        else:
            found.append(output)
    return found


def as_text(notebook: NotebookNode) -> str:
    """Return the canonical notebook as the text of its file."""
    return nbformat.writes(canonical(notebook)) + "\n"


def write(notebook: NotebookNode, path: Path) -> None:
    """Write the canonical notebook to `path`."""
    path.write_text(as_text(notebook), encoding="utf-8")
