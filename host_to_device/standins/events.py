"""What the stand-ins report as it happens: copies, waits, allocations, operations. `h2d.count()` adds them up.

The stand-ins for Numba and CuPy call the four functions below; the device inside PyTorch keeps counts of its own,
which `follow` joins to these. While nobody listens, a report looks at one flag and returns. What counts as what is
written down in `host_to_device.counting`.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# True while somebody listens. Places that run often look at it before they call.
listening = False

# Told of each report as it happens while a timeline is recorded, by what it is ("copy", "operation" or "wait"), its
# direction, name or reason, and its bytes; None otherwise. Sums need no order, so `h2d.count()` does not set it.
in_order: Callable[[str, str, int], object] | None = None

# Sums since the first listener came; the names are those of `torch_device.counters()`.
NAMES = (
    *("h2d", "h2d_bytes", "d2h", "d2h_bytes", "d2d", "d2d_bytes"),
    *("waits", "allocations", "operations"),
)

_BYTES = {direction: f"{direction}_bytes" for direction in ("h2d", "d2h", "d2d")}

# Where the host waited: file, line and reason. The reader's own line; "" and 0 where there is none on the stack.
Place = tuple[str, int, str]

_sums: Counter[str] = Counter()
_operations: Counter[str] = Counter()
_places: Counter[Place] = Counter()
_listeners = 0
_followed: dict[str, tuple[Callable[[], dict[str, int]], Callable]] = {}
# Reentrant: a finaliser that copies may run in the middle of a report.
_lock = threading.RLock()
# For who comes and goes. Not the same: `on_wait` may first let a report finish that runs in another thread.
_door = threading.RLock()


def copied(direction: str, nbytes: int) -> None:
    """Report a copy.

    Parameters
    ----------
    direction
        "h2d", "d2h" or "d2d".
    nbytes
        Its bytes; a copy of none is none.
    """
    if listening and nbytes:
        with _lock:
            _sums[direction] += 1
            _sums[_BYTES[direction]] += nbytes
        if in_order is not None:
            in_order("copy", direction, nbytes)


def waited(reason: str) -> None:
    """Report that the host stopped until the device was done, for a reason in a few words: "copy to the host"."""
    if listening:
        with _lock:
            _sums["waits"] += 1
            _places[_place(reason)] += 1
        if in_order is not None:
            in_order("wait", reason, 0)


def allocated(nbytes: int) -> None:
    """Report that a block of device memory of so many bytes was asked for; none of 0 bytes."""
    if listening and nbytes:
        with _lock:
            _sums["allocations"] += 1


def operated(name: str) -> None:
    """Report an operation of the device by its name: a kernel, or what would be at least one on a GPU."""
    if listening:
        with _lock:
            _operations[name] += 1
        if in_order is not None:
            in_order("operation", name, 0)


def read_back(nbytes: int) -> None:
    """Report that a library looked at a result on the host before it went on, as for the size of an array."""
    copied("d2h", nbytes)
    waited("a size or a check")


def follow(library: str, counters: Callable[[], dict[str, int]], on_wait: Callable) -> None:
    """Join a device that counts by itself; doing it again changes nothing.

    Parameters
    ----------
    library
        Name under which its operations appear.
    counters
        Returns its sums since it was loaded, by `NAMES`.
    on_wait
        Takes a function of a reason, to be called in the thread that waits; or None.
    """
    with _door:
        if library not in _followed:
            _followed[library] = counters, on_wait
            if listening:
                on_wait(_waited_elsewhere)


def _waited_elsewhere(reason: str) -> None:
    """Note where a wait happened that is counted already."""
    with _lock:
        _places[_place(reason)] += 1
    if in_order is not None:
        in_order("wait", reason, 0)


def listen() -> None:
    """Begin to listen; each call needs one of `stop_listening`."""
    global listening, _listeners
    with _door:
        _listeners += 1
        if _listeners == 1:
            listening = True
            for _, on_wait in _followed.values():
                on_wait(_waited_elsewhere)


def stop_listening() -> None:
    """End what `listen` began; with the last listener the sums are forgotten."""
    global listening, _listeners
    with _door:
        _listeners -= 1
        if _listeners == 0:
            listening = False
            for _, on_wait in _followed.values():
                on_wait(None)
            with _lock:
                for each in (_sums, _operations, _places, _is_readers):
                    each.clear()


@contextmanager
def unheard() -> Iterator[None]:
    """Let nothing be reported inside: a check launches a kernel for its own ends, and not for the reader's."""
    global listening
    listening = False
    try:
        yield
    finally:
        listening = _listeners > 0


class Snapshot:
    """The sums at one moment; the difference of two is what happened between them.

    Attributes
    ----------
    sums
        Numbers by `NAMES`.
    operations
        Numbers of operations by name.
    places
        Numbers of waits by `Place`.
    """

    def __init__(self) -> None:
        # Asked outside the lock: a device may hold one of its own, and wait for this one to report a wait.
        others = {library: counters() for library, (counters, _) in list(_followed.items())}
        with _lock:
            self.sums, self.places = Counter(_sums), Counter(_places)
            self.operations = Counter(_operations)
        for library, theirs in others.items():
            self.operations[library] += theirs["operations"]
            self.sums.update({name: theirs[name] for name in NAMES if name != "operations"})
        self.sums["operations"] = self.operations.total()

    def __sub__(self, earlier: Snapshot) -> Snapshot:
        difference = Snapshot.__new__(Snapshot)
        for name in ("sums", "operations", "places"):
            setattr(difference, name, getattr(self, name) - getattr(earlier, name))
        return difference


# The reader's own code: in no library, and not in this one

_OURS = str(Path(__file__).parents[1]) + os.sep
_LIBRARIES = tuple(
    {str(Path(sysconfig.get_path(name))) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
# What runs without a file is a notebook's, a script's or a console's; code that libraries make has other names.
_READERS = ("<stdin>", "<string>", "<ipython-input")
_is_readers: dict[str, bool] = {}  # by file


def readers_place() -> tuple[str, int]:
    """Return file and line of the innermost place on the stack that is the reader's own; "" and 0 if none is."""
    return _place("")[:2]


def _place(reason: str) -> Place:
    """Return the innermost place on the stack that is the reader's own."""
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        readers = _is_readers.get(file)
        if readers is None:
            readers = _is_readers[file] = is_readers(file)
        if readers:
            return file, frame.f_lineno, reason
        frame = frame.f_back
    return "", 0, reason


def is_readers(filename: str) -> bool:
    """Tell whether code of this file is the reader's own: a notebook's cell, a script, a module of his."""
    if filename.startswith("<"):
        return filename.startswith(_READERS)
    if f"{os.sep}site-packages{os.sep}" in filename or f"{os.sep}dist-packages{os.sep}" in filename:
        return False
    return not filename.startswith((_OURS, *_LIBRARIES))


def _after_fork() -> None:
    """Start afresh in a child: another thread of the parent may have held a lock."""
    global _lock, _door
    _lock, _door = threading.RLock(), threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
