"""Gives an interpreted kernel Numba's types: infers the type of every expression and writes the conversions into the tree.

The interpreter computes with Python's integers and NumPy's floats. Python's integers never overflow, and NumPy's rules are
other ones than Numba's, so this module adds what is missing: a sum that leaves 64 bits wraps, a float32 beside an int64
becomes a float64, a variable that has two types in two branches has one after them. Where the magnitude of an integer is
known (a thread's number, a literal, an int8) nothing has to wrap, and nothing is added.

A kernel is typed for the types of its arguments, a device function for those of each call. What the rules do not cover has
the type None and is left as it is: complex numbers, functions within functions, functions of other libraries.
"""

from __future__ import annotations

import ast
import copy
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from host_to_device.standins.numba_cuda import array_functions, declarations, successor_types, vectors
from host_to_device.standins.numba_cuda.errors import DIVIDED_IN_PLACE, refusal
from host_to_device.standins.numba_cuda.exchanges import VOTES, unfit
from host_to_device.standins.numba_cuda.layouts import as_dtype
from host_to_device.standins.numba_cuda.numbas_types import (
    WIDTH,
    Array,
    Number,
    Record,
    Several,
    compared,
    counted,
    full,
    joined,
    of_dtype,
    of_integer,
    of_value,
    rounded_up,
    sum_of,
)
from host_to_device.standins.numba_cuda.python_numbers import wrapping
from host_to_device.standins.numba_cuda.reading import where
from host_to_device.standins.numba_cuda.rewriting import (
    GIVEN,
    LINEAR,
    PREFIX,
    SHARED,
    SYNC,
    THREAD,
    Function,
    Program,
    SharedArray,
)

WRAPPED, LEFT, RIGHT = f"{PREFIX}wrapped", f"{PREFIX}base", f"{PREFIX}index"  # variables of one expression
BOOL, INT4, INT8 = Number("b1"), Number("i4"), Number("i8")
UNKNOWN = "the result of a function that calls itself"  # as long as its type is not known
FLOATS = {"f4": f"{PREFIX}as_f4", "f8": f"{PREFIX}as_f8"}
SIZE = Number("i8", 44)  # of an array
COUNTER = 62  # the magnitude of a number to which a loop adds small ones

ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)

# Types of what threads exchange and of the helpers; for others the argument decides.
EXCHANGES = {
    **dict.fromkeys(("all_sync", "any_sync", "eq_sync"), BOOL),
    **dict.fromkeys(("ballot_sync", "match_any_sync"), INT4),
    **dict.fromkeys(("syncthreads_count", "syncthreads_and", "syncthreads_or"), INT4),
    "match_all_sync": Several((INT4, BOOL)),
    "activemask": Number("u4"),
}
HELPERS = {"laneid": Number("i4", 6), "lanemask_lt": INT4}
TESTS = (math.isnan, math.isinf, math.isfinite)
OF_TWO = (math.fmod, math.copysign, math.atan2, math.hypot, math.remainder)
OF_ONE = tuple(
    getattr(math, name)
    for name in (
        *(
            "sqrt",
            "exp",
            "expm1",
            "log",
            "log2",
            "log10",
            "log1p",
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
        ),
        *(
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "acosh",
            "atanh",
            "erf",
            "erfc",
            "gamma",
            "lgamma",
            "fabs",
            "degrees",
            "radians",
        ),
    )
)

Tree = Any  # an expression's tree; its parts depend on its class
Environment = dict[str, Any]  # the types of variables, by name


@dataclass
class Loop:
    """A loop whose body is being typed."""

    header: Environment
    leaves: Environment | None = None  # the types after it, once they are known
    breaks: list[Environment] = field(default_factory=list)
    continues: list[Environment] = field(default_factory=list)


def typed(program: Program, values: Sequence[Any], shared: list[SharedArray]) -> Program:
    """Return the program with Numba's types for these arguments.

    Parameters
    ----------
    program
        The rewritten kernel.
    values
        The kernel's arguments.
    shared
        Its shared arrays, with their dtypes.
    """
    kinds = kinds_of(values)
    if kinds not in program.typed:
        program.typed[kinds] = _Typing(program, shared).program_for(list(kinds))
    return program.typed[kinds]


def check(program: Program, kinds: Sequence[Any], shared: list[SharedArray]) -> None:
    """Refuse a program that Numba refuses for arguments of these types; None is a type that is not known."""
    _Typing(program, shared).program_for(list(kinds))


def kinds_of(values: Sequence[Any]) -> tuple:
    """Return what the typed program depends on, for a table."""
    return tuple(rounded_up(of_value(value)) for value in values)


class _Typing:
    """Types the functions of one program; each version of a device function is made once."""

    def __init__(self, program: Program, shared: list[SharedArray]) -> None:
        self.program = program
        self.shared = [
            Array(of_dtype(np.dtype(each.dtype)), 1 if each.shape is None else len(each.shape))
            for each in shared
        ]
        self.versions: dict[tuple, tuple[str, Any]] = {}
        self.recursive: dict[
            str, tuple
        ] = {}  # functions that call themselves, by name: the types of their arguments
        self.functions: dict[str, Function] = {}

    def program_for(self, kinds: list[Any]) -> Program:
        kernel = self.program.kernel
        tree, _ = self.tree(kernel, kinds)
        functions = {**self.program.functions, **self.functions}
        return replace(self.program, kernel=replace(kernel, tree=tree), functions=functions, typed={})

    def tree(self, function: Function, kinds: Sequence[Any]) -> tuple[ast.FunctionDef, Any]:
        """Return the typed tree of a function, and the type of its result."""
        body = _Body(self, function)
        names = [*function.parameters, function.star] if function.star else function.parameters
        parameters = dict(zip(names, kinds, strict=True))
        body.block(function.tree.body, dict(parameters))
        result = None
        known = [kind for kind in body.returned if kind != UNKNOWN]
        for number, kind in enumerate(known):
            result = kind if not number else joined(result, kind)
        body.result, body.returned = full(result), []
        tree = copy.copy(function.tree)
        tree.body, _ = body.block(function.tree.body, dict(parameters))
        return ast.fix_missing_locations(tree), body.result

    def version(self, name: str, kinds: tuple) -> tuple[str, Any]:
        """Return the name of a device function for arguments of these types, and the type of its result."""
        key = name, kinds
        if key not in self.versions:
            function = self.program.functions[name]
            fresh = f"{name}_{len(self.versions)}"
            outermost = function.name not in self.recursive
            if function.recursive:
                self.check_recursion(function, kinds)
                self.settle(key, fresh)
            tree, result = self.tree(function, kinds)
            tree.name = fresh
            self.functions[fresh] = replace(function, name=fresh, tree=tree)
            self.versions[key] = fresh, result
            if outermost:
                self.recursive.pop(function.name, None)
        return self.versions[key]

    def check_recursion(self, function: Function, kinds: tuple) -> None:
        """Refuse a function without a signature that calls itself with other types, which numba-cuda 0.30 cannot compile."""
        if any(isinstance(node, ast.Name) and node.id == GIVEN for node in ast.walk(function.tree)):
            return
        codes = tuple(getattr(each, "code", each) for each in kinds)
        if self.recursive.setdefault(function.name, codes) != codes:
            place = where(function.original, function.original.__code__.co_firstlineno)
            raise refusal(
                f"{function.original.__name__}(), {place}: calls itself with arguments of other types than its own: "
                "numba-cuda 0.30 compiles that only with a signature"
            )

    def settle(self, key: tuple, fresh: str) -> None:
        """Find the type of the result of a function that calls itself: first of the returns that do not."""
        name, kinds = key
        self.versions[key] = fresh, UNKNOWN
        for _ in range(4):
            _, result = self.tree(self.program.functions[name], kinds)
            if result == self.versions[key][1]:
                return
            self.versions[key] = fresh, result


