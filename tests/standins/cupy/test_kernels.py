"""Element-wise and reduction kernels of the stand-in, as CuPy's documentation and source describe them.

"Guide" is CuPy's "User-Defined Kernels" (docs/source/user_guide/kernel.rst), "kernel" cupy/_core/_kernel.pyx and
"reduction" cupy/_core/_reduction.pyx of CuPy 14.
"""

import warnings

import numpy as np
import pytest

import host_to_device.standins.cupy as cp
from host_to_device.standins.cuda_cpp import KernelFault, nvrtc
from host_to_device.standins.cupy import launching

X = np.arange(10, dtype=np.float32).reshape(2, 5)
Y = np.arange(5, dtype=np.float32)
SQUARED = ("(x - y) * (x - y)", "squared_diff")


@pytest.fixture
def squared_diff():
    return cp.ElementwiseKernel("float32 x, float32 y", "float32 z", f"z = {SQUARED[0]}", SQUARED[1])


@pytest.fixture
def generic():
    return cp.ElementwiseKernel("T x, T y", "T z", "T diff = x - y; z = diff * diff;", "generic")


def host(value):
    assert isinstance(value, cp.ndarray)
    return value.get()


# Guide, "Basics of elementwise kernels"


def test_arrays_are_broadcast(squared_diff):
    result = squared_diff(cp.asarray(X), cp.asarray(Y))
    assert result.dtype == np.float32 and result.shape == (2, 5)
    assert host(result).tolist() == [[0] * 5, [25] * 5]


def test_a_number_stands_for_an_array(squared_diff):
    assert host(squared_diff(cp.asarray(X), 5)).tolist() == ((X - 5) ** 2).tolist()
    assert host(squared_diff(2.5, cp.asarray(Y))).tolist() == ((Y - 2.5) ** 2).tolist()


def test_outputs_can_be_given(squared_diff):
    z = cp.empty((2, 5), dtype=np.float32)
    assert squared_diff(cp.asarray(X), cp.asarray(Y), z) is z
    assert host(z).tolist() == [[0] * 5, [25] * 5]


@pytest.mark.parametrize("dtype", ["f8", "i4", "i8", "u1", "i2"])
def test_a_letter_is_any_type(generic, dtype):
    x, y = np.arange(5, dtype=dtype), np.ones(5, dtype=dtype)
    result = generic(cp.asarray(x), cp.asarray(y))
    assert result.dtype == dtype
    assert host(result).tolist() == ((x - y) ** 2).tolist()
    assert host(generic(cp.asarray(x), 1)).tolist() == ((x - y) ** 2).tolist()


def test_letters_of_their_own(squared_diff):  # "Type-generic kernels": Z has to be given
    kernel = cp.ElementwiseKernel("X x, Y y", "Z z", "z = (x - y) * (x - y)", "super_generic")
    z = cp.empty(5, dtype=np.float64)
    kernel(cp.asarray(Y), cp.ones(5, dtype=np.int32), z)
    assert host(z).tolist() == ((Y - 1) ** 2).tolist()
    with pytest.raises(KeyError, match="'Z'"):
        kernel(cp.asarray(Y), cp.ones(5, dtype=np.int32))


# Guide, "Raw argument specifiers"


def test_raw_arrays_are_indexed_by_the_kernel():
    kernel = cp.ElementwiseKernel("T x, raw T y", "T z", "z = x + y[_ind.size() - i - 1]", "add_reverse")
    y = cp.asarray(Y)
    assert host(kernel(y, y)).tolist() == [4.0] * 5
    assert host(kernel(y, cp.asarray(X).T)).tolist() == [2, 7, 3, 8, 4]


def test_raw_arrays_keep_their_strides_and_shape():
    kernel = cp.ElementwiseKernel(
        "raw T x",
        "T z",
        "ptrdiff_t place[] = {i % x.shape()[0], i / x.shape()[0]}; z = x[place] + 10 * x.ndim",
        "t",
    )
    x = cp.asarray(np.arange(6, dtype=np.int32).reshape(2, 3))
    assert host(kernel(x, size=6)).tolist() == [20, 23, 21, 24, 22, 25]
    linear = cp.ElementwiseKernel("raw T x", "T z", "z = x[i]", "linear")
    for view in (x.T, x[:, ::-1], x[::-1, 1:], x[1], x[:, 1]):
        assert host(linear(view, size=view.size)).tolist() == view.get().ravel().tolist()


