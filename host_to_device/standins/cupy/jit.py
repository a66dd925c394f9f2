"""`cupyx.jit` without a GPU: kernels in Python, run by the stand-in for `numba.cuda`.

The two dialects differ in a few names. The stand-in translates them line by line, so that errors name the learner's
lines. Types follow Numba: `threadIdx.x` is an int64, not a uint32, and a variable may change its type.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import linecache
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from host_to_device.standins import numba_cuda
from host_to_device.standins.cupy import launching
from host_to_device.standins.cupy.names import NotInStandIn, missing
from host_to_device.standins.numba_cuda import names
from host_to_device.standins.numba_cuda.devices import CudaAPIError
from host_to_device.standins.numba_cuda.memory import DeviceNDArray

threadIdx, blockDim, blockIdx, gridDim = names.threadIdx, names.blockDim, names.blockIdx, names.gridDim
warpsize, grid, gridsize = names.warpsize, names.grid, names.gridsize
syncthreads, syncwarp = names.syncthreads, names.syncwarp
shfl_sync, shfl_up_sync = names.shfl_sync, names.shfl_up_sync
shfl_down_sync, shfl_xor_sync = names.shfl_down_sync, names.shfl_xor_sync
atomic_add, atomic_sub, atomic_exch = names.atomic.add, names.atomic.sub, names.atomic.exch
atomic_min, atomic_max = names.atomic.min, names.atomic.max
atomic_inc, atomic_dec, atomic_cas = names.atomic.inc, names.atomic.dec, names.atomic.cas
atomic_and, atomic_or, atomic_xor = names.atomic.and_, names.atomic.or_, names.atomic.xor


class JitName:
    """A name of `cupyx.jit` that only kernels can use and that Numba spells differently."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<cupyx.jit.{self.name}: for use in a kernel>"

    def __call__(self, *_: Any, **__: Any) -> None:
        raise RuntimeError("Cannot call this function from Python layer.")


shared_memory, laneid = JitName("shared_memory"), JitName("laneid")
globals()["range"] = _unrolled = JitName("range")  # CuPy's name for a loop that the compiler may unroll

OURS = "__cuda"  # what the translated source calls the stand-in for numba.cuda
_numbers = itertools.count(1)  # of translations
MADE = "__made"  # the beginning of the names of device functions that it makes


NOT_HERE = ("cg", "cub", "thrust")  # of cupyx.jit


def __dir__() -> list[str]:
    """Return the names that are CuPy's."""
    own = (names.DeviceName, JitName)
    return sorted(["rawkernel", *(name for name, value in globals().items() if isinstance(value, own))])


def __getattr__(name: str) -> Any:
    if name in NOT_HERE:
        raise NotInStandIn(missing(f"cupyx.jit.{name}"))
    raise AttributeError(f"module 'cupyx.jit' has no attribute '{name}'")


def rawkernel(*, mode: str = "cuda", device: bool = False) -> Callable[[Callable], Any]:
    """Make a kernel of a Python function: `kernel(grid, block, args)` or `kernel[grid, block](*args)`.

    Parameters
    ----------
    mode
        'cuda' or 'numpy': whose typing rules a GPU follows. Ignored here.
    device
        True makes a function for kernels to call.
    """

    def wrapper(function: Callable) -> Any:
        if device:
            return numba_cuda.jit(device=True)(translated(function))
        return functools.update_wrapper(JitRawKernel(function, mode), function)

    return wrapper


