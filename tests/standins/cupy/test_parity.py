"""The corpus on the stand-in: outcomes, names and signatures are CuPy's."""

import sys

import pytest

from host_to_device.standins import imports
from tests.corpora.cupy import names
from tests.corpora.cupy.case import difference
from tests.corpora.cupy.corpus import ALL

# Programs whose outcome the stand-in cannot reproduce, and why.
KNOWN = {}
if sys.version_info < (3, 12):
    KNOWN["a device array has no buffer"] = (
        "before Python 3.12 a class written in Python cannot refuse a buffer"
    )


@pytest.fixture(scope="module")
def cp():
    imports.redirect()
    import cupy

    return cupy


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_outcome_of_cupy(program, cp):
    if program.name in KNOWN:
        assert difference(program, cp) is not None, "it does by now: take it out of KNOWN"
        pytest.xfail(KNOWN[program.name])
    assert difference(program, cp) is None


@pytest.mark.parametrize("place", names.PLACES)
def test_names_and_signatures_are_those_of_cupy(place, cp):
    assert names.differences(names.at(place), names.recorded()["places"][place]) == []
