"""The sub-command `host-to-device grade SET SUBMISSIONS --out FOLDER`."""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from host_to_device.exercises import catalogue
from host_to_device.exercises.definition import place_in_set
from host_to_device.grading import (
    batch,
    duplicates,
    feedback,
    gradebook,
    marking,
    private,
    sandbox,
    scheduled,
    submissions,
)

HELP = "grade the notebooks of a class: marks, feedback pages, a report"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the words of the sub-command."""
    parser.add_argument("set", metavar="SET", help='the two digits of the set, such as "02"')
    parser.add_argument("submissions", type=Path, help="a folder or a zip with the notebooks")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where the results go")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="notebooks at once (one a core)"
    )
    parser.add_argument(
        "--seed", type=int, help="of the cases; by default a new one, kept in FOLDER/seed.txt"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="NN.x", help="exercises to judge, instead of the whole set"
    )
    parser.add_argument("--seconds", type=float, default=300.0, help="time limit of a notebook (300)")
    parser.add_argument(
        "--private-checks",
        type=Path,
        metavar="DIR",
        help="a folder of Python files with exercise classes that replace the course's, or add to them",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="of a running Dask cluster, on whose machines the notebooks run",
    )
    parser.add_argument(
        "--unsafe", action="store_true", help="run the notebooks with your own rights, shut in by nothing"
    )


def run(chosen: argparse.Namespace) -> int:
    """Grade, print progress, and return the exit status: 0, or 2 with one line that says what to do."""
    try:
        return grade(chosen)
    except (
        sandbox.NoSandbox,
        submissions.NothingThere,
        gradebook.BadTable,
        batch.InUse,
        private.BadChecks,
        scheduled.NoCluster,
        OSError,
        ValueError,
    ) as problem:
        print(f"grade: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ngrade: stopped. The same command goes on where it was.", file=sys.stderr)
        return 130


def grade(chosen: argparse.Namespace) -> int:
    """Grade as the words of the command say."""
    checks = private.read(chosen.private_checks) if chosen.private_checks else {}
    private.use(checks)
    numbers = wanted(chosen.set, chosen.only)
    if chosen.jobs < 1 or chosen.seconds <= 0:
        raise ValueError("--jobs and --seconds take numbers above 0")
    limits = sandbox.Limits()
    title = f"Set {chosen.set.zfill(2)}"
    those, others = submissions.chosen(submissions.found(chosen.submissions), numbers)
    out: Path = chosen.out
    (out / "feedback").mkdir(parents=True, exist_ok=True)
    seed = batch.seed_in(out, chosen.seed)
    added = gradebook.manual(out / "manual.csv", numbers)
    patience = marking.Patience(whole=chosen.seconds)

    task = scheduled.Task(tuple(numbers), seed, limits, patience, tuple(checks.items()), chosen.unsafe)
    progress, results = batch.Progress(len(those)), []
    notes = ["The notebooks ran with the grader's own rights (--unsafe)."] * chosen.unsafe
    with contextlib.ExitStack() as until_then:
        if chosen.scheduler:
            cluster = until_then.enter_context(scheduled.Cluster(chosen.scheduler))
            run = functools.partial(cluster.run, task)
        else:
            # Here, and not at the first notebook, it is seen whether there is a sandbox.
            box = until_then.enter_context(scheduled.box(task.limits, task.unsafe))
            until_then.callback(lambda: notes.extend(filter(None, [box.said])))
            run = functools.partial(batch.here, functools.partial(task.mark_in, box), chosen.jobs)
        for result in batch.mark_all(those, [*numbers], seed, out, run, private.key(checks)):
            results.append(result)
            say(progress.add(result.was_known), last=len(results) == len(those))
    results.sort(key=lambda each: each.submission.student.lower())
    rows = [row_of(each, numbers, added) for each in results]
    write(out, title, rows, results, numbers)
    _log(out / "log.txt", notes, results, others)
    print(f"{len(rows)} notebooks graded: {out / 'grades.csv'}, {out / 'feedback'}, {out / 'class.html'}")
    return 0


def say(line: str, last: bool) -> None:
    """Print a line of the progress: in a terminal over the one before, else below it."""
    over = sys.stderr.isatty()
    print(
        f"\r{line}   " if over else line, end="" if over and not last else "\n", file=sys.stderr, flush=True
    )


def wanted(name: str, only: Sequence[str] | None) -> dict[str, float]:
    """Return the points of the exercises to judge, by their numbers.

    Raises
    ------
    ValueError
        If there is no such set or exercise.
    """
    every = {cls.number: float(cls.points) for cls in catalogue.in_set(name.zfill(2))}
    if not every:
        raise ValueError(f"there is no set {name}; sets: {', '.join(catalogue.set_numbers())}")
    numbers = sorted(only or every, key=place_in_set)
    for number in numbers:
        if number not in every:
            raise ValueError(f"there is no exercise {number} in set {name}; it has {', '.join(every)}")
    return {number: every[number] for number in numbers}


def row_of(result: batch.Result, numbers: dict[str, float], added: dict) -> gradebook.Row:
    """Return a student's marks: those that were judged, replaced where a person has given others."""
    given, person = result.submission, added.get(result.submission.student, {})
    points = {number: each.points for number, each in result.marked.verdicts.items()}
    points |= {number: each for number, (each, _) in person.items() if each is not None}
    return gradebook.Row(
        given.student,
        given.identifier,
        given.late,
        given.file,
        {number: points.get(number, 0.0) for number in numbers},
        {number: comment for number, (_, comment) in person.items() if comment},
        (*result.remarks, *result.marked.log),
    )


