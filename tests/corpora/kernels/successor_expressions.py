"""Expressions and types of operands, with the type of each result by numba-cuda 0.30.4 and by numba-cuda-mlir 0.6.0.

`successor_types.json` has the results that differ, `[numba-cuda's, numba-cuda-mlir's]`, and those that neither compiles;
"error" is a program that does not compile. All others are the same. `python -m tests.corpora.kernels.successor_expressions numba.cuda` (or
`numba_cuda_mlir.cuda`) prints what a real compiler gives, as JSON.
"""

import json
import linecache
import math
import sys
import warnings
from pathlib import Path

import numpy as np

TYPES = ("boolean", "int32", "int64", "uint32", "uint64", "float32", "float64")
OF_MATH = "acos asin atan ceil cos erf exp expm1 fabs floor isfinite isnan log log10 log1p log2 sin sqrt tan tanh trunc"
OF_ONE = (
    *(f"math.{name}(a)" for name in OF_MATH.split()),
    *(f"cuda.{name}(a)" for name in ("popc", "clz", "brev", "ffs", "cbrt")),
    *(
        "abs(a)",
        "-a",
        "+a",
        "~a",
        "not a",
        "int(a)",
        "float(a)",
        "bool(a)",
        "round(a)",
        "a**2",
        "a**0.5",
        "a+1",
    ),
    *("a/2", "a//2", "a%2", "a*2.0", "a<<1", "a>>1", "a&1", "min(a, 1)", "a if a else 1", "a * cuda.grid(1)"),
)
OF_TWO = (
    *(f"a {each} b" for each in ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "==", "<"]),
    *("min(a, b)", "max(a, b)", "a if a < b else b"),
    *(f"math.{name}(a, b)" for name in ("atan2", "copysign", "fmod", "hypot", "pow", "ldexp")),
)
OF_NONE = (
    *(f"cuda.{name}.x" for name in ("threadIdx", "blockIdx", "blockDim", "gridDim")),
    *("cuda.grid(1)", "cuda.gridsize(1)", "cuda.warpsize", "cuda.laneid", "cuda.lanemask_lt()"),
    *("cuda.ballot_sync(0xffffffff, True)", "cuda.match_any_sync(0xffffffff, 1)", "abs(cuda.grid(1))"),
)
OF_ARRAYS = ("a.size", "a.shape[0]", "len(a)", "a[0]", "a.sum()")
PROGRAMS = [
    *(("", each) for each in OF_NONE),
    *((kind, each) for each in OF_ONE for kind in TYPES),
    *((f"{one}, {other}", each) for each in OF_TWO for one in TYPES for other in TYPES),
    *((f"{kind}[::1]", each) for each in OF_ARRAYS for kind in TYPES[1:] if kind != "uint64"),
]
STORED = Path(__file__).with_name("successor_types.json")


def stored() -> dict[tuple[str, str], list[str]]:
    """Return the results of `successor_types.json` by the types of the operands and the expression."""
    content = json.loads(STORED.read_text(encoding="utf-8"))
    return {(kinds, each): found for each, rows in content.items() for kinds, found in rows.items()}


def source(kinds: str, expression: str) -> str:
    """Return the text of a device function that returns the expression."""
    names = ", ".join("ab"[: kinds.count(",") + 1]) if kinds else ""
    return f"def program({names}):\n    return {expression}\n"


def results(library: str) -> dict[str, str]:
    """Return the type of each result by a real compiler, or "error"."""
    from tests.corpora.kernels.names_by_compiler import CAPABILITY, prepare

    cuda, types = prepare(library)
    known = {name: getattr(types, name) for name in dir(types)}
    found = {}
    for number, (kinds, expression) in enumerate(PROGRAMS):
        text, file = source(kinds, expression), f"<expression {number}>"
        linecache.cache[file] = len(text), None, text.splitlines(True), file
        made = {"cuda": cuda, "math": math, "np": np, "__name__": "expressions"}
        exec(compile(text, file, "exec"), made)
        arguments = eval(f"({kinds},)" if kinds else "()", dict(known))
        try:
            if library == "numba.cuda":
                kind = cuda.compile_ptx(made["program"], arguments, device=True, cc=CAPABILITY)[1]
            else:
                from numba_cuda_mlir.compiler import _compile_only
                from numba_cuda_mlir.descriptor import mlir_target

                mlir_target.ensure_initialized()
                options = {"device": True, "chip": "sm_75"}
                kind = _compile_only(made["program"], arguments, options).signature.return_type
            found[f"{kinds} | {expression}"] = str(kind)
        except Exception:
            found[f"{kinds} | {expression}"] = "error"
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(results(sys.argv[1])))
