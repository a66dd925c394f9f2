"""Where the library keeps files of its own, as each system has it."""

from __future__ import annotations

from pathlib import Path

NAME = "host-to-device"


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
