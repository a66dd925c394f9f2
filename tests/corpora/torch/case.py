"""Programs for PyTorch: what they are given, and what of their outcome may differ from CUDA's.

A program names what it needs: `torch`; `h2d`; `first` and `second`, devices; `gpu`, the module that goes with them
(`torch.cuda`, or the stand-in's); `cp` and `cuda`, CuPy and `numba.cuda`. It returns plain values: numbers, strings,
lists. CUDA's outcome is written down; before the comparison the stand-in's name becomes CUDA's, and the name of
the dispatcher's wrapper is left out.
"""

from __future__ import annotations

import gc
import inspect
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from tests.corpora.cupy import case
from tests.corpora.cupy.case import Program, Raises

NAME = "standin"  # what the stand-in's devices are called

# What a program may ask for and a machine may lack, in words.
LACKING = {"second": "a second device", "cp": "CuPy", "cuda": "numba.cuda"}


def documentation(page: str, section: str) -> str:
    return f"https://docs.pytorch.org/docs/stable/{page}.html: {section}"


def source(path: str, name: str) -> str:
    return f"PyTorch source, {path}: {name}"


def program(outcome, reference: str, *kinds: str) -> Callable[[Callable], Program]:
    """Make a program of a function; its name is the function's, in words."""

    def make(function: Callable) -> Program:
        return Program(function.__name__.replace("_", " "), function, outcome, reference, kinds)

    return make


def found_two(first: str = "cuda:0", other: str = "cpu") -> Raises:
    """What TensorIterator says: the first device that is not the CPU, then the one that differs."""
    return Raises(
        "RuntimeError",
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{first} and {other}!",
    )


def got(argument: str, device: str, others: str) -> Raises:
    """What the dispatcher's wrapper says: the first argument that is not where those before it are."""
    return Raises(
        "RuntimeError",
        f"Expected all tensors to be on the same device, but got {argument} is on {device}, "
        f"different from other tensors on {others} (when checking argument in method wrapper)",
    )


def needs(program: Program) -> tuple[str, ...]:
    """Return the names that a program asks for."""
    return tuple(inspect.signature(program.run).parameters)


def as_on_cuda(value: Any) -> Any:
    """Give a value with CUDA's names in place of the stand-in's; others stay as they are."""
    if isinstance(value, str):
        value = value.replace(NAME, "cuda").replace(NAME.upper(), "CUDA")
        return re.sub(
            r"\(when checking argument in method \w+\)", "(when checking argument in method wrapper)", value
        )
    if isinstance(value, tuple | list):
        return type(value)(map(as_on_cuda, value))
    if isinstance(value, dict):
        return {as_on_cuda(key): as_on_cuda(one) for key, one in value.items()}
    return value


class Place:
    """Where programs run: the devices and modules that there are, by the names that programs use.

    Parameters
    ----------
    torch, h2d
        The two modules; `h2d.device(0)` is the first device, `h2d.device(1)` the second, where there is one.
    others
        CuPy as `cp` and `numba.cuda` as `cuda`, where they are.
    """

    def __init__(self, torch: ModuleType, h2d: ModuleType, **others: Any) -> None:
        first = h2d.device(0)
        self.torch = torch
        self.given = {
            "torch": torch,
            "h2d": h2d,
            "first": first,
            "gpu": torch.get_device_module(first),
            **others,
        }
        if torch.accelerator.device_count() > 1:
            self.given["second"] = h2d.device(1)

    def lacks(self, program: Program) -> str | None:
        """Say what a program needs and this machine has not; None if all is there."""
        lacking = [LACKING.get(name, name) for name in needs(program) if name not in self.given]
        return " and ".join(lacking) or None

    def difference(self, program: Program) -> str | None:
        """Run a program and say in one line what is not as expected; None if all is well."""
        lacking = self.lacks(program)
        if lacking:
            return f"there is not {lacking}"
        self.tidy("memory" in program.kinds or "out of memory" in program.kinds)
        try:
            return case.compared(program.outcome, lambda: self.run(program), np, as_on_cuda)
        finally:
            self.tidy()

    def run(self, program: Program) -> Any:
        return program.run(**{name: self.given[name] for name in needs(program)})

    def tidy(self, memory: bool = False) -> None:
        """Undo what a program may have left: the default device, the current device, a seed; on demand cached memory."""
        self.torch.set_default_device(None)
        self.torch.accelerator.set_device_index(0)
        self.torch.manual_seed(0)
        if memory:
            gc.collect()
            self.given["gpu"].empty_cache()
