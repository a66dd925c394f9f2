"""What can be asked of the check, how it keeps to its limits, and what it says to what it cannot take."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()

import cupy as cp  # noqa: E402
from numba import cuda, float32, int32  # noqa: E402

import host_to_device as h2d  # noqa: E402
from host_to_device.checking.schedules import TRIAL  # noqa: E402

X = np.arange(128, dtype=np.float32)


@cuda.jit
def copy(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i]


@cuda.jit
def shift(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i + 1]


@cuda.jit
def many_reads(x, out):
    """each block reads x often enough to be no small launch"""
    i = cuda.grid(1)
    total = float32(0)
    for k in range(x.size):
        total += x[k]
    out[i] = total


@cuda.jit
def many_reads_slowly(x, out):
    """the same, with a local array, which compiled code does not watch"""
    sums = cuda.local.array(1, float32)
    i = cuda.grid(1)
    sums[0] = 0
    for k in range(x.size):
        sums[0] += x[k]
    out[i] = sums[0]


@cuda.jit
def neighbours(x, out):
    """reads what another thread of the block has stored, without a barrier"""
    part = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    part[t] = x[cuda.grid(1)]
    out[cuda.grid(1)] = part[(t + 40) % 64]


@cuda.jit
def leaves_by_chance(x, out):
    """some threads leave if memory that no thread has written holds a positive number"""
    part = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    before = part[t]
    if t < 32 and before > 0:
        return
    part[t] = x[0]
    cuda.syncthreads()
    out[cuda.grid(1)] = part[t]


@cuda.jit
def sum_by_shuffles(x, out):
    value = x[cuda.grid(1)]
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
    if cuda.threadIdx.x == 0:
        out[0] = value


@cuda.jit
def lanes(out):
    i = cuda.grid(1)
    ballot = cuda.ballot_sync(-1, True)
    out[i] = 100 * cuda.warpsize + cuda.laneid + 0 * ballot


@cuda.jit
def add_to_left(a, b):
    i = cuda.grid(1)
    if i < b.size:
        a[i] = b[i] + 1


@cuda.jit
def sum_atomically(x, total):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])


@cuda.jit
def tickets(out, count):
    i = cuda.grid(1)
    out[cuda.atomic.add(count, 0, 1)] = i


@cuda.jit
def dynamic(x, out):
    whole = cuda.shared.array(0, float32)
    numbers = cuda.shared.array(0, int32)
    t = cuda.threadIdx.x
    whole[t] = x[t]
    numbers[t] = 1
    cuda.syncthreads()
    out[t] = whole[63 - t]


@cuda.jit
def raises(x):
    if x[0] == 0:
        raise ValueError("nothing to do")


@cuda.jit(device=True)
def helper(x):
    return x


def kinds(report: h2d.checking.Report) -> set[str]:
    return {finding.kind for finding in report.findings}


def host_array_of(x):
    return x


# ---- what it looks at


def test_arguments_are_copied():
    out = np.zeros_like(X)
    assert h2d.check(copy)[4, 32](X, out)
    assert not out.any()


def test_both_ways_of_running_find_the_same():
    for kernel, size, arguments in ((shift, (4, 32), (X, X.copy())), (neighbours, (2, 64), (X, X.copy()))):
        found = [h2d.check(kernel, interpreted=way)[size](*arguments).findings for way in (True, False)]
        assert found[0] == found[1]


def test_a_read_that_decides_who_reaches_a_barrier_is_found_both_ways():
    for way in (True, False):
        report = h2d.check(leaves_by_chance, interpreted=way, schedules=1)[4, 64](X[:1], np.zeros(256))
        assert kinds(report) == {"uninitialised read"}, str(report)


def test_large_launches_are_compiled_and_looked_at_whole():
    x = np.ones(3 * TRIAL // 256, np.float32)
    report = h2d.check(many_reads, schedules=2)[2, 256](x, np.zeros(512, np.float32))
    assert report and not report.partial
    assert report.accesses == 2 * 512 * (x.size + 1)


def test_a_launch_for_which_the_time_is_too_short_is_sampled_by_blocks():
    x, out = np.ones(200, np.float32), np.zeros(64 * 100, np.float32)
    began = time.monotonic()
    report = h2d.check(many_reads_slowly, seconds=2, outputs="out", interpreted=True)[100, 64](x, out)
    assert time.monotonic() - began < 6
    assert report, "what was not looked at is no finding"
    assert "of 100 blocks" in str(report) and "The check covered a part only" in str(report)


def test_the_number_of_accesses_is_kept():
    for interpreted in (True, False):
        report = h2d.check(many_reads, accesses=50_000, interpreted=interpreted)[64, 64](
            np.ones(1000, np.float32), np.zeros(64 * 64, np.float32)
        )
        assert report.partial and report.accesses < 60_000 * 2, str(report)


def test_an_array_given_twice_and_parts_of_one_overlap_in_the_copies():
    whole = cuda.to_device(np.zeros(65, np.float32))
    report = h2d.check(add_to_left)[2, 32](whole[:64], whole[1:])
    assert kinds(report) == {"race"}
    assert h2d.check(add_to_left)[2, 32](whole[:64], whole[:64])


def test_arrays_of_the_stand_ins_are_not_copied_from_a_gpu():
    whole = cp.zeros(65, cp.float32)
    report = h2d.check(copy)[4, 32](cp.asarray(X), cuda.to_device(X))
    assert report and not report.remarks
    assert kinds(h2d.check(add_to_left)[2, 32](whole[:64], whole[1:])) == {"race"}
    assert not whole.get().any()


def test_dynamic_shared_memory_is_one_memory():
    report = h2d.check(dynamic)[1, 64, 0, 256](np.ones(64, np.float32), np.zeros(64, np.float32))
    assert not report.findings, "each thread stores twice in a place of its own"
    report = h2d.check(dynamic, interpreted=False)[1, 64, 0, 128](
        np.ones(64, np.float32), np.zeros(64, np.float32)
    )
    assert kinds(report) == {"out of bounds"}


def test_elements_in_any_order_and_results_that_are_not_compared():
    out, count = np.zeros(64, np.int32), np.zeros(1, np.int32)
    assert kinds(h2d.check(tickets)[2, 32](out, count)) == {"order dependence"}
    assert h2d.check(tickets, any_order="out")[2, 32](out, count)
    assert h2d.check(tickets, not_compared=["out"])[2, 32](out, count)


def test_the_seed_of_an_order_is_named_and_repeats_it():
    out, count = np.zeros(64, np.int32), np.zeros(1, np.int32)
    text = str(h2d.check(tickets)[2, 32](out, count))
    assert (
        "out[0] is 0 when blocks and threads run in ascending order, and 63 when they run in descending order"
        in text
    )


def test_sums_of_floats_that_round_otherwise_are_remarked_and_no_error():
    x = np.random.default_rng(0).random(1000).astype(np.float32)
    report = h2d.check(sum_atomically, schedules=5)[4, 256](x, np.zeros(1, np.float32))
    assert report
    assert "the threads add floats atomically" in " ".join(report.remarks)


# ---- warps of 64, limits, notes, strictness


def test_warps_of_64_lanes():
    out = np.zeros(128, np.int32)
    assert h2d.check(lanes, outputs="out")[1, 128](out)
    assert h2d.check(lanes, warp_size=64)[1, 128](out)
    x = np.ones(64, np.float32)
    assert h2d.check(sum_by_shuffles)[1, 32](x, np.zeros(1, np.float32))
    report = h2d.check(sum_by_shuffles, warp_size=64)[1, 64](x, np.zeros(1, np.float32))
    assert kinds(report) == {"warp synchronisation"}
    assert "does not name this lane" in str(report)


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        ((1, 2000), "a block has 2,000 threads; at most 1,024 are allowed"),
        ((1, (1, 1, 65)), "blockDim.z is 65"),
        (((1, 70_000), 32), "gridDim.y is 70,000"),
        ((0, 32), "gridDim.x is 0"),
        ((1, 32, 0, 60_000), "60,000 bytes of shared memory"),
    ],
)
def test_limits_of_a_launch_are_findings(configuration, words):
    report = h2d.check(copy, capability=(9, 0))[configuration](X, X.copy())
    assert kinds(report) == {"launch limit"}
    assert words in str(report)
    assert report.accesses == 0


def test_notes_are_no_findings():
    report = h2d.check(copy, notes=True)[4, 32](X, np.zeros_like(X))
    assert report and report.notes
    assert {note.kind for note in report.notes} == {"sectors a request"}
    assert (
        "4 sectors a memory request" in str(report) and "4 sectors a memory request" in report._repr_html_()
    )
    assert not h2d.check(copy)[4, 32](X, np.zeros_like(X)).notes


def test_strict_raises_with_the_report():
    with pytest.raises(h2d.checking.CheckError, match="out of bounds") as caught:
        h2d.check(shift, strict=True)[4, 32](X, X.copy())
    assert kinds(caught.value.report) == {"out of bounds"}
    assert h2d.check(copy, strict=True)[4, 32](X, X.copy())


def test_the_notebook_form_holds_what_the_text_holds_and_escapes_it():
    report = h2d.check(shift)[4, 32](X, X.copy())
    html = report._repr_html_()
    assert 'role="group"' in html and "x[128]" in html and "x[i + 1]" in html
    assert "<i " not in html and html.count("<li>") == html.count("</li>") == 1


def test_a_kernel_that_raises_is_a_finding_with_its_line():
    report = h2d.check(raises)[1, 1](np.zeros(1))
    assert kinds(report) == {"failed"}
    assert "nothing to do" in str(report) and "raise ValueError" in str(report)


# ---- what it cannot take


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (host_array_of, "host_array_of() is a host function: check takes a kernel made by @cuda.jit"),
        (helper, "helper() is a device function: give check a kernel that calls it"),
        (copy[1, 1], "check takes the kernel by itself: check(copy)[grid, block](…)"),
        (3, "check takes a kernel made by @cuda.jit, and got 3"),
        (
            type("ElementwiseKernel", (), {"__module__": "cupy._core._kernel"})(),
            "check cannot launch ElementwiseKernel: give it a RawKernel",
        ),
    ],
)
def test_what_is_no_kernel_is_refused(kernel, words):
    with pytest.raises(TypeError) as caught:
        h2d.check(kernel)
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"schedules": 0},
        {"seconds": 0},
        {"accesses": -1},
        {"warp_size": 48},
        {"capability": "1.3"},
    ],
)
def test_options_that_mean_nothing_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options)).split("_")[0]):
        h2d.check(copy, **options)


def test_names_that_are_no_arrays_of_the_kernel_are_refused():
    with pytest.raises(ValueError, match="copy\\(\\) has no array called 'result'; it has x, out"):
        h2d.check(copy, outputs="result")[4, 32](X, X.copy())


def test_a_launch_that_is_not_said_is_asked_for():
    with pytest.raises(TypeError, match=r"check\(copy\)\[grid, block\]"):
        h2d.check(copy)(X, X)
    with pytest.raises(ValueError, match="griddim and blockdim"):
        h2d.check(copy)[4]
    with pytest.raises(TypeError, match=r"takes 2 arguments \(x, out\), 1 was given"):
        h2d.check(copy)[4, 32](X)


REAL = """
    import numpy as np
    from numba import cuda, float32
    from numba.cuda import grid, syncthreads

    @cuda.jit(device=True)
    def double(x):
        return 2 * x

    @cuda.jit
    def turn(x, out):
        part = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        part[t] = x[grid(1)]
        syncthreads()
        cuda.atomic.add(out, cuda.grid(1), double(part[63 - t]))

    @cuda.jit
    def without_guard(x, out):
        out[cuda.grid(1)] = x[cuda.grid(1)]

    class OnTheGpu:
        def __init__(self, array):
            self.array = array
            self.dtype, self.strides = array.dtype, array.strides
        def copy_to_host(self):
            return self.array.copy()

    import host_to_device as h2d
    x = np.ones(128, np.float32)
    assert type(turn).__module__.startswith("numba.cuda")
    assert h2d.check(turn)[2, 64](x, np.zeros_like(x))
    report = h2d.check(without_guard)[3, 64](OnTheGpu(x), np.zeros_like(x))
    assert report.findings[0].kind == "out of bounds", report
    assert "The check copied from the GPU: x." in str(report), report
    try:
        h2d.check(double)
    except TypeError as problem:
        assert "is a device function" in str(problem)
"""


def test_kernels_and_arrays_of_a_real_gpu_are_checked_here(tmp_path):
    """Numba's own `cuda.jit` works without a GPU up to the launch; the check needs no more."""
    script = tmp_path / "real.py"
    script.write_text(textwrap.dedent(REAL))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
