"""What is installed on this machine, and the error that says what is missing."""

from __future__ import annotations

import importlib.util
from importlib import metadata

from host_to_device.support.messages import OneLine


class SetUpError(OneLine, RuntimeError):
    """What has to be done before this machine can go on: the message says it."""


def is_installed(module: str) -> bool:
    """Return whether a module can be imported; it is not imported."""
    return importlib.util.find_spec(module) is not None


def version_of(*distributions: str) -> str:
    """Return the version of the first of these distributions that is installed, or `?`."""
    for distribution in distributions:
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
    return "?"
