"""Recognizes what `h2d.show` is given (a Numba or CuPy kernel, C++ as text or file) and compiles it accordingly."""

from __future__ import annotations

import os
import re
import types as python_types
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from host_to_device.hardware import targets
from host_to_device.inspecting import compiling, cupy_code, host_code
from host_to_device.inspecting.compilers import clang, numba_ptx, nvrtc
from host_to_device.inspecting.compiling import Compiled
from host_to_device.inspecting.errors import CannotShow
from host_to_device.inspecting.instructions import Sources
from host_to_device.standins import mangling

HIP = re.compile(r'#\s*include\s*[<"]hip/|\bhipLaunch|__HIP_|__builtin_amdgcn_')
MOST_BYTES = 4 << 20  # the largest source file


@dataclass(frozen=True)
class Given:
    """A kernel before it is compiled.

    Attributes
    ----------
    language
        'numba', 'cuda', 'hip', 'ptx', or 'cupy' for a kernel whose source CuPy generates.
    entry
        The kernel's name; None if it is not known yet.
    text
        The source; empty for Numba's and CuPy's kernels.
    options
        The learner's options for NVRTC.
    kernel
        The object, for Numba's and CuPy's kernels.
    file
        The name of the file that the source is from, or nothing.
    """

    language: str
    entry: str | None
    text: str = ""
    options: tuple[str, ...] = ()
    kernel: Any = None
    file: str = ""


def given(kernel: Any, entry: str | None = None) -> Given:
    """Recognize a kernel.

    Parameters
    ----------
    kernel
        A kernel, its source, or the path of a file.
    entry
        The name of the kernel, for a source with several.

    Raises
    ------
    CannotShow
        It cannot be compiled for a GPU.
    """
    if isinstance(kernel, os.PathLike):
        return _file(Path(kernel), entry)
    if isinstance(kernel, str):
        if "\n" not in kernel and "{" not in kernel:
            return _file(Path(kernel), entry)
        return _text(kernel, entry)
    kernel = getattr(kernel, "kernel", None) if hasattr(type(kernel), "prepare") else kernel
    kernel = getattr(kernel, "dispatcher", kernel)  # vector_add[blocks, threads] of Numba's
    if cupy_code.is_generated(kernel):
        return Given("cupy", entry or cupy_code.name_of(kernel), kernel=kernel)
    if isinstance(getattr(kernel, "code", None), str) and hasattr(kernel, "options"):  # RawKernel, RawModule
        name = getattr(kernel, "name", None)  # a RawModule has none
        found = _text(kernel.code, entry or (name and mangling.expression(name)))
        return replace(found, options=tuple(kernel.options))
    if hasattr(kernel, "py_func"):
        name = kernel.py_func.__name__
        if getattr(kernel, "device", False) or (getattr(kernel, "targetoptions", None) or {}).get("device"):
            raise CannotShow(
                f"{name}() is a device function, compiled as part of its kernels: show a kernel that calls it"
            )
        if not hasattr(kernel, "forall"):
            raise CannotShow(
                f"{name}() is compiled for the CPU: decorate it with @cuda.jit to make a kernel of it"
            )
        return Given("numba", name, kernel=kernel)
    if isinstance(kernel, python_types.FunctionType):
        raise CannotShow(
            f"{kernel.__name__}() is a host function: decorate it with @cuda.jit to make a kernel of it"
        )
    raise CannotShow(
        f"{type(kernel).__name__} cannot be compiled: give a Numba or CuPy kernel, CUDA C++ or HIP as a string, "
        "or the path of a .cu or .hip file"
    )


def _text(text: str, entry: str | None, file: str = "") -> Given:
    if re.match(r"\s*(//[^\n]*\n\s*)*\.version\s", text):
        return Given("ptx", entry, text, file=file)
    if "__global__" not in text:
        raise CannotShow(f"{file or 'the source'} has no kernel: nothing in it is __global__")
    language = "hip" if HIP.search(text) or file.endswith(".hip") else "cuda"
    if entry is not None and re.fullmatch(r"\w+", entry) and (found := _host_function(text, entry)):
        raise CannotShow(f"{entry} is {found}: only a __global__ function is a kernel")
    return Given(language, entry, text, file=file)


