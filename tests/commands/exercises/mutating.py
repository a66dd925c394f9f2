"""Make mutants of an exercise's solution: the same cell with one change, of the kind that a learner makes.

`tests.commands.kernels.mutating` has the operators that break a kernel. Here they are held to what the learner writes, the
lines between the markers of a solution cell, and joined by those that an exercise needs besides: what goes wrong on
the host (a copy inside the loop, a launch that is too short, a forgotten step), in the values (another dtype, a
constant) and by leaving too early. CUDA C++ in a string is changed by `mutating_cuda`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from authoring.solutions import BEGIN, END
from tests.commands.exercises import mutating_cuda
from tests.commands.kernels import mutating as kernels
from tests.commands.kernels.mutating import BARRIERS, FENCES, Change, Edit, Text, called, is_atomic, plus

Function = ast.FunctionDef
LOOPS = ast.For | ast.While
LEAVES = ast.Return | ast.Continue | ast.Break | ast.Raise

# A number type, and one that a learner might take for it.
OTHER_TYPE = {"float32": "float64", "float64": "float32", "int32": "float32", "int64": "float64"}
# In the memory of a kernel, a wider type computes the same: there the fraction or the high bits are lost.
NARROWER = {"float32": "int32", "float64": "int32", "int32": "int8", "int64": "int8", "uint32": "uint8"}
# What makes an array on the device, by the name that it is called with, and how to copy there and back.
ROUND_TRIPS = {
    "cuda": ({"to_device", "device_array", "device_array_like"}, "cuda.to_device({0}.copy_to_host())"),
    "cp": (
        {"asarray", "array", "zeros", "ones", "empty", "full", "arange", "zeros_like", "empty_like"},
        "cp.asarray(cp.asnumpy({0}))",
    ),
    "": ({"to", "cuda"}, "{0}.cpu().to({0}.device)"),
}


def functions(text: Text) -> Iterator[Function]:
    yield from text.all(ast.FunctionDef)


def is_device(function: Function) -> bool:
    """Tell whether a function runs on the device: whether something like `cuda.jit` decorates it."""
    return any(
        re.search(r"\b(jit|rawkernel|vectorize|fuse)\b", ast.unparse(d)) for d in function.decorator_list
    )


def within(text: Text, node: ast.AST) -> Function | None:
    """Return the function that a node belongs to."""
    while node is not None and not isinstance(node, ast.FunctionDef):
        node = text.parent.get(node)
    return node


def on_device(text: Text, node: ast.AST) -> bool:
    function = within(text, node)
    return function is not None and is_device(function)


def launches(text: Text) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """Yield every launch with its number of blocks: `kernel[b, t](…)`, or CuPy's `kernel((b,), (t,), (…))`."""
    for node in text.all(ast.Call):
        if isinstance(node.func, ast.Subscript) and isinstance(node.func.slice, ast.Tuple):
            if len(node.func.slice.elts) >= 2:
                yield node, node.func.slice, node.func.slice.elts[0]
        elif len(node.args) == 3 and all(isinstance(each, ast.Tuple) for each in node.args):
            yield node, node.args[0], node.args[0]


def inserted_before(text: Text, statement: ast.stmt, line: str) -> Edit:
    start = text.span(statement)[0]
    return (start, start, f"{line}\n{' ' * statement.col_offset}")


def inserted_after(text: Text, statement: ast.stmt, line: str) -> Edit:
    end = text.span(statement)[1]
    return (end, end, f"\n{' ' * statement.col_offset}{line}")


def on_its_own_lines(loop: ast.For | ast.While) -> bool:
    return loop.body[0].lineno > loop.lineno


def tightly(text: Text, node: ast.expr) -> str:
    tight = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant
    return text.of(node) if isinstance(node, tight) else f"({text.of(node)})"


# -- the operators: each yields the edits of one mutant at a time


def shift_index(text: Text) -> Iterator[list[Edit]]:
    """Take the next or the previous element; how a kernel is launched is not an index."""
    yield from _outside_of_launches(text, partial(kernels.shift_index, to_the_last=True))


def swap_indices(text: Text) -> Iterator[list[Edit]]:
    """Take row for column; two numbers of a launch are no indices."""
    yield from _outside_of_launches(text, kernels.swap_indices)
    for node in text.all(ast.Attribute):
        if node.attr in "xy" and ast.unparse(node.value).split(".")[-1] in ("threadIdx", "blockIdx"):
            other = "y" if node.attr == "x" else "x"
            if f".{other}" in text.text:
                yield [text.replaced(node, f"{text.of(node.value)}.{other}")]