def write(
    out: Path,
    title: str,
    rows: list[gradebook.Row],
    results: list[batch.Result],
    numbers: dict[str, float],
) -> None:
    """Write the tables and the pages."""
    (out / "grades.csv").write_text(gradebook.grades(rows, numbers), encoding="utf-8")
    (out / "canvas.csv").write_text(gradebook.canvas(rows, numbers, title), encoding="utf-8")
    (out / "moodle.csv").write_text(gradebook.moodle(rows, numbers), encoding="utf-8")
    for row, result, name in zip(rows, results, file_names(row.student for row in rows), strict=True):
        page = feedback.of_student(title, row, result, numbers)
        (out / "feedback" / f"{name}.html").write_text(page, encoding="utf-8")
    report = feedback.of_class(title, rows, results, numbers)
    (out / "class.html").write_text(report, encoding="utf-8")
    codes = {each.submission.student: feedback.code_of(each.code) for each in results}
    alike = feedback.of_duplicates(title, duplicates.pairs(codes, numbers))
    (out / "duplicates.html").write_text(alike, encoding="utf-8")
    (out / "hidden.html").unlink(missing_ok=True)  # of an earlier run
    if hidden := feedback.of_hidden(title, results):
        (out / "hidden.html").write_text(hidden, encoding="utf-8")


def file_names(students: Iterable[str]) -> list[str]:
    """Return a file name for each student: letters and digits, and no name twice on any file system."""
    found: list[str] = []
    for student in students:
        name = re.sub(r"[^\w-]+", "-", student).strip("-")[:80] or "student"
        known, number = {each.lower() for each in found}, 1
        while (each := name if number == 1 else f"{name}-{number}").lower() in known:
            number += 1
        found.append(each)
    return found


def _log(
    path: Path, notes: list[str], results: list[batch.Result], others: list[submissions.Submission]
) -> None:
    lines = [*notes]
    for each in results:
        lines += [f"{each.submission.student}: {what}" for what in (*each.remarks, *each.marked.log)]
    lines += [
        f"{each.student}: {each.file} is not graded: another notebook of this student is" for each in others
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
