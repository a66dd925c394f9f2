"""Pages of exercises and solutions, read without a browser: what is folded, and the list of exercises."""

from functools import cache

import nbformat
import pytest

from authoring import notebooks
from authoring.solutions import read_set
from book import exercises as pages
from tests.site.reading import NOTEBOOKS, ROOT, read

pytestmark = [pytest.mark.site, pytest.mark.usefixtures("site")]

EXERCISES = [page for page in NOTEBOOKS if page.startswith("exercises/")]
SOLUTIONS = [page for page in NOTEBOOKS if page.startswith("solutions/")]


@cache
def parts_of(page: str):
    name = f"solutions/{page.partition('/')[2]}.ipynb"
    return read_set(notebooks.read(ROOT / name), name)


def hints_of(part) -> list[str]:
    return [f"Hint {number}" for number, _ in enumerate(part.literals["hints"], 1)]


def plain(text: str) -> str:
    """Return a text of a page or of a notebook as neither typesets it."""
    return " ".join(text.translate(str.maketrans("’‘“”", "''\"\"", "`")).split())


def folds(page: str) -> list[str]:
    return [plain(fold.get_text(" ")) for fold in read(page).select("article summary")]


def test_there_are_pages_of_both_kinds():
    assert EXERCISES and len(EXERCISES) == len(SOLUTIONS)


@pytest.mark.parametrize("page", EXERCISES)
def test_a_page_of_exercises_has_its_hints_folded_and_nothing_else_of_the_solution(page):
    parts = parts_of(page)
    assert folds(page) == [each for part in parts for each in hints_of(part)]
    text = plain(read(page).select_one("article").get_text())
    for part in parts:
        assert not [
            wrong.title for wrong in part.wrong if plain(wrong.title) in text or plain(wrong.says) in text
        ]


@pytest.mark.parametrize("page", EXERCISES)
def test_the_list_of_exercises_leads_to_each_of_them(page):
    rows = read(page).select("tr[data-exercise]")
    wanted = [(part.number, str(part.points), f"#{pages.place(part)}") for part in parts_of(page)]
    assert [(row["data-exercise"], row["data-points"], row.a["href"]) for row in rows] == wanted
    assert all(read(page).find(id=link.lstrip("#")) for _, _, link in wanted)


@pytest.mark.parametrize("page", SOLUTIONS)
def test_solutions_and_wrong_answers_are_folded_each_under_what_it_is(page):
    wanted = []
    for part in parts_of(page):
        wanted += hints_of(part)
        wanted += ["Show the solution Hide the solution"] * len(part.solutions)
        wanted += ["Show how answers are checked Hide how answers are checked", "Why it works"]
        wanted += [plain(wrong.title) for wrong in part.wrong]
    assert folds(page) == wanted
    assert not read(page).select("article details[open]")
    assert "BEGIN SOLUTION" not in read(page).select_one("article").get_text(), "a mark for machines"


@pytest.mark.parametrize("page", SOLUTIONS)
def test_a_wrong_answer_stands_beside_what_the_check_says_to_it(page):
    found = {plain(fold.summary.get_text()): fold for fold in read(page).select("article details")}
    for part in parts_of(page):
        for wrong in part.wrong:
            fold = found[plain(wrong.title)]
            assert plain(fold.blockquote.get_text()) == plain(wrong.says)
            assert fold.select_one(".highlight").get_text().strip() == wrong.code.strip()
            assert fold.find_all("p")[-1].find_parent("blockquote") is None, "say why one comes to think so"


def test_a_fold_holds_what_has_folds_in_it():
    assert pages.folded("a", ":::{note}\nb\n:::") == "::::{dropdown} a\n\n:::{note}\nb\n:::\n\n::::"


def test_what_a_page_shows_leaves_the_notebook_valid():
    name = f"{SOLUTIONS[0]}.ipynb"
    notebook = notebooks.read(ROOT / name)
    nbformat.validate(pages.shown(notebook, read_set(notebooks.read(ROOT / name), name), False))
