"""Cut a kernel with barriers into regions, so that a whole block runs as loops over its threads.

Between two barriers the threads of a block do not depend on each other, so one loop may run each stretch of
code, a *region*, for thread after thread; what a thread must remember from one region to the next is kept in an
array with one element a thread. This is how PoCL runs OpenCL on CPUs (P. Jääskeläinen et al., "pocl: A
Performance-Portable OpenCL Implementation", International Journal of Parallel Programming 43, 2015).

Control flow around barriers has to be the same for all threads of a block. Where it is made of the launch's sizes
and the arguments, that is known; elsewhere the threads are asked, and if they disagree, the launch is given to the
interpreter (`Disagreement`). Warp operations may also stand under a condition that differs from thread to thread.
What cannot be cut is refused with `CannotCut`, and the interpreter runs the kernel.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from host_to_device.standins.numba_cuda.rewriting import (
    BLOCK_SYNCS,
    FIRST_UNIFORM,
    LAST_UNIFORM,
    LINEAR,
    PREFIX,
    SHARED,
    STOP,
    SYNC,
    THREAD,
    WARP_SIZE,
    Function,
    Program,
    syncs,
)

ALIVE, LOCAL, SCOPE = PREFIX + "alive", PREFIX + "local", "_h2d_s"
PURE_BUILTINS = {"min", "max", "int", "float", "bool", "abs", "len", "range", "round", "divmod", "pow"}


class CannotCut(Exception):
    """The kernel's barriers stand where they cannot be cut; the message says why."""


@dataclass
class Region:
    """Statements that every thread runs without waiting; `masks` are conditions it runs them under."""

    statements: list[ast.stmt]
    masks: tuple[tuple[str, bool], ...]
    loads: list[str] = field(default_factory=list)
    stores: list[str] = field(default_factory=list)


@dataclass
class Uniform:
    """A statement that is the same for all threads of the block: run once."""

    statement: ast.stmt


@dataclass
class Boundary:
    """A place where threads wait. `value` names what each thread brings, if they exchange anything."""

    kind: str
    value: str | None = None


@dataclass
class Agree:
    """A value on which the threads of the block have to agree, because they wait for each other under it."""

    name: str
    brought: str


@dataclass
class Branch:
    test: ast.expr
    body: list
    orelse: list


@dataclass
class Loop:
    """A loop that all threads of the block go through together: its header (`for …:`, `while …:`) and body."""

    header: ast.For | ast.While
    before_test: list
    body: list


@dataclass
class Cut:
    """A kernel in pieces: the block's program, its regions, and what threads remember between them."""

    nodes: list
    regions: list[Region]
    uniform: set[str]
    remembered: list[str]
    local_arrays: dict[str, ast.Call]
    exchanged: dict[str, str]  # variable a thread brings → kind of exchange
    known: dict[str, str]  # remembered variables of the rewriting's own → dtype


def has_sync(node: ast.AST | list) -> bool:
    return any(has_sync(each) for each in node) if isinstance(node, list) else next(syncs(node), None) is not None


# ---- device functions that wait are put in the place of their calls


