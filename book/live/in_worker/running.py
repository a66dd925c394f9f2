"""Runs the cells of a page in its worker: what a cell needs from other cells first, then the cell itself.

A page has its cells in the order of the notebook. Running one runs the cells before it that it needs and that have not
run with their present text: those that bind a name which it reads, and those that may have changed such an object since.
So the page always shows what its text says, and a reader may begin anywhere.

It needs no browser: `Session` calls a function with each piece of output.
"""

import ast
import io
import linecache
import re
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

MAGIC = re.compile(r"^(\s*)[%!].*$", re.M)
SHOWN = ("text/html", "image/svg+xml", "text/plain")
START = "h2d.start"  # a name that its call binds, and that an import of what it puts in place reads
OF_STAND_INS = {"numba", "cupy", "cupyx", "numba_cuda_mlir"}
PARTS = ast.stmt | ast.ExceptHandler | ast.match_case  # what the blocks of a compound statement are lists of
LONGEST = 200_000  # characters that one cell may print
# Libraries that a page lacks. Importing one is no error, because a notebook imports all of its libraries in one cell.
ABSENT = {"torch": "PyTorch", "matplotlib": "Matplotlib"}

Emit = Callable[[str, str, str], None]  # the kind of a piece of output, the id of its cell, the piece


@dataclass
class Names:
    """The names that a cell reads and binds at its top level.

    Attributes
    ----------
    reads, binds
        The names that it takes from other cells, and those that it gives to later ones.
    fixed
        Those of `binds` that are a function, a class or a module: a later cell that reads them does not change them.
    changes
        Those of `reads` whose objects the cell may change. The check works on copies, so its arguments are not among them.
    """

    reads: set[str] = field(default_factory=set)
    binds: set[str] = field(default_factory=set)
    fixed: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)


def plain(source: str) -> str:
    """Return a cell's text without IPython's own lines, which a page cannot run; the other lines keep their numbers."""
    return MAGIC.sub(r"\1pass", source)


@cache
def names_of(source: str) -> Names:
    """Return the names that a cell reads and binds; none of them if it is not valid Python."""
    found = Names()
    try:
        tree = ast.parse(plain(source))
    except (SyntaxError, ValueError):
        return found
    for statement in tree.body:
        reads, binds, fixed = set(), set(), set()
        _walk(statement, reads, binds, fixed, inner=False)
        found.reads |= reads - found.binds
        used: set[str] = set()
        _walk(_WithoutChecks().visit(statement), used, set(), set(), inner=False)
        found.changes |= used - found.binds
        found.binds |= binds | fixed
        found.fixed = (found.fixed | fixed) - binds
    return found


class _WithoutChecks(ast.NodeTransformer):
    """Removes the arguments of `h2d.check(kernel)[grid](…)`: what is left may change the objects that it reads."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        of = node.func.value if isinstance(node.func, ast.Subscript) else None
        if isinstance(of, ast.Call) and ast.unparse(of.func) == "h2d.check":
            return ast.Constant(None)
        return self.generic_visit(node)


def _walk(node: ast.AST, reads: set[str], binds: set[str], fixed: set[str], inner: bool) -> None:
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            reads.add(node.id)
        elif not inner:
            binds.add(node.id)
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        modules = (
            [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
        )
        if {each.partition(".")[0] for each in modules} & OF_STAND_INS:
            reads.add(START)
        if not inner:
            fixed |= {(each.asname or each.name).partition(".")[0] for each in node.names}
        return
    if isinstance(node, ast.Call) and ast.unparse(node.func) == START and not inner:
        fixed.add(START)
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        reads.add(node.target.id)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        if not inner and not isinstance(node, ast.Lambda):
            fixed.add(node.name)
        own = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
        own |= {
            each.id
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        within: set[str] = set()
        for child in ast.iter_child_nodes(node):
            _walk(child, within, binds, fixed, inner=True)
        reads |= within - own
        return
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        own = {
            each.id
            for each in ast.walk(node)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        within = set()
        for child in ast.iter_child_nodes(node):
            _walk(child, within, set(), set(), inner=True)
        reads |= within - own
        return
    if isinstance(node, ast.ExceptHandler) and node.name and not inner:
        binds.add(node.name)
    blocks = [value for _, value in ast.iter_fields(node) if isinstance(value, list) and value]
    blocks = [block for block in blocks if isinstance(block[0], PARTS)]
    bound: set[str] = set()  # by the head of a loop or of a `with`, and then by the lines of the block
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, PARTS):
            _walk(child, reads, bound, fixed, inner)
    for block in blocks:
        for statement in block:
            taken: set[str] = set()
            made: set[str] = set()
            _walk(statement, taken, made, fixed, inner)
            reads |= taken - bound
            bound |= made
    binds |= bound


def needed(cells: list[dict], place: int) -> list[int]:
    """Return the places of the earlier cells that a cell needs directly, in order.

    Parameters
    ----------
    cells
        The page's cells: a dict with "id" and "source" for each, "why" for one that the page cannot run, and "uses" for
        one that takes names which its text does not have, such as an answer.
    place
        The place of the cell.
    """
    names = [names_of(each["source"]) for each in cells[: place + 1]]
    found = set()
    for name in names[place].reads | set(cells[place].get("uses", ())):
        maker = next((at for at in range(place - 1, -1, -1) if name in names[at].binds), None)
        if maker is None:
            continue
        found.add(maker)
        if name not in names[maker].fixed:  # what stands between may have changed the object
            between = range(maker + 1, place)
            found |= {at for at in between if name in names[at].changes and not cells[at].get("why")}
    return sorted(found)


class Printed(io.TextIOBase):
    """A text stream that hands on what is written, up to a limit."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self.emit, self.left = emit, LONGEST

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        """Hand a text on; past the limit, say so once and drop the rest."""
        if self.left > 0:
            self.emit(text[: self.left])
            self.left -= len(text)
            if self.left <= 0:
                self.emit("\n(The rest of the output is not shown: this cell has printed too much.)\n")
        return len(text)


