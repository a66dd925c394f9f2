"""The pages that a grader hands back: one for each student, and one about the class. Each is one file without scripts."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from host_to_device.exercises import catalogue
from host_to_device.grading.batch import Result
from host_to_device.grading.cells import ANSWER
from host_to_device.grading.gradebook import Row
from host_to_device.rendering.palette import COLOURS, DARK_COLOURS

STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
pre { background: color-mix(in srgb, CanvasText 7%, Canvas); padding: .6rem; overflow-x: auto; white-space: pre; }
.said { white-space: pre-wrap; }
table { border-collapse: collapse; } th, td { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; }
text { fill: CanvasText; font: 12px system-ui, sans-serif; }
"""
BARS = (
    f"rect {{ fill: {COLOURS['blue']}; }} "
    f"@media (prefers-color-scheme: dark) {{ rect {{ fill: {DARK_COLOURS['blue']}; }} }}"
)


def page(title: str, body: str) -> str:
    """Return a page that opens anywhere."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{_text(title)}</title>\n'
        f"<style>{STYLE}{BARS}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
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
    parts = [
        f"<h1>{_text(title)}: {row.total:g} of {of:g} points</h1>",
        f"<p>{_text(row.student)}{', late' if row.late else ''}. Your file: <code>{_text(row.file)}</code></p>",
        *(f"<p><strong>{_text(each)}</strong></p>" for each in row.remarks),
    ]
    if comment := row.comments.get(""):
        parts.append(f"<p>Comment: {_text(comment)}</p>")
    errors = [(place, ran) for place, ran in sorted(result.marked.cells.items()) if ran.error]
    code = _code_of(result.code)
    for number in numbers:
        parts.append(
            f"<h2>{number} {_text(catalogue.find(number).title())}: {row.points.get(number, 0):g} of {numbers[number]:g}</h2>"
        )
        said = result.marked.verdicts.get(number)
        if said is not None:
            parts.append(f'<p class="said">{_text(said.text)}</p>')
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


def _code_of(cells: Sequence[str]) -> dict[str, str]:
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


def of_class(
    title: str,
    rows: Sequence[Row],
    results: Iterable[Result],
    numbers: Mapping[str, float],
    misconceptions: Mapping[str, Sequence[tuple[str, str]]],
) -> str:
    """Return the page about the class: how the points are distributed, each exercise, the commonest misconceptions.

    Parameters
    ----------
    title
        The set's title.
    rows, results
        The marks, and what became of each submission.
    numbers
        The points of each exercise.
    misconceptions
        By exercise, the titles of its wrong answers with what the check says of each.
    """
    of = sum(numbers.values())
    tenths = Counter(min(9, int(10 * row.total / of)) if of else 0 for row in rows)
    shown = [(f"{10 * each}–{10 * each + (10 if each == 9 else 9)} %", tenths[each]) for each in range(10)]
    solved: Counter[str] = Counter()
    said: Counter[tuple[str, str]] = Counter()
    for result in results:
        for number, verdict in result.marked.verdicts.items():
            solved[number] += verdict.right is True
            if verdict.right is False:
                said[number, cause(verdict.text, misconceptions.get(number, ()))] += 1
    parts = [
        f"<h1>{_text(title)}: the class</h1>",
        f"<p>{len(rows)} submissions, {of:g} points.</p>",
        "<h2>Distribution</h2>",
        chart(shown, "submissions by their share of the points"),
        table(("share of the points", "submissions"), shown),
        "<h2>Exercises</h2>",
        table(
            ("exercise", "right", "of"),
            [(f"{each} {catalogue.find(each).title()}", solved[each], len(rows)) for each in numbers],
        ),
        "<h2>The commonest misconceptions</h2>",
        table(
            ("exercise", "misconception", "answers"),
            [(number, what, count) for (number, what), count in said.most_common(15)],
        ),
    ]
    return page(f"{title}: the class", "\n".join(parts))


def cause(text: str, misconceptions: Sequence[tuple[str, str]]) -> str:
    """Return the title of the wrong answer of which the check says the same, else the hint or the first line."""
    hint = next((line.removeprefix("Hint: ") for line in text.splitlines() if line.startswith("Hint: ")), "")
    for title, says in misconceptions:
        if hint and hint in _plain(says):
            return title
    if hint:
        return hint
    first = text.splitlines()[0] if text else ""
    return re.sub(r"^\d\d\.\w+ is not right yet: ", "", first)


def _plain(text: str) -> str:
    return " ".join(text.split())


def chart(bars: Sequence[tuple[str, int]], what: str) -> str:
    """Return a bar chart as SVG; the table beside it says the same in numbers."""
    most = max((count for _, count in bars), default=0) or 1
    drawn = "".join(
        f'<rect x="90" y="{22 * place + 3}" width="{300 * count / most:.0f}" height="16"/>'
        f'<text x="84" y="{22 * place + 16}" text-anchor="end">{_text(name)}</text>'
        f'<text x="{96 + 300 * count / most:.0f}" y="{22 * place + 16}">{count}</text>'
        for place, (name, count) in enumerate(bars)
    )
    return f'<svg role="img" aria-label="{_text(what)}" viewBox="0 0 430 {22 * len(bars) + 6}" width="430">{drawn}</svg>'


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table."""
    cells = "".join(f'<th scope="col">{_text(each)}</th>' for each in head)
    lines = "".join(
        "<tr>" + "".join(f"<td{_numeric(each)}>{_text(str(each))}</td>" for each in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"


def _numeric(value: object) -> str:
    return ' class="number"' if isinstance(value, int | float) else ""


def _text(text: str) -> str:
    """Return text for a page; control characters, which no page may have, become visible."""
    return html.escape("".join(each if each.isprintable() or each in "\n\t" else "�" for each in text))
