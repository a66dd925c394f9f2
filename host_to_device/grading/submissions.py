"""Find the notebooks that a class has handed in: files, folders, and the zips of Canvas and Moodle.

Zips are read, never unpacked: no name in one can lead out of it. Links are not followed.
"""

from __future__ import annotations

import re
import stat
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from host_to_device.grading import cells

# "lopezana_LATE_4711_12345_02-host-and-device-1.ipynb": Canvas's name, the student's and the submission's number
CANVAS = re.compile(
    r"(?P<student>[^_/]+)_(?:(?P<late>LATE)_)?(?P<identifier>\d+)_(?P<submission>\d+)_(?P<file>.+)"
)
# "Ana López_4711_assignsubmission_file_", a folder or the start of a file's name
MOODLE = re.compile(r"(?P<student>[^/]+?)_(?P<identifier>\d+)_assignsubmission_file_?(?P<file>.*)")
IGNORED = re.compile(r"(?:^|/)(?:\.[^/]*|__MACOSX|[^/]*-checkpoint\.ipynb)(?:/|$)")
MOST = 5_000  # files of one zip
LARGEST_ZIP = 2**30  # bytes of all notebooks of one zip together


@dataclass(frozen=True)
class Submission:
    """A file that was handed in.

    Attributes
    ----------
    student
        The name under which marks are returned.
    file
        Where it was found, for people.
    content
        The bytes of the file; empty if `problem` says why they could not be read.
    identifier
        The student's number in the LMS, or "".
    late
        Whether the LMS says that it came late.
    """

    student: str
    file: str
    content: bytes = b""
    problem: str = ""
    identifier: str = ""
    late: bool = False


class NothingThere(Exception):
    """There is nothing to grade; the message says where, and what was expected."""


def found(place: Path) -> list[Submission]:
    """Return everything that was handed in, in the order of the names.

    Parameters
    ----------
    place
        A folder of notebooks, of a folder for each student, or of zips; a zip; or one notebook.

    Raises
    ------
    NothingThere
        If there is no such place, or no notebook in it.
    """
    if not place.exists():
        raise NothingThere(f"{place} does not exist: name the folder or the zip with the notebooks")
    if place.is_dir():
        every = [each for path in sorted(place.iterdir()) for each in _below(path, place)]
    else:
        every = list(_of_file(place, place.name))
    if not every:
        raise NothingThere(f"{place} has no notebook (*.ipynb), and no zip that has one")
    return every


def chosen(every: Iterable[Submission], numbers: Iterable[str]) -> tuple[list[Submission], list[Submission]]:
    """Return one submission for each student, and those that are not graded.

    Of several notebooks of a student, the one with the most answers of the set counts; of equal ones, the one whose name
    comes last, as Canvas numbers them.

    Parameters
    ----------
    every
        What `found` returns.
    numbers
        The numbers of the set's exercises.
    """
    wanted = set(numbers)
    by_student: dict[str, list[Submission]] = {}
    for each in every:
        by_student.setdefault(each.student, []).append(each)
    best, others = [], []
    for student in sorted(by_student, key=str.lower):
        *worse, last = sorted(by_student[student], key=lambda each: _worth(each, wanted))
        best.append(last)
        others += worse
    return best, others


def _worth(each: Submission, wanted: set[str]) -> tuple[int, str]:
    try:
        return len(wanted & cells.read(each.content).answered), each.file
    except cells.Unreadable:
        return -1, each.file


def _below(path: Path, top: Path) -> Iterator[Submission]:
    """Yield what lies at a path and below; the first folder of the path names the student."""
    name = path.relative_to(top).as_posix()
    if IGNORED.search(name):
        return
    if path.is_symlink():
        if path.suffix in (".ipynb", ".zip") or path.is_dir():
            yield _named(name, problem="it is a link, which is not followed")
    elif path.is_dir():
        for each in sorted(path.iterdir()):
            yield from _below(each, top)
    elif path.suffix in (".ipynb", ".zip"):
        yield from _of_file(path, name)


def _of_file(path: Path, name: str) -> Iterator[Submission]:
    if path.suffix == ".zip":
        yield from _in_zip(path, name)
        return
    size = path.stat().st_size
    if size > cells.LARGEST:
        yield _named(
            name,
            problem=f"the file has {size / 2**20:,.0f} MB, and the limit is {cells.LARGEST / 2**20:.0f} MB",
        )
        return
    yield _named(name, content=path.read_bytes())


def _in_zip(path: Path, name: str) -> Iterator[Submission]:
    """Yield the notebooks of a zip: of a class, or of the student whose zip it is."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [each for each in archive.infolist() if _is_notebook(each)][: MOST + 1]
            alone = len(members) == 1 and not _of_lms(members[0].filename)
            left = LARGEST_ZIP
            for member in members[:MOST]:
                inside = PurePosixPath(member.filename.replace("\\", "/"))
                label = name if alone else inside.as_posix()
                each = _named(label, *_content(archive, member, left))
                left -= len(each.content)
                yield replace(each, file=f"{name}:{inside}")
            if len(members) > MOST:
                yield Submission(
                    name, name, problem=f"the zip has more than {MOST:,} notebooks: the others are not read"
                )
    except (zipfile.BadZipFile, OSError, NotImplementedError, EOFError, ValueError) as problem:
        yield _named(name, problem=f"the zip cannot be read ({problem})")


def _is_notebook(member: zipfile.ZipInfo) -> bool:
    name = member.filename.replace("\\", "/")
    return name.endswith(".ipynb") and not member.is_dir() and not IGNORED.search(name.lstrip("./"))


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, left: int) -> tuple[bytes, str]:
    """Return a member's bytes and ""; or no bytes and the problem."""
    if stat.S_ISLNK(member.external_attr >> 16):
        return b"", "it is a link, which is not followed"
    if member.flag_bits & 1:
        return b"", "it is encrypted"
    most = min(cells.LARGEST, left)
    try:
        with archive.open(member) as stream:  # the header may lie about the size
            content = stream.read(most + 1)
    except (zipfile.BadZipFile, OSError, NotImplementedError, EOFError, RuntimeError) as problem:
        return b"", f"it cannot be read ({problem})"
    if len(content) > most:
        return b"", f"it is larger than {most / 2**20:,.0f} MB when unpacked"
    return content, ""


def _of_lms(name: str) -> re.Match[str] | None:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return next(
        (match for part in parts if (match := MOODLE.fullmatch(part) or CANVAS.fullmatch(part))), None
    )


def _named(name: str, content: bytes = b"", problem: str = "") -> Submission:
    """Return a submission with the student that its name tells."""
    if match := _of_lms(name):
        named = match.groupdict()
        late = bool(named.get("late"))
        return Submission(named["student"].strip(), name, content, problem, named["identifier"], late)
    parts = [each for each in PurePosixPath(name.replace("\\", "/")).parts if each not in ("..", "/", ".")]
    student = parts[0] if len(parts) > 1 else PurePosixPath(parts[-1] if parts else name).stem
    return Submission(student.strip() or "without a name", name, content, problem)
