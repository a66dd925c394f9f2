"""Every page in a real browser: it opens cleanly, is light and quick, and axe finds no serious fault."""

import gzip
import re
from dataclasses import dataclass, field
from functools import cache

import pytest
from fontTools.ttLib import TTFont

from tests.site.axe import (
    EACH_COLOUR_ONCE,
    FEW,
    LOOKS,
    SOME_CELLS,
    SOME_EXERCISES,
    SOME_TERMS,
    faults_in,
    prepare,
    told,
)
from tests.site.reading import FRAMED, LOOKED_AT, MORE, PAGES, WRITTEN, read

pytestmark = [pytest.mark.site, pytest.mark.browser]

HEAVIEST = 450_000  # bytes that a text page may send, compressed
SLOWEST = 0.5  # seconds until something stands on the screen, from this machine
COMPRESSED = (".woff", ".woff2", ".png", ".jpg", ".zip")


TEXT = """() => {
    const copy = document.querySelector("main").cloneNode(true);
    copy.querySelectorAll("pre, script").forEach(each => each.remove());
    return copy.textContent;
}"""  # without code, in which a regular expression may look like a formula


@dataclass
class Visit:
    """What happened while a page was opened, and what it weighed."""

    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    weight: int = 0
    formulas: int = 0
    text: str = ""
    too_wide: str = ""
    icons: set[str] = field(default_factory=set)
    accessibility: dict[str, list[str]] = field(default_factory=dict)

    @property
    def has_widgets(self) -> bool:
        return any("html-manager" in request for request in self.requests)


@pytest.fixture(scope="module")
def weigh():
    """Return a function that tells how many bytes a response takes on its way: text compressed, as GitHub Pages does.

    Pages share most of their files, and what an address of this site answers stays the same while the tests run.
    """
    known = {}

    def weigh_once(response) -> int:
        if response.url not in known:
            body, packed = response.body(), response.url.split("?")[0].endswith(COMPRESSED)
            known[response.url] = len(body) if packed else len(gzip.compress(body, 6))
        return known[response.url]

    return weigh_once


def is_fault(said) -> bool:
    """Tell whether what a page said to the console is a fault; the widget manager's checker warns of its own ways."""
    return said.type == "error" or (said.type == "warning" and "html-manager" not in said.location["url"])


# The elements that reach past the right edge of the window, and do not stand in a box that scrolls.
TOO_WIDE = """() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return "";
    const scrolls = e => e && e !== document.body &&
        (/auto|scroll|hidden/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
    return [...document.querySelectorAll("main *")]
        .filter(e => e.getBoundingClientRect().right > width + 1 && !scrolls(e.parentElement))
        .slice(0, 5).map(e => e.outerHTML.slice(0, 120)).join("\\n") || "something outside the text";
}"""
# The characters of the icon fonts that stand on a page; a word of highlighted code, of which there are thousands, has none.
ICONS = r"""() => [...new Set([...document.querySelectorAll(":not(.highlight pre span)")].flatMap(e => ["::before", "::after"].map(
    part => getComputedStyle(e, part).content)).join("").match(/[\ue000-\uf8ff]/g) || [])]"""


def first_paint(tab) -> float:
    """Return after how many seconds something stood on the screen."""
    entry = "performance.getEntriesByName('first-contentful-paint')[0]"
    tab.wait_for_function(entry)
    return tab.evaluate(f"{entry}.startTime") / 1000


def a_sample_first(pages: list[str]) -> list:
    """Return the pages, those that wait for `make test-all` marked."""
    return [pytest.param(page, marks=[pytest.mark.slow] * (page in MORE)) for page in pages]


