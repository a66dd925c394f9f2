"""Building the device: C++ against the headers of the PyTorch that is installed, once for each.

What is built is kept in the user's cache, under a name that changes with PyTorch's version, its build, the sources
and the compiler. A file gets its name when it is whole; processes that start together wait for the first.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from host_to_device.standins.cuda_cpp import compiler
from host_to_device.standins.cuda_cpp.errors import CompileError
from host_to_device.support import folders
from host_to_device.support.caching import Cache
from host_to_device.support.installed import SetUpError

SOURCE = Path(__file__).parent / "source"
# -O1 compiles in half the time of -O2, and the kernels that do the work are PyTorch's own.
OPTIONS = ("-std=c++20", "-O1", "-g0", "-w", "-fPIC", "-shared", "-fvisibility=hidden")
NEEDED = "PyTorch's stand-in device is built on this machine, and that needs g++ or clang++"
HOW = {"linux": "Debian and Ubuntu: sudo apt install g++", "darwin": "xcode-select --install"}


def find_compiler() -> compiler.Compiler:
    """Return g++ or clang++.

    Raises
    ------
    SetUpError
        If there is none. The compiler in `ziglang` does not do: its C++ library is not the one that PyTorch uses.
    """
    with contextlib.suppress(CompileError):
        found = compiler.find()
        if found.name != "ziglang":
            return found
    how = HOW.get(sys.platform)
    raise SetUpError(f"{NEEDED} ({how})" if how else f"{NEEDED}, on Linux or macOS")


def folder() -> Path:
    """Return where built devices are kept: `host-to-device/torch` in the user's cache."""
    return folders.cache("torch")


def options(torch) -> list[str]:
    """Return the compiler's options that depend on what this PyTorch is, not on where it is."""
    return [
        *OPTIONS,
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        f"-DH2D_ACCELERATOR_ERROR={int(hasattr(torch, 'AcceleratorError'))}",
    ]


def key(torch, tool: compiler.Compiler) -> str:
    """Return what a built device is known by: a hash of all that it depends on."""
    digest = hashlib.sha256()
    version = f"{torch.__version__} {torch.version.git_version}"
    for part in (version, sys.platform, os.uname().machine, tool.identity, *options(torch)):
        digest.update(part.encode() + b"\0")
    for file in sorted(SOURCE.iterdir()):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:40]


def built(torch) -> Path:
    """Return the device for this PyTorch, built where it has not been before.

    Raises
    ------
    SetUpError
        If there is no compiler, or if it fails.
    """
    tool = find_compiler()
    try:
        cache = Cache(folder(), CompileError)
        name = key(torch, tool)
        if found := cache.get(name):
            return found[0]
        with alone(cache.folder):
            found = cache.get(name)  # another process may have been quicker
            return found[0] if found else cache.put(name, ".so", lambda path: build(torch, tool, path))[0]
    except CompileError as problem:
        raise SetUpError(f"PyTorch's stand-in device cannot be built: {problem}") from None


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let one process at a time build in a folder. The lock goes with the process, however it ends."""
    import fcntl

    try:
        file = open(folder / "lock", "a")  # noqa: SIM115
    except OSError:  # a folder that cannot be written: the cache falls back on one of its own
        yield
        return
    with file:
        with contextlib.suppress(OSError):  # a file system without locks: built twice, at worst
            fcntl.flock(file, fcntl.LOCK_EX)
            for part in folder.glob("new-*"):  # left by a build that was killed
                part.unlink()
        yield


def build(torch, tool: compiler.Compiler, path: Path) -> dict:
    """Compile the device into a file, with one line of progress.

    Raises
    ------
    CompileError
        If it does not compile.
    """
    place = Path(torch.__file__).parent
    arguments = [*options(torch), f"-I{place / 'include'}", f"-I{place / 'include/torch/csrc/api/include'}"]
    linking = [f"-L{place / 'lib'}", "-lc10", "-ltorch_cpu"]
    if sys.platform == "darwin":
        linking.append(f"-Wl,-rpath,{place / 'lib'}")
    version = torch.__version__.partition("+")[0]
    print(f"building PyTorch's stand-in device, once for torch {version} … ", end="", flush=True)
    began, words = time.perf_counter(), "failed"
    try:
        done = tool.run([*arguments, str(SOURCE / "device.cpp"), "-o", str(path), *linking])
        words = f"{time.perf_counter() - began:.0f} s" if done.returncode == 0 else words
    finally:
        print(words, flush=True)
    if done.returncode:
        error = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
        raise CompileError(f"{tool.name} fails on torch {torch.__version__}: {error}", done.stderr)
    return {"torch": torch.__version__}
