"""Write the public course (`make public`) and the instructor's private folder (`make teacher`).

The public course is a copy of the repository's files without solutions and exam keys. Its menu, its README and its
chapters name no solutions, and the library carries the checks of the exercises instead, as an installed one does.
The private folder has what the public course lacks.
"""

import argparse
import datetime
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from book import lessons  # noqa: E402
from setup import checks_of  # noqa: E402
from tests.needing_solutions import FILES  # noqa: E402

PUBLIC, TEACHER = Path("_build", "public"), Path("_build", "teacher")
MARK = ".made-by-make"  # in a folder that a command here has made, and may therefore make again
KEPT = {".git", MARK, "_build", ".venv"}  # what a new run leaves where it is
RELEASE = "solutions/release.toml"
SETS = "host_to_device/exercises/sets"
# Pages that quote solutions, and files that only authors of exercises use.
PRIVATE = ("solutions", "chapters/tested.md", "tests/commands/exercises", *FILES)
PRIVATE_SET = re.compile(r"9\d-")  # sets of an instructor's own exams: their checks are private, too

# Sentences about solutions, with what stands in their place. A sentence that is no longer there stops the command.
SENTENCES = {
    "index.md": [("with hints and explained solutions. You may", "with hints. You may")],
    "README.md": [
        (
            "Each lesson comes with a set of exercises and a set of solutions, both as notebooks.\n",
            "Each lesson comes with a set of exercises as a notebook; its instructor has the solutions.\n",
        ),
        ("One command makes the students' notebooks from the solutions, so the two always agree.\n", ""),
    ],
}
ABOUT = """# Solutions

The instructor of this course has the solutions.
A solution appears here when the instructor releases it.
"""


class Refused(Exception):
    """The command cannot do what it was asked; the message says what to do."""