@pytest.fixture(scope="module")
def visit(profiles, url, weigh):
    """Open a page once, on a desktop and on a phone; the tests share what was seen, by axe as well.

    Axe looks at a page light on a desktop and dark on a phone, with each colour of highlighted code once, with a few
    exercises of a set, a few cells of a notebook, a few terms of a list, and at the contrast of a few boxes of each kind. The frame around the
    text is the same on every page of the book: axe looks at it on the front page.
    """
    tab = profiles[True].new_page()
    tab.emulate_media(reduced_motion="reduce")
    seen, responses = Visit(), []
    tab.on("console", lambda said: is_fault(said) and seen.faults.append(said.text))
    tab.on("pageerror", lambda error: seen.faults.append(f"error: {error}"))
    tab.on("requestfailed", lambda request: seen.faults.append(f"no answer: {request.url}"))
    tab.on("request", lambda request: seen.requests.append(request.url))
    tab.on("response", lambda response: responses.append(response))

    @cache
    def visit_once(page: str) -> Visit:
        nonlocal seen, responses
        seen, responses = Visit(), []
        tab.set_viewport_size({"width": 1280, "height": 800})
        tab.goto(f"{url}{page}.html")
        tab.evaluate("window.MathJax?.startup?.promise")
        tab.evaluate("document.fonts.ready.then(() => null)")
        seen.formulas = tab.locator("mjx-container").count()
        seen.text = tab.evaluate(TEXT)
        seen.icons = set(tab.evaluate(ICONS))
        tab.set_viewport_size({"width": 390, "height": 844})
        seen.too_wide = tab.evaluate(TOO_WIDE)
        tab.wait_for_load_state("networkidle")  # the looks above took most of that time
        seen.faults += [
            f"{response.status}: {response.url}" for response in responses if response.status >= 400
        ]
        seen.weight = sum(map(weigh, responses))
        if page in LOOKED_AT:  # `make test-all` looks at all pages whole
            prepare(tab)
            tab.evaluate(EACH_COLOUR_ONCE)
            tab.evaluate(SOME_TERMS)
            tab.evaluate(SOME_CELLS)
            if page.startswith(("exercises/", "solutions/")):
                tab.evaluate(SOME_EXERCISES)
            part = "main" if page in FRAMED else "html"
            seen.accessibility = faults_in(tab, LOOKS[0], contrasts=FEW, part=part)
        return seen

    yield visit_once
    tab.close()


@pytest.mark.parametrize("page", a_sample_first(PAGES))
def test_a_page_opens_without_a_fault(visit, page):
    assert visit(page).faults == []


@pytest.mark.parametrize("page", a_sample_first(PAGES))
def test_a_page_asks_no_other_host(visit, url, page):
    assert [
        request for request in visit(page).requests if not request.startswith((url, "data:", "blob:"))
    ] == []


@pytest.mark.parametrize("page", a_sample_first(WRITTEN))
def test_formulas_are_typeset(visit, page):
    wanted = len(read(page).select(".math"))
    assert visit(page).formulas == wanted
    assert not re.search(r"\\\(|\\\[|\\begin\{", visit(page).text)
    assert any("vendor/mathjax/" in request for request in visit(page).requests) == bool(wanted)


def test_the_book_has_formulas():
    assert any(read(page).select(".math") for page in WRITTEN), "nothing above was tested"


@pytest.mark.parametrize("page", a_sample_first(PAGES))
def test_a_page_is_light(visit, page, record_property):
    record_property("kilobytes", round(visit(page).weight / 1000))
    print(f"\n{page}: {visit(page).weight / 1000:.0f} KB")
    if not visit(page).has_widgets:
        assert visit(page).weight <= HEAVIEST


@pytest.mark.slow  # a time: on a machine that does other things as well it says nothing
@pytest.mark.parametrize("page", a_sample_first(PAGES))
def test_a_page_paints_at_once(open_page, url, page):
    """The best of a few first visits: other tests may be taking the processor at the same time."""
    best = first_paint(open_page(f"{url}{page}.html"))
    for _ in range(20):
        if best > SLOWEST:
            best = min(best, first_paint(open_page(f"{url}{page}.html")))
    print(f"\n{page}: first paint after {best:.2f} s")
    assert best <= SLOWEST


@pytest.fixture(scope="module")
def held_icons(site) -> set[str]:
    """The characters that the icon fonts of the site hold."""
    fonts = [TTFont(path) for path in (site / "_static/vendor/fontawesome/webfonts").glob("*.woff")]
    return {chr(code) for font in fonts for code in font.getBestCmap()}


@pytest.mark.parametrize("page", a_sample_first(PAGES))
def test_every_icon_is_in_a_font(visit, held_icons, page):
    assert visit(page).icons and not visit(page).icons - held_icons


@pytest.mark.parametrize("page", a_sample_first(PAGES))
def test_a_page_fits_a_phone(visit, page):
    assert visit(page).too_wide == ""


@pytest.mark.parametrize("page", LOOKED_AT)
def test_axe_finds_no_serious_fault(visit, page):
    found = visit(page).accessibility
    assert not found, told(found)
