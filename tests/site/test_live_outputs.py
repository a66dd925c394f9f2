"""Every cell of every live page in a real browser: it runs and shows what the page has stored, or says why it cannot.

Wrong answers of two sets get the hints in the page that the book quotes. `make test` has a sample of both in `test_live.py`.
"""

import re
from functools import cache

import nbformat
import pytest
from playwright.sync_api import expect

from book.live import pages
from tests.sanitized import without_what_differs
from tests.site.bars import ENDED, PATIENCE, live_pages, without_its_hint, wrong_answers
from tests.site.reading import ROOT, SITE, WRITTEN

pytestmark = [pytest.mark.site, pytest.mark.browser]

SETS = ("02-host-and-device", "03-kernels-numba")
# Cells whose numbers depend on which cells have drawn random numbers before them, or on what a thread did until its time
# was up: their words are compared.
RANDOM = {
    ("notebooks/03-kernels-numba", cell) for cell in ("add-up-check", "add-up-run", "life-run", "nearest-run")
} | {("checks/no_progress", "no_progress-wrong")}


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


LISTED = re.compile(
    r"\b\d+\. (?=[a-z -]+: )"
)  # the numbers of findings, which the browser sets where they are a list


def compared(text: str, numbers: bool = True) -> str:
    """Return a text as it is compared: without times and versions, and without white space, which depends on the boxes around it.

    Without `numbers`, each number is replaced by a sign.
    """
    text = "".join(LISTED.sub("", without_what_differs(" ".join(text.split()))).split())
    return text if numbers else re.sub(r"\d[\d,]*(\.\d+)?(e-?\d+)?", "#", text)


def test_the_pages_with_live_cells_are_known(site):
    found = [page for page in WRITTEN if 'class="h2d-live"' in (SITE / f"{page}.html").read_text("utf-8")]
    assert found == live_pages()


# What a page shows below a cell before anyone presses Run.
STORED = """box => {
    const texts = [];
    for (let next = box.nextElementSibling; next?.matches(".cell_output, .h2d-output"); next = next.nextElementSibling) {
        const shown = next.cloneNode(true);
        for (const each of shown.querySelectorAll(".h2d-player, style, script, button.copybtn")) each.remove();
        delete shown.dataset.locked;  // an answer that waits for a prediction
        document.body.append(shown);
        texts.push(shown.innerText);
        shown.remove();
    }
    return texts.join("\\n");
}"""


@pytest.mark.slow
@pytest.mark.parametrize("page", live_pages())
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
            # `inner_text` would be empty for a cell in a closed tab
            assert said.text_content() == f"{why} Run it in Colab." and "\n" not in why
            assert box.get_by_role("button").and_(box.locator(":visible")).count() == 0
            link = box.get_by_role("link", name="Run it in Colab", include_hidden=True)
            assert link.get_attribute("href").startswith("https://colab.research.google.com/")
            continue
        stored = box.evaluate(STORED)
        box.get_by_role("button", name="Run").click()
        expect(said).to_contain_text(ENDED, timeout=PATIENCE)
        seen = box.locator(".h2d-live-result").inner_text()
        ran += 1
        if "raises-exception" not in tags(notebook)[ids[-1]] and not said.inner_text().startswith("Done in"):
            faults.append(f"{where}: {said.inner_text()}: {seen[-300:]}")
        if "nbval-check-output" in tags(notebook)[ids[-1]] and stored.strip():
            shown, wanted = (compared(each, (notebook, ids[-1]) not in RANDOM) for each in (seen, stored))
            if shown != wanted:
                faults.append(f"{where} shows\n{shown[:600]}\nand not\n{wanted[:600]}")
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
        "a compiler for CUDA C\+\+": r"(Raw|Elementwise|Reduction)(Kernel|Module)|fuse|h2d\.answer",
        "Numba's compiler": r"njit|prange|vectorize|jit|h2d\.answer|signatures|cover",
        "subprocess": r"subprocess",
        "multiprocessing": r"multiprocessing",
        "Jupyter's widgets": r"ipywidgets",
    }
    for notebook in pages.notebooks():
        before = ""
        for cell in pages.cells_of(ROOT, notebook):
            before += "\n" + cell["source"]
            if (why := cell.get("why")) and cell["id"] != "precisions-error":
                [pattern] = [
                    each for name, each in words.items() if re.search(rf"(needs|one needs) {name}", why)
                ]
                direct = why.startswith("This cell needs")
                assert re.search(pattern, cell["source"] if direct else before), f"{notebook}: {why}"


# -- wrong answers


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_a_wrong_answer_gets_in_the_page_the_hint_that_the_book_quotes(name, open_page, url):
    tab = open_page(f"{url}exercises/{name}.html")
    answers = wrong_answers(name)
    assert len(answers) > 20
    faults = [found for part, wrong in answers if (found := without_its_hint(tab, part, wrong))]
    assert not faults, f"{len(faults)} of {len(answers)}:\n\n" + "\n\n".join(faults)
