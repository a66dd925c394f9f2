"""NVRTC, the compiler behind `cupy.RawKernel`, where it is installed: it needs no GPU to compile for one.

Calls the library itself (NVIDIA, NVRTC documentation, "Basic Usage"), which the packages `nvidia-cuda-nvrtc` and
`nvidia-cuda-nvrtc-cu12` bring.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from collections.abc import Iterable
from pathlib import Path

from host_to_device.standins.cuda_cpp.errors import CompileError
from host_to_device.standins.cuda_cpp.sources import FILE


class NotInstalled(CompileError):
    """NVRTC is not there."""


@functools.cache
def _library() -> ctypes.CDLL:
    found = importlib.util.find_spec("nvidia")
    for folder in (found.submodule_search_locations or ()) if found else ():
        for path in sorted(Path(folder).glob("*/**/libnvrtc.so*")) + sorted(
            Path(folder).glob("*/**/nvrtc64_*.dll")
        ):
            if ".alt" in path.name or "-builtins" in path.name:
                continue
            try:
                # It looks for its built-in functions by name only, in folders that do not include its own.
                for builtins in path.parent.glob("libnvrtc-builtins.so.*"):
                    ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
                return ctypes.CDLL(str(path))
            except OSError:
                continue
    raise NotInstalled("NVRTC is not installed: `pip install nvidia-cuda-nvrtc`")


def is_installed() -> bool:
    """Return whether `compiles_for_gpu` can say anything."""
    try:
        _library()
    except NotInstalled:
        return False
    return True


def compiles_for_gpu(source: str, arch: str = "sm_75", options: Iterable[str] = ()) -> str:
    """Compile CUDA C++ for a real GPU with NVRTC, and drop what comes of it.

    Parameters
    ----------
    source
        The source, as `compile` takes it.
    arch
        The GPU's architecture.
    options
        Further options of NVRTC.

    Returns
    -------
    str
        What NVRTC said: warnings, or nothing.

    Raises
    ------
    NotInstalled
        If NVRTC is not installed.
    CompileError
        If it refuses the source: its first error in one line, and in `log` all it said.
    """
    library, program = _library(), ctypes.c_void_p()
    given = [f"--gpu-architecture={arch}", *options]
    text = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
    status = library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), FILE.encode(), 0, None, None)
    if status:
        raise CompileError(f"NVRTC does not start: error {status}")
    try:
        status = library.nvrtcCompileProgram(program, len(given), text)
        size = ctypes.c_size_t()
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value + 1)
        library.nvrtcGetProgramLog(program, buffer)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))
    log = buffer.value.decode("utf-8", "replace").strip()
    if status:
        first = next((line for line in log.splitlines() if "error" in line), log or f"error {status}")
        raise CompileError(first.strip(), log)
    return log
