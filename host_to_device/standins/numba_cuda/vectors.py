"""CUDA's vector types in kernels: `cuda.float32x4(a, b, c, d)`, with the fields x, y, z and w, and names such as `float4`.

A kernel makes a vector of numbers and of shorter vectors of the same type, and reads its fields; it cannot change them. Here a
vector is a named tuple.
"""

from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from host_to_device.standins.numba_cuda.names import DeviceName

FIELDS = "xyzw"
BASES = (*(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float32", "float64")
# The names of CUDA C, by the base type on this machine.
ALIASES = {
    "char": np.byte,
    "short": np.short,
    "int": np.intc,
    "long": np.int_,
    "longlong": np.longlong,
    "uchar": np.ubyte,
    "ushort": np.ushort,
    "uint": np.uintc,
    "ulong": np.uint,
    "ulonglong": np.ulonglong,
    "float": np.single,
    "double": np.double,
}


class VectorName(DeviceName):
    """The name of a vector type: for use in a kernel."""

    def __init__(self, base: str, count: int) -> None:
        super().__init__(f"{base}x{count}")
        self.base, self.count = base, count
        self.aliases = [
            f"{alias}{count}" for alias, kind in ALIASES.items() if np.dtype(kind) == np.dtype(base)
        ]
        self.num_elements, self.attr_names = count, tuple(FIELDS[:count])
        self.user_facing_object = self
        self.tuple = namedtuple(self.name, tuple(FIELDS[:count]))
        self.tuple.__module__ = __name__

    @property
    def base_type(self) -> Any:
        """Numba's type of its numbers; NumPy's where Numba is not installed."""
        try:
            from numba.core import types
        except ImportError:
            return getattr(np, self.base)
        return getattr(types, self.base)


TYPES = {each.name: each for each in itertools.starmap(VectorName, itertools.product(BASES, (1, 2, 3, 4)))}
NAMES = TYPES | {alias: each for each in TYPES.values() for alias in each.aliases}
vector_types = TYPES  # Numba's name
globals().update({each.tuple.__name__: each.tuple for each in TYPES.values()})  # for pickling


def parts_of(values: tuple) -> Iterator[Any]:
    """Yield the numbers of which a vector is made: numbers, and the fields of vectors."""
    for value in values:
        if isinstance(value, tuple):
            yield from value
        else:
            yield value


def maker(name: str, convert: Callable[[Any], Any]) -> Callable:
    """Return the function that makes a vector of this type in an interpreted kernel; `convert` is its numbers' type."""
    kind = TYPES[name]

    def make(*values: Any) -> Any:
        numbers = [convert(each) for each in parts_of(values)]
        if len(numbers) != kind.count:
            raise TypeError(f"cuda.{name}() takes {kind.count} numbers, {len(numbers)} were given")
        return kind.tuple(*numbers)

    return make
