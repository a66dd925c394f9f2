"""Builds the device from its C++ sources against the headers of the installed PyTorch, once for each PyTorch.

The result is kept in the user's cache, under a name that depends on PyTorch's version and build, the sources and the
compiler. A file gets its name when it is complete. Processes that start together wait for the first to build.
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
from host_to_device.support.caching import Cache, kept
from host_to_device.support.installed import SetUpError

SOURCE = Path(__file__).parent / "source"
# -O1 compiles in half the time of -O2, and the kernels that compute are PyTorch's own.
OPTIONS = ("-std=c++20", "-O1", "-g0", "-w", "-fPIC", "-shared", "-fvisibility=hidden")
# A build has compiler.TIMEOUT. After two of them a process no longer waits for the lock of another.
PATIENCE = 2 * compiler.TIMEOUT
NEEDED = "PyTorch's stand-in device is built on this machine, and that needs g++ or clang++"
HOW = {"linux": "Debian and Ubuntu: sudo apt install g++", "darwin": "xcode-select --install"}


def find_compiler() -> compiler.Compiler:
    """Return g++ or clang++.

    Raises
    ------
    SetUpError
        If there is neither. The compiler in `ziglang` cannot be used: its C++ library is not PyTorch's.
    """
    with contextlib.suppress(CompileError):
        found = compiler.find()
        if found.name != "ziglang":
            return found
    how = HOW.get(sys.platform)
    raise SetUpError(f"{NEEDED} ({how})" if how else f"{NEEDED}, on Linux or macOS")


# Names a folder of devices that may only be read: the grader's sandbox has the grader's own.
GIVEN = "H2D_TORCH_DEVICES"


def folder() -> Path:
    """Return the folder of built devices: `host-to-device/torch` in the user's cache."""
    return folders.cache("torch")


def options(torch) -> list[str]:
    """Return the compiler's options, which depend on this PyTorch's build but not on its folder."""
    return [
        *OPTIONS,
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        f"-DH2D_ACCELERATOR_ERROR={int(hasattr(torch, 'AcceleratorError'))}",
    ]


def key(torch, tool: compiler.Compiler) -> str:
    """Return the key of a built device: a hash of everything that it depends on."""
    digest = hashlib.sha256()
    version = f"{torch.__version__} {torch.version.git_version}"
    for part in (version, sys.platform, os.uname().machine, tool.identity, *options(torch)):
        digest.update(part.encode() + b"\0")
    for file in sorted(SOURCE.iterdir()):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:40]


def built(torch) -> Path:
    """Return the compiled device for this PyTorch; the first call builds it.

    Raises
    ------
    SetUpError
        If there is no compiler, or it fails.
    """
    tool = find_compiler()
    try:
        name = key(torch, tool)
        if GIVEN in os.environ and (found := kept(Path(os.environ[GIVEN]), name)):
            return found[0]
        cache = Cache(folder(), CompileError)
        if found := cache.get(name):
            return found[0]
        with alone(cache.folder):
            found = cache.get(name)  # another process may have built it meanwhile
            return found[0] if found else cache.put(name, ".so", lambda path: build(torch, tool, path))[0]
    except CompileError as problem:
        raise SetUpError(f"PyTorch's stand-in device cannot be built: {problem}") from None


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let one process at a time build in a folder. The lock ends with the process, however the process ends.

    Where the folder cannot be written or the file system has no locks, two processes may build at once, which does
    no harm.
    """
    from filelock import FileLock  # needed only where the device has to be built

    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError, NotImplementedError):
            held.enter_context(FileLock(folder / "lock", timeout=PATIENCE))
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
