"""Prepares a kernel for cutting: each wait becomes a statement, and branches get separate variables."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from host_to_device.standins.numba_cuda.flow import (
    CannotCut,
    Renamer,
    Replacer,
    assign,
    exposed,
    has_sync,
    plain_wait,
    stored,
    waits_for_block,
)
from host_to_device.standins.numba_cuda.inlining import Inliner
from host_to_device.standins.numba_cuda.rewriting import (
    BLOCK_SYNCS,
    LINEAR,
    PREFIX,
    SYNC,
    THREAD,
    WARP_SIZE,
    Program,
    syncs,
)

ALIVE = PREFIX + "alive"  # which threads have not left the kernel
VERSION = "_h2d_n"  # between a variable's name and the number of the statement that sets it again
SCOPE = "_h2d_s"  # between a variable's name and the number of its branch


def versions(body: list[ast.stmt], parameters: list[str]) -> list[ast.stmt]:
    """Give a variable a new name each time the kernel sets it again outside of branches and loops.

    Numba gives each such version its own type, whereas a variable that threads keep across a barrier has one type.
    """
    known = set(parameters)
    current: dict[str, str] = {}
    result = []
    for statement in body:
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            read = ast.copy_location(ast.Name(statement.target.id, ast.Load()), statement)
            value = ast.copy_location(ast.BinOp(read, statement.op, statement.value), statement)
            statement = assign(statement.target.id, value, statement)
        if isinstance(statement, ast.Assign) and all(
            isinstance(each, ast.Name) for each in statement.targets
        ):
            statement.value = Renamer(current).visit(statement.value)
            for target in statement.targets:
                if target.id in known:
                    current[target.id] = f"{target.id}{VERSION}{len(result)}"
                known.add(target.id)
                target.id = current.get(target.id, target.id)
            result.append(statement)
            continue
        # A variable that a branch or a loop may set gets a new version, which begins with the old value.
        for name in sorted(stored(statement) & known):
            fresh = f"{name}{VERSION}{len(result)}"
            result.append(assign(fresh, ast.Name(current.get(name, name), ast.Load()), statement))
            current[name] = fresh
        known |= stored(statement)
        result.append(Renamer(current).visit(statement))
    return result


def is_literal(value: ast.expr, constants: Mapping[str, Any]) -> bool:
    """Return whether an expression is a number as Numba's compiler knows it: `0`, `-1.5`, `float32(0)`.

    Parameters
    ----------
    value
        The expression.
    constants
        The objects behind the names of a program.
    """
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        value = value.operand
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and len(value.args) == 1:
        function = constants.get(value.func.id)
        # Numba's types of numbers have a bit width; Numba itself is not there where kernels are only interpreted.
        is_type = hasattr(function, "bitwidth") or (
            isinstance(function, type) and issubclass(function, np.generic)
        )
        return is_type and not value.keywords and is_literal(value.args[0], constants)
    return isinstance(value, ast.Constant) and isinstance(value.value, bool | int | float)


def with_literals(body: list[ast.stmt], constants: Mapping[str, Any]) -> list[ast.stmt]:
    """Put a number in the place of a variable that is set once, to this number, outside of branches and loops.

    Numba's compiler knows the value of such a variable wherever it is read, and leaves out a branch that it decides.
    Behind a barrier the variable would be a value like any other.
    """
    stores = Counter(
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    )
    for place, statement in enumerate(body):
        if not isinstance(statement, ast.Assign) or not is_literal(statement.value, constants):
            continue
        [target, *more] = statement.targets
        if more or not isinstance(target, ast.Name) or stores[target.id] != 1:
            continue
        for later in body[place + 1 :]:
            for node in [
                each for each in ast.walk(later) if isinstance(each, ast.Name) and each.id == target.id
            ]:
                Replacer(node, ast.copy_location(copy.deepcopy(statement.value), node)).visit(later)
    return body


def _conditional(statement: ast.stmt, call: ast.Call) -> bool:
    """Return whether a call is in a part of an expression that is not computed each time."""
    parts: list[ast.expr] = []
    for node in ast.walk(statement):
        if isinstance(node, ast.IfExp):
            parts += [node.body, node.orelse]
        elif isinstance(node, ast.BoolOp):
            parts += node.values[1:]
        elif isinstance(node, ast.Compare):
            parts += node.comparators[1:]
    return any(each is call for part in parts for each in ast.walk(part))


class Preparation:
    """The body of a kernel in which every wait is a separate statement.

    `exchanged` maps each variable that threads exchange to the kind of exchange, and `asked` each variable with a mask
    or a lane to the kind of exchange and "mask" or "lane". `scopes` maps each branch whose
    condition may differ between threads to the number in the names of its variables.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        tree = copy.deepcopy(program.kernel.tree)
        self.exchanged: dict[str, str] = {}
        self.asked: dict[str, tuple[str, str]] = {}
        self.scopes: dict[tuple[int, str], int] = {}
        self.counters = 0
        body = versions(Inliner(program).statements(tree.body), program.kernel.parameters)
        body = with_literals(body, program.constants)
        self.body = self.give_scopes(self.separate(body))

    # -- every exchange of values becomes: set a value; wait; compute the result

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
                steps = self.separate_one(assign(name, header, statement))
                test = ast.copy_location(ast.Name(name, ast.Load()), statement)
                if isinstance(statement, ast.If):
                    before, statement.test = steps, test
                else:
                    return [self.loop_that_asks_inside(statement, steps, test)]
            statement.body = self.separate(statement.body)
            statement.orelse = self.separate(statement.orelse)
            return [*before, statement]
        if plain_wait(statement):
            masks = statement.value.args[
                2:
            ]  # of a syncwarp: here all lanes reach it, but Numba looks at its type
            del statement.value.args[2:]
            masks = [each for each in masks if not is_literal(each, {})]
            for each in masks:
                name = f"{PREFIX}maskw{len(self.asked)}"
                self.asked[name] = ("syncwarp", "mask")
                before.append(assign(name, each, statement))
            return [*before, statement]
        while has_sync(statement):
            call = next(each for each in syncs(statement) if not any(map(has_sync, each.args)))
            kind, line, *arguments = call.args
            if kind.value in ("syncthreads", "syncwarp"):
                raise CannotCut(f"cuda.{kind.value}() inside an expression")
            if kind.value == "activemask" and _conditional(statement, call):
                raise CannotCut(
                    "cuda.activemask() is in a part of an expression that only some threads compute"
                )
            mask, value, *rest = arguments
            tag = len(self.exchanged)
            brought = f"{PREFIX}v{tag}"
            self.exchanged[brought] = kind.value
            before.append(assign(brought, value, statement))
            wait = ast.Call(ast.Name(SYNC, ast.Load()), [kind, line, ast.Constant(brought)], [])
            if kind.value in BLOCK_SYNCS:
                taken: ast.expr = ast.Name(f"{PREFIX}r{tag}", ast.Load())
            else:
                names = []
                for part, expression in (("mask", mask), *((f"x{k}", each) for k, each in enumerate(rest))):
                    names.append(f"{PREFIX}{part}{tag}")
                    self.asked[names[-1]] = (kind.value, "mask" if part == "mask" else "lane")
                    before.append(assign(names[-1], expression, statement))
                first = f"{THREAD}[{LINEAR}] - {THREAD}[{LINEAR}] % {WARP_SIZE}"
                who = (
                    names[0]
                    if kind.value.startswith("shfl")
                    else f"{names[0]} & {PREFIX}lanes_alive({ALIVE}, {first})"
                )
                taken = ast.parse(
                    f"{PREFIX}take_{kind.value}({PREFIX}pub{tag}, {first}, {THREAD}[{LINEAR}] % {WARP_SIZE}, "
                    f"len({PREFIX}pub{tag}), {who}, {brought}{''.join(f', {each}' for each in names[1:])})",
                    mode="eval",
                ).body
            before.append(ast.Expr(wait))
            for node in ast.walk(taken):
                ast.copy_location(node, statement)
            statement = Replacer(call, taken).visit(statement)
        return [
            *(ast.fix_missing_locations(ast.copy_location(each, statement)) for each in before),
            statement,
        ]

    def loop_that_asks_inside(self, statement: ast.While, steps: list[ast.stmt], test: ast.expr) -> ast.While:
        """Return `while True: …; if not test: break; …` for a loop whose test makes threads wait."""
        if statement.orelse:
            raise CannotCut("a loop with barriers has an else")
        leave = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
        body = [*steps, leave, *self.separate(statement.body)]
        loop = ast.While(ast.Constant(True), body, [])
        return ast.fix_missing_locations(ast.copy_location(loop, statement))

    # -- separate variables under a condition that may differ between threads

    def give_scopes(self, body: list[ast.stmt], after: frozenset[str] = frozenset()) -> list[ast.stmt]:
        """Rename the variables that a branch with warp operations sets before it reads them.

        Variables that are read later are copied to their old names at the branch's end. No other statement uses the
        new names, so a loop counter under such a condition can be the same for all threads. `after` has the names
        that may be read after these statements.
        """
        for number, statement in enumerate(body):
            later = after | exposed(body[number + 1 :], set())[0]
            inside = later
            if isinstance(statement, ast.For) and has_sync(statement):
                self.own_counter(statement, later)
            if isinstance(statement, ast.For | ast.While):
                inside = later | exposed([statement], set())[0]
            for part in ("body", "orelse"):
                inner = getattr(statement, part, None)
                if not inner:
                    continue
                inner = self.give_scopes(inner, frozenset(inside))
                if isinstance(statement, ast.If) and has_sync(inner) and not waits_for_block(inner):
                    inner = self.scope(statement, part, inner, later)
                setattr(statement, part, inner)
        return body

    def own_counter(self, statement: ast.For, later: frozenset[str] | set[str]) -> None:
        """Give a loop with barriers a counter that no other statement uses, unless its body changes the counter."""
        target = statement.target
        if not isinstance(target, ast.Name) or any(target.id in stored(each) for each in statement.body):
            return
        name, fresh = target.id, f"{target.id}{VERSION}c{self.counters}"
        self.counters += 1
        renamer = Renamer({name: fresh})
        statement.target, statement.body = (
            renamer.visit(target),
            [renamer.visit(each) for each in statement.body],
        )
        if name in later:
            statement.body.insert(0, assign(name, ast.Name(fresh, ast.Load()), statement))

    def scope(
        self, statement: ast.If, part: str, body: list[ast.stmt], later: frozenset[str]
    ) -> list[ast.stmt]:
        tag = len(self.scopes)
        self.scopes[id(statement), part] = tag
        read, _ = exposed(body, set())
        own = {name for each in body for name in stored(each) if not name.startswith(PREFIX)}
        names = {name: f"{name}{SCOPE}{tag}" for name in sorted(own - read)}
        renamer = Renamer(names)
        body = [renamer.visit(each) for each in body]
        place = body[-1]
        copies = [
            assign(name, ast.Name(fresh, ast.Load()), place) for name, fresh in names.items() if name in later
        ]
        return [*body, *copies]
