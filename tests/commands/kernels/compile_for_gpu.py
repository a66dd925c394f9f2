"""Compile every kernel with Numba's CUDA compiler, without a GPU: `python -m tests.commands.kernels.compile_for_gpu`.

It asks for packages that the course does not install, so it runs in an environment of its own:

    python3 -m venv /tmp/compiler
    /tmp/compiler/bin/pip install numpy==2.3.5 "numba-cuda[cu13]==0.30.4"
    /tmp/compiler/bin/python -m tests.commands.kernels.compile_for_gpu

With `--refused` it compiles what `refused` lists instead, and compares the errors with the words given there.
"""

import argparse
import linecache
import math
import sys
import time
from types import SimpleNamespace

import numba
import numpy as np
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


def device_that_is_not_there():
    return SimpleNamespace(compute_capability=CAPABILITY)


def prepare():
    """Let kernels and device functions compile for a device that is not there."""
    cuda.jit = jit_later
    dispatcher.get_current_device = device_that_is_not_there


def type_of(value):
    """Give the type that a launch with this input has."""
    from tests.corpora.kernels.case import RandomStates

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


def compile_case(case) -> int:
    """Compile the kernels of a case, print a line for each, and count those refused."""
    given = case.fresh()
    done, failed = set(), 0
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
        print(f"{verdict:8}{seconds:6.2f} s  {case.name:44} {function.__name__:28} {words}", flush=True)
    return failed


def error_of(action) -> tuple[str, str]:
    try:
        action()
    except Exception as error:
        return type(error).__name__, str(error)
    return "accepted", ""


def names_for_refused():
    return {
        "math": math,
        "np": np,
        "numba": numba,
        "cuda": cuda,
        "float32": numba.float32,
        "int32": numba.int32,
        "__name__": "refused",
    }


def compile_refused(refused) -> tuple[str, str]:
    """Compile a kernel from its source; give the name and the words of the error."""
    names = names_for_refused()
    file = f"<{refused.name}>"
    linecache.cache[file] = len(refused.source), None, refused.source.splitlines(True), file
    exec(compile(refused.source, file, "exec"), names)
    types = eval(f"({refused.arguments},)", vars(numba.types).copy())
    return error_of(lambda: cuda.compile_ptx(names["kernel"].py_func, numba.void(*types), cc=CAPABILITY))


def launch_refused(refused) -> tuple[str, str]:
    """Launch as no one should; give the name and the words of the error."""

    def kernel(x, n):
        i = cuda.grid(1)
        if i < n:
            x[i] = 1

    names = names_for_refused() | {
        "kernel": cuda.jit(kernel),
        "helper": cuda.jit(device=True)(lambda x: x),
        "x": np.zeros(4, np.float32),
    }
    return error_of(lambda: eval(refused.launch, names))


def compare(refused, error, words) -> bool:
    same = error == refused.error and refused.words in words
    print(f"{'ok' if same else 'differs':8}{refused.name:50}{refused.error}: {refused.words}")
    if not same:
        print(f"        {error}: {words}")
    return same


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="names or kinds of cases; all if none is given")
    parser.add_argument("--refused", action="store_true", help="compile what must be refused instead")
    asked = parser.parse_args()
    if asked.refused:
        from tests.corpora.kernels.refused import REFUSED, REFUSED_LAUNCHES

        dispatcher.get_current_device = device_that_is_not_there
        results = [compare(refused, *compile_refused(refused)) for refused in REFUSED]
        results += [compare(refused, *launch_refused(refused)) for refused in REFUSED_LAUNCHES]
        print(f"{sum(results)} of {len(results)} refused in the words listed")
        return 0 if all(results) else 1

    prepare()
    from tests.corpora.kernels.corpus import ALL
    from tests.corpora.kernels.runner import chosen

    failed = sum(compile_case(case) for case in chosen(asked.names, ALL))
    print(f"{failed} refused" if failed else "all compiled")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
