"""The findings of a watched launch: races, and reads of shared memory that no thread has written.

`runtime/races.h` finds them while the kernel runs. This module adds the arrays' names, the elements and the lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from host_to_device.standins.cuda_cpp import lines, sources
from host_to_device.standins.cuda_cpp.parameters import Passed

KINDS = ("read", "write", "atomic")
IN_CODE = 1 << 31  # from here on, a site is an address in the code; below, it is a line


class Touch(NamedTuple):
    """One access: its kind ("read", "write" or "atomic"), line, block and thread."""

    kind: str
    line: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]


class Conflict(NamedTuple):
    """Two accesses of one element that nothing orders, or a read of shared memory that no thread has written.

    Attributes
    ----------
    array
        The name that the source gives the array.
    index
        The element. Elements of shared memory are counted in the size of the access.
    space
        "global" or "shared".
    access, before
        The two accesses, the later one first; `before` is None for a read of unwritten memory.
    count
        How often the two lines met.
    beyond_warp
        Whether they ever met in different warps.
    """

    array: str
    index: int
    space: str
    access: Touch
    before: Touch | None
    count: int
    beyond_warp: bool


class Watched(NamedTuple):
    """The findings of one watched launch.

    Attributes
    ----------
    conflicts
        All conflicts, one for each pair of lines and array.
    whole
        Whether every access was watched.
    unwritten
        For each requested output the number of elements that no thread has written, and the first of them.
    """

    conflicts: tuple[Conflict, ...]
    whole: bool
    unwritten: tuple[tuple[int, int], ...]


def read(
    seen: tuple[bytes, tuple],
    path: str,
    arrays: Sequence[Passed],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
) -> Watched:
    """Return the findings of a watched launch.

    Parameters
    ----------
    seen
        The report of the process for kernels: its text, and what it found about the outputs.
    path
        The file that ran.
    arrays
        The arrays of the launch.
    grid, block
        The launch.
    """
    text, unwritten = seen
    head, *rows = text.decode("utf-8", "replace").splitlines()
    found = []
    for row in rows:
        fields = row.split("\t")
        uninitialised, space, dynamic = (field == "1" for field in fields[:3])
        name, (offset, size, count, beyond) = fields[3], map(int, fields[4:8])
        both = []
        for site, number, thread, kind in (map(int, fields[at : at + 4]) for at in (8, 12)):
            line = lines.line_of(path, site - IN_CODE, sources.FILE) if site >= IN_CODE else site
            both.append(Touch(KINDS[kind], line, _place(number, grid), _place(thread, block)))
        index = offset // size
        if dynamic:
            name = "dynamic shared memory"
        elif not name:
            name, index = _element(arrays, offset, size)
        before = None if uninitialised else both[1]
        found.append(
            Conflict(name, index, "shared" if space else "global", both[0], before, count, bool(beyond))
        )
    return Watched(tuple(found), head == "0", unwritten)


def _place(number: int, sizes: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return the index along x, y and z of a block or thread that is known by its number."""
    return number % sizes[0], number // sizes[0] % sizes[1], number // (sizes[0] * sizes[1])


def _element(arrays: Sequence[Passed], address: int, size: int) -> tuple[str, int]:
    """Return the name of the array that an address lies in, and the element."""
    for passed in arrays:
        if passed.start <= address < passed.end:
            return passed.name, passed.index(address, size)
    return "memory that another array points to", 0