def project_files(root: Path) -> list[str]:
    """Return the paths of the files that git knows or would add, relative to `root`."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(f"{root} is no clone: run `git init` there first (git says: {done.stderr.strip()})")
    return sorted({name for name in done.stdout.split("\0") if name and (root / name).is_file()})


def is_private(name: str) -> bool:
    """Return whether the public course leaves a file out."""
    exercises = name.startswith("exercises/") and PRIVATE_SET.match(name.removeprefix("exercises/"))
    return bool(exercises) or any(name == each or name.startswith(f"{each}/") for each in PRIVATE)


def empty(folder: Path, root: Path) -> None:
    """Make a folder for a copy, or empty one that a command here has made."""
    if folder.resolve() in (root.resolve(), *root.resolve().parents):
        raise Refused(f"{folder} holds this course: name another folder with --out")
    if folder.exists() and any(folder.iterdir()) and not (folder / MARK).exists():
        raise Refused(f"{folder} has files that this command did not write: name an empty folder with --out")
    folder.mkdir(parents=True, exist_ok=True)
    for each in folder.iterdir():
        if each.name not in KEPT:
            shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
    (folder / MARK).write_text("`make public` and `make teacher` may replace the files in this folder.\n")


def copy(names: Iterable[str], root: Path, target: Path) -> None:
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, target / name)


def released(root: Path, today: datetime.date) -> list[str]:
    """Return the two digits of each set whose solutions are public on a day.

    Raises
    ------
    Refused
        If `solutions/release.toml` has a line that is no set with a date.
    """
    path = root / RELEASE
    try:
        dates = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except tomllib.TOMLDecodeError as problem:
        raise Refused(f'{RELEASE}: {problem}; write a line like "02" = 2027-02-12') from None
    for number, date in dates.items():
        if type(date) is not datetime.date or not list((root / "solutions").glob(f"{number}-*.ipynb")):
            raise Refused(f'{RELEASE}: {number} = {date}: write a set and a date, like "02" = 2027-02-12')
    return sorted(number for number, date in dates.items() if date <= today)


def without(entry: dict[str, Any], gone: set[str]) -> dict[str, Any]:
    """Return a part of the table of contents without the files that are gone."""
    kept = dict(entry)
    for key in ("parts", "chapters", "sections"):
        if key in kept:
            kept[key] = [without(each, gone) for each in kept[key] if each.get("file") not in gone]
            if not kept[key]:
                del kept[key]
    return kept


def unlinked(text: str, gone: Iterable[str]) -> str:
    """Return a page without links to pages that are gone.

    What goes with a link is the parenthesis around it, or else the clause after a semicolon, or else its sentence: a
    line of the source.
    """
    for name in gone:
        link = rf"\[[^\]]*\]\((?:\.\./)?(?:[\w-]+/)?{re.escape(Path(name).name)}(?:#[\w-]*)?\)"
        if name.startswith("solutions/"):
            link = rf"\[[^\]]*\]\(\.\./{re.escape(name)}(?:#[\w-]*)?\)"
        text = re.sub(rf" \({link}\)", "", text)
        text = re.sub(rf"; (?:the )?{link}[^.;\n]*(?=\.)", "", text)
        text = re.sub(rf"^.*{link}.*\n", "", text, flags=re.M)
    return text


def public(root: Path, target: Path, today: datetime.date | None = None) -> list[str]:
    """Write the public course; return the names of the solutions that it has because they are released.

    Parameters
    ----------
    root
        The repository with the solutions.
    target
        The folder to write. What an earlier run has written is replaced; its `.git` stays.
    today
        The day that decides which solutions are released, by default this one.
    """
    solutions = sorted(path.relative_to(root).as_posix() for path in (root / "solutions").glob("*.ipynb"))
    if not solutions:
        raise Refused(f"{root} has no solutions: this is a public course already")
    numbers = released(root, today or datetime.date.today())
    shown = [name for name in solutions if Path(name).name[:2] in numbers]
    names = project_files(root)
    empty(target, root)
    copy([name for name in names if not is_private(name)] + shown, root, target)
    (target / "solutions").mkdir(exist_ok=True)
    (target / "solutions" / "README.md").write_text(ABOUT, encoding="utf-8")
    (target / SETS).mkdir(parents=True)
    for name in solutions:
        if not PRIVATE_SET.match(Path(name).name):
            (target / SETS / Path(name).name).write_text(checks_of(root / name), encoding="utf-8")

    gone = {name for name in names if is_private(name)} - set(shown)
    pages = {name.rpartition(".")[0] for name in gone}
    contents = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    listed = yaml.safe_dump(without(contents, pages), sort_keys=False, allow_unicode=True, width=200)
    (target / "_toc.yml").write_text(listed, encoding="utf-8")
    linked = [name for name in gone if name.endswith(".ipynb") or name.startswith("chapters/")]
    for path in (target / "chapters").glob("*.md"):
        path.write_text(unlinked(path.read_text(encoding="utf-8"), linked), encoding="utf-8")
    for name, pairs in SENTENCES.items():
        text = (target / name).read_text(encoding="utf-8")
        for before, after in pairs:
            if before not in text:
                raise Refused(f"{name} no longer says {before.strip()!r}: mend SENTENCES in tools/courses.py")
            text = text.replace(before, after)
        (target / name).write_text(text, encoding="utf-8")
    lessons.renew_readme(target)
    return shown


def teacher(root: Path, target: Path) -> list[str]:
    """Write the instructor's private folder; return its files."""
    names = [name for name in project_files(root) if name.startswith("solutions/")]
    if not any(name.endswith(".ipynb") for name in names):
        raise Refused(f"{root} has no solutions: run this command in the repository that has them")
    empty(target, root)
    copy(names, root, target)
    copied = sorted((root / "authoring" / "private_checks").iterdir())
    for path in copied:
        (target / "private-checks").mkdir(exist_ok=True)
        shutil.copy2(path, target / "private-checks" / path.name)
    return [*names, *(f"private-checks/{path.name}" for path in copied)]


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Run a command; return its exit status."""
    parser = argparse.ArgumentParser(prog="tools/courses.py", description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("public", "teacher"))
    parser.add_argument("--out", type=Path, help=f"the folder to write (default: {PUBLIC} or {TEACHER})")
    asked = parser.parse_args(arguments)
    target = asked.out or root / (PUBLIC if asked.what == "public" else TEACHER)
    try:
        if asked.what == "public":
            shown = public(root, target)
            print(f"{target}: the course, with the solutions of {', '.join(shown) or 'no set'}")
            print(
                f"left out with the solutions: {len(FILES)} files of tests, named in tests/needing_solutions.py"
            )
        else:
            print(f"{target}: {len(teacher(root, target))} files, for you and your assistants only")
    except Refused as problem:
        print(f"make {asked.what}: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
