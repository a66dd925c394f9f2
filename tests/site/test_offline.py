"""The zip of the site, unpacked and opened from the disk, with no server."""

import zipfile

import pytest

from tests.site.reading import PAGES, WRITTEN, read

pytestmark = [pytest.mark.site, pytest.mark.browser]


@pytest.fixture(scope="module")
def unpacked(site, tmp_path_factory):
    folder = tmp_path_factory.mktemp("offline")
    with zipfile.ZipFile(site / "host-to-device-offline.zip") as archive:
        archive.extractall(folder)
    return folder / "host-to-device"


def test_it_holds_every_page(unpacked, site):
    for page in PAGES:
        assert (unpacked / f"{page}.html").read_bytes() == (site / f"{page}.html").read_bytes()


@pytest.mark.parametrize("page", ["index", next(page for page in WRITTEN if page.startswith("chapters/"))])
def test_it_opens_from_the_disk(chromium, unpacked, site, page):
    context = chromium.new_context()
    tab, faults = context.new_page(), []
    tab.on("console", lambda said: said.type in ("error", "warning") and faults.append(said.text))
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("requestfailed", lambda request: faults.append(f"no answer: {request.url}"))
    tab.goto((unpacked / f"{page}.html").as_uri())
    tab.evaluate("window.MathJax?.startup?.promise")
    tab.wait_for_load_state("networkidle")
    assert faults == []
    assert tab.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--h2d-ink')").strip()
    assert tab.locator("mjx-container").count() == len(read(page).select(".math"))
    context.close()


def test_its_search_works(open_tab, unpacked):
    tab = open_tab((unpacked / "search.html").as_uri() + "?q=device")
    tab.locator("#search-results li a").first.wait_for()
