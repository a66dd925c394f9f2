"""The check sees what a GPU hides: one small kernel for each kind of finding, and right ones that stay silent."""

import inspect

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()

from numba import cuda, float32  # noqa: E402

from host_to_device.checking import CheckError, check  # noqa: E402

X = np.random.default_rng(0).random(128).astype(np.float32)


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def add_without_guard(a, c):
    i = cuda.grid(1)
    c[i] = a[i]  # !finding


@cuda.jit
def negative_index(a, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i - 1]  # !finding


@cuda.jit
def reverse_without_barrier(x, out):
    shared = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    shared[t] = x[cuda.grid(1)]  # !finding
    out[cuda.grid(1)] = shared[63 - t]  # !finding


@cuda.jit
def reverse(x, out):
    shared = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    shared[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    out[cuda.grid(1)] = shared[63 - t]


@cuda.jit
def histogram_without_atomics(x, counts):
    i = cuda.grid(1)
    if i < x.size:
        counts[int(x[i] * 4)] += 1  # !finding


@cuda.jit
def histogram(x, counts):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(counts, int(x[i] * 4), 1)


@cuda.jit
def sum_never_zeroed(x, out):
    total = cuda.shared.array(1, float32)
    cuda.atomic.add(total, 0, x[cuda.grid(1)])  # !finding
    cuda.syncthreads()
    out[cuda.grid(1)] = total[0]


@cuda.jit
def barrier_for_some(x, out):
    if cuda.threadIdx.x < 10:
        cuda.syncthreads()  # !finding
    out[cuda.grid(1)] = x[cuda.grid(1)]


@cuda.jit
def last_writer_wins(x, out):
    cuda.atomic.exch(out, 0, cuda.grid(1))


@cuda.jit
def waits_for_itself(x, out):
    while out[0] == 0:  # !finding
        pass


@cuda.jit
def shuffle_with_lanes_missing(x, out):
    value = x[cuda.grid(1)]
    if cuda.laneid < 16:
        value = cuda.shfl_down_sync(0xFFFFFFFF, value, 1)  # !finding
    out[cuda.grid(1)] = value


def marked(kernel):
    lines, first = inspect.getsourcelines(kernel.py_func)
    return {first + number for number, line in enumerate(lines) if "# !finding" in line}


WRONG = [
    (add_without_guard, (4, 32), (X[:100], X[:100].copy()), "out of bounds"),
    (negative_index, (4, 32), (X, X.copy()), "out of bounds"),
    (reverse_without_barrier, (2, 64), (X, X.copy()), "race"),
    (histogram_without_atomics, (4, 32), (X, np.zeros(4, np.int64)), "race"),
    (sum_never_zeroed, (4, 32), (X, X.copy()), "uninitialised read"),
    (barrier_for_some, (4, 32), (X, X.copy()), "barrier divergence"),
    (last_writer_wins, (4, 32), (X, np.zeros(1, np.int64)), "order dependence"),
    (waits_for_itself, (1, 4), (X, np.zeros(4)), "no progress"),
    (shuffle_with_lanes_missing, (4, 32), (X, X.copy()), "warp synchronisation"),
]


@pytest.mark.parametrize(
    ("kernel", "size", "arguments", "kind"), WRONG, ids=lambda part: getattr(part, "__name__", "")
)
def test_wrong_kernel_is_found_at_its_line(kernel, size, arguments, kind):
    before = [argument.copy() for argument in arguments]
    report = check(kernel, seconds=2)[size](*map(cuda.to_device, arguments))
    findings = [finding for finding in report.findings if finding.kind == kind]
    assert findings, str(report)
    if marked(kernel):
        assert set(findings[0].lines) & marked(kernel), str(report)
    assert all((old == new).all() for old, new in zip(before, arguments, strict=True))
    assert findings[0].advice in str(report)


@pytest.mark.parametrize(
    ("kernel", "size", "arguments"),
    [
        (add, (4, 32), (X[:100], X[:100], X[:100].copy())),
        (reverse, (2, 64), (X, X.copy())),
        (histogram, (4, 32), (X, np.zeros(4, np.int64))),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_right_kernel_gets_one_line(kernel, size, arguments):
    report = check(kernel)[size](*map(cuda.to_device, arguments))
    assert report and "\n" not in str(report)
    assert report.threads == 128 and report.schedules == 3 and report.accesses > 0


def test_outputs_never_written_are_named():
    report = check(add, outputs=["c"])[1, 32](*map(cuda.to_device, (X[:100], X[:100], X[:100].copy())))
    assert [finding.kind for finding in report.findings] == ["unwritten output"]
    assert "68 of 100 elements of c" in str(report)


def test_a_launch_that_no_gpu_takes_is_a_finding():
    report = check(add)[1, 2000](X, X, X)
    assert {finding.kind for finding in report.findings} == {"launch limit"}
    assert "a block has 2,000 threads" in str(report)


def test_strict_raises_and_what_is_no_kernel_is_refused():
    with pytest.raises(CheckError, match="out of bounds"):
        check(add_without_guard, strict=True)[4, 32](cuda.to_device(X[:100]), cuda.to_device(X[:100]))
    with pytest.raises(
        TypeError, match=r"len\(\) is a host function: check takes a kernel made by @cuda.jit"
    ):
        check(len)
