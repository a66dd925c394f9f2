"""Build the driver, once for each state of its sources; it stays in the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from rehearsal.ptx import compiling

HERE = Path(__file__).parent
FLAGS = ["-std=c++17", "-O2", "-Wall", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-soname,libcuda.so.1"]


class BuildError(Exception):
    """What is needed for a build is missing, or the build failed: the message says what to do."""


def cache() -> Path:
    """Return the folder of everything that is built here; `REHEARSAL_CACHE` names another one."""
    chosen = os.environ.get("REHEARSAL_CACHE")
    return Path(chosen) if chosen else user_cache_path("host-to-device-rehearsal", appauthor=False)


def digest(files: Iterable[Path], *words: str) -> str:
    """Return what a build depends on, files and options, in 16 characters."""
    found = hashlib.sha256("\0".join(words).encode())
    for path in sorted(files):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def once(name: str, key: str, make: Callable[[Path], None]) -> Path:
    """Return the folder `name`-`key` of the cache, filled by `make` if it is not there; others wait meanwhile."""
    folder = cache() / f"{name}-{key}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            new = folder.with_name(f"{folder.name}.new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            make(new)
            new.rename(folder)
    return folder


def say(text: str) -> None:
    """Show what takes a while, on stderr."""
    print(f"rehearsal: {text}", file=sys.stderr, flush=True)


def compile_shared(target: Path, sources: Iterable[Path], *options: str) -> None:
    """Compile C++ sources into one shared library.

    Raises
    ------
    BuildError
        If there is no compiler, or it refuses a source.
    """
    compiler = compiling.COMPILER
    if shutil.which(compiler) is None:
        raise BuildError(
            f"the rehearsal needs a C++ compiler, and there is no {compiler}: install it, or set CXX"
        )
    command = [compiler, *options, *map(str, sources), "-o", str(target), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f"{compiler} could not build {target.name}:\n{done.stderr[-3000:]}")


def driver() -> Path:
    """Return the folder of `libcuda.so.1`, built if need be (half a minute)."""
    sources = sorted((HERE / "driver").glob("*.cpp"))
    headers = sorted((HERE / "driver").glob("*.hpp"))

    def make(folder: Path) -> None:
        say("building the driver, once")
        compile_shared(folder / "libcuda.so.1", sources, *FLAGS)
        (folder / "libcuda.so").symlink_to("libcuda.so.1")

    return once("driver", digest([*sources, *headers], compiling.COMPILER, *FLAGS), make)


def kernels() -> Path:
    """Return the folder of compiled kernels, one for each state of the translator; it need not hold any."""
    folder = cache() / f"kernels-{compiling.key()}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
