"""Write slides of every lesson into `_build/slides`, made from the built chapters (`make slides`).

A chapter's structure decides what becomes a slide. Each heading opens one, with the first sentence of each paragraph
below it; each figure, table, formula and piece of code is a slide of its own. The prose becomes the speaker's notes.
Two classes in a chapter's source change that: `{.no-slide}` leaves the next block out, `{.slide}` brings all sentences
of a paragraph.
"""

import argparse
import copy
import html
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bs4 import BeautifulSoup, Tag

ROOT = Path(__file__).resolve().parent.parent
SITE, SLIDES = ROOT / "_build" / "html", ROOT / "_build" / "slides"
OURS, MODULES = ROOT / "book" / "slides", ROOT / "book" / "node_modules"
MOST_SENTENCES, MOST_WORDS = 5, 75  # on one slide
MOST_ROWS, MOST_LETTERS = 7, 700  # of a table, on one slide
MOST_LINES = 15  # of code and output together, on one slide
COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
SKIPPED = {"Further reading", "Exercises"}
NO_BLOCK = {"span", "a", "script", "style", "details", "ul", "ol", "dl", "p", "section", "h1", "h2", "h3"}


@dataclass
class Slide:
    """One slide: its kind ("title", "text", "figure", "code", "table"), heading, content and notes, all HTML."""

    kind: str
    heading: str
    content: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def sentences(paragraph: Tag) -> list[str]:
    """Return the sentences of a paragraph: the source has one a line."""
    return [each.strip() for each in paragraph.decode_contents().strip().split("\n") if each.strip()]


def words(text: str) -> int:
    return len(BeautifulSoup(text, "html.parser").get_text().split())


def lines_of(block: Tag) -> int:
    return sum(len(pre.get_text().rstrip("\n").split("\n")) for pre in block.find_all("pre"))


def tables(block: Tag) -> Iterator[str]:
    """Return a table in pieces that a slide can hold, each with the head."""
    table = block if block.name == "table" else block.find("table")
    body = table.find("tbody")
    rows = body.find_all("tr", recursive=False) if body else []
    pieces: list[list[Tag]] = [[]]
    for row in rows:
        letters = sum(len(each.get_text()) for each in pieces[-1])
        if pieces[-1] and (len(pieces[-1]) >= MOST_ROWS or letters + len(row.get_text()) > MOST_LETTERS):
            pieces.append([])
        pieces[-1].append(row)
    for rows in pieces:
        piece = copy.copy(table)
        if body:
            piece.find("tbody").clear()
            for row in rows:
                piece.find("tbody").append(copy.copy(row))
        yield str(piece)


def blocks(block: Tag) -> Iterator[tuple[str, str]]:
    """Return the kind and the HTML of each slide that a block of a chapter becomes."""
    classes = block.get("class") or []
    if block.find(["button", "input", "select"]) or "h2d-game" in classes or block.find(class_="h2d-game"):
        return  # a game or an explorer, which has to be used and not shown
    if "cell" in classes and lines_of(block) > MOST_LINES:
        for part in block.find_all(class_=["cell_input", "cell_output"]):
            yield from blocks(part)
    elif block.name == "figure" or block.find(["svg", "img"]):
        yield "figure", str(block)
    elif (block.find("table") and not block.find("pre")) or block.name == "table":
        for piece in tables(block):
            yield "table", piece
    elif block.find("pre"):
        wide = lines_of(block) > MOST_LINES
        yield "code", f'<div class="two-columns">{block}</div>' if wide else str(block)
    elif "math" in classes:
        yield "math", str(block)
    elif "admonition" in classes:
        told = [sentence for each in block.find_all("p") for sentence in sentences(each)[:1]]
        yield "text", "<ul>" + "".join(f"<li>{each}</li>" for each in told[:MOST_SENTENCES]) + "</ul>"


def of_section(section: Tag, above: str = "") -> Iterator[Slide]:
    """Return the slides of a section and of the sections in it."""
    title = section.find(["h1", "h2", "h3"], recursive=False)
    if title is None:
        return  # a box of the page, such as a panel that measures the reader's GPU
    for link in title.find_all("a", class_="headerlink"):
        link.decompose()
    heading = title.decode_contents()
    if title.get_text() in SKIPPED:
        return
    current = first = Slide("title" if title.name == "h1" else "text", heading)
    made, told, within = [first], [], []
    for child in section.find_all(recursive=False):
        classes = child.get("class") or []
        if "no-slide" in classes or "lesson-bar" in classes or child is title:
            continue
        if child.name == "section":
            within.append(child)
        elif child.name == "p":
            told += sentences(child) if "slide" in classes else sentences(child)[:1]
            current.notes.append(f"<p>{child.decode_contents()}</p>")
        elif child.name in ("ul", "ol"):
            told += [sentences(item.find("p") or item)[0] for item in child.find_all("li", recursive=False)]
            current.notes.append(str(child))
        elif child.name not in NO_BLOCK:
            for kind, content in blocks(child):
                current = Slide(kind, heading, [content])
                made.append(current)
    pieces: list[list[str]] = [[]]
    for each in told:
        full = len(pieces[-1]) >= MOST_SENTENCES or sum(map(words, pieces[-1])) + words(each) > MOST_WORDS
        if pieces[-1] and full:
            pieces.append([])
        pieces[-1].append(each)
    first.content = listed(pieces[0])
    more = [Slide("text", heading, listed(piece)) for piece in pieces[1:]]
    yield first
    yield from more
    yield from made[1:]
    for each in within:
        yield from of_section(each)


