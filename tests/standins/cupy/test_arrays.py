"""CuPy's array on the stand-in. References: docs.cupy.dev, "Differences between CuPy and NumPy" (difference) and the
source of CuPy 14.2 by file."""

import pickle

import numpy as np
import pytest

import host_to_device.standins.cupy as cp

HOST = np.arange(6, dtype=np.float32).reshape(2, 3)


def same(device, host):
    assert type(device) is cp.ndarray
    assert device.dtype == host.dtype and device.shape == host.shape
    np.testing.assert_array_equal(device.get(), host)


def test_arrays_are_a_type_of_their_own_and_say_what_they_are():
    a = cp.asarray(HOST)
    assert not isinstance(a, np.ndarray) and type(a).__name__ == "ndarray"
    assert repr(a) == repr(HOST) and str(a) == str(HOST) and f"{a.sum():.1f}" == "15.0"
    assert "stand-in" in cp.__version__ and cp.__version__.startswith("14.2")


def test_copies_are_real_in_both_directions():
    host = HOST.copy()
    a = cp.array(host)
    host[0, 0] = 9
    back = a.get()
    back[1, 1] = 7
    same(a, HOST)
    assert isinstance(cp.asnumpy(a), np.ndarray) and cp.asnumpy([1, 2]).tolist() == [1, 2]


# creation/from_data.py: asarray gives a device array back, array copies it; copy=False refuses a copy.
def test_what_asarray_and_array_copy():
    a = cp.asarray(HOST)
    assert cp.asarray(a) is a and cp.asarray(a, dtype="f4") is a
    assert cp.asarray(a, dtype="f8") is not a and cp.array(a) is not a
    assert cp.array(a, copy=False) is a
    with pytest.raises(ValueError, match=r"^Unable to avoid copy while creating an array as requested.$"):
        cp.array(HOST, copy=False)
    same(cp.array([a[0], a[1]]), HOST)
    same(cp.asarray(HOST, order="F"), HOST)
    assert cp.asarray(HOST, order="F").flags.f_contiguous
    assert cp.ascontiguousarray(a.T).flags.c_contiguous
    assert cp.array(3.0, ndmin=2).shape == (1, 1)


# core.pyx, ndarray.__array__
@pytest.mark.parametrize("convert", [np.asarray, np.array, np.testing.assert_allclose])
def test_nothing_becomes_a_numpy_array_by_itself(convert):
    a = cp.arange(6)
    arguments = (a, np.arange(6)) if convert is np.testing.assert_allclose else (a,)
    with pytest.raises(
        TypeError, match=r"^Implicit conversion to a NumPy array is not allowed. Please use `.get\(\)`"
    ):
        convert(*arguments)


# difference, "Universal Functions only work with CuPy array or scalar"
@pytest.mark.parametrize(
    "mix",
    [
        lambda a, h: a + h,
        lambda a, h: h + a,
        lambda a, h: a < h,
        lambda a, h: cp.add(a, h),
        lambda a, h: np.add(a, h),
        lambda a, h: cp.where(a > 1, a, h),
        lambda a, h: cp.concatenate([a, h]),
        lambda a, h: cp.maximum(a, h),
        lambda a, h: a.__iadd__(h),
        lambda a, h: a @ h,
    ],
)
def test_mixing_with_numpy_arrays_is_refused(mix):
    with pytest.raises(TypeError, match=r"^Unsupported type <class 'numpy.ndarray'>$"):
        mix(cp.arange(3), np.arange(3))


def test_lists_are_refused():
    with pytest.raises(TypeError, match=r"^Unsupported type <class 'list'>$"):
        cp.power([cp.arange(5)], 2)
    with pytest.raises(AttributeError, match=r"'list' object has no attribute 'sum'"):
        cp.sum([1, 2])


# _routines_indexing.pyx, _scatter_op: what is no device array is given to fill. core.pyx, fill.
def test_a_numpy_array_is_not_assigned_to_a_slice():
    a = cp.zeros(3)
    with pytest.raises(ValueError, match=r"^non-scalar numpy.ndarray cannot be used for fill$"):
        a[:] = np.ones(3)
    a[:] = np.array(2.0)
    a[0] = cp.array(5)
    same(a, np.array([5.0, 2, 2]))
    a.set(np.arange(3.0))
    same(a, np.arange(3.0))


@pytest.mark.parametrize(
    ("host", "error", "text"),
    [
        ([1.0, 2, 3], TypeError, "Only numpy.ndarray can be set to cupy.ndarray"),
        (np.zeros(3, "f4"), TypeError, "float32 array cannot be set to float64 array"),
        (np.zeros(4), ValueError, r"Shape mismatch. Old shape: \(3,\), new shape: \(4,\)"),
    ],
)
def test_what_set_refuses(host, error, text):
    with pytest.raises(error, match=f"^{text}$"):
        cp.zeros(3).set(host)


# difference, "Zero-dimensional array": reductions give arrays.
@pytest.mark.parametrize(
    "make", [lambda a: a.sum(), cp.max, lambda a: a[0, 0], cp.linalg.norm, cp.count_nonzero, cp.argmax]
)
def test_single_elements_stay_arrays(make):
    one = make(cp.asarray(HOST))
    assert type(one) is cp.ndarray and one.shape == ()
    assert float(one) == one.item() == one.get()


