"""The tables that a grader takes home: marks by exercise, the same for Canvas and Moodle, and what people have added.

`manual.csv` is written by people: student, exercise, points, comment. Its points replace the judged ones at each run.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MANUAL = ("student", "exercise", "points", "comment")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # begins what a spreadsheet would execute


@dataclass(frozen=True)
class Row:
    """The marks of a student.

    Attributes
    ----------
    points
        By the number of the exercise.
    comments
        Of people, by the number of the exercise; "" is for the whole.
    remarks
        What was unusual about the submission.
    """

    student: str
    identifier: str
    late: bool
    file: str
    points: Mapping[str, float]
    comments: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()

    @property
    def total(self) -> float:
        return sum(self.points.values())


class BadTable(Exception):
    """manual.csv cannot be used; the message names the line and what is wrong."""


def manual(path: Path, numbers: Mapping[str, float]) -> dict[str, dict[str, tuple[float | None, str]]]:
    """Read what people have added: by student and exercise, the points, or None, and the comment.

    Parameters
    ----------
    path
        The table; where there is none, an empty one is made for people to fill in.
    numbers
        The points of each exercise.

    Raises
    ------
    BadTable
        If a line names no exercise of the set, or its points are no number.
    """
    if not path.exists():
        path.write_text(",".join(MANUAL) + "\n", encoding="utf-8")
        return {}
    found: dict[str, dict[str, tuple[float | None, str]]] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames is None or not set(MANUAL) <= set(reader.fieldnames):
            raise BadTable(f"{path}: the first line has to be {','.join(MANUAL)}")
        for line, each in enumerate(reader, 2):
            number, said = (each["exercise"] or "").strip(), (each["points"] or "").strip()
            if number and number not in numbers:
                raise BadTable(
                    f"{path}, line {line}: there is no exercise {number}; the set has {', '.join(numbers)}"
                )
            try:
                points = float(said.replace(",", ".")) if said else None
            except ValueError:
                raise BadTable(f"{path}, line {line}: {said!r} is no number of points") from None
            if points is not None and not number:
                raise BadTable(f"{path}, line {line}: points need the number of an exercise")
            found.setdefault((each["student"] or "").strip(), {})[number] = (
                points,
                (each["comment"] or "").strip(),
            )
    return found


def as_csv(rows: Iterable[Sequence[object]]) -> str:
    """Return lines of CSV in which no cell is a formula."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([_cell(each) for each in row] for row in rows)
    return stream.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def grades(rows: Sequence[Row], numbers: Mapping[str, float]) -> str:
    """Return the marks of each student by exercise."""
    head = ["student", "identifier", "late", *numbers, "total", "of", "remarks", "file"]
    of = sum(numbers.values())
    return as_csv(
        [
            head,
            *(
                [
                    *(row.student, row.identifier, "late" if row.late else ""),
                    *(row.points.get(number, 0.0) for number in numbers),
                    *(row.total, of, "; ".join(row.remarks), row.file),
                ]
                for row in rows
            ),
        ]
    )


def canvas(rows: Sequence[Row], numbers: Mapping[str, float], title: str) -> str:
    """Return the marks in the form that Canvas imports (Grades, Import)."""
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title]
    possible = ["    Points Possible", "", "", "", "", sum(numbers.values())]
    return as_csv([head, possible, *([row.student, row.identifier, "", "", "", row.total] for row in rows)])


def moodle(rows: Sequence[Row], numbers: Mapping[str, float]) -> str:
    """Return the marks in the form of Moodle's offline grading worksheet."""
    head = ["Identifier", "Full name", "Grade", "Maximum Grade", "Feedback comments"]
    of = sum(numbers.values())
    return as_csv(
        [
            head,
            *(
                [
                    f"Participant {row.identifier}" if row.identifier else "",
                    *(row.student, row.total, of),
                    "; ".join(
                        f"{number}: {text}" if number else text
                        for number, text in row.comments.items()
                        if text
                    ),
                ]
                for row in rows
            ),
        ]
    )
