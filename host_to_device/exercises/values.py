"""Plain values: the values that may leave the student's process, and their form on the way.

Plain values are None, bool, int, float, complex, str, NumPy arrays without objects in them, and lists and dicts of
these. A `Fraction` becomes a float. Any other object becomes a `Strange`, which names it. `packed` turns plain values into a dict of arrays, which
`np.savez` writes and `np.load(…, allow_pickle=False)` reads. `unpacked` undoes that and trusts nothing that it reads.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from host_to_device.counting.numbers import NotKnown

LONGEST = 10_000  # characters of a text, elements of a list
LARGEST = 2**26  # bytes of an array
DEEPEST = 12  # lists in lists: of a result, and of the messages around it
TEXT = "json"  # the name under which the text travels among the arrays


@dataclass(frozen=True)
class Strange:
    """An object that is not a plain value: `kind` names it in a few words ("a device array"), `type` is its class."""

    kind: str
    type: str


def said(value: Any) -> str:
    """Return what an object is, in a few words of the learner's; none of the object's own code runs."""
    cls = type(value)
    module, name = str(cls.__module__), cls.__name__
    family = module.removeprefix("host_to_device.standins.").split(".")[0]
    fixed = {
        type(None): "None",
        bool: "True" if value is True else "False",
        int: "a number",
        float: "a number",
        complex: "a complex number",
        str: "a text",
        list: "a list",
        tuple: "a tuple",
        dict: "a dict",
        set: "a set",
        np.ndarray: "a NumPy array",
        types.GeneratorType: "a generator",
        types.CoroutineType: "a coroutine: the function is async",
        types.FunctionType: "a function",
        types.LambdaType: "a function",
        types.BuiltinFunctionType: "a function",
        types.MethodType: "a method",
        types.ModuleType: "a module",
        range: "a range",
    }
    if cls in fixed:
        return fixed[cls]
    if issubclass(cls, type):
        return f"a class ({_short(type.__dict__['__name__'].__get__(value))})"
    if issubclass(cls, np.generic):
        return f"a number ({name})"
    if issubclass(cls, np.ndarray):
        return f"a NumPy array ({name})"
    if family in ("cupy", "cupyx"):
        return "a CuPy array" if name == "ndarray" else f"an object of CuPy's ({name})"
    if family == "torch":
        return "a PyTorch tensor" if "Tensor" in name or name == "Parameter" else f"a {name} of PyTorch's"
    if module.startswith(("numba.cuda", "numba_cuda_mlir", "host_to_device.standins.numba_cuda")):
        if name in ("CUDADispatcher", "MLIRDispatcher"):
            return "a kernel"
        if name in ("Launch", "_LaunchConfiguration"):
            return "a kernel with its launch configuration"
        return "a device array" if "Array" in name or "NDArray" in name else f"a {name}"
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {_short(name)}"


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def plain(value: Any, depth: int = 0) -> Any:
    """Return a plain copy of a value; it shares no memory with the value, and none of the value's own code runs."""
    cls = type(value)
    if value is None or cls in (bool, int, float, complex):
        # Python in another process may refuse to read an integer of more digits from JSON.
        return Strange("a huge number", "int") if cls is int and value.bit_length() > 4096 else value
    if cls is NotKnown:
        return math.nan
    if cls is Fraction:
        try:
            return float(value)
        except OverflowError:
            return Strange("a huge number", "Fraction")
    if cls is str:
        return value if len(value) <= LONGEST else f"{value[:LONGEST]}…"
    if issubclass(cls, np.ndarray | np.generic):
        array = np.array(value, subok=False, copy=None)
        if array.dtype.hasobject:
            return Strange("an array of Python objects", cls.__name__)
        if array.nbytes > LARGEST:
            return Strange(f"an array of {array.nbytes:,} bytes", cls.__name__)
        # In C order, and without what NumPy's files do not keep of a dtype.
        return np.array(array, order="C", copy=True)
    if issubclass(cls, tuple):  # a named one, too
        value, cls = tuple(tuple.__iter__(value)), tuple
    if cls in (list, tuple) and depth < DEEPEST and len(value) <= LONGEST:
        return [plain(each, depth + 1) for each in value]
    if issubclass(cls, dict) and depth < DEEPEST and dict.__len__(value) <= LONGEST:  # an ordered dict, too
        pairs = list(dict.items(value))
        if all(type(key) is str for key, _ in pairs):
            return {key: plain(each, depth + 1) for key, each in pairs}
    if cls in (types.GeneratorType, types.CoroutineType):
        value.close()  # otherwise Python warns, later, that it was never awaited
    if cls is Strange:
        return value
    return Strange(said(value), _short(str(cls.__name__)))


def packed(value: Any) -> dict[str, np.ndarray]:
    """Return plain values as arrays by name: one array holds JSON as bytes, which names the other arrays."""
    arrays: dict[str, np.ndarray] = {}
    text = json.dumps(_encoded(plain(value), arrays))
    return {TEXT: np.frombuffer(text.encode("utf-8"), np.uint8), **arrays}


def _encoded(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {"$array": name}
    if isinstance(value, Strange):
        return {"$strange": [value.kind, value.type]}
    if isinstance(value, complex):
        return {"$complex": [value.real, value.imag]}
    if isinstance(value, list):
        return [_encoded(each, arrays) for each in value]
    if isinstance(value, dict):
        return {"$dict": [[key, _encoded(each, arrays)] for key, each in value.items()]}
    return value


def unpacked(arrays: Mapping[str, np.ndarray]) -> Any:
    """Return the plain values that `packed` has packed.

    Raises
    ------
    ValueError
        If the arrays hold anything else.
    """
    try:
        return _decoded(json.loads(bytes(arrays[TEXT]).decode("utf-8")), arrays)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        raise ValueError(f"these are not packed values ({type(problem).__name__})") from None


def _decoded(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_decoded(each, arrays) for each in value]
    if not isinstance(value, dict):
        return value
    [(tag, content)] = value.items()
    if tag == "$array":
        array = arrays[content]
        if not isinstance(array, np.ndarray) or array.dtype.hasobject:
            raise TypeError(content)
        return array
    if tag == "$strange":
        kind, name = content
        return Strange(str(kind), str(name))
    if tag == "$complex":
        return complex(*content)
    if tag == "$dict":
        return {str(key): _decoded(each, arrays) for key, each in content}
    raise ValueError(tag)
