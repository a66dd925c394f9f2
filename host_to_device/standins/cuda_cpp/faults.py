"""Turn what the process for kernels reports about a failed launch into one line with the source's names."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence

from host_to_device.standins.cuda_cpp import lines, sources
from host_to_device.standins.cuda_cpp.errors import KernelFault, KernelStopped
from host_to_device.standins.cuda_cpp.parameters import Passed
from host_to_device.standins.positions import Position, thread_of

FAULT = struct.Struct("<6Q3Q3Q160s")
KINDS = {
    1: "out of bounds",
    2: "stopped",
    3: "barrier divergence",
    4: "warp divergence",
    5: "division by zero",
    6: "stack overflow",
    7: "crash",
    8: "fault",
}


NULL_PAGES = 65536  # an address below this comes from a null pointer and an index
# An access this close to an array, in bytes, is taken for an access of that array: the threads of one block too many,
# four bytes each. Farther away the address may have come from any pointer.
NEAR = 4096
FARTHEST = 1 << 30  # an array farther away than this, in bytes, is not mentioned at all
MOST_NAMED = 4  # arrays that one message mentions, the nearest first


def read(
    data: bytes,
    kernel: str,
    path: str,
    arrays: Sequence[Passed],
    seconds: float,
    grid: Position,
    block_size: Position,
) -> KernelFault:
    """Return the error of a launch that failed.

    Parameters
    ----------
    data
        The report of the process for kernels.
    kernel
        The kernel's name.
    path
        The file that ran.
    arrays
        The arrays of the launch.
    seconds
        The launch's time limit.
    grid, block_size
        The launch.
    """
    kind, line, pc, address, size, write, *rest, text = FAULT.unpack(data[: FAULT.size])
    block, thread, text = (
        tuple(rest[:3]),
        tuple(rest[3:]),
        text.split(b"\0", 1)[0].decode("utf-8", "replace"),
    )
    line = line or (lines.line_of(path, pc, sources.FILE) if pc else 0)
    name, who = KINDS[kind], thread_of(block, thread, grid, block_size)
    if name == "stopped" and address:  # the runtime saw that nothing changes any more
        words = (
            f"stopped in {who}, because no thread gets on any more: it is in a loop that never ends, or it waits for "
            "a change that no thread makes"
        )
    elif name == "out of bounds":
        words = f"out of bounds: {who} {_bounds(address, size, bool(write), text, arrays)}"
    elif name == "stopped":
        words = f"stopped after {seconds:g} s in {who}: a loop never ends, or the launch needs more time"
    elif name in ("barrier divergence", "warp divergence"):
        words = f"{name}: {text}, in {who}"
    elif name == "division by zero":
        words = (
            f"division by zero: {who} divides a whole number by 0; a GPU gives a wrong number and no error"
        )
    elif name == "stack overflow":
        words = f"stack overflow: {who} recurses too deeply, or its local arrays are too large"
    elif name == "crash":
        words = f"{text or f'crash at address {address:#x}'}, in {who}"
    else:
        name, _, rest_of_text = text.partition("\t")
        words = f"{name}: {rest_of_text}, in {who}" if rest_of_text else f"{name}, in {who}"
    where = f", line {line}" if line else ""
    message = f"{kernel}{where}: {words}"
    kind_of_error = KernelStopped if kind == 2 else KernelFault
    found = kind_of_error(message, name, line, block, thread)
    found.got_on = kind == 2 and not address and bool(size)
    if kind == 2:
        found.space = ("", "global", "shared")[write]
    if kind == 1:
        found.space, found.array, found.index, found.column = _where(address, size, text, arrays)
    return found


def _where(address: int, size: int, text: str, arrays: Sequence[Passed]) -> tuple[str, str, int | None, int]:
    """Return the memory, the array and the element of an access out of bounds, and the column of its index.

    The memory and the array are empty where they are not known. The column is 0 but for an index beyond the length that
    an array's type has.
    """
    if text:
        name, space, _, last = text.split("\t")
        if space == "3":
            return "", "", int(text.split("\t")[2]), int(last)
        return {"0": "global", "1": "shared", "2": "shared"}[space], name or "dynamic shared memory", None, 0
    near = [each for each in arrays if _distance(each, address) <= NEAR]
    nearest = min(near, key=lambda each: _distance(each, address), default=None)
    return "global", nearest.name if nearest else "", nearest.index(address, size) if nearest else None, 0


def _bounds(address: int, size: int, write: bool, text: str, arrays: Sequence[Passed]) -> str:
    """Return what a thread does out of bounds.

    An address `NEAR` an array counts as an element of it. An address farther away may have come from any array of the
    launch, so the message gives the address, and the element that it would be of each array.
    """
    does = "writes" if write else "reads"
    if text:
        name, space, nbytes, offset = text.split("\t")
        if space == "3":  # here the name is the array's type
            length = re.search(r"\[(\d+)\]", name)
            has = f"{int(length[1]):,} element{'s' * (length[1] != '1')}" if length else "fewer elements"
            return f"uses index {nbytes} of an array that has {has} ({name.strip(chr(39))})"
        what = {"0": f"variable {name}", "1": f"shared array {name}", "2": "dynamic shared memory"}[space]
        return f"{does} {size} bytes at byte {offset} of {what}, which has {nbytes} bytes"
    if address < NULL_PAGES:
        return f"{does} through a null pointer"
    known = sorted(arrays, key=lambda each: _distance(each, address))
    known = [each for each in known if _distance(each, address) <= FARTHEST][:MOST_NAMED]

    def element(passed: Passed) -> str:
        return f"{passed.name}[{passed.index(address, size)}]"

    if known and _distance(known[0], address) <= NEAR:
        elements = known[0].array.nbytes // known[0].item_size(size)
        return f"{does} {element(known[0])}, but {known[0].name} has {elements:,} elements"
    words = f"{does} {size} bytes at {address:#x}, but no array on the device is there"
    if known:
        words += f"; counted from the launch's arrays it would be {' or '.join(sorted(map(element, known)))}"
    return words


def _distance(passed: Passed, address: int) -> int:
    """Return how many bytes an address lies before or behind an array."""
    return passed.start - address if address < passed.start else max(0, address - passed.end + 1)
