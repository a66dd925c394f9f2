"""A shelter for running a learner's code: the code ends in time, its output is kept, and its changes are undone.

The code runs in this process, so the shelter has limits. It cannot end a call into compiled code that never returns to
Python (a loop in `njit` code of the host, a GPU that hangs). It cannot bound memory, survive a crash, or stop code that
ends the process by a name bound before (`from os import _exit`). It cannot end a thread that the code has started, or
find a function that was replaced before `h2d.start()` or `h2d.answer` was used. On systems other than POSIX, and in
threads other than the main thread, a time limit does not interrupt sleeping. Grading that counts happens in another
process.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import gc
import io
import math
import operator
import os
import random
import signal
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

ARGUMENTS = "Take what the function needs as its arguments."
KEPT = 2_000  # characters of the output that are kept
RECURSION = 3_000  # IPython's recursion limit
STEP = 0.05  # seconds between two attempts to stop code that catches the first one
GRACE = 1.0  # seconds for a signal to arrive, before an exception is thrown into the thread
SPARED = 5  # attempts that are skipped while Python's own modules run
# Of a time limit, the part that code may keep the processor busy. A loop that never ends is stopped then; code that
# waits, for a compiler or because the machine does other things, has the whole time.
BUSY, LOOK = 1 / 4, 0.25  # LOOK: seconds between two looks at the processor's time

# Bound here, before a notebook can replace them.
_monotonic, _itimer, _set_signal = time.monotonic, getattr(signal, "setitimer", None), signal.signal

# The folder of Python's own modules: an exception in the middle of one may leave it broken.
_LIBRARY = os.path.dirname(os.__file__)


class TimeUp(BaseException):  # not an Exception: `except Exception` in the learner's code must not catch it
    """The time of a run is up; `args` may hold the seconds that it had."""


class Refused(BaseException):
    """The learner's code called something that must not run while an answer is checked; the message names it.

    `hint` says what to do instead.
    """

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


# -- functions that a notebook may have replaced

_MISSING = object()
_MODULES = {
    *("builtins", "json", "math", "os", "random", "signal", "threading", "time"),
    *("numpy", "numpy.linalg", "numpy.random", "numpy.testing"),
}
# Jupyter replaces these itself.
_OTHERS = {
    "input",
    "display",
    "get_ipython",
    "exit",
    "quit",
    "breakpoint",
    "__import__",
    "_exit",
    "abort",
}
_originals: dict[Any, dict[str, Any]] = {}  # by module or class, and name
_known: set[str] = set()
# Bound here, because a notebook may replace the originals.
_all, _map, _is = all, map, operator.is_


def remember() -> None:
    """Record the functions and classes of the modules that an answer relies on, once for each module.

    A public name of the library that has not been used yet is recorded as missing.
    """
    for name, module in list(sys.modules.items()):
        ours = name.split(".")[0] == "host_to_device"
        if name in _known or not (ours or name in _MODULES) or not isinstance(module, types.ModuleType):
            continue
        _known.add(name)
        if name == "host_to_device":
            unused = set(module.__all__) - set(vars(module))
            _originals.setdefault(module, {}).update(dict.fromkeys(unused, _MISSING))
        for attribute, value in list(vars(module).items()):
            if not callable(value) or attribute in _OTHERS:
                continue
            _originals.setdefault(module, {})[attribute] = value
            if ours and isinstance(value, type) and value.__module__ == name:
                for member, function in list(vars(value).items()):
                    if isinstance(function, types.FunctionType | property | classmethod | staticmethod):
                        _originals.setdefault(value, {})[member] = function


def replaced() -> dict[tuple[Any, str], Any]:
    """Return the current values of the names whose value is no longer the recorded one."""
    found = {}
    for owner, originals in _originals.items():
        here = vars(owner)
        if _all(_map(_is, _map(here.get, originals), originals.values())):
            continue
        for name, original in originals.items():
            now = here.get(name, _MISSING)
            first_used = original is _MISSING and getattr(now, "__module__", None) == owner.__name__
            if now is not original and not first_used:
                found[owner, name] = now
    return found


def _put(owner: Any, name: str, value: Any) -> None:
    with contextlib.suppress(Exception):
        if value is _MISSING:
            delattr(owner, name)
        else:
            setattr(owner, name, value)


def put_back() -> None:
    """Give the names that `remember` has recorded their values again, wherever a notebook has replaced them."""
    for owner, name in replaced():
        _put(owner, name, _originals[owner][name])


# -- output and input


class Captured(io.TextIOBase):
    """A stream for the code's output: keeps the beginning, and counts lines and characters."""

    encoding, errors = "utf-8", "replace"

    def __init__(self) -> None:
        self.kept, self.lines, self.characters = "", 0, 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if len(self.kept) < KEPT:
            self.kept += str(text[: KEPT - len(self.kept)])
        self.lines += text.count("\n")
        self.characters += len(text)
        return len(text)

    @property
    def buffer(self) -> Any:
        """An object that takes bytes, as `sys.stdout.buffer` does."""
        return types.SimpleNamespace(
            write=lambda data: self.write(bytes(data).decode("utf-8", "replace")), flush=lambda: None
        )

    def told(self, most: int = 8) -> list[str]:
        """Return the first few printed lines below a headline; an empty list if the code printed nothing."""
        shown = [line[:120] for line in self.kept.splitlines() if line.strip()][:most]
        if not shown:
            return []
        count = max(self.lines, 1)
        first = f"Your code printed {count:,} line{'s' * (count != 1)}"
        first += ":" if count <= len(shown) and self.characters <= KEPT else "; it begins:"
        return [first, *(f"    {line}" for line in shown)]


