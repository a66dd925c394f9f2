"""Programs of array expressions on the real CuPy: the stored outcomes, and programs of fresh seeds each week."""

import datetime
import sys

import pytest

from host_to_device.standins import imports
from tests.corpora.cupy.expressions import generating, running, shrinking, storing
from tests.corpora.cupy.expressions.asking import Real

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
AGAIN = 20  # every so-manieth stored program is asked for again
FRESH = 60  # programs of seeds that no run before this week has had


@pytest.fixture(scope="module")
def real(cupy_environment):
    asked = Real(cupy_environment, sys.executable)
    yield asked
    asked.close()


def test_the_real_cupy_still_gives_the_stored_outcomes(real):
    stored = [*storing.read(storing.BY_HAND), *storing.read(storing.FROM_SEEDS)][::AGAIN]
    differs = {}
    for each in stored:
        found = running.difference(each.statements, each.outcome, real.ask(each.statements))
        if found:
            differs[each.name] = found
    assert len(stored) > 80 and not differs, differs


def test_programs_of_fresh_seeds(real):
    imports.redirect()
    import cupy

    year, week, _ = datetime.date.today().isocalendar()
    first = (year * 100 + week) * 1000
    differs = {}
    for seed in range(first, first + FRESH):
        statements = generating.program(seed)
        right = real.ask(statements)
        found = right and running.difference(statements, right, running.outcome(statements, cupy))
        if found and found[0] != running.BY_NAME:
            differs[seed] = found, shrinking.smallest(statements, found[0], real, cupy, tries=40)
    assert not differs, differs
