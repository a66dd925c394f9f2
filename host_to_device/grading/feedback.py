"""The pages that a grader writes: one for each student, one about the class, and those that only the instructor reads.

Each is one file without scripts.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from host_to_device.exercises import catalogue
from host_to_device.grading import misconceptions, private
from host_to_device.grading.batch import Result
from host_to_device.grading.cells import ANSWER
from host_to_device.grading.duplicates import Pair
from host_to_device.grading.gradebook import Row
from host_to_device.rendering import svg
from host_to_device.rendering.palette import BLUE, DARK_COLOURS
from host_to_device.rendering.table import Table

HEAD = ("exercise", "misconception or hint", "answers")  # of the commonest mistakes
STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
pre { background: color-mix(in srgb, CanvasText 7%, Canvas); padding: .6rem; overflow-x: auto; white-space: pre; }
.said { white-space: pre-wrap; }
table { border-collapse: collapse; } th, td { padding: .2rem .8rem .2rem 0; vertical-align: top; }
caption { text-align: left; font-weight: bold; }
"""
# Drawings take their colours from variables, which are set where the reader's system is dark.
DARK = "".join(f"--h2d-{name}: {colour}; " for name, colour in DARK_COLOURS.items())


def page(title: str, body: str) -> str:
    """Return a page that opens anywhere."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{_text(title)}</title>\n'
        f"<style>{STYLE}@media (prefers-color-scheme: dark) {{ :root {{ {DARK}}} }}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def of_student(title: str, row: Row, result: Result, numbers: Mapping[str, float]) -> str:
    """Return a student's page: marks, what was said of each exercise, comments, and the code that was run.

    Parameters
    ----------
    title
        The set's title.
    row
        The student's marks.
    result
        What became of the submission.
    numbers
        The points of each exercise.
    """
    of = sum(numbers.values())
    remarks = [each for each in row.remarks if not private.is_hidden(each.partition(":")[0])]
    parts = [
        f"<h1>{_text(title)}: {row.total:g} of {of:g} points</h1>",
        f"<p>{_text(row.student)}{', late' if row.late else ''}. Your file: <code>{_text(row.file)}</code></p>",
        *(f"<p><strong>{_text(each)}</strong></p>" for each in remarks),
    ]
    if comment := row.comments.get(""):
        parts.append(f"<p>Comment: {_text(comment)}</p>")
    errors = [(place, ran) for place, ran in sorted(result.marked.cells.items()) if ran.error]
    code = code_of(result.code)
    for number in numbers:
        parts.append(
            f"<h2>{number} {_text(catalogue.find(number).title())}: {row.points.get(number, 0):g} of {numbers[number]:g}</h2>"
        )
        said = result.marked.verdicts.get(number)
        if said is not None:
            known = ""
            if private.is_hidden(number):
                known = misconceptions.title_of(number, said.text, code.get(number, ""))
            parts.append(f'<p class="said">{_text(private.told(said, known))}</p>')
        if comment := row.comments.get(number):
            parts.append(f"<p>Comment: {_text(comment)}</p>")
        if number in code:
            parts.append(
                f'<details><summary>Your code</summary><pre tabindex="0">{_text(code[number])}</pre></details>'
            )
    if errors:
        items = "".join(f"<li>Code cell {place + 1}: {_text(ran.error)}</li>" for place, ran in errors)
        parts.append(f"<h2>Cells that ended with an error</h2><ul>{items}</ul>")
    return page(f"{title}, {row.student}", "\n".join(parts))


def code_of(cells: Sequence[str]) -> dict[str, str]:
    """Return the code before each call of `h2d.answer`, back to the call before, by the number of the exercise."""
    found, before = {}, []
    for cell in cells:
        numbers = ANSWER.findall(cell)
        if not numbers:
            before.append(cell)
            continue
        for number in numbers:
            found[number] = "\n\n".join(before)[-20_000:]
        before = []
    return found


def of_class(title: str, rows: Sequence[Row], results: Iterable[Result], numbers: Mapping[str, float]) -> str:
    """Return the page about the class: how the points are distributed, each exercise, the commonest mistakes.

    Parameters
    ----------
    title
        The set's title.
    rows, results
        The marks, and what became of each submission.
    numbers
        The points of each exercise.
    """
    of = sum(numbers.values())
    tenths = Counter(min(9, int(10 * row.total / of)) if of else 0 for row in rows)
    shown = [(f"{10 * each}–{10 * each + (10 if each == 9 else 9)} %", tenths[each]) for each in range(10)]
    solved: Counter[str] = Counter()
    said: Counter[tuple[str, str]] = Counter()
    for result in results:
        code = code_of(result.code)
        for number, verdict in result.marked.verdicts.items():
            solved[number] += verdict.right is True
            if verdict.right is False:
                found = misconceptions.title_of(number, verdict.text, code.get(number, ""))
                said[number, found or cause(private.told(verdict))] += 1
    exercises = [(f"{each} {catalogue.find(each).title()}", solved[each], len(rows)) for each in numbers]
    mistakes = [(number, what, count) for (number, what), count in said.most_common(15)]
    parts = [
        f"<h1>{_text(title)}: the class</h1>",
        f"<p>{len(rows)} submissions, {of:g} points.</p>",
        "<h2>Distribution</h2>",
        chart(shown, "submissions by their share of the points"),
        table("Submissions by their share of the points", ("share", "submissions"), shown),
        "<h2>Exercises</h2>",
        table("Right answers", ("exercise", "right", "of"), exercises),
        "<h2>The commonest mistakes</h2>",
        table("Wrong answers by their misconception, or by the hint that they got", HEAD, mistakes),
    ]
    return page(f"{title}: the class", "\n".join(parts))


def of_hidden(title: str, results: Iterable[Result]) -> str:
    """Return the page with the whole verdicts of hidden checks, which the students' pages do not have; "" without any."""
    parts = [
        f'<h2>{_text(result.submission.student)}, {number}</h2><p class="said">{_text(said.text)}</p>'
        for result in results
        for number, said in result.marked.verdicts.items()
        if private.told(said) != said.text
    ]
    if not parts:
        return ""
    what = f"{title}: what hidden checks found"
    note = "<p>For you only: the page names inputs that no student has seen.</p>"
    return page(what, "\n".join([f"<h1>{_text(what)}</h1>", note, *parts]))


