"""The pages on the check: each kind of finding has its example, and each example does what the page says of it."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from book.checks import directive as check_reports
from book.checks.directive import CheckPageError, cells_of
from host_to_device.checking import check
from host_to_device.checking.report import ADVICE

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "book" / "checks" / "examples").glob("*.py"))
PAGES = {
    name: (ROOT / "chapters" / f"{name}.md").read_text(encoding="utf-8") for name in ("check", "check-rule")
}
# Held to by the tests alone: what the page on the rule says in words.
NOT_SHOWN = {"limits"}


def shown(page: str) -> list[tuple[str, str]]:
    """Return the file and the cell of everything that a page shows; "" for all cells."""
    found = []
    for name, cells in re.findall(r"^```\{check-report\} ([\w-]+)(.*)$", PAGES[page], re.M):
        found += [(name.replace("-", "_"), cell) for cell in cells.split() or [""]]
    return found


def run(text: str, tmp_path: Path) -> dict:
    path = tmp_path / "example.py"
    path.write_text(HEAD + text, encoding="utf-8")
    return cells_of(path)


HEAD = """\
import numpy as np
import host_to_device as h2d
from host_to_device.standins import numba_cuda as cuda

x = np.arange(4.0)
one = np.zeros(1)


@cuda.jit
def last_word(x, one):
    one[0] = x[cuda.grid(1)]


@cuda.jit
def double(x, one):
    x[cuda.grid(1)] *= 2
