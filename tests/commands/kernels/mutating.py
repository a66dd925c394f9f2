"""Make mutants of a kernel: the same kernel with one change, of the kind that a learner makes by mistake.

A mutant is made from the text of the function, so that it differs from the original in one place only and keeps
its comments and lines. It is a kernel like any other: its text stands in `linecache` under a file name of its
own, and a check can name its lines. Device functions that a kernel calls by their names are mutated, too; the
kernel is then made again around the changed one.

Not everything that can be dropped is: an atomic in the head of a `while` or an `if` stays (there is no line to
put the plain access on), and so do masks of warp operations and functions without a `def`.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Edit = tuple[int, int, str]  # the bytes from … to … become this text

BARRIERS = {"syncthreads", "syncThreads", "syncwarp"}
FENCES = {"threadfence", "threadfence_block", "threadfence_system"}
IN_PLACE = {"add": "+", "sub": "-", "and_": "&", "or_": "|", "xor": "^"}
# What an atomic stores, from what was there (`old`) and its further arguments.
STORED = {name: f"{{old}} {sign} {{0}}" for name, sign in IN_PLACE.items()} | {
    "max": "max({old}, {0})",
    "min": "min({old}, {0})",
    "nanmax": "max({old}, {0})",
    "nanmin": "min({old}, {0})",
    "exch": "{0}",
    "inc": "{old} + 1 if {old} < {0} else 0",
    "dec": "{old} - 1 if 0 < {old} <= {0} else {0}",
    "cas": "{1} if {old} == {0} else {old}",
    "compare_and_swap": "{1} if {old} == {0} else {old}",
}
PLAIN = "plain"  # the variable that holds what a plain access has read
TIGHT = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant | ast.BinOp
LOOSER = {ast.Lt: ("<", "<="), ast.Gt: (">", ">=")}
TIGHTER = {ast.LtE: ("<=", "<"), ast.GtE: (">=", ">")}
EXITS = ast.Return | ast.Continue | ast.Break


class Text:
    """The text of one function, and where its parts stand."""

    def __init__(self, text: str, names: dict[str, Any] | None = None) -> None:
        self.text, self.names = text, names or {}
        self.bytes = text.encode()
        self.tree = ast.parse(text)
        self.starts = [0]
        for line in self.bytes.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.parent = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self.nodes = sorted(
            (node for node in ast.walk(self.tree) if hasattr(node, "lineno")),
            key=lambda node: (node.lineno, node.col_offset, -self.span(node)[1]),
        )

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the first byte of a node and the one after its last."""
        return (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def of(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.bytes[start:end].decode()

    def replaced(self, node: ast.AST, text: str) -> Edit:
        return (*self.span(node), text)

    def changed(self, edits: list[Edit]) -> str:
        made = self.bytes
        for start, end, text in sorted(edits, reverse=True):
            made = made[:start] + text.encode() + made[end:]
        return made.decode()

    def all(self, *kinds: type) -> Iterator[Any]:
        return (node for node in self.nodes if isinstance(node, kinds))

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the statement that a node is part of."""
        while not isinstance(node, ast.stmt):
            node = self.parent[node]
        return node

    def value(self, node: ast.expr) -> Any:
        """Return what a constant expression of the host stands for, or None."""
        literals = {
            name.id: each.value.value
            for each in self.all(ast.Assign)
            if isinstance(each.value, ast.Constant)
            for name in each.targets
            if isinstance(name, ast.Name)
        }
        try:
            return eval(self.of(node), dict(self.names), literals)
        except Exception:
            return None


def called(node: ast.AST) -> tuple[str, str]:
    """Return the last two parts of a called name: ("shared", "array"), ("cuda", "grid"), ("", "range")."""
    if not isinstance(node, ast.Call):
        return "", ""
    parts = ast.unparse(node.func).split(".")
    return parts[-2] if len(parts) > 1 else "", parts[-1]


def is_atomic(node: ast.AST) -> bool:
    owner, name = called(node)
    return owner == "atomic" and name in STORED and len(node.args) >= 3


def plus(text: Text, node: ast.expr, step: int) -> str:
    """Return the text of `node + step`, with numbers added up where they can be."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = node.operand.value if isinstance(node.operand, ast.Constant) else None
        if type(number) is int:
            return str(step - number)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return str(node.value + step)
    if (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add | ast.Sub)
        and isinstance(node.right, ast.Constant)
        and type(node.right.value) is int
    ):
        number = (node.right.value if isinstance(node.op, ast.Add) else -node.right.value) + step
        return text.of(node.left) + (f" {'-' if number < 0 else '+'} {abs(number)}" if number else "")
    loose = isinstance(node, ast.BinOp) and isinstance(
        node.op, ast.LShift | ast.RShift | ast.BitAnd | ast.BitOr | ast.BitXor
    )
    inner = text.of(node) if isinstance(node, TIGHT) and not loose else f"({text.of(node)})"
    return f"{inner} {'-' if step < 0 else '+'} {abs(step)}"


# -- the operators: each yields the edits of one mutant at a time


def drop_guard(text: Text) -> Iterator[list[Edit]]:
    """Do what a condition guards in any case, or drop one part of the condition."""
    for node in text.all(ast.If, ast.IfExp):
        leaves = isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], EXITS)
        if isinstance(node, ast.IfExp):
            yield [text.replaced(node, text.of(node.body))]
        else:
            yield [text.replaced(node.test, "False" if leaves else "True")]
        # `a and b` guards twice, and so does `if a or b: return`.
        joint, word = (ast.Or, " or ") if leaves else (ast.And, " and ")
        if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, joint):
            parts = [
                f"({text.of(part)})" if isinstance(part, ast.BoolOp | ast.IfExp) else text.of(part)
                for part in node.test.values
            ]
            for left_out in range(len(parts)):
                rest = word.join(part for k, part in enumerate(parts) if k != left_out)
                yield [text.replaced(node.test, rest)]
        for each in ast.walk(node.test):
            if isinstance(each, ast.Compare) and len(each.ops) == 2 and not leaves:  # `0 <= i < n`
                middle = text.span(each.comparators[0])
                yield [(middle[1], text.span(each)[1], "")]
                yield [(text.span(each)[0], middle[0], "")]


