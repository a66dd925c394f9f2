"""Arrays: made, moved between host and device, viewed, printed."""

import numpy as np

from tests.corpora.cupy.case import Raises, device, documentation, host, program, source

BASIC = "user_guide/basic"
CORE = "cupy/_core/core.pyx"


@program(device([1, 2, 3], "int64"), documentation(BASIC, "Basics of cupy.ndarray"), "arrays", numpy=True)
def a_list_becomes_an_array(cp):
    return cp.array([1, 2, 3])


@program(False, documentation(BASIC, "Basics of cupy.ndarray"), "arrays")
def an_array_is_no_numpy_array(cp):
    return isinstance(cp.zeros(3), np.ndarray)


@program(host([1, 2, 3], "int64"), documentation(BASIC, "Move array from a device to the host"), "transfers")
def asnumpy_copies_to_the_host(cp):
    return cp.asnumpy(cp.array([1, 2, 3]))


@program(host([1, 2, 3], "int64"), documentation(BASIC, "Move array from a device to the host"), "transfers")
def get_copies_to_the_host(cp):
    return cp.array([1, 2, 3]).get()


@program(host([1, 2], "int64"), documentation(BASIC, "How to write CPU/GPU agnostic code"), "transfers")
def asnumpy_takes_what_is_on_the_host_too(cp):
    return cp.asnumpy([1, 2])


@program(
    device([1.0, 2.0], "float32"),
    documentation(BASIC, "Move arrays to a device"),
    "transfers",
)
def asarray_copies_a_host_array_to_the_device(cp):
    return cp.asarray(np.array([1, 2], np.float32))


@program(True, documentation(BASIC, "Move arrays to a device"), "transfers", numpy=True)
def asarray_of_a_device_array_is_the_same_object(cp):
    x = cp.arange(3)
    return cp.asarray(x) is x


@program((False, device([0, 1, 2], "int64")), source(CORE, "array"), "transfers", numpy=True)
def array_of_a_device_array_is_a_copy(cp):
    x = cp.arange(3)
    y = cp.array(x)
    x[...] = 9
    return y is x, y


@program(device([0.0, 1.0, 2.0], "float32"), source(CORE, "array"), "transfers", numpy=True)
def asarray_with_another_dtype_is_a_copy(cp):
    x = cp.arange(3)
    y = cp.asarray(x, dtype=cp.float32)
    x[...] = 9
    return y


@program(
    Raises("ValueError", "Unable to avoid copy while creating an array as requested."),
    source(CORE, "_ndarray_base._astype"),
    "transfers",
)
def a_copy_that_is_forbidden_and_needed(cp):
    return cp.asarray(cp.arange(3), dtype=cp.float32, copy=False)


@program(host([0.0, 1.0, 2.0], "float32"), source(CORE, "_ndarray_base.get"), "transfers")
def get_into_a_host_array(cp):
    out = np.empty(3, np.float32)
    cp.arange(3, dtype=cp.float32).get(out=out)
    return out


@program(
    Raises("ValueError", "Shape mismatch. Expected shape: (3,), actual shape: (4,)"),
    source(CORE, "_ndarray_base.get"),
    "transfers",
)
def get_into_a_host_array_of_another_shape(cp):
    return cp.zeros(3).get(out=np.zeros(4))


@program(
    Raises("TypeError", "float32 array cannot be obtained from float64 array"),
    source(CORE, "_ndarray_base.get"),
    "transfers",
)
def get_into_a_host_array_of_another_dtype(cp):
    return cp.zeros(3).get(out=np.zeros(3, np.float32))


@program(device([5.0, 6.0, 7.0], "float64"), source(CORE, "_ndarray_base.set"), "transfers")
def set_copies_a_host_array_into_a_device_array(cp):
    x = cp.zeros(3)
    x.set(np.array([5.0, 6.0, 7.0]))
    return x


@program(
    Raises("TypeError", "float32 array cannot be set to float64 array"),
    source(CORE, "_ndarray_base.set"),
    "transfers",
)
def set_refuses_another_dtype(cp):
    cp.zeros(3).set(np.zeros(3, np.float32))


@program(
    Raises("ValueError", "Shape mismatch. Old shape: (3,), new shape: (2,)"),
    source(CORE, "_ndarray_base.set"),
    "transfers",
)
def set_refuses_another_shape(cp):
    cp.zeros(3).set(np.zeros(2))


@program(
    Raises("TypeError", "Only numpy.ndarray can be set to cupy.ndarray"),
    source(CORE, "_ndarray_base.set"),
    "transfers",
)
def set_refuses_a_device_array(cp):
    cp.zeros(3).set(cp.zeros(3))


@program(
    Raises("ValueError", "non-scalar numpy.ndarray cannot be used for fill"),
    source(CORE, "_ndarray_base.fill"),
    "transfers",
)
def a_host_array_assigned_to_a_whole_device_array(cp):
    x = cp.zeros(3)
    x[:] = np.ones(3)


@program(
    Raises("ValueError", "non-scalar numpy.ndarray cannot be used for fill"),
    source(CORE, "_ndarray_base.fill"),
    "transfers",
)
def a_list_assigned_to_a_row(cp):
    x = cp.zeros((2, 3))
    x[0] = [1, 2, 3]