class _NoInput(io.TextIOBase):
    def readable(self) -> bool:
        return True

    def readline(self, *_: Any) -> Any:
        raise Refused("your code reads from the keyboard, but the check has no keyboard input", ARGUMENTS)

    read = readline


def _refuse(text: str, hint: str) -> Any:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise Refused(text, hint)

    return refuse


def _exit(*arguments: Any, **_: Any) -> NoReturn:
    raise SystemExit(*arguments[:1])


# -- the shelter


class Shelter:
    """`with Shelter(namespace) as shelter:` around all calls that run a learner's code.

    Attributes
    ----------
    output
        The output of the code, a `Captured`.
    remarks
        Sentences about what the shelter has noticed; complete when the block has ended.
    """

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace, self.output = namespace, Captured()
        self.remarks: list[str] = []

    def __enter__(self) -> Shelter:
        remember()
        self.theirs = replaced()
        put_back()  # before anything else: the next lines rely on the originals, too
        self.names = dict(self.namespace)
        self.threads = set(threading.enumerate())
        self.undo = contextlib.ExitStack()
        names = sorted({f"{getattr(owner, '__name__', owner)}.{name}" for owner, name in self.theirs})
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            self.remarks.append(
                f"Your notebook has replaced {', '.join(names[:3])}{more}; the check used the originals."
            )
        self._remember_state()
        self.renew()
        return self

    def _remember_state(self) -> None:
        put_back = self.undo.callback
        for owner, name in ((sys, "stdout"), (sys, "stderr"), (sys, "stdin"), (sys, "displayhook")):
            put_back(setattr, owner, name, getattr(owner, name))
        for owner, name in ((builtins, "input"), (os, "_exit"), (os, "abort")):
            put_back(setattr, owner, name, getattr(owner, name))
        put_back(_set_list, sys.path, list(sys.path))
        self.environment, self.folder = dict(os.environ), None
        with contextlib.suppress(OSError):  # the folder may have been removed
            self.folder = os.getcwd()
        put_back(random.setstate, random.getstate())
        put_back(np.random.set_state, np.random.get_state())
        put_back(lambda options: np.set_printoptions(**options), np.get_printoptions())
        put_back(lambda modes: np.seterr(**modes), np.geterr())
        put_back(sys.setrecursionlimit, sys.getrecursionlimit())
        put_back(sys.settrace, sys.gettrace())
        put_back(sys.setprofile, sys.getprofile())
        put_back(gc.enable if gc.isenabled() else gc.disable)
        self.undo.enter_context(warnings.catch_warnings())
        with contextlib.suppress(Exception):  # IPython's display() does not print to sys.stdout
            shell = sys.modules["IPython"].get_ipython()
            if shell is not None:
                from IPython.core.displaypub import CapturingDisplayPublisher

                put_back(setattr, shell, "display_pub", shell.display_pub)
                shell.display_pub = CapturingDisplayPublisher()

    def renew(self) -> None:
        """Restore the state without the notebook's changes: between two runs, and before judging."""
        put_back()
        self.put_names_back()
        sys.stdout = sys.stderr = self.output
        sys.stdin = _NoInput()
        builtins.input = _refuse("your code calls input(), but the check has no keyboard input", ARGUMENTS)
        os._exit = os.abort = _refuse("your code ends the process", "Use return to leave a function.")
        with contextlib.suppress(OSError):
            if self.folder is not None:
                os.chdir(self.folder)
        _set_mapping(os.environ, self.environment)
        for name in ("exit", "quit"):  # IPython's own end the kernel
            if name in self.namespace and type(self.namespace[name]).__module__.startswith("IPython"):
                self.namespace[name] = _exit
        warnings.simplefilter("ignore")
        np.seterr(divide="warn", over="warn", under="ignore", invalid="warn")
        np.set_printoptions(precision=8, suppress=False, threshold=1000, edgeitems=3)
        sys.setrecursionlimit(RECURSION)

    def __exit__(self, *_: object) -> None:
        running = [each for each in threading.enumerate() if each not in self.threads]
        for each in running:
            with contextlib.suppress(RuntimeError):
                each.join(0.1)
        alive = sum(each.is_alive() for each in running)
        if alive:
            self.remarks.append(
                "A thread that your code started is still running."
                if alive == 1
                else f"{alive} threads that your code started are still running."
            )
        self.renew()
        self.undo.close()
        for (owner, name), value in self.theirs.items():
            _put(owner, name, value)
        self.put_names_back()

    def put_names_back(self) -> None:
        """Give the notebook's names the values that they had when the block began."""
        for name in [name for name in self.namespace if name not in self.names]:
            del self.namespace[name]
        self.namespace.update(self.names)


