"""Writes a cut kernel as Python text: a function for each region, and the code of a block that calls them."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from typing import Any

from host_to_device.standins.numba_cuda.flow import makes_local, stored
from host_to_device.standins.numba_cuda.preparing import ALIVE
from host_to_device.standins.numba_cuda.regions import Agree, Boundary, Branch, Cut, Loop, Region, Uniform
from host_to_device.standins.numba_cuda.rewriting import (
    BLOCK_SYNCS,
    LINEAR,
    PREFIX,
    SHARED,
    STOP,
    THREAD,
    SharedArray,
)


class _RegionBody(ast.NodeTransformer):
    """Prepares a region's statements: a return marks the thread as ended, and local arrays belong to the block."""

    def __init__(self, local_arrays: dict[str, ast.Call], leave: ast.stmt) -> None:
        self.local_arrays, self.leave = local_arrays, leave

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        dead = ast.parse(f"{ALIVE}[{THREAD}[{LINEAR}]] = False").body[0]
        for each in ast.walk(dead):
            ast.copy_location(each, node)
        return [dead, ast.copy_location(copy.copy(self.leave), node)]

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in self.local_arrays and makes_local(node.value):
            return ast.copy_location(ast.Pass(), node)  # its memory is part of the block's array
        return node


def shapes_of_shared(cut: Cut, shared: list[SharedArray]) -> dict[str, str]:
    """Return the shapes of shared arrays, by the variables that always hold them, as texts for `of_shape`."""
    found: dict[str, set[str | None]] = {}
    for statement in (node.statement for node in _nodes(cut.nodes) if isinstance(node, Uniform)):
        value = getattr(statement, "value", None)
        shape = None
        if (
            isinstance(value, ast.Subscript)
            and isinstance(value.value, ast.Name)
            and value.value.id == SHARED
        ):
            array = shared[value.slice.value]
            shape = ",".join(map(str, array.shape)) if array.shape and array.captured is None else None
        for name in stored(statement):
            found.setdefault(name, set()).add(shape)
    return {name: each.pop() for name, each in found.items() if len(each) == 1 and None not in each}


def _nodes(nodes: list) -> Iterator[Any]:
    for node in nodes:
        yield node
        for part in ("body", "orelse", "before_test"):
            yield from _nodes(getattr(node, part, None) or [])


def region_functions(
    cut: Cut, number: int, parameters: list[str], shapes: dict[str, str]
) -> tuple[list[ast.FunctionDef], list[str]]:
    """Return the functions of one region, and the block's variables that it needs.

    The last function runs the region for all threads. If a thread may return from inside a loop, a function before it
    runs the region for one thread.
    """
    region = cut.regions[number]
    own_function = any(_returns_in_loop(each) for each in region.statements)
    prepare = _RegionBody(cut.local_arrays, ast.Return(None) if own_function else ast.Continue())
    body = [prepare.visit(copy.deepcopy(each)) for each in region.statements]
    body = [each for part in body for each in (part if isinstance(part, list) else [part])]
    used = {node.id for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name)}
    arrays = {*region.loads, *region.stores, *(name for name, _ in region.masks)}
    results = sorted(name for name in used if re.fullmatch(rf"{PREFIX}(r|pub)\d+", name))
    takes = [name for name in parameters if name in used]
    takes += [name for name in sorted(cut.uniform & used) if name not in takes]
    takes += results + [f"{PREFIX}p_{name}" for name in sorted(arrays)]
    line = region.statements[0]
    locals_ = set(cut.local_arrays)
    loads = [*region.loads, *sorted(locals_ & set(region.stores) - set(region.loads))]
    load = [f"{name} = {PREFIX}p_{name}[{THREAD}[{LINEAR}]]" for name in loads]
    store = [
        f"{PREFIX}p_{name}[{THREAD}[{LINEAR}]] = {name}" for name in region.stores if name not in locals_
    ]
    known = [
        f"{name} = {PREFIX}compiled.of_shape({name}, {shape!r})"
        for name, shape in sorted(shapes.items())
        if name in takes
    ]
    body = [*_parse(load, line), *body, *_parse(store, line)]
    functions = []
    hidden = [THREAD, SHARED, STOP, ALIVE, *takes]
    if own_function:
        functions.append(
            _function(f"{PREFIX}region{number}_thread", hidden, [*_parse(known, line), *body], line)
        )
        body = _parse([f"{PREFIX}region{number}_thread({', '.join(hidden)})"], line)
    conditions = [f"{ALIVE}[{PREFIX}k]"]
    conditions += [f"{'' if wanted else 'not '}{PREFIX}p_{name}[{PREFIX}k]" for name, wanted in region.masks]
    position = [f"{PREFIX}{axis}[{PREFIX}k]" for axis in "xyz"]
    position += [f"{PREFIX}base[{k}]" for k in range(3, LINEAR)] + [f"np.int32({PREFIX}k)"]
    entry = [
        f"{PREFIX}k = {PREFIX}order[{PREFIX}j]",
        f"if not ({' and '.join(conditions)}): continue",
        f"{STOP}[2] = {PREFIX}k",
        f"{THREAD} = ({', '.join(position)})",
    ]
    loop = _parse([f"for {PREFIX}j in range(len({PREFIX}order)): pass"], line)[0]
    loop.body = [*_parse(entry, line), *body]
    whole = [loop] if own_function else [*_parse(known, line), loop]
    return [*functions, _function(f"{PREFIX}region{number}", [*POSITIONS, *hidden[1:]], whole, line)], takes


