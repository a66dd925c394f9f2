"""A wrong case: a kernel with one mistake, what its author believed, and what a check must say of it.

The rules are those of the CUDA programming guide and of `compute-sanitizer`, not of one GPU: a kernel that
happens to give the right answer is as wrong as any other.

- A line that a report must name, or one of several, ends in the comment `# !finding`. A case in which the
  launch alone is at fault has no such line.
- `expected` of the case is what the right program gives.
- `also` lists what the same mistake may show as besides: where a barrier is missing, a thread that comes
  early reads shared memory that nobody has written yet. A report may name it; it must name `finding`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.corpora.kernels.case import Case, Launch

OUT_OF_BOUNDS = "out of bounds"
RACE = "race"
UNINITIALISED_READ = "uninitialised read"
UNWRITTEN_OUTPUT = "unwritten output"
BARRIER_DIVERGENCE = "barrier divergence"
LAUNCH_LIMIT = "launch limit"
ORDER_DEPENDENCE = "order dependence"
WARP_SYNCHRONISATION = "warp synchronisation"
NO_PROGRESS = "no progress"
FINDINGS = (
    OUT_OF_BOUNDS,
    RACE,
    UNINITIALISED_READ,
    UNWRITTEN_OUTPUT,
    BARRIER_DIVERGENCE,
    LAUNCH_LIMIT,
    ORDER_DEPENDENCE,
    WARP_SYNCHRONISATION,
    NO_PROGRESS,
)

SHARED, GLOBAL, LOCAL = "shared", "global", "local"
WRITE_WRITE, READ_WRITE, ATOMIC_PLAIN = "write/write", "read/write", "atomic/plain"

MARK = "# !finding"


@dataclass(frozen=True)
class Wrong:
    name: str
    misconception: str  # what the author believed
    case: Case
    finding: str  # one of `FINDINGS`
    space: str | None = None  # the memory concerned
    pair: str | None = (
        None  # of a race; an update in place (`+=`), which is two of them, counts as read/write
    )
    outputs: tuple[str, ...] = ()  # of an unwritten output: the arrays that the program must fill
    often_right: bool = False  # whether a GPU would often give the right answer all the same
    also: tuple[str, ...] = ()  # findings that follow from the same mistake
    helpers: tuple[Any, ...] = ()  # device functions in which lines are marked, too

    @property
    def lines(self) -> set[int]:
        """The marked lines of all kernels of the case."""
        kernels = [launch.kernel for launch in self.case.plan(self.case.fresh())]
        return set().union(*(marked_lines(function) for function in [*kernels, *self.helpers]))


def marked_lines(kernel: Any) -> set[int]:
    """Give the numbers, in its file, of the lines of a kernel or device function that are marked."""
    function = getattr(kernel, "py_func", None) or getattr(kernel, "fn", kernel)
    lines, first = inspect.getsourcelines(function)
    return {first + offset for offset, line in enumerate(lines) if line.rstrip().endswith(MARK)}


def wrong(
    name: str,
    misconception: str,
    *,
    finding: str,
    inputs: Callable[[Any], dict[str, Any]],
    launches: list[Launch],
    expected: Callable[[dict[str, Any]], dict[str, Any]],
    rtol: float = 0.0,
    **about: Any,
) -> Wrong:
    """Make a wrong case and the case in it."""
    case = Case(name, inputs, launches, expected, kinds=("wrong", finding), rtol=rtol, simulator=False)
    return Wrong(name, misconception, case, finding, **about)
