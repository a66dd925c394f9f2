"""A program: a few lines that a learner would write, and the outcome that the real library gives.

An outcome is compared with its kind: an array on the device (`device`) is not an array on the host (`host`),
and neither is a NumPy scalar or a Python number. What a library prints or how long it takes is no outcome.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np


@dataclass(frozen=True)
class OnDevice:
    """An array of the module under test, with these values, shape and dtype."""

    values: np.ndarray
    rtol: float = 0.0  # of the largest value expected; 0: exact


@dataclass(frozen=True)
class OnHost:
    """A `numpy.ndarray` with these values, shape and dtype."""

    values: np.ndarray
    rtol: float = 0.0


@dataclass(frozen=True)
class Raises:
    """An exception: the name of its type, and its message, whole or as a regular expression found in it.

    Attributes
    ----------
    type_name
        Name of the type, without its module.
    message
        The whole message, where the library's own code makes it.
    matching
        What has to be found in a message that something else makes: NumPy, the driver, the compiler.
    """

    type_name: str
    message: str | None = None
    matching: str = ""


@dataclass(frozen=True)
class Program:
    """One program of a corpus; `tests.corpora.cupy.corpus.ALL` holds all those for CuPy."""

    name: str
    run: Callable[..., Any]  # called with the module that stands for `cp`; for PyTorch with what it names
    outcome: Any
    reference: str  # page of the library's documentation, or file and function of its source
    kinds: tuple[str, ...]
    numpy: bool = False  # whether NumPy itself, in place of `cp`, gives the same values, shapes and dtypes
    seen_on_gpu: str | None = None  # where and when it last gave this outcome with the real library

    def digest(self) -> str:
        """Return a digest of the program's source, which contains its outcome; it changes with either."""
        text = textwrap.dedent(inspect.getsource(self.run))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def device(values, dtype: str, *, rtol: float = 0.0) -> OnDevice:
    return OnDevice(np.array(values, dtype), rtol)


def host(values, dtype: str, *, rtol: float = 0.0) -> OnHost:
    return OnHost(np.array(values, dtype), rtol)


def documentation(page: str, section: str) -> str:
    return f"CuPy 14.2 documentation, {page}: {section}"


def source(path: str, name: str) -> str:
    return f"CuPy 14.2.0 source, {path}: {name}"


def program(outcome, reference: str, *kinds: str, numpy: bool = False) -> Callable[[Callable], Program]:
    """Make a program of a function of `cp`; its name is the function's, in words."""

    def make(function: Callable) -> Program:
        return Program(function.__name__.replace("_", " "), function, outcome, reference, kinds, numpy)

    return make


def difference(program: Program, cp: ModuleType) -> str | None:
    """Run a program with this module and describe in one line how its outcome differs; None if it does not."""
    return compared(program.outcome, lambda: program.run(cp), cp)


def compared(
    right, run: Callable[[], Any], cp: ModuleType, plain: Callable[[Any], Any] = lambda value: value
) -> str | None:
    """Describe in one line how the result or the error of `run` differs from the right one; None if it does not.

    `plain` is put between: it takes what was given, or the words of an exception, and leaves out what may differ.
    """
    try:
        got = plain(run())
    except Exception as error:
        words = plain(str(error))
        if isinstance(right, Raises):
            return _other_error(type(error).__name__, words, right)
        return f"raises {type(error).__name__}: {_line(words)}"
    if isinstance(right, Raises):
        return f"gives {_line(repr(got))}, and should raise {right.type_name}"
    return unequal(got, right, cp)


def unequal(got, right, cp: ModuleType, *, kinds: bool = True) -> str | None:
    """Describe how a value differs from the right one; None if it does not. `kinds=False` ignores the types."""
    if isinstance(right, OnDevice | OnHost):
        if kinds:
            type_ = cp.ndarray if isinstance(right, OnDevice) else np.ndarray
            if type(got) is not type_:
                return f"a {_name(type(got))}, not a {_name(type_)}"
        return _unequal_arrays(_to_host(got), right.values, right.rtol)
    if not kinds and not isinstance(right, tuple | list | dict):
        got = got.item() if isinstance(got, np.ndarray | np.generic) else got
        return None if got == right else f"{_line(repr(got))}, not {right!r}"
    if type(got) is not type(right):
        return f"{_line(repr(got))}, a {_name(type(got))}, not a {_name(type(right))}"
    if isinstance(right, tuple | list):
        if len(got) != len(right):
            return f"{len(got)} values, not {len(right)}"
        pairs = zip(got, right, strict=True)
        found = (unequal(one, other, cp, kinds=kinds) for one, other in pairs)
        return next((f"value {index}: {words}" for index, words in enumerate(found) if words), None)
    if isinstance(right, dict):
        if got.keys() != right.keys():
            return f"keys {sorted(got)}, not {sorted(right)}"
        return next(
            (f"{key}: {words}" for key in right if (words := unequal(got[key], right[key], cp, kinds=kinds))),
            None,
        )
    return None if got == right else f"{_line(repr(got))}, not {right!r}"


def _to_host(array) -> np.ndarray:
    return array.get() if hasattr(array, "get") else np.asarray(array)


def _unequal_arrays(got: np.ndarray, right: np.ndarray, rtol: float) -> str | None:
    if (got.dtype, got.shape) != (right.dtype, right.shape):
        return f"{got.dtype}{got.shape}, not {right.dtype}{right.shape}"
    close = got == right
    if right.dtype.kind in "fc":
        close |= np.isnan(got) & np.isnan(right)
        if rtol:
            scale = np.abs(right[np.isfinite(right)]).max(initial=0.0)
            with np.errstate(invalid="ignore"):
                close |= np.abs(got - right) <= rtol * scale
    return None if close.all() else f"{_line(repr(got))}, not {_line(repr(right))}"


def _other_error(type_name: str, words: str, right: Raises) -> str | None:
    if type_name != right.type_name:
        return f"raises {type_name}, not {right.type_name}: {_line(words)}"
    # The stand-in may append details to the library's message, such as the limit.
    if right.message is not None and words != right.message and not words.startswith(f"{right.message}: "):
        return f"says {_line(words)!r}, not {right.message!r}"
    if not re.search(right.matching, words):
        return f"says {_line(words)!r}, without {right.matching!r}"
    return None


def _name(type_: type) -> str:
    return f"{type_.__module__}.{type_.__qualname__}"


def _line(words) -> str:
    return " ".join(str(words).split())[:200]
