"""The cache of what compilers made: showing a kernel again runs no compiler.

The folder is `host-to-device/inspected` in the user's cache. `support.caching.Cache` checks each file: it makes a
damaged one anew, and two processes may use the folder at the same time.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from host_to_device.hardware import targets
from host_to_device.support import folders
from host_to_device.support.caching import Cache

_caches: dict[Path, Cache] = {}
_recent: dict[str, Any] = {}
MOST_RECENT = 64


def _cache() -> Cache:
    folder = folders.cache("inspected")
    if folder not in _caches:
        _caches[folder] = Cache(folder)
    return _caches[folder]


@functools.cache
def _own_sources() -> str:
    """Return a digest of the modules that shape what is kept."""
    digest = hashlib.sha256()
    for path in (*sorted(Path(__file__).parent.rglob("*")), Path(targets.__file__)):
        if path.suffix in (".py", ".h"):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def kept(make: Callable[[], Any], *parts: Any) -> Any:
    """Return what `make` returns, from the cache where it was made before.

    Parameters
    ----------
    make
        Function without arguments whose result JSON can hold.
    parts
        Everything that the result depends on, as JSON can hold it.
    """
    text = json.dumps([_own_sources(), *parts], sort_keys=True, default=str)
    key = hashlib.sha256(text.encode()).hexdigest()[:40]
    if key in _recent:
        return _recent[key]
    cache = _cache()
    found = cache.get(key)
    if found is None:

        def write(path: Path) -> dict:
            path.write_text(json.dumps(make()), encoding="utf-8")
            return {}

        found = cache.put(key, ".text", write)
    value = json.loads(found[0].read_text(encoding="utf-8"))
    while len(_recent) >= MOST_RECENT:
        del _recent[next(iter(_recent))]
    _recent[key] = value
    return value
