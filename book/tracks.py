"""Course plans: `{track} one-day`, `{lesson-minutes}` and `{exam} one-day`, all from `tracks.toml` and `exams.toml`.

The minutes follow from the words of the chapters, the cells of the notebooks and the headings of the exercises, by the
rule of `lengths`.
"""

from __future__ import annotations

import functools
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from authoring.solutions import HEADING
from book import lengths, lessons

ROOT = Path(__file__).resolve().parent.parent
TRACKS, EXAMS = Path(__file__).parent / "tracks.toml", Path(__file__).parent / "exams.toml"


@dataclass(frozen=True)
class Task:
    """An exercise of a set: its number, title and minutes, and whether it is optional."""

    number: str
    title: str
    minutes: int
    optional: bool

    @property
    def is_puzzle(self) -> bool:
        return self.number[3:].isalpha()


@functools.cache
def tasks(notebook: Path) -> tuple[Task, ...]:
    """Return the exercises of a student's notebook, in order."""
    cells = nbformat.read(notebook, as_version=4).cells
    found = (HEADING.match(cell.source) for cell in cells if cell.cell_type == "markdown")
    return tuple(Task(each[1], each[2].strip(), int(each[3]), bool(each[4])) for each in found if each)


def chosen(those: tuple[Task, ...], what: str | list[str]) -> list[Task]:
    """Return the exercises that a step names: "puzzles", "core" (with the puzzles), or a list of numbers.

    Raises
    ------
    ValueError
        If there is no such exercise.
    """
    if what == "puzzles":
        return [task for task in those if task.is_puzzle]
    if what == "core":
        return [task for task in those if not task.optional]
    known = {task.number: task for task in those}
    if isinstance(what, str) or not known.keys() >= set(what):
        raise ValueError(f"exercises = {what!r}: write puzzles, core, or some of {', '.join(known)}")
    return [known[number] for number in what]


def sections(text: str, headings: list[str]) -> str:
    """Return the sections of a chapter below these headings, each with its subsections."""
    parts = re.split(r"^(?=## )", text, flags=re.M)
    by_heading = {part.split("\n", 1)[0].removeprefix("## "): part for part in parts[1:]}
    missing = [heading for heading in headings if heading not in by_heading]
    if missing:
        raise ValueError(f"no section {missing[0]!r}, only {', '.join(by_heading)}")
    return "\n".join(by_heading[heading] for heading in headings)


def lesson_of(number: int, root: Path = ROOT) -> lessons.Lesson:
    """Return the lesson with this number."""
    [chapter] = (root / "chapters").glob(f"{number:02}-*.md")
    return lessons.read(chapter)


def minutes(step: dict[str, Any], root: Path = ROOT) -> int:
    """Return the minutes of a step, by the rule of `lengths`; reading and running are rounded up to 5 minutes."""
    lesson = lesson_of(step["lesson"], root)
    total = 0
    if read := step.get("read"):
        text = (root / "chapters" / f"{lesson.slug}.md").read_text(encoding="utf-8")
        text = text if read == "all" else sections(text, read)
        total += lengths.rounded(lengths.words(text) / lengths.WORDS_A_MINUTE)
    if step.get("run"):
        total += lesson.minutes.run
    if what := step.get("exercises"):
        those = chosen(tasks(root / lesson.exercises), what)
        if step.get("home") and what == "core":  # the puzzles are done in class
            those = [task for task in those if not task.is_puzzle]
        total += sum(task.minutes for task in those)
    return total


def in_words(step: dict[str, Any]) -> str:
    """Return what students do in a step."""
    lesson = lesson_of(step["lesson"])
    link = f"[{lesson.number}](/chapters/{lesson.slug}.md)"
    does = []
    if read := step.get("read"):
        does.append(
            "the chapter" if read == "all" else "its sections " + ", ".join(f"*{each}*" for each in read)
        )
    if step.get("run"):
        does.append(f"[the notebook](/{lesson.notebook})")
    if what := step.get("exercises"):
        words = {
            "puzzles": "the puzzles",
            "core": "the core exercises" if step.get("home") else "puzzles and core exercises",
        }
        named = words[what] if isinstance(what, str) else ", ".join(what)
        does.append(f"[{named}](/{lesson.exercises})")
    return f"Lesson {link}: {', '.join(does)}"