@program(device([[0, 0], [1, 2]], "int64"), source(CORE, "_array_from_nested_sequence"), "arrays")
def a_list_of_device_arrays_becomes_one_array(cp):
    return cp.array([cp.array([0, 0]), cp.array([1, 2])])


@program(
    Raises("ValueError", "Unsupported dtype <U1"),
    documentation("user_guide/difference", "Data types"),
    "arrays",
)
def an_array_of_strings(cp):
    return cp.array(["a"])


@program(
    Raises("ValueError", "Unsupported dtype object"),
    documentation("user_guide/difference", "Data types"),
    "arrays",
)
def an_array_of_objects(cp):
    return cp.zeros(3, dtype=object)


@program(
    Raises("ValueError", "Negative dimensions are not allowed"), source(CORE, "_ndarray_base._init"), "arrays"
)
def a_negative_length(cp):
    return cp.zeros(-1)


@program(
    ("array([0., 1., 2.], dtype=float32)", "[0. 1. 2.]"),
    source(CORE, "_ndarray_base.__repr__"),
    "arrays",
    numpy=True,
)
def an_array_prints_as_in_numpy(cp):
    x = cp.arange(3, dtype=cp.float32)
    return repr(x), str(x)


@program(((2, 3), 2, 6, 4, 24, (12, 4)), source(CORE, "_ndarray_base"), "arrays", numpy=True)
def shape_ndim_size_itemsize_nbytes_strides(cp):
    x = cp.zeros((2, 3), dtype=cp.float32)
    return x.shape, x.ndim, x.size, x.itemsize, x.nbytes, x.strides


@program(device([[0, 9, 2], [3, 4, 5]], "int64"), source(CORE, "_ndarray_base.reshape"), "arrays", numpy=True)
def reshape_gives_a_view(cp):
    x = cp.arange(6)
    y = x.reshape(2, 3)
    x[1] = 9
    return y


@program(
    Raises("ValueError", "cannot reshape array of size 6 into shape (4, 2)"),
    source("cupy/_core/_routines_manipulation.pyx", "_reshape"),
    "arrays",
)
def reshape_to_another_size(cp):
    return cp.arange(6).reshape(4, 2)


@program(device([[0, 3], [1, 4], [2, 5]], "int64"), source(CORE, "_ndarray_base.T"), "arrays", numpy=True)
def a_transposed_view(cp):
    return cp.arange(6).reshape(2, 3).T


@program((False, True), source(CORE, "_ndarray_base.flags"), "arrays", numpy=True)
def a_transposed_view_is_in_fortran_order(cp):
    x = cp.arange(6).reshape(2, 3).T
    return x.flags.c_contiguous, x.flags.f_contiguous


@program(False, documentation("user_guide/difference", "Contiguity / Strides"), "arrays")
def a_sum_of_arrays_in_fortran_order_is_not(cp):
    a = cp.array([[1, 2], [3, 4]], order="F")
    return (a + a).flags.f_contiguous


@program(Raises("TypeError", "casting is not supported yet"), source(CORE, "_ndarray_base._astype"), "dtypes")
def astype_has_no_casting(cp):
    return cp.arange(3).astype(cp.float32, casting="safe")


@program([[0, 1], [2, 3]], source(CORE, "_ndarray_base.tolist"), "transfers", numpy=True)
def tolist_gives_python_numbers(cp):
    return cp.arange(4).reshape(2, 2).tolist()


@program(Raises("TypeError", matching="unhashable type"), source(CORE, "_ndarray_base.__richcmp__"), "arrays")
def an_array_is_no_key(cp):
    return {cp.arange(3): 1}


@program(
    Raises("TypeError", "len() of unsized object"), source(CORE, "_ndarray_base.__len__"), "arrays", "0-d"
)
def the_length_of_a_0d_array(cp):
    return len(cp.array(3))


@program(
    device([0, 0, 1, 1, 2, 2], "int64"),
    source("cupy/_manipulation/tiling.py", "repeat"),
    "arrays",
    numpy=True,
)
def repeat_each_element(cp):
    return cp.repeat(cp.arange(3), 2)


@program(
    device([[0, 1], [0, 1]], "int64"), source("cupy/_manipulation/join.py", "stack"), "arrays", numpy=True
)
def stack_two_rows(cp):
    return cp.stack([cp.arange(2), cp.arange(2)])


@program(
    Raises("ValueError", "All arrays to concatenate must have the same ndim"),
    source("cupy/_core/_routines_manipulation.pyx", "concatenate_method"),
    "arrays",
)
def concatenate_a_row_and_a_matrix(cp):
    return cp.concatenate([cp.zeros(2), cp.zeros((2, 2))])


@program(
    Raises("ValueError", "operands could not be broadcast together with shape (4,) and requested shape (3,)"),
    source("cupy/_core/_routines_manipulation.pyx", "broadcast_to"),
    "arrays",
)
def broadcast_to_a_shape_that_does_not_fit(cp):
    return cp.broadcast_to(cp.zeros(4), (3,))
