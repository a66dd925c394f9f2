"""What the translator to WGSL speaks of: arguments, the shader, and the value of an expression, an array or a variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from book.webgpu.intervals import EVERY, Interval

DTYPES = {"float32": "f4", "int32": "i4"}
WGSL_TYPES = {"f4": "f32", "i4": "i32", "i8": "i32", "b1": "bool"}
WORDS = {"f4": "float32", "f8": "float64", "i4": "int32", "i8": "int64", "b1": "bool"}
EXACT = 2**24  # a float32 holds every integer up to this
ROUNDS = 4  # over a loop's body, before what still grows is given up
# How tightly an operator of WGSL binds; what binds less stands in parentheses.
ATOM, UNARY, TIMES, PLUS, COMPARE, LOGIC = 10, 9, 8, 7, 5, 3
BITS = 2

Range = int | tuple[int, int]


class Untranslatable(ValueError):
    """A kernel has something that the translator refuses: the message names the line and the reason.

    Attributes
    ----------
    line
        The number of the line in its file.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Array:
    """An array argument.

    Attributes
    ----------
    dtype
        "float32" or "int32".
    shape
        The length of each axis: a number, or the smallest and the largest that the shader has to serve.
    """

    dtype: str
    shape: tuple[Range, ...]


@dataclass(frozen=True)
class Scalar:
    """A scalar argument: its dtype, and for integers the smallest and the largest value."""

    dtype: str
    values: Range = (-(2**31), 2**31 - 1)


@dataclass(frozen=True)
class Shader:
    """A kernel in WGSL.

    Attributes
    ----------
    name
        The kernel's name.
    text
        The shader. Its entry point is `main`.
    arrays
        The kernel's array parameters in the order of their bindings, each with whether the kernel stores to it.
    given
        What the uniform buffer behind them holds, in order: "x.shape[0]" or the name of a scalar, each with "i32" or "f32".
    block
        Threads of a workgroup along x, y and z.
    notes
        Sentences about what differs from CUDA.
    """

    name: str
    text: str
    arrays: tuple[tuple[str, bool], ...]
    given: tuple[tuple[str, str], ...]
    block: tuple[int, int, int]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Value:
    """What an expression is in WGSL.

    `fit` says of a float64 why a float32 can stand for it: "exact" if it is one, "once" if a single operation on float32s
    made it (then rounding twice gives what rounding once gives), and nothing if it cannot.
    """

    text: str
    kind: str
    range: Interval = EVERY
    uniform: bool = True
    level: int = ATOM
    constant: Any = None
    fit: str = ""

    def inside(self, level: int) -> str:
        """Return the text, in parentheses if its operator binds less tightly than `level`."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def whole(self) -> bool:
        return self.kind in ("i4", "i8")


@dataclass
class Memory:
    """An array in a shader: its dimensions as texts with their intervals, and what the kernel does to it."""

    name: str
    element: str
    dimensions: list[tuple[str, Interval]]
    space: str  # "storage", "workgroup" or "function"
    stored: bool = False
    loaded: bool = False
    atomic: bool = False

    @property
    def declared(self) -> str:
        """Its type, for one element or, in a workgroup or a function, for all."""
        element = WGSL_TYPES[self.element]
        if self.atomic:
            element = "atomic<i32>" if self.element == "i4" else "atomic<u32>"
        if self.space == "storage":
            return f"array<{element}>"
        for text, _ in reversed(self.dimensions):
            element = f"array<{element}, {text}>"
        return element


@dataclass
class Variable:
    """What is known of a variable at one place."""

    kind: str
    range: Interval = EVERY
    uniform: bool = True
    fit: str = ""

    def join(self, other: Variable) -> Variable:
        """Return what is known where two ways meet; the ways agree on the type in WGSL."""
        uniform = self.uniform and other.uniform
        if self.kind == other.kind:
            return Variable(self.kind, self.range.join(other.range), uniform, self.fit and other.fit)
        if "f4" in (self.kind, other.kind):  # a float64 that a float32 stands for, beside a float32
            return Variable("f8", EVERY, uniform, "exact")
        return Variable("i8", self.range.join(other.range), uniform)


def interval(of: Range) -> Interval:
    return Interval(*of) if isinstance(of, tuple) else Interval(of, of)
