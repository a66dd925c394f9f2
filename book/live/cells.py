"""Which code cells a page can run, and one sentence for each that it cannot.

A page has Python, NumPy and the library with its interpreted stand-in. It has no compiler, no PyTorch and no processes, and
the times that it could measure are those of an interpreter in a browser. What a cell needs is read from its text.
"""

import ast
import contextlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import nbformat

from book.checks import marks
from book.live import library
from book.live.in_worker import numba as no_numba
from book.live.in_worker.running import ABSENT, names_of, needed, plain
from host_to_device.exercises.definition import Need

# The lessons whose cells run on their pages: their kernels are Numba's, or array code.
LESSONS = (
    "01-architecture",
    "02-host-and-device",
    "03-kernels-numba",
    "04-kernels-cupy",
    "05-cooperation",
)
KNOWN = {"numpy", "numba", "host_to_device", "cupy", "cupyx", *sys.stdlib_module_names} - {
    "subprocess",
    "multiprocessing",
}
NAMES = {**ABSENT, "ipywidgets": "Jupyter's widgets"}
OF_LIBRARY = {
    "device": "PyTorch",
    **dict.fromkeys(("show", "compare"), "compilers"),
    **dict.fromkeys(("in_child", "stack", "doctor"), "a process of its own"),
    **dict.fromkeys(
        ("time", "experiment"), "a clock: a time measured in a browser's interpreter says nothing about a GPU"
    ),
}
OF_CUPY = dict.fromkeys(
    ("RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel", "fuse"), "a compiler for CUDA C++"
)
# Exercises whose checks call a compiler.
UNCHECKED = {
    **dict.fromkeys(("03.7", "03.12", "05.5", "05.9"), "Numba's compiler"),
    **dict.fromkeys(("04.a", "04.b", "04.1", "04.4", "04.5", "04.8", "04.9", "04.10"), OF_CUPY["RawKernel"]),
}
# Cells whose texts do not say what they need, by notebook and id.
ERRORS_OF_NUMBA = ("signatures", "error-index", "error-array", "error-unify", "error-return")
MINUTES = "Numba's compiler: as plain Python in a browser it would run for minutes"
BY_HAND = {
    "notebooks/03-kernels-numba": {
        **dict.fromkeys(ERRORS_OF_NUMBA, "Numba's compiler"),
        **dict.fromkeys(("mandelbrot-draw", "gravity-steps"), MINUTES),
        "precisions-error": OF_LIBRARY["time"],  # it reads what was computed while the times were measured
    },
}
ANSWER = re.compile(r"""h2d\.answer\(["'](\d\d\.\w+)["']""")
# The examples of the check take `cuda` by the stand-in's own name, because the book is built without Numba.
DIRECT = "from host_to_device.standins import numba_cuda as cuda"
STARTED = "h2d.start()\nfrom numba import cuda"
LACKS = "This cell needs {what}, which this page does not have."
UNJUDGED = "The check of this exercise needs {what}, which this page does not have."
INSTEAD = "This cell needs {what}."


def _needs(source: str, lacking: dict[str, str]) -> str:
    """Return what a cell needs that a page lacks, "" if nothing; note in `lacking` names that may be bound but not used."""
    try:
        tree = ast.parse(plain(source))
    except SyntaxError:
        return ""
    found = ""
    for node in ast.walk(tree):
        modules = []
        if isinstance(node, ast.Import):
            for each in node.names:
                absent = ABSENT.get(each.name.partition(".")[0])
                if absent:
                    lacking[(each.asname or each.name).partition(".")[0]] = absent
                else:
                    modules.append(each.name)
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
            if node.module == "numba":
                for each in node.names:
                    if each.name in no_numba.NEEDS_THE_COMPILER:
                        lacking[each.asname or each.name] = "Numba's compiler"
        for module in modules:
            top = module.partition(".")[0]
            if top not in KNOWN:
                found = found or NAMES.get(top, top)
        called = [node.func] if isinstance(node, ast.Call) else getattr(node, "decorator_list", [])
        for each in called:  # naming the class needs no compiler
            if isinstance(each, ast.Attribute) and getattr(each.value, "id", "") in ("cp", "cupy"):
                found = found or OF_CUPY.get(each.attr, "")
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner, name = node.value.id, node.attr
            if owner == "h2d":
                found = found or OF_LIBRARY.get(name, "")
            elif owner == "numba" and name != "cuda" and name not in no_numba.TYPES:
                found = found or "Numba's compiler"
    used = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    return found or next((lacking[name] for name in used if name in lacking), "")


