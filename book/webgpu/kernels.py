"""The shaders of the panels, made from the kernels of the lessons' notebooks when the book is built."""

from __future__ import annotations

import ast
import inspect
import symtable
import textwrap
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from book.races import parsed_cells
from book.webgpu import own_kernels
from book.webgpu.terms import Array, Scalar, Shader
from book.webgpu.translating import translate
from host_to_device.standins import numba_cuda

ROOT = Path(__file__).resolve().parents[2]
LISTINGS = Path(__file__).parent / "listings"
MOST = 2**24  # elements of the largest array of a panel: 64 MiB
SIDE, MATRIX = 4096, 1024  # of the arrays that are copied, and of those that are multiplied
STRIDES = 32


def lesson_kernel(notebook: str, expression: str) -> Any:
    """Return the kernel that an expression such as "tiled_by(16)" names behind the cells of a lesson's notebook.

    The cells up to the one that defines the name are read, and only the statements that it needs are executed.

    Raises
    ------
    LookupError
        If no cell of the notebook defines the name.
    """
    path = ROOT / "notebooks" / f"{notebook}.ipynb"
    return _lesson_kernel(path, expression, path.stat().st_mtime_ns)


@cache
def _lesson_kernel(path: Path, expression: str, _: int) -> Any:
    name = expression.partition("(")[0]
    statements: list[tuple[str, ast.stmt]] = []
    for _, file, body in parsed_cells(path, ", WGSL"):
        statements += [(file, statement) for statement in body]
        if any(isinstance(each, ast.FunctionDef) and each.name == name for each in body):
            return _evaluated(statements, expression)
    raise LookupError(f"{path.name} defines no {name}")


def _evaluated(statements: list[tuple[str, ast.stmt]], expression: str) -> Any:
    """Return the value of an expression behind the statements that bind the names that it needs."""
    names: dict[str, Any] = {"__name__": "book.webgpu.kernels", "cuda": numba_cuda}
    needed, wanted = [], {each.id for each in ast.walk(ast.parse(expression)) if isinstance(each, ast.Name)}
    for file, statement in reversed(statements):
        if _bound(statement) & (wanted - names.keys()):
            needed.append((file, statement))
            wanted |= _globals(symtable.symtable(ast.unparse(statement), file, "exec"))
    for file, statement in reversed(needed):
        if isinstance(statement, ast.ImportFrom) and statement.module == "numba":
            # The book is built without Numba, whose types have NumPy's names.
            names |= {each.name: getattr(np, each.name) for each in statement.names if each.name != "cuda"}
        else:
            exec(compile(ast.Module([statement], []), file, "exec"), names)
    return eval(expression, names)


def _bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(each.asname or each.name).partition(".")[0] for each in statement.names}
    if isinstance(statement, ast.Assign):
        return {
            each.id for target in statement.targets for each in ast.walk(target) if isinstance(each, ast.Name)
        }
    return set()


def _globals(table: symtable.SymbolTable) -> set[str]:
    """Return the names that code takes from its module, also within its functions."""
    found = {each.get_name() for each in table.get_symbols() if each.is_global() and each.is_referenced()}
    return found.union(*map(_globals, table.get_children()))


def floats(*shape: int) -> Array:
    """Return a float32 array that the shader serves up to this shape."""
    return Array("float32", tuple((1, each) for each in shape))


def whole(*shape: int) -> Array:
    """Return an int32 array that the shader serves up to this shape."""
    return Array("int32", tuple((1, each) for each in shape))


def _sum(name: str) -> Shader:
    kernel = lesson_kernel("05-cooperation", name)
    x = whole(MOST // 4) if name == "sum_atomic" else floats(MOST // 4)
    total = whole(1) if name == "sum_atomic" else floats(1)
    return translate(kernel, {"x": x, "total": total}, grid=(1, MOST // 4 // 128), block=128)


def _matmul(expression: str, side: int) -> Shader:
    square = floats(MATRIX, MATRIX)
    most = MATRIX // side
    return translate(
        lesson_kernel("05-cooperation", expression),
        {"a": square, "b": square, "c": square},
        grid=((1, most), (1, most)),
        block=(side, side),
    )


def _copy(name: str) -> Shader:
    square = floats(SIDE, SIDE)
    kernel = lesson_kernel("03-kernels-numba", name)
    return translate(
        kernel, {"a": square, "out": square}, grid=((1, SIDE // 32), (1, SIDE // 8)), block=(32, 8)
    )


@cache
def all_shaders() -> dict[str, Shader]:
    """Return every shader that a panel runs, by the name under which its script finds it."""
    capped = lesson_kernel("11-small-batches", "capped")
    batch = {name: floats(2**20) for name in ("x", "y", "out")}
    sums = ("sum_atomic", "sum_tree", "sum_neighbours", "sum_halves", "sum_many")
    return {
        "copy_rows": _copy("copy_rows"),
        "copy_columns": _copy("copy_columns"),
        "read_strided": translate(
            own_kernels.read_strided,
            {"stride": Scalar("int32", (1, STRIDES)), "x": floats(MOST), "out": floats(MOST)},
            grid=(1, MOST // 256),
            block=256,
        ),
        "multiply_add": translate(
            own_kernels.multiply_add,
            {"rounds": Scalar("int32", (0, 2**20)), "x": floats(2**20)},
            grid=(1, 2**12),
            block=256,
        ),
        "matmul": _matmul("matmul", 16),
        "tile 8": _matmul("tiled_by(8)", 8),
        "tile 16": _matmul("tiled_by(16)", 16),
        **{name: _sum(name) for name in sums},
        "capped": translate(capped, batch, grid=(1, 2**13), block=128),
        **{name: race["shader"] for name, race in lottery().items()},
    }


@cache
def lottery() -> dict[str, dict[str, Any]]:
    """Return the two wrong kernels of the lottery, each with its launch, its inputs and what the check says of it."""
    import host_to_device as h2d

    ones, values = np.ones(1024, np.float32), (np.arange(1024) % 16).astype(np.int32)
    histogram = lesson_kernel("05-cooperation", "histogram_quick")
    found = {}
    for name, kernel, grid, block, x, out in (
        ("sum_missing_barrier", own_kernels.sum_missing_barrier, 8, 128, ones, np.zeros(1, np.float32)),
        ("histogram_quick", histogram, 16, 64, values, np.zeros(16, np.int32)),
    ):
        second = "total" if name.startswith("sum") else "out"
        arguments = {"x": Array(str(x.dtype), x.shape), second: Array(str(out.dtype), out.shape)}
        report = h2d.check(kernel)[grid, block](x, out.copy())
        finding = next(each for each in report.findings if each.kind == "race")
        right = [float(x.sum())] if name.startswith("sum") else np.bincount(x).tolist()
        found[name] = {
            "shader": translate(kernel, arguments, grid=grid, block=block),
            "kernel": kernel,
            "grid": grid,
            "x": x.tolist(),
            "dtype": str(x.dtype),
            "out": second,
            "right": right,
            "said": finding.text,
        }
    return found


def source_of(kernel: Any) -> str:
    """Return a kernel's source."""
    return textwrap.dedent(inspect.getsource(kernel.py_func))


def data() -> dict[str, Any]:
    """Return shaders and lottery as the scripts of a page read them."""
    races_of = {
        name: {key: value for key, value in race.items() if key not in ("shader", "kernel")}
        for name, race in lottery().items()
    }
    return {"shaders": {name: asdict(shader) for name, shader in all_shaders().items()}, "lottery": races_of}
