"""Live pages in a real browser: Run, Edit, Stop, an answer with its hint, and what a reader sees where it cannot run."""

import json
import re

import nbformat
import pytest
from playwright.sync_api import expect

from tests.sanitized import without_what_differs
from tests.site.axe import faults_in, prepare, told
from tests.site.bars import (
    PATIENCE,
    bar,
    button,
    edit,
    result,
    run,
    status,
    without_its_hint,
    write,
    written,
    wrong_answers,
)
from tests.site.reading import ROOT, read

pytestmark = [pytest.mark.site, pytest.mark.browser]

PAGE = "exercises/02-host-and-device.html"
LESSON = "notebooks/02-host-and-device.html"
LABEL = "Code of this cell. Control and Enter run it."


@pytest.fixture(scope="module", autouse=True)
def live(site):
    """Skip where the book was built without Python for the browser; under CI, such a build has failed."""
    if not (site / "_static" / "live" / "manifest.json").exists():
        pytest.skip("this book was built without Run: NumPy for the browser was not to be had")


@pytest.fixture(scope="module")
def asked(opened):
    requests = []
    opened.on("request", lambda request: requests.append(request.url))
    return requests


# Everything that a browser can keep for a page.
KEPT = """async () => ({
    local: Object.entries(localStorage),
    session: Object.entries(sessionStorage),
    cookie: document.cookie,
    databases: (await indexedDB.databases()).map(each => each.name),
    cached: (await Promise.all((await caches.keys()).map(async name =>
        (await (await caches.open(name)).keys()).map(request => request.url)))).flat(),
})"""


def test_nothing_is_fetched_before_the_first_run(opened, asked, url):
    opened.reload()
    expect(button(opened, "report-a", "Run")).to_be_visible()
    opened.wait_for_load_state("networkidle")
    assert asked and not [each for each in asked if "/live/" in each]
    assert opened.evaluate(KEPT)["cached"] == []


def test_a_cell_runs_with_those_that_it_needs_and_the_finding_is_visible(opened, asked, url):
    text = run(opened, "report-a")
    assert "1 error" in text and "out of bounds" in text
    expect(result(opened, "report-a")).to_be_visible()
    assert all(each.startswith((url, "blob:")) for each in asked)
    assert opened.locator(".h2d-live-result[aria-live=polite]").count() > 10


def test_three_wrong_answers_get_their_hints(opened):
    answers = wrong_answers("02-host-and-device")[:3]
    assert [found for part, wrong in answers if (found := without_its_hint(opened, part, wrong))] == []


def test_an_edited_kernel_is_checked_as_it_stands_and_undo_brings_the_text_back(opened):
    edit(opened, "report-a")
    before = written(opened, "report-a")
    assert "if i <= out.size" in before
    write(opened, "report-a", before.replace("<=", "<"))
    assert "no errors found" in run(opened, "report-a")
    button(opened, "report-a", "Undo changes").click()
    expect(bar(opened, "report-a").locator(".cm-content")).to_have_count(0)
    assert "1 error" in run(opened, "report-a")


def test_nothing_that_a_reader_writes_is_stored_before_keep(opened, url):
    kept = opened.evaluate(KEPT)
    assert kept["cached"] and all(each.startswith(f"{url}_static/live/") for each in kept["cached"])
    assert kept["databases"] == [] and "twice" not in json.dumps(kept)
    write(opened, "map", "def twice(): pass")
    assert "twice" not in json.dumps(opened.evaluate(KEPT))
    button(opened, "map", "Keep").click()
    expect(status(opened, "map")).to_contain_text("Kept in this browser")
    assert "twice" in json.dumps(opened.evaluate(KEPT)["local"])
    button(opened, "map", "Undo changes").click()
    assert "twice" not in json.dumps(opened.evaluate(KEPT))


def test_the_keyboard_leaves_the_editor_with_escape_and_tab(opened):
    opened.reload()  # without the editors of the tests before
    editor = edit(opened, "guard")
    expect(editor).to_be_focused()
    assert editor.get_attribute("aria-label") == f"{LABEL} Escape, then Tab, leaves it."
    lines = written(opened, "guard")
    opened.keyboard.press("Tab")
    assert written(opened, "guard") != lines  # it indents
    opened.keyboard.press("Escape")
    opened.keyboard.press("Tab")
    expect(button(opened, "guard", "Run")).to_be_focused()
    opened.keyboard.press("Shift+Tab")
    expect(editor).to_be_focused()
    button(opened, "guard", "Undo changes").click()


