"""A naive grader, for `test_naive`: student's code, check and marks in one process, with nothing between them.

`python naive.py FOLDER RESULT` does what a plain autograder does. It runs a notebook's cells in an IPython shell,
and stops at one that raises; then it runs its own cells with the checks in the same shell. A check calls `given`, `run` and
`judge` of an exercise, and its cell earns the points if it raises nothing. A parent process, the batch, gets the marks
through a pipe. The test runs this inside a bubblewrap of its own, where a notebook can harm a throw-away folder at most.
"""

import gc
import json
import os
import socket
import sys
import threading
from pathlib import Path

NUMBERS, PORT = ("02.a", "02.1"), 8889
OTHERS, LIBRARY, HOME = Path("/tmp/others/marks.csv"), Path("/course/host_to_device"), Path("/tmp/home")


def answer(number):
    """Raise if the answer is not right: an `h2d.answer` without a shelter."""
    from host_to_device.exercises.catalogue import find
    from host_to_device.exercises.student_names import Student

    exercise = find(number)()
    names = sys._getframe(1).f_globals
    for case in exercise.cases(0):
        got = exercise.run(Student(names), exercise.given(case))
        exercise.judge(case, got)


def marks_of(notebook):
    """Run a notebook and the checks of its exercises; return the points' cells that raised nothing."""
    from IPython.core.interactiveshell import InteractiveShell

    import host_to_device as h2d

    h2d.answer = answer
    shell = InteractiveShell.instance(history_load_length=0)
    cells = [each["source"] for each in notebook["cells"] if each["cell_type"] == "code"]
    for cell in cells:
        if not cell.startswith('h2d.answer("'):  # the grader has its own
            shell.run_cell(cell).raise_error()
    return {number: shell.run_cell(f'h2d.answer("{number}")').success for number in NUMBERS}


def left_behind():
    """Return what a notebook has changed outside its own names."""
    ours = {1, 2, os.getpid(), os.getppid()}
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines() if " 0A " in line]
    return {
        "others' marks are gone": not OTHERS.exists(),
        "the library is gone": not (LIBRARY / "__init__.py").exists(),
        "its folder is gone": not HOME.exists(),
        "processes go on": any(each.isdigit() and int(each) not in ours for each in os.listdir("/proc")),
        "a server listens": any(not each.endswith(f":{PORT:04X}") for each in listening),
        "files without number": sum(1 for _ in Path("/tmp").rglob("*")) > 1_000,
        "the collector stays off": not gc.isenabled(),
        "a thread goes on": any(type(each) is threading.Thread for each in threading.enumerate()[1:]),
    }


def main(folder, result):
    """Be the batch: run each notebook of a folder in a child process, take its marks, and see what it leaves behind."""
    import numba.cuda  # noqa: F401  once for all
    from IPython.core.interactiveshell import InteractiveShell  # noqa: F401

    import host_to_device  # noqa: F401

    server, reached, found = socket.create_server(("127.0.0.1", PORT)), [], {}
    threading.Thread(target=lambda: reached.append(server.accept()), daemon=True).start()
    for path in sorted(Path(folder).iterdir()):
        theirs, ours = os.pipe()
        child = os.fork()
        if not child:
            os.close(theirs)
            marks = marks_of(json.loads(path.read_text(encoding="utf-8")))
            os.write(ours, f"{json.dumps(marks)}\n".encode())
            os.write(ours, f"{json.dumps(left_behind())}\n".encode())
            sys.exit()
        os.close(ours)
        with os.fdopen(theirs, errors="replace") as pipe:
            lines = [pipe.readline(), pipe.readline()]
        os.waitpid(child, 0)
        try:
            marks, left = map(json.loads, lines)
        except ValueError:  # nothing, or no JSON
            marks, left = {}, {"no marks come back": True}
        found[path.name] = {"marks": marks, "left": left | {"the network is reached": bool(reached)}}
        Path(result).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