# The parameters of every region: the order of the block's threads, their indices, and the block.
POSITIONS = tuple(f"{PREFIX}{name}" for name in ("order", "x", "y", "z", "base"))


def _function(name: str, arguments: list[str], body: list[ast.stmt], place: ast.AST) -> ast.FunctionDef:
    function = ast.FunctionDef(
        name=name,
        args=ast.arguments(
            posonlyargs=[],
            args=[ast.arg(each) for each in arguments],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        ),
        body=body or [ast.Pass()],
        decorator_list=[],
    )
    function.type_params = []
    return ast.fix_missing_locations(ast.copy_location(function, place))


def _returns_in_loop(statement: ast.stmt) -> bool:
    """Return whether a loop in this statement contains a return."""
    return any(
        isinstance(inner, ast.Return)
        for node in ast.walk(statement)
        if isinstance(node, ast.For | ast.While)
        for inner in ast.walk(node)
    )


def _parse(lines: list[str], place: ast.AST) -> list[ast.stmt]:
    statements = [ast.parse(line).body[0] for line in lines]
    for statement in statements:
        for node in ast.walk(statement):
            ast.copy_location(node, place)
    return statements


class BlockProgram:
    """Writes the part of the launch function that runs one block: a loop over threads for each region."""

    def __init__(self, cut: Cut, takes: list[list[str]], at_barrier: str = "") -> None:
        self.cut, self.takes, self.at_barrier = cut, takes, at_barrier
        self.lines: list[str] = []

    def write(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def nodes(self, nodes: list, depth: int) -> None:
        if not nodes:
            self.write(depth, "pass")
        for node in nodes:
            if isinstance(node, Region):
                self.region(node, depth)
            elif isinstance(node, Uniform):
                self.write(depth, ast.unparse(node.statement))
            elif isinstance(node, Boundary):
                self.boundary(node, depth)
            elif isinstance(node, Agree):
                self.write(depth, f"{node.name} = {PREFIX}agreement({PREFIX}p_{node.brought}, {ALIVE})")
            elif isinstance(node, Branch):
                self.write(depth, f"if {ast.unparse(node.test)}:")
                self.nodes(node.body, depth + 1)
                if node.orelse:
                    self.write(depth, "else:")
                    self.nodes(node.orelse, depth + 1)
            elif isinstance(node, Loop):
                self.loop(node, depth)

    def region(self, region: Region, depth: int) -> None:
        number = next(k for k, each in enumerate(self.cut.regions) if each is region)
        block = (f"{PREFIX}order", f"{PREFIX}x", f"{PREFIX}y", f"{PREFIX}z", THREAD)
        self.write(
            depth, f"{PREFIX}region{number}({', '.join((*block, SHARED, STOP, ALIVE, *self.takes[number]))})"
        )

    def boundary(self, node: Boundary, depth: int) -> None:
        if self.at_barrier:
            self.write(depth, self.at_barrier)
        if node.value is None:
            self.write(depth, "pass")
            return
        tag = node.value.removeprefix(f"{PREFIX}v")
        values = f"{PREFIX}p_{node.value}"
        if node.kind in BLOCK_SYNCS:
            self.write(depth, f"{PREFIX}r{tag} = {PREFIX}{node.kind}({values}, {ALIVE})")
        else:
            self.write(depth, f"{PREFIX}pub{tag}[:] = {values}")
            if node.kind == "activemask":
                self.write(depth, f"{values}[:] = False")  # until a lane comes again

    def loop(self, node: Loop, depth: int) -> None:
        header = node.header
        is_for = isinstance(header, ast.For)
        self.write(
            depth, f"for {header.target.id} in {ast.unparse(header.iter)}:" if is_for else "while True:"
        )
        self.write(depth + 1, f"if {PREFIX}stopped({STOP}): raise {PREFIX}KernelStopped()")
        if self.cut.returns:
            self.write(depth + 1, f"if not {PREFIX}anybody({ALIVE}): break")
        if not is_for:
            if node.before_test:
                self.nodes(node.before_test, depth + 1)
            self.write(depth + 1, f"if not ({ast.unparse(header.test)}): break")
        self.nodes(node.body, depth + 1)

    def parameters(self, names: list[str]) -> None:
        """Restore, for every block, the arguments that the kernel overwrites."""
        for name in names:
            if name in self.cut.assigned:
                self.write(2, f"{name} = {PREFIX}in_{name}")
                if name in self.cut.remembered:
                    self.write(2, f"{PREFIX}p_{name}[:] = {name}")
