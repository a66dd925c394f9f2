"""The corpus on the stand-in; to be renamed test_parity.py once `import cupy` is redirected."""

import pytest

from host_to_device.standins import imports
from tests.parity import names
from tests.parity.case import difference
from tests.parity.corpus import ALL


@pytest.fixture(scope="module")
def cp():
    imports.redirect()
    try:
        import cupy

        yield cupy
    finally:
        imports.restore()


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_outcome_of_cupy(program, cp):
    assert difference(program, cp) is None


@pytest.mark.parametrize("place", names.PLACES)
def test_names_and_signatures_are_those_of_cupy(place, cp):
    assert names.differences(names.at(place), names.recorded()["places"][place]) == []
