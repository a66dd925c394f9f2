"""Mutants of the solutions: how they are made, how they are judged, and that the checks reject them all.

`make test` judges one, `make test-all` some of each set, in turns; `python -m tests.commands.exercises.mutate` judges all.
What a check cannot tell from the solution, because it computes the same, stands in `equivalent.toml` with the reason.
"""

import textwrap
from collections import Counter
from functools import cache

import nbformat
import pytest

from authoring.solutions import BEGIN, END
from host_to_device.exercises import definition
from tests import weekly
from tests.commands.exercises import mutate, mutating_cuda
from tests.commands.exercises.mutate import Judged, Mutant, listed, mutants_of
from tests.commands.exercises.mutating import OPERATORS, Change, changes, lines_that_differ
from tests.commands.kernels import mutating as kernels

SETS = sorted(mutate.SOLUTIONS.glob("*.ipynb"))
SAMPLE = len(SETS)
WEEKS = 52  # in which each mutant runs once: one takes some four seconds
KERNEL = "@cuda.jit\ndef kernel(a, b, out):\n"
HOST = "def host(x, n):\n"


def cell(head, body):
    """Return a solution cell with this body between its markers."""
    return head + textwrap.indent(f"{BEGIN}\n{body}\n{END}\n", "    " if head else "")


def made(operator, head, body):
    return [change.after for change in changes(cell(head, body)) if change.operator == operator]


