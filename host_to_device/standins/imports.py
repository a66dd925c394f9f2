"""Makes `from numba import cuda`, `from numba_cuda_mlir import cuda` and `import cupy` import the stand-ins, and undoes that.

Only the module `numba.cuda` is replaced, with `numba.cuda.random`, which lessons import by its full name; the rest of
`numba` stays as it is. `numba_cuda_mlir`, `cupy` and `cupyx` are replaced completely, by finders that load a stand-in when
a notebook imports it.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from host_to_device.support.installed import has_numba

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
            "_core",
            "cuda",
            "cuda.compiler",
            "cuda.cub",
            "cuda.device",
            "cuda.driver",
            "cuda.memory",
            "cuda.nvtx",
            "cuda.pinned_memory",
            "cuda.profiler",
            "cuda.runtime",
            "cuda.stream",
            "cuda.thrust",
            "fft",
            "lib",
            "linalg",
            "random",
            "testing",
        )
    },
    "cupy.lib.stride_tricks": f"{CUPY}.stride_tricks",
    "cupyx": f"{CUPY}.cupyx",
    "cupyx.time": f"{CUPY}.cupyx.time",
    "cupyx.jit": f"{CUPY}.jit",
    "cupyx.profiler": f"{CUPY}.cupyx.profiler",
}
SUCCESSOR = "numba_cuda_mlir"
OF_SUCCESSOR = {
    SUCCESSOR: f"host_to_device.standins.{SUCCESSOR}",
    f"{SUCCESSOR}.cuda": f"host_to_device.standins.{SUCCESSOR}.cuda",
    f"{SUCCESSOR}.cuda.random": "host_to_device.standins.numba_cuda.random",
    f"{SUCCESSOR}.numba_cuda": f"host_to_device.standins.{SUCCESSOR}.cuda",
    f"{SUCCESSOR}.types": "numba.core.types",
}
REDIRECTED = {**OF_NUMBA, **OF_CUPY, **OF_SUCCESSOR}


class StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives a module of the stand-in to an import of another name; a subclass says for which names, and which module."""

    def module_of(self, fullname: str) -> ModuleType:
        """Return the stand-in's module for a name that `find_spec` has found."""
        raise NotImplementedError

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the stand-in's module, imported under its own name."""
        module = self.module_of(spec.name)
        self.own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Restore a module's own spec, which the import has overwritten; a module made in memory has none."""
        if self.own_spec is not None:
            module.__spec__ = self.own_spec


class CupyFinder(StandInFinder):
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

    def module_of(self, fullname: str) -> ModuleType:
        return importlib.import_module(OF_CUPY[fullname])


finder = CupyFinder()


class NumbaFinder(StandInFinder):
    """Finds the stand-in's modules under the names below `numba.cuda`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module below `numba.cuda`; None for every other module.

        Raises
        ------
        ModuleNotFoundError
            For a file of the stand-in's own, which Python would import a second time under Numba's name.
        """
        if not fullname.startswith("numba.cuda."):
            return None
        from host_to_device.standins.numba_cuda import submodules

        name = fullname.removeprefix("numba.cuda.")
        if submodules.is_known(name):
            return importlib.machinery.ModuleSpec(fullname, self)
        if "." not in name and importlib.util.find_spec(f"{submodules.PACKAGE}.{name}") is not None:
            raise ModuleNotFoundError(f"No module named '{fullname}'", name=fullname)
        return None

    def module_of(self, fullname: str) -> ModuleType:
        from host_to_device.standins.numba_cuda import submodules

        return submodules.module(fullname.removeprefix("numba.cuda."))


numba_finder = NumbaFinder()


