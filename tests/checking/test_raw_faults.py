"""What the check once got wrong in CUDA C++: warps, local memory, bounds inside an object, limits, waits, headers."""

import time
from dataclasses import replace

import pytest

from host_to_device.standins import imports

imports.redirect()

import cupy as cp  # noqa: E402

import host_to_device as h2d  # noqa: E402
from host_to_device.checking import cuda_cpp as cuda_cpp_check  # noqa: E402
from host_to_device.checking.cuda_cpp import array_at, declared_without_value  # noqa: E402
from host_to_device.standins import cuda_cpp  # noqa: E402
from host_to_device.standins.cuda_cpp import building, compiler, nvrtc  # noqa: E402
from tests.checking.raw_faults import RIGHT, WAITS, WRONG  # noqa: E402
from tests.checking.test_raw_races import checked  # noqa: E402

# What the check sees only if the memory happens to hold a large number, and why.
SEEN_BY_CHANCE = {
    "a local array that is filled up to its last element": "the patterns are negative or zero, and the maximum begins at 0",
}


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_a_fault_is_found_by_its_kind_and_lines(case):
    report = checked(case, seconds=SHORT) if case in WAITS else checked(case)
    if case in WAITS and not report.findings:  # the machine does other things: the longer time decides
        report = checked(case)
    if case.name in SEEN_BY_CHANCE and not report.findings:
        pytest.xfail(SEEN_BY_CHANCE[case.name])
    assert report.findings, str(report)
    for found in report.findings:
        assert found.kind == case.kind, str(report)
        assert set(found.lines) & case.lines, str(report)
        assert not case.space or found.space == case.space, str(report)


# With every commit one launch that waits and one that works are given the time in which the check sees that no thread
# gets on; the others are stopped before, which the check tells from a launch that gets on.
SHORT = 0.5  # seconds
LONG = ("a lock that is never given back", "a loop that does not count")


@pytest.mark.parametrize(
    "case",
    [pytest.param(each, marks=[pytest.mark.slow] * (each.name not in LONG), id=each.name) for each in WAITS],
)
def test_a_launch_that_does_not_get_on_ends_before_its_time(case):
    report = checked(case)
    assert [each.kind for each in report.findings] == [case.kind], str(report)
    assert "no thread gets on any more" in str(report) and report.seconds < 20, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("case", RIGHT, ids=lambda case: case.name)
def test_a_right_kernel_is_not_accused(case):
    report = checked(case, schedules=4)
    assert report and not report.partial and report.schedules == 4, str(report)


SLOW_TO_COMPILE = 1.2  # seconds


def test_compiling_does_not_count_as_time_of_the_check(monkeypatch):
    load = building.load

    def slowly(*given):
        time.sleep(SLOW_TO_COMPILE)
        return load(*given)

    monkeypatch.setattr(building, "load", slowly)
    report = checked(RIGHT[0], seconds=1)
    assert report and report.schedules == 3 and report.seconds > 2 * SLOW_TO_COMPILE, str(report)


def test_a_check_that_saw_nothing_does_not_say_that_nothing_is_wrong():
    report = checked(RIGHT[0], seconds=1e-9)
    assert not report and not report.findings
    assert "nothing was checked" in str(report) and "no errors" not in str(report)
    with pytest.raises(h2d.checking.CheckError, match="nothing was checked"):
        checked(RIGHT[0], seconds=1e-9, strict=True)


def test_a_check_that_ran_one_schedule_only_says_what_is_missing():
    assert "For races and unwritten outputs" in str(checked(RIGHT[0], schedules=1))


def test_a_header_that_nvrtc_does_not_find_is_no_fault_of_the_kernel(monkeypatch):
    case = next(each for each in RIGHT if each.name == "half precision")
    monkeypatch.setattr(nvrtc, "_headers", tuple)
    report = checked(case)
    assert report, str(report)
    if nvrtc.is_installed():
        assert "NVRTC did not find cuda_fp16.h" in str(report)


def test_a_source_that_does_not_compile_is_still_refused():
    with pytest.raises(cuda_cpp.CompileError, match="no_such_header"):
        h2d.check(cp.RawKernel('#include "no_such_header.h"\nextern "C" __global__ void k() {}', "k"))[
            (1,), (1,)
        ]()


@pytest.mark.parametrize(
    ("line", "column", "array"),
    [
        ("    mine[k] = 1;", 11, "mine"),  # g++ names the closing bracket
        ("    mine[k] = 1;", 5, "mine"),  # clang names the beginning
        ("    x = tile[row[2]][c + 1];", 27, "tile[row[2]]"),
        ("    p->place[3] = 0;", 15, "p->place"),
        ("    a.b[i].c[j] = 0;", 15, "a.b[i].c"),
        ("    1[x] = 2", 40, ""),
    ],
)
def test_the_array_of_an_index_is_named(line, column, array):
    assert array_at(line, column) == array


def test_variables_without_a_value_are_found_where_they_are_declared():
    source = "void k() {\n    float sum, mine[3];\n    int i = 0;\n    __shared__ float s[2];\n    unsigned long n;\n    g(1);\n}"
    assert declared_without_value(source) == [(2, "sum"), (2, "mine"), (5, "n")]


def test_an_older_compiler_leaves_both_causes_open(monkeypatch):
    case = next(each for each in WRONG if each.name == "a sum that begins with anything")
    monkeypatch.setattr(cuda_cpp_check.RawRun, "read_too_early", lambda *_: pytest.fail("it cannot tell"))
    monkeypatch.setattr(compiler.find(), "fills_locals", False)
    found = checked(replace(case, name="another")).findings
    assert [each.kind for each in found] in ([], ["order dependence"])
    assert all("before its first read" in each.advice for each in found)
