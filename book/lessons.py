"""The lessons of the book: read from the front matter of their chapters, shown as a bar and as a table.

A chapter begins with

    ---
    lesson: {teaches: "one sentence, what the reader can do afterwards"}
    ---

and its notebook, exercises and solutions have the same file name in their own folders. A public course lacks solutions.
How long it takes follows from these files (`lengths`).
"""

import html
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book import address, lengths

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Lesson:
    """One chapter with what belongs to it."""

    slug: str
    title: str
    minutes: lengths.Minutes
    teaches: str
    has_solutions: bool = True

    @property
    def number(self) -> int:
        return int(self.slug.split("-")[0])

    @property
    def notebook(self) -> str:
        return f"notebooks/{self.slug}.ipynb"

    @property
    def exercises(self) -> str:
        return f"exercises/{self.slug}.ipynb"

    @property
    def solutions(self) -> str:
        return f"solutions/{self.slug}.ipynb"


def read(chapter: Path) -> Lesson:
    """Return the lesson that this chapter file describes."""
    text = chapter.read_text(encoding="utf-8")
    try:
        _, front, body = text.split("---\n", 2)
        about = yaml.safe_load(front)["lesson"]
        title = next(line[2:] for line in body.splitlines() if line.startswith("# "))
        root, name = chapter.parent.parent, f"{chapter.stem}.ipynb"
        minutes = lengths.minutes(chapter, root / "notebooks" / name, root / "exercises" / name)
        solved = (root / "solutions" / name).exists()
        return Lesson(chapter.stem, title.strip(), minutes, about["teaches"], solved)
    except (ValueError, KeyError, TypeError, StopIteration) as problem:
        raise ValueError(
            f"{chapter.name}: a chapter begins with front matter that holds lesson.teaches, "
            f"then a title ({problem!r})"
        ) from problem


def read_all(root: Path = ROOT) -> list[Lesson]:
    """Return the lessons of the book in their order."""
    return [read(chapter) for chapter in sorted((root / "chapters").glob("[0-9][0-9]-*.md"))]


def table_markdown(lessons: list[Lesson], where: address.Address) -> str:
    """Return the README's table of lessons."""
    rows = ["| | lesson | what you can do afterwards | minutes | |", "|---|---|---|---|---|"]
    for lesson in lessons:
        chapter = f"{where.site}chapters/{lesson.slug}.html"
        links = (
            f"[notebook]({lesson.notebook}) · [Colab]({where.colab(lesson.notebook)}) · "
            f"[exercises]({lesson.exercises})"
        )
        if lesson.has_solutions:
            links += f" · [solutions]({lesson.solutions})"
        rows.append(
            f"| {lesson.number} | [{lesson.title}]({chapter}) | {lesson.teaches} | {lesson.minutes} | {links} |"
        )
    return "\n".join(rows) + "\n"


class LessonBar(SphinxDirective):
    """`{lesson-bar}`: time needed, notebook, Colab, exercises and solutions of the chapter it stands in."""

    def run(self) -> list[nodes.Node]:
        lesson = read(Path(self.env.doc2path(self.env.docname)))
        where = address.read()
        items = [
            f"{lesson.minutes} minutes",
            f"[Notebook](../{lesson.notebook})",
            f"[Notebook in Colab]({where.colab(lesson.notebook)})",
            *(f"[in {name}]({link})" for name, link in where.elsewhere(lesson.notebook).items()),
            f"[Exercises](../{lesson.exercises})",
        ]
        if lesson.has_solutions:
            items.append(f"[Solutions](../{lesson.solutions})")
        bar = self.parse_text_to_nodes("{.lesson-bar}\n" + "\n".join(f"- {item}" for item in items))
        for link in (each for node in bar for each in node.findall(nodes.reference)):
            # MyST has escaped the `&` of an address, and the writer of HTML escapes it again.
            link["refuri"] = html.unescape(link["refuri"])
        return bar


class Colab(SphinxDirective):
    """`{colab} notebooks/02-host-and-device.ipynb`: a link that opens a notebook in Colab, with its content as words."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        notebook = self.arguments[0]
        if not (ROOT / notebook).is_file():
            raise self.error(f"colab: there is no {notebook}")
        return self.parse_text_to_nodes(f"[{' '.join(self.content)}]({address.read().colab(notebook)})")


class Lessons(SphinxDirective):
    """`{lessons}`: the table of all lessons."""

    def run(self) -> list[nodes.Node]:
        rows = ["| | Lesson | What you can do afterwards | Minutes |", "|--:|---|---|--:|"]
        rows += [
            f"| {lesson.number} | [{lesson.title}](/chapters/{lesson.slug}.md) | {lesson.teaches} | {lesson.minutes} |"
            for lesson in read_all()
        ]
        for chapter in sorted((ROOT / "chapters").glob("[0-9][0-9]-*.md")):
            self.env.note_dependency(str(chapter))
        [table] = self.parse_text_to_nodes("\n".join(rows))
        table["classes"].append("lessons")
        return [table]


def describe(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Let a chapter's previews say what it teaches, in the place of its first words."""
    if doctree is not None and re.match(r"chapters/\d\d-", pagename):
        teaches = read(Path(app.env.doc2path(pagename))).teaches
        sentence = f"{teaches[0].upper()}{teaches[1:].rstrip('.')}."
        context["meta"] = {**(context["meta"] or {}), "og:description": html.escape(sentence)}
        context["metatags"] += f'<meta name="description" content="{html.escape(sentence)}" />\n'


def setup(app: Sphinx) -> None:
    app.add_directive("lesson-bar", LessonBar)
    app.add_directive("colab", Colab)
    app.add_directive("lessons", Lessons)
    app.connect("html-page-context", describe, priority=400)  # before the previews' extension reads it


def renew_readme(root: Path = ROOT) -> None:
    """Write the table of lessons between its two marks in the README."""
    readme = root / "README.md"
    before, rest = readme.read_text(encoding="utf-8").split("<!-- lessons -->\n")
    _, after = rest.split("<!-- /lessons -->")
    table = table_markdown(read_all(root), address.read(root))
    readme.write_text(f"{before}<!-- lessons -->\n{table}<!-- /lessons -->{after}", encoding="utf-8")


if __name__ == "__main__":
    renew_readme()
