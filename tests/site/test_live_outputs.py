"""Every cell of every live page in a real browser: it runs and shows what the page has stored, or says why it cannot.

Wrong answers of two sets get the hints in the page that the book quotes. `make test` does this for one small page and three
answers, `make test-all` for all of them.
"""

import re
from functools import cache

import nbformat
import pytest
from playwright.sync_api import expect

from authoring import notebooks
from authoring.solutions import Part, WrongAnswer, read_set
from book.live import cells, pages
from tests.sanitized import without_what_differs
from tests.site.bars import ENDED, PATIENCE, bar, live_pages, run, write
from tests.site.reading import ROOT, SITE, WRITTEN

pytestmark = [pytest.mark.site, pytest.mark.browser]

SMALL = "index"
SETS = ("02-host-and-device", "03-kernels-numba")
# Why a cell may show something else than the page has stored, by notebook and cell.
OTHER: dict[tuple[str, str], str] = {}


@pytest.fixture(scope="module", autouse=True)
def live(site):
    """Skip where the book was built without Python for the browser; under CI, such a build has failed."""
    if not (site / "_static" / "live" / "manifest.json").exists():
        pytest.skip("this book was built without Run: NumPy for the browser was not to be had")


@cache
def tags(notebook: str) -> dict[str, list[str]]:
    """Return the tags of a notebook's cells by their ids; a cell of an example of the check promises its report."""
    if notebook.startswith(pages.CHECKS):
        return {each["id"]: ["nbval-check-output"] for each in pages.cells_of(ROOT, notebook)}
    read = nbformat.read(ROOT / f"{notebook}.ipynb", as_version=4).cells
    return {cell.id: cell.metadata.get("tags", []) for cell in read if cell.cell_type == "code"}


def compared(text: str) -> str:
    """Return a text as it is compared: without times and versions, and without the places where it breaks into lines."""
    return " ".join(without_what_differs(text).split())


def test_the_pages_with_live_cells_are_known(site):
    found = [page for page in WRITTEN if 'class="h2d-live"' in (SITE / f"{page}.html").read_text("utf-8")]
    assert found == live_pages()


# What a page shows below a cell before anyone presses Run.
STORED = """box => {
    const texts = [];
    for (let next = box.nextElementSibling; next?.matches(".cell_output, .h2d-output"); next = next.nextElementSibling) {
        const shown = next.cloneNode(true);
        for (const each of shown.querySelectorAll(".h2d-player, style, script, button.copybtn")) each.remove();
        document.body.append(shown);
        texts.push(shown.innerText);
        shown.remove();
    }
    return texts.join("\\n");
}"""


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.slow] * (page != SMALL)) for page in live_pages()]
)
def test_every_cell_of_a_page_runs_or_says_why_not(page, open_page, url):
    tab = open_page(f"{url}{page}.html")
    boxes = tab.locator(".h2d-live")
    expect(boxes.first).to_be_visible()
    faults, ran = [], 0
    for box in boxes.all():
        notebook, ids = box.get_attribute("data-notebook"), box.get_attribute("data-cells").split()
        where = f"{notebook} {ids[-1]}"
        said = box.locator(".h2d-live-status")
        why = box.get_attribute("data-why")
        if why:
            assert said.inner_text() == f"{why} Run it in Colab." and "\n" not in why
            assert box.get_by_role("button").and_(box.locator(":visible")).count() == 0
            link = box.get_by_role("link", name="Run it in Colab")
            assert link.get_attribute("href").startswith("https://colab.research.google.com/")
            continue
        stored = box.evaluate(STORED)
        box.get_by_role("button", name="Run").click()
        expect(said).to_contain_text(ENDED, timeout=PATIENCE)
        seen = box.locator(".h2d-live-result").inner_text()
        ran += 1
        if "raises-exception" not in tags(notebook)[ids[-1]] and not said.inner_text().startswith("Done in"):
            faults.append(f"{where}: {said.inner_text()}: {seen[-300:]}")
        promised = "nbval-check-output" in tags(notebook)[ids[-1]] and stored.strip()
        if promised and (compared(seen) == compared(stored)) == ((notebook, ids[-1]) in OTHER):
            faults.append(f"{where} shows\n{compared(seen)[:600]}\nand not\n{compared(stored)[:600]}")
    assert ran
    assert not faults, f"{len(faults)} of {ran} cells:\n\n" + "\n\n".join(faults)


def test_what_a_page_cannot_run_is_what_needs_something_that_it_lacks():
    """Each reason names something that the cell's own text, or that of a cell before it, has."""
    words = {
        "PyTorch": r"torch|h2d\.device\(",
        "Matplotlib": r"plt|matplotlib",
        "compilers": r"h2d\.(show|compare)",
        "a process of its own": r"h2d\.(in_child|stack|doctor)",
        "a clock": r"h2d\.(time|experiment)",
        "a compiler for CUDA C\+\+": r"(Raw|Elementwise|Reduction)(Kernel|Module)|h2d\.answer",
        "Numba's compiler": r"njit|prange|vectorize|jit|h2d\.answer",
        "subprocess": r"subprocess",
        "multiprocessing": r"multiprocessing",
        "Jupyter's widgets": r"ipywidgets",
    }
    for notebook in pages.notebooks():
        before = ""
        for cell in pages.cells_of(ROOT, notebook):
            before += "\n" + cell["source"]
            if why := cell.get("why"):
                [pattern] = [
                    each for name, each in words.items() if re.search(rf"(needs|one needs) {name}", why)
                ]
                direct = why.startswith("This cell needs")
                assert re.search(pattern, cell["source"] if direct else before), f"{notebook}: {why}"


# -- wrong answers


def each_wrong():
    """Parametrize by the sets, with the wrong answers of each; `make test` takes three of the first set."""
    return pytest.mark.parametrize(
        ("name", "most"),
        [(SETS[0], 3), *(pytest.param(name, None, marks=pytest.mark.slow) for name in SETS)],
        ids=["three", *SETS],
    )


@cache
def wrong_answers(name: str) -> list[tuple[Part, WrongAnswer]]:
    found = read_set(notebooks.read(ROOT / "solutions" / f"{name}.ipynb"), f"solutions/{name}.ipynb")
    return [(part, wrong) for part in found for wrong in part.wrong]


@each_wrong()
def test_a_wrong_answer_gets_in_the_page_the_hint_that_the_book_quotes(name, most, open_page, url):
    tab = open_page(f"{url}exercises/{name}.html")
    answers = [pair for pair in wrong_answers(name) if pair[0].number not in cells.UNCHECKED]
    faults = []
    for part, wrong in answers[:most]:
        for cell, code in part.replaced(wrong.code).items():
            write(tab, cell, code)
        said = " ".join(run(tab, part.answer.id).split())
        if f"{part.number} is not right yet" not in said or wrong.says not in said:
            faults.append(f"{part.number} {wrong.title}: {said[:500]}\nand not {wrong.says}")
    assert len(answers) > 3
    assert not faults, f"{len(faults)} of {len(answers[:most])}:\n\n" + "\n\n".join(faults)
    assert bar(tab, answers[0][0].answer.id).is_visible()
