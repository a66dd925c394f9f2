"""`check(kernel)[grid, block](…)`: the function that a learner calls, and its options."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from host_to_device.checking import limits
from host_to_device.checking.cuda_cpp import RawRun
from host_to_device.checking.options import CheckOptions, names, positive, whole
from host_to_device.checking.report import Finding, Report
from host_to_device.checking.schedules import Run
from host_to_device.standins import events
from host_to_device.standins.host_copies import HostCopies, without_stream
from host_to_device.standins.kernels import is_raw, name_of, stand_in_of
from host_to_device.standins.numba_cuda import rewriting
from host_to_device.standins.numba_cuda.launching import Launch, dimensions
from host_to_device.standins.numba_cuda.rewriting import WARP_SIZE
from host_to_device.standins.warp_sizes import known_warp_size
from host_to_device.starting import context
from host_to_device.support.installed import SetUpError

UNREADABLE = (
    "h2d.check cannot copy the arguments from the GPU, because an earlier kernel failed there (CUDA_ERROR_{}). Restart the "
    "notebook's kernel and run the cells again, or give the check host arrays"
)


class CheckError(AssertionError):
    """Raised by a strict check that finds something: the message is the report as text, `report` the object."""

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

    It runs on the CPU, also on a machine with a GPU, and on copies: no argument is changed.

    Parameters
    ----------
    kernel
        A kernel made by `cuda.jit`, the stand-in's or Numba's own, or CuPy's `RawKernel`, which shows less
        (`checking.cuda_cpp`).
    outputs
        Names of parameters: the launch has to write every element of each.
    any_order
        Names of parameters whose elements may come in any order, such as a list filled through an atomic counter.
    not_compared
        Names of parameters that may differ from order to order, such as the links of a list.
    schedules
        In how many orders the blocks and threads run: ascending, descending, then shuffled by seed 1, 2, …
    seconds, accesses
        Time and number of accesses for all schedules together, compiling not counted. The check ends when either is
        used up, and reports what it has found so far. Accesses are counted for kernels in Python.
    warp_size
        32 lanes, or 64 as on AMD's GPUs for data centres.
    capability
        Compute capability whose limits the launch has to keep, such as "7.5" or (9, 0).
    notes
        Whether to also count what costs time: sectors a request, bank conflicts, divergence, idle threads.
    strict
        Whether to raise `CheckError` instead of returning a report that has findings, or that saw nothing.
    interpreted
        True runs the kernel as plain Python, False compiles it where compiled code can be watched. By default small
        launches are interpreted and large ones compiled.

    Raises
    ------
    TypeError
        If `kernel` is not a kernel.
    ValueError
        If an option has a value that means nothing.

    Examples
    --------
    >>> from numba import cuda
    >>> @cuda.jit
    ... def double(x, out):
    ...     i = cuda.grid(1)
    ...     out[i] = 2 * x[i]
    >>> x, out = np.arange(100.0), np.zeros(100)
    >>> report = h2d.check(double)[1, 128](x, out)
    >>> print(report)
    check of double: 1 error...
    1. out of bounds: thread 100 of block 0 reads x[100], but x has 100 elements...
    >>> bool(report)  # True for a report without errors
    False
    """
    options = CheckOptions(
        outputs=names(outputs),
        any_order=names(any_order),
        not_compared=names(not_compared),
        schedules=whole("schedules", schedules),
        seconds=float(positive("seconds", seconds)),
        accesses=positive("accesses", accesses),
        warp_size=known_warp_size(warp_size),
        capability=limits.capability(capability),
        notes=notes,
        strict=strict,
        interpreted=interpreted,
    )
    return Check(stand_in_of(kernel, "check"), options)


class Check:
    """A kernel to be checked; give it a launch configuration and arguments as for a launch."""

    def __init__(self, kernel: Any, options: CheckOptions) -> None:
        self.kernel, self.options = kernel, options

    def __repr__(self) -> str:
        return f"<check of {name_of(self.kernel)}: give it [grid, block] and the arguments>"

    def __call__(self, *_: Any, **__: Any) -> None:
        raise TypeError(
            f"the launch configuration is missing: check({name_of(self.kernel)})[grid, block](arguments)"
        )

    def __getitem__(self, configuration: Any) -> Any:
        if not isinstance(configuration, tuple) or len(configuration) not in (2, 3, 4):
            raise ValueError("must specify at least the griddim and blockdim")

        def run(*arguments: Any) -> Report:
            try:
                with events.unheard():
                    report = self.run(configuration, arguments)
            except Exception as problem:
                if context.fatal_error(
                    problem
                ):  # while it copied the arguments: the check itself needs no GPU
                    raise SetUpError(UNREADABLE.format(context.fatal_error(problem))) from None
                raise
            if self.options.strict and not report:
                raise CheckError(report)
            return report

        return run

    @property
    def program(self) -> rewriting.Program:
        """The kernel rewritten for the warp size of the check."""
        if self.options.warp_size == WARP_SIZE:
            return self.kernel.program
        return self.kernel.program_for(self.options.warp_size)

    def run(self, configuration: tuple, arguments: tuple) -> Report:
        """Check one launch."""
        began = time.monotonic()
        if is_raw(self.kernel):
            return RawRun(self.kernel, self.options, configuration, arguments, began).report()
        configuration = without_stream(configuration)
        griddim, blockdim, *rest = configuration
        grid, block = (
            dimensions(size, name, None) for size, name in ((griddim, "griddim"), (blockdim, "blockdim"))
        )
        dynamic = int(rest[1]) if len(rest) > 1 else 0
        copies = HostCopies(arguments)
        arrays = self.shared_arrays(copies.values)
        if found := limits.broken(grid, block, arrays, dynamic, self.options.capability):
            return self.refused(found, began)
        launch = Launch(self.kernel, *configuration)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about host arrays that a launch copies
            prepared = launch.prepare(tuple(copies.values), {}, [])
        launch.refuse_unaligned_fields(prepared)
        parameters = self.kernel.program.kernel.parameters
        self.options.refuse_unknown_names(
            self.kernel.__name__,
            [name for name, value in zip(parameters, prepared, strict=True) if isinstance(value, np.ndarray)],
        )
        copied = [name for name, given in zip(parameters, arguments, strict=True) if copies.copied(given)]
        remarks = [f"The check copied from the GPU: {', '.join(copied)}."] if copied else []
        return Run(self.kernel, self.program, self.options, launch, prepared, began, remarks).report()

    def shared_arrays(self, values: list) -> list[rewriting.SharedArray]:
        """Return the shared arrays whose size is known before the launch."""
        program = self.kernel.program
        parameters = program.kernel.parameters
        if len(parameters) != len(values):
            return []  # the launch itself raises
        return rewriting.of_types(
            program.shared, parameters, [getattr(value, "dtype", None) for value in values]
        )

    def refused(self, found: list[limits.Broken], began: float) -> Report:
        """Return the report on a launch that a GPU would refuse: nothing was run."""
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


__all__ = ["Check", "CheckError", "check"]
