"""Records the copies, waits, allocations and operations that the stand-ins report; `h2d.count()` shows the sums.

The stand-ins for Numba and CuPy call `copied`, `waited`, `allocated` and `operated`. PyTorch's device keeps its own
counts, and `follow` adds them. Without a listener a report checks one flag and returns. The documentation of
`host_to_device.counting` defines what counts as a copy, a wait, an allocation or an operation.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from host_to_device.support import folders

# True while there is a listener. Code that runs often checks it before it calls a function of this module.
listening = False

# While a timeline is recorded, this function is called with each report: its kind ("copy", "operation" or "wait"),
# its direction, name or reason, and its bytes. Otherwise it is None: `h2d.count()` needs sums only, not the order.
in_order: Callable[[str, str, int], object] | None = None

# While a memory timeline is recorded, this function is called with each change of device memory. Its arguments are the
# kind ("allocation", "free", "refused", "released", or "loaded" for a device that records its own memory); a key that no
# other block has at the same time; bytes; the pool that the block comes from, None where there is no pool; and, for
# allocations and releases, the bytes that this pool holds afterwards. Otherwise it is None.
memory: Callable[[str, Hashable, int, Hashable, int], object] | None = None

# The names of the sums since the first listener began; `torch_device.counters()` has the same.
NAMES = (
    *("h2d", "h2d_bytes", "d2h", "d2h_bytes", "d2d", "d2d_bytes"),
    *("waits", "allocations", "operations"),
)

_BYTES = {direction: f"{direction}_bytes" for direction in ("h2d", "d2h", "d2d")}

# Where the host waited: file and line of the reader's own code, and the reason. File and line are "" and 0 if the
# stack holds no code of the reader's.
Place = tuple[str, int, str]

_keys = count()  # of blocks outside of pools
_sums: Counter[str] = Counter()
_operations: Counter[str] = Counter()
_places: Counter[Place] = Counter()
_listeners = 0
_followed: dict[str, tuple[Callable[[], dict[str, int]], Callable]] = {}
# Guards the sums. Reentrant, since a finaliser that copies may run in the middle of a report.
_lock = threading.RLock()
# Guards the listeners. It is another lock because `on_wait` may have to wait for a report in another thread.
_door = threading.RLock()


def copied(direction: str, nbytes: int) -> None:
    """Record a copy.

    Parameters
    ----------
    direction
        "h2d", "d2h" or "d2d".
    nbytes
        Its bytes. A copy of 0 bytes is ignored.
    """
    if listening and nbytes:
        with _lock:
            _sums[direction] += 1
            _sums[_BYTES[direction]] += nbytes
        if in_order is not None:
            in_order("copy", direction, nbytes)


def waited(reason: str) -> None:
    """Record that the host waited for the device, with the reason in a few words, such as "copy to the host"."""
    if listening:
        with _lock:
            _sums["waits"] += 1
            _places[_place(reason)] += 1
        if in_order is not None:
            in_order("wait", reason, 0)


def allocated(nbytes: int, owner: Any = None) -> None:
    """Record an allocation of `nbytes` of device memory outside of pools. Zero-byte allocations are ignored.

    Parameters
    ----------
    nbytes
        Its bytes.
    owner
        The object that the memory is freed with; None for temporary memory, which is freed at once.
    """
    if listening and nbytes:
        with _lock:
            _sums["allocations"] += 1
        if memory is not None:
            key = next(_keys)
            memory("allocation", key, nbytes, None, 0)
            if owner is None:
                _freed(key, nbytes)
            else:
                weakref.finalize(owner, _freed, key, nbytes).atexit = False


def allocated_from(pool: Hashable, key: Hashable, nbytes: int, held: int) -> None:
    """Record an allocation of `nbytes` from a pool, which holds `held` bytes afterwards, free blocks included."""
    if listening:
        with _lock:
            _sums["allocations"] += 1
        if memory is not None:
            memory("allocation", key, nbytes, pool, held)


def refused(nbytes: int) -> None:
    """Record that an allocation of `nbytes` of device memory was refused with an error."""
    if listening and memory is not None:
        memory("refused", None, nbytes, None, 0)


def released(pool: Hashable, held: int) -> None:
    """Record that a pool has given free blocks back to the device, and now holds `held` bytes."""
    if listening and memory is not None:
        memory("released", None, 0, pool, held)


def _freed(key: Hashable, nbytes: int) -> None:
    if memory is not None:
        memory("free", key, nbytes, None, 0)


def operated(name: str) -> None:
    """Record an operation by its name: a kernel, or an action that takes at least one kernel on a GPU."""
    if listening:
        with _lock:
            _operations[name] += 1
        if in_order is not None:
            in_order("operation", name, 0)


def read_back(nbytes: int) -> None:
    """Record that a library read a result on the host before it could continue, such as the size of an array."""
    copied("d2h", nbytes)
    waited("a size or a check")


def follow(library: str, counters: Callable[[], dict[str, int]], on_wait: Callable) -> None:
    """Add the counts of a device that counts by itself; a second call changes nothing.

    Parameters
    ----------
    library
        Name under which its operations appear.
    counters
        Returns its sums since it was loaded, by `NAMES`.
    on_wait
        Takes a function that the device calls with the reason of each wait, in the thread that waits; None ends this.
    """
    with _door:
        if library not in _followed:
            _followed[library] = counters, on_wait
            if listening:
                on_wait(_waited_elsewhere)
            if memory is not None:
                memory("loaded", None, 0, None, 0)


def _waited_elsewhere(reason: str) -> None:
    """Record the place of a wait that another device has counted."""
    with _lock:
        _places[_place(reason)] += 1
    if in_order is not None:
        in_order("wait", reason, 0)


def listen() -> None:
    """Start recording; each call needs a call of `stop_listening`."""
    global listening, _listeners
    with _door:
        _listeners += 1
        if _listeners == 1:
            listening = True
            for _, on_wait in _followed.values():
                on_wait(_waited_elsewhere)


def stop_listening() -> None:
    """End one call of `listen`. The last listener's end resets the sums."""
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
    """Record nothing inside the `with` block: the launches of a check are not the reader's."""
    global listening
    listening = False
    try:
        yield
    finally:
        listening = _listeners > 0


class Snapshot:
    """The sums at one moment. The difference of two snapshots is what happened between them.

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
        # Called without the lock: a device may hold its own lock while it waits for this one to report a wait.
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


# The reader's own code lies in no library, and not in this one.

_OURS = str(folders.PACKAGE) + os.sep
_LIBRARIES = tuple(
    {str(Path(sysconfig.get_path(name))) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
# File names of code without a file that is the reader's: typed in a console, in IPython, or given to python -c.
# Code that libraries generate has other names.
_READERS = ("<stdin>", "<string>", "<ipython-input")
_is_readers: dict[str, bool] = {}  # the results of `is_readers`, by file


def readers_place() -> tuple[str, int]:
    """Return file and line of the innermost reader's code on the stack, or "" and 0 if there is none."""
    return _place("")[:2]


def _place(reason: str) -> Place:
    """Return the innermost place on the stack that is the reader's code, with a reason."""
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
    """Return whether a file is the reader's own: a notebook's cell, a script, or a module of the reader's."""
    if filename.startswith("<"):
        return filename.startswith(_READERS)
    if f"{os.sep}site-packages{os.sep}" in filename or f"{os.sep}dist-packages{os.sep}" in filename:
        return False
    return not filename.startswith((_OURS, *_LIBRARIES))


def _after_fork() -> None:
    """Renew the locks in a child process: another thread of the parent may have held them."""
    global _lock, _door
    _lock, _door = threading.RLock(), threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
