"""numba-cuda and numba-cuda-mlir: compile Numba kernels to PTX with Numba's own compilers, in a process of its own.

The kernel is sent as its byte code, with the values of its global names: constants, and the functions that it calls. A
name of the stand-in becomes the name that it stands in for. A kernel of `numba_cuda_mlir` goes to that compiler. File names are replaced, so that the cache finds a kernel of
a notebook again after a restart.
"""

from __future__ import annotations

import base64
import builtins
import dis
import inspect
import marshal
import pickle
import re
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from host_to_device.hardware.targets import Target
from host_to_device.inspecting import tools
from host_to_device.inspecting.cache import kept
from host_to_device.inspecting.errors import CannotShow, at_line

# The options of cuda.jit that change the PTX: of a kernel, and of a function that it calls.
OF_KERNELS, OF_FUNCTIONS = ("fastmath", "opt"), ("fastmath", "inline", "forceinline")


@dataclass
class Sent:
    """A kernel and the functions that it calls, in the form that is sent to the other process."""

    functions: dict[str, dict] = field(default_factory=dict)
    sources: dict[str, tuple[str, int]] = field(default_factory=dict)  # by file name: text, first line
    keys: dict[int, str] = field(default_factory=dict)
    library: str = "numba.cuda"  # or "numba_cuda_mlir.cuda"


def to_ptx(
    kernel: Any, signature: Sequence[Any], architecture: Target
) -> tuple[dict[str, Any], dict[str, tuple[str, int]]]:
    """Compile a Numba kernel to PTX.

    Parameters
    ----------
    kernel
        A kernel of `cuda.jit`, the stand-in's or Numba's own; or a Python function.
    signature
        Numba's types of its arguments.
    architecture
        The GPU to compile for.

    Returns
    -------
    tuple
        A dict of 'ptx' and 'version'; and for each file that the PTX names, its text and the number of its first line.

    Raises
    ------
    MissingTool
        numba-cuda, or numba-cuda-mlir for a kernel of `numba_cuda_mlir`, is not installed.
    CannotShow
        Numba refuses the kernel; the message is its reason in one line, with the learner's line.
    """
    request, sent = request_for(kernel, signature, architecture)
    installed = tools.numba_cuda(compiler_of(kernel))
    said = [str(each) for each in signature]
    described = {**request, "types": said}  # two pickles of the same types can differ
    answer = kept(lambda: _compiled(request, sent), "numba", described, installed.identity, sys.version)
    return answer, sent.sources


def request_for(kernel: Any, signature: Sequence[Any], architecture: Target) -> tuple[dict[str, Any], Sent]:
    """Return what `children.numba_ptx` compiles, and the sources of its functions. Arguments and errors as for `to_ptx`."""
    is_new = compiler_of(kernel) == tools.SUCCESSOR
    sent = Sent(library="numba_cuda_mlir.cuda" if is_new else "numba.cuda")
    _function(kernel, sent)
    options = getattr(kernel, "targetoptions", {}) or {}
    request = {
        "functions": sent.functions,
        "types": [_spelled(each) for each in signature]
        if is_new
        else base64.b64encode(pickle.dumps(tuple(signature), 4)).decode(),
        "library": sent.library,
        "capability": list(architecture.capability),
        "options": {name: options.get(name) for name in OF_KERNELS},
    }
    return request, sent


def compiler_of(kernel: Any) -> str:
    """Return the package that compiles a kernel: "numba-cuda" or "numba-cuda-mlir"."""
    is_new = type(kernel).__module__.removeprefix("host_to_device.standins.").startswith("numba_cuda_mlir")
    return tools.SUCCESSOR if is_new else "numba-cuda"


def _spelled(kind: Any) -> list:
    """Return one of Numba's types in words, for a compiler whose types are other objects."""
    if hasattr(kind, "layout") and hasattr(kind, "ndim"):
        return ["Array", _spelled(kind.dtype), kind.ndim, kind.layout, not kind.mutable]
    if isinstance(getattr(kind, "types", None), tuple):
        return ["Tuple", [_spelled(each) for each in kind.types]]
    if not re.fullmatch(r"\w+", str(kind)):
        raise CannotShow(f"a kernel of numba_cuda_mlir with an argument of type {kind} cannot be shown")
    return ["", str(kind)]


