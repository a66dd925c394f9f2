"""Makes `from numba import cuda` and `import cupy` import the stand-ins, and undoes that.

Only the module `numba.cuda` is replaced, with `numba.cuda.random`, which lessons import by its full name; the rest of
`numba` stays as it is. `cupy` and `cupyx` are replaced completely, by a finder that loads the stand-in when a notebook
imports it.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

# The module that each stand-in replaces; None if it had not been imported.
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
    """Finds the stand-in's modules under CuPy's names, and refuses the modules that it lacks in one line."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module of CuPy's; None for every other module.

        Raises
        ------
        ImportError
            If CuPy has the module and the stand-in lacks it.
        """
        if fullname.startswith(f"{CUPY}."):
            # `from cupy import name` looks for a module `name` below the stand-in's own module.
            return self.refuse(fullname.removeprefix(f"{CUPY}."))
        top = fullname.partition(".")[0]
        if top not in ("cupy", "cupyx"):
            return None
        if fullname in OF_CUPY:
            return importlib.machinery.ModuleSpec(fullname, self)
        self.refuse(fullname.removeprefix("cupy."))
        # None would let the next finder look into the stand-in's own folder.
        raise ModuleNotFoundError(f"No module named '{fullname}'", name=fullname)

    def refuse(self, path: str) -> None:
        """Raise ImportError if CuPy has a name and the stand-in lacks it; `path` is what follows `cupy.`."""
        module, _, name = path.rpartition(".")
        names = sys.modules.get(f"{CUPY}.names")
        if names is not None and names.is_missing(module, name):
            raise ImportError(names.missing(path), name=path)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the stand-in's module, imported under its own name."""
        module = importlib.import_module(OF_CUPY[spec.name])
        self.own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own spec, which the import has overwritten."""
        module.__spec__ = self.own_spec


finder = CupyFinder()


def names_bound_to(module: ModuleType) -> list[str]:
    """Return the names in the notebook (or script) that are bound to a module or to an object of it."""
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
    """Return the names of CuPy's imported modules, of the real CuPy or of the stand-in."""
    return [name for name in sys.modules if name.split(".")[0] in ("cupy", "cupyx")]


def bound_too_early() -> dict[str, list[str]]:
    """Return the notebook's names that are bound to a real library, by the library's name."""
    found = {
        name: names_bound_to(sys.modules[name])
        for name in ("numba.cuda", "cupy", "cupyx")
        if sys.modules.get(name) is not None
    }
    return {name: bound for name, bound in found.items() if bound}


def redirect() -> dict[str, list[str]]:
    """Replace the libraries by the stand-ins. A second call changes nothing.

    Returns
    -------
    dict
        The notebook's names that are bound to a real library, by the library's name. If there are any, nothing is
        replaced.
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
    """Undo `redirect`; names that a notebook has imported stay as they are."""
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
