"""Rewrites a learner's kernel so that a CPU can run it.

The kernel's syntax tree is kept, with its line numbers. Only the parts that have no meaning on a CPU are replaced:

- `cuda.threadIdx.x`, `cuda.grid(1)`, … become elements of a tuple that holds one thread's position;
- `cuda.shared.array(…)` becomes one array per block and call site, `cuda.local.array(…)` an empty array;
- atomics and bit operations become calls of helpers;
- every operation at which threads wait for each other (barrier, shuffle, vote) becomes a call of `SYNC`.

There are two ways to run the result, and each replaces `SYNC`: `interpreting` by a yield, `regions` by a cut between
two pieces of the kernel.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
import random
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from host_to_device.standins.numba_cuda import (
    array_functions,
    declarations,
    memory,
    names,
    successor_types,
    vectors,
)
from host_to_device.standins.numba_cuda.errors import refusal, undefined
from host_to_device.standins.numba_cuda.layouts import as_dtype
from host_to_device.standins.numba_cuda.reading import MISSING, Scope, source_tree, where

# Prefix of the names that the rewriting adds to a kernel; a learner's own names do not begin with it.
PREFIX = "_h2d_"
THREAD, SHARED, STOP, SYNC = (PREFIX + name for name in ("thread", "shared", "stop", "sync"))
DEPTH = PREFIX + "depth"  # how many calls of a function that calls itself are open
MOST_CALLS = 500
GIVEN = PREFIX + "given"  # the arguments of a device function with a signature

# The position of each number in the thread's tuple.
POSITION = {
    f"{space}.{axis}": 3 * number + offset
    for number, space in enumerate(("threadIdx", "blockIdx", "blockDim", "gridDim"))
    for offset, axis in enumerate("xyz")
}
LINEAR = 12  # the thread's number within its block
FIRST_UNIFORM, LAST_UNIFORM = POSITION["blockIdx.x"], POSITION["gridDim.z"]
WARP_SIZE = 32

# Operations at which a thread waits for its block, and those at which it waits for its warp.
GRID_SYNC = "grid_sync"  # at which it waits for the whole grid
BLOCK_SYNCS = ("syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or")
WARP_SYNCS = (
    *("syncwarp", "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync"),
    *("all_sync", "any_sync", "eq_sync", "ballot_sync", "match_any_sync", "match_all_sync", "activemask"),
)

REFUSED_NODES = {
    ast.List: "a list",
    ast.Set: "a set",
    ast.Dict: "a dict",
    ast.ListComp: "a list comprehension",
    ast.SetComp: "a set comprehension",
    ast.DictComp: "a dict comprehension",
    ast.GeneratorExp: "a generator expression",
    ast.AsyncFunctionDef: "an async function",
    ast.ClassDef: "a class",
    ast.Try: "try",
    ast.With: "with",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.Global: "global",
    ast.Nonlocal: "nonlocal",
    ast.Yield: "yield",
    ast.YieldFrom: "yield from",
    ast.Await: "await",
    ast.JoinedStr: "an f-string",
    ast.NamedExpr: "an assignment expression (:=)",
    ast.Starred: "a starred expression",
    ast.Delete: "del",
}

# NumPy functions that make arrays: a kernel cannot allocate.
ARRAY_FUNCTIONS = {
    *("zeros", "ones", "empty", "full", "array", "asarray", "arange", "linspace", "eye", "identity"),
    *("zeros_like", "ones_like", "empty_like", "full_like", "copy", "concatenate", "stack", "dot", "matmul"),
    *("cumsum", "sort", "argsort", "where", "histogram", "median", "transpose"),
}
# Python's own functions that Numba has for CUDA.
BUILTINS = {
    *("abs", "bool", "complex", "divmod", "enumerate", "float", "int", "isinstance", "len", "max", "min"),
    *("pow", "print", "range", "round", "slice", "tuple", "zip"),
}
ARRAY_METHODS = {"copy", "astype", "tolist", "cumsum", "sort", "argsort", "dot", "append"}


@dataclass
class SharedArray:
    """One shared array of a kernel: made by one call in its source, once for each block.

    `shape` is None for dynamic shared memory, whose size the launch sets. `captured` is the memory of a device array of the
    kernel's module, which a kernel gets in the same way; it is no shared memory.
    """

    name: str
    shape: tuple[int, ...] | None
    dtype: np.dtype | str  # a string names the parameter whose dtype it has
    line: int
    captured: np.ndarray | None = field(default=None, compare=False, repr=False)


def of_types(
    shared: list[SharedArray], parameters: list[str], dtypes: list[np.dtype | None]
) -> list[SharedArray]:
    """Return the shared arrays, with dtypes that depend on arguments filled in."""
    known = dict(zip(parameters, dtypes, strict=True))
    return [
        replace(each, dtype=known[each.dtype]) if isinstance(each.dtype, str) else each for each in shared
    ]


@dataclass
class Function:
    """A rewritten kernel or device function."""

    name: str
    original: Callable
    tree: ast.FunctionDef
    parameters: list[str]
    filename: str
    waits: bool = False  # whether it, or a function that it calls, has a barrier or a warp operation
    star: str = ""  # the parameter that takes all further arguments
    recursive: bool = False  # whether it calls itself


@dataclass
class Program:
    """A rewritten kernel with all device functions that it calls, directly or indirectly."""

    kernel: Function
    functions: dict[str, Function] = field(default_factory=dict)  # device functions by their new name
    shared: list[SharedArray] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)  # new name → the object it stands for
    typed: dict[tuple, Program] = field(default_factory=dict, repr=False)  # by the types of its arguments
    lowered: dict[tuple, Any] = field(default_factory=dict, repr=False)  # what the interpreter has compiled
    debug: bool = False  # whether a division by zero is an error
    cooperative: bool = False  # whether it asks for the group of the whole grid
    waits_for_grid: bool = False  # whether it has a barrier of the grid
    successor: bool = False  # whether it has the types of numba_cuda_mlir
    # Which parameters a launch stores to if its blocks keep apart, by sizes (`independence`)
    apart: dict[tuple, list[int] | None] = field(default_factory=dict, repr=False)

    @property
    def waits(self) -> bool:
        return self.kernel.waits

    @property
    def calls_itself(self) -> bool:
        """Whether one of its functions is recursive."""
        return any(each.recursive for each in self.functions.values())


class _Parameter(str):
    """The name of a kernel's parameter; it stands for the parameter's dtype."""


class Rewriter(ast.NodeTransformer):
    """Rewrites one function, and adds its shared arrays, constants and device functions to the program."""

    def __init__(
        self,
        builder: Builder,
        function: Callable,
        tree: ast.FunctionDef,
        is_kernel: bool,
        bound: dict[str, Any] | None = None,
    ) -> None:
        self.builder, self.function, self.tree = builder, function, tree
        self.is_kernel = is_kernel
        self.scope = Scope(function, tree)
        self.scope.bind(bound or {})
        self.scope.bind(dict.fromkeys(self.scope.names_of_calls(names.cg.this_grid), names.grid_group))
        self.waits = False
        self.inside = 0  # depth of functions within the kernel
        self.target = ""  # the target of the assignment that is being rewritten
        self.starred: set[int] = set()  # the starred arguments of calls, by `id`

    def refuse(self, node: ast.AST, text: str) -> Exception:
        return refusal(f"{self.function.__name__}(), {where(self.function, node.lineno)}: {text}")

    def run(self) -> ast.FunctionDef:
        body = self.tree.body
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]  # the docstring
        self.tree.body = [self.visit(statement) for statement in body] or [ast.Pass()]
        self.tree.body = [statement for statement in self.tree.body if statement is not None]
        self.tree.decorator_list, self.tree.returns = [], None
        for argument in ast.walk(self.tree.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        return self.tree

    def generic_visit(self, node: ast.AST) -> ast.AST:
        refused = REFUSED_NODES.get(type(node))
        if refused:
            raise self.refuse(node, f"{refused} cannot be used in a kernel")
        return super().generic_visit(node)

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        if id(node) not in self.starred:
            return self.generic_visit(node)
        node.value = self.visit(node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if self.is_grid_group(node.value):  # its name stands for the group wherever it is read
            self.builder.cooperative = True
            return ast.copy_location(ast.Pass(), node)
        self.target = ast.unparse(node.targets[0])
        if isinstance(node.targets[0], ast.Name) and (position := self.position(node.value)):
            node.value = _expression(f"{PREFIX}vector_int32x3({position})", node.value)
            return node
        return self.generic_visit(node)

    def position(self, node: ast.expr) -> str:
        """Return the text of the three numbers of `cuda.threadIdx` or another position as a whole; else nothing."""
        value = self.scope.resolve(node)
        if not isinstance(value, names.Namespace) or f"{value.name}.z" not in POSITION:
            return ""
        return ", ".join(f"{THREAD}[{POSITION[f'{value.name}.{axis}']}]" for axis in "xyz")

    def is_grid_group(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self.scope.resolve(node.func) is names.cg.this_grid

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit(ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node))

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        call = node.value
        callee = self.scope.resolve(call.func) if isinstance(call, ast.Call) else MISSING
        if (
            isinstance(callee, names.DeviceName)
            and callee.name in names.CACHE_HINTS[1]
            and len(call.args) == 3
        ):
            target = ast.copy_location(ast.Subscript(call.args[0], call.args[1], ast.Store()), node)
            return self.visit(ast.copy_location(ast.Assign([target], call.args[2]), node))
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Keep a function within a kernel: Numba replaces its calls by its body."""
        self.inside += 1
        node = self.generic_visit(node)
        self.inside -= 1
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if (
            self.is_kernel
            and not self.inside
            and node.value is not None
            and ast.unparse(node.value) != "None"
        ):
            raise self.refuse(
                node,
                "a kernel cannot return a value (CUDA kernel must have void return type): write it into an array",
            )
        return self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call):
            node.exc.func = self.visit(node.exc.func)
            return node  # keep its text, which is for the host: kernels have no strings
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.name_or_attribute(node) if isinstance(node.ctx, ast.Load) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if not isinstance(node.ctx, ast.Load) and self.scope.resolve(node) is not MISSING:
            raise self.refuse(node, f"{ast.unparse(node)} cannot be assigned to")
        replaced = self.name_or_attribute(node)
        return self.generic_visit(node) if replaced is node else replaced

    def name_or_attribute(self, node: ast.Name | ast.Attribute) -> ast.AST:
        value = self.scope.resolve(node)
        if value is MISSING:
            if isinstance(node, ast.Name) and node.id not in self.scope.local:
                raise undefined(self.function.__name__, where(self.function, node.lineno), node.id)
            self.check_attribute(node)
            return node
        if isinstance(value, names.DeviceName):
            return self.device_value(node, value)
        if isinstance(node, ast.Name) and getattr(builtins, node.id, None) is value:
            return node
        return ast.copy_location(self.frozen(node, value), node)

    def check_attribute(self, node: ast.Name | ast.Attribute) -> None:
        """Refuse a name that a module does not have."""
        owner = self.scope.resolve(node.value) if isinstance(node, ast.Attribute) else MISSING
        if isinstance(owner, types.ModuleType | names.Namespace):
            try:
                getattr(owner, node.attr)
            except AttributeError as problem:
                raise self.refuse(node, str(problem)) from None

    def frozen(self, node: ast.AST, value: Any) -> ast.expr:
        """Return the expression for a host object that the kernel uses as a constant."""
        if value is None or type(value) in (bool, int, float, complex):
            return ast.Constant(value)
        if memory.is_device_memory(value) or memory.is_stand_in_memory(value):
            slot = self.builder.captured(ast.unparse(node), value, node.lineno)
            return _expression(f"{SHARED}[{slot}]", node)
        if self.builder.is_device_function(value):
            raise self.refuse(node, f"{ast.unparse(node)} can only be called, or given to a device function")
        return ast.Name(self.builder.constant(ast.unparse(node), value), ast.Load())

    def device_value(self, node: ast.AST, value: names.DeviceName) -> ast.expr:
        """Return the expression for a device name that is used without a call."""
        if value.name in POSITION:
            text = f"{THREAD}[{POSITION[value.name]}]"
        elif value.name == "laneid":
            text = f"{PREFIX}laneid({THREAD}[{LINEAR}])"
        elif value.name == "warpsize":
            text = str(self.builder.warp_size)
        elif isinstance(value, names.Namespace):
            raise self.refuse(node, f"cuda.{value.name} is used by its parts: {', '.join(value.members)}")
        else:
            raise self.refuse(node, f"cuda.{value.name} can only be called")
        return _expression(text, node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        callee = self.scope.resolve(node.func)
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr == "sync"
            and self.is_grid_group(node.func.value)
        ):
            self.builder.cooperative = True
            callee = names.grid_group.sync
        starred = [argument for argument in node.args if isinstance(argument, ast.Starred)]
        if starred and (callee is print or isinstance(callee, names.DeviceName)):
            raise self.refuse(node, f"{ast.unparse(node.func)}() takes no starred argument in a kernel")
        self.starred |= set(map(id, starred))
        if isinstance(callee, names.DeviceName):
            return self.device_call(node, callee.name)
        if callee is MISSING:
            return self.method_call(node)
        if any(
            callee is each for each in (math.floor, math.ceil, math.trunc)
        ):  # whole numbers, and floats on CUDA
            node.args = [self.visit(argument) for argument in node.args]
            node.func = ast.copy_location(ast.Name(PREFIX + callee.__name__, ast.Load()), node.func)
            return node
        self.check_numpy(node, callee)
        name = getattr(callee, "__name__", "")
        if name not in BUILTINS and getattr(builtins, name, None) is callee:
            raise self.refuse(node, f"{name}() is not available in a kernel")
        if callee is print:
            return self.print_call(node)
        if self.builder.is_device_function(callee):
            return self.function_call(node, callee)
        if array := self.reduction(node, callee):
            return array
        if type(callee).__module__.endswith("numba_cuda.vectorizing"):
            raise self.refuse(
                node,
                f"{name}() is for the host (Untyped global name {name!r}): call the function that it is made of, "
                "decorated with @cuda.jit(device=True)",
            )
        if (getattr(callee, "__module__", "") or "").startswith(__package__):
            raise self.refuse(node, f"cuda.{name}() belongs to the host: call it outside of the kernel")
        if getattr(callee, "_can_compile", True) is False:  # of Numba's functions for the CPU
            raise self.refuse(
                node,
                f"{name}() is compiled for the CPU alone (Untyped global name {name!r}: using cpu function on device), "
                "because its decorator has a signature: decorate it with @cuda.jit(device=True)",
            )
        if isinstance(callee, types.FunctionType) and not self.builder.is_library(callee):
            raise self.refuse(
                node,
                f"{callee.__name__}() is an ordinary Python function (Untyped global name {callee.__name__!r}): "
                "decorate it with @cuda.jit(device=True)",
            )
        return self.generic_visit(node)

    def function_call(self, node: ast.Call, callee: Any) -> ast.Call:
        """Return the call of a device function.

        What Numba's compiler knows by itself, functions, types and the literal sizes of arrays, becomes a part of a version
        of the function.
        """
        original = getattr(callee, "py_func", callee)
        given = dict(zip(parameters_of(original), node.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        bound: dict[str, Any] = {}
        sizes = self.builder.literal_parameters(original)
        for name, argument in given.items():
            if isinstance(argument, ast.Starred):
                break
            value = self.scope.resolve(argument)
            is_position = isinstance(value, names.DeviceName) and value.name in POSITION
            if value is not MISSING and not is_position and (callable(value) or isinstance(value, np.dtype)):
                bound[name] = value  # a function or a type
            elif name in sizes and (size := self.static(argument)) is not MISSING:
                bound[name] = size
        if declarations.of(callee) or original in self.builder.open:
            bound = {}
        function = self.builder.device_function(callee, bound)
        outer = original not in self.builder.open and not declarations.of(callee)
        if function.recursive and outer and any(type(self.static(each)) is int for each in node.args):
            raise self.refuse(
                node,
                f"{callee.__name__}() calls itself and is given a literal: numba-cuda 0.30 compiles that only with a "
                "signature",
            )
        self.waits |= function.waits
        kept = [each for each in node.args if not any(given.get(name) is each for name in bound)]
        node.args = [
            *(_expression(hidden, node) for hidden in (THREAD, SHARED, STOP)),
            *(
                ast.copy_location(ast.Starred(self.visit(each.value), ast.Load()), each)
                if isinstance(each, ast.Starred)
                else self.visit(each)
                for each in kept
            ),
        ]
        node.keywords = [each for each in node.keywords if each.arg not in bound]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        node.func = ast.copy_location(ast.Name(function.name, ast.Load()), node.func)
        return node

    def method_call(self, node: ast.Call) -> ast.AST:
        """Return the call of something that is known when the kernel runs, such as a method of an array."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in ARRAY_METHODS:
            raise self.refuse(node, f"the array method .{name}() is not available in a kernel")
        if name in array_functions.METHODS | {"max", "min"}:
            self.check_reduction(node, f"the array method .{name}()", name, 0)
            return self.reduced(node, name, node.func.value)
        return self.generic_visit(node)

    def reduction(self, node: ast.Call, callee: Any) -> ast.AST | None:
        """Return the call of one of NumPy's reductions, or None if it is none."""
        name = getattr(callee, "__name__", "")
        of_numpy = (getattr(callee, "__module__", "") or "").startswith("numpy")
        if not of_numpy or getattr(np, name, None) is not callee:
            return None
        if name not in array_functions.FUNCTIONS | array_functions.WITH_RUNTIME:
            return None
        self.check_reduction(node, f"numpy.{name}()", name, 1)
        return self.reduced(node, name, node.args[0])

    def check_reduction(self, node: ast.Call, words: str, name: str, count: int) -> None:
        if len(node.args) != count or node.keywords:
            raise self.refuse(
                node, f"{words} takes {'an array alone' if count else 'no argument'} in a kernel"
            )
        if name in array_functions.WITH_RUNTIME and not array_functions.has_runtime():
            raise self.refuse(
                node, f"{words} makes an array in Numba's own code: {array_functions.NEEDS_RUNTIME}"
            )

    def reduced(self, node: ast.Call, name: str, array: ast.expr) -> ast.AST:
        helper = f"{PREFIX}array_{array_functions.SAME.get(name, name)}"
        call = ast.Call(ast.Name(helper, ast.Load()), [self.visit(array)], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def check_numpy(self, node: ast.Call, callee: Any) -> None:
        """Refuse the functions of NumPy that kernels do not have."""
        name = getattr(callee, "__name__", "")
        name = {"absolute": "abs"}.get(name, name)
        if isinstance(callee, np.ufunc) and name not in array_functions.UFUNCS:
            advice = f": a kernel takes math.{name}" if hasattr(math, name) else ""
            advice = ": a kernel takes abs" if name == "abs" else advice
            raise self.refuse(node, f"use of unsupported NumPy function 'numpy.{name}'{advice}")
        if isinstance(getattr(callee, "__self__", None), random.Random | np.random.RandomState):
            raise self.refuse(node, f"{name}() is a host function: in a kernel use numba.cuda.random")
        if (getattr(callee, "__module__", "") or "").startswith("numpy") and name in ARRAY_FUNCTIONS:
            raise self.refuse(
                node,
                f"use of unsupported NumPy function 'numpy.{name}': a kernel cannot allocate "
                "(cuda.local.array and cuda.shared.array make small arrays)",
            )

    def print_call(self, node: ast.Call) -> ast.AST:
        if node.keywords:
            raise self.refuse(node, "print in a kernel takes no keyword arguments")
        node.args = [self.printed(argument) for argument in node.args]
        return node

    def printed(self, node: ast.expr) -> ast.AST:
        """Return an argument of `print`: a text stays, and a thread's index is a plain tuple."""
        if position := self.position(node):
            return _expression(f"({position})", node)
        return node if isinstance(node, ast.Constant) else self.visit(node)

    def device_call(self, node: ast.Call, name: str) -> ast.AST:
        """Return the replacement of `cuda.<name>(…)`."""
        if name in ("shared.array", "local.array", "const.array_like"):
            return ast.copy_location(self.array(node, name), node)
        if name in BLOCK_SYNCS + WARP_SYNCS:
            return self.sync(node, name)
        if name == "cg.this_grid":
            self.builder.cooperative = True
            return ast.copy_location(ast.Constant(None), node)
        if name == "grid_group.sync":
            self.builder.waits_for_grid = True
            return self.sync(node, GRID_SYNC)
        if name in names.CACHE_HINTS[0] and len(node.args) == 2:  # reads past a cache: here there is none
            read = ast.Subscript(node.args[0], node.args[1], ast.Load())
            return self.visit(ast.copy_location(read, node))
        arguments = [self.visit(argument) for argument in node.args]
        if node.keywords:
            raise self.refuse(node, f"cuda.{name}() takes its arguments by position")
        if name in ("grid", "gridsize"):
            return self.grid(node, name)
        if name == "nanosleep":
            return ast.copy_location(ast.Constant(None), node)
        if name.startswith("threadfence"):  # does nothing here, but a check watches fences
            name = "fence_block" if name == "threadfence_block" else "fence"
        if name == "lanemask_lt":
            if self.builder.successor:
                raise self.refuse(
                    node, "numba_cuda_mlir does not compile cuda.lanemask_lt(): use (1 << cuda.laneid) - 1"
                )
            return _expression(f"{PREFIX}lanemask_lt({THREAD}[{LINEAR}])", node)
        if name in vectors.TYPES:
            helper = f"{PREFIX}vector_{name}"
            return ast.copy_location(ast.Call(ast.Name(helper, ast.Load()), arguments, []), node)
        helper = PREFIX + name.replace(".", "_").rstrip("_")
        call = ast.copy_location(ast.Call(ast.Name(helper, ast.Load()), arguments, []), node)
        return (
            self.in_type(call, np.int32)
            if self.builder.successor and name in successor_types.COUNTS
            else call
        )

    def in_type(self, value: ast.expr, kind: type[np.generic]) -> ast.expr:
        """Return the conversion of a value to one of NumPy's types."""
        name = self.builder.constant(kind.__name__, kind)
        return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [value], []), value)

    def grid(self, node: ast.Call, name: str) -> ast.expr:
        dimensions = self.static(node.args[0]) if len(node.args) == 1 else None
        if dimensions not in (1, 2, 3):
            raise self.refuse(node, f"cuda.{name}() takes the number of dimensions as a literal: 1, 2 or 3")
        if name == "grid":
            each = [f"({THREAD}[{3 + k}] * {THREAD}[{6 + k}] + {THREAD}[{k}])" for k in range(dimensions)]
        else:
            each = [f"({THREAD}[{6 + k}] * {THREAD}[{9 + k}])" for k in range(dimensions)]
        if self.builder.successor:
            each = [f"{self.builder.constant('int32', np.int32)}{text}" for text in each]
        return _expression(each[0] if dimensions == 1 else f"({', '.join(each)})", node)

    def sync(self, node: ast.Call, name: str) -> ast.expr:
        """Return `SYNC(name, line, mask, value, …)`: a place where threads wait for each other.

        A plain wait has no value. Of the plain waits only `syncwarp` has a mask, which only checks use.
        """
        self.waits = True
        if node.keywords:
            raise self.refuse(node, f"cuda.{name}() takes its arguments by position")
        takes = {"syncthreads": 0, "syncwarp": (0, 1), "shfl_sync": 3, "shfl_up_sync": 3, "shfl_down_sync": 3}
        takes |= {GRID_SYNC: 0, "shfl_xor_sync": 3, "activemask": 0, **dict.fromkeys(BLOCK_SYNCS[1:], 1)}
        wanted = takes.get(name, 2)
        if len(node.args) not in (wanted if isinstance(wanted, tuple) else (wanted,)):
            raise self.refuse(node, f"cuda.{name}() takes {wanted} arguments, {len(node.args)} were given")
        arguments = [self.visit(argument) for argument in node.args]
        if name in BLOCK_SYNCS[1:]:
            if isinstance(node.args[0], ast.Compare | ast.BoolOp):
                raise self.refuse(
                    node, f"cuda.{name}() takes an integer, but got a boolean: write int(condition)"
                )
            arguments = [_expression("0", node), *arguments]
        if name == "activemask":  # every lane that comes says so
            arguments = [_expression(text, node) for text in (str((1 << self.builder.warp_size) - 1), "True")]
        call = ast.Call(
            ast.Name(SYNC, ast.Load()), [ast.Constant(name), ast.Constant(node.lineno), *arguments], []
        )
        call = ast.fix_missing_locations(ast.copy_location(call, node))
        masks = ("ballot_sync", "match_any_sync")
        return self.in_type(call, np.uint32) if self.builder.successor and name in masks else call

    def static(self, node: ast.expr) -> Any:
        """Return the value of a literal or of a constant's name, or MISSING."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.BinOp):
            return _folded(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self.static(node.operand)
            return MISSING if inner is MISSING else -inner
        if isinstance(node, ast.Tuple):
            each = tuple(self.static(element) for element in node.elts)
            return MISSING if any(element is MISSING for element in each) else each
        if isinstance(node, ast.Name) and node.id in self.scope.literals:
            return self.scope.literals[node.id]
        if isinstance(node, ast.Name | ast.Attribute):
            return self.scope.resolve(node)
        return MISSING

    def dtype_of_parameter(self, node: ast.expr) -> Any:
        """Return the parameter whose dtype is the array's (`x.dtype`), or MISSING."""
        arguments = {argument.arg for argument in ast.walk(self.tree.args) if isinstance(argument, ast.arg)}
        if not (
            isinstance(node, ast.Attribute) and node.attr == "dtype" and isinstance(node.value, ast.Name)
        ):
            return MISSING
        return _Parameter(node.value.id) if self.is_kernel and node.value.id in arguments else MISSING

    def check_alignment(self, node: ast.Call, name: str, given: ast.expr) -> None:
        """Refuse an alignment that Numba refuses."""
        alignment = self.static(given)
        words = ""
        if alignment is not None and type(alignment) is not int:
            words = "must be a constant integer"
        elif alignment is not None and alignment <= 0:
            words = "must be positive"
        elif alignment is not None and alignment & (alignment - 1):
            words = "must be a power of 2"
        elif alignment is not None and alignment % 8:
            words = "must be a multiple of 8"
        if words:
            raise self.refuse(node, f"alignment={ast.unparse(given)} of cuda.{name}() {words}")

    def array(self, node: ast.Call, name: str) -> ast.expr:
        """Return the expression for a shared, local or constant array of the kernel."""
        given = dict(
            zip(("shape", "dtype") if name != "const.array_like" else ("ary",), node.args, strict=False)
        )
        given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        if name == "const.array_like":
            value = self.static(given["ary"]) if "ary" in given else MISSING
            if not isinstance(value, np.ndarray):
                raise self.refuse(
                    node, "cuda.const.array_like() takes a NumPy array that is global to the kernel"
                )
            return ast.Name(self.builder.constant("const", np.ascontiguousarray(value)), ast.Load())
        if set(given) - {"alignment"} != {"shape", "dtype"}:
            raise self.refuse(node, f"cuda.{name}() takes a shape and a dtype")
        shape, dtype = self.static(given["shape"]), self.static(given["dtype"])
        shape = shape if isinstance(shape, tuple) else (shape,)
        if not all(type(size) is int for size in shape):
            raise self.refuse(
                node,
                f"the shape of cuda.{name}() must be a literal or a constant of the module, "
                f"and {ast.unparse(given['shape'])} is not",
            )
        if any(size < 0 for size in shape):
            raise self.refuse(node, f"the shape of cuda.{name}() is {shape}: sizes cannot be negative")
        if 0 in shape and (name == "local.array" or len(shape) > 1):
            raise self.refuse(node, f"the shape of cuda.{name}() is {shape}: array length <= 0")
        if "alignment" in given:
            self.check_alignment(node, name, given["alignment"])
        dtype = self.dtype_of_parameter(given["dtype"]) if dtype is MISSING else dtype
        if any(dtype is each for each in (float, int, bool, complex, str, None, MISSING)):
            raise self.refuse(node, f"{ast.unparse(given['dtype'])} is not a dtype: use float32, int32, …")
        if not isinstance(dtype, _Parameter):
            try:
                dtype = as_dtype(dtype)
            except Exception:
                raise self.refuse(node, f"{ast.unparse(given['dtype'])} is not a dtype") from None
            if dtype.hasobject:
                raise self.refuse(node, "a kernel has no arrays of Python's objects: use float32, int32, …")
        shape = tuple(int(size) for size in shape)
        if name == "local.array":
            known = (
                f"{dtype}.dtype" if isinstance(dtype, _Parameter) else self.builder.constant("dtype", dtype)
            )
            return _expression(f"{PREFIX}local({shape!r}, {known})", node)
        dynamic = shape == (0,)
        slot = self.builder.shared_array(self.target, None if dynamic else shape, dtype, node.lineno)
        return _expression(f"{SHARED}[{slot}]", node)


def _folded(node: ast.BinOp) -> Any:
    """Return the integer result of arithmetic on literals only, or MISSING.

    In the bytecode that Numba reads, `32 + 1` is 33 and therefore a literal; `T + 1` is not.
    """
    kinds = ast.Constant | ast.BinOp | ast.UnaryOp | ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.USub
    if not all(isinstance(part, kinds) for part in ast.walk(node)):
        return MISSING
    try:
        value = eval(compile(ast.Expression(node), "<literal>", "eval"), {"__builtins__": {}})
    except (TypeError, ZeroDivisionError):
        return MISSING
    return value if type(value) is int else MISSING


def _expression(text: str, node: ast.AST) -> ast.expr:
    """Return the parsed expression with the line and column of `node`."""
    parsed = ast.parse(text, mode="eval").body
    for child in ast.walk(parsed):
        ast.copy_location(child, node)
    return parsed


class Builder:
    """Collects the parts of a program: a kernel, its device functions, shared arrays and constants."""

    def __init__(
        self, is_device_function: Callable[[Any], bool], warp_size: int = WARP_SIZE, successor: bool = False
    ) -> None:
        self.is_device_function, self.warp_size = is_device_function, warp_size
        self.successor = successor
        self.functions: dict[tuple, Function] = {}
        self.sizes: dict[Any, frozenset[str]] = {}
        self.shared: list[SharedArray] = []
        self.constants: dict[str, Any] = {}
        self.open: list[Any] = []
        self.cooperative = self.waits_for_grid = False

    @staticmethod
    def is_library(function: types.FunctionType) -> bool:
        """Return whether an ordinary function belongs to a library that Numba supports."""
        return (function.__module__ or "").split(".")[0] in (
            "math",
            "cmath",
            "operator",
            "numpy",
            "numba",
            "builtins",
        )

    def constant(self, hint: str, value: Any) -> str:
        """Return the program's name for an object; a new name for a new object."""
        for name, known in self.constants.items():
            if known is value:
                return name
        word = "".join(character if character.isalnum() else "_" for character in hint)
        name = f"{PREFIX}c{len(self.constants)}_{word}"
        self.constants[name] = value
        return name

    def shared_array(self, name: str, shape: tuple[int, ...] | None, dtype: np.dtype, line: int) -> int:
        self.shared.append(SharedArray(name, shape, dtype, line))
        return len(self.shared) - 1

    def captured(self, name: str, value: Any, line: int) -> int:
        """Return the slot of a device array of the module, behind the shared arrays that are made before it."""
        array = value._array if memory.is_device_memory(value) else memory.as_cuda_array(value)._array
        for slot, each in enumerate(self.shared):
            known = each.captured
            if known is not None and known.__array_interface__ == array.__array_interface__:
                return slot
        self.shared.append(SharedArray(name, array.shape, array.dtype, line, array))
        return len(self.shared) - 1

    def literal_parameters(self, original: Callable) -> frozenset[str]:
        """Return the parameters of a device function that stand in shapes of arrays, there or in what it calls."""
        if original not in self.sizes:
            self.sizes[original] = frozenset()  # for a function that calls itself
            tree, _ = source_tree(original)
            scope, found = Scope(original, tree), set()
            for node in ast.walk(tree):
                if not isinstance(node, ast.Call):
                    continue
                callee = scope.resolve(node.func)
                if isinstance(callee, names.DeviceName) and callee.name in ("shared.array", "local.array"):
                    found |= {
                        each.id
                        for part in [*node.args[:1], *(k.value for k in node.keywords if k.arg == "shape")]
                        for each in ast.walk(part)
                        if isinstance(each, ast.Name)
                    }
                elif callee is not MISSING and self.is_device_function(callee):
                    inner = getattr(callee, "py_func", callee)
                    given = dict(zip(parameters_of(inner), node.args, strict=False))
                    given |= {k.arg: k.value for k in node.keywords if k.arg}
                    sizes = self.literal_parameters(inner)
                    found |= {
                        each.id
                        for name, each in given.items()
                        if name in sizes and isinstance(each, ast.Name)
                    }
            changed = {
                each.id
                for each in ast.walk(tree)
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            }
            self.sizes[original] = frozenset((found & set(parameters_of(original))) - changed)
        return self.sizes[original]

    def device_function(self, callee: Any, bound: dict[str, Any] | None = None) -> Function:
        """Return the rewritten form of a device function, rewritten on first use.

        `bound` has the objects that stand for some of its parameters, which the rewritten form does not have.
        """
        original = getattr(callee, "py_func", callee)
        bound = bound or {}
        # A literal is known by its value, any other object by itself.
        key = (
            id(original),
            frozenset(
                (name, value if isinstance(value, int | tuple) else id(value))
                for name, value in bound.items()
            ),
        )
        if key not in self.functions:
            word = "".join(letter if letter.isalnum() else "_" for letter in original.__name__)
            name = f"{PREFIX}f{len(self.functions)}_{word}"
            # A function that calls itself finds this, whose parts are filled in below.
            function = self.functions[key] = Function(
                name, original, ast.parse("def f(): pass").body[0], [], ""
            )
            made = self.rewrite(original, is_kernel=False, bound=bound)
            vars(function).update(vars(made) | {"recursive": function.recursive, "name": name})
            if declared := declarations.of(callee):
                as_declared(function, declared)
            function.tree.name = name
            if function.recursive:
                with_depth(function)
            if function.recursive and function.waits:
                raise refusal(f"{original.__name__}() calls itself and waits for other threads: write a loop")
        elif original in self.open:
            if original is not self.open[-1]:
                raise refusal(
                    f"{original.__name__}() calls itself through another function: Numba takes only direct calls"
                )
            self.functions[key].recursive = True
        return self.functions[key]

    def rewrite(self, original: Callable, is_kernel: bool, bound: dict[str, Any] | None = None) -> Function:
        tree, filename = source_tree(original)
        bound = bound or {}
        self.open.append(original)
        rewriter = Rewriter(self, original, tree, is_kernel, bound)
        tree = rewriter.run()
        self.open.pop()
        arguments = tree.args
        if arguments.kwarg or arguments.kwonlyargs or (arguments.vararg and is_kernel):
            place = where(original, tree.lineno)
            raise refusal(f"{original.__name__}(), {place}: a kernel takes plain arguments, without * and **")
        every = [*arguments.posonlyargs, *arguments.args]
        defaults = () if is_kernel else original.__defaults__ or ()
        with_default = dict(zip(reversed([each.arg for each in every]), reversed(defaults), strict=False))
        nodes = dict(zip(reversed([each.arg for each in every]), reversed(arguments.defaults), strict=False))
        kept = [each for each in every if each.arg not in bound]
        hidden = [ast.arg(name) for name in (THREAD, SHARED, STOP)]
        arguments.args, arguments.posonlyargs = [*hidden, *kept], []
        arguments.defaults = [
            rewriter.frozen(nodes[each.arg], with_default[each.arg])
            for each in kept
            if each.arg in with_default
        ]
        ast.fix_missing_locations(tree)
        star = arguments.vararg.arg if arguments.vararg else ""
        parameters = [each.arg for each in kept]
        return Function(original.__name__, original, tree, parameters, filename, rewriter.waits, star)


def parameters_of(function: Callable) -> tuple[str, ...]:
    """Return the names of a function's parameters, without a starred one."""
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def with_depth(function: Function) -> None:
    """Let a function that calls itself count how deep it is, so that a recursion without end is an error, and no crash.

    Raises
    ------
    TypeError
        If it calls itself whatever its arguments are; Numba's TypingError where Numba is installed.
    """
    tree, name = function.tree, function.name
    if _always_calls(tree.body, name):
        first = next(each for each in ast.walk(tree) if isinstance(each, ast.Name) and each.id == name)
        place = where(function.original, first.lineno)
        raise refusal(
            f"{function.original.__name__}(), {place}: cannot type infer runaway recursion: it always calls itself"
        )
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Return)
            and isinstance(node.value, ast.Tuple)
            and _calls(node.value.elts, name)
        ):
            raise refusal(
                f"{function.original.__name__}(), {where(function.original, node.lineno)}: Return type of recursive "
                "function does not converge: each call puts the tuple of the next one into its own"
            )
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            node.keywords.append(ast.keyword(DEPTH, _expression(f"{DEPTH} + 1", node)))
    words = f"more than {MOST_CALLS} calls within each other; a thread's stack on a GPU holds far fewer"
    guard = ast.parse(f"if {DEPTH} > {MOST_CALLS}:\n    raise RecursionError({words!r})").body[0]
    for node in ast.walk(guard):
        ast.copy_location(node, tree.body[0])
    tree.body.insert(0, guard)
    tree.args.args.append(ast.arg(DEPTH))
    tree.args.defaults.append(ast.Constant(0))
    ast.fix_missing_locations(tree)


