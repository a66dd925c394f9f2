"""The readings of PTX: each instruction that a chapter explains is what the compiler gives, and in that order."""

import re
from pathlib import Path

import nbformat
import pytest

import host_to_device as h2d
from book import readings
from host_to_device.hardware import targets
from host_to_device.inspecting.compilers import numba_ptx
from host_to_device.inspecting.errors import MissingTool

ROOT = Path(__file__).resolve().parents[2]
READINGS = readings.read_all()


def kernel_of(reading, folder):
    """Run the cells of a reading's kernel and return it."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{reading['notebook']}.ipynb", as_version=4)
    cells = {cell.id: cell.source for cell in notebook.cells}
    head = "import math\n\nfrom numba import float32\n\nfrom host_to_device.standins import numba_cuda as cuda\n\n"
    path = folder / "cells.py"  # a kernel's source is read from its file
    path.write_text(head + "\n\n\n".join(cells[name] for name in reading["cells"]), encoding="utf-8")
    space = {"__file__": str(path), "__name__": "cells"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    kernel = space[reading["kernel"]]
    return space["cuda"].jit(fastmath=True)(kernel.py_func) if reading["fastmath"] else kernel


def in_order(instructions, ptx):
    """Return the instructions that do not come after one another in a text of PTX."""
    lines, at, missing = [re.sub(r"\s+", " ", line.strip()) for line in ptx.splitlines()], 0, []
    for instruction in instructions:
        if instruction in lines[at:]:
            at = lines.index(instruction, at) + 1
        else:
            missing.append(instruction)
    return missing


def test_there_are_readings():
    assert len(READINGS) >= 4


@pytest.mark.parametrize("name", READINGS)
def test_a_reading_says_where_it_comes_from_and_what_each_line_does(name):
    reading = READINGS[name]
    assert re.fullmatch(r"sm_\d+", reading["architecture"]) and "numba-cuda" in reading["compiler"]
    assert "not run" in readings.stamp(reading)
    for instruction, says in reading["lines"]:
        assert re.fullmatch(r"(@%p\d+ )?[a-z][\w.]+ .*;", instruction) and len(says) > 3


def test_the_order_of_instructions_counts():
    assert in_order(["a;", "b;"], "\ta;\n\tb;\n") == []
    assert in_order(["b;", "a;"], "\ta;\n\tb;\n") == ["a;"]


@pytest.mark.parametrize("name", READINGS)
def test_the_compiler_still_gives_what_is_read(name, tmp_path):
    from numba.core import sigutils

    reading = READINGS[name]
    types, _ = sigutils.normalize_signature(f"void({', '.join(reading['types'])})")
    kernel = kernel_of(reading, tmp_path)
    try:
        answer, _ = numba_ptx.to_ptx(kernel, types, targets.find(reading["architecture"], "NVIDIA"))
    except MissingTool as missing:
        pytest.skip(str(missing))
    assert not in_order([instruction for instruction, _ in reading["lines"]], answer["ptx"])


def test_the_registers_that_the_lesson_quotes_are_the_compilers(tmp_path):
    chapter = (ROOT / "chapters" / "03-kernels-numba.md").read_text(encoding="utf-8")
    quoted = int(re.search(r"For a T4 `sigma_filter` compiles to (\d+) registers", chapter)[1])
    kernel = kernel_of(
        {"notebook": "03-kernels-numba", "cells": ["sigma"], "kernel": "sigma_filter", "fastmath": False},
        tmp_path,
    )
    try:
        shown = h2d.show(kernel, "resources", "T4", types="float32[:, ::1], float32, float32[:, ::1]")
    except MissingTool as missing:
        pytest.skip(str(missing))
    assert shown.resources["registers"] == quoted
