"""Let `from numba import cuda` and `import cupy` find the stand-ins, and undo it.

Of Numba only the module `numba.cuda` (with `numba.cuda.random`, which lessons import by its full name) is replaced;
`numba` itself and everything else in it stay what they are. `cupy` and `cupyx` are replaced whole, by a finder: their
stand-in is loaded when a notebook imports it.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

# What was in place of each redirected module; None where nothing had been imported.
replaced: dict[str, ModuleType | None] = {}

OF_NUMBA = {
    "numba.cuda": "host_to_device.standins.numba_cuda",
    "numba.cuda.random": "host_to_device.standins.numba_cuda.random",
}

CUPY = "host_to_device.standins.cupy"
# Modules that lessons may import by their full names.
OF_CUPY = {
    "cupy": CUPY,
    **{
        f"cupy.{name}": f"{CUPY}.{name}"
        for name in (
            "cuda",
            "cuda.compiler",
            "cuda.device",
            "cuda.driver",
            "cuda.memory",
            "cuda.nvtx",
            "cuda.pinned_memory",
            "cuda.profiler",
            "cuda.runtime",
            "cuda.stream",
            "fft",
            "linalg",
            "random",
            "testing",
        )
    },
    "cupyx": f"{CUPY}.cupyx",
    "cupyx.jit": f"{CUPY}.jit",
    "cupyx.profiler": f"{CUPY}.cupyx.profiler",
}
REDIRECTED = {**OF_NUMBA, **OF_CUPY}


class CupyFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the stand-in's modules under CuPy's names, and says in one line what it does not have."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return how to load a module of CuPy's; None for all others.

        Raises
        ------
        ImportError
            If CuPy has the module and the stand-in has not.
        """
        if fullname.startswith(f"{CUPY}."):
            # `from cupy import name` looks for a module of that name, under the stand-in's own one.
            return self.refuse(fullname.removeprefix(f"{CUPY}."))
        top = fullname.partition(".")[0]
        if top not in ("cupy", "cupyx"):
            return None
        if fullname in OF_CUPY:
            return importlib.machinery.ModuleSpec(fullname, self)
        self.refuse(fullname.removeprefix("cupy."))
        # Not None: the next finder would look into the stand-in's own folder.
        raise ModuleNotFoundError(f"No module named '{fullname}'", name=fullname)

    def refuse(self, path: str) -> None:
        """Raise ImportError for a name, as it follows `cupy.`, that CuPy has and the stand-in has not."""
        module, _, name = path.rpartition(".")
        names = sys.modules.get(f"{CUPY}.names")
        if names is not None and names.is_missing(module, name):
            raise ImportError(names.missing(path), name=path)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the stand-in's module, loaded under its own name."""
        module = importlib.import_module(OF_CUPY[spec.name])
        self.own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as it is; importing has overwritten its own spec."""
        module.__spec__ = self.own_spec


finder = CupyFinder()


def names_bound_to(module: ModuleType) -> list[str]:
    """Return the names of the notebook (or script) that stand for this module or for something in it."""
    main = vars(sys.modules["__main__"])
    parts = module.__name__.split(".")
    return sorted(
        name
        for name, value in main.items()
        if not name.startswith("_")
        and (
            value is module
            or (getattr(value, "__module__", None) or "").split(".")[: len(parts)] == parts
            or (isinstance(value, ModuleType) and value.__name__.split(".")[: len(parts)] == parts)
        )
    )


def names_of_cupy() -> list[str]:
    """Return the modules of CuPy, the real one or the stand-in, that have been imported."""
    return [name for name in sys.modules if name.split(".")[0] in ("cupy", "cupyx")]


def bound_too_early() -> dict[str, list[str]]:
    """Return the names that stand for the real libraries, by the library, where there are any."""
    found = {
        name: names_bound_to(sys.modules[name])
        for name in ("numba.cuda", "cupy", "cupyx")
        if sys.modules.get(name) is not None
    }
    return {name: bound for name, bound in found.items() if bound}


def redirect() -> dict[str, list[str]]:
    """Put the stand-ins in place; return the names that still stand for what was imported before, by library.

    Doing it again changes nothing.
    """
    if replaced:
        return {}
    too_early = bound_too_early()
    if too_early:
        return too_early
    for name in names_of_cupy():
        replaced[name] = sys.modules.pop(name)
    for name, stand_in in OF_NUMBA.items():
        replaced[name] = sys.modules.get(name)
        sys.modules[name] = importlib.import_module(stand_in)
    if importlib.util.find_spec("numba") is not None:
        import numba

        replaced["numba"] = vars(numba).get("cuda")
        numba.cuda = sys.modules["numba.cuda"]
    sys.meta_path.insert(0, finder)
    return {}


def restore() -> None:
    """Put back what was there before `redirect`; names that a notebook has imported stay as they are."""
    if not replaced:
        return
    sys.meta_path.remove(finder)
    for name in names_of_cupy():
        del sys.modules[name]
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
