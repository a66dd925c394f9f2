"""The messages between the grader and the sandbox: to the sandbox with `pickle`, from it as plain values only.

A message from the sandbox is a length, a header in JSON that lists arrays, and the bytes of these arrays. Its reader
allocates no more than the message is long, and runs none of its content.
"""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from host_to_device.exercises import values

LENGTH = struct.Struct(">Q")
LARGEST = 2**27  # bytes of one message


def send_trusted(stream: BinaryIO, value: Any) -> None:
    """Send a value into the sandbox; the reader trusts the sender."""
    content = pickle.dumps(value)
    stream.write(LENGTH.pack(len(content)) + content)
    stream.flush()


def receive_trusted(stream: BinaryIO) -> Any:
    """Return a value that the grader has sent.

    Raises
    ------
    EOFError
        If the grader has gone.
    """
    (length,) = LENGTH.unpack(_exactly(stream, LENGTH.size))
    return pickle.loads(_exactly(stream, length))


def _exactly(stream: BinaryIO, count: int) -> bytes:
    content = stream.read(count)
    if len(content) != count:
        raise EOFError("the grader has gone")
    return content


def packed(value: Any) -> bytes:
    """Return plain values as a message, with its length in front."""
    arrays = values.packed(value)  # in C order
    table = [[name, np.lib.format.dtype_to_descr(each.dtype), each.shape] for name, each in arrays.items()]
    header = json.dumps(table).encode()
    content = LENGTH.pack(len(header)) + header + b"".join(each.tobytes() for each in arrays.values())
    return LENGTH.pack(len(content)) + content


def unpacked(content: bytes) -> Any:
    """Return the plain values of a message without its length.

    Raises
    ------
    ValueError
        If the message is anything else.
    """
    try:
        (length,) = LENGTH.unpack_from(content)
        at = LENGTH.size + length
        table = json.loads(content[LENGTH.size : at])
        arrays: dict[str, np.ndarray] = {}
        for name, described, shape in table:
            dtype, count = _dtype(described), _count(shape)
            end = at + count * dtype.itemsize
            if end > len(content):
                raise ValueError("an array is longer than its message")
            arrays[str(name)] = np.frombuffer(content[at:end], dtype).reshape(shape).copy()
            at = end
        return values.unpacked(arrays)
    except (LookupError, TypeError, ValueError, RecursionError, struct.error) as problem:
        raise ValueError(f"this is no message of plain values ({type(problem).__name__})") from None


def _dtype(described: Any) -> np.dtype:
    if isinstance(described, list):  # JSON has lists for the tuples of a structured dtype
        described = [
            tuple(tuple(each) if isinstance(each, list) else each for each in field) for field in described
        ]
    dtype = np.lib.format.descr_to_dtype(described)
    if dtype.hasobject or dtype.itemsize == 0:
        raise ValueError("a dtype that no array here has")
    return dtype


def _count(shape: Any) -> int:
    count = 1
    for side in shape:
        if type(side) is not int or not 0 <= side <= LARGEST:
            raise ValueError("a shape that no array has")
        count *= side
        if count > LARGEST:
            raise ValueError("an array is too large")
    return count


class Reader:
    """Takes the bytes that come from the sandbox apart into messages."""

    def __init__(self) -> None:
        self.waiting = bytearray()

    def feed(self, piece: bytes) -> list[Mapping[str, Any]]:
        """Return the messages that a piece completes.

        Raises
        ------
        ValueError
            If what has come is no message: something else than our program writes there.
        """
        self.waiting += piece
        found: list[Mapping[str, Any]] = []
        while len(self.waiting) >= LENGTH.size:
            (length,) = LENGTH.unpack_from(self.waiting)
            if length > LARGEST:
                raise ValueError("a message is too large")
            end = LENGTH.size + length
            if len(self.waiting) < end:
                break
            message = unpacked(bytes(self.waiting[LENGTH.size : end]))
            del self.waiting[:end]
            if not isinstance(message, dict):
                raise ValueError("a message is no dict")
            found.append(message)
        return found
