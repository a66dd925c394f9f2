"""The canonical form of a notebook: what two runs of it do not share is left out."""

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from authoring import notebooks


def stream(text, name="stdout"):
    return new_output("stream", name=name, text=text)


@pytest.mark.parametrize(
    "given, expected",
    [
        ([("a\n", "stdout"), ("b\n", "stdout"), ("c\n", "stdout")], [("a\nb\nc\n", "stdout")]),
        ([("a\n", "stdout"), ("w\n", "stderr"), ("b\n", "stdout")], None),
        ([("a", "stdout"), ("b\n", "stdout"), ("w\n", "stderr"), ("x\n", "stderr")], [("ab\n", "stdout"), ("w\nx\n", "stderr")]),
        ([], None),
    ],
)  # fmt: skip
def test_prints_that_follow_each_other_are_one_output(given, expected):
    cell = new_code_cell("print()", execution_count=1, outputs=[stream(*each) for each in given])
    found = notebooks.canonical(new_notebook(cells=[cell])).cells[0].outputs
    assert [(each.text, each.name) for each in found] == (given if expected is None else expected)


def test_a_result_between_two_prints_keeps_them_apart():
    result = new_output("execute_result", data={"text/plain": "1"}, execution_count=7)
    cell = new_code_cell("1", execution_count=7, outputs=[stream("a\n"), result, stream("b\n")])
    made = notebooks.canonical(new_notebook(cells=[cell]))
    assert [each.output_type for each in made.cells[0].outputs] == ["stream", "execute_result", "stream"]
    assert len(cell.outputs) == 3 and notebooks.as_text(made) == notebooks.as_text(notebooks.canonical(made))
