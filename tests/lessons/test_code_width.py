"""Code on a phone: how many lines of a lesson's code are too long to be seen whole at a width of 390 pixels."""

import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "index.md", *sorted((ROOT / "chapters").glob("[0-9][0-9]-*.md"))]

WIDTH = 41  # characters of a line of code that such a phone shows
# How many longer lines a page may show. A number may only fall: lower it when you have broken a line.
LONGER = {
    "01-architecture": 1,  # an assignment that is one character too long
    "02-host-and-device": 2,  # names with units, and the index in words of CUDA C++
    "03-kernels-numba": 13,
    "04-kernels-cupy": 1,  # a line of CuPy's source
    "05-cooperation": 16,  # the tiled product and the shuffles
    "07-cudnn": 9,
    "08-device-placement": 3,
    "13-hip-rocm": 2,  # a converter's output, and what it converts
}


def code_of(page: str, folder: Path) -> list[str]:
    """Return the lines of code that a page shows: its own listings, and the cells of notebooks that it names."""
    lines = []
    for _, kind, names, text in re.findall(
        r"(?ms)^([ \t]*)```([\w{}-]+)[ \t]*([^\n]*)\n(.*?)^\1```[ \t]*$", page
    ):
        if kind == "{notebook-cell}":
            name, *ids = names.split()
            cells = {cell.id: cell for cell in nbformat.read(folder / name, as_version=4).cells}
            lines += [line for cell in ids for line in cells[cell].source.splitlines()]
        elif not kind.startswith("{"):
            lines += text.splitlines()
    return lines


def longer(lines: list[str]) -> list[str]:
    return [line for line in lines if len(line) > WIDTH]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_code_fits_a_phone(path):
    long = longer(code_of(path.read_text(encoding="utf-8"), path.parent))
    assert len(long) <= LONGER.get(path.stem, 0), "\n".join(
        [f"break one of these lines, so that it has at most {WIDTH} characters:", *long]
    )


def test_numbers_are_of_pages():
    assert LONGER.keys() <= {path.stem for path in PAGES} and all(LONGER.values())
    assert sum(len(code_of(path.read_text(encoding="utf-8"), path.parent)) for path in PAGES) > 300


def test_a_long_line_is_counted(tmp_path):
    cell = nbformat.v4.new_code_cell(f"x = 1\n{'y' * 42}", id="long")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "book.ipynb")
    page = f"Text.\n\n```python\n{'a' * 41}\n{'b' * 42}\n```\n\n```{{notebook-cell}} book.ipynb long\n:outputs:\n```\n"
    page += f"\n```{{term-list}}\n{'c' * 50}\n```\n"
    assert longer(code_of(page, tmp_path)) == ["b" * 42, "y" * 42]