def _dropped(text: Text, which: set[str]) -> Iterator[list[Edit]]:
    for node in text.all(ast.Expr):
        if called(node.value)[1] in which:
            yield [text.replaced(node, "pass")]


def drop_barrier(text: Text) -> Iterator[list[Edit]]:
    """Let the threads of a block or a warp go on without waiting for each other."""
    yield from _dropped(text, BARRIERS)


def drop_fence(text: Text) -> Iterator[list[Edit]]:
    """Publish without a fence."""
    yield from _dropped(text, FENCES)


def plain_atomic(text: Text) -> Iterator[list[Edit]]:
    """Read, change and store an element instead of doing it in one step."""
    for node in filter(is_atomic, text.all(ast.Call)):
        name = called(node)[1]
        array, *rest = (text.of(each) for each in node.args)
        if name == "compare_and_swap":
            index, values = "0", rest  # it takes no index: the first element is meant
        else:
            index, values = rest[0], rest[1:]
            if isinstance(node.args[1], ast.Tuple):
                index = ", ".join(text.of(each) for each in node.args[1].elts)
        element = f"{array}[{index}]"
        statement = text.statement(node)
        if isinstance(statement, ast.Expr) and statement.value is node:
            if name in IN_PLACE:
                plain = f"{element} {IN_PLACE[name]}= {values[0]}"
            else:
                plain = f"{element} = {STORED[name].format(*values, old=element)}"
            yield [text.replaced(statement, plain)]
        elif isinstance(statement, ast.Assign | ast.AugAssign | ast.Return):
            start = text.span(statement)[0]
            indent = " " * statement.col_offset
            store = STORED[name].format(*values, old=PLAIN)
            before = f"{PLAIN} = {element}\n{indent}{element} = {store}\n{indent}"
            yield [(start, start, before), text.replaced(node, PLAIN)]


def indices(text: Text) -> Iterator[list[ast.expr]]:
    """Yield the parts of every index into an array, atomics' included."""
    for node in text.all(ast.Subscript, ast.Call):
        if isinstance(node, ast.Subscript):
            if isinstance(node.value, ast.Attribute) and node.value.attr in ("shape", "strides"):
                continue
            if called(node.value)[1] in ("grid", "gridsize"):
                continue
            index = node.slice
        elif is_atomic(node) and called(node)[1] != "compare_and_swap":
            index = node.args[1]
        else:
            continue
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        yield [
            part
            for part in parts
            if not isinstance(part, ast.Slice)
            and not (isinstance(part, ast.Constant) and type(part.value) is not int)
        ]


def shift_index(text: Text, to_the_last: bool = False) -> Iterator[list[Edit]]:
    """Take the next or the previous element. Before a literal 0 is the last element: no check calls `a[-1]` a fault.

    With `to_the_last` there is also the mutant that takes the last element for the first: its result may be another.
    """
    for parts in indices(text):
        for part in parts:
            first = isinstance(part, ast.Constant) and part.value == 0
            for step in (1,) if first and not to_the_last else (1, -1):
                yield [text.replaced(part, plus(text, part, step))]


