"""What `h2d.answer` says to everything that may stand in the cells before it.

The table was written from what a learner may do, before the code was tuned to it. Each entry is the code of a cell,
and what has to be in what is printed; every entry is then held to the same rules: nothing is raised, no traceback, a
verdict that begins with the number, an end in time, and nothing in the process other than it was before.
"""

import builtins
import gc
import io
import json
import linecache
import math
import os
import random
import re
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections import OrderedDict
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from host_to_device import exercises
from host_to_device.counting import Count, on_gpu
from host_to_device.counting.numbers import NOT_KNOWN
from host_to_device.exercises import (
    AnswerError,
    Exercise,
    Out,
    Wrong,
    answering,
    catalogue,
    definition,
    inputs,
    judge_choice,
    judge_counts,
    judge_function,
    judge_kernel,
    judge_ratio,
    judging,
    run_function,
    run_kernel,
    run_ratio,
    safety,
    solved,
    student_runs,
    touches,
    values,
)
from host_to_device.starting import context, machine

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60.0  # for what ends: the machine may be busy
SECOND = 1.0  # for what ends within a fraction of it
SHORT = 0.5  # for what does not end
STOPPED = f"stopped after {SHORT:g} s"
SOON = f"stopped after {SHORT / 4:g} s"  # a loop that computes has a quarter, of what it gets of a processor

pytestmark = pytest.mark.usefixtures("way")


class Twice(Exercise):
    """A kernel."""

    number, points, minutes = "99.1", 2, 5
    needs = ("kernel twice(x, out)",)
    hints = ("weak", "stronger", "nearly all")
    seconds = SECONDS

    def cases(self, seed):
        return inputs.launches(seed, most=300)

    def given(self, case):
        return super().given(case) | {"x": inputs.distinct(case["size"], seed=case["seed"])}

    def run(self, student, given):
        x = given["x"]
        return run_kernel(student.twice, (x, Out(x.shape, x.dtype)), given["grid"], given["block"])

    def judge(self, case, got):
        x = self.given(case)["x"]
        judge_kernel(
            got, 2 * x, inputs=[x], mistakes=[(x, "Where is the 2?"), (2 * np.roll(x, 1), "Shifted.")]
        )


class Add(Exercise):
    """A function."""

    number, points, minutes = "99.2", 1, 5
    needs = ("function add(a, b)",)
    hints = ("weak", "stronger", "nearly all")
    raised = (("could not be broadcast", "Are both of one length?"),)
    seconds = SECONDS

    def cases(self, seed):
        return [{"size": size, "seed": seed + size} for size in (7, 1, 100)]

    def given(self, case):
        a, b = (inputs.distinct(case["size"], seed=case["seed"] + n) for n in (0, 1))
        return {"a": a, "b": b}

    def run(self, student, given):
        return run_function(student.add, given["a"], given["b"], counted=True)

    def judge(self, case, got):
        given = self.given(case)
        a, b = given["a"], given["b"]
        judge_function(got, a + b, inputs=[a, b], mistakes=[(a - b, "That is the difference.")])
        judge_counts(got, host_to_device=(0, 2))


class Grid(Exercise):
    """A kernel of two dimensions."""

    number, points, minutes = "99.3", 3, 5
    needs = ("kernel turned(a, out)",)
    hints = ("weak", "stronger", "nearly all")
    seconds = SECONDS

    def cases(self, seed):
        return inputs.launches_2d(seed, most=30)

    def given(self, case):
        a = inputs.distinct((case["rows"], case["columns"]), np.int32, case["seed"])
        return super().given(case) | {"a": a}

    def run(self, student, given):
        a = given["a"]
        return run_kernel(student.turned, (a, Out(a.T.shape, a.dtype)), given["grid"], given["block"])

    def judge(self, case, got):
        a = self.given(case)["a"]
        judge_kernel(got, a.T, inputs=[a])


class Total(Exercise):
    """Objects that are no functions."""

    number, points, minutes = "99.4", 1, 5
    needs = ("number total", "array table", "class Model", "device function square(x)")
    hints = ("weak", "stronger", "nearly all")
    seconds = SECONDS

    def cases(self, seed):
        return [{}]

    def run(self, student, given):
        return {"total": student.total, "table": student.table}

    def judge(self, case, got):
        if got["total"] != 3:
            raise Wrong("total is not 3")


START = "import math, time, sys, os\nimport numpy as np\nfrom numba import cuda, njit\nimport host_to_device as h2d\n"
KERNEL = (
    "@cuda.jit\ndef twice(x, out):\n    i = cuda.grid(1)\n    if i < out.size:\n        out[i] = 2 * x[i]\n"
)
ADD = "def add(a, b):\n    return a + b\n"


def body(text):
    return "def add(a, b):\n" + textwrap.indent(textwrap.dedent(text).strip(), "    ") + "\n"


def kernel(text):
    return "@cuda.jit\ndef twice(x, out):\n" + textwrap.indent(textwrap.dedent(text).strip(), "    ") + "\n"


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no")


def run_cell(code, names):
    """Run a cell as IPython does: its lines can be found again."""
    file = f"<cell {len(linecache.cache)}>"
    linecache.cache[file] = len(code), None, code.splitlines(True), file
    exec(compile(code, file, "exec"), names)


def notebook(*cells):
    names = {"__name__": "__main__", "Unspeakable": Unspeakable}
    for cell in (START, *cells):
        run_cell(cell, names)
    return names


def asked(number, names, call=""):
    """Call `answer` as a cell of this notebook would."""
    names["__answer"] = exercises.answer
    names.pop("__verdict", None)
    run_cell(f"__verdict = __answer({number!r}{call})", names)
    return names["__verdict"]


@pytest.fixture(scope="module", autouse=True)
def stand_in():
    machine.start()


