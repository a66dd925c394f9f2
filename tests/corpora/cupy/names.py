"""Public names and signatures of CuPy, as recorded, and how another module differs from them.

A signature is kept as one text without types and without `self`: `(a, dtype=None, *, copy=None)`. CuPy's compiled
functions have no signature that `inspect` could read; theirs stands in the first line of the docstring.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from pathlib import Path
from types import ModuleType

RECORD = Path(__file__).with_name("names.json")

# The modules and classes whose names are recorded. `at` returns the object of a place.
PLACES = (
    "cupy",
    "cupy.cuda",
    "cupy.linalg",
    "cupy.random",
    "cupy.fft",
    "cupyx",
    "cupyx.profiler",
    "cupyx.jit",
    "cupy.ndarray",
    "cupy.ElementwiseKernel",
    "cupy.ReductionKernel",
    "cupy.RawKernel",
    "cupy.RawModule",
    "cupy.ufunc",
    "cupy.cuda.Device",
    "cupy.cuda.Stream",
    "cupy.cuda.Event",
    "cupy.cuda.MemoryPool",
    "cupy.cuda.MemoryPointer",
    "cupy.cuda.PinnedMemoryPool",
)
SPECIAL = "__init__", "__call__"
# Functions whose docstring has no readable signature, and a constructor that programs do not call.
NOT_TOLD = (("cupy", "divmod"), ("cupy", "frexp"), ("cupy", "modf"), ("cupy.ufunc", "__init__"))
ANYTHING = "(*args, **kwargs)"  # of a compiled function: says nothing about what it takes
REFUSING = "(*_, **__)"  # of a name for kernels alone: on the host it refuses whatever it is given


def recorded() -> dict:
    """Return the record: `{"version": …, "places": {place: {name: signature or None}}}`."""
    return json.loads(RECORD.read_text())


def at(place: str):
    """Return the module or class of this name.

    Raises
    ------
    AttributeError, ImportError
        If there is none.
    """
    module, _, name = place.rpartition(".")
    if name[:1].isupper() or place in ("cupy.ndarray", "cupy.ufunc"):
        return getattr(importlib.import_module(module), name)
    return importlib.import_module(place)


def public(thing) -> dict[str, str | None]:
    """Return the public names of a module or class, each with its signature, or None if it is unknown."""
    found = {}
    for name in sorted(dir(thing)):
        special = isinstance(thing, type) and name in SPECIAL
        if name == "annotations" or (name.startswith("_") and not special):
            continue
        found[name] = signature(getattr(thing, name, None), of=thing if name == "__init__" else None)
    return found


def signature(thing, of: type | None = None) -> str | None:
    """Return the signature of a function or method as one text, or None if it is unknown.

    Parameters
    ----------
    thing
        The function.
    of
        The class whose `__init__` it is: a compiled class describes it in its own docstring.
    """
    if isinstance(thing, ModuleType | type) or not callable(thing):
        return None
    described = of.__doc__ if of is not None else thing.__doc__
    first = (described if isinstance(described, str) else "").strip().split("\n")[0]
    written = re.match(r"(?:\w+\.)*\w+(\(.*\))(?: -> .*)?$", first)
    text = _from_text(written[1], hidden_self=of is not None) if written else None
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return text
    own = _join(
        (
            {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
            + parameter.name,
            None if parameter.default is parameter.empty else _default(parameter.default),
            parameter.kind is parameter.KEYWORD_ONLY,
        )
        for parameter in parameters
    )
    return text or own if own == ANYTHING else own


def differences(thing, record: dict[str, str | None]) -> list[str]:
    """Return one line for each name of a module or class that CuPy lacks or that has another signature in CuPy."""
    found = []
    for name, own in public(thing).items():
        if isinstance(getattr(thing, name, None), ModuleType) and name not in record:
            continue  # a module that it imports, or a part of itself
        if name not in record:
            found.append(f"{name}: CuPy has no such name")
        elif getattr(thing, name, None) is object.__init__:
            continue  # made by `__new__`
        elif (
            own is not None
            and own != REFUSING
            and record[name] not in (None, ANYTHING)
            and own != record[name]
        ):
            found.append(f"{name}{own}: CuPy's is {name}{record[name]}")
    return found


def _default(value) -> str:
    return value.__name__ if callable(value) and hasattr(value, "__name__") else repr(value)


def _join(parameters) -> str:
    parts, only = [], False
    for name, default, keyword_only in parameters:
        if name in ("self", "cls"):
            continue
        if keyword_only and not only:
            parts.append("*")
        only = only or keyword_only or name.startswith("*")
        parts.append(name if default is None else f"{name}={default}")
    return f"({', '.join(parts)})"


def _from_text(text: str, *, hidden_self: bool = False) -> str:
    """Turn the text of a compiled function's docstring into that of `_join`: no types, no `/`.

    Where Cython hides the `self` of an `__init__`, it puts the `*` one parameter late.
    """
    parts, depth, part = [], 0, ""
    for character in text.replace("\\", "")[1:-1] + ",":
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += character
    kept = []
    for part in parts:
        head, equals, default = part.partition("=")
        name = head.split(":")[0].split()[-1] if head.split() else ""
        if name not in ("", "/", "self", "cls"):
            default = re.sub(r"^(?:[A-Za-z_]\w*\.)+", "", default.strip())
            kept.append(f"{name}={default}" if equals else name)
    if hidden_self and "*" in kept:
        place = kept.index("*")
        kept[place - 1 : place + 1] = kept[place], kept[place - 1]
    return f"({', '.join(kept)})"
