"""The ground of the array module: what an array is, and how functions written with NumPy work on its memory.

The elements of an array are a NumPy array (`_array`) in device memory. A function takes this NumPy array, lets NumPy
compute, and wraps the result. A result outside device memory is copied there first.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from host_to_device.standins import events
from host_to_device.standins.cuda_cpp import arena
from host_to_device.standins.cupy.cuda.memory import UnownedMemory, memory_of, new_array
from host_to_device.standins.numba_cuda.layouts import extent
from host_to_device.standins.numba_cuda.memory import MARK

# Types of numbers that CuPy's functions accept besides arrays.
DTYPE_CHARACTERS = "?bhilqBHILQefdFD"
NUMBERS = frozenset(
    (int, float, bool, complex, *(np.dtype(character).type for character in DTYPE_CHARACTERS))
)


class Base:
    """An array's memory: `_array` is the NumPy array, `base` the array that this one is a view of, or None."""

    __slots__ = ("__weakref__", "_array", "base")
    _array: np.ndarray
    base: Any
    # What the package sets when it is loaded: the class of arrays that learners see, and `cupy` itself.
    _final: type[Base]
    _package: ModuleType

    if TYPE_CHECKING:  # its only subclass, `ndarray`, has the attributes of an array

        def __getattr__(self, name: str) -> Any: ...


def unsupported(value: Any) -> TypeError:
    """Return CuPy's error for an argument that is neither an array nor a number."""
    return TypeError(f"Unsupported type {type(value)}")


def not_an_array(name: str, value: Any) -> TypeError:
    """Return CuPy's error for an argument of a compiled function that is no array of the device."""
    kind = type(value)
    where = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return TypeError(
        f"Argument '{name}' has incorrect type (expected cupy._core.core._ndarray_base, got {where}{kind.__name__})"
    )


def order_of(order: Any, letters: str = "CFAK") -> str:
    """Return an order as one of these letters, as CuPy reads it (internal.pyx, `_normalize_order`).

    Raises
    ------
    TypeError
        If it has no length, such as None.
    ValueError
        If it is another text.
    """
    letter = str(order[0]).upper() if len(order) else "C"
    if letter == "K" and "K" not in letters:
        raise ValueError("order 'K' is not permitted")
    if letter not in letters:
        raise ValueError("order not understood")
    return letter


def check_dtype(dtype: Any) -> np.dtype:
    """Return NumPy's dtype.

    Raises
    ------
    ValueError
        If device memory cannot hold elements of it: text, Python objects, dates, big-endian numbers.
    """
    dtype = np.dtype(dtype)
    if dtype.char in DTYPE_CHARACTERS and dtype.isnative:
        return dtype
    if not dtype.isnative and dtype.char in DTYPE_CHARACTERS:
        raise ValueError(f"Unsupported dtype {dtype} with big-endian byte-order")
    if dtype.names is not None and not dtype.hasobject:
        return dtype
    raise ValueError(f"Unsupported dtype {dtype}")


def check_fits(value: Any, dtype: np.dtype) -> None:
    """Raise an OverflowError for a Python integer that a dtype of integers cannot hold; NumPy says so in most places."""
    if type(value) is int and dtype.kind in "iu":
        np.zeros((), dtype)[()] = value


def check_long(value: Any) -> None:
    """Raise CuPy's OverflowError for a Python integer that no dtype holds: CuPy passes every one to a kernel."""
    if type(value) is int and not -(1 << 63) <= value < 1 << 64:
        raise OverflowError("Python int too large to convert to C long")


def adopt(array: np.ndarray, base: Any = None) -> Any:
    """Return an array over a NumPy array that lies in device memory, or is empty."""
    result = object.__new__(Base._final)
    result._array, result.base = array, base
    return result


def adopt_like(array: np.ndarray, *sources: Any) -> Any:
    """Return an array as `adopt` does, of the subclass of the first source that has one (_kernel.pyx, `ufunc.__call__`)."""
    for source in sources:
        if isinstance(source, Base) and type(source) is not Base._final:
            result = object.__new__(type(source))
            result._array, result.base = array, None
            result.__array_finalize__(source)
            return result
    return adopt(array)