@pytest.fixture(autouse=True)
def set_99(monkeypatch, tmp_path):
    for cls in (Twice, Add, Grid, Total):
        monkeypatch.setitem(definition.in_notebook, cls.number, cls)
    monkeypatch.setenv("H2D_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.delenv("H2D_STRICT", raising=False)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)


def state():
    """Return what has to be as before: nobody looks for a learner's trace in the next chapter."""
    return {
        "folder": os.getcwd(),
        "environment": {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"},
        "errors": np.geterr(),
        "options": {k: v for k, v in np.get_printoptions().items() if k != "override_repr"},
        "streams": (sys.stdout, sys.stderr, sys.stdin),
        "filters": list(warnings.filters),
        "random": random.getstate(),
        "numpy random": str(np.random.get_state()),
        "limit": sys.getrecursionlimit(),
        "trace": sys.gettrace(),
        "profile": sys.getprofile(),
        "collecting": gc.isenabled(),
        "path": list(sys.path),
        "builtins": dict(vars(builtins)),
        "exit": (os._exit, os.abort),
        "replaced": {f"{o}.{n}": v for (o, n), v in safety.replaced().items()},
        "limits": list(safety._ends),
    }


ADD_WRONG = [
    # What is there at all.
    ("undefined", "x = 1", ["add is not defined", "Run the cell that defines it"]),
    ("spelt otherwise", "def Add(a, b):\n    return a + b", ["add is not defined"]),
    ("deleted", ADD + "del add", ["add is not defined"]),
    ("None", "add = None", ["add is None"]),
    ("the result instead of the function", ADD + "add = add(1, 2)", ["add is a number, but the task needs a function"]),
    ("a number", "add = 3.5", ["add is a number, but the task needs a function"]),
    ("a text", "add = 'a + b'", ["add is a text"]),
    ("a module", "add = math", ["add is a module"]),
    ("a class", "class add:\n    def __init__(self, a, b): pass", ["add is a class (add)"]),
    ("a kernel", "@cuda.jit\ndef add(a, b):\n    pass", ["add is a kernel, but the task needs a function"]),
    ("too few parameters", "def add(a):\n    return a", ["add takes 1 parameter (a), but the check calls it with 2: a, b"]),
    ("too many parameters", "def add(a, b, c):\n    return a + b", ["add takes 3 parameters (a, b, c)"]),
    ("no parameters", "def add():\n    return 1", ["add takes 0 parameters, but the check calls it with 2"]),
    ("keywords only", "def add(*, a, b):\n    return a + b", ["add takes 2 parameters"]),
    ("not written", body('raise NotImplementedError("not written yet")'), ["99.2 is not written yet"]),
    ("nbgrader's skeleton", body("# YOUR CODE HERE\nraise NotImplementedError()"), ["99.2 is not written yet"]),
    # What comes back.
    ("nothing", body("c = a + b"), ["the function returns None", "End the function with return"]),
    ("a print instead", body("print(a + b)"), ["returns None", "Your code printed"]),
    ("a list", body("return list(a + b)"), ["the result is a list, but the task needs a NumPy array"]),
    ("a tuple", body("return tuple(a + b)"), ["the result is a list"]),
    ("a generator", body("for x, y in zip(a, b):\n    yield x + y"), ["the result is a generator"]),
    ("a coroutine", "async " + ADD, ["the result is a coroutine: the function is async"]),
    ("a lambda", body("return lambda: a + b"), ["the result is a function"]),
    ("the function itself", body("return add"), ["the result is a function"]),
    ("a device array", body("return cuda.to_device(a + b)"), ["the result is a device array", "Copy it back"]),
    (
        "a CuPy array",
        body("import cupy as cp\nreturn cp.asarray(a) + cp.asarray(b)"),
        ["the result is a CuPy array", "Copy it back"],
    ),
    ("a tensor", "import torch\n" + body("return torch.tensor(a) + torch.tensor(b)"), ["a PyTorch tensor", "Copy"]),
    ("float64", body("return a.astype('float64') + b"), ["the result is float64, but float32 is right"]),
    ("float16", body("return (a + b).astype('float16')"), ["the result is float16"]),
    ("complex", body("return a + 1j * b"), ["the result is complex64, but float32 is right"]),
    ("objects", body("return (a + b).astype(object)"), ["the result is an array of Python objects"]),
    ("a column", body("return (a + b)[:, None]"), ["the shape (7, 1), but (7,) is right"]),
    ("one missing", body("return (a + b)[:-1]"), ["the shape (6,), but (7,) is right"]),
    ("a number back", body("return float((a + b).sum())"), ["the result is a number, but the task needs a NumPy array"]),
    ("NaN", body("c = a + b\nc[3] = np.nan\nreturn c"), ["result[3] is nan", "1 of 7 elements differ"]),
    ("infinite", body("return (a + b) / 0"), ["result[0] is", "inf"]),
    ("one off", body("c = a + b\nc[-1] += 1\nreturn c"), ["result[6] is", "(1 of 7 elements differ)"]),
    ("shifted", body("return np.roll(a + b, 1)"), ["result[0] is", "7 of 7"]),
    ("backwards", body("return (a + b)[::-1]"), ["result[0] is"]),
    ("a known mistake", body("return a - b"), ["That is the difference."]),
    ("a constant", body("return np.zeros_like(a)"), ["result[0] is 0, but"]),
    ("the input", body("return a"), ["result[0] is"]),
    ("into the input", body("a += b\nreturn a"), ["your code changes a, which is an input"]),
    ("a view of the input", body("a += b\nreturn a[:]"), ["your code changes a, which is an input (first at a[0])"]),
    ("input changed", body("c = a + b\nb[0] = 0\nreturn c"), ["your code changes b, which is an input (first at b[0])"]),
    ("too many copies", body("for _ in range(3):\n    d = cuda.to_device(a)\nreturn a + b"), ["3 copies to the device, but 2 are enough"]),
    ("a huge number", body("return 10 ** 5000"), ["the result is a huge number"]),
    ("a huge array", body("return np.zeros(10**8, np.float32)"), ["the result is an array of 400,000,000 bytes"]),
    ("a list in itself", body("c = []\nc.append(c)\nreturn c"), ["the result is a list"]),
    ("a liar", "class Liar(np.ndarray):\n    def __eq__(self, other): return np.ones(7, bool)\n"
     + body("return np.zeros(7, np.float32).view(Liar)"), ["result[0] is 0"]),
    # What is raised.
    ("raises", body("c = a + b\nreturn c[100]"), ["your code raised IndexError: index 100 is out of bounds", "3 |", "return c[100]"]),
    ("raises below", "def help(a):\n    return a / nothing\n" + body("return help(a)"), ["NameError: name 'nothing'", "2 |     return a / nothing".replace("    ", ""), ]),
    ("its own hint", body("return a + np.zeros(3)"), ["could not be broadcast", "Hint: Are both of one length?"]),
    ("raises something huge", body("raise ValueError('x' * 10**6)"), ["ValueError: xxx", "…"]),
    ("raises many lines", body("raise ValueError('one\\n' * 9000)"), ["ValueError: one one"]),
    ("cannot say what", body("raise Unspeakable()"), ["Unspeakable: (its message cannot be read)"]),
    ("raises the verdict", body("from host_to_device.exercises import Wrong\nraise Wrong('99.2 is right')"), ["is not right yet"]),
    ("raises BaseException", body("raise BaseException('all the way')"), ["BaseException: all the way"]),
    ("raises GeneratorExit", body("raise GeneratorExit"), ["GeneratorExit"]),
    ("raises KeyboardInterrupt", body("raise KeyboardInterrupt"), ["the run was interrupted"]),
    ("recursion", body("return add(a, b)"), ["your code calls itself without end", "return add(a, b)"]),
    ("recursion without a limit", body("sys.setrecursionlimit(10**5)\nreturn add(a, b)"), ["calls itself without end"]),
    ("sys.exit", body("sys.exit(0)"), ["your code ends the process (SystemExit)"]),
    ("exit()", "import IPython\nfrom IPython.core.autocall import ExitAutocall\nexit = ExitAutocall()\n" + body("exit()"), ["ends the process"]),
    ("os._exit", body("os._exit(0)"), ["your code ends the process"]),
    ("os.abort", body("os.abort()"), ["your code ends the process"]),
    ("input", body("return float(input('a? ')) + b"), ["calls input(), but the check has no keyboard input"]),
    ("stdin", body("return float(sys.stdin.readline())"), ["reads from the keyboard"]),
    ("warnings as errors", "import warnings\n" + body("warnings.simplefilter('error')\nnp.float32(1) / np.float32(0)\nreturn a + b"), ["RuntimeWarning: divide by zero"]),
    ("an assertion", ADD + body("assert a.size == 0, 'empty'\nreturn a + b"), ["AssertionError: empty"]),
    ("a syntax error inside", body("return eval('a +')"), ["SyntaxError"]),
    ("out of memory", body("return np.zeros(10**15)"), ["MemoryError"]),
    ("njit that cannot be typed", "@njit\ndef add(a, b):\n    return a + 'x'", ["TypingError"]),
    ("calls answer", body("import host_to_device.exercises as e\ne.answer('99.2')\nreturn a + b"), ["calls h2d.answer"]),
    # What does not end.
    ("a loop", body("while True:\n    pass"), [f"your code was {SOON}, at this line", "|"]),
    ("a loop that catches all", body("while True:\n    try:\n        time.sleep(0.001)\n    except:\n        pass"), [STOPPED]),
    ("a loop that catches Exception", body("while True:\n    try:\n        pass\n    except Exception:\n        pass"), [SOON]),
    ("sleeping", body("time.sleep(60)"), [f"{STOPPED}, at this line", "time.sleep(60)"]),
    ("waiting for a lock", body("import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()"), [STOPPED]),
    ("waiting for a program", body("import subprocess\nsubprocess.run(['sleep', '60'])"), [STOPPED]),
    ("alarms off", body("import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True:\n    pass"), [STOPPED]),
    ("an endless iterator", body("return sum(x for x in iter(int, 1))"), [SOON]),
    # What is printed.
    ("a million lines", body("for i in range(10**6):\n    print(i)\nreturn b"), ["is not right yet", "Your code printed"]),
    ("one long line", body("print('x' * 10**7)\nreturn b"), ["Your code printed 1 line; it begins:"]),
    ("other letters", body("print('π ≈ 3, 행렬, 🙂')\nreturn b"), ["π ≈ 3, 행렬, 🙂"]),
    ("to stderr", body("print('there', file=sys.stderr)\nreturn b"), ["    there"]),
    ("as bytes", body("sys.stdout.buffer.write(b'bytes\\n')\nreturn b"), ["    bytes"]),
]  # fmt: skip

KERNEL_WRONG = [
    ("undefined", "x = 1", ["twice is not defined"]),
    ("no decorator", KERNEL.replace("@cuda.jit\n", ""), ["twice is a host function", "Put @cuda.jit above"]),
    ("a device function", KERNEL.replace("jit", "jit(device=True)"), ["twice is a device function", "device=True"]),
    ("launched already", KERNEL + "twice = twice[1, 32]", ["twice is a kernel with its launch configuration"]),
    ("njit", KERNEL.replace("cuda.jit", "njit"), ["but the task needs a kernel"]),
    ("the result of a launch", KERNEL + "twice = twice[1, 32](np.ones(3), np.ones(3))", ["twice is None"]),
    ("three parameters", KERNEL.replace("(x, out)", "(x, y, out)"), ["twice takes 3 parameters (x, y, out)"]),
    ("not written", kernel('raise NotImplementedError("not written yet")'), ["99.1 is not written yet"]),
    ("begun", kernel('i = cuda.grid(1)\nraise NotImplementedError("not written yet")'), ["99.1 is not written yet"]),
    ("no guard", kernel("i = cuda.grid(1)\nout[i] = 2 * x[i]"), ["out of bounds", "4 | out[i] = 2 * x[i]"]),
    ("guard too wide", KERNEL.replace("<", "<="), ["out of bounds"]),
    ("guard too narrow", KERNEL.replace("out.size", "out.size - 1"), ["size 1, block 32", "unwritten"]),
    ("thread only", KERNEL.replace("cuda.grid(1)", "cuda.threadIdx.x"), ["unwritten output"]),
    ("nothing at all", kernel("pass"), ["unwritten output"]),
    ("early return", kernel("i = cuda.grid(1)\nif i > 5:\n    return\nif i < out.size:\n    out[i] = 2 * x[i]"), ["unwritten"]),
    ("the factor", KERNEL.replace("2 *", ""), ["Where is the 2?"]),
    ("shifted", KERNEL.replace("x[i]", "x[i - 1]"), ["begins at index 0"]),
    ("backwards", KERNEL.replace("x[i]", "x[out.size - 1 - i]"), ["out[0] is"]),
    ("adds to what is there", KERNEL.replace("out[i] =", "out[i] +="), ["out[0] is"]),
    ("changes the input", KERNEL + "        x[i] = 0\n", ["your code changes x, which is an input"]),
    ("a race", kernel("out[0] = 2 * x[0]\ni = cuda.grid(1)\nif i < out.size:\n    out[i] = 2 * x[i]\n    x[0] = i"), ["race"]),
    ("an unknown device function", kernel("i = cuda.grid(1)\nif i < out.size:\n    out[i] = two * x[i]"), ["NameError", "5 | out[i] = two * x[i]"]),
    ("a typing error", kernel("i = cuda.grid(1)\nif i < out.size:\n    out[i] = 2 * x[i] + 'a'"), ["is not right yet"]),
    ("an unknown name", kernel("i = cuda.grid(1)\nif i < out.size:\n    out[i] = two * x[i]"), ["two"]),
    ("returns", kernel("i = cuda.grid(1)\nreturn 2 * x[i]"), ["is not right yet"]),
    ("raises", kernel("i = cuda.grid(1)\nif i == 3:\n    raise ValueError('three')\nif i < out.size:\n    out[i] = 2 * x[i]"), ["ValueError"]),
    ("a loop", kernel("while True:\n    pass"), ["is not right yet", "loop"]),
    ("a loop in one thread", kernel("i = cuda.grid(1)\nif i < out.size:\n    out[i] = 2 * x[i]\nwhile i == 7:\n    out[0] = 2 * x[0]"), ["is not right yet"]),
    ("too much shared memory", kernel("s = cuda.shared.array(100000, 'float32')\ns[0] = 1\nout[0] = s[0]"), ["shared memory"]),
    ("a divergent barrier", kernel("i = cuda.grid(1)\nif i < out.size:\n    out[i] = 2 * x[i]\n    cuda.syncthreads()"), ["barrier divergence"]),
]  # fmt: skip

GRID_WRONG = [
    (
        "not turned",
        "@cuda.jit\ndef turned(a, out):\n    x, y = cuda.grid(2)\n    if y < out.shape[0] and x < out.shape[1]:\n"
        "        out[y, x] = a[y, x]\n",
        ["out of bounds"],
    ),
    (
        "wrong axes of the guard",
        "@cuda.jit\ndef turned(a, out):\n    x, y = cuda.grid(2)\n    if x < a.shape[0] and y < a.shape[1]:\n"
        "        out[x, y] = a[y, x]\n",
        ["out"],
    ),
]

TOTAL_WRONG = [
    ("a text for a number", "total = '3'\ntable = np.ones(3)", ["total is a text, but the task needs a number"]),
    ("a truth for a number", "total = True\ntable = np.ones(3)", ["total is True, but the task needs a number"]),
    ("a list for an array", "total = 3\ntable = [1, 2]", ["table is a list, but the task needs a NumPy array"]),
    ("a device array", "total = 3\ntable = cuda.to_device(np.ones(3))", ["a device array", "Copy it back"]),
    ("an object for a class", "total = 3\ntable = np.ones(3)\nModel = 3", ["Model is a number, but the task needs a class"]),
    ("a host function", "total = 3\ntable = np.ones(3)\nclass Model: pass\ndef square(x): return x", ["device=True"]),
    ("another value", "total = 4\ntable = np.ones(3)\nclass Model: pass\n@cuda.jit(device=True)\ndef square(x): return x", ["total is not 3"]),
]  # fmt: skip

TABLE = [
    pytest.param(number, code, expected, id=f"{number}-{name.replace(' ', '_')}")
    for number, entries in (
        ("99.2", ADD_WRONG),
        ("99.1", KERNEL_WRONG),
        ("99.3", GRID_WRONG),
        ("99.4", TOTAL_WRONG),
    )
    for name, code, expected in entries
]


def test_the_table_is_as_large_as_promised():
    assert len(TABLE) >= 40


@pytest.mark.parametrize(("number", "code", "expected"), TABLE)
def test_wrong(number, code, expected, capsys, monkeypatch):
    if "while True" in code or "while i == 7" in code or any("stopped" in text for text in expected):
        monkeypatch.setattr(definition.in_notebook[number], "seconds", SHORT)
    names = notebook(code)
    before, held, began = state(), dict(names), time.monotonic()
    verdict = asked(number, names)
    took = time.monotonic() - began
    after = state()
    printed = capsys.readouterr()
    assert verdict.right is False and verdict.points == 0 and not verdict
    for text in expected:
        late = text.replace(SOON, STOPPED)  # on a machine that gives it less
        assert text in printed.out or late in printed.out, printed.out
    assert printed.out.startswith(f"{number} is not ") and printed.err == ""
    assert (
        "Traceback" not in printed.out
        and len(printed.out) < 5_000
        and "the check itself has an error" not in printed.out
    )
    assert max(map(len, printed.out.splitlines())) < 900
    assert took < 60
    assert after == before
    assert {k: v for k, v in names.items() if not k.startswith("__")} == {
        k: v for k, v in held.items() if not k.startswith("__")
    }
    assert not solved.file().exists()


RIGHT = [
    ("99.1", KERNEL),
    ("99.2", ADD),
    ("99.2", "add = lambda a, b: a + b"),
    ("99.2", "import functools, operator\nadd = functools.partial(operator.add)"),
    ("99.2", "@njit\ndef add(a, b):\n    return a + b"),
    ("99.2", "class Adder:\n    def __call__(self, a, b): return a + b\nadd = Adder()"),
    ("99.2", body("print('a\\n' * 10**5)\nreturn a + b")),
    ("99.2", "def add(first, second, *others):\n    return first + second"),
    (
        "99.3",
        "@cuda.jit\ndef turned(a, out):\n    x, y = cuda.grid(2)\n    if y < a.shape[0] and x < a.shape[1]:\n"
        "        out[x, y] = a[y, x]\n",
    ),
    (
        "99.4",
        "total = np.float32(3)\ntable = np.ones(3)\nclass Model: pass\n@cuda.jit(device=True)\ndef square(x): return x",
    ),
]


@pytest.mark.parametrize(("number", "code"), RIGHT)
def test_right_is_a_line_and_what_was_tried(number, code, capsys):
    names = notebook(code)
    before = state()
    verdict = asked(number, names)
    assert state() == before
    points = definition.in_notebook[number].points
    line = f"{number} is right: {points} of {points} point{'s' * (points != 1)}"
    tried = capsys.readouterr().out.removeprefix(f"{line}\n")
    assert re.fullmatch(
        r"Tried: \d+ cases?(, [^.]*)?\.( h2d.check found no errors in \d+ launch(es)?\.)?\n", tried
    )
    assert ("h2d.check" in tried) == (number in ("99.1", "99.3"))
    assert verdict and verdict.points == points and repr(verdict) == line


MEDDLING = [
    ("np.array_equal", "np.array_equal = lambda *_, **__: True\nnp.isclose = np.array_equal", True),
    ("np.argwhere", "np.argwhere = np.flatnonzero = lambda *_: np.array([])", True),
    ("np.random", "np.random.default_rng = lambda seed: 1 / 0", True),
    ("np.asarray is gone", "del np.asarray", True),
    ("time.monotonic", "time.monotonic = lambda: 0", True),
    ("time.sleep", "time.sleep = lambda *_: None", True),
    ("h2d.check", "h2d.check = lambda *_, **__: None", True),
    (
        "the report",
        "from host_to_device.checking.report import Report\nReport.__bool__ = lambda self: True",
        True,
    ),
    (
        "judge",
        "from host_to_device.exercises import judging\njudging.judge_array = lambda *_, **__: None",
        True,
    ),
    (
        "close",
        "from host_to_device.exercises import judging\njudging.close = lambda *_: np.ones(1, bool)",
        True,
    ),
    ("the copies", "cuda.to_device = lambda x: x", True),
    ("len", "import builtins\nbuiltins.len = lambda x: 0", True),
    ("json.dumps", "import json\njson.dumps = lambda *_: '{}'", True),
    ("np.seterr", "np.seterr(all='raise')", False),
    ("warnings", "import warnings\nwarnings.simplefilter('error')", False),
    ("print options", "np.set_printoptions(precision=1, threshold=2)", False),
    ("random seeds", "np.random.seed(0)\nimport random\nrandom.seed(1)", False),
    ("another folder", "os.chdir('/')", False),
    ("a folder that is gone", "import tempfile\nd = tempfile.mkdtemp()\nos.chdir(d)\nos.rmdir(d)", False),
    ("recursion limit", "sys.setrecursionlimit(200)", False),
    ("collecting", "gc = __import__('gc')\ngc.disable()", False),
    ("a name of ours", "answer = judge = run = Exercise = None", False),
    ("print", "print = None", False),
]


@pytest.mark.parametrize(
    ("code", "told"), [entry[1:] for entry in MEDDLING], ids=[entry[0] for entry in MEDDLING]
)
def test_what_the_notebook_has_changed_does_not_matter_and_stays(code, told, capsys):
    """Before the answer: a wrong answer stays wrong and a right one right, and the change is still there afterwards."""
    around = state()
    names = notebook(KERNEL, ADD)
    originals = {owner: dict(names) for owner, names in safety._originals.items()}
    originals_seen = safety.replaced()
    assert not originals_seen
    filters, limit, folder = list(warnings.filters), sys.getrecursionlimit(), os.getcwd()
    options, errors = np.get_printoptions(), np.geterr()
    collecting, states = gc.isenabled(), (random.getstate(), np.random.get_state())
    try:
        run_cell(code, names)
        before, verdicts = safety.replaced(), []
        for number, wrong in (("99.2", body("return b")), ("99.1", kernel("pass"))):
            right = asked(number, names)
            keep = names["add"], names["twice"]
            run_cell(wrong, names)
            rejected = asked(number, names)
            names["add"], names["twice"] = keep
            verdicts += [(right, True), (rejected, False)]
        after = safety.replaced()
    finally:
        for owner, name in safety.replaced():
            safety._put(owner, name, originals[owner][name])
        warnings.filters[:] = filters
        sys.setrecursionlimit(limit)
        os.chdir(folder)
        np.set_printoptions(**options)
        np.seterr(**errors)
        (gc.enable if collecting else gc.disable)()
        random.setstate(states[0])
        np.random.set_state(states[1])
    for verdict, expected in verdicts:
        assert verdict.right is expected, verdict.text
    assert after == before
    printed = capsys.readouterr().out
    assert printed.count("Your notebook has replaced") == (4 if told else 0)
    assert "Traceback" not in printed
    assert {k: v for k, v in state().items() if k != "filters"} == {
        k: v for k, v in around.items() if k != "filters"
    }


DURING = [
    "np.array_equal = np.argwhere = lambda *_, **__: True",
    "np.seterr(all='raise')",
    "import warnings; warnings.simplefilter('error')",
    "np.random.seed(3); import random; random.seed(3)",
    "os.chdir('/')",
    "os.environ['H2D_STRICT'] = '1'",
    "sys.stdout = None",
    "sys.stdout.close()",
    "sys.stderr = sys.stdout = open(os.devnull, 'w')",
    "sys.path.clear()",
    "sys.setrecursionlimit(150)",
    "import gc; gc.disable()",
    "sys.settrace(lambda *_: None)",
    "import host_to_device.exercises.judging as m; m.judge_array = m.close = m.judge_function = lambda *_, **__: None",
    "import host_to_device.exercises.definition as d; d.Exercise.says = None",
    "globals()['add'] = None",
    "globals()['new'] = 1",
    "import time; time.monotonic = lambda: 1e9",
    "import builtins; builtins.isinstance = lambda *_: True",
    "import builtins; builtins.print = None",
]


@pytest.mark.parametrize("line", DURING)
def test_what_the_code_changes_while_it_runs_is_put_back(line, capsys):
    """A wrong answer that meddles is still wrong; a right one is right; and everything is as before."""
    for result, right in (("b", False), ("a + b", True)):
        names = notebook(body(f"c = {result}\n{line}\nreturn c"))
        before = state()
        verdict = asked("99.2", names)
        assert state() == before
        assert verdict.right is right, verdict.text
        assert "new" not in names and callable(names["add"])
    assert "Traceback" not in capsys.readouterr().out


def test_libraries_that_replace_things_are_not_taken_for_a_learner():
    """What PyTorch, Numba, IPython and matplotlib change when they are imported is none of an answer's business."""
    code = (
        "import host_to_device as h2d; from host_to_device.exercises import safety; h2d.start()\n"
        "import torch, numba, IPython, matplotlib.pyplot, ipywidgets, cupy, unittest.mock\n"
        "from numba import cuda\n"
        "print(sorted(f'{getattr(o, '__name__', o)}.{n}' for o, n in safety.replaced()))"
    ).replace("f'{getattr(o, '__name__', o)}.{n}'", "(str(o), n)")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
        env={**os.environ, "H2D_MACHINE": "stand-in"},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


def test_threads_left_behind_are_named_and_do_not_stop_anything(capsys):
    code = "import threading\nend = threading.Event()\n" + body(
        "threading.Thread(target=end.wait, daemon=True).start()\nreturn a + b"
    )
    names = notebook(code)
    assert asked("99.2", names)
    names["end"].set()
    assert "3 threads that your code started are still running." in capsys.readouterr().out


def test_a_cell_that_is_redefined_after_solving_is_judged_anew_and_progress_stays(capsys):
    names = notebook(ADD)
    assert asked("99.2", names)
    run_cell(body("return a"), names)
    assert not asked("99.2", names)
    assert set(solved.read(solved.file())[0]) == {"99.2"}
    run_cell(ADD, names)
    assert asked("99.2", names)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ("99.9", "There is no exercise 99.9"),
        ("98.1", "because there is no set 98"),
        ("two", "is not the number of an exercise"),
        (2.1, "is not the number of an exercise"),
        (None, "is not the number of an exercise"),
        ("", "is not the number of an exercise"),
    ],
)
def test_a_number_that_is_none_is_a_line(number, said, capsys):
    assert asked(number, notebook()).right is False
    assert said in capsys.readouterr().out


