"""The findings of a watched launch: races, and reads of shared memory that no thread has written.

`runtime/races.h` finds them while the kernel runs. This module adds the arrays' names, the elements and the lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
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


class Lacking(NamedTuple):
    """A warp operation that lacks lanes, or a shuffle that takes the value of a lane that does not take part.

    Attributes
    ----------
    of_value
        Whether it is such a shuffle.
    line, block, thread, lane
        Where it was seen first.
    other
        The first lane that does not take part.
    lanes
        How many do not take part.
    line_of_other
        The line at which that lane waits; 0 if it does not wait.
    mask
        The operation's mask.
    count
        How often it was seen.
    """

    of_value: bool
    line: int
    lane: int
    other: int
    lanes: int
    line_of_other: int
    mask: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    count: int


class Pattern(NamedTuple):
    """What one block does at one line in global memory: equal hashes mean the same threads and elements."""

    kind: str
    line: int
    block: tuple[int, int, int]
    hash: int
    count: int
    several: bool  # several elements
    array: str
    index: int  # of the element that came first


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
    lacking
        What was found about warps, once for each operation and line.
    repeated
        Whether a store found the value that the same thread of another block had stored there at the same line.
    patterns
        What each block does at each line, if the launch was asked for it.
    unfit
        Floats that an integer type cannot hold, by file, line and type: the first, and what a GPU makes of it.
    """

    conflicts: tuple[Conflict, ...]
    whole: bool
    unwritten: tuple[tuple[int, int], ...]
    lacking: tuple[Lacking, ...] = ()
    repeated: bool = False
    patterns: tuple[Pattern, ...] = ()
    unfit: Mapping[tuple[str, int, str], tuple[float, int]] = MappingProxyType({})


def read(
    reports: Sequence[tuple[bytes, tuple]],
    path: str,
    arrays: Sequence[Passed],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
) -> Watched:
    """Return the findings of a watched launch.

    Parameters
    ----------
    reports
        The report of each process for kernels: its text, and what it found about the outputs. A launch that is watched
        has one.
    path
        The file that ran.
    arrays
        The arrays of the launch.
    grid, block
        The launch.
    """
    texts = [text.decode("utf-8", "replace").splitlines() for text, _ in reports]
    partial, repeated = (any(text and text[0].split("\t")[k] == "1" for text in texts) for k in (0, 1))
    found, patterns = [], []
    lacking: dict[tuple, Lacking] = {}
    unfit: dict[tuple[str, int, str], tuple[float, int]] = {}

    def line(site: int) -> int:
        return lines.line_of(path, site - IN_CODE, sources.FILE) if site >= IN_CODE else site

    for row in [row for text in texts for row in text[1:]]:
        fields = row.split("\t")
        if fields[0] == "lacking":
            seen = _lacking(list(map(int, fields[1:])), grid, block)
            before = lacking.get((seen.line, seen.mask))
            count = seen.count + (before.count if before else 0)
            lacking[seen.line, seen.mask] = (before or seen)._replace(count=count)
            continue
        if fields[0] == "unfit":
            at, pc, bits, signed, made = map(int, fields[1:6])
            at = at or lines.line_of(path, pc, sources.FILE)
            dtype = f"{'int' if signed else 'uint'}{bits}"
            unfit.setdefault((sources.FILE, at, dtype), (float(fields[6]), made))
            continue
        if fields[0] == "pattern":
            site, kind, number, hashed, count, several, address, size = map(int, fields[1:])
            element = _element(arrays, address, size)
            at = _place(number, grid)
            patterns.append(Pattern(KINDS[kind], line(site), at, hashed, count, bool(several), *element))
            continue
        uninitialised, space, dynamic = (field == "1" for field in fields[:3])
        name, (offset, size, count, beyond) = fields[3], map(int, fields[4:8])
        both = []
        for site, number, thread, kind in (map(int, fields[at : at + 4]) for at in (8, 12)):
            both.append(Touch(KINDS[kind], line(site), _place(number, grid), _place(thread, block)))
        index = offset // size
        if dynamic:
            name = "dynamic shared memory"
        elif not name:
            name, index = _element(arrays, offset, size)
        other = None if uninitialised else both[1]
        found.append(
            Conflict(name, index, "shared" if space else "global", both[0], other, count, bool(beyond))
        )
    unwritten = reports[-1][1] if reports else ()
    return Watched(
        tuple(found), not partial, unwritten, tuple(lacking.values()), repeated, tuple(patterns), unfit
    )


def _lacking(fields: list[int], grid: tuple[int, int, int], block: tuple[int, int, int]) -> Lacking:
    what, line, lane, other, lanes, line_of_other, mask, number, thread, count = fields
    place = _place(number, grid), _place(thread, block)
    return Lacking(bool(what), line, lane, other, lanes, line_of_other, mask, *place, count)


def _place(number: int, sizes: tuple[int, int, int]) -> tuple[int, int, int]:
    """Return the index along x, y and z of a block or thread that is known by its number."""
    return number % sizes[0], number // sizes[0] % sizes[1], number // (sizes[0] * sizes[1])


def _element(arrays: Sequence[Passed], address: int, size: int) -> tuple[str, int]:
    """Return the name of the array that an address lies in, and the element."""
    for passed in arrays:
        if passed.start <= address < passed.end:
            return passed.name, passed.index(address, size)
    return "memory that another array points to", 0
