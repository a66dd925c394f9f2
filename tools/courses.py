"""Write the public course (`make public`), the instructor's private folder (`make teacher`), and what students get of a set.

The public course is a copy of the repository's files without solutions and exam keys. Its menu, its README and its
chapters name no solutions, and the library carries the checks of the exercises instead, as an installed one does.
The private folder has what the public course lacks.

`python tools/courses.py hand-out 02 --out FOLDER` writes a set's notebook and a page with its link, and
`python tools/courses.py next-year FOLDER` compares the sets with what was handed out, and moves the dates of the solutions.
"""

import argparse
import datetime
import re
import shutil
import subprocess
import symtable
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from authoring import notebooks  # noqa: E402
from authoring.building import student_version  # noqa: E402
from authoring.solutions import HEADING, defined  # noqa: E402
from book import address, lessons  # noqa: E402
from host_to_device.exercises import catalogue  # noqa: E402
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


# -- what students get of a set


def sections(notebook: Any) -> list[tuple[str, list[Any]]]:
    """Return the cells of a student's notebook, each exercise's under its number; other cells stand under ""."""
    found: list[tuple[str, list[Any]]] = [("", [])]
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and cell.source.startswith("## "):
            heading = HEADING.match(cell.source)
            found.append((heading[1] if heading else "", []))
        found[-1][1].append(cell)
    return found


def set_notebook(root: Path, number: str) -> Path:
    """Return the path of a set's student notebook.

    Raises
    ------
    Refused
        If there is no such set, or its solution notebook would give another one.
    """
    every = {path.name[:2]: path for path in sorted((root / "exercises").glob("[0-9][0-9]-*.ipynb"))}
    path = every.get(number.zfill(2))
    if path is None:
        raise Refused(f"there is no set {number}; sets: {', '.join(every)}")
    source = root / "solutions" / path.name
    if source.exists():
        made = student_version(notebooks.read(source), f"solutions/{path.name}")
        if notebooks.as_text(made) != path.read_text(encoding="utf-8"):
            raise Refused(f"exercises/{path.name} is older than its solutions: run `make exercises`")
    return path


def globals_of(table: symtable.SymbolTable) -> set[str]:
    """Return the names of the notebook, or of Python, that code reads."""
    is_module = table.get_type() == "module"
    read = {
        each.get_name()
        for each in table.get_symbols()
        if each.is_referenced() and (is_module or each.is_global())
    }
    return read.union(*map(globals_of, table.get_children()))


def chosen(notebook: Any, only: list[str], whole: Any) -> Any:
    """Return a student's notebook without the other exercises.

    Parameters
    ----------
    notebook
        The student's notebook.
    only
        The numbers of the exercises that stay.
    whole
        The solution notebook, or the student's where there is none: it says which exercise uses names of another one.

    Raises
    ------
    Refused
        If there is no such exercise, or a chosen one uses what one that is left out defines.
    """
    numbers = [number for number, _ in sections(notebook) if number]
    for number in only:
        if number not in numbers:
            raise Refused(f"there is no exercise {number}; the set has {', '.join(numbers)}")
    first: dict[str, str] = {}  # by the name, the first exercise that defines it
    for number, cells in sections(whole):
        code = [
            re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", cell.source) for cell in cells if cell.cell_type == "code"
        ]
        own = set().union(*map(defined, code))
        if number in only:
            read = set().union(*(globals_of(symtable.symtable(each, number, "exec")) for each in code))
            for name in sorted(read - own):
                if first.get(name, "") not in ("", *only):
                    raise Refused(
                        f"{number} uses {name}, which {first[name]} defines: hand out {first[name]}, too"
                    )
        for name in own:
            first.setdefault(name, number)
    notebook.cells = [cell for number, cells in sections(notebook) if number in ("", *only) for cell in cells]
    return notebook


