"""Turns a rewritten kernel into a Python module that Numba compiles for the CPU, and keeps the module on disk.

A module has the device functions, the kernel (whole, or cut into regions if it has barriers) and a function `launch`
that runs a range of blocks. Numba's own type rules apply throughout: a literal is a float64 or an int64, and int32
times int32 is an int64, as on a GPU.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import enum
import hashlib
import importlib.util
import os
import re
import sys
import tempfile
import types as python_types
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import errors
from numba.core.base import BaseContext
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import AnalysisPass, PassManager, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack
from numba.np import numpy_support

from host_to_device.standins.numba_cuda import (
    compiled_arrays,
    compiled_helpers,
    compiled_vectors,
    declarations,
    exchanges,
    flow,
    helpers,
    inlining,
    preparing,
    reading,
    region_text,
    regions,
    rewriting,
    signatures,
    successor_types,
    uniformity,
)
from host_to_device.standins.numba_cuda.rewriting import LINEAR, PREFIX, SHARED, STOP, THREAD, Program
from host_to_device.support import folders

OPTIONS = "nogil=True, error_model='numpy', boundscheck=True"
# Python calls only `launch`, whose file on disk includes the functions that it calls. Without wrappers for them there
# is a third less to compile.
INNER = "no_cpython_wrapper=True, no_cfunc_wrapper=True"
HEADER = f"""\
import math
import operator

import numba
import numpy as np
from numba import njit
from host_to_device.standins.numba_cuda import compiled_arrays as {PREFIX}arrays
from host_to_device.standins.numba_cuda import compiled_helpers as {PREFIX}compiled
from host_to_device.standins.numba_cuda import compiled_vectors as {PREFIX}vectors

