"""The page "What each exercise tests": for each sentence of a task, an answer that ignores it and what the check says.

The page's source ends with the marker below; the tables are made from the tried answers beside the solutions.
"""

import html
from pathlib import Path

import nbformat
from sphinx.application import Sphinx

from authoring import answers
from authoring.solutions import Part, read_set

PAGE = "chapters/tested"
MARKER = "<!-- the tables -->"


def cell(text: str) -> str:
    return f"<td>{html.escape(text)}</td>"


def first_line(answer: answers.Answer, part: Part) -> str:
    """Return what a verdict says is wrong, without its hint."""
    return answer.says.removeprefix(f"{part.number} is not right yet: ").partition(" Hint: ")[0]


def table(part: Part, tried: answers.Tried) -> str:
    """Return MyST for one exercise: its rows in the order of the task."""
    task = answers.plain(part.task.source)
    wrong = sorted(
        (each for each in tried.answers if not each.right), key=lambda each: task.find(each.ignores)
    )
    rows = "".join(
        f"<tr>{cell(each.ignores)}{cell(each.title)}{cell(first_line(each, part))}</tr>" for each in wrong
    )
    right = ", ".join(html.escape(each.title) for each in tried.answers if each.right)
    return (
        f"### {part.number} {part.title}\n\n"
        '<div class="h2d-tested"><table class="table"><thead><tr><th scope="col">The task says</th>'
        '<th scope="col">An answer that ignores it</th><th scope="col">The check says</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>\n\n"
        f"Right answers in other styles that are accepted: {right}.\n"
    )


def tables(root: Path) -> str:
    """Return MyST for all sets that have tried answers."""
    found = []
    for file in sorted((root / "solutions" / "answers").glob("*.md")):
        [path] = (root / "solutions").glob(f"{file.stem}-*.ipynb")
        notebook = nbformat.read(path, as_version=4)
        tried = {each.number: each for each in answers.read(file.read_text(encoding="utf-8"), file.name)}
        title = notebook.cells[0].source.splitlines()[0].partition(":")[2].strip()
        found.append(f"## {file.stem} {title[:1].upper()}{title[1:]}\n")
        parts = read_set(notebook, f"solutions/{path.name}")
        found += [table(part, tried[part.number]) for part in parts if part.number in tried]
    return "\n".join(found)


def rewrite(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the tables where the page has its marker."""
    if page == PAGE:
        source[0] = source[0].replace(MARKER, tables(Path(app.srcdir)))


def setup(app: Sphinx) -> None:
    app.connect("source-read", rewrite)
