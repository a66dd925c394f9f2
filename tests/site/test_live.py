"""Live pages in a real browser: Run, Edit, Stop, an answer with its hint, and what a reader sees where it cannot run."""

import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.site, pytest.mark.browser]

PAGE = "notebooks/02-host-and-device.html"
PATIENCE = 200_000  # milliseconds: other tests take the processor at the same time


def bar(tab, cell):
    return tab.locator(f'.h2d-live[data-cells="{cell}"]')


def status(tab, cell):
    return bar(tab, cell).locator(".h2d-live-status")


def run(tab, cell, ends="Done in"):
    bar(tab, cell).get_by_role("button", name="Run").click()
    expect(status(tab, cell)).to_contain_text(ends, timeout=PATIENCE)
    return bar(tab, cell).locator(".h2d-live-result").inner_text()


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


def test_nothing_is_fetched_before_the_first_run(opened, asked, url):
    opened.reload()
    expect(bar(opened, "check-ten").get_by_role("button", name="Run")).to_be_visible()
    opened.wait_for_load_state("networkidle")
    assert asked and not [each for each in asked if "/live/" in each]


def test_a_cell_runs_with_those_that_it_needs_and_the_finding_is_visible(opened, asked, url):
    text = run(opened, "race-check")
    assert "1 error" in text and "race" in text
    expect(bar(opened, "race-check").locator(".h2d-live-result")).to_be_visible()
    assert all(each.startswith((url, "blob:")) for each in asked)


@pytest.mark.slow
def test_the_output_of_a_cell_replaces_the_stored_one(opened):
    assert run(opened, "add-ten-launch").strip() == "[13 11 14 11 15]"
    stored = bar(opened, "add-ten-launch").locator("xpath=following-sibling::*[1]")
    expect(stored).to_be_hidden()


def test_an_edited_kernel_is_checked_as_it_stands_and_undo_brings_the_text_back(opened):
    box = bar(opened, "add-ten")
    box.get_by_role("button", name="Edit").click()
    editor = box.get_by_label("Code of this cell. Control and Enter run it.")
    editor.fill(editor.input_value().replace("    if i < a.size:\n        out", "    if True:\n        out"))
    assert "out of bounds" in run(opened, "check-right")
    box.get_by_role("button", name="Undo changes").click()
    assert "no errors found" in run(opened, "check-right")


def test_the_editor_can_be_left_with_tab(opened):
    box = bar(opened, "yours")
    box.get_by_role("button", name="Edit").click()
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.tagName") == "BUTTON"


@pytest.mark.slow
def test_stop_ends_a_loop_and_the_next_run_starts_again(opened):
    box = bar(opened, "yours")
    box.locator("textarea").fill("while True:\n    pass")
    box.get_by_role("button", name="Run").click()
    expect(status(opened, "yours")).to_have_text("Running", timeout=PATIENCE)
    box.get_by_role("button", name="Stop").click()
    expect(status(opened, "yours")).to_contain_text("Stopped. Your text is still here")
    assert box.locator("textarea").input_value().startswith("while True")
    assert run(opened, "add-ten-launch").strip() == "[13 11 14 11 15]"
    expect(status(opened, "add-ten-launch")).to_contain_text("with the cells above that it needs")


def test_a_cell_that_cannot_run_says_so_before_it_is_clicked(opened):
    box = bar(opened, "ptx")
    expect(box).to_contain_text("This cell needs compilers, which this page does not have.")
    expect(box.get_by_role("link", name="Run it in Colab")).to_be_visible()
    expect(box.get_by_role("button", name="Run")).to_be_hidden()


@pytest.mark.slow
def test_a_wrong_answer_gets_its_hint(open_page, url):
    tab = open_page(url + "exercises/02-host-and-device.html")
    box = bar(tab, "map")
    box.get_by_role("button", name="Edit").click()
    box.locator("textarea").fill(
        "@cuda.jit\ndef twice(x, out):\n    i = cuda.grid(1)\n    out[i] = x[i] * x[i]"
    )
    said = run(tab, "map-answer")
    assert "02.a is not right yet" in said and "Hints: h2d.answer" in said


@pytest.mark.slow
def test_keep_survives_a_reload_and_undo_forgets_it(open_page, url):
    tab = open_page(url + PAGE)
    bar(tab, "yours").get_by_role("button", name="Edit").click()
    bar(tab, "yours").locator("textarea").fill("print(7)")
    bar(tab, "yours").get_by_role("button", name="Keep").click()
    tab.reload()
    assert bar(tab, "yours").locator("textarea").input_value() == "print(7)"
    bar(tab, "yours").get_by_role("button", name="Undo changes").click()
    tab.reload()
    assert bar(tab, "yours").locator("textarea").count() == 0


def test_without_webassembly_the_page_reads_as_before(chromium, url):
    context = chromium.new_context()
    context.add_init_script("delete globalThis.WebAssembly")
    tab = context.new_page()
    tab.goto(url + PAGE)
    tab.wait_for_load_state("networkidle")
    assert tab.locator(".h2d-live:visible").count() == 0
    expect(tab.locator(".cell_output").first).to_be_visible()
    context.close()


@pytest.mark.slow
def test_a_broken_download_is_told_and_can_be_tried_again(open_page, url):
    tab = open_page(url + PAGE)
    tab.context.route(re.compile(r"library\.zip"), lambda route: route.abort())
    bar(tab, "add-ten").get_by_role("button", name="Run").click()
    expect(status(tab, "add-ten")).to_contain_text("Press Run to start it again", timeout=PATIENCE)
    expect(bar(tab, "add-ten").get_by_role("button", name="Run")).to_be_visible()