OTHER = '"f4" if {0}.dtype == "f8" else "f8"'
TEXTS = [
    # What tests.corpora.kernels has: only that it arrives here.
    ("drop a guard", KERNEL, "if i < n:\n    out[i] = 0", ["if True:"]),
    ("drop a barrier", KERNEL, "cuda.syncthreads()", ["pass"]),
    ("make an atomic plain", KERNEL, "cuda.atomic.add(out, 0, a[i])", ["out[0] += a[i]"]),
    ("loosen a comparison", KERNEL, "if i < n:\n    out[i] = 0", ["if i <= n:"]),
    # Its indices, without those that are none.
    ("shift an index", KERNEL, "s = a[i]", ["s = a[i + 1]", "s = a[i - 1]"]),
    ("shift an index", HOST, "kernel[blocks, 128](x)", []),
    ("shift an index", HOST, "kernel[1, 32](x[n])", ["kernel[1, 32](x[n + 1])", "kernel[1, 32](x[n - 1])"]),
    ("swap indices", HOST, "kernel[blocks, threads](x)", []),
    ("swap indices", KERNEL, "s = a[i, j]", ["s = a[j, i]"]),
    (
        "swap indices",
        KERNEL,
        "i = cuda.threadIdx.x\nj = cuda.threadIdx.y",
        ["i = cuda.threadIdx.y", "j = cuda.threadIdx.x"],
    ),
    ("swap indices", KERNEL, "i = cuda.threadIdx.x", []),
    ("take the wrong thread", KERNEL, "i = cuda.grid(1)", ["i = cuda.threadIdx.x", "i = cuda.blockIdx.x"]),
    (
        "take the wrong thread",
        KERNEL,
        "i, j = cuda.grid(2)",
        ["i, j = cuda.threadIdx.x, cuda.threadIdx.y", "i, j = cuda.blockIdx.x, cuda.blockIdx.y"],
    ),
    ("swap arguments", HOST, "kernel[1, 32](n, d_a, d_b)", ["kernel[1, 32](n, d_b, d_a)"]),
    ("swap arguments", HOST, "kernel((1,), (32,), (d_a, d_b))", ["kernel((1,), (32,), (d_b, d_a))"]),
    (
        "swap arguments",
        HOST,
        "kernel((1,), (32,), (x, np.int32(n), 3))",
        ["kernel((1,), (32,), (x, 3, np.int32(n)))"],
    ),
    ("swap arguments", HOST, "function(d_a, d_b)", []),
    ("swap a launch", HOST, "kernel[blocks, 128](x)", ["kernel[128, blocks](x)"]),
    ("swap a launch", HOST, "kernel((b,), (32,), (x,))", ["kernel((32,), (b,), (x,))"]),
    ("swap a launch", HOST, "kernel[32, 32](x)", []),
    ("shorten a launch", HOST, "kernel[blocks, 128](x)", ["kernel[blocks - 1, 128](x)"]),
    (
        "shorten a launch",
        HOST,
        "kernel[(b, 2), (8, 8)](x)",
        [f"kernel[({c}), (8, 8)](x)" for c in ("b - 1, 2", "b, 1")],
    ),
    ("shorten a launch", HOST, "kernel((b,), (32,), (x,))", ["kernel((b - 1,), (32,), (x,))"]),
    ("shorten a launch", HOST, "b = math.ceil(n / 128)", ["b = int(n / 128)"]),
    ("shorten a launch", HOST, "b = (n + size - 1) // size", ["b = n // size"]),
    ("shorten a launch", HOST, "b = (n + 127) // 128", ["b = n // 128"]),
    ("shorten a launch", HOST, "b = (n + 1) // 128", []),
    ("shorten a launch", HOST, "b = -(-n // 128)", ["b = n // 128"]),
    (
        "take a wrong dtype",
        KERNEL,
        "s = cuda.shared.array(32, float32)",
        ["s = cuda.shared.array(32, int32)"],
    ),
    (
        "take a wrong dtype",
        KERNEL,
        "s = cuda.shared.array(shape=32, dtype=numba.int32)",
        ["s = cuda.shared.array(shape=32, dtype=numba.int8)"],
    ),
    ("take a wrong dtype", KERNEL, "out[i] = a[i] / 3", ["out[i] = a[i] // 3"]),
    ("take a wrong dtype", HOST, "y = np.zeros(n, np.float32)", ["y = np.zeros(n, np.float64)"]),
    ("take a wrong dtype", HOST, 'y = x.astype("int32")', ['y = x.astype("float32")']),
    (
        "take a wrong dtype",
        HOST,
        "y = cuda.device_array_like(x)",
        [f"y = cuda.device_array(x.shape, dtype={OTHER.format('x')})"],
    ),
    (
        "take a wrong dtype",
        HOST,
        "y = cp.empty_like(x)",
        [f"y = cp.empty_like(x, dtype={OTHER.format('x')})"],
    ),
    (
        "take a wrong dtype",
        HOST,
        "d = cuda.to_device(x)",
        [f"d = cuda.to_device(x.astype({OTHER.format('x')}))"],
    ),
    ("take a wrong dtype", HOST, "return x", [f"return (lambda a: a.astype({OTHER.format('a')}))(x)"]),
    ("store a constant", KERNEL, "out[i] = a[i]\nshared[i] = 1", ["out[i] = 0"]),
    ("store a constant", KERNEL, "out[i] += a[i]", ["out[i] += 0"]),
    ("store a constant", KERNEL, "cuda.atomic.add(out, 0, a[i])", ["cuda.atomic.add(out, 0, 0)"]),
    ("store a constant", "@cuda.jit(device=True)\ndef f(x):\n", "return x + 1", ["return 0"]),
    ("store a constant", HOST, "return cp.RawKernel(x, n)", []),
    ("store a constant", HOST, "return x + n, n", ["return 0 * (x + n), n", "return x + n, 0 * n"]),
    (
        "copy inside the loop",
        HOST,
        "d = cuda.to_device(x)\nfor _ in range(n):\n    kernel[1, 32](d)",
        [
            "d = cuda.to_device(d.copy_to_host()); kernel[1, 32](d)",
            "kernel[1, 32](d); d.copy_to_host()",
        ],
    ),
    (
        "copy inside the loop",
        HOST,
        "d = cp.asarray(x)\nwhile n:\n    d += 1",
        ["d = cp.asarray(cp.asnumpy(d)); d += 1", "d += 1; cp.asnumpy(d)"],
    ),
    (
        "copy inside the loop",
        HOST,
        "t, u = x.to(device), 3\nfor _ in range(n):\n    t = t + u",
        ["t = t.cpu().to(t.device); t = t + u", "t = t + u; t.cpu()"],
    ),
    ("copy inside the loop", HOST, "d = cuda.to_device(x)\nfor _ in range(n):\n    n += 1", []),
    ("return early", KERNEL, "i = 1\nout[i] = 0", ["return; i = 1", "return; out[i] = 0"]),
    ("return early", "@cuda.jit(device=True)\ndef f(x):\n", "y = 1\nreturn y", []),
    (
        "return early",
        KERNEL,
        "if i < n:\n    s[i] = 1\ncuda.syncthreads()",
        ["return; if i < n:", "return; cuda.syncthreads()", "if not (i < n):; return; if i < n:"],
    ),
    ("return early", HOST, "for k in range(n):\n    x += k", ["x += k; break"]),
    ("return early", HOST, "for k in range(n):\n    if k:\n        break", ["break; break"]),
    ("forget a step", HOST, "kernel[1, 32](x)", ["pass"]),
    ("forget a step", HOST, "y = 1\ny = 2\nn += y", ["pass", "pass"]),
    ("forget a step", HOST, "a, b = x, n\na, b = b, a", ["pass"]),
    ("forget a step", KERNEL, "i = 1\nout[i] = 0\ncuda.syncthreads()", ["pass"]),
]