def test_where_the_editor_does_not_load_a_text_area_stays(open_page, url):
    tab = open_page(url + PAGE)
    tab.context.route(re.compile(r"live/editor\.js"), lambda route: route.abort())
    button(tab, "map", "Edit").click()
    area = bar(tab, "map").get_by_label(LABEL)
    area.fill("if True:")
    area.press("Enter")
    assert area.input_value() == "if True:\n    "
    tab.keyboard.press("Tab")
    expect(button(tab, "map", "Run")).to_be_focused()
    assert bar(tab, "map").locator(".cm-content").count() == 0


def test_a_cell_that_cannot_run_says_so_before_it_is_clicked(open_tab, url):
    tab = open_tab(url + LESSON)
    box = bar(tab, "ptx")
    expect(box).to_contain_text("This cell needs compilers, which this page does not have.")
    expect(box.get_by_role("link", name="Run it in Colab")).to_be_visible()
    expect(box.get_by_role("button", name="Run")).to_be_hidden()


def test_without_webassembly_the_page_reads_as_before(chromium, url):
    context = chromium.new_context()
    context.add_init_script("delete globalThis.WebAssembly")
    tab = context.new_page()
    tab.goto(url + LESSON)
    tab.wait_for_load_state("networkidle")
    assert tab.locator(".h2d-live:visible").count() == 0
    expect(tab.locator(".cell_output").first).to_be_visible()
    context.close()


def test_the_page_on_software_lists_what_the_manifest_names_and_the_texts_are_there(site):
    manifest = json.loads((site / "_static" / "live" / "manifest.json").read_text(encoding="utf-8"))
    table = read("chapters/sources").select("#software-that-this-site-ships tbody tr")
    rows = [[cell.get_text(strip=True) for cell in row.select("td")] for row in table]
    assert rows == [[each["name"], each["version"], each["licence"]] for each in manifest["licences"]]
    assert {"Pyodide", "CPython", "NumPy", "@codemirror/view", "@lezer/python", "mathjax"} <= {
        row[0] for row in rows
    }
    texts = (site / "_static" / "licences.txt").read_text(encoding="utf-8")
    assert all(f"{name} {version}: {licence}" in texts for name, version, licence in rows)
    assert "Marijn Haverbeke" in texts and "NumPy Developers" in texts


# -- in `make test-all`


@pytest.mark.slow
def test_a_given_cell_of_an_exercise_shows_what_the_solution_stores(open_page, url):
    tab = open_page(url + PAGE)
    stored = json.loads((ROOT / "solutions" / "02-host-and-device.ipynb").read_text(encoding="utf-8"))
    texts = {cell["id"]: cell["outputs"] for cell in stored["cells"] if cell["cell_type"] == "code"}
    for cell in ("report-a", "report-b", "report-c", "report-d", "report-race"):
        [output] = texts[cell]
        said = "".join(output["data"]["text/plain"])
        seen = without_what_differs(" ".join(run(tab, cell).split()))
        first = without_what_differs(said.splitlines()[0])
        assert first in seen, cell


@pytest.mark.slow
def test_stop_ends_a_loop_and_the_next_run_starts_again(open_page, url):
    tab = open_page(url + LESSON)
    stored = bar(tab, "add-ten-launch").locator("xpath=following-sibling::*[1]")
    expect(stored).to_be_visible()
    assert run(tab, "add-ten-launch").strip() == "[13 11 14 11 15]"
    expect(stored).to_be_hidden()
    write(tab, "yours", "while True:\n    pass")
    button(tab, "yours", "Run").click()
    expect(status(tab, "yours")).to_have_text("Running", timeout=PATIENCE)
    assert len(tab.workers) == 1
    button(tab, "yours", "Stop").click()
    expect(status(tab, "yours")).to_contain_text("Stopped. Your text is still here")
    expect(button(tab, "yours", "Run")).to_be_visible()
    for _ in range(100):  # a browser says a little later that a worker has ended
        if not tab.workers:
            break
        tab.wait_for_timeout(100)
    assert tab.workers == [] and written(tab, "yours").startswith("while True")
    assert run(tab, "add-ten-launch").strip() == "[13 11 14 11 15]"
    expect(status(tab, "add-ten-launch")).to_contain_text("with the cells above that it needs")


@pytest.mark.slow
def test_a_page_that_is_loaded_again_in_the_middle_of_a_run_begins_anew(open_page, url):
    tab = open_page(url + LESSON)
    write(tab, "yours", "while True:\n    pass")
    button(tab, "yours", "Run").click()
    expect(status(tab, "yours")).to_have_text("Running", timeout=PATIENCE)
    tab.reload()
    expect(button(tab, "yours", "Run")).to_be_visible()
    expect(button(tab, "yours", "Edit")).to_be_visible()
    expect(result(tab, "yours")).to_be_hidden()
    expect(bar(tab, "yours").locator("xpath=following-sibling::*[1]")).to_be_visible()
    assert tab.workers == []
    assert run(tab, "yours").strip() == "[0 0 0 0 0]"


