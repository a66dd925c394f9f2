"""Replaces calls of device functions that contain waits by the functions' bodies."""

from __future__ import annotations

import ast
import copy

from host_to_device.standins.numba_cuda.flow import CannotCut, Renamer, Replacer
from host_to_device.standins.numba_cuda.rewriting import PREFIX, Function, Program


class Inliner:
    """Replaces each statement that calls a device function with waits by the function's body."""

    def __init__(self, program: Program) -> None:
        self.waiting = {name: each for name, each in program.functions.items() if each.waits}
        self.count = 0

    def call_in(self, node: ast.AST) -> ast.Call | None:
        for each in ast.walk(node):
            if (
                isinstance(each, ast.Call)
                and isinstance(each.func, ast.Name)
                and each.func.id in self.waiting
            ):
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
            replaced = Replacer(call, result)
            statement = replaced.visit(statement)
        return [*self.statements(body), *self.statement(ast.fix_missing_locations(statement))]

    def call_in_arguments(self, call: ast.Call) -> bool:
        return any(self.call_in(argument) for argument in call.args)

    def body_of(self, call: ast.Call) -> tuple[list[ast.stmt], ast.expr | None]:
        """Return a fresh copy of the callee's body with its arguments assigned, and its result."""
        function: Function = self.waiting[call.func.id]
        if function.star or any(isinstance(each, ast.Starred) for each in call.args):
            raise CannotCut(f"{function.original.__name__}() waits and is called with a starred argument")
        self.count += 1
        tree = copy.deepcopy(function.tree)
        own = set(function.parameters) | {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        names = {name: f"{name}_{PREFIX}i{self.count}" for name in own}
        given = dict(zip(function.parameters, call.args[3:], strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords}
        defaults = function.tree.args.defaults
        for name, value in zip(reversed(function.parameters), reversed(defaults), strict=False):
            given.setdefault(name, copy.deepcopy(value))
        if set(given) != set(function.parameters):
            raise CannotCut(f"{function.original.__name__}() is called with the wrong number of arguments")
        entry = [
            ast.copy_location(ast.Assign([ast.Name(names[name], ast.Store())], given[name]), call)
            for name in function.parameters
        ]
        body = [Renamer(names).visit(statement) for statement in tree.body]
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