def _outside_of_launches(
    text: Text, operator: Callable[[Text], Iterator[list[Edit]]]
) -> Iterator[list[Edit]]:
    spans = [text.span(configuration) for _, configuration, _ in launches(text)]
    for edits in operator(text):
        if not any(start <= at and end <= stop for at, end, _ in edits for start, stop in spans):
            yield edits


def wrong_thread(text: Text) -> Iterator[list[Edit]]:
    """Forget the block, or the thread within it."""
    for node in text.all(ast.Call):
        if (
            called(node) == ("cuda", "grid")
            and len(node.args) == 1
            and isinstance(node.args[0], ast.Constant)
        ):
            axes = "xyz"[: node.args[0].value]
            for of in ("threadIdx", "blockIdx"):
                yield [text.replaced(node, ", ".join(f"cuda.{of}.{axis}" for axis in axes))]


def swap_arguments(text: Text) -> Iterator[list[Edit]]:
    """Hand a kernel its last two arguments the wrong way round."""
    for node, _, _ in launches(text):
        given = node.args[2].elts if not isinstance(node.func, ast.Subscript) else node.args
        if len(given) >= 2:
            first, second = given[-2:]
            yield [text.replaced(first, text.of(second)), text.replaced(second, text.of(first))]


def swap_launch(text: Text) -> Iterator[list[Edit]]:
    """Take the number of threads for the number of blocks: it works until there are too many blocks for a block."""
    for node, configuration, _ in launches(text):
        first, second = configuration.elts[:2] if isinstance(node.func, ast.Subscript) else node.args[:2]
        if text.of(first) != text.of(second):
            yield [text.replaced(first, text.of(second)), text.replaced(second, text.of(first))]


def shorten_launch(text: Text) -> Iterator[list[Edit]]:
    """Launch one block too few, or round their number down."""
    for _, _, blocks in launches(text):
        for part in blocks.elts if isinstance(blocks, ast.Tuple) else [blocks]:
            if not (isinstance(part, ast.Constant) and part.value == 1):
                yield [text.replaced(part, plus(text, part, -1))]
    for node in text.nodes:
        if called(node)[1] == "ceil" and len(node.args) == 1:
            yield [text.replaced(node, f"int({text.of(node.args[0])})")]
        elif called(node)[1] == "cdiv" and len(node.args) == 2:
            yield [text.replaced(node, " // ".join(tightly(text, each) for each in node.args))]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            size = _rounded_up(node)
            if size is not None:
                yield [text.replaced(node, f"{tightly(text, size)} // {tightly(text, node.right)}")]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = node.operand  # `-(-n // size)`
            if (
                isinstance(inner, ast.BinOp)
                and isinstance(inner.op, ast.FloorDiv)
                and isinstance(inner.left, ast.UnaryOp)
                and isinstance(inner.left.op, ast.USub)
            ):
                yield [
                    text.replaced(
                        node, f"{tightly(text, inner.left.operand)} // {tightly(text, inner.right)}"
                    )
                ]


def _rounded_up(node: ast.BinOp) -> ast.expr | None:
    """Return `n` of `(n + size - 1) // size`, where the sum may be written as a number."""
    left = node.left
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Sub) and ast.unparse(left.right) == "1":
        summed = left.left
        if isinstance(summed, ast.BinOp) and ast.unparse(summed.right) == ast.unparse(node.right):
            return summed.left if isinstance(summed.op, ast.Add) else None
    elif isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
        given = left.right, node.right
        if all(isinstance(each, ast.Constant) for each in given) and given[0].value == given[1].value - 1:
            return left.left
    return None