def test_size_is_for_kernels_with_raw_arrays_only():
    kernel = cp.ElementwiseKernel("raw T x", "raw T z", "z[i] = 2 * x[i]", "twice")
    y = cp.asarray(Y)
    assert host(kernel(y, size=3)).tolist() == [0, 2, 4]
    z = cp.zeros(5, dtype=np.float32)
    kernel(y, z, size=2)
    assert host(z).tolist() == [0, 2, 0, 0, 0]
    assert kernel(y, size=0).shape == (0,)
    with pytest.raises(ValueError, match=r"^Loop size is undecided\.$"):
        kernel(y)
    with pytest.raises(
        ValueError, match=r"^Specified 'size' can be used only if all of the ndarray are 'raw'\.$"
    ):
        cp.ElementwiseKernel("T x", "T z", "z = x")(y, size=5)


def test_raw_outputs_need_a_size():  # kernel: _get_out_args_with_params
    kernel = cp.ElementwiseKernel("T x", "raw T z", "z[i] = x", "into")
    with pytest.raises(ValueError, match=r"^Output array size is Undecided$"):
        kernel(cp.asarray(Y))
    z = cp.zeros(7, dtype=np.float32)
    kernel(cp.asarray(Y), z)
    assert host(z).tolist() == [0, 1, 2, 3, 4, 0, 0]


# Shapes, strides and several outputs


@pytest.mark.parametrize("reduce_dims", [True, False])
def test_strides_do_not_matter(reduce_dims):
    kernel = cp.ElementwiseKernel("T x, T y", "T z", "z = x - 2 * y", "k", reduce_dims)
    x, y = np.arange(24.0).reshape(2, 3, 4), np.arange(24.0, 48.0).reshape(4, 3, 2)
    assert host(kernel(cp.asarray(x), cp.asarray(y).T)).tolist() == (x - 2 * y.T).tolist()
    left, right = cp.asarray(x)[:, ::-1, 1:3], cp.asarray(y)[0, :, :1]
    assert host(kernel(left, right)).tolist() == (x[:, ::-1, 1:3] - 2 * y[0, :, :1]).tolist()
    out = cp.zeros((3, 8))
    kernel(cp.asarray(x)[0], 1.0, out[:, ::2])
    assert host(out)[:, ::2].tolist() == (x[0] - 2).tolist() and not host(out)[:, 1::2].any()


def test_arrays_without_axes():
    kernel = cp.ElementwiseKernel("T x", "T y", "y = x + 1", "k")
    result = kernel(cp.asarray(np.float64(2)))
    assert result.shape == () and host(result) == 3


def test_nothing_is_done_with_no_elements():
    kernel = cp.ElementwiseKernel("T x", "T y", "y = x + 1", "k")
    assert kernel(cp.zeros((0, 3))).shape == (0, 3)


def test_several_outputs():
    kernel = cp.ElementwiseKernel("T x", "T down, int32 up", "down = floor(x); up = ceil(x)", "both")
    down, up = kernel(cp.asarray(np.array([0.5, 1.5])))
    assert host(down).tolist() == [0, 1] and host(up).tolist() == [1, 2]
    assert (down.dtype, up.dtype) == (np.float64, np.int32)


def test_what_is_returned():
    x = cp.asarray(Y)
    kernel = cp.ElementwiseKernel("T x", "T y", "y = x", "k", return_tuple=True)
    assert isinstance(kernel(x), tuple) and len(kernel(x)) == 1
    assert cp.ElementwiseKernel("T x", "T y", "y = x", "k", no_return=True)(x) is None
    assert cp.ElementwiseKernel("", "raw T y", "y[i] = i", "k")(x, size=5) is x
    assert host(x).tolist() == [0, 1, 2, 3, 4]


def test_preamble_loop_prep_after_loop_and_options():
    kernel = cp.ElementwiseKernel(
        "T x",
        "T y",
        "y = twice(x) + OFFSET + more",
        "k",
        preamble="template <typename T> __device__ T twice(T x) { return 2 * x; }",
        loop_prep="int more = 100",
        after_loop="more = 0",
        options=("-DOFFSET=1000",),
    )
    assert host(kernel(cp.asarray(np.arange(3)))).tolist() == [1100, 1102, 1104]


def test_the_loops_body_may_go_on_to_the_next_element():
    kernel = cp.ElementwiseKernel("int32 x", "int32 y", "y = 0; if (x % 2) continue; y = x", "k")
    assert host(kernel(cp.arange(6, dtype=np.int32))).tolist() == [0, 0, 2, 0, 4, 0]


