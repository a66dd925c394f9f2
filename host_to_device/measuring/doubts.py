"""Find the reasons to doubt a measurement.

A wrong number looks like any other. This module recognises the most common mistakes in measuring GPUs, each by
evidence in the measurement itself: its counts, the spread of its samples, the contents of its inputs.
"""

from __future__ import annotations

import functools
import inspect
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from host_to_device.measuring import known_limits
from host_to_device.measuring.timings import Doubt, Timing
from host_to_device.rendering import units

if TYPE_CHECKING:
    from host_to_device.counting import Count

TOO_FAST = 1.3  # times the machine's own limit
COMPILES = (
    5.0  # times the others: a first call that took this much longer did something that the others did not
)
COMPILES_SECONDS = 1e-3  # and this many seconds longer: no compiler is faster, and a busy machine causes less
LEFT_BEHIND = 0.1  # share of the measured time for which the device went on after the clock had stopped
LEFT_BEHIND_SECONDS = 2e-6  # and at least this long: a shorter time comes from the clock
UNSURE = 0.1  # share of the median by which the median may be off
LOOKED_AT = 1_000_000  # elements at the front of an array that are searched for a non-zero before the rest is

# These waits come before the work, so they do not wait for it.
BEFORE_THE_WORK = {"copy to the device", "another library's stream"}


class Arrays:
    """The arrays that a function works on, examined before it works.

    These are the arrays among its inputs. A function without array inputs brings its own: the arrays of the notebook
    that a lambda uses, or the arguments of a `functools.partial`.

    Parameters
    ----------
    fn
        The function that is measured.
    inputs
        The sets of arguments that take turns.

    Attributes
    ----------
    on_host, on_device
        Their bytes together; memory that two arrays share counts once.
    """

    def __init__(self, fn: Callable[..., Any] | None = None, inputs: Sequence[tuple] = ()) -> None:
        arrays = [each for one in inputs for each in one if nbytes_of(each)]
        if not arrays and fn is not None:
            arrays = [each for each in brought_along(fn) if nbytes_of(each)]
        arrays = list({(address(each), nbytes_of(each)): each for each in arrays}.values())
        self.on_host = sum(nbytes_of(each) for each in arrays if is_on_host(each))
        self.on_device = sum(nbytes_of(each) for each in arrays if not is_on_host(each))
        # Only if all are zero: a result that is still zero says nothing about the inputs.
        self._zeros = arrays if all(is_zero(each) for each in arrays) else []

    @property
    def stayed_zero(self) -> bool:
        """Whether all were zero before and one still is: an array that has changed was a result, not an input."""
        return any(is_zero(each) for each in self._zeros)


def doubts_about(
    timing: Timing,
    arrays: Arrays | None = None,
    *,
    prepared: Count | None = None,
    left_behind: float = 0.0,
    later: float | None = None,
    synchronized: bool = True,
) -> list[Doubt]:
    """Return the reasons to doubt a measurement.

    Parameters
    ----------
    timing
        The measurement.
    arrays
        The arrays that it worked on.
    prepared
        What `setup` asked of the device; None where there was no `setup`.
    left_behind
        Seconds per call for which the device went on after the clock had stopped.
    later
        Seconds of a call after all samples, where there was no warm-up.
    synchronized
        Whether the clock waited for the device.
    """
    arrays = arrays or Arrays()
    return [
        *_too_fast(timing),
        *_compile_inside(timing, later),
        *_no_wait(timing, left_behind, synchronized),
        *_copies_left_out(timing, prepared),
        *_fits_in_cache(timing, arrays),
        *_too_few(timing),
        *_zeros(arrays),
    ]


def _too_fast(timing: Timing) -> Iterable[Doubt]:
    if timing.where == "stand-in":
        return
    for value, unit, limit in (
        (timing.bandwidth, "B/s", "copy bandwidth"),
        (timing.flop_rate, "FLOP/s", "matmul"),  # of whatever dtype is fastest
    ):
        peak = known_limits.peak(limit, timing.where) if value is not None else None
        if value is None or not peak or value <= TOO_FAST * peak:
            continue
        reached = units.rate(peak, unit)
        if math.isinf(value):
            yield Doubt("too fast", f"the clock saw no time pass, but this machine reaches {reached}")
        else:
            much = (
                f"{units.rate(value, unit)} is {units.digits(value / peak)} times what this machine reaches"
            )
            yield Doubt("too fast", f"{much}, {reached}")


def _compile_inside(timing: Timing, later: float | None) -> Iterable[Doubt]:
    if timing.first is not None:
        return
    first, *others = timing.samples
    if later is not None:
        others.append(later)
    if not others:
        return
    usual = statistics.median(others)
    if first > COMPILES * usual and first - usual > COMPILES_SECONDS:
        times = f", {first / usual:,.0f} times as long as the others" if usual else ""
        text = f"the first call took {units.seconds(first)}{times}: it compiled or loaded code"
        yield Doubt("compile inside", text)


