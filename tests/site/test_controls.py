"""The controls of every page in a real browser: search, theme, menu, ways on, the Colab button, the page for a wrong address."""

import re
import statistics

import pytest

from book import address
from tests.site.reading import NOTEBOOKS, WRITTEN

pytestmark = [pytest.mark.site, pytest.mark.browser]

WIDTHS = (1280, 390)  # a desktop and a phone


def at(page, width: int):
    """Make the window of an open page this wide."""
    page.set_viewport_size({"width": width, "height": 800})


def test_search_finds_a_word_of_the_book(open_tab, url):
    page = open_tab(f"{url}{WRITTEN[-1]}.html")
    for width in reversed(WIDTHS):
        at(page, width)
        page.locator("button.search-button__button:visible").first.click()
        page.locator("#pst-search-dialog input[name=q]").fill("device")
        if width != WIDTHS[0]:
            page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=device")
    page.locator("#search-results li p.context").first.wait_for()
    assert ".pdf" not in page.locator("#search-results").inner_text(), (
        "a result quotes the buttons, not the text"
    )
    at(page, WIDTHS[1])
    page.locator("#search-results li a").first.click()
    page.wait_for_url(lambda to: "search.html" not in to, wait_until="domcontentloaded")
    assert "device" in page.locator("main").inner_text().lower()


@pytest.mark.parametrize("width", WIDTHS)
def test_dark_mode_darkens_the_page_and_stays(open_page, url, width):
    page = open_page(f"{url}index.html", width=width, color_scheme="light")
    assert brightness(page) > 200  # the page follows the system
    for _ in range(3):  # the switch goes round: automatic, light, dark
        if page.evaluate("document.documentElement.dataset.theme") != "dark":
            page.locator("button.theme-switch-button:visible").first.click()
    assert brightness(page) < 60
    page.goto(f"{url}404.html")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert brightness(page) < 60


def test_the_page_follows_the_system_into_the_dark(open_page, url):
    assert brightness(open_page(f"{url}index.html", color_scheme="dark")) < 60


def brightness(page) -> float:
    """Return how bright the page's background is, from 0 to 255."""
    page.wait_for_timeout(300)  # colours fade
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return statistics.fmean(map(float, re.findall(r"[\d.]+", colour)[:3]))


@pytest.mark.parametrize("width", WIDTHS)
def test_the_menu_leads_to_a_chapter(open_tab, url, width):
    page = open_tab(f"{url}index.html", width=width)
    if width == 390:
        page.locator("button.primary-toggle:visible").first.click()
    page.locator(f'.bd-docs-nav a[href="{WRITTEN[1]}.html"]:visible').click()
    page.wait_for_url(f"**/{WRITTEN[1]}.html", wait_until="commit")


def test_next_and_previous_are_within_reach(open_tab, url):
    """Both can be clicked at both widths; each is followed once."""
    page = open_tab(f"{url}{WRITTEN[-2]}.html")
    before, after = page.locator("a.left-prev"), page.locator("a.right-next")
    for width in WIDTHS:
        at(page, width)
        before.click(trial=True)
        after.click(trial=True)
    after.click()
    page.wait_for_url(f"**/{WRITTEN[-1]}.html", wait_until="domcontentloaded")
    before.click()
    page.wait_for_url(f"**/{WRITTEN[-2]}.html", wait_until="domcontentloaded")


def test_the_colab_button_is_within_reach(open_tab, url):
    """Its menu is opened on a phone, and stays open while the window grows to that of a desktop."""
    page = open_tab(f"{url}{NOTEBOOKS[0]}.html", width=390)
    menu = page.locator(".dropdown-launch-buttons")
    button = menu.locator("a[href*='colab']")
    menu.locator("> button").click()
    for width in reversed(WIDTHS):
        at(page, width)
        menu.locator("> button").click(trial=True)
        button.wait_for()
        box = button.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
    assert button.get_attribute("href") == address.read().colab(f"{NOTEBOOKS[0]}.ipynb")


@pytest.mark.parametrize("lost", ["nowhere", "a/b/c.html", "{prefix}nowhere", "{prefix}a/b/c"])
def test_a_wrong_address_leads_back(open_tab, url, lost):
    prefix = address.read().site_path.lstrip("/")
    page = open_tab(url + lost.format(prefix=prefix))
    assert "Page not found" in page.locator("h1:visible").inner_text()
    ink = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--h2d-ink')")
    assert ink.strip(), "the book's style sheet is missing"
    page.locator("main form input[name=q]").fill("device")
    page.keyboard.press("Enter")
    page.locator("#search-results li a").first.wait_for()
    page.go_back()
    page.locator("main a", has_text="front page").click()
    page.wait_for_url(f"{url}{prefix}index.html")
    assert page.locator("h1:visible").count()
