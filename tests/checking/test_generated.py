"""Generated cooperative kernels, whose races are known by construction: the check misses none and accuses no right one."""

import warnings

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()

from tests.corpora.kernels.generated import checking, cooperative  # noqa: E402
from tests.corpora.kernels.generated.cooperative import Kernel, Step  # noqa: E402


def faults(kernels, interpreted, **options):
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kernel in kernels:
            verdict = checking.judge(kernel, interpreted, **options)
            if verdict.outcome in checking.FAULTS:
                found.append(
                    f"{kernel.name}: {verdict.outcome}: {verdict.words}\n{cooperative.as_text(kernel)}"
                )
    return found


def test_a_sample_interpreted():
    kernels = cooperative.kernels(22, 500)
    assert {kernel.kind for kernel in kernels} == set(cooperative.KINDS)
    assert faults(kernels, True) == []


STORE, LOAD = Step("store", "tile", "t", 0, 1), Step("load", "tile", "(t + 1) % N")


@pytest.mark.parametrize(
    ("steps", "wrong"),
    [
        ((STORE, Step("block"), LOAD), []),
        ((STORE, LOAD), ["race"]),
        ((STORE, Step("warp"), LOAD), ["race"]),  # lane 31 needs what another warp stores
        ((STORE, Step("warp"), Step("load", "tile", "t ^ 1")), []),
        ((STORE, Step("load", "tile", "t")), []),
        ((LOAD,), ["uninitialised read"]),
        ((Step("atomic", "out", "0", 0, 1),), ["race"]),  # with the last line, which adds v without an atomic
        ((Step("ticket", "out", "b * N", 0, 1), Step("block")), ["order dependence"]),
        ((Step("load", "out", "N + t"),), ["out of bounds"]),
        ((STORE, Step("divergent", guard=5), LOAD), ["barrier divergence"]),
    ],
)
def test_truth_of_kernels_that_anyone_can_judge(steps, wrong):
    known = cooperative.truth(Kernel("by hand", 0, 1, 64, steps))
    assert [sorted(each)[0] for each in known.required] == wrong


def test_results_of_right_kernels_are_known():
    known = cooperative.truth(Kernel("by hand", 0, 1, 64, (STORE, Step("block"), LOAD)))
    assert np.array_equal(known.out, 100_004 + (np.arange(64) + 1) % 64)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_many_kernels(first):
    assert faults(cooperative.kernels(200, first), True) == []


@pytest.mark.slow
@pytest.mark.one_in(2)
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", [2000, 2002])
def test_some_kernels_compiled(first):
    """Compiling a check takes 5 to 10 s."""
    assert faults(cooperative.kernels(40, first), False) == []
