"""The CUDA C++ that CuPy generates for its element-wise, reduction and jit kernels, made by CuPy itself.

CuPy makes it without a GPU, as long as nothing is allocated: `children.cupy_source` calls its functions that write sources, with
a description of the arguments.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host_to_device.inspecting import tools
from host_to_device.inspecting.cache import kept
from host_to_device.inspecting.errors import CannotShow

# What CuPy puts before a generated source (`cupy/_core/core.pyx`, `_cupy_header_list`).
HEADERS = ("cupy/complex.cuh", "cupy/carray.cuh", "cupy/atomics.cuh", "cupy/math_constants.h")
KINDS = {
    "ElementwiseKernel": "elementwise",
    "ReductionKernel": "reduction",
    "JitRawKernel": "jit",
    "_JitRawKernel": "jit",
}
SMALL = 1 << 31  # elements from which an array's indices need 64 bits


@dataclass(frozen=True)
class Made:
    """A generated source.

    Attributes
    ----------
    text
        The source, as CuPy hands it to the compiler, without the includes before it.
    name
        The kernel's name in it.
    options
        What CuPy tells the compiler besides.
    version
        CuPy's.
    """

    text: str
    name: str
    options: tuple[str, ...]
    version: str

    @property
    def whole(self) -> str:
        """The source with CuPy's headers before it; its lines keep their numbers."""
        return "".join(f"#include <{name}>\n" for name in HEADERS) + f"#line 1\n{self.text}"


def is_generated(kernel: Any) -> bool:
    """Tell whether CuPy writes this kernel's source."""
    return type(kernel).__name__ in KINDS


def name_of(kernel: Any) -> str:
    """Return what the kernel is called."""
    return getattr(kernel, "__name__", None) or getattr(kernel, "name", None) or "kernel"


def folders() -> tuple[str, ...]:
    """Return NVRTC's options for CuPy's headers, where CuPy is installed."""
    place = _package()
    if place is None or not (place / "_core" / "include").is_dir():
        return ()
    include = place / "_core" / "include"
    # CuPy brings the parts of CCCL that its headers need.
    inside = [each for each in sorted((include / "cupy" / "_cccl").glob("*")) if each.is_dir()]
    return tuple(f"-I{each}" for each in (include, *inside))


def _package() -> Path | None:
    """Return the folder of the real CuPy, also while the stand-in answers for it."""
    for finder in sys.meta_path:
        if type(finder).__name__ == "CupyFinder" or not hasattr(finder, "find_spec"):
            continue
        found = finder.find_spec("cupy", None)
        if found is not None and found.submodule_search_locations:
            return Path(next(iter(found.submodule_search_locations)))
    return None


def generate(kernel: Any, args: Sequence[Any] | None) -> Made:
    """Let CuPy write the source of a kernel.

    Parameters
    ----------
    kernel
        An element-wise kernel, a reduction or a `cupyx.jit` kernel, of CuPy or of its stand-in.
    args
        The arguments of a call: their dtypes and dimensions decide what is written.

    Raises
    ------
    MissingTool
        If CuPy is not installed.
    CannotShow
        If there are no arguments, or CuPy refuses them.
    """
    kind, name = KINDS[type(kernel).__name__], name_of(kernel)
    if args is None:
        raise CannotShow(f"{name}: give args=(…) as for a call; CuPy writes a source for each set of dtypes")
    if not isinstance(args, tuple | list):
        raise CannotShow(f"args is {type(args).__name__}: give a tuple of the arguments, args=(x, y)")
    place = _package()
    if place is None:
        raise tools.missing("cupy")
    request = {"kind": kind, "arguments": [_described(each, name) for each in args]}
    request |= {"elementwise": _elementwise, "reduction": _reduction, "jit": _jit}[kind](
        kernel, request["arguments"]
    )
    tool = tools.Tool("CuPy", place / "__init__.py")
    answer = kept(lambda: _written(request, name), "cupy", request, tool.identity)
    return Made(answer["text"], answer["name"], tuple(answer["options"]), answer["version"])


def _written(request: dict, name: str) -> dict:
    with tools.private_folder() as folder:
        answer = tools.call_python("cupy_source.py", request, folder, name="CuPy")
    if "error" in answer:
        first = answer["text"].strip().splitlines()[:1]
        raise CannotShow(
            f"CuPy refuses {name}: {answer['error']}: {first[0] if first else ''}", answer["text"]
        )
    answer["text"] = tidied(answer["text"])
    return answer