def _set_list(target: list, values: list) -> None:
    target[:] = values


def _set_mapping(target: Any, values: dict) -> None:
    for name in [name for name in target if name not in values]:
        del target[name]
    for name, value in values.items():
        if target.get(name) != value:
            target[name] = value


# -- time

_ends: list[float] = []  # when the current time limits end, the innermost limit last


def seconds_left(otherwise: float = 20.0) -> float:
    """Return the seconds that the running code has left; without a time limit, `otherwise`."""
    return max(0.1, _ends[-1] - _monotonic()) if _ends else otherwise


def within(seconds: float, call: Callable[..., Any], *arguments: Any) -> Any:
    """Return what `call(*arguments)` returns; raise `TimeUp` in it when the time is up, repeatedly if needed.

    A signal raises the exception where signals exist, and also ends sleeping. Elsewhere, and where the code has turned
    the signal off, the exception is thrown into the thread. Code that catches every exception is traced line by line,
    until the exception is raised in a line that catches nothing.

    Parameters
    ----------
    seconds
        The time limit, in seconds of the wall clock. A `BUSY` part of it is the limit of the processor's time.
    call, arguments
        The function that runs the code, and its arguments.
    """
    limit = _Limit(seconds)
    try:
        limit.begin()
        return call(*arguments)
    finally:
        # An exception that is on its way may arrive in `end`, or as its first line begins.
        while not limit.ended:
            try:  # noqa: SIM105  the exception would arrive in suppress()
                limit.end()
            except TimeUp:
                pass


