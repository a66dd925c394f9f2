"""Details in which NumPy and CuPy differ, or that a program meets at the edge: results, errors, layouts."""

import math
import warnings

import numpy as np
import pytest

import host_to_device.standins.cupy as cp
import host_to_device.standins.cupy.cupyx as cupyx
from host_to_device.standins.cupy import stride_tricks


def test_sums_of_float16_are_rounded_once():
    ones = cp.ones((2, 6000), cp.float16)
    assert ones[0].sum() == 6000  # NumPy adds rows of a matrix in float16, and stays at 2048
    assert (ones.sum(axis=0) == 2).all() and (ones.T.sum(axis=0) == 6000).all()
    assert ones.T.sum(axis=0).dtype == cp.float16
    assert (cp.nansum(ones.T, axis=0) == 6000).all() and (cp.nanmean(ones.T, axis=0) == 1).all()
    halves = cp.full((4000, 2), 0.5, cp.float16)
    assert (halves.sum(axis=0) == 2000).all() and (cp.full((12, 2), 2, cp.float16).prod(axis=0) == 4096).all()


def test_eigenvalues_are_those_of_the_real_matrix():
    stacked = np.random.default_rng(3).random((5, 4, 4))
    values, vectors = cp.linalg.eig(cp.asarray(stacked))
    assert values.dtype == cp.complex128
    expected = np.linalg.eigvals(stacked)
    np.testing.assert_array_equal(values.get(), expected)
    np.testing.assert_allclose(
        stacked @ vectors.get(), vectors.get() * values.get()[:, None, :], rtol=1e-9, atol=1e-9
    )
    assert cp.linalg.eigvals(cp.array([[2, 1], [1, 2]], cp.int8)).dtype == cp.complex128
    assert cp.linalg.eigvals(cp.array([[2, 1], [1, 2]], cp.float32)).dtype == cp.complex64
    assert cp.linalg.eigvals(cp.empty((0, 0))).dtype == cp.float64


def test_conversions_that_drop_the_imaginary_part_warn():
    source, target = cp.array([1 + 2j]), cp.zeros(1)
    with pytest.warns(np.exceptions.ComplexWarning):
        cp.add(source, source, out=target, casting="unsafe")
    assert target[0] == 2
    with pytest.warns(np.exceptions.ComplexWarning):
        cp.hstack((source, source), dtype=cp.int32, casting="unsafe")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cp.add(source, source, out=cp.zeros(1, bool), casting="unsafe")


def test_reductions_of_nothing_but_nan_warn():
    for function in (cp.nanmax, cp.nanmin):
        with pytest.warns(RuntimeWarning, match="All-NaN slice"):
            result = function(cp.array([[math.nan, math.nan], [1, 2]]), axis=1)
        assert cp.isnan(result[0])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert function(cp.array([math.nan, 3.0])) == 3


def test_methods_of_numpys_functions_are_cupys():
    a = cp.arange(4.0)
    assert isinstance(np.add.outer(a, a), cp.ndarray) and np.add.outer(a, a).shape == (4, 4)
    assert np.add.reduce(a) == 6 and (np.add.accumulate(a) == cp.array([0, 1, 3, 6])).all()
    np.add.at(a, cp.array([1, 1]), 5)
    assert a[1] == 11
    with pytest.raises(NotImplementedError):
        np.maximum.reduce(a)


def test_joining():
    joined = cp.concatenate((cp.ones((2, 2)), cp.zeros(3)), axis=None)
    assert joined.tolist() == [1, 1, 1, 1, 0, 0, 0]
    with pytest.raises(TypeError, match="same_kind"):
        cp.stack((cp.ones(2), cp.ones(2)), out=cp.zeros((2, 2), int))
    with pytest.warns(DeprecationWarning, match="vstack"):
        assert cp.row_stack((cp.ones(2), cp.ones(2))).shape == (2, 2)


