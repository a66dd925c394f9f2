"""The built pages, read without a browser: links, Colab, previews, alternative text, no third parties."""

import re
import zipfile
from collections import Counter
from urllib.parse import urljoin, urlsplit

import pytest

from book import address, lessons
from tests.site.reading import CHAPTERS, HOST, NOTEBOOKS, PAGES, ROOT, WRITTEN, fault, links, read, resources

pytestmark = [pytest.mark.site, pytest.mark.usefixtures("site")]

WHERE = address.read()
COLAB = "https://colab.research.google.com/"


def test_the_book_has_pages():
    assert WRITTEN and NOTEBOOKS and CHAPTERS
    assert {f"chapters/{lesson.slug}" for lesson in lessons.read_all()} == set(CHAPTERS), (
        "a chapter is missing from _toc.yml"
    )


def test_every_built_page_is_tested(site):
    built = {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")}
    assert {page for page in built if not page.startswith("_")} == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_links_inside_the_book_hold(page):
    inside = [link for link in links(page) if link.startswith(HOST)]
    assert inside, "a page without a link is a dead end"
    assert [problem for link in sorted(set(inside)) if (problem := fault(link, WHERE.site_path))] == []


def test_links_of_the_404_page_hold_wherever_it_is_shown():
    tags = [(tag, "href") for tag in read("404").select("a[href], link[href]")]
    tags += [(tag, "src") for tag in read("404").select("script[src], img[src]")] + [
        (tag, "action") for tag in read("404").select("form[action]")
    ]
    relative = [tag[name] for tag, name in tags if not re.match(r"https://|/|#", tag[name])]
    assert relative == [], "only absolute links work at every depth"
    ours = [tag[name] for tag, name in tags if tag[name].startswith("/")]
    assert ours and all(link.startswith(WHERE.site_path) for link in ours)
    assert [problem for link in ours if (problem := fault(HOST.rstrip("/") + link, WHERE.site_path))] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_out_of_the_book_are_well_formed(page):
    outside = [link for link in links(page) if not link.startswith((HOST, "mailto:"))]
    bad = [
        link for link in outside if not re.fullmatch(r"https://[\w.-]+\.[a-z]{2,}(:\d+)?(/[^\s<>\"]*)?", link)
    ]
    assert bad == []


@pytest.mark.parametrize("page", PAGES)
def test_a_link_into_the_repository_names_ours_and_a_file_that_exists(page):
    files = [link for link in links(page) if re.match(re.escape(WHERE.url) + r"/(blob|edit|tree|raw)/", link)]
    for link in files:
        _, branch, path = link.removeprefix(WHERE.url + "/").split("/", 2)
        assert branch == WHERE.branch and (ROOT / path.split("#")[0]).exists(), link


@pytest.mark.parametrize("page", PAGES)
def test_links_to_colab_open_notebooks_that_exist(page):
    for link in links(page):
        if link.startswith(COLAB + "github/"):
            path = link.removeprefix(WHERE.colab(""))
            assert link == WHERE.colab(path) and path.endswith(".ipynb") and (ROOT / path).is_file(), link


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_a_notebook_has_a_colab_button(page):
    buttons = [a["href"] for a in read(page).select(".article-header-buttons a[href]")]
    assert WHERE.colab(f"{page}.ipynb") in buttons


@pytest.mark.parametrize("page", CHAPTERS)
def test_a_chapter_has_its_bar_of_links(page):
    slug = page.split("/")[1]
    bar = [a["href"] for a in read(page).select(".lesson-bar a[href]")]
    assert {WHERE.colab(f"notebooks/{slug}.ipynb"), *WHERE.elsewhere(f"notebooks/{slug}.ipynb").values()} <= {
        *bar
    }
    for folder in ("notebooks", "exercises", "solutions"):
        assert f"../{folder}/{slug}.html" in bar


@pytest.mark.parametrize("page", WRITTEN)
def test_a_page_can_be_edited_and_reported(page):
    buttons = [a["href"] for a in read(page).select(".article-header-buttons a[href]")]
    assert any(link.startswith(f"{WHERE.url}/edit/{WHERE.branch}/{page}.") for link in buttons)
    assert any(link.startswith(f"{WHERE.url}/issues/new") for link in buttons)


def leads_to(page: str, button: str) -> str | None:
    """Return the page that a button of this page leads to, or None where there is no such button."""
    tag = read(page).select_one(button)
    return tag and urljoin(f"{HOST}{page}.html", tag["href"]).removeprefix(HOST).removesuffix(".html")


def test_next_and_previous_lead_through_the_whole_book():
    ways = [(leads_to(page, "a.left-prev"), leads_to(page, "a.right-next")) for page in WRITTEN]
    assert ways == list(zip([None, *WRITTEN[:-1]], [*WRITTEN[1:], None], strict=True))


@pytest.mark.parametrize("page", WRITTEN)
def test_a_page_says_what_a_preview_needs(page, site):
    preview = {tag["property"]: tag["content"] for tag in read(page).select("meta[property^='og:']")}
    canonical = f"{WHERE.site}{page}.html"
    assert read(page).select_one("link[rel=canonical]")["href"] == canonical == preview["og:url"]
    assert preview["og:title"] and len(preview["og:description"]) > 20
    assert preview["og:image"].startswith(WHERE.site) and preview["og:image:alt"]
    assert (site / preview["og:image"].removeprefix(WHERE.site)).is_file()


@pytest.mark.parametrize("lesson", lessons.read_all(), ids=lambda lesson: lesson.slug)
def test_the_preview_of_a_chapter_is_what_it_teaches(lesson):
    description = read(f"chapters/{lesson.slug}").select_one("meta[property='og:description']")["content"]
    assert lesson.teaches[1:] in description


@pytest.mark.parametrize("page", PAGES)
def test_every_picture_says_what_it_shows(page):
    pictures = [*read(page).find_all("img"), *read(page).select("svg[role=img]")]
    for picture in pictures:
        said = (picture.get("alt") or picture.get("aria-label") or "").strip()
        assert said, f"no alternative text: {str(picture)[:200]}"
        assert not re.search(r"\.(png|svg|jpe?g|gif)$|^[\w./-]*/[\w./-]*$", said, re.I), (
            f"a file name: {said}"
        )


@pytest.mark.parametrize("page", PAGES)
def test_an_inline_drawing_is_named_or_hidden(page):
    for svg in read(page).find_all("svg"):
        inside_named = svg.find_parent(["a", "button"]) is not None
        assert svg.get("role") == "img" or svg.get("aria-hidden") == "true" or inside_named, str(svg)[:200]


@pytest.mark.parametrize("page", PAGES)
def test_no_name_stands_twice_on_a_page(page):
    counted = Counter(tag["id"] for tag in read(page).find_all(id=True))
    assert [name for name, times in counted.items() if times > 1] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_nothing_from_elsewhere(page):
    assert [link for link in resources(page) if urlsplit(link).netloc != urlsplit(HOST).netloc] == []


def test_no_file_of_the_site_loads_from_elsewhere(site):
    """Style sheets must not import, and our pages must not name, what a content network serves."""
    imported = re.compile(r"""(?:@import\s+(?:url\()?|url\()\s*["']?(?:https?:)?//""")
    assert [
        path.name for path in site.rglob("*.css") if imported.search(path.read_text(encoding="utf-8"))
    ] == []
    networks = re.compile(r"//(?:cdn\.|cdnjs\.|unpkg\.|[\w.]*jsdelivr|fonts\.google|fonts\.gstatic)")
    for page in PAGES:
        scripts = " ".join(tag.get_text() for tag in read(page).find_all("script"))
        assert not networks.search(scripts), f"{page} names a content network in a script"


def test_the_offline_zip_holds_the_site(site):
    with zipfile.ZipFile(site / "host-to-device-offline.zip") as archive:
        names = set(archive.namelist())
    missing = {f"host-to-device/{page}.html" for page in PAGES} - names
    assert missing == set()
    assert not [name for name in names if name.endswith((".zip", ".map", ".part"))]
