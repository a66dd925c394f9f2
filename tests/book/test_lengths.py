"""How long lessons are: the rule for words, core cells and minutes, and the limits that every lesson keeps."""

from pathlib import Path

import nbformat
import pytest

from book import lengths

ROOT = Path(__file__).resolve().parents[2]

CHAPTER = """\
---
lesson:
  teaches: Words up here are none of the prose.
---

(a-label)=
# Two words

:::{drawing} name
:alt: A picture of eight words that nobody counts here.

Its caption counts
:::

Seen in {ref}`the section <a-label>` and {numref}`fig-a` {cite}`someone2020`, [linked](to/a-page.md).
Took {measured}`an-experiment, series, 1 MiB @ A machine, 2 cores | (not recorded)`.

```python
code = "is not prose"
```

| a | table |
|---|---|

:::{list-table}
* - no prose
:::
"""


def test_words_are_those_of_the_prose():
    counted = "Two words Its caption counts Seen in the section and fig-a linked Took number unit"
    assert lengths.words(CHAPTER) == len(counted.split())


def cell(source, kind="markdown"):
    return nbformat.v4.new_markdown_cell(source) if kind == "markdown" else nbformat.v4.new_code_cell(source)


def test_optional_sections_are_not_core():
    cells = [
        cell(text) for text in ("# Title", "## One", "## Optional: two", "### Within", "text", "## Three")
    ]
    assert [each.source for each in lengths.core(cells)] == ["# Title", "## One", "## Three"]


def test_minutes_follow_from_the_rule(tmp_path):
    chapter, notebook, exercises = (tmp_path / name for name in ("c.md", "n.ipynb", "e.ipynb"))
    chapter.write_text("word " * 751)
    nbformat.write(
        nbformat.v4.new_notebook(cells=[cell("word " * 150), *(cell("1", "code") for _ in range(15))]),
        notebook,
    )
    tasks = [cell("## 99.1 One (2 minutes)\n\nIn 30 minutes?"), cell("## 99.2 Two (10 minutes)")]
    nbformat.write(nbformat.v4.new_notebook(cells=tasks), exercises)
    assert lengths.minutes(chapter, notebook, exercises) == lengths.Minutes(read=10, run=10, exercises=15)
    assert str(lengths.minutes(chapter, notebook, exercises)) == "Read 10 · Run 10 · Exercises 15"


@pytest.mark.parametrize("given, minutes", [(0, 0), (0.1, 5), (5, 5), (5.1, 10)])
def test_minutes_are_rounded_up(given, minutes):
    assert lengths.rounded(given) == minutes


# The rule of every finished lesson, with one exception.
WORDS = {"05-cooperation": 3200}


@pytest.mark.parametrize(
    "chapter", sorted((ROOT / "chapters").glob("[0-9][0-9]-*.md")), ids=lambda path: path.stem
)
def test_a_lesson_keeps_its_length(chapter):
    cells = nbformat.read(ROOT / "notebooks" / f"{chapter.stem}.ipynb", as_version=4).cells
    said = sum(lengths.words(each.source) for each in cells if each.cell_type == "markdown")
    assert lengths.words(chapter.read_text(encoding="utf-8")) <= WORDS.get(chapter.stem, 2800)
    assert said <= 2800
    assert len(lengths.core(cells)) <= 110