class SuccessorFinder(StandInFinder):
    """Finds the stand-in's modules under the names of `numba_cuda_mlir`; those below its `cuda` are of `numba.cuda`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module of the successor's; None for every other module.

        Raises
        ------
        ModuleNotFoundError
            If the stand-in lacks the module.
        """
        if fullname.partition(".")[0] != SUCCESSOR:
            return None
        if fullname in OF_SUCCESSOR or self.below_cuda(fullname):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        from host_to_device.standins import numba_cuda_mlir

        words = numba_cuda_mlir.missing(fullname.partition(".")[2])
        raise ModuleNotFoundError(words, name=fullname)

    def below_cuda(self, fullname: str) -> str:
        """Return what follows `numba.cuda.` in the name of the same module there, or "" if there is none."""
        from host_to_device.standins.numba_cuda import submodules

        package, _, name = fullname.removeprefix(f"{SUCCESSOR}.").partition(".")
        return name if package in ("cuda", "numba_cuda") and submodules.is_known(name) else ""

    def module_of(self, fullname: str) -> ModuleType:
        from host_to_device.standins.numba_cuda import submodules

        if fullname in OF_SUCCESSOR:
            return importlib.import_module(OF_SUCCESSOR[fullname])
        return submodules.module(self.below_cuda(fullname))


successor_finder = SuccessorFinder()
# What leads imports below numba.cuda to the real one where numba-cuda is installed, and its place.
led_astray: list[tuple[int, importlib.abc.MetaPathFinder]] = []


def names_of_numba_cuda() -> list[str]:
    """Return the names of the imported modules below `numba.cuda`, of the real one or of the stand-in."""
    return [name for name in sys.modules if name.startswith("numba.cuda.")]


def lead_ufuncs(to_stand_in: bool) -> None:
    """Let Numba's `vectorize` and `guvectorize` take the classes for CUDA from the stand-in, or from numba-cuda again."""
    from numba.np.ufunc.decorators import GUVectorize, Vectorize

    for decorator, name in ((Vectorize, "CUDAVectorize"), (GUVectorize, "CUDAGUFuncVectorize")):
        registry = decorator.target_registry
        module = f"{OF_NUMBA['numba.cuda']}.vectorizing" if to_stand_in else "numba.cuda.vectorizers"

        def load(module: str = module, name: str = name) -> Any:
            return getattr(importlib.import_module(module), name)

        dict.pop(registry, "cuda", None)
        dict.pop(registry.ondemand, "cuda", None)
        registry.ondemand["cuda"] = load


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


def names_replaced_whole() -> list[str]:
    """Return the names of the imported modules of CuPy and of Numba's successor, the real ones or the stand-ins'."""
    return [name for name in sys.modules if name.split(".")[0] in ("cupy", "cupyx", SUCCESSOR)]


def bound_too_early() -> dict[str, list[str]]:
    """Return the notebook's names that are bound to a real library, by the library's name."""
    found = {
        name: names_bound_to(sys.modules[name])
        for name in ("numba.cuda", SUCCESSOR, "cupy", "cupyx")
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
    for name in (*names_replaced_whole(), *names_of_numba_cuda()):
        replaced[name] = sys.modules.pop(name)
    for name, stand_in in OF_NUMBA.items():
        replaced[name] = sys.modules.get(name)
        sys.modules[name] = importlib.import_module(stand_in)
    if has_numba():
        import numba

        replaced["numba"] = vars(numba).get("cuda")
        numba.cuda = sys.modules["numba.cuda"]
        lead_ufuncs(to_stand_in=True)
    for place, each in reversed(list(enumerate(sys.meta_path))):
        if type(each).__name__ == "NumbaCudaFinder":
            led_astray.insert(0, (place, sys.meta_path.pop(place)))
    sys.meta_path[:0] = [finder, numba_finder, successor_finder]
    return {}


def restore() -> None:
    """Undo `redirect`; names that a notebook has imported stay as they are."""
    if not replaced:
        return
    for each in (finder, numba_finder, successor_finder):
        sys.meta_path.remove(each)
    while led_astray:
        sys.meta_path.insert(*led_astray.pop(0))
    for name in (*names_replaced_whole(), *names_of_numba_cuda()):
        if name not in OF_NUMBA:
            del sys.modules[name]
    if "numba" in replaced:
        import numba

        lead_ufuncs(to_stand_in=False)
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