def _no_wait(timing: Timing, left_behind: float, synchronized: bool) -> Iterable[Doubt]:
    if left_behind > max(LEFT_BEHIND * timing.median, LEFT_BEHIND_SECONDS):
        went_on = f"the device worked for {units.seconds(left_behind)} a call after the clock stopped"
        yield Doubt("no wait", f"{went_on}: the call returns before its work is done")
        return
    # A stand-in has done its work when a call returns, so only the counts can show that nothing waited.
    counts = timing.counts
    if synchronized or timing.where != "stand-in" or counts is None or not counts.operations:
        return
    reasons = {reason for line in counts.waits_by_line for reason in line.reasons}
    if reasons <= BEFORE_THE_WORK:
        what = f"{counts.operations} operation{'s' * (counts.operations != 1)}"
        yield Doubt(
            "no wait",
            f"the call started {what} on the device, and the host did not wait: a GPU would still be at work",
        )


def _copies_left_out(timing: Timing, prepared: Count | None) -> Iterable[Doubt]:
    counts = timing.counts
    if prepared is None or counts is None or not prepared.host_to_device.bytes:
        return
    if counts.host_to_device.bytes == 0:  # a number that is not known equals none
        moved = units.amount(prepared.host_to_device.bytes)
        yield Doubt(
            "copies left out",
            f"{moved} went to the device before the clock started, and no data while it ran",
        )


def _fits_in_cache(timing: Timing, arrays: Arrays) -> Iterable[Doubt]:
    # A cache misleads only where a rate of the memory is claimed. A rate of operations is of the arithmetic units.
    if timing.where == "stand-in" or not timing.bytes:
        return
    together = arrays.on_device if timing.where == "GPU" else arrays.on_host
    cache = known_limits.cache_size(timing.where) if together else None
    if cache is not None and together <= cache:
        what = f"the inputs, {units.amount(together)}, fit in the cache of {units.amount(cache)}"
        yield Doubt("fits in cache", f"{what}, so each call reads what the last call left there")


def _too_few(timing: Timing) -> Iterable[Doubt]:
    many = len(timing.samples)
    if many < 3:
        yield Doubt(
            "too few", f"{many} sample{'s' * (many != 1)} show{'s' * (many == 1)} nothing about the spread"
        )
        return
    if not timing.median:
        yield Doubt("too few", "the clock saw no time pass")
        return
    # The notch of a box plot: medians whose notches do not overlap differ, at about 95 % (McGill, Tukey and Larsen,
    # "Variations of Box Plots", The American Statistician 32, 1978).
    off = 1.57 * timing.spread / math.sqrt(many)
    if off > UNSURE:
        text = f"the {many} samples differ so much that the median may be off by {off:.0%}"
        yield Doubt("too few", text)


def _zeros(arrays: Arrays) -> Iterable[Doubt]:
    if arrays.stayed_zero:
        yield Doubt("zeros", "the inputs are all zeros, and some work takes less time or energy with zeros")


# Arrays of any library


def nbytes_of(value: Any) -> int:
    """Return the bytes of an array of any library, 0 for anything else."""
    try:
        nbytes = value.nbytes if hasattr(value, "shape") else 0
        return int(nbytes) if isinstance(nbytes, int | np.integer) else 0
    except Exception:  # not an array, or one that behaves otherwise
        return 0


def is_on_host(array: Any) -> bool:
    """Return whether an array lies in the host's memory."""
    return isinstance(array, np.ndarray) or getattr(getattr(array, "device", None), "type", "") == "cpu"


def address(array: Any) -> Any:
    """Return where an array begins, if its library says so; otherwise a value that no other array has."""
    try:
        if hasattr(array, "data_ptr"):
            return array.data_ptr()
        name = "__array_interface__" if is_on_host(array) else "__cuda_array_interface__"
        return getattr(array, name)["data"][0]
    except Exception:  # an array without these attributes
        return "no address", id(array)


def brought_along(fn: Callable[..., Any]) -> list[Any]:
    """Return the values that a function refers to by name, or that a `functools.partial` holds."""
    if isinstance(fn, functools.partial):
        return [*fn.args, *fn.keywords.values(), *brought_along(fn.func)]
    try:
        named = inspect.getclosurevars(fn)
    except (TypeError, ValueError):  # not written in Python
        return []
    return [*named.nonlocals.values(), *named.globals.values()]


def is_zero(array: Any) -> bool:
    """Return whether an array holds only zeros; False where that cannot be found out."""
    try:
        if not array.shape:
            return not has_numbers(array)
        a_row = max(1, math.prod(array.shape[1:]))
        rows = max(1, LOOKED_AT // a_row)
        if has_numbers(array[:rows]):
            return False
        return rows >= array.shape[0] or not has_numbers(array)
    except Exception:  # an array without these operations, or memory that cannot be read
        return False


def has_numbers(array: Any) -> bool:
    """Return whether an array holds a number other than zero.

    Raises
    ------
    TypeError
        If it holds text or records instead of numbers.
    """
    if hasattr(array, "copy_to_host"):  # Numba's
        array = array.copy_to_host()
    elif hasattr(array, "get"):  # CuPy's
        array = array.get()
    elif hasattr(array, "detach"):  # PyTorch's, whose dtypes NumPy may not have
        return bool(array.detach().any())
    array = np.asarray(array)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"an array of {array.dtype} holds no numbers")
    return bool(array.any())
