"""A process in the sandbox that has imported the libraries and forks a process for each notebook, in namespaces of its own.

To import Numba and to compile a first kernel takes longer than most notebooks. `Warm` starts `python -m
host_to_device.grading.fork_server` once, in a bubblewrap in which nothing can be written. No student's code and no check
runs in this process. For each notebook it forks a child, which gets what bubblewrap would give it: a process tree, a /proc, a
/tmp, a /dev/shm, terminals, a network and names of users of its own, and no right over anything that was there before. One
notebook sees no other one. Where the system does not allow this, each notebook gets a bubblewrap of its own, as before, and
one line says so.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from host_to_device.grading import sandbox
from host_to_device.grading.sandbox import HOME, Limits, Sandbox
from host_to_device.support import child_processes

STARTING = 120.0  # seconds until the first notebook can run
READY = b"ready"
TRIES = 2  # how often a fork server is started, before each notebook gets a sandbox of its own
SLOWLY = "each notebook now starts Python anew, which takes longer: no process can be forked in the sandbox here ({})"

# -- the grader's side


class Forked:
    """A process of a notebook, with what the grader needs of `subprocess.Popen`; its number stays its own until the end."""

    def __init__(self, line: socket.socket, pid: int, stdin: BinaryIO, stdout: BinaryIO) -> None:
        self.line, self.pid, self.stdin, self.stdout = line, pid, stdin, stdout
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status, as `subprocess.Popen.wait` does."""
        if self.returncode is None:
            self.line.settimeout(timeout)
            try:
                content = self.line.recv(4)
            except TimeoutError:
                raise subprocess.TimeoutExpired("a notebook", timeout or 0.0) from None
            self.returncode = struct.unpack("i", content)[0] if len(content) == 4 else -signal.SIGKILL
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def __del__(self) -> None:
        self.line.close()  # now its number may be given to another process


