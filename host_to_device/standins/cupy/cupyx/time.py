"""CuPy's `cupyx.time`: the old name of `cupyx.profiler.benchmark`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from host_to_device.standins.cupy.cupyx.profiler import _Timings as _PerfCaseResult
from host_to_device.standins.cupy.cupyx.profiler import benchmark


def repeat(
    func: Callable,
    args: tuple = (),
    kwargs: dict[str, Any] | None = None,
    n_repeat: int = 10000,
    *,
    name: str | None = None,
    n_warmup: int = 10,
    max_duration: float = math.inf,
    devices: tuple | None = None,
) -> _PerfCaseResult:
    """Return what `cupyx.profiler.benchmark` returns, with CuPy's warning that this is the name to use."""
    warnings.warn(
        "cupyx.time.repeat has been moved to cupyx.profiler.benchmark since CuPy v10. Access through cupyx.time is "
        "deprecated and will be removed in the future.",
        stacklevel=2,
    )
    given = {} if kwargs is None else kwargs
    return benchmark(
        func, args, given, n_repeat, name=name, n_warmup=n_warmup, max_duration=max_duration, devices=devices
    )