class _Renamer(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node


class Inliner:
    """Replaces statements that call a waiting device function by the function's body."""

    def __init__(self, program: Program) -> None:
        self.waiting = {name: each for name, each in program.functions.items() if each.waits}
        self.count = 0

    def call_in(self, node: ast.AST) -> ast.Call | None:
        for each in ast.walk(node):
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in self.waiting:
                return each
        return None

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [new for statement in body for new in self.statement(statement)]

    def statement(self, statement: ast.stmt) -> list[ast.stmt]:
        for part in ("body", "orelse"):
            if getattr(statement, part, None):
                setattr(statement, part, self.statements(getattr(statement, part)))
        headers = [
            getattr(statement, part)
            for part in ("value", "test", "iter")
            if isinstance(getattr(statement, part, None), ast.AST)
        ]
        call = next((found for header in headers if (found := self.call_in(header))), None)
        if call is None:
            return [statement]
        if not isinstance(statement, ast.Assign | ast.Expr | ast.AugAssign) or self.call_in_arguments(call):
            raise CannotCut(f"{call.func.id.split('_', 3)[-1]}() waits inside a larger expression")
        body, result = self.body_of(call)
        if statement.value is call and isinstance(statement, ast.Expr):
            return self.statements(body)
        if result is None:
            raise CannotCut("a function that waits is used for its value and returns none")
        if statement.value is call:
            statement.value = result
        else:
            replaced = _Replacer(call, result)
            statement = replaced.visit(statement)
        return [*self.statements(body), ast.fix_missing_locations(statement)]

    def call_in_arguments(self, call: ast.Call) -> bool:
        return any(self.call_in(argument) for argument in call.args)

    def body_of(self, call: ast.Call) -> tuple[list[ast.stmt], ast.expr | None]:
        """Return a fresh copy of the callee's body with its arguments assigned, and its result."""
        function: Function = self.waiting[call.func.id]
        self.count += 1
        tree = copy.deepcopy(function.tree)
        own = set(function.parameters) | {
            node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        names = {name: f"{name}_{PREFIX}i{self.count}" for name in own}
        given = dict(zip(function.parameters, call.args[3:], strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords}
        defaults = function.original.__defaults__ or ()
        for name, value in zip(reversed(function.parameters), reversed(defaults), strict=False):
            given.setdefault(name, ast.Constant(value))
        if set(given) != set(function.parameters):
            raise CannotCut(f"{function.original.__name__}() is called with the wrong number of arguments")
        entry = [
            ast.copy_location(ast.Assign([ast.Name(names[name], ast.Store())], given[name]), call)
            for name in function.parameters
        ]
        body = [_Renamer(names).visit(statement) for statement in tree.body]
        result = None
        if isinstance(body[-1], ast.Return):
            result = body.pop().value
        if any(isinstance(node, ast.Return) for statement in body for node in ast.walk(statement)):
            raise CannotCut(f"{function.original.__name__}() waits and returns from the middle")
        if result is not None:
            name = f"{PREFIX}result{self.count}"
            body.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], result), call))
            result = ast.Name(name, ast.Load())
        return [ast.fix_missing_locations(each) for each in entry + body], result


