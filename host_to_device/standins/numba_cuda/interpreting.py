"""Runs a rewritten kernel as plain Python: each CUDA thread is a generator, resumed from one wait to the next.

This needs only Python and NumPy, so it also runs in a browser, and it accepts every control flow. It is slower than
`compiling` by orders of magnitude. `inferring` gives the kernel Numba's types first. What remains different:

- an integer divided by zero raises an error here, and gives an undefined result on a GPU;
- `math` functions of a float32 are computed in float64 and rounded: the last bit may differ;
- complex numbers, float16 and functions within functions keep the types of Python and NumPy.
"""

from __future__ import annotations

import ast
import copy
import math
import time
import types
from collections.abc import Callable, Iterable, Iterator
from types import CodeType
from typing import Any

import numpy as np

from host_to_device.standins.numba_cuda import array_functions, declarations, exchanges, helpers, vectors
from host_to_device.standins.numba_cuda.errors import KernelStopped
from host_to_device.standins.numba_cuda.layouts import as_dtype
from host_to_device.standins.numba_cuda.numbas_types import INTEGERS
from host_to_device.standins.numba_cuda.python_numbers import HELPERS as NUMBERS
from host_to_device.standins.numba_cuda.reading import where
from host_to_device.standins.numba_cuda.rewriting import (
    GRID_SYNC,
    MODULES,
    PREFIX,
    SYNC,
    WARP_SIZE,
    Program,
    SharedArray,
    syncs,
)
from host_to_device.standins.numba_cuda.saturating import saturated


def for_warps_of(size: int, function: Callable) -> Callable:
    """Return a helper for warps of `size` lanes."""
    if size == WARP_SIZE:
        return function
    space = {**function.__globals__, "WARP_SIZE": size, "signed": lambda bits: bits}
    return types.FunctionType(function.__code__, space, function.__name__, function.__defaults__)


def takers(warp_size: int) -> dict[str, Callable]:
    """Return the functions that compute a thread's result of each shuffle and vote, by name."""
    return {each.__name__.removeprefix("take_"): for_warps_of(warp_size, each) for each in helpers.TAKERS}


def lane_helpers(warp_size: int) -> dict[str, Callable]:
    """Return the helpers that depend on the number of lanes, by name."""
    return {name: for_warps_of(warp_size, getattr(helpers, name)) for name in ("laneid", "lanemask_lt")}


class Lower(ast.NodeTransformer):
    """Turns waits into yields, and float literals into float64, their type in Numba."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name):
            return node
        if node.func.id == SYNC:
            name, line, *values = node.args
            # A plain barrier, by far the most frequent wait, yields only its line number.
            asked = line
            if name.value != "syncthreads":
                asked = ast.Call(ast.Name(f"{PREFIX}asked", ast.Load()), [name, line, *values], [])
            return ast.fix_missing_locations(ast.copy_location(ast.Yield(asked), node))
        function = self.program.functions.get(node.func.id)
        if function is not None and function.waits:
            return ast.copy_location(ast.YieldFrom(node), node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if self.program.debug and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
            node.right = self.not_zero(node.right)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if self.program.debug and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
            node.value = self.not_zero(node.value)
        return node

    @staticmethod
    def not_zero(node: ast.expr) -> ast.expr:
        call = ast.Call(ast.Name(f"{PREFIX}not_zero", ast.Load()), [node], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def visit_loop(self, node: ast.For | ast.While) -> ast.AST:
        """Count the iterations of a loop with an activemask, so that lanes can be put in the program's order."""
        if not _has_activemask(node, self.program):
            return self.generic_visit(node)
        name = f"{PREFIX}turn{node.lineno}_{node.col_offset}"
        self.generic_visit(node)
        node.body.insert(0, ast.AugAssign(ast.Name(name, ast.Store()), ast.Add(), ast.Constant(1)))
        begin = ast.Assign([ast.Name(name, ast.Store())], ast.Constant(0))
        loop = ast.If(ast.Constant(True), [begin, node], [])
        return ast.fix_missing_locations(ast.copy_location(loop, node))

    visit_For = visit_While = visit_loop

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is float:
            text = f"{PREFIX}float64({node.value!r})" if math.isfinite(node.value) else None
            if text:
                call = ast.Call(ast.Name(f"{PREFIX}float64", ast.Load()), [ast.Constant(node.value)], [])
                return ast.fix_missing_locations(ast.copy_location(call, node))
        return node


