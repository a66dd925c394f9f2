"""Pages of exercises and solutions: what is folded, and the reader's own progress beside the list of exercises."""

import json
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


# -- the reader's own progress


def progress_file(folder, solved: dict, version: int = 1):
    path = folder / "progress.json"
    path.write_text(json.dumps({"version": version, "solved": solved}), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page_of_exercises(chromium, url):
    """A page of exercises in a browser profile of its own."""
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.goto(f"{url}{EXERCISES[0]}.html")
    yield page
    context.close()


@pytest.fixture
def page_and_parts(page_of_exercises):
    """The page as a reader opens it first, with its exercises: nothing is chosen, kept or said."""
    page_of_exercises.evaluate("""() => {
        document.querySelector(".exercise-progress button").click();
        document.querySelector(".exercise-progress-state").textContent = "";
    }""")
    assert page_of_exercises.evaluate("localStorage.getItem('host-to-device-progress')") is None
    return page_of_exercises, parts_of(EXERCISES[0])


@pytest.mark.browser
def test_a_progress_file_marks_what_is_solved_and_is_kept_until_it_is_forgotten(page_and_parts, tmp_path):
    page, parts = page_and_parts
    page.wait_for_load_state("networkidle")  # what the page itself asks for is another test's
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    first = parts[0]
    path = progress_file(tmp_path, {first.number: {"points": float(first.points), "on": "2026-11-20"}})
    state = page.locator(".exercise-progress-state")
    page.get_by_label("Your progress file").set_input_files(path)
    points = sum(part.points for part in parts)
    said = f"1 of {len(parts)} solved, {first.points} of {points} points."
    state.filter(has_text=said).wait_for()
    assert page.locator("tr", has_text=first.title).locator("[data-solved]").inner_text() == "✓ solved"
    assert page.locator("h2 .exercise-solved").count() == 1
    assert page.locator("h2", has_text=first.title).locator(".exercise-solved").is_visible()
    assert asked == [], "a progress file is nobody else's business"

    page.reload()
    state.filter(has_text=said).wait_for()
    page.get_by_role("button", name="Forget it").press("Enter")
    assert "Forgotten" in state.inner_text()
    assert page.evaluate("document.activeElement.type") == "file"
    assert page.locator(".exercise-solved").count() == 0
    page.reload()
    assert (
        state.inner_text() == "" and page.evaluate("localStorage.getItem('host-to-device-progress')") is None
    )


@pytest.mark.browser
@pytest.mark.parametrize(
    "text", ["", "not JSON", "[]", "null", '{"solved": []}', '{"exercises": {"02.1": {"points": 2}}}']
)
def test_another_file_is_refused_in_one_line(page_and_parts, tmp_path, text):
    page, _ = page_and_parts
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    page.get_by_label("Your progress file").set_input_files(path)
    page.locator(".exercise-progress-state", has_text="other.json is no progress file").wait_for()
    assert page.locator(".exercise-solved").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("entry", [None, 2, {"points": "2"}, {"points": 0.5}, {"points": -1}, {}])
def test_an_entry_that_is_not_all_of_the_points_is_not_solved(page_and_parts, tmp_path, entry):
    page, parts = page_and_parts
    page.get_by_label("Your progress file").set_input_files(
        progress_file(tmp_path, {parts[0].number: entry, "99.9": {"points": 5}})
    )
    page.locator(".exercise-progress-state", has_text=f"0 of {len(parts)} solved").wait_for()


@pytest.mark.browser
def test_the_picker_can_be_reached_and_is_announced(page_and_parts):
    page, parts = page_and_parts
    page.locator(f'a[href="#{pages.place(parts[-1])}"]').first.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "exercise-progress-file"
    assert page.locator(".exercise-progress-state").get_attribute("role") == "status"


@pytest.mark.browser
def test_without_scripts_there_is_the_list_and_no_picker(open_tab, url):
    page = open_tab(f"{url}{EXERCISES[0]}.html", scripts=False)
    assert page.locator("tr[data-exercise]").count() == len(parts_of(EXERCISES[0]))
    assert not page.get_by_label("Your progress file").is_visible()


@pytest.mark.browser
def test_a_browser_that_keeps_nothing_shows_it_all_the_same(chromium, url, tmp_path):
    parts = parts_of(EXERCISES[0])
    context = chromium.new_context()
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('no') }})"
    )
    page = context.new_page()
    page.goto(f"{url}{EXERCISES[0]}.html")
    solved = {part.number: {"points": part.points} for part in parts}
    page.get_by_label("Your progress file").set_input_files(progress_file(tmp_path, solved))
    state = page.locator(".exercise-progress-state", has_text=f"{len(parts)} of {len(parts)} solved")
    state.wait_for()
    assert "keeps nothing" in state.inner_text()
    context.close()
