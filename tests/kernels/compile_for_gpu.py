"""Compile every kernel with Numba's CUDA compiler, without a GPU: `python -m tests.kernels.compile_for_gpu`.

It asks for packages that the course does not install, so it runs in an environment of its own:

    python3 -m venv /tmp/compiler
    /tmp/compiler/bin/pip install numpy==2.3.5 "numba-cuda[cu13]==0.30.4"
    /tmp/compiler/bin/python -m tests.kernels.compile_for_gpu
"""

import argparse
import sys
import time
from types import SimpleNamespace

import numba
from numba import cuda
from numba.cuda import dispatcher

CAPABILITY = (7, 5)
_jit = cuda.jit
_options: dict = {}  # by kernel: its signature and its options


def jit_later(first=None, **options):
    """Stand in for `cuda.jit`: a signature is kept for later, as there is no GPU to compile for."""
    if callable(first) and not isinstance(first, numba.core.typing.templates.Signature):
        return _remember(first, None, options)
    return lambda function: _remember(function, first, options)


def _remember(function, signature, options):
    dispatcher = _jit(**options)(function)
    _options[function] = signature, options
    return dispatcher


def prepare():
    """Let kernels and device functions compile for a device that is not there."""
    cuda.jit = jit_later
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=CAPABILITY)


def type_of(value):
    """Give the type that a launch with this input has."""
    from tests.kernels.case import RandomStates

    if isinstance(value, RandomStates):
        from numba.cuda.random import xoroshiro128p_type

        return numba.types.Array(xoroshiro128p_type, 1, "C")
    return numba.typeof(value)


def compile_kernel(function, types):
    """Give the PTX of a kernel, compiled for its own signature if it has one, else for these types."""
    from numba.core import sigutils

    signature, options = _options.get(function, (None, {}))
    if signature is not None:
        types = sigutils.normalize_signature(signature[0] if isinstance(signature, list) else signature)[0]
    kept = {name: options[name] for name in ("fastmath", "opt", "debug", "lineinfo") if name in options}
    return cuda.compile_ptx(function, numba.void(*types), cc=CAPABILITY, **kept)[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="names or kinds of cases; all if none is given")
    asked = parser.parse_args()
    prepare()
    from tests.kernels.corpus import ALL
    from tests.kernels.runner import chosen

    failed = 0
    for case in chosen(asked.names, ALL):
        given = case.fresh()
        done = set()
        for launch in case.plan(given):
            types = tuple(type_of(given[name]) for name in launch.arguments)
            function = launch.kernel.py_func
            if (function, types) in done:
                continue
            done.add((function, types))
            start = time.perf_counter()
            try:
                words = f"{len(compile_kernel(function, types).splitlines()):5} lines of PTX"
                verdict = "ok"
            except Exception as error:
                verdict, failed = "refused", failed + 1
                words = "\n    ".join(line for line in str(error).splitlines() if line.strip())
            seconds = time.perf_counter() - start
            print(f"{verdict:8}{seconds:6.2f} s  {case.name:40} {function.__name__:28} {words}", flush=True)
    print(f"{failed} refused" if failed else "all compiled")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
