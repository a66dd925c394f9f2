"""The built site, read as files: its pages, and what they link to."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import yaml
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
HOST = "http://book.test/"


def files_of(contents: dict) -> list[str]:
    """Return the files that a table of contents, or a part of it, names."""
    inner = [part for key in ("parts", "chapters", "sections") for part in contents.get(key, [])]
    own = contents.get("root") or contents.get("file")
    return ([own] if own else []) + [name for part in inner for name in files_of(part)]


# The pages that we write, by their source's name, and those that Sphinx makes.
WRITTEN = files_of(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8")))
MADE = ["search", "genindex", "404"]
PAGES = WRITTEN + MADE
# With every commit a browser opens one page of each kind that is built alike, and every page that stands alone; it opens
# the others in `make test-all`.
SAMPLE = {
    "notebooks/": ("notebooks/02-host-and-device", "notebooks/09-copy-cost"),
    "exercises/": ("exercises/02-host-and-device",),
    "solutions/": ("solutions/02-host-and-device",),
}
MORE = [
    page
    for page in WRITTEN
    for folder, sample in SAMPLE.items()
    if page.startswith(folder) and page not in sample
]
# Axe takes the longest of all: with every commit it looks at one page of each kind.
LOOKED_AT = [
    "index",
    *(page for page in WRITTEN if page.split("/")[-1] == "02-host-and-device"),
    *("chapters/set-up", "chapters/check", "chapters/glossary", "404", "search"),
]
# The pages among them in the frame (header, menu, contents, footer) that axe looks at on the front page.
FRAMED = [page for page in LOOKED_AT if "/" in page]


def source(page: str) -> Path:
    """Return the file that a page was written in."""
    return next(path for path in (ROOT / f"{page}.ipynb", ROOT / f"{page}.md") if path.exists())


def is_notebook(page: str) -> bool:
    return page in WRITTEN and source(page).suffix == ".ipynb"


NOTEBOOKS = [page for page in WRITTEN if is_notebook(page)]
CHAPTERS = [page for page in WRITTEN if page.startswith("chapters/") and page.split("/")[1][:2].isdigit()]


# A word of highlighted code: it has a colour, and no name, no link and nothing inside. A page of solutions has 27,000.
WORD = re.compile(r'<span(?: class="[a-z]{1,2}[0-9]?")?>([^<>]*)</span>')


@cache
def read(page: str) -> BeautifulSoup:
    """Return a page of the built site, parsed; the words of highlighted code are plain text in it."""
    text = (SITE / f"{page}.html").read_text(encoding="utf-8")
    return BeautifulSoup(WORD.sub(r"\1", text), "html.parser")


@cache
def anchors(path: Path) -> set[str]:
    """Return the places in a built page that a link can point at."""
    page = read(path.relative_to(SITE).with_suffix("").as_posix())
    return {
        "",
        "top",
        *(tag["id"] for tag in page.find_all(id=True)),
        *(a["name"] for a in page.find_all("a", attrs={"name": True})),
    }


@cache
def links(page: str) -> list[str]:
    """Return where the page's links lead, relative ones resolved against `HOST`."""
    return [urljoin(f"{HOST}{page}.html", a["href"].strip()) for a in read(page).find_all("a", href=True)]


def resources(page: str) -> list[str]:
    """Return the addresses of what a browser loads for the page."""
    loaded = read(page).select(
        "script[src], img[src], iframe[src], source[src], video[src], audio[src], embed[src]"
    )
    linked = read(page).select("link[rel~=stylesheet], link[rel~=icon], link[rel~=preload]")
    addresses = [tag["src"] for tag in loaded] + [tag["href"] for tag in linked]
    return [urljoin(f"{HOST}{page}.html", address) for address in addresses]


def fault(address: str, prefix: str) -> str | None:
    """Return what is wrong with a link inside the site, or None. `prefix` is the site's path on its host."""
    path, fragment = urldefrag(address)
    file = SITE / unquote(urlsplit(path).path).lstrip("/").removeprefix(prefix.lstrip("/"))
    if file.is_dir():
        file /= "index.html"
    if not file.is_file():
        return f"{address}: there is no such file in the built site"
    if file.suffix == ".html" and unquote(fragment) not in anchors(file):
        return f"{address}: that page has no such place"
    return None
