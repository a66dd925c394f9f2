"""axe-core finds no serious fault on any page: in light and in dark, on a desktop and on a phone.

`make test` shows each page in two of the four looks, with each colour of highlighted code once; `make test-all` shows
every page in all four looks, whole.
"""

import pytest

from tests.site.reading import MORE_SETS, PAGES, ROOT

pytestmark = [pytest.mark.site, pytest.mark.browser]

AXE = ROOT / "book" / "node_modules" / "axe-core" / "axe.min.js"

FAULTS = """async () => (await axe.run(document, {resultTypes: ["violations"], preload: false})).violations
    .filter(fault => ["serious", "critical"].includes(fault.impact))
    .map(fault => `${fault.impact} ${fault.id}: ` + fault.nodes.slice(0, 4)
        .map(node => node.html.slice(0, 160) + " | " + (node.any[0] || node.all[0] || node.none[0] || {}).message)
        .join("\\n    "))"""

# Replaces a highlighted word by its text where the page has shown the same colour in the same kind of box before: the
# classes and styles from the word up to `main` are the same, so its contrast is the same. A notebook's page has ten
# thousand such words, and axe takes several seconds for them.
EACH_COLOUR_ONCE = """() => {
    const seen = new Set();
    const kind = word => {
        const path = [];
        for (let box = word; box && box.tagName !== "MAIN"; box = box.parentElement)
            path.push(`${box.tagName}.${box.className} ${box.getAttribute("style") || ""}`);
        return path.join(" > ");
    };
    for (const word of [...document.querySelectorAll("main .highlight pre span:not(:has(*))")]) {
        const found = kind(word);
        if (seen.has(found)) word.replaceWith(...word.childNodes);
        seen.add(found);
    }
    document.querySelectorAll("main .highlight pre").forEach(code => code.normalize());
    return seen.size;
}"""

LOOKS = [(1280, "light"), (390, "dark")], [(1280, "dark"), (390, "light")]


def faults_in(tab, looks) -> dict[str, list[str]]:
    """Return what axe finds in a page, and in which of the looks (width, theme) it finds it."""
    found = {}
    for width, theme in looks:
        tab.set_viewport_size({"width": width, "height": 900})
        tab.wait_for_timeout(400)  # the theme waits before it finds out which boxes scroll now
        tab.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        for fault in tab.evaluate(FAULTS):
            found.setdefault(fault, []).append(f"{theme} at {width}")
    return found


@pytest.fixture
def open_for_axe(open_page, url):
    """Open a page of the book with axe in it, and without fading colours."""

    def open_one(page: str):
        tab = open_page(f"{url}{page}.html", reduced_motion="reduce")
        tab.evaluate("window.MathJax?.startup?.promise")
        tab.add_style_tag(
            content="* { transition: none !important }"
        )  # axe reads colours half-way through a fade
        tab.add_script_tag(path=AXE)
        return tab

    return open_one


def told(found: dict[str, list[str]]) -> str:
    return "\n".join(f"{fault}\n    in {', '.join(places)}" for fault, places in found.items())


@pytest.mark.parametrize("page", [page for page in PAGES if page not in MORE_SETS])
def test_axe_finds_no_serious_fault(open_for_axe, page):
    tab = open_for_axe(page)
    tab.evaluate(EACH_COLOUR_ONCE)
    found = faults_in(tab, LOOKS[0])
    assert not found, told(found)


@pytest.mark.slow
@pytest.mark.parametrize("looks", LOOKS, ids=lambda looks: f"{looks[0][1]} first")
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_no_serious_fault_in_the_whole_page(open_for_axe, page, looks):
    found = faults_in(open_for_axe(page), looks)
    assert not found, told(found)


def test_a_colour_that_is_hard_to_read_is_found_where_each_stands_once(open_for_axe):
    """What is left of a page's highlighted code still shows each of its colours to axe."""
    page = next(page for page in PAGES if page.startswith("notebooks/"))
    tab = open_for_axe(page)
    words = "() => document.querySelectorAll('main .highlight pre span').length"
    before = tab.evaluate(words)
    # The last word of a class that the page has more than once, in a colour of its own.
    tab.evaluate("""() => {
        const words = [...document.querySelectorAll("main .highlight pre span.n")];
        words.at(-1).style.color = "#808080";
        words.at(-1).style.background = "#888888";
    }""")
    assert 0 < tab.evaluate(EACH_COLOUR_ONCE) <= tab.evaluate(words) < before / 4
    assert any("color-contrast" in fault for fault in faults_in(tab, LOOKS[0][:1]))


@pytest.mark.parametrize("control", ["menu", "search", "contents"])
def test_axe_finds_no_serious_fault_in_what_opens_on_a_phone(open_page, url, control):
    opener = {"menu": ".primary-toggle", "search": ".search-button__button", "contents": ".secondary-toggle"}[
        control
    ]
    tab = open_page(f"{url}chapters/glossary.html", width=390, reduced_motion="reduce")
    if not tab.locator(f"{opener}:visible").count():
        tab.goto(f"{url}{next(page for page in PAGES if page.startswith('chapters/'))}.html")
    tab.locator(f"{opener}:visible").first.click()
    tab.add_script_tag(path=AXE)
    for theme in ("light", "dark"):
        tab.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        tab.wait_for_timeout(300)  # the panel slides in, and colours fade
        assert tab.evaluate(FAULTS) == []
