"""Ufuncs, reductions, sorting and statistics."""

import numpy as np

from tests.corpora.cupy.case import Raises, device, program, source

MATH = "cupy/_core/_routines_math.pyx"
REDUCTION = "cupy/_core/_reduction.pyx"
KERNEL = "cupy/_core/_kernel.pyx"


@program(device([0.0, 1.0, 2.0], "float64"), source("cupy/_math/misc.py", "sqrt"), "ufuncs", numpy=True)
def sqrt_of_integers(cp):
    return cp.sqrt(cp.array([0, 1, 4]))


@program(device([[1, 2, 3], [2, 3, 4]], "int64"), source(KERNEL, "ufunc.__call__"), "ufuncs", numpy=True)
def a_row_and_a_column_broadcast(cp):
    return cp.arange(3) + cp.array([[1], [2]])


@program(
    Raises("ValueError", "operands could not be broadcast together with shapes (2, 3) (4,)"),
    source("cupy/_core/internal.pyx", "_broadcast_core"),
    "ufuncs",
)
def shapes_that_do_not_broadcast(cp):
    return cp.zeros((2, 3)) + cp.zeros(4)


@program((True, device([2, 3], "int64")), source(KERNEL, "ufunc.__call__"), "ufuncs", numpy=True)
def a_ufunc_writes_into_out(cp):
    out = cp.empty(2, dtype=cp.int64)
    returned = cp.add(cp.array([1, 2]), 1, out=out)
    return returned is out, out


@program(
    Raises(
        "TypeError",
        "Cannot cast output operand from dtype('float64') to dtype('int64') according to the rule 'same_kind'",
    ),
    source("cupy/_core/_dtype.pyx", "_raise_if_invalid_cast"),
    "ufuncs",
)
def an_output_of_the_wrong_kind(cp):
    return cp.sqrt(cp.arange(3.0), out=cp.zeros(3, dtype=cp.int64))


@program(
    Raises(
        "TypeError",
        "Wrong number of arguments for 'cupy_add'. It must be either 2 or 3 (with outputs), but given 1.",
    ),
    source(KERNEL, "ufunc.__call__"),
    "ufuncs",
)
def a_ufunc_with_too_few_arguments(cp):
    return cp.add(cp.arange(3))


@program(device([0, 0], "int32"), source("cupy/_core/include/cupy/carray.cuh", "_floor_divide"), "ufuncs")
def an_integer_floor_divided_by_zero_is_zero(cp):
    return cp.array([1, 7], dtype=cp.int32) // 0


@program(device([np.inf, -np.inf, np.nan], "float64"), source(MATH, "_true_divide"), "ufuncs")
def division_by_zero_is_silent(cp):
    return cp.array([1.0, -1.0, 0.0]) / 0


@program(device([1, 1, 0], "int32"), source(MATH, "integral_power"), "ufuncs")
def an_integer_to_a_negative_power(cp):
    return cp.array([-1, 1, 5], dtype=cp.int32) ** cp.array([-2, -2, -2], dtype=cp.int32)


@program(
    (device([1, -2], "int64"), device([1, 1], "int64")),
    source("cupy/_core/core.pyx", "divmod"),
    "ufuncs",
    numpy=True,
)
def divmod_rounds_down(cp):
    return divmod(cp.array([3, -3]), 2)


@program(device([0, 1, 3], "int64"), source("cupy/_math/sumprod.py", "cumsum"), "reductions", numpy=True)
def a_running_sum(cp):
    return cp.cumsum(cp.arange(3))


@program(
    (device([3, 5, 7], "int64"), device([3, 12], "int64"), device(15, "int64")),
    source(REDUCTION, "_AbstractReductionKernel._call"),
    "reductions",
    numpy=True,
)
def sums_along_axes(cp):
    x = cp.arange(6).reshape(2, 3)
    return x.sum(axis=0), x.sum(axis=1), x.sum(axis=(0, 1))


@program(device([[3], [12]], "int64"), source(REDUCTION, "_get_out_shape"), "reductions", numpy=True)
def a_sum_that_keeps_its_dimensions(cp):
    return cp.arange(6).reshape(2, 3).sum(axis=1, keepdims=True)


@program(
    Raises("AxisError", "axis 2 is out of bounds for array of dimension 2"),
    source("cupy/_core/internal.pyx", "_normalize_axis_index"),
    "reductions",
)
def a_sum_along_an_axis_that_is_not_there(cp):
    return cp.zeros((2, 3)).sum(axis=2)


@program(Raises("ValueError", "duplicate value in 'axis'"), source(REDUCTION, "_get_axis"), "reductions")
def a_sum_twice_along_an_axis(cp):
    return cp.zeros((2, 3)).sum(axis=(0, 0))


