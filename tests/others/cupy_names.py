"""Makes the stand-in answer for `cupy` in CuPy's own tests, whose helpers (`cupy.testing`) are CuPy's."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.machinery
import importlib.util
import math
import os
import random
import sys
from pathlib import Path
from types import ModuleType

import numpy

from tests.others import names

OURS = "host_to_device.standins.cupy"
FEWER = int(os.environ.get("OTHERS_DTYPES", "0"))
TOPS = ("cupy", "cupyx", "cupy_backends")


def put_in_place(folder: Path) -> None:
    """Put the stand-in in place, with CuPy's own helpers for tests and the internal names that its tests import."""
    from host_to_device.standins import imports

    imports.redirect()
    helpers = folder.parent / "cupy" / "testing"
    imports.OF_CUPY.pop("cupy.testing", None)  # the stand-in has the part of it that a lesson uses
    import cupy

    sys.modules.setdefault("cupy.exceptions", cupy.exceptions)
    sys.meta_path.insert(0, Internals(names.Finder(TOPS, module_of), helpers))
    sys.path.insert(0, str(folder))
    sys.modules["cupy_backends"] = names.placeholder("cupy_backends")
    for name in (
        "cupy.cublas",
        "cupy.cuda.cutensor",
        "cupy.cuda.texture",
        "cupyx.cusolver",
    ):  # imported at files' heads
        sys.modules[name] = names.placeholder(name)
        where, _, last = name.rpartition(".")
        vars(importlib.import_module(where))[last] = sys.modules[name]
    for name in ("_core", "_util"):
        vars(cupy)[name] = importlib.import_module(f"cupy.{name}")
    for name in ("internal", "_accelerator"):
        importlib.import_module(f"cupy._core.{name}")
    give_internals(cupy)
    vars(cupy)["testing"] = importlib.import_module("cupy.testing")

    if FEWER:
        importlib.import_module("cupy.testing._loops")._subsample_rng = Chosen()
    random.seed(1)  # some tests choose pairs of dtypes by it


def give_internals(cupy: ModuleType) -> None:
    """Give CuPy's modules the names that files of tests use at their head, or its helpers for every test."""
    cuda = importlib.import_module("cupy.cuda")
    importlib.import_module("cupyx").cusolver.check_availability = lambda _: True
    vars(importlib.import_module("cupy.random"))["_generator"] = RandomStates()
    vars(importlib.import_module("cupy.linalg"))["_util"] = util = names.placeholder("cupy.linalg._util")
    util.stacked_identity = lambda shape, n, dtype: cupy.asarray(
        numpy.broadcast_to(numpy.eye(n, dtype=dtype), (*shape, n, n))
    )
    cublas = importlib.import_module("cupy.cublas")
    cublas.get_batched_gesv_limit, cublas.set_batched_gesv_limit = lambda: None, lambda _: None
    driver = importlib.import_module("cupy.cuda.driver")
    names.give(driver, "_is_cuda_python", lambda: False)
    compiler, memory = (
        importlib.import_module("cupy.cuda.compiler"),
        importlib.import_module("cupy.cuda.memory"),
    )
    vars(compiler)["_run_cc"] = lambda *_: "release 13.0"  # what nvcc says of itself
    for name in ("_get_bool_env_variable", "_kernel_cache_backend", "_empty_file_preprocess_cache"):
        names.give(compiler, name, None)  # tests replace them
    importlib.import_module("cupy.cuda._compiler_cache").DiskKernelCacheBackend = type(
        "DiskKernelCacheBackend", (), {"__init__": lambda *_: None}
    )
    vars(cuda)["get_nvcc_path"] = lambda: "nvcc"
    for name in ("_malloc", "malloc_async"):
        names.give(memory, name, names.internal(f"cupy.cuda.memory.{name}"))


class RandomStates:
    """Stands for where CuPy keeps its generators: helpers look whether `cupy.random.reset_states` has made new ones."""

    @property
    def _random_states(self):
        return {}

    @_random_states.setter
    def _random_states(self, _):
        pass


class Chosen:
    """Chooses a few dtypes, or pairs of them, of those that a test would run in a loop: the same in every process."""

    def sample(self, given, _):
        """Return some of those given."""
        return sorted(given, key=lambda each: hashlib.sha256(repr(each).encode()).digest())[:FEWER]


class Internals:
    """Asks the finder for what is internal to CuPy, and for its helpers; the rest is the stand-in's."""

    def __init__(self, finder: names.Finder, helpers: Path) -> None:
        self.finder, self.helpers = finder, helpers

    def find_spec(self, fullname, path=None, target=None):
        """Return the spec of a module that stands for an internal one, or of a helper for tests."""
        if fullname.startswith(f"{OURS}.") and fullname.rpartition(".")[2].startswith("_"):
            return self.finder.find_spec(
                fullname.replace(OURS, "cupy", 1)
            )  # `from cupy.cuda import _internal`
        parts = fullname.split(".")
        if fullname == "cupy.testing":
            place = [str(self.helpers)]
            return importlib.util.spec_from_file_location(
                fullname, self.helpers / "__init__.py", submodule_search_locations=place
            )
        if parts[:2] == ["cupy", "testing"]:
            return importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if parts[0] in TOPS and any(part.startswith("_") for part in parts):
            return self.finder.find_spec(fullname, path, target)
        known = parts[0] == "cupy_backends" or fullname in ("cupyx.scipy", "cupyx.scipy.sparse")
        return self.finder.find_spec(fullname, path, target) if known else None


def module_of(name: str) -> ModuleType:
    """Return what stands for a module that is internal to CuPy."""
    module = names.placeholder(name)
    if name == "cupy._core.internal":
        module.prod = math.prod
    if name in ("cupy._core", "cupy._core._accelerator"):
        fill_accelerators(module)
    if name == "cupy._core":
        internal = module.__getattr__
        module.__getattr__ = lambda each: getattr(sys.modules["cupy"], each, None) or internal(each)
    if name == "cupyx.scipy.sparse":
        module.issparse = lambda _: False  # the helpers ask it of every result
    if name == "cupy._util":
        module.PerformanceWarning = type("PerformanceWarning", (Warning,), {})
        module.clear_memo = lambda: None
        module.experimental = lambda _: None
    return module


def fill_accelerators(module: ModuleType) -> None:
    """Let tests choose CuPy's accelerators, which change no result: there is one way to compute here."""
    chosen = {"reduction": [], "routine": []}
    for kind in chosen:
        setattr(module, f"get_{kind}_accelerators", lambda kind=kind: list(chosen[kind]))
        setattr(module, f"set_{kind}_accelerators", lambda to, kind=kind: chosen.update({kind: list(to)}))
    for value, name in enumerate(("ACCELERATOR_CUB", "ACCELERATOR_CUTENSOR", "ACCELERATOR_CUTENSORNET"), 1):
        setattr(module, name, value)
    module._set_routine_accelerators = contextlib.nullcontext
