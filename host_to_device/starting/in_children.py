"""`h2d.in_child()`: run a few lines in a process of their own, because they may end it or cost it the GPU.

The child is a Python without a shell, in a session of its own, so that it ends with everything that it has started. It
gets the program by its standard input. Its output is read up to a limit, and the rest is dropped.
"""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from host_to_device.starting import machine
from host_to_device.support import child_processes, folders

KEPT = 100_000  # characters of each stream that are kept
MARK = "\x1e"  # begins what the child tells of itself, at the end of its standard error

# The child's program. "<string>" is what Python calls code without a file; linecache gives tracebacks and Numba its lines.
PROGRAM = """
import linecache, sys
mark, started, nbytes, place = sys.argv[1:]
del sys.argv[1:]
sys.path.append(place)  # the library may lie in a folder that only the parent has in its path
text = sys.stdin.read()
linecache.cache["<string>"] = len(text), None, text.splitlines(True), "<string>"
if nbytes != "0":
    try:
        import resource
        resource.setrlimit(resource.RLIMIT_DATA, (int(nbytes), int(nbytes)))
    except (ImportError, ValueError, OverflowError, OSError) as problem:
        print(f"{mark}limit\\t{problem}", file=sys.stderr)
names = {"__name__": "__main__", "__builtins__": __builtins__}
try:
    if started != "0":
        import contextlib, io
        import host_to_device as h2d
        with contextlib.redirect_stdout(io.StringIO()):
            h2d.start()
        names["h2d"] = h2d
    exec(compile(text, "<string>", "exec"), names)
except SystemExit:
    raise
except BaseException as problem:
    import traceback
    inner = problem.__traceback__.tb_next
    traceback.print_exception(type(problem), problem, inner)
    kind, words = type(problem), str(problem).strip().partition("\\n")[0]
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    last = f"{name}: {words}" if words else name
    print(f"{mark}raised\\t{kind.__name__}\\t{last}", file=sys.stderr)
    sys.exit(1)
"""


@dataclass(frozen=True)
class Child:
    """What became of a child process; printed, it shows the output, the error's line, and how the process ended.

    Attributes
    ----------
    output, errors
        What it wrote to standard output and to standard error, the first 100,000 characters of each.
    raised, message
        The type of the exception that ended it, and the last line of its traceback; "" if none did.
    ended
        "exit 0", "raised ValueError", "killed by signal 11 (SIGSEGV)", "stopped after 20 s", or "exit 3".
    remarks
        Lines on what could not be done, such as a limit of memory.
    """

    output: str = ""
    errors: str = ""
    raised: str = ""
    message: str = ""
    ended: str = ""
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [self.output.rstrip("\n"), self.message, *self.remarks, f"(child process: {self.ended})"]
        return "\n".join(part for part in parts if part)

    __repr__ = __str__