@pytest.mark.parametrize("block_size", [1, 128, 1024])
def test_the_block_size_changes_nothing(generic, block_size):
    x = cp.arange(1000.0)
    assert host(generic(x, 1.0, block_size=block_size)).tolist() == ((np.arange(1000.0) - 1) ** 2).tolist()
    with pytest.raises(ValueError, match="block_size must be greater than zero"):
        generic(x, 1.0, block_size=0)


def test_a_scatter_with_atomics():
    kernel = cp.ElementwiseKernel(
        "int32 place, float32 x", "raw float32 bins", "atomicAdd(&bins[place], x)", "bin"
    )
    places = np.arange(1000, dtype=np.int32) % 3
    bins = cp.zeros(3, dtype=np.float32)
    kernel(cp.asarray(places), 1.0, bins)
    assert host(bins).tolist() == [334, 333, 333]


# What is refused (kernel: ElementwiseKernel.__call__)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (lambda d: (d,), TypeError, "Wrong number of arguments for 'k'. It must be either 2 or 3 (with outputs), but given 1."),
        (lambda d: (d, d, d, d), TypeError, "Wrong number of arguments for 'k'. It must be either 2 or 3 (with outputs), but given 4."),
        (lambda d: (d, Y), TypeError, "Unsupported type <class 'numpy.ndarray'>"),
        (lambda d: (d, d, np.zeros(5)), TypeError, "Unsupported type <class 'numpy.ndarray'>"),
        (lambda d: (d, [1, 2]), TypeError, "Unsupported type <class 'list'>"),
        (lambda d: (d, None), TypeError, "Unsupported type <class 'NoneType'>"),
        (lambda d: (1, 2), ValueError, "Loop size is undecided."),
        (lambda d: (d, cp.zeros(5)), TypeError, "Type is mismatched. y float64 float32 T"),
        (lambda d: (d, d, cp.zeros(5)), TypeError, "Type is mismatched. x float32 float64 T"),
        (lambda d: (d, cp.zeros(3, dtype=np.float32)), ValueError, "operands could not be broadcast together with shapes (5,) (3,)"),
        (lambda d: (d, 1, cp.zeros(3, dtype=np.float32)), ValueError, "operands could not be broadcast together with shapes (5,) () (3,)"),
        (lambda d: (cp.zeros((3, 5), dtype=np.float32), d, d), ValueError, "Out shape is mismatched"),
        (lambda d: (d, d, 5), TypeError, "Output arguments type must be cupy.ndarray"),
    ],
)  # fmt: skip
def test_wrong_arguments(arguments, error, words):
    kernel = cp.ElementwiseKernel("T x, T y", "T z", "z = x + y", "k")
    with pytest.raises(error) as caught:
        kernel(*arguments(cp.asarray(Y)))
    assert str(caught.value) == words


def test_numbers_that_do_not_fit(generic):
    with pytest.raises(OverflowError, match="300 out of bounds for uint8"):
        generic(cp.zeros(3, dtype=np.uint8), 300)
    with pytest.raises(TypeError):
        generic(cp.zeros(3, dtype=np.float32), 1j)


def test_unknown_keywords(generic):
    with pytest.raises(TypeError, match=r"^Wrong arguments {'axis': 0}$"):
        generic(cp.asarray(Y), 1, axis=0)


def test_inputs_cannot_be_assigned_to():
    kernel = cp.ElementwiseKernel("T x", "T y", "x = 1; y = x", "k")
    with pytest.raises(launching.CompileException):
        kernel(cp.asarray(Y))


def test_a_source_that_does_not_compile_says_so_with_its_line():
    kernel = cp.ElementwiseKernel("T x", "T y", "y = x + missing_name", "k")
    with pytest.raises(launching.CompileException, match="missing_name") as caught:
        kernel(cp.asarray(Y))
    assert caught.value.name == "k" and "missing_name" in caught.value.source
    line = next(at for at, text in enumerate(caught.value.source.split("\n"), 1) if "missing_name" in text)
    assert f"{line}:" in str(caught.value) or f"({line})" in str(caught.value)


@pytest.mark.skipif(not nvrtc.is_installed(), reason="NVRTC is not installed")
@pytest.mark.parametrize("dtype", "efdFDqB")
def test_nvrtc_finds_the_error_in_the_operation_and_none_in_what_stands_before_it(dtype):
    if dtype == "e" and not nvrtc._headers():
        pytest.skip("CUDA's headers are not installed")
    kernel = cp.ElementwiseKernel("T x, raw T r", "T y", "y = x + missing_name", "k")
    with pytest.raises(launching.CompileException) as caught:
        kernel(cp.ones(3, dtype), cp.ones(3, dtype))
    first, *_, last = str(caught.value).splitlines()
    assert first.endswith('error: identifier "missing_name" is undefined') and last.startswith("1 error")
    kernel = cp.ReductionKernel("T x", "T y", "x * missing_name", "a + b", "y = a", "0", "r")
    with pytest.raises(launching.CompileException, match=r"(?m)^1 error detected") as caught:
        kernel(cp.ones(3, dtype))
    assert 'identifier "missing_name" is undefined' in str(caught.value)


