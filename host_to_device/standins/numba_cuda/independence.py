"""Proves for a launch that its blocks do not touch each other's elements, so that they may run at the same time.

An index that determines its block keeps blocks apart: in `i = cuda.grid(1)` block b has the indices from
`b * blockDim.x` on. `Blocks` evaluates every index of an array that the kernel stores to, as a multiple of the
block's indices plus a range. What it cannot follow, it takes for dependent; then blocks run one after another.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from host_to_device.standins.numba_cuda import random
from host_to_device.standins.numba_cuda.preparing import versions
from host_to_device.standins.numba_cuda.rewriting import (
    BLOCK_SYNCS,
    LINEAR,
    PREFIX,
    SHARED,
    SYNC,
    THREAD,
    WARP_SYNCS,
    Function,
    Program,
)

ABOUT = {
    "shape",
    "size",
    "ndim",
    "dtype",
    "strides",
    "itemsize",
    "nbytes",
}  # of an array, and no element of it
# Python's functions that only compute.
PURE = {
    "abs",
    "bool",
    "complex",
    "divmod",
    "float",
    "int",
    "len",
    "max",
    "min",
    "pow",
    "range",
    "round",
    "tuple",
}
# Helpers that only compute with numbers.
PURE_HELPERS = {
    *("popc", "brev", "clz", "ffs", "fma", "cbrt", "selp", "power", "laneid", "lanemask_lt"),
    *("floor", "ceil", "trunc", "as_declared", "result_as_declared"),
}


class Dependent(Exception):
    """The kernel does something that this module does not follow."""


@dataclass(frozen=True)
class Value:
    """What is known of an integer: `each[a] * blockIdx[a]` for the three axes, plus `low` to `high`.

    With `modulo` above 0, the integer may also be larger by any multiple of it.
    """

    low: int
    high: int
    each: tuple[int, int, int] = (0, 0, 0)
    modulo: int = 0

    @property
    def of_thread(self) -> bool:
        """Whether it is a plain range, the same in all blocks."""
        return not any(self.each) and not self.modulo

    @property
    def is_number(self) -> bool:
        return self.of_thread and self.low == self.high

    def times(self, factor: int) -> Value:
        ends = self.low * factor, self.high * factor
        return Value(
            min(ends), max(ends), tuple(each * factor for each in self.each), self.modulo * abs(factor)
        )

    def plus(self, other: Value) -> Value:
        each = tuple(mine + theirs for mine, theirs in zip(self.each, other.each, strict=True))
        modulo = math.gcd(self.modulo, other.modulo)
        return Value(self.low + other.low, self.high + other.high, each, modulo)


@dataclass
class _Use:
    """What a function does with an array: the indices of its accesses, and whether it stores."""

    indices: list[list[ast.expr]] = field(default_factory=list)
    stored: bool = False
    followed: bool = True  # whether `indices` has every access
    renamed: bool = False  # whether another value gets its name


def _root(node: ast.AST) -> str | None:
    """Return the variable that an expression such as `x[i].y[j]` begins with."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