def _compiled(request: dict, sent: Sent) -> dict[str, Any]:
    with tools.private_folder() as folder:
        answer = tools.call_python(
            "numba_ptx.py", request, folder, name="Numba's compiler", extra={"NUMBA_CACHE_DIR": str(folder)}
        )
    if "error" in answer:
        raise _refusal(answer, sent)
    answer["ptx"] = answer["ptx"].replace(f"{folder}/", "")
    return answer


def _function(value: Any, sent: Sent) -> str:
    """Add a function to those that are sent; return its key."""
    function = getattr(value, "py_func", value)
    if id(function) in sent.keys:
        return sent.keys[id(function)]
    key = sent.keys[id(function)] = str(len(sent.functions))
    entry = sent.functions[key] = {}
    file = "kernel.py" if key == "0" else f"function_{key}.py"
    text, first = source_of(function)
    sent.sources[file] = (text, first)
    options = getattr(value, "targetoptions", {}) or {}
    if callable(options.get("inline")):  # numba_cuda_mlir's own default, a function that never inlines
        options = {**options, "inline": False}
    space = {**vars(builtins), **function.__globals__}
    closure = {
        name: cell.cell_contents
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        if not _is_empty(cell)
    }
    entry.update(
        name=function.__name__,
        code=base64.b64encode(marshal.dumps(_renamed(function.__code__, file), 2)).decode(),
        source="\n" * (first - 1) + text,
        globals={
            name: _value(name, space[name], sent, function)
            for name in sorted(set(_globals(function.__code__)))
            if name in space and name not in vars(builtins)
        },
        closure={name: _value(name, each, sent, function) for name, each in closure.items()},
        options={name: options.get(name) for name in OF_FUNCTIONS},
    )
    return key