class JitRawKernel:
    """A kernel made by `rawkernel`; its first launch translates and compiles it."""

    def __init__(self, function: Callable, mode: str) -> None:
        self._function, self._mode = function, mode
        self._kernel: Any = None

    def __call__(
        self, grid: tuple, block: tuple, args: tuple, shared_mem: int = 0, stream: Any = None
    ) -> None:
        """Run the kernel to completion.

        Parameters
        ----------
        grid, block
            The numbers of blocks and of threads per block: tuples of 1 to 3 ints.
        args
            CuPy arrays, numbers and NumPy scalars.
        shared_mem
            Dynamic shared memory per block, in bytes.

        Raises
        ------
        TypeError
            If an argument has another type.
        ValueError
            If a function of the kernel calls itself.
        CUDADriverError
            If the launch exceeds the device's limits.
        """
        passed = []
        for each in args:
            if launching.is_array(each):
                passed.append(DeviceNDArray(each._array))
            elif np.isscalar(each) and not isinstance(each, str | bytes):
                passed.append(each)
            else:
                raise TypeError(f"{type(each)} is not supported for RawKernel")
        if self._kernel is None:
            self._kernel = compiled(self._function)
        sizes = [tuple(max(1, int(each)) for each in (*size, 1, 1)[:3]) for size in (grid, block)]
        try:
            launch = self._kernel[(*sizes, 0, shared_mem)]
        except CudaAPIError as problem:
            reason = str(problem).partition(": ")[2] or str(problem)
            raise launching.driver_error("CUDA_ERROR_INVALID_VALUE", f"invalid argument: {reason}") from None
        launch(*passed)

    def __getitem__(self, grid_and_block: tuple) -> Callable[..., None]:
        """Return the launch in Numba's style: `kernel[grid, block](*args)`."""
        grid, block = (each if isinstance(each, tuple) else (each, 1, 1) for each in grid_and_block)
        return lambda *args, **kwargs: self(grid, block, args, **kwargs)

    @property
    def cached_code(self) -> str:
        """Not available: the stand-in runs the Python function and generates no CUDA C++."""
        raise NotImplementedError(
            "the stand-in makes no CUDA C++ of a cupyx.jit kernel: it runs the Python function"
        )

    cached_codes = cached_code


def compiled(function: Callable) -> Any:
    """Return the kernel of a function, which calls no function that calls itself: CuPy has none."""
    kernel = numba_cuda.jit(translated(function))
    try:
        calls_itself, problem = kernel.program.calls_itself, ""
    except Exception as refused:
        calls_itself, problem = "calls itself" in str(refused), f" ({refused})"
        if not calls_itself:
            raise
    if calls_itself:
        raise ValueError(f"Recursive function is not supported.{problem}")
    return kernel


def translated(function: Callable) -> Callable:
    """Translate the names that Numba spells differently; the function's lines keep their numbers.

    Raises
    ------
    OSError
        If the source is not available.
    """
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as problem:
        raise OSError(
            f"the source of {function.__name__}() is not available: write it in a notebook cell or in a file"
        ) from problem
    source = textwrap.dedent("".join(lines))
    space = {**function.__globals__, **dict(zip(function.__code__.co_freevars, cells(function), strict=True))}
    tree = ast.parse(source)
    local = {
        each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    local |= {each.arg for each in ast.walk(tree) if isinstance(each, ast.arg)}
    space = {name: value for name, value in space.items() if name not in local}
    rows = [list(line.encode()) for line in source.splitlines(keepends=True)]
    decided = without_dead_branches(tree, rows, space)
    made_functions: dict[str, Any] = {}
    changes = replacements(ast.parse("".join(bytes(row).decode() for row in rows)), space, made_functions)
    if not changes and not decided:
        return function
    for node, text in changes:
        rows[node.lineno - 1][node.col_offset : node.end_col_offset] = list(text.encode())
    text = "".join(bytes(row).decode() for row in rows)
    # A name of its own: the same lines, with other constants, have another text.
    filename = f"cupyx.jit/{next(_numbers)}/{function.__code__.co_filename}"
    padded = "\n" * (first - 1) + text
    linecache.cache[filename] = (len(padded), None, padded.splitlines(keepends=True), filename)
    tree = ast.parse(text)
    ast.increment_lineno(tree, first - 1)
    definition = tree.body[0]
    definition.decorator_list = []
    free = [OURS, *made_functions, *function.__code__.co_freevars]
    factory = ast.parse(f"def factory({', '.join(free)}):\n    return {definition.name}")
    factory.body[0].body.insert(0, definition)
    made: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(factory), filename, "exec"), function.__globals__, made)
    return made["factory"](numba_cuda, *made_functions.values(), *cells(function))


