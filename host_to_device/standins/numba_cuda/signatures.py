"""Kernels with a signature of their own: arguments are brought to its types, or refused, as Numba does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import typeof, types
from numba.core import sigutils
from numba.np import numpy_support


def check_void(name: str, signatures: list) -> None:
    """Refuse a kernel's signature with a result.

    Raises
    ------
    TypeError
        With Numba's words.
    """
    for signature in signatures:
        _, result = sigutils.normalize_signature(signature)
        if result not in (None, types.void):
            raise TypeError(
                f"{name}(): CUDA kernel must have void return type, and the signature says {result}"
            )


def convert(name: str, signatures: list, values: tuple) -> tuple:
    """Return the arguments in the types of the first signature that they fit.

    Raises
    ------
    TypeError
        If there is none.
    """
    tried = []
    for signature in signatures:
        wanted, _ = sigutils.normalize_signature(signature)
        if len(wanted) == len(values):
            try:
                return tuple(_as(kind, value) for kind, value in zip(wanted, values, strict=True))
            except TypeError as problem:
                tried.append(str(problem))
        else:
            tried.append(f"it takes {len(wanted)} arguments, {len(values)} were given")
    raise TypeError(f"No matching definition for argument type(s) of {name}(): {'; '.join(tried)}")


def _as(kind: types.Type, value: Any) -> Any:
    if isinstance(kind, types.Array):
        found = typeof(value)
        if not isinstance(found, types.Array) or found.dtype != kind.dtype or found.ndim != kind.ndim:
            raise TypeError(f"{found} is given where the signature says {kind}")
        if kind.layout != "A" and found.layout != kind.layout:
            raise TypeError(f"{found} is given where the signature says {kind}")
        return value
    if isinstance(kind, types.Number | types.Boolean):
        if isinstance(value, np.ndarray | tuple):
            raise TypeError(f"{typeof(value)} is given where the signature says {kind}")
        return numpy_support.as_dtype(kind).type(value)
    return value