def test_a_number_may_be_written_short():
    assert asked(" 99.2 ", notebook(ADD))
    assert definition.normal_number("2.1") == "02.1"


def test_hints_are_given_one_by_one(capsys):
    names = notebook()
    for number, text in enumerate(Add.hints, 1):
        verdict = asked("99.2", names, f", hint={number}")
        assert verdict.right is None and capsys.readouterr().out == f"99.2, hint {number} of 3: {text}\n"
    for hint in (0, 4, -1, "'1'", True, 1.5):
        assert asked("99.2", names, f", hint={hint}").right is None
        assert "99.2 has the hints 1 to 3" in capsys.readouterr().out


@pytest.mark.parametrize("broken", [None, "closed", "raising", "ascii"])
def test_a_broken_stdout_does_not_break_the_answer(broken, monkeypatch):
    class Raising(io.StringIO):
        def write(self, text):
            raise OSError("no")

    class Ascii(io.StringIO):
        def write(self, text):
            return super().write(text.encode("ascii").decode())

    stream = {None: None, "closed": io.StringIO(), "raising": Raising(), "ascii": Ascii()}[broken]
    if broken == "closed":
        stream.close()
    names = notebook(body("print('π')\nreturn b"))
    monkeypatch.setattr(sys, "stdout", stream)
    verdict = asked("99.2", names)
    assert verdict.right is False
    assert sys.stdout is stream
    if broken == "ascii":
        assert "\\u03c0" in stream.getvalue()