@pytest.mark.parametrize(("operator", "head", "body", "expected"), TEXTS)
def test_operator_makes_these_mutants(operator, head, body, expected):
    assert made(operator, head, body) == expected


def test_every_operator_is_tried_here_or_with_the_kernels():
    assert {operator for operator, _, _, expected in TEXTS if expected} | set(kernels.OPERATORS) == set(
        OPERATORS
    )


def test_only_what_the_learner_writes_is_changed():
    source = f"@cuda.jit\ndef kernel(a):\n    i = cuda.grid(1)\n    {BEGIN}\n    a[i] = 1\n    {END}\n    a[0] = 2\n"
    for change in changes(source):
        assert change.text.splitlines()[2] == "    i = cuda.grid(1)"
        assert change.text.splitlines()[-1] == "    a[0] = 2", change
    assert {change.after for change in changes(source)} >= {"a[i + 1] = 1", "a[i] = 0", "pass"}


def test_no_two_mutants_are_the_same_program():
    texts = [mutant.change.text for mutant in all_mutants()]
    assert len(set(texts)) == len(texts)


@cache
def all_mutants() -> list[Mutant]:
    """Return the mutants of every set, made once: that takes seconds."""
    return [mutant for path in SETS for mutant in mutants_of(path)]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a\nb\nc", "a\nB\nc", ("b", "B")),
        ("a\nb\nc", "a\nx\nb\nc", ("b", "x; b")),
        ("a\n    b\nc", "a\n    b\n    x\nc", ("b", "b; x")),
        (f"a\nb\n{END}", f"a\nb\nx\n{END}", ("b", "b; x")),
        ("a\nb", "a\nb\nx", ("b", "b; x")),
        ("a\na\nb", "a\nb", ("a; b", "b")),
    ],
)
def test_a_change_is_told_by_its_lines(old, new, expected):
    assert lines_that_differ(old, new) == expected


# -- CUDA C++

SOURCE = textwrap.dedent(
    """
    extern "C" __global__ void total(const float* x, float* out, int n) {
        __shared__ float part[32];
        int i = blockIdx.x * blockDim.x + threadIdx.x;  // if (i < n) is not a guard here
        part[threadIdx.x] = 0.0f;
        if (i < n && i >= 0) {
            part[threadIdx.x] = x[i];
        }
        __syncthreads();
        for (int s = 16; s > 0; s /= 2) {
            if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
            __syncthreads();
        }
        if (threadIdx.x != 0) return;
        atomicAdd(&out[0], part[0]);
    }
    """
)
IN_CUDA = [
    ("drop a guard", "if (true) {"),
    ("drop a guard", "if (i >= 0) {"),
    ("drop a guard", "if (i < n) {"),
    ("drop a guard", "if (false) return;"),
    ("drop a barrier", ";"),
    ("drop a barrier", ";  # 2"),
    ("make an atomic plain", "out[0] += (part[0]);"),
    ("shift an index", "part[threadIdx.x] = x[i + 1];"),
    ("shift an index", "atomicAdd(&out[1], part[0]);"),
    ("take the wrong thread", "int i = threadIdx.x;  // if (i < n) is not a guard here"),
    ("loosen a comparison", "if (i <= n && i >= 0) {"),
    ("loosen a comparison", "if (threadIdx.x <= s) part[threadIdx.x] += part[threadIdx.x + s];"),
    ("shorten a loop", "for (int s = 16; s > (0) + 1; s /= 2) {"),
    ("take a wrong dtype", "__shared__ int part[32];"),
    ("store a constant", "atomicAdd(&out[0], 0);"),
    ("return early", "break; }"),
    ("return early", "return; atomicAdd(&out[0], part[0]);"),
]