def cells(function: Callable) -> list[Any]:
    """Return the values of the function's free variables; None for one that is set later, such as its own name."""
    found = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:
            found.append(None)
    return found


def without_dead_branches(tree: ast.Module, rows: list[list[int]], space: dict[str, Any]) -> bool:
    """Decide each `if` over constants now, as CuPy does: its other branch becomes `pass`.

    Parameters
    ----------
    tree
        The function's tree.
    rows
        The bytes of its lines, which are changed.
    space
        The objects behind its global and outer names.

    Returns
    -------
    bool
        Whether there is such an `if`.
    """
    todo, decided = list(tree.body[0].body), False
    while todo:
        node = todo.pop()
        branches = [getattr(node, part, []) for part in ("body", "orelse")]
        value = known(node.test, space) if isinstance(node, ast.If) else None
        if value is not None:
            dead = branches.pop(1 if value else 0)
            is_elif = bool(dead) and isinstance(dead[0], ast.If) and dead[0].col_offset == node.col_offset
            if node.test.lineno == node.test.end_lineno and not is_elif:
                decided = True
                for statement in dead[::-1]:
                    word = b"pass" if statement is dead[0] else b""
                    rows[statement.lineno - 1][statement.col_offset :] = [*word, 10]
                    more = statement.end_lineno - statement.lineno
                    rows[statement.lineno : statement.end_lineno] = [[10]] * more
                row = rows[node.test.lineno - 1]
                row[node.test.col_offset : node.test.end_col_offset] = list(str(value).encode())
        todo += [each for branch in branches for each in branch]
    return decided


def known(test: ast.expr, space: dict[str, Any]) -> bool | None:
    """Return the value of a condition over constants and outer numbers; None if it is known only in the kernel."""
    plain = (ast.Constant, ast.Name, ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp)
    names = {}
    for node in ast.walk(test):
        if isinstance(node, ast.Name):
            names[node.id] = space.get(node.id, space)
            if not isinstance(names[node.id], bool | int | float | None):
                return None
        elif isinstance(node, ast.expr) and not isinstance(node, plain):
            return None
    return bool(eval(compile(ast.Expression(test), "<condition>", "eval"), {"__builtins__": {}}, names))


def replacements(tree: ast.Module, space: dict[str, Any], made: dict[str, Any]) -> list[tuple[ast.Call, str]]:
    """Return the calls to be replaced, from the last to the first, each with its new text.

    Device functions that the source makes at compile time, such as `scaled_by(2)`, are added to `made` by their names.
    """
    found = []
    inside = (node for statement in tree.body[0].body for node in ast.walk(statement))  # not the decorators
    for node in inside:
        if not isinstance(node, ast.Call):
            continue
        name = resolved(node.func, space)
        if isinstance(name, FunctionType) and name.__module__ != "builtins":
            found.append((node, evaluated(node, name, space, made)))
        elif name is _unrolled:
            if set(each.arg for each in node.keywords) - {"unroll"}:
                raise TypeError("jit.range() takes start, stop and step, and `unroll`")
            found.append((node, f"range({', '.join(map(ast.unparse, node.args))})"))
        elif any(name is each for each in SHUFFLES) and node.keywords:
            found.append((node, shuffled(node, name)))
        elif name is laneid:
            found.append((node, f"{OURS}.laneid"))
        elif name is shared_memory:
            given = dict(zip(("dtype", "size"), node.args, strict=False))
            given |= {keyword.arg: keyword.value for keyword in node.keywords}
            if set(given) != {"dtype", "size"} or len(node.args) > 2:
                raise TypeError("jit.shared_memory() takes a dtype and a size")
            size = given["size"]
            shape = "0" if isinstance(size, ast.Constant) and size.value is None else ast.unparse(size)
            text = f"{OURS}.shared.array(shape={shape}, dtype={ast.unparse(given['dtype'])})"
            found.append((node, text))
        else:
            continue
        if node.end_lineno != node.lineno:
            raise SyntaxError(f"{ast.unparse(node.func)}(): write the call on one line")
    return sorted(found, key=lambda each: (each[0].lineno, each[0].col_offset), reverse=True)