def test_strict_raises_the_same_text_and_notes_nothing(monkeypatch, capsys):
    wrong, right = notebook(body("return b")), notebook(ADD)
    with pytest.raises(AnswerError) as explicit:
        asked("99.2", wrong, ", strict=True")
    for name in ("H2D_STRICT", "NBGRADER_EXECUTION"):
        monkeypatch.setenv(name, "1")
        with pytest.raises(AssertionError) as raised:
            asked("99.2", wrong)
        assert str(raised.value) == str(explicit.value)
        assert asked("99.2", right).points == 1
        assert not solved.file().exists()
        monkeypatch.delenv(name)
    monkeypatch.setenv("H2D_STRICT", "0")
    assert not asked("99.2", wrong)
    assert not asked("99.2", wrong, ", strict=False")
    assert raised.value._render_traceback_() == [str(explicit.value)]
    assert str(explicit.value).startswith("99.2 is not right yet: size 7: result[0] is ")
    assert "h2d.answer" not in str(explicit.value)


def test_under_nbgrader_the_shipped_check_goes_before_one_of_the_notebook(monkeypatch):
    number = "02.1"
    shipped = catalogue.in_set("02")
    if not shipped:
        pytest.skip("set 02 is not there yet")
    easy = type("Easy", (Exercise,), {"number": number})
    monkeypatch.setitem(definition.in_notebook, number, easy)
    assert catalogue.find(number) is easy
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert catalogue.find(number) in shipped


