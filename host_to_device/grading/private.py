"""Checks that the public repository does not show: Python files with exercise classes, which replace or add exercises.

The inputs of such a check do not reach a student. A verdict names inputs and results, and a part of it comes from the
process of the student's code, which has seen the inputs. So a student reads only words that stand in the check's source.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

from host_to_device.exercises import catalogue, failures, judging
from host_to_device.exercises.definition import Exercise, normal_number
from host_to_device.exercises.verdicts import Verdict


class BadChecks(Exception):
    """A file of checks cannot be used; the message is one line that names the file and says what to do."""


def read(folder: Path) -> dict[str, str]:
    """Return the sources of a folder's Python files by their names.

    Raises
    ------
    BadChecks
        If there is no such folder, or no Python file in it.
    """
    found = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    if not found:
        raise BadChecks(f"{folder} has no Python file (*.py): name the folder with the private checks")
    return found


def use(sources: dict[str, str]) -> None:
    """Let the exercise classes of these sources replace the shipped ones, in this process.

    Raises
    ------
    BadChecks
        If a file does not run, or holds no exercise.
    """
    catalogue.private.clear()
    for name, source in sources.items():
        classes = [
            each
            for each in vars(_module(name, source)).values()
            if isinstance(each, type) and issubclass(each, Exercise) and each.__module__ == _name(name)
        ]
        if not classes:
            raise BadChecks(f"{name} has no exercise: write a class with the base class Exercise in it")
        for cls in classes:
            try:
                number = normal_number(cls.number)
            except ValueError as problem:
                raise BadChecks(f"{name}: class {cls.__name__}: number: {problem}") from None
            if number in catalogue.private:
                raise BadChecks(f"{name}: exercise {number} is there twice: keep one class")
            catalogue.private[number] = cls


def is_hidden(number: str) -> bool:
    """Return whether no student has the check of an exercise: a private one, or one of the sets 90 to 99."""
    return number in catalogue.private or number.startswith("9")


def told(verdict: Verdict, misconception: str = "") -> str:
    """Return what a student may read of a verdict: of a hidden check no input, no result, and no line from its run.

    Parameters
    ----------
    verdict
        The verdict on the student's answer.
    misconception
        The title of the known mistake that the answer shows, or "".
    """
    number, text = verdict.number, verdict.text
    if not is_hidden(number) or verdict.right or text == f"{number} is not written yet":
        return text
    lines = [f"{number} is not right yet: it fails a check whose inputs are not shown."]
    lines += [f"A known mistake: {misconception}."] * bool(misconception)
    hints = [line for line in text.splitlines() if line.startswith("Hint: ")]
    words = _words(catalogue.find(number)) if hints else set()
    return "\n".join([*lines, *(line for line in hints if line.removeprefix("Hint: ") in words)])


def _words(cls: type[Exercise]) -> set[str]:
    """Return the texts in the source of a check, of its base classes, and of what judges: no run has made them."""
    names = {each.__module__ for each in cls.__mro__ if issubclass(each, Exercise) and each is not Exercise}
    sources = map(inspect.getsource, (judging, failures, *(sys.modules[name] for name in names)))
    return {
        node.value
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def key(sources: dict[str, str]) -> str:
    """Return a text that differs where the sources do; "" for none."""
    return hashlib.sha256(repr(sorted(sources.items())).encode()).hexdigest() if sources else ""


def _name(file: str) -> str:
    stem = re.sub(r"\W", "_", file.removesuffix(".py"))
    return f"{catalogue.SETS}.private_{stem}"


def _module(file: str, source: str) -> ModuleType:
    try:
        return catalogue.module_of(_name(file), source)
    except Exception as problem:
        said = str(problem).splitlines() or [""]
        raise BadChecks(f"{file} does not run: {type(problem).__name__}: {said[0]}") from None
