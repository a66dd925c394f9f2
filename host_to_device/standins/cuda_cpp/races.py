"""What a watched launch has seen: accesses that nothing orders, and reads of shared memory that nobody has written.

`include/races.h` finds them while the kernel runs; here they get names, elements and lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from host_to_device.standins.cuda_cpp import lines, sources

if TYPE_CHECKING:
    from host_to_device.standins.cuda_cpp.modules import Function

KINDS = ("read", "write", "atomic")
IN_CODE = 1 << 31


class Touch(NamedTuple):
    """One access: its kind ("read", "write" or "atomic"), line, block and thread."""

    kind: str
    line: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]


class Conflict(NamedTuple):
    """Two accesses of one element that nothing orders; or, where `before` is None, a read of what nobody has written.

    `array` is what the source calls it and `index` counts elements of the array, of shared memory elements as large
    as the access; `space` is "global" or "shared"; `count` says how often the two lines met, and `beyond_warp`
    whether ever in different warps.
    """

    array: str
    index: int
    space: str
    access: Touch
    before: Touch | None
    count: int
    beyond_warp: bool


class Watched(NamedTuple):
    """All conflicts of a launch, one for each pair of lines and array; and whether all accesses were looked at.

    `unwritten` says of each output that was asked for how many elements nobody has written, and the first of them.
    """

    conflicts: tuple[Conflict, ...]
    whole: bool
    unwritten: tuple[tuple[int, int], ...]


def read(
    seen: tuple[bytes, tuple],
    function: Function,
    path: str,
    arrays: list[tuple[int, np.ndarray]],
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
) -> Watched:
    """Return what the process for kernels says of a watched launch.

    Parameters
    ----------
    seen
        Its words, and what it says of outputs.
    function, path
        The kernel, and the file that ran.
    arrays
        The array of each parameter that has one, with the parameter's number.
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
            name, index = _element(function, arrays, offset, size)
        before = None if uninitialised else both[1]
        found.append(
            Conflict(name, index, "shared" if space else "global", both[0], before, count, bool(beyond))
        )
    return Watched(tuple(found), head == "0", unwritten)


def _place(number: int, sizes: tuple[int, int, int]) -> tuple[int, int, int]:
    return number % sizes[0], number // sizes[0] % sizes[1], number // (sizes[0] * sizes[1])


def _element(function: Function, arrays: list, address: int, size: int) -> tuple[str, int]:
    """Return the array of an address, by its parameter, and the number of the element."""
    for number, array in arrays:
        start = array.__array_interface__["data"][0]
        if start <= address < start + array.nbytes:
            name = function.parameter_names[number] or f"argument {number + 1}"
            return name, (address - start) // (array.itemsize if array.itemsize > 1 else size)
    return "memory that another array points to", 0
