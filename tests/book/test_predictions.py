"""Which paragraphs ask for a prediction, and what answers them."""

import pytest
from docutils import nodes

from book.predictions import locks_of, prompt_of


def text(words: str) -> nodes.paragraph:
    return nodes.paragraph("", words)


def html(words: str) -> nodes.raw:
    return nodes.raw("", words, format="html")


def cell(output: str = "") -> nodes.container:
    """Return a code cell of a notebook, with its output if it has one."""
    found = nodes.container("", nodes.container("", classes=["cell_input"]), nb_element="cell_code")
    if output:
        found += nodes.container("", nodes.literal_block("", output), classes=["cell_output"])
    return found


def code(output: str = "") -> list[nodes.Node]:
    """Return a cell as a chapter shows it."""
    shown = [nodes.literal_block("", "code")]
    return [*shown, nodes.literal_block("", output, classes=["h2d-output"])] if output else shown


def locks(*blocks: nodes.Node) -> list[tuple[str, int, str, bool]]:
    """Return of each lock: its prompt, its place, the text that it hides, and whether a folded answer follows."""
    found = locks_of(nodes.section("", *blocks))
    return [
        (lock.prompt, lock.place, " | ".join(each.astext() for each in lock.answers), lock.folded)
        for lock in found
    ]


@pytest.mark.parametrize(
    ("words", "prompt"),
    [
        ("It adds.\nPredict the sum.", "Predict the sum."),
        ("Predict: which thread is first?\nThe cell prints it.", "Predict: which thread is first?"),
        ("It runs with 8 threads; predict what the check says.", "Predict what the check says."),
        ("Here you measure, count and predict.", ""),
        ("Predicted: the time on one V100.", ""),
        ("h2d.predict knows a Tesla V100.", ""),
    ],
)
def test_a_line_that_asks_for_a_prediction_is_a_prompt(words, prompt):
    assert prompt_of(text(words)) == prompt


def test_the_next_outputs_and_the_paragraph_after_them_answer():
    found = locks(
        text("Predict the sum."), cell(), text("It takes a while."), cell("5"), cell("6"), text("It is 11."), text("More.")
    )  # fmt: skip
    assert found == [("Predict the sum.", 1, "5 | 6 | It is 11.", False)]


def test_a_paragraph_that_goes_on_to_the_next_cell_stays():
    assert locks(text("Predict the sum."), cell("5"), text("Now the product."), cell("6"))[0][2] == "5"


def test_a_prompt_ends_the_answer_of_the_one_before():
    found = locks(text("Predict the sum."), cell("5"), text("Good.\nPredict the product."), cell("6"))
    assert found == [("Predict the sum.", 1, "5", False), ("Predict the product.", 3, "6", False)]


def test_a_folded_answer_belongs_to_its_prompt_and_its_text_is_no_answer_of_its_own():
    folded = [html("<details><summary>Answer</summary>"), text("Five."), html("</details>")]
    assert locks(text("Predict the sum."), *folded, cell("5"), text("Right.")) == [
        ("Predict the sum.", 1, "5 | Right.", True)
    ]
    assert locks(text("Predict the sum."), *folded) == [("Predict the sum.", 1, "", True)]


@pytest.mark.parametrize(
    ("title", "prompt"),
    [
        ("Predict the sum", "Predict the sum"),
        ("Guess a factor", "Guess a factor"),
        ("Order them, and guess the ratio", "Order them, and guess the ratio"),
        ("Predict: is <code>i &lt; 5</code> true?", "Predict: is i < 5 true?"),
    ],
)
def test_a_folded_answer_may_ask_itself(title, prompt):
    folded = [html(f"<details><summary>{title}</summary>"), text("Five."), html("</details>")]
    assert locks(text("A sum."), *folded, cell("5")) == [(prompt, 1, "5", True)]
    assert locks(html("<details><summary>Answer</summary>"), text("Five."), html("</details>")) == []


def test_in_a_chapter_the_output_of_a_cell_or_a_table_answers():
    blocks = [*code(), *code("5"), text("It is 5."), *code("6")]
    assert locks(text("Predict the sum."), *blocks) == [("Predict the sum.", 1, "5 | It is 5.", False)]
    assert locks(text("Predict the sum."), nodes.table(), text("It is 5."))[0][2] == " | It is 5."


def test_without_a_result_in_its_section_a_prompt_has_no_lock():
    section = nodes.section("", nodes.title("", "Next"), cell("5"))
    assert locks(text("Predict the sum."), cell(), section) == []
