"""Where a shader declares the variables of a function: Python's live in the whole function, WGSL's in their block."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Seen:
    """One occurrence of a variable: its place in the text, the blocks around it, and what it does."""

    order: int
    path: tuple[int, ...]
    node: int  # the statement that stores to it
    store: bool = False
    counts: bool = False  # whether a `for` stores to it


@dataclass
class Scopes(ast.NodeVisitor):
    """The variables of one function.

    `where` answers "top" (declare it before everything else), "loop" (each `for` that counts with it declares it) or "here"
    (the first statement that stores to it declares it).
    """

    function: ast.FunctionDef
    seen: dict[str, list[Seen]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.path: tuple[int, ...] = ()
        self.statement, self.count = 0, 0
        self.block(self.function.body)

    def block(self, body: list[ast.stmt]) -> None:
        before, self.path = self.path, (*self.path, id(body))
        for statement in body:
            self.statement = id(statement)
            self.visit(statement)
        self.path = before

    def note(self, name: str, store: bool = False, counts: bool = False) -> None:
        self.count += 1
        self.seen.setdefault(name, []).append(Seen(self.count, self.path, self.statement, store, counts))

    def visit_Name(self, node: ast.Name) -> None:
        self.note(node.id, isinstance(node.ctx, ast.Store))

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self.note(node.target.id)
        self.visit(node.value)
        self.visit(node.target)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self.block(node.body)
        self.block(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self.block(node.body)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        if isinstance(node.target, ast.Name):
            before, self.path = self.path, (*self.path, id(node.body))
            self.statement = id(node)
            self.note(node.target.id, store=True, counts=True)
            self.path = before
        self.block(node.body)

    def stored_in(self, body: list[ast.stmt]) -> set[str]:
        """Return the names that statements of a block, or of blocks within it, store to."""
        return {
            name
            for name, places in self.seen.items()
            if any(place.store and id(body) in place.path for place in places)
        }

    def where(self, name: str) -> str:
        """Return where the shader declares a variable."""
        places = self.seen[name]
        stores = [place for place in places if place.store]
        if all(place.counts for place in stores):
            bodies = {place.path[-1] for place in stores}
            return "loop" if all(bodies & set(place.path) for place in places) else "top"
        first = min(places, key=lambda place: place.order)
        within = all(place.path[: len(first.path)] == first.path for place in places)
        return "here" if first.store and not first.counts and within else "top"

    def declares(self, name: str, statement: ast.stmt) -> str:
        """Return "let" or "var" where this statement declares the variable, otherwise nothing."""
        places = self.seen[name]
        first = min(places, key=lambda place: place.order)
        if self.where(name) != "here" or first.node != id(statement):
            return ""
        return "let" if sum(place.store for place in places) == 1 else "var"