@pytest.mark.slow
def test_two_tabs_have_texts_and_variables_of_their_own(open_page, url):
    first = open_page(url + LESSON)
    second = first.context.new_page()
    second.set_default_timeout(60_000)
    second.goto(url + LESSON)
    write(second, "yours", "print('second', 'add_ten' in globals())")
    button(first, "add-ten-launch", "Run").click()
    button(second, "yours", "Run").click()
    expect(status(first, "add-ten-launch")).to_contain_text("Done in", timeout=PATIENCE)
    expect(status(second, "yours")).to_contain_text("Done in", timeout=PATIENCE)
    assert result(first, "add-ten-launch").inner_text().strip() == "[13 11 14 11 15]"
    assert result(second, "yours").inner_text().strip() == "second False"
    assert len(first.workers) == len(second.workers) == 1
    expect(button(first, "yours", "Edit")).to_be_visible()


@pytest.mark.slow
def test_a_slow_network_shows_how_far_it_is_and_stop_ends_the_wait(open_page, url):
    tab = open_page(url + LESSON)
    network = tab.context.new_cdp_session(tab)
    slow = {"offline": False, "latency": 100, "downloadThroughput": 400_000, "uploadThroughput": 100_000}
    network.send("Network.emulateNetworkConditions", slow)
    button(tab, "add-ten-launch", "Run").click()
    said = status(tab, "add-ten-launch")
    expect(said).to_have_text(re.compile(r"Fetching Python: [1-9]\.\d of \d+\.\d MB"), timeout=PATIENCE)
    expect(bar(tab, "add-ten-launch").get_by_role("progressbar")).to_be_visible()
    reached = [float(each) for each in re.findall(r"[\d.]+(?= of|\sMB)", said.inner_text())]
    assert reached[0] < reached[1]
    button(tab, "add-ten-launch", "Stop").click()
    expect(said).to_have_text("Stopped.")
    network.send("Network.emulateNetworkConditions", slow | {"downloadThroughput": -1, "latency": 0})
    assert run(tab, "add-ten-launch").strip() == "[13 11 14 11 15]"


@pytest.mark.slow
def test_keep_survives_a_reload_and_undo_forgets_it(open_page, url):
    tab = open_page(url + LESSON)
    write(tab, "yours", "print(7)")
    button(tab, "yours", "Keep").click()
    tab.reload()
    area = bar(tab, "yours").locator("textarea")
    assert area.input_value() == "print(7)"
    area.focus()
    expect(bar(tab, "yours").locator(".cm-content")).to_be_focused()
    assert written(tab, "yours") == "print(7)"
    button(tab, "yours", "Undo changes").click()
    tab.reload()
    expect(button(tab, "yours", "Edit")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "cell", "code"),
    [
        (LESSON, "yours", "print('mine')"),
        ("chapters/check.html", "race_global-repaired", "print('mine')"),
    ],
)
def test_the_notebook_with_the_readers_code_can_be_downloaded(open_page, url, page, cell, code):
    tab = open_page(url + page)
    write(tab, cell, code)
    with tab.expect_download() as saved:
        button(tab, cell, "Download notebook").click()
    made = json.loads(saved.value.path().read_text(encoding="utf-8"))
    nbformat.validate(made)
    sources = {each["id"]: "".join(each["source"]) for each in made["cells"]}
    assert sources[cell] == code
    assert any("import host_to_device as h2d" in each and "%pip install" in each for each in sources.values())


@pytest.mark.slow
def test_a_broken_download_is_told_and_can_be_tried_again(open_page, url):
    tab = open_page(url + LESSON)
    tab.context.route(re.compile(r"library\.zip"), lambda route: route.abort())
    button(tab, "add-ten", "Run").click()
    expect(status(tab, "add-ten")).to_contain_text("Press Run to start it again", timeout=PATIENCE)
    expect(button(tab, "add-ten", "Run")).to_be_visible()


@pytest.mark.slow
def test_axe_finds_no_serious_fault_in_the_editor_and_the_result_in_any_look(open_page, url):
    tab = open_page(url + LESSON, reduced_motion="reduce")
    edit(tab, "yours")
    write(
        tab, "add-ten", '# a comment\nx = f"text {1.5}"\nfor each in (True, None):\n    print(each, x)\n1 / 0'
    )
    run(tab, "add-ten", ends="Ended with an error")
    prepare(tab)
    tab.evaluate("""() => {
        const kept = document.querySelector('.h2d-live[data-cells="add-ten"]');
        document.querySelector("article").replaceChildren(document.querySelector("h1"), kept);
    }""")
    found = faults_in(tab, [(w, t) for w in (1280, 390) for t in ("light", "dark")], part="article")
    assert not found, told(found)
    tab.set_viewport_size({"width": 390, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth <= 390")
