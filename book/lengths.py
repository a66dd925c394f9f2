"""How long a lesson is: words of prose, cells of a notebook, and the minutes that follow from them.

The rule, in minutes: words of the chapter ÷ 150 to read; words of the notebook's core ÷ 150 and a third of a minute
for each of its code cells to run; the sum of what the exercises' headings say. 150 words a minute is a careful
reader of technical text in a second language. Each sum is rounded up to 5 minutes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from authoring.solutions import HEADING

WORDS_A_MINUTE = 150
MINUTES_A_CODE_CELL = 1 / 3
STEP = 5  # minutes that a sum is rounded up to

# What is no prose of a chapter, with what takes its place.
NO_PROSE = (
    (r"(?s)\A---\n.*?^---\n", ""),  # front matter
    (r"(?s)^(:{3,}|`{3,})\{list-table\}.*?^\1\s*$", ""),
    (r"^\|.*\|\s*$", ""),
    (r"(?s)^([ \t]*)```.*?^\1```[ \t]*$", ""),
    (r"(?s)^\$\$.*?^\$\$\s*$", ""),
    (r"^:[\w-]+:.*$", ""),  # options of directives, alternative texts among them
    (r"^\([\w-]+\)=$", ""),
    (r"^:{3,}\{drawing\}.*$", ""),
    (r"^:{3,}(\{[\w-]+\})?", ""),  # of other directives the title stays
    (r"\{cite(:t)?\}`[^`]*`", ""),
    (r"\{measured\}`[^`]*`", "number unit"),  # what stands on the page in its place
    (r"\{[\w-]+\}`([^`<]*?)(\s*<[^`>]*>)?`", r"\1"),  # of a reference, its words
    (r"\]\([^)]*\)", "]"),
)


def words(text: str) -> int:
    """Return how many words of prose a Markdown text has: without code, tables, formulas and alternative texts."""
    for pattern, instead in NO_PROSE:
        text = re.sub(pattern, instead, text, flags=re.M)
    return len(re.findall(r"\S*\w\S*", text))


def core(cells: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Return a notebook's cells without its optional sections: those whose heading begins with "Optional"."""
    kept, optional = [], 0
    for cell in cells:
        if cell.cell_type == "markdown" and (heading := re.match(r"(#+) (Optional)?", cell.source)):
            level = len(heading[1])
            if optional and level <= optional:
                optional = 0
            if heading[2] and not optional:
                optional = level
        if not optional:
            kept.append(cell)
    return kept


@dataclass(frozen=True)
class Minutes:
    """How long a lesson takes: to read its chapter, to run its notebook, to do its exercises."""

    read: int
    run: int
    exercises: int

    def __str__(self) -> str:
        return f"Read {self.read} · Run {self.run} · Exercises {self.exercises}"


def rounded(minutes: float) -> int:
    return STEP * math.ceil(minutes / STEP)


def minutes(chapter: Path, notebook: Path, exercises: Path) -> Minutes:
    """Return the minutes of a lesson by the rule above; a file that is not there takes none."""
    reading = words(chapter.read_text(encoding="utf-8")) / WORDS_A_MINUTE
    running = doing = 0.0
    if notebook.exists():
        cells = core(nbformat.read(notebook, as_version=4).cells)
        running = sum(words(cell.source) for cell in cells if cell.cell_type == "markdown") / WORDS_A_MINUTE
        running += MINUTES_A_CODE_CELL * sum(cell.cell_type == "code" for cell in cells)
    if exercises.exists():
        cells = nbformat.read(exercises, as_version=4).cells
        headings = (HEADING.match(cell.source) for cell in cells if cell.cell_type == "markdown")
        doing = sum(int(heading[3]) for heading in headings if heading)
    return Minutes(rounded(reading), rounded(running), rounded(doing))
