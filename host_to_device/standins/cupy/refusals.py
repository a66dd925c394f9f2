"""What CuPy's functions do with a first argument that is no array of the device.

A function written in Python reads an attribute of it first, such as `ndim`; a compiled one checks its type; others copy
it to the device. So the same mistake has another exception in each function, and these tables say which.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from host_to_device.standins.cupy.base import NUMBERS, Base, not_an_array
from host_to_device.standins.cupy.converting import array

# The attribute that each function reads first.
_ATTRIBUTES = {
    "ndim": "bincount flip fliplr flipud inner lexsort rot90 split array_split",
    "shape": "array_equal array_equiv unique",
    "dtype": "digitize empty_like full_like nan_to_num ones_like zeros_like",
    "size": "convolve correlate",
    "ravel": "diagflat in1d isin roll",
    "flatten": "percentile quantile",
}
# Functions that are compiled, or check the type themselves.
_COMPILED = "cumprod cumproduct cumsum median nanmax nanmin nanprod nansum"
_NAMED = "all alltrue any sometrue"
# Functions that copy data of the host to the device: anything, or only numbers, or only NumPy's arrays and numbers.
_COPIED = "average diff tile tril triu"
_NUMBERS_COPIED = "angle diagflat nan_to_num"
_NUMPYS_COPIED = "unique"
# Functions that index whatever they are given, and so leave NumPy's arrays on the host.
_INDEXED = "flip flipud"


def _by_attribute(name: str, value: Any) -> Any:
    getattr(value, name)  # Python's AttributeError
    return value


def _compiled(value: Any) -> Any:
    raise not_an_array("a", value)


def _named(value: Any) -> Any:
    raise TypeError(f"'a' must be a cupy.ndarray object, not {type(value)}.")


def _copied(value: Any) -> Any:
    return array(value, copy=None)


def _if(types: Any, then: Callable, otherwise: Callable = lambda value: value) -> Callable:
    return lambda value: (then if isinstance(value, types) else otherwise)(value)


RULES: dict[str, Callable[[Any], Any]] = {
    **{
        each: functools.partial(_by_attribute, name)
        for name, names in _ATTRIBUTES.items()
        for each in names.split()
    },
    **dict.fromkeys(_COMPILED.split(), _compiled),
    **dict.fromkeys(_NAMED.split(), _named),
    **dict.fromkeys(_COPIED.split(), _copied),
}
for _name in _NUMBERS_COPIED.split():
    RULES[_name] = _if(tuple(NUMBERS), _copied, RULES.get(_name, lambda value: value))
for _name in _NUMPYS_COPIED.split():
    RULES[_name] = _if(np.ndarray | np.generic, _copied, RULES[_name])


def checked(name: str, function: Callable) -> Callable:
    """Return a function that treats a first argument that is no array of the device as CuPy does.

    Parameters
    ----------
    name
        The function's name in CuPy.
    function
        The function; it is returned unchanged if there is no rule for it.
    """
    rule = RULES.get(name)
    if rule is None:
        return function
    stays = name in _INDEXED.split()

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and not isinstance(args[0], Base) and not hasattr(args[0], "__cuda_array_interface__"):
            if stays and isinstance(args[0], np.ndarray | np.generic):
                return getattr(np, name)(*args, **kwargs)
            args = (rule(args[0]), *args[1:])
        return function(*args, **kwargs)

    return call
