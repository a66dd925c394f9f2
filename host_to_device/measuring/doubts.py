"""What is wrong with a measurement: named, with what to do about it.

A number that was measured wrongly looks like any other. These are the ways in which numbers about GPUs go wrong most
often, each recognised by evidence that the measurement itself has left: what it counted, how its samples lie, what
its inputs hold.
"""

from __future__ import annotations

import functools
import inspect
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from host_to_device.measuring import limits
from host_to_device.rendering import units

if TYPE_CHECKING:
    from host_to_device.counting import Count
    from host_to_device.measuring.timing import Timing

TOO_FAST = 1.3  # times the machine's own limit
COMPILES = 5.0  # times the others that the first call takes, if it did something that the others did not
COMPILES_SECONDS = 1e-3  # and this much longer: no compiler is faster, and a busy machine does the rest
LEFT_BEHIND = 0.1  # of the time measured, that the device went on after the clock had stopped
LEFT_BEHIND_SECONDS = 2e-6  # and this long at least: less is the clock's own
UNSURE = 0.1  # of the median, that the median may be off
LOOKED_AT = (
    1_000_000  # elements at the front of an array, before all of it is searched for anything but zeros
)

# Waits that come before the work that was asked for, and so are none for it.
BEFORE_THE_WORK = {"copy to the device", "another library's stream"}

ADVICE = {
    "too fast": "Look at what was counted as moved or computed, and at whether the clock waited.",
    "compile inside": "Call the function once before: h2d.time(…, warmup=1) does.",
    "no wait": "Wait for the device before the clock stops: synchronize=True does.",
    "copies left out": "Copy within what is measured, or say beside the number that the data was there already.",
    "fits in cache": "Give several sets of inputs that are larger than the cache together: inputs=[…].",
    "too few": "Repeat it more often: repeat=…, or calls=… in each sample.",
    "zeros": "Fill the inputs with numbers like those of the real work.",
}


@dataclass(frozen=True)
class Doubt:
    """One thing that is wrong: its kind, a key of `ADVICE`, and what was seen."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.text}. {ADVICE[self.kind]}"


class Arrays:
    """The arrays that a function works on, looked at before it works.

    Those among its inputs; where there are none, those that it brings along: a lambda's arrays of the notebook, the
    arguments of a `functools.partial`.

    Parameters
    ----------
    fn
        What is measured.
    inputs
        The sets of arguments that take turns.

    Attributes
    ----------
    given
        Whether they were inputs.
    on_host, on_device
        Their bytes together; the same memory counts once.
    """

    def __init__(self, fn: Callable[..., Any] | None = None, inputs: Sequence[tuple] = ()) -> None:
        arrays = [each for one in inputs for each in one if nbytes_of(each)]
        self.given = bool(arrays)
        if not arrays and fn is not None:
            arrays = [each for each in brought_along(fn) if nbytes_of(each)]
        arrays = list({(address(each), nbytes_of(each)): each for each in arrays}.values())
        self.on_host = sum(nbytes_of(each) for each in arrays if is_on_host(each))
        self.on_device = sum(nbytes_of(each) for each in arrays if not is_on_host(each))
        # All of them, or none: a result that is still zero says nothing about the numbers that it comes from.
        self._zeros = arrays if all(is_zero(each) for each in arrays) else []

    @property
    def stayed_zero(self) -> bool:
        """Whether all were zero before, and one still is: an array that has changed was a result, and no input."""
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
    """Return what is wrong with a measurement.

    Parameters
    ----------
    timing
        The measurement.
    arrays
        What it worked on.
    prepared
        What was asked of the device before, by `setup`; None where nothing was prepared.
    left_behind
        Seconds a call that the device went on after the clock had stopped.
    later
        Seconds of a call after all samples, where none came before them.
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
        peak = None if value is None else limits.peak(limit, timing.where)
        if not peak or value <= TOO_FAST * peak:
            continue
        reached = units.rate(peak, unit)
        if math.isinf(value):
            yield Doubt("too fast", f"no time passed, and this machine reaches {reached}")
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
        text = f"the first call took {units.seconds(first)}{times}: it compiled, or loaded something"
        yield Doubt("compile inside", text)