def _has_activemask(tree: ast.AST, program: Program) -> bool:
    """Return whether a part of a program has an activemask, or calls a function that may have one."""
    return any(call.args[0].value == "activemask" for call in syncs(tree)) or any(
        isinstance(node, ast.Name)
        and node.id in program.functions
        and program.functions[node.id].waits
        and _has_activemask(program.functions[node.id].tree, program)
        for node in ast.walk(tree)
    )


def loops_around(program: Program) -> dict[tuple[str, str, int], tuple[tuple[int, str], ...]]:
    """Return the loops around each line of functions with an activemask: their lines and their counters' names.

    The keys are a function's file and name, and a line.
    """
    found: dict[tuple[str, str, int], tuple[tuple[int, str], ...]] = {}

    def walk(node: ast.AST, place: tuple[str, str], loops: tuple[tuple[int, str], ...]) -> None:
        for child in ast.iter_child_nodes(node):
            inner = loops
            if isinstance(child, ast.For | ast.While) and _has_activemask(child, program):
                inner = (*loops, (child.lineno, f"{PREFIX}turn{child.lineno}_{child.col_offset}"))
            if isinstance(child, ast.Call):
                found[(*place, child.lineno)] = loops
            walk(child, place, inner)

    for function in (*program.functions.values(), program.kernel):
        if _has_activemask(function.tree, program):
            walk(function.tree, (function.filename, function.tree.name), ())
    return found


class _HoistFloats(ast.NodeTransformer):
    """Creates every float literal once, outside the kernel."""

    def __init__(self) -> None:
        self.floats: dict[str, np.float64] = {}

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == f"{PREFIX}float64":
            value = node.args[0].value
            name = f"{PREFIX}k{len(self.floats)}"
            self.floats[name] = np.float64(value)
            return ast.copy_location(ast.Name(name, ast.Load()), node)
        return node


class _Math:
    """Python's `math` for NumPy's scalars: the result for a float32 is a float32."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(math, name)
        return function if not callable(function) else keep_float32(function)


def not_zero(divisor: Any) -> Any:
    """Return a divisor of a kernel made with `debug=True`.

    Raises
    ------
    ZeroDivisionError
        If it is zero.
    """
    if divisor == 0:
        raise ZeroDivisionError("division by zero")
    return divisor


def keep_float32(function: Callable) -> Callable:
    """Return a function of `math` with a float32 result for float32 arguments and a float64 result for others."""
    if function in (math.floor, math.ceil, math.trunc):  # on CUDA, Numba's return floats
        rounded = getattr(np, function.__name__)
        return lambda x: rounded(x) if type(x) is np.float32 else rounded(np.float64(x))
    if function in (math.isnan, math.isinf, math.isfinite):
        return function

    def call(*values: Any) -> Any:
        try:
            result = function(*values)
        except (ValueError, OverflowError):  # a GPU returns NaN or infinity
            result = getattr(np, {"pow": "power"}.get(function.__name__, function.__name__))(
                *map(np.float64, values)
            )
        if any(type(value) is np.float32 for value in values) and not any(
            isinstance(value, float) and type(value) is not np.float32 for value in values
        ):
            return np.float32(result)
        return np.float64(result) if isinstance(result, float) else result

    return call


def cast(kind: type[np.generic]) -> Callable:
    """Return the conversion to a type. A float saturates; an integer loses its upper bits. Both are kept in 64 bits."""
    if not issubclass(kind, np.integer):
        return kind
    dtype = np.dtype(kind)
    bits = 8 * dtype.itemsize
    mask, half = (1 << bits) - 1, 1 << (bits - 1) if issubclass(kind, np.signedinteger) else 0
    wide = np.uint64 if kind is np.uint64 else np.int64

    def narrowed(value: Any) -> np.integer:
        if isinstance(value, float | np.floating):
            return wide(saturated(value, dtype))
        return wide(((int(value) + half) & mask) - half)

    return narrowed


def as_integer(conversion: Callable) -> Callable:
    """Return a conversion whose result is one of Python's integers."""
    return lambda value: int(conversion(value))


