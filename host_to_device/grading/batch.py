"""Mark all submissions: several at once, with a journal, so that a run that was stopped goes on where it was.

Each line of the journal is the result of one notebook, under a key of its content, the exercises, the seed and the version
of the library. A result whose key is there is not marked again.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import filelock

from host_to_device.exercises.verdicts import Verdict
from host_to_device.grading import cells, marking
from host_to_device.grading.submissions import Submission
from host_to_device.support.installed import version_of

JOURNAL, SEED, LOCK = "journal.jsonl", "seed.txt", ".lock"


Run = Callable[[Sequence[Sequence[str]]], Iterable[tuple[int, marking.Marked]]]


class InUse(Exception):
    """Another grader writes to the same folder."""


@dataclass(frozen=True)
class Result:
    """What became of a submission: its marks, the code that was run, and what was unusual."""

    submission: Submission
    marked: marking.Marked
    code: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    was_known: bool = False  # from an earlier run


def seed_in(folder: Path, given: int | None) -> int:
    """Return the seed of a folder of results: the given one, the one of an earlier run, or a new one; keep it there."""
    path = folder / SEED
    if given is None:
        given = int(path.read_text()) if path.exists() else secrets.randbelow(2**62)
    path.write_text(f"{given}\n")
    return given


def mark_all(
    submissions: Sequence[Submission],
    numbers: Sequence[str],
    seed: int,
    folder: Path,
    run: Run,
    checks: str = "",
) -> Iterator[Result]:
    """Mark submissions and yield each result as soon as it is there; those of an earlier run come first.

    Parameters
    ----------
    submissions
        One for each student.
    numbers
        The exercises to judge.
    seed
        The seed of their cases.
    folder
        Where the journal is.
    run
        Marks the cells of notebooks, and yields the place of each with its marks as soon as they are there.
    checks
        A text that names the private checks; results of other checks are not taken from the journal.

    Raises
    ------
    InUse
        If another process marks into this folder.
    """
    lock = filelock.FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise InUse(f"{folder} is in use: another grader writes to it") from None
    try:
        yield from _marked(submissions, numbers, seed, folder / JOURNAL, run, checks)
    finally:
        lock.release()


def _marked(
    submissions: Sequence[Submission],
    numbers: Sequence[str],
    seed: int,
    journal: Path,
    run: Run,
    checks: str,
) -> Iterator[Result]:
    known, waiting = _read(journal), []
    if journal.exists() and not journal.read_bytes().endswith(b"\n"):
        with journal.open("a") as file:  # after a line that was cut off
            file.write("\n")
    for each in submissions:
        problem, book = each.problem, cells.Notebook(())
        if not problem:
            try:
                book = cells.read(each.content)
            except cells.Unreadable as why:
                problem = str(why)
        remarks = [*filter(None, [problem]), *book.remarks]
        if not problem and not book.answered & set(numbers):
            others = ", ".join(sorted({number[:2] for number in book.answered})) or "no set"
            remarks.append(f"no answer of this set is in the notebook: it answers {others}")
        key = _key(each, numbers, seed, checks)
        if problem:
            yield Result(each, marking.Marked(), (), tuple(remarks), was_known=True)
        elif key in known:
            yield Result(each, known[key], book.cells, tuple(remarks), was_known=True)
        else:
            waiting.append((each, book, remarks, key))
    with journal.open("a", encoding="utf-8") as file:
        for place, marked in run([book.cells for _, book, _, _ in waiting]) if waiting else ():
            submission, book, remarks, key = waiting[place]
            file.write(json.dumps({"key": key, "student": submission.student, **_plain(marked)}) + "\n")
            file.flush()
            yield Result(submission, marked, book.cells, tuple(remarks))


def here(
    mark: Callable[[Sequence[str]], marking.Marked], jobs: int, notebooks: Sequence[Sequence[str]]
) -> Iterator[tuple[int, marking.Marked]]:
    """Mark notebooks on this machine, several at once; yield the place of each with its marks.

    Parameters
    ----------
    mark
        Marks the cells of a notebook.
    jobs
        How many notebooks are marked at once.
    notebooks
        The cells of each.
    """
    with ThreadPoolExecutor(jobs) as pool:
        places = {pool.submit(mark, each): place for place, each in enumerate(notebooks)}
        try:
            for future in as_completed(places):
                yield places[future], future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _key(each: Submission, numbers: Sequence[str], seed: int, checks: str) -> str:
    parts = (
        each.content,
        " ".join(numbers).encode(),
        str(seed).encode(),
        version_of("host-to-device").encode(),
        *([checks.encode()] if checks else []),
    )
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def _plain(marked: marking.Marked) -> dict[str, Any]:
    return {
        "verdicts": {number: {**asdict(each), "picture": ""} for number, each in marked.verdicts.items()},
        "cells": {str(place): asdict(each) for place, each in marked.cells.items()},
        "log": marked.log,
    }


def _read(journal: Path) -> dict[str, marking.Marked]:
    """Return the results of a journal by their keys; a line that was cut off is left out."""
    found: dict[str, marking.Marked] = {}
    if journal.exists():
        for line in journal.read_text(encoding="utf-8").splitlines():
            try:
                content: Mapping[str, Any] = json.loads(line)
                found[content["key"]] = marking.Marked(
                    {number: Verdict(**each) for number, each in content["verdicts"].items()},
                    {int(place): marking.Ran(**each) for place, each in content["cells"].items()},
                    list(content["log"]),
                )
            except (ValueError, LookupError, TypeError, AttributeError):
                continue
    return found


class Progress:
    """The line that says how far a run is: "12 of 80 marked, about 3 minutes left"."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.began, self.at_once = total, 0, time.monotonic(), 0

    def add(self, was_known: bool) -> str:
        """Count one more; return the line."""
        self.done += 1
        self.at_once += was_known
        marked, left = self.done - self.at_once, self.total - self.done
        line = f"{self.done} of {self.total} marked"
        if marked and left:
            seconds = (time.monotonic() - self.began) / marked * left
            line += f", about {_minutes(seconds)} left"
        return line


def _minutes(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} minutes"