class _Replacer(ast.NodeTransformer):
    """Replaces one node of a tree by another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


# ---- cutting


class Cutter:
    """Cuts one kernel."""

    def __init__(self, program: Program) -> None:
        self.program = program
        tree = copy.deepcopy(program.kernel.tree)
        body = Inliner(program).statements(tree.body)
        self.exchanged: dict[str, str] = {}
        self.scopes: dict[tuple[int, str], int] = {}
        self.body = self.give_scopes(self.separate(body))
        self.assigned = {
            node.id
            for statement in self.body
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self.uniform = self.find_uniform()
        self.regions: list[Region] = []
        self.known: dict[str, str] = {}

    # -- every exchange of values becomes: bring a value; wait; take a value

    def separate(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [new for statement in body for new in self.separate_one(statement)]

    def separate_one(self, statement: ast.stmt) -> list[ast.stmt]:
        before: list[ast.stmt] = []
        if isinstance(statement, ast.If | ast.While | ast.For):
            header = statement.iter if isinstance(statement, ast.For) else statement.test
            if has_sync(header):
                if isinstance(statement, ast.For):
                    raise CannotCut("threads wait in the header of a for loop")
                name = f"{PREFIX}test{len(self.exchanged)}"
                assign = ast.Assign([ast.Name(name, ast.Store())], header)
                ast.fix_missing_locations(ast.copy_location(assign, statement))
                steps = self.separate_one(assign)
                statement.test = ast.copy_location(ast.Name(name, ast.Load()), statement)
                if isinstance(statement, ast.If):
                    before = steps
                else:
                    statement.before_test = steps
            statement.body = self.separate(statement.body)
            statement.orelse = self.separate(statement.orelse)
            return [*before, statement]
        if _plain_wait(statement):
            return [statement]
        while has_sync(statement):
            call = next(each for each in syncs(statement) if not any(map(has_sync, each.args)))
            kind, line, *arguments = call.args
            if kind.value in ("syncthreads", "syncwarp"):
                raise CannotCut(f"cuda.{kind.value}() inside an expression")
            mask, value, *rest = arguments
            tag = len(self.exchanged)
            brought = f"{PREFIX}v{tag}"
            self.exchanged[brought] = kind.value
            before.append(_assign(brought, value, statement))
            wait = ast.Call(ast.Name(SYNC, ast.Load()), [kind, line, ast.Constant(brought)], [])
            if kind.value in BLOCK_SYNCS:
                taken: ast.expr = ast.Name(f"{PREFIX}r{tag}", ast.Load())
            else:
                names = []
                for part, expression in (("mask", mask), *((f"x{k}", each) for k, each in enumerate(rest))):
                    names.append(f"{PREFIX}{part}{tag}")
                    before.append(_assign(names[-1], expression, statement))
                taken = ast.parse(
                    f"{PREFIX}take_{kind.value}({PREFIX}pub{tag}, "
                    f"{THREAD}[{LINEAR}] - {THREAD}[{LINEAR}] % {WARP_SIZE}, {THREAD}[{LINEAR}] % {WARP_SIZE}, "
                    f"len({PREFIX}pub{tag}), {names[0]}, {brought}{''.join(f', {each}' for each in names[1:])})",
                    mode="eval",
                ).body
            before.append(ast.Expr(wait))
            for node in ast.walk(taken):
                ast.copy_location(node, statement)
            statement = _Replacer(call, taken).visit(statement)
        return [*(ast.fix_missing_locations(ast.copy_location(each, statement)) for each in before), statement]

    # -- under a condition that may differ from thread to thread, variables of their own

    def give_scopes(self, body: list[ast.stmt], after: frozenset[str] = frozenset()) -> list[ast.stmt]:
        """Rename what a branch with warp operations sets before it reads it, and copy out what is read later.

        The fresh names are nobody else's, so a loop counter under such a condition can be the same for all.
        `after` holds the names that may be read after these statements.
        """
        for number, statement in enumerate(body):
            later = after | _exposed(body[number + 1 :], set())[0]
            inside = later
            if isinstance(statement, ast.For | ast.While):
                inside = later | _exposed([statement], set())[0]
            for part in ("body", "orelse"):
                inner = getattr(statement, part, None)
                if not inner:
                    continue
                inner = self.give_scopes(inner, frozenset(inside))
                if isinstance(statement, ast.If) and has_sync(inner) and not _waits_for_block(inner):
                    inner = self.scope(statement, part, inner, later)
                setattr(statement, part, inner)
        return body

    def scope(self, statement: ast.If, part: str, body: list[ast.stmt], later: frozenset[str]) -> list[ast.stmt]:
        tag = len(self.scopes)
        self.scopes[id(statement), part] = tag
        read, _ = _exposed(body, set())
        stored = {name for each in body for name in self.stored(each) if not name.startswith(PREFIX)}
        names = {name: f"{name}{SCOPE}{tag}" for name in sorted(stored - read)}
        renamer = _Renamer(names)
        body = [renamer.visit(each) for each in body]
        place = body[-1]
        copies = [_assign(name, ast.Name(fresh, ast.Load()), place) for name, fresh in names.items() if name in later]
        return [*body, *copies]

    # -- what is the same for all threads of a block

    def find_uniform(self) -> set[str]:
        uniform = set(self.assigned)
        while True:
            self.uniform = uniform
            lost: set[str] = set()
            self.same_as: dict[int, int | None] = {}
            self.lose(self.body, None, lost)
            if not lost & uniform:
                return uniform
            uniform = uniform - lost

    def lose(self, body: list[ast.stmt], scope: int | None, lost: set[str]) -> None:
        """Collect the names that are not the same for all threads, judging by the ones still thought to be.

        `scope` is the innermost condition that differs from thread to thread, or None.
        """
        for statement in body:
            stored = self.stored(statement)
            if isinstance(statement, ast.If | ast.While | ast.For) and has_sync(statement):
                # Where a whole block waits under a condition, its threads have to agree on it.
                waits = _waits_for_block([statement])
                same = not isinstance(statement, ast.If) or waits or self.same(statement.test)
                if isinstance(statement, ast.For) and not waits and not self.same(statement.iter):
                    lost |= self.stored(statement.target)
                elif isinstance(statement, ast.For):
                    lost |= {name for name in self.stored(statement.target) if not self.belongs(name, scope)}
                self.lose(getattr(statement, "before_test", []), scope, lost)
                for part in ("body", "orelse"):
                    tag = self.scopes.get((id(statement), part), -1)
                    self.same_as[tag] = scope if same else tag
                    self.lose(getattr(statement, part), scope if same else tag, lost)
            elif not (self.is_simple_assignment(statement) and self.same(statement.value)):
                lost |= stored
            else:
                lost |= {name for name in stored if not self.belongs(name, scope)}
                if isinstance(statement, ast.AugAssign) and statement.target.id not in self.uniform:
                    lost |= stored

    def belongs(self, name: str, scope: int | None) -> bool:
        """Tell whether a name may be set for all threads at once in this scope: nobody else reads it."""
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
        """Tell whether an expression has the same value for all threads of a block."""
        if isinstance(node, ast.Name):
            if node.id in (THREAD, ALIVE):
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
                known = node.func.id in PURE_BUILTINS or node.func.id.startswith(f"{PREFIX}c")
                if node.func.id in self.assigned or not known:
                    return False
            elif not (isinstance(node.func, ast.Attribute) and self.same(node.func)):
                return False
            return all(self.same(argument) for argument in node.args) and not node.keywords
        if isinstance(node, ast.Attribute):
            return self.same(node.value)
        return all(self.same(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))

    # -- the pieces

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
            if _plain_wait(statement):
                flush()
                kind, _, *rest = statement.value.args
                if masks and kind.value in BLOCK_SYNCS:
                    raise CannotCut("a barrier stands under a condition that differs from thread to thread")
                nodes.append(Boundary(kind.value, rest[0].value if rest else None))
            elif isinstance(statement, ast.If) and has_sync(statement):
                waits = _waits_for_block([statement])
                if waits and masks:
                    raise CannotCut("a barrier stands under a condition that differs from thread to thread")
                if waits or self.same(statement.test):
                    test = statement.test if self.same(statement.test) else self.agree(statement.test, pending)
                    flush()
                    if test is not statement.test:
                        nodes.append(Agree(test.id, self.brought(test.id)))
                    body, orelse = self.build(statement.body, masks), self.build(statement.orelse, masks)
                    nodes.append(Branch(test, body, orelse))
                else:
                    mask = f"{PREFIX}if{len(self.known)}_{statement.lineno}"
                    self.remember(mask, "bool")
                    pending.append(_assign(mask, _as_bool(statement.test), statement))
                    flush()
                    nodes += self.build(statement.body, (*masks, (mask, True)))
                    nodes += self.build(statement.orelse, (*masks, (mask, False)))
            elif isinstance(statement, ast.For | ast.While) and has_sync(statement):
                nodes += self.loop(statement, masks, pending, flush)
            elif self.is_simple_assignment(statement) and self.stored(statement) <= self.uniform:
                if any(self.mentions(each, self.stored(statement)) for each in pending):
                    flush()
                nodes.append(Uniform(statement))
            elif isinstance(statement, ast.Break | ast.Continue):
                if masks:
                    raise CannotCut("a loop with barriers is left by some threads only")
                flush()
                nodes.append(Uniform(statement))
            else:
                if _leaves_loop(statement):
                    raise CannotCut("a loop with barriers is left by some threads only")
                pending.append(statement)
        flush()
        return nodes

    # -- values on which a block's threads must agree

    def remember(self, name: str, dtype: str) -> None:
        self.assigned.add(name)
        self.known[name] = dtype

    def agree(self, value: ast.expr, pending: list[ast.stmt], dtype: str = "bool") -> ast.Name:
        """Let every thread bring a value; return the name of the one that all must have brought."""
        name = f"{PREFIX}agreed{len(self.known)}"
        self.remember(self.brought(name), dtype)
        brought = _as_bool(value) if dtype == "bool" else value
        pending.append(_assign(self.brought(name), brought, value))
        self.assigned.add(name)
        self.uniform.add(name)
        return ast.copy_location(ast.Name(name, ast.Load()), value)

    @staticmethod
    def brought(name: str) -> str:
        return f"{name}_by"

    def loop(
        self, statement: ast.For | ast.While, masks: tuple, pending: list[ast.stmt], flush: Callable[[], None]
    ) -> list:
        """Return the nodes of a loop that a block goes through together."""
        if statement.orelse:
            raise CannotCut("a loop with barriers has an else")
        header = statement.iter if isinstance(statement, ast.For) else statement.test
        agreed: list[Agree] = []
        if not self.same(header):
            if masks or not _waits_for_block([statement]):
                raise CannotCut("a loop with warp operations has bounds that differ from thread to thread")
            if isinstance(statement, ast.For):
                self.check_for(statement)
                names = [self.agree(each, pending, "int64") for each in header.args]
                agreed = [Agree(name.id, self.brought(name.id)) for name in names]
                header.args = names
        elif isinstance(statement, ast.For):
            self.check_for(statement)
        flush()
        before = self.build(getattr(statement, "before_test", []), masks)
        if isinstance(statement, ast.While) and not self.same(header):
            steps: list[ast.stmt] = []
            name = self.agree(header, steps)
            before += [*self.build(steps, masks), Agree(name.id, self.brought(name.id))]
            statement.test = name
        return [*agreed, Loop(statement, before, self.build(statement.body, masks))]

    def check_for(self, statement: ast.For) -> None:
        if not isinstance(statement.target, ast.Name) or statement.target.id not in self.uniform:
            raise CannotCut("the counter of a loop with barriers is changed inside it")
        header = statement.iter
        is_range = isinstance(header, ast.Call) and isinstance(header.func, ast.Name) and header.func.id == "range"
        if not (is_range or isinstance(header, ast.Tuple)):
            raise CannotCut("a loop with barriers goes over something other than a range")

    @staticmethod
    def stored(statement: ast.AST) -> set[str]:
        return {
            node.id
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }

    @staticmethod
    def mentions(statement: ast.stmt, names: set[str]) -> bool:
        return any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(statement))

    def cut(self) -> Cut:
        nodes = self.build(self.body, ())
        own = self.assigned - self.uniform
        exposed: set[str] = set()
        facts = []
        for region in self.regions:
            read, definite = _exposed(region.statements, set())
            written = set().union(*(self.stored(each) for each in region.statements)) & own
            facts.append((read & own, definite, written))
            exposed |= read & own
        exposed |= set(self.known) | set(self.exchanged)
        for region, (read, definite, written) in zip(self.regions, facts, strict=True):
            region.stores = sorted(written & exposed)
            region.loads = sorted((read | (set(region.stores) - definite)) & exposed)
        return Cut(
            nodes, self.regions, self.uniform, sorted(exposed), self.local_arrays(exposed), self.exchanged, self.known
        )

    def local_arrays(self, names: set[str]) -> dict[str, ast.Call]:
        """Return the remembered names that stand for a thread's local array, with the call that makes it."""
        found: dict[str, list[Any]] = {}
        for statement in self.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    found.setdefault(node.targets[0].id, []).append(node.value)
        made = {}
        for name in names:
            values = found.get(name, [])
            if any(_makes_local(value) for value in values):
                if len(values) > 1:
                    raise CannotCut(f"{name} is more than one local array")
                made[name] = values[0]
        return made