def view_of(array: np.ndarray, source: Any, kind: type[Base] | None = None) -> Any:
    """Return a view of an array's memory, of the array's own class or of another one."""
    result = object.__new__(kind or type(source))
    result._array = array
    result.base = source if source.base is None else source.base
    if type(result) is not Base._final:
        result.__array_finalize__(source)
    return result


def reach(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[int, int]:
    """Return how many bytes of an array lie before its first element, and how many it spans in all."""
    before = sum((1 - size) * stride for size, stride in zip(shape, strides, strict=True) if stride < 0)
    return before, extent(shape, strides, itemsize)


def from_interface(owner: Any) -> Any:
    """Return an array that shares the memory of another stand-in's array.

    Raises
    ------
    TypeError
        If the memory is not a stand-in's: its address is valid only on a GPU.
    ValueError
        If the array is masked.
    """
    description = owner.__cuda_array_interface__
    if description.get("mask") is not None:
        raise ValueError("CuPy currently does not support masked arrays.")
    # Another library's object may describe the stand-in's own memory, without its mark.
    shape = tuple(description["shape"])
    ours = description.get("stand-in") == MARK or arena.owns_address(description["data"][0] or 0)
    if 0 not in shape and not ours:
        raise TypeError("this array is not in the stand-in's memory: copy it to the host, then cp.asarray it")
    dtype = np.dtype(description["typestr"])
    strides = description.get("strides")
    if description.get("stream") is not None:  # core.pyx, `_convert_object_with_cuda_array_interface`
        events.waited("another library's stream")
    if 0 in shape:
        return adopt(np.empty(shape, dtype))
    if strides is None:
        before, nbytes = 0, dtype.itemsize * int(np.prod(shape, dtype=object))
    else:
        before, nbytes = reach(shape, tuple(strides), dtype.itemsize)
    memory = UnownedMemory(description["data"][0] - before, nbytes, owner, 0)
    return adopt(memory.view(shape, dtype, strides, before))


def operand(value: Any) -> Any:
    """Return an argument, an array or a number, in the form that NumPy takes.

    Raises
    ------
    TypeError
        If CuPy would refuse it.
    """
    if isinstance(value, Base):
        return value._array
    if type(value) in NUMBERS or isinstance(value, np.generic):
        check_long(value)
        return value
    if not isinstance(value, np.ndarray) and hasattr(value, "__cuda_array_interface__"):
        return from_interface(value)._array
    if hasattr(value, "__cupy_get_ndarray__"):
        return value.__cupy_get_ndarray__()._array
    raise unsupported(value)


# Functions whose results lie in memory as their argument does; those of the others are in C order.
KEEP_ORDER = ("nan_to_num", "pad", "roll")


def upload(array: np.ndarray, name: str = "array function") -> np.ndarray:
    """Copy what NumPy has computed to new device memory; this counts as one operation, as computing it on a GPU does.

    Parameters
    ----------
    array
        NumPy array or number.
    name
        Name under which the operation counts.
    """
    array = np.asanyarray(array)
    keeps = name in KEEP_ORDER and array.flags.fnc
    target = new_array(array.shape, check_dtype(array.dtype), "F" if keeps else "C")
    target[...] = array
    if events.listening and array.size:
        events.operated(name)
    return target


def wrap(result: Any, taken: dict[int, Any] | None = None, name: str = "array function") -> Any:
    """Return NumPy's result as an array on the device; tuples and lists item by item.

    Parameters
    ----------
    result
        Array, number, or a tuple or list of them; anything else is returned unchanged.
    taken
        Arrays that went into the function, by the `id` of their memory. The result may be one of them, or a view.
    name
        Name of the operation, if the result is new.
    """
    if isinstance(result, np.ndarray):
        if taken and id(result) in taken:
            return taken[id(result)]
        if result.size == 0:
            return adopt(result)
        if memory_of(result) is not None:
            owner = next(
                (array for array in (taken or {}).values() if np.may_share_memory(array._array, result)), None
            )
            return adopt(result) if owner is None else view_of(result, owner)
        return adopt(upload(result, name))
    if isinstance(result, np.generic):
        return adopt(upload(result, name))
    if isinstance(result, tuple):
        return tuple(wrap(item, taken, name) for item in result)
    if isinstance(result, list):
        return [wrap(item, taken, name) for item in result]
    return result


def unwrap(value: Any, taken: dict[int, Any]) -> Any:
    """Replace the stand-in's arrays in an argument by the NumPy arrays under them, and note them in `taken`.

    Raises
    ------
    TypeError
        If the argument is or contains a NumPy array: the learner has to copy it to the device first.
    """
    if isinstance(value, Base):
        taken[id(value._array)] = value
        return value._array
    if isinstance(value, np.ndarray):
        raise unsupported(value)
    if type(value) in (tuple, list) and any(
        isinstance(item, Base | np.ndarray | tuple | list) for item in value
    ):
        return type(value)(unwrap(item, taken) for item in value)
    if not isinstance(value, np.generic) and hasattr(value, "__cuda_array_interface__"):
        return unwrap(from_interface(value), taken)
    return value


def check_arguments(function: Callable, args: tuple, kwargs: dict[str, Any]) -> None:
    """Raise a TypeError: Python's if the arguments do not fit the signature, otherwise CuPy's, as none is an array."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    raise unsupported(next(iter(bound.arguments.values()), None))


def on_device(function: Callable, *, of_arrays: bool = True) -> Callable:
    """Let a function's body, written with NumPy, work on arrays of the device.

    Its arguments are unwrapped and its result is wrapped.

    Parameters
    ----------
    function
        The function; its name counts as the operation's.
    of_arrays
        Whether at least one argument has to be an array; without one, the first argument is refused with CuPy's
        "Unsupported type".
    """
    operation = function.__name__.lstrip("_")

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        taken: dict[int, Any] = {}
        arguments = [unwrap(value, taken) for value in args]
        named = {name: unwrap(value, taken) for name, value in kwargs.items()}
        if of_arrays and not taken:
            check_arguments(function, args, kwargs)
        with np.errstate(all="ignore"):
            return wrap(function(*arguments, **named), taken, operation)

    return call


made_on_device = functools.partial(on_device, of_arrays=False)


def shapes_differ(*shapes: tuple[int, ...]) -> ValueError:
    """Return CuPy's error for shapes that cannot be broadcast together."""
    listed = " ".join(str(shape) for shape in shapes)
    return ValueError(f"operands could not be broadcast together with shapes {listed}")


def cast(array: np.ndarray, target: np.ndarray) -> None:
    """Copy elements into an array of any dtype, and convert them as a GPU does.

    A float beyond the range of an integer dtype of 32 or 64 bits becomes the nearest integer of that dtype; for 8 and 16
    bits it becomes one of 32 bits first, whose lowest bits stay. NumPy's result depends on the CPU instead (CuPy,
    "Differences between CuPy and NumPy", and NVIDIA, "PTX ISA", `cvt`).
    """
    with np.errstate(all="ignore"):
        if array.dtype.kind == "c" and target.dtype.kind not in "cb":
            array = array.real
        if array.dtype.kind == "f" and target.dtype.kind in "iu":
            through = target.dtype if target.dtype.itemsize >= 4 else np.dtype(f"{target.dtype.kind}4")
            limits = np.iinfo(through)
            wide = array if array.dtype.itemsize >= 4 else array.astype(np.float32)
            # The first float above the largest integer; a float equal to the largest may not exist.
            above = wide.dtype.type(2.0 ** (limits.bits - (target.dtype.kind == "i")))
            kept = np.where((wide < above) & (wide >= limits.min), wide, 0)
            converted = kept.astype(through)
            converted[wide >= above] = limits.max
            converted[wide < limits.min] = limits.min
            if through.itemsize == 8 or array.dtype.itemsize == 8:
                odd = np.isnan(wide)
                if odd.any():
                    converted[odd] = limits.min if target.dtype.kind == "i" else 1 << (limits.bits - 1)
            np.copyto(target, converted, casting="unsafe")
        else:
            np.copyto(target, array, casting="unsafe")