{PREFIX}KernelStopped = {PREFIX}compiled.KernelStopped
{PREFIX}stopped = {PREFIX}compiled.stopped
{PREFIX}local = np.empty
"""
NAMES = (
    *(f"{PREFIX}{name}" for name in compiled_helpers.ATOMICS),
    *(f"{PREFIX}{name}" for name in compiled_helpers.TAKERS),
    *(
        f"{PREFIX}{name}"
        for name in (
            "popc",
            "brev",
            "clz",
            "ffs",
            "fma",
            "cbrt",
            "selp",
            "power",
            "divisor",
            "fence",
            "fence_block",
            "as_whole",
            *successor_types.BITS.values(),
        )
    ),
    *(f"{PREFIX}{name}" for name in ("laneid", "lanemask_lt", "floor", "ceil", "trunc")),
    *(f"{PREFIX}syncthreads_{name}" for name in ("count", "and", "or")),
    f"{PREFIX}as_declared",
    f"{PREFIX}result_as_declared",
    f"{PREFIX}agreement",
    f"{PREFIX}anybody",
    f"{PREFIX}lanes_alive",
)


_AGREEMENT = f"= {PREFIX}agreement("


class NotCompilable(Exception):
    """The kernel cannot be compiled; the message says why, and the interpreter runs it."""


# ---- constants of the kernel as text


def as_text(value: Any) -> str | None:
    """Return an expression for an object that a kernel uses, or None if the object has no such text."""
    if isinstance(value, enum.Enum):
        return None
    if value is None or isinstance(value, bool | int | float | complex):
        return (
            repr(value)
            if not isinstance(value, float) or (value == value and abs(value) != float("inf"))
            else None
        )
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        parts = [as_text(each) for each in value]
        return None if None in parts else f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    if isinstance(value, np.dtype) and value.names is None:
        return f"np.dtype({value.str!r})"
    if isinstance(value, np.generic):
        return f"np.{type(value).__name__}({value.item()!r})" if np.isfinite(value) else None
    if isinstance(value, types.Type):
        name = str(value)
        return f"numba.types.{name}" if getattr(types, name, None) == value else None
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if isinstance(value, python_types.ModuleType):
        return {"math": "math", "operator": "operator", "numpy": "np"}.get(name)
    for owner, prefix in ((np, "np"), (__import__("math"), "math"), (__import__("builtins"), "")):
        if name and getattr(owner, name, None) is value:
            return f"{prefix}.{name}" if prefix else name
    return None if module != "numpy" else f"np.{name}"


class _LoopChecks(ast.NodeTransformer):
    """Lets every loop check whether the launch must stop."""

    def visit_loop(self, node: ast.For | ast.While) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node, ast.For) and (_short(node) or ast.unparse(node.target).startswith(PREFIX)):
            return node
        check = ast.parse(f"if {PREFIX}stopped({STOP}):\n    raise {PREFIX}KernelStopped()").body[0]
        for each in ast.walk(check):
            ast.copy_location(each, node)
        node.body.insert(0, check)
        return node

    visit_For = visit_While = visit_loop


def _short(loop: ast.For) -> bool:
    """Return whether a loop is known to be short: over a range of small literals, without a loop inside."""
    header = loop.iter
    if not (isinstance(header, ast.Call) and isinstance(header.func, ast.Name) and header.func.id == "range"):
        return False
    if any(isinstance(each, ast.For | ast.While) for inner in loop.body for each in ast.walk(inner)):
        return False
    return all(
        isinstance(each, ast.Constant) and type(each.value) is int and each.value <= 4096
        for each in header.args
    )


# ---- operations that numba-cuda compiles otherwise


class _OperationsOfCuda(ast.NodeTransformer):
    """Gives powers and `/=` to helpers, because numba-cuda compiles them otherwise than Numba for the CPU.

    It rounds powers of integers to float64, and does not compile `/=` of two integers. A kernel of numba_cuda_mlir also has
    its own `&`, `|`, `^`, and roundings to integers.
    """

    def __init__(self, successor: bool) -> None:
        self.helpers: dict[type, str] = {ast.Pow: "power", **(successor_types.BITS if successor else {})}
        self.whole = {f"{PREFIX}{name}" for name in successor_types.WHOLE} if successor else set()

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id not in self.whole:
            return node
        call = ast.Call(ast.Name(f"{PREFIX}as_whole", ast.Load()), [node], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        literal = isinstance(node.left, ast.Constant) and isinstance(node.right, ast.Constant)
        if type(node.op) not in self.helpers or literal:
            return node
        name = f"{PREFIX}{self.helpers[type(node.op)]}"
        call = ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if type(node.op) in self.helpers and isinstance(node.target, ast.Name):
            read = ast.Name(node.target.id, ast.Load())
            plain = ast.Assign([node.target], ast.BinOp(read, node.op, node.value))
            return self.visit(ast.fix_missing_locations(ast.copy_location(plain, node)))
        self.generic_visit(node)
        if _divides_in_place(node) and not any(isinstance(each, ast.Call) for each in ast.walk(node.target)):
            read = copy.deepcopy(node.target)
            read.ctx = ast.Load()
            node.value = ast.Call(ast.Name(f"{PREFIX}divisor", ast.Load()), [node.value, read], [])
            ast.fix_missing_locations(node)
        return node


def _divides_in_place(node: ast.AST) -> bool:
    return isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div)


def _with_operations_of_cuda(program: Program) -> Program:
    """Return the program with helpers in the place of `**` and around the divisor of `/=`."""
    every = (program.kernel, *program.functions.values())
    nodes = [node for each in every for node in ast.walk(each.tree)]
    powers = any(isinstance(getattr(node, "op", None), ast.Pow) or _divides_in_place(node) for node in nodes)
    if not powers and not program.successor:
        return program

    def changed(function: rewriting.Function) -> rewriting.Function:
        tree = copy.deepcopy(function.tree)
        return replace(function, tree=_OperationsOfCuda(program.successor).visit(tree))

    functions = {name: changed(each) for name, each in program.functions.items()}
    return replace(program, kernel=changed(program.kernel), functions=functions)


# ---- the module


def _function_text(tree: ast.FunctionDef, allocates: bool = False) -> str:
    """Return the text of a function; `allocates` says that what it calls has local arrays."""
    tree = _LoopChecks().visit(ast.parse(ast.unparse(tree)).body[0])
    text = ast.unparse(tree)
    # Without Numba's runtime a kernel cannot allocate, as on a GPU. Only local arrays need the runtime.
    runtime = "" if allocates or re.search(rf"\b{PREFIX}(local|fresh)", text) else ", _nrt=False"
    return f"@njit({OPTIONS}{runtime}, {INNER})\n{text}\n"


LAUNCH = f"""\
@njit({OPTIONS}, no_cfunc_wrapper=True, cache={{caching}})
def launch({PREFIX}first, {PREFIX}last, {PREFIX}grid, {PREFIX}block, {PREFIX}order, {PREFIX}blocks, {SHARED}, {STOP}{{parameters}}):
    {PREFIX}n = {PREFIX}block[0] * {PREFIX}block[1] * {PREFIX}block[2]
    {PREFIX}x = {PREFIX}compiled.of_threads({PREFIX}n, "i4")
    {PREFIX}y = {PREFIX}compiled.of_threads({PREFIX}n, "i4")
    {PREFIX}z = {PREFIX}compiled.of_threads({PREFIX}n, "i4")
    for {PREFIX}k in range({PREFIX}n):
        {PREFIX}x[{PREFIX}k] = {PREFIX}k % {PREFIX}block[0]
        {PREFIX}y[{PREFIX}k] = {PREFIX}k // {PREFIX}block[0] % {PREFIX}block[1]
        {PREFIX}z[{PREFIX}k] = {PREFIX}k // ({PREFIX}block[0] * {PREFIX}block[1])
{{memory}}
    for {PREFIX}i in range({PREFIX}first, {PREFIX}last):
        if {PREFIX}stopped({STOP}):
            raise {PREFIX}KernelStopped()
        {PREFIX}b = {PREFIX}blocks[{PREFIX}i]
        {STOP}[1] = {PREFIX}b
{{begin}}
        {THREAD} = (
            np.int32(0), np.int32(0), np.int32(0),
            np.int32({PREFIX}b % {PREFIX}grid[0]),
            np.int32({PREFIX}b // {PREFIX}grid[0] % {PREFIX}grid[1]),
            np.int32({PREFIX}b // ({PREFIX}grid[0] * {PREFIX}grid[1])),
            np.int32({PREFIX}block[0]), np.int32({PREFIX}block[1]), np.int32({PREFIX}block[2]),
            np.int32({PREFIX}grid[0]), np.int32({PREFIX}grid[1]), np.int32({PREFIX}grid[2]),
            np.int32(0),
        )
{{block}}
"""

PLAIN_BLOCK = f"""\
        for {PREFIX}j in range({PREFIX}n):
            {PREFIX}k = {PREFIX}order[{PREFIX}j]
            {STOP}[2] = {PREFIX}k
            {PREFIX}position = ({PREFIX}x[{PREFIX}k], {PREFIX}y[{PREFIX}k], {PREFIX}z[{PREFIX}k], \
{", ".join(f"{THREAD}[{k}]" for k in range(3, LINEAR))}, np.int32({PREFIX}k))
            {{kernel}}({PREFIX}position, {SHARED}, {STOP}{{parameters}})"""


def of_threads(dtype: str) -> str:
    """Return the text of an array with an element for each thread of a block."""
    return f"{PREFIX}compiled.of_threads({PREFIX}n, {dtype!r})"


def _compiled_anew(value: Any) -> Any:
    """Return a function of `numba.njit` that is compiled for kernels alone; any other object as it is."""
    if not isinstance(value, Dispatcher) or not hasattr(value, "py_func"):
        return value
    options = {name: given for name, given in value.targetoptions.items() if name != "nopython"}
    return numba.njit(**options)(value.py_func)


class Module:
    """The text of a kernel's module and the objects that it needs.

    Every block runs the lines `begin` first, and the lines `at_barrier` at each of its barriers.
    """

    begin = at_barrier = ""

    def __init__(self, program: Program, shared: list[rewriting.SharedArray]) -> None:
        self.program, self.shared = program, shared = _with_operations_of_cuda(program), shared
        self.objects: dict[str, Any] = {}
        lines = [HEADER]
        for name, value in program.constants.items():
            text = as_text(value)
            if text is None:
                self.objects[name] = _compiled_anew(value)
            else:
                lines.append(f"{name} = {text}")
        everything = "".join(ast.unparse(each.tree) for each in (program.kernel, *program.functions.values()))
        lines += [
            f"{name} = {PREFIX}compiled.{name.removeprefix(PREFIX)}"
            for name in NAMES
            if re.search(rf"\b{name}\b", everything)
            or (program.waits and re.search("take_|syncthreads|agreement|anybody|lanes_alive", name))
        ]
        lines += [
            f"{name} = {PREFIX}compiled.{own}"
            for name, own in (("max", "larger"), ("min", "smaller"), ("round", "rounded"))
            if re.search(rf"\b{name}\(", everything)
        ]
        for prefix, module in (("array", "arrays"), ("vector", "vectors")):
            found = sorted(set(re.findall(rf"\b{PREFIX}({prefix}_\w+)", everything)))
            lines += [f"{PREFIX}{name} = {PREFIX}{module}.{name}" for name in found]
        self.head = "\n".join(lines) + "\n\n"
        # A function that calls itself crashes where Numba loads it from its cache.
        self.caching = not (self.objects or program.calls_itself or program.kernel.filename.startswith("<"))
        self.texts: dict[str, str] = {}  # file name → the text that Numba compiles under it, for messages
        self.plain = [each for each in program.functions.values() if not each.waits]
        self.allocates = any(re.search(rf"\b{PREFIX}local", ast.unparse(each.tree)) for each in self.plain)

    def functions(self) -> str:
        return "\n\n".join(_function_text(each.tree, self.allocates) for each in self.plain)

    def parameters(self, assigned: Collection[str] = ()) -> str:
        """Return the launch function's parameters; a parameter that the kernel overwrites gets another name."""
        names = self.program.kernel.parameters
        return "".join(f", {PREFIX}in_{name}" if name in assigned else f", {name}" for name in names)

    def text(self, arguments: tuple[types.Type, ...]) -> str:
        """Return the whole module. The text of a kernel with barriers depends on the types of its arguments."""
        if self.program.waits_for_grid:
            raise NotCompilable("its blocks wait for each other")
        if self.program.waits:
            kernel, launch = self.cut_kernel(arguments)
        else:
            tree = self.program.kernel.tree
            kernel = _function_text(tree, self.allocates)
            block = PLAIN_BLOCK.format(kernel=tree.name, parameters=self.parameters())
            launch = LAUNCH.format(
                caching=self.caching, parameters=self.parameters(), memory="", begin=self.begin, block=block
            )
        return self.with_errors("\n\n".join((self.head + self.functions(), kernel, launch)))

    def with_errors(self, text: str) -> str:
        """Return the text for a kernel made with `debug=True`, in which a division by zero is an error."""
        return text.replace("error_model='numpy'", "error_model='python'") if self.program.debug else text

    def cut_kernel(self, arguments: tuple[types.Type, ...]) -> tuple[str, str]:
        """Return the regions and the launch function of a kernel with barriers."""
        try:
            cut = regions.Cutter(self.program).cut()
        except flow.CannotCut as problem:
            raise NotCompilable(str(problem)) from None
        own = self.types(cut, arguments)
        for name, kind in cut.exchanged.items():
            dtype = own[name]
            if words := exchanges.unfit(kind, "value", dtype):
                raise errors.TypingError(words)
        functions, takes = [], []
        shapes = region_text.shapes_of_shared(cut, self.shared)
        for number in range(len(cut.regions)):
            trees, taken = region_text.region_functions(cut, number, self.program.kernel.parameters, shapes)
            functions += [_function_text(tree, self.allocates) for tree in trees]
            takes.append(taken)
        memory = [f"{region_text.ALIVE} = {of_threads('?')}"]
        for name in cut.remembered:
            if name in cut.local_arrays:
                shape, dtype = (ast.unparse(each) for each in cut.local_arrays[name].args)
                memory.append(f"{PREFIX}p_{name} = np.empty(({PREFIX}n,) + {shape}, {dtype})")
            else:
                dtype = cut.known.get(name) or own[name].str
                # A lane that does not come to an activemask leaves False there.
                zeros = cut.exchanged.get(name) == "activemask"
                memory.append(
                    f"{PREFIX}p_{name} = "
                    + (f"np.zeros({PREFIX}n, np.dtype({dtype!r}))" if zeros else of_threads(dtype))
                )
        for name, kind in cut.exchanged.items():
            if kind not in rewriting.BLOCK_SYNCS:
                tag = name.removeprefix(f"{PREFIX}v")
                memory.append(f"{PREFIX}pub{tag} = {of_threads(own[name].str)}")
        block = region_text.BlockProgram(cut, takes, self.at_barrier)
        block.write(2, f"for {PREFIX}k in range({PREFIX}n): {region_text.ALIVE}[{PREFIX}k] = True")
        block.parameters(self.program.kernel.parameters)
        block.nodes(cut.nodes, 2)
        launch = LAUNCH.format(
            caching=self.caching,
            parameters=self.parameters(cut.assigned),
            memory="\n".join(f"    {line}" for line in memory),
            begin=self.begin,
            block="\n".join(block.lines),
        )
        return "\n\n".join(functions), launch

    def types(self, cut: regions.Cut, arguments: tuple[types.Type, ...]) -> dict[str, np.dtype]:
        """Return the dtype of every variable that threads keep across a barrier, by Numba's own inference."""
        wanted = [name for name in cut.remembered if name not in cut.local_arrays and name not in cut.known]
        if not wanted and not cut.asked:
            return {}
        found = infer(self, cut, arguments)
        for name, (kind, part) in cut.asked.items():
            for each in found.get(name, ()):
                number = isinstance(each, types.Number | types.Boolean)
                dtype = numpy_support.as_dtype(types.unliteral(each)) if number else None
                if words := exchanges.unfit(kind, part, dtype):
                    raise errors.TypingError(words if dtype else f"{words.rpartition(' no ')[0]} {each}")
        own = {}
        for name in wanted:
            kinds = {types.unliteral(each) for each in found.get(name, ())}
            if not kinds:
                raise NotCompilable(f"the type of {name} is not known")
            kind = cpu_target.typing_context.unify_types(*kinds) if len(kinds) > 1 else kinds.pop()
            if not isinstance(kind, types.Number | types.Boolean):
                raise NotCompilable(f"{name} is {kind}, and threads keep it across a barrier")
            own[name] = numpy_support.as_dtype(kind)
        return own

    def shared_types(self) -> types.Tuple:
        """Return the type of the tuple of shared arrays."""
        return types.Tuple([shared_type(each) for each in self.shared])

    def namespace(self) -> dict[str, Any]:
        return {"__name__": __name__, **self.objects}


# ---- types, without compiling


class _Inferred(Exception):
    """Carries the inferred types out of Numba's pipeline."""

    def __init__(self, typemap: dict[str, types.Type]) -> None:
        self.typemap = typemap


@register_pass(mutates_CFG=False, analysis_only=True)
class _StopAfterInference(AnalysisPass):
    _name = "host_to_device_stop_after_inference"

    def __init__(self):
        AnalysisPass.__init__(self)

    def run_pass(self, state):
        raise _Inferred(dict(state.typemap))


class _InferenceOnly(CompilerBase):
    def define_pipelines(self):
        builder = PassManager("types only")
        for each in (
            DefaultPassBuilder.define_untyped_pipeline(self.state),
            DefaultPassBuilder.define_typed_pipeline(self.state),
        ):
            for entry in each.passes:
                builder.add_pass(*entry)
                name = entry[0].name() if hasattr(entry[0], "name") else entry[0]._name
                if name == "nopython_type_inference":
                    builder.add_pass(_StopAfterInference, "stop")
                    builder.finalize()
                    return [builder]
        raise AssertionError("Numba's pipeline has no type inference")


class _WithoutWaiting(ast.NodeTransformer):
    """The kernel of a single thread: no waits, and every exchange returns the thread's own value."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == rewriting.SYNC:
            return ast.copy_location(ast.Constant(None), node)
        if isinstance(node.func, ast.Name) and node.func.id.startswith(f"{PREFIX}take_"):
            kind = node.func.id.removeprefix(f"{PREFIX}take_")
            if kind.startswith("shfl"):
                return node.args[5]
            stands_for = {
                "ballot_sync": "np.int32(0)",
                "match_any_sync": "np.int32(0)",
                "match_all_sync": "(np.int32(0), True)",
                "activemask": "np.uint32(0)",
            }.get(kind, "True")
            return ast.copy_location(ast.parse(stands_for, mode="eval").body, node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if re.fullmatch(rf"{PREFIX}r\d+", node.id):
            return ast.copy_location(ast.parse("np.int32(0)", mode="eval").body, node)
        return node


def infer(module: Module, cut: regions.Cut, arguments: tuple[types.Type, ...]) -> dict[str, set[types.Type]]:
    """Return the types that Numba infers for the kernel's variables, by name."""
    cutter = regions.Cutter(module.program)
    body = [_WithoutWaiting().visit(each) for each in cutter.body]
    tree = ast.FunctionDef(
        name="typed", args=module.program.kernel.tree.args, body=body, decorator_list=[], returns=None
    )
    tree.type_params = []
    space = module.namespace()
    exec(module.head + module.functions(), space)
    text = ast.unparse(ast.fix_missing_locations(tree))
    name = f"<types of {module.program.kernel.name}>"
    module.texts[name] = text
    exec(compile(text, name, "exec"), space)
    signature = (
        types.UniTuple(types.int32, LINEAR + 1),
        module.shared_types(),
        types.Array(types.int64, 1, "C"),
        *arguments,
    )
    try:
        with as_for_cuda():  # what the kernel calls is compiled
            _infer(space["typed"], signature)
    except _Inferred as inferred:
        found: dict[str, set[types.Type]] = {}
        for name, kind in inferred.typemap.items():
            found.setdefault(name.split(".")[0], set()).add(kind)
        return found
    raise AssertionError("Numba's pipeline went on after type inference")


def _infer(function: Callable, signature: tuple[types.Type, ...]) -> None:
    flags = Flags()
    flags.error_model, flags.nrt = "numpy", True
    typing, target = cpu_target.typing_context, cpu_target.target_context
    typing.refresh()
    target.refresh()
    pipeline = _InferenceOnly(typing, target, None, signature, None, flags, {})
    pipeline.compile_extra(function)


def shared_type(array: rewriting.SharedArray) -> types.Array:
    if array.captured is not None:
        return numba.typeof(array.captured)
    dimensions = 1 if array.shape is None else len(array.shape)
    return types.Array(numpy_support.from_dtype(array.dtype), dimensions, "C")


# ---- compiling, and the files of compiled kernels


@cache
def cache_folder() -> Path | None:
    """Return the folder for compiled kernels, or None if it cannot be written."""
    folder = folders.cache("kernels")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


# Every module that influences the compiled code of a kernel.
_SHAPING = (
    compiled_arrays,
    compiled_helpers,
    compiled_vectors,
    declarations,
    exchanges,
    flow,
    helpers,
    inlining,
    preparing,
    reading,
    region_text,
    regions,
    rewriting,
    signatures,
    uniformity,
    sys.modules[__name__],
)


LOADED = "host_to_device_kernel_"  # with which the names of modules begin that were loaded from files


@cache
def _version() -> str:
    """Return a digest of everything, besides a kernel's own text, that influences its compiled code."""
    digest = hashlib.sha256(f"{sys.version}{numba.__version__}{np.__version__}".encode())
    for module in _SHAPING:
        digest.update(Path(module.__file__).read_bytes())
    return digest.hexdigest()


def load(module: Module, arguments: tuple[types.Type, ...]) -> tuple[Callable, bool]:
    """Return a kernel's launch function, compiled for these arguments, and whether its threads must agree.

    Raises
    ------
    NotCompilable
        If regions cannot express the kernel's control flow, or Numba's compiler fails.
    numba.core.errors.NumbaError
        If Numba refuses the kernel.
    """
    # A named tuple or an enum is a class of the program's, which a file cannot name.
    of_program = any(isinstance(each, types.BaseNamedTuple | types.EnumMember) for each in arguments)
    folder = cache_folder() if module.caching and not of_program else None
    if folder is not None:
        name = _name(module, arguments)
        try:
            return _from_disk(module, arguments, folder, name)
        except (NotCompilable, errors.NumbaError):
            raise
        except Exception:  # damaged files, a full disk, a deleted folder: go on without files
            for damaged in (folder / f"{name}.py", *folder.glob(f"__pycache__/{name}.*")):
                with contextlib.suppress(OSError):
                    damaged.unlink()
    module.caching = False
    name, space = f"<stand-in for {module.program.kernel.name}>", module.namespace()
    try:
        text = module.texts[name] = module.text(arguments)
        exec(compile(text, name, "exec"), space)
        return _compiled(space["launch"], module, arguments), _AGREEMENT in text
    except (NotCompilable, errors.NumbaError):
        raise
    except Exception as problem:
        raise NotCompilable(f"Numba cannot compile it ({type(problem).__name__}: {problem})") from problem


def _name(module: Module, arguments: tuple[types.Type, ...]) -> str:
    """Return a name that is unique to this kernel and these types of arguments.

    There is one file for each set of types, because Numba's index of a file with several is not safe when two
    processes use it.
    """
    program = module.program
    trees = [ast.dump(each.tree) for each in (program.kernel, *program.functions.values())]
    key = "".join(
        [
            *(_version(), module.head, *trees, repr(module.shared), str(module.shared_types())),
            *(str(arguments), f"debug={program.debug}"),
        ]
    )
    return f"{program.kernel.name}_{hashlib.sha256(key.encode()).hexdigest()[:20]}"


def _from_disk(
    module: Module, arguments: tuple[types.Type, ...], folder: Path, name: str
) -> tuple[Callable, bool]:
    """Return the result of `load` from a file; a missing or incomplete file is written first."""
    path = folder / f"{name}.py"
    text = _whole(path)
    if text is None:
        text = module.text(arguments)
        text += f"\n# {hashlib.sha256(text.encode()).hexdigest()}\n"
        with tempfile.NamedTemporaryFile(
            "w", dir=folder, suffix=".part", delete=False, encoding="utf-8"
        ) as part:
            part.write(text)
        os.replace(part.name, path)
    module.texts[str(path)] = text
    full_name = f"{LOADED}{name}"
    spec = importlib.util.spec_from_file_location(full_name, path)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[full_name] = loaded  # Numba's cache finds a function's module by name
    spec.loader.exec_module(loaded)
    return _compiled(loaded.launch, module, arguments), _AGREEMENT in text


def forget(launch: Callable) -> None:
    """Let go of the module that `load` made for a launch function, so that its memory can be freed."""
    name = getattr(launch, "__module__", "")
    if name.startswith(LOADED) and getattr(sys.modules.get(name), "launch", None) is launch:
        del sys.modules[name]


def _whole(path: Path) -> str | None:
    """Return the text of a cached module, or None if the file is missing or was changed."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    body, _, digest = text.rpartition("\n# ")
    return text if digest.strip() == hashlib.sha256(body.encode()).hexdigest() else None


def _compiled(launch: Callable, module: Module, arguments: tuple[types.Type, ...]) -> Callable:
    shared = module.shared_types()
    sizes, numbers = types.UniTuple(types.int64, 3), types.Array(types.int64, 1, "C")
    with as_for_cuda():
        launch.compile(
            (types.int64, types.int64, sizes, sizes, numbers, numbers, shared, numbers, *arguments)
        )
    return launch


@contextlib.contextmanager
def as_for_cuda() -> Iterator[None]:
    """Let Numba compile as for CUDA.

    It refuses a record's field that lies at no multiple of its size. Conversions of floats to integers saturate. A
    division by zero within Numba's own functions, such as powers, is no error. What is compiled in this way stays apart
    from the program's own functions for the CPU.
    """
    target = cpu_target.target_context
    own = {
        (ir.IRBuilder, "fptosi"): _saturating("fptosi"),
        (ir.IRBuilder, "fptoui"): _saturating("fptoui"),
        (BaseContext, "_compile_subroutine_no_cache"): _compile_subroutine,
    }
    with global_compiler_lock:
        plain = {(owner, name): getattr(owner, name) for owner, name in own}
        compiled, target.cached_internal_func = target.cached_internal_func, _SUBROUTINES
        target.strict_alignment = True
        for (owner, name), function in own.items():
            setattr(owner, name, function)
        try:
            yield
        finally:
            for (owner, name), function in plain.items():
                setattr(owner, name, function)
            del target.strict_alignment
            target.cached_internal_func = compiled


_SUBROUTINES: dict = {}  # Numba's own functions, as they are compiled for kernels
_plain_subroutine = BaseContext._compile_subroutine_no_cache


def _compile_subroutine(
    context: BaseContext,
    builder: ir.IRBuilder,
    impl: Callable,
    sig: Any,
    locals: dict | None = None,
    flags: Flags | None = None,
) -> Any:
    """Compile one of Numba's own functions with NumPy's rules for errors, in the place of Python's."""
    if flags is None:
        flags = Flags()
        flags.error_model = "numpy"
        stack = ConfigStack()
        if stack and stack.top().is_set("nrt") and stack.top().nrt:
            flags.nrt = True
    return _plain_subroutine(context, builder, impl, sig, locals=locals, flags=flags)


def _saturating(name: str) -> Callable:
    """Return the builder's conversion of a float to an integer as NVVM's compiler makes it (`saturating`)."""

    def convert(builder: ir.IRBuilder, value: ir.Value, target: ir.IntType, name_: str = "") -> ir.Value:
        wide = ir.IntType(max(16, target.width))
        kind = ir.FunctionType(wide, [value.type])
        code = {"half": "f16", "float": "f32"}.get(str(value.type), "f64")
        function = builder.module.declare_intrinsic(f"llvm.{name}.sat.{wide}.{code}", fnty=kind)
        found = builder.call(function, [value])
        if code == "f64" or wide.width == 64:  # of a NaN the intrinsic makes 0
            is_nan = builder.fcmp_unordered("uno", value, value)
            found = builder.select(is_nan, ir.Constant(wide, 1 << wide.width - 1), found)
        return found if wide == target else builder.trunc(found, target, name_)

    return convert