class _Limit:
    """The signal, the timer and the thread that `within` sets up and takes away again."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.spent, self.ended = seconds, seconds, False
        self.done, self.rung, self.spared = False, 0, 0
        self.by_signal = _itimer is not None and threading.current_thread() is threading.main_thread()
        self.thread = threading.get_ident()
        self.woken = threading.Event()
        self.watcher = threading.Thread(target=self.watch, daemon=True, name="h2d time limit")
        self.outer = len(_ends)
        self.handler: Any = None
        self.timer: tuple[float, float] | None = None
        self.trace: Callable | None = None

    def begin(self) -> None:
        with contextlib.suppress(RuntimeError):  # Python in a browser has no threads, and so no limit
            self.watcher.start()
        _ends.append(_monotonic() + self.seconds)
        if self.by_signal and _itimer is not None:
            self.handler = _set_signal(signal.SIGALRM, self.ring)
            self.timer, self.began = _itimer(signal.ITIMER_REAL, self.seconds, STEP), _monotonic()

    def end(self) -> None:
        """Take everything away; an exception may interrupt this anywhere, and then it is called again."""
        self.done = True
        if self.trace is not None:
            sys.settrace(None)
        self.woken.set()
        if self.watcher.ident is not None:
            self.watcher.join()
        for _ in range(100):  # an exception that was thrown and has not arrived arrives here
            pass
        del _ends[self.outer :]
        if self.timer is not None and _itimer is not None:
            _itimer(signal.ITIMER_REAL, 0)
            _set_signal(signal.SIGALRM, self.handler if self.handler is not None else signal.SIG_DFL)
            delay, interval = self.timer
            if delay:  # a timer that was set before: it goes on
                _itimer(signal.ITIMER_REAL, max(0.001, delay - (_monotonic() - self.began)), interval)
        self.ended = True

    def spares(self, frame: types.FrameType | None) -> bool:
        """Return whether an exception would do harm in this frame: in this module, or in the middle of Python's own."""
        if self.done or frame is None or frame.f_globals is globals():
            return True
        if self.spared < SPARED and frame.f_code.co_filename.startswith(_LIBRARY):
            self.spared += 1
            return True
        self.spared = 0
        return False

    def ring(self, _: int, frame: types.FrameType | None) -> None:
        if self.spares(frame):
            return
        self.rung += 1
        if self.rung > 2:
            self.follow(frame, self.rung % 7)
        raise TimeUp(self.spent)

    def follow(self, frame: types.FrameType | None, lines: int) -> None:
        """Raise again after this many lines: in an `except:` that has caught the exception, or between two `try`."""

        def trace(where: types.FrameType, event: str, _: Any) -> Callable | None:
            nonlocal lines
            if self.done or where.f_globals is globals():
                return None
            if event == "line" and not where.f_code.co_filename.startswith(_LIBRARY):
                lines -= 1
                if lines < 0:
                    raise TimeUp
            return trace

        self.trace = trace
        sys.settrace(trace)
        while frame is not None and frame.f_globals is not globals():
            frame.f_trace = trace
            frame = frame.f_back

    def hurry(self) -> bool:
        """Wait until the time is up, or the processor's time: then let the signals come now; False at the end."""
        clock = time.pthread_getcpuclockid(self.thread) if hasattr(time, "pthread_getcpuclockid") else None
        began = _monotonic()
        most = math.inf if clock is None else time.clock_gettime(clock) + BUSY * self.seconds
        while (left := began + self.seconds - _monotonic()) > 0:
            if self.woken.wait(min(LOOK, left)) or self.done:
                return False
            if clock is not None and time.clock_gettime(clock) > most:
                self.spent = BUSY * self.seconds
                if self.by_signal and _itimer is not None:
                    _itimer(signal.ITIMER_REAL, STEP, STEP)
                break
        return True

    def watch(self) -> None:
        if not self.hurry():
            return
        wait, rung = GRACE if self.by_signal else 0.0, 0
        while not self.woken.wait(wait) and not self.done:
            if self.rung > rung:  # signals arrive: a second exception could arrive where nothing can catch it
                wait, rung = GRACE, self.rung
                continue
            wait = STEP
            if not self.spares(sys._current_frames().get(self.thread)):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self.thread), ctypes.py_object(TimeUp)
                )
