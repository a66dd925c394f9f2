"""CUDA's vector types for compiled kernels: the functions that make them, with the conversions of numba-cuda's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.errors import TypingError
from numba.extending import overload

from host_to_device.standins.numba_cuda.vectors import TYPES, VectorName


def _vector(kind: VectorName) -> Callable:
    """Return what compiled kernels call to make a vector of this type."""
    element = getattr(types, kind.base)

    def stub(*parts):
        raise NotImplementedError

    def choose(*parts):
        numbers = []
        for number, part in enumerate(parts):
            of_vector = isinstance(part, types.BaseNamedTuple) and part.instance_class in _CLASSES
            if of_vector:
                numbers += [f"parts[{number}].{field}" for field in part.instance_class._fields]
            elif isinstance(part, types.Number | types.Boolean):
                numbers.append(f"parts[{number}]")
            else:
                raise TypingError(
                    f"cuda.{kind.name}() takes numbers and vectors, but got {types.unliteral(part)}"
                )
        if len(numbers) != kind.count:
            raise TypingError(f"cuda.{kind.name}() takes {kind.count} numbers, {len(numbers)} were given")
        space: dict[str, Any] = {"kind": kind.tuple, "element": element}
        made = ", ".join(f"element({each})" for each in numbers)
        exec(f"def make(*parts):\n    return kind({made})\n", space)
        return space["make"]

    overload(stub)(choose)
    return stub


_CLASSES = {each.tuple for each in TYPES.values()}
globals().update({f"vector_{name}": _vector(kind) for name, kind in TYPES.items()})
