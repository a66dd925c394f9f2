"""Prediction locks in a real browser: the page takes a prediction, and then shows the result beside it."""

import pytest
from playwright.sync_api import expect

from tests.site.axe import faults_in, prepare, told
from tests.site.reading import CHAPTERS, NOTEBOOKS, read

pytestmark = [pytest.mark.site, pytest.mark.browser]

PAGE = "notebooks/02-host-and-device.html"
ASKING = [each for each in NOTEBOOKS if each.split("/")[-1][:2] in ("01", "02", "03", "04", "05", "09", "11")]
LESSONS = [each for each in (*CHAPTERS, *NOTEBOOKS) if each.startswith(("chapters/", "notebooks/"))]


def lock(tab, number=1):
    return tab.locator(f'.h2d-lock[data-answer="{number}"]')


def answers(tab, number=1):
    return tab.locator(f".h2d-answer-{number}").all()


def button(tab, name, number=1):
    return lock(tab, number).get_by_role("button", name=name)


def field(tab, number=1):
    return lock(tab, number).get_by_label("Your prediction")


@pytest.mark.parametrize("page", [each for each in ASKING if each.startswith("notebooks/")])
def test_a_lesson_that_asks_for_predictions_takes_them(page):
    assert len(read(page).select(".h2d-lock")) >= 3


def test_each_lock_has_an_answer_behind_it():
    count = 0
    for page in LESSONS:
        marked = read(page).select('.h2d-lock, [class*="h2d-answer-"]')
        for place, box in enumerate(marked):
            if "h2d-lock" not in box["class"]:
                continue
            count += 1
            later = [each for each in marked[place:] if f"h2d-answer-{box['data-answer']}" in each["class"]]
            folded = box.find_next_sibling()
            assert later or folded.name == "details", f"{page}: {box['data-prompt']}"
            assert box["data-prompt"][:1].isupper() and box.has_attr("hidden")
    assert count >= 120


def test_the_answer_comes_after_a_prediction_and_beside_it(open_page, url):
    tab = open_page(url + PAGE)
    expect(lock(tab).locator("form")).to_have_attribute("aria-label", "Predict: which thread goes wrong first, and which element does it read?")  # fmt: skip
    folded = lock(tab).locator("xpath=following-sibling::*[1]")
    assert len(answers(tab)) == 2
    for each in (folded, *answers(tab)):
        expect(each).to_be_hidden()
    requests = []
    tab.on("request", lambda request: requests.append(request.url))
    field(tab).fill("thread 5, <b>a[5]</b>")
    button(tab, "Show the result").click()
    for each in (folded, *answers(tab)):
        expect(each).to_be_visible()
    guess = answers(tab)[0].locator("xpath=preceding-sibling::*[1]")
    expect(guess).to_have_text("You predicted: thread 5, <b>a[5]</b>")
    expect(guess).to_be_visible()
    below = answers(tab)[0].bounding_box()["y"] - guess.bounding_box()["y"]
    assert 0 < below < 80
    expect(answers(tab, 2)[0]).to_be_hidden()
    assert requests == []
    assert "a[5]" not in tab.evaluate(
        "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])"
    )
    tab.reload()
    expect(answers(tab)[0]).to_be_hidden()
    expect(field(tab)).to_have_value("")


def test_keys_alone_open_a_lock_and_what_happens_is_said(open_page, url):
    tab = open_page(url + PAGE)
    status = lock(tab).get_by_role("status")
    field(tab).focus()
    tab.keyboard.press("Enter")
    expect(status).to_contain_text("Type a prediction first")
    expect(status).to_be_visible()
    expect(field(tab)).to_be_focused()
    expect(answers(tab)[0]).to_be_hidden()
    for name in ("Show the result", "Show without a guess"):
        tab.keyboard.press("Tab")
        expect(button(tab, name)).to_be_focused()
    tab.keyboard.press("Enter")
    expect(status).to_have_text("The result is shown below.")
    expect(status).to_be_focused()
    expect(answers(tab)[0]).to_be_visible()
    expect(tab.locator(".h2d-lock-guess")).to_have_count(0)


def test_one_button_shows_all_results_of_a_page(open_page, url):
    tab = open_page(url + PAGE)
    expect(tab.locator("[data-locked]").first).to_be_hidden()
    button(tab, "Show all results of this page").click()
    expect(tab.locator("[data-locked]")).to_have_count(0)
    expect(tab.locator(".h2d-lock form")).to_have_count(0)
    expect(answers(tab, 5)[0]).to_be_visible()


def test_paper_and_a_page_without_scripts_show_everything(open_tab, url):
    tab = open_tab(url + PAGE)
    expect(lock(tab)).to_be_visible()
    tab.emulate_media(media="print")
    expect(lock(tab)).to_be_hidden()
    for each in answers(tab):
        expect(each).to_be_visible()
    tab = open_tab(url + PAGE, scripts=False)
    expect(lock(tab)).to_be_hidden()
    for each in answers(tab):
        expect(each).to_be_visible()


@pytest.mark.slow
def test_a_link_to_an_answer_opens_it(open_page, url):
    tab = open_page(f"{url}chapters/09-copy-cost.html")
    table = tab.locator("#tab-norm-times")
    expect(table).to_be_hidden()
    tab.evaluate("location.hash = 'tab-norm-times'")
    expect(table).to_be_visible()
    tab.goto("about:blank")
    tab.goto(f"{url}chapters/09-copy-cost.html#tab-norm-times")
    expect(table).to_be_visible()
    expect(table).to_be_in_viewport()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "theme"), [(1280, "light"), (360, "dark"), (360, "light")])
def test_a_lock_fits_and_axe_finds_nothing_in_it(open_page, url, width, theme):
    tab = open_page(url + PAGE, width=width)
    box = lock(tab).bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width
    for each in lock(tab).locator("input, button").all():
        inside = each.bounding_box()
        assert inside["x"] >= box["x"] and inside["x"] + inside["width"] <= box["x"] + box["width"]
        assert inside["height"] >= 24
    field(tab, 2).fill("block 2")
    button(tab, "Show the result", 2).click()
    prepare(tab)
    for part in (".h2d-lock", ".h2d-lock-guess"):
        found = faults_in(tab, [(width, theme)], part=part)
        assert not found, told(found)