def tidied(text: str) -> str:
    """Return a generated source without the indentation of CuPy's templates, and without its blank lines."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    # The learner's own lines stand in the template without its indentation.
    first = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    return "\n".join(line.removeprefix(" " * first) for line in lines) + "\n"


def _described(value: Any, name: str) -> dict:
    """Return what CuPy's generators go by in an argument."""
    import numpy as np

    if hasattr(value, "dtype") and getattr(value, "shape", None) is not None and not np.isscalar(value):
        array = getattr(value, "_array", value)
        flags = getattr(array, "flags", None)
        contiguous = bool(
            flags["C_CONTIGUOUS"] if isinstance(array, np.ndarray) else getattr(flags, "c_contiguous", True)
        )
        about = {"ndim": len(value.shape), "contiguous": contiguous, "small": int(value.size) < SMALL}
        return {"dtype": np.dtype(value.dtype).str, **about, "shape": list(value.shape)}
    if isinstance(value, bool | int | float | complex | np.generic):
        return {
            "dtype": np.asarray(value).dtype.str,
            "ndim": None,
            "contiguous": True,
            "small": True,
            "shape": [],
        }
    raise CannotShow(f"{name} cannot be given a {type(value).__name__}: it takes arrays and numbers")


def _parameters(parameters: Sequence[Any]) -> str:
    """Return a parameter list as it was written, of the stand-in's or CuPy's parsed form."""
    words = []
    for each in parameters:
        kind = each.ctype if each.dtype is None else each.dtype.name
        if kind is not None:  # CuPy's own indexers have none
            words.append(f"{'raw ' if each.raw else ''}{kind} {each.name}")
    return ", ".join(words)


def _looped(kernel: Any, arguments: list[dict]) -> list[dict]:
    parameters = [*kernel.in_params, *kernel.out_params]
    return [
        each
        for each, parameter in zip(arguments, parameters, strict=False)
        if each["ndim"] is not None and not parameter.raw
    ]


def _elementwise(kernel: Any, arguments: list[dict]) -> dict:
    if len(arguments) not in (kernel.nin, kernel.nin + kernel.nout):
        raise CannotShow(f"{name_of(kernel)} takes {kernel.nin} inputs, and args= has {len(arguments)}")
    looped = _looped(kernel, arguments)
    ndim = max((each["ndim"] for each in looped), default=1)
    same = len({tuple(each["shape"]) for each in looped}) <= 1
    # Arrays of one shape without gaps are seen as one-dimensional (`_reduce_dims`).
    if same and all(each["contiguous"] for each in looped) and getattr(kernel, "reduce_dims", True):
        ndim = 1
    for each in looped:
        # One that is broadcast has strides of zero, and gaps.
        each.update(ndim=ndim, contiguous=each["contiguous"] and same)
    kwargs = dict(getattr(kernel, "kwargs", {}) or {})
    return {
        "in_params": _parameters(kernel.in_params),
        "out_params": _parameters(kernel.out_params),
        "operation": kernel.operation,
        "name": kernel.name,
        "preamble": kernel.preamble,
        "loop_prep": kwargs.get("loop_prep", ""),
        "after_loop": kwargs.get("after_loop", ""),
        "ndim": ndim,
        "small": all(each["small"] for each in arguments),
    }


def _reduction(kernel: Any, arguments: list[dict]) -> dict:
    if len(arguments) not in (kernel.nin, kernel.nin + kernel.nout):
        raise CannotShow(f"{name_of(kernel)} takes {kernel.nin} inputs, and args= has {len(arguments)}")
    looped = _looped(kernel, arguments)
    if all(each["contiguous"] for each in looped) and len({tuple(each["shape"]) for each in looped}) <= 1:
        for each in looped:
            each.update(ndim=1)
    texts = ("map_expr", "reduce_expr", "post_map_expr", "name", "reduce_type", "preamble")
    return {
        **{each: getattr(kernel, each) for each in texts},
        "identity": kernel.identity or None,
        "in_params": _parameters(kernel.in_params),
        "out_params": _parameters(kernel.out_params),
        "ndim": max((each["ndim"] for each in looped), default=1),
        "out_ndim": 0,
        "small": True,
    }


def _jit(kernel: Any, arguments: list[dict]) -> dict:
    function = getattr(kernel, "_func", None) or kernel._function
    try:
        lines, _ = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise CannotShow(
            f"the source of {function.__name__}() is not available: write it in a cell or in a file"
        ) from None
    numbers, names = {}, {}
    space = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    for name in {*re.findall(r"[A-Za-z_]\w*", "".join(lines))} & set(space):
        value = space[name]
        module = getattr(value, "__module__", "") or ""
        if isinstance(value, types.ModuleType):
            real = value.__name__.replace("host_to_device.standins.cupy.jit", "cupyx.jit")
            real = re.sub(r"^host_to_device\.standins\.cupy\.cupyx\b", "cupyx", real)
            names[name] = [re.sub(r"^host_to_device\.standins\.(numba_)?cu\w+", "cupy", real), ""]
        elif isinstance(value, bool | int | float):
            numbers[name] = value
        elif module.startswith(
            ("host_to_device.standins.cupy.jit", "host_to_device.standins.numba_cuda.names", "cupyx.jit")
        ):
            names[name] = ["cupyx.jit", name]
    return {
        "source": textwrap.dedent("".join(lines)),
        "name": function.__name__,
        "numbers": numbers,
        "names": names,
    }
