"""Hostile and broken notebooks: what a batch has to survive, and what must earn nothing.

Each begins with an honest, right answer to 02.a. A *cheat* wants the points of 02.1 (`saxpy`) without writing it; a *harm*
wants to end the batch, fill the machine, or reach something outside; a *file* is no proper notebook.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

START = "import host_to_device as h2d\n\nh2d.start()\nimport numpy as np\nfrom numba import cuda"
HONEST = "@cuda.jit\ndef twice(x, out):\n    i = cuda.grid(1)\n    out[i] = 2 * x[i]"
SAXPY = """
@cuda.jit
def saxpy(alpha, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = alpha * x[i] + y[i]
"""
EMPTY = "@cuda.jit\ndef saxpy(alpha, x, y, out):\n    pass\n"
ASK = 'h2d.answer("02.a")', 'h2d.answer("02.1")'


@dataclass(frozen=True)
class Attack:
    """A notebook that was handed in.

    Attributes
    ----------
    cells
        The code of its cells between the honest answer and the calls of `h2d.answer`.
    kind
        "cheat" or "harm".
    honest
        Whether the honest answer to 02.a still earns its point.
    """

    name: str
    cells: tuple[str, ...]
    kind: str
    honest: bool = True

    def code(self) -> list[str]:
        return [START, HONEST, ASK[0], *self.cells, *ASK]


def cheat(name: str, *cells: str, honest: bool = True) -> Attack:
    return Attack(name, cells, "cheat", honest)


def harm(name: str, *cells: str, honest: bool = True) -> Attack:
    return Attack(name, cells, "harm", honest)


def notebook(code: list[str], **metadata: object) -> bytes:
    """Return a notebook of format 4."""
    cells = [
        {
            "cell_type": "code",
            "id": f"c{place}",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": each,
        }
        for place, each in enumerate(code)
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}).encode()


# What walks up from a student's function to the frames that called it.
CLIMB = """
import sys
def above(name):
    frame = sys._getframe(1)
    while frame is not None:
        if name in frame.f_locals:
            yield frame.f_locals[name]
        frame = frame.f_back
"""
# A launch that is caught before a kernel runs.
CAUGHT = """
class Caught:
    def __init__(self, kernel, what):
        self.__dict__.update(vars(kernel))
        self.kernel, self.what = kernel, what
    def __getattr__(self, name):
        return getattr(self.kernel, name)
"""

HARMS = [
    harm("a syntax error", "def broken(:\n    pass"),
    harm("an endless loop", "while True:\n    pass"),
    harm(
        "an endless loop that catches everything",
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
    ),
    harm(
        "an endless loop that ignores signals",
        "import signal\nfor each in range(1, 65):\n    try:\n        signal.signal(each, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass\nwhile True:\n    pass",
    ),
    harm("an endless loop in C", "sum(iter(int, 1))"),
    harm("a sleep of a day", "import time\ntime.sleep(86_400)"),
    harm("an exit", "import sys\nsys.exit()"),
    harm("exit()", "exit()"),
    harm("os._exit", "import os\nos._exit(0)"),
    harm("an abort", "import os\nos.abort()"),
    harm("a segmentation fault", "import ctypes\nctypes.string_at(0)"),
    harm("a kill of itself", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
    harm("a kill of all processes", "import os, signal\nos.kill(-1, signal.SIGKILL)"),
    harm("a kill of its parent", "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"),
    harm(
        "a fork bomb",
        "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass",
    ),
    harm(
        "a daemon",
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork():\n        os._exit(0)\n    time.sleep(600)\n    os._exit(0)",
    ),
    harm(
        "a thread that never ends",
        "import threading\ndef run():\n    while True:\n        pass\nthreading.Thread(target=run, daemon=True).start()",
    ),
    harm("twenty gigabytes of memory", "held = [np.ones(2**27) for _ in range(20)]"),
    harm(
        "memory in many processes",
        "import os\nfor _ in range(8):\n    if os.fork() == 0:\n        held = np.ones(2**26)\n        import time\n        time.sleep(100)",
    ),
    harm("endless output", "while True:\n    print('x' * 1_000_000)"),
    harm("endless output below Python", "import os\nwhile True:\n    os.write(1, b'x' * 1_000_000)"),
    harm(
        "a file that grows",
        "with open('/tmp/big', 'wb') as file:\n    while True:\n        file.write(b'x' * 2**20)",
    ),
    harm("a million files", "import os\nfor each in range(10**6):\n    open(f'/tmp/{each}', 'w').close()"),
    harm("a deep recursion", "import sys\nsys.setrecursionlimit(10**9)\ndef down(): return down()\ndown()"),
    harm("a network connection", "import socket\nsocket.create_connection(('1.1.1.1', 53), 3)"),
    harm(
        "a server on this machine",
        "import socket\nserver = socket.socket()\nserver.bind(('0.0.0.0', 8888))\nserver.listen()",
    ),
    harm(
        "a package from the network",
        "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'pip', 'install', 'requests'], timeout=20)",
    ),
    harm(
        "everything deleted",
        "import shutil\nfor each in ('/usr', '/etc', '/root', '/home', '/tmp', '/course'):\n    shutil.rmtree(each, ignore_errors=True)",
    ),
    harm(
        "the library deleted",
        "import pathlib, shutil, host_to_device\nshutil.rmtree(pathlib.Path(host_to_device.__file__).parent)",
    ),
    harm(
        "an exception whose text fails", "class Odd(Exception):\n    def __str__(self): raise Odd\nraise Odd"
    ),
    harm(
        "an object whose repr never ends",
        "class Odd:\n    def __repr__(self):\n        while True:\n            pass\nOdd()",
    ),
    harm("IPython's prompt", "input('name? ')"),
    harm("a debugger", "breakpoint()"),
    harm("a shell command that waits", "!cat"),
    harm(
        "closed streams",
        "import os\nfor each in range(3, 256):\n    try:\n        os.close(each)\n    except OSError:\n        pass",
        honest=False,
    ),
    harm(
        "noise in the grader's messages",
        "import os\nfor each in range(3, 64):\n    try:\n        os.write(each, b'x' * 4_096)\n    except OSError:\n        pass",
        honest=False,
    ),
    harm(
        "a message that is huge",
        "import os\nfor each in range(3, 64):\n    try:\n        os.write(each, b'\\x00\\x00\\x00\\xff' + b'\\xff' * 64)\n    except OSError:\n        pass",
        honest=False,
    ),
    harm("a garbage collector that is off", "import gc\ngc.disable()\ngc.set_threshold(0)"),
    harm(
        "a trace function that raises",
        "import sys\ndef trace(*_):\n    raise KeyboardInterrupt\nsys.settrace(trace)",
    ),
    harm(
        "builtins that are gone",
        "import builtins\nfor each in ('len', 'isinstance', 'print', 'range'):\n    delattr(builtins, each)",
        honest=False,
    ),
    harm(
        "modules that are gone",
        "import sys\nfor each in [*sys.modules]:\n    if not each.startswith('_'):\n        del sys.modules[each]",
        honest=False,
    ),
    harm("an atexit that hangs", "import atexit\natexit.register(lambda: [None for _ in iter(int, 1)])"),
    harm("a folder that is gone", "import os\nos.chdir('/tmp')\nos.rmdir(os.path.expanduser('~'))"),
    harm(
        "a kernel that never ends",
        "@cuda.jit\ndef saxpy(alpha, x, y, out):\n    while True:\n        out[0] = x[0]\n",
    ),
    harm(
        "a kernel that ends the process",
        "import os\n@cuda.jit\ndef saxpy(alpha, x, y, out):\n    os._exit(0)\n",
    ),
]

CHEATS = [
    cheat("nothing", EMPTY),
    cheat("a notebook without the answer"),
    cheat("a number for a kernel", "saxpy = 1"),
    cheat(
        "an object that equals everything",
        EMPTY,
        "class Same:\n    def __eq__(self, other): return True\n    __hash__ = None\nsaxpy = Same()",
    ),
    cheat(
        "an array that equals everything",
        "class Same(np.ndarray):\n    def __eq__(self, other): return np.ones(self.shape, bool)\n    def __array_ufunc__(self, *_, **__): return np.ones(self.shape, bool)\ndef saxpy(alpha, x, y, out):\n    return np.zeros(3).view(Same)",
    ),
    cheat(
        "NumPy's comparisons patched",
        EMPTY,
        "np.array_equal = np.allclose = lambda *_, **__: True\nnp.isclose = lambda a, *_, **__: np.ones(np.shape(a), bool)\nnp.testing.assert_allclose = lambda *_, **__: None",
    ),
    cheat("all of NumPy's answers patched", EMPTY, "np.all = np.any = lambda *_, **__: np.True_"),
    cheat(
        "h2d.answer replaced", EMPTY, "h2d.answer = lambda *_, **__: print('02.1 is right: 2 of 2 points')"
    ),
    cheat(
        "the judge replaced",
        EMPTY,
        "from host_to_device.exercises import judging, answering, verdicts\njudging.judge_kernel = lambda *_, **__: None\nanswering.judge = lambda *_, **__: None\nverdicts.judged = lambda *_: verdicts.Judged()",
    ),
    cheat(
        "the exercise's class replaced",
        EMPTY,
        "from host_to_device.exercises import Exercise\nclass Saxpy(Exercise):\n    '''Saxpy.'''\n    number, points, minutes = '02.1', 2, 5\n    needs = ()\n    def cases(self, seed): return [{}]\n    def run(self, student, given): return {}\n    def judge(self, case, got): pass",
    ),
    cheat(
        "every exercise's judge replaced",
        EMPTY,
        "from host_to_device.exercises import catalogue\nfor each in catalogue.in_set('02'):\n    each.judge = lambda *_: None",
    ),
    cheat(
        "Exercise's own methods replaced",
        EMPTY,
        "from host_to_device.exercises.definition import Exercise\nExercise.cases = lambda self, seed: []\nExercise.judge = lambda *_: None\nExercise.given = lambda *_: {}",
    ),
    cheat(
        "the collector replaced",
        EMPTY,
        "from host_to_device.exercises import answering\nanswering.collect = lambda *_, **__: [{'got': {}}] * 20",
    ),
    cheat(
        "the shelter replaced",
        EMPTY,
        "from host_to_device.exercises import safety\nsafety.Shelter.__enter__ = lambda self: self\nsafety.within = lambda seconds, call, *rest: {}",
    ),
    cheat(
        "plain values replaced",
        EMPTY,
        "from host_to_device.exercises import values\nvalues.plain = lambda *_: {}\nvalues.packed = lambda *_: {}",
    ),
    cheat(
        "messages replaced",
        EMPTY,
        "import sys\nfrom host_to_device.grading import frames\nframes.packed = lambda value: b''",
        honest=False,
    ),
    cheat(
        "IPython patched",
        EMPTY,
        "from IPython.core.interactiveshell import InteractiveShell\nInteractiveShell.run_cell = lambda self, *_, **__: None",
    ),
    cheat(
        "an AST hook",
        EMPTY,
        "import ast\nclass Right(ast.NodeTransformer):\n    def visit_Call(self, node):\n        return ast.copy_location(ast.Constant(True), node) if 'answer' in ast.dump(node) else node\nget_ipython().ast_transformers.append(Right())",
    ),
    cheat(
        "an input transformer",
        EMPTY,
        "get_ipython().input_transformers_post.append(lambda lines: ['pass\\n' if 'answer' in each else each for each in lines])",
    ),
    cheat(
        "a pre-run hook",
        EMPTY,
        "get_ipython().events.register('pre_run_cell', lambda info: None)\nget_ipython().events.register('post_run_cell', lambda result: setattr(result, 'error_in_exec', None))",
    ),
    cheat(
        "checks on disk",
        EMPTY,
        "import pathlib, host_to_device\nfound = [path for path in pathlib.Path(host_to_device.__file__).parent.rglob('*') if b'class Saxpy' in (path.read_bytes() if path.is_file() else b'')]\nassert found",
    ),
    cheat(
        "the solutions on disk",
        EMPTY,
        "import json, pathlib\nfor folder in ('/', '/course', '/work', '/root', '/home'):\n    for path in pathlib.Path(folder).glob('**/solutions/02*.ipynb'):\n        exec(''.join(json.loads(path.read_text())['cells'][0]['source']))\nraise LookupError",
    ),
    cheat(
        "checks in sys.modules",
        EMPTY,
        "import sys\nmodule = next(each for name, each in sys.modules.items() if 'sets.set02' in name)\nmodule.Saxpy.judge = lambda *_: None",
    ),
    cheat(
        "checks through gc",
        EMPTY,
        "import gc\nclasses = [each for each in gc.get_objects() if isinstance(each, type) and hasattr(each, 'judge')]\nfor each in classes:\n    each.judge = lambda *_: None",
    ),
    cheat(
        "the driver's names",
        EMPTY,
        "import __main__, sys\nfor name in ('asked', 'told', 'job', 'say', 'frames', 'runs', 'answering', 'exercise'):\n    for place in (vars(__main__), globals()):\n        place[name] = None",
    ),
    cheat(
        "messages forged while cells run",
        EMPTY,
        "import os\nfrom host_to_device.grading import frames\nfor each in range(3, 64):\n    try:\n        os.write(each, frames.packed({'ran': True}) + frames.packed({'exercise': '02.1'}) + frames.packed({'collected': [{'got': {}}] * 9}))\n    except OSError:\n        pass",
        honest=False,
    ),
    cheat(
        "the case read from the frames above",
        CLIMB,
        CAUGHT
        + SAXPY.replace("alpha * x[i] + y[i]", "0")
        + """
kernel = saxpy
class Reads(type(kernel)):
    def __getitem__(self, launch):
        def go(alpha, x, y, out):
            for case in above("case"):
                rng_x, rng_y = (np.random.default_rng(case["seed"] + more) for more in (0, 1))
                out[:] = alpha * rng_x.random(out.size) + rng_y.random(out.size)
        return go
""",
    ),
    cheat(
        "the exercise asked from the frames above",
        CLIMB,
        """
class Found(Exception): pass
def right():
    for exercise in above("exercise"):
        for case in exercise.cases(0):
            exercise.judge(case, None)
"""
        + EMPTY,
        "saxpy.py_func.__globals__['right'] = right",
    ),
    cheat(
        "a judge called within a run",
        CLIMB,
        """
@cuda.jit
def saxpy(alpha, x, y, out):
    for each in above("self"):
        each.judge = lambda *_: None
""",
    ),
    cheat(
        "a seed that is guessed",
        EMPTY,
        """
import host_to_device.exercises.inputs as inputs
@cuda.jit
def saxpy(alpha, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = alpha * inputs.distinct(out.size, seed=0)[i] + inputs.distinct(out.size, seed=1)[i]
""",
    ),
    cheat(
        "a table of the visible cases",
        """
TABLE = {13: [2.5 * a + b for a, b in zip(range(13), range(13))]}
@cuda.jit
def saxpy(alpha, x, y, out):
    i = cuda.grid(1)
    if i < out.size and out.size == 13:
        out[i] = TABLE[13][i]
""",
    ),
    cheat(
        "the check's counters patched",
        EMPTY,
        "from host_to_device.checking import checks\nfrom host_to_device.exercises import student_runs\nstudent_runs.run_kernel = lambda *_, **__: {'findings': [], 'whole': []}",
    ),
    cheat(
        "a report without findings",
        SAXPY.replace("    if i < out.size:\n        out", "    out"),
        "from host_to_device.checking import report\nreport.Report.findings = []",
    ),
    cheat(
        "a class that is no kernel",
        "class CUDADispatcher:\n    py_func = lambda *_: None\n    targetoptions = {}\n    def __getitem__(self, launch): return lambda alpha, x, y, out: out.__setitem__(slice(None), alpha * x + y)\nCUDADispatcher.__module__ = 'numba.cuda'\nsaxpy = CUDADispatcher()",
    ),
    cheat(
        "events of launches faked",
        EMPTY,
        "from host_to_device.standins import events\nevents.report = lambda *_, **__: None",
    ),
    cheat(
        "time that stands still",
        EMPTY,
        "import time\ntime.perf_counter = time.monotonic = time.time = lambda: 0.0",
    ),
    cheat(
        "random numbers that are constant",
        EMPTY,
        "np.random.default_rng = lambda *_: np.random.RandomState(0)",
    ),
    cheat(
        "an environment that asks for nothing",
        EMPTY,
        "import os\nos.environ.update(NBGRADER_EXECUTION='1', H2D_STRICT='0', H2D_MACHINE='gpu')",
    ),
    cheat(
        "the answer's number shadowed",
        EMPTY,
        "class Number(str):\n    def __eq__(self, other): return True\n    __hash__ = str.__hash__\nh2d.answer(Number('02.1'))",
    ),
    cheat("another exercise under this name", EMPTY, "saxpy = twice"),
]

ALL = [*HARMS, *CHEATS]


def files() -> dict[str, bytes]:
    """Return files that are no proper notebook, by what is wrong with them."""
    good = notebook([START, HONEST, ASK[0], SAXPY, ASK[1]])
    book = json.loads(good)
    three = {
        "nbformat": 3,
        "metadata": {},
        "worksheets": [
            {
                "cells": [
                    {"cell_type": "code", "input": each["source"], "outputs": []} for each in book["cells"]
                ]
            }
        ],
    }
    return {
        "empty": b"",
        "no JSON": b"this is not a notebook",
        "cut off": good[: len(good) // 2],
        "a number": b"7",
        "a list": b"[1, 2, 3]",
        "no cells": b'{"nbformat": 4}',
        "cells that are none": b'{"nbformat": 4, "cells": [1, "two", null, {"cell_type": "code"}]}',
        "nested without end": b"[" * 100_000,
        "not UTF-8": good.replace(b"import numpy", b"# \xff\xfe\xe9\\nimport numpy"),
        "UTF-16": good.decode().encode("utf-16"),
        "format 3": json.dumps(three).encode(),
        "a wrong kernel": notebook(
            [each["source"] for each in book["cells"]], kernelspec={"name": "ir", "language": "R"}
        ),
        "another set's": notebook([START, 'h2d.answer("03.a")']),
        "binary": bytes(range(256)) * 100,
        "huge": b'{"cells": [' + b" " * (33 * 2**20) + b"]}",
        "sources as lists": json.dumps(
            {**book, "cells": [{**each, "source": each["source"].splitlines(True)} for each in book["cells"]]}
        ).encode(),
    }
