"""`check(kernel)[grid, block](…)`: what a learner calls."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from host_to_device.checking import limits
from host_to_device.checking.cuda_cpp import RawRun, is_raw
from host_to_device.checking.report import Finding, Report
from host_to_device.checking.schedules import Run
from host_to_device.standins import events
from host_to_device.standins.numba_cuda import rewriting
from host_to_device.standins.numba_cuda.launching import (
    CUDADispatcher,
    Launch,
    dimensions,
    is_device_function,
)
from host_to_device.standins.numba_cuda.rewriting import WARP_SIZE


class CheckError(AssertionError):
    """Raised by a strict check that has found something; the message is the report, `report` the object."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


def check(
    kernel: Any,
    *,
    outputs: str | Sequence[str] = (),
    any_order: str | Sequence[str] = (),
    not_compared: str | Sequence[str] = (),
    schedules: int = 3,
    seconds: float = 30.0,
    accesses: int = 50_000_000,
    warp_size: int = WARP_SIZE,
    capability: Any = "7.5",
    notes: bool = False,
    strict: bool = False,
    interpreted: bool | None = None,
) -> Check:
    """Check a kernel: `check(kernel)[grid, block](…)` runs it under watch and returns a report.

    It runs on the CPU, also where there is a GPU, and on copies: no argument is changed.

    Parameters
    ----------
    kernel
        A kernel made by `cuda.jit`, the stand-in's or Numba's own; or CuPy's `RawKernel`, of which less can be seen
        (`checking.raw`).
    outputs
        Names of parameters whose every element the launch has to write.
    any_order
        Names of parameters whose elements may come in any order (a list filled through an atomic counter).
    not_compared
        Names of parameters that may end up otherwise from order to order (the links of a list, a counter's tickets).
    schedules
        In how many orders the blocks and threads run: as they count, backwards, and shuffled by seed 1, 2, …
    seconds, accesses
        Time and number of accesses, for all schedules together, after which the check ends with a report on what
        it has seen.
    warp_size
        32 lanes, or the 64 of AMD's data centre GPUs.
    capability
        Compute capability whose limits a launch has to keep, such as "7.5" or (9, 0).
    notes
        Whether to count, besides, what costs time: sectors a request, bank conflicts, divergence, idle threads.
    strict
        Whether to raise `CheckError` instead of returning a report that has findings.
    interpreted
        True runs the kernel as plain Python, False compiled as far as that can be; by default small launches are
        interpreted and large ones compiled.

    Raises
    ------
    TypeError
        If it is not given a kernel.
    ValueError
        If an option is not one of the above.
    """
    if not (isinstance(schedules, int | np.integer) and schedules >= 1):
        raise ValueError(f"schedules is {schedules!r}: give a whole number from 1")
    for name, value in (("seconds", seconds), ("accesses", accesses)):
        if isinstance(value, bool) or not (isinstance(value, int | float | np.number) and value > 0):
            raise ValueError(f"{name} is {value!r}: give a positive number")
    if warp_size not in (32, 64):
        raise ValueError(f"warp_size is {warp_size!r}: a warp has 32 lanes, or 64 on some GPUs of AMD")
    known = limits.capability(capability)
    checked = stand_in_of(kernel)
    named = {}
    for option, given in (
        ("outputs", outputs),
        ("any_order", any_order),
        ("not_compared", not_compared),
    ):
        named[option] = (given,) if isinstance(given, str) else tuple(given)
    return Check(
        checked,
        **named,
        schedules=int(schedules),
        seconds=float(seconds),
        accesses=accesses,
        warp_size=int(warp_size),
        capability=known,
        notes=notes,
        interpreted=interpreted,
        strict=strict,
    )


def stand_in_of(kernel: Any, caller: str = "check", more: str = "") -> Any:
    """Return the stand-in's form of a kernel, or say why there is none.

    `caller` is the function that was given it, `more` what follows the kernel in its call.
    """
    name = getattr(kernel, "__name__", type(kernel).__name__)
    if isinstance(kernel, CUDADispatcher):
        if kernel.device:
            raise TypeError(f"{name}() is a device function: check a kernel that calls it")
        return kernel
    if is_raw(kernel):
        return kernel
    family = type(kernel).__module__.removeprefix("host_to_device.standins.").split(".")[0]
    if family == "cupy":
        raise TypeError(
            f"{type(kernel).__name__} is nothing that h2d.{caller} can launch: give it a RawKernel"
        )
    if hasattr(kernel, "py_func") and type(kernel).__module__.startswith("numba.cuda"):
        if getattr(kernel, "targetoptions", {}).get("device"):
            raise TypeError(f"{name}() is a device function: check a kernel that calls it")
        return CUDADispatcher(kernel.py_func, False, [])
    if isinstance(kernel, Launch):
        raise TypeError(
            f"{caller} takes the kernel by itself: {caller}({kernel.kernel.__name__}{more})[grid, block](…)"
        )
    if callable(kernel):
        raise TypeError(f"{name}() is a function of the host: {caller} takes what @cuda.jit makes of it")
    raise TypeError(f"{caller} takes a kernel made by @cuda.jit, and got {kernel!r}")


