"""The reader's own progress beside the list of exercises of a set, in a real browser."""

import json

import pytest

from book import exercises as pages
from tests.site.reading import NOTEBOOKS
from tests.site.test_exercise_pages import parts_of

pytestmark = [pytest.mark.site, pytest.mark.browser]

PAGE = next(page for page in NOTEBOOKS if page.startswith("exercises/"))
PARTS = parts_of(PAGE)


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
    page.goto(f"{url}{PAGE}.html")
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
    return page_of_exercises, PARTS


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


@pytest.mark.parametrize("entry", [None, 2, {"points": "2"}, {"points": 0.5}, {"points": -1}, {}])
def test_an_entry_that_is_not_all_of_the_points_is_not_solved(page_and_parts, tmp_path, entry):
    page, parts = page_and_parts
    page.get_by_label("Your progress file").set_input_files(
        progress_file(tmp_path, {parts[0].number: entry, "99.9": {"points": 5}})
    )
    page.locator(".exercise-progress-state", has_text=f"0 of {len(parts)} solved").wait_for()


def test_the_picker_can_be_reached_and_is_announced(page_and_parts):
    page, parts = page_and_parts
    page.locator(f'a[href="#{pages.place(parts[-1])}"]').first.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "exercise-progress-file"
    assert page.locator(".exercise-progress-state").get_attribute("role") == "status"


def test_without_scripts_there_is_the_list_and_no_picker(open_tab, url):
    page = open_tab(f"{url}{PAGE}.html", scripts=False)
    assert page.locator("tr[data-exercise]").count() == len(PARTS)
    assert not page.get_by_label("Your progress file").is_visible()


def test_a_browser_that_keeps_nothing_shows_it_all_the_same(chromium, url, tmp_path):
    parts = PARTS
    context = chromium.new_context()
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('no') }})"
    )
    page = context.new_page()
    page.goto(f"{url}{PAGE}.html")
    solved = {part.number: {"points": part.points} for part in parts}
    page.get_by_label("Your progress file").set_input_files(progress_file(tmp_path, solved))
    state = page.locator(".exercise-progress-state", has_text=f"{len(parts)} of {len(parts)} solved")
    state.wait_for()
    assert "keeps nothing" in state.inner_text()
    context.close()
