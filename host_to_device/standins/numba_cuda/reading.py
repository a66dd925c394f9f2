"""Reads a kernel's source: its syntax tree, and the objects that its free names stand for."""

from __future__ import annotations
import __future__

import ast
import builtins
import functools
import inspect
import itertools
import linecache
import operator
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

from host_to_device.standins.numba_cuda import names
from host_to_device.standins.numba_cuda.errors import refusal


def where(function: Callable, line: int) -> str:
    """Return `file.py, line 12` (or `In [3], line 12`) for a line of this function's source."""
    filename = inspect.getsourcefile(function) or "<unknown>"
    short = filename.rsplit("/", 1)[-1]
    return f"{'this cell' if 'ipykernel' in filename or short.startswith('<') else short}, line {line}"


PyCF_MASK = functools.reduce(
    operator.or_, (getattr(__future__, each).compiler_flag for each in __future__.all_feature_names)
)
_numbers = itertools.count(1)
LONGEST = 200_000  # characters of a text that may hold a function
FRAMES = 12  # in which it is looked for


def keep_source(function: Callable) -> None:
    """Keep the source of a function that `exec` makes, if the text is at hand: in a variable of the program that calls `exec`.

    Python does not keep that text. A text counts only if it compiles to exactly this function.
    """
    code = function.__code__
    if not code.co_filename.startswith("<") or linecache.getlines(code.co_filename):
        return
    if code.co_filename.startswith("<ipython") or not isinstance(code, types.CodeType):
        return
    for text in _texts(sys._getframe(1)):
        if code.co_name in text and (found := _code_in(text, code)) is not None:
            name = f"<exec {next(_numbers)}: {code.co_name}>"
            linecache.cache[name] = len(text), None, text.splitlines(True), name
            function.__code__ = code.replace(co_filename=name) if found == code else code
            return


def _texts(frame: types.FrameType | None) -> Iterator[str]:
    """Yield the texts in the variables and the constants of the functions that run."""
    seen: set[int] = set()
    for _ in range(FRAMES):
        if frame is None:
            return
        # A module's variables would be too many: only its constants.
        values = list(frame.f_locals.values()) if frame.f_locals is not frame.f_globals else []
        values += frame.f_code.co_consts
        if frame.f_locals is frame.f_globals:
            values += [each for each in frame.f_globals.values() if isinstance(each, str)]
        for value in values:
            if isinstance(value, str) and "def " in value and len(value) < LONGEST and id(value) not in seen:
                seen.add(id(value))
                yield value
        frame = frame.f_back


def _code_in(text: str, wanted: types.CodeType) -> types.CodeType | None:
    """Return the code of the function in a text that is equal to `wanted`, or None."""
    flags = wanted.co_flags & PyCF_MASK
    try:
        todo = [compile(text, wanted.co_filename, "exec", flags, dont_inherit=True)]
    except (SyntaxError, ValueError):
        return None
    while todo:
        code = todo.pop()
        if code == wanted:
            return code
        todo += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return None


def source_tree(function: Callable) -> tuple[ast.FunctionDef, str]:
    """Return the function's syntax tree with the line numbers of its file, and the file's name.

    Raises
    ------
    OSError
        If Python has no source: the function was typed into a plain prompt, or made by `exec`.
    """
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as problem:
        raise OSError(
            f"the source of {function.__name__}() is not available, so the stand-in cannot run it: "
            "write it in a notebook cell or in a file"
        ) from problem
    try:
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except SyntaxError as problem:
        raise OSError(f"the source of {function.__name__}() could not be read: {problem.msg}") from problem
    ast.increment_lineno(tree, first - 1)
    definition = next(
        (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)), None
    )
    if definition is None:
        definition = _from_lambda(tree, function)
    if isinstance(definition, ast.AsyncFunctionDef):
        place = where(function, definition.lineno)
        raise refusal(f"{function.__name__}(), {place}: an async function cannot be a kernel")
    return definition, inspect.getsourcefile(function) or "<kernel>"


def _from_lambda(tree: ast.Module, function: Callable) -> ast.FunctionDef:
    """Return the only lambda of this source as a function definition."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    if len(found) != 1:
        place = where(function, function.__code__.co_firstlineno)
        raise OSError(f"a lambda, {place}: its source is not plain enough to be found: use def")
    node = found[0]
    definition = ast.FunctionDef(
        name="lambda_", args=node.args, body=[ast.Return(node.body)], decorator_list=[], returns=None
    )
    definition.type_params = []
    ast.copy_location(definition, node)
    return ast.fix_missing_locations(definition)


class _Missing:
    """The value of a name that is known only when the kernel runs."""


MISSING = _Missing()


class Scope:
    """Resolves the free names of a function: in its closure, its module and Python's built-in names."""

    def __init__(self, function: Callable, tree: ast.FunctionDef) -> None:
        self.local = {argument.arg for argument in ast.walk(tree.args) if isinstance(argument, ast.arg)}
        stores: dict[str, list[ast.expr | None]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
                stores.setdefault(node.id, []).append(None)
            elif isinstance(node, ast.FunctionDef) and node is not tree:
                self.local |= {
                    node.name,
                    *(argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)),
                }
            elif (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                stores.setdefault(node.targets[0].id, []).append(node.value)
        parameters = set(self.local)
        self.local |= set(stores)
        # A local name that is set only once, to a literal, counts as the literal, as it does for Numba.
        self.literals = {
            name: values[0].value if isinstance(values[0], ast.Constant) else values[1].value
            for name, values in stores.items()
            if len(values) == 2 and name not in parameters
            for value in values
            if isinstance(value, ast.Constant)
        }
        free = function.__code__.co_freevars
        cells = function.__closure__ or ()
        self.closure = {}
        for name, cell in zip(free, cells, strict=True):
            try:
                self.closure[name] = cell.cell_contents
            except ValueError:  # not assigned yet; an error follows if the kernel uses it
                continue
        self.globals = function.__globals__
        self.stores = stores

    def names_of_calls(self, function: Any) -> list[str]:
        """Return the local names that are set only to results of this function."""
        return [
            name
            for name, values in self.stores.items()
            if any(isinstance(each, ast.Call) for each in values)
            and all(
                isinstance(each, ast.Call) and self.resolve(each.func) is function
                for each in values
                if each is not None
            )
            and len(values) == 2 * sum(each is not None for each in values)
        ]

    def bind(self, values: dict[str, Any]) -> None:
        """Let parameters stand for objects."""
        self.local -= set(values)
        self.closure |= values

    def resolve(self, node: ast.expr) -> Any:
        """Return the object that a name or a dotted name stands for, or MISSING."""
        if isinstance(node, ast.Name):
            if node.id in self.local:
                return MISSING
            for space in (self.closure, self.globals, vars(builtins)):
                if node.id in space:
                    return names.of_numba(space[node.id])
            return MISSING
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            # Only modules, classes and `cuda`'s namespaces: an array's attributes are known when the kernel runs.
            if isinstance(owner, types.ModuleType | type | names.Namespace):
                return names.of_numba(getattr(owner, node.attr, MISSING))
        return MISSING
