"""What a GPU's launch takes, the check takes: shared memory stays shared, and layouts stay what they are."""

from types import SimpleNamespace

import numpy as np
import pytest

from host_to_device.standins import imports

imports.redirect()

import cupy as cp  # noqa: E402
from numba import cuda, types  # noqa: E402
from numba.core import errors  # noqa: E402
from numba.np.numpy_support import from_dtype  # noqa: E402

import host_to_device as h2d  # noqa: E402
from host_to_device.inspecting import sources  # noqa: E402
from host_to_device.starting import context  # noqa: E402
from tests import on_a_gpu  # noqa: E402

X = np.arange(64, dtype=np.float32)
ON_GPU = {"Numba": on_a_gpu.to_device, "CuPy": on_a_gpu.to_cupy}
ANYWHERE = {**ON_GPU, "stand-in for Numba": cuda.to_device, "stand-in for CuPy": cp.asarray}
anywhere = pytest.mark.parametrize("to_device", ANYWHERE.values(), ids=ANYWHERE)

RAW = cp.RawKernel(
    """extern "C" __global__ void shift(const float* x, float* out, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i + 1 < n) out[i] = x[i + 1];
    }""",
    "shift",
)


def shift(x, out):
    i = cuda.grid(1)
    if i + 1 < x.size and i < out.size:
        out[i] = x[i + 1]


