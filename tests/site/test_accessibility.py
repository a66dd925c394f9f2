"""axe-core finds no serious fault on any page: in light and in dark, on a desktop and on a phone."""

import pytest

from tests.site.reading import MORE_SETS, PAGES, ROOT

pytestmark = [pytest.mark.site, pytest.mark.browser]

AXE = ROOT / "book" / "node_modules" / "axe-core" / "axe.min.js"

FAULTS = """async () => (await axe.run(document, {resultTypes: ["violations"], preload: false})).violations
    .filter(fault => ["serious", "critical"].includes(fault.impact))
    .map(fault => `${fault.impact} ${fault.id}: ` + fault.nodes.slice(0, 4)
        .map(node => node.html.slice(0, 160) + " | " + (node.any[0] || node.all[0] || node.none[0] || {}).message)
        .join("\\n    "))"""


LOOKS = [(1280, "light"), (390, "dark")], [(1280, "dark"), (390, "light")]


def looked_at():
    """Return each page with each theme and width; with every commit each of them once."""
    found = []
    for page in PAGES:
        for looks in LOOKS:
            slow = page in MORE_SETS or looks is not LOOKS[0]
            name = f"{page}-{looks[0][1]} first"
            found.append(pytest.param(page, looks, id=name, marks=[pytest.mark.slow] * slow))
    return found


@pytest.mark.parametrize(("page", "looks"), looked_at())
def test_axe_finds_no_serious_fault(open_page, url, page, looks):
    tab = open_page(f"{url}{page}.html", reduced_motion="reduce")
    tab.evaluate("window.MathJax?.startup?.promise")
    tab.add_style_tag(
        content="* { transition: none !important }"
    )  # axe reads colours half-way through a fade
    tab.add_script_tag(path=AXE)
    found = {}
    for width, theme in looks:
        tab.set_viewport_size({"width": width, "height": 900})
        tab.wait_for_timeout(400)  # the theme waits before it finds out which boxes scroll now
        tab.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
        for fault in tab.evaluate(FAULTS):
            found.setdefault(fault, []).append(f"{theme} at {width}")
    assert not found, "\n".join(f"{fault}\n    in {', '.join(places)}" for fault, places in found.items())


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