def test_a_single_element_becomes_a_python_number_when_asked():
    a = cp.array([2])
    assert (bool(a), int(a[0]), float(a[0]), complex(a[0])) == (True, 2, 2.0, 2 + 0j)
    with pytest.raises(ValueError, match=r"^can only convert an array of size 1 to a Python scalar$"):
        cp.arange(3).item()
    with pytest.raises(ValueError, match=r"ambiguous. Use a.any\(\) or a.all\(\)$"):
        bool(cp.arange(3))
    with pytest.warns(DeprecationWarning, match=r"empty array is ambiguous"):
        assert not cp.empty(0)
    with pytest.raises(TypeError):
        range(cp.array(3))


# _dtype.pyx, check_supported_dtype
@pytest.mark.parametrize("host", [["a", "b"], np.array([None]), np.array(["2020-01-01"], "M8[D]")])
def test_dtypes_that_device_memory_cannot_hold(host):
    with pytest.raises(ValueError, match=r"^Unsupported dtype [^\n]+$"):
        cp.array(host)


def test_big_endian_numbers_are_turned_round():  # core.pyx, `_array_default`
    x = cp.asarray(np.arange(3, dtype=">i4"))
    assert x.dtype == np.dtype("=i4") and x.get().tolist() == [0, 1, 2]


def test_creation_agrees_with_numpy():
    for name, arguments in {
        "zeros": ((2, 3), "i4"),
        "ones": (4,),
        "full": ((2,), 7),
        "eye": (3, 4, 1),
        "arange": (2, 9, 3),
        "linspace": (0, 1, 5),
        "logspace": (0, 2, 3),
        "tri": (3,),
        "identity": (2,),
    }.items():
        same(getattr(cp, name)(*arguments), np.asarray(getattr(np, name)(*arguments)))
    same(cp.zeros_like(cp.asarray(HOST)), np.zeros_like(HOST))
    same(cp.full_like(cp.asarray(HOST), 2), np.full_like(HOST, 2))
    for ours, theirs in zip(
        cp.meshgrid(cp.arange(2), cp.arange(3)), np.meshgrid(range(2), range(3)), strict=True
    ):
        same(ours, theirs)
    same(cp.mgrid[0:2, 0:3][1], np.mgrid[0:2, 0:3][1])
    same(cp.r_[cp.arange(2), 5], np.r_[np.arange(2), 5])
    with pytest.raises(ValueError, match=r"^Negative dimensions are not allowed$"):
        cp.zeros(-1)


# difference, "Cast behavior from float to integer"
def test_floats_become_integers_as_on_a_gpu():
    same(cp.array([-1, 3.7], "f4").astype("u4"), np.array([0, 3], "u4"))
    same(
        cp.array([np.inf, -np.inf, np.nan, -2.5], "f4").astype("i4"),
        np.array([2**31 - 1, -(2**31), 0, -2], "i4"),
    )
    same(cp.array([1e30, 2.0**62], "f8").astype("i8"), np.array([2**63 - 1, 2**62], "i8"))
    a = cp.zeros(2, "i4")
    a[:] = cp.array([1.9, 1e20])
    same(a, np.array([1, 2**31 - 1], "i4"))


def test_views_share_memory_and_copies_do_not():
    a = cp.arange(6)
    b = a.reshape(2, 3)
    b[0, 0] = 9
    b.T[1, 0] = 8
    a[4:][0] = 7
    assert a.tolist() == [9, 8, 2, 3, 7, 5] and b.base is a and a.base is None
    assert a.data.ptr == b.data.ptr and a[1:].data.ptr == a.data.ptr + 8
    c = a.copy()
    c[:] = 0
    assert a[0] == 9 and cp.may_share_memory(a, b) and not cp.may_share_memory(a, c)
    assert cp.broadcast_to(a, (2, 6)).strides == (0, 8)
    assert a.flags["C_CONTIGUOUS"] and not a[::2].flags.c_contiguous
    a.shape = (3, 2)
    assert a.shape == (3, 2)


# difference, "Contiguity / Strides": results are in C order.
def test_results_are_in_c_order():
    a = cp.array([[1, 2], [3, 4]], order="F")
    assert a.flags.f_contiguous and not (a + a).flags.f_contiguous


def test_complex_parts_are_views():
    a = cp.array([1 + 2j, 3 - 1j])
    a.real = 5
    a.imag[1] = 0
    same(a, np.array([5 + 2j, 5 + 0j]))
    assert cp.arange(2).imag.tolist() == [0, 0]
    with pytest.warns(np.exceptions.ComplexWarning, match=r"discards the imaginary part"):
        a.astype("f8")


def test_pickle_and_files(tmp_path):
    a = cp.asarray(HOST)
    same(pickle.loads(pickle.dumps(a)), HOST)
    cp.save(tmp_path / "a.npy", a)
    same(cp.load(tmp_path / "a.npy"), HOST)
    cp.savez(tmp_path / "a.npz", x=a)
    with cp.load(tmp_path / "a.npz") as archive:
        same(archive["x"], HOST)


# NumPy's functions on CuPy's arrays: NEP 13 and 18.
def test_numpys_functions_give_cupys_arrays():
    a = cp.asarray(HOST)
    same(np.sum(a), np.asarray(HOST.sum()))
    same(np.exp(a), np.exp(HOST))
    same(np.concatenate([a, a]), np.concatenate([HOST, HOST]))
    same(np.linalg.norm(a), np.asarray(np.linalg.norm(HOST)))
    same(2 * a, 2 * HOST)
    same(np.float32(2) * a, np.float32(2) * HOST)
    assert (
        cp.get_array_module(a) is cp and cp.get_array_module(HOST) is np and cp.get_array_module(1, a) is cp
    )
