"""Rewrite a kernel so that compiled code reports every access.

`a[i]` becomes `_h2d_load(a, i, site, …)` and `a[i] = v` becomes `_h2d_store(a, i, v, site, …)`, atomics likewise.
A site is a number that stands for a line of the source. Compiled code does not watch warp operations, fences, local
arrays and slices: a kernel with one of them raises `CannotWatch`, and the check runs interpreted.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import replace

from host_to_device.checking.accesses import ATOMIC, READ, WRITE
from host_to_device.checking.negatives import Indices, is_plain
from host_to_device.standins.numba_cuda import random
from host_to_device.standins.numba_cuda.rewriting import (
    PREFIX,
    SHARED,
    STOP,
    SYNC,
    WARP_SYNCS,
    Program,
)

LOAD, STORE = f"{PREFIX}load", f"{PREFIX}store"
WATCHED_ATOMIC = f"{PREFIX}watched_"
MOST_SITES = 1 << 16


class CannotWatch(Exception):
    """The kernel does something that only the interpreter watches; the message says what."""


def instrumented(program: Program) -> tuple[Program, list[tuple[str, tuple[str, int]]]]:
    """Return a program that reports its accesses, and its sites: the kind of access, file and line of each.

    Raises
    ------
    CannotWatch
        If it does something that compiled code does not watch.
    """
    if any(hasattr(value, "py_func") for value in program.constants.values()):
        raise CannotWatch("it calls a function compiled by numba.njit")
    if any(each.captured is not None for each in program.shared):
        raise CannotWatch("it uses a device array of its module")
    if any(_is_reduction(each) for tree in _trees(program) for each in ast.walk(tree)):
        raise CannotWatch("it reduces an array")
    libraries = {getattr(each, "py_func", each) for each in random.DEVICE_FUNCTIONS}
    if any(
        getattr(each.original, "py_func", each.original) in libraries for each in program.functions.values()
    ):
        raise CannotWatch("it draws random numbers")
    sites: list[tuple[str, tuple[str, int]]] = []
    state = f"{SHARED}[{len(program.shared)}]"
    functions = {}
    for name, each in [*program.functions.items(), ("", program.kernel)]:
        tree = Indices(_from_start).visit(copy.deepcopy(each.tree))
        tree = _Instrument(each.filename, sites, state).visit(tree)
        functions[name] = replace(each, tree=ast.fix_missing_locations(tree))
    kernel = functions.pop("")
    if len(sites) >= MOST_SITES:
        raise CannotWatch("it has too many accesses in its source")
    return replace(program, kernel=kernel, functions=functions), sites


def _trees(program: Program) -> list[ast.FunctionDef]:
    return [each.tree for each in (*program.functions.values(), program.kernel)]


def _is_reduction(node: ast.AST) -> bool:
    """Return whether a node is the name of a reduction of an array, whose accesses compiled code does not watch."""
    return isinstance(node, ast.Name) and node.id.startswith(f"{PREFIX}array_")


def _from_start(array: ast.expr, axis: int, number: int) -> ast.expr:
    """Return a negative index of the source counted from the start, `a.shape[axis] - 1` for -1."""
    if not isinstance(array, ast.Name):
        raise CannotWatch("it counts from the end of a part of an array")
    shape = ast.Attribute(ast.Name(array.id, ast.Load()), "shape", ast.Load())
    return ast.BinOp(ast.Subscript(shape, ast.Constant(axis), ast.Load()), ast.Sub(), ast.Constant(-number))


class _Instrument(ast.NodeTransformer):
    """Rewrites one function; the tuples of positions and of shared arrays stay as they are."""

    def __init__(self, filename: str, sites: list, state: str) -> None:
        self.filename, self.sites = filename, sites
        self.state = ast.parse(state, mode="eval").body
        self.fresh = 0
        self.depth = 0

    def call(self, name: str, kind: str, node: ast.expr, *arguments: ast.expr) -> ast.Call:
        self.sites.append((kind, (self.filename, node.lineno)))
        site = ast.Constant(len(self.sites) - 1)
        hidden = [site, ast.Name(STOP, ast.Load()), copy.deepcopy(self.state)]
        return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [*arguments, *hidden], []), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if is_plain(node.value) or not isinstance(node.ctx, ast.Load):
            return node
        return self.call(LOAD, READ, node, node.value, node.slice)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        targets = node.targets
        if all(isinstance(each, ast.Name) for each in targets) or (
            len(targets) == 1
            and isinstance(targets[0], ast.Tuple)
            and all(isinstance(each, ast.Name) for each in targets[0].elts)
        ):
            return self.generic_visit(node)
        value = self.visit(node.value)
        if len(targets) == 1 and isinstance(targets[0], ast.Subscript):
            return self.store(targets[0], value, node)
        statements: list[ast.stmt] = []
        if len(targets) > 1:
            name = self.name()
            statements.append(self.assign(name, value, node))
            value = ast.Name(name, ast.Load())
        for target in targets:
            if isinstance(target, ast.Tuple):
                names = [self.name() for _ in target.elts]
                together = ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())
                statements.append(ast.copy_location(ast.Assign([together], value), node))
                pairs = [
                    (part, ast.Name(name, ast.Load())) for part, name in zip(target.elts, names, strict=True)
                ]
            else:
                pairs = [(target, copy.deepcopy(value))]
            for part, given in pairs:
                if isinstance(part, ast.Subscript):
                    statements.append(self.store(part, given, node))
                elif isinstance(part, ast.Name):
                    statements.append(self.assign(part.id, given, node))
                else:
                    raise CannotWatch("it stores in a field of a record")
        return statements

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        target = node.target
        if isinstance(target, ast.Name):
            return self.generic_visit(node)
        if not isinstance(target, ast.Subscript):
            raise CannotWatch("it stores in a field of a record")
        statements: list[ast.stmt] = []
        if any(isinstance(each, ast.Call) for each in ast.walk(target.slice)):
            # A function that the index calls has to be called once.
            name = self.name()
            statements.append(self.assign(name, self.visit(target.slice), node))
            target.slice = ast.Name(name, ast.Load())
        read = ast.Subscript(copy.deepcopy(target.value), copy.deepcopy(target.slice), ast.Load())
        old = self.visit(ast.copy_location(read, node))
        value = ast.copy_location(ast.BinOp(old, node.op, self.visit(node.value)), node)
        return [*statements, self.store(target, value, node)]

    def store(self, target: ast.Subscript, value: ast.expr, node: ast.stmt) -> ast.stmt:
        owner, index = self.visit(target.value), self.visit(target.slice)
        return ast.copy_location(ast.Expr(self.call(STORE, WRITE, target, owner, index, value)), node)

    def name(self) -> str:
        self.fresh += 1
        return f"{PREFIX}w{self.fresh}"

    @staticmethod
    def assign(name: str, value: ast.expr, node: ast.stmt) -> ast.stmt:
        return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Subscript) and not is_plain(node.value.value):
            raise CannotWatch("it uses fields of a record")
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == SYNC and ast.literal_eval(node.args[0]) in WARP_SYNCS:
            raise CannotWatch("its warps exchange values")
        if name in (f"{PREFIX}fence", f"{PREFIX}fence_block"):
            raise CannotWatch("it has fences")
        if name == f"{PREFIX}local":
            raise CannotWatch("it has local arrays")
        self.generic_visit(node)
        if name.startswith(f"{PREFIX}atomic_"):
            return self.call(WATCHED_ATOMIC + name.removeprefix(PREFIX), ATOMIC, node, *node.args)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        over = node.iter
        is_range = isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "range"
        if not (is_range or isinstance(over, ast.Tuple)):
            raise CannotWatch("it loops over something other than a range")
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.depth += 1
        if self.depth > 1:
            raise CannotWatch("it holds a function of its own")
        return self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        raise CannotWatch("it holds a function of its own")