def cuda_changes(code):
    return [
        change
        for change in changes(cell("", f"total = cp.RawKernel(r'''{code}''', 'total')"))
        if change.operator in mutating_cuda.OPERATORS
    ]


@pytest.mark.parametrize(("operator", "after"), IN_CUDA)
def test_cuda_cpp_is_changed(operator, after):
    found = [change.after for change in cuda_changes(SOURCE) if change.operator == operator]
    assert after in found, found


def test_comments_and_declarations_in_cuda_cpp_stay():
    for change in cuda_changes(SOURCE):
        assert "// if (i < n) is not a guard here" in change.text, change
        assert "part[32]" in change.text, change


def test_rows_and_columns_in_cuda_cpp():
    code = 'extern "C" __global__ void t(float* out) {\n int x = threadIdx.x, y = threadIdx.y;\n out[y * 8 + x] = a[y][x];\n}'
    found = [change.after for change in cuda_changes(code) if change.operator == "swap indices"]
    assert "out[x * 8 + y] = a[y][x];" in found and "out[y * 8 + x] = a[x][y];" in found
    assert "int x = threadIdx.y, y = threadIdx.y;" in found


# -- judging


SMALL = {
    "given": "import numpy as np\nfrom numba import cuda",
    "solution": cell(
        "def tenfold(x):\n",
        "y = 0 * x - 1\nfor i in range(x.size):\n    y[i] = 10 * x[i]\nreturn y",
    ),
    "check": """
from host_to_device.exercises import Exercise, Wrong

class Tenfold(Exercise):
    \"\"\"Ten times as much.\"\"\"
    number, points, minutes, needs = "99.1", 1, 5, ("function tenfold(x)",)
    hints = ("Ten.", "Ten times.", "10 * x")
    seconds = 4.0
    def cases(self, seed):
        return [{"size": 3, "seed": seed}]
    def run(self, student, given):
        return {"y": student.tenfold(np.arange(given["size"], dtype="f8"))}
    def judge(self, case, got):
        if not np.array_equal(got["y"], 10.0 * np.arange(case["size"])):
            raise Wrong("not ten times as much", hint="Ten times.")
""",
    "answer": 'h2d.answer("99.1")',
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A set of one exercise, whose check does not look at the dtype."""
    v4 = nbformat.v4
    cells = [v4.new_markdown_cell("# A set"), v4.new_markdown_cell("## 99.1 Tenfold (5 minutes)")]
    for name, source in SMALL.items():
        cells.append(v4.new_code_cell(source, id=name))
    cells[-1].metadata["nbgrader"] = {"grade": True, "grade_id": "answer", "points": 1}
    path = tmp_path_factory.mktemp("small") / "99-small.ipynb"
    nbformat.write(v4.new_notebook(cells=cells), path)
    return path


WANTED = {
    "y[i] = 10 * x[i - 1]": "wrong",
    "y[i + 1] = 10 * x[i]": "raised",
    "return 0 * y": "wrong",
    "for i in range(x.size - 1):": "wrong",
    'return (lambda a: a.astype("f4" if a.dtype == "f8" else "f8"))(y)': "survivor",
}
BY_HAND = {
    "import os; os.kill(os.getpid(), 9)": "raised",
    "while True: pass": "hung",
    "import time; time.sleep(2.5)": "survivor",  # slower than the solution, and not for ever
    "import sys; sys.exit()": "wrong",
}


@pytest.mark.slow  # one of the mutants hangs until its limit
def test_verdicts(small):
    """One exercise's mutants, of which it is plain what must come of them, and some that end badly."""
    mutants = [mutant for mutant in mutants_of(small) if mutant.change.after in WANTED]
    by_hand = [
        Change("by hand", "", line, SMALL["solution"].replace("return y", f"{line}\n    return y"))
        for line in BY_HAND
    ]
    mutants = [*(Mutant(small, "99.1", "solution", change) for change in by_hand), *mutants]
    found = {each.mutant.change.after: each for each in mutate.judge_all(mutants)}
    assert {after: each.verdict for after, each in found.items()} == WANTED | BY_HAND
    assert "not ten times as much" in found["return 0 * y"].said
    assert found["import os; os.kill(os.getpid(), 9)"].said == "it ended the process"
    slow, fault = mutate.problems(list(found.values()), {})
    assert slow.startswith("survivor: ('99.1', 'solution', 'by hand'")
    assert fault.startswith("survivor: ('99.1', 'solution', 'take a wrong dtype'")


@pytest.mark.parametrize(
    ("old", "new"), [("10 * x[i]", "11 * x[i]"), ('[{\\"size\\": 3', '[{\\"size\\": 1 // seed')]
)
def test_a_set_whose_own_solution_is_not_called_right_cannot_be_judged(
    small, tmp_path, monkeypatch, old, new
):
    monkeypatch.setenv("H2D_PROGRESS", str(tmp_path / "progress.json"))
    path = tmp_path / small.name
    path.write_text(small.read_text().replace(old, new))
    try:
        with pytest.raises(ValueError, match=r"99\.1: the solution is not called right"):
            mutate.Bench(path).limit("99.1")
    finally:
        definition.in_notebook.pop("99.1", None)


# -- the list


def judged(mutant, verdict):
    return Judged(mutant, verdict, "", 0.0)


def test_survivors_stale_entries_and_too_many_of_them_are_faults(small):
    mutants = mutants_of(small)
    first, second, *_ = mutants
    assert mutate.problems([judged(first, "survivor")], {first.key: "a reason"}) == []
    (stale,) = mutate.problems([judged(first, "wrong")], {first.key: "a reason"})
    assert stale.startswith("called equivalent, and wrong")
    few = len(mutants) // 10
    assert mutate.too_many(mutants, [each.key for each in mutants[:few]]) == []
    (fault,) = mutate.too_many(mutants, [each.key for each in mutants[: few + 1]])
    assert fault == f"set 99: {few + 1} of {len(mutants)} mutants are called equivalent"
    (gone,) = mutate.too_many(mutants, [(*second.key[:-1], "something else")])
    assert gone.startswith("listed, and there is no such mutant")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[[reason]]\nmutants = [["02.1", "a", "b", "c", "d"]]', "is no reason"),
        ('[[reason]]\ntext = "equivalent"\nmutants = [["02.1", "a", "b", "c", "d"]]', "is no reason"),
        (
            '[[reason]]\ntext = "it computes the same as before"\nmutants = [["1"], ["1"]]',
            "listed twice",
        ),
    ],
)
def test_an_entry_without_a_reason_is_refused(tmp_path, text, problem):
    path = tmp_path / "equivalent.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=problem):
        listed(path)


def test_the_list_names_mutants_that_there_are_and_not_too_many():
    every = all_mutants()
    assert every and mutate.too_many(every, listed()) == []


def test_a_sample_takes_every_set_and_many_operators():
    every = all_mutants()
    drawn = mutate.sample(every, SAMPLE)
    assert len(drawn) == SAMPLE and drawn == sorted(drawn, key=every.index)
    assert Counter(mutant.path for mutant in drawn) == dict.fromkeys(SETS, 1)
    assert len({mutant.change.operator for mutant in drawn}) >= SAMPLE - 2, "nearly all of them differ"


def test_a_mutant_is_killed():
    every = all_mutants()
    found = list(mutate.judge_all(mutate.sample(every, 1)))
    assert len(found) == 1 and mutate.problems(found, listed()) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_mutants_are_killed_or_equivalent_for_a_written_reason(path):
    every = mutants_of(path)
    mutants = weekly.in_turn(every, WEEKS, path.stem)
    assert len(every) >= 30 and mutants
    found = list(mutate.judge_all(mutants))
    assert len(found) == len(mutants) and mutate.problems(found, listed()) == []