class Accesses:
    """What a kernel does with each of its arrays.

    Raises
    ------
    Dependent
        If it has anything by which it might reach an array in another way.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.storing: dict[str, set[int]] = {}  # device function → its parameters that it may store to
        self.uses = self.of(program.kernel)

    def of(self, function: Function) -> dict[str, _Use]:
        tree = function.tree
        uses = {name: _Use() for name in function.parameters}
        parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        own = self.own_arrays(tree)
        if function.star or function.recursive:
            raise Dependent
        for node in ast.walk(tree):
            if node is not tree and isinstance(node, ast.FunctionDef | ast.Lambda):
                raise Dependent
            if isinstance(node, ast.Call):
                self.call(node, uses, own)
            elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                raise Dependent
            elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
                if not isinstance(node.value, ast.Name):
                    raise Dependent
                if node.value.id not in uses and node.value.id not in own:
                    raise Dependent
            if isinstance(node, ast.Name) and node.id in uses:
                if isinstance(node.ctx, ast.Load):
                    self.access(node, parents, uses[node.id])
                else:
                    uses[node.id].renamed = True
        if any(use.stored and use.renamed for use in uses.values()):
            raise Dependent
        return uses

    def own_arrays(self, tree: ast.FunctionDef) -> set[str]:
        """Return the variables that are always arrays of the block or of the thread."""
        found, others = set(), set()
        for node in ast.walk(tree):
            value = node.value if isinstance(node, ast.Assign) else None
            made = isinstance(value, ast.Call) and getattr(value.func, "id", "") == f"{PREFIX}local"
            if isinstance(value, ast.Subscript) and getattr(value.value, "id", "") == SHARED:
                made = self.program.shared[value.slice.value].captured is None
            if made and all(isinstance(target, ast.Name) for target in node.targets):
                found |= {target.id for target in node.targets}
                others |= {id(target) for target in node.targets}
        stored = (
            node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        return found - {node.id for node in stored if id(node) not in others}

    def access(self, name: ast.Name, parents: dict[ast.AST, ast.AST], use: _Use) -> None:
        """Note one use of an array's name."""
        parent = parents.get(name)
        if isinstance(parent, ast.Subscript) and parent.value is name:
            index = parent.slice
            use.indices.append(list(index.elts) if isinstance(index, ast.Tuple) else [index])
            use.stored |= not isinstance(parent.ctx, ast.Load)
            return
        asks = isinstance(parent, ast.Attribute) and parent.attr in ABOUT
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
            asks = parent.func.id == "len" or parent.func.id in self.program.functions
        use.followed &= asks

    def call(self, node: ast.Call, uses: dict[str, _Use], own: set[str]) -> None:
        """Note what a call may do with arrays."""
        if node.keywords or not isinstance(node.func, ast.Name):
            raise Dependent
        name = node.func.id
        if name == SYNC:
            if node.args[0].value not in (*BLOCK_SYNCS, *WARP_SYNCS):
                raise Dependent
        elif name in self.program.functions:
            self.device_call(node, self.program.functions[name], uses, own)
        elif name in self.program.constants:
            if not _computes(self.program.constants[name], len(node.args)):
                raise Dependent
        elif name.startswith(f"{PREFIX}atomic_"):
            if _root(node.args[0]) not in own:
                raise Dependent
        elif name.startswith(PREFIX):
            if name.removeprefix(PREFIX) not in {*PURE_HELPERS, "local", "fence_block"}:
                raise Dependent
        elif name not in PURE:
            raise Dependent

    def device_call(self, node: ast.Call, function: Function, uses: dict[str, _Use], own: set[str]) -> None:
        arguments = node.args[3:]  # behind the hidden ones
        if any(isinstance(each, ast.Starred) for each in arguments):
            raise Dependent
        if any(function.original is getattr(each, "py_func", each) for each in random.DEVICE_FUNCTIONS):
            states, index = arguments
            use = uses.get(states.id) if isinstance(states, ast.Name) else None
            if use is None:
                raise Dependent
            use.indices.append([index])
            use.stored = True
            return
        if function.name not in self.storing:
            inner = self.of(function)
            self.storing[function.name] = {
                number for number, name in enumerate(function.parameters) if inner[name].stored
            }
        for number, argument in enumerate(arguments):
            if number in self.storing[function.name] and _root(argument) not in own:
                raise Dependent
            if isinstance(argument, ast.Name) and argument.id in uses:
                uses[argument.id].followed = False


def _computes(value: Any, arguments: int) -> bool:
    """Return whether a call of one of a kernel's constants only computes with numbers."""
    return (
        (isinstance(value, np.ufunc) and arguments <= value.nin)
        or (isinstance(value, type) and issubclass(value, np.generic | int | float | complex))
        or hasattr(value, "bitwidth")  # a type of Numba
        or getattr(value, "__module__", "") in ("math", "cmath")
    )


def _keeps(kind: Any) -> bool:
    """Return whether a conversion to this type keeps every index that an array can have."""
    if isinstance(kind, type) and issubclass(kind, np.integer):
        return np.dtype(kind).itemsize >= 4
    return getattr(kind, "bitwidth", 0) >= 32 and hasattr(kind, "signed")


