"""Expressions of a kernel in WGSL, with their types and intervals."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from book.webgpu import wgsl
from book.webgpu.environments import Environment
from book.webgpu.intervals import EVERY, INT32, MOST, Interval
from book.webgpu.scopes import Scopes
from book.webgpu.terms import (
    ATOM,
    BITS,
    COMPARE,
    EXACT,
    LOGIC,
    PLUS,
    TIMES,
    UNARY,
    WGSL_TYPES,
    WORDS,
    Memory,
    Untranslatable,
    Value,
    Variable,
)
from host_to_device.standins.numba_cuda.numbas_types import Number, sum_of

OPPOSITE = {"Lt": "GtE", "LtE": "Gt", "Gt": "LtE", "GtE": "Lt", "NotEq": "Eq"}
MIRRORED = {"Lt": "Gt", "LtE": "GtE", "Gt": "Lt", "GtE": "LtE", "Eq": "Eq"}
COMPARISONS = {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Eq": "==", "NotEq": "!="}
COMPUTED: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
COMPOUND = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
FLOAT_OPERATORS = {ast.Add: ("+", PLUS), ast.Sub: ("-", PLUS), ast.Mult: ("*", TIMES), ast.Div: ("/", TIMES)}


def shifted(left: Interval, right: Interval) -> Interval:
    ends = [value >> amount for value in (left.low, left.high) for amount in (right.low, right.high)]
    return Interval(min(ends), max(ends))


class Expressions:
    """One function, the kernel or a device function for the types of one call, and the expressions in it."""

    def __init__(self, module: Any, function: Callable, given: list[Any] | None) -> None:
        self.module, self.name = module, function.__name__
        source, first = inspect.getsourcelines(function)
        self.source = textwrap.dedent("".join(source))
        tree = ast.parse(self.source).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise Untranslatable(f"{self.name}, line {first}: define the function with def", first)
        ast.increment_lineno(tree, first - 1)
        self.first, self.tree = first, tree
        closed = inspect.getclosurevars(function)
        self.outer: dict[str, Any] = {**closed.builtins, **closed.globals, **closed.nonlocals}
        self.scopes = Scopes(tree)
        self.lines: list[str] = []
        self.depth = 1
        self.temporary = itertools.count(1)
        self.types: dict[
            str, tuple[str, int]
        ] = {}  # the WGSL type of each variable, and the line that gave it
        self.apart: list[tuple[int, str]] = []  # the conditions that threads of a block decide differently
        self.left: tuple[int, str] | None = (
            None  # the condition under which some threads have left the function
        )
        self.escaped: tuple[int, str] | None = None  # the same, for the innermost loop
        self.trips: list[int | None] = []
        self.trials = 0  # loops whose intervals are being looked for
        self.steps: dict[int, tuple[str, Interval, tuple[int | None, ...]]] = {}
        self.breaks: list[Environment] = []
        self.continues: list[Environment] = []
        self.returned: list[Value] = []
        self.result = ""
        self.is_kernel = given is None
        self.given = given
        arguments = [each.arg for each in tree.args.args]
        if tree.args.vararg or tree.args.kwarg or tree.args.kwonlyargs or tree.args.defaults:
            raise self.refuse(tree, "only plain parameters can be translated")
        self.parameters = arguments

    # --- Messages ---------------------------------------------------------------------------------------------

    def refuse(self, node: ast.AST, why: str) -> Untranslatable:
        line = getattr(node, "lineno", self.first)
        code = self.source.splitlines()[line - self.first].strip()
        return Untranslatable(f"{self.name}, line {line}, `{code}`: {why}", line)

    def prove(self, node: ast.AST, why: str) -> None:
        """Refuse what an interval does not prove, unless this is a trial: there intervals may still be too wide."""
        if not self.trials:
            raise self.refuse(node, why)

    def emit(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def apart_now(self) -> tuple[int, str] | None:
        """Return the condition that may have parted the threads of a block at this place."""
        return self.apart[-1] if self.apart else self.escaped or self.left

    # --- Conditions -------------------------------------------------------------------------------------------

    def truth(self, node: ast.expr, environment: Environment) -> Value:
        """Return an expression as a bool."""
        value = self.value(node, environment)
        if value.kind == "b1":
            return value
        if value.kind == "f4":
            return Value(f"{value.inside(COMPARE + 1)} != 0", "b1", uniform=value.uniform, level=COMPARE)
        if value.whole:
            value = self.fitting(node, value)
            constant = None if value.constant is None else bool(value.constant)
            return Value(
                f"{value.inside(COMPARE + 1)} != 0",
                "b1",
                uniform=value.uniform,
                level=COMPARE,
                constant=constant,
            )
        raise self.refuse(node, "a float64 cannot be tested in WGSL")

    def refined(self, test: ast.expr, environment: Environment, holds: bool) -> Environment:
        """Return what is known where a condition holds, or where it does not."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.refined(test.operand, environment, not holds)
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if holds else ast.Or):
            for each in test.values:
                environment = self.refined(each, environment, holds)
            return environment
        if isinstance(test, ast.Compare) and (holds or len(test.ops) == 1):
            sides = [test.left, *test.comparators]
            for left, operator, right in zip(sides, test.ops, sides[1:], strict=False):
                name = type(operator).__name__ if holds else OPPOSITE.get(type(operator).__name__, "")
                environment = self.narrowed(left, name, right, environment)
                environment = self.narrowed(right, MIRRORED.get(name, ""), left, environment)
        return environment

    def narrowed(
        self, side: ast.expr, operator: str, other: ast.expr, environment: Environment
    ) -> Environment:
        if not isinstance(side, ast.Name) or not isinstance(environment.get(side.id), Variable):
            return environment
        known = environment[side.id]
        lines, self.lines = self.lines, []
        try:
            value = self.value(other, environment)
        except Untranslatable:
            return environment
        finally:
            self.lines = lines
        if not (value.whole and value.range.fits and known.kind in ("i4", "i8")):
            return environment
        low, high = {
            "Lt": (-MOST, value.range.high - 1),
            "LtE": (-MOST, value.range.high),
            "Gt": (value.range.low + 1, MOST),
            "GtE": (value.range.low, MOST),
            "Eq": (value.range.low, value.range.high),
        }.get(operator, (-MOST, MOST))
        return {**environment, side.id: replace(known, range=known.range.meet(low, high))}

    # --- Expressions ------------------------------------------------------------------------------------------

    def value(self, node: ast.expr, environment: Environment) -> Value:
        handler = getattr(self, f"of_{type(node).__name__}", None)
        if handler is None:
            raise self.refuse(node, f"the translator does not know the expression {ast.unparse(node)}")
        return handler(node, environment)

    def of_python(self, node: ast.AST, value: Any) -> Value:
        """Return a constant of Python or NumPy."""
        if isinstance(value, bool | np.bool_):
            return Value("true" if value else "false", "b1", constant=bool(value))
        if isinstance(value, int | np.integer):
            number = int(value)
            kind = "i4" if isinstance(value, np.int32) else "i8"
            if isinstance(value, np.integer) and not isinstance(value, np.int32 | np.int64):
                raise self.refuse(node, f"a constant of {value.dtype} cannot be translated: use int32")
            low = (
                number + 2**31
            ) % 2**32 - 2**31  # its lowest 32 bits; `fitting` refuses where they are not enough
            level = ATOM if low >= 0 else UNARY
            return Value(str(low), kind, Interval(number, number), level=level, constant=number)
        if isinstance(value, float | np.floating):
            number = float(value)
            try:
                text = wgsl.real(number)
            except ValueError as problem:
                raise self.refuse(node, f"{problem}: use a finite number, such as 3e38") from None
            if isinstance(value, np.float32):
                return Value(text, "f4", level=ATOM if number >= 0 else UNARY, constant=value)
            same = float(np.float32(number)) == number
            return Value(
                text, "f8", level=ATOM if number >= 0 else UNARY, constant=number, fit="exact" if same else ""
            )
        raise self.refuse(node, f"the translator cannot use {ast.unparse(node)}, a {type(value).__name__}")

    def of_Constant(self, node: ast.Constant, environment: Environment) -> Value:
        return self.of_python(node, node.value)

    def of_Name(self, node: ast.Name, environment: Environment) -> Value:
        known = environment.get(node.id)
        if isinstance(known, Memory):
            raise self.refuse(node, f"the array {node.id} cannot be used as a whole")
        if isinstance(known, Variable):
            if self.is_kernel and node.id in self.module.scalars and node.id not in self.types:
                self.module.used.add(node.id)
                return Value(f"given.{wgsl.named(node.id)}", known.kind, known.range)
            return Value(wgsl.named(node.id), known.kind, known.range, known.uniform, fit=known.fit)
        if node.id in self.outer and node.id not in self.types:
            return self.of_python(node, self.outer[node.id])
        raise self.refuse(node, f"{node.id} may have no value here")

    def of_Attribute(self, node: ast.Attribute, environment: Environment) -> Value:
        dotted = self.dotted(node)
        if dotted.startswith("cuda."):
            _, what, *axis = dotted.split(".")
            if what in ("threadIdx", "blockIdx", "blockDim", "gridDim") and axis and axis[0] in "xyz":
                return self.builtin(node, what, "xyz".index(axis[0]))
            raise self.refuse(node, f"WGSL has nothing that {dotted} could become")
        if node.attr in ("size", "ndim") and isinstance(node.value, ast.Name):
            memory = self.memory(node.value, environment)
            if node.attr == "ndim":
                return self.of_python(node, len(memory.dimensions))
            lengths = [self.length(memory, axis) for axis in range(len(memory.dimensions))]
            found = lengths[0]
            for each in lengths[1:]:
                found = self.arithmetic(node, ast.Mult(), found, each)
            return found
        known = self.outer_value(node)
        if known is not None:
            return self.of_python(node, known)
        raise self.refuse(node, f"the translator does not know {ast.unparse(node)}")

    def length(self, memory: Memory, axis: int) -> Value:
        text, range_ = memory.dimensions[axis]
        if memory.space == "storage":
            self.module.used.add(text)
        return Value(text, "i8", range_, constant=range_.single if memory.space != "storage" else None)

    def builtin(self, node: ast.AST, what: str, axis: int) -> Value:
        if not self.is_kernel:
            raise self.refuse(node, "a device function gets a thread's number as an argument here")
        letter, size, blocks = "xyz"[axis], self.module.block[axis], self.module.grid[axis]
        if what == "blockDim":
            return Value(str(size), "i8", Interval(size, size), constant=size)
        if what == "threadIdx":
            self.module.used.add("thread")
            return Value(f"i32(thread.{letter})", "i4", Interval(0, size - 1), size == 1)
        if what == "gridDim":
            self.module.used.add("grid")
            return Value(f"i32(grid.{letter})", "i4", blocks)
        self.module.used.add("block")
        return Value(f"i32(block.{letter})", "i4", Interval(0, blocks.high - 1))

    def dimensions_of(self, node: ast.Call) -> int:
        count = self.constant(node.args[0] if node.args else None, node, "how many dimensions the grid has")
        if count not in (1, 2, 3):
            raise self.refuse(node, "a grid has one, two or three dimensions")
        return count

    def position(self, node: ast.AST, what: str, axis: int) -> Value:
        """Return a thread's number in the grid, or how many threads the grid has, along one axis."""
        if not self.is_kernel:
            raise self.refuse(node, "a device function gets a thread's number as an argument here")
        letter, size, blocks = "xyz"[axis], self.module.block[axis], self.module.grid[axis]
        if not (blocks * Interval(size, size)).fits:
            raise self.refuse(node, "the grid has more threads than an int32 can count")
        if what == "cuda.gridsize":
            self.module.used.add("grid")
            return Value(f"i32(grid.{letter} * {size})", "i8", blocks * Interval(size, size))
        self.module.used |= {"block", "thread"}
        return Value(
            f"i32(block.{letter} * {size} + thread.{letter})",
            "i8",
            Interval(0, blocks.high * size - 1),
            False,
        )

    def of_Subscript(self, node: ast.Subscript, environment: Environment) -> Value:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            memory = self.memory(node.value.value, environment)
            axis = self.constant(node.slice, node, "the axis")
            if not -len(memory.dimensions) <= axis < len(memory.dimensions):
                raise self.refuse(node, f"the array has {len(memory.dimensions)} dimensions")
            return self.length(memory, axis % len(memory.dimensions))
        memory = self.memory(node.value, environment)
        place = self.place(node, memory, environment)
        memory.loaded = True
        uniform = (
            memory.space == "storage" and not memory.stored and not memory.atomic and self._uniform_index
        )
        range_ = INT32 if memory.element == "i4" else EVERY
        if memory.atomic:
            text = f"atomicLoad(&{place})"
            text = text if memory.element == "i4" else f"bitcast<f32>({text})"
            return Value(text, memory.element, range_, False)
        return Value(place, memory.element, range_, uniform)

    def memory(self, node: ast.expr, environment: Environment) -> Memory:
        if isinstance(node, ast.Name) and isinstance(environment.get(node.id), Memory):
            return environment[node.id]
        raise self.refuse(node, f"{ast.unparse(node)} is no array that the translator knows")

    def index_value(self, node: ast.expr, environment: Environment) -> Value:
        value = self.value(node, environment)
        if value.kind == "b1" or not value.whole:
            raise self.refuse(
                node, f"{ast.unparse(node)} is a {WORDS[value.kind]}: an index has to be an integer"
            )
        return self.fitting(node, value)

    def place(self, node: ast.Subscript, memory: Memory, environment: Environment) -> str:
        """Return an element as WGSL has it: in a buffer by one index, in a shared array by one for each axis."""
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(isinstance(each, ast.Slice) for each in indices):
            raise self.refuse(node, "the translator knows single elements, no slices")
        if len(indices) != len(memory.dimensions):
            raise self.refuse(
                node, f"{memory.name} has {len(memory.dimensions)} dimensions: give an index for each"
            )
        found, uniform = [], True
        for axis, each in enumerate(indices):
            index = self.index_value(each, environment)
            uniform = uniform and index.uniform
            if index.range.low < 0:  # from the end, as in Python
                length = self.length(memory, axis)
                if index.constant is not None:
                    index = self.arithmetic(node, ast.Add(), length, index)
                else:
                    text = f"{self.module.helper('wrapped')}({index.text}, {length.text})"
                    index = replace(
                        index,
                        text=text,
                        level=ATOM,
                        range=Interval(0, max(index.range.high, length.range.high - 1)),
                    )
            found.append(index)
        self._uniform_index = uniform
        if memory.space != "storage":
            return memory.name + "".join(f"[{index.text}]" for index in found)
        flat = found[0]
        for axis, index in enumerate(found[1:], 1):
            row = self.arithmetic(node, ast.Mult(), flat, self.length(memory, axis))
            flat = self.arithmetic(node, ast.Add(), row, index)
        return f"{memory.name}[{self.fitting(node, flat).text}]"

    def fitting(self, node: ast.AST, value: Value) -> Value:
        """Return an integer whose interval fits 32 bits, or refuse it."""
        if value.whole and not value.range.fits:
            text = (
                f"`{ast.unparse(node)}` is an int64 in Numba"
                if isinstance(node, ast.expr)
                else "this is an int64"
            )
            self.prove(
                node,
                f"{text}, and nothing here proves that 32 bits hold it. Guard it or make the sizes smaller: "
                "WGSL has no int64",
            )
        return value

    def converted(self, node: ast.AST, value: Value, element: str) -> str:
        """Return a value as an element of an array has it, by the conversion that Numba makes at a store."""
        if element == "f4":
            if value.kind == "f4" or (value.kind == "f8" and value.fit):
                return value.text
            if value.kind == "f8":
                if value.constant is not None:
                    return value.text  # rounded to the nearest float32, as Numba rounds it
                raise self.float64(node, "the value")
            if value.kind == "b1":
                return f"select(0.0, 1.0, {value.text})"
            constant = self.fitting(node, value).constant
            return f"f32({value.text})" if constant is None else wgsl.real(constant)
        if value.whole:
            return value.text  # the lowest 32 bits, as in Numba
        if value.kind == "f8":
            raise self.float64(node, "the value")
        return f"i32({value.text})"

    def thin(self, value: Value) -> Value | None:
        """Return a number as a float32 that is exactly equal to it; None if that is not sure."""
        if value.kind == "f4" or (value.kind == "f8" and value.fit == "exact"):
            return value
        if value.whole and value.range.within(-EXACT, EXACT):
            if value.constant is not None:
                return replace(
                    value, text=wgsl.real(value.constant), level=ATOM if value.constant >= 0 else UNARY
                )
            return replace(value, text=f"f32({value.text})", level=ATOM)
        return None

    def of_UnaryOp(self, node: ast.UnaryOp, environment: Environment) -> Value:
        if isinstance(node.op, ast.Not):
            value = self.truth(node.operand, environment)
            return Value(
                f"!{value.inside(UNARY)}",
                "b1",
                uniform=value.uniform,
                level=UNARY,
                constant=None if value.constant is None else not value.constant,
            )
        value = self.value(node.operand, environment)
        if isinstance(node.op, ast.UAdd):
            return value
        if value.kind == "b1":
            raise self.refuse(node, "convert the bool to int32 first")
        if value.constant is not None and isinstance(node.op, ast.USub):
            return self.of_python(node, -value.constant)
        if isinstance(node.op, ast.USub):
            kind = "i8" if value.whole else value.kind
            return replace(
                value,
                text=f"-{value.inside(ATOM)}",
                kind=kind,
                range=-value.range,
                level=UNARY,
                constant=None,
            )
        if value.whole:
            return replace(
                value,
                text=f"~{value.inside(ATOM)}",
                kind="i8",
                range=-value.range - Interval(1, 1),
                level=UNARY,
                constant=None,
            )
        raise self.refuse(node, "~ needs an integer")

    def of_BinOp(self, node: ast.BinOp, environment: Environment) -> Value:
        left, right = self.value(node.left, environment), self.value(node.right, environment)
        return self.arithmetic(node, node.op, left, right)

    def arithmetic(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        if "b1" in (left.kind, right.kind):
            raise self.refuse(node, "convert the bool to int32 first")
        if left.whole and right.whole:
            return self.of_integers(node, op, left, right)
        symbol, level = FLOAT_OPERATORS.get(type(op), ("", 0))
        if not symbol:
            words = "x * x in place of a power" if isinstance(op, ast.Pow) else "+, -, * or /"
            raise self.refuse(node, f"the translator does not know this operator for floats: write {words}")
        one, other = self.thin(left), self.thin(right)
        kind = sum_of(Number(left.kind), Number(right.kind))
        if one is None or other is None or (kind == "f8" and "once" in (left.fit, right.fit)):
            culprit = left if one is None else right
            word = "an int64" if culprit.whole else "a float64"
            raise self.refuse(
                node,
                f"this is a float64 in Numba ({word} beside a float32), which WGSL does not have. "
                "Convert with float32(…)",
            )
        uniform = one.uniform and other.uniform
        if one.constant is not None and other.constant is not None:
            if symbol == "/" and not other.constant:
                raise self.refuse(node, "a division by zero")
            a, b = np.float32(one.constant), np.float32(other.constant)
            return self.of_python(node, np.float32({"+": a + b, "-": a - b, "*": a * b, "/": a / b}[symbol]))
        text = f"{one.inside(level)} {symbol} {other.inside(level + 1)}"
        return Value(text, kind, uniform=uniform, level=level, fit="once" if kind == "f8" else "")

    def of_integers(self, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
        uniform = left.uniform and right.uniform
        name = type(op).__name__
        if name == "Div":
            raise self.refuse(
                node,
                "a quotient of integers is a float64 in Numba, which WGSL does not have. Use // for an index",
            )
        if name == "Pow":
            raise self.refuse(node, "write x * x in place of a power")
        if name in ("FloorDiv", "Mod"):
            left, right = self.fitting(node, left), self.fitting(node, right)
            if right.range.low <= 0 <= right.range.high:
                self.prove(node, "the divisor may be zero")
            range_ = left.range.over(right.range) if name == "FloorDiv" else left.range.modulo(right.range)
            if left.constant is not None and right.constant is not None:
                return self.of_python(
                    node,
                    left.constant // right.constant if name == "FloorDiv" else left.constant % right.constant,
                )
            if left.range.low >= 0 and right.range.low > 0:
                symbol = "/" if name == "FloorDiv" else "%"
                text = f"{left.inside(TIMES)} {symbol} {right.inside(TIMES + 1)}"
                return Value(text, "i8", range_, uniform, TIMES)
            helper = self.module.helper("floor_div" if name == "FloorDiv" else "floor_mod")
            return Value(f"{helper}({left.text}, {right.text})", "i8", range_, uniform)
        if name in ("Add", "Sub", "Mult"):
            symbol, level = {"Add": ("+", PLUS), "Sub": ("-", PLUS), "Mult": ("*", TIMES)}[name]
            range_ = {
                "Add": left.range + right.range,
                "Sub": left.range - right.range,
                "Mult": left.range * right.range,
            }[name]
            if left.constant is not None and right.constant is not None:
                return self.of_python(node, range_.low)
            return Value(
                f"{left.inside(level)} {symbol} {right.inside(level + 1)}", "i8", range_, uniform, level
            )
        if name in ("LShift", "RShift"):
            if not right.range.within(0, 31):
                self.prove(
                    node,
                    "WGSL shifts by 0 to 31 bits, and nothing here proves that the amount is one of these",
                )
            left = self.fitting(node, left) if name == "RShift" else left
            symbol = "<<" if name == "LShift" else ">>"
            amount = f"{right.constant}u" if right.constant is not None else f"u32({right.text})"
            amounts = right.range.meet(0, 31) if right.range.within(0, 31) else Interval(0, 31)
            power = Interval(2**amounts.low, 2**amounts.high)
            range_ = left.range * power if name == "LShift" else shifted(left.range, amounts)
            return Value(f"{left.inside(UNARY)} {symbol} {amount}", "i8", range_, uniform, BITS)
        if name in ("BitAnd", "BitOr", "BitXor"):
            symbol = {"BitAnd": "&", "BitOr": "|", "BitXor": "^"}[name]
            if name == "BitAnd" and (left.range.low >= 0 or right.range.low >= 0):
                highs = [each.range.high for each in (left, right) if each.range.low >= 0]
                range_ = Interval(0, min(highs))
            elif left.range.fits and right.range.fits:
                range_ = INT32
            else:
                range_ = EVERY
            return Value(f"{left.inside(UNARY)} {symbol} {right.inside(UNARY)}", "i8", range_, uniform, BITS)
        raise self.refuse(node, "the translator does not know this operator")

    def of_Compare(self, node: ast.Compare, environment: Environment) -> Value:
        sides = [self.value(each, environment) for each in (node.left, *node.comparators)]
        found = []
        for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
            symbol = COMPARISONS.get(type(operator).__name__)
            if symbol is None:
                raise self.refuse(node, "the translator knows <, <=, >, >=, == and !=")
            found.append(self.compared(node, symbol, left, right))
        if len(found) == 1:
            return found[0]
        text = " && ".join(each.inside(LOGIC + 1) for each in found)
        return Value(text, "b1", uniform=all(each.uniform for each in found), level=LOGIC)

    def compared(self, node: ast.expr, symbol: str, left: Value, right: Value) -> Value:
        uniform, constant = left.uniform and right.uniform, None
        if left.whole and right.whole:
            left, right = self.fitting(node, left), self.fitting(node, right)
            if left.constant is not None and right.constant is not None:
                constant = COMPUTED[symbol](left.constant, right.constant)
        elif left.kind == right.kind == "b1":
            if symbol not in ("==", "!="):
                raise self.refuse(node, "bools can be compared with == and != only")
        else:
            one, other = (
                (None, None) if "b1" in (left.kind, right.kind) else (self.thin(left), self.thin(right))
            )
            if one is None or other is None:
                raise self.refuse(
                    node,
                    "Numba compares these two as float64, which WGSL does not have. Convert with float32(…)",
                )
            left, right = one, other
        text = f"{left.inside(COMPARE + 1)} {symbol} {right.inside(COMPARE + 1)}"
        return Value(text, "b1", uniform=uniform, level=COMPARE, constant=constant)

    def of_BoolOp(self, node: ast.BoolOp, environment: Environment) -> Value:
        both = isinstance(node.op, ast.And)
        symbol = "&&" if both else "||"
        found = self.truth(node.values[0], environment)
        for earlier, each in zip(node.values, node.values[1:], strict=False):
            environment = self.refined(earlier, environment, both)
            lines, self.lines = self.lines, []
            self.depth += 1
            value = self.truth(each, environment)
            self.depth -= 1
            before, self.lines = self.lines, lines
            uniform = found.uniform and value.uniform
            if before:  # needs statements of its own, which run only where Python would look
                name = f"both_{next(self.temporary)}"
                self.emit(f"var {name} = {found.text};")
                self.emit(f"if ({name if both else '!' + name}) {{")
                self.lines += before
                self.emit(f"  {name} = {value.text};")
                self.emit("}")
                found = Value(name, "b1", uniform=uniform)
                continue
            level = LOGIC + 1  # && and || stand beside each other only with parentheses
            left = (
                found.text
                if found.level == LOGIC
                and f" {symbol} " in found.text
                and not any(sign in found.text for sign in ({"&&", "||"} - {symbol}))
                else found.inside(level)
            )
            found = Value(f"{left} {symbol} {value.inside(level)}", "b1", uniform=uniform, level=LOGIC)
        return found

    def of_IfExp(self, node: ast.IfExp, environment: Environment) -> Value:
        condition = self.truth(node.test, environment)
        if condition.constant is not None:
            return self.value(node.body if condition.constant else node.orelse, environment)
        name = f"picked_{next(self.temporary)}"
        blocks, values = [], []
        if not condition.uniform:
            self.apart.append((node.lineno, ast.unparse(node.test)))
        for holds, each in ((True, node.body), (False, node.orelse)):
            lines, self.lines = self.lines, []
            self.depth += 1
            values.append(self.value(each, self.refined(node.test, environment, holds)))
            self.depth -= 1
            before, self.lines = self.lines, lines
            blocks.append(before)
        if not condition.uniform:
            self.apart.pop()
        one, other = values
        if one.whole and other.whole:
            kind, range_, fit = "i8", one.range.join(other.range), ""
            texts = [one.text, other.text]
        elif one.kind == other.kind == "b1":
            kind, range_, fit, texts = "b1", EVERY, "", [one.text, other.text]
        else:
            thin = [self.thin(each) if each.kind != "b1" else None for each in values]
            if None in thin:
                raise self.refuse(
                    node,
                    "this is a float64 in Numba, which WGSL does not have. Convert both values with float32(…)",
                )
            kind = "f4" if one.kind == other.kind == "f4" else "f8"
            range_, fit, texts = EVERY, "" if kind == "f4" else "exact", [each.text for each in thin if each]
        self.emit(f"var {name}: {'f32' if kind == 'f8' else WGSL_TYPES[kind]};")
        self.emit(f"if ({condition.text}) {{")
        self.lines += [*blocks[0], f"{'  ' * (self.depth + 1)}{name} = {texts[0]};"]
        self.emit("} else {")
        self.lines += [*blocks[1], f"{'  ' * (self.depth + 1)}{name} = {texts[1]};"]
        self.emit("}")
        uniform = condition.uniform and one.uniform and other.uniform
        return Value(name, kind, range_, uniform, fit=fit)