def read(file: Path = TRACKS) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


def table(track: dict[str, Any]) -> str:
    """Return a track as a Markdown table: a row for each step, with its minutes in class and at home."""
    rows = ["| | what | in class | at home |", "|---|---|--:|--:|"]
    sums = [0, 0]
    for session in track["sessions"]:
        title = session["title"]
        for step in session["steps"]:
            took, home = minutes(step), bool(step.get("home"))
            sums[home] += took
            cells = ["", took] if home else [took, ""]
            rows.append(f"| {title} | {in_words(step)} | {cells[0]} | {cells[1]} |")
            title = ""
    rows.append(f"| **Sum** | | **{sums[0]}** | **{sums[1] or ''}** |".replace("****", ""))
    return "\n".join(rows)


def alone() -> str:
    """Return the table of lessons with what each needs and its minutes."""
    rows = [
        "| lesson | read | run | puzzles | core exercises | optional exercises |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for lesson in lessons.read_all():
        those = tasks(ROOT / lesson.exercises)
        sums = [
            sum(task.minutes for task in those if task.is_puzzle),
            sum(task.minutes for task in those if not task.is_puzzle and not task.optional),
            sum(task.minutes for task in those if task.optional),
        ]
        cells = " | ".join(map(str, (lesson.minutes.read, lesson.minutes.run, *sums)))
        rows.append(f"| {lesson.number} [{lesson.title}](/chapters/{lesson.slug}.md) | {cells} |")
    return "\n".join(rows)


def exam(name: str) -> str:
    """Return the sample exam of a track as Markdown, without its key."""
    questions = read(EXAMS)
    track = read()[name]
    total = sum(questions[each]["minutes"] for each in track["exam"])
    lines = [f"{len(track['exam'])} questions, {total} minutes, closed book.", ""]
    for number, each in enumerate(track["exam"], 1):
        question = questions[each]
        lines.append(
            f"{number}. {question['text']} ({question['minutes']} minutes, lesson {question['lesson']})"
        )
        if code := question.get("code"):
            lines += [
                "",
                "   ```python",
                *(f"   {line}".rstrip() for line in code.strip().splitlines()),
                "   ```",
            ]
        lines.append("")
    return "\n".join(lines)


class Track(SphinxDirective):
    """`{track} one-day`: the sessions of a track, their steps and minutes, and what to skip."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name, tracks = self.arguments[0], read()
        if name not in tracks:
            raise self.error(f"track: there is no {name!r}, only {', '.join(tracks)}")
        for path in (TRACKS, *(ROOT / "chapters").glob("[0-9]*.md"), *(ROOT / "exercises").glob("*.ipynb")):
            self.env.note_dependency(str(path))
        made = self.parse_text_to_nodes(f"{table(tracks[name])}\n\n**What to skip.** {tracks[name]['skip']}")
        return made


class LessonMinutes(SphinxDirective):
    """`{lesson-minutes}`: what each lesson takes, by kind of work."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(alone())


class Exam(SphinxDirective):
    """`{exam} one-day`: the sample exam of a track."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        if self.arguments[0] not in read():
            raise self.error(f"exam: there is no {self.arguments[0]!r}, only {', '.join(read())}")
        self.env.note_dependency(str(EXAMS))
        return self.parse_text_to_nodes(exam(self.arguments[0]))


def setup(app: Sphinx) -> None:
    app.add_directive("track", Track)
    app.add_directive("lesson-minutes", LessonMinutes)
    app.add_directive("exam", Exam)
