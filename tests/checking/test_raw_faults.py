"""What the check once got wrong in CUDA C++: warps, local memory, bounds inside an object, limits, waits, headers."""

import time

import pytest

from host_to_device.standins import imports

imports.redirect()


from tests.checking.raw_faults import RIGHT, WAITS, WRONG  # noqa: E402
from tests.checking.test_raw_races import checked  # noqa: E402


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_a_fault_is_found_by_its_kind_and_lines(case):
    began = time.process_time()
    report = checked(case)
    assert report.findings, str(report)
    for found in report.findings:
        assert found.kind == case.kind, str(report)
        assert set(found.lines) & case.lines, str(report)
        assert not case.space or found.space == case.space, str(report)
    if case in WAITS:
        assert report.seconds < 30, f"{report}, {time.process_time() - began:.1f} s"


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.name)
def test_a_right_kernel_is_not_accused(case):
    report = checked(case, schedules=4)
    assert report and not report.partial and report.schedules == 4, str(report)
