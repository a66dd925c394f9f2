"""Which code cells a page can run, and one sentence for each that it cannot.

A page has Python, NumPy and the library with its interpreted stand-in. It has no compiler, no PyTorch and no processes, and
the times that it could measure are those of an interpreter in a browser. What a cell needs is read from its text.
"""

import ast
import sys
from pathlib import Path
from typing import Any

import nbformat

from book.live.in_worker import numba as no_numba
from book.live.in_worker.running import names_of, needed, plain

# The lessons whose cells run on their pages: their kernels are Numba's, or array code.
LESSONS = ("01-architecture", "02-host-and-device", "03-kernels-numba", "05-cooperation")
KNOWN = {"numpy", "numba", "host_to_device", "cupy", "cupyx", *sys.stdlib_module_names} - {
    "subprocess",
    "multiprocessing",
}
NAMES = {"torch": "PyTorch", "matplotlib": "Matplotlib", "ipywidgets": "Jupyter's widgets"}
OF_LIBRARY = {
    "device": "PyTorch",
    **dict.fromkeys(("show", "compare"), "compilers"),
    **dict.fromkeys(("in_child", "stack", "doctor"), "a process of its own"),
    **dict.fromkeys(
        ("time", "experiment"), "a clock: a time measured in a browser's interpreter says nothing about a GPU"
    ),
}
OF_CUPY = dict.fromkeys(
    ("RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel"), "a compiler for CUDA C++"
)
LACKS = "This cell needs {what}, which this page does not have."
CLOCK = "This cell needs {what}."


def _needs(source: str, compiler_names: set[str]) -> str:
    """Return what a cell needs that a page lacks, "" if nothing; note in `compiler_names` what it takes from Numba."""
    try:
        tree = ast.parse(plain(source))
    except SyntaxError:
        return ""
    found = ""
    for node in ast.walk(tree):
        modules = []
        if isinstance(node, ast.Import):
            modules = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
            if node.module == "numba":
                names = {
                    each.asname or each.name
                    for each in node.names
                    if each.name in no_numba.NEEDS_THE_COMPILER
                }
                compiler_names |= names
            if node.module == "cupyx":
                modules += [each.name for each in node.names if each.name == "jit"]
        for module in modules:
            top = module.partition(".")[0]
            if top not in KNOWN:
                found = found or NAMES.get(top, top)
        if isinstance(node, ast.Call) and isinstance(
            node.func, ast.Attribute
        ):  # naming the class needs no compiler
            owner = getattr(node.func.value, "id", "")
            found = found or (OF_CUPY.get(node.func.attr, "") if owner in ("cp", "cupy") else "")
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner, name = node.value.id, node.attr
            if owner == "h2d":
                found = found or OF_LIBRARY.get(name, "")
            elif owner == "numba" and name != "cuda" and name not in no_numba.TYPES:
                found = found or "Numba's compiler"
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return found or ("Numba's compiler" if used & compiler_names else "")


def why_not(sources: list[str], not_checked: dict[int, str] | None = None) -> list[str]:
    """Return for each code cell of a notebook why a page cannot run it, "" where it can.

    Parameters
    ----------
    sources
        The texts of the code cells, in order.
    not_checked
        By the place of a cell, what it needs beside what its text says.
    """
    compiler_names: set[str] = set()
    what: list[str] = []
    for place, source in enumerate(sources):
        what.append((not_checked or {}).get(place, "") or _needs(source, compiler_names))
    cells = [{"id": str(place), "source": source} for place, source in enumerate(sources)]
    found: list[str] = []
    for place, source in enumerate(sources):
        reason = LACKS.format(what=what[place]) if what[place] else ""
        if what[place].startswith("a clock"):
            reason = CLOCK.format(what=what[place])
        if not reason:
            reads = names_of(source).reads
            for maker in needed(cells, place):
                if found[maker] and reads & names_of(sources[maker]).binds:
                    reason = f"This cell uses a result of a cell that this page cannot run. {found[maker]}"
                    reason = reason if found[maker].startswith("This cell needs") else found[maker]
                    reason = reason.replace("run. This cell needs", "run: that one needs")
                    break
        found.append(reason)
    return found


def live_cells(notebook: Path, unchecked: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    """Return the code cells of a notebook as a page's worker gets them: "id", "source" and "why".

    Parameters
    ----------
    notebook
        The file.
    unchecked
        The numbers of exercises whose checks need more than a page has.
    """
    cells = [cell for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]
    sources = [cell.source for cell in cells]
    extra = {
        place: "Numba's compiler for its check"
        for place, source in enumerate(sources)
        if any(f'h2d.answer("{number}")' in source for number in unchecked)
    }
    reasons = why_not(sources, extra)
    return [
        {"id": cell.id, "source": cell.source, **({"why": why} if why else {})}
        for cell, why in zip(cells, reasons, strict=True)
    ]