def test_the_verdict_is_not_shown_twice_in_a_notebook():
    from IPython.core.formatters import DisplayFormatter

    assert DisplayFormatter().format(asked("99.2", notebook(ADD))) == ({}, {})


REFUSED = "CudaAPIError: [700] Call to cuMemAlloc results in CUDA_ERROR_ILLEGAL_ADDRESS"
USES_THE_GPU = body(f"raise RuntimeError({REFUSED!r})")


@pytest.fixture
def faults(monkeypatch):
    """Return a list: once something is in it, the GPU refuses everything, as after an illegal access."""
    found = []

    def wait():
        if found:
            raise RuntimeError(REFUSED)

    monkeypatch.setattr(context, "machine", SimpleNamespace(chosen="gpu"))
    monkeypatch.setattr(context, "lost", "")
    monkeypatch.setattr(answering, "wait", wait)
    return found


def test_an_answer_is_not_refused_for_an_earlier_kernels_fault(faults, capsys):
    faults.append("in an earlier cell")
    verdict = asked("99.2", notebook(USES_THE_GPU))
    assert verdict.right is None and not verdict.points
    assert verdict.text.startswith(
        "99.2 could not be checked. A kernel failed on the GPU (CUDA_ERROR_ILLEGAL_ADDRESS)"
    )
    assert "Restart the notebook's kernel" in capsys.readouterr().out
    assert asked("99.2", notebook(ADD)).right, "it needs no GPU"
    assert "result[0]" in asked("99.2", notebook(body("return b"))).text
    with pytest.raises(AnswerError, match="could not be checked"):
        asked("99.2", notebook(USES_THE_GPU), ", strict=True")
    assert asked("99.2", notebook(USES_THE_GPU), ", hint=1, strict=True").right is None


