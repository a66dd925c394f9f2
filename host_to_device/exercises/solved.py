"""What a learner has solved: kept in a small file of their own. Nothing leaves the machine.

The file is `progress.json` in the folder where programs of this system keep a user's data (`host-to-device` in it), or
what H2D_PROGRESS names; `H2D_PROGRESS=off` keeps nothing. It is theirs to read, copy, edit and delete.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from host_to_device.exercises import catalogue
from host_to_device.exercises.definition import NUMBER
from host_to_device.rendering.table import Table
from host_to_device.support import folders

VERSION = 1
PATIENCE = 2.0  # seconds to wait for another notebook that writes
_told: set[str] = set()  # what has been said and need not be said again


def file() -> Path | None:
    """Return where the file is; None if nothing is to be kept."""
    given = os.environ.get("H2D_PROGRESS", "")
    if given:
        return None if given.lower() in ("off", "0") else Path(given).expanduser()
    return folders.data("progress.json")


def read(path: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return what is solved, by exercise number, and what there is to say; a broken file is moved aside.

    Raises
    ------
    OSError
        If the file is there and cannot be read or moved.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {}, []
    try:
        content = json.loads(text)
        if content["version"] > VERSION:
            return {}, [f"{path} was written by a newer version of this library: it is left as it is."]
        solved = {
            number: {"points": float(each["points"]), "on": str(each["on"])[:10]}
            for number, each in content["solved"].items()
            if NUMBER.fullmatch(number)
        }
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        aside = next(
            each
            for each in (path.with_name(f"{path.stem}.broken{n or ''}{path.suffix}") for n in range(10_000))
            if not each.exists()
        )
        os.replace(path, aside)
        return {}, [f"{path} could not be read, and is now {aside.name}; a new one is begun."]
    return solved, []


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other notebooks from writing meanwhile; one that has died does not stop this one for long."""
    lock, ends = path.with_name(f"{path.name}.lock"), time.monotonic() + PATIENCE
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            break
        except FileExistsError:
            if time.monotonic() > ends:
                break  # left behind by one that died
            time.sleep(0.02)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            lock.unlink()


def write(path: Path, solved: dict[str, dict[str, Any]]) -> None:
    """Write the file so that it is whole at every moment.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    content = {"version": VERSION, "solved": dict(sorted(solved.items()))}
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            json.dump(content, stream, indent=1)
            stream.write("\n")
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def note(number: str, points: float) -> list[str]:
    """Note that an exercise is solved, the first time it is; return what there is to say, mostly nothing."""
    path = file()
    if path is None:
        return []
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            solved, remarks = read(path)
            newer = any("newer version" in each for each in remarks)
            if number not in solved and not newer:
                solved[number] = {"points": points, "on": datetime.date.today().isoformat()}
                write(path, solved)
    except OSError as problem:
        remarks = [f"It could not be noted in {path}: {problem.strerror or problem}."]
    new = [each for each in remarks if each not in _told]
    _told.update(new)
    return new


def progress() -> Table:
    """Return a table of the sets of exercises, and of what is solved.

    It is kept in a file of yours, which the table names; nothing leaves the machine. `H2D_PROGRESS` in the environment
    names another file, or "off".

    Returns
    -------
    Table
        Which prints as text and shows in a notebook.
    """
    path, solved, remarks = file(), {}, []
    if path is None:
        remarks.append("Nothing is kept: H2D_PROGRESS is off.")
    else:
        try:
            solved, remarks = read(path)
            remarks = [*remarks, f"Kept in {path}, on this machine only."]
        except OSError as problem:
            remarks = [f"{path} cannot be read: {problem.strerror or problem}."]
    rows = []
    points = of = done = exercises = 0
    for number in catalogue.set_numbers():
        classes = catalogue.in_set(number)
        those = [each for each in classes if each.number in solved]
        got = sum(each.points for each in those)
        most = sum(each.points for each in classes)
        marks = "  ".join(f"{each.number} {'✓' if each in those else '·'}" for each in classes)
        title = getattr(sys.modules[classes[0].__module__], "TITLE", "") if classes else ""
        rows.append((f"{number} {title}".strip(), marks, f"{got} of {most}"))
        points, of, done, exercises = points + got, of + most, done + len(those), exercises + len(classes)
    caption = f"Exercises solved: {done} of {exercises}, {points} of {of} points"
    return Table(caption, ("set", "exercises", "points"), tuple(rows), (2,), tuple(remarks))
