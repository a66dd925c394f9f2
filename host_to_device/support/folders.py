"""The library's folders: the package itself, a cache, and the user's data, each where the system keeps such files."""

from __future__ import annotations

import importlib.util
from pathlib import Path

NAME = "host-to-device"
# The folder of this library, wherever in it this module lies.
PACKAGE = Path(importlib.util.find_spec(__name__.partition(".")[0]).origin).parent


def package() -> Path:
    """Return the folder of the library's package, whatever module asks for it."""
    from importlib.resources import files

    return Path(str(files(__name__.partition(".")[0])))


def cache(part: str) -> Path:
    """Return the folder of one kind of file that can be made again, in the user's cache; it need not exist."""
    from platformdirs import (
        user_cache_path,  # not before it is needed: the interpreted stand-in runs without it
    )

    return user_cache_path(NAME, appauthor=False, opinion=False) / part


def data(part: str) -> Path:
    """Return where the library keeps something that is the user's own; it need not exist."""
    from platformdirs import user_data_path

    return user_data_path(NAME, appauthor=False) / part
