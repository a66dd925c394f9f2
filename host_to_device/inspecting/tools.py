"""Finds the compilers and disassemblers and runs them: without a shell, in a private folder, with a time limit.

They come from packages on PyPI (`requirements-inspect.txt`) or from an installed CUDA toolkit. None needs a GPU.
"""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host_to_device.inspecting.errors import CannotShow, MissingTool
from host_to_device.support import child_processes

SECONDS = 60  # time limit of one run of a compiler
HERE = Path(__file__).parent / "children"
EXECUTABLE = ".exe" if os.name == "nt" else ""

# The tools by their names in messages.
PURPOSES = {
    "nvrtc": "NVRTC, which compiles CUDA C++",
    "ptxas": "ptxas, which turns PTX into machine code",
    "nvdisasm": "nvdisasm, which writes machine code as SASS",
    "numba-cuda": "numba-cuda, which compiles Numba kernels for a GPU",
    "numba-cuda-mlir": "numba-cuda-mlir, which compiles kernels of numba_cuda_mlir for a GPU",
    "ziglang": "ziglang, whose clang compiles for AMD GPUs",
    "cupy": "CuPy, which generates the CUDA C++",
    "torch": "PyTorch, whose hipify converts CUDA to HIP",
}
SUCCESSOR = "numba-cuda-mlir"  # it is in no requirement file: it brings a newer CUDA toolkit than the others


@dataclass(frozen=True)
class Tool:
    """A program or a library.

    Attributes
    ----------
    name
        Its name in messages.
    path
        Its file.
    """

    name: str
    path: Path

    @functools.cached_property
    def identity(self) -> str:
        """A text that changes when the tool changes."""
        about = self.path.stat()
        return f"{self.path} {about.st_size} {about.st_mtime_ns}"


def install_command() -> str:
    """Return the one command that installs everything that `h2d.show` can use."""
    if (HERE.parents[2] / "requirements-inspect.txt").is_file():
        return "python -m pip install -r requirements-inspect.txt"
    return 'python -m pip install "host-to-device[inspect]"'


def missing(name: str) -> MissingTool:
    """Return the error that says that a tool is not installed, and how to install it."""
    command = 'python -m pip install "numba-cuda-mlir[cu13]"' if name == SUCCESSOR else install_command()
    return MissingTool(f"{PURPOSES[name]}, is not installed here:  {command}")


def _packages(name: str) -> list[Path]:
    """Return the folders of a package, without importing it."""
    try:
        # Files only, for the package that has a stand-in's module in its place.
        find = (
            importlib.machinery.PathFinder.find_spec
            if name == "numba_cuda_mlir"
            else importlib.util.find_spec
        )
        found = find(name)
    except (ImportError, ValueError):
        return []
    return [Path(folder) for folder in (found.submodule_search_locations or ())] if found else []


def _toolkits() -> Iterator[Path]:
    """Yield the folders of CUDA toolkits: of packages, of environment variables, the usual one."""
    for folder in _packages("nvidia"):
        for kind in ("cu1?", "cuda_nvrtc", "cuda_nvcc", "cuda_nvdisasm", "cuda_runtime"):
            yield from sorted(folder.glob(kind), reverse=True)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable])
    yield Path("/usr/local/cuda")


@functools.cache
def program(name: str) -> Tool:
    """Return a program of the CUDA toolkit: 'ptxas' or 'nvdisasm'.

    Raises
    ------
    MissingTool
        If it is not installed.
    """
    places = [folder / "bin" for folder in _toolkits()]
    places += [folder / "backends" / "nvidia" / "bin" for folder in _packages("triton")]
    for place in places:
        path = place / (name + EXECUTABLE)
        if path.is_file() and os.access(path, os.X_OK):
            return Tool(name, path)
    if found := shutil.which(name):
        return Tool(name, Path(found))
    raise missing(name)


@functools.cache
def nvrtc() -> Tool:
    """Return the library of NVRTC.

    Raises
    ------
    MissingTool
        If it is not installed.
    """
    for folder in _toolkits():
        for pattern in ("lib/libnvrtc.so.*", "lib64/libnvrtc.so.*", "bin/**/nvrtc64_*.dll"):
            # libnvrtc.alt.so is a second build of the library; CuPy does not load it.
            found = [path for path in sorted(folder.glob(pattern)) if ".alt" not in path.name]
            if found:
                return Tool("nvrtc", found[0])
    raise missing("nvrtc")


@functools.cache
def headers() -> tuple[Path, ...]:
    """Return the folders of CUDA's headers (`mma.h`, `cuda_fp16.h`) on this machine."""
    found = [folder / "include" for folder in _toolkits() if (folder / "include").is_dir()]
    return tuple(
        dict.fromkeys(each for folder in found for each in (folder, folder / "cccl") if each.is_dir())
    )


