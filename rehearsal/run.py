"""Run a program in a process whose CUDA driver is the rehearsal's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rehearsal import build
from rehearsal.versions import TODAY, Versions

ROOT = Path(__file__).parent.parent


def environment(
    base: dict[str, str] | None = None, *, cupy: bool = False, versions: Versions = TODAY
) -> dict[str, str]:
    """Return the environment of a child process that finds the rehearsal as its GPU; what it needs is built.

    Parameters
    ----------
    base
        The environment to start from; nothing means this process's own. What it sets stays: `REHEARSAL_MEMORY`
        (bytes, 2 GiB), `REHEARSAL_BRANCHES` (branches after which a launch is ended as hanging),
        `REHEARSAL_DRIVER_VERSION` (13000 is CUDA 13.0), `REHEARSAL_LOG` (a file for the names of all calls).
    cupy
        Whether `import cupy` finds the rehearsal's CuPy, which takes minutes to build the first time. The published
        wheel of CuPy finds no GPU here.
    versions
        The versions that are rehearsed; the child process has to be their `interpreter()`.

    Raises
    ------
    build.BuildError
        If the driver, or CuPy, cannot be built here.
    """
    found = dict(os.environ if base is None else base)
    folders = [str(build.driver()), found.get("LD_LIBRARY_PATH", "")]
    found["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, folders))
    found.setdefault("REHEARSAL_PYTHON", sys.executable)
    found["REHEARSAL_ROOT"] = str(ROOT)
    found["REHEARSAL_KERNELS"] = str(build.kernels())
    if cupy:
        from rehearsal.toolkit import cupy as toolkit

        found = toolkit.environment(found, versions)
    return found


def run(arguments: Sequence[str], *, cupy: bool = False, versions: Versions = TODAY) -> int:
    """Run Python with these arguments in the rehearsal's environment, and return its exit status."""
    command = [str(versions.interpreter()), *arguments]
    return subprocess.run(command, env=environment(cupy=cupy, versions=versions)).returncode