def test_a_fault_is_told_by_the_operations_line():
    kernel = cp.ElementwiseKernel(
        "raw T x", "T z", "z = 0;\nz = x[i + 3]", "beyond", loop_prep="int two = 1;\ntwo = 2"
    )
    with pytest.raises(KernelFault) as caught:
        kernel(cp.asarray(Y), size=5)
    assert str(caught.value).startswith(
        "beyond, line 2 of the operation: out of bounds: thread 2 of block 0 reads x[5], but x has 5"
    )
    beyond_all = "z = x[i + 100000000]"  # 400 MB from any array of another test
    kernel = cp.ElementwiseKernel("raw T x", "T z", beyond_all, "far")
    with pytest.raises(
        KernelFault, match=r"no array on the device is there; .* it would be x\[100000000\] or z\[-?\d+\]$"
    ):
        kernel(cp.asarray(Y), size=5)
    assert caught.value.line == 2 and caught.value.thread == (2, 0, 0)
    total = cp.ReductionKernel("raw T x, T y", "T z", "x[_J + 4] + y", "a + b", "z = a", "0", "total")
    with pytest.raises(
        KernelFault,
        match=r"total, line \d+ of the generated source: out of bounds: thread \d+ of block \d+ reads x\[5\]",
    ):
        total(cp.asarray(Y), cp.asarray(Y))


def test_the_generated_code_can_be_seen(generic):
    with pytest.warns(UserWarning, match="No codes are cached because compilation is deferred"):
        assert generic.cached_codes == {}
    generic(cp.asarray(Y), cp.asarray(Y))
    assert "T diff = x - y" in generic.cached_code
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(generic.cached_codes) == [(np.dtype("f4"),) * 3]
    generic(cp.zeros(3), cp.zeros(3))
    assert len(generic.cached_codes) == 2
    with pytest.warns(UserWarning, match="could not be inferred"):
        assert generic.cached_code


def test_attributes(generic):
    assert (generic.name, generic.__name__, generic.nin, generic.nout, generic.nargs) == (
        "generic",
        "generic",
        2,
        1,
        3,
    )
    assert [each.name for each in generic.in_params] == ["x", "y"]
    assert generic.reduce_dims and not generic.no_return and not generic.return_tuple


# Complex numbers and half precision


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_numbers(dtype):
    kernel = cp.ElementwiseKernel("T x, T y", "T z", "z = x * y + conj(x)", "k")
    x, y = np.array([1 + 2j, -1j], dtype), np.array([2 - 1j, 3], dtype)
    assert host(kernel(cp.asarray(x), cp.asarray(y))).tolist() == (x * y + x.conj()).tolist()


def test_half_precision():
    kernel = cp.ElementwiseKernel("T x", "T y", "y = x * T(2)", "k")
    x = np.arange(5, dtype=np.float16)
    result = kernel(cp.asarray(x))
    assert result.dtype == np.float16 and host(result).tolist() == (2 * x).tolist()


# Guide, "Reduction kernels"


@pytest.fixture
def l2norm():
    return cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, (0, 2), (1, 0), (0, 1, 2), ()])
def test_axes_are_reduced(l2norm, axis, keepdims):
    x = np.random.default_rng(0).random((3, 4, 5))
    result = l2norm(cp.asarray(x), axis=axis, keepdims=keepdims)
    np.testing.assert_allclose(host(result), np.sqrt((x * x).sum(axis=axis, keepdims=keepdims)), rtol=1e-12)


def test_the_guides_example(l2norm):
    result = l2norm(cp.asarray(X), axis=1)
    assert result.dtype == np.float32
    np.testing.assert_allclose(host(result), [5.477226, 15.9687195], rtol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 31, 511, 512, 513, 1000, 100_003])
def test_long_reductions(size):
    total = cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    assert host(total(cp.arange(size))) == size * (size - 1) // 2
    largest = cp.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", "-1", "largest")
    assert host(largest(cp.arange(size))) == size - 1


def test_sums_are_as_exact_as_on_a_gpu():
    total = cp.ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "total")
    x = np.full(1 << 22, 0.1, dtype=np.float32)
    assert (
        abs(float(host(total(cp.asarray(x)))) - x.sum(dtype=np.float64)) < 2
    )  # one by one it would be off by 16,690