# The lane that a shuffle reads, for the groups of `w` lanes into which `width` divides a warp; `i` is the thread's own.
SHUFFLES = {
    shfl_sync: "({i} & ~({w} - 1)) | ({v} & ({w} - 1))",
    shfl_up_sync: "{i} - {v} if {i} % {w} >= {v} else {i}",
    shfl_down_sync: "{i} + {v} if {i} % {w} + {v} < {w} else {i}",
    shfl_xor_sync: "{i} ^ {v} if {i} ^ {v} <= ({i} | ({w} - 1)) else {i}",
}


def shuffled(node: ast.Call, name: Any) -> str:
    """Return the text of a shuffle within groups of `width` lanes.

    Raises
    ------
    TypeError
        If it has another keyword, or not three other arguments.
    """
    if [each.arg for each in node.keywords] != ["width"] or len(node.args) != 3:
        raise TypeError(f"jit.{name.name}() takes a mask, a value, a lane or distance, and `width`")
    mask, value, by, width = map(ast.unparse, [*node.args, node.keywords[0].value])
    lane = SHUFFLES[name].format(i=f"{OURS}.laneid", v=f"({by})", w=f"({width})")
    return f"{OURS}.shfl_sync({mask}, {value}, {lane})"


def evaluated(node: ast.Call, function: FunctionType, space: dict[str, Any], made: dict[str, Any]) -> str:
    """Return the text of what a function without `rawkernel` gives for constants, at compile time as in CuPy.

    It is the text of a number, or the name of a device function, which is added to `made`.

    Raises
    ------
    TypeError
        If an argument is known only when the kernel runs: CuPy's words, and what to do.
    """
    try:
        arguments = [constant(each, space) for each in node.args]
        named = {each.arg: constant(each.value, space) for each in node.keywords}
    except ValueError:
        raise TypeError(
            f"Invalid function call '{function.__name__}': decorate it with @jit.rawkernel(device=True)"
        ) from None
    value = function(*arguments, **named)
    if getattr(value, "device", False) is True:  # a device function
        text = f"{MADE}{len(made)}"
        made[text] = value
        return text
    if not isinstance(value, int | float | complex):
        raise TypeError(
            f"{function.__name__}() gives a {type(value).__name__} where the stand-in takes a number or a device function"
        )
    return repr(value)


def constant(node: ast.expr, space: dict[str, Any]) -> Any:
    """Return the value of an expression of constants; raise a ValueError for any other."""
    if isinstance(node, ast.Name | ast.Attribute):
        value = resolved(node, space)
        if isinstance(value, int | float | complex):
            return value
        raise ValueError
    if isinstance(node, ast.BinOp):
        left, right = (ast.Constant(constant(each, space)) for each in (node.left, node.right))
        folded = ast.fix_missing_locations(ast.Expression(ast.BinOp(left, node.op, right)))
        return eval(compile(folded, "<constant>", "eval"), {"__builtins__": {}})
    return ast.literal_eval(node)


def resolved(node: ast.expr, space: dict[str, Any]) -> Any:
    """Return the object that a name or a dotted name stands for, or None."""
    if isinstance(node, ast.Name):
        return space.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = resolved(node.value, space)
        return None if owner is None else inspect.getattr_static(owner, node.attr, None)
    return None
