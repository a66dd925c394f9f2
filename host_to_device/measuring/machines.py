"""Describe this machine for a record: its hardware, its system and the versions of its libraries.

The program reads all of it, and reads nothing that names a person or a place: no host name, no user, no path.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from host_to_device.starting import machine

CPUINFO = Path("/proc/cpuinfo")
CGROUP = Path("/sys/fs/cgroup")

# The names of the versions in a record, and the distributions that they may come from.
DISTRIBUTIONS = {
    "numpy": ("numpy",),
    "numba": ("numba",),
    "torch": ("torch",),
    "cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x", "cupy"),
    "numba-cuda": ("numba-cuda",),
    "host-to-device": ("host-to-device",),
}


def describe() -> dict[str, Any]:
    """Return the part "machine" of a record; with `H2D_MACHINE=stand-in` without the GPUs, which are then not used."""
    found = machine.Machine() if os.environ.get("H2D_MACHINE") == "stand-in" else machine.find()
    cpu, cores = cpu_name(), usable_cores()
    return {
        "name": name_of(cpu, cores, [gpu.name for gpu in found.gpus]),
        "kind": "gpu" if found.gpus else "cpu",
        "cpu": cpu,
        "cores": cores,
        "memory": memory(),
        "os": system(),
        "gpus": [
            {
                "name": gpu.name,
                "memory": gpu.memory,
                "compute_capability": ".".join(map(str, gpu.compute_capability)),
            }
            for gpu in found.gpus
        ],
        "driver": (found.driver or None) if found.gpus else None,
        "cuda": "{}.{}".format(*found.cuda) if found.gpus else None,
    }


def name_of(cpu: str, cores: int, gpus: list[str]) -> str:
    """Return the name of a machine: that of its GPUs, or that of its CPU with the cores that a program may use."""
    if gpus:
        return gpus[0] if len(gpus) == 1 else f"{gpus[0]}, {len(gpus)} GPUs"
    name = re.sub(r" \(family.*\)$", "", cpu)
    name = re.sub(r"\((R|TM|C)\)|\s+@.*$|\s+\d+-Core\b.*$", "", name, flags=re.I)
    name = " ".join(re.sub(r"\b(CPU|Processor)\b", "", name).split()) or "CPU"
    return f"{name}, {cores} core{'s' * (cores != 1)}"


def slug(name: str) -> str:
    """Return a machine's name as the name of a file: `slug("AMD EPYC, 2 cores")` is "amd-epyc-2-cores"."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def hardware() -> tuple[str, int, list[str]]:
    """Return CPU, cores and names of the GPUs, by which records are matched; quick where no GPU was chosen."""
    cpu, cores = cpu_name(), usable_cores()
    if machine.chosen != "gpu":
        return cpu, cores, []
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():  # machine.find() starts a process
        return cpu, cores, [torch.cuda.get_device_name(each) for each in range(torch.cuda.device_count())]
    return cpu, cores, [gpu.name for gpu in machine.find().gpus]


def cpu_name() -> str:
    """Return the CPU's own name, on Linux with family and model, because several CPUs may share a name."""
    if sys.platform == "darwin":
        return _answer("sysctl", "-n", "machdep.cpu.brand_string") or platform.machine()
    if sys.platform == "win32":
        return platform.processor() or platform.machine()
    try:
        first = CPUINFO.read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
    except OSError:
        first = ""
    says = dict(re.findall(r"^([^\t:\n]+?)\s*:\s*(.+)$", first, re.M))
    name = " ".join((says.get("model name") or "").split())
    if not name:
        return f"{platform.machine()} CPU"
    # The name in a virtual machine is often just "AMD EPYC" or "Intel Xeon Processor".
    family, model = says.get("cpu family"), says.get("model")
    return f"{name} (family {family}, model {model})" if family and model else name


def usable_cores() -> int:
    """Return how many cores this process may use: its affinity, or a container's quota if that is smaller."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = (CGROUP / "cpu.max").read_text().split()
        return max(1, min(cores, round(int(quota) / int(period))))
    except (OSError, ValueError):  # the word "max" stands for no limit
        return cores


def memory() -> int:
    """Return the bytes of main memory that this process may use, 0 where they are not known."""
    try:
        there = _physical_memory()
    except (OSError, ValueError, AttributeError):
        return 0
    try:
        return min(there, int((CGROUP / "memory.max").read_text()))
    except (OSError, ValueError):
        return there


def _physical_memory() -> int:
    if sys.platform != "win32":
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    kilobytes = ctypes.c_ulonglong()
    if not ctypes.windll.kernel32.GetPhysicallyInstalledSystemMemory(ctypes.byref(kilobytes)):
        raise OSError("Windows does not report the size of its memory")
    return 1024 * kilobytes.value


def system() -> str:
    """Return the operating system with its version, such as "Debian GNU/Linux 12 (bookworm), Linux 6.1.0, x86_64"."""
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}, {platform.machine()}"
    # Only the number: the release of a self-built kernel may end in a name.
    number = re.match(r"[\d.]*\d", platform.release())
    kernel = f"{platform.system()} {number[0] if number else ''}".strip()
    try:
        distribution = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{kernel}, {platform.machine()}"
    return f"{distribution}, {kernel}, {platform.machine()}"


def versions() -> dict[str, str | None]:
    """Return the versions of Python and of the libraries that affect times; None for those that are not installed."""
    found: dict[str, str | None] = {"python": platform.python_version()}
    for name, distributions in DISTRIBUTIONS.items():
        found[name] = None
        for distribution in distributions:
            try:
                found[name] = metadata.version(distribution)
                break
            except metadata.PackageNotFoundError:
                continue
    return found


def commit_of(root: Path) -> tuple[str | None, bool | None]:
    """Return the commit of the checkout at `root`, and whether only records have changed since; None without git."""
    git = ("git", "--no-optional-locks", "-C", str(root))
    top = _answer(*git, "rev-parse", "--show-toplevel")
    if not top or Path(top).resolve() != root.resolve():
        return None, None
    commit = _answer(*git, "rev-parse", "HEAD")
    changed = _answer(*git, "status", "--porcelain", "--", ".", ":!measurements/*.json")
    if not commit or changed is None:
        return None, None
    return commit, not changed


def _answer(*command: str) -> str | None:
    """Return the output of a command, None where the command is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
