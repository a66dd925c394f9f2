"""Modules that a library's tests import besides what the library documents, and what stands for them."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable
from types import ModuleType


class Internal(type):
    """What stands for something internal to a library: it can be imported and named, and nothing else."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return internal(f"{cls.__name__}.{name}")

    def __call__(cls, *_, **__):
        raise NotImplementedError(f"internal to the library: {cls.__name__}")

    def __init__(cls, *_, **__):
        super().__init__(*_)


def internal(name: str) -> Internal:
    """Return what stands for an internal name."""
    return Internal(name, (), {})


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules below `top` that the stand-in lacks: `make` returns the module of a name, or None.

    It comes last, so that whatever the stand-in has is the stand-in's.
    """

    def __init__(self, tops: tuple[str, ...], make: Callable[[str], ModuleType | None]) -> None:
        self.tops, self.make = tuple(f"{top}." for top in tops), make
        self.made: dict[str, ModuleType] = {}

    def find_spec(self, fullname, path=None, target=None):
        """Return the spec of a module that `make` makes."""
        if not fullname.startswith(self.tops):
            return None
        module = self.make(fullname)
        if module is None:
            return None
        self.made[fullname] = module
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        spec.submodule_search_locations = list(getattr(module, "__path__", ()))
        return spec

    def create_module(self, spec):
        """Return the module that was made; its own spec stays."""
        module = self.made[spec.name]
        self.spec = getattr(module, "__spec__", None)
        return module

    def exec_module(self, module):
        """Put the module's own spec back, which the import has overwritten."""
        if self.spec is not None:
            module.__spec__ = self.spec


def placeholder(name: str, of: ModuleType | None = None) -> ModuleType:
    """Return a module with the names of another one; all other names are internal."""
    module = ModuleType(name)
    module.__path__ = []

    def missing(each: str):
        if each.startswith("__"):
            raise AttributeError(each)
        return getattr(of, each) if hasattr(of, each) else internal(f"{name}.{each}")

    module.__all__ = [each for each in dir(of) if not each.startswith("__")] if of else []
    module.__getattr__ = missing
    return module


def imported(name: str) -> ModuleType | None:
    """Return a module if there is one."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def give(module: ModuleType, name: str, value) -> None:
    """Give a module a name that it lacks."""
    try:
        there = hasattr(module, name)
    except ImportError:
        there = False
    if not there:
        setattr(module, name, value)


def forget(prefix: str) -> None:
    """Take a module and what is below it out of those imported."""
    for each in [each for each in sys.modules if each == prefix or each.startswith(f"{prefix}.")]:
        del sys.modules[each]
