"""How a notebook is shut in: bubblewrap, which needs no rights, or nothing at all where the grader has said so.

The process sees Python, the libraries and this package, all read-only, and an empty folder in memory. It has no network,
no other process, no variable of the grader's environment, and limits of memory, file size and processor time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from host_to_device.standins.torch_device import building

PACKAGE = Path(__file__).resolve().parents[1]
COURSE = "/course"  # where the package lies in the sandbox, if it lies in no folder of Python's
DEVICES = "/torch-devices"  # where PyTorch's stand-in devices lie in the sandbox, if the grader has built any
HOME = "/tmp"  # of the sandbox: in memory, and gone with the process
SYSTEM = ("/usr", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/certs")
SERVING = (
    "CAP_SYS_ADMIN",
    "CAP_NET_ADMIN",
    "CAP_SETFCAP",
)  # the last to keep the name of a user in a new namespace
LINKS = ("lib", "lib64", "bin", "sbin")


class NoSandbox(Exception):
    """There is no sandbox on this machine; the message says why, and what to do."""


@dataclass(frozen=True)
class Limits:
    """What a notebook may use."""

    memory: int = 6 * 2**30  # bytes of address space; PyTorch reserves some four without using them
    resident: int = 3 * 2**30  # bytes in memory, of all its processes
    scratch: int = 256 * 2**20  # bytes of its folder
    file: int = 64 * 2**20  # bytes of one file
    cpu: int = 300  # seconds of the processor
    processes: int = 64

    def set(self) -> None:
        """Set the limits of this process; called between fork and exec."""
        import resource

        for what, most in (
            (resource.RLIMIT_AS, self.memory),
            (resource.RLIMIT_FSIZE, self.file),
            (resource.RLIMIT_CPU, self.cpu),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_NOFILE, 256),
        ):
            resource.setrlimit(what, (most, most))


@dataclass(frozen=True)
class Sandbox:
    """A way to start a process: the words before its command, its environment, and whether it is shut in.

    `serving` are the words before the command of a `fork_server`, if there can be one.
    """

    words: tuple[str, ...]
    environment: dict[str, str]
    shut_in: bool = True
    serving: tuple[str, ...] = ()

    def start(self, module: str, limits: Limits, folder: Path) -> subprocess.Popen[bytes]:
        """Start `python -m module` with pipes to its standard input and output.

        Parameters
        ----------
        module
            A module of this library.
        limits
            What the process and its children may use.
        folder
            The folder in which it starts where it is not shut in; a sandbox has its own.
        """
        python = [sys.executable, "-P", "-s", "-m", module]
        return subprocess.Popen(
            [*self.words, *python],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self.environment,
            cwd=folder,
            preexec_fn=limits.set,
            start_new_session=True,
        )


def unsafe() -> Sandbox:
    """Return what shuts nothing in: notebooks then run with the grader's own rights."""
    return Sandbox((), {**os.environ, **_environment([str(PACKAGE.parent)])}, shut_in=False)


def bubblewrap(limits: Limits) -> Sandbox:
    """Return the sandbox of bubblewrap, after a trial.

    Raises
    ------
    NoSandbox
        If bubblewrap is not installed, or the system does not let it work.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise NoSandbox(
            "bubblewrap is not installed: install it (Debian and Ubuntu: sudo apt install bubblewrap), "
            "or grade in a container; --unsafe runs the notebooks with your own rights"
        )
    inside = _inside(Path(sys.prefix), Path(sys.base_prefix))
    words = [
        *(program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--size", str(limits.scratch), "--tmpfs", HOME),
        *("--size", str(limits.scratch), "--tmpfs", "/dev/shm"),
        *_bound(SYSTEM),
        *(word for each in LINKS if Path("/", each).is_symlink() for word in _link(each)),
        *_bound(each for each in map(str, (sys.base_prefix, sys.prefix)) if not each.startswith("/usr/")),
    ]
    if os.getuid() == 0 and Path("/proc/sys").is_dir():
        words += ["--ro-bind", "/proc/sys", "/proc/sys"]
    if not inside:
        words += ["--ro-bind", str(PACKAGE), f"{COURSE}/{PACKAGE.name}"]
    checks = PACKAGE / "exercises" / "sets"
    if checks.is_dir():  # what is right stays outside
        hidden = str(checks) if inside else f"{COURSE}/{checks.relative_to(PACKAGE.parent)}"
        words += ["--tmpfs", hidden, "--remount-ro", hidden]
    environment = _environment([] if inside else [COURSE])
    if (devices := building.folder()).is_dir():  # or each notebook with PyTorch compiles one, for a minute
        words += ["--ro-bind", str(devices), DEVICES]
        environment[building.GIVEN] = DEVICES
    words += ["--remount-ro", "/dev", "--remount-ro", "/"]  # all but HOME and /dev/shm
    for name, value in environment.items():
        words += ["--setenv", name, value]
    words += ["--chdir", HOME]
    # A fork server makes the namespaces of its children: it is the administrator of its sandbox, and of nothing outside.
    rights = (word for each in SERVING for word in ("--cap-add", each))
    serving = (*words, "--uid", "0", "--gid", "0", *rights, "--")
    if hidden_in_home(sys.prefix, sys.base_prefix):
        serving = ()
    made = Sandbox((*words, "--"), {"PATH": os.environ.get("PATH", "/usr/bin")}, serving=serving)
    _try(made)
    return made


def hidden_in_home(*folders: str) -> bool:
    """Return whether the new HOME that a fork server gives each notebook would hide one of these folders."""
    return any(Path(each).is_relative_to(HOME) for each in folders)


def _inside(*folders: Path) -> bool:
    return any(PACKAGE.is_relative_to(each.resolve()) for each in folders)


def _bound(folders: Iterable[str]) -> list[str]:
    return [word for each in folders if Path(each).exists() for word in ("--ro-bind", each, each)]


def _link(name: str) -> tuple[str, str, str]:
    return "--symlink", os.readlink(f"/{name}"), f"/{name}"


def _environment(path: Sequence[str]) -> dict[str, str]:
    """Return the variables of the process: none of the grader's."""
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": HOME,
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        **({"PYTHONPATH": os.pathsep.join(path)} if path else {}),
    }


def _try(sandbox: Sandbox) -> None:
    """Start a process that does nothing."""
    command = [*sandbox.words, "/usr/bin/env", "true"]
    try:
        done = subprocess.run(command, env=sandbox.environment, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise NoSandbox(f"bubblewrap does not start here ({problem}): grade in a container") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"]
        raise NoSandbox(
            f"this system does not let bubblewrap work ({said[-1][:200]}). Ubuntu 24.04 and containers forbid the "
            "namespaces that it needs: allow them (sysctl kernel.apparmor_restrict_unprivileged_userns=0), or grade in "
            "a container or a virtual machine; --unsafe runs the notebooks with your own rights"
        )
