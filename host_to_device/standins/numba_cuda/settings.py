"""The settings of launches on the stand-in: compiled or interpreted, the order of threads, the time limit."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from host_to_device.support.installed import has_numba

HAS_NUMBA = has_numba()


@dataclass(frozen=True)
class Settings:
    """The settings of a launch. By default it is compiled if Numba is installed, in order, for at most a minute.

    With `small_first`, a small launch of a plain kernel is interpreted: that takes less time than to compile it.
    """

    interpreted: bool = not HAS_NUMBA
    seed: int | None = None
    seconds: float = 60.0
    small_first: bool = False


_current = Settings()


def settings_now() -> Settings:
    """Return the settings for the next launch."""
    return _current


def interpret_small_launches(on: bool = True) -> None:
    """From now on, interpret small launches of plain kernels and compile the others, as a grader wants it.

    The results are the same. A kernel that is launched often is compiled after a while.
    """
    global _current
    _current = replace(_current, small_first=on)


@contextlib.contextmanager
def stand_in(
    *, interpreted: bool | None = None, seed: int | None = None, seconds: float | None = None
) -> Iterator[Settings]:
    """Change how launches run on the stand-in, within a `with` block.

    Parameters
    ----------
    interpreted
        True runs kernels as plain Python instead of compiling them: slower, and it needs no Numba.
    seed
        Seed of a random order of blocks and threads. A kernel whose result depends on the seed is wrong.
    seconds
        Time after which a launch is stopped.

    Raises
    ------
    ValueError
        If `seconds` is not a positive number, `seed` is not a whole number from 0, or `interpreted` is False and
        Numba is not installed.

    Examples
    --------
    >>> from numba import cuda
    >>> @cuda.jit
    ... def last(out):
    ...     out[0] = cuda.grid(1)  # a race: every thread stores
    >>> out = cuda.to_device(np.zeros(1))
    >>> with h2d.stand_in(seed=1):
    ...     last[1, 100](out)
    >>> int(out[0]) in range(100)  # which thread comes last depends on the seed
    True
    """
    global _current
    if seed is not None and not (isinstance(seed, int | np.integer) and seed >= 0):
        raise ValueError(f"seed is {seed!r}: give a whole number from 0")
    changes = {"seed": seed}
    if interpreted is not None:
        if not interpreted and not HAS_NUMBA:
            raise ValueError("kernels cannot be compiled without Numba: leave out interpreted=False")
        changes["interpreted"] = interpreted
    if seconds is not None:
        if not (isinstance(seconds, int | float | np.number) and seconds > 0):
            raise ValueError(f"seconds is {seconds!r}: give a positive number")
        changes["seconds"] = seconds
    before = _current
    _current = replace(_current, **changes)
    try:
        yield _current
    finally:
        _current = before
