"""Running the cells of live pages in the tests: the bar below a cell, its buttons, and what a reader sees in it."""

import re
from functools import cache

from playwright.sync_api import Locator, Page, expect

from authoring import notebooks
from authoring.solutions import Part, WrongAnswer, read_set
from book.live import cells, pages
from tests.site.reading import ROOT, WRITTEN, source

PATIENCE = 200_000  # milliseconds: other tests take the processor at the same time
expect.set_options(timeout=60_000)
ENDED = re.compile(r"Done in|Ended with an error|Not run|Python ended")
# What brings live cells into a chapter.
SHOWN = re.compile(r"^```\{(?:notebook-cell\} (?:\.\./)?(?P<notebook>\S+)\.ipynb|check-report\})", re.M)


def live_pages() -> list[str]:
    """Return the pages with live cells, from their sources."""
    found = []
    for page in WRITTEN:
        shown = SHOWN.finditer((ROOT / source(page)).read_text(encoding="utf-8"))
        has = any(not each["notebook"] or pages.is_live(each["notebook"]) for each in shown)
        if pages.is_live(page) or (has and source(page).suffix == ".md"):
            found.append(page)
    return found


def bar(tab: Page, cell: str) -> Locator:
    """Return the bar below a cell, or below a block that shows several cells: their ids with spaces between."""
    return tab.locator(f'.h2d-live[data-cells="{cell}"]')


def status(tab: Page, cell: str) -> Locator:
    return bar(tab, cell).locator(".h2d-live-status")


def result(tab: Page, cell: str) -> Locator:
    return bar(tab, cell).locator(".h2d-live-result")


def button(tab: Page, cell: str, name: str) -> Locator:
    return bar(tab, cell).get_by_role("button", name=name)


def run(tab: Page, cell: str, ends: str = "Done in") -> str:
    """Press Run, wait for the end, and return the text that the reader sees as the result."""
    button(tab, cell, "Run").click()
    expect(status(tab, cell)).to_contain_text(ends, timeout=PATIENCE)
    return result(tab, cell).inner_text()


def edit(tab: Page, cell: str) -> Locator:
    """Press Edit unless that is done, and return what the reader writes in, once the editor is here."""
    pressed = button(tab, cell, "Edit")
    if pressed.is_visible():
        pressed.click()
    editor = bar(tab, cell).locator(".cm-content")
    expect(editor).to_be_visible(timeout=PATIENCE)
    return editor


def write(tab: Page, cell: str, text: str) -> None:
    """Replace a cell's code."""
    edit(tab, cell).fill(text)


def written(tab: Page, cell: str) -> str:
    """Return a cell's code as its editor shows it."""
    return "\n".join(bar(tab, cell).locator(".cm-line").all_inner_texts())


@cache
def wrong_answers(name: str) -> list[tuple[Part, WrongAnswer]]:
    """Return the wrong answers of a set that a page can judge, each with its exercise."""
    found = read_set(notebooks.read(ROOT / "solutions" / f"{name}.ipynb"), f"solutions/{name}.ipynb")
    return [(part, wrong) for part in found for wrong in part.wrong if part.number not in cells.UNCHECKED]


def without_its_hint(tab: Page, part: Part, wrong: WrongAnswer) -> str:
    """Write a wrong answer into its page and ask for the verdict; return what is amiss, "" if the hint is there."""
    for cell, code in part.replaced(wrong.code).items():
        write(tab, cell, code)
    said = " ".join(run(tab, part.answer.id).split())
    if f"{part.number} is not right yet" in said and wrong.says in said:
        return ""
    return f"{part.number} {wrong.title}: {said[:500]}\nand not {wrong.says}"
