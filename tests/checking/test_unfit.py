"""The check names floats that an integer type cannot hold, with the line, the value and what becomes of it."""

from pathlib import Path

import numpy as np
import pytest

import host_to_device as h2d
from host_to_device.standins import imports

imports.redirect()

from numba import cuda, int32, uint8  # noqa: E402


@cuda.jit
def darker(image, out, by):
    i = cuda.grid(1)
    if i < image.size:
        out[i] = image[i] - by  # stored


@cuda.jit
def rounded(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = int32(x[i]) // 2  # cast


@cuda.jit
def summed(x, total):
    cuda.atomic.add(total, 0, x[cuda.grid(1)])  # atomic


def line_of(text):
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {text}"))


@pytest.mark.parametrize("interpreted", [True, False])
def test_a_store(interpreted):
    image = np.arange(64, dtype=np.uint8)
    report = h2d.check(darker, interpreted=interpreted)[2, 32](image, np.zeros_like(image), 5.0)
    assert report
    wanted = f"Line {line_of('stored')}: -5.0 does not fit uint8: undefined in C; NVIDIA GPUs store 0, most CPUs 251."
    assert wanted in report.remarks


def test_a_cast():
    x = np.array([1.5, 3e9, np.nan])
    report = h2d.check(rounded)[1, 4](x, np.zeros(3, np.int64))
    [words] = report.remarks
    assert words.startswith(f"Line {line_of('cast')}: 3,000,000,000.0 does not fit int32")
    assert "NVIDIA GPUs store 2,147,483,647, most CPUs -1,294,967,296" in words


def test_an_atomic():
    report = h2d.check(summed)[1, 2](np.array([-1.0, 2.0]), np.zeros(1, np.uint32))
    assert any(
        words.startswith(f"Line {line_of('atomic')}: -1.0 does not fit uint32") for words in report.remarks
    )


@pytest.mark.parametrize("interpreted", [True, False])
def test_values_that_fit_are_not_mentioned(interpreted):
    image = np.arange(5, 69, dtype=np.uint8)
    report = h2d.check(darker, interpreted=interpreted)[2, 32](image, np.zeros_like(image), 5.9)
    assert report and not report.remarks


def test_what_saturates_in_narrow_types():
    from host_to_device.standins.numba_cuda.saturating import saturated

    assert [saturated(value, np.dtype(np.uint8)) for value in (300.0, 70000.0, -5.0, np.nan)] == [
        44,
        255,
        0,
        0,
    ]
    assert [saturated(value, np.dtype(np.uint8), 32) for value in (300.0, 70000.0, -5.0)] == [44, 112, 0]
    assert saturated(np.float32(np.nan), np.dtype(np.int32)) == 0
    assert saturated(np.nan, np.dtype(np.int32)) == -(2**31)


def test_functions_of_njit_stay_as_they_are_for_the_cpu():
    from numba import njit

    @njit
    def low(value):
        return uint8(value)

    @cuda.jit
    def kernel(x, out):
        out[0] = low(x[0])

    before = low(-5.0)
    out = np.zeros(1, np.uint8)
    kernel[1, 1](np.array([-5.0]), out)
    assert out[0] == 0
    assert low(-5.0) == before  # compiled for the CPU, and so it stays
