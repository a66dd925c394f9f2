"""The form of every notebook file: what a reader, Colab and the next person's diff rely on."""

import ast
import re
import statistics
from functools import cache
from pathlib import Path

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from authoring import notebooks
from book import address

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SOLUTIONS = sorted((ROOT / "solutions").glob("*.ipynb"))
EXERCISES = sorted((ROOT / "exercises").glob("*.ipynb"))
ALL = LESSONS + SOLUTIONS + EXERCISES

SET_UP = f"""\
try:
    import host_to_device as h2d
except ModuleNotFoundError:  # on Colab: fetch the course first
    %pip install -q {address.read().archive(address.version())}
    import host_to_device as h2d

h2d.start()"""


def each(paths):
    return pytest.mark.parametrize("path", paths, ids=lambda path: f"{path.parent.name}/{path.stem}")


@cache
def code_cells(path):
    return [cell for cell in notebooks.read(path).cells if cell.cell_type == "code"]


def test_there_are_notebooks_of_each_kind():
    assert LESSONS and SOLUTIONS and EXERCISES
    assert [path.name for path in SOLUTIONS] == [path.name for path in EXERCISES]


@each(ALL)
def test_file_is_canonical(path):
    assert path.read_text(encoding="utf-8") == notebooks.as_text(notebooks.read(path)), (
        "written by an editor: `make outputs` (lessons, solutions) or `make exercises` brings it into form"
    )


@each(ALL)
def test_cells_have_names_of_their_own(path):
    ids = [cell.id for cell in notebooks.read(path).cells]
    assert len(ids) == len(set(ids))
    for name in ids:
        assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name), f"{name!r}: name cells in words"
        assert not re.fullmatch(r"[0-9a-f]{8}", name), f"{name!r}: an editor's random id"


@each(ALL)
def test_first_code_cell_is_the_set_up_cell(path):
    assert code_cells(path)[0].source == SET_UP


@each(ALL)
def test_nothing_else_installs_or_shells_out(path):
    for cell in code_cells(path)[1:]:
        python = TransformerManager().transform_cell(cell.source)
        assert "get_ipython()" not in python, f"cell {cell.id}: magic or shell outside the set-up cell"
        ast.parse(python)


@each(LESSONS)
def test_cells_are_short(path):
    lengths = [len(cell.source.splitlines()) for cell in code_cells(path)]
    assert statistics.median(lengths) <= 5
    assert statistics.quantiles(lengths, n=10)[-1] <= 15
    assert max(lengths) <= 30


@each(LESSONS)
def test_code_is_introduced_and_followed_by_words(path):
    cells = notebooks.read(path).cells
    kinds = "".join("c" if cell.cell_type == "code" else "m" for cell in cells)
    assert kinds.startswith("m") and kinds.endswith("m")
    assert "ccc" not in kinds, "three code cells in a row: say what was seen"


@each(LESSONS + SOLUTIONS)
def test_outputs_are_stored(path):
    for cell in code_cells(path):
        assert cell.execution_count, f"cell {cell.id} has not been run: `make outputs`"


@each(EXERCISES)
def test_exercises_hold_no_outputs(path):
    assert not [cell.id for cell in code_cells(path) if cell.outputs or cell.execution_count]


@each(ALL)
def test_errors_are_stored_only_where_they_are_taught(path):
    for cell in code_cells(path):
        errors = [output for output in cell.outputs if output.output_type == "error"]
        assert bool(errors) == ("raises-exception" in cell.metadata.get("tags", [])), f"cell {cell.id}"


@each(ALL)
def test_nothing_was_written_to_stderr(path):
    for cell in code_cells(path):
        assert not [o for o in cell.outputs if o.get("name") == "stderr"], f"cell {cell.id} printed a warning"


@each(ALL)
def test_pictures_say_what_they_show(path):
    for cell in code_cells(path):
        for output in cell.outputs:
            data = output.get("data", {})
            if any(kind.startswith("image/") for kind in data):
                alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
                assert len(alt) > 40, (
                    f"cell {cell.id}: metadata mystnb.image.alt must say what the picture shows"
                )
            html = "".join(data.get("text/html", ""))
            if "<svg" in html:
                assert 'role="img"' in html and re.search(r'aria-label="[^"]{40,}"', html), f"cell {cell.id}"


def test_what_is_printed_in_columns_is_not_wrapped():
    printed = [
        cell for path in LESSONS for cell in code_cells(path) if "columns" in cell.metadata.get("tags", [])
    ]
    assert printed and all(any(o.get("name") == "stdout" for o in cell.outputs) for cell in printed)
    assert ".tag_columns" in (ROOT / "_static" / "book.css").read_text(encoding="utf-8")


@each(LESSONS + SOLUTIONS)
def test_values_are_held_unless_they_are_times(path):
    """A cell whose output is not compared must be one that takes the time."""
    for cell in code_cells(path):
        if "nbval-ignore-output" in cell.metadata.get("tags", []):
            assert "perf_counter" in cell.source or "h2d.time" in cell.source, f"cell {cell.id}"
        assert "nbval-skip" not in cell.metadata.get("tags", [])
