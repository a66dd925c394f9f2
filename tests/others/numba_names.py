"""Makes the stand-in, or Numba's simulator, answer for `numba.cuda` in numba-cuda's own tests."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

from tests.others import names

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
# numba-cuda has copies of Numba's modules under these names; the stand-in stands on Numba's own.
COPIES = {
    "core": "numba.core",
    "np": "numba.np",
    "misc": "numba.misc",
    "types": "numba.core.types",
    "typing": "numba.core.typing",
    "typeconv": "numba.core.typeconv",
    "datamodel": "numba.core.datamodel",
    "extending": "numba.core.extending",
    "utils": "numba.core.utils",
}

# Modules of numba-cuda that only its tests import.
INTERNAL = (
    "cgutils",
    "codegen",
    "compiler",
    "config",
    "descriptor",
    "extending",
    "launchconfig",
    "typing",
    "utils",
)

# Names that files import at their head, and that few of their tests use.
LINKED = ("CUSource", "Cubin", "Fatbin", "LTOIR", "PTXSource")
NOT_HERE = ("compile_ptx", "compile_ptx_for_current_device", "declare_device", "libdevice")


def put_in_place(folder: Path) -> None:
    """Put the stand-in in place, with the names that numba-cuda's tests use besides those of `numba.cuda`."""
    if SIMULATED:
        sys.modules["numba.cuda.testing"] = importlib.import_module("tests.others.numba_testing")
        return
    from host_to_device.standins import imports

    # numba-cuda is installed, and leads every import below numba.cuda to itself: no reader of the stand-in has that.
    sys.meta_path[:] = [each for each in sys.meta_path if type(each).__name__ != "NumbaCudaFinder"]
    imports.redirect()
    sys.meta_path.append(names.Finder(("numba.cuda",), lambda name: module_of(name, folder)))
    cuda = sys.modules["numba.cuda"]
    names.give(cuda, "HAS_NUMBA", True)
    for name in LINKED:
        names.give(cuda, name, type(name, (), {"__init__": lambda *_, **__: None}))
    for name in NOT_HERE:
        names.give(cuda, name, names.internal(f"cuda.{name}"))
    names.give(
        importlib.import_module("numba.extending"),
        "core_models",
        importlib.import_module("numba.core.datamodel.models"),
    )
    names.give(importlib.import_module("numba.cuda.cudadrv.driver"), "_have_nvjitlink", lambda: False)
    for name in ("CUDA_ENABLE_NRT", "CUDA_NRT_STATS"):
        names.give(importlib.import_module("numba.core.config"), name, 0)
    for name in INTERNAL:
        names.give(cuda, name, importlib.import_module(f"numba.cuda.{name}"))
    sys.modules["numba.cuda.testing"] = importlib.import_module("tests.others.numba_testing")


def module_of(name: str, folder: Path) -> ModuleType | None:
    """Return what stands for a module below `numba.cuda` that the stand-in lacks."""
    path = name.removeprefix("numba.cuda.")
    if path == "tests":
        package = ModuleType(name)
        package.__path__, package.load_testsuite = [str(folder)], None
        return package
    if path.startswith("tests."):
        return None  # Python finds them in the folder
    if path == "cudaimpl":
        return decorators(name)
    if path in ("config", "core.config"):
        return importlib.import_module("numba.core.config")  # itself: tests change it
    if path == "memory_management.nrt":
        return memory_management(name)
    for copy, own in sorted(COPIES.items(), key=lambda each: -len(each[0])):
        if path == copy or path.startswith(f"{copy}."):
            return names.placeholder(name, names.imported(own + path.removeprefix(copy)))
    return names.placeholder(name)


def memory_management(name: str) -> ModuleType:
    """Return what stands for the counting of arrays that kernels allocate: they allocate none here."""

    class Runtime:
        memsys_enable_stats = memsys_disable_stats = staticmethod(lambda: None)
        get_allocation_stats = staticmethod(lambda: SimpleNamespace(alloc=0, free=0, mi_alloc=0, mi_free=0))

    module = names.placeholder(name)
    module.rtsys = Runtime
    return module


def decorators(name: str) -> ModuleType:
    """Return what stands for the decorators that give a type of a test's own to the compiler: they do nothing."""
    module = names.placeholder(name)
    for each in ("lower", "lower_attr", "lower_cast", "lower_constant"):
        setattr(module, each, lambda *_: lambda function: function)
    return module
