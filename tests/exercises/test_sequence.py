"""No exercise uses what a later lesson teaches: each name that its solution uses stands in its own lesson or before."""

import ast
import re
from functools import cache

import pytest

from authoring import notebooks
from authoring.solutions import Part
from tests.exercises.test_sets import ROOT, SOLUTIONS, parts

LIBRARIES = {"cuda", "cp", "cupy", "torch", "h2d"}
# Words of CUDA C++ that a lesson has to introduce.
OF_CUDA = re.compile(r"\b(?:__\w+__|__(?:sync|shfl|ballot|popc|ffs|any|all|activemask)\w*|atomic[A-Z]\w+)\b")


def names_of(source: str) -> set[str]:
    """Return the dotted names of libraries that Python code uses, and the words of CUDA C++ in its strings."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if name.split(".")[0] in LIBRARIES and re.fullmatch(r"[\w.]+", name):
                found.add(name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= set(OF_CUDA.findall(node.value))
    longer = {name for name in found if any(other.startswith(f"{name}.") for other in found)}
    return found - longer


@cache
def taught(number: str) -> str:
    """Return the text of all lessons up to one: chapters, notebooks, and what earlier sets give."""
    text = []
    for folder, ending in (("chapters", "md"), ("notebooks", "ipynb")):
        for path in sorted((ROOT / folder).glob(f"[0-9][0-9]-*.{ending}")):
            if path.name[:2] <= number:
                text.append(
                    "\n".join(cell.source for cell in notebooks.read(path).cells)
                    if ending == "ipynb"
                    else path.read_text(encoding="utf-8")
                )
    return "\n".join(text)


def exercises() -> list:
    return [pytest.param(part, id=part.number) for path in SOLUTIONS for part in parts(path)]


@pytest.mark.parametrize("part", exercises())
def test_an_exercise_needs_no_name_of_a_later_lesson(part: Part):
    text = taught(part.number[:2]) + part.task.source
    given = "\n".join(
        cell.source for cell in part.cells if cell.cell_type == "code" and cell not in part.solutions
    )
    used = set().union(*(names_of(cell.source) for cell in part.solutions))
    # A method is known by its last word: `cuda.shared.array` may stand as `shared.array` after an import.
    unknown = {
        name
        for name in used
        if not re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", text) and name not in given
    }
    assert unknown == set(), f"{sorted(unknown)}: no lesson up to {part.number[:2]} has them"


@pytest.mark.parametrize(
    ("name", "lesson"),
    [("RawKernel", "04"), ("syncthreads", "05"), ("runs_on", "06"), ("cudnn", "07"), ("warpSize", "13")],
)
def test_a_name_is_known_from_its_lesson_on(name, lesson):
    assert re.search(rf"\b{name}\b", taught(lesson))
    assert not re.search(rf"\b{name}\b", taught("01"))
