"""The page of sources: every item of the five texts and every correction is mapped to text that teaches it."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "chapters").glob("[0-9][0-9]-*.md"))
SOURCES = (ROOT / "chapters" / "sources.md").read_text(encoding="utf-8")

# Every item of the five source texts, and every correction. Each chapter names the ones it covers.
ITEMS = (
    {f"S0.{i}" for i in range(1, 9)}
    | {f"S1.{i}" for i in range(1, 12)}
    | {f"S2.{i}" for i in range(1, 13)}
    | {f"S2.E{i}" for i in range(1, 5)}
    | {f"S3.{i}" for i in range(1, 11)}
    | {f"S4.{i}" for i in range(1, 16)}
    | {f"correction {i}" for i in range(1, 22)}
)


def covered(chapter: Path) -> list[str]:
    return yaml.safe_load(chapter.read_text(encoding="utf-8").split("---\n")[1])["lesson"]["covers"]


def rows() -> dict[str, str]:
    """Return the rows of both tables by their id."""
    found = {}
    for row in re.findall(r"^\* - (.*?)(?=^\* -|^:::)", SOURCES, re.M | re.S):
        name = row.split("\n")[0].strip()
        if re.fullmatch(r"S\d\.E?\d+", name):
            found[name] = row
        elif name.isdigit():
            found[f"correction {name}"] = row
    return found


def labels() -> dict[str, tuple[Path, str]]:
    """Return every label of the chapters, with its file and the text that follows it."""
    found = {}
    for chapter in CHAPTERS:
        text = chapter.read_text(encoding="utf-8")
        for match in re.finditer(r"^\(([\w-]+)\)=\n", text, re.M):
            found[match[1]] = (chapter, text[match.end() :])
        for match in re.finditer(r"^:name: ([\w-]+)\n", text, re.M):
            found[match[1]] = (chapter, text[match.end() :])
    return found


def test_there_are_chapters():
    assert CHAPTERS


def test_every_item_has_one_row():
    ids = re.findall(r"^\* - (S\d\.E?\d+|\d+)$", SOURCES, re.M)
    assert len(ids) == len(set(ids)) == len(ITEMS) == 60 + 21
    assert set(rows()) == ITEMS


def test_every_item_is_covered_by_a_chapter():
    claimed = [item for chapter in CHAPTERS for item in covered(chapter)]
    assert set(claimed) == ITEMS


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_each_item_leads_to_teaching_text_of_its_chapter(chapter):
    for item in covered(chapter):
        anchors = [
            label
            for label in re.findall(r"\{ref\}`(?:[^`<]*<)?([\w-]+)>?`", rows()[item])
            if label in labels()
        ]
        assert any(labels()[label][0] == chapter for label in anchors), (
            f"{item} leads nowhere in {chapter.name}"
        )
        for label in anchors:
            words = re.findall(r"[A-Za-z]{2,}", labels()[label][1].split("\n(")[0])
            assert len(words) > 40, f"{item}: {label} does not sit on teaching text"


def test_corrections_carry_a_citation():
    for item, row in rows().items():
        if item.startswith("correction"):
            assert "{cite}`" in row, f"{item} has no source"