class Session:
    """The names of a notebook and which of its cells have run; a page that shows several notebooks has several.

    Parameters
    ----------
    emit
        Called with the kind of a piece of output ("out", "html", "error", "running", "done"), its cell and the piece.
    """

    def __init__(self, emit: Emit) -> None:
        self.emit = emit
        # While a cell runs it is `__main__`, where the library looks for a notebook's names.
        self.module = types.ModuleType("__main__")
        self.names = vars(self.module)
        self.names |= {"display": self.display, "__absent__": Absent}
        self.ran: dict[
            str, tuple[str, int]
        ] = {}  # by cell: the text that ran, and as which in the order of runs
        self.count = 0
        self.cell = ""

    def run(self, cells: list[dict], cell: str) -> bool:
        """Run a cell, and before it those that it needs; return whether the cell ran without an error.

        Parameters
        ----------
        cells
            The cells of the notebook in order: "id" and "source"; "why" if the page cannot run the cell; "uses" with names
            that the cell takes beside those in its text; "line" if its first line has another number than 1.
        cell
            The id of the cell to run.
        """
        self._offer_display()
        place = next(at for at, each in enumerate(cells) if each["id"] == cell)
        reads = names_of(cells[place]["source"]).reads
        for at in self._stale_before(cells, place):
            found = names_of(cells[at]["source"])
            for name in (
                found.binds - found.reads
            ):  # after an error, an older object must not pass for the new one
                self.names.pop(name, None)
            # A launch that fails has made its arrays all the same: a check of the kernel can go on with them.
            if not self._run_one(cells[at]) and (reads & found.binds) - self.names.keys():
                return False
        return self._run_one(cells[place])

    def _stale_before(self, cells: list[dict], place: int) -> Iterator[int]:
        """Return the places of cells that have to run first, in order: those needed that have not run as they stand."""
        wanted, look = set(), [place]
        while look:
            for at in needed(cells, look.pop()):
                if at not in wanted:
                    wanted.add(at)
                    look.append(at)
        stale: list[int] = []
        for at in sorted(wanted):
            each = cells[at]
            text, when = self.ran.get(each["id"], (None, -1))
            older = any(
                other in stale or self.ran.get(cells[other]["id"], ("", -1))[1] > when
                for other in needed(cells, at)
            )
            if text != each["source"] or older:
                stale.append(at)
        return iter(stale)

    def _run_one(self, cell: dict) -> bool:
        name, self.cell = cell["id"], cell["id"]
        self.emit("running", name, "")
        if cell.get("why"):
            self.emit("error", name, cell["why"])
            self.emit("done", name, "failed")
            return False
        file, source = f"cell {name}", "\n" * (cell.get("line", 1) - 1) + plain(cell["source"])
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        before, main = (sys.stdout, sys.stderr), sys.modules["__main__"]
        sys.modules["__main__"] = self.module
        sys.stdout = sys.stderr = Printed(lambda text: self.emit("out", name, text))
        self.ran.pop(name, None)
        try:
            self._execute(source, file)
        except BaseException as problem:  # also SystemExit: the page goes on
            self.emit("error", name, told(problem, file))
            self.emit("done", name, "failed")
            return False
        finally:
            sys.stdout, sys.stderr = before
            sys.modules["__main__"] = main
        self.count += 1
        self.ran[name] = cell["source"], self.count
        self.emit("done", name, "")
        return True

    def _execute(self, source: str, file: str) -> None:
        tree = _WithAbsent().visit(ast.parse(source, file))
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
            last = ast.Expression(tree.body.pop().value)
        exec(compile(tree, file, "exec"), self.names)
        if last is not None:
            value = eval(compile(last, file, "eval"), self.names)
            if value is not None:
                self.names["_"] = value
                self.display(value)

    def display(self, *values: Any) -> None:
        """Show values as a notebook does: their HTML or their drawing, and otherwise their text."""
        for value in values:
            own = getattr(type(value), "_ipython_display_", None)
            if own is not None:
                own(value)
                continue
            kind, text = shown(value)
            self.emit("out" if kind == "text/plain" else "html", self.cell, text)

    def _offer_display(self) -> None:
        """Offer `IPython.display.display` and `HTML`, with which the library shows a picture."""
        package, module = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        package.get_ipython = lambda: None
        package.display = module
        module.display, module.HTML, module.SVG = self.display, Html, Html
        sys.modules |= {"IPython": package, "IPython.display": module}


