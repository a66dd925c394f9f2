"""Runs generated programs in CUDA C++ with the CuPy that is there: the real one on the rehearsal, or the stand-in.

As a program (`python -m tests.corpora.kernels.generated.running_cpp`), it reads one JSON list of programs a line and answers
each with a line of results.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from typing import Any

import numpy as np

from tests.corpora.kernels.generated.cuda_cpp import Program
from tests.corpora.kernels.generated.typed import THREADS

BATCH = 30
OPTIONS = ("-fmad=false",)  # the stand-in rounds each product and each sum


def results(programs: list[Program]) -> list[dict[str, Any]]:
    """Return the outputs of each program as hexadecimal bytes, or the error."""
    found = []
    for first in range(0, len(programs), BATCH):
        some = programs[first : first + BATCH]
        try:
            found += together(some)
        except Exception:  # one of them fails: each on its own
            for program in some:
                try:
                    found += together([program])
                except Exception as problem:
                    found.append({"refused": type(problem).__name__, "words": str(problem)[:2000]})
    return found


def renamed(program: Program, number: int) -> str:
    """Return the source with names that no other program has."""
    return re.sub(r"\b(program|part\d)\b", rf"\1_{number}", program.source)


def together(programs: list[Program]) -> list[dict[str, Any]]:
    """Compile programs as one module, as it takes no longer than for one, and run each."""
    import cupy as cp

    code = "\n".join(renamed(program, number) for number, program in enumerate(programs))
    module = cp.RawModule(code=code, options=OPTIONS)
    found = []
    for number, program in enumerate(programs):
        kernel = module.get_function(f"program_{number}")
        arrays = [cp.asarray(each) for each in program.inputs()]
        outputs = {name: cp.zeros(THREADS, dtype) for name, dtype in program.outputs.items()}
        kernel((1,), (THREADS,), (*arrays, *outputs.values()))
        found.append({name: np.asarray(array.get()).tobytes().hex() for name, array in outputs.items()})
    return found


def main() -> int:
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        programs = [Program(**each) for each in json.loads(line)]
        print(json.dumps(results(programs)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