def needs(what: str) -> str:
    """Return the sentence that a cell needs something, "" for nothing."""
    return (INSTEAD if ": " in what else LACKS).format(what=what) if what else ""


def why_not(sources: list[str], known: Mapping[int, str] | None = None) -> list[str]:
    """Return for each code cell of a notebook why a page cannot run it, "" where it can.

    Parameters
    ----------
    sources
        The texts of the code cells, in order.
    known
        By the place of a cell, a reason that its text does not have.
    """
    lacking: dict[str, str] = {}
    what = [_needs(source, lacking) for source in sources]
    cells = [{"id": str(place), "source": source} for place, source in enumerate(sources)]
    found: list[str] = []
    for place, source in enumerate(sources):
        reason = (known or {}).get(place, "") or needs(what[place])
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


def live_cells(notebook: Path) -> list[dict[str, Any]]:
    """Return the code cells of a notebook as a page's worker gets them: "id", "source", and "why" and "uses" where due.

    Parameters
    ----------
    notebook
        The file.
    """
    cells = [cell for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]
    sources = [cell.source for cell in cells]
    answers = {place: found[1] for place, source in enumerate(sources) if (found := ANSWER.search(source))}
    by_hand = BY_HAND.get(f"{notebook.parent.name}/{notebook.stem}", {})
    known = {place: needs(by_hand[cell.id]) for place, cell in enumerate(cells) if cell.id in by_hand}
    known |= {
        place: UNJUDGED.format(what=UNCHECKED[number])
        for place, number in answers.items()
        if number in UNCHECKED
    }
    reasons = why_not(sources, known)
    found = []
    for place, (cell, why) in enumerate(zip(cells, reasons, strict=True)):
        uses = names_needed(notebook.stem).get(answers.get(place, ""), [])
        found.append(
            {
                "id": cell.id,
                "source": cell.source,
                **({"why": why} if why else {}),
                **({"uses": uses} if uses else {}),
            }
        )
    return found


@cache
def names_needed(name: str) -> dict[str, list[str]]:
    """Return the names that each exercise of a set takes from the notebook, by the exercise's number."""
    found = {}
    for cell in json.loads(library.checks(name))["cells"][1:]:
        for node in ast.parse("".join(cell["source"])).body:
            if isinstance(node, ast.ClassDef):
                given = dict(_literals(node))
                if "number" in given:
                    needs = given.get("needs", ())
                    found[given["number"]] = [Need.read(each).name for each in needs]
    return found


def _literals(cls: ast.ClassDef) -> Iterator[tuple[str, Any]]:
    """Yield the names of a class's body that are bound to literals, and what they are bound to."""
    for node in cls.body:
        if not isinstance(node, ast.Assign):
            continue
        target = node.targets[0]
        pairs = [(target, node.value)]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(target.elts, node.value.elts, strict=True))
        for each, value in pairs:
            with contextlib.suppress(ValueError):
                yield ast.unparse(each), ast.literal_eval(value)


def check_cells(path: Path) -> list[dict[str, Any]]:
    """Return the cells of a file of `book/checks/examples`, with the numbers that their lines have on the page.

    What stands before the first cell is a cell that the page does not show, and the others need it.
    """
    before, marked = marks.split(path.read_text(encoding="utf-8"))
    if DIRECT not in before:
        raise ValueError(f"{path.name}: the first lines have no {DIRECT!r}")
    first = {"id": f"{path.stem}-first", "source": before.strip().replace(DIRECT, STARTED)}
    return [
        first,
        *(
            {"id": f"{path.stem}-{each.name}", "source": each.text, "line": each.first_line}
            for each in marked
        ),
    ]