def swap_indices(text: Text) -> Iterator[list[Edit]]:
    """Take row for column: in one access, or where the thread asks for its position."""
    pairs = [parts for parts in indices(text) if len(parts) == 2]
    for node in text.all(ast.Assign):
        target = node.targets[0]
        if called(node.value)[1] == "grid" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
            pairs.append(target.elts)
    for first, second in pairs:
        if text.of(first) != text.of(second):
            yield [text.replaced(first, text.of(second)), text.replaced(second, text.of(first))]


def shrink_array(text: Text) -> Iterator[list[Edit]]:
    """Make a shared or local array one element shorter, in each dimension."""
    for node in text.all(ast.Call):
        if called(node) not in (("shared", "array"), ("local", "array")):
            continue
        given = [each.value for each in node.keywords if each.arg == "shape"] + node.args[:1]
        shape = text.value(given[0]) if given else None
        sizes = list(shape) if isinstance(shape, tuple) else [shape]
        if not all(isinstance(size, int) for size in sizes):
            continue
        for axis, size in enumerate(sizes):
            if size > 1:
                smaller = [*sizes[:axis], size - 1, *sizes[axis + 1 :]]
                made = ", ".join(map(str, smaller))
                made = f"({made}{',' * (len(smaller) == 1)})" if isinstance(shape, tuple) else made
                yield [text.replaced(given[0], made)]