def test_an_answer_whose_own_kernel_ends_the_context_is_told_so(faults, capsys):
    names = notebook(body(f"faults.append(1)\nraise RuntimeError({REFUSED!r})"))
    names["faults"] = faults
    assert asked("99.2", names).right is False
    said = capsys.readouterr().out
    assert said.startswith("99.2 is not right yet") and said.rstrip().endswith("run the cells again.")


def test_a_fault_of_the_check_itself_is_named_as_that(monkeypatch, capsys):
    monkeypatch.setattr(Add, "cases", lambda self, seed: 1 / 0)
    assert asked("99.2", notebook(ADD)).right is False
    assert (
        "99.2 could not be checked, because the check itself has an error: ZeroDivisionError"
        in capsys.readouterr().out
    )


def test_what_a_judge_cannot_read_is_no_right_answer(monkeypatch):
    monkeypatch.setattr(Add, "run", lambda self, student, given: {"odd": 1})
    verdict = asked("99.2", notebook(ADD))
    assert verdict.right is False and "has a form that the check does not expect (KeyError)" in verdict.text


SWALLOWING = {
    "around sleep": "while True:\n    try:\n        time.sleep(5)\n    except BaseException:\n        pass",
    "around a call": "def f():\n    return sum(range(1000))\nwhile True:\n    try:\n        f()\n    except:\n        continue",
    "twice": "while True:\n    try:\n        try:\n            time.sleep(0.01)\n        except:\n            x = 1\n"
    "    except:\n        pass",
    "in finally": "while True:\n    try:\n        time.sleep(0.01)\n    finally:\n        continue",
}


@pytest.mark.parametrize("name", SWALLOWING)
def test_code_that_swallows_everything_is_stopped_all_the_same(name, monkeypatch):
    monkeypatch.setattr(Add, "seconds", SHORT)
    names, trace = notebook(body(SWALLOWING[name])), sys.gettrace()
    began = time.monotonic()
    verdict = asked("99.2", names)
    assert STOPPED in verdict.text
    assert time.monotonic() - began < 30
    assert sys.gettrace() is trace


def test_in_another_thread_a_loop_is_stopped_too(monkeypatch):
    monkeypatch.setattr(Add, "seconds", SHORT)
    names, verdicts = notebook(body("while True:\n    pass")), []
    worker = threading.Thread(target=lambda: verdicts.append(asked("99.2", names)))
    worker.start()
    worker.join(60)
    assert verdicts and STOPPED in verdicts[0].text


def test_somebody_elses_alarm_goes_on():
    import signal

    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    try:
        assert not asked("99.2", notebook(body("time.sleep(0.1)\nreturn b")))
        began = time.monotonic()
        while not rung and time.monotonic() - began < 10:
            time.sleep(0.02)
        time.sleep(0.1)
        assert rung == [1]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# -- the same for a grader


def test_what_a_first_count_on_a_gpu_waits_for_is_not_the_learners_time(monkeypatch, capsys):
    asked_of_torch = []

    def is_available():
        if sys._getframe(1).f_globals is vars(on_gpu):
            if not asked_of_torch:
                time.sleep(1.5 * SECOND)  # as CUPTI's start takes seconds
            asked_of_torch.append("is there a GPU?")
        return False

    torch = SimpleNamespace(
        cuda=SimpleNamespace(is_available=is_available),
        version=SimpleNamespace(cuda=None),
        __version__="2.13.0+cpu",
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)  # the stand-in's
    monkeypatch.setattr(machine, "chosen", "gpu")
    monkeypatch.setattr(on_gpu, "_ready", False)
    monkeypatch.setattr(Add, "seconds", SECOND)
    asked("99.2", notebook("def add(a, b):\n    return a + b"))
    assert asked_of_torch and on_gpu._ready
    assert "99.2 is right" in capsys.readouterr().out


def test_other_seeds_give_other_cases_and_the_same_verdict():
    for number, code, wrong in (("99.1", KERNEL, KERNEL.replace("2 *", "")), ("99.2", ADD, body("return b"))):
        for seed in (0, 1, 77):
            collected = exercises.collect(number, notebook(code), exercises.given_of(number, seed))
            assert exercises.judge(number, seed, collected).right is True
            assert exercises.judge(number, seed + 1, collected).right is False
            collected = exercises.collect(number, notebook(wrong), exercises.given_of(number, seed))
            assert exercises.judge(number, seed, collected).right is False


@pytest.mark.parametrize(("number", "code", "expected"), TABLE[::9])
def test_collected_and_judged_says_what_answer_says(number, code, expected, monkeypatch):
    if "while True" in code or any("stopped" in text for text in expected):
        monkeypatch.setattr(definition.in_notebook[number], "seconds", SHORT)
    names = notebook(code)
    collected = values.unpacked(
        values.packed(exercises.collect(number, names, exercises.given_of(number, 0)))
    )
    verdict = exercises.judge(number, 0, collected)
    assert verdict.right is False
    if "no progress" not in verdict.text:  # which says how long it waited
        said = re.sub(
            r"stopped after [\d.]+ s", "stopped", verdict.text
        )  # the processor's time, or the clock's
        assert said == re.sub(r"stopped after [\d.]+ s", "stopped", asked(number, names).text)


