"""Which exercises there are: those that ship with the library, and those that a notebook has defined.

The checks of a set are the cells tagged `check` of its solution notebook, and become one module here. A checkout of the
repository has them in `solutions/`. An installed library has no solutions: `setup.py` copies each notebook's title and
checks into the folder `sets/` beside this module when the package is built.
"""

from __future__ import annotations

import json
import linecache
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from host_to_device.exercises.definition import Exercise, in_notebook, normal_number, place_in_set

SETS = "host_to_device.exercises.sets"  # the modules made here are called SETS.set02 and so on
# Classes by exercise number that a grader has and the course does not show: they replace the shipped ones.
private: dict[str, type[Exercise]] = {}
PACKAGE = Path(__file__).resolve().parent
FOLDERS = (PACKAGE / "sets", PACKAGE.parents[1] / "solutions")  # the first that holds notebooks is read


def find(number: str) -> type[Exercise]:
    """Return the class of an exercise: the notebook's own if this notebook has defined one, otherwise the shipped one.

    While nbgrader grades, the shipped class comes first.

    Raises
    ------
    ValueError
        If there is no such exercise, or its checks need a package that is not installed; the message says which
        exercises or sets there are, or which package.
    """
    number = normal_number(number)
    shipped: dict[str, type[Exercise]] = {}
    missing = ""
    try:
        shipped = {cls.number: cls for cls in _classes(number[:2])}
    except ModuleNotFoundError as problem:
        missing = (
            f"the checks of set {number[:2]} need {problem.name}, which is not installed: install it first"
        )
    shipped |= private
    here = {} if "NBGRADER_EXECUTION" in os.environ else in_notebook
    for known in (here, shipped, in_notebook):
        if number in known:
            return known[number]
    if missing:
        raise ValueError(missing)
    if shipped:
        raise ValueError(
            f"there is no exercise {number}: set {number[:2]} has {', '.join(sorted(shipped, key=place_in_set))}"
        )
    sets = ", ".join(set_numbers()) or "none"
    raise ValueError(f"there is no exercise {number}, because there is no set {number[:2]}; sets: {sets}")


def set_numbers() -> list[str]:
    """Return the two digits of each set that ships, in order."""
    return sorted(_notebooks())


def in_set(number: str) -> list[type[Exercise]]:
    """Return the exercises of a shipped set by its two digits, in order.

    The list is empty if there is no such set, or if its checks need a package that is not installed.
    """
    try:
        those = {cls.number: cls for cls in _classes(number)}
        those |= {each: cls for each, cls in private.items() if each.startswith(f"{number}.")}
        return [those[each] for each in sorted(those, key=place_in_set)]
    except ModuleNotFoundError:
        return []


def after(number: str) -> str:
    """Return what follows an exercise: the number of the next one of its set, else "set NN", else an empty string."""
    numbers = sorted((cls.number for cls in in_set(number[:2])), key=place_in_set)
    if number not in numbers:
        return ""
    following = numbers[numbers.index(number) + 1 :]
    sets = [each for each in set_numbers() if each > number[:2]]
    return following[0] if following else f"set {sets[0]}" if sets else ""


def _classes(number: str) -> list[type[Exercise]]:
    path = _notebooks().get(number)
    if path is None:
        return []
    module = sys.modules.get(f"{SETS}.set{number}") or _made(f"{SETS}.set{number}", path)
    found = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Exercise)]
    return sorted((each for each in found if each is not Exercise), key=lambda cls: place_in_set(cls.number))


def _notebooks() -> dict[str, Path]:
    """Return the notebooks with the checks, by the two digits of their set."""
    for folder in FOLDERS:
        names = os.listdir(folder) if folder.is_dir() else []
        if found := {name[:2]: folder / name for name in names if re.fullmatch(r"\d\d-.*\.ipynb", name)}:
            return found
    return {}


def _made(name: str, path: Path) -> ModuleType:
    """Return a new module that holds a notebook's checks, and as TITLE what follows the colon of its title."""
    cells: list[dict[str, Any]] = json.loads(path.read_bytes())["cells"]
    checks = [cell for cell in cells if "check" in cell["metadata"].get("tags", ())]
    source = "\n\n\n".join("".join(cell["source"]) for cell in checks)
    title = "".join(cells[0]["source"]).split("\n")[0].partition(":")[2].strip()
    return module_of(name, source, f"The checks of {path.name}.", TITLE=f"{title[:1].upper()}{title[1:]}")


def module_of(name: str, source: str, doc: str = "", **known: Any) -> ModuleType:
    """Run the source of checks as a module below SETS; return it, with `known` as names that it has from the beginning."""
    # A file of ours, though it does not exist: the stand-in reads a kernel's lines, and looks for the caller in others.
    file = str(FOLDERS[0] / f"{name.rpartition('.')[2]}.py")
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = ModuleType(name, doc)
    vars(module).update(known, __file__=file)
    sys.modules[name] = module  # a dataclass looks for its module while it runs
    try:
        exec(compile(source, file, "exec"), vars(module))
    except BaseException:  # the next call tries again, such as when a package has been installed
        del sys.modules[name]
        raise
    return module
