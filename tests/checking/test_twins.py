"""Every example of the check's pages gives the same findings in Python and in CUDA C++."""

import linecache
import re

import pytest

from book.checks.directive import HERE, cells_of
from host_to_device.standins import imports

imports.redirect()

import cupy as cp  # noqa: E402
import numpy as np  # noqa: E402

import host_to_device as h2d  # noqa: E402
from tests.checking.raw_twins import TWINS  # noqa: E402

EXAMPLES = sorted(path.stem for path in HERE.glob("*.py"))


def checked(twin, **options):
    arguments = [cp.asarray(each) if isinstance(each, np.ndarray) else each for each in twin.arguments()]
    check = h2d.check(cp.RawKernel(twin.source, twin.kernel), **twin.options | options)
    sizes = [each if isinstance(each, tuple) else (each,) for each in (twin.grid, twin.block)]
    return check[sizes[0], sizes[1]](*arguments)


def statements(finding):
    """Say what stands at the lines of a finding: what both languages have in common of it."""
    lines = [linecache.getline(finding.file, line) for line in finding.lines]
    return [re.sub(r"_?sync|_", "", word) for line in lines for word in re.findall(r"shfl\w+|syncwarp", line)]


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_cell_has_a_twin(example):
    cells = set(cells_of(HERE / f"{example}.py"))
    assert cells == {twin.cell for twin in TWINS if twin.example == example}


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: f"{twin.example} {twin.cell}")
def test_a_twin_gives_the_findings_of_its_cell(twin):
    of_page = cells_of(HERE / f"{twin.example}.py")[twin.cell].report
    report = checked(twin)
    if of_page.findings and not report.findings:  # the machine does other things: the longer time decides
        report = checked(twin, seconds=30)
    assert [each.kind for each in report.findings] == [each.kind for each in of_page.findings], str(report)
    for found, wanted in zip(report.findings, of_page.findings, strict=True):
        assert (found.space, found.pair) == (wanted.space, wanted.pair), str(report)
        assert statements(found) == statements(wanted), str(report)