def test_values_travel_through_files_and_another_process(tmp_path):
    """Collected here, judged in a process that has never seen the student's code, from a file without pickles."""
    script = tmp_path / "judging.py"
    script.write_text(
        "import sys, numpy as np\n"
        "from host_to_device.exercises import judge, values\n"
        "with np.load(sys.argv[2], allow_pickle=False) as file:\n"
        "    verdict = judge(sys.argv[1], 5, values.unpacked(dict(file)))\n"
        "print(verdict.right, verdict.points, verdict.text.splitlines()[0], sep='|')\n"
        "assert 'numba' not in sys.modules\n"
    )
    shipped = catalogue.in_set("02")
    if not shipped:
        pytest.skip("set 02 is not there yet")
    solved = KERNEL.replace("twice(x, out)", "saxpy(alpha, x, y, out)").replace(
        "2 * x[i]", "alpha * x[i] + y[i]"
    )
    for code, right in ((solved, True), (solved.replace("alpha * ", ""), False)):
        file = tmp_path / f"{right}.npz"
        np.savez(
            file, **values.packed(exercises.collect("02.1", notebook(code), exercises.given_of("02.1", 5)))
        )
        done = subprocess.run(
            [sys.executable, str(script), "02.1", str(file)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        said = done.stdout.strip().split("|")
        assert said[:2] == [str(right), "2" if right else "0"], said


def test_a_named_tuple_is_a_list_of_plain_values_and_runs_no_code_of_its_own():
    class Times(NamedTuple):
        apart: float
        fused: float

        def __iter__(self):
            raise AssertionError("code of the student's")

    assert values.plain(Times(2.0, 1.0)) == [2.0, 1.0]


def test_a_kind_of_dict_is_a_dict_of_plain_values_and_runs_no_code_of_its_own():
    class Switches(dict):
        def __iter__(self):
            raise AssertionError("code of the student's")

        items = keys = __getitem__ = __len__ = __iter__

    assert values.plain(Switches(benchmark=np.bool_(True))) == {"benchmark": True}
    assert values.plain(OrderedDict(b=1, a=2)) == {"b": 1, "a": 2}
    assert isinstance(values.plain(OrderedDict([(1, 2)])), values.Strange)


@pytest.mark.parametrize(
    ("result", "numbers"),
    [
        ([2, 1.5], [2, 1.5]),
        ([np.float32(2), np.int64(1)], [2.0, 1]),
        (np.array([2.0, 1.0]), [2.0, 1.0]),
        ([2], None),
        ([2, True], None),
        ([Fraction(2), Fraction(1, 2)], [2.0, 0.5]),
        ([2, Fraction(10**400)], None),
        ([2, 1j], None),
        ([2, [1]], None),
        (np.array([[2.0, 1.0]]), None),
        ({"a": 2, "b": 1}, None),
        (None, None),
        (values.Strange("a device array", "DeviceNDArray"), None),
    ],
    ids=str,
)
def test_so_many_numbers_of_whatever_kind(result, numbers):
    assert exercises.as_numbers(values.plain(result), 2) == numbers


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"a": [1, 2.5, True, "π", None, 1 + 2j]},
        {"$array": 1, "x": {"$dict": []}},
        np.arange(6).reshape(2, 3)[:, ::2],
        np.float32(1.5),
        np.array([1.5, np.nan, np.inf]),
        float("inf"),
        np.array(["a", "bc"]),
        values.Strange("a device array", "DeviceNDArray"),
        [],
    ],
    ids=str,
)
def test_plain_values_come_back_as_they_were(value, tmp_path):
    np.savez(tmp_path / "v.npz", **values.packed(value))
    with np.load(tmp_path / "v.npz", allow_pickle=False) as file:
        again = values.unpacked(dict(file))
    assert repr(again) == repr(values.plain(value))


FORGED = [
    None,
    [],
    {},
    3,
    "right",
    [None],
    [{}],
    [{"got": None}] * 3,
    [{"got": {}}] * 3,
    [{"failed": None}] * 3,
]
FORGED += [[{"failed": {}}], [{"failed": {"kind": "not written", "lines": 3}}], [{"failed": {"text": []}}]]
FORGED += [
    [{"got": {"result": np.zeros(7), "inputs": [], "input_names": [], "shared": None, "counts": None}}] * 3
]


@pytest.mark.parametrize("forged", FORGED, ids=str)
def test_forged_values_score_nothing(forged):
    assert exercises.judge("99.2", 0, forged).points == 0


@pytest.mark.parametrize(
    "forged",
    [
        {},
        {"json": np.frombuffer(b"nonsense", np.uint8)},
        {"json": np.frombuffer(b'{"$array": "no"}', np.uint8)},
        {"json": np.frombuffer(b'{"$other": 1}', np.uint8)},
        {"json": np.frombuffer(b"{}", np.uint8)},
        {"json": np.frombuffer(b"[" * 100_000, np.uint8)},
        {"json": np.frombuffer(b'{"$array": "x"}', np.uint8), "x": np.array([{}], object)},
    ],
    ids=range(7),
)
def test_forged_files_are_refused(forged):
    with pytest.raises(ValueError, match="not packed values"):
        values.unpacked(forged)


# -- the helpers of checks


def test_distinct_inputs_differ_and_repeat():
    for dtype in (np.float16, np.float32, np.float64, np.int32, np.int64, np.uint8, np.uint16, np.complex64):
        for shape in (1, 31, 200, (3, 5)):
            array = inputs.distinct(shape, dtype, 4)
            assert array.dtype == dtype and array.shape == (shape if isinstance(shape, tuple) else (shape,))
            assert np.unique(np.abs(array) if array.dtype.kind != "c" else array).size == array.size
            assert np.array_equal(array, inputs.distinct(shape, dtype, 4))
            assert not np.isin(array, [0, 1]).any()
    assert not np.array_equal(inputs.distinct(50, seed=1), inputs.distinct(50, seed=2))
    with pytest.raises(ValueError, match="has fewer than 300 different values"):
        inputs.distinct(300, np.uint8)
    with pytest.raises(ValueError, match="is not a number type"):
        inputs.distinct(3, bool)


@pytest.mark.parametrize("seed", range(30))
def test_one_launch_fits_its_blocks_exactly_and_one_has_a_single_element(seed):
    cases = inputs.launches(seed)
    assert json.loads(json.dumps(cases)) == cases
    assert any(case["size"] == 1 for case in cases)
    assert len({case["block"] for case in cases}) >= 3
    assert any(case["grid"] >= 3 for case in cases)
    *others, fitting = cases
    assert fitting["grid"] * fitting["block"] == fitting["size"]
    for case in others:
        assert case["size"] == 1 or case["size"] % case["block"]
        assert case["grid"] * case["block"] >= case["size"]
    for x in ("rows", "columns"):
        cases = inputs.launches_2d(seed, x=x)
        assert json.loads(json.dumps(cases)) == cases
        assert any(case["rows"] == case["columns"] == 1 for case in cases)
        *others, fitting = cases
        assert [fitting["columns"], fitting["rows"]][:: 1 if x == "columns" else -1] == [
            block * grid for block, grid in zip(fitting["block"], fitting["grid"], strict=True)
        ]
        for case in others:
            sides = (case["columns"], case["rows"]) if x == "columns" else (case["rows"], case["columns"])
            assert case["rows"] != case["columns"] or case["rows"] == 1
            for side, block, grid in zip(sides, case["block"], case["grid"], strict=True):
                assert side == 1 or side % block
                assert block * grid >= side


def test_grids_for_striding_kernels_are_too_small():
    assert any(c["grid"] * c["block"] < c["size"] for c in inputs.launches(0, enough=False))


def test_a_speed_is_judged_by_its_ratio_to_a_reference():
    got = run_ratio(lambda: time.sleep(0.02), lambda: time.sleep(0.005))
    assert 1.5 < got["ratio"] < 20
    judge_ratio(got, 20)
    with pytest.raises(
        Wrong, match=r"times as long as the reference on this device; at most 1\.5 times is allowed"
    ):
        judge_ratio(got, 1.5)


