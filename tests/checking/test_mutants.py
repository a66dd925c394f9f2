"""Mutants of the right kernels: how they are made, and which of them the check lets pass.

The list of survivors, each with its reason, is `tests/commands/kernels/survivors.toml`. `make test-all` judges the mutants
of some kernels anew, in turns; `python -m tests.commands.kernels.mutate` judges all, which takes some minutes.
"""

import inspect

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()  # the kernels of the corpus are made when it is imported

from numba import cuda  # noqa: E402

from host_to_device.checking import check  # noqa: E402
from tests import weekly  # noqa: E402
from tests.commands.kernels import mutate  # noqa: E402
from tests.commands.kernels.mutating import OPERATORS, changes, mutants, source_of  # noqa: E402
from tests.corpora.kernels.corpus import ALL  # noqa: E402

CASES = {case.name: case for case in ALL}
SIZE = 8
WEEKS = 8  # in which the mutants of every kernel run once


def made(operator, lines):
    """Mutate the body of a small kernel; return the changed lines as they are afterwards."""
    body = "".join(f"    {line}\n" for line in lines.split("\n"))
    found = changes(f"def kernel(a, b, n):\n{body}", {"SIZE": SIZE})
    return [change.after for change in found if change.operator == operator]


TEXTS = [
    ("drop a guard", "if i < n:\n    a[i] = 0", ["if True:"]),
    ("drop a guard", "if i >= n:\n    return", ["if False:"]),
    ("drop a guard", "if i < n and j < m:\n    a[i] = 0", ["if True:", "if j < m:", "if i < n:"]),
    ("drop a guard", "if i >= n or j >= m:\n    return", ["if False:", "if j >= m:", "if i >= n:"]),
    ("drop a guard", "if 0 <= i < n:\n    a[i] = 0", ["if True:", "if 0 <= i:", "if i < n:"]),
    ("drop a guard", "s = a[i] if i < n else 0", ["s = a[i]"]),
    ("drop a barrier", "cuda.syncthreads()\ncuda.syncwarp()", ["pass", "pass"]),
    ("drop a barrier", "n = cuda.syncthreads_count(1)", []),
    ("drop a fence", "cuda.threadfence()", ["pass"]),
    ("make an atomic plain", "cuda.atomic.add(a, i, 1)", ["a[i] += 1"]),
    ("make an atomic plain", "cuda.atomic.max(a, (i, j), b[i])", ["a[i, j] = max(a[i, j], b[i])"]),
    (
        "make an atomic plain",
        "b[i] = cuda.atomic.exch(a, n, i)",
        ["plain = a[n]; a[n] = i; b[i] = plain"],
    ),
    (
        "make an atomic plain",
        "old = cuda.atomic.compare_and_swap(a, 0, i)",
        ["plain = a[0]; a[0] = i if plain == 0 else plain; old = plain"],
    ),
    ("shift an index", "s = a[i]", ["s = a[i + 1]", "s = a[i - 1]"]),
    (
        "shift an index",
        "s = a[2, i - 1]",
        ["s = a[3, i - 1]", "s = a[1, i - 1]", "s = a[2, i]", "s = a[2, i - 2]"],
    ),
    ("shift an index", "s = a[i & 1]", ["s = a[(i & 1) + 1]", "s = a[(i & 1) - 1]"]),
    ("shift an index", "s = a.shape[0]", []),
    (
        "shift an index",
        "cuda.atomic.add(a, i, 1)",
        ["cuda.atomic.add(a, i + 1, 1)", "cuda.atomic.add(a, i - 1, 1)"],
    ),
    ("swap indices", "s = a[i, j + 1]", ["s = a[j + 1, i]"]),
    ("swap indices", "s = a[i, i]", []),
    ("swap indices", "x, y = cuda.grid(2)", ["y, x = cuda.grid(2)"]),
    ("shrink an array", "s = cuda.shared.array(SIZE, t)", ["s = cuda.shared.array(7, t)"]),
    (
        "shrink an array",
        "s = cuda.local.array(shape=(SIZE, SIZE + 1), dtype=t)",
        ["s = cuda.local.array(shape=(7, 9), dtype=t)", "s = cuda.local.array(shape=(8, 8), dtype=t)"],
    ),
    ("shrink an array", "s = cuda.shared.array(0, t)\nr = cuda.shared.array(1, t)", []),
    (
        "change a stride",
        "for k in range(i, n, cuda.gridsize(1)):\n    pass",
        ["for k in range(i, n, cuda.gridsize(1) + 1):"],
    ),
    ("change a stride", "while i < n:\n    i += step", ["i += step + 1"]),
    ("change a stride", "i = cuda.blockIdx.x * SIZE + t", ["i = cuda.blockIdx.x * (SIZE + 1) + t"]),
    ("change a stride", "s = a[i * n + j]", ["s = a[i * (n + 1) + j]"]),
    ("change a stride", "s = a[2 * i + 1]", ["s = a[3 * i + 1]"]),
    ("change a stride", "for k in range(n, 0, -2):\n    pass", ["for k in range(n, 0, -3):"]),
    (
        "loosen a comparison",
        "if i < n and j > 0:\n    pass",
        ["if i <= n and j > 0:", "if i < n and j >= 0:"],
    ),
    ("loosen a comparison", "if i >= n:\n    return", ["if i > n:"]),
    ("loosen a comparison", "if 0 <= i < n:\n    pass", ["if 0 <= i <= n:"]),
    ("shorten a loop", "for k in range(n):\n    pass", ["for k in range(n - 1):"]),
    ("shorten a loop", "for k in range(1, n + 1):\n    pass", ["for k in range(1, n):"]),
    ("shorten a loop", "for k in range(n, 0, -1):\n    pass", ["for k in range(n, 1, -1):"]),
    ("shorten a loop", "for k in (4, 2, 1):\n    pass", ["for k in (4, 2):"]),
]


