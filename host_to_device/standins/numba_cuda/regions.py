"""Cuts a kernel with barriers into regions, so that a whole block runs as loops over its threads.

Between two barriers the threads of a block do not depend on each other. So a loop can run each stretch of code, a
*region*, for one thread after another. An array with one element for each thread keeps each variable that a thread
needs in a later region. PoCL runs OpenCL on CPUs in this way (P. Jääskeläinen et al., "pocl: A Performance-Portable
OpenCL Implementation", International Journal of Parallel Programming 43, 2015).

Control flow around barriers has to be the same for all threads of a block. Control flow that depends only on the
launch's sizes and the arguments is known to be the same. For other control flow each thread computes its own
condition; if the threads disagree, the interpreter runs the launch (`Disagreement`). Warp operations may also stand
under a condition that differs between threads. A kernel that cannot be cut raises `CannotCut`, and the interpreter
runs it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from host_to_device.standins.numba_cuda.flow import (
    CannotCut,
    as_bool,
    assign,
    exposed,
    has_sync,
    is_structure,
    leaves_loop,
    makes_local,
    mentions,
    plain_wait,
    stored,
    waits_for_block,
)
from host_to_device.standins.numba_cuda.rewriting import BLOCK_SYNCS, PREFIX, Program
from host_to_device.standins.numba_cuda.uniformity import Uniformity


@dataclass
class Region:
    """Statements that every thread runs without waiting, under the conditions `masks`."""

    statements: list[ast.stmt]
    masks: tuple[tuple[str, bool], ...]
    loads: list[str] = field(default_factory=list)
    stores: list[str] = field(default_factory=list)


@dataclass
class Uniform:
    """A statement that is the same for all threads of the block and runs once."""

    statement: ast.stmt


@dataclass
class Boundary:
    """A place where threads wait. `value` names the variable that they exchange, if they exchange one."""

    kind: str
    value: str | None = None


@dataclass
class Agree:
    """A condition that must be the same for all threads of the block, because they wait under it."""

    name: str
    brought: str


@dataclass
class Branch:
    test: ast.expr
    body: list
    orelse: list


@dataclass
class Loop:
    """A loop that all threads of the block run together: its header (`for …:`, `while …:`) and body."""

    header: ast.For | ast.While
    before_test: list
    body: list


@dataclass
class Cut:
    """A cut kernel: the block's program, its regions, and the variables that threads keep between them."""

    nodes: list
    regions: list[Region]
    uniform: set[str]
    remembered: list[str]
    local_arrays: dict[str, ast.Call]
    exchanged: dict[str, str]  # exchanged variable → kind of exchange
    asked: dict[str, tuple[str, str]]  # variable of a mask or a lane → kind of exchange, and "mask" or "lane"
    known: dict[str, str]  # remembered variable that the rewriting has added → dtype
    assigned: set[str]  # every name that the kernel sets
    returns: bool  # whether a thread may end before the others


