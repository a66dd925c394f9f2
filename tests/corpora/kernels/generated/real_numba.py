"""Runs generated programs with the real numba-cuda: `python -m tests.corpora.kernels.generated.real_numba`.

It runs on the rehearsal (or on a GPU). It reads one JSON list of programs a line from stdin, and answers each with one line:
for each program the outputs as hexadecimal bytes, or the name of the error with which Numba refuses it. Many programs
become device functions of one kernel, because one module takes as long to translate as ten.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
from numba import cuda

from tests.corpora.kernels.generated.sources import namespace
from tests.corpora.kernels.generated.typed import DTYPES, THREADS, Program

BATCH = 24


def without_fma() -> None:
    """Let NVVM round each product and each sum: the stand-in does, and its page says so."""
    from numba.cuda.cudadrv import nvvm

    compile_ir = nvvm.compile_ir
    nvvm.compile_ir = lambda code, **options: compile_ir(code, **{**options, "fma": False})


def function_of(program: Program, number: int):
    """Return the program as a device function."""
    source = program.source.replace("@cuda.jit\ndef program", "@cuda.jit(device=True)\ndef program")
    return namespace(source, f"<real {number}>", cuda=cuda)["program"]


def kind_of(dtype: str) -> str:
    return dtype[0] + dtype.lstrip("uintfloa")


def together(programs: list[Program]) -> list[dict]:
    """Run programs in one launch, one a block; return the outputs of each."""
    numbers = {dtype: 0 for dtype in DTYPES}
    columns: dict[str, list[np.ndarray]] = {dtype: [] for dtype in DTYPES}
    space = {"cuda": cuda}
    lines = [f"def batch({', '.join(kind_of(each) for each in DTYPES)}):"]
    places = []
    for number, program in enumerate(programs):
        space[f"p{number}"] = function_of(program, number)
        arrays, scalars = program.inputs()
        given = []

        def row(dtype: str, value, given=given) -> int:
            columns[dtype].append(np.full(THREADS, value, dtype) if np.ndim(value) == 0 else value)
            given.append(f"{kind_of(dtype)}[{numbers[dtype]}]")
            numbers[dtype] += 1
            return numbers[dtype] - 1

        for dtype, value in zip(program.arrays.values(), arrays, strict=True):
            row(dtype, value)
        for dtype, value in zip(program.scalars.values(), scalars, strict=True):
            row(dtype, value)
            given[-1] += "[0]"
        rows = {}
        for name, dtype in program.outputs.items():
            rows[name] = dtype, row(dtype, np.zeros(THREADS, dtype))
        places.append(rows)
        lines += [f"    if cuda.blockIdx.x == {number}:", f"        p{number}({', '.join(given)})"]
    source = "\n".join(lines) + "\n"
    batch = namespace(source, "<batch>", **space)["batch"]
    on_device = {
        dtype: cuda.to_device(np.array(rows or [np.zeros(THREADS, dtype)], dtype))
        for dtype, rows in columns.items()
    }
    cuda.jit(batch)[len(programs), THREADS](*on_device.values())
    found = {dtype: array.copy_to_host() for dtype, array in on_device.items()}
    return [
        {name: found[dtype][number].tobytes().hex() for name, (dtype, number) in rows.items()}
        for rows in places
    ]


def refusal(problem: Exception) -> dict:
    lines = [line for line in str(problem).splitlines() if line.strip()]
    return {"refused": type(problem).__name__, "words": lines[0][:200] if lines else ""}


def typed(program: Program, number: int) -> Exception | None:
    """Return the error with which Numba refuses the types of a program, or None."""
    from numba.cuda import types
    from numba.cuda.np import numpy_support

    kinds = [
        types.Array(numpy_support.from_dtype(np.dtype(dtype)), 1, "C") for dtype in program.arrays.values()
    ]
    kinds += [numpy_support.from_dtype(np.dtype(dtype)) for dtype in program.scalars.values()]
    kinds += [
        types.Array(numpy_support.from_dtype(np.dtype(dtype)), 1, "C") for dtype in program.outputs.values()
    ]
    try:
        function_of(program, number).compile_device(tuple(kinds))
    except Exception as problem:
        return problem
    return None


def results(programs: list[Program]) -> list[dict]:
    """Return what the real compiler makes of each program."""
    found: list[dict | None] = [None] * len(programs)
    left = []
    for number, program in enumerate(programs):
        if problem := typed(program, number):
            found[number] = refusal(problem)
        else:
            left.append(number)
    for first in range(0, len(left), BATCH):
        some = left[first : first + BATCH]
        try:
            answers = together([programs[number] for number in some])
        except Exception:  # one of them fails: each on its own
            answers = []
            for number in some:
                try:
                    answers += together([programs[number]])
                except Exception as problem:
                    answers.append(refusal(problem))
        for number, answer in zip(some, answers, strict=True):
            found[number] = answer
    return found


def main() -> int:
    warnings.simplefilter("ignore")
    without_fma()
    for line in sys.stdin:
        programs = [Program(**each) for each in json.loads(line)]
        print(json.dumps(results(programs)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
