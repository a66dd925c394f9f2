"""Lesson 4: what the chapter says is what its notebook has counted, and what the compilers say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import host_to_device as h2d
from authoring import notebooks
from book.drawings import array_passes
from host_to_device.inspecting.errors import CannotShow, MissingTool
from host_to_device.standins.cuda_cpp import building, compiler, modules
from host_to_device.standins.cuda_cpp.errors import SourceError

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = (ROOT / "chapters" / "04-kernels-cupy.md").read_text(encoding="utf-8")
CELLS = {cell.id: cell for cell in notebooks.read(ROOT / "notebooks" / "04-kernels-cupy.ipynb").cells}


def printed(name: str) -> str:
    """Return what a cell of the notebook has printed."""
    return "".join(output["text"] for output in CELLS[name].outputs if output.output_type == "stream")


def table(name: str) -> list[list[str]]:
    """Return the rows of one of the chapter's tables, without its head."""
    body = re.search(rf":name: {name}\n\n(.*?)\n:::", CHAPTER, re.S)[1]
    rows = re.split(r"^\* - ", body, flags=re.M)[2:]
    return [[cell.strip() for cell in row.split("\n  - ")] for row in rows]


def row_kernel() -> str:
    """Return the source of the notebook's kernel with a thread for each row, its index put right."""
    source = re.search(r'r"""(.*?)"""', CELLS["raw-wrong"].source, re.S)[1]
    right = source.replace("row * rows", "row * cols")
    assert right != source
    return right


def test_predictions_are_those_of_the_notebook():
    pattern = r"([\d,]+) (array code|ElementwiseKernel|one kernel) +([\d.]+) and +([\d.]+) µs: ([\d.]+) times"
    predicted = {
        (pairs, way): (float(small), float(large), factor)
        for pairs, way, small, large, factor in re.findall(pattern, printed("cards-run"))
    }
    assert len(predicted) == 6
    rows = table("tab-cards")
    assert len(rows) == 4
    for pairs, way, small, large, factor in rows:
        for quoted, exact in zip((small, large), predicted[pairs, way], strict=False):
            number = quoted.removesuffix(" µs").replace(",", "")
            assert number == f"{exact:.{len(number.partition('.')[2])}f}", (pairs, way)
        assert factor == predicted[pairs, way][2]


def test_launches_and_shares_are_those_of_the_notebook():
    counted = re.findall(r"(.+?) +(\d) launches, at most (\d+)%", printed("shares"))
    rows = table("tab-levels")
    for (way, launches, share), row in zip(counted, (rows[0], rows[1], rows[3]), strict=True):
        assert row[1] == launches and row[3] == f"{share} %", way


def test_arrays_drawn_are_arrays_counted():
    drawn = [
        sum(len(reads) + len(writes) for _, reads, writes in operations)
        for _, operations in array_passes.WAYS
    ]
    rows = table("tab-levels")
    assert [str(number) for number in drawn] == [rows[0][2], rows[1][2], rows[3][2]]
    moved = [float(each) for each in re.findall(r"([\d.]+) times the size", printed("traffic-run"))]
    assert drawn[0] == round(sum(moved))


def with_slip(row: int) -> str:
    """Return the kernel with the slip of one row of the chapter's table."""
    changes = (
        ("float sum = 0.0f;", "float sum = 0.0f"),
        ("threadIdx", "thredIdx"),
        ("out[row] =", "x[row] ="),
        ('extern "C" ', ""),
    )
    source = row_kernel()
    changed = source.replace(*changes[row])
    assert changed != source
    return changed


SLIPS = pytest.mark.parametrize("row", range(4), ids=["semicolon", "name", "const", "extern"])


def test_messages_that_the_notebook_has_stored_are_those_of_the_chapter():
    said = re.sub(r"kernel\.cu\((\d+)\): error: ", r"line \1: ", printed("error"))
    for slip, nvrtc, _ in table("tab-compile-errors")[:2]:
        assert nvrtc in said, slip


