"""Draw `_static/social-preview.png`, the picture that a link to the book shows, from `_static/cover.svg`.

Run it after a change to the cover: `.venv/bin/python tools/social_preview.py`. It needs a Chromium or Chrome.
"""

import shutil
from pathlib import Path

from playwright.sync_api import sync_playwright

STATIC = Path(__file__).resolve().parent.parent / "_static"
WIDTH, HEIGHT = 1200, 630  # the size that Open Graph and GitHub ask for
LIMIT = 150_000  # bytes, so that the repository stays small

PAGE = """<!doctype html><style>
body { margin: 0; background: #14181e; color: #e8e8e8; font-family: "Liberation Sans", Arial, Helvetica, sans-serif }
svg { display: block; width: 1200px; height: 420px }
h1 { margin: 14px 40px 0; font-size: 80px; line-height: 1; letter-spacing: -1px }
p { margin: 24px 40px 0; font-size: 36px; line-height: 1; color: #c4c8cd }
</style>
%s
<h1>Host to Device</h1>
<p>Learn GPU computing from Python, on the computer you have.</p>
"""


def browser_path() -> str | None:
    """Return a Chromium or Chrome of this machine; None leaves the choice to Playwright."""
    names = ["chromium", "chromium-browser", "google-chrome", "chrome"]
    return next(filter(None, map(shutil.which, names)), None)


def draw(target: Path = STATIC / "social-preview.png") -> None:
    """Render the page and write it to `target`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path(), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="dark")
        page.set_content(PAGE % (STATIC / "cover.svg").read_text(encoding="utf-8"))
        page.screenshot(path=target)
        browser.close()
    size = target.stat().st_size
    if size > LIMIT:
        raise SystemExit(f"{target.name} has {size} bytes; {LIMIT} are allowed")
    print(f"{target.name}: {WIDTH}×{HEIGHT}, {size} bytes")


if __name__ == "__main__":
    draw()