class Blocks:
    """Evaluates the indices of a kernel for one size of the grid and the block."""

    def __init__(self, program: Program, grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
        self.program, self.grid, self.block = program, grid, block
        self.sources = self.assignments(program.kernel.tree)
        self.known: dict[str, Value | None] = {}

    @staticmethod
    def assignments(tree: ast.FunctionDef) -> dict[str, list[tuple[str, ast.expr | None]]]:
        """Return for each variable the expressions that it is set to, and those that are added to it."""
        found: dict[str, list[tuple[str, ast.expr | None]]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    for name, value in _pairs(target, node.value):
                        found.setdefault(name, []).append(_step(name, value))
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                how = "added" if isinstance(node.op, ast.Add) else "set"
                found.setdefault(node.target.id, []).append((how, node.value if how == "added" else None))
            elif isinstance(node, ast.For):
                for name, _ in _pairs(node.target, None):
                    plain = isinstance(node.target, ast.Name)
                    found.setdefault(name, []).append(("counts", node.iter if plain else None))
        return found

    def value(self, node: ast.expr | None) -> Value | None:
        """Return what is known of an expression, or None."""
        if isinstance(node, ast.Constant):
            return Value(node.value, node.value) if type(node.value) is int else None
        if isinstance(node, ast.Name):
            return self.variable(node.id)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == THREAD:
            return self.position(node.slice.value) if isinstance(node.slice, ast.Constant) else None
        if isinstance(node, ast.BinOp):
            return self.operation(node.op, self.value(node.left), self.value(node.right))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
            found = self.value(node.args[0])
            if found is not None and found.low >= 0 and min(found.each) >= 0:
                return found if _keeps(self.program.constants.get(node.func.id)) else None
        return None

    def position(self, number: int) -> Value:
        if number == LINEAR:
            return Value(0, math.prod(self.block) - 1)
        space, axis = divmod(number, 3)
        if space == 0:
            return Value(0, self.block[axis] - 1)
        if space == 1:
            each = tuple(int(axis == other and self.grid[axis] > 1) for other in range(3))
            return Value(0, 0, each)
        size = (self.block, self.grid)[space - 2][axis]
        return Value(size, size)

    def operation(self, operator: ast.operator, left: Value | None, right: Value | None) -> Value | None:
        if left is None or right is None:
            return None
        if isinstance(operator, ast.Add):
            return left.plus(right)
        if isinstance(operator, ast.Sub):
            return left.plus(right.times(-1))
        if isinstance(operator, ast.Mult):
            if left.is_number:
                left, right = right, left
            if right.is_number:
                return left.times(right.low)
            if left.of_thread and right.of_thread and left.low >= 0 and right.low >= 0:
                return Value(left.low * right.low, left.high * right.high)
            return None
        if left.of_thread and left.low >= 0 and right.is_number and right.low > 0:
            if isinstance(operator, ast.FloorDiv):
                return Value(left.low // right.low, left.high // right.low)
            if isinstance(operator, ast.Mod):
                return Value(0, min(left.high, right.low - 1))
        return None

    def variable(self, name: str) -> Value | None:
        if name in self.program.constants:
            found = self.program.constants[name]
            return Value(int(found), int(found)) if isinstance(found, np.integer) else None
        if name in self.program.kernel.parameters or name not in self.sources:
            return None
        if name not in self.known:
            self.known[name] = None  # for a variable that depends on itself
            self.known[name] = self.joined(self.sources[name])
        return self.known[name]

    def joined(self, sources: list[tuple[str, ast.expr | None]]) -> Value | None:
        """Return what holds for a variable after each of its assignments."""
        found: Value | None = None
        for how, node in sources:
            if how == "added":
                continue
            value = self.counter(node) if how == "counts" else self.value(node)
            if value is None or (found and (value.each, value.modulo) != (found.each, found.modulo)):
                return None
            found = (
                value
                if found is None
                else replace(found, low=min(found.low, value.low), high=max(found.high, value.high))
            )
        for how, node in sources:
            if how == "added" and found is not None:
                step = self.value(node)
                if step is None or not step.is_number or step.low <= 0:
                    return None
                found = replace(found, modulo=math.gcd(found.modulo, step.low))
        return found

    def counter(self, node: ast.expr | None) -> Value | None:
        """Return what is known of the counter of a loop over `range`."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"):
            return None
        values = [self.value(each) for each in node.args]
        begin = Value(0, 0) if len(values) == 1 else values[0]
        end = values[0] if len(values) == 1 else values[1]
        step = values[2] if len(values) == 3 else Value(1, 1)
        if begin is None or step is None or not step.is_number or step.low <= 0:
            return None
        if begin.of_thread and end is not None and end.of_thread:
            last = end.high - 1
            if begin.is_number:
                last -= max(0, last - begin.low) % step.low
            return Value(begin.low, max(begin.high, last))
        return replace(begin, modulo=math.gcd(begin.modulo, step.low))

    def keep_apart(self, indices: list[list[ast.expr]], dimensions: int) -> bool:
        """Return whether accesses with these indices to one array reach different elements in different blocks."""
        for each in indices:
            if len(each) != dimensions or any(
                isinstance(part, ast.Constant) and type(part.value) is not int for part in each
            ):
                return False  # a view, or an index with None or ...
        places = [[self.value(each[place]) for each in indices] for place in range(dimensions)]
        return all(
            self.grid[axis] == 1 or any(self.determines(axis, values) for values in places)
            for axis in range(3)
        )

    def determines(self, axis: int, values: list[Value | None]) -> bool:
        """Return whether the block's index along an axis follows from any of these values."""
        known = [each for each in values if each is not None]
        if len(known) < len(values) or len({each.each for each in known}) > 1:
            return False
        each = known[0].each
        size = each[axis]
        if size <= 0 or any(each[other] for other in range(3) if other != axis):
            return False
        low, high = min(value.low for value in known), max(value.high for value in known)
        modulo = math.gcd(*(value.modulo for value in known))
        if low < 0:  # a negative index counts from the end
            return False
        return high - low < size and (not modulo or (high < size and self.grid[axis] * size <= modulo))


def _step(name: str, value: ast.expr | None) -> tuple[str, ast.expr | None]:
    """Return how an assignment changes a variable: `i = i + step` adds to it."""
    adds = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add)
    if adds and isinstance(value.left, ast.Name) and value.left.id == name:
        return "added", value.right
    return "set", value


def _pairs(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield each variable that an assignment sets, with its value where that has an expression of its own."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        same = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
        for number, each in enumerate(target.elts):
            yield from _pairs(each, value.elts[number] if same else None)


def _arrays(values: Any) -> Iterator[np.ndarray]:
    """Yield the arrays and records among values, and those inside tuples."""
    for value in values:
        if isinstance(value, tuple):
            yield from _arrays(value)
        elif isinstance(value, np.ndarray | np.void):
            yield value


def written(
    program: Program, grid: tuple[int, int, int], block: tuple[int, int, int], values: tuple
) -> list[int] | None:
    """Return the numbers of the parameters that a launch stores to, if its blocks keep apart; else None.

    Parameters
    ----------
    program
        The rewritten kernel.
    grid, block
        Sizes of the grid and of a block.
    values
        The kernel's arguments; only the number of dimensions of each array matters.
    """
    body = versions(copy.deepcopy(program.kernel.tree.body), program.kernel.parameters)
    tree = ast.FunctionDef(program.kernel.name, program.kernel.tree.args, body, [])
    program = replace(program, kernel=replace(program.kernel, tree=tree))
    try:
        uses = Accesses(program).uses
    except Dependent:
        return None
    blocks, found = Blocks(program, grid, block), []
    for number, (use, value) in enumerate(zip(uses.values(), values, strict=True)):
        if not use.stored:
            continue
        if not use.followed or not isinstance(value, np.ndarray):
            return None
        if not blocks.keep_apart(use.indices, value.ndim):
            return None
        found.append(number)
    return found


def overlap(program: Program, values: tuple, numbers: list[int]) -> bool:
    """Return whether an array that a launch stores to may share memory with another of its arrays, or with itself."""
    captured = [each.captured for each in program.shared]
    others = [*_arrays(values), *_arrays(program.constants.values()), *_arrays(captured)]
    for mine in (values[number] for number in numbers):
        if not (mine.flags.c_contiguous or mine.flags.f_contiguous):
            return True
        if sum(other is mine for other in others) > 1:
            return True
        for other in others:
            if other is not mine and (isinstance(other, np.void) or np.may_share_memory(mine, other)):
                return True
    return False


def keep_apart(
    program: Program, grid: tuple[int, int, int], block: tuple[int, int, int], values: tuple
) -> bool:
    """Return whether the blocks of a launch reach different elements of every array that it stores to.

    Parameters are those of `written`, which is computed once for each size.
    """
    key = (grid, block, tuple(getattr(value, "ndim", None) for value in values))
    if key not in program.apart:
        program.apart[key] = written(program, grid, block, values)
    numbers = program.apart[key]
    return numbers is not None and not overlap(program, values, numbers)