def test_a_text_is_judged_as_one_of_the_choices_of_the_task():
    choices = ("CPU", "GPU")
    for right in ("CPU", np.array("CPU")):
        judge_choice(right, "CPU", choices)
    for wrong, said, hint in (
        (None, "the result is None", "return"),
        (3, "the result is a number, but the task needs a text", 'Return "CPU" or "GPU".'),
        ("gpu", 'the result is "gpu", which is not in the task', "letter by letter"),
        ("GPU", 'the result is "GPU", but "CPU" is right', "Which is busy?"),
    ):
        with pytest.raises(Wrong) as problem:
            judge_choice(wrong, "CPU", choices, hints={"GPU": "Which is busy?"})
        assert problem.value.text == said and hint in problem.value.hint
    with pytest.raises(Wrong, match=r'^the result is "GPU"$'):
        judge_choice("GPU", "CPU", choices, tell=False)


def test_a_raw_kernel_is_run_and_judged_like_others():
    import cupy as cp

    code = r"""
    extern "C" __global__ void twice(const float* x, float* out, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = FACTOR * x[i];
    }"""
    x = inputs.distinct(100)
    for factor, right in (("2.0f", True), ("1.0f", False)):
        kernel = cp.RawKernel(code.replace("FACTOR", factor), "twice")
        got = run_kernel(kernel, (x, Out(100), np.int32(100)), 4, 32)
        got = values.unpacked(values.packed(got))
        if right:
            judge_kernel(got, 2 * x, inputs=[x])
        else:
            with pytest.raises(Wrong, match="is right"):
                judge_kernel(got, 2 * x, inputs=[x])
    unguarded = cp.RawKernel(code.replace("FACTOR", "2").replace("if (i < n)", ""), "twice")
    with pytest.raises(Wrong, match="out of bounds"):
        judge_kernel(run_kernel(unguarded, (x, Out(100), np.int32(100)), 4, 32), 2 * x)


def test_operations_that_are_not_known_are_not_operations_that_did_not_run(monkeypatch):
    class WithoutCupti(Count):
        def as_dict(self):
            return {**super().as_dict(), "operations": None}

    monkeypatch.setattr(student_runs, "Count", WithoutCupti)
    got = run_function(lambda: 3, counted=True)
    assert got["operations"] is None and got["counts"]["allocations"] == 0
    judge_counts(got, operations=7, allocations=0)
    copied = run_function(lambda: [NOT_KNOWN + 1, 3])["result"]
    assert math.isnan(copied[0]) and copied[1] == 3, "a student's sum of counts is a number, too"


def test_the_picture_of_an_answer_is_shown_right_or_wrong(capsys, monkeypatch):
    class Drawn(Exercise):
        """Drawn."""

        number, points, minutes = "99.a", 1, 2
        needs, hints = ("kernel double(x, out)",), ("one",)

        def cases(self, seed):
            return [{"size": 5, "grid": 2, "block": 4}]

        def run(self, student, given):
            launch = (np.arange(5), Out(5, np.int64)), given["grid"], given["block"]
            got = run_kernel(student.double, *launch)
            return {**got, "touched": touches(student.double, *launch)}

        def judge(self, case, got):
            judge_kernel(got, 2 * np.arange(5))

    monkeypatch.setitem(definition.in_notebook, "99.a", Drawn)
    body = "    i = cuda.grid(1)\n    if {}:\n        out[i] = 2 * x[i]"
    for guard, said in (("i < out.size", "99.a is right: 1 of 1 point"), ("i < 3", "99.a is not right yet")):
        shown = asked("99.a", notebook(f"@cuda.jit\ndef double(x, out):\n{body.format(guard)}"))
        printed = capsys.readouterr().out
        assert printed.startswith(said) and words_of(printed) and shown.picture.startswith("<svg")


def words_of(printed: str) -> list[str]:
    """Return the lines that say what a picture shows."""
    return [line for line in printed.splitlines() if line.startswith("8 threads, 5 elements of out: ")]


def test_needs_are_read():
    need = definition.Need.read
    assert need("saxpy") == definition.Need("saxpy")
    assert need("device function f(x)") == definition.Need("f", "device function", ("x",))
    assert need("function f()").parameters == ()
    for text in ("", "kernel", "kernel a b", "thing f(x)", "f(x, 3)", "function f(x"):
        if text != "kernel":  # a name like any other
            with pytest.raises(ValueError, match="is not a need"):
                need(text)


# -- in real notebooks


def in_a_kernel(tmp_path, cells, environment=()):
    """Run cells in a Jupyter kernel in an empty folder; return the texts and errors of each."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "", "language": "python"}
    client = NotebookClient(
        notebook, timeout=60, allow_errors=True, resources={"metadata": {"path": str(tmp_path)}}
    )
    with client.setup_kernel(env={**os.environ, "H2D_MACHINE": "stand-in", **dict(environment)}):
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
    return [cell.outputs for cell in notebook.cells]


def test_in_jupyter_nothing_but_the_line_is_shown(tmp_path):
    progress = tmp_path / "mine.json"
    start = "import host_to_device as h2d\nfrom host_to_device.exercises import answer\nh2d.start()"
    outputs = in_a_kernel(
        tmp_path,
        [
            start,
            START + "class E(__import__('host_to_device').exercises.Exercise):\n"
            "    number, points, minutes, needs, hints = '98.1', 2, 5, ('function f(x)',), ('a', 'b', 'c')\n"
            "    seconds = 1\n"
            "    def cases(self, seed): return [{'n': 1}]\n"
            "    def run(self, student, given): return {'x': student.f(given['n'])}\n"
            "    def judge(self, case, got):\n"
            "        if got['x'] != 2: raise __import__('host_to_device').exercises.Wrong('it is not 2')",
            "def f(x):\n    return 2 * x",
            "answer('98.1')",
            "def f(x):\n    time.sleep(50)",
            "answer('98.1')",
            "def f(x):\n    display('there'); exit(); return 2",
            "answer('98.1')",
            "def f(x):\n    input('?')",
            "answer('98.1')",
            "answer('98.1', strict=True)",
            "1 + 1",
        ],
        {"H2D_PROGRESS": str(progress)},
    )
    texts = [[out.get("text", "") for out in each] for each in outputs]
    assert texts[3] == ["98.1 is right: 2 of 2 points\nTried: 1 case.\n"]
    assert "stopped after 1 s, at this line\n     2 | time.sleep(50)" in texts[5][0] and len(outputs[5]) == 1
    assert "your code ends the process" in texts[7][0] and len(outputs[7]) == 1
    assert "calls input()" in texts[9][0] and len(outputs[9]) == 1
    [error] = outputs[10]
    assert error.output_type == "error" and error.ename == "AnswerError" and len(error.traceback) == 1
    assert outputs[11][0].data["text/plain"] == "2"  # the kernel is still there
    assert set(json.loads(progress.read_text())["solved"]) == {"98.1"}


def test_nothing_but_an_infinity_is_close_to_an_infinity():
    inf, nan = np.inf, np.nan
    got, expected = np.array([inf, 1.0, -inf, nan, inf, 2.0]), np.array([inf, inf, inf, inf, 3.0, 2.0])
    assert judging.close(got, expected).tolist() == [True, False, False, False, False, True]