@functools.cache
def zig() -> Tool:
    """Return the program of the package `ziglang`; `zig clang` is LLVM's clang with the back ends for GPUs.

    Raises
    ------
    MissingTool
        If it is not installed.
    """
    for folder in _packages("ziglang"):
        path = folder / f"zig{EXECUTABLE}"
        if path.is_file():
            return Tool("ziglang", path)
    raise missing("ziglang")


@functools.cache
def numba_cuda(name: str = "numba-cuda") -> Tool:
    """Return the package `numba-cuda`, or its successor `numba-cuda-mlir`.

    Raises
    ------
    MissingTool
        If it is not installed.
    """
    for folder in _packages(name.replace("-", "_")):
        if (folder / "_version.py").is_file():
            return Tool(name, folder / "_version.py")
        return Tool(name, folder / "__init__.py")
    raise missing(name)


@contextmanager
def private_folder() -> Iterator[Path]:
    """Yield a folder that no other user can read, and remove it afterwards."""
    try:
        made = tempfile.TemporaryDirectory(prefix="host-to-device-")
    except OSError as problem:
        raise CannotShow(f"no temporary folder for a compiler's files: {problem.strerror}") from None
    with made as folder:
        yield Path(folder)


def _environment(folder: Path, extra: Mapping[str, str] | None) -> dict[str, str]:
    """Return a compiler's environment: this process's, without variables that change what the compiler does."""
    dropped = {
        "NUMBA_ENABLE_CUDASIM",
        "NVCC_APPEND_FLAGS",
        "NVCC_PREPEND_FLAGS",
        "CPATH",
        "CPLUS_INCLUDE_PATH",
    }
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "LC_ALL": "C", "TMPDIR": str(folder), **(extra or {})}


def call(
    command: Iterable[object],
    folder: Path,
    *,
    name: str,
    text: str = "",
    seconds: float | None = None,
    extra: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a tool in a private folder and return what it printed.

    Parameters
    ----------
    command
        The program and its arguments; no shell reads them.
    folder
        The folder that it runs in and that holds its temporary files.
    name
        Its name in messages.
    text
        Its input.
    seconds
        Its time limit; `SECONDS` if None.
    extra
        Further variables of its environment.

    Raises
    ------
    CannotShow
        The tool does not start, exceeds the time limit, or is ended by a signal; the message is one line.
    """
    limit = SECONDS if seconds is None else seconds
    try:
        process = subprocess.Popen(
            [str(each) for each in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            cwd=folder,
            env=_environment(folder, extra),
            start_new_session=os.name == "posix",  # so that its children can be ended with it
        )
    except OSError as problem:
        raise CannotShow(f"{name} does not start: {problem.strerror or problem}") from None
    try:
        out, err = process.communicate(text, timeout=limit)
    except subprocess.TimeoutExpired:
        child_processes.end(process)
        raise CannotShow(
            f"{name} did not finish within {limit:g} s and was stopped: is there a loop that it unrolls?"
        ) from None
    except BaseException:
        child_processes.end(process)
        raise
    if process.returncode < 0:
        raise CannotShow(f"{name} was ended by signal {-process.returncode}: it may have run out of memory")
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def call_python(
    script: str, request: Any, folder: Path, *, name: str, extra: Mapping[str, str] | None = None
) -> Any:
    """Run one of the scripts of `children` in a Python process of its own: JSON in, JSON out.

    Raises
    ------
    CannotShow
        As for `call`, and if the script fails.
    """
    command = [sys.executable, "-P", HERE / script]
    variables = {"PYTHONDONTWRITEBYTECODE": "1", **(extra or {})}
    done = call(command, folder, name=name, text=json.dumps(request), extra=variables)
    try:
        return json.loads(done.stdout.rpartition("\n\x1e")[2])
    except ValueError:
        last = [line for line in done.stderr.strip().splitlines() if line.strip()][-1:]
        raise CannotShow(
            f"{name} failed: {last[0].strip() if last else f'exit status {done.returncode}'}", done.stderr
        ) from None


def version(tool: Tool) -> str:
    """Return the version that a program of the CUDA toolkit prints: '13.0.88'."""
    with private_folder() as folder:
        done = call([tool.path, "--version"], folder, name=tool.name, seconds=10)
    found = re.search(r"\bV(\d+\.\d+\.\d+)", done.stdout) or re.search(
        r"\b(\d+\.\d+(?:\.\d+)?)\b", done.stdout
    )
    return found.group(1) if found else "?"
