"""Translate a kernel that was written for Numba into WGSL, for a launch of known sizes.

The translator gives each expression Numba's type, by the rules of `numbas_types`, and each integer the interval that its
values lie in. WGSL has neither int64 nor float64. So an int64 becomes an `i32` where its interval fits, or where only its
lowest 32 bits are used (a sum that goes into an int32 array). Every other value of 64 bits is refused, with its line, and so
is everything else that a shader cannot do in the same way.

Plain accesses stay plain accesses: a kernel that races in CUDA races in WGSL. An array that the kernel passes to
`cuda.atomic` has to be one of atomics in WGSL; its other accesses become single loads and stores, and `Shader.notes` says so.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from book.webgpu import wgsl
from book.webgpu.intervals import EVERY, INT32, MOST, Interval
from book.webgpu.scopes import Scopes
from host_to_device.standins.numba_cuda.numbas_types import Number, sum_of

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


Environment = dict[str, Any]  # Variables and Memories, by Python's names


def translate(
    kernel: Any,
    arguments: Mapping[str, Array | Scalar],
    *,
    grid: Range | tuple[Range, ...],
    block: int | tuple[int, ...],
) -> Shader:
    """Return a kernel as a WGSL shader.

    Parameters
    ----------
    kernel
        A kernel of `numba.cuda` or of the stand-in, or the Python function itself.
    arguments
        The dtype and the sizes of each parameter, by name.
    grid
        Blocks of the launch along x, or along each axis; two numbers in a tuple of their own are the smallest and the largest.
    block
        Threads of a block along x, or along each axis.

    Raises
    ------
    Untranslatable
        If WGSL cannot do the same.
    """
    function = getattr(kernel, "py_func", kernel)
    grids = grid if isinstance(grid, tuple) else (grid,)
    blocks = block if isinstance(block, tuple) else (block,)
    module = _Module(function, dict(arguments), [_interval(each) for each in grids], list(blocks))
    return module.shader()


def _interval(of: Range) -> Interval:
    return Interval(*of) if isinstance(of, tuple) else Interval(of, of)


class _Module:
    """One shader: the arrays, helper functions and device functions that its kernel uses."""

    def __init__(
        self, function: Callable, arguments: dict[str, Array | Scalar], grid: list[Interval], block: list[int]
    ) -> None:
        self.function, self.arguments = function, arguments
        self.grid = [*grid, *[Interval(1, 1)] * (3 - len(grid))]
        self.block = [*block, *[1] * (3 - len(block))]
        self.memories: dict[str, Memory] = {}
        self.scalars: dict[str, Scalar] = {}
        for name, argument in arguments.items():
            if isinstance(argument, Array):
                self.memories[name] = self.global_array(name, argument)
            else:
                self.scalars[name] = argument

    def global_array(self, name: str, argument: Array) -> Memory:
        fields = (
            [name + "_size"]
            if len(argument.shape) == 1
            else [f"{name}_shape_{axis}" for axis in range(len(argument.shape))]
        )
        dimensions = [
            (f"given.{one}", _interval(length)) for one, length in zip(fields, argument.shape, strict=True)
        ]
        return Memory(wgsl.named(name), DTYPES.get(argument.dtype, ""), dimensions, "storage")

    def begin(self) -> None:
        self.helpers: dict[str, str] = {}
        self.functions: dict[tuple, tuple[str, Value]] = {}
        self.texts: list[str] = []
        self.used: set[str] = set()
        self.notes: list[str] = []
        self.shared: list[Memory] = []

    def shader(self) -> Shader:
        """Translate the kernel, again as long as it shows that more arrays are stored to or atomic."""
        shared: dict[tuple[str, int, int], Memory] = {}
        while True:
            before = self.flags(shared)
            self.begin()
            self.by_line = shared
            kernel = _Body(self, self.function, None)
            lines = kernel.kernel_lines()
            if self.flags(shared) == before:
                return self.assemble(kernel, lines)

    def flags(self, shared: dict[tuple[str, int, int], Memory]) -> list[tuple[bool, bool, bool]]:
        return [
            (each.stored, each.loaded, each.atomic) for each in (*self.memories.values(), *shared.values())
        ]

    def assemble(self, kernel: _Body, lines: list[str]) -> Shader:
        for each in (*self.memories.values(), *self.shared):
            if each.atomic and (each.loaded or each.stored):
                self.note(
                    f"{each.name} is used with cuda.atomic, so WGSL makes it an array of atomics: its other loads and "
                    "stores are single atomic loads and stores, too. A sum of such a load and such a store is not atomic."
                )
        parts: list[str] = []
        given: list[tuple[str, str, str]] = []
        arrays = list(self.memories.items())
        for name, memory in arrays:
            for axis, (text, _) in enumerate(memory.dimensions):
                if text in self.used:
                    given.append((f"{name}.shape[{axis}]", "i32", text.removeprefix("given.")))
        for name, scalar in self.scalars.items():
            if name in self.used:
                given.append((name, WGSL_TYPES[DTYPES[scalar.dtype]], wgsl.named(name)))
        if given:
            fields = "".join(f"  {field}: {kind},\n" for _, kind, field in given)
            parts.append(f"struct Given {{\n{fields}}}")
        bindings = []
        for number, (_, memory) in enumerate(arrays):
            access = "read_write" if memory.stored or memory.atomic else "read"
            bindings.append(
                f"@group(0) @binding({number}) var<storage, {access}> {memory.name}: {memory.declared};"
            )
        if given:
            bindings.append(f"@group(0) @binding({len(arrays)}) var<uniform> given: Given;")
        parts.append("\n".join(bindings))
        if self.shared:
            parts.append("\n".join(f"var<workgroup> {each.name}: {each.declared};" for each in self.shared))
        parts += self.helpers.values()
        parts += self.texts
        builtins = {"block": "workgroup_id", "thread": "local_invocation_id", "grid": "num_workgroups"}
        taken = [
            f"  @builtin({builtin}) {name}: vec3<u32>,\n"
            for name, builtin in builtins.items()
            if name in self.used
        ]
        x, y, z = self.block
        size = f"{x}, {y}, {z}" if z > 1 else f"{x}, {y}" if y > 1 else f"{x}"
        head = (
            f"@compute @workgroup_size({size})\nfn main(" + ("\n" + "".join(taken) if taken else "") + ") {"
        )
        parts.append("\n".join([head, *lines, "}"]))
        return Shader(
            kernel.name,
            "\n\n".join(parts) + "\n",
            tuple((name, memory.stored or memory.atomic) for name, memory in arrays),
            tuple((name, kind) for name, kind, _ in given),
            (x, y, z),
            tuple(dict.fromkeys(self.notes)),
        )

    def helper(self, name: str) -> str:
        if name == "floor_mod":
            self.helper("floor_div")
        self.helpers.setdefault(name, wgsl.HELPERS[name])
        return name

    def atomic_float(self, memory: Memory, operation: str) -> str:
        """Return the name of the function that adds to (or takes the maximum with) an element of a float32 array."""
        name = f"{operation}_to_{memory.name}"
        count = 1 if memory.space == "storage" else len(memory.dimensions)
        indices = ["i", "j", "k", "l"][:count]
        self.helpers.setdefault(
            name,
            wgsl.ATOMIC_FLOAT.format(
                name=name,
                parameters="".join(f"{index}: i32, " for index in indices),
                place=memory.name + "".join(f"[{index}]" for index in indices),
                operation=wgsl.FLOAT_OPERATION[operation],
            ),
        )
        self.note("WGSL has no atomics for float32, so a loop of compare-and-exchange adds to the array.")
        return name

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)


class _Body:
    """Translates one function: the kernel, or a device function for the types of one call."""

    def __init__(self, module: _Module, function: Callable, given: list[Any] | None) -> None:
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

    # --- The function -----------------------------------------------------------------------------------------

    def kernel_lines(self) -> list[str]:
        missing = [name for name in self.parameters if name not in self.module.arguments]
        if missing:
            raise ValueError(f"{self.name}: say the dtype and the sizes of {', '.join(missing)}")
        environment: Environment = {}
        for name in self.parameters:
            argument = self.module.arguments[name]
            if argument.dtype not in DTYPES:
                raise self.refuse(
                    self.tree, f"{name} is {argument.dtype}: WGSL has float32 and int32. Convert it first"
                )
            if isinstance(argument, Array):
                environment[name] = self.module.memories[name]
            else:
                environment[name] = Variable(DTYPES[argument.dtype], _interval(argument.values))
        self.block(self.tree.body, environment)
        return [*self.declarations(), *self.lines]

    def device_function(self, name: str) -> tuple[str, Value]:
        """Return the text of a device function, and its result without a text."""
        environment: Environment = dict(zip(self.parameters, self.given or [], strict=True))
        first = self.block(self.tree.body, dict(environment))
        kinds = {value.kind for value in self.returned}
        if first is not None or not kinds:
            raise self.refuse(self.tree, "every path through a device function has to return a value")
        if len({WGSL_TYPES.get(kind, kind) for kind in kinds}) > 1:
            words = " and ".join(sorted(WORDS[kind] for kind in kinds))
            raise self.refuse(self.tree, f"it returns {words}: give both results one type")
        range_ = self.returned[0].range
        for value in self.returned:
            range_ = range_.join(value.range)
        self.result = "i8" if "i8" in kinds else self.returned[0].kind
        if self.result == "f8":
            raise self.refuse(self.tree, "it returns a float64, which WGSL does not have")
        self.lines, self.returned = [], []
        self.block(self.tree.body, environment)
        parameters = []
        for parameter in self.parameters:
            value = environment[parameter]
            if isinstance(value, Variable):
                parameters.append(f"{wgsl.named(parameter)}_in: {WGSL_TYPES[value.kind]}")
                self.lines.insert(0, f"  var {wgsl.named(parameter)} = {wgsl.named(parameter)}_in;")
        head = f"fn {name}({', '.join(parameters)}) -> {WGSL_TYPES[self.result]} {{"
        return "\n".join([head, *self.declarations(), *self.lines, "}"]), Value(
            "", self.result, range_, False
        )

    def declarations(self) -> list[str]:
        found = []
        for name, (kind, _) in self.types.items():
            if self.scopes.where(name) == "top" and name not in self.parameters:
                found.append(f"  var {wgsl.named(name)}: {kind};")
        return found

    # --- Statements -------------------------------------------------------------------------------------------

    def emit(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def apart_now(self) -> tuple[int, str] | None:
        """Return the condition that may have parted the threads of a block at this place."""
        return self.apart[-1] if self.apart else self.escaped or self.left

    def block(self, body: Sequence[ast.stmt], environment: Environment | None) -> Environment | None:
        for statement in body:
            if environment is None:
                break  # behind a return, a break or a continue
            handler = getattr(self, f"on_{type(statement).__name__}", None)
            if handler is None:
                words = type(statement).__name__.lower()
                raise self.refuse(statement, f"the translator does not know the statement {words}")
            environment = handler(statement, environment)
        return environment

    def on_Pass(self, node: ast.Pass, environment: Environment) -> Environment:
        return environment

    def on_Expr(self, node: ast.Expr, environment: Environment) -> Environment:
        if isinstance(node.value, ast.Constant):
            return environment  # a docstring
        if not isinstance(node.value, ast.Call):
            raise self.refuse(node, "the line has no effect")
        called = self.dotted(node.value.func)
        if called == "cuda.syncthreads":
            return self.barrier(node, environment)
        if called.startswith("cuda.atomic."):
            self.emit(f"{self.atomic(node.value, environment, called)[0]};")
            return environment
        raise self.refuse(node, f"the translator does not know {ast.unparse(node.value.func)}()")

    def barrier(self, node: ast.AST, environment: Environment) -> Environment:
        if not self.is_kernel:
            raise self.refuse(
                node, "a barrier in a device function cannot be translated: write it in the kernel"
            )
        if parted := self.apart_now():
            line, condition = parted
            raise self.refuse(
                node,
                f"not every thread of a block surely reaches this barrier, because of `{condition}` in line {line}. "
                "A browser refuses such a shader: move the barrier out of the branch",
            )
        self.emit("workgroupBarrier();")
        if any(each.stored and each.loaded for each in self.module.memories.values()):
            self.emit("storageBarrier();")
        return environment

    def on_Assign(self, node: ast.Assign, environment: Environment) -> Environment:
        if len(node.targets) > 1:
            raise self.refuse(node, "write one assignment a line")
        target = node.targets[0]
        if isinstance(node.value, ast.Call):
            called = self.dotted(node.value.func)
            if called in ("cuda.shared.array", "cuda.local.array"):
                return self.make_array(node, target, called, environment)
            if called.startswith("cuda.atomic."):
                text, element = self.atomic(node.value, environment, called)
                range_ = INT32 if element == "i4" else EVERY
                return self.store(node, target, Value(text, element, range_, False), environment)
        if isinstance(target, ast.Tuple):
            return self.several(node, target, environment)
        if isinstance(node.value, ast.IfExp):
            return self.chosen(node, target, node.value, environment)
        return self.store(node, target, self.value(node.value, environment), environment)

    def chosen(
        self, node: ast.Assign, target: ast.expr, value: ast.IfExp, environment: Environment
    ) -> Environment:
        """Translate `target = a if condition else b` as an if, so that only one of the two is read."""
        name = target.id if isinstance(target, ast.Name) else ""
        keyword = self.scopes.declares(name, node) if name else ""
        if not keyword:
            return self.branches(
                value.test,
                [ast.copy_location(ast.Assign([target], value.body), node)],
                [ast.copy_location(ast.Assign([target], value.orelse), node)],
                environment,
                node,
            )
        return self.store(node, target, self.value(value, environment), environment)

    def several(self, node: ast.Assign, target: ast.Tuple, environment: Environment) -> Environment:
        values = self.parts(node.value, environment)
        if len(values) != len(target.elts):
            raise self.refuse(node, f"{len(values)} values for {len(target.elts)} names")
        names = [each.id for each in target.elts if isinstance(each, ast.Name)]
        later = {
            each.id
            for each in ast.walk(node.value)
            if isinstance(each, ast.Name) and isinstance(environment.get(each.id), Variable)
        }
        if set(names) & later or any(isinstance(each, ast.Subscript) for each in target.elts):
            # A value may need what an earlier target overwrites.
            kept = []
            for value in values:
                if value.constant is not None:
                    kept.append(value)
                    continue
                held = f"held_{next(self.temporary)}"
                self.emit(f"let {held} = {value.text};")
                kept.append(replace(value, text=held, level=ATOM))
            values = kept
        for each, value in zip(target.elts, values, strict=True):
            environment = self.store(node, each, value, environment)
        return environment

    def parts(self, node: ast.expr, environment: Environment) -> list[Value]:
        """Return the values of a tuple: one that is written out, a shape, or what cuda.grid(2) returns."""
        if isinstance(node, ast.Tuple):
            return [self.value(each, environment) for each in node.elts]
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            memory = self.memory(node.value, environment)
            return [self.length(memory, axis) for axis in range(len(memory.dimensions))]
        if isinstance(node, ast.Call) and self.dotted(node.func) in ("cuda.grid", "cuda.gridsize"):
            return [
                self.position(node, self.dotted(node.func), axis) for axis in range(self.dimensions_of(node))
            ]
        raise self.refuse(node, "the translator cannot take this apart into several values")

    def store(self, node: ast.stmt, target: ast.expr, value: Value, environment: Environment) -> Environment:
        if isinstance(target, ast.Subscript):
            memory = self.memory(target.value, environment)
            place = self.place(target, memory, environment)
            memory.stored = True
            text = self.converted(node, value, memory.element)
            if memory.atomic:
                bits = text if memory.element == "i4" else f"bitcast<u32>({text})"
                self.emit(f"atomicStore(&{place}, {bits});")
            else:
                self.emit(f"{place} = {text};")
            return environment
        if not isinstance(target, ast.Name):
            raise self.refuse(node, "the translator cannot store there")
        name = target.id
        if self.is_kernel and name in self.module.scalars:
            raise self.refuse(node, f"{name} is an argument: give the new value another name")
        if isinstance(environment.get(name), Memory):
            raise self.refuse(node, f"{name} is an array: give the new value another name")
        kind, fit = value.kind, value.fit
        if kind == "f8" and fit != "exact":
            raise self.float64(node, name)
        wanted = "f32" if kind == "f8" else WGSL_TYPES[kind]
        known, line = self.types.setdefault(name, (wanted, getattr(node, "lineno", 0)))
        if known != wanted:
            raise self.refuse(
                node,
                f"{name} has another type in line {line}: WGSL gives a variable one. Use float32(…) in both",
            )
        text = value.text
        keyword = "" if name in self.parameters else self.scopes.declares(name, node)
        if keyword:
            typed = f": {wanted}" if value.constant is not None else ""
            self.emit(f"{keyword} {wgsl.named(name)}{typed} = {text};")
        else:
            self.emit(f"{wgsl.named(name)} = {text};")
        uniform = value.uniform and self.apart_now() is None
        return {**environment, name: Variable(kind, value.range, uniform, fit)}

    def float64(self, node: ast.AST, name: str) -> Untranslatable:
        return self.refuse(
            node,
            f"{name} is a float64 in Numba, which WGSL does not have. Begin with float32(…), and convert every "
            "constant and integer beside a float32",
        )

    def make_array(
        self, node: ast.Assign, target: ast.expr, called: str, environment: Environment
    ) -> Environment:
        assert isinstance(node.value, ast.Call)
        if not isinstance(target, ast.Name):
            raise self.refuse(node, "give the array a name")
        names = dict(zip(("shape", "dtype"), node.value.args, strict=False))
        names |= {each.arg: each.value for each in node.value.keywords if each.arg}
        shape = self.constant(names.get("shape"), node, "the shape of the array")
        shape = shape if isinstance(shape, tuple) else (shape,)
        if not all(isinstance(each, int) and each > 0 for each in shape):
            raise self.refuse(node, "the shape of the array has to be known when the kernel is compiled")
        element = DTYPES.get(self.dtype_named(names.get("dtype")), "")
        if not element:
            raise self.refuse(node, "the translator knows arrays of float32 and int32")
        space = "workgroup" if called == "cuda.shared.array" else "function"
        sizes = [(str(each), Interval(each, each)) for each in shape]
        memory = self.module.by_line.setdefault(
            (self.name, node.lineno, node.col_offset), Memory(wgsl.named(target.id), element, sizes, space)
        )
        if space == "workgroup":
            self.module.shared = [each for each in self.module.shared if each is not memory] + [memory]
        else:
            self.emit(f"var {memory.name}: {memory.declared};")
        return {**environment, target.id: memory}

    def on_AugAssign(self, node: ast.AugAssign, environment: Environment) -> Environment:
        operand = self.value(node.value, environment)
        if isinstance(node.target, ast.Name) and isinstance(node.op, ast.Add | ast.Sub) and operand.whole:
            changed = operand.range if isinstance(node.op, ast.Add) else -operand.range
            self.steps[id(node)] = node.target.id, changed, tuple(self.trips)
        current = self.value(_loaded(node.target), environment)
        result = self.arithmetic(node, node.op, current, operand)
        environment = self.store(node, node.target, result, environment)
        symbol = _COMPOUND.get(type(node.op), "")
        if (
            (symbol == "/" and result.whole)
            or current.whole != result.whole
            or "atomicStore" in self.lines[-1]
        ):
            symbol = ""
        right = operand if result.whole else self.thin(operand)
        if symbol and right is not None:  # one line of Numba, one line of WGSL; it finds the place once
            place = self.lines[-1].split(" = ", 1)[0]
            self.lines[-1] = f"{place} {symbol}= {right.text};"
        return environment

    def on_If(self, node: ast.If, environment: Environment) -> Environment | None:
        return self.branches(node.test, node.body, node.orelse, environment, node)

    def branches(
        self,
        test: ast.expr,
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        environment: Environment,
        node: ast.stmt,
    ) -> Environment | None:
        condition = self.truth(test, environment)
        if condition.constant is not None:  # known when the kernel is compiled
            return self.block(body if condition.constant else orelse, environment)
        parts = not condition.uniform
        here = (node.lineno, ast.unparse(test))
        if parts:
            self.apart.append(here)
        self.emit(f"if ({condition.text}) {{")
        self.depth += 1
        after = self.block(body, self.refined(test, environment, True))
        self.depth -= 1
        other: Environment | None = self.refined(test, environment, False)
        if orelse:
            self.emit("} else {")
            self.depth += 1
            other = self.block(orelse, other)
            self.depth -= 1
        self.emit("}")
        if parts:
            self.apart.pop()
            ways = _ways_out([*body, *orelse])
            if "return" in ways:
                self.left = self.left or here
            if ways & {"break", "continue"}:
                self.escaped = self.escaped or here
        return _join(after, other)

    def on_Return(self, node: ast.Return, environment: Environment) -> None:
        if self.is_kernel:
            if node.value is not None and not (
                isinstance(node.value, ast.Constant) and node.value.value is None
            ):
                raise self.refuse(node, "a kernel returns nothing")
            self.emit("return;")
            return
        if node.value is None:
            raise self.refuse(node, "a device function has to return a value")
        value = self.value(node.value, environment)
        if value.kind == "f8" and value.fit == "exact":
            value = replace(value, kind="f4")
        self.returned.append(value)
        self.emit(f"return {value.text};")

    def on_Break(self, node: ast.Break, environment: Environment) -> None:
        self.breaks.append(environment)
        self.emit("break;")

    def on_Continue(self, node: ast.Continue, environment: Environment) -> None:
        self.continues.append(environment)
        self.emit("continue;")

    def on_While(self, node: ast.While, environment: Environment) -> Environment | None:
        if node.orelse:
            raise self.refuse(node, "else after a loop cannot be translated")

        def head(state: Environment) -> tuple[list[str], bool]:
            lines, self.lines = self.lines, []
            condition = self.truth(node.test, state)
            before, self.lines = self.lines, lines
            if not before:
                return [f"while ({condition.text}) {{"], condition.uniform
            inner = "  " * (self.depth + 1)
            moved = [inner + line.strip() for line in before]
            return [
                "loop {",
                *moved,
                f"{inner}if (!{condition.inside(UNARY)}) {{ break; }}",
            ], condition.uniform

        return self.loop(
            node, environment, head, lambda state, inside: self.refined(node.test, state, inside), None
        )

    def on_For(self, node: ast.For, environment: Environment) -> Environment | None:
        if node.orelse:
            raise self.refuse(node, "else after a loop cannot be translated")
        if isinstance(node.iter, ast.Tuple | ast.List):
            return self.unrolled(node, environment)
        if not (isinstance(node.iter, ast.Call) and self.dotted(node.iter.func) == "range"):
            raise self.refuse(node, "the translator knows loops over range(…) and over a tuple of constants")
        if not isinstance(node.target, ast.Name):
            raise self.refuse(node, "a loop counts with one name")
        bounds = [self.index_value(each, environment) for each in node.iter.args]
        start, stop, step = {
            1: lambda a: (Value("0", "i8", Interval(0, 0), constant=0), a, None),
            2: lambda a, b: (a, b, None),
            3: lambda a, b, c: (a, b, c),
        }[len(bounds)](*bounds)
        step = step or Value("1", "i8", Interval(1, 1), constant=1)
        if step.range.low <= 0 <= step.range.high:
            self.prove(node, "the step of the range has to be surely positive or surely negative")
        up = step.range.low > 0
        furthest = stop.range.high - 1 + step.range.high if up else stop.range.low + 1 + step.range.low
        if not Interval(furthest, furthest).fits:
            self.prove(node, "the counter of the loop may leave 32 bits: make the range or its step smaller")
        name = node.target.id
        stores = [each for each in self.scopes.seen[name] if each.store and id(node.body) in each.path]
        plain = self.scopes.where(name) == "loop" and len(stores) == 1
        counter = wgsl.named(name) if plain else f"{wgsl.named(name)}_{next(self.temporary)}"
        changed = self.scopes.stored_in(node.body) - {name}
        stop_text = stop.inside(COMPARE + 1)
        if {each.id for each in ast.walk(node.iter) if isinstance(each, ast.Name)} & (changed | {name}):
            self.emit(f"let end_{counter} = {stop.text};")
            stop_text = f"end_{counter}"
            if step.constant is None:
                self.emit(f"let step_{counter} = {step.text};")
                step = replace(step, text=f"step_{counter}")
        if up:
            range_ = Interval(start.range.low, max(stop.range.high - 1, start.range.low))
            trips = max(0, -(-(stop.range.high - start.range.low) // max(step.range.low, 1)))
        else:
            range_ = Interval(min(stop.range.low + 1, start.range.high), start.range.high)
            trips = max(0, -(-(start.range.high - stop.range.low) // max(-step.range.high, 1)))
        more = f"{counter}++" if step.constant == 1 else f"{counter} += {step.text}"
        opening = f"for (var {counter} = {start.text}; {counter} {'<' if up else '>'} {stop_text}; {more}) {{"
        uniform = start.uniform and stop.uniform and step.uniform
        if start.constant is not None:
            opening = opening.replace(f"var {counter} = ", f"var {counter}: i32 = ", 1)
        self.types.setdefault(name, ("i32", node.lineno))
        lines = [opening] if plain else [opening, f"{'  ' * (self.depth + 1)}{wgsl.named(name)} = {counter};"]

        def head(state: Environment) -> tuple[list[str], bool]:
            return lines, uniform

        def refined(state: Environment, inside: bool) -> Environment:
            if not inside:
                return state
            return {**state, name: Variable("i8", range_, uniform)}

        if self.types[name][0] != "i32":
            raise self.refuse(node, f"{name} has another type in line {self.types[name][1]}")
        after = self.loop(node, environment, head, refined, trips)
        if after is not None and not plain:
            after[name] = Variable(
                "i8", range_.join(environment[name].range) if name in environment else range_, False
            )
        return after

    def unrolled(self, node: ast.For, environment: Environment) -> Environment | None:
        """Translate a loop over constants, once for each."""
        assert isinstance(node.iter, ast.Tuple | ast.List)
        if _ways_out(node.body) & {"break", "continue"}:
            raise self.refuse(node, "break and continue in a loop over a tuple cannot be translated")
        after: Environment | None = environment
        for each in node.iter.elts:
            if after is None:
                break
            self.emit("{")
            self.depth += 1
            after = self.counted(node, each, after)
            after = self.block(node.body, after)
            self.depth -= 1
            self.emit("}")
        return after

    def counted(self, node: ast.For, constant: ast.expr, environment: Environment) -> Environment:
        """Give the counter of a loop over constants its next value."""
        value = self.value(constant, environment)
        if value.constant is None or not isinstance(node.target, ast.Name):
            raise self.refuse(node, "the translator knows loops over range(…) and over a tuple of constants")
        if self.scopes.where(node.target.id) == "loop":
            kind = "f32" if value.kind in ("f4", "f8") else WGSL_TYPES[value.kind]
            self.emit(f"let {wgsl.named(node.target.id)}: {kind} = {value.text};")
            return {**environment, node.target.id: Variable(value.kind, value.range, True, value.fit)}
        return self.store(node, node.target, value, environment)

    def loop(
        self,
        node: ast.For | ast.While,
        entry: Environment,
        head: Callable[[Environment], tuple[list[str], bool]],
        refined: Callable[[Environment, bool], Environment],
        trips: int | None,
    ) -> Environment | None:
        """Translate a loop: find what holds at its head in every round, then write its body."""
        outer = self.breaks, self.continues, self.escaped, self.lines
        self.trips.append(trips)
        state, parted = dict(entry), False
        bounded = self.bounded(node, entry, refined, trips)
        state.update({name: replace(entry[name], range=range_) for name, range_ in bounded.items()})
        settled = 0
        self.trials += 1
        for attempt in range(40):
            self.lines, self.breaks, self.continues, self.escaped = [], [], [], None
            opening, uniform = head(state)
            after, parted = self.body(node, state, refined, uniform and not parted)
            new = _bounded(_join(entry, _joined([after, *self.continues])) or {}, bounded)
            grows = [name for name, one in new.items() if _grows(state.get(name), one)]
            if not grows:
                settled += 1
                if settled > 2 or new == state:
                    break
            elif attempt >= ROUNDS:
                for name in grows:
                    new[name] = _widened(state.get(name), new[name])
            state = new
        self.trials -= 1
        self.lines = outer[3]
        self.breaks, self.continues, self.escaped = [], [], None
        opening, uniform = head(state)
        self.emit(opening[0])
        self.lines += opening[1:]
        self.body(node, state, refined, uniform and not parted)
        self.emit("}")
        left = _joined([refined(state, False), *self.breaks])
        self.trips.pop()
        self.breaks, self.continues, self.escaped = outer[0], outer[1], outer[2]
        if left is None:
            return None
        # What a round may have declared is not there behind the loop.
        return {name: value for name, value in _bounded(left, bounded).items() if name in entry}

    def body(
        self,
        node: ast.For | ast.While,
        state: Environment,
        refined: Callable[[Environment, bool], Environment],
        uniform: bool,
    ) -> tuple[Environment | None, bool]:
        """Translate a loop's body once; say whether it parts the threads of a block for the rounds that follow."""
        text = node.test if isinstance(node, ast.While) else node.iter
        here = (node.lineno, ast.unparse(text))
        if not uniform:
            self.apart.append(here)
        self.depth += 1
        after = self.block(node.body, refined(state, True))
        self.depth -= 1
        if not uniform:
            self.apart.pop()
            if "return" in _ways_out(node.body):
                self.left = self.left or here
        return after, not uniform or self.escaped is not None

    def bounded(
        self,
        node: ast.For | ast.While,
        entry: Environment,
        refined: Callable[[Environment, bool], Environment],
        trips: int | None,
    ) -> dict[str, Interval]:
        """Return the intervals of integers to which a loop only adds, from the number of its rounds."""
        if trips is None:
            return {}
        additions: dict[str, list[ast.AugAssign]] = {}
        others: set[str] = set()
        for each in ast.walk(ast.Module(node.body, [])):
            if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
                additions.setdefault(each.target.id, []).append(each)
                if not isinstance(each.op, ast.Add | ast.Sub):
                    others.add(each.target.id)
            elif isinstance(each, ast.Assign | ast.For):
                targets = each.targets if isinstance(each, ast.Assign) else [each.target]
                others |= {
                    one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)
                }
        names = [
            name
            for name in additions
            if name not in others
            and isinstance(entry.get(name), Variable)
            and entry[name].kind in ("i4", "i8")
        ]
        if not names:
            return {}
        depth, kept = len(self.trips) - 1, (self.lines, self.breaks, self.continues, self.escaped, self.left)
        self.lines = []
        stored = self.scopes.stored_in(node.body)
        wide = {
            name: replace(value, range=EVERY, uniform=False)
            if name in stored and isinstance(value, Variable)
            else value
            for name, value in entry.items()
        }
        self.trials += 1
        self.body(node, wide, refined, False)
        self.trials -= 1
        self.lines, self.breaks, self.continues, self.escaped, self.left = kept
        found = {}
        for name in names:
            low = high = 0
            for each in additions[name]:
                _, changed, around = self.steps.get(id(each), ("", EVERY, (None,)))
                times = math.prod(-1 if count is None else count for count in around[depth:])
                if times < 0:
                    low, high = -MOST, MOST
                    break
                low, high = low + min(0, changed.low * times), high + max(0, changed.high * times)
            before = entry[name].range
            found[name] = before + Interval(max(low, -MOST), min(high, MOST))
        return {name: range_ for name, range_ in found.items() if range_.fits}

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
                name = type(operator).__name__ if holds else _OPPOSITE.get(type(operator).__name__, "")
                environment = self.narrowed(left, name, right, environment)
                environment = self.narrowed(right, _MIRRORED.get(name, ""), left, environment)
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
        symbol, level = _FLOAT_OPERATORS.get(type(op), ("", 0))
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
            range_ = left.range * power if name == "LShift" else _shifted(left.range, amounts)
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
            symbol = _COMPARISONS.get(type(operator).__name__)
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
                constant = _COMPUTED[symbol](left.constant, right.constant)
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

    # --- Calls ------------------------------------------------------------------------------------------------

    def dotted(self, node: ast.expr) -> str:
        """Return a name with its dots; what numba.cuda has begins with "cuda."."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        root = node.id
        known = getattr(self.outer.get(root), "__name__", "")
        if known.rpartition(".")[2] in ("cuda", "numba_cuda"):
            root = "cuda"
        elif known in ("math", "numpy", "numba"):
            root = known
        return ".".join([root, *reversed(parts)])

    def outer_value(self, node: ast.expr) -> Any:
        """Return what a name outside of the kernel stands for; None if that is not known."""
        if isinstance(node, ast.Name):
            return self.outer.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.outer_value(node.value)
            return getattr(owner, node.attr, None) if owner is not None else None
        return None

    def dtype_named(self, node: ast.expr | None) -> str:
        if node is None:
            return ""
        value = self.outer_value(node)
        name = getattr(value, "name", None) or getattr(value, "__name__", None)
        return str(name or (ast.unparse(node).rpartition(".")[2] if value is None else ""))

    def constant(self, node: ast.expr | None, where: ast.AST, what: str) -> Any:
        """Return a value that is known when the kernel is compiled."""
        if isinstance(node, ast.Tuple):
            return tuple(self.constant(each, where, what) for each in node.elts)
        value = self.value(node, {}) if node is not None else None
        if value is None or value.constant is None:
            raise self.refuse(where, f"{what} has to be known when the kernel is compiled")
        return value.constant

    def of_Call(self, node: ast.Call, environment: Environment) -> Value:
        called = self.dotted(node.func)
        if called in ("cuda.grid", "cuda.gridsize"):
            if self.dimensions_of(node) > 1:
                raise self.refuse(node, "take its parts apart: column, row = cuda.grid(2)")
            return self.position(node, called, 0)
        if called.startswith("cuda."):
            words = {
                "cuda.syncthreads": "a barrier stands on a line of its own",
                "cuda.shared.array": "give the array a name",
            }.get(called, f"WGSL has nothing that {called} could become, or the translator does not know it")
            if called.startswith("cuda.atomic."):
                words = "give the result of an atomic a name on a line of its own"
            raise self.refuse(node, words)
        if node.keywords:
            raise self.refuse(node, "write the arguments without their names")
        function = self.outer_value(node.func)
        name = called.rpartition(".")[2]
        if hasattr(function, "py_func") and not called.startswith(("math.", "numpy.")):
            return self.device_call(node, function.py_func, environment)
        if self.dtype_named(node.func) in ("float32", "int32") and len(node.args) == 1:
            return self.cast(node, self.dtype_named(node.func), self.value(node.args[0], environment))
        if called in ("min", "max") and len(node.args) >= 2:
            return self.extreme(node, called, environment)
        if called in ("abs", "math.fabs") and len(node.args) == 1:
            return self.size(node, self.value(node.args[0], environment))
        if called == "len" and len(node.args) == 1:
            return self.length(self.memory(node.args[0], environment), 0)
        if called in ("int", "float", "bool", "round", "pow", "divmod"):
            wider = {"float": "a float64", "int": "an int64"}.get(called, "something that WGSL does not have")
            raise self.refuse(node, f"{called}() makes {wider}. Use float32(…) or int32(…)")
        if called.startswith(("math.", "numpy.")) and name in wgsl.FLOAT_FUNCTIONS and len(node.args) == 1:
            return self.function(node, wgsl.FLOAT_FUNCTIONS[name], [self.value(node.args[0], environment)])
        if called.startswith(("math.", "numpy.")) and name in wgsl.OF_TWO and len(node.args) == 2:
            return self.function(
                node, wgsl.OF_TWO[name], [self.value(each, environment) for each in node.args]
            )
        raise self.refuse(node, f"the translator does not know {ast.unparse(node.func)}()")

    def function(self, node: ast.Call, name: str, values: list[Value]) -> Value:
        if any(value.kind != "f4" for value in values):
            raise self.refuse(
                node,
                f"{ast.unparse(node.func)} of anything but a float32 is a float64 in Numba. Convert with float32(…)",
            )
        if all(value.constant is not None for value in values):
            raise self.refuse(node, "compute this constant outside of the kernel")
        text = f"{name}({', '.join(value.text for value in values)})"
        return Value(text, "f4", uniform=all(value.uniform for value in values))

    def cast(self, node: ast.Call, dtype: str, value: Value) -> Value:
        if value.constant is not None:
            kind = np.float32 if dtype == "float32" else np.int32
            return self.of_python(node, kind(value.constant))
        if dtype == "float32":
            if value.kind == "f4":
                return value
            text = self.converted(node, value, "f4")
            level = value.level if value.kind == "f8" else ATOM
            return Value(text, "f4", uniform=value.uniform, level=level)
        if value.kind == "b1" or value.kind == "f4":
            return Value(
                f"i32({value.text})", "i4", Interval(0, 1) if value.kind == "b1" else INT32, value.uniform
            )
        if value.kind == "f8":
            raise self.float64(node, "the value")
        return replace(value, kind="i4", range=value.range if value.range.fits else INT32)

    def extreme(self, node: ast.Call, name: str, environment: Environment) -> Value:
        values = [self.value(each, environment) for each in node.args]
        found = values[0]
        for value in values[1:]:
            uniform = found.uniform and value.uniform
            if found.whole and value.whole:
                found, value = self.fitting(node, found), self.fitting(node, value)
                range_ = found.range.least(value.range) if name == "min" else found.range.most(value.range)
                if found.constant is not None and value.constant is not None:
                    found = self.of_python(node, range_.low)
                    continue
                found = Value(f"{name}({found.text}, {value.text})", "i8", range_, uniform)
                continue
            one, other = (
                (None, None) if "b1" in (found.kind, value.kind) else (self.thin(found), self.thin(value))
            )
            if one is None or other is None:
                raise self.refuse(
                    node,
                    f"this {name} is a float64 in Numba, which WGSL does not have. Convert with float32(…)",
                )
            kind = "f4" if found.kind == value.kind == "f4" else "f8"
            fit = "" if kind == "f4" else "exact"
            found = Value(f"{name}({one.text}, {other.text})", kind, uniform=uniform, fit=fit)
        return found

    def size(self, node: ast.Call, value: Value) -> Value:
        if value.kind == "b1" or value.kind == "f8":
            raise self.refuse(node, "abs() of a float32 or of an integer can be translated")
        if value.whole:
            value = self.fitting(node, value)
        return Value(f"abs({value.text})", value.kind, value.range.size(), value.uniform)

    def atomic(self, node: ast.Call, environment: Environment, called: str) -> tuple[str, str]:
        """Return an atomic operation as a call in WGSL, and the dtype of its result."""
        operation = called.rpartition(".")[2]
        if operation not in ("add", "max", "min") or len(node.args) != 3 or node.keywords:
            raise self.refuse(
                node, "the translator knows cuda.atomic.add, max and min of array, index and value"
            )
        array, index, operand = node.args
        memory = self.memory(array, environment)
        if memory.space == "function":
            raise self.refuse(node, f"{memory.name} belongs to one thread: no other thread can come between")
        memory.atomic = True
        target = ast.copy_location(ast.Subscript(array, index, ast.Store()), node)
        place = self.place(target, memory, environment)
        value = self.value(operand, environment)
        text = self.converted(node, value, memory.element)
        if memory.element == "i4":
            if operation != "add":
                self.fitting(operand, value)
            return f"atomic{operation.capitalize()}(&{place}, {text})", "i4"
        indices = place[len(memory.name) + 1 : -1].replace("][", ", ")
        return f"{self.module.atomic_float(memory, operation)}({indices}, {text})", "f4"

    def device_call(self, node: ast.Call, function: Callable, environment: Environment) -> Value:
        given: list[Any] = []
        texts, key = [], [id(function)]
        uniform = True
        for each in node.args:
            known = environment.get(each.id) if isinstance(each, ast.Name) else None
            if isinstance(known, Memory):
                given.append(known)
                key.append(id(known))
                uniform = False
                continue
            value = self.value(each, environment)
            if value.kind == "f8":
                raise self.refuse(node, f"{ast.unparse(each)} is a float64, which WGSL does not have")
            if value.whole:
                value = self.fitting(each, value)
            given.append(Variable(value.kind, value.range, False))
            key += [value.kind, value.range]
            uniform = uniform and value.uniform
            texts.append(value.text)
        known_function = self.module.functions.get(tuple(key))
        if known_function is None:
            count = len(self.module.functions)
            name = wgsl.named(function.__name__) + (f"_{count}" if count else "")
            if len(self.module.functions) > 64:
                raise self.refuse(node, "the call needs too many versions of the device function")
            body = _Body(self.module, function, given)
            if len(body.parameters) != len(given):
                raise self.refuse(node, f"{function.__name__} takes {len(body.parameters)} arguments")
            if function in getattr(self.module, "open", []):
                raise self.refuse(node, "WGSL has no recursion")
            self.module.open = [*getattr(self.module, "open", []), function]  # type: ignore[attr-defined]
            text, result = body.device_function(name)
            self.module.open = self.module.open[:-1]  # type: ignore[attr-defined]
            known_function = self.module.functions[tuple(key)] = name, result
            self.module.texts.append(text)
        name, result = known_function
        return replace(result, text=f"{name}({', '.join(texts)})", uniform=uniform)


_OPPOSITE = {"Lt": "GtE", "LtE": "Gt", "Gt": "LtE", "GtE": "Lt", "NotEq": "Eq"}
_MIRRORED = {"Lt": "Gt", "LtE": "GtE", "Gt": "Lt", "GtE": "LtE", "Eq": "Eq"}
_COMPARISONS = {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Eq": "==", "NotEq": "!="}
_COMPUTED: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
_COMPOUND = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_FLOAT_OPERATORS = {ast.Add: ("+", PLUS), ast.Sub: ("-", PLUS), ast.Mult: ("*", TIMES), ast.Div: ("/", TIMES)}


def _shifted(left: Interval, right: Interval) -> Interval:
    ends = [value >> amount for value in (left.low, left.high) for amount in (right.low, right.high)]
    return Interval(min(ends), max(ends))


def _loaded(target: ast.expr) -> ast.expr:
    """Return the target of `+=` as an expression that reads it."""
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    assert isinstance(target, ast.Subscript)
    return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)


def _ways_out(body: Iterable[ast.stmt]) -> set[str]:
    """Return how statements may leave their block: by "return", "break" or "continue"."""
    found: set[str] = set()
    for statement in body:
        if isinstance(statement, ast.Return):
            found.add("return")
        elif isinstance(statement, ast.Break | ast.Continue):
            found.add(type(statement).__name__.lower())
        elif isinstance(statement, ast.If):
            found |= _ways_out([*statement.body, *statement.orelse])
        elif isinstance(statement, ast.For | ast.While):
            found |= _ways_out(statement.body) & {"return"}
    return found


def _join(one: Environment | None, other: Environment | None) -> Environment | None:
    """Return what is known where two ways meet: a variable that only one of them has is unknown."""
    if one is None or other is None:
        return dict(other) if one is None and other is not None else one
    found: Environment = {}
    for name in one.keys() & other.keys():
        a, b = one[name], other[name]
        if isinstance(a, Variable) and isinstance(b, Variable):
            found[name] = a.join(b)
        elif a is b:
            found[name] = a
    return found


def _joined(environments: Iterable[Environment | None]) -> Environment | None:
    found: Environment | None = None
    for each in environments:
        found = _join(found, each)
    return found


def _bounded(environment: Environment, bounds: Mapping[str, Interval]) -> Environment:
    """Return an environment in which some integers have intervals that are known in another way."""
    return environment | {
        name: replace(environment[name], range=range_)
        for name, range_ in bounds.items()
        if name in environment
    }


def _grows(before: Any, after: Any) -> bool:
    if not isinstance(before, Variable) or not isinstance(after, Variable):
        return False
    wider = after.range.low < before.range.low or after.range.high > before.range.high
    return wider or (before.uniform and not after.uniform)


def _widened(before: Any, after: Variable) -> Variable:
    if not isinstance(before, Variable):
        return after
    low = -MOST if after.range.low < before.range.low else after.range.low
    high = MOST if after.range.high > before.range.high else after.range.high
    return replace(after, range=Interval(low, high))
