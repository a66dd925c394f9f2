"""axe-core finds no serious fault on any page: in light and in dark, on a desktop and on a phone.

Here stand the looks of `make test-all`, at whole pages in turns, and those at what opens on a phone. With every commit
`test_browser.py` lets axe look at one lesson, at one set and at the other pages.
"""

import pytest

from tests.site.axe import EACH_COLOUR_ONCE, FEW, LOOKS, faults_in, prepare, told
from tests.site.reading import PAGES

pytestmark = [pytest.mark.site, pytest.mark.browser]


@pytest.fixture
def open_for_axe(open_tab, url):
    """Open a page of the book with axe in it, and without fading colours."""

    def open_one(page: str):
        tab = open_tab(f"{url}{page}.html", height=900, still=True)
        tab.evaluate("window.MathJax?.startup?.promise")
        prepare(tab)
        return tab

    return open_one


@pytest.mark.slow
@pytest.mark.one_in(3)
@pytest.mark.parametrize("looks", LOOKS, ids=lambda looks: f"{looks[0][1]} first")
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_no_serious_fault_in_the_whole_page(open_for_axe, page, looks):
    found = faults_in(open_for_axe(page), looks)
    assert not found, told(found)


def test_a_colour_that_is_hard_to_read_is_found_where_each_stands_once(open_for_axe):
    """What is left of a page's highlighted code still shows each of its colours to axe."""
    page = next(page for page in PAGES if page.startswith("notebooks/"))
    tab = open_for_axe(page)
    tab.evaluate("[...document.querySelectorAll('main .cell')].slice(12).forEach(cell => cell.remove())")
    words = "() => document.querySelectorAll('main .highlight pre span').length"
    before = tab.evaluate(words)
    # The last word of a class that the page has more than once, in a colour of its own.
    tab.evaluate("""() => {
        const words = [...document.querySelectorAll("main .highlight pre span.n")];
        words.at(-1).style.color = "#808080";
        words.at(-1).style.background = "#888888";
    }""")
    assert 0 < tab.evaluate(EACH_COLOUR_ONCE) <= tab.evaluate(words) < before / 4
    assert any(
        "color-contrast" in fault for fault in faults_in(tab, LOOKS[0][:1], contrasts=FEW, part="main")
    )


@pytest.mark.parametrize("control", ["menu", "search", "contents"])
def test_axe_finds_no_serious_fault_in_what_opens_on_a_phone(open_tab, url, control):
    opener = {"menu": ".primary-toggle", "search": ".search-button__button", "contents": ".secondary-toggle"}[
        control
    ]
    tab = open_tab(f"{url}chapters/glossary.html", width=390, still=True)
    if not tab.locator(f"{opener}:visible").count():
        tab.goto(f"{url}{next(page for page in PAGES if page.startswith('chapters/'))}.html")
    tab.locator(f"{opener}:visible").first.click()
    tab.wait_for_timeout(300)  # the panel slides in
    # What the page says is looked at elsewhere.
    tab.evaluate("""() => {
        const article = document.querySelector("article");
        article.replaceChildren(article.querySelector("h1"));
    }""")
    prepare(tab)
    found = faults_in(tab, [(390, "light"), (390, "dark")], contrasts=FEW)
    assert not found, told(found)