def _calls(parts: list[ast.expr], name: str) -> bool:
    """Return whether one of these parts of a tuple, or of a tuple within it, is a call of the function itself."""
    return any(
        _calls(each.elts, name)
        if isinstance(each, ast.Tuple)
        else isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == name
        for each in parts
    )


def _always_calls(body: list[ast.stmt], name: str) -> bool:
    """Return whether every way through these statements calls a function."""

    def calls(node: ast.AST) -> bool:
        return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))

    for statement in body:
        if isinstance(statement, ast.If):
            parts = statement.body, statement.orelse
            if calls(statement.test) or all(_always_calls(part, name) for part in parts):
                return True
            leaves = [
                any(isinstance(each, ast.Return) for each in ast.walk(node))
                for part in parts
                for node in part
            ]
            if any(leaves):
                return False
        elif isinstance(statement, ast.For | ast.While):
            if calls(statement.iter if isinstance(statement, ast.For) else statement.test):
                return True
            if any(isinstance(each, ast.Return) for each in ast.walk(statement)):
                return False
        elif calls(statement):
            # `a and f(x)` and `f(x) if a else b` need not call it.
            return not any(isinstance(each, ast.IfExp | ast.BoolOp) for each in ast.walk(statement))
        elif isinstance(statement, ast.Return):
            return False
    return False


