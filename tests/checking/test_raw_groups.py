"""The check watches cooperative groups, CUB and `cuda::atomic_ref` as it watches CUDA's own barriers and atomics."""

import pytest

from host_to_device.standins import imports

imports.redirect()

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402

import host_to_device as h2d  # noqa: E402
from host_to_device.standins.cuda_cpp import KernelFault  # noqa: E402
from tests.checking.raw_groups import COOPERATIVE, RIGHT, WRONG, without_grid  # noqa: E402
from tests.checking.raw_kernels import N  # noqa: E402


def arguments():
    x = cp.asarray((np.arange(N) % 13).astype(np.float32))
    return x, cp.zeros(N, cp.float32), cp.zeros(64, cp.int32), np.int32(N)


def checked(case, **options):
    kernel = cp.RawKernel(case.source, "k", enable_cooperative_groups=case.name in COOPERATIVE)
    check = h2d.check(kernel, not_compared=case.not_compared, **options)
    return check[case.grid, case.block, None, case.shared](*arguments())


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_a_fault_is_found_with_its_kind_memory_and_lines(case):
    report = checked(case)
    assert report.findings, str(report)
    for found in report.findings:
        assert found.kind == case.kind, str(report)
        assert (found.array, found.space) == (case.array, case.space), str(report)
    assert set().union(*(found.lines for found in report.findings)) == case.lines, str(report)


@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.name)
def test_a_right_kernel_is_not_accused(case):
    report = checked(case, schedules=6)
    assert report and not report.partial, str(report)


def test_a_race_between_blocks_of_a_cooperative_launch_gets_the_grids_barrier_as_advice():
    report = checked(WRONG[0])
    assert "Put this_grid().sync() between the two" in str(report)


def test_the_grids_barrier_needs_a_cooperative_launch():
    case = without_grid()
    with pytest.raises(
        KernelFault, match=r"^k, line \d+: no cooperative launch: .*enable_cooperative_groups=True"
    ):
        cp.RawKernel(case.source, "k")(case.grid, case.block, arguments())