class _Body:
    """Types the statements of one function."""

    def __init__(self, typing: _Typing, function: Function) -> None:
        self.typing, self.function = typing, function
        self.constants = typing.program.constants
        self.loops: list[Loop] = []
        self.returned: list[Any] = []
        self.result: Any = None
        self.settled: dict[tuple, tuple[Environment, Environment | None]] = {}  # of loops

    # -- statements

    def block(
        self, body: list[ast.stmt], environment: Environment | None
    ) -> tuple[list[ast.stmt], Environment | None]:
        """Return typed statements and the types after them; None if nothing gets there."""
        result: list[ast.stmt] = []
        for statement in body:
            method = getattr(self, f"on_{type(statement).__name__}", self.on_other)
            new, after = method(statement, {} if environment is None else environment)
            result += [
                ast.copy_location(each, statement) if not hasattr(each, "lineno") else each for each in new
            ]
            environment = None if environment is None else after
        return result, environment

    def on_other(self, node: ast.stmt, environment: Environment) -> tuple[list[ast.stmt], Environment | None]:
        """Type the expressions of a statement that changes no variable: an assertion, `raise`, `pass`."""
        if isinstance(node, ast.FunctionDef):
            return [node], {**environment, node.name: None}
        new = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(new, name, self.value(value, environment))
        return [new], None if isinstance(node, ast.Raise) else environment

    def on_Assign(self, node: ast.Assign, environment: Environment) -> tuple[list[ast.stmt], Environment]:
        new = copy.copy(node)
        new.value, kind = self.expression(node.value, environment)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            array = self.kind(node.targets[0].value, environment)
            new.value = self.stored(new.value, kind, array)
        after = dict(environment)
        new.targets = [self.target(target, kind, environment, after) for target in node.targets]
        return [new], after

    def target(self, target: Tree, kind: Any, environment: Environment, after: Environment) -> Tree:
        """Type what is assigned to, and note the types of variables in `after`."""
        if isinstance(target, ast.Name):
            after[target.id] = kind
            return target
        if isinstance(target, ast.Tuple):
            kinds = (
                kind.each
                if isinstance(kind, Several) and len(kind.each) == len(target.elts)
                else [None] * len(target.elts)
            )
            new: Any = copy.copy(target)
            new.elts = [
                self.target(*each, environment, after) for each in zip(target.elts, kinds, strict=True)
            ]
            return new
        new = copy.copy(target)
        for name, value in ast.iter_fields(target):
            if isinstance(value, ast.expr):
                setattr(new, name, self.value(value, environment))
        return new

    def stored(self, value: Tree, kind: Any, array: Any) -> Tree:
        """Return the value as it is stored in an array: a large integer becomes a float32 in one step."""
        element: Any = array.element if isinstance(array, Array) else None
        known = isinstance(kind, Number) and isinstance(element, Number)
        if known and element.code in FLOATS and kind.whole and kind.bits > 24:
            return self.converted(value, kind, element.code)
        return value

    def on_AugAssign(
        self, node: ast.AugAssign, environment: Environment
    ) -> tuple[list[ast.stmt], Environment]:
        target = node.target
        read: Any
        if isinstance(node.op, ast.Div):
            kinds = (self.kind(target, environment), self.expression(node.value, environment)[1])
            if all(isinstance(kind, Number) and kind.whole for kind in kinds):
                raise self.refuse(node, DIVIDED_IN_PLACE)
        if isinstance(target, ast.Name):
            read = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            operation = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
            return self.on_Assign(ast.copy_location(ast.Assign([target], operation), node), environment)
        new: Any = copy.copy(node)
        new.value, kind = self.expression(node.value, environment)
        new.target = self.target(target, None, environment, {})
        element = self.kind(target, environment)
        if (
            not isinstance(kind, Number)
            or not isinstance(element, Number)
            or self.same(element, kind, node.op)
        ):
            return [new], environment
        # `array[index] op= value` with both parts of the target computed once, and the value first, as Python does.
        assert isinstance(target, ast.Subscript) and isinstance(new.target, ast.Subscript)
        read = ast.Subscript(
            ast.NamedExpr(ast.Name(LEFT, ast.Store()), new.target.value),
            ast.NamedExpr(ast.Name(RIGHT, ast.Store()), new.target.slice),
            ast.Load(),
        )
        _copy_place(read, node)
        value, kind = self.operation(
            node, node.op, (self.plain(read, element, environment, target), element), (new.value, kind)
        )
        array = self.kind(target.value, environment)
        left = ast.Subscript(ast.Name(LEFT, ast.Load()), ast.Name(RIGHT, ast.Load()), ast.Store())
        return [ast.Assign([left], self.stored(value, kind, array))], environment

    def plain(self, read: Tree, element: Number, environment: Environment, target: ast.Subscript) -> Tree:
        array = self.kind(target.value, environment)
        return self.unwrapped(read, element, isinstance(array, Array) and array.raw)

    def same(self, element: Number, kind: Number, operator: ast.operator) -> bool:
        """Return whether Python's `array[i] op= value` stores what Numba's does, because the stored integer wraps."""
        if element.whole and kind.whole and element.code != "b1":
            modular = (ast.Add, ast.Sub, ast.Mult, *BITWISE)
            return isinstance(operator, modular) and kind.code != "b1"
        if element.code == "f8":
            return isinstance(operator, ast.Add | ast.Sub | ast.Mult | ast.Div)
        return element.code == kind.code == "f4"

    def on_If(self, node: ast.If, environment: Environment) -> tuple[list[ast.stmt], Environment | None]:
        known = _literal(node.test)
        if known is not None:  # Python's own compiler leaves the other branch out
            taken = node.body if known else node.orelse
            body, after = self.block(taken, environment)
            return [_like(node, body=body or [ast.Pass()], orelse=[], test=ast.Constant(True))], after
        test = self.value(node.test, environment)
        body, one = self.block(node.body, dict(environment))
        orelse, other = self.block(node.orelse, dict(environment))
        after = _meet([one, other])
        body += self.casts(one, after)
        orelse += self.casts(other, after)
        return [_like(node, test=test, body=body, orelse=orelse)], after

    def casts(self, before: Environment | None, after: Environment | None) -> list[ast.stmt]:
        """Return the statements that give variables the types that they have from here on."""
        if before is None or after is None:
            return []
        return [
            ast.Assign(
                [ast.Name(name, ast.Store())],
                self.converted(ast.Name(name, ast.Load()), before[name], kind.code),
            )
            for name, kind in after.items()
            if isinstance(kind, Number)
            and isinstance(before.get(name), Number)
            and before[name].code != kind.code
        ]

    def on_While(
        self, node: ast.While, environment: Environment
    ) -> tuple[list[ast.stmt], Environment | None]:
        return self.loop(node, environment, {}, forever=bool(_literal(node.test)))

    def on_For(self, node: ast.For, environment: Environment) -> tuple[list[ast.stmt], Environment | None]:
        fresh = copy.copy(node)
        fresh.iter, kind = self.iterated(node.iter, environment)
        target: Environment = {}
        self.target(node.target, kind, environment, target)
        return self.loop(fresh, environment, target, False)

    def loop(
        self, node: ast.For | ast.While, environment: Environment, target: Environment, forever: bool
    ) -> tuple[list[ast.stmt], Environment | None]:
        """Type a loop: its variables get the types that hold before it and after each pass."""
        key = id(node.body), frozenset(environment.items()), frozenset(target.items())
        if key not in self.settled:  # an inner loop is met again in each turn of the outer ones
            self.settled[key] = self.settle(node, environment, target, forever)
        header, leaves = self.settled[key]
        self.loops.append(Loop(header, leaves if leaves is not None else {}))
        test = {} if isinstance(node, ast.For) else {"test": self.value(node.test, header)}
        body, end = self.block(node.body, {**header, **target})
        self.loops.pop()
        body += self.casts(end, header)
        orelse, after = self.block(node.orelse, None if forever else dict(header))
        orelse += self.casts(after, leaves)
        new = _like(node, body=body, orelse=orelse, **test)
        return [*self.casts(environment, header), new], leaves

    def settle(
        self, node: ast.For | ast.While, environment: Environment, target: Environment, forever: bool
    ) -> tuple[Environment, Environment | None]:
        """Return the types before each pass of a loop, and those after it."""
        header, returned = dict(environment), len(self.returned)
        for turn in range(20):
            loop = Loop(header)
            self.loops.append(loop)
            _, end = self.block(node.body, {**header, **target})
            self.loops.pop()
            del self.returned[returned:]  # their types may not be known yet
            following = _meet([header, end, *loop.continues]) or {}
            if turn:  # a number that grows with each pass may grow without end
                counters = self.counters(node, header, {**header, **(end or {})})
                for name, kind in following.items():
                    if header.get(name) != kind:
                        following[name] = Number(kind.code, COUNTER) if name in counters else full(kind)
            if following == header:
                break
            header = following
        return header, _meet([None if forever else header, *loop.breaks])

    def counters(self, node: ast.For | ast.While, before: Environment, inside: Environment) -> set[str]:
        """Return the variables to which a loop only adds small numbers.

        Their sums need not be wrapped: to get beyond 2**62, a thread would have to add the largest size of a grid 100,000 times.
        """
        small: dict[str, bool] = {}
        for child in ast.walk(node):
            if not isinstance(child, ast.Name) or not isinstance(child.ctx, ast.Store):
                continue
            small.setdefault(child.id, True)
            kind: Any = before.get(child.id)
            whole = isinstance(kind, Number) and kind.code == "i8"
            small[child.id] &= whole and (kind.bits <= 44 or kind.bits == COUNTER)
        for child in ast.walk(node):
            for target, step in _steps(child):
                if target in small:
                    kind = None if step is None else self.kind(step, inside)
                    small[target] &= isinstance(kind, Number) and kind.whole and kind.bits <= 44
        return {name for name, is_small in small.items() if is_small}

    def on_Break(self, node: ast.Break, environment: Environment) -> tuple[list[ast.stmt], None]:
        self.loops[-1].breaks.append(environment)
        return [*self.casts(environment, self.loops[-1].leaves), node], None

    def on_Continue(self, node: ast.Continue, environment: Environment) -> tuple[list[ast.stmt], None]:
        self.loops[-1].continues.append(environment)
        return [*self.casts(environment, self.loops[-1].header), node], None

    def on_Return(self, node: ast.Return, environment: Environment) -> tuple[list[ast.stmt], None]:
        if node.value is None:
            return [node], None
        value, kind = self.expression(node.value, environment)
        self.returned.append(kind)
        if isinstance(kind, Number) and isinstance(self.result, Number):
            value = self.converted(value, kind, self.result.code)
        return [_like(node, value=value)], None

    # -- expressions

    def value(self, node: Tree, environment: Environment) -> Tree:
        return self.expression(node, environment)[0]

    def kind(self, node: Tree, environment: Environment) -> Any:
        return self.expression(node, environment)[1]

    def expression(self, node: Tree, environment: Environment) -> tuple[Tree, Any]:
        """Return a typed expression and its type; what is not known below is left as it is and has the type None."""
        method = getattr(self, f"of_{type(node).__name__}", None)
        if method is None:
            return self.parts(node, environment), None
        return method(node, environment)

    def parts(self, node: Tree, environment: Environment) -> Tree:
        """Return the expression with its parts typed."""
        new = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(new, name, self.value(value, environment))
            elif isinstance(value, list):
                setattr(
                    new,
                    name,
                    [self.value(each, environment) if isinstance(each, ast.expr) else each for each in value],
                )
        return new

    def of_Constant(self, node: ast.Constant, environment: Environment) -> tuple[Tree, Any]:
        if isinstance(node.value, bool):
            return node, BOOL
        if isinstance(node.value, int):
            return node, of_integer(node.value)
        return node, Number("f8") if isinstance(node.value, float) else None

    def of_Name(self, node: ast.Name, environment: Environment) -> tuple[Tree, Any]:
        if node.id in environment:
            return node, environment[node.id]
        if node.id in self.constants:
            value = self.constants[node.id]
            kind = of_value(value)
            if isinstance(value, np.integer | np.bool_):
                return ast.copy_location(ast.Constant(value.item()), node), kind
            return node, kind
        return node, None

    def of_Tuple(self, node: ast.Tuple, environment: Environment) -> tuple[Tree, Any]:
        pairs = [self.expression(each, environment) for each in node.elts]
        return _like(node, elts=[each for each, _ in pairs]), Several(tuple(kind for _, kind in pairs))

    def of_Attribute(self, node: Any, environment: Environment) -> tuple[Tree, Any]:
        value, kind = self.expression(node.value, environment)
        new = _like(node, value=value)
        if isinstance(kind, Array):
            known = {"shape": Several((SIZE,) * kind.ndim), "size": SIZE, "ndim": Number("i8", 3), "T": kind}
            if node.attr in known:
                return new, known[node.attr]
            if isinstance(kind.element, Record) and node.attr in kind.element.dtype.fields:
                return self.field(new, kind, node.attr)
        if isinstance(kind, Record) and node.attr in (kind.dtype.fields or {}):
            return self.field(new, kind, node.attr)
        if isinstance(kind, Several) and node.attr in kind.names:
            return new, kind.each[kind.names.index(node.attr)]
        return new, None

    def field(self, new: Tree, owner: Any, name: str) -> tuple[Tree, Any]:
        """Return the field of a record, or of an array of records."""
        dtype = (owner.element if isinstance(owner, Array) else owner).dtype.fields[name][0]
        more = dtype.shape
        kind = of_dtype(dtype.base)
        axes = len(more) + (owner.ndim if isinstance(owner, Array) else 0)
        if axes:
            return new, Array(kind, axes, raw=True)
        return self.unwrapped(new, kind, True), kind

    def unwrapped(self, value: Tree, kind: Any, raw: bool) -> Tree:
        """Return an integer that may be NumPy's as one of Python's."""
        return (
            _call("int", value)
            if raw and isinstance(kind, Number) and kind.whole and kind.code != "b1"
            else value
        )

    def of_Subscript(self, node: Any, environment: Environment) -> tuple[Tree, Any]:
        if isinstance(node.value, ast.Name) and node.value.id in (THREAD, SHARED):
            number = ast.literal_eval(node.slice)
            if node.value.id == SHARED:
                return node, self.typing.shared[number]
            widths = {0: 10, 1: 31, 2: 11, 3: 31}
            return node, INT8 if number == LINEAR else Number("i4", widths[number // 3])
        value, kind = self.expression(node.value, environment)
        index, indices = self.expression(node.slice, environment)
        new = _like(node, value=value, slice=index)
        if isinstance(kind, Several):
            at = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(at, int) and -len(kind.each) <= at < len(kind.each):
                return new, kind.each[at]
            whole = full(kind).each
            return new, whole[0] if whole and all(each == whole[0] for each in whole) else None
        if (
            isinstance(kind, Record)
            and isinstance(node.slice, ast.Constant)
            and node.slice.value in kind.dtype.fields
        ):
            return self.field(new, kind, node.slice.value)
        if not isinstance(kind, Array):
            return new, None
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            known = isinstance(kind.element, Record) and node.slice.value in kind.element.dtype.fields
            return self.field(new, kind, node.slice.value) if known else (new, None)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if isinstance(indices, Several) and not isinstance(
            node.slice, ast.Tuple
        ):  # array[cuda.grid(2)], array[place]
            parts = list(indices.each)
        left = kind.ndim - sum(not isinstance(part, ast.Slice) for part in parts)
        if left > 0:
            return new, Array(kind.element, left, kind.raw)
        return (self.unwrapped(new, kind.element, kind.raw), kind.element) if not left else (new, None)

    def of_Slice(self, node: ast.Slice, environment: Environment) -> tuple[Tree, Any]:
        return self.parts(node, environment), None

    def of_UnaryOp(self, node: ast.UnaryOp, environment: Environment) -> tuple[Tree, Any]:
        operand, kind = self.expression(node.operand, environment)
        new = _like(node, operand=operand)
        if isinstance(node.op, ast.Not):
            return new, BOOL
        if not isinstance(kind, Number):
            return new, None
        if not isinstance(operand, ast.Constant):
            self.as_with_successor(node, successor_types.sign, node.op, kind)
        if not kind.whole:
            if isinstance(node.op, ast.Invert):
                raise self.refuse(node, "~ of a float: it takes integers")
            return new, kind
        if kind.code == "b1":
            if isinstance(node.op, ast.Invert):
                return _like(node, op=ast.Not(), operand=operand), BOOL
            new.operand = _call("int", operand)
            return new, Number("i8", 1)
        # Numba negates and inverts in the operand's own width, and then widens the result.
        if kind.unsigned:
            return self.wrapped(new, kind.code), Number("u8", WIDTH[kind.code])
        if (
            isinstance(node.op, ast.USub)
            and kind.bits >= WIDTH[kind.code]
            and not isinstance(operand, ast.Constant)
        ):
            return self.wrapped(new, kind.code), Number("i8", WIDTH[kind.code])
        return new, Number("i8", kind.bits)

    def of_BinOp(self, node: ast.BinOp, environment: Environment) -> tuple[Tree, Any]:
        left, right = (self.expression(each, environment) for each in (node.left, node.right))
        return self.operation(node, node.op, left, right)

    def operation(
        self, node: ast.AST, operator: ast.operator, left: tuple[Tree, Any], right: tuple[Tree, Any]
    ) -> tuple[Tree, Any]:
        """Return `left operator right` with Numba's types."""
        (a, one), (b, other) = left, right
        plain = ast.copy_location(ast.BinOp(a, operator, b), node)
        if not isinstance(one, Number) or not isinstance(other, Number):
            return plain, None
        self.as_with_successor(node, successor_types.operation, operator, one, other)
        if not (one.whole and other.whole):
            return self.of_floats(plain, one, other)
        if isinstance(operator, ast.Div):
            plain.left = self.converted(a, one, "f8")
            return plain, Number("f8")
        if isinstance(operator, BITWISE) and one.code == other.code == "b1":
            return plain, BOOL
        if one.code == "b1":
            plain.left = _call("int", a)
        if other.code == "b1":
            plain.right = _call("int", b)
        if isinstance(operator, ast.LShift | ast.RShift):
            return self.shift(plain, one, other)
        code = sum_of(one, other)
        if isinstance(operator, ARITHMETIC) and code == "i8":
            # A uint64 becomes an int64 first: whether the result fits is asked of what Numba's compiler adds.
            plain.left, plain.right = (
                self.converted(plain.left, one, "i8"),
                self.converted(plain.right, other, "i8"),
            )
        if isinstance(
            operator, ast.Pow
        ):  # the function in numba-cuda returns a float64, so large powers are rounded
            power = self.wrapped(_call(f"{PREFIX}power_of_integers", plain.left, plain.right), code)
            return self.converted(_call(FLOATS["f8"], power), Number("f8"), code), Number(code)
        if not isinstance(operator, ARITHMETIC + BITWISE):
            return plain, None
        value, kind = self.fitting(plain, code, _bits(operator, one, other, a, b))
        if self.typing.program.successor and isinstance(operator, BITWISE):
            narrow = successor_types.of_bits(one, other)
            return self.converted(value, kind, narrow), Number(narrow, min(kind.bits, WIDTH[narrow]))
        return value, kind

    def as_with_successor(self, node: ast.AST, why: Callable[..., str], *about: Any) -> None:
        """Refuse what a kernel of numba_cuda_mlir computes otherwise; `why(*about)` gives the words."""
        if self.typing.program.successor and (words := why(*about)):
            raise self.refuse(node, words)

    def fitting(self, value: Tree, code: str, bits: int) -> tuple[Tree, Number]:
        """Return a 64-bit integer whose magnitude has at most `bits` bits, wrapped if it may not fit."""
        negative = code == "u8" and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub)
        if bits > WIDTH[code] or negative:
            return self.wrapped(value, code, f"{PREFIX}overflowed" if code == "i8" else ""), Number(code)
        return value, Number(code, bits)

    def shift(self, plain: ast.BinOp, one: Number, other: Number) -> tuple[Tree, Number]:
        code = "u8" if one.unsigned else "i8"
        by = plain.right.value if isinstance(plain.right, ast.Constant) else None
        if not isinstance(by, int) or not 0 <= by < 64:
            name = "shifted_left" if isinstance(plain.op, ast.LShift) else "shifted_right"
            value: Tree = _call(f"{PREFIX}{name}", plain.left, plain.right)
            by = 64
        else:
            value = plain
        return self.fitting(value, code, one.bits + by if isinstance(plain.op, ast.LShift) else one.bits)

    def of_floats(self, plain: ast.BinOp, one: Number, other: Number) -> tuple[Tree, Any]:
        """Return an operation with a float."""
        if not isinstance(plain.op, (*ARITHMETIC, ast.Div, ast.Pow)):
            raise self.refuse(plain, "&, |, ^ and shifts take integers, and an operand is a float")
        code = sum_of(one, other)
        if isinstance(plain.op, ast.Pow) and not one.whole and other.whole:
            return _call(f"{PREFIX}power", plain.left, plain.right), one
        # A small integer beside a float64 becomes one by itself.
        if not (code == other.code == "f8" and one.whole and one.bits <= 53):
            plain.left = self.converted(plain.left, one, code)
        if not (code == one.code == "f8" and other.whole and other.bits <= 53):
            plain.right = self.converted(plain.right, other, code)
        if isinstance(plain.op, ast.Mod | ast.FloorDiv) and not self.typing.program.debug:
            name = "remainder" if isinstance(plain.op, ast.Mod) else "floored"
            return _copy_place(_call(f"{PREFIX}{name}", plain.left, plain.right), plain), Number(code)
        return plain, Number(code)

    def of_Compare(self, node: ast.Compare, environment: Environment) -> tuple[Tree, Any]:
        pairs = [self.expression(each, environment) for each in (node.left, *node.comparators)]
        values, kinds = [each for each, _ in pairs], [kind for _, kind in pairs]
        new = _like(node, left=values[0], comparators=values[1:])
        if not all(isinstance(kind, Number) for kind in kinds):
            return new, BOOL
        for one, other in itertools.pairwise(kinds):
            self.as_with_successor(node, successor_types.comparison, one, other)
        codes = [compared(one, other) for one, other in itertools.pairwise(kinds)]
        if not any(map(self.differs, codes, kinds, kinds[1:])):
            return new, BOOL
        if len(values) == 2:
            new.left, new.comparators = (
                self.converted(values[0], kinds[0], codes[0]),
                [self.converted(values[1], kinds[1], codes[0])],
            )
            return new, BOOL
        return self.chain(node, values, kinds, codes), BOOL

    def differs(self, code: str, one: Number, other: Number) -> bool:
        """Return whether Python compares two numbers otherwise than Numba, which compares them in one type."""
        if one.whole and other.whole:
            return code == "f8"
        return code == "f8" and (max(one.bits, other.bits) > 53 or {one.code, other.code} & {"f4"} != set())

    def chain(self, node: ast.Compare, values: list, kinds: list, codes: list) -> Tree:
        """Return `a < b < c` as `a < (t := b) and t < c`, so that b can have another type in each comparison."""
        parts: list[Tree] = []
        left = values[0]
        for k, operator in enumerate(node.ops):
            right = values[k + 1]
            if k + 1 < len(node.ops):
                name = f"{PREFIX}between{k}"
                right = ast.NamedExpr(ast.Name(name, ast.Store()), right)
            pair = self.converted(left, kinds[k], codes[k]), self.converted(right, kinds[k + 1], codes[k])
            parts.append(ast.Compare(pair[0], [operator], [pair[1]]))
            if k + 1 < len(node.ops):
                left = ast.Name(name, ast.Load())
        return _copy_place(ast.BoolOp(ast.And(), parts), node)

    def of_BoolOp(self, node: ast.BoolOp, environment: Environment) -> tuple[Tree, Any]:
        pairs = [self.expression(each, environment) for each in node.values]
        kind = pairs[0][1]
        for _, each in pairs[1:]:
            kind = joined(kind, each)
        return _like(node, values=[self.to(*pair, kind) for pair in pairs]), kind

    def of_IfExp(self, node: ast.IfExp, environment: Environment) -> tuple[Tree, Any]:
        known = _literal(node.test)
        if known is not None:
            return self.expression(node.body if known else node.orelse, environment)
        test = self.value(node.test, environment)
        one, other = self.expression(node.body, environment), self.expression(node.orelse, environment)
        kind = joined(one[1], other[1])
        return _like(node, test=test, body=self.to(*one, kind), orelse=self.to(*other, kind)), kind

    def to(self, value: Tree, kind: Any, wanted: Any) -> Tree:
        if isinstance(kind, Number) and isinstance(wanted, Number):
            return self.converted(value, kind, wanted.code)
        return value

    # -- calls

    def iterated(self, node: Tree, environment: Environment) -> tuple[Tree, Any]:
        """Return what a loop goes through, and the type of its items."""
        is_range = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
        if is_range and "range" not in environment and not node.keywords:
            pairs = [self.expression(each, environment) for each in node.args]
            kinds = [kind for _, kind in pairs]
            if not all(isinstance(kind, Number) and kind.whole for kind in kinds):
                return _like(node, args=[each for each, _ in pairs]), None
            code = counted(kinds)
            bits = min(WIDTH[code], max(kind.bits for kind in kinds[:2]))
            return _like(node, args=[self.converted(each, kind, code) for each, kind in pairs]), Number(
                code, bits
            )
        value, kind = self.expression(node, environment)
        if isinstance(kind, Several) and kind.each:
            whole = full(kind).each
            return value, whole[0] if all(each == whole[0] for each in whole) else None
        if isinstance(kind, Array) and not kind.raw:
            return value, kind.element if kind.ndim == 1 else Array(kind.element, kind.ndim - 1)
        return value, None

    def of_Call(self, node: Any, environment: Environment) -> tuple[Tree, Any]:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "bit_count" and not node.args:
            value, kind = self.expression(node.func.value, environment)
            if isinstance(kind, Number) and kind.code[0] in "iu":
                width = ast.Constant(8 * int(kind.code[1]))
                return _copy_place(_call(f"{PREFIX}bits_popc", value, width), node), Number(kind.code, 7)
        if not isinstance(node.func, ast.Name) or node.func.id in environment:
            return self.parts(node, environment), None
        name = node.func.id
        if name == SYNC:
            return self.exchange(node, environment)
        if name in self.typing.program.functions:
            return self.device_call(node, environment)
        pairs = [self.expression(each, environment) for each in node.args]
        new = _like(node, args=[each for each, _ in pairs])
        new.keywords = [_like(each, value=self.value(each.value, environment)) for each in node.keywords]
        kinds = [kind for _, kind in pairs]
        if name == f"{PREFIX}local":
            return node, self.local(node, environment)
        if name.startswith(f"{PREFIX}array_"):
            element = kinds[0].element if isinstance(kinds[0], Array) else None
            if not isinstance(element, Number):
                return new, None
            function = name.removeprefix(f"{PREFIX}array_")
            self.as_with_successor(node, successor_types.reduction, function, element)
            code = array_functions.result_code(function, element.code)
            return new, Number(code, 44 if (code == "i8" and "arg" in name) or "count" in name else -1)
        if name.startswith(f"{PREFIX}vector_"):
            vector = vectors.TYPES[name.removeprefix(f"{PREFIX}vector_")]
            part = Number(np.dtype(vector.base).str[1:])
            return new, Several((part,) * vector.count, vector.tuple._fields)
        made = self.constants.get(name)
        if isinstance(made, type) and issubclass(made, tuple) and hasattr(made, "_fields"):
            given = dict(zip(made._fields, kinds, strict=False))
            given |= {each.arg: self.kind(each.value, environment) for each in node.keywords}
            return new, Several(tuple(given.get(each) for each in made._fields), made._fields)
        if name.startswith(f"{PREFIX}atomic_"):
            return new, kinds[0].element if isinstance(kinds[0], Array) else None
        if name in (f"{PREFIX}as_declared", f"{PREFIX}result_as_declared"):
            texts = [
                each.value
                for each in node.args
                if isinstance(each, ast.Constant) and isinstance(each.value, str)
            ]
            number = node.args[2].value if name == f"{PREFIX}as_declared" else None
            found = declarations.declared_kind(texts[-1], number)
            return new, Array(of_dtype(found[0]), found[1]) if isinstance(
                found, tuple
            ) else found and of_dtype(found)
        if name == "len":
            return new, SIZE
        if node.keywords or not pairs or not all(isinstance(kind, Number) for kind in kinds):
            return new, self.of_unknown(name, kinds)
        called = self.constants.get(name, name.removeprefix(PREFIX))
        self.as_with_successor(node, successor_types.call, called, kinds)
        if name in self.constants:
            return self.constant_call(new, self.constants[name], pairs)
        method: Callable | None = getattr(self, f"call_{name.removeprefix(PREFIX)}", None)
        return method(new, pairs) if method else (new, self.of_unknown(name, kinds))

    def of_unknown(self, name: str, kinds: list) -> Any:
        return HELPERS.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None

    def exchange(self, node: Any, environment: Environment) -> tuple[Tree, Any]:
        name = ast.literal_eval(node.args[0])
        pairs = [self.expression(each, environment) for each in node.args[2:]]
        new = _like(node, args=[*node.args[:2], *(each for each, _ in pairs)])
        # A thread sees integers of 64 bits here, whatever their type: their width is known in this place only.
        parts = {"value": 1} if name.startswith("shfl") else {"mask": 0, "value": 1} if name in VOTES else {}
        for part, number in parts.items():
            kind = full(pairs[number][1])
            if isinstance(kind, Number) and (words := unfit(name, part, np.dtype(kind.code))):
                raise self.refuse(node, words)
        if name.startswith("shfl"):
            return new, full(pairs[1][1])
        return new, EXCHANGES.get(name)

    def device_call(self, node: Any, environment: Environment) -> tuple[Tree, Any]:
        function = self.typing.program.functions[node.func.id]
        pairs = [
            self.expression(each.value if isinstance(each, ast.Starred) else each, environment)
            for each in node.args[3:]
        ]
        stars = [isinstance(each, ast.Starred) for each in node.args[3:]]
        values = [
            ast.copy_location(ast.Starred(value, ast.Load()), value) if star else value
            for (value, _), star in zip(pairs, stars, strict=True)
        ]
        pairs = [
            (value, each)
            for (value, kind), star in zip(pairs, stars, strict=True)
            for each in (kind.each if star and isinstance(kind, Several) else (kind,))
        ]
        keywords = {each.arg: self.expression(each.value, environment) for each in node.keywords}
        new = _like(node, args=[*node.args[:3], *values])
        new.keywords = [_like(each, value=keywords[each.arg][0]) for each in node.keywords]
        if (getattr(function.original, "__module__", "") or "").startswith("host_to_device"):
            # Our random numbers: they compute with NumPy's uint64, and their names say what they return.
            for ending, code in (("float32", "f4"), ("float64", "f8")):
                if function.original.__name__.endswith(ending):
                    return new, Number(code)
            return new, None
        given = dict(zip(function.parameters, (kind for _, kind in pairs), strict=False))
        given |= {name: kind for name, (_, kind) in keywords.items()}
        names = [each.arg for each in function.tree.args.args]
        defaults = zip(reversed(names), reversed(function.tree.args.defaults), strict=False)
        for name, default in defaults:
            given.setdefault(name, self.kind(default, {}))
        kinds = tuple(rounded_up(given.get(name)) for name in function.parameters)
        if function.star:
            rest = [kind for _, kind in pairs[len(function.parameters) :]]
            kinds = (*kinds, rounded_up(Several(tuple(rest))))
        new.func = ast.copy_location(ast.Name("", ast.Load()), node.func)
        new.func.id, result = self.typing.version(node.func.id, kinds)
        return new, result

    def local(self, node: Any, environment: Environment) -> Any:
        shape, dtype = node.args
        ndim = len(ast.literal_eval(shape))
        if isinstance(dtype, ast.Name) and isinstance(self.constants.get(dtype.id), np.dtype):
            return Array(of_dtype(self.constants[dtype.id]), ndim)
        owner = (
            environment.get(dtype.value.id)
            if isinstance(dtype, ast.Attribute) and isinstance(dtype.value, ast.Name)
            else None
        )
        return Array(owner.element if isinstance(owner, Array) else None, ndim)

    def constant_call(self, new: ast.Call, function: Any, pairs: list) -> tuple[Tree, Any]:
        """Return the call of an object of the module: a type, or a function of `math` or NumPy."""
        kinds = [kind for _, kind in pairs]
        if isinstance(function, np.ufunc):
            loop = array_functions.loop_of(function, [kind.code for kind in kinds])
            if loop is None:
                return new, None
            codes, code = loop
            new = _like(
                new, args=[self.converted(*pair, each) for pair, each in zip(pairs, codes, strict=True)]
            )
            if code == "b1":
                return _call("bool", new), BOOL
            return (self.wrapped(_call("int", new), code) if code[0] in "iu" else new), Number(code)
        is_type = isinstance(function, type) and issubclass(function, np.generic)
        if is_type or type(function).__module__.startswith("numba"):
            try:
                wanted = of_dtype(np.dtype(function) if is_type else as_dtype(function))
            except Exception:
                return new, None
            if isinstance(wanted, Number) and len(pairs) == 1:
                bits = min(wanted.bits, kinds[0].bits) if kinds[0].whole else wanted.bits
                fits = kinds[0].whole and _fits(kinds[0], wanted.code)
                return self.converted(*pairs[0], wanted.code), Number(wanted.code, bits) if fits else wanted
            return new, None
        if any(function is each for each in TESTS):
            return _like(new, args=[self.converted(*pairs[0], "f8") if kinds[0].whole else new.args[0]]), BOOL
        if len(pairs) == 1 and any(function is each for each in OF_ONE):
            code = "f4" if kinds[0].code == "f4" else "f8"
            return _like(new, args=[self.converted(*pairs[0], code)]), Number(code)
        if len(pairs) == 2 and any(function is each for each in OF_TWO):
            code = sum_of(*kinds) if not all(kind.whole for kind in kinds) else "f8"
            if function in (math.fmod, math.copysign) and all(
                kind.code in ("b1", "i1", "i2", "u1") for kind in kinds
            ):
                code = "f4"
            return _like(new, args=[self.converted(*pair, code) for pair in pairs]), Number(code)
        if len(pairs) == 2 and function is math.pow:
            small = ("b1", "i1", "i2", "u1", "f4")
            short = kinds[1].code in ("i1", "i2", "i4") and kinds[0].code in small
            code = "f4" if short or (kinds[0].code in small and kinds[1].code in small) else "f8"
            return _like(new, args=[self.converted(*pair, code) for pair in pairs]), Number(code)
        return new, None

    def call_int(self, new: ast.Call, pairs: list) -> tuple[Tree, Any]:
        [(value, kind)] = pairs
        return (self.converted(value, kind, "i8"), INT8) if kind.code[0] in "fb" else (value, kind)

    def call_float(self, new: ast.Call, pairs: list) -> tuple[Tree, Any]:
        [(value, kind)] = pairs
        if kind == BOOL:
            raise self.refuse(new, "float() of a bool: write float(int(condition))")
        return (value, kind) if kind.code == "f4" else (self.converted(value, kind, "f8"), Number("f8"))

    def call_bool(self, new: ast.Call, pairs: list) -> tuple[Tree, Any]:
        return new, BOOL

    def call_abs(self, new: ast.Call, pairs: list) -> tuple[Tree, Any]:
        [(value, kind)] = pairs
        if kind.code == "b1":
            return _call("int", value), Number("i1", 1)
        if kind.code[0] == "i" and kind.bits >= WIDTH[kind.code]:
            return self.wrapped(new, kind.code), kind
        return new, kind

    def call_round(self, new: ast.Call, pairs: list) -> tuple[Tree, Any]:
        if len(pairs) == 1:
            return (_call("int", new), INT8) if not pairs[0][1].whole else (new, INT8)
        if pairs[0][1].whole:
            return new, None
        return _copy_place(_call(f"{PREFIX}round_to", *(value for value, _ in pairs)), new), pairs[0][1]

    def call_pow(self, new: ast.Call, pairs: list) -> tuple[Tree, Any]:
        return self.operation(new, ast.Pow(), *pairs) if len(pairs) == 2 else (new, None)

    def call_divmod(self, new: ast.Call, pairs: list) -> tuple[Tree, Any]:
        one, other = (kind for _, kind in pairs)
        if one.whole and other.whole and not one.unsigned and not other.unsigned:
            return new, Several((INT8, INT8))
        return new, None

    def refuse(self, node: Tree, words: str) -> Exception:
        """Return the error for what Numba refuses at a line."""
        original = self.function.original
        return refusal(f"{original.__name__}(), {where(original, node.lineno)}: {words}")

    def call_max(self, new: ast.Call, pairs: list) -> tuple[Tree, Any]:
        bools = [kind == BOOL for _, kind in pairs]
        if any(bools) and not all(bools) and isinstance(new.func, ast.Name):
            raise self.refuse(new, f"{new.func.id}() of a bool and a number: write int(condition)")
        kind = pairs[0][1]
        for _, each in pairs[1:]:
            kind = joined(kind, each)
        new = _like(new, args=[self.to(*pair, kind) for pair in pairs])
        if not kind.whole and isinstance(new.func, ast.Name):
            new.func = ast.copy_location(ast.Name(f"{PREFIX}{new.func.id}_of_floats", ast.Load()), new.func)
        return new, kind

    call_min = call_max

    def call_floor(self, new: ast.Call, pairs: list) -> tuple[Tree, Any]:
        [(value, kind)] = pairs
        code = "f4" if kind.code == "f4" else "f8"
        new = _like(new, args=[self.converted(value, kind, code)])
        if self.typing.program.successor:  # an integer as wide as the float
            return self.converted(new, Number(code), f"i{code[1]}"), Number(f"i{code[1]}")
        return new, Number(code)

    call_ceil = call_trunc = call_floor

    def call_cbrt(self, new: ast.Call, pairs: list) -> tuple[Tree, Any]:
        [(value, kind)] = pairs
        code = "f4" if kind.code in ("b1", "i1", "i2", "u1", "f4") else "f8"
        return _like(new, args=[self.converted(value, kind, code)]), Number(code)

    def call_fma(self, new: ast.Call, pairs: list) -> tuple[Tree, Any]:
        code = "f4" if all(kind.code == "f4" for _, kind in pairs) else "f8"
        return _like(new, args=[self.converted(*pair, code) for pair in pairs]), Number(code)

    def call_selp(self, new: ast.Call, pairs: list) -> tuple[Tree, Any]:
        kind = joined(pairs[1][1], pairs[2][1])
        return _like(new, args=[pairs[0][0], *(self.to(*pair, kind) for pair in pairs[1:])]), kind

    def call_popc(self, new: ast.Call, pairs: list) -> tuple[Tree, Any]:
        """Return a bit operation for 32 or 64 bits, as wide as its argument."""
        [(value, kind)] = pairs
        if not kind.whole or kind.code == "b1" or not isinstance(new.func, ast.Name):
            return new, None
        name, width = new.func.id.removeprefix(PREFIX), 64 if kind.code in ("i8", "u8") else 32
        signed = kind.code[0] == "i" and name in ("popc", "clz")
        call = _call(f"{PREFIX}bits_{name}", value, ast.Constant(width))
        return call, Number(f"{'i' if signed else 'u'}{width // 8}", width if name == "brev" else 7)

    call_clz = call_brev = call_ffs = call_popc

    # -- conversions

    def converted(self, value: Any, kind: Number, code: str) -> Tree:
        """Return a number in another type."""
        if kind.code == code:
            return value
        if isinstance(value, ast.Constant) and code[0] in "iu" and kind.whole and kind.code != "b1":
            return _copy_place(ast.Constant(wrapping(code)(value.value)), value)
        if code == "b1":
            return _call("bool", value)
        if code in FLOATS:
            return _call(FLOATS[code], value)
        if kind.code == "b1":
            return _call("int", value)
        if not kind.whole:
            return _call(f"{PREFIX}to_{code}", value)
        return value if _fits(kind, code) else self.wrapped(value, code)

    def wrapped(self, value: Tree, code: str, helper: str = "") -> Tree:
        """Return an integer that loses the bits above its type's, by the helper or by that of its type."""
        bits = 8 * int(code[1])
        if code[0] == "u":
            return _binary(value, ast.BitAnd(), ast.Constant((1 << bits) - 1))
        low, high = -(1 << bits - 1), (1 << bits - 1) - 1
        kept = ast.NamedExpr(ast.Name(WRAPPED, ast.Store()), value)
        fits = ast.Compare(ast.Constant(low), [ast.LtE(), ast.LtE()], [kept, ast.Constant(high)])
        read = ast.Name(WRAPPED, ast.Load())
        return _copy_place(ast.IfExp(fits, read, _call(helper or f"{PREFIX}wrap_{code}", read)), value)


def _literal(node: ast.expr) -> bool | None:
    """Return whether a condition of literals only holds; None for any other."""
    parts = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)
    if not all(isinstance(part, parts) for part in ast.walk(node)):
        return None
    try:
        return bool(eval(compile(ast.Expression(node), "<literal>", "eval"), {"__builtins__": {}}))
    except Exception:
        return None


