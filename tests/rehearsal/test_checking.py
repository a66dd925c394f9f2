"""The check beside the real numba-cuda: what it takes and finds, and what happens after a fault has ended the context."""

BEGIN = """
import numpy as np
import host_to_device as h2d
h2d.start()
from numba import cuda

@cuda.jit
def shift(x, out):
    i = cuda.grid(1)
    if i + 1 < x.size and i < out.size:
        out[i] = x[i + 1]

@cuda.jit
def sum_of_two(pair, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = pair[0][i] + pair[1][i]

def kinds(report):
    return {finding.kind for finding in report.findings}

h, d = np.arange(64.0), cuda.to_device(np.arange(64.0))
"""


def test_arguments_of_a_launch_are_arguments_of_the_check(rehearsed):
    rehearsed(
        BEGIN
        + """
assert kinds(h2d.check(shift)[1, 64](d, d)) == {"race"}
assert kinds(h2d.check(shift)[1, 64](d[1:], d[:-1])) == {"race"}
assert kinds(h2d.check(shift)[1, 32](d[::2], d[::2])) == {"race"}
assert h2d.check(shift)[1, 32](d[::2], d[1::2])
assert kinds(h2d.check(sum_of_two)[1, 63]((d[1:], d[1:]), d[:-1])) == {"race"}
shared = cuda.managed_array(64)
assert kinds(h2d.check(shift)[1, 64](shared, shared)) == {"race"}
assert h2d.check(shift)[1, 64](cuda.mapped_array(64), d)
out = np.zeros(64)
for stream in (0, cuda.stream(), cuda.default_stream()):
    assert h2d.check(shift)[1, 64, stream](cuda.In(h), cuda.Out(out))
assert h2d.check(shift)[1, 64](cuda.In(h), cuda.InOut(out)) and not out.any()
h2d.with_warp_size(shift, 64)[1, 64](d[::2], d[1::2])
assert (d.copy_to_host()[1::2][:31] == h[2::2]).all()
try:
    h2d.check(shift[1, 64])
except TypeError as problem:
    assert str(problem) == "check takes the kernel by itself: check(shift)[grid, block](…)", problem
else:
    raise AssertionError("a launch configuration was taken")
"""
    )


def test_views_that_run_backwards_and_records(rehearsed):
    rehearsed(
        BEGIN
        + """
@cuda.jit
def copy(x, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] += x[i, j]

@cuda.jit
def add_record(record, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] += record.a

@cuda.jit
def store_record(record, out):
    i = cuda.grid(1)
    if i % out.size == out.size - 1:
        record.b = i

e = cuda.to_device(np.zeros(64))
assert h2d.check(shift)[1, 64](d[::-1], e)
assert kinds(h2d.check(shift)[1, 64](d[::-1], d)) == {"race"}
assert kinds(h2d.check(shift)[1, 64](d[::-1], d[::-1])) == {"race"}
h2d.with_warp_size(shift, 64)[1, 64](d[::-1], e[::-2])
assert (e.copy_to_host()[::-2] == h[::-1][1:33]).all() and not e.copy_to_host()[::2].any()
m, n = np.arange(12.0).reshape(3, 4), cuda.to_device(np.zeros((3, 4)))
h2d.with_warp_size(copy, 64)[1, (4, 4)](cuda.to_device(m)[::-1, ::2], n[:, ::-2])
assert (n.copy_to_host()[:, ::-2] == m[::-1, ::2]).all()
records = np.array([(1, 2.5), (3, 4.5)], np.dtype([("a", np.int32), ("b", np.float64)], align=True))
on_device = cuda.to_device(records)
assert h2d.check(add_record)[1, 64](on_device[1], e)
assert h2d.check(add_record)[1, 64](records[1], e)
h2d.with_warp_size(store_record, 64)[1, 64](on_device[1], e)
assert on_device[1]["b"] == 63 and on_device[0]["b"] == 2.5
store_record[1, 64](records[1], e)  # Numba copies a record back, too
assert records[1]["b"] == 63 and records[0]["b"] == 2.5
assert kinds(h2d.check(store_record)[1, 128](on_device[1], e)) == {"race"}
"""
    )


def test_signatures_and_layouts(rehearsed):
    rehearsed(
        BEGIN
        + """
@cuda.jit("void(float32[:], float32[:])")
def single(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]

try:
    h2d.check(single)[1, 64](d, d)
except TypeError as problem:
    assert "where the signature says array(float32" in str(problem), problem
else:
    raise AssertionError("float64 was taken")

@cuda.jit
def first_column(a, out):
    i = cuda.grid(1)
    if i < a.shape[0]:
        out[i] = a[i, 0]

def sectors(a):
    report = h2d.check(first_column, notes=True)[1, 32](cuda.to_device(a), cuda.device_array(32, np.float32))
    return next(note.number for note in report.notes if note.array == "a")

a = np.zeros((32, 32), np.float32)
assert sectors(a) == 32 and sectors(np.asfortranarray(a)) == 4
"""
    )


def test_a_fault_ends_the_gpu_and_not_the_rest(rehearsed):
    printed = rehearsed(
        BEGIN
        + """
@cuda.jit
def wild(x):
    x[cuda.grid(1) * 100_000_000] = 1

try:
    wild[1, 4](d)
    cuda.synchronize()
except Exception as problem:
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in str(problem), problem
else:
    raise AssertionError("no fault")
for _ in range(2):
    assert h2d.time(lambda: np.ones(10).sum(), seconds=0.1).where == "CPU"
assert h2d.check(shift)[1, 64](h, h.copy())
try:
    h2d.check(shift)[1, 64](d, h)
except h2d.SetUpError as problem:
    assert "give the check host arrays" in str(problem), problem
else:
    raise AssertionError("the array was copied")
"""
    )
    assert printed.count("the GPU does no further work for this process") == 1, printed
