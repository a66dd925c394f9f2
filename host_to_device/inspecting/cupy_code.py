"""The CUDA C++ that CuPy generates for its element-wise, reduction and jit kernels, written by CuPy itself.

CuPy writes it without a GPU as long as it allocates nothing: `children.cupy_source` calls CuPy's functions that write
sources with a description of the arguments. What they depend on (dimensions, contiguity) is worked out here, on NumPy
arrays of the same shapes and strides, by the rules of CuPy's `cupy/_core/_kernel.pyx` and `_reduction.pyx`.
"""

from __future__ import annotations

import inspect
import itertools
import re
import sys
import textwrap
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from host_to_device.inspecting import tools
from host_to_device.inspecting.cache import kept
from host_to_device.inspecting.errors import CannotShow

# The headers that CuPy puts before a generated source (`cupy/_core/core.pyx`, `_cupy_header_list`).
HEADERS = ("cupy/complex.cuh", "cupy/carray.cuh", "cupy/atomics.cuh", "cupy/math_constants.h")
KINDS = {
    "ElementwiseKernel": "elementwise",
    "ReductionKernel": "reduction",
    "JitRawKernel": "jit",
    "_JitRawKernel": "jit",
}
SMALL = 1 << 31  # an array with this many elements or more needs indices of 64 bits


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
        Further options that CuPy gives the compiler.
    version
        The version of CuPy.
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
    """Return the kernel's name."""
    return getattr(kernel, "__name__", None) or getattr(kernel, "name", None) or "kernel"


def folders() -> tuple[str, ...]:
    """Return NVRTC's options for CuPy's headers; nothing if CuPy is not installed."""
    place = _package()
    if place is None or not (place / "_core" / "include").is_dir():
        return ()
    include = place / "_core" / "include"
    # CuPy brings the parts of CCCL that its headers need.
    inside = [each for each in sorted((include / "cupy" / "_cccl").glob("*")) if each.is_dir()]
    return tuple(f"-I{each}" for each in (include, *inside))