def _steps(node: ast.AST) -> list[tuple[str, ast.expr | None]]:
    """Return the variables that a statement sets, each with what it adds to the old value; None if it does not add."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return [(node.target.id, node.value if isinstance(node.op, ast.Add | ast.Sub) else None)]
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        name, value = node.targets[0].id, node.value
        adds = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub)
        own = adds and isinstance(value.left, ast.Name) and value.left.id == name
        return [(name, value.right if own else None)]
    stored = (
        [node.target] if isinstance(node, ast.For) else node.targets if isinstance(node, ast.Assign) else []
    )
    return [
        (each.id, None)
        for target in stored
        for each in ast.walk(target)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    ]


def _bits(operator: ast.operator, one: Number, other: Number, left: Tree, right: Tree) -> int:
    """Return how many bits the result of an integer operation may have."""
    most = max(one.bits, other.bits)
    if isinstance(operator, ast.Add | ast.Sub):
        return most + 1
    if isinstance(operator, ast.Mult):
        return one.bits + other.bits
    if isinstance(operator, ast.FloorDiv):
        positive = isinstance(right, ast.Constant) and right.value > 0
        return one.bits if positive or one.unsigned else min(one.bits, 63) + 1
    if isinstance(operator, ast.Mod):
        return min(other.bits, 63 if not (one.unsigned and other.unsigned) else 64)
    if isinstance(operator, ast.BitAnd):
        masks = [
            each.value.bit_length()
            for each in (left, right)
            if isinstance(each, ast.Constant) and each.value >= 0
        ]
        return min([*masks, most])
    return most


def _fits(kind: Number, code: str) -> bool:
    """Return whether every integer of a type and magnitude is one of another type."""
    if kind.code == code:
        return True
    return (
        (kind.unsigned or code[0] == "i")
        and kind.bits <= WIDTH[code]
        and not (kind.code[0] == "i" and code[0] == "u")
    )


def _meet(environments: list[Environment | None]) -> Environment | None:
    """Return the types where several paths come together; None if none does."""
    reached = [each for each in environments if each is not None]
    if not reached:
        return None
    result = dict(reached[0])
    for other in reached[1:]:
        for name, kind in other.items():
            result[name] = joined(result[name], kind) if name in result else kind
    return result


def _like(node: Any, **changes: Any) -> Any:
    """Return a copy of a node with other parts."""
    new = copy.copy(node)
    for name, value in changes.items():
        setattr(new, name, value)
    return new


def _copy_place(new: Any, node: ast.AST) -> Any:
    return ast.copy_location(new, node)


def _call(name: str, *arguments: Tree) -> Tree:
    return _copy_place(ast.Call(ast.Name(name, ast.Load()), list(arguments), []), arguments[0])


def _binary(left: Tree, operator: ast.operator, right: Tree) -> Tree:
    return _copy_place(ast.BinOp(left, operator, right), left)