class Cutter(Uniformity):
    """Cuts one kernel."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.regions: list[Region] = []
        self.known: dict[str, str] = {}

    def build(self, body: list[ast.stmt], masks: tuple[tuple[str, bool], ...]) -> list:
        nodes: list = []
        pending: list[ast.stmt] = []

        def flush() -> None:
            if pending:
                region = Region(list(pending), masks)
                self.regions.append(region)
                nodes.append(region)
                pending.clear()

        for statement in body:
            if plain_wait(statement):
                flush()
                kind, _, *rest = statement.value.args
                if masks and kind.value in BLOCK_SYNCS:
                    raise CannotCut("a barrier stands under a condition that differs from thread to thread")
                nodes.append(Boundary(kind.value, rest[0].value if rest else None))
            elif isinstance(statement, ast.If) and is_structure(statement):
                waits = waits_for_block([statement]) or not has_sync(statement)
                if (
                    not has_sync(statement)
                    and not self.same(statement.test)
                    and not self.left_by_blocks(statement)
                ):
                    raise CannotCut("a loop with warp operations is left by some threads only")
                if waits and masks:
                    raise CannotCut("a barrier stands under a condition that differs from thread to thread")
                if waits or self.same(statement.test):
                    test = (
                        statement.test if self.same(statement.test) else self.agree(statement.test, pending)
                    )
                    flush()
                    if test is not statement.test:
                        nodes.append(Agree(test.id, self.brought(test.id)))
                    body, orelse = self.build(statement.body, masks), self.build(statement.orelse, masks)
                    nodes.append(Branch(test, body, orelse))
                else:
                    mask = f"{PREFIX}if{len(self.known)}_{statement.lineno}"
                    self.remember(mask, "bool")
                    pending.append(assign(mask, as_bool(statement.test), statement))
                    flush()
                    nodes += self.build(statement.body, (*masks, (mask, True)))
                    nodes += self.build(statement.orelse, (*masks, (mask, False)))
            elif isinstance(statement, ast.For | ast.While) and has_sync(statement):
                nodes += self.loop(statement, masks, pending, flush)
            elif self.is_simple_assignment(statement) and stored(statement) <= self.uniform:
                if any(mentions(each, stored(statement)) for each in pending):
                    flush()
                nodes.append(Uniform(statement))
            elif isinstance(statement, ast.Break | ast.Continue):
                if masks:
                    raise CannotCut("a loop with barriers is left by some threads only")
                flush()
                nodes.append(Uniform(statement))
            else:
                if leaves_loop(statement):
                    raise CannotCut("a loop with barriers is left by some threads only")
                pending.append(statement)
        flush()
        return nodes

    def left_by_blocks(self, statement: ast.If) -> bool:
        """Return whether the whole block waits in the loop that a statement leaves."""
        loops = [
            node
            for each in self.body
            for node in ast.walk(each)
            if isinstance(node, ast.For | ast.While) and any(inner is statement for inner in ast.walk(node))
        ]
        return waits_for_block([loops[-1]])  # ast.walk visits the innermost loop last

    # -- values on which a block's threads must agree

    def remember(self, name: str, dtype: str) -> None:
        self.assigned.add(name)
        self.known[name] = dtype

    def agree(self, value: ast.expr, pending: list[ast.stmt], dtype: str = "bool") -> ast.Name:
        """Let every thread compute a value; return the name of the common value."""
        name = f"{PREFIX}agreed{len(self.known)}"
        self.remember(self.brought(name), dtype)
        brought = as_bool(value) if dtype == "bool" else value
        pending.append(assign(self.brought(name), brought, value))
        self.assigned.add(name)
        self.uniform.add(name)
        return ast.copy_location(ast.Name(name, ast.Load()), value)

    @staticmethod
    def brought(name: str) -> str:
        return f"{name}_by"

    def loop(
        self, statement: ast.For | ast.While, masks: tuple, pending: list[ast.stmt], flush: Callable[[], None]
    ) -> list:
        """Return the nodes of a loop that a block runs together."""
        if statement.orelse:
            raise CannotCut("a loop with barriers has an else")
        header = statement.iter if isinstance(statement, ast.For) else statement.test
        agreed: list[Agree] = []
        if not self.same(header):
            if masks or not waits_for_block([statement]):
                raise CannotCut("a loop with warp operations has bounds that differ from thread to thread")
            if isinstance(statement, ast.For):
                self.check_for(statement)
                names = [self.agree(each, pending, "int64") for each in header.args]
                agreed = [Agree(name.id, self.brought(name.id)) for name in names]
                header.args = names
        elif isinstance(statement, ast.For):
            self.check_for(statement)
        flush()
        before: list = []
        if isinstance(statement, ast.While) and not self.same(header):
            steps: list[ast.stmt] = []
            name = self.agree(header, steps)
            before = [*self.build(steps, masks), Agree(name.id, self.brought(name.id))]
            statement.test = name
        return [*agreed, Loop(statement, before, self.build(statement.body, masks))]

    def check_for(self, statement: ast.For) -> None:
        if not isinstance(statement.target, ast.Name) or statement.target.id not in self.uniform:
            raise CannotCut("the counter of a loop with barriers is changed inside it")
        header = statement.iter
        is_range = (
            isinstance(header, ast.Call) and isinstance(header.func, ast.Name) and header.func.id == "range"
        )
        if not (is_range or isinstance(header, ast.Tuple)):
            raise CannotCut("a loop with barriers goes over something other than a range")

    def cut(self) -> Cut:
        nodes = self.build(self.body, ())
        own = self.assigned - self.uniform
        remembered = set(self.known) | set(self.exchanged)
        facts = []
        for region in self.regions:
            read, definite = exposed(region.statements, set())
            written = set().union(*(stored(each) for each in region.statements)) & own
            facts.append((read & own, definite, written))
            remembered |= read & own
        for region, (read, definite, written) in zip(self.regions, facts, strict=True):
            region.stores = sorted(written & remembered)
            region.loads = sorted((read | (set(region.stores) - definite)) & remembered)
        returns = any(isinstance(node, ast.Return) for each in self.body for node in ast.walk(each))
        return Cut(
            nodes,
            self.regions,
            self.uniform,
            sorted(remembered),
            self.local_arrays(remembered),
            self.exchanged,
            self.asked,
            self.known,
            self.assigned,
            returns,
        )

    def local_arrays(self, names: set[str]) -> dict[str, ast.Call]:
        """Return the remembered names of local arrays, each with the call that makes the array."""
        found: dict[str, list[Any]] = {}
        for statement in self.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    found.setdefault(node.targets[0].id, []).append(node.value)
        made = {}
        for name in names:
            values = found.get(name, [])
            if any(makes_local(value) for value in values):
                if len(values) > 1:
                    raise CannotCut(f"{name} is more than one local array")
                made[name] = values[0]
        return made
