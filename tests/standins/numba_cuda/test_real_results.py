"""The stand-in does what the real numba-cuda did, whose outcomes are stored: all of it interpreted, some of it compiled."""

import pytest

from host_to_device.standins import imports

imports.redirect()

from host_to_device.standins.numba_cuda.settings import stand_in  # noqa: E402
from tests.commands.kernels.real_results import said, same  # noqa: E402
from tests.corpora.real_results import load, outcome, stored  # noqa: E402

PROGRAMS, REAL = load(), stored()
WIDER = (
    "undefined: NVIDIA's compiler keeps 16 bits of the uint8 where the kernel reads it on as a wider number"
)
# Programs whose outcome the stand-in does not share, each with the reason.
OTHERWISE = {
    "conversions: cast by uint8": WIDER,
    "conversions: cast by a numpy type": WIDER,
    "conversions: a local array of bytes": WIDER,
    "conversions: an argument of a declared function": WIDER,
    "conversions: a loop as long as a float": WIDER,
    "masks: a loop of equal length": "the compiler unrolls the loop and parts its lanes, which CUDA allows",
    "mistakes: launch bounds: a tuple of texts": "refused by name; Numba passes the text on",
}
COMPILED = (
    "arithmetic: floats to integers",
    "arithmetic: max of a bool and an integer",
    "conversions: float64 stored in uint8",
    "conversions: float32 stored in int64",
    "conversions: an atomic sum of floats",
    "conversions: rounded",
    "masks: a branch within a branch",
    "masks: lanes that have left",
    "masks: a loop of different lengths",
    "mistakes: ballot sync: cuda.ballot sync(0xFFFFFFFF, f)",
    "mistakes: the mask of a shuffle: cuda.shfl sync(None, h, 1)",
    "signatures: floats for integers",
    "signatures: the best of two",
    "signatures: a complex for an integer",
)


def judge(name, interpreted):
    with stand_in(interpreted=interpreted):
        found = outcome(PROGRAMS[name])
    wanted = REAL[name]
    assert same(found, wanted), f"{name}\n  real: {said(wanted)}\n  here: {said(found)}"


def test_every_program_has_a_stored_outcome_and_every_exception_a_program():
    assert set(PROGRAMS) == set(REAL)
    assert {*OTHERWISE, *COMPILED} <= set(REAL)
    assert len(REAL) >= 366, "the corpus has gone"


@pytest.mark.parametrize("name", [name for name in REAL if name not in OTHERWISE])
def test_interpreted(name):
    judge(name, interpreted=True)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name):
    judge(name, interpreted=False)


@pytest.mark.slow
@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [name for name in REAL if name not in OTHERWISE and name not in COMPILED])
def test_compiled_all(name):
    judge(name, interpreted=False)


@pytest.mark.parametrize("name", OTHERWISE)
def test_what_is_otherwise_still_is(name):
    with stand_in(interpreted=True):
        assert not same(outcome(PROGRAMS[name]), REAL[name]), "it agrees now: take it off the list"