@program(
    Raises("ValueError", matching="^zero-size array to reduction operation .* which has no identity$"),
    source(REDUCTION, "_AbstractReductionKernel._call"),
    "reductions",
)
def the_maximum_of_nothing(cp):
    return cp.zeros(0).max()


@program(
    device(0.0, "float64"), source(REDUCTION, "_AbstractReductionKernel._call"), "reductions", numpy=True
)
def the_sum_of_nothing(cp):
    return cp.zeros(0).sum()


@program(
    Raises("AttributeError", "'list' object has no attribute 'sum'"),
    source("cupy/_math/sumprod.py", "sum"),
    "reductions",
)
def the_sum_of_a_list(cp):
    return cp.sum([1, 2])


@program(
    (device(True, "bool"), device(False, "bool")),
    source("cupy/_core/_routines_logic.pyx", "_any"),
    "reductions",
    "0-d",
    numpy=True,
)
def any_and_all_stay_on_the_device(cp):
    x = cp.array([True, False])
    return x.any(), x.all()


@program(
    (device(2, "int64"), device(0, "int64"), device(9.0, "float64")),
    source("cupy/_core/_routines_statistics.pyx", "_argmax"),
    "reductions",
    "0-d",
    numpy=True,
)
def argmax_argmin_max(cp):
    x = cp.array([1.0, 2.0, 9.0])
    return x.argmax(), x.argmin(), x.max()


@program(
    (device(2.5, "float64"), device(1.25, "float64")),
    source("cupy/_core/_routines_statistics.pyx", "_mean"),
    "reductions",
    numpy=True,
)
def mean_and_variance_of_integers(cp):
    x = cp.array([1, 2, 3, 4])
    return x.mean(), x.var()


@program(
    device(np.nan, "float64"),
    source("cupy/_core/_routines_statistics.pyx", "_ndarray_max"),
    "reductions",
    numpy=True,
)
def the_maximum_with_a_nan(cp):
    return cp.array([1.0, np.nan, 2.0]).max()


@program(device(True, "bool"), source("cupy/_logic/comparison.py", "allclose"), "reductions", "0-d")
def allclose_stays_on_the_device(cp):
    return cp.allclose(cp.ones(3), cp.ones(3))


@program(device([1, 2, 3], "int64"), source("cupy/_sorting/sort.py", "sort"), "sorting", numpy=True)
def sort_gives_a_sorted_copy(cp):
    return cp.sort(cp.array([3, 1, 2]))


@program(
    Raises("AxisError", "Sorting arrays with the rank of zero is not supported"),
    source("cupy/_core/_routines_sorting.pyx", "_ndarray_sort"),
    "sorting",
    "0-d",
)
def sort_of_a_0d_array(cp):
    return cp.sort(cp.array(3))


@program(
    Raises("NotImplementedError", "Sorting non-contiguous array is not supported."),
    source("cupy/_core/_routines_sorting.pyx", "_ndarray_sort"),
    "sorting",
)
def sort_in_place_of_a_view_with_a_step(cp):
    cp.arange(6)[::2].sort()


@program(
    (device([1, 2, 5], "int64"), device([2, 1, 1], "int64")),
    source("cupy/_manipulation/add_remove.py", "unique"),
    "sorting",
    numpy=True,
)
def unique_values_and_their_counts(cp):
    return cp.unique(cp.array([5, 1, 2, 1]), return_counts=True)


@program(
    device([1, 2, 0, 1], "int64"),
    source("cupy/_statistics/histogram.py", "bincount"),
    "statistics",
    numpy=True,
)
def bincount_counts(cp):
    return cp.bincount(cp.array([0, 1, 1, 3]))


@program(
    (device([2, 1, 1], "int64"), device([0.0, 1.0, 2.0, 3.0], "float64")),
    source("cupy/_statistics/histogram.py", "histogram"),
    "statistics",
    numpy=True,
)
def a_histogram(cp):
    return cp.histogram(cp.array([0.0, 0.5, 1.5, 3.0]), bins=3)


@program(device([3, 5, 7], "int64"), source(KERNEL, "ufunc.reduce"), "ufuncs", numpy=True)
def add_reduce_takes_the_first_axis(cp):
    return cp.add.reduce(cp.arange(6).reshape(2, 3))


@program(
    Raises("NotImplementedError", "`cupy_exp.reduce` is not supported yet"),
    source(KERNEL, "ufunc.reduce"),
    "ufuncs",
)
def most_ufuncs_do_not_reduce(cp):
    return cp.exp.reduce(cp.arange(3.0))


@program(device([0, 1, 4], "int64"), source("cupy/_math/misc.py", "clip"), "ufuncs", numpy=True)
def clip_to_bounds(cp):
    return cp.clip(cp.array([-3, 1, 9]), 0, 4)
