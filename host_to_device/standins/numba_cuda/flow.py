"""Questions about a kernel's control flow: where threads wait, and which names are set and read."""

from __future__ import annotations

import ast
import copy

from host_to_device.standins.numba_cuda.rewriting import BLOCK_SYNCS, PREFIX, SYNC, syncs

LOCAL = PREFIX + "local"


class CannotCut(Exception):
    """A barrier stands at a place where the kernel cannot be cut; the message says why."""


def has_sync(node: ast.AST | list) -> bool:
    return (
        any(has_sync(each) for each in node)
        if isinstance(node, list)
        else next(syncs(node), None) is not None
    )


class Renamer(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node


class Replacer(ast.NodeTransformer):
    """Replaces one node of a tree by another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def stored(statement: ast.AST) -> set[str]:
    """Return the names that a statement sets."""
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def mentions(statement: ast.stmt, names: set[str]) -> bool:
    """Return whether a statement reads or sets one of these names."""
    return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(statement))


def waits_for_block(body: list[ast.stmt]) -> bool:
    return any(call.args[0].value in BLOCK_SYNCS for statement in body for call in syncs(statement))


def is_structure(statement: ast.stmt) -> bool:
    """Return whether a block runs this statement together: threads wait in it, or it leaves a loop with waits."""
    if isinstance(statement, ast.For | ast.While):
        return has_sync(statement)
    return isinstance(statement, ast.If) and (has_sync(statement) or leaves_loop(statement))


def makes_local(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == LOCAL


def plain_wait(statement: ast.stmt) -> bool:
    """Return whether a statement is only a wait, whose result is not used."""
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    call = statement.value
    if not (isinstance(call.func, ast.Name) and call.func.id == SYNC):
        return False
    if call.args[0].value == "syncwarp":
        return not any(syncs(each) for each in call.args[2:])
    return len(call.args) == 2 or (len(call.args) == 3 and isinstance(call.args[2], ast.Constant))


def assign(name: str, value: ast.expr, place: ast.stmt) -> ast.Assign:
    return ast.fix_missing_locations(
        ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], copy.deepcopy(value)), place)
    )


def as_bool(test: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("bool", ast.Load()), [test], [])


def leaves_loop(statement: ast.stmt) -> bool:
    """Return whether a statement breaks or continues a loop around it."""
    if isinstance(statement, ast.Break | ast.Continue):
        return True
    if isinstance(statement, ast.For | ast.While):
        return False
    return any(
        leaves_loop(each) for part in ("body", "orelse") for each in getattr(statement, part, []) or []
    )


def exposed(body: list[ast.stmt], defined: set[str]) -> tuple[set[str], set[str]]:
    """Return the names that may be read before these statements set them, and the names that are always set."""
    read: set[str] = set()
    defined = set(defined)

    def reads(node: ast.AST | None) -> None:
        for each in ast.walk(node) if node is not None else ():
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each.id not in defined:
                read.add(each.id)

    for statement in body:
        if isinstance(statement, ast.If):
            reads(statement.test)
            one, sure_one = exposed(statement.body, defined)
            other, sure_other = exposed(statement.orelse, defined)
            read |= one | other
            if always_returns(statement.body):
                sure_one = sure_other
            defined |= sure_one & sure_other
        elif isinstance(statement, ast.For):
            reads(statement.iter)
            target = {node.id for node in ast.walk(statement.target) if isinstance(node, ast.Name)}
            inner, _ = exposed(statement.body, defined | target)
            read |= inner
            read |= exposed(statement.orelse, defined)[0]
        elif isinstance(statement, ast.While):
            reads(statement.test)
            read |= exposed(statement.body, defined)[0] | exposed(statement.orelse, defined)[0]
        else:
            if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                read |= {statement.target.id} - defined
            reads(statement)
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    defined.add(node.id)
    return read, defined


def always_returns(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return)
