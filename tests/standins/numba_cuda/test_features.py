"""The corpus of features (`tests/corpora/kernels/features`): right kernels of other people's programs, in both ways of running.

NumPy is the judge, and `tests/rehearsal/test_features.py` runs the same on the real numba-cuda.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()  # the kernels of the corpus are made when it is imported

from numba import cuda  # noqa: E402

from tests.corpora.kernels import features  # noqa: E402
from tests.corpora.kernels.case import differences, run  # noqa: E402
from tests.corpora.kernels.features.corpus import ALL  # noqa: E402
from tests.corpora.kernels.features.ufuncs import PROGRAMS, REFUSED  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Host array used in CUDA kernel")
SECONDS = 60
# Cases that fail until the feature is there, by the way in which they run.
PENDING: dict[str, list[str]] = json.loads((Path(features.__file__).parent / "pending.json").read_text())
# Cases that can only run interpreted, and say so.
RUN_INTERPRETED: set[str] = set()


def cases(how: str):
    return pytest.mark.parametrize(
        "case",
        [
            pytest.param(
                case,
                id=case.name,
                marks=[pytest.mark.xfail(strict=True)] if case.name in PENDING[how] else [],
            )
            for case in ALL
        ],
    )


def wrong(case, seed: int | None = None, inputs: int = 0, interpreted: bool = True) -> list[str]:
    with cuda.stand_in(seconds=SECONDS, interpreted=interpreted, seed=seed):
        return differences(case, run(case, cuda, inputs), inputs)


def test_names_are_unique():
    assert len({case.name for case in ALL}) == len(ALL)


@cases("interpreted")
def test_interpreted(case):
    assert wrong(case) == []
    assert wrong(case, seed=3, inputs=11) == []


@cases("compiled")
def test_compiled(case):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert wrong(case, interpreted=False) == []
    assert any("runs interpreted" in str(each.message) for each in said) == (case.name in RUN_INTERPRETED)


def same(value, right) -> bool:
    """Return whether a result is right: arrays by type, shape and value, others by equality."""
    if isinstance(right, np.ndarray):
        value = np.asarray(value)
        return (value.dtype, value.shape) == (right.dtype, right.shape) and np.allclose(value, right, 1e-6)
    return value == right


def test_there_are_programs():
    assert len(PROGRAMS) > 20


@pytest.mark.parametrize("interpreted", [True, False], ids=["interpreted", "compiled"])
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