def constant(value: Any) -> Any:
    """Return an object of the module as an interpreted kernel sees it; a uint64 remains NumPy's."""
    if isinstance(value, np.integer):
        return np.int64(value) if value.dtype.itemsize < 8 else value
    return as_seen(value)


def as_float(value: Any) -> np.floating:
    """Return the result of `float(value)` in a kernel: a float32 stays a float32."""
    return value if type(value) is np.float32 else np.float64(value)


def as_int(value: Any = 0) -> int:
    """Return the result of `int(value)` in a kernel, which has 64 bits."""
    return saturated(value, np.dtype(np.int64)) if isinstance(value, float | np.floating) else int(value)


def plain(value: Any) -> Any:
    """Return the interpreter's counterpart of a constant that only Numba understands; others as they are."""
    if isinstance(value, type) and issubclass(value, np.generic):
        return cast(value)
    if hasattr(value, "py_func"):  # a function compiled by numba.njit
        return value.py_func
    if type(value).__module__.startswith("numba"):
        return cast(as_dtype(value).type)
    if value is math:
        return _Math()
    if value is float:
        return as_float
    if value is int:
        return as_int
    if getattr(value, "__module__", "") == "math":
        return keep_float32(value)
    return value


def interpreted(
    program: Program, own_helpers: dict[str, Callable] | None = None, lower: type[Lower] = Lower
) -> Callable:
    """Return the kernel as a Python function; as a generator function, if its threads wait.

    `own_helpers` replaces helpers by name, and `lower` is the class that turns waits into yields. Checks pass their
    own.
    """
    space: dict[str, Any] = dict(MODULES)
    space |= {f"{PREFIX}{each.__name__}": each for each in helpers.KERNEL_HELPERS}
    atomics = [each for each in helpers.KERNEL_HELPERS if each.__name__.startswith("atomic_")]
    space |= {f"{PREFIX}{each.__name__}": helpers.of_array_type(each) for each in atomics}
    space |= {f"{PREFIX}{name}": helper for name, helper in (NUMBERS | array_functions.REDUCTIONS).items()}
    for name, vector in vectors.TYPES.items():
        kind = np.dtype(vector.base).type
        convert = as_integer(cast(kind)) if issubclass(kind, np.integer) else kind
        space[f"{PREFIX}vector_{name}"] = vectors.maker(name, convert)
    space |= {f"{PREFIX}to_{code}": as_integer(cast(np.dtype(code).type)) for code in INTEGERS}
    space |= {name: constant(plain(value)) for name, value in program.constants.items()}
    space[f"{PREFIX}local"] = lambda shape, dtype: as_seen(np.empty(shape, dtype))
    space[f"{PREFIX}float64"], space["float"] = np.float64, as_float
    space["int"] = as_int
    space[f"{PREFIX}asked"] = exchanges.asked
    space[f"{PREFIX}not_zero"] = not_zero
    for function in (declarations.as_declared, declarations.result_as_declared):
        space[f"{PREFIX}{function.__name__}"] = function
    space |= {f"{PREFIX}{name}": helper for name, helper in (own_helpers or {}).items()}
    floats, codes = lowered(program, lower)
    space |= floats
    for code in codes:
        exec(code, space)
    return space[program.kernel.tree.name]


def lowered(program: Program, lower: type[Lower]) -> tuple[dict[str, np.float64], list[CodeType]]:
    """Return a program's float literals by name, and the code that defines its functions; compiled once.

    A check runs one kernel under several schedules, and an exercise checks it for several cases.
    """
    functions = (*program.functions.values(), program.kernel)
    trees = [each.tree for each in functions]
    # The value holds the trees, so no other tree has the number of one of them.
    key = (lower, program.debug, *((id(each.tree), each.waits) for each in functions))
    if key not in program.lowered:
        hoist = _HoistFloats()
        codes = []
        for each in functions:
            tree = hoist.visit(lower(program).visit(copy.deepcopy(each.tree)))
            module = ast.fix_missing_locations(ast.Module([tree], []))
            codes.append(compile(module, each.filename, "exec"))
        program.lowered[key] = hoist.floats, codes, trees
    return program.lowered[key][:2]