@pytest.mark.parametrize(("operator", "lines", "expected"), TEXTS)
def test_operator_makes_these_mutants(operator, lines, expected):
    assert made(operator, lines) == expected


def test_every_operator_is_tried_on_a_text():
    assert {operator for operator, _, expected in TEXTS if expected} == set(OPERATORS)


def test_two_mutants_that_read_the_same_are_told_apart():
    assert made("drop a barrier", "cuda.syncthreads()\na[i] = 0\ncuda.syncthreads()") == ["pass", "pass  # 2"]


@cuda.jit(device=True)
def element(x, i):
    return x[i]


@cuda.jit
def doubled(x, out):
    """twice each element, × 2"""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * element(x, i)  # the device function reads


def mutant_of(kernel, after):
    return next(each for each in mutants(kernel) if each.change.after.startswith(after))


def test_a_mutant_runs_and_its_lines_are_known():
    x = np.arange(40.0)
    kernel = mutant_of(doubled, "if True:").kernel()
    report = check(kernel)[2, 32](*map(cuda.to_device, (x, x)))
    found = report.findings[0]
    assert found.kind == "out of bounds" and "x[40]" in found.text
    assert "return x[i]" in found.source()[0] and "mutant of" not in found.file
    assert "if True:" in inspect.getsource(kernel.py_func)
    assert "if i < out.size:" in source_of(doubled.py_func)


def test_a_device_function_is_mutated_for_the_kernel_that_calls_it():
    x, out = cuda.to_device(np.arange(64.0)), cuda.to_device(np.zeros(64))
    mutant = mutant_of(doubled, "return x[i - 1]")
    assert mutant.function == "element"
    with cuda.stand_in(interpreted=True):
        mutant.kernel()[2, 32](x, out)
        assert out.copy_to_host()[5] == 8
        doubled[2, 32](x, out)
        assert out.copy_to_host()[5] == 10


def test_verdicts():
    """One kernel's mutants, of which it is plain what must come of them."""
    (task,) = mutate.by_case(mutate.all_mutants([CASES["vector add"]]))
    found, left_out = mutate.judged_of(task)
    assert left_out == ""
    verdicts = {each.after: (each.verdict, *each.found) for each in found}
    assert verdicts["if True:"] == ("caught", "out of bounds")
    assert {each.verdict for each in found} == {"caught"}


# A sample that must stay caught: the case, the operator, and which of its mutants there.
CAUGHT = [
    ("matmul square tiles", "drop a barrier", 0),
    ("matmul square tiles", "drop a barrier", 1),
    ("transpose tiled", "drop a barrier", 0),
    ("sum sequential", "drop a barrier", 1),
    ("sum with the last warp unrolled", "drop a barrier", 2),  # of a warp
    ("sum by the last block", "drop a barrier", 3),
    ("scan in one buffer", "drop a barrier", 2),
    ("running maximum of rows", "drop a barrier", 1),  # the result stays right in every order
    ("shared array of a device function", "drop a barrier", 1),  # in the device function
    ("two types in dynamic shared memory", "drop a barrier", 0),
    ("sum by the last block", "drop a fence", 0),
    ("sum by atomics", "make an atomic plain", 0),
    ("sum by the last block", "make an atomic plain", 0),
    ("histogram in shared memory", "make an atomic plain", 0),
    ("joint histogram", "make an atomic plain", 0),
    ("work queue", "make an atomic plain", 1),
    ("atomic extremes of float32", "make an atomic plain", 0),
    ("linked lists by exchange", "make an atomic plain", 0),
    ("election by compare-and-swap", "make an atomic plain", 0),
    ("vector add", "drop a guard", 0),
    ("matmul naive", "drop a guard", 1),
    ("matmul ragged tiles", "drop a guard", 0),
    ("window sum with a halo", "drop a guard", 0),
    ("sum sequential", "drop a guard", 0),
    ("transpose tiled", "shrink an array", 1),
    ("local arrays that swap", "shrink an array", 0),
]


@pytest.mark.parametrize(("name", "operator", "number"), CAUGHT)
def test_caught(name, operator, number):
    case = CASES[name]
    of_operator = [
        (place, index)
        for place, kernel in enumerate(mutate.kernels_of(case))
        for index, mutant in enumerate(mutants(kernel))
        if mutant.operator == operator
    ]
    (judged,), _ = mutate.judged_of((name, [of_operator[number]]))
    assert judged.verdict == "caught", judged


def test_list_names_mutants_that_there_are():
    """A kernel that has been changed since must not stay listed under lines that it no longer has."""
    there = {
        (case.name, mutant.function, mutant.operator, mutant.change.before, mutant.change.after)
        for case in ALL
        for kernel in mutate.kernels_of(case)
        for mutant in mutants(kernel)
    }
    assert mutate.listed() and set(mutate.listed()) <= there
    assert mutate.UNEXPLAINED not in mutate.listed().values()


@pytest.mark.slow
def test_survivors_are_the_ones_that_are_listed():
    cases = weekly.in_turn(ALL, WEEKS, "mutants of kernels")
    tasks = mutate.by_case(mutate.all_mutants(cases))
    known = {key for key in mutate.listed() if key[0] in {case.name for case in cases}}
    judged = []
    for found, left_out in mutate.judge_all(tasks):
        assert not left_out
        judged += found
    survivors = {each.key for each in judged if each.verdict == "survivor"}
    assert judged and survivors - known == set(), "new survivors"
    assert known - survivors == set(), "listed, and caught or harmless now"
