"""Lets g++'s code for x86 convert floats to integers as a GPU does, where C++ leaves the result undefined.

`runtime/conversions.h` computes a GPU's result. This module puts a call behind each instruction that converts, which puts
this result in the place of the processor's.
"""

from __future__ import annotations

import platform
import re

# The registers in the order of their numbers, each with the name of its lower 32 bits.
REGISTERS = ("ax", "cx", "dx", "bx", "sp", "bp", "si", "di", *(f"{number}" for number in range(8, 16)))
INSTRUCTION = re.compile(r"^\tv?cvtts[sd]2si[lq]?\t.*%(?:[er]([a-z]\w)|r(\d+)d?)$", re.MULTILINE)


def are_replaced(is_clang: bool) -> bool:
    """Return whether conversions are replaced in the code of g++, or of clang."""
    return not is_clang and platform.machine() in ("x86_64", "AMD64")


def replaced(assembly: str) -> str:
    """Return g++'s assembly with a call behind each conversion of a float to an integer."""

    def behind(match: re.Match) -> str:
        number = REGISTERS.index(match[1] or match[2])
        return f"{match[0]}\n\tcall\t*h2d_after_conversion+{8 * number}(%rip)"

    text, count = INSTRUCTION.subn(behind, assembly)
    return f"{text}\n\t.hidden\th2d_after_conversion\n" if count else text