class _Returns(ast.NodeTransformer):
    """Converts what a device function returns to the result type of its signature."""

    def __init__(self, declared: str) -> None:
        self.declared = declared

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node  # a function within the function returns to it

    visit_Lambda = visit_FunctionDef

    def visit_Return(self, node: ast.Return) -> ast.AST:
        arguments = [
            node.value or ast.Constant(None),
            ast.Name(GIVEN, ast.Load()),
            ast.Constant(self.declared),
        ]
        node.value = ast.Call(ast.Name(PREFIX + "result_as_declared", ast.Load()), arguments, [])
        return node


def as_declared(function: Function, declared: str) -> None:
    """Let a device function convert its arguments and its result to the types of its signature.

    Parameters
    ----------
    function
        The rewritten function, which is changed.
    declared
        Its signatures, as `declarations.of` names them.
    """
    tree = function.tree
    given = ast.Tuple([ast.Name(name, ast.Load()) for name in function.parameters], ast.Load())
    entry: list[ast.stmt] = [ast.Assign([ast.Name(GIVEN, ast.Store())], given)]
    for number, name in enumerate(function.parameters):
        arguments = [ast.Name(GIVEN, ast.Load()), ast.Constant(declared), ast.Constant(number)]
        taken = ast.Call(ast.Name(PREFIX + "as_declared", ast.Load()), arguments, [])
        entry.append(ast.Assign([ast.Name(name, ast.Store())], taken))
    if declarations.has_result(declared):
        if not isinstance(tree.body[-1], ast.Return):
            tree.body.append(ast.copy_location(ast.Return(None), tree.body[-1]))
        tree.body = [_Returns(declared).visit(statement) for statement in tree.body]
    for statement in entry:
        ast.copy_location(statement, tree)
    tree.body = [*entry, *tree.body]
    ast.fix_missing_locations(tree)


