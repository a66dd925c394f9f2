"""The proof of the check: every wrong kernel is found, by its line, and no right one is accused."""

from __future__ import annotations

import pytest

from host_to_device.standins import imports

imports.redirect()

from tests.checking.judging import alarms, missed  # noqa: E402
from tests.corpora.kernels import corpus  # noqa: E402
from tests.corpora.kernels.near import corpus as near  # noqa: E402
from tests.corpora.kernels.wrong import corpus as wrong  # noqa: E402

COMPILED_WITHIN = 4  # weeks: to compile a check takes seconds
RIGHT = [*corpus.ALL, *near.ALL]  # the near ones are almost wrong


def by_name(cases: list) -> list:
    return [pytest.param(case, id=case.name) for case in cases]


@pytest.mark.parametrize("case", by_name(wrong.ALL))
def test_a_wrong_kernel_is_found_by_its_line(case):
    assert missed(case) == []


@pytest.mark.parametrize("case", by_name(near.ALL))
def test_a_right_kernel_is_not_accused(case):
    assert alarms(case) == []


@pytest.mark.slow
@pytest.mark.parametrize("case", by_name(RIGHT))
def test_a_right_kernel_is_not_accused_under_20_schedules(case):
    assert alarms(case, schedules=20) == []


@pytest.mark.slow
@pytest.mark.one_in(COMPILED_WITHIN)
@pytest.mark.parametrize("case", by_name(wrong.ALL))
def test_a_wrong_kernel_is_found_by_compiled_code_too(case):
    # The time has to end a loop of barriers: so many accesses could be the work of a large block.
    assert missed(case, interpreted=False, seconds=5, accesses=10**10) == []


@pytest.mark.slow
@pytest.mark.one_in(COMPILED_WITHIN)
@pytest.mark.parametrize("case", by_name(RIGHT))
def test_a_right_kernel_is_not_accused_by_compiled_code_either(case):
    assert alarms(case, interpreted=False) == []
