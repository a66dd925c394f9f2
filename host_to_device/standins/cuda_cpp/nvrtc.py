"""NVRTC, the compiler behind `cupy.RawKernel`, where it is installed: it compiles for a GPU without having one.

The functions here call the library itself (NVIDIA, NVRTC documentation, "Basic Usage"), which the packages
`nvidia-cuda-nvrtc` and `nvidia-cuda-nvrtc-cu12` install.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from host_to_device.standins.cuda_cpp import compiler
from host_to_device.standins.cuda_cpp.errors import CompileError, SourceError
from host_to_device.standins.cuda_cpp.sources import FILE

OWN_HEADERS = ("cupy/complex.cuh", "thrust/complex.h")  # CuPy has them for NVRTC

ARCHITECTURE = "sm_75"  # the oldest that CUDA 13 compiles for

OF_SOURCE = re.compile(rf"^{re.escape(FILE)}\((\d+)\): (?:catastrophic )?error: (.*)$", re.MULTILINE)
# NVRTC reports errors of name expressions in a file `__nv_name_map`, with one `#pragma` for each expression.
OF_NAME = re.compile(r"^__nv_name_map\(\d+\): error: (.*)\n\s*#pragma nv_mangled_name (.*)$", re.MULTILINE)
OF_LINKER = re.compile(r"^ptxas (?:error|fatal)\s*: (.*)$", re.MULTILINE)


class NotInstalled(CompileError):
    """NVRTC is not installed."""


def _packages() -> Iterator[Path]:
    """Yield the folders that hold NVIDIA's packages for Python."""
    found = importlib.util.find_spec("nvidia")
    yield from map(Path, (found.submodule_search_locations or ()) if found else ())


@functools.cache
def _library() -> ctypes.CDLL:
    for folder in _packages():
        for path in sorted(folder.glob("*/**/libnvrtc.so*")) + sorted(folder.glob("*/**/nvrtc64_*.dll")):
            if ".alt" in path.name or "-builtins" in path.name:
                continue
            try:
                # NVRTC looks for its built-in functions by name only, in folders that do not include its own.
                for builtins in path.parent.glob("libnvrtc-builtins.so.*"):
                    ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
                return ctypes.CDLL(str(path))
            except OSError:
                continue
    raise NotInstalled("NVRTC is not installed: `pip install nvidia-cuda-nvrtc`")


@functools.cache
def _headers() -> tuple[str, ...]:
    """Return the option for CUDA's own headers (`cuda_fp16.h`); none where they are not installed."""
    found = (path.parent for folder in _packages() for path in sorted(folder.glob("*/include/cuda_fp16.h")))
    return tuple(f"-I{path}" for path in found)[:1]


@functools.cache
def _own_headers() -> tuple[tuple[str, str], ...]:
    """Return the names and texts of the stand-in's headers that NVRTC takes in place of CuPy's."""
    text = compiler.INCLUDE.joinpath("cupy/complex.cuh").read_text()
    return tuple((name, text) for name in OWN_HEADERS)


def is_installed() -> bool:
    """Return whether NVRTC is installed."""
    try:
        _library()
    except NotInstalled:
        return False
    return True


def compiles_for_gpu(
    source: str,
    arch: str = ARCHITECTURE,
    options: Iterable[str] = (),
    name_expressions: Iterable[str] = (),
) -> str:
    """Compile CUDA C++ for a real GPU with NVRTC and discard the result.

    Parameters
    ----------
    source
        The source, as `compile` takes it.
    arch
        The GPU's architecture.
    options
        Further options of NVRTC.
    name_expressions
        Instances of kernel templates, such as `"add<float>"`.

    Returns
    -------
    str
        NVRTC's output: warnings, or nothing.

    Raises
    ------
    NotInstalled
        If NVRTC is not installed.
    CompileError
        If NVRTC refuses the source. The message is its first error in one line, `log` its whole output.
    """
    library, program = _library(), ctypes.c_void_p()
    given = [f"--gpu-architecture={arch}", *options, *_headers()]
    text = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
    names, texts = (
        (ctypes.c_char_p * len(OWN_HEADERS))(*each)
        for each in zip(*((name.encode(), text.encode()) for name, text in _own_headers()), strict=True)
    )
    status = library.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), FILE.encode(), len(OWN_HEADERS), texts, names
    )
    if status:
        raise CompileError(f"NVRTC does not start: error {status}")
    try:
        for name in name_expressions:
            library.nvrtcAddNameExpression(program, name.encode())
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


def reworded(
    problem: SourceError, source: str, options: Iterable[str], name_expressions: Iterable[str]
) -> SourceError:
    """Return the error of a source in NVRTC's words, which a learner meets on a GPU.

    The error stays as it is where NVRTC is not installed, where it accepts the source (inline PTX), and where it
    only misses a header that is not beside it.

    Parameters
    ----------
    problem
        The error of the C++ compiler.
    source, options, name_expressions
        What it compiled.

    Returns
    -------
    SourceError
        Its message is one line, its log is NVRTC's.
    """
    try:
        compiles_for_gpu(source, options=options, name_expressions=name_expressions)
        return problem
    except CompileError as refused:
        words, log = _first_error(refused.log), refused.log
    lacks_header = re.search("(could not|cannot) open source file", words)
    if not words or (lacks_header and "cannot open source file" not in str(problem)):
        return problem
    return SourceError(words, log)


def _first_error(log: str) -> str:
    """Return the first error of a source from NVRTC's output, in one line; nothing where there is none."""
    in_source, in_name, at_the_end = OF_SOURCE.search(log), OF_NAME.search(log), OF_LINKER.search(log)
    if in_source:
        return f"line {in_source[1]}: {in_source[2].strip().removesuffix(':')}"
    if in_name:
        return f"{in_name[2].strip()}: {in_name[1].strip()}"
    return at_the_end[1].strip() if at_the_end else ""
