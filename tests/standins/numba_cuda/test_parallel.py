"""Compiled launches on several cores: the same results and the same errors as on one."""

import threading
import warnings

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()  # the kernels of the corpus are made when it is imported

from numba import cuda, float32  # noqa: E402

from host_to_device.standins.numba_cuda import parallel  # noqa: E402
from tests.corpora.kernels.case import differences, run  # noqa: E402
from tests.corpora.kernels.corpus import ALL  # noqa: E402


@pytest.fixture
def three_cores(monkeypatch):
    """Let every launch of more than one block run in parts on three cores; return the number of threads of each."""
    used = []
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    for name, value in (("SMALL", 0), ("LARGE", 0), ("PAYS", -1.0)):
        monkeypatch.setattr(parallel, name, value)
    within = parallel.Run.within

    def count(self, seconds):
        within(self, seconds)
        used.append(len(self.threads))

    monkeypatch.setattr(parallel.Run, "within", count)
    return used


@cuda.jit
def add(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@cuda.jit
def fail_from(x, first):
    i = cuda.grid(1)
    x[i] = 1
    if i >= first:
        x[i + x.size] = 1


@cuda.jit
def hang_in(x, block):
    i = cuda.grid(1)
    x[i] = 1
    while cuda.blockIdx.x == block:
        x[i] += 1


@cuda.jit
def count(x, total):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])


@cuda.jit
def reverse_blocks(x):
    part = cuda.shared.array(64, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    part[t] = x[i]
    cuda.syncthreads()
    x[i] = part[cuda.blockDim.x - 1 - t]


@cuda.jit
def what_is_there(x):
    part = cuda.shared.array(64, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    x[i] = part[t]  # before anything is written there
    part[t] = i


def numbers(count):
    return np.random.default_rng(1).random(count, np.float32)


def test_sum(three_cores):
    a, b = numbers(100_000), numbers(100_000)
    out = cuda.device_array_like(a)
    add[-(-a.size // 64), 64](cuda.to_device(a), cuda.to_device(b), out)
    assert np.array_equal(out.copy_to_host(), a + b)
    assert three_cores == [3]


def test_barriers(three_cores):
    x = numbers(64 * 100)
    out = cuda.to_device(x)
    reverse_blocks[100, 64](out)
    assert np.array_equal(out.copy_to_host(), x.reshape(100, 64)[:, ::-1].ravel())
    assert three_cores == [3]


def test_atomics_stay_in_order(three_cores):
    x, totals = numbers(10_000), []
    for _ in range(3):
        total = cuda.to_device(np.zeros(1, np.float32))
        count[-(-x.size // 64), 64](cuda.to_device(x), total)
        totals.append(total.copy_to_host()[0])
    in_order = np.float32(0)
    for value in x:
        in_order += value
    assert totals == [in_order] * 3
    assert three_cores == [1] * 3


def test_shared_memory_that_nobody_has_written(three_cores, monkeypatch):
    """It is the same on any number of cores."""
    found = []
    for cores in (3, 1, 2):
        monkeypatch.setattr(parallel, "cores", lambda cores=cores: cores)
        x = cuda.to_device(np.zeros(64 * 100, np.float32))
        what_is_there[100, 64](x)
        found.append(x.copy_to_host())
    assert three_cores == [3, 1, 2]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("first", [0, 1000, 6000])
def test_error_is_the_first_in_order(three_cores, monkeypatch, first):
    def message():
        with pytest.raises(IndexError) as caught:
            fail_from[100, 64](cuda.to_device(np.zeros(6400, np.int64)), first)
        return str(caught.value)

    said = [message() for _ in range(5)]
    monkeypatch.setattr(parallel, "cores", lambda: 1)
    assert said == [message()] * 5
    assert f"thread {first % 64} of block {first // 64}" in said[0]


@pytest.mark.parametrize("block", [0, 50, 99])
def test_a_hang_is_stopped(three_cores, block):
    before = threading.active_count()
    with (
        cuda.stand_in(seconds=0.5),
        pytest.raises(Exception, match=f"stopped after 0.5 s, in .*block {block}"),
    ):
        hang_in[100, 64](cuda.to_device(np.zeros(6400, np.int64)), block)
    assert threading.active_count() == before


def test_a_small_launch_has_one_part():
    x = cuda.to_device(np.zeros(640, np.float32))
    launch = add[10, 64]
    values = launch.prepare((x, x, x), {}, [])
    assert parallel.Run(launch, None, values, np.arange(64), np.arange(10)).ends == [10]


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 1000])
def test_parts_cover_all_blocks(three_cores, count):
    launch = add[count, 64]
    launch.arrays = []  # no shared memory
    run_of = parallel.Run(launch, None, (), np.arange(64), np.arange(count))
    assert run_of.ends[-1] == count
    assert all(np.diff([0, *run_of.ends]) > 0)


def test_cores(monkeypatch):
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    for name, value, expected in (
        ("NUMBA_NUM_THREADS", "4", 4),
        ("OMP_NUM_THREADS", "2", 2),
        ("OMP_NUM_THREADS", "many", 4),
        ("OMP_NUM_THREADS", "0", 4),
    ):
        monkeypatch.setenv(name, value)
        parallel.cores.cache_clear()
        assert parallel.cores() == expected
    parallel.cores.cache_clear()


SAMPLE = [case for number, case in enumerate(ALL) if number % 40 == 0]


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=() if case in SAMPLE else pytest.mark.slow) for case in ALL],
)
def test_right_kernels(three_cores, case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert differences(case, run(case, cuda)) == []
