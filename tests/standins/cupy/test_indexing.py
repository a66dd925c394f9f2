"""Indexing on the stand-in. References: docs.cupy.dev, "Differences between CuPy and NumPy", and
cupy/_core/_routines_indexing.pyx."""

import numpy as np
import pytest

import host_to_device.standins.cupy as cp
import host_to_device.standins.cupy.cupyx as cupyx

HOST = np.arange(24).reshape(2, 3, 4)
KEYS = [
    0, -1, (1, 2), (1, 2, 3), slice(None, None, -1), (slice(1, None), 0), ..., (..., 1), None, (None, 1, ..., None),
    [1, 0], ([0, 1], [2, 0]), (slice(None), [0, 2]), (0, [0, 2], 1), ([0], slice(None), [1]), HOST > 5,
    HOST[:, :, 0] > 3, (slice(None), np.array([True, False, True])), np.array([[0, 1], [1, 0]]), True, [], np.int64(1),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indexing_agrees_with_numpy(key):
    a = cp.asarray(HOST)
    ours, theirs = a[key], HOST[key]
    assert type(ours) is cp.ndarray and ours.shape == np.shape(theirs)
    np.testing.assert_array_equal(ours.get(), theirs)
    host = HOST.copy()
    a[key] = -1
    host[key] = -1
    np.testing.assert_array_equal(a.get(), host)


def test_device_arrays_are_indices_too():
    a = cp.asarray(HOST)
    np.testing.assert_array_equal(a[cp.array([1, 0])].get(), HOST[[1, 0]])
    np.testing.assert_array_equal(a[a > 20].get(), HOST[HOST > 20])
    a[a > 20] = cp.array([0, 0, 0])
    assert a.max() == 20


# "Out-of-bounds indices": the documentation's own example
def test_indices_in_an_array_wrap_around():
    x = cp.array([0, 1, 2])
    x[[1, 3]] = 10
    assert x.tolist() == [10, 10, 2]
    assert cp.arange(3)[[1, 3, -4]].tolist() == [1, 0, 2]
    assert cp.take(cp.arange(3), cp.array([4, -5])).tolist() == [1, 1]
    assert cp.arange(6).reshape(2, 3)[[0, 2], [4, 0]].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (3, "Index 3 is out of bounds for axis 0 with size 3"),
        ((0, 0), "too many indices for array: array is 1-dimensional, but 2 were indexed"),
        (
            [0.5],
            "arrays used as indices must be of integer or boolean type. .actual: <class 'numpy.float64'>.",
        ),
        (
            [True, False],
            "boolean index did not match indexed array along dimension 0; dimension is 3 but .* is 2",
        ),
    ],
)
def test_what_indexing_refuses(key, text):
    with pytest.raises(IndexError, match=f"^{text}$"):
        cp.arange(3)[key]


def test_shapes_that_do_not_fit():
    a = cp.zeros((2, 3))
    with pytest.raises(
        ValueError, match=r"^operands could not be broadcast together with shapes \(2,\) \(2, 3\)$"
    ):
        a[:] = cp.zeros(2)


# cupyx/_scatter.py and core.pyx: the names are deprecated, and warn.
def test_scatter():
    a = cp.zeros(3, dtype="f4")
    with pytest.warns(
        DeprecationWarning, match=r"^`ndarray.scatter_add` is deprecated. Please use `cupy.add.at`"
    ):
        cupyx.scatter_add(a, cp.array([0, 0, 4]), 1)
    assert a.tolist() == [2, 1, 0]
    cp.maximum.at(a, [0, 2], cp.array([1, 5], "f4"))
    assert a.tolist() == [2, 1, 5]
    with pytest.raises(
        TypeError, match=r"^cupy.add.at only supports int32, int64, float16, float32, float64, uint32"
    ):
        cp.add.at(cp.zeros(3, "i2"), cp.array([0]), 1)
    with pytest.raises(NotImplementedError, match=r"^`cupy_multiply.at` is not supported yet$"):
        cp.multiply.at(a, [0], 2)


@pytest.mark.parametrize("made", [list, tuple])
def test_an_array_of_another_library_in_a_list_of_indices(made):
    class Foreign:
        def __init__(self, array):
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    index = cp.array([2, 0])
    assert cp.arange(5)[made([Foreign(index)]),].tolist() == [[2, 0]]
