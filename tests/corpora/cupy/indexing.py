"""Indexing, and where it differs from NumPy's."""

import warnings

from tests.corpora.cupy.case import Raises, device, documentation, program, source

INDEXING = "cupy/_core/_routines_indexing.pyx"
OUT_OF_BOUNDS = documentation("user_guide/difference", "Out-of-bounds indices")
COMPLETE_SLICE = source("cupy/_core/internal.pyx", "complete_slice")


@program(device([1, 0], "int64"), OUT_OF_BOUNDS, "indexing")
def an_index_array_beyond_the_end_wraps_around(cp):
    return cp.arange(3)[[1, 3]]


@program(device([10, 10, 2], "int64"), OUT_OF_BOUNDS, "indexing")
def an_assignment_beyond_the_end_wraps_around(cp):
    x = cp.array([0, 1, 2])
    x[[1, 3]] = 10
    return x


@program(device([2, 1], "int64"), source(INDEXING, "_take_kernel_core"), "indexing")
def a_negative_index_beyond_the_start_wraps_around(cp):
    return cp.arange(3)[cp.array([-1, -5])]


@program(device([1], "int64"), source(INDEXING, "_take"), "indexing")
def take_wraps_around(cp):
    return cp.arange(3).take(cp.array([7]))


@program(
    Raises("IndexError", "Index 5 is out of bounds for axis 0 with size 3"),
    source(INDEXING, "_view_getitem"),
    "indexing",
)
def a_single_index_beyond_the_end_is_refused(cp):
    return cp.arange(3)[5]


@program(
    Raises("IndexError", "Index -4 is out of bounds for axis 1 with size 3"),
    source(INDEXING, "_view_getitem"),
    "indexing",
)
def a_single_index_before_the_start_is_refused(cp):
    return cp.zeros((2, 3))[0, -4]


@program(
    Raises("IndexError", "too many indices for array: array is 1-dimensional, but 2 were indexed"),
    source(INDEXING, "_view_getitem"),
    "indexing",
)
def too_many_indices(cp):
    return cp.arange(3)[0, 0]


@program(
    Raises(
        "IndexError",
        "arrays used as indices must be of integer or boolean type. (actual: <class 'numpy.float64'>)",
    ),
    source(INDEXING, "_view_getitem"),
    "indexing",
)
def an_index_array_of_floats(cp):
    return cp.arange(3)[cp.array([0.0])]


@program(
    Raises(
        "IndexError",
        "boolean index did not match indexed array along dimension 0; dimension is 3 but corresponding boolean "
        "dimension is 2",
    ),
    source(INDEXING, "_check_mask_shape"),
    "indexing",
)
def a_mask_of_another_length(cp):
    return cp.arange(3)[cp.array([True, False])]


@program(
    Raises("IndexError", "an index can only have a single ellipsis ('...')"),
    source(INDEXING, "_view_getitem"),
    "indexing",
)
def two_ellipses(cp):
    return cp.zeros((2, 3))[..., ...]


@program(device([3, 4], "int64"), source(INDEXING, "_getitem_mask_single"), "indexing", numpy=True)
def a_mask_selects(cp):
    x = cp.arange(5)
    return x[x > 2]


@program(device([0, 1, 2, -1, -1], "int64"), source(INDEXING, "_ndarray_setitem"), "indexing", numpy=True)
def an_assignment_through_a_mask(cp):
    x = cp.arange(5)
    x[x > 2] = -1
    return x


@program(device([[4, 5], [10, 11]], "int64"), source(INDEXING, "_view_getitem"), "indexing", numpy=True)
def slices_with_steps(cp):
    return cp.arange(12).reshape(4, 3)[1::2, 1:]


@program(device([0, 9, 2], "int64"), source(INDEXING, "_view_getitem"), "indexing", numpy=True)
def a_slice_is_a_view(cp):
    x = cp.arange(3)
    x[1:][0] = 9
    return x


