"""Reading and writing files and text: this happens on the host, and the copies to and from the device count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from host_to_device.standins.cupy.base import Base
from host_to_device.standins.cupy.creation import array, asnumpy


def load(file: Any, mmap_mode: Any = None, allow_pickle: bool | None = None) -> Any:
    """Return the array of an `.npy` file on the device, or the arrays of an `.npz` file by their names."""
    loaded = np.load(file, mmap_mode, allow_pickle=bool(allow_pickle))
    if isinstance(loaded, np.ndarray):
        return array(loaded)
    return _NpzFile(loaded) if isinstance(loaded, np.lib.npyio.NpzFile) else loaded


class _NpzFile:
    """The arrays of an `.npz` file; each is read and copied to the device when the program looks it up."""

    def __init__(self, npz_file: Any) -> None:
        self.npz_file, self.files = npz_file, npz_file.files

    def __getitem__(self, key: str) -> Any:
        return array(self.npz_file[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __enter__(self) -> _NpzFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self.npz_file.close()


def save(file: Any, arr: Any, allow_pickle: bool | None = None) -> None:
    """Write an array to an `.npy` file."""
    np.save(file, asnumpy(arr), allow_pickle=bool(allow_pickle))


def savez(file: Any, *args: Any, **kwds: Any) -> None:
    """Write arrays to an `.npz` file."""
    np.savez(file, *map(asnumpy, args), **{name: asnumpy(value) for name, value in kwds.items()})


def savez_compressed(file: Any, *args: Any, **kwds: Any) -> None:
    """Write arrays to a compressed `.npz` file."""
    np.savez_compressed(file, *map(asnumpy, args), **{name: asnumpy(value) for name, value in kwds.items()})


def savetxt(fname: Any, X: Any, *args: Any, **kwargs: Any) -> None:
    """Write an array as text."""
    np.savetxt(fname, asnumpy(X), *args, **kwargs)


def array_repr(
    arr: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None
) -> str:
    """Return the text of `repr`."""
    return np.array_repr(asnumpy(arr), max_line_width, precision, suppress_small)


def array_str(arr: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> str:
    """Return the text of `str`."""
    return np.array_str(asnumpy(arr), max_line_width, precision, suppress_small)


def array2string(a: Any, *args: Any, **kwargs: Any) -> str:
    """Return an array as text."""
    return np.array2string(asnumpy(a), *args, **kwargs)


def format_float_positional(x: Any, *args: Any, **kwargs: Any) -> str:
    """Return a number as text, without an exponent."""
    return np.format_float_positional(x.item() if isinstance(x, Base) else x, *args, **kwargs)


def format_float_scientific(x: Any, *args: Any, **kwargs: Any) -> str:
    """Return a number as text, with an exponent."""
    return np.format_float_scientific(x.item() if isinstance(x, Base) else x, *args, **kwargs)


def base_repr(number: int, base: int = 2, padding: int = 0) -> str:
    """Return a number in another base."""
    return np.base_repr(number, base, padding)


def binary_repr(num: int, width: int | None = None) -> str:
    """Return a number's bits."""
    return np.binary_repr(num, width)