def _no_wait(timing: Timing, left_behind: float, synchronized: bool) -> Iterable[Doubt]:
    if left_behind > max(LEFT_BEHIND * timing.median, LEFT_BEHIND_SECONDS):
        went_on = f"the device went on for {units.seconds(left_behind)} a call after the clock had stopped"
        yield Doubt("no wait", f"{went_on}: the call returns before its work is done")
        return
    # A stand-in has done its work when a call returns: here only what was counted can tell.
    counts = timing.counts
    if synchronized or timing.where != "stand-in" or counts is None or not counts.operations:
        return
    reasons = {reason for line in counts.waits_by_line for reason in line.reasons}
    if reasons <= BEFORE_THE_WORK:
        what = f"{counts.operations} operation{'s' * (counts.operations != 1)}"
        yield Doubt(
            "no wait", f"the device was asked for {what} and nobody waited: a GPU would still be at work"
        )


def _copies_left_out(timing: Timing, prepared: Count | None) -> Iterable[Doubt]:
    counts = timing.counts
    if prepared is None or counts is None or not prepared.host_to_device.bytes:
        return
    if counts.host_to_device.bytes == 0:  # not None, which is: not known
        moved = units.amount(prepared.host_to_device.bytes)
        yield Doubt(
            "copies left out", f"{moved} went to the device before the clock started, none while it ran"
        )


def _fits_in_cache(timing: Timing, arrays: Arrays) -> Iterable[Doubt]:
    # What a function brings along may be anything; that it fits in cache misleads only where a rate is claimed.
    if timing.where == "stand-in" or not (arrays.given or timing.bytes):
        return
    together = arrays.on_device if timing.where == "GPU" else arrays.on_host
    cache = limits.cache_size(timing.where) if together else None
    if cache is not None and together <= cache:
        what = f"the inputs, {units.amount(together)}, fit in the cache of {units.amount(cache)}"
        yield Doubt("fits in cache", f"{what}, where each call finds what the last one left")


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
        text = f"with {many} samples that lie this far apart the median may be off by {off:.0%}"
        yield Doubt("too few", text)


def _zeros(arrays: Arrays) -> Iterable[Doubt]:
    if arrays.stayed_zero:
        yield Doubt("zeros", "the inputs are all zeros, with which some work takes less time or energy")


# Arrays of any library


def nbytes_of(value: Any) -> int:
    """Return the bytes of an array of whatever library, 0 for anything else."""
    try:
        nbytes = value.nbytes if hasattr(value, "shape") else 0
        return int(nbytes) if isinstance(nbytes, int | np.integer) else 0
    except Exception:  # no array, or one of its own kind
        return 0


def is_on_host(array: Any) -> bool:
    """Tell whether an array lies in the host's memory."""
    return isinstance(array, np.ndarray) or getattr(getattr(array, "device", None), "type", "") == "cpu"


def address(array: Any) -> Any:
    """Return where an array begins, as far as its library says; else a number that no other array has."""
    try:
        if hasattr(array, "data_ptr"):
            return array.data_ptr()
        name = "__array_interface__" if is_on_host(array) else "__cuda_array_interface__"
        return getattr(array, name)["data"][0]
    except Exception:  # an array of its own kind
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
    """Tell whether an array holds nothing but zeros; False where that cannot be told."""
    try:
        if not array.shape:
            return not has_numbers(array)
        a_row = max(1, math.prod(array.shape[1:]))
        rows = max(1, LOOKED_AT // a_row)
        if has_numbers(array[:rows]):
            return False
        return rows >= array.shape[0] or not has_numbers(array)
    except Exception:  # an array of its own kind, or memory that cannot be read: nothing is known
        return False


def has_numbers(array: Any) -> bool:
    """Tell whether an array holds anything but zeros.

    Raises
    ------
    TypeError
        If it holds no numbers, but text or records.
    """
    if hasattr(array, "copy_to_host"):  # Numba's
        array = array.copy_to_host()
    elif hasattr(array, "get"):  # CuPy's
        array = array.get()
    elif hasattr(array, "detach"):  # PyTorch's, which may have dtypes that NumPy has not
        return bool(array.detach().any())
    array = np.asarray(array)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"an array of {array.dtype} holds no numbers")
    return bool(array.any())
