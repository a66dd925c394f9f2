"""What of a check goes into the sandbox: the run of an exercise and what it calls, and nothing that knows what is right."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import linecache
import sys
from types import ModuleType

from host_to_device.exercises.definition import Exercise

ALWAYS = {"number", "needs", "seconds"}  # of a class, beside `run` and what `run` uses
NEVER = {"given", "cases", "judge", "says", "size", "remark", "hints", "raised", "see"}


def stripped(cls: type[Exercise]) -> str:
    """Return the source of an exercise's class with `run`, and only what `run` uses of the class and of its imports.

    Raises
    ------
    ValueError
        If `run` uses what knows the right result, such as `judge`.
    """
    runs_it = next(each for each in cls.__mro__ if "run" in vars(each))
    if runs_it is not cls:  # a private check with other cases
        if own := sorted({"needs", "seconds"} & set(vars(cls))):
            raise ValueError(f"{cls.number}: {cls.__name__} has {own[0]} of its own: write run in it, too")
        cls = runs_it
    elif cls.__bases__ != (Exercise,):
        raise ValueError(
            f"{cls.number}: {cls.__name__} has a run of its own: its base class has to be Exercise"
        )
    tree = _parsed(inspect.getsource(sys.modules[cls.__module__]))
    classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
    wanted: dict[str, set[str]] = {}  # members, by the class that has them
    waiting = [(cls.__name__, name) for name in ("run", *ALWAYS)]
    while waiting:
        owner, name = waiting.pop()
        member = next((each for each in classes[owner].body if name in _names(each)), None)
        if member is None or name in wanted.setdefault(owner, set()):
            continue
        if name in NEVER:
            raise ValueError(f"{cls.number}: run uses {owner}.{name}, which the sandbox must not have")
        wanted[owner].add(name)
        for each in ast.walk(member):
            if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
                whose = owner if each.value.id in ("self", "cls") else each.value.id
                waiting += [(whose, each.attr)] * (whose in classes)
    kept = [copy.copy(classes[owner]) for owner in classes if wanted.get(owner)]  # the tree is kept whole
    for each in kept:
        each.body = [member for member in each.body if wanted[each.name] & set(_names(member))]
    used = {each.id for found in kept for each in ast.walk(found) if isinstance(each, ast.Name)}
    imports: dict[str, ast.stmt] = {}  # by the name that they bind; the checks of a set repeat them
    for each in tree.body:
        for alias in each.names if isinstance(each, ast.Import | ast.ImportFrom) else ():
            name = (alias.asname or alias.name).split(".")[0]
            if name in used:
                if isinstance(each, ast.ImportFrom):
                    imports[name] = ast.ImportFrom(each.module, [alias], 0)
                else:
                    imports[name] = ast.Import([alias])
    return ast.unparse(ast.Module([*imports.values(), *kept], []))


@functools.cache
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def _names(member: ast.stmt) -> list[str]:
    if isinstance(member, ast.FunctionDef | ast.ClassDef):
        return [member.name]
    if isinstance(member, ast.Assign):
        return [
            each.id for target in member.targets for each in ast.walk(target) if isinstance(each, ast.Name)
        ]
    if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
        return [member.target.id]
    return []


def made(source: str, number: str) -> Exercise:
    """Return the exercise of a source that `stripped` has made."""
    file = f"<run of {number}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    module = ModuleType(f"run_of_{number.replace('.', '_')}")
    exec(compile(source, file, "exec"), vars(module))
    [cls] = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Exercise) and vars(each).get("number") == number
    ]
    return cls()
