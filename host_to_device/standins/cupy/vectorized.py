"""Gives a function of numbers the types of `cupy.vectorize`: CuPy compiles it, and refuses what has no type.

CuPy's rules are in its file cupyx/jit/_compile.py. A variable has the type of what it is first set to, and keeps it; a
literal in an operation is an int64, a float64 or a complex128, but in `x if c else 0.0` it has the type of the other
value. Here the function's tree gets these conversions and becomes a Python function again.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import linecache
import numbers
import operator
import textwrap
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from host_to_device.standins.cupy.base import Base, cast
from host_to_device.standins.cupy.jit import _unrolled
from host_to_device.standins.cupy.ufuncs import ufunc

OPERATIONS: dict[type[ast.AST], tuple[Callable, np.ufunc]] = {
    ast.Add: (operator.add, np.add),
    ast.Sub: (operator.sub, np.subtract),
    ast.Mult: (operator.mul, np.multiply),
    ast.Pow: (operator.pow, np.power),
    ast.Div: (operator.truediv, np.true_divide),
    ast.FloorDiv: (operator.floordiv, np.floor_divide),
    ast.Mod: (operator.mod, np.remainder),
    ast.LShift: (operator.lshift, np.left_shift),
    ast.RShift: (operator.rshift, np.right_shift),
    ast.BitOr: (operator.or_, np.bitwise_or),
    ast.BitAnd: (operator.and_, np.bitwise_and),
    ast.BitXor: (operator.xor, np.bitwise_xor),
    ast.And: (lambda x, y: x and y, np.logical_and),
    ast.Or: (lambda x, y: x or y, np.logical_or),
    ast.Eq: (operator.eq, np.equal),
    ast.NotEq: (operator.ne, np.not_equal),
    ast.Lt: (operator.lt, np.less),
    ast.LtE: (operator.le, np.less_equal),
    ast.Gt: (operator.gt, np.greater),
    ast.GtE: (operator.ge, np.greater_equal),
    ast.Invert: (operator.invert, np.invert),
    ast.Not: (operator.not_, np.logical_not),
    ast.USub: (operator.neg, np.negative),
}
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
LITERALS = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}


@dataclass
class Data:
    """A value that is known when the function runs: its expression, and its dtype; of a tuple, those of its parts."""

    tree: Any
    kind: Any


@dataclass
class Constant:
    """A value that is known before the function runs."""

    value: Any


def typed(function: Callable, dtypes: Sequence[np.dtype]) -> tuple[Callable, Any]:
    """Return a function with CuPy's types for arguments of these dtypes, and the dtype of its result.

    Raises
    ------
    TypeError, ValueError, NotImplementedError, NameError
        If CuPy can make no kernel of the function.
    OSError
        If its source is not available.
    """
    tree = definition(function)
    typing = _Typing(function, tree, dtypes)
    body = typing.block(tree.body, True) or [ast.Pass()]
    arguments = ast.arguments([], [ast.arg(each.arg) for each in tree.args.args], None, [], [], None, [])
    made = ast.FunctionDef("function", arguments, body, [], None)
    made.type_params = []
    ast.copy_location(made, tree)
    module = ast.fix_missing_locations(ast.Module([made], []))
    exec(compile(module, f"vectorize {function.__name__}", "exec"), typing.space)
    return typing.space["function"], typing.result


def definition(function: Callable) -> ast.FunctionDef:
    """Return the tree of a function or of a lambda.

    Raises
    ------
    ValueError
        If its source is not a function's, or there are two lambdas on its lines.
    OSError
        If its source is not available.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        raise ValueError(f"JIT needs access to Python source code for {function} but could not be located.")
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError:
        raise OSError(
            f"the source of {function.__name__}() is not available: write it in a notebook cell or in a file"
        ) from None
    if function.__name__ != "<lambda>":
        return ast.parse(textwrap.dedent("".join(lines))).body[0]  # type: ignore[return-value]
    whole = ast.parse("".join(linecache.getlines(inspect.getsourcefile(function) or "")))
    found = [
        node
        for node in ast.walk(whole)
        if isinstance(node, ast.Lambda) and first <= node.lineno < first + len(lines)
    ]
    if len(found) != 1:
        raise ValueError(
            f"Multiple callables are found near the definition of {function}, and JIT could not identify the source "
            "code for it."
        )
    made = ast.FunctionDef("lambda_", found[0].args, [ast.Return(found[0].body)], [], None)
    return ast.copy_location(made, found[0])


