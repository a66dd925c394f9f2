"""Races in CUDA C++ are found with their array and lines, and right kernels are not accused."""

import pytest

from host_to_device.standins import imports

imports.redirect()

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402

import host_to_device as h2d  # noqa: E402
from tests.checking.raw_kernels import RIGHT, WRONG, N  # noqa: E402


def checked(case, **options):
    x = cp.asarray((np.arange(N) % 13).astype(np.float32))
    out, count = cp.zeros(N, cp.float32), cp.zeros(64, cp.int32)
    options.setdefault("not_compared", case.not_compared)
    check = h2d.check(cp.RawKernel(case.source, "k"), **options)
    return check[case.grid, case.block, None, case.shared](x, out, count, np.int32(N))


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_a_fault_is_found_with_its_kind_memory_and_lines(case):
    report = checked(case)
    assert report.findings, str(report)
    for found in report.findings:
        assert found.kind in case.kind.split("+"), str(report)
        assert found.array in case.array.split("+") and found.space == case.space, str(report)
        assert set(found.lines) <= case.lines, str(report)
    assert set().union(*(found.lines for found in report.findings)) == case.lines, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.name)
def test_a_right_kernel_is_not_accused(case):
    report = checked(case, schedules=6)
    assert report and not report.partial, str(report)
    assert report.schedules == 6
