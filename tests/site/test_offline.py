"""The zip of the site, unpacked and opened from the disk, with no server."""

import re
import subprocess
import sys
import zipfile

import pytest
from playwright.sync_api import expect

from tests.site.bars import run
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


@pytest.fixture(scope="module")
def with_python(site, tmp_path_factory):
    """The zip whose pages can run their cells, unpacked."""
    if not (site / "host-to-device-offline-live.zip").exists():
        pytest.skip("this book was built without Run: NumPy for the browser was not to be had")
    folder = tmp_path_factory.mktemp("offline-live")
    with zipfile.ZipFile(site / "host-to-device-offline-live.zip") as archive:
        archive.extractall(folder)
    return folder / "host-to-device"


def test_opened_as_a_file_a_page_says_where_run_would_stand_how_it_can(open_tab, unpacked):
    tab = open_tab((unpacked / "notebooks" / "02-host-and-device.html").as_uri())
    said = tab.locator(".h2d-live:visible")
    expect(said).to_have_count(1)
    expect(said).to_contain_text("Opened as a file, this page cannot run its cells.")
    expect(said).to_contain_text("python3 serve.py")
    assert tab.get_by_role("button", name="Run", exact=True).count() == 0


@pytest.mark.slow
def test_one_command_serves_the_folder_and_its_pages_run(open_page, with_python):
    command = [sys.executable, with_python / "serve.py", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd="/") as serving:
        try:
            address = re.search(r"http://localhost:\d+", serving.stdout.readline())[0]
            tab = open_page(f"{address}/notebooks/02-host-and-device.html")
            assert "out of bounds" in run(tab, "check-ten")
        finally:
            serving.terminate()