def of_duplicates(title: str, pairs: Sequence[Pair]) -> str:
    """Return the page with the answers that are alike, side by side, for a person to judge."""
    parts = [
        f"<h1>{_text(title)}: answers that are alike</h1>",
        "<p>These functions are equal or nearly equal when their names are replaced. "
        "Two students can find the same answer by themselves: read both before you ask. No mark depends on this page.</p>",
    ]
    if not pairs:
        parts.append("<p>No two answers are alike.</p>")
    for each in pairs:
        share = "equal" if each.alike == 1 else f"{each.alike:.0%} of the statements equal"
        one, other = (_text(name) for name in each.students)
        parts.append(
            f"<h2>{each.number} {_text(catalogue.find(each.number).title())}: {one} and {other}, {share}</h2>"
        )
        heads = "".join(f'<th scope="col">{name}</th>' for name in (one, other))
        cells = "".join(f'<td><pre tabindex="0">{_text(code)}</pre></td>' for code in each.excerpts)
        parts.append(f"<table><thead><tr>{heads}</tr></thead><tbody><tr>{cells}</tr></tbody></table>")
    return page(f"{title}: answers that are alike", "\n".join(parts))


def cause(text: str) -> str:
    """Return the hint of a verdict, else its first line without the number."""
    first, *lines = text.splitlines() or [""]
    hints = [line.removeprefix("Hint: ") for line in lines if line.startswith("Hint: ")]
    return hints[0] if hints else re.sub(r"^\d\d\.\w+ is not right yet: ", "", first)


def chart(bars: Sequence[tuple[str, int]], what: str) -> str:
    """Return a bar chart as SVG; the table beside it says the same in numbers."""
    most = max((count for _, count in bars), default=0) or 1
    parts = []
    for place, (name, count) in enumerate(bars):
        length, base = 300 * count / most, 22 * place + 16
        parts += [
            svg.text(84, base, name, anchor="end"),
            svg.box(90, base - 13, length, 16, BLUE),
            svg.text(96 + length, base, str(count)),
        ]
    return svg.picture(parts, what, (0, 0, 430, 22 * len(bars) + 6))


def table(caption: str, head: tuple[str, ...], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; its first column names the row, and its numbers stand on the right."""
    texts = tuple(tuple(_visible(str(each)) for each in row) for row in rows)
    right = tuple(
        place for place, name in enumerate(head) if name in ("submissions", "right", "of", "answers")
    )
    return Table(caption, head, texts, right)._repr_html_()


def _visible(text: str) -> str:
    """Return text with its control characters, which no page may have, replaced by a visible one."""
    return "".join(each if each.isprintable() or each in "\n\t" else "�" for each in text)


def _text(text: str) -> str:
    return html.escape(_visible(text))