def sum_of_two(pair, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = pair[0][i] + pair[1][i]


def first_column(a, out):
    i = cuda.grid(1)
    if i < a.shape[0]:
        out[i] = a[i, 0]


KERNEL, ON_STAND_IN = on_a_gpu.CUDADispatcher(shift), cuda.jit(shift)


def kinds(report):
    return {finding.kind for finding in report.findings}


@anywhere
def test_an_array_given_twice_is_one_array(to_device):
    d = to_device(X)
    assert kinds(h2d.check(KERNEL)[1, 64](d, d)) == {"race"}
    assert kinds(h2d.check(KERNEL, interpreted=False)[1, 64](d, d)) == {"race"}


@anywhere
def test_views_overlap_as_they_do_on_the_gpu(to_device):
    d = to_device(X)
    assert kinds(h2d.check(KERNEL)[1, 64](d[1:], d[:-1])) == {"race"}
    assert kinds(h2d.check(KERNEL)[1, 32](d[::2], d[::2])) == {"race"}
    for interpreted in (True, False):
        report = h2d.check(KERNEL, interpreted=interpreted, outputs="out")[1, 32](d[::2], d[1::2][:31])
        assert not report.findings, "elements that alternate are no overlap"


def test_arrays_of_two_libraries_share_memory():
    d = on_a_gpu.to_device(X)
    assert kinds(h2d.check(KERNEL)[1, 64](d, on_a_gpu.ndarray(None, on_gpu=d.on_gpu))) == {"race"}


@anywhere
def test_arrays_within_tuples_share_memory(to_device):
    d, out = to_device(X), to_device(X)
    kernel = on_a_gpu.CUDADispatcher(sum_of_two)
    assert not h2d.check(kernel)[1, 64]((d, d), out).findings
    report = h2d.check(kernel)[1, 63]((d[1:], d[1:]), d[:-1])
    assert kinds(report) == {"race"} and "pair[" in str(report)


def test_hints_managed_arrays_and_streams():
    d, out = on_a_gpu.to_device(X), X.copy()
    assert h2d.check(KERNEL)[1, 64](on_a_gpu.In(X), on_a_gpu.InOut(out))
    assert h2d.check(KERNEL)[1, 64](on_a_gpu.In(X), on_a_gpu.Out(out))
    assert (out == X).all(), "the check changes no argument"
    assert kinds(h2d.check(KERNEL)[1, 64](on_a_gpu.In(d), on_a_gpu.Out(d))) == {"race"}
    shared = on_a_gpu.managed(X)
    assert kinds(h2d.check(KERNEL)[1, 64](shared, shared)) == {"race"}
    assert h2d.check(KERNEL)[1, 64](shared, d)
    assert h2d.check(KERNEL)[1, 64, on_a_gpu.Stream()](d, on_a_gpu.to_device(X))
    with pytest.raises(TypeError, match=r"stream is 3\.5"):
        h2d.check(KERNEL)[1, 64, 3.5](X, X)


def test_the_report_names_what_was_copied_and_nothing_of_the_stand_ins():
    class Mine(type(cuda.to_device(X))):
        """A learner's class of the stand-in's arrays."""

    report = h2d.check(KERNEL)[1, 64](Mine(X.copy()), cp.asarray(X))
    assert report and not report.remarks
    report = h2d.check(KERNEL)[1, 64](on_a_gpu.In(X), on_a_gpu.InOut(on_a_gpu.to_device(X)))
    assert report.remarks == ("The check copied from the GPU: out.",)


@pytest.mark.parametrize("to_device", [*ANYWHERE.values(), lambda array: array], ids=[*ANYWHERE, "host"])
def test_sectors_are_those_of_the_layout(to_device):
    """A column of 32 rows of float32: in Fortran order 128 bytes side by side, in C order 32 sectors."""
    a, out = np.zeros((32, 32), np.float32), np.zeros(32, np.float32)

    def sectors(array):
        report = h2d.check(first_column, notes=True)[1, 32](array, out)
        [note] = [each for each in report.notes if each.array == "a"]
        return note.number

    first_column = cuda.jit(globals()["first_column"])
    assert sectors(to_device(a)) == 32
    assert sectors(to_device(np.asfortranarray(a))) == 4


def test_sectors_of_views():
    transposed = on_a_gpu.to_cupy(np.zeros((32, 32), np.float32)).T
    out = np.zeros(32, np.float32)

    def sectors(kernel, *arguments):
        report = h2d.check(on_a_gpu.CUDADispatcher(kernel), notes=True)[1, 32](*arguments)
        return {each.array: each.number for each in report.notes if each.kind == "sectors a request"}

    def copy(x, out):
        out[cuda.grid(1)] = x[cuda.grid(1)]

    assert sectors(first_column, transposed, out)["a"] == 4
    for to_device in ON_GPU.values():
        x = to_device(np.zeros(128, np.float32))
        assert sectors(copy, x[:32], out)["x"] == 4
        assert sectors(copy, x[1:33], out)["x"] == 5, "it begins in the middle of a sector"
        assert sectors(copy, x[::2], out)["x"] == 8


@pytest.mark.filterwarnings("ignore:Host array used")
@pytest.mark.parametrize("interpreted", [True, False])
def test_a_record_is_watched_and_changed_in_its_place(interpreted):
    """Compiled code once took a record of the stand-in's for an array without axes, and the check knew no `record.a`."""

    @cuda.jit
    def count(record, weights, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = record.weight * weights[i] + record["ends"][1]
        if i == 0:
            record.seen += 1

    ends = ("ends", np.int16, (2,))
    records = np.array(
        [(1, 2.5, (1, 2)), (3, 4.5, (5, 6))],
        np.dtype([("seen", np.int32), ("weight", np.float64), ends], align=True),
    )
    on_device, out = cuda.to_device(records), np.zeros(64)
    for record in (records[1], on_device[1], cuda.to_device(records[1])):
        assert h2d.check(count, interpreted=interpreted)[1, 64](record, X, out)
        assert kinds(h2d.check(count, interpreted=interpreted)[2, 64](record, X, out)) == set()
        with cuda.stand_in(interpreted=interpreted):
            count[1, 64](record, X, out)
        assert (out == 4.5 * X + 6).all() and record["seen"] == 4
    assert records["seen"].tolist() == [1, 4] and on_device.copy_to_host()["seen"].tolist() == [1, 4]


PAIR = np.dtype([("a", np.int32), ("b", np.float64)], align=True)
PACKED = np.dtype([("a", np.int32), ("b", np.float64)])
REC = from_dtype(PAIR)
WITHIN = np.dtype([("c", np.int8), ("pair", PAIR)], align=True)


def swap_in_shared(x):
    s = cuda.shared.array(8, REC)
    i = cuda.threadIdx.x
    s[i].a = i
    s[i].b = x[i].b
    cuda.syncthreads()
    x[i].b = s[7 - i].b
    x.a[i] = s[7 - i]["a"]


def without_the_barrier(x):
    s = cuda.shared.array(8, REC)
    i = cuda.threadIdx.x
    s[i].a = i
    x[i].a = s[7 - i].a


def all_to_one(x):
    x["a"][0] = cuda.threadIdx.x


def one_too_far(x):
    x.a[cuda.threadIdx.x + 1] = 1


def neighbour(x):
    i = cuda.threadIdx.x
    x[i] = x[(i + 1) % 8]


def same(x):
    i = cuda.threadIdx.x
    x[i] = x[i]


def within(x):
    i = cuda.threadIdx.x
    x[i].pair.b = x[i].pair.a + 2.5
    x[i].c = i


def within_of_one(x):
    x[0].pair.b = cuda.threadIdx.x


@pytest.mark.parametrize(
    ("kernel", "dtype", "found"),
    [
        (swap_in_shared, PAIR, set()),
        (without_the_barrier, PAIR, {"uninitialised read", "warp synchronisation"}),
        (all_to_one, PAIR, {"race"}),
        (one_too_far, PAIR, {"out of bounds"}),
        (neighbour, PAIR, {"race"}),
        (same, PAIR, set()),
        (within, WITHIN, set()),
        (within_of_one, WITHIN, {"race"}),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_fields_of_records_are_watched_by_themselves(kernel, dtype, found):
    """The check once took fields of records in shared memory for those of their neighbours, and told of races."""
    assert kinds(h2d.check(cuda.jit(kernel))[1, 8](cuda.to_device(np.zeros(8, dtype)))) == found


def dead_branch(x):
    if x.size > 100:
        x[0].b = 1.5


def in_shared(x):
    s = cuda.shared.array(4, PACKED)
    s[0].b = x[0].a


def in_local(x):
    s = cuda.local.array(4, PACKED)
    s[0].b = x[0].a


def by_name(x):
    record = x[0]
    record["b"] = 1.5


@pytest.mark.parametrize(
    "kernel", [dead_branch, in_shared, in_local, by_name], ids=lambda each: each.__name__
)
@pytest.mark.parametrize("run", ["check", "interpreted", "64 lanes", "compiled"])
def test_a_field_that_is_not_aligned_is_refused_in_numbas_words(kernel, run):
    """numba-cuda 0.30.4, numba/cuda/core/base.py, line 1036; REFUSED in tests/corpora/kernels/refused.py has the same words."""
    dtype = PAIR if kernel in (in_shared, in_local) else PACKED
    d, kernel = cuda.to_device(np.zeros(4, dtype)), cuda.jit(kernel)
    launch = {
        "check": lambda: h2d.check(kernel)[1, 1](d),
        "64 lanes": lambda: h2d.with_warp_size(kernel, 64)[1, 1](d),
    }.get(run, lambda: kernel[1, 1](d))
    words = r"line \d+: Record\(a\[.*\],b\[.*\];12;False\)\.b of type float64 is not aligned$"
    with cuda.stand_in(interpreted=run == "interpreted"), pytest.raises(errors.TypingError, match=words):
        launch()


@pytest.mark.parametrize("run", ["check", "interpreted"])
def test_a_kernel_may_leave_a_field_that_is_not_aligned_alone(run):
    @cuda.jit
    def other_field(x):
        x[cuda.threadIdx.x].a += 1
        x.b[cuda.threadIdx.x] = 2.5  # Numba checks the fields of records, and not those of whole arrays

    d = cuda.to_device(np.zeros(4, PACKED))
    if run == "check":
        assert h2d.check(other_field)[1, 4](d)
    with cuda.stand_in(interpreted=True):
        other_field[1, 4](d)
    assert d.copy_to_host().tolist() == [(1, 2.5)] * 4


def test_a_kernel_keeps_its_signatures():
    """numba-cuda 0.30.4 passes what does not fit to a kernel of one signature as it is, and the kernel reads nonsense."""
    signature = types.Array(types.float32, 1, "A"), types.Array(types.float32, 1, "A")
    kernel = on_a_gpu.CUDADispatcher(shift, [signature])
    assert h2d.check(kernel)[1, 64](X, X.copy())
    with pytest.raises(TypeError, match="where the signature says array"):
        h2d.check(kernel)[1, 64](X.astype(np.float64), X)
    with pytest.raises(TypeError, match="where the signature says array"):
        h2d.with_warp_size(kernel, 64)[1, 64](X.astype(np.float64), X)


def test_a_launch_configuration_is_no_host_function():
    for configured in (KERNEL[1, 64], ON_STAND_IN[1, 64]):
        with pytest.raises(
            TypeError, match=r"^check takes the kernel by itself: check\(shift\)\[grid, block\]"
        ):
            h2d.check(configured)
        with pytest.raises(TypeError, match=r"with_warp_size\(shift, 64\)\[grid, block\]"):
            h2d.with_warp_size(configured, 64)


@pytest.mark.parametrize("to_device", [cp.asarray, on_a_gpu.to_cupy], ids=["stand-in", "CuPy"])
def test_memory_that_a_raw_kernel_s_arguments_share(to_device):
    d, n = to_device(X), np.int32(64)
    assert not h2d.check(RAW)[1, 64](d, to_device(X), n).findings
    assert kinds(h2d.check(RAW)[1, 64](d, d, n)) == {"race"}
    assert kinds(h2d.check(RAW)[1, 64](d[1:], d[:-1], n - 1)) == {"race"}
    # A kernel in CUDA C++ knows no strides: behind the pointer lie all the elements of the whole array.
    report = h2d.check(RAW)[1, 64](d[::2], to_device(X), np.int32(63))
    assert not report.findings, report


@pytest.mark.parametrize("to_device", ON_GPU.values(), ids=ON_GPU)
def test_warps_of_64_leave_the_result_in_the_gpu_s_arrays(to_device):
    def add_right(x, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] += x[i]

    d = to_device(X)
    h2d.with_warp_size(on_a_gpu.CUDADispatcher(add_right), 64)[1, 64](d[::2], d[1::2])
    assert (d.on_gpu[1::2] == X[::2] + X[1::2]).all() and (d.on_gpu[::2] == X[::2]).all()
    e = to_device(np.asfortranarray(X.reshape(8, 8)))
    h2d.with_warp_size(on_a_gpu.CUDADispatcher(first_column), 64)[1, 64](e, d)
    assert (d.on_gpu[:8] == X[::8]).all()


def test_warps_of_64_in_cuda_cpp_leave_the_result_in_cupy_s_arrays():
    d, out = on_a_gpu.to_cupy(X), on_a_gpu.to_cupy(np.zeros(64, np.float32))
    h2d.with_warp_size(RAW, 64)[1, 64](d[::2], out[:32], np.int32(8))
    assert (out.on_gpu[:7] == X[1:8]).all() and not out.on_gpu[7:].any()
    # In memory behind the pointer the kernel writes every element, those of the view and those between.
    h2d.with_warp_size(RAW, 64)[1, 64](d, out[::2], np.int32(8))
    assert (out.on_gpu[:7] == X[1:8]).all()


def test_a_template_s_kernel_as_cupy_gives_it():
    """CuPy's kernel has the mangled name, and nothing else says of which types it is."""
    code = """
        template <typename T> __global__ void shift(const T* x, T* out, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i + 1 < n) out[i] = x[i + 1];
        }
        namespace mine { template <class T, int N> struct Twice {}; }
        template <class Op> __global__ void apply(float* x, Op = Op()) { x[threadIdx.x] *= 2; }
    """
    kernel = on_a_gpu.RawKernel(code, "_Z5shiftIfEvPKT_PS0_i")
    d, n = on_a_gpu.to_cupy(X), np.int32(64)
    assert "check of shift<float>" in repr(h2d.check(kernel))
    assert str(h2d.check(kernel)[1, 64](d, on_a_gpu.to_cupy(X), n)).startswith(
        "check of shift<float>: no errors"
    )
    assert kinds(h2d.check(kernel)[1, 64](d, d, n)) == {"race"}
    h2d.with_warp_size(kernel, 64)[1, 64](d[1:], d, n - 1)
    assert sources.given(kernel).entry == "shift<float>"
    other = on_a_gpu.RawKernel(code, "_Z5applyIN4mine5TwiceIfLi2EEEEvPfT_")
    assert h2d.check(other)[1, 64](on_a_gpu.to_cupy(X), np.int8(0))


def test_arrays_that_the_gpu_does_not_give_back(monkeypatch):
    """numba-cuda 0.30.4 refuses every copy after an illegal access; the check itself needs no GPU."""

    class Lost(on_a_gpu.DeviceNDArray):
        def copy_to_host(self):
            raise RuntimeError("[700] Call to cuMemcpyDtoH results in CUDA_ERROR_ILLEGAL_ADDRESS")

    monkeypatch.setattr(context, "machine", SimpleNamespace(chosen="gpu"))
    with pytest.raises(h2d.SetUpError, match=r"CUDA_ERROR_ILLEGAL_ADDRESS.*give the check host arrays"):
        h2d.check(KERNEL)[1, 64](Lost(X), X)
    assert h2d.check(KERNEL)[1, 64](X, X.copy())
