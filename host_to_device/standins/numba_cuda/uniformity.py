"""Finds the variables of a kernel that have the same value in all threads of a block."""

from __future__ import annotations

import ast

from host_to_device.standins.numba_cuda.flow import has_sync, is_structure, stored, waits_for_block
from host_to_device.standins.numba_cuda.preparing import SCOPE, Preparation
from host_to_device.standins.numba_cuda.rewriting import (
    FIRST_UNIFORM,
    LAST_UNIFORM,
    PREFIX,
    SHARED,
    THREAD,
    Program,
)

PURE_BUILTINS = {"min", "max", "int", "float", "bool", "abs", "len", "range", "round", "divmod", "pow"}


class Uniformity(Preparation):
    """A prepared kernel and its `uniform` variables, which have one value for the whole block."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.assigned = set().union(*(stored(statement) for statement in self.body))
        self.uniform = self.find_uniform()

    def find_uniform(self) -> set[str]:
        uniform = set(self.assigned) - set(self.exchanged)  # each thread has its own value for an exchange
        while True:
            self.uniform = uniform
            lost: set[str] = set()
            self.same_as: dict[int, int | None] = {}
            self.lose(self.body, None, lost)
            if not lost & uniform:
                return uniform
            uniform = uniform - lost

    def lose(self, body: list[ast.stmt], scope: int | None, lost: set[str]) -> None:
        """Collect the names that differ between threads, assuming that the names in `uniform` do not.

        `scope` is the innermost condition that differs from thread to thread, or None.
        """
        for statement in body:
            names = stored(statement)
            if is_structure(statement):
                # If the whole block waits under a condition, or leaves a loop with waits, its threads must agree.
                waits = waits_for_block([statement]) or not has_sync(statement)
                same = not isinstance(statement, ast.If) or waits or self.same(statement.test)
                if isinstance(statement, ast.For) and not waits and not self.same(statement.iter):
                    lost |= stored(statement.target)
                elif isinstance(statement, ast.For):
                    lost |= {name for name in stored(statement.target) if not self.belongs(name, scope)}
                for part in ("body", "orelse"):
                    tag = self.scopes.get((id(statement), part), -1)
                    self.same_as[tag] = scope if same else tag
                    self.lose(getattr(statement, part), scope if same else tag, lost)
            elif not (self.is_simple_assignment(statement) and self.same(statement.value)):
                lost |= names
            else:
                lost |= {name for name in names if not self.belongs(name, scope)}
                if isinstance(statement, ast.AugAssign) and statement.target.id not in self.uniform:
                    lost |= names

    def belongs(self, name: str, scope: int | None) -> bool:
        """Return whether this scope may set a name for all threads at once: no other scope reads it."""
        own = int(name.split(SCOPE)[1]) if SCOPE in name else None
        return (self.same_as.get(own, own) if own is not None else None) == scope

    @staticmethod
    def is_simple_assignment(statement: ast.stmt) -> bool:
        if isinstance(statement, ast.AugAssign):
            return isinstance(statement.target, ast.Name)
        return isinstance(statement, ast.Assign) and all(
            isinstance(target, ast.Name)
            or (isinstance(target, ast.Tuple) and all(isinstance(each, ast.Name) for each in target.elts))
            for target in statement.targets
        )

    def same(self, node: ast.AST) -> bool:
        """Return whether an expression has the same value in all threads of a block."""
        if isinstance(node, ast.Name):
            if node.id == THREAD:
                return False
            return node.id not in self.assigned or node.id in self.uniform
        if isinstance(node, ast.Subscript):
            owner, index = node.value, node.slice
            if isinstance(owner, ast.Name) and owner.id == THREAD:
                return isinstance(index, ast.Constant) and FIRST_UNIFORM <= index.value <= LAST_UNIFORM
            if isinstance(owner, ast.Name) and owner.id == SHARED:
                return True
            is_shape = isinstance(owner, ast.Attribute) and owner.attr in ("shape", "strides")
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            is_view = any(isinstance(part, ast.Slice) for part in parts)
            return (is_shape or is_view) and self.same(owner) and all(map(self.same, parts))
        if isinstance(node, ast.Slice):
            return all(self.same(part) for part in (node.lower, node.upper, node.step) if part is not None)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                known = node.func.id in PURE_BUILTINS or node.func.id.startswith(
                    (f"{PREFIX}c", f"{PREFIX}vector_")
                )
                sweeps = node.func.id in ("min", "max") and len(node.args) < 2
                if node.func.id in self.assigned or not known or sweeps:
                    return False
            elif not (isinstance(node.func, ast.Attribute) and self.same(node.func)):
                return False
            return all(self.same(argument) for argument in node.args) and not node.keywords
        if isinstance(node, ast.Attribute):
            return self.same(node.value)
        return all(self.same(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