def _host_function(text: str, entry: str) -> str | None:
    """Return what kind of function `entry` is if it is no kernel; None if it is one or is not found."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", " ", text, flags=re.S)
    heads = re.findall(rf"(?:^|[;{{}}])([^;{{}}]*?)\b{entry}\s*\([^;{{}}]*\)\s*\{{", code, re.S)
    if not heads or any("__global__" in head for head in heads):
        return None
    return "a device function" if any("__device__" in head for head in heads) else "a host function"


def _file(path: Path, entry: str | None) -> Given:
    try:
        size = path.stat().st_size
        text = path.read_text(encoding="utf-8") if size <= MOST_BYTES else None
    except OSError as problem:
        what = f"{str(path)!r} is neither a kernel's source nor a file that can be read"
        raise CannotShow(f"{what} ({problem.strerror})") from None
    except ValueError:
        raise CannotShow(f"{path.name} is not a text file in UTF-8") from None
    if text is None:
        raise CannotShow(f"{path.name} is larger than {MOST_BYTES >> 20} MiB: give the kernel alone")
    return _text(text, entry, path.name)


def compiled(
    kernel: Any,
    arch: object = None,
    *,
    types: Any = None,
    args: Sequence[Any] | None = None,
    entry: str | None = None,
    upto: str = "sass",
    vendor: str | None = None,
) -> tuple[Compiled, Sources]:
    """Compile anything that `h2d.show` takes.

    Parameters
    ----------
    kernel, arch, types, args, entry
        As for `h2d.show`.
    upto
        As for `compiling.compile`.
    vendor
        'NVIDIA' or 'AMD', if the architecture has to be of this vendor.

    Returns
    -------
    tuple
        The compiled kernel, and the learner's files that its listings name.

    Raises
    ------
    MissingTool
        A compiler that it needs is not installed.
    CannotShow
        It cannot be compiled; the message is one line.
    """
    found = given(kernel, entry)
    if vendor is not None:
        arch = compiling.target(arch, vendor).name
    if found.language in ("numba", "ptx") and arch is not None:
        arch = _nvidia(arch, found).name
    if found.language == "numba":
        return _numba(found, arch, types, args, upto)
    if found.language == "cupy":
        made = cupy_code.generate(found.kernel, args)
        found = Given("cuda", made.name, made.whole, (*made.options, *cupy_code.folders()))
        shown = made.text
    elif types is not None:
        raise CannotShow("types= is for Numba kernels: those in C++ have their types in the source")
    else:
        shown = found.text
    options = found.options
    if found.language == "cuda" and re.search(r"include\s*<cupy/", found.text) and shown is found.text:
        options = (*options, *cupy_code.folders())
    result = _compiled(found, arch, upto, options)
    file = clang.FILE if result.gcn is not None else nvrtc.FILE
    if found.kernel is None and shown is not found.text:
        result = replace(result, tools={"CuPy": made.version, **result.tools})
    result = replace(result, parameters=_parameters(found.text, result.name))
    return result, {} if found.language == "ptx" else {file: (shown, 1)}


def _compiled(found: Given, arch: object, upto: str, options: tuple[str, ...]) -> Compiled:
    """Compile a source; if the compiler refuses it, compile it again without its host code."""
    try:
        return compiling.compile(found.text, found.entry, found.language, arch, upto=upto, options=options)
    except CannotShow as problem:
        text = (
            host_code.without(found.text)
            if problem.line is not None and found.language != "ptx"
            else found.text
        )
        if text == found.text:
            raise
        return compiling.compile(text, found.entry, found.language, arch, upto=upto, options=options)


def _nvidia(arch: object, found: Given) -> targets.Target:
    try:
        return targets.find(arch, "NVIDIA")
    except targets.UnknownTarget as problem:
        if problem.found is None or found.language != "numba":
            raise CannotShow(str(problem)) from None
        raise CannotShow(
            f"Numba compiles for NVIDIA's GPUs only: for AMD's write {found.entry}() in HIP or CUDA C++"
        ) from None


def _parameters(text: str, name: str) -> tuple[str, ...]:
    """Return the names of a C++ kernel's parameters; nothing if its source does not show them plainly."""
    plain = re.escape(name.partition("<")[0].rpartition("::")[2])
    match = re.search(
        rf"__global__[^;{{]*?\b{plain}\s*\(([^{{;]*?)\)\s*\{{", re.sub(r"//[^\n]*", "", text), re.S
    )
    if match is None or not match.group(1).strip():
        return ()
    depth, parts = 0, [""]
    for letter in match.group(1):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    found = [re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", part.partition("=")[0].strip()) for part in parts]
    return tuple(each.group(1) for each in found if each) if all(found) else ()


# ---------------------------------------------------------------- Numba's types


def _numba(
    found: Given, arch: object, types: Any, args: Sequence[Any] | None, upto: str
) -> tuple[Compiled, Sources]:
    kernel = found.kernel
    signature = signature_of(kernel, types, args)
    architecture = compiling.target(arch, "NVIDIA")
    answer, sources = numba_ptx.to_ptx(kernel, signature, architecture)
    options = getattr(kernel, "targetoptions", {}) or {}
    limit = (f"-maxrregcount={options['max_registers']}",) if options.get("max_registers") else ()
    result = compiling.from_ptx(
        answer["ptx"],
        None,
        architecture,
        "numba",
        made_by={numba_ptx.compiler_of(kernel): answer["version"]},
        upto=upto,
        options=limit,
        parameters=numba_ptx.parameter_names(kernel, signature),
        what="kernel",
    )
    return replace(result, name=mangling.readable(result.entry).removeprefix("kernel::")), sources


def signature_of(kernel: Any, types: Any, args: Sequence[Any] | None) -> tuple[Any, ...]:
    """Return Numba's types of a kernel's arguments: `types`, those of `args`, its signature's or its last launch's.

    Raises
    ------
    CannotShow
        There are none, or they do not fit the kernel.
    """
    import inspect

    name, parameters = kernel.py_func.__name__, list(inspect.signature(kernel.py_func).parameters)
    if types is not None and args is not None:
        raise CannotShow("give types= or args=, not both")
    if types is not None:
        signature, source = _read(types), "types= has"
    elif args is not None:
        if not isinstance(args, tuple | list):
            raise CannotShow(f"args is {type(args).__name__}: give a tuple of the arguments, args=(x, y)")
        signature, source = tuple(_type_of(each, name) for each in args), "args= has"
    else:
        known = _known(kernel)
        if not known:
            raise CannotShow(
                f"{name}() has no types yet: give args=(…) as for a launch, or types='float32[::1], int64', "
                "or launch it first"
            )
        signature, source = known[-1], "its signature has"
    if len(signature) != len(parameters):
        raise CannotShow(
            f"{name}({', '.join(parameters)}) takes {len(parameters)} arguments, and {source} {len(signature)}"
        )
    return signature


def _known(kernel: Any) -> list[tuple]:
    """Return the types that a kernel was declared with or launched with, the latest last."""
    own = getattr(kernel, "given_signatures", None)
    if own is None:  # Numba's
        return [tuple(getattr(each, "args", each)) for each in getattr(kernel, "signatures", ())]
    return [*(_read(each) for each in own), *kernel.launchers]


def _read(types: Any) -> tuple[Any, ...]:
    from numba.core import sigutils
    from numba.core.types import Type
    from numba.np import numpy_support

    try:
        if isinstance(types, str):
            text = types.strip()
            # Brackets around the list of types are optional.
            return sigutils.normalize_signature(text if text.endswith(")") and "(" in text else f"({text},)")[
                0
            ]
        if isinstance(types, tuple | list):
            return tuple(
                each
                if isinstance(each, Type)
                else sigutils.normalize_signature(f"({each},)")[0][0]
                if isinstance(each, str)
                else numpy_support.from_dtype(each)
                for each in types
            )
        return sigutils.normalize_signature(types)[0]
    except Exception as problem:
        raise CannotShow(
            f"types={types!r} cannot be read ({problem}): write them as in 'float32[::1], int64'"
        ) from None


def _type_of(value: Any, name: str) -> Any:
    from numba import typeof

    array = getattr(value, "_array", value)  # what the stand-ins' device arrays hold
    if not hasattr(array, "dtype") and hasattr(array, "__cuda_array_interface__"):
        array = value
    try:
        return typeof(array)
    except ValueError:
        pass
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:  # PyTorch's and CuPy's arrays on a GPU
        import numpy as np
        from numba import types
        from numba.np import numpy_support

        dtype = numpy_support.from_dtype(np.dtype(interface["typestr"]))
        return types.Array(dtype, len(interface["shape"]), "A" if interface.get("strides") else "C")
    raise CannotShow(f"{name}() cannot be given a {type(value).__name__}: Numba has no type for it")
