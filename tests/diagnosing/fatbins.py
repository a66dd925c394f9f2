"""Files with GPU code for tests: fatbins are written byte by byte, as nvcc does."""

import re
import struct

PTX, CUBIN, LTO = 1, 2, 8
FLAGS = {"": 0x11, "a": 0x100011, "f": 0x200011}


def entry(kind, architecture, version=(1, 7), payload=24, header=64):
    """Return an entry: its kind, its architecture as "9.0a", for PTX the version of the language."""
    major, minor, suffix = re.fullmatch(r"(\d+)\.(\d)([af]?)", architecture).groups()
    fixed = struct.pack(
        "<HHIQIIHHIIIQ",
        kind, 0x0101, header, payload, 0, 0, version[1], version[0], int(major + minor), 0, 0, FLAGS[suffix],
    )  # fmt: skip
    return fixed.ljust(header, b"\0") + bytes(payload)


def fatbin(*entries, length=None):
    """Return a fatbin with these entries; `length` is what its header says of their bytes."""
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body) if length is None else length) + body


def code(sass=(), ptx=(), version=(8, 4)):
    """Return a fatbin for these architectures."""
    return fatbin(*(entry(CUBIN, each) for each in sass), *(entry(PTX, each, version) for each in ptx))