def in_child(code: str | Callable[[], Any], seconds: float = 20, memory: int | None = None) -> Child:
    """Run a few lines of Python in a child process, and return what it printed and how it ended.

    The notebook goes on whatever happens there: a crash, a loop without an end, an error that costs the process its GPU. If
    `h2d.start()` has run here, it runs in the child, too, which has the name `h2d`; it sees the same GPU, or the stand-ins.
    It has no other names of the notebook.

    Parameters
    ----------
    code
        The lines, or a function without parameters. A function is sent as its source, so it does its own imports.
    seconds
        Time limit. A child that runs longer is stopped, with the processes that it has started.
    memory
        Limit in bytes of the host's memory that the child may allocate; then it raises MemoryError. It does not limit a
        GPU's memory. Only Linux can set it; elsewhere a line says so, and the child runs without it.

    Returns
    -------
    Child
        The output, the last line of the traceback if an exception ended the child, and how it ended.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Examples
    --------
    >>> h2d.in_child("print(6 * 7)")
    42
    (child process: exit 0)
    >>> h2d.in_child("import os; os.abort()").ended
    'killed by signal 6 (SIGABRT)'
    >>> h2d.in_child("[][1]")
    IndexError: list index out of range
    (child process: raised IndexError)
    """
    text = _text_of(code)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < float("inf"):
        raise ValueError(f"seconds is {seconds!r}: give a number above 0")
    if memory is not None and (isinstance(memory, bool) or not isinstance(memory, int) or memory <= 0):
        raise ValueError(f"memory is {memory!r}: give a number of bytes above 0, or None for no limit")
    remarks = []
    if memory is not None and not sys.platform.startswith("linux"):
        remarks.append("This system cannot limit a process's memory: the child runs without a limit.")
        memory = None
    try:
        process = _start(memory or 0)
    except OSError as problem:
        return Child(ended=f"not run, this system starts no process: {problem.strerror or problem}")
    streams = [_Reading(process.stdout), _Reading(process.stderr)]
    stopped = False
    try:
        with suppress(OSError):  # it has ended already
            assert process.stdin is not None
            process.stdin.write(text)
            process.stdin.close()
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        stopped = True
    finally:
        child_processes.end(process)  # what it has started may go on
        for each in streams:
            each.end()
    errors, told = _told(streams[1].text)
    if "limit" in told:
        remarks.append(
            f"No limit could be set for the child's memory ({told['limit'][0]}): it ran without one."
        )
    raised, message = told.get("raised", ("", ""))
    if stopped:
        ended, raised, message = f"stopped after {seconds:g} s", "", ""
    elif process.returncode < 0:
        number = -process.returncode
        ended, raised, message = f"killed by signal {number}{_name_of(number)}", "", ""
    else:
        ended = f"raised {raised}" if raised else f"exit {process.returncode}"
    return Child(streams[0].text, errors, raised, message, ended, tuple(remarks))


def _text_of(code: Any) -> str:
    """Return the program of a text or of a function."""
    if isinstance(code, str):
        return textwrap.dedent(code).lstrip("\n")  # line 1 is the first that a reader sees
    if not inspect.isfunction(code) or code.__name__ == "<lambda>":
        raise TypeError(
            f"h2d.in_child runs a text or a function made with def, not {type(code).__name__}: give one of these"
        )
    if inspect.signature(code).parameters or code.__closure__:
        raise TypeError(
            f"{code.__name__} needs values from outside, which the child does not have: define them in its body"
        )
    try:
        source = textwrap.dedent(inspect.getsource(code))
    except OSError:
        raise TypeError(f"the source of {code.__name__} is not known: give the lines as a text") from None
    return f"{source}\n{code.__name__}()\n"


def _start(nbytes: int) -> subprocess.Popen[str]:
    """Start the child, which waits for its program."""
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    if machine.chosen is not None:
        environment["H2D_MACHINE"] = machine.chosen
    started, place = str(int(machine.chosen is not None)), str(folders.PACKAGE.parent)
    return subprocess.Popen(
        [sys.executable, "-u", "-c", PROGRAM, MARK, started, str(nbytes), place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env=environment,
        start_new_session=os.name == "posix",
    )


class _Reading:
    """Reads a stream to its end in a thread, and keeps its beginning and its end."""

    def __init__(self, stream: Any) -> None:
        self.text, self._stream = "", stream
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        rest = ""
        with suppress(OSError, ValueError):
            while part := self._stream.read(4096):
                room = KEPT - len(self.text)
                self.text += part[:room]
                rest = (rest + part[max(0, room) :])[-4096:]
        if MARK in rest:  # what the child tells of itself comes last
            self.text += rest[rest.index(MARK) :]

    def end(self) -> None:
        """Wait until the stream has ended."""
        self._thread.join(5)
        self._stream.close()


def _told(errors: str) -> tuple[str, dict[str, tuple[str, ...]]]:
    """Return standard error without what the child told of itself, and that by its first word."""
    kept: list[str] = []
    told: dict[str, tuple[str, ...]] = {}
    for line in errors.split("\n"):
        before, mark, words = line.partition(MARK)
        if mark:
            word, *values = words.split("\t", 2)
            told[word] = tuple(values)
        if before or not mark:
            kept.append(before)
    return "\n".join(kept), told


def _name_of(number: int) -> str:
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""