@SLIPS
def test_messages_of_the_host_compiler_are_what_it_says_where_nvrtc_is_not_installed(row, monkeypatch):
    if compiler.find().is_clang:
        pytest.skip("this machine's compiler is not g++")
    monkeypatch.setattr(building, "_as_nvrtc_says", lambda problem, given: problem)
    quoted = table("tab-compile-errors")[row][2]
    try:
        modules.compile(with_slip(row))
    except SourceError as refusal:
        assert quoted in str(refusal)
    else:
        assert quoted == "nothing: it compiles"


@SLIPS
def test_messages_of_nvrtc_are_what_it_says(row):
    quoted = table("tab-compile-errors")[row][1]
    try:
        h2d.show(with_slip(row), "ptx")
    except MissingTool:
        pytest.skip("NVRTC is not installed")
    except CannotShow as refusal:
        assert quoted in str(refusal)
    else:
        assert quoted == "nothing: it compiles"


# CuPy itself traces the two spellings of a sum; it needs no GPU for that, if the arrays lie nowhere.
FUSED = """
import sys

try:
    import cupy as cp
except ImportError:
    sys.exit("CuPy is not installed")
from cupy._core import fusion, new_fusion

nowhere = lambda size: cp.cuda.MemoryPointer(cp.cuda.UnownedMemory(1 << 20, size, None, 0), 0)
cp.cuda.set_allocator(nowhere)
x, y, v = (cp.ndarray(shape, "f", nowhere(2048)) for shape in ((8, 64), (8, 64), (64,)))

def by_method(x, y, v):
    difference = x - y
    return (difference * difference / v).sum(axis=1) ** 0.5

def by_function(x, y, v):
    difference = x - y
    return cp.sum(difference * difference / v, axis=1) ** 0.5

def older(function):
    history = fusion._FusionHistory()
    fusion._thread_local.history, fusion._thread_local.is_old_fusing = history, True
    try:
        return type(history.get_fusion(function, (x, y, v), function.__name__)[0]).__name__
    except Exception as refusal:
        return str(refusal)
    finally:
        fusion._thread_local.history, fusion._thread_local.is_old_fusing = None, False

print(older(by_function))
print(older(by_method))
print(new_fusion._get_fused_kernel("by_method", by_method, (x, y, v))._cuda_body)
"""


def test_cupy_fuses_a_sum_into_one_pass_only_if_it_is_a_function():
    ran = subprocess.run([sys.executable, "-c", FUSED], capture_output=True, text=True, timeout=120)
    if "CuPy is not installed" in ran.stderr:
        pytest.skip("CuPy is not installed")
    assert ran.returncode == 0, ran.stderr
    function, method, body = ran.stdout.split("\n", 2)
    assert function == "ReductionKernel"
    assert method == "'_FusionVarArray' object has no attribute 'sum'"
    quoted = re.search(r"```cpp\n(.*?)```", CHAPTER, re.S)[1].splitlines()
    for line in quoted:
        code = line.split("//")[0].strip()
        assert all(part.strip() in body for part in code.split("…")), line


def test_what_a_pool_holds_does_not_depend_on_arrays_before(capsys):
    h2d.start()
    import cupy as cp

    large = cp.zeros(3_000_000, cp.float32)
    del large
    part = cp.zeros(1_000, cp.float32)  # cuts the free block, which the default pool then cannot return
    cells = [cell.source for cell in CELLS.values()]
    [place] = [place for place, source in enumerate(cells) if "def state(when)" in source]
    exec("\n".join((cells[place], cells[place + 2])), {"cp": cp, "pool": cp.get_default_memory_pool()})
    assert capsys.readouterr().out.endswith(
        "made     used 4,000,256, held 4,000,256\n"
        "deleted  used         0, held 4,000,256\n"
        "freed    used         0, held         0\n"
    )
    assert part.size == 1_000
