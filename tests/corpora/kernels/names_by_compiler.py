"""What a real compiler makes of the programs of `names`, in a process without the stand-ins.

`python -m tests.corpora.kernels.names_by_compiler numba.cuda` (or `numba_cuda_mlir.cuda`) prints one JSON object.
"""

import importlib
import json
import linecache
import math
import sys
import types as python_types
import warnings

import numpy as np

from tests.corpora.kernels.names import COMPILES, PROGRAMS

CAPABILITY = (7, 5)


def prepare(library):
    """Let a library compile for a device that is not there; return its module `cuda` and its types."""
    package = library.rpartition(".")[0]
    cuda, types = importlib.import_module(library), importlib.import_module(f"{package}.types")
    if package == "numba":
        dispatcher = importlib.import_module("numba.cuda.dispatcher")
        dispatcher.get_current_device = lambda: python_types.SimpleNamespace(compute_capability=CAPABILITY)
    else:
        importlib.import_module(f"{package}.tools")._cached_cc = CAPABILITY
    return cuda, types


def outcome(program, cuda, types):
    file = f"<{program.name}>"
    linecache.cache[file] = len(program.source), None, program.source.splitlines(True), file
    import numba

    names = {"cuda": cuda, "types": types, "math": math, "np": np, "numba": numba, "__name__": "names"}
    real = cuda.jit
    try:
        if not program.kernel:
            exec(compile(program.source, file, "exec"), names)
            arguments = eval(f"({program.arguments},)" if program.arguments else "()", vars(types).copy())
            found = names["program"]
            if cuda.__name__ == "numba.cuda":
                return str(cuda.compile_ptx(found, arguments, device=True, cc=CAPABILITY)[1])
            from numba_cuda_mlir.compiler import _compile_only
            from numba_cuda_mlir.descriptor import mlir_target

            mlir_target.ensure_initialized()
            return str(
                _compile_only(found, arguments, {"device": True, "chip": "sm_75"}).signature.return_type
            )
        given = {}

        def later(first=None, **options):
            """Compile a kernel with a signature later: numba-cuda loads it on the device at once."""
            if cuda.__name__ == "numba.cuda" and isinstance(first, str):
                return real(**options)
            if callable(first):
                return real(first)
            given.update({name: options[name] for name in ("debug", "opt") if name in options})
            return real(first, **options) if first is not None else real(**options)

        cuda.jit = later
        exec(compile(program.source, file, "exec"), names)
        if program.arguments:
            arguments = eval(f"({program.arguments},)", {n: getattr(types, n) for n in dir(types)})
            cuda.compile_ptx(names["program"].py_func, types.void(*arguments), cc=CAPABILITY, **given)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    finally:
        cuda.jit = real
    return COMPILES


def main():
    warnings.simplefilter("ignore")
    cuda, types = prepare(sys.argv[1])
    print(json.dumps({program.name: outcome(program, cuda, types) for program in PROGRAMS}))


if __name__ == "__main__":
    main()
