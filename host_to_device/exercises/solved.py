"""Which exercises a learner has solved: kept in a small file of the learner's. Nothing leaves the machine.

The file is `host-to-device/progress.json` in the system's folder for user data, or the file that H2D_PROGRESS names.
`H2D_PROGRESS=off` keeps nothing. The learner may read, copy, edit and delete the file.
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
_told: set[str] = set()  # remarks that have been printed once and are not repeated


def file() -> Path | None:
    """Return the file's path; None if nothing is kept."""
    given = os.environ.get("H2D_PROGRESS", "")
    if given:
        return None if given.lower() in ("off", "0") else Path(given).expanduser()
    return folders.data("progress.json")


def read(path: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the solved exercises by number, and remarks for the learner; a broken file is moved aside.

    Raises
    ------
    OSError
        If the file exists and cannot be read or moved.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {}, []
    try:
        content = json.loads(text)
        if content["version"] > VERSION:
            return {}, [f"A newer version of this library wrote {path}, so this one does not change it."]
        solved = _solved_of(content)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        aside = next(
            each
            for each in (path.with_name(f"{path.stem}.broken{n or ''}{path.suffix}") for n in range(10_000))
            if not each.exists()
        )
        os.replace(path, aside)
        return {}, [f"{path} could not be read: it is now called {aside.name}, and a new file begins."]
    return solved, []


def _solved_of(content: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the solved exercises of a file's content; a newer or another content raises an error."""
    if content["version"] > VERSION:
        raise ValueError
    return {
        number: {"points": float(each["points"]), "on": str(each["on"])[:10]}
        for number, each in content["solved"].items()
        if NUMBER.fullmatch(number)
    }


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other notebooks from writing; the lock of a process that has died is ignored after `PATIENCE`."""
    # By hand: filelock's lock that vanishes when it is released asks for the host's name, and nothing here may.
    lock, ends = path.with_name(f"{path.name}.lock"), time.monotonic() + PATIENCE
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            break
        except FileExistsError:
            if time.monotonic() > ends:
                break  # left behind by a process that died
            time.sleep(0.02)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            lock.unlink()


def write(path: Path, solved: dict[str, dict[str, Any]]) -> None:
    """Replace the file in one step, so that a reader never sees half of it.

    Raises
    ------
    OSError
        If the file cannot be written.
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
    """Note the day on which an exercise was first solved; return remarks for the learner, usually none."""
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
        remarks = [f"Your progress could not be saved in {path}: {problem.strerror or problem}."]
    new = [each for each in remarks if each not in _told]
    _told.update(new)
    return new


def _copied(given: str | os.PathLike[str], word: str) -> Path:
    """Return the file that `progress` saves to or loads from; a folder stands for `progress.json` in it.

    Raises
    ------
    FileNotFoundError
        If it, or for saving its folder, is not there.
    """
    path = Path(given).expanduser()
    path = path / "progress.json" if path.is_dir() else path
    wanted = path if word == "load" else path.parent
    if not wanted.exists():
        drive = " (on Colab first run: from google.colab import drive; drive.mount('/content/drive'))"
        hint = drive if path.parts[:3] == ("/", "content", "drive") else ""
        raise FileNotFoundError(f"h2d.progress({word}=…): there is no {wanted}{hint}")
    return path


def _loaded(path: Path) -> dict[str, dict[str, Any]]:
    """Return the solved exercises of a file that `progress` saved; unlike `read` it moves nothing."""
    try:
        return _solved_of(json.loads(path.read_bytes()))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ValueError(f"{path} is no file that this version's h2d.progress(save=…) wrote") from None


def _copy(
    path: Path | None, save: str | os.PathLike[str] | None, load: str | os.PathLike[str] | None
) -> list[str]:
    """Save and load as `progress` is asked to; return a remark for each."""
    remarks: list[str] = []
    if path is None and (save is not None or load is not None):
        raise ValueError("no progress is kept here, because H2D_PROGRESS is off: leave it out")
    if load is not None and path is not None:
        source = _copied(load, "load")
        there = _loaded(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            solved, _ = read(path)
            for number, each in there.items():
                if number not in solved or each["on"] < solved[number]["on"]:
                    solved[number] = each
            write(path, solved)
        remarks.append(f"Loaded from {source}: {len(there)} solved exercises.")
    if save is not None and path is not None:
        target = _copied(save, "save")
        solved, _ = read(path)
        write(target, solved)
        remarks.append(f"Copied to {target}: {len(solved)} solved exercises.")
    return remarks


def progress(
    *, save: str | os.PathLike[str] | None = None, load: str | os.PathLike[str] | None = None
) -> Table:
    """Return a table of the sets of exercises that marks the exercises you have solved.

    The library keeps your progress in a file of yours, which the table names; nothing leaves the machine. The
    environment variable `H2D_PROGRESS` names another file, or "off". A machine in the cloud loses this file when it ends:
    `h2d.progress(save=…)` copies it, and `h2d.progress(load=…)` brings it back on the next machine.

    Parameters
    ----------
    save
        A file or an existing folder to copy your progress to, such as "/content/drive/MyDrive" on Colab.
    load
        A file or folder that `save` wrote. What it has is added to what you have solved here; each exercise keeps its
        earlier day.

    Raises
    ------
    FileNotFoundError
        If the folder to save to, or the file to load, is not there.
    ValueError
        If the file to load is no saved progress, or if no progress is kept here.

    Returns
    -------
    Table
        A table that prints as text and shows in a notebook.

    Examples
    --------
    >>> print(h2d.progress())
    Exercises solved: ... of ... points
    set                             exercises ...
    01 CPU and GPU architecture          a ·  b ·  c ·  1 ...
    """
    path = file()
    copied = _copy(path, save, load)
    solved: dict[str, dict[str, Any]] = {}
    remarks: list[str] = []
    if path is None:
        remarks.append("Your progress is not saved: H2D_PROGRESS is off.")
    else:
        try:
            solved, remarks = read(path)
            remarks = [*remarks, f"Saved in {path}, on this machine only.", *copied]
        except OSError as problem:
            remarks = [f"{path} cannot be read: {problem.strerror or problem}."]
    rows = []
    points = of = done = exercises = 0
    for number in catalogue.set_numbers():
        classes = catalogue.in_set(number)
        those = [each for each in classes if each.number in solved]
        got = sum(each.points for each in those)
        most = sum(each.points for each in classes)
        marks = "  ".join(f"{each.number[3:]} {'✓' if each in those else '·'}" for each in classes)
        title = getattr(sys.modules[classes[0].__module__], "TITLE", "") if classes else ""
        rows.append((f"{number} {title}".strip(), marks, f"{got} of {most}"))
        points, of, done, exercises = points + got, of + most, done + len(those), exercises + len(classes)
    caption = f"Exercises solved: {done} of {exercises}, {points} of {of} points"
    return Table(caption, ("set", "exercises", "points"), tuple(rows), (2,), tuple(remarks))
