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
ZERO = SAXPY.replace("alpha * x[i] + y[i]", "0")
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
    harm(
        "a hundred thousand files",
        "import os\nfor each in range(10**5):\n    open(f'/tmp/{each}', 'w').close()",
    ),
    harm(  # through C: Python's own frames would fill the memory, for minutes
        "a deep recursion",
        "import sys\nsys.setrecursionlimit(10**9)\ndown = lambda _: max([0], key=down)\ndown(0)",
    ),
    harm(
        "a network connection",
        "import socket\nfor each in (('127.0.0.1', 8889), ('1.1.1.1', 53)):\n    try:\n        socket.create_connection(each, 3)\n    except OSError:\n        pass",
    ),
    harm(
        "a server on this machine",
        "import socket\nserver = socket.socket()\nserver.bind(('0.0.0.0', 8888))\nserver.listen()",
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
    harm("a folder that is gone", "import os\nos.chdir('/tmp')\nos.rmdir(os.path.expanduser('~'))"),
    harm(
        "a kernel that ends the process",
        "import os\n@cuda.jit\ndef saxpy(alpha, x, y, out):\n    os._exit(0)\n",
    ),
]

CHEATS = [
    cheat(
        "NumPy's comparisons patched",
        ZERO,
        "np.abs = lambda a, *_, **__: np.zeros(np.shape(a))",
    ),
    cheat(
        "NumPy's maximum patched",
        ZERO,
        "np.maximum = lambda *_, **__: np.inf",
    ),
    cheat(
        "h2d.answer replaced", EMPTY, "h2d.answer = lambda *_, **__: print('02.1 is right: 2 of 2 points')"
    ),
    cheat(
        "the judge replaced",
        EMPTY,
        "import host_to_device.exercises as given\nfrom host_to_device.exercises import answering, judging, verdicts\ngiven.judge_kernel = judging.judge_kernel = lambda *_, **__: None\nanswering.judge = lambda *_, **__: None\nverdicts.judged = lambda *_: verdicts.Judged()",
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
        "an exercise without cases",
        EMPTY,
        "from host_to_device.exercises.definition import Exercise\nExercise.__getattribute__ = lambda self, name: (lambda *_: []) if name == 'cases' else object.__getattribute__(self, name)",
    ),
    cheat(
        "messages replaced",
        EMPTY,
        "import json\nfrom host_to_device.grading import frames\nframes.packed = lambda value: b''\njson.dumps = lambda *_, **__: '{\"02.a\": true, \"02.1\": true}'",
        honest=False,
    ),
    cheat(
        "IPython patched",
        EMPTY,
        "from types import SimpleNamespace\nfrom IPython.core.interactiveshell import InteractiveShell\nInteractiveShell.run_cell = lambda self, *_, **__: SimpleNamespace(success=True, raise_error=lambda: None)",
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
        "import json, pathlib\nfolders = [pathlib.Path(each) for each in ('/course', '/tmp/others')]\ncells = [''.join(cell['source']) for folder in folders for path in folder.glob('**/02-*.ipynb') for cell in json.loads(path.read_text())['cells']]\ncheck = next(each for each in cells if 'class Saxpy(' in each)\nget_ipython().run_cell(check.replace('def judge(', 'def judge(self, *_): pass\\n\\n    def unused('))",
    ),
    cheat(
        "the solutions on disk",
        "import json, pathlib\nfolders = [pathlib.Path(each) for each in ('/course', '/tmp/others')]\ncells = [''.join(cell['source']) for folder in folders for path in folder.glob('**/02-*.ipynb') for cell in json.loads(path.read_text())['cells']]\nget_ipython().run_cell(next(each for each in cells if 'def saxpy(' in each and 'BEGIN SOLUTION' in each))",
    ),
    cheat(
        "checks in sys.modules",
        EMPTY,
        "import sys\nfrom host_to_device.exercises import catalogue\ncatalogue.find('02.1')\nfor module in [*sys.modules.values()]:\n    for each in [*vars(module).values()]:\n        if isinstance(each, type) and vars(each).get('number') == '02.1':\n            each.judge = lambda *_: None",
    ),
    cheat(
        "checks through gc",
        EMPTY,
        "import gc\nfrom host_to_device.exercises import catalogue\ncatalogue.find('02.1')\nfor each in [each for each in gc.get_objects() if isinstance(each, type) and hasattr(each, 'judge')]:\n    each.judge = lambda *_: None",
    ),
    cheat(
        "the code of h2d.answer replaced",
        EMPTY,
        "h2d.answer.__code__ = (lambda *_, **__: None).__code__",
    ),
    cheat(
        "messages forged while cells run",
        EMPTY,
        "import os\nfrom host_to_device.grading import frames\nline = b'{\"02.a\": true, \"02.1\": true}\\n'\nfor each in range(3, 64):\n    try:\n        os.write(each, line + line + frames.packed({'ran': True}) + frames.packed({'exercise': '02.1'}) + frames.packed({'collected': [{'got': {}}] * 9}))\n    except OSError:\n        pass",
        honest=False,
    ),
    cheat(
        "the case read from the frames above",
        CLIMB,
        SAXPY.replace("alpha * x[i] + y[i]", "y[i]"),
        "real = cuda.to_device\ndef to_device(*arguments, **options):\n    for each in above('case'):\n        each['alpha'] = 0\n    return real(*arguments, **options)\ncuda.to_device = to_device",
    ),
    cheat(
        "the exercise found in the frames above",
        CLIMB,
        ZERO,
        "real = cuda.to_device\ndef to_device(*arguments, **options):\n    for each in above('exercise'):\n        each.judge = lambda *_: None\n    return real(*arguments, **options)\ncuda.to_device = to_device",
    ),
    cheat(
        "the judge of the object that runs",
        CLIMB,
        ZERO,
        "real = cuda.to_device\ndef to_device(*arguments, **options):\n    for each in above('self'):\n        vars(each)['judge'] = lambda *_: None\n    return real(*arguments, **options)\ncuda.to_device = to_device",
    ),
    cheat(
        "a table of the visible cases",
        "from host_to_device.exercises.catalogue import find\nexercise = find('02.1')()\nevery = [exercise.given(case) for case in exercise.cases(0)]\nFIRST = np.array([each['x'][0] for each in every])\nSIZE = np.array([each['x'].size for each in every])\nSTART = np.cumsum([0, *SIZE[:-1]])\nTABLE = np.concatenate([np.float32(each['alpha']) * each['x'] + each['y'] for each in every])\n@cuda.jit\ndef saxpy(alpha, x, y, out):\n    i = cuda.grid(1)\n    if i < out.size:\n        for k in range(SIZE.size):\n            if SIZE[k] == out.size and FIRST[k] == x[0]:\n                out[i] = TABLE[START[k] + i]\n",
    ),
    cheat(
        "the comparison replaced",
        ZERO,
        "from host_to_device.exercises import judging\njudging.close = lambda one, *_, **__: np.ones(one.shape, bool)",
    ),
    cheat(
        "inputs that are zero",
        ZERO,
        "from host_to_device.exercises import inputs\ninputs.distinct = lambda size, dtype=np.float32, **_: np.zeros(size, dtype)",
    ),
    cheat(
        "the catalogue replaced",
        EMPTY,
        "from types import SimpleNamespace\nfrom host_to_device.exercises import answering, catalogue\nanswering.find = catalogue.find = lambda number: lambda: SimpleNamespace(number=number, cases=lambda seed: [])",
    ),
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
