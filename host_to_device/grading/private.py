"""Checks that the public repository does not show: Python files with exercise classes, which replace or add exercises."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from types import ModuleType

from host_to_device.exercises import catalogue
from host_to_device.exercises.definition import Exercise, normal_number


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