class Check:
    """A kernel to be checked; give it a launch configuration and arguments as for a launch."""

    def __init__(self, kernel: CUDADispatcher, *, strict: bool, **options: Any) -> None:
        self.kernel, self.strict = kernel, strict
        self.options = options
        for name, value in options.items():
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"<check of {self.kernel.__name__}: give it [grid, block] and the arguments>"

    def __call__(self, *_: Any, **__: Any) -> None:
        raise TypeError(
            f"say how to launch it: check({self.kernel.__name__})[grid, block](arguments), as for the launch itself"
        )

    def __getitem__(self, configuration: Any) -> Any:
        if not isinstance(configuration, tuple) or len(configuration) not in (2, 3, 4):
            raise ValueError("must specify at least the griddim and blockdim")

        def run(*arguments: Any) -> Report:
            with events.unheard():
                report = self.run(configuration, arguments)
            if self.strict and not report:
                raise CheckError(report)
            return report

        return run

    @property
    def program(self) -> rewriting.Program:
        if self.warp_size == WARP_SIZE:
            return self.kernel.program
        return rewriting.program(self.kernel.py_func, is_device_function, self.warp_size)

    def run(self, configuration: tuple, arguments: tuple) -> Report:
        began = time.monotonic()
        if is_raw(self.kernel):
            return RawRun(self, configuration, arguments, began).report()
        griddim, blockdim, *rest = configuration
        grid, block = (
            dimensions(size, name, None) for size, name in ((griddim, "griddim"), (blockdim, "blockdim"))
        )
        dynamic = int(rest[1]) if len(rest) > 1 else 0
        copied: list[str] = []
        parameters = self.kernel.program.kernel.parameters
        names = parameters if len(parameters) == len(arguments) else [""] * len(arguments)
        values = [self.on_host(value, name, copied) for value, name in zip(arguments, names, strict=True)]
        arrays = self.shared_arrays(values)
        if found := limits.broken(grid, block, arrays, dynamic, self.capability):
            return self.refused(found, began)
        launch = Launch(self.kernel, *configuration)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what a launch copies: a check copies everything
            prepared = launch.prepare(tuple(values), {}, [])
        names = launch.kernel.program.kernel.parameters
        self.check_names(
            [name for name, value in zip(names, prepared, strict=True) if isinstance(value, np.ndarray)]
        )
        remarks = [f"Copied from the GPU to be checked here: {', '.join(copied)}."] if copied else []
        return Run(self, launch, prepared, began, remarks).report()

    @staticmethod
    def on_host(value: Any, name: str, copied: list[str]) -> Any:
        """Return an argument as the stand-in takes it: arrays on a real GPU are copied."""
        if type(value).__module__.startswith("host_to_device") or isinstance(value, np.ndarray):
            return value
        if hasattr(value, "copy_to_host"):
            copied.append(name)
            return value.copy_to_host()
        if hasattr(value, "__cuda_array_interface__"):
            copied.append(name)
            return value.get() if hasattr(value, "get") else value.detach().cpu().numpy()
        return value

    def shared_arrays(self, values: list) -> list[rewriting.SharedArray]:
        """Return the shared arrays whose size is known before the launch."""
        program = self.kernel.program
        parameters = program.kernel.parameters
        if len(parameters) != len(values):
            return []  # the launch itself says so
        return rewriting.of_types(
            program.shared, parameters, [getattr(value, "dtype", None) for value in values]
        )

    def refused(self, found: list[limits.Broken], began: float) -> Report:
        code = self.kernel.py_func.__code__
        findings = tuple(
            Finding(
                "launch limit",
                each.text,
                code.co_filename,
                (each.line or self.kernel.program.kernel.tree.lineno,),
                space=each.space,
                advice=each.advice,
            )
            for each in found
        )
        return Report(self.kernel.__name__, findings, 0, 0, 0, time.monotonic() - began)

    def check_names(self, arrays: Sequence[str]) -> None:
        """Refuse options that name an array which the launch does not have."""
        for option in ("outputs", "any_order", "not_compared"):
            for name in getattr(self, option):
                if name not in arrays:
                    kernel = getattr(self.kernel, "__name__", "") or self.kernel.name
                    raise ValueError(
                        f"{option}: {kernel}() has no array called {name!r}; it has {', '.join(arrays) or 'none'}"
                    )


__all__ = ["Check", "CheckError", "check"]
