"""Finds the line of a source that an address in its compiled module belongs to.

This module reads the line table that compilers write with `-gdwarf-4` into ELF files (DWARF Debugging Information
Format, version 4, section 6.2). On macOS it calls `atos`, which comes with the compiler. It reads the table itself,
because pyelftools, which could, is missing on Colab, and the line of a learner's error must not depend on a package
that may be missing.
"""

from __future__ import annotations

import functools
import re
import struct
import subprocess
from collections.abc import Iterator


class _Reader:
    """Reads numbers and texts of a DWARF section one after another."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def number(self, code: str) -> int:
        (value,) = struct.unpack_from("<" + code, self.data, self.at)
        self.at += struct.calcsize("<" + code)
        return value

    def text(self) -> str:
        end = self.data.index(b"\0", self.at)
        value = self.data[self.at : end].decode("utf-8", "replace")
        self.at = end + 1
        return value

    def unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if not byte & 128:
                return value

    def signed(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if not byte & 128:
                return value - (1 << shift) if byte & 64 else value


def _section(data: bytes, name: str) -> bytes:
    """Return a section of a 64-bit little-endian ELF file; empty bytes if there is none."""
    if data[:6] != b"\x7fELF\x02\x01":
        return b""
    (offset,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)

    def header(index: int) -> tuple:
        return struct.unpack_from("<IIQQQQ", data, offset + index * size)

    names_at = header(names)[4]
    for index in range(count):
        name_at, _, _, _, start, length = header(index)
        if _Reader(data, names_at + name_at).text() == name:
            return data[start : start + length]
    return b""


def symbols(path: str) -> dict[int, list[str]]:
    """Return the names at each address of a compiled module; an empty dict if it is not an ELF file.

    Parameters
    ----------
    path
        The compiled module.
    """
    with open(path, "rb") as file:
        data = file.read()
    table, names = _section(data, ".symtab"), _section(data, ".strtab")
    found: dict[int, list[str]] = {}
    for name, _, _, _, address, _ in struct.iter_unpack("<IBBHQQ", table):
        if address and name:
            found.setdefault(address, []).append(_Reader(names, name).text())
    return found


def _rows(table: bytes) -> Iterator[tuple[int, str, int, bool]]:
    """Yield the rows of a line table: address, file, line, and whether a sequence of rows ends here."""
    reader = _Reader(table)
    while reader.at < len(table):
        end = reader.number("I") + reader.at
        if reader.number("H") > 4:
            return
        program = reader.number("I") + reader.at
        shortest, longest = reader.number("B"), reader.number("B")
        del longest
        reader.number("B")  # whether rows are statements at first
        base, span, opcode_base = reader.number("b"), reader.number("B"), reader.number("B")
        lengths = [reader.number("B") for _ in range(opcode_base - 1)]
        while reader.text():
            pass
        files = [""]
        while name := reader.text():
            files.append(name)
            reader.unsigned(), reader.unsigned(), reader.unsigned()
        reader.at = program
        address, file, line = 0, 1, 1
        while reader.at < end:
            opcode = reader.number("B")
            if opcode >= opcode_base:
                address += (opcode - opcode_base) // span * shortest
                line += base + (opcode - opcode_base) % span
                yield address, files[file], line, False
            elif opcode == 0:
                length = reader.unsigned()
                after = reader.at + length
                kind = reader.number("B")
                if kind == 1:
                    yield address, files[file], line, True
                    address, file, line = 0, 1, 1
                elif kind == 2:
                    address = reader.number("Q")
                reader.at = after
            elif opcode == 1:
                yield address, files[file], line, False
            elif opcode == 2:
                address += reader.unsigned() * shortest
            elif opcode == 3:
                line += reader.signed()
            elif opcode == 4:
                file = reader.unsigned()
            elif opcode == 8:
                address += (255 - opcode_base) // span * shortest
            elif opcode == 9:
                address += reader.number("H")
            else:
                for _ in range(lengths[opcode - 1]):
                    reader.unsigned()
        reader.at = end


@functools.lru_cache(maxsize=8)
def _table(path: str) -> list[tuple[int, str, int, bool]]:
    with open(path, "rb") as file:
        return list(_rows(_section(file.read(), ".debug_line")))


def line_of(path: str, address: int, file: str) -> int:
    """Return the line of the named file that the code just before an address was compiled from, or 0.

    Parameters
    ----------
    path
        The compiled module.
    address
        A return address, relative to the address at which the module was loaded.
    file
        The source's name. For code inlined from another file, the line before that code counts.
    """
    try:
        rows = _table(path)
        if not rows:
            return _ask_atos(path, address, file)
        best = 0
        line = found = 0
        for start, name, number, ended in rows:
            if found and start > address - 1 >= best:
                return line
            if ended:
                line = found = 0
                continue
            best, found = start, 1
            if name == file and number:
                line = number
        return 0
    except (OSError, ValueError, IndexError, struct.error):
        return 0


def _ask_atos(path: str, address: int, file: str) -> int:
    said = subprocess.run(
        ["atos", "-o", path, "-offset", hex(address - 1)],
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    ).stdout
    found = re.search(rf"\({re.escape(file)}:(\d+)\)", said)
    return int(found.group(1)) if found else 0
