"""Bring the arguments of a launch to the stand-ins: arrays in a real GPU's memory are copied to the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from host_to_device.standins.copies import ALIGNMENT, Located, overlapping_copies
from host_to_device.standins.numba_cuda import hints
from host_to_device.standins.numba_cuda.memory import (
    DeviceNDArray,
    DeviceNDArrayBase,
    DeviceRecord,
    is_cuda_array,
    is_stand_in_memory,
)


class HostCopies:
    """The arguments of one launch, with copies of those arrays that lie in a real GPU's memory.

    Arrays that share memory on the GPU share it in the copies, and keep their strides: the same array given twice is
    one array, and two views overlap as they do there. Host arrays and the stand-ins' arrays stay what they are.

    Parameters
    ----------
    arguments
        As for a launch: arrays, numbers, `cuda.In`, `cuda.Out` and `cuda.InOut`, and tuples of these.

    Attributes
    ----------
    values
        The arguments as the stand-ins take them.
    """

    def __init__(self, arguments: Sequence[Any]) -> None:
        originals = {id(each): each for argument in arguments for each in _leaves(argument) if on_gpu(each)}
        groups = overlapping_copies({key: located(each) for key, each in originals.items()})
        self._pairs = {
            key: (originals[key], array) for group in groups for key, array in group.items()
        }  # an original in the GPU's memory, and its copy
        self.values = [_rebuilt(each, self._brought) for each in arguments]

    def _brought(self, value: Any) -> Any:
        if id(value) not in self._pairs:
            return value
        original, array = self._pairs[id(value)]
        kind = DeviceRecord if "Record" in type(original).__name__ else DeviceNDArray
        return kind(array)

    def copied(self, argument: Any) -> bool:
        """Return whether an argument is an array that was copied from a GPU, or contains one."""
        return any(id(each) in self._pairs for each in _leaves(argument))

    def copy_back(self) -> None:
        """Copy what a launch has left in the copies back to the GPU's arrays."""
        for original, array in self._pairs.values():
            store(original, array)


def on_gpu(value: Any) -> bool:
    """Return whether a value is an array in a real GPU's memory."""
    if isinstance(value, DeviceNDArrayBase) or is_stand_in_memory(value):
        return False
    if isinstance(value, np.ndarray):  # Numba's mapped and managed arrays are NumPy's, too
        return is_cuda_array(value)
    return hasattr(value, "copy_to_host") or is_cuda_array(value)


def located(value: Any) -> Located:
    """Return the values of an array in a GPU's memory, and where they lie there."""
    values = _values(value)
    if not is_cuda_array(value):
        return Located.of(values)
    about = value.__cuda_array_interface__
    address = about["data"][0]
    strides = about.get("strides") or np.empty(values.shape, values.dtype).strides
    return Located(values, address, tuple(strides), address - address % ALIGNMENT)


def _values(value: Any) -> np.ndarray:
    """Return the elements of an array in a GPU's memory, on the host."""
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    if hasattr(value, "copy_to_host"):
        forwards, turn = _forwards(value)
        return np.asarray(forwards.copy_to_host()).view(value.dtype)[turn]
    if hasattr(value, "get"):
        return value.get()
    return value.detach().cpu().numpy()


def _forwards(value: Any) -> tuple[Any, tuple]:
    """Return an array of Numba's over the same memory that runs backwards nowhere, and the index that turns it round.

    Numba copies no array with a negative stride.
    """
    if all(step >= 0 for step in value.strides):
        return value, (...,)
    from numba import cuda

    turn = tuple(slice(None, None, -1 if step < 0 else 1) for step in value.strides)
    about = dict(value.__cuda_array_interface__)
    start = about["data"][0] + sum(
        max(size - 1, 0) * step for size, step in zip(value.shape, value.strides, strict=True) if step < 0
    )
    about |= {"data": (start, False), "strides": tuple(abs(step) for step in value.strides)}
    return cuda.from_cuda_array_interface(about, owner=value), turn


def store(original: Any, array: np.ndarray) -> None:
    """Copy elements from the host to an array in a GPU's memory."""
    if hasattr(original, "copy_to_host") and not isinstance(original, np.ndarray):
        original, turn = _forwards(original)
        array = array[turn].view(original.dtype)  # whose fields an array interface does not name
    if isinstance(original, np.ndarray):
        np.asarray(original)[...] = array
    elif not hasattr(original, "copy_to_device") and not hasattr(original, "set"):
        import torch

        original.detach().copy_(torch.from_numpy(array))
    elif array.flags.forc:
        (original.copy_to_device if hasattr(original, "copy_to_device") else original.set)(array)
    elif hasattr(original, "copy_to_device"):  # Numba's and CuPy's copies need an array without gaps
        original[:] = np.ascontiguousarray(array)
    else:
        whole = type(original)(array.shape, array.dtype)
        whole.set(np.ascontiguousarray(array))
        original[...] = whole


def _hint(value: Any) -> type[hints.ArgHint] | None:
    """Return the stand-in's class for `cuda.In`, `cuda.Out` or `cuda.InOut` of Numba, or None for another value."""
    kind = type(value)
    if not kind.__module__.startswith(("numba.cuda", "numba_cuda_mlir")) or not hasattr(value, "value"):
        return None
    return {"In": hints.In, "Out": hints.Out, "InOut": hints.InOut}.get(kind.__name__)


def _leaves(value: Any) -> Iterator[Any]:
    """Yield an argument, or what its tuples and hints contain."""
    if isinstance(value, tuple):
        for each in value:
            yield from _leaves(each)
    elif _hint(value) or isinstance(value, hints.ArgHint):
        yield from _leaves(value.value)
    else:
        yield value


def _rebuilt(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return an argument with `change` applied to what its tuples and hints contain."""
    if isinstance(value, tuple):
        parts = [_rebuilt(each, change) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    kind = type(value) if isinstance(value, hints.ArgHint) else _hint(value)
    return change(value) if kind is None else kind(_rebuilt(value.value, change))


def without_stream(configuration: tuple) -> tuple:
    """Return a launch configuration in which the default stream takes the place of a real GPU's stream."""
    if len(configuration) < 3 or not type(configuration[2]).__module__.startswith(
        ("numba.cuda", "numba_cuda_mlir", "cuda.")
    ):
        return configuration
    return *configuration[:2], 0, *configuration[3:]