class Warm:
    """A `Sandbox` whose processes have imported the libraries already, where the system allows it.

    Parameters
    ----------
    box
        What a notebook is shut in by where it cannot be forked.
    limits
        What a notebook may use.

    Attributes
    ----------
    said
        "", or the line that it has printed on the terminal because notebooks are no longer forked.
    """

    def __init__(self, box: Sandbox, limits: Limits) -> None:
        self.box, self.limits, self.left = box, limits, TRIES if box.serving else 0
        self.said = ""
        if box.shut_in and sandbox.hidden_in_home(sys.prefix, sys.base_prefix):
            self._say(f"Python lies in {HOME}")
        self.lock = threading.Lock()
        self.server: subprocess.Popen[bytes] | None = None
        self.control: socket.socket | None = None

    def start(self, module: str, limits: Limits, folder: Path) -> subprocess.Popen[bytes] | Forked:
        """Return a new process that runs the module of `inside`; the parameters are those of `Sandbox.start`."""
        with self.lock:
            while self.left:
                try:
                    return self._forked()
                except (
                    OSError,
                    ValueError,
                ) as problem:  # the server has gone, or the system does not let it work
                    self._end()
                    self.left -= 1
                    if not self.left:
                        self._say(problem)
        return self.box.start(module, limits, folder)

    def _say(self, problem: object) -> None:
        self.said = SLOWLY.format(problem)
        print(f"grade: {self.said}", file=sys.stderr, flush=True)

    def _forked(self) -> Forked:
        if self.server is None:
            self._serve()
        assert self.control is not None
        asked, stdin = os.pipe()
        stdout, told = os.pipe()
        line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours: list[Any] = [os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")]
        try:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            line.settimeout(STARTING)
            try:
                socket.send_fds(self.control, [b"a notebook"], [asked, told, theirs.fileno()])
            finally:  # so that the end of the server ends the line
                os.close(asked)
                os.close(told)
                theirs.close()
            said, more, *_ = line.recvmsg(200, socket.CMSG_SPACE(struct.calcsize("3i")))
            if said != READY:
                raise ValueError(said.decode("utf-8", "replace") or "the fork server has ended")
            pid = struct.unpack("3i", more[0][2])[0]  # as this process sees it: the kernel has translated it
        except BaseException:
            for each in (*ours, line):
                each.close()
            raise
        return Forked(line, pid, *ours)

    def _serve(self) -> None:
        self.control, theirs = socket.socketpair()
        python = [sys.executable, "-P", "-s", "-m", __name__]
        with theirs:
            self.server = subprocess.Popen(
                [*self.box.serving, *python, *map(str, (os.getuid(), os.getgid(), self.limits.scratch))],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self.box.environment,
                preexec_fn=self.limits.set,
                start_new_session=True,
            )

    def _end(self) -> None:
        if self.control is not None:
            self.control.close()
        if self.server is not None:
            child_processes.end(self.server)
        self.server = self.control = None

    def __enter__(self) -> Warm:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()


# -- the server, in the sandbox

# <linux/sched.h>, <linux/mount.h>, <linux/prctl.h>, <linux/capability.h>
NEW_MOUNTS, NEW_CGROUP, NEW_UTS, NEW_IPC, NEW_USER, NEW_PIDS, NEW_NETWORK = (
    *(0x20000, 0x2000000, 0x4000000, 0x8000000),
    *(0x10000000, 0x20000000, 0x40000000),
)
READ_ONLY, NO_SUID, NO_DEVICES, NO_PROGRAMS, REMOUNT, BIND, ALL_BELOW, PRIVATE = (
    *(1, 2, 4, 8),
    *(0x20, 0x1000, 0x4000, 0x40000),
)
DROP_FROM_BOUND, CAPABILITIES = 24, 0x20080522
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 1  # of a network interface


def main() -> None:
    """Import, compile once, and fork a process for each message, until the grader has gone."""
    from host_to_device.grading import inside

    control = socket.socket(fileno=os.dup(0))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(nowhere, each)
    os.close(nowhere)
    uid, gid, scratch = map(int, sys.argv[1:])
    ready = inside.ready()
    warm_up()
    if len(os.listdir("/proc/self/task")) > 1:  # a fork would lose its threads, and may wait for them
        sys.exit("a library has started a thread")
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes of `_keep`
    while True:
        _, those, *_ = socket.recv_fds(control, 64, 3)
        if len(those) != 3:
            os._exit(0)
        if os.fork() == 0:
            control.close()
            asked, told, line = those
            _keep(asked, told, line, lambda: shut_in(uid, gid, scratch), ready)
        for each in those:
            os.close(each)


def warm_up() -> None:
    """Launch a kernel of no exercise, interpreted and compiled, and time it: what is loaded for this stays loaded."""
    from host_to_device.starting import machine

    machine.start()
    try:
        _launch()
    finally:
        machine.stop()


def _launch() -> None:
    import numpy as np
    from numba import cuda

    from host_to_device.exercises import answering
    from host_to_device.exercises.definition import Exercise
    from host_to_device.exercises.student_runs import run_kernel
    from host_to_device.measuring import timing
    from host_to_device.standins.numba_cuda.settings import interpret_small_launches

    @cuda.jit
    def plain(x: Any, out: Any) -> None:
        i: Any = cuda.grid(1)  # type: ignore[call-arg]
        if i < out.size:
            out[i] = x[i] + 1.0

    class Plain(Exercise):
        number, points, minutes, needs = "00.0", 0, 0, ("kernel plain(x, out)",)

        def run(self, student: Any, given: dict) -> dict:
            return {"got": run_kernel(student.plain, (np.ones(8), np.zeros(8)), 2, 4)}

    d_x = cuda.to_device(np.ones(8))
    plain[2, 4](d_x, d_x)
    interpret_small_launches(False)
    timing.time(lambda: plain[2, 4](d_x, d_x), repeat=1, calls=1, seconds=0.01)
    interpret_small_launches()
    answering.collect(Plain(), {"plain": plain}, [{}])


def _keep(asked: int, told: int, line: int, close: Any, ready: Any) -> NoReturn:
    """Make the namespaces of a notebook, and say how its first process ended; this process stays outside of them."""
    grader = socket.socket(fileno=line)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        _call("unshare", NEW_MOUNTS | NEW_CGROUP | NEW_UTS | NEW_IPC | NEW_PIDS | NEW_NETWORK)
        child = os.fork()
        if child == 0:
            try:
                _first(asked, told, grader, close, ready)
            finally:
                os._exit(1)
        os.close(asked)
        os.close(told)
        # Not `waitpid`: it would free the number of the process, under which the grader may still end it.
        ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
        grader.send(struct.pack("i", status))
        grader.recv(1)  # until the grader lets go of it
    except BaseException as problem:
        with suppress(OSError):
            grader.send(str(problem).encode()[:200])
    finally:
        os._exit(0)


def _first(asked: int, told: int, grader: socket.socket, close: Any, ready: Any) -> NoReturn:
    """Be the first process of a notebook's tree: shut it in, fork the one that runs it, and wait for what that leaves."""
    from host_to_device.grading import inside

    os.setsid()
    try:
        close()
        grader.send(READY)
    except BaseException as problem:
        grader.send(str(problem).encode()[:200])
        os._exit(1)
    child = os.fork()
    if child == 0:
        grader.close()
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        inside.talk(os.fdopen(asked, "rb"), os.fdopen(told, "wb"), *ready)
        os._exit(0)
    grader.close()
    os.close(asked)
    os.close(told)
    while True:
        ended, status = os.wait()
        if ended == child:  # its children end with this process
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def shut_in(uid: int, gid: int, scratch: int) -> None:
    """Give this process its own folders, network and users, and take all rights over them away.

    It is the first process of a new tree, in new namespaces. The order is bubblewrap's: what was mounted before the last
    namespace of users cannot be changed from within it.

    Raises
    ------
    OSError
        If the system refuses a step.
    """
    safe = NO_SUID | NO_DEVICES
    _mount("none", "/", "", ALL_BELOW | PRIVATE)
    _mount("tmpfs", HOME, "tmpfs", safe, f"size={scratch},mode=0755")
    _mount("tmpfs", "/dev/shm", "tmpfs", safe, f"size={scratch},mode=0755")
    _mount("devpts", "/dev/pts", "devpts", NO_SUID | NO_PROGRAMS, "newinstance,ptmxmode=0666,mode=620")
    _mount("proc", "/proc", "proc", safe | NO_PROGRAMS)
    for each in ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"):
        if os.access(each, os.W_OK):  # where the grader is the administrator
            _mount(each, each, "", BIND)
            _mount("none", each, "", BIND | REMOUNT | READ_ONLY | safe | NO_PROGRAMS)
    os.chdir(HOME)
    _bring_up_loopback()
    _call("unshare", NEW_USER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} 0 1")
    Path("/proc/self/gid_map").write_text(f"{gid} 0 1")
    for right in range(int(Path("/proc/sys/kernel/cap_last_cap").read_text()) + 1):
        _call("prctl", DROP_FROM_BOUND, right, 0, 0, 0)
    _call("capset", (ctypes.c_uint32 * 2)(CAPABILITIES, 0), (ctypes.c_uint32 * 6)())


def _bring_up_loopback() -> None:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as some:
        flags = struct.unpack("16xh14x", fcntl.ioctl(some, GET_FLAGS, struct.pack("16s16x", b"lo")))[0]
        fcntl.ioctl(some, SET_FLAGS, struct.pack("16sh14x", b"lo", flags | UP))


def _mount(what: str, where: str, kind: str, flags: int, options: str = "") -> None:
    words = (each.encode() or None for each in (what, where, kind))
    _call("mount", *words, ctypes.c_ulong(flags), options.encode() or None)


def _call(name: str, *arguments: Any) -> None:
    """Call a function of the C library.

    Raises
    ------
    OSError
        If it returns no 0.
    """
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


if __name__ == "__main__":
    main()