def test_two_inputs_are_broadcast_and_the_output_may_have_its_own_type():
    dot = cp.ReductionKernel("T x, S y", "float64 z", "x * y", "a + b", "z = a", "0", "dot")
    result = dot(cp.asarray(X), cp.arange(5, dtype=np.int32), axis=1)
    assert result.dtype == np.float64 and host(result).tolist() == (X @ np.arange(5.0)).tolist()


def test_a_reduction_type_of_its_own():
    mean = cp.ReductionKernel(
        "float32 x",
        "float32 y",
        "Pair{x, 1}",
        "Pair{a.sum + b.sum, a.count + b.count}",
        "y = a.sum / a.count",
        "Pair{0, 0}",
        "mean",
        reduce_type="Pair",
        preamble="""
struct Pair {
  double sum; long long count;
  __device__ Pair(double sum, long long count) : sum(sum), count(count) {}
  __device__ Pair(const Pair &other) : sum(other.sum), count(other.count) {}
};""",
    )
    assert host(mean(cp.asarray(X), axis=0)).tolist() == X.mean(axis=0).tolist()


def test_out_and_strides(l2norm):
    x = cp.asarray(np.arange(12.0).reshape(3, 4))
    out = cp.zeros((4, 2))
    assert l2norm(x, out=out[:, 1], axis=0) is not None
    np.testing.assert_allclose(host(out)[:, 1], np.sqrt((np.arange(12.0).reshape(3, 4) ** 2).sum(axis=0)))
    np.testing.assert_allclose(host(l2norm(x.T[::-1], axis=1)), host(out)[::-1, 1])
    given = cp.zeros(3)
    assert l2norm(x, given, axis=1) is given and host(given)[0] == np.sqrt(14)


def test_raw_inputs():
    weighted = cp.ReductionKernel("T x, raw T w", "T y", "x * w[_J]", "a + b", "y = a", "0", "weighted")
    x = np.arange(12.0).reshape(3, 4)
    w = np.array([1.0, 10.0, 100.0])
    assert host(weighted(cp.asarray(x), cp.asarray(w), axis=0)).tolist() == (w @ x).tolist()
    with pytest.raises(NotImplementedError, match="Illegal conditions"):  # reduction: _set_permuted_args
        weighted(cp.asarray(x), cp.asarray(w), axis=1)


def test_nothing_to_reduce(l2norm):
    assert host(l2norm(cp.zeros((0, 3)), axis=0)).tolist() == [0, 0, 0]
    assert host(l2norm(cp.zeros(0))) == 0
    assert l2norm(cp.zeros((0, 3)), axis=1).shape == (0,)
    largest = cp.ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", None, "largest")
    with pytest.raises(ValueError) as caught:
        largest(cp.zeros((0, 3)), axis=0)
    assert str(caught.value) == "zero-size array to reduction operation largest which has no identity"
    assert host(largest(cp.asarray(X))) == 9


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda k, d: k(), TypeError, "Wrong number of arguments for l2norm"),
        (lambda k, d: k(d, d, d), TypeError, "Wrong number of arguments for l2norm"),
        (lambda k, d: k(d, stop=1), TypeError, "Wrong arguments {'stop': 1}"),
        (
            lambda k, d: k(d, axis=2),
            np.exceptions.AxisError,
            "axis 2 is out of bounds for array of dimension 2",
        ),
        (lambda k, d: k(d, axis=(0, 0)), ValueError, "duplicate value in 'axis'"),
        (lambda k, d: k(X), TypeError, "Unsupported type <class 'numpy.ndarray'>"),
        (lambda k, d: k(3.0), ValueError, "Loop size is undecided."),
        (
            lambda k, d: k(d, d, out=d),
            ValueError,
            "cannot specify 'out' as both a positional and keyword argument",
        ),
        (lambda k, d: k(d, out=d), ValueError, "Out shape is mismatched"),
        (
            lambda k, d: k(d, out=cp.zeros(()), axis=None),
            TypeError,
            "Type is mismatched. x float32 float64 T",
        ),
    ],
)
def test_wrong_reductions(l2norm, call, error, words):
    with pytest.raises(error) as caught:
        call(l2norm, cp.asarray(X))
    assert str(caught.value) == words


def test_arrays_of_the_numba_stand_in_are_taken():
    from host_to_device.standins import numba_cuda

    kernel = cp.ElementwiseKernel("T x", "T y", "y = 2 * x", "k")
    assert host(kernel(numba_cuda.to_device(Y))).tolist() == (2 * Y).tolist()