def change_stride(text: Text) -> Iterator[list[Edit]]:
    """Go on by one element too many: in a loop, from block to block, from row to row."""
    changed: dict[ast.AST, int] = {}  # what becomes larger, and by how much
    of_blocks = {
        target.id
        for node in text.all(ast.Assign)
        if ".blockIdx" in ast.unparse(node.value) and isinstance(node.value, ast.Attribute)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    within_index = {id(each) for parts in indices(text) for part in parts for each in ast.walk(part)}
    for node in text.nodes:
        if called(node)[1] == "range" and len(node.args) == 3:
            step = node.args[2]
            backwards = isinstance(step, ast.UnaryOp)
            changed[step] = -1 if backwards else 1
        elif isinstance(node, ast.While):
            asked = {each.id for each in ast.walk(node.test) if isinstance(each, ast.Name)}
            for each in ast.walk(node):
                if (
                    isinstance(each, ast.AugAssign)
                    and isinstance(each.op, ast.Add)
                    and isinstance(each.target, ast.Name)
                    and each.target.id in asked
                    and not isinstance(each.value, ast.Constant)
                ):
                    changed[each.value] = 1
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                words = ast.unparse(side)
                if ".blockIdx" in words or words in of_blocks:
                    changed[other] = 1
            inside = isinstance(text.parent[node], ast.BinOp) and id(node) in within_index
            if inside and isinstance(text.parent[node].op, ast.Add) and node.left not in changed:
                # `2 * i` and `i * width`: of the two, the step is the number.
                changed[node.left if isinstance(node.left, ast.Constant) else node.right] = 1
        elif ast.unparse(node).startswith("cuda.blockDim.") and isinstance(text.parent[node], ast.BinOp):
            changed[node] = 1
    for node, step in changed.items():
        made = plus(text, node, step)
        joined = isinstance(text.parent[node], ast.BinOp) and not made.isdigit()
        yield [text.replaced(node, f"({made})" if joined else made)]


def loosen_comparison(text: Text) -> Iterator[list[Edit]]:
    """Let a comparison hold for one number more; where it leaves the kernel or the loop, for one less."""
    for node in text.all(ast.Compare):
        top: ast.AST = node
        while isinstance(text.parent[top], ast.BoolOp):
            top = text.parent[top]
        around = text.parent[top]
        leaves = (
            isinstance(around, ast.If)
            and around.test is top
            and len(around.body) == 1
            and isinstance(around.body[0], EXITS)
        )
        sides = [node.left, *node.comparators]
        for number, operation in enumerate(node.ops):
            words = (TIGHTER if leaves else LOOSER).get(type(operation))
            if words:
                start, end = text.span(sides[number])[1], text.span(sides[number + 1])[0]
                between = text.bytes[start:end].decode()
                yield [(start, end, between.replace(*words, 1))]


def shorten_loop(text: Text) -> Iterator[list[Edit]]:
    """Leave out the last turn of a loop."""
    for node in text.all(ast.For):
        if called(node.iter)[1] == "range" and node.iter.args:
            arguments = node.iter.args
            backwards = len(arguments) == 3 and isinstance(arguments[2], ast.UnaryOp)
            stop = arguments[min(1, len(arguments) - 1)]
            yield [text.replaced(stop, plus(text, stop, 1 if backwards else -1))]
        elif isinstance(node.iter, ast.Tuple) and len(node.iter.elts) > 2:
            *_, before, last = node.iter.elts
            yield [(text.span(before)[1], text.span(last)[1], "")]


OPERATORS: dict[str, Callable[[Text], Iterator[list[Edit]]]] = {
    "drop a guard": drop_guard,
    "drop a barrier": drop_barrier,
    "drop a fence": drop_fence,
    "make an atomic plain": plain_atomic,
    "shift an index": shift_index,
    "swap indices": swap_indices,
    "shrink an array": shrink_array,
    "change a stride": change_stride,
    "loosen a comparison": loosen_comparison,
    "shorten a loop": shorten_loop,
}


@dataclass(frozen=True)
class Change:
    """One change of a function's text: the lines concerned as they were and as they are, and all of the text."""

    operator: str
    before: str
    after: str
    text: str = field(repr=False)


def changes(source: str, names: dict[str, Any] | None = None) -> list[Change]:
    """Return every change of a function's text; two that read the same are told apart by a number."""
    text, found = Text(source, names), []
    seen: Counter = Counter()
    for operator, edits_of in OPERATORS.items():
        for edits in edits_of(text):
            made = text.changed(edits)
            before, after = _lines_that_differ(source, made)
            seen[operator, before, after] += 1
            times = seen[operator, before, after]
            found.append(Change(operator, before, after + (f"  # {times}" if times > 1 else ""), made))
    return found


def _lines_that_differ(old: str, new: str) -> tuple[str, str]:
    first, second = ([line.strip() for line in each.splitlines()] for each in (old, new))
    while first and second and first[0] == second[0]:
        del first[0], second[0]
    while first and second and first[-1] == second[-1]:
        del first[-1], second[-1]
    return "; ".join(first), "; ".join(second)


# -- from texts to kernels


def source_of(function: Callable) -> str | None:
    """Return a function's text from its `def` on, or None if it has none (a lambda)."""
    lines = inspect.getsource(function)
    text = textwrap.dedent(lines)
    definition = ast.parse(text).body[0]
    if not isinstance(definition, ast.FunctionDef):
        return None
    return "".join(text.splitlines(keepends=True)[definition.lineno - 1 :])


def names_of(function: Callable) -> dict[str, Any]:
    """Return what the free names of a function stand for."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {**function.__globals__, **{name: cell.cell_contents for name, cell in cells}}


def made_again(dispatcher: Any, text: str, filename: str, names: dict[str, Any] | None = None) -> Any:
    """Return a kernel or device function like this one with another text; `names` replaces what it knows."""
    original = dispatcher.py_func
    space = {**names_of(original), **(names or {})}
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec", dont_inherit=True), space)
    return type(dispatcher)(space[original.__name__], dispatcher.device, dispatcher.given_signatures)


@dataclass(frozen=True)
class Mutant:
    """A change of a kernel, or of a device function that it calls, directly or through others."""

    change: Change
    path: tuple[tuple[str, Any], ...]  # from the kernel to what is changed: name in the caller, dispatcher

    @property
    def operator(self) -> str:
        return self.change.operator

    @property
    def function(self) -> str:
        return self.path[-1][1].__name__

    def kernel(self) -> Any:
        """Return the mutant as a kernel."""
        text, names = self.change.text, {}
        for number, (name, dispatcher) in reversed(list(enumerate(self.path))):
            what = self.change.after if number == len(self.path) - 1 else f"calls {self.function}"
            filename = f"<mutant of {dispatcher.__name__}: {what}>"
            made = made_again(dispatcher, text, filename, names)
            if number:
                names = {name: made}
                text = source_of(self.path[number - 1][1].py_func)
        return made


def mutants(kernel: Any, path: tuple = ()) -> list[Mutant]:
    """Return every mutant of a kernel, and of the device functions that it calls by name."""
    path = path or ((kernel.__name__, kernel),)
    function = path[-1][1].py_func
    source = source_of(function)
    if source is None:
        return []
    names = names_of(function)
    found = [Mutant(change, path) for change in changes(source, names)]
    callees = {
        node.func.id: names[node.func.id]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    }
    for name, callee in callees.items():
        if getattr(callee, "device", False) and hasattr(callee, "py_func"):
            found += mutants(kernel, (*path, (name, callee)))
    return found