def _waits_for_block(body: list[ast.stmt]) -> bool:
    return any(call.args[0].value in BLOCK_SYNCS for statement in body for call in syncs(statement))


def _makes_local(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == LOCAL


def _plain_wait(statement: ast.stmt) -> bool:
    """Tell whether a statement is a wait by itself: nothing is taken from it."""
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    call = statement.value
    if not (isinstance(call.func, ast.Name) and call.func.id == SYNC):
        return False
    return len(call.args) == 2 or (len(call.args) == 3 and isinstance(call.args[2], ast.Constant))


def _assign(name: str, value: ast.expr, place: ast.stmt) -> ast.Assign:
    return ast.fix_missing_locations(
        ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], copy.deepcopy(value)), place)
    )


def _as_bool(test: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("bool", ast.Load()), [test], [])


def _leaves_loop(statement: ast.stmt) -> bool:
    """Tell whether a statement breaks or continues a loop that it does not hold itself."""
    if isinstance(statement, ast.Break | ast.Continue):
        return True
    if isinstance(statement, ast.For | ast.While):
        return False
    return any(
        _leaves_loop(each) for part in ("body", "orelse") for each in getattr(statement, part, []) or []
    )


def _exposed(body: list[ast.stmt], defined: set[str]) -> tuple[set[str], set[str]]:
    """Return the names that may be read before these statements set them, and those that they surely set."""
    read: set[str] = set()
    defined = set(defined)

    def reads(node: ast.AST | None) -> None:
        for each in ast.walk(node) if node is not None else ():
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load) and each.id not in defined:
                read.add(each.id)

    for statement in body:
        if isinstance(statement, ast.If):
            reads(statement.test)
            one, sure_one = _exposed(statement.body, defined)
            other, sure_other = _exposed(statement.orelse, defined)
            read |= one | other
            if _always_returns(statement.body):
                sure_one = sure_other
            defined |= sure_one & sure_other
        elif isinstance(statement, ast.For):
            reads(statement.iter)
            target = {node.id for node in ast.walk(statement.target) if isinstance(node, ast.Name)}
            inner, _ = _exposed(statement.body, defined | target)
            read |= inner
            read |= _exposed(statement.orelse, defined)[0]
        elif isinstance(statement, ast.While):
            reads(statement.test)
            read |= _exposed(statement.body, defined)[0] | _exposed(statement.orelse, defined)[0]
        else:
            if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
                if statement.target.id not in defined:
                    read.add(statement.target.id)
            reads(statement)
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    defined.add(node.id)
    return read, defined