class Absent:
    """What stands for a library that the page lacks: using it is an error of one line."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise ImportError(
            f"this page does not have {self._name}: run the notebook in Colab, or on your computer"
        )


class _WithAbsent(ast.NodeTransformer):
    """Replaces `import torch` by a name that stands for the library."""

    def visit_Import(self, node: ast.Import) -> ast.AST | list[ast.AST]:
        lacks = [each for each in node.names if each.name.partition(".")[0] in ABSENT]
        if not lacks:
            return node
        here: list[ast.AST] = []
        for each in lacks:
            name = ABSENT[each.name.partition(".")[0]]
            target = (each.asname or each.name).partition(".")[0]
            here += ast.parse(f"{target} = __absent__({name!r})").body
        node.names = [each for each in node.names if each not in lacks]
        return [*([node] if node.names else []), *(ast.copy_location(each, node) for each in here)]


class Html:
    """A text that is HTML, as `IPython.display.HTML`."""

    def __init__(self, data: str) -> None:
        self.data = data

    def _repr_html_(self) -> str:
        return self.data


def shown(value: Any) -> tuple[str, str]:
    """Return the kind of text that shows a value best, and the text."""
    for kind, method in (("text/html", "_repr_html_"), ("image/svg+xml", "_repr_svg_")):
        if hasattr(type(value), method):
            text = getattr(value, method)()
            if text:
                return kind, text
    picture = getattr(value, "picture", None)  # an explorer, whose controls need a notebook
    if picture is not None and hasattr(type(picture), "_repr_html_"):
        return "text/html", picture._repr_html_()
    if hasattr(type(value), "_repr_mimebundle_"):
        bundle = value._repr_mimebundle_()
        for kind in SHOWN:
            if kind in bundle:
                return kind, bundle[kind]
    return "text/plain", f"{plainly(value)}\n"


def plainly(value: Any) -> str:
    """Return a value's text as IPython's: a class by its name, also in a tuple."""
    if isinstance(value, type):
        return (
            value.__qualname__
            if value.__module__ == "builtins"
            else f"{value.__module__}.{value.__qualname__}"
        )
    if type(value) is tuple and len(value) > 1:
        return f"({', '.join(plainly(each) for each in value)})"
    return repr(value)


def told(problem: BaseException, file: str) -> str:
    """Return an error as the page shows it: the library's own in one line, others with the lines of the reader's cells."""
    if hasattr(problem, "_render_traceback_"):
        return "\n".join(problem._render_traceback_())
    if isinstance(problem, SyntaxError) and problem.filename == file:
        text = (problem.text or "").rstrip("\n")
        mark = " " * max(0, (problem.offset or 1) - 1) + "^"
        return f"line {problem.lineno}\n    {text}\n    {mark}\n{type(problem).__name__}: {problem.msg}"
    lines = []
    for frame in traceback.extract_tb(problem.__traceback__):
        if frame.filename.startswith("cell "):
            where = (
                f"line {frame.lineno}" if frame.filename == file else f"{frame.filename}, line {frame.lineno}"
            )
            within = "" if frame.name == "<module>" else f", in {frame.name}"
            lines += [f"{where}{within}", f"    {frame.line}"]
    said = "".join(traceback.format_exception_only(problem)).strip()
    return "\n".join([*lines, said])