def listed(told: list[str]) -> list[str]:
    return ["<ul>", *(f"<li>{each}</li>" for each in told), "</ul>"] if told else []


def slides_of(page: str) -> list[Slide]:
    """Return the slides of a built chapter."""
    article = BeautifulSoup(page, "html.parser").find("article")
    for each in article.find_all(class_=["headerlink", "copybtn", "toggle-details", "h2d-explorer-controls"]):
        each.decompose()
    made = list(of_section(article.find("section")))
    return [slide for slide in made if slide.content or slide.kind == "title"]


PAGE = """<!DOCTYPE html>
<html lang="en" data-theme="light"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="lib/reveal.css"><link rel="stylesheet" href="lib/pygments.css">
<link rel="stylesheet" href="lib/book.css"><link rel="stylesheet" href="lib/slides.css"></head>
<body class="measuring"><div class="reveal"><div class="slides">
{sections}
</div></div>
{math}<script src="lib/reveal.js"></script><script src="lib/notes.js"></script><script src="lib/slides.js"></script>
</body></html>
"""
MATH = """<script>window.MathJax = {loader: {load: ["input/tex", "output/chtml"]}};</script>
<script src="lib/mathjax/startup.js"></script>
"""


def written(slides: list[Slide]) -> str:
    """Return the page of a lesson's slides."""
    sections = []
    for slide in slides:
        level = "h1" if slide.kind == "title" else "h2"
        content = "\n".join(slide.content)
        # A figure that two slides show has its name twice otherwise.
        content = re.sub(r'(<(?:figure|table|div|section)[^>]*?) id="[^"]*"', r"\1", content)
        content = content.replace('src="../', 'src="')
        notes = "".join(slide.notes)
        sections.append(
            f'<section class="{slide.kind}"><{level}>{slide.heading}</{level}>'
            f'<div class="box"><div class="inner">{content}</div></div>'
            f'<aside class="notes">{notes}</aside></section>'
        )
    title = html.escape(BeautifulSoup(slides[0].heading, "html.parser").get_text())
    text = "\n".join(sections)
    return PAGE.format(title=title, sections=text, math=MATH if 'class="math' in text else "")


def copy_library(target: Path) -> None:
    """Copy what the slides load: reveal.js, MathJax, and the colours of the book."""
    lib = target / "lib"
    lib.mkdir(parents=True, exist_ok=True)
    reveal = MODULES / "reveal.js" / "dist"
    if not reveal.exists():
        raise FileNotFoundError("reveal.js is not installed: run `make book`, which installs it")
    for source in (
        reveal / "reveal.css",
        reveal / "reveal.js",
        reveal / "plugin" / "notes.js",
        OURS / "slides.css",
        OURS / "slides.js",
        SITE / "_static" / "pygments.css",
        SITE / "_static" / "book.css",
    ):
        shutil.copyfile(source, lib / source.name)
    shutil.copytree(SITE / "_static" / "vendor" / "mathjax", lib / "mathjax", dirs_exist_ok=True)
    if (SITE / "_images").exists():
        shutil.copytree(SITE / "_images", target / "_images", dirs_exist_ok=True)


def browser() -> str | None:
    """Return the program that prints: H2D_BROWSER, or one on the PATH."""
    if named := os.environ.get("H2D_BROWSER"):
        return shutil.which(named)
    return next(filter(None, map(shutil.which, COMMANDS)), None)


def print_pdf(page: Path, program: str) -> Path:
    """Print a lesson's slides as a PDF, one slide a page."""
    pdf = page.with_suffix(".pdf")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    flags += ["--virtual-time-budget=20000", f"--print-to-pdf={pdf}"]
    done = subprocess.run(
        [program, *flags, f"{page.resolve().as_uri()}?print-pdf"], capture_output=True, text=True, timeout=180
    )
    if done.returncode or not pdf.exists():
        raise OSError(f"{program} printed no PDF of {page.name}: {done.stderr.strip()[-300:]}")
    return pdf


def main(arguments: list[str]) -> int:
    """Write the slides of the lessons that are named, or of all; return the exit status."""
    parser = argparse.ArgumentParser(prog="tools/slides.py", description=__doc__.split("\n")[0])
    parser.add_argument("lessons", nargs="*", metavar="NN", help="two digits of a lesson; by default all")
    parser.add_argument("--out", type=Path, default=SLIDES, help="the folder to write (_build/slides)")
    parser.add_argument("--no-pdf", action="store_true", help="write no PDF, which needs Chromium or Chrome")
    asked = parser.parse_args(arguments)
    pages = sorted((SITE / "chapters").glob("[0-9][0-9]-*.html"))
    chosen = [page for page in pages if not asked.lessons or page.name[:2] in asked.lessons]
    if not chosen:
        print(
            f"make slides: no built chapter {' '.join(asked.lessons)}: run `make book` first", file=sys.stderr
        )
        return 1
    program = None if asked.no_pdf else browser()
    try:
        copy_library(asked.out)
        for page in chosen:
            slides = slides_of(page.read_text(encoding="utf-8"))
            target = asked.out / page.name
            target.write_text(written(slides), encoding="utf-8")
            printed = f" and {print_pdf(target, program).name}" if program else ""
            print(f"{target.name}{printed}: {len(slides)} slides")
    except OSError as problem:
        print(f"make slides: {problem}", file=sys.stderr)
        return 1
    if not program and not asked.no_pdf:
        print("No PDF: install Chromium or Google Chrome, or name one in H2D_BROWSER.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
