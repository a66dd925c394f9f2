"""What Numba's CUDA compiler refuses, the stand-in refuses, in one line that names the learner's line."""

import linecache
import math

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()

import numba  # noqa: E402
from numba import cuda  # noqa: E402

from tests.corpora.kernels.refused import REFUSED, REFUSED_LAUNCHES  # noqa: E402

# Refused by Numba and run by the stand-in, each with the reason.
RUN_ANYWAY = {
    "print of an array": "Numba's CPU compiler can print arrays",
    "None as a number": "Numba's CPU compiler has optional numbers",
}


def names(file: str) -> dict:
    return {
        "__name__": "refused",
        "math": math,
        "np": np,
        "numba": numba,
        "cuda": cuda,
        "float32": numba.float32,
        "int32": numba.int32,
    }


def arguments(text: str) -> list:
    """Return arguments of the types that a case names: arrays of four, or ones."""
    made = []
    for kind in eval(f"({text},)", vars(numba.types).copy()):
        if isinstance(kind, numba.types.Array):
            dtype = numba.np.numpy_support.as_dtype(kind.dtype)
            made.append(cuda.to_device(np.ones((4,) * kind.ndim, dtype)))
        else:
            made.append(numba.np.numpy_support.as_dtype(kind).type(1))
    return made


def attempt(case) -> Exception | None:
    """Define and launch a refused kernel; return what it raised."""
    file = f"<{case.name}>"
    linecache.cache[file] = len(case.source), None, case.source.splitlines(True), file
    space = names(file)
    try:
        exec(compile(case.source, file, "exec"), space)
        space["kernel"][1, 1](*arguments(case.arguments))
    except Exception as problem:
        return problem
    return None


def test_there_are_refused_kernels():
    assert len(REFUSED) >= 20


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_refused_kernel_is_refused_in_one_line(case):
    problem = attempt(case)
    if case.name in RUN_ANYWAY:
        assert problem is None, "refused now: take it out of RUN_ANYWAY"
        return
    assert problem is not None, "the stand-in runs what Numba refuses"
    assert "\n" not in str(problem).strip(), str(problem)
    assert len(str(problem)) < 400


@pytest.mark.parametrize("case", REFUSED_LAUNCHES, ids=lambda case: case.name)
def test_refused_launch_is_refused(case):
    @cuda.jit
    def kernel(x, n):
        i = cuda.grid(1)
        if i < n:
            x[i] += 1

    x = cuda.to_device(np.ones(4, np.float32))
    space = names("") | {"kernel": kernel, "x": x}
    with pytest.raises(Exception) as problem:
        eval(case.launch, space)
    assert str(problem.value)
    assert x.copy_to_host().tolist() == [1, 1, 1, 1]
