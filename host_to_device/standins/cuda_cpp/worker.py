"""The processes that run kernels, one for each core: started for the first kernel, and again after a crash.

They take the blocks of a launch from one common counter. A process that dies ends its kernel and does no other harm:
device memory belongs to the parent.
"""

from __future__ import annotations

import atexit
import contextlib
import marshal
import os
import select
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from host_to_device.standins.cuda_cpp.arena import arena
from host_to_device.standins.cuda_cpp.errors import CompileError

RUNNER = Path(__file__).with_name("runner.py")
GRACE = 2.0  # seconds after its time limit in which a kernel may still stop by itself
SMALL = 4096  # threads: a smaller launch runs in one process, since waking a second one takes longer
# Modules that one process loads. Each takes about 2 MB of the process's limit (`MEMORY` in runner.py), and a process
# without memory crashes, so a new one takes over before.
MOST_MODULES = 128


class Died(Exception):
    """A process for kernels has ended, or was killed after its time limit."""

    def __init__(self, late: bool, code: int | None = None) -> None:
        super().__init__()
        self.late, self.code = late, code


class Worker:
    """One process that runs kernels."""

    def __init__(self) -> None:
        shared = arena()
        self.arena = shared
        self.mapped = 0
        self.modules: set[str] = set()  # the paths of those that it has been asked to load
        if not sys.executable:
            raise CompileError(
                "kernels run in a process of their own, and this Python does not know its own path"
            )
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(RUNNER), str(shared.fd)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(shared.fd,),
            start_new_session=True,  # so that Ctrl-C reaches only the parent
        )
        self.waiting = select.poll() if hasattr(select, "poll") else None
        if self.waiting:
            self.waiting.register(self.process.stdout.fileno(), select.POLLIN | select.POLLHUP)

    def new_segments(self) -> tuple:
        """Return the segments of the arena that this process has not mapped yet."""
        new = tuple(self.arena.segments[self.mapped :])
        self.mapped += len(new)
        return new

    def send(self, *message: Any) -> None:
        data = marshal.dumps(message)
        try:
            self.process.stdin.write(struct.pack("<Q", len(data)) + data)
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise Died(False, self.process.poll()) from None

    def read(self, size: int, ends: float) -> bytes:
        parts, fd = [], self.process.stdout.fileno()
        while size:
            left = ends - time.monotonic()
            if left <= 0:
                raise Died(True)
            if self.waiting:
                ready = self.waiting.poll(min(left, 3600) * 1000)
            else:
                ready = select.select([fd], [], [], left)[0]
            if not ready:
                continue
            part = os.read(fd, min(size, 1 << 20))
            if not part:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(1)
                raise Died(False, self.process.poll())
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def receive(self, ends: float) -> tuple:
        (size,) = struct.unpack("<Q", self.read(8, ends))
        return marshal.loads(self.read(size, ends))

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)


_workers: list[Worker] = []
lock = threading.RLock()  # one launch at a time, as on a device's default stream


def cores() -> int:
    """Return the number of processes that run the blocks of one launch: this process's cores, at most 16."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(count, 16))


def workers(count: int) -> list[Worker]:
    """Return `count` living processes; start those that are missing. The lock must be held."""
    for worker in _workers:
        if len(worker.modules) >= MOST_MODULES:
            worker.kill()
    _workers[:] = [worker for worker in _workers if worker.process.poll() is None and worker.arena is arena()]
    while len(_workers) < count:
        _workers.append(Worker())
    return _workers[:count]


def stop() -> None:
    """End all processes. The next launch starts new ones."""
    with lock:
        while _workers:
            _workers.pop().kill()


def ask(messages: list[tuple], seconds: float) -> list[tuple]:
    """Send each message to a different process, and return the answers.

    Parameters
    ----------
    messages
        The name of a function of runner.py, a module's path, and the function's other arguments.
    seconds
        Time limit.

    Raises
    ------
    Died
        If one of the processes ends or does not answer in time. Then all are ended.
    """
    with lock:
        try:
            using = workers(len(messages))
            for worker, (name, *rest) in zip(using, messages, strict=True):
                worker.modules.add(rest[0])
                worker.send(name, *((worker.new_segments(), *rest) if name == "run" else rest))
            ends = time.monotonic() + seconds
            return [worker.receive(ends) for worker in using]
        except BaseException:  # also Ctrl-C: no caller needs the answers any more
            stop()
            raise


def _forget() -> None:
    """After a fork, forget the processes: they are the parent's."""
    global lock
    _workers.clear()
    lock = threading.RLock()


atexit.register(stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
