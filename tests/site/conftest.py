"""The built site for the tests: built once, served on a free port, and opened in the browser of this machine."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from tests.site.reading import SITE  # noqa: E402
from tools import serve  # noqa: E402

# The flags that let Chromium run as root and in a container, and keep it from talking to anybody. Every name
# but ours resolves to nothing: a page that asks another host for something fails, and the tests see it.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]
COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
USUAL_PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
NO_BROWSER = (
    "no browser for the site's tests: install Chromium or Google Chrome (Debian, Ubuntu: sudo apt install chromium), "
    "run .venv/bin/playwright install chromium, or name one in H2D_BROWSER"
)


def find_browser(playwright_browser: str = "") -> str | None:
    """Return the program to open pages with: H2D_BROWSER, one on the PATH, Playwright's own, or a usual place."""
    named = os.environ.get("H2D_BROWSER")
    if named:
        return shutil.which(named)
    on_path = filter(None, map(shutil.which, COMMANDS))
    installed = (place for place in (playwright_browser, *USUAL_PLACES) if place and Path(place).exists())
    return next(on_path, None) or next(installed, None)


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site, built once in a test run by the command behind `make book`."""
    SITE.parent.mkdir(exist_ok=True)
    built_by = SITE.parent / "built-by"
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"process {os.getpid()}")
    with FileLock(SITE.parent / "build.lock"):
        if not built_by.exists() or built_by.read_text() != run:
            built_by.unlink(missing_ok=True)
            build = subprocess.run(
                [sys.executable, ROOT / "tools" / "build_book.py"], capture_output=True, text=True, cwd=ROOT
            )
            if build.returncode:
                pytest.fail(
                    f"the book does not build:\n{(build.stdout + build.stderr)[-6000:]}", pytrace=False
                )
            built_by.write_text(run)
    return SITE


@pytest.fixture(scope="session")
def url(site):
    """The address of the built site, with a slash at its end."""
    with serve.server(0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


def stop_without_a_browser():
    """Skip the test with the way to a browser; in CI, where a skipped test would go unnoticed, fail it."""
    if os.environ.get("CI"):
        pytest.fail(NO_BROWSER, pytrace=False)
    pytest.skip(NO_BROWSER)


@pytest.fixture(scope="session")
def launched():
    """Start a browser with more flags than ours: `launched("--flag")`. Playwright runs once in a process."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        program = find_browser(playwright.chromium.executable_path) or stop_without_a_browser()
        browsers = []

        def launch(*flags: str):
            browsers.append(playwright.chromium.launch(executable_path=program, args=[*FLAGS, *flags]))
            return browsers[-1]

        yield launch
        for browser in browsers:
            browser.close()


@pytest.fixture(scope="session")
def chromium(launched):
    """One browser for all tests of a process."""
    return launched()


@pytest.fixture(scope="session")
def chromium_with_webgpu(launched):
    """A browser whose WebGPU computes on the CPU, for all tests of a process."""
    return launched("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader")


@pytest.fixture(scope="session")
def profiles(chromium):
    """A browser profile with scripts and one without, each with a tab: a page in a new tab takes three times as long."""
    profiles = {scripts: chromium.new_context(java_script_enabled=scripts) for scripts in (True, False)}
    for profile in profiles.values():
        profile.new_page()
    yield profiles
    for profile in profiles.values():
        profile.close()


@pytest.fixture(scope="module")
def opened(request, profiles, url):
    """The page that a file of tests names as `PAGE`, opened once for all of them."""
    page = profiles[True].new_page()
    page.goto(url + request.module.PAGE)
    yield page
    page.close()


@pytest.fixture
def open_tab(profiles):
    """Open an address in the one tab of a profile, for a test that stores nothing: `open_tab(address, width=390)`.

    With `still`, the page is told that the reader wants no motion.
    """

    def open_one(address: str, width=1280, height=800, scripts=True, still=False):
        tab = profiles[scripts].pages[0]
        tab.set_default_timeout(20_000)
        tab.set_viewport_size({"width": width, "height": height})
        tab.emulate_media(media="null", reduced_motion="reduce" if still else "null")
        tab.goto(address)
        return tab

    return open_one


@pytest.fixture
def open_page(chromium):
    """Open an address in a fresh browser profile: `open_page(address, width=390, …)` returns Playwright's page."""
    contexts = []

    def open_one(address: str, width: int = 1280, height: int = 800, **options):
        contexts.append(chromium.new_context(viewport={"width": width, "height": height}, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(60_000)  # other tests take the processor at the same time
        page.goto(address)
        return page

    yield open_one
    for context in contexts:
        context.close()