@program(device([1, 2], "int64"), COMPLETE_SLICE, "indexing", "0-d", numpy=True)
def arrays_without_dimensions_bound_a_slice(cp):
    return cp.arange(5)[cp.array(1) : cp.array(3)]


@program(device([0, 9, 2, 9, 4], "int64"), COMPLETE_SLICE, "indexing", "0-d", numpy=True)
def an_array_without_dimensions_is_the_step_of_an_assignment(cp):
    x = cp.arange(5)
    x[cp.array(1) :: cp.array(2)] = 9
    return x


@program(device([[5, 6], [9, 10]], "int64"), COMPLETE_SLICE, "indexing", "0-d", numpy=True)
def an_array_without_dimensions_bounds_a_slice_beside_an_index_array(cp):
    return cp.arange(12).reshape(3, 4)[cp.array([1, 2]), cp.array(1) : cp.array(3)]


@program(device([1, 2, 3, 4], "int64"), COMPLETE_SLICE, "indexing")
def a_float_bounds_a_slice_without_its_fraction(cp):
    return cp.arange(5)[1.5:]


@program(
    Raises("TypeError", matching=r"^slice\.stop must be int or None or have __index__ method: slice\(None, "),
    COMPLETE_SLICE,
    "indexing",
)
def an_array_of_several_elements_bounds_no_slice(cp):
    return cp.arange(5)[: cp.array([1, 2])]


@program(Raises("ValueError", "Slice step must be nonzero."), COMPLETE_SLICE, "indexing")
def a_slice_with_step_zero(cp):
    return cp.arange(5)[::0]


@program(device([4, 5, 6, 7], "int64"), source(INDEXING, "_take"), "indexing", "0-d", numpy=True)
def an_array_without_dimensions_is_an_index(cp):
    return cp.arange(12).reshape(3, 4)[cp.array(1)]


@program(device([0, 1, 2, 3], "int64"), source(INDEXING, "_prepare_slice_list"), "indexing", "0-d")
def an_array_without_dimensions_as_an_index_makes_a_copy(cp):
    x = cp.arange(8).reshape(2, 4)
    x[cp.array(0)][...] = 9
    return x[0]


@program(device(5, "int64"), source(INDEXING, "_getitem_multiple"), "indexing", "0-d", numpy=True)
def arrays_without_dimensions_pick_one_element(cp):
    return cp.arange(12).reshape(3, 4)[cp.array(1), cp.array(1)]


@program(device([0, 8, 2], "int64"), source(INDEXING, "_scatter_op"), "indexing", "0-d", numpy=True)
def an_assignment_to_the_place_that_an_array_without_dimensions_names(cp):
    x = cp.arange(3)
    x[cp.array(1)] = 8
    return x


@program(
    Raises("TypeError", matching="cannot be interpreted as an integer"),
    source("cupy/_core/core.pyx", "_ndarray_base.__int__"),
    "indexing",
    "0-d",
)
def an_array_without_dimensions_is_no_python_index(cp):
    return list(range(cp.array(3)))


@program(
    (device(5, "int64"), device([1, 2], "int64")),
    source("cupy/_indexing/iterate.py", "flatiter.__getitem__"),
    "indexing",
    numpy=True,
)
def flat_takes_a_number_or_a_slice(cp):
    x = cp.arange(6).reshape(2, 3)
    return x.flat[-1], x.flat[1:3]


@program(
    Raises("IndexError", "unsupported iterator index"),
    source("cupy/_indexing/iterate.py", "flatiter.__getitem__"),
    "indexing",
)
def flat_takes_no_array(cp):
    return cp.arange(6).reshape(2, 3).flat[cp.array([1, 2])]


@program(device([1, 2, 3], "int64"), source(INDEXING, "_take"), "indexing", numpy=True)
def an_index_array_makes_a_copy(cp):
    x = cp.arange(1, 4)
    x[cp.array([0, 1])][0] = 9
    return x


@program(device([1, 5], "int64"), source(INDEXING, "_getitem_multiple"), "indexing", numpy=True)
def two_index_arrays_pick_pairs(cp):
    return cp.arange(6).reshape(2, 3)[cp.array([0, 1]), cp.array([1, 2])]


