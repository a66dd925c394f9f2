"""Explorers in a page, in a real browser: with menus, from a file, and without JavaScript."""

import pytest

pytestmark = [pytest.mark.site, pytest.mark.browser]

# The page of each explorer, a choice of its menus, and words that the page then has and did not have before.
PAGES = {
    "chapters/11-small-batches.html": (
        {"explanation": "fixed + linear", "third": "256"},
        "No costs fit all four: this explanation misses a number by 0.625 s or more",
    ),
    "chapters/10-errors.html": (
        {"step": "12, every second deleted", "empty": "empty_cache()"},
        "empty_cache() gave nothing back",
    ),
    "chapters/12-several-devices.html": (
        {"case": "large job, large GPU", "mode": "MIG, 4 instances"},
        "a kernel takes 4 times as long as alone on the whole GPU",
    ),
}


# All explorers have one script and one template: the others wait for `make test-all`.
first_of_the_pages = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (place > 0)) for place, name in enumerate(PAGES)]
)


@pytest.mark.parametrize("name", PAGES)
def test_menus_change_picture_sentences_and_table(open_tab, url, name):
    choice, words = PAGES[name]
    box = open_tab(url + name).locator(".h2d-page-explorer")
    before = box.locator("svg").get_attribute("aria-label"), box.locator("table").inner_html()
    said = box.locator(".h2d-page-explorer-said")
    assert words not in said.inner_text()
    for menu, label in choice.items():
        box.locator(f"select[name={menu}]").select_option(label=label)
    box.get_by_text(words).first.wait_for()
    assert box.locator("svg").get_attribute("aria-label") != before[0]
    assert box.locator("table").inner_html() != before[1]
    assert said.get_attribute("aria-live") == "polite"


@first_of_the_pages
def test_it_works_in_a_page_that_was_opened_from_a_file(open_tab, site, name):
    choice, words = PAGES[name]
    box = open_tab((site / name).as_uri()).locator(".h2d-page-explorer")
    for menu, label in choice.items():
        box.locator(f"select[name={menu}]").select_option(label=label)
    box.get_by_text(words).first.wait_for()


@first_of_the_pages
def test_without_javascript_the_first_picture_is_there(open_tab, url, name):
    box = open_tab(url + name, scripts=False).locator(".h2d-page-explorer")
    assert not box.locator("form").is_visible() and box.locator("svg").is_visible()
    assert "Other choices can be picked where JavaScript is allowed." in box.inner_text()
