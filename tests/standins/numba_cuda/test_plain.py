"""Small launches of plain kernels, which a grader has interpreted: what is plain, and the same results as compiled."""

import math

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()
from numba import cuda  # noqa: E402

from host_to_device.standins.numba_cuda import launching, plain, settings  # noqa: E402

SCALE = 3


def scaled(x, out):
    """Scale."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = SCALE * math.sqrt(x[i]) + np.float32(1)


def tile(x, out):
    part = cuda.shared.array(8, np.float32)
    i = cuda.threadIdx.x
    part[i] = x[i]
    cuda.syncthreads()
    for step in range(8):
        out[i] += part[(i + step) % 8]


def lists(x, out):
    out[0] = sum([x[0], x[1]])


def sums(x, out):
    out[0] = x.sum()


def calls(x, out):
    out[0] = scaled(x, out)


def texts(x, out):
    out[0] = x["a"]


def wide(x, out):
    out[0] = np.uint8(300)


def deeper(x, out):
    out[0] = x.T.size


@pytest.fixture
def small_first():
    settings.interpret_small_launches()
    yield
    settings.interpret_small_launches(False)


@pytest.mark.parametrize("function", [scaled, tile])
def test_a_plain_kernel_gives_what_a_compiled_one_gives(function, small_first):
    x = np.arange(8, dtype=np.float32)
    kernel = cuda.jit(function)
    first, second = np.zeros(8, np.float32), np.zeros(8, np.float32)
    kernel[1, 8](x, first)
    assert not kernel.launchers and kernel.interpreting > 0, "nothing was compiled"
    settings.interpret_small_launches(False)
    kernel[1, 8](x, second)
    assert kernel.launchers and np.array_equal(first, second) and first.any()


@pytest.mark.parametrize("function", [lists, sums, calls, texts, wide, deeper, len])
def test_other_kernels_are_for_the_compiler(function):
    assert not plain.is_plain(function)


def test_a_large_launch_and_one_that_takes_long_are_compiled(small_first, monkeypatch):
    x, out = np.ones(5_000, np.float32), np.zeros(5_000, np.float32)
    kernel = cuda.jit(scaled)
    kernel[40, 128](x, out)
    assert kernel.launchers and np.all(out == 4)
    monkeypatch.setattr(launching, "SMALL_SECONDS", 1e-5)
    out = np.zeros(8, np.float32)
    kernel = cuda.jit(tile)
    kernel[1, 8](x, out)
    assert kernel.launchers and np.all(out == 8), "as if the interpreter had not touched it"


def test_an_argument_of_another_type_is_for_the_compiler():
    assert plain.has_plain_type(np.zeros(3, np.float32)) and plain.has_plain_type(2)
    assert not plain.has_plain_type(np.zeros(3, np.float16)) and not plain.has_plain_type(np.uint8(2))