def wrong_dtype(text: Text) -> Iterator[list[Edit]]:
    """Compute, store or return another type of number."""
    for node in text.all(ast.Name, ast.Attribute, ast.Constant):
        name = node.value if isinstance(node, ast.Constant) else ast.unparse(node).split(".")[-1]
        if not isinstance(name, str) or isinstance(text.parent[node], ast.Attribute):
            continue
        outer = text.parent[node]
        in_kernel = called(outer) in (("shared", "array"), ("local", "array")) or (
            isinstance(outer, ast.keyword)
            and called(text.parent[outer]) in (("shared", "array"), ("local", "array"))
        )
        other = (NARROWER if in_kernel or on_device(text, node) else OTHER_TYPE).get(name)
        if other:
            yield [text.replaced(node, text.of(node).replace(name, other))]
    other_of = '"f4" if {0}.dtype == "f8" else "f8"'
    for node in text.all(ast.Call):
        owner, name = called(node)
        if (owner, name) in (("cuda", "to_device"), ("cp", "asarray"), ("cp", "array")) and len(
            node.args
        ) == 1:
            model = tightly(text, node.args[0])
            yield [text.replaced(node.args[0], f"{model}.astype({other_of.format(model)})")]
        if name.endswith("_like") and len(node.args) == 1 and not node.keywords:
            model = text.of(node.args[0])
            given = f"{model}.shape" if owner == "cuda" else model
            function = text.of(node.func).removesuffix("_like") if owner == "cuda" else text.of(node.func)
            yield [
                text.replaced(
                    node, f"{function}({given}, dtype={other_of.format(tightly(text, node.args[0]))})"
                )
            ]
    for node in text.all(ast.BinOp):
        if isinstance(node.op, ast.Div) and on_device(text, node):
            start, end = text.span(node.left)[1], text.span(node.right)[0]
            yield [(start, end, text.bytes[start:end].decode().replace("/", "//", 1))]
    for function in functions(text):
        if not is_device(function):
            for node in _returns(text, function):
                if not isinstance(node.value, ast.Tuple):
                    other = f"(lambda a: a.astype({other_of.format('a')}))"
                    yield [text.replaced(node.value, f"{other}({text.of(node.value)})")]


def _returns(text: Text, function: Function) -> Iterator[ast.Return]:
    """Yield where a function returns a value; a kernel or another new object is none."""
    for node in text.all(ast.Return):
        if (
            node.value is not None
            and within(text, node) is function
            and not called(node.value)[1][:1].isupper()
        ):
            yield node


def constant_output(text: Text) -> Iterator[list[Edit]]:
    """Store or return nothing but zeros."""
    for function in functions(text):
        parameters = {each.arg for each in function.args.args}
        if not is_device(function):
            for node in _returns(text, function):
                values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
                for value in values:
                    yield [text.replaced(value, f"0 * {tightly(text, value)}")]
            continue
        for node in text.all(ast.Assign, ast.AugAssign, ast.Call, ast.Return):
            if within(text, node) is not function:
                continue
            if isinstance(node, ast.Return):
                if node.value is not None:
                    yield [text.replaced(node.value, "0")]
            elif isinstance(node, ast.Call):
                if is_atomic(node) and ast.unparse(node.args[0]) in parameters:
                    yield [text.replaced(node.args[-1], "0")]
            else:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Subscript) and ast.unparse(target.value) in parameters:
                    yield [text.replaced(node.value, "0")]


def copy_in_loop(text: Text) -> Iterator[list[Edit]]:
    """Bring an array back and send it again, in every turn of a loop; or only look at it."""
    for function in functions(text):
        if is_device(function):
            continue
        arrays = _device_arrays(function)
        for loop in text.all(ast.For, ast.While):
            if within(text, loop) is not function or not on_its_own_lines(loop):
                continue
            used = [node.id for node in ast.walk(loop) if isinstance(node, ast.Name) and node.id in arrays]
            for name in dict.fromkeys(used):
                there_and_back = arrays[name].format(name)
                yield [inserted_before(text, loop.body[0], f"{name} = {there_and_back}")]
                back = there_and_back[there_and_back.index("(") + 1 : -1]
                back = f"{name}.cpu()" if ".cpu()" in there_and_back else back
                yield [inserted_after(text, loop.body[-1], back)]


def _device_arrays(function: Function) -> dict[str, str]:
    """Return the names that a host function gives to arrays of the device, each with its round trip."""
    found = {}
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            for name, value in pairs:
                owner, made = called(value)
                for family, (makers, round_trip) in ROUND_TRIPS.items():
                    if isinstance(name, ast.Name) and made in makers and family in ("", owner):
                        found.setdefault(name.id, round_trip)
    return found