class Interpreter:
    """Runs the blocks of one launch.

    Parameters
    ----------
    program
        The rewritten kernel.
    grid, block
        Sizes of the grid and of a block, three numbers each.
    shared
        The shared arrays of a block.
    order
        The order in which a block's threads take their turns, by number.
    seconds
        Time limit of the launch.
    function
        The kernel as a Python function; None to make it.
    warp_size
        32 or 64 lanes, as the program was made for.
    """

    def __init__(
        self,
        program: Program,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: tuple[np.ndarray, ...] = (),
        order: Iterable[int] | None = None,
        seconds: float = math.inf,
        function: Callable | None = None,
        warp_size: int = WARP_SIZE,
    ) -> None:
        self.warp_size, self.takers = warp_size, takers(warp_size)
        self.program, self.grid, self.block = program, grid, block
        self.shared = tuple(as_seen(each) for each in shared)
        self.function = function or interpreted(program, lane_helpers(warp_size))
        self.threads = block[0] * block[1] * block[2]
        self.order = list(range(self.threads)) if order is None else [int(k) for k in order]
        self.ends = time.monotonic() + seconds
        self.seconds = seconds
        self.loops: dict | None = None  # of a kernel with an activemask
        self.for_grid: dict[int, Any] = {}  # threads of the block that wait for the whole grid
        self.running: dict[
            int, Any
        ] = {}  # threads of the block that have not left the kernel, where they wait
        self.at = (0, 0)  # block and thread whose turn it is, for messages
        bx, by, _ = block
        self.places = [
            (thread % bx, thread // bx % by, thread // (bx * by)) for thread in range(self.threads)
        ]
        self.block_of_rest, self.rest = -1, ()  # the part of the position that all threads of a block share

    def position(self, block: int, thread: int) -> tuple[int, ...]:
        if block != self.block_of_rest:
            gx, gy, _ = self.grid
            self.block_of_rest = block
            self.rest = (block % gx, block // gx % gy, block // (gx * gy), *self.block, *self.grid)
        return (*self.places[thread], *self.rest, thread)

    def run(self, blocks: Iterable[int], arguments: tuple) -> None:
        """Run these blocks, one after another."""
        shared = self.shared
        with np.errstate(all="ignore"):
            if self.program.waits_for_grid:
                self.run_together([int(block) for block in blocks], arguments)
                return
            for block in map(int, blocks):
                if self.program.waits:
                    for _ in self.run_waiting(block, shared, arguments):
                        pass
                else:
                    for thread in self.order:
                        self.at = (block, thread)
                        self.function(self.position(block, thread), shared, None, *arguments)
                        self.thread_ended()
                        self.check_time()

    def check_time(self) -> None:
        if time.monotonic() > self.ends:
            raise KernelStopped(f"the launch was stopped after {self.seconds:g} s")

    def thread_ended(self) -> None:
        """Take note that a thread has left the kernel; a check keeps the time."""

    def run_together(self, blocks: list[int], arguments: tuple) -> None:
        """Run the blocks of a grid that wait for each other: each as far as its next barrier of the grid."""
        left = {block: self.run_waiting(block, self.shared_of(block), arguments) for block in blocks}
        while left:
            arrived: dict[int, dict[int, Any]] = {}  # block → the waits of its threads
            for block, steps in list(left.items()):
                self.enter(block)
                found = next(steps, None)
                if found is None:
                    del left[block]
                else:
                    arrived[block] = found
                self.leave(block)
            if arrived:
                self.release_grid(arrived, len(blocks))

    def shared_of(self, block: int) -> tuple:
        """Return the shared arrays of one of several blocks that run at once."""
        return tuple(
            array if each.captured is not None else as_seen(np.array(getattr(array, "array", array)))
            for array, each in zip(self.shared, self.program.shared, strict=True)
        )

    def enter(self, block: int) -> None:
        """Take note that another block has its turn; a check keeps its state."""

    def leave(self, block: int) -> None:
        """Take note that the block's turn is over."""

    def release_grid(self, arrived: dict[int, dict[int, Any]], blocks: int) -> None:
        """Release the grid, all of whose threads that have not ended wait at its barrier; a check looks at them."""

    def run_waiting(self, block: int, shared: tuple, arguments: tuple) -> Iterator[dict[int, Any]]:
        """Run one block whose threads wait for each other; yield where all of them wait for the whole grid.

        A thread yields what it waits at, or None where it only lets the other threads take their turns.
        """
        running = self.running = {
            thread: self.function(self.position(block, thread), shared, None, *arguments)
            for thread in self.order
        }
        waiting: dict[int, Any] = {}  # thread → the wait it has yielded
        answers: dict[int, Any] = {}
        while running:
            all_wait = True
            for thread in self.order:
                generator = running.get(thread)
                if generator is None or thread in waiting:
                    continue
                self.at = (block, thread)
                try:
                    asked = generator.send(answers.pop(thread, None))
                except StopIteration:
                    del running[thread]
                    self.thread_ended()
                    continue
                if asked is None:
                    all_wait = False
                else:
                    waiting[thread] = asked
            self.check_time()
            if not all_wait or self.release_warps(waiting, answers):
                continue
            self.for_grid = {
                thread: asked
                for thread, asked in waiting.items()
                if type(asked) is not int and asked[0] == GRID_SYNC
            }
            rest = {thread: asked for thread, asked in waiting.items() if thread not in self.for_grid}
            if rest or not self.for_grid:
                self.release_block(rest, answers)
                waiting = self.for_grid
            else:
                yield waiting
                self.running, waiting = running, {}

    def release_warps(self, waiting: dict[int, Any], answers: dict[int, Any]) -> bool:
        """Release the threads that wait at warp operations; return whether there were any.

        The threads of a warp that wait at the same operation in the same line are released together.
        """
        groups: dict[tuple[int, str, Any], list[int]] = {}
        for thread, asked in waiting.items():
            if type(asked) is not int and (asked[0] in self.takers or asked[0] == "syncwarp"):
                where = self.whereabouts(thread) if asked[0] == "activemask" else asked[1]
                groups.setdefault((thread // self.warp_size, asked[0], where), []).append(thread)
        groups = self.converged(groups)
        for (warp, name, _), threads in groups.items():
            values: dict[int, Any] = {thread: waiting[thread][3] for thread in threads if name != "syncwarp"}
            came = sum(1 << thread % self.warp_size for thread in threads)
            for thread in threads:
                asked = waiting.pop(thread)
                if name == "syncwarp":
                    continue
                mask = int(asked[2]) if name.startswith("shfl") else int(asked[2]) & came
                answers[thread] = self.takers[name](
                    _Brought(values, asked[3]),
                    warp * self.warp_size,
                    thread % self.warp_size,
                    self.threads,
                    mask,
                    *asked[3:],
                )
        return bool(groups)

    def whereabouts(self, thread: int) -> tuple:
        """Return the place of a thread in the program's order: lines, and between them the iterations of loops."""
        place: list[int] = []
        generator = self.running[thread]
        while generator is not None:
            frame, code = generator.gi_frame, generator.gi_code
            if self.loops is None:
                self.loops = loops_around(self.program)
            for line, counter in self.loops.get((code.co_filename, code.co_name, frame.f_lineno), ()):
                place += (line, frame.f_locals[counter])
            place.append(frame.f_lineno)
            generator = generator.gi_yieldfrom
        return tuple(place)

    @staticmethod
    def converged(groups: dict[tuple, list[int]]) -> dict[tuple, list[int]]:
        """Return the groups of lanes that may go on.

        The lanes of a warp come together again behind a branch. So those at an activemask wait until no lane of their
        warp is at an earlier place. A key begins with the warp, the operation and the place.
        """
        masks = [key for key in groups if key[1] == "activemask"]
        if not masks:
            return groups
        others = {key[0] for key in groups if key[1] != "activemask"}
        first = {warp: min(key[2] for key in masks if key[0] == warp) for warp, *_ in masks}
        held = {key for key in masks if key[0] in others or key[2] != first[key[0]]}
        return {key: threads for key, threads in groups.items() if key not in held}

    def release_block(self, waiting: dict[int, Any], answers: dict[int, Any]) -> None:
        """Release the block: every thread that has not ended waits at a barrier."""
        exchanges = {thread: asked for thread, asked in waiting.items() if type(asked) is not int}
        predicates = [bool(asked[3]) for asked in exchanges.values()]
        for thread, asked in exchanges.items():
            answers[thread] = {
                "syncthreads_count": sum(predicates),
                "syncthreads_and": int(all(predicates)),
                "syncthreads_or": int(any(predicates)),
            }[asked[0]]
        waiting.clear()


def same_tuple(value: tuple, parts: Iterable[Any]) -> tuple:
    """Return a tuple of the same kind, a named one too, with other parts."""
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


class WideIntegers:
    """An array of integers as a kernel sees it: reads return Python's integers, and stored values wrap."""

    __slots__ = ("array", "dtype", "half", "mask", "ndim", "shape", "size")

    def __init__(self, array: np.ndarray) -> None:
        bits = 8 * array.dtype.itemsize
        self.array, self.mask = array, (1 << bits) - 1
        self.size, self.shape, self.ndim, self.dtype = array.size, array.shape, array.ndim, array.dtype
        self.half = 1 << (bits - 1) if array.dtype.kind == "i" else 0

    def __getitem__(self, index: Any) -> Any:
        if type(index) is int and self.ndim == 1:  # by far the most frequent index
            return self.array.item(index)
        found = self.array[index]
        return WideIntegers(found) if isinstance(found, np.ndarray) else int(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        if type(value) is int:  # by far the most frequent type
            try:
                self.array[index] = value
                return
            except OverflowError:  # the value wraps, as below
                pass
        if not isinstance(value, int):
            value = saturated(value, self.dtype) if isinstance(value, float | np.floating) else value
            value = int(value) if isinstance(value, np.integer | np.bool_) else value
        if isinstance(value, int):
            value = ((value + self.half) & self.mask) - self.half
        self.array[index] = value.array if isinstance(value, WideIntegers) else value

    def __len__(self) -> int:
        return len(self.array)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.array, name)
        return WideIntegers(found) if isinstance(found, np.ndarray) else found


def as_seen(value: Any) -> Any:
    """Return an argument as an interpreted kernel sees it: as close to Numba's types as Python allows."""
    if isinstance(value, tuple):
        return same_tuple(value, map(as_seen, value))
    if isinstance(value, np.ndarray):
        if value.dtype.names:
            records = value.view(np.recarray)
            return records if value.ndim else records[()]  # without axes it is one record, in its place
        return WideIntegers(value) if value.dtype.kind in "iu" else value
    if type(value) is float:
        return np.float64(value)
    return int(value) if isinstance(value, np.integer) else value


class _Brought:
    """The values of a warp's threads for an exchange; for a thread without one, the reader's own value."""

    def __init__(self, values: dict[int, Any], own: Any) -> None:
        self.values, self.own = values, own

    def __getitem__(self, thread: int) -> Any:
        return self.values.get(int(thread), self.own)


def shared_arrays(arrays: list[SharedArray], dynamic: int) -> tuple[np.ndarray, ...]:
    """Return the shared arrays of a block. All dynamic shared arrays use the same bytes, as on a GPU."""
    memory = np.zeros(dynamic, np.uint8)
    return tuple(
        each.captured
        if each.captured is not None
        else memory[: dynamic // each.dtype.itemsize * each.dtype.itemsize].view(each.dtype)
        if each.shape is None
        else np.zeros(each.shape, each.dtype)
        for each in arrays
    )


def fault_line(problem: BaseException, program: Program) -> str:
    """Return `, file.py, line 12` for an exception that a kernel raised, or an empty string."""
    files = {each.filename: each for each in (*program.functions.values(), program.kernel)}
    found = None
    trace = problem.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in files:
            found = (files[trace.tb_frame.f_code.co_filename], trace.tb_lineno)
        trace = trace.tb_next
    return f", {where(found[0].original, found[1])}" if found else ""