def _package() -> Path | None:
    """Return the folder of the real CuPy, even while the stand-in replaces it; None if it is not installed."""
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
        The arguments of a call: the source depends on their dtypes, shapes and strides.

    Raises
    ------
    MissingTool
        CuPy is not installed.
    CannotShow
        There are no arguments, or CuPy refuses them.
    """
    kind, name = KINDS[type(kernel).__name__], name_of(kernel)
    if args is None:
        raise CannotShow(f"{name}: give args=(…) as for a call; CuPy writes a source for each set of dtypes")
    if not isinstance(args, tuple | list):
        raise CannotShow(f"args is {type(args).__name__}: give a tuple of the arguments, args=(x, y)")
    place = _package()
    if place is None:
        raise tools.missing("cupy")
    views = [_view(each, name) for each in args]
    shaped = {"elementwise": _elementwise, "reduction": _reduction, "jit": _jit}[kind](kernel, views)
    request = {"kind": kind, **shaped}
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
    # The learner's own lines are not indented like the template.
    first = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    return "\n".join(line.removeprefix(" " * first) for line in lines) + "\n"


# An argument: an array with a dtype, a shape and strides but no data, or a number.
View = np.ndarray | np.generic


def _view(value: Any, name: str) -> View:
    """Return an array with the dtype, shape and strides of an argument, and no memory of its own; or a number."""
    if isinstance(value, bool | int | float | complex | np.generic):
        return np.asarray(value)[()]
    if not hasattr(value, "dtype") or getattr(value, "shape", None) is None:
        raise CannotShow(f"{name} takes arrays and numbers, not a {type(value).__name__}")
    strides = getattr(getattr(value, "_array", value), "strides", None)  # `_array` of a stand-in's array
    if strides is None:
        raise CannotShow(f"{name} cannot be given a {type(value).__name__}: it does not say its strides")
    return np.lib.stride_tricks.as_strided(np.empty((), value.dtype), value.shape, strides, writeable=False)


def _described(view: View) -> dict:
    """Return the properties of an argument that the source depends on."""
    about: dict[str, Any] = {"dtype": view.dtype.str, "ndim": None, "contiguous": True, "small": True}
    if isinstance(view, np.ndarray):
        about |= {"ndim": view.ndim, "contiguous": view.flags.c_contiguous, "small": view.size < SMALL}
    return about


def _parameters(parameters: Sequence[Any]) -> str:
    """Return the text of a parameter list from its parsed form, the stand-in's or CuPy's."""
    words = []
    for each in parameters:
        # CuPy 14.0 has a scalar type here, such as numpy.float32; later ones have a dtype.
        kind = each.ctype if each.dtype is None else np.dtype(each.dtype).name
        if kind is not None:  # CuPy's own indexers have none
            words.append(f"{'raw ' if each.raw else ''}{kind} {each.name}")
    return ", ".join(words)


def _broadcast(kernel: Any, views: list[View]) -> tuple[int, ...]:
    """Broadcast the inputs that the loop goes over, in place; return the shape of the loop.

    Raises
    ------
    CannotShow
        If the number of arguments is wrong, or their shapes do not fit together.
    """
    name = name_of(kernel)
    if len(views) not in (kernel.nin, kernel.nin + kernel.nout):
        raise CannotShow(f"{name} takes {kernel.nin} inputs, and args= has {len(views)}")
    inputs = _looped(kernel.in_params, views[: kernel.nin])
    shapes = [views[place].shape for place in inputs or range(kernel.nin, len(views))]
    try:
        shape = np.broadcast_shapes(*shapes) if shapes else (1,)
    except ValueError:
        raise CannotShow(
            f"{name}: the shapes {', '.join(map(str, shapes))} cannot be broadcast together"
        ) from None
    for place in inputs:
        views[place] = np.broadcast_to(views[place], shape)
    return shape


def _looped(parameters: Sequence[Any], views: Sequence[View]) -> list[int]:
    """Return the places of the arrays that the loop goes over: those of parameters that are not raw."""
    return [
        place
        for place, (view, parameter) in enumerate(zip(views, parameters, strict=False))
        if isinstance(view, np.ndarray) and not parameter.raw
    ]


def _dimensions(views: Sequence[Any], shape: tuple[int, ...], arguments: int) -> int:
    """Return the number of dimensions of CuPy's loop, after CuPy has merged neighbouring dimensions.

    The rules are those of `_reduce_dims` and `_reduced_view_core`: CuPy merges two neighbouring dimensions where no array
    has a gap between them. It leaves two dimensions of several arguments as they are, unless every array is contiguous.

    Parameters
    ----------
    views
        The arrays that the loop goes over, broadcast.
    shape
        The shape of the loop.
    arguments
        The number of all arguments, raw arrays and numbers included.
    """
    strided = [view for view in views if not view.flags.c_contiguous]
    if len(shape) < 2 or not views:
        return len(shape)
    if not strided:
        return 1
    if len(shape) == 2 and arguments > 1:
        return 2
    long = [axis for axis, size in enumerate(shape) if size != 1]
    gaps = [
        any(view.strides[after] * shape[after] != view.strides[axis] for view in strided)
        for axis, after in itertools.pairwise(long)
    ]
    return 1 + sum(gaps)


def _elementwise(kernel: Any, views: list[View]) -> dict:
    shape = _broadcast(kernel, views)
    places = _looped([*kernel.in_params, *kernel.out_params], views)
    for place in places:
        if views[place].shape != shape:
            raise CannotShow(
                f"{name_of(kernel)}: an output has the shape {views[place].shape}, and the loop {shape}"
            )
    ndim = len(shape)
    if getattr(kernel, "reduce_dims", True):
        ndim = _dimensions([views[place] for place in places], shape, kernel.nin + kernel.nout)
    arguments = [_described(view) for view in views]
    for place in places:
        arguments[place]["ndim"] = ndim
    kwargs = dict(getattr(kernel, "kwargs", {}) or {})
    return {
        "arguments": arguments,
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


def _reduction(kernel: Any, views: list[View]) -> dict:
    shape = _broadcast(kernel, views)
    if kernel.nin == 1 and isinstance(views[0], np.ndarray) and not views[0].flags.c_contiguous:
        # CuPy sorts the axes of a lone input, so that those of a Fortran-ordered one can be merged.
        order = sorted(range(len(shape)), key=lambda axis: -abs(views[0].strides[axis]))
        views[0] = views[0].transpose(order)
        shape = views[0].shape
    places = _looped(kernel.in_params, views[: kernel.nin])
    ndim = len(shape)
    if getattr(kernel, "reduce_dims", True):
        ndim = _dimensions([views[place] for place in places], shape, kernel.nin)
    arguments = [_described(view) for view in views]
    for place in places:
        arguments[place]["ndim"] = ndim
    texts = ("map_expr", "reduce_expr", "post_map_expr", "name", "reduce_type", "preamble")
    return {
        **{each: getattr(kernel, each) for each in texts},
        "arguments": arguments,
        "identity": kernel.identity or None,
        "in_params": _parameters(kernel.in_params),
        "out_params": _parameters(kernel.out_params),
        "ndim": ndim,
        "out_ndim": 0,
        "small": True,
    }


def _jit(kernel: Any, views: list[View]) -> dict:
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
        "arguments": [_described(view) for view in views],
        "source": textwrap.dedent("".join(lines)),
        "name": function.__name__,
        "numbers": numbers,
        "names": names,
    }