def converted(value: Any, dtype: np.dtype) -> Any:
    """Return a number in another dtype, converted as on a GPU."""
    made = np.empty((), dtype)
    cast(np.asarray(value), made)
    return made[()]


def called(function: Callable, *arguments: Any) -> Any:
    """Return the number that a function of CuPy gives for numbers."""
    value = function(*arguments)
    return value._array[()] if isinstance(value, Base) else value


def differ(one: Any, other: Any) -> bool:
    """Return whether two types differ: dtypes, or tuples of types."""
    return isinstance(one, tuple) != isinstance(other, tuple) or one != other


class _Typing:
    """Types the statements of one function, in the order of its text, as CuPy does."""

    def __init__(self, function: Callable, tree: ast.FunctionDef, dtypes: Sequence[np.dtype]) -> None:
        given = tree.args
        for found, words in (
            (given.vararg, "`*args` is not supported currently."),
            (given.kwarg, "`**kwargs` is not supported currently."),
            (given.kwonlyargs, "keyword only arguments are not supported currently ."),
            (given.defaults, "Default values are not supported currently."),
        ):
            if found:
                raise NotImplementedError(words)
        names = [each.arg for each in given.args]
        if len(names) != len(dtypes):
            raise TypeError(
                f"{tree.name}() takes {len(names)} positional arguments but {len(dtypes)} were given."
            )
        seen = inspect.getclosurevars(function)
        self.constants = {**vars(builtins), **seen.builtins, **seen.globals, **seen.nonlocals}
        self.data: dict[str, Any] = dict(zip(names, dtypes, strict=True))
        self.space: dict[str, Any] = {"converted": converted, "called": called}
        self.result: Any = None

    # -- values

    def object(self, value: Any) -> ast.Name:
        """Return the name of an object in the function that is made."""
        name = f"object{len(self.space)}"
        self.space[name] = value
        return ast.Name(name, ast.Load())

    def as_data(self, value: Any) -> Data:
        if isinstance(value, Data):
            return value
        if isinstance(value.value, tuple):
            return self.tuple_of([self.as_data(Constant(each)) for each in value.value])
        number = value.value
        if not isinstance(number, np.generic):
            if type(number) not in LITERALS:
                raise NotImplementedError(f"{number} is not scalar object.")
            number = LITERALS[type(number)](number)
        return Data(self.object(number), number.dtype)

    def tuple_of(self, parts: list[Data]) -> Data:
        return Data(ast.Tuple([each.tree for each in parts], ast.Load()), tuple(each.kind for each in parts))

    def to(self, value: Any, dtype: np.dtype, casting: Any) -> Any:
        """Return a number in another dtype, if this casting allows it."""
        if isinstance(value, Constant):
            return Constant(dtype.type(value.value))
        if not isinstance(value.kind, np.dtype):
            raise TypeError(f"{ast.unparse(value.tree)} is not scalar type.")
        if value.kind == dtype:
            return value
        if not np.can_cast(value.kind, dtype, casting):
            raise TypeError(f"Cannot cast from '{value.kind}' to {dtype} with casting rule {casting}.")
        if value.kind.kind == "c" and dtype.kind not in "cb":
            warnings.warn(
                "Casting complex values to real discards the imaginary part",
                np.exceptions.ComplexWarning,
                stacklevel=2,
            )
        computed = np.dtype(np.float32) if dtype == np.float16 else dtype  # as in `widened`
        tree = ast.Call(ast.Name("converted", ast.Load()), [value.tree, self.object(computed)], [])
        return Data(tree, dtype)

    def operation(self, kind: type[ast.AST], *values: Any) -> Any:
        """Return the result of an operator: of constants a constant."""
        of_python, of_numpy = OPERATIONS[kind]
        if all(isinstance(each, Constant) for each in values):
            return Constant(of_python(*(each.value for each in values)))
        return self.applied(of_numpy, values, kind in ORDERED)

    def applied(self, function: Any, values: Sequence[Any], ordered: bool = False, dtype: Any = None) -> Data:
        """Return the result of a function of numbers, whose dtype is that of a sample."""
        data = [self.as_data(each) for each in values]
        kinds = [each.kind for each in data]
        for each in kinds:
            if not isinstance(each, np.dtype):
                raise TypeError(f"cupy.ufunc: {each} is unsupported")
        name = getattr(function, "__name__", str(function))
        if dtype is not None:
            wanted = np.dtype(dtype)
            data = [self.to(each, wanted, "same_kind") for each in data]
            kinds = [wanted] * len(data)
        try:
            if ordered and any(each.kind == "c" for each in kinds):
                raise TypeError
            with np.errstate(all="ignore"):
                sample = called(function, *(each.type(1) for each in kinds))
        except TypeError:
            raise TypeError(f'"{name}" does not support for the input types: {kinds}') from None
        if isinstance(sample, tuple):
            raise NotImplementedError(f"ufunc `{name}` is not supported.")
        trees = [self.object(function), *(self.widened(each) for each in data)]
        if isinstance(function, np.ufunc):
            return Data(ast.Call(trees[0], trees[1:], []), np.asarray(sample).dtype)
        return Data(ast.Call(ast.Name("called", ast.Load()), trees, []), np.asarray(sample).dtype)

    def widened(self, value: Data) -> Any:
        """Return an operand: a float16 is a float32 in CuPy's C++, and the result alone is rounded."""
        half = value.kind == np.float16
        return ast.Call(self.object(np.float32), [value.tree], []) if half else value.tree

    # -- statements

    def block(self, body: list[ast.stmt], top: bool) -> list[ast.stmt]:
        return [new for statement in body for new in self.statement(statement, top)]

    def statement(self, node: ast.stmt, top: bool) -> list[ast.stmt]:
        method = getattr(self, f"on_{type(node).__name__}", None)
        if method is None:
            raise NotImplementedError(
                f"line {node.lineno}: {type(node).__name__} is not supported in a kernel."
            )
        try:
            found = method(node, top)
        except (TypeError, ValueError, NameError, NotImplementedError, AttributeError) as problem:
            if " (in `" in str(problem):  # a statement within this one
                raise
            raise type(problem)(f"{problem} (in `{ast.unparse(node).splitlines()[0]}`)") from None
        return [ast.copy_location(each, node) for each in found]

    def on_Return(self, node: ast.Return, top: bool) -> list[ast.stmt]:
        value = Constant(None) if node.value is None else self.value(node.value)
        if isinstance(value, Constant) and value.value is None:
            return [ast.Return(None)]
        value = self.as_data(value)
        if self.result is None:
            self.result = value.kind
        elif differ(self.result, value.kind):
            raise ValueError(f"Failed to infer the return type: {self.result} or {value.kind}")
        return [ast.Return(value.tree)]

    def on_Assign(self, node: ast.Assign, top: bool) -> list[ast.stmt]:
        if len(node.targets) != 1:
            raise NotImplementedError("Not implemented.")
        value, target = self.value(node.value), node.targets[0]
        # A number stays one; anything else, such as a dtype, is known by its name from here on.
        of_number = isinstance(getattr(value, "value", None), bool | np.bool_ | numbers.Number)
        if isinstance(value, Constant) and isinstance(target, ast.Name) and not of_number:
            if not top:
                raise TypeError("Cannot assign constant value not at top-level.")
            if target.id in self.data:
                raise TypeError(f"Type mismatch of variable: `{target.id}`")
            self.constants[target.id] = value.value
            return []
        data = self.as_data(value)
        if isinstance(target, ast.Tuple):
            held = ast.Name("held", ast.Load())
            keep = ast.Assign([ast.Name("held", ast.Store())], data.tree)
            return [keep, *self.unpacked(target, Data(held, data.kind))]
        return self.assigned(target, data)

    def unpacked(self, target: ast.Tuple, value: Data) -> list[ast.stmt]:
        """Return the assignments of the parts of a tuple."""
        if not isinstance(value.kind, tuple):
            raise ValueError(f"{value.kind} cannot be unpack")
        wanted, given = len(target.elts), len(value.kind)
        if given != wanted:
            words = "too many" if given > wanted else "not enough"
            raise ValueError(f"{words} values to unpack (expected {wanted})")
        made: list[ast.stmt] = []
        for place, (part, kind) in enumerate(zip(target.elts, value.kind, strict=True)):
            data = Data(ast.Subscript(value.tree, ast.Constant(place), ast.Load()), kind)
            made += self.unpacked(part, data) if isinstance(part, ast.Tuple) else self.assigned(part, data)
        return made

    def assigned(self, target: ast.expr, value: Data) -> list[ast.stmt]:
        """Return the assignment to a variable, which keeps its first type."""
        if not isinstance(target, ast.Name):
            raise TypeError(f"{ast.unparse(target)} cannot be assigned to")
        known = self.data.get(target.id)
        if known is None:
            if target.id in self.constants and target.id not in vars(builtins):
                raise TypeError("lvalue of assignment must not be constant value")
            self.data[target.id] = value.kind
        elif isinstance(known, np.dtype) and isinstance(value.kind, np.dtype):
            value = self.to(value, known, "same_kind")
        elif differ(known, value.kind):
            raise TypeError(f"Data type mismatch of variable: `{target.id}`: {known} != {value.kind}")
        return [ast.Assign([ast.Name(target.id, ast.Store())], value.tree)]

    def on_AnnAssign(self, node: ast.AnnAssign, top: bool) -> list[ast.stmt]:
        raise NotImplementedError("a variable with an annotation is not supported.")

    def on_AugAssign(self, node: ast.AugAssign, top: bool) -> list[ast.stmt]:
        if not isinstance(node.target, ast.Name) or node.target.id not in self.data:
            raise TypeError(f"Cannot augassign to {ast.unparse(node.target)}")
        read = Data(ast.Name(node.target.id, ast.Load()), self.data[node.target.id])
        result = self.operation(type(node.op), read, self.as_data(self.value(node.value)))
        return self.assigned(node.target, result)

    def on_For(self, node: ast.For, top: bool) -> list[ast.stmt]:
        if node.orelse:
            raise NotImplementedError("while-else is not supported.")
        call = node.iter
        function = self.value(call.func) if isinstance(call, ast.Call) else None
        ranges = isinstance(function, Constant) and function.value in (range, _unrolled)
        if not ranges or not isinstance(node.target, ast.Name):
            raise NotImplementedError("for-loop is supported only for range iterator.")
        bounds = [self.as_data(self.value(each)) for each in call.args]
        if any(not isinstance(each.kind, np.dtype) or each.kind.kind not in "iu" for each in bounds):
            raise TypeError("range supports only for integer type.")
        name, kind = node.target.id, np.dtype(int)
        if self.data.setdefault(name, kind) != kind:
            raise TypeError(f"Data type mismatch of variable: `{name}`: {self.data[name]} != {kind}")
        through = ast.Call(self.object(range), [each.tree for each in bounds], [])
        number = ast.Name("number", ast.Store())
        first = ast.Assign(
            [ast.Name(name, ast.Store())],
            ast.Call(self.object(np.int64), [ast.Name("number", ast.Load())], []),
        )
        return [ast.For(number, through, [first, *self.block(node.body, False)], [])]

    def on_While(self, node: ast.While, top: bool) -> list[ast.stmt]:
        if node.orelse:
            raise NotImplementedError("while-else is not supported.")
        test = self.as_data(self.value(node.test))
        return [ast.While(test.tree, self.block(node.body, False), [])]

    def on_If(self, node: ast.If, top: bool) -> list[ast.stmt]:
        test = self.value(node.test)
        if isinstance(test, Constant):
            return self.block(node.body if test.value else node.orelse, top) or [ast.Pass()]
        body, orelse = (self.block(part, False) for part in (node.body, node.orelse))
        return [ast.If(test.tree, body or [ast.Pass()], orelse)]

    def on_Expr(self, node: ast.Expr, top: bool) -> list[ast.stmt]:
        value = self.value(node.value)
        return [ast.Pass()] if isinstance(value, Constant) else [ast.Expr(value.tree)]

    def on_Pass(self, node: ast.stmt, top: bool) -> list[ast.stmt]:
        return [node]

    on_Break = on_Continue = on_Pass

    # -- expressions

    def value(self, node: Any) -> Any:
        method = getattr(self, f"of_{type(node).__name__}", None)
        if method is None:
            raise ValueError(f"Not supported: type {type(node)}")
        return method(node)

    def of_Constant(self, node: ast.Constant) -> Constant:
        return Constant(node.value)

    def of_Name(self, node: ast.Name) -> Any:
        if node.id in self.data:
            return Data(ast.Name(node.id, ast.Load()), self.data[node.id])
        if node.id not in self.constants:
            raise NameError(f"Unbound name: {node.id}")
        return Constant(self.constants[node.id])

    def of_Attribute(self, node: ast.Attribute) -> Constant:
        owner = self.value(node.value)
        if not isinstance(owner, Constant):
            raise AttributeError(f"Unknown attribute: {node.attr}")
        return Constant(getattr(owner.value, node.attr))

    def of_Tuple(self, node: ast.Tuple) -> Any:
        parts = [self.value(each) for each in node.elts]
        if all(isinstance(each, Constant) for each in parts):
            return Constant(tuple(each.value for each in parts))
        return self.tuple_of([self.as_data(each) for each in parts])

    def of_Subscript(self, node: ast.Subscript) -> Any:
        owner, index = self.value(node.value), self.value(node.slice)
        if isinstance(owner, Constant) and isinstance(index, Constant):
            return Constant(owner.value[index.value])
        if isinstance(owner, Constant) or not isinstance(owner.kind, tuple):
            raise TypeError(f"{ast.unparse(node.value)} is not subscriptable.")
        if not isinstance(index, Constant):
            raise TypeError("Tuple is not subscriptable with non-constants.")
        tree = ast.Subscript(owner.tree, ast.Constant(index.value), ast.Load())
        return Data(tree, owner.kind[index.value])

    def of_BinOp(self, node: ast.BinOp) -> Any:
        return self.operation(type(node.op), self.value(node.left), self.value(node.right))

    def of_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if type(node.op) not in OPERATIONS:
            raise ValueError(f"Not supported: type {type(node.op)}")
        return self.operation(type(node.op), self.value(node.operand))

    def of_BoolOp(self, node: ast.BoolOp) -> Any:
        return functools.reduce(
            lambda one, other: self.operation(type(node.op), one, other), map(self.value, node.values)
        )

    def of_Compare(self, node: ast.Compare) -> Any:
        if len(node.comparators) != 1:
            raise NotImplementedError("Comparison of 3 or more values is not implemented.")
        if type(node.ops[0]) not in OPERATIONS:
            raise ValueError(f"Not supported: type {type(node.ops[0])}")
        return self.operation(type(node.ops[0]), self.value(node.left), self.value(node.comparators[0]))

    def of_IfExp(self, node: ast.IfExp) -> Any:
        test, one, other = map(self.value, (node.test, node.body, node.orelse))
        if isinstance(test, Constant):
            return one if test.value else other
        if test.kind.kind == "c":
            raise TypeError("Complex type value cannot be boolean condition.")
        left, right = self.like(one, other), self.like(other, one)
        if left.kind != right.kind:
            raise TypeError(f"Type mismatch in conditional expression.: {left.kind} != {right.kind}")
        return Data(ast.IfExp(test.tree, left.tree, right.tree), left.kind)

    def like(self, value: Any, other: Any) -> Data:
        """Return a value of `x if c else y`: a literal has the type of the other value."""
        if not isinstance(value, Constant) or isinstance(value.value, np.generic):
            return self.as_data(value)
        return self.as_data(self.to(value, self.as_data(other).kind, "same_kind"))

    def of_Call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        if not isinstance(function, Constant):
            raise TypeError(f"'{ast.unparse(node.func)}' is not callable.")
        callee = function.value
        values = [self.value(each) for each in node.args]
        named = {each.arg: self.value(each.value) for each in node.keywords}
        if callee in (min, max):
            if len(values) < 2:
                raise TypeError(f"{callee.__name__}() expects at least 2 arguments, got {len(values)}")
            pair = np.minimum if callee is min else np.maximum
            return functools.reduce(lambda one, other: self.applied(pair, (one, other)), values)
        if getattr(callee, "device", False) is True:  # a function of `cupyx.jit.rawkernel(device=True)`
            return self.device_call(callee, [self.as_data(each) for each in values])
        if isinstance(callee, ufunc):
            dtype = named.pop("dtype", Constant(None))
            if named:
                raise TypeError(f"'{next(iter(named))}' is an invalid keyword to ufunc {callee.__name__}")
            return self.applied(callee, values, dtype=dtype.value)
        if all(isinstance(each, Constant) for each in (*values, *named.values())):
            keywords = {name: each.value for name, each in named.items()}
            return Constant(callee(*(each.value for each in values), **keywords))
        if inspect.isclass(callee) and issubclass(callee, bool | np.bool_ | numbers.Number):
            if len(values) != 1:
                raise TypeError(f"function takes {callee} invalid number of argument")
            return self.to(values[0], np.dtype(callee), "unsafe")
        raise TypeError(f"Invalid function call '{getattr(callee, '__name__', callee)}'.")

    def device_call(self, callee: Any, values: list[Data]) -> Data:
        made, result = typed(callee.py_func, [each.kind for each in values])
        return Data(ast.Call(self.object(made), [each.tree for each in values], []), result)
