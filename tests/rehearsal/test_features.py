"""The corpus of features (`tests/corpora/kernels/features`) on the real numba-cuda: what the stand-in is held to is right.

Cooperative launches, which the rehearsal refuses, are left out.
"""

import pytest

CASES = """
import warnings
warnings.simplefilter("ignore")
from numba import cuda
from tests.corpora.kernels import runner
from tests.corpora.kernels.features import corpus, grids, numpy_functions
chosen = numpy_functions.WITH_RUNTIME if {runtime} else [case for case in corpus.ALL if case not in grids.CASES]
raise SystemExit(runner.report(chosen, cuda, 0))
"""
UFUNCS = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
from tests.corpora.kernels.features.ufuncs import PROGRAMS, REFUSED, same

for name, program in PROGRAMS.items():
    got, right = program()
    assert len(got) == len(right) and all(map(same, got, right)), (name, got, right)
for name, (call, kind, words) in REFUSED.items():
    try:
        call()
    except Exception as problem:
        assert type(problem).__name__ == kind and words in str(problem), (name, problem)
    else:
        raise AssertionError(name)
print("all right")
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("runtime", [False, True])
def test_features(rehearsed, runtime):
    more = {"NUMBA_CUDA_ENABLE_NRT": "1"} if runtime else {}
    lines = rehearsed(CASES.format(runtime=runtime), 800, **more).splitlines()
    assert not [line for line in lines if line.startswith(("differs", "error"))]
    assert sum(line.startswith("ok ") for line in lines) >= (2 if runtime else 45)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ufuncs(rehearsed):
    assert "all right" in rehearsed(UFUNCS, 500)