def _always_returns(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return)


# ---- the pieces as text


class _RegionBody(ast.NodeTransformer):
    """Prepares a region's statements: a thread that returns is dead; local arrays live outside."""

    def __init__(self, local_arrays: dict[str, ast.Call], leave: ast.stmt) -> None:
        self.local_arrays, self.leave = local_arrays, leave

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        dead = ast.parse(f"{ALIVE}[{THREAD}[{LINEAR}]] = False").body[0]
        for each in ast.walk(dead):
            ast.copy_location(each, node)
        return [dead, ast.copy_location(copy.copy(self.leave), node)]

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in self.local_arrays and _makes_local(node.value):
            return ast.copy_location(ast.Pass(), node)  # its memory is waiting in the block's array
        return node


def region_functions(cut: Cut, number: int, parameters: list[str]) -> tuple[list[ast.FunctionDef], list[str]]:
    """Return the functions of one region, the one to call last, and the block's variables that it takes.

    The function to call runs the region for all threads. Where a thread may return from inside a loop, one
    thread's part is a function of its own.
    """
    region = cut.regions[number]
    own_function = any(_returns_in_loop(each) for each in region.statements)
    prepare = _RegionBody(cut.local_arrays, ast.Return(None) if own_function else ast.Continue())
    body = [prepare.visit(copy.deepcopy(each)) for each in region.statements]
    body = [each for part in body for each in (part if isinstance(part, list) else [part])]
    used = {node.id for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    arrays = {*region.loads, *region.stores, *(name for name, _ in region.masks)}
    results = sorted(name for name in used if re.fullmatch(rf"{PREFIX}(r|pub)\d+", name))
    takes = [name for name in parameters if name in used]
    takes += [name for name in sorted(cut.uniform & used) if name not in takes]
    takes += results + [f"{PREFIX}p_{name}" for name in sorted(arrays)]
    line = region.statements[0]
    locals_ = set(cut.local_arrays)
    loads = [*region.loads, *sorted(locals_ & set(region.stores) - set(region.loads))]
    load = [f"{name} = {PREFIX}p_{name}[{THREAD}[{LINEAR}]]" for name in loads]
    store = [f"{PREFIX}p_{name}[{THREAD}[{LINEAR}]] = {name}" for name in region.stores if name not in locals_]
    body = [*_parse(load, line), *body, *_parse(store, line)]
    functions = []
    hidden = [THREAD, SHARED, STOP, ALIVE, *takes]
    if own_function:
        functions.append(_function(f"{PREFIX}region{number}_thread", hidden, body, line))
        body = _parse([f"{PREFIX}region{number}_thread({', '.join(hidden)})"], line)
    conditions = [f"{ALIVE}[{PREFIX}k]"]
    conditions += [f"{'' if wanted else 'not '}{PREFIX}p_{name}[{PREFIX}k]" for name, wanted in region.masks]
    position = [f"{PREFIX}{axis}[{PREFIX}k]" for axis in "xyz"]
    position += [f"{PREFIX}base[{k}]" for k in range(3, LINEAR)] + [f"np.int32({PREFIX}k)"]
    entry = [
        f"{PREFIX}k = {PREFIX}order[{PREFIX}j]",
        f"if not ({' and '.join(conditions)}): continue",
        f"{STOP}[2] = {PREFIX}k",
        f"{THREAD} = ({', '.join(position)})",
    ]
    loop = _parse([f"for {PREFIX}j in range(len({PREFIX}order)): pass"], line)[0]
    loop.body = [*_parse(entry, line), *body]
    return [*functions, _function(f"{PREFIX}region{number}", [*POSITIONS, *hidden[1:]], [loop], line)], takes


# What a region needs to know of its block: the threads in their order, where they are, and the block itself.
POSITIONS = tuple(f"{PREFIX}{name}" for name in ("order", "x", "y", "z", "base"))


def _function(name: str, arguments: list[str], body: list[ast.stmt], place: ast.AST) -> ast.FunctionDef:
    function = ast.FunctionDef(
        name=name,
        args=ast.arguments(
            posonlyargs=[], args=[ast.arg(each) for each in arguments], kwonlyargs=[], kw_defaults=[], defaults=[]
        ),
        body=body or [ast.Pass()],
        decorator_list=[],
    )
    function.type_params = []
    return ast.fix_missing_locations(ast.copy_location(function, place))


def _returns_in_loop(statement: ast.stmt) -> bool:
    """Tell whether a loop in this statement holds a return."""
    return any(
        isinstance(inner, ast.Return)
        for node in ast.walk(statement)
        if isinstance(node, ast.For | ast.While)
        for inner in ast.walk(node)
    )


def _parse(lines: list[str], place: ast.AST) -> list[ast.stmt]:
    statements = [ast.parse(line).body[0] for line in lines]
    for statement in statements:
        for node in ast.walk(statement):
            ast.copy_location(node, place)
    return statements


class BlockProgram:
    """Writes the part of the launch function that runs one block: loops over threads, one a region."""

    def __init__(self, cut: Cut, takes: list[list[str]]) -> None:
        self.cut, self.takes = cut, takes
        self.lines: list[str] = []

    def write(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def nodes(self, nodes: list, depth: int) -> None:
        if not nodes:
            self.write(depth, "pass")
        for node in nodes:
            if isinstance(node, Region):
                self.region(node, depth)
            elif isinstance(node, Uniform):
                self.write(depth, ast.unparse(node.statement))
            elif isinstance(node, Boundary):
                self.boundary(node, depth)
            elif isinstance(node, Agree):
                self.write(depth, f"{node.name} = {PREFIX}agreement({PREFIX}p_{node.brought}, {ALIVE})")
            elif isinstance(node, Branch):
                self.write(depth, f"if {ast.unparse(node.test)}:")
                self.nodes(node.body, depth + 1)
                if node.orelse:
                    self.write(depth, "else:")
                    self.nodes(node.orelse, depth + 1)
            elif isinstance(node, Loop):
                self.loop(node, depth)

    def region(self, region: Region, depth: int) -> None:
        number = next(k for k, each in enumerate(self.cut.regions) if each is region)
        block = (f"{PREFIX}order", f"{PREFIX}x", f"{PREFIX}y", f"{PREFIX}z", THREAD)
        self.write(depth, f"{PREFIX}region{number}({', '.join((*block, SHARED, STOP, ALIVE, *self.takes[number]))})")

    def boundary(self, node: Boundary, depth: int) -> None:
        if node.value is None:
            return
        tag = node.value.removeprefix(f"{PREFIX}v")
        values = f"{PREFIX}p_{node.value}"
        if node.kind in BLOCK_SYNCS:
            self.write(depth, f"{PREFIX}r{tag} = {PREFIX}{node.kind}({values}, {ALIVE})")
        else:
            self.write(depth, f"{PREFIX}pub{tag}[:] = {values}")

    def loop(self, node: Loop, depth: int) -> None:
        header = node.header
        check = f"if {PREFIX}stopped({STOP}): raise {PREFIX}KernelStopped()"
        if isinstance(header, ast.For):
            self.write(depth, f"for {header.target.id} in {ast.unparse(header.iter)}:")
            self.write(depth + 1, check)
        else:
            self.write(depth, "while True:")
            self.write(depth + 1, check)
            self.nodes(node.before_test, depth + 1) if node.before_test else None
            self.write(depth + 1, f"if not ({ast.unparse(header.test)}): break")
        self.nodes(node.body, depth + 1)
