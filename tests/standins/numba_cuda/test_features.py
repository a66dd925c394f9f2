"""The corpus of features (`tests/corpora/kernels/features`): right kernels of other people's programs, in both ways of running.

NumPy is the judge, and `tests/rehearsal/test_features.py` runs the same on the real numba-cuda.
"""

import json
import linecache
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()  # the kernels of the corpus are made when it is imported

from numba import cuda  # noqa: E402

from host_to_device.standins.numba_cuda import array_functions, inferring, vectorizing  # noqa: E402
from host_to_device.standins.numba_cuda.numbas_types import Array, Number  # noqa: E402
from tests.corpora.kernels import features  # noqa: E402
from tests.corpora.kernels.case import differences, run  # noqa: E402
from tests.corpora.kernels.features import grids  # noqa: E402
from tests.corpora.kernels.features.corpus import ALL  # noqa: E402
from tests.corpora.kernels.features.numpy_functions import WITH_RUNTIME  # noqa: E402
from tests.corpora.kernels.features.ufuncs import PROGRAMS, REFUSED, same  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Host array used in CUDA kernel")
SECONDS = 60
# Cases that can only run interpreted, and say so.
RUN_INTERPRETED = {case.name for case in grids.CASES}


cases = pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
KINDS: dict[str, str] = {}  # of cases, each with its first case, which `make test` compiles
for each in ALL:
    KINDS.setdefault(each.kinds[0], each.name)


def wrong(case, seed: int | None = None, inputs: int = 0, interpreted: bool = True) -> list[str]:
    with cuda.stand_in(seconds=SECONDS, interpreted=interpreted, seed=seed):
        return differences(case, run(case, cuda, inputs), inputs)


def test_names_are_unique():
    assert len({case.name for case in ALL}) == len(ALL)


@cases
def test_interpreted(case):
    assert wrong(case) == []
    assert wrong(case, seed=3, inputs=11) == []


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case.name, marks=() if case.name in KINDS.values() else pytest.mark.slow)
        for case in ALL
    ],
)
def test_compiled(case):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert wrong(case, interpreted=False) == []
    assert any("runs interpreted" in str(each.message) for each in said) == (case.name in RUN_INTERPRETED)


def test_there_are_programs():
    assert len(PROGRAMS) > 20


@pytest.mark.parametrize(
    "interpreted",
    [True, pytest.param(False, marks=pytest.mark.slow)],
    ids=["interpreted", "compiled"],
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_ufuncs(name, interpreted):
    with cuda.stand_in(seconds=SECONDS, interpreted=interpreted):
        got, right = PROGRAMS[name]()
    assert len(got) == len(right)
    for one, other in zip(got, right, strict=True):
        assert same(one, other), (one, other)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_ufuncs(name):
    call, kind, words = REFUSED[name]
    with pytest.raises(Exception) as problem:
        call()
    assert type(problem.value).__name__ == kind
    assert words in str(problem.value)


# ---- what numba-cuda's own compiler says of NumPy's functions

TYPES = json.loads((Path(features.__file__).parent / "numpy_types.json").read_text())
# Taken by numba-cuda and left out here, or of types that the interpreter does not follow, each with the reason.
ELSEWHERE = {
    "a.item()": "Numba's own for the CPU",
    **dict.fromkeys(
        ("np.angle(a)", "np.around(a)", "np.imag(a)", "np.isscalar(a)", "np.nan_to_num(a)", "np.real(a)"),
        "Numba's own for the CPU; the interpreter asks NumPy",
    ),
    **dict.fromkeys(
        ("np.round(a)", "np.shape(a)", "np.sinc(a)", "np.size(a)"),
        "the same",
    ),
}


def kind_of(code: str):
    return Array(Number(code[1:-1]), 1) if code.startswith("[") else Number(code)


def function_of(text: str):
    """Return a device function of `a` and `b` with this expression, in a kernel that calls it."""
    names = "a, b" if ", b" in text else "a"
    source = f"def function({names}):\n    return {text}\n"
    file = f"numpy function {text}"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    space = {"np": np, "__name__": __name__}
    exec(compile(source, file, "exec"), space)
    caller = f"def elements({names}, out):\n    out[0] = core({names})\n"
    return vectorizing.kernel_of(caller, text, cuda.jit(device=True)(space["function"]))


@pytest.mark.parametrize("text", sorted(set(TYPES["taken"]) - set(ELSEWHERE)))
def test_types_of_numpy_functions(text):
    kernel = function_of(text)
    for codes, wanted in TYPES["taken"][text].items():
        if wanted is None:
            continue
        typing = inferring._Typing(kernel.program, [])
        _, kind = typing.version(next(iter(kernel.program.functions)), tuple(map(kind_of, codes.split())))
        assert kind is not None and kind.code == wanted, (codes, kind)


@pytest.mark.parametrize("text", [each for each in TYPES["refused"] if not each.startswith("np.float_")])
def test_refused_numpy_functions(text):
    name = text[: text.index("(")].rpartition(".")[2]
    if not (isinstance(getattr(np, name, None), np.ufunc) or name in array_functions.WITH_RUNTIME):
        return  # refused by Numba's compiler for the CPU as well, or makes an array
    with pytest.raises(Exception, match=r"numpy|array method") as problem:
        _ = function_of(text).program
    assert type(problem.value).__name__ == "TypingError"


@pytest.mark.parametrize("interpreted", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", WITH_RUNTIME, ids=lambda case: case.name)
def test_reductions_that_need_the_runtime(case, interpreted, monkeypatch):
    monkeypatch.setattr(array_functions, "has_runtime", lambda: True)
    assert wrong(case, interpreted=interpreted) == []


RECURSIVE = """
import numpy as np
from host_to_device.standins import imports
imports.redirect()
from numba import cuda

@cuda.jit(device=True)
def triangle(n):
    if n < 1:
        return 0
    return n + triangle(n - 1)

@cuda.jit
def triangles(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = triangle(i)

out = np.zeros(4, np.int64)
triangles[1, 4](out)
print(out.tolist())
"""


def test_a_recursive_function_runs_again_in_another_process(tmp_path):
    """Numba crashes where it loads such a function from its cache."""
    script = tmp_path / "recursive.py"
    script.write_text(RECURSIVE)
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", str(script)],
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
        )
        assert (done.returncode, done.stdout.strip()) == (0, "[0, 1, 3, 6]"), done.stderr[-500:]
