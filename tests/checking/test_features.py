"""The check on kernels with features of other people's programs: no false alarm for right ones, a finding for wrong ones."""

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()  # the kernels of the corpus are made when it is imported

from numba import cuda  # noqa: E402

import host_to_device as h2d  # noqa: E402
from tests.corpora.kernels.features.corpus import ALL  # noqa: E402


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_no_false_alarm(case):
    given = case.fresh()
    on_device = {
        name: cuda.to_device(value) if isinstance(value, np.ndarray) else value
        for name, value in given.items()
    }
    for launch in case.plan(given):
        report = h2d.check(launch.kernel, interpreted=True)[launch.grid, launch.block](
            *(on_device[name] for name in launch.arguments)
        )
        assert not report.findings, report


# ---- wrong kernels


@cuda.jit
def no_barrier_of_the_grid(x, sums, out):
    i = cuda.grid(1)
    sums[i] = x[i]
    cuda.cg.this_grid()
    out[i] = sums[x.size - 1 - i]


@cuda.jit
def barrier_of_the_block_only(x, sums, out):
    i = cuda.grid(1)
    sums[i] = x[i]
    cuda.syncthreads()
    out[i] = sums[x.size - 1 - i]


@cuda.jit
def one_block_waits(x, sums, out):
    i = cuda.grid(1)
    g = cuda.cg.this_grid()
    if cuda.blockIdx.x == 0:
        g.sync()
    out[i] = x[i]


@cuda.jit
def half_a_block_waits(x, sums, out):
    i = cuda.grid(1)
    g = cuda.cg.this_grid()
    if cuda.threadIdx.x < 16:
        g.sync()
    else:
        cuda.syncthreads()
    out[i] = x[i]


@cuda.jit
def written_too_late(x, sums, out):
    """the second phase stores what other blocks still read"""
    i = cuda.grid(1)
    g = cuda.cg.this_grid()
    sums[i] = x[i]
    g.sync()
    out[i] = sums[x.size - 1 - i]
    sums[i] = 0


TOTAL = cuda.to_device(np.zeros(1, np.float32))


@cuda.jit
def race_in_the_module(x, sums, out):
    TOTAL[0] += x[cuda.grid(1)]


@cuda.jit
def reduction_races(x, sums, out):
    i = cuda.grid(1)
    sums[i] = x[i]
    out[i] = sums.sum()


@pytest.mark.parametrize(
    ("kernel", "kind", "words"),
    [
        (no_barrier_of_the_grid, "race", "sums"),
        (barrier_of_the_block_only, "race", "sums"),
        (one_block_waits, "barrier divergence", "at the barrier of the grid, but 32 of the grid have left"),
        (half_a_block_waits, "barrier divergence", "16 of the same block at the barrier of the grid"),
        (written_too_late, "race", "sums"),
        (race_in_the_module, "race", "TOTAL"),
        (reduction_races, "race", "sums"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_findings(kernel, kind, words):
    arrays = [cuda.to_device(np.arange(64, dtype=np.float32)) for _ in range(3)]
    report = h2d.check(kernel)[2, 32](*arrays)
    assert report.findings
    assert report.findings[0].kind == kind
    assert words in report.findings[0].text


def test_a_check_leaves_the_module_alone():
    before = TOTAL.copy_to_host()
    h2d.check(race_in_the_module)[2, 32](*[cuda.to_device(np.ones(64, np.float32)) for _ in range(3)])
    assert TOTAL.copy_to_host() == before
