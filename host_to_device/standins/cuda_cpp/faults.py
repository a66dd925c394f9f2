"""What went wrong in a launch: from what the process for kernels says to one line with the kernel's own names."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from host_to_device.standins.cuda_cpp import lines, sources
from host_to_device.standins.cuda_cpp.errors import KernelFault, KernelStopped

if TYPE_CHECKING:
    from host_to_device.standins.cuda_cpp.modules import Function

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


def read(data: bytes, function: Function, path: str, arrays: list, seconds: float) -> KernelFault:
    """Return the error of a launch that failed.

    Parameters
    ----------
    data
        What the process for kernels says.
    function, path
        The kernel, and the file that ran.
    arrays
        The array of each parameter that has one, with the parameter's number.
    seconds
        The launch's limit.
    """
    kind, line, pc, address, size, write, *rest, text = FAULT.unpack(data[: FAULT.size])
    block, thread, text = (
        tuple(rest[:3]),
        tuple(rest[3:]),
        text.split(b"\0", 1)[0].decode("utf-8", "replace"),
    )
    line = line or (lines.line_of(path, pc, sources.FILE) if pc else 0)
    name, words = KINDS[kind], text
    if name == "out of bounds":
        words = _bounds(address, size, bool(write), text, function, arrays)
    elif name == "stopped":
        words = f"stopped after {seconds:g} s: a loop that never ends, or too little time"
    elif name == "barrier divergence":
        words = f"barrier divergence: {text}"
    elif name == "warp divergence":
        words = f"warp divergence: {text}"
    elif name == "division by zero":
        words = "division by zero of whole numbers, which on a GPU gives a wrong number without a word"
    elif name == "stack overflow":
        words = "stack overflow: too deep a recursion, or too large local arrays"
    elif name == "crash":
        words = text or f"crash at address {address:#x}"
    else:
        name, _, rest_of_text = text.partition("\t")
        words = f"{name}: {rest_of_text}" if rest_of_text else name
    where = f", line {line}" if line else ""
    message = f"{function.name}{where}: {words}; block {block}, thread {thread}"
    kind_of_error = KernelStopped if kind == 2 else KernelFault
    return kind_of_error(message, name, line, block, thread)


def _bounds(address: int, size: int, write: bool, text: str, function: Function, arrays: list) -> str:
    """Say what was read or written, as an element of an array or a variable where it is near one."""
    does = "write" if write else "read"
    if text:
        name, space, nbytes, offset = text.split("\t")
        what = {"0": f"variable {name}", "1": f"shared array {name}", "2": "dynamic shared memory"}[space]
        return f"out of bounds: {does} of {size} bytes at byte {offset} of {what}, which has {nbytes} bytes"
    if address < 65536:
        return f"out of bounds: {does} through a null pointer"
    near = []
    for number, array in arrays:
        start = array.__array_interface__["data"][0]
        end = start + array.nbytes
        near.append((start - address if address < start else max(0, address - end + 1), number, start, array))
    near.sort(key=lambda each: each[:2])
    if near and near[0][0] < 1 << 30:
        _, number, start, array = near[0]
        each = array.itemsize if array.itemsize > 1 else size
        name = function.parameter_names[number] or f"argument {number + 1}"
        index = (address - start) // each
        return f"out of bounds: {does} of {name}[{index}], which has {array.nbytes // each} elements"
    return f"out of bounds: {does} of {size} bytes at {address:#x}, which is in no array on the device"
