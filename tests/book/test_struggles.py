"""The section "What students find hard": two or three wrong answers of each set, in a page of readable length."""

from collections import Counter
from pathlib import Path

import pytest

from book import lengths, struggles

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / f"{struggles.PAGE}.md"


def test_each_lesson_has_two_or_three_and_the_page_keeps_its_length():
    made = struggles.section(ROOT)
    assert made.count("\n### Lesson ") == len(list((ROOT / "solutions").glob("[0-8][0-9]-*.ipynb"))) == 13
    assert set(Counter(number[:2] for number, _ in struggles.CHOSEN).values()) == {2, 3}
    assert made.count("\n- **") == len(struggles.CHOSEN)
    assert not [
        line for line in made.splitlines() if line.startswith("- ") and len(line.split(". ", 1)[1]) < 25
    ]
    page = PAGE.read_text(encoding="utf-8")
    assert page.count(struggles.MARKER) == 1
    assert lengths.words(page.replace(struggles.MARKER, made)) <= 2800


def test_without_solutions_there_is_no_section(tmp_path):
    assert struggles.section(tmp_path) == ""


def test_a_title_that_is_gone_is_named(monkeypatch):
    monkeypatch.setattr(struggles, "CHOSEN", (("01.a", "No such title"),))
    with pytest.raises(ValueError, match=r"01-architecture.ipynb has no wrong answer '01.a No such title'"):
        struggles.section(ROOT)
