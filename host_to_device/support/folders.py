"""The library's folders: the package itself, a cache, and the user's data, each where the system keeps such files."""

from __future__ import annotations

import sys
from pathlib import Path

NAME = "host-to-device"
IN_A_PAGE = sys.platform == "emscripten"  # Python in a browser keeps files in memory, and has no platformdirs
PACKAGE = Path(__file__).resolve().parents[1]  # of the library: other modules ask here, and may move


def cache(part: str) -> Path:
    """Return the folder of one kind of file that can be made again, in the user's cache; it need not exist."""
    if IN_A_PAGE:
        return Path.home() / ".cache" / NAME / part
    from platformdirs import user_cache_path  # when it is needed: the interpreted stand-in runs without it

    return user_cache_path(NAME, appauthor=False, opinion=False) / part


def data(part: str) -> Path:
    """Return where the library keeps something that is the user's own; it need not exist."""
    if IN_A_PAGE:
        return Path.home() / ".local" / NAME / part
    from platformdirs import user_data_path

    return user_data_path(NAME, appauthor=False) / part
