"""What is installed on this machine, and the error that says what is missing."""

from __future__ import annotations

import importlib.util
from importlib import metadata

from host_to_device.support.messages import OneLine

# How the name of a device begins that computes on the CPU as a GPU would (rehearsal/ of the course's repository).
REHEARSAL = "rehearsal, not a GPU"


class SetUpError(OneLine, RuntimeError):
    """Something is missing on this machine: the message says what to do.

    Examples
    --------
    >>> try:
    ...     h2d.start()
    ... except h2d.SetUpError as problem:
    ...     print(problem)
    No GPU ...
    """

    __module__ = "host_to_device"  # the public name, which a traceback shows


def is_installed(module: str) -> bool:
    """Return whether a module can be imported, without importing it."""
    return importlib.util.find_spec(module) is not None


def has_numba() -> bool:
    """Return whether Numba is installed, without importing it; a single module of its name has no compiler, and is none."""
    found = importlib.util.find_spec("numba")
    return found is not None and found.submodule_search_locations is not None


def version_of(*distributions: str) -> str:
    """Return the version of the first of these distributions that is installed, or `?`."""
    for distribution in distributions:
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return "?"
