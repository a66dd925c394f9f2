"""Small programs for Numba, each with what the real compiler made of it: the stand-in has to do the same.

A program is a function that launches kernels and returns an array, or raises what Numba raises. `results.json` has the
outcomes of the real numba-cuda, whose PTX ran in the rehearsal (`python -m tests.commands.kernels.real_results --record`).
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results.json"
# Floats at and beyond the limits of integer types, for the conversions in both languages.
VALUES = [
    0.0,
    -0.0,
    0.9,
    -0.9,
    1.5,
    -1.0,
    -1.5,
    -5.0,
    127.0,
    128.0,
    -128.0,
    -129.0,
    255.0,
    255.9,
    256.0,
    300.0,
]
VALUES += [-300.0, 32767.0, 32768.0, -32768.0, -32769.0, 65535.0, 65536.0, 70000.0, -70000.0, 2147483520.0]
VALUES += [2147483647.0, 2147483648.0, -2147483648.0, -2147483649.0, 3e9, -3e9, 4294967295.0, 4294967296.0]
VALUES += [1e10, -1e10, 9.2e18, 9.3e18, -9.3e18, 1.8e19, 1.9e19, 1e30, -1e30, math.inf, -math.inf, math.nan]
PROGRAMS: dict[str, Callable[[], np.ndarray]] = {}  # name, with its module → the program


def program(function: Callable) -> Callable:
    """Register a program under its module's and its own name."""
    name = f"{function.__module__.rpartition('.')[2]}: {function.__name__.replace('_', ' ')}"
    assert name not in PROGRAMS, name
    PROGRAMS[name] = function
    return function


def load() -> dict[str, Callable[[], np.ndarray]]:
    """Return all programs, of all modules."""
    from tests.corpora.real_results import arithmetic, conversions, masks, mistakes, signatures  # noqa: F401

    return PROGRAMS


def outcome(function: Callable) -> dict[str, Any]:
    """Run a program; return its array's dtype and values, or the exception that it raised."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            array = np.asarray(function())
    except Exception as problem:
        classes = [kind.__name__ for kind in type(problem).__mro__]
        words = str(problem).partition("\nDuring")[0].strip()  # behind it, Numba names folders and addresses
        return {"raises": classes[0], "words": words[:300]}
    values = array.reshape(-1).tolist()
    return {"dtype": array.dtype.name, "values": " ".join(map(repr, values))}


def stored() -> dict[str, dict[str, Any]]:
    """Return the outcomes of the real compiler."""
    return json.loads(RESULTS.read_text(encoding="utf-8"))["outcomes"]