def early_return(text: Text) -> Iterator[list[Edit]]:
    """Leave a kernel before its last steps or its barrier, or a loop after its first turn."""
    for function in functions(text):
        if is_device(function) and not list(_returns(text, function)):
            body = function.body[1 if ast.get_docstring(function) else 0 :]
            for statement in body:
                if not isinstance(statement, LEAVES):
                    yield [inserted_before(text, statement, "return")]
            for node in text.all(ast.If):
                later = [
                    each
                    for each in text.all(ast.Call)
                    if called(each)[1] in BARRIERS and text.span(each)[0] > text.span(node)[1]
                ]
                leaves = isinstance(node.body[0], LEAVES)
                if within(text, node) is function and later and not leaves and not node.orelse:
                    indent = " " * node.col_offset
                    guard = f"if not ({text.of(node.test)}):\n{indent}    return"
                    yield [inserted_before(text, node, guard)]
    for loop in text.all(ast.For, ast.While):
        if not isinstance(loop.body[-1], LEAVES) and on_its_own_lines(loop):
            yield [inserted_after(text, loop.body[-1], "break")]


def forget_step(text: Text) -> Iterator[list[Edit]]:
    """Leave out a launch, a call, a store, or the change of a variable."""
    for function in functions(text):
        known = {each.arg for each in function.args.args}
        for node in text.all(ast.Expr, ast.Assign, ast.AugAssign):
            if within(text, node) is not function:
                continue
            if isinstance(node, ast.Expr):
                if isinstance(node.value, ast.Call) and called(node.value)[1] not in BARRIERS | FENCES:
                    yield [text.replaced(node, "pass")]
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            targets = [each for t in targets for each in (t.elts if isinstance(t, ast.Tuple) else [t])]
            names = {each.id for each in targets if isinstance(each, ast.Name)}
            if names <= known:
                yield [text.replaced(node, "pass")]
            known |= names


OPERATORS: dict[str, Callable[[Text], Iterator[list[Edit]]]] = {
    **kernels.OPERATORS,
    "shift an index": shift_index,
    "swap indices": swap_indices,
    "take the wrong thread": wrong_thread,
    "swap arguments": swap_arguments,
    "swap a launch": swap_launch,
    "shorten a launch": shorten_launch,
    "take a wrong dtype": wrong_dtype,
    "store a constant": constant_output,
    "copy inside the loop": copy_in_loop,
    "return early": early_return,
    "forget a step": forget_step,
}


def solved_lines(source: str) -> set[int]:
    """Return the numbers, from 1, of the lines between the markers of a solution cell."""
    found, inside = set(), False
    for number, line in enumerate(source.split("\n"), 1):
        if line.strip() == BEGIN:
            inside = True
        elif line.strip() == END:
            inside = False
        elif inside:
            found.add(number)
    return found


def lines_that_differ(old: str, new: str) -> tuple[str, str]:
    """Return what differs of two texts; a line that was put in or taken out comes with the one beside it."""
    first, second = old.splitlines(), new.splitlines()
    same = last = 0
    shorter = min(len(first), len(second))
    while same < shorter and first[same] == second[same]:
        same += 1
    while last < shorter - same and first[-1 - last] == second[-1 - last]:
        last += 1
    if same + last == shorter and same:
        odd = (first if len(first) > len(second) else second)[same]
        after = first[len(first) - last] if last else ""
        if after.strip() in (END, "") or _indent(after) < _indent(odd):
            same -= 1  # the last step of a block: the line before tells more
        else:
            last -= 1
    return tuple(
        "; ".join(line.strip() for line in each[same : len(each) - last]) for each in (first, second)
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def changes(source: str) -> list[Change]:
    """Return every change of what a solution cell has between its markers.

    A change that leaves no Python, or the same program as the original or another change, is left out. Two that
    read the same are told apart by a number.
    """
    text, solved = Text(source), solved_lines(source)
    found: list[Change] = []
    programs = {ast.dump(text.tree)}
    seen: Counter = Counter()

    def added(operator: str, edits: list[Edit]) -> None:
        lines = {
            text.bytes[:at].count(b"\n") + 1 for start, end, _ in edits for at in (start, max(start, end - 1))
        }
        if not lines <= solved:
            return
        made = text.changed(edits)
        try:
            program = ast.dump(ast.parse(made))
        except SyntaxError:
            return
        if program in programs:
            return
        programs.add(program)
        before, after = lines_that_differ(source, made)
        seen[operator, before, after] += 1
        times = seen[operator, before, after]
        found.append(Change(operator, before, after + (f"  # {times}" if times > 1 else ""), made))

    for operator, edits_of in OPERATORS.items():
        for edits in edits_of(text):
            added(operator, edits)
    for node in text.all(ast.Constant):
        if isinstance(node.value, str) and "__global__" in node.value:
            start, _ = text.span(node)
            for operator, edits in mutating_cuda.edits(text.of(node)):
                added(operator, [(start + at, start + end, new) for at, end, new in edits])
    return found
