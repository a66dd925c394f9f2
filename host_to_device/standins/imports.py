"""Let `from numba import cuda` find the stand-in, and undo it.

Only the module `numba.cuda` (with `numba.cuda.random`, which lessons import by its full name) is replaced;
`numba` itself and everything else in it stay what they are.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType

# What was in place of each redirected module; None where nothing had been imported.
replaced: dict[str, ModuleType | None] = {}

REDIRECTED = {
    "numba.cuda": "host_to_device.standins.numba_cuda",
    "numba.cuda.random": "host_to_device.standins.numba_cuda.random",
}


def names_bound_to(module: ModuleType) -> list[str]:
    """Return the names of the notebook (or script) that stand for this module or for something in it."""
    main = vars(sys.modules["__main__"])
    return sorted(
        name
        for name, value in main.items()
        if not name.startswith("_")
        and (
            value is module or (getattr(value, "__module__", None) or "").split(".")[:2] == ["numba", "cuda"]
        )
    )


def redirect() -> list[str]:
    """Put the stand-ins in place; return the names that still stand for what was imported before.

    Doing it again changes nothing.
    """
    if replaced:
        return []
    real = sys.modules.get("numba.cuda")
    too_early = names_bound_to(real) if real is not None else []
    if too_early:
        return too_early
    for name, stand_in in REDIRECTED.items():
        replaced[name] = sys.modules.get(name)
        sys.modules[name] = importlib.import_module(stand_in)
    if importlib.util.find_spec("numba") is not None:
        import numba

        replaced["numba"] = vars(numba).get("cuda")
        numba.cuda = sys.modules["numba.cuda"]
    return []


def restore() -> None:
    """Put back what was there before `redirect`; names that a notebook has imported stay as they are."""
    if not replaced:
        return
    if "numba" in replaced:
        import numba

        before = replaced.pop("numba")
        if before is None:
            del numba.cuda
        else:
            numba.cuda = before
    for name in list(replaced):
        before = replaced.pop(name)
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before