@program(
    (device([0, 1], "int64"), device([2, 0], "int64")),
    source(INDEXING, "_ndarray_nonzero"),
    "indexing",
    numpy=True,
)
def where_with_one_argument_gives_places(cp):
    return cp.where(cp.array([[0, 0, 1], [1, 0, 0]]))


@program(device([0, 1, 0], "int64"), source("cupy/_sorting/search.py", "where"), "indexing", numpy=True)
def where_with_three_arguments_chooses(cp):
    x = cp.array([-2, 1, -3])
    return cp.where(x > 0, x, 0)


@program(
    Raises(
        "ValueError",
        "Calling nonzero on 0d arrays is not allowed. Use cp.atleast_1d(scalar).nonzero() instead.",
    ),
    source(INDEXING, "_ndarray_nonzero"),
    "indexing",
    "0-d",
)
def nonzero_of_a_0d_array(cp):
    return cp.nonzero(cp.array(3))


@program(True, documentation("user_guide/difference", "Duplicate values in indices"), "indexing")
def an_assignment_to_one_place_twice_stores_one_of_the_values(cp):
    a = cp.zeros(2)
    i = cp.arange(10000) % 2
    v = cp.arange(10000).astype(cp.float32)
    a[i] = v
    even, odd = (float(value) for value in a)
    return even % 2 == 0 and odd % 2 == 1 and 0 <= even < 10000 and 0 <= odd < 10000


@program(device([1.0, 2.0, 0.0, 0.0], "float32"), source("cupyx/_scatter.py", "scatter_add"), "scatter")
def scatter_add_counts_duplicates(cp):
    import cupyx

    a = cp.zeros(4, dtype=cp.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        cupyx.scatter_add(a, cp.array([1, 0, 1]), cp.array([1.0, 1.0, 1.0]))
    return a


@program(
    "`ndarray.scatter_add` is deprecated. Please use `cupy.add.at` instead.",
    source("cupy/_core/core.pyx", "_ndarray_base.scatter_add"),
    "scatter",
)
def scatter_add_warns_that_it_is_deprecated(cp):
    import cupyx

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cupyx.scatter_add(cp.zeros(4, dtype=cp.float32), cp.array([1]), 1)
    return str(next(one.message for one in caught if one.category is DeprecationWarning))


@program(device([0.0, 1.0, 1.0], "float32"), source("cupyx/_scatter.py", "scatter_add"), "scatter")
def scatter_add_wraps_around(cp):
    import cupyx

    a = cp.zeros(3, dtype=cp.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        cupyx.scatter_add(a, cp.array([2, 4]), 1)
    return a


@program(device([2, 1, 0], "int32"), source("cupy/_core/_kernel.pyx", "ufunc.at"), "scatter", numpy=True)
def add_at_counts_duplicates(cp):
    a = cp.zeros(3, dtype=cp.int32)
    cp.add.at(a, cp.array([0, 1, 0]), 1)
    return a


@program(
    Raises(
        "TypeError",
        "cupy.add.at only supports int32, int64, float16, float32, float64, uint32, uint64 as data type",
    ),
    source(INDEXING, "_scatter_op_single"),
    "scatter",
)
def add_at_has_no_int16(cp):
    cp.add.at(cp.zeros(3, dtype=cp.int16), cp.array([0]), 1)


@program(
    device([3.0, 2.0, 0.0], "float32"), source("cupyx/_scatter.py", "scatter_max"), "scatter", numpy=True
)
def maximum_at_keeps_the_largest(cp):
    a = cp.zeros(3, dtype=cp.float32)
    cp.maximum.at(a, cp.array([0, 1, 0]), cp.array([1, 2, 3], dtype=cp.float32))
    return a


@program(device([0, 1, 7], "int64"), source(INDEXING, "_ndarray_put"), "indexing")
def put_wraps_around_by_default(cp):
    x = cp.arange(3)
    cp.put(x, cp.array([5]), 7)
    return x