def _is_empty(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


def _renamed(code: types.CodeType, file: str) -> types.CodeType:
    constants = tuple(
        _renamed(each, file) if isinstance(each, types.CodeType) else each for each in code.co_consts
    )
    return code.replace(co_filename=file, co_consts=constants)


def _globals(code: types.CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _globals(constant)


def source_of(function: Callable) -> tuple[str, int]:
    """Return a function's source, with its decorators, and the number of its first line."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return "", function.__code__.co_firstlineno
    return "".join(lines), max(first, 1)


def _value(name: str, value: Any, sent: Sent, function: Callable) -> list:
    """Return the form in which a value is sent to the other process."""
    is_new = sent.library != "numba.cuda"
    if isinstance(value, types.ModuleType):
        name_there = _real(value.__name__)
        return [
            "module",
            "numba_cuda_mlir.types" if is_new and name_there == "numba.core.types" else name_there,
        ]
    if hasattr(value, "py_func"):
        return ["device", _function(value, sent)]
    module = getattr(value, "__module__", None) or ""
    if type(value).__module__.endswith("standins.numba_cuda.names"):  # cuda.grid, imported by its name
        return ["name", [sent.library, value.name]]
    if is_new and type(value).__module__.startswith("numba.core.types"):
        return ["name", ["numba_cuda_mlir.types", str(value)]]
    if module.startswith("host_to_device.standins."):
        return ["name", [_real(module), value.__name__]]
    if isinstance(value, types.FunctionType) and (module == "__main__" or _is_local(value)):
        return ["device", _function(value, sent)]
    try:
        return ["pickle", base64.b64encode(pickle.dumps(value, 4)).decode()]
    except Exception:
        kind = type(value).__name__
        raise CannotShow(
            f"{function.__name__}() uses {name}, a {kind}, which Numba's compiler does not take: it takes "
            "numbers, tuples, NumPy arrays and functions"
        ) from None


def _is_local(function: types.FunctionType) -> bool:
    """Tell whether a function cannot be found again by its name in its module."""
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is not function


def _real(module: str) -> str:
    """Return the name of the module that a stand-in's module replaces."""
    if module.startswith("host_to_device.standins.numba_cuda_mlir"):
        return module.removeprefix("host_to_device.standins.")
    return re.sub(r"^host_to_device\.standins\.numba_cuda", "numba.cuda", module)


def _refusal(answer: dict, sent: Sent) -> CannotShow:
    """Return Numba's reason as one line, with the learner's line."""
    log, kind = answer["log"], answer["error"]
    if kind == "ImportError":
        return CannotShow(f"numba-cuda does not start: {log.splitlines()[0] if log else kind}", log)
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    said = [
        line
        for line in lines
        if not re.match(
            r"Failed in |File |During: |There are \d+ candidate|- Of which|Overload |<?source|\^|>>>", line
        )
    ]
    reasons = [
        line
        for line in said
        if re.match(
            r"No implementation of|Unknown attribute|NameError|Cannot unify|Invalid use|Untyped global|Unsupported|"
            r"No conversion|Use of|Variable|CUDA|Must|.*must be|.*not supported|cannot",
            line,
        )
    ]
    words = re.sub(r"\s+", " ", (reasons or said or [kind])[0])
    if "Failed to dlopen libcuda" in log:
        return CannotShow(
            'numba-cuda-mlir links with nvJitLink, and finds none. Install it:  python -m pip install "numba-cuda-mlir[cu13]"',
            log,
        )
    if (
        re.search(r"numba\.cuda\.cudadrv.*(nvvm|libdevice)|libNVVM cannot be found|nvvm", log, re.I)
        and not reasons
    ):
        return CannotShow(
            f"Numba compiles with NVVM, and finds none. Install it:  {tools.install_command()}", log
        )
    place, line, text = answer["place"], None, ""
    if place and place[0] in sent.sources:
        source, first = sent.sources[place[0]]
        line = place[1]
        rows = source.splitlines()
        text = rows[line - first].strip() if 0 <= line - first < len(rows) else ""
    elif match := re.search(r"name '(\w+)' is not defined", words):  # Numba gives no line
        line, text = _first_use(match.group(1), sent)
    words = f"Numba: {words}"
    return CannotShow(words if line is None else at_line(line, words, text), log, line)


def _first_use(name: str, sent: Sent) -> tuple[int | None, str]:
    """Return the number and the text of the first line that uses a name."""
    for text, first in sent.sources.values():
        for number, row in enumerate(text.splitlines(), first):
            if re.search(rf"\b{name}\b", row.partition("#")[0]):
                return number, row.strip()
    return None, ""


# What an array becomes, before the length and the stride of each axis: by numba-cuda ("arrayobj") the object that owns the
# array, its parent, the number of elements, the size of an element and the address of the data; by numba-cuda-mlir MLIR's
# descriptor of a memref: the address that was allocated, that of the data, and the distance to the first element.
PARTS = {
    "numba-cuda": ("meminfo", "parent", "nitems", "itemsize", "data"),
    tools.SUCCESSOR: ("allocated", "data", "offset"),
}


def parameter_names(kernel: Any, signature: Sequence[Any]) -> tuple[str, ...]:
    """Return names for the parameters of the PTX; an array becomes five or more of them, `PARTS` and its axes."""
    function, parts = kernel.py_func, PARTS[compiler_of(kernel)]
    found: list[str] = []
    for name, kind in zip(inspect.signature(function).parameters, signature, strict=False):
        dimensions = getattr(kind, "ndim", None)
        if dimensions is None or not hasattr(kind, "layout"):
            if hasattr(kind, "types") or hasattr(kind, "count"):
                return ()  # a tuple becomes several parameters, which are not counted here
            found.append(name)
            continue
        found += [f"{name}.{part}" for part in parts]
        found += [f"{name}.shape[{axis}]" for axis in range(dimensions)]
        found += [f"{name}.strides[{axis}]" for axis in range(dimensions)]
    return tuple(found)