def test_copyto_takes_one_number_of_numpy():
    target = cp.zeros(3, cp.uint8)
    cp.copyto(target, np.array([4], np.uint8))
    assert target.tolist() == [4, 4, 4]
    with pytest.raises(ValueError, match="non-scalar"):
        cp.copyto(target, np.arange(3, dtype=np.uint8))
    with pytest.raises(OverflowError):
        cp.copyto(target, -4)
    with pytest.raises(TypeError, match="Cannot cast"):
        cp.copyto(target, np.float32(1))


class Interface:
    """Another library's array: the description of the memory and nothing else."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__


class Getter:
    """An object that gives its array to CuPy."""

    def __init__(self, array):
        self.array = array

    def __cupy_get_ndarray__(self):
        return self.array


@pytest.mark.parametrize("kind", [Interface, Getter])
def test_arrays_of_other_libraries_are_indices_and_values(kind):
    a = cp.arange(5)
    assert a[kind(cp.array([3, 1]))].tolist() == [3, 1]
    a.fill(kind(cp.array(7)))
    assert a.tolist() == [7] * 5
    a[1:3] = kind(cp.array([1, 2]))
    assert a.tolist() == [7, 1, 2, 7, 7]


def test_an_empty_array_of_another_library_has_no_memory_to_share():
    class Foreign:
        @property
        def __cuda_array_interface__(self):
            return {"shape": (0, 2), "typestr": "<f4", "data": (0, False), "version": 3}

    assert cp.asarray(Foreign()).shape == (0, 2)


def test_bad_indices_have_cupys_errors():
    a = cp.ones((2, 3, 4))
    with pytest.raises(ValueError):
        a[1, [1, [1]]]
    with pytest.raises(IndexError, match="arrays used as indices"):
        a[np.array(["0"])]
    with pytest.raises(np.exceptions.AxisError):
        cp.array(1.0).take((0,), axis=2)
    with pytest.raises(ValueError, match="same length: 4 != 2"):
        cp.repeat(cp.arange(4), cp.array([1, 2]), axis=0)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: cp.packbits(cp.ones(8, bool), bitorder="up"), ValueError),
        (lambda: cp.unpackbits(cp.ones(8, cp.uint8), bitorder=1), ValueError),
        (lambda: cp.require(cp.ones(2), "random"), ValueError),
        (lambda: cp.tril_indices(cp.ones(3)), TypeError),
        (lambda: cp.triu_indices_from(4), AttributeError),
        (lambda: cp.triu_indices_from(cp.ones(4)), ValueError),
        (lambda: cp.linalg.cond(cp.ones((0, 0))), np.linalg.LinAlgError),
        (lambda: cp.histogramdd(cp.ones((4, 2)), [[0, 1, 2], [0, 1, 2]]), ValueError),
        (lambda: cp.cuda.Device(0) < 1, TypeError),
    ],
)
def test_refusals(call, error):
    with pytest.raises(error):
        call()


def test_functions_that_take_numbers_and_arrays_of_the_host():
    assert cp.average(np.array([1.0, 3.0])) == 2 and cp.average([1.0, 3.0], weights=[3, 1]) == 1.5
    assert cp.isclose(np.float32(1), 1.0).shape == ()
    assert cp.piecewise(np.float64(2), [np.False_, np.True_], [1, 10]) == 10
    assert cp.histogram(cp.arange(4), np.array([0, 2, 4]))[0].tolist() == [2, 2]
    assert cp.einsum(cp.eye(3), np.array([0, 0])) == 3
    assert cp.linalg.cond([[1.0, 0.0], [0.0, 4.0]]) == 4
    limits = cp.linalg.pinv(cp.asarray(np.stack([np.diag([1.0, 0.5])] * 2)), cp.array([0.1, 0.8]))
    assert limits[0, 1, 1] == 2 and limits[1, 1, 1] == 0


def test_a_singular_system_without_right_sides_is_an_error_where_errors_are_asked_for():
    singular, nothing = cp.zeros((3, 3)), cp.empty((3, 0))
    assert cp.linalg.solve(singular, nothing).shape == (3, 0)
    with cupyx.errstate(linalg="raise"), pytest.raises(np.linalg.LinAlgError):
        cp.linalg.solve(singular, nothing)


def test_views_with_other_strides():
    x = cp.arange(6)
    windows = stride_tricks.sliding_window_view(x, 3)
    assert windows.shape == (4, 3) and windows[3].tolist() == [3, 4, 5]
    x[5] = 9
    assert windows[3, 2] == 9  # a view
    rows = cp.lib.stride_tricks.as_strided(x, (3, 2), (0, 8))
    assert rows.tolist() == [[0, 1]] * 3
    with pytest.raises(NotImplementedError):
        stride_tricks.sliding_window_view(x, 3, writeable=True)
    low, high = cp.byte_bounds(x[::-1])
    assert low == x.data.ptr and high - low == x.nbytes


def test_a_stream_set_before_a_block_is_forgotten_by_it():
    first, second, third = cp.cuda.Stream(), cp.cuda.Stream(), cp.cuda.Stream()
    first.use()
    with second:
        third.use()
        with first:
            assert cp.cuda.get_current_stream() == first
        assert cp.cuda.get_current_stream() == second
    assert cp.cuda.get_current_stream() == cp.cuda.Stream.null


def test_streams_of_other_libraries():
    class Foreign:
        def __init__(self, answer):
            self.answer = answer

        def __cuda_stream__(self):
            return self.answer

    stream = cp.cuda.Stream.from_external(Foreign((0, 64)))
    assert stream.ptr == 64 and isinstance(stream, cp.cuda.Stream)
    for wrong, text in (
        (5, "2-tuple"),
        ((0,), "2-tuple"),
        ((0, "64"), r"\(int, int\)"),
        ((1, 64), "version 1"),
    ):
        with pytest.raises(TypeError, match=text):
            cp.cuda.Stream.from_external(Foreign(wrong))
    with pytest.raises(TypeError, match="does not implement"):
        cp.cuda.Stream.from_external(object())


def test_pinned_arrays_have_the_layout_of_numpys():
    turned = cp.ones((4, 2, 3)).transpose(1, 2, 0)
    pinned = cupyx.empty_like_pinned(turned)
    assert pinned.strides == np.empty_like(turned.get(order="A"), order="C").strides or pinned.shape == (
        2,
        3,
        4,
    )
    assert isinstance(pinned.base, cp.cuda.PinnedMemoryPointer) and pinned.base.ptr == pinned.ctypes.data
    assert cupyx.empty_pinned((1, 0, 2)).strides == np.empty((1, 0, 2)).strides
    assert cp.asnumpy(turned, out=cupyx.empty_pinned(turned.shape)).sum() == 24


def test_dlpack_refuses_what_cupy_refuses():
    a = cp.arange(3)
    with pytest.raises(BufferError):
        a.__dlpack__(dl_device=(9, 0))
    with pytest.raises(BufferError):
        cp.from_dlpack(a, copy=True)
    with pytest.raises(NotImplementedError):
        cp.from_dlpack(a, device=a.device)
    with pytest.raises(ValueError, match="valid stream"):
        a.__dlpack__(stream=-2)
    with pytest.warns(UserWarning, match="Stream 0"):
        capsule = a.__dlpack__(stream=0)
    assert cp.from_dlpack(capsule).tolist() == [0, 1, 2]


def test_a_fused_function_asks_whether_whole_numbers_are_finite():
    @cp.fuse
    def finite(x):
        return cp.isfinite(x) + 2 * cp.isnan(x)

    assert finite(cp.arange(3)).tolist() == [1, 1, 1]
    assert finite(cp.array([1.0, math.nan])).tolist() == [1, 2]


def test_a_subclass_may_take_arguments_of_its_own():
    class Named(cp.ndarray):
        def __new__(cls, *args, name=None, **kwargs):
            made = super().__new__(cls, *args, **kwargs)
            made.name = name
            return made

    assert Named((2, 3), name="grid").name == "grid"


def test_cupyx_time_is_the_old_name_of_benchmark():
    with pytest.warns(UserWarning, match="benchmark"):
        result = cupyx.time.repeat(lambda: None, n_repeat=3, n_warmup=1, name="nothing")
    assert result.cpu_times.shape == (3,)