"""

# --- The examples ----------------------------------------------------------------------------------------------


def test_there_are_examples():
    assert len(FILES) > 10


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_finds_what_it_says_and_its_repair_is_clean(path):
    cells = cells_of(path)  # raises where a report is not the one that is declared
    if "wrong" in cells:
        assert cells["wrong"].finding and "repaired" in cells
    for cell in cells.values():
        lines = path.read_text(encoding="utf-8").splitlines()
        text = cell.text.splitlines()
        assert lines[cell.first_line - 1 : cell.first_line - 1 + len(text)] == text
        for finding in cell.report.findings:
            assert set(finding.lines) <= set(range(cell.first_line, cell.first_line + len(text)))
        if cell.name == "repaired":
            assert "\n" not in str(cell.report)


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.stem not in NOT_SHOWN], ids=lambda path: path.stem
)
def test_an_example_fits_a_page(path):
    for cell in cells_of(path).values():
        assert len(cell.text.splitlines()) <= 16
        assert max(map(len, cell.text.splitlines())) <= 80


def test_every_example_is_shown():
    named = {name for page in PAGES for name, _ in shown(page)}
    assert named == {path.stem for path in FILES} - NOT_SHOWN


# --- The pages -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ADVICE)
def test_every_kind_has_its_section_with_a_report_and_a_repair(kind):
    section = re.search(rf"^## {kind}$(.*?)(?=^## |\Z)", PAGES["check"], re.M | re.S | re.I)
    assert section, f"chapters/check.md has no section on {kind}"
    examples = re.findall(r"^```\{check-report\} ([\w-]+) (.+)$", section[1], re.M)
    cells = {
        (name, cell): cells_of(ROOT / "book" / "checks" / "examples" / f"{name.replace('-', '_')}.py")[cell]
        for name, part in examples
        for cell in part.split()
    }
    assert kind in {cell.finding for cell in cells.values()}
    assert {cell.finding for cell in cells.values()} == {kind, ""}, "a section shows its kind and repairs"
    for name, cell in list(cells):
        if cell == "wrong":
            assert (name, "repaired") in cells


def test_both_memories_and_all_pairs_of_accesses_are_among_the_races():
    findings = [
        finding
        for name, cell in shown("check")
        if cell == "wrong"
        for finding in cells_of(ROOT / "book" / "checks" / "examples" / f"{name}.py")[cell].report.findings
        if finding.kind == "race"
    ]
    assert {finding.space for finding in findings} == {"shared", "global"}
    assert {finding.pair for finding in findings} == {"read/write", "write/write", "atomic/plain"}


def test_every_option_is_in_the_table():
    table = re.search(r"^## Options$(.*?)(?=^## |\Z)", PAGES["check"], re.M | re.S)[1]
    named = re.findall(r"^\* - `(\w+)=", table, re.M)
    options = [
        name for name, each in inspect.signature(check).parameters.items() if each.kind is each.KEYWORD_ONLY
    ]
    assert sorted(named) == sorted(options)


def test_the_defaults_in_the_table_are_the_defaults():
    defaults = {name: each.default for name, each in inspect.signature(check).parameters.items()}
    table = re.search(r"^## Options$(.*?)(?=^## |\Z)", PAGES["check"], re.M | re.S)[1]
    for name in ("schedules", "seconds", "accesses"):
        assert float(re.search(rf"`{name}=([\d_]+)`", table)[1]) == defaults[name]
    assert f'`capability="{defaults["capability"]}"`' in table


# --- The directive ---------------------------------------------------------------------------------------------

WRONG_FILES = {
    "a wrong kernel that is not found": (
        "# %% wrong: race\nh2d.check(double)[1, 4](x, one)\n",
        "example.py, cell 'wrong': the check has to find race, and it finds nothing",
    ),
    "a repair that is wrong": (
        "# %% repaired\nh2d.check(last_word)[1, 4](x, one)\n",
        "example.py, cell 'repaired': the check has to find nothing, and it finds race",
    ),
    "another kind": (
        "# %% wrong: out of bounds\nh2d.check(last_word)[1, 4](x, one)\n",
        "the check has to find out of bounds, and it finds race",
    ),
    "one kind too many": (
        "# %% wrong: race\nh2d.check(last_word)[2, 4](x, one)\n",
        "the check has to find race, and it finds out of bounds, race",
    ),
    "a kind that does not exist": (
        "# %% wrong: rase\nh2d.check(last_word)[1, 4](x, one)\n",
        "'rase' is no kind of finding",
    ),
    "no cell": ("h2d.check(double)[1, 4](x, one)\n", "example.py: there is no cell"),
    "no check": ("# %% repaired\ny = 1\n", "its last line has to be the check"),
    "no report": ("# %% repaired\nlen(x)\n", "its last line gives int, and no report"),
    "a cell twice": (
        "# %% a\nh2d.check(double)[1, 4](x, one)\n# %% a\nh2d.check(double)[1, 4](x, one)\n",
        "two cells of this name",
    ),
    "an error": ("# %% a\nh2d.check(double)[1, 4](y, one)\n", "example.py, cell 'a': NameError: "),
    "no Python": ("# %% a\nh2d.check(\n", "example.py, line "),
}


@pytest.mark.parametrize("name", WRONG_FILES)
def test_a_wrong_file_stops_the_build_with_one_line(name, tmp_path):
    text, said = WRONG_FILES[name]
    with pytest.raises(CheckPageError) as stopped:
        run(text, tmp_path)
    assert said in str(stopped.value) and "\n" not in str(stopped.value)


def test_a_right_file_gives_its_cells(tmp_path):
    cells = run(
        "# %% wrong: race\nh2d.check(last_word)[1, 4](x, one)\n\n# %% repaired\n# why\nh2d.check(double)[1, 4](x, one)\n",
        tmp_path,
    )
    assert list(cells) == ["wrong", "repaired"]
    assert cells["repaired"].text == "# why\nh2d.check(double)[1, 4](x, one)"
    assert cells["repaired"].first_line == HEAD.count("\n") + 5


def test_a_file_that_has_changed_is_run_again(tmp_path):
    run("# %% a\nh2d.check(double)[1, 4](x, one)\n", tmp_path)
    os.utime(tmp_path / "example.py", ns=(0, 0))
    assert list(run("# %% b\nh2d.check(double)[1, 4](x, one)\n", tmp_path)) == ["b"]


def build(tmp_path: Path, directive: str) -> tuple[str, str]:
    """Build a page that holds one directive; return its HTML and the warnings."""
    page, out = tmp_path / "page", tmp_path / "out"
    page.mkdir()
    (page / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nextensions = ['book.checks.directive']\n"
    )
    (page / "index.rst").write_text(f"A page\n======\n\n.. check-report:: {directive}\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", page, out]
    done = subprocess.run(command, capture_output=True, text=True)
    return (out / "index.html").read_text(encoding="utf-8"), done.stderr


def test_the_directive_shows_code_with_its_line_numbers_and_the_report(tmp_path):
    html, warnings = build(tmp_path, "race-global wrong repaired")
    assert warnings == ""
    path = ROOT / "book" / "checks" / "examples" / "race_global.py"
    cells = cells_of(path)
    for cell in cells.values():
        assert f'<span class="linenos">{cell.first_line}</span>' in html
    text = re.sub(r"<[^>]*>", "", html)
    for sentence in (cells["wrong"].report.findings[0].advice, "1 error", "no errors found"):
        assert sentence in text
    assert '<span class="source">       17 | counts[x[i]] += 1</span>' in html


@pytest.mark.parametrize(
    ("directive", "said"),
    [
        ("rase-global", "there is no rase_global.py in book/checks/examples"),
        ("race-global mended", "race_global.py has no cell 'mended'"),
    ],
)
def test_the_directive_says_what_it_does_not_find(tmp_path, directive, said):
    _, warnings = build(tmp_path, directive)
    assert f"check-report: {said}" in warnings


WITHOUT_NUMBA = """
import importlib.machinery, sys
find = importlib.machinery.PathFinder.find_spec.__func__
@classmethod
def find_spec(cls, name, *rest):
    return None if name.split(".")[0] in ("numba", "llvmlite", "torch", "ipywidgets") else find(cls, name, *rest)
importlib.machinery.PathFinder.find_spec = find_spec
from pathlib import Path
from book.checks.directive import cells_of
for path in map(Path, sys.argv[1:]):
    print(path.stem, *cells_of(path))
assert "numba" not in sys.modules
"""


@pytest.mark.slow
def test_the_examples_run_where_the_book_alone_is_installed():
    """The environment that builds the book has no Numba."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMBA, *FILES], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(done.stdout.splitlines()) == len(FILES)


def test_a_report_wraps_its_sentences_and_keeps_its_lines_of_code():
    html = check_reports.printed_html(
        "check of f: 1 error\n\n1. race: a < b\n       7 | a[i] = b\n   Do this."
    )
    assert '<span class="said" style="padding-left: 3ch; text-indent: -3ch">1. race: a &lt; b</span>' in html
    assert '<span class="source">       7 | a[i] = b</span>' in html
    assert '<span class="said" style="padding-left: 3ch; text-indent: 0ch">Do this.</span>' in html