def hand_out(root: Path, number: str, target: Path, only: list[str]) -> list[Path]:
    """Write what students get of a set: its notebook, and a page with the link, the minutes and the points.

    Parameters
    ----------
    root
        The course, private or public.
    number
        The two digits of the set.
    target
        The folder to write; other files in it stay.
    only
        Numbers of exercises, to hand out these and no others; empty for the whole set.

    Returns
    -------
    list of Path
        The two files.
    """
    path = set_notebook(root, number)
    notebook = notebooks.read(path)
    every = [cls for cls in catalogue.in_set(path.name[:2]) if not only or cls.number in only]
    title = notebook.cells[0].source.splitlines()[0]
    if only:
        source = root / "solutions" / path.name
        notebook = chosen(notebook, only, notebooks.read(source if source.exists() else path))
    lines = [title, ""]
    if not only and not PRIVATE_SET.match(path.name):  # what the public course has
        lines += [f"Open the notebook in Colab: {address.read(root).colab(f'exercises/{path.name}')}", ""]
    lines += [
        f"With the file `{path.name}`: open it in JupyterLab, or in Colab with *File*, *Upload notebook*.",
        "Save the notebook when you are done, and hand in the `.ipynb` file.",
        "",
        "| exercise | minutes | points |",
        "|---|---|---|",
    ]
    for cls in every:
        optional = ", optional" if cls.optional else ""
        lines.append(f"| {cls.number} {cls.title()}{optional} | {cls.minutes} | {cls.points} |")
    lines.append(f"| all | {sum(cls.minutes for cls in every)} | {sum(cls.points for cls in every)} |")
    target.mkdir(parents=True, exist_ok=True)
    written = [target / path.name, target / f"{path.stem}.md"]
    written[0].write_text(notebooks.as_text(notebook), encoding="utf-8")
    written[1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return written


def unchanged(root: Path, last: Path) -> dict[str, list[str]]:
    """Return the exercises of each set that a folder of last year's hand-outs has with the same cells.

    Raises
    ------
    Refused
        If no notebook of the course is in the folder.
    """
    found: dict[str, list[str]] = {}
    for path in sorted(last.glob("[0-9][0-9]-*.ipynb")):
        now = root / "exercises" / path.name
        if now.exists():
            then, today = (
                {
                    number: [cell.source for cell in cells]
                    for number, cells in sections(notebooks.read(each))
                    if number
                }
                for each in (path, now)
            )
            found[path.name[:2]] = [number for number in then if today.get(number) == then[number]]
    if not found:
        raise Refused(f"{last} has no notebook of a set: name the folder in which last year's hand-outs are")
    return found


def moved_dates(root: Path) -> int:
    """Move each date in `solutions/release.toml` by 52 weeks, to the same day of the week; return how many there were."""
    path = root / RELEASE
    if not path.exists():
        return 0
    released(root, datetime.date.today())  # refuses what is no date

    def later(found: re.Match[str]) -> str:
        return found[1] + str(datetime.date.fromisoformat(found[2]) + datetime.timedelta(weeks=52))

    text, count = re.subn(
        r'^(\s*"?\d\d"?\s*=\s*)(\d{4}-\d\d-\d\d)', later, path.read_text("utf-8"), flags=re.M
    )
    path.write_text(text, encoding="utf-8")
    return count


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Run a command; return its exit status."""
    parser = argparse.ArgumentParser(prog="tools/courses.py", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="what", required=True)
    for name, folder in (("public", PUBLIC), ("teacher", TEACHER)):
        command = commands.add_parser(name)
        command.add_argument("--out", type=Path, help=f"the folder to write (default: {folder})")
    command = commands.add_parser("hand-out", help="write the notebook of a set, and a page with its link")
    command.add_argument("set", help='the two digits of the set, such as "02"')
    command.add_argument("--out", type=Path, required=True, help="the folder to write")
    command.add_argument("--only", nargs="+", metavar="NN.x", default=[], help="exercises, not the whole set")
    command = commands.add_parser("next-year", help="compare the sets with last year's, and move the dates")
    command.add_argument("last", type=Path, help="the folder in which last year's hand-outs are")
    asked = parser.parse_args(arguments)
    try:
        if asked.what == "public":
            target = asked.out or root / PUBLIC
            shown = public(root, target)
            print(f"{target}: the course, with the solutions of {', '.join(shown) or 'no set'}")
            print(
                f"left out with the solutions: {len(FILES)} files of tests, named in tests/needing_solutions.py"
            )
        elif asked.what == "teacher":
            target = asked.out or root / TEACHER
            print(f"{target}: {len(teacher(root, target))} files, for you and your assistants only")
        elif asked.what == "hand-out":
            print(*hand_out(root, asked.set, asked.out, asked.only), sep="\n")
        else:
            for number, those in unchanged(root, asked.last).items():
                told = f"as last year, so last year's answers earn their points: {', '.join(those)}"
                print(f"set {number}: {told if those else 'every task differs from last year'}")
            print(f"{RELEASE}: {moved_dates(root)} dates moved by 52 weeks")
    except Refused as problem:
        made = "make " * (asked.what in ("public", "teacher"))
        print(f"{made}{asked.what}: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