def program(
    function: Callable,
    is_device_function: Callable[[Any], bool],
    warp_size: int = WARP_SIZE,
    successor: bool = False,
) -> Program:
    """Rewrite a kernel and the device functions that it calls.

    Parameters
    ----------
    function
        The learner's function.
    is_device_function
        Returns whether an object that the kernel calls is a device function.
    warp_size
        The value of `cuda.warpsize`.
    successor
        Whether it is a kernel of `numba_cuda_mlir`, some of whose results have other types.

    Raises
    ------
    OSError
        If the source is not available.
    NameError
        If the kernel uses a name that is not defined; Numba's TypingError where Numba is installed.
    TypeError
        If the kernel uses something that kernels cannot use; Numba's TypingError where Numba is installed.
    """
    builder = Builder(is_device_function, warp_size, successor)
    kernel = builder.rewrite(function, is_kernel=True)
    functions = {each.name: each for each in builder.functions.values()}
    return Program(
        kernel,
        functions,
        builder.shared,
        builder.constants,
        cooperative=builder.cooperative,
        waits_for_grid=builder.waits_for_grid,
        successor=successor,
    )


def syncs(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of `SYNC` below this node."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == SYNC:
            yield node


# Modules whose functions a kernel may use, for the namespace in which rewritten code runs.
MODULES = {"math": math, "operator": operator, "np": np}
